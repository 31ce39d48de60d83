//! Uploaded data: decides when a message is about it, and not about a tool.

use super::Reader;
use super::route::asking;
use super::types::{Answered, FOLLOWS, Kind, QuestionKind, Step, Understood};
use crate::skill::{SEVEN, classify, sure};
use crate::words::{telling, words};
use steward_domain::{DomainName, IntentKind};

/// Words that ask for a chart.
const PICTURES: &[&str] = &["chart", "charts", "plot", "graph", "histogram", "scatter", "heatmap", "boxplot"];

/// The understanding, or one that queries the data if the tool was only a guess: the data came with
/// this message, or the text names something in it.
pub(super) fn about(
    reader: &Reader,
    data: &DomainName,
    said: &str,
    came_now: bool,
    understood: Understood,
) -> Understood {
    let topic = reader.domains().find(|topic| topic.name == *data);
    let (Some(topic), Answered::Nothing) = (topic, understood.answered) else { return understood };
    let named = !telling(said).is_disjoint(&telling(&format!("{} {}", topic.title, topic.description)));
    let asks_which = |why: QuestionKind| matches!(why, QuestionKind::Meaning | QuestionKind::Domain);
    let guessed = match understood.kind {
        Kind::Help => false,
        Kind::OutOfScope => named || came_now,
        Kind::Chat => (named || came_now) && said.split_whitespace().count() > 2,
        Kind::Act if understood.question.as_ref().is_some_and(|asked| asks_which(asked.why)) => {
            named || came_now
        }
        // A tool is a guess if the text names a column and asks for no change: of data that was
        // just uploaded, or for a chart.
        Kind::Act => {
            let elsewhere = |step: &Step| step.domain.as_ref() != Some(data);
            named && (came_now || charts(said)) && !changes(said) && understood.steps.iter().all(elsewhere)
        }
    };
    if !guessed {
        return understood;
    }
    let confidence = sure(if named { 0.8 } else { 0.6 });
    let reason = "the words are about the data that was brought along".to_owned();
    Understood {
        confidence,
        domains: vec![(data.clone(), confidence)],
        steps: vec![Step { confidence, reasons: vec![reason.clone()], ..asking(data, said) }],
        ..Understood::plain(Kind::Act, reason)
    }
}

/// A statement of SQL, asked of a domain of data as it stands: its words are no request to a tool.
pub(super) fn statement(reader: &Reader, data: &DomainName, said: &str) -> Option<Understood> {
    reader.domains().find(|topic| topic.name == *data)?;
    let confidence = sure(1.0);
    let reason = "the message is SQL, so it is run as it stands".to_owned();
    Some(Understood {
        confidence,
        domains: vec![(data.clone(), confidence)],
        steps: vec![Step { confidence, reasons: vec![reason.clone()], ..asking(data, said) }],
        ..Understood::plain(Kind::Act, reason)
    })
}

/// A message that goes on from the last question about data. The analysis knows that question, so
/// the text is passed on as it stands.
pub(super) fn follow_up(data: &DomainName, said: &str, sureness: f32) -> Understood {
    let confidence = sure(sureness);
    let reason = FOLLOWS.to_owned();
    Understood {
        confidence,
        domains: vec![(data.clone(), confidence)],
        steps: vec![Step { confidence, reasons: vec![reason.clone()], ..asking(data, said) }],
        ..Understood::plain(Kind::Act, reason)
    }
}

/// Whether somebody says in so many words that something is to be changed.
fn changes(said: &str) -> bool {
    matches!(classify(said, SEVEN).kind, Some(IntentKind::Create | IntentKind::Update | IntentKind::Delete))
}

fn charts(said: &str) -> bool {
    words(said).iter().any(|word| PICTURES.contains(&word.lower.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encoder;
    use crate::route::Topic;
    use crate::understand::{Act, Tool, TurnContext};
    use serde_json::json;
    use std::sync::Arc;

    /// A notes application, and uploaded sales data.
    fn reader() -> Reader {
        let topic = |key: &str, title: &str, description: &str| Topic {
            name: name(key),
            title: title.into(),
            description: description.into(),
            intents: Vec::new(),
        };
        let notes = topic("notes", "Notes", "Short texts that are kept");
        let sales = topic("your_data", "sales", "sales: order date, category, amount, region");
        let create = Tool {
            name: "notes.create_note".into(),
            domain: Some(name("notes")),
            description: "Writes a new note".into(),
            input: json!({ "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } } }),
            output: None,
            read_only: false,
            destructive: false,
            idempotent: false,
            examples: Vec::new(),
        };
        Reader::new(Arc::new(Encoder::default()), vec![notes, sales], vec![create])
    }

    fn name(name: &str) -> DomainName {
        DomainName::new(name).unwrap()
    }

    fn asks_data(reader: &Reader, said: &str, came_now: bool) -> bool {
        let today = chrono::NaiveDate::from_ymd_opt(2026, 1, 1).unwrap();
        let given = TurnContext::on(today);
        let understood = reader.understand(said, &given);
        let read = reader.about_data(&name("your_data"), said, came_now, understood);
        read.steps.iter().any(|step| step.act == Act::Ask && step.domain == Some(name("your_data")))
    }

    #[test]
    fn words_about_what_was_brought_go_there_and_wishes_do_not() {
        let reader = reader();
        for (said, came_now, expected) in [
            ("pie chart of amount by category", true, true),
            ("pie chart of amount by category", false, true),
            ("stacked bar chart of amount by region", true, true),
            ("total amount by month as a chart", true, true),
            ("write a note about the amount", true, false),
            ("create a note that says call Anna", true, false),
            ("hello", true, false),
            ("what can you do?", true, false),
        ] {
            assert_eq!(asks_data(&reader, said, came_now), expected, "{said} (came now: {came_now})");
        }
    }
}
