//! Retries. A call is retried only when that is safe: the tool is read-only, supports the
//! idempotency key, or was certainly not reached.

use crate::error::Error;
use crate::tool::Registered;
use std::time::Duration;
use steward_domain::{Coded as _, ErrorClass, Idempotency, Outcome, ToolOrigin};
use steward_journal::random::Random;

/// The retry state of one tool for one request.
pub(crate) struct Retry {
    left: u32,
    made: u32,
    safe: bool,
}

/// The first delay. It doubles with each retry up to `LONGEST`; up to half of it is removed at
/// random.
const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(10);

impl Retry {
    pub(crate) fn new(registered: &Registered) -> Self {
        let safe = registered.definition.idempotency != Idempotency::None;
        Self { left: registered.settings.retries, made: 0, safe }
    }

    /// The delay before the next attempt. `None` if the call is not retried.
    pub(crate) fn after(&mut self, error: &Error, random: &dyn Random) -> Option<Duration> {
        let worthwhile = error.class() == ErrorClass::Transient
            && !matches!(
                error,
                Error::BadResult { .. } | Error::Ledger { .. } | Error::UnknownOutcome { .. }
            );
        if self.left == 0 || !worthwhile || !(self.safe || not_reached(error)) {
            return None;
        }
        self.left -= 1;
        let pause = FIRST.saturating_mul(1 << self.made.min(10)).min(LONGEST);
        self.made += 1;
        let asked = match error {
            Error::RateLimited { retry_after, .. } | Error::CircuitOpen { retry_after, .. } => *retry_after,
            _ => Duration::ZERO,
        };
        let chance = random.bytes().map_or(128, |bytes| bytes.first().copied().unwrap_or(128));
        Some(asked.max(pause.mul_f64(0.5 + f64::from(chance) / 512.0)))
    }
}

/// Phrases of a transient server error. Only phrases with no other likely meaning are listed.
const TRANSIENT_PHRASES: [&str; 16] = [
    "temporarily unavailable",
    "service unavailable",
    "currently unavailable",
    "server is unavailable",
    "try again later",
    "timed out",
    "timeout error",
    "timeout exceeded",
    "gateway timeout",
    "request timeout",
    "connection timeout",
    "connection reset",
    "rate limit",
    "rate-limit",
    "too many requests",
    "overloaded",
];

/// Marks the error of a server's tool as transient if its text says so, because the protocol has no
/// field for it. Only for tools that may be retried: what another tool did before it failed is
/// unknown.
pub(crate) fn judged(error: Error, registered: &Registered) -> Error {
    let definition = &registered.definition;
    if definition.origin != ToolOrigin::Mcp || definition.idempotency == Idempotency::None {
        return error;
    }
    match error {
        Error::Failed { tool, message, transient: false } => {
            // Later text is more likely data than the reason.
            let words: String = message.chars().take(300).flat_map(char::to_lowercase).collect();
            let bare = words.trim().trim_end_matches('.');
            let transient = ["timeout", "unavailable"].contains(&bare)
                || TRANSIENT_PHRASES.iter().any(|phrase| words.contains(phrase));
            Error::Failed { tool, message, transient }
        }
        other => other,
    }
}

/// Whether the tool was certainly not executed.
fn not_reached(error: &Error) -> bool {
    match error {
        Error::RateLimited { .. }
        | Error::CircuitOpen { .. }
        | Error::ServerStart { .. }
        | Error::Unreachable { .. } => true,
        Error::ServerGone { sent, .. } => !sent,
        _ => false,
    }
}

/// The outcome that is recorded for a failure.
pub(crate) fn outcome(error: &Error, idempotency: Idempotency) -> Outcome {
    let open = idempotency == Idempotency::None;
    match error {
        Error::Timeout { .. } if open => Outcome::Unknown,
        Error::Timeout { .. } => Outcome::Timeout,
        Error::Cancelled { .. } if open => Outcome::Unknown,
        Error::Cancelled { .. } => Outcome::Cancelled,
        Error::TooLarge { .. } => Outcome::ResourceLimit,
        Error::UnknownOutcome { .. } => Outcome::Unknown,
        Error::ServerGone { sent: true, .. } if open => Outcome::Unknown,
        _ => Outcome::Error,
    }
}

/// The error for the caller. It states when an effect may have happened.
pub(crate) fn named(error: Error, registered: &Registered) -> Error {
    let unknown = outcome(&error, registered.definition.idempotency) == Outcome::Unknown;
    if unknown && !matches!(error, Error::Cancelled { .. } | Error::UnknownOutcome { .. }) {
        let tool = registered.definition.tool_name.to_string();
        return Error::UnknownOutcome { tool, detail: error.to_string() };
    }
    error
}

/// Whether the call has effects outside of this process, so that its intent must be on disk first.
pub(crate) fn leaves_process(registered: &Registered) -> bool {
    super::is_foreign(registered.definition.origin)
        || registered.definition.idempotency != Idempotency::ReadOnly
}
