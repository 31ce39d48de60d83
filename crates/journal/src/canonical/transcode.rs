//! From Python's canonical text straight to RFC 8785, without building a tree: the verifier's fast path.
//!
//! It answers only where the two forms follow from each other character by character. Everything else (a float, an
//! integer beyond 2^53, an escaped key, anything that is not canonical) is `None`, and the caller parses properly.

/// Transcodes the object at the start of `text`; returns what it wrote to `out` by appending, and how many bytes it
/// read.
pub fn python_to_jcs(text: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    // Whether the next string is a key: keys with escapes may sort differently in the two forms.
    let mut in_object = [false; 128];
    let mut expect_key = false;
    loop {
        let byte = *text.get(at)?;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                *in_object.get_mut(depth)? = byte == b'{';
                expect_key = byte == b'{';
                out.push(byte);
                at += 1;
            }
            b'}' | b']' => {
                if *in_object.get(depth)? != (byte == b'}') {
                    return None;
                }
                out.push(byte);
                at += 1;
                depth -= 1;
                expect_key = false;
                if depth == 0 {
                    return Some(at);
                }
            }
            b',' | b':' => {
                if *text.get(at + 1)? != b' ' {
                    return None;
                }
                expect_key = byte == b',' && *in_object.get(depth)?;
                out.push(byte);
                at += 2;
            }
            b'"' => at = string(text, at, expect_key, out)?,
            b't' | b'f' | b'n' => {
                let word = [&b"true"[..], b"false", b"null"]
                    .into_iter()
                    .find(|w| text.get(at..).is_some_and(|t| t.starts_with(w)))?;
                out.extend_from_slice(word);
                at += word.len();
            }
            b'-' | b'0'..=b'9' => at = integer(text, at, out)?,
            _ => return None,
        }
        if depth == 0 {
            return None;
        }
    }
}

fn string(text: &[u8], start: usize, key: bool, out: &mut Vec<u8>) -> Option<usize> {
    out.push(b'"');
    let mut at = start + 1;
    loop {
        let rest = text.get(at..)?;
        let run = rest.iter().position(|b| matches!(b, b'"' | b'\\') || !(b' '..=b'~').contains(b))?;
        out.extend_from_slice(rest.get(..run)?);
        at += run;
        match (*text.get(at)?, *text.get(at + 1).unwrap_or(&0)) {
            (b'"', _) => {
                out.push(b'"');
                return Some(at + 1);
            }
            (b'\\', _) if key => return None,
            (b'\\', escape @ (b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f')) => {
                out.extend_from_slice(&[b'\\', escape]);
                at += 2;
            }
            (b'\\', b'u') => at = escaped(text, at, out)?,
            _ => return None,
        }
    }
}

fn escaped(text: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let unit = |at: usize| -> Option<u32> {
        text.get(at + 2..at + 6)?.iter().try_fold(0, |value, digit| {
            Some(
                value << 4
                    | u32::from(match digit {
                        b'0'..=b'9' => digit - b'0',
                        b'a'..=b'f' => digit - b'a' + 10,
                        _ => return None,
                    }),
            )
        })
    };
    let high = unit(at)?;
    let (code, next) = if (0xd800..0xdc00).contains(&high) {
        if text.get(at + 6..at + 8)? != b"\\u" {
            return None;
        }
        let low = unit(at + 6)?;
        if !(0xdc00..0xe000).contains(&low) {
            return None;
        }
        (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), at + 12)
    } else {
        (high, at + 6)
    };
    let c = char::from_u32(code)?;
    // What Python would have written in another way is not canonical.
    if (' '..='~').contains(&c) || "\n\r\t\u{8}\u{c}".contains(c) {
        return None;
    }
    let mut piece = String::new();
    super::jcs::jcs_char(c, &mut piece);
    out.extend_from_slice(piece.as_bytes());
    Some(next)
}

fn integer(text: &[u8], start: usize, out: &mut Vec<u8>) -> Option<usize> {
    let rest = text.get(start..)?;
    let sign = usize::from(rest.first() == Some(&b'-'));
    let length = rest.get(sign..)?.iter().take_while(|b| b.is_ascii_digit()).count();
    let digits = rest.get(sign..sign + length)?;
    // 15 digits are always below 2^53; leading zeros and -0 are not what Python writes.
    let canonical =
        (1..=15).contains(&length) && (digits.first() != Some(&b'0') || (length == 1 && sign == 0));
    if !canonical || matches!(rest.get(sign + length)?, b'.' | b'e' | b'E') {
        return None;
    }
    out.extend_from_slice(rest.get(..sign + length)?);
    Some(start + sign + length)
}
