//! `file.list`: the entries of a granted folder, sorted and limited.

use super::beneath::{Folder, PathTarget, Root, find};
use super::{CATEGORY, trouble};
use crate::builtin::{Builtin, VERSION, arguments, blocking, example, misfit, schema};
use crate::error::{Error, Result};
use crate::tool::{Content, Context, Output, Tool};
use async_trait::async_trait;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::sync::Arc;
use steward_domain::{ApprovalMode, Idempotency, JsonObject, Timestamp};
use steward_policy::AdmittedCall;

/// The tool's name.
const NAME: &str = "file.list";
const DESCRIPTION: &str = "List the files and folders in a granted folder: names, sizes and times of change, \
    optionally with subfolders and filtered by a pattern such as *.csv. Use it to find out which files there \
    are, to search \
    for a file by name, or to browse a directory. Without a path it shows the granted folders.";
/// The maximum number of scanned entries.
const SCANNED: usize = 50_000;
/// The maximum depth.
const DEEPEST: usize = 16;
/// The maximum number of returned entries.
const MOST: usize = 1000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    pattern: Option<String>,
    #[serde(default)]
    depth: Option<usize>,
    limit: Option<usize>,
    #[serde(default)]
    hidden: bool,
}

fn parameters() -> JsonObject {
    schema(
        json!({
            "path": { "type": "string", "minLength": 1, "maxLength": 4096,
                "description": "The folder: absolute, or relative to a granted folder; without it the \
                    granted folders" },
            "pattern": { "type": "string", "minLength": 1, "maxLength": 256,
                "description": "Which names: * any characters, ? one character, ** any folders. With a / it \
                    fits the whole path" },
            "depth": { "type": "integer", "minimum": 1, "maximum": DEEPEST, "default": 1,
                "description": "How many levels of folders are gone down" },
            "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "default": 200,
                "description": "How many entries are given at most" },
            "hidden": { "type": "boolean", "default": false,
                "description": "Whether names that begin with a dot are shown" },
        }),
        &[],
    )
}

fn returns() -> JsonObject {
    schema(
        json!({
            "path": { "type": "string", "description": "The folder" },
            "entries": { "type": "array", "description": "What is in it, by path", "items": {
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "From the folder that was asked for" },
                    "kind": { "enum": ["file", "folder", "link", "other"], "description": "What it is" },
                    "bytes": { "type": "integer", "description": "How large it is" },
                    "changed": { "type": "string", "description": "When it last changed" },
                },
                "required": ["path", "kind"],
                "additionalProperties": false,
            } },
            "more": { "type": "boolean", "description": "Whether there is more than is given" },
        }),
        &["path", "entries", "more"],
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
            example("which files are there?", json!({})),
            example("list the CSV files in data", json!({ "path": "data", "pattern": "*.csv" })),
            example(
                "find every Markdown file below docs",
                json!({ "path": "docs", "pattern": "*.md", "depth": 16 }),
            ),
        ],
        off,
        tool: Arc::new(ListFiles { roots }),
    }
}

struct ListFiles {
    roots: Arc<[Root]>,
}

#[derive(Debug, Serialize)]
struct Entry {
    path: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Timestamp>,
}

#[async_trait]
impl Tool for ListFiles {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output> {
        let asked: Arguments = arguments(call)?;
        let pattern = match &asked.pattern {
            Some(glob) => {
                Some(Pattern::new(glob).map_err(|error| misfit(call, format!("pattern: {error}")))?)
            }
            None => None,
        };
        let roots = self.roots.clone();
        let limit = asked.limit.unwrap_or(200).clamp(1, MOST);
        let depth = asked.depth.unwrap_or(1).clamp(1, DEEPEST);
        blocking(call, context, move || {
            let Some(path) = &asked.path else {
                return Ok(shown("granted folders", &granted(&roots), false));
            };
            let PathTarget::Folder(folder) = find(&roots, path, false)? else {
                let detail = "it is not a folder; file.read reads a file".to_owned();
                return Err(Error::File { path: path.clone(), detail });
            };
            let base = folder.path().display().to_string();
            let mut scan = Scan { pattern, hidden: asked.hidden, entries: Vec::new(), seen: 0, more: false };
            scan.folder(folder, depth, path)?;
            scan.entries.sort_by(|a, b| a.path.cmp(&b.path));
            let more = scan.more || scan.entries.len() > limit;
            scan.entries.truncate(limit);
            Ok(shown(&base, &scan.entries, more))
        })
        .await
    }
}

fn granted(roots: &[Root]) -> Vec<Entry> {
    let entry = |root: &Root| Entry {
        path: root.path.display().to_string(),
        kind: "folder",
        bytes: None,
        changed: None,
    };
    roots.iter().map(entry).collect()
}

fn shown(path: &str, entries: &[Entry], more: bool) -> Output {
    let mut text = format!("{path}:\n");
    for entry in entries {
        let size = entry.bytes.map(|bytes| format!("  {bytes} bytes")).unwrap_or_default();
        let mark = if entry.kind == "folder" { "/" } else { "" };
        text.push_str(&format!("{}{mark}{size}\n", entry.path));
    }
    if entries.is_empty() {
        text.push_str("nothing\n");
    }
    if more {
        text.push_str("There is more: narrow it with a pattern or a subfolder.\n");
    }
    let structured = json!({ "path": path, "entries": entries, "more": more });
    Output { content: vec![Content::Text { text }], structured: Some(structured) }
}

/// A scan of a folder tree.
struct Scan {
    pattern: Option<Pattern>,
    hidden: bool,
    entries: Vec<Entry>,
    seen: usize,
    more: bool,
}

/// A scanned folder with its subfolders that are still to be scanned.
struct Level {
    folder: Folder,
    above: String,
    inside: Vec<(OsString, Metadata)>,
}

impl Scan {
    /// Scans depth-first, so that at most one folder per level is open. Symlinks are listed and not
    /// followed. An unreadable folder does not stop the scan.
    fn folder(&mut self, top: Folder, depth: usize, asked: &str) -> Result<()> {
        let inside = self.entries_of(&top, "").map_err(|error| trouble(asked, &error))?;
        let mut way = vec![Level { folder: top, above: String::new(), inside }];
        while let Some(level) = way.last_mut() {
            let Some((name, seen)) = level.inside.pop().filter(|_| !self.more) else {
                way.pop();
                continue;
            };
            let above = format!("{}{}/", level.above, name.to_string_lossy());
            let Ok(folder) = level.folder.enter(&name, &seen) else { continue };
            if way.len() < depth
                && let Ok(inside) = self.entries_of(&folder, &above)
            {
                way.push(Level { folder, above, inside });
            }
        }
        Ok(())
    }

    /// Records the entries of one folder and returns its subfolders.
    fn entries_of(&mut self, folder: &Folder, above: &str) -> std::io::Result<Vec<(OsString, Metadata)>> {
        let mut inside = Vec::new();
        for entry in fs::read_dir(folder.here())?.flatten() {
            self.seen += 1;
            if self.seen > SCANNED {
                self.more = true;
                break;
            }
            let name = entry.file_name();
            let text = name.to_string_lossy();
            if text.starts_with('.') && !self.hidden {
                continue;
            }
            let Ok(meta) = folder.at(&name).symlink_metadata() else { continue };
            let path = format!("{above}{text}");
            let kind = match meta.file_type() {
                kind if kind.is_file() => "file",
                kind if kind.is_dir() => "folder",
                kind if kind.is_symlink() => "link",
                _ => "other",
            };
            if self.pattern.as_ref().is_none_or(|pattern| pattern.fits(&path, &text)) {
                let changed = meta.modified().ok().and_then(moment);
                let bytes = (kind == "file").then_some(meta.len());
                self.entries.push(Entry { path, kind, bytes, changed });
            }
            if kind == "folder" {
                inside.push((name, meta));
            }
        }
        Ok(inside)
    }
}

fn moment(time: std::time::SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_micros(i64::try_from(since.as_micros()).ok()?))
}

/// A glob, compiled to a regular expression with linear run time.
pub(super) struct Pattern {
    regex: Regex,
    whole: bool,
}

impl Pattern {
    pub(super) fn new(glob: &str) -> Result<Self, String> {
        let mut regex = String::from("(?s)^");
        let mut rest = glob.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '*' if rest.peek() == Some(&'*') => {
                    rest.next();
                    if rest.peek() == Some(&'/') {
                        rest.next();
                        regex.push_str("(?:.*/)?");
                    } else {
                        regex.push_str(".*");
                    }
                }
                '*' => regex.push_str("[^/]*"),
                '?' => regex.push_str("[^/]"),
                other => regex.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
            }
        }
        regex.push('$');
        let regex = Regex::new(&regex).map_err(|error| error.to_string())?;
        Ok(Self { regex, whole: glob.contains('/') })
    }

    pub(super) fn fits(&self, path: &str, name: &str) -> bool {
        self.regex.is_match(if self.whole { path } else { name })
    }
}
