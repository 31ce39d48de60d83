//! How a child process is shut in: Landlock for files, seccomp for the rest, by a launcher that shuts itself in and then
//! becomes the program.

use crate::error::{Error, Result};
use crate::process::Spec;
use std::ffi::OsString;
use std::path::PathBuf;

/// What a child may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Folders it may read.
    pub read: Vec<PathBuf>,
    /// Folders it may read and write.
    pub write: Vec<PathBuf>,
    /// Whether it may open connections.
    pub network: bool,
    /// Whether it is not started at all where the kernel cannot shut it in.
    pub required: bool,
    /// The program that shuts itself in: this very binary, with its hidden command.
    pub launcher: PathBuf,
}

/// The command that shuts itself in and becomes the program of `spec`.
pub(crate) fn launcher(_: &Confinement, _: &Spec) -> Result<(OsString, Vec<String>)> {
    Err(Error::Sandbox { detail: "not built yet".into() })
}
