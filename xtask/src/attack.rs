//! Repeatable attacks. `cargo xtask attack sql` runs generated statements against every engine with canaries in blocked columns.

use crate::mariadb::MariaDb;
use crate::postgres::Postgres;
use crate::process::{command, root};
use anyhow::{Result, bail};

/// What is attacked.
#[derive(clap::Subcommand)]
pub(crate) enum Attack {
    /// SQL admission, on SQLite, DataFusion, PostgreSQL and MariaDB.
    Sql {
        /// Statements for each engine.
        #[arg(long, default_value_t = 50_000)]
        statements: u64,
        /// The same seed gives the same statements.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only these engines: sqlite, files, postgres, mysql.
        #[arg(long, value_delimiter = ',')]
        engines: Vec<String>,
    },
}

pub(crate) fn run(attack: &Attack) -> Result<()> {
    let Attack::Sql { statements, seed, engines } = attack;
    let wanted = |engine: &str| engines.is_empty() || engines.iter().any(|named| named == engine);
    let mut cargo = command("cargo");
    cargo.args(["test", "--workspace", "--test", "it", "--", "attack::", "--nocapture"]).current_dir(root());
    cargo.env("STEWARD_ATTACK_STATEMENTS", statements.to_string());
    cargo.env("STEWARD_ATTACK_SEED", seed.to_string());
    let postgres = if wanted("postgres") { Some(Postgres::start()?) } else { None };
    let mariadb = if wanted("mysql") { MariaDb::start()? } else { None };
    let mut skipped = Vec::new();
    match &postgres {
        Some(server) => drop(cargo.env("STEWARD_TEST_POSTGRES", &server.address)),
        None => skipped.push("postgres"),
    }
    match &mariadb {
        Some(server) => drop(cargo.env("STEWARD_TEST_MYSQL", &server.address)),
        None => skipped.push("mysql"),
    }
    cargo.env("STEWARD_SKIP", skipped.join(","));
    for engine in ["sqlite", "files"] {
        if !wanted(engine) {
            cargo.args(["--skip", &format!("no_canary_leaves_{engine}")]);
        }
    }
    let status = cargo.status()?;
    if status.success() { Ok(()) } else { bail!("the attack found something, or could not run: {status}") }
}
