//! The one executor: the engine says what happens next, the effect handler does it, the log keeps
//! it. Questions, chat turns, workflows and agents are all carried out here.
//!
//! Invariants
//! - Nothing else in this crate decides which step of a task is next. [tidy: `one_executor`]
//! - Every piece of work has an owner: the run that asked for it. When the run ends, all of it
//!   ends.
//! - What is ready at once is taken at once, without a task of its own; the rest runs side by side.
//! - A run whose owner is not let in any more stops: at its next effect, and at its next sign of
//!   life while it waits.
//! - Whenever the run waits for anything, everything that happened so far is written. It is on
//!   disk, too, unless all that waits is a question's or a turn's own: the calls of a turn see to
//!   the disk themselves before they change anything.

use super::log::Log;
use super::{ProgressEvent, Ran, RunStatus, signal, traced};
use crate::crash::{self, CrashPoint};
use crate::error::{Error, Result};
use crate::journal_writer::LeaseHolder;
use futures_util::FutureExt as _;
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{TaskId, Timestamp};
use steward_engine::{Effect, EffectId, Event, Program, Root, State, Status, ToolOutcome};
use steward_journal::clock::Clock;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// What came of a piece of work.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectOutcome {
    /// This happened.
    Happened(Event),
    /// The task of a sub-agent waits for a person, and this one with it.
    Sleeps(TaskId),
    /// Nothing that counts.
    Nothing,
}

/// A piece of work.
pub type Work = Pin<Box<dyn Future<Output = EffectOutcome> + Send>>;

/// Carries out what the engine asks for.
pub trait EffectHandler: Send + Sync {
    /// Calls a tool: the effect is [`Effect::CallTool`].
    fn call_tool(&self, effect: Effect) -> Work;
    /// Asks the model of this effect, which is shown what [`State::prompt`] says.
    fn ask_model(&self, program: &Program, state: &State, id: EffectId) -> Work;
    /// Runs a sub-agent: the effect is [`Effect::StartSub`].
    fn start_sub(&self, program: &Program, effect: Effect) -> Work;
    /// Why nothing may be done for the run's owner any more.
    fn refusal(&self) -> Option<String> {
        None
    }
}

/// Who ends the task of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskEnding {
    /// The executor, with what the program came to.
    Here,
    /// The caller that opened the task: it ends with an answer that is made from what the steps
    /// gave.
    Elsewhere,
}

/// Carries out the plan of a question or a turn, whose task is open and is ended by the caller.
pub(crate) async fn carry_out_plan(
    effects: &dyn EffectHandler,
    log: &mut Log,
    program: Arc<Program>,
    input: Json,
    watch: &(dyn Fn(ProgressEvent) + Sync),
) -> Result<()> {
    log.define(&program, &input)?;
    let (clock, task) = (log.app.clock.clone(), log.task.id);
    let started =
        Event::Started { task, input, depth: 0, untrusted: false, earlier: Vec::new(), at: clock.now() };
    let mut executor = Executor::new(effects, clock, program, task);
    executor.log = Some(log);
    executor.watch = Some(watch);
    executor.ending = TaskEnding::Elsewhere;
    executor.carry_on([started]).await?;
    Ok(())
}

/// So many steps are taken before others get a turn.
const STRIDE: u32 = 64;
/// A wait that is shorter than this, in microseconds, does not leave memory.
const STAYS_IN_MEMORY: i64 = 2_000_000;
/// How often a run that works and waits for a signal looks for it.
const LOOK_FOR_SIGNALS: Duration = Duration::from_secs(1);

pub(super) struct Executor<'a> {
    pub(super) effects: &'a dyn EffectHandler,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) program: Arc<Program>,
    pub(super) state: State,
    /// Nothing is kept of a run that has none.
    pub(super) log: Option<&'a mut Log>,
    pub(super) task: TaskId,
    pub(super) watch: Option<&'a (dyn Fn(ProgressEvent) + Sync)>,
    /// Who ends the task, and how much of the disk is waited for on the way.
    pub(super) ending: TaskEnding,
    /// When the steps began that are under way.
    began: HashMap<EffectId, (usize, Duration)>,
    /// Who holds it, and how often they say so.
    held: Option<(LeaseHolder, Interval)>,
    /// When this is called, nothing new is begun: what runs comes to its end, and others take the
    /// task.
    pub(super) stop: CancellationToken,
    /// The task above, which may sleep until this one has ended.
    pub(super) wake: Option<TaskId>,
    ready: VecDeque<EffectOutcome>,
    work: JoinSet<(EffectId, EffectOutcome)>,
    handles: HashMap<EffectId, AbortHandle>,
    questions: BTreeMap<EffectId, Effect>,
    asleep: Option<TaskId>,
    strides: u32,
}

impl<'a> Executor<'a> {
    pub(super) fn new(
        effects: &'a dyn EffectHandler,
        clock: Arc<dyn Clock>,
        program: Arc<Program>,
        task: TaskId,
    ) -> Self {
        Self {
            effects,
            clock,
            state: State::new(&program),
            program,
            log: None,
            task,
            watch: None,
            ending: TaskEnding::Here,
            began: HashMap::new(),
            held: None,
            stop: CancellationToken::new(),
            wake: None,
            ready: VecDeque::new(),
            work: JoinSet::new(),
            handles: HashMap::new(),
            questions: BTreeMap::new(),
            asleep: None,
            strides: 0,
        }
    }

    /// With a lease that is renewed while it runs.
    pub(super) fn held_by(&mut self, holder: LeaseHolder) {
        let mut beat = interval(holder.lease / 3);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The lease is fresh: the first beat comes after a while.
        beat.reset();
        self.held = Some((holder, beat));
    }

    fn tell(&self, seen: ProgressEvent) {
        if let Some(watch) = self.watch {
            watch(seen);
        }
    }

    /// Tells that a step of a plan begins.
    fn tell_begin(&mut self, effect: &Effect) {
        let Effect::CallTool { id, node, .. } = effect else { return };
        let Root::Plan(plan) = &self.program.definition().root else { return };
        let Some(step) = plan.subtasks.iter().position(|task| task.task_id == *node) else { return };
        let what = plan.subtasks.get(step).map(|task| task.description.clone()).unwrap_or_default();
        if self.began.insert(*id, (step, self.clock.monotonic())).is_none() {
            self.tell(ProgressEvent::Began { step, what });
        }
    }

    /// Tells that a step of a plan has ended.
    fn tell_end(&mut self, event: &Event) {
        let Event::ToolEnded { effect, outcome, .. } = event else { return };
        let Some((step, began)) = self.began.remove(effect) else { return };
        let well = matches!(outcome, ToolOutcome::Success { .. });
        let took = self.clock.monotonic().saturating_sub(began);
        self.tell(ProgressEvent::Ended { step, well, took });
    }

    pub(super) fn ran(&self) -> Ran {
        let standing = match RunStatus::of(&self.state) {
            RunStatus::Waiting if self.stop.is_cancelled() => RunStatus::HandedOver,
            standing => standing,
        };
        Ran {
            task: self.task,
            standing,
            steps: self.state.events(),
            parent: self.wake,
            awaited: self.state.awaited(&self.program),
            page: super::page_of(&self.state),
        }
    }

    /// Takes these events, and carries the run on from there.
    pub(super) async fn carry_on(&mut self, events: impl IntoIterator<Item = Event>) -> Result<Ran> {
        let span = traced::span(&self.program, self.task);
        let work = async {
            for event in events {
                self.happened(event).await?;
            }
            self.drive().await
        };
        let ran = work.instrument(span.clone()).await;
        traced::end(&span, &ran);
        ran
    }

    /// Takes an event: applies it, notes it, and begins what follows from it. One that comes late
    /// changes nothing.
    async fn happened(&mut self, event: Event) -> Result<()> {
        let Ok(effects) = self.state.apply(&self.program, &event) else { return Ok(()) };
        if let Some(log) = &mut self.log {
            log.event(&event)?;
            // Who watches stands outside: they see what is on disk.
            if self.watch.is_some() || log.journal_writer.is_full() {
                self.save().await?;
            }
        }
        if self.watch.is_some() {
            self.tell_end(&event);
            self.tell(ProgressEvent::Happened(event));
        }
        for effect in effects {
            self.carry_out(effect).await;
        }
        Ok(())
    }

    async fn carry_out(&mut self, effect: Effect) {
        if self.watch.is_some() {
            self.tell_begin(&effect);
            self.tell(ProgressEvent::Doing(effect.clone()));
        }
        if self.stop.is_cancelled() {
            // What is not begun now is begun by the process that takes the task up.
            return;
        }
        let (id, work) = match effect {
            Effect::CallTool { id, .. } => (id, self.effects.call_tool(effect)),
            Effect::CallModel { id, .. } => (id, self.effects.ask_model(&self.program, &self.state, id)),
            Effect::StartSub { id, .. } | Effect::StartWorkflow { id, .. } => {
                (id, self.effects.start_sub(&self.program, effect))
            }
            Effect::StartTimer { id, at } => (id, self.timer(id, at)),
            Effect::AskHuman { id, .. } => {
                self.questions.insert(id, effect);
                return;
            }
            Effect::Cancel { id } => {
                self.questions.remove(&id);
                if let Some(handle) = self.handles.remove(&id) {
                    handle.abort();
                }
                return;
            }
            // A signal comes out of the store.
            Effect::AwaitSignal { .. } | Effect::Rejected { .. } => return,
            Effect::Checkpoint { .. }
            | Effect::Finish { .. }
            | Effect::Fail { .. }
            | Effect::Cancelled { .. } => return,
        };
        let mut work = work;
        match futures_util::poll!(&mut work) {
            std::task::Poll::Ready(came) => self.ready.push_back(came),
            std::task::Poll::Pending => {
                let handle = self.work.spawn(async move { (id, work.await) }.in_current_span());
                self.handles.insert(id, handle);
            }
        }
    }

    fn timer(&self, id: EffectId, at: Timestamp) -> Work {
        let clock = self.clock.clone();
        let micros = u64::try_from(at.micros().saturating_sub(clock.now().micros())).unwrap_or_default();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_micros(micros)).await;
            EffectOutcome::Happened(Event::TimerFired { timer: id, at: clock.now() })
        })
    }

    /// Carries the run on until it ends, or only people are awaited, or it is handed over.
    async fn drive(&mut self) -> Result<Ran> {
        self.take_signals().await?;
        loop {
            while let Some(came) = self.ready.pop_front() {
                self.take(came).await?;
                self.strides += 1;
                if self.strides.is_multiple_of(STRIDE) {
                    tokio::task::yield_now().await;
                    self.renew_if_due().await?;
                }
            }
            if let Some(ended) = self.state.ended() {
                crash::here(CrashPoint::BeforeEnd);
                if let (Some(log), TaskEnding::Here) = (&mut self.log, self.ending) {
                    log.end(ended, self.wake)?;
                }
                self.work.abort_all();
                self.save().await?;
                return Ok(self.ran());
            }
            if self.only_timers() && (self.asleep.is_some() || self.waits_for_people() || self.waits_long()) {
                if self.state.awaits_signal() && self.take_signals().await? {
                    continue;
                }
                self.lay_aside()?;
                self.save().await?;
                self.wake_for_signals().await?;
                return Ok(self.ran());
            }
            self.save().await?;
            if self.stop.is_cancelled() && self.only_timers() {
                return Ok(self.ran());
            }
            self.wait().await?;
        }
    }

    /// Others wait for it: a person or a sub-agent's task. The run need not stay in memory
    /// meanwhile; the next timer of its own brings it back.
    fn lay_aside(&mut self) -> Result<()> {
        self.work.abort_all();
        let until = self.state.timers().map(|(_, at)| at).min();
        let Some(log) = &mut self.log else { return Ok(()) };
        match (self.questions.values().next(), self.asleep) {
            (Some(question), _) => log.pause(question, until),
            (None, Some(sub)) => log.sleep(sub, until),
            (None, None) => log.rest(until, self.state.awaited(&self.program)),
        }
    }

    /// Waits for the next piece of work to come back, and keeps the lease meanwhile. The beat goes
    /// on from one wait to the next.
    async fn wait(&mut self) -> Result<()> {
        let mut look = interval(LOOK_FOR_SIGNALS);
        look.reset();
        loop {
            let beat = async {
                match &mut self.held {
                    Some((_, beat)) => drop(beat.tick().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = beat => {
                    self.renew().await?;
                    if let Some(reason) = self.effects.refusal() {
                        self.ready.push_back(EffectOutcome::Happened(Event::Refused { reason, at: self.clock.now() }));
                        return Ok(());
                    }
                }
                came = self.work.join_next() => {
                    match came {
                        Some(Ok((id, came))) => {
                            self.handles.remove(&id);
                            self.ready.push_back(came);
                        }
                        // It was called off.
                        Some(Err(_)) => {}
                        None => return Err(Error::Stuck(self.task.to_string())),
                    }
                    return Ok(());
                }
                _ = look.tick(), if self.state.awaits_signal() => {
                    if self.take_signals().await? {
                        return Ok(());
                    }
                }
                () = self.stop.cancelled(), if !self.stop.is_cancelled() => return Ok(()),
            }
        }
    }

    /// A run that never waits has a lease, too.
    async fn renew_if_due(&mut self) -> Result<()> {
        let due = self.held.as_mut().is_some_and(|(_, beat)| beat.tick().now_or_never().is_some());
        if due { self.renew().await } else { Ok(()) }
    }

    async fn renew(&self) -> Result<()> {
        match (&self.held, &self.log) {
            (Some((holder, _)), Some(log)) => {
                Ok(log.journal_writer.renew(holder.until(self.clock.now())).await?)
            }
            _ => Ok(()),
        }
    }

    /// Whether nothing runs that could be lost: timers begin anew elsewhere.
    fn only_timers(&self) -> bool {
        let timer = |id: &EffectId| self.state.timers().any(|(timer, _)| timer == *id);
        self.handles.keys().all(|id| !self.state.is_pending(*id) || timer(id))
    }

    async fn take(&mut self, came: EffectOutcome) -> Result<()> {
        match came {
            EffectOutcome::Happened(event) => self.happened(event).await,
            EffectOutcome::Sleeps(task) => {
                self.asleep = Some(task);
                Ok(())
            }
            EffectOutcome::Nothing => Ok(()),
        }
    }

    /// Writes everything that was noted.
    async fn save(&self) -> Result<()> {
        match (&self.log, self.ending) {
            (Some(log), TaskEnding::Here) => Ok(log.journal_writer.flush().await?),
            (Some(log), TaskEnding::Elsewhere) => Ok(log.journal_writer.write().await?),
            (None, _) => Ok(()),
        }
    }

    /// Takes the signals that have arrived for this run. Says whether there was one.
    async fn take_signals(&mut self) -> Result<bool> {
        let Some(log) = &self.log else { return Ok(false) };
        if self.program.signals().is_empty() || self.state.status().is_final() {
            return Ok(false);
        }
        let (app, user) = (log.app.clone(), log.task.user_id.clone());
        let arrived = signal::arrived(&*app.store, self.task).await?;
        for signal in &arrived {
            let event = Event::Signalled {
                name: signal.name.clone(),
                data: signal.data.clone(),
                key: signal.key.to_string(),
                by: signal.by.to_string(),
                at: self.clock.now(),
            };
            self.happened(event).await?;
        }
        if arrived.is_empty() {
            return Ok(false);
        }
        // A signal is settled once the run that took it is on disk. One that is not settled is
        // taken again, and its key counts once.
        self.save().await?;
        crash::here(CrashPoint::AfterSignalBeforeSettled);
        for signal in arrived {
            signal::settle(&app, &user, signal).await;
        }
        Ok(true)
    }

    /// A signal that arrived while the run was laid aside brings it back.
    async fn wake_for_signals(&self) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        if !self.state.awaits_signal() || signal::arrived(&*log.app.store, self.task).await?.is_empty() {
            return Ok(());
        }
        signal::wake(&log.app, &log.task.user_id, self.task).await
    }

    /// Whether a node waits for a signal, or for a time that is far enough away for the run to
    /// leave memory.
    fn waits_long(&self) -> bool {
        if self.log.is_none() || self.ending == TaskEnding::Elsewhere || !self.state.waits_outside() {
            return false;
        }
        let soon = Timestamp::from_micros(self.clock.now().micros() + STAYS_IN_MEMORY);
        self.state.status() == Status::Paused && self.state.timers().all(|(_, at)| at > soon)
    }

    /// A question whose time has come is answered by its timer; until then the run need not stay in
    /// memory.
    fn waits_for_people(&self) -> bool {
        if self.state.status() != Status::Paused {
            return false;
        }
        let now = self.clock.now();
        self.questions
            .values()
            .any(|question| matches!(question, Effect::AskHuman { expires_at, .. } if *expires_at > now))
    }
}
