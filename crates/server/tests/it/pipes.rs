//! Over pipes, in both lives of the protocol: with a handshake (up to 2025-11-25) and without (from
//! 2026-07-28 on).
#![allow(deprecated, reason = "the log and subscriptions by request serve the earlier revisions")]

use crate::gateway::{Everything, MANY};
use rmcp::model::{
    ArgumentInfo, CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    CompleteRequestParams, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    ErrorCode, ErrorData, GetPromptRequestParams, Implementation, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    Reference, ResourceUpdatedNotificationParam, SetLevelRequestParams, SubscribeRequestParams,
    UnsubscribeRequestParams,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, PeerRequestOptions, RequestContext, RunningService,
    ServiceError, serve_client_with_lifecycle,
};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value as Json, json};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use steward_server::mcp::serve;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A client that tells the test what it heard.
struct Listener {
    heard: mpsc::UnboundedSender<String>,
    answer: ElicitationAction,
}

impl Listener {
    fn hear(&self, what: impl Into<String>) {
        drop(self.heard.send(what.into()));
    }
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        let mut config = ClientConfig::default();
        config.capabilities = capabilities;
        config.client_info = Implementation::new("listener", "1");
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        config
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            return Err(ErrorData::invalid_params("a form was expected", None));
        };
        self.hear(message);
        let result = ElicitResult::new(self.answer.clone());
        Ok(if self.answer == ElicitationAction::Accept {
            result.with_content(json!({"name": "Ada"}))
        } else {
            result
        })
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.hear(format!("{}/{}", params.progress, params.total.unwrap_or_default()));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.hear(format!("{:?} {}", params.level, params.data));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear("tools");
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear("prompts");
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear("resources");
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.hear(params.uri);
    }
}

/// A client and a server with a pipe between them.
struct Pair {
    client: RunningService<RoleClient, Listener>,
    heard: mpsc::UnboundedReceiver<String>,
    seen: mpsc::UnboundedReceiver<&'static str>,
    gateway: Arc<Everything>,
    server: JoinHandle<io::Result<()>>,
}

fn handshake() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it took too long")
}

impl Pair {
    async fn new(lifecycle: ClientLifecycleMode, answer: ElicitationAction) -> Self {
        let (gateway, seen) = Everything::new();
        let (heard, hears) = mpsc::unbounded_channel();
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(ours);
        let server = tokio::spawn(serve(gateway.clone(), input, output, CancellationToken::new()));
        let client = serve_client_with_lifecycle(Listener { heard, answer }, theirs, lifecycle);
        let client = soon(client).await.expect("the client should connect");
        Self { client, heard: hears, seen, gateway, server }
    }

    async fn call(&self, name: &str, arguments: Json) -> Result<rmcp::model::CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(name.to_owned())
            .with_arguments(arguments.as_object().cloned().unwrap_or_default());
        soon(self.client.call_tool(params)).await
    }

    async fn words(&self, name: &str) -> String {
        let result = self.call(name, json!({})).await.expect("the call should work");
        result.content.iter().filter_map(|part| part.as_text()).map(|part| part.text.as_str()).collect()
    }

    async fn hears(&mut self) -> String {
        soon(self.heard.recv()).await.expect("the client is there")
    }

    async fn sees(&mut self) -> &'static str {
        soon(self.seen.recv()).await.expect("the gateway is there")
    }

    /// Both sides end, and the server without complaint.
    async fn end(self) {
        drop(soon(self.client.cancel()).await);
        soon(self.server).await.expect("the server should not panic").expect("the server should end well");
    }
}

async fn accepting(lifecycle: ClientLifecycleMode) -> Pair {
    Pair::new(lifecycle, ElicitationAction::Accept).await
}

fn code(error: &ServiceError) -> Option<ErrorCode> {
    match error {
        ServiceError::McpError(error) => Some(error.code),
        _ => None,
    }
}

#[tokio::test]
async fn all_tools_are_listed_page_by_page_and_can_be_called() {
    for lifecycle in [handshake(), discover()] {
        let pair = accepting(lifecycle).await;
        let tools = soon(pair.client.list_all_tools()).await.unwrap();
        assert_eq!(tools.len(), MANY + 10);
        let first = soon(pair.client.list_tools(None)).await.unwrap();
        assert_eq!(first.tools.len(), 100);
        let echoed = pair.call("echo", json!({"a": [1, "b"]})).await.unwrap();
        assert_eq!(echoed.structured_content, Some(json!({"a": [1, "b"]})));
        assert_eq!(echoed.is_error, None);
        assert_eq!(pair.words("who").await, "owner listener");
        pair.end().await;
    }
}

#[tokio::test]
async fn every_kind_of_content_arrives() {
    let pair = accepting(handshake()).await;
    let result = pair.call("kinds", json!({})).await.unwrap();
    let wire = serde_json::to_value(&result).unwrap();
    let kinds: Vec<_> = wire["content"].as_array().unwrap().iter().map(|part| part["type"].clone()).collect();
    assert_eq!(json!(kinds), json!(["text", "image", "audio", "resource", "resource", "resource_link"]));
    assert_eq!(wire["content"][4]["resource"]["blob"], "Ymlu");
    assert_eq!(wire["structuredContent"], json!({"parts": 6}));
    pair.end().await;
}

#[tokio::test]
async fn a_failing_tool_is_a_result_and_an_unknown_one_is_an_error() {
    for lifecycle in [handshake(), discover()] {
        let pair = accepting(lifecycle).await;
        let failed = serde_json::to_value(pair.call("fail", json!({})).await.unwrap()).unwrap();
        assert_eq!(failed["isError"], true);
        assert_eq!(failed["content"][0]["text"], "it did not work; try less");
        assert_eq!(failed["_meta"]["steward/code"], "TOL011");
        let fault = serde_json::to_value(pair.call("panic", json!({})).await.unwrap()).unwrap();
        assert_eq!(fault["_meta"], json!({"steward/code": "MCP005", "steward/class": "bug"}));
        let unknown = pair.call("nothing", json!({})).await.unwrap_err();
        assert_eq!(code(&unknown), Some(ErrorCode::INVALID_PARAMS));
        pair.end().await;
    }
}

#[tokio::test]
async fn progress_arrives_before_the_result() {
    for lifecycle in [handshake(), discover()] {
        let mut pair = accepting(lifecycle).await;
        assert_eq!(pair.words("steps").await, "done");
        assert_eq!([pair.hears().await, pair.hears().await, pair.hears().await], ["1/3", "2/3", "3/3"]);
        pair.end().await;
    }
}

#[tokio::test]
async fn a_call_that_is_called_off_hears_of_it() {
    let mut pair = accepting(handshake()).await;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("wait")));
    let options = PeerRequestOptions::no_options();
    let handle = soon(pair.client.send_cancellable_request(request, options)).await.unwrap();
    assert_eq!(pair.sees().await, "started");
    soon(handle.cancel(Some("enough".into()))).await.unwrap();
    assert_eq!(pair.sees().await, "cancelled");
    // The connection lives on.
    assert_eq!(pair.words("who").await, "owner listener");
    pair.end().await;
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_calls_along() {
    // Those who leave are given some seconds to hear their answers, so both wait at the same time.
    tokio::join!(leave(handshake()), leave(discover()));
}

async fn leave(lifecycle: ClientLifecycleMode) {
    let mut pair = accepting(lifecycle).await;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("wait")));
    let handle = soon(pair.client.send_cancellable_request(request, PeerRequestOptions::no_options())).await;
    assert_eq!(pair.sees().await, "started");
    let Pair { client, mut seen, server, .. } = pair;
    drop(soon(client.cancel()).await);
    assert_eq!(soon(seen.recv()).await, Some("cancelled"));
    soon(server).await.unwrap().unwrap();
    drop(handle);
}

#[tokio::test]
async fn a_question_comes_back_answered_and_the_call_runs_once() {
    for lifecycle in [handshake(), discover()] {
        let mut pair = accepting(lifecycle).await;
        let words = pair.words("ask").await;
        assert!(words.starts_with(r#"Accepted({"name": String("Ada")})"#), "{words}");
        assert!(words.contains(r#""action":"accept""#), "{words}");
        assert_eq!([pair.hears().await, pair.hears().await], ["test asks: Who are you?", "Really?"]);
        assert_eq!(pair.gateway.asked.load(Ordering::SeqCst), 1, "a question must not begin the call again");
        pair.end().await;
    }
}

#[tokio::test]
async fn a_person_may_say_no() {
    for lifecycle in [handshake(), discover()] {
        let pair = Pair::new(lifecycle, ElicitationAction::Decline).await;
        let words = pair.words("ask").await;
        assert!(words.starts_with("Declined"), "{words}");
        pair.end().await;
    }
}

#[tokio::test]
async fn resources_are_listed_read_and_missed() {
    for (lifecycle, missing) in
        [(handshake(), ErrorCode::RESOURCE_NOT_FOUND), (discover(), ErrorCode::INVALID_PARAMS)]
    {
        let pair = accepting(lifecycle).await;
        let all = soon(pair.client.list_all_resources()).await.unwrap();
        assert_eq!(all.iter().map(|one| one.uri.as_str()).collect::<Vec<_>>(), ["memo://1", "memo://2"]);
        assert_eq!(soon(pair.client.list_all_resource_templates()).await.unwrap().len(), 1);
        let read = soon(pair.client.read_resource(ReadResourceRequestParams::new("memo://2"))).await.unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap()["contents"][0]["blob"], "AQID");
        let gone =
            soon(pair.client.read_resource(ReadResourceRequestParams::new("memo://9"))).await.unwrap_err();
        assert_eq!(code(&gone), Some(missing));
        pair.end().await;
    }
}

#[tokio::test]
async fn prompts_are_listed_filled_in_and_completed() {
    for lifecycle in [handshake(), discover()] {
        let pair = accepting(lifecycle).await;
        assert_eq!(soon(pair.client.list_all_prompts()).await.unwrap()[0].name, "greet");
        let arguments = json!({"who": "Ada"}).as_object().cloned().unwrap();
        let filled =
            soon(pair.client.get_prompt(GetPromptRequestParams::new("greet").with_arguments(arguments)));
        let filled = serde_json::to_value(filled.await.unwrap()).unwrap();
        assert_eq!(
            filled["messages"][0],
            json!({"role": "assistant", "content": {"type": "text", "text": "Hello Ada"}})
        );
        let unknown = soon(pair.client.get_prompt(GetPromptRequestParams::new("none"))).await.unwrap_err();
        assert_eq!(code(&unknown), Some(ErrorCode::INVALID_PARAMS));
        let argument = ArgumentInfo::new("who", "A");
        let found =
            soon(pair.client.complete(CompleteRequestParams::new(Reference::for_prompt("greet"), argument)));
        let found = found.await.unwrap().completion;
        assert_eq!((found.values.len(), found.total, found.has_more), (100, Some(150), Some(true)));
        pair.end().await;
    }
}

#[tokio::test]
async fn changes_are_told_and_only_to_who_asked() {
    let mut pair = accepting(handshake()).await;
    // The server begins to listen when it hears that the handshake is over.
    soon(pair.gateway.listening.acquire()).await.unwrap().forget();
    pair.gateway.tools.send_modify(|version| *version += 1);
    assert_eq!(pair.hears().await, "tools");
    pair.gateway.prompts.send_modify(|version| *version += 1);
    assert_eq!(pair.hears().await, "prompts");
    pair.gateway.resources.send_modify(|version| *version += 1);
    assert_eq!(pair.hears().await, "resources");
    soon(pair.client.subscribe(SubscribeRequestParams::new("memo://1"))).await.unwrap();
    for uri in ["memo://2", "memo://1"] {
        pair.gateway.updated.send(uri.into()).unwrap();
    }
    assert_eq!(pair.hears().await, "memo://1");
    soon(pair.client.unsubscribe(UnsubscribeRequestParams::new("memo://1"))).await.unwrap();
    pair.gateway.updated.send("memo://1".into()).unwrap();
    pair.gateway.tools.send_modify(|version| *version += 1);
    assert_eq!(pair.hears().await, "tools");
    pair.end().await;
}

#[tokio::test]
async fn the_log_keeps_to_the_level_that_was_set() {
    let mut pair = accepting(handshake()).await;
    pair.words("log").await;
    assert_eq!([pair.hears().await, pair.hears().await], [r#"Info "some""#, r#"Error "more""#]);
    soon(pair.client.set_level(SetLevelRequestParams::new(LoggingLevel::Warning))).await.unwrap();
    pair.words("log").await;
    assert_eq!(pair.hears().await, r#"Error "more""#);
    pair.end().await;
}

#[tokio::test]
async fn without_a_word_on_the_level_later_revisions_hear_no_log() {
    let mut pair = accepting(discover()).await;
    pair.words("log").await;
    pair.words("steps").await;
    assert_eq!(pair.hears().await, "1/3");
    pair.end().await;
}
