//! Language models: one interface, whoever serves the model. Nothing outside of this crate knows a
//! provider.
//!
//! A conversation ([`Chat`]) goes in, an [`Answer`] comes out: whole, or event by event through
//! [`Model::stream`]. What a model says is material and never an instruction: a reply is text, or
//! JSON, or a tool call that policy has yet to admit. Keys are never printed, and half an answer is
//! an error and never an answer.

mod anthropic;
mod budget;
mod cassette;
mod chain;
mod chat;
mod client;
mod error;
mod form;
mod gemini;
mod http;
mod intext;
mod limits;
mod llama;
mod local;
mod ollama;
mod openai;
mod purpose;
mod reply;
mod responses;
mod retry;
mod secret;
mod settings;
mod simple;
mod sse;
mod stream;
mod traced;
mod unavailable;
mod wire;

use async_trait::async_trait;

pub use anthropic::Anthropic;
pub use budget::{ModelBudget, Spending};
pub use cassette::{Recorder, Replayer};
pub use chain::{Chain, FallbackOn};
pub use chat::{
    Answer, Arguments, Chat, Finish, OfferedTool, Price, ReplySchema, ToolCall, ToolChoice, Turn, Usage,
};
pub use client::{Client, Options};
pub use error::ModelError;
pub use gemini::Gemini;
pub use http::{connection, trace_context_from};
pub use limits::Limits;
pub use llama::{Launched, Launcher, LlamaOptions, LlamaServer};
pub use local::Local;
pub use ollama::Ollama;
pub use openai::OpenAi;
pub use purpose::{ModelPurpose, ModelUse};
pub use responses::Responses;
pub use secret::Secret;
pub use settings::{ChosenModel, ModelServices, ModelSettings, Models, Provider, build};
pub use simple::{Message, Reply, Request, Role};
pub use stream::{Event, Events, Listener};

/// A language model.
///
/// Callers use [`chat`](Model::chat), [`stream`](Model::stream) or, for one text and no tools,
/// [`complete`](Model::complete). A model that is more than a text machine implements
/// [`talk`](Model::talk), from which the other two are made.
#[async_trait]
pub trait Model: Send + Sync {
    /// The name of the model.
    fn name(&self) -> &str;

    /// Whether a question goes out of this process. What led to it must be on disk before it does.
    fn leaves_process(&self) -> bool {
        true
    }

    /// Asks for one text, or for JSON.
    async fn complete(&self, request: &Request) -> Result<Reply, ModelError>;

    /// Carries a conversation on by one answer, and tells `listener` of each part as it arrives.
    ///
    /// After the listener has heard something there is no second attempt: it never hears two
    /// beginnings. The default knows texts only and refuses tools.
    async fn talk(&self, chat: &Chat, listener: Option<&Listener>) -> Result<Answer, ModelError> {
        let request = simple::request(self.name(), chat)?;
        let answer = simple::answer(self.complete(&request).await?);
        if let Some(listener) = listener {
            listener.whole(&answer).await;
        }
        Ok(answer)
    }

    /// The answer, whole.
    async fn chat(&self, chat: &Chat) -> Result<Answer, ModelError> {
        self.talk(chat, None).await
    }

    /// The answer, as it arrives. The last event is [`Event::Done`] with the whole of it, or an
    /// error. Dropping the stream ends the request.
    fn stream<'a>(&'a self, chat: &'a Chat) -> Events<'a> {
        Events::new(|listener| Box::pin(async move { self.talk(chat, Some(&listener)).await }))
    }

    /// Gives back what the model holds, such as a server that was started for it. It may be asked
    /// again afterwards.
    async fn close(&self) {}
}
