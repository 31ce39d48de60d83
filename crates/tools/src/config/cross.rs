//! Checks across files: references must resolve, and fallbacks must not form a cycle.

use super::files::Files;
use super::node::Step;
use super::problem::{Problem, meant};
use super::{BuiltinNames, in_environment};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use steward_domain::{Environment, ToolName};

/// Adds problems across files. Names of an unreadable file are not reported.
pub(super) fn check(files: &mut Files, known: Option<&BuiltinNames>) {
    let mut problems = Vec::new();
    let mut add = |file: &Path, line: u64, problem: String| {
        problems.push(Problem { file: file.to_owned(), line, problem });
    };
    categories(files, known, &mut add);
    domains(files, known, &mut add);
    tools(files, known, &mut add);
    for environment in [Environment::Development, Environment::Staging, Environment::Production] {
        cycles(files, environment, &mut add);
    }
    files.problems.append(&mut problems);
}

fn categories(files: &Files, known: Option<&BuiltinNames>, add: &mut impl FnMut(&Path, u64, String)) {
    let there: BTreeSet<&str> = (files.categories.names.iter().map(String::as_str))
        .chain(known.iter().flat_map(|known| known.categories.iter().map(|name| name.as_str())))
        .collect();
    for server in &files.servers.items {
        let Some(category) = &server.item.category else { continue };
        if files.categories.readable && !there.contains(category.as_str()) {
            let near = advice(category, &there, "add it to `categories` of tools.yaml");
            let line = server.node.line_at(&[Step::Key("category".into())]);
            let name = &server.item.name;
            add(
                &files.servers.path,
                line,
                format!("server `{name}`: there is no category `{category}`{near}"),
            );
        }
    }
}

fn domains(files: &Files, known: Option<&BuiltinNames>, add: &mut impl FnMut(&Path, u64, String)) {
    let there: BTreeSet<&str> = files.domains.names.iter().map(String::as_str).collect();
    for domain in &files.domains.items {
        let name = &domain.item.name;
        let line =
            |field: &str, place| domain.node.line_at(&[Step::Key(field.to_owned()), Step::Index(place)]);
        for (place, related) in domain.item.related_domains.iter().enumerate() {
            if !there.contains(related.as_str()) {
                let near = advice(related, &there, "add it, or take it out of `related_domains`");
                let line = line("related_domains", place);
                add(
                    &files.domains.path,
                    line,
                    format!("domain `{name}`: there is no domain `{related}`{near}"),
                );
            }
        }
        for (place, tool) in domain.item.mcp_tools.iter().enumerate() {
            // A domain may name a tool without its server. The server is resolved at run time.
            let bare = !tool.contains('.') && !files.servers.names.is_empty();
            if let Some(problem) = (!bare).then(|| unknown(files, known, tool)).flatten() {
                add(&files.domains.path, line("mcp_tools", place), format!("domain `{name}`: {problem}"));
            }
        }
    }
}

fn tools(files: &Files, known: Option<&BuiltinNames>, add: &mut impl FnMut(&Path, u64, String)) {
    for setting in &files.settings.items {
        let settings = &setting.item.1;
        let mut hold = |steps: &[Step], tool: &ToolName, as_what: &str| {
            if let Some(problem) = unknown(files, known, tool) {
                let line = setting.node.line_at(steps);
                add(&files.settings.path, line, format!("tool `{}`{as_what}: {problem}", settings.tool_name));
            }
        };
        hold(&[], &settings.tool_name, "");
        for (place, tool) in settings.fallback_tools.iter().flatten().enumerate() {
            hold(&[Step::Key("fallback_tools".into()), Step::Index(place)], tool, " as a fallback");
        }
        if let Some(poll) = settings.poll.as_ref().filter(|poll| poll.tool.contains('.')) {
            hold(&[Step::Key("poll".into()), Step::Key("tool".into())], &poll.tool, " for polling");
        }
    }
}

/// Why no tool can have this name: it is not built in, and no configured server can offer it.
fn unknown(files: &Files, known: Option<&BuiltinNames>, tool: &str) -> Option<String> {
    let known = known?;
    let of_server =
        |server: &String| tool.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with('.'));
    let built_in = |name: &ToolName| {
        tool.strip_suffix('*').map_or(name.as_str() == tool, |prefix| name.starts_with(prefix))
    };
    if known.tools.iter().any(built_in)
        || !files.servers.readable
        || files.servers.names.iter().any(of_server)
    {
        return None;
    }
    let servers = files.servers.names.iter().map(String::as_str);
    if let Some((server, rest)) = tool.split_once('.')
        && let Some(near) = crate::registry::nearest(server, servers, 1).first()
    {
        return Some(format!("there is no server `{server}`; did you mean `{near}.{rest}`?"));
    }
    let there = known.tools.iter().map(|name| name.as_str()).collect();
    let near = advice(tool, &there, "it is not built in, and tools of a server are written `server.tool`");
    Some(format!("there is no tool `{tool}`{near}"))
}

/// A suggestion of the nearest name, or other advice.
fn advice(name: &str, there: &BTreeSet<&str>, otherwise: &str) -> String {
    let near = meant(name, there.iter().copied());
    if near.is_empty() { format!(": {otherwise}") } else { near }
}

/// Reports cycles of fallbacks.
fn cycles(files: &Files, environment: Environment, add: &mut impl FnMut(&Path, u64, String)) {
    let settings = files.settings.items.iter().map(|setting| {
        let settings = in_environment(&setting.item.1, environment);
        let line = setting.node.line_at(&[Step::Key("fallback_tools".into())]);
        // A tool that falls back to itself is reported by its own check.
        let others = settings.fallback_tools.into_iter().flatten().filter(|tool| *tool != settings.tool_name);
        let others: Vec<ToolName> = others.collect();
        (settings.tool_name, (others, line))
    });
    let ways: BTreeMap<ToolName, (Vec<ToolName>, u64)> = settings.collect();
    let mut done = BTreeSet::new();
    for start in ways.keys() {
        let mut path = Vec::new();
        if let Some(round) = walk(&ways, start, &mut path, &mut done) {
            let first = round.first().copied().unwrap_or(start.as_str());
            let line = ways.iter().find(|(name, _)| name.as_str() == first).map_or(1, |(_, (_, line))| *line);
            let round = round.join(" -> ");
            let problem =
                format!("tool `{first}`: its fallbacks go in a circle: {round}. Take one of them out");
            add(&files.settings.path, line, problem);
        }
    }
}

/// Follows fallbacks in order. Returns the first cycle as names.
fn walk<'a>(
    ways: &'a BTreeMap<ToolName, (Vec<ToolName>, u64)>,
    at: &'a ToolName,
    path: &mut Vec<&'a ToolName>,
    done: &mut BTreeSet<&'a ToolName>,
) -> Option<Vec<&'a str>> {
    if let Some(place) = path.iter().position(|name| *name == at) {
        let round = path.iter().skip(place).chain([&at]).map(|name| name.as_str());
        return Some(round.collect());
    }
    if !done.insert(at) {
        return None;
    }
    path.push(at);
    let fallbacks = ways.get(at).map(|(fallbacks, _)| fallbacks.as_slice()).unwrap_or_default();
    let found = fallbacks.iter().find_map(|next| walk(ways, next, path, done));
    path.pop();
    found
}
