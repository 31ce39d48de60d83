//! The A2A agent card: the skills of this agent, described for other agents.

use crate::http::Shared;
use crate::http::extract::Authenticated;
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, HOST, VARY};
use axum::response::IntoResponse;
use serde_json::json;

pub(super) async fn card(
    State(site): State<Shared>,
    headers: HeaderMap,
    who: Result<Authenticated, Problem>,
) -> impl IntoResponse {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let scheme = if site.options.secure_cookies { "https" } else { "http" };
    let url = format!("{scheme}://{host}/a2a");
    let mut skills = vec![json!({
        "id": "ask", "name": "Ask", "tags": ["questions", "data", "tools"],
        "description": "Answers questions about data and tools in plain language, with sources, and carries \
            out what is asked.",
        "examples": ["What can you do?"],
    })];
    // The configured skills are listed only for authenticated callers.
    if let Ok(Authenticated(identity)) = who
        && let Ok(reader) = site.chat.reader(&site.caller(&identity), &[]).await
    {
        skills.extend(reader.domains().map(|topic| {
            json!({ "id": topic.name, "name": topic.title, "description": if topic.description.is_empty() { &topic.title } else { &topic.description }, "tags": [topic.name] })
        }));
    }
    let face =
        |version: &str| json!({ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": version });
    let mut card = json!({
        "name": "Steward", "description": "An agent you can account for: it answers about data and tools, \
            with sources, and can prove afterwards what it did.",
        "version": env!("CARGO_PKG_VERSION"), "supportedInterfaces": [face("1.0"), face("0.3")],
        "capabilities": { "streaming": true, "pushNotifications": false, "extendedAgentCard": false },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain", "application/json"], "skills": skills,
        "url": url, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0",
    });
    if let (Some(card), true) =
        (card.as_object_mut(), site.directory.has_users() || !site.options.loopback_owner)
    {
        let scheme =
            json!({ "httpAuthSecurityScheme": { "scheme": "Bearer" }, "type": "http", "scheme": "bearer" });
        card.insert("securitySchemes".into(), json!({ "key": scheme }));
        card.insert("security".into(), json!([{ "key": [] }]));
        card.insert("securityRequirements".into(), json!([{ "schemes": { "key": { "list": [] } } }]));
    }
    // The skills depend on the caller.
    ([(CACHE_CONTROL, "private, max-age=60"), (VARY, "Authorization, Cookie")], Json(card))
}
