//! `cargo xtask eval judge`: fits the ranking of composed readings and the judge, and measures
//! both, from catalogues to weights in one go.
//!
//! The third of every set that is never read takes no part in the fit. `--part unread` measures it
//! afterwards.

use crate::process::{built, command, root, run_quietly};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Sets whose questions the built-in proposers are measured on without the program.
const SETS: [&str; 5] = ["people", "wikisql", "spider", "wikitables", "ambrosia"];
/// Questions that the data cannot answer.
pub(super) const OWN: &str = "bench/unanswerable/questions.jsonl";
/// Everyday questions of this repository; those for fitting and the fresh ones stand beside them.
const EVERYDAY: [&str; 3] =
    ["bench/everyday/questions.jsonl", "bench/everyday/fitting.jsonl", "bench/everyday/fresh.jsonl"];

pub(super) fn fit(bench: &Path, unread: bool) -> Result<()> {
    let build = || {
        let examples = ["--example", "dump_catalogues", "--example", "measure_reader"];
        run_quietly(&[&["cargo", "build", "--quiet", "--workspace"], &examples[..]].concat())
    };
    build()?;
    let examples = built("debug").join("examples");
    let folder = tempfile::tempdir()?;
    let (dumps, features) = (folder.path().join("catalogues"), folder.path().join("features.jsonl"));
    let (everyday, forms) = (folder.path().join("everyday"), folder.path().join("compositions.jsonl"));
    run(command("python3").arg(root().join("bench/everyday/make_data.py")).arg(&everyday))?;
    run(command(examples.join("dump_catalogues")).arg(&dumps).args(sources(bench, &everyday)?))?;
    let measure = |part: &str, into: Option<(&str, &Path)>| {
        let mut program = command(examples.join("measure_reader"));
        program.arg("--bench").arg(bench).arg("--dumps").arg(&dumps).arg("--own").arg(root().join(OWN));
        program.arg("--everyday").arg(root().join(EVERYDAY[0])).arg(&everyday);
        program.args(["--part", part]);
        if let Some((option, file)) = into {
            program.arg(option).arg(file).stdout(std::process::Stdio::null());
        }
        run(&mut program)
    };
    let part = if unread { "all" } else { "read" };
    measure("read", Some(("--compositions", &forms)))?;
    let mut ranking = command("python3");
    ranking.arg(root().join("bench/fit_composer.py")).arg(&forms);
    ranking.arg(root().join("crates/query/src/reader/compose/weights.tsv")).arg("--check");
    run(&mut ranking)?;
    build()?;
    measure(part, Some(("--features", &features)))?;
    let mut fitting = command("python3");
    fitting.arg(root().join("bench/fit_judge.py")).arg(&features);
    fitting.arg(root().join("crates/query/src/judge/weights.tsv"));
    fitting.arg("--curve").arg(root().join("docs/images/risk-coverage.svg"));
    if unread {
        fitting.arg("--unread");
    }
    run(&mut fitting)?;
    build()?;
    measure(part, None)
}

fn run(program: &mut std::process::Command) -> Result<()> {
    let status = program.status().with_context(|| format!("{program:?} could not be started"))?;
    ensure!(status.success(), "{program:?} failed with {status}");
    Ok(())
}

/// Every file that a question is about.
fn sources(bench: &Path, everyday: &Path) -> Result<Vec<PathBuf>> {
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    let mut add = |set: &str, case: &Value| {
        let file = bench.join(set).join(super::source(case));
        if file.is_file() {
            files.insert(file);
        }
    };
    for set in SETS {
        let path = bench.join(set).join("questions.jsonl");
        let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        for line in text.lines() {
            add(set, &serde_json::from_str(line)?);
        }
    }
    for line in std::fs::read_to_string(root().join(OWN))?.lines() {
        let case: Value = serde_json::from_str(line)?;
        add(super::text(&case, "set"), &case);
    }
    for list in EVERYDAY {
        for line in std::fs::read_to_string(root().join(list))?.lines() {
            let case: Value = serde_json::from_str(line)?;
            let data = case.get("data").and_then(Value::as_array);
            let names = data.into_iter().flatten().filter_map(Value::as_str);
            let together: Vec<String> =
                names.map(|name| everyday.join(name).to_string_lossy().into_owned()).collect();
            files.insert(PathBuf::from(together.join("+")));
        }
    }
    Ok(files.into_iter().collect())
}
