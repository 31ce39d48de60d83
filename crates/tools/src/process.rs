//! The door to child processes: a clean environment, an own process group, and an end that takes
//! the whole group along.
//!
//! Invariants
//! - When a [`Running`] is gone, so is every process that it started and that stayed in its group.
//! - With [`crate::sandbox::leash`], so is every other process below it, also one that left group
//!   and session, and a child dies with this process too, even when this process is killed.
//! - A child knows nothing of this process's environment but `PATH`, `HOME`, `LANG` and `TMPDIR`.

use crate::error::{Error, Result};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// What is started, and how it is shut in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    /// The program: a name that is looked for in `PATH`, or a path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment. Beside it the child gets `PATH`, `HOME`, `LANG` and `TMPDIR` of this
    /// process, nothing else.
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
    id: Option<i32>,
    /// The group as long as it may have members.
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
/// How long the kernel may take to end what it was told to kill, and to start what it was told to
/// start.
const KERNEL_WITHIN: Duration = Duration::from_secs(30);

/// Starts a child in a process group of its own. It must be called within a tokio runtime.
pub fn start(spec: &Spec) -> Result<Running> {
    let failed = |detail: String| Error::Process { program: spec.program.clone(), detail };
    let runtime = tokio::runtime::Handle::try_current().map_err(|error| failed(error.to_string()))?;
    let folder = folder(spec).map_err(failed)?;
    let path = found(spec, folder.as_deref()).map_err(failed)?;
    let mut child = match crate::sandbox::launcher(spec, &path)? {
        None => spawned(command(spec, folder, path, spec.args.iter().map(OsString::from).collect())),
        Some((launcher, args)) => {
            let command = command(spec, folder, launcher, args);
            from_lasting_thread(move || {
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
    command.envs(HANDED_DOWN.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
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

/// Where it starts, in full. The system says of a missing folder that the program is missing, so it
/// is looked for here.
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

/// Where the program of a child will be found.
pub(crate) fn locate(spec: &Spec) -> Result<PathBuf, String> {
    found(spec, folder(spec)?.as_deref())
}

/// Where the program is. It is looked for here, because a launcher would find out too late for an
/// error that teaches.
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

/// Something to be done on the lasting thread.
type Job = Box<dyn FnOnce() + Send>;

/// Does something on a thread that lives as long as this process. The kernel ties a child on the
/// leash to the *thread* that started it, and a thread of the runtime may end long before the child
/// is to.
fn from_lasting_thread<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    static THREAD: std::sync::OnceLock<mpsc::Sender<Job>> = std::sync::OnceLock::new();
    if THREAD.get().is_none() {
        let (sender, jobs) = mpsc::channel::<Job>();
        // Nobody waits for this thread: it must not end before the process does. A loser of the
        // race finds no sender and ends.
        std::thread::Builder::new()
            .name("children".into())
            .spawn(move || jobs.iter().for_each(|job| job()))?;
        let _ = THREAD.set(sender);
    }
    let gone = || std::io::Error::other("the thread that starts children is gone");
    let (reply, answer) = mpsc::sync_channel(1);
    let job: Job = Box::new(move || drop(reply.send(work())));
    THREAD.get().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
    answer.recv_timeout(KERNEL_WITHIN).map_err(|_| gone())?
}

impl Running {
    /// The id of the process, which is that of its group.
    #[must_use]
    pub fn id(&self) -> Option<i32> {
        self.id
    }

    /// Waits until the process itself has ended, then ends what it left behind in its group. It may
    /// be dropped and called again.
    pub async fn wait(&mut self) -> Option<std::process::ExitStatus> {
        let status = self.child.wait().await.ok();
        self.end_group();
        status
    }

    /// Ends the group: its input is closed, after `grace` it is told to end, after another `grace`
    /// it is killed.
    pub async fn stop(mut self, grace: Duration) {
        drop(self.stdin.take());
        if tokio::time::timeout(grace, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(grace, self.child.wait()).await;
        }
        self.end_group();
        let _ = tokio::time::timeout(KERNEL_WITHIN, self.child.wait()).await;
    }

    /// Kills the group once, and before it everything below it. Its number is forgotten, because
    /// the kernel may hand it out anew.
    fn end_group(&mut self) {
        // While the reaper lives, all of the family is below it. Once it has been waited for, its
        // number is not ours.
        if let (Some(_), Some(id)) = (self.child.id(), self.group.and(self.id)) {
            end_family(id);
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

/// How often the family is looked over: each time only what was started in the meantime is left.
const LOOKS: usize = 50;

/// Kills everything below a process, but not the process itself.
pub(crate) fn end_family(ancestor: i32) {
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

/// The processes below one, except those that have ended and wait to be buried.
fn descendants(ancestor: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<(i32, bool)>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(line) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in parentheses may hold anything; what follows the last one does not.
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
