//! Isolated processes that hold data: this program itself, started as a child through the only
//! module that starts processes.

use crate::config::Settings;
use crate::home::Home;
use crate::remote_data;
use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use steward_analysis::isolation::{self, Launched, Launcher};
use steward_tools::process::{Running, Spec, start};

/// The first argument of such a process; the second is its memory limit in bytes.
pub(crate) const COMMAND: &str = "hold-data";

/// Variables that a driver library may need, beside those that every child gets.
const FOR_DRIVERS: [&str; 4] = ["ADBC_DRIVER_PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "XDG_CONFIG_HOME"];
/// Folders with driver libraries.
const DRIVERS: &str = "STEWARD_DRIVERS";

/// Opens all sessions in separate processes from now on.
pub(crate) fn install(home: &Home, settings: &Settings, memory: usize) {
    if let Some(launcher) = launcher(home, settings, memory) {
        isolation::install(launcher, memory);
    }
}

/// Opens sessions that need a database driver in separate processes from now on.
pub(crate) fn install_for_drivers(home: &Home, settings: &Settings, memory: usize) {
    if let Some(launcher) = launcher(home, settings, memory) {
        isolation::install_for_drivers(launcher, memory);
    }
}

fn launcher(home: &Home, settings: &Settings, memory: usize) -> Option<Arc<Own>> {
    let program = std::env::current_exe().ok()?.display().to_string();
    let (scratch, drivers) = (home.scratch(), home.path.join("drivers"));
    let sources = serde_json::to_string(&settings.sources).ok()?;
    Some(Arc::new(Own { program, scratch, drivers, sources, memory, started: AtomicU64::new(0) }))
}

struct Own {
    program: String,
    /// Temporary files of children, a folder for each.
    scratch: PathBuf,
    /// Driver libraries in the home folder.
    drivers: PathBuf,
    /// Hosts that data may be read from.
    sources: String,
    memory: usize,
    started: AtomicU64,
}

/// A child and its folder; both are removed on drop.
struct Held {
    running: Option<Running>,
    folder: PathBuf,
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.running.take());
        let _removed_at_next_start = std::fs::remove_dir_all(&self.folder);
    }
}

impl Launcher for Own {
    fn launch(&self) -> std::io::Result<Launched> {
        let args = vec![COMMAND.to_owned(), self.memory.to_string()];
        let folder = self.scratch.join(self.started.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let mut env = BTreeMap::from([("TMPDIR".to_owned(), folder.display().to_string())]);
        env.insert(remote_data::VARIABLE.to_owned(), self.sources.clone());
        for name in FOR_DRIVERS.into_iter().chain(remote_data::OF_BUCKETS) {
            env.extend(std::env::var(name).ok().map(|value| (name.to_owned(), value)));
        }
        let mut drivers = std::env::var(DRIVERS).unwrap_or_default();
        if !drivers.is_empty() {
            drivers.push(':');
        }
        drivers.push_str(&std::path::absolute(&self.drivers)?.display().to_string());
        env.insert(DRIVERS.to_owned(), drivers);
        let spec = Spec { program: self.program.clone(), args, env, ..Spec::default() };
        let mut running = start(&spec).map_err(std::io::Error::other)?;
        let (Some(input), Some(output)) = (running.stdin.take(), running.stdout.take()) else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        // Its error output is not read; errors are returned in the protocol.
        drop(running.stderr.take());
        let pid = running.id();
        let process = Box::new(Held { running: Some(running), folder });
        Ok(Launched { input: Box::new(input), output: Box::new(output), pid, process })
    }
}

/// The child process: it answers until its input ends.
pub(crate) fn run(memory: Option<&std::ffi::OsStr>) -> ExitCode {
    let memory = memory.and_then(|memory| memory.to_str()?.parse().ok()).unwrap_or(1 << 30);
    let served = || -> std::io::Result<()> {
        isolation::confine(memory)?;
        remote_data::install_from_environment();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(isolation::serve(tokio::io::stdin(), tokio::io::stdout()));
        // A thread that is still computing is not waited for.
        runtime.shutdown_background();
        served
    };
    if served().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
