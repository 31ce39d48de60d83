//! Language models: one question, one reply, whoever serves the model.
//!
//! What a model says is material and never an instruction: a reply is text, or JSON that the caller checks. Keys are never
//! printed.

mod openai;
mod reply;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use steward_domain::{Coded, ErrorClass};

pub use openai::{OpenAi, Options};

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The rules.
    System,
    /// The question.
    User,
    /// An earlier reply.
    Assistant,
}

impl Role {
    /// The word on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: String,
}

impl Message {
    /// A message.
    #[must_use]
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }
}

/// A question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Name and JSON schema that the reply must follow.
    pub schema: Option<(String, serde_json::Value)>,
    /// The reply may be so long.
    pub max_tokens: u32,
    /// 0 for the most likely words.
    pub temperature: f32,
    /// Time for everything, with all attempts.
    pub timeout: Duration,
}

/// A reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What the model said.
    pub text: String,
    /// The JSON in it, when a schema was asked for.
    pub json: Option<serde_json::Value>,
    /// Tokens read, as the server counts; 0 when it does not.
    pub input_tokens: u64,
    /// Tokens written, as the server counts; 0 when it does not.
    pub output_tokens: u64,
    /// The model that replied, as the server calls it.
    pub model: String,
}

/// A language model.
#[async_trait]
pub trait Model: Send + Sync {
    /// The name of the model.
    fn name(&self) -> &str;
    /// Asks it.
    async fn complete(&self, request: &Request) -> Result<Reply, ModelError>;
}

/// Something that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps it.
    #[must_use]
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum ModelError {
    #[error("this is not the address of a model server: {detail}. It looks like https://host/v1")]
    Address { detail: String },
    #[error("no model server answers at {host}: {detail}. Check the address and that the server is running")]
    Unreachable { host: String, detail: String },
    #[error("the model server at {host} does not accept the key: {detail}")]
    Unauthorised { host: String, detail: String },
    #[error("the server at {host} has no model {model}: {detail}")]
    NoModel { host: String, model: String, detail: String },
    #[error("the model server at {host} asks to wait: {detail}. Try again later")]
    RateLimited { host: String, detail: String },
    #[error("the model server at {host} failed with status {status}: {detail}. Try again later")]
    Server { host: String, status: u16, detail: String },
    #[error("the model server at {host} refused the question with status {status}: {detail}")]
    Refused { host: String, status: u16, detail: String },
    #[error("the model server at {host} sent something that is not a reply: {detail}")]
    Garbled { host: String, detail: String },
    #[error("the reply has more than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the model did not reply in the form asked for: {detail}")]
    NotJson { detail: String },
    #[error("the reply was cut off after {max_tokens} tokens. Allow more, or ask for less")]
    CutOff { max_tokens: u32 },
    #[error("the model declined to reply: {detail}")]
    Declined { detail: String },
    #[error("the model did not reply within {milliseconds} ms")]
    Timeout { milliseconds: u64 },
}

impl Coded for ModelError {
    fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "MDL001",
            Self::Unreachable { .. } => "MDL002",
            Self::Unauthorised { .. } => "MDL003",
            Self::NoModel { .. } => "MDL004",
            Self::RateLimited { .. } => "MDL005",
            Self::Server { .. } => "MDL006",
            Self::Refused { .. } => "MDL007",
            Self::Garbled { .. } => "MDL008",
            Self::TooLarge { .. } => "MDL009",
            Self::NotJson { .. } => "MDL010",
            Self::CutOff { .. } => "MDL011",
            Self::Declined { .. } => "MDL012",
            Self::Timeout { .. } => "MDL013",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Address { .. }
            | Self::Unauthorised { .. }
            | Self::NoModel { .. }
            | Self::Refused { .. }
            | Self::CutOff { .. } => ErrorClass::User,
            Self::Declined { .. } => ErrorClass::Denied,
            _ => ErrorClass::Transient,
        }
    }
}
