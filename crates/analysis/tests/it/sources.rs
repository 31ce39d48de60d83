//! Sources of every kind, alone and together.

use crate::{open, rows, write};
use steward_analysis::catalogue::Evidence;
use steward_analysis::frame::Kind;

#[tokio::test]
async fn files_of_every_kind_are_tables() {
    let folder = tempfile::tempdir().unwrap();
    let sources = [
        write(folder.path(), "a.csv", "id,name\n1,x\n2,y\n"),
        write(folder.path(), "b.tsv", "id\tscore\n1\t2.5\n2\t3.5\n"),
        write(
            folder.path(),
            "c.json",
            r#"[{"id": 1, "tag": {"color": "red"}}, {"id": 2, "tag": {"color": "blue"}}]"#,
        ),
        write(
            folder.path(),
            "d.ndjson",
            "{\"id\": 1, \"when\": \"2021-03-04\"}\n{\"id\": 2, \"when\": \"2021-03-05\"}\n",
        ),
    ];
    let bench = open(&sources).await.unwrap();
    let sql = "SELECT a.name, b.score, c.\"tag_color\", d.\"when\" FROM a JOIN b ON a.id = b.id JOIN c ON \
        c.id = a.id JOIN d ON d.id = a.id ORDER BY a.id";
    let columns: Vec<&str> = bench
        .session
        .catalogue()
        .table("c")
        .unwrap()
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let sql = sql.replace("tag_color", columns[1]);
    assert_eq!(
        rows(&bench, &sql).await,
        [["x", "2.5", "red", "2021-03-04"], ["y", "3.5", "blue", "2021-03-05"]]
    );
    let when = bench.session.catalogue().table("d").unwrap().column("when").unwrap();
    assert_eq!(when.kind, Kind::Date);
}

#[tokio::test]
async fn a_folder_of_years_is_one_table() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "sales_2020.csv", "day,amount\n2020-01-01,1\n");
    write(folder.path(), "sales_2021.csv", "day,amount\n2021-01-01,2\n");
    write(folder.path(), "notes.txt", "not data");
    let bench = open(&[folder.path().display().to_string()]).await.unwrap();
    let tables: Vec<&str> =
        bench.session.catalogue().tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(tables.len(), 1, "{tables:?}");
    assert_eq!(rows(&bench, &format!("SELECT sum(amount) FROM \"{}\"", tables[0])).await, [["3"]]);
    let pattern = folder.path().join("sales_*.csv").display().to_string();
    assert_eq!(open(&[pattern]).await.unwrap().session.catalogue().tables.len(), 1);
}

#[tokio::test]
async fn a_table_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "export (3).csv", "a\n1\n");
    let bench = open(&[format!("orders={path}")]).await.unwrap();
    assert_eq!(rows(&bench, "SELECT a FROM orders").await, [["1"]]);
}

#[tokio::test]
async fn sqlite_has_its_keys_and_joins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    let tables = "CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, born TEXT);
        CREATE TABLE song (song_id INTEGER PRIMARY KEY, title TEXT, singer INT REFERENCES singer(id));
        INSERT INTO singer VALUES (1, 'Ada', '1990-05-01'), (2, 'Bo', '1985-01-31');
        INSERT INTO song VALUES (1, 'x', 1), (2, 'y', 1);
        CREATE VIEW broken AS SELECT * FROM nowhere;";
    rusqlite::Connection::open(&path).unwrap().execute_batch(tables).unwrap();
    let bench = open(&[path.display().to_string()]).await.unwrap();
    let catalogue = bench.session.catalogue();
    assert_eq!(catalogue.tables.len(), 2);
    assert_eq!(catalogue.table("singer").unwrap().primary_key, ["id"]);
    assert_eq!(catalogue.table("singer").unwrap().column("born").unwrap().kind, Kind::Date);
    let join = &catalogue.joins[0];
    assert_eq!(
        (join.from.0.as_str(), join.to.0.as_str(), join.evidence),
        ("song", "singer", Evidence::Constraint)
    );
}

#[tokio::test]
async fn the_fingerprint_is_of_the_schema_not_of_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let mut prints = Vec::new();
    for (name, text) in [("one", "a,b\n1,x\n"), ("two", "a,b\n7,y\n8,z\n"), ("three", "a,c\n1,x\n")] {
        let sub = folder.path().join(name);
        std::fs::create_dir(&sub).unwrap();
        prints.push(open(&[write(&sub, "t.csv", text)]).await.unwrap().session.catalogue().fingerprint());
    }
    assert_eq!(prints[0], prints[1]);
    assert_ne!(prints[0], prints[2]);
    assert_eq!(prints[0].len(), 64);
}

#[tokio::test]
async fn data_is_read_fresh() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "t.csv", "a\n1\n");
    assert_eq!(
        rows(&open(std::slice::from_ref(&path)).await.unwrap(), "SELECT sum(a) FROM t").await,
        [["1"]]
    );
    write(folder.path(), "t.csv", "a\n1\n41\n");
    assert_eq!(rows(&open(&[path]).await.unwrap(), "SELECT sum(a) FROM t").await, [["42"]]);
}

#[tokio::test]
async fn joins_are_found_by_names_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let orders = write(folder.path(), "orders.csv", "order_id,customer_id,amount\n1,C1,5\n2,C2,6\n3,C1,7\n");
    let customers = write(folder.path(), "customers.csv", "customer_id,name\nC1,Ada\nC2,Bo\n");
    let bench = open(&[orders, customers]).await.unwrap();
    let join = &bench.session.catalogue().joins[0];
    assert_eq!((join.from.0.as_str(), join.to.0.as_str()), ("orders", "customers"));
    assert_eq!(join.from.1, ["customer_id"]);
}

#[tokio::test]
async fn values_that_look_personal_are_blocked_whatever_the_column_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "t.csv", "id,contact\n1,ada@example.com\n2,bo@example.org\n");
    let bench = open(&[path]).await.unwrap();
    let refused = crate::sql(&bench, "SELECT contact FROM t").await.err().unwrap();
    assert_eq!(crate::code(&refused), "SQL006", "{refused}");
}
