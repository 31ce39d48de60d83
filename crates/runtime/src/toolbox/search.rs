//! Tool selection for a request: an index over the registry, kept up to date, with the success of
//! earlier calls.

use super::Toolbox;
use crate::error::Result;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{Timestamp, ToolName};
use steward_language::Encoder;
use steward_policy::Caller;
use steward_store::Scope;
use steward_tools::registry::Filter;
use steward_tools::select::{CallHistory, Entry, Index, Request, Selection};

/// The tools that match a request, or a clarifying question.
pub type Found = Selection;

/// The index and its registry generation.
pub(super) struct Searcher {
    index: Mutex<(u64, Arc<Index>)>,
}

impl Searcher {
    pub(super) fn new(encoder: Arc<Encoder>) -> Self {
        Self { index: Mutex::new((0, Arc::new(Index::new(encoder)))) }
    }
}

/// The number of days of calls that count as experience.
const EXPERIENCE_DAYS: i64 = 30;

impl Toolbox {
    /// The tools that match a request and that the caller may use, likeliest first.
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

    /// The index over the current registry; only changed tools are embedded.
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
