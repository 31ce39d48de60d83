//! Whatever text comes: admission answers, never panics, and what it admits reads neither the
//! hidden table nor the hidden and blocked columns.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::collections::{BTreeMap, BTreeSet};
use steward_policy::{Access, Column, Dialect, Draft, Limits, Parameters, Schema, Table, admit};

fuzz_target!(|sql: &str| {
    let table = |name: &str, columns: &[&str]| Table { name: name.to_owned(), path: Vec::new(), columns: columns.iter().map(|c| Column::plain(*c)).collect() };
    let schema = Schema { tables: vec![table("t", &["a", "b", "hushhush", "email"]), table("zzz", &["a"])] };
    let access = Access {
        tables: BTreeMap::from([("t".to_owned(), BTreeSet::from(["a".to_owned(), "b".to_owned(), "email".to_owned()]))]),
        allowed_columns: BTreeSet::new(),
        blocked_patterns: vec!["email".to_owned()],
    };
    let parameters = Parameters::new();
    for dialect in Dialect::ALL {
        let ask = |sql: &str| admit(&Draft { sql, dialect, parameters: &parameters }, &schema, &access, Limits::default());
        if let Ok(admitted) = ask(sql) {
            let reads = admitted.reads();
            assert!(reads.iter().all(|(table, columns)| table == "t" && columns.iter().all(|c| c == "a" || c == "b")));
        }
    }
});
