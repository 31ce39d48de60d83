//! Numbers as people write them: signs, currency, percent, thousands separators, scale words.
//!
//! Nothing here fails or allocates: a text that is not a number gives `None`. The caller specifies
//! the decimal separator, because a single value cannot tell whether `1,234` is large or small.

/// The parsed parts of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberParts<'a> {
    /// Digits and separators only.
    pub core: &'a str,
    /// Below zero?
    pub negative: bool,
    /// Was the minus written as parentheses?
    pub parentheses: bool,
    /// Did it start with a plus?
    pub plus: bool,
    /// The currency sign.
    pub currency: Option<char>,
    /// Followed by a percent sign?
    pub percent: bool,
    /// What the scale word (k, M, bn) multiplies by; 1 without.
    pub scale: f64,
}

/// What the separators of one number tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Digits only, or grouped by something that is never a decimal separator.
    Whole,
    /// The point is certainly the decimal separator.
    Point,
    /// The comma is certainly the decimal separator.
    Comma,
    /// `1.234`: a fraction or a thousand.
    MaybePoint,
    /// `1,234`: a thousand or a fraction.
    MaybeComma,
}

/// The analysis of one written number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look<'a> {
    /// The bare number.
    pub bare: NumberParts<'a>,
    /// What its separators say.
    pub mark: Mark,
    /// A group separator that is neither point nor comma.
    pub spacer: Option<char>,
    /// Written with separated thousands for certain.
    pub grouped: bool,
    /// An identifier such as 00123.
    pub leading_zero: bool,
    /// How many digits.
    pub digits: usize,
    /// Written with an exponent.
    pub exponent: bool,
}

/// Longer digit sequences are identifiers.
const LONGEST: usize = 48;

/// Signs that stand before or after an amount.
const SIGNS: &str = "$€£¥₹₩₽₺₪₴₫₱₦฿₡₲₸₼₾¢¤";

/// Written currency names and the sign to show for them; `¤` where there is no single sign. Longer
/// ones first.
const CURRENCIES: [(&str, char); 44] = [
    ("US$", '$'),
    ("AU$", '$'),
    ("CA$", '$'),
    ("NZ$", '$'),
    ("HK$", '$'),
    ("A$", '$'),
    ("C$", '$'),
    ("R$", '¤'),
    ("USD", '$'),
    ("EUR", '€'),
    ("GBP", '£'),
    ("JPY", '¥'),
    ("CNY", '¥'),
    ("RMB", '¥'),
    ("INR", '₹'),
    ("KRW", '₩'),
    ("RUB", '₽'),
    ("TRY", '₺'),
    ("ILS", '₪'),
    ("UAH", '₴'),
    ("VND", '₫'),
    ("PHP", '₱'),
    ("THB", '฿'),
    ("AUD", '$'),
    ("CAD", '$'),
    ("NZD", '$'),
    ("SGD", '$'),
    ("HKD", '$'),
    ("MXN", '$'),
    ("CHF", '¤'),
    ("SEK", '¤'),
    ("NOK", '¤'),
    ("DKK", '¤'),
    ("PLN", '¤'),
    ("CZK", '¤'),
    ("HUF", '¤'),
    ("BRL", '¤'),
    ("ZAR", '¤'),
    ("Rs.", '₹'),
    ("Rs", '₹'),
    ("zł", '¤'),
    ("Kč", '¤'),
    ("kr", '¤'),
    ("Fr.", '¤'),
];

/// Scale words, longest first.
const SCALES: [(&str, f64); 13] = [
    ("thousand", 1e3),
    ("million", 1e6),
    ("billion", 1e9),
    ("trillion", 1e12),
    ("mln", 1e6),
    ("mrd", 1e9),
    ("mn", 1e6),
    ("mm", 1e6),
    ("bn", 1e9),
    ("k", 1e3),
    ("m", 1e6),
    ("b", 1e9),
    ("t", 1e12),
];

/// Is it a space that may separate thousands?
fn is_spacer(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}')
}

/// Takes a currency sign or name off the front.
fn front_currency(text: &str) -> Option<(char, &str)> {
    let first = text.chars().next().filter(|c| !c.is_ascii_digit())?;
    if SIGNS.contains(first) {
        return Some((first, text.strip_prefix(first)?));
    }
    CURRENCIES.iter().find_map(|(word, sign)| Some((*sign, text.strip_prefix(word)?)))
}

/// Takes a currency sign or name off the back.
fn back_currency(text: &str) -> Option<(char, &str)> {
    let last = text.chars().next_back().filter(|c| !c.is_ascii_digit())?;
    if SIGNS.contains(last) {
        return Some((last, text.strip_suffix(last)?));
    }
    CURRENCIES.iter().find_map(|(word, sign)| Some((*sign, text.strip_suffix(word)?)))
}

/// Removes a scale word at the end. A word that is attached to other letters is not one.
fn back_scale(text: &str) -> Option<(f64, &str)> {
    text.bytes().next_back().filter(u8::is_ascii_alphabetic)?;
    SCALES.iter().find_map(|(word, scale)| {
        let rest = text.get(..text.len().checked_sub(word.len())?)?;
        let tail = text.get(rest.len()..)?;
        let fits = tail.eq_ignore_ascii_case(word) && !rest.ends_with(|c: char| c.is_alphabetic());
        fits.then_some((*scale, rest))
    })
}

/// Strips currency, units and signs. The rest starts with a digit or a separator; it may still not
/// be a number.
#[must_use]
pub fn undress(text: &str) -> Option<NumberParts<'_>> {
    let mut bare = NumberParts {
        core: text.trim(),
        negative: false,
        parentheses: false,
        plus: false,
        currency: None,
        percent: false,
        scale: 1.0,
    };
    if bare.core.is_empty() || bare.core.len() > LONGEST || !bare.core.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    undress_front(&mut bare)?;
    undress_back(&mut bare)?;
    Some(bare)
}

/// The start: signs, opening parenthesis, currency, in any order and each at most once.
fn undress_front(bare: &mut NumberParts<'_>) -> Option<()> {
    let mut signed = false;
    loop {
        bare.core = bare.core.trim_start();
        let first = bare.core.chars().next()?;
        if first.is_ascii_digit() || first == '.' || first == ',' {
            return Some(());
        }
        if matches!(first, '-' | '+' | '\u{2212}' | '\u{2013}') {
            if signed {
                return None;
            }
            signed = true;
            bare.plus = first == '+';
            bare.negative = first != '+';
            bare.core = bare.core.strip_prefix(first)?;
        } else if first == '(' {
            if bare.parentheses || signed {
                return None;
            }
            bare.parentheses = true;
            bare.negative = true;
            signed = true;
            bare.core = bare.core.strip_prefix('(')?;
        } else {
            let (sign, rest) = front_currency(bare.core)?;
            if bare.currency.replace(sign).is_some() {
                return None;
            }
            bare.core = rest;
        }
    }
}

/// The end: closing parenthesis, percent, currency, scale, trailing minus.
fn undress_back(bare: &mut NumberParts<'_>) -> Option<()> {
    let mut closed = false;
    let mut scaled = false;
    loop {
        bare.core = bare.core.trim_end();
        let last = bare.core.chars().next_back()?;
        if last.is_ascii_digit() || last == '.' {
            // A parenthesis that never closes is not a number.
            return (closed == bare.parentheses).then_some(());
        }
        if last == ')' && bare.parentheses && !closed {
            closed = true;
            bare.core = bare.core.strip_suffix(')')?;
        } else if last == '%' && !bare.percent {
            bare.percent = true;
            bare.core = bare.core.strip_suffix('%')?;
        } else if last == '-' && !bare.negative && !bare.plus {
            bare.negative = true;
            bare.core = bare.core.strip_suffix('-')?;
        } else if let Some((sign, rest)) = back_currency(bare.core).filter(|_| bare.currency.is_none()) {
            bare.currency = Some(sign);
            bare.core = rest;
        } else if let Some((scale, rest)) = back_scale(bare.core).filter(|_| !scaled) {
            scaled = true;
            bare.scale = scale;
            bare.core = rest;
        } else {
            return None;
        }
    }
}

/// Buffer for one number in the format of the standard library.
struct Plain {
    bytes: [u8; LONGEST + 2],
    length: usize,
    whole: bool,
}

impl Plain {
    /// Adds a character; false when there is no room.
    fn push(&mut self, byte: u8) -> bool {
        let Some(place) = self.bytes.get_mut(self.length) else { return false };
        *place = byte;
        self.length += 1;
        true
    }

    /// What was collected.
    fn text(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes.get(..self.length)?).ok()
    }
}

/// Removes group separators, checks their positions, and writes the decimal separator as a point.
fn plain(core: &str, decimal: char) -> Option<Plain> {
    let mut out = Plain { bytes: [0; LONGEST + 2], length: 0, whole: true };
    let mut group: Option<char> = None;
    let (mut run, mut digits) = (0_usize, 0_usize);
    let mut chars = core.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_ascii_digit() {
            run += 1;
            digits += 1;
            if !out.push(u8::try_from(c).ok()?) {
                return None;
            }
        } else if c == decimal && out.whole {
            if group.is_some() && run != 3 {
                return None;
            }
            (group, run, out.whole) = (None, 0, false);
            if !out.push(b'.') {
                return None;
            }
        } else if matches!(c, 'e' | 'E') && digits > 0 && group.is_none() {
            out.whole = false;
            return exponent(out, chars);
        } else if out.whole && (is_spacer(c) || c == ',' || c == '.') {
            // Groups hold three digits, or two as in lakh and crore; the first may be shorter.
            let fits = if group.is_none() { (1..=3).contains(&run) } else { run == 3 || run == 2 };
            if !fits || group.is_some_and(|known| known != c) {
                return None;
            }
            (group, run) = (Some(c), 0);
        } else {
            return None;
        }
    }
    (digits > 0 && (group.is_none() || run == 3)).then_some(out)
}

/// The digits after `e`.
fn exponent(mut out: Plain, rest: impl Iterator<Item = char>) -> Option<Plain> {
    out.push(b'e');
    let mut digits = 0;
    for (place, c) in rest.enumerate() {
        let fits = c.is_ascii_digit() || (place == 0 && matches!(c, '+' | '-'));
        if !fits || !out.push(u8::try_from(c).ok()?) {
            return None;
        }
        digits += usize::from(c.is_ascii_digit());
    }
    (1..=3).contains(&digits).then_some(out)
}

/// Whether it has only characters of a plain number. This excludes words that the standard library
/// parses, such as `inf`.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    let starts = bytes.next().is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.'));
    starts && bytes.all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-' | b'+'))
}

/// The number in a text, given the decimal separator.
#[must_use]
pub fn number(text: &str, decimal: char) -> Option<f64> {
    // The fast path: a plain number in machine format.
    if decimal == '.'
        && is_plain(text)
        && let Ok(number) = text.parse::<f64>()
    {
        return Some(number).filter(|n| n.is_finite());
    }
    let bare = undress(text)?;
    let size = plain(bare.core, decimal)?.text()?.parse::<f64>().ok()? * bare.scale;
    let size = if bare.negative { -size } else { size };
    Some(size).filter(|n| n.is_finite())
}

/// The whole number in a text, if it is one and fits.
#[must_use]
pub fn integer(text: &str, decimal: char) -> Option<i64> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number);
    }
    let bare = undress(text)?;
    let form = plain(bare.core, decimal)?;
    if form.whole && bare.scale == 1.0 {
        let size = form.text()?.parse::<i64>().ok()?;
        return Some(if bare.negative { -size } else { size });
    }
    let size = form.text()?.parse::<f64>().ok()? * bare.scale;
    let exact = size.fract() == 0.0 && size.abs() < 9.0e15;
    exact.then_some(if bare.negative { -(size as i64) } else { size as i64 })
}

/// Analyses a written number; `None` if it is not a number with either decimal separator.
#[must_use]
pub fn look(text: &str) -> Option<Look<'_>> {
    let bare = undress(text)?;
    let (mut points, mut commas, mut first, mut run, mut digits) = (0_usize, 0_usize, None, 0_usize, 0_usize);
    let (mut last, mut spacer, mut exponent) = (' ', None, false);
    for c in bare.core.chars() {
        if c.is_ascii_digit() {
            run += 1;
            digits += 1;
            continue;
        }
        if matches!(c, 'e' | 'E') {
            exponent = true;
            break;
        }
        first.get_or_insert(run);
        points += usize::from(c == '.');
        commas += usize::from(c == ',');
        if is_spacer(c) {
            spacer = Some(c);
        } else {
            last = c;
        }
        run = 0;
    }
    // `0.125`, `.125` and `1234.125` cannot be thousands; `1.125` can.
    let thousand =
        run == 3 && first.is_some_and(|n| (1..=3).contains(&n)) && !bare.core.starts_with('0') && !exponent;
    let mark = match (points, commas) {
        (0, 0) => Mark::Whole,
        (1, 0) if thousand && spacer.is_none() => Mark::MaybePoint,
        (0, 1) if thousand && spacer.is_none() => Mark::MaybeComma,
        (1, 0) => Mark::Point,
        (0, 1) => Mark::Comma,
        (_, 0) => Mark::Comma,
        (0, _) => Mark::Point,
        _ if last == '.' => Mark::Point,
        _ => Mark::Comma,
    };
    let decimal = if matches!(mark, Mark::Comma | Mark::MaybeComma) { ',' } else { '.' };
    plain(bare.core, decimal)?;
    let grouped = points + commas > 1 || spacer.is_some();
    let mut head = bare.core.bytes();
    let leading_zero = head.next() == Some(b'0') && head.next().is_some_and(|b| b.is_ascii_digit());
    Some(Look {
        bare,
        mark,
        spacer,
        grouped,
        leading_zero: leading_zero && mark == Mark::Whole,
        digits,
        exponent,
    })
}
