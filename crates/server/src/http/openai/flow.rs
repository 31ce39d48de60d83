//! Processes one request: chooses the kind of work, streams the text, and builds the outcome.
//!
//! Invariants
//! - Streamed text is never withdrawn. Text that is not the answer is followed by the answer, and
//!   unsupported figures are named at the end.
//! - A structured answer is sent only when it matches its schema.

use super::request::{Split, Wanted};
use super::{MODEL, structured, tokens};
use crate::http::problem::Problem;
use crate::http::runs::runs;
use crate::http::stream::{Frame, Source as _};
use crate::http::turns::{AgentRun, Listener, Live, TurnRequest, TurnWork, again, pieces, words};
use crate::http::{AppState, Shared};
use crate::identity::Identity;
use axum::http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use steward_domain::{ConversationId, Role};
use steward_engine::{AskedCall, EarlierMessage};
use steward_models::ToolChoice;
use steward_runtime::converse::ClientTurn;
use steward_runtime::run::ClientRequest;
use steward_tools::call::misfits;

/// A call of a client tool.
#[derive(Debug, Clone)]
pub(super) struct OutgoingCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// The outcome of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) calls: Vec<OutgoingCall>,
    pub(super) cut_off: bool,
    /// Input and output tokens.
    pub(super) used: (u64, u64),
    /// The complete reply.
    pub(super) reply: Value,
}

/// A request in progress.
pub(super) struct Flow {
    site: Shared,
    identity: Identity,
    wanted: Wanted,
    /// The messages so far, used to find the conversation of the next request.
    spoken: Vec<(&'static str, String)>,
    /// Whether a model works on it with the client's prompt, tools or schema.
    for_client: bool,
    /// Whether text is held back until it is complete.
    holds: bool,
    state: FlowState,
    sent: String,
    /// Whether the checked answer replaces the streamed text.
    checked: bool,
}

enum FlowState {
    Known(Option<Outcome>),
    Live(Arc<Live>, Listener),
    Over,
}

/// A part of an answer.
pub(super) enum Told {
    Text(String),
    End(Box<Outcome>),
    Failed(Problem),
}

/// The key of a history: a hash of its owner and its messages.
pub(super) fn history_key<'a>(
    identity: &Identity,
    said: impl Iterator<Item = (&'a str, &'a str)>,
) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(identity.user.as_str());
    for (role, text) in said.filter(|(_, text)| !text.trim().is_empty()) {
        hash.update([0]);
        hash.update(role);
        hash.update([1]);
        hash.update(text.trim());
    }
    hash.finalize().into()
}

fn spoken_of(messages: &[EarlierMessage]) -> Vec<(&'static str, String)> {
    let role = |message: &EarlierMessage| match message.role {
        Role::User => Some("user"),
        Role::Agent => Some("assistant"),
        _ => None,
    };
    messages.iter().filter_map(|message| Some((role(message)?, message.text.clone()))).collect()
}

impl Flow {
    /// Starts work on a request. Invalid requests fail at once with a status.
    pub(super) async fn begin(
        site: &Shared,
        identity: &Identity,
        wanted: Wanted,
        conversation: Option<ConversationId>,
    ) -> Result<Self, Problem> {
        site.has_room()?;
        let split = wanted.split()?;
        let spoken = spoken_of(&split.before);
        let mut flow = Self {
            site: site.clone(),
            identity: identity.clone(),
            for_client: false,
            holds: wanted.request.schema.is_some() || !wanted.stop.is_empty(),
            wanted,
            spoken,
            state: FlowState::Over,
            sent: String::new(),
            checked: false,
        };
        if flow.wanted.model == MODEL {
            flow.begin_turn(split, conversation).await?;
        } else {
            flow.begin_run(split).await?;
        }
        Ok(flow)
    }

    async fn begin_turn(
        &mut self,
        split: Split,
        conversation: Option<ConversationId>,
    ) -> Result<(), Problem> {
        let Split { said, before, after } = split;
        let spoken = self.spoken.iter().map(|(role, text)| (*role, text.as_str()));
        let known = self.site.histories.get(&history_key(&self.identity, spoken));
        let known = known.filter(|_| !before.is_empty());
        let talk = conversation.or(known);
        let with_model = self.site.chat.has_model();
        let unknown_history = talk.is_none() && !before.is_empty();
        let say =
            TurnRequest { message: said.clone(), conversation_id: talk, data: Vec::new(), choice: None };
        if with_model && (!self.wanted.request.is_empty() || unknown_history || !after.is_empty()) {
            self.for_client = true;
            let history: Vec<EarlierMessage> = before.into_iter().chain(after).collect();
            // Without a history from the client, the stored conversation provides it.
            let stands_alone = history.is_empty() && talk.is_some();
            let client = ClientTurn {
                request: self.wanted.request.clone(),
                history: (!stands_alone).then_some(history),
            };
            let turn = self.site.turn(&self.identity, &say)?;
            return self.start(TurnWork::ForClient(turn, Box::new(client)));
        }
        self.holds |= self.wanted.request.max_tokens.is_some();
        if let Some(known) = self.without_model(&said, &after).await? {
            self.state = FlowState::Known(Some(known));
            return Ok(());
        }
        let turn = self.site.turn(&self.identity, &say)?;
        self.start(TurnWork::Said(turn))
    }

    /// Answers without a model: from the result of a client tool, or with a call of one.
    async fn without_model(&self, said: &str, after: &[EarlierMessage]) -> Result<Option<Outcome>, Problem> {
        // The result of a client tool is untrusted data. It is reported and never interpreted.
        if let Some(given) = after.last().filter(|last| last.role == Role::Tool) {
            let value: Option<Value> = serde_json::from_str(&given.text).ok();
            let told = steward_language::answer::tell(None, value.as_ref(), &given.text);
            let mut text = told.text;
            if let Some(schema) = &self.wanted.request.schema {
                let rows = value.map(|row| match row {
                    Value::Array(rows) => rows,
                    one => vec![one],
                });
                let table = json!({ "columns": [], "rows": rows.unwrap_or_default() });
                text = structured::answer(&json!({ "answer": text, "tables": [table] }), schema)?;
            }
            return Ok(Some(self.counted(Outcome { text, ..Outcome::default() })));
        }
        let ClientRequest { tools, tool_choice, .. } = &self.wanted.request;
        if tools.is_empty() || *tool_choice == ToolChoice::None {
            return Ok(None);
        }
        let named: Vec<_> = match tool_choice {
            ToolChoice::Tool(name) => {
                self.wanted.tools.iter().filter(|tool| tool.name() == Some(name)).cloned().collect()
            }
            _ => self.wanted.tools.clone(),
        };
        match self.site.own_tool(&named, said).await {
            Some((name, arguments)) => {
                let id = format!("call_{}", self.site.new_id()?.simple());
                let calls = vec![OutgoingCall { id, name, arguments }];
                Ok(Some(self.counted(Outcome { calls, ..Outcome::default() })))
            }
            None if *tool_choice == ToolChoice::Auto => Ok(None),
            None => {
                let detail = "tool_choice: without a model no call can be read from these words. Name the values in \
                              the message, or set up a model";
                Err(Problem::new(StatusCode::BAD_REQUEST, "WEB010", detail))
            }
        }
    }

    async fn begin_run(&mut self, split: Split) -> Result<(), Problem> {
        let missing = || {
            let detail =
                format!("there is no model {:?}. GET /v1/models lists what there is", self.wanted.model);
            Problem::new(StatusCode::NOT_FOUND, "RUN006", detail)
        };
        let name = self.wanted.model.strip_prefix("steward/").ok_or_else(missing)?.to_owned();
        let (workflows, agents) = self.site.runner.defined();
        if !runs(&self.identity, &name) || !workflows.iter().chain(&agents).any(|known| *known == name) {
            return Err(missing());
        }
        let Split { said, before, after } = split;
        let mut earlier: Vec<EarlierMessage> = before.into_iter().chain(after).collect();
        let mut request = self.wanted.request.clone();
        let mut input = Value::String(said.clone());
        self.for_client = true;
        if !self.site.runner.is_agent(&name).await? {
            self.fits_workflow(&name)?;
            if let Some(instructions) = request.instructions.take() {
                earlier.insert(0, EarlierMessage::new(Role::System, instructions));
            }
            // A message that is a JSON object provides the inputs of a workflow.
            if let Ok(fields @ Value::Object(_)) = serde_json::from_str(&said) {
                input = fields;
            }
            request = ClientRequest::default();
            self.holds |= self.wanted.request.max_tokens.is_some();
        }
        let user = self.identity.user.clone();
        self.start(TurnWork::Run(Box::new(AgentRun { user, name, input, earlier, request })))
    }

    /// Checks the request against a workflow, which has its own tools and model settings.
    fn fits_workflow(&self, name: &str) -> Result<(), Problem> {
        let ClientRequest { tools, temperature, top_p, seed, .. } = &self.wanted.request;
        let param = [
            ("tools", !tools.is_empty()),
            ("temperature", temperature.is_some()),
            ("top_p", top_p.is_some()),
            ("seed", seed.is_some()),
        ];
        match param.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((param, _)) => {
                let detail = format!("{param}: {name} is a workflow, and its file says that. Leave it out");
                Err(Problem::new(StatusCode::BAD_REQUEST, "WEB010", detail))
            }
        }
    }

    fn start(&mut self, work: TurnWork) -> Result<(), Problem> {
        let live = self.site.begin_work(&self.identity, work)?;
        self.state = FlowState::Live(live.clone(), Listener::new(live, 0));
        Ok(())
    }

    /// The task, once it exists.
    pub(super) async fn task(&self) -> Option<steward_domain::TaskId> {
        match &self.state {
            FlowState::Live(live, _) => live.task().await,
            _ => None,
        }
    }

    /// The history including the answer, if the answer is available at once.
    pub(super) fn known_messages(&self) -> Option<Vec<EarlierMessage>> {
        let FlowState::Known(Some(outcome)) = &self.state else { return None };
        let calls = outcome.calls.iter().map(|call| AskedCall {
            id: call.id.clone(),
            tool: call.name.clone(),
            arguments: serde_json::from_str(&call.arguments).unwrap_or_default(),
        });
        let answer = EarlierMessage {
            calls: calls.collect(),
            ..EarlierMessage::new(Role::Agent, outcome.text.clone())
        };
        Some(self.wanted.messages.iter().cloned().chain([answer]).collect())
    }

    pub(super) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Waits for the outcome.
    pub(super) async fn finish(mut self) -> Result<(Outcome, Wanted), Problem> {
        self.holds = true;
        loop {
            let told = self.next().await.ok_or_else(Problem::stopping)?;
            for one in told {
                match one {
                    Told::End(outcome) => return Ok((*outcome, self.wanted)),
                    Told::Failed(problem) => return Err(problem),
                    Told::Text(_) => {}
                }
            }
        }
    }

    /// Waits for the next parts. `None` after the end.
    pub(super) async fn next(&mut self) -> Option<Vec<Told>> {
        loop {
            let frames = match &mut self.state {
                FlowState::Over => return None,
                FlowState::Known(outcome) => {
                    let outcome = outcome.take();
                    self.state = FlowState::Over;
                    return outcome.map(|outcome| self.ended(outcome));
                }
                FlowState::Live(_, listener) => listener.next().await,
            };
            let Some(frames) = frames else {
                self.state = FlowState::Over;
                return None;
            };
            let told: Vec<Told> = frames.iter().flat_map(|frame| self.take(frame)).collect();
            if !told.is_empty() {
                return Some(told);
            }
        }
    }

    fn take(&mut self, frame: &Frame) -> Vec<Told> {
        let data: Value = serde_json::from_str(&frame.data).unwrap_or_default();
        match frame.name.unwrap_or_default() {
            "text" if !self.checked && !self.holds => {
                self.send(data.get("delta").and_then(Value::as_str).unwrap_or_default())
            }
            "text_reset" if data.get("checked") == Some(&json!(true)) => {
                self.checked = !self.holds;
                Vec::new()
            }
            "text_reset" if !self.sent.is_empty() => self.send("\n\n"),
            "reply" => {
                self.state = FlowState::Over;
                match self.outcome(data) {
                    Ok(outcome) => self.ended(outcome),
                    Err(problem) => vec![Told::Failed(problem)],
                }
            }
            "problem" => {
                self.state = FlowState::Over;
                vec![Told::Failed(again(&data))]
            }
            _ => Vec::new(),
        }
    }

    fn send(&mut self, text: &str) -> Vec<Told> {
        self.sent.push_str(text);
        vec![Told::Text(text.to_owned())]
    }

    /// The final parts: text that was not sent yet, then the outcome.
    fn ended(&mut self, mut outcome: Outcome) -> Vec<Told> {
        let mut told = Vec::new();
        if self.checked {
            let unverified = outcome.reply.pointer("/model/unverified").and_then(Value::as_array);
            let named: Vec<&str> = unverified.into_iter().flatten().filter_map(Value::as_str).collect();
            let note = match named.is_empty() {
                true => format!("\n\n{}", outcome.text),
                false => format!("\n\n[unverified: {}]", named.join(", ")),
            };
            told.extend(self.send(&note));
        } else if let Some(rest) = outcome.text.strip_prefix(self.sent.as_str()).map(str::to_owned) {
            for piece in pieces(&rest) {
                told.extend(self.send(piece));
            }
        }
        if !self.sent.is_empty() {
            outcome.text.clone_from(&self.sent);
        }
        self.remember(&outcome);
        told.push(Told::End(Box::new(outcome)));
        told
    }

    /// Stores the conversation under the history that the client sends next.
    fn remember(&self, outcome: &Outcome) {
        let id = outcome.reply.get("conversation_id");
        let Some(id) = id.and_then(|id| serde_json::from_value(id.clone()).ok()) else { return };
        let Ok(split) = self.wanted.split() else { return };
        let before = self.spoken.iter().map(|(role, text)| (*role, text.as_str()));
        let now = [("user", split.said.as_str()), ("assistant", outcome.text.as_str())];
        self.site.histories.keep(history_key(&self.identity, before.chain(now)), id);
    }

    /// Converts a reply to the outcome of the request.
    fn outcome(&self, reply: Value) -> Result<Outcome, Problem> {
        let text = |name: &str| reply.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        if self.for_client && text("outcome") == "failed" {
            return Err(Problem::new(StatusCode::FAILED_DEPENDENCY, "ENG007", text("answer")));
        }
        let calls: Vec<OutgoingCall> = reply
            .get("client_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|call| {
                let of = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                OutgoingCall { id: of("id"), name: of("name"), arguments: of("arguments") }
            })
            .collect();
        let mut cut_off = reply.get("cut_off") == Some(&json!(true));
        let mut words = match () {
            () if !calls.is_empty() || cut_off => text("client_text"),
            () if self.for_client && self.wanted.request.schema.is_some() => text("answer"),
            () => words(&reply),
        };
        if let Some(schema) = self.wanted.request.schema.as_ref().filter(|_| calls.is_empty()) {
            words = match self.for_client {
                true => in_form(&words, &schema.schema)?,
                false => structured::answer(&reply, schema)?,
            };
        }
        let cut = self.wanted.stop.iter().filter_map(|stop| words.find(stop.as_str())).min();
        if let Some(at) = cut {
            words.truncate(at);
        }
        let most = self.wanted.request.max_tokens.filter(|_| self.wanted.request.schema.is_none());
        if let Some(cut) = most.and_then(|most| tokens::cut(&words, most)).filter(|_| calls.is_empty()) {
            let counted_by_model = reply.pointer("/model/output_tokens").and_then(Value::as_u64) > Some(0);
            if !(self.for_client && counted_by_model) {
                (words, cut_off) = (cut, true);
            }
        }
        Ok(self.counted(Outcome { text: words, calls, cut_off, used: (0, 0), reply }))
    }

    /// Sets the token counts: those of the model, or counted with `cl100k_base`.
    fn counted(&self, outcome: Outcome) -> Outcome {
        let of = |name: &str| {
            outcome.reply.get("model").and_then(|model| model.get(name)).and_then(Value::as_u64).unwrap_or(0)
        };
        let mut used = (of("input_tokens"), of("output_tokens"));
        if used == (0, 0) {
            let read: u64 = self.wanted.messages.iter().map(|message| tokens::count(&message.text)).sum();
            let own = self.wanted.request.instructions.as_deref().map_or(0, tokens::count);
            let called: u64 = outcome.calls.iter().map(|call| tokens::count(&call.arguments)).sum();
            used = (read + own, tokens::count(&outcome.text) + called);
        }
        Outcome { used, ..outcome }
    }
}

/// Work for a front end with tools: a running turn, or a reply that is available at once.
pub(in crate::http) enum ClientStart {
    Live(Arc<Live>),
    /// The reply in the format of a turn's reply.
    Known(Value),
}

/// Starts work on messages and tools in the format of chat completions.
pub(in crate::http) async fn begin_for_client(
    site: &Shared,
    identity: &Identity,
    messages: &[Value],
    tools: &[Value],
    conversation: Option<ConversationId>,
) -> Result<ClientStart, Problem> {
    let wanted = Wanted::of_messages(messages, tools)?;
    let mut flow = Flow::begin(site, identity, wanted, conversation).await?;
    Ok(match &mut flow.state {
        FlowState::Live(live, _) => ClientStart::Live(live.clone()),
        FlowState::Known(outcome) => {
            let Outcome { text, calls, .. } = outcome.take().unwrap_or_default();
            let calls: Vec<Value> = calls
                .into_iter()
                .map(|call| json!({ "id": call.id, "name": call.name, "arguments": call.arguments }))
                .collect();
            ClientStart::Known(json!({ "outcome": "answered", "answer": text, "client_calls": calls }))
        }
        FlowState::Over => return Err(Problem::stopping()),
    })
}

/// Checks a text against the schema and returns it as plain JSON.
fn in_form(text: &str, schema: &Value) -> Result<String, Problem> {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let fits = value.as_ref().is_some_and(|value| misfits(schema, value).is_ok_and(|wrong| wrong.is_empty()));
    match value.filter(|_| fits) {
        Some(value) => Ok(value.to_string()),
        None => {
            let short: String = text.chars().take(300).collect();
            let detail = format!("there is no answer in the form that is wanted. It was: {short}");
            Err(Problem::new(StatusCode::CONFLICT, "MDL010", detail))
        }
    }
}

impl AppState {
    /// The error event of a stream.
    pub(super) fn stream_error(problem: &Problem) -> Value {
        super::error::error_of(&json!(problem.told()), problem.status()).0
    }
}
