//! Tokens of an identity provider (OpenID Connect): signature, issuer, audience, time.
//!
//! Invariants
//! - Which algorithm counts is decided by the provider's key and never by the token: `none` and HMAC are never taken.
//! - A key that is not known is looked for once in a while, so that rotation just works and a flood of wrong tokens asks nobody.

use super::file::Oidc;
use super::{Error, Result};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;
use steward_journal::clock::Clock;
use tokio::sync::Mutex;

/// Gets a JSON document of the provider.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// From this address.
    async fn get(&self, url: &str) -> std::result::Result<Json, String>;
}

/// One of the provider's keys.
#[derive(Debug, Clone, Deserialize)]
struct Jwk {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default)]
    n: String,
    #[serde(default)]
    e: String,
    #[serde(default)]
    crv: String,
    #[serde(default)]
    x: String,
    #[serde(default)]
    y: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
}

#[derive(Default)]
struct KeyCache {
    keys: Vec<Jwk>,
    /// When they were fetched, on the monotonic clock.
    at: Option<Duration>,
}

/// Checks tokens.
pub struct Tokens {
    provider: Oidc,
    fetch: Arc<dyn Fetch>,
    clock: Arc<dyn Clock>,
    known: Mutex<KeyCache>,
}

/// How long fetched keys count.
const FRESH: Duration = Duration::from_secs(3600);
/// How often an unknown key may make us look again.
const AGAIN: Duration = Duration::from_secs(30);
/// How far clocks may be apart, in seconds.
const SKEW: i64 = 60;
/// The longest token that is read.
const LONGEST: usize = 16_384;

impl Tokens {
    pub(super) fn new(provider: Oidc, fetch: Arc<dyn Fetch>, clock: Arc<dyn Clock>) -> Self {
        Self { provider, fetch, clock, known: Mutex::default() }
    }

    /// The names under which the provider knows whoever a token is for.
    pub(super) async fn check(&self, token: &str) -> Result<Vec<String>> {
        let wrong = |why: &str| Error::Token(why.to_owned());
        if token.len() > LONGEST {
            return Err(wrong("it is too long"));
        }
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong("it does not have three parts"));
        };
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong("it is not base64"));
        let parsed: Header =
            serde_json::from_slice(&decode(header)?).map_err(|_| wrong("its header cannot be read"))?;
        let signed = format!("{header}.{claims}");
        let signature = decode(signature)?;
        let keys = self.keys(&parsed).await?;
        if !keys.iter().any(|key| verifies(key, &parsed.alg, signed.as_bytes(), &signature)) {
            return Err(wrong("its signature does not fit any key of the provider"));
        }
        let claims: Json =
            serde_json::from_slice(&decode(claims)?).map_err(|_| wrong("its claims cannot be read"))?;
        self.claims(&claims)
    }

    fn claims(&self, claims: &Json) -> Result<Vec<String>> {
        let wrong = |why: &str| Err(Error::Token(why.to_owned()));
        if claims.get("iss").and_then(Json::as_str) != Some(self.provider.issuer.as_str()) {
            return wrong("another issuer made it");
        }
        let meant = match claims.get("aud") {
            Some(Json::String(one)) => *one == self.provider.audience,
            Some(Json::Array(many)) => {
                many.iter().any(|one| one.as_str() == Some(self.provider.audience.as_str()))
            }
            _ => false,
        };
        if !meant {
            return wrong("it is meant for somebody else (`aud`)");
        }
        let now = self.clock.now().micros() / 1_000_000;
        let time = |name: &str| claims.get(name).and_then(Json::as_f64).map(|seconds| seconds as i64);
        match time("exp") {
            Some(end) if now <= end + SKEW => {}
            Some(_) => return wrong("it has run out"),
            None => return wrong("it never runs out (`exp` is missing)"),
        }
        if time("nbf").is_some_and(|from| now + SKEW < from) {
            return wrong("it does not count yet");
        }
        let text = |name: &str| claims.get(name).and_then(Json::as_str).map(str::to_owned);
        let mut subjects: Vec<String> = text("sub").into_iter().collect();
        if claims.get("email_verified").and_then(Json::as_bool) == Some(true) {
            subjects.extend(text("email"));
        }
        if subjects.is_empty() { wrong("it names nobody (`sub` is missing)") } else { Ok(subjects) }
    }

    /// The keys that may have signed it, fetched anew when none fits.
    async fn keys(&self, header: &Header) -> Result<Vec<Jwk>> {
        let fits = |key: &&Jwk| header.kid.is_none() || key.kid == header.kid;
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
            // Keys that were good an hour ago are better than nobody let in.
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
                let base = self.provider.issuer.trim_end_matches('/');
                let about = self.fetch.get(&format!("{base}/.well-known/openid-configuration")).await?;
                let named = about.get("jwks_uri").and_then(Json::as_str);
                named.ok_or("the provider does not say where its keys are")?.to_owned()
            }
        };
        let set = self.fetch.get(&address).await?;
        let keys = set.get("keys").and_then(Json::as_array).ok_or("there are no `keys` in its document")?;
        // A key of a kind that we do not know is somebody else's business.
        Ok(keys.iter().filter_map(|key| serde_json::from_value(key.clone()).ok()).collect())
    }
}

/// Whether this key made this signature, by the one algorithm that is its own.
fn verifies(key: &Jwk, alg: &str, signed: &[u8], signature: &[u8]) -> bool {
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    if key.alg.as_deref().is_some_and(|own| own != alg) {
        return false;
    }
    match (key.kty.as_str(), key.crv.as_str(), alg) {
        ("RSA", _, "RS256" | "RS384" | "RS512" | "PS256") => {
            let scheme = match alg {
                "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
                "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
                "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
                _ => &signature::RSA_PSS_2048_8192_SHA256,
            };
            RsaPublicKeyComponents { n: bytes(&key.n), e: bytes(&key.e) }
                .verify(scheme, signed, signature)
                .is_ok()
        }
        ("EC", "P-256", "ES256") => {
            point(&key.x, &key.y).verify_with(&signature::ECDSA_P256_SHA256_FIXED, signed, signature)
        }
        ("EC", "P-384", "ES384") => {
            point(&key.x, &key.y).verify_with(&signature::ECDSA_P384_SHA384_FIXED, signed, signature)
        }
        ("OKP", "Ed25519", "EdDSA") => {
            Point(bytes(&key.x)).verify_with(&signature::ED25519, signed, signature)
        }
        _ => false,
    }
}

struct Point(Vec<u8>);

impl Point {
    fn verify_with(
        &self,
        scheme: &'static dyn signature::VerificationAlgorithm,
        signed: &[u8],
        signature: &[u8],
    ) -> bool {
        UnparsedPublicKey::new(scheme, &self.0).verify(signed, signature).is_ok()
    }
}

/// A point in its uncompressed form.
fn point(x: &str, y: &str) -> Point {
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    Point([vec![4], bytes(x), bytes(y)].concat())
}
