//! The log of a server: the last lines of its stderr, its log messages, and other output.
//!
//! Invariant: the number and length of lines are limited, however much the server writes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The maximum length of a line. Longer lines are truncated.
const LINE_CHARS: usize = 2_000;

/// A ring buffer of lines.
#[derive(Debug)]
pub(crate) struct Log {
    lines: Mutex<VecDeque<String>>,
    most: usize,
}

impl Log {
    /// A ring buffer of this many lines.
    pub(crate) fn new(most: usize) -> Self {
        Self { lines: Mutex::default(), most: most.max(1) }
    }

    /// Appends a line, and drops the oldest one if the buffer is full.
    pub(crate) fn push(&self, from: &str, line: &str) {
        let line: String = line.chars().filter(|c| !c.is_control() || *c == '\t').take(LINE_CHARS).collect();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= self.most {
            lines.pop_front();
        }
        lines.push_back(format!("{from}: {line}"));
    }

    /// All lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The last line of stderr, for error messages.
    pub(crate) fn last_words(&self) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().rev().find_map(|line| line.strip_prefix("stderr: ")).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_keeps_last_lines_and_truncates_long_ones() {
        let log = Log::new(2);
        log.push("stderr", "one");
        log.push("stderr", &"x".repeat(10_000));
        log.push("noise", "\u{1b}[31mthree");
        let lines = log.lines();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].len(), LINE_CHARS + "stderr: ".len());
        assert_eq!(lines[1], "noise: [31mthree");
        assert!(log.last_words().unwrap().starts_with("xxx"));
    }
}
