//! How well what people say to applications becomes steps: `eval_utterances [--wrong] [--together] [NAME…]`.
//!
//! It says every row of `tests/it/utterances` to the reader, with the real applications of `examples/apps` behind it, and prints
//! what came out right for each application and how long an understanding took. With `--together`, one reader has the tools of all.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a measuring program"
)]

#[path = "../tests/it/utterances/score.rs"]
mod score;

use score::{Bench, Failure, Report, run, table};
use std::sync::Arc;
use steward_language::Encoder;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wrong = arguments.iter().any(|argument| argument == "--wrong");
    let named: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--")).collect();
    if let Some(said) = arguments.iter().find_map(|argument| argument.strip_prefix("--say=")) {
        let bench =
            Bench::open(named.first().ok_or("say which application")?, &Arc::new(Encoder::default()))?;
        println!("{}", serde_json::to_string_pretty(&bench.understand(&serde_json::json!({ "say": said })))?);
        return Ok(());
    }
    let names = if named.is_empty() { vec!["todo", "crm", "notes", "library", "fleet"] } else { named };
    let encoder = Arc::new(Encoder::default());
    let mut reports: Vec<(String, Report)> = Vec::new();
    let mut benches: Vec<Bench> =
        names.iter().map(|name| Bench::open(name, &encoder)).collect::<Result<_, _>>()?;
    if arguments.iter().any(|argument| argument == "--together") {
        Bench::together(&mut benches, &encoder);
    }
    for (name, bench) in names.iter().zip(&mut benches) {
        let report = run(bench)?;
        if wrong {
            report.wrong.iter().for_each(|line| println!("{line}"));
        }
        reports.push(((*name).to_owned(), report));
    }
    println!("{}", table(&reports));
    for (name, report) in &reports {
        report.missed(name).iter().for_each(|goal| println!("{name}: {goal}"));
    }
    let mut took: Vec<_> = reports.iter().flat_map(|(_, report)| report.took.iter().copied()).collect();
    took.sort();
    let at = |share: f64| took.get((took.len() as f64 * share) as usize).copied().unwrap_or_default();
    println!(
        "an understanding takes {:?} at p50, {:?} at p95, {:?} at most",
        at(0.5),
        at(0.95),
        took.last().copied().unwrap_or_default()
    );
    Ok(())
}
