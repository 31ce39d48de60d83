//! Resources and prompts of MCP servers: as tools of their server, and as lists.
//!
//! Invariants
//! - A resource is read, and a prompt is got, by a call of a tool of its server
//!   (`SERVER.resources_read`). Grants, policy, journal and taint apply as to any other tool.
//! - A list waits [`LIST_WAIT`] for each server. The list of a slower server is fetched in the
//!   background and announced when it is there.

use super::Toolbox;
use super::servers::Watched;
use crate::error::Result;
use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{
    Check as _, Description, DomainName, Idempotency, JsonObject, SemanticVersion, ServerName, Timestamp,
    ToolDefinition, ToolName, ToolOrigin,
};
use steward_policy::{AdmittedCall, Caller};
use steward_tools::mcp::{
    CompletionQuery, Features, Handle, Prompt, Resource, ResourceTemplate, State, Suggestions,
};
use steward_tools::{Context, Error, Output, Registered, Settings, Tool, builtin};
use tokio::sync::{oneshot, watch};

/// How long a list waits for each server.
const LIST_WAIT: Duration = Duration::from_secs(5);
/// The number of retries of these reads.
const RETRIES: u32 = 2;

/// The tools that read what a server offers beside its own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceTool {
    /// `SERVER.resources_list`: its resources and resource templates.
    ListResources,
    /// `SERVER.resources_read`: one resource.
    ReadResource,
    /// `SERVER.prompts_list`: its prompts.
    ListPrompts,
    /// `SERVER.prompts_get`: one prompt with its arguments filled in.
    GetPrompt,
}

impl ResourceTool {
    const ALL: [Self; 4] = [Self::ListResources, Self::ReadResource, Self::ListPrompts, Self::GetPrompt];

    /// The name without the server.
    #[must_use]
    pub fn bare_name(self) -> &'static str {
        match self {
            Self::ListResources => "resources_list",
            Self::ReadResource => "resources_read",
            Self::ListPrompts => "prompts_list",
            Self::GetPrompt => "prompts_get",
        }
    }

    fn full_name(self, server: &ServerName) -> Option<ToolName> {
        ToolName::new(format!("{server}.{}", self.bare_name())).ok()
    }

    fn is_offered(self, features: Features) -> bool {
        match self {
            Self::ListResources | Self::ReadResource => features.resources,
            Self::ListPrompts | Self::GetPrompt => features.prompts,
        }
    }

    fn description(self, server: &ServerName) -> String {
        match self {
            Self::ListResources => format!("Lists the resources and resource templates of {server}."),
            Self::ReadResource => format!("Reads one resource of {server} by its URI."),
            Self::ListPrompts => format!("Lists the prompts of {server} with their arguments."),
            Self::GetPrompt => format!("Gets one prompt of {server} with its arguments filled in."),
        }
    }

    fn schema(self) -> JsonObject {
        let schema = match self {
            Self::ListResources | Self::ListPrompts => {
                json!({ "type": "object", "properties": {}, "additionalProperties": false })
            }
            Self::ReadResource => json!({
                "type": "object", "required": ["uri"], "additionalProperties": false,
                "properties": { "uri": { "type": "string", "description": "The URI of the resource." } }
            }),
            Self::GetPrompt => json!({
                "type": "object", "required": ["name"], "additionalProperties": false,
                "properties": {
                    "name": { "type": "string", "description": "The name of the prompt." },
                    "arguments": {
                        "type": "object", "additionalProperties": { "type": "string" },
                        "description": "The arguments of the prompt."
                    }
                }
            }),
        };
        schema.as_object().cloned().unwrap_or_default()
    }

    async fn carry_out(self, server: &Handle, arguments: &JsonObject) -> steward_tools::Result<Output> {
        let text = |name: &str| arguments.get(name).and_then(Json::as_str).unwrap_or_default();
        Ok(match self {
            Self::ListResources => {
                let (resources, templates) =
                    tokio::try_join!(server.resources(), server.resource_templates())?;
                Output::json(json!({ "resources": resources, "templates": templates }))
            }
            Self::ReadResource => {
                Output { content: server.read_resource(text("uri")).await?, structured: None }
            }
            Self::ListPrompts => Output::json(json!({ "prompts": server.prompts().await? })),
            Self::GetPrompt => {
                let filled = arguments.get("arguments").and_then(Json::as_object);
                let messages = server.prompt(text("name"), filled.cloned().unwrap_or_default()).await?;
                Output::json(json!({ "messages": messages }))
            }
        })
    }
}

/// The tools for what a running server offers. What a server offers that does not run is unknown, so
/// it has all of them. A tool of the server with the same name comes first.
pub(super) fn resource_tools(server: &Handle, taken: &[Registered], now: Timestamp) -> Vec<Registered> {
    let features = (server.state() == State::Ready).then(|| server.features());
    let is_offered = |tool: &ResourceTool| features.is_none_or(|features| tool.is_offered(features));
    let offered = ResourceTool::ALL.into_iter().filter(is_offered);
    let registered = offered.filter_map(|tool| {
        let name = tool.full_name(server.name())?;
        let is_taken = taken.iter().any(|other| other.definition.tool_name == name);
        (!is_taken).then(|| registered(tool, name, server, now)).flatten()
    });
    registered.collect()
}

fn registered(tool: ResourceTool, name: ToolName, server: &Handle, now: Timestamp) -> Option<Registered> {
    let config = server.config();
    let definition = ToolDefinition {
        id: builtin::id(name.as_str(), builtin::VERSION),
        tool_name: name,
        tool_version: SemanticVersion::new(builtin::VERSION).ok()?,
        application_domain: match &config.application_domain {
            Some(domain) => domain.clone(),
            None => DomainName::new("generic").ok()?,
        },
        origin: ToolOrigin::Mcp,
        server: Some(config.name.clone()),
        category: config.category.clone(),
        description: Description::new(tool.description(&config.name)).ok()?,
        description_embedding: None,
        parameter_schema: tool.schema(),
        return_schema: JsonObject::new(),
        is_active: true,
        requires_validation: false,
        timeout_seconds: config.timeout_seconds,
        fallback_tools: Vec::new(),
        approval: config.approval,
        idempotency: Idempotency::ReadOnly,
        created_at: now,
        updated_at: now,
        metadata: JsonObject::new(),
    };
    let settings = Settings {
        permissions: config.permissions.clone(),
        retries: RETRIES,
        unlisted: true,
        ..Settings::default()
    };
    Some(Registered {
        definition: Arc::new(definition.validate().ok()?),
        settings: Arc::new(settings),
        tool: Arc::new(ServerRead { tool, server: server.clone() }),
    })
}

/// A [`ResourceTool`] of one server.
struct ServerRead {
    tool: ResourceTool,
    server: Handle,
}

#[async_trait]
impl Tool for ServerRead {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> steward_tools::Result<Output> {
        let name = || call.tool().to_string();
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(Error::Cancelled { tool: name() }),
            read = tokio::time::timeout(
                context.timeout,
                self.tool.carry_out(&self.server, call.arguments()),
            ) => read.unwrap_or_else(|_| Err(Error::Timeout { tool: name(), after: context.timeout })),
        }
    }
}

/// The resources, resource templates and prompts of a server. All text in it is untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ServerCatalogue {
    /// The resources.
    pub resources: Vec<Resource>,
    /// The resource templates.
    pub templates: Vec<ResourceTemplate>,
    /// The prompts.
    pub prompts: Vec<Prompt>,
}

impl Watched {
    /// The catalogue of the running server. The server is started if necessary.
    async fn catalogue(self: &Arc<Self>) -> steward_tools::Result<Arc<ServerCatalogue>> {
        let _turn = self.listing.lock().await;
        if let Some(catalogue) = self.kept_catalogue() {
            return Ok(catalogue);
        }
        self.look().await?;
        let server = &self.handle;
        let (resources, templates, prompts) =
            tokio::try_join!(server.resources(), server.resource_templates(), server.prompts())?;
        let catalogue = Arc::new(ServerCatalogue { resources, templates, prompts });
        self.keep_catalogue(catalogue.clone());
        Ok(catalogue)
    }
}

impl Toolbox {
    /// The catalogues of the servers whose resources or prompts this caller may read with `tool`,
    /// by server. A server that fails or is slow is left out.
    pub async fn server_catalogues(
        &self,
        caller: &Caller,
        tool: ResourceTool,
    ) -> Vec<(ServerName, Arc<ServerCatalogue>)> {
        let deadline = tokio::time::Instant::now() + LIST_WAIT;
        let servers: Vec<Arc<Watched>> = self.all_watched();
        let mut waiting = Vec::new();
        for server in servers.into_iter().filter(|server| self.can_see_server(caller, server.name())) {
            let name = server.name().clone();
            waiting.push((name, self.fetch_catalogue(server).await));
        }
        let mut found = Vec::new();
        for (name, catalogue) in waiting {
            if let Ok(Ok(catalogue)) = tokio::time::timeout_at(deadline, catalogue).await
                && self.granted(caller, &name, tool).is_some()
            {
                found.push((name, catalogue));
            }
        }
        found
    }

    /// Fetches a catalogue in the background. If the receiver is gone when it arrives, the change is
    /// announced.
    async fn fetch_catalogue(&self, server: Arc<Watched>) -> oneshot::Receiver<Arc<ServerCatalogue>> {
        let (reply, catalogue) = oneshot::channel();
        let changed = self.catalogue_changed.clone();
        let mut background = self.listening.lock().await;
        while background.try_join_next().is_some() {}
        background.spawn(async move {
            let Ok(catalogue) = server.catalogue().await else { return };
            if reply.send(catalogue).is_err() {
                changed.send_modify(|count| *count += 1);
            }
        });
        catalogue
    }

    /// The tool of a server, if it is offered and granted.
    fn granted(&self, caller: &Caller, server: &ServerName, tool: ResourceTool) -> Option<ToolName> {
        let name = tool.full_name(server)?;
        let registered = self.registry().get(&name, None)?;
        let granted = caller.sees(&name, &registered.settings.permissions);
        (granted && registered.settings.off.is_none()).then_some(name)
    }

    /// The name of a server's tool. The server is started if its tools are not known yet.
    pub async fn resource_tool(
        &self,
        caller: &Caller,
        server: &ServerName,
        tool: ResourceTool,
    ) -> Result<ToolName> {
        let unknown =
            || Error::UnknownTool { name: format!("{server}.{}", tool.bare_name()), near: Vec::new() };
        let watched = self.watched(server.as_str()).filter(|_| self.can_see_server(caller, server));
        let watched = watched.ok_or_else(unknown)?;
        if let Some(name) = self.granted(caller, server, tool) {
            return Ok(name);
        }
        watched.look().await?;
        Ok(self.granted(caller, server, tool).ok_or_else(unknown)?)
    }

    /// Completes an argument of a server's prompt or resource template.
    pub async fn complete(
        &self,
        caller: &Caller,
        server: &ServerName,
        query: CompletionQuery,
    ) -> Result<Suggestions> {
        let tool = if query.prompt { ResourceTool::GetPrompt } else { ResourceTool::ReadResource };
        self.resource_tool(caller, server, tool).await?;
        Ok(self.servers.get(server.as_str())?.complete(query).await?)
    }

    /// The configured servers that this caller may know of.
    #[must_use]
    pub fn visible_servers(&self, caller: &Caller) -> Vec<ServerName> {
        let all = self.all_watched();
        let visible = all.iter().filter(|server| self.can_see_server(caller, server.name()));
        visible.map(|server| server.name().clone()).collect()
    }

    /// Increases when the resources or prompts of a server may have changed.
    #[must_use]
    pub fn catalogue_changes(&self) -> watch::Receiver<u64> {
        self.catalogue_changed.subscribe()
    }
}
