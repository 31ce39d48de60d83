//! The sandbox of child processes: Landlock for files, seccomp for system calls. A launcher
//! restricts itself and then executes the program.
//!
//! Invariants
//! - Nothing unsafe runs between fork and exec. The launcher is this binary with its hidden command
//!   [`COMMAND`]: a process that restricts itself and is replaced by the program, so the program
//!   and all its children inherit the restrictions.
//! - Access is denied by default: the child sees the system's programs and libraries, and the
//!   granted folders.
//! - `required` fails closed: if the kernel cannot enforce files and system calls, nothing starts.
//! - A child with a launcher dies with the process that started it, even by SIGKILL, and so do all
//!   its descendants, in any session or group: a reaper process adopts every orphan.
//!
//! It deliberately does not hide other processes, or limit CPU and memory.

mod confine;
mod files;
pub(crate) mod private;
mod reaper;
mod seccomp;
pub(crate) mod standard;

pub use confine::confine_and_exec;

use crate::error::{Error, Result};
use crate::process::Spec;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The hidden command of the binary that calls [`confine_and_exec`].
///
/// The binary checks for it first, before it starts a thread:
/// ```text
/// if std::env::args_os().nth(1).is_some_and(|word| word == COMMAND) {
///     eprintln!("{}", confine_and_exec(std::env::args_os().skip(2)));
///     return ExitCode::from(126);
/// }
/// ```
pub const COMMAND: &str = "__confine";

/// The rights of a child.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Folders it may read.
    pub read: Vec<PathBuf>,
    /// Folders it may read and write.
    pub write: Vec<PathBuf>,
    /// Whether it may open connections. Otherwise only socket pairs within the process family work.
    /// Unix sockets of daemons are blocked as well, because they would be a way out.
    pub network: bool,
    /// Whether it must not start if the kernel cannot enforce the sandbox.
    pub required: bool,
    /// The launcher: this binary with its hidden command. Empty means the one of [`leash`].
    #[serde(skip)]
    pub launcher: PathBuf,
}

/// The instructions for the launcher.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The sandbox. `None` means that only the death signal and the reaper apply.
    confinement: Option<Confinement>,
    /// The process id of the parent. If the actual parent differs, that process has died.
    parent: u32,
    /// The role of the launcher.
    #[serde(default)]
    part: Part,
}

/// The two roles of the launcher, each in its own process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    /// Runs the program as a child, and ends all its descendants with it.
    #[default]
    Keep,
    /// Restricts itself and executes the program.
    Become,
}

static LEASH: OnceLock<PathBuf> = OnceLock::new();

/// Starts every child through this launcher from now on, so that it dies with this process. The
/// binary calls it once at startup with its own path (`std::env::current_exe`); later calls have no
/// effect.
pub fn leash(launcher: impl Into<PathBuf>) {
    let _ = LEASH.set(launcher.into());
}

/// The launcher command for the program of `spec`. `None` if it is started directly.
pub(crate) fn launcher(spec: &Spec, program: &Path) -> Result<Option<(PathBuf, Vec<OsString>)>> {
    launched(spec, program, LEASH.get())
}

fn launched(
    spec: &Spec,
    program: &Path,
    leash: Option<&PathBuf>,
) -> Result<Option<(PathBuf, Vec<OsString>)>> {
    let own = spec.sandbox.as_ref().map(|confinement| &confinement.launcher);
    let named = own.filter(|path| !path.as_os_str().is_empty()).or(leash);
    let launcher = match (named, &spec.sandbox) {
        (Some(launcher), _) => launcher.clone(),
        (None, None) => return Ok(None),
        (None, Some(_)) => return Err(Error::Sandbox { detail: "no launcher was named".into() }),
    };
    let order = Order { confinement: spec.sandbox.clone(), parent: std::process::id(), part: Part::Keep };
    let order = serde_json::to_string(&order)
        .map_err(|error| Error::Sandbox { detail: format!("its folders cannot be handed over: {error}") })?;
    let mut args: Vec<OsString> = vec![COMMAND.into(), "--spec".into(), order.into(), "--".into()];
    args.push(program.into());
    args.extend(spec.args.iter().map(OsString::from));
    Ok(Some((launcher, args)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(spec: &Spec, leash: Option<&PathBuf>) -> Result<Option<Vec<String>>> {
        let made = launched(spec, Path::new("/bin/tool"), leash)?;
        Ok(made.map(|(launcher, args)| {
            let all = std::iter::once(launcher.into_os_string()).chain(args);
            all.map(|word| word.into_string().unwrap()).collect()
        }))
    }

    #[test]
    fn child_is_started_by_launcher() {
        let id = std::process::id();
        let free = Spec { args: vec!["--spec".into(), "x y".into()], ..Spec::default() };
        assert_eq!(words(&free, None), Ok(None));
        let leashed = words(&free, Some(&"/steward".into())).unwrap().unwrap();
        let order = format!("{{\"confinement\":null,\"parent\":{id},\"part\":\"keep\"}}");
        assert_eq!(leashed, ["/steward", "__confine", "--spec", &order, "--", "/bin/tool", "--spec", "x y"]);
        let bare = Spec { sandbox: Some(Confinement::default()), ..free.clone() };
        assert!(matches!(words(&bare, None), Err(Error::Sandbox { .. })), "nobody can shut it in");
        assert_eq!(words(&bare, Some(&"/steward".into())).unwrap().unwrap()[0], "/steward");
        let own = Confinement { launcher: "/own".into(), ..Confinement::default() };
        let shut_in = words(&Spec { sandbox: Some(own), ..free }, Some(&"/steward".into())).unwrap().unwrap();
        assert_eq!(shut_in[0], "/own");
        assert!(shut_in[3].contains("\"network\":false"), "{shut_in:?}");
    }
}
