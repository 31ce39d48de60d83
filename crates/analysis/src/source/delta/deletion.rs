//! Deletion vectors: the rows of a data file that were deleted without writing it again.

use super::TableFolder;
use super::action::{DeletionVector, FileKey};
use super::log::{self, Snapshot};
use crate::error::Result;
use datafusion::parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// The first four bytes of a vector.
const MAGIC: [u8; 4] = 1_681_511_377_u32.to_le_bytes();
/// The digits of Z85, an encoding of four bytes as five characters.
const DIGITS: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
/// The length of an encoded UUID.
const UUID: usize = 20;

/// The rows that remain of each file with deleted rows.
pub(super) async fn selections(
    folder: &TableFolder,
    snapshot: &Snapshot,
) -> Result<BTreeMap<FileKey, RowSelection>> {
    let mut fetched: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut selections = BTreeMap::new();
    for (key, file) in &snapshot.files {
        let Some(vector) = &file.deletion_vector else { continue };
        let rows = file.statistics().num_records.ok_or_else(|| {
            folder.broken(format!("{} has deleted rows, and the log does not say of how many", file.path))
        })?;
        let damaged = |detail: &str| folder.broken(format!("the deleted rows of {}: {detail}", file.path));
        let bytes = if vector.storage_type == "i" {
            let mut bytes = decode(&vector.path_or_inline_dv).ok_or_else(|| damaged("no Z85"))?;
            bytes.truncate(usize::try_from(vector.size_in_bytes).unwrap_or(usize::MAX));
            bytes
        } else {
            let path = stored_path(folder, vector)?;
            if !fetched.contains_key(&path) {
                let bytes = log::fetch(folder, &folder.child(&path)?).await?;
                fetched.insert(path.clone(), bytes);
            }
            let whole = fetched.get(&path).map(Vec::as_slice).unwrap_or_default();
            stored(whole, vector).ok_or_else(|| damaged("its part of the file is not there"))?.to_vec()
        };
        let map = bytes.strip_prefix(&MAGIC).ok_or_else(|| damaged("an unknown format"))?;
        let deleted = RoaringTreemap::deserialize_from(map).map_err(|error| damaged(&error.to_string()))?;
        if deleted.len() != vector.cardinality || deleted.max().is_some_and(|last| last >= rows) {
            return Err(damaged("they are not as many as the log says"));
        }
        selections.insert(key.clone(), remaining(&deleted, rows));
    }
    Ok(selections)
}

/// The file of a vector, below the table's folder: `PREFIX/deletion_vector_UUID.bin`.
fn stored_path(folder: &TableFolder, vector: &DeletionVector) -> Result<String> {
    if vector.storage_type != "u" {
        return Err(folder.refused("its deleted rows are in a file outside of the table's folder"));
    }
    let damaged = || folder.broken("the name of a file with deleted rows");
    let written = &vector.path_or_inline_dv;
    let (prefix, id) =
        written.len().checked_sub(UUID).and_then(|at| written.split_at_checked(at)).ok_or_else(damaged)?;
    let id = decode(id).and_then(|bytes| uuid::Uuid::from_slice(&bytes).ok()).ok_or_else(damaged)?;
    if prefix.contains(['/', '\\']) || prefix.contains("..") {
        return Err(damaged());
    }
    let slash = if prefix.is_empty() { "" } else { "/" };
    Ok(format!("{prefix}{slash}deletion_vector_{id}.bin"))
}

/// The part of a file that is a vector: its length, its bytes, and a checksum.
fn stored<'a>(whole: &'a [u8], vector: &DeletionVector) -> Option<&'a [u8]> {
    let at = usize::try_from(vector.offset.unwrap_or(1)).ok()?;
    let length = whole.get(at..at.checked_add(4)?)?;
    let length = u32::from_be_bytes(length.try_into().ok()?);
    if u64::from(length) != vector.size_in_bytes {
        return None;
    }
    whole.get(at + 4..(at + 4).checked_add(length as usize)?)
}

/// The rows that were not deleted.
fn remaining(deleted: &RoaringTreemap, rows: u64) -> RowSelection {
    let mut selectors: Vec<RowSelector> = Vec::new();
    let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
    let mut next = 0;
    for row in deleted {
        if row > next {
            selectors.push(RowSelector::select(count(row - next)));
        }
        match selectors.last_mut() {
            Some(last) if last.skip => last.row_count += 1,
            _ => selectors.push(RowSelector::skip(1)),
        }
        next = row + 1;
    }
    if rows > next {
        selectors.push(RowSelector::select(count(rows - next)));
    }
    selectors.into()
}

/// Decodes Z85.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunks = text.as_bytes().chunks_exact(5);
    for chunk in &mut chunks {
        let digit = |byte: &u8| DIGITS.iter().position(|digit| digit == byte);
        let mut number: u64 = 0;
        for byte in chunk {
            number = number * 85 + digit(byte)? as u64;
        }
        bytes.extend(u32::try_from(number).ok()?.to_be_bytes());
    }
    chunks.remainder().is_empty().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z85_is_decoded() {
        assert_eq!(decode("HelloWorld"), Some(vec![0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b]));
        assert_eq!(decode("Hell"), None);
        assert_eq!(decode("\"ello"), None);
        assert_eq!(decode("#####"), None, "more than four bytes hold");
    }

    #[test]
    fn rows_that_remain_are_counted_in_runs() {
        let selection = remaining(&[0, 1, 5, 9].into_iter().collect(), 10);
        let runs: Vec<(usize, bool)> = selection.iter().map(|run| (run.row_count, run.skip)).collect();
        assert_eq!(runs, [(2, true), (3, false), (1, true), (3, false), (1, true)]);
        assert_eq!(remaining(&RoaringTreemap::new(), 3).row_count(), 3);
    }
}
