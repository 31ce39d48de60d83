//! Answers requests of MCP servers (elicitation) at the terminal.

use super::result::printable;
use crate::output::{Tone, paint};
use serde_json::Value as Json;
use std::io::{IsTerminal as _, Write as _};
use steward_domain::JsonObject;
use steward_tools::{Answered, Elicitation, Human};

/// The user at the terminal, for servers that request input.
pub(super) struct Terminal;

#[async_trait::async_trait]
impl Human for Terminal {
    async fn ask(&self, question: Elicitation) -> Answered {
        if !std::io::stdin().is_terminal() {
            return Answered::Cancelled;
        }
        tokio::task::spawn_blocking(move || asked(&question)).await.unwrap_or(Answered::Cancelled)
    }
}

fn asked(question: &Elicitation) -> Answered {
    eprintln!("{} asks: {}", question.server, printable(&question.message));
    if let Some(url) = &question.url {
        eprintln!("Open {} and press Enter, or type n.", printable(url));
        return match line() {
            Some(answer) if answer != "n" => Answered::Accepted(JsonObject::new()),
            Some(_) => Answered::Declined,
            None => Answered::Cancelled,
        };
    }
    let properties =
        question.schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Json::as_object);
    let mut answers = JsonObject::new();
    for (name, property) in properties.into_iter().flatten() {
        let about = property.get("description").and_then(Json::as_str).unwrap_or_default();
        eprint!("  {name} {} ", paint(Tone::Quiet, &printable(about)));
        let _shown = std::io::stderr().flush();
        let Some(answer) = line() else { return Answered::Cancelled };
        if !answer.is_empty() {
            let text = property.get("type").and_then(Json::as_str) == Some("string");
            let value = if text {
                Json::from(answer)
            } else {
                serde_json::from_str(&answer).unwrap_or_else(|_| Json::from(answer))
            };
            answers.insert(name.clone(), value);
        }
    }
    Answered::Accepted(answers)
}

fn line() -> Option<String> {
    let mut line = String::new();
    (std::io::stdin().read_line(&mut line).ok()? > 0).then(|| line.trim().to_owned())
}
