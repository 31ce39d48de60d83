//! Delta Lake tables, written by the library `deltalake`: `STEWARD_TEST_DELTA` names the folder that
//! `xtask/lake/delta_tables.py` made.

use crate::remote::{bucket, fetched, put, server};
use crate::{code, open, rows};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use steward_analysis::source::{Opening, find_guarded};

/// A query over the table `t`, and its rows as the library reads them.
#[derive(Deserialize)]
struct Case {
    source: String,
    query: String,
    rows: Vec<Vec<String>>,
}

fn folder() -> Option<PathBuf> {
    crate::servers::server("STEWARD_TEST_DELTA", "delta").map(PathBuf::from)
}

/// Copies a table, so that a test may damage it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap().path();
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() { copy(&entry, &target) } else { std::fs::copy(&entry, &target).map(drop).unwrap() }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn over(query: &str, table: &str) -> String {
    query.replace("from t", &format!("from \"{table}\""))
}

async fn refusal(source: &str) -> (&'static str, String) {
    let error = open(&[source.to_owned()]).await.err().unwrap_or_else(|| panic!("{source} was read"));
    (code(&error), error.to_string())
}

#[tokio::test]
async fn every_version_is_read_as_the_library_reads_it() {
    let Some(folder) = folder() else { return };
    let cases = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&cases).unwrap();
    assert!(cases.len() > 50, "{} cases", cases.len());
    for case in cases {
        let bench = open(&[folder.join(&case.source).display().to_string()]).await;
        let bench = bench.unwrap_or_else(|error| panic!("{}: {error}", case.source));
        let table = bench.session.catalogue().tables[0].name.clone();
        assert_eq!(case.source.split('@').next(), Some(table.as_str()));
        assert_eq!(
            rows(&bench, &over(&case.query, &table)).await,
            case.rows,
            "{} {}",
            case.source,
            case.query
        );
        let said = bench.session.assumptions().join("\n");
        assert_eq!(said.contains("version "), case.source.contains('@'), "{}: {said}", case.source);
    }
}

#[tokio::test]
async fn the_catalogue_knows_rows_partitions_and_new_names() {
    let Some(folder) = folder() else { return };
    let source = |name: &str| folder.join(name).display().to_string();
    let bench = open(&[source("sales"), source("mapped"), source("deleted")]).await.unwrap();
    let table = |name: &str| bench.session.catalogue().table(name).unwrap();
    assert_eq!(table("sales").column("year").unwrap().distinct, 3);
    assert!(
        table("sales").column("region").unwrap().values.iter().any(|(value, _)| value.contains("é a/b%20=c"))
    );
    assert!(table("mapped").column("sold").is_some() && table("mapped").column("units").is_none());
    assert_eq!(table("deleted").rows, Some(5000 - 1000 - 500), "the log says how many rows are deleted");
    // A folder of tables is all of them.
    let bench = open(&[folder.display().to_string()]).await.unwrap();
    for name in ["sales", "events", "cleaned", "mapped", "deleted", "typed"] {
        assert!(bench.session.catalogue().table(name).is_some(), "{name}");
    }
}

#[tokio::test]
async fn files_of_other_partitions_and_values_are_not_opened() {
    let Some(folder) = folder() else { return };
    let own = tempfile::tempdir().unwrap();
    copy(&folder.join("events"), &own.path().join("events"));
    let bench = open(&[own.path().join("events").display().to_string()]).await.unwrap();
    // The file with the rows 50 to 59 is found by the statistics of the log, and damaged.
    let log = own.path().join("events/_delta_log/00000000000000000005.json");
    let log = std::fs::read_to_string(log).unwrap();
    let add = log.lines().find(|line| line.starts_with("{\"add\"")).unwrap();
    let add: serde_json::Value = serde_json::from_str(add).unwrap();
    let file = own.path().join("events").join(add["add"]["path"].as_str().unwrap());
    std::fs::write(file, b"damaged").unwrap();
    let query = "select count(*) from events where id < 50 or id >= 60";
    assert_eq!(rows(&bench, query).await, [["140"]]);
    assert!(crate::sql(&bench, "select count(*), sum(id) from events where id >= 55").await.is_err());
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_clearly() {
    let Some(folder) = folder() else { return };
    let own = tempfile::tempdir().unwrap();
    let changed = |table: &str, name: &str, version: u64, from: &str, to: &str| {
        let target = own.path().join(name);
        copy(&folder.join(table), &target);
        let log = target.join(format!("_delta_log/{version:020}.json"));
        let text = std::fs::read_to_string(&log).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        std::fs::write(log, text.replace(from, to)).unwrap();
        target.display().to_string()
    };
    let file = "{\"add\":{\"path\":\"";
    let made = |name: &str| folder.join(name).display().to_string();
    std::fs::create_dir(own.path().join("plain")).unwrap();
    for (source, expected, said) in [
        (format!("{}@v99", made("sales")), "ANA003", "no version 99; the newest is 5"),
        (format!("{}@2001-02-03", made("sales")), "ANA003", "begins with version 0"),
        (
            format!("{}@v3", made("cleaned")),
            "ANA003",
            "version 3 was cleaned up; the oldest that can be read is 6",
        ),
        (format!("{}@v1", own.path().join("plain").display()), "ANA003", "only a Delta table"),
        (changed("deleted", "feature", 0, "\"deletionVectors\"", "\"timeMachine\""), "ANA003", "timeMachine"),
        (changed("mapped", "by_id", 1, "mode\": \"name\"", "mode\": \"id\""), "ANA003", "mapped by id"),
        (
            changed("events", "up", 12, file, &format!("{file}../../../etc/")),
            "ANA003",
            "outside of the table",
        ),
        (changed("events", "root", 12, file, &format!("{file}/etc/")), "ANA003", "outside of the table"),
        (changed("events", "coded", 12, file, &format!("{file}%2e%2e/")), "ANA003", "outside of the table"),
        (
            changed("events", "other", 12, file, &format!("{file}s3://other/")),
            "ANA003",
            "outside of the table",
        ),
        (changed("events", "cut", 12, "{\"add\":{", "{\"add\":"), "ANA002", "its log"),
        (changed("deleted", "magic", 1, "\"cardinality\": 4", "\"cardinality\": 5"), "ANA003", "x"),
    ] {
        if source.ends_with("magic") {
            let (found, text) = refusal(&format!("{source}@v1")).await;
            assert_eq!(found, "ANA002", "{text}");
            assert!(text.contains("not as many"), "{text}");
            continue;
        }
        let (found, text) = refusal(&source).await;
        assert_eq!(found, expected, "{source}: {text}");
        assert!(text.contains(said), "{source}: {text}");
    }
    // A data file that was vacuumed, and a checkpoint that is cut off.
    copy(&folder.join("sales"), &own.path().join("gone"));
    for file in
        files(&own.path().join("gone")).iter().filter(|file| file.extension().is_some_and(|e| e == "parquet"))
    {
        std::fs::remove_file(file).unwrap();
    }
    let (found, text) = refusal(&own.path().join("gone").display().to_string()).await;
    assert!(text.contains("not found") || text.contains("No such file"), "{found}: {text}");
    copy(&folder.join("events"), &own.path().join("half"));
    let checkpoint = own.path().join("half/_delta_log/00000000000000000010.checkpoint.parquet");
    std::fs::write(checkpoint, b"PAR1half").unwrap();
    let (found, text) = refusal(&own.path().join("half").display().to_string()).await;
    assert_eq!(found, "ANA002", "{text}");
    assert!(text.contains("a checkpoint of its log"), "{text}");
}

#[test]
fn the_guard_sees_every_file_of_a_table() {
    let own = tempfile::tempdir().unwrap();
    let table = own.path().join("t");
    std::fs::create_dir_all(table.join("_delta_log")).unwrap();
    std::fs::create_dir_all(table.join("year=2024")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", table.join("year=2024/part-0.parquet")).unwrap();
    let guard = |opening: Opening<'_>| match opening {
        Opening::File(path) if path.canonicalize().is_ok_and(|real| real.starts_with("/etc")) => {
            Err(steward_analysis::Error::Source { what: "t".to_owned(), detail: "refused".to_owned() })
        }
        _ => Ok(()),
    };
    for named in
        [table.display().to_string(), format!("{}@v3", table.display()), own.path().display().to_string()]
    {
        assert!(find_guarded(&named, &guard).is_err(), "{named}");
    }
}

#[tokio::test]
async fn a_table_in_a_bucket_is_read_and_only_what_is_needed_is_fetched() {
    let (Some(folder), Some(address)) = (folder(), server()) else { return };
    let lake = bucket("delta");
    put(&address, &format!("/{lake}"), b"").await;
    for name in ["sales", "deleted"] {
        for file in files(&folder.join(name)) {
            let key = file.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
            let parts = key
                .split('/')
                .map(|part| url::form_urlencoded::byte_serialize(part.as_bytes()).collect::<String>());
            let key = parts.collect::<Vec<_>>().join("/");
            put(&address, &format!("/{lake}/lake/{key}"), &std::fs::read(&file).unwrap()).await;
        }
    }
    let cases = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&cases).unwrap();
    for case in cases
        .iter()
        .filter(|case| ["sales", "sales@v1", "deleted", "deleted@v2"].contains(&case.source.as_str()))
    {
        let bench = open(&[format!("s3://{lake}/lake/{}", case.source)]).await;
        let bench = bench.unwrap_or_else(|error| panic!("{}: {error}", case.source));
        let table = bench.session.catalogue().tables[0].name.clone();
        assert_eq!(
            rows(&bench, &over(&case.query, &table)).await,
            case.rows,
            "{} {}",
            case.source,
            case.query
        );
    }
    let bench = open(&[format!("s3://{lake}/lake/sales/")]).await.unwrap();
    let (_, whole) = fetched(&bench, "select sum(units), sum(id) from sales").await;
    let (_, part) =
        fetched(&bench, "select sum(units), sum(id) from sales where region = 'south' and year = 2020").await;
    assert!(part * 4 < whole, "{part} bytes of {whole}");
    let (_, none) = fetched(&bench, "select sum(units) from sales where id > 1000000").await;
    assert_eq!(none, 0);
    let (found, text) = refusal(&format!("s3://{lake}/lake/sales@v77")).await;
    assert!(found == "ANA003" && text.contains("no version 77"), "{found}: {text}");
}
