//! Measures how well user utterances are turned into steps: `eval_utterances [--wrong] [--together]
//! [--folder=DIR] [--fit] [--tools] [--say=WORDS] [--weigh=WORDS] [NAME…]`.
//!
//! It passes every row of `tests/it/utterances` to the reader, with the applications of
//! `examples/apps`, and prints the accuracy for each application and the latency. With
//! `--together`, one reader has the tools of all applications. `second/todo` has rows by another
//! author for the same application. `--tools` lists tools that are classified as the wrong kind of
//! action. `--folder` takes applications and rows from another folder. `--fit` fits the weights of
//! the signals: see `fit.rs`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a measuring program"
)]

#[path = "utterances/fit.rs"]
mod fit;
#[path = "../tests/it/utterances/score.rs"]
mod score;

use score::{Bench, Failure, Report, run, table};
use std::path::PathBuf;
use std::sync::Arc;
use steward_language::Encoder;
use steward_language::understand::SIGNALS;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wrong = arguments.iter().any(|argument| argument == "--wrong");
    let named: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--")).collect();
    let elsewhere =
        arguments.iter().find_map(|argument| argument.strip_prefix("--folder=")).map(PathBuf::from);
    let open = |name: &str, encoder: &Arc<Encoder>| match &elsewhere {
        Some(folder) if folder.join(format!("{name}.yaml")).exists() => {
            Bench::open_in(folder, folder, name, encoder)
        }
        _ => Bench::open(name, encoder),
    };
    if let Some(said) = arguments.iter().find_map(|argument| argument.strip_prefix("--say=")) {
        let bench = open(named.first().ok_or("say which application")?, &Arc::new(Encoder::default()))?;
        println!("{}", serde_json::to_string_pretty(&bench.understand(&serde_json::json!({ "say": said })))?);
        return Ok(());
    }
    if let Some(said) = arguments.iter().find_map(|argument| argument.strip_prefix("--weigh=")) {
        let bench = open(named.first().ok_or("say which application")?, &Arc::new(Encoder::default()))?;
        for (tool, signals) in bench.signals(&serde_json::json!({ "say": said })).into_iter().take(3) {
            let weighed =
                SIGNALS.iter().zip(&signals).map(|((name, weight), signal)| (name, weight * signal));
            let parts: Vec<String> = weighed
                .clone()
                .filter(|(_, part)| part.abs() > 0.05)
                .map(|(name, part)| format!("{name} {part:.1}"))
                .collect();
            println!("{tool} {:.1}: {}", weighed.map(|(_, part)| part).sum::<f32>(), parts.join(", "));
        }
        return Ok(());
    }
    let names = if named.is_empty() {
        vec!["todo", "crm", "notes", "library", "fleet", "hotel", "clinic"]
    } else {
        named
    };
    let encoder = Arc::new(Encoder::default());
    let mut reports: Vec<(String, Report)> = Vec::new();
    let mut benches: Vec<Bench> = names.iter().map(|name| open(name, &encoder)).collect::<Result<_, _>>()?;
    if arguments.iter().any(|argument| argument == "--together") {
        Bench::together(&mut benches, &encoder);
    }
    if arguments.iter().any(|argument| argument == "--tools") {
        benches.iter().flat_map(Bench::taken_for_another).for_each(|line| println!("{line}"));
        return Ok(());
    }
    if arguments.iter().any(|argument| argument == "--fit") {
        return fit::fit(&names, &benches);
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
