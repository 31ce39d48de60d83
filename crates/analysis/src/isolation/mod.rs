//! Data is read and asked in processes of its own, so that what one person brings along cannot stop
//! the server.
//!
//! A thread that computes cannot be stopped, a stack that overflows ends its process, and memory
//! that a library allocates is counted by nobody. So a server opens its sessions in child
//! processes: one session at a time in each, with less priority, watched for memory, and killed
//! when it is late. A child that ended takes its session with it and nothing else.
//!
//! Invariants
//! - The children together stay within the memory of the settings: the largest is ended when they
//!   do not.
//! - A call that is not answered in time ends its child, whatever the child is doing.
//! - A child that was late, cancelled or large is not used again.
//!
//! A command line that a person waits for opens its sessions in its own process: [`install`] is
//! what a server calls. Drivers of databases are code of others, so even a command line opens what
//! needs one in a child ([`install_for_drivers`]).

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

/// Starts a child. The binary knows how; this crate starts no programs.
pub trait Launcher: Send + Sync {
    /// Starts one. It must be called within a tokio runtime.
    fn launch(&self) -> std::io::Result<Launched>;
}

/// A child that was started.
pub struct Launched {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Its number, by which its memory is watched.
    pub pid: Option<i32>,
    /// The process: it is killed when this is dropped.
    pub process: Box<dyn Send>,
}

static POOL: OnceLock<Arc<Pool>> = OnceLock::new();
/// For sessions that load code of others, where the rest is opened in this process.
static DRIVERS: OnceLock<Arc<Pool>> = OnceLock::new();

/// From now on sessions of this process are opened in children, which together keep to so many
/// bytes of memory. The first word counts.
pub fn install(launcher: Arc<dyn Launcher>, memory: usize) {
    let _ = POOL.set(Arc::new(Pool::new(launcher, memory)));
}

/// From now on sessions that need a driver library are opened in children; all others stay in this
/// process.
pub fn install_for_drivers(launcher: Arc<dyn Launcher>, memory: usize) {
    let _ = DRIVERS.set(Arc::new(Pool::new(launcher, memory)));
}

/// Where a session over these sources is opened, when it is not this process.
pub(crate) fn pool_for(named: &[String]) -> Option<&'static Arc<Pool>> {
    POOL.get().or_else(|| {
        let needs_driver = |name: &String| {
            let found = crate::source::find(name);
            found.is_ok_and(|found| found.places.iter().any(SourceLocation::needs_driver))
        };
        DRIVERS.get().filter(|_| named.iter().any(needs_driver))
    })
}
