//! Skills: folders with a `SKILL.md` that describes how a task is done (the Agent Skills format).
//!
//! Invariants
//! - Only the name and description of every skill are loaded. The body and the files are read on
//!   request (progressive disclosure).
//! - Nothing outside a skill's folder is read, whatever its text or its symlinks say.
//! - An invalid skill does not hide the others: problems are listed beside the skills, each with
//!   its file and line.
//! - `allowed-tools` restricts what a skill may use. It grants nothing: policy decides on every
//!   call.

mod front;
mod offer;

pub use offer::{Embed, Offer};

use crate::builtin::file::beneath::{Folder, PathTarget, Root, find};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The file that marks a folder as a skill.
pub const FILE: &str = "SKILL.md";
/// The maximum size of `SKILL.md`.
const LARGEST: u64 = 256 * 1024;
/// The maximum size of another file.
const LARGEST_FILE: u64 = 1024 * 1024;
/// The maximum number of skills in a folder.
const MOST: usize = 500;
/// The maximum number of listed files of a skill, and their maximum depth.
const FILES: usize = 200;
const DEEPEST: usize = 4;

/// A skill without its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// The name, which is also that of its folder.
    pub name: String,
    /// What it does and when it applies.
    pub description: String,
    /// The licence.
    pub license: Option<String>,
    /// The only tools that it may use. An empty list means any.
    pub allowed_tools: Vec<String>,
    /// Further metadata.
    pub metadata: BTreeMap<String, String>,
    /// The other files, relative to the skill's folder.
    pub files: Vec<String>,
    folder: PathBuf,
}

impl Skill {
    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The instructions, in Markdown.
    pub fn body(&self) -> Result<String> {
        let text = read(&self.folder, FILE, LARGEST)?;
        front::split(&text)
            .map(|(_, body)| body.trim().to_owned())
            .map_err(|(line, what)| self.wrong(line, &what))
    }

    /// Reads a text file of the skill, by its path relative to the skill's folder.
    pub fn read(&self, file: &str) -> Result<String> {
        if Path::new(file).is_absolute() {
            let rule = format!("the files of a skill are named from its folder {}", self.folder.display());
            return Err(Error::Path { path: file.to_owned(), rule });
        }
        read(&self.folder, file, LARGEST_FILE)
    }

    fn wrong(&self, line: usize, what: &str) -> Error {
        problem(&self.folder.join(FILE), line, what)
    }
}

/// The skills of a folder, and the problems of invalid ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Skills {
    /// The skills, sorted by name.
    pub skills: Vec<Skill>,
    /// The problems of invalid skills.
    pub problems: Vec<Error>,
}

impl Skills {
    /// Loads every folder in `folder` that has a `SKILL.md`.
    #[must_use]
    pub fn load(folder: &Path) -> Self {
        let mut found = Self::default();
        let listing = match fs::read_dir(folder) {
            Ok(listing) => listing,
            Err(error) => {
                let problem = format!("the folder of skills cannot be read: {error}");
                found.problems.push(Error::Skill { file: folder.to_owned(), problem });
                return found;
            }
        };
        let mut folders: Vec<PathBuf> = (listing.flatten())
            .map(|entry| entry.path())
            .filter(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir()))
            .filter(|path| path.join(FILE).symlink_metadata().is_ok())
            .collect();
        folders.sort();
        if folders.len() > MOST {
            let problem = format!("it holds more than {MOST} skills; the rest is left out");
            found.problems.push(Error::Skill { file: folder.to_owned(), problem });
            folders.truncate(MOST);
        }
        for path in folders {
            match load(&path) {
                Ok(skill) => found.skills.push(skill),
                Err(error) => found.problems.push(error),
            }
        }
        found
    }

    /// The skill with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The skills whose description matches a request, best first, at most three.
    #[must_use]
    pub fn offer(&self, request: &str, embed: Option<&Embed<'_>>) -> Vec<Offer<'_>> {
        offer::offer(&self.skills, request, embed)
    }
}

/// Loads one skill.
pub fn load(folder: &Path) -> Result<Skill> {
    let file = folder.join(FILE);
    let text = read(folder, FILE, LARGEST)
        .map_err(|error| Error::Skill { file: file.clone(), problem: error.to_string() })?;
    let front = front::parse(&text).map_err(|(line, what)| problem(&file, line, &what))?;
    let named = folder.file_name().unwrap_or_default().to_string_lossy();
    if front.name != named {
        let what = format!("the name is {}, but the folder is {named}; both must be the same", front.name);
        return Err(problem(&file, front::line_of(&text, "name"), &what));
    }
    let files = files(folder)?;
    let front::Front { name, description, license, allowed_tools, metadata } = front;
    Ok(Skill { name, description, license, allowed_tools, metadata, files, folder: folder.to_owned() })
}

fn problem(file: &Path, line: usize, what: &str) -> Error {
    Error::Skill { file: file.to_owned(), problem: format!("line {line}: {what}") }
}

/// Reads a text file beneath a folder, up to a size limit.
fn read(folder: &Path, file: &str, largest: u64) -> Result<String> {
    let failed = |detail: String| Error::File { path: folder.join(file).display().to_string(), detail };
    let PathTarget::File(parent, name, seen) = find(&[Root::read(folder)], file, false)? else {
        return Err(failed("there is no such file".to_owned()));
    };
    let opened = parent.read(&name, &seen).map_err(|error| failed(error.to_string()))?;
    let mut bytes = Vec::new();
    opened.take(largest + 1).read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > largest {
        return Err(failed(format!("it has more than {largest} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| failed("it is no UTF-8 text".to_owned()))
}

/// The names of the other files. Symlinks are skipped.
fn files(folder: &Path) -> Result<Vec<String>> {
    let PathTarget::Folder(top) = find(&[Root::read(folder)], ".", false)? else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    let mut waiting: Vec<(Folder, String, usize)> = vec![(top, String::new(), 1)];
    while let Some((folder, above, depth)) = waiting.pop() {
        let Ok(listing) = fs::read_dir(folder.here()) else { continue };
        for entry in listing.flatten().take(FILES) {
            let name = entry.file_name();
            let path = format!("{above}{}", name.to_string_lossy());
            let Ok(seen): std::io::Result<Metadata> = folder.at(&name).symlink_metadata() else { continue };
            if seen.is_dir() && depth < DEEPEST && waiting.len() < 32 {
                if let Ok(inner) = folder.enter(&name, &seen) {
                    waiting.push((inner, format!("{path}/"), depth + 1));
                }
            } else if seen.is_file() && path != FILE && files.len() < FILES {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
#[path = "skill_tests.rs"]
mod tests;
