//! The conformance suite against both stores, and the additional guarantees of each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod bad_input;
mod deep_audit;
mod postgres;
mod queue;
mod seeds;
mod sqlite;

use std::sync::Arc;
use steward_journal::clock::SystemClock;
use steward_journal::note::NoteSigner;
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_store::conformance::ALL;
use steward_store::{Store, StoreOptions};

pub(crate) fn options() -> StoreOptions {
    StoreOptions {
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        redactor: Arc::new(Redactor::default()),
        signer: Arc::new(NoteSigner::new("steward.log/test", &[1; 32]).unwrap()),
    }
}

/// Runs every behaviour against one store and reports all that fail, not only the first.
pub(crate) async fn conform(store: Arc<dyn Store>) {
    let mut failed = Vec::new();
    for (name, behaviour) in ALL {
        let mut running = tokio::task::JoinSet::new();
        running.spawn(behaviour(store.clone()));
        if let Some(Err(_panicked)) = running.join_next().await {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{} of {} behaviours failed: {failed:#?}", failed.len(), ALL.len());
}
