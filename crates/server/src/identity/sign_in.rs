//! Sign-in to the page through the identity provider: authorization code with PKCE (RFC 7636).
//!
//! Invariants
//! - A sign-in starts and ends in the same browser. Its state is in a signed cookie of that browser
//!   and must match the `state` parameter.
//! - An identity token is accepted only for this client and for the nonce of this sign-in.
//! - The page session names the user. It ends when it expires, at sign-out, or when the user is
//!   disabled.

use super::session::{Secret, same};
use super::{AuthMethod, Directory, Error, Identity, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, PoisonError};
use steward_domain::{Timestamp, UserId};
use steward_journal::random::Random;

/// The prefix of the key part in cookies of provider sessions.
pub const PROVIDER_SESSION: &str = "oidc-";
/// The timeout of a sign-in, in microseconds.
const TIME: i64 = 600 * 1_000_000;

/// A started sign-in: the redirect address and the cookie.
#[derive(Debug)]
pub struct SignInStart {
    /// The authorization address of the provider.
    pub address: String,
    /// The value of the cookie.
    pub cookie: String,
}

/// The user of a provider session.
pub(super) fn user_of(key: &str) -> Option<UserId> {
    let name = URL_SAFE_NO_PAD.decode(key.strip_prefix(PROVIDER_SESSION)?).ok()?;
    UserId::new(String::from_utf8(name).ok()?).ok()
}

fn key_of(user: &UserId) -> String {
    format!("{PROVIDER_SESSION}{}", URL_SAFE_NO_PAD.encode(user.as_str()))
}

fn failed(why: impl Into<String>) -> Error {
    Error::Token(why.into())
}

fn secret_text(random: &dyn Random) -> Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(random.bytes()?))
}

/// The state of a sign-in in progress.
struct Begun {
    state: String,
    verifier: String,
    nonce: String,
}

fn read_cookie(secret: &Secret, cookie: &str, now: Timestamp) -> Option<Begun> {
    let (text, signature) = cookie.rsplit_once('.')?;
    let good = same(secret.sign("sign-in", text).as_bytes(), signature.as_bytes());
    let mut parts = text.split('.');
    let (state, verifier, nonce) = (parts.next()?, parts.next()?, parts.next()?);
    let until = parts.next()?.parse::<i64>().ok()?;
    let begun = Begun { state: state.into(), verifier: verifier.into(), nonce: nonce.into() };
    (good && now.micros() < until).then_some(begun)
}

impl Directory {
    fn sign_in_provider(&self) -> Result<Arc<super::Tokens>> {
        self.look();
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner).clone();
        tokens
            .filter(|tokens| tokens.provider().sign_in.is_some())
            .ok_or_else(|| failed("no provider is set up for signing in"))
    }

    /// The label of the sign-in button, if sign-in is configured.
    #[must_use]
    pub fn sign_in_name(&self) -> Option<String> {
        let tokens = self.sign_in_provider().ok()?;
        let provider = tokens.provider();
        let named = provider.sign_in.as_ref().map(|sign_in| sign_in.name.clone());
        let host = || url::Url::parse(&provider.issuer).ok()?.host_str().map(str::to_owned);
        named.filter(|name| !name.is_empty()).or_else(host)
    }

    /// Starts a sign-in. The provider redirects the browser to `redirect`.
    pub async fn begin_sign_in(&self, redirect: &str, random: &dyn Random) -> Result<SignInStart> {
        let tokens = self.sign_in_provider()?;
        let about =
            tokens.about().await.map_err(|why| failed(format!("the provider cannot be reached: {why}")))?;
        let endpoint = about.get("authorization_endpoint").and_then(Json::as_str);
        let endpoint = endpoint.ok_or_else(|| failed("the provider does not say where people sign in"))?;
        let (state, verifier, nonce) = (secret_text(random)?, secret_text(random)?, secret_text(random)?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let client = tokens.provider().sign_in.as_ref().map(|one| one.client_id.clone()).unwrap_or_default();
        let mut address = url::Url::parse(endpoint).map_err(|error| failed(error.to_string()))?;
        address.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", client.as_str()),
            ("redirect_uri", redirect),
            ("scope", "openid email"),
            ("state", state.as_str()),
            ("nonce", nonce.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ]);
        let text = format!("{state}.{verifier}.{nonce}.{}", self.now().micros() + TIME);
        let cookie = format!("{text}.{}", self.secret.sign("sign-in", &text));
        Ok(SignInStart { address: address.into(), cookie })
    }

    /// Completes a sign-in. The subject must belong to a configured user.
    pub async fn end_sign_in(
        &self,
        cookie: &str,
        state: &str,
        code: &str,
        redirect: &str,
    ) -> Result<Identity> {
        let begun = read_cookie(&self.secret, cookie, self.now());
        let begun = begun.ok_or_else(|| failed("the sign-in took too long, or began in another browser"))?;
        if !same(begun.state.as_bytes(), state.as_bytes()) {
            return Err(failed("the answer belongs to another sign-in"));
        }
        let tokens = self.sign_in_provider()?;
        let sign_in = tokens.provider().sign_in.clone().ok_or_else(|| failed("signing in was turned off"))?;
        let about = tokens.about().await.map_err(failed)?;
        let endpoint = about.get("token_endpoint").and_then(Json::as_str);
        let endpoint =
            endpoint.ok_or_else(|| failed("the provider does not say where codes are exchanged"))?;
        let secret = sign_in.secret_variable.as_ref().and_then(|name| std::env::var(name).ok());
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("client_id", sign_in.client_id.as_str()),
            ("code_verifier", begun.verifier.as_str()),
        ];
        form.extend(secret.as_deref().map(|secret| ("client_secret", secret)));
        let answer = tokens.post(endpoint, &form).await.map_err(failed)?;
        let token = answer.get("id_token").and_then(Json::as_str);
        let token = token.ok_or_else(|| failed("the provider gave no identity token"))?;
        let subjects = tokens.check_sign_in(token, &sign_in.client_id, &begun.nonce).await?;
        let user = self.read(|loaded| loaded.access.of_subject(&subjects));
        let unknown = || failed("you are not set up here. Ask an administrator to add you");
        self.named(&user.ok_or_else(unknown)?, AuthMethod::Session).ok_or_else(unknown)
    }

    /// Creates a session cookie for a user who signed in at the provider.
    #[must_use]
    pub fn provider_cookie(&self, user: &UserId, session: uuid::Uuid) -> String {
        self.secret.cookie(&key_of(user), session, self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steward_journal::random::SystemRandom;

    #[test]
    fn provider_session_names_its_user_and_key_does_not() {
        let user = UserId::new("ana.b@example.com").unwrap();
        let key = key_of(&user);
        assert!(!key.contains('.'), "a cookie is split at its dots");
        assert_eq!(user_of(&key), Some(user));
        assert_eq!(user_of("k1"), None);
        assert_eq!(user_of("oidc-***"), None);
    }

    #[test]
    fn sign_in_requires_its_own_cookie_before_timeout() {
        let home = tempfile::tempdir().unwrap();
        let secret = Secret::open(home.path(), &SystemRandom).unwrap();
        let text = "s.v.n.100";
        let cookie = format!("{text}.{}", secret.sign("sign-in", text));
        assert!(read_cookie(&secret, &cookie, Timestamp::from_micros(99)).is_some());
        assert!(read_cookie(&secret, &cookie, Timestamp::from_micros(100)).is_none(), "too late");
        let forged = cookie.replacen("s.v", "t.v", 1);
        assert!(read_cookie(&secret, &forged, Timestamp::from_micros(1)).is_none());
        let session = format!("{text}.{}", secret.sign("session", text));
        assert!(read_cookie(&secret, &session, Timestamp::from_micros(1)).is_none(), "another purpose");
    }
}
