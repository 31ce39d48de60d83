//! `cargo xtask eval model`: the reader alone, a model alone, and both through the judge, on the
//! same questions.
//!
//! Which questions is decided by a hash. What the model says is kept in a folder, one recording for
//! each question, and everything after the first run is played from there: `both` asks the model
//! exactly what `model` asked it, because the readings are not shown to it.

use super::{Part, Scored, is_unread, score, scored, source, text};
use crate::process::{built, command, run_quietly};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The model's name, in the settings and in the recordings.
const NAME: &str = "model";
/// Questions of each set.
pub(super) const QUESTIONS: usize = 60;
/// Sets, and the folders of their files.
const SETS: [&str; 2] = ["spider", "people"];

/// What the model needed for a question.
#[derive(Debug, Clone, Copy, Default)]
struct Effort {
    read: f64,
    written: f64,
    calls: f64,
    seconds: f64,
}

/// One way to answer, over all questions.
#[derive(Debug, Default)]
struct Tally {
    scores: Vec<Scored>,
    effort: Effort,
    seconds: f64,
}

/// Where the model is, and where what it says is kept.
pub(super) struct Setup<'a> {
    pub(super) bench: &'a Path,
    pub(super) server: Option<&'a str>,
    pub(super) recording: &'a Path,
    pub(super) part: Part,
    pub(super) only: &'a [String],
    pub(super) questions: usize,
    pub(super) built: Option<&'a Path>,
    pub(super) wrong: bool,
}

pub(super) fn run(setup: &Setup<'_>) -> Result<()> {
    let steward = match setup.built {
        Some(folder) => folder.join("steward"),
        None => {
            run_quietly(&["cargo", "build", "--quiet", "--workspace", "--bins"])?;
            built("debug").join("steward")
        }
    };
    ensure!(steward.exists(), "{} is not there", steward.display());
    std::fs::create_dir_all(setup.recording)
        .with_context(|| format!("{} cannot be made", setup.recording.display()))?;
    for set in SETS.into_iter().filter(|set| setup.only.is_empty() || setup.only.iter().any(|one| one == set))
    {
        let cases = chosen(setup, set)?;
        ensure!(!cases.is_empty(), "{set} has no question of this part");
        compare(&steward, setup, set, &cases)?;
    }
    Ok(())
}

/// Single questions with known rows, those with the smallest hashes, by the data they are about: a
/// server that has just read a schema need not read it again.
fn chosen(setup: &Setup<'_>, set: &str) -> Result<Vec<Value>> {
    let path = setup.bench.join(set).join("questions.jsonl");
    let lines =
        std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut cases: Vec<([u8; 32], Value)> = Vec::new();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line)?;
        let single = case.get("conversation").is_none_or(Value::is_null);
        let known = case.get("rows").is_some_and(|rows| !rows.is_null());
        if single && known && is_unread(&source(&case)) == (setup.part == Part::Unread) {
            cases.push((Sha256::digest(text(&case, "id").as_bytes()).into(), case));
        }
    }
    cases.sort_by_key(|(hash, _)| *hash);
    let mut cases: Vec<Value> = cases.into_iter().take(setup.questions).map(|(_, case)| case).collect();
    cases.sort_by_key(source);
    Ok(cases)
}

fn compare(steward: &Path, setup: &Setup<'_>, set: &str, cases: &[Value]) -> Result<()> {
    let (mut reader, mut model, mut both) = (Tally::default(), Tally::default(), Tally::default());
    let mut either = 0;
    for (place, case) in cases.iter().enumerate() {
        let asking = Asking { steward, set, folder: setup.bench.join(set), case };
        let effort = asking.record(setup)?;
        let (read, seconds) = asking.ask(Some("local"), None)?;
        reader.add(read.clone(), Effort::default(), seconds);
        let replay = asking.settings(&json!({ "replay": asking.file(setup.recording, "jsonl") }));
        let (alone, _) = asking.ask(Some("model"), Some(&replay))?;
        model.add(alone.clone(), effort, effort.seconds);
        let (mixed, seconds) = asking.ask(None, Some(&replay))?;
        // Where the reader is sure the model is not asked.
        let effort = if read.sure { Effort::default() } else { effort };
        both.add(mixed.clone(), effort, seconds + effort.seconds);
        either += usize::from(read.right || alone.right);
        eprintln!("{set} {} of {}", place + 1, cases.len());
        if setup.wrong && setup.part == Part::Read {
            let mark = |one: &Scored| if one.right { "right" } else { "wrong" };
            println!(
                "{} reader {} | {} model {} | {} both {}",
                mark(&read),
                read.line,
                mark(&alone),
                alone.line,
                mark(&mixed),
                mixed.line
            );
        }
    }
    let part = if setup.part == Part::Unread { "never read" } else { "read" };
    println!("{set}, {part}, {} questions; the reader or the model is right in {either}", cases.len());
    println!(
        "  {:<8} {:>12} {:>8} {:>20} {:>8} {:>12} {:>10}",
        "", "right", "sure", "right when sure", "calls", "tokens", "seconds"
    );
    reader.print("reader");
    model.print("model");
    both.print("both");
    Ok(())
}

impl Tally {
    fn add(&mut self, scored: Scored, effort: Effort, seconds: f64) {
        self.scores.push(scored);
        self.effort.read += effort.read;
        self.effort.written += effort.written;
        self.effort.calls += effort.calls;
        self.seconds += seconds;
    }

    fn print(&self, name: &str) {
        let all = self.scores.len().max(1) as f64;
        let count = |test: &dyn Fn(&Scored) -> bool| self.scores.iter().filter(|one| test(one)).count();
        let (right, sure) = (count(&|one| one.right), count(&|one| one.sure));
        println!(
            "  {name:<8} {:>3} {:>6.1} % {sure:>8} {:>20} {:>8} {:>12} {:>10}",
            right,
            100.0 * right as f64 / all,
            format!("{} of {sure}", count(&|one| one.right && one.sure)),
            format!("{:.2}", self.effort.calls / all),
            format!("{:.0}+{:.0}", self.effort.read / all, self.effort.written / all),
            format!("{:.1}", self.seconds / all),
        );
    }
}

struct Asking<'a> {
    steward: &'a Path,
    set: &'a str,
    folder: PathBuf,
    case: &'a Value,
}

impl Asking<'_> {
    fn file(&self, folder: &Path, kind: &str) -> PathBuf {
        folder.join(format!("{}-{}.{kind}", self.set, text(self.case, "id")))
    }

    fn settings(&self, more: &Value) -> Value {
        let mut model = json!({
            "provider": "openai", "name": NAME, "base_url": "http://127.0.0.1:9/v1", "send_samples": true,
        });
        if let (Some(model), Some(more)) = (model.as_object_mut(), more.as_object()) {
            model.extend(more.clone());
        }
        json!({ "models": { NAME: model }, "use": { "ask": NAME } })
    }

    /// Asks the model alone where that was not done before, and keeps what it said and how long it
    /// took.
    fn record(&self, setup: &Setup<'_>) -> Result<Effort> {
        let (kept, took) = (self.file(setup.recording, "jsonl"), self.file(setup.recording, "seconds"));
        if !took.exists() {
            let server = setup.server.with_context(|| {
                format!("{} is not there: pass --server to ask the model", took.display())
            })?;
            // What was left by a run that did not come to its end.
            if kept.exists() {
                std::fs::remove_file(&kept)?;
            }
            let settings = self.settings(&json!({ "base_url": server, "record": kept }));
            let (_, seconds) = self.ask(Some("model"), Some(&settings))?;
            if !kept.exists() {
                std::fs::write(&kept, "")?;
            }
            std::fs::write(&took, seconds.to_string())?;
        }
        let mut effort =
            Effort { seconds: std::fs::read_to_string(&took)?.trim().parse()?, ..Effort::default() };
        for line in std::fs::read_to_string(&kept)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            let tokens = |name: &str| {
                line.pointer("/answer/usage").and_then(|usage| usage.get(name)).and_then(Value::as_f64)
            };
            effort.read += tokens("input").unwrap_or_default();
            effort.written += tokens("output").unwrap_or_default();
            effort.calls += 1.0;
        }
        Ok(effort)
    }

    /// Asks through the program, in a home of its own, and scores the answer.
    fn ask(&self, planner: Option<&str>, settings: Option<&Value>) -> Result<(Scored, f64)> {
        let home = tempfile::tempdir()?;
        if let Some(settings) = settings {
            std::fs::create_dir_all(home.path().join("config"))?;
            std::fs::write(home.path().join("config/steward.yaml"), settings.to_string())?;
        }
        let mut program = command(self.steward);
        program.args(["ask", "--json", "--deliver", "summary"]);
        if let Some(planner) = planner {
            program.args(["--planner", planner]);
        }
        program.arg("--data").arg(self.folder.join(source(self.case))).arg("--home").arg(home.path());
        let question = text(self.case, "question");
        program.arg("--").arg(question);
        let began = now();
        let output = program.output().context("steward could not be started")?;
        let seconds = began.elapsed();
        let answer = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        let rows = self.case.get("rows").unwrap_or(&Value::Null);
        let right = if self.set == "people" {
            score::covers(rows, &answer)
        } else {
            let ordered = self.case.get("ordered").and_then(Value::as_bool).unwrap_or(false);
            score::same_rows(rows, &answer, ordered)
        };
        Ok((scored(right, &answer, question), seconds.max(Duration::ZERO).as_secs_f64()))
    }
}

#[allow(clippy::disallowed_methods, reason = "a measurement")]
fn now() -> Instant {
    Instant::now()
}
