//! Resource templates, completions, and what a running server offers beside tools.
//!
//! Invariant: text of a server is sanitized and truncated, as in [`super::discover`].

use super::discover::{DESCRIPTION_CHARS, WITHIN, pages, plain};
use crate::error::Result;
use crate::mcp::calls::ActiveCall;
use crate::mcp::connection::Connection;
use crate::mcp::server::Handle;
use crate::tool::Context;
use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompletionContext,
    ListResourceTemplatesRequest, Reference, ServerResult,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A template of resource URIs (RFC 6570).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResourceTemplate {
    /// The template.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The media type of the resources.
    pub mime_type: Option<String>,
}

/// What a running server offers beside tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Features {
    /// Resources and their templates.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
    /// Completions of their arguments.
    pub completions: bool,
}

/// A partially typed argument of a prompt or a resource template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionQuery {
    /// The prompt's name or the template's URI.
    pub of: String,
    /// Whether `of` is a prompt.
    pub prompt: bool,
    /// The argument's name.
    pub argument: String,
    /// The text typed so far.
    pub typed: String,
    /// The values of other arguments.
    pub settled: BTreeMap<String, String>,
}

/// The completions of an argument.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// The values, the best first.
    pub values: Vec<String>,
    /// The total number of values.
    pub total: Option<u32>,
}

/// The maximum number of completions, and the length of each.
const VALUES: usize = 100;
const VALUE_CHARS: usize = 500;

impl Handle {
    /// What the running server offers. Nothing if it does not run.
    #[must_use]
    pub fn features(&self) -> Features {
        let Some(live) = self.live() else { return Features::default() };
        let offered = &live.info.capabilities;
        Features {
            resources: offered.resources.is_some(),
            prompts: offered.prompts.is_some(),
            completions: offered.completions.is_some(),
        }
    }

    /// All resource templates of the server.
    ///
    /// # Errors
    /// When the request fails, or the list exceeds the limits.
    pub async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        let listed = self.ask(|connection| async move {
            if connection.info.capabilities.resources.is_none() {
                return Ok(Vec::new());
            }
            let request = |params| {
                let request = ListResourceTemplatesRequest { params, ..Default::default() };
                ClientRequest::ListResourceTemplatesRequest(request)
            };
            pages(&connection, "resources/templates/list", request, |result| match result {
                ServerResult::ListResourceTemplatesResult(page) => {
                    Some((page.resource_templates, page.next_cursor))
                }
                _ => None,
            })
            .await
        });
        let listed = listed.await?.into_iter().map(|it| ResourceTemplate {
            uri_template: it.uri_template,
            name: plain(&it.name, 200),
            title: it.title.map(|title| plain(&title, 200)),
            description: it.description.map(|words| plain(&words, DESCRIPTION_CHARS)),
            mime_type: it.mime_type,
        });
        Ok(listed.collect())
    }

    /// Completes an argument. A server without completions has no suggestions.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn complete(&self, query: CompletionQuery) -> Result<Suggestions> {
        self.ask(|connection| async move { complete(&connection, query).await }).await
    }
}

async fn complete(connection: &Connection, query: CompletionQuery) -> Result<Suggestions> {
    if connection.info.capabilities.completions.is_none() {
        return Ok(Suggestions::default());
    }
    let of = match query.prompt {
        true => Reference::for_prompt(query.of),
        false => Reference::for_resource(query.of),
    };
    let mut params = CompleteRequestParams::new(of, ArgumentInfo::new(query.argument, query.typed));
    if !query.settled.is_empty() {
        let settled = query.settled.into_iter().collect();
        params = params.with_context(CompletionContext::with_arguments(settled));
    }
    let request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
    let context = Context::within(WITHIN);
    match connection.request("completion/complete", request, ActiveCall::of(&context)).await? {
        ServerResult::CompleteResult(found) => {
            let found = found.completion;
            let values = found.values.iter().take(VALUES).map(|value| plain(value, VALUE_CHARS));
            Ok(Suggestions { values: values.collect(), total: found.total })
        }
        other => Err(connection.unexpected("completion/complete", &other)),
    }
}
