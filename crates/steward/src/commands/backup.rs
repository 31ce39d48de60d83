//! `steward backup` and `steward restore`: a whole home in one file.
//!
//! Invariants
//! - The store is written as a consistent snapshot, while other processes continue to work.
//! - A restore is all or nothing: every file is compared with its digest before anything is moved
//!   into place, nothing is overwritten, and the journal must verify from the head that was signed
//!   at the time of the backup.

use super::Context;
use crate::config::Settings;
use crate::error::Failure;
use crate::home::Home;
use crate::leftovers;
use crate::output::{Tone, count, document, paint, say};
use clap::Args;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use steward_domain::Timestamp;
use steward_journal::clock::{Clock as _, SystemClock};
use steward_store::postgres::PostgresStore;

/// The contents of a backup. Logs and caches are not included.
const KEPT: &[&str] = &["agents", "workflows", "config", "skills", "artifacts", "uploads", "keys"];
/// The format version that this program writes and reads.
const FORM: u32 = 1;
const MANIFEST: &str = "manifest.json";
const SQLITE: &str = "store/sqlite.db";
const POSTGRES: &str = "store/postgres.dump";

#[derive(Args)]
#[command(after_help = "Example: steward backup steward-monday.tar.gz

It holds the keys of this home: keep it where the home itself could be kept. A server may go on running meanwhile.
Databases of your own tools are not in it.")]
pub(crate) struct Backup {
    /// The file to write; a `.tar.gz`.
    file: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:
  steward restore steward-monday.tar.gz --home ~/.steward-restored
  STEWARD_STORE=postgres://… steward restore steward-monday.tar.gz     into an empty database

The home must be new or empty, and so must the database. The journal is verified before it is done.")]
pub(crate) struct Restore {
    /// A file that `steward backup` wrote.
    file: PathBuf,
}

/// The manifest of a backup, written last.
#[derive(Serialize, Deserialize)]
struct Manifest {
    form: u32,
    version: String,
    created_at: Timestamp,
    schema: i64,
    /// The signed head of the journal, taken before the store was copied.
    head: Option<String>,
    files: BTreeMap<String, Digest>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Digest {
    bytes: u64,
    sha256: String,
}

fn unreadable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::user("CLI007", format!("{}: {why}. Nothing was restored", path.display()))
}

/// A temporary folder that is removed on drop. The next process removes one left by a killed
/// process.
struct Staging(PathBuf);

impl Staging {
    fn beside(path: &Path, what: &str) -> Result<Self, Failure> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(parent) = path.parent() {
            leftovers::clean(parent, &format!(".{name}.{what}-"));
        }
        let folder = path.with_file_name(format!(".{name}.{what}-{}", std::process::id()));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| Failure::file(&folder, &error))?;
        Ok(Self(folder))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _it_may_be_in_its_place = std::fs::remove_dir_all(&self.0);
    }
}

/// Counts and hashes what is read through it.
struct Hashed<R> {
    inner: R,
    hash: Sha256,
    bytes: u64,
}

impl<R> Hashed<R> {
    fn new(inner: R) -> Self {
        Self { inner, hash: Sha256::new(), bytes: 0 }
    }

    fn digest(self) -> Digest {
        let sha256 = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Digest { bytes: self.bytes, sha256 }
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..read).unwrap_or_default());
        self.bytes += read as u64;
        Ok(read)
    }
}

pub(super) async fn backup(context: &Context, command: Backup) -> Result<(), Failure> {
    let path = std::path::absolute(&command.file).map_err(|error| Failure::file(&command.file, &error))?;
    let refuse = |error: &io::Error| Failure::file(&path, error);
    if path.exists() {
        return Err(Failure::user(
            "CLI004",
            format!("{} is there already: choose another name", path.display()),
        ));
    }
    let opened = context.open().await?;
    let staging = Staging::beside(&path, "backup")?;
    let _note = leftovers::Note::write(&context.home.tmp(), &staging.0).map_err(|error| refuse(&error))?;
    // The head first: the copy then contains at least its entries.
    let head = opened.store.head().await?.map(|head| head.note);
    let schema = opened.store.schema_version().await?;
    let kind = if context.settings.store.starts_with("sqlite:") { SQLITE } else { POSTGRES };
    let copy = staging.0.join("store");
    opened.store.snapshot(&copy).await?;
    let partial = staging.0.join("archive");
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial);
    let packed =
        GzEncoder::new(BufWriter::new(file.map_err(|error| refuse(&error))?), Compression::default());
    let mut archive = Archive { tar: tar::Builder::new(packed), files: BTreeMap::new() };
    archive.file(&copy, kind).map_err(|error| refuse(&error))?;
    for folder in KEPT {
        archive.folder(&context.home.path.join(folder), folder).map_err(|error| refuse(&error))?;
    }
    let (version, created_at) = (env!("CARGO_PKG_VERSION").to_owned(), SystemClock::default().now());
    let manifest = Manifest { form: FORM, version, created_at, schema, head, files: archive.files };
    let text = serde_json::to_vec_pretty(&manifest).map_err(Failure::unexpected)?;
    let finish = || -> io::Result<()> {
        let mut tar = archive.tar;
        tar.append_data(&mut header(text.len() as u64, 0o600), MANIFEST, text.as_slice())?;
        let mut file = tar.into_inner()?.finish()?;
        file.flush()?;
        file.get_ref().sync_all()?;
        // A file of this name that appeared meanwhile is not overwritten.
        std::fs::hard_link(&partial, &path)
    };
    finish().map_err(|error| refuse(&error))?;
    let bytes = path.metadata().map_or(0, |about| about.len());
    if context.json {
        document(&json!({ "file": path, "bytes": bytes, "files": manifest.files.len(), "schema": schema }));
    } else {
        let files = count(manifest.files.len() as u64, "file");
        say(format!("{} {}  {files}, {bytes} bytes", paint(Tone::Good, "backed up to"), path.display()));
        eprintln!(
            "{}",
            paint(Tone::Quiet, "it holds the keys of this home: keep it as safe as the home itself")
        );
    }
    Ok(())
}

/// The archive being written.
struct Archive<W: io::Write> {
    tar: tar::Builder<W>,
    files: BTreeMap<String, Digest>,
}

fn header(size: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(mode);
    header.set_entry_type(tar::EntryType::Regular);
    header
}

impl<W: io::Write> Archive<W> {
    fn file(&mut self, path: &Path, name: &str) -> io::Result<()> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        // A file that grows meanwhile is truncated to its earlier length.
        let mut read = Hashed::new(file.take(about.len()));
        let mut header = header(about.len(), about.permissions().mode() & 0o777);
        self.tar.append_data(&mut header, name, &mut read)?;
        self.files.insert(name.to_owned(), read.digest());
        Ok(())
    }

    /// Adds a folder with all regular files in it.
    fn folder(&mut self, path: &Path, name: &str) -> io::Result<()> {
        let entries = match std::fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut entries: Vec<_> = entries.collect::<io::Result<_>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let own = entry.file_name();
            let Some(own) = own.to_str() else { continue };
            let (path, name, kind) = (entry.path(), format!("{name}/{own}"), entry.file_type()?);
            if kind.is_dir() {
                self.folder(&path, &name)?;
            } else if kind.is_file() && !own.ends_with(".lock") {
                match self.file(&path, &name) {
                    // Files that were deleted meanwhile are skipped.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    done => done?,
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn restore(
    home: &Home,
    store: Option<&str>,
    as_json: bool,
    command: Restore,
) -> Result<(), Failure> {
    let refuse = |error: &io::Error| Failure::file(&home.path, error);
    if home.path.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        let why = "it is not empty. Restore into a new home: steward restore FILE --home FOLDER";
        return Err(Failure::user("CLI008", format!("{}: {why}", home.path.display())));
    }
    let place = std::path::absolute(&home.path).map_err(|error| refuse(&error))?;
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent).map_err(|error| refuse(&error))?;
    }
    let staging = Staging::beside(&place, "restore")?;
    let manifest = unpack(&command.file, &staging.0)?;
    let staged = Home { path: staging.0.clone() };
    let settings = Settings::load(&staged, store, None)?;
    if let Some(address) = store {
        point_at(&staged, address)?;
    }
    move_store(&staged, &settings, &command.file, &manifest).await?;
    let opened = staged.open(&settings).await?;
    let key = opened.signer.verifier();
    let verified = steward_store::audit::verify(&*opened.store, key, manifest.head.as_deref()).await?;
    let entries = verified.entries;
    drop(opened);
    std::fs::rename(&staging.0, &place).map_err(|error| refuse(&error))?;
    let restored = Home { path: place };
    if as_json {
        document(&json!({
            "home": restored.path, "created_at": manifest.created_at, "files": manifest.files.len(), "journal_entries": entries,
        }));
    } else {
        let files = count(manifest.files.len() as u64, "file");
        say(format!(
            "{} {}  {files} of {}",
            paint(Tone::Good, "restored to"),
            restored.path.display(),
            manifest.created_at
        ));
        say(format!("the journal verifies: {}", count(entries, "entry")));
    }
    Ok(())
}

/// Sets the restored store as the store of the restored settings. Otherwise the next command would
/// use the store that was backed up, which may be in use.
fn point_at(home: &Home, address: &str) -> Result<(), Failure> {
    let path = home.path.join("config/steward.yaml");
    let failed = |error: io::Error| Failure::file(&path, &error);
    let text = if path.exists() { std::fs::read_to_string(&path).map_err(failed)? } else { String::new() };
    if Settings::load(home, None, None)?.store == address {
        return Ok(());
    }
    let line = format!("store: {}", serde_json::Value::from(address));
    let kept = text.lines().filter(|line| !line.starts_with("store:"));
    let lines: Vec<&str> = std::iter::once(line.as_str()).chain(kept).collect();
    std::fs::create_dir_all(home.path.join("config")).map_err(failed)?;
    std::fs::write(&path, format!("{}\n", lines.join("\n"))).map_err(failed)?;
    // A file that sets the store in another way is not rewritten.
    if Settings::load(home, None, None)?.store == address {
        return Ok(());
    }
    Err(Failure::user(
        "CLI008",
        format!(
            "{} names another store in a way that could not be rewritten. Nothing was restored",
            path.display()
        ),
    ))
}

/// Moves the copy of the store to the location in the settings: it must be of the kind that was
/// backed up.
async fn move_store(
    home: &Home,
    settings: &Settings,
    file: &Path,
    manifest: &Manifest,
) -> Result<(), Failure> {
    let other = |was: &str| {
        let why = format!("its store was {was}, and another kind is set up here (--store or STEWARD_STORE)");
        Failure::user("CLI007", format!("{}: {why}. Nothing was restored", file.display()))
    };
    let (lite, postgres) = (home.path.join(SQLITE), home.path.join(POSTGRES));
    match settings.store.strip_prefix("sqlite:") {
        Some(path) if manifest.files.contains_key(SQLITE) => {
            let target = home.path.join(path);
            if target.exists() {
                return Err(Failure::file(&target, &io::ErrorKind::AlreadyExists.into()));
            }
            let moved = std::fs::rename(&lite, &target).or_else(|_| std::fs::copy(&lite, &target).map(drop));
            moved.map_err(|error| Failure::file(&target, &error))?;
        }
        Some(_) => return Err(other("PostgreSQL")),
        None if manifest.files.contains_key(POSTGRES) => {
            PostgresStore::restore(&settings.store, &postgres).await?;
        }
        None => return Err(other("SQLite")),
    }
    let folder = home.path.join("store");
    std::fs::remove_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))
}

/// Unpacks an archive into a folder; every file must match the manifest, and no others are allowed.
fn unpack(path: &Path, into: &Path) -> Result<Manifest, Failure> {
    let wrong = |why: &dyn std::fmt::Display| unreadable(path, why);
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(file)));
    let mut found: BTreeMap<String, Digest> = BTreeMap::new();
    let mut manifest: Option<Manifest> = None;
    for entry in archive.entries().map_err(|error| wrong(&error))? {
        let mut entry = entry.map_err(|error| wrong(&error))?;
        let name = entry.path().map_err(|error| wrong(&error))?.to_string_lossy().into_owned();
        if entry.header().entry_type() != tar::EntryType::Regular || !plain(&name) {
            return Err(wrong(&format!("{name:?} does not belong into a backup")));
        }
        if name == MANIFEST {
            let mut text = Vec::new();
            entry.read_to_end(&mut text).map_err(|error| wrong(&error))?;
            manifest = Some(serde_json::from_slice(&text).map_err(|error| wrong(&error))?);
            continue;
        }
        let target = into.join(&name);
        if let Some(parent) = target.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
            made.map_err(|error| Failure::file(parent, &error))?;
        }
        let mode = entry.header().mode().unwrap_or(0o600) & 0o700;
        let written = OpenOptions::new().write(true).create_new(true).mode(mode | 0o600).open(&target);
        let mut written = written.map_err(|error| Failure::file(&target, &error))?;
        let mut read = Hashed::new(&mut entry);
        io::copy(&mut read, &mut written).map_err(|error| wrong(&error))?;
        written.sync_all().map_err(|error| Failure::file(&target, &error))?;
        found.insert(name, read.digest());
    }
    let manifest = manifest.ok_or_else(|| wrong(&"it is no backup of Steward, or it is cut off"))?;
    if manifest.form != FORM {
        return Err(wrong(&"it was written by a newer program: use that one"));
    }
    if let Some(name) = manifest.files.iter().find(|(name, digest)| found.get(*name) != Some(digest)) {
        return Err(wrong(&format!("{} is not what was backed up", name.0)));
    }
    if let Some(name) = found.keys().find(|name| !manifest.files.contains_key(*name)) {
        return Err(wrong(&format!("{name:?} was put in afterwards")));
    }
    Ok(manifest)
}

/// Whether a path stays inside: in the store, or in one of the folders of a backup.
fn plain(name: &str) -> bool {
    let path = Path::new(name);
    let normal = path.components().all(|part| matches!(part, Component::Normal(_)));
    let first = name.split('/').next().unwrap_or_default();
    normal && (name == MANIFEST || name == SQLITE || name == POSTGRES || KEPT.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_stay_inside() {
        for (name, expected) in [
            ("config/steward.yaml", true),
            ("artifacts/replies/a.json", true),
            ("store/sqlite.db", true),
            ("manifest.json", true),
            ("store/other", false),
            ("../config/steward.yaml", false),
            ("config/../../x", false),
            ("/etc/passwd", false),
            ("state.db", false),
            ("", false),
        ] {
            assert_eq!(plain(name), expected, "{name}");
        }
    }
}
