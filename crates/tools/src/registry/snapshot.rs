//! Everything that can be called at one moment. It never changes: a change makes another one.

use crate::tool::Registered;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steward_domain::{
    CategoryName, Domain, DomainName, SemanticVersion, ServerName, ToolCategory, ToolName, ToolOrigin, Valid,
};
use steward_policy::Caller;

/// A tool with what holds for it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The tool.
    pub registered: Registered,
    /// The category whose switches apply to it.
    pub category: Option<CategoryName>,
    /// Whether it is there for another tool only: the second of a polling pair.
    pub hidden: bool,
}

/// The versions of a tool, newest first, and the one that is meant when none is named.
#[derive(Debug, Clone)]
pub struct Versions {
    pub(super) entries: Vec<Entry>,
    pub(super) chosen: usize,
}

impl Versions {
    /// The one that is meant when no version is named: the pinned one, else the newest that is
    /// active, else the newest.
    #[must_use]
    pub fn chosen(&self) -> Option<&Entry> {
        self.entries.get(self.chosen)
    }

    /// All of them, newest first.
    #[must_use]
    pub fn all(&self) -> &[Entry] {
        &self.entries
    }
}

/// A field of knowledge and the tools that belong to it, by their full names.
#[derive(Debug, Clone)]
pub struct Field {
    /// What the configuration says.
    pub domain: Arc<Valid<Domain>>,
    /// Its tools that are there.
    pub tools: BTreeSet<ToolName>,
}

/// All tools at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Which one this is; a later one has a larger number.
    pub generation: u64,
    /// The tools by name.
    pub tools: BTreeMap<ToolName, Versions>,
    /// The categories of the configuration.
    pub categories: BTreeMap<CategoryName, ToolCategory>,
    /// The domains of the configuration.
    pub domains: BTreeMap<DomainName, Field>,
    /// What an operator should look at. None of it stops anything.
    pub problems: Vec<String>,
    /// Name without server to (server or prefix, full name).
    pub(super) bare: BTreeMap<String, Vec<(String, ToolName)>>,
}

/// What is listed: everything that fits all of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    /// Of this application, or named by this domain.
    pub domain: Option<&'a DomainName>,
    /// In this category.
    pub category: Option<&'a CategoryName>,
    /// On this server.
    pub server: Option<&'a ServerName>,
    /// From there.
    pub origin: Option<ToolOrigin>,
    /// What this caller may use.
    pub caller: Option<&'a Caller>,
    /// Also what is switched off and what is there for other tools only, for people who look after
    /// it.
    pub everything: bool,
}

impl Snapshot {
    /// The tool in a version, or in the one that is meant when none is named.
    #[must_use]
    pub fn get(&self, name: &ToolName, version: Option<&SemanticVersion>) -> Option<&Registered> {
        let versions = self.tools.get(name)?;
        let entry = match version {
            None => versions.chosen(),
            Some(version) => {
                versions.entries.iter().find(|entry| entry.registered.definition.tool_version == *version)
            }
        };
        entry.map(|entry| &entry.registered)
    }

    /// The tools that fit, in the order of their names, each in the version that is meant.
    pub fn list<'a>(&'a self, filter: &'a Filter<'a>) -> impl Iterator<Item = &'a Entry> {
        self.tools.values().filter_map(Versions::chosen).filter(move |entry| self.fits(entry, filter))
    }

    fn fits(&self, entry: &Entry, filter: &Filter<'_>) -> bool {
        let Registered { definition, settings, .. } = &entry.registered;
        let name = &definition.tool_name;
        let in_domain = |domain: &DomainName| {
            definition.application_domain == *domain
                || self.domains.get(domain).is_some_and(|field| field.tools.contains(name))
        };
        (filter.everything || (!entry.hidden && settings.off.is_none()))
            && filter.domain.is_none_or(in_domain)
            && filter.category.is_none_or(|category| entry.category.as_ref() == Some(category))
            && filter.server.is_none_or(|server| definition.server.as_ref() == Some(server))
            && filter.origin.is_none_or(|origin| definition.origin == origin)
            && filter.caller.is_none_or(|caller| caller.sees(name, &settings.permissions))
    }
}
