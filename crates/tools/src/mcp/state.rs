//! The state and circuit breaker of a server. Pure: time and randomness are parameters.

use std::time::Duration;
use tokio::time::Instant;

/// The state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not running. The next call starts it.
    Stopped,
    /// Starting.
    Starting,
    /// Running.
    Ready,
    /// It failed and is restarted after this time.
    Backoff {
        /// The remaining time.
        retry_in: Duration,
    },
    /// The circuit is open after too many consecutive failures. Calls fail until this time has
    /// passed; then one start is tried.
    Open {
        /// The remaining time.
        retry_in: Duration,
    },
    /// Closed permanently.
    Closed,
}

/// The status of a server, for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The state.
    pub state: State,
    /// The number of restarts.
    pub restarts: u32,
    /// The number of consecutive failures.
    pub failures: u32,
    /// The last error.
    pub last_error: Option<String>,
    /// The negotiated protocol version.
    pub protocol: Option<String>,
    /// The server's own name and version.
    pub software: Option<String>,
}

/// The settings of backoff and circuit breaker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BackoffSettings {
    /// The delay after the first failure. It doubles with every further one.
    pub(crate) first: Duration,
    /// The maximum delay.
    pub(crate) most: Duration,
    /// The number of consecutive failures that opens the circuit.
    pub(crate) failures: u32,
    /// How long the circuit stays open the first time. It doubles while trials fail.
    pub(crate) open: Duration,
}

/// The effect of failures on callers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Gate {
    /// A start is possible at any time.
    #[default]
    Free,
    /// Callers wait until this time.
    Wait(Instant),
    /// Callers are rejected until this time.
    Refuse(Instant),
}

/// Counts consecutive failures.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Breaker {
    pub(crate) failures: u32,
    pub(crate) gate: Gate,
}

impl Breaker {
    /// Records a success.
    pub(crate) fn worked(&mut self) {
        *self = Self::default();
    }

    /// Records a failure. `chance` is between 0 and 1 and adds jitter, so that many servers do not
    /// restart at once.
    pub(crate) fn failed(&mut self, patience: &BackoffSettings, now: Instant, chance: f64) {
        self.failures = self.failures.saturating_add(1);
        let beyond = self.failures.checked_sub(patience.failures);
        self.gate = match beyond {
            Some(beyond) => {
                Gate::Refuse(now + jitter(doubled(patience.open, beyond, patience.open * 16), chance))
            }
            None => {
                Gate::Wait(now + jitter(doubled(patience.first, self.failures - 1, patience.most), chance))
            }
        };
    }

    /// How long callers are still rejected. `None` if they are not.
    pub(crate) fn refuses(&self, now: Instant) -> Option<Duration> {
        match self.gate {
            Gate::Refuse(until) if until > now => Some(until - now),
            _ => None,
        }
    }

    /// When a start may be tried.
    pub(crate) fn next_try(&self, now: Instant) -> Instant {
        match self.gate {
            Gate::Free => now,
            Gate::Wait(until) | Gate::Refuse(until) => until.max(now),
        }
    }
}

fn doubled(first: Duration, times: u32, most: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times.min(20))).min(most)
}

/// A random delay of 75 to 125 % of a pause.
fn jitter(pause: Duration, chance: f64) -> Duration {
    pause.mul_f64(0.75 + chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: BackoffSettings = BackoffSettings {
        first: Duration::from_millis(100),
        most: Duration::from_secs(1),
        failures: 3,
        open: Duration::from_secs(10),
    };

    #[test]
    fn backoff_grows_then_circuit_opens_then_one_trial() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        assert_eq!(breaker.next_try(now), now);
        breaker.failed(&PATIENCE, now, 0.5);
        assert_eq!(breaker.gate, Gate::Wait(now + Duration::from_millis(100)));
        breaker.failed(&PATIENCE, now, 0.5);
        assert_eq!(breaker.gate, Gate::Wait(now + Duration::from_millis(200)));
        assert_eq!(breaker.refuses(now), None);
        breaker.failed(&PATIENCE, now, 0.5);
        assert_eq!(breaker.refuses(now), Some(Duration::from_secs(10)));
        let later = now + Duration::from_secs(10);
        assert_eq!((breaker.refuses(later), breaker.next_try(later)), (None, later));
        breaker.failed(&PATIENCE, later, 0.5);
        assert_eq!(
            breaker.refuses(later),
            Some(Duration::from_secs(20)),
            "a failed trial opens it for longer"
        );
        breaker.worked();
        assert_eq!((breaker.failures, breaker.gate), (0, Gate::Free));
    }

    #[test]
    fn jitter_changes_a_delay_by_a_quarter() {
        let pause = Duration::from_secs(4);
        assert_eq!(jitter(pause, 0.0), Duration::from_secs(3));
        assert_eq!(jitter(pause, 1.0), Duration::from_secs(5));
        assert_eq!(doubled(pause, u32::MAX, Duration::from_secs(60)), Duration::from_secs(60));
    }
}
