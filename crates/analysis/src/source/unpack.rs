//! Compressed files and archives, unpacked into a temporary folder of the session within bounds.
//!
//! Invariants
//! - The unpacked size, the compression ratio and the number of members are bounded.
//! - A member's own path is never used: files get numbers as names, in a folder that is removed
//!   with the session.

use crate::error::{Error, Result};
use crate::source::MAX_FILES;
use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// This much may always be unpacked.
const FREE_BYTES: u64 = 64 << 20;
/// Beyond that, the maximum compression ratio.
const MOST_RATIO: u64 = 250;
/// The parts of a workbook are read into memory, so their size is limited.
const MOST_PART_BYTES: u64 = 1 << 30;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Packing {
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
    /// `.bz2`
    Bzip2,
    /// `.xz`
    Xz,
}

impl Packing {
    /// Told from the first bytes.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        let starts: [(&[u8], Self); 4] = [
            (b"\x1f\x8b\x08", Self::Gzip),
            (b"\x28\xb5\x2f\xfd", Self::Zstd),
            (b"BZh", Self::Bzip2),
            (b"\xfd7zXZ\0", Self::Xz),
        ];
        let found = starts.into_iter().find(|(start, _)| head.starts_with(start)).map(|(_, packing)| packing);
        // `BZh` are letters with which a header may start; the block signature follows the level.
        found.filter(|packing| {
            *packing != Self::Bzip2
                || matches!(head.get(4..10), Some(b"1AY&SY" | b"\x17\x72\x45\x38\x50\x90"))
        })
    }

    fn open(self, path: &Path) -> io::Result<Box<dyn Read>> {
        let file = BufReader::with_capacity(1 << 16, File::open(path)?);
        Ok(match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
            Self::Xz => Box::new(lzma_rust2::XzReader::new(file, true)),
        })
    }

    fn word(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }
}

/// The name without the compression extension: `sales.csv.gz` is `sales.csv`, `logs.tgz` is
/// `logs.tar`.
pub(crate) fn inner_name(name: &str) -> String {
    let lower = name.to_lowercase();
    for (ending, inner) in [(".tgz", ".tar"), (".tbz2", ".tar"), (".txz", ".tar"), (".tzst", ".tar")] {
        if lower.ends_with(ending) {
            return format!("{}{inner}", name.get(..name.len() - ending.len()).unwrap_or(name));
        }
    }
    match lower.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && super::PACKED_ENDINGS.contains(&ending) => {
            name.get(..name.len() - ending.len() - 1).unwrap_or(name).to_owned()
        }
        _ => name.to_owned(),
    }
}

/// A temporary folder for unpacked files, created on demand and removed with the session.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: std::sync::OnceLock<tempfile::TempDir>,
    count: AtomicU64,
    /// Maximum unpacked size of one file in bytes.
    most: u64,
}

impl Scratch {
    pub(crate) fn new(most: u64) -> Self {
        Self { folder: std::sync::OnceLock::new(), count: AtomicU64::new(0), most }
    }

    /// Its path, once something was unpacked.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.get().map(tempfile::TempDir::path)
    }

    /// Maximum size of one file in bytes.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// A new folder in it.
    pub(crate) fn fresh(&self) -> io::Result<PathBuf> {
        let folder = self.next()?;
        std::fs::create_dir(&folder)?;
        Ok(folder)
    }

    fn next(&self) -> io::Result<PathBuf> {
        if self.folder.get().is_none() {
            // Two concurrent calls create two folders; one of them is removed at once.
            let _lost = self.folder.set(tempfile::Builder::new().prefix("steward-").tempdir()?);
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.get().ok_or_else(|| io::Error::other("no folder for unpacked files"))?;
        Ok(folder.path().join(number.to_string()))
    }
}

/// Counts the bytes read and stops at a limit.
struct Bounded<R> {
    inner: R,
    left: u64,
}

/// The limit was reached.
const PAST_LIMIT: &str = "past the limit of what is unpacked";

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::new(io::ErrorKind::QuotaExceeded, PAST_LIMIT)),
        }
        Ok(read)
    }
}

fn limit(packed: u64, most: u64) -> u64 {
    most.min(packed.saturating_mul(MOST_RATIO).max(FREE_BYTES))
}

fn failed(path: &Path, packed: u64, most: u64, what: &str, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::QuotaExceeded && error.to_string() == PAST_LIMIT {
        let detail = format!(
            "its {} KB unpack to more than {} MB, which looks like a decompression bomb",
            packed.div_ceil(1024),
            limit(packed, most) >> 20
        );
        return Error::Unpacked { path: path.to_owned(), detail };
    }
    if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::PermissionDenied) {
        return Error::Unpacked { path: path.to_owned(), detail: error.to_string() };
    }
    let detail = format!("the {what} data is damaged or cut off ({error}). Download or pack it again");
    Error::Format { path: path.to_owned(), detail }
}

fn size(path: &Path) -> Result<u64> {
    let metadata = std::fs::metadata(path);
    metadata
        .map(|data| data.len())
        .map_err(|error| Error::File { path: path.to_owned(), detail: error.to_string() })
}

/// Unpacks a compressed file. Returns its new path.
pub(crate) fn unpack(path: &Path, packing: Packing, scratch: &Scratch) -> Result<PathBuf> {
    let packed = size(path)?;
    let wrong = |error: io::Error| failed(path, packed, scratch.most, packing.word(), &error);
    let reader = packing.open(path).map_err(wrong)?;
    let mut reader = Bounded { inner: reader, left: limit(packed, scratch.most) };
    let place = scratch.next().map_err(wrong)?;
    write(&mut reader, &place).map_err(wrong)?;
    Ok(place)
}

fn write(reader: &mut dyn Read, place: &Path) -> io::Result<()> {
    let mut file = io::BufWriter::with_capacity(1 << 16, File::create(place)?);
    io::copy(reader, &mut file)?;
    file.flush()
}

/// A file of an archive.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its name in the archive.
    pub(crate) name: String,
    /// Its unpacked path.
    pub(crate) path: PathBuf,
}

/// The selected members of an archive, and the names of the others with the reason.
pub(crate) type Members = (Vec<Member>, Vec<(String, &'static str)>);

/// Unpacks the selected members of a zip archive.
pub(crate) fn unzip(path: &Path, scratch: &Scratch, wanted: &dyn Fn(&str) -> bool) -> Result<Members> {
    let packed = size(path)?;
    let wrong = |error: io::Error| failed(path, packed, scratch.most, "zip", &error);
    let mut archive = open_zip(path)?;
    let mut left = limit(packed, scratch.most);
    let (mut members, mut others) = (Vec::new(), Vec::new());
    for index in 0..archive.len().min(10 * MAX_FILES) {
        let entry = archive.by_index_raw(index).map_err(|error| wrong(error.into()))?;
        let name = entry.name().map_err(|error| wrong(error.into()))?.into_owned();
        if entry.encrypted() {
            return Err(Error::Protected { path: path.to_owned() });
        }
        if entry.is_dir() || is_litter(&name) {
            continue;
        }
        if !wanted(&name) {
            others.push((name, "not a kind of data that can be read"));
            continue;
        }
        drop(entry);
        enough(path, members.len())?;
        let mut entry = archive.by_index(index).map_err(|error| wrong(error.into()))?;
        let place = scratch.next().map_err(wrong)?;
        let mut reader = Bounded { inner: &mut entry, left };
        write(&mut reader, &place).map_err(wrong)?;
        left = reader.left;
        members.push(Member { name, path: place });
    }
    Ok((members, others))
}

/// Unpacks the selected members of a tar archive.
pub(crate) fn untar(path: &Path, scratch: &Scratch, wanted: &dyn Fn(&str) -> bool) -> Result<Members> {
    let packed = size(path)?;
    let wrong = |error: io::Error| failed(path, packed, scratch.most, "tar", &error);
    let file = File::open(path).map_err(wrong)?;
    let mut archive = tar::Archive::new(BufReader::new(file));
    let (mut members, mut others) = (Vec::new(), Vec::new());
    for entry in archive.entries().map_err(wrong)? {
        let mut entry = entry.map_err(wrong)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !entry.header().entry_type().is_file() || is_litter(&name) {
            continue;
        }
        if !wanted(&name) {
            others.push((name, "not a kind of data that can be read"));
            continue;
        }
        enough(path, members.len())?;
        let place = scratch.next().map_err(wrong)?;
        // A tar archive is not compressed, so its members cannot be larger than itself.
        let mut reader = Bounded { inner: &mut entry, left: limit(packed, scratch.most) };
        write(&mut reader, &place).map_err(wrong)?;
        members.push(Member { name, path: place });
    }
    Ok((members, others))
}

fn enough(path: &Path, members: usize) -> Result<()> {
    if members < MAX_FILES {
        return Ok(());
    }
    let detail = format!("there are more than {MAX_FILES} files in it");
    Err(Error::Unpacked { path: path.to_owned(), detail })
}

/// Metadata files that programs leave in archives and folders.
pub(crate) fn is_litter(name: &str) -> bool {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    name.starts_with("__MACOSX/")
        || last.starts_with('.')
        || last.starts_with("~$")
        || matches!(last, "Thumbs.db" | "desktop.ini")
}

type Zip = zip::ZipArchive<BufReader<File>>;

fn open_zip(path: &Path) -> Result<Zip> {
    let file =
        File::open(path).map_err(|error| Error::File { path: path.to_owned(), detail: error.to_string() })?;
    zip::ZipArchive::new(BufReader::new(file)).map_err(|error| {
        let detail =
            format!("the zip archive or workbook (Excel) is damaged or cut off ({error}). Download it again");
        Error::Format { path: path.to_owned(), detail }
    })
}

/// Whether a zip archive is a workbook.
pub(crate) fn workbook_kind(path: &Path) -> Result<Option<super::workbook::Kind>> {
    use super::workbook::Kind;
    let mut archive = open_zip(path)?;
    let names: Vec<String> =
        archive.file_names().filter_map(|name| Some(name.ok()?.to_lowercase())).collect();
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    if has("xl/workbook.bin") {
        return Ok(Some(Kind::Xlsb));
    }
    if has("xl/workbook.xml") || has("[content_types].xml") && names.iter().any(|name| name.starts_with("xl"))
    {
        return Ok(Some(Kind::Xlsx));
    }
    let mut mime = String::new();
    if let Ok(entry) = archive.by_name("mimetype") {
        let _other = entry.take(200).read_to_string(&mut mime);
    }
    Ok(mime.starts_with("application/vnd.oasis.opendocument.spreadsheet").then_some(Kind::Ods))
}

/// Unpacks all parts of a workbook once without keeping them: their size must be known before they
/// are parsed, and truncated XML can make the parser hang.
pub(crate) fn check_parts(path: &Path) -> Result<()> {
    let packed = size(path)?;
    let wrong = |error: io::Error| failed(path, packed, MOST_PART_BYTES, "workbook (zip)", &error);
    let mut archive = open_zip(path)?;
    let mut left = limit(packed, MOST_PART_BYTES);
    let (mut cut_off, mut encrypted) = (false, false);
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|error| wrong(error.into()))?;
        let name = entry.name().map_err(|error| wrong(error.into()))?.into_owned();
        let mut reader = Bounded { inner: entry, left };
        if name == "META-INF/manifest.xml" {
            let mut manifest = Vec::new();
            reader.read_to_end(&mut manifest).map_err(wrong)?;
            encrypted = String::from_utf8_lossy(&manifest).contains("encryption-data");
        } else {
            let end = last_bytes(&mut reader).map_err(wrong)?;
            cut_off |= name == "content.xml" && !end.trim_ascii_end().ends_with(b"document-content>");
        }
        left = reader.left;
    }
    if encrypted {
        return Err(Error::Protected { path: path.to_owned() });
    }
    if cut_off {
        return Err(wrong(io::Error::new(io::ErrorKind::UnexpectedEof, "its content ends too early")));
    }
    Ok(())
}

/// Reads to the end and returns the last bytes.
fn last_bytes(reader: &mut dyn Read) -> io::Result<Vec<u8>> {
    let (mut end, mut buffer) = (Vec::new(), vec![0; 1 << 14]);
    loop {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            return Ok(end);
        }
        let part = buffer.get(..read).unwrap_or_default();
        end.extend_from_slice(part.get(read.saturating_sub(64)..).unwrap_or_default());
        end.drain(..end.len().saturating_sub(64));
    }
}
