//! Executes effects of the engine: a tool through the gateway, a model, a sub-task. Each effect
//! ends in one event.

use super::executor::{EffectHandler, EffectOutcome, Work};
use super::internal::{self, RunContext};
use super::{Child, ClientRequest, ProgressEvent, Runner, Sub, Watch};
use crate::ask::AppContext;
use crate::caller::CurrentCaller;
use crate::converse::signature_of;
use crate::journal_writer::JournalWriter;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Coded as _, ErrorClass, Role, TaskId, UserId};
use steward_engine::{
    AskedCall, Class, Effect, EffectId, Event, Program, Prompt, Reply, State, ToolOutcome, Usage,
};
use steward_models::{
    Answer, Arguments, Chat, Event as ModelEvent, Model, ModelError, OfferedTool, ReplySchema, ToolCall, Turn,
};
use steward_policy::Caller;
use steward_store::Change;
use steward_tools::call::Receipt;
use steward_tools::{Content, Error as ToolError, Output};

/// The maximum bytes of a result in the engine's state; the record of the call has all of it.
const OUTPUT_BYTES: usize = 64 * 1024;

/// The system prompt for writing a mandate.
const MANDATE: &str = r#"You read the request of one person. You see their words and the tools, and no result.
List the calls of tools that the request asks for, those that look something up included. Reply with one JSON object and nothing
else: {"calls": [{"tool": "mail.send", "arguments": {"to": "ann@x.example", "subject": "Minutes", "body": null}, "each": false}]}
- Write an argument as the person's words say it. Write null where only a result can say it.
- "each" is true where the call is made for each of several things.
- List nothing that the person did not ask for. Where they hand over what is to be done to a text that you do not see, list only
  the calls that read that text."#;

/// Executes effects: tools through the gateway, models by their settings, sub-agents as sub-tasks.
pub(super) struct TaskEffectHandler {
    pub(super) runner: Runner,
    pub(super) task: TaskId,
    pub(super) user: UserId,
    pub(super) journal_writer: Arc<JournalWriter>,
    pub(super) watch: Option<Watch>,
    pub(super) context: Arc<RunContext>,
}

impl EffectHandler for TaskEffectHandler {
    fn call_tool(&self, effect: Effect) -> Work {
        let (runner, task, context) = (self.runner.clone(), self.task, self.context.clone());
        let caller = match self.runner.toolbox.callers().now(&self.user) {
            Ok(caller) => caller,
            Err(error) => return self.refused(&error),
        };
        Box::pin(async move {
            Box::pin(runner.call_tool(task, caller, &context, effect))
                .await
                .map_or(EffectOutcome::Nothing, EffectOutcome::Happened)
        })
    }

    fn refusal(&self) -> Option<String> {
        self.runner.toolbox.callers().now(&self.user).err().map(|error| error.to_string())
    }

    fn ask_model(&self, program: &Program, state: &State, id: EffectId) -> Work {
        let caller = match self.runner.toolbox.callers().now(&self.user) {
            Ok(caller) => caller,
            Err(error) => return self.refused(&error),
        };
        let client = self.context.client.as_deref();
        let Some(asked) = self.runner.asked(program, state, id, caller.held(), client) else {
            return Box::pin(ready(EffectOutcome::Nothing));
        };
        let (runner, journal_writer) = (self.runner.clone(), self.journal_writer.clone());
        let watch = self.watch.clone();
        let (user, context) = (self.user.clone(), self.context.clone());
        Box::pin(async move {
            let client = context.client.as_deref();
            EffectOutcome::Happened(runner.ask_model(id, &user, asked, client, &journal_writer, watch).await)
        })
    }

    fn start_sub(&self, program: &Program, effect: Effect) -> Work {
        let own = program.definition();
        let (id, task, input, gives_value, definition, untrusted, depth) = match effect {
            Effect::StartSub { id, task_id, agent, task, untrusted, depth, limits } => {
                (id, task_id, Json::String(task), false, own.for_agent(&agent, limits), untrusted, depth)
            }
            Effect::StartWorkflow { id, task_id, workflow, input, untrusted, depth, limits, .. } => {
                (id, task_id, input, true, own.for_workflow(&workflow, limits), untrusted, depth)
            }
            _ => return Box::pin(ready(EffectOutcome::Nothing)),
        };
        let Some(definition) = definition else { return Box::pin(ready(EffectOutcome::Nothing)) };
        let child = Child { parent: Some(self.task), depth, untrusted, ..Child::default() };
        let sub = Sub { id, task, input, gives_value, definition, child };
        let (runner, user, watch) = (self.runner.clone(), self.user.clone(), self.watch.clone());
        let journal_writer = self.journal_writer.clone();
        Box::pin(async move {
            // The sub-task is visible to others, so the journal is flushed first.
            match journal_writer.flush().await {
                Ok(()) => runner.sub(sub, user, watch).await,
                Err(_) => EffectOutcome::Nothing,
            }
        })
    }
}

impl TaskEffectHandler {
    /// Stops the run: its user has lost access.
    fn refused(&self, error: &crate::Error) -> Work {
        let (reason, at) = (error.to_string(), self.runner.now());
        Box::pin(ready(EffectOutcome::Happened(Event::Refused { reason, at })))
    }
}

impl Runner {
    /// Calls a tool. The effect's key is the call's id, so that the record of the call is found
    /// after a crash.
    async fn call_tool(
        &self,
        task: TaskId,
        caller: CurrentCaller,
        context: &RunContext,
        effect: Effect,
    ) -> Option<Event> {
        let Effect::CallTool {
            id,
            key,
            tool,
            server,
            arguments,
            provenance,
            origin,
            approval,
            timeout_seconds,
            ..
        } = effect
        else {
            return None;
        };
        let own = self.call_internal(caller.held(), (task, context), tool.as_str(), &arguments).await;
        if let Some(outcome) = own {
            return Some(Event::ToolEnded { effect: id, outcome, at: self.now() });
        }
        let mut request = caller.request(tool.as_str(), arguments);
        request.server = server.filter(|server| !tool.as_str().starts_with(server.as_str()));
        request.chain = Some(task.into());
        request.key = Some(key);
        request.default_provenance = origin;
        request.provenance = provenance;
        request.approval = approval.and_then(|approval| {
            let by = steward_domain::Label::new(approval.by).ok()?;
            let gate = Some(steward_domain::Gate { task, number: approval.gate.0 });
            Some(steward_policy::Approval { digest: approval.digest, by, gate })
        });
        request.context.timeout = Duration::from_secs(u64::from(timeout_seconds));
        let outcome = match self.toolbox.call(&request).await {
            Ok(receipt) => succeeded(receipt),
            Err(crate::Error::Tools(error)) => failed(&error),
            Err(error) => {
                ToolOutcome::Failed { class: class(error.class()), message: error.to_string(), sent: true }
            }
        };
        Some(Event::ToolEnded { effect: id, outcome, at: self.now() })
    }

    /// Calls a model. The journal is on disk before the request leaves the process.
    async fn ask_model(
        &self,
        id: EffectId,
        user: &UserId,
        asked: Asked,
        client: Option<&ClientRequest>,
        journal_writer: &JournalWriter,
        watch: Option<Watch>,
    ) -> Event {
        // A mandate covers only our own calls, so the client's options do not apply.
        let client = client.filter(|_| !asked.is_mandate);
        let failed = |class: ErrorClass, message: String| Event::ModelFailed {
            effect: id,
            class: self::class(class),
            message,
            retry_after_seconds: None,
            at: self.now(),
        };
        let model = match self.model(&asked.llm) {
            Ok(model) => model,
            Err(error) => return failed(error.class(), error.to_string()),
        };
        let AppContext { ledger, store, clock, .. } = self.app();
        if let Err(error) = ledger.check(&**store, &**clock, user).await {
            return failed(error.class(), error.to_string());
        }
        if model.leaves_process()
            && let Err(error) = journal_writer.flush().await
        {
            return failed(error.class(), error.to_string());
        }
        let answered = match client {
            Some(client) => client.ask(&*model, asked.chat, id, watch.as_ref()).await,
            None => ask_once(&*model, &asked.chat, id, watch.as_ref()).await,
        };
        match answered {
            // The model was already asked to correct its answer.
            Err(error @ ModelError::NotJson { .. }) if client.is_some() => {
                failed(ErrorClass::User, error.to_string())
            }
            Err(error) => failed(error.class(), error.to_string()),
            Ok(answer) => {
                let answer = match client {
                    Some(client) => client.settle(answer),
                    None => answer,
                };
                let cost_micros = answer.cost_micros.unwrap_or_default();
                let used = ledger.add(user, &asked.llm.model, answer.usage, cost_micros, self.now());
                journal_writer.note([], [Change::AddModelUsage(used)]);
                let tool_calls = answer.calls.into_iter().map(|call| asked.names.asked(call)).collect();
                let usage = Usage {
                    input_tokens: answer.usage.input,
                    output_tokens: answer.usage.output,
                    cost_micros,
                };
                let reply = Reply { text: answer.text, tool_calls, usage };
                Event::ModelReplied { effect: id, reply, at: self.now() }
            }
        }
    }

    /// The model request of this effect, copied from the state.
    fn asked(
        &self,
        program: &Program,
        state: &State,
        id: EffectId,
        caller: &Caller,
        client: Option<&ClientRequest>,
    ) -> Option<Asked> {
        let prompt = state.prompt(program, id)?;
        let names = Names::of(&prompt);
        if let Some(words) = prompt.mandate {
            let turns = vec![Turn::system(MANDATE), Turn::user(self.mandate_text(&prompt, words, caller))];
            let chat = Chat { turns, temperature: Some(0.0), ..Chat::default() };
            return Some(Asked { chat, names, llm: prompt.agent.llm_config.clone(), is_mandate: true });
        }
        let offered = prompt.offered();
        let tools = offered.filter_map(|(name, agent)| self.offered(name, agent, &names, caller)).collect();
        let mut turns = vec![Turn::system(&prompt.agent.system_prompt)];
        turns.extend(prompt.all().map(|message| turn(message, &names)));
        let schema = prompt
            .value_type
            .map(|value| ReplySchema { name: "value".to_owned(), schema: value.reply_schema() });
        let mut chat = Chat {
            turns,
            tools,
            schema,
            temperature: Some(prompt.agent.temperature.get() as f32),
            ..Chat::default()
        };
        if let Some(client) = client {
            client.extend_chat(&mut chat, prompt.with_tools);
        }
        Some(Asked { chat, names, llm: prompt.agent.llm_config.clone(), is_mandate: false })
    }

    /// The user's text, and the names and types of the tools that the user may use now. It contains
    /// no text of a server.
    fn mandate_text(&self, prompt: &Prompt<'_>, words: &str, caller: &Caller) -> String {
        let mut text = String::from("Tools:\n");
        for (name, _) in prompt.offered().filter(|(_, agent)| !agent) {
            let found = self.toolbox.registry().resolve_for(caller, None, name).ok();
            let signature = found.and_then(|found| signature_of(&found.registered.definition));
            if let Some(signature) = signature {
                text.push_str(&format!("- {signature}\n"));
            }
        }
        let today = self.app().clock.now().day();
        format!("{text}\nToday is {today}.\n\nThe request:\n{words}\n\nReply with the JSON of the calls.")
    }

    /// A tool as the model sees it; `None` if the caller may not use it now.
    fn offered(&self, name: &str, agent: bool, names: &Names, caller: &Caller) -> Option<OfferedTool> {
        let own = internal::about(name).filter(|_| !agent);
        if let Some((description, parameters)) = own {
            return Some(OfferedTool {
                name: names.plain(name),
                description: description.to_owned(),
                parameters,
            });
        }
        let known = self.toolbox.registry().resolve_for(caller, None, name).ok().filter(|_| !agent);
        if known.is_none() && !agent {
            return None;
        }
        let task = serde_json::json!({ "type": "object", "required": ["task"], "properties": { "task": { "type": "string", "description": "What it is to do, in full: it sees nothing else." } } });
        let (description, parameters) = match known {
            Some(found) => {
                let definition = &found.registered.definition;
                (definition.description.to_string(), Json::Object(definition.parameter_schema.clone()))
            }
            None => (format!("Hands a task to the agent {name}, which answers with a summary."), task),
        };
        Some(OfferedTool { name: names.plain(name), description, parameters })
    }
}

/// Calls a model once, and streams its text if there is a watcher.
pub(super) async fn ask_once(
    model: &dyn Model,
    chat: &Chat,
    effect: EffectId,
    watch: Option<&Watch>,
) -> Result<Answer, ModelError> {
    match watch {
        Some(watch) => streamed(model, chat, effect, watch).await,
        None => model.chat(chat).await,
    }
}

/// Calls a model and reports each part of its text as it arrives.
async fn streamed(
    model: &dyn Model,
    chat: &Chat,
    effect: EffectId,
    watch: &Watch,
) -> Result<Answer, ModelError> {
    let mut events = model.stream(chat);
    while let Some(event) = events.next().await {
        match event? {
            ModelEvent::TextDelta(delta) => watch(ProgressEvent::Token { effect, delta }),
            ModelEvent::Done(answer) => return Ok(*answer),
            _ => {}
        }
    }
    let detail = "the stream ended before the answer was whole".to_owned();
    Err(ModelError::BrokeOff { host: model.name().to_owned(), detail })
}

/// A model request, ready to be sent.
struct Asked {
    chat: Chat,
    names: Names,
    llm: steward_domain::LlmConfig,
    is_mandate: bool,
}

/// Tool names that every provider accepts: letters, digits, `_` and `-`, at most 64 characters.
struct Names(BTreeMap<String, String>);

impl Names {
    fn of(prompt: &Prompt<'_>) -> Self {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for (name, _) in prompt.offered() {
            let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
            let base: String = name.chars().map(keep).take(60).collect();
            let taken = |plain: &String| names.values().any(|known| known == plain);
            let free = std::iter::once(base.clone())
                .chain((2..).map(|n| format!("{base}_{n}")))
                .find(|plain| !taken(plain));
            names.insert(name.to_owned(), free.unwrap_or(base));
        }
        Self(names)
    }

    fn plain(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    fn asked(&self, call: ToolCall) -> AskedCall {
        let tool =
            self.0.iter().find(|(_, plain)| **plain == call.name).map_or(call.name, |(name, _)| name.clone());
        let arguments = match call.arguments {
            Arguments::Json(map) => Json::Object(map),
            Arguments::Nonsense { raw, .. } => Json::String(raw),
        };
        AskedCall { id: call.id, tool, arguments }
    }
}

fn turn(message: &steward_engine::Msg, names: &Names) -> Turn {
    match message.role {
        Role::Agent => Turn::Assistant {
            text: message.text.clone(),
            calls: message
                .calls
                .iter()
                .map(|call| ToolCall {
                    id: call.id.clone(),
                    name: names.plain(&call.tool),
                    arguments: Arguments::from_value(&call.arguments),
                    signature: None,
                })
                .collect(),
        },
        Role::Tool => Turn::Tool {
            id: message.answers.clone().unwrap_or_default(),
            name: String::new(),
            content: message.text.clone(),
            failed: false,
        },
        Role::System => Turn::system(&message.text),
        Role::User => Turn::user(&message.text),
    }
}

fn succeeded(receipt: Receipt) -> ToolOutcome {
    let artifact = receipt.output.content.iter().find_map(|part| match part {
        Content::Link { uri, .. } if uri.starts_with("artifact://") => Some(uri.clone()),
        _ => None,
    });
    ToolOutcome::Success { output: carried(receipt.output), artifact }
}

/// The output for the next step: the structured value if it exists and is not too large, otherwise
/// the text.
fn carried(output: Output) -> Json {
    let words = output.words();
    match output.structured {
        Some(value) if value.to_string().len() <= OUTPUT_BYTES => value,
        _ => Json::String(words.chars().take(OUTPUT_BYTES / 4).collect()),
    }
}

fn failed(error: &ToolError) -> ToolOutcome {
    let message = error.to_string();
    match error {
        ToolError::ApprovalNeeded(needed) => ToolOutcome::ApprovalNeeded {
            digest: needed.digest.clone(),
            reason: needed.reason.clone(),
            tool: Some(needed.tool.clone()),
        },
        ToolError::Timeout { .. } => ToolOutcome::TimedOut,
        ToolError::UnknownOutcome { .. } => ToolOutcome::Unknown,
        ToolError::ServerGone { sent, .. } => {
            ToolOutcome::Failed { class: Class::Transient, message, sent: *sent }
        }
        error if error.class() == ErrorClass::Denied => ToolOutcome::Denied { message },
        error => {
            let sent = matches!(
                error,
                ToolError::Failed { .. } | ToolError::BadResult { .. } | ToolError::Protocol { .. }
            );
            ToolOutcome::Failed { class: class(error.class()), message, sent }
        }
    }
}

pub(crate) fn class(class: ErrorClass) -> Class {
    match class {
        ErrorClass::User => Class::User,
        ErrorClass::Denied => Class::Denied,
        ErrorClass::Transient => Class::Transient,
        ErrorClass::Bug => Class::Bug,
    }
}
