//! Connections, and databases that need a driver library, through the program.

use crate::Bench;
use adbc_core::options::{AdbcVersion, OptionDatabase, OptionValue};
use adbc_core::{Connection as _, Database as _, Driver as _, Statement as _};
use adbc_driver_manager::ManagedDriver;
use std::path::Path;

/// A driver that exits the process as soon as it is loaded.
const CRASHING: &str = "#include <stdlib.h>\nint AdbcDriverInit(int v, void* d, void* e) { abort(); }\n";

/// The drivers, unless they are skipped by name.
fn drivers() -> Option<String> {
    let drivers = std::env::var("STEWARD_DRIVERS").ok();
    let skipped = std::env::var("STEWARD_SKIP").unwrap_or_default().split(',').any(|name| name == "drivers");
    assert!(
        drivers.is_some() || skipped,
        "STEWARD_DRIVERS is not set: use `./test`, or STEWARD_SKIP=drivers"
    );
    drivers
}

#[test]
fn a_driver_that_crashes_ends_its_session_and_nothing_else() {
    let bench = Bench::new();
    bench.ok("init");
    let (source, library) = (bench.path("crash.c"), bench.path("libcrash.so"));
    std::fs::write(&source, CRASHING).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the compiler makes the library that crashes")]
    let mut compiler = std::process::Command::new("cc");
    let made = compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status().unwrap();
    assert!(made.success());
    let address = format!("adbc://{}", library.display());
    let asked = bench.run_with(&["ask", "how many rows", "--data", &address]);
    assert_ne!(asked.code, 0);
    assert!(asked.err.contains("ANA015"), "{}{}", asked.out, asked.err);
    // The program itself ended normally: its work is recorded, and it can be used again.
    bench.ok("audit verify");
}

/// Makes a DuckDB file.
fn make(library: &Path, path: &Path) {
    let entrypoint: Option<&[u8]> = Some(b"duckdb_adbc_init");
    let mut driver =
        ManagedDriver::load_dynamic_from_filename(library, entrypoint, AdbcVersion::V110).unwrap();
    let path = OptionValue::String(path.display().to_string());
    let database = driver.new_database_with_opts([(OptionDatabase::Other("path".to_owned()), path)]).unwrap();
    let mut connection = database.new_connection().unwrap();
    for sql in [
        "CREATE TABLE sales (id INT, state VARCHAR, amount DOUBLE)",
        "INSERT INTO sales VALUES (1, 'Arizona', 5), (2, 'Texas', 7.5), (3, 'Texas', 1)",
    ] {
        let mut statement = connection.new_statement().unwrap();
        statement.set_sql_query(sql).unwrap();
        statement.execute().unwrap().for_each(drop);
    }
}

#[test]
fn a_source_is_connected_under_a_name() {
    let bench = Bench::new();
    bench.ok("init");
    std::fs::write(bench.path("sales.csv"), "state,amount\nTexas,7\nOhio,5\n").unwrap();
    let said = bench.ok("connect sales.csv --as shop --domain shop");
    assert!(said.contains("connection:shop"), "{said}");
    let asked = bench.run_with(&["ask", "total amount", "--data", "connection:shop"]);
    assert!(asked.code == 0 && asked.out.contains("12"), "{}{}", asked.out, asked.err);
    bench.ok("config check");
    let domains = std::fs::read_to_string(bench.home().join("config/domains.yaml")).unwrap();
    assert!(domains.contains("connection:shop"), "{domains}");
    assert!(bench.ok("connect --list").contains("sales.csv"));
    bench.fails("connect sales.csv --as shop", 2, "CLI004");
    bench.fails("ask x --data connection:nothing", 2, "ANA003");
    // A failed attempt leaves nothing behind: no connection, and no password.
    let refused = bench.run_with(&["connect", "postgres://ana:hunter2@127.0.0.1:1/shop", "--as", "far"]);
    assert!(refused.code != 0 && refused.err.contains("DBS002"), "{}", refused.err);
    assert!(!format!("{}{}", refused.out, refused.err).contains("hunter2"), "{}", refused.err);
    assert_eq!(std::fs::read_dir(bench.home().join("secrets")).unwrap().count(), 0);
    assert!(!std::fs::read_to_string(bench.home().join("config/steward.yaml")).unwrap().contains("far"));
}

#[test]
fn a_duckdb_file_is_asked_with_the_driver_of_the_home() {
    let Some(drivers) = drivers() else { return };
    let bench = Bench::new();
    bench.ok("init");
    let data = bench.path("shop.duckdb");
    let library = Path::new(&drivers).join("libduckdb.so");
    make(&library, &data);
    let link = bench.home().join("drivers");
    std::fs::create_dir_all(&link).unwrap();
    std::os::unix::fs::symlink(&library, link.join("libduckdb.so")).unwrap();
    let asked = bench.run_with(&["ask", "total amount by state", "--data", &data.display().to_string()]);
    assert_eq!(asked.code, 0, "{}{}", asked.out, asked.err);
    assert!(asked.out.contains("Texas") && asked.out.contains("8.5"), "{}", asked.out);
}
