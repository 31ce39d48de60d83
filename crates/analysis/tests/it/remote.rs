//! Buckets and web servers, against a real S3 server on loopback: `STEWARD_TEST_S3` names it.

use crate::{code, open, rows, sql};
use async_trait::async_trait;
use datafusion::arrow::array::{Float64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use std::sync::Arc;
use steward_analysis::source::remote::{self, HttpReader, HttpRequest, HttpResponse};
use steward_analysis::tools::Workbench;
use steward_tools::egress::{EgressClient, Request, Rules};

/// The HTTP client of the program.
struct Door(EgressClient);

#[async_trait]
impl HttpReader for Door {
    async fn read(&self, request: HttpRequest) -> Result<HttpResponse, String> {
        let method = if request.head { "HEAD" } else { "GET" };
        let method = method.parse().map_err(|_| "no method".to_owned())?;
        let asked = Request { method, headers: request.headers, ..Request::get(request.url) };
        let response = self.0.fetch(asked).await.map_err(|error| error.to_string())?;
        let headers = response.headers.iter();
        let headers =
            headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("").to_owned()));
        Ok(HttpResponse {
            status: response.status.as_u16(),
            headers: headers.collect(),
            body: response.body,
            truncated: response.truncated,
        })
    }
}

/// The S3 server, with a client that may reach it.
pub(crate) fn server() -> Option<String> {
    server_of("STEWARD_TEST_S3", "s3")
}

/// The server that a variable names. The client may reach the servers of all buckets.
pub(crate) fn server_of(variable: &str, name: &str) -> Option<String> {
    let address = crate::servers::server(variable, name)?;
    let addresses =
        ["STEWARD_TEST_S3", "STEWARD_TEST_AZURE", "STEWARD_TEST_GCS"].map(|name| std::env::var(name).ok());
    let host = |address: &String| address.trim_start_matches("http://").split('/').next().map(str::to_owned);
    let hosts: Vec<String> = addresses.iter().flatten().filter_map(host).collect();
    let rules = serde_json::json!({ "allow": hosts, "allow_private": true, "max_body_bytes": 1 << 26 });
    remote::install(Arc::new(Door(EgressClient::new(Rules::from_json(&rules).unwrap()))));
    Some(address)
}

/// Sends one raw request to the server, to upload test data.
async fn send(address: &str, method: &str, path: &str, body: &[u8]) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let host = address.trim_start_matches("http://");
    let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
    let acl = if path.starts_with("/web") { "public-read" } else { "private" };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\nx-amz-acl: {acl}\r\nConnection: \
            close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// A bucket that is unique to this run.
pub(crate) fn bucket(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

pub(crate) async fn put(address: &str, path: &str, body: &[u8]) {
    let answer = send(address, "PUT", path, body).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
}

/// A file of many rows, so that its pages are much larger than its footer.
fn parquet(city: &str, rows: usize, seed: usize) -> Vec<u8> {
    let fields = [("city", DataType::Utf8), ("amount", DataType::Float64), ("note", DataType::Utf8)];
    let schema = Schema::new(fields.map(|(name, kind)| Field::new(name, kind, true)).to_vec());
    let amounts = Float64Array::from_iter_values((0..rows).map(|row| ((row * 7919 + seed) % 1000) as f64));
    let notes = (0..rows).map(|row| format!("{:x}", (row * 2_654_435_761 + seed) % 0xffff_ffff));
    let columns: [Arc<dyn datafusion::arrow::array::Array>; 3] = [
        Arc::new(StringArray::from_iter_values(vec![city; rows])),
        Arc::new(amounts),
        Arc::new(StringArray::from_iter_values(notes)),
    ];
    let batch = RecordBatch::try_new(Arc::new(schema), columns.to_vec()).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub(crate) async fn fetched(bench: &Workbench, text: &str) -> (Vec<Vec<String>>, u64) {
    let before = bench.session.bytes_fetched();
    let found = rows(bench, text).await;
    (found, bench.session.bytes_fetched() - before)
}

#[tokio::test]
async fn a_bucket_is_asked_and_only_what_is_needed_is_fetched() {
    let Some(address) = server() else { return };
    let lake = bucket("lake");
    put(&address, &format!("/{lake}"), b"").await;
    for year in 2021..=2024 {
        for month in 1..=3 {
            let file = parquet("Rome", 30_000, year * month);
            put(&address, &format!("/{lake}/sales/year={year}/month=0{month}/part-0.parquet"), &file).await;
        }
    }
    put(&address, &format!("/{lake}/sales/_SUCCESS"), b"").await;
    put(&address, &format!("/{lake}/sales_old/year=1999/month=01/part-0.parquet"), &parquet("Bari", 10, 1))
        .await;
    put(&address, &format!("/{lake}/cities.csv"), b"city,country\nRome,Italy\nOslo,Norway\n").await;
    let sources = [format!("s3://{lake}/sales/"), format!("s3://{lake}/cities.csv")];
    let bench = open(&sources).await.unwrap();
    let sales = bench.session.catalogue().table("sales").unwrap();
    assert_eq!(sales.rows, Some(360_000));
    assert_eq!(sales.column("year").unwrap().distinct, 4);
    let (all, whole) = fetched(&bench, "SELECT count(*), count(DISTINCT note) FROM sales").await;
    assert_eq!(all[0][0], "360000");
    let (some, part) =
        fetched(&bench, "SELECT count(*), count(DISTINCT note) FROM sales WHERE year = 2024 AND month = 2")
            .await;
    assert_eq!(some[0][0], "30000");
    assert!(part * 8 < whole, "{part} bytes of {whole}");
    let (_, column) = fetched(&bench, "SELECT sum(amount) FROM sales").await;
    assert!(column * 2 < whole, "{column} bytes of {whole}");
    let joined = "SELECT c.country, count(*) FROM sales s JOIN cities c ON c.city = s.city WHERE s.year = \
        2021 GROUP BY 1";
    assert_eq!(rows(&bench, joined).await, [["Italy", "90000"]]);
    assert!(sql(&bench, "COPY sales TO 's3://lake/out.csv'").await.is_err());
    // The journal and people see the address without a key.
    let described =
        format!("{:?}", bench.session.places().iter().map(|place| place.describe()).collect::<Vec<_>>());
    assert!(
        described.contains(&format!("s3://{lake}/sales/")) && !described.contains("steward"),
        "{described}"
    );
}

#[tokio::test]
async fn a_web_server_is_a_source() {
    let Some(address) = server() else { return };
    let web = bucket("web");
    put(&address, &format!("/{web}"), b"").await;
    put(&address, &format!("/{web}/prices.csv"), b"item,price\nTea,3\nJam,5\n").await;
    put(&address, &format!("/{web}/stock.parquet"), &parquet("Rome", 5_000, 3)).await;
    let bench = open(&[format!("{address}/{web}/prices.csv"), format!("{address}/{web}/stock.parquet")])
        .await
        .unwrap();
    assert_eq!(rows(&bench, "SELECT sum(price) FROM prices").await, [["8"]]);
    assert_eq!(rows(&bench, "SELECT count(*) FROM stock").await, [["5000"]]);
}

#[tokio::test]
async fn what_cannot_be_fetched_is_said_clearly() {
    let Some(address) = server() else { return };
    let closed = bucket("closed");
    put(&address, &format!("/{closed}"), b"").await;
    put(&address, &format!("/{closed}/empty.txt"), b"").await;
    put(&address, &format!("/{closed}/broken.parquet"), b"PAR1 this is no Parquet").await;
    for (source, expected, said) in [
        ("s3://no-such-bucket/sales/".to_owned(), "ANA003", "NoSuchBucket"),
        (format!("s3://{closed}/nothing/"), "ANA003", "no data"),
        (format!("s3://{closed}/broken.parquet"), "ANA002", "broken.parquet"),
        (format!("{address}/{closed}/missing.csv"), "ANA001", "NoSuchKey"),
        // It exists but is private: requests to a web server are not signed.
        (format!("{address}/{closed}/empty.txt"), "ANA001", "403"),
        // Only one host is allowed.
        ("https://example.com/x.csv".to_owned(), "ANA001", "list of hosts"),
        ("http://169.254.169.254/latest/x.csv".to_owned(), "ANA001", "list of hosts"),
        ("s3://".to_owned(), "ANA003", "bucket"),
    ] {
        let error = open(std::slice::from_ref(&source)).await.map(|_| ()).unwrap_err();
        assert_eq!(code(&error), expected, "{source}: {error}");
        assert!(error.to_string().contains(said), "{source}: {error}");
    }
}
