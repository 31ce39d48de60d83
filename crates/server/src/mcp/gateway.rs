//! What stands behind the server: the one trait that the rest of Steward implements, and the words
//! it is written in.
//!
//! The types are ours and not the library's, so that what is behind does not change when the
//! protocol does.

use super::session::{ClientPrompt, Session};
use async_trait::async_trait;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steward_domain::{Coded, ErrorClass, JsonObject, Timestamp};
use steward_tools::{Content, Output};
use tokio::sync::{broadcast, watch};

/// What stands behind the MCP server. Every method may be called by many clients at once.
#[async_trait]
pub trait Gateway: Send + Sync + 'static {
    /// What the server is called and what it says of itself.
    fn identity(&self) -> Identity {
        Identity::default()
    }

    /// What this caller may call, always in the same order. The server cuts it into pages.
    async fn tools(&self, caller: &Caller) -> Vec<Offered>;

    /// The schema of one tool's arguments, when it is at hand. It is used to compare a request's
    /// `Mcp-Param-*` headers with its body; without it they are not compared.
    fn input_schema(&self, _name: &str) -> Option<Arc<JsonObject>> {
        None
    }

    /// Carries out one call. It is given time to end when `session.cancelled()` is set, and dropped
    /// after that.
    async fn call(&self, name: &str, arguments: JsonObject, session: &Session) -> Result<Output, Failure>;

    /// Whether calls of this tool can become tasks.
    fn task_support(&self, _name: &str) -> TaskSupport {
        TaskSupport::Never
    }

    /// How a task stands that outlives this process; nothing when there is none of this id, or it
    /// is another user's.
    async fn task(&self, _id: &str, _caller: &Caller) -> Result<Option<TaskState>, Failure> {
        Ok(None)
    }

    /// Takes answers to what such a task asked. It may go on for as long as the task does.
    async fn answer_task(
        &self,
        _id: &str,
        _answers: BTreeMap<String, Json>,
        _caller: &Caller,
        _client: &Client,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Calls such a task off. One that ended stays as it is.
    async fn cancel_task(&self, _id: &str, _caller: &Caller) -> Result<(), Failure> {
        Ok(())
    }

    /// What can be read, from `cursor` on.
    async fn resources(&self, _cursor: Option<&str>, _caller: &Caller) -> Result<Page<Resource>, Failure> {
        Ok(Page::default())
    }

    /// What can be read when its address is filled in.
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

    /// Somebody wants to hear of changes of `uri`. What changed is told through
    /// [`Changes::updated`].
    async fn watch(&self, _uri: &str, _caller: &Caller) -> Result<(), Failure> {
        Ok(())
    }

    /// The prompts on offer, always in the same order. The server cuts them into pages.
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

    /// How an argument that is being typed could go on.
    async fn complete(&self, _completion: CompletionOf, _caller: &Caller) -> Result<Completion, Failure> {
        Ok(Completion::default())
    }

    /// Where changes of what is on offer are heard.
    fn changed(&self) -> Changes;
}

/// Whether a tool's calls can become tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// They end while the client waits.
    #[default]
    Never,
    /// They become tasks when they take long, for clients that know tasks.
    Optional,
    /// They cannot be carried out otherwise: other clients are refused.
    Required,
}

/// How a task stands.
#[derive(Debug, Clone)]
pub struct TaskState {
    /// Its id.
    pub id: String,
    /// Where it is in its life.
    pub status: TaskStatus,
    /// How far it is, for people.
    pub message: Option<String>,
    /// When it began.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
}

impl TaskState {
    /// Whether nothing will change any more.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        !matches!(self.status, TaskStatus::Working | TaskStatus::Asking(_))
    }
}

/// Where a task is in its life.
#[derive(Debug, Clone)]
pub enum TaskStatus {
    /// It is being worked on, or waits for its turn.
    Working,
    /// It waits for these answers.
    Asking(BTreeMap<String, ClientPrompt>),
    /// It ended with this result.
    Completed(Output),
    /// It ended with this failure.
    Failed(Failure),
    /// It was called off.
    Cancelled,
}

/// What the server says of itself.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// How a model should work with it.
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

/// Who asks. Over pipes that is whoever started the process; over HTTP it is what [`super::Check`]
/// found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The user's name.
    pub user: String,
    /// What they hold. Nothing named means: everything (one person on their own machine).
    pub grants: Option<BTreeSet<String>>,
    /// The same in policy's words, where the door knows it.
    pub held: Option<Arc<steward_policy::Caller>>,
    /// The tools whose waiting calls they may decide on, as names or `prefix*`. Counts where `held`
    /// does.
    pub approve: BTreeSet<String>,
    /// The roles in which they may decide on approvals that ask a role. Counts where `held` does.
    pub roles: BTreeSet<String>,
}

impl Caller {
    /// Whether this is the owner of the machine, at the machine.
    #[must_use]
    pub fn is_owner(&self) -> bool {
        self.grants.is_none() && self.held.is_none()
    }

    /// Whether a yes of theirs counts for calls of this tool.
    #[must_use]
    pub fn approves(&self, tool: &str) -> bool {
        self.held.is_none() || crate::identity::fits_any(&self.approve, tool)
    }

    /// Whether they may decide on what asks these roles, or on these tools where it asks none.
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

/// What the client says of itself. Untrusted: it is written down, never decided upon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The revision of the protocol that this request speaks.
    pub protocol: String,
    /// The session it belongs to, over HTTP up to 2025-11-25.
    pub session: Option<String>,
}

/// A tool on offer.
#[derive(Debug, Clone)]
pub struct Offered {
    /// What it is called by.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Arc<JsonObject>,
    /// JSON Schema of its structured result.
    pub output_schema: Option<Arc<JsonObject>>,
    /// It changes nothing.
    pub read_only: bool,
    /// What it changes may be lost.
    pub destructive: bool,
    /// The same call twice changes things once.
    pub idempotent: bool,
    /// It reaches out of Steward.
    pub open_world: bool,
}

impl Offered {
    /// A tool that changes nothing. The rest is set by hand.
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
        }
    }
}

/// A part of a list, and where the next part begins.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// This part.
    pub items: Vec<T>,
    /// What to ask for next; nothing at the end.
    pub next: Option<String>,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { items: Vec::new(), next: None }
    }
}

/// Something that can be read.
#[derive(Debug, Clone, Default)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its kind.
    pub mime_type: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// Addresses with gaps to fill in (RFC 6570).
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// Such as `steward://artifacts/{id}`.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// The kind of what is read.
    pub mime_type: Option<String>,
}

/// What was read.
#[derive(Debug, Clone)]
pub enum ResourceBody {
    /// Words.
    Text {
        /// Its address.
        uri: String,
        /// Its kind.
        mime_type: Option<String>,
        /// The words.
        text: String,
    },
    /// Bytes.
    Blob {
        /// Its address.
        uri: String,
        /// Its kind.
        mime_type: Option<String>,
        /// The bytes. They are written in base64 on the way out.
        bytes: Vec<u8>,
    },
}

/// A prompt on offer.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// What it is called by.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it wants to know.
    pub arguments: Vec<Argument>,
}

/// One thing that a prompt wants to know.
#[derive(Debug, Clone, Default)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether the prompt works without it.
    pub required: bool,
}

/// Who says a message.
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
    /// Who says it.
    pub speaker: Speaker,
    /// What is said.
    pub content: Content,
}

/// What is to be completed.
#[derive(Debug, Clone)]
pub struct CompletionOf {
    /// The prompt's name or the template's address.
    pub of: String,
    /// Whether `of` is a prompt.
    pub prompt: bool,
    /// The argument's name.
    pub argument: String,
    /// What was typed so far.
    pub typed: String,
    /// Arguments that are settled.
    pub settled: BTreeMap<String, String>,
}

/// How an argument could go on. The server sends the first hundred and says that there are more.
#[derive(Debug, Clone, Default)]
pub struct Completion {
    /// The values, the best first.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: Option<u32>,
}

/// Where changes are heard. The numbers only tell that something changed.
#[derive(Debug)]
pub struct Changes {
    /// The list of tools.
    pub tools: watch::Receiver<u64>,
    /// The list of resources.
    pub resources: watch::Receiver<u64>,
    /// The list of prompts.
    pub prompts: watch::Receiver<u64>,
    /// Addresses of resources whose content changed.
    pub updated: broadcast::Receiver<Arc<str>>,
}

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{code} {message}")]
pub struct Failure {
    /// The stable code, such as `TOL007`.
    pub code: String,
    /// What happened and what to do.
    pub message: String,
    /// What kind of failure it is for people.
    pub class: ErrorClass,
    /// What kind of failure it is for the protocol.
    pub kind: Kind,
}

/// How a failure is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The tool ran, or was refused: the model reads why and can do better. This includes arguments
    /// that do not fit.
    Tool,
    /// There is no such tool, prompt, resource or cursor: an error of the protocol.
    Unknown,
    /// The client did not say that it can do what is needed: `elicitation`, `sampling`, `roots` or
    /// `tasks`.
    Needs(&'static str),
}

impl Failure {
    /// The tool ran and failed.
    pub fn tool(code: impl Into<String>, message: impl Into<String>, class: ErrorClass) -> Self {
        Self { code: code.into(), message: message.into(), class, kind: Kind::Tool }
    }

    /// There is no such thing.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self { code: "MCP001".into(), message: message.into(), class: ErrorClass::User, kind: Kind::Unknown }
    }

    /// The client cannot do what is needed.
    #[must_use]
    pub fn needs(capability: &'static str) -> Self {
        let message =
            format!("this needs a client that offers {capability}, and yours did not say that it does");
        Self { code: "MCP002".into(), message, class: ErrorClass::User, kind: Kind::Needs(capability) }
    }

    /// We are wrong.
    pub(super) fn fault() -> Self {
        let message = "this call ran into a fault of ours; the log says more. Please report it";
        Self::tool("MCP005", message, ErrorClass::Bug)
    }

    /// Whether the failure is none of the tool's: ours, or the protocol's.
    pub(super) fn is_fault(&self) -> bool {
        self.kind != Kind::Tool || self.class == ErrorClass::Bug
    }

    /// The client did not answer, or not in the shape that was asked for.
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
