//! Backup and restore: complete, verified, and never overwriting existing files.

use crate::Bench;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_backup_comes_back_whole_and_verifies() {
    let bench = Bench::new();
    let task = bench.worked();
    fs::create_dir_all(bench.home().join("artifacts/reports")).unwrap();
    fs::write(bench.home().join("artifacts/reports/one.txt"), "one").unwrap();
    fs::write(bench.home().join("logs/today.log"), "noise").unwrap();
    bench.ok("backup all.tar.gz");
    let mode = fs::metadata(bench.path("all.tar.gz")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it holds keys");
    bench.fails("backup all.tar.gz", 2, "CLI004");
    // Later changes are not part of it.
    bench.ok("init");
    let told = bench.json("restore all.tar.gz --home again");
    assert!(told["journal_entries"].as_u64().unwrap() > 0, "{told}");
    assert!(bench.ok("task list --home again").contains("Summarise the quarter"));
    assert!(bench.ok(&format!("task show {task} --home again")).contains("42 orders"));
    bench.ok("audit verify --home again");
    assert_eq!(fs::read_to_string(bench.path("again/artifacts/reports/one.txt")).unwrap(), "one");
    assert!(!bench.path("again/logs/today.log").exists());
    let key = |home: &str| fs::read(bench.path(home).join("keys/journal.key")).unwrap();
    assert_eq!(key("again"), key("home"));
    // Existing files are not overwritten.
    bench.fails("restore all.tar.gz --home again", 2, "CLI008");
    bench.fails("restore all.tar.gz", 2, "CLI008");
    let left: Vec<_> =
        fs::read_dir(bench.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn a_backup_that_was_changed_is_refused_and_leaves_nothing() {
    let bench = Bench::new();
    bench.worked();
    bench.ok("backup all.tar.gz");
    let bytes = fs::read(bench.path("all.tar.gz")).unwrap();
    fs::write(bench.path("cut.tar.gz"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(bench.path("none.tar.gz"), "no archive").unwrap();
    let mut plain = Vec::new();
    GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
    for (name, change) in [
        (
            "edited",
            &(|from: &str| from.replace("Summarise the quarter", "Summarise the quarrel"))
                as &dyn Fn(&str) -> String,
        ),
        ("escaping", &|from: &str| from.replace("config/steward.yaml", "../fig/steward.yaml")),
    ] {
        // Bytes are mapped to characters, so that everything else stays unchanged.
        let letters: String = plain.iter().map(|byte| char::from(*byte)).collect();
        let changed: Vec<u8> = change(&letters).chars().map(|letter| letter as u8).collect();
        assert_ne!(changed, plain, "{name}");
        let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &changed).unwrap();
        fs::write(bench.path(&format!("{name}.tar.gz")), packed.finish().unwrap()).unwrap();
    }
    for name in ["cut", "none", "edited", "escaping"] {
        bench.fails(&format!("restore {name}.tar.gz --home other"), 2, "CLI007");
        assert!(!bench.path("other").exists(), "{name}");
    }
    bench.fails("restore all.tar.gz --home other --store postgres://127.0.0.1:1/none", 2, "CLI007");
    bench.fails("restore missing.tar.gz --home other", 4, "CLI002");
    bench.ok("restore all.tar.gz --home other");
}
