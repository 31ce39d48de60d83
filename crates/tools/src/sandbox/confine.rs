//! The launcher's side: it puts itself on the leash, shuts itself in, and becomes the program.
//!
//! Invariant: the order matters and is kept here. The leash comes first, so that nothing outlives
//! its parent from the first moment on; files come before system calls, because the filter forbids
//! what Landlock needs none of; the program comes last.

use super::{Confinement, Order, Part, files, reaper, seccomp};
use crate::error::{Error, Result};
use rustix::process::{Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;

/// Does what the arguments after [`COMMAND`](super::COMMAND) say: `--spec <json> -- program args…`.
/// It comes back only with an error; the caller says it on standard error and ends with 126.
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
    put_on_leash(order.parent, Signal::KILL)?;
    if let Some(confinement) = &order.confinement {
        shut_in(confinement, Path::new(&program))?;
    }
    #[allow(clippy::disallowed_methods, reason = "this is the door: the launcher becomes the program")]
    let error = std::process::Command::new(&program).args(args).exec();
    Err(Error::Process { program: program.to_string_lossy().into_owned(), detail: error.to_string() })
}

/// From here on this process gets the signal when its parent dies.
pub(super) fn put_on_leash(parent: u32, signal: Signal) -> Result<()> {
    let failed = |detail: String| Error::Sandbox { detail };
    set_parent_process_death_signal(Some(signal)).map_err(|error| failed(error.to_string()))?;
    // A parent that died before the line above sends no signal any more.
    if is_parent(parent) { Ok(()) } else { Err(failed("the process that started it is gone".into())) }
}

/// Whether this process still has this parent.
pub(super) fn is_parent(parent: u32) -> bool {
    getppid().and_then(|id| u32::try_from(id.as_raw_nonzero().get()).ok()) == Some(parent)
}

/// Gives up every right that was not granted.
fn shut_in(confinement: &Confinement, program: &Path) -> Result<()> {
    // A core file would be written where the child could not write, with all that it has in memory.
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
