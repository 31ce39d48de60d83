//! A server as a child process: one JSON-RPC message per line on stdin and stdout.
//!
//! Invariants
//! - The size of a message in memory is limited. A longer one closes the connection.
//! - Only the writer task writes, so a cancelled send never leaves half a message in the pipe.
//!
//! Output that is not a message: a line that does not start with `{` is logged and counted as
//! noise. A response of an unknown shape fails its own call. A line that starts with `{` and is not
//! JSON closes the connection with a protocol error, because the stream may be out of sync.

use crate::mcp::calls::{ConnectionMonitor, DisconnectReason};
use crate::mcp::log::Log;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// The number of consecutive noise lines after which the program is not considered an MCP server.
const NOISE_LINES: u32 = 10_000;
/// The capacity of the write queue.
const QUEUE: usize = 64;

/// Lines of limited length. It is cancel safe: bytes that were read are kept.
struct Lines<R> {
    input: R,
    line: Vec<u8>,
    limit: usize,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// The next line without its terminator. `None` at the end of input.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let buffer = self.input.fill_buf().await?;
            if buffer.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.is_empty()).then_some(rest));
            }
            let mut rest = buffer;
            let taken = std::io::BufRead::read_until(&mut rest, b'\n', &mut self.line)?;
            self.input.consume(taken);
            let ended = self.line.last() == Some(&b'\n');
            if self.line.len() > self.limit + usize::from(ended) {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "line too long"));
            }
            if ended {
                self.line.pop();
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}

struct Outgoing {
    line: Vec<u8>,
    done: oneshot::Sender<io::Result<()>>,
}

/// The three pipes of a child process.
pub(crate) struct Stdio<R> {
    lines: Lines<BufReader<R>>,
    outgoing: mpsc::Sender<Outgoing>,
    batch: VecDeque<ServerJsonRpcMessage>,
    noise: u32,
    tap: Arc<ConnectionMonitor>,
    log: Arc<Log>,
    // The writer and the reader of stderr end with the connection.
    _tasks: JoinSet<()>,
}

impl<R: AsyncRead + Send + Unpin> Stdio<R> {
    /// Creates the transport over these pipes.
    pub(crate) fn new<W, E>(
        (input, output, errors): (W, R, E),
        limit: usize,
        tap: Arc<ConnectionMonitor>,
        log: Arc<Log>,
    ) -> Self
    where
        W: AsyncWrite + Send + Unpin + 'static,
        E: AsyncRead + Send + Unpin + 'static,
    {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let mut tasks = JoinSet::new();
        tasks.spawn(write(input, queue));
        tasks.spawn(keep(errors, Arc::clone(&log)));
        let lines = Lines { input: BufReader::with_capacity(64 * 1024, output), line: Vec::new(), limit };
        Self { lines, outgoing, batch: VecDeque::new(), noise: 0, tap, log, _tasks: tasks }
    }

    /// Parses one line. `None` means that the connection must be closed.
    fn read(&mut self, line: &[u8]) -> Option<()> {
        if let Ok(message) = serde_json::from_slice::<ServerJsonRpcMessage>(line) {
            self.noise = 0;
            self.batch.push_back(message);
            return Some(());
        }
        match line.trim_ascii_start().first() {
            None => Some(()),
            Some(b'{') => self.misfit(line),
            Some(b'[') => {
                match serde_json::from_slice::<Vec<ServerJsonRpcMessage>>(line) {
                    Ok(messages) => self.batch.extend(messages),
                    Err(_) => return self.noise(line),
                }
                Some(())
            }
            Some(_) => self.noise(line),
        }
    }

    fn noise(&mut self, line: &[u8]) -> Option<()> {
        self.log.push("stdout", &String::from_utf8_lossy(line));
        self.noise += 1;
        if self.noise > NOISE_LINES {
            self.tap.lose(DisconnectReason::Protocol(format!(
                "it wrote {NOISE_LINES} lines that are no messages"
            )));
            return None;
        }
        Some(())
    }

    /// Handles a line that is not a message of MCP, or not JSON.
    fn misfit(&mut self, line: &[u8]) -> Option<()> {
        let value: serde_json::Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => {
                self.log.push("stdout", &String::from_utf8_lossy(line));
                self.tap
                    .lose(DisconnectReason::Protocol(format!("it sent a line that is not JSON ({error})")));
                return None;
            }
        };
        let answer = value.get("result").is_some() || value.get("error").is_some();
        let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
        match id {
            Some(id) if answer => {
                let error = ErrorData::new(ErrorCode::PARSE_ERROR, "its answer is no answer of MCP", None);
                self.batch.push_back(JsonRpcMessage::error(error, Some(id)));
                Some(())
            }
            _ => self.noise(line),
        }
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleClient> for Stdio<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let line = serde_json::to_vec(&item);
        let outgoing = self.outgoing.clone();
        async move {
            let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "its input is closed");
            let mut line = line?;
            line.push(b'\n');
            let (done, written) = oneshot::channel();
            outgoing.send(Outgoing { line, done }).await.map_err(|_| closed())?;
            written.await.map_err(|_| closed())?
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.batch.pop_front() {
                return Some(message);
            }
            match self.lines.next().await {
                Ok(Some(line)) => self.read(&line)?,
                Ok(None) => {
                    let words = self.log.last_words().map(|words| format!("; it last said: {words}"));
                    let told = format!("its output ended{}", words.unwrap_or_default());
                    self.tap.lose(DisconnectReason::Closed(told));
                    return None;
                }
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                    self.tap.lose(DisconnectReason::TooLarge(self.lines.limit));
                    return None;
                }
                Err(error) => {
                    self.tap.lose(DisconnectReason::Closed(format!("its output cannot be read ({error})")));
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self._tasks.shutdown().await;
        Ok(())
    }
}

/// Writes queued messages until the queue or the pipe is closed.
async fn write(mut pipe: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Outgoing>) {
    while let Some(Outgoing { line, done }) = queue.recv().await {
        let written = async {
            pipe.write_all(&line).await?;
            pipe.flush().await
        };
        let _ = done.send(written.await);
    }
}

/// Logs stderr. Of a line that is too long, the beginning is kept and the rest is dropped.
async fn keep(errors: impl AsyncRead + Unpin, log: Arc<Log>) {
    const MOST: usize = 16 * 1024;
    let mut input = BufReader::new(errors);
    let mut line = Vec::new();
    while let Ok(buffer) = input.fill_buf().await
        && !buffer.is_empty()
    {
        let mut rest = buffer;
        let Ok(taken) = std::io::BufRead::read_until(&mut rest, b'\n', &mut line) else { return };
        input.consume(taken);
        let ended = line.last() == Some(&b'\n');
        if ended {
            log.push("stderr", &String::from_utf8_lossy(&line));
            line.clear();
        }
        line.truncate(MOST);
    }
    if !line.is_empty() {
        log.push("stderr", &String::from_utf8_lossy(&line));
    }
}

#[cfg(test)]
#[path = "stdio_tests.rs"]
mod tests;
