//! The official inspector's command line drives `steward mcp`, over pipes and over HTTP, in a home
//! of its own.

use crate::kit;
use crate::process::{Group, command, within};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

const SKILL: &str =
    "---\nname: greet\ndescription: Greets somebody in their language.\n---\nGreet the person by name.\n";

/// What is asked for, and what the answer must hold: where, and some words of it.
type Case = (&'static [&'static str], &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    (&["tools/list"], "/tools", &["ask", "analyse", "tools_search", "tools_call", "task_status"]),
    (
        &["tools/call", "--tool-name", "tools_search", "--tool-arg", "request=work out 2 + 3"],
        "/content",
        &["math.eval", "confidence"],
    ),
    (
        &[
            "tools/call",
            "--tool-name",
            "tools_call",
            "--tool-arg",
            "tool=math.eval",
            "--tool-arg",
            "arguments={\"expression\":\"6*7\"}",
        ],
        "/structuredContent",
        &["42"],
    ),
    (&["resources/list"], "/resources", &[]),
    (&["resources/templates/list"], "/resourceTemplates", &["artifact://{kind}/{task}/{file}"]),
    (&["prompts/list"], "/prompts", &["greet"]),
    (&["prompts/get", "--prompt-name", "greet"], "/messages", &["Greet the person by name."]),
];

/// The number of problems.
pub(super) fn drive(kit: &Path, steward: &Path) -> Result<usize> {
    let home = tempfile::tempdir()?;
    let skill = home.path().join("skills/greet");
    std::fs::create_dir_all(&skill)?;
    std::fs::write(skill.join("SKILL.md"), SKILL)?;
    let mut problems = 0;
    for case in CASES {
        problems += usize::from(!ask(kit, home.path(), &[&steward.to_string_lossy(), "mcp"], case)?);
    }
    let mut server = command(steward);
    server.args(["mcp", "--port", "0", "--expose", "math.eval", "--home"]).arg(home.path());
    let mut server = Group::start(&mut server)?;
    let url = server.wait_for(LIMIT, listening)?;
    let exposed: Case = (
        &["tools/call", "--tool-name", "math.eval", "--tool-arg", "expression=6*7"],
        "/structuredContent",
        &["42"],
    );
    for case in CASES.iter().chain([&exposed]) {
        problems += usize::from(!ask(kit, home.path(), &[&url], case)?);
    }
    let asked = 2 * CASES.len() + 1;
    println!("the inspector drives `steward mcp`: {} of {asked} answers are right", asked - problems);
    Ok(problems)
}

/// The address that `steward mcp --port` prints.
pub(crate) fn listening(printed: &str) -> Option<String> {
    let (_, rest) = printed.split_once("listening on ")?;
    let (url, _) = rest.split_once('\n')?;
    Some(url.trim().to_owned())
}

fn ask(kit: &Path, home: &Path, server: &[&str], (method, place, words): &Case) -> Result<bool> {
    let program =
        kit::node_program(kit, "@modelcontextprotocol/inspector", "clients/launcher/build/index.js")?;
    let mut inspector = kit::node(kit)?;
    // It hands down little of its own environment, and keeps files of its own in the home.
    inspector.arg(program).args(["--cli", "-e"]).arg(format!("STEWARD_HOME={}", home.display()));
    inspector.args(server).arg("--method").args(*method).env("HOME", home);
    let outcome = within(LIMIT, &mut inspector).context("the inspector")?;
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
    let part = answer.pointer(place).map(Value::to_string);
    let right =
        outcome.status.success() && part.is_some_and(|part| words.iter().all(|word| part.contains(word)));
    if !right {
        println!("  FAILS {} {}: wants {place} with {words:?}", server.join(" "), method.join(" "));
        println!("  {}\n{}{}", outcome.status, outcome.stdout, outcome.stderr);
    }
    Ok(right)
}
