//! The project's own chores. `cargo xtask --help` lists them.

mod attack;
mod bench;
mod bucket;
mod check;
mod crash;
mod eval;
mod fuzz;
mod kit;
mod lake;
mod live_model;
mod mariadb;
mod mcp;
mod postgres;
mod process;
mod test;
mod web;

use clap::{Parser, Subcommand};

/// Chores of the Steward repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Formatting, lints, tidy tests: everything that reads the code without running it.
    Check,
    /// All of the above and every test, with the services they need. `./test` calls this.
    Test {
        /// Only the tests of these crates (`store`, `journal`, …); `mcp` is the official suite and
        /// inspector against ours, `web` the server and its page from outside, `live-model` a real
        /// language model (1 GB to download, never among the others).
        crates: Vec<String>,
        /// With `mcp`: also what takes minutes, such as every revision of the protocol by itself.
        #[arg(long)]
        all: bool,
    },
    /// Attacks the product the way an adversary would, again and again, and fails when something
    /// gives.
    #[command(subcommand)]
    Attack(attack::Attack),
    /// Measures and prints the command's figures beside their goals.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Kills a writing process again and again, and checks that nothing acknowledged is lost.
    Crash(crash::Crash),
    /// Looks through a folder of public data sets and says what can be evaluated on them.
    Eval(eval::Eval),
    /// Fuzzes the parsers and verifiers with cargo-fuzz on the nightly toolchain.
    Fuzz(fuzz::Fuzz),
    /// Runs a command with a throw-away PostgreSQL (and pgvector) on a free loopback port.
    Services {
        /// The command; STEWARD_TEST_POSTGRES tells it where the server is. Without one, it waits
        /// for Enter.
        #[arg(last = true)]
        command: Vec<String>,
    },
    #[command(hide = true)]
    CrashWriter(crash::Writer),
}

fn main() -> std::process::ExitCode {
    match run(Cli::parse().chore) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<()> {
    match chore {
        Chore::Check => check::run(),
        Chore::Test { crates, all } => test::run(&crates, all),
        Chore::Attack(attack) => attack::run(&attack),
        Chore::Bench(bench) => bench::run(&bench),
        Chore::Crash(crash) => crash::run(&crash),
        Chore::Eval(eval) => eval::run(&eval),
        Chore::Fuzz(fuzz) => fuzz::run(&fuzz),
        Chore::Services { command } => postgres::services(&command),
        Chore::CrashWriter(writer) => crash::write(&writer),
    }
}
