//! `text.summarize`: the most important sentences of a text, or the points of a conversation.
//!
//! Invariant: the summary is extractive. Every sentence is taken from the text, so nothing is
//! invented, and the same text gives the same summary. No model is used.

mod rank;
mod sentences;
mod transcript;

pub(crate) use rank::words;

use super::{Builtin, VERSION, arguments, blocking, example, misfit, schema};
use crate::error::Result;
use crate::tool::{Content, Context, Output, Tool};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use steward_domain::{ApprovalMode, Idempotency, JsonObject};
use steward_policy::AdmittedCall;

/// The tool's name.
pub const NAME: &str = "text.summarize";
const DESCRIPTION: &str = "Summarize a long text, article, document or chat conversation: shorten it to its \
    most important sentences, key points and keywords. For a list of chat messages such as a Slack thread it \
    also gives the \
    participants, decisions, action items and open questions. Sentences are taken from the text word for word.";
/// The maximum length of a text, in characters.
const LONGEST: usize = 400_000;
/// The maximum number of messages.
const MESSAGES: usize = 1000;
/// The maximum number of sentences in a summary.
const MOST: usize = 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: Option<String>,
    messages: Option<Vec<Message>>,
    sentences: Option<usize>,
    share: Option<f64>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The author.
    pub author: String,
    /// The text.
    pub text: String,
    /// The time. It is not used for the summary.
    #[serde(default)]
    pub time: Option<String>,
}

fn parameters() -> JsonObject {
    schema(
        json!({
            "text": { "type": "string", "minLength": 1, "maxLength": LONGEST,
                "description": "The text. Give either text or messages" },
            "messages": { "type": "array", "minItems": 1, "maxItems": MESSAGES,
                "description": "A conversation in its order. Give either text or messages",
                "items": {
                    "type": "object",
                    "properties": {
                        "author": { "type": "string", "description": "Who said it" },
                        "text": { "type": "string", "description": "What was said" },
                        "time": { "type": "string", "description": "When it was said" },
                    },
                    "required": ["author", "text"],
                    "additionalProperties": false,
                } },
            "sentences": { "type": "integer", "minimum": 1, "maximum": MOST,
                "description": "How many sentences or points are chosen; 3 to 5 by default, depending on the \
                    length" },
            "share": { "type": "number", "exclusiveMinimum": 0, "maximum": 1,
                "description": "Instead of sentences: which share of the sentences is kept, such as 0.2" },
        }),
        &[],
    )
}

fn returns() -> JsonObject {
    let point = json!({ "type": "object", "properties": {
        "author": { "type": "string", "description": "Who said it" },
        "text": { "type": "string", "description": "What was said" },
        "message": { "type": "integer", "description": "Which message, from 1" },
    }, "required": ["author", "text", "message"], "additionalProperties": false });
    let points = |what: &str| json!({ "type": "array", "description": what, "items": point });
    schema(
        json!({
            "summary": { "type": "string", "description": "The chosen sentences, in the order of the text" },
            "sentences": { "type": "array", "description": "Each chosen sentence of a text", "items": {
                "type": "object",
                "properties": {
                    "text": { "type": "string", "description": "The sentence" },
                    "position": { "type": "integer", "description": "Which sentence of the text, from 1" },
                    "score": { "type": "number", "description": "How much it says of the text, up to 1" },
                },
                "required": ["text", "position", "score"], "additionalProperties": false } },
            "keywords": { "type": "array", "description": "The words that say most", "items": { "type": "string" } },
            "of": { "type": "integer", "description": "How many sentences there were" },
            "participants": { "type": "array", "description": "Who said how much", "items": {
                "type": "object",
                "properties": {
                    "author": { "type": "string", "description": "Who" },
                    "messages": { "type": "integer", "description": "How many messages" },
                },
                "required": ["author", "messages"], "additionalProperties": false } },
            "key_points": points("What matters most in the conversation"),
            "decisions": points("What was decided"),
            "action_items": points("What somebody is to do"),
            "open_questions": points("Questions that nobody answered"),
        }),
        &["summary", "keywords", "of"],
    )
}

/// The tool.
pub(super) fn builtin() -> Builtin {
    Builtin {
        name: NAME,
        version: VERSION,
        description: DESCRIPTION,
        parameters: parameters(),
        returns: returns(),
        idempotency: Idempotency::ReadOnly,
        approval: ApprovalMode::Never,
        category: "text_tools",
        examples: vec![
            example(
                "summarize this article in three sentences",
                json!({ "text": "The article.", "sentences": 3 }),
            ),
            example(
                "what was decided in this thread?",
                json!({ "messages": [{ "author": "ana", "text": "We agreed to ship on Friday." }] }),
            ),
            example("give me the key points of this report", json!({ "text": "The report.", "share": 0.2 })),
        ],
        off: None,
        tool: Arc::new(Summarize),
    }
}

struct Summarize;

#[async_trait]
impl Tool for Summarize {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output> {
        let asked: Arguments = arguments(call)?;
        if asked.sentences.is_some() && asked.share.is_some() {
            return Err(misfit(call, "give sentences or share, not both"));
        }
        let said = asked.messages.as_deref().unwrap_or_default();
        let length = asked.text.as_ref().map_or(0, String::len)
            + said.iter().map(|message| message.text.len() + message.author.len()).sum::<usize>();
        if length > LONGEST * 4 || said.len() > MESSAGES {
            return Err(misfit(
                call,
                format!("the text has more than {LONGEST} characters; give it in parts"),
            ));
        }
        let wanted = SummaryLength { sentences: asked.sentences, share: asked.share };
        match (asked.text, asked.messages) {
            (Some(text), None) => blocking(call, context, move || Ok(output(of_text(&text, wanted)))).await,
            (None, Some(messages)) => {
                blocking(call, context, move || Ok(output(transcript::summary(&messages, wanted)))).await
            }
            _ => Err(misfit(call, "give either text or messages")),
        }
    }
}

fn output((text, structured): (String, Json)) -> Output {
    Output { content: vec![Content::Text { text }], structured: Some(structured) }
}

/// The requested length of the summary.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SummaryLength {
    pub(super) sentences: Option<usize>,
    pub(super) share: Option<f64>,
}

impl SummaryLength {
    /// The number of sentences to choose out of a total.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the share lies between 0 and 1 and is rounded up"
    )]
    fn of(self, total: usize) -> usize {
        let count = match (self.sentences, self.share) {
            (Some(count), _) => count,
            (None, Some(share)) => (share.clamp(0.0, 1.0) * total as f64).ceil() as usize,
            (None, None) => (total / 8).clamp(3, 5),
        };
        count.clamp(1, MOST).min(total)
    }
}

fn of_text(text: &str, wanted: SummaryLength) -> (String, Json) {
    let all = sentences::split(text);
    let texts: Vec<&str> = all.iter().map(String::as_str).collect();
    let ranked = rank::Ranked::new(&texts);
    let chosen = ranked.choose(wanted.of(texts.len()), rank::Position::Article);
    let picked: Vec<Json> = (chosen.iter())
        .filter_map(|(place, score)| {
            Some(json!({ "text": texts.get(*place)?, "position": place + 1, "score": score }))
        })
        .collect();
    let words: Vec<&str> = chosen.iter().filter_map(|(place, _)| texts.get(*place).copied()).collect();
    let summary = words.join(" ");
    let structured = json!({
        "summary": summary, "sentences": picked, "keywords": ranked.keywords(8), "of": texts.len(),
    });
    (summary, structured)
}

#[cfg(test)]
#[path = "summarize_tests.rs"]
mod tests;
