//! Simple requests: a few messages in, one text or JSON value out, no tools. A reduced form of
//! [`Chat`].

use std::time::Duration;

use super::chat::{Answer, Chat, Finish, ReplySchema, Turn, Usage};
use super::{Model, ModelError};

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The system prompt.
    System,
    /// The user.
    User,
    /// An earlier reply.
    Assistant,
}

impl Role {
    /// The role as it is sent.
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
    /// The role.
    pub role: Role,
    /// The text.
    pub content: String,
}

impl Message {
    /// A message.
    #[must_use]
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }
}

/// A simple request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The messages so far.
    pub messages: Vec<Message>,
    /// Name and JSON schema that the reply must follow.
    pub schema: Option<(String, serde_json::Value)>,
    /// Maximum output tokens.
    pub max_tokens: u32,
    /// The temperature.
    pub temperature: f32,
    /// Time limit, including all retries.
    pub timeout: Duration,
}

/// A reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// The JSON in it, if a schema was given.
    pub json: Option<serde_json::Value>,
    /// Input tokens as reported by the server; 0 if it reports none.
    pub input_tokens: u64,
    /// Output tokens as reported by the server; 0 if it reports none.
    pub output_tokens: u64,
    /// The cost in millionths, if the price is known.
    pub cost_micros: Option<u64>,
    /// The model's name as reported by the server.
    pub model: String,
}

/// Answers a simple request through a conversation. A truncated reply is an error here.
pub(super) async fn complete(model: &(impl Model + ?Sized), request: &Request) -> Result<Reply, ModelError> {
    let answer = model.talk(&chat(request), None).await?;
    if answer.finish == Finish::Length {
        return Err(ModelError::CutOff { max_tokens: request.max_tokens });
    }
    Ok(Reply {
        text: answer.text,
        json: answer.json,
        input_tokens: answer.usage.input,
        output_tokens: answer.usage.output,
        cost_micros: answer.cost_micros,
        model: answer.model,
    })
}

fn chat(request: &Request) -> Chat {
    let turns = request.messages.iter().map(|message| match message.role {
        Role::System => Turn::System { text: message.content.clone() },
        Role::User => Turn::User { text: message.content.clone() },
        Role::Assistant => Turn::Assistant { text: message.content.clone(), calls: Vec::new() },
    });
    Chat {
        turns: turns.collect(),
        schema: (request.schema.as_ref())
            .map(|(name, schema)| ReplySchema { name: name.clone(), schema: schema.clone() }),
        max_tokens: Some(request.max_tokens),
        temperature: Some(request.temperature),
        timeout: Some(request.timeout),
        ..Chat::default()
    }
}

/// Converts a conversation to a simple request, for a model that supports no other.
pub(super) fn request(model: &str, chat: &Chat) -> Result<Request, ModelError> {
    if !chat.tools.is_empty() {
        return Err(ModelError::NoTools { model: model.to_owned() });
    }
    let messages = chat.turns.iter().map(|turn| match turn {
        Turn::System { text } => Message::new(Role::System, text),
        Turn::User { text } => Message::new(Role::User, text),
        Turn::Assistant { text, .. } => Message::new(Role::Assistant, text),
        Turn::Tool { name, content, .. } => Message::new(Role::User, format!("{name} gave: {content}")),
    });
    Ok(Request {
        messages: messages.collect(),
        schema: chat.schema.as_ref().map(|schema| (schema.name.clone(), schema.schema.clone())),
        max_tokens: chat.max_tokens.unwrap_or(super::chat::MAX_TOKENS),
        temperature: chat.temperature.unwrap_or_default(),
        timeout: chat.timeout.unwrap_or(super::chat::TIMEOUT),
    })
}

/// Converts a simple reply to a full one.
pub(super) fn answer(reply: Reply) -> Answer {
    Answer {
        text: reply.text,
        calls: Vec::new(),
        json: reply.json,
        finish: Finish::Stop,
        usage: Usage { input: reply.input_tokens, output: reply.output_tokens, cached: 0 },
        cost_micros: reply.cost_micros,
        model: reply.model,
    }
}
