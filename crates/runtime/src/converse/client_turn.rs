//! A turn for a client of a model protocol that brings a prompt, tools or a form of its own: the
//! model works on it, with the client's history.
//!
//! What such a client asks for needs a model. Without one the turn is refused, and the caller says
//! what can be done without.

use super::carry::Done;
use super::model_turn::{ASSISTANT, ToldTurn};
use super::{ChatService, Opened, Reply, Turn, Watch, note};
use crate::ask::Record;
use crate::error::{Error, Result};
use crate::run::{ClientReply, ClientRequest, RunStatus};
use serde_json::Value as Json;
use std::sync::Arc;
use steward_engine::{EarlierMessage, Used};
use steward_language::understand::{Kind, Understood};
use tokio_util::sync::CancellationToken;

/// What a client asks for beside its words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientTurn {
    /// Prompt, tools and form.
    pub request: ClientRequest,
    /// What was said before, where the client sends it itself; else the conversation says.
    pub history: Option<Vec<EarlierMessage>>,
}

impl ChatService {
    /// Whether a model works on what the reader is not sure of.
    #[must_use]
    pub fn has_model(&self) -> bool {
        self.model.is_some()
    }

    /// Answers what a client said, with what it brings along. It needs a model.
    pub async fn say_for_client(
        &self,
        turn: &Turn,
        client: ClientTurn,
        watch: Watch<'_>,
        stop: &CancellationToken,
    ) -> Result<Reply> {
        self.say_for(turn, Some(Arc::new(client)), watch, stop).await
    }

    pub(super) async fn client_turn(
        &self,
        opened: &Opened,
        client: &ClientTurn,
        record: &mut Record,
        watch: Watch<'_>,
        stop: &CancellationToken,
    ) -> Result<ToldTurn> {
        let Some(model) = &self.model else {
            return Err(Error::Program("there is no model for conversations".to_owned()));
        };
        let understood = Understood::plain(Kind::Act, "a client brought a prompt, tools or a form");
        note(record, &opened.turn, &understood)?;
        if let Some(new) = opened.memory.begin(self.app(), &opened.turn, &understood)? {
            record.change(new);
        }
        // Nothing leaves this process before what led to it is on disk.
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

/// The calls and the words of a run for a client, as its reply has them.
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
