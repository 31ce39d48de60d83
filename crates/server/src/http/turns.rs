//! Turns: a message is accepted at once and processed in the background; clients subscribe to its
//! events.
//!
//! Invariant: a turn belongs to its author. It runs to its end even without subscribers. Its events
//! are kept for a while, so that a broken stream can be resumed.

use super::ages::{Ages, RetentionLimits};
use super::door::TRACE;
use super::extract::{Authenticated, Input, PathParam, Queried};
use super::openapi::Api;
use super::problem::Problem;
use super::stream::{self, Frame, Next, Source};
use super::{AppState, Shared};
use crate::identity::Identity;
use axum::Json;
use axum::extract::State;
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use futures_util::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use steward_domain::{ConversationId, TaskId, UserId};
use steward_engine::EarlierMessage;
use steward_runtime::converse::{Carried, ChatService, ClientTurn, OptionChoice, ProgressEvent, Turn};
use steward_runtime::run::{ClientRequest, ClientRun, RunStatus};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span, info_span};
use uuid::Uuid;

/// How long events of finished turns are kept in memory, and their total size. Later they are read
/// from the store.
const ROOM: RetentionLimits = RetentionLimits { kept: Duration::from_secs(900), bytes: 8 * 1024 * 1024 };
/// The overhead in bytes of one turn, and of one event.
const EACH: usize = 2048;
const EVENT_OVERHEAD: usize = 128;
/// The maximum length of a message, in bytes. The chat service has the same limit.
const LONGEST: usize = 100_000;
/// The minimum size in bytes of one text event.
const PIECE: usize = 24;

/// A message of the user.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TurnRequest {
    /// The text.
    #[schemars(length(min = 1, max = 100_000))]
    pub(super) message: String,
    /// The conversation. A new one is created if absent.
    #[serde(default)]
    pub(super) conversation_id: Option<ConversationId>,
    /// Data to ask about: `upload:ID` of an uploaded file. The owner of the machine may also name
    /// files.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub(super) data: Vec<String>,
    /// The chosen option of the open question. The message is then its displayed text.
    #[serde(default)]
    pub(super) choice: Option<Choice>,
}

/// An option of a question, by its index.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    /// The task of the reply that asked. If that question is no longer the latest, the choice fails
    /// with RUN030.
    #[serde(default)]
    task_id: Option<TaskId>,
    /// The index of the option in the reply, from 0.
    option: usize,
}

/// An accepted turn.
#[derive(Debug, Serialize, JsonSchema)]
struct Taken {
    turn_id: Uuid,
    /// The address of the event stream.
    events: String,
}

/// The status of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TurnStatus {
    Running,
    Done,
    Failed,
    Cancelled,
}

/// A turn with its events.
pub(super) struct Live {
    id: Uuid,
    user: UserId,
    frames: Mutex<Vec<Frame>>,
    told: watch::Sender<usize>,
    ended: Mutex<Option<TurnStatus>>,
    /// The task, once it exists.
    task: Mutex<Option<TaskId>>,
    pub(super) stop: CancellationToken,
}

/// The work of a turn.
pub(super) enum TurnWork {
    /// A user message.
    Said(Turn),
    /// A user message that does not use some of the context of earlier turns.
    Without(Turn, BTreeSet<Carried>),
    /// A user message of a client that sends a prompt, tools or a schema.
    ForClient(Turn, Box<ClientTurn>),
    /// A run of an agent or a workflow.
    Run(Box<AgentRun>),
}

/// A run of an agent or a workflow for a client.
pub(super) struct AgentRun {
    pub(super) user: UserId,
    pub(super) name: String,
    pub(super) input: Value,
    pub(super) earlier: Vec<EarlierMessage>,
    pub(super) request: ClientRequest,
}

impl Live {
    /// Waits for the task of the turn. `None` if the turn ended without one.
    pub(super) async fn task(&self) -> Option<TaskId> {
        let mut told = self.told.subscribe();
        loop {
            told.borrow_and_update();
            let task = *self.task.lock().unwrap_or_else(PoisonError::into_inner);
            if task.is_some() || self.is_over() || told.changed().await.is_err() {
                return task;
            }
        }
    }

    fn began(&self, task: TaskId) {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(task);
        self.told.send_modify(|_| {});
    }

    fn tell(&self, name: &'static str, data: &Value) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let id = frames.len() as u64 + 1;
        frames.push(Frame::new(id, name, data));
        self.told.send_replace(frames.len());
    }

    fn end(&self, standing: TurnStatus) {
        let outcome = match standing {
            TurnStatus::Done => "completed",
            TurnStatus::Cancelled => "cancelled",
            TurnStatus::Failed | TurnStatus::Running => "failed",
        };
        Span::current().record("steward.outcome", outcome);
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(standing);
        self.tell("done", &json!({}));
    }

    /// The final status, with the reply or the problem.
    fn outcome(&self) -> Option<(TurnStatus, Value)> {
        let standing = (*self.ended.lock().unwrap_or_else(PoisonError::into_inner))?;
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let last = frames.iter().rfind(|frame| matches!(frame.name, Some("reply" | "problem")))?;
        Some((standing, serde_json::from_str(&last.data).unwrap_or_default()))
    }

    fn bytes(&self) -> usize {
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        EACH + frames.iter().map(|frame| frame.data.len() + EVENT_OVERHEAD).sum::<usize>()
    }

    /// The number of events so far.
    pub(super) fn event_count(&self) -> u64 {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    fn after(&self, heard: usize) -> Vec<Frame> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).iter().skip(heard).cloned().collect()
    }

    fn is_over(&self) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// The turns in memory.
#[derive(Default)]
struct TurnTable {
    live: HashMap<Uuid, Arc<Live>>,
    ended: Ages<Uuid>,
}

/// All turns of this process.
pub(super) struct Turns {
    at_once: usize,
    running: AtomicUsize,
    known: Mutex<TurnTable>,
}

/// A slot of the concurrency limit, released when dropped.
struct TurnPermit(Shared);

impl Drop for TurnPermit {
    fn drop(&mut self) {
        self.0.turns.running.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Turns {
    pub(super) fn new(at_once: usize) -> Self {
        Self { at_once, running: AtomicUsize::new(0), known: Mutex::default() }
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Acquire)
    }

    pub(super) fn stop_all(&self) {
        self.known().live.values().for_each(|live| live.stop.cancel());
    }

    fn known(&self) -> MutexGuard<'_, TurnTable> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, id: Uuid, user: &UserId) -> Result<Arc<Live>, Problem> {
        let live = self.known().live.get(&id).cloned();
        live.filter(|live| live.user == *user).ok_or_else(|| Problem::missing("turn", id))
    }

    fn ended(&self, live: &Live, now: Duration) {
        let size = live.bytes();
        let mut known = self.known();
        known.ended.add(live.id, now, size);
        while let Some(old) = known.ended.next_out(now, ROOM) {
            known.live.remove(&old);
        }
    }
}

pub(super) fn routes(api: &mut Api) {
    api.post("/api/v1/turns", "Say something; it is worked on beside this request")
        .query(
            "without",
            json!({ "type": "string", "pattern": "^(data|question)?(,(data|question))?$" }),
            "What earlier turns left behind and does not count for this one: `data`, `question`, or both.",
        )
        .takes::<TurnRequest>()
        .gives::<Taken>(202, "It was taken; listen to its events.")
        .to(post(take));
    api.get("/api/v1/turns/{id}", "How something that was said stands")
        .gives_object(200, "`status`, and `reply` or `problem` once it ended.")
        .to(get(standing));
    api.delete("/api/v1/turns/{id}", "Call it off")
        .gives_nothing("It ends as soon as it can.")
        .to(delete(call_off));
    api.get("/api/v1/turns/{id}/events", "Hear it as it goes; Last-Event-ID goes on where somebody was")
        .gives_kind(
            200,
            "waiting, understood, began, ended, text, text_reset, reply, problem, done.",
            "text/event-stream",
        )
        .to(get(events));
    api.post(
        "/api/v1/ask",
        "Say something and wait for the answer; as events with `Accept: text/event-stream`",
    )
    .takes::<TurnRequest>()
    .gives_object(200, "The reply.")
    .or_events()
    .to(post(ask));
}

impl AppState {
    /// Validates a request and builds the turn.
    pub(super) fn turn(&self, identity: &Identity, say: &TurnRequest) -> Result<Turn, Problem> {
        if say.message.trim().is_empty() {
            return Err(steward_runtime::Error::NothingSaid.into());
        }
        if say.message.len() > LONGEST {
            let (bytes, most) = (say.message.len(), LONGEST);
            return Err(steward_runtime::Error::TooLong { bytes, most }.into());
        }
        if say.data.len() > 20 {
            return Err(Problem::input("data: at most 20 sources at once"));
        }
        let data = say.data.iter().map(|named| self.source(identity, named)).collect::<Result<_, _>>()?;
        Ok(Turn {
            said: say.message.clone(),
            conversation: say.conversation_id,
            caller: self.caller(identity),
            data,
            choice: say.choice.map(|Choice { task_id, option }| OptionChoice { question: task_id, option }),
        })
    }

    /// Checks the concurrency limit.
    pub(super) fn has_room(&self) -> Result<(), Problem> {
        match self.turns.running() {
            _ if self.is_stopping() => Err(Problem::stopping()),
            running if running >= self.turns.at_once => Err(crowded(running)),
            _ => Ok(()),
        }
    }

    /// Starts a turn, unless the concurrency limit is reached.
    pub(super) fn begin(self: &Arc<Self>, identity: &Identity, turn: Turn) -> Result<Arc<Live>, Problem> {
        self.begin_work(identity, TurnWork::Said(turn))
    }

    /// Starts any kind of work.
    pub(super) fn begin_work(
        self: &Arc<Self>,
        identity: &Identity,
        todo: TurnWork,
    ) -> Result<Arc<Live>, Problem> {
        if self.is_stopping() {
            return Err(Problem::stopping());
        }
        let running = self.turns.running.fetch_add(1, Ordering::AcqRel);
        let place = TurnPermit(self.clone());
        if running >= self.turns.at_once {
            return Err(crowded(running));
        }
        let live = Arc::new(Live {
            id: self.new_id()?,
            user: identity.user.clone(),
            frames: Mutex::default(),
            told: watch::Sender::new(0),
            ended: Mutex::default(),
            task: Mutex::default(),
            stop: CancellationToken::new(),
        });
        self.turns.known().live.insert(live.id, live.clone());
        let (site, one) = (self.clone(), live.clone());
        let trace = TRACE.try_with(Clone::clone).ok().flatten();
        let span = info_span!(
            "handle_turn",
            otel.kind = "server",
            otel.parent = trace.as_deref(),
            steward.task.kind = "turn",
            steward.task.id = Empty,
            steward.outcome = Empty,
        );
        let work = async move {
            if AssertUnwindSafe(site.work_on(todo, &one)).catch_unwind().await.is_err() {
                // Subscribers get an error event, so that they do not wait forever.
                let problem = json!(Problem::bug().told());
                one.tell("problem", &problem);
                one.end(TurnStatus::Failed);
            }
            site.turns.ended(&one, site.clock().monotonic());
            drop(place);
        };
        self.work.spawn(work.instrument(span));
        Ok(live)
    }

    /// Processes a message. Returns the reply and its answer text.
    async fn say(
        &self,
        chat: &ChatService,
        turn: &Turn,
        progress: &(dyn Fn(ProgressEvent) + Send + Sync),
        live: &Live,
    ) -> steward_runtime::Result<(Value, Option<String>)> {
        let reply = chat.answer_until(turn, progress, &live.stop).await?;
        let answer = reply.response.answer.clone();
        Ok((reply.json(), Some(answer)))
    }

    async fn work_on(&self, work: TurnWork, live: &Live) {
        // The text that a model has streamed so far.
        let written = Mutex::new(String::new());
        let heard = |heard: ProgressEvent| match heard {
            ProgressEvent::Text { delta } => {
                live.tell("text", &json!({ "delta": delta }));
                written.lock().unwrap_or_else(PoisonError::into_inner).push_str(&delta);
            }
            ProgressEvent::TextReset => {
                live.tell("text_reset", &json!({}));
                written.lock().unwrap_or_else(PoisonError::into_inner).clear();
            }
            ProgressEvent::Waiting { servers } => live.tell("waiting", &json!({ "servers": servers })),
            ProgressEvent::Understood { steps } => live.tell("understood", &json!({ "steps": steps })),
            ProgressEvent::Began { step, what } => {
                live.tell("began", &json!({ "step": step, "what": what, "at": self.now() }));
            }
            ProgressEvent::Ended { step, well, took } => live.tell(
                "ended",
                &json!({ "step": step, "well": well, "milliseconds": took.as_millis() as u64 }),
            ),
            ProgressEvent::Started(task) => {
                Span::current().record("steward.task.id", display(task));
                live.began(task);
            }
            ProgressEvent::Working { .. }
            | ProgressEvent::Token { .. }
            | ProgressEvent::Doing(_)
            | ProgressEvent::Happened(_) => {}
        };
        let said = match work {
            TurnWork::Said(turn) => self.say(&self.chat, &turn, &heard, live).await,
            TurnWork::Without(turn, without) => {
                self.say(&self.chat.without(without), &turn, &heard, live).await
            }
            TurnWork::ForClient(turn, client) => {
                let said = self.chat.answer_for_client(&turn, *client, &heard, &live.stop).await;
                said.map(|reply| {
                    let whole = reply.client_calls.is_empty() && !reply.cut_off;
                    let answer = whole.then(|| reply.response.answer.clone());
                    (reply.json(), answer)
                })
            }
            TurnWork::Run(run) => self.run_for_client(*run, &heard, &live.stop).await,
        };
        match said {
            Ok((reply, answer)) => {
                let written = written.into_inner().unwrap_or_else(PoisonError::into_inner);
                // The streamed text is final only if the check did not change it.
                if let Some(answer) = answer.filter(|answer| written.trim() != answer.trim()) {
                    if !written.is_empty() {
                        live.tell("text_reset", &json!({ "checked": true }));
                    }
                    pieces(&answer).for_each(|piece| live.tell("text", &json!({ "delta": piece })));
                }
                live.tell("reply", &reply);
                live.end(TurnStatus::Done);
            }
            Err(error) => {
                let called_off = matches!(error, steward_runtime::Error::CalledOff);
                let problem = json!(Problem::from(error).told());
                live.tell("problem", &problem);
                live.end(if called_off { TurnStatus::Cancelled } else { TurnStatus::Failed });
            }
        }
    }

    /// Runs an agent or a workflow. Returns the reply and its text.
    async fn run_for_client(
        &self,
        run: AgentRun,
        heard: &(dyn Fn(ProgressEvent) + Sync),
        stop: &CancellationToken,
    ) -> steward_runtime::Result<(Value, Option<String>)> {
        let AgentRun { user, name, input, earlier, request } = run;
        let done = self.runner.run_for_client(&user, &name, input, earlier, request, heard, stop).await?;
        let ClientRun { ran, reply, tokens } = done;
        let (outcome, answer) = match ran.standing {
            RunStatus::Completed(_) => ("answered", reply.text),
            RunStatus::Failed(why) => ("failed", why),
            RunStatus::Rejected(why) => ("declined", format!("It was not done: {why}.")),
            RunStatus::Cancelled(by) => ("declined", format!("It was called off by {by}.")),
            RunStatus::Waiting => ("confirm", format!("It waits for a person to decide: task {}.", ran.task)),
            RunStatus::HandedOver => ("failed", "this process ends; ask again in a moment".to_owned()),
        };
        let whole = reply.client_calls.is_empty() && !reply.cut_off && outcome != "failed";
        let document = json!({
            "task_id": ran.task, "outcome": outcome, "answer": answer, "client_calls": reply.client_calls,
            "client_text": answer, "cut_off": reply.cut_off,
            "model": { "run": ran.task, "input_tokens": tokens.input, "output_tokens": tokens.output },
        });
        Ok((document, whole.then_some(answer)))
    }

    /// Waits for the end of a turn. Dropping the future does not cancel the turn.
    pub(super) async fn ended(&self, live: &Live) -> Result<Value, Problem> {
        let mut told = live.told.subscribe();
        loop {
            match live.outcome() {
                Some((TurnStatus::Done, reply)) => return Ok(reply),
                Some((_, problem)) => return Err(again(&problem)),
                None => {}
            }
            if told.changed().await.is_err() {
                return Err(Problem::stopping());
            }
        }
    }

    /// Runs a turn and waits for its reply, for protocols without events.
    pub(super) async fn answered(
        self: &Arc<Self>,
        identity: &Identity,
        say: &TurnRequest,
    ) -> Result<Value, Problem> {
        let live = self.begin(identity, self.turn(identity, say)?)?;
        self.ended(&live).await
    }
}

fn crowded(running: usize) -> Problem {
    Problem::busy(format!("{running} questions are being worked on. Ask again in a moment"), 2)
}

/// Rebuilds a problem from its serialized form.
pub(super) fn again(told: &Value) -> Problem {
    let text = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default();
    let status = told.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    let status = status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::CONFLICT);
    Problem::new(status, text("code").to_owned(), text("detail"))
}

/// Splits an answer into pieces of a few words. No character is lost.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .char_indices()
            .find(|(at, letter)| *at >= PIECE && letter.is_whitespace())
            .map_or(rest.len(), |(at, letter)| at + letter.len_utf8());
        let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = after;
        Some(piece)
    })
}

/// The context of earlier turns that is left out.
#[derive(Deserialize)]
struct CarriedQuery {
    #[serde(default)]
    without: String,
}

fn left_out(names: &str) -> Result<BTreeSet<Carried>, Problem> {
    let names = names.split(',').filter(|name| !name.is_empty());
    names
        .map(|name| match name {
            "data" => Ok(Carried::Data),
            "question" => Ok(Carried::Question),
            other => Err(Problem::input(format!("without: {other:?} is not `data` or `question`"))),
        })
        .collect()
}

async fn take(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(CarriedQuery { without }): Queried<CarriedQuery>,
    Input(say): Input<TurnRequest>,
) -> Result<(StatusCode, Json<Taken>), Problem> {
    let live =
        site.begin_work(&identity, TurnWork::Without(site.turn(&identity, &say)?, left_out(&without)?))?;
    let (turn_id, events) = (live.id, format!("/api/v1/turns/{}/events", live.id));
    Ok((StatusCode::ACCEPTED, Json(Taken { turn_id, events })))
}

async fn standing(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<Uuid>,
) -> Result<Json<Value>, Problem> {
    let live = site.turns.of(id, &identity.user)?;
    Ok(Json(match live.outcome() {
        None => json!({ "turn_id": id, "status": TurnStatus::Running }),
        Some((TurnStatus::Done, reply)) => {
            json!({ "turn_id": id, "status": TurnStatus::Done, "reply": reply })
        }
        Some((standing, problem)) => json!({ "turn_id": id, "status": standing, "problem": problem }),
    }))
}

async fn call_off(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<Uuid>,
) -> Result<StatusCode, Problem> {
    site.turns.of(id, &identity.user)?.stop.cancel();
    Ok(StatusCode::NO_CONTENT)
}

async fn events(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<Uuid>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let live = site.turns.of(id, &identity.user)?;
    Ok(stream::respond(&site, Listener::new(live, stream::last_event(&headers))))
}

/// Responds with one document, or with events if the client accepts them.
async fn ask(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    headers: HeaderMap,
    Input(say): Input<TurnRequest>,
) -> Result<Response, Problem> {
    let live = site.begin(&identity, site.turn(&identity, &say)?)?;
    let streams = headers
        .get(ACCEPT)
        .and_then(|kinds| kinds.to_str().ok())
        .is_some_and(|kinds| kinds.contains("text/event-stream"));
    if streams {
        return Ok(stream::respond(&site, Listener::new(live, 0)));
    }
    site.ended(&live).await.map(|reply| Json(reply).into_response())
}

/// Reads the events of a turn, starting after a given one.
pub(super) struct Listener {
    live: Arc<Live>,
    told: watch::Receiver<usize>,
    heard: usize,
}

impl Listener {
    pub(super) fn new(live: Arc<Live>, after: u64) -> Self {
        let told = live.told.subscribe();
        Self { live, told, heard: usize::try_from(after).unwrap_or(usize::MAX) }
    }
}

impl Source for Listener {
    fn next(&mut self) -> Next<'_> {
        Box::pin(async move {
            loop {
                self.told.borrow_and_update();
                let frames = self.live.after(self.heard);
                if !frames.is_empty() {
                    self.heard += frames.len();
                    return Some(frames);
                }
                if self.live.is_over() || self.told.changed().await.is_err() {
                    return None;
                }
            }
        })
    }
}

/// The text of a reply, for text-only protocols. Options are numbered, and a number as the next
/// message chooses one.
pub(super) fn words(reply: &Value) -> String {
    let decisions = reply.get("decisions").and_then(Value::as_array).into_iter().flatten();
    let lines = decisions.filter_map(Value::as_str).chain(reply.get("answer").and_then(Value::as_str));
    format!("{}{}", lines.collect::<Vec<_>>().join("\n"), numbered_options(reply))
}

/// The options of a question, one per line.
pub(super) fn numbered_options(reply: &Value) -> String {
    let options = reply.pointer("/question/options").and_then(Value::as_array);
    let label = |option: &Value| option.get("label").and_then(Value::as_str).unwrap_or_default().to_owned();
    let line = |(place, option)| format!("\n{}. {}", place + 1, label(option));
    options.into_iter().flatten().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn joined_pieces_equal_the_answer() {
        for text in
            ["", "one", "a  b\n\nc", "ünïcödé wörds that are lönger than a pïece, and möre of them\nthere"]
        {
            assert_eq!(pieces(text).collect::<String>(), text);
        }
        assert!(pieces(&"word ".repeat(20)).count() > 3);
    }
}
