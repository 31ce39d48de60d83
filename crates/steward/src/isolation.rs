//! Processes that hold data: this program itself under another name, started by the one door to child processes.

use crate::home::Home;
use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use steward_analysis::isolation::{self, Launched, Launcher};
use steward_tools::process::{Running, Spec, start};

/// The first word of such a process; the second is its memory in bytes.
pub(crate) const COMMAND: &str = "hold-data";

/// From now on sessions are opened in processes of their own.
pub(crate) fn install(home: &Home, memory: usize) {
    let Ok(program) = std::env::current_exe() else { return };
    let (program, scratch) = (program.display().to_string(), home.scratch());
    isolation::install(Arc::new(Own { program, scratch, memory, started: AtomicU64::new(0) }), memory);
}

struct Own {
    program: String,
    /// What children unpack goes here, a folder for each.
    scratch: PathBuf,
    memory: usize,
    started: AtomicU64,
}

/// A child and its folder: both are gone when this is.
struct Held {
    running: Option<Running>,
    folder: PathBuf,
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.running.take());
        let _the_next_start_takes_it_away = std::fs::remove_dir_all(&self.folder);
    }
}

impl Launcher for Own {
    fn launch(&self) -> std::io::Result<Launched> {
        let args = vec![COMMAND.to_owned(), self.memory.to_string()];
        let folder = self.scratch.join(self.started.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let env = BTreeMap::from([("TMPDIR".to_owned(), folder.display().to_string())]);
        let spec = Spec { program: self.program.clone(), args, env, ..Spec::default() };
        let mut running = start(&spec).map_err(std::io::Error::other)?;
        let (Some(input), Some(output)) = (running.stdin.take(), running.stdout.take()) else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        // Nobody reads what it complains about; what is wrong comes as an answer.
        drop(running.stderr.take());
        let pid = running.id();
        let process = Box::new(Held { running: Some(running), folder });
        Ok(Launched { input: Box::new(input), output: Box::new(output), pid, process })
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
