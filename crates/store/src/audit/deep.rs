//! The deep audit: compares rows, payloads and files with the journal.
//!
//! Every commit writes the seals of its rows into the journal ([`crate::sealed`]). The audit reads
//! the rows of the store and compares each with its last seal. A row without a seal was added by
//! other means. A sealed row that is missing must be explained by a deletion or by retention. An
//! erased payload must have been erased by an entry. Columns that lists and searches read must hold
//! what the bodies say ([`super::columns`]).
//!
//! The audit does not detect that the whole store was replaced by an older copy. Only a head that
//! was kept elsewhere proves that.

use super::{Error, PAGE, Result};
use crate::interface::Store;
use crate::query::{
    ConversationFilter, ExecutionFilter, InvocationFilter, LogEntry, Page, Scope, TaskFilter,
};
use crate::sealed::{self, DELETED, ERASED, MEMBER, VERSION};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use steward_domain::{
    Artifact, ChainId, ConversationId, ConversationStatus, EventType, SavedKind, TaskId, Timestamp,
};
use steward_journal::note::NoteSigner;

/// How far the times of consecutive entries may go back, in microseconds: the clocks of replicas
/// differ.
const BACKWARDS: i64 = 5 * 60 * 1_000_000;
/// How often the audit repeats when other processes write meanwhile.
const AGAIN: usize = 3;

/// The result of a deep audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Deep {
    /// Rows that match their seals.
    pub rows: u64,
    /// Rows from before sealing was introduced.
    pub unsealed: u64,
    /// Files that match their artifacts.
    pub files: u64,
    /// The findings, one sentence each.
    pub findings: Vec<String>,
}

/// The path of an artifact's file, and whether the store owns that file.
pub type Locate<'a> = dyn Fn(&Artifact) -> (PathBuf, bool) + Sync + 'a;

/// Compares rows, payloads and files with the journal. The journal itself must have been verified
/// first.
pub async fn verify_deep(store: &dyn Store, signer: &NoteSigner, locate: &Locate<'_>) -> Result<Deep> {
    let mut deep = Deep::default();
    for _ in 0..AGAIN {
        let before = store.head().await?.map_or(0, |head| head.size);
        deep = Audit::default().run(store, signer, locate).await?;
        let after = store.head().await?.map_or(0, |head| head.size);
        // Rows that were written between the two reads look wrong once, but not twice.
        if deep.findings.is_empty() || before == after {
            break;
        }
    }
    Ok(deep)
}

/// A row with its last seal.
pub(super) struct Sealed {
    pub(super) seal: String,
    pub(super) chain: ChainId,
    pub(super) seen: bool,
}

#[derive(Default)]
pub(super) struct Audit {
    pub(super) deep: Deep,
    pub(super) sealed: HashMap<(String, String), Sealed>,
    /// The log index of each message.
    said: HashMap<String, u64>,
    /// Chains with entries from before sealing was introduced.
    older: BTreeSet<ChainId>,
    /// The time of the first seal.
    since: Option<Timestamp>,
    /// The time of the first seal of the present version, and whether there are seals before it.
    version: (Option<Timestamp>, bool),
    /// The owner of each chain, as the journal says.
    pub(super) owners: HashMap<ChainId, String>,
    /// Chains whose payloads were erased by an entry.
    erasing: BTreeSet<ChainId>,
    /// What retention purged, by kind and action.
    purged: BTreeMap<(String, String), u64>,
    latest: Option<Timestamp>,
}

impl Audit {
    async fn run(mut self, store: &dyn Store, signer: &NoteSigner, locate: &Locate<'_>) -> Result<Deep> {
        let mut from = 0;
        loop {
            let page = store.log(from, PAGE).await?;
            let Some(last) = page.last().and_then(|entry| entry.index) else { break };
            from = last + 1;
            for entry in &page {
                self.read(entry)?;
            }
        }
        let deleted = self.conversations(store, signer).await?;
        let tasks = self.tasks(store, signer).await?;
        self.calls(store, signer).await?;
        self.documents(store, signer, locate).await?;
        self.saved_items(store, signer).await?;
        self.recipes(store, signer).await?;
        self.decisions(store, signer).await?;
        self.ticks(store, signer).await?;
        self.columns(store).await?;
        self.missing(&deleted, &tasks);
        self.payloads(store, &deleted, &tasks).await?;
        Ok(self.deep)
    }

    pub(super) fn finding(&mut self, what: String) {
        self.deep.findings.push(what);
    }

    /// Reads the seals of an entry.
    fn read(&mut self, LogEntry { entry, index, owner }: &LogEntry) -> Result<()> {
        let _first = self.owners.entry(entry.chain).or_insert_with(|| owner.clone());
        if let Some(latest) =
            self.latest.filter(|latest| entry.timestamp.micros() + BACKWARDS < latest.micros())
        {
            let (chain, sequence) = (entry.chain, entry.sequence);
            self.finding(format!(
                "the clock went back: entry {sequence} of {chain} is dated {}, after one of {latest}",
                entry.timestamp
            ));
        }
        self.latest = self.latest.max(Some(entry.timestamp));
        let seals = entry.event_data.contains(MEMBER);
        if self.since.is_none() && !seals && entry.chain != ChainId::SYSTEM {
            self.older.insert(entry.chain);
        }
        match entry.event_type {
            EventType::PayloadErased => {
                self.erasing.insert(entry.chain);
            }
            EventType::RetentionApplied => {
                let data: Value = serde_json::from_str(&entry.event_data)?;
                for purge in data.get("purged").and_then(Value::as_array).into_iter().flatten() {
                    let text =
                        |name: &str| purge.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                    let count = purge.get("count").and_then(Value::as_u64).unwrap_or(0);
                    *self.purged.entry((text("kind"), text("action"))).or_default() += count;
                }
            }
            _ => {}
        }
        if !seals {
            return Ok(());
        }
        self.since.get_or_insert(entry.timestamp);
        let data: Value = serde_json::from_str(&entry.event_data)?;
        self.read_version(data.get(MEMBER), entry.timestamp);
        for (row, seal) in data.get(MEMBER).and_then(Value::as_object).into_iter().flatten() {
            let Some((kind, id)) = row.split_once('/') else { continue };
            if kind == "message" {
                self.said.entry(id.to_owned()).or_insert(index.unwrap_or_default());
            }
            let seal = seal.as_str().unwrap_or_default().to_owned();
            let row = Sealed { seal, chain: entry.chain, seen: false };
            let key = (kind.to_owned(), id.to_owned());
            // A gate is decided once: later entries name the call that its approval releases.
            if kind == "decision" {
                let _first = self.sealed.entry(key).or_insert(row);
            } else {
                self.sealed.insert(key, row);
            }
        }
        Ok(())
    }

    /// Notes whether seals cover decisions, ticks and recipes from here on.
    fn read_version(&mut self, seals: Option<&Value>, at: Timestamp) {
        let is_present = seals.is_some_and(|seals| seals.get(VERSION.0).is_some());
        match &mut self.version {
            (Some(_), _) => {}
            (since, _) if is_present => *since = Some(at),
            (None, has_older) => *has_older = true,
        }
    }

    /// Whether a row of this time may be from before rows of its kind were sealed.
    pub(super) fn may_lack_seal(&self, at: Timestamp) -> bool {
        let (since, has_older) = self.version;
        has_older && since.is_none_or(|since| at < since)
    }

    fn purged(&self, kind: &str, action: &str) -> u64 {
        self.purged.get(&(kind.to_owned(), action.to_owned())).copied().unwrap_or(0)
    }

    /// Compares one row with its seal. `older` says whether it may predate sealing.
    pub(super) fn check(&mut self, kind: &str, id: &str, seal: &str, older: bool) {
        match self.sealed.get_mut(&(kind.to_owned(), id.to_owned())) {
            Some(known) => {
                known.seen = true;
                if known.seal == seal {
                    self.deep.rows += 1;
                } else {
                    self.finding(format!(
                        "{kind} {id} was changed: it is not what the journal says was written"
                    ));
                }
            }
            None if older => self.deep.unsealed += 1,
            None => {
                self.finding(format!("{kind} {id} was added by other means: the journal does not know it"));
            }
        }
    }

    /// Conversations and their messages. Returns the chains of deleted conversations.
    async fn conversations(&mut self, store: &dyn Store, signer: &NoteSigner) -> Result<BTreeSet<ChainId>> {
        let (mut deleted, mut unexplained, mut archived) = (BTreeSet::new(), 0, 0);
        let mut page = Page::first(PAGE);
        loop {
            let rows = store.conversations(&Scope::System, ConversationFilter::default(), page).await?;
            for row in &rows {
                let (id, chain) = (row.id.to_string(), ChainId::from(row.id));
                let older = self.older.contains(&chain) || self.since.is_none();
                let told = self.sealed.get(&("status".to_owned(), id.clone())).map(|told| told.seal.clone());
                let stands = crate::words::word(&row.status)?;
                match (told.as_deref(), row.status) {
                    (Some(told), _) if told == stands => {}
                    (None | Some("active"), ConversationStatus::Active) => {}
                    (Some(told), ConversationStatus::Active) => {
                        self.finding(format!("conversation {id} is active, and the journal says {told}"));
                    }
                    (_, ConversationStatus::Archived) => archived += u64::from(!older),
                    (_, ConversationStatus::Deleted) => unexplained += u64::from(!older),
                }
                if sealed::is_deleted(row) {
                    deleted.insert(chain);
                    if let Some(known) = self.sealed.get_mut(&("conversation".to_owned(), id)) {
                        known.seen = true;
                    }
                    continue;
                }
                self.check("conversation", &id, &sealed::of_conversation(signer, row)?, older);
                self.messages(store, signer, row.id, older).await?;
            }
            if rows.len() < PAGE as usize {
                break;
            }
            page.offset += PAGE;
        }
        for (count, action) in [(unexplained, "deleted"), (archived, "archived")] {
            if count > self.purged("conversation", action) {
                self.finding(format!("{count} conversations are {action} without an entry that says so"));
            }
        }
        Ok(deleted)
    }

    async fn messages(
        &mut self,
        store: &dyn Store,
        signer: &NoteSigner,
        conversation: ConversationId,
        older: bool,
    ) -> Result<()> {
        let (mut page, mut last) = (Page::first(PAGE), None);
        loop {
            let rows = store.history(&Scope::System, conversation, page).await?;
            for row in &rows {
                let id = row.id.to_string();
                self.check("message", &id, &sealed::of_message(signer, row)?, older);
                let place = self.said.get(&id).copied();
                if place.is_some() && place < last {
                    self.finding(format!("message {id} stands elsewhere than where it was said"));
                }
                last = place.or(last);
            }
            if rows.len() < PAGE as usize {
                return Ok(());
            }
            page.offset += PAGE;
        }
    }

    /// Tasks. Returns the chains of existing tasks.
    async fn tasks(&mut self, store: &dyn Store, signer: &NoteSigner) -> Result<BTreeSet<ChainId>> {
        let (mut there, mut page) = (BTreeSet::new(), Page::first(PAGE));
        loop {
            let rows = store.tasks(&Scope::System, TaskFilter::default(), page).await?;
            for row in &rows {
                let chain = ChainId::from(row.id);
                there.insert(chain);
                let older = self.older.contains(&chain);
                if store.task(&Scope::User(row.user_id.clone()), row.id).await?.is_none() {
                    self.finding(format!("task {} was given to another than {}", row.id, row.user_id));
                }
                self.check("task", &row.id.to_string(), &sealed::of(signer, "task", &**row)?, older);
            }
            if rows.len() < PAGE as usize {
                return Ok(there);
            }
            page.offset += PAGE;
        }
    }

    /// Agent runs and tool calls.
    async fn calls(&mut self, store: &dyn Store, signer: &NoteSigner) -> Result<()> {
        let since = self.since;
        let has_older = !self.older.is_empty();
        let older = move |at: Timestamp| has_older && since.is_none_or(|since| at < since);
        let mut page = Page::first(PAGE);
        loop {
            let rows = store.invocations(&Scope::System, InvocationFilter::default(), page).await?;
            for row in &rows {
                let seal = sealed::of_invocation(signer, row)?;
                self.check("invocation", &row.id.to_string(), &seal, older(row.invocation_start));
            }
            if rows.len() < PAGE as usize {
                break;
            }
            page.offset += PAGE;
        }
        let mut page = Page::first(PAGE);
        loop {
            let rows = store.executions(&Scope::System, ExecutionFilter::default(), page).await?;
            for row in &rows {
                let seal = sealed::of(signer, "execution", &**row)?;
                self.check("execution", &row.id.to_string(), &seal, older(row.execution_start));
            }
            if rows.len() < PAGE as usize {
                return Ok(());
            }
            page.offset += PAGE;
        }
    }

    /// Documents of tasks: requests, plans, checkpoints, sessions, artifacts with their files.
    async fn documents(&mut self, store: &dyn Store, signer: &NoteSigner, locate: &Locate<'_>) -> Result<()> {
        let mut after = None;
        loop {
            let page = store.chains(&Scope::System, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.chain);
            for tip in page.iter().filter(|tip| tip.chain != ChainId::SYSTEM) {
                let (task, older) = (TaskId(tip.chain.0), self.older.contains(&tip.chain));
                if let Some(row) = store.request(&Scope::System, task).await? {
                    let seal = sealed::of(signer, "request", &*row)?;
                    self.check("request", &row.request_id.to_string(), &seal, older);
                }
                for row in store.plans(&Scope::System, task).await? {
                    let seal = sealed::of(signer, "plan", &*row)?;
                    self.check("plan", &row.plan_id.to_string(), &seal, older);
                }
                for row in store.checkpoints(&Scope::System, task).await? {
                    let seal = sealed::of(signer, "checkpoint", &*row)?;
                    self.check("checkpoint", &row.checkpoint_id.to_string(), &seal, older);
                }
                for row in store.sessions(&Scope::System, task).await? {
                    let seal = sealed::of(signer, "session", &*row)?;
                    self.check("session", &row.session_id.to_string(), &seal, older);
                }
                for row in store.artifacts(&Scope::System, task).await? {
                    let seal = sealed::of(signer, "artifact", &*row)?;
                    self.check("artifact", &row.artifact_id.to_string(), &seal, older);
                    self.file(tip.chain, &row, locate);
                }
            }
        }
    }

    /// Saved items.
    async fn saved_items(&mut self, store: &dyn Store, signer: &NoteSigner) -> Result<()> {
        for kind in SavedKind::ALL {
            let mut page = Page::first(PAGE);
            loop {
                let rows = store.saved_items(&Scope::System, *kind, page).await?;
                for row in &rows {
                    let seal = sealed::of(signer, kind.name(), &**row)?;
                    self.check(kind.name(), &row.id().to_string(), &seal, false);
                }
                if rows.len() < PAGE as usize {
                    break;
                }
                page.offset += PAGE;
            }
        }
        Ok(())
    }

    fn file(&mut self, chain: ChainId, row: &Artifact, locate: &Locate<'_>) {
        let (path, ours) = locate(row);
        match std::fs::read(&path) {
            Ok(bytes) if steward_journal::Hash::of(&[&bytes]).to_domain() == row.content_hash => {
                self.deep.files += 1;
            }
            Ok(_) => self.finding(format!(
                "the file of artifact {} was changed: {}",
                row.artifact_id,
                path.display()
            )),
            // Files of a deleted conversation are deleted with it, and a file outside the store
            // belongs to the user who requested it there.
            Err(_) if !ours || self.erasing.contains(&chain) => {}
            Err(error) => {
                self.finding(format!(
                    "the file of artifact {} is gone: {}: {error}",
                    row.artifact_id,
                    path.display()
                ));
            }
        }
    }

    /// Whether a task of this chain was ever written: retention takes its documents with it.
    fn had_task(&self, chain: ChainId) -> bool {
        self.sealed.contains_key(&("task".to_owned(), TaskId(chain.0).to_string()))
            || self.older.contains(&chain)
    }

    /// Sealed rows that are missing: deleted on purpose, purged by retention, or removed by other
    /// means.
    fn missing(&mut self, deleted: &BTreeSet<ChainId>, tasks: &BTreeSet<ChainId>) {
        let mut gone: BTreeMap<&str, u64> = BTreeMap::new();
        let mut findings = Vec::new();
        for ((kind, id), row) in self.sealed.iter().filter(|(_, row)| !row.seen) {
            match kind.as_str() {
                _ if row.seal == DELETED => {}
                "message" if deleted.contains(&row.chain) => {}
                "request" | "plan" | "checkpoint" | "session" | "artifact" | "decision"
                    if !tasks.contains(&row.chain) && self.had_task(row.chain) => {}
                "task" => *gone.entry("task").or_default() += 1,
                "invocation" => *gone.entry("tool_invocation").or_default() += 1,
                "execution" => *gone.entry("agent_execution").or_default() += 1,
                "payload" | "status" | "released" | "settled" => {}
                _ => findings.push(format!("{kind} {id} is gone, and no entry says that it was deleted")),
            }
        }
        for (kind, count) in gone {
            let purged = self.purged(kind, "deleted");
            if count > purged {
                findings.push(format!("{count} rows of {kind} are gone, and retention took {purged}"));
            }
        }
        findings.sort();
        self.deep.findings.extend(findings);
    }

    /// Erased payloads must have been erased by an entry, with their conversation, or by retention.
    async fn payloads(
        &mut self,
        store: &dyn Store,
        deleted: &BTreeSet<ChainId>,
        tasks: &BTreeSet<ChainId>,
    ) -> Result<()> {
        let (mut after, mut by_retention) = (None, 0);
        loop {
            let page = store.chains(&Scope::System, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.chain);
            for tip in &page {
                for payload in store.payloads(&Scope::System, tip.chain).await? {
                    let Some(at) = payload.erased_at else { continue };
                    let told = self.sealed.get(&("payload".to_owned(), payload.id.to_string()));
                    let told = told.is_some_and(|told| told.seal == ERASED) || deleted.contains(&tip.chain);
                    let older = self.since.is_none_or(|since| at < since) && self.older.contains(&tip.chain);
                    if told || older {
                        continue;
                    }
                    if tasks.contains(&tip.chain) || tip.chain == ChainId::SYSTEM {
                        self.finding(format!(
                            "payload {} of {} was erased without an entry",
                            payload.id, tip.chain
                        ));
                    } else {
                        by_retention += 1;
                    }
                }
            }
        }
        let purged = self.purged("payload", "erased");
        if by_retention > purged {
            self.finding(format!(
                "{by_retention} payloads are erased without an entry, and retention took {purged}"
            ));
        }
        Ok(())
    }
}

impl From<Deep> for std::result::Result<Deep, Error> {
    fn from(deep: Deep) -> Self {
        match deep.findings.split_first() {
            None => Ok(deep),
            Some((first, rest)) => {
                let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
                Err(steward_journal::Error::Rows(format!("{first}{more}")).into())
            }
        }
    }
}
