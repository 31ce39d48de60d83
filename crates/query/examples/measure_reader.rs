//! Measures the built-in proposers and the judge on dumped catalogues (see `dump_catalogues` of
//! `analysis`), without opening sources: `measure_reader --bench DIR --dumps DIR [--own FILE]
//! [--everyday FILE DATA] [--only SET,SET] [--part read|unread|all] [--wrong] [--sure] [--features
//! FILE]`. `--chains` measures conversations turn by turn instead. `--own` names the questions that
//! the data cannot answer, `--everyday` the everyday questions and the folder of their data,
//! `--features` a file for `bench/fit_judge.py`, `--compositions` one for `bench/fit_composer.py`,
//! `--row-forms` one for it with the forms over the rows of one small table.
//!
//! A third of the databases and tables of every set, chosen by a hash of their name, is left
//! unread: its failures are never shown. Of the questions for fitting one half of the data sets is
//! read (`practice`); the failures of the other (`fitting`) are never shown either. Of the fresh
//! questions those over data sets with an even hash are read (`recent`); the others (`fresh`) are
//! not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a development program"
)]

#[path = "support/chains.rs"]
mod chains;
#[path = "support/statistics.rs"]
mod statistics;

use rusqlite::types::ValueRef;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Write as _;
use steward_query::catalogue::Catalogue;
use steward_query::frame;
use steward_query::judge::{Proposer, ResultShape};
use steward_query::planner::Outcome;
use steward_query::propose::{SURE, consider};
use steward_query::query::{Dialect, Query};
use steward_query::{reader, sql};

type Rows = Vec<Vec<Value>>;

fn is_unread(name: &str) -> bool {
    let digest = Sha256::digest(name.as_bytes());
    digest.iter().fold(0_u32, |rest, byte| (rest * 256 + u32::from(*byte)) % 3) == 0
}

/// Whether a data set of the questions for fitting is one of the half whose failures are read: the
/// SHA-256 of its first file's name is even.
fn is_practice(name: &str) -> bool {
    Sha256::digest(name.as_bytes()).iter().fold(0_u32, |rest, byte| (rest * 256 + u32::from(*byte)) % 2) == 0
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
    // A month and its first day.
    if p.len() == 7 && p.as_bytes()[4] == b'-' && q.len() >= 10 && q.get(7..10) == Some("-01") {
        return p.get(..7) == q.get(..7);
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

/// The same value as another program would write it: "- 3" and -3, "january 22 , 1978" and
/// 1978-01-22. The judge learns from this; what is reported keeps to the rule of the set.
fn same_written(a: &Value, b: &Value) -> bool {
    same_strict(a, b) || plain(a) == plain(b) && !plain(a).is_empty()
}

fn plain(value: &Value) -> String {
    const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";
    let text = lower(value);
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let month = words.iter().find_map(|word| {
        let at =
            MONTHS.find(word.get(..3)?).filter(|at| at % 3 == 0 && word.chars().all(char::is_alphabetic))?;
        Some(at / 3 + 1)
    });
    let numbers: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
    match (month, numbers.as_slice(), words.len()) {
        (Some(month), [day, year], 3) | (Some(month), [day, year, ..], 4) if *year > 31 => {
            format!("{year}{month:02}{day:02}")
        }
        _ if text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-' => {
            text.chars().filter(char::is_ascii_digit).take(8).collect()
        }
        _ => text.chars().filter(|c| !c.is_whitespace() && *c != '%').collect(),
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

fn same_values(gold: &[Value], got: &[Vec<Value>], same: fn(&Value, &Value) -> bool) -> bool {
    let got: Vec<&Value> = got.iter().flatten().collect();
    !got.is_empty()
        && gold.iter().all(|a| got.iter().any(|b| same(a, b)))
        && got.iter().all(|a| gold.iter().any(|b| same(a, b)))
}

struct Source {
    catalogue: Catalogue,
    rows: rusqlite::Connection,
}

impl Source {
    /// The dump of a file, or of several that are joined by `+`.
    fn open(dumps: &str, path: &str) -> Option<Self> {
        let name = path.replace(['/', '.', '+'], "_").trim_start_matches('_').to_owned();
        let text = std::fs::read_to_string(format!("{dumps}/{name}.json")).ok()?;
        let rows = rusqlite::Connection::open(format!("{dumps}/{name}.sqlite")).ok()?;
        statistics::register(&rows);
        Some(Self { catalogue: serde_json::from_str(&text).unwrap(), rows })
    }

    fn answer(&self, query: &Query) -> Option<Rows> {
        let mut query = query.clone();
        expand(&mut query, &self.catalogue);
        run(self, &query)
    }
}

fn run(source: &Source, query: &Query) -> Option<Rows> {
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

/// Questions of `ambrosia` as they stand, which have several readings.
const AMBIGUOUS: &str = "ambiguous";
/// Everyday questions of this repository.
const EVERYDAY: &str = "everyday";
/// Everyday questions that weights are fitted on and whose failures are never shown.
const FITTING: &str = "fitting";
/// The half of them whose failures are read.
const PRACTICE: &str = "practice";
/// Everyday questions that take no part in any fit, and whose failures are never shown.
const FRESH: &str = "fresh";
/// Those of the fresh questions that were read later.
const RECENT: &str = "recent";
/// Questions that the data cannot answer.
const UNANSWERABLE: &str = "unanswerable";

struct Case {
    set: &'static str,
    /// The file that it is about, or several joined by `+`.
    path: String,
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
        AMBIGUOUS | UNANSWERABLE => false,
        "people" | EVERYDAY | FITTING | PRACTICE | RECENT | FRESH => covers(&rows_of(&case.truth), rows),
        "wikisql" | "wikitables" => same_values(case.truth.as_array().unwrap(), rows, same_strict),
        _ => same_rows(&rows_of(&case.truth), rows, case.ordered),
    }
}

/// What the judge learns from.
fn is_right_as_written(case: &Case, rows: &Rows) -> bool {
    is_right(case, rows)
        || matches!(case.set, "wikisql" | "wikitables")
            && same_values(case.truth.as_array().unwrap(), rows, same_written)
}

fn cases(bench: &str, own: Option<String>, everyday: Vec<(String, String, &'static str)>) -> Vec<Case> {
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
                        path: format!("{bench}/{set}/{source}"),
                        source,
                        question: text(&case, "question"),
                        truth: case["rows"].clone(),
                        ordered: false,
                    });
                }
                "wikisql" | "wikitables" => cases.push(Case {
                    set,
                    path: format!("{bench}/{set}/{}", text(&case, "table")),
                    source: text(&case, "table"),
                    question: text(&case, "question"),
                    truth: case["answer"].clone(),
                    ordered: false,
                }),
                "spider" => cases.push(Case {
                    set,
                    path: format!("{bench}/{set}/{}", text(&case, "database")),
                    source: text(&case, "database"),
                    question: text(&case, "question"),
                    truth: case["rows"].clone(),
                    ordered: case["ordered"].as_bool().unwrap_or(false),
                }),
                _ => {
                    cases.push(Case {
                        set: AMBIGUOUS,
                        path: format!("{bench}/{set}/{}", text(&case, "database")),
                        source: text(&case, "database"),
                        question: text(&case, "question"),
                        truth: Value::Null,
                        ordered: false,
                    });
                    for reading in case["readings"].as_array().unwrap() {
                        cases.push(Case {
                            set,
                            path: format!("{bench}/{set}/{}", text(&case, "database")),
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
    for (file, data, set) in everyday {
        for line in std::fs::read_to_string(file).unwrap_or_default().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            if !case["conversation"].is_null() {
                continue;
            }
            let files: Vec<String> = (case["data"].as_array().unwrap().iter())
                .map(|file| format!("{data}/{}", file.as_str().unwrap()))
                .collect();
            let source = case["data"][0].as_str().unwrap().to_owned();
            cases.push(Case {
                set: match set {
                    FITTING if is_practice(&source) => PRACTICE,
                    FRESH if is_practice(&source) => RECENT,
                    set => set,
                },
                path: files.join("+"),
                source,
                question: text(&case, "question"),
                truth: case["rows"].clone(),
                ordered: false,
            });
        }
    }
    let own = own.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    for line in own.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        cases.push(Case {
            set: UNANSWERABLE,
            path: format!("{bench}/{}/{}", text(&case, "set"), text(&case, "source")),
            source: text(&case, "source"),
            question: text(&case, "question"),
            truth: Value::Null,
            ordered: false,
        });
    }
    cases
}

/// What came of the questions of one part of a set.
#[derive(Default)]
struct Tally {
    cases: usize,
    right: usize,
    sure: usize,
    both: usize,
    asked: usize,
    declined: usize,
    /// Declined, or not sure and with the words that nothing was found for.
    said: usize,
    /// Right by any proposal.
    any: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value =
        |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1)).cloned();
    let flag = |name: &str| arguments.iter().any(|a| a == name);
    let (bench, dumps) = (value("--bench").unwrap(), value("--dumps").unwrap());
    let (only, part) = (value("--only"), value("--part").unwrap_or_else(|| "read".to_owned()));
    let every: usize = value("--every").map_or(1, |text| text.parse().unwrap());
    let row_forms = flag("--row-forms");
    let mut compositions =
        value("--compositions").or_else(|| value("--row-forms")).map(|file| Compositions::create(&file));
    let mut features = value("--features").map(|file| std::fs::File::create(file).unwrap());
    let today = chrono::NaiveDate::from_ymd_opt(2026, 12, 31).unwrap();
    let mut sources: BTreeMap<String, Option<Source>> = BTreeMap::new();
    let mut tallies: BTreeMap<(&str, bool), Tally> = BTreeMap::new();
    let encoder = Vectors::default();
    let meaning = |a: &str, b: &str| encoder.similarity(a, b);
    let everyday = (arguments.iter().position(|a| a == "--everyday"))
        .and_then(|at| Some((arguments.get(at + 1)?.clone(), arguments.get(at + 2)?.clone())));
    if flag("--chains") {
        let chains = chains::read(&bench, everyday.as_ref());
        chains::measure(&chains, &dumps, &part, only.as_deref(), flag("--wrong"), today, &meaning);
        return;
    }
    let everyday = (everyday.into_iter())
        .flat_map(|(file, data)| {
            let fitting = file.replace("questions.jsonl", "fitting.jsonl");
            let fresh = file.replace("questions.jsonl", "fresh.jsonl");
            [(file, data.clone(), EVERYDAY), (fitting, data.clone(), FITTING), (fresh, data, FRESH)]
        })
        .collect();
    let mut rights_file = value("--rights").map(|file| std::fs::File::create(file).unwrap());
    for (at, case) in cases(&bench, value("--own"), everyday).iter().enumerate() {
        if only.as_ref().is_some_and(|only| !only.split(',').any(|set| set == case.set)) || at % every != 0 {
            continue;
        }
        let unread = match case.set {
            FITTING | PRACTICE | RECENT => false,
            FRESH => true,
            _ => is_unread(&case.source),
        };
        if part == "read" && unread || part == "unread" && !unread {
            continue;
        }
        let source = sources.entry(case.path.clone()).or_insert_with(|| Source::open(&dumps, &case.path));
        let tally = tallies.entry((case.set, unread)).or_default();
        tally.cases += 1;
        let Some(source) = source else { continue };
        let answer = |query: &Query| source.answer(query);
        if let Some(file) = &mut compositions {
            if !matches!(case.set, AMBIGUOUS | UNANSWERABLE) {
                let found = if row_forms {
                    reader::row_forms(&case.question, &source.catalogue, today, &meaning, 400)
                } else {
                    reader::compositions(&case.question, &source.catalogue, today, &meaning, 80)
                };
                let rights = found
                    .iter()
                    .map(|one| answer(&one.query).is_some_and(|rows| is_right_as_written(case, &rows)));
                file.write(case, unread, &found, &rights.collect::<Vec<_>>());
            }
            continue;
        }
        let considered = consider(&case.question, &source.catalogue, None, today, &meaning);
        let proposals = considered.proposals();
        let results: Vec<Option<Rows>> = proposals.iter().map(|proposal| answer(proposal.query)).collect();
        let rights: Vec<bool> =
            results.iter().map(|rows| rows.as_ref().is_some_and(|rows| is_right(case, rows))).collect();
        let shapes: Vec<Option<ResultShape>> =
            results.iter().map(|rows| rows.as_ref().map(|rows| ResultShape::of(&cells(rows)))).collect();
        let judged = considered.judge(&shapes);
        if let Some(file) = &mut features {
            let labels = results.iter().map(|rows| rows.as_ref().map(|rows| is_right_as_written(case, rows)));
            let rows: Vec<Value> = (judged.iter().zip(labels).zip(&proposals))
                .map(|((judgement, right), proposal)| {
                    let x: Vec<f64> = judgement.features.iter().map(|(_, value)| *value).collect();
                    let planner = matches!(proposal.proposer, Proposer::Planner(_));
                    let sql =
                        if unread { String::new() } else { sql::write(proposal.query, Dialect::Sqlite) };
                    json!({ "x": x, "right": right, "sql": sql, "planner": planner,
                        "capped": !judgement.unexplained.is_empty(),
                        "misses_focus": judgement.misses_focus, "outside": !judgement.outside.is_empty() })
                })
                .collect();
            let names: Vec<&str> =
                judged.first().into_iter().flat_map(|first| &first.features).map(|(name, _)| *name).collect();
            let agree: Vec<Vec<bool>> = (shapes.iter())
                .map(|a| {
                    shapes.iter().map(|b| matches!((a, b), (Some(a), Some(b)) if a.agrees_with(b))).collect()
                })
                .collect();
            let row = json!({
                "set": case.set, "question": if unread { "" } else { &case.question }, "source": case.source, "unread": unread, "proposals": rows, "names": names,
                "agree": agree,
            });
            writeln!(file, "{row}").unwrap();
        }
        let mut lines: Vec<String> = (judged.iter().zip(&proposals).zip(&rights))
            .map(|((judgement, proposal), right)| {
                format!(
                    "    {} {:.2} {:.2} {right} {:?} {}",
                    if matches!(proposal.proposer, Proposer::Planner(_)) { "planner" } else { "reader " },
                    judgement.score,
                    judgement.probability,
                    judgement.unexplained,
                    sql::write(proposal.query, Dialect::Sqlite)
                )
            })
            .collect();
        tally.any += usize::from(rights.contains(&true));
        drop(proposals);
        let (mut right, mut sure) = (false, false);
        match considered.decide(&shapes) {
            Outcome::Read(reading) => {
                let rows = reading.queries.first().and_then(|named| answer(&named.query));
                right = rows.as_ref().is_some_and(|rows| is_right(case, rows));
                let empty = rows.as_ref().is_none_or(|rows| rows.iter().flatten().all(Value::is_null));
                sure = reading.confidence >= SURE && !empty;
                let named = !reading.unexplained.is_empty();
                tally.said += usize::from(!sure && (named || empty));
                lines.insert(0, format!("    answers {:.2}", reading.confidence));
            }
            Outcome::Ask { question, options } => {
                tally.asked += 1;
                lines.insert(0, format!("    asks {question} {options:?}"));
            }
            Outcome::Unanswerable { why, .. } => {
                tally.declined += 1;
                tally.said += 1;
                lines.insert(0, format!("    declines {why}"));
            }
        }
        if let Some(file) = rights_file.as_mut().filter(|_| !unread) {
            writeln!(file, "{}", json!({ "source": case.source, "question": case.question, "right": right }))
                .unwrap();
        }
        tally.right += usize::from(right);
        tally.sure += usize::from(sure);
        tally.both += usize::from(sure && right);
        let shown = flag("--wrong") && !right || flag("--sure") && sure && !right;
        if shown && !unread && case.set != FITTING {
            println!("{} {} | {}", case.set, case.source, case.question);
            println!("    {}", reader::explain(&case.question, &source.catalogue, today, &meaning));
            lines.iter().for_each(|line| println!("{line}"));
            println!("    truth {}", case.truth.to_string().chars().take(200).collect::<String>());
        }
    }
    if let Some(file) = compositions {
        file.finish();
        return;
    }
    println!(
        "{:<13} {:<7} {:>6} {:>8} {:>8} {:>8} {:>18} {:>8} {:>9} {:>8}",
        "set", "part", "cases", "any", "right", "sure", "right when sure", "asked", "declined", "says so"
    );
    for ((set, unread), tally) in tallies {
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let of = |part: usize| share(part, tally.cases);
        println!(
            "{set:<13} {:<7} {:>6} {:>6.1} % {:>6.1} % {:>6.1} % {:>8.1} % {:>7} {:>6.1} % {:>7.1} % {:>6.1} %",
            if unread {
                "unread"
            } else if set == FITTING {
                "fitted"
            } else {
                "read"
            },
            tally.cases,
            of(tally.any),
            of(tally.right),
            of(tally.sure),
            share(tally.both, tally.sure),
            format!("({}/{})", tally.both, tally.sure),
            of(tally.asked),
            of(tally.declined),
            of(tally.said),
        );
    }
}

/// Vectors of words and names, kept while the program runs.
struct Vectors {
    encoder: steward_encoder::Encoder,
    known: std::cell::RefCell<BTreeMap<String, Vec<f32>>>,
}

impl Default for Vectors {
    fn default() -> Self {
        Self { encoder: steward_encoder::Encoder::load().unwrap(), known: Default::default() }
    }
}

impl Vectors {
    fn similarity(&self, a: &str, b: &str) -> f32 {
        let mut known = self.known.borrow_mut();
        for text in [a, b] {
            if !known.contains_key(text) {
                known.insert(text.to_owned(), self.encoder.embed(text).unwrap_or_default());
            }
        }
        known[a].iter().zip(&known[b]).map(|(a, b)| a * b).sum()
    }
}

/// Compositions of all questions with their features and whether each is right, as text: a question
/// a line.
struct Compositions {
    file: std::io::BufWriter<std::fs::File>,
    names: BTreeMap<String, usize>,
}

impl Compositions {
    fn create(path: &str) -> Self {
        let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
        Self { file, names: BTreeMap::new() }
    }

    fn write(&mut self, case: &Case, unread: bool, found: &[reader::Composed], rights: &[bool]) {
        let mut rows: Vec<Value> = Vec::new();
        for (one, right) in found.iter().zip(rights) {
            let mut x: Vec<Value> = Vec::new();
            for (name, value) in &one.features {
                let next = self.names.len();
                let at = *self.names.entry(name.clone()).or_insert(next);
                x.push(json!(at));
                x.push(json!((value * 1000.0).round() / 1000.0));
            }
            rows.push(json!({ "right": right, "x": x, "score": one.score }));
        }
        let first = json!({ "set": case.set, "source": case.source, "unread": unread, "forms": rows });
        writeln!(self.file, "{first}").unwrap();
    }

    /// The last line: all names, in the order of their numbers.
    fn finish(mut self) {
        let mut names: Vec<(&String, &usize)> = self.names.iter().collect();
        names.sort_by_key(|(_, at)| **at);
        let names: Vec<&String> = names.into_iter().map(|(name, _)| name).collect();
        writeln!(self.file, "{}", json!({ "names": names })).unwrap();
    }
}

/// Rows as the judge takes them.
fn cells(rows: &Rows) -> Vec<Vec<frame::Value>> {
    let cell = |value: &Value| match value {
        Value::Number(number) => number
            .as_i64()
            .map(frame::Value::Int)
            .or_else(|| number.as_f64().map(frame::Value::Float))
            .unwrap_or_default(),
        Value::String(text) => frame::Value::Text(text.clone()),
        _ => frame::Value::Null,
    };
    rows.iter().map(|row| row.iter().map(cell).collect()).collect()
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
