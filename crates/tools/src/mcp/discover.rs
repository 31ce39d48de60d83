//! Discovery: the tools of a server as definitions, its resources and its prompts.
//!
//! Invariants
//! - Lists are limited in pages, entries and bytes, so a server cannot exhaust memory.
//! - Text of a server is stripped of control characters and truncated before it is used.

use crate::error::{Error, Result};
use crate::mcp::calls::ActiveCall;
use crate::mcp::connection::Connection;
use crate::mcp::pin::Offer;
use crate::mcp::result;
use crate::mcp::server::Handle;
use crate::tool::{Content, Context};
use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams, ServerResult,
    Tool,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::time::Duration;
use steward_domain::{
    Check, Description, DomainName, Idempotency, JsonObject, McpServer, SemanticVersion, Timestamp,
    ToolDefinition, ToolId, ToolName, ToolOrigin, Valid,
};

const PAGES: usize = 100;
const ENTRIES: usize = 5_000;
const BYTES: usize = 8 * 1024 * 1024;
pub(super) const DESCRIPTION_CHARS: usize = 4_000;
/// The timeout of listing or reading.
pub(super) const WITHIN: Duration = Duration::from_secs(30);

/// A tool of a server, and its definition for the registry.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteTool {
    /// The server's own name for it.
    pub name: String,
    /// The definition for the registry.
    pub definition: Valid<ToolDefinition>,
    /// The server's own description of the tool.
    pub offer: Offer,
    /// The SHA-256 of the offer.
    pub digest: String,
}

impl RemoteTool {
    /// Converts a tool of a server. The error says why it cannot be used.
    pub(crate) fn of(
        server: &McpServer,
        version: &SemanticVersion,
        tool: &Tool,
        now: Timestamp,
    ) -> Result<Self, String> {
        let definition = definition(server, version, tool, now)?;
        let offer = Offer::of(tool);
        Ok(Self { name: offer.name.clone(), definition, digest: offer.digest(), offer })
    }
}

/// A resource of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The media type.
    pub mime_type: Option<String>,
    /// Its size in bytes, as the server reports it.
    pub size: Option<u64>,
}

/// A prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The arguments.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// The description.
    pub description: Option<String>,
    /// Whether the prompt requires it.
    pub required: bool,
}

/// One message of a prompt. It is untrusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// The content.
    pub content: Option<Content>,
}

impl Handle {
    /// All tools of the server. Tools with an invalid name or schema are skipped and logged.
    ///
    /// # Errors
    /// When the request fails, or the list exceeds the limits.
    pub async fn tools(&self) -> Result<Vec<RemoteTool>> {
        let tools = self.ask(|connection| async move { list_tools(&connection).await }).await?;
        let version = self.version();
        let now = self.options().clock.now();
        let mut taken = Vec::with_capacity(tools.len());
        for tool in tools {
            match RemoteTool::of(self.config(), &version, &tool, now) {
                Ok(tool) => taken.push(tool),
                Err(problem) => self.note(&format!("the tool {} is left out: {problem}", tool.name)),
            }
        }
        Ok(taken)
    }

    /// All resources of the server.
    ///
    /// # Errors
    /// When the request fails, or the list exceeds the limits.
    pub async fn resources(&self) -> Result<Vec<Resource>> {
        let offered = |c: &Connection| c.info.capabilities.resources.is_some();
        let listed = self.ask(|connection| async move {
            if !offered(&connection) {
                return Ok(Vec::new());
            }
            pages(
                &connection,
                "resources/list",
                |params| {
                    let request = ListResourcesRequest { params, ..Default::default() };
                    ClientRequest::ListResourcesRequest(request)
                },
                |result| match result {
                    ServerResult::ListResourcesResult(page) => Some((page.resources, page.next_cursor)),
                    _ => None,
                },
            )
            .await
        });
        let listed = listed.await?.into_iter().map(|it| Resource {
            uri: it.uri,
            name: plain(&it.name, 200),
            title: it.title.map(|title| plain(&title, 200)),
            description: it.description.map(|words| plain(&words, DESCRIPTION_CHARS)),
            mime_type: it.mime_type,
            size: it.size,
        });
        Ok(listed.collect())
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// When the request fails or the resource does not exist.
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<Content>> {
        let uri = uri.to_owned();
        self.ask(|connection| async move {
            let params = ReadResourceRequestParams::new(uri);
            let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
            let context = Context::within(WITHIN);
            match connection.request("resources/read", request, ActiveCall::of(&context)).await? {
                ServerResult::ReadResourceResult(read) => {
                    Ok(read.contents.into_iter().filter_map(result::resource).collect())
                }
                other => Err(connection.unexpected("resources/read", &other)),
            }
        })
        .await
    }

    /// All prompts of the server.
    ///
    /// # Errors
    /// When the request fails, or the list exceeds the limits.
    pub async fn prompts(&self) -> Result<Vec<Prompt>> {
        let listed = self.ask(|connection| async move {
            if connection.info.capabilities.prompts.is_none() {
                return Ok(Vec::new());
            }
            pages(
                &connection,
                "prompts/list",
                |params| {
                    let request = ListPromptsRequest { params, ..Default::default() };
                    ClientRequest::ListPromptsRequest(request)
                },
                |result| match result {
                    ServerResult::ListPromptsResult(page) => Some((page.prompts, page.next_cursor)),
                    _ => None,
                },
            )
            .await
        });
        let listed = listed.await?.into_iter().map(|it| Prompt {
            name: it.name,
            title: it.title.map(|title| plain(&title, 200)),
            description: it.description.map(|words| plain(&words, DESCRIPTION_CHARS)),
            arguments: it.arguments.unwrap_or_default().into_iter().map(argument).collect(),
        });
        Ok(listed.collect())
    }

    /// A prompt with its arguments filled in.
    ///
    /// # Errors
    /// When the request fails or the prompt does not exist.
    pub async fn prompt(&self, name: &str, arguments: JsonObject) -> Result<Vec<PromptMessage>> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        self.ask(|connection| async move {
            let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
            let context = Context::within(WITHIN);
            match connection.request("prompts/get", request, ActiveCall::of(&context)).await? {
                ServerResult::GetPromptResult(prompt) => Ok(prompt
                    .messages
                    .into_iter()
                    .map(|message| PromptMessage {
                        role: format!("{:?}", message.role).to_lowercase(),
                        content: result::content(message.content),
                    })
                    .collect()),
                other => Err(connection.unexpected("prompts/get", &other)),
            }
        })
        .await
    }

    /// Sends a request within the timeout. A response counts as a sign of health.
    pub(super) async fn ask<T, F>(&self, question: impl FnOnce(std::sync::Arc<Connection>) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let asked = async {
            let connection = self.connect().await?;
            question(connection).await
        };
        let late = |_| Err(Error::Timeout { tool: format!("the MCP server {}", self.name()), after: WITHIN });
        let within = WITHIN + self.options().start_within;
        let answered = tokio::time::timeout(within, Box::pin(asked)).await.unwrap_or_else(late);
        self.judge(&answered);
        answered
    }

    /// The server's own version, if it is valid.
    fn version(&self) -> SemanticVersion {
        let software = self.status().software.unwrap_or_default();
        let said = software.rsplit(' ').next().unwrap_or_default();
        said.parse().unwrap_or_else(|_| first_version())
    }
}

/// The default version.
#[allow(clippy::unwrap_used, reason = "1.0.0 is a version")]
fn first_version() -> SemanticVersion {
    "1.0.0".parse().unwrap()
}

fn argument(from: rmcp::model::PromptArgument) -> PromptArgument {
    PromptArgument {
        name: from.name,
        description: from.description.map(|words| plain(&words, DESCRIPTION_CHARS)),
        required: from.required.unwrap_or(false),
    }
}

async fn list_tools(connection: &Connection) -> Result<Vec<Tool>> {
    pages(
        connection,
        "tools/list",
        |params| {
            let request = ListToolsRequest { params, ..Default::default() };
            ClientRequest::ListToolsRequest(request)
        },
        |result| match result {
            ServerResult::ListToolsResult(page) => Some((page.tools, page.next_cursor)),
            _ => None,
        },
    )
    .await
}

/// All pages of a list.
pub(super) async fn pages<T: Serialize>(
    connection: &Connection,
    method: &str,
    request: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
    page: impl Fn(ServerResult) -> Option<(Vec<T>, Option<String>)>,
) -> Result<Vec<T>> {
    let protocol = |detail| Error::Protocol { server: connection.server.to_string(), detail };
    let too_much = |what: &str| protocol(format!("{method} offers more than {what}"));
    let context = Context::within(WITHIN);
    let (mut all, mut bytes, mut params) = (Vec::new(), 0, None);
    for _ in 0..PAGES {
        let answer = connection.request(method, request(params.take()), ActiveCall::of(&context)).await?;
        let other = || protocol(format!("it answered {method} with something else"));
        let (entries, next) = page(answer).ok_or_else(other)?;
        bytes += entries.iter().map(|it| serde_json::to_vec(it).map_or(0, |text| text.len())).sum::<usize>();
        all.extend(entries);
        if all.len() > ENTRIES {
            return Err(too_much(&format!("{ENTRIES} entries")));
        }
        if bytes > BYTES {
            return Err(too_much(&format!("{BYTES} bytes")));
        }
        match next {
            Some(cursor) if !cursor.is_empty() => {
                params = Some(PaginatedRequestParams::default().with_cursor(Some(cursor)));
            }
            _ => return Ok(all),
        }
    }
    Err(too_much(&format!("{PAGES} pages")))
}

/// Sanitizes text: no control characters, limited length.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let invisible = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    text.chars()
        .filter(|c| (!c.is_control() || matches!(c, '\n' | '\t')) && !invisible(*c))
        .take(most)
        .collect()
}

/// The definition of a tool. The error says why there is none.
fn definition(
    server: &McpServer,
    version: &SemanticVersion,
    tool: &Tool,
    now: Timestamp,
) -> Result<Valid<ToolDefinition>, String> {
    let tool_name = ToolName::new(format!("{}.{}", server.name, tool.name)).map_err(|e| e.to_string())?;
    let words = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let words = plain(words, DESCRIPTION_CHARS);
    let words = if words.trim().is_empty() { format!("{} of {}", tool.name, server.name) } else { words };
    let application_domain = match &server.application_domain {
        Some(domain) => domain.clone(),
        None => DomainName::new("generic").map_err(|e| e.to_string())?,
    };
    let hints = tool.annotations.clone().unwrap_or_default();
    let idempotency = match (hints.read_only_hint, hints.idempotent_hint) {
        (Some(true), _) => Idempotency::ReadOnly,
        (_, Some(true)) => Idempotency::Keyed,
        _ => Idempotency::None,
    };
    // The hints on effects are stored as the server sent them. Policy derives the effect
    // (`steward_policy::effect_of`).
    let mut metadata = JsonObject::new();
    if let (Some(destructive), false) = (hints.destructive_hint, idempotency == Idempotency::ReadOnly) {
        metadata.insert("destructive".into(), destructive.into());
    }
    let definition = ToolDefinition {
        id: id(&tool_name, version),
        tool_name,
        tool_version: version.clone(),
        application_domain,
        origin: ToolOrigin::Mcp,
        server: Some(server.name.clone()),
        category: server.category.clone(),
        description: Description::new(words).map_err(|e| e.to_string())?,
        description_embedding: None,
        parameter_schema: (*tool.input_schema).clone(),
        return_schema: tool.output_schema.as_ref().map(|schema| (**schema).clone()).unwrap_or_default(),
        is_active: true,
        requires_validation: false,
        timeout_seconds: server.timeout_seconds,
        fallback_tools: Vec::new(),
        approval: server.approval,
        idempotency,
        created_at: now,
        updated_at: now,
        metadata,
    };
    definition.validate().map_err(|problem| problem.to_string())
}

/// A stable id: the same name and version have the same id on every machine.
pub(crate) fn id(name: &ToolName, version: &SemanticVersion) -> ToolId {
    let hash =
        Sha256::new().chain_update(name.as_str()).chain_update([0]).chain_update(version.as_str()).finalize();
    let bytes = hash.first_chunk::<16>().copied().unwrap_or_default();
    ToolId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
