//! Agents and workflows as people write them: `agents/*.yaml`, `workflows/*.yaml` (or JSON) of a
//! home, read strictly, fresh for every run.

use super::internal;
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use steward_domain::{Agent, AgentName, Check, ToolName, Valid, Workflow};
use steward_engine::{Definition, Lookup, Program, Root, Settings, ToolSpec};
use steward_tools::registry::Registry;

/// The definitions of a home, with the tools that there are.
pub(super) struct Definitions<'a> {
    pub(super) home: &'a Path,
    pub(super) registry: &'a Registry,
    /// The folder of agents beside a workflow that is named by its file.
    pub(super) beside: Option<PathBuf>,
    /// The folder of a workflow that is named by its file: others are found in it.
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
    /// The workflow or agent of this name, or of this file, ready to run.
    pub(super) fn program(&self, name: &str) -> Result<Program> {
        let root = self.root(name)?;
        let definition = Definition::gather(root, Settings::default(), self);
        // An agent that is named and cannot be read is worth more words than "unknown".
        for agent in self.names("agents") {
            if definition.root.title().contains(&agent)
                || definition.agents.keys().any(|known| known.as_str() == agent)
            {
                self.read::<Agent>("agents", &agent)?;
            }
        }
        Program::from_definition(definition).map_err(|problems| Error::Program(problems.to_string()))
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
        let last = field.split(['.', '[']).next_back().unwrap_or_default().trim_end_matches(']');
        let at = text.lines().position(|line| line.trim_start().starts_with(&format!("{last}:")));
        wrong(at.map_or(1, |line| line as u64 + 1), invalid.to_string())
    })
}
