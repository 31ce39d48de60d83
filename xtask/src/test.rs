//! Every test, with the services they need.

use crate::mariadb::MariaDb;
use crate::postgres::Postgres;
use crate::process::{command, root};
use anyhow::{Result, bail};

pub(crate) fn run(crates: &[String]) -> Result<()> {
    if crates.is_empty() {
        crate::check::run()?;
    }
    let postgres = Postgres::start()?;
    let mariadb = MariaDb::start()?;
    let mut cargo = command("cargo");
    cargo.arg("test").current_dir(root()).env("STEWARD_TEST_POSTGRES", &postgres.address);
    match &mariadb {
        Some(mariadb) => cargo.env("STEWARD_TEST_MYSQL", &mariadb.address),
        None => cargo.env("STEWARD_SKIP", "mysql"),
    };
    if crates.is_empty() {
        cargo.arg("--workspace");
    }
    for name in crates {
        let package = if ["steward", "xtask"].contains(&name.as_str()) {
            name.clone()
        } else {
            format!("steward-{name}")
        };
        cargo.args(["--package", &package]);
    }
    let status = cargo.status()?;
    drop((postgres, mariadb));
    if !status.success() {
        bail!("some tests failed");
    }
    if crates.is_empty() {
        // In a process of its own: this one's program may have been built anew under it.
        crate::process::run(&["cargo", "xtask", "crash", "--kills", "20"])?;
    }
    Ok(())
}
