//! Tidy checks: what the compiler does not see but a reader does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("STEWARD_CHECKOUT"))
}

/// Every file of the repository with this ending, build products aside.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir()
                && !path.is_symlink()
                && !["target", ".git", "node_modules", "vendor", "artifacts", "corpus"]
                    .contains(&name.as_str())
            {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

fn is_test(path: &Path) -> bool {
    let text = shown(path);
    text.contains("/tests/") || text.contains("/conformance/") || text.ends_with("_tests.rs")
}

#[test]
fn no_file_is_too_long() {
    let long: Vec<String> = files(".rs")
        .into_iter()
        .filter(|path| !is_test(path))
        .map(|path| (std::fs::read_to_string(&path).unwrap().lines().count(), path))
        .filter(|(lines, _)| *lines > 800)
        .map(|(lines, path)| format!("{}: {lines} lines", shown(&path)))
        .collect();
    assert!(long.is_empty(), "look for the seam: {long:#?}");
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent: Vec<String> = files(".rs")
        .iter()
        .filter(|path| !std::fs::read_to_string(path).unwrap().starts_with("//!"))
        .map(|path| shown(path))
        .collect();
    assert!(silent.is_empty(), "these files do not open with `//!`: {silent:#?}");
}

/// Dependencies point one way, as ARCHITECTURE.md draws it.
#[test]
fn crates_depend_in_one_direction() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("domain", &["text"][..]),
        ("journal", &["domain"][..]),
        ("policy", &["domain"]),
        ("engine", &["domain"]),
        ("telemetry", &["domain"]),
        ("encoder", &[]),
        ("text", &[]),
        ("query", &["domain", "text"]),
        ("store", &["domain", "journal"]),
        ("language", &["domain", "encoder", "text"]),
        ("models", &["domain", "journal", "text"]),
        ("tools", &["domain", "journal", "policy", "language", "models", "text"]),
        ("analysis", &["domain", "journal", "policy", "language", "models", "query", "text"]),
        (
            "runtime",
            &["domain", "journal", "policy", "engine", "store", "language", "models", "tools", "analysis"],
        ),
        (
            "server",
            &[
                "domain",
                "journal",
                "policy",
                "engine",
                "store",
                "language",
                "models",
                "tools",
                "analysis",
                "runtime",
                "telemetry",
            ],
        ),
    ]);
    let mut seen = 0;
    for (package, others) in workspace_dependencies() {
        let Some(name) = package.strip_prefix("steward-") else { continue };
        let dependencies =
            allowed.get(name).unwrap_or_else(|| panic!("ARCHITECTURE.md does not list {package}"));
        for other in others.iter().filter_map(|other| other.strip_prefix("steward-")) {
            assert!(dependencies.contains(&other), "crates/{name} must not depend on {other}");
        }
        seen += 1;
    }
    assert!(seen >= 4, "cargo metadata shows {seen} of our crates");
}

/// What `cargo metadata` says each package of the workspace needs to build; what only its tests
/// need is left out.
#[allow(clippy::disallowed_methods, reason = "the test asks cargo one question")]
fn workspace_dependencies() -> BTreeMap<String, Vec<String>> {
    let output = std::process::Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let needed = package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|dependency| dependency["kind"].is_null());
            let names = needed.map(|dependency| dependency["name"].as_str().unwrap().to_owned()).collect();
            (package["name"].as_str().unwrap().to_owned(), names)
        })
        .collect()
}

/// Only these crates may carry the heavy parts.
#[test]
fn heavy_dependencies_stay_in_their_crates() {
    for (dependency, crates) in [
        ("datafusion", &["analysis"][..]),
        ("adbc_", &["analysis"]),
        ("sqlx", &["store", "analysis"]),
        ("axum", &["server"]),
        ("anyhow", &["steward"]),
    ] {
        for path in files("Cargo.toml") {
            let name = shown(&path);
            let Some(owner) = name.strip_prefix("crates/").and_then(|rest| rest.split('/').next()) else {
                continue;
            };
            // What only its tests use is not part of the program.
            let text = std::fs::read_to_string(&path).unwrap();
            let uses = (text.lines().take_while(|line| *line != "[dev-dependencies]"))
                .any(|line| line.starts_with(dependency));
            assert!(!uses || crates.contains(&owner), "{name} must not use {dependency}");
        }
    }
}

/// Every code that the source can give has its page, and every page its code.
#[test]
fn every_error_code_has_its_page() {
    let is_code = |text: &str| {
        let (letters, digits): (Vec<char>, Vec<char>) =
            (text.chars().take(3).collect(), text.chars().skip(3).collect());
        digits.len() == 3
            && letters.iter().all(char::is_ascii_uppercase)
            && digits.iter().all(char::is_ascii_digit)
    };
    let mut codes = BTreeSet::new();
    for path in files(".rs").iter().filter(|path| shown(path).starts_with("crates/") && !is_test(path)) {
        let text = std::fs::read_to_string(path).unwrap();
        codes.extend(text.split('"').filter(|part| is_code(part)).map(str::to_owned));
    }
    let pages: BTreeSet<String> = files(".md")
        .iter()
        .filter(|path| shown(path).starts_with("docs/errors/"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| is_code(name))
        .collect();
    assert_eq!(codes, pages, "left: codes in the source, right: pages in docs/errors");
    for code in &codes {
        let page = std::fs::read_to_string(root().join(format!("docs/errors/{code}.md"))).unwrap();
        for part in ["## What happened", "## Why", "## What to do"] {
            assert!(page.contains(part), "docs/errors/{code}.md lacks {part:?}");
        }
    }
}

/// No path of one machine, no word of a registry's host.
#[test]
fn nothing_ties_the_repository_to_one_machine() {
    let needles = [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat(), ["/home", "/"].concat()];
    for ending in [".rs", ".md", ".toml", ".py", ".yaml", ".json", ".sql", "test", "run"] {
        for path in files(ending) {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            for needle in &needles {
                assert!(!text.contains(needle.as_str()), "{} contains {needle}", shown(&path));
            }
        }
    }
}

/// What people click in the docs is there. Several checkouts share a target folder. Cargo does not
/// build a test anew because `CARGO_MANIFEST_DIR` is another, so a test that asked for it would
/// look into the checkout that was built first; `STEWARD_CHECKOUT` of `.cargo/config.toml` is
/// watched.
#[test]
fn tests_find_their_files_by_the_checkout() {
    let asked = concat!("env!(\"CARGO_MANIFEST", "_DIR\")");
    let wrong: Vec<String> = files(".rs")
        .into_iter()
        .filter(|path| shown(path) != "xtask/src/process.rs")
        .filter(|path| std::fs::read_to_string(path).unwrap().contains(asked))
        .map(|path| shown(&path))
        .collect();
    assert!(wrong.is_empty(), "use STEWARD_CHECKOUT: {wrong:#?}");
}

#[test]
fn links_in_the_docs_lead_somewhere() {
    for path in files(".md") {
        let text = std::fs::read_to_string(&path).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap();
            if file.is_empty() || target.contains("://") || target.contains(' ') {
                continue;
            }
            assert!(path.parent().unwrap().join(file).exists(), "{} links to {target}", shown(&path));
        }
    }
}

/// The example data is what its script makes.
#[test]
#[allow(clippy::disallowed_methods, reason = "the test asks Python one question")]
fn the_example_data_is_made_by_its_script() {
    let folder = tempfile::tempdir().unwrap();
    let script = root().join("examples/retail/make.py");
    let made = std::process::Command::new("python3")
        .arg(script)
        .arg(folder.path())
        .status()
        .expect("python3 is needed for this test");
    assert!(made.success());
    for name in ["sales", "customers", "products", "carts", "inventory", "visitors", "sessions"] {
        let file = format!("{name}.csv");
        let kept = std::fs::read(root().join("examples/retail").join(&file)).unwrap();
        assert!(
            std::fs::read(folder.path().join(&file)).unwrap() == kept,
            "examples/retail/{file} is not what make.py makes"
        );
    }
}

/// The source files of `runtime`, tests aside, with their text.
fn runtime_sources() -> Vec<(String, String)> {
    let of_runtime = |path: &PathBuf| shown(path).starts_with("crates/runtime/src/") && !is_test(path);
    let sources = files(".rs").into_iter().filter(of_runtime);
    sources.map(|path| (shown(&path), std::fs::read_to_string(&path).unwrap())).collect()
}

/// Entries and the state they change are written by one writer, which keeps their order, the lease
/// of the task and what was not on disk when it failed. A second one would lose all three.
#[test]
fn one_journal_writer() {
    for (name, text) in runtime_sources() {
        let writes = text.contains(".commit(") || text.contains("Commit {");
        assert!(
            !writes || name == "crates/runtime/src/journal_writer.rs",
            "{name} commits to the store: write with JournalWriter, so that order, lease and sync stay in one place"
        );
    }
}

/// Which step of a task is next is decided by the engine and carried out by one executor. A second
/// scheduler would run steps that no journal can resume, replay or inspect.
#[test]
fn one_executor() {
    // What may run things side by side, and why it schedules no steps.
    let allowed = BTreeMap::from([
        ("run/executor.rs", "the executor"),
        ("run/service.rs", "whole tasks of a worker"),
        ("ask/mod.rs", "the encoder is warmed beside the question"),
        ("ask/plan.rs", "the encoder is warmed beside the question"),
        ("ask/record.rs", "the lease of a task is renewed"),
        ("toolbox/mod.rs", "servers are looked at and listened to"),
        ("converse/look.rs", "lists are read before a message is understood; there are no steps yet"),
    ]);
    let means =
        ["JoinSet", "FuturesUnordered", "FuturesOrdered", "join_all", "select_all", "buffer_unordered"];
    let mut found = BTreeSet::new();
    for (name, text) in runtime_sources() {
        let name = name.trim_start_matches("crates/runtime/src/").to_owned();
        if means.iter().any(|means| text.contains(means)) {
            assert!(
                allowed.contains_key(name.as_str()),
                "{name} runs things side by side: make them steps of an engine plan, which run/executor.rs \
                    carries out"
            );
            found.insert(name.clone());
        }
        let drives =
            text.contains("steward_engine") && (text.contains(".apply(") || text.contains(".apply_into("));
        let reads = ["run/executor.rs", "run/take_over.rs", "run/replay.rs"];
        assert!(
            !drives || reads.contains(&name.as_str()),
            "{name} applies events to an engine state: only the executor does, and what reads a stored run back"
        );
    }
    let stale: Vec<_> = allowed.keys().filter(|name| !found.contains(**name)).collect();
    assert!(stale.is_empty(), "these files need no exception any more: {stale:?}");
}

/// One type tells how a task goes, from the engine to the page.
#[test]
fn one_progress_event() {
    for (name, text) in runtime_sources() {
        for line in text.lines().filter(|line| line.contains("pub enum ") || line.contains("pub struct ")) {
            let tells = ["Progress", "RunEvent", "Heard", "Seen "].iter().any(|word| line.contains(word));
            assert!(!tells || name == "crates/runtime/src/progress.rs", "{name}: {line}: use ProgressEvent");
        }
    }
}

/// English is read in one crate: a word in a question, in a name and in a value is the same word
/// only while nothing else splits, stems or compares words or lists the months.
#[test]
fn one_reader_of_words() {
    // Dates in files: names of months in several languages.
    let months = ["crates/analysis/src/reader/moment.rs"];
    for path in files("rs") {
        let name = shown(&path);
        if !name.starts_with("crates/")
            || !name.contains("/src/")
            || name.starts_with("crates/text/")
            || is_test(&path)
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for what in [
            "fn stem(word",
            "fn tokenize(text",
            "fn edit_distance(",
            "fn distance(",
            "osa_distance",
            "levenshtein(",
        ] {
            assert!(!text.contains(what), "{name}: `{what}` belongs to crates/text");
        }
        let lists = text.contains("\"february\"") && text.contains("\"november\"");
        assert!(!lists || months.contains(&name.as_str()), "{name}: months are in text::calendar");
    }
}
