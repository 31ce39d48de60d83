//! The queries of TPC-H, admitted, beside the rows of DuckDB: `STEWARD_TEST_TPCH` names a folder with
//! the tables (`data/*.parquet`, scale 0.01) and DuckDB's rows (`expected.jsonl`).

use serde_json::Value as Json;
use std::path::Path;
use steward_analysis::frame::Value;
use steward_analysis::session::{Options, Session};
use steward_analysis::tools::Workbench;
use steward_policy::{Access, Limits};

/// Whether a cell is what DuckDB says. An average of decimals has six digits after the point here.
fn is_same(ours: &Value, theirs: &Json) -> bool {
    let number = match ours {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    };
    match (number, theirs.as_f64()) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs() <= (1e-9 * ours.abs()).max(1e-6),
        _ => ours.is_null() == theirs.is_null() && theirs.as_str().is_none_or(|text| text == ours.plain()),
    }
}

#[tokio::test]
async fn all_queries_of_tpch_are_admitted_and_have_the_rows_of_duckdb() {
    let Some(folder) = crate::servers::server("STEWARD_TEST_TPCH", "tpch") else { return };
    let queries = Path::new(concat!(env!("STEWARD_CHECKOUT"), "bench/tpch/queries"));
    // Without the rules for personal data, which refuse the columns of phone numbers.
    let session = Session::open(&[format!("{folder}/data")], Options::default()).await.unwrap();
    let bench = Workbench::new(session, Access::default(), Limits::default());
    let expected = std::fs::read_to_string(format!("{folder}/expected.jsonl")).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for line in expected.lines() {
        let expected: Json = serde_json::from_str(line).unwrap();
        let (name, theirs) = (expected["query"].as_str().unwrap(), expected["rows"].as_array().unwrap());
        let text = std::fs::read_to_string(queries.join(format!("{name}.sql"))).unwrap();
        count += 1;
        let ours = match crate::sql(&bench, &text).await {
            Ok(output) => output.frame.unwrap().rows,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let row = |(ours, theirs): (&Vec<Value>, &Json)| {
            let theirs = theirs.as_array().unwrap();
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours, theirs))
        };
        if ours.len() != theirs.len() || !ours.iter().zip(theirs).all(row) {
            wrong.push(format!("{name}: {} rows, DuckDB has {}", ours.len(), theirs.len()));
        }
    }
    assert_eq!(count, 22);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
