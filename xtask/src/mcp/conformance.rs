//! The official conformance suite against our server and our client.
//!
//! What fails must be listed with its reason in a file beside the tests, and what is listed must
//! fail: the list is neither an excuse for new failures nor a record of old ones.

use crate::kit::{self, CONFORMANCE};
use crate::process::{Group, root, within};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How long the suite may take with all scenarios of one side.
const SUITE: Duration = Duration::from_secs(300);
/// How long it may take with one scenario; it gives a client 30 s.
const SCENARIO: Duration = Duration::from_secs(60);
/// The revisions that the suite knows.
const REVISIONS: &[&str] = &["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// What came of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    /// The suite made no check: it cannot, or the extension is not offered.
    Skipped,
}

/// What came of the scenarios, in the order of the suite.
type Results = Vec<(String, Verdict)>;

fn suite(kit: &Path) -> Result<Command> {
    let mut command = kit::node(kit)?;
    command.arg(kit::node_program(kit, "@modelcontextprotocol/conformance", "dist/index.js")?);
    Ok(command)
}

/// The number of problems with our server. Every scenario runs once in the newest revision that has
/// it; with `revisions` also in every other.
pub(super) fn server(kit: &Path, program: &Path, revisions: bool) -> Result<usize> {
    let listed = expected("crates/server/tests/it/conformance_expected.txt")?;
    let mut server = Group::start(crate::process::command(program).arg("0"))?;
    let url = server.wait_for(Duration::from_secs(20), |printed| {
        let (line, _) = printed.split_once('\n')?;
        line.starts_with("http://").then(|| line.trim().to_owned())
    })?;
    let mut problems = 0;
    for revision in runs(revisions) {
        let mut run = suite(kit)?;
        run.args(["server", "--suite", "all", "--url", &url]);
        let (results, printed) = carry_out(&mut run, revision)?;
        if revision.is_none() {
            ensure_all(&results, &scenarios(kit, "--server")?, &printed)?;
        }
        problems += judge(&format!("our server{}", named(revision)), &results, &listed);
        for (scenario, _) in results.iter().filter(|(name, got)| is_unlisted_failure(name, *got, &listed)) {
            let again = within(SUITE, suite(kit)?.args(["server", "--url", &url, "--scenario", scenario]))?;
            println!("--- {scenario}\n{}{}", again.stdout, again.stderr);
        }
    }
    Ok(problems)
}

/// The number of problems with our client. The suite starts it once for each scenario.
pub(super) fn client(kit: &Path, program: &Path, revisions: bool) -> Result<usize> {
    let listed = expected("crates/tools/tests/it/conformance_expected.txt")?;
    let mut problems = 0;
    for revision in runs(revisions) {
        let mut run = suite(kit)?;
        run.args(["client", "--suite", "all", "--command"]).arg(program);
        let (results, printed) = carry_out(&mut run, revision)?;
        if revision.is_none() {
            ensure_all(&results, &scenarios(kit, "--client")?, &printed)?;
        }
        problems += judge(&format!("our client{}", named(revision)), &results, &listed);
        for (scenario, _) in results.iter().filter(|(name, got)| is_unlisted_failure(name, *got, &listed)) {
            let mut run = suite(kit)?;
            run.args(["client", "--scenario", scenario, "--command"]).arg(program);
            let again = within(SCENARIO, &mut run)?;
            println!("--- {scenario}\n{}{}", again.stdout, again.stderr);
        }
    }
    Ok(problems)
}

/// All scenarios in their newest revision, then each revision by itself.
fn runs(revisions: bool) -> Vec<Option<&'static str>> {
    let each = REVISIONS.iter().filter(|_| revisions).map(|revision| Some(*revision));
    std::iter::once(None).chain(each).collect()
}

fn named(revision: Option<&str>) -> String {
    revision.map(|revision| format!(" in {revision}")).unwrap_or_default()
}

fn is_unlisted_failure(name: &str, verdict: Verdict, listed: &BTreeMap<String, String>) -> bool {
    verdict == Verdict::Failed && !listed.contains_key(name)
}

/// Runs the suite and reads its summary, and from its files which scenarios made no check.
fn carry_out(run: &mut Command, revision: Option<&str>) -> Result<(Results, String)> {
    let files = tempfile::tempdir()?;
    run.arg("--output-dir").arg(files.path());
    if let Some(revision) = revision {
        run.args(["--spec-version", revision]);
    }
    let outcome = within(SUITE, run)?;
    let mut results = summary(&outcome.stdout);
    let skipped = without_checks(files.path())?;
    for (name, verdict) in &mut results {
        if *verdict == Verdict::Passed && skipped.contains(name) {
            *verdict = Verdict::Skipped;
        }
    }
    Ok((results, format!("{}{}", outcome.stdout, outcome.stderr)))
}

/// The scenarios all of whose own checks were skipped. Each has a folder, called by its name and a
/// time.
fn without_checks(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(one) = folders.pop() {
        for entry in std::fs::read_dir(&one)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("checks.json") {
                let checks: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
                let own = |check: &&Value| check["id"] != "wire-schema-valid";
                let is = |check: &Value, status: &str| check["status"] == status;
                let skipped = checks.iter().filter(own).any(|check| is(check, "SKIPPED"));
                let made =
                    checks.iter().filter(own).any(|check| is(check, "SUCCESS") || is(check, "FAILURE"));
                if skipped && !made {
                    let name = one.strip_prefix(folder)?.to_string_lossy().into_owned();
                    let name = name.strip_prefix("server-").unwrap_or(&name);
                    found.push(without_time(name).to_owned());
                }
            }
        }
    }
    Ok(found)
}

/// `ping-2026-11-18T13-49-38-476Z` without its time.
fn without_time(name: &str) -> &str {
    name.len().checked_sub("-2026-11-18T13-49-38-476Z".len()).and_then(|end| name.get(..end)).unwrap_or(name)
}

fn ensure_all(results: &Results, all: &[String], printed: &str) -> Result<()> {
    let (had, ran) = (all.len(), results.len());
    ensure!(had == ran, "the suite has {had} scenarios but ran {ran}:\n{printed}");
    Ok(())
}

/// The names of the scenarios of one kind.
fn scenarios(kit: &Path, kind: &str) -> Result<Vec<String>> {
    let outcome = within(SCENARIO, suite(kit)?.args(["list", kind]))?;
    let names: Vec<String> = outcome
        .stdout
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ")?.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    ensure!(!names.is_empty(), "the suite lists no scenarios:\n{}{}", outcome.stdout, outcome.stderr);
    Ok(names)
}

/// The lines of the suite's summary: `✓ ping: 1 passed, 0 failed`.
fn summary(printed: &str) -> Results {
    let lines = printed.lines().skip_while(|line| !line.contains("SUMMARY"));
    lines
        .filter_map(|line| {
            let (mark, rest) = line.trim().split_once(' ')?;
            let (name, _) = rest.split_once(": ")?;
            let verdict = match mark {
                "✓" => Verdict::Passed,
                "✗" => Verdict::Failed,
                _ => return None,
            };
            Some((name.to_owned(), verdict))
        })
        .collect()
}

/// What is expected to fail in this version of the suite, with the reasons. Each line: version,
/// scenario, reason.
fn expected(file: &str) -> Result<BTreeMap<String, String>> {
    let text =
        std::fs::read_to_string(root().join(file)).with_context(|| format!("{file} cannot be read"))?;
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let mut words = line.splitn(3, ' ');
        let (Some(version), Some(scenario), Some(reason)) = (words.next(), words.next(), words.next()) else {
            bail!("{file}: {line:?} is not `version scenario reason`")
        };
        if version == CONFORMANCE {
            listed.insert(scenario.to_owned(), reason.to_owned());
        }
    }
    Ok(listed)
}

/// Prints what came of it and counts what differs from the list.
fn judge(whose: &str, results: &[(String, Verdict)], listed: &BTreeMap<String, String>) -> usize {
    let passed = results.iter().filter(|(_, verdict)| *verdict == Verdict::Passed).count();
    println!("conformance suite {CONFORMANCE}, {whose}: {passed} of {} scenarios pass", results.len());
    let mut problems = 0;
    for (scenario, verdict) in results {
        match (verdict, listed.get(scenario)) {
            (Verdict::Passed, None) => {}
            (Verdict::Failed, Some(reason)) => println!("  not offered      {scenario}: {reason}"),
            (Verdict::Skipped, Some(reason)) => println!("  skipped          {scenario}: {reason}"),
            (Verdict::Failed, None) => {
                println!("  FAILS            {scenario}");
                problems += 1;
            }
            (Verdict::Skipped, None) => {
                println!("  SKIPPED          {scenario} without a reason in the list");
                problems += 1;
            }
            (Verdict::Passed, Some(reason)) => {
                println!("  PASSES           {scenario}, although listed ({reason}): take it off the list");
                problems += 1;
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{Verdict, judge, summary, without_time};
    use std::collections::BTreeMap;

    #[test]
    fn what_differs_from_the_list_is_a_problem() {
        let printed = "✓ early: 1 passed, 0 failed\n=== SUMMARY ===\n✓ ping: 1 passed, 0 failed\n✗ auth/a: 1 \
            passed, 2 failed\n\nTotal: 2 passed, 2 failed\n";
        let results = summary(printed);
        assert_eq!(results, [("ping".to_owned(), Verdict::Passed), ("auth/a".to_owned(), Verdict::Failed)]);
        let list = |names: &[&str]| -> BTreeMap<String, String> {
            names.iter().map(|name| ((*name).to_owned(), "a reason".to_owned())).collect()
        };
        for (listed, problems) in [(&["auth/a"][..], 0), (&[], 1), (&["auth/a", "ping"], 1), (&["ping"], 2)] {
            assert_eq!(judge("a test", &results, &list(listed)), problems, "{listed:?}");
        }
        let skipped = [("tasks".to_owned(), Verdict::Skipped)];
        assert_eq!(judge("a test", &skipped, &list(&[])), 1, "a skip needs its reason");
        assert_eq!(judge("a test", &skipped, &list(&["tasks"])), 0);
    }

    #[test]
    fn a_folder_of_the_suite_is_called_by_its_scenario() {
        assert_eq!(without_time("auth/dpop-2026-11-18T13-49-38-476Z"), "auth/dpop");
        assert_eq!(without_time("x"), "x");
    }
}
