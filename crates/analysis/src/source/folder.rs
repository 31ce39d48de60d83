//! Folders and patterns: which of their files are data, which subfolders are partitions, and what
//! is skipped and why.

use super::{FoundSources, Guard, MAX_FILES, Opening, SourceLocation, TableVersion, delta, detect, unpack};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum depth of partitions.
const DEEPEST: usize = 12;
/// Maximum number of partitions of one table.
const MAX_PARTITIONS: usize = 20_000;

/// The files that match a pattern.
pub(super) fn find_pattern(named: &str, guard: Guard<'_>) -> Result<FoundSources> {
    let wrong = |detail: String| Error::Source { what: named.to_owned(), detail };
    let paths = glob::glob(named).map_err(|error| wrong(error.to_string()))?;
    let mut paths: Vec<PathBuf> =
        paths.filter_map(std::result::Result::ok).filter(|path| path.is_file()).take(MAX_FILES + 1).collect();
    paths.sort();
    several(named, &paths, FoundSources::default(), guard)
}

/// The data of a folder: its files, and its partitioned subfolders as one table.
pub(super) fn find_folder(path: &Path, guard: Guard<'_>) -> Result<FoundSources> {
    let failed = |error: std::io::Error| Error::File { path: path.to_owned(), detail: error.to_string() };
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(path).map_err(failed)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    let (mut files, mut left_out, mut partitioned) = (Vec::new(), Vec::new(), false);
    let mut tables = Vec::new();
    for entry in entries {
        let name = file_name(&entry);
        if unpack::is_litter(&name) {
            continue;
        }
        if entry.is_dir() {
            if partition(&name).is_some() {
                partitioned = true;
            } else if delta::is_table(&entry) && tables.len() <= MAX_FILES {
                tables.extend(find_table(&entry, None, guard)?.places);
            } else {
                left_out.push(format!("{name} (a folder; name it to ask about it)"));
            }
        } else if !detect::is_data_name(&name) {
            left_out.push(format!("{name} (not a kind of data that can be read)"));
        } else if files.len() <= MAX_FILES {
            files.push(entry);
        }
    }
    let mut places = tables;
    if partitioned {
        places.extend(find_partitions(path, &mut left_out, guard)?);
    }
    several(&path.display().to_string(), &files, FoundSources { places, left_out, by_folder: true }, guard)
}

/// A Delta table. The guard sees every file of its folder, whichever of them the log names.
pub(super) fn find_table(
    path: &Path,
    version: Option<TableVersion>,
    guard: Guard<'_>,
) -> Result<FoundSources> {
    if !delta::is_table(path) {
        let detail =
            format!("it has no versions: only a Delta table, with a folder {}, has", delta::LOG_FOLDER);
        return Err(Error::Source { what: path.display().to_string(), detail });
    }
    guard_all(path, guard, 0)?;
    Ok(FoundSources::one(SourceLocation::Delta { path: path.to_owned(), version }))
}

/// Shows the guard every file below a folder.
fn guard_all(folder: &Path, guard: Guard<'_>, depth: usize) -> Result<()> {
    let failed = |error: std::io::Error| Error::File { path: folder.to_owned(), detail: error.to_string() };
    guard(Opening::File(folder))?;
    if depth > DEEPEST {
        let detail = format!("its folders are nested more than {DEEPEST} deep");
        return Err(Error::Source { what: folder.display().to_string(), detail });
    }
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        if entry.is_dir() { guard_all(&entry, guard, depth + 1)? } else { guard(Opening::File(&entry))? }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// `year=2024` as a column and a value.
pub(crate) fn partition(name: &str) -> Option<(&str, &str)> {
    name.split_once('=').filter(|(key, value)| super::is_name(key) && !value.is_empty())
}

/// Adds these files to the result. If the guard refuses one file, all are refused.
fn several(named: &str, paths: &[PathBuf], found: FoundSources, guard: Guard<'_>) -> Result<FoundSources> {
    let FoundSources { mut places, mut left_out, .. } = found;
    let nothing = |detail: String| Error::Source { what: named.to_owned(), detail };
    if paths.is_empty() && places.is_empty() {
        let kinds = "there is no CSV, JSON, NDJSON, Parquet, Arrow, Avro, workbook or SQLite file in it";
        return Err(nothing(match left_out.as_slice() {
            [] => kinds.to_owned(),
            some => format!("{kinds}, only {}", some.iter().take(5).cloned().collect::<Vec<_>>().join(", ")),
        }));
    }
    if paths.len() > MAX_FILES {
        return Err(nothing(format!(
            "there are more than {MAX_FILES} files in it. Name fewer with a pattern"
        )));
    }
    paths.iter().try_for_each(|path| guard(Opening::File(path)))?;
    let mut first = None;
    for path in paths {
        match detect::detect_file(path) {
            Ok(place) => places.push(place),
            Err(error) => {
                left_out.push(format!("{} ({error})", file_name(path)));
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if places.is_empty() => Err(error),
        _ => Ok(FoundSources { places, left_out, by_folder: true }),
    }
}

/// All files below a folder with partitions. The most frequent format is used.
fn find_partitions(
    root: &Path,
    left_out: &mut Vec<String>,
    guard: Guard<'_>,
) -> Result<Option<SourceLocation>> {
    let mut files: Vec<(Vec<String>, PathBuf)> = Vec::new();
    walk(root, &mut Vec::new(), &mut files, left_out)?;
    let mut kinds: BTreeMap<(Vec<String>, String), usize> = BTreeMap::new();
    let kind = |keys: &[String], path: &Path| (keys.to_vec(), detect::ending(&file_name(path)));
    for (keys, path) in &files {
        *kinds.entry(kind(keys, path)).or_default() += 1;
    }
    let Some((usual, _)) = kinds.into_iter().max_by_key(|(_, count)| *count) else { return Ok(None) };
    let (same, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(keys, path)| kind(keys, path) == usual);
    if !others.is_empty() {
        left_out.push(format!(
            "{} of {} (partitioned or written otherwise than the rest: {})",
            crate::reader::read::count(others.len(), "file"),
            file_name(root),
            others.iter().take(3).map(|(_, path)| file_name(path)).collect::<Vec<_>>().join(", ")
        ));
    }
    let files: Vec<PathBuf> = same.into_iter().map(|(_, path)| path).collect();
    let Some(first) = files.first() else { return Ok(None) };
    files.iter().try_for_each(|path| guard(Opening::File(path)))?;
    let SourceLocation::File { format, .. } = detect::detect_file(first)? else { return Ok(None) };
    Ok(Some(SourceLocation::Partitions { path: root.to_owned(), files, format, keys: usual.0 }))
}

fn walk(
    folder: &Path,
    keys: &mut Vec<String>,
    files: &mut Vec<(Vec<String>, PathBuf)>,
    left_out: &mut Vec<String>,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::File { path: folder.to_owned(), detail: error.to_string() };
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).map_err(failed)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for entry in entries {
        let name = file_name(&entry);
        match partition(&name) {
            Some((key, _)) if entry.is_dir() && keys.len() < DEEPEST => {
                keys.push(key.to_owned());
                walk(&entry, keys, files, left_out)?;
                keys.pop();
            }
            // Files that Spark and others leave beside the data.
            _ if entry.is_dir() || keys.is_empty() || unpack::is_litter(&name) || name.starts_with('_') => {}
            _ if detect::is_data_name(&name) => {
                if files.len() >= MAX_PARTITIONS {
                    let detail = format!("it has more than {MAX_PARTITIONS} partitions");
                    return Err(Error::Source { what: folder.display().to_string(), detail });
                }
                files.push((keys.clone(), entry));
            }
            _ => left_out.push(format!("{name} (not a kind of data that can be read)")),
        }
    }
    Ok(())
}
