//! The parent process: idle children, working children, and the monitoring of their memory.

use super::wire::{self, Answer, Call, Description, Reply, Request};
use super::{Launched, Launcher};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::session::{Options, Statement};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

/// Maximum number of open sessions; further ones wait.
const AT_ONCE: usize = 16;
/// Maximum number of idle children.
const IDLE: usize = 2;
/// How long a session may wait for a free slot.
const TURN: Duration = Duration::from_secs(60);
/// Time limit of opening: many files, a remote database.
const OPEN: Duration = Duration::from_secs(120);
/// Extra time of a call beyond its statement's time limit, for communication.
const GRACE: Duration = Duration::from_secs(3);
/// Time limit of reading the first rows of a table.
const HEAD: Duration = Duration::from_secs(60);
/// How many generations of descendants count towards a child's memory.
const FAMILY: usize = 4;
/// Interval of the memory checks.
const LOOK: Duration = Duration::from_millis(15);

pub(crate) struct Pool {
    launcher: Arc<dyn Launcher>,
    memory: usize,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Child>>,
    all: Mutex<Vec<Weak<Shared>>>,
}

/// Why a child ended.
#[derive(Debug, Clone, Copy)]
enum End {
    Memory(usize),
    Late(u32),
    /// It died by itself: a stack overflow, a failed allocation, a bug.
    Died,
}

impl End {
    fn error(self) -> Error {
        match self {
            Self::Memory(limit) => Error::Memory { megabytes: limit >> 20 },
            Self::Late(seconds) => Error::Timeout { seconds },
            Self::Died => Error::apart("the data or the statement broke the process that worked on it"),
        }
    }
}

/// State shared by the tasks of a child and its users.
struct Shared {
    pid: Option<i32>,
    calls: Mutex<Calls>,
    process: Mutex<Option<Box<dyn Send>>>,
}

#[derive(Default)]
struct Calls {
    waiting: HashMap<u64, oneshot::Sender<Result<Answer>>>,
    end: Option<End>,
}

struct Child {
    shared: Arc<Shared>,
    requests: mpsc::UnboundedSender<Vec<u8>>,
    /// The tasks that read, write and monitor while the child is used.
    _tasks: JoinSet<()>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Ends it. Waiting callers get the reason; the first reason counts.
    fn end(&self, end: End) {
        let waiting = {
            let mut calls = lock(&self.calls);
            calls.end.get_or_insert(end);
            std::mem::take(&mut calls.waiting)
        };
        drop(lock(&self.process).take());
        for call in waiting.into_values() {
            let _nobody_waits = call.send(Err(end.error()));
        }
    }

    fn is_at_work(&self) -> bool {
        !lock(&self.calls).waiting.is_empty()
    }

    /// The private memory of the child and all its descendants in bytes.
    fn memory(&self) -> usize {
        self.pid.map_or(0, |pid| family_memory(pid, FAMILY))
    }
}

/// The memory of a process and its descendants. A reaper may stand between the process that was
/// started and the one that holds the data.
fn family_memory(pid: i32, depth: usize) -> usize {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let kilobytes = read("status")
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:")?.split_whitespace().next()?.parse::<usize>().ok());
    let below: usize = if depth == 0 {
        0
    } else {
        let children = read(&format!("task/{pid}/children"));
        children
            .split_whitespace()
            .filter_map(|child| child.parse().ok())
            .map(|child| family_memory(child, depth - 1))
            .sum()
    };
    (kilobytes.unwrap_or(0) << 10) + below
}

impl Pool {
    pub(super) fn new(launcher: Arc<dyn Launcher>, memory: usize) -> Self {
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        Self { launcher, memory, permits, idle: Mutex::default(), all: Mutex::default() }
    }

    /// Opens a session in a child, and returns its description.
    pub(crate) async fn open(
        self: &Arc<Self>,
        named: &[String],
        options: Options,
    ) -> Result<(Remote, Description)> {
        let busy = || Error::Crowded { at_once: AT_ONCE };
        let permit = tokio::time::timeout(TURN, self.permits.clone().acquire_owned()).await;
        let permit = permit.ok().and_then(std::result::Result::ok).ok_or_else(busy)?;
        let idle = lock(&self.idle).pop();
        let child = match idle.filter(|child| lock(&child.shared.calls).end.is_none()) {
            Some(child) => child,
            None => self.start().map_err(|error| Error::apart(&error.to_string()))?,
        };
        let spoiled = AtomicBool::new(false);
        let remote = Remote {
            child: Some(child),
            pool: self.clone(),
            next: AtomicU64::new(1),
            spoiled,
            _permit: permit,
        };
        // Memory outside the engine is not counted by it.
        let options = Options { memory: options.memory / 4 * 3, ..options };
        match remote.call(Call::Open { named: named.to_vec(), options }, OPEN).await? {
            Answer::Opened(description) => Ok((remote, *description)),
            _ => Err(Error::apart("it answered something else than was asked")),
        }
    }

    fn start(self: &Arc<Self>) -> std::io::Result<Child> {
        let Launched { mut input, mut output, pid, process } = self.launcher.launch()?;
        let (requests, mut waiting) = mpsc::unbounded_channel::<Vec<u8>>();
        let shared = Arc::new(Shared { pid, calls: Mutex::default(), process: Mutex::new(Some(process)) });
        {
            let mut all = lock(&self.all);
            all.retain(|known| known.strong_count() > 0);
            all.push(Arc::downgrade(&shared));
        }
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(bytes) = waiting.recv().await {
                if wire::send(&mut input, &bytes).await.is_err() {
                    break;
                }
            }
        });
        let reading = shared.clone();
        tasks.spawn(async move {
            while let Ok(Some(Reply { id, result })) = wire::receive::<Reply>(&mut output).await {
                let call = lock(&reading.calls).waiting.remove(&id);
                if let Some(call) = call {
                    let _nobody_waits = call.send(result.map_err(Error::from));
                }
            }
            reading.end(End::Died);
        });
        let (pool, watched) = (Arc::downgrade(self), Arc::downgrade(&shared));
        tasks.spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                let (Some(pool), Some(watched)) = (pool.upgrade(), watched.upgrade()) else { break };
                if watched.is_at_work() {
                    pool.weigh();
                }
            }
        });
        Ok(Child { shared, requests, _tasks: tasks })
    }

    /// Ends the largest child if all of them together exceed the memory limit.
    fn weigh(&self) {
        let all: Vec<Arc<Shared>> = lock(&self.all).iter().filter_map(Weak::upgrade).collect();
        let alive = all.into_iter().filter(|child| lock(&child.calls).end.is_none());
        let weighed: Vec<(usize, Arc<Shared>)> = alive.map(|child| (child.memory(), child)).collect();
        if weighed.iter().map(|(bytes, _)| bytes).sum::<usize>() <= self.memory {
            return;
        }
        if let Some((_, largest)) = weighed.into_iter().max_by_key(|(bytes, _)| *bytes) {
            largest.end(End::Memory(self.memory));
        }
    }
}

/// A session in a child.
pub(crate) struct Remote {
    child: Option<Child>,
    pool: Arc<Pool>,
    next: AtomicU64,
    /// Set if a call was cancelled: the child may still be busy with it.
    spoiled: AtomicBool,
    _permit: OwnedSemaphorePermit,
}

impl Remote {
    /// The rows, whether there were more, and the bytes that were fetched from other machines for
    /// them.
    pub(crate) async fn run(&self, statement: Statement) -> Result<(Frame, bool, u64)> {
        let within = Duration::from_secs(u64::from(statement.seconds));
        match self.call(Call::Run { statement }, within).await? {
            Answer::Rows { frame, cut, fetched } => Ok((frame, cut, fetched)),
            other => rows(other).map(|(frame, cut)| (frame, cut, 0)),
        }
    }

    pub(crate) async fn materialise(&self, statement: Statement, name: &str) -> Result<Frame> {
        let within = Duration::from_secs(u64::from(statement.seconds));
        let call = Call::Materialise { statement, name: name.to_owned() };
        rows(self.call(call, within).await?).map(|(frame, _)| frame)
    }

    pub(crate) async fn head(&self, table: &str, count: usize) -> Result<(Frame, bool)> {
        rows(self.call(Call::Head { table: table.to_owned(), rows: count }, HEAD).await?)
    }

    /// Adds a table for later calls. If it does not fit, the statement that reads it reports it.
    pub(crate) fn add_frame(&self, name: &str, frame: &Frame) -> Result<()> {
        self.tell(Call::AddFrame { name: name.to_owned(), frame: wire::fit(frame.clone())? })
    }

    pub(crate) fn withhold(&self, columns: BTreeSet<(String, String)>) {
        let _told_by_the_next_call = self.tell(Call::Withhold { columns });
    }

    fn id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn child(&self) -> Result<&Child> {
        self.child.as_ref().ok_or_else(|| End::Died.error())
    }

    fn tell(&self, call: Call) -> Result<()> {
        let bytes = wire::pack(&Request { id: self.id(), call });
        let bytes = bytes.map_err(|error| Error::apart(&error.to_string()))?;
        self.child()?.requests.send(bytes).map_err(|_| End::Died.error())
    }

    async fn call(&self, call: Call, within: Duration) -> Result<Answer> {
        let (id, child) = (self.id(), self.child()?);
        let bytes = wire::pack(&Request { id, call });
        let bytes = bytes.map_err(|error| Error::apart(&error.to_string()))?;
        let (answer, answered) = oneshot::channel();
        {
            let mut calls = lock(&child.shared.calls);
            if let Some(end) = calls.end {
                return Err(end.error());
            }
            calls.waiting.insert(id, answer);
        }
        let mut given_up = GivenUp { remote: self, id, done: false };
        child.requests.send(bytes).map_err(|_| End::Died.error())?;
        let result = match tokio::time::timeout(within + GRACE, answered).await {
            Ok(result) => result.unwrap_or_else(|_| Err(End::Died.error())),
            Err(_) => {
                let end = End::Late(u32::try_from(within.as_secs()).unwrap_or(u32::MAX));
                child.shared.end(end);
                Err(end.error())
            }
        };
        given_up.done = true;
        result
    }
}

/// Cancels a call that is dropped before its reply.
struct GivenUp<'a> {
    remote: &'a Remote,
    id: u64,
    done: bool,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        self.remote.spoiled.store(true, Ordering::Relaxed);
        if let Ok(child) = self.remote.child() {
            lock(&child.shared.calls).waiting.remove(&self.id);
        }
        let _it_ended = self.remote.tell(Call::Cancel { of: self.id });
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let closed = !self.spoiled.load(Ordering::Relaxed) && self.tell(Call::Close).is_ok();
        let Some(child) = self.child.take() else { return };
        let usable = closed && lock(&child.shared.calls).end.is_none();
        if !usable || child.shared.memory() > self.pool.memory / 8 {
            return child.shared.end(End::Died);
        }
        let mut idle = lock(&self.pool.idle);
        if idle.len() < IDLE {
            idle.push(child);
        }
    }
}

fn rows(answer: Answer) -> Result<(Frame, bool)> {
    match answer {
        Answer::Rows { frame, cut, .. } => Ok((frame, cut)),
        _ => Err(Error::apart("it answered something else than was asked")),
    }
}
