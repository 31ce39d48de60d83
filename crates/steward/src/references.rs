//! Checks references between configuration files: models, tools and addresses that must exist.

use crate::config::{Settings, read_checked};
use crate::error::Failure;
use crate::home::Home;
use std::collections::BTreeSet;
use std::path::Path;
use steward_domain::{Agent, Workflow};
use steward_journal::note::NoteVerifier;
use steward_journal::witness::CosignatureVerifier;
use steward_tools::config::Configuration;

/// The built-in tool families.
#[rustfmt::skip]
const FAMILIES: &[&str] = &[
    "agent", "df", "file", "http", "math", "memory", "plot", "profiler", "skill", "sql", "stats", "steward", "summarize",
    "text", "time",
];

fn wrong(path: &Path, detail: &str) -> Failure {
    Failure::user("CFG001", format!("{}: {detail}", path.display()))
}

/// Whether it is a URL with a scheme and a host.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    host.is_some_and(|host| !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c.is_control()))
}

/// Invalid references of `config/steward.yaml`: malformed addresses, unknown models.
pub(crate) fn check_settings(path: &Path, settings: &Settings) -> Vec<Failure> {
    let mut found = Vec::new();
    let store = settings.store.as_str();
    if !["sqlite:", "postgres://", "postgresql://"].iter().any(|start| store.starts_with(start)) {
        found.push(wrong(path, "`store` must begin with sqlite:, postgres:// or postgresql://"));
    }
    if let Some(model) = settings.model.as_ref().filter(|model| !is_address(&model.base_url)) {
        found.push(wrong(path, &format!("`model.base_url` is no http address: {:?}", model.base_url)));
    }
    for (name, model) in settings.models.iter() {
        if let Some(address) = model.base_url.as_ref().filter(|address| !is_address(address)) {
            found.push(wrong(path, &format!("`models.{name}.base_url` is no http address: {address:?}")));
        }
        for other in model.fallback.iter().filter(|other| !settings.models.contains_key(*other)) {
            found.push(wrong(
                path,
                &format!("`models.{name}.fallback` names {other:?}, which is no model here"),
            ));
        }
    }
    let witness = &settings.witness;
    if let Some(url) = witness.url.as_ref().filter(|url| !is_address(url)) {
        found.push(wrong(path, &format!("`witness.url` is no http address: {url:?}")));
    }
    if witness.url.is_some() != witness.key.is_some() {
        found.push(wrong(path, "`witness.url` and `witness.key` belong together"));
    }
    if let Some(Err(error)) = witness.key.as_ref().map(|key| CosignatureVerifier::parse(key)) {
        found.push(wrong(path, &format!("`witness.key`: {error}")));
    }
    for error in witness.logs.iter().filter_map(|key| NoteVerifier::parse(key).err()) {
        found.push(wrong(path, &format!("`witness.logs`: {error}")));
    }
    for origin in settings.serve.origins.iter().filter(|origin| !is_address(origin)) {
        found.push(wrong(
            path,
            &format!("`serve.origins`: {origin:?} is no origin such as https://example.com"),
        ));
    }
    found
}

/// Invalid references of an agent.
pub(crate) fn check_agent(home: &Home, path: &Path, settings: &Settings) -> Vec<Failure> {
    let Ok(agent) = read_checked::<Agent>(path) else { return Vec::new() };
    let mut found = Vec::new();
    let (model, endpoint) = (agent.llm_config.model.as_str(), agent.llm_config.endpoint.as_str());
    if endpoint.is_empty() && !["local", "default"].contains(&model) && !settings.models.contains_key(model) {
        let known: Vec<&str> = settings.models.keys().map(String::as_str).collect();
        let there = if known.is_empty() { "none is set up".to_owned() } else { known.join(", ") };
        found.push(wrong(path, &format!("there is no model {model:?} in config/steward.yaml: {there}")));
    }
    if !endpoint.is_empty() && !is_address(endpoint) {
        found.push(wrong(path, &format!("`llm_config.endpoint` is no http address: {endpoint:?}")));
    }
    let agents = names(home, "agents");
    for other in agent.sub_agents.iter().filter(|other| !agents.contains(other.as_str())) {
        found.push(wrong(path, &format!("there is no agent {other}")));
    }
    found.extend(check_tools(home, path, agent.tools.iter().map(|tool| tool.as_str())));
    found
}

/// Invalid references of a workflow.
pub(crate) fn check_workflow(home: &Home, path: &Path) -> Vec<Failure> {
    let Ok(workflow) = read_checked::<Workflow>(path) else { return Vec::new() };
    let agents = names(home, "agents");
    let named = workflow.nodes.values().filter_map(|node| node.agent.as_ref());
    let unknown = named.filter(|agent| !agents.contains(agent.as_str()));
    let mut found: Vec<Failure> =
        unknown.map(|agent| wrong(path, &format!("there is no agent {agent}"))).collect();
    let tools = workflow.nodes.values().filter_map(|node| node.tool.as_ref());
    found.extend(check_tools(home, path, tools.map(|tool| tool.as_str())));
    found
}

/// Tools whose server is not configured. The tools of a server are known only once it was started,
/// so tools of a configured server, and names without a server, are left to `workflow check`.
fn check_tools<'a>(home: &Home, path: &Path, tools: impl Iterator<Item = &'a str>) -> Vec<Failure> {
    let Ok(configured) = Configuration::load(&home.path) else { return Vec::new() };
    let is_known = |server: &str| {
        FAMILIES.contains(&server) || configured.servers.keys().any(|known| known.as_str() == server)
    };
    tools
        .filter_map(|tool| Some((tool, tool.split_once('.')?.0)))
        .filter(|(_, server)| !is_known(server))
        .map(|(tool, server)| wrong(path, &format!("there is no tool {tool}: no server {server} is set up")))
        .collect()
}

/// The names of the definitions in a folder of the home.
fn names(home: &Home, folder: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(home.path.join(folder)).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.path().file_stem()?.to_string_lossy().into_owned())).collect()
}
