//! Files that are small until they are read: a view that never terminates, a dictionary column with
//! one long text.

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use std::sync::Arc;
use steward_analysis::Error;
use steward_analysis::session::{Options, Session};

const FOREVER: &str = "CREATE VIEW forever AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
    SELECT count(*) AS n FROM c";

async fn open(path: &std::path::Path) -> Result<Session, Error> {
    Session::open(&[path.display().to_string()], Options::default()).await
}

fn database(path: &std::path::Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn a_view_that_never_ends_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sqlite");
    database(&path, &format!("CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1); {FOREVER}"));
    let session = open(&path).await.unwrap();
    let names: Vec<&str> = session.catalogue().tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["t"]);
    assert!(
        session.warnings().iter().any(|said| said.contains("forever was left out")),
        "{:?}",
        session.warnings()
    );
    let only = folder.path().join("y.sqlite");
    database(&only, FOREVER);
    assert!(matches!(open(&only).await.err(), Some(Error::Timeout { .. })));
}

#[tokio::test]
async fn a_text_that_grows_in_a_view_is_refused_by_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sqlite");
    let zeros = "CREATE VIEW big AS SELECT hex(zeroblob(500000000)) AS z";
    database(&path, &format!("CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1); {zeros}"));
    let session = open(&path).await.unwrap();
    assert_eq!(session.catalogue().tables.len(), 1);
    assert!(
        session.warnings().iter().any(|said| said.contains("big was left out")),
        "{:?}",
        session.warnings()
    );
}

#[tokio::test]
async fn a_column_that_repeats_one_long_text_is_sampled_by_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let text = "x".repeat(1 << 20);
    let column: ArrayRef = Arc::new(StringArray::from_iter_values((0..64).map(|_| text.as_str())));
    let batch = RecordBatch::try_from_iter([("note", column)]).unwrap();
    let mut writer =
        ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    for _ in 0..16 {
        writer.write(&batch).unwrap();
    }
    writer.close().unwrap();
    let session = open(&path).await.unwrap();
    let table = &session.catalogue().tables[0];
    assert_eq!(table.rows, Some(1024));
    assert!(table.columns[0].seen <= 64, "a gigabyte of cells was written out: {}", table.columns[0].seen);
}
