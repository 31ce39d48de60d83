//! The tool interface: a tool takes an admitted call and returns content.

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

/// A callable tool. The arguments in `call` were validated against the tool's schema.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Executes one call. The future is dropped on timeout or cancellation, so everything it
    /// started must end with it.
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output>;
}

/// A tool in the registry: its definition, the operator's settings and its implementation.
#[derive(Clone)]
pub struct Registered {
    /// The definition.
    pub definition: Arc<Valid<ToolDefinition>>,
    /// The operator's settings.
    pub settings: Arc<Settings>,
    /// The implementation.
    pub tool: Arc<dyn Tool>,
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("name", &self.definition.tool_name).finish_non_exhaustive()
    }
}

/// The settings of a tool beside its definition: from the category, the tool's own entry and the
/// environment, in this order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Why it cannot be called: it or its category is disabled, or its definition is held.
    pub off: Option<String>,
    /// The permissions that a caller needs.
    pub permissions: Vec<Label>,
    /// `per_second`, `per_minute`, `per_hour`, `per_day`.
    pub rate_limits: BTreeMap<String, u32>,
    /// The maximum number of retries, where a retry is safe.
    pub retries: u32,
    /// The maximum size of a result. The rest is stored as an artifact.
    pub result_bytes: Option<usize>,
    /// Parameters of the tool itself: a base URL, an allow-list.
    pub parameters: JsonObject,
    /// Example requests with their arguments.
    pub examples: Vec<Example>,
    /// For polling pairs: the tool that is polled for the result.
    pub poll: Option<Poll>,
    /// Whether it is found by its full name only: it is in no list and no search.
    #[serde(skip)]
    pub unlisted: bool,
    /// Fields of its results that the operator trusts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_fields: Vec<String>,
}

/// The result of a call. All of it is untrusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Output {
    /// Content for users and models.
    pub content: Vec<Content>,
    /// Structured content, validated against the definition's `return_schema` if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Json>,
}

impl Output {
    /// A text result.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text { text: text.into() }], structured: None }
    }

    /// A JSON result, with its text.
    #[must_use]
    pub fn json(value: Json) -> Self {
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        Self { content: vec![Content::Text { text }], structured: Some(value) }
    }

    /// All text in the result.
    #[must_use]
    pub fn words(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            Content::Text { text } | Content::Resource { text: Some(text), .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// One part of a result, with the types of MCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image, in base64.
    Image {
        /// The bytes in base64.
        data: String,
        /// Such as `image/png`.
        mime_type: String,
    },
    /// Audio, in base64.
    Audio {
        /// The bytes in base64.
        data: String,
        /// Such as `audio/wav`.
        mime_type: String,
    },
    /// A resource with its text, or its bytes in base64.
    Resource {
        /// The URI.
        uri: String,
        /// The media type.
        mime_type: Option<String>,
        /// The text.
        text: Option<String>,
        /// The bytes in base64.
        data: Option<String>,
    },
    /// A link to a resource that can be read later.
    Link {
        /// The URI.
        uri: String,
        /// Its name.
        name: String,
        /// The media type.
        mime_type: Option<String>,
    },
}

/// The context of a call.
#[derive(Clone)]
pub struct Context {
    /// The timeout from now on.
    pub timeout: Duration,
    /// Cancelled when the caller cancels the call.
    pub cancel: CancellationToken,
    /// Receives progress updates.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// The person that a tool may ask.
    pub human: Arc<dyn Human>,
    /// The idempotency key, the same for each attempt. A tool that supports it has no effect twice.
    pub key: Option<CallId>,
}

impl Context {
    /// A context with this timeout, without a person and without a progress listener.
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

/// The progress of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The amount done.
    pub done: f64,
    /// The total amount.
    pub total: Option<f64>,
    /// A message.
    pub message: Option<String>,
}

/// A question of a tool to a person (MCP's elicitation).
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// The server that asks.
    pub server: String,
    /// The question. It is untrusted: it is displayed, never followed as an instruction.
    pub message: String,
    /// JSON Schema of the answer. `None` if the person should open `url`.
    pub schema: Option<Json>,
    /// An address that the person should open.
    pub url: Option<String>,
}

/// The response of a person.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// The answer, in the shape of the schema.
    Accepted(JsonObject),
    /// The person declined.
    Declined,
    /// There was no answer.
    Cancelled,
}

/// A person who can be asked.
#[async_trait]
pub trait Human: Send + Sync {
    /// Asks and waits, within the timeout of the call.
    async fn ask(&self, question: Elicitation) -> Answered;
}

/// No person is available.
#[derive(Debug, Clone, Copy)]
pub struct NoHuman;

#[async_trait]
impl Human for NoHuman {
    async fn ask(&self, _: Elicitation) -> Answered {
        Answered::Cancelled
    }
}
