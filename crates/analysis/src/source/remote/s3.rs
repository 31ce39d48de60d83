//! S3 buckets: addresses, request signing (AWS Signature Version 4), and lists of objects.

use super::{Object, xml};
use hmac::{Hmac, KeyInit as _, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use url::Url;

/// Characters that are not escaped in an S3 path.
pub(super) const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
/// Characters that are not escaped in a query value.
pub(super) const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The SHA-256 of an empty body.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The address of a bucket, and the credentials.
#[derive(Debug, Clone)]
pub(super) struct Bucket {
    /// The address of the bucket, without a slash at the end.
    base: String,
    region: String,
    credentials: Option<Credentials>,
}

#[derive(Clone)]
struct Credentials {
    id: String,
    secret: String,
    token: Option<String>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Bucket {
    /// A bucket from environment variables: `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID`
    /// and others of AWS. Without a key, requests are not signed, which is enough for public
    /// buckets.
    pub(super) fn of(name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let first =
            |names: &[&str]| names.iter().find_map(|name| variable(name)).filter(|value| !value.is_empty());
        let region = first(&["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_else(|| "us-east-1".to_owned());
        let base = match first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]) {
            Some(endpoint) => format!("{}/{name}", endpoint.trim_end_matches('/')),
            None => format!("https://{name}.s3.{region}.amazonaws.com"),
        };
        let credentials = first(&["AWS_ACCESS_KEY_ID"])
            .zip(first(&["AWS_SECRET_ACCESS_KEY"]))
            .map(|(id, secret)| Credentials { id, secret, token: first(&["AWS_SESSION_TOKEN"]) });
        Self { base, region, credentials }
    }

    /// The address of an object.
    pub(super) fn object(&self, key: &str) -> String {
        format!("{}/{}", self.base, utf8_percent_encode(key, PATH))
    }

    /// The address of one page of the object list.
    pub(super) fn list(&self, prefix: &str, after: Option<&str>) -> String {
        // Sorted by name, as the signature requires.
        let mut query = String::new();
        if let Some(token) = after {
            let _ = write!(query, "continuation-token={}&", utf8_percent_encode(token, QUERY));
        }
        let _ = write!(query, "list-type=2&prefix={}", utf8_percent_encode(prefix, QUERY));
        format!("{}/?{query}", self.base)
    }

    /// The headers of a signed request, at a time such as `20240131T235959Z`.
    pub(super) fn sign(&self, method: &str, address: &str, time: &str) -> Vec<(String, String)> {
        let (Some(credentials), Ok(url)) = (&self.credentials, Url::parse(address)) else {
            return Vec::new();
        };
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            _ => return Vec::new(),
        };
        let mut headers = vec![
            ("x-amz-content-sha256".to_owned(), EMPTY.to_owned()),
            ("x-amz-date".to_owned(), time.to_owned()),
        ];
        headers.extend(credentials.token.clone().map(|token| ("x-amz-security-token".to_owned(), token)));
        let mut signed = vec![("host".to_owned(), host)];
        signed.extend(headers.clone());
        let names = signed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
        let lines: String = signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let request = format!(
            "{method}\n{}\n{}\n{lines}\n{names}\n{EMPTY}",
            url.path(),
            url.query().unwrap_or_default()
        );
        let day = time.get(..8).unwrap_or(time);
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(request.as_bytes())));
        let mut key = mac(format!("AWS4{}", credentials.secret).as_bytes(), day.as_bytes());
        for part in [self.region.as_str(), "s3", "aws4_request"] {
            key = mac(&key, part.as_bytes());
        }
        let signature = hex(&mac(&key, text.as_bytes()));
        let said = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            credentials.id
        );
        headers.push(("authorization".to_owned(), said));
        headers
    }
}

pub(super) fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    // HMAC accepts keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A page of a list: its objects, and the token of the next page.
pub(super) fn page(xml: &[u8]) -> Result<(Vec<Object>, Option<String>), String> {
    let (mut objects, mut next) = (Vec::new(), None);
    let (mut key, mut size) = (String::new(), None);
    xml::each_element(xml, &mut |path, text| match path {
        [.., "Contents", "Key"] => key = text,
        [.., "Contents", "Size"] => size = text.parse().ok(),
        ["ListBucketResult", "NextContinuationToken"] => next = Some(text),
        [.., "Contents"] => objects.push(Object { key: std::mem::take(&mut key), size: size.take() }),
        _ => {}
    })?;
    Ok((objects, next))
}

/// The message of an error response.
pub(super) fn message(xml: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(xml).ok()?;
    let part = |tag: &str| {
        let rest = text.split_once(&format!("<{tag}>"))?.1;
        Some(rest.split_once(&format!("</{tag}>"))?.0.to_owned())
    };
    let code = part("Code")?;
    Some(part("Message").map_or_else(|| code.clone(), |message| format!("{code}: {message}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of AWS's own documentation ("GET Object" and "List objects" of Signature Version
    /// 4).
    #[test]
    fn a_signature_is_that_of_the_documentation() {
        let variable = |name: &str| {
            let value = match name {
                "AWS_ACCESS_KEY_ID" => "AKIAIOSFODNN7EXAMPLE",
                "AWS_SECRET_ACCESS_KEY" => "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                "AWS_REGION" => "us-east-1",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let bucket = Bucket {
            base: "https://examplebucket.s3.amazonaws.com".to_owned(),
            ..Bucket::of("examplebucket", &variable)
        };
        let address = "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J";
        let headers = bucket.sign("GET", address, "20130524T000000Z");
        let said = headers.iter().find(|(name, _)| name == "authorization").unwrap();
        assert!(
            said.1.ends_with("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
            "{}",
            said.1
        );
        assert!(!format!("{bucket:?}").contains("wJalrX"), "a secret is shown");
    }

    #[test]
    fn a_list_of_objects_is_read() {
        let xml = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Prefix>x</Prefix>\
            <Contents><Key>a&amp;b/year=2024/f &#233;.parquet</Key><Size>12</Size></Contents>\
            <Contents><Key>c.csv</Key><Size>0</Size></Contents>\
            <NextContinuationToken>t=</NextContinuationToken></ListBucketResult>";
        let (objects, next) = page(xml.as_bytes()).unwrap();
        let object = |key: &str, size| Object { key: key.to_owned(), size: Some(size) };
        assert_eq!(objects, [object("a&b/year=2024/f é.parquet", 12), object("c.csv", 0)]);
        assert_eq!(next.as_deref(), Some("t="));
        let refused = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
        assert_eq!(message(refused.as_bytes()).as_deref(), Some("AccessDenied: Access Denied"));
    }

    #[test]
    fn addresses_are_written_as_they_are_signed() {
        let bucket = Bucket::of("data", &|_| None);
        assert_eq!(
            bucket.object("a b/c=1/é.csv"),
            "https://data.s3.us-east-1.amazonaws.com/a%20b/c%3D1/%C3%A9.csv"
        );
        assert_eq!(
            bucket.list("a/b", Some("x/y=")),
            "https://data.s3.us-east-1.amazonaws.com/?continuation-token=x%2Fy%3D&list-type=2&prefix=a%2Fb"
        );
        assert!(bucket.sign("GET", &bucket.object("a"), "20130524T000000Z").is_empty(), "there is no key");
    }
}
