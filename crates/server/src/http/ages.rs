//! Eviction order of items that are kept for a limited time and within a limited size.

use std::collections::VecDeque;
use std::time::Duration;

/// Keys in insertion order, with their time and size. The owner of the items removes those that
/// [`Ages::next_out`] returns.
pub(super) struct Ages<K> {
    oldest_first: VecDeque<(K, Duration, usize)>,
    bytes: usize,
}

impl<K> Default for Ages<K> {
    fn default() -> Self {
        Self { oldest_first: VecDeque::new(), bytes: 0 }
    }
}

/// The limits on age and total size.
#[derive(Clone, Copy)]
pub(super) struct RetentionLimits {
    pub(super) kept: Duration,
    pub(super) bytes: usize,
}

impl<K> Ages<K> {
    pub(super) fn add(&mut self, key: K, now: Duration, size: usize) {
        self.bytes += size;
        self.oldest_first.push_back((key, now, size));
    }

    /// Removes and returns the oldest key if it is too old or the total size is too large.
    pub(super) fn next_out(&mut self, now: Duration, room: RetentionLimits) -> Option<K> {
        let (_, at, _) = self.oldest_first.front()?;
        if self.bytes <= room.bytes && now.saturating_sub(*at) <= room.kept {
            return None;
        }
        let (key, _, size) = self.oldest_first.pop_front()?;
        self.bytes = self.bytes.saturating_sub(size);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_are_evicted_only_when_needed() {
        let room = RetentionLimits { kept: Duration::from_secs(10), bytes: 100 };
        let at = Duration::from_secs;
        let mut ages = Ages::default();
        ages.add("a", at(0), 40);
        ages.add("b", at(5), 40);
        assert_eq!(ages.next_out(at(10), room), None);
        assert_eq!(ages.next_out(at(11), room), Some("a"), "too old");
        assert_eq!(ages.next_out(at(11), room), None);
        ages.add("c", at(11), 70);
        assert_eq!(ages.next_out(at(11), room), Some("b"), "no room");
        assert_eq!(ages.next_out(at(11), room), None);
    }
}
