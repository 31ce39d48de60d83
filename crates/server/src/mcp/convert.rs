//! Converts between the types of this crate and those of `rmcp`. It makes no decisions.
#![allow(deprecated, reason = "sampling, roots and the log are part of every revision up to 2025-11-25")]

use super::gateway::{Failure, Kind, Message, Offered, Prompt, Resource, ResourceBody, Speaker, Template};
use super::session::{ClientPrompt, Level, Sampled};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CallToolResult, ClientCapabilities, ContentBlock, CreateMessageRequest, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData,
    InputRequest, ListRootsRequest, ListRootsResult, LoggingLevel, MetaObject, PromptArgument, PromptMessage,
    ResourceContents, Role, SamplingMessage, SamplingMessageContentBlock, Tool, ToolAnnotations,
};
use rmcp::{Peer, RoleServer, ServiceError};
use serde_json::{Value as Json, json};
use steward_domain::ErrorClass;
use steward_tools::{Content, Output};

/// The media type of a view of MCP Apps.
pub(crate) const VIEW_TYPE: &str = "text/html;profile=mcp-app";

pub(super) fn tool(offered: Offered) -> Tool {
    let annotations = ToolAnnotations::new()
        .read_only(offered.read_only)
        .destructive(offered.destructive)
        .idempotent(offered.idempotent)
        .open_world(offered.open_world);
    let mut tool =
        Tool::new(offered.name, offered.description, offered.input_schema).with_annotations(annotations);
    tool.title = offered.title;
    tool.output_schema = offered.output_schema;
    tool.meta = offered.view.map(|uri| ui_meta(json!({ "resourceUri": uri })));
    tool
}

/// The metadata of MCP Apps.
fn ui_meta(ui: Json) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.0.insert("ui".into(), ui);
    meta
}

pub(super) fn resource(from: Resource) -> rmcp::model::Resource {
    let mut resource = rmcp::model::Resource::new(from.uri, from.name);
    resource.title = from.title;
    resource.description = from.description;
    resource.mime_type = from.mime_type;
    resource.size = from.size;
    resource
}

pub(super) fn template(from: Template) -> rmcp::model::ResourceTemplate {
    let mut template = rmcp::model::ResourceTemplate::new(from.uri_template, from.name);
    template.title = from.title;
    template.description = from.description;
    template.mime_type = from.mime_type;
    template
}

pub(super) fn prompt(from: Prompt) -> rmcp::model::Prompt {
    let arguments = from.arguments.into_iter().map(|argument| {
        let mut out = PromptArgument::new(argument.name).with_required(argument.required);
        out.description = argument.description;
        out
    });
    let arguments: Vec<_> = arguments.collect();
    let mut prompt =
        rmcp::model::Prompt::new(from.name, from.description, (!arguments.is_empty()).then_some(arguments));
    prompt.title = from.title;
    prompt
}

pub(super) fn body(from: ResourceBody) -> ResourceContents {
    let (contents, mime_type) = match from {
        ResourceBody::Text { uri, mime_type, text } => (ResourceContents::text(text, uri), mime_type),
        ResourceBody::Blob { uri, mime_type, bytes } => {
            (ResourceContents::blob(STANDARD.encode(bytes), uri), mime_type)
        }
        ResourceBody::View { uri, html } => {
            // No domain: the host allows no connection, no foreign file and no frame.
            let csp = json!({ "connectDomains": [], "resourceDomains": [], "frameDomains": [] });
            let ui = json!({ "csp": csp, "prefersBorder": true });
            (ResourceContents::text(html, uri).with_meta(ui_meta(ui)), Some(VIEW_TYPE.to_owned()))
        }
    };
    match mime_type {
        Some(mime_type) => contents.with_mime_type(mime_type),
        None => contents,
    }
}

fn role(speaker: Speaker) -> Role {
    match speaker {
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
    }
}

pub(super) fn message(from: Message) -> PromptMessage {
    PromptMessage::new(role(from.speaker), content(from.content))
}

pub(super) fn content(from: Content) -> ContentBlock {
    match from {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        Content::Audio { data, mime_type } => ContentBlock::audio(data, mime_type),
        Content::Resource { uri, mime_type, text, data } => {
            let contents = match (text, data) {
                (None, Some(data)) => ResourceContents::blob(data, uri),
                (text, _) => ResourceContents::text(text.unwrap_or_default(), uri),
            };
            ContentBlock::resource(match mime_type {
                Some(mime_type) => contents.with_mime_type(mime_type),
                None => contents,
            })
        }
        Content::Link { uri, name, mime_type } => {
            let mut link = rmcp::model::Resource::new(uri, name);
            link.mime_type = mime_type;
            ContentBlock::resource_link(link)
        }
    }
}

pub(super) fn output(from: Output) -> CallToolResult {
    let mut result = CallToolResult::success(from.content.into_iter().map(content).collect());
    result.structured_content = from.structured;
    // A success carries no flag: absent means false.
    result.is_error = None;
    result
}

/// Converts a failure to a tool result that the model reads, or to a protocol error.
pub(super) fn failed(failure: Failure) -> Result<CallToolResult, ErrorData> {
    if failure.kind != Kind::Tool {
        return Err(error(failure));
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(failure.message)]);
    let mut meta = MetaObject::new();
    meta.0.insert("steward/code".into(), failure.code.into());
    meta.0.insert("steward/class".into(), class(failure.class).into());
    result.meta = Some(meta);
    Ok(result)
}

fn class(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::User => "user",
        ErrorClass::Denied => "denied",
        ErrorClass::Transient => "transient",
        ErrorClass::Bug => "bug",
    }
}

/// Converts a failure to a protocol error.
pub(super) fn error(failure: Failure) -> ErrorData {
    let data = json!({"code": failure.code, "class": class(failure.class)});
    match failure.kind {
        Kind::Unknown => ErrorData::invalid_params(failure.message, Some(data)),
        Kind::Needs(capability) => {
            let mut required = ClientCapabilities::default();
            match capability {
                "sampling" => required.sampling = Some(Default::default()),
                "roots" => required.roots = Some(Default::default()),
                "tasks" => required = ClientCapabilities::builder().enable_tasks().build(),
                _ => required.elicitation = Some(Default::default()),
            }
            let mut error = ErrorData::missing_required_client_capability(required);
            error.message = failure.message.into();
            error
        }
        Kind::Tool => ErrorData::internal_error(failure.message, Some(data)),
    }
}

pub(super) fn level(level: Level) -> LoggingLevel {
    match level {
        Level::Debug => LoggingLevel::Debug,
        Level::Info => LoggingLevel::Info,
        Level::Notice => LoggingLevel::Notice,
        Level::Warning => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
        Level::Critical => LoggingLevel::Critical,
        Level::Alert => LoggingLevel::Alert,
        Level::Emergency => LoggingLevel::Emergency,
    }
}

pub(super) fn from_level(level: LoggingLevel) -> Level {
    match level {
        LoggingLevel::Debug => Level::Debug,
        LoggingLevel::Info => Level::Info,
        LoggingLevel::Notice => Level::Notice,
        LoggingLevel::Warning => Level::Warning,
        LoggingLevel::Error => Level::Error,
        LoggingLevel::Critical => Level::Critical,
        LoggingLevel::Alert => Level::Alert,
        LoggingLevel::Emergency => Level::Emergency,
    }
}

/// The schema of a form without fields, for accept or decline.
pub(super) fn empty_form() -> Json {
    json!({"type": "object", "properties": {}})
}

fn elicitation(message: String, schema: Json) -> Result<ElicitRequestParams, Failure> {
    let requested_schema = serde_json::from_value(schema).map_err(|problem| {
        let message = format!("this form cannot be shown: {problem}. MCP forms hold plain values only");
        Failure::tool("MCP004", message, ErrorClass::User)
    })?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

fn opening(message: String, url: String, id: String) -> ElicitRequestParams {
    ElicitRequestParams::UrlElicitationParams { meta: None, message, url, elicitation_id: id }
}

fn sampling(messages: Vec<Message>, system: Option<String>, max_tokens: u32) -> CreateMessageRequestParams {
    let messages = messages.into_iter().map(|message| {
        let block = match message.content {
            Content::Image { data, mime_type } => {
                SamplingMessageContentBlock::Image(rmcp::model::ImageContent::new(data, mime_type))
            }
            Content::Audio { data, mime_type } => {
                SamplingMessageContentBlock::Audio(rmcp::model::AudioContent::new(data, mime_type))
            }
            other => {
                SamplingMessageContentBlock::text(Output { content: vec![other], structured: None }.words())
            }
        };
        SamplingMessage::new(role(message.speaker), block)
    });
    let mut params = CreateMessageRequestParams::new(messages.collect(), max_tokens);
    params.system_prompt = system;
    params
}

/// A prompt as part of a result (from 2026-07-28 on).
pub(super) fn input(want: ClientPrompt) -> Result<InputRequest, Failure> {
    Ok(match want {
        ClientPrompt::Form { message, schema } => {
            InputRequest::Elicitation(ElicitRequest::new(elicitation(message, schema)?))
        }
        ClientPrompt::Url { message, url, id } => {
            InputRequest::Elicitation(ElicitRequest::new(opening(message, url, id)))
        }
        ClientPrompt::Sample { messages, system, max_tokens } => {
            InputRequest::CreateMessage(CreateMessageRequest::new(sampling(messages, system, max_tokens)))
        }
        ClientPrompt::Roots => InputRequest::ListRoots(ListRootsRequest::default()),
    })
}

/// Sends a prompt as a server request (up to 2025-11-25).
pub(super) async fn request(peer: &Peer<RoleServer>, want: ClientPrompt) -> Result<Json, Failure> {
    let answer = match want {
        ClientPrompt::Form { message, schema } => {
            let answer = peer
                .create_elicitation(elicitation(message, schema)?)
                .await
                .map_err(|error| unanswered(&error))?;
            serde_json::to_value(answer)
        }
        ClientPrompt::Url { message, url, id } => {
            let answer = peer
                .create_elicitation(opening(message, url, id))
                .await
                .map_err(|error| unanswered(&error))?;
            serde_json::to_value(answer)
        }
        ClientPrompt::Sample { messages, system, max_tokens } => {
            let params = sampling(messages, system, max_tokens);
            serde_json::to_value(peer.create_message(params).await.map_err(|error| unanswered(&error))?)
        }
        ClientPrompt::Roots => {
            serde_json::to_value(peer.list_roots().await.map_err(|error| unanswered(&error))?)
        }
    };
    answer.map_err(|problem| Failure::unanswered(problem.to_string()))
}

fn unanswered(error: &ServiceError) -> Failure {
    Failure::unanswered(format!("the client did not answer: {error}"))
}

/// Whether a response has the requested shape.
pub(super) fn fits(want: &ClientPrompt, answer: &Json) -> bool {
    match want {
        ClientPrompt::Form { schema, .. } => {
            let Ok(result) = serde_json::from_value::<ElicitResult>(answer.clone()) else { return false };
            result.action != ElicitationAction::Accept || fills(schema, result.content.as_ref())
        }
        ClientPrompt::Url { .. } => serde_json::from_value::<ElicitResult>(answer.clone()).is_ok(),
        ClientPrompt::Sample { .. } => serde_json::from_value::<CreateMessageResult>(answer.clone()).is_ok(),
        ClientPrompt::Roots => serde_json::from_value::<ListRootsResult>(answer.clone()).is_ok(),
    }
}

/// Whether a form is complete: each required field is present, each field has its type.
fn fills(schema: &Json, content: Option<&Json>) -> bool {
    let Some(Json::Object(content)) = content else { return false };
    let required = schema.get("required").and_then(Json::as_array).into_iter().flatten();
    let complete = required.filter_map(Json::as_str).all(|field| content.contains_key(field));
    complete
        && content.iter().all(|(field, value)| {
            let kind = schema.pointer(&format!("/properties/{field}/type")).and_then(Json::as_str);
            match kind {
                Some("string") => value.is_string(),
                Some("boolean") => value.is_boolean(),
                Some("integer" | "number") => value.is_number(),
                Some("array") => value.is_array(),
                _ => true,
            }
        })
}

/// Parses the message of the client's model.
pub(super) fn sampled(answer: Json) -> Result<Sampled, Failure> {
    let result: CreateMessageResult =
        serde_json::from_value(answer).map_err(|problem| Failure::unanswered(problem.to_string()))?;
    let blocks = result.message.content.into_vec().into_iter().filter_map(|block| match block {
        SamplingMessageContentBlock::Text(text) => Some(Content::Text { text: text.text }),
        SamplingMessageContentBlock::Image(image) => {
            Some(Content::Image { data: image.data, mime_type: image.mime_type })
        }
        SamplingMessageContentBlock::Audio(audio) => {
            Some(Content::Audio { data: audio.data, mime_type: audio.mime_type })
        }
        _ => None,
    });
    Ok(Sampled { model: result.model, content: blocks.collect(), stop_reason: result.stop_reason })
}

/// Parses the client's root folders.
pub(super) fn roots(answer: Json) -> Result<Vec<(String, Option<String>)>, Failure> {
    let result: ListRootsResult =
        serde_json::from_value(answer).map_err(|problem| Failure::unanswered(problem.to_string()))?;
    Ok(result.roots.into_iter().map(|root| (root.uri, root.name)).collect())
}
