//! Measures the reader on dumped catalogues (see `dump_catalogues` of `analysis`) without opening sources:
//! `measure_reader --bench DIR --dumps DIR [--only SET]... [--part read|unread|all] [--wrong] [--features FILE]`.
//!
//! A third of the databases and tables of every set, chosen by a hash of their name, is left unread: `--wrong` never shows it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a development program"
)]

use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Write as _;
use steward_query::catalogue::Catalogue;
use steward_query::judge::{Judge, Proposal, Proposer};
use steward_query::planner::{self, NoMeaning, Outcome};
use steward_query::query::{Dialect, Query};
use steward_query::{reader, sql};

type Rows = Vec<Vec<Value>>;

fn is_unread(name: &str) -> bool {
    let digest = Sha256::digest(name.as_bytes());
    digest.iter().fold(0_u32, |rest, byte| (rest * 256 + u32::from(*byte)) % 3) == 0
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(b) => Some(f64::from(u8::from(*b))),
        Value::Number(n) => n.as_f64(),
        Value::String(text) => text.trim().replace([',', '$'], "").trim_end_matches('%').trim().parse().ok(),
        _ => None,
    }
}

fn lower(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_lowercase(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The rule of `people/score.py`.
fn same_loose(truth: &Value, got: &Value) -> bool {
    if truth.is_null() || got.is_null() {
        return truth.is_null() && got.is_null();
    }
    if let (Some(x), Some(y)) = (number(truth), number(got)) {
        return (x - y).abs() <= 0.005 * x.abs().max(1e-9)
            || (x - y).abs() < 0.0051
            || (x * 100.0 - y).abs() <= 0.005 * (x * 100.0).abs().max(1.0);
    }
    let (p, q) = (lower(truth), lower(got));
    if let Some(x) = number(truth)
        && q.len() >= 10
        && q.get(4..10) == Some("-01-01")
    {
        return q.get(..4) == Some(&format!("{x}"));
    }
    p == q || p.len() >= 10 && q.len() >= 10 && p.as_bytes()[4] == b'-' && p.get(..10) == q.get(..10)
}

fn covers(truth: &[Vec<Value>], rows: &[Vec<Value>]) -> bool {
    if truth.len() != rows.len() {
        return false;
    }
    let mut left: Vec<&Vec<Value>> = rows.iter().collect();
    truth.iter().all(|row| {
        let at = left
            .iter()
            .position(|got| row.iter().all(|cell| got.iter().any(|other| same_loose(cell, other))));
        at.map(|at| left.remove(at)).is_some()
    })
}

fn same_strict(a: &Value, b: &Value) -> bool {
    match (number(a), number(b)) {
        (Some(x), Some(y)) => (x - y).abs() <= 1e-6 * x.abs().max(y.abs()).max(1e-9),
        _ => lower(a) == lower(b),
    }
}

fn permutations(width: usize) -> Vec<Vec<usize>> {
    if width > 5 {
        return vec![(0..width).collect()];
    }
    let mut all = vec![Vec::new()];
    for _ in 0..width {
        all = (all.iter())
            .flat_map(|order: &Vec<usize>| {
                (0..width)
                    .filter(|at| !order.contains(at))
                    .map(|at| [order.as_slice(), &[at]].concat())
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

fn same_rows(gold: &[Vec<Value>], got: &[Vec<Value>], ordered: bool) -> bool {
    let width = gold.first().map_or(0, Vec::len);
    if gold.len() != got.len() || got.iter().any(|row| row.len() != width) {
        return false;
    }
    permutations(width).iter().any(|order| {
        let turned: Vec<Vec<&Value>> =
            got.iter().map(|row| order.iter().map(|at| &row[*at]).collect()).collect();
        let equal = |a: &Vec<Value>, b: &Vec<&Value>| a.iter().zip(b).all(|(a, b)| same_strict(a, b));
        if ordered {
            return gold.iter().zip(&turned).all(|(a, b)| equal(a, b));
        }
        let mut left: Vec<&Vec<&Value>> = turned.iter().collect();
        gold.iter().all(|row| {
            left.iter().position(|other| equal(row, other)).map(|at| left.swap_remove(at)).is_some()
        })
    })
}

fn same_values(gold: &[Value], got: &[Vec<Value>]) -> bool {
    let got: Vec<&Value> = got.iter().flatten().collect();
    !got.is_empty()
        && gold.iter().all(|a| got.iter().any(|b| same_strict(a, b)))
        && got.iter().all(|a| gold.iter().any(|b| same_strict(a, b)))
}

struct Source {
    catalogue: Catalogue,
    rows: rusqlite::Connection,
}

fn run(source: &Source, query: &Query) -> Option<Rows> {
    if !sql::supports(query, Dialect::Sqlite) {
        return None;
    }
    let text = sql::write(query, Dialect::Sqlite);
    let mut statement = source.rows.prepare(&text).ok()?;
    let width = statement.column_count();
    let mut rows = statement.query([]).ok()?;
    let mut all = Vec::new();
    while let Ok(Some(row)) = rows.next() {
        let cell = |at: usize| match row.get_ref(at) {
            Ok(ValueRef::Integer(n)) => json!(n),
            Ok(ValueRef::Real(n)) => json!(n),
            Ok(ValueRef::Text(text)) => json!(String::from_utf8_lossy(text)),
            _ => Value::Null,
        };
        all.push((0..width).map(cell).collect());
        if all.len() > 20_000 {
            break;
        }
    }
    Some(all)
}

struct Case {
    set: &'static str,
    source: String,
    question: String,
    truth: Value,
    ordered: bool,
}

fn rows_of(value: &Value) -> Rows {
    value.as_array().into_iter().flatten().map(|row| row.as_array().cloned().unwrap_or_default()).collect()
}

fn is_right(case: &Case, rows: &Rows) -> bool {
    match case.set {
        "people" => covers(&rows_of(&case.truth), rows),
        "wikisql" | "wikitables" => same_values(case.truth.as_array().unwrap(), rows),
        _ => same_rows(&rows_of(&case.truth), rows, case.ordered),
    }
}

fn cases(bench: &str) -> Vec<Case> {
    let text =
        |case: &Value, name: &str| case.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut cases = Vec::new();
    for set in ["people", "wikisql", "spider", "wikitables", "ambrosia"] {
        let Ok(lines) = std::fs::read_to_string(format!("{bench}/{set}/questions.jsonl")) else { continue };
        for line in lines.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            match set {
                "people" => {
                    if case["rows"].is_null() || !case["conversation"].is_null() {
                        continue;
                    }
                    let source = case["data"][0].as_str().unwrap().to_owned();
                    cases.push(Case {
                        set,
                        source,
                        question: text(&case, "question"),
                        truth: case["rows"].clone(),
                        ordered: false,
                    });
                }
                "wikisql" | "wikitables" => cases.push(Case {
                    set,
                    source: text(&case, "table"),
                    question: text(&case, "question"),
                    truth: case["answer"].clone(),
                    ordered: false,
                }),
                "spider" => cases.push(Case {
                    set,
                    source: text(&case, "database"),
                    question: text(&case, "question"),
                    truth: case["rows"].clone(),
                    ordered: case["ordered"].as_bool().unwrap_or(false),
                }),
                _ => {
                    for reading in case["readings"].as_array().unwrap() {
                        cases.push(Case {
                            set,
                            source: text(&case, "database"),
                            question: text(reading, "question"),
                            truth: reading["rows"].clone(),
                            ordered: false,
                        });
                    }
                }
            }
        }
    }
    cases
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value =
        |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1)).cloned();
    let flag = |name: &str| arguments.iter().any(|a| a == name);
    let (bench, dumps) = (value("--bench").unwrap(), value("--dumps").unwrap());
    let (only, part) = (value("--only"), value("--part").unwrap_or_else(|| "read".to_owned()));
    let every: usize = value("--every").map_or(1, |text| text.parse().unwrap());
    let mut features = value("--features").map(|file| std::fs::File::create(file).unwrap());
    let today = chrono::NaiveDate::from_ymd_opt(2026, 12, 31).unwrap();
    let mut sources: BTreeMap<String, Option<Source>> = BTreeMap::new();
    let mut counts: BTreeMap<(&str, bool), [usize; 6]> = BTreeMap::new();
    let mut picks: BTreeMap<(&str, bool), [usize; 3]> = BTreeMap::new();
    for (at, case) in cases(&bench).iter().enumerate() {
        if only.as_ref().is_some_and(|only| only != case.set) || at % every != 0 {
            continue;
        }
        let unread = is_unread(&case.source);
        if part == "read" && unread || part == "unread" && !unread {
            continue;
        }
        let path = format!("{bench}/{}/{}", case.set, case.source);
        let name = path.replace(['/', '.'], "_").trim_start_matches('_').to_owned();
        let source = sources.entry(name.clone()).or_insert_with(|| {
            let text = std::fs::read_to_string(format!("{dumps}/{name}.json")).ok()?;
            let rows = rusqlite::Connection::open(format!("{dumps}/{name}.sqlite")).ok()?;
            Some(Source { catalogue: serde_json::from_str(&text).unwrap(), rows })
        });
        let count = counts.entry((case.set, unread)).or_default();
        count[0] += 1;
        let Some(source) = source else { continue };
        let mut lines = Vec::new();
        let earlier = match planner::read(&case.question, &source.catalogue, None, today, &NoMeaning) {
            Outcome::Read(reading) => {
                let query = reading.queries.into_iter().next().map(|named| named.query);
                let mut query = query.unwrap_or_default();
                expand(&mut query, &source.catalogue);
                let rows = run(source, &query);
                let right = rows.as_ref().is_some_and(|rows| is_right(case, rows));
                lines.push(format!(
                    "    old {:.2} {} {}",
                    reading.confidence,
                    right,
                    sql::write(&query, Dialect::Sqlite)
                ));
                Some((right, reading.confidence, rows, query))
            }
            _ => None,
        };
        let candidates = reader::propose(&case.question, &source.catalogue, None, today, &NoMeaning);
        let mut rights = Vec::new();
        for candidate in candidates.iter().take(12) {
            let mut query = candidate.query.clone();
            expand(&mut query, &source.catalogue);
            let rows = run(source, &query);
            let right = rows.as_ref().is_some_and(|rows| is_right(case, rows));
            if lines.len() < 5 {
                lines.push(format!(
                    "    new {:.2} {right} {:?} {}",
                    candidate.cost,
                    candidate.unexplained,
                    sql::write(&query, Dialect::Sqlite)
                ));
            }
            rights.push(right);
        }
        let mut proposals: Vec<(Proposal, bool)> = Vec::new();
        if let Some((right, confidence, _, query)) = &earlier {
            let proposer = Proposer::Planner((confidence * 1000.0) as u32);
            let proposal =
                Proposal { query, proposer, cost: 0.0, defaults: 0, multiplies: false, follows: false };
            proposals.push((proposal, *right));
        }
        for (candidate, right) in candidates.iter().zip(&rights).take(4) {
            let proposal = Proposal {
                query: &candidate.query,
                proposer: Proposer::Reader,
                cost: f64::from(candidate.cost),
                defaults: candidate.defaults,
                multiplies: candidate.multiplies,
                follows: false,
            };
            proposals.push((proposal, *right));
        }
        let judge = Judge::new(&case.question, &source.catalogue, today, &NoMeaning);
        let all: Vec<Proposal> = proposals.iter().map(|(proposal, _)| proposal.clone()).collect();
        let judged = judge.judge(&all);
        let best = judged.iter().enumerate().max_by(|a, b| a.1.probability.total_cmp(&b.1.probability));
        let chosen = best.map(|(at, judgement)| (proposals[at].1, judgement));
        let sure = chosen.as_ref().is_some_and(|(_, judgement)| judgement.probability >= 0.85);
        let picked = chosen.as_ref().is_some_and(|(right, _)| *right);
        let pick = picks.entry((case.set, unread)).or_default();
        pick[0] += usize::from(picked);
        pick[1] += usize::from(sure);
        pick[2] += usize::from(sure && picked);
        if flag("--sure") && !unread && sure && !picked {
            println!("SURE {} {} | {}", case.set, case.source, case.question);
            if let Some((at, judgement)) = best {
                println!(
                    "    {:.2} {:?} {}",
                    judgement.probability,
                    judgement.unexplained,
                    sql::write(proposals[at].0.query, Dialect::Sqlite)
                );
                println!("    truth {}", case.truth.to_string().chars().take(200).collect::<String>());
            }
        }
        let old = earlier.as_ref().is_some_and(|(right, ..)| *right);
        let (first, any) = (rights.first() == Some(&true), rights.contains(&true));
        for (at, hit) in [old, first, any, old || first, old || any].into_iter().enumerate() {
            count[at + 1] += usize::from(hit);
        }
        if let Some(file) = &mut features {
            let rows: Vec<Value> = (judged.iter().zip(&proposals))
                .map(|(judgement, (_, right))| json!({ "x": judgement.features.to_vec(), "right": right }))
                .collect();
            let row = json!({
                "set": case.set, "source": case.source, "unread": unread, "old": old, "first": first, "any": any,
                "proposals": rows, "names": steward_query::judge::FEATURES.to_vec(),
            });
            writeln!(file, "{row}").unwrap();
        }
        if !unread && (flag("--wrong") && !first || flag("--none") && !any && !old) {
            println!("{} {} | {}", case.set, case.source, case.question);
            println!("    {}", reader::explain(&case.question, &source.catalogue, today, &NoMeaning));
            lines.iter().for_each(|line| println!("{line}"));
            println!("    truth {}", case.truth.to_string().chars().take(200).collect::<String>());
        }
    }
    println!(
        "{:<12} {:<7} {:>6} {:>7} {:>7} {:>7} {:>9} {:>9}",
        "set", "part", "cases", "old", "new", "new@k", "old|new", "old|new@k"
    );
    for ((set, unread), [right, sure, both]) in &picks {
        let all = counts[&(*set, *unread)][0].max(1) as f64;
        println!(
            "judged {set:<12} {:<7} right {:>5.1}%  sure {:>5.1}%  right among the sure {:>5.1}%",
            if *unread { "unread" } else { "read" },
            100.0 * *right as f64 / all,
            100.0 * *sure as f64 / all,
            100.0 * *both as f64 / (*sure).max(1) as f64
        );
    }
    for ((set, unread), [all, rest @ ..]) in counts {
        let part = if unread { "unread" } else { "read" };
        let share: Vec<String> =
            rest.iter().map(|n| format!("{:>6.1}%", 100.0 * *n as f64 / all.max(1) as f64)).collect();
        println!("{set:<12} {part:<7} {all:>6} {}", share.join("  "));
    }
}

/// `*` as the columns of its table.
fn expand(query: &mut Query, catalogue: &Catalogue) {
    use steward_query::query::{Expr, Item};
    if matches!(query.items.as_slice(), [Item { expr: Expr::Star, .. }] | []) && query.from.is_none() {
        let table = catalogue.table(&query.table);
        query.items = (table.into_iter().flat_map(|table| &table.columns))
            .map(|column| Item {
                expr: Expr::Column(query.alias.clone(), column.name.clone()),
                name: column.label.clone(),
            })
            .collect();
    }
}
