//! A server on a loopback socket that plays prepared responses in pieces, and records the requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What follows after the bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Then {
    Close,
    Wait,
}

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Bytes per piece.
    pub(crate) step: usize,
    pub(crate) then: Then,
}

impl Act {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    pub(crate) fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        // Without a content length the body ends with the connection, so that a truncated body
        // looks complete.
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
        Self { head, body: body.into(), step: 7, then: Then::Close }
    }

    pub(crate) fn then(self, then: Then) -> Self {
        Self { then, ..self }
    }
}

pub(crate) struct Fake {
    pub(crate) url: String,
    pub(crate) seen: Arc<Mutex<Vec<(String, Value)>>>,
    /// Signals that the client closed a connection.
    pub(crate) gone: mpsc::UnboundedReceiver<()>,
    pub(crate) busiest: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Fake {
    /// Plays the acts in turn, and repeats the last one.
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), acts)
    }

    pub(crate) fn on(listener: TcpListener, acts: Vec<Act>) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let busiest: Arc<AtomicUsize> = Arc::default();
        let (tell, gone) = mpsc::unbounded_channel();
        let (kept, most, mut tasks) = (Arc::clone(&seen), Arc::clone(&busiest), JoinSet::new());
        tasks.spawn(async move {
            let (mut served, busy) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
            for place in 0.. {
                let act = acts.get(place).or(acts.last()).unwrap().clone();
                let Ok((socket, _)) = listener.accept().await else { return };
                let (kept, tell, busy, most) =
                    (Arc::clone(&kept), tell.clone(), Arc::clone(&busy), Arc::clone(&most));
                served.spawn(async move {
                    most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    serve(socket, act, &kept, &tell).await;
                    busy.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { url, seen, gone, busiest, _tasks: tasks }
    }

    pub(crate) fn asked(&self, place: usize) -> (String, Value) {
        self.seen.lock().unwrap()[place].clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

async fn serve(
    mut socket: TcpStream,
    act: Act,
    kept: &Mutex<Vec<(String, Value)>>,
    tell: &mpsc::UnboundedSender<()>,
) {
    let Some(request) = read(&mut socket).await else { return };
    if request.0.starts_with("GET /health") {
        let _gone =
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        return;
    }
    kept.lock().unwrap().push(request);
    let _gone = socket.write_all(act.head.as_bytes()).await;
    for piece in act.body.chunks(act.step) {
        if socket.write_all(piece).await.is_err() {
            let _nobody = tell.send(());
            return;
        }
        tokio::task::yield_now().await;
    }
    if act.then == Then::Wait {
        let mut byte = [0; 1];
        let _ended = tokio::time::timeout(Duration::from_secs(20), socket.read(&mut byte)).await;
        let _nobody = tell.send(());
    }
    let _gone = socket.shutdown().await;
}

async fn read(socket: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 4096];
        let count = socket.read(&mut part).await.ok()?;
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null)));
            }
        }
        if count == 0 {
            return None;
        }
    }
}
