//! `file.read`: the text or bytes of a file, or a part of it.

use super::beneath::{PathTarget, Root, find};
use super::{CATEGORY, LARGEST, trouble};
use crate::builtin::{Builtin, VERSION, arguments, blocking, example, schema, sha256};
use crate::error::{Error, Result};
use crate::tool::{Content, Context, Output, Tool};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use steward_domain::{ApprovalMode, Idempotency, JsonObject};
use steward_policy::AdmittedCall;

/// The tool's name.
const NAME: &str = "file.read";
const DESCRIPTION: &str = "Read the contents of a file in a granted folder: open a text file, CSV, log, \
    JSON, Markdown or source file and return its text, or the bytes of a binary file as base64. Can read \
    only a part: from an \
    offset, up to a number of bytes or lines, such as the first 20 lines of a log.";
/// How many bytes of a file are scanned for lines.
const SCANNED: u64 = 256 * 1024 * 1024;
/// The default size limit of one read.
const USUAL: usize = 256 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    #[serde(default)]
    offset: u64,
    limit: Option<u64>,
    #[serde(default)]
    unit: Unit,
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Unit {
    #[default]
    Bytes,
    Lines,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    #[default]
    Auto,
    Text,
    Base64,
}

fn parameters() -> JsonObject {
    schema(
        json!({
            "path": { "type": "string", "minLength": 1, "maxLength": 4096,
                "description": "The file: absolute, or relative to a granted folder" },
            "offset": { "type": "integer", "minimum": 0, "default": 0,
                "description": "How many bytes or lines to leave out at the beginning" },
            "limit": { "type": "integer", "minimum": 1,
                "description": "How many bytes or lines to read at most; at most 4 MiB are given" },
            "unit": { "enum": ["bytes", "lines"], "default": "bytes",
                "description": "What offset and limit count" },
            "encoding": { "enum": ["auto", "text", "base64"], "default": "auto",
                "description": "text refuses bytes that are no UTF-8; auto gives those as base64" },
        }),
        &["path"],
    )
}

fn returns() -> JsonObject {
    schema(
        json!({
            "path": { "type": "string", "description": "Where the file was found" },
            "encoding": { "enum": ["text", "base64"], "description": "What content is" },
            "content": { "type": "string", "description": "The text, or the bytes in base64" },
            "bytes": { "type": "integer", "description": "How many bytes were read" },
            "size": { "type": "integer", "description": "How many bytes the file has" },
            "end": { "type": "boolean", "description": "Whether the end of the file was reached" },
            "next_offset": { "type": ["integer", "null"],
                "description": "The offset that reads on, in the unit asked for; nothing at the end" },
            "sha256": { "type": ["string", "null"], "description": "Of the file, when all of it was read" },
        }),
        &["path", "encoding", "content", "bytes", "size", "end"],
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
        idempotency: Idempotency::ReadOnly,
        approval: ApprovalMode::Never,
        category: CATEGORY,
        examples: vec![
            example("show me what is in notes.txt", json!({ "path": "notes.txt" })),
            example(
                "read the first 20 lines of server.log",
                json!({ "path": "server.log", "unit": "lines", "limit": 20 }),
            ),
            example("open the readme", json!({ "path": "README.md" })),
        ],
        off,
        tool: Arc::new(ReadFile { roots }),
    }
}

struct ReadFile {
    roots: Arc<[Root]>,
}

#[async_trait]
impl Tool for ReadFile {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output> {
        let asked: Arguments = arguments(call)?;
        let roots = self.roots.clone();
        let part = blocking(call, context, move || read(&roots, &asked)).await?;
        Ok(part.output())
    }
}

/// The part that was read.
struct Part {
    path: String,
    bytes: Vec<u8>,
    size: u64,
    end: bool,
    next: Option<u64>,
    whole: bool,
    text: Option<String>,
}

fn read(roots: &[Root], asked: &Arguments) -> Result<Part> {
    let failed = |error: std::io::Error| trouble(&asked.path, &error);
    let (folder, name, seen) = match find(roots, &asked.path, false)? {
        PathTarget::File(folder, name, seen) => (folder, name, seen),
        PathTarget::Folder(_) => {
            let detail = "it is a folder; file.list shows what is in it".to_owned();
            return Err(Error::File { path: asked.path.clone(), detail });
        }
        PathTarget::Nothing(..) => {
            let detail = "there is no such file; file.list shows what there is".to_owned();
            return Err(Error::File { path: asked.path.clone(), detail });
        }
    };
    let file = folder.read(&name, &seen).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let path = folder.path().join(&name).display().to_string();
    let (mut bytes, lines) = match asked.unit {
        Unit::Bytes => (some_bytes(file, asked).map_err(failed)?, 0),
        Unit::Lines => some_lines(file, asked)?,
    };
    let mut end = match asked.unit {
        Unit::Bytes => asked.offset.saturating_add(bytes.len() as u64) >= size,
        Unit::Lines => lines < asked.limit.unwrap_or(u64::MAX) && bytes.len() < LARGEST,
    };
    if asked.unit == Unit::Bytes && !end && asked.encoding != Encoding::Base64 {
        // A character that is cut by the limit is left for the next read.
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
            && error.valid_up_to() > 0
        {
            bytes.truncate(error.valid_up_to());
            end = false;
        }
    }
    let text = match asked.encoding {
        Encoding::Base64 => None,
        Encoding::Auto | Encoding::Text => {
            String::from_utf8(bytes.clone()).ok().filter(|text| !text.contains('\0'))
        }
    };
    if text.is_none() && asked.encoding == Encoding::Text {
        let detail = "it is no UTF-8 text; ask for base64".to_owned();
        return Err(Error::File { path, detail });
    }
    let moved = if asked.unit == Unit::Bytes { bytes.len() as u64 } else { lines };
    let next = (!end).then(|| asked.offset.saturating_add(moved));
    let whole = end && asked.offset == 0 && bytes.len() as u64 == size;
    Ok(Part { path, bytes, size, end, next, whole, text })
}

fn some_bytes(mut file: File, asked: &Arguments) -> std::io::Result<Vec<u8>> {
    let limit = asked.limit.unwrap_or(USUAL as u64).min(LARGEST as u64);
    file.seek(SeekFrom::Start(asked.offset))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Skips `offset` lines and reads up to `limit` lines, within the size limits.
fn some_lines(file: File, asked: &Arguments) -> Result<(Vec<u8>, u64)> {
    let failed = |error: std::io::Error| trouble(&asked.path, &error);
    let mut reader = BufReader::new(file.take(SCANNED));
    for _ in 0..asked.offset {
        if reader.skip_until(b'\n').map_err(failed)? == 0 {
            break;
        }
    }
    let mut bytes = Vec::new();
    let mut lines = 0;
    while lines < asked.limit.unwrap_or(u64::MAX) {
        let before = bytes.len();
        let room = (LARGEST - before) as u64;
        if reader.by_ref().take(room).read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            break;
        }
        if bytes.len() >= LARGEST && bytes.last() != Some(&b'\n') {
            // A line that does not fit is left for the next read, unless it is the only one.
            if before == 0 {
                return Err(Error::TooLarge { what: format!("one line of {}", asked.path), limit: LARGEST });
            }
            bytes.truncate(before);
            break;
        }
        lines += 1;
    }
    Ok((bytes, lines))
}

impl Part {
    fn output(self) -> Output {
        let sha256 = self.whole.then(|| sha256(&self.bytes));
        let count = self.bytes.len();
        let (encoding, content) = match self.text {
            Some(text) => ("text", text),
            None => ("base64", STANDARD.encode(&self.bytes)),
        };
        let shown = match encoding {
            "text" => content.clone(),
            _ => format!("{} holds {} bytes that are no text; they are in base64.", self.path, self.size),
        };
        let mut structured = json!({
            "path": self.path, "encoding": encoding, "content": content, "bytes": count, "size": self.size,
            "end": self.end, "next_offset": self.next,
        });
        if let (Some(map), Some(hash)) = (structured.as_object_mut(), sha256) {
            map.insert("sha256".to_owned(), Json::String(hash));
        }
        Output { content: vec![Content::Text { text: shown }], structured: Some(structured) }
    }
}
