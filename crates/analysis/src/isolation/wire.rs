//! The protocol between the two processes: a length in four bytes, then one JSON document.
//!
//! Invariant: a message is bounded. A message longer than [`LONGEST`] is an error of the sender,
//! not an allocation of the reader.

use crate::catalogue::Catalogue;
use crate::error::{Error, Reported, Result};
use crate::frame::{Frame, Value};
use crate::query::Dialect;
use crate::session::{Options, Statement};
use crate::source::SourceLocation;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Maximum length of a message. A larger result is refused before it is sent.
pub(super) const LONGEST: usize = 64 << 20;
/// Maximum size of a result's cells, so that it fits into a message.
pub(super) const RESULT_BYTES: usize = 24 << 20;

/// One request to the child.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) id: u64,
    pub(super) call: Call,
}

/// The requests to the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Call {
    /// Opens the session that all later calls refer to.
    Open {
        named: Vec<String>,
        options: Options,
    },
    /// Columns whose values must not be read, from now on. It has no reply.
    Withhold {
        columns: BTreeSet<(String, String)>,
    },
    Run {
        statement: Statement,
    },
    Materialise {
        statement: Statement,
        name: String,
    },
    Head {
        table: String,
        rows: usize,
    },
    AddFrame {
        name: String,
        frame: Frame,
    },
    /// The caller no longer waits for this call. It has no reply of its own.
    Cancel {
        of: u64,
    },
    /// Drops the session; pending calls are answered first.
    Close,
}

/// One reply of the child.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    pub(super) id: u64,
    pub(super) result: std::result::Result<Answer, Reported>,
}

/// The result of a call.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Opened(Box<Description>),
    Rows {
        frame: Frame,
        cut: bool,
        #[serde(default)]
        fetched: u64,
    },
    Done,
}

/// The description of an open session that needs no access to its data.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) places: Vec<SourceLocation>,
    pub(crate) catalogue: Catalogue,
    /// For each table: the dialect of its engine, and its path there.
    pub(crate) tables: Vec<(Dialect, Vec<String>)>,
    pub(crate) spelled: Vec<(String, String, BTreeMap<String, String>)>,
    pub(crate) warnings: Vec<String>,
    pub(crate) assumptions: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Bytes that were fetched from other machines.
    #[serde(default)]
    pub(crate) fetched: u64,
}

/// Checks that a result fits into a message, and removes values that JSON cannot represent.
pub(super) fn fit(mut frame: Frame) -> Result<Frame> {
    let mut bytes = 0;
    for cell in frame.rows.iter_mut().flatten() {
        match cell {
            Value::Float(number) if !number.is_finite() => *cell = Value::Null,
            Value::Text(text) => bytes += text.len(),
            _ => {}
        }
        bytes += 8;
        if bytes > RESULT_BYTES {
            return Err(Error::Output { megabytes: RESULT_BYTES >> 20 });
        }
    }
    Ok(frame)
}

/// A serialized message.
pub(super) fn pack(message: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    if length > LONGEST {
        return Err(std::io::Error::other("the message is too long"));
    }
    let head = u32::try_from(length).map_err(std::io::Error::other)?.to_le_bytes();
    bytes.iter_mut().zip(head).for_each(|(byte, length)| *byte = length);
    Ok(bytes)
}

pub(super) async fn send(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

/// The next message; none at the end.
pub(super) async fn receive<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> std::io::Result<Option<T>> {
    let mut head = [0; 4];
    if let Err(error) = from.read_exact(&mut head).await {
        let end = error.kind() == std::io::ErrorKind::UnexpectedEof;
        return if end { Ok(None) } else { Err(error) };
    }
    let length = u32::from_le_bytes(head) as usize;
    if length > LONGEST {
        return Err(std::io::Error::other("the message is too long"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).await?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}
