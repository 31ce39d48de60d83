//! Finds the weights that come with the crate `pocket-encoder`, so that our own arithmetic can read them.
//!
//! The crate keeps them to itself, but cargo has unpacked its files to build it and says where. Where cargo does not say, the crate does the
//! arithmetic, three times as slow: nothing else changes.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(own_arithmetic)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    println!("cargo::rerun-if-env-changed=STEWARD_PLAIN_ENCODER");
    if std::env::var_os("STEWARD_PLAIN_ENCODER").is_some() {
        return;
    }
    match assets() {
        Ok(folder) => {
            println!("cargo::rerun-if-changed={}", folder.display());
            println!("cargo::rustc-env=ENCODER_ASSETS={}", folder.display());
            println!("cargo::rustc-cfg=own_arithmetic");
        }
        Err(problem) => {
            println!("cargo::warning=the encoder runs at a third of its speed: {problem}");
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "a build script is no part of the program: only cargo is asked, and waited for"
)]
fn assets() -> Result<PathBuf, String> {
    let variable = |name: &str| std::env::var(name).map_err(|_| format!("cargo does not say {name}"));
    let mut ask = Command::new(variable("CARGO")?);
    ask.args(["metadata", "--format-version", "1", "--offline", "--locked"]);
    ask.args(["--filter-platform", &variable("TARGET")?]);
    let told = ask.current_dir(variable("CARGO_MANIFEST_DIR")?).output();
    let told = told.map_err(|problem| format!("cargo metadata: {problem}"))?;
    if !told.status.success() {
        return Err(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&told.stderr).trim().replace('\n', " ")
        ));
    }
    let told: serde_json::Value =
        serde_json::from_slice(&told.stdout).map_err(|problem| problem.to_string())?;
    let packages = told.get("packages").and_then(|packages| packages.as_array());
    let package = packages
        .into_iter()
        .flatten()
        .find(|package| package.get("name").is_some_and(|name| name == "pocket-encoder"));
    let manifest = package
        .and_then(|package| package.get("manifest_path")?.as_str())
        .ok_or("pocket-encoder is not among the packages")?;
    let folder = PathBuf::from(manifest).with_file_name("assets");
    for name in ["model.safetensors", "tokenizer.json", "config.json"] {
        if !folder.join(name).is_file() {
            return Err(format!("pocket-encoder has no {name}"));
        }
    }
    Ok(folder)
}
