//! Deduplication of events. Its size is limited; the oldest entries are dropped first.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The maximum number of entries.
const MOST: usize = 10_000;

/// The names seen so far.
#[derive(Debug, Default)]
pub(super) struct EventDedup(Mutex<(HashSet<String>, VecDeque<String>)>);

impl EventDedup {
    /// Records a name and returns whether it is new.
    pub(super) fn is_new(&self, name: &str) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *seen;
        if !known.insert(name.to_owned()) {
            return false;
        }
        order.push_back(name.to_owned());
        if order.len() > MOST
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
        true
    }

    /// Whether the name was recorded.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_event_is_evicted_and_size_is_bounded() {
        let seen = EventDedup::default();
        assert!(seen.is_new("first"));
        assert!(!seen.is_new("first") && seen.knows("first"));
        for number in 0..MOST {
            assert!(seen.is_new(&number.to_string()));
        }
        assert!(!seen.knows("first") && seen.knows("0"));
        assert_eq!(seen.0.lock().unwrap().0.len(), MOST);
    }
}
