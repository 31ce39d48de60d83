//! Reads the three files as far as possible.

use super::node::{Entry, Kind, Node};
use super::overrides;
use super::problem::{Problem, meant};
use super::typed::ProblemList;
use super::{Configuration, Tools};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use steward_domain::{
    CategoryName, Check, Domain, Environment, McpServer, ToolCategory, ToolConfiguration, Valid,
};

/// An item of a file with its position. If it has errors, this is the valid rest. The rest is used
/// to find more errors, never to build a configuration.
#[derive(Debug)]
pub(super) struct Located<T> {
    pub(super) item: T,
    pub(super) node: Node,
}

/// The content of one file.
#[derive(Debug)]
pub(super) struct File<T> {
    pub(super) path: PathBuf,
    pub(super) items: Vec<Located<T>>,
    /// Every name in the file, including invalid items, so that one mistake is reported once.
    pub(super) names: BTreeSet<String>,
    /// Whether the file could be parsed.
    pub(super) readable: bool,
}

/// A tool's settings and its category.
pub(super) type Setting = (Option<CategoryName>, ToolConfiguration);

/// All three files.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) environment: Option<Environment>,
    pub(super) categories: File<ToolCategory>,
    pub(super) settings: File<Setting>,
    pub(super) domains: File<Domain>,
    pub(super) servers: File<McpServer>,
    pub(super) problems: Vec<Problem>,
}

impl Files {
    pub(super) fn read(folder: &Path) -> Self {
        let mut problems = Vec::new();
        let (environment, categories, settings) = tools(folder, &mut problems);
        let domains = simple::<Domain>(folder, "domains", "domain", &mut problems);
        let servers = simple::<McpServer>(folder, "mcp_servers", "server", &mut problems);
        Self { environment, categories, settings, domains, servers, problems }
    }

    /// Builds the configuration after no problem was found.
    pub(super) fn configuration(self, environment: Environment) -> Configuration {
        let mut tools = Tools::default();
        for Located { item, .. } in self.categories.items {
            tools.categories.insert(item.name.clone(), item);
        }
        for Located { item: (category, setting), .. } in self.settings.items {
            let place = match category.and_then(|name| tools.categories.get_mut(&name)) {
                Some(category) => &mut category.tools,
                None => &mut tools.tools,
            };
            place.insert(setting.tool_name.clone(), setting);
        }
        Configuration {
            environment: self.environment.unwrap_or(environment),
            tools,
            domains: valid(self.domains).map(|item| (item.name.clone(), item)).collect(),
            servers: valid(self.servers).map(|item| (item.name.clone(), item)).collect(),
        }
    }
}

/// Each item was validated while reading, so none is dropped here.
fn valid<T: Check>(file: File<T>) -> impl Iterator<Item = Valid<T>> {
    file.items.into_iter().filter_map(|placed| placed.item.validate().ok())
}

/// Opens `folder/name.yaml`, `.yml` or `.json`. The tree is empty if there is no file, and `None`
/// if the file is unreadable.
fn open(folder: &Path, name: &str) -> (ProblemList, Option<Node>) {
    let mut found = ["yaml", "yml", "json"].map(|ending| folder.join(format!("{name}.{ending}"))).into_iter();
    let there = found.by_ref().find(|path| path.exists());
    let file = there.clone().unwrap_or_else(|| folder.join(format!("{name}.yaml")));
    let mut gathered = ProblemList { file: file.clone(), problems: Vec::new() };
    let nothing = Node { line: 1, kind: Kind::Map(Vec::new()) };
    if there.is_none() {
        return (gathered, Some(nothing));
    }
    if let Some(second) = found.find(|path| path.exists()) {
        gathered.add(1, format!("{} is there as well: keep one of the two", second.display()));
    }
    match std::fs::read_to_string(&file) {
        Ok(text) => {
            let (node, problems) = Node::parse(&text);
            problems.into_iter().for_each(|(line, problem)| gathered.add(line, problem));
            (gathered, node)
        }
        Err(error) => {
            gathered.add(1, format!("cannot be read: {error}"));
            (gathered, None)
        }
    }
}

/// The sections of a file. Unknown keys are reported.
fn sections(gathered: &mut ProblemList, node: Option<&Node>, known: &[&str]) -> BTreeMap<String, Entry> {
    let Some(node) = node else { return BTreeMap::new() };
    let Some(entries) = node.entries() else {
        gathered.add(node.line, format!("must be a mapping that begins with `{}:`", known.join(":` or `")));
        return BTreeMap::new();
    };
    let mut sections = BTreeMap::new();
    for entry in entries {
        if known.contains(&entry.key.as_str()) {
            sections.insert(entry.key.clone(), entry.clone());
        } else {
            let near = meant(&entry.key, known.iter().copied());
            let stop = if near.is_empty() { "." } else { "" };
            let known = known.join(", ");
            gathered.add(
                entry.line,
                format!("`{}` is no known section{near}{stop} Known are {known}", entry.key),
            );
        }
    }
    sections
}

/// The items of a list or of a mapping of names. Each has its name, if any; the name is also set as
/// a field.
fn listed(
    gathered: &mut ProblemList,
    section: &Entry,
    what: &str,
    field: &str,
) -> Vec<(Option<String>, Node)> {
    let items: Vec<(Option<&Entry>, Node)> = match &section.value.kind {
        Kind::List(items) => items.iter().map(|(_, item)| (None, item.clone())).collect(),
        _ => match section.value.entries() {
            Some(entries) => entries.iter().map(|entry| (Some(entry), entry.value.clone())).collect(),
            None => {
                gathered.add(
                    section.line,
                    format!("`{}` must be a list, or a mapping of names to what they mean", section.key),
                );
                Vec::new()
            }
        },
    };
    let mut first: BTreeMap<String, u64> = BTreeMap::new();
    let mut named = Vec::new();
    for (entry, mut node) in items {
        let own = node.get(field).and_then(|entry| entry.value.json().as_str().map(str::to_owned));
        let mut line = node.get(field).map_or(node.line, |entry| entry.line);
        if let Some(entry) = entry {
            match &own {
                None if node.get(field).is_none() => {
                    line = entry.line;
                    node.line = entry.line;
                    node.put(field, &entry.key);
                }
                Some(own) if *own != entry.key => gathered.add(
                    line,
                    format!("{what} `{}`: `{field}` says `{own}`: leave it out or write the same", entry.key),
                ),
                _ => {}
            }
        }
        let name = entry.map(|entry| entry.key.clone()).or(own);
        if let Some(name) = &name {
            if let Some(before) = first.get(name) {
                gathered
                    .add(line, format!("{what} `{name}` is already in line {before}: keep one of the two"));
                continue;
            }
            first.insert(name.clone(), line);
        }
        named.push((name, node));
    }
    named
}

/// `server `crm``, or `server 2` when it has no name.
fn whose(what: &str, name: Option<&String>, place: usize) -> String {
    name.map_or_else(|| format!("{what} {}", place + 1), |name| format!("{what} `{name}`"))
}

/// Reads a file with one section of named items.
fn simple<T: Check + serde::de::DeserializeOwned>(
    folder: &Path,
    file: &str,
    what: &str,
    problems: &mut Vec<Problem>,
) -> File<T> {
    let (mut gathered, node) = open(folder, file);
    let section = format!("{what}s");
    let sections = sections(&mut gathered, node.as_ref(), &[section.as_str()]);
    let mut items = Vec::new();
    let mut names = BTreeSet::new();
    let listed = sections.get(&section).map(|section| listed(&mut gathered, section, what, "name"));
    for (place, (name, node)) in listed.into_iter().flatten().enumerate() {
        let whose = whose(what, name.as_ref(), place);
        names.extend(name);
        items.extend(gathered.checked::<T>(&node, &whose).map(|(item, node)| Located { item, node }));
    }
    problems.append(&mut gathered.problems);
    File { path: gathered.file, items, names, readable: node.is_some() }
}

fn tools(
    folder: &Path,
    problems: &mut Vec<Problem>,
) -> (Option<Environment>, File<ToolCategory>, File<Setting>) {
    let (mut gathered, node) = open(folder, "tools");
    let sections = sections(&mut gathered, node.as_ref(), &["environment", "categories", "tools"]);
    let environment = sections
        .get("environment")
        .and_then(|entry| gathered.typed(&entry.value, "`environment`"))
        .map(|(environment, _)| environment);
    let file = gathered.file.clone();
    let mut categories =
        File { path: file.clone(), items: Vec::new(), names: BTreeSet::new(), readable: node.is_some() };
    let mut settings =
        File { path: file, items: Vec::new(), names: BTreeSet::new(), readable: node.is_some() };
    let listed_categories =
        sections.get("categories").map(|section| listed(&mut gathered, section, "category", "name"));
    for (place, (name, mut node)) in listed_categories.into_iter().flatten().enumerate() {
        let tools = node.take("tools");
        let whose = whose("category", name.as_ref(), place);
        categories.names.extend(name.clone());
        let item = gathered.typed::<ToolCategory>(&node, &whose);
        let category = item.as_ref().map(|(item, _)| item.name.clone());
        let shared = node.get("global_config").map(|entry| &entry.value);
        if let Some(tools) = tools {
            tool_settings(&mut gathered, &tools, category.as_ref(), shared, &mut settings);
        }
        categories.items.extend(item.map(|(item, node)| Located { item, node }));
    }
    if let Some(tools) = sections.get("tools") {
        tool_settings(&mut gathered, tools, None, None, &mut settings);
    }
    problems.append(&mut gathered.problems);
    (environment, categories, settings)
}

/// Reads the tool settings of one section.
fn tool_settings(
    gathered: &mut ProblemList,
    section: &Entry,
    category: Option<&CategoryName>,
    shared: Option<&Node>,
    settings: &mut File<Setting>,
) {
    if matches!(section.value.kind, Kind::List(_)) {
        gathered.add(
            section.line,
            "`tools` must be a mapping: write each tool as `name:` with its settings under it",
        );
        return;
    }
    for (place, (name, node)) in listed(gathered, section, "tool", "tool_name").into_iter().enumerate() {
        let whose = whose("tool", name.as_ref(), place);
        if let Some(name) = &name {
            if !settings.names.insert(name.clone()) {
                gathered.add(
                    node.line,
                    format!("{whose} is set in two places of this file: keep one of the two"),
                );
                continue;
            }
            overrides::check(gathered, name, &node, shared);
        }
        let item = gathered.checked::<ToolConfiguration>(&node, &whose);
        settings.items.extend(item.map(|(item, node)| Located { item: (category.cloned(), item), node }));
    }
}
