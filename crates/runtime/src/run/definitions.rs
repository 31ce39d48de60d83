//! Definitions of agents and workflows: `agents/*.yaml`, `workflows/*.yaml` (or JSON) of a home,
//! parsed strictly, read again for every run.

use super::internal;
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use steward_domain::{Agent, AgentName, Check, ToolName, Valid, Workflow};
use steward_engine::{Definition, Lookup, Problems, Program, Root, Settings, ToolSpec};
use steward_tools::registry::Registry;

/// The definitions of a home, with the registered tools.
pub(super) struct Definitions<'a> {
    pub(super) home: &'a Path,
    pub(super) registry: &'a Registry,
    /// The folder of agents next to a workflow that is given as a file.
    pub(super) beside: Option<PathBuf>,
    /// The folder of a workflow that is given as a file: other workflows are found in it.
    pub(super) near: Option<PathBuf>,
}

impl Lookup for Definitions<'_> {
    fn agent(&self, name: &AgentName) -> Option<Agent> {
        let own = self.read::<Agent>("agents", name.as_str()).ok().flatten();
        let beside = || self.beside.as_deref().and_then(|folder| find(folder, name.as_str()));
        own.or_else(|| parse(&beside()?).ok()).map(Valid::into_inner)
    }
    fn workflow(&self, name: &AgentName) -> Option<Workflow> {
        let own = self.read::<Workflow>("workflows", name.as_str()).ok().flatten();
        let near = || self.near.as_deref().and_then(|folder| find(folder, name.as_str()));
        own.or_else(|| parse(&near()?).ok()).map(Valid::into_inner)
    }
    fn tool(&self, name: &ToolName) -> Option<ToolSpec> {
        if let Some(own) = internal::spec(name.as_str()) {
            return Some(own);
        }
        let found = self.registry.resolve(None, name.as_str()).ok()?;
        let trusted_fields = found.registered.settings.trusted_fields.clone();
        Some(ToolSpec {
            name: name.clone(),
            trusted_fields,
            ..ToolSpec::from(&**found.registered.definition)
        })
    }
}

impl Definitions<'_> {
    /// Compiles the workflow or agent with this name or file.
    pub(super) fn program(&self, name: &str) -> Result<Program> {
        let root = self.root(name)?;
        let definition = Definition::gather(root, Settings::default(), self);
        // An agent that cannot be parsed gives a more specific error than "unknown".
        for agent in self.names("agents") {
            if definition.root.title().contains(&agent)
                || definition.agents.keys().any(|known| known.as_str() == agent)
            {
                self.read::<Agent>("agents", &agent)?;
            }
        }
        Program::from_definition(definition).map_err(|problems| match self.file_of(name) {
            Some(file) => Error::Program(located(&file, &problems)),
            None => Error::Program(problems.to_string()),
        })
    }

    /// The file of a name.
    fn file_of(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        if path.extension().is_some() && path.exists() {
            return Some(path.to_owned());
        }
        ["workflows", "agents"].into_iter().find_map(|folder| find(&self.home.join(folder), name))
    }

    fn root(&self, name: &str) -> Result<Root> {
        let path = Path::new(name);
        if path.extension().is_some() && path.exists() {
            return match parse::<Workflow>(path) {
                Ok(workflow) => Ok(Root::Workflow(workflow.into_inner())),
                Err(error) => match parse::<Agent>(path) {
                    Ok(agent) => Ok(Root::Agent(agent.into_inner())),
                    Err(_) => Err(error),
                },
            };
        }
        if let Some(workflow) = self.read::<Workflow>("workflows", name)? {
            return Ok(Root::Workflow(workflow.into_inner()));
        }
        if let Some(agent) = self.read::<Agent>("agents", name)? {
            return Ok(Root::Agent(agent.into_inner()));
        }
        let mut known = self.names("workflows");
        known.extend(self.names("agents"));
        Err(Error::NoDefinition { name: name.to_owned(), known: known.join(", ") })
    }

    fn read<T: Check + DeserializeOwned>(&self, folder: &str, name: &str) -> Result<Option<Valid<T>>> {
        find(&self.home.join(folder), name).map(|path| parse(&path)).transpose()
    }

    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.home.join(folder)).into_iter().flatten().flatten();
        let stem = |path: PathBuf| Some(path.file_stem()?.to_string_lossy().into_owned());
        let mut names: Vec<String> = entries.filter_map(|entry| stem(entry.path())).collect();
        names.sort();
        names
    }
}

/// Every problem with the file and line of its field.
fn located(file: &Path, problems: &Problems) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut lines = format!("{} cannot run:", problems.what);
    for problem in &problems.problems {
        lines.push_str(&format!("\n  {}:{}: {problem}", file.display(), line_of(&text, &problem.field)));
    }
    lines
}

/// The line of a field such as `nodes.each.over` or `edges[2].to`. Each part is searched after the
/// previous one. A part without a line of its own has the previous line.
fn line_of(text: &str, field: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    // The range of lines that holds the next part, and the line that was found last.
    let (mut from, mut to, mut at) = (0, lines.len(), 0);
    for part in field.split('.') {
        let (name, number) = match part.split_once('[') {
            Some((name, number)) => (name, number.trim_end_matches(']').parse::<usize>().ok()),
            None => (part, None),
        };
        let is_it = |line: &str| {
            let line = line.trim_start().trim_start_matches("- ").trim_start_matches('"');
            line.strip_prefix(name).is_some_and(|rest| rest.trim_start_matches('"').starts_with(':'))
        };
        let block = |from: usize, to: usize| lines.iter().enumerate().take(to).skip(from);
        let Some((place, _)) = block(from, to).find(|(_, line)| is_it(line)) else { break };
        (at, from) = (place, place + 1);
        let inside = |place: usize, to: usize| {
            let own = lines.get(place).copied().unwrap_or_default();
            // The items of a list may be below its name without indentation.
            let is_item = |line: &str| line.trim_start().starts_with("- ");
            let ends = |line: &str| match indent(line).cmp(&indent(own)) {
                _ if line.trim().is_empty() => false,
                Ordering::Less => true,
                Ordering::Equal => is_item(own) || !is_item(line),
                Ordering::Greater => false,
            };
            block(place + 1, to).find(|(_, line)| ends(line)).map_or(to, |(end, _)| end)
        };
        to = inside(place, to);
        if let Some(number) = number {
            let mut items = block(from, to).filter(|(_, line)| line.trim_start().starts_with("- "));
            let Some((item, _)) = items.nth(number) else { break };
            (at, from, to) = (item, item, inside(item, to));
        }
    }
    at + 1
}

/// The file of this name in a folder.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let files = ["yaml", "yml", "json"].map(|ending| folder.join(format!("{name}.{ending}")));
    files.into_iter().find(|path| plain && path.is_file())
}

fn parse<T: Check + DeserializeOwned>(path: &Path) -> Result<Valid<T>> {
    let wrong = |line: u64, problem: String| Error::Definition { file: path.to_owned(), line, problem };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(1, error.to_string()))?;
    let draft: T = serde_saphyr::from_str(&text).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        let message = error.to_string();
        let first = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
        wrong(line, first.to_owned())
    })?;
    draft.validate().map_err(|invalid| {
        let field = invalid.problems.first().map(|problem| problem.field.clone()).unwrap_or_default();
        wrong(line_of(&text, &field) as u64, invalid.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::line_of;

    #[test]
    fn problems_are_found_on_their_line() {
        let text = "name: x\nnodes:\n  first:\n    type: tool\n    tool: a\n  second:\n    type: map\n    over: b\nedges:\n  - { from: first, to: second }\n  - from: second\n    to: __end__\n";
        for (field, line) in [
            ("name", 1),
            ("nodes.first.tool", 5),
            ("nodes.second", 6),
            ("nodes.second.over", 8),
            ("edges[0].to", 10),
            ("edges[1].to", 12),
            ("entry_point", 1),
        ] {
            assert_eq!(line_of(text, field), line, "{field}");
        }
    }
}
