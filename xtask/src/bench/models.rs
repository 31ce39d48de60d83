//! A long run with a model: what is stored, how quickly it is taken up again, and what a step costs
//! beside model and tool.

use super::line;
use crate::process::{built, command, run as run_line, within};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1800);

/// How much.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Calls of the model.
    #[arg(long, default_value_t = 1_000)]
    calls: usize,
    /// A folder with programs that were built before, instead of building them.
    #[arg(long)]
    built: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let programs = match &options.built {
        Some(folder) => folder.clone(),
        None => {
            let line = [
                "cargo",
                "build",
                "--quiet",
                "--profile",
                "bench",
                "--workspace",
                "--example",
                "model_bench",
            ];
            run_line(&line)?;
            built("release")
        }
    };
    let home = tempfile::tempdir()?;
    let mut bench = command(programs.join("examples/model_bench"));
    bench.arg(options.calls.to_string()).arg(home.path());
    let outcome = within(LIMIT, &mut bench)?;
    ensure!(outcome.status.success(), "model_bench: {}", outcome.stderr);
    let measured: Value = serde_json::from_str(outcome.stdout.trim()).context("model_bench prints JSON")?;
    let number = |path: &str| measured.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let (first, last) = (number("/stored/first_half"), number("/stored/second_half"));
    println!(
        "{} calls, {} events, {:.0} s, {:.1} MB stored",
        options.calls,
        number("/events"),
        number("/seconds"),
        number("/stored/after") / 1e6
    );
    let ratio = last / first;
    line(
        "bytes of the second half of the calls beside the first",
        &format!("{ratio:.2}x"),
        "at most 1.5x",
        ratio <= 1.5,
    );
    let resume = number("/resume_ms/p95");
    line("resume, p95", &format!("{resume:.0} ms"), "under 2000 ms", resume < 2000.0);
    let step = number("/step_ms/p95") - number("/bare_tool_ms/median");
    line("a step beside model and tool, p95", &format!("{step:.1} ms"), "under 15 ms", step < 15.0);
    let token = number("/first_token_ms/p95");
    line("first token passed on, p95", &format!("{token:.1} ms"), "under 5 ms", token < 5.0);
    Ok(())
}
