//! Artifact files and their media types.

use std::path::{Path, PathBuf};

/// All files in the artifacts folder with their sizes. Bounded; links are not followed.
pub(super) fn artifacts_of(root: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![root.canonicalize().unwrap_or_else(|_| root.to_owned())];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && found.len() < 10_000 {
                found.push((entry.path(), entry.metadata().map_or(0, |metadata| metadata.len())));
            }
        }
    }
    found
}

pub(crate) fn kind_of(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "csv" => "text/csv",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "html" => "text/html",
        "md" => "text/markdown",
        "txt" => "text/plain",
        _ => "application/octet-stream",
    }
}
