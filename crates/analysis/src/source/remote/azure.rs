//! Azure Blob Storage: addresses, request signing (Shared Key) or a shared access signature, and lists
//! of blobs.

use super::s3::{PATH, QUERY, mac};
use super::{Object, xml};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use percent_encoding::utf8_percent_encode;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use url::Url;

/// The version of the service's interface.
const VERSION: &str = "2021-12-02";

/// A container of an account, and its credentials.
#[derive(Clone)]
pub(super) struct Container {
    /// The address of the container, without a slash at the end.
    base: String,
    account: String,
    key: Option<Vec<u8>>,
    /// A shared access signature, which is part of every address.
    signature: Option<String>,
}

impl std::fmt::Debug for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Container").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Container {
    /// A container from environment variables of Azure's own tools. Without a key or a signature,
    /// requests are not signed, which is enough for public containers.
    pub(super) fn of(name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let first =
            |names: &[&str]| names.iter().find_map(|name| variable(name)).filter(|value| !value.is_empty());
        let account = first(&["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"])
            .ok_or("set AZURE_STORAGE_ACCOUNT to the name of the storage account")?;
        let endpoint = match first(&["AZURE_STORAGE_ENDPOINT"]) {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => format!("https://{account}.blob.core.windows.net"),
        };
        let key = first(&["AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"])
            .map(|key| STANDARD.decode(key).map_err(|_| "AZURE_STORAGE_KEY is not a key: it is not Base64"))
            .transpose()?;
        let signature = first(&["AZURE_STORAGE_SAS_TOKEN"]);
        let signature = signature.map(|text| text.trim_start_matches('?').to_owned());
        Ok(Self { base: format!("{endpoint}/{name}"), account, key, signature })
    }

    /// The address of a blob.
    pub(super) fn object(&self, key: &str) -> String {
        self.signed(format!("{}/{}", self.base, utf8_percent_encode(key, PATH)), '?')
    }

    /// The address of one page of the list of blobs.
    pub(super) fn list(&self, prefix: &str, after: Option<&str>) -> String {
        let prefix = utf8_percent_encode(prefix, QUERY);
        let mut address = format!("{}?comp=list&prefix={prefix}&restype=container", self.base);
        if let Some(marker) = after {
            let _ = write!(address, "&marker={}", utf8_percent_encode(marker, QUERY));
        }
        self.signed(address, '&')
    }

    fn signed(&self, address: String, mark: char) -> String {
        match &self.signature {
            Some(signature) => format!("{address}{mark}{signature}"),
            None => address,
        }
    }

    /// A message without the signature.
    pub(super) fn without_secret(&self, text: &str) -> String {
        match &self.signature {
            Some(signature) => text.replace(signature.as_str(), "..."),
            None => text.to_owned(),
        }
    }

    /// The headers of a request, signed with the account's key.
    pub(super) fn headers(
        &self,
        method: &str,
        address: &str,
        range: Option<&str>,
        now: DateTime<Utc>,
    ) -> Vec<(String, String)> {
        let date = now.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let mut headers =
            vec![("x-ms-date".to_owned(), date), ("x-ms-version".to_owned(), VERSION.to_owned())];
        let (Some(key), None, Ok(url)) = (&self.key, &self.signature, Url::parse(address)) else {
            return headers;
        };
        let named: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let mut resource = format!("/{}{}", self.account, url.path());
        let query: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        for (name, value) in query {
            let _ = write!(resource, "\n{name}:{value}");
        }
        // Eleven standard headers, of which only the range is sent.
        let text = format!("{method}\n{}{}\n{named}{resource}", "\n".repeat(10), range.unwrap_or_default());
        let signature = STANDARD.encode(mac(key, text.as_bytes()));
        headers.push(("authorization".to_owned(), format!("SharedKey {}:{signature}", self.account)));
        headers
    }
}

/// A page of a list: its blobs, and the marker of the next page.
pub(super) fn page(xml: &[u8]) -> Result<(Vec<Object>, Option<String>), String> {
    let (mut objects, mut next) = (Vec::new(), None);
    let (mut key, mut size) = (String::new(), None);
    xml::each_element(xml, &mut |path, text| match path {
        [.., "Blob", "Name"] => key = text,
        [.., "Blob", "Properties", "Content-Length"] => size = text.parse().ok(),
        [.., "Blobs", "Blob"] => objects.push(Object { key: std::mem::take(&mut key), size: size.take() }),
        [_, "NextMarker"] if !text.is_empty() => next = Some(text),
        _ => {}
    })?;
    Ok((objects, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(settings: &'static [(&str, &str)]) -> Result<Container, String> {
        let value = |name: &str| {
            settings.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Container::of("data", &value)
    }

    #[test]
    fn addresses_have_the_account_and_no_secret_is_shown() {
        let public = container(&[("AZURE_STORAGE_ACCOUNT", "shop")]).unwrap();
        assert_eq!(
            public.object("a b/c=1/é.csv"),
            "https://shop.blob.core.windows.net/data/a%20b/c%3D1/%C3%A9.csv"
        );
        assert_eq!(
            public.headers("GET", &public.object("a"), None, DateTime::UNIX_EPOCH).len(),
            2,
            "there is no key"
        );
        let signed =
            container(&[("AZURE_STORAGE_ACCOUNT", "shop"), ("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=SECRET")])
                .unwrap();
        let list = signed.list("x/", Some("m="));
        assert_eq!(
            list,
            "https://shop.blob.core.windows.net/data?comp=list&prefix=x%2F&restype=container&marker=m%3D&sv=1&sig=SECRET"
        );
        assert!(!signed.without_secret(&format!("{list} is not reached")).contains("SECRET"));
        assert!(!format!("{signed:?}").contains("SECRET"));
        let keyed =
            container(&[("AZURE_STORAGE_ACCOUNT", "shop"), ("AZURE_STORAGE_KEY", "U0VDUkVU")]).unwrap();
        assert!(!format!("{keyed:?}").contains("SECRET") && !format!("{keyed:?}").contains("U0VD"));
        let headers = keyed.headers("GET", &keyed.object("a"), Some("bytes=0-9"), DateTime::UNIX_EPOCH);
        assert!(
            headers
                .iter()
                .any(|(name, value)| name == "authorization" && value.starts_with("SharedKey shop:"))
        );
        assert!(container(&[]).unwrap_err().contains("AZURE_STORAGE_ACCOUNT"));
        let wrong =
            container(&[("AZURE_STORAGE_ACCOUNT", "shop"), ("AZURE_STORAGE_KEY", "***")]).unwrap_err();
        assert!(wrong.contains("AZURE_STORAGE_KEY") && !wrong.contains("***"));
    }

    #[test]
    fn a_list_of_blobs_is_read() {
        let xml = "\u{feff}<?xml version=\"1.0\"?><EnumerationResults><Prefix>x</Prefix><Blobs><Blob><Name>a&amp;b/f.csv</Name>\
            <Properties><Content-Length>12</Content-Length></Properties></Blob><Blob><Name>c</Name></Blob></Blobs>\
            <NextMarker>t=</NextMarker></EnumerationResults>";
        let (objects, next) = page(xml.as_bytes()).unwrap();
        let object = |key: &str, size| Object { key: key.to_owned(), size };
        assert_eq!(objects, [object("a&b/f.csv", Some(12)), object("c", None)]);
        assert_eq!(next.as_deref(), Some("t="));
        let last = "<EnumerationResults><Blobs /><NextMarker></NextMarker></EnumerationResults>";
        assert_eq!(page(last.as_bytes()).unwrap(), (Vec::new(), None));
        assert!(page(&b"<a>".repeat(1000)).is_err(), "it is nested deeply");
    }
}
