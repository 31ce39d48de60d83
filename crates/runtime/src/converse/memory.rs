//! The memory of a conversation: the recent messages, the entities beyond them, the open question,
//! and the reading of the last question.

use super::call::server_of;
use super::carry::{Done, Ended, StepOutcome};
use super::confirm::PendingConfirmation;
use super::decisions::DECIDED;
use super::model_turn::ModelMemory;
use super::reply::{Asked, Offered};
use super::{Carried, ConversationEndedBy, Ending, Opened, OptionChoice, Reply, Turn};
use crate::ask::{AppContext, Reading, Record, chosen_option};
use crate::error::{Error, Result};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{
    Check as _, Conversation, ConversationEntity, ConversationId, ConversationStatus, DomainName, EntityId,
    EntityName, EntityRef, EntityType, IntentKind, Message, Role, TaskId, Timestamp, UserId, Valid,
};
use steward_language::skill::Recent;
use steward_language::understand::{
    Act, Choice, Noticed, Pending, QuestionKind, RecordRef, SeenRecord, ShownList, Step, Understood,
};
use steward_store::{Change, EntitySearch, Mention, Scope};

/// The number of recent messages that are read.
const WINDOW: u32 = 10;
/// The maximum number of entities that are remembered.
const ENTITIES: u32 = 200;
/// The number of records of one answer that are remembered. It exceeds the maximum number of calls,
/// so that "all of them" over a long list is refused and never truncated.
const MAX_MENTIONS: usize = 2 * super::carry::MOST;
/// The number of lists that are remembered: "the second task" may refer to an older list.
const LISTS: usize = 4;

/// The parts of one conversation that matter to the next message.
#[derive(Clone)]
pub(super) struct Memory {
    pub(super) id: ConversationId,
    pub(super) known: bool,
    /// The entities, most recently shown first, each list in its shown order.
    pub(super) recent: Vec<Recent>,
    /// The shown lists, newest first.
    pub(super) lists: Vec<ShownList>,
    /// The time of the last removal of a record.
    pub(super) removed: Option<u64>,
    /// The servers that returned a record of this type and id, each with the key of the remembered
    /// entity.
    servers: BTreeMap<(String, String), BTreeMap<String, String>>,
    /// The last offered options, with the turn that offered them.
    offered: Option<(TaskId, Vec<Offered>)>,
    /// The open question.
    pub(super) pending: Option<Pending>,
    /// The calls that wait for confirmation.
    pub(super) confirming: Option<PendingConfirmation>,
    /// The steps of the previous turn.
    pub(super) before: Vec<Step>,
    /// The data of earlier questions.
    pub(super) data: Vec<String>,
    /// The reading of the last analysis question.
    pub(super) reading: Option<Reading>,
    /// The data of that question, without passwords.
    reading_data: Vec<String>,
    /// Whether the last request of the conversation was a question about data.
    pub(super) asked_data: bool,
    /// By tool, the id of the conversation that the tool keeps itself.
    pub(super) threads: BTreeMap<String, String>,
    /// The state of the model's run in the previous turn.
    pub(super) model: Box<ModelMemory>,
}

impl Memory {
    pub(super) async fn open(app: &AppContext, turn: &Turn) -> Result<Self> {
        let mut memory = Self {
            id: ConversationId(app.random.uuid_v7(app.clock.now())?),
            known: false,
            recent: Vec::new(),
            lists: Vec::new(),
            removed: None,
            offered: None,
            servers: BTreeMap::new(),
            pending: None,
            confirming: None,
            before: Vec::new(),
            data: Vec::new(),
            reading: None,
            reading_data: Vec::new(),
            asked_data: false,
            threads: BTreeMap::new(),
            model: Box::default(),
        };
        let Some(id) = turn.conversation else { return Ok(memory) };
        (memory.id, memory.known) = (id, true);
        let scope = Scope::User(turn.caller.user.clone());
        let found = app.store.conversation(&scope, id).await?;
        if !found.is_some_and(|conversation| conversation.status == ConversationStatus::Active) {
            return Err(Error::NoConversation(id.to_string()));
        }
        let window = app.store.window(&scope, id, WINDOW).await?;
        // A message that reports another user's decision is no reply to the user.
        let answers = |message: &&Valid<Message>| {
            message.role == Role::Agent && !message.metadata.contains_key(DECIDED)
        };
        let spoken: Vec<_> = window.iter().rev().filter(answers).collect();
        if let Some(last) = spoken.first() {
            memory.pending = read(&last.metadata, "pending");
            memory.confirming = read(&last.metadata, "confirming");
            memory.model = read(&last.metadata, "model_run").unwrap_or_default();
            let asked: Option<Asked> = read(&last.metadata, "question");
            let task = read(&last.metadata, "request_id");
            memory.offered = task.zip(asked.map(|asked| asked.options));
        }
        let latest = |name: &str| {
            spoken.iter().find(|message| message.metadata.get(name).is_some_and(|value| !value.is_null()))
        };
        let of = |name: &str| latest(name).map(|message| &message.metadata);
        memory.before = of("steps").and_then(|metadata| read(metadata, "steps")).unwrap_or_default();
        memory.data = of("data").and_then(|metadata| read(metadata, "data")).unwrap_or_default();
        if let Some(metadata) = of("reading") {
            memory.reading = read(metadata, "reading");
            // A message of `ask` has one list of data.
            let data = ["reading_data", "data"].iter().find_map(|name| read(metadata, name));
            memory.reading_data = data.unwrap_or_default();
        }
        memory.asked_data = spoken.iter().find_map(|message| asks_data(&message.metadata)).unwrap_or(false);
        memory.lists = of("shown").and_then(|metadata| read(metadata, "shown")).unwrap_or_default();
        memory.removed = of("removed").and_then(|metadata| read(metadata, "removed"));
        for message in spoken.iter().rev() {
            memory
                .threads
                .extend(read::<BTreeMap<String, String>>(&message.metadata, "threads").unwrap_or_default());
        }
        let known = app.store.entities(&scope, id, EntitySearch::Recent, ENTITIES).await?;
        for entity in &known {
            let text = |name: &str| entity.metadata.get(name).and_then(Json::as_str);
            let id = text("id").unwrap_or(entity.entity_id.as_str()).to_owned();
            if let Some(server) = text("server") {
                let servers = memory.servers.entry((entity.entity_type.to_string(), id)).or_default();
                servers.insert(server.to_owned(), entity.entity_id.to_string());
            }
        }
        memory.recent = recall(&known, &memory.lists);
        Ok(memory)
    }

    /// Removes some of the context of earlier turns.
    pub(super) fn forget(&mut self, without: &BTreeSet<Carried>) {
        if without.contains(&Carried::Data) {
            self.data.clear();
        }
        if without.contains(&Carried::Question) {
            (self.reading, self.before, self.asked_data) = (None, Vec::new(), false);
        }
    }

    /// Creates the conversation if it is new: other rows refer to it.
    pub(super) fn begin(
        &self,
        app: &AppContext,
        turn: &Turn,
        understood: &Understood,
    ) -> Result<Option<Change>> {
        if self.known {
            return Ok(None);
        }
        let now = app.clock.now();
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

    /// Deletes a new conversation whose first message was cancelled.
    pub(super) async fn leave(&self, app: &AppContext, user: &UserId) -> Result<()> {
        let scope = Scope::User(user.clone());
        if self.known || app.store.conversation(&scope, self.id).await?.is_none() {
            return Ok(());
        }
        let by = ConversationEndedBy { user, door: "runtime", at: app.clock.now() };
        super::end(&*app.store, &app.artifacts, &scope, self.id, Ending::Deleted, by).await
    }

    /// Appends the message and the reply, with the context for the next turn.
    pub(super) async fn close(
        &self,
        app: &AppContext,
        opened: &Opened,
        understood: &Understood,
        done: &Done,
        reply: &Reply,
        record: &Record,
    ) -> Result<()> {
        let Opened { turn, world, .. } = opened;
        let now = app.clock.now();
        let data = paths_without_passwords(if turn.data.is_empty() { &self.data } else { &turn.data });
        let question = done.question.clone().or_else(|| {
            let question = understood.question.clone()?;
            Some(Pending { understood: understood.clone(), question })
        });
        let reading_data = match &done.reading {
            Some(_) => paths_without_passwords(&done.reading_data),
            None => self.reading_data.clone(),
        };
        let steps: &[Step] = if understood.steps.is_empty() { &self.before } else { &understood.steps };
        let metadata = json!({
            "request_id": record.task, "outcome": reply.outcome, "confidence": reply.response.confidence,
            "pending": question, "confirming": done.confirming, "steps": steps, "data": data,
            "attached": paths_without_passwords(&turn.data),
            "reading": done.reading.as_ref().or(self.reading.as_ref()), "reading_data": reading_data,
            "threads": done.threads,
            "shown": self.lists_after(done, understood, now), "removed": self.removed_after(done, now),
            "question": reply.question, "suggestions": reply.response.suggestions, "sources": reply.response.sources,
            "tables": reply.tables, "missing": reply.missing, "waiting": done.waiting, "model_run": done.model,
            "model": reply.model,
            "sql": reply.analyses.iter().find_map(|answer| answer.sql.first()).map(|run| &run.sql),
            "analysis_task": reply.analyses.first().map(|answer| answer.response.request_id),
            "result": reply.analyses.first().map(crate::ask::Answer::headline),
        });
        let Json::Object(metadata) = metadata else { return Ok(()) };
        let answered = (reply.response.answer.clone(), metadata, reply.response.tool_calls_made.clone());
        let (entries, mut changes) = record.exchange(self.id, "orchestrator", turn.said.clone(), answered)?;
        let offered = offered(understood, world).into_iter().map(|seen| MentionedRecord {
            noticed: &seen.thing,
            removed: false,
            domain: seen.domain.as_ref(),
            server: Some(server_of(&seen.by)),
        });
        for spoken in mentioned(done).into_iter().chain(offered) {
            if let Some(mention) = self.mention(record, &spoken, now)? {
                changes.push(Change::MentionEntity(mention));
            }
        }
        record.converse(self.id, entries, changes).await
    }

    /// Whether the remembered reading is one of this data.
    pub(super) fn is_reading_of(&self, data: &[String]) -> bool {
        self.reading.is_some() && paths_without_passwords(data) == self.reading_data
    }

    /// Whether a server returned a record.
    pub(super) fn is_from(&self, server: &str, entity_type: &str, id: &str) -> bool {
        let servers = self.servers.get(&(entity_type.to_owned(), id.to_owned()));
        servers.is_some_and(|servers| servers.contains_key(server))
    }

    /// The chosen option of the open question, by its index. Choosing from a closed question is an
    /// error.
    pub(super) fn option(&self, choice: OptionChoice) -> Result<&Offered> {
        let (task, options) = self.offered.as_ref().ok_or(Error::QuestionClosed)?;
        if choice.question.is_some_and(|question| question != *task) {
            return Err(Error::QuestionClosed);
        }
        options.get(choice.option).ok_or(Error::QuestionClosed)
    }

    /// The option of an open question about data that a message chooses by its number or its words.
    /// Other questions are answered by the reader.
    pub(super) fn choice_of(&self, said: &str) -> Option<OptionChoice> {
        let (task, options) = self.offered.as_ref()?;
        if self.pending.is_some() || self.confirming.is_some() || !self.asked_data {
            return None;
        }
        let options: Vec<(&str, &str)> =
            options.iter().map(|option| (option.label.as_str(), option.say.as_str())).collect();
        Some(OptionChoice { question: Some(*task), option: chosen_option(said, &options)? })
    }

    /// The lists that ordinals in the next turn refer to: those of this answer, then earlier ones.
    fn lists_after(&self, done: &Done, understood: &Understood, now: Timestamp) -> Vec<ShownList> {
        let turn = u64::try_from(now.micros()).unwrap_or(0);
        let mut lists: Vec<ShownList> = Vec::new();
        for ended in &done.ended {
            let domain = ended.step.domain.as_ref();
            for rows in &ended.lists {
                let row = |row: &Option<Noticed>| row.as_ref().map(|row| row.record(domain));
                lists.push(ShownList { turn, rows: rows.iter().map(row).collect() });
            }
        }
        // The options of a question are a list, too.
        let question = done.question.as_ref().map(|pending| &pending.question);
        let question = question.or(understood.question.as_ref().filter(|_| done.ended.is_empty()));
        let offered: Vec<Option<RecordRef>> = question
            .into_iter()
            .flat_map(|question| &question.options)
            .map(|one| one.record.clone())
            .collect();
        if offered.iter().any(Option::is_some) {
            lists = vec![ShownList { turn, rows: offered }];
        }
        lists.extend(self.lists.iter().cloned());
        lists.truncate(LISTS);
        let gone = removed(done);
        for row in lists.iter_mut().flat_map(|list| list.rows.iter_mut().flatten()) {
            row.removed |= gone.iter().any(|gone| gone.is_same(row));
        }
        lists
    }

    fn removed_after(&self, done: &Done, now: Timestamp) -> Option<u64> {
        if removed(done).is_empty() { self.removed } else { u64::try_from(now.micros()).ok() }
    }

    /// An entity for a record. A record whose values do not fit the fields is not remembered.
    fn mention(
        &self,
        record: &Record,
        spoken: &MentionedRecord<'_>,
        at: Timestamp,
    ) -> Result<Option<Mention>> {
        let MentionedRecord { noticed, removed, domain, server } = spoken;
        let id = noticed.id_text();
        // Records of two applications may have the same type and id, so each has a key of its own.
        let known = self.servers.get(&(noticed.entity_type.clone(), id.clone()));
        let key = match (known, server) {
            (Some(known), Some(server)) => match known.get(*server) {
                Some(key) => key.clone(),
                None => format!("{server}:{id}"),
            },
            _ => id.clone(),
        };
        let kind = EntityType::new(noticed.entity_type.clone());
        let (Ok(entity_type), Ok(entity_id)) = (kind, EntityId::new(key)) else {
            return Ok(None);
        };
        let mut metadata: Map<String, Json> = Map::new();
        metadata.insert("id".into(), id.into());
        metadata.insert("attributes".into(), json!(noticed.attributes));
        if let Some(server) = server {
            metadata.insert("server".into(), (*server).into());
        }
        if let Some(domain) = domain {
            metadata.insert("domain".into(), domain.as_str().into());
        }
        if *removed {
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

/// A record that was mentioned in a turn.
struct MentionedRecord<'a> {
    noticed: &'a Noticed,
    removed: bool,
    domain: Option<&'a DomainName>,
    server: Option<&'a str>,
}

/// Names of data without passwords.
fn paths_without_passwords(data: &[String]) -> Vec<String> {
    data.iter().map(|named| steward_analysis::source::without_password(named)).collect()
}

fn read<T: serde::de::DeserializeOwned>(metadata: &Map<String, Json>, name: &str) -> Option<T> {
    serde_json::from_value(metadata.get(name)?.clone()).ok()
}

/// Whether a message answers a question about data; `None` if it answers no request.
fn asks_data(metadata: &Map<String, Json>) -> Option<bool> {
    // A message of `ask` names its planner and has no steps.
    if metadata.contains_key("planner") {
        return Some(true);
    }
    let steps: Vec<Step> = read(metadata, "steps")?;
    (!steps.is_empty()).then(|| steps.iter().all(|step| step.act == Act::Ask))
}

fn domain_of(understood: &Understood) -> Result<DomainName> {
    match understood.steps.iter().find_map(|step| step.domain.clone()) {
        Some(domain) => Ok(domain),
        None => Ok(DomainName::new("generic")?),
    }
}

/// The entities of a conversation, without removed ones.
fn recall(known: &[Valid<ConversationEntity>], lists: &[ShownList]) -> Vec<Recent> {
    let here = known.iter().filter(|entity| !entity.metadata.contains_key("gone"));
    let remembered = |entity: &Valid<ConversationEntity>| {
        let text = |name: &str| entity.metadata.get(name).and_then(Json::as_str);
        let mut one = Recent::from(&**entity);
        if let Some(id) = text("id") {
            id.clone_into(&mut one.id);
        }
        one.domain = text("domain").and_then(|domain| DomainName::new(domain).ok());
        let is_it = |row: &Option<RecordRef>| {
            let domains =
                |row: &RecordRef| row.domain.as_ref().zip(one.domain.as_ref()).is_none_or(|(a, b)| a == b);
            row.as_ref()
                .is_some_and(|row| row.entity_type == one.entity_type && row.id == one.id && domains(row))
        };
        let place = lists.first().and_then(|list| list.rows.iter().position(is_it));
        one.place = place.map(|place| place + 1);
        one
    };
    let mut recent: Vec<Recent> = here.map(remembered).collect();
    recent.sort_by(|one, other| {
        let name = |one: &Recent| (one.place, one.entity_type.clone(), one.id.clone());
        other.last.cmp(&one.last).then_with(|| name(one).cmp(&name(other)))
    });
    recent
}

/// The prefetched records that a question offers: "the second one" may refer to them.
fn offered<'a>(understood: &Understood, world: &'a [SeenRecord]) -> Vec<&'a SeenRecord> {
    let Some(question) = understood.question.as_ref().filter(|question| question.why == QuestionKind::Entity)
    else {
        return Vec::new();
    };
    let step = understood.steps.get(question.step);
    let is = |seen: &SeenRecord, choice: &Choice| {
        let record = seen.thing.record(seen.domain.as_ref());
        choice.record.as_ref().is_some_and(|chosen| chosen.is_same(&record))
            && step.is_none_or(|step| step.domain == seen.domain || !step.alternatives.is_empty())
    };
    question.options.iter().filter_map(|choice| world.iter().find(|seen| is(seen, choice))).collect()
}

/// Whether a step removed its target.
fn removes(ended: &Ended) -> bool {
    let well = matches!(ended.came, StepOutcome::Done);
    well && ended.step.intent == Some(IntentKind::Delete) && !ended.step.read_only
}

/// The records that were removed.
fn removed(done: &Done) -> Vec<RecordRef> {
    let steps = done.ended.iter().filter(|ended| removes(ended));
    let records = |ended: &Ended| -> Vec<RecordRef> {
        let domain = ended.step.domain.as_ref();
        ended.targets.iter().chain(&ended.noticed).map(|gone| gone.record(domain)).collect()
    };
    steps.flat_map(records).collect()
}

/// The records mentioned by the steps.
fn mentioned(done: &Done) -> Vec<MentionedRecord<'_>> {
    let mut found = Vec::new();
    for ended in &done.ended {
        let (domain, server) = (ended.step.domain.as_ref(), ended.step.tool().map(server_of));
        let spoken = |noticed| MentionedRecord { noticed, removed: removes(ended), domain, server };
        let (well, waits) =
            (matches!(ended.came, StepOutcome::Done), matches!(ended.came, StepOutcome::Confirm(_)));
        if matches!(ended.came, StepOutcome::Ask(_)) {
            found.extend(ended.targets.iter().map(spoken));
        }
        found.extend(ended.noticed.iter().take(MAX_MENTIONS).filter(|_| well).map(spoken));
        if waits || (well && (ended.noticed.is_empty() || removes(ended))) {
            found.extend(ended.targets.iter().map(spoken));
        }
    }
    found
}
