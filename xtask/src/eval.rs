//! Evaluation on public data sets, which live outside the repository in a folder given by
//! `--bench`.
//!
//! Every question goes through the program itself, `steward ask … --json`, as a user would ask it:
//! no model, a fresh home. What is counted: how many answers are right, how many were given with
//! high confidence, and how many of those are right.

mod judge;
mod model;
mod named;
mod score;

use crate::process::{built, command, root, run_quietly};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Which data.
#[derive(clap::Args)]
pub(crate) struct Eval {
    /// `tools` for how well tools are chosen and their arguments filled, `language` for how well
    /// requests are routed to domains and intents, `judge` to fit the judge of questions anew and
    /// measure it, `model` for the reader and a model, alone and together; questions about data
    /// when nothing is said.
    set: Option<Set>,
    /// The folder with the data sets.
    #[arg(long)]
    bench: PathBuf,
    /// Only these sets: people, wikisql, spider, dialogues, dabench, wikitables, ambrosia,
    /// unanswerable.
    #[arg(long)]
    only: Vec<String>,
    /// Every so-many-th question; 1 is all of them.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Print the questions that were answered wrongly, of the part that may be read.
    #[arg(long)]
    wrong: bool,
    /// Only one part: `read`, or `unread`, the third of the databases and tables whose failures
    /// nobody looks at.
    #[arg(long)]
    part: Option<Part>,
    /// With `tools` and `language`: build and run it in the profile made for measuring.
    #[arg(long)]
    bench_profile: bool,
    /// A folder of metric definitions (`*.yaml`) that every home gets. Without it no metrics.
    #[arg(long)]
    semantics: Option<PathBuf>,
    /// With `model`: a server with OpenAI's chat completions, such as `http://127.0.0.1:8080/v1`.
    #[arg(long)]
    server: Option<String>,
    /// With `model`: the folder that keeps what the model said; what is there is not asked again.
    #[arg(long)]
    recording: Option<PathBuf>,
    /// With `model`: a folder with a `steward` that was built before, instead of building it.
    #[arg(long)]
    built: Option<PathBuf>,
    /// With `model`: questions of each set.
    #[arg(long, default_value_t = model::QUESTIONS)]
    questions: usize,
}

/// What is evaluated when it is not questions about data.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Set {
    Tools,
    Language,
    Judge,
    Model,
}

/// The part of a set that failures are read in, and the part that they are not.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Read,
    Unread,
}

/// Whether a database or table belongs to the third that is left unread: by the SHA-256 of its name
/// in the set.
fn is_unread(name: &str) -> bool {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(name.as_bytes()).iter().fold(0_u32, |rest, byte| (rest * 256 + u32::from(*byte)) % 3) == 0
}

/// What came of one question.
#[derive(Debug, Clone, Default)]
struct Scored {
    right: bool,
    unread: bool,
    /// It asked back.
    asked: bool,
    /// It said that the data does not say.
    abstained: bool,
    sure: bool,
    /// It named words that nothing in the data was found for.
    missing: bool,
    line: String,
    /// Its place in a dialogue, from 1.
    turn: usize,
}

pub(crate) fn run(eval: &Eval) -> Result<()> {
    ensure!(eval.bench.is_dir(), "{} is no folder: pass the one with the data sets", eval.bench.display());
    match eval.set {
        Some(Set::Tools) => return tools(eval),
        Some(Set::Language) => return language(eval),
        Some(Set::Judge) => return judge::fit(&eval.bench, eval.part == Some(Part::Unread)),
        Some(Set::Model) => return with_model(eval),
        None => {}
    }
    run_quietly(&["cargo", "build", "--quiet", "--package", "steward"])?;
    let steward = built("debug").join("steward");
    ensure!(steward.exists(), "{} is not there", steward.display());
    println!(
        "{:<12} {:<7} {:>6} {:>8} {:>8} {:>20} {:>8} {:>10}",
        "set", "part", "cases", "right", "sure", "right when sure", "asked", "abstained"
    );
    for (set, file) in [
        ("people", "people/questions.jsonl"),
        ("wikisql", "wikisql/questions.jsonl"),
        ("spider", "spider/questions.jsonl"),
        ("dialogues", "spider/dialogues.jsonl"),
        ("dabench", "dabench/questions.jsonl"),
        ("wikitables", "wikitables/questions.jsonl"),
        ("ambrosia", "ambrosia/questions.jsonl"),
        (UNANSWERABLE, judge::OWN),
    ] {
        let own = set == UNANSWERABLE;
        let path = if own { root().join(file) } else { eval.bench.join(file) };
        if (!eval.only.is_empty() && !eval.only.iter().any(|only| only == set)) || !path.exists() {
            continue;
        }
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let cases: Vec<Value> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        let cases = if set == "people" { conversations(cases) } else { cases };
        let wanted =
            |case: &Value| eval.part.is_none_or(|part| (part == Part::Unread) == is_unread(&source(case)));
        let cases: Vec<Value> = cases.into_iter().filter(wanted).step_by(eval.every.max(1)).collect();
        let folder = if own { eval.bench.clone() } else { path.parent().unwrap_or(&eval.bench).to_owned() };
        let scores = measure(&steward, set, &folder, &cases, eval.semantics.as_deref())?;
        report(set, &scores, eval.wrong);
    }
    Ok(())
}

/// `cargo xtask eval model`.
fn with_model(eval: &Eval) -> Result<()> {
    let kept = crate::process::cache()?.join("model_answers");
    model::run(&model::Setup {
        bench: &eval.bench,
        server: eval.server.as_deref(),
        recording: eval.recording.as_deref().unwrap_or(&kept),
        part: eval.part.unwrap_or(Part::Unread),
        only: &eval.only,
        questions: eval.questions,
        built: eval.built.as_deref(),
        wrong: eval.wrong,
    })
}

/// The database, table or file that a case is about, as its set names it.
fn source(case: &Value) -> String {
    let named =
        ["table", "database", "source"].iter().map(|name| text(case, name)).find(|name| !name.is_empty());
    let first = case.pointer("/data/0").or_else(|| case.pointer("/turns/0/data/0")).and_then(Value::as_str);
    named.or(first).unwrap_or_default().to_owned()
}

/// Questions of one conversation as turns of one case; those without rows are judged by a person
/// and left out.
fn conversations(cases: Vec<Value>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for case in cases {
        let conversation = text(&case, "conversation").to_owned();
        let known = all
            .iter_mut()
            .find(|known| !conversation.is_empty() && text(known, "conversation") == conversation);
        match known.and_then(|known| known.get_mut("turns")).and_then(Value::as_array_mut) {
            Some(turns) => turns.push(case),
            None if conversation.is_empty() && case.get("rows").is_none_or(Value::is_null) => {}
            None => all.push(serde_json::json!({ "conversation": conversation, "turns": [case] })),
        }
    }
    all
}

/// `cargo xtask eval tools`: the selection is asked directly, by a program of its own crate.
fn tools(eval: &Eval) -> Result<()> {
    // Built as a part of the whole workspace: on its own it would want other features of what it
    // shares with the rest.
    directly(eval, &["--workspace", "--example", "eval_tools"], "eval_tools", &["--wrong", "--misses"])
}

/// `cargo xtask eval language`: the router is asked directly. Its crate builds alone, which is much
/// less than the workspace.
fn language(eval: &Eval) -> Result<()> {
    let build = ["--package", "steward-language", "--example", "eval_language"];
    directly(eval, &build, "eval_language", &["--wrong"])
}

/// Builds a measuring program of another crate and runs it.
fn directly(eval: &Eval, build: &[&str], name: &str, wrong: &[&str]) -> Result<()> {
    let profile: &[&str] = if eval.bench_profile { &["--profile", "bench"] } else { &[] };
    run_quietly(&[&["cargo", "build", "--quiet"], build, profile].concat())?;
    let folder = built(if eval.bench_profile { "release" } else { "debug" });
    let mut program = command(folder.join("examples").join(name));
    program.arg("--bench").arg(&eval.bench);
    if eval.wrong {
        program.args(wrong);
    }
    let status = program.status().with_context(|| format!("{name} could not be started"))?;
    ensure!(status.success(), "{name} failed with {status}");
    Ok(())
}

/// Asks all questions, two at a time.
fn measure(
    steward: &Path,
    set: &str,
    folder: &Path,
    cases: &[Value],
    semantics: Option<&Path>,
) -> Result<Vec<Scored>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Vec<Scored>)>> = Mutex::default();
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| -> Result<()> {
        let handles: Vec<_> = (0..workers)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let home = tempfile::tempdir()?;
                    if let Some(definitions) = semantics {
                        give_definitions(definitions, home.path())?;
                    }
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(case) = cases.get(place) else { return Ok(()) };
                        let scored = one(steward, home.path(), set, folder, case)?;
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((place, scored));
                    }
                })
            })
            .collect();
        for handle in handles {
            match handle.join() {
                Ok(result) => result?,
                Err(_) => bail!("a worker died"),
            }
        }
        Ok(())
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().flat_map(|(_, scored)| scored).collect())
}

/// Copies the definitions of metrics into a home.
fn give_definitions(from: &Path, home: &Path) -> Result<()> {
    let folder = home.join("semantics");
    std::fs::create_dir_all(&folder)?;
    let entries = std::fs::read_dir(from).with_context(|| format!("{} cannot be read", from.display()))?;
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let yaml = files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    let mut copied = 0;
    for path in yaml {
        std::fs::copy(path, folder.join(path.file_name().unwrap_or_default()))?;
        copied += 1;
    }
    ensure!(copied > 0, "{} holds no *.yaml", from.display());
    Ok(())
}

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn one(steward: &Path, home: &Path, set: &str, folder: &Path, case: &Value) -> Result<Vec<Scored>> {
    let data = folder.join(if text(case, "table").is_empty() {
        text(case, "database")
    } else {
        text(case, "table")
    });
    let unread = is_unread(&source(case));
    let mut scores = score_case(steward, home, set, folder, case, &data)?;
    scores.iter_mut().for_each(|scored| scored.unread = unread);
    Ok(scores)
}

fn score_case(
    steward: &Path,
    home: &Path,
    set: &str,
    folder: &Path,
    case: &Value,
    data: &Path,
) -> Result<Vec<Scored>> {
    match set {
        "wikisql" | "wikitables" => {
            let answer = ask(steward, home, text(case, "question"), data, None)?;
            let right = score::same_values(case.get("answer").unwrap_or(&Value::Null), &answer);
            Ok(vec![scored(right, &answer, text(case, "question"))])
        }
        "people" => {
            let mut conversation = None;
            let mut turns = Vec::new();
            for turn in case.get("turns").and_then(Value::as_array).into_iter().flatten() {
                let data = folder.join(turn.pointer("/data/0").and_then(Value::as_str).unwrap_or_default());
                let answer = ask(steward, home, text(turn, "question"), &data, conversation.as_deref())?;
                conversation = answer.get("conversation_id").and_then(Value::as_str).map(str::to_owned);
                let Some(rows) = turn.get("rows").filter(|rows| !rows.is_null()) else { continue };
                turns.push(scored(score::covers(rows, &answer), &answer, text(turn, "question")));
            }
            Ok(turns)
        }
        "ambrosia" => {
            let answer = ask(steward, home, text(case, "question"), data, None)?;
            let mut all = vec![Scored { turn: AMBIGUOUS, ..scored(false, &answer, text(case, "question")) }];
            for reading in case.get("readings").and_then(Value::as_array).into_iter().flatten() {
                let answer = ask(steward, home, text(reading, "question"), data, None)?;
                let right = score::same_rows(reading.get("rows").unwrap_or(&Value::Null), &answer, false);
                all.push(scored(right, &answer, text(reading, "question")));
            }
            Ok(all)
        }
        "spider" => {
            let answer = ask(steward, home, text(case, "question"), data, None)?;
            let ordered = case.get("ordered").and_then(Value::as_bool).unwrap_or(false);
            let right = score::same_rows(case.get("rows").unwrap_or(&Value::Null), &answer, ordered);
            Ok(vec![scored(right, &answer, text(case, "question"))])
        }
        UNANSWERABLE => {
            let data = folder.join(text(case, "set")).join(text(case, "source"));
            let answer = ask(steward, home, text(case, "question"), &data, None)?;
            Ok(vec![scored(false, &answer, text(case, "question"))])
        }
        "dialogues" => {
            let mut conversation = None;
            let mut turns = Vec::new();
            for turn in case.get("turns").and_then(Value::as_array).into_iter().flatten() {
                let answer = ask(steward, home, text(turn, "say"), data, conversation.as_deref())?;
                let right = score::same_rows(turn.get("rows").unwrap_or(&Value::Null), &answer, false);
                turns.push(Scored { turn: turns.len() + 1, ..scored(right, &answer, text(turn, "say")) });
                conversation = answer.get("conversation_id").and_then(Value::as_str).map(str::to_owned);
            }
            Ok(turns)
        }
        _ => {
            let figures = named::figures(text(case, "format"));
            let question = [text(case, "question"), text(case, "constraints"), &figures].join("\n");
            let answer = ask(steward, home, &question, data, None)?;
            let right = named::same_named(case.get("answers").unwrap_or(&Value::Null), &answer);
            Ok(vec![scored(right, &answer, text(case, "question"))])
        }
    }
}

fn scored(right: bool, answer: &Value, question: &str) -> Scored {
    let sure = answer.get("confidence").and_then(Value::as_str) == Some("high");
    let answered = answer.get("tables").and_then(Value::as_array).is_some_and(|tables| !tables.is_empty());
    let score = answer.get("confidence_score").and_then(Value::as_f64).unwrap_or_default();
    let sql = answer.pointer("/sql/0/sql").and_then(Value::as_str).unwrap_or("nothing ran");
    let asked = answer.get("clarification").is_some_and(|question| !question.is_null());
    let line = format!("{score:.2} {question}\n      {sql}");
    let sure = sure && !asked;
    let missing = answer.get("unexplained").and_then(Value::as_array).is_some_and(|words| !words.is_empty());
    let abstained = !answered && !asked;
    Scored { right: right && !asked, sure, asked, abstained, missing, line, ..Scored::default() }
}

fn ask(
    steward: &Path,
    home: &Path,
    question: &str,
    data: &Path,
    conversation: Option<&str>,
) -> Result<Value> {
    let mut program = command(steward);
    program
        .args(["ask", "--json", "--deliver", "summary", "--planner", "local", "--data"])
        .arg(data)
        .arg("--home")
        .arg(home);
    if let Some(conversation) = conversation {
        program.args(["--conversation", conversation]);
    }
    let output = program.arg("--").arg(question).output().context("steward could not be started")?;
    // A refusal prints its answer too, then fails.
    Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

/// Questions of our own that the data cannot answer.
const UNANSWERABLE: &str = "unanswerable";

/// Marks the ambiguous questions of a set among their readings.
const AMBIGUOUS: usize = usize::MAX;

fn report(set: &str, scores: &[Scored], wrong: bool) {
    let share = |part: usize, whole: usize| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    for unread in [false, true] {
        let part: Vec<&Scored> =
            scores.iter().filter(|scored| scored.unread == unread && scored.turn != AMBIGUOUS).collect();
        let count = |test: &dyn Fn(&Scored) -> bool| part.iter().filter(|scored| test(scored)).count();
        let (all, sure, both) = (part.len(), count(&|s| s.sure), count(&|s| s.right && s.sure));
        if all == 0 {
            continue;
        }
        let name = if unread { "unread" } else { "read" };
        println!(
            "{set:<12} {name:<7} {all:>6} {:>6.1} % {:>6.1} % {:>8.1} % ({both}/{sure}) {:>6.1} % {:>8.1} %",
            share(count(&|s| s.right), all),
            share(sure, all),
            share(both, sure),
            share(count(&|s| s.asked), all),
            share(count(&|s| s.abstained), all),
        );
        let ambiguous: Vec<&Scored> =
            scores.iter().filter(|scored| scored.unread == unread && scored.turn == AMBIGUOUS).collect();
        if !ambiguous.is_empty() {
            let asked = ambiguous.iter().filter(|scored| scored.asked).count();
            println!(
                "    asked back on {:.1} % of {} ambiguous ones",
                share(asked, ambiguous.len()),
                ambiguous.len()
            );
        }
        if set == UNANSWERABLE {
            let said = count(&|s| s.abstained || s.asked || !s.sure && s.missing);
            println!("    said so in {:.1} %", share(said, all));
        }
        if set == "dialogues" {
            by_turn(&scores.iter().filter(|scored| scored.unread == unread).cloned().collect::<Vec<_>>());
        }
    }
    for scored in scores.iter().filter(|scored| wrong && !scored.right && !scored.unread) {
        println!("    {}", scored.line);
    }
}

/// How much is lost from the first turn of a dialogue to later ones, and how many dialogues are
/// right from end to end.
fn by_turn(scores: &[Scored]) {
    let dialogues: Vec<&[Scored]> = scores.chunk_by(|_, next| next.turn > 1).collect();
    if scores.iter().all(|scored| scored.turn == 0) || dialogues.is_empty() {
        return;
    }
    let share = |right: usize, all: usize| 100.0 * right as f64 / all.max(1) as f64;
    let longest = scores.iter().map(|scored| scored.turn).max().unwrap_or_default();
    for turn in 1..=longest {
        let here: Vec<&Scored> = scores.iter().filter(|scored| scored.turn == turn).collect();
        let right = here.iter().filter(|scored| scored.right).count();
        println!("    turn {turn}: {:.1} % of {}", share(right, here.len()), here.len());
    }
    let whole = dialogues.iter().filter(|turns| turns.iter().all(|scored| scored.right)).count();
    println!("    whole dialogues: {:.1} % of {}", share(whole, dialogues.len()), dialogues.len());
}
