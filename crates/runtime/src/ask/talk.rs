//! The conversation of a question: its earlier messages, and the new ones.

use super::option::chosen_option;
use super::{Answer, AppContext, Ask};
use crate::ask::record::Record;
use crate::converse::{Asked, Offered};
use crate::error::{Error, Result};
use serde_json::{Map, Value as Json, json};
use steward_analysis::planner::Reading;
use steward_domain::{Check as _, Conversation, ConversationId, ConversationStatus, DomainName, Role};
use steward_store::{Change, Scope};

/// The number of recent messages that are read.
const WINDOW: u32 = 10;

/// One conversation, with the parts that matter to the next question.
pub(super) struct Talk {
    pub(super) id: ConversationId,
    known: bool,
    /// Whether a chat turn stores the conversation.
    pub(super) is_of_a_turn: bool,
    /// The sources of earlier questions.
    pub(super) data: Vec<String>,
    /// The reading of the last question.
    pub(super) earlier: Option<Reading>,
    /// The options of the clarifying question that the last message asked.
    offered: Vec<Offered>,
}

impl Talk {
    /// A conversation that a chat turn stores.
    pub(super) fn within(id: ConversationId, earlier: Option<Reading>) -> Self {
        Self { id, known: true, is_of_a_turn: true, data: Vec::new(), earlier, offered: Vec::new() }
    }

    pub(super) async fn open(app: &AppContext, ask: &Ask) -> Result<Self> {
        let Some(id) = ask.conversation else {
            let id = ConversationId(app.random.uuid_v7(app.clock.now())?);
            return Ok(Self::new(id));
        };
        Self::read(app, ask, id).await
    }

    /// The conversation of a resumed question.
    pub(super) async fn again(app: &AppContext, ask: &Ask, id: ConversationId) -> Result<Self> {
        let scope = Scope::User(ask.user.clone());
        match (ask.conversation, app.store.conversation(&scope, id).await?) {
            (None, None) => Ok(Self::new(id)),
            _ => Self::read(app, ask, id).await,
        }
    }

    fn new(id: ConversationId) -> Self {
        Self { id, known: false, is_of_a_turn: false, data: Vec::new(), earlier: None, offered: Vec::new() }
    }

    async fn read(app: &AppContext, ask: &Ask, id: ConversationId) -> Result<Self> {
        let scope = Scope::User(ask.user.clone());
        let found = app.store.conversation(&scope, id).await?;
        let open = found.is_some_and(|conversation| conversation.status == ConversationStatus::Active);
        if !open {
            return Err(Error::NoConversation(id.to_string()));
        }
        let window = app.store.window(&scope, id, WINDOW).await?;
        let spoken: Vec<_> = window.iter().rev().filter(|message| message.role == Role::Agent).collect();
        let data = spoken.iter().find_map(|message| message.metadata.get("data"));
        let data = data.and_then(|data| serde_json::from_value(data.clone()).ok()).unwrap_or_default();
        // A clarifying question leaves no reading; the previous reading still applies.
        let earlier = spoken
            .iter()
            .find_map(|message| message.metadata.get("reading").filter(|reading| !reading.is_null()));
        let earlier = earlier.and_then(|reading| serde_json::from_value(reading.clone()).ok());
        let asked = spoken.first().and_then(|message| message.metadata.get("question"));
        let asked: Option<Asked> = asked.and_then(|asked| serde_json::from_value(asked.clone()).ok());
        let offered = asked.map(|asked| asked.options).unwrap_or_default();
        Ok(Self { id, known: true, is_of_a_turn: false, data, earlier, offered })
    }

    /// The full question of the option that a message chooses, if the last message offered options.
    pub(super) fn chosen(&self, said: &str) -> Option<String> {
        let options: Vec<(&str, &str)> =
            self.offered.iter().map(|option| (option.label.as_str(), option.say.as_str())).collect();
        Some(self.offered.get(chosen_option(said, &options)?)?.say.clone())
    }

    /// Appends the question and the answer, unless the turn does it.
    pub(super) async fn close(
        &self,
        app: &AppContext,
        ask: &Ask,
        data: &[String],
        answer: &Answer,
        record: &Record,
    ) -> Result<()> {
        if self.is_of_a_turn {
            return Ok(());
        }
        let now = app.clock.now();
        let mut changes = Vec::new();
        if !self.known {
            let conversation = Conversation {
                id: self.id,
                user_id: ask.user.clone(),
                application_domain: DomainName::new("generic")?,
                created_at: now,
                updated_at: now,
                status: ConversationStatus::Active,
                metadata: Map::new(),
            };
            changes.push(Change::PutConversation(conversation.validate()?));
        }
        let metadata = json!({
            "request_id": record.task,
            "data": data.iter().map(|named| steward_analysis::source::without_password(named)).collect::<Vec<_>>(),
            "reading": answer.reading,
            "confidence": answer.score,
            "planner": answer.planner,
            "verified": answer.verified.as_ref().map(|mark| mark.id),
            "sql": answer.sql.first().map(|run| &run.sql),
            "result": answer.headline(),
            "question": answer.clarification.as_ref().map(Asked::from),
        });
        let Json::Object(metadata) = metadata else { return Ok(()) };
        let answered = (answer.answer.clone(), metadata, Vec::new());
        let (entries, messages) =
            record.exchange(self.id, "analyst", ask.question.trim().to_owned(), answered)?;
        changes.extend(messages);
        record.converse(self.id, entries, changes).await
    }
}
