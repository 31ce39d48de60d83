//! The executor: the engine decides what happens next, the effect handler executes it, the log
//! stores it. Questions, chat turns, workflows and agents all run here.
//!
//! Invariants
//! - Nothing else in this crate decides which step of a task is next. [tidy: `one_executor`]
//! - Every spawned effect is owned by its run. When the run ends, all of its effects end.
//! - Effects that complete immediately are handled without a spawned task; the rest runs in
//!   parallel.
//! - A run whose user loses access stops: at its next effect, or at its next lease renewal while it
//!   waits.
//! - Whenever the run waits, all events so far are written. They are also synced to disk, except in
//!   the run of a question or a turn: the calls of a turn sync before they change anything.

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

/// The outcome of an effect.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectOutcome {
    /// The effect produced this event.
    Happened(Event),
    /// The sub-task waits or runs in another process; this run sleeps until it ends.
    Sleeps(TaskId),
    /// No event.
    Nothing,
}

/// The future of an effect.
pub type Work = Pin<Box<dyn Future<Output = EffectOutcome> + Send>>;

/// Executes the effects that the engine requests.
pub trait EffectHandler: Send + Sync {
    /// Calls a tool: the effect is [`Effect::CallTool`].
    fn call_tool(&self, effect: Effect) -> Work;
    /// Calls the model of this effect, with the prompt of [`State::prompt`].
    fn ask_model(&self, program: &Program, state: &State, id: EffectId) -> Work;
    /// Runs a sub-agent: the effect is [`Effect::StartSub`].
    fn start_sub(&self, program: &Program, effect: Effect) -> Work;
    /// Why the run's user may not continue.
    fn refusal(&self) -> Option<String> {
        None
    }
}

/// Who ends the task of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskEnding {
    /// The executor, with the result of the program.
    Here,
    /// The caller that opened the task, with an answer composed from the results of the steps.
    Elsewhere,
}

/// Executes the plan of a question or a turn, whose task is open and is ended by the caller.
pub(crate) async fn execute_plan(
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

/// The number of steps before the executor yields.
const STRIDE: u32 = 64;
/// A wait shorter than this, in microseconds, keeps the run in memory.
const MIN_PAUSE_MICROS: i64 = 2_000_000;
/// The polling interval for signals of a running task.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Executor<'a> {
    pub(super) effects: &'a dyn EffectHandler,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) program: Arc<Program>,
    pub(super) state: State,
    /// The log; a run without one stores nothing.
    pub(super) log: Option<&'a mut Log>,
    pub(super) task: TaskId,
    pub(super) watch: Option<&'a (dyn Fn(ProgressEvent) + Sync)>,
    /// Who ends the task; it also decides how often the log is synced.
    pub(super) ending: TaskEnding,
    /// The start times of the running steps.
    began: HashMap<EffectId, (usize, Duration)>,
    /// The lease holder, and the renewal interval.
    held: Option<(LeaseHolder, Interval)>,
    /// When cancelled, no new effects start: running ones finish, and another process takes the
    /// task.
    pub(super) stop: CancellationToken,
    /// The parent task, which may sleep until this one has ended.
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

    /// Sets the holder of the lease, which is renewed while the run is active.
    pub(super) fn held_by(&mut self, holder: LeaseHolder) {
        let mut beat = interval(holder.lease / 3);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The lease is new: the first renewal comes after one interval.
        beat.reset();
        self.held = Some((holder, beat));
    }

    fn tell(&self, seen: ProgressEvent) {
        if let Some(watch) = self.watch {
            watch(seen);
        }
    }

    /// Reports the start of a step of a plan.
    fn report_step_started(&mut self, effect: &Effect) {
        let Effect::CallTool { id, node, .. } = effect else { return };
        let Root::Plan(plan) = &self.program.definition().root else { return };
        let Some(step) = plan.subtasks.iter().position(|task| task.task_id == *node) else { return };
        let what = plan.subtasks.get(step).map(|task| task.description.clone()).unwrap_or_default();
        if self.began.insert(*id, (step, self.clock.monotonic())).is_none() {
            self.tell(ProgressEvent::Began { step, what });
        }
    }

    /// Reports the end of a step of a plan.
    fn report_step_ended(&mut self, event: &Event) {
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

    /// Applies these events and continues the run.
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

    /// Applies an event, logs it, and starts its effects. A late event changes nothing.
    async fn happened(&mut self, event: Event) -> Result<()> {
        let expired = self.state.expired_request(&event).map(|(request, digest)| (request, digest.clone()));
        let Ok(effects) = self.state.apply(&self.program, &event) else { return Ok(()) };
        if let Some(log) = &mut self.log {
            log.event(&event)?;
            if let Some((request, digest)) = expired {
                log.expire(self.task, request, digest, event.at())?;
            }
            // Watchers are external: they must only see events that are written.
            if self.watch.is_some() || log.journal_writer.is_full() {
                self.save().await?;
            }
        }
        if self.watch.is_some() {
            self.report_step_ended(&event);
            self.tell(ProgressEvent::Happened(event));
        }
        for effect in effects {
            self.carry_out(effect).await;
        }
        Ok(())
    }

    async fn carry_out(&mut self, effect: Effect) {
        if self.watch.is_some() {
            self.report_step_started(&effect);
            self.tell(ProgressEvent::Doing(effect.clone()));
        }
        if self.stop.is_cancelled() {
            // The process that resumes the task starts this effect.
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
            // Signals are read from the store.
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

    /// Continues the run until it ends, waits for others, or is handed over.
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
            if self.only_timers()
                && (self.asleep.is_some() || self.is_waiting_for_people() || self.is_waiting_long())
            {
                if self.state.awaits_signal() && self.take_signals().await? {
                    continue;
                }
                self.pause_run()?;
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

    /// Pauses a run that waits for a person, a sub-task, a time or a signal. It leaves memory; its
    /// next timer resumes it.
    fn pause_run(&mut self) -> Result<()> {
        self.work.abort_all();
        let until = self.state.timers().map(|(_, at)| at).min();
        let Some(log) = &mut self.log else { return Ok(()) };
        match (self.questions.values().next(), self.asleep) {
            (Some(question), _) => log.pause(question, until),
            (None, Some(sub)) => log.sleep(sub, until),
            (None, None) => log.rest(until, self.state.awaited(&self.program)),
        }
    }

    /// Waits for the next outcome, and renews the lease meanwhile. The renewal interval continues
    /// over several waits.
    async fn wait(&mut self) -> Result<()> {
        let mut look = interval(SIGNAL_POLL_INTERVAL);
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
                        // The effect was cancelled.
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

    /// Renews the lease of a run that never waits.
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

    /// Whether only timers are running, which can be started again elsewhere.
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

    /// Writes everything that was logged.
    async fn save(&self) -> Result<()> {
        match (&self.log, self.ending) {
            (Some(log), TaskEnding::Here) => Ok(log.journal_writer.flush().await?),
            (Some(log), TaskEnding::Elsewhere) => Ok(log.journal_writer.write().await?),
            (None, _) => Ok(()),
        }
    }

    /// Takes the signals for this run. Returns whether there was one.
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
        // A signal is settled after the run that took it is on disk. An unsettled signal is taken
        // again, and its key counts once.
        self.save().await?;
        crash::here(CrashPoint::AfterSignalBeforeSettled);
        for signal in arrived {
            signal::settle(&app, &user, signal).await;
        }
        Ok(true)
    }

    /// Resumes the run if a signal arrived while it was being paused.
    async fn wake_for_signals(&self) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        if !self.state.awaits_signal() || signal::arrived(&*log.app.store, self.task).await?.is_empty() {
            return Ok(());
        }
        signal::wake(&log.app, &log.task.user_id, self.task).await
    }

    /// Whether a node waits for a signal, or for a time that is far enough away for the run to
    /// leave memory.
    fn is_waiting_long(&self) -> bool {
        if self.log.is_none() || self.ending == TaskEnding::Elsewhere || !self.state.has_external_wait() {
            return false;
        }
        let soon = Timestamp::from_micros(self.clock.now().micros() + MIN_PAUSE_MICROS);
        self.state.status() == Status::Paused && self.state.timers().all(|(_, at)| at > soon)
    }

    /// Whether the run waits for a person and can leave memory. An expired question is handled by
    /// its timer.
    fn is_waiting_for_people(&self) -> bool {
        if self.state.status() != Status::Paused {
            return false;
        }
        let now = self.clock.now();
        self.questions
            .values()
            .any(|question| matches!(question, Effect::AskHuman { expires_at, .. } if *expires_at > now))
    }
}
