//! The trait that connects the MCP server to the rest of Steward, and its types.
//!
//! The types are independent of `rmcp`, so that implementations do not change with the protocol.

use super::session::{ClientPrompt, Session};
use async_trait::async_trait;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steward_domain::{Coded, ErrorClass, JsonObject, Timestamp};
use steward_tools::{Content, Output};
use tokio::sync::{broadcast, watch};

/// The backend of the MCP server. All methods may be called concurrently.
#[async_trait]
pub trait Gateway: Send + Sync + 'static {
    /// The name, version and instructions of the server.
    fn identity(&self) -> Identity {
        Identity::default()
    }

    /// The tools that this caller may call, in a stable order. The server splits them into pages.
    async fn tools(&self, caller: &Caller) -> Vec<Offered>;

    /// The argument schema of a tool, if available. It is used to compare the `Mcp-Param-*` headers
    /// of a request with its body; without it they are not compared.
    fn input_schema(&self, _name: &str) -> Option<Arc<JsonObject>> {
        None
    }

    /// Executes one call. When `session.cancelled()` is set, the call has a grace period and is
    /// then dropped.
    async fn call(&self, name: &str, arguments: JsonObject, session: &Session) -> Result<Output, Failure>;

    /// Whether calls of this tool can become tasks.
    fn task_support(&self, _name: &str) -> TaskSupport {
        TaskSupport::Never
    }

    /// The state of a durable task. `None` if it does not exist or belongs to another user.
    async fn task(&self, _id: &str, _caller: &Caller) -> Result<Option<TaskState>, Failure> {
        Ok(None)
    }

    /// Passes responses to a task that requires input. It may run for as long as the task does.
    async fn answer_task(
        &self,
        _id: &str,
        _answers: BTreeMap<String, Json>,
        _caller: &Caller,
        _client: &Client,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Cancels such a task. A finished task is not changed.
    async fn cancel_task(&self, _id: &str, _caller: &Caller) -> Result<(), Failure> {
        Ok(())
    }

    /// The resources from `cursor` on.
    async fn resources(&self, _cursor: Option<&str>, _caller: &Caller) -> Result<Page<Resource>, Failure> {
        Ok(Page::default())
    }

    /// The resource templates from `cursor` on.
    async fn resource_templates(
        &self,
        _cursor: Option<&str>,
        _caller: &Caller,
    ) -> Result<Page<Template>, Failure> {
        Ok(Page::default())
    }

    /// Reads one resource.
    async fn read(&self, uri: &str, _session: &Session) -> Result<Vec<ResourceBody>, Failure> {
        Err(Failure::unknown(format!("there is no resource {uri}")))
    }

    /// Called when a client subscribes to `uri`. Changes are sent through [`Changes::updated`].
    async fn watch(&self, _uri: &str, _caller: &Caller) -> Result<(), Failure> {
        Ok(())
    }

    /// The prompts on offer, in a stable order. The server splits them into pages.
    async fn prompts(&self, _caller: &Caller) -> Vec<Prompt> {
        Vec::new()
    }

    /// One prompt with its arguments filled in.
    async fn prompt(
        &self,
        name: &str,
        _arguments: JsonObject,
        _session: &Session,
    ) -> Result<Vec<Message>, Failure> {
        Err(Failure::unknown(format!("there is no prompt {name}")))
    }

    /// Completions for a partially typed argument.
    async fn complete(
        &self,
        _completion: CompletionRequest,
        _caller: &Caller,
    ) -> Result<Completion, Failure> {
        Ok(Completion::default())
    }

    /// Subscribes to changes of the lists and resources.
    fn changed(&self) -> Changes;
}

/// Whether a tool's calls can become tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// Calls end while the client waits.
    #[default]
    Never,
    /// Long calls become tasks, for clients that support tasks.
    Optional,
    /// Calls are always tasks. Other clients are rejected.
    Required,
}

/// The state of a task.
#[derive(Debug, Clone)]
pub struct TaskState {
    /// Its id.
    pub id: String,
    /// The status.
    pub status: TaskStatus,
    /// A progress message for users.
    pub message: Option<String>,
    /// When it was created.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
}

impl TaskState {
    /// Whether the status is final.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        !matches!(self.status, TaskStatus::Working | TaskStatus::Asking(_))
    }
}

/// The status of a task.
#[derive(Debug, Clone)]
pub enum TaskStatus {
    /// It is running or queued.
    Working,
    /// It waits for these responses.
    Asking(BTreeMap<String, ClientPrompt>),
    /// It ended with this result.
    Completed(Output),
    /// It ended with this failure.
    Failed(Failure),
    /// It was cancelled.
    Cancelled,
}

/// The self-description of the server.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// Instructions for models.
    pub instructions: Option<String>,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            name: "steward".into(),
            title: Some("Steward".into()),
            version: env!("CARGO_PKG_VERSION").into(),
            instructions: None,
        }
    }
}

/// The caller of a request. Over pipes it is the user who started the process; over HTTP it is the
/// result of [`super::Check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The user's name.
    pub user: String,
    /// The grants. `None` means all (a single user on their own machine).
    pub grants: Option<BTreeSet<String>>,
    /// The caller of policy, if the middleware determined it.
    pub held: Option<Arc<steward_policy::Caller>>,
    /// The tools whose pending calls the caller may decide on, as names or `prefix*`. Used only if
    /// `held` is set.
    pub approve: BTreeSet<String>,
    /// The caller's roles for approvals that require a role. Used only if `held` is set.
    pub roles: BTreeSet<String>,
}

impl Caller {
    /// Whether this is the owner of the machine, at the machine.
    #[must_use]
    pub fn is_owner(&self) -> bool {
        self.grants.is_none() && self.held.is_none()
    }

    /// Whether the caller may approve calls of this tool.
    #[must_use]
    pub fn approves(&self, tool: &str) -> bool {
        self.held.is_none() || crate::identity::fits_any(&self.approve, tool)
    }

    /// Whether the caller may decide on an approval: by its roles, or by its tools if none.
    #[must_use]
    pub fn decides<'a>(&self, roles: &[String], mut tools: impl Iterator<Item = &'a str>) -> bool {
        if roles.is_empty() {
            return tools.all(|tool| self.approves(tool));
        }
        let is_asked = |role: &String| role == crate::identity::OWNER || roles.contains(role);
        self.held.is_none() || self.roles.iter().any(is_asked)
    }

    /// The owner of the machine.
    #[must_use]
    pub fn owner() -> Self {
        let (approve, roles) = (BTreeSet::new(), BTreeSet::new());
        Self { user: "owner".into(), grants: None, held: None, approve, roles }
    }
}

/// The self-description of the client. It is untrusted: it is logged, never used for decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The protocol version of this request.
    pub protocol: String,
    /// The HTTP session, up to 2025-11-25.
    pub session: Option<String>,
}

/// A tool on offer.
#[derive(Debug, Clone)]
pub struct Offered {
    /// The name used in calls.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Arc<JsonObject>,
    /// JSON Schema of its structured result.
    pub output_schema: Option<Arc<JsonObject>>,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether its changes may be irreversible.
    pub destructive: bool,
    /// Whether repeating a call has no further effect.
    pub idempotent: bool,
    /// Whether it reaches systems outside of Steward.
    pub open_world: bool,
    /// The UI resource that shows its results (MCP Apps).
    pub view: Option<&'static str>,
}

impl Offered {
    /// A read-only tool. The other fields are set by the caller.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Arc<JsonObject>,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            input_schema,
            output_schema: None,
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
            view: None,
        }
    }
}

/// One page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// The cursor of the next page. `None` at the end.
    pub next: Option<String>,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { items: Vec::new(), next: None }
    }
}

/// A resource.
#[derive(Debug, Clone, Default)]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The media type.
    pub mime_type: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// A URI template (RFC 6570).
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// Such as `steward://artifacts/{id}`.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The media type of the resources.
    pub mime_type: Option<String>,
}

/// The content of a resource.
#[derive(Debug, Clone)]
pub enum ResourceBody {
    /// Text.
    Text {
        /// The URI.
        uri: String,
        /// The media type.
        mime_type: Option<String>,
        /// The text.
        text: String,
    },
    /// Bytes.
    Blob {
        /// The URI.
        uri: String,
        /// The media type.
        mime_type: Option<String>,
        /// The bytes. They are sent as base64.
        bytes: Vec<u8>,
    },
    /// A UI resource (MCP Apps) that loads nothing from any host.
    View {
        /// The URI, `ui://…`.
        uri: String,
        /// The HTML document.
        html: String,
    },
}

/// A prompt on offer.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// The name used in requests.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The arguments.
    pub arguments: Vec<Argument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, Default)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// The description.
    pub description: Option<String>,
    /// Whether the prompt requires it.
    pub required: bool,
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// One message of a prompt.
#[derive(Debug, Clone)]
pub struct Message {
    /// The role.
    pub speaker: Speaker,
    /// The content.
    pub content: Content,
}

/// A completion request.
#[derive(Debug, Clone)]
pub struct CompletionRequest {
    /// The prompt's name or the template's URI.
    pub of: String,
    /// Whether `of` is a prompt.
    pub prompt: bool,
    /// The argument's name.
    pub argument: String,
    /// The text typed so far.
    pub typed: String,
    /// The values of other arguments.
    pub settled: BTreeMap<String, String>,
}

/// Completions of an argument. The server sends the first hundred and marks the list as incomplete.
#[derive(Debug, Clone, Default)]
pub struct Completion {
    /// The values, the best first.
    pub values: Vec<String>,
    /// The total number of values.
    pub total: Option<u32>,
}

/// The change notifications. The numbers only signal that something changed.
#[derive(Debug)]
pub struct Changes {
    /// The list of tools.
    pub tools: watch::Receiver<u64>,
    /// The list of resources.
    pub resources: watch::Receiver<u64>,
    /// The list of prompts.
    pub prompts: watch::Receiver<u64>,
    /// URIs of resources whose content changed.
    pub updated: broadcast::Receiver<Arc<str>>,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{code} {message}")]
pub struct Failure {
    /// The stable code, such as `TOL007`.
    pub code: String,
    /// What happened and what to do.
    pub message: String,
    /// The error class.
    pub class: ErrorClass,
    /// How the protocol reports it.
    pub kind: Kind,
}

/// How the protocol reports a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A tool error, which the model reads and can react to. This includes invalid arguments and
    /// denied calls.
    Tool,
    /// Unknown tool, prompt, resource or cursor: a protocol error.
    Unknown,
    /// The client lacks a capability that is needed: `elicitation`, `sampling`, `roots` or `tasks`.
    Needs(&'static str),
}

impl Failure {
    /// A tool error.
    pub fn tool(code: impl Into<String>, message: impl Into<String>, class: ErrorClass) -> Self {
        Self { code: code.into(), message: message.into(), class, kind: Kind::Tool }
    }

    /// An unknown tool, prompt, resource or cursor.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self { code: "MCP001".into(), message: message.into(), class: ErrorClass::User, kind: Kind::Unknown }
    }

    /// A missing client capability.
    #[must_use]
    pub fn needs(capability: &'static str) -> Self {
        let message =
            format!("this needs a client that offers {capability}, and yours did not say that it does");
        Self { code: "MCP002".into(), message, class: ErrorClass::User, kind: Kind::Needs(capability) }
    }

    /// An internal error.
    pub(super) fn fault() -> Self {
        let message = "this call ran into a fault of ours; the log says more. Please report it";
        Self::tool("MCP005", message, ErrorClass::Bug)
    }

    /// Whether the failure is a protocol or internal error, and not one of the tool.
    pub(super) fn is_fault(&self) -> bool {
        self.kind != Kind::Tool || self.class == ErrorClass::Bug
    }

    /// The client did not respond, or its response has the wrong shape.
    pub fn unanswered(message: impl Into<String>) -> Self {
        Self::tool("MCP003", message, ErrorClass::Transient)
    }
}

impl From<steward_tools::Error> for Failure {
    fn from(error: steward_tools::Error) -> Self {
        let kind = match error {
            steward_tools::Error::UnknownTool { .. } => Kind::Unknown,
            _ => Kind::Tool,
        };
        Self { code: error.code().into(), message: error.to_string(), class: error.class(), kind }
    }
}
