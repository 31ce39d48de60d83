//! Every test, with the services they need.

use crate::mariadb::MariaDb;
use crate::postgres::Postgres;
use crate::process::{command, root};
use crate::{kit, mcp, web};
use anyhow::{Result, bail};

pub(crate) fn run(names: &[String], all: bool) -> Result<()> {
    // It downloads a gigabyte, so it is run only when it alone is asked for.
    if let [name] = names
        && name == "live-model"
    {
        return crate::live_model::test();
    }
    // It installs the clients of others, some of them large.
    if let [name] = names
        && name == "clients"
    {
        return web::clients();
    }
    // `mcp` and `web` are no crates: they stand for what others say about our side of those
    // protocols. `web:PART` is one part.
    let foreign = |name: &&String| **name == "mcp" || name.split(':').next() == Some("web");
    let (others, crates): (Vec<&String>, Vec<&String>) = names.iter().partition(foreign);
    if !names.is_empty() && crates.is_empty() {
        return beside(&others, all);
    }
    if names.is_empty() {
        crate::check::run()?;
    }
    let kit = kit::folder()?;
    cargo_test(&crates, &kit)?;
    beside(&others, all)?;
    if names.is_empty() {
        mcp::test(&kit, all)?;
        web::test(&kit, None)?;
        crate::attack::canary()?;
        crate::process::run(&["python3", "-m", "unittest", "discover", "-s", "examples/apps"])?;
        // In a process of its own: this one's program may have been built anew under it.
        crate::process::run(&["cargo", "xtask", "crash", "--kills", "20", "--rounds", "2"])?;
    }
    Ok(())
}

/// What others say.
fn beside(names: &[&String], all: bool) -> Result<()> {
    for name in names {
        match name.split_once(':') {
            Some((_, part)) => web::build_and_run(Some(part))?,
            None if *name == "web" => web::build_and_run(None)?,
            None => mcp::build_and_run(all)?,
        }
    }
    Ok(())
}

fn cargo_test(crates: &[&String], kit: &std::path::Path) -> Result<()> {
    let postgres = Postgres::start()?;
    let mariadb = MariaDb::start()?;
    let mut cargo = command("cargo");
    cargo
        .args(["test", "--no-fail-fast"])
        .current_dir(root())
        .env("STEWARD_TEST_POSTGRES", &postgres.address);
    match &mariadb {
        Some(mariadb) => cargo.env("STEWARD_TEST_MYSQL", &mariadb.address),
        None => cargo.env("STEWARD_SKIP", "mysql"),
    };
    let (node, emulator) = (kit.join("node/bin/node"), kit::node_program(kit, "emulate", "dist/index.js")?);
    cargo.env("STEWARD_MCP_KIT", kit);
    cargo.env("STEWARD_DRIVERS", kit::drivers()?);
    let tables = crate::lake::delta_tables()?;
    let clouds = crate::bucket::Clouds::start(&tables)?;
    clouds.tell(&mut cargo);
    cargo.env("STEWARD_TEST_DELTA", tables);
    cargo.env("STEWARD_TEST_TPCH", crate::lake::tpch("0.01")?);
    let buckets = crate::bucket::Buckets::start()?;
    buckets.tell(&mut cargo);
    cargo.env("STEWARD_SLACK_EMULATOR", format!("{} {}", node.display(), emulator.display()));
    if crates.is_empty() {
        cargo.arg("--workspace");
    }
    for name in crates {
        let package = if ["steward", "xtask"].contains(&name.as_str()) {
            (*name).clone()
        } else {
            format!("steward-{name}")
        };
        cargo.args(["--package", &package]);
    }
    let status = cargo.status()?;
    drop((postgres, mariadb, buckets, clouds));
    if !status.success() {
        bail!("some tests failed");
    }
    Ok(())
}
