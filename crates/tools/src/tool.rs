//! What a tool is to the rest: something that takes an admitted call and gives content back.

use crate::error::Result;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{CallId, JsonObject, Label, ToolDefinition, Valid};
pub use steward_domain::{ToolExample as Example, ToolPoll as Poll};
use steward_policy::AdmittedCall;
use tokio_util::sync::CancellationToken;

/// Something that can be called. The arguments in `call` have been checked against the tool's
/// schema.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Carries out one call. It is dropped when its time is up or it is cancelled, so what it
    /// started must end with it.
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output>;
}

/// A tool in the registry: its definition, what the operator laid down for it, and what carries it
/// out.
#[derive(Clone)]
pub struct Registered {
    /// What it is.
    pub definition: Arc<Valid<ToolDefinition>>,
    /// What the operator laid down.
    pub settings: Arc<Settings>,
    /// What carries it out.
    pub tool: Arc<dyn Tool>,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("name", &self.definition.tool_name).finish_non_exhaustive()
    }
}

/// What holds for a tool beside its definition: from the category, the tool's own entry and the
/// environment, in this order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Why it cannot be called: switched off, its category is, its definition is held back.
    pub off: Option<String>,
    /// What a caller must hold.
    pub permissions: Vec<Label>,
    /// `per_second`, `per_minute`, `per_hour`, `per_day`.
    pub rate_limits: BTreeMap<String, u32>,
    /// Attempts after the first, where repeating is safe.
    pub retries: u32,
    /// What the result may weigh before the rest goes to an artifact.
    pub result_bytes: Option<usize>,
    /// Values for the tool itself: a base URL, an allow-list.
    pub parameters: JsonObject,
    /// Requests in people's words that this tool is for, with the arguments they mean.
    pub examples: Vec<Example>,
    /// For polling pairs: the tool that is asked again until the answer is there.
    pub poll: Option<Poll>,
    /// Fields of its results that the operator trusts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_fields: Vec<String>,
}

/// What a call gave back. All of it is untrusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Output {
    /// For people and models.
    pub content: Vec<Content>,
    /// For programs; checked against the definition's `return_schema` when it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Json>,
}

impl Output {
    /// Words only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text { text: text.into() }], structured: None }
    }

    /// A value, with its text for people.
    #[must_use]
    pub fn json(value: Json) -> Self {
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        Self { content: vec![Content::Text { text }], structured: Some(value) }
    }

    /// All words in it.
    #[must_use]
    pub fn words(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            Content::Text { text } | Content::Resource { text: Some(text), .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// One part of a result, as MCP knows them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture, in base64.
    Image {
        /// The bytes in base64.
        data: String,
        /// Such as `image/png`.
        mime_type: String,
    },
    /// Sound, in base64.
    Audio {
        /// The bytes in base64.
        data: String,
        /// Such as `audio/wav`.
        mime_type: String,
    },
    /// Something with an address, with its text or its bytes in base64.
    Resource {
        /// Its address.
        uri: String,
        /// Its kind.
        mime_type: Option<String>,
        /// Its words.
        text: Option<String>,
        /// Its bytes in base64.
        data: Option<String>,
    },
    /// The address of something that can be read later.
    Link {
        /// Its address.
        uri: String,
        /// Its name.
        name: String,
        /// Its kind.
        mime_type: Option<String>,
    },
}

/// What a call is carried out in.
#[derive(Clone)]
pub struct Context {
    /// How long it may take from now.
    pub timeout: Duration,
    /// Set when the caller does not want it any more.
    pub cancel: CancellationToken,
    /// Hears how far it is.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// Whom a tool may ask.
    pub human: Arc<dyn Human>,
    /// What tells this call from every other, the same for each attempt at it: a tool that knows it
    /// does nothing twice.
    pub key: Option<CallId>,
}

impl Context {
    /// With this much time, nobody to ask and nobody listening.
    #[must_use]
    pub fn within(timeout: Duration) -> Self {
        Self {
            timeout,
            cancel: CancellationToken::new(),
            progress: None,
            human: Arc::new(NoHuman),
            key: None,
        }
    }
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// Out of how much.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

/// What a tool wants to know from a person (MCP's elicitation).
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// Who asks: the server's name.
    pub server: String,
    /// The question. Untrusted: it is shown, never obeyed.
    pub message: String,
    /// JSON Schema of the answer; nothing when the person is to open `url`.
    pub schema: Option<Json>,
    /// An address to be opened by the person.
    pub url: Option<String>,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// The answer, in the schema's shape.
    Accepted(JsonObject),
    /// No.
    Declined,
    /// Nobody answered.
    Cancelled,
}

/// Somebody who can be asked.
#[async_trait]
pub trait Human: Send + Sync {
    /// Asks and waits, within the call's time.
    async fn ask(&self, question: Elicitation) -> Answered;
}

/// Nobody is there.
#[derive(Debug, Clone, Copy)]
pub struct NoHuman;

#[async_trait]
impl Human for NoHuman {
    async fn ask(&self, _: Elicitation) -> Answered {
        Answered::Cancelled
    }
}
