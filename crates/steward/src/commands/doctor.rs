//! `steward doctor`: checks everything, in order of dependency, and explains how to fix problems.

use super::Context;
use crate::config::{self, Settings};
use crate::error::Failure;
use crate::home::{FOLDERS, Home};
use crate::output::{Tone, count, document, paint, say};
use serde::Serialize;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;
use steward_journal::clock::{Clock, SystemClock};
use steward_store::Scope;
use steward_store::audit::verify;

#[derive(Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Warning,
    Failed,
}

#[derive(Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn ok(&mut self, check: &'static str, detail: impl Into<String>) {
        self.0.push(Finding { check, state: State::Ok, detail: detail.into(), fix: None });
    }
    pub(super) fn warn(&mut self, check: &'static str, detail: impl Into<String>, fix: impl Into<String>) {
        self.0.push(Finding { check, state: State::Warning, detail: detail.into(), fix: Some(fix.into()) });
    }
    fn fail(&mut self, check: &'static str, failure: &Failure) {
        let fix = format!("docs/errors/{}.md", failure.code());
        self.0.push(Finding {
            check,
            state: State::Failed,
            detail: format!("{} {}", failure.code(), failure.message()),
            fix: Some(fix),
        });
    }
}

pub(super) async fn run(
    home: &Home,
    settings: Result<Settings, Failure>,
    as_json: bool,
) -> Result<(), Failure> {
    let mut findings = Findings::default();
    home_folder(home, &mut findings);
    configuration(home, &mut findings);
    if home.exists() {
        match settings {
            Err(failure) => findings.fail("settings", &failure),
            Ok(settings) => {
                models(home, &settings, &mut findings);
                // Calls are recorded, so tools need a store.
                if store(home, &settings, &mut findings).await {
                    servers(home, settings, &mut findings).await;
                }
            }
        }
    }
    machine(home, &mut findings);
    report(&findings.0, as_json)
}

fn home_folder(home: &Home, findings: &mut Findings) {
    let shown = home.path.display().to_string();
    let Ok(metadata) = std::fs::metadata(&home.path) else {
        return findings.warn("home", format!("{shown} does not exist yet"), "steward init");
    };
    if metadata.permissions().mode() & 0o077 != 0 {
        findings.warn("home", format!("{shown} can be read by others"), format!("chmod 700 {shown}"));
    } else {
        findings.ok("home", shown);
    }
    let missing: Vec<&str> = FOLDERS.iter().copied().filter(|name| !home.path.join(name).is_dir()).collect();
    if !missing.is_empty() {
        findings.warn("folders", format!("missing: {}", missing.join(", ")), "steward init");
    }
    let probe = home.path.join(".doctor");
    match std::fs::write(&probe, "x").and_then(|()| std::fs::remove_file(&probe)) {
        Ok(()) => findings.ok("writable", "the home can be written"),
        Err(error) => findings.fail(
            "writable",
            &steward_store::Error::ReadOnly { path: home.path.clone(), detail: error.to_string() }.into(),
        ),
    }
}

fn configuration(home: &Home, findings: &mut Findings) {
    let (right, wrong) = config::check_all(home);
    for failure in &wrong {
        findings.fail("configuration", failure);
    }
    if wrong.is_empty() {
        findings.ok("configuration", format!("{} files are valid", right.len()));
    }
}

/// Whether the store could be opened.
async fn store(home: &Home, settings: &Settings, findings: &mut Findings) -> bool {
    let opened = match home.open(settings).await {
        Ok(opened) => opened,
        Err(failure) => {
            findings.fail("store", &failure);
            return false;
        }
    };
    match opened.store.check().await {
        Ok(said) => findings.ok("store", said),
        Err(error) => findings.fail("store", &error.into()),
    }
    findings.ok("key", opened.signer.verifier().vkey());
    if let Err(failure) = crate::witness::check(home, &settings.witness, &opened).await {
        findings.fail("witness", &failure);
    }
    match verify(&*opened.store, opened.signer.verifier(), None).await {
        Ok(verified) => findings.ok(
            "journal",
            format!(
                "{} in {} verify; {} intact, {} erased",
                count(verified.entries, "entry"),
                count(verified.chains, "chain"),
                count(verified.payloads, "payload"),
                verified.erased
            ),
        ),
        Err(error) => findings.fail("journal", &error.into()),
    }
    true
}

/// Whether each model has its key, and whether any is used. Sends nothing.
fn models(home: &Home, settings: &Settings, findings: &mut Findings) {
    if let Some(note) = super::models::older_setting(settings) {
        findings.warn("models", "the older setting `model:` is in use", note);
    }
    if settings.models.is_empty() {
        return;
    }
    let scope = Scope::User(settings.user.clone());
    let (home, settings) = (home.clone(), settings.clone());
    let context = Context {
        home,
        settings,
        json: false,
        scope,
        metrics: None,
        models: OnceLock::new(),
        opened: OnceLock::new(),
    };
    let models = match context.models() {
        Ok(models) => models,
        Err(failure) => return findings.fail("models", &failure),
    };
    for name in models.names() {
        match models.problem(name) {
            Some(problem) => findings.warn("model", format!("{name}: {problem}"), "docs/errors/MDL020.md"),
            None => findings.ok("model", name),
        }
    }
    if context.settings.uses == steward_models::ModelUse::default() {
        let first = models.names().next().unwrap_or_default();
        let fix = format!("add `use: {{ default: {first} }}` to config/steward.yaml");
        findings.warn("models", "no conversation and no question uses a model", fix);
    }
}

/// Starts every configured MCP server and lists its tools. A server that fails is no failure of the
/// system.
async fn servers(home: &Home, settings: Settings, findings: &mut Findings) {
    let configured = |file: &str| home.path.join("config").join(file).exists();
    if !configured("mcp_servers.yaml") && !configured("domains.yaml") {
        return;
    }
    let scope = Scope::User(settings.user.clone());
    let context = Context {
        home: home.clone(),
        settings,
        json: false,
        scope,
        metrics: None,
        models: OnceLock::new(),
        opened: OnceLock::new(),
    };
    let toolbox = match crate::toolbox::open(&context, false).await {
        Ok(toolbox) => toolbox,
        Err(failure) => return findings.fail("MCP servers", &failure),
    };
    for (name, looked) in toolbox.review_all_servers().await {
        match looked {
            Ok(review) if review.held.is_empty() => {
                findings.ok("MCP server", format!("{name}: {}", count(review.admitted.len() as u64, "tool")));
            }
            Ok(review) => findings.warn(
                "MCP server",
                format!(
                    "{name}: {} held back, its server changed it",
                    count(review.held.len() as u64, "tool")
                ),
                format!("steward tools list --server {name}, then steward mcp-servers accept {name}"),
            ),
            Err(error) => {
                findings.warn("MCP server", error.to_string(), format!("steward mcp-servers test {name}"));
            }
        }
    }
    super::doctor_walls::check(&context, &toolbox, findings).await;
    toolbox.close().await;
}

fn machine(home: &Home, findings: &mut Findings) {
    let year = SystemClock::default().now().day();
    if year.as_str() < "2026" {
        findings.warn(
            "clock",
            format!("the machine says it is {year}"),
            "set the clock: times in the journal would be wrong",
        );
    } else {
        findings.ok("clock", year);
    }
    match free_megabytes(&home.path) {
        Some(free) if free < 500 => {
            findings.warn("disk", format!("{free} MB free"), "free some space: a full disk stops writing");
        }
        Some(free) => findings.ok("disk", format!("{free} MB free")),
        None => {}
    }
}

/// The output of `df` for the nearest existing folder.
#[allow(clippy::disallowed_methods, reason = "the doctor asks the system one question")]
fn free_megabytes(path: &std::path::Path) -> Option<u64> {
    let there = path.ancestors().find(|folder| folder.exists())?;
    let output = std::process::Command::new("df").args(["-Pm"]).arg(there).output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

fn report(findings: &[Finding], as_json: bool) -> Result<(), Failure> {
    let failed = findings.iter().filter(|finding| finding.state == State::Failed).count();
    let warnings = findings.iter().filter(|finding| finding.state == State::Warning).count();
    if as_json {
        document(&json!({ "ok": failed == 0, "findings": findings }));
    } else {
        for finding in findings {
            let (tone, mark) = match finding.state {
                State::Ok => (Tone::Good, "ok  "),
                State::Warning => (Tone::Warn, "warn"),
                State::Failed => (Tone::Bad, "FAIL"),
            };
            say(format!("{} {:<14} {}", paint(tone, mark), finding.check, finding.detail));
            if let Some(fix) = &finding.fix {
                say(format!("     {:<14} {}", "", paint(Tone::Quiet, &format!("fix: {fix}"))));
            }
        }
        say(format!(
            "{}, {}, {}",
            count(findings.len() as u64, "check"),
            count(warnings as u64, "warning"),
            count(failed as u64, "failure")
        ));
    }
    if failed == 0 {
        Ok(())
    } else {
        Err(Failure::user("CLI005", format!("{failed} of {} checks failed", findings.len())))
    }
}
