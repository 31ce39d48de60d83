//! The tools by their JSON arguments.

use crate::{code, open, write};
use serde_json::{Value, json};
use steward_analysis::tools::{TOOLS, Workbench, schema};

async fn bench() -> (tempfile::TempDir, Workbench) {
    let folder = tempfile::tempdir().unwrap();
    let sales = write(
        folder.path(),
        "sales.csv",
        "day,state,amount\n2021-01-01,AZ,10\n2021-01-02,TX,20\n2021-02-01,AZ,30\n2021-02-02,TX,\n",
    );
    let names = write(folder.path(), "names.csv", "state,name\nAZ,Arizona\nTX,Texas\n");
    let bench = open(&[sales, names]).await.unwrap();
    (folder, bench)
}

async fn transform(bench: &Workbench, steps: Value) -> Vec<Vec<String>> {
    let output = bench
        .call("df.transform", &json!({ "input": "sales", "steps": steps }), "out")
        .await
        .unwrap_or_else(|error| panic!("{steps}: {error}"));
    output
        .frame
        .unwrap()
        .rows
        .iter()
        .map(|row| row.iter().map(steward_analysis::frame::Value::plain).collect())
        .collect()
}

#[tokio::test]
async fn every_tool_has_a_schema() {
    for (tool, purpose) in TOOLS {
        let schema = schema(tool).unwrap_or_else(|| panic!("{tool} has no schema"));
        assert_eq!(schema["type"], "object", "{tool}");
        assert!(purpose.len() > 20);
    }
    assert!(schema("rm.rf").is_none());
}

#[tokio::test]
async fn frames_are_transformed() {
    let (_folder, bench) = bench().await;
    for (steps, expected) in [
        (
            json!([{ "op": "filter", "condition": "amount > 15" }, { "op": "select", "columns": ["state"] }]),
            vec![vec!["TX"], vec!["AZ"]],
        ),
        (
            json!([{ "op": "derive", "name": "double", "expression": "amount * 2" }, { "op": "select", "columns": ["double"] }, { "op": "sort", "by": ["double"], "descending": false }]),
            vec![vec!["20"], vec!["40"], vec!["60"], vec![""]],
        ),
        (
            json!([{ "op": "group", "by": ["state"], "aggregates": [["total", "sum(amount)"]] }, { "op": "sort", "by": ["total"], "descending": true }]),
            vec![vec!["AZ", "40"], vec!["TX", "20"]],
        ),
        (
            json!([{ "op": "join", "with": "names", "on": [["state", "state"]] }, { "op": "group", "by": ["name"], "aggregates": [["n", "count(*)"]] }, { "op": "sort", "by": ["name"] }]),
            vec![vec!["Arizona", "2"], vec!["Texas", "2"]],
        ),
        (
            json!([{ "op": "derive", "name": "month", "expression": "date_part('month', \
                day)" }, { "op": "pivot", "rows": ["month"], "column": "state", "value": "amount" }]),
            vec![vec!["1", "10", "20"], vec!["2", "30", ""]],
        ),
        (
            json!([{ "op": "window", "name": "running", "expression": "sum(amount) OVER (ORDER BY \
                day)" }, { "op": "select", "columns": ["running"] }, { "op": "sort", "by": ["running"] }]),
            vec![vec!["10"], vec!["30"], vec!["60"], vec!["60"]],
        ),
    ] {
        assert_eq!(transform(&bench, steps.clone()).await, expected, "{steps}");
    }
    let sampled = transform(&bench, json!([{ "op": "sample", "rows": 2 }])).await;
    assert_eq!(sampled.len(), 2);
}

#[tokio::test]
async fn expressions_cannot_smuggle() {
    let (_folder, bench) = bench().await;
    for steps in [
        json!([{ "op": "filter", "condition": "1=1); DROP TABLE sales; --" }]),
        json!([{ "op": "derive", "name": "x", "expression": "(SELECT name FROM secret)" }]),
        json!([{ "op": "derive", "name": "x", "expression": "read_file('/etc/passwd')" }]),
    ] {
        let refused = bench
            .call("df.transform", &json!({ "input": "sales", "steps": steps }), "out")
            .await
            .err()
            .unwrap();
        assert!(code(&refused).starts_with("SQL"), "{steps}: {refused}");
    }
    let wrong =
        bench.call("df.transform", &json!({ "input": "nowhere", "steps": [] }), "out").await.err().unwrap();
    assert_eq!(code(&wrong), "ANA009");
    assert!(wrong.to_string().contains("sales"), "{wrong}");
}

#[tokio::test]
async fn a_profile_says_what_is_there() {
    let (_folder, bench) = bench().await;
    let profile =
        bench.call("profiler.analyze", &json!({ "table": "sales" }), "p").await.unwrap().profile.unwrap();
    assert_eq!(profile["rows"], 4);
    let amount =
        profile["columns"].as_array().unwrap().iter().find(|column| column["name"] == "amount").unwrap();
    assert_eq!(amount["empty"], 1);
    assert_eq!(amount["quantiles"]["median"], 20.0);
    assert!(
        profile["quality"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains("amount")),
        "{profile}"
    );
    assert_eq!(profile["joins"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn charts_come_in_three_forms() {
    let (_folder, bench) = bench().await;
    bench
        .call(
            "sql.run",
            &json!({ "sql": "SELECT state, sum(amount) AS total FROM sales GROUP BY state" }),
            "by_state",
        )
        .await
        .unwrap();
    for kind in
        ["bar", "pie", "line", "area", "histogram", "box", "scatter", "grouped_bar", "stacked_bar", "heatmap"]
    {
        let arguments = json!({ "input": "by_state", "kind": kind, "title": "Totals", "x": "state", "y": ["total"], "series": null });
        match bench.call("plot.render", &arguments, "c").await {
            Ok(output) => {
                let drawn = output.drawn.unwrap();
                assert!(drawn.png.starts_with(b"\x89PNG"), "{kind}");
                assert!(drawn.svg.contains("<svg"), "{kind}");
                assert!(drawn.vega_lite["$schema"].as_str().unwrap().contains("vega-lite"), "{kind}");
            }
            // Two totals with text below them have no distribution and no second axis.
            Err(error) => {
                assert_eq!(code(&error), "ANA008", "{kind}: {error}");
                assert!(
                    matches!(kind, "histogram" | "box" | "scatter" | "heatmap"),
                    "{kind} was not drawn: {error}"
                );
            }
        }
    }
    let missing = bench
        .call(
            "plot.render",
            &json!({ "input": "by_state", "kind": "bar", "title": "x", "x": "nothing", "y": ["total"] }),
            "c",
        )
        .await;
    assert_eq!(code(&missing.err().unwrap()), "ANA008");
}

#[tokio::test]
async fn parameters_are_values() {
    let (_folder, bench) = bench().await;
    let arguments = json!({ "sql": "SELECT count(*) FROM sales WHERE state = :state", "parameters": { "state": "AZ' OR '1'='1" } });
    let output = bench.call("sql.run", &arguments, "r").await.unwrap();
    assert_eq!(output.frame.unwrap().cell(0, 0).number(), Some(0.0));
}
