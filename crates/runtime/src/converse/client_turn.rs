//! A turn for a client of a model protocol that sends its own prompt, tools or response schema: the
//! model handles it, with the client's history.
//!
//! Such a turn needs a model. Without one it is rejected, and the caller reports what works without
//! a model.

use super::carry::Done;
use super::model_turn::{ASSISTANT, FinishedTurn};
use super::{ChatService, Opened, Reply, Turn, Watch, note};
use crate::ask::Record;
use crate::error::{Error, Result};
use crate::run::{ClientReply, ClientRequest, RunStatus};
use serde_json::Value as Json;
use std::sync::Arc;
use steward_engine::{EarlierMessage, Used};
use steward_language::understand::{Kind, Understood};
use tokio_util::sync::CancellationToken;

/// The options of a client request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientTurn {
    /// Prompt, tools and response schema.
    pub request: ClientRequest,
    /// The earlier messages, if the client sends them; otherwise those of the conversation.
    pub history: Option<Vec<EarlierMessage>>,
}

impl ChatService {
    /// Whether a model handles messages that the reader is not sure of.
    #[must_use]
    pub fn has_model(&self) -> bool {
        self.model.is_some()
    }

    /// Answers a client's message with its options. It needs a model.
    pub async fn answer_for_client(
        &self,
        turn: &Turn,
        client: ClientTurn,
        watch: Watch<'_>,
        stop: &CancellationToken,
    ) -> Result<Reply> {
        self.answer_turn(turn, Some(Arc::new(client)), watch, stop).await
    }

    pub(super) async fn client_turn(
        &self,
        opened: &Opened,
        client: &ClientTurn,
        record: &mut Record,
        watch: Watch<'_>,
        stop: &CancellationToken,
    ) -> Result<FinishedTurn> {
        let Some(model) = &self.model else {
            return Err(Error::Program("there is no model for conversations".to_owned()));
        };
        let understood = Understood::plain(Kind::Act, "a client brought a prompt, tools or a form");
        note(record, &opened.turn, &understood)?;
        if let Some(new) = opened.memory.begin(self.app(), &opened.turn, &understood)? {
            record.change(new);
        }
        // The journal is on disk before anything leaves this process.
        record.flush().await?;
        let earlier = match &client.history {
            Some(history) => history.clone(),
            None => self.earlier(opened).await?,
        };
        let program = self.agent_program(model, opened).await?;
        let ran = self.run_agent(model, opened, program, earlier, Some(ASSISTANT), watch, stop).await?;
        self.conclude(model, opened, record, &ran, Used::default(), None).await
    }
}

/// Moves the client calls and the text of a run into the reply.
pub(super) fn settle(reply: &mut Reply, done: &mut Done, status: &RunStatus) {
    let RunStatus::Completed(Json::String(text)) = status else { return };
    let read = ClientReply::read(text);
    if read.client_calls.is_empty() && !read.cut_off {
        return;
    }
    reply.cut_off = read.cut_off;
    reply.unverified.clear();
    reply.response.answer = match read.text.trim() {
        "" if read.client_calls.is_empty() => "…".to_owned(),
        "" => {
            let named: Vec<String> =
                read.client_calls.iter().map(|call| format!("{}({})", call.name, call.arguments)).collect();
            format!("This needs what a tool of the client gives: {}", named.join(", "))
        }
        words => words.to_owned(),
    };
    reply.client_text = (!read.text.is_empty()).then_some(read.text);
    reply.client_calls = read.client_calls;
    done.model.asked = false;
}
