//! Artifact files and their media types.

use crate::mcp::{Failure, ResourceBody};
use std::path::{Path, PathBuf};
use steward_domain::ErrorClass;

/// The maximum size of a resource.
const RESOURCE_BYTES: u64 = 16 * 1024 * 1024;

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

/// The content of a file as a resource.
pub(super) async fn body(uri: &str, path: &Path, mime_type: Option<String>) -> Result<ResourceBody, Failure> {
    let missing = |_| Failure::unknown(format!("there is no resource {uri}"));
    let size = tokio::fs::metadata(path).await.map_err(missing)?.len();
    if size > RESOURCE_BYTES {
        let told = format!("{uri} has {size} bytes; read the file itself");
        return Err(Failure::tool("TOL014", told, ErrorClass::User));
    }
    let bytes = tokio::fs::read(path).await.map_err(missing)?;
    let mime_type = Some(mime_type.unwrap_or_else(|| kind_of(path).to_owned()));
    let uri = uri.to_owned();
    Ok(match String::from_utf8(bytes) {
        Ok(text) => ResourceBody::Text { uri, mime_type, text },
        Err(error) => ResourceBody::Blob { uri, mime_type, bytes: error.into_bytes() },
    })
}
