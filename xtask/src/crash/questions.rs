//! Kills a process in the middle of questions, at random and at named points, and looks at what is
//! left: every question that was taken is answered or ended with the reason, and none is answered
//! twice.

use super::runs::{chance, wait};
use crate::process::command;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
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
}

struct Field {
    program: PathBuf,
    home: PathBuf,
    store: String,
    /// Questions that a process said it had taken.
    taken: BTreeSet<String>,
}

impl Field {
    /// Asks until it is killed, or dies at this point. What was said before that counts.
    fn ask_and_die(&mut self, crash_at: Option<&str>, sweep: bool) -> Result<()> {
        let mut line = command(&self.program);
        line.arg("ask").arg(&self.home).arg(&self.store);
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
    let (program, home) = (program.to_owned(), home.to_owned());
    let mut field = Field { program, home, store, taken: BTreeSet::new() };
    let points = command(&field.program).arg("question_points").output()?;
    let points = String::from_utf8(points.stdout)?;
    ensure!(points.lines().count() > 0, "the program names no point where it can be let die");
    let mut killed = 0;
    for point in points.lines() {
        for nth in [1, 2, 3] {
            field.ask_and_die(Some(&format!("{point}:{nth}")), false)?;
            killed += 1;
        }
    }
    while killed < kills {
        field.ask_and_die(None, killed % 3 == 0)?;
        killed += 1;
    }
    field.run("work", &["last", "1", "--until-empty"])?;
    let left: Value = serde_json::from_str(&field.run("check_questions", &[])?)?;
    let known: BTreeSet<&str> =
        left.get("tasks").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let lost: Vec<&String> = field.taken.iter().filter(|task| !known.contains(task.as_str())).collect();
    ensure!(lost.is_empty(), "questions were taken and are not there: {lost:?}");
    let count = |name: &str| left.get(name).and_then(Value::as_u64).unwrap_or_default();
    ensure!(count("open") == 0, "questions were left behind: {left}");
    ensure!(count("twice") == 0, "questions were answered twice: {left}");
    ensure!(count("unexplained") == 0, "questions ended without a reason: {left}");
    let questions = known.len() as u64;
    Ok(Report { kills: killed, questions, answered: count("answered"), ended: count("ended") })
}
