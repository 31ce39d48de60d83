//! File tools, limited to the granted folders.
//!
//! Invariants
//! - Every path is resolved by [`beneath`], step by step from an open root. Nothing here opens a
//!   path directly.
//! - Devices, pipes and sockets are never opened.
//! - A rejection names the granted folders.

pub mod beneath;
mod list;
mod read;
mod write;

pub use beneath::Root;

use super::{Builtin, Options};
use crate::error::Error;
use std::sync::Arc;

/// The category of the file tools.
const CATEGORY: &str = "file_tools";
/// The maximum size of one read or write, in bytes.
pub const LARGEST: usize = 4 * 1024 * 1024;

/// `file.list`, `file.read` and `file.write` over the granted roots.
pub(super) fn tools(options: &Options) -> Vec<Builtin> {
    let roots: Arc<[Root]> = options.roots.clone().into();
    let off = roots.is_empty().then(|| {
        "switched off: no folder is granted; name one under tools.roots in config/steward.yaml".to_owned()
    });
    let no_writing = (!roots.iter().any(|root| root.write)).then(|| {
        "switched off: no folder is granted for writing; set write: true on one of tools.roots in \
            config/steward.yaml"
            .to_owned()
    });
    vec![
        list::builtin(roots.clone(), off.clone()),
        read::builtin(roots.clone(), off.clone()),
        write::builtin(roots, off.or(no_writing)),
    ]
}

/// Converts an I/O error.
fn trouble(path: &str, error: &std::io::Error) -> Error {
    let detail = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "the system does not let this process at it".to_owned(),
        std::io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        _ => error.to_string(),
    };
    Error::File { path: path.to_owned(), detail }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
