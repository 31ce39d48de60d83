//! Rate limits of a provider: concurrent requests, and requests started in any minute.
//!
//! Waiting requests are served in order of arrival. Waiting counts against the time limit of the
//! request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use steward_journal::clock::Clock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The window of the second limit.
const MINUTE: Duration = Duration::from_secs(60);

/// The limits of one provider. Clones share them.
#[derive(Clone)]
pub struct Limits {
    at_once: Option<Arc<Semaphore>>,
    per_minute: Option<(usize, Arc<Mutex<VecDeque<Duration>>>)>,
    clock: Arc<dyn Clock>,
}

/// Compares identity, not size.
impl PartialEq for Limits {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: Option<&Arc<Semaphore>>, b| a.map(Arc::as_ptr) == b;
        let begun = |limits: &Self| limits.per_minute.as_ref().map(|(_, begun)| Arc::as_ptr(begun));
        same(self.at_once.as_ref(), other.at_once.as_ref().map(Arc::as_ptr)) && begun(self) == begun(other)
    }
}

impl std::fmt::Debug for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits").field("at_once", &self.at_once).finish_non_exhaustive()
    }
}

impl Limits {
    /// Maximum concurrent requests and requests per minute; none means no limit.
    #[must_use]
    pub fn new(at_once: Option<usize>, per_minute: Option<usize>, clock: Arc<dyn Clock>) -> Self {
        Self {
            at_once: at_once.map(|count| Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)))),
            per_minute: per_minute.map(|count| (count.max(1), Arc::default())),
            clock,
        }
    }

    /// Waits for a slot. The permit is held while the request runs.
    pub(super) async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        let permit = match &self.at_once {
            // The semaphore is never closed.
            Some(semaphore) => Arc::clone(semaphore).acquire_owned().await.ok(),
            None => None,
        };
        let wait = self.reserve();
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        permit
    }

    /// Reserves the next slot of the minute, and returns the wait until then.
    fn reserve(&self) -> Duration {
        let Some((count, begun)) = &self.per_minute else { return Duration::ZERO };
        let now = self.clock.monotonic();
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        while begun.front().is_some_and(|first| *first + MINUTE <= now) {
            begun.pop_front();
        }
        // The slot that was taken `count` requests ago is free again after a minute.
        let free = begun.len().checked_sub(*count).and_then(|place| begun.get(place)).map(|at| *at + MINUTE);
        let start = free.unwrap_or(now).max(now);
        begun.push_back(start);
        start - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steward_domain::Timestamp;
    use steward_journal::clock::ManualClock;

    #[test]
    fn so_many_a_minute() {
        let clock = Arc::new(ManualClock::at(Timestamp::from_micros(0)));
        let limits = Limits::new(None, Some(2), clock.clone());
        assert_eq!(limits.reserve(), Duration::ZERO);
        clock.advance(Duration::from_secs(10));
        assert_eq!(limits.reserve(), Duration::ZERO);
        assert_eq!(limits.reserve(), Duration::from_secs(50));
        assert_eq!(limits.reserve(), Duration::from_secs(60));
        assert_eq!(limits.reserve(), Duration::from_secs(110));
        clock.advance(Duration::from_secs(1000));
        assert_eq!(limits.reserve(), Duration::ZERO);
    }

    #[tokio::test]
    async fn so_many_at_once() {
        let limits = Limits::new(Some(2), None, Arc::new(ManualClock::at(Timestamp::from_micros(0))));
        let (first, _second) = (limits.enter().await, limits.enter().await);
        assert!(tokio::time::timeout(Duration::from_millis(20), limits.enter()).await.is_err());
        drop(first);
        assert!(tokio::time::timeout(Duration::from_secs(5), limits.enter()).await.is_ok());
    }
}
