//! The log of a table: commits as lines of JSON, and checkpoints as Parquet or JSON.

use super::action::{Action, AddFile, CommitInfo, FileKey, Metadata, Protocol};
use super::{TableFolder, TableVersion};
use crate::error::Result;
use chrono::{DateTime, SecondsFormat, Utc};
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::object_store::path::Path as StorePath;
use datafusion::object_store::{ObjectStore as _, ObjectStoreExt as _};
use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use futures_util::{StreamExt as _, TryStreamExt as _};
use std::collections::{BTreeMap, BTreeSet};

/// The folder of the log.
pub(crate) const LOG_FOLDER: &str = "_delta_log";
/// Maximum number of files of the log, and of data files of a table.
const MOST_COMMITS: usize = 100_000;
const MOST_FILES: usize = 200_000;
/// Maximum size of one file of the log.
const MOST_BYTES: u64 = 512 << 20;
/// The size of one request when a file of the log is fetched.
const PART: u64 = 8 << 20;
/// Commits that are fetched at once.
const TOGETHER: usize = 8;
/// Reader features that are known here.
const FEATURES: [&str; 7] = [
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    // Tables declare these whether or not a column has such a type; a column that has is refused.
    "variantType",
    "variantType-preview",
];
/// The columns of a checkpoint that are read.
const COLUMNS: [&str; 8] = [
    "add.path",
    "add.partitionValues",
    "add.size",
    "add.stats",
    "add.deletionVector",
    "metaData",
    "protocol",
    "sidecar",
];

/// A version of a table.
pub(super) struct Snapshot {
    pub(super) version: u64,
    /// When it was written, if its log says so.
    written: Option<DateTime<Utc>>,
    pub(super) metadata: Metadata,
    pub(super) files: BTreeMap<FileKey, AddFile>,
}

impl Snapshot {
    /// The number of rows, if the log has that of every file.
    pub(super) fn rows(&self) -> Option<u64> {
        let rows = |file: &AddFile| {
            let deleted = file.deletion_vector.as_ref().map_or(0, |vector| vector.cardinality);
            file.statistics().num_records?.checked_sub(deleted)
        };
        self.files.values().map(rows).sum()
    }

    pub(super) fn described(&self) -> String {
        match self.written {
            Some(time) => {
                format!("version {} of {}", self.version, time.to_rfc3339_opts(SecondsFormat::Secs, true))
            }
            None => format!("version {}", self.version),
        }
    }
}

/// What is in the folder of a log.
#[derive(Default)]
struct Listing {
    commits: BTreeSet<u64>,
    /// The files of checkpoints, by version and number of parts.
    checkpoints: BTreeMap<u64, BTreeMap<usize, BTreeSet<String>>>,
}

/// The state while the log is replayed.
#[derive(Default)]
struct Replay {
    metadata: Option<Metadata>,
    protocol: Option<Protocol>,
    files: BTreeMap<FileKey, AddFile>,
    info: Option<CommitInfo>,
    sidecars: Vec<String>,
}

/// Reads a version of a table from its log.
pub(super) async fn read(folder: &TableFolder, version: Option<TableVersion>) -> Result<Snapshot> {
    let listing = list(folder).await?;
    let version = match version {
        None => listing.newest().ok_or_else(|| folder.refused("its log is empty"))?,
        Some(TableVersion::Number(number)) => number,
        Some(TableVersion::Time(time)) => version_at(folder, &listing, time).await?,
    };
    let mut replay = Replay::default();
    let checkpoint = listing.checkpoint_before(version);
    if let Some((_, files)) = &checkpoint {
        for file in files {
            replay.add_all(folder, checkpoint_file(folder, file).await?)?;
        }
        for sidecar in std::mem::take(&mut replay.sidecars) {
            let path = sidecar_path(folder, &sidecar)?;
            replay.add_all(folder, parquet_actions(folder, &fetch(folder, &path).await?)?)?;
        }
        replay.info = None;
    }
    let first = checkpoint.as_ref().map_or(0, |(at, _)| at + 1);
    if let Some(missing) = (first..=version).find(|number| !listing.commits.contains(number)) {
        return Err(folder.refused(listing.not_there(version, missing)));
    }
    let commits = futures_util::stream::iter(first..=version).map(|number| commit(folder, number));
    let mut commits = commits.buffered(TOGETHER);
    while let Some(actions) = commits.try_next().await? {
        replay.info = None;
        replay.add_all(folder, actions)?;
    }
    drop(commits);
    // A version that is a checkpoint has the time in its commit, if that is still there.
    if first > version && listing.commits.contains(&version) {
        replay.info = commit(folder, version).await?.into_iter().find_map(|action| action.commit_info);
    }
    replay.finish(folder, version)
}

impl Replay {
    fn add_all(&mut self, folder: &TableFolder, actions: Vec<Action>) -> Result<()> {
        for action in actions {
            if let Some(removed) = &action.remove {
                self.files.remove(&removed.key());
            }
            if let Some(added) = action.add {
                self.files.insert(added.key(), added);
            }
            self.metadata = action.meta_data.or(self.metadata.take());
            self.protocol = action.protocol.or(self.protocol.take());
            self.info = action.commit_info.or(self.info.take());
            self.sidecars.extend(action.sidecar.map(|sidecar| sidecar.path));
        }
        if self.files.len() > MOST_FILES {
            return Err(folder.refused(format!("it has more than {MOST_FILES} files")));
        }
        Ok(())
    }

    fn finish(self, folder: &TableFolder, version: u64) -> Result<Snapshot> {
        let protocol = self.protocol.ok_or_else(|| folder.broken("its log has no protocol"))?;
        let metadata = self.metadata.ok_or_else(|| folder.broken("its log has no columns"))?;
        let needed = protocol.reader_features.unwrap_or_default();
        let unknown: Vec<&str> =
            needed.iter().map(String::as_str).filter(|feature| !FEATURES.contains(feature)).collect();
        if !unknown.is_empty() || protocol.min_reader_version > 3 {
            let what = if unknown.is_empty() {
                format!("reader version {}", protocol.min_reader_version)
            } else {
                unknown.join(", ")
            };
            return Err(folder.refused(format!("it needs what is not read here: {what}")));
        }
        if metadata.format.as_ref().is_some_and(|format| format.provider != "parquet") {
            return Err(folder.refused("its files are not Parquet"));
        }
        let written = self.info.and_then(CommitInfo::time);
        Ok(Snapshot { version, written, metadata, files: self.files })
    }
}

impl CommitInfo {
    fn time(self) -> Option<DateTime<Utc>> {
        self.in_commit_timestamp.or(self.timestamp).and_then(DateTime::from_timestamp_millis)
    }
}

impl Listing {
    fn newest(&self) -> Option<u64> {
        self.commits.last().copied().max(self.checkpoints.last_key_value().map(|(version, _)| *version))
    }

    /// The newest complete checkpoint up to a version.
    fn checkpoint_before(&self, version: u64) -> Option<(u64, Vec<String>)> {
        let complete = |parts: &BTreeMap<usize, BTreeSet<String>>| {
            let found = parts.iter().find(|(count, files)| files.len() >= **count)?;
            // Of several single files, each is the whole checkpoint.
            let needed = if *found.0 == 1 { 1 } else { found.1.len() };
            Some(found.1.iter().take(needed).cloned().collect())
        };
        self.checkpoints.range(..=version).rev().find_map(|(at, parts)| Some((*at, complete(parts)?)))
    }

    /// Why a version cannot be read.
    fn not_there(&self, version: u64, missing: u64) -> String {
        let newest = self.newest().unwrap_or_default();
        if version > newest {
            return format!("it has no version {version}; the newest is {newest}");
        }
        let readable = (0..=newest).find(|number| {
            let from = self.checkpoint_before(*number).map_or(0, |(at, _)| at + 1);
            (from..=*number).all(|number| self.commits.contains(&number))
        });
        match readable {
            Some(oldest) if oldest > version => {
                format!("version {version} was cleaned up; the oldest that can be read is {oldest}")
            }
            _ => format!("version {missing} is missing in its log"),
        }
    }
}

async fn list(folder: &TableFolder) -> Result<Listing> {
    let prefix = folder.child(LOG_FOLDER)?;
    let mut files = folder.store.list(Some(&prefix));
    let mut listing = Listing::default();
    let mut count = 0;
    while let Some(file) = files.try_next().await.map_err(|error| folder.refused(error.to_string()))? {
        let inside: Vec<_> = file.location.prefix_match(&prefix).into_iter().flatten().collect();
        let [name] = inside.as_slice() else { continue };
        listing.add(name.as_ref());
        count += 1;
        if count > MOST_COMMITS {
            return Err(folder.refused(format!("its log has more than {MOST_COMMITS} files")));
        }
    }
    Ok(listing)
}

impl Listing {
    /// Sorts a file of the log by its name: `00000000000000000003.json`,
    /// `00000000000000000003.checkpoint.parquet`, `….checkpoint.0000000001.0000000002.parquet`,
    /// `….checkpoint.UUID.parquet`.
    fn add(&mut self, name: &str) {
        let parts: Vec<&str> = name.split('.').collect();
        let version = |text: &str| (text.len() == 20).then(|| text.parse::<u64>().ok()).flatten();
        let Some(version) = parts.first().and_then(|first| version(first)) else { return };
        let mut checkpoint = |of: usize| {
            let parts = self.checkpoints.entry(version).or_default();
            parts.entry(of).or_default().insert(name.to_owned());
        };
        match parts.as_slice() {
            [_, "json"] => {
                self.commits.insert(version);
            }
            [_, "checkpoint", "parquet"] | [_, "checkpoint", _, "parquet" | "json"] => checkpoint(1),
            [_, "checkpoint", _, of, "parquet"] => {
                if let Some(of) = of.parse().ok().filter(|of| *of > 0) {
                    checkpoint(of);
                }
            }
            _ => {}
        }
    }
}

/// The version that was the newest at a time.
async fn version_at(folder: &TableFolder, listing: &Listing, time: DateTime<Utc>) -> Result<u64> {
    let commits: Vec<u64> = listing.commits.iter().copied().collect();
    let written = async |number: u64| {
        let info = commit(folder, number).await?.into_iter().find_map(|action| action.commit_info);
        let time = info.and_then(CommitInfo::time);
        time.ok_or_else(|| folder.refused(format!("its log does not say when version {number} was written")))
    };
    // Times grow with the version: those before `low` are not later than the time asked for.
    let (mut low, mut high) = (0, commits.len());
    while low < high {
        let middle = low.midpoint(high);
        let Some(number) = commits.get(middle) else { break };
        if written(*number).await? <= time { low = middle + 1 } else { high = middle }
    }
    if let Some(found) = low.checked_sub(1).and_then(|place| commits.get(place)) {
        return Ok(*found);
    }
    let shown = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Secs, true);
    Err(folder.refused(match commits.first() {
        Some(first) => format!(
            "its log has nothing from {}; it begins with version {first} of {}",
            shown(time),
            shown(written(*first).await?)
        ),
        None => "its log has no commits, so a version cannot be found by time".to_owned(),
    }))
}

async fn commit(folder: &TableFolder, number: u64) -> Result<Vec<Action>> {
    let path = folder.child(&format!("{LOG_FOLDER}/{number:020}.json"))?;
    json_actions(folder, &fetch(folder, &path).await?)
}

async fn checkpoint_file(folder: &TableFolder, name: &str) -> Result<Vec<Action>> {
    let path = folder.child(&format!("{LOG_FOLDER}/{name}"))?;
    let bytes = fetch(folder, &path).await?;
    if name.ends_with(".json") { json_actions(folder, &bytes) } else { parquet_actions(folder, &bytes) }
}

/// A sidecar is in the folder of sidecars, whatever is written in front of its name.
fn sidecar_path(folder: &TableFolder, written: &str) -> Result<StorePath> {
    let name = written.rsplit('/').next().unwrap_or(written);
    folder.data_file(&format!("{LOG_FOLDER}/_sidecars/{name}"))
}

fn json_actions(folder: &TableFolder, bytes: &[u8]) -> Result<Vec<Action>> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let parsed = lines.map(serde_json::from_slice::<Action>);
    parsed.collect::<std::result::Result<_, _>>().map_err(|error| folder.broken(format!("its log: {error}")))
}

fn parquet_actions(folder: &TableFolder, bytes: &[u8]) -> Result<Vec<Action>> {
    let broken = |error: &dyn std::fmt::Display| folder.broken(format!("a checkpoint of its log: {error}"));
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|error| broken(&error))?;
    let mask = ProjectionMask::columns(reader.parquet_schema(), COLUMNS);
    let reader = reader.with_projection(mask).build().map_err(|error| broken(&error))?;
    let mut actions = Vec::new();
    for batch in reader {
        let mut lines = LineDelimitedWriter::new(Vec::new());
        lines.write(&batch.map_err(|error| broken(&error))?).map_err(|error| broken(&error))?;
        actions.extend(json_actions(folder, &lines.into_inner())?);
        if actions.len() > MOST_FILES * 2 {
            return Err(folder.refused(format!("it has more than {MOST_FILES} files")));
        }
    }
    Ok(actions)
}

/// Fetches a file of the table whole.
pub(super) async fn fetch(folder: &TableFolder, path: &StorePath) -> Result<Vec<u8>> {
    let failed = |error: datafusion::object_store::Error| folder.broken(error.to_string());
    let size = folder.store.head(path).await.map_err(failed)?.size;
    if size > MOST_BYTES {
        return Err(folder.refused(format!("a file of its log has {} MB", size >> 20)));
    }
    let mut whole = Vec::new();
    while (whole.len() as u64) < size {
        let at = whole.len() as u64;
        let part = folder.store.get_range(path, at..(at + PART).min(size)).await.map_err(failed)?;
        if part.is_empty() {
            return Err(folder.broken(format!("{path} ended early")));
        }
        whole.extend_from_slice(&part);
    }
    Ok(whole)
}
