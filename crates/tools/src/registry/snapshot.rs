//! All callable tools at one time. A snapshot is immutable; a change builds a new one.

use crate::tool::Registered;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steward_domain::{
    CategoryName, Domain, DomainName, SemanticVersion, ServerName, ToolCategory, ToolName, ToolOrigin, Valid,
};
use steward_policy::Caller;

/// A tool with its combined settings.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The tool.
    pub registered: Registered,
    /// The category whose settings apply.
    pub category: Option<CategoryName>,
    /// Whether it is used only by another tool: the second of a polling pair.
    pub hidden: bool,
}

/// The versions of a tool, newest first, and the default version.
#[derive(Debug, Clone)]
pub struct Versions {
    pub(super) entries: Vec<Entry>,
    pub(super) chosen: usize,
}

impl Versions {
    /// The default version: the pinned one, else the newest active one, else the newest.
    #[must_use]
    pub fn chosen(&self) -> Option<&Entry> {
        self.entries.get(self.chosen)
    }

    /// All versions, newest first.
    #[must_use]
    pub fn all(&self) -> &[Entry] {
        &self.entries
    }
}

/// A domain and its tools, by their full names.
#[derive(Debug, Clone)]
pub struct Field {
    /// The configured domain.
    pub domain: Arc<Valid<Domain>>,
    /// Its existing tools.
    pub tools: BTreeSet<ToolName>,
}

/// All tools at one time.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The generation. Later snapshots have larger numbers.
    pub generation: u64,
    /// The tools by name.
    pub tools: BTreeMap<ToolName, Versions>,
    /// The categories of the configuration.
    pub categories: BTreeMap<CategoryName, ToolCategory>,
    /// The domains of the configuration.
    pub domains: BTreeMap<DomainName, Field>,
    /// Problems for the operator. None of them is fatal.
    pub problems: Vec<String>,
    /// Bare name to (server or prefix, full name).
    pub(super) bare: BTreeMap<String, Vec<(String, ToolName)>>,
}

/// A filter for listing. All conditions must match.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'a> {
    /// Tools of this application, or named by this domain.
    pub domain: Option<&'a DomainName>,
    /// Tools in this category.
    pub category: Option<&'a CategoryName>,
    /// Tools on this server.
    pub server: Option<&'a ServerName>,
    /// Tools of this origin.
    pub origin: Option<ToolOrigin>,
    /// Tools that this caller may use.
    pub caller: Option<&'a Caller>,
    /// Include disabled and hidden tools, for administrators.
    pub everything: bool,
}

impl Snapshot {
    /// The tool in a version, or in the default version.
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

    /// The matching tools in their default versions, sorted by name.
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
