//! Files in A2A messages and artifacts.
//!
//! Invariants
//! - A file that comes as bytes is an upload of the caller: data of the turn, never instructions.
//! - A file that comes as a URL is not fetched here. It is named as a source, under the caller's
//!   rights and the operator's list of hosts.
//! - Files of an answer are those of the caller's own tasks.

use super::{Dialect, Fault};
use crate::http::{Shared, uploads};
use crate::identity::Identity;
use crate::mcp_gateway::kind_of;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use steward_domain::{ArtifactKind, TaskId, UserId};
use steward_runtime::ask::placed;
use steward_store::Scope;

/// The maximum number of files in a message.
const MOST: usize = 20;
/// The maximum size of a file that is sent within an artifact, and of all of them.
const FILE_BYTES: u64 = 1024 * 1024;
const ALL_BYTES: u64 = 4 * 1024 * 1024;

/// A file of an answer.
#[derive(Clone)]
pub(super) struct AnswerFile {
    name: String,
    media_type: &'static str,
    bytes: Vec<u8>,
}

/// A file of a message.
struct FilePart<'a> {
    bytes: Option<&'a str>,
    url: Option<&'a str>,
    name: Option<&'a str>,
    media_type: Option<&'a str>,
}

impl<'a> FilePart<'a> {
    fn parse(part: &'a Value, dialect: Dialect) -> Option<Self> {
        let (at, names) = match dialect {
            Dialect::One => (part, ["raw", "url", "filename", "mediaType"]),
            Dialect::Old => (part.get("file")?, ["bytes", "uri", "name", "mimeType"]),
        };
        let [bytes, url, name, media_type] =
            names.map(|field| at.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()));
        (bytes.is_some() || url.is_some()).then_some(Self { bytes, url, name, media_type })
    }

    /// The file name, with the ending of its type if it has no name.
    fn file_name(&self) -> String {
        let ending = match self.media_type.unwrap_or_default() {
            "text/csv" => "csv",
            "text/tab-separated-values" => "tsv",
            "application/json" => "json",
            "application/vnd.apache.parquet" => "parquet",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "xlsx",
            other => other.rsplit('/').next().unwrap_or_default(),
        };
        self.name.map_or_else(|| format!("file.{ending}"), str::to_owned)
    }
}

/// Whether a part of a message is a file.
pub(super) fn is_file(part: &Value, dialect: Dialect) -> bool {
    FilePart::parse(part, dialect).is_some()
}

/// The files of a message as data of the turn.
pub(super) async fn take_files(
    site: &Shared,
    identity: &Identity,
    parts: &[Value],
    dialect: Dialect,
) -> Result<Vec<String>, Fault> {
    let files: Vec<FilePart<'_>> = parts.iter().filter_map(|part| FilePart::parse(part, dialect)).collect();
    if files.len() > MOST {
        return Err(Fault::params(format!("params.message.parts: at most {MOST} files")));
    }
    let mut data = Vec::new();
    for file in files {
        match (file.bytes, file.url) {
            (Some(bytes), _) => {
                let bytes = STANDARD
                    .decode(bytes)
                    .map_err(|_| Fault::params("params.message.parts: the bytes of a file are base64"))?;
                let stored = uploads::store(site, identity, &file.file_name(), &bytes).await;
                let id = stored.map_err(|problem| match problem.status() {
                    StatusCode::UNSUPPORTED_MEDIA_TYPE => Fault::new(-32005, problem.detail),
                    _ => problem.into(),
                })?;
                data.push(format!("upload:{id}"));
            }
            (None, Some(url)) => {
                site.source(identity, url)?;
                data.push(url.to_owned());
            }
            (None, None) => {}
        }
    }
    Ok(data)
}

/// The charts and tables of a reply, from the artifacts of the user's own tasks. What is too large or
/// gone is left out: the reply names its address.
pub(super) async fn files_of(site: &Shared, user: &UserId, reply: &Value) -> Vec<AnswerFile> {
    let mut tasks: Vec<TaskId> = Vec::new();
    let analyses = reply.get("analyses").and_then(Value::as_array).into_iter().flatten();
    for artifact in analyses.filter_map(|one| one.get("artifacts")).filter_map(Value::as_array).flatten() {
        let task = artifact.get("request_id").and_then(Value::as_str).and_then(|id| id.parse().ok());
        tasks.extend(task.filter(|task| !tasks.contains(task)));
    }
    let scope = Scope::User(user.clone());
    let (mut files, mut total) = (Vec::new(), 0);
    for task in tasks {
        for artifact in site.store().artifacts(&scope, task).await.unwrap_or_default() {
            let is_shown = matches!(artifact.artifact_type, ArtifactKind::Chart | ArtifactKind::Table);
            if !is_shown || artifact.size_bytes > FILE_BYTES || total + artifact.size_bytes > ALL_BYTES {
                continue;
            }
            let path = placed(&site.app().artifacts, &artifact.content_ref);
            let Ok(bytes) = tokio::fs::read(&path).await else { continue };
            total += artifact.size_bytes;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push(AnswerFile { name, media_type: kind_of(&path), bytes });
        }
    }
    files
}

impl AnswerFile {
    pub(super) fn part(&self, dialect: Dialect) -> Value {
        let bytes = STANDARD.encode(&self.bytes);
        match dialect {
            Dialect::One => json!({ "raw": bytes, "filename": self.name, "mediaType": self.media_type }),
            Dialect::Old => json!({
                "kind": "file",
                "file": { "bytes": bytes, "name": self.name, "mimeType": self.media_type }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, FilePart, is_file};
    use serde_json::json;

    #[test]
    fn files_of_both_versions_are_recognised() {
        for (part, dialect, name) in [
            (json!({ "raw": "YQ==", "filename": "a.csv" }), Dialect::One, Some("a.csv")),
            (json!({ "raw": "YQ==", "mediaType": "text/csv" }), Dialect::One, Some("file.csv")),
            (
                json!({ "url": "https://a.example/b.csv", "mediaType": "image/png" }),
                Dialect::One,
                Some("file.png"),
            ),
            (
                json!({ "kind": "file", "file": { "bytes": "YQ==", "name": "b.csv" } }),
                Dialect::Old,
                Some("b.csv"),
            ),
            (
                json!({ "kind": "file", "file": { "uri": "https://a.example/b" } }),
                Dialect::Old,
                Some("file."),
            ),
            (json!({ "kind": "file", "file": {} }), Dialect::Old, None),
            (json!({ "text": "a" }), Dialect::One, None),
            (json!({ "raw": "" }), Dialect::One, None),
        ] {
            assert_eq!(is_file(&part, dialect), name.is_some(), "{part}");
            assert_eq!(
                FilePart::parse(&part, dialect).map(|file| file.file_name()).as_deref(),
                name,
                "{part}"
            );
        }
    }
}
