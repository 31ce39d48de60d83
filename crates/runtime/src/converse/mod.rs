//! Conversations: what somebody says is understood, carried out through tools and data, and
//! answered in one voice.
//!
//! Invariants
//! - The turns of one conversation are taken one after the other, in the order in which they came.
//!   None is lost.
//! - What takes something away, and what the operator wants a person to see first, is asked about
//!   before it is done. The answer counts for exactly the calls that were shown, and for nothing
//!   else.
//! - What a tool gave back is data: it is shown, searched and counted. Only what the person said
//!   becomes a step.
//! - When the time is up the answer is given from what arrived, and says what is missing and why.
//!
//! It does not read language itself (`language::understand` does) and does not call tools past the
//! gateway.

mod agents;
mod call;
mod carry;
mod client_turn;
mod compose;
mod confirm;
mod decisions;
mod digest;
mod edit;
mod effects;
mod ending;
mod find;
mod look;
mod memory;
mod model_answer;
mod model_turn;
mod plan_first;
pub(crate) use plan_first::signature_of;
mod readers;
mod reply;
mod run_progress;
pub(crate) use run_progress::RunProgress;

pub use crate::progress::ProgressEvent;
pub use client_turn::ClientTurn;
pub use edit::{LONGEST_TITLE, rename, restore, title_of};
pub use ending::{EndedBy, Ending, end};
pub use model_turn::{ChatModel, ModelLimits};
pub use reply::{Asked, Missing, ModelUsed, Offered, Outcome, Reply, Shown, StepDone, Strategy};

use crate::ask::{AppContext, Opening, Record, keep_artifact};
use crate::crash::{self, CrashPoint};
use crate::error::{Error, Result};
use crate::run::turn_subject;
use crate::toolbox::Toolbox;
use agents::Agents;
use call::Call;
use effects::TurnStep;
use memory::Memory;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::{ArtifactKind, ConversationId, EventType, ServerName, TaskId};
use steward_journal::redact::Redactor;
use steward_language::understand::{Answered, Kind, Reader, SeenRecord, TurnContext, Understood};
use steward_policy::Caller;
use tokio_util::sync::CancellationToken;

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
    /// The option of the open question that was chosen by its place; what was said is then its own
    /// words.
    pub choice: Option<OptionChoice>,
}

/// What a turn may take over from earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carried {
    /// The data that was asked before.
    Data,
    /// How the question before was read.
    Question,
}

/// An option that was chosen by its place: a button that was pressed, or a number in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionChoice {
    /// The task of the turn that asked. A question that was asked before the last answer is no
    /// longer open.
    #[serde(rename = "task_id", default, skip_serializing_if = "Option::is_none")]
    pub question: Option<TaskId>,
    /// Its place among the options, from 0.
    pub option: usize,
}

/// Whoever watches a turn.
pub type Watch<'a> = &'a (dyn Fn(ProgressEvent) + Sync);

/// A message with everything that it is read with.
#[derive(Clone)]
struct Opened {
    turn: Turn,
    memory: Memory,
    /// The data that it may be about: what was brought along now, or before.
    data: Vec<String>,
    reader: Arc<Reader>,
    /// What tools have shown to be there, where names were said, and the calls of that.
    world: Arc<Vec<SeenRecord>>,
    looked: Vec<Arc<Call>>,
    /// Servers that are set up and did not come: what they could answer is not known.
    absent: Vec<String>,
    /// When it came, on the monotonic clock.
    began: Duration,
    /// What a client of a model protocol asks for beside its words.
    client: Option<Arc<ClientTurn>>,
}

/// Holds conversations. One for each process; its copies are the same one.
#[derive(Clone)]
pub struct ChatService {
    toolbox: Arc<Toolbox>,
    limits: Limits,
    readers: Arc<readers::Readers>,
    /// The model of conversations, when there is one.
    model: Option<ChatModel>,
    /// What of earlier turns does not count.
    without: BTreeSet<Carried>,
    /// The turn that each conversation is at: whoever holds the lock speaks.
    turns: Arc<Mutex<HashMap<ConversationId, Arc<tokio::sync::Mutex<()>>>>>,
}

/// How long servers may take to start before whoever waits is told.
const UNTOLD: Duration = Duration::from_millis(700);
/// The longest message that is taken, in bytes.
const LONGEST: usize = 100_000;

impl ChatService {
    /// Over a toolbox.
    #[must_use]
    pub fn new(toolbox: Arc<Toolbox>, limits: Limits) -> Self {
        Self {
            toolbox,
            limits,
            readers: Arc::default(),
            model: None,
            without: BTreeSet::new(),
            turns: Arc::default(),
        }
    }

    /// With a model for what the reader is not sure of.
    #[must_use]
    pub fn with_model(mut self, model: ChatModel) -> Self {
        self.model = Some(model);
        self
    }

    /// The same conversations, read without some of what earlier turns left behind.
    #[must_use]
    pub fn without(&self, without: BTreeSet<Carried>) -> Self {
        Self { without, ..self.clone() }
    }

    /// What it works with.
    #[must_use]
    pub fn toolbox(&self) -> &Arc<Toolbox> {
        &self.toolbox
    }

    fn app(&self) -> &AppContext {
        self.toolbox.app()
    }

    /// What is known about what can be asked, for this caller. Servers that were never looked at
    /// are looked at now.
    pub async fn reader(&self, caller: &Caller, data: &[String]) -> Result<Arc<Reader>> {
        let _those_that_are_down_are_told_when_asked = self.toolbox.look_at_new().await;
        self.readers.get(&self.toolbox, caller, data).await
    }

    /// Looks at servers that were never looked at. Where that takes a while, whoever watches is
    /// told; those that do not come are given back in words: with the reason for whoever may look
    /// after them. Only those are named that the caller may know of.
    async fn wait_for_servers(&self, caller: &Caller, watch: Watch<'_>) -> Vec<String> {
        let named = |servers: Vec<ServerName>| -> Vec<String> {
            let known = servers.iter().filter(|server| self.toolbox.may_know(caller, server));
            known.map(ToString::to_string).collect()
        };
        let look = self.toolbox.look_at_new();
        tokio::pin!(look);
        let absent = match tokio::time::timeout(UNTOLD, &mut look).await {
            Ok(absent) => absent,
            Err(_) => {
                let servers = named(self.toolbox.new_servers());
                if !servers.is_empty() {
                    watch(ProgressEvent::Waiting { servers });
                }
                look.await
            }
        };
        let told = absent.into_iter().filter(|(server, _)| self.toolbox.may_know(caller, server));
        told.map(|(server, error)| {
            if caller.administrator {
                format!(
                    "{server} cannot be used: {error}. `steward mcp-servers log {server}` shows what it said."
                )
            } else {
                format!("{server} is set up but did not start. Ask again later, or tell whoever runs this.")
            }
        })
        .collect()
    }

    /// What a message means, by itself or within its conversation. Nothing is done, and nothing is
    /// written down.
    pub async fn understand(&self, turn: &Turn) -> Result<Understood> {
        let opened = self.open(turn, &|_| {}).await?;
        understand(&opened, self.app()).await
    }

    /// Whether what a message acts on exists: each target is looked up by tools that change
    /// nothing, and nothing else is called.
    pub async fn validate(&self, turn: &Turn) -> Result<serde_json::Value> {
        let mut opened = self.open(turn, &|_| {}).await?;
        let mut understood = understand(&opened, self.app()).await?;
        let subject = json!({ "check": true });
        let mut record = self.open_record(&opened, "validation", subject).await?;
        let near = look::domains(&opened, &understood);
        if look::worth(&opened, &understood) && self.look_around(&mut opened, &near, record.task).await {
            understood = understand(&opened, self.app()).await?;
        }
        let work = self.work(&opened, &understood, record.task);
        let mut checks = Vec::new();
        for step in understood.steps.iter().filter(|step| step.target.is_some()) {
            let mut ended = carry::bare(step, carry::StepOutcome::Done);
            let _told_by_the_check = work.settle(step, &BTreeMap::new(), &mut ended).await;
            checks.extend(ended.checks.into_iter().map(|check| (carry::what(step), check)));
        }
        record.end(Ok(format!("{} checked", checks.len()))).await?;
        let valid = understood.question.is_none() && checks.iter().all(|(_, check)| check.well);
        let checks: Vec<_> = checks
            .into_iter()
            .map(|(step, check)| {
                json!({ "step": step, "target": check.wanted, "exists": check.well, "found": check.came, "tools": check.tools })
            })
            .collect();
        Ok(json!({ "valid": valid, "question": understood.question, "checks": checks }))
    }

    /// Answers what was said. What goes wrong on the way is part of the reply; an error means that
    /// the message could not be taken.
    pub async fn say(&self, turn: &Turn, watch: Watch<'_>) -> Result<Reply> {
        self.say_until(turn, watch, &CancellationToken::new()).await
    }

    /// The same, unless it is called off on the way: what was begun then ends with that reason.
    pub async fn say_until(&self, turn: &Turn, watch: Watch<'_>, stop: &CancellationToken) -> Result<Reply> {
        self.say_for(turn, None, watch, stop).await
    }

    async fn say_for(
        &self,
        turn: &Turn,
        client: Option<Arc<ClientTurn>>,
        watch: Watch<'_>,
        stop: &CancellationToken,
    ) -> Result<Reply> {
        let lock = turn.conversation.map(|id| self.turn_of(id));
        let _mine = match &lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let decisions = match turn.conversation {
            Some(id) => self.tell_decided(&turn.caller.user, id).await?,
            None => Vec::new(),
        };
        let reply = Box::pin(self.take(turn, client, watch, stop)).await;
        self.forget_turn(turn.conversation);
        Ok(Reply { decisions, ..reply? })
    }

    /// Everything that a message is read with.
    async fn open(&self, turn: &Turn, watch: Watch<'_>) -> Result<Opened> {
        let began = self.app().clock.monotonic();
        let mut turn = turn.clone();
        let mut memory = Memory::open(self.app(), &turn).await?;
        memory.forget(&self.without);
        if let Some(choice) = turn.choice {
            memory.option(choice)?.say.clone_into(&mut turn.said);
        }
        turn.said = clean(&turn.said)?;
        let data = if turn.data.is_empty() { memory.data.clone() } else { turn.data.clone() };
        let absent = self.wait_for_servers(&turn.caller, watch).await;
        let reader = self.readers.get(&self.toolbox, &turn.caller, &data).await?;
        Ok(Opened {
            turn,
            memory,
            data,
            reader,
            world: Arc::default(),
            looked: Vec::new(),
            absent,
            began,
            client: None,
        })
    }

    /// Opens the task of a message. Its calls write with the same writer.
    async fn open_record(&self, opened: &Opened, agent: &str, subject: serde_json::Value) -> Result<Record> {
        let opening = Opening {
            user: opened.turn.caller.user.clone(),
            parent: None,
            said: &opened.turn.said,
            agent,
            subject,
            data: json!({ "from": "conversation" }),
        };
        let record = Record::open(self.app(), opening).await?;
        self.toolbox.journal_writers().put(record.writer());
        Ok(record)
    }

    fn work(&self, opened: &Opened, understood: &Understood, task: TaskId) -> carry::Work {
        let Opened { turn, memory, data, reader, world, looked, absent, began, .. } = opened.clone();
        let (chat, steps) = (self.clone(), understood.steps.clone());
        carry::Work { chat, reader, turn, memory, world, looked, absent, data, steps, task, began }
    }

    async fn take(
        &self,
        turn: &Turn,
        client: Option<Arc<ClientTurn>>,
        watch: Watch<'_>,
        stop: &CancellationToken,
    ) -> Result<Reply> {
        let app = self.app();
        let mut opened = self.open(turn, watch).await?;
        opened.client = client;
        let subject = turn_subject(&opened.turn.said, opened.memory.id);
        let mut record = self.open_record(&opened, "orchestrator", subject).await?;
        watch(ProgressEvent::Started(record.task));
        let told = Box::pin(self.tell(&mut opened, &mut record, watch, stop)).await;
        let (reply, understood, done) = match told {
            Ok(told) => told,
            Err(Error::CalledOff) => {
                record.call_off(turn.caller.user.as_str()).await?;
                opened.memory.leave(app, &turn.caller.user).await?;
                return Err(Error::CalledOff);
            }
            Err(error) => {
                // Whatever fails, the task ends with its reason.
                record.end(Err(error.to_string())).await?;
                return Err(error);
            }
        };
        let outcome = match reply.outcome {
            Outcome::Failed => Err(reply.response.answer.clone()),
            _ => Ok(reply.response.answer.clone()),
        };
        // First the answer, then the end of the task: a process that dies between the two leaves a
        // turn that was answered, and the next process ends its task.
        opened.memory.close(app, &opened, &understood, &done, &reply, &record).await?;
        crash::here(CrashPoint::AfterAnswerBeforeEnd);
        record.end(outcome).await?;
        Ok(reply)
    }

    /// What a message means, with what there is where something is named.
    async fn read(
        &self,
        opened: &mut Opened,
        record: &mut Record,
        stop: &CancellationToken,
    ) -> Result<Understood> {
        let mut first = self.first(opened).await?;
        let looks = look::worth(opened, &first);
        let mut seen = false;
        if looks {
            // Nothing leaves this process before what led to it is on disk.
            note(record, &opened.turn, &first)?;
            record.flush().await?;
            let near = look::domains(opened, &first);
            let far = look::elsewhere(opened, &near);
            for (domains, always) in [(near, true), (far, false)] {
                if always || look::unseen(opened, &first) || look::changes_by_name(&first) {
                    let look = self.look_around(opened, &domains, record.task);
                    if stop.run_until_cancelled(look).await.ok_or(Error::CalledOff)? {
                        (first, seen) = (self.first(opened).await?, true);
                    }
                }
            }
        }
        if seen || !looks {
            note(record, &opened.turn, &first)?;
        }
        Ok(first)
    }

    async fn tell(
        &self,
        opened: &mut Opened,
        record: &mut Record,
        watch: Watch<'_>,
        stop: &CancellationToken,
    ) -> Result<(Reply, Understood, carry::Done)> {
        let app = self.app();
        if let Some(told) = Box::pin(self.decide_paused(opened, record, watch, stop)).await? {
            return Ok(told);
        }
        if let Some(client) = opened.client.clone() {
            return Box::pin(self.client_turn(opened, &client, record, watch, stop)).await;
        }
        let understood = self.read(opened, record, stop).await?;
        let opened = &*opened;
        let Opened { turn, memory, .. } = opened;
        let mut agents = Agents::new(app, &turn.caller.user, memory.id);
        agents.understood(turn, &understood, memory)?;
        if let Some(new) = memory.begin(app, turn, &understood)? {
            record.change(new);
        }
        // Nothing leaves this process before what led to it is on disk.
        record.flush().await?;
        let without_model = match Box::pin(self.model_turn(opened, &understood, record, watch, stop)).await? {
            model_turn::ModelTurn::Answered(told) => {
                for change in agents.into_changes()? {
                    record.change(change);
                }
                return Ok(*told);
            }
            model_turn::ModelTurn::Unavailable(why) => Some(model_turn::note_of(&why)),
            model_turn::ModelTurn::NotNeeded => None,
        };
        let work = Arc::new(self.work(opened, &understood, record.task));
        let acted = stop.run_until_cancelled(act(&work, &understood, record, watch)).await;
        let done = acted.unwrap_or(Err(Error::CalledOff))?;
        agents.carried(&done)?;
        let mut reply = compose::reply(&work, &understood, &done);
        if let Some(note) = without_model {
            reply.response.answer = format!("{}\n{note}", reply.response.answer);
            reply.reasons.push(note);
        }
        record.note(
            EventType::Answered,
            "runtime",
            json!({
                "outcome": reply.outcome, "confidence": reply.response.confidence, "sources": reply.response.sources,
                "partial_results": reply.response.partial_results, "missing": reply.missing,
                "milliseconds": reply.response.total_execution_time_ms,
            }),
        )?;
        let document =
            serde_json::to_vec(&Redactor::shared().redact_secrets_in(reply.json())).unwrap_or_default();
        keep_artifact(app, record, ArtifactKind::Summary, "replies", &document)?;
        for change in agents.into_changes()? {
            record.change(change);
        }
        Ok((reply, understood, done))
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

/// Without control characters and escape sequences; an empty message and one that is too long are
/// refused with what to do.
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

/// Does what was asked for, what was agreed to, or nothing.
async fn act(
    work: &Arc<carry::Work>,
    understood: &Understood,
    record: &mut Record,
    watch: Watch<'_>,
) -> Result<carry::Done> {
    let decided = confirm::decided(&work.memory, &work.turn, understood, record.now());
    let mut done = match decided {
        Some(confirm::Decided::Yes(confirming)) => work.confirmed(confirming, record, watch).await?,
        Some(confirm::Decided::No) => {
            work.not_agreed(record, "rejected")?;
            carry::Done::declined()
        }
        None => {
            work.not_agreed(record, "dropped")?;
            match () {
                () if understood.answered == Answered::Declined => carry::Done::declined(),
                () if understood.question.is_some() || understood.kind != Kind::Act => carry::Done::default(),
                () => {
                    let steps = understood.steps.iter().cloned().map(TurnStep::Understood);
                    work.carry(steps.collect(), record, watch).await?
                }
            }
        }
    };
    work.ask_for_decisions(&mut done, record).await?;
    Ok(done)
}

/// The encoder takes milliseconds of one core, so it does not stand in the way of others.
async fn understand(opened: &Opened, app: &AppContext) -> Result<Understood> {
    let (reader, memory) = (opened.reader.clone(), opened.memory.clone());
    // A button over a decision needs no reading: its label would read as a new request.
    let decides = memory.confirming.is_some() && memory.pending.is_none();
    let said = match opened.turn.choice.filter(|_| decides) {
        Some(OptionChoice { option: 0, .. }) => "yes".to_owned(),
        Some(_) => "no".to_owned(),
        None => opened.turn.said.clone(),
    };
    let world = opened.world.clone();
    // A question of analysis is answered by its words; what it offers is no option of ours.
    let choice = opened.turn.choice.map(|choice| choice.option).filter(|_| memory.pending.is_some());
    let today = app.clock.now().to_chrono().date_naive();
    let read = tokio::task::spawn_blocking(move || {
        let given = TurnContext {
            today,
            recent: &memory.recent,
            pending: memory.pending.as_ref(),
            before: &memory.before,
            world: &world,
            shown: &memory.lists,
            removed: memory.removed,
            choice,
        };
        reader.understand(&said, &given)
    });
    read.await.map_err(|error| Error::Tools(steward_tools::Error::Bug { detail: error.to_string() }))
}

fn note(record: &mut Record, turn: &Turn, understood: &Understood) -> Result<()> {
    let mut personal = serde_json::Map::new();
    personal.insert("said".into(), turn.said.clone().into());
    personal.insert("understood".into(), json!(understood));
    let tools: Vec<&str> = understood.steps.iter().filter_map(|step| step.tool()).collect();
    record.note_personal(
        EventType::Understood,
        "language",
        json!({
            "kind": understood.kind, "intent": understood.intent, "confidence": understood.confidence,
            "domains": understood.domains, "tools": tools, "asks_back": understood.question.is_some(),
        }),
        personal,
    )
}
