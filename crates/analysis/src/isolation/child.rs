//! The child process: one session at a time, with requests on standard input and replies on
//! standard output.

use super::wire::{self, Answer, Call, Reply, Request};
use crate::error::{Error, Reported, Result};
use crate::session::Session;
use rustix::process::{Resource, Rlimit, nice, setrlimit};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

/// The niceness of a child: it yields to its parent.
const NICE: i32 = 10;

/// Kernel limits of this process. The parent monitors its memory more closely; these limits apply
/// if that is too slow.
pub fn confine(memory: u64) -> std::io::Result<()> {
    let limit = |bytes| Rlimit { current: Some(bytes), maximum: Some(bytes) };
    setrlimit(Resource::Core, limit(0))?;
    // The allocator reserves more than it uses.
    setrlimit(Resource::Data, limit(memory.saturating_mul(2).saturating_add(4 << 30)))?;
    nice(NICE)?;
    Ok(())
}

/// Answers requests until the input ends.
pub async fn serve(
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (replies, mut waiting) = mpsc::unbounded_channel::<Vec<u8>>();
    let mut writer = JoinSet::new();
    writer.spawn(async move {
        while let Some(bytes) = waiting.recv().await {
            wire::send(&mut output, &bytes).await?;
        }
        std::io::Result::Ok(())
    });
    let mut work = Work { session: Arc::default(), running: JoinSet::new(), known: HashMap::new(), replies };
    while let Some(request) = wire::receive::<Request>(&mut input).await? {
        work.take(request);
    }
    drop(work);
    while let Some(ended) = writer.join_next().await {
        ended.map_err(std::io::Error::other)??;
    }
    Ok(())
}

/// The open session, shared by running calls.
type Open = Arc<RwLock<Option<Arc<Session>>>>;

struct Work {
    session: Open,
    running: JoinSet<()>,
    known: HashMap<u64, AbortHandle>,
    replies: mpsc::UnboundedSender<Vec<u8>>,
}

impl Work {
    fn take(&mut self, Request { id, call }: Request) {
        while self.running.try_join_next().is_some() {}
        self.known.retain(|_, call| !call.is_finished());
        match call {
            Call::Cancel { of } => {
                if let Some(call) = self.known.remove(&of) {
                    call.abort();
                }
            }
            Call::Withhold { columns } => {
                if let Some(session) = open(&self.session) {
                    session.withhold(columns);
                }
            }
            // In the order of the calls, so that a later statement finds the frame.
            Call::AddFrame { name, frame } => {
                if let Some(session) = open(&self.session) {
                    let _told_by_the_statement_that_reads_it = session.add_frame(&name, &frame);
                }
            }
            Call::Close => {
                self.running.abort_all();
                *self.session.write().unwrap_or_else(PoisonError::into_inner) = None;
                reply(&self.replies, id, Ok(Answer::Done));
            }
            call => {
                let (session, replies) = (self.session.clone(), self.replies.clone());
                let handle = self.running.spawn(async move {
                    reply(&replies, id, carry_out(&session, call).await);
                });
                self.known.insert(id, handle);
            }
        }
    }
}

fn open(session: &Open) -> Option<Arc<Session>> {
    session.read().unwrap_or_else(PoisonError::into_inner).clone()
}

async fn carry_out(open_session: &Open, call: Call) -> Result<Answer> {
    if let Call::Open { named, options } = &call {
        let session = Session::open_here(named, *options, &|_| ()).await?;
        let description = session.describe();
        *open_session.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(session));
        return Ok(Answer::Opened(Box::new(description)));
    }
    let session = open(open_session).ok_or_else(|| Error::apart("no session is open"))?;
    match call {
        Call::Run { statement } => {
            let before = session.bytes_fetched();
            let ran = session.run_statement(&statement).await?;
            let fetched = session.bytes_fetched() - before;
            Ok(Answer::Rows { frame: wire::fit(ran.frame)?, cut: ran.cut, fetched })
        }
        Call::Materialise { statement, name } => {
            let frame = session.materialise_statement(&statement, &name).await?;
            Ok(Answer::Rows { frame, cut: false, fetched: 0 })
        }
        Call::Head { table, rows } => {
            let (frame, cut) = session.head(&table, rows).await?;
            Ok(Answer::Rows { frame: wire::fit(frame)?, cut, fetched: 0 })
        }
        _ => Ok(Answer::Done),
    }
}

fn reply(replies: &mpsc::UnboundedSender<Vec<u8>>, id: u64, result: Result<Answer>) {
    let result = result.map_err(|error| Reported::of(&error));
    let packed = wire::pack(&Reply { id, result }).or_else(|_| {
        let error = Error::Output { megabytes: wire::LONGEST >> 20 };
        wire::pack(&Reply { id, result: Err(Reported::of(&error)) })
    });
    if let Ok(bytes) = packed {
        let _parent_is_gone = replies.send(bytes);
    }
}
