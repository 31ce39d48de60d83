//! The registry: what is built in, what MCP servers and sub-agents offer, and what the
//! configuration says of it, as one.
//!
//! Invariants
//! - Readers get a whole [`Snapshot`] and never wait for a writer: a change builds another snapshot
//!   and exchanges them.
//! - What is in force is in the very next [`Registry::get`] after the call that changed it came
//!   back.
//! - One source replaces its own tools only. Two sources with one name and version: the built-in
//!   stays, the other is told.

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

/// A handle on all tools. Cheap to clone; every clone sees the same.
#[derive(Clone)]
pub struct Registry(Arc<Shared>);

struct Shared {
    /// The sources; held while a snapshot is built.
    state: Mutex<State>,
    /// What readers see; held for the exchange only.
    snapshot: RwLock<Arc<Snapshot>>,
    changed: watch::Sender<u64>,
}

/// Where tools come from.
#[derive(Default)]
struct State {
    rules: Rules,
    builtin: Source,
    servers: BTreeMap<ServerName, Source>,
    agents: BTreeMap<String, Source>,
}

/// Tools of one source as they were given, and with what holds for them.
#[derive(Default)]
struct Source {
    given: Vec<Registered>,
    entries: Vec<Entry>,
}

impl Source {
    fn of(mut given: Vec<Registered>, rules: &Rules) -> Self {
        // In order here, sources one after the other are almost in order, and putting all in order
        // is quick.
        given.sort_by(|one, other| one.definition.tool_name.cmp(&other.definition.tool_name));
        let mut source = Self { given, entries: Vec::new() };
        source.combine(rules);
        source
    }

    fn combine(&mut self, rules: &Rules) {
        let mut pairs = pairs::find(&self.given);
        // Whoever writes settings for the second tool of a pair wants to have it as a tool.
        pairs.retain(|_, poll| !rules.laid.contains_key(&poll.tool));
        let with_pair = |tool: &Registered| rules.combine(tool, pairs.get(&tool.definition.tool_name));
        self.entries = self.given.iter().map(with_pair).collect();
        self.settle_polls(rules);
    }

    /// Gives the second tools of pairs their full names and takes them out of what is offered.
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
            entry.hidden = seconds.contains(name) && !rules.laid.contains_key(name);
        }
    }
}

impl Registry {
    /// With what is built in and no configuration.
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

    /// Replaces what is built in, after more of it has been set up.
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

    /// Forgets an MCP server.
    pub fn remove_server(&self, server: &ServerName) -> u64 {
        self.change(|state| drop(state.servers.remove(server)))
    }

    /// Replaces the sub-agents of one group, such as those of a folder; an empty list forgets it.
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

    /// Puts a configuration into force.
    pub fn apply(&self, configuration: Configuration) -> u64 {
        self.change(|state| {
            let rules = Rules::of(configuration);
            let touched = rules.differences(&state.rules);
            state.rules = rules;
            let State { rules, builtin, servers, agents } = state;
            for source in [builtin].into_iter().chain(servers.values_mut()).chain(agents.values_mut()) {
                // Most changes touch one tool; the work is done again for its neighbours only.
                if source.given.iter().zip(&source.entries).any(|(given, entry)| touched.holds(given, entry))
                {
                    source.combine(rules);
                }
            }
        })
    }

    /// All tools at this moment.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.0.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The tool in a version, or in the one that is meant when none is named.
    #[must_use]
    pub fn get(&self, name: &ToolName, version: Option<&SemanticVersion>) -> Option<Registered> {
        self.snapshot().get(name, version).cloned()
    }

    /// Finds the tool that is meant, for somebody who may know all of them.
    pub fn resolve(&self, server: Option<&ServerName>, name: &str) -> Result<Resolved> {
        self.snapshot().resolve(None, server, name)
    }

    /// Finds the tool that is meant among those that the caller may use.
    pub fn resolve_for(&self, caller: &Caller, server: Option<&ServerName>, name: &str) -> Result<Resolved> {
        self.snapshot().resolve(Some(caller), server, name)
    }

    /// The tools that fit, in the order of their names.
    #[must_use]
    pub fn list(&self, filter: &Filter<'_>) -> Vec<Registered> {
        self.snapshot().list(filter).map(|entry| entry.registered.clone()).collect()
    }

    /// The generation in force, and a way to wait for the next.
    #[must_use]
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// What is there without configuration and servers, for checking the files against it.
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

    /// Changes the sources and exchanges the snapshot before anybody else can change them. Gives
    /// back the new generation.
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
        // Freeing a large snapshot takes its time: nobody has to wait for it.
        drop(before);
        generation
    }
}
