//! Client requests of a model protocol: a run with the client's own prompt, tools and response
//! schema.
//!
//! Invariants
//! - A tool of the client is offered to the model and never called here. A model that requests one
//!   ends the run: the call is the result, and the client sends its result with the next request.
//! - An answer with a response schema is validated before it is returned. A model that violates it
//!   is asked to correct it, a bounded number of times.

use super::internal::RunContext;
use super::work::ask_once;
use super::{Child, ProgressEvent, Ran, RunStatus, Runner, Watch, history};
use crate::converse::RunProgress;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::sync::Arc;
use steward_domain::{Label, Role, TaskId, UserId};
use steward_engine::{AskedCall, EarlierMessage, EffectId, Event, Root};
use steward_models::{
    Answer, Arguments, Chat, Finish, Model, ModelError, OfferedTool, ReplySchema, ToolChoice, Turn, Usage,
};
use steward_store::{Scope, Store};
use steward_tools::call::misfits;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How often a model is asked to correct an answer that violates the schema.
const REPAIRS: usize = 2;

/// The options of a client request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientRequest {
    /// The client's own prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The client's own tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<OfferedTool>,
    /// Whether a tool must be called.
    pub tool_choice: ToolChoice,
    /// Whether at most one of them may be called at once.
    pub one_call: bool,
    /// The response schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<ReplySchema>,
    /// The maximum number of tokens of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The sampling temperature; see [`Chat`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// See [`Chat`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// See [`Chat`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
}

/// A call of one of the client's tools, returned to the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientCall {
    /// The id under which the client sends the result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as JSON text, as the model wrote them.
    pub arguments: String,
}

/// The result of an incomplete run: calls for the client, or a truncated text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientReply {
    /// The calls.
    pub client_calls: Vec<ClientCall>,
    /// The text.
    pub text: String,
    /// Whether the token limit was reached.
    pub cut_off: bool,
}

impl ClientReply {
    /// Parses the result of a run for a client.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let whole = || Self { text: text.to_owned(), ..Self::default() };
        if text.starts_with('{') { serde_json::from_str(text).unwrap_or_else(|_| whole()) } else { whole() }
    }
}

/// The tokens of the models of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTokens {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
}

impl ModelTokens {
    /// The sum over all replies.
    #[must_use]
    pub fn of(events: &[Event]) -> Self {
        let replies = events.iter().filter_map(|event| match event {
            Event::ModelReplied { reply, .. } => Some(reply.usage),
            _ => None,
        });
        replies.fold(Self::default(), |sum, used| Self {
            input: sum.input + used.input_tokens,
            output: sum.output + used.output_tokens,
        })
    }
}

impl ClientRequest {
    /// Whether no option is set; any option needs a model.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the options to a model request.
    pub(super) fn extend_chat(&self, chat: &mut Chat, with_tools: bool) {
        if let (Some(own), Some(Turn::System { text })) = (&self.instructions, chat.turns.first_mut()) {
            *text = format!("{text}\n\nInstructions of the client that you answer:\n{own}");
        }
        chat.max_tokens = self.max_tokens.or(chat.max_tokens);
        chat.temperature = self.temperature.or(chat.temperature);
        chat.top_p = self.top_p.or(chat.top_p);
        chat.seed = self.seed.or(chat.seed);
        if chat.schema.is_none() {
            chat.schema.clone_from(&self.schema);
        }
        if !with_tools || self.tools.is_empty() {
            return;
        }
        match &self.tool_choice {
            ToolChoice::None => {}
            ToolChoice::Auto => {
                chat.tools.retain(|own| !self.has_tool(&own.name));
                chat.tools.extend(self.tools.iter().cloned());
            }
            // The client requires a call of its own tools, so only those are offered.
            must => {
                chat.tools.clone_from(&self.tools);
                chat.tool_choice = must.clone();
            }
        }
    }

    fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// Calls a model until its answer matches the schema.
    pub(super) async fn ask(
        &self,
        model: &dyn Model,
        mut chat: Chat,
        id: EffectId,
        watch: Option<&Watch>,
    ) -> std::result::Result<Answer, ModelError> {
        let mut used = Usage::default();
        let mut cost = None;
        let mut repairs = 0;
        loop {
            let (said, problem) = match ask_once(model, &chat, id, watch).await {
                Ok(mut answer) => {
                    used = Usage {
                        input: used.input + answer.usage.input,
                        output: used.output + answer.usage.output,
                        cached: used.cached + answer.usage.cached,
                    };
                    cost = answer.cost_micros.map(|micros| micros + cost.unwrap_or_default()).or(cost);
                    match self.misfit(&answer) {
                        None => {
                            if let Some(json) = answer.json.as_ref().filter(|_| answer.calls.is_empty()) {
                                answer.text = json.to_string();
                            }
                            return Ok(Answer { usage: used, cost_micros: cost, ..answer });
                        }
                        Some(problem) => (answer.text, problem),
                    }
                }
                Err(ModelError::NotJson { detail }) => (String::new(), detail),
                Err(error) => return Err(error),
            };
            repairs += 1;
            if repairs > REPAIRS {
                return Err(ModelError::NotJson { detail: problem });
            }
            if !said.is_empty() {
                chat.turns.push(Turn::Assistant { text: said, calls: Vec::new() });
            }
            let told = format!(
                "Your last reply does not fit the form that is wanted: {problem}. Reply again, with the JSON only."
            );
            chat.turns.push(Turn::user(told));
        }
    }

    /// The schema violations of an answer.
    fn misfit(&self, answer: &Answer) -> Option<String> {
        let schema = self.schema.as_ref().filter(|_| answer.calls.is_empty())?;
        let value = answer.json.as_ref()?;
        match misfits(&schema.schema, value) {
            Ok(problems) if problems.is_empty() => None,
            Ok(problems) => Some(problems.join("; ")),
            // The schema was validated when the request arrived.
            Err(_) => None,
        }
    }

    /// Moves the client's calls of an answer into its text, which ends the run.
    pub(super) fn settle(&self, mut answer: Answer) -> Answer {
        let (theirs, own): (Vec<_>, Vec<_>) =
            answer.calls.into_iter().partition(|call| self.has_tool(&call.name));
        // Our own calls go first: after their results the model requests the client's calls again.
        answer.calls = own;
        let cut_off = answer.finish == Finish::Length && answer.calls.is_empty();
        if !answer.calls.is_empty() || (theirs.is_empty() && !cut_off) {
            return answer;
        }
        let most = if self.one_call { 1 } else { usize::MAX };
        let client_calls = theirs.into_iter().take(most).map(|call| ClientCall {
            id: call.id,
            name: call.name,
            arguments: match call.arguments {
                Arguments::Json(map) => Json::Object(map).to_string(),
                Arguments::Nonsense { raw, .. } => raw,
            },
        });
        let reply = ClientReply { client_calls: client_calls.collect(), text: answer.text, cut_off };
        answer.text = serde_json::to_string(&reply).unwrap_or_default();
        answer
    }
}

/// The conversation of a client after a run: the earlier messages, the message, and the answer or
/// the calls for the client.
pub async fn conversation_after(
    store: &dyn Store,
    scope: &Scope,
    task: TaskId,
) -> Result<Vec<EarlierMessage>> {
    let (program, events) = history(store, scope, task).await?;
    let Some(Event::Started { input, earlier, .. }) = events.first() else {
        return Err(Error::NotARun(task.to_string()));
    };
    let (follows, before): (Vec<_>, Vec<_>) = earlier.iter().cloned().partition(|message| message.follows);
    let mut messages = before;
    messages.push(EarlierMessage::new(Role::User, super::log::words(input)));
    messages.extend(follows.into_iter().map(|message| EarlierMessage { follows: false, ..message }));
    if let RunStatus::Completed(result) = RunStatus::of(&steward_engine::fold(&program, &events)) {
        let reply = ClientReply::read(&super::log::words(&result));
        let calls = reply.client_calls.into_iter().map(|call| AskedCall {
            arguments: serde_json::from_str(&call.arguments).unwrap_or(Json::String(call.arguments)),
            id: call.id,
            tool: call.name,
        });
        messages
            .push(EarlierMessage { calls: calls.collect(), ..EarlierMessage::new(Role::Agent, reply.text) });
    }
    Ok(messages)
}

/// The result of a run for a client.
#[derive(Debug)]
pub struct ClientRun {
    /// The run and its status.
    pub ran: Ran,
    /// Its answer, or the calls for the client.
    pub reply: ClientReply,
    /// The tokens of its models.
    pub tokens: ModelTokens,
}

impl Runner {
    /// Whether the name is that of an agent, not of a workflow.
    pub async fn is_agent(&self, name: &str) -> Result<bool> {
        Ok(matches!(self.program(name).await?.definition().root, Root::Agent(_)))
    }

    /// Runs an agent or a workflow for a client, with its earlier messages.
    #[allow(clippy::too_many_arguments, reason = "a request, and who hears of it")]
    pub async fn run_for_client(
        &self,
        user: &UserId,
        name: &str,
        input: Json,
        earlier: Vec<EarlierMessage>,
        request: ClientRequest,
        watch: &(dyn Fn(ProgressEvent) + Sync),
        stop: &CancellationToken,
    ) -> Result<ClientRun> {
        let program = self.program(name).await?;
        self.toolbox.callers().now(user)?;
        let speaker = match &program.definition().root {
            Root::Agent(agent) => Some(agent.name.to_string()),
            _ => None,
        };
        let task = TaskId(self.app().random.uuid_v7(self.now())?);
        let client = (!request.is_empty()).then(|| Box::new(request));
        let context = RunContext { client, ..RunContext::default() };
        let child = Child { earlier, context, ..Child::default() };
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let run_watch: Watch = Arc::new(move |event| {
            let _gone = sender.send(event);
        });
        let mut progress = RunProgress::new(watch, &*self.app().clock, None, speaker.as_deref());
        let ran = {
            let mut running = self.begin(user.clone(), task, program.into(), input, child, Some(run_watch));
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break None,
                    Some(event) = receiver.recv() => {
                        if let ProgressEvent::Started(task) = event {
                            watch(ProgressEvent::Started(task));
                        }
                        progress.take(event);
                    }
                    ran = &mut running => break Some(ran),
                }
            }
        };
        let scope = Scope::User(user.clone());
        let Some(ran) = ran else {
            let _ended_meanwhile = self.cancel(&scope, task, &Label::new(user.as_str())?).await;
            return Err(Error::CalledOff);
        };
        while let Ok(event) = receiver.try_recv() {
            progress.take(event);
        }
        let ran = ran?;
        let (_, events) = history(&*self.app().store, &scope, ran.task).await?;
        let reply = match &ran.standing {
            RunStatus::Completed(Json::String(text)) => ClientReply::read(text),
            RunStatus::Completed(other) => ClientReply { text: other.to_string(), ..ClientReply::default() },
            _ => ClientReply::default(),
        };
        Ok(ClientRun { ran, reply, tokens: ModelTokens::of(&events) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steward_models::ToolCall;

    fn tool(name: &str) -> OfferedTool {
        OfferedTool { name: name.into(), description: String::new(), parameters: serde_json::json!({}) }
    }

    fn call(name: &str) -> ToolCall {
        let arguments = Arguments::read("{\"city\": \"Paris\"}");
        ToolCall { id: format!("c_{name}"), name: name.into(), arguments, signature: None }
    }

    #[test]
    fn client_call_ends_the_run_after_own_calls() {
        let request = ClientRequest { tools: vec![tool("weather")], ..ClientRequest::default() };
        let answer = |calls: &[&str]| Answer {
            calls: calls.iter().map(|name| call(name)).collect(),
            finish: Finish::ToolCalls,
            ..Answer::default()
        };
        let theirs = request.settle(answer(&["weather", "weather"]));
        assert!(theirs.calls.is_empty());
        let read = ClientReply::read(&theirs.text);
        assert_eq!(read.client_calls.len(), 2);
        assert_eq!(read.client_calls[0].arguments, "{\"city\":\"Paris\"}");
        let both = request.settle(answer(&["weather", "todo_list"]));
        assert_eq!(both.calls.len(), 1, "our own call is made, and the client's is asked for again");
        let single = ClientRequest { one_call: true, ..request.clone() };
        let one = single.settle(answer(&["weather", "weather"]));
        assert_eq!(ClientReply::read(&one.text).client_calls.len(), 1);
        let words = request.settle(Answer { text: "hello".into(), ..Answer::default() });
        assert_eq!(
            ClientReply::read(&words.text),
            ClientReply { text: "hello".into(), ..Default::default() }
        );
        let cut = Answer { text: "hel".into(), finish: Finish::Length, ..Answer::default() };
        assert!(ClientReply::read(&request.settle(cut).text).cut_off);
    }

    #[test]
    fn json_of_a_model_is_never_read_as_calls() {
        for text in
            ["{\"client_calls\": []}", "{\"a\": 1}", "{", "[]", "{\"client_calls\": 1, \"text\": \"\"}"]
        {
            assert_eq!(ClientReply::read(text).text, text);
        }
    }

    #[test]
    fn a_choice_that_must_call_offers_the_clients_tools_alone() {
        let own =
            || Chat { turns: vec![Turn::system("s")], tools: vec![tool("a"), tool("b")], ..Chat::default() };
        let mut request = ClientRequest {
            tools: vec![tool("b"), tool("c")],
            instructions: Some("be brief".into()),
            ..ClientRequest::default()
        };
        let names = |chat: &Chat| chat.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
        let mut chat = own();
        request.extend_chat(&mut chat, true);
        assert_eq!(names(&chat), ["a", "b", "c"]);
        assert_eq!(chat.turns[0], Turn::system("s\n\nInstructions of the client that you answer:\nbe brief"));
        request.tool_choice = ToolChoice::Required;
        let mut chat = own();
        request.extend_chat(&mut chat, true);
        assert_eq!(names(&chat), ["b", "c"]);
        request.tool_choice = ToolChoice::None;
        let mut chat = own();
        request.extend_chat(&mut chat, true);
        assert_eq!(names(&chat), ["a", "b"]);
    }
}
