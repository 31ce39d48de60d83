//! How a child process is shut in: Landlock for files, seccomp for the rest, by a launcher that
//! shuts itself in and then becomes the program.
//!
//! Invariants
//! - Nothing unsafe runs between fork and exec. The launcher is this very binary with its hidden
//!   command [`COMMAND`]: a whole process that restricts itself and is replaced by the program, so
//!   the program and all that it starts inherit everything.
//! - What is not granted is not there: the child sees the system's programs and libraries, and the
//!   folders it was given.
//! - `required` fails closed: a kernel that cannot enforce files and system calls starts nothing.
//! - A child on the leash dies with the process that started it, even by SIGKILL, and so does
//!   everything that it started, in whatever session or group: a reaper stands between, to which
//!   the kernel hands every orphan of the family.
//!
//! What it deliberately does not do: hide that other processes exist, or limit processor and
//! memory.

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

/// The hidden command of the binary that ends in [`confine_and_exec`].
///
/// The binary looks for it before anything else, and before it starts a thread:
/// ```text
/// if std::env::args_os().nth(1).is_some_and(|word| word == COMMAND) {
///     eprintln!("{}", confine_and_exec(std::env::args_os().skip(2)));
///     return ExitCode::from(126);
/// }
/// ```
pub const COMMAND: &str = "__confine";

/// What a child may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Folders it may read.
    pub read: Vec<PathBuf>,
    /// Folders it may read and write.
    pub write: Vec<PathBuf>,
    /// Whether it may open connections. Without it no socket but a pair within the family can be
    /// connected, not even one that is a file: the sockets of daemons are doors too.
    pub network: bool,
    /// Whether it is not started at all where the kernel cannot shut it in.
    pub required: bool,
    /// The program that shuts itself in: this very binary, with its hidden command. Empty means the
    /// one of [`leash`].
    #[serde(skip)]
    pub launcher: PathBuf,
}

/// What is handed to the launcher.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// How the child is shut in; nothing means that it is held on the leash only.
    confinement: Option<Confinement>,
    /// Who starts it. When another process has become the parent, that one is gone already.
    parent: u32,
    /// What the launcher does.
    #[serde(default)]
    part: Part,
}

/// The two parts that the launcher plays, each in a process of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    /// Starts the program below itself, and ends all of its family with it.
    #[default]
    Keep,
    /// Shuts itself in and becomes the program.
    Become,
}

static LEASH: OnceLock<PathBuf> = OnceLock::new();

/// From now on every child is started by this launcher, so that it dies with this process. The
/// binary says it once at its start with its own path (`std::env::current_exe`); the first word
/// counts.
pub fn leash(launcher: impl Into<PathBuf>) {
    let _ = LEASH.set(launcher.into());
}

/// The command that shuts itself in and becomes the program of `spec`; nothing when it is started
/// as it is.
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
    fn who_launches_a_child() {
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
