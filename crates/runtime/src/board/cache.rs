//! A cache of board results, shared by viewers with the same grants, for a limited time.
//!
//! Invariants
//! - The key of a result covers everything that it depends on: the current board, the filters, and
//!   the grants of the viewer. Other grants give another key.
//! - A result is not shown after its expiry. The time counts from before its rows were read.
//! - Concurrent viewers wait for one read.

use super::view::BoardRows;
use crate::error::Result;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{Timestamp, UserId};
use tokio::sync::OnceCell;

/// The maximum number of cached results.
const MOST: usize = 256;

/// One read, finished or in progress.
#[derive(Clone)]
struct Slot {
    begun: Timestamp,
    fresh_until: Timestamp,
    rows: Arc<OnceCell<Arc<BoardRows>>>,
    viewers: Arc<Mutex<BTreeSet<UserId>>>,
}

/// The results of boards in this process.
#[derive(Default)]
pub struct BoardCache {
    slots: Mutex<HashMap<String, Slot>>,
}

/// A result, and whether this viewer sees it for the first time.
pub(super) struct Found {
    pub(super) rows: Arc<BoardRows>,
    pub(super) is_first_view: bool,
}

/// A cache request.
pub(super) struct Wanted<'a> {
    pub(super) key: String,
    pub(super) viewer: &'a UserId,
    pub(super) now: Timestamp,
    pub(super) fresh_seconds: u32,
    /// Bypass results that were read before now.
    pub(super) anew: bool,
}

impl BoardCache {
    /// The cached result of a key; it is read when there is none or it has expired.
    pub(super) async fn get<F>(&self, wanted: Wanted<'_>, read: F) -> Result<Found>
    where
        F: Future<Output = Result<BoardRows>>,
    {
        let slot = self.slot(&wanted);
        let rows = slot.rows.get_or_try_init(|| async { read.await.map(Arc::new) }).await?.clone();
        // A failed result is not cached: the next viewer reads again.
        if rows.has_failures() {
            let mut slots = self.lock();
            if slots.get(&wanted.key).is_some_and(|known| Arc::ptr_eq(&known.rows, &slot.rows)) {
                slots.remove(&wanted.key);
            }
        }
        let mut viewers = slot.viewers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first_view = viewers.insert(wanted.viewer.clone());
        Ok(Found { rows, is_first_view })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, wanted: &Wanted<'_>) -> Slot {
        let mut slots = self.lock();
        if let Some(slot) = slots.get(&wanted.key) {
            let reading = slot.rows.get().is_none();
            let old = wanted.anew && slot.begun < wanted.now && !reading;
            if reading || (wanted.now < slot.fresh_until && !old) {
                return slot.clone();
            }
        }
        slots.retain(|_, slot| wanted.now < slot.fresh_until || slot.rows.get().is_none());
        if slots.len() >= MOST
            && let Some(oldest) = slots.iter().min_by_key(|(_, slot)| slot.begun).map(|(key, _)| key.clone())
        {
            slots.remove(&oldest);
        }
        let until = wanted.now.micros().saturating_add(i64::from(wanted.fresh_seconds) * 1_000_000);
        let slot = Slot {
            begun: wanted.now,
            fresh_until: Timestamp::from_micros(until),
            rows: Arc::default(),
            viewers: Arc::default(),
        };
        slots.insert(wanted.key.clone(), slot.clone());
        slot
    }
}
