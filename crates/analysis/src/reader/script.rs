//! Guesses the legacy encoding of a text from its characters.
//!
//! Every candidate decodes the same bytes; the one whose characters look most like words of one
//! script wins. The result is reported as a guess.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, IBM866, KOI8_R, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251,
    WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256,
};

/// Maximum size of the sample.
const JUDGED: usize = 1 << 16;

/// The candidates, the more common ones first: the first of equals wins.
const CANDIDATES: [&Encoding; 15] = [
    WINDOWS_1252,
    WINDOWS_1250,
    WINDOWS_1251,
    SHIFT_JIS,
    GB18030,
    EUC_KR,
    EUC_JP,
    BIG5,
    WINDOWS_1254,
    WINDOWS_1253,
    KOI8_R,
    IBM866,
    WINDOWS_1255,
    WINDOWS_1256,
    encoding_rs::MACINTOSH,
];

/// The most likely encoding, or `None` when nothing reads like text.
#[must_use]
pub fn likely(sample: &[u8]) -> Option<&'static Encoding> {
    let sample = sample.get(..JUDGED).unwrap_or(sample);
    let seen = sample.iter().filter(|b| **b >= 0x80).count().max(1) as f64;
    let mut best: Option<(&'static Encoding, f64)> = None;
    for encoding in CANDIDATES {
        let Some(score) = score(sample, encoding) else { continue };
        // A rarer encoding must be clearly better, especially if there is little evidence.
        if best.is_none_or(|(_, known)| score > known + 0.05 + 0.6 / seen) {
            best = Some((encoding, score));
        }
    }
    best.map(|(encoding, _)| encoding).or_else(|| fallback(sample))
}

/// If nothing fits well, Western text is assumed, unless most bytes are not even letters.
fn fallback(sample: &[u8]) -> Option<&'static Encoding> {
    let words = sample
        .iter()
        .filter(|b| b.is_ascii_alphanumeric() || b.is_ascii_whitespace() || b.is_ascii_punctuation())
        .count();
    (words * 2 > sample.len()).then_some(WINDOWS_1252)
}

/// How much the text looks like words, per non-ASCII byte: 1 is best. `None` if it cannot be this
/// encoding.
fn score(sample: &[u8], encoding: &'static Encoding) -> Option<f64> {
    let high = sample.iter().filter(|b| **b >= 0x80).count();
    if high == 0 {
        return None;
    }
    let double = [SHIFT_JIS, GB18030, EUC_KR, EUC_JP, BIG5].contains(&encoding);
    let text = encoding.decode_without_bom_handling(sample).0;
    let bad = text.chars().filter(|c| *c == '\u{fffd}').count();
    // One invalid character may be caused by the truncation of the sample.
    if bad * 50 > high + 49 {
        return None;
    }
    let mut total = 0.0;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    let mut count = 0_usize;
    while let Some(c) = chars.next() {
        if !c.is_ascii() {
            count += 1;
            let after = chars.peek().copied().unwrap_or(' ');
            total += if double { wide_worth(c, encoding) } else { narrow_worth(before, c, after, encoding) };
        }
        before = c;
    }
    let score = total / count.max(1) as f64;
    (score > 0.0).then_some(score)
}

/// The likelihood of an East Asian character: those in everyday use are in one block of the legacy
/// tables.
fn wide_worth(c: char, encoding: &'static Encoding) -> f64 {
    let code = u32::from(c);
    match code {
        0x3041..=0x30fe if encoding == SHIFT_JIS || encoding == EUC_JP => 1.0,
        0x3041..=0x30fe => 0.2,
        0xac00..=0xd7a3 => 1.0,
        0x3000..=0x3002 | 0x300c..=0x300f | 0xff01..=0xff5e | 0x201c | 0x201d | 0x2014 | 0x2026 => 0.6,
        // Half-width katakana cover all single bytes of Shift_JIS, so anything decodes to them.
        0xff61..=0xff9f => -0.3,
        0x4e00..=0x9fff => {
            // The encoder needs a larger buffer than one character takes.
            let mut bytes = [0_u8; 16];
            let mut utf8 = [0_u8; 4];
            let lead = encoding.new_encoder().encode_from_utf8(c.encode_utf8(&mut utf8), &mut bytes, true);
            let first = bytes.first().copied().filter(|_| lead.2 > 0).unwrap_or(0);
            let common = match () {
                () if encoding == GB18030 => {
                    (0xb0..=0xd7).contains(&first) && bytes.get(1).is_some_and(|b| *b >= 0xa1)
                }
                () if encoding == SHIFT_JIS => (0x88..=0x97).contains(&first),
                () if encoding == EUC_JP => (0xb0..=0xcf).contains(&first),
                () if encoding == BIG5 => (0xa4..=0xc6).contains(&first),
                // Chinese characters are rare in Korean text.
                () => false,
            };
            if common { 0.9 } else { -0.4 }
        }
        _ => -0.6,
    }
}

/// The letters that text in an encoding is made of, in lower case.
fn letters(encoding: &'static Encoding) -> &'static str {
    match () {
        () if encoding == WINDOWS_1252 || encoding == encoding_rs::MACINTOSH => "éèàçñöüäßåøæíóáãõêâôîúºª",
        () if encoding == WINDOWS_1250 => "ěščřžýáíéůúňťďółąęśźżćńőűöüäô",
        () if encoding == WINDOWS_1254 => "ğışöüçâî",
        _ => "",
    }
}

/// The likelihood of an alphabetic character between its neighbours.
fn narrow_worth(before: char, c: char, after: char, encoding: &'static Encoding) -> f64 {
    if c.is_control() || c == '\u{fffd}' {
        return -2.0;
    }
    if !c.is_alphabetic() {
        return sign_worth(before, c, after);
    }
    let latin = c < '\u{370}';
    let alphabet = letters(encoding);
    let small = c.to_lowercase().next().unwrap_or(c);
    if before.is_lowercase() && c.is_uppercase() {
        return -1.0;
    }
    if latin == alphabet.is_empty() {
        return -0.8;
    }
    if latin {
        // Accented letters occur among plain ones.
        let alone = before.is_ascii_alphabetic() || after.is_ascii_alphabetic();
        let known = match small {
            small if alphabet.contains(small) => 1.0,
            // Romanian and South Slavic letters share their code points with Turkish ones.
            'ë' | 'ï' | 'ù' | 'û' | 'ò' | 'ì' | 'œ' if encoding == WINDOWS_1252 => 0.6,
            'ţ' | 'ă' | 'đ' | 'ľ' | 'â' | 'î' if encoding == WINDOWS_1250 => 0.5,
            _ => 0.1,
        };
        return if alone { known } else { known - 0.7 };
    }
    // Letters of other alphabets occur among letters of the same alphabet.
    let near = |other: char| !other.is_ascii() && other.is_alphabetic();
    let rare = matches!(c, '\u{400}'..='\u{40f}' | '\u{450}'..='\u{490}');
    let case = if c.is_uppercase() { 0.7 } else { 1.0 };
    match (near(before) || near(after), rare) {
        (false, _) => -0.5,
        (true, true) => 0.2,
        (true, false) => case,
    }
}

/// The likelihood of a symbol between its neighbours.
fn sign_worth(before: char, c: char, after: char) -> f64 {
    let word = |c: char| c.is_alphabetic();
    match c {
        '’' | '‘' | '“' | '”' | '–' | '—' | '…' | '«' | '»' | '\u{a0}' | '·' | '•' | '™' | '®' | '©'
        | '„' => 0.5,
        '°' if !(word(before) && word(after)) => 0.5,
        '€' | '£' | '¥' | '½' | '¼' | '²' | '³' | '±' | '§' if !word(after) => 0.5,
        '№' => 0.5,
        _ => -0.6,
    }
}
