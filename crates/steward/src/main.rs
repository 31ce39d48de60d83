//! `steward`: the command line. It contains only configuration and wiring.

mod commands;
mod config;
mod connections;
mod error;
mod home;
mod isolation;
mod leftovers;
mod output;
mod references;
mod remote_data;
mod toolbox;
mod witness;

use clap::{CommandFactory, Parser};
use commands::Cli;
use error::Failure;
use std::process::ExitCode;
use std::time::Duration;
use steward_telemetry::Metrics;

/// How long threads may take to end at shutdown.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// Entries are allocated on one thread and freed on another, which this allocator handles well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else and before any thread: a sandboxed child becomes another program here.
    if std::env::args_os().nth(1).is_some_and(|first| first == steward_tools::sandbox::COMMAND) {
        let error = steward_tools::sandbox::confine_and_exec(std::env::args_os().skip(2));
        eprintln!("{error}");
        return ExitCode::from(126);
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == isolation::COMMAND) {
        return isolation::run(std::env::args_os().nth(2).as_deref());
    }
    if let Ok(program) = std::env::current_exe() {
        steward_tools::sandbox::leash(program);
    }
    // All files that are written are private to their owner.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let cli = Cli::parse();
    let json = cli.global.json;
    let metrics = cli.command.wants_metrics();
    let ended = observed(metrics, |metrics| run(cli, metrics));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(json);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Runs it with telemetry, if the environment enables it.
fn observed(metrics: bool, work: impl FnOnce(Option<Metrics>) -> Result<(), Failure>) -> Result<(), Failure> {
    let options = steward_telemetry::Options { metrics, ..steward_telemetry::Options::from_env()? };
    let within = options.flush_within;
    let telemetry = steward_telemetry::start(&options)?;
    steward_models::trace_context_from(steward_telemetry::traceparent);
    let ended = work(telemetry.metrics());
    let delivered = telemetry.shutdown(within);
    if delivered.failed + delivered.dropped > 0 {
        eprintln!(
            "{} of the spans of this run did not reach the receiver",
            delivered.failed + delivered.dropped
        );
    }
    ended
}

fn run(cli: Cli, metrics: Option<Metrics>) -> Result<(), Failure> {
    if let commands::Command::Completions { shell } = cli.command {
        clap_complete::generate(shell, &mut Cli::command(), "steward", &mut std::io::stdout());
        return Ok(());
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::unexpected)?;
    let ended = runtime.block_on(commands::run(cli, metrics));
    // A thread that is still computing cannot be stopped. Its results are not needed; do not wait
    // for it.
    runtime.shutdown_timeout(STRAGGLERS);
    ended
}
