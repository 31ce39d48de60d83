//! The launcher: it sets its parent-death signal, sandboxes itself, and executes the program.
//!
//! Invariant: the order matters. The death signal comes first, so that nothing outlives its parent
//! at any time. Landlock comes before seccomp, so that the filter cannot affect its setup. The
//! program comes last.

use super::{Confinement, Order, Part, files, reaper, seccomp};
use crate::error::{Error, Result};
use rustix::process::{Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;

/// Executes the arguments after [`COMMAND`](super::COMMAND): `--spec <json> -- program args…`. It
/// returns only on an error; the caller prints it to stderr and exits with 126.
pub fn confine_and_exec(args: impl IntoIterator<Item = OsString>) -> Error {
    match confined(args.into_iter()) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

fn confined(mut args: impl Iterator<Item = OsString>) -> Result<std::convert::Infallible> {
    let broken = || Error::Sandbox { detail: "the launcher wants --spec <json> -- program args".into() };
    let (flag, order, dashes) = (args.next(), args.next(), args.next());
    let program = args.next().ok_or_else(broken)?;
    if (flag, dashes) != (Some("--spec".into()), Some("--".into())) {
        return Err(broken());
    }
    let order = order.and_then(|text| text.into_string().ok()).ok_or_else(broken)?;
    let order: Order = serde_json::from_str(&order).map_err(|_| broken())?;
    if order.part == Part::Keep {
        std::process::exit(reaper::keep(order, &program, args)?);
    }
    set_parent_death_signal(order.parent, Signal::KILL)?;
    if let Some(confinement) = &order.confinement {
        shut_in(confinement, Path::new(&program))?;
    }
    #[allow(clippy::disallowed_methods, reason = "this is the door: the launcher becomes the program")]
    let error = std::process::Command::new(&program).args(args).exec();
    Err(Error::Process { program: program.to_string_lossy().into_owned(), detail: error.to_string() })
}

/// Requests a signal for this process when its parent dies.
pub(super) fn set_parent_death_signal(parent: u32, signal: Signal) -> Result<()> {
    let failed = |detail: String| Error::Sandbox { detail };
    set_parent_process_death_signal(Some(signal)).map_err(|error| failed(error.to_string()))?;
    // A parent that died before the line above sends no signal.
    if is_parent(parent) { Ok(()) } else { Err(failed("the process that started it is gone".into())) }
}

/// Whether this process still has this parent.
pub(super) fn is_parent(parent: u32) -> bool {
    getppid().and_then(|id| u32::try_from(id.as_raw_nonzero().get()).ok()) == Some(parent)
}

/// Drops every right that was not granted.
fn shut_in(confinement: &Confinement, program: &Path) -> Result<()> {
    // A core file would contain all memory of the child and be written outside of its folders.
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(|error| Error::Sandbox { detail: error.to_string() })?;
    for outcome in [files::restrict(confinement, program), seccomp::restrict(confinement.network)] {
        match outcome {
            Ok(notes) => notes.iter().for_each(|note| eprintln!("steward: {note}")),
            Err(detail) if confinement.required => return Err(Error::Sandbox { detail }),
            Err(detail) => eprintln!("steward: not shut in: {detail}"),
        }
    }
    Ok(())
}
