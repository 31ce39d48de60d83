//! Splits an expression into numbers, names and signs, with their positions.

use super::number::Number;

/// A token of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(Number),
    Name(String),
    Sign(char),
}

/// A token with its position, counted in characters from 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) token: Token,
    pub(super) place: usize,
    /// Whether a blank follows directly.
    pub(super) blank_after: bool,
}

/// The position of an error and its message.
pub(super) type Wrong = (usize, String);

/// Tokenizes an expression.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, Wrong> {
    let chars: Vec<char> = text.chars().collect();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let place = at + 1;
        let start = at;
        let token = match c {
            c if c.is_whitespace() => {
                if let Some(last) = pieces.last_mut() {
                    last.blank_after = true;
                }
                at += 1;
                continue;
            }
            '0'..='9' | '.' => {
                at = end_of_number(&chars, at);
                number(&chars, start, at)?
            }
            c if c.is_alphabetic() || c == '_' => {
                while chars.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
                    at += 1;
                }
                name(chars.get(start..at).unwrap_or_default())
            }
            _ => {
                at += 1;
                // `**` is the power operator of many programming languages.
                if c == '*' && chars.get(at) == Some(&'*') {
                    at += 1;
                    Token::Sign('^')
                } else {
                    Token::Sign(sign(c).ok_or_else(|| (place, unknown(c)))?)
                }
            }
        };
        pieces.push(Piece { token, place, blank_after: false });
    }
    Ok(pieces)
}

fn name(chars: &[char]) -> Token {
    let name: String = chars.iter().collect::<String>().to_lowercase();
    Token::Name(if name == "π" { "pi".to_owned() } else { name })
}

/// Normalizes a sign for the parser. `None` if it is unknown.
fn sign(c: char) -> Option<char> {
    Some(match c {
        '+' | '-' | '*' | '/' | '^' | '%' | '!' | '(' | ')' | ',' => c,
        '×' | '·' | '⋅' => '*',
        '÷' | '∕' => '/',
        '−' | '–' => '-',
        '[' | '{' => '(',
        ']' | '}' => ')',
        _ => return None,
    })
}

fn unknown(c: char) -> String {
    match c {
        '=' | '<' | '>' => "comparisons and equations are not worked out, only expressions".to_owned(),
        '$' | '€' | '£' => format!("{c} has no meaning here: leave the currency out"),
        '\'' | '’' => "thousands separators are not read: write 1000, not 1'000".to_owned(),
        '_' => "thousands separators are not read: write 1000, not 1_000".to_owned(),
        other => format!("{other:?} has no meaning here"),
    }
}

/// The end of the number that starts at `at`.
fn end_of_number(chars: &[char], mut at: usize) -> usize {
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    while digit(at) || chars.get(at) == Some(&'.') {
        at += 1;
    }
    // An `e` belongs to the number only if digits follow.
    if matches!(chars.get(at), Some('e' | 'E')) {
        let signed = usize::from(matches!(chars.get(at + 1), Some('+' | '-')));
        if digit(at + 1 + signed) {
            at += 1 + signed;
            while digit(at) {
                at += 1;
            }
        }
    }
    at
}

fn number(chars: &[char], start: usize, end: usize) -> Result<Token, Wrong> {
    let text: String = chars.get(start..end).unwrap_or_default().iter().collect();
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let separator = matches!(chars.get(end), Some(',' | '_' | '\'' | '’'));
    let group = digit(end + 1) && digit(end + 2) && digit(end + 3) && !digit(end + 4);
    if separator && group && !text.contains(['.', 'e', 'E']) && text.len() <= 3 {
        let advice = "thousands separators are not read: write 1000, not 1,000; two numbers in a list are \
            written with a blank after the comma";
        return Err((end + 1, advice.to_owned()));
    }
    if text.matches('.').count() > 1 {
        let advice = format!("{text} has more than one point; thousands separators are not read");
        return Err((start + 1, advice));
    }
    if let Ok(whole) = text.parse::<i128>() {
        return Ok(Token::Number(Number::Whole(whole)));
    }
    let wrong = || (start + 1, format!("{text} is no number"));
    let real = text.parse::<f64>().map_err(|_| wrong())?;
    Number::finite(real).map(Token::Number).map_err(|why| (start + 1, why))
}
