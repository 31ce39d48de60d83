//! Builds a snapshot from its sources.

use super::pairs::bare;
use super::snapshot::{Entry, Field, Snapshot, Versions};
use super::{Source, State};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steward_domain::{DomainName, SemanticVersion, ToolName};

impl State {
    /// A snapshot of all callable tools.
    pub(super) fn snapshot(&self, generation: u64) -> Snapshot {
        let mut problems = Vec::new();
        let tools = self.tools(&mut problems);
        let bare = bare_names(&tools);
        let domains = self.domains(&tools, &bare, &mut problems);
        self.unused(&tools, &mut problems);
        let categories = self.rules.configuration.tools.categories.clone();
        Snapshot { generation, tools, categories, domains, problems, bare }
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        [&self.builtin].into_iter().chain(self.agents.values()).chain(self.servers.values())
    }

    fn tools(&self, problems: &mut Vec<String>) -> BTreeMap<ToolName, Versions> {
        // Sorting once and building the map from the result is several times faster than ten
        // thousand insertions.
        let mut entries: Vec<&Entry> = self.sources().flat_map(|source| &source.entries).collect();
        entries.sort_by(|one, other| name(one).cmp(name(other)));
        let same = entries.chunk_by(|one, other| name(one) == name(other));
        let versions = same.filter_map(|same| {
            let first = same.first()?;
            Some((name(first).clone(), self.versions(same, problems)))
        });
        versions.collect()
    }

    /// The versions of one tool. The sort above is stable, so built-in tools come first.
    fn versions(&self, same: &[&Entry], problems: &mut Vec<String>) -> Versions {
        let mut entries: Vec<Entry> = Vec::with_capacity(same.len());
        for entry in same {
            let version = &entry.registered.definition.tool_version;
            if entries.iter().any(|other| other.registered.definition.tool_version == *version) {
                let name = name(entry);
                problems
                    .push(format!("{name} {version} is registered twice; the first one is used: rename one"));
            } else {
                entries.push((*entry).clone());
            }
        }
        if entries.len() == 1 {
            return Versions { entries, chosen: 0 };
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(number(&entry.registered.definition.tool_version)));
        let pinned = entries.first().and_then(|entry| self.rules.laid.get(name(entry)));
        let pinned = pinned.and_then(|laid| laid.settings.version.as_ref());
        let pin =
            pinned.and_then(|pin| entries.iter().position(|e| e.registered.definition.tool_version == *pin));
        let active = entries.iter().position(|entry| entry.registered.definition.is_active);
        let chosen = pin.or(active).unwrap_or_default();
        Versions { entries, chosen }
    }

    fn domains(
        &self,
        tools: &BTreeMap<ToolName, Versions>,
        bare: &BTreeMap<String, Vec<(String, ToolName)>>,
        problems: &mut Vec<String>,
    ) -> BTreeMap<DomainName, Field> {
        let mut fields = BTreeMap::new();
        for (name, domain) in &self.rules.configuration.domains {
            let mut there = BTreeSet::new();
            for tool in &domain.mcp_tools {
                if let Some(prefix) = tool.prefix() {
                    let before = there.len();
                    there.extend(tools.keys().filter(|name| tool.matches(name)).cloned());
                    if there.len() == before && !self.awaited(prefix) {
                        problems.push(format!("domain {name}: nothing offers {tool}"));
                    }
                    continue;
                }
                let Ok(tool) = &ToolName::new(tool.as_str()) else { continue };
                let named = bare.get(tool.as_str()).map(Vec::as_slice);
                match (tools.contains_key(tool), named) {
                    (true, _) => drop(there.insert(tool.clone())),
                    (false, Some([(_, full)])) => drop(there.insert(full.clone())),
                    (false, Some(several)) => {
                        let servers: Vec<&str> = several.iter().map(|(server, _)| server.as_str()).collect();
                        let servers = servers.join(" and ");
                        problems.push(format!(
                            "domain {name}: {tool} is offered by {servers}: write server.{tool}"
                        ));
                    }
                    (false, None) if self.awaited(tool) => {}
                    (false, None) => problems.push(format!("domain {name}: nothing offers {tool}")),
                }
            }
            fields.insert(name.clone(), Field { domain: Arc::new(domain.clone()), tools: there });
        }
        fields
    }

    /// Reports settings and pins of tools that do not exist.
    fn unused(&self, tools: &BTreeMap<ToolName, Versions>, problems: &mut Vec<String>) {
        for (tool, laid) in &self.rules.laid {
            let Some(versions) = tools.get(tool) else {
                if !self.awaited(tool) {
                    problems.push(format!("config/tools.yaml sets {tool}, which nothing offers"));
                }
                continue;
            };
            if let Some(pin) = &laid.settings.version
                && !versions.entries.iter().any(|entry| entry.registered.definition.tool_version == *pin)
            {
                problems.push(format!("config/tools.yaml wants {tool} in version {pin}, which is not there"));
            }
        }
    }

    /// Whether a server that is not discovered yet may offer this tool.
    fn awaited(&self, tool: &str) -> bool {
        let servers = self.rules.configuration.servers.iter();
        let mut silent = servers.filter(|(name, server)| server.enabled && !self.servers.contains_key(*name));
        silent.any(|(name, _)| {
            !tool.contains('.') || tool.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))
        })
    }
}

fn name(entry: &Entry) -> &ToolName {
    &entry.registered.definition.tool_name
}

/// The version as numbers: `1.10.0` is newer than `1.9.0`.
fn number(version: &SemanticVersion) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

/// Names without their server or prefix.
fn bare_names(tools: &BTreeMap<ToolName, Versions>) -> BTreeMap<String, Vec<(String, ToolName)>> {
    let mut named: Vec<(&str, &str, &ToolName)> = Vec::with_capacity(tools.len());
    for (name, versions) in tools {
        let Some(entry) = versions.chosen() else { continue };
        match &entry.registered.definition.server {
            Some(server) => named.push((bare(&entry.registered), server.as_str(), name)),
            None => {
                if let Some((prefix, rest)) = name.split_once('.') {
                    named.push((rest, prefix, name));
                }
            }
        }
    }
    named.sort();
    let same = named.chunk_by(|one, other| one.0 == other.0);
    let grouped = same.filter_map(|same| {
        let full = same.iter().map(|(_, server, name)| ((*server).to_owned(), (*name).clone()));
        Some((same.first()?.0.to_owned(), full.collect()))
    });
    grouped.collect()
}
