//! Servers of local models: started as child processes, with their output in a log file.
//!
//! Invariants
//! - A server and its descendants end with its owner.
//! - The log file is private and limited in size. A full one is renamed at the next start. Output
//!   beyond the limit is read and dropped.
//!
//! Servers are deliberately not sandboxed, because the author of the settings chose the command.

use crate::error::Error;
use crate::process::{self, Running, Spec};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_models::{Launched, Launcher};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The name of the log file.
const FILE: &str = "model_server.log";
/// The maximum size of the log file, in bytes.
const ROOM: u64 = 4 * 1024 * 1024;
/// The number of bytes at the end of the output that are kept for error messages.
const TAIL: usize = 2_000;
/// How long a server may take to exit after each signal.
const GRACE: Duration = Duration::from_millis(300);
/// How long the final output of an exited server may take.
const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// Starts servers of local models.
#[derive(Debug, Clone)]
pub struct ModelServers {
    file: PathBuf,
    room: u64,
}

impl ModelServers {
    /// Keeps the output of servers in this folder, which is created when needed.
    #[must_use]
    pub fn new(logs: &Path) -> Self {
        Self { file: logs.join(FILE), room: ROOM }
    }
}

#[async_trait]
impl Launcher for ModelServers {
    async fn launch(
        &self,
        program: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
    ) -> Result<Box<dyn Launched>, String> {
        let log = Log::open(&self.file, self.room);
        let log = log.map_err(|error| format!("{} cannot be written: {error}", self.file.display()))?;
        let spec =
            Spec { program: program.to_owned(), args: args.to_vec(), env: env.clone(), ..Spec::default() };
        let mut process = process::start(&spec).map_err(|error| match error {
            Error::Process { detail, .. } => detail,
            other => other.to_string(),
        })?;
        let (log, mut readers) = (Arc::new(log), JoinSet::new());
        if let Some(printed) = process.stdout.take() {
            readers.spawn(keep(printed, Arc::clone(&log)));
        }
        if let Some(complaints) = process.stderr.take() {
            readers.spawn(keep(complaints, Arc::clone(&log)));
        }
        Ok(Box::new(Server { process, readers, log, file: self.file.clone() }))
    }
}

/// A started server.
struct Server {
    process: Running,
    readers: JoinSet<()>,
    log: Arc<Log>,
    file: PathBuf,
}

#[async_trait]
impl Launched for Server {
    async fn ended(&mut self) -> String {
        let status = self.process.wait().await;
        while let Ok(Some(_)) = timeout(FINAL_OUTPUT_TIMEOUT, self.readers.join_next()).await {}
        let how = status.map_or_else(|| "nobody knows how".to_owned(), |status| status.to_string());
        match self.log.last_words() {
            Some(words) => format!("{how}, with the words {words:?}; {} has more", self.file.display()),
            None => how,
        }
    }

    async fn stop(self: Box<Self>) {
        self.process.stop(GRACE).await;
    }
}

/// The log of a server.
#[derive(Debug)]
struct Log(Mutex<LogFile>);

#[derive(Debug)]
struct LogFile {
    file: File,
    room: u64,
    tail: Vec<u8>,
}

impl Log {
    fn open(path: &Path, room: u64) -> std::io::Result<Self> {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        if let Some(folder) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut size = path.metadata().map_or(0, |file| file.len());
        if size >= room {
            std::fs::rename(path, path.with_extension("log.old"))?;
            size = 0;
        }
        let file = File::options().append(true).create(true).mode(0o600).open(path)?;
        Ok(Self(Mutex::new(LogFile { file, room: room - size, tail: Vec::new() })))
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = usize::try_from(kept.room).unwrap_or(usize::MAX).min(bytes.len());
        // A full disk loses the log but not the response.
        let _ = kept.file.write_all(bytes.get(..fits).unwrap_or_default());
        kept.room -= fits as u64;
        kept.tail.extend_from_slice(bytes);
        let old = kept.tail.len().saturating_sub(TAIL);
        kept.tail.drain(..old);
    }

    fn last_words(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept.tail).into_owned();
        let words = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(words.chars().filter(|c| !c.is_control()).collect())
    }
}

/// Reads the output of a server until the pipe is closed.
async fn keep(mut from: impl AsyncRead + Unpin, log: Arc<Log>) {
    let mut piece = vec![0; 8 * 1024];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        log.push(piece.get(..read).unwrap_or_default());
    }
}

#[cfg(test)]
#[path = "model_server_tests.rs"]
mod tests;
