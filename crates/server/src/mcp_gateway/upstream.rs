//! Resources, prompts and completions of the configured MCP servers, under names that say the
//! server: `mcp://SERVER/URI` and `SERVER.PROMPT`.
//!
//! Invariant: nothing is read from a server but by a call of one of its tools
//! ([`ResourceTool`]), so that the caller's grants apply and the journal names the read.

use super::{ToolboxGateway, failed, names};
use crate::mcp::{
    Argument, Caller as Client, Completion, CompletionRequest, Failure, Message, Prompt, Resource,
    ResourceBody, Session, Speaker, Template,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use steward_domain::{ErrorClass, JsonObject, ServerName};
use steward_runtime::toolbox::ResourceTool;
use steward_tools::call::Receipt;
use steward_tools::mcp::{CompletionQuery, PromptMessage};
use steward_tools::{Content, Output};

const SCHEME: &str = "mcp://";

/// The address of a server's resource or resource template here.
fn address_of(server: &ServerName, uri: &str) -> String {
    format!("{SCHEME}{server}/{uri}")
}

/// The server and its own URI.
fn parse_address(address: &str) -> Option<(ServerName, &str)> {
    let (server, uri) = address.strip_prefix(SCHEME)?.split_once('/')?;
    Some((server.parse().ok()?, uri)).filter(|_| !uri.is_empty())
}

impl ToolboxGateway {
    /// The resources of all servers whose resources the caller may read.
    pub(super) async fn server_resources(&self, caller: &Client) -> Vec<Resource> {
        let caller = self.caller(caller);
        let servers = self.toolbox.server_catalogues(&caller, ResourceTool::ReadResource).await;
        let of = |server: &ServerName, from: &steward_tools::mcp::Resource| Resource {
            uri: address_of(server, &from.uri),
            name: format!("{server}: {}", from.name),
            title: from.title.clone(),
            description: from.description.clone(),
            mime_type: from.mime_type.clone(),
            size: from.size,
        };
        let all = servers.iter().flat_map(|(server, catalogue)| {
            catalogue.resources.iter().map(|resource| of(server, resource)).collect::<Vec<_>>()
        });
        all.collect()
    }

    /// The resource templates of all servers whose resources the caller may read.
    pub(super) async fn server_templates(&self, caller: &Client) -> Vec<Template> {
        let caller = self.caller(caller);
        let servers = self.toolbox.server_catalogues(&caller, ResourceTool::ReadResource).await;
        let of = |server: &ServerName, from: &steward_tools::mcp::ResourceTemplate| Template {
            uri_template: address_of(server, &from.uri_template),
            name: format!("{server}: {}", from.name),
            title: from.title.clone(),
            description: from.description.clone(),
            mime_type: from.mime_type.clone(),
        };
        let all = servers.iter().flat_map(|(server, catalogue)| {
            catalogue.templates.iter().map(|template| of(server, template)).collect::<Vec<_>>()
        });
        all.collect()
    }

    /// Reads a resource of a server. `None` if the address is not one of a server.
    pub(super) async fn read_server_resource(
        &self,
        address: &str,
        session: &Session,
    ) -> Option<Result<Vec<ResourceBody>, Failure>> {
        let (server, uri) = parse_address(address)?;
        let arguments = json!({ "uri": uri }).as_object().cloned().unwrap_or_default();
        let read = self.call_resource_tool(&server, ResourceTool::ReadResource, arguments, session).await;
        Some(match read {
            Ok(receipt) => self.bodies(&server, address, receipt).await,
            Err(failure) => Err(failure),
        })
    }

    async fn call_resource_tool(
        &self,
        server: &ServerName,
        tool: ResourceTool,
        arguments: JsonObject,
        session: &Session,
    ) -> Result<Receipt, Failure> {
        let caller = self.caller(session.caller());
        let name = self.toolbox.resource_tool(&caller, server, tool).await.map_err(failed)?;
        self.receipt(name.as_str(), arguments, session).await
    }

    /// The contents of a resource. A part that was too large for a result is read from its artifact.
    async fn bodies(
        &self,
        server: &ServerName,
        address: &str,
        receipt: Receipt,
    ) -> Result<Vec<ResourceBody>, Failure> {
        let own = format!("artifact://results/{}/", receipt.call);
        let mut bodies = Vec::new();
        for part in receipt.output.content {
            match part {
                Content::Resource { uri, mime_type, text, data } => {
                    let uri = address_of(server, &uri);
                    bodies.push(match (text, data) {
                        (None, Some(data)) => {
                            let bytes = STANDARD.decode(data).map_err(|_| not_base64(address))?;
                            ResourceBody::Blob { uri, mime_type, bytes }
                        }
                        (text, _) => ResourceBody::Text { uri, mime_type, text: text.unwrap_or_default() },
                    });
                }
                Content::Link { uri, mime_type, .. } if uri.starts_with(&own) => {
                    let missing = || Failure::unknown(format!("there is no resource {address}"));
                    let path = self.behind(&uri).ok_or_else(missing)?;
                    bodies.push(super::files::body(address, &path, mime_type).await?);
                }
                _ => {}
            }
        }
        match bodies.is_empty() {
            true => Err(Failure::unknown(format!("{server} has nothing at {address}"))),
            false => Ok(bodies),
        }
    }

    /// The links and resources in a result of a server's tool get addresses that can be read here.
    pub(super) fn address_links(&self, receipt: &mut Receipt) {
        let snapshot = self.toolbox.registry().snapshot();
        let server = snapshot.get(&receipt.tool, None).and_then(|tool| tool.definition.server.clone());
        let Some(server) = server else { return };
        // A large result is an artifact of Steward, not a resource of the server.
        let own = format!("artifact://results/{}/", receipt.call);
        for part in &mut receipt.output.content {
            match part {
                Content::Link { uri, .. } if !uri.starts_with(&own) => *uri = address_of(&server, uri),
                Content::Resource { uri, .. } => *uri = address_of(&server, uri),
                _ => {}
            }
        }
    }

    /// The prompts of all servers whose prompts the caller may get.
    pub(super) async fn server_prompts(&self, caller: &Client) -> Vec<Prompt> {
        let caller = self.caller(caller);
        let servers = self.toolbox.server_catalogues(&caller, ResourceTool::GetPrompt).await;
        let mut all = Vec::new();
        for (server, catalogue) in &servers {
            all.extend(catalogue.prompts.iter().map(|prompt| Prompt {
                name: self.shown_name(&format!("{server}.{}", prompt.name)),
                title: prompt.title.clone(),
                description: prompt.description.clone(),
                arguments: prompt.arguments.iter().map(argument).collect(),
            }));
        }
        all
    }

    fn shown_name(&self, name: &str) -> String {
        if self.exposure.plain_names { names::plain(name) } else { name.to_owned() }
    }

    /// The server of a prompt and the prompt's name there. Dotted names are always accepted, names
    /// without dots if they are listed.
    async fn server_prompt(&self, name: &str, caller: &Client) -> Option<(ServerName, String)> {
        let caller = self.caller(caller);
        let servers = self.toolbox.visible_servers(&caller);
        let split = servers.iter().filter_map(|server| {
            let prompt = name.strip_prefix(server.as_str())?.strip_prefix('.')?;
            (!prompt.is_empty()).then(|| (server.clone(), prompt.to_owned()))
        });
        // The name of one server may be the beginning of another's.
        let dotted = split.max_by_key(|(server, _)| server.as_str().len());
        if dotted.is_some() || !self.exposure.plain_names {
            return dotted;
        }
        let catalogues = self.toolbox.server_catalogues(&caller, ResourceTool::GetPrompt).await;
        catalogues.into_iter().find_map(|(server, catalogue)| {
            let fits = |prompt: &str| names::plain(&format!("{server}.{prompt}")) == name;
            let prompt = catalogue.prompts.iter().find(|prompt| fits(&prompt.name))?;
            Some((server.clone(), prompt.name.clone()))
        })
    }

    /// Gets a prompt of a server.
    pub(super) async fn get_server_prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        session: &Session,
    ) -> Result<Vec<Message>, Failure> {
        let missing = || Failure::unknown(format!("there is no prompt {name}"));
        let (server, prompt) = self.server_prompt(name, session.caller()).await.ok_or_else(missing)?;
        let arguments = json!({ "name": prompt, "arguments": arguments });
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let called = self.call_resource_tool(&server, ResourceTool::GetPrompt, arguments, session).await;
        let output = self.whole(called?).await?;
        let messages = output.structured.as_ref().and_then(|structured| structured.get("messages")).cloned();
        let messages: Vec<PromptMessage> =
            serde_json::from_value(messages.unwrap_or_default()).map_err(|_| missing())?;
        let messages = messages.into_iter().filter_map(|message| {
            let speaker = if message.role == "assistant" { Speaker::Assistant } else { Speaker::User };
            let mut content = message.content?;
            if let Content::Link { uri, .. } | Content::Resource { uri, .. } = &mut content {
                *uri = address_of(&server, uri);
            }
            Some(Message { speaker, content })
        });
        Ok(messages.collect())
    }

    /// The structured result, also if it was too large and is an artifact.
    async fn whole(&self, receipt: Receipt) -> Result<Output, Failure> {
        if receipt.output.structured.is_some() {
            return Ok(receipt.output);
        }
        let uri = format!("artifact://results/{}/structured.json", receipt.call);
        let gone = || Failure::unknown(format!("the result of {} is gone", receipt.tool));
        let path = self.behind(&uri).ok_or_else(gone)?;
        let text = tokio::fs::read(&path).await.map_err(|_| gone())?;
        let structured = serde_json::from_slice::<Json>(&text).map_err(|_| gone())?;
        Ok(Output { structured: Some(structured), ..receipt.output })
    }

    /// Completions of an argument of a server's prompt or resource template. `None` if it is not of
    /// a server.
    pub(super) async fn complete_upstream(
        &self,
        wanted: &CompletionRequest,
        caller: &Client,
    ) -> Option<Result<Completion, Failure>> {
        let (server, of) = match wanted.prompt {
            true => self.server_prompt(&wanted.of, caller).await?,
            false => parse_address(&wanted.of).map(|(server, uri)| (server, uri.to_owned()))?,
        };
        let query = CompletionQuery {
            of,
            prompt: wanted.prompt,
            argument: wanted.argument.clone(),
            typed: wanted.typed.clone(),
            settled: wanted.settled.clone(),
        };
        let found = self.toolbox.complete(&self.caller(caller), &server, query).await;
        let found = found.map(|found| Completion { values: found.values, total: found.total });
        Some(found.map_err(failed))
    }
}

fn argument(from: &steward_tools::mcp::PromptArgument) -> Argument {
    Argument { name: from.name.clone(), description: from.description.clone(), required: from.required }
}

fn not_base64(address: &str) -> Failure {
    Failure::tool("TOL011", format!("the content of {address} is not base64"), ErrorClass::User)
}

#[cfg(test)]
mod tests {
    use super::{address_of, parse_address};

    #[test]
    fn addresses_keep_the_uri_of_the_server() {
        let server = "crm_2".parse().unwrap();
        for uri in ["demo://resource/1", "file:///a%20b?x=1#y", "a", "mcp://inner/x://y", "t://{id}/{+path}"]
        {
            assert_eq!(parse_address(&address_of(&server, uri)), Some((server.clone(), uri)));
        }
        for address in ["mcp://crm", "mcp://crm/", "mcp:///x", "artifact://a/b", "mcp://a b/x", ""] {
            assert_eq!(parse_address(address), None, "{address}");
        }
    }
}
