//! Partitioned folders, Parquet, Arrow and Avro.

use crate::{code, open, rows, write};
use datafusion::arrow::array::{Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use std::path::Path;
use std::sync::Arc;
use steward_analysis::frame::Kind;

fn batch(rows: &[(&str, f64, i64)]) -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("city", DataType::Utf8, true),
        Field::new("amount", DataType::Float64, true),
        Field::new("units", DataType::Int64, true),
    ]);
    let columns: [Arc<dyn datafusion::arrow::array::Array>; 3] = [
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2))),
    ];
    RecordBatch::try_new(Arc::new(schema), columns.to_vec()).unwrap()
}

fn parquet(rows: &[(&str, f64, i64)]) -> Vec<u8> {
    let batch = batch(rows);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn put(root: &Path, file: &str, bytes: impl AsRef<[u8]>) {
    let path = root.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn folders_named_by_values_are_columns_and_leave_out_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("sales");
    for (place, month) in ["01", "02", "03"].into_iter().enumerate() {
        for year in [2023, 2024] {
            let file = format!("year={year}/month={month}/part-0.parquet");
            put(&root, &file, parquet(&[("Rome", 1.5, place as i64), ("Bari", 2.5, year)]));
        }
    }
    put(&root, "_SUCCESS", "");
    put(&root, "year=2024/month=03/readme.md", "hello");
    let bench = open(&[root.display().to_string()]).await.unwrap();
    let table = bench.session.catalogue().table("sales").unwrap();
    assert_eq!(table.rows, Some(12));
    let month = table.column("month").unwrap();
    assert_eq!((month.kind, month.distinct, month.complete), (Kind::Integer, 3, true));
    assert!(bench.session.warnings().join("\n").contains("readme.md"), "{:?}", bench.session.warnings());
    let sql = "SELECT year, month, sum(amount) FROM sales GROUP BY year, month ORDER BY year, month LIMIT 2";
    assert_eq!(rows(&bench, sql).await, [["2023", "1", "4"], ["2023", "2", "4"]]);
    // Folders with zero-padded numbers are found by the number.
    let sql = "SELECT year, month, count(*) FROM sales WHERE month = 2 AND year = 2024 GROUP BY 1, 2";
    assert_eq!(rows(&bench, sql).await, [["2024", "2", "2"]]);
    // A file that no answer needs is not opened.
    std::fs::write(root.join("year=2023/month=02/part-0.parquet"), b"broken").unwrap();
    let sql = "SELECT sum(amount) FROM sales WHERE year = 2024 AND month >= 2";
    assert_eq!(rows(&bench, sql).await, [["8"]]);
    assert!(crate::sql(&bench, "SELECT sum(amount) FROM sales").await.is_err(), "this one needs all of them");
}

#[tokio::test]
async fn csv_and_json_in_partitions_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("day=2024-03-01/a.csv", "city;amount\nRome;1,5\n"),
        ("day=2024-03-02/a.csv", "city;amount\nBari;2\n"),
        ("day=2024-03-02/b.csv", "city;amount\nPisa;3,25\n"),
    ] {
        put(folder.path(), name, text);
    }
    let bench = open(&[folder.path().display().to_string()]).await.unwrap();
    let table = &bench.session.catalogue().tables[0];
    assert_eq!(table.column("day").unwrap().kind, Kind::Date);
    let sql = format!("SELECT day, sum(amount) FROM \"{}\" GROUP BY day ORDER BY day", table.name);
    assert_eq!(rows(&bench, &sql).await, [["2024-03-01", "1.5"], ["2024-03-02", "5.25"]]);
    put(folder.path(), "day=2024-03-03/a.csv", "town;price\nRome;1,5\n");
    let error = open(&[folder.path().display().to_string()]).await.err().unwrap();
    assert_eq!(code(&error), "ANA002");
    assert!(error.to_string().contains("not those of the other partitions"), "{error}");
}

#[tokio::test]
async fn arrow_avro_and_compressed_parquet_are_tables() {
    use datafusion::arrow::ipc::writer::{FileWriter, StreamWriter};
    let folder = tempfile::tempdir().unwrap();
    let batch = batch(&[("Rome", 1.5, 1), ("Bari", 2.5, 2)]);
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    let mut avro = arrow_avro::writer::AvroWriter::new(Vec::new(), batch.schema().as_ref().clone()).unwrap();
    avro.write(&batch).unwrap();
    avro.finish().unwrap();
    let packed = zstd::encode_all(&parquet(&[("Rome", 1.5, 1), ("Bari", 2.5, 2)])[..], 1).unwrap();
    for (name, bytes) in [
        ("a.arrow", file.into_inner().unwrap()),
        ("b.arrows", stream.into_inner().unwrap()),
        ("c.avro", avro.into_inner()),
        ("d.parquet.zst", packed),
    ] {
        let bench = open(&[write(folder.path(), name, bytes)])
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let sql = format!("SELECT city, amount, units FROM {} ORDER BY units", name.chars().next().unwrap());
        assert_eq!(rows(&bench, &sql).await, [["Rome", "1.5", "1"], ["Bari", "2.5", "2"]], "{name}");
    }
    for name in ["cut.arrow", "cut.avro", "cut.parquet"] {
        let start: &[u8] = match name {
            "cut.arrow" => b"ARROW1\0\0half",
            "cut.avro" => b"Obj\x01half",
            _ => b"PAR1half",
        };
        let error =
            open(&[write(folder.path(), name, start)]).await.err().unwrap_or_else(|| panic!("{name}"));
        assert_eq!(code(&error), "ANA002", "{name}: {error}");
    }
}
