//! Kills a worker in the middle of runs that have a map half done, a timer that waits, a
//! sub-workflow that runs and a signal that arrives, at every named point and at random: every run
//! completes, each effect happens once, each signal counts once.

use super::runs::{Field, chance, wait};
use crate::process::command;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Looks at what is left: a run waits for its timer, so the first looks come too early.
const LOOKS: u32 = 60;

/// The outcome.
pub(super) struct Report {
    pub(super) kills: u32,
    pub(super) runs: u64,
    pub(super) effects: u64,
}

fn define(home: &Path) -> Result<()> {
    let put = json!({
        "type": "tool", "tool": "ledger.put_keyed", "arguments": { "n": "${input.n}", "place": 9 },
    });
    let waits = json!({
        "name": "waits", "entry_point": "each",
        "inputs": { "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } },
        "nodes": {
            "each": { "type": "map", "over": "[0, 1, 2, 3]", "concurrency": 2, "tool": "ledger.put_keyed",
                "arguments": { "n": "${input.n}", "place": "${item}" } },
            "rest": { "type": "timer", "duration": "2500ms" },
            "child": { "type": "workflow", "workflow": "below", "arguments": { "n": "${input.n}" } },
            "go": { "type": "signal", "schema": { "type": "object", "required": ["n"] } },
            "result": { "type": "transform", "value": { "n": "${nodes.go.output.n}" } },
        },
        "edges": [
            { "from": "each", "to": "rest" }, { "from": "rest", "to": "child" },
            { "from": "child", "to": "go" }, { "from": "go", "to": "result" },
        ],
    });
    let below = json!({
        "name": "below", "entry_point": "put", "nodes": { "put": put },
    });
    std::fs::write(home.join("workflows/waits.json"), waits.to_string())?;
    std::fs::write(home.join("workflows/below.json"), below.to_string())?;
    Ok(())
}

pub(super) fn killed(program: &Path, home: &Path, store: String, kills: u32) -> Result<Report> {
    let field = Field::new(program, home, store)?;
    define(&field.home)?;
    let mut submitted = 0_usize;
    let mut submit = |count: usize| -> Result<()> {
        field.run(&["submit_waits"], &[&submitted.to_string(), &count.to_string()])?;
        submitted += count;
        Ok(())
    };
    let points = String::from_utf8(command(program).arg("workflow_points").output()?.stdout)?;
    ensure!(points.lines().count() > 0, "the program names no point where it can be let die");
    let mut killed = 0;
    for point in points.lines() {
        for nth in [1, 2] {
            submit(3)?;
            let mut worker = field.worker("one", "30", Some(&format!("{point}:{nth}")), false)?;
            let status = wait(&mut worker.child).with_context(|| format!("{point} was never reached"))?;
            ensure!(!status.success(), "the worker was to die at {point}");
            killed += 1;
        }
    }
    while killed < kills {
        submit(2)?;
        let mut worker = field.worker("one", "30", None, false)?;
        std::thread::sleep(Duration::from_millis(300 + chance(3500)?));
        worker.child.kill()?;
        worker.child.wait()?;
        killed += 1;
    }
    let ledger = field.ledger.display().to_string();
    let mut last = field.worker("one", "30", None, false)?;
    let mut left = Value::Null;
    for _ in 0..LOOKS {
        std::thread::sleep(Duration::from_secs(1));
        left = serde_json::from_str(&field.run(&["check_waits"], &[&ledger])?)?;
        if left.get("open").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            break;
        }
    }
    last.child.kill()?;
    last.child.wait()?;
    let number = |name: &str| left.get(name).and_then(Value::as_u64).unwrap_or_default();
    ensure!(left.get("open") == Some(&json!([])), "runs were left behind: {left}");
    ensure!(number("runs") == submitted as u64, "{submitted} runs were handed in: {left}");
    Ok(Report { kills: killed, runs: number("runs"), effects: number("effects") })
}
