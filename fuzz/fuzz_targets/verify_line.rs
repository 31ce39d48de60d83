//! Whatever bytes a log holds: the verifier answers, never panics, and what it accepts is
//! canonical.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steward_journal::Sealed;
use steward_journal::verify::verify_log;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(report) = verify_log(bytes, 1) {
        let text = std::str::from_utf8(bytes).expect("an accepted log is text");
        assert_eq!(text.lines().count() as u64, report.tip.entries);
        for line in text.lines() {
            assert_eq!(Sealed::from_line(line).expect("an accepted line is an entry").to_line(), line);
        }
    }
});
