//! The entries of a table's log, as far as a reader needs them.

use serde::Deserialize;
use std::collections::BTreeMap;

/// One line of a commit, or one row of a checkpoint.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Action {
    pub(super) add: Option<AddFile>,
    pub(super) remove: Option<RemoveFile>,
    pub(super) meta_data: Option<Metadata>,
    pub(super) protocol: Option<Protocol>,
    pub(super) commit_info: Option<CommitInfo>,
    pub(super) sidecar: Option<Sidecar>,
}

/// A data file that is part of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AddFile {
    pub(super) path: String,
    #[serde(default)]
    pub(super) partition_values: BTreeMap<String, Option<String>>,
    pub(super) size: u64,
    #[serde(default)]
    pub(super) stats: Option<String>,
    #[serde(default)]
    pub(super) deletion_vector: Option<DeletionVector>,
}

/// A data file that is no longer part of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoveFile {
    pub(super) path: String,
    #[serde(default)]
    pub(super) deletion_vector: Option<DeletionVector>,
}

/// Where the list of a file's deleted rows is.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeletionVector {
    pub(super) storage_type: String,
    pub(super) path_or_inline_dv: String,
    #[serde(default)]
    pub(super) offset: Option<u64>,
    pub(super) size_in_bytes: u64,
    pub(super) cardinality: u64,
}

/// A data file together with its deleted rows, which change without the file.
pub(super) type FileKey = (String, Option<(String, Option<u64>)>);

fn key(path: &str, vector: Option<&DeletionVector>) -> FileKey {
    let id = |vector: &DeletionVector| {
        (format!("{}{}", vector.storage_type, vector.path_or_inline_dv), vector.offset)
    };
    (path.to_owned(), vector.map(id))
}

impl AddFile {
    pub(super) fn key(&self) -> FileKey {
        key(&self.path, self.deletion_vector.as_ref())
    }

    pub(super) fn statistics(&self) -> FileStatistics {
        self.stats.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

impl RemoveFile {
    pub(super) fn key(&self) -> FileKey {
        key(&self.path, self.deletion_vector.as_ref())
    }
}

/// What the log says about the values of a file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FileStatistics {
    pub(super) num_records: Option<u64>,
    pub(super) min_values: serde_json::Map<String, serde_json::Value>,
    pub(super) max_values: serde_json::Map<String, serde_json::Value>,
    pub(super) null_count: serde_json::Map<String, serde_json::Value>,
}

/// The columns and settings of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) schema_string: String,
    #[serde(default)]
    pub(super) partition_columns: Vec<String>,
    #[serde(default)]
    pub(super) configuration: BTreeMap<String, Option<String>>,
    #[serde(default)]
    pub(super) format: Option<FileFormat>,
}

/// The format of the data files.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct FileFormat {
    pub(super) provider: String,
}

/// What a reader has to support.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Protocol {
    pub(super) min_reader_version: u32,
    #[serde(default)]
    pub(super) reader_features: Option<Vec<String>>,
}

/// When a version was written, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommitInfo {
    #[serde(default)]
    pub(super) timestamp: Option<i64>,
    #[serde(default)]
    pub(super) in_commit_timestamp: Option<i64>,
}

/// A further file of a checkpoint.
#[derive(Debug, Deserialize)]
pub(super) struct Sidecar {
    pub(super) path: String,
}
