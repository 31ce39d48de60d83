//! Writes the catalogue of every data source under a folder as JSON, and its rows as a SQLite file,
//! so that the reader can be measured and fitted without opening the sources again:
//! `dump_catalogues OUT FILE...`. Files that belong together are joined by `+`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a development program"
)]

use std::path::Path;
use steward_analysis::frame::{Kind, Value};
use steward_analysis::session::{Options, Session};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().expect("a folder to write to");
    std::fs::create_dir_all(&out).unwrap();
    for file in arguments {
        let name = file.replace(['/', '.', '+'], "_").trim_start_matches('_').to_owned();
        let (json, database) = (format!("{out}/{name}.json"), format!("{out}/{name}.sqlite"));
        if Path::new(&json).exists() {
            continue;
        }
        let session =
            match Session::open(&file.split('+').map(str::to_owned).collect::<Vec<_>>(), Options::default())
                .await
            {
                Ok(session) => session,
                Err(error) => {
                    eprintln!("{file}: {error}");
                    continue;
                }
            };
        let catalogue = session.catalogue();
        if file.ends_with(".sqlite") {
            std::fs::copy(&file, &database).unwrap();
        } else {
            let _ = std::fs::remove_file(&database);
            let mut rows = rusqlite::Connection::open(&database).unwrap();
            let transaction = rows.transaction().unwrap();
            for table in &catalogue.tables {
                let (frame, _) = session.head(&table.name, 1_000_000).await.unwrap();
                let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
                let columns: Vec<String> = (frame.fields.iter())
                    .map(|field| {
                        let kind = match field.kind {
                            Kind::Integer | Kind::Boolean => "INTEGER",
                            Kind::Number => "REAL",
                            _ => "TEXT",
                        };
                        format!("{} {kind}", quoted(&field.name))
                    })
                    .collect();
                let create = format!("CREATE TABLE {} ({})", quoted(&table.name), columns.join(", "));
                transaction.execute(&create, []).unwrap();
                let places = vec!["?"; columns.len()].join(", ");
                let insert = format!("INSERT INTO {} VALUES ({places})", quoted(&table.name));
                let mut insert = transaction.prepare(&insert).unwrap();
                for row in &frame.rows {
                    let cells = row.iter().map(|cell| match cell {
                        Value::Null => rusqlite::types::Value::Null,
                        Value::Bool(b) => i64::from(*b).into(),
                        Value::Int(n) => (*n).into(),
                        Value::Float(n) => (*n).into(),
                        other => other.plain().replace('T', " ").into(),
                    });
                    let cells: Vec<rusqlite::types::Value> = (row.iter().zip(cells))
                        .map(|(cell, value)| match cell {
                            Value::Text(text) => text.clone().into(),
                            _ => value,
                        })
                        .collect();
                    insert.execute(rusqlite::params_from_iter(cells)).unwrap();
                }
            }
            transaction.commit().unwrap();
        }
        std::fs::write(&json, serde_json::to_string(catalogue).unwrap()).unwrap();
    }
}
