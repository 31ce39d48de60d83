//! The runtime: steps a second with nothing kept and with every step on disk, what a waiting task
//! takes, how soon the first step is done, and what a step takes on disk; beside Python's
//! frameworks on the same work.
//!
//! The work is the same for all: a stub model asks for the tool `add` ten times and then answers,
//! 21 steps a task. Ours and theirs run in turns, each call in a process and a folder of its own.
//! What does not depend on the machine's mood, memory and storage, is measured in the first round
//! only. A framework that cannot be installed or run is named and left out.

mod table;

use super::{line, timed};
use crate::kit;
use crate::process::{self, built, command, root, within};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use table::{Measure, Table, Unit, flatness};

const LIMIT: Duration = Duration::from_secs(300);

/// Stands in a list of arguments for a folder that is made for this one call.
const HOME: &str = "HOME";

/// How long the tasks are whose storage is measured.
const LENGTHS: [u32; 3] = [100, 1_000, 10_000];

/// How much a step may differ on disk between the shortest and the longest task.
const FLAT: f64 = 1.2;

/// How much.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Rounds; the middle one counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Tasks that wait for a person.
    #[arg(long, default_value_t = 10_000)]
    waiting: u32,
    /// A folder with programs that were built before, instead of building them.
    #[arg(long)]
    built: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let programs = match &options.built {
        Some(folder) => folder.clone(),
        None => build()?,
    };
    let ours = Runner { name: "steward", program: programs.join("examples/runtime_bench"), script: None };
    ensure!(ours.program.exists(), "{} is not there", ours.program.display());
    let peers = Peers {
        langgraph: peer(
            "LangGraph",
            "langgraph_runtime.py",
            &["langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2"],
        ),
        pydantic_ai: peer("pydantic-ai", "pydantic_ai_runtime.py", &["pydantic-ai-slim==2.66.0"]),
        openai_agents: peer("OpenAI Agents", "openai_agents_runtime.py", &["openai-agents==0.24.0"]),
    };
    let mut table = Table::default();
    let mut per_step = Vec::new();
    for round in 0..options.rounds.max(1) {
        eprintln!("round {} of {}", round + 1, options.rounds.max(1));
        speeds(&ours, &peers, &mut table)?;
        if round == 0 {
            waiting(options.waiting, &ours, peers.langgraph.as_ref(), &mut table)?;
            per_step = storage(&ours, peers.langgraph.as_ref(), &mut table)?;
        }
    }
    print!("{table}");
    let flat = flatness(&per_step).context("no storage was measured")?;
    let name = "bytes a step, most to least of our three lengths";
    line(name, &format!("{flat:.2}x"), &format!("at most {FLAT:.2}x"), flat <= FLAT);
    Ok(())
}

fn build() -> Result<PathBuf> {
    let line =
        ["cargo", "build", "--quiet", "--profile", "bench", "--workspace", "--example", "runtime_bench"];
    process::run(&line)?;
    Ok(built("release"))
}

/// Those that could be installed.
struct Peers {
    langgraph: Option<Runner>,
    pydantic_ai: Option<Runner>,
    openai_agents: Option<Runner>,
}

/// A program that is told what to do by its arguments and prints one JSON object.
struct Runner {
    name: &'static str,
    program: PathBuf,
    script: Option<PathBuf>,
}

impl Runner {
    /// The command of these arguments, and the folder that must outlive it.
    fn command(&self, arguments: &[&str]) -> Result<(Command, tempfile::TempDir)> {
        // In the repository, because a temporary folder may be in memory.
        let home = tempfile::tempdir_in(root())?;
        let mut command = command(&self.program);
        // Nothing may be sent to those who made the frameworks.
        command.env("LANGSMITH_TRACING", "false").env("OPENAI_AGENTS_DISABLE_TRACING", "1");
        command.args(&self.script);
        for argument in arguments {
            if *argument == HOME {
                command.arg(home.path())
            } else {
                command.arg(argument)
            };
        }
        Ok((command, home))
    }

    fn ask(&self, arguments: &[&str]) -> Result<Value> {
        let (mut command, _home) = self.command(arguments)?;
        let outcome = within(LIMIT, &mut command)?;
        ensure!(outcome.status.success(), "{} {arguments:?}: {}", self.name, outcome.stderr);
        serde_json::from_str(&outcome.stdout).with_context(|| {
            format!("{} {arguments:?} printed no JSON object: {:?}", self.name, outcome.stdout)
        })
    }

    /// From the start of a process to its end after one durable step. It is waited for without
    /// looking every few milliseconds, which would be longer than what is measured.
    fn first_step(&self) -> Result<f64> {
        let (mut command, _home) = self.command(&["first", HOME])?;
        let (output, took) = timed(|| command.output());
        let output = output?;
        ensure!(output.status.success(), "{} first: {}", self.name, String::from_utf8_lossy(&output.stderr));
        Ok(took.as_secs_f64())
    }
}

/// A framework in an environment of its own.
fn peer(name: &'static str, script: &str, packages: &[&str]) -> Option<Runner> {
    let installed = kit::python(packages);
    let program = installed.inspect_err(|error| eprintln!("{name} is not measured: {error:#}")).ok()?;
    Some(Runner { name, program, script: Some(root().join("bench/peers").join(script)) })
}

/// What a framework came to, if it is there and did not fail.
fn of<T>(peer: Option<&Runner>, measure: impl FnOnce(&Runner) -> Result<T>) -> Option<T> {
    let peer = peer?;
    measure(peer).inspect_err(|error| eprintln!("{} is left out of one line: {error:#}", peer.name)).ok()
}

/// All that is measured in time, once.
fn speeds(ours: &Runner, peers: &Peers, table: &mut Table) -> Result<()> {
    let nothing = rate(&ours.ask(&["none", "10000"])?)?;
    let what = Measure { what: "nothing kept, one task at a time", unit: Unit::PerSecond, goal: Some(100.0) };
    let import = Measure { what: "importing it", unit: Unit::Seconds, goal: None };
    for (name, peer, tasks) in [
        ("LangGraph", &peers.langgraph, "200"),
        ("pydantic-ai", &peers.pydantic_ai, "60"),
        ("OpenAI Agents", &peers.openai_agents, "60"),
    ] {
        let told = of(peer.as_ref(), |peer| {
            let told = peer.ask(&["none", tasks])?;
            Ok((rate(&told)?, number(&told, "import_seconds")?))
        });
        let (speed, seconds) = told.unzip();
        table.add(what, name, Some(nothing), speed);
        table.add(import, name, None, seconds);
    }

    let langgraph = peers.langgraph.as_ref();
    let speed = |arguments: &[&str]| of(langgraph, |peer| rate(&peer.ask(arguments)?));
    let one = rate(&ours.ask(&["durable", "500", HOME])?)?;
    let what = Measure { what: "durable, one task at a time", unit: Unit::PerSecond, goal: Some(10.0) };
    table.add(what, "LangGraph, SQLite FULL", Some(one), speed(&["durable", "50", HOME]));
    let normal = speed(&["durable", "50", HOME, "--synchronous", "NORMAL"]);
    table.add(Measure { goal: None, ..what }, "LangGraph, SQLite NORMAL", Some(one), normal);

    let many = rate(&ours.ask(&["durable", "2000", HOME, "--at-once", "100"])?)?;
    let what = Measure { what: "durable, 100 tasks at once", unit: Unit::PerSecond, goal: Some(30.0) };
    for (name, by) in [("LangGraph, coroutines", "async"), ("LangGraph, threads", "threads")] {
        let theirs = speed(&["durable", "100", HOME, "--at-once", "100", "--by", by]);
        table.add(what, name, Some(many), theirs);
    }

    let what = Measure { what: "process start to first durable step", unit: Unit::Seconds, goal: None };
    table.add(what, "LangGraph", Some(ours.first_step()?), of(langgraph, Runner::first_step));
    Ok(())
}

/// Tasks that wait for a person. LangGraph keeps them in memory or in a file; ours are always on
/// disk.
fn waiting(tasks: u32, ours: &Runner, langgraph: Option<&Runner>, table: &mut Table) -> Result<()> {
    let tasks = tasks.to_string();
    let memory = Measure { what: "memory of a waiting task", unit: Unit::Bytes, goal: None };
    let disk = Measure { what: "a waiting task on disk", unit: Unit::Bytes, goal: None };
    let told = ours.ask(&["paused", &tasks, HOME])?;
    let (our_memory, our_disk) =
        (Some(per_waiting(&told)?), Some(number(&told, "disk")? / number(&told, "tasks")?));
    let kept = of(langgraph, |peer| per_waiting(&peer.ask(&["paused", &tasks])?));
    table.add(memory, "LangGraph, in memory", our_memory, kept);
    let filed = of(langgraph, |peer| {
        let told = peer.ask(&["paused", &tasks, HOME])?;
        Ok((per_waiting(&told)?, number(&told, "disk")? / number(&told, "tasks")?))
    });
    let (filed_memory, filed_disk) = filed.unzip();
    table.add(memory, "LangGraph, SQLite", our_memory, filed_memory);
    table.add(disk, "LangGraph, SQLite", our_disk, filed_disk);
    Ok(())
}

/// What a step takes on disk in tasks of different lengths; ours come back.
fn storage(ours: &Runner, langgraph: Option<&Runner>, table: &mut Table) -> Result<Vec<f64>> {
    let whats = ["a step on disk, 100 steps", "a step on disk, 1,000 steps", "a step on disk, 10,000 steps"];
    let mut all = Vec::new();
    for (what, steps) in whats.into_iter().zip(LENGTHS) {
        let what = Measure { what, unit: Unit::Bytes, goal: None };
        let steps = steps.to_string();
        let mine = per_step(&ours.ask(&["storage", &steps, HOME])?)?;
        for (name, flags) in [("LangGraph", &[][..]), ("LangGraph, beta delta channel", &["--delta"][..])] {
            let theirs = of(langgraph, |peer| {
                let told = peer.ask(&[&["storage", &steps, HOME], flags].concat())?;
                if told.get("cut_short").and_then(Value::as_bool) == Some(true) {
                    table.note(format!(
                        "{name} was cut short after {} of {steps} steps",
                        number(&told, "steps")?
                    ));
                }
                per_step(&told)
            });
            table.add(what, name, Some(mine), theirs);
        }
        all.push(mine);
    }
    Ok(all)
}

fn number(told: &Value, name: &str) -> Result<f64> {
    told.get(name).and_then(Value::as_f64).with_context(|| format!("{told} says no {name}"))
}

/// Steps a second.
fn rate(told: &Value) -> Result<f64> {
    let seconds = number(told, "seconds")?;
    ensure!(seconds > 0.0, "{told} took no time");
    Ok(number(told, "steps")? / seconds)
}

/// Bytes in memory of one waiting task. It may come out below nothing, when memory was given back
/// meanwhile.
fn per_waiting(told: &Value) -> Result<f64> {
    Ok((number(told, "rss_after")? - number(told, "rss_before")?) / number(told, "tasks")?)
}

/// Bytes on disk of one step.
fn per_step(told: &Value) -> Result<f64> {
    Ok(number(told, "bytes")? / number(told, "steps")?)
}

#[cfg(test)]
mod tests {
    use super::{HOME, Runner, per_step, per_waiting, rate};
    use serde_json::json;
    use std::path::{Path, PathBuf};

    #[test]
    fn what_a_program_says_becomes_a_figure_or_names_what_is_missing() {
        assert_eq!(rate(&json!({ "tasks": 2, "steps": 42, "seconds": 0.5 })).unwrap(), 84.0);
        assert_eq!(
            per_waiting(&json!({ "tasks": 10, "rss_before": 500, "rss_after": 1500 })).unwrap(),
            100.0
        );
        assert_eq!(per_step(&json!({ "steps": 100, "bytes": 25_000 })).unwrap(), 250.0);
        let error = rate(&json!({ "tasks": 2, "seconds": 0.5 })).unwrap_err().to_string();
        assert!(error.contains("says no steps"), "{error}");
        let error = rate(&json!({ "steps": 2, "seconds": 0 })).unwrap_err().to_string();
        assert!(error.contains("took no time"), "{error}");
    }

    fn shell(script: &str) -> (Runner, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script.sh");
        std::fs::write(&path, script).unwrap();
        (Runner { name: "a shell", program: PathBuf::from("sh"), script: Some(path) }, folder)
    }

    #[test]
    fn each_call_has_a_folder_of_its_own_that_is_gone_afterwards() {
        let (runner, _folder) = shell(r#"test -d "$3" && echo "{ \"mode\": \"$1\", \"home\": \"$3\" }""#);
        let calls = ["1", "2"].map(|tasks| runner.ask(&["durable", tasks, HOME]).unwrap());
        assert_eq!(calls[0]["mode"], "durable");
        assert_ne!(calls[0]["home"], calls[1]["home"]);
        assert!(calls.iter().all(|told| !Path::new(told["home"].as_str().unwrap()).exists()));
        assert!(runner.first_step().is_err(), "`first HOME` has no third argument");
    }

    #[test]
    fn a_program_that_fails_or_babbles_is_named_with_its_words() {
        let (runner, _folder) = shell("echo broken >&2; exit 1");
        let error = runner.ask(&["none", "1"]).unwrap_err().to_string();
        assert!(error.contains("a shell") && error.contains("broken"), "{error}");
        let (runner, _folder) = shell("echo hello");
        let error = runner.ask(&["none", "1"]).unwrap_err().to_string();
        assert!(error.contains("no JSON object") && error.contains("hello"), "{error}");
    }
}
