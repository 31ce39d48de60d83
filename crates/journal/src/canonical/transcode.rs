//! Converts Python's canonical text to RFC 8785 without building a tree: the verifier's fast path.
//!
//! It validates nothing, which makes it fast. Where the two forms differ by more than white space
//! and simple escapes (a float, an integer beyond 2^53, keys that sort differently), it gives up or
//! yields text with another digest; in both cases the caller parses the entry properly. It cannot
//! make a wrong text pass: its output goes into a hash that must match.

use memchr::memchr2;

/// Appends the object in `text` in canonical form, or returns `None` if it cannot convert it.
pub fn python_to_jcs(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = text;
    loop {
        // Outside of strings, copy everything except the space after a comma or a colon.
        let quote = memchr::memchr(b'"', rest).unwrap_or(rest.len());
        let (outside, from_quote) = rest.split_at_checked(quote)?;
        out.extend(outside.iter().filter(|byte| **byte != b' '));
        let Some((_, inside)) = from_quote.split_first() else { return Some(()) };
        out.push(b'"');
        rest = string(inside, out)?;
    }
}

/// Appends a string including its closing quote; returns the remaining text.
fn string<'a>(mut text: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (plain, rest) = text.split_at_checked(memchr2(b'"', b'\\', text)?)?;
        out.extend_from_slice(plain);
        match rest {
            [b'"', after @ ..] => {
                out.push(b'"');
                return Some(after);
            }
            [b'\\', b'u', after @ ..] => text = escaped(after, out)?,
            [b'\\', escape, after @ ..] => {
                out.extend_from_slice(&[b'\\', *escape]);
                text = after;
            }
            _ => return None,
        }
    }
}

/// Appends the character of a `\uXXXX` escape; `text` begins with the digits. Returns the remaining
/// text.
fn escaped<'a>(text: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (high, rest) = unit(text)?;
    let (code, rest) = match rest {
        [b'\\', b'u', low @ ..] if (0xd800..0xdc00).contains(&high) => {
            let (low, rest) = unit(low)?;
            (0x10000 + ((high - 0xd800) << 10) + low.checked_sub(0xdc00)?, rest)
        }
        _ => (high, rest),
    };
    let mut piece = String::new();
    super::jcs::jcs_char(char::from_u32(code)?, &mut piece);
    out.extend_from_slice(piece.as_bytes());
    Some(rest)
}

/// Four hexadecimal digits.
fn unit(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let value =
        digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))?;
    Some((value, rest))
}
