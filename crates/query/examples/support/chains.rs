//! Conversations turn by turn: what each turn comes to when it follows what was answered before it.

use super::{EVERYDAY, Rows, Source, cells, covers, is_unread, rows_of, same_rows};
use chrono::NaiveDate;
use serde_json::Value;
use std::collections::BTreeMap;
use steward_query::judge::ResultShape;
use steward_query::planner::{Meaning, Outcome, Reading};
use steward_query::propose::consider;
use steward_query::query::Dialect;
use steward_query::sql;

struct Turn {
    question: String,
    /// Nothing where a person judges.
    truth: Option<Rows>,
    ordered: bool,
}

/// A conversation about one source.
pub(super) struct Chain {
    set: &'static str,
    path: String,
    source: String,
    turns: Vec<Turn>,
}

/// The conversations of all sets.
pub(super) fn read(bench: &str, everyday: Option<&(String, String)>) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::new();
    let own = everyday.map(|(file, data)| (EVERYDAY, file.clone(), data.clone()));
    let people = ("people", format!("{bench}/people/questions.jsonl"), format!("{bench}/people"));
    for (set, file, data) in own.into_iter().chain([people]) {
        let mut last = String::new();
        for line in std::fs::read_to_string(file).unwrap_or_default().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let Some(name) = case["conversation"].as_str() else { continue };
            if name != last {
                let files: Vec<String> = (case["data"].as_array().unwrap().iter())
                    .map(|file| format!("{data}/{}", file.as_str().unwrap()))
                    .collect();
                let source = case["data"][0].as_str().unwrap().to_owned();
                chains.push(Chain { set, path: files.join("+"), source, turns: Vec::new() });
                name.clone_into(&mut last);
            }
            chains.last_mut().unwrap().turns.push(Turn {
                question: case["question"].as_str().unwrap().to_owned(),
                truth: Some(rows_of(&case["rows"])).filter(|_| !case["rows"].is_null()),
                ordered: false,
            });
        }
    }
    for line in std::fs::read_to_string(format!("{bench}/spider/dialogues.jsonl")).unwrap_or_default().lines()
    {
        let case: Value = serde_json::from_str(line).unwrap();
        let source = case["database"].as_str().unwrap().to_owned();
        let turns = (case["turns"].as_array().unwrap().iter())
            .map(|turn| Turn {
                question: turn["say"].as_str().unwrap().to_owned(),
                truth: Some(rows_of(&turn["rows"])),
                ordered: false,
            })
            .collect();
        chains.push(Chain { set: "dialogues", path: format!("{bench}/spider/{source}"), source, turns });
    }
    chains
}

/// Follows every conversation and prints the share of right turns by their number.
pub(super) fn measure(
    chains: &[Chain],
    dumps: &str,
    part: &str,
    only: Option<&str>,
    shows_wrong: bool,
    today: NaiveDate,
    meaning: &dyn Meaning,
) {
    // By set and part: right and all turns by their number.
    let mut tallies: BTreeMap<(&str, bool), [(usize, usize); 8]> = BTreeMap::new();
    for chain in chains {
        let unread = is_unread(&chain.source);
        if part == "read" && unread || part == "unread" && !unread || only.is_some_and(|set| set != chain.set)
        {
            continue;
        }
        let Some(source) = Source::open(dumps, &chain.path) else {
            println!("no dump of {}", chain.path);
            continue;
        };
        let tally = tallies.entry((chain.set, unread)).or_default();
        let mut earlier: Option<Reading> = None;
        let mut story: Vec<String> = Vec::new();
        for (at, turn) in chain.turns.iter().enumerate() {
            let considered = consider(&turn.question, &source.catalogue, earlier.as_ref(), today, meaning);
            let shape = |query| source.answer(query).map(|rows| ResultShape::of(&cells(&rows)));
            let shapes: Vec<_> = considered.proposals().iter().map(|one| shape(one.query)).collect();
            let rivals: Vec<String> = (considered.proposals().iter())
                .map(|one| format!("      {:?} {}", one.proposer, sql::write(one.query, Dialect::Sqlite)))
                .collect();
            let mut rows = None;
            let mut said = "nothing".to_owned();
            if let Outcome::Read(reading) = considered.decide(&shapes) {
                rows = reading.queries.first().and_then(|named| source.answer(&named.query));
                if let Some(named) = reading.queries.first() {
                    let by = if reading.form.is_some() { "reader" } else { "planner" };
                    said = format!("{by} {}", sql::write(&named.query, Dialect::Sqlite));
                }
                earlier = Some(reading);
            }
            let right = turn.truth.as_ref().map(|truth| {
                rows.as_ref().is_some_and(|rows| match chain.set {
                    "dialogues" => same_rows(truth, rows, turn.ordered),
                    _ => covers(truth, rows),
                })
            });
            story.push(format!("  {right:?} {}\n    {said}", turn.question));
            if right == Some(false) {
                story.extend(rivals);
            }
            if let (Some(right), Some((good, all))) = (right, tally.get_mut(at)) {
                *good += usize::from(right);
                *all += 1;
            }
        }
        if shows_wrong && !unread && story.iter().any(|line| line.contains("Some(false)")) {
            println!("{} {}", chain.set, chain.source);
            story.iter().for_each(|line| println!("{line}"));
        }
    }
    for ((set, unread), turns) in tallies {
        let (good, all) = turns.iter().fold((0, 0), |sum, turn| (sum.0 + turn.0, sum.1 + turn.1));
        let share = |(good, all): (usize, usize)| 100.0 * good as f64 / all.max(1) as f64;
        let each: Vec<String> = (turns.iter().filter(|turn| turn.1 > 0))
            .map(|turn| format!("{:.1} % of {}", share(*turn), turn.1))
            .collect();
        let part = if unread { "unread" } else { "read" };
        println!("{set:<10} {part:<7} all {:.1} % of {all}; by turn {}", share((good, all)), each.join(", "));
    }
}
