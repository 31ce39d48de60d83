//! The page's cookie and its token against forged requests: both signed, neither kept.
//!
//! A cookie names a key and the time until it counts. It opens what the key opens, and nothing once the key is revoked. Signed
//! and not stored, it outlives a restart and is good at every replica that has the same secret.

use super::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use std::path::Path;
use steward_domain::Timestamp;
use steward_journal::random::Random;

/// How long somebody stays signed in.
const HOURS: i64 = 12;

/// What cookies are signed with.
pub struct Secret(hmac::Key);

impl Secret {
    /// The secret of a home; made when there is none.
    pub fn open(home: &Path, random: &dyn Random) -> Result<Self> {
        let path = home.join("keys/session.key");
        let bytes = match std::fs::read(&path) {
            Ok(bytes) if bytes.len() >= 32 => bytes,
            _ => {
                let fresh = random.bytes()?.to_vec();
                super::keys::replace(&path, &fresh).map_err(|error| Error::Unwritten {
                    path: path.display().to_string(),
                    problem: error.to_string(),
                })?;
                fresh
            }
        };
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    fn sign(&self, purpose: &str, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, format!("{purpose}\n{text}").as_bytes()))
    }

    pub(super) fn cookie(&self, key: &str, now: Timestamp) -> String {
        let until = now.micros() + HOURS * 3_600_000_000;
        let text = format!("{key}.{until}");
        format!("{text}.{}", self.sign("session", &text))
    }

    /// The key that a cookie names, when it is ours and still counts.
    pub(super) fn open_cookie(&self, cookie: &str, now: Timestamp) -> Option<String> {
        let (text, signature) = cookie.rsplit_once('.')?;
        let (key, until) = text.split_once('.')?;
        let good = same(self.sign("session", text).as_bytes(), signature.as_bytes());
        (good && now.micros() < until.parse::<i64>().ok()?).then(|| key.to_owned())
    }

    pub(super) fn csrf(&self, of: &str) -> String {
        self.sign("csrf", of)
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    let unlike = one.iter().zip(other).fold(0_u8, |unlike, (a, b)| unlike | (a ^ b));
    one.len() == other.len() && std::hint::black_box(unlike) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use steward_journal::random::SystemRandom;

    #[test]
    fn a_cookie_counts_for_its_time_and_its_key_only() {
        let home = tempfile::tempdir().unwrap();
        let secret = Secret::open(home.path(), &SystemRandom).unwrap();
        let now = Timestamp::from_micros(1_000_000);
        let cookie = secret.cookie("k1", now);
        assert_eq!(secret.open_cookie(&cookie, now).as_deref(), Some("k1"));
        assert_eq!(secret.open_cookie(&cookie.replace("k1", "k2"), now), None, "another key");
        let late = Timestamp::from_micros(now.micros() + HOURS * 3_600_000_000);
        assert_eq!(secret.open_cookie(&cookie, late), None, "too late");
        let again = Secret::open(home.path(), &SystemRandom).unwrap();
        assert!(again.open_cookie(&cookie, now).is_some(), "the secret outlives a restart");
        assert_eq!(secret.open_cookie("", now), None);
        assert_eq!(secret.open_cookie("k1.9", now), None);
    }
}
