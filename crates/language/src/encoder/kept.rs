//! A file cache for the vectors of definitions: a header with the id of the encoder, then one
//! record for each text, by the text's hash.
//!
//! Invariant: the file is only a cache. Records that cannot be read are computed again, and write
//! errors are ignored.

use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use steward_encoder::WIDTH;

/// Maximum number of cached texts; a larger file is started anew.
const MOST: usize = 50_000;
/// The format version of the file.
const SHAPE: &str = "steward vectors 1";

/// The first half of a text's SHA-256.
type Key = [u8; 16];

/// The file, read on the first lookup.
pub(super) struct VectorCache {
    path: PathBuf,
    vectors: OnceLock<HashMap<Key, Arc<[f32]>>>,
    /// One writer at a time.
    writing: Mutex<()>,
}

impl VectorCache {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, vectors: OnceLock::new(), writing: Mutex::default() }
    }

    pub(super) fn get(&self, text: &str) -> Option<Arc<[f32]>> {
        self.vectors.get_or_init(|| self.read().unwrap_or_default()).get(&key(text)).cloned()
    }

    /// Appends new vectors. Two processes may append the same one, which is harmless.
    pub(super) fn add<'a>(&self, new: impl Iterator<Item = (&'a str, Arc<[f32]>)>) {
        let mut records = Vec::new();
        for (text, vector) in new.filter(|(_, vector)| vector.len() == WIDTH) {
            records.extend(key(text));
            vector.iter().for_each(|number| records.extend(number.to_le_bytes()));
        }
        if records.is_empty() {
            return;
        }
        let _mine = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _not_missed = self.append(&records);
    }

    fn append(&self, records: &[u8]) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let there = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        let most = (MOST * RECORD) as u64;
        let body = there.checked_sub(head().len() as u64);
        let whole = body.is_some_and(|body| body.is_multiple_of(RECORD as u64));
        let anew = there == 0 || there > most || !whole || self.read().is_none();
        let mut options = std::fs::OpenOptions::new();
        let mut file = if anew {
            options.create(true).write(true).truncate(true).open(&self.path)?
        } else {
            options.append(true).open(&self.path)?
        };
        // A single write: another process that appends at the same time comes before or after.
        let bytes = if anew { [head(), records].concat() } else { records.to_vec() };
        file.write_all(&bytes)
    }

    fn read(&self) -> Option<HashMap<Key, Arc<[f32]>>> {
        let mut bytes = Vec::new();
        let most = (MOST * RECORD * 2) as u64;
        std::fs::File::open(&self.path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
        let records = bytes.strip_prefix(head())?;
        let mut vectors = HashMap::new();
        for bytes in records.chunks_exact(RECORD) {
            let (name, numbers) = bytes.split_at_checked(16)?;
            let numbers =
                numbers.chunks_exact(4).filter_map(|four| Some(f32::from_le_bytes(four.try_into().ok()?)));
            let vector: Arc<[f32]> = numbers.collect();
            if vector.iter().all(|number| number.is_finite()) {
                vectors.insert(name.try_into().ok()?, vector);
            }
        }
        Some(vectors)
    }
}

fn key(text: &str) -> Key {
    let mut key = Key::default();
    key.iter_mut().zip(Sha256::digest(text.as_bytes()).iter()).for_each(|(here, byte)| *here = *byte);
    key
}

/// Bytes of a record: the key and the numbers.
const RECORD: usize = size_of::<Key>() + size_of::<f32>() * WIDTH;

/// The header depends on the encoder, because vectors of different encoders are not comparable.
fn head() -> &'static [u8] {
    static HEAD: LazyLock<Vec<u8>> =
        LazyLock::new(|| format!("{SHAPE} {}\n", steward_encoder::identity()).into_bytes());
    &HEAD
}

#[cfg(test)]
mod tests {
    use crate::Encoder;

    #[test]
    fn a_second_process_finds_what_the_first_worked_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cache/vectors");
        let texts = vec!["create a task".to_owned(), "delete a note".to_owned(), "  ".to_owned()];
        let first = Encoder::kept_in(path.clone());
        first.prepare(&texts);
        let length = std::fs::metadata(&path).expect("a file").len();
        let second = Encoder::kept_in(path.clone());
        second.prepare(&texts);
        assert_eq!(std::fs::metadata(&path).expect("a file").len(), length, "nothing was new");
        assert_eq!(first.embed("create a task"), second.embed("create a task"));
        // User texts are not cached on disk.
        let said = second.embed("call my doctor about the results").expect("a vector");
        assert_eq!((said.len(), std::fs::metadata(&path).expect("a file").len()), (super::WIDTH, length));
        // A broken file is started anew, without an error.
        std::fs::write(&path, b"not vectors").expect("a write");
        let third = Encoder::kept_in(path.clone());
        third.prepare(&texts);
        assert_eq!(third.embed("delete a note"), first.embed("delete a note"));
        assert_eq!(std::fs::metadata(&path).expect("a file").len(), length);
    }
}
