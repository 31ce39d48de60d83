//! `cargo xtask test web`: the server and its page, tested from outside by programs that others
//! wrote: Chromium, axe, schemathesis, the official clients of OpenAI and A2A. The scripts are in
//! `xtask/web`.

use crate::kit;
use crate::process::{built, command, is_root, root, run, within};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the scripts need from PyPI.
const PYTHON: &[&str] = &[
    "openai==3.49.0",
    "schemathesis==4.32.5",
    "cryptography==50.0.2",
    "a2a-sdk==1.3.0",
    "httpx==0.28.1",
    "ag-ui-protocol==1.0.0",
    "agent-client-protocol==0.12.1",
];

/// Builds what is tested, then tests it. `only` names one part.
pub(crate) fn build_and_run(only: Option<&str>) -> Result<()> {
    run(&["cargo", "build", "--quiet", "--workspace", "--bins", "--examples"])?;
    test(&kit::folder()?, only)
}

/// What `cargo xtask test clients` compares: the clients of others, and what they need.
const CLIENTS: &[&str] = &[
    "openai==3.49.0",
    "langchain-openai==1.7.3",
    "openai-agents==0.24.0",
    "pydantic-ai-slim[openai]==2.66.0",
    "litellm==1.83.0",
];
const CLIENT_PACKAGES: &[&str] = &["ai@6.0.326", "@ai-sdk/openai-compatible@2.0.87", "zod@4.6.7"];

/// The clients that people use with OpenAI's endpoints, each against the chat and an agent.
pub(crate) fn clients() -> Result<()> {
    run(&["cargo", "build", "--quiet", "--workspace", "--bins"])?;
    let python = kit::python(CLIENTS)?;
    let npm = kit::node_packages("clients", CLIENT_PACKAGES)?;
    let mut table = command(python);
    table.arg("-B").arg(root().join("xtask/web/clients.py")).arg(built("debug").join("steward"));
    table.args(["--node", "node", "--npm"]).arg(npm).current_dir(root());
    let status = table.status().context("python3 could not be started")?;
    ensure!(status.success(), "a client does not work with the server");
    Ok(())
}

/// Tests what was built before.
pub(crate) fn test(kit: &Path, only: Option<&str>) -> Result<()> {
    let python = kit::python(PYTHON)?;
    let chromium = chromium()?;
    let pictures = root().join("target/pictures");
    let mut all = command(python);
    all.arg("-B").arg(root().join("xtask/web/all.py")).arg(built("debug").join("steward"));
    all.arg("--kit").arg(kit).arg("--chromium").arg(chromium).arg("--pictures").arg(&pictures);
    all.args(only.map(|name| ["--only", name]).into_iter().flatten()).current_dir(root());
    let status = all.status().context("python3 could not be started")?;
    ensure!(status.success(), "the server failed its tests from outside");
    eprintln!("pictures of the page are in {}", pictures.strip_prefix(root()).unwrap_or(&pictures).display());
    types(kit)?;
    format(kit)
}

/// The page and its tests are formatted as `web/.prettierrc.json` says.
fn format(kit: &Path) -> Result<()> {
    let program = kit::node_program(kit, "prettier", "bin/prettier.cjs")?;
    let mut check = kit::node(kit)?;
    check.arg(program).args(["--config", "web/.prettierrc.json", "--check"]);
    check.args(["web/*.js", "web/parts/*.js", "web/views/*.js", "web/style/*.css", "web/*.d.ts"]);
    check.arg("xtask/web/*.mjs").current_dir(root());
    let outcome = within(Duration::from_secs(120), &mut check)?;
    let told = "the page is not formatted; npx prettier --config web/.prettierrc.json --write does it";
    ensure!(outcome.status.success(), "{told}:\n{}{}", outcome.stdout, outcome.stderr);
    Ok(())
}

/// The page's own types hold.
fn types(kit: &Path) -> Result<()> {
    let compiler = kit::node_program(kit, "typescript", "bin/tsc")?;
    let mut check = kit::node(kit)?;
    check.arg(compiler).args(["--noEmit", "--project", "web/jsconfig.json"]).current_dir(root());
    let outcome = within(Duration::from_secs(120), &mut check)?;
    ensure!(outcome.status.success(), "the types of web/ do not hold:\n{}{}", outcome.stdout, outcome.stderr);
    Ok(())
}

/// The browser of this machine; Debian's is installed where that is possible.
fn chromium() -> Result<PathBuf> {
    let known = || {
        let places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
        let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
        named.into_iter().chain(places.map(PathBuf::from)).find(|path| path.exists())
    };
    if known().is_none() && is_root() {
        let install = "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends chromium";
        eprintln!("installing chromium");
        let _the_next_line_says_what_is_missing =
            within(Duration::from_secs(600), command("sh").args(["-c", install]));
    }
    known().context("the page is tested in Chromium: apt-get install chromium, or name it in CHROMIUM")
}
