//! Data of others for the tests: Delta tables written by `deltalake`, and TPC-H with DuckDB's rows.
//!
//! Both are made once, in the cache folder, and again when what makes them has changed.

use crate::kit;
use crate::process::{cache, command, root};
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that writes the tables, and the one that computes what is expected of them.
const DELTA: &[&str] = &["deltalake==1.6.6", "duckdb==2.0.0", "pyarrow==26.0.1", "pyroaring==1.2.0"];
/// The generator of TPC-H, and the database it is compared with.
const TPCH: &[&str] = &["tpchgen-cli==4.0.0", "duckdb==2.0.0"];

/// The folder of the Delta tables.
pub(crate) fn delta_tables() -> Result<PathBuf> {
    let script = root().join("xtask/lake/delta_tables.py");
    let wanted = format!("{DELTA:?}\n{}", std::fs::read_to_string(&script)?);
    made("delta-tables", &wanted, |folder| {
        let mut python = command(kit::python(DELTA)?);
        succeed(python.arg(&script).arg(folder))
    })
}

/// The Python that has DuckDB and the generator.
pub(crate) fn tpch_python() -> Result<PathBuf> {
    kit::python(TPCH)
}

/// The folder of TPC-H at a scale: `data/*.parquet`, and `expected.jsonl` with DuckDB's rows.
pub(crate) fn tpch(scale: &str) -> Result<PathBuf> {
    let bench = root().join("bench/tpch");
    let queries = bench.join("queries");
    let mut wanted = format!("{TPCH:?}\n{}", std::fs::read_to_string(bench.join("expected.py"))?);
    let mut texts: Vec<PathBuf> =
        std::fs::read_dir(&queries)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    texts.sort();
    for text in texts {
        wanted += &std::fs::read_to_string(text)?;
    }
    made(&format!("tpch-{scale}"), &wanted, |folder| {
        let python = tpch_python()?;
        let data = folder.join("data");
        let mut generator = command(python.with_file_name("tpchgen-cli"));
        succeed(generator.args(["parquet", "-s", scale]).arg(format!("--output-dir={}", data.display())))?;
        std::fs::write(folder.join("expected.jsonl"), duckdb(&python, &data, 1024)?)?;
        Ok(())
    })
}

/// The rows and times of DuckDB, a line for each query.
pub(crate) fn duckdb(python: &Path, data: &Path, megabytes: usize) -> Result<Vec<u8>> {
    let bench = root().join("bench/tpch");
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut line = command(python);
    line.arg(bench.join("expected.py")).arg(data).arg(bench.join("queries"));
    let output = line.args([threads.to_string(), megabytes.to_string()]).output()?;
    ensure!(output.status.success(), "DuckDB: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

/// A folder of the cache, made again unless it was made from the same.
fn made(name: &str, wanted: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let folder = cache()?.join(name);
    let stamp = cache()?.join(format!("{name}.made"));
    if std::fs::read_to_string(&stamp).is_ok_and(|before| before == wanted) {
        return Ok(folder);
    }
    eprintln!("making {name}");
    let _made_before = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    make(&folder)?;
    std::fs::write(stamp, wanted)?;
    Ok(folder)
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
