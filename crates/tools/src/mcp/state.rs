//! How a server is doing, and when it may be tried again. Pure: time and chance are handed in.

use std::time::Duration;
use tokio::time::Instant;

/// What a server is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is not running; the next call starts it.
    Stopped,
    /// It is being started.
    Starting,
    /// It answers.
    Ready,
    /// It failed and is tried again after this time.
    Backoff {
        /// How long until then.
        retry_in: Duration,
    },
    /// It failed too often in a row; calls are refused until this time has passed. Then one start
    /// is tried.
    Open {
        /// How long until then.
        retry_in: Duration,
    },
    /// It was closed for good.
    Closed,
}

/// How a server is doing, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What it is doing.
    pub state: State,
    /// How often it was started after the first time.
    pub restarts: u32,
    /// Failures in a row.
    pub failures: u32,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// The protocol revision spoken with it.
    pub protocol: Option<String>,
    /// What it calls itself, with its version.
    pub software: Option<String>,
}

/// When to try again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// The pause after the first failure; it doubles with every other.
    pub(crate) first: Duration,
    /// The longest pause.
    pub(crate) most: Duration,
    /// So many failures in a row open the circuit.
    pub(crate) failures: u32,
    /// How long it stays open the first time; it doubles while trials fail.
    pub(crate) open: Duration,
}

/// What failures have led to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Start whenever asked.
    #[default]
    Free,
    /// Callers wait until then.
    Wait(Instant),
    /// Callers are refused until then.
    Refuse(Instant),
}

/// Counts failures in a row.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Breaker {
    pub(crate) failures: u32,
    pub(crate) gate: Gate,
}

impl Breaker {
    /// Something worked.
    pub(crate) fn worked(&mut self) {
        *self = Self::default();
    }

    /// Something failed. `chance` is from 0 to 1 and keeps many from coming back in the same
    /// moment.
    pub(crate) fn failed(&mut self, patience: &Patience, now: Instant, chance: f64) {
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

    /// How long callers are refused, if they are.
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

/// Three quarters of the pause are certain, the rest and a quarter more are chance.
fn jitter(pause: Duration, chance: f64) -> Duration {
    pause.mul_f64(0.75 + chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        first: Duration::from_millis(100),
        most: Duration::from_secs(1),
        failures: 3,
        open: Duration::from_secs(10),
    };

    #[test]
    fn pauses_grow_then_the_circuit_opens_then_one_trial() {
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
    fn chance_moves_a_pause_by_a_quarter() {
        let pause = Duration::from_secs(4);
        assert_eq!(jitter(pause, 0.0), Duration::from_secs(3));
        assert_eq!(jitter(pause, 1.0), Duration::from_secs(5));
        assert_eq!(doubled(pause, u32::MAX, Duration::from_secs(60)), Duration::from_secs(60));
    }
}
