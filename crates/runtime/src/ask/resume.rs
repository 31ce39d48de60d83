//! Interrupted questions: what is stored of them, and how another process resumes them.
//!
//! Invariant: only reads are repeated. The rows of finished steps are not stored, so the question
//! is answered from the start, under the same task. An answer that had reached the conversation is
//! not given twice.

use super::carry::Question;
use super::record::Record;
use super::talk::Talk;
use super::{AppContext, Ask};
use crate::error::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use steward_domain::{ConversationId, EventType, RequestStatus};
use steward_store::Scope;

/// The maximum number of takeovers: one question must not crash every worker.
const TAKEOVERS: usize = 3;

/// A question as it is stored while it is answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredQuestion {
    pub(crate) ask: Ask,
    conversation: ConversationId,
    /// Whether it belongs to a chat turn, which ends with the process.
    within_turn: bool,
    /// Whether a password was removed: then the data cannot be opened again.
    needs_password: bool,
}

impl StoredQuestion {
    pub(super) fn new(ask: &Ask, talk: &Talk, data: &[String]) -> Self {
        let kept: Vec<String> =
            data.iter().map(|named| steward_analysis::source::without_password(named)).collect();
        let needs_password = kept != data;
        let (conversation, within_turn) = (talk.id, talk.is_of_a_turn);
        Self { ask: Ask { data: kept, ..ask.clone() }, conversation, within_turn, needs_password }
    }

    /// A question that has not started, with a conversation of its own.
    pub(crate) fn unasked(ask: Ask, conversation: ConversationId) -> Self {
        let kept: Vec<String> =
            ask.data.iter().map(|named| steward_analysis::source::without_password(named)).collect();
        let needs_password = kept != ask.data;
        Self { ask: Ask { data: kept, ..ask }, conversation, within_turn: false, needs_password }
    }

    /// The reason why another process cannot answer it.
    pub(crate) fn obstacle(&self, takeovers: usize) -> Option<&'static str> {
        match () {
            () if self.within_turn => Some("the chat turn that it was asked in ended with its process"),
            () if self.needs_password => Some("its data needs a password, and passwords are not kept"),
            () if takeovers >= TAKEOVERS => Some("it was taken up three times, and each process ended"),
            () => None,
        }
    }
}

impl AppContext {
    /// Answers a stored question under its task. Returns the result of the task.
    pub(crate) async fn resume_question(
        &self,
        stored: &StoredQuestion,
        mut record: Record,
    ) -> Result<std::result::Result<String, String>> {
        let talk = Talk::again(self, &stored.ask, stored.conversation).await?;
        if let Some(answer) = self.answered(&record, stored.conversation).await? {
            record.end(Ok(answer.clone())).await?;
            return Ok(Ok(answer));
        }
        let question = Question {
            context: self,
            ask: &stored.ask,
            talk: &talk,
            data: &stored.ask.data,
            watch: &|_| {},
            began: self.clock.monotonic(),
        };
        let answered = question.answer(&mut record).await;
        match answered {
            Ok(answer) => Ok(answer.response.error.map_or(Ok(answer.answer), Err)),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    /// The answer to this task that the conversation holds.
    pub(crate) async fn answered(
        &self,
        record: &Record,
        conversation: ConversationId,
    ) -> Result<Option<String>> {
        let scope = Scope::User(record.user.clone());
        let task = json!(record.task);
        let window = self.store.window(&scope, conversation, 10).await?;
        let answer = window.iter().find(|message| message.metadata.get("request_id") == Some(&task));
        Ok(answer.map(|message| message.content.to_string()))
    }

    /// Ends a question that is not resumed, with the reason.
    pub(crate) async fn fail_question(&self, mut record: Record, reason: &str) -> Result<()> {
        let scope = Scope::User(record.user.clone());
        record.set_request(self.store.request(&scope, record.task).await?);
        let data: Json = json!({ "status": "failed", "error": reason });
        record.note(EventType::Answered, "runtime", data)?;
        record.finish(RequestStatus::Failed, Err(reason.to_owned())).await
    }
}
