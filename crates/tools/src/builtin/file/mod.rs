//! Files inside the folders that were granted, and nowhere else.
//!
//! Invariants
//! - Every path is resolved by [`beneath`], step by step from an opened root; nothing here opens a
//!   path by itself.
//! - Devices, pipes and sockets are never opened.
//! - A refusal names the folders that are granted.

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
/// The most that one read gives or one write takes.
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

/// That the system refused something.
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
