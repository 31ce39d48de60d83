//! Memory in files: one file per user, one line per fact.
//!
//! Invariants
//! - A user's file is named by the hash of the user id, so that an id never becomes a path. Only
//!   the owner can read it (0600).
//! - A fact is on disk before it is confirmed. An incomplete last line after a crash is ignored,
//!   and truncated by the next write.
//! - Forgetting rewrites the file and replaces it atomically, so a forgotten text is gone from it.
//! - The file size is limited. A full memory is an error and loses nothing.

use super::{Fact, MOST, Memory};
use crate::builtin::sha256;
use crate::builtin::summarize::words;
use crate::error::{Error, Result};
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::UserId;
use steward_journal::clock::Clock;
use uuid::Uuid;

/// Embeds texts as vectors, if an encoder is available.
pub type Embed = Arc<dyn Fn(&[&str]) -> Option<Vec<Vec<f32>>> + Send + Sync>;

/// The maximum size of a user's file.
const LARGEST: u64 = 8 * 1024 * 1024;
/// The number of facts compared by embedding: those with common words first, then the newest.
const CONSIDERED: usize = 512;
/// The minimum score of a result.
const THRESHOLD: f64 = 0.15;
/// The minimum similarity of a result without a common word.
const NEAR: f64 = 0.35;

/// Memory in a folder.
#[derive(Clone)]
pub struct FileMemory {
    inner: Arc<Inner>,
}

struct Inner {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    embed: Option<Embed>,
    largest: u64,
    // Serializes writers in this process. It is locked only inside blocking work, never across an
    // await.
    writing: Mutex<()>,
}

impl std::fmt::Debug for FileMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileMemory").field("folder", &self.inner.folder).finish_non_exhaustive()
    }
}

impl FileMemory {
    /// A memory in this folder, which is created when first needed.
    pub fn new(folder: impl Into<PathBuf>, clock: Arc<dyn Clock>, embed: Option<Embed>) -> Self {
        Self::with_limit(folder, clock, embed, LARGEST)
    }

    /// A memory with another size limit per file.
    pub fn with_limit(
        folder: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
        embed: Option<Embed>,
        largest: u64,
    ) -> Self {
        let folder = folder.into();
        Self { inner: Arc::new(Inner { folder, clock, embed, largest, writing: Mutex::new(()) }) }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = self.inner.clone();
        let path = inner.folder.display().to_string();
        match tokio::task::spawn_blocking(move || work(&inner)).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(Error::File { path, detail: error.to_string() }),
            Err(broken) => Err(Error::Bug { detail: format!("the memory broke off: {broken}") }),
        }
    }
}

#[async_trait]
impl Memory for FileMemory {
    async fn put(&self, user: &UserId, key: Uuid, text: &str, tags: &[String]) -> Result<Fact> {
        let fact = Fact {
            id: key,
            text: text.to_owned(),
            tags: tags.to_vec(),
            said_by: user.to_string(),
            at: self.inner.clock.now(),
        };
        let user = user.clone();
        self.blocking(move |inner| inner.put(&user, fact)).await
    }

    async fn search(&self, user: &UserId, query: &str, limit: usize) -> Result<Vec<(Fact, f64)>> {
        let (user, query) = (user.clone(), query.to_owned());
        self.blocking(move |inner| Ok(inner.rank(inner.facts(&user)?.0, &query, limit.min(MOST)))).await
    }

    async fn forget(&self, user: &UserId, id: Uuid) -> Result<bool> {
        let user = user.clone();
        self.blocking(move |inner| inner.forget(&user, id)).await
    }
}

impl Inner {
    fn path(&self, user: &UserId) -> PathBuf {
        self.folder.join(format!("{}.jsonl", sha256(format!("steward memory\n{user}").as_bytes())))
    }

    /// The facts, and the number of bytes in complete lines.
    fn facts(&self, user: &UserId) -> io::Result<(Vec<Fact>, u64)> {
        let mut bytes = Vec::new();
        match File::open(self.path(user)) {
            Ok(file) => file.take(self.largest.saturating_mul(2)).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error),
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines = bytes.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
        // An unreadable line is skipped. The other facts remain valid.
        let facts = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Ok((facts, whole as u64))
    }

    fn put(&self, user: &UserId, fact: Fact) -> io::Result<Fact> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let (facts, whole) = self.facts(user)?;
        if let Some(known) = facts.into_iter().find(|known| known.id == fact.id) {
            return Ok(known);
        }
        let mut line = serde_json::to_vec(&fact)?;
        line.push(b'\n');
        if whole + line.len() as u64 > self.largest {
            let full = format!("the memory is full ({} bytes); forget something first", self.largest);
            return Err(io::Error::other(full));
        }
        let path = self.path(user);
        let fresh = !path.exists();
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&line)?;
        file.sync_all()?;
        if fresh {
            File::open(&self.folder)?.sync_all()?;
        }
        Ok(fact)
    }

    fn forget(&self, user: &UserId, id: Uuid) -> io::Result<bool> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (facts, _) = self.facts(user)?;
        if !facts.iter().any(|fact| fact.id == id) {
            return Ok(false);
        }
        let path = self.path(user);
        let part = path.with_extension("part");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        for fact in facts.iter().filter(|fact| fact.id != id) {
            serde_json::to_writer(&mut file, fact)?;
            file.write_all(b"\n")?;
        }
        file.sync_all()?;
        fs::rename(&part, &path)?;
        File::open(&self.folder)?.sync_all()?;
        Ok(true)
    }

    fn rank(&self, mut facts: Vec<Fact>, query: &str, limit: usize) -> Vec<(Fact, f64)> {
        facts.sort_by_key(|fact| (std::cmp::Reverse(fact.at), fact.id));
        if query.is_empty() {
            return facts.into_iter().take(limit).map(|fact| (fact, 1.0)).collect();
        }
        let asked: BTreeSet<String> = words(query).into_iter().collect();
        let mut shared: Vec<(Fact, f64)> = (facts.into_iter())
            .map(|fact| {
                let overlap = overlap(&asked, &fact);
                (fact, overlap)
            })
            .collect();
        // Both sorts are stable: among equal scores the newer fact comes first.
        shared.sort_by(|a, b| b.1.total_cmp(&a.1));
        shared.truncate(CONSIDERED);
        let near = self.similarity(&shared, query);
        let mut scored: Vec<(Fact, f64)> = (shared.into_iter().enumerate())
            .map(|(place, (fact, overlap))| {
                let score = match near.as_ref().and_then(|near| near.get(place).copied()) {
                    Some(near) if near >= NEAR || overlap > 0.0 => 0.5 * overlap + 0.5 * near.max(0.0),
                    Some(_) => 0.0,
                    None => overlap,
                };
                (fact, (score * 1000.0).round() / 1000.0)
            })
            .filter(|(_, score)| *score >= THRESHOLD)
            .collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1));
        scored.truncate(limit);
        scored
    }

    fn similarity(&self, facts: &[(Fact, f64)], query: &str) -> Option<Vec<f64>> {
        let embed = self.embed.as_ref()?;
        let texts: Vec<&str> =
            std::iter::once(query).chain(facts.iter().map(|(fact, _)| fact.text.as_str())).collect();
        let vectors = embed(&texts)?;
        let (asked, others) = vectors.split_first()?;
        let near: Vec<f64> =
            others.iter().map(|other| f64::from(steward_language::cosine(asked, other))).collect();
        (near.len() == facts.len()).then_some(near)
    }
}

/// The share of the query's words that are in the fact or its tags.
#[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
fn overlap(asked: &BTreeSet<String>, fact: &Fact) -> f64 {
    let mut said: BTreeSet<String> = words(&fact.text).into_iter().collect();
    said.extend(fact.tags.iter().flat_map(|tag| words(tag)));
    let shared = asked.iter().filter(|word| said.contains(*word)).count();
    if asked.is_empty() { 0.0 } else { shared as f64 / asked.len() as f64 }
}
