//! `steward skill`: runs a single language skill. Skills only read their input and change nothing.

use super::{Context, chat};
use crate::error::Failure;
use crate::output::{document, say};
use clap::{Args, ValueEnum};
use serde_json::{Value as Json, json};
use std::io::Read as _;
use steward_domain::{IntentKind, JsonObject};
use steward_language::skill::{
    ALL, Answered, Entity, FOUR, Recent, SEVEN, agrees, classify, extract, humanise, resolved, suggest,
};
use steward_policy::Caller;
use steward_tools::call::Request;

#[derive(Args)]
#[command(after_help = "Examples:
  steward skill intent 'mark the dentist task as done'
  steward skill entities 'call Anna on 2026-03-14 at 3pm'
  steward skill references 'delete the second one' --recent 'task:1:Buy milk' --recent 'task:2:Call the dentist'
  steward skill understand 'show my tasks and mark the first one done'
  steward skill validate 'delete task 999'
  steward skill humanise 'field_required: title'
  steward skill summarize < notes.txt")]
pub(crate) struct Skill {
    /// The skill.
    #[arg(value_enum)]
    name: Name,
    /// The text. Without it, or with `-`, it is read from standard input.
    text: Option<String>,
    /// An entity of the conversation, as TYPE:ID:NAME, in the order in which they were shown;
    /// repeat it for several.
    #[arg(long, value_name = "TYPE:ID:NAME")]
    recent: Vec<String>,
    /// The set of intents that `intent` chooses from.
    #[arg(long, value_enum, default_value = "all")]
    kinds: Kinds,
    /// What was attempted, for `humanise`: "create the task".
    #[arg(long)]
    doing: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// The kind of intent.
    Intent,
    /// Dates, times, numbers, ids, titles and names in the text.
    Entities,
    /// What "it", "both", "the second one" refer to.
    References,
    /// The domain it belongs to, and the intent in that domain.
    Route,
    /// Matching tools, with their arguments filled in.
    Tools,
    /// Everything: the steps that would be executed.
    Understand,
    /// Whether the entities it refers to exist, looked up with read-only tools.
    Validate,
    /// Whether it is a plain yes or no.
    Confirm,
    /// An error message in plain language, with what to do next.
    Humanise,
    /// Suggestions for follow-up questions.
    Suggest,
    /// The main sentences of a text.
    Summarize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kinds {
    /// Create, read, update, delete, list, search, analyze.
    Seven,
    /// Analyze, summarize, fetch, explain.
    Four,
    /// All of them.
    All,
}

pub(super) async fn run(context: &Context, skill: Skill) -> Result<(), Failure> {
    let text = match skill.text.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        _ => {
            let mut text = String::new();
            std::io::stdin().lock().take(10 << 20).read_to_string(&mut text).map_err(Failure::unexpected)?;
            text
        }
    };
    let recent: Vec<Recent> =
        skill.recent.iter().zip(1..).map(|(row, at)| read(row, at)).collect::<Result<_, _>>()?;
    let found = match skill.name {
        Name::Intent => intent(&text, skill.kinds),
        Name::Entities => {
            json!({ "entities": extract(&text, &[], None).iter().map(entity).collect::<Vec<_>>() })
        }
        Name::References => resolved(&text, &recent),
        Name::Confirm => json!({ "agrees": agrees(&text) }),
        Name::Humanise => {
            let humane = humanise(&text, skill.doing.as_deref());
            json!({ "trouble": format!("{:?}", humane.trouble), "remedy": format!("{:?}", humane.remedy), "message": humane.message,
                "next": humane.next, "confidence": humane.confidence, "reasons": humane.reasons })
        }
        Name::Route | Name::Tools | Name::Understand | Name::Validate | Name::Suggest | Name::Summarize => {
            with_toolbox(context, skill.name, &text).await?
        }
    };
    if context.json {
        document(&found);
    } else {
        show(&found, 0);
    }
    Ok(())
}

fn read(row: &str, at: u64) -> Result<Recent, Failure> {
    let mut parts = row.splitn(3, ':');
    match (parts.next(), parts.next()) {
        (Some(entity_type), Some(id)) if !entity_type.is_empty() && !id.is_empty() => Ok(Recent {
            entity_type: entity_type.to_owned(),
            id: id.to_owned(),
            name: parts.next().map(str::to_owned),
            mentions: 1,
            last: 1,
            place: usize::try_from(at).ok(),
            domain: None,
        }),
        _ => Err(Failure::user(
            "CLI004",
            format!("--recent {row}: write TYPE:ID:NAME, such as task:1:Buy milk"),
        )),
    }
}

fn intent(text: &str, kinds: Kinds) -> Json {
    let kinds: &[IntentKind] = match kinds {
        Kinds::Seven => SEVEN,
        Kinds::Four => FOUR,
        Kinds::All => ALL,
    };
    let intent = classify(text, kinds);
    json!({ "intent": intent.kind, "confidence": intent.confidence, "alternatives": intent.alternatives, "reasons": intent.reasons })
}

fn entity(entity: &Entity) -> Json {
    json!({ "kind": format!("{:?}", entity.kind), "text": entity.text, "value": format!("{:?}", entity.value),
        "at": [entity.start, entity.end], "confidence": entity.confidence, "reason": entity.reason })
}

/// Skills that use the configured domains and tools.
async fn with_toolbox(context: &Context, name: Name, text: &str) -> Result<Json, Failure> {
    let chat = chat::chat_service(context).await?;
    let caller = crate::toolbox::caller(context);
    let found = known(&chat, name, text, &caller, context).await;
    chat.toolbox().close().await;
    found
}

async fn known(
    chat: &steward_runtime::converse::ChatService,
    name: Name,
    text: &str,
    caller: &Caller,
    context: &Context,
) -> Result<Json, Failure> {
    match name {
        Name::Tools => {
            chat.toolbox().review_new_servers().await;
            let found = chat.toolbox().search(caller, text, 5).await?;
            let candidates: Vec<Json> = found
                .candidates
                .iter()
                .map(|candidate| json!({ "tool": candidate.tool, "confidence": candidate.confidence, "reasons": candidate.reasons }))
                .collect();
            Ok(json!({ "candidates": candidates, "question": found.question.map(|question| question.text) }))
        }
        Name::Summarize => {
            let mut arguments = JsonObject::new();
            arguments.insert("text".into(), text.into());
            let receipt =
                chat.toolbox().call(&Request::new(caller.clone(), "text.summarize", arguments)).await?;
            Ok(receipt.output.structured.clone().unwrap_or_else(|| receipt.output.words().into()))
        }
        Name::Suggest => {
            let reader = chat.reader(caller, &[]).await?;
            let domains: Vec<_> = reader.domains().map(|topic| topic.name.clone()).collect();
            let snapshot = chat.toolbox().registry().snapshot();
            let fields: Vec<_> = snapshot.domains.values().map(|field| (**field.domain).clone()).collect();
            let next = suggest(Answered { question: text, domains: &domains }, &fields, |_| true);
            Ok(
                json!({ "suggestions": next.iter().map(|next| json!({ "text": next.text, "domain": next.domain, "reason": next.reason })).collect::<Vec<_>>() }),
            )
        }
        Name::Validate => Ok(chat.validate(&chat::turn(context, text, None)).await?),
        _ => {
            let understood = chat.understand(&chat::turn(context, text, None)).await?;
            Ok(match name {
                Name::Route => {
                    json!({ "domains": understood.domains, "confidence": understood.confidence, "question": understood.question, "reasons": understood.reasons })
                }
                _ => json!(understood),
            })
        }
    }
}

/// A document as indented lines.
fn show(value: &Json, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Json::Object(fields) => {
            for (name, value) in fields.iter().filter(|(_, value)| !empty(value)) {
                if value.is_object()
                    || value.as_array().is_some_and(|items| items.iter().any(Json::is_object))
                {
                    say(format!("{indent}{name}:"));
                    show(value, depth + 1);
                } else {
                    say(format!("{indent}{name}: {}", steward_language::answer::plain(value)));
                }
            }
        }
        Json::Array(items) => {
            for item in items {
                show(item, depth);
                if item.is_object() && depth < 2 {
                    say("");
                }
            }
        }
        other => say(format!("{indent}{}", steward_language::answer::plain(other))),
    }
}

fn empty(value: &Json) -> bool {
    value.is_null()
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(serde_json::Map::is_empty)
}
