//! The UTC offset of a time zone: fixed offsets, and the system's zone files (TZif, RFC 9636).
//!
//! All input is limited in size, and every number in a file is checked before use. A corrupt file
//! is an error.

use super::rule;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The maximum size of a zone file. Real ones have about 4 kB.
const LARGEST: u64 = 256 * 1024;
/// The length of a block header.
const HEAD: usize = 44;

/// The offset of a zone at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offset {
    /// Seconds east of UTC.
    pub(super) seconds: i32,
    /// The abbreviation of the zone.
    pub(super) abbreviation: String,
}

/// The offset of a named zone at a time.
pub(super) fn offset(folder: &Path, name: &str, unix: i64, tool: &str) -> Result<Offset> {
    let misfit = |problem: String| Error::Arguments { tool: tool.to_owned(), problems: vec![problem] };
    if ["utc", "z", "gmt", "etc/utc"].contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(Offset { seconds: 0, abbreviation: "UTC".to_owned() });
    }
    if name.starts_with(['+', '-']) {
        let wrong = || misfit(format!("zone: {name} is no offset; write it as +02:00 or -05:30"));
        return fixed(name)
            .map(|seconds| Offset { seconds, abbreviation: name.to_owned() })
            .ok_or_else(wrong);
    }
    let well_formed = name.chars().all(|c| c.is_ascii_alphanumeric() || "_+-/".contains(c))
        && name.split('/').all(|part| part.starts_with(|c: char| c.is_ascii_alphabetic()));
    if !well_formed {
        return Err(misfit(format!("zone: {name} is no zone; write it as Europe/Berlin, +02:00 or UTC")));
    }
    let bytes = match read(&folder.join(name)) {
        Ok(bytes) => bytes,
        Err(_) if !folder.is_dir() => {
            let detail = "this machine has no zone files; install tzdata, or give an offset such as +02:00";
            return Err(Error::File { path: folder.display().to_string(), detail: detail.to_owned() });
        }
        Err(_) => {
            return Err(misfit(format!("zone: there is no zone {name}; names look like Europe/Berlin")));
        }
    };
    at(&bytes, unix).ok_or_else(|| Error::File {
        path: folder.join(name).display().to_string(),
        detail: "it is no zone file that can be read; give an offset such as +02:00".to_owned(),
    })
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("not a file"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `+02:00`, `-0530`, `+2`: seconds east of UTC, at most 18 hours.
fn fixed(text: &str) -> Option<i32> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = text.get(1..)?;
    let (hours, minutes) = match (digits.split_once(':'), digits.len()) {
        (Some((hours, minutes)), _) if minutes.len() == 2 => (hours, minutes),
        (None, 1 | 2) => (digits, "0"),
        (None, 4) => digits.split_at_checked(2)?,
        _ => return None,
    };
    let number = |text: &str| {
        let plain = !text.is_empty() && text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| text.parse::<i32>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (minutes < 60 && hours * 60 + minutes <= 18 * 60).then_some(sign * (hours * 60 + minutes) * 60)
}

/// The counts in a block header.
struct Counts {
    version: u8,
    universal: usize,
    standard: usize,
    leaps: usize,
    times: usize,
    kinds: usize,
    letters: usize,
}

impl Counts {
    fn read(head: &[u8]) -> Option<Self> {
        if head.get(..4)? != b"TZif" {
            return None;
        }
        let version = *head.get(4)?;
        let count = |place: usize| {
            let bytes = head.get(20 + place * 4..24 + place * 4)?.first_chunk::<4>()?;
            usize::try_from(u32::from_be_bytes(*bytes)).ok().filter(|count| *count <= 100_000)
        };
        Some(Self {
            version,
            universal: count(0)?,
            standard: count(1)?,
            leaps: count(2)?,
            times: count(3)?,
            kinds: count(4)?,
            letters: count(5)?,
        })
    }

    /// The length of the block after its header if a time has `width` bytes.
    fn length(&self, width: usize) -> usize {
        self.times * (width + 1)
            + self.kinds * 6
            + self.letters
            + self.leaps * (width + 4)
            + self.standard
            + self.universal
    }
}

/// The offset at a time according to a zone file.
pub(super) fn at(bytes: &[u8], unix: i64) -> Option<Offset> {
    let first = Counts::read(bytes)?;
    if first.version < b'2' {
        return in_block(&first, bytes.get(HEAD..)?, 4, unix).map(|(offset, _)| offset);
    }
    let second = bytes.get(HEAD + first.length(4)..)?;
    let counts = Counts::read(second)?;
    let block = second.get(HEAD..)?;
    let (offset, after_last) = in_block(&counts, block, 8, unix)?;
    // After the last transition, the rule at the end of the file applies.
    let footer = block.get(counts.length(8)..).and_then(|rest| std::str::from_utf8(rest).ok());
    match footer.map(str::trim).filter(|rule| after_last && !rule.is_empty()) {
        Some(rule) => rule::at(rule, unix),
        None => Some(offset),
    }
}

/// The offset in one block, and whether the time is after its last transition.
fn in_block(counts: &Counts, block: &[u8], width: usize, unix: i64) -> Option<(Offset, bool)> {
    let times = block.get(..counts.times * width)?;
    let which = block.get(counts.times * width..counts.times * (width + 1))?;
    let kinds = block.get(counts.times * (width + 1)..)?;
    let letters = kinds.get(counts.kinds * 6..counts.kinds * 6 + counts.letters)?;
    let moment = |bytes: &[u8]| match width {
        4 => bytes.first_chunk::<4>().map(|bytes| i64::from(i32::from_be_bytes(*bytes))),
        _ => bytes.first_chunk::<8>().map(|bytes| i64::from_be_bytes(*bytes)),
    };
    let passed = times.chunks(width).filter_map(moment).take_while(|change| *change <= unix).count();
    // Before the first transition, the first type applies.
    let kind = match passed.checked_sub(1) {
        Some(last) => usize::from(*which.get(last)?),
        None => 0,
    };
    let entry = kinds.get(kind * 6..kind * 6 + 6).filter(|_| kind < counts.kinds)?;
    let seconds = i32::from_be_bytes(*entry.first_chunk::<4>()?);
    let name = letters.get(usize::from(*entry.get(5)?)..)?;
    let name: String = name.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
    (seconds.abs() < 86_400).then_some((Offset { seconds, abbreviation: name }, passed == counts.times))
}
