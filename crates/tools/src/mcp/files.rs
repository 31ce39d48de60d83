//! Small private files that are written atomically: pins and logins.

use crate::error::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

fn told(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::File { path: path.display().to_string(), detail: error.to_string() }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(end);
    path.with_file_name(name)
}

/// Reads a file. `None` if there is none. A malformed file is an error, never treated as empty.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| told(path, &error)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(told(path, &error)),
    }
}

/// Writes a file that only its owner can read, atomically through a temporary file.
pub(crate) fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let text = serde_json::to_vec_pretty(value).map_err(|error| told(path, &error))?;
    let draft = beside(path, ".new");
    let written = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // A leftover temporary file may have other permissions, so it is not reused.
        let _ = fs::remove_file(&draft);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    written().map_err(|error| told(path, &error))
}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(told(path, &error)),
        _ => Ok(()),
    }
}

/// Locks against other processes until dropped.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let guard = beside(path, ".lock");
    let locked = || -> std::io::Result<File> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&guard)?;
        file.lock()?;
        Ok(file)
    };
    locked().map_err(|error| told(&guard, &error))
}
