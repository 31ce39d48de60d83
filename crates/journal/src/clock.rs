//! The door to time. Everything that needs it is handed a [`Clock`]; tests hand over one they can
//! move.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use steward_domain::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Wall time, for records.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment, never going back, for durations.
    fn monotonic(&self) -> Duration;
}

/// The machine's clock.
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

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Starts at this moment.
    pub fn at(time: Timestamp) -> Self {
        Self(AtomicI64::new(time.micros()))
    }

    /// Moves on.
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
