//! The door to child processes: a clean environment, an own process group, and an end that takes the whole group along.
//!
//! Invariant: when a [`Running`] is gone, so is every process that it started and that stayed in its group. A child that dies
//! with its parent's SIGKILL is the launcher's affair (see `sandbox`).

use crate::error::{Error, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// What is started, and how it is shut in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    /// The program: a name that is looked for in `PATH`, or a path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment. Beside it the child gets `PATH`, `HOME`, `LANG` and `TMPDIR` of this process, nothing else.
    pub env: BTreeMap<String, String>,
    /// Where it starts.
    pub folder: Option<PathBuf>,
    /// How it is shut in; nothing means not at all.
    pub sandbox: Option<crate::sandbox::Confinement>,
}

/// A child process with its three pipes. Dropping it kills the group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    group: Option<Pid>,
    /// To the child.
    pub stdin: Option<ChildStdin>,
    /// From the child.
    pub stdout: Option<ChildStdout>,
    /// What it complains about.
    pub stderr: Option<ChildStderr>,
}

/// What every child may know of this process.
const HANDED_DOWN: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

/// Starts a child in a process group of its own.
pub fn start(spec: &Spec) -> Result<Running> {
    let failed = |detail: String| Error::Process { program: spec.program.clone(), detail };
    let (program, args) = match &spec.sandbox {
        None => (spec.program.clone().into(), spec.args.clone()),
        Some(confinement) => crate::sandbox::launcher(confinement, spec)?,
    };
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    let mut command = std::process::Command::new::<std::ffi::OsString>(program);
    command.args(args).env_clear();
    command.envs(HANDED_DOWN.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(&spec.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    if let Some(folder) = &spec.folder {
        command.current_dir(folder);
    }
    let mut child =
        Command::from(command).kill_on_drop(true).spawn().map_err(|error| failed(error.to_string()))?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    Ok(Running { child, group, stdin, stdout, stderr })
}

impl Running {
    /// The id of the process, which is that of its group.
    #[must_use]
    pub fn id(&self) -> Option<i32> {
        self.group.map(|group| group.as_raw_nonzero().get())
    }

    /// Waits until the process itself has ended; others of its group may still run.
    pub async fn wait(&mut self) -> Option<std::process::ExitStatus> {
        self.child.wait().await.ok()
    }

    /// Ends the group: its input is closed, after `grace` it is told to end, after another `grace` it is killed.
    pub async fn stop(mut self, grace: Duration) {
        drop(self.stdin.take());
        if tokio::time::timeout(grace, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(grace, self.child.wait()).await;
        }
        self.signal(Signal::KILL);
        let _ = self.child.wait().await;
        self.group = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
