//! Whatever text comes: admission answers, never panics; what it admits it admits again as the same text, and neither the
//! hidden table nor the hidden columns are named in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::{BTreeMap, BTreeSet};
use steward_policy::{Access, Column, Limits, Schema, Table, admit};

fuzz_target!(|sql: &str| {
    let table = |name: &str, columns: &[&str]| Table { name: name.to_owned(), columns: columns.iter().map(|c| Column::plain(*c)).collect() };
    let schema = Schema { tables: vec![table("t", &["a", "b", "hushhush", "email"]), table("zzz", &["a"])] };
    let access = Access {
        tables: BTreeMap::from([("t".to_owned(), BTreeSet::from(["a".to_owned(), "b".to_owned(), "email".to_owned()]))]),
        allowed_columns: BTreeSet::new(),
        blocked_patterns: vec!["email".to_owned()],
    };
    if let Ok(admitted) = admit(sql, &schema, &access, Limits::default()) {
        let again = admit(admitted.text(), &schema, &access, Limits::default()).expect("what was admitted is admitted again");
        assert_eq!(again.text(), admitted.text());
        assert!(admitted.tables().iter().all(|table| table == "t"));
    }
});
