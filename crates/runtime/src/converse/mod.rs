//! Conversations: a message is understood, executed with tools and data, and answered in one reply.
//!
//! Invariants
//! - The turns of one conversation run one after the other, in the order of arrival. None is lost.
//! - Destructive calls, and calls that the operator wants confirmed, need a confirmation first. It
//!   is valid for exactly the calls that were shown.
//! - A tool result is data: it is shown, searched and counted. Only the user's text becomes a step.
//! - After the timeout the reply uses the results so far, and says what is missing and why.
//!
//! This module does not parse language itself (`language::understand` does) and calls tools only
//! through the gateway.

mod agents;
mod call;
mod carry;
mod client_turn;
mod compose;
mod confidence;
mod confirm;
mod decisions;
mod digest;
mod edit;
mod effects;
mod ending;
mod find;
mod follow;
mod look;
mod memory;
mod model_answer;
mod model_turn;
mod plan_first;
pub(crate) use plan_first::signature_of;
mod readers;
mod reply;
mod request;
mod run_progress;
pub(crate) use run_progress::RunProgress;

pub use crate::progress::ProgressEvent;
pub use client_turn::ClientTurn;
pub use edit::{MAX_TITLE_CHARS, rename, restore, title_of};
pub use ending::{ConversationEndedBy, Ending, end};
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

/// The timeouts.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The timeout of one call.
    pub call: Duration,
    /// The timeout of a whole answer.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { call: Duration::from_secs(50), answer: Duration::from_secs(60) }
    }
}

/// A message of a user.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The text.
    pub said: String,
    /// The conversation; `None` starts a new one.
    pub conversation: Option<ConversationId>,
    /// The caller.
    pub caller: Caller,
    /// The user's own data: files, folders, database addresses.
    pub data: Vec<String>,
    /// The chosen option of the open question, by index; the text is then that of the option.
    pub choice: Option<OptionChoice>,
}

/// Context that a turn may reuse from earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carried {
    /// The data of earlier questions.
    Data,
    /// The reading of the previous question.
    Question,
}

/// An option chosen by index: a pressed button, or a number in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionChoice {
    /// The task of the turn that asked. A question from before the last answer is closed.
    #[serde(rename = "task_id", default, skip_serializing_if = "Option::is_none")]
    pub question: Option<TaskId>,
    /// Its index among the options, from 0.
    pub option: usize,
}

/// Receives the progress of a turn.
pub type Watch<'a> = &'a (dyn Fn(ProgressEvent) + Sync);

/// A message with the context for reading it.
#[derive(Clone)]
struct Opened {
    turn: Turn,
    memory: Memory,
    /// The data that it may refer to: its own, or that of earlier turns.
    data: Vec<String>,
    reader: Arc<Reader>,
    /// Prefetched records, and the calls that returned them.
    world: Arc<Vec<SeenRecord>>,
    looked: Vec<Arc<Call>>,
    /// Configured servers that did not start: their answers are unknown.
    absent: Vec<String>,
    /// The time of arrival, on the monotonic clock.
    began: Duration,
    /// The options of a client of a model protocol.
    client: Option<Arc<ClientTurn>>,
}

/// The chat service. There is one for each process; clones share its state.
#[derive(Clone)]
pub struct ChatService {
    toolbox: Arc<Toolbox>,
    limits: Limits,
    readers: Arc<readers::Readers>,
    /// The model for conversations, if one is configured.
    model: Option<ChatModel>,
    /// The context of earlier turns that is ignored.
    without: BTreeSet<Carried>,
    /// One lock for each conversation with a running turn: its holder runs the turn.
    turns: Arc<Mutex<HashMap<ConversationId, Arc<tokio::sync::Mutex<()>>>>>,
}

/// The delay before a client is notified that servers are starting.
const SERVER_NOTICE_DELAY: Duration = Duration::from_millis(700);
/// The maximum length of a message, in bytes.
const LONGEST: usize = 100_000;

impl ChatService {
    /// A service over a toolbox.
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

    /// Adds a model for messages that the reader is not sure of.
    #[must_use]
    pub fn with_model(mut self, model: ChatModel) -> Self {
        self.model = Some(model);
        self
    }

    /// The same service without some context of earlier turns.
    #[must_use]
    pub fn without(&self, without: BTreeSet<Carried>) -> Self {
        Self { without, ..self.clone() }
    }

    /// The toolbox.
    #[must_use]
    pub fn toolbox(&self) -> &Arc<Toolbox> {
        &self.toolbox
    }

    fn app(&self) -> &AppContext {
        self.toolbox.app()
    }

    /// The reader for what this caller may use. New servers are queried for their tools first.
    pub async fn reader(&self, caller: &Caller, data: &[String]) -> Result<Arc<Reader>> {
        let _unavailable_servers_reported_on_call = self.toolbox.review_new_servers().await;
        self.readers.get(&self.toolbox, caller, data).await
    }

    /// Queries new servers. If that takes long, the watcher is notified. Returns messages about
    /// servers that did not start, with the reason for administrators. Only servers that the caller
    /// may know are named.
    async fn wait_for_servers(&self, caller: &Caller, watch: Watch<'_>) -> Vec<String> {
        let named = |servers: Vec<ServerName>| -> Vec<String> {
            let known = servers.iter().filter(|server| self.toolbox.can_see_server(caller, server));
            known.map(ToString::to_string).collect()
        };
        let look = self.toolbox.review_new_servers();
        tokio::pin!(look);
        let absent = match tokio::time::timeout(SERVER_NOTICE_DELAY, &mut look).await {
            Ok(absent) => absent,
            Err(_) => {
                let servers = named(self.toolbox.new_servers());
                if !servers.is_empty() {
                    watch(ProgressEvent::Waiting { servers });
                }
                look.await
            }
        };
        let told = absent.into_iter().filter(|(server, _)| self.toolbox.can_see_server(caller, server));
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

    /// The interpretation of a message, alone or within its conversation. Nothing is executed or
    /// written.
    pub async fn understand(&self, turn: &Turn) -> Result<Understood> {
        let opened = self.open(turn, &|_| {}).await?;
        understand(&opened, self.app()).await
    }

    /// Validates the targets of a message: each is looked up by read-only tools. Nothing else is
    /// called.
    pub async fn validate(&self, turn: &Turn) -> Result<serde_json::Value> {
        let mut opened = self.open(turn, &|_| {}).await?;
        let mut understood = understand(&opened, self.app()).await?;
        let subject = json!({ "check": true });
        let mut record = self.open_record(&opened, "validation", subject).await?;
        let near = look::domains(&opened, &understood);
        if look::worth(&opened, &understood) && self.prefetch_records(&mut opened, &near, record.task).await {
            understood = understand(&opened, self.app()).await?;
        }
        let work = self.work(&opened, &understood, record.task);
        let mut checks = Vec::new();
        for step in understood.steps.iter().filter(|step| step.target.is_some()) {
            let mut ended = carry::bare(step, carry::StepOutcome::Done);
            let _check_reports_it = work.settle(step, &BTreeMap::new(), &mut ended).await;
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

    /// Answers a message. Failures on the way are part of the reply; an error means that the
    /// message could not be accepted.
    pub async fn say(&self, turn: &Turn, watch: Watch<'_>) -> Result<Reply> {
        self.answer_until(turn, watch, &CancellationToken::new()).await
    }

    /// The same, with cancellation: started work then ends with that reason.
    pub async fn answer_until(
        &self,
        turn: &Turn,
        watch: Watch<'_>,
        stop: &CancellationToken,
    ) -> Result<Reply> {
        self.answer_turn(turn, None, watch, stop).await
    }

    async fn answer_turn(
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
            Some(id) => self.report_decided(&turn.caller.user, id).await?,
            None => Vec::new(),
        };
        let reply = Box::pin(self.take(turn, client, watch, stop)).await;
        self.forget_turn(turn.conversation);
        Ok(Reply { decisions, ..reply? })
    }

    /// Loads the context for reading a message.
    async fn open(&self, turn: &Turn, watch: Watch<'_>) -> Result<Opened> {
        let began = self.app().clock.monotonic();
        let mut turn = turn.clone();
        let mut memory = Memory::open(self.app(), &turn).await?;
        memory.forget(&self.without);
        // An option of a question about data may also be chosen by its number or its words.
        turn.choice = turn.choice.or_else(|| memory.choice_of(&turn.said));
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

    /// Opens the task of a message. Its calls use the same journal writer.
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
                // On any failure the task ends with the reason.
                record.end(Err(error.to_string())).await?;
                return Err(error);
            }
        };
        let outcome = match reply.outcome {
            Outcome::Failed => Err(reply.response.answer.clone()),
            _ => Ok(reply.response.answer.clone()),
        };
        // The answer is stored before the task ends. If the process dies in between, the process
        // that recovers the task ends it.
        opened.memory.close(app, &opened, &understood, &done, &reply, &record).await?;
        crash::here(CrashPoint::AfterAnswerBeforeEnd);
        record.end(outcome).await?;
        Ok(reply)
    }

    /// The interpretation of a message, with prefetched records where it names something.
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
            // The journal is on disk before anything leaves this process.
            note(record, &opened.turn, &first)?;
            record.flush().await?;
            let near = look::domains(opened, &first);
            let far = look::elsewhere(opened, &near);
            for (domains, always) in [(near, true), (far, false)] {
                if always || look::unseen(opened, &first) || look::changes_by_name(&first) {
                    let look = self.prefetch_records(opened, &domains, record.task);
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
        // The journal is on disk before anything leaves this process.
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

    /// Removes the lock of a conversation without waiting turns.
    fn forget_turn(&self, id: Option<ConversationId>) {
        let Some(id) = id else { return };
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        // Two references: the one in the map and the one of the ending turn.
        if turns.get(&id).is_some_and(|lock| Arc::strong_count(lock) <= 2) {
            turns.remove(&id);
        }
    }
}

/// Removes control characters and escape sequences. Empty and too long messages are rejected with a
/// hint.
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

/// Executes the request or the confirmed calls, or does nothing.
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
            work.record_declined(record, "rejected")?;
            carry::Done::declined()
        }
        None => {
            work.record_declined(record, "dropped")?;
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

/// Interprets a message on a blocking thread, because the encoder needs milliseconds of CPU.
async fn understand(opened: &Opened, app: &AppContext) -> Result<Understood> {
    let (reader, memory) = (opened.reader.clone(), opened.memory.clone());
    // A button for a decision is not interpreted: its label would read as a new request.
    let decides = memory.confirming.is_some() && memory.pending.is_none();
    let said = match opened.turn.choice.filter(|_| decides) {
        Some(OptionChoice { option: 0, .. }) => "yes".to_owned(),
        Some(_) => "no".to_owned(),
        None => opened.turn.said.clone(),
    };
    let world = opened.world.clone();
    // A question of analysis is answered by text; its options are not handled here.
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
