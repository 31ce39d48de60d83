//! The only module that reads the time. Callers receive a [`Clock`]; tests pass one that they
//! control.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use steward_domain::Timestamp;

/// A source of time.
pub trait Clock: Send + Sync {
    /// Wall time, for records.
    fn now(&self) -> Timestamp;
    /// Monotonic time since an arbitrary start, for durations.
    fn monotonic(&self) -> Duration;
}

/// The system clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: std::time::Instant,
}

#[allow(clippy::disallowed_methods, reason = "this is the door")]
impl Default for SystemClock {
    fn default() -> Self {
        Self { started: std::time::Instant::now() }
    }
}

#[allow(clippy::disallowed_methods, reason = "this is the door")]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
    }
    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }
}

/// A clock for tests, which only advances when told to.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock set to this time.
    pub fn at(time: Timestamp) -> Self {
        Self(AtomicI64::new(time.micros()))
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
    fn monotonic(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.load(Ordering::SeqCst)).unwrap_or_default())
    }
}
