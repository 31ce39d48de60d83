//! Dispatches protocol requests to the gateway. Each connection has one handler; their common state
//! is in `Shared`.

use super::changes;
use super::convert;
use super::drive::{Outcome, Reply, Round, Running, Step};
use super::gateway::{
    Caller, Client, CompletionRequest, Failure, Gateway, Identity, TaskState, TaskStatus, TaskSupport,
};
use super::http::{HttpSessions, Keep};
use super::page;
use super::parked::{ParkedCalls, Resumed};
use super::session::{ClientFeatures, Level, Session, Threshold};
use super::tasks::{self, TaskTable};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, CompleteRequestParams,
    CompleteResult, CompletionInfo, CreateTaskResult, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, GetTaskParams, GetTaskResult, Implementation, InputRequiredResult, InputResponses,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Reference, ServerCapabilities, ServerConfig, SubscriptionFilter, Task, Tool,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The state that all connections share.
pub(super) struct Shared {
    pub(super) gateway: Arc<dyn Gateway>,
    /// The page size of lists.
    pub(super) page: usize,
    /// Calls that wait for a response of their client.
    pub(super) room: ParkedCalls,
    /// Calls that became tasks.
    pub(super) tasks: TaskTable,
    /// Running calls. A server that stops waits for them.
    pub(super) calls: TaskTracker,
    /// The HTTP sessions, to keep those with a running call alive.
    pub(super) hold: Option<HttpSessions>,
    /// Cancelled when the server stops. Notification streams end.
    pub(super) stopping: CancellationToken,
    /// Cancelled after the grace period. Calls that still run are cancelled.
    pub(super) off: CancellationToken,
    /// Cancelled when nothing may run any more. Calls that became tasks end.
    pub(super) ended: CancellationToken,
    identity: Identity,
}

impl Shared {
    pub(super) fn new(
        gateway: Arc<dyn Gateway>,
        page: usize,
        hold: Option<HttpSessions>,
        ended: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            identity: gateway.identity(),
            gateway,
            page,
            room: ParkedCalls::default(),
            tasks: TaskTable::default(),
            calls: TaskTracker::new(),
            hold,
            stopping: CancellationToken::new(),
            off: CancellationToken::new(),
            ended,
        })
    }
}

/// The handler of one connection.
pub(super) struct Handler {
    shared: Arc<Shared>,
    threshold: Threshold,
    subscribed: Arc<Mutex<BTreeSet<String>>>,
    /// Send change notifications. They end with the connection.
    watchers: Mutex<JoinSet<()>>,
}

/// A request that may prompt the client before it ends.
struct Asked {
    about: String,
    state: Option<String>,
    responses: Option<InputResponses>,
    tasks: TaskSupport,
}

/// The result of such a request.
enum Answer {
    Done(Outcome),
    Input(InputRequiredResult),
    Task(Task),
}

type Call = Pin<Box<dyn Future<Output = Outcome> + Send>>;

impl Handler {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            threshold: Threshold::new(Some(Level::Info)),
            subscribed: Arc::default(),
            watchers: Mutex::new(JoinSet::new()),
        }
    }

    /// Executes a request that may report progress, log and prompt the client.
    async fn carry_out(
        &self,
        asked: Asked,
        context: RequestContext<RoleServer>,
        call: impl FnOnce(Arc<dyn Gateway>, Session) -> Call + Send,
    ) -> Result<Answer, ErrorData> {
        let _counted = self.shared.calls.token();
        let caller = caller(&context);
        let user = caller.user.clone();
        let version = context.protocol_version();
        let modern = version.as_ref().is_some_and(|version| *version >= ProtocolVersion::NO_INITIALIZE);
        let token = context.meta.get_progress_token();
        let resumed = match (modern, asked.state) {
            (true, Some(state)) => {
                let responses = asked.responses.unwrap_or_default();
                self.shared.room.resume(&state, &asked.about, &user, responses).map_err(convert::error)?
            }
            _ => {
                let threshold =
                    if modern { Threshold::new(log_level(&context)) } else { self.threshold.clone() };
                let client = client(&context, version.as_ref());
                let mut can = can(&context);
                can.tasks &= modern && asked.tasks != TaskSupport::Never;
                let (session, wires) = Session::new(caller.clone(), client, can, token.is_some(), threshold);
                Resumed::Running(Running::new(call(self.shared.gateway.clone(), session), wires))
            }
        };
        let keep = self.shared.hold.as_ref().and_then(|hold| Keep::new(hold, &context));
        let off = self.shared.off.clone();
        let detaches = modern && asked.tasks != TaskSupport::Never && can(&context).tasks;
        let patience = detaches.then_some(PATIENCE);
        let (peer, cancel) = (context.peer, context.ct);
        let mut round = Round { peer, token, cancel, off, may_request: !modern, keep, patience };
        let mut step = match resumed {
            Resumed::Running(running) => running.drive(&round).await,
            Resumed::Missing(running, ask) => Step::Asks(running, ask),
        };
        while let Step::Detached(running, durable) = step {
            match self.detach(running, durable, &caller).await? {
                Ok(task) => return Ok(Answer::Task(task)),
                // The task table is full, so the client waits for this call.
                Err(running) => {
                    round.patience = None;
                    step = running.drive(&round).await;
                }
            }
        }
        match step {
            Step::Done(outcome) => Ok(Answer::Done(outcome)),
            Step::Dropped => Err(ErrorData::internal_error("the call was called off", None)),
            Step::Detached(..) => Err(misplaced()),
            Step::Asks(running, ask) => {
                self.shared.room.sweep();
                let kept = self.shared.room.keep(running, ask, asked.about, user);
                let (id, requests) = kept.map_err(convert::error)?;
                Ok(Answer::Input(InputRequiredResult::new(Some(requests), Some(id))))
            }
        }
    }

    /// Lets a call continue as a task. Returns the call if the task table is full.
    async fn detach(
        &self,
        running: Running,
        durable: Option<String>,
        caller: &Caller,
    ) -> Result<Result<Task, Running>, ErrorData> {
        let ended = self.shared.ended.clone();
        if let Some(id) = durable {
            let state = self.shared.gateway.task(&id, caller).await.map_err(convert::error)?;
            let state = state.ok_or_else(|| convert::error(no_task(&id)))?;
            self.shared.calls.spawn(running.drive_durable(ended));
            let seed = TaskState { status: TaskStatus::Working, ..state };
            return Ok(Ok(tasks::detailed(seed, None).map_err(convert::error)?.task));
        }
        let Some(call) = self.shared.tasks.create(&caller.user) else { return Ok(Err(running)) };
        let seed = call.detailed().map_err(convert::error)?.task;
        self.shared.calls.spawn(call.carry_out(running, ended));
        Ok(Ok(seed))
    }

    fn subscriptions(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The caller as the middleware determined it. Over pipes, the owner.
fn caller(context: &RequestContext<RoleServer>) -> Caller {
    let parts = context.extensions.get::<axum::http::request::Parts>();
    parts.and_then(|parts| parts.extensions.get::<Caller>()).cloned().unwrap_or_else(Caller::owner)
}

fn client(context: &RequestContext<RoleServer>, version: Option<&ProtocolVersion>) -> Client {
    let info = context.client_info();
    let (name, version_of) = info.map(|info| (info.name, info.version)).unwrap_or_default();
    let protocol = version.map(|version| version.as_str().to_owned()).unwrap_or_default();
    Client { name, version: version_of, protocol, session: Keep::session_id(context) }
}

fn can(context: &RequestContext<RoleServer>) -> ClientFeatures {
    match context.meta.client_capabilities() {
        Some(capabilities) => can_of(&capabilities),
        None => context.peer.peer_info().map(|info| can_of(&info.capabilities)).unwrap_or_default(),
    }
}

fn can_of(capabilities: &ClientCapabilities) -> ClientFeatures {
    let elicitation = capabilities.elicitation.as_ref();
    ClientFeatures {
        // A client that names no mode supports forms, the only mode of the first version.
        form: elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none()),
        url: elicitation.is_some_and(|modes| modes.url.is_some()),
        sample: capabilities.sampling.is_some(),
        roots: capabilities.roots.is_some(),
        tasks: capabilities.supports_tasks(),
    }
}

#[allow(deprecated, reason = "the log is sent on request in later revisions")]
fn log_level(context: &RequestContext<RoleServer>) -> Option<Level> {
    context.meta.log_level().map(convert::from_level)
}

fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

/// The time after which a call becomes a task, if the client supports tasks.
const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum delay of the acknowledgement of a response to a task.
const ACKNOWLEDGE: Duration = Duration::from_secs(2);

/// The extension of MCP Apps.
const APPS: &str = "io.modelcontextprotocol/ui";

fn no_task(id: &str) -> Failure {
    Failure::unknown(format!("there is no task {id}"))
}

fn misplaced() -> ErrorData {
    ErrorData::internal_error("the gateway answered another question", None)
}

#[allow(deprecated, reason = "subscribe, unsubscribe and setLevel serve revisions up to 2025-11-25")]
impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        let views = serde_json::json!({ "mimeTypes": [convert::VIEW_TYPE] });
        let views = views.as_object().cloned().unwrap_or_default();
        capabilities.extensions.get_or_insert_default().insert(APPS.to_owned(), views);
        let identity = &self.shared.identity;
        let mut implementation = Implementation::new(&identity.name, &identity.version);
        implementation.title.clone_from(&identity.title);
        let mut info = ServerConfig::new(capabilities).with_server_info(implementation);
        info.instructions.clone_from(&identity.instructions);
        info
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.gateway.input_schema(name).map(|schema| Tool::new(name.to_owned(), "", schema))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.shared.gateway.tools(&caller(&context)).await;
        let cursor = cursor(request);
        let page = page::cut(tools, cursor.as_deref(), self.shared.page, |tool| &tool.name);
        let page = page.map_err(convert::error)?;
        let mut result = ListToolsResult::with_all_items(page.items.into_iter().map(convert::tool).collect());
        result.next_cursor = page.next;
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = request;
        let tasks = self.shared.gateway.task_support(&name);
        if tasks == TaskSupport::Required && !can(&context).tasks {
            return Err(convert::error(Failure::needs("tasks")));
        }
        let about = format!("tool {name}");
        let asked = Asked { about, state: request_state, responses: input_responses, tasks };
        let call = move |gateway: Arc<dyn Gateway>, session: Session| -> Call {
            Box::pin(async move {
                gateway.call(&name, arguments.unwrap_or_default(), &session).await.map(Reply::Tool)
            })
        };
        match self.carry_out(asked, context, call).await? {
            Answer::Done(Ok(Reply::Tool(output))) => Ok(convert::output(output).into()),
            Answer::Done(Err(failure)) => Ok(convert::failed(failure)?.into()),
            Answer::Done(Ok(_)) => Err(misplaced()),
            Answer::Input(input) => Ok(input.into()),
            Answer::Task(task) => Ok(CreateTaskResult::new(task).into()),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let page = self.shared.gateway.resources(cursor(request).as_deref(), &caller(&context)).await;
        let page = page.map_err(convert::error)?;
        let items = page.items.into_iter().map(convert::resource).collect();
        let mut result = ListResourcesResult::with_all_items(items);
        result.next_cursor = page.next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let page =
            self.shared.gateway.resource_templates(cursor(request).as_deref(), &caller(&context)).await;
        let page = page.map_err(convert::error)?;
        let items = page.items.into_iter().map(convert::template).collect();
        let mut result = ListResourceTemplatesResult::with_all_items(items);
        result.next_cursor = page.next;
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let ReadResourceRequestParams { uri, input_responses, request_state, .. } = request;
        let asked = Asked {
            about: format!("read {uri}"),
            state: request_state,
            responses: input_responses,
            tasks: TaskSupport::Never,
        };
        let address = uri.clone();
        let call = move |gateway: Arc<dyn Gateway>, session: Session| -> Call {
            Box::pin(async move { gateway.read(&uri, &session).await.map(Reply::Read) })
        };
        match self.carry_out(asked, context, call).await? {
            Answer::Done(Ok(Reply::Read(bodies))) => {
                Ok(ReadResourceResult::new(bodies.into_iter().map(convert::body).collect()).into())
            }
            Answer::Done(Err(failure)) if failure.kind == super::gateway::Kind::Unknown => {
                let data = serde_json::json!({"uri": address, "code": failure.code});
                Err(ErrorData::resource_not_found(failure.message, Some(data)))
            }
            Answer::Done(Err(failure)) => Err(convert::error(failure)),
            Answer::Done(Ok(_)) | Answer::Task(_) => Err(misplaced()),
            Answer::Input(input) => Ok(input.into()),
        }
    }

    async fn subscribe(
        &self,
        request: rmcp::model::SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.gateway.watch(&request.uri, &caller(&context)).await.map_err(convert::error)?;
        self.subscriptions().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: rmcp::model::UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let caller = caller(context.request_context());
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            self.shared.gateway.watch(uri, &caller).await.map_err(convert::error)?;
        }
        tokio::select! {
            () = changes::listen(self.shared.gateway.changed(), &context) => {}
            () = self.shared.stopping.cancelled() => {}
        }
        Ok(())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.shared.gateway.prompts(&caller(&context)).await;
        let cursor = cursor(request);
        let page = page::cut(prompts, cursor.as_deref(), self.shared.page, |prompt| &prompt.name);
        let page = page.map_err(convert::error)?;
        let mut result =
            ListPromptsResult::with_all_items(page.items.into_iter().map(convert::prompt).collect());
        result.next_cursor = page.next;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let GetPromptRequestParams { name, arguments, input_responses, request_state, .. } = request;
        let asked = Asked {
            about: format!("prompt {name}"),
            state: request_state,
            responses: input_responses,
            tasks: TaskSupport::Never,
        };
        let call = move |gateway: Arc<dyn Gateway>, session: Session| -> Call {
            Box::pin(async move {
                gateway.prompt(&name, arguments.unwrap_or_default(), &session).await.map(Reply::Prompt)
            })
        };
        match self.carry_out(asked, context, call).await? {
            Answer::Done(Ok(Reply::Prompt(messages))) => {
                Ok(GetPromptResult::new(messages.into_iter().map(convert::message).collect()).into())
            }
            Answer::Done(Err(failure)) => Err(convert::error(failure)),
            Answer::Done(Ok(_)) | Answer::Task(_) => Err(misplaced()),
            Answer::Input(input) => Ok(input.into()),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (of, prompt) = match request.r#ref {
            Reference::Prompt(prompt) => (prompt.name, true),
            Reference::Resource(resource) => (resource.uri, false),
            _ => return Err(convert::error(Failure::unknown("only prompts and resources have completions"))),
        };
        let settled = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let completion = CompletionRequest {
            of,
            prompt,
            argument: request.argument.name,
            typed: request.argument.value,
            settled: settled.into_iter().collect(),
        };
        let found =
            self.shared.gateway.complete(completion, &caller(&context)).await.map_err(convert::error)?;
        let mut info = CompletionInfo::default();
        info.has_more = Some(found.values.len() > CompletionInfo::MAX_VALUES);
        info.total = found.total.or(u32::try_from(found.values.len()).ok());
        info.values = found.values;
        info.values.truncate(CompletionInfo::MAX_VALUES);
        Ok(CompleteResult::new(info))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let (id, caller) = (request.task_id, caller(&context));
        if let Some(call) = self.shared.tasks.find(&id, &caller.user) {
            return Ok(GetTaskResult::new(call.detailed().map_err(convert::error)?));
        }
        let state = self.shared.gateway.task(&id, &caller).await.map_err(convert::error)?;
        let state = state.ok_or_else(|| convert::error(no_task(&id)))?;
        Ok(GetTaskResult::new(tasks::detailed(state, None).map_err(convert::error)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (id, caller) = (request.task_id, caller(&context));
        if let Some(call) = self.shared.tasks.find(&id, &caller.user) {
            call.answer(request.input_responses);
            return Ok(());
        }
        let gateway = self.shared.gateway.clone();
        if gateway.task(&id, &caller).await.map_err(convert::error)?.is_none() {
            return Err(convert::error(no_task(&id)));
        }
        let answers = tasks::answers(request.input_responses);
        let client = client(&context, context.protocol_version().as_ref());
        // The task may run on for a long time. The client gets an acknowledgement or an error at
        // once.
        let work =
            self.shared.calls.spawn(async move { gateway.answer_task(&id, answers, &caller, &client).await });
        match tokio::time::timeout(ACKNOWLEDGE, work).await {
            Ok(Ok(Err(failure))) => Err(convert::error(failure)),
            _ => Ok(()),
        }
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (id, caller) = (request.task_id, caller(&context));
        if let Some(call) = self.shared.tasks.find(&id, &caller.user) {
            call.cancel();
            return Ok(());
        }
        let known = self.shared.gateway.task(&id, &caller).await.map_err(convert::error)?;
        known.ok_or_else(|| convert::error(no_task(&id)))?;
        self.shared.gateway.cancel_task(&id, &caller).await.map_err(convert::error)
    }

    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.threshold.set(convert::from_level(request.level));
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let watch = changes::tell(self.shared.gateway.changed(), context.peer, self.subscribed.clone());
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).spawn(watch);
    }
}
