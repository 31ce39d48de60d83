//! The 22 queries of TPC-H through admission, beside DuckDB and plain DataFusion on the same files, and
//! pushed down to PostgreSQL. Rows must be the same; times are those of the queries alone.

use super::line;
use crate::lake;
use crate::postgres::Postgres;
use crate::process::{built, command, root, run_quietly};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

/// How much.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The scale of the Parquet files.
    #[arg(long, default_value = "1")]
    scale: String,
    /// The scale in PostgreSQL; 0 leaves it out.
    #[arg(long, default_value = "0.1")]
    postgres_scale: String,
    /// Memory of each engine in MB.
    #[arg(long, default_value_t = 1024)]
    memory_mb: usize,
}

/// One query of one engine.
struct Ran {
    seconds: f64,
    rows: Option<Vec<Vec<Value>>>,
}

type Times = BTreeMap<String, Ran>;

pub(crate) fn run(options: &Options) -> Result<()> {
    run_quietly(&[
        "cargo",
        "build",
        "--quiet",
        "--profile",
        "bench",
        "--package",
        "steward-analysis",
        "--example",
        "tpch",
    ])?;
    let program = built("release").join("examples/tpch");
    let data = lake::tpch(&options.scale)?.join("data");
    let theirs = parse(&lake::duckdb(&lake::tpch_python()?, &data, options.memory_mb)?)?;
    let ours = engine(&program, "steward", &data.display().to_string(), options.memory_mb)?;
    let plain = engine(&program, "plain", &data.display().to_string(), options.memory_mb)?;
    println!("scale {}: seconds in steward, plain DataFusion, DuckDB", options.scale);
    compare(&ours, &theirs, Some(&plain))?;
    if options.postgres_scale == "0" {
        return Ok(());
    }
    let small = lake::tpch(&options.postgres_scale)?;
    let theirs = parse(&std::fs::read(small.join("expected.jsonl"))?)?;
    let postgres = Postgres::start()?;
    let address = postgres.database("tpch")?;
    load(&address, &small.join("data"))?;
    let ours = engine(&program, "steward", &address, options.memory_mb)?;
    println!("scale {} in PostgreSQL: seconds in steward, DuckDB on the files", options.postgres_scale);
    compare(&ours, &theirs, None)
}

fn engine(program: &Path, mode: &str, source: &str, megabytes: usize) -> Result<Times> {
    let mut line = command(program);
    line.arg(mode).arg(source).arg(root().join("bench/tpch/queries")).arg(megabytes.to_string());
    let output = line.output()?;
    ensure!(output.status.success(), "{mode}: {}", String::from_utf8_lossy(&output.stderr));
    parse(&output.stdout)
}

fn parse(lines: &[u8]) -> Result<Times> {
    let text = std::str::from_utf8(lines)?;
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line)?;
            let text = |name: &str| line.get(name).and_then(Value::as_str);
            let name = text("query").context("a line without a query")?.to_owned();
            if let Some(error) = text("error") {
                bail!("{name}: {error}");
            }
            let rows = line.get("rows").filter(|rows| !rows.is_null());
            let rows = rows.map(|rows| serde_json::from_value(rows.clone())).transpose()?;
            let seconds = line.get("seconds").and_then(Value::as_f64).unwrap_or_default();
            Ok((name, Ran { seconds, rows }))
        })
        .collect()
}

fn compare(ours: &Times, theirs: &Times, plain: Option<&Times>) -> Result<()> {
    ensure!(theirs.len() == 22, "{} queries", theirs.len());
    let mut same = 0;
    let (mut mine, mut plainly, mut duck) = (0.0, 0.0, 0.0);
    for (name, their) in theirs {
        let our = ours.get(name).with_context(|| format!("{name} did not run"))?;
        let equal = our.rows.as_ref().zip(their.rows.as_ref()).is_some_and(|(a, b)| is_same(a, b));
        same += usize::from(equal);
        let alone = plain.and_then(|plain| plain.get(name)).map(|ran| ran.seconds);
        let middle = alone.map(|seconds| format!("{seconds:>8.3}")).unwrap_or_default();
        let said = if equal { "same rows" } else { "OTHER ROWS" };
        println!("  {name} {:>8.3}{middle} {:>8.3}  {said}", our.seconds, their.seconds);
        (mine, plainly, duck) = (mine + our.seconds, plainly + alone.unwrap_or(0.0), duck + their.seconds);
    }
    line("  queries with the rows of DuckDB", &format!("{same} of 22"), "22", same == 22);
    println!("  all: steward {mine:.2} s, DuckDB {duck:.2} s ({:.2}x)", mine / duck);
    if plain.is_some() {
        println!("  all: plain DataFusion {plainly:.2} s ({:.2}x)", mine / plainly);
    }
    ensure!(same == 22, "some rows differ");
    Ok(())
}

fn is_same(ours: &[Vec<Value>], theirs: &[Vec<Value>]) -> bool {
    let cell = |(a, b): (&Value, &Value)| match (a.as_f64(), b.as_f64()) {
        // An average of decimals has six digits after the point.
        (Some(a), Some(b)) => (a - b).abs() <= (1e-9 * a.abs()).max(1e-6),
        _ => a == b,
    };
    let row = |(a, b): (&Vec<Value>, &Vec<Value>)| a.len() == b.len() && a.iter().zip(b).all(cell);
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(row)
}

/// Copies the tables into PostgreSQL: DuckDB writes CSV, `psql` takes it.
fn load(address: &str, data: &Path) -> Result<()> {
    let python = lake::tpch_python()?;
    for table in ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"] {
        let file = data.join(format!("{table}.parquet"));
        let mut duckdb = command(&python);
        duckdb.arg(root().join("bench/tpch/copy_table.py")).arg(table).arg(&file).stdout(Stdio::piped());
        let mut written = duckdb.spawn()?;
        let rows = written.stdout.take().context("DuckDB writes nothing")?;
        let mut psql = command(Postgres::programs()?.join("psql"));
        psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-d", address]).stdin(rows).stdout(Stdio::null());
        ensure!(psql.status()?.success() && written.wait()?.success(), "{table} could not be copied");
    }
    Ok(())
}
