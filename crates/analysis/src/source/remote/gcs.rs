//! Google Cloud Storage: addresses of its JSON interface, and lists of objects.

use super::Object;
use super::s3::QUERY;
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use std::fmt::Write as _;

/// A bucket, and its credentials.
#[derive(Clone)]
pub(super) struct Bucket {
    /// The address of the list of its objects.
    base: String,
    token: Option<String>,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bucket").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Bucket {
    /// A bucket from environment variables. Without a token, requests are not authenticated, which is
    /// enough for public buckets.
    pub(super) fn of(name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let first =
            |names: &[&str]| names.iter().find_map(|name| variable(name)).filter(|value| !value.is_empty());
        let endpoint = first(&["STORAGE_EMULATOR_HOST"]);
        let endpoint = endpoint.unwrap_or_else(|| "https://storage.googleapis.com".to_owned());
        let base =
            format!("{}/storage/v1/b/{}/o", endpoint.trim_end_matches('/'), utf8_percent_encode(name, QUERY));
        Self { base, token: first(&["GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"]) }
    }

    /// The address of the content of an object.
    pub(super) fn object(&self, key: &str) -> String {
        format!("{}/{}?alt=media", self.base, utf8_percent_encode(key, QUERY))
    }

    /// The address of one page of the list of objects.
    pub(super) fn list(&self, prefix: &str, after: Option<&str>) -> String {
        let prefix = utf8_percent_encode(prefix, QUERY);
        let mut address = format!("{}?prefix={prefix}", self.base);
        if let Some(token) = after {
            let _ = write!(address, "&pageToken={}", utf8_percent_encode(token, QUERY));
        }
        address
    }

    /// The headers of a request.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        let bearer = |token: &String| ("authorization".to_owned(), format!("Bearer {token}"));
        self.token.iter().map(bearer).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    items: Vec<Item>,
    #[serde(default)]
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    name: String,
    /// A number as text.
    #[serde(default)]
    size: Option<String>,
}

/// A page of a list: its objects, and the token of the next page.
pub(super) fn page(json: &[u8]) -> Result<(Vec<Object>, Option<String>), String> {
    let page: Page = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let object = |item: Item| Object { key: item.name, size: item.size.and_then(|size| size.parse().ok()) };
    Ok((page.items.into_iter().map(object).collect(), page.next_page_token.filter(|token| !token.is_empty())))
}

/// The message of an error response.
pub(super) fn message(json: &[u8]) -> Option<String> {
    let said: serde_json::Value = serde_json::from_slice(json).ok()?;
    Some(said.pointer("/error/message")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_json_interface_and_no_token_is_shown() {
        let bucket =
            Bucket::of("data", &|name| (name == "GOOGLE_OAUTH_ACCESS_TOKEN").then(|| "SECRET".to_owned()));
        assert_eq!(
            bucket.object("a/é"),
            "https://storage.googleapis.com/storage/v1/b/data/o/a%2F%C3%A9?alt=media"
        );
        assert_eq!(
            bucket.list("a/", Some("t=")),
            "https://storage.googleapis.com/storage/v1/b/data/o?prefix=a%2F&pageToken=t%3D"
        );
        assert_eq!(bucket.headers(), [("authorization".to_owned(), "Bearer SECRET".to_owned())]);
        assert!(!format!("{bucket:?}").contains("SECRET"));
        assert!(Bucket::of("data", &|_| None).headers().is_empty());
    }

    #[test]
    fn lists_and_errors_are_read() {
        let (objects, next) = page(br#"{"items":[{"name":"a/b","size":"3"}],"nextPageToken":"t"}"#).unwrap();
        assert_eq!(objects, [Object { key: "a/b".to_owned(), size: Some(3) }]);
        assert_eq!(next.as_deref(), Some("t"));
        assert_eq!(page(b"{}").unwrap(), (Vec::new(), None));
        assert!(page(b"<html>").is_err());
        assert_eq!(message(br#"{"error":{"code":403,"message":"no access"}}"#).as_deref(), Some("no access"));
    }
}
