//! An in-memory cache of files that have not changed, so that the next question does not read them
//! again.
//!
//! Invariant: the cache is never stale. A file is unchanged if its path, device, inode, size and
//! times of change are. A file that changed within the last seconds is read again, because two
//! changes can have the same time. The cache is bounded, and nothing is written to disk.

use super::files::{Loaded, Rows};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use steward_journal::clock::{Clock as _, SystemClock};

/// Maximum number of cached cells.
const MOST_CELLS: usize = 2_000_000;
/// Files that changed within this time are not cached, in microseconds.
const SETTLED: i64 = 2_000_000;

/// The identity of a file, from its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    path: PathBuf,
    /// How it was read: the same file may be sampled once and read completely later.
    reading: (u64, u64),
    system: System,
}

/// Device, inode, size, and the times of the last change of content and of status, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct System {
    device: u64,
    inode: u64,
    size: u64,
    modified: i128,
    changed: i128,
}

impl Identity {
    /// The current metadata of a file; none if the system does not provide it.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path, reading: (u64, u64)) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let path = std::fs::canonicalize(path).ok()?;
        let data = std::fs::metadata(&path).ok()?;
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        let system = System {
            device: data.dev(),
            inode: data.ino(),
            size: data.size(),
            modified: nanoseconds(data.mtime(), data.mtime_nsec()),
            changed: nanoseconds(data.ctime(), data.ctime_nsec()),
        };
        Some(Self { path, reading, system })
    }

    /// The current metadata of a file; none if the system does not provide it.
    #[cfg(not(unix))]
    pub(crate) fn of(_: &Path, _: (u64, u64)) -> Option<Self> {
        None
    }

    fn is_settled(&self, now_micros: i64) -> bool {
        let last = self.system.modified.max(self.system.changed) / 1_000;
        i128::from(now_micros) - last >= i128::from(SETTLED)
    }
}

/// A file's tables, and their number of cells.
type Entry = (Identity, Arc<Vec<Loaded>>, usize);

/// The cached files, oldest first.
#[derive(Default)]
struct Memory {
    files: VecDeque<Entry>,
    cells: usize,
}

static MEMORY: LazyLock<Mutex<Memory>> = LazyLock::new(Mutex::default);

impl Memory {
    fn get(&self, identity: &Identity) -> Option<Arc<Vec<Loaded>>> {
        self.files.iter().find(|(known, ..)| known == identity).map(|(_, tables, _)| tables.clone())
    }

    fn put(&mut self, identity: Identity, tables: Arc<Vec<Loaded>>, now_micros: i64) {
        let cells = tables.iter().map(cells).sum::<usize>();
        if cells > MOST_CELLS / 2
            || !identity.is_settled(now_micros)
            || !tables.iter().all(|table| stays(table, &identity))
        {
            return;
        }
        let same = |known: &Identity| known.path == identity.path && known.reading == identity.reading;
        if let Some(place) = self.files.iter().position(|(known, ..)| same(known)) {
            self.cells -= self.files.remove(place).map_or(0, |(.., cells)| cells);
        }
        self.cells += cells;
        self.files.push_back((identity, tables, cells));
        while self.cells > MOST_CELLS {
            self.cells -= self.files.pop_front().map_or(self.cells, |(.., cells)| cells);
        }
    }
}

fn cells(table: &Loaded) -> usize {
    let rows = match &table.rows {
        Rows::Frame(frame) => frame.rows.len() * frame.fields.len().max(1),
        Rows::Scan(_) | Rows::Registered(_) => 0,
    };
    // The values of a profile count as well.
    rows + table.table.columns.iter().map(|column| column.values.len()).sum::<usize>()
}

/// Unpacked rows are removed with their session and not cached.
fn stays(table: &Loaded, identity: &Identity) -> bool {
    match &table.rows {
        Rows::Frame(_) => true,
        Rows::Scan(scan) => {
            scan.paths.iter().all(|path| std::fs::canonicalize(path).is_ok_and(|path| path == identity.path))
        }
        Rows::Registered(_) => false,
    }
}

/// The tables of an unchanged file.
pub(crate) fn recall(identity: &Identity) -> Option<Arc<Vec<Loaded>>> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner).get(identity)
}

/// Caches a file that was just read, if it did not change meanwhile.
pub(crate) fn remember(before: Identity, path: &Path, tables: &[Loaded]) {
    if Identity::of(path, before.reading).as_ref() == Some(&before) {
        let now = SystemClock::default().now().micros();
        let tables = Arc::new(tables.to_vec());
        MEMORY.lock().unwrap_or_else(PoisonError::into_inner).put(before, tables, now);
    }
}

#[cfg(test)]
mod tests {
    use super::{Identity, Memory};
    use std::sync::Arc;

    const LATER: i64 = i64::MAX / 2;

    #[test]
    fn a_file_is_remembered_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "a\n1\n").unwrap();
        let first = Identity::of(&path, (1, 1)).unwrap();
        let mut memory = Memory::default();
        memory.put(first.clone(), Arc::default(), 0);
        assert!(memory.get(&first).is_none(), "one that may still be changing is not remembered");
        memory.put(first.clone(), Arc::default(), LATER);
        assert!(memory.get(&first).is_some());
        assert!(memory.get(&Identity::of(&path, (2, 1)).unwrap()).is_none(), "read otherwise, it is another");
        // The same size and even the same modification time, but another inode: the file was
        // replaced.
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        let other = folder.path().join("b.csv");
        std::fs::write(&other, "a\n2\n").unwrap();
        std::fs::File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
        std::fs::rename(&other, &path).unwrap();
        let second = Identity::of(&path, (1, 1)).unwrap();
        assert_ne!(first, second);
        assert!(memory.get(&second).is_none());
        // The same inode, size and modification time: the status change time differs.
        memory.put(second, Arc::default(), LATER);
        std::fs::write(&path, "a\n3\n").unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert!(memory.get(&Identity::of(&path, (1, 1)).unwrap()).is_none());
    }
}
