//! A read-only object store for the engine: heads, ranges and lists of remote objects.

use super::{HttpReader, HttpRequest, HttpResponse, Object, Traffic, azure, gcs, s3};
use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::ops::Range;
use std::sync::Arc;
use steward_journal::clock::{Clock as _, SystemClock};
use url::Url;

/// Maximum size of one response.
const MOST_BYTES: usize = 64 << 20;
/// Maximum number of list pages.
const MOST_PAGES: usize = 100;

/// A bucket or a web server.
#[derive(Clone)]
pub(super) struct RemoteStore {
    place: RemoteRoot,
    reader: Arc<dyn HttpReader>,
    traffic: Traffic,
    root: Url,
}

#[derive(Debug, Clone)]
enum RemoteRoot {
    S3(s3::Bucket),
    Azure(azure::Container),
    Gcs(gcs::Bucket),
    /// Scheme, host and port. The query string of the address is part of every request, because it
    /// may contain the access token.
    Web {
        base: String,
        query: Option<String>,
    },
}

impl std::fmt::Debug for RemoteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.root)
    }
}

impl std::fmt::Display for RemoteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.root)
    }
}

impl RemoteStore {
    pub(super) fn new(
        url: &Url,
        reader: Arc<dyn HttpReader>,
        traffic: Traffic,
    ) -> std::result::Result<Self, String> {
        let host =
            url.host_str().filter(|host| !host.is_empty()).ok_or("there is no bucket or host in it")?;
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let base = format!("{}://{host}{port}", url.scheme());
        let root = Url::parse(&base).map_err(|error| error.to_string())?;
        let variable = |name: &str| std::env::var(name).ok();
        let place = match url.scheme() {
            "s3" => RemoteRoot::S3(s3::Bucket::of(host, &variable)),
            "az" => RemoteRoot::Azure(azure::Container::of(host, &variable)?),
            "gs" => RemoteRoot::Gcs(gcs::Bucket::of(host, &variable)),
            _ => RemoteRoot::Web { base, query: url.query().map(str::to_owned) },
        };
        Ok(Self { place, reader, traffic, root })
    }

    /// The root URL of the store.
    pub(super) fn root(&self) -> Url {
        self.root.clone()
    }

    /// The key in a URL.
    pub(super) fn prefix(&self, url: &Url) -> String {
        let path = url.path().trim_start_matches('/');
        percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned()
    }

    /// The address of an object in the engine's terms.
    pub(super) fn url_of(&self, key: &str) -> String {
        let mut url = self.root.clone();
        url.set_path(key);
        url.to_string()
    }

    fn address(&self, key: &str) -> String {
        match &self.place {
            RemoteRoot::S3(bucket) => bucket.object(key),
            RemoteRoot::Azure(container) => container.object(key),
            RemoteRoot::Gcs(bucket) => bucket.object(key),
            RemoteRoot::Web { base, query } => {
                let mut url = Url::parse(base).unwrap_or_else(|_| self.root.clone());
                url.set_path(key);
                url.set_query(query.as_deref());
                url.to_string()
            }
        }
    }

    async fn request(&self, head: bool, url: String, range: Option<Range<u64>>) -> Result<HttpResponse> {
        let method = if head { "HEAD" } else { "GET" };
        let range = range.map(|range| format!("bytes={}-{}", range.start, range.end.saturating_sub(1)));
        let mut headers = match &self.place {
            RemoteRoot::S3(bucket) => bucket.sign(method, &url, &now().format("%Y%m%dT%H%M%SZ").to_string()),
            RemoteRoot::Azure(container) => container.headers(method, &url, range.as_deref(), now()),
            RemoteRoot::Gcs(bucket) => bucket.headers(),
            RemoteRoot::Web { .. } => Vec::new(),
        };
        headers.extend(range.map(|range| ("range".to_owned(), range)));
        let request = HttpRequest { head, url, headers, max_bytes: MOST_BYTES };
        let response = self.reader.read(request).await.map_err(|error| match &self.place {
            RemoteRoot::Azure(container) => generic(container.without_secret(&error)),
            _ => generic(error),
        })?;
        self.traffic.add(response.body.len() as u64);
        let (status, said) = (response.status, self.message(&response.body));
        let said = said.unwrap_or_else(|| format!("the server answered {status}"));
        match status {
            200..=299 if response.truncated => Err(generic("it is too large for one request")),
            200..=299 => Ok(response),
            404 => Err(Error::NotFound { path: self.to_string(), source: said.into() }),
            401 | 403 => Err(Error::PermissionDenied { path: self.to_string(), source: said.into() }),
            _ => Err(generic(&said)),
        }
    }

    /// The message of an error response.
    fn message(&self, body: &[u8]) -> Option<String> {
        match &self.place {
            RemoteRoot::Gcs(_) => gcs::message(body),
            _ => s3::message(body),
        }
    }

    /// One page of the list of objects; `None` for a web server, which has no lists.
    async fn page(&self, prefix: &str, after: Option<&str>) -> Result<Option<(Vec<Object>, Option<String>)>> {
        let (url, read): (String, fn(&[u8]) -> _) = match &self.place {
            RemoteRoot::S3(bucket) => (bucket.list(prefix, after), s3::page),
            RemoteRoot::Azure(container) => (container.list(prefix, after), azure::page),
            RemoteRoot::Gcs(bucket) => (bucket.list(prefix, after), gcs::page),
            RemoteRoot::Web { .. } => return Ok(None),
        };
        let response = self.request(false, url, None).await?;
        read(&response.body).map(Some).map_err(|error: String| generic(&error))
    }

    /// A part of an object, and the size of the whole. A server without range support returns all
    /// of it.
    pub(super) async fn part(&self, key: &str, range: Range<u64>) -> Result<(Bytes, u64)> {
        let response = match self.request(false, self.address(key), Some(range.clone())).await {
            // An empty object has no ranges.
            Err(Error::Generic { source, .. }) if source.to_string().contains("416") => {
                HttpResponse::default()
            }
            other => other?,
        };
        let total =
            response.headers.get("content-range").and_then(|range| range.rsplit('/').next()?.parse().ok());
        let body = Bytes::from(response.body);
        if response.status == 206 {
            return Ok((body.clone(), total.unwrap_or(range.start + body.len() as u64)));
        }
        let total = body.len() as u64;
        let end = range.end.min(total);
        Ok((body.slice(range.start.min(end) as usize..end as usize), total))
    }

    async fn meta(&self, key: &str) -> Result<ObjectMeta> {
        if matches!(self.place, RemoteRoot::Gcs(_)) {
            // A HEAD request of its JSON interface does not say the size of the content.
            let size = self.part(key, 0..1).await?.1;
            return Ok(meta(key, size, &HttpResponse::default()));
        }
        let response = self.request(true, self.address(key), None).await?;
        let number = |name: &str| response.headers.get(name).and_then(|value| value.parse::<u64>().ok());
        let size = match number("content-length") {
            Some(size) => size,
            None => self.part(key, 0..1).await?.1,
        };
        Ok(meta(key, size, &response))
    }

    /// Whether a bucket has objects whose keys have this prefix.
    pub(super) async fn has_any(&self, prefix: &str) -> Result<bool> {
        let page = self.page(prefix, None).await?;
        Ok(page.is_some_and(|(objects, _)| !objects.is_empty()))
    }

    /// The objects whose keys have this prefix; for a web server the named one.
    pub(super) async fn objects(&self, prefix: &str, most: usize) -> Result<Vec<Object>> {
        let (mut objects, mut after): (Vec<Object>, Option<String>) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let Some((page, next)) = self.page(prefix, after.as_deref()).await? else {
                return Ok(vec![Object { key: prefix.to_owned(), size: None }]);
            };
            objects.extend(page);
            if objects.len() > most {
                return Err(generic(format!("there are more than {most} objects below it. Name fewer")));
            }
            after = next;
            if after.is_none() {
                break;
            }
        }
        // `sales` names the object, or everything below `sales/`, but not `sales_old.csv`.
        let named = prefix.trim_end_matches('/');
        if objects.iter().any(|object| object.key == prefix) && !prefix.is_empty() {
            objects.retain(|object| object.key == prefix);
        } else if !named.is_empty() {
            objects.retain(|object| object.key.strip_prefix(named).is_some_and(|rest| rest.starts_with('/')));
        }
        objects.retain(|object| !object.key.ends_with('/'));
        Ok(objects)
    }
}

fn meta(key: &str, size: u64, response: &HttpResponse) -> ObjectMeta {
    let changed = response.headers.get("last-modified");
    let changed = changed.and_then(|text| DateTime::parse_from_rfc2822(text).ok());
    ObjectMeta {
        location: Path::from_iter(key.split('/')),
        last_modified: changed.map_or(DateTime::<Utc>::UNIX_EPOCH, |time| time.with_timezone(&Utc)),
        size,
        e_tag: response.headers.get("etag").cloned(),
        version: None,
    }
}

fn now() -> DateTime<Utc> {
    SystemClock::default().now().to_chrono()
}

fn generic(detail: impl AsRef<str>) -> Error {
    Error::Generic { store: "remote", source: detail.as_ref().to_owned().into() }
}

fn read_only<T>() -> Result<T> {
    Err(generic("sources are read and never written"))
}

#[async_trait]
impl ObjectStore for RemoteStore {
    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        read_only()
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        read_only()
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let key = key_of(location);
        if options.head {
            let meta = self.meta(&key).await?;
            let payload = GetResultPayload::Stream(stream::empty().boxed());
            return Ok(GetResult { payload, range: 0..0, meta, attributes: Attributes::default() });
        }
        let range = match &options.range {
            Some(GetRange::Bounded(range)) => range.clone(),
            Some(GetRange::Offset(start)) => *start..self.meta(&key).await?.size,
            Some(GetRange::Suffix(length)) => {
                let size = self.meta(&key).await?.size;
                size.saturating_sub(*length)..size
            }
            None => 0..self.meta(&key).await?.size,
        };
        let (bytes, total) = self.part(&key, range.clone()).await?;
        let range = range.start..range.start + bytes.len() as u64;
        let payload = GetResultPayload::Stream(stream::once(async { Ok(bytes) }).boxed());
        let meta = meta(&key, total, &HttpResponse::default());
        Ok(GetResult { payload, range, meta, attributes: Attributes::default() })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        locations.and_then(|_| async { read_only() }).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix) = (self.clone(), prefix.map(key_of).unwrap_or_default());
        let listed = async move {
            let prefix = if prefix.is_empty() { prefix } else { format!("{prefix}/") };
            let objects = store.objects(&prefix, super::MOST_OBJECTS).await?;
            let metas = objects.into_iter().map(|object| {
                Ok(meta(&object.key, object.size.unwrap_or_default(), &HttpResponse::default()))
            });
            Ok::<_, Error>(stream::iter(metas.collect::<Vec<_>>()))
        };
        stream::once(listed).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let (mut objects, mut folders) = (Vec::new(), std::collections::BTreeSet::new());
        let below = prefix.map(key_of).unwrap_or_default();
        let mut all = self.list(prefix);
        while let Some(object) = all.next().await {
            let object = object?;
            let key = key_of(&object.location);
            let rest = key.strip_prefix(&below).unwrap_or(&key).trim_start_matches('/').to_owned();
            match rest.split_once('/') {
                Some((folder, _)) => {
                    let parts = below.split('/').filter(|part| !part.is_empty()).chain([folder]);
                    folders.insert(Path::from_iter(parts));
                }
                None => objects.push(object),
            }
        }
        Ok(ListResult { common_prefixes: folders.into_iter().collect(), objects })
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        read_only()
    }
}

/// The key of a path. The engine's paths escape characters that S3 keys may contain.
fn key_of(path: &Path) -> String {
    percent_encoding::percent_decode_str(path.as_ref()).decode_utf8_lossy().into_owned()
}
