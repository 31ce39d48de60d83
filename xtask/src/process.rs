//! The one door to child processes here: what is run, where, and what its failure means.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;

/// A command to be started. What cargo told us about ourselves is not handed down: build scripts watch those variables,
/// and would build again at every change between a nested and a direct call.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    let ours = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|start| name.starts_with(start))
            || ["CARGO", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR", "LD_LIBRARY_PATH"]
                .contains(&name)
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
        command.env_remove(name);
    }
    command
}

/// Runs a command line from the repository's root and fails when it does.
pub(crate) fn run(line: &[&str]) -> Result<()> {
    eprintln!("$ {}", line.join(" "));
    run_quietly(line)
}

/// The same without printing the line first.
pub(crate) fn run_quietly(line: &[&str]) -> Result<()> {
    let (program, arguments) = line.split_first().context("an empty command")?;
    let status = command(program)
        .args(arguments)
        .current_dir(root())
        .status()
        .with_context(|| format!("could not start {program}"))?;
    if !status.success() {
        bail!("`{}` failed with {status}", line.join(" "));
    }
    Ok(())
}

/// The repository's root: xtask's parent. Cargo says where that is when it runs us; checkouts that share a target folder
/// may share this very program, so what was true when it was built is only the second choice.
pub(crate) fn root() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or(built, PathBuf::from);
    here.parent().unwrap_or(&here).to_owned()
}

/// A folder that outlives checkouts, for what is downloaded once. Another user (PostgreSQL's, when we are root) must be
/// able to read it, so root's home will not do.
pub(crate) fn cache() -> Result<PathBuf> {
    let folder = match std::env::var_os("STEWARD_CACHE") {
        Some(folder) => PathBuf::from(folder),
        None if is_root() => PathBuf::from("/var/cache/steward"),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache/steward"),
    };
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    Ok(folder)
}

/// Whether we are root.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
