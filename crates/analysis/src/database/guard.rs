//! The first of three protections against writing: a lexical check of a statement before the
//! database sees it.
//!
//! The other two are the read-only transaction and the prepared statement, which the server
//! enforces. This one refuses what those allow: ending the transaction, `SELECT … INTO OUTFILE`,
//! comments that a server executes. It also removes comments and the last semicolon, so that the
//! statement can be embedded in another one.

use super::error::{Category, DatabaseError};
use crate::query::Dialect;

/// The statement without comments and semicolon, if it is a single statement that reads.
pub(super) fn check(sql: &str, dialect: Dialect) -> Result<String, DatabaseError> {
    let scanned =
        Scanner { rest: sql, before: None, mysql: dialect == Dialect::MySql, scanned: Scanned::default() }
            .run()?;
    let Some(first) = scanned.words.first() else {
        return Err(DatabaseError::sql(Category::Syntax, "the statement is empty"));
    };
    if !matches!(first.as_str(), "SELECT" | "WITH" | "VALUES" | "TABLE") {
        return Err(DatabaseError::NotReadOnly { detail: format!("the statement begins with {first}") });
    }
    // INTO is a reserved word everywhere, and in such a statement it always writes: a table or a
    // file.
    if scanned.words.iter().any(|word| word == "INTO") {
        return Err(DatabaseError::NotReadOnly { detail: "INTO writes a table or a file".to_owned() });
    }
    Ok(scanned.text.trim().to_owned())
}

/// The result of scanning.
#[derive(Default)]
struct Scanned {
    /// The statement without comments.
    text: String,
    /// Unquoted words in upper case, in order; no strings or quoted names.
    words: Vec<String>,
}

struct Scanner<'a> {
    rest: &'a str,
    before: Option<char>,
    mysql: bool,
    scanned: Scanned,
}

impl Scanner<'_> {
    fn run(mut self) -> Result<Scanned, DatabaseError> {
        let mut ended = false;
        while let Some(next) = self.rest.chars().next() {
            if self.skip_comment()? {
                continue;
            }
            if next == ';' {
                ended = true;
                self.advance(1, false);
                continue;
            }
            if ended && !next.is_whitespace() {
                return Err(DatabaseError::NotReadOnly {
                    detail: "there is more than one statement".to_owned(),
                });
            }
            match next {
                '\'' => self.quoted('\'', self.backslashes())?,
                '"' => self.quoted('"', false)?,
                '`' if self.mysql => self.quoted('`', false)?,
                '$' if !self.mysql && !self.before.is_some_and(in_word) => self.dollars()?,
                '\0' => {
                    return Err(DatabaseError::sql(Category::Syntax, "the statement holds a zero character"));
                }
                letter if in_word(letter) => self.word(),
                _ => self.advance(1, true),
            }
        }
        Ok(self.scanned)
    }

    /// Advances by `count` characters, keeping or dropping them.
    fn advance(&mut self, count: usize, keep: bool) {
        for _ in 0..count {
            let mut characters = self.rest.chars();
            let Some(next) = characters.next() else { return };
            self.rest = characters.as_str();
            self.before = Some(next);
            if keep {
                self.scanned.text.push(next);
            }
        }
    }

    /// Whether backslashes escape in the string that starts here: in MySQL always (set by the
    /// session), in PostgreSQL after E.
    fn backslashes(&self) -> bool {
        self.mysql
            || matches!(self.scanned.words.last().map(String::as_str), Some("E") if matches!(self.before, Some('e' | 'E')))
    }

    fn skip_comment(&mut self) -> Result<bool, DatabaseError> {
        let line = if self.mysql {
            let dashes = self
                .rest
                .strip_prefix("--")
                .is_some_and(|after| after.chars().next().is_none_or(char::is_whitespace));
            dashes || self.rest.starts_with('#')
        } else {
            self.rest.starts_with("--")
        };
        if line {
            let length = self.rest.chars().take_while(|c| *c != '\n').count();
            self.advance(length, false);
            self.space();
            return Ok(true);
        }
        if !self.rest.starts_with("/*") {
            return Ok(false);
        }
        if self.mysql && (self.rest.starts_with("/*!") || self.rest.starts_with("/*M!")) {
            return Err(DatabaseError::NotReadOnly {
                detail: "a comment that the server would run as code".to_owned(),
            });
        }
        let mut depth = 0_usize;
        loop {
            if self.rest.is_empty() {
                return Err(unfinished("comment"));
            } else if self.rest.starts_with("/*") && (depth == 0 || !self.mysql) {
                depth += 1;
                self.advance(2, false);
            } else if self.rest.starts_with("*/") {
                depth = depth.saturating_sub(1);
                self.advance(2, false);
            } else {
                self.advance(1, false);
            }
            if depth == 0 {
                self.space();
                return Ok(true);
            }
        }
    }

    /// A comment separates words.
    fn space(&mut self) {
        self.scanned.text.push(' ');
        self.before = Some(' ');
    }

    fn quoted(&mut self, mark: char, backslashes: bool) -> Result<(), DatabaseError> {
        self.advance(1, true);
        while let Some(next) = self.rest.chars().next() {
            if next == '\\' && backslashes {
                self.advance(2, true);
                continue;
            }
            self.advance(1, true);
            // A doubled quote is treated as the end of one string and the start of the next, which
            // is equivalent.
            if next == mark {
                return Ok(());
            }
        }
        Err(unfinished(if mark == '\'' { "string" } else { "quoted name" }))
    }

    /// `$tag$ … $tag$` of PostgreSQL, or a single dollar sign.
    fn dollars(&mut self) -> Result<(), DatabaseError> {
        let after = self.rest.strip_prefix('$').unwrap_or(self.rest);
        let tag = after.split('$').next().unwrap_or_default();
        let named = tag.chars().all(in_word) && !tag.starts_with(|c: char| c.is_ascii_digit());
        if tag.len() == after.len() || !named {
            self.advance(1, true);
            return Ok(());
        }
        let mark = format!("${tag}$");
        self.advance(mark.chars().count(), true);
        while !self.rest.starts_with(&mark) {
            if self.rest.is_empty() {
                return Err(unfinished("string"));
            }
            self.advance(1, true);
        }
        self.advance(mark.chars().count(), true);
        Ok(())
    }

    fn word(&mut self) {
        let mut word = String::new();
        while let Some(next) = self.rest.chars().next().filter(|c| in_word(*c) || *c == '$') {
            word.extend(next.to_uppercase());
            self.advance(1, true);
        }
        self.scanned.words.push(word);
    }
}

fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || !letter.is_ascii()
}

fn unfinished(what: &str) -> DatabaseError {
    DatabaseError::sql(Category::Syntax, format!("a {what} does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(sql: &str, dialect: Dialect) -> bool {
        matches!(check(sql, dialect), Err(DatabaseError::NotReadOnly { .. }))
    }

    #[test]
    fn reading_passes_and_loses_comments_and_semicolon() {
        for dialect in [Dialect::Postgres, Dialect::MySql] {
            assert_eq!(check("SELECT 1 -- one\n ;\n", dialect).unwrap(), "SELECT 1");
            assert_eq!(
                check("/* a */ (SELECT 'a;b' /* INTO */ UNION SELECT \"INTO\")", dialect)
                    .unwrap()
                    .matches("INTO")
                    .count(),
                1
            );
            assert_eq!(
                check("with a as (select 1) select * from a;;", dialect).unwrap(),
                "with a as (select 1) select * from a"
            );
            assert!(check("SELECT 'it''s; INTO'", dialect).is_ok());
        }
        assert!(check("SELECT $a$;INTO $b$ x$a$, foo$bar$ FROM t", Dialect::Postgres).is_ok());
        assert!(check(r"SELECT E'\'; INTO '", Dialect::Postgres).is_ok());
        assert!(check(r"SELECT '\'; INTO '", Dialect::MySql).is_ok());
        assert_eq!(check("SELECT 5--3", Dialect::MySql).unwrap(), "SELECT 5--3");
    }

    #[test]
    fn writing_is_refused() {
        for dialect in [Dialect::Postgres, Dialect::MySql] {
            for sql in [
                "COMMIT",
                "commit; DELETE FROM t",
                "SELECT 1; DROP TABLE t",
                "SET TRANSACTION READ WRITE",
                "SELECT 1 INTO t",
                "-- SELECT\nDELETE FROM t",
                "/* x */ CALL p()",
                "SELECT 1 /* ; */ ; -- x\n COMMIT",
                "COPY t TO PROGRAM 'x'",
                "DO 1",
            ] {
                assert!(refused(sql, dialect), "{sql}");
            }
        }
        // A backslash does not escape in PostgreSQL, so the string ends and a second statement
        // follows.
        assert!(refused(r"SELECT '\'; DROP TABLE t; --'", Dialect::Postgres));
        assert!(refused("SELECT /* /* */ 1; */ 2; DROP TABLE t", Dialect::MySql));
        assert!(refused("SELECT 1 /*!50000 INTO OUTFILE 'x' */", Dialect::MySql));
        assert!(refused("SELECT 1 /*M! INTO OUTFILE 'x' */", Dialect::MySql));
        assert!(refused("SELECT 1 # x\n INTO OUTFILE 'x'", Dialect::MySql));
        assert!(refused("SELECT 1 --1 INTO OUTFILE 'x'", Dialect::MySql));
    }

    #[test]
    fn unfinished_text_is_a_syntax_error() {
        for sql in ["SELECT 'a", "SELECT \"a", "SELECT /* a", "SELECT $a$ b", ""] {
            assert_eq!(check(sql, Dialect::Postgres).unwrap_err().category(), Category::Syntax, "{sql}");
        }
    }
}
