//! Files in buckets and on web servers: `s3://bucket/path`, `gs://bucket/path`,
//! `az://container/path`, `https://host/path`.
//!
//! Parquet is scanned in place, and only the needed parts of files are fetched. Everything else is
//! downloaded into the session's temporary folder, within the limit for unpacked files, and read
//! like a local file.
//!
//! Invariant: this crate opens no connection. All requests go through [`HttpReader`], which the
//! binary creates from the operator's list of allowed hosts; without one, no host can be reached.

mod azure;
mod gcs;
mod s3;
mod store;
mod xml;

use super::files::{self, Loaded};
use super::folder::partition;
use super::unpack::{self, Scratch};
use super::{Format, MAX_FILES, TableVersion, delta, detect, partitions, tabular};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::session::Options;
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use store::RemoteStore;
use url::Url;

/// An HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// Whether it is a HEAD request.
    pub head: bool,
    /// The address.
    pub url: String,
    /// Name and value of each header.
    pub headers: Vec<(String, String)>,
    /// Maximum length of the body; a longer one is an error.
    pub max_bytes: usize,
}

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpResponse {
    /// The status, such as 200.
    pub status: u16,
    /// Headers by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the body was truncated.
    pub truncated: bool,
}

/// The client for outbound HTTP.
#[async_trait]
pub trait HttpReader: Send + Sync {
    /// Makes a request, or returns why it was not made or failed.
    async fn read(&self, request: HttpRequest) -> std::result::Result<HttpResponse, String>;
}

static READER: OnceLock<Arc<dyn HttpReader>> = OnceLock::new();

/// Sets the HTTP client for remote files. Only the first call has an effect.
pub fn install(reader: Arc<dyn HttpReader>) {
    let _ = READER.set(reader);
}

/// Counts the bytes fetched for a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic(Arc<AtomicU64>);

impl Traffic {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The supported URL schemes.
pub(crate) const SCHEMES: [&str; 5] = ["s3", "gs", "az", "https", "http"];
/// The size of one request when a file is downloaded.
const PART: u64 = 8 << 20;
/// Maximum number of objects listed below an address.
const MOST_OBJECTS: usize = 20_000;

/// Profiles the data at an address.
pub(crate) async fn load(
    address: &str,
    engine: &Engine,
    options: &Options,
    scratch: &Arc<Scratch>,
    traffic: &Traffic,
) -> Result<Vec<Loaded>> {
    let wrong = |detail: String| Error::Source { what: shown(address), detail };
    let reader = READER.get().ok_or_else(|| wrong("this process reaches no other machines".to_owned()))?;
    let url = Url::parse(address).map_err(|error| wrong(error.to_string()))?;
    let store = Arc::new(RemoteStore::new(&url, reader.clone(), traffic.clone()).map_err(wrong)?);
    let root = store.root();
    engine.context().register_object_store(&root, store.clone());
    let prefix = store.prefix(&url);
    if let Some(table) = delta_table(&store, &url, &prefix, engine).await? {
        return Ok(vec![table]);
    }
    let mut objects = store.objects(&prefix, MOST_OBJECTS).await.map_err(|error| wrong(error.to_string()))?;
    let mut tables = delta_tables(&store, &mut objects, engine).await?;
    if objects.is_empty() && !tables.is_empty() {
        return Ok(tables);
    }
    let name_of = |key: &str| key.rsplit('/').next().unwrap_or(key).to_owned();
    if objects.len() > 1 || objects.iter().any(|object| object.key != prefix) {
        objects.retain(|object| {
            let name = name_of(&object.key);
            !unpack::is_litter(&name) && !name.starts_with('_') && detect::is_data_name(&name)
        });
    }
    if objects.is_empty() {
        return Err(wrong("there is no data that can be read".to_owned()));
    }
    let below = prefix.trim_end_matches('/').to_owned();
    let keys_of = |key: &str| -> Vec<String> {
        let inside = key.strip_prefix(&below).unwrap_or(key);
        inside.split('/').filter_map(partition).map(|(name, _)| name.to_owned()).collect()
    };
    let is_parquet = |key: &str| matches!(detect::ending(key).as_str(), "parquet" | "pq");
    let keys = objects.first().map(|object| keys_of(&object.key)).unwrap_or_default();
    let same = |object: &Object| keys_of(&object.key) == keys && is_parquet(&object.key);
    if !keys.is_empty() && objects.iter().all(same) {
        let files: Vec<std::path::PathBuf> = objects.iter().map(|object| object.key.clone().into()).collect();
        let folder = partitions::Partitions {
            path: Path::new(&below),
            files: &files,
            format: Format::Parquet,
            keys: &keys,
        };
        tables.push(folder.load_at(&root, engine).await?);
        return Ok(tables);
    }
    if objects.len() > MAX_FILES {
        return Err(wrong(format!("there are more than {MAX_FILES} files. Name fewer")));
    }
    for object in objects {
        let name = name_of(&object.key);
        if is_parquet(&object.key) {
            let address = store.url_of(&object.key);
            tables.push(tabular::parquet_at(&address, &detect::stem(&name), engine).await?);
            continue;
        }
        let place = download(&store, &object, &name, scratch).await?;
        let format = detect::detect(&place, &name)?
            .ok_or_else(|| wrong(format!("{name} is a SQLite database. Copy it to this machine first")))?;
        let loaded = files::load(&place, format, engine, options, scratch).await;
        for table in loaded.map_err(|error| error.at(Path::new(&name)))? {
            let stem = if table.stem == detect::stem(&place.to_string_lossy()) {
                detect::stem(&name)
            } else {
                table.stem
            };
            tables.push(Loaded { stem, ..table });
        }
    }
    Ok(tables)
}

/// A Delta table in a bucket, if that is what an address names: `s3://bucket/table`,
/// `s3://bucket/table@v3`.
async fn delta_table(
    store: &RemoteStore,
    url: &Url,
    prefix: &str,
    engine: &Engine,
) -> Result<Option<Loaded>> {
    let address = shown(url.as_str());
    let (key, version) = match TableVersion::split(prefix) {
        Some((key, version)) => (key, Some(version)),
        None => (prefix, None),
    };
    let key = key.trim_end_matches('/');
    let log = format!("{key}/{}/", delta::LOG_FOLDER);
    if store
        .has_any(log.trim_start_matches('/'))
        .await
        .map_err(|error| Error::Source { what: address.clone(), detail: error.to_string() })?
    {
        let folder = delta::TableFolder::remote(&address, &store.root(), key, engine)?;
        return Box::pin(delta::load(&folder, version, engine)).await.map(Some);
    }
    Ok(None)
}

/// The Delta tables below an address. Their files are taken from the list.
async fn delta_tables(
    store: &RemoteStore,
    objects: &mut Vec<Object>,
    engine: &Engine,
) -> Result<Vec<Loaded>> {
    let log = format!("/{}/", delta::LOG_FOLDER);
    let keys: BTreeSet<String> =
        objects.iter().filter_map(|object| Some(object.key.split_once(&log)?.0.to_owned())).collect();
    let mut tables = Vec::new();
    for key in &keys {
        let folder = delta::TableFolder::remote(&store.url_of(key), &store.root(), key, engine)?;
        tables.push(Box::pin(delta::load(&folder, None, engine)).await?);
    }
    let is_inside = |object: &Object, key: &String| {
        object.key.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    objects.retain(|object| !keys.iter().any(|key| is_inside(object, key)));
    Ok(tables)
}

/// A file of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    key: String,
    size: Option<u64>,
}

/// Downloads a file into the temporary folder.
async fn download(
    store: &RemoteStore,
    object: &Object,
    name: &str,
    scratch: &Arc<Scratch>,
) -> Result<std::path::PathBuf> {
    let wrong = |detail: String| Error::File { path: name.into(), detail };
    let folder = scratch.fresh().map_err(|error| wrong(error.to_string()))?;
    let place = folder.join(name);
    let mut file = std::fs::File::create(&place).map_err(|error| wrong(error.to_string()))?;
    let mut at = 0;
    loop {
        let (bytes, total) =
            store.part(&object.key, at..at + PART).await.map_err(|error| wrong(error.to_string()))?;
        if total > scratch.most() {
            let detail = format!("it has {} MB, more than may be fetched", total >> 20);
            return Err(Error::Unpacked { path: name.into(), detail });
        }
        file.write_all(&bytes).map_err(|error| wrong(error.to_string()))?;
        at += bytes.len() as u64;
        if bytes.is_empty() || at >= total {
            return Ok(place);
        }
    }
}

/// The address without parts that may contain a secret.
pub(crate) fn shown(address: &str) -> String {
    crate::database::redact(address)
}
