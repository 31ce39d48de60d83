//! Kills a process in the middle of questions and chat turns, at random and at named points, and
//! looks at what is left: each that was taken is answered or ended with the reason, none is
//! answered twice, and nothing that a turn changes is changed twice.

use super::runs::{chance, wait};
use crate::process::{command, root};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// What came of it.
pub(super) struct Report {
    pub(super) kills: u32,
    pub(super) questions: u64,
    pub(super) answered: u64,
    pub(super) ended: u64,
    pub(super) notes: u64,
}

struct Field {
    program: PathBuf,
    home: PathBuf,
    store: String,
    /// Questions and turns that a process said it had taken.
    taken: BTreeSet<String>,
    rounds: usize,
}

impl Field {
    /// Asks or says things until it is killed, or dies at this point. What was taken before counts.
    fn work_and_die(&mut self, door: &str, crash_at: Option<&str>, sweep: bool) -> Result<()> {
        self.rounds += 1;
        let mut line = command(&self.program);
        line.arg(door).arg(&self.home).arg(&self.store).arg((self.rounds * 1000).to_string());
        if sweep {
            line.arg("--end-cut-off");
        }
        if let Some(point) = crash_at {
            line.env("STEWARD_CRASH_AT", point);
        }
        let mut child = line.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("a pipe was asked for")?).lines();
        match crash_at {
            Some(point) => {
                let status = wait(&mut child).with_context(|| format!("{point} was never reached"))?;
                ensure!(!status.success(), "the process was to die at {point}");
            }
            None => {
                let first = lines.next().context("the process ended before its first question")??;
                self.taken.insert(first);
                std::thread::sleep(Duration::from_millis(chance(400)?));
                child.kill()?;
                child.wait()?;
            }
        }
        for line in lines {
            self.taken.insert(line?);
        }
        Ok(())
    }

    /// Lets a worker take up everything that is left.
    fn work_off(&self) -> Result<()> {
        self.run("work", &["last", "1", "--until-empty"]).map(drop)
    }

    fn run(&self, chore: &str, rest: &[&str]) -> Result<String> {
        let done = command(&self.program)
            .arg(chore)
            .arg(&self.home)
            .arg(&self.store)
            .args(rest)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()?;
        let told = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{chore} failed:\n{told}");
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }
}

/// One process after the other asks and is killed. Some of what they leave is ended by the next one
/// that asks, the rest is answered by a worker.
pub(super) fn killed(program: &Path, home: &Path, store: String, kills: u32) -> Result<Report> {
    std::fs::create_dir_all(home.join("config"))?;
    let rows: Vec<String> = (0..500).map(|n| format!("{},{},{}", n % 7, n % 12 + 1, n)).collect();
    std::fs::write(home.join("sales.csv"), format!("state,month,amount\n{}\n", rows.join("\n")))?;
    let notes = root().join("examples/apps/notes.py");
    let servers = json!({ "servers": [{
        "name": "notes", "transport": "stdio",
        "config": { "command": "python3", "args": [notes, "--db", home.join("notes.db")] },
    }] });
    let tools = json!({ "categories": { "notes": { "tools": {
        "notes.create_note": { "idempotency": "none", "approval": "never" },
    } } } });
    std::fs::write(home.join("config/mcp_servers.yaml"), servers.to_string())?;
    std::fs::write(home.join("config/tools.yaml"), tools.to_string())?;
    let (program, home) = (program.to_owned(), home.to_owned());
    let mut field = Field { program, home, store, taken: BTreeSet::new(), rounds: 0 };
    let mut killed = 0;
    for (door, list) in [("ask", "question_points"), ("chat", "turn_points")] {
        let points = String::from_utf8(command(&field.program).arg(list).output()?.stdout)?;
        ensure!(points.lines().count() > 0, "the program names no point where it can be let die");
        for point in points.lines() {
            for nth in [1, 2] {
                field.work_and_die(door, Some(&format!("{point}:{nth}")), false)?;
                killed += 1;
            }
        }
    }
    // A worker takes up what was left; later some of it is ended by the next process that asks.
    field.work_off()?;
    while killed < kills {
        let door = if killed % 2 == 0 { "ask" } else { "chat" };
        field.work_and_die(door, None, killed % 5 == 0)?;
        killed += 1;
        if killed % 4 == 0 {
            field.work_off()?;
        }
    }
    field.work_off()?;
    let left: Value = serde_json::from_str(&field.run("check_questions", &[])?)?;
    let known: BTreeSet<&str> =
        left.get("tasks").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let lost: Vec<&String> = field.taken.iter().filter(|task| !known.contains(task.as_str())).collect();
    ensure!(lost.is_empty(), "questions or turns were taken and are not there: {lost:?}");
    let count = |name: &str| left.get(name).and_then(Value::as_u64).unwrap_or_default();
    ensure!(count("open") == 0, "questions or turns were left behind: {left}");
    ensure!(count("twice") == 0, "something was answered or done twice: {left}");
    let is_explained = left.get("unexplained").and_then(Value::as_array).is_some_and(Vec::is_empty);
    ensure!(is_explained, "questions or turns ended without a reason: {left}");
    let questions = known.len() as u64;
    let (answered, ended, notes) = (count("answered"), count("ended"), count("notes"));
    Ok(Report { kills: killed, questions, answered, ended, notes })
}
