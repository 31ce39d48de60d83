//! Fuzzing with cargo-fuzz, which it installs when missing.

use crate::process::{self, command, root};
use anyhow::{Result, bail};

/// How long and what.
#[derive(clap::Args)]
pub(crate) struct Fuzz {
    /// Only this target.
    target: Option<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

const TARGETS: &[&str] = &["verify_line", "canonical", "domain_parse", "admission"];

pub(crate) fn run(fuzz: &Fuzz) -> Result<()> {
    let targets: Vec<&str> = TARGETS
        .iter()
        .copied()
        .filter(|name| fuzz.target.as_ref().is_none_or(|wanted| wanted == name))
        .collect();
    if targets.is_empty() {
        bail!("there is no such target; there are {}", TARGETS.join(", "));
    }
    let installed =
        command("cargo").args(["fuzz", "--version"]).output().is_ok_and(|output| output.status.success());
    if !installed {
        process::run(&["cargo", "install", "--locked", "cargo-fuzz"])?;
    }
    for target in targets {
        eprintln!("fuzzing {target} for {} s", fuzz.seconds);
        let status = command("cargo")
            .args([
                "+nightly",
                "fuzz",
                "run",
                target,
                "--",
                &format!("-max_total_time={}", fuzz.seconds),
                "-max_len=4096",
            ])
            .current_dir(root().join("fuzz"))
            .status()?;
        if !status.success() {
            bail!("{target} found something: see fuzz/artifacts/{target}");
        }
    }
    Ok(())
}
