//! Child processes: a clean environment, a separate process group, and termination of the whole
//! group.
//!
//! Invariants
//! - When a [`Running`] is dropped, its process group is killed.
//! - With [`crate::sandbox::leash`], so is every other descendant, even outside the group and
//!   session. A child also dies if this process is killed.
//! - A child inherits only `PATH`, `HOME`, `LANG` and `TMPDIR` of this environment.

use crate::error::{Error, Result};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// The specification of a child process and its sandbox.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    /// The program: a name that is searched in `PATH`, or a path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment. The child also gets `PATH`, `HOME`, `LANG` and `TMPDIR` of this process,
    /// nothing else.
    pub env: BTreeMap<String, String>,
    /// The working directory.
    pub folder: Option<PathBuf>,
    /// The sandbox. `None` means no sandbox.
    pub sandbox: Option<crate::sandbox::Confinement>,
}

/// A child process with its three pipes. Dropping it kills the group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    id: Option<i32>,
    /// The process group, as long as it may have members.
    group: Option<Pid>,
    /// The stdin of the child.
    pub stdin: Option<ChildStdin>,
    /// The stdout of the child.
    pub stdout: Option<ChildStdout>,
    /// The stderr of the child.
    pub stderr: Option<ChildStderr>,
}

/// The environment variables that every child inherits.
const INHERITED_VARIABLES: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];
/// How long the kernel may take to end a killed process, and to start a process.
const KERNEL_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts a child in its own process group. It must be called within a tokio runtime.
pub fn start(spec: &Spec) -> Result<Running> {
    let failed = |detail: String| Error::Process { program: spec.program.clone(), detail };
    let runtime = tokio::runtime::Handle::try_current().map_err(|error| failed(error.to_string()))?;
    let folder = folder(spec).map_err(failed)?;
    let path = found(spec, folder.as_deref()).map_err(failed)?;
    let mut child = match crate::sandbox::launcher(spec, &path)? {
        None => spawned(command(spec, folder, path, spec.args.iter().map(OsString::from).collect())),
        Some((launcher, args)) => {
            let command = command(spec, folder, launcher, args);
            run_on_permanent_thread(move || {
                let _within = runtime.enter();
                spawned(command)
            })
        }
    }
    .map_err(|error| failed(error.to_string()))?;
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    Ok(Running { child, id, group: id.and_then(Pid::from_raw), stdin, stdout, stderr })
}

fn command(
    spec: &Spec,
    folder: Option<PathBuf>,
    program: PathBuf,
    args: Vec<OsString>,
) -> std::process::Command {
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    let mut command = std::process::Command::new(program);
    command.args(args).env_clear();
    command.envs(INHERITED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(&spec.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command
}

fn spawned(command: std::process::Command) -> std::io::Result<Child> {
    Command::from(command).kill_on_drop(true).spawn()
}

/// The absolute working directory. It is checked here, because the system reports a missing folder
/// as a missing program.
fn folder(spec: &Spec) -> Result<Option<PathBuf>, String> {
    let Some(folder) = &spec.folder else { return Ok(None) };
    let full = std::path::absolute(folder).map_err(|error| error.to_string())?;
    if full.is_dir() {
        return Ok(Some(full));
    }
    let from =
        if folder.is_relative() { "; a relative one counts from where this process was started" } else { "" };
    Err(format!("there is no folder {} to start it in{from}", full.display()))
}

/// The path of a child's program.
pub(crate) fn locate(spec: &Spec) -> Result<PathBuf, String> {
    found(spec, folder(spec)?.as_deref())
}

/// Finds the program. It is searched here, because the launcher could not report a useful error.
fn found(spec: &Spec, folder: Option<&Path>) -> Result<PathBuf, String> {
    let program = Path::new(&spec.program);
    let runs = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if spec.program.contains('/') {
        let path = match folder {
            Some(folder) => folder.join(program),
            None => std::path::absolute(program).map_err(|error| error.to_string())?,
        };
        return if runs(&path) { Ok(path) } else { Err(format!("{} is no program", path.display())) };
    }
    let own = spec.env.get("PATH").map(OsString::from);
    let path = own.or_else(|| std::env::var_os("PATH")).unwrap_or_else(|| "/usr/bin:/bin".into());
    let mut places = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let place = places.find_map(|folder| Some(folder.join(program)).filter(|path| runs(path)));
    place.ok_or_else(|| "there is no program of this name in PATH".to_owned())
}

/// A job for the permanent thread.
type Job = Box<dyn FnOnce() + Send>;

/// Runs a job on a thread that lives as long as this process. The kernel binds a child's death
/// signal to the *thread* that started it, and a thread of the runtime may end long before the
/// child.
fn run_on_permanent_thread<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    static THREAD: std::sync::OnceLock<mpsc::Sender<Job>> = std::sync::OnceLock::new();
    if THREAD.get().is_none() {
        let (sender, jobs) = mpsc::channel::<Job>();
        // The thread is never joined, because it must live as long as the process. If two start
        // concurrently, the loser's channel closes and its thread ends.
        std::thread::Builder::new()
            .name("children".into())
            .spawn(move || jobs.iter().for_each(|job| job()))?;
        let _ = THREAD.set(sender);
    }
    let gone = || std::io::Error::other("the thread that starts children is gone");
    let (reply, answer) = mpsc::sync_channel(1);
    let job: Job = Box::new(move || drop(reply.send(work())));
    THREAD.get().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
    answer.recv_timeout(KERNEL_TIMEOUT).map_err(|_| gone())?
}

impl Running {
    /// The process id, which is also the group id.
    #[must_use]
    pub fn id(&self) -> Option<i32> {
        self.id
    }

    /// Waits until the process has exited, then kills the rest of its group. It is cancel safe and
    /// may be called again.
    pub async fn wait(&mut self) -> Option<std::process::ExitStatus> {
        let status = self.child.wait().await.ok();
        self.end_group();
        status
    }

    /// Stops the group: closes stdin, sends SIGTERM after `grace`, and SIGKILL after another
    /// `grace`.
    pub async fn stop(mut self, grace: Duration) {
        drop(self.stdin.take());
        if tokio::time::timeout(grace, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(grace, self.child.wait()).await;
        }
        self.end_group();
        let _ = tokio::time::timeout(KERNEL_TIMEOUT, self.child.wait()).await;
    }

    /// Kills the descendants and then the group, once. The group id is cleared, because the kernel
    /// may reuse it.
    fn end_group(&mut self) {
        // While the reaper lives, all descendants are below it. Once it was awaited, its process id
        // may be reused.
        if let (Some(_), Some(id)) = (self.child.id(), self.group.and(self.id)) {
            kill_descendants(id);
        }
        self.signal(Signal::KILL);
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
        self.end_group();
    }
}

/// The maximum number of passes. Each pass finds only processes that were started meanwhile.
const LOOKS: usize = 50;

/// Kills all descendants of a process, but not the process itself.
pub(crate) fn kill_descendants(ancestor: i32) {
    for _ in 0..LOOKS {
        let alive = descendants(ancestor);
        if alive.is_empty() {
            return;
        }
        for process in alive.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The descendants of a process, without zombies.
fn descendants(ancestor: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<(i32, bool)>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(line) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in parentheses may contain anything, so the fields start after the last one.
        let mut fields = line.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, parent) = (fields.next(), fields.next().and_then(|parent| parent.parse().ok()));
        if let Some(parent) = parent {
            children.entry(parent).or_default().push((id, !matches!(state, Some("Z" | "X"))));
        }
    }
    let (mut found, mut next) = (Vec::new(), vec![ancestor]);
    while let Some(process) = next.pop() {
        for (child, alive) in children.remove(&process).into_iter().flatten() {
            next.push(child);
            found.extend(alive.then_some(child));
        }
    }
    found
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
