//! What a conversation remembers: the window, the entities that outlive it, the question that waits, and how the last one was read.

use super::carry::{Came, Done};
use super::confirm::Confirming;
use super::{Reply, Turn};
use crate::ask::{House, Reading, Record};
use crate::error::{Error, Result};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use steward_domain::{
    Check as _, Content, Conversation, ConversationId, ConversationStatus, DomainName, EntityId, EntityName,
    EntityRef, EntityType, EventType, IntentKind, Label, MessageId, Role, Timestamp,
};
use steward_journal::Draft;
use steward_language::skill::Recent;
use steward_language::understand::{Noticed, Pending, Step, Understood};
use steward_store::{Change, EntitySearch, Mention, NewMessage, Scope};

/// Messages that are looked at: S0's window.
const WINDOW: u32 = 10;
/// Entities that are remembered beyond it.
const ENTITIES: u32 = 200;
/// Entities of one result that are remembered.
const MENTIONED: usize = 50;

/// One conversation, and what of it matters to what is said next.
pub(super) struct Memory {
    pub(super) id: ConversationId,
    known: bool,
    /// The entities, those shown last first, each list in the order in which it was shown.
    pub(super) recent: Vec<Recent>,
    /// The question that waits for an answer.
    pub(super) pending: Option<Pending>,
    /// The calls that wait for a yes.
    pub(super) confirming: Option<Confirming>,
    /// The steps of the turn before.
    pub(super) before: Vec<Step>,
    /// The data that was asked before.
    pub(super) data: Vec<String>,
    /// How analysis read the last question.
    pub(super) reading: Option<Reading>,
    /// What tools want to be told again: by tool, the id of the talk that it keeps itself.
    pub(super) threads: BTreeMap<String, String>,
}

impl Memory {
    pub(super) async fn open(house: &House, turn: &Turn) -> Result<Self> {
        let mut memory = Self {
            id: ConversationId(house.random.uuid_v7(house.clock.now())?),
            known: false,
            recent: Vec::new(),
            pending: None,
            confirming: None,
            before: Vec::new(),
            data: Vec::new(),
            reading: None,
            threads: BTreeMap::new(),
        };
        let Some(id) = turn.conversation else { return Ok(memory) };
        (memory.id, memory.known) = (id, true);
        let scope = Scope::User(turn.caller.user.clone());
        let found = house.store.conversation(&scope, id).await?;
        if !found.is_some_and(|conversation| conversation.status == ConversationStatus::Active) {
            return Err(Error::NoConversation(id.to_string()));
        }
        let window = house.store.window(&scope, id, WINDOW).await?;
        let spoken: Vec<_> = window.iter().rev().filter(|message| message.role == Role::Agent).collect();
        if let Some(last) = spoken.first() {
            memory.pending = read(&last.metadata, "pending");
            memory.confirming = read(&last.metadata, "confirming");
        }
        let latest = |name: &str| {
            spoken.iter().find(|message| message.metadata.get(name).is_some_and(|value| !value.is_null()))
        };
        let of = |name: &str| latest(name).map(|message| &message.metadata);
        memory.before = of("steps").and_then(|metadata| read(metadata, "steps")).unwrap_or_default();
        memory.data = of("data").and_then(|metadata| read(metadata, "data")).unwrap_or_default();
        memory.reading = of("reading").and_then(|metadata| read(metadata, "reading"));
        for message in spoken.iter().rev() {
            memory
                .threads
                .extend(read::<BTreeMap<String, String>>(&message.metadata, "threads").unwrap_or_default());
        }
        memory.recent = recall(house, &scope, id).await?;
        Ok(memory)
    }

    /// Appends what was said and what was answered, with what the next turn needs to know.
    pub(super) async fn close(
        &self,
        house: &House,
        turn: &Turn,
        understood: &Understood,
        done: &Done,
        reply: &Reply,
        record: &Record<'_>,
    ) -> Result<()> {
        let now = house.clock.now();
        let mut changes = Vec::new();
        if !self.known {
            let conversation = Conversation {
                id: self.id,
                user_id: turn.caller.user.clone(),
                application_domain: domain_of(understood)?,
                created_at: now,
                updated_at: now,
                status: ConversationStatus::Active,
                metadata: Map::new(),
            };
            changes.push(Change::PutConversation(conversation.validate()?));
        }
        let data = if turn.data.is_empty() { &self.data } else { &turn.data };
        let data: Vec<String> =
            data.iter().map(|named| steward_analysis::source::without_password(named)).collect();
        let question = done.question.clone().or_else(|| {
            let question = understood.question.clone()?;
            Some(Pending { understood: understood.clone(), question })
        });
        let steps: &[Step] = if understood.steps.is_empty() { &self.before } else { &understood.steps };
        let metadata = json!({
            "request_id": record.task, "outcome": reply.outcome, "confidence": reply.response.confidence,
            "pending": question, "confirming": done.confirming, "steps": steps, "data": data,
            "reading": done.reading.as_ref().or(self.reading.as_ref()), "threads": done.threads,
            "question": reply.question, "suggestions": reply.response.suggestions, "sources": reply.response.sources,
            "tables": reply.tables, "missing": reply.missing,
        });
        let said = [
            (Role::User, turn.said.clone(), json!({}), Vec::new()),
            (Role::Agent, reply.response.answer.clone(), metadata, reply.response.tool_calls_made.clone()),
        ];
        let mut entries = Vec::new();
        for (role, content, metadata, tool_calls) in said {
            let id = MessageId(record.id()?);
            let Json::Object(metadata) = metadata else { continue };
            let agent_type = if role == Role::Agent { Some(Label::new("orchestrator")?) } else { None };
            let Json::Object(entry) = json!({ "message_id": id, "role": role, "request_id": record.task })
            else {
                continue;
            };
            entries.push(Draft::new(EventType::MessageAppended, Label::new("runtime")?, entry));
            changes.push(Change::AppendMessage(NewMessage {
                id,
                conversation_id: self.id,
                role,
                content: Content::new(content)?,
                timestamp: now,
                agent_type,
                tool_calls,
                metadata,
            }));
        }
        for (noticed, gone, place) in mentioned(done) {
            if let Some(mention) = self.mention(record, noticed, gone, place, now)? {
                changes.push(Change::MentionEntity(mention));
            }
        }
        record.converse(self.id, entries, changes).await
    }

    /// What an application calls its things need not fit our fields; what does not is not remembered.
    fn mention(
        &self,
        record: &Record<'_>,
        noticed: &Noticed,
        gone: bool,
        place: Option<usize>,
        at: Timestamp,
    ) -> Result<Option<Mention>> {
        let kind = EntityType::new(noticed.entity_type.clone());
        let (Ok(entity_type), Ok(entity_id)) = (kind, EntityId::new(noticed.id_text())) else {
            return Ok(None);
        };
        let mut metadata: Map<String, Json> = Map::new();
        metadata.insert("attributes".into(), json!(noticed.attributes));
        if let Some(place) = place {
            metadata.insert("shown".into(), json!({ "list": at.micros(), "place": place }));
        }
        if gone {
            metadata.insert("gone".into(), true.into());
        }
        Ok(Some(Mention {
            id: EntityRef(record.id()?),
            conversation_id: self.id,
            entity_type,
            entity_id,
            entity_name: noticed.name.clone().and_then(|name| EntityName::new(name).ok()),
            at,
            metadata,
        }))
    }
}

fn read<T: serde::de::DeserializeOwned>(metadata: &Map<String, Json>, name: &str) -> Option<T> {
    serde_json::from_value(metadata.get(name)?.clone()).ok()
}

fn domain_of(understood: &Understood) -> Result<DomainName> {
    match understood.steps.iter().find_map(|step| step.domain.clone()) {
        Some(domain) => Ok(domain),
        None => Ok(DomainName::new("generic")?),
    }
}

/// The entities of a conversation, without those that were taken away.
async fn recall(house: &House, scope: &Scope, id: ConversationId) -> Result<Vec<Recent>> {
    let known = house.store.entities(scope, id, EntitySearch::Recent, ENTITIES).await?;
    let mut recent: Vec<(Recent, usize)> = Vec::new();
    for entity in known.iter().filter(|entity| !entity.metadata.contains_key("gone")) {
        let place = entity.metadata.get("shown").and_then(|shown| shown.get("place")).and_then(Json::as_u64);
        recent.push((
            Recent::from(&**entity),
            place.and_then(|place| usize::try_from(place).ok()).unwrap_or(0),
        ));
    }
    recent.sort_by(|(one, first), (other, second)| other.last.cmp(&one.last).then(first.cmp(second)));
    Ok(recent.into_iter().map(|(recent, _)| recent).collect())
}

/// What the steps spoke of: the thing, whether it is gone, and its place in a list.
fn mentioned(done: &Done) -> Vec<(&Noticed, bool, Option<usize>)> {
    let mut found = Vec::new();
    for ended in done.ended.iter().filter(|ended| matches!(ended.came, Came::Done)) {
        let gone = ended.step.intent == Some(IntentKind::Delete) && !ended.step.read_only;
        let listed = ended.noticed.len() > 1 && ended.step.read_only;
        for (place, noticed) in ended.noticed.iter().take(MENTIONED).enumerate() {
            found.push((noticed, gone, listed.then_some(place + 1)));
        }
        if ended.noticed.is_empty() || gone {
            found.extend(ended.targets.iter().map(|target| (target, gone, None)));
        }
    }
    for ended in done.ended.iter().filter(|ended| matches!(ended.came, Came::Confirm(_))) {
        found.extend(ended.targets.iter().map(|target| (target, false, None)));
    }
    found
}
