//! Scripts of `xtask/mcp/` against `steward serve`: plain requests to foreign servers with no
//! model, and tasks over durable runs.

use crate::process::{command, root, within};
use anyhow::{Context, Result};
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(300);

/// The number of problems.
pub(super) fn run(kit: &Path, steward: &Path) -> Result<usize> {
    Ok(script("tasks.py", &[steward])? + script("plain_requests.py", &[steward, kit])?)
}

fn script(name: &str, arguments: &[&Path]) -> Result<usize> {
    let mut script = command("python3");
    script.arg(root().join("xtask/mcp").join(name)).args(arguments);
    let outcome = within(LIMIT, &mut script).with_context(|| name.to_owned())?;
    print!("{}{}", outcome.stdout, outcome.stderr);
    Ok(usize::from(!outcome.status.success()))
}
