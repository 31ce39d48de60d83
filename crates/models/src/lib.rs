//! Language models: one interface for all providers. Only this crate knows the providers.
//!
//! The input is a conversation ([`Chat`]), the output an [`Answer`]: complete, or as events through
//! [`Model::stream`]. Model output is data and never an instruction: a reply is text, JSON, or a
//! tool call that policy has yet to admit. Keys are never printed, and an incomplete reply is an
//! error.

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
/// Callers use [`chat`](Model::chat), [`stream`](Model::stream) or, for one text without tools,
/// [`complete`](Model::complete). A model with tools or streaming implements [`talk`](Model::talk),
/// from which the other two are derived.
#[async_trait]
pub trait Model: Send + Sync {
    /// The name of the model.
    fn name(&self) -> &str;

    /// Whether a request leaves this process. Then everything that led to it must be on disk first.
    fn leaves_process(&self) -> bool {
        true
    }

    /// Requests one text, or JSON.
    async fn complete(&self, request: &Request) -> Result<Reply, ModelError>;

    /// Continues a conversation by one reply, and passes each part to `listener` as it arrives.
    ///
    /// Once the listener has received a part, there is no retry: it never receives two starts. The
    /// default implementation supports only text and refuses tools.
    async fn talk(&self, chat: &Chat, listener: Option<&Listener>) -> Result<Answer, ModelError> {
        let request = simple::request(self.name(), chat)?;
        let answer = simple::answer(self.complete(&request).await?);
        if let Some(listener) = listener {
            listener.whole(&answer).await;
        }
        Ok(answer)
    }

    /// The complete reply.
    async fn chat(&self, chat: &Chat) -> Result<Answer, ModelError> {
        self.talk(chat, None).await
    }

    /// The reply as a stream. The last event is [`Event::Done`] with the complete reply, or an
    /// error. Dropping the stream cancels the request.
    fn stream<'a>(&'a self, chat: &'a Chat) -> Events<'a> {
        Events::new(|listener| Box::pin(async move { self.talk(chat, Some(&listener)).await }))
    }

    /// Releases resources of the model, such as a server that was started for it. It may be used
    /// again afterwards.
    async fn close(&self) {}
}
