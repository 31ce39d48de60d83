//! Data is read and queried in separate processes, so that one user's data cannot stop the server.
//!
//! A computing thread cannot be stopped, a stack overflow ends its process, and memory that a
//! library allocates is not counted. A server therefore opens its sessions in child processes: one
//! session at a time in each, with lower priority, monitored for memory, and killed at a timeout. A
//! child that dies ends only its session.
//!
//! Invariants
//! - The children together stay within the memory limit of the settings: if they exceed it, the
//!   largest is killed.
//! - A call that is not answered in time ends its child, whatever the child is doing.
//! - A child that timed out, was cancelled or grew large is not reused.
//!
//! The command line opens its sessions in its own process; a server calls [`install`]. Database
//! drivers are third-party code, so even the command line opens sessions that need one in a child
//! ([`install_for_drivers`]).

mod child;
mod pool;
#[cfg(test)]
mod tests;
mod wire;

pub use child::{confine, serve};
pub(crate) use pool::Remote;
pub(crate) use wire::Description;

use crate::source::SourceLocation;
use pool::Pool;
use std::sync::{Arc, OnceLock};
use tokio::io::{AsyncRead, AsyncWrite};

/// Starts a child. The binary implements it; this crate starts no programs.
pub trait Launcher: Send + Sync {
    /// Starts a child. Must be called within a tokio runtime.
    fn launch(&self) -> std::io::Result<Launched>;
}

/// A started child.
pub struct Launched {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Its process id, for monitoring its memory.
    pub pid: Option<i32>,
    /// The process; it is killed on drop.
    pub process: Box<dyn Send>,
}

static POOL: OnceLock<Arc<Pool>> = OnceLock::new();
/// For sessions that load third-party code, if other sessions are opened in this process.
static DRIVERS: OnceLock<Arc<Pool>> = OnceLock::new();

/// Opens sessions of this process in children from now on, with a common memory limit in bytes.
/// Only the first call has an effect.
pub fn install(launcher: Arc<dyn Launcher>, memory: usize) {
    let _ = POOL.set(Arc::new(Pool::new(launcher, memory)));
}

/// Opens sessions that need a driver library in children from now on; all others stay in this
/// process.
pub fn install_for_drivers(launcher: Arc<dyn Launcher>, memory: usize) {
    let _ = DRIVERS.set(Arc::new(Pool::new(launcher, memory)));
}

/// The pool for a session over these sources; none if it is opened in this process.
pub(crate) fn pool_for(named: &[String]) -> Option<&'static Arc<Pool>> {
    POOL.get().or_else(|| {
        let needs_driver = |name: &String| {
            let found = crate::source::find(name);
            found.is_ok_and(|found| found.places.iter().any(SourceLocation::needs_driver))
        };
        DRIVERS.get().filter(|_| named.iter().any(needs_driver))
    })
}
