//! The gateway of Steward's MCP server: the toolbox, with policy in front of every call.
//!
//! Invariants
//! - Input of an MCP client is untrusted: a model wrote it, and the provenance of its values is
//!   unknown. Tools that require approval for untrusted arguments get it from the user of the
//!   client by elicitation, never from its model.
//! - Registered tools are not all listed to the client. Clients search for them and call them by
//!   name.

mod approve;
mod apps;
mod files;
pub(crate) use files::kind_of;
mod names;
mod tasks;
mod upstream;
mod verbs;

use crate::mcp::{
    Argument, Caller as Client, Changes, Completion, CompletionRequest, Failure, Gateway, Identity, Message,
    Offered, Page, Prompt, Resource, ResourceBody, Session, Speaker, TaskState, TaskSupport, Template,
};
use async_trait::async_trait;
use files::artifacts_of;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Coded, ErrorClass, JsonObject, Label, TaskId, UserId};
use steward_policy::{Caller, Provenance};
use steward_runtime::ask::placed;
use steward_runtime::run::{RunStatus, Runner};
use steward_runtime::toolbox::Toolbox;
use steward_store::Scope;
use steward_tools::call::{Receipt, Request};
use steward_tools::registry::Filter;
use steward_tools::{Content, Error, Output, Registered};
use tokio::sync::broadcast;
use verbs::{offered, verbs};

/// Which registered tools are listed under their own names.
#[derive(Debug, Clone, Default)]
pub struct ToolExposure {
    /// Names, or `prefix.*`.
    pub tools: Vec<String>,
    /// Whether dots in names are replaced, for clients that forbid them: `crm__find`.
    pub plain_names: bool,
}

impl ToolExposure {
    fn fits(&self, name: &str) -> bool {
        self.tools.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => pattern == name,
        })
    }
}

/// The gateway over a toolbox.
pub struct ToolboxGateway {
    toolbox: Arc<Toolbox>,
    runner: Runner,
    user: UserId,
    exposure: ToolExposure,
    updates: broadcast::Sender<Arc<str>>,
}

/// The timeout of one call.
const TIME: Duration = Duration::from_secs(300);
/// The page size of resources.
const PAGE: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    request: String,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArguments {
    tool: String,
    #[serde(default)]
    arguments: JsonObject,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunArguments {
    name: String,
    #[serde(default)]
    input: Json,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskReference {
    task: TaskId,
}

impl ToolboxGateway {
    /// A gateway over this toolbox. `user` is the caller if the transport does not authenticate.
    #[must_use]
    pub fn new(toolbox: Arc<Toolbox>, runner: Runner, user: UserId, exposure: ToolExposure) -> Self {
        Self { toolbox, runner, user, exposure, updates: broadcast::Sender::new(16) }
    }

    /// The caller of policy for a client.
    fn caller(&self, client: &Client) -> Caller {
        if let Some(held) = &client.held {
            return (**held).clone();
        }
        match &client.grants {
            None => Caller::owner(self.user.clone()),
            Some(grants) => {
                let permissions: BTreeSet<Label> =
                    grants.iter().filter_map(|grant| Label::new(grant).ok()).collect();
                let user = UserId::new(&client.user).unwrap_or_else(|_| self.user.clone());
                Caller { permissions: Some(permissions), administrator: false, ..Caller::owner(user) }
            }
        }
    }

    async fn call_tool(
        &self,
        tool: &str,
        arguments: JsonObject,
        session: &Session,
    ) -> Result<Output, Failure> {
        let mut receipt = self.receipt(tool, arguments, session).await?;
        self.address_links(&mut receipt);
        let mut output = receipt.output;
        for note in receipt.notes {
            output.content.push(Content::Text { text: format!("[{note}]") });
        }
        Ok(output)
    }

    /// Calls a tool, with the approval of the client's user if that is needed.
    async fn receipt(
        &self,
        tool: &str,
        arguments: JsonObject,
        session: &Session,
    ) -> Result<Receipt, Failure> {
        let mut request = Request::new(self.caller(session.caller()), tool, arguments);
        request.default_provenance = Provenance::Untrusted;
        request.context = session.context(TIME);
        match self.toolbox.call(&request).await {
            Err(steward_runtime::Error::Tools(Error::ApprovalNeeded(needed))) => {
                self.approved(request, &needed, session).await
            }
            other => other.map_err(failed),
        }
    }

    async fn search(&self, wanted: Search, session: &Session) -> Result<Output, Failure> {
        let limit = wanted.limit.unwrap_or(5).clamp(1, 20);
        let caller = self.caller(session.caller());
        let found = self.toolbox.search(&caller, &wanted.request, limit).await.map_err(failed)?;
        let snapshot = self.toolbox.registry().snapshot();
        let candidates = found.candidates.iter().map(|candidate| {
            let definition = snapshot.get(&candidate.tool, None).map(|tool| tool.definition.clone());
            json!({
                "tool": candidate.tool, "confidence": candidate.confidence, "reasons": candidate.reasons,
                "description": definition.as_ref().map(|definition| definition.description.to_string()),
                "input_schema": definition.as_ref().map(|definition| definition.parameter_schema.clone()),
                "arguments": candidate.arguments.arguments, "missing": candidate.arguments.missing,
            })
        });
        let question = found.question.as_ref().map(|question| question.text.clone());
        Ok(Output::json(json!({ "candidates": candidates.collect::<Vec<_>>(), "question": question })))
    }

    /// Runs a workflow or an agent. Approvals in the run wait for approvers of this server.
    async fn run_workflow(&self, wanted: RunArguments, session: &Session) -> Result<Output, Failure> {
        let caller = self.caller(session.caller());
        self.may_run(&caller)?;
        let ran =
            self.runner.start_untrusted(&caller.user, &wanted.name, wanted.input).await.map_err(failed)?;
        let (status, result) = match ran.standing {
            RunStatus::Completed(result) => ("completed", result),
            RunStatus::Failed(why) => {
                return Err(Failure::tool(ran.page.unwrap_or("ENG007"), why, ErrorClass::User));
            }
            RunStatus::Rejected(why) => ("rejected", Json::from(why)),
            RunStatus::Cancelled(by) => ("cancelled", Json::from(by)),
            RunStatus::HandedOver => ("running", Json::from("this process ends; another goes on with it")),
            RunStatus::Waiting => {
                ("paused", json!(format!("waits for a person: steward approvals approve {}", ran.task)))
            }
        };
        Ok(Output::json(json!({ "task": ran.task, "status": status, "result": result })))
    }

    fn may_run(&self, caller: &Caller) -> Result<(), Failure> {
        let told = "only the owner of this machine runs workflows here";
        if caller.administrator { Ok(()) } else { Err(Failure::tool("TOL005", told, ErrorClass::Denied)) }
    }

    async fn task_status(&self, task: TaskId, session: &Session) -> Result<Output, Failure> {
        let scope = Scope::User(self.caller(session.caller()).user);
        let store = &self.toolbox.app().store;
        let found = store.task(&scope, task).await.map_err(|error| failed(error.into()))?;
        let found = found
            .ok_or_else(|| Failure::tool("RUN004", format!("there is no task {task}"), ErrorClass::User))?;
        let artifacts = store.artifacts(&scope, task).await.map_err(|error| failed(error.into()))?;
        let artifacts: Vec<Json> = artifacts
            .iter()
            .map(|artifact| json!({ "type": artifact.artifact_type, "sha256": artifact.content_hash, "uri": self.address(&placed(&self.artifacts(), &artifact.content_ref)) }))
            .collect();
        Ok(Output::json(json!({ "task": *found, "artifacts": artifacts })))
    }

    /// The registered name of a tool, from the name that a client uses.
    fn own_name(&self, name: &str) -> String {
        names::dotted(name).filter(|own| self.exposure.fits(own)).unwrap_or_else(|| name.to_owned())
    }

    /// The listed tools that this caller may use.
    fn exposed(&self, caller: &Caller) -> Vec<Registered> {
        let filter = Filter { caller: Some(caller), ..Filter::default() };
        let mut tools = self.toolbox.registry().list(&filter);
        tools.retain(|tool| {
            tool.settings.off.is_none() && self.exposure.fits(tool.definition.tool_name.as_str())
        });
        tools
    }

    fn artifacts(&self) -> PathBuf {
        self.toolbox.app().artifacts.clone()
    }

    /// The `artifact://` address of a file in the artifacts folder.
    fn address(&self, path: &Path) -> Option<String> {
        let root = self.artifacts();
        let root = root.canonicalize().unwrap_or(root);
        let inner = path.strip_prefix(&root).ok()?;
        Some(format!("artifact://{}", inner.display()))
    }

    /// The files of the caller's latest tasks.
    async fn own_artifacts(&self, caller: &Client) -> Result<Vec<(PathBuf, u64)>, Failure> {
        let (scope, store) = (Scope::User(self.caller(caller).user), &self.toolbox.app().store);
        let stored = |error: steward_store::Error| failed(error.into());
        let latest = steward_store::Page::first(LATEST);
        let mut files = Vec::new();
        for task in store.tasks(&scope, steward_store::TaskFilter::default(), latest).await.map_err(stored)? {
            let made = store.artifacts(&scope, task.id).await.map_err(stored)?;
            files
                .extend(made.iter().map(|one| (placed(&self.artifacts(), &one.content_ref), one.size_bytes)));
        }
        Ok(files)
    }

    /// The owner of the machine reads every artifact; other users read those of their own tasks.
    async fn may_read(&self, uri: &str, session: &Session) -> bool {
        if session.caller().is_owner() {
            return true;
        }
        let task = uri.split('/').nth(3).and_then(|task| task.split('.').next()?.parse().ok());
        let Some(task) = task.filter(|_| !uri.starts_with("artifact://results/")) else { return false };
        let scope = Scope::User(self.caller(session.caller()).user);
        matches!(self.toolbox.app().store.task(&scope, task).await, Ok(Some(_)))
    }

    /// The file of an address. It must be inside the artifacts folder.
    fn behind(&self, uri: &str) -> Option<PathBuf> {
        let inner = Path::new(uri.strip_prefix("artifact://")?);
        let plain = inner.components().all(|part| matches!(part, Component::Normal(_)));
        let root = self.artifacts().canonicalize().ok()?;
        let path = root.join(inner).canonicalize().ok()?;
        (plain && path.starts_with(&root) && path.is_file()).then_some(path)
    }
}

/// The number of tasks whose files are listed for users other than the owner.
const LATEST: u32 = 100;

#[async_trait]
impl Gateway for ToolboxGateway {
    fn identity(&self) -> Identity {
        Identity {
            instructions: Some(
                "Ask questions about data with `ask`. Find other tools with `tools_search` and call them \
                    with `tools_call`. Every call is checked by policy and written to a journal; some wait \
                    for a person."
                    .into(),
            ),
            ..Identity::default()
        }
    }

    fn input_schema(&self, name: &str) -> Option<Arc<JsonObject>> {
        let own = self.own_name(name);
        let name = own.as_str();
        // Steward's own verbs take no headers.
        let found = self.exposure.fits(name).then(|| name.parse().ok()).flatten()?;
        let tool = self.toolbox.registry().snapshot().get(&found, None)?.clone();
        Some(Arc::new(tool.definition.parameter_schema.clone()))
    }

    async fn tools(&self, caller: &Client) -> Vec<Offered> {
        let exposed = self.exposed(&self.caller(caller));
        let mut tools: Vec<Offered> = exposed.iter().map(offered).collect();
        if self.exposure.plain_names {
            for tool in &mut tools {
                tool.title.get_or_insert_with(|| tool.name.clone());
                tool.name = names::plain(&tool.name);
            }
        }
        verbs().into_iter().chain(tools).collect()
    }

    async fn call(&self, name: &str, arguments: JsonObject, session: &Session) -> Result<Output, Failure> {
        let own = self.own_name(name);
        match own.as_str() {
            "ask" => self.call_tool("agent.analyst", arguments, session).await,
            "analyse" => self.call_tool("profiler.analyze", arguments, session).await,
            "tools_search" => self.search(read(name, arguments)?, session).await,
            "tools_call" => {
                let wanted: CallArguments = read(name, arguments)?;
                self.call_tool(&wanted.tool, wanted.arguments, session).await
            }
            "run_workflow" if session.can_start_task() => self.run_as_task(arguments, session).await,
            "run_workflow" => self.run_workflow(read(name, arguments)?, session).await,
            "task_status" => self.task_status(read::<TaskReference>(name, arguments)?.task, session).await,
            "approvals_list" => {
                let scope = Scope::User(self.caller(session.caller()).user);
                let waiting = self.toolbox.approvals().list(&scope).await.map_err(failed)?;
                Ok(Output::json(json!({ "approvals": waiting })))
            }
            "approvals_decide" => self.decide(read(name, arguments)?, session).await,
            name if self.exposure.fits(name) => self.call_tool(name, arguments, session).await,
            name => Err(Failure::unknown(format!(
                "there is no tool {name}. Registered tools are called with tools_call"
            ))),
        }
    }

    fn task_support(&self, name: &str) -> TaskSupport {
        let quick = ["tools_search", "task_status", "approvals_list", "approvals_decide"];
        if quick.contains(&name) { TaskSupport::Never } else { TaskSupport::Optional }
    }

    async fn task(&self, id: &str, caller: &Client) -> Result<Option<TaskState>, Failure> {
        let Ok(id) = id.parse::<TaskId>() else { return Ok(None) };
        self.task_state(id, &Scope::User(self.caller(caller).user), caller).await
    }

    async fn answer_task(
        &self,
        id: &str,
        answers: BTreeMap<String, Json>,
        caller: &Client,
        client: &crate::mcp::Client,
    ) -> Result<(), Failure> {
        match id.parse::<TaskId>() {
            Ok(id) => self.decide_task(id, answers, caller, client).await,
            Err(_) => Ok(()),
        }
    }

    async fn cancel_task(&self, id: &str, caller: &Client) -> Result<(), Failure> {
        let user = self.caller(caller).user;
        let by = Label::new(user.as_str()).map_err(|problem| Failure::unknown(problem.to_string()))?;
        let Ok(id) = id.parse::<TaskId>() else { return Ok(()) };
        let scope = Scope::User(user);
        let ended = self.task_state(id, &scope, caller).await?.is_some_and(|state| state.is_ended());
        if !ended {
            self.runner.cancel(&scope, id, &by).await.map_err(failed)?;
        }
        Ok(())
    }

    async fn resources(&self, cursor: Option<&str>, caller: &Client) -> Result<Page<Resource>, Failure> {
        // The folder contains files of all users, so only the owner of the machine sees all of
        // them.
        let mut files = if caller.is_owner() {
            let root = self.artifacts();
            tokio::task::spawn_blocking(move || artifacts_of(&root)).await.unwrap_or_default()
        } else {
            self.own_artifacts(caller).await?
        };
        files.sort();
        let from = cursor
            .map_or(Ok(0), str::parse::<usize>)
            .map_err(|_| Failure::unknown("a cursor that was not given out"))?;
        let upstream = self.server_resources(caller).await;
        let total = apps::resources().count() + files.len() + upstream.len();
        let artifacts = files.iter().filter_map(|(path, size)| {
            let uri = self.address(path)?;
            let name = path.file_name()?.to_string_lossy().into_owned();
            Some(Resource {
                uri,
                name,
                mime_type: Some(kind_of(path).into()),
                size: Some(*size),
                ..Resource::default()
            })
        });
        let items = apps::resources().chain(artifacts).chain(upstream).skip(from).take(PAGE).collect();
        let next = (from + PAGE < total).then(|| (from + PAGE).to_string());
        Ok(Page { items, next })
    }

    async fn resource_templates(&self, _: Option<&str>, caller: &Client) -> Result<Page<Template>, Failure> {
        let template = Template {
            uri_template: "artifact://{kind}/{task}/{file}".into(),
            name: "artifact".into(),
            description: Some("A table, chart, report or large result that a task made.".into()),
            ..Template::default()
        };
        let items = std::iter::once(template).chain(self.server_templates(caller).await).collect();
        Ok(Page { items, next: None })
    }

    async fn read(&self, uri: &str, session: &Session) -> Result<Vec<ResourceBody>, Failure> {
        if let Some(view) = apps::read(uri) {
            return Ok(vec![view]);
        }
        if let Some(read) = self.read_server_resource(uri, session).await {
            return read;
        }
        let missing = || Failure::unknown(format!("there is no resource {uri}"));
        if !self.may_read(uri, session).await {
            return Err(missing());
        }
        let path = self.behind(uri).ok_or_else(missing)?;
        Ok(vec![files::body(uri, &path, None).await?])
    }

    async fn prompts(&self, caller: &Client) -> Vec<Prompt> {
        let skills = self.toolbox.skills();
        let request =
            Argument { name: "request".into(), description: Some("What is wanted.".into()), required: false };
        let prompt = |skill: &steward_tools::skill::Skill| Prompt {
            name: skill.name.clone(),
            description: Some(skill.description.clone()),
            arguments: vec![request.clone()],
            ..Prompt::default()
        };
        let upstream = self.server_prompts(caller).await;
        skills.skills.iter().map(prompt).chain(upstream).collect()
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        session: &Session,
    ) -> Result<Vec<Message>, Failure> {
        let skills = self.toolbox.skills();
        let Some(skill) = skills.get(name) else {
            return self.get_server_prompt(name, arguments, session).await;
        };
        let mut text = skill.body().map_err(Failure::from)?;
        if let Some(request) = arguments.get("request").and_then(Json::as_str) {
            text.push_str("\n\n");
            text.push_str(request);
        }
        Ok(vec![Message { speaker: Speaker::User, content: Content::Text { text } }])
    }

    async fn complete(&self, completion: CompletionRequest, caller: &Client) -> Result<Completion, Failure> {
        if let Some(found) = self.complete_upstream(&completion, caller).await {
            return found;
        }
        if completion.prompt || completion.argument != "tool" {
            return Ok(Completion::default());
        }
        let tools = self.exposed(&self.caller(caller));
        let names = tools.iter().map(|tool| tool.definition.tool_name.to_string());
        Ok(Completion {
            values: names.filter(|name| name.starts_with(&completion.typed)).collect(),
            total: None,
        })
    }

    fn changed(&self) -> Changes {
        Changes {
            tools: self.toolbox.registry().changed(),
            resources: self.toolbox.catalogue_changes(),
            prompts: self.toolbox.catalogue_changes(),
            updated: self.updates.subscribe(),
        }
    }
}

fn failed(error: steward_runtime::Error) -> Failure {
    match error {
        steward_runtime::Error::Tools(error) => Failure::from(error),
        error => Failure::tool(error.code(), error.to_string(), error.class()),
    }
}

fn read<T: serde::de::DeserializeOwned>(tool: &str, arguments: JsonObject) -> Result<T, Failure> {
    serde_json::from_value(Json::Object(arguments)).map_err(|error| {
        Failure::from(Error::Arguments { tool: tool.to_owned(), problems: vec![error.to_string()] })
    })
}
