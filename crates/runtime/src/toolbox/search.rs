//! Which tool a request means: the index over the registry, kept in step with it, with how calls
//! went so far.

use super::Toolbox;
use crate::error::Result;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{Timestamp, ToolName};
use steward_language::Encoder;
use steward_policy::Caller;
use steward_store::Scope;
use steward_tools::registry::Filter;
use steward_tools::select::{CallHistory, Entry, Index, Request, Selection};

/// Tools that a request may mean, or the question that is to be asked.
pub type Found = Selection;

/// The index and the generation that it shows.
pub(super) struct Searcher {
    index: Mutex<(u64, Arc<Index>)>,
}

impl Searcher {
    pub(super) fn new(encoder: Arc<Encoder>) -> Self {
        Self { index: Mutex::new((0, Arc::new(Index::new(encoder)))) }
    }
}

/// Calls of the last thirty days count as experience.
const EXPERIENCE_DAYS: i64 = 30;

impl Toolbox {
    /// The tools that a request may mean, the likeliest first, for somebody who may use them.
    pub async fn search(&self, caller: &Caller, text: &str, limit: usize) -> Result<Found> {
        let index = self.current_index().await?;
        let snapshot = self.registry().snapshot();
        let usable: std::collections::BTreeSet<ToolName> = snapshot
            .list(&Filter { caller: Some(caller), ..Filter::default() })
            .filter(|entry| entry.registered.settings.off.is_none())
            .map(|entry| entry.registered.definition.tool_name.clone())
            .collect();
        let text = text.to_owned();
        let found = tokio::task::spawn_blocking(move || {
            let allowed = |name: &ToolName| usable.contains(name);
            index.select(&Request { allowed: Some(&allowed), limit, ..Request::new(&text) })
        });
        Ok(found.await.map_err(|error| steward_tools::Error::Bug { detail: error.to_string() })?)
    }

    /// The index over what there is now; only what changed is embedded.
    async fn current_index(&self) -> Result<Arc<Index>> {
        let snapshot = self.registry().snapshot();
        let (generation, index) = self.index.index.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if generation == snapshot.generation {
            return Ok(index);
        }
        let now = self.app().clock.now();
        let from = Timestamp::from_micros(now.micros() - EXPERIENCE_DAYS * 86_400 * 1_000_000);
        let analytics = self.app().store.analytics(&Scope::System, from, now).await?;
        let past = |name: &ToolName| {
            let usage = analytics.tools.iter().find(|usage| usage.name == name.as_str());
            usage.map_or_else(CallHistory::default, |usage| CallHistory {
                successes: u32::try_from(usage.successes).unwrap_or(u32::MAX),
                failures: u32::try_from(usage.calls.saturating_sub(usage.successes)).unwrap_or(u32::MAX),
            })
        };
        let entries: Vec<Entry> = snapshot
            .list(&Filter::default())
            .map(|entry| {
                let definition = &entry.registered.definition;
                Entry {
                    name: definition.tool_name.clone(),
                    version: definition.tool_version.clone(),
                    domain: Some(definition.application_domain.clone()),
                    description: definition.description.to_string(),
                    parameter_schema: definition.parameter_schema.clone(),
                    examples: entry
                        .registered
                        .settings
                        .examples
                        .iter()
                        .map(|example| example.request.clone())
                        .collect(),
                    past: past(&definition.tool_name),
                }
            })
            .collect();
        let mut next = (*index).clone();
        let updated = tokio::task::spawn_blocking(move || next.update(&entries).map(|_| next));
        let next = Arc::new(
            updated.await.map_err(|error| steward_tools::Error::Bug { detail: error.to_string() })??,
        );
        *self.index.index.lock().unwrap_or_else(PoisonError::into_inner) =
            (snapshot.generation, next.clone());
        Ok(next)
    }
}
