//! `cargo xtask test mcp`: what others wrote judges our MCP server and our MCP client.
//!
//! The official conformance suite tests both, and the official inspector drives the program itself.
//! With `--all`, plain requests to foreign servers show what is understood with no model.
//! Every child has a limit of time, and none is left at the end.

mod conformance;
mod inspector;
mod scripts;

pub(crate) use inspector::listening;

use crate::kit;
use crate::process::{built, run};
use anyhow::{Result, ensure};
use std::path::Path;

/// Builds what is tested, then tests it.
///
/// `all` asks for what takes minutes too: every revision of the protocol by itself.
pub(crate) fn build_and_run(all: bool) -> Result<()> {
    // The whole workspace and its examples, as `cargo test --workspace` builds them: the two share
    // what they build.
    run(&["cargo", "build", "--quiet", "--workspace", "--bins", "--examples"])?;
    test(&kit::folder()?, all)
}

/// Tests what was built before.
pub(crate) fn test(kit: &Path, all: bool) -> Result<()> {
    let debug = built("debug");
    let problems = [
        conformance::server(kit, &debug.join("examples/mcp_conformance_server"), all)?,
        conformance::client(kit, &debug.join("examples/mcp_conformance_client"), all)?,
        inspector::drive(kit, &debug.join("steward"))?,
        if all { scripts::run(kit, &debug.join("steward"))? } else { 0 },
    ];
    let problems: usize = problems.iter().sum();
    ensure!(problems == 0, "MCP: {problems} problems, listed above");
    Ok(())
}
