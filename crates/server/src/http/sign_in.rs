//! Sign-in to the page through the identity provider: the redirect there and the callback.
//!
//! The session cookie is `SameSite=Strict`, so the callback returns a document that navigates to
//! the page. The cookie of the sign-in itself must be sent with the provider's redirect, so it is
//! `Lax`. It is valid for ten minutes.

use super::Shared;
use super::extract::Queried;
use super::openapi::Api;
use super::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HOST, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};

/// The cookie of a sign-in in progress.
const COOKIE: &str = "steward_sign_in";
/// The redirect path of the provider.
const CALLBACK: &str = "/sign-in/callback";

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/session", "How one can sign in to the page")
        .open()
        .gives_object(200, "`provider`: the name of the identity provider, when there is one.")
        .to(get(ways));
    api.get("/sign-in", "Sign in to the page at the identity provider")
        .open()
        .gives_kind(303, "The way to the provider.", "text/plain")
        .to(get(begin));
    api.get("/sign-in/callback", "The way back from the identity provider")
        .open()
        .query("code", json!({ "type": "string", "maxLength": 4096 }), "The provider's code.")
        .query("state", json!({ "type": "string", "maxLength": 200 }), "Which sign-in it answers.")
        .query("error", json!({ "type": "string", "maxLength": 200 }), "Why the provider refuses.")
        .gives_kind(200, "A document that leads on to the page.", "text/html")
        .to(get(end));
}

async fn ways(State(site): State<Shared>) -> Json<Value> {
    Json(json!({ "provider": site.directory.sign_in_name() }))
}

fn cookie(site: &Shared, value: &str, seconds: u32) -> String {
    let secure = if site.options.secure_cookies { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path=/sign-in; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
}

/// The redirect address as the provider knows it. The middleware has checked the host.
fn redirect_address(site: &Shared, headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let scheme = if site.options.secure_cookies { "https" } else { "http" };
    format!("{scheme}://{host}{CALLBACK}")
}

async fn begin(State(site): State<Shared>, headers: HeaderMap) -> Result<Response, Problem> {
    if site.directory.sign_in_name().is_none() {
        return Err(Problem::missing("identity provider", "to sign in at"));
    }
    let redirect = redirect_address(&site, &headers);
    let start = site.directory.begin_sign_in(&redirect, &*site.app().random).await?;
    let headers = [(LOCATION, start.address), (SET_COOKIE, cookie(&site, &start.cookie, 600))];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

#[derive(Deserialize)]
struct Returned {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    error: String,
}

async fn end(
    State(site): State<Shared>,
    headers: HeaderMap,
    Queried(Returned { code, state, error }): Queried<Returned>,
) -> Result<Response, Problem> {
    let begun = super::door::cookie_named(&headers, COOKIE).unwrap_or_default();
    let signed_in = if error.is_empty() {
        let redirect = redirect_address(&site, &headers);
        site.directory.end_sign_in(&begun, &state, &code, &redirect).await
    } else {
        Err(crate::identity::Error::Token(format!("the provider refused: {error}")))
    };
    let identity = match signed_in {
        Ok(identity) => identity,
        Err(error) => {
            site.access.refused("provider").await?;
            let text = error.to_string();
            return Ok(redirect_document("/#/?refused=1", &text, &[cookie(&site, "", 0)]));
        }
    };
    site.access.signed_in(&identity).await?;
    let session = site.directory.provider_cookie(&identity.user, site.new_id()?);
    let session = super::admin::cookie(&site, &session, 43_200);
    Ok(redirect_document("/", "", &[session, cookie(&site, "", 0)]))
}

/// A document that navigates to the page, or shows why the sign-in failed.
fn redirect_document(to: &str, why: &str, cookies: &[String]) -> Response {
    let escaped: String =
        why.chars().map(|c| if c.is_alphanumeric() || " .,:()'`-".contains(c) { c } else { ' ' }).collect();
    let seconds = if why.is_empty() { 0 } else { 8 };
    let text = if why.is_empty() { "Signed in.".to_owned() } else { format!("Not signed in: {escaped}") };
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Steward</title>\
         <meta http-equiv=\"refresh\" content=\"{seconds};url={to}\"></head>\
         <body><p>{text}</p><p><a href=\"{to}\">Go on to Steward</a></p></body></html>"
    );
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response();
    for value in cookies.iter().filter_map(|cookie| cookie.parse().ok()) {
        response.headers_mut().append(SET_COOKIE, value);
    }
    response
}
