//! The client handler: requests and notifications of a server.
//!
//! Invariant: a prompt is shown only to the person of the call it belongs to.

#![allow(
    deprecated,
    reason = "servers of earlier revisions still send log messages, and ask for sampling in vain"
)]

use crate::mcp::calls::ConnectionMonitor;
use crate::mcp::log::Log;
use crate::tool::{Answered, Elicitation, Human, Progress};
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
    Implementation, LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion,
    UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData as McpError};
use serde_json::Value as Json;
use std::sync::Arc;
use steward_domain::{JsonObject, ServerName};
use tokio::sync::watch;

/// The maximum number of characters of a prompt that is shown to a person.
const QUESTION_CHARS: usize = 4_000;

/// Handles the requests of one server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) server: ServerName,
    pub(crate) tap: Arc<ConnectionMonitor>,
    pub(crate) log: Arc<Log>,
    /// Counts the list-changed notifications of the server.
    pub(crate) changed: watch::Sender<u64>,
}

impl Client {
    fn note_change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        let mut capabilities = ClientCapabilities::builder().enable_tasks().build();
        capabilities.elicitation = Some(elicitation);
        ClientConfig::new(capabilities, Implementation::new("steward", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, McpError> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client lends no model to servers", None))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, McpError> {
        let origin = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id),
            _ => None,
        };
        let Some(human) = self.tap.person_for_prompt(origin) else {
            return Ok(ElicitResult::new(ElicitationAction::Cancel));
        };
        tokio::select! {
            answer = ask(&self.server, &*human, request) => Ok(answer),
            _ = self.tap.gone() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(call) = self.tap.by_token(&params.progress_token) {
            call.tell(Progress { done: params.progress, total: params.total, message: params.message });
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let words = match params.data {
            Json::String(words) => words,
            other => other.to_string(),
        };
        let logger = params.logger.map(|logger| format!(" {logger}")).unwrap_or_default();
        self.log.push(&format!("{:?}{logger}", params.level).to_lowercase(), &words);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note_change();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note_change();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note_change();
    }
}

/// Asks a person on behalf of a server.
pub(crate) async fn ask(
    server: &ServerName,
    human: &dyn Human,
    request: ElicitRequestParams,
) -> ElicitResult {
    let (message, schema, url) = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            (message, serde_json::to_value(requested_schema).ok(), None)
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => (message, None, Some(url)),
        _ => return ElicitResult::new(ElicitationAction::Decline),
    };
    let message = message.chars().filter(|c| !c.is_control() || *c == '\n').take(QUESTION_CHARS).collect();
    let form = schema.clone();
    let question = Elicitation { server: server.to_string(), message, schema, url };
    match human.ask(question).await {
        Answered::Accepted(answer) => {
            let accepted = ElicitResult::new(ElicitationAction::Accept);
            match form {
                Some(form) => accepted.with_content(Json::Object(with_defaults(answer, &form))),
                None => accepted,
            }
        }
        Answered::Declined => ElicitResult::new(ElicitationAction::Decline),
        Answered::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
    }
}

/// Fields that the person left empty get the defaults that the form showed.
fn with_defaults(mut answer: JsonObject, form: &Json) -> JsonObject {
    let fields = form.get("properties").and_then(Json::as_object);
    for (name, field) in fields.into_iter().flatten() {
        if let Some(default) = field.get("default")
            && !answer.contains_key(name)
        {
            answer.insert(name.clone(), default.clone());
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn form_defaults_fill_empty_fields() {
        let form = json!({ "properties": { "a": { "default": 1 }, "b": { "default": 2 }, "c": {} } });
        let answer = json!({ "a": 5 }).as_object().cloned().unwrap();
        assert_eq!(Json::Object(with_defaults(answer, &form)), json!({ "a": 5, "b": 2 }));
    }
}
