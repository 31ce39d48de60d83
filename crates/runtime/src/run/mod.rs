//! Runs workflows and agents: the engine says what happens next, this carries it out and writes it down.
//!
//! Invariants
//! - An event is on disk before anything that follows from it is carried out. After a crash the state is folded from the events,
//!   and a call without a receipt is made again only if that is safe.
//! - A run keeps the definitions that it was started with.
//! - Every piece of work has an owner: the run that asked for it. When the run ends, all of it ends.

mod definitions;
mod log;
mod work;

use crate::ask::House;
use crate::error::{Error, Result};
use crate::toolbox::Toolbox;
use definitions::Definitions;
use log::{Log, Stored};
use serde_json::Value as Json;
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use steward_domain::{
    AgentName, CallId, EventType, HumanAction, JsonObject, Label, LlmConfig, TaskId, UserId,
};
use steward_engine::{Effect, EffectId, Ended, Event, InFlight, Program, State, Status};
use steward_language::model::{Local, Model, Models, OpenAi, Options as ModelOptions, Secret};
use steward_store::Scope;
use tokio::task::{AbortHandle, JoinSet};

/// What runs are carried out with.
#[derive(Clone)]
pub struct Runner {
    toolbox: Arc<Toolbox>,
    models: Arc<Models>,
    home: PathBuf,
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// Done, with this result.
    Completed(Json),
    /// Failed, for this reason.
    Failed(String),
    /// Called off, by somebody.
    Cancelled(String),
    /// Waits for a person.
    Waiting,
}

/// A run and how it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Its task.
    pub task: TaskId,
    /// How it stands.
    pub standing: Standing,
    /// Events so far.
    pub steps: u64,
}

/// What somebody who watches hears.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// The run began.
    Started(TaskId),
    /// Something is about to be done.
    Doing(Effect),
    /// Something happened.
    Happened(Event),
}

/// Hears what happens.
pub type Watch = Arc<dyn Fn(Seen) + Send + Sync>;

/// What a person decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The decision.
    pub action: HumanAction,
    /// Words for the agent.
    pub message: String,
    /// Changes of the state.
    pub updates: JsonObject,
    /// Who.
    pub by: Label,
    /// From where.
    pub from: String,
}

impl Runner {
    /// Over a toolbox, with models by name and the definitions of a home.
    #[must_use]
    pub fn new(toolbox: Arc<Toolbox>, models: Arc<Models>, home: PathBuf) -> Self {
        Self { toolbox, models, home }
    }

    fn house(&self) -> &House {
        self.toolbox.house()
    }

    /// The model of an agent: one of the settings, the built-in one, or an OpenAI-compatible address.
    fn model(
        &self,
        llm: &LlmConfig,
    ) -> std::result::Result<Arc<dyn Model>, steward_language::model::ModelError> {
        if let Some(model) = self.models.get(llm.model.as_str()) {
            return Ok(model);
        }
        if llm.endpoint.is_empty() {
            return Ok(Arc::new(Local));
        }
        let mut options = ModelOptions::new(llm.endpoint.clone(), llm.model.as_str());
        options.api_key =
            llm.api_key.as_ref().and_then(|name| std::env::var(name.as_str()).ok()).map(Secret::new);
        Ok(Arc::new(OpenAi::new(options)?))
    }

    /// The workflow or agent of this name, checked.
    pub async fn program(&self, name: &str) -> Result<Program> {
        // Tools of servers that were never looked at are not known yet.
        self.toolbox.look_at_new().await;
        let beside =
            std::path::Path::new(name).parent().and_then(|folder| Some(folder.parent()?.join("agents")));
        Definitions { home: &self.home, registry: self.toolbox.registry(), beside }.program(name)
    }

    /// Runs a workflow or an agent until it ends or waits for a person.
    pub async fn start(&self, user: &UserId, name: &str, input: Json, watch: Option<Watch>) -> Result<Ran> {
        let program = self.program(name).await?;
        let task = TaskId(self.house().random.uuid_v7(self.house().clock.now())?);
        self.begin(user.clone(), task, program, input, Child::default(), watch).await
    }

    /// Goes on with a run after a crash. One that waits for a person still waits.
    pub async fn resume(&self, scope: &Scope, task: TaskId, watch: Option<Watch>) -> Result<Ran> {
        let stored = log::load(&*self.house().store, scope, task).await?;
        self.take_over(stored, None, watch).await
    }

    /// Goes on with a run after a person's decision over exactly what they were shown.
    pub async fn decide(
        &self,
        scope: &Scope,
        task: TaskId,
        decided: Decided,
        watch: Option<Watch>,
    ) -> Result<Ran> {
        let stored = log::load(&*self.house().store, scope, task).await?;
        self.take_over(stored, Some(Next::Decided(decided)), watch).await
    }

    /// Calls a run off.
    pub async fn cancel(&self, scope: &Scope, task: TaskId, by: &Label) -> Result<Ran> {
        let stored = log::load(&*self.house().store, scope, task).await?;
        self.take_over(stored, Some(Next::Cancelled(by.to_string())), None).await
    }

    /// The events of a run and the program they happened to.
    pub async fn history(&self, scope: &Scope, task: TaskId) -> Result<(Program, Vec<Event>)> {
        let stored = log::load(&*self.house().store, scope, task).await?;
        Ok((stored.program, stored.events))
    }

    /// Begins another run with the first events of one. Calls that had begun there are not made again unless that is safe.
    pub async fn fork(&self, scope: &Scope, task: TaskId, steps: usize, watch: Option<Watch>) -> Result<Ran> {
        let stored = log::load(&*self.house().store, scope, task).await?;
        let new = TaskId(self.house().random.uuid_v7(self.house().clock.now())?);
        let events = steward_engine::fork(&stored.events, steps, new);
        let (state, begun) = self.folded(scope, &stored.program, &stored.events, steps, task).await?;
        drop(state);
        let user = stored.task.user_id.clone();
        let mut run = Run::new(self, user, new, stored.program, watch)?;
        let input = Json::Null;
        run.log.begin(&run.program, &input, Some(task)).await?;
        for event in &events {
            run.log.event(event).await?;
        }
        run.state = steward_engine::fold(&run.program, &events);
        run.happened(Event::Recovered { in_flight: begun, at: self.house().clock.now() }).await?;
        run.drive().await
    }

    fn begin(
        &self,
        user: UserId,
        task: TaskId,
        program: Program,
        input: Json,
        child: Child,
        watch: Option<Watch>,
    ) -> Pin<Box<dyn Future<Output = Result<Ran>> + Send + '_>> {
        Box::pin(async move {
            let mut run = Run::new(self, user, task, program, watch)?;
            run.tell(Seen::Started(task));
            run.log.begin(&run.program, &input, child.parent).await?;
            let started = Event::Started {
                task,
                input,
                depth: child.depth,
                untrusted: child.untrusted,
                at: self.house().clock.now(),
            };
            run.happened(started).await?;
            run.drive().await
        })
    }

    async fn take_over(&self, stored: Stored, next: Option<Next>, watch: Option<Watch>) -> Result<Ran> {
        let Stored { task, program, events, sequence } = stored;
        let scope = Scope::User(task.user_id.clone());
        let (state, begun) = self.folded(&scope, &program, &events, events.len(), task.id).await?;
        let mut run = Run::new(self, task.user_id.clone(), task.id, program, watch)?;
        (run.state, run.log.sequence) = (state, sequence);
        if run.state.status().is_final() {
            return Ok(run.ran());
        }
        let at = self.house().clock.now();
        run.log.resume().await?;
        run.happened(Event::Recovered { in_flight: begun, at }).await?;
        match next {
            Some(Next::Decided(decided)) => run.decided(decided).await?,
            Some(Next::Cancelled(by)) => run.happened(Event::CancelRequested { by, at }).await?,
            None => {}
        }
        run.drive().await
    }

    /// The state after so many events, and the calls of that moment that had begun and have no receipt.
    async fn folded(
        &self,
        scope: &Scope,
        program: &Program,
        events: &[Event],
        steps: usize,
        task: TaskId,
    ) -> Result<(State, Vec<InFlight>)> {
        let mut state = State::new(program);
        let mut calls: BTreeMap<EffectId, (CallId, steward_domain::Idempotency)> = BTreeMap::new();
        let mut effects = Vec::new();
        for event in events.iter().take(steps) {
            effects.clear();
            let _rejected_again = state.apply_into(program, event, &mut effects);
            calls.extend(effects.iter().filter_map(|effect| match effect {
                Effect::CallTool { id, key, safety, .. } => Some((*id, (*key, *safety))),
                _ => None,
            }));
        }
        let begun = self.begun(scope, task).await?;
        let in_flight = calls
            .into_iter()
            .filter(|(id, (key, _))| state.is_pending(*id) && begun.contains(&key.to_string()))
            .map(|(effect, (_, safety))| InFlight { effect, safety })
            .collect();
        Ok((state, in_flight))
    }

    /// The calls of a task that are in the journal as begun.
    async fn begun(&self, scope: &Scope, task: TaskId) -> Result<std::collections::BTreeSet<String>> {
        let mut begun = std::collections::BTreeSet::new();
        let mut after = 0;
        loop {
            let entries = self.house().store.entries(scope, task.into(), after, 1000).await?;
            let Some(last) = entries.last() else { return Ok(begun) };
            after = last.entry.sequence;
            for entry in entries.iter().filter(|entry| entry.entry.event_type == EventType::ToolCalled) {
                let data: Json = serde_json::from_str(&entry.entry.event_data).unwrap_or_default();
                begun.extend(data.get("call_id").and_then(Json::as_str).map(str::to_owned));
            }
        }
    }
}

/// What a sub-agent's task is told of where it comes from.
#[derive(Debug, Clone, Copy, Default)]
struct Child {
    parent: Option<TaskId>,
    depth: u8,
    untrusted: bool,
}

/// A sub-agent's task.
struct Sub {
    id: EffectId,
    task: TaskId,
    text: String,
    definition: steward_engine::Definition,
    child: Child,
}

/// Why a stored run is taken up again.
enum Next {
    Decided(Decided),
    Cancelled(String),
}

/// One run while it is carried out.
struct Run<'a> {
    runner: &'a Runner,
    program: Arc<Program>,
    state: State,
    log: Log<'a>,
    work: JoinSet<Option<Event>>,
    handles: HashMap<EffectId, AbortHandle>,
    questions: BTreeMap<EffectId, Effect>,
    watch: Option<Watch>,
}

impl<'a> Run<'a> {
    fn new(
        runner: &'a Runner,
        user: UserId,
        task: TaskId,
        program: Program,
        watch: Option<Watch>,
    ) -> Result<Self> {
        let title = program.definition().root.title();
        let name = title.rsplit(' ').next().unwrap_or_default();
        let agent = AgentName::new(name).or_else(|_| AgentName::new("engine"))?;
        let state = State::new(&program);
        Ok(Self {
            runner,
            program: Arc::new(program),
            state,
            log: Log { house: runner.house(), user, task, sequence: 0, agent },
            work: JoinSet::new(),
            handles: HashMap::new(),
            questions: BTreeMap::new(),
            watch,
        })
    }

    fn tell(&self, seen: Seen) {
        if let Some(watch) = &self.watch {
            watch(seen);
        }
    }

    fn ran(&self) -> Ran {
        let standing = match self.state.ended() {
            Some(Ended::Completed(result)) => Standing::Completed(result.clone()),
            Some(Ended::Failed(failure)) => Standing::Failed(failure.to_string()),
            Some(Ended::Cancelled(by)) => Standing::Cancelled(by.clone()),
            None => Standing::Waiting,
        };
        Ran { task: self.log.task, standing, steps: self.state.events() }
    }

    /// Takes an event: applies it, writes it down, and begins what follows from it. One that comes late changes nothing.
    async fn happened(&mut self, event: Event) -> Result<()> {
        let Ok(effects) = self.state.apply(&self.program, &event) else { return Ok(()) };
        self.log.event(&event).await?;
        self.tell(Seen::Happened(event));
        for effect in effects {
            self.carry_out(effect).await?;
        }
        Ok(())
    }

    async fn carry_out(&mut self, effect: Effect) -> Result<()> {
        self.tell(Seen::Doing(effect.clone()));
        let runner = self.runner.clone();
        let (task, user) = (self.log.task, self.log.user.clone());
        match effect {
            Effect::CallTool { id, .. } => {
                self.spawn(id, async move { runner.call_tool(task, user, effect).await });
            }
            Effect::CallModel { id, .. } => {
                if let Some(asked) = runner.asked(&self.program, &self.state, id) {
                    self.spawn(id, async move { Some(runner.ask_model(id, asked).await) });
                }
            }
            Effect::StartTimer { id, at } => self.spawn(id, async move {
                work::until(at, log::now(runner.house())).await;
                Some(Event::TimerFired { timer: id, at: log::now(runner.house()) })
            }),
            Effect::AskHuman { id, .. } => drop(self.questions.insert(id, effect)),
            Effect::StartSub { id, task_id, agent, task: text, untrusted, depth, limits } => {
                let Some(definition) = self.program.definition().for_agent(&agent, limits) else {
                    return Ok(());
                };
                let watch = self.watch.clone();
                let child = Child { parent: Some(task), depth, untrusted };
                let sub = Sub { id, task: task_id, text, definition, child };
                self.spawn(id, async move { Some(runner.sub(sub, user, watch).await) });
            }
            Effect::Cancel { id } => {
                self.questions.remove(&id);
                if let Some(handle) = self.handles.remove(&id) {
                    handle.abort();
                }
            }
            Effect::Checkpoint { .. }
            | Effect::Finish { .. }
            | Effect::Fail { .. }
            | Effect::Cancelled { .. } => {}
        }
        Ok(())
    }

    fn spawn(&mut self, id: EffectId, work: impl Future<Output = Option<Event>> + Send + 'static) {
        let handle = self.work.spawn(work);
        self.handles.insert(id, handle);
    }

    /// Carries the run on until it ends or only people are awaited.
    async fn drive(&mut self) -> Result<Ran> {
        loop {
            if let Some(ended) = self.state.ended().cloned() {
                self.work.abort_all();
                self.log.end(&ended).await?;
                return Ok(self.ran());
            }
            if self.state.status() == Status::Paused && self.waits_for_people() {
                self.work.abort_all();
                if let Some(question) = self.questions.values().next().cloned() {
                    self.log.pause(&question).await?;
                }
                return Ok(self.ran());
            }
            match self.work.join_next().await {
                Some(Ok(Some(event))) => {
                    if let Some(id) = event.effect() {
                        self.handles.remove(&id);
                    }
                    self.happened(event).await?;
                }
                Some(_) => {}
                None => return Err(Error::Stuck(self.log.task.to_string())),
            }
        }
    }

    /// A question whose time has come is answered by its timer; until then the run need not stay in memory.
    fn waits_for_people(&self) -> bool {
        let now = log::now(self.runner.house());
        self.questions
            .values()
            .any(|question| matches!(question, Effect::AskHuman { expires_at, .. } if *expires_at > now))
    }

    async fn decided(&mut self, decided: Decided) -> Result<()> {
        let waiting = self.questions.values().next().cloned();
        let Some(Effect::AskHuman { id, digest, .. }) = waiting else {
            return Err(Error::NotWaiting(self.log.task.to_string()));
        };
        self.questions.remove(&id);
        let event = Event::HumanDecided {
            request: id,
            action: decided.action,
            message: decided.message,
            state_updates: decided.updates,
            by: decided.by.to_string(),
            from: decided.from,
            digest,
            at: log::now(self.runner.house()),
        };
        self.happened(event).await
    }
}

impl Runner {
    /// Runs a sub-agent as a task of its own; one that was begun before a crash is taken up again.
    fn sub(
        &self,
        sub: Sub,
        user: UserId,
        watch: Option<Watch>,
    ) -> Pin<Box<dyn Future<Output = Event> + Send + '_>> {
        Box::pin(async move {
            let Sub { id, task, text, definition, child } = sub;
            let scope = Scope::User(user.clone());
            let known = log::load(&*self.house().store, &scope, task).await;
            let ran = match known {
                Ok(stored) => self.take_over(stored, None, watch).await,
                Err(_) => match Program::from_definition(definition) {
                    Ok(program) => self.begin(user, task, program, Json::String(text), child, watch).await,
                    Err(problems) => Err(Error::Program(problems.to_string())),
                },
            };
            let summary = match ran {
                Ok(Ran { standing: Standing::Completed(result), .. }) => Ok(log::words(&result)),
                Ok(Ran { standing: Standing::Failed(why), .. }) => Err(why),
                Ok(Ran { standing: Standing::Cancelled(by), .. }) => Err(format!("called off by {by}")),
                Ok(Ran { standing: Standing::Waiting, task, .. }) => Err(format!(
                    "the agent's task {task} waits for a person; decide on it and run this again"
                )),
                Err(error) => Err(error.to_string()),
            };
            let usage = steward_engine::Usage::default();
            Event::SubEnded { effect: id, summary, usage, at: self.house().clock.now() }
        })
    }
}
