//! Tasks: details, journal and event stream; for runs also the graph and the states.

use super::extract::{Authenticated, Input, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::stream::{self, Frame, Next, Source};
use super::{Listed, Paging, Shared, scope};
use crate::identity::{Identity, Right};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use steward_domain::{Label, States as _, Task, TaskId, TaskStatus, TraceLog};
use steward_engine::{Event, NodeStatus, Program, State as RunState};
use steward_runtime::run::{NewSignal, Ran, RunStatus, history};
use steward_store::{Page as StorePage, Scope, TaskFilter};

#[derive(Deserialize)]
struct ListQuery {
    limit: Option<u32>,
    cursor: Option<String>,
    status: Option<TaskStatus>,
    search: Option<String>,
    agent: Option<String>,
    #[serde(default)]
    top: bool,
}

/// A task in a list.
#[derive(Serialize, JsonSchema)]
struct TaskLine {
    #[serde(flatten)]
    task: Task,
    /// Whether a person rejected it.
    is_rejected: bool,
}

/// Where a fork starts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fork {
    /// The number of events to copy. A run with another input starts from the beginning.
    #[serde(default = "first_event")]
    steps: u32,
    /// The input that replaces that of the run.
    #[serde(default)]
    input: Option<Value>,
}

fn first_event() -> u32 {
    1
}

/// A signal for a run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignalRequest {
    /// The payload. The run defines its schema.
    #[serde(default)]
    data: Value,
    /// The deduplication key within this run. The default is the header `Idempotency-Key`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100))]
    key: Option<String>,
}

/// A stored signal.
#[derive(Serialize, JsonSchema)]
struct SignalReceipt {
    task_id: TaskId,
    signal: String,
    /// False if a signal with this key was stored before.
    is_new: bool,
}

/// The status of a run.
#[derive(Serialize, JsonSchema)]
pub(super) struct RunView {
    pub(super) task_id: TaskId,
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) result: Value,
}

impl From<Ran> for RunView {
    fn from(ran: Ran) -> Self {
        let (status, result) = match ran.standing {
            RunStatus::Completed(result) => ("completed", result),
            RunStatus::Failed(why) => ("failed", why.into()),
            RunStatus::Rejected(why) => ("rejected", why.into()),
            RunStatus::Cancelled(by) => ("cancelled", by.into()),
            RunStatus::Waiting => ("paused", Value::Null),
            RunStatus::HandedOver => ("running", Value::Null),
        };
        Self { task_id: ran.task, status, result }
    }
}

pub(super) fn routes(api: &mut Api) {
    let states = json!({ "type": "string", "enum": ["pending", "running", "paused", "completed", "failed", "cancelled", "rejected"] });
    api.get("/api/v1/tasks", "Your tasks, newest first")
        .paged()
        .query("status", states, "Only those in this state.")
        .query(
            "search",
            json!({ "type": "string", "maxLength": 200 }),
            "Only those with this in their words.",
        )
        .query(
            "agent",
            json!({ "type": "string", "maxLength": 200 }),
            "Only those of this agent or workflow.",
        )
        .query("top", json!({ "type": "boolean", "default": false }), "Only those that no other task began.")
        .gives_page::<TaskLine>()
        .to(get(list));
    api.get("/api/v1/tasks/{id}", "A task")
        .gives_object(
            200,
            "`task`, `artifacts`, `checkpoints`, `is_run`, `is_rejected`, `forked_from`, `input`; for runs \
             `definition`, `children` and `signals`.",
        )
        .to(get(show));
    api.get("/api/v1/tasks/{id}/trace", "What a task did, step by step")
        .gives::<TraceLog>(200, "The trace.")
        .to(get(trace));
    api.get("/api/v1/tasks/{id}/steps", "The events of a run: the node and the tool of each")
        .gives_object(
            200,
            "`steps`: `step`, `kind`, `node`, `tool`, `status`, `message`, `at`, `duration_ms`.",
        )
        .to(get(steps));
    api.get("/api/v1/tasks/{id}/events", "Hear a task as it goes; Last-Event-ID goes on where somebody was")
        .gives_kind(200, "entry, task, done.", "text/event-stream")
        .to(get(events));
    api.get("/api/v1/tasks/{id}/graph", "The graph of a run, with the state of its nodes")
        .gives_object(200, "`title`, `nodes`, `edges`, `mermaid`, `svg`.")
        .to(get(graph));
    api.get("/api/v1/tasks/{id}/states/{n}", "The state of a run after so many of its events")
        .gives_object(200, "`step`, `steps`, `event`, `effects`, `state`.")
        .to(get(state));
    api.post("/api/v1/tasks/{id}/cancel", "Call a run off")
        .needs(Right::Run)
        .gives::<RunView>(200, "How it stands.")
        .to(post(cancel));
    api.post("/api/v1/tasks/{id}/resume", "Go on with a run that was interrupted")
        .needs(Right::Run)
        .gives::<RunView>(200, "How it stands.")
        .to(post(resume));
    api.post("/api/v1/tasks/{id}/signals/{name}", "Send a run a signal; the same key counts once")
        .needs(Right::Run)
        .takes::<SignalRequest>()
        .gives::<SignalReceipt>(202, "The run takes it as soon as it can.")
        .to(post(signal));
    api.post("/api/v1/tasks/{id}/fork", "Begin another run with the first events of one")
        .needs(Right::Run)
        .takes::<Fork>()
        .gives::<RunView>(200, "The new run.")
        .to(post(fork));
}

/// The maximum number of tasks that a search reads.
const SEARCHED: u32 = 1000;

async fn list(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(wanted): Queried<ListQuery>,
) -> Result<Json<Listed<TaskLine>>, Problem> {
    let page = Paging { limit: wanted.limit, cursor: wanted.cursor }.page()?;
    let scope = scope(&identity);
    let search = wanted.search.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
    let agent = wanted.agent.filter(|agent| !agent.is_empty());
    let narrowed = search.is_some() || agent.is_some() || wanted.top;
    let reach = if narrowed { StorePage::first(SEARCHED) } else { page };
    let found = site.store().tasks(&scope, TaskFilter { status: wanted.status }, reach).await?;
    let fits = |task: &Task| {
        let said = search.as_ref().is_none_or(|text| task.description.to_lowercase().contains(text.as_str()));
        let of = agent.as_ref().is_none_or(|agent| task.assigned_agent.as_str() == agent);
        said && of && !(wanted.top && task.parent_task_id.is_some())
    };
    let mut tasks: Vec<Task> = found.into_iter().map(steward_domain::Valid::into_inner).collect();
    if narrowed {
        tasks.retain(fits);
        tasks.drain(..tasks.len().min(page.offset as usize));
    }
    let Listed { items, next } = Paging::listed(page, tasks);
    let mut lines = Vec::new();
    for task in items {
        let is_rejected = task.status == TaskStatus::Rejected;
        lines.push(TaskLine { task, is_rejected });
    }
    Ok(Json(Listed { items: lines, next }))
}

async fn own(site: &Shared, identity: &Identity, id: TaskId) -> Result<Task, Problem> {
    let found = site.store().task(&scope(identity), id).await?;
    found.map(steward_domain::Valid::into_inner).ok_or_else(|| Problem::missing("task", id))
}

/// A task, and the scope that it is read in. Beside its owner, those who may decide on what it waits
/// for, or who decided on it, see what it does.
async fn readable(site: &Shared, identity: &Identity, id: TaskId) -> Result<(Task, Scope), Problem> {
    if let Some(found) = site.store().task(&scope(identity), id).await? {
        return Ok((found.into_inner(), scope(identity)));
    }
    let found = site.store().task(&Scope::System, id).await?;
    let task = found.filter(|_| identity.may(Right::Approve)).ok_or_else(|| Problem::missing("task", id))?;
    let owner = Scope::User(task.user_id.clone());
    let waits = site.waiting(identity).await?.iter().any(|one| one.task == id);
    let decided = site.store().decisions(&owner, StorePage::first(1000)).await?;
    let mut own = decided.iter().filter(|(_, one)| one.gate.task == id);
    let is_decider = own.any(|(_, one)| one.by.as_str().split(' ').next() == Some(identity.user.as_str()));
    if waits || is_decider { Ok((task.into_inner(), owner)) } else { Err(Problem::missing("task", id)) }
}

async fn show(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
) -> Result<Json<Value>, Problem> {
    let (task, scope) = readable(&site, &identity, id).await?;
    let artifacts = site.store().artifacts(&scope, id).await?;
    let checkpoints = site.store().checkpoints(&scope, id).await?;
    // A waiting single call also has a checkpoint, but no events.
    let is_run = checkpoints.iter().any(|one| one.position.as_str() != "approval");
    let artifacts: Vec<Value> = artifacts.iter().map(|one| super::artifacts::shown(one)).collect();
    let is_rejected = task.status == TaskStatus::Rejected;
    let forked_from = forked_from(&site, &scope, id).await?;
    let events = history(&**site.store(), &scope, id).await.map(|(_, events)| events).unwrap_or_default();
    let input = events.first().and_then(|first| match first {
        Event::Started { input, .. } => Some(input.clone()),
        _ => None,
    });
    let mut document = json!({
        "task": task, "artifacts": artifacts, "checkpoints": checkpoints.len(), "is_run": is_run,
        "is_rejected": is_rejected, "is_own": task.user_id == identity.user, "forked_from": forked_from, "input": input,
    });
    if let Ok(lineage) = steward_runtime::run::lineage(&**site.store(), &scope, id).await
        && let Some(document) = document.as_object_mut()
    {
        document.insert("definition".into(), json!({ "title": lineage.title, "version": lineage.version }));
        document.insert("children".into(), json!(lineage.children));
        document.insert("signals".into(), json!(lineage.signals));
    }
    Ok(Json(document))
}

/// The run that this one was forked from, according to its journal.
async fn forked_from(site: &Shared, scope: &Scope, id: TaskId) -> Result<Option<Value>, Problem> {
    let entries = site.store().entries(scope, id.into(), 0, 5).await?;
    let data = |entry: &str| serde_json::from_str::<Value>(entry).ok();
    let found = entries.iter().filter_map(|one| data(&one.entry.event_data)).find_map(|data| {
        let origin = data.get("forked_from")?;
        Some(json!({ "task_id": origin, "steps": data.get("steps") }))
    });
    Ok(found)
}

async fn steps(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
) -> Result<Json<Value>, Problem> {
    let (_, scope) = readable(&site, &identity, id).await?;
    let (program, events) = history(&**site.store(), &scope, id).await?;
    Ok(Json(json!({ "steps": named_steps(&program, &events) })))
}

/// The steps of a run. A step that the trace adds, such as `paused`, has the number of the event
/// before it.
fn named_steps(program: &Program, events: &[Event]) -> Vec<Value> {
    let log = steward_engine::trace(program, events);
    let added = ["paused", "completed", "failed", "cancelled"];
    let mut place = 0;
    let nodes: Vec<&str> = program.nodes().iter().map(|node| node.name.as_str()).collect();
    let steps = log.into_iter().flat_map(|log| log.steps);
    steps
        .map(|step| {
            place += usize::from(!added.contains(&step.step_name.as_str()));
            let node = Some(step.agent.as_str()).filter(|agent| nodes.contains(agent));
            json!({
                "step": place, "kind": step.step_name, "node": node, "agent": step.agent,
                "tool": step.tool_calls.first().map(|call| &call.tool), "status": step.status,
                "message": step.message, "at": step.timestamp, "duration_ms": step.duration_ms,
            })
        })
        .collect()
}

async fn trace(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
) -> Result<Json<TraceLog>, Problem> {
    let found = steward_store::trace::trace(&**site.store(), &scope(&identity), id).await?;
    found.map(|trace| Json(trace.into_inner())).ok_or_else(|| Problem::missing("task", id))
}

async fn events(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (_, scope) = readable(&site, &identity, id).await?;
    let watcher = Watcher {
        site: site.clone(),
        scope,
        task: id,
        heard: stream::last_event(&headers),
        status: None,
        over: false,
    };
    Ok(stream::respond(&site, watcher))
}

/// Streams the journal of a task, whichever process runs it.
struct Watcher {
    site: Shared,
    scope: Scope,
    task: TaskId,
    heard: u64,
    status: Option<TaskStatus>,
    over: bool,
}

/// The polling intervals of the journal: the shorter after a change, the longer while it is idle.
const MIN_POLL_DELAY: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(1);

impl Watcher {
    /// The new events: journal entries first, then the resulting status.
    async fn look(&mut self) -> Option<Vec<Frame>> {
        let store = self.site.store();
        let task = store.task(&self.scope, self.task).await.ok().flatten()?;
        let entries = store.entries(&self.scope, self.task.into(), self.heard, 200).await.ok()?;
        let mut frames: Vec<Frame> = entries
            .iter()
            .map(|one| {
                let entry = &one.entry;
                let mut data: Value = serde_json::from_str(&entry.event_data).unwrap_or_default();
                super::artifacts::strip_path(&mut data, "content_ref");
                let told = json!({
                    "sequence_number": entry.sequence, "timestamp": entry.timestamp, "event_type": entry.event_type.name(),
                    "actor": entry.actor, "event_data": data,
                });
                Frame::new(entry.sequence, "entry", &told)
            })
            .collect();
        self.heard = entries.last().map_or(self.heard, |last| last.entry.sequence);
        if self.status != Some(task.status) {
            self.status = Some(task.status);
            frames.push(Frame { id: None, name: Some("task"), data: json!(*task).to_string() });
        }
        if task.status.is_final() && entries.len() < 200 {
            self.over = true;
            frames.push(Frame { id: None, name: Some("done"), data: "{}".to_owned() });
        }
        Some(frames)
    }
}

impl Source for Watcher {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async move {
            let mut pause = MIN_POLL_DELAY;
            while !self.over {
                let frames = self.look().await?;
                if !frames.is_empty() {
                    return Some(frames);
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LATEST);
            }
            None
        })
    }
}

/// A program as nodes and edges, with the state of each node.
pub(super) fn drawn(program: &Program, state: Option<&RunState>) -> Value {
    let nodes = program.nodes().iter().map(|node| {
        let kind = node.work.kind();
        let status =
            match state.and_then(|state| state.node(program, node.name.as_str())).map(|run| run.status) {
                Some(NodeStatus::Done) => "done",
                Some(NodeStatus::Running) => "running",
                Some(NodeStatus::Asking | NodeStatus::Waiting) => "waiting",
                Some(NodeStatus::Failed | NodeStatus::Cancelled) => "failed",
                Some(NodeStatus::Skipped) => "skipped",
                _ => "idle",
            };
        json!({ "name": node.name, "kind": kind, "status": status })
    });
    // Parallel edges between two nodes are drawn as one edge with several labels.
    let mut edges: Vec<(Option<&str>, Option<&str>, String)> = Vec::new();
    for (from, to, label) in program.ways() {
        match edges.iter_mut().find(|edge| (edge.0, edge.1) == (from, to)) {
            Some(edge) if !label.is_empty() => edge.2 = format!("{}, {label}", edge.2),
            Some(_) => {}
            None => edges.push((from, to, label)),
        }
    }
    let edges = edges.iter().map(|(from, to, label)| json!({ "from": from, "to": to, "label": label }));
    json!({
        "title": program.definition().root.title(), "nodes": nodes.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>(),
        "mermaid": program.to_mermaid(state), "svg": program.to_svg(state),
    })
}

async fn graph(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
) -> Result<Json<Value>, Problem> {
    let (_, scope) = readable(&site, &identity, id).await?;
    let (program, events) = history(&**site.store(), &scope, id).await?;
    let state = steward_engine::fold(&program, &events);
    Ok(Json(drawn(&program, Some(&state))))
}

async fn state(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam((id, n)): PathParam<(TaskId, u32)>,
) -> Result<Json<Value>, Problem> {
    own(&site, &identity, id).await?;
    let at = steward_runtime::run::at(&**site.store(), &scope(&identity), id, n as usize).await?;
    Ok(Json(
        json!({ "step": at.step, "steps": at.steps, "event": at.event, "effects": at.effects, "state": at.state }),
    ))
}

async fn cancel(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
) -> Result<Json<RunView>, Problem> {
    own(&site, &identity, id).await?;
    let by = Label::new(identity.user.as_str()).map_err(steward_runtime::Error::from)?;
    let ran = site.runner.cancel(&scope(&identity), id, &by).await?;
    Ok(Json(ran.into()))
}

/// Runs in the background. Returns the result if it ends within 500 ms, otherwise `running`.
pub(super) async fn beside(
    site: &Shared,
    id: TaskId,
    run: impl Future<Output = steward_runtime::Result<Ran>> + Send + 'static,
) -> Result<Json<RunView>, Problem> {
    if site.is_stopping() {
        return Err(Problem::stopping());
    }
    let running = site.work.spawn(run);
    match tokio::time::timeout(Duration::from_millis(500), running).await {
        Ok(Ok(ran)) => Ok(Json(ran?.into())),
        Ok(Err(_)) => Err(Problem::stopping()),
        Err(_) => Ok(Json(RunView { task_id: id, status: "running", result: Value::Null })),
    }
}

async fn resume(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
) -> Result<Json<RunView>, Problem> {
    own(&site, &identity, id).await?;
    let (runner, scope) = (site.runner.clone(), scope(&identity));
    beside(&site, id, async move { runner.resume(&scope, id, None).await }).await
}

async fn signal(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam((id, name)): PathParam<(TaskId, String)>,
    headers: HeaderMap,
    Input(SignalRequest { data, key }): Input<SignalRequest>,
) -> Result<(StatusCode, Json<SignalReceipt>), Problem> {
    own(&site, &identity, id).await?;
    let header = headers.get("idempotency-key").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let by = Label::new(identity.user.as_str()).map_err(steward_runtime::Error::from)?;
    let new = NewSignal { task: id, name: name.clone(), data, key: key.or(header), by };
    let is_new = site.runner.signal(&scope(&identity), new).await?;
    Ok((StatusCode::ACCEPTED, Json(SignalReceipt { task_id: id, signal: name, is_new })))
}

async fn fork(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<TaskId>,
    Input(Fork { steps, input }): Input<Fork>,
) -> Result<Json<RunView>, Problem> {
    own(&site, &identity, id).await?;
    let (runner, scope) = (site.runner.clone(), scope(&identity));
    let ran = match input {
        Some(input) => runner.fork_with_input(&scope, id, input).await?,
        None => runner.fork(&scope, id, steps as usize, None).await?,
    };
    Ok(Json(ran.into()))
}
