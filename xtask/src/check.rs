//! Formatting, lints and the tidy tests.

use crate::process;
use anyhow::Result;

pub(crate) fn run() -> Result<()> {
    process::run(&["cargo", "fmt", "--all", "--check"])?;
    process::run(&["cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    process::run(&["cargo", "test", "--quiet", "--package", "xtask", "--test", "tidy"])
}
