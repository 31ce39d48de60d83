//! Parses and evaluates an expression in one pass.
//!
//! Precedence, lowest first: `+ -`, `* / % of`, unary minus, `^` (right-associative), postfix `!`
//! and `%`. So -2^2 is -4 and 2^-1 is 0.5. `%` is a remainder if a number follows and a percentage
//! otherwise. Where both are possible, as in `10 % -3`, an error asks the user to choose. Nesting
//! is limited, so the stack is bounded.

use super::functions::{NAMES, apply, constant};
use super::lexer::{Piece, Token, Wrong, pieces};
use super::number::Number;
use crate::error::{Error, Result};

/// The maximum nesting depth of brackets, signs and powers.
const DEEPEST: usize = 64;
/// The maximum number of function arguments.
const MOST: usize = 1000;

/// Evaluates an expression. The error names the position.
pub fn evaluate(text: &str) -> Result<Number> {
    let told = |(place, what): Wrong| Error::Expression { detail: format!("{what} (at character {place})") };
    if text.chars().count() > super::LONGEST {
        return Err(Error::Expression { detail: format!("it has more than {} characters", super::LONGEST) });
    }
    let pieces = pieces(text).map_err(told)?;
    let mut parser = Parser { end: text.chars().count() + 1, pieces: &pieces, at: 0, depth: 0 };
    let number = parser.sum().map_err(told)?;
    match parser.peek() {
        None => Ok(number),
        Some(piece) => Err(told((piece.place, left_over(piece)))),
    }
}

fn left_over(piece: &Piece) -> String {
    match &piece.token {
        Token::Sign(')') => "this bracket was never opened".to_owned(),
        Token::Sign(',') => {
            "a comma stands only between the numbers of a function; decimals have a point: 1.5".to_owned()
        }
        Token::Sign('(') | Token::Number(_) | Token::Name(_) => {
            "an operator is missing before this: write 2 * 3, not 2 3".to_owned()
        }
        Token::Sign(sign) => format!("{sign} is not expected here"),
    }
}

struct Parser<'a> {
    pieces: &'a [Piece],
    at: usize,
    end: usize,
    depth: usize,
}

type Step = std::result::Result<Number, Wrong>;

impl Parser<'_> {
    fn peek(&self) -> Option<&Piece> {
        self.pieces.get(self.at)
    }

    fn sign(&self) -> Option<char> {
        match self.peek()?.token {
            Token::Sign(sign) => Some(sign),
            _ => None,
        }
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Some(Piece { token: Token::Name(found), .. }) if found == name)
    }

    fn place(&self) -> usize {
        self.peek().map_or(self.end, |piece| piece.place)
    }

    /// Parses one level deeper.
    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Step) -> Step {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err((self.place(), format!("it is nested deeper than {DEEPEST} levels")));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn sum(&mut self) -> Step {
        let mut left = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.sign() {
            let place = self.place();
            self.at += 1;
            let right = self.product()?;
            let result = if sign == '+' { left.plus(right) } else { left.minus(right) };
            left = result.map_err(|why| (place, why))?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Step {
        let mut left = self.signed()?;
        loop {
            let place = self.place();
            let sign = match self.sign() {
                Some(sign @ ('*' | '/' | '%')) => sign,
                None if self.is_name("of") => '*',
                None if self.is_name("mod") => '%',
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.signed()?;
            let result = match sign {
                '*' => left.times(right),
                '/' => left.over(right),
                _ => left.modulo(right),
            };
            left = result.map_err(|why| (place, why))?;
        }
    }

    fn signed(&mut self) -> Step {
        let place = self.place();
        match self.sign() {
            Some('-') => {
                self.at += 1;
                let number = self.deeper(Self::signed)?;
                number.negated().map_err(|why| (place, why))
            }
            Some('+') => {
                self.at += 1;
                self.deeper(Self::signed)
            }
            _ => self.power(),
        }
    }

    fn power(&mut self) -> Step {
        let base = self.behind()?;
        if self.sign() != Some('^') {
            return Ok(base);
        }
        let place = self.place();
        self.at += 1;
        // The exponent may have a sign and is itself right-associative.
        let exponent = self.deeper(Self::signed)?;
        base.power(exponent).map_err(|why| (place, why))
    }

    /// A number with postfix operators: `5!`, `15%`.
    fn behind(&mut self) -> Step {
        let mut number = self.simple()?;
        loop {
            let place = self.place();
            match self.sign() {
                Some('!') => number = number.factorial().map_err(|why| (place, why))?,
                Some('%') if self.is_percent()? => {
                    number = number.over(Number::Whole(100)).map_err(|why| (place, why))?;
                }
                _ => return Ok(number),
            }
            self.at += 1;
        }
    }

    /// Whether the `%` here is a percentage and not a remainder.
    fn is_percent(&self) -> std::result::Result<bool, Wrong> {
        let next = self.pieces.get(self.at + 1);
        Ok(match next.map(|piece| &piece.token) {
            None => true,
            Some(Token::Number(_) | Token::Sign('(')) => false,
            Some(Token::Name(name)) => name == "of" || name == "mod",
            Some(Token::Sign('-')) => {
                if !next.is_some_and(|piece| piece.blank_after) {
                    let advice = "% followed by a minus can mean two things: write mod(a, -b) for the \
                        remainder, or a% - b";
                    return Err((self.place(), advice.to_owned()));
                }
                true
            }
            Some(Token::Sign(_)) => true,
        })
    }

    fn simple(&mut self) -> Step {
        let place = self.place();
        let Some(piece) = self.pieces.get(self.at) else {
            let what = if self.pieces.is_empty() {
                "there is nothing to work out"
            } else {
                "a number is missing at the end"
            };
            return Err((place, what.to_owned()));
        };
        self.at += 1;
        match &piece.token {
            Token::Number(number) => Ok(*number),
            Token::Sign('(') => {
                let number = self.deeper(Self::sum)?;
                self.close(place)?;
                Ok(number)
            }
            Token::Name(name) if self.sign() == Some('(') => {
                if !NAMES.contains(&name.as_str()) {
                    return Err((place, no_function(name)));
                }
                self.at += 1;
                let numbers = self.list(place)?;
                apply(name, &numbers).map_err(|why| (place, why))
            }
            Token::Name(name) => constant(name).ok_or_else(|| (place, no_constant(name))),
            Token::Sign(sign) => Err((place, format!("a number is missing before {sign}"))),
        }
    }

    fn list(&mut self, opened: usize) -> std::result::Result<Vec<Number>, Wrong> {
        let mut numbers = Vec::new();
        if self.sign() == Some(')') {
            self.at += 1;
            return Ok(numbers);
        }
        loop {
            numbers.push(self.deeper(Self::sum)?);
            if numbers.len() > MOST {
                return Err((self.place(), format!("a function takes at most {MOST} numbers")));
            }
            if self.sign() != Some(',') {
                self.close(opened)?;
                return Ok(numbers);
            }
            self.at += 1;
        }
    }

    fn close(&mut self, opened: usize) -> std::result::Result<(), Wrong> {
        match self.peek() {
            Some(Piece { token: Token::Sign(')'), .. }) => {
                self.at += 1;
                Ok(())
            }
            None => Err((opened, "this bracket is never closed".to_owned())),
            Some(piece) => Err((piece.place, left_over(piece))),
        }
    }
}

fn no_function(name: &str) -> String {
    format!("there is no function {name}; there are {}", NAMES.join(", "))
}

fn no_constant(name: &str) -> String {
    if NAMES.contains(&name) {
        return format!("{name} is a function: write {name}(…)");
    }
    format!("{name} has no value: there are no variables, only pi, e and tau")
}
