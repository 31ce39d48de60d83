//! The reaper: a process between Steward and the program that it starts.
//!
//! Invariant: when the reaper exits, it has no descendants left. It is a subreaper: the kernel
//! makes it the parent of every orphaned descendant, so even a daemon that left its session, group
//! and parent is found below it.
//!
//! It exits when the program does, or when Steward dies. Signals to the group are meant for the
//! program; the reaper ignores them.

use super::confine::{is_parent, set_parent_death_signal};
use super::{COMMAND, Order, Part};
use crate::error::{Error, Result};
use crate::process::kill_descendants;
use rustix::process::{Pid, Signal, getpid, set_child_subreaper};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use tokio::signal::unix::{SignalKind, signal};

/// The exit status if the program could not be awaited.
const UNKNOWN: i32 = 126;

/// Runs the program as a child to its end. Returns its exit status in shell convention.
pub(super) fn keep(order: Order, program: &OsStr, args: impl Iterator<Item = OsString>) -> Result<i32> {
    let failed = |error: std::io::Error| Error::Sandbox { detail: format!("the reaper: {error}") };
    set_parent_death_signal(order.parent, Signal::TERM)?;
    let own = getpid();
    set_child_subreaper(Some(own)).map_err(|error| failed(error.into()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let launcher = std::env::current_exe().map_err(failed)?;
    let parent = order.parent;
    let inner = Order { parent: raw(own).unsigned_abs(), part: Part::Become, ..order };
    let inner = serde_json::to_string(&inner).map_err(|error| failed(error.into()))?;
    runtime.block_on(async move {
        // Signals to the group are meant for the program.
        let mut asked_to_end = signal(SignalKind::terminate()).map_err(failed)?;
        let _interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
        let _hung_up = signal(SignalKind::hangup()).map_err(failed)?;
        #[allow(clippy::disallowed_methods, reason = "this is the door: the launcher starts its second part")]
        let mut command = std::process::Command::new(launcher);
        command.args([COMMAND, "--spec", &inner, "--"]).arg(program).args(args);
        let mut child = tokio::process::Command::from(command).spawn().map_err(failed)?;
        let code = loop {
            tokio::select! {
                ended = child.wait() => break ended.map_or(UNKNOWN, code),
                _ = asked_to_end.recv() => if !is_parent(parent) { break UNKNOWN },
            }
        };
        kill_descendants(raw(own));
        Ok(code)
    })
}

fn raw(process: Pid) -> i32 {
    process.as_raw_nonzero().get()
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}
