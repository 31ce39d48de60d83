//! Both canonical forms read back as the value they were made of.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use steward_journal::canonical::{jcs, python};

fuzz_target!(|text: &str| {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let mut written = String::new();
    python(&value, &mut written);
    assert!(written.is_ascii());
    assert_eq!(serde_json::from_str::<Value>(&written).expect("Python's form is JSON"), value);
    let (mut once, mut twice) = (String::new(), String::new());
    jcs(&value, &mut once);
    jcs(&serde_json::from_str(&once).expect("RFC 8785's form is JSON"), &mut twice);
    assert_eq!(once, twice, "canonical text is its own canonical form");
});
