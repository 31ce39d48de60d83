//! Runs workflows and agents: the engine decides what happens next, this module executes and stores
//! it.
//!
//! Invariants
//! - The journal is on disk before anything leaves the process. After a crash the state is folded
//!   from the events, and a call without a receipt is repeated only if that is safe.
//! - A task has one holder at a time. A new holder first takes the lease and then reads the task:
//!   later writes of the previous holder are refused.
//! - A run keeps the definitions that it was started with. It keeps no grants: each call uses the
//!   current grants of its user.

mod client;
mod cut_off;
mod decide;
mod definitions;
mod executor;
pub(crate) mod internal;
mod log;
mod notify;
mod replay;
mod scheduled;
mod service;
mod signal;
mod take_over;
mod traced;
mod work;

pub use crate::journal_writer::LeaseHolder;
pub use crate::progress::ProgressEvent;
pub use client::{ClientCall, ClientReply, ClientRequest, ClientRun, ModelTokens, conversation_after};
pub use cut_off::end_interrupted;
pub(crate) use cut_off::turn_subject;
pub use decide::DecisionOutcome;
pub(crate) use executor::execute_plan;
pub use executor::{EffectHandler, EffectOutcome, Work};
pub(crate) use log::Log;
pub use notify::{Audience, NoticeCursor};
pub(crate) use replay::replay_events;
pub use replay::{Divergence, Replayed, RunSnapshot, at};
pub use service::{Service, ServiceOptions, TaskObserver};
pub use signal::NewSignal;
pub use steward_engine::Awaited;

use crate::ask::AppContext;
use crate::error::{Error, Result};
use crate::journal_writer::{JournalWriter, LEASE};
use crate::toolbox::Toolbox;
use definitions::Definitions;
use executor::Executor;
use internal::RunContext;
use log::Stored;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{
    AgentName, Check as _, Description, HumanAction, JsonObject, Label, LlmConfig, Sha256Hex, Task, TaskId,
    TaskStatus, Timestamp, UserId, Valid,
};
use steward_engine::{EarlierMessage, Effect, EffectId, Ended, Event, Program, State};
use steward_journal::clock::Clock;
use steward_models::{Local, Model, ModelPurpose, Models, OpenAi, Options as ModelOptions, Secret};
use steward_store::{Lease, Scope, Store};
use take_over::ResumeRequest;
use tokio_util::sync::CancellationToken;
use work::TaskEffectHandler;
pub(crate) use work::class;

/// The dependencies for executing runs.
#[derive(Clone)]
pub struct Runner {
    toolbox: Arc<Toolbox>,
    models: Arc<Models>,
    home: PathBuf,
    holder: LeaseHolder,
    stop: CancellationToken,
}

/// The status of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunStatus {
    /// Completed with this result.
    Completed(Json),
    /// Failed for this reason.
    Failed(String),
    /// Cancelled by this user.
    Cancelled(String),
    /// Rejected by a person, for this reason.
    Rejected(String),
    /// Waits for a person, a time, a signal or another task.
    Waiting,
    /// This process stops; another one continues the run.
    HandedOver,
}

/// A run and its status.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Its task.
    pub task: TaskId,
    /// The status.
    pub standing: RunStatus,
    /// The number of events so far.
    pub steps: u64,
    /// The parent task that slept until this one ended.
    pub parent: Option<TaskId>,
    /// What it waits for.
    pub awaited: Option<Awaited>,
    /// The error page of its failure.
    pub page: Option<&'static str>,
}

/// Receives the progress of a run.
pub type Watch = Arc<dyn Fn(ProgressEvent) + Send + Sync>;

/// The decision of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The decision.
    pub action: HumanAction,
    /// A message for the agent.
    pub message: String,
    /// Changes of the state.
    pub updates: JsonObject,
    /// The user.
    pub by: Label,
    /// The channel.
    pub from: String,
    /// The digest of what the user was shown. A decision on anything else is refused.
    pub shown: Sha256Hex,
}

impl Runner {
    /// A runner over a toolbox, with models by name and the definitions of a home.
    pub fn new(toolbox: Arc<Toolbox>, models: Arc<Models>, home: PathBuf) -> Result<Self> {
        let app = toolbox.app();
        let id = app.random.uuid_v7(app.clock.now())?.simple().to_string();
        let holder = LeaseHolder::for_this_process(&id, LEASE)?;
        Ok(Self { toolbox, models, home, holder, stop: CancellationToken::new() })
    }

    /// Sets the lease holder: a worker with its own name.
    #[must_use]
    pub fn held_by(mut self, holder: LeaseHolder) -> Self {
        self.holder = holder;
        self
    }

    /// Sets the lease duration.
    #[must_use]
    pub fn leased_for(mut self, lease: Duration) -> Self {
        self.holder.lease = lease;
        self
    }

    /// The lease holder.
    #[must_use]
    pub fn holder(&self) -> &LeaseHolder {
        &self.holder
    }

    /// Sets a stop token: when cancelled, nothing new starts, and running tasks are handed over.
    #[must_use]
    pub fn stopped_by(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    pub(crate) fn app(&self) -> &AppContext {
        self.toolbox.app()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.app().clock.now()
    }

    /// The model of an agent: a configured one, the built-in one, or an OpenAI-compatible address.
    fn model(&self, llm: &LlmConfig) -> std::result::Result<Arc<dyn Model>, steward_models::ModelError> {
        if let Some(model) = self.models.get(llm.model.as_str()) {
            return Ok(model);
        }
        if llm.model.as_str() == "default"
            && let Some(chosen) = self.models.for_purpose(ModelPurpose::Agents)
        {
            return Ok(chosen.model);
        }
        if llm.endpoint.is_empty() {
            return Ok(Arc::new(Local));
        }
        let mut options = ModelOptions::new(llm.endpoint.clone(), llm.model.as_str());
        options.api_key =
            llm.api_key.as_ref().and_then(|name| std::env::var(name.as_str()).ok()).map(Secret::new);
        Ok(Arc::new(OpenAi::new(options)?))
    }

    /// Compiles the workflow or agent with this name.
    pub async fn program(&self, name: &str) -> Result<Program> {
        // The tools of new servers are not known yet.
        let _program_reports_missing_tools = self.toolbox.review_new_servers().await;
        let folder = std::path::Path::new(name).parent().filter(|folder| !folder.as_os_str().is_empty());
        let near = folder.map(std::path::Path::to_path_buf);
        let beside =
            std::path::Path::new(name).parent().and_then(|folder| Some(folder.parent()?.join("agents")));
        Definitions { home: &self.home, registry: self.toolbox.registry(), beside, near }.program(name)
    }

    /// The names of the workflows and of the agents of the home, in alphabetical order.
    #[must_use]
    pub fn defined(&self) -> (Vec<String>, Vec<String>) {
        let known =
            Definitions { home: &self.home, registry: self.toolbox.registry(), beside: None, near: None };
        (known.names("workflows"), known.names("agents"))
    }

    /// Runs a workflow or an agent until it ends or has to wait.
    pub async fn start(&self, user: &UserId, name: &str, input: Json, watch: Option<Watch>) -> Result<Ran> {
        let program = self.program(name).await?;
        program.check_input(&input).map_err(Error::Input)?;
        self.run(user, program, input, watch).await
    }

    /// Runs a workflow or an agent whose input a client's model wrote: none of it counts as the
    /// user's own words.
    pub async fn start_untrusted(&self, user: &UserId, name: &str, input: Json) -> Result<Ran> {
        let program = self.program(name).await?;
        program.check_input(&input).map_err(Error::Input)?;
        self.toolbox.callers().now(user)?;
        let task = TaskId(self.app().random.uuid_v7(self.now())?);
        let child = Child { untrusted: true, ..Child::default() };
        self.begin(user.clone(), task, program.into(), input, child, None).await
    }

    /// Runs a program until it ends or has to wait.
    pub async fn run(
        &self,
        user: &UserId,
        program: impl Into<Arc<Program>>,
        input: Json,
        watch: Option<Watch>,
    ) -> Result<Ran> {
        self.toolbox.callers().now(user)?;
        let task = TaskId(self.app().random.uuid_v7(self.now())?);
        self.begin(user.clone(), task, program.into(), input, Child::default(), watch).await
    }

    /// Runs an agent of a conversation until it ends or has to wait. The watcher gets the task's id
    /// first.
    pub(crate) async fn run_in_conversation(
        &self,
        user: &UserId,
        program: Program,
        said: String,
        earlier: Vec<EarlierMessage>,
        context: RunContext,
        watch: Watch,
    ) -> Result<Ran> {
        self.toolbox.callers().now(user)?;
        let task = TaskId(self.app().random.uuid_v7(self.now())?);
        let child = Child { earlier, context, ..Child::default() };
        self.begin(user.clone(), task, program.into(), Json::String(said), child, Some(watch)).await
    }

    /// Queues a workflow or an agent for any worker.
    pub async fn submit(&self, user: &UserId, name: &str, input: &Json) -> Result<TaskId> {
        self.submit_as(user, name, input, Child::default()).await
    }

    /// Stores a run whose input a client's model wrote.
    pub async fn submit_untrusted(&self, user: &UserId, name: &str, input: &Json) -> Result<TaskId> {
        self.submit_as(user, name, input, Child { untrusted: true, ..Child::default() }).await
    }

    async fn submit_as(&self, user: &UserId, name: &str, input: &Json, child: Child) -> Result<TaskId> {
        self.toolbox.callers().now(user)?;
        let program = self.program(name).await?;
        program.check_input(input).map_err(Error::Input)?;
        let id = TaskId(self.app().random.uuid_v7(self.now())?);
        let title = Description::new(program.definition().root.title())?;
        let task = Task {
            status: TaskStatus::Pending,
            started_at: None,
            ..Task::running(id, user.clone(), title, agent_of(&program)?, self.now())
        };
        let journal_writer =
            Arc::new(JournalWriter::new(self.app().store.clone(), user.clone(), id.into(), None));
        let mut log = self.log(journal_writer, task.validate()?, 0, &program)?;
        log.begin(&program, input, &child, None)?;
        log.journal_writer.flush().await?;
        Ok(id)
    }

    fn running(
        &self,
        id: TaskId,
        user: &UserId,
        program: &Program,
        parent: Option<TaskId>,
    ) -> Result<Valid<Task>> {
        let title = Description::new(program.definition().root.title())?;
        let task = Task::running(id, user.clone(), title, agent_of(program)?, self.now());
        Ok(Task { parent_task_id: parent, ..task }.validate()?)
    }

    fn log(
        &self,
        journal_writer: Arc<JournalWriter>,
        task: Valid<Task>,
        sequence: u64,
        program: &Program,
    ) -> Result<Log> {
        Ok(Log { app: self.app().clone(), journal_writer, task, sequence, agent: agent_of(program)? })
    }

    fn journal_writer(&self, user: UserId, task: TaskId, lease: Option<Lease>) -> Arc<JournalWriter> {
        let journal_writer = Arc::new(JournalWriter::new(self.app().store.clone(), user, task.into(), lease));
        self.toolbox.journal_writers().put(&journal_writer);
        journal_writer
    }

    fn effect_handler(
        &self,
        user: UserId,
        task: TaskId,
        journal_writer: &Arc<JournalWriter>,
        watch: Option<Watch>,
        context: RunContext,
    ) -> TaskEffectHandler {
        let context = Arc::new(context);
        TaskEffectHandler {
            runner: self.clone(),
            task,
            user,
            journal_writer: journal_writer.clone(),
            watch,
            context,
        }
    }

    fn new_run<'a>(
        &self,
        effects: &'a TaskEffectHandler,
        program: Arc<Program>,
        task: TaskId,
        watch: Option<&'a Watch>,
    ) -> Executor<'a> {
        let mut run = Executor::new(effects, self.app().clock.clone(), program, task);
        run.watch = watch.map(|watch| &**watch as _);
        run.held_by(self.holder.clone());
        run.stop = self.stop.clone();
        run
    }

    fn begin(
        &self,
        user: UserId,
        task: TaskId,
        program: Arc<Program>,
        input: Json,
        child: Child,
        watch: Option<Watch>,
    ) -> Pin<Box<dyn Future<Output = Result<Ran>> + Send + '_>> {
        Box::pin(async move {
            let running = self.running(task, &user, &program, child.parent)?;
            let journal_writer = self.journal_writer(user.clone(), task, None);
            let effects =
                self.effect_handler(user, task, &journal_writer, watch.clone(), child.context.clone());
            let mut log = self.log(journal_writer, running, 0, &program)?;
            log.begin(&program, &input, &child, Some(&self.holder))?;
            if let Some(watch) = &watch {
                log.journal_writer.flush().await?;
                watch(ProgressEvent::Started(task));
            }
            let mut run = self.new_run(&effects, program, task, watch.as_ref());
            run.log = Some(&mut log);
            run.carry_on([child.started(task, input, self.now())]).await
        })
    }

    /// Runs a sub-agent or a sub-workflow as a sub-task; one that started before a crash is
    /// resumed.
    fn sub(
        &self,
        sub: Sub,
        user: UserId,
        watch: Option<Watch>,
    ) -> Pin<Box<dyn Future<Output = EffectOutcome> + Send + '_>> {
        Box::pin(async move {
            let Sub { id, task, input, gives_value, definition, child } = sub;
            let scope = Scope::User(user.clone());
            let known = self.app().store.task(&scope, task).await;
            let ran = match known {
                Ok(Some(_)) => self.taken(&scope, task, ResumeRequest::sub(), watch).await,
                Ok(None) => match Program::from_definition(definition) {
                    Ok(program) => self.begin(user, task, program.into(), input, child, watch).await,
                    Err(problems) => Err(Error::Program(problems.to_string())),
                },
                Err(error) => Err(error.into()),
            };
            let mut output = None;
            let summary = match ran {
                Ok(Ran { standing: RunStatus::Completed(result), .. }) => {
                    let summary = log::words(&result);
                    output = gives_value.then_some(result);
                    Ok(summary)
                }
                Ok(Ran { standing: RunStatus::Rejected(why), .. }) => Err(why),
                Ok(Ran { standing: RunStatus::Failed(why), .. }) => Err(why),
                Ok(Ran { standing: RunStatus::Cancelled(by), .. }) => Err(format!("called off by {by}")),
                Ok(Ran { standing: RunStatus::Waiting, task, .. }) => return EffectOutcome::Sleeps(task),
                // Another process runs it; its end wakes this one.
                Err(Error::Busy { .. } | Error::Store(steward_store::Error::LeaseLost)) => {
                    return EffectOutcome::Sleeps(task);
                }
                Ok(Ran { standing: RunStatus::HandedOver, .. }) => return EffectOutcome::Nothing,
                Err(error) => Err(error.to_string()),
            };
            let usage = steward_engine::Usage::default();
            EffectOutcome::Happened(Event::SubEnded { effect: id, summary, output, usage, at: self.now() })
        })
    }
}

/// Runs a program with this effect handler and stores nothing.
pub async fn run_unlogged(
    program: Arc<Program>,
    input: Json,
    effects: &dyn EffectHandler,
    clock: Arc<dyn Clock>,
    task: TaskId,
) -> Result<Ran> {
    let at = clock.now();
    let mut run = Executor::new(effects, clock, program, task);
    run.carry_on([Child::default().started(task, input, at)]).await
}

/// The definition and the sub-tasks of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The title, such as `workflow review`.
    pub title: String,
    /// The digest of the definition that the run keeps.
    pub version: Sha256Hex,
    /// The tasks of its sub-agents and sub-workflows, in the order of their start.
    pub children: Vec<TaskId>,
    /// The signals that its nodes wait for.
    pub signals: Vec<String>,
}

/// The definition and the sub-tasks of a run.
pub async fn lineage(store: &dyn Store, scope: &Scope, task: TaskId) -> Result<Lineage> {
    let (program, events) = history(store, scope, task).await?;
    let mut children = Vec::new();
    replay::replay_events(&program, &events, |_, effects| {
        for effect in effects {
            if let Effect::StartSub { task_id, .. } | Effect::StartWorkflow { task_id, .. } = effect
                && !children.contains(task_id)
            {
                children.push(*task_id);
            }
        }
    });
    Ok(Lineage {
        title: program.definition().root.title(),
        version: program.version().clone(),
        children,
        signals: program.signals().into_iter().map(str::to_owned).collect(),
    })
}

/// The events of a run, with its program.
pub async fn history(store: &dyn Store, scope: &Scope, task: TaskId) -> Result<(Program, Vec<Event>)> {
    let stored = log::load(store, scope, task).await?;
    Ok((stored.program, stored.events))
}

impl Ran {
    /// The status of a stored run.
    fn of(stored: &Stored) -> Self {
        let state = steward_engine::fold(&stored.program, &stored.events);
        Self {
            task: stored.task.id,
            standing: RunStatus::of(&state),
            steps: state.events(),
            parent: stored.task.parent_task_id,
            awaited: state.awaited(&stored.program),
            page: page_of(&state),
        }
    }
}

impl RunStatus {
    fn of(state: &State) -> Self {
        match state.ended() {
            Some(Ended::Completed(result)) => Self::Completed(result.clone()),
            Some(Ended::Failed(failure)) => Self::Failed(failure.to_string()),
            Some(Ended::Rejected(failure)) => Self::Rejected(failure.message.clone()),
            Some(Ended::Cancelled(by)) => Self::Cancelled(by.clone()),
            None => Self::Waiting,
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Completed(_) | Self::Failed(_) | Self::Cancelled(_) | Self::Rejected(_))
    }
}

/// The error page of a failure.
fn page_of(state: &State) -> Option<&'static str> {
    match state.ended()? {
        Ended::Failed(failure) | Ended::Rejected(failure) => Some(failure.code.page()),
        Ended::Completed(_) | Ended::Cancelled(_) => None,
    }
}

/// The agent name of a run's task.
fn agent_of(program: &Program) -> Result<AgentName> {
    let title = program.definition().root.title();
    let name = title.rsplit(' ').next().unwrap_or_default();
    Ok(AgentName::new(name).or_else(|_| AgentName::new("engine"))?)
}

/// The origin of a task.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Child {
    #[serde(skip)]
    parent: Option<TaskId>,
    depth: u8,
    untrusted: bool,
    /// The earlier messages of the conversation; they are stored with the first event.
    #[serde(skip)]
    earlier: Vec<EarlierMessage>,
    #[serde(default, skip_serializing_if = "RunContext::is_empty")]
    context: RunContext,
}

impl Child {
    fn started(self, task: TaskId, input: Json, at: Timestamp) -> Event {
        let Self { depth, untrusted, earlier, .. } = self;
        Event::Started { task, input, depth, untrusted, earlier, at }
    }
}

/// The task of a sub-agent or a sub-workflow.
struct Sub {
    id: EffectId,
    task: TaskId,
    input: Json,
    /// Whether its result is a value, not only a summary.
    gives_value: bool,
    definition: steward_engine::Definition,
    child: Child,
}
