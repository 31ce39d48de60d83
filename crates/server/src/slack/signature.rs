//! Verifies that a request comes from Slack.
//!
//! Invariants
//! - The signature is verified over the raw bytes, before they are parsed, and in constant time.
//! - Timestamps that differ by more than five minutes are rejected, which prevents replay.

use super::options::Secret;
use ring::hmac;
use steward_domain::Timestamp;

/// The tolerated clock skew, in seconds.
const WINDOW: i64 = 300;

/// Why a signature was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsigned {
    #[error("the request carries no signature of Slack")]
    Missing,
    #[error("the request is older than five minutes, or the clocks are apart")]
    Old,
    #[error("the signature does not fit the request")]
    Wrong,
}

/// Verifies `v0=…` over `v0:timestamp:body`.
pub(super) fn check(
    secret: &Secret,
    timestamp: Option<&str>,
    signature: Option<&str>,
    body: &[u8],
    now: Timestamp,
) -> Result<(), Unsigned> {
    let (Some(timestamp), Some(signature)) = (timestamp, signature) else { return Err(Unsigned::Missing) };
    let sent: i64 = timestamp.parse().map_err(|_| Unsigned::Missing)?;
    if (now.micros() / 1_000_000).saturating_sub(sent).saturating_abs() > WINDOW {
        return Err(Unsigned::Old);
    }
    let claimed = signature.strip_prefix("v0=").and_then(bytes).ok_or(Unsigned::Wrong)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let signed = [b"v0:", timestamp.as_bytes(), b":", body].concat();
    hmac::verify(&key, &signed, &claimed).map_err(|_| Unsigned::Wrong)
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Slack's documentation.
    #[test]
    fn documented_slack_signature_is_valid() {
        let body = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V\
            &channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=\
            &response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
            &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let secret = Secret::new("8f742231b10e8888abcd99yyyzzz85a5");
        let right = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        let told = |now: i64, timestamp: &str, signature: &str| {
            check(&secret, Some(timestamp), Some(signature), body, at(now))
        };
        let sent = "1531420618";
        assert_eq!(told(1_531_420_618, sent, right), Ok(()));
        assert_eq!(told(1_531_420_618 + 300, sent, right), Ok(()));
        assert_eq!(told(1_531_420_618 + 301, sent, right), Err(Unsigned::Old));
        assert_eq!(told(1_531_420_618 - 301, sent, right), Err(Unsigned::Old));
        for wrong in ["v0=", "v0=zz", "a2114d57", &right.replace("a2", "a3"), &right.replace("v0", "v1")] {
            assert_eq!(told(1_531_420_618, sent, wrong), Err(Unsigned::Wrong), "{wrong}");
        }
        assert_eq!(told(1_531_420_618, "1531420619", right), Err(Unsigned::Wrong), "the time is signed too");
        assert_eq!(told(1_531_420_618, "soon", right), Err(Unsigned::Missing));
        assert_eq!(check(&secret, None, Some(right), body, at(1_531_420_618)), Err(Unsigned::Missing));
        assert_eq!(
            check(&secret, Some(sent), Some(right), b"other", at(1_531_420_618)),
            Err(Unsigned::Wrong)
        );
    }
}
