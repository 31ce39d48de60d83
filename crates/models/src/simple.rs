//! The simple question: a few messages in, one text or one JSON value out, no tools. It is a
//! [`Chat`] with less in it.

use std::time::Duration;

use super::chat::{Answer, Chat, Finish, ReplySchema, Turn, Usage};
use super::{Model, ModelError};

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
    /// What it cost in millionths, when the price is known.
    pub cost_micros: Option<u64>,
    /// The model that replied, as the server calls it.
    pub model: String,
}

/// Answers a simple question by way of a conversation. A reply that was cut off is no reply here.
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

/// The simple form of a conversation, for a model that knows no other.
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

/// The full form of a simple reply.
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
