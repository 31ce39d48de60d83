//! `steward retention`.

use super::Context;
use crate::error::Failure;
use crate::home::Home;
use crate::output::{Tone, document, paint, say, table};
use clap::Subcommand;
use serde_json::json;
use std::path::Path;
use steward_journal::clock::{Clock, SystemClock};
use steward_runtime::ask::placed;
use steward_store::{PurgedFile, RetentionReport, Store};

#[derive(Subcommand)]
pub(crate) enum Retention {
    /// Apply config/retention_policy.yaml now.
    Run {
        /// Only show what would be purged.
        #[arg(long)]
        dry_run: bool,
    },
}

pub(super) async fn run(context: &Context, Retention::Run { dry_run }: &Retention) -> Result<(), Failure> {
    let opened = context.open().await?;
    let Applied { report, removed, left } = apply(&context.home, &*opened.store, *dry_run).await?;
    if context.json {
        document(&json!({ "report": report, "removed": removed, "not_removed": left }));
        return Ok(());
    }
    let rows = report.purged.iter().map(|purge| {
        let before =
            purge.before.map_or_else(|| "by its own time".to_owned(), |time| format!("before {time}"));
        vec![purge.kind.to_owned(), purge.action.to_owned(), purge.count.to_string(), before]
    });
    table(&["what", "is", "how many", "which"], rows.collect(), "nothing");
    for file in &left {
        say(format!("{} {file}", paint(Tone::Warn, "not removed")));
    }
    match dry_run {
        true => say(paint(Tone::Quiet, "nothing was changed: this was a dry run")),
        false => say(format!(
            "{removed} files removed; what was purged is recorded in the journal (`steward audit export system`)"
        )),
    }
    Ok(())
}

/// The result of applying the policy.
pub(super) struct Applied {
    pub(super) report: RetentionReport,
    removed: u64,
    left: Vec<String>,
}

/// Applies the policy of the home, or reports what it would do.
pub(super) async fn apply(home: &Home, store: &dyn Store, dry_run: bool) -> Result<Applied, Failure> {
    let policy = crate::config::retention(home)?;
    let report = store.retain(&policy, SystemClock::default().now(), dry_run).await?;
    let (mut removed, mut left) = (0_u64, Vec::new());
    for file in report.files.iter().filter(|_| !dry_run) {
        match remove(home, file) {
            Ok(()) => removed += 1,
            Err(why) => left.push(format!("{}: {why}", file.content_ref)),
        }
    }
    Ok(Applied { report, removed, left })
}

/// Removes the file of an artifact. Its path comes from the tool that made it, so only a file in
/// the artifacts folder, under the name of its task, is removed; symbolic links are resolved first.
fn remove(home: &Home, file: &PurgedFile) -> Result<(), String> {
    let path = placed(&home.path.join("artifacts"), &file.content_ref);
    let path = home.path.join(path);
    let folder = path.parent().unwrap_or(Path::new("")).canonicalize().map_err(|error| error.to_string())?;
    let artifacts = home.path.join("artifacts").canonicalize().map_err(|error| error.to_string())?;
    let task = file.task_id.to_string();
    let named = path.file_stem().is_some_and(|stem| stem == task.as_str());
    let own = folder
        .strip_prefix(&artifacts)
        .is_ok_and(|inside| named || inside.iter().any(|part| part == task.as_str()));
    if !own {
        return Err("it does not lie in the artifacts of its task".to_owned());
    }
    std::fs::remove_file(&path).map_err(|error| error.to_string())
}
