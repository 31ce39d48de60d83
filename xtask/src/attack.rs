//! Repeatable attacks.
//!
//! - `sql` runs generated statements against every engine with canaries in blocked columns.
//! - `stop` is one person who may only ask, and tries to stop the server: time, memory, depth,
//!   output.
//! - `audit` changes a home in more than eighty ways behind Steward's back; the deep audit must find
//!   each.
//! - `approvals` decides one approval from sixteen sides at once, on both stores; exactly one
//!   effect may come of it.
//! - `canary` asks for what is in blocked columns in many ways, then searches everything for it, on
//!   both stores.
//! - `access` and `hostile` are the attacks on identities and on the HTTP door, from outside.

use crate::mariadb::MariaDb;
use crate::postgres::Postgres;
use crate::process::{built, command, root};
use anyhow::{Result, bail};

/// What is attacked.
#[derive(clap::Subcommand)]
pub(crate) enum Attack {
    /// SQL admission, on SQLite, DataFusion, DuckDB, PostgreSQL and MariaDB.
    Sql {
        /// Statements for each engine.
        #[arg(long, default_value_t = 50_000)]
        statements: u64,
        /// The same seed gives the same statements.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only these engines: sqlite, files, duckdb, postgres, mysql.
        #[arg(long, value_delimiter = ',')]
        engines: Vec<String>,
    },
    /// A server, by a person who may only ask: a view that never ends, texts that grow, a Parquet
    /// bomb, depth, SIGTERM.
    Stop {
        /// Milliseconds that /health may take at p99.
        #[arg(long, default_value_t = 100.0)]
        health: f64,
    },
    /// The journal and everything it vouches for.
    Audit,
    /// Approvals: sixteen decisions at once, again and again, on SQLite and PostgreSQL.
    Approvals {
        /// Rounds on each store.
        #[arg(long, default_value_t = 1_000)]
        rounds: u64,
    },
    /// Values of blocked columns: in no answer, error, prompt, file or row, on SQLite and
    /// PostgreSQL. And a PostgreSQL that hangs or is down: /ready says so in time.
    Canary,
    /// Sessions, tokens, keys, grants.
    Access,
    /// Requests, headers, bodies, files that are bombs.
    Hostile,
}

pub(crate) fn run(attack: &Attack) -> Result<()> {
    match attack {
        Attack::Sql { statements, seed, engines } => sql(*statements, *seed, engines),
        Attack::Stop { health } => {
            crate::process::run(&["cargo", "build", "--quiet", "--workspace", "--bins"])?;
            let mut stop = command("python3");
            stop.arg("-B").arg(root().join("xtask/web/stop.py")).arg(built("debug").join("steward"));
            done(stop.arg(health.to_string()).current_dir(root()).status()?)
        }
        Attack::Audit => {
            let mut cargo = command("cargo");
            cargo.args(["test", "--workspace", "--test", "it", "--", "tampering"]).current_dir(root());
            cargo.env("STEWARD_SKIP", "postgres,mysql");
            done(cargo.status()?)
        }
        Attack::Approvals { rounds } => {
            let postgres = Postgres::start()?;
            let mut cargo = command("cargo");
            cargo
                .args(["test", "--workspace", "--test", "it", "--", "approvals::sixteen"])
                .current_dir(root());
            cargo.env("STEWARD_APPROVAL_ROUNDS", rounds.to_string()).env("STEWARD_SKIP", "mysql");
            done(cargo.env("STEWARD_TEST_POSTGRES", &postgres.address).status()?)
        }
        Attack::Canary => {
            crate::process::run(&["cargo", "build", "--quiet", "--workspace", "--bins"])?;
            canary()
        }
        Attack::Access => crate::web::build_and_run(Some("access")),
        Attack::Hostile => crate::web::build_and_run(Some("hostile")),
    }
}

/// Searches what the built program said, wrote and sent; then lets its store hang and go down.
pub(crate) fn canary() -> Result<()> {
    let postgres = Postgres::start()?;
    let mut canary = command("python3");
    canary.arg("-B").arg(root().join("xtask/web/canary.py")).arg(built("debug").join("steward"));
    canary.arg("--postgres").arg(postgres.database("canary")?).arg("--programs").arg(Postgres::programs()?);
    done(canary.current_dir(root()).status()?)?;
    let mut ready = command("python3");
    ready.arg("-B").arg(root().join("xtask/web/ready.py")).arg(built("debug").join("steward"));
    done(ready.arg(postgres.database("ready")?).current_dir(root()).status()?)
}

fn done(status: std::process::ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { bail!("the attack found something, or could not run: {status}") }
}

fn sql(statements: u64, seed: u64, engines: &[String]) -> Result<()> {
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
    match wanted("duckdb") {
        true => drop(cargo.env("STEWARD_DRIVERS", crate::kit::drivers()?)),
        false => skipped.push("drivers"),
    }
    cargo.env("STEWARD_SKIP", skipped.join(","));
    for engine in ["sqlite", "files"] {
        if !wanted(engine) {
            cargo.args(["--skip", &format!("no_canary_leaves_{engine}")]);
        }
    }
    done(cargo.status()?)
}
