//! Conversations: what somebody says is understood, carried out through tools and data, and answered in one voice.
//!
//! Invariants
//! - The turns of one conversation are taken one after the other, in the order in which they came. None is lost.
//! - What takes something away, and what the operator wants a person to see first, is asked about before it is done. The answer
//!   counts for exactly the calls that were shown, and for nothing else.
//! - What a tool gave back is data: it is shown, searched and counted. Only what the person said becomes a step.
//! - When the time is up the answer is given from what arrived, and says what is missing and why.
//!
//! It does not read language itself (`language::understand` does) and does not call tools past the desk.

mod agents;
mod carry;
mod compose;
mod confirm;
mod consult;
mod find;
mod memory;
mod readers;
mod reply;

pub use reply::{Asked, Missing, Offered, Outcome, Reply, Shown, StepDone};

use crate::ask::{House, Record};
use crate::error::{Error, Result};
use crate::toolbox::Toolbox;
use agents::Agents;
use memory::Memory;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::{ConversationId, EventType};
use steward_language::understand::{Answered, Given, Kind, Reader, Understood};
use steward_policy::Caller;

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// One call.
    pub call: Duration,
    /// A whole answer.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { call: Duration::from_secs(50), answer: Duration::from_secs(60) }
    }
}

/// Something that was said.
#[derive(Debug, Clone)]
pub struct Turn {
    /// In the person's words.
    pub said: String,
    /// The conversation; a new one when there is none.
    pub conversation: Option<ConversationId>,
    /// Who says it.
    pub caller: Caller,
    /// Data that was brought along: files, folders, database addresses.
    pub data: Vec<String>,
}

/// What happens while somebody waits.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// It was understood to be these steps.
    Understood {
        /// Each in a few words.
        steps: Vec<String>,
    },
    /// A step began.
    Began {
        /// Its place from 0.
        step: usize,
        /// In a few words.
        what: String,
    },
    /// A step ended.
    Ended {
        /// Its place from 0.
        step: usize,
        /// Whether it gave what it should.
        well: bool,
        /// How long it took.
        took: Duration,
    },
}

/// Whoever watches a turn.
pub type Watch<'a> = &'a (dyn Fn(Heard) + Sync);

/// Holds conversations. One for each process.
pub struct Talker {
    toolbox: Arc<Toolbox>,
    limits: Limits,
    readers: readers::Readers,
    /// The turn that each conversation is at: whoever holds the lock speaks.
    turns: Mutex<HashMap<ConversationId, Arc<tokio::sync::Mutex<()>>>>,
}

/// The longest message that is taken, in bytes.
const LONGEST: usize = 100_000;

impl Talker {
    /// Over a toolbox.
    #[must_use]
    pub fn new(toolbox: Arc<Toolbox>, limits: Limits) -> Self {
        Self { toolbox, limits, readers: readers::Readers::default(), turns: Mutex::default() }
    }

    /// What it works with.
    #[must_use]
    pub fn toolbox(&self) -> &Arc<Toolbox> {
        &self.toolbox
    }

    fn house(&self) -> &House {
        self.toolbox.house()
    }

    /// What is known about what can be asked, for this caller. Servers that were never looked at are looked at now.
    pub async fn reader(&self, caller: &Caller, data: &[String]) -> Result<Arc<Reader>> {
        let _those_that_are_down_are_told_when_asked = self.toolbox.look_at_new().await;
        self.readers.get(&self.toolbox, caller, data).await
    }

    /// What a message means, by itself or within its conversation. Nothing is done, and nothing is written down.
    pub async fn understand(&self, turn: &Turn) -> Result<Understood> {
        let turn = &Turn { said: clean(&turn.said)?, ..turn.clone() };
        let memory = Memory::open(self.house(), turn).await?;
        let data = if turn.data.is_empty() { &memory.data } else { &turn.data };
        let reader = self.reader(&turn.caller, data).await?;
        understand(&reader, turn, &memory, self.house()).await
    }

    /// Whether what a message acts on exists: each target is looked up by tools that change nothing, and nothing else is called.
    pub async fn validate(&self, turn: &Turn) -> Result<serde_json::Value> {
        let turn = &Turn { said: clean(&turn.said)?, ..turn.clone() };
        let house = self.house();
        let memory = Memory::open(house, turn).await?;
        let data = if turn.data.is_empty() { &memory.data } else { &turn.data };
        let reader = self.reader(&turn.caller, data).await?;
        let understood = understand(&reader, turn, &memory, house).await?;
        let mut record = Record::new(house, turn.caller.user.clone())?;
        record.begin(&turn.said, "validation")?;
        record.flush().await?;
        let (task, began) = (record.task, house.clock.monotonic());
        let work = carry::Work {
            talker: self,
            reader: &reader,
            turn,
            memory: &memory,
            data,
            steps: &understood.steps,
            reworded: false,
            task,
            began,
            watch: &|_| {},
        };
        let mut checks = Vec::new();
        for step in &understood.steps {
            let (mut calls, mut found) = (Vec::new(), Vec::new());
            if step.target.is_some() {
                let _told_below = work.find(step, &mut calls, &mut found, &mut Vec::new()).await;
            }
            checks.extend(found.into_iter().map(|check| json!({ "step": carry::what(step), "target": check.wanted, "exists": check.well, "found": check.came, "tools": check.tools })));
        }
        record.end(Ok(format!("{} checked", checks.len()))).await?;
        Ok(
            json!({ "valid": understood.question.is_none() && checks.iter().all(|check| check["exists"] == true), "question": understood.question, "checks": checks }),
        )
    }

    /// Answers what was said. What goes wrong on the way is part of the reply; an error means that the message could not be taken.
    pub async fn say(&self, turn: &Turn, watch: Watch<'_>) -> Result<Reply> {
        let said = clean(&turn.said)?;
        let turn = &Turn { said, ..turn.clone() };
        let lock = turn.conversation.map(|id| self.turn_of(id));
        let _mine = match &lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let reply = self.take(turn, watch).await;
        self.forget_turn(turn.conversation);
        reply
    }

    async fn take(&self, turn: &Turn, watch: Watch<'_>) -> Result<Reply> {
        let house = self.house();
        let began = house.clock.monotonic();
        let memory = Memory::open(house, turn).await?;
        let data = if turn.data.is_empty() { &memory.data } else { &turn.data };
        let reader = self.reader(&turn.caller, data).await?;
        let mut record = Record::new(house, turn.caller.user.clone())?;
        record.begin(&turn.said, "orchestrator")?;
        let mut agents = Agents::new(house, &turn.caller.user, memory.id);
        let (understood, reworded) = self.read(&reader, turn, &memory).await?;
        note(&mut record, turn, &understood, reworded)?;
        agents.understood(turn, &understood, &memory)?;
        if let Some(new) = memory.begin(house, turn, &understood)? {
            record.change(new);
        }
        // Nothing leaves this process before what led to it is on disk.
        record.flush().await?;
        let work = carry::Work {
            talker: self,
            reader: &reader,
            turn,
            memory: &memory,
            data,
            steps: &understood.steps,
            reworded,
            task: record.task,
            began,
            watch,
        };
        let now = house.clock.now();
        let mut done = match confirm::decided(&memory, &turn.said, &understood, now) {
            Some(confirm::Decided::Yes(confirming)) => work.confirmed(confirming, &mut record).await?,
            Some(confirm::Decided::No) => work.refused(&mut record)?,
            None if understood.answered == Answered::Declined => carry::Done::declined(),
            None if understood.question.is_some() || understood.kind != Kind::Act => carry::Done::default(),
            None => work.carry(&understood.steps).await?,
        };
        work.ask_for_decisions(&mut done, &mut record).await?;
        agents.carried(&done)?;
        let reply = compose::reply(&work, &understood, &done);
        record.note(
            EventType::Answered,
            "runtime",
            json!({
                "outcome": reply.outcome, "confidence": reply.response.confidence, "sources": reply.response.sources,
                "partial_results": reply.response.partial_results, "missing": reply.missing,
                "milliseconds": reply.response.total_execution_time_ms,
            }),
        )?;
        for change in agents.into_changes()? {
            record.change(change);
        }
        let outcome = match reply.outcome {
            Outcome::Failed => Err(reply.response.answer.clone()),
            _ => Ok(reply.response.answer.clone()),
        };
        record.end(outcome).await?;
        memory.close(house, turn, &understood, &done, &reply, &record).await?;
        Ok(reply)
    }

    fn turn_of(&self, id: ConversationId) -> Arc<tokio::sync::Mutex<()>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).entry(id).or_default().clone()
    }

    /// A conversation in which nobody waits needs no lock.
    fn forget_turn(&self, id: Option<ConversationId>) {
        let Some(id) = id else { return };
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        // Two: the one in the map and the one whose turn just ends.
        if turns.get(&id).is_some_and(|lock| Arc::strong_count(lock) <= 2) {
            turns.remove(&id);
        }
    }
}

/// Without control characters and escape sequences; an empty message and one that is too long are refused with what to do.
fn clean(said: &str) -> Result<String> {
    if said.len() > LONGEST {
        return Err(Error::TooLong { bytes: said.len(), most: LONGEST });
    }
    let mut clean = String::with_capacity(said.len());
    let mut letters = said.chars().peekable();
    while let Some(letter) = letters.next() {
        // A terminal's escape sequence ends with its first letter.
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            while letters.next_if(|next| !next.is_ascii_alphabetic()).is_some() {}
            letters.next();
            clean.push(' ');
        } else {
            clean.push(if letter.is_control() { ' ' } else { letter });
        }
    }
    let clean = clean.trim().to_owned();
    if clean.is_empty() { Err(Error::NothingSaid) } else { Ok(clean) }
}

/// The encoder takes milliseconds of one core, so it does not stand in the way of others.
async fn understand(reader: &Arc<Reader>, turn: &Turn, memory: &Memory, house: &House) -> Result<Understood> {
    let (reader, said) = (reader.clone(), turn.said.clone());
    let (recent, pending, before) = (memory.recent.clone(), memory.pending.clone(), memory.before.clone());
    let today = house.clock.now().to_chrono().date_naive();
    let read = tokio::task::spawn_blocking(move || {
        reader
            .understand(&said, &Given { today, recent: &recent, pending: pending.as_ref(), before: &before })
    });
    read.await.map_err(|error| Error::Tools(steward_tools::Error::Bug { detail: error.to_string() }))
}

fn note(record: &mut Record<'_>, turn: &Turn, understood: &Understood, reworded: bool) -> Result<()> {
    let mut personal = serde_json::Map::new();
    personal.insert("said".into(), turn.said.clone().into());
    personal.insert("understood".into(), json!(understood));
    let tools: Vec<&str> = understood.steps.iter().filter_map(|step| step.tool()).collect();
    record.note_personal(
        EventType::Understood,
        "language",
        json!({
            "kind": understood.kind, "intent": understood.intent, "confidence": understood.confidence,
            "domains": understood.domains, "tools": tools, "asks_back": understood.question.is_some(), "reworded_by_model": reworded,
        }),
        personal,
    )
}
