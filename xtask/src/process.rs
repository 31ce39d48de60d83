//! The one door to child processes here: what is run, where, and what its failure means.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A command to be started. What cargo told us about ourselves is not handed down: build scripts
/// watch those variables, and would build again at every change between a nested and a direct call.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    let ours = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|start| name.starts_with(start))
            || ["CARGO", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR", "LD_LIBRARY_PATH"]
                .contains(&name)
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
        command.env_remove(name);
    }
    command
}

/// Runs a command line from the repository's root and fails when it does.
pub(crate) fn run(line: &[&str]) -> Result<()> {
    eprintln!("$ {}", line.join(" "));
    run_quietly(line)
}

/// The same without printing the line first.
pub(crate) fn run_quietly(line: &[&str]) -> Result<()> {
    let (program, arguments) = line.split_first().context("an empty command")?;
    let status = command(program)
        .args(arguments)
        .current_dir(root())
        .status()
        .with_context(|| format!("could not start {program}"))?;
    if !status.success() {
        bail!("`{}` failed with {status}", line.join(" "));
    }
    Ok(())
}

/// A child in a process group of its own. The whole group is gone when this is dropped: the child,
/// and what it started. Its input stays open until then.
pub(crate) struct Group {
    child: Child,
    /// What it printed; a file, so that nobody has to read while it runs.
    printed: Printed,
    name: String,
}

impl Group {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let printed = Printed::new()?;
        command.stdin(Stdio::piped()).stdout(printed.writer()?).stderr(printed.writer()?);
        Self::spawn(command, printed)
    }

    /// The same, but what it reads and prints are pipes for somebody else.
    pub(crate) fn piped(command: &mut Command) -> Result<(Self, ChildStdin, ChildStdout)> {
        let printed = Printed::new()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(printed.writer()?);
        let mut group = Self::spawn(command, printed)?;
        let pipes = group.child.stdin.take().zip(group.child.stdout.take());
        let (input, output) = pipes.context("pipes were asked for")?;
        Ok((group, input, output))
    }

    fn spawn(command: &mut Command, printed: Printed) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.process_group(0).spawn().with_context(|| format!("could not start {name}"))?;
        Ok(Self { child, printed, name })
    }

    /// Waits until `found` finds something in what it printed.
    pub(crate) fn wait_for<T>(&mut self, limit: Duration, found: impl Fn(&str) -> Option<T>) -> Result<T> {
        let mut ended = None;
        for _ in 0..polls(limit) {
            let printed = self.printed.text()?;
            if let Some(found) = found(&printed) {
                return Ok(found);
            }
            // It is only given up after what it printed was read once more: those were its last
            // words.
            if let Some(status) = ended {
                bail!("{} ended with {status}:\n{printed}", self.name);
            }
            ended = self.child.try_wait()?;
            std::thread::sleep(POLL);
        }
        bail!("{} did not say what was waited for within {limit:?}:\n{}", self.name, self.printed.text()?)
    }

    /// Waits until it ends by itself.
    fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        for _ in 0..polls(limit) {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(POLL);
        }
        bail!("{} did not end within {limit:?}:\n{}", self.name, self.printed.text()?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group is killed by its number even when its first process has ended: others may still
        // be in it.
        let group = format!("-{}", self.child.id());
        let mut kill = command("kill");
        let _killed = kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ended = self.child.wait();
    }
}

/// What a command came to.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command with nothing to read. When it takes longer than the limit that is an error;
/// either way nothing that it started is left.
pub(crate) fn within(limit: Duration, command: &mut Command) -> Result<Outcome> {
    let stdout = Printed::new()?;
    let (status, stderr) = between(limit, command.stdin(Stdio::null()).stdout(stdout.writer()?))?;
    Ok(Outcome { status, stdout: stdout.text()?, stderr })
}

/// The same for a command whose input and output are set already; what it complains about comes
/// back.
pub(crate) fn between(limit: Duration, command: &mut Command) -> Result<(ExitStatus, String)> {
    let stderr = Printed::new()?;
    command.stderr(stderr.writer()?);
    let mut group = Group::spawn(command, stderr)?;
    Ok((group.wait(limit)?, group.printed.text()?))
}

const POLL: Duration = Duration::from_millis(20);

fn polls(limit: Duration) -> u128 {
    limit.as_millis() / POLL.as_millis()
}

/// A file that a child writes to and we read from, each at a place of its own.
struct Printed(tempfile::NamedTempFile);

impl Printed {
    fn new() -> Result<Self> {
        Ok(Self(tempfile::NamedTempFile::new()?))
    }

    fn writer(&self) -> Result<File> {
        Ok(File::options().append(true).open(self.0.path())?)
    }

    fn text(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(self.0.path())?).into_owned())
    }
}

/// Where cargo puts what it builds, in one profile's folder: `debug` or `release`.
pub(crate) fn built(profile: &str) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join(profile)
}

/// The repository's root: xtask's parent. Cargo says where that is when it runs us; checkouts that
/// share a target folder may share this very program, so what was true when it was built is only
/// the second choice.
pub(crate) fn root() -> PathBuf {
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or(built, PathBuf::from);
    here.parent().unwrap_or(&here).to_owned()
}

/// A folder that outlives checkouts, for what is downloaded once. Another user (PostgreSQL's, when
/// we are root) must be able to read it, so root's home will not do.
pub(crate) fn cache() -> Result<PathBuf> {
    let folder = match std::env::var_os("STEWARD_CACHE") {
        Some(folder) => PathBuf::from(folder),
        None if is_root() => PathBuf::from("/var/cache/steward"),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache/steward"),
    };
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    Ok(folder)
}

/// Whether we are root.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::{Group, command, within};
    use std::time::Duration;

    /// How many processes of a group still run.
    fn running(group: &str) -> usize {
        let stat = |entry: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()
        };
        let in_group = |stat: &String| {
            let mut words = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            words.next() != Some("Z") && words.nth(1) == Some(group)
        };
        std::fs::read_dir("/proc").unwrap().filter_map(stat).filter(in_group).count()
    }

    /// The kernel takes a moment to end what was killed.
    fn gone(group: &str) -> bool {
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            running(group) == 0
        })
    }

    #[test]
    fn what_takes_too_long_is_gone_with_all_it_started() {
        let mut hangs = command("sh");
        let error =
            within(Duration::from_secs(1), hangs.args(["-c", "echo group $$ >&2; sleep 600 & sleep 600"]));
        let error = error.err().unwrap().to_string();
        let group = error.split("group ").nth(1).unwrap().trim();
        assert!(gone(group), "{error}");
    }

    #[test]
    fn a_dropped_group_is_gone_and_one_that_ended_tells_its_last_words() {
        let mut stays =
            Group::start(command("sh").args(["-c", "sleep 600 & echo group $$; read line"])).unwrap();
        let limit = Duration::from_secs(20);
        let group = stays
            .wait_for(limit, |printed| Some(printed.split_once("group ")?.1.split_once('\n')?.0.to_owned()));
        let group = group.unwrap();
        assert_eq!(running(&group), 2);
        drop(stays);
        assert!(gone(&group));
        let mut ends = Group::start(command("sh").args(["-c", "echo sorry; exit 3"])).unwrap();
        let error = ends.wait_for(limit, |_| None::<()>).unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.contains("sorry"), "{error}");
    }
}
