//! What a conversation remembers: the window, the entities that outlive it, the question that waits, and how the last one was read.

use super::call::server_of;
use super::carry::{Came, Done};
use super::confirm::Confirming;
use super::{Opened, Reply, Turn};
use crate::ask::{House, Reading, Record};
use crate::error::{Error, Result};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use steward_domain::{
    Check as _, Conversation, ConversationEntity, ConversationId, ConversationStatus, DomainName, EntityId,
    EntityName, EntityRef, EntityType, IntentKind, Role, Timestamp, Valid,
};
use steward_language::skill::Recent;
use steward_language::understand::{Choice, Noticed, Pending, Seen, Step, Understood, Why};
use steward_store::{Change, EntitySearch, Mention, Scope};

/// Messages that are looked at: S0's window.
const WINDOW: u32 = 10;
/// Entities that are remembered beyond it.
const ENTITIES: u32 = 200;
/// How many things of one answer are remembered: more than may be changed at once, so that "all of them" over a long list is refused
/// and never cut short.
const MENTIONED: usize = 2 * super::carry::MOST;

/// One conversation, and what of it matters to what is said next.
#[derive(Clone)]
pub(super) struct Memory {
    pub(super) id: ConversationId,
    known: bool,
    /// The entities, those shown last first, each list in the order in which it was shown.
    pub(super) recent: Vec<Recent>,
    /// Where each entity stood in the list that it was last shown in.
    shown: BTreeMap<(String, String), Json>,
    /// The server that spoke of each entity.
    servers: BTreeMap<(String, String), String>,
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
            shown: BTreeMap::new(),
            servers: BTreeMap::new(),
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
        let known = house.store.entities(&scope, id, EntitySearch::Recent, ENTITIES).await?;
        for entity in &known {
            let key = (entity.entity_type.to_string(), entity.entity_id.to_string());
            if let Some(server) = entity.metadata.get("server").and_then(Json::as_str) {
                memory.servers.insert(key.clone(), server.to_owned());
            }
            if let Some(shown) = entity.metadata.get("shown") {
                memory.shown.insert(key, shown.clone());
            }
        }
        memory.recent = recall(&known);
        Ok(memory)
    }

    /// The conversation itself, when it is new: what is written of it needs it to be there.
    pub(super) fn begin(
        &self,
        house: &House,
        turn: &Turn,
        understood: &Understood,
    ) -> Result<Option<Change>> {
        if self.known {
            return Ok(None);
        }
        let now = house.clock.now();
        let conversation = Conversation {
            id: self.id,
            user_id: turn.caller.user.clone(),
            application_domain: domain_of(understood)?,
            created_at: now,
            updated_at: now,
            status: ConversationStatus::Active,
            metadata: Map::new(),
        };
        Ok(Some(Change::PutConversation(conversation.validate()?)))
    }

    /// Appends what was said and what was answered, with what the next turn needs to know.
    pub(super) async fn close(
        &self,
        house: &House,
        opened: &Opened,
        understood: &Understood,
        done: &Done,
        reply: &Reply,
        record: &Record<'_>,
    ) -> Result<()> {
        let Opened { turn, world, .. } = opened;
        let now = house.clock.now();
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
        let Json::Object(metadata) = metadata else { return Ok(()) };
        let answered = (reply.response.answer.clone(), metadata, reply.response.tool_calls_made.clone());
        let (entries, mut changes) = record.exchange(self.id, "orchestrator", turn.said.clone(), answered)?;
        let offered = offered(understood, world).into_iter();
        let offered = offered
            .zip(1..)
            .map(|(seen, place)| (&seen.thing, false, Some(place), Some(server_of(&seen.by))));
        for (noticed, gone, place, server) in mentioned(done).into_iter().chain(offered) {
            if let Some(mention) = self.mention(record, noticed, gone, place, server, now)? {
                changes.push(Change::MentionEntity(mention));
            }
        }
        record.converse(self.id, entries, changes).await
    }

    /// The server that spoke of an entity.
    pub(super) fn server(&self, entity_type: &str, id: &str) -> Option<&str> {
        self.servers.get(&(entity_type.to_owned(), id.to_owned())).map(String::as_str)
    }

    /// What an application calls its things need not fit our fields; what does not is not remembered.
    fn mention(
        &self,
        record: &Record<'_>,
        noticed: &Noticed,
        gone: bool,
        place: Option<usize>,
        server: Option<&str>,
        at: Timestamp,
    ) -> Result<Option<Mention>> {
        let kind = EntityType::new(noticed.entity_type.clone());
        let (Ok(entity_type), Ok(entity_id)) = (kind, EntityId::new(noticed.id_text())) else {
            return Ok(None);
        };
        let mut metadata: Map<String, Json> = Map::new();
        metadata.insert("attributes".into(), json!(noticed.attributes));
        if let Some(server) = server {
            metadata.insert("server".into(), server.into());
        }
        let kept = self.shown.get(&(noticed.entity_type.clone(), noticed.id_text()));
        let shown =
            place.map(|place| json!({ "list": at.micros(), "place": place })).or_else(|| kept.cloned());
        if let Some(shown) = shown {
            metadata.insert("shown".into(), shown);
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
fn recall(known: &[Valid<ConversationEntity>]) -> Vec<Recent> {
    let here = || known.iter().filter(|entity| !entity.metadata.contains_key("gone"));
    let list = |entity: &ConversationEntity| entity.metadata.get("shown")?.get("list")?.as_i64();
    let latest = here().filter_map(|entity| list(entity)).max();
    let mut recent: Vec<Recent> = here()
        .map(|entity| {
            let shown = entity.metadata.get("shown").filter(|_| list(entity) == latest);
            let place = shown.and_then(|shown| shown.get("place")).and_then(Json::as_u64);
            Recent { place: place.and_then(|place| usize::try_from(place).ok()), ..Recent::from(&**entity) }
        })
        .collect();
    recent.sort_by(|one, other| other.last.cmp(&one.last).then(one.place.cmp(&other.place)));
    recent
}

/// What a question offers of what was seen before it was asked: "the second one" may choose it.
fn offered<'a>(understood: &Understood, world: &'a [Seen]) -> Vec<&'a Seen> {
    let Some(question) = understood.question.as_ref().filter(|question| question.why == Why::Entity) else {
        return Vec::new();
    };
    let step = understood.steps.get(question.step);
    let is = |seen: &Seen, choice: &Choice| {
        seen.thing.id == choice.value
            && seen.thing.name.as_deref().is_none_or(|name| choice.label.starts_with(name))
            && step.is_none_or(|step| step.domain == seen.domain)
    };
    question.options.iter().filter_map(|choice| world.iter().find(|seen| is(seen, choice))).collect()
}

/// What the steps spoke of: the thing, whether it is gone, its place in a list, and the server that spoke of it.
fn mentioned(done: &Done) -> Vec<(&Noticed, bool, Option<usize>, Option<&str>)> {
    let mut found = Vec::new();
    for ended in &done.ended {
        let server = ended.step.tool().map(server_of);
        let (well, waits) = (matches!(ended.came, Came::Done), matches!(ended.came, Came::Confirm(_)));
        if matches!(ended.came, Came::Ask(_)) {
            let offered = ended.targets.iter().zip(1..);
            found.extend(offered.map(|(target, place)| (target, false, Some(place), server)));
        }
        let gone = well && ended.step.intent == Some(IntentKind::Delete) && !ended.step.read_only;
        let listed = ended.noticed.len() > 1 && ended.step.read_only;
        for (place, noticed) in ended.noticed.iter().take(MENTIONED).enumerate().filter(|_| well) {
            found.push((noticed, gone, listed.then_some(place + 1), server));
        }
        if waits || (well && (ended.noticed.is_empty() || gone)) {
            found.extend(ended.targets.iter().map(|target| (target, gone, None, server)));
        }
    }
    found
}
