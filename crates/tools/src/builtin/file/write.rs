//! `file.write`: creates, replaces or appends to a file, atomically.
//!
//! Invariant: the new content is on disk in a temporary file before it takes the name. A reader
//! sees the old or the new content, never a part, even after a crash.

use super::beneath::{Folder, PathTarget, Root, find, granted};
use super::{CATEGORY, LARGEST, trouble};
use crate::builtin::{Builtin, VERSION, arguments, blocking, example, misfit, schema, sha256};
use crate::error::{Error, Result};
use crate::tool::{Content, Context, Output, Tool};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use steward_domain::{ApprovalMode, Idempotency, JsonObject};
use steward_policy::AdmittedCall;

/// The tool's name.
const NAME: &str = "file.write";
const DESCRIPTION: &str = "Write text or bytes to a file in a granted folder: create a new file, overwrite \
    an existing one, or append to its end. Use it to save a report, store notes, export results or add a \
    line to a log. The \
    change happens as a whole or not at all; it returns the number of bytes and the SHA-256 of the file.";
/// The maximum size of a file after appending.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Create,
    Overwrite,
    Append,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    #[default]
    Text,
    Base64,
}

fn parameters() -> JsonObject {
    schema(
        json!({
            "path": { "type": "string", "minLength": 1, "maxLength": 4096,
                "description": "The file: absolute, or relative to a folder that is granted for writing" },
            "content": { "type": "string", "description": "What is written, at most 4 MiB" },
            "mode": { "enum": ["create", "overwrite", "append"], "default": "create",
                "description": "create refuses when the file is there; append adds at the end" },
            "encoding": { "enum": ["text", "base64"], "default": "text", "description": "What content is" },
        }),
        &["path", "content"],
    )
}

fn returns() -> JsonObject {
    schema(
        json!({
            "path": { "type": "string", "description": "Where the file is" },
            "bytes": { "type": "integer", "description": "How many bytes were written" },
            "size": { "type": "integer", "description": "How many bytes the file has now" },
            "sha256": { "type": "string", "description": "Of the whole file as it is now" },
            "created": { "type": "boolean", "description": "Whether the file is new" },
        }),
        &["path", "bytes", "size", "sha256", "created"],
    )
}

/// The tool over these roots.
pub(super) fn builtin(roots: Arc<[Root]>, off: Option<String>) -> Builtin {
    Builtin {
        name: NAME,
        version: VERSION,
        description: DESCRIPTION,
        parameters: parameters(),
        returns: returns(),
        idempotency: Idempotency::None,
        approval: ApprovalMode::WhenUntrusted,
        category: CATEGORY,
        examples: vec![
            example("save this as summary.md", json!({ "path": "summary.md", "content": "# Summary\n" })),
            example(
                "add a line to todo.txt: call Anna",
                json!({ "path": "todo.txt", "content": "call Anna\n", "mode": "append" }),
            ),
            example(
                "replace config.json with {}",
                json!({ "path": "config.json", "content": "{}", "mode": "overwrite" }),
            ),
        ],
        off,
        tool: Arc::new(WriteFile { roots }),
    }
}

struct WriteFile {
    roots: Arc<[Root]>,
}

#[async_trait]
impl Tool for WriteFile {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output> {
        let asked: Arguments = arguments(call)?;
        let bytes = match asked.encoding {
            Encoding::Text => asked.content.into_bytes(),
            Encoding::Base64 => STANDARD
                .decode(asked.content.trim())
                .map_err(|error| misfit(call, format!("content: is not base64: {error}")))?,
        };
        if bytes.len() > LARGEST {
            return Err(misfit(call, format!("content: has more than {LARGEST} bytes; write it in parts")));
        }
        let (roots, path, mode) = (self.roots.clone(), asked.path, asked.mode);
        // The call id makes the name of the temporary file unique.
        let making = OsString::from(format!(".steward-{}.part", call.call()));
        blocking(call, context, move || write(&roots, &path, &bytes, mode, &making)).await
    }
}

fn write(roots: &[Root], path: &str, bytes: &[u8], mode: Mode, making: &OsStr) -> Result<Output> {
    let failed = |error: io::Error| trouble(path, &error);
    let told = |detail: String| Error::File { path: path.to_owned(), detail };
    // Looks up the path for reading as well, so that the error can name a read-only root.
    let found = find(roots, path, true).map_err(|error| match find(roots, path, false) {
        Ok(PathTarget::File(..) | PathTarget::Folder(_)) => Error::Path {
            path: path.to_owned(),
            rule: format!("it may be read, not written; {}", granted(roots)),
        },
        _ => error,
    })?;
    let (folder, name, old) = match found {
        PathTarget::File(folder, name, seen) => (folder, name, Some(seen)),
        PathTarget::Nothing(folder, name) => (folder, name, None),
        PathTarget::Folder(_) => return Err(told("it is a folder".to_owned())),
    };
    if old.is_some() && mode == Mode::Create {
        return Err(told("it is there already; use the mode overwrite or append".to_owned()));
    }
    let before = match (&old, mode) {
        (Some(seen), Mode::Append) => content(&folder, &name, seen, bytes.len()).map_err(failed)?,
        _ => Vec::new(),
    };
    let whole = [before.as_slice(), bytes].concat();
    let result = place(&folder, &name, old.as_ref(), &whole, making, mode);
    if result.is_err() {
        let _ = fs::remove_file(folder.at(making));
    }
    result.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => told("it came into being just now; nothing was changed".to_owned()),
        _ => failed(error),
    })?;
    let shown = folder.path().join(&name).display().to_string();
    let text = format!("Wrote {} bytes to {shown}, which has {} bytes now.", bytes.len(), whole.len());
    let structured = json!({
        "path": shown, "bytes": bytes.len(), "size": whole.len(), "sha256": sha256(&whole),
        "created": old.is_none(),
    });
    Ok(Output { content: vec![Content::Text { text }], structured: Some(structured) })
}

/// The current content of the file.
fn content(folder: &Folder, name: &OsStr, seen: &Metadata, more: usize) -> io::Result<Vec<u8>> {
    let file = folder.read(name, seen)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if (bytes.len() + more) as u64 > LARGEST_FILE {
        return Err(io::Error::other(format!("it would grow beyond {LARGEST_FILE} bytes")));
    }
    Ok(bytes)
}

/// Writes a temporary file and gives it the name.
fn place(
    folder: &Folder,
    name: &OsStr,
    old: Option<&Metadata>,
    whole: &[u8],
    making: &OsStr,
    mode: Mode,
) -> io::Result<()> {
    let (part, target) = (folder.at(making), folder.at(name));
    // `create_new` never follows a planted symlink.
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&part)?;
    file.write_all(whole)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    if mode == Mode::Create {
        // A rename would replace a file that was created meanwhile. A hard link fails instead.
        fs::hard_link(&part, &target)?;
        fs::remove_file(&part)?;
    } else {
        fs::rename(&part, &target)?;
    }
    folder.sync()
}
