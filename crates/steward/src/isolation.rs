//! Processes that hold data: this program itself under another name, started by the one door to child processes.

use std::process::ExitCode;
use std::sync::Arc;
use steward_analysis::isolation::{self, Launched, Launcher};
use steward_tools::process::{Spec, start};

/// The first word of such a process; the second is its memory in bytes.
pub(crate) const COMMAND: &str = "hold-data";

/// From now on sessions are opened in processes of their own.
pub(crate) fn install(memory: usize) {
    let Ok(program) = std::env::current_exe() else { return };
    isolation::install(Arc::new(Own { program: program.display().to_string(), memory }), memory);
}

struct Own {
    program: String,
    memory: usize,
}

impl Launcher for Own {
    fn launch(&self) -> std::io::Result<Launched> {
        let args = vec![COMMAND.to_owned(), self.memory.to_string()];
        let spec = Spec { program: self.program.clone(), args, ..Spec::default() };
        let mut running = start(&spec).map_err(std::io::Error::other)?;
        let (Some(input), Some(output)) = (running.stdin.take(), running.stdout.take()) else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        // Nobody reads what it complains about; what is wrong comes as an answer.
        drop(running.stderr.take());
        let pid = running.id();
        Ok(Launched { input: Box::new(input), output: Box::new(output), pid, process: Box::new(running) })
    }
}

/// The child: it answers until its input ends.
pub(crate) fn run(memory: Option<&std::ffi::OsStr>) -> ExitCode {
    let memory = memory.and_then(|memory| memory.to_str()?.parse().ok()).unwrap_or(1 << 30);
    let served = || -> std::io::Result<()> {
        isolation::confine(memory)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(isolation::serve(tokio::io::stdin(), tokio::io::stdout()));
        // A thread that computes is not waited for.
        runtime.shutdown_background();
        served
    };
    if served().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
