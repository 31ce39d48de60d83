//! The official conformance suite against our server and our client.
//!
//! What fails must be listed with its reason in a file beside the tests, and what is listed must
//! fail: the list is neither an excuse for new failures nor a record of old ones.

use crate::kit::{self, CONFORMANCE};
use crate::process::{Group, root, within};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long the suite may take with all scenarios of a server.
const SUITE: Duration = Duration::from_secs(180);
/// How long it may take with one scenario; it gives a client 30 s.
const SCENARIO: Duration = Duration::from_secs(60);

/// Which scenarios passed, in the order of the suite.
type Results = Vec<(String, bool)>;

fn suite(kit: &Path) -> Result<Command> {
    let mut command = kit::node(kit)?;
    command.arg(kit::node_program(kit, "@modelcontextprotocol/conformance", "dist/index.js")?);
    Ok(command)
}

/// The number of problems with our server.
pub(super) fn server(kit: &Path, program: &Path) -> Result<usize> {
    let listed = expected("crates/server/tests/it/conformance_expected.txt")?;
    let mut server = Group::start(crate::process::command(program).arg("0"))?;
    let url = server.wait_for(Duration::from_secs(20), |printed| {
        let (line, _) = printed.split_once('\n')?;
        line.starts_with("http://").then(|| line.trim().to_owned())
    })?;
    let outcome = within(SUITE, suite(kit)?.args(["server", "--suite", "all", "--url", &url]))?;
    let results = summary(&outcome.stdout);
    let all = scenarios(kit, "--server")?;
    ensure!(
        results.len() == all.len(),
        "the suite has {} scenarios for servers but ran {}:\n{}{}",
        all.len(),
        results.len(),
        outcome.stdout,
        outcome.stderr
    );
    let problems = judge("our server", &results, &listed);
    for (scenario, _) in results.iter().filter(|(name, passed)| !passed && !listed.contains_key(name)) {
        let again = within(SUITE, suite(kit)?.args(["server", "--url", &url, "--scenario", scenario]))?;
        println!("--- {scenario}\n{}{}", again.stdout, again.stderr);
    }
    Ok(problems)
}

/// The number of problems with our client. The suite starts it once for each scenario.
pub(super) fn client(kit: &Path, program: &Path) -> Result<usize> {
    let listed = expected("crates/tools/tests/it/conformance_expected.txt")?;
    let all = scenarios(kit, "--client")?;
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, bool)>> = Mutex::default();
    let work = || -> Result<()> {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = all.get(place) else { return Ok(()) };
            let mut run = suite(kit)?;
            run.args(["client", "--scenario", scenario, "--command"]).arg(program);
            let outcome = within(SCENARIO, &mut run)?;
            let passed = outcome.status.success();
            if !passed && !listed.contains_key(scenario) {
                println!("--- {scenario}\n{}{}", outcome.stdout, outcome.stderr);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((place, passed));
        }
    };
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(4);
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| bail!("a worker died")))
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable();
    let results: Results = all.into_iter().zip(done.into_iter().map(|(_, passed)| passed)).collect();
    Ok(judge("our client", &results, &listed))
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
            matches!(mark, "✓" | "✗").then(|| (name.to_owned(), mark == "✓"))
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
fn judge(whose: &str, results: &[(String, bool)], listed: &BTreeMap<String, String>) -> usize {
    let passed = results.iter().filter(|(_, passed)| *passed).count();
    println!("conformance suite {CONFORMANCE}, {whose}: {passed} of {} scenarios pass", results.len());
    let mut problems = 0;
    for (scenario, passed) in results {
        match (passed, listed.get(scenario)) {
            (true, None) => {}
            (false, Some(reason)) => println!("  fails as listed  {scenario}: {reason}"),
            (false, None) => {
                println!("  FAILS            {scenario}");
                problems += 1;
            }
            (true, Some(reason)) => {
                println!("  PASSES           {scenario}, although listed ({reason}): take it off the list");
                problems += 1;
            }
        }
    }
    for scenario in listed.keys().filter(|listed| !results.iter().any(|(name, _)| name == *listed)) {
        println!("  UNKNOWN          {scenario} is listed, but the suite has no such scenario");
        problems += 1;
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{judge, summary};
    use std::collections::BTreeMap;

    #[test]
    fn what_differs_from_the_list_is_a_problem() {
        let printed = "✓ early: 1 passed, 0 failed\n=== SUMMARY ===\n✓ ping: 1 passed, 0 failed\n✗ auth/a: 1 \
            passed, 2 failed\n\nTotal: 2 passed, 2 failed\n";
        let results = summary(printed);
        assert_eq!(results, [("ping".to_owned(), true), ("auth/a".to_owned(), false)]);
        let list = |names: &[&str]| -> BTreeMap<String, String> {
            names.iter().map(|name| ((*name).to_owned(), "a reason".to_owned())).collect()
        };
        for (listed, problems) in [
            (&["auth/a"][..], 0),
            (&[], 1),
            (&["auth/a", "ping"], 1),
            (&["auth/a", "gone"], 1),
            (&["ping"], 2),
        ] {
            assert_eq!(judge("a test", &results, &list(listed)), problems, "{listed:?}");
        }
    }
}
