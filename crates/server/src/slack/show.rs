//! Formats a reply for Slack: text, tables, buttons, and below them the evidence.
//!
//! Invariant: a button carries identifiers only (task, option, digest, users). The answer or call
//! itself is read from the store when the button is pressed.

use super::api::Post;
use super::event::{ChannelThread, Person};
use super::mrkdwn::{escape, fixed, mrkdwn, pieces};
use super::table::Rows;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use steward_domain::{TaskId, UserId};
use steward_runtime::converse::{Asked, Outcome, ProgressEvent, Reply};
use steward_runtime::toolbox::Waiting;

/// The maximum number of characters in a block.
const BLOCK: usize = 2900;
/// The maximum number of tables in a message.
const TABLES: usize = 5;
/// The maximum number of buttons.
const BUTTONS: usize = 10;
/// The maximum number of characters on a button.
const BUTTON: usize = 72;
/// The maximum number of argument blocks. An approver must see all arguments.
const ARGUMENTS: usize = 40;
/// The id of the block with the buttons of a question.
pub(super) const ANSWERS: &str = "steward.answers";
/// The action ids of the buttons.
pub(super) const ANSWER: &str = "steward.answer";
pub(super) const APPROVE: &str = "steward.approve";
pub(super) const REJECT: &str = "steward.reject";

/// The value of a question's button.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Choice {
    /// The task of the turn that asked.
    pub(super) task: TaskId,
    /// The index of the option, from 0.
    pub(super) option: usize,
    pub(super) place: ChannelThread,
    /// The user who was asked.
    pub(super) asked: Person,
}

/// The value of an approval button.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Decision {
    /// The task of the pending call.
    pub(super) task: TaskId,
    /// The user for whom the call would be made.
    pub(super) owner: UserId,
    /// The digest of what was shown.
    pub(super) digest: String,
}

/// A file attached to a message.
pub(super) struct Attached {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn section(text: &str) -> Json {
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
}

pub(super) fn context(text: &str) -> Json {
    let text: String = text.chars().take(BLOCK).collect();
    json!({ "type": "context", "elements": [{ "type": "mrkdwn", "text": text }] })
}

fn button(label: &str, action: &str, value: &impl Serialize, style: Option<&str>) -> Json {
    let short: String = label.chars().take(BUTTON).collect();
    let label = if short.len() < label.len() { format!("{short}…") } else { short };
    let mut button = json!({ "type": "button", "action_id": action, "value": json!(value).to_string(),
        "text": { "type": "plain_text", "text": label, "emoji": false } });
    if let (Some(style), Some(button)) = (style, button.as_object_mut()) {
        button.insert("style".to_owned(), style.into());
    }
    button
}

/// A text-only message.
pub(super) fn words(text: &str) -> Post {
    let text = mrkdwn(text);
    let blocks = pieces(&text, BLOCK).iter().take(10).map(|piece| section(piece)).collect();
    Post { text: text.chars().take(BLOCK).collect(), blocks }
}

/// Formats a reply to a user, with its attached files.
pub(super) fn reply(reply: &Reply, place: &ChannelThread, asked: &Person) -> (Post, Vec<Attached>) {
    let told: Vec<&str> =
        reply.decisions.iter().chain([&reply.response.answer]).map(String::as_str).collect();
    let mut post = words(&told.join("\n"));
    let mut files = Vec::new();
    // The first table is the answer. The others are intermediate results.
    let first = reply.analyses.iter().filter_map(|answer| answer.tables.first());
    let of_analysis = first.map(|shown| {
        let columns = shown.frame.fields.iter().map(|field| field.name.clone()).collect();
        let rows = shown.frame.rows.iter().map(|row| row.iter().map(|cell| cell.plain()).collect()).collect();
        Rows::new(shown.title.clone(), columns, rows)
    });
    let tables = reply.tables.iter().map(Rows::from).chain(of_analysis).filter(|rows| !rows.is_small());
    for (place, rows) in tables.take(TABLES).enumerate() {
        let drawn = rows.draw();
        let title = if rows.title.is_empty() { format!("Table {}", place + 1) } else { rows.title.clone() };
        if let Some(text) = &drawn.text {
            post.blocks.push(section(&fixed(text)));
        }
        if let Some(bytes) = drawn.csv {
            files.push(Attached { name: file_name(&title, "csv"), title, bytes });
        }
    }
    for chart in reply.analyses.iter().flat_map(|answer| &answer.charts) {
        let title = chart.spec.title.clone();
        files.push(Attached { name: file_name(&title, "png"), title, bytes: chart.drawn.png.clone() });
    }
    if let Some(question) = &reply.question {
        post.blocks.extend(answers(question, reply.task_id, place, asked));
    }
    post.blocks.extend(beneath(reply));
    (post, files)
}

/// The buttons of a question.
fn answers(question: &Asked, task: TaskId, place: &ChannelThread, asked: &Person) -> Option<Json> {
    let buttons: Vec<Json> = question
        .options
        .iter()
        .take(BUTTONS)
        .enumerate()
        .map(|(option, offered)| {
            let bound = Choice { task, option, place: place.clone(), asked: asked.clone() };
            button(&offered.label, &format!("{ANSWER}.{option}"), &bound, None)
        })
        .collect();
    (!buttons.is_empty()).then(|| json!({ "type": "actions", "block_id": ANSWERS, "elements": buttons }))
}

/// The evidence of the answer, and suggested questions.
fn beneath(reply: &Reply) -> Vec<Json> {
    let mut blocks = Vec::new();
    let answered = matches!(reply.outcome, Outcome::Answered | Outcome::Partial | Outcome::NotFound);
    if answered && !reply.response.sources.is_empty() {
        let sources: Vec<&str> = reply.response.sources.iter().map(|source| source.as_str()).collect();
        let confidence = json!(reply.response.confidence);
        let partial = if reply.response.partial_results { " · a part is missing" } else { "" };
        let seconds = std::time::Duration::from_millis(reply.response.total_execution_time_ms).as_secs_f64();
        blocks.push(context(&format!(
            "Sources: {} · confidence {}{partial} · {seconds:.1} s · task `{}`",
            escape(&sources.join(", ")),
            confidence.as_str().unwrap_or("low"),
            reply.task_id
        )));
    }
    if !reply.response.suggestions.is_empty() {
        let lines: Vec<String> =
            reply.response.suggestions.iter().map(|text| format!("• {}", escape(text))).collect();
        blocks.push(context(&format!("You could ask next:\n{}", lines.join("\n"))));
    }
    blocks
}

/// A pending call with its exact arguments. Nothing is omitted: a call that does not fit cannot be
/// decided here.
pub(super) fn waiting(call: &Waiting) -> Post {
    let tool = escape(&call.tool);
    let text =
        format!("Approval needed: `{tool}` for {}. {}", escape(call.user.as_str()), escape(&call.reason));
    let mut blocks = vec![section(&format!(":raised_hand: *{text}*"))];
    let shown = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
    let arguments = pieces(&shown, BLOCK / 2);
    if arguments.len() > ARGUMENTS {
        blocks.push(section(&format!(
            "It is too large to be shown here: `steward approvals approve {}`",
            call.task
        )));
        return Post { text, blocks };
    }
    blocks.extend(arguments.iter().map(|piece| section(&fixed(piece))));
    let from = call
        .provenance
        .iter()
        .map(|(name, from)| format!("{name}: {}", from.as_str().unwrap_or("untrusted")));
    let from = from.collect::<Vec<_>>().join(", ");
    blocks.push(context(&escape(&format!(
        "Where it comes from: {from} · task {} · until {}",
        call.task, call.until
    ))));
    let bound = Decision { task: call.task, owner: call.user.clone(), digest: call.digest.clone() };
    blocks.push(json!({ "type": "actions", "elements": [
        button("Approve", APPROVE, &bound, Some("primary")), button("Reject", REJECT, &bound, Some("danger")),
    ] }));
    Post { text, blocks }
}

/// The progress of a turn.
#[derive(Debug, Default)]
pub(super) struct Progress {
    steps: Vec<(String, Option<(bool, f64)>)>,
}

impl Progress {
    pub(super) fn hear(&mut self, heard: ProgressEvent) {
        match heard {
            ProgressEvent::Waiting { servers } => {
                self.steps = vec![(format!("wait for {} to start", servers.join(", ")), None)];
            }
            ProgressEvent::Understood { steps } => {
                self.steps = steps.into_iter().map(|what| (what, None)).collect();
            }
            ProgressEvent::Began { step, what } => {
                if self.steps.get(step).is_none() {
                    self.steps.push((what, None));
                }
            }
            ProgressEvent::Ended { step, well, took } => {
                if let Some((_, ended)) = self.steps.get_mut(step) {
                    *ended = Some((well, took.as_secs_f64()));
                }
            }
            // The message is posted as a whole.
            ProgressEvent::Started(_)
            | ProgressEvent::Working { .. }
            | ProgressEvent::Doing(_)
            | ProgressEvent::Happened(_)
            | ProgressEvent::Token { .. }
            | ProgressEvent::Text { .. }
            | ProgressEvent::TextReset => {}
        }
    }

    pub(super) fn post(&self) -> Post {
        let mut text = "Working on it …".to_owned();
        for (what, ended) in self.steps.iter().take(20) {
            let what = escape(what);
            text.push_str(&match ended {
                None => format!("\n… {what}"),
                Some((true, seconds)) => format!("\n✓ {what} ({seconds:.1} s)"),
                Some((false, seconds)) => format!("\n✗ {what} ({seconds:.1} s)"),
            });
        }
        let text: String = text.chars().take(BLOCK).collect();
        Post { blocks: vec![section(&text)], text }
    }
}

fn file_name(title: &str, ending: &str) -> String {
    let mut name = String::new();
    for letter in title.chars().take(60) {
        match letter {
            letter if letter.is_alphanumeric() => name.extend(letter.to_lowercase()),
            _ if !name.is_empty() && !name.ends_with('_') => name.push('_'),
            _ => {}
        }
    }
    let name = name.trim_matches('_');
    format!("{}.{ending}", if name.is_empty() { "steward" } else { name })
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
