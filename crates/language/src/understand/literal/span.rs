//! Pieces of an utterance that stand for themselves: paths, file names, patterns of names, SQL,
//! quoted text, names that a word introduces, and counts.
//!
//! Invariant: two pieces never overlap; the earlier kinds of [`read`] win.

use crate::pattern::pattern;
use regex::Regex;
use std::sync::LazyLock;

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LiteralKind {
    /// A statement of SQL, whole.
    Sql,
    /// Between quotes or backticks.
    Quote,
    /// With a star: `*.txt`.
    Glob,
    /// From the root of a file system or of a home: `/srv/data`, `~/notes`.
    Absolute,
    /// A file by its name, or a relative path to one: `todo.txt`, `reports/q1.txt`.
    File,
    /// Words with a slash that may be a path or a name: `feature/login`.
    Slashed,
    /// A name that a word introduces ("called X", "table X"), or one in capitals.
    Name,
}

/// A piece with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Literal {
    pub(super) kind: LiteralKind,
    pub(super) text: String,
    /// Where its value stands, without quotation marks.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The words before it, the nearest first, in small letters.
    pub(super) before: Vec<String>,
    /// The word behind it.
    pub(super) after: String,
}

impl Literal {
    /// Whether it cannot be anything but data.
    pub(super) fn is_hard(&self) -> bool {
        !matches!(self.kind, LiteralKind::Quote | LiteralKind::Name)
    }

    pub(super) fn follows(&self, words: &[&str]) -> bool {
        self.before.first().is_some_and(|word| words.contains(&word.as_str()))
    }
}

static QUOTES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"```(?:\w+\n)?(?P<f>[^`]+)```|`(?P<e>[^`\n]+)`|"(?P<a>[^"\n]+)"|“(?P<b>[^”\n]+)”|«(?P<c>[^»\n]+)»|(?:^|[\s(,:])['‘](?P<d>[^'’\n]+(?:['’](?:s|t|m|re|ve|ll|d)\b[^'’\n]*)*)['’](?:$|[\s.,;:?!)])"#,
    )
});

/// Statements by their grammar, not by one word: "delete from my list" is none.
static SQL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?is)\b(?:select\b.+?\bfrom\s+[\w\x22\[`.]+|select\s+(?:\w+\s*\(|\d|'|\*).*|insert\s+(?:or\s+\w+\s+)?into\s+\S+\s*(?:\(|values|select|default)|update\s+\S+\s+set\s+\S+\s*=|delete\s+from\s+[\w\x22`.]+\s*(?:where\b|;|$)|create\s+(?:temp(?:orary)?\s+|unique\s+)?(?:table|view|index)\s+(?:if\s+not\s+exists\s+)?[\w\x22`.]+\s*(?:\(|as\b|on\b)|drop\s+(?:table|view|index)\s+(?:if\s+exists\s+)?[\w\x22`.]+\s*(?:;|$)|alter\s+table\s+\S+\s+(?:add|drop|rename)\b|with\s+\w+\s+as\s*\(|pragma\s+\w+)",
    )
});

/// What a word of an utterance may be made of.
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"\S+"));

const ENDINGS: &[&str] = &[
    "txt", "md", "rst", "log", "csv", "tsv", "json", "jsonl", "yaml", "yml", "toml", "xml", "html", "htm",
    "css", "scss", "js", "mjs", "cjs", "ts", "tsx", "jsx", "py", "rs", "go", "java", "kt", "c", "h", "cc",
    "cpp", "hpp", "cs", "rb", "php", "pl", "sh", "bash", "zsh", "ps1", "bat", "sql", "db", "sqlite", "ini",
    "cfg", "conf", "env", "lock", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "png",
    "jpg", "jpeg", "gif", "svg", "webp", "bmp", "ico", "mp3", "wav", "ogg", "flac", "mp4", "mov", "avi",
    "mkv", "zip", "tar", "gz", "bz2", "xz", "zst", "7z", "parquet", "arrow", "ipynb", "tex", "bib", "patch",
    "diff", "tmp", "bak", "swift", "lua", "r", "jl", "vue", "dart", "gradle", "proto", "tf", "pem", "key",
    "crt",
];
const BARE_FILES: &[&str] =
    &["readme", "makefile", "dockerfile", "license", "changelog", "gemfile", "procfile"];
/// With a slash, and no path.
const NO_PATHS: &[&str] = &[
    "and/or",
    "he/she",
    "she/he",
    "him/her",
    "his/her",
    "yes/no",
    "n/a",
    "w/o",
    "w/",
    "true/false",
    "on/off",
    "input/output",
    "read/write",
    "km/h",
    "24/7",
    "tcp/ip",
    "am/pm",
    "either/or",
    "pass/fail",
];

/// All pieces of an utterance, in their order.
pub(super) fn read(raw: &str) -> Vec<Literal> {
    let mut found: Vec<(LiteralKind, usize, usize)> = Vec::new();
    let quotes: Vec<(usize, usize)> = QUOTES
        .captures_iter(raw)
        .filter_map(|captures| ["a", "b", "c", "d", "e", "f"].iter().find_map(|name| captures.name(name)))
        .filter(|inner| !inner.as_str().trim().is_empty())
        .map(|inner| (inner.start(), inner.end()))
        .collect();
    if let Some(statement) = SQL.find(raw) {
        let quoted =
            quotes.iter().find(|(start, end)| *start <= statement.start() && statement.start() < *end);
        let (start, end) = match quoted {
            Some((start, end)) => (*start, *end),
            None => (statement.start(), statement_end(raw, statement.start())),
        };
        found.push((LiteralKind::Sql, start, end));
    }
    for (start, end) in quotes {
        let text = raw.get(start..end).unwrap_or_default();
        let kind = if text.contains(char::is_whitespace) { None } else { kind_of(text, "") };
        push(&mut found, (kind.unwrap_or(LiteralKind::Quote), start, end));
    }
    for word in WORD.find_iter(raw) {
        let (start, end) = bare(raw, word.start(), word.end());
        let before = raw.get(..start).unwrap_or_default().split_whitespace().next_back().unwrap_or_default();
        if let Some(kind) = raw.get(start..end).and_then(|word| kind_of(word, before)) {
            push(&mut found, (kind, start, end));
        }
    }
    for (start, end) in names(raw) {
        push(&mut found, (LiteralKind::Name, start, end));
    }
    found.sort_by_key(|(_, start, _)| *start);
    found.into_iter().map(|(kind, start, end)| literal(raw, kind, start, end)).collect()
}

fn push(found: &mut Vec<(LiteralKind, usize, usize)>, new: (LiteralKind, usize, usize)) {
    if new.1 < new.2 && found.iter().all(|(_, start, end)| new.2 <= *start || *end <= new.1) {
        found.push(new);
    }
}

fn literal(raw: &str, kind: LiteralKind, start: usize, end: usize) -> Literal {
    let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let before = raw.get(..start).unwrap_or_default().split_whitespace().rev().map(plain);
    let after =
        raw.get(end..).unwrap_or_default().split_whitespace().map(plain).find(|word| !word.is_empty());
    Literal {
        kind,
        text: raw.get(start..end).unwrap_or_default().trim().to_owned(),
        start,
        end,
        before: before.filter(|word| !word.is_empty()).take(4).collect(),
        after: after.unwrap_or_default(),
    }
}

/// A statement goes to the end of what was said, without the sentence's own mark.
fn statement_end(raw: &str, start: usize) -> usize {
    let rest = raw.get(start..).unwrap_or_default();
    start + rest.trim_end().trim_end_matches(['.', '?', '!', '`']).trim_end().len()
}

/// A word without the marks around it.
fn bare(raw: &str, start: usize, end: usize) -> (usize, usize) {
    let word = raw.get(start..end).unwrap_or_default();
    let from = word.len() - word.trim_start_matches(['(', '"', '\'', '`', '“', '‘', '[']).len();
    let kept = word.trim_end_matches([',', ';', ':', '?', '!', ')', '"', '\'', '`', '”', '’', ']']);
    let kept = kept.strip_suffix('.').unwrap_or(kept);
    (start + from, (start + kept.len()).max(start + from))
}

fn kind_of(word: &str, before: &str) -> Option<LiteralKind> {
    let lower = word.to_lowercase();
    if word.contains("://") || word.contains('@') || lower.starts_with("www.") {
        return None;
    }
    let letters = word.chars().any(char::is_alphabetic);
    if word.contains('*')
        && word.len() > 1
        && word.chars().any(|c| c.is_alphanumeric() || c == '/' || c == '.')
    {
        return (letters || word.contains('.')).then_some(LiteralKind::Glob);
    }
    let rooted =
        ["/", "~/", "./", "../"].iter().any(|root| word.starts_with(root) && word.len() > root.len());
    let drive = matches!(word.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    if (rooted && letters) || drive || word == "~" || (word == "." && FILE_WORDS.contains(&before)) {
        return Some(LiteralKind::Absolute);
    }
    let last = lower.rsplit('/').next().unwrap_or_default();
    let named = last.rsplit_once('.').is_some_and(|(stem, ending)| {
        let known = ENDINGS.contains(&ending) && !stem.is_empty();
        let said = FILE_WORDS.contains(&before.to_lowercase().as_str());
        let short = (1..=5).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric());
        let hidden = stem.is_empty() && ending.len() > 1;
        (known || hidden || (said && short)) && !stem.ends_with('.')
    });
    let plain =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "._-+#".contains(c));
    if word.contains('/') {
        let parts = word.trim_end_matches('/').split('/');
        let date = word.chars().all(|c| c.is_ascii_digit() || c == '/');
        if date || NO_PATHS.contains(&lower.as_str()) || !parts.clone().all(plain) || !letters {
            return None;
        }
        return Some(if named { LiteralKind::File } else { LiteralKind::Slashed });
    }
    let bare = BARE_FILES.contains(&lower.as_str()) && word.starts_with(char::is_uppercase);
    ((named && plain(word)) || bare).then_some(LiteralKind::File)
}

const FILE_WORDS: &[&str] = &["file", "path", "folder", "directory", "dir", "document"];

/// Names that a word introduces, and names in capitals that do not open the sentence.
fn names(raw: &str) -> Vec<(usize, usize)> {
    static CALLED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(?:called|named|titled|(?:of )?type|labell?ed|tagged)\s+(?P<n>[\p{L}\p{N}_][\p{L}\p{N}_.#+-]*)",
        )
    });
    static NOUN: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(?:table|branch|tag|column|entity|node|revision|commit|user|channel|key|view|index|schema|bucket|topic|queue|collection|project|label)\s+(?P<n>[\p{L}\p{N}_][\p{L}\p{N}_.#+-]*)",
        )
    });
    static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(?:the|of|in|for|from|to)\s+(?P<n>[\p{L}_][\p{L}\p{N}_-]*)\s+(?:table|branch|column|entity|node|view|schema|folder|directory)\b",
        )
    });
    static CAPITALS: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\p{Lu}[\p{L}\p{N}'’-]*(?:\s+\p{Lu}[\p{L}\p{N}'’-]*)*"));
    let inner = |pattern: &Regex| -> Vec<(usize, usize)> {
        let named = pattern.captures_iter(raw).filter_map(|found| found.name("n"));
        named
            .filter(|name| !is_small(&name.as_str().to_lowercase()))
            .map(|name| {
                let text = name.as_str().trim_end_matches(['.', '-', '+']);
                (name.start(), name.start() + text.len())
            })
            .collect()
    };
    let capitals = CAPITALS.find_iter(raw).filter(|name| {
        let before = raw.get(..name.start()).unwrap_or_default().trim_end();
        !before.is_empty() && !before.ends_with(['.', '?', '!']) && !is_small(&name.as_str().to_lowercase())
    });
    let mut found = capitals.map(|name| (name.start(), name.end())).collect::<Vec<_>>();
    // A longer name in capitals comes before a single word of it.
    found.retain(|(start, end)| raw.get(*start..*end).is_some_and(|name| name.contains(' ')));
    found.extend(inner(&CALLED));
    found.extend(inner(&NOUN));
    found.extend(inner(&BEFORE));
    found.extend(
        CAPITALS.find_iter(raw).filter(|name| name.start() > 0).map(|name| (name.start(), name.end())),
    );
    found
}

/// Words that are no names.
fn is_small(word: &str) -> bool {
    crate::words::is_stop(word)
        || [
            "with",
            "to",
            "from",
            "in",
            "on",
            "of",
            "for",
            "and",
            "or",
            "is",
            "are",
            "has",
            "have",
            "the",
            "a",
            "an",
            "all",
            "new",
            "structure",
            "schema",
            "table",
            "tables",
            "whole",
            "current",
            "that",
            "which",
            "i",
            "sql",
            "json",
            "csv",
            "git",
            "by",
            "at",
            "into",
            "as",
            "using",
            "where",
            "exist",
            "exists",
            "there",
            "do",
            "does",
            "named",
            "called",
            "message",
            "changes",
            "history",
            "log",
            "logs",
        ]
        .contains(&word)
}

static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:(?P<rank>first|last|latest|newest|top|most recent|previous)\s+)?(?P<n>\d{1,6}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|fifty|hundred)\s+(?P<noun>\p{L}+)",
    )
});

/// A number of things: "the last two commits".
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Count {
    pub(super) number: u64,
    pub(super) rank: String,
    pub(super) noun: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The counts of an utterance that stand outside of its literals.
pub(super) fn counts(raw: &str, literals: &[Literal]) -> Vec<Count> {
    const WORDS: [&str; 12] =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let number = |said: &str| {
        said.parse().ok().or_else(|| match said {
            "twenty" => Some(20),
            "fifty" => Some(50),
            "hundred" => Some(100),
            said => WORDS.iter().position(|word| *word == said).and_then(|at| u64::try_from(at + 1).ok()),
        })
    };
    COUNT
        .captures_iter(raw)
        .filter_map(|found| {
            let said = found.name("n")?;
            let noun = found.name("noun")?.as_str().to_lowercase();
            let rank = found.name("rank").map(|rank| rank.as_str().to_lowercase()).unwrap_or_default();
            let inside = literals.iter().any(|one| one.start < said.end() && said.start() < one.end);
            let counted = !inside && (said.as_str() != "one" || !rank.is_empty());
            let number = number(&said.as_str().to_lowercase()).filter(|_| counted)?;
            Some(Count { number, rank, noun, start: said.start(), end: said.end() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::LiteralKind::{Absolute, File, Glob, Name, Quote, Slashed, Sql};
    use super::*;

    #[test]
    fn pieces_are_found_by_what_they_are() {
        for (said, wanted) in [
            ("read the file todo.txt", vec![(File, "todo.txt")]),
            ("show reports/q1.txt.", vec![(File, "reports/q1.txt")]),
            ("what is in /srv/data?", vec![(Absolute, "/srv/data")]),
            ("find *.txt in ~/notes", vec![(Glob, "*.txt"), (Absolute, "~/notes")]),
            ("switch to feature/login", vec![(Slashed, "feature/login")]),
            ("write \"hello world\" to a.txt", vec![(Quote, "hello world"), (File, "a.txt")]),
            ("run SELECT a FROM b WHERE c = 'Rome'.", vec![(Sql, "SELECT a FROM b WHERE c = 'Rome'")]),
            ("run `select 1 from t`", vec![(Sql, "select 1 from t")]),
            ("describe the table customers", vec![(Name, "customers")]),
            ("what columns does the orders table have?", vec![(Name, "orders")]),
            ("add a note to Ada Lovelace", vec![(Name, "Ada Lovelace")]),
            ("delete milk from my list", vec![]),
            ("the meeting on 12/05/2026 and/or 24/7", vec![]),
            ("mail ann@example.com about www.example.com", vec![]),
            ("update my task and set it to done", vec![]),
        ] {
            let found = read(said);
            let found: Vec<(LiteralKind, &str)> =
                found.iter().map(|one| (one.kind, one.text.as_str())).collect();
            assert_eq!(found, wanted, "{said}");
        }
    }

    #[test]
    fn counts_are_read_with_their_noun() {
        let found = counts("show me the last two commits", &[]);
        assert_eq!(
            found.iter().map(|one| (one.number, one.rank.as_str(), one.noun.as_str())).collect::<Vec<_>>(),
            [(2, "last", "commits")]
        );
        assert!(counts("this one is fine", &[]).is_empty());
    }
}
