//! Resolves a path beneath a granted root, and never outside of it.
//!
//! Each step starts from an open folder, through its entry in `/proc/self/fd`, which is equivalent
//! to `openat`: a folder that is renamed or replaced by a symlink meanwhile has no effect. Symlinks
//! are read and resolved like any other path; one that leads out is rejected. An opened file is
//! compared (device and inode) with the earlier metadata, which detects a swapped name. `..` goes
//! back along the resolved path, never above the root.
//!
//! Without `/proc` (on other systems) steps use the folder's own path, and only the comparison
//! protects. A parent folder that is swapped at the right moment is then detected only if it has
//! another inode.
//!
//! The home of this Steward (journal, keys and settings) is excluded from any root that contains
//! it: see [`is_own`].
//!
//! A hard link inside a root to a file outside cannot be distinguished from the file. Creating one
//! requires access to the file anyway.

use super::trouble;
use crate::error::{Error, Result};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// A granted folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The path.
    pub path: PathBuf,
    /// Whether writing is allowed.
    pub write: bool,
    /// The home of this Steward, which is excluded.
    pub home: Option<PathBuf>,
}

impl Root {
    /// A root with read access.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), write: false, home: None }
    }

    /// A root with read and write access.
    pub fn write(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), write: true, home: None }
    }
}

/// Folders of a home that are never accessible, whatever was granted.
const OWN_FOLDERS: [&str; 3] = ["config", "keys", "logs"];
/// The prefix of the store's files in a home.
const STORE: &str = "state.db";

/// Whether a real path belongs to the home of a Steward and is excluded for the granted `root`. A
/// root above the home excludes all of it. A root that is the home or inside it was granted on
/// purpose: it excludes only the store, keys, settings and logs.
#[must_use]
pub fn is_own(home: &Path, root: &Path, path: &Path) -> bool {
    let Ok(within) = path.strip_prefix(home) else { return false };
    let own_folder = OWN_FOLDERS.iter().any(|folder| within.starts_with(folder));
    let top = within.to_str().is_some_and(|name| name.starts_with(STORE) && !name.contains('/'));
    own_folder || top || !root.starts_with(home)
}

/// The maximum number of symlinks in one path.
const HOPS: usize = 32;
/// The maximum number of steps in one path.
const STEPS: usize = 256;

/// Flags: do not follow a symlink, do not block on a pipe. The values differ between processor
/// families.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "aarch64", target_arch = "arm", target_arch = "powerpc64", target_arch = "powerpc")
))]
const OPEN_FLAGS: i32 = 0o100_000 | 0o4000;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "x86", target_arch = "riscv64", target_arch = "s390x")
))]
const OPEN_FLAGS: i32 = 0o400_000 | 0o4000;
#[cfg(not(all(
    target_os = "linux",
    any(
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "powerpc64",
        target_arch = "powerpc",
        target_arch = "x86_64",
        target_arch = "x86",
        target_arch = "riscv64",
        target_arch = "s390x"
    )
)))]
const OPEN_FLAGS: i32 = 0;

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    file: File,
    path: PathBuf,
}

/// The target of a path.
#[derive(Debug)]
pub enum PathTarget {
    /// A folder.
    Folder(Folder),
    /// A regular file with this name in this folder.
    File(Folder, OsString, Metadata),
    /// Nothing yet; the parent folder exists.
    Nothing(Folder, OsString),
}

impl Folder {
    fn open(path: PathBuf, through: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(OPEN_FLAGS).open(through)?;
        if !file.metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder"));
        }
        Ok(Self { file, path })
    }

    /// The path of an entry, which stays valid if the folder is moved.
    pub fn at(&self, name: &OsStr) -> PathBuf {
        self.here().join(name)
    }

    /// The path of the folder itself, for listing.
    pub fn here(&self) -> PathBuf {
        let held = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        if cfg!(target_os = "linux") && held.exists() { held } else { self.path.clone() }
    }

    /// The path as it was resolved, for display.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Flushes changes in the folder to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Opens a subfolder with known metadata.
    pub fn enter(&self, name: &OsStr, seen: &Metadata) -> io::Result<Self> {
        let inner = Self::open(self.path.join(name), &self.at(name))?;
        same(&inner.file.metadata()?, seen)?;
        Ok(inner)
    }

    /// Opens a regular file with known metadata.
    pub fn read(&self, name: &OsStr, seen: &Metadata) -> io::Result<File> {
        let file = OpenOptions::new().read(true).custom_flags(OPEN_FLAGS).open(self.at(name))?;
        let opened = file.metadata()?;
        same(&opened, seen)?;
        Ok(file)
    }
}

/// Checks that an opened file is the one with the earlier metadata.
fn same(opened: &Metadata, seen: &Metadata) -> io::Result<()> {
    let alike = opened.dev() == seen.dev()
        && opened.ino() == seen.ino()
        && opened.file_type().is_file() == seen.file_type().is_file();
    if alike { Ok(()) } else { Err(io::Error::other("it was replaced while it was opened")) }
}

/// Finds `path` beneath one of `roots`: an absolute path in the root that contains it, a relative
/// one in the first root that has it. `write` requires a writable root.
pub fn find(roots: &[Root], path: &str, write: bool) -> Result<PathTarget> {
    let asked = Path::new(path);
    let refused = |rule: String| Error::Path { path: path.to_owned(), rule };
    if path.contains('\0') {
        return Err(refused("it holds the character U+0000".to_owned()));
    }
    let mut nothing = None;
    let mut problem = None;
    let usable: Vec<&Root> = roots.iter().filter(|root| root.write || !write).collect();
    for root in &usable {
        let Some(rest) = rest_of(asked, root) else { continue };
        match walk(root, &rest, path, roots) {
            Ok(PathTarget::Nothing(folder, name)) => nothing = nothing.or(Some((folder, name))),
            Ok(found) => return Ok(found),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    match (nothing, problem) {
        (Some((folder, name)), _) => Ok(PathTarget::Nothing(folder, name)),
        (None, Some(error)) => Err(error),
        (None, None) if !write || !usable.is_empty() => Err(refused(granted(roots))),
        (None, None) => Err(refused(format!("nothing may be written; {}", granted(roots)))),
    }
}

/// The granted folders, for error messages.
#[must_use]
pub fn granted(roots: &[Root]) -> String {
    if roots.is_empty() {
        return "no folder is granted".to_owned();
    }
    let names: Vec<String> = (roots.iter())
        .map(|root| {
            format!("{} ({})", root.path.display(), if root.write { "read and write" } else { "read only" })
        })
        .collect();
    format!("granted are {}", names.join(", "))
}

/// The path relative to the root. `None` if an absolute path is not inside it.
fn rest_of(asked: &Path, root: &Root) -> Option<PathBuf> {
    if !asked.is_absolute() {
        return Some(asked.to_owned());
    }
    let real = || root.path.canonicalize().ok();
    let inside = asked.strip_prefix(&root.path).map(Path::to_owned).ok();
    inside.or_else(|| asked.strip_prefix(real()?).map(Path::to_owned).ok())
}

/// Resolves a path from the root.
fn walk(root: &Root, rest: &Path, asked: &str, roots: &[Root]) -> Result<PathTarget> {
    let failed = |error: io::Error| trouble(asked, &error);
    let out = |how: &str| Error::Path { path: asked.to_owned(), rule: format!("{how}; {}", granted(roots)) };
    // The root itself may be reached through symlinks, because the operator named it.
    let real = root.path.canonicalize().map_err(failed)?;
    let home = root.home.as_ref().and_then(|home| home.canonicalize().ok());
    let own = |path: &Path| home.as_ref().is_some_and(|home| is_own(home, &real, path));
    let mine = || out("it belongs to Steward itself");
    let mut way = vec![Folder::open(real.clone(), &real).map_err(failed)?];
    let mut steps: VecDeque<OsString> = parts(rest);
    let (mut hops, mut taken) = (0, 0);
    while let Some(step) = steps.pop_front() {
        taken += 1;
        if taken > STEPS {
            return Err(out("it has too many steps"));
        }
        let Some(folder) = way.last() else { return Err(out("it leads above the folder")) };
        if step == ".." {
            way.pop();
            if way.is_empty() {
                return Err(out("it leads above the folder"));
            }
            continue;
        }
        let seen = match folder.at(&step).symlink_metadata() {
            Ok(seen) => seen,
            Err(error) if error.kind() == io::ErrorKind::NotFound && steps.is_empty() => {
                if own(&folder.path().join(&step)) {
                    return Err(mine());
                }
                return way
                    .pop()
                    .map(|folder| PathTarget::Nothing(folder, step))
                    .ok_or_else(|| out("it is empty"));
            }
            Err(error) => return Err(failed(error)),
        };
        let kind = seen.file_type();
        if kind.is_symlink() {
            hops += 1;
            let target = folder.at(&step).read_link().map_err(failed)?;
            if hops > HOPS {
                return Err(out("it goes through too many symlinks"));
            }
            let target = if target.is_absolute() {
                way.truncate(1);
                target.strip_prefix(&real).map_err(|_| out("a symlink leads out"))?.to_owned()
            } else {
                target
            };
            let mut next = parts(&target);
            next.append(&mut steps);
            steps = next;
        } else if kind.is_dir() {
            let inner = folder.enter(&step, &seen).map_err(failed)?;
            if own(inner.path()) {
                return Err(mine());
            }
            way.push(inner);
        } else if kind.is_file() && steps.is_empty() {
            if own(&folder.path().join(&step)) {
                return Err(mine());
            }
            return way
                .pop()
                .map(|folder| PathTarget::File(folder, step, seen))
                .ok_or_else(|| out("it is empty"));
        } else if kind.is_file() {
            let detail = format!("{} is a file, not a folder", step.display());
            return Err(Error::File { path: asked.to_owned(), detail });
        } else {
            return Err(out(&format!("it is {}, which is not opened", special(&seen))));
        }
    }
    way.pop().map(PathTarget::Folder).ok_or_else(|| out("it leads above the folder"))
}

/// The kind of a file that is neither regular nor a folder.
fn special(seen: &Metadata) -> &'static str {
    let kind = seen.file_type();
    match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

/// The components of a path, without the root and `.`.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
        })
        .collect()
}
