//! Stores results that are too large as artifacts: a file under the home, its hash in the journal,
//! and an address for reading it.

use crate::journal_writer::JournalWriter;
use async_trait::async_trait;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::path::PathBuf;
use std::sync::Arc;
use steward_domain::{EventType, Label};
use steward_journal::Draft;
use steward_store::{Commit, Scope, Store};
use steward_tools::call::{ArtifactSink, Intent};
use steward_tools::{Content, Error, Result};

/// Artifacts of calls, under `artifacts/results/CALL/`.
pub struct StoreArtifactSink {
    store: Arc<dyn Store>,
    folder: PathBuf,
}

impl StoreArtifactSink {
    /// A sink in the results folder of these artifacts.
    pub fn new(store: Arc<dyn Store>, artifacts: &std::path::Path) -> Self {
        Self { store, folder: artifacts.join("results") }
    }
}

#[async_trait]
impl ArtifactSink for StoreArtifactSink {
    async fn keep(&self, intent: &Arc<Intent>, name: &str, mime_type: &str, bytes: &[u8]) -> Result<Content> {
        let folder = self.folder.join(intent.call.to_string());
        let path = folder.join(file_name(name, mime_type));
        let failed = |error: std::io::Error| Error::File {
            path: path.display().to_string(),
            detail: error.to_string(),
        };
        tokio::fs::create_dir_all(&folder).await.map_err(failed)?;
        tokio::fs::write(&path, bytes).await.map_err(failed)?;
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let data = json!({ "call_id": intent.call, "name": name, "mime_type": mime_type, "sha256": hash, "size_bytes": bytes.len() });
        let serde_json::Value::Object(data) = data else {
            return Err(Error::Bug { detail: "an object".into() });
        };
        let broken = |detail: String| Error::Ledger { detail };
        let actor = Label::new("tools").map_err(|error| broken(error.to_string()))?;
        let commit = Commit::new(intent.user.clone(), intent.chain).entry(Draft::new(
            EventType::ArtifactGenerated,
            actor,
            data,
        ));
        let scope = Scope::User(intent.user.clone());
        let written = JournalWriter::write_once(&*self.store, &scope, commit).await;
        written.map_err(|error| broken(error.to_string()))?;
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let uri = format!("artifact://results/{}/{file}", intent.call);
        Ok(Content::Link { uri, name: name.to_owned(), mime_type: Some(mime_type.to_owned()) })
    }
}

/// A safe file name with the extension of its type.
fn file_name(name: &str, mime_type: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .take(60)
        .collect();
    let ending = match mime_type {
        "application/json" => ".json",
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        "text/html" => ".html",
        "text/csv" => ".csv",
        kind if kind.starts_with("text/") => ".txt",
        _ => ".bin",
    };
    let plain = plain.trim_start_matches('.');
    if plain.ends_with(ending) { plain.to_owned() } else { format!("{plain}{ending}") }
}
