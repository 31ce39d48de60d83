//! What stands behind the door in these tests: a web server, a name server and canaries, all on
//! loopback. The connector sends whatever looks public to the web server and writes down every
//! address that was dialled, so no packet leaves the machine.

use async_trait::async_trait;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_tools::egress::{Connector, EgressClient, Reach, Resolver, Rules, Stream, reach};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// An address that looks public; nothing is ever sent to it.
pub(super) const PUBLIC: &str = "93.184.215.14";

/// What the server answers on a path.
#[derive(Clone)]
pub(super) enum Route {
    /// These bytes, then the end of the connection.
    Raw(Vec<u8>),
    /// These bytes, then silence until the client goes away.
    Hang(Vec<u8>),
}

/// A web server that answers what it was told to, and remembers what it was asked.
#[derive(Default)]
pub(super) struct Site {
    routes: Mutex<BTreeMap<String, Route>>,
    seen: Mutex<Vec<String>>,
    names: Mutex<Vec<String>>,
    /// Rung for every request that has arrived.
    pub(super) arrived: Notify,
    /// Rung when a client has gone away from a route that hangs.
    pub(super) left: Notify,
}

impl Site {
    pub(super) fn route(&self, path: &str, route: Route) {
        self.routes.lock().unwrap().insert(path.to_owned(), route);
    }

    /// Answers with a status line, headers and a body of the right length.
    pub(super) fn answer(&self, path: &str, status: &str, headers: &str, body: &[u8]) {
        let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
        self.route(path, Route::Raw([head.as_bytes(), body].concat()));
    }

    pub(super) fn redirect(&self, path: &str, status: u16, location: &str) {
        self.answer(path, &format!("{status} Elsewhere"), &format!("location: {location}\r\n"), b"");
    }

    /// The names that TLS was asked for.
    pub(super) fn greeted(&self) -> Vec<String> {
        self.names.lock().unwrap().clone()
    }

    /// Whole requests, head and body, in order.
    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Speaks TLS to whoever begins with it, and remembers for which name.
    async fn greet(self: Arc<Self>, stream: TcpStream) -> io::Result<()> {
        let mut first = [0];
        stream.peek(&mut first).await?;
        if first != [0x16] {
            return self.serve(stream).await;
        }
        let stream = super::tls::acceptor().accept(stream).await?;
        let name = stream.get_ref().1.server_name().unwrap_or_default().to_owned();
        self.names.lock().unwrap().push(name);
        self.serve(stream).await
    }

    async fn serve(self: Arc<Self>, mut stream: impl Stream) -> io::Result<()> {
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).await?;
            request.extend_from_slice(&buffer[..count]);
            if count == 0 || whole(&request) {
                break;
            }
        }
        let text = String::from_utf8_lossy(&request).into_owned();
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        self.seen.lock().unwrap().push(text);
        self.arrived.notify_one();
        let found = self.routes.lock().unwrap().get(&path).cloned();
        match found {
            Some(Route::Raw(bytes)) => stream.write_all(&bytes).await?,
            Some(Route::Hang(bytes)) => {
                stream.write_all(&bytes).await?;
                while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
                self.left.notify_one();
            }
            None => stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await?,
        }
        stream.shutdown().await
    }
}

fn whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    body.len() >= length.unwrap_or(0)
}

/// Answers of the name server: for each name a list of answers, given one after the other; the last
/// one stays.
pub(super) type Zone = BTreeMap<String, Vec<Vec<IpAddr>>>;

/// A name server for A and AAAA over UDP, on loopback.
pub(super) struct Names {
    zone: Mutex<Zone>,
    asked: AtomicUsize,
    address: SocketAddr,
}

impl Names {
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// One lookup asks for A and then for AAAA; the second question ends the turn.
    fn answers(&self, name: String, wants_v4: bool) -> Vec<IpAddr> {
        let mut zone = self.zone.lock().unwrap();
        let turns = zone.entry(name).or_default();
        let current = turns.first().into_iter().flatten();
        let answers = current.filter(|ip| ip.is_ipv4() == wants_v4).copied().collect();
        if !wants_v4 && turns.len() > 1 {
            turns.remove(0);
        }
        answers
    }

    async fn serve(self: Arc<Self>, socket: UdpSocket) {
        let mut packet = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut packet).await {
            let question = &packet[12..length];
            let (name, end) = name_in(question);
            let wants_v4 = question[end + 1] == 1;
            let answers = self.answers(name, wants_v4);
            if wants_v4 {
                self.asked.fetch_add(1, Ordering::SeqCst);
            }
            let mut reply = packet[..2].to_vec();
            reply.extend([0x81, 0x80, 0, 1, 0, answers.len() as u8, 0, 0, 0, 0]);
            reply.extend_from_slice(question);
            for address in answers {
                let bytes = match address {
                    IpAddr::V4(address) => address.octets().to_vec(),
                    IpAddr::V6(address) => address.octets().to_vec(),
                };
                reply.extend([
                    0xc0,
                    12,
                    0,
                    if wants_v4 { 1 } else { 28 },
                    0,
                    1,
                    0,
                    0,
                    0,
                    0,
                    0,
                    bytes.len() as u8,
                ]);
                reply.extend(bytes);
            }
            let _ = socket.send_to(&reply, from).await;
        }
    }
}

/// The name at the start, and where the type of the question begins.
fn name_in(question: &[u8]) -> (String, usize) {
    let (mut labels, mut at) = (Vec::new(), 0);
    while question[at] != 0 {
        let length = question[at] as usize;
        labels.push(String::from_utf8_lossy(&question[at + 1..=at + length]).into_owned());
        at += length + 1;
    }
    (labels.join("."), at + 1)
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        socket.connect(self.address).await?;
        let mut found = Vec::new();
        for kind in [1, 28] {
            let mut question = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            for label in host.split('.') {
                question.push(label.len() as u8);
                question.extend(label.as_bytes());
            }
            question.extend([0, 0, kind, 0, 1]);
            socket.send(&question).await?;
            let mut reply = [0; 1024];
            let length = socket.recv(&mut reply).await?;
            let mut at = question.len();
            while at + 12 <= length {
                let size = reply[at + 11] as usize;
                let data = &reply[at + 12..at + 12 + size];
                found.push(match size {
                    4 => IpAddr::from(<[u8; 4]>::try_from(data).unwrap()),
                    _ => IpAddr::from(<[u8; 16]>::try_from(data).unwrap()),
                });
                at += 12 + size;
            }
        }
        Ok(found)
    }
}

/// Sends what looks public to the web server, the rest where it says, if that is loopback.
pub(super) struct Switchboard {
    site: SocketAddr,
    dialled: Mutex<Vec<SocketAddr>>,
}

#[async_trait]
impl Connector for Switchboard {
    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        self.dialled.lock().unwrap().push(address);
        let really = match reach(address.ip()) {
            Reach::Public => self.site,
            _ if address.ip().is_loopback() => address,
            _ => return Err(io::Error::other("no packet leaves loopback")),
        };
        Ok(Box::new(TcpStream::connect(really).await?))
    }
}

/// All of it.
pub(super) struct Lab {
    pub(super) site: Arc<Site>,
    pub(super) names: Arc<Names>,
    pub(super) board: Arc<Switchboard>,
    canaries: Vec<std::net::TcpListener>,
    /// The port of every canary.
    pub(super) port: u16,
    _tasks: JoinSet<()>,
}

impl Lab {
    /// `allowed.com`, `other.com` and `*.allowed.com` have a public address unless `zone` says
    /// otherwise.
    pub(super) async fn new(zone: &[(&str, &[&[&str]])]) -> Self {
        let mut tasks = JoinSet::new();
        let site = Arc::new(Site::default());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let board = Arc::new(Switchboard { site: listener.local_addr().unwrap(), dialled: Mutex::default() });
        let serving = site.clone();
        tasks.spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let site = serving.clone();
                clients.spawn(async move {
                    let _ = site.greet(stream).await;
                });
            }
        });
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let mut all: Zone = ["allowed.com", "other.com", "a.allowed.com"]
            .map(|name| (name.to_owned(), vec![vec![PUBLIC.parse().unwrap()]]))
            .into();
        for (name, turns) in zone {
            let parsed = turns.iter().map(|turn| turn.iter().map(|ip| ip.parse().unwrap()).collect());
            all.insert((*name).to_owned(), parsed.collect());
        }
        let address = socket.local_addr().unwrap();
        let names = Arc::new(Names { zone: Mutex::new(all), asked: AtomicUsize::new(0), address });
        tasks.spawn(names.clone().serve(socket));
        let (canaries, port) = canaries();
        Self { site, names, board, canaries, port, _tasks: tasks }
    }

    pub(super) fn door(&self, rules: Rules) -> EgressClient {
        EgressClient::with(rules, self.names.clone(), self.board.clone())
    }

    /// What was dialled since the last time this was asked.
    pub(super) fn dialled(&self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.board.dialled.lock().unwrap())
    }

    /// Nobody has knocked at a canary.
    #[track_caller]
    pub(super) fn canaries_are_silent(&self) {
        for canary in &self.canaries {
            let heard = canary.accept();
            assert!(heard.is_err(), "{:?} was reached: {heard:?}", canary.local_addr());
        }
    }
}

/// Listeners on 127.0.0.1 and, where there is one, ::1, with the same port.
fn canaries() -> (Vec<std::net::TcpListener>, u16) {
    let first = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = first.local_addr().unwrap().port();
    let second = std::net::TcpListener::bind(("::1", port)).ok();
    let all: Vec<_> = [Some(first), second].into_iter().flatten().collect();
    for canary in &all {
        canary.set_nonblocking(true).unwrap();
    }
    (all, port)
}

/// Longer than any test takes; a test that waits this long has failed.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
