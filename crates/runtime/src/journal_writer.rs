//! The only writer of the journal. It collects the entries of a task and its calls until they must
//! be on disk.
//!
//! Invariants
//! - Nothing else in this crate commits to the store. [tidy: `one_journal_writer`]
//! - Entries reach the journal in the order in which they were added, in one transaction with their
//!   changes.
//! - Before a call with side effects is sent, everything added so far is on disk: the sender
//!   flushes first. A read is sent at once, and its result waits for a flush. Steps that are not
//!   visible from outside share one sync.
//! - A writer that failed once writes nothing more: its entries are not written in part, and the
//!   run is resumed from what is on disk.

use crate::crash::{self, CrashPoint};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use steward_domain::{ChainId, Coded as _, ErrorClass, EventType, Label, TaskId, Timestamp, UserId};
use steward_journal::Draft;
use steward_store::{Change, Commit, Committed, Durability, Error, Lease, Result, Scope, Store};

/// The maximum number of collected entries, which limits what a crash can lose.
const MAX_BUFFERED_ENTRIES: usize = 256;

/// Writes one chain.
pub(crate) struct JournalWriter {
    store: Arc<dyn Store>,
    user: UserId,
    chain: ChainId,
    waiting: Mutex<PendingWrites>,
    /// The lock of a flush. It also holds the lease, or the failure of an earlier flush.
    turn: tokio::sync::Mutex<Held>,
}

/// Entries and changes that are not on disk yet.
#[derive(Default)]
struct PendingWrites {
    entries: Vec<Draft>,
    changes: Vec<Change>,
}

struct Held {
    lease: Option<Lease>,
    broken: Option<Broken>,
    /// Whether everything that was passed to the store is synced, not only written.
    is_on_disk: bool,
}

/// Why the writer writes nothing more.
enum Broken {
    /// Another holder has the task.
    Lost,
    /// The store failed temporarily.
    Passing(String),
    /// The store rejected the write.
    Lasting(String),
}

impl Broken {
    fn by(error: &Error) -> Self {
        match error {
            Error::LeaseLost => Self::Lost,
            other if other.class() == ErrorClass::Transient => Self::Passing(other.to_string()),
            other => Self::Lasting(other.to_string()),
        }
    }

    /// The error of the next write.
    fn error(&self) -> Error {
        let earlier = |why: &String| format!("an earlier write of this task failed: {why}");
        match self {
            Self::Lost => Error::LeaseLost,
            Self::Passing(why) => Error::Busy { detail: earlier(why) },
            Self::Lasting(why) => Error::Database(earlier(why)),
        }
    }
}

impl JournalWriter {
    /// A writer for this chain. With a lease, writes fail once another holder has the task.
    pub(crate) fn new(store: Arc<dyn Store>, user: UserId, chain: ChainId, lease: Option<Lease>) -> Self {
        let turn = tokio::sync::Mutex::new(Held { lease, broken: None, is_on_disk: true });
        Self { store, user, chain, waiting: Mutex::default(), turn }
    }

    /// Adds entries and changes to the next flush.
    pub(crate) fn note(
        &self,
        entries: impl IntoIterator<Item = Draft>,
        changes: impl IntoIterator<Item = Change>,
    ) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entries.extend(entries);
        waiting.changes.extend(changes);
    }

    /// Whether enough entries are collected to write them.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).entries.len() >= MAX_BUFFERED_ENTRIES
    }

    /// Adds one entry, with personal data that is stored by salted hash and can be erased.
    pub(crate) fn entry(
        &self,
        event: EventType,
        actor: &str,
        data: Json,
        personal: Map<String, Json>,
    ) -> crate::Result<()> {
        let Json::Object(data) = data else {
            return Err(crate::Error::Stored("an entry is an object".to_owned()));
        };
        let mut draft = Draft::new(event, Label::new(actor)?, data);
        draft.personal = personal;
        self.note([draft], []);
        Ok(())
    }

    /// Writes one commit directly, for entries that belong to no task running here.
    pub(crate) async fn write_once(store: &dyn Store, scope: &Scope, commit: Commit) -> Result<Committed> {
        store.commit(scope, commit).await
    }

    /// Writes and syncs everything that was added.
    pub(crate) async fn flush(&self) -> Result<()> {
        self.commit_pending(Durability::Synced).await
    }

    /// Writes everything that was added. It survives this process; the next flush syncs it. That is
    /// enough before a read, whose result waits for a flush.
    pub(crate) async fn write(&self) -> Result<()> {
        self.commit_pending(Durability::WithNext).await
    }

    async fn commit_pending(&self, durability: Durability) -> Result<()> {
        let mut held = self.turn.lock().await;
        if let Some(broken) = &held.broken {
            return Err(broken.error());
        }
        let PendingWrites { entries, changes } =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        // Without new entries a flush still has to sync what was only written.
        if entries.is_empty() && changes.is_empty() && (held.is_on_disk || durability == Durability::WithNext)
        {
            return Ok(());
        }
        match self.commit(&mut held, PendingWrites { entries, changes }, durability).await {
            Err(error) => {
                held.broken = Some(Broken::by(&error));
                Err(error)
            }
            ok => ok,
        }
    }

    /// Flushes, then writes these entries in a separate commit. If a decision exists already, the
    /// commit is refused, the writer stays usable, and the call that it would have released is not
    /// made.
    pub(crate) async fn flush_and_commit(
        &self,
        entries: impl IntoIterator<Item = Draft>,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<()> {
        self.flush().await?;
        let mut held = self.turn.lock().await;
        if let Some(broken) = &held.broken {
            return Err(broken.error());
        }
        let noted =
            PendingWrites { entries: entries.into_iter().collect(), changes: changes.into_iter().collect() };
        match self.commit(&mut held, noted, Durability::Synced).await {
            Err(error) if !matches!(error, Error::Decided { .. }) => {
                held.broken = Some(Broken::by(&error));
                Err(error)
            }
            other => other,
        }
    }

    async fn commit(&self, held: &mut Held, noted: PendingWrites, durability: Durability) -> Result<()> {
        let PendingWrites { entries, changes } = noted;
        let fence = held.lease.as_ref().map(Lease::fence);
        let commit =
            Commit { owner: self.user.clone(), chain: self.chain, entries, changes, fence, durability };
        crash::here(CrashPoint::BeforeFlush);
        let committed = self.store.commit(&Scope::User(self.user.clone()), commit).await?;
        crash::here(CrashPoint::AfterFlush);
        held.lease = committed.lease.or_else(|| held.lease.take());
        held.is_on_disk = durability == Durability::Synced;
        Ok(())
    }

    /// Renews the lease. A lost lease ends the writer.
    pub(crate) async fn renew(&self, until: Timestamp) -> Result<()> {
        let mut held = self.turn.lock().await;
        let Some(lease) = &held.lease else { return Ok(()) };
        match self.store.renew(lease, until).await {
            Ok(lease) => {
                held.lease = Some(lease);
                Ok(())
            }
            Err(error @ Error::LeaseLost) => {
                held.broken = Some(Broken::by(&error));
                Err(error)
            }
            Err(error) => Err(error),
        }
    }
}

/// The active writers by chain: a call that belongs to a task is written with the task's writer.
#[derive(Clone, Default)]
pub(crate) struct JournalWriters(Arc<Mutex<HashMap<ChainId, Weak<JournalWriter>>>>);

impl JournalWriters {
    pub(crate) fn put(&self, journal_writer: &Arc<JournalWriter>) {
        let mut journal_writers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Chains without a writer are removed each time the map has doubled.
        if journal_writers.len() >= 64 && journal_writers.len().is_power_of_two() {
            journal_writers.retain(|_, journal_writer| journal_writer.strong_count() > 0);
        }
        journal_writers.insert(journal_writer.chain, Arc::downgrade(journal_writer));
    }

    pub(crate) fn of(&self, chain: ChainId) -> Option<Arc<JournalWriter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&chain)?.upgrade()
    }
}

/// The machine and its boot. Two machines may have the same name; containers on one machine have
/// separate process ids, but different names.
fn machine() -> String {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let name = read("/proc/sys/kernel/hostname").trim().replace('/', "-");
    let boot: String = read("/proc/sys/kernel/random/boot_id").chars().take(8).collect();
    format!("{name}-{boot}")
}

/// How to handle another holder of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseConflict {
    /// The holder keeps it.
    Free,
    /// It is taken from the holder.
    Anyhow,
}

/// A holder of tasks, and the lease duration without a renewal.
#[derive(Debug, Clone)]
pub struct LeaseHolder {
    /// The worker's name. It must be unique among running processes.
    pub name: Label,
    /// The duration of a lease.
    pub lease: std::time::Duration,
}

/// The default duration of a lease.
pub(crate) const LEASE: std::time::Duration = std::time::Duration::from_secs(30);

impl LeaseHolder {
    /// The holder of the questions and turns of this process: one name for all of them.
    pub(crate) fn this_process(context: &crate::ask::AppContext) -> crate::Result<&'static Self> {
        static HOLDER: OnceLock<LeaseHolder> = OnceLock::new();
        if let Some(holder) = HOLDER.get() {
            return Ok(holder);
        }
        let chance = context.random.uuid_v7(context.clock.now())?.simple().to_string();
        let holder = Self::for_this_process(&chance, LEASE)?;
        Ok(HOLDER.get_or_init(|| holder))
    }

    /// A unique name for this process: the machine, the process id, and a random part.
    pub(crate) fn for_this_process(chance: &str, lease: std::time::Duration) -> crate::Result<Self> {
        let short: String = chance.chars().rev().take(8).collect();
        let name = format!("{}/{}/{short}", machine(), std::process::id());
        Ok(Self { name: Label::new(name)?, lease })
    }

    /// Whether the holder of this name is an ended process of this machine: then its lease need not
    /// expire.
    pub(crate) fn is_gone(name: &Label) -> bool {
        let mut parts = name.as_str().split('/');
        let (here, process) = (parts.next() == Some(machine().as_str()), parts.next());
        let process = process.and_then(|process| process.parse::<u32>().ok());
        process.is_some_and(|id| here && !std::path::Path::new(&format!("/proc/{id}")).exists())
    }

    /// The end of a lease that starts now.
    #[must_use]
    pub fn until(&self, now: Timestamp) -> Timestamp {
        let micros = i64::try_from(self.lease.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(now.micros().saturating_add(micros))
    }

    /// Takes the lease of a task: unless another holder has it, or in any case.
    pub(crate) fn hold(&self, task: TaskId, now: Timestamp, taking: LeaseConflict) -> Change {
        let unless_held = (taking == LeaseConflict::Free).then_some(now);
        Change::Hold { task, worker: self.name.clone(), until: self.until(now), unless_held }
    }
}
