//! `docs/seeds.md` against the types and the migrations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use steward_domain::catalogue::schemas;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/store")).join(path)).unwrap()
}

/// Table to columns, out of the `CREATE TABLE` statements of a store's migrations.
fn columns(store: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in std::fs::read_dir(
        Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/store")).join("migrations").join(store),
    )
    .unwrap()
    {
        let sql = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for statement in sql.split("CREATE TABLE ").skip(1) {
            let (name, rest) = statement.split_once(" (").unwrap();
            let body = rest.split("\n)").next().unwrap();
            let names = body
                .lines()
                .filter_map(|line| line.split_whitespace().next())
                .filter(|word| word.chars().all(|c| c.is_lowercase() || c == '_' || c.is_numeric()));
            tables.entry(name.to_owned()).or_default().extend(names.map(str::to_owned));
        }
    }
    tables
}

#[test]
fn every_row_of_the_page_is_true() {
    let (types, sqlite, postgres) = (schemas(), columns("sqlite"), columns("postgres"));
    let page = read("../../docs/seeds.md");
    let mut rows = 0;
    let mut wrong = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let title = section.lines().next().unwrap();
        for line in section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| field |")) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [field, kind, json, kept, ..] = cells[..] else { panic!("{title}: {line}") };
            rows += 1;
            let property = types
                .get(kind)
                .and_then(|schema| schema.get("properties"))
                .and_then(|properties| properties.get(json));
            if property.is_none() {
                wrong.push(format!("{title}, {field}: {kind} has no {json}"));
            }
            if kept.starts_with("file ") {
                continue;
            }
            let (table, column) = kept.split_once('.').unwrap_or((kept, ""));
            for (store, tables) in [("sqlite", &sqlite), ("postgres", &postgres)] {
                if !tables.get(table).is_some_and(|columns| columns.contains(column)) {
                    wrong.push(format!("{title}, {field}: {store} has no {kept}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(rows > 250, "the page names every field of every seed, not {rows}");
}

/// Both stores behave alike, so they need the same columns.
#[test]
fn the_two_stores_have_the_same_columns() {
    let (mut sqlite, mut postgres) = (columns("sqlite"), columns("postgres"));
    // SQLite links entries instead of indexing them, tracks changes of its tools, and counts the
    // queue's tokens in a table. PostgreSQL has row-level security on every table, a sequence for
    // the tokens, and orders entries by a separate id until they get their index in the log.
    let own = |tables: &mut BTreeMap<String, BTreeSet<String>>, table: &str, names: &[&str]| {
        for name in names {
            assert!(tables.get_mut(table).unwrap().remove(*name), "{table}.{name} is gone: update this list");
        }
    };
    own(&mut sqlite, "chain", &["id", "last_index"]);
    own(&mut sqlite, "journal_entry", &["chain_id", "previous_index"]);
    own(&mut postgres, "journal_entry", &["id", "request_id", "user_id"]);
    for table in ["tool_stamp", "chain_mark", "task_queue_token"] {
        assert!(sqlite.remove(table).is_some(), "{table} is gone: update this list");
    }
    assert_eq!(sqlite, postgres);
}

/// The schemas in `docs/schemas/` match the types; `STEWARD_BLESS=1` updates them.
#[test]
fn published_schemas_are_current() {
    for (name, schema) in schemas() {
        let path = Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/store"))
            .join(format!("../../docs/schemas/{name}.json"));
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("STEWARD_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            text,
            "run STEWARD_BLESS=1 cargo test -p steward-store seeds"
        );
    }
}
