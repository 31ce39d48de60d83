//! The registry: built-in tools, tools of MCP servers and sub-agents, combined with the
//! configuration.
//!
//! Invariants
//! - Readers get a complete [`Snapshot`] and never wait for a writer. A change builds a new
//!   snapshot and swaps it in.
//! - A change is visible to [`Registry::get`] as soon as the call that made it returns.
//! - A source replaces only its own tools. If two sources have the same name and version, the
//!   built-in tool is kept and the other is reported.

mod build;
mod combine;
mod near;
mod pairs;
mod resolve;
mod snapshot;

pub(crate) use near::nearest;
pub use resolve::Resolved;
pub use snapshot::{Entry, Field, Filter, Snapshot, Versions};

use crate::config::{BuiltinNames, Configuration};
use crate::error::Result;
use crate::tool::Registered;
use combine::Rules;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use steward_domain::{SemanticVersion, ServerName, ToolName};
use steward_policy::Caller;
use tokio::sync::watch;

/// A handle to all tools. It is cheap to clone; all clones share the state.
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

struct Shared {
    /// The sources. Locked while a snapshot is built.
    state: Mutex<State>,
    /// The current snapshot. Locked only to swap it.
    snapshot: RwLock<Arc<Snapshot>>,
    changed: watch::Sender<u64>,
}

/// The sources of tools.
#[derive(Default)]
struct State {
    rules: Rules,
    builtin: Source,
    servers: BTreeMap<ServerName, Source>,
    agents: BTreeMap<String, Source>,
}

/// The tools of one source, as registered and with combined settings.
#[derive(Default)]
struct Source {
    given: Vec<Registered>,
    entries: Vec<Entry>,
}

impl Source {
    fn of(mut given: Vec<Registered>, rules: &Rules) -> Self {
        // Sorting each source here makes the later sort over all sources fast.
        given.sort_by(|one, other| one.definition.tool_name.cmp(&other.definition.tool_name));
        let mut source = Self { given, entries: Vec::new() };
        source.combine(rules);
        source
    }

    fn combine(&mut self, rules: &Rules) {
        let mut pairs = pairs::find(&self.given);
        // If the second tool of a pair has its own settings, it stays a separate tool.
        pairs.retain(|_, poll| !rules.laid.contains_key(&poll.tool));
        let with_pair = |tool: &Registered| rules.combine(tool, pairs.get(&tool.definition.tool_name));
        self.entries = self.given.iter().map(with_pair).collect();
        self.settle_polls(rules);
    }

    /// Resolves the full names of the second tools of pairs and hides these tools.
    fn settle_polls(&mut self, rules: &Rules) {
        let names: BTreeSet<ToolName> =
            self.given.iter().map(|tool| tool.definition.tool_name.clone()).collect();
        let mut seconds = BTreeSet::new();
        for entry in &mut self.entries {
            let Some(poll) = &entry.registered.settings.poll else { continue };
            let mut second = poll.tool.clone();
            if !names.contains(&second)
                && let Some(server) = &entry.registered.definition.server
                && let Ok(full) = ToolName::new(format!("{server}.{second}"))
                && names.contains(&full)
            {
                let mut settings = (*entry.registered.settings).clone();
                settings.poll.iter_mut().for_each(|poll| poll.tool = full.clone());
                entry.registered.settings = Arc::new(settings);
                second = full;
            }
            seconds.insert(second);
        }
        for entry in &mut self.entries {
            let name = &entry.registered.definition.tool_name;
            let unlisted = seconds.contains(name) || entry.registered.settings.unlisted;
            entry.hidden = unlisted && !rules.laid.contains_key(name);
        }
    }
}

impl Registry {
    /// A registry with built-in tools and no configuration.
    #[must_use]
    pub fn new(builtin: Vec<Registered>) -> Self {
        let mut state = State::default();
        state.builtin = Source::of(builtin, &state.rules);
        let snapshot = state.snapshot(1);
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            snapshot: RwLock::new(Arc::new(snapshot)),
            changed: watch::Sender::new(1),
        }))
    }

    /// Replaces the built-in tools, after more of them have been set up.
    pub fn set_builtin(&self, tools: Vec<Registered>) -> u64 {
        self.change(|state| state.builtin = Source::of(tools, &state.rules))
    }

    /// Replaces the tools of an MCP server: after discovery, and whenever its list has changed.
    pub fn set_server_tools(&self, server: &ServerName, tools: Vec<Registered>) -> u64 {
        self.change(|state| {
            let source = Source::of(tools, &state.rules);
            state.servers.insert(server.clone(), source);
        })
    }

    /// Removes an MCP server.
    pub fn remove_server(&self, server: &ServerName) -> u64 {
        self.change(|state| drop(state.servers.remove(server)))
    }

    /// Replaces the sub-agents of one group, such as those of a folder. An empty list removes it.
    pub fn set_agents(&self, group: &str, tools: Vec<Registered>) -> u64 {
        self.change(|state| {
            if tools.is_empty() {
                state.agents.remove(group);
            } else {
                let source = Source::of(tools, &state.rules);
                state.agents.insert(group.to_owned(), source);
            }
        })
    }

    /// Applies a configuration.
    pub fn apply(&self, configuration: Configuration) -> u64 {
        self.change(|state| {
            let rules = Rules::of(configuration);
            let touched = rules.differences(&state.rules);
            state.rules = rules;
            let State { rules, builtin, servers, agents } = state;
            for source in [builtin].into_iter().chain(servers.values_mut()).chain(agents.values_mut()) {
                // Most changes affect one tool, so only its source is combined again.
                if source.given.iter().zip(&source.entries).any(|(given, entry)| touched.holds(given, entry))
                {
                    source.combine(rules);
                }
            }
        })
    }

    /// The current snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.0.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tool in a version, or in the default version.
    #[must_use]
    pub fn get(&self, name: &ToolName, version: Option<&SemanticVersion>) -> Option<Registered> {
        self.snapshot().get(name, version).cloned()
    }

    /// Resolves a tool name, without a caller's restrictions.
    pub fn resolve(&self, server: Option<&ServerName>, name: &str) -> Result<Resolved> {
        self.snapshot().resolve(None, server, name)
    }

    /// Resolves a tool name among the tools that the caller may use.
    pub fn resolve_for(&self, caller: &Caller, server: Option<&ServerName>, name: &str) -> Result<Resolved> {
        self.snapshot().resolve(Some(caller), server, name)
    }

    /// The matching tools, sorted by name.
    #[must_use]
    pub fn list(&self, filter: &Filter<'_>) -> Vec<Registered> {
        self.snapshot().list(filter).map(|entry| entry.registered.clone()).collect()
    }

    /// The current generation, and a receiver for the next.
    #[must_use]
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// The built-in names, for validating the configuration.
    #[must_use]
    pub fn known(&self) -> BuiltinNames {
        let state = self.state();
        let given =
            || state.builtin.given.iter().chain(state.agents.values().flat_map(|source| &source.given));
        BuiltinNames {
            tools: given().map(|tool| tool.definition.tool_name.clone()).collect(),
            categories: given().filter_map(|tool| tool.definition.category.clone()).collect(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the sources and swaps the snapshot under one lock. Returns the new generation.
    fn change(&self, change: impl FnOnce(&mut State)) -> u64 {
        let mut state = self.state();
        change(&mut state);
        let generation = *self.0.changed.borrow() + 1;
        let snapshot = Arc::new(state.snapshot(generation));
        let before = {
            let mut place = self.0.snapshot.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *place, snapshot)
        };
        self.0.changed.send_replace(generation);
        drop(state);
        // Freeing a large snapshot is slow, so it happens outside of the lock.
        drop(before);
        generation
    }
}
