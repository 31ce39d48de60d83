//! From Python's canonical text straight to RFC 8785, without building a tree: the verifier's fast
//! path.
//!
//! It is quick because it does not judge. Where the two forms differ by more than white space and
//! simple escapes (a float, an integer beyond 2^53, keys that sort differently) it gives up or
//! yields text that leads to another digest; either way the caller then parses properly. It can
//! never make a wrong text look right: what it yields goes into a hash that must fit.

use memchr::memchr2;

/// Appends the object in `text` in canonical form, or gives up.
pub fn python_to_jcs(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = text;
    loop {
        // Outside of strings: everything but the space after a comma or a colon.
        let quote = memchr::memchr(b'"', rest).unwrap_or(rest.len());
        let (outside, from_quote) = rest.split_at_checked(quote)?;
        out.extend(outside.iter().filter(|byte| **byte != b' '));
        let Some((_, inside)) = from_quote.split_first() else { return Some(()) };
        out.push(b'"');
        rest = string(inside, out)?;
    }
}

/// Appends a string up to and with its closing quote; returns what follows it.
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

/// Appends the character of a `\uXXXX`, whose digits `text` begins with; returns what follows.
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
