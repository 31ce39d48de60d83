//! The metric definitions of a home: `semantics/*.yaml`, read again for each question, so a change
//! is effective at once.
//!
//! Invariant: a file that cannot be parsed is reported with file, line and reason. A metric is
//! never dropped silently.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use steward_domain::{Check as _, SemanticModel};

/// All definitions of a home in one model; empty when there is no folder.
pub fn load_semantics(home: &Path) -> Result<SemanticModel> {
    read_semantics(&home.join("semantics"))
}

/// The definitions of one file, or of all files of a folder.
pub fn read_semantics(place: &Path) -> Result<SemanticModel> {
    if place.is_file() {
        return read_files(vec![place.to_owned()]);
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml"))
        .collect();
    files.sort();
    read_files(files)
}

fn read_files(files: Vec<PathBuf>) -> Result<SemanticModel> {
    let mut whole = SemanticModel::default();
    for file in files {
        let wrong = |line: u64, problem: String| Error::Definition { file: file.clone(), line, problem };
        let text = std::fs::read_to_string(&file).map_err(|error| wrong(1, error.to_string()))?;
        let empty = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        let read: SemanticModel =
            serde_saphyr::from_str(if empty { "{}" } else { &text }).map_err(|error| {
                let line = error.location().map_or(1, |location| location.line());
                let message = error.to_string();
                wrong(
                    line,
                    message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
                )
            })?;
        let line_of = |name: &str| {
            let starts = |line: &str| line.trim_start().trim_start_matches('"').starts_with(name);
            text.lines().position(starts).map_or(1, |place| place as u64 + 1)
        };
        let read = read.validate().map_err(|invalid| {
            let field = invalid.problems.first().map(|problem| problem.field.clone()).unwrap_or_default();
            let name = field.trim_start_matches("metrics.").split('.').next().unwrap_or_default().to_owned();
            wrong(line_of(&name), invalid.to_string())
        })?;
        let read = read.into_inner();
        for (name, metric) in read.metrics {
            if whole.metrics.contains_key(&name) {
                return Err(wrong(line_of(&name), format!("the metric {name} is defined twice")));
            }
            whole.metrics.insert(name, metric);
        }
        for (name, segment) in read.segments {
            if whole.segments.contains_key(&name) {
                return Err(wrong(line_of(&name), format!("the segment {name} is defined twice")));
            }
            whole.segments.insert(name, segment);
        }
        if read.calendar.is_some() && whole.calendar.is_some() {
            return Err(wrong(line_of("calendar"), "the calendar is defined twice".to_owned()));
        }
        whole.calendar = whole.calendar.or(read.calendar);
        whole.tables.extend(read.tables);
        whole.glossary.extend(read.glossary);
    }
    Ok(whole)
}
