//! Files that users upload to ask about.
//!
//! Invariants
//! - A file belongs to its owner. It is stored in the owner's folder under a generated id, and only
//!   the owner can refer to it.
//! - Uploads are limited in size and number and are profiled on arrival. A file that cannot be read
//!   as data is not kept.

use super::extract::{Authenticated, PathParam, Queried, whole};
use super::openapi::Api;
use super::problem::Problem;
use super::{AppState, Listed, Shared, scope};
use crate::identity::{AuthMethod, Identity};
use axum::Json;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use futures_util::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steward_analysis::catalogue::{Column, Table};
use steward_analysis::session::{Options, Session};
use steward_analysis::source::{ENDINGS, PACKED_ENDINGS};
use steward_domain::{Coded as _, ConversationId, Role, Timestamp};
use steward_store::{ConversationFilter, Page};
use uuid::Uuid;

/// The maximum size of a file.
pub(super) const LARGEST: usize = 100 * 1024 * 1024;
/// The maximum number of concurrent uploads.
pub(super) const AT_ONCE: usize = 4;
/// The maximum number of files per user.
const MOST: usize = 200;
/// The timeout for profiling a file.
const LOOK: Duration = Duration::from_secs(30);
/// The maximum decompressed size, in bytes.
const UNPACKED: u64 = 1 << 30;

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// An uploaded file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Upload {
    id: Uuid,
    name: String,
    bytes: u64,
    /// Its tables, each with its row count, column profiles and first rows.
    tables: Vec<Value>,
    /// Suggested questions, at most three.
    #[serde(default)]
    questions: Vec<String>,
}

/// A file with the questions asked about it.
#[derive(Debug, Serialize, JsonSchema)]
struct UploadUse {
    #[serde(flatten)]
    upload: Upload,
    /// The latest questions first, from your latest conversations.
    asked: Vec<AskedOfFile>,
}

/// A question that was sent with a file.
#[derive(Debug, Serialize, JsonSchema)]
struct AskedOfFile {
    conversation_id: ConversationId,
    question: String,
    at: Timestamp,
}

pub(super) fn routes(api: &mut Api) {
    api.post("/api/v1/uploads", "Bring a file along to ask about")
        .query(
            "name",
            json!({ "type": "string", "minLength": 1, "maxLength": 200 }),
            "What it is called, with its ending.",
        )
        .takes_bytes()
        .gives::<Upload>(201, "It can be asked about as `upload:ID`.")
        .to(post(take).layer(DefaultBodyLimit::max(LARGEST)));
    api.get("/api/v1/uploads", "The files that you brought along").gives_page::<Upload>().to(get(list));
    api.get("/api/v1/uploads/{id}", "A file that you brought along, and what was asked of it")
        .gives::<UploadUse>(200, "The file.")
        .to(get(show));
    api.delete("/api/v1/uploads/{id}", "Delete a file that you brought along")
        .gives_nothing("It is gone.")
        .to(delete(remove));
}

impl AppState {
    /// The folder of the user's files. The name is hex-encoded, so it cannot contain a path.
    fn uploads(&self, identity: &Identity) -> PathBuf {
        let plain: String =
            identity.user.as_str().bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        self.options.home.join("uploads").join(plain)
    }

    /// Resolves a data reference: an upload of the caller, or any source for the owner over
    /// loopback.
    pub(super) fn source(&self, identity: &Identity, named: &str) -> Result<String, Problem> {
        if let Some(id) = named.strip_prefix("upload:") {
            let missing = || Problem::missing("upload", id);
            let id: Uuid = id.parse().map_err(|_| missing())?;
            return self.file_of(identity, id).map(|path| path.display().to_string()).ok_or_else(missing);
        }
        if identity.grants.is_none() && identity.by == AuthMethod::Loopback {
            return Ok(named.to_owned());
        }
        Err(Problem::denied(format!(
            "{named:?} is not yours to name: upload it and say `upload:ID`, or ask a domain"
        )))
    }

    /// The files attached to a message, by the stored paths. A deleted file is returned with its
    /// name only.
    pub(super) fn attached(&self, identity: &Identity, paths: &Value) -> Vec<Value> {
        let folder = self.uploads(identity);
        let paths = paths.as_array().into_iter().flatten().filter_map(Value::as_str).map(Path::new);
        let about = |path: &Path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            let here = path.parent().filter(|here| here.parent() == Some(folder.as_path()))?;
            let known = std::fs::read(here.join(ABOUT)).ok();
            let known = known.and_then(|known| serde_json::from_slice::<Value>(&known).ok());
            Some(known.unwrap_or_else(|| json!({ "name": name, "gone": true })))
        };
        paths.filter_map(about).collect()
    }

    fn file_of(&self, identity: &Identity, id: Uuid) -> Option<PathBuf> {
        let entries = std::fs::read_dir(self.uploads(identity).join(id.to_string())).ok()?;
        let mut files = entries.flatten().map(|entry| entry.path());
        files.find(|path| path.file_name().is_some_and(|name| name != ABOUT))
    }
}

/// The name of the metadata file beside an upload.
const ABOUT: &str = "about.upload";

/// Removes incomplete uploads of a process that was killed: files without metadata.
pub(super) fn clean(home: &Path) {
    let people = std::fs::read_dir(home.join("uploads")).into_iter().flatten().flatten();
    for upload in people.flat_map(|person| std::fs::read_dir(person.path()).into_iter().flatten().flatten()) {
        let path = upload.path();
        if path.is_dir() && !path.join(ABOUT).exists() {
            let _retried_at_next_start = std::fs::remove_dir_all(path);
        }
    }
}

/// Sanitizes a file name.
fn plain(name: &str) -> Result<String, Problem> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String =
        last.chars().map(|c| if c.is_alphanumeric() || "-_. ".contains(c) { c } else { '_' }).collect();
    let (stem, ending) = kept.rsplit_once('.').unwrap_or((&kept, ""));
    let ending = ending.to_ascii_lowercase();
    // The length stays within file system limits, with room for the extension.
    let mut short = String::new();
    for c in stem.trim_matches(['.', ' ']).chars() {
        if short.len() + c.len_utf8() > 150 {
            break;
        }
        short.push(c);
    }
    let short = if short.is_empty() { "data".to_owned() } else { short };
    if !ENDINGS.contains(&ending.as_str()) && !PACKED_ENDINGS.contains(&ending.as_str()) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "WEB016",
            format!(
                "{name:?} is not a kind of file that can be asked about. Bring one of: {}",
                ENDINGS.iter().chain(&PACKED_ENDINGS).copied().collect::<Vec<_>>().join(", ")
            ),
        ));
    }
    Ok(format!("{short}.{ending}"))
}

async fn take(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Queried(Named { name }): Queried<Named>,
    request: Request,
) -> Result<(StatusCode, Json<Upload>), Problem> {
    let name = plain(&name)?;
    // A file is held in memory until it is stored, so concurrent uploads are limited.
    let Ok(_place) = site.uploading.try_acquire() else {
        return Err(Problem::busy(format!("{AT_ONCE} files are being brought. Try again in a moment"), 2));
    };
    let bytes = whole(request, &site).await?;
    if bytes.is_empty() {
        return Err(Problem::input("the file is empty"));
    }
    let folder = site.uploads(&identity);
    let kept = std::fs::read_dir(&folder).map_or(0, Iterator::count);
    if kept >= MOST {
        return Err(Problem::new(
            StatusCode::INSUFFICIENT_STORAGE,
            "WEB017",
            format!("{MOST} files are kept: delete one first"),
        ));
    }
    let id = site.new_id()?;
    let here = folder.join(id.to_string());
    match keep(&site, &here, id, name, &bytes).await {
        Ok(upload) => Ok((StatusCode::CREATED, Json(upload))),
        Err(problem) => {
            let _unreadable_file_is_removed = tokio::fs::remove_dir_all(&here).await;
            Err(problem)
        }
    }
}

/// Stores a file and profiles it.
async fn keep(site: &Shared, here: &Path, id: Uuid, name: String, bytes: &[u8]) -> Result<Upload, Problem> {
    let failed = |error: std::io::Error| {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "WEB005",
            format!("the file could not be kept: {error}"),
        )
    };
    tokio::fs::create_dir_all(here).await.map_err(failed)?;
    let path = here.join(&name);
    tokio::fs::write(&path, bytes).await.map_err(failed)?;
    let late = |_| Problem::input(format!("{name} could not be looked over within {} s", LOOK.as_secs()));
    // A malformed file may make its parser panic. That is reported as an error of the file.
    let looked = AssertUnwindSafe(look(site, &path)).catch_unwind();
    let looked = tokio::time::timeout(LOOK, looked).await.map_err(late)?;
    let (tables, questions) = looked
        .map_err(|_| Problem::input(format!("{name} cannot be read: it is not what its ending says")))??;
    let upload = Upload { id, name, bytes: bytes.len() as u64, tables, questions };
    let about = serde_json::to_vec(&upload).unwrap_or_default();
    tokio::fs::write(here.join(ABOUT), about).await.map_err(failed)?;
    Ok(upload)
}

/// The number of preview rows per table, and of tables with a preview.
const PREVIEW_ROWS: usize = 8;
const PREVIEW_TABLES: usize = 5;
/// The maximum number of profiled columns per table.
const DESCRIBED: usize = 200;

/// Reads the tables of a file with their profiles and first rows, and suggests questions.
async fn look(site: &Shared, path: &Path) -> Result<(Vec<Value>, Vec<String>), Problem> {
    let options = Options { unpacked: UNPACKED, ..site.app().options };
    let session = Session::open(&[path.display().to_string()], options).await.map_err(|error| {
        // Server paths are not shown.
        let shown = error.to_string().replace(&path.display().to_string(), "the file");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.code(), shown)
    })?;
    let catalogue = session.catalogue();
    let mut tables = Vec::new();
    for (place, table) in catalogue.tables.iter().enumerate() {
        let head =
            if place < PREVIEW_TABLES { session.head(&table.name, PREVIEW_ROWS).await.ok() } else { None };
        let rows: Vec<Vec<Value>> = head
            .map(|(frame, _)| frame.rows.iter().take(PREVIEW_ROWS).map(|row| shown(row)).collect())
            .unwrap_or_default();
        tables.push(json!({
            "name": table.name, "rows": table.rows, "rows_estimated": is_estimated(path, table),
            "columns": table.columns.iter().take(DESCRIBED).map(profile).collect::<Vec<_>>(),
            "preview": rows,
        }));
    }
    Ok((tables, steward_runtime::ask::first_questions(catalogue)))
}

fn shown(row: &[steward_analysis::frame::Value]) -> Vec<Value> {
    row.iter().map(steward_analysis::frame::Value::json).collect()
}

/// Large text files are sampled, so their row count is estimated from the size.
fn is_estimated(path: &Path, table: &Table) -> bool {
    let exact = ["parquet", "arrow", "feather", "avro", "sqlite", "db", "xlsx", "xlsm", "xls", "xlsb", "ods"];
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let sampled = table.columns.iter().any(|column| table.rows.is_some_and(|rows| column.seen < rows));
    sampled && !ending.is_some_and(|ending| exact.contains(&ending.as_str()))
}

/// The profile of a column.
fn profile(column: &Column) -> Value {
    let frequent =
        column.values.iter().take(5).map(|(value, count)| json!({ "value": value, "count": count }));
    // Values that look personal are not included.
    let open = column.looks_like.is_none();
    json!({
        "name": column.name, "label": column.label, "type": column.kind, "nulls": column.nulls,
        "seen": column.seen, "distinct": column.distinct,
        "min": if open { column.min.json() } else { Value::Null },
        "max": if open { column.max.json() } else { Value::Null },
        "frequent": if open { frequent.collect::<Vec<_>>() } else { Vec::new() },
        "looks_like": column.looks_like,
    })
}

/// The number of conversations and messages that are searched for questions about a file.
const SEARCHED_CONVERSATIONS: u32 = 300;
const MESSAGES: u32 = 100;
/// The maximum number of listed questions per file.
const ASKED: usize = 20;

async fn show(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<Uuid>,
) -> Result<Json<UploadUse>, Problem> {
    let here = site.uploads(&identity).join(id.to_string());
    let about = std::fs::read(here.join(ABOUT)).ok();
    let upload = about.and_then(|about| serde_json::from_slice::<Upload>(&about).ok());
    let upload = upload.ok_or_else(|| Problem::missing("upload", id))?;
    let (scope, store) = (scope(&identity), site.store());
    let filter = ConversationFilter { status: None, application_domain: None };
    let mut asked = Vec::new();
    for conversation in store.conversations(&scope, filter, Page::first(SEARCHED_CONVERSATIONS)).await? {
        let messages = store.history(&scope, conversation.id, Page::first(MESSAGES)).await?;
        for pair in messages.windows(2) {
            let [question, answer] = pair else { continue };
            let files = answer.metadata.get("data").and_then(Value::as_array).into_iter().flatten();
            let of_it = files.filter_map(Value::as_str).any(|path| Path::new(path).parent() == Some(&here));
            if of_it && question.role == Role::User && answer.role == Role::Agent {
                let (question, at) = (question.content.to_string(), question.timestamp);
                asked.push(AskedOfFile { conversation_id: conversation.id, question, at });
            }
        }
        if asked.len() >= ASKED {
            break;
        }
    }
    asked.sort_by_key(|one| std::cmp::Reverse(one.at));
    asked.truncate(ASKED);
    Ok(Json(UploadUse { upload, asked }))
}

async fn list(State(site): State<Shared>, Authenticated(identity): Authenticated) -> Json<Listed<Upload>> {
    let entries = std::fs::read_dir(site.uploads(&identity)).into_iter().flatten().flatten();
    let mut items: Vec<Upload> = entries
        .filter_map(|entry| serde_json::from_slice(&std::fs::read(entry.path().join(ABOUT)).ok()?).ok())
        .collect();
    // Ids start with the time.
    items.sort_by_key(|upload| std::cmp::Reverse(upload.id));
    Json(Listed { items, next: None })
}

async fn remove(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(id): PathParam<Uuid>,
) -> Result<StatusCode, Problem> {
    let removed = tokio::fs::remove_dir_all(site.uploads(&identity).join(id.to_string())).await;
    removed.map(|()| StatusCode::NO_CONTENT).map_err(|_| Problem::missing("upload", id))
}

#[cfg(test)]
mod tests {
    use super::{ABOUT, clean, plain};

    #[test]
    fn incomplete_uploads_are_removed() {
        let home = tempfile::tempdir().unwrap();
        for (id, whole) in [("a", true), ("b", false)] {
            let folder = home.path().join("uploads/6565").join(id);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("x.csv"), "a\n1\n").unwrap();
            if whole {
                std::fs::write(folder.join(ABOUT), "{}").unwrap();
            }
        }
        clean(home.path());
        let left = |id: &str| home.path().join("uploads/6565").join(id).exists();
        assert!(left("a") && !left("b"));
    }

    #[test]
    fn file_name_cannot_leave_its_folder() {
        assert_eq!(plain("sales.csv").unwrap(), "sales.csv");
        assert_eq!(plain("../../etc/x.csv").unwrap(), "x.csv");
        assert_eq!(plain("..\\..\\x.csv").unwrap(), "x.csv");
        assert_eq!(plain("a\u{0}b\n.csv").unwrap(), "a_b_.csv");
        assert!(plain("run.sh").is_err());
        assert_eq!(plain("sales.csv.gz").unwrap(), "sales.csv.gz");
        assert_eq!(plain("Plan 2024.XLSX").unwrap(), "Plan 2024.xlsx");
        assert!(plain(&format!("{}.csv", "𠀀".repeat(96))).unwrap().len() <= 160);
        assert_eq!(plain(".csv").unwrap(), "data.csv");
        assert!(plain("...").is_err());
        assert!(plain("").is_err());
    }
}
