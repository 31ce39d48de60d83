//! Detects the encoding of a file and decodes it.
//!
//! Detection looks at a sample, which may end in the middle of a character. Decoding never fails:
//! invalid bytes become the replacement character and are counted.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::script;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Detected {
    /// Text in an encoding.
    Text(Charset),
    /// Not text, with what it seems to be and what to do.
    Binary(&'static str),
}

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Charset {
    /// The encoding.
    pub encoding: &'static Encoding,
    /// How many bytes of byte order mark stand before the text.
    pub mark: usize,
    /// Whether the bytes prove it, or it is only guessed from the likelihood of the characters.
    pub sure: bool,
}

impl Charset {
    /// The name for people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.encoding.name()
    }

    /// Can the bytes be read as UTF-8 without conversion?
    #[must_use]
    pub fn is_utf8(&self) -> bool {
        self.encoding == UTF_8
    }
}

/// A decoded text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without a byte order mark.
    pub text: String,
    /// How many characters could not be read.
    pub bad: usize,
}

/// Magic numbers of other file types.
const MAGIC: [(&[u8], &str); 27] = [
    (b"PK\x03\x04", "this is a zip archive or an Excel workbook: unpack it, or save it as CSV"),
    (b"PK\x05\x06", "this is an empty zip archive"),
    (b"\xd0\xcf\x11\xe0", "this is an old Excel or Office file: save it as CSV"),
    (b"\x1f\x8b", "this is a gzip archive: unpack it first"),
    (b"BZh", "this is a bzip2 archive: unpack it first"),
    (b"\xfd7zXZ\0", "this is an xz archive: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "this is a 7-Zip archive: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "this is a zstd archive: unpack it first"),
    (b"Rar!", "this is a RAR archive: unpack it first"),
    (b"%PDF-", "this is a PDF document: export the table as CSV"),
    (b"\x89PNG", "this is a PNG picture"),
    (b"\xff\xd8\xff", "this is a JPEG picture"),
    (b"GIF8", "this is a GIF picture"),
    (b"PAR1", "this is a Parquet file: add it as Parquet, not as CSV"),
    (b"ARROW1", "this is an Arrow file: save it as CSV or Parquet"),
    (b"FEA1", "this is a Feather file: save it as CSV or Parquet"),
    (b"ORC", "this is an ORC file: save it as CSV or Parquet"),
    (b"Obj\x01", "this is an Avro file: save it as CSV or Parquet"),
    (b"SQLite format 3\0", "this is a SQLite database: add it as a database, or export a table as CSV"),
    (b"\x89HDF", "this is an HDF5 file: save it as CSV or Parquet"),
    (b"\x7fELF", "this is a program"),
    (b"MZ\x90", "this is a program"),
    (b"\xca\xfe\xba\xbe", "this is a program"),
    (b"{\\rtf", "this is a text document (RTF): save the table as CSV"),
    (b"\0\0\xfe\xff", "this is UTF-32 text: save it as UTF-8"),
    (b"\xff\xfe\0\0", "this is UTF-32 text: save it as UTF-8"),
    (b"RIFF", "this is a sound or a film"),
];

/// The message for unknown binary data.
const GARBAGE: &str = "this is not text but binary data: save it as CSV or JSON";

/// Detects the type of a file from its first bytes.
#[must_use]
pub fn detect(sample: &[u8]) -> Detected {
    if let Some((_, what)) =
        MAGIC.iter().find(|(start, _)| sample.starts_with(start) && !is_words(start, sample))
    {
        return Detected::Binary(what);
    }
    let marked = |encoding, mark| Detected::Text(Charset { encoding, mark, sure: true });
    if sample.starts_with(b"\xef\xbb\xbf") {
        return marked(UTF_8, 3);
    }
    if sample.starts_with(b"\xff\xfe") {
        return marked(UTF_16LE, 2);
    }
    if sample.starts_with(b"\xfe\xff") {
        return marked(UTF_16BE, 2);
    }
    if let Some(encoding) = wide(sample) {
        return Detected::Text(Charset { encoding, mark: 0, sure: true });
    }
    if is_garbage(sample) {
        return Detected::Binary(GARBAGE);
    }
    if is_utf8(sample) {
        return marked(UTF_8, 0);
    }
    match script::likely(sample) {
        Some(encoding) => Detected::Text(Charset { encoding, mark: 0, sure: false }),
        None => Detected::Binary(GARBAGE),
    }
}

/// Some magic numbers are plain letters, with which a header may start (`ORC,weight`): then the
/// rest is text too.
fn is_words(start: &[u8], sample: &[u8]) -> bool {
    start.is_ascii()
        && start.iter().all(u8::is_ascii_alphanumeric)
        && !sample.iter().take(512).any(|b| *b == 0 || *b > 0x7f)
}

/// UTF-16 without a byte order mark: ASCII characters such as digits and separators have their zero
/// on one side only.
fn wide(sample: &[u8]) -> Option<&'static Encoding> {
    let (mut even, mut odd) = (0_usize, 0_usize);
    for (place, _) in sample.iter().enumerate().filter(|(_, byte)| **byte == 0) {
        if place % 2 == 0 {
            even += 1;
        } else {
            odd += 1;
        }
    }
    let (encoding, zeros, other) = if odd > even { (UTF_16LE, odd, even) } else { (UTF_16BE, even, odd) };
    // Some characters of other scripts have a zero on the other side.
    if sample.len() < 4 || zeros * 25 < sample.len() || other * 4 > zeros {
        return None;
    }
    let whole = sample.get(..sample.len() - sample.len() % 2)?;
    let text = encoding.decode_without_bom_handling(whole).0;
    let strange = text.chars().filter(|c| *c == '\u{fffd}' || is_control(*c)).count();
    (strange * 50 <= text.chars().count()).then_some(encoding)
}

/// A control character that no text contains.
fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1a}' | '\u{1b}' | '\u{85}')
}

/// More than one control character in a hundred means binary data.
fn is_garbage(sample: &[u8]) -> bool {
    let strange = sample.iter().filter(|b| is_control(char::from(**b)) && **b < 0x80).count();
    strange * 100 > sample.len()
}

/// Valid UTF-8, except for a truncated last character, or for a few invalid bytes among many valid
/// characters.
fn is_utf8(sample: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    let mut rest = sample;
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                good += text.chars().filter(|c| !c.is_ascii()).count();
                break;
            }
            Err(error) => {
                let (before, after) = rest.split_at(error.valid_up_to());
                good += std::str::from_utf8(before)
                    .map_or(0, |text| text.chars().filter(|c| !c.is_ascii()).count());
                let Some(length) = error.error_len() else { break };
                bad += 1;
                // Far from UTF-8: there is no need to look at the rest.
                if bad > 20 && bad > good {
                    return false;
                }
                rest = after.get(length..).unwrap_or_default();
            }
        }
    }
    bad == 0 || good > bad * 10
}

/// Decodes a whole file. A byte order mark is removed.
#[must_use]
pub fn decode(bytes: &[u8], charset: Charset) -> Decoded {
    let body = bytes.get(charset.mark..).unwrap_or_default();
    let (text, broken) = charset.encoding.decode_without_bom_handling(body);
    let bad = if broken { text.chars().filter(|c| *c == '\u{fffd}').count() } else { 0 };
    Decoded { text: text.into_owned(), bad }
}

/// Converts a stream to UTF-8 in chunks, so that a large file is never held in memory. Returns the
/// number of characters that could not be decoded.
///
/// # Errors
/// Those of the reader or the writer.
pub fn transcode(
    mut from: impl std::io::Read,
    mut to: impl std::io::Write,
    charset: Charset,
) -> std::io::Result<usize> {
    let mut decoder = charset.encoding.new_decoder_with_bom_removal();
    let mut input = vec![0_u8; 1 << 16];
    let mut output = String::with_capacity(1 << 18);
    let mut bad = 0;
    loop {
        let count = from.read(&mut input)?;
        let mut piece = input.get(..count).unwrap_or_default();
        loop {
            let (result, used, broken) = decoder.decode_to_string(piece, &mut output, count == 0);
            if broken {
                bad += output.chars().filter(|c| *c == '\u{fffd}').count();
            }
            to.write_all(output.as_bytes())?;
            output.clear();
            piece = piece.get(used..).unwrap_or_default();
            if result == encoding_rs::CoderResult::InputEmpty {
                break;
            }
        }
        if count == 0 {
            to.flush()?;
            return Ok(bad);
        }
    }
}
