//! Wrong, unusual or oversized input: a clear error or a right partial answer, never a panic.

use crate::{code, open, open_with, rows, sql, write};
use std::fmt::Write as _;
use steward_analysis::session::Options;

#[tokio::test]
async fn nothing_binary_or_missing_is_said_plainly() {
    let folder = tempfile::tempdir().unwrap();
    let empty = write(folder.path(), "empty.csv", "");
    let garbage: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let binary = write(folder.path(), "binary.csv", garbage);
    let zip = write(folder.path(), "book.csv", b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00");
    let json = write(folder.path(), "broken.json", "[{\"a\": 1},");
    for (source, expected, word) in [
        (empty, "ANA002", "empty"),
        (binary, "ANA002", ""),
        (zip, "ANA002", "Excel"),
        (json, "ANA002", "line"),
        ("no/such/file.csv".to_owned(), "ANA001", "no/such/file.csv"),
        ("ftp://example.com/x".to_owned(), "ANA003", "postgres://"),
        (folder.path().join("nothing*.csv").display().to_string(), "ANA003", "no CSV"),
    ] {
        let error =
            open(std::slice::from_ref(&source)).await.err().unwrap_or_else(|| panic!("{source} was opened"));
        assert_eq!(code(&error), expected, "{source}: {error}");
        assert!(error.to_string().contains(word), "{source}: {error}");
    }
}

#[tokio::test]
async fn one_column_is_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let bench = open(&[write(folder.path(), "names.csv", "name\nAda\nGrace\n")]).await.unwrap();
    assert_eq!(rows(&bench, "SELECT count(*) FROM names").await, [["2"]]);
}

#[tokio::test]
async fn a_header_alone_is_an_empty_table() {
    let folder = tempfile::tempdir().unwrap();
    let bench = open(&[write(folder.path(), "t.csv", "a,b\n")]).await.unwrap();
    assert_eq!(rows(&bench, "SELECT count(*) FROM t").await, [["0"]]);
}

#[tokio::test]
async fn five_hundred_columns_work() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = (0..500).map(|n| format!("column {n}")).collect::<Vec<_>>().join(",");
    for row in 0..20 {
        let _ = write!(text, "\n{}", (0..500).map(|n| (n * row).to_string()).collect::<Vec<_>>().join(","));
    }
    let bench = open(&[write(folder.path(), "wide.csv", text)]).await.unwrap();
    assert_eq!(rows(&bench, "SELECT sum(column_499) FROM wide").await, [[(499 * 190).to_string()]]);
}

#[tokio::test]
async fn names_that_repeat_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let bench = open(&[write(folder.path(), "twice.csv", "amount,amount,,Amount\n1,2,3,4\n5,6,7,8\n")])
        .await
        .unwrap();
    let names: Vec<&str> =
        bench.session.catalogue().tables[0].columns.iter().map(|column| column.name.as_str()).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), 4, "{names:?}");
    assert_eq!(rows(&bench, &format!("SELECT sum(\"{}\") FROM twice", names[1])).await, [["8"]]);
}

#[tokio::test]
async fn other_encodings_and_local_dress_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let latin = b"city;price;day\nK\xf6ln;1.234,50;31.12.2021\nM\xfcnchen;99,90;01.02.2022\n";
    let bench = open(&[write(folder.path(), "orte.csv", latin)]).await.unwrap();
    assert_eq!(
        rows(&bench, "SELECT city, price, day FROM orte ORDER BY price DESC").await,
        [["Köln", "1234.5", "2021-12-31"], ["München", "99.9", "2022-02-01"]]
    );
    let dollars = "item,price,share\na,\"$1,234.50\",12%\nb,$5,3%\n";
    let bench = open(&[write(folder.path(), "us.csv", dollars)]).await.unwrap();
    assert_eq!(rows(&bench, "SELECT sum(price) FROM us").await, [["1239.5"]]);
}

#[tokio::test]
async fn a_file_ten_times_the_memory_is_still_summed() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("id,city,amount\n");
    for row in 0..360_000_u32 {
        let _ = writeln!(
            text,
            "{row},Town number {} with a rather long name to fill space,{}.25",
            row % 97,
            row % 1000
        );
    }
    assert!(text.len() > 20 << 20);
    let path = write(folder.path(), "large.csv", text);
    let options = Options { memory: 2 << 20, small_file: 1 << 20, ..Options::default() };
    let bench = open_with(&[path], options).await.unwrap();
    let expected: f64 = (0..360_000_u32).map(|row| f64::from(row % 1000) + 0.25).sum();
    let got: f64 = rows(&bench, "SELECT sum(amount) FROM large").await[0][0].parse().unwrap();
    assert!((got - expected).abs() < 1.0, "{got} {expected}");
    // Sorting everything exceeds the memory limit; it must spill or be refused, not crash.
    match sql(&bench, "SELECT DISTINCT id, city FROM large ORDER BY city, id").await {
        Ok(output) => assert!(output.cut),
        Err(error) => assert!(matches!(code(&error), "ANA006" | "ANA007"), "{error}"),
    }
}

#[tokio::test]
async fn a_value_that_breaks_the_type_late_in_a_large_file_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("id,amount\n");
    for row in 0..400_000_u32 {
        let _ =
            writeln!(text, "{row},{}", if row == 250_001 { "unreadable".to_owned() } else { "2".to_owned() });
    }
    let options = Options { small_file: 1 << 18, ..Options::default() };
    let bench = open_with(&[write(folder.path(), "late.csv", text)], options).await.unwrap();
    assert_eq!(rows(&bench, "SELECT sum(amount), count(*) FROM late").await, [["799998", "400000"]]);
}

#[tokio::test]
async fn a_locked_or_vanished_database_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sqlite");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); BEGIN EXCLUSIVE").unwrap();
    let error = open(&[path.display().to_string()]).await.err().unwrap();
    assert_eq!(code(&error), "ANA004", "{error}");
    assert!(error.to_string().contains("locked"), "{error}");
    drop(database);
    let bench = open(&[path.display().to_string()]).await.unwrap();
    std::fs::write(&path, b"this is no database any more, it was overwritten").unwrap();
    let gone = sql(&bench, "SELECT count(*) FROM t").await;
    assert!(gone.is_err(), "the answer came from nowhere");
    std::fs::write(folder.path().join("fake.sqlite"), b"SQLite format 3\0 and then nonsense").unwrap();
    let error = open(&[folder.path().join("fake.sqlite").display().to_string()]).await.err().unwrap();
    assert!(matches!(code(&error), "ANA002" | "ANA003"), "{error}");
}

#[tokio::test]
async fn an_unreachable_server_is_said() {
    // A local port without a listener.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("postgres://someone:hidden@127.0.0.1:{port}/shop");
    let error = open(&[address]).await.err().unwrap();
    assert!(code(&error).starts_with("DBS"), "{error}");
    assert!(!error.to_string().contains("hidden"), "{error}");
}
