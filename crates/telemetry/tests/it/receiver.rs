//! An OTLP receiver on a loopback socket. It decodes protobuf by field numbers, independently of
//! our encoder.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// The behaviour for a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Respond with this status and ask for an immediate retry.
    Status(u16),
    /// Report that this many spans were rejected.
    Reject(u8),
    /// Never respond.
    Hang,
}

/// Head and body.
type Request = (String, Vec<u8>);

pub(crate) struct Receiver {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    arrived: mpsc::Receiver<()>,
    runtime: Option<Runtime>,
}

impl Receiver {
    /// Plays the acts in turn, and repeats the last one.
    pub(crate) fn start(acts: Vec<Act>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (tell, arrived) = mpsc::channel();
        let kept = Arc::clone(&requests);
        // The runtime owns the task: it ends with the receiver.
        runtime.spawn(async move {
            let mut served = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (kept, tell, acts) = (Arc::clone(&kept), tell.clone(), acts.clone());
                served.spawn(async move { serve(socket, &acts, &kept, &tell).await });
            }
        });
        Self { url, requests, arrived, runtime: Some(runtime) }
    }

    /// Waits for a request.
    pub(crate) fn wait(&self) {
        self.arrived.recv_timeout(Duration::from_secs(20)).expect("a request arrives");
    }

    /// Heads and bodies so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// All spans so far.
    pub(crate) fn spans(&self) -> Vec<Got> {
        self.requests().iter().flat_map(|(_, body)| spans(body)).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve(mut socket: TcpStream, acts: &[Act], kept: &Mutex<Vec<Request>>, tell: &mpsc::Sender<()>) {
    let mut bytes = Vec::new();
    loop {
        let Some((head, body)) = take(&mut bytes) else {
            let mut part = [0; 8192];
            match socket.read(&mut part).await {
                Ok(0) | Err(_) => return,
                Ok(count) => bytes.extend_from_slice(&part[..count]),
            }
            continue;
        };
        let place = {
            let mut kept = kept.lock().unwrap();
            kept.push((head, body));
            kept.len() - 1
        };
        let _nobody = tell.send(());
        let (status, answer) = match acts.get(place).or(acts.last()).unwrap() {
            Act::Hang => std::future::pending().await,
            Act::Status(status) => (*status, Vec::new()),
            Act::Reject(count) => (200, vec![0x0a, 2, 0x08, *count]),
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\nretry-after: 0\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        let _gone = socket.write_all(&[head.into_bytes(), answer].concat()).await;
    }
}

/// Takes a complete request from the start of the buffer.
fn take(bytes: &mut Vec<u8>) -> Option<Request> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let all = end + 4 + length.unwrap_or(0_usize);
    if bytes.len() < all {
        return None;
    }
    let rest = bytes.split_off(all);
    let body = std::mem::replace(bytes, rest).split_off(end + 4);
    Some((head, body))
}

/// A span as it arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct Got {
    pub(crate) trace: Vec<u8>,
    pub(crate) id: Vec<u8>,
    pub(crate) parent: Vec<u8>,
    pub(crate) name: String,
    pub(crate) kind: u64,
    pub(crate) nanos: (u64, u64),
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) status: u64,
    pub(crate) service: String,
}

impl Got {
    pub(crate) fn at(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

enum Part<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Part<'a> {
    fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Bytes(_) => panic!("no number"),
        }
    }
    fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Number(_) => panic!("no bytes"),
            Self::Bytes(bytes) => bytes,
        }
    }
    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for place in 0.. {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        number |= u64::from(first & 0x7f) << (7 * place);
        if first & 0x80 == 0 {
            break;
        }
    }
    number
}

fn parts(mut bytes: &[u8]) -> Vec<(u64, Part<'_>)> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let part = match key & 7 {
            0 => Part::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_at(8);
                bytes = rest;
                Part::Number(u64::from_le_bytes(number.try_into().unwrap()))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (inside, rest) = bytes.split_at(length);
                bytes = rest;
                Part::Bytes(inside)
            }
            other => panic!("wire type {other}"),
        };
        parts.push((key >> 3, part));
    }
    parts
}

fn all(bytes: &[u8], wanted: u64) -> impl Iterator<Item = &[u8]> {
    parts(bytes).into_iter().filter(move |(tag, _)| *tag == wanted).map(|(_, part)| part.bytes())
}

fn attribute(bytes: &[u8]) -> (String, String) {
    let key = all(bytes, 1).next().map(|key| String::from_utf8(key.to_vec()).unwrap()).unwrap();
    let (tag, value) = parts(all(bytes, 2).next().unwrap()).pop().unwrap();
    let value = match tag {
        1 => value.text(),
        2 => (value.number() != 0).to_string(),
        3 => i64::from_ne_bytes(value.number().to_ne_bytes()).to_string(),
        4 => f64::from_bits(value.number()).to_string(),
        other => panic!("value {other}"),
    };
    (key, value)
}

/// The spans of one `ExportTraceServiceRequest`.
fn spans(body: &[u8]) -> Vec<Got> {
    let mut spans = Vec::new();
    for resource_spans in all(body, 1) {
        let about: BTreeMap<String, String> =
            all(resource_spans, 1).flat_map(|resource| all(resource, 1)).map(attribute).collect();
        for span in all(resource_spans, 2).flat_map(|scope_spans| all(scope_spans, 2)) {
            let mut got = Got { service: about["service.name"].clone(), ..Got::default() };
            for (tag, part) in parts(span) {
                match tag {
                    1 => got.trace = part.bytes().to_vec(),
                    2 => got.id = part.bytes().to_vec(),
                    4 => got.parent = part.bytes().to_vec(),
                    5 => got.name = part.text(),
                    6 => got.kind = part.number(),
                    7 => got.nanos.0 = part.number(),
                    8 => got.nanos.1 = part.number(),
                    9 => {
                        let (key, value) = attribute(part.bytes());
                        assert!(got.attributes.insert(key, value).is_none(), "twice");
                    }
                    15 => {
                        let code = parts(part.bytes()).into_iter().find(|(tag, _)| *tag == 3);
                        got.status = code.map_or(0, |(_, code)| code.number());
                    }
                    other => panic!("field {other} of a span"),
                }
            }
            spans.push(got);
        }
    }
    spans
}
