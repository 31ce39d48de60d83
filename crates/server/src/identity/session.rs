//! The signed session cookie and CSRF token of the page.
//!
//! A cookie contains a key id, a session id and its expiry. It grants what the key grants, and is
//! invalid once the key is revoked or the session ended. It is signed and not stored, so it
//! survives a restart and is valid on every replica with the same secret. Ended sessions are kept
//! in `keys/sessions_ended.json` until they expire; replicas with the same home share them.

use super::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use steward_domain::Timestamp;
use steward_journal::random::Random;
use uuid::Uuid;

/// The lifetime of a session.
const HOURS: i64 = 12;

/// A session of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageSession {
    pub(super) key: String,
    pub(super) id: String,
    /// The expiry, in microseconds since 1970.
    pub(super) until: i64,
}

/// Sessions that were ended before their expiry, with that expiry.
#[derive(Debug, Default)]
pub(super) struct EndedSessions(BTreeMap<String, i64>);

impl EndedSessions {
    pub(super) fn path(home: &Path) -> PathBuf {
        home.join("keys/sessions_ended.json")
    }

    /// Loads the ended sessions of a home. An unreadable file is an error, because ended sessions
    /// must not become valid again.
    pub(super) fn load(home: &Path) -> Result<Self> {
        let path = Self::path(home);
        let problem = |problem: String| Error::File { path: path.display().to_string(), line: 1, problem };
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Self).map_err(|error| problem(error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(problem(error.to_string())),
        }
    }

    pub(super) fn contains(&self, session: &PageSession) -> bool {
        self.0.contains_key(&session.id)
    }

    /// Ends a session, and removes expired ones from the list.
    pub(super) fn end(&mut self, home: &Path, session: &PageSession, now: Timestamp) -> Result<()> {
        self.0.retain(|_, until| *until > now.micros());
        self.0.insert(session.id.clone(), session.until);
        let (path, text) = (Self::path(home), serde_json::to_vec(&self.0).unwrap_or_default());
        super::keys::replace(&path, &text).map_err(|error| Error::Unwritten {
            path: path.display().to_string(),
            problem: error.to_string(),
        })
    }
}

/// The signing key of cookies and links.
pub struct Secret(hmac::Key);

impl Secret {
    /// Loads the secret of a home, or creates it.
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

    pub(super) fn sign(&self, purpose: &str, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, format!("{purpose}\n{text}").as_bytes()))
    }

    pub(super) fn cookie(&self, key: &str, session: Uuid, now: Timestamp) -> String {
        let until = now.micros() + HOURS * 3_600_000_000;
        let text = format!("{key}.{session}.{until}");
        format!("{text}.{}", self.sign("session", &text))
    }

    /// Verifies a cookie and returns its session. `None` if it is invalid or expired.
    pub(super) fn open_cookie(&self, cookie: &str, now: Timestamp) -> Option<PageSession> {
        let (text, signature) = cookie.rsplit_once('.')?;
        let mut parts = text.splitn(3, '.');
        let (key, session, until) = (parts.next()?, parts.next()?, parts.next()?.parse::<i64>().ok()?);
        let good = same(self.sign("session", text).as_bytes(), signature.as_bytes());
        let session = PageSession { key: key.to_owned(), id: session.to_owned(), until };
        (good && now.micros() < until).then_some(session)
    }

    /// A signed token for a link to a board, with its expiry.
    #[must_use]
    pub fn link_token(&self, board: Uuid, link: Uuid, until: Timestamp) -> String {
        let text = format!("{}.{}.{}", board.simple(), link.simple(), until.micros());
        format!("{text}.{}", self.sign("board link", &text))
    }

    /// Verifies a token and returns its board and link. `None` if it is invalid or expired.
    #[must_use]
    pub fn open_link(&self, token: &str, now: Timestamp) -> Option<(Uuid, Uuid)> {
        let (text, signature) = token.rsplit_once('.')?;
        let mut parts = text.splitn(3, '.');
        let (board, link, until) = (parts.next()?, parts.next()?, parts.next()?.parse::<i64>().ok()?);
        let good = same(self.sign("board link", text).as_bytes(), signature.as_bytes());
        let named = (board.parse().ok()?, link.parse().ok()?);
        (good && now.micros() < until).then_some(named)
    }

    /// A signed token for a link to a user's answer, with its expiry.
    #[must_use]
    pub fn answer_token(&self, task: Uuid, user: &str, until: Timestamp) -> String {
        let text = format!("{}.{}.{}", task.simple(), URL_SAFE_NO_PAD.encode(user), until.micros());
        format!("{text}.{}", self.sign("answer link", &text))
    }

    /// Verifies a token and returns the task and user. `None` if it is invalid or expired.
    #[must_use]
    pub fn open_answer(&self, token: &str, now: Timestamp) -> Option<(Uuid, String)> {
        let (text, signature) = token.rsplit_once('.')?;
        let mut parts = text.splitn(3, '.');
        let (task, user, until) = (parts.next()?, parts.next()?, parts.next()?.parse::<i64>().ok()?);
        let good = same(self.sign("answer link", text).as_bytes(), signature.as_bytes());
        let user = String::from_utf8(URL_SAFE_NO_PAD.decode(user).ok()?).ok()?;
        let named = (task.parse().ok()?, user);
        (good && now.micros() < until).then_some(named)
    }

    pub(super) fn csrf(&self, of: &str) -> String {
        self.sign("csrf", of)
    }
}

/// Compares two byte strings in constant time.
pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    let unlike = one.iter().zip(other).fold(0_u8, |unlike, (a, b)| unlike | (a ^ b));
    one.len() == other.len() && std::hint::black_box(unlike) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use steward_journal::random::SystemRandom;

    #[test]
    fn cookie_is_valid_only_until_expiry_and_for_its_key() {
        let home = tempfile::tempdir().unwrap();
        let secret = Secret::open(home.path(), &SystemRandom).unwrap();
        let now = Timestamp::from_micros(1_000_000);
        let cookie = secret.cookie("k1", Uuid::nil(), now);
        assert_eq!(secret.open_cookie(&cookie, now).map(|session| session.key).as_deref(), Some("k1"));
        assert_eq!(secret.open_cookie(&cookie.replace("k1", "k2"), now), None, "another key");
        let late = Timestamp::from_micros(now.micros() + HOURS * 3_600_000_000);
        assert_eq!(secret.open_cookie(&cookie, late), None, "too late");
        let again = Secret::open(home.path(), &SystemRandom).unwrap();
        assert!(again.open_cookie(&cookie, now).is_some(), "the secret outlives a restart");
        assert_eq!(secret.open_cookie("", now), None);
        assert_eq!(secret.open_cookie("k1.9", now), None);
    }

    #[test]
    fn board_link_is_valid_until_expiry() {
        let home = tempfile::tempdir().unwrap();
        let secret = Secret::open(home.path(), &SystemRandom).unwrap();
        let (now, until) = (Timestamp::from_micros(5), Timestamp::from_micros(10));
        let (board, link) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let token = secret.link_token(board, link, until);
        assert_eq!(secret.open_link(&token, now), Some((board, link)));
        assert_eq!(secret.open_link(&token, until), None, "too late");
        let longer = token.replacen(".10.", ".99.", 1);
        assert_ne!(longer, token);
        assert_eq!(secret.open_link(&longer, now), None, "the time is part of what is signed");
        let other = token.replacen('1', "3", 1);
        assert_eq!(secret.open_link(&other, now), None, "another board");
        assert_eq!(secret.open_cookie(&token, now), None, "a link is no session");
        let elsewhere = Secret::open(tempfile::tempdir().unwrap().path(), &SystemRandom).unwrap();
        assert_eq!(elsewhere.open_link(&token, now), None, "another server");
        for broken in ["", ".", "a.b.c.d", "1.2"] {
            assert_eq!(secret.open_link(broken, now), None, "{broken}");
        }
    }

    #[test]
    fn answer_link_is_valid_until_expiry() {
        let home = tempfile::tempdir().unwrap();
        let secret = Secret::open(home.path(), &SystemRandom).unwrap();
        let (now, until) = (Timestamp::from_micros(5), Timestamp::from_micros(10));
        let token = secret.answer_token(Uuid::from_u128(7), "ana.b", until);
        assert_eq!(secret.open_answer(&token, now), Some((Uuid::from_u128(7), "ana.b".to_owned())));
        assert_eq!(secret.open_answer(&token, until), None, "too late");
        assert_eq!(secret.open_answer(&token.replacen('7', "8", 1), now), None, "another answer");
        assert_eq!(secret.open_link(&token, now), None, "a link to an answer opens no board");
    }

    #[test]
    fn ended_session_stays_ended_for_all_processes() {
        let home = tempfile::tempdir().unwrap();
        let secret = Secret::open(home.path(), &SystemRandom).unwrap();
        let now = Timestamp::from_micros(1_000_000);
        let open = |n| secret.open_cookie(&secret.cookie("k1", Uuid::from_u128(n), now), now).unwrap();
        let (one, other) = (open(1), open(2));
        assert_ne!(secret.csrf(&one.id), secret.csrf(&other.id), "a token for each session");
        EndedSessions::load(home.path()).unwrap().end(home.path(), &one, now).unwrap();
        let ended = EndedSessions::load(home.path()).unwrap();
        assert!(ended.contains(&one) && !ended.contains(&other));
        let later = Timestamp::from_micros(one.until + 1);
        EndedSessions::load(home.path()).unwrap().end(home.path(), &other, later).unwrap();
        assert!(!EndedSessions::load(home.path()).unwrap().contains(&one), "its time is over anyway");
    }
}
