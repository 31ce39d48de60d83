//! A question against the script that an analyst would write: whole process against whole process,
//! in turns.

use super::{line, timed};
use crate::process::{built, cache, command, root, run_quietly};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Rows of the files.
    #[arg(long, default_values_t = [200_000, 5_000_000])]
    rows: Vec<u64>,
    /// Rounds; the middle one counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// What to compare with: polars, duckdb, pandas.
    #[arg(long, default_values_t = ["polars".to_owned()])]
    peers: Vec<String>,
}

const QUESTION: &str = "Analyze Q1 2021 Arizona sales; trends + charts";
const SIMILAR: &str = "Analyze Q2 2021 Texas sales; trends + charts";

pub(crate) fn run(options: &Options) -> Result<()> {
    run_quietly(&["cargo", "build", "--quiet", "--profile", "bench", "--package", "steward"])?;
    let steward = built("release").join("steward");
    ensure!(steward.exists(), "{} is not there", steward.display());
    let python = environment()?;
    let folder = tempfile::tempdir_in(root())?;
    for rows in &options.rows {
        let file = folder.path().join("sales.csv");
        let written = command(&python)
            .arg(root().join("bench/peers/make_sales.py"))
            .arg(rows.to_string())
            .arg(&file)
            .status()?;
        ensure!(written.success(), "the sales file could not be made");
        compare(options, &steward, &python, &file, folder.path(), *rows)?;
    }
    Ok(())
}

fn compare(
    options: &Options,
    steward: &Path,
    python: &Path,
    file: &Path,
    folder: &Path,
    rows: u64,
) -> Result<()> {
    let mut ours = Vec::new();
    let mut again = Vec::new();
    let mut theirs: Vec<(String, Vec<Duration>)> =
        options.peers.iter().map(|peer| (peer.clone(), Vec::new())).collect();
    for round in 0..options.rounds {
        // A new home each round, so that the first question never finds a recipe.
        let home = folder.join(format!("home_{rows}_{round}"));
        let (answer, took) = timed(|| ask(steward, &home, file, QUESTION));
        let total = total(&answer?)?;
        ours.push(took);
        let (answer, took) = timed(|| ask(steward, &home, file, SIMILAR));
        let used = answer?.pointer("/metrics/recipe_used").and_then(Value::as_bool);
        ensure!(used == Some(true), "the second question did not use the recipe of the first");
        again.push(took);
        for (peer, times) in &mut theirs {
            let (output, took) = timed(|| {
                command(python)
                    .arg(root().join("bench/peers/analysis.py"))
                    .arg(&*peer)
                    .arg(file)
                    .arg(folder)
                    .output()
            });
            let output = output?;
            ensure!(output.status.success(), "{peer}: {}", String::from_utf8_lossy(&output.stderr));
            let printed: Value = serde_json::from_slice(&output.stdout)?;
            let expected = printed.get("sum").and_then(Value::as_f64).context("the script printed no sum")?;
            ensure!((expected - total).abs() < 0.01, "{peer} says {expected}, steward says {total}");
            times.push(took);
        }
    }
    let (first, second) = (middle(ours), middle(again));
    println!(
        "{rows} rows: steward {:.3} s, again through its recipe {:.3} s",
        first.as_secs_f64(),
        second.as_secs_f64()
    );
    line(
        "  second, similar question through its recipe",
        &ratio(second, first),
        "below 1.00x",
        second < first,
    );
    for (peer, times) in theirs {
        let peer_time = middle(times);
        let goal = if rows <= 1_000_000 { 0.5 } else { 1.0 };
        let share = first.as_secs_f64() / peer_time.as_secs_f64();
        let name = format!("  steward to a {peer} script ({:.3} s)", peer_time.as_secs_f64());
        line(&name, &format!("{share:.2}x"), &format!("at most {goal:.2}x"), share <= goal);
    }
    Ok(())
}

fn ratio(a: Duration, b: Duration) -> String {
    format!("{:.2}x", a.as_secs_f64() / b.as_secs_f64())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn ask(steward: &Path, home: &Path, file: &Path, question: &str) -> Result<Value> {
    let output = command(steward)
        .args(["ask", question, "--json", "--data"])
        .arg(file)
        .arg("--home")
        .arg(home)
        .output()?;
    ensure!(output.status.success(), "steward: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The sum of the measure over the months of the first table: both must have computed the same.
fn total(answer: &Value) -> Result<f64> {
    let columns =
        answer.pointer("/tables/0/columns").and_then(Value::as_array).context("no table came back")?;
    let measure = columns
        .iter()
        .position(|name| name.as_str().is_some_and(|name| name.contains("amount")))
        .context("no amount in the table")?;
    let rows = answer.pointer("/tables/0/rows").and_then(Value::as_array).context("no rows came back")?;
    Ok(rows.iter().filter_map(|row| row.get(measure)?.as_f64()).sum())
}

/// A Python with what the scripts need, made once.
fn environment() -> Result<PathBuf> {
    let folder = cache()?.join("peers");
    let python = folder.join("bin/python");
    if !folder.join("ready").exists() {
        let status = command("python3").args(["-m", "venv"]).arg(&folder).status()?;
        ensure!(status.success(), "python3 -m venv failed: install python3-venv");
        let status = command(&python)
            .args(["-m", "pip", "install", "--quiet", "polars", "duckdb", "pandas", "matplotlib"])
            .status()?;
        ensure!(status.success(), "pip could not install polars, duckdb, pandas and matplotlib");
        std::fs::write(folder.join("ready"), "")?;
    }
    Ok(python)
}
