//! Combines the settings of a tool: its definition and defaults, then its server, category, own
//! entry and environment.
//!
//! Invariant: permissions only add up, and a tool that is disabled at any level is disabled. A
//! tool's own entry may relax the approval mode of the definition, because an operator wrote it. A
//! server's self-description may not.

use super::snapshot::Entry;
use crate::config::{Configuration, EffectiveToolConfig};
use crate::tool::{Poll, Registered, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steward_domain::{
    ApprovalMode, CategoryName, Invalid, JsonObject, Label, McpServer, ServerName, ToolCategory,
    ToolDefinition, ToolName, Valid,
};
use steward_policy::{Effect, worst_effect_of};

/// The configuration, prepared for lookup.
#[derive(Default)]
pub(super) struct Rules {
    pub(super) configuration: Configuration,
    pub(super) laid: BTreeMap<ToolName, EffectiveToolConfig>,
}

/// The differences between two configurations.
pub(super) struct Differences {
    tools: BTreeSet<ToolName>,
    servers: BTreeSet<ServerName>,
    categories: BTreeSet<CategoryName>,
}

impl Differences {
    /// Whether a tool may be affected.
    pub(super) fn holds(&self, given: &Registered, entry: &Entry) -> bool {
        let definition = &given.definition;
        let of_server = |server: &ServerName| self.servers.contains(server);
        let in_category = |category: &CategoryName| self.categories.contains(category);
        (!self.tools.is_empty() && self.tools.contains(&definition.tool_name))
            || definition.server.as_ref().is_some_and(of_server)
            || entry.category.as_ref().is_some_and(in_category)
            || definition.category.as_ref().is_some_and(in_category)
    }
}

/// The keys with different values.
fn differing<K: Ord + Clone, V: PartialEq>(one: &BTreeMap<K, V>, other: &BTreeMap<K, V>) -> BTreeSet<K> {
    let keys = one.keys().chain(other.keys());
    keys.filter(|key| one.get(*key) != other.get(*key)).cloned().collect()
}

/// The settings of a category for all its tools, without those of single tools.
fn heads(configuration: &Configuration) -> BTreeMap<CategoryName, (bool, &[Label], &JsonObject)> {
    let categories = configuration.tools.categories.iter();
    let head = categories.map(|(name, category)| {
        (name.clone(), (category.enabled, category.permissions.as_slice(), &category.global_config))
    });
    head.collect()
}

impl Rules {
    pub(super) fn differences(&self, before: &Self) -> Differences {
        let (now, then) = (&self.configuration, &before.configuration);
        let categories = differing(&heads(now), &heads(then));
        // The category of a server may apply to a tool in addition to the tool's own category.
        let mut servers = differing(&now.servers, &then.servers);
        let within = now.servers.iter().filter(|(_, server)| {
            server.category.as_ref().is_some_and(|category| categories.contains(category))
        });
        servers.extend(within.map(|(name, _)| name.clone()));
        Differences { tools: differing(&self.laid, &before.laid), servers, categories }
    }

    pub(super) fn of(configuration: Configuration) -> Self {
        Self { laid: configuration.laid(), configuration }
    }

    /// The tool with its combined settings.
    pub(super) fn combine(&self, given: &Registered, pair: Option<&Poll>) -> Entry {
        let definition = &given.definition;
        let laid = self.laid.get(&definition.tool_name);
        let server = definition.server.as_ref().and_then(|server| self.configuration.servers.get(server));
        let category = laid
            .and_then(|laid| laid.category.as_ref())
            .or(definition.category.as_ref())
            .or_else(|| server.and_then(|server| server.category.as_ref()));
        let over = |name: &CategoryName| self.configuration.tools.categories.get(name);
        let mut categories: Vec<&ToolCategory> = category.and_then(over).into_iter().collect();
        if let Some(other) =
            server.and_then(|server| server.category.as_ref()).filter(|name| Some(*name) != category)
        {
            categories.extend(over(other));
        }
        let tool = laid.map(|laid| &laid.settings);
        let mut settings = Settings {
            poll: tool
                .and_then(|tool| tool.poll.clone())
                .or_else(|| given.settings.poll.clone())
                .or_else(|| pair.cloned()),
            ..(*given.settings).clone()
        };
        add(&mut settings, &categories, server.map(|server| &**server), laid);
        let changed = self.definition(given, laid, server.map(|server| &**server));
        let definition = match changed {
            None => given.definition.clone(),
            Some(Ok(changed)) => Arc::new(changed),
            Some(Err(problem)) => {
                settings.off =
                    Some(format!("switched off: what config/tools.yaml says of it does not fit: {problem}"));
                given.definition.clone()
            }
        };
        if settings.off.is_none() && !definition.is_active {
            settings.off = Some("switched off".to_owned());
        }
        let settings = if settings == *given.settings { given.settings.clone() } else { Arc::new(settings) };
        let registered = Registered { definition, settings, tool: given.tool.clone() };
        Entry { registered, category: category.cloned(), hidden: false }
    }

    /// The definition with the configured settings, if they change anything.
    fn definition(
        &self,
        given: &Registered,
        laid: Option<&EffectiveToolConfig>,
        server: Option<&McpServer>,
    ) -> Option<Result<Valid<ToolDefinition>, Invalid>> {
        let now = &given.definition;
        let tool = laid.map(|laid| &laid.settings);
        let stricter = server.map_or(now.approval, |server| strictest(now.approval, server.approval));
        // Only the entry of a tool, not of a whole server, may allow destructive calls without
        // approval.
        let usual = match stricter {
            ApprovalMode::Never if worst_effect_of(now) == Effect::Destroy => ApprovalMode::WhenUntrusted,
            other => other,
        };
        let approval = tool.and_then(|tool| tool.approval).unwrap_or(usual);
        let limit = server.map(|server| server.timeout_seconds).filter(|limit| *limit < now.timeout_seconds);
        let shorter = limit.unwrap_or(now.timeout_seconds);
        let timeout = tool.and_then(|tool| tool.timeout_seconds).unwrap_or(shorter);
        let idempotency = tool.and_then(|tool| tool.idempotency).unwrap_or(now.idempotency);
        let validation = tool.and_then(|tool| tool.requires_validation).unwrap_or(now.requires_validation);
        let fallbacks = tool.and_then(|tool| tool.fallback_tools.as_ref()).unwrap_or(&now.fallback_tools);
        let same = approval == now.approval
            && timeout == now.timeout_seconds
            && idempotency == now.idempotency
            && validation == now.requires_validation
            && *fallbacks == now.fallback_tools;
        if same {
            return None;
        }
        Some((**now).clone().with(|definition| {
            definition.approval = approval;
            definition.timeout_seconds = timeout;
            definition.idempotency = idempotency;
            definition.requires_validation = validation;
            definition.fallback_tools.clone_from(fallbacks);
        }))
    }
}

/// Adds switches, permissions, limits and parameters.
fn add(
    settings: &mut Settings,
    categories: &[&ToolCategory],
    server: Option<&McpServer>,
    laid: Option<&EffectiveToolConfig>,
) {
    let tool = laid.map(|laid| &laid.settings);
    let closed = categories.iter().find(|category| !category.enabled);
    let off = if let Some(category) = closed {
        Some(format!("switched off with its category {}", category.name))
    } else if let Some(server) = server.filter(|server| !server.enabled) {
        Some(format!("switched off with its server {}", server.name))
    } else {
        tool.filter(|tool| !tool.enabled).map(|_| "switched off in config/tools.yaml".to_owned())
    };
    if off.is_some() {
        settings.off = off;
    }
    let needs = categories.iter().flat_map(|category| &category.permissions);
    let needs = needs.chain(tool.iter().flat_map(|tool| &tool.permissions));
    let needs = needs.chain(server.iter().flat_map(|server| &server.permissions));
    let needs: Vec<&Label> = needs.collect();
    for need in needs {
        if !settings.permissions.contains(need) {
            settings.permissions.push(need.clone());
        }
    }
    for category in categories.iter().rev() {
        settings.parameters.extend(category.global_config.clone());
    }
    if let Some(tool) = tool {
        settings.parameters.extend(tool.parameters.clone());
        settings.rate_limits.extend(tool.rate_limits.clone());
        settings.retries = tool.retries.unwrap_or(settings.retries);
        settings.result_bytes = tool.result_bytes.or(settings.result_bytes);
        settings.examples.extend(tool.examples.clone());
        settings.trusted_fields.extend(tool.trusted_fields.clone());
    }
}

fn strictest(one: ApprovalMode, other: ApprovalMode) -> ApprovalMode {
    let weight = |mode| match mode {
        ApprovalMode::Never => 0,
        ApprovalMode::WhenUntrusted => 1,
        ApprovalMode::Always => 2,
    };
    if weight(other) > weight(one) { other } else { one }
}
