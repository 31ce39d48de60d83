//! Verifies tokens of an identity provider (OpenID Connect) with `jsonwebtoken`: signature, issuer,
//! audience, time.
//!
//! Invariants
//! - The provider's key determines the algorithm, never the token. `none` and HMAC are never
//!   accepted.
//! - A key is used only for the purposes that the provider declares (`use`, `key_ops`, `alg`).
//! - A token with an unsupported critical header (`crit`) is rejected.
//! - An unknown key triggers a refresh at a limited rate. Key rotation works, and a flood of
//!   invalid tokens does not reach the provider.

mod signature;

use super::file::Oidc;
use super::{Error, Result};
use async_trait::async_trait;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;
use steward_journal::clock::Clock;
use tokio::sync::Mutex;

/// Fetches JSON documents of the provider.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// Sends a GET request.
    async fn get(&self, url: &str) -> std::result::Result<Json, String>;

    /// Sends a form by POST.
    async fn post(&self, url: &str, form: &[(&str, &str)]) -> std::result::Result<Json, String> {
        Err(format!("{url}: forms of {} fields are not sent", form.len()))
    }
}

#[derive(Default)]
struct KeyCache {
    keys: Vec<Jwk>,
    /// The fetch time on the monotonic clock.
    at: Option<Duration>,
}

/// Verifies tokens.
pub struct Tokens {
    provider: Oidc,
    fetch: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    known: Mutex<KeyCache>,
}

/// How long fetched keys are cached.
const FRESH: Duration = Duration::from_secs(3600);
/// The minimum time between refreshes for an unknown key.
const AGAIN: Duration = Duration::from_secs(30);
/// The tolerated clock skew, in seconds.
const SKEW: f64 = 60.0;
/// The maximum length of a token.
const LONGEST: usize = 16_384;

fn wrong(why: &str) -> Error {
    Error::Token(why.to_owned())
}

impl Tokens {
    pub(super) fn new(provider: Oidc, fetch: Arc<dyn Fetch>, clock: Arc<dyn Clock>) -> Self {
        signature::install();
        Self { provider, fetch, clock, known: Mutex::default() }
    }

    /// The configured provider.
    pub(super) fn provider(&self) -> &Oidc {
        &self.provider
    }

    /// Fetches the provider's metadata.
    pub(super) async fn about(&self) -> std::result::Result<Json, String> {
        let base = self.provider.issuer.trim_end_matches('/');
        self.fetch.get(&format!("{base}/.well-known/openid-configuration")).await
    }

    /// Posts a form to the provider.
    pub(super) async fn post(&self, url: &str, form: &[(&str, &str)]) -> std::result::Result<Json, String> {
        self.fetch.post(url, form).await
    }

    /// Verifies the identity token of a sign-in and returns the subjects. The audience must be this
    /// client, and the nonce must match.
    pub(super) async fn check_sign_in(&self, token: &str, client: &str, nonce: &str) -> Result<Vec<String>> {
        let claims = self.checked(token, client).await?;
        if claims.get("nonce").and_then(Json::as_str) != Some(nonce) {
            return Err(wrong("it answers another sign-in (`nonce`)"));
        }
        self.claims(&claims)
    }

    /// Verifies a token and returns the subjects at the provider.
    pub(super) async fn check(&self, token: &str) -> Result<Vec<String>> {
        let claims = self.checked(token, &self.provider.audience).await?;
        self.claims(&claims)
    }

    /// The claims of a token, after its signature, issuer and audience are verified.
    async fn checked(&self, token: &str, audience: &str) -> Result<Json> {
        if token.len() > LONGEST {
            return Err(wrong("it is too long"));
        }
        let header = decode_header(token).map_err(|error| self.told(error.kind()))?;
        if header.crit.is_some() {
            return Err(wrong("it demands an extension that is not understood (`crit`)"));
        }
        let mut last = wrong("its signature does not fit any key of the provider");
        for key in self.keys(&header).await? {
            let Some(algorithms) = algorithms(&key) else { continue };
            let Ok(decoding) = DecodingKey::from_jwk(&key) else { continue };
            match decode::<Json>(token, &decoding, &self.validation(algorithms, audience)) {
                Ok(good) => return Ok(good.claims),
                Err(error) => last = self.told(error.kind()),
            }
        }
        Err(last)
    }

    /// The validation rules. Times are checked separately, against the injected clock.
    fn validation(&self, algorithms: Vec<Algorithm>, audience: &str) -> Validation {
        let (validate_exp, validate_nbf) = (false, false);
        let mut validation = Validation { algorithms, validate_exp, validate_nbf, ..Validation::default() };
        validation.set_issuer(&[&self.provider.issuer]);
        validation.set_audience(&[audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation
    }

    fn told(&self, kind: &ErrorKind) -> Error {
        wrong(match kind {
            ErrorKind::InvalidIssuer => "another issuer made it",
            ErrorKind::InvalidAudience => "it is meant for somebody else (`aud`)",
            ErrorKind::MissingRequiredClaim(name) => match name.as_str() {
                "exp" => "it never runs out (`exp` is missing or no time)",
                "aud" => "it is meant for somebody else (`aud`)",
                _ => "another issuer made it",
            },
            ErrorKind::InvalidToken | ErrorKind::Base64(_) | ErrorKind::Utf8(_) | ErrorKind::Json(_) => {
                "it is no token that can be read"
            }
            _ => "its signature does not fit any key of the provider",
        })
    }

    fn claims(&self, claims: &Json) -> Result<Vec<String>> {
        let now = self.clock.now().micros() as f64 / 1e6;
        let time = |name: &str| claims.get(name).and_then(Json::as_f64);
        match time("exp") {
            Some(end) if now <= end + SKEW => {}
            Some(_) => return Err(wrong("it has run out")),
            None => return Err(wrong("it never runs out (`exp` is missing or no time)")),
        }
        if claims.get("nbf").is_some() && time("nbf").is_none_or(|from| now + SKEW < from) {
            return Err(wrong("it does not count yet"));
        }
        let text = |name: &str| claims.get(name).and_then(Json::as_str).map(str::to_owned);
        let mut subjects: Vec<String> = text("sub").into_iter().collect();
        if claims.get("email_verified").and_then(Json::as_bool) == Some(true) {
            subjects.extend(text("email"));
        }
        if subjects.is_empty() { Err(wrong("it names nobody (`sub` is missing)")) } else { Ok(subjects) }
    }

    /// The keys that may have signed the token. They are fetched again if none matches.
    async fn keys(&self, header: &Header) -> Result<Vec<Jwk>> {
        let fits = |key: &&Jwk| header.kid.is_none() || key.common.key_id == header.kid;
        let mut known = self.known.lock().await;
        let now = self.clock.monotonic();
        let age = known.at.map(|at| now.saturating_sub(at));
        let found: Vec<Jwk> = known.keys.iter().filter(fits).cloned().collect();
        let look = match age {
            None => true,
            Some(age) => age > FRESH || (found.is_empty() && age > AGAIN),
        };
        if !look {
            return Ok(found);
        }
        known.at = Some(now);
        match self.fetched().await {
            Ok(keys) => known.keys = keys,
            // If the refresh fails, cached keys remain in use.
            Err(why) if known.keys.is_empty() => {
                return Err(Error::Token(format!("the provider's keys cannot be had: {why}")));
            }
            Err(_) => {}
        }
        Ok(known.keys.iter().filter(fits).cloned().collect())
    }

    async fn fetched(&self) -> std::result::Result<Vec<Jwk>, String> {
        let address = match &self.provider.jwks_url {
            Some(address) => address.clone(),
            None => {
                let about = self.about().await?;
                let named = about.get("jwks_uri").and_then(Json::as_str);
                named.ok_or("the provider does not say where its keys are")?.to_owned()
            }
        };
        let set = self.fetch.get(&address).await?;
        let keys = set.get("keys").and_then(Json::as_array).ok_or("there are no `keys` in its document")?;
        // Keys of unknown types are ignored.
        Ok(keys.iter().filter_map(|key| serde_json::from_value(key.clone()).ok()).collect())
    }
}

/// The algorithms that a key may be used with. `None` if it is not for signatures or has an
/// unsupported type.
fn algorithms(key: &Jwk) -> Option<Vec<Algorithm>> {
    if !matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    if key.common.key_operations.as_ref().is_some_and(|allowed| !allowed.contains(&KeyOperations::Verify)) {
        return None;
    }
    let own: &[Algorithm] = match &key.algorithm {
        AlgorithmParameters::RSA(_) => {
            &[Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::PS256]
        }
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => &[Algorithm::ES256],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => &[Algorithm::ES384],
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
        _ => return None,
    };
    match key.common.key_algorithm {
        None => Some(own.to_vec()),
        Some(named) => {
            let named = Algorithm::try_from(named).ok()?;
            own.contains(&named).then(|| vec![named])
        }
    }
}
