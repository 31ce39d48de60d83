//! `steward analytics`.

use super::Context;
use crate::error::Failure;
use crate::output::{document, table};
use clap::Args;
use steward_domain::Timestamp;
use steward_journal::clock::{Clock, SystemClock};
use steward_store::Usage;

#[derive(Args)]
pub(crate) struct Analytics {
    /// The last N days.
    #[arg(long, default_value_t = 30, conflicts_with = "from")]
    days: u32,
    /// From this time (2026-01-16T00:00:00Z), inclusive.
    #[arg(long)]
    from: Option<Timestamp>,
    /// Until this time, exclusive; now by default.
    #[arg(long)]
    to: Option<Timestamp>,
}

pub(super) async fn run(context: &Context, window: &Analytics) -> Result<(), Failure> {
    let opened = context.open().await?;
    let now = SystemClock::default().now();
    let from = window.from.unwrap_or_else(|| now.minus_days(window.days));
    let analytics = opened.store.analytics(&context.scope, from, window.to.unwrap_or(now)).await?;
    if context.json {
        document(&analytics);
        return Ok(());
    }
    for (what, usages) in [("tool", &analytics.tools), ("agent", &analytics.agents)] {
        let row = |usage: &Usage| {
            vec![
                usage.name.clone(),
                usage.calls.to_string(),
                format!("{:.1} %", usage.success_rate * 100.0),
                format!("{:.0} ms", usage.mean_ms),
                format!("{:.0} ms", usage.p95_ms),
            ]
        };
        table(
            &[what, "calls", "success", "mean", "p95"],
            usages.iter().map(row).collect(),
            &format!("no {what} was used"),
        );
    }
    Ok(())
}
