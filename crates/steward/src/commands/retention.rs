//! `steward retention`.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, table};
use clap::Subcommand;
use steward_journal::clock::{Clock, SystemClock};

#[derive(Subcommand)]
pub(crate) enum Retention {
    /// Apply config/retention_policy.yaml now.
    Run {
        /// Only show what would go.
        #[arg(long)]
        dry_run: bool,
    },
}

pub(super) async fn run(context: &Context, Retention::Run { dry_run }: &Retention) -> Result<(), Failure> {
    let opened = context.open().await?;
    let policy = crate::config::retention(&context.home)?;
    let report = opened.store.retain(&policy, SystemClock::default().now(), *dry_run).await?;
    let mut removed = 0;
    for file in report.files.iter().filter(|_| !dry_run) {
        // Only what lies inside the home is ours to remove.
        let path = context.home.path.join(file);
        removed += u64::from(path.starts_with(&context.home.path) && std::fs::remove_file(&path).is_ok());
    }
    if context.json {
        document(&report);
        return Ok(());
    }
    let rows = report.purged.iter().map(|purge| {
        let before =
            purge.before.map_or_else(|| "by its own time".to_owned(), |time| format!("before {time}"));
        vec![purge.kind.to_owned(), purge.action.to_owned(), purge.count.to_string(), before]
    });
    table(&["what", "is", "how many", "which"], rows.collect(), "nothing");
    match dry_run {
        true => say(paint(Tone::Quiet, "nothing was changed: this was a dry run")),
        false => say(format!(
            "{removed} files removed; what was purged is recorded in the journal (`steward audit export system`)"
        )),
    }
    Ok(())
}
