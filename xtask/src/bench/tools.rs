//! Tools: how quickly one is chosen among many, what our checks add to a call, and how many calls
//! the gateway carries beside a FastMCP server that does the same.
//!
//! Ours is the program as people run it: each call goes through the schema, policy, limits and the
//! journal on disk. Theirs does none of that. Both as gateways hand the same calls on to the same
//! server over pipes; as servers, theirs adds two numbers and ours calls a tool that does as
//! little. One load client measures both, in turns.

use super::line;
use crate::kit;
use crate::mcp::listening;
use crate::process::{self, Group, between, built, command, root, within};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

const FASTMCP: &str = "fastmcp==4.1.2";
const LIMIT: Duration = Duration::from_secs(300);

/// How much.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Tools to choose among.
    #[arg(long, default_value_t = 10_000)]
    tools: usize,
    /// Calls of each round.
    #[arg(long, default_value_t = 4_000)]
    calls: usize,
    /// Rounds; the middle ratio counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// A folder with programs that were built before, instead of building them.
    #[arg(long)]
    built: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let overhead = root().join("crates/runtime/examples/call_overhead.rs").exists();
    let programs = match &options.built {
        Some(folder) => folder.clone(),
        None => build(overhead)?,
    };
    let examples = programs.join("examples");
    selection(&examples.join("select_bench"), options.tools)?;
    if overhead {
        overheads(&examples.join("call_overhead"), &examples.join("mcp_stdio_server"))?;
    } else {
        println!("overhead of a call: not measured, there is no crates/runtime/examples/call_overhead.rs");
    }
    let (steward, load) = (programs.join("steward"), examples.join("mcp_load"));
    gateway(options, &steward, &load, &examples.join("mcp_stdio_server"))?;
    server(options, &steward, &load)
}

fn build(overhead: bool) -> Result<PathBuf> {
    let mut line = vec!["cargo", "build", "--quiet", "--profile", "bench", "--workspace", "--bin", "steward"];
    line.extend(["--example", "select_bench", "--example", "mcp_load"]);
    if overhead {
        line.extend(["--example", "call_overhead", "--example", "mcp_stdio_server"]);
    }
    process::run(&line)?;
    Ok(built("release"))
}

fn selection(program: &Path, tools: usize) -> Result<()> {
    let outcome = within(LIMIT, command(program).arg(tools.to_string()))?;
    ensure!(outcome.status.success(), "select_bench: {}", outcome.stderr);
    for (what, goal) in [("beside the encoder", 2.0), ("with the encoder", 15.0)] {
        let found = outcome.stdout.lines().find(|line| line.starts_with(what));
        let found = found.with_context(|| format!("select_bench says nothing about {what}"))?;
        let p99 = found.split_once("p99 ").and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
        let p99 = p99.with_context(|| format!("{found:?} has no p99"))?;
        let name = format!("choosing among {tools} tools {what}, p99");
        line(&name, &format!("{p99:.2} ms"), &format!("< {goal} ms"), p99 < goal);
    }
    Ok(())
}

fn overheads(program: &Path, server: &Path) -> Result<()> {
    let outcome = within(LIMIT, command(program).arg(server))?;
    ensure!(outcome.status.success(), "call_overhead: {}", outcome.stderr);
    let told: Value = serde_json::from_str(&outcome.stdout).context("call_overhead printed no JSON")?;
    let at = |name: &str| {
        told.get(name).and_then(Value::as_f64).with_context(|| format!("call_overhead says no {name}"))
    };
    let (bare, gateway) =
        ((at("bare_p50_us")?, at("bare_p99_us")?), (at("gateway_p50_us")?, at("gateway_p99_us")?));
    println!(
        "a bare call: p50 {:.0} µs, p99 {:.0} µs; through the gateway: {:.0} µs, {:.0} µs",
        bare.0, bare.1, gateway.0, gateway.1
    );
    println!("our overhead per call, p50: {:.0} µs", at("overhead_p50_us")?);
    let p99 = at("overhead_p99_us")?;
    line("our overhead per call, p99", &format!("{p99:.0} µs"), "< 1 ms", p99 < 1000.0);
    Ok(())
}

/// What the load client says.
struct Rate {
    per_second: f64,
    times: String,
}

/// Ours and theirs as gateways to one server behind them, in turns, with one client and with eight.
fn gateway(options: &Options, steward: &Path, load: &Path, behind: &Path) -> Result<()> {
    let python = kit::python(&[FASTMCP])?;
    let folder = tempfile::tempdir_in(root())?;
    let config = folder.path().join("config");
    std::fs::create_dir_all(&config)?;
    let server = serde_json::json!({ "servers": [{
        "name": "sums", "application_domain": "sums", "category": "sums", "transport": "stdio", "timeout_seconds": 30,
        "config": { "command": behind, "args": [] },
    }] });
    std::fs::write(config.join("mcp_servers.yaml"), server.to_string())?;
    // What an MCP client hands in is nobody's word, and would wait for a person; adding two numbers
    // may go on.
    let tools = serde_json::json!({ "categories": { "sums": { "tools": {
        "sums.add": { "approval": "never", "idempotency": "read_only" },
    } } } });
    std::fs::write(config.join("tools.yaml"), tools.to_string())?;
    // It is known once it was looked at.
    let looked =
        within(LIMIT, command(steward).args(["mcp-servers", "test", "sums", "--home"]).arg(folder.path()))?;
    ensure!(looked.status.success(), "mcp-servers test: {}", looked.stderr);
    let mut ours = command(steward);
    ours.args(["mcp", "--port", "0", "--expose", "sums.add", "--home"]).arg(folder.path());
    let mut ours = Group::start(&mut ours)?;
    let url = ours.wait_for(LIMIT, listening)?;
    let our_target = url.trim_start_matches("http://").to_owned();
    let script = root().join("bench/peers/fastmcp_gateway.py");
    let log = folder.path().join("fastmcp.db");
    // As it is, which writes nothing down; and doing the same, with each call on disk before its
    // answer is given.
    for (which, log) in [("FastMCP", None), ("FastMCP with a log", Some(&log))] {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut theirs = command(&python);
        theirs.arg(&script).arg(port.to_string()).arg(behind);
        if let Some(log) = log {
            theirs.env("FASTMCP_LOG", log);
        }
        let theirs = Group::start(&mut theirs)?;
        answers(port)?;
        let their_target = format!("127.0.0.1:{port}/mcp");
        for clients in [1, 8] {
            let counts = [clients.to_string(), options.calls.to_string()];
            let http = |mut load: Command, target: &str| rate(load.args(["http", target]).args(&counts));
            let named = |name: &str| {
                let mut load = command(load);
                load.env("MCP_LOAD_TOOL", name);
                load
            };
            let race = Race { how: "gateway over HTTP", which, clients, rounds: options.rounds };
            race.run(|| http(named("sums.add"), &our_target), || http(named("add"), &their_target))?;
        }
        drop(theirs);
    }
    drop(ours);
    Ok(())
}

/// Ours and theirs as servers of their own tools, in turns, over HTTP and over pipes, with one call
/// under way and with eight.
fn server(options: &Options, steward: &Path, load: &Path) -> Result<()> {
    let python = kit::python(&[FASTMCP])?;
    let script = root().join("bench/peers/fastmcp_server.py");
    let folder = tempfile::tempdir_in(root())?;
    let mut ours = command(steward);
    ours.args(["mcp", "--port", "0", "--expose", "math.eval", "--home"]).arg(folder.path().join("http"));
    let mut ours = Group::start(&mut ours)?;
    let url = ours.wait_for(LIMIT, listening)?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let theirs = Group::start(command(&python).arg(&script).args(["http", &port.to_string()]))?;
    answers(port)?;
    let (our_target, their_target) =
        (url.trim_start_matches("http://").to_owned(), format!("127.0.0.1:{port}/mcp"));
    for clients in [1, 8] {
        let counts = [clients.to_string(), options.calls.to_string()];
        let http = |mut load: Command, target: &str| rate(load.args(["http", target]).args(&counts));
        let race = Race { how: "server over HTTP", which: "FastMCP", clients, rounds: options.rounds };
        race.run(|| http(our_load(load), &our_target), || http(command(load), &their_target))?;
    }
    drop((ours, theirs));
    for clients in [1, 8] {
        let counts = [clients.to_string(), options.calls.to_string()];
        let pipes = |mut load: Command, server: &mut Command| piped(load.arg("stdio").args(&counts), server);
        let race = Race { how: "server over pipes", which: "FastMCP", clients, rounds: options.rounds };
        race.run(
            || {
                let mut server = command(steward);
                server.args(["mcp", "--expose", "math.eval", "--home"]).arg(folder.path().join("pipes"));
                pipes(our_load(load), &mut server)
            },
            || pipes(command(load), command(&python).arg(&script)),
        )?;
    }
    Ok(())
}

/// The load client on a tool of ours that does as little as adding two numbers.
fn our_load(load: &Path) -> Command {
    let mut load = command(load);
    load.env("MCP_LOAD_TOOL", "math.eval").env("MCP_LOAD_ARGUMENTS", r#"{"expression": "1+2"}"#);
    load
}

/// Ours and theirs, in turns.
struct Race<'a> {
    how: &'a str,
    which: &'a str,
    /// Callers, or calls at once.
    clients: usize,
    rounds: usize,
}

impl Race<'_> {
    fn run(&self, ours: impl Fn() -> Result<Rate>, theirs: impl Fn() -> Result<Rate>) -> Result<()> {
        let Self { how, which, clients, rounds } = self;
        let mut all = Vec::new();
        for _ in 0..(*rounds).max(1) {
            let (theirs, ours) = (theirs()?, ours()?);
            all.push((ours.per_second / theirs.per_second, ours, theirs));
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio, ours, theirs) = all.get(all.len() / 2).context("no round was run")?;
        println!("{how}, {clients} at once: steward {:.0} calls/s, {}", ours.per_second, ours.times);
        println!("{how}, {clients} at once: {which} {:.0} calls/s, {}", theirs.per_second, theirs.times);
        if *clients > 1 {
            let name = format!("{how}, {clients} at once, times {which}");
            line(&name, &format!("{ratio:.1}x"), ">= 5x", *ratio >= 5.0);
        } else {
            // One caller alone waits for each answer: that is how long a call takes, and not how
            // many are carried.
            println!("{how}, one at a time: {ratio:.1}x as quick as {which}");
        }
        Ok(())
    }
}

/// `4000 calls, 5123 per second, p50 180µs, p99 1.2ms`, as the load client prints it.
fn told((status, printed): (ExitStatus, String)) -> Result<Rate> {
    ensure!(status.success(), "the load client: {printed}");
    let (_, rest) = printed.split_once(" calls, ").with_context(|| format!("no rate in {printed:?}"))?;
    let (rate, times) = rest.split_once(" per second, ").context("no rate")?;
    Ok(Rate { per_second: rate.parse()?, times: times.trim().to_owned() })
}

fn rate(load: &mut Command) -> Result<Rate> {
    told(within(LIMIT, load).map(|outcome| (outcome.status, outcome.stderr))?)
}

/// The load client and a server, each reading what the other writes.
fn piped(load: &mut Command, server: &mut Command) -> Result<Rate> {
    let (server, input, output) = Group::piped(server)?;
    let rate = told(between(LIMIT, load.stdin(output).stdout(input))?);
    drop(server);
    rate
}

/// Waits until somebody listens.
fn answers(port: u16) -> Result<()> {
    let listens = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    let came = (0..600).any(|_| {
        listens() || {
            std::thread::sleep(Duration::from_millis(100));
            false
        }
    });
    ensure!(came, "the FastMCP server did not listen within a minute");
    Ok(())
}
