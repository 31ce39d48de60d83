//! Regular expression literals.
//!
//! A pattern that does not compile is a bug in the source, not in an input. It must not be ignored
//! silently, because every sentence that it should match would be misinterpreted. The test below
//! compiles every pattern of this crate, so that [`pattern`] cannot panic in a program that passed
//! its tests.

use regex::Regex;

/// Compiles a pattern literal.
#[expect(clippy::panic, reason = "the test beside it compiles every literal of the crate")]
pub(crate) fn pattern(literal: &str) -> Regex {
    Regex::new(literal).unwrap_or_else(|error| panic!("a pattern of the source does not compile: {error}"))
}

#[cfg(test)]
mod tests {
    use regex::Regex;
    use std::path::Path;

    fn sources(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }

    #[test]
    fn every_pattern_of_the_source_compiles() {
        let mut files = Vec::new();
        sources(&Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/language")).join("src"), &mut files);
        let call = Regex::new(r##"(?s)\bpattern\(\s*r(?:"(?P<plain>[^"]*)"|#"(?P<hashed>.*?)"#)"##).unwrap();
        let mut seen = 0;
        for found in files.iter().flat_map(|text| call.captures_iter(text)) {
            let literal = found.name("plain").or_else(|| found.name("hashed")).unwrap().as_str();
            Regex::new(literal).unwrap_or_else(|error| panic!("{literal}: {error}"));
            seen += 1;
        }
        assert!(seen > 40, "only {seen} patterns were found: does the test still read the source rightly?");
    }
}
