//! The journal's tables: chains, entries, payloads, and the log's signed head.

use crate::audit::RawPayload;
use crate::error::{Error, Result};
use crate::interface::StoreOptions;
use crate::query::{Head, LogEntry, Scope};
use crate::words::{int, uint};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::HashMap;
use steward_domain::{ChainId, EntryId, EventType, PayloadId, Timestamp, UserId};
use steward_journal::merkle::Edge;
use steward_journal::note::{Checkpoint, NoteSigner};
use steward_journal::payload::{Content, Payload};
use steward_journal::{ChainTip, Hash, Prepared, Sealed, seal};
use uuid::Uuid;

/// The writer's cache between transactions: the tree's edge and the ends of chains.
pub(super) struct Log {
    edge: Edge,
    signed: u64,
    tips: HashMap<ChainId, ChainState>,
    /// SQLite's counter of commits by other connections: when it changes, the cache may be stale.
    data_version: i64,
}

/// A cached chain: its row, its owner, its end.
struct ChainState {
    row: i64,
    owner: UserId,
    tip: ChainTip,
    last: Option<u64>,
}

/// One in this many entries of a chain is marked, as a start for backward traversals.
const MARK: u64 = 64;

/// Maximum number of cached chains; more than are in use at once.
const TIPS: usize = 10_000;

/// The position of the log before a savepoint.
pub(super) struct Mark {
    edge: Edge,
}

impl Log {
    pub(super) fn load(connection: &Connection, signer: &NoteSigner) -> Result<Self> {
        check_key(connection, signer)?;
        let edge = stored_edge(connection)?;
        Ok(Self { signed: edge.size(), edge, tips: HashMap::new(), data_version: data_version(connection)? })
    }

    /// Reloads what another process may have changed. Called inside the transaction, so it cannot
    /// change afterwards.
    pub(super) fn refresh(&mut self, connection: &Connection, signer: &NoteSigner) -> Result<()> {
        if data_version(connection)? != self.data_version {
            *self = Self::load(connection, signer)?;
        }
        Ok(())
    }

    /// Clears the cache after a rollback.
    pub(super) fn forget(&mut self) {
        self.tips.clear();
        self.data_version = -1;
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { edge: self.edge.clone() }
    }

    pub(super) fn return_to(&mut self, mark: Mark) {
        self.edge = mark.edge;
        self.tips.clear();
    }
}

fn data_version(connection: &Connection) -> Result<i64> {
    Ok(connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
}

fn stored_edge(connection: &Connection) -> Result<Edge> {
    let row: Option<(i64, Vec<u8>)> = connection
        .query_row("SELECT size, peaks FROM log_head", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((size, peaks)) = row else { return Ok(Edge::default()) };
    let peaks = peaks.as_chunks::<32>().0.iter().map(|peak| Hash(*peak)).collect();
    Ok(Edge::from_parts(uint(size)?, peaks)?)
}

/// Refuses a home folder whose log was signed by a key other than the one in that folder.
fn check_key(connection: &Connection, signer: &NoteSigner) -> Result<()> {
    let log: Option<String> =
        connection.query_row("SELECT vkey FROM log_head", [], |row| row.get(0)).optional()?;
    let ours = signer.verifier().vkey();
    match log {
        Some(log) if log != ours => Err(Error::WrongKey { log, ours }),
        _ => Ok(()),
    }
}

/// Seals drafts onto a chain and writes them.
pub(super) fn append(
    connection: &Connection,
    options: &StoreOptions,
    log: &mut Log,
    owner: &UserId,
    chain: ChainId,
    prepared: &[Prepared],
) -> Result<Vec<Sealed>> {
    if prepared.is_empty() {
        return Ok(Vec::new());
    }
    let known = match log.tips.remove(&chain) {
        Some(known) => known,
        None => known_chain(connection, owner, chain)?,
    };
    if known.owner != *owner {
        return Err(Error::OtherOwner);
    }
    let ChainState { row, mut tip, mut last, .. } = known;
    let now = options.clock.now();
    let mut sealed = Vec::with_capacity(prepared.len());
    for draft in prepared {
        let (entry, payloads) = seal(&mut tip, draft.clone(), now)?;
        let index = log.edge.size();
        insert_entry(connection, index, row, last, &entry)?;
        if entry.sequence.is_multiple_of(MARK) {
            connection.prepare_cached("INSERT INTO chain_mark VALUES (?1, ?2, ?3)")?.execute(params![
                row,
                int(entry.sequence),
                int(index)
            ])?;
        }
        last = Some(index);
        for payload in &payloads {
            insert_payload(connection, owner, payload)?;
        }
        log.edge.push(entry.digest);
        sealed.push(entry);
    }
    connection
        .prepare_cached(
            "UPDATE chain SET entries = ?2, hash = ?3, digest = ?4, last_index = ?5 WHERE id = ?1",
        )?
        .execute(params![row, int(tip.entries), tip.hash.0, tip.digest.0, last.map(int)])?;
    if log.tips.len() >= TIPS {
        log.tips.clear();
    }
    log.tips.insert(chain, ChainState { row, owner: owner.clone(), tip, last });
    Ok(sealed)
}

/// A chain from its row, which is created if missing.
fn known_chain(connection: &Connection, owner: &UserId, chain: ChainId) -> Result<ChainState> {
    let found = connection
        .prepare_cached(
            "SELECT request_id, entries, hash, digest, user_id, id, last_index FROM chain WHERE request_id = ?1",
        )?
        .query_row([chain.0], |row| {
            Ok((row_tip(row), row.get::<_, String>(4)?, row.get(5)?, row.get::<_, Option<i64>>(6)?))
        })
        .optional()?;
    if let Some((tip, owner, row, last)) = found {
        return Ok(ChainState {
            row,
            owner: UserId::new(owner)?,
            tip: tip?,
            last: last.map(uint).transpose()?,
        });
    }
    let tip = ChainTip::empty(chain);
    connection
        .prepare_cached(
            "INSERT INTO chain (request_id, user_id, entries, hash, digest) VALUES (?1, ?2, 0, ?3, ?3)",
        )?
        .execute(params![chain.0, owner.as_str(), Hash::ZERO.0])?;
    Ok(ChainState { row: connection.last_insert_rowid(), owner: owner.clone(), tip, last: None })
}

fn insert_entry(
    connection: &Connection,
    index: u64,
    chain: i64,
    previous: Option<u64>,
    entry: &Sealed,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO journal_entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            int(index),
            chain,
            previous.map(int),
            int(entry.sequence),
            entry.entry_id.0,
            entry.timestamp.micros(),
            entry.event_type.name(),
            entry.event_data,
            entry.actor,
            entry.parent_hash.0,
            entry.hash.0,
            entry.parent_digest.0,
            entry.digest.0,
            entry.on_behalf,
        ])?;
    Ok(())
}

fn insert_payload(connection: &Connection, owner: &UserId, payload: &Payload) -> Result<()> {
    if let Content::Present { salt, body } = &payload.content {
        connection
            .prepare_cached("INSERT INTO payload VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL)")?
            .execute(params![payload.id.0, payload.chain.0, owner.as_str(), payload.sha256.0, salt, body])?;
    }
    Ok(())
}

/// Signs the log at the end of this transaction: entries and the head that covers them reach the
/// disk together.
pub(super) fn write_head(
    connection: &Connection,
    options: &StoreOptions,
    log: &mut Log,
) -> rusqlite::Result<()> {
    if log.signed == log.edge.size() {
        return Ok(());
    }
    let checkpoint = Checkpoint {
        origin: options.signer.origin().to_owned(),
        size: log.edge.size(),
        root: log.edge.root(),
    };
    let peaks: Vec<u8> = log.edge.peaks().iter().flat_map(|peak| peak.0).collect();
    connection
        .prepare_cached(
            "INSERT INTO log_head (id, size, root, peaks, note, vkey) VALUES (1, ?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (id) DO UPDATE SET size = ?1, root = ?2, peaks = ?3, note = ?4, vkey = ?5",
        )?
        .execute(params![
            int(checkpoint.size),
            checkpoint.root.0,
            peaks,
            options.signer.sign(&checkpoint),
            options.signer.verifier().vkey()
        ])?;
    log.signed = log.edge.size();
    Ok(())
}

fn row_tip(row: &Row<'_>) -> Result<ChainTip> {
    Ok(ChainTip {
        chain: ChainId(row.get(0)?),
        entries: uint(row.get(1)?)?,
        hash: Hash(row.get(2)?),
        digest: Hash(row.get(3)?),
    })
}

pub(super) fn tip(connection: &Connection, scope: &Scope, chain: ChainId) -> Result<Option<ChainTip>> {
    connection
        .prepare_cached(
            "SELECT request_id, entries, hash, digest FROM chain WHERE request_id = ?1 AND (?2 \
            IS NULL OR user_id = ?2)",
        )?
        .query_row(params![chain.0, user(scope)], |row| Ok(row_tip(row)))
        .optional()?
        .transpose()
}

pub(super) fn chains(
    connection: &Connection,
    scope: &Scope,
    after: Option<ChainId>,
    limit: u32,
) -> Result<Vec<ChainTip>> {
    connection
        .prepare_cached(
            "SELECT request_id, entries, hash, digest FROM chain
             WHERE (?1 IS NULL OR request_id > ?1) AND (?2 IS NULL OR user_id = ?2) ORDER BY request_id LIMIT ?3",
        )?
        .query_map(params![after.map(|chain| chain.0), user(scope), limit], |row| Ok(row_tip(row)))?
        .map(|tip| tip?)
        .collect()
}

const ENTRY: &str = "log_index, c.request_id, sequence_number, entry_id, timestamp, event_type, event_data, \
    actor, parent_hash, e.hash,
    parent_digest, e.digest, e.on_behalf, c.user_id FROM journal_entry e JOIN chain c ON c.id = e.chain_id";

fn row_entry(row: &Row<'_>) -> Result<LogEntry> {
    let event_type: String = row.get(5)?;
    let entry = Sealed {
        chain: ChainId(row.get(1)?),
        sequence: uint(row.get(2)?)?,
        entry_id: EntryId(row.get(3)?),
        timestamp: Timestamp::from_micros(row.get(4)?),
        event_type: EventType::from_name(&event_type)
            .ok_or_else(|| Error::BadRow(format!("event type {event_type:?}")))?,
        event_data: row.get(6)?,
        actor: row.get(7)?,
        on_behalf: row.get(12)?,
        parent_hash: Hash(row.get(8)?),
        hash: Hash(row.get(9)?),
        parent_digest: Hash(row.get(10)?),
        digest: Hash(row.get(11)?),
    };
    Ok(LogEntry { index: Some(uint(row.get(0)?)?), owner: row.get(13)?, entry })
}

pub(super) fn entries(
    connection: &Connection,
    scope: &Scope,
    chain: ChainId,
    after: u64,
    limit: u32,
) -> Result<Vec<LogEntry>> {
    // The traversal starts at the first mark that covers the range, or at the end of the chain.
    let range = "WITH RECURSIVE wanted AS (
            SELECT coalesce((SELECT log_index FROM chain_mark m WHERE m.chain_id = chain.id AND \
            m.sequence_number >= ?2 + ?4
                             ORDER BY m.sequence_number LIMIT 1), last_index) AS start
            FROM chain WHERE request_id = ?1 AND (?3 IS NULL OR user_id = ?3)
        ), back (place, previous, sequence) AS (
            SELECT log_index, previous_index, sequence_number FROM journal_entry JOIN wanted ON log_index = start
            WHERE sequence_number > ?2
            UNION ALL
            SELECT log_index, previous_index, sequence_number FROM back JOIN journal_entry ON log_index = previous
            WHERE sequence_number > ?2
        )";
    connection
        .prepare_cached(&format!(
            "{range} SELECT {ENTRY} JOIN back ON log_index = place ORDER BY sequence LIMIT ?4"
        ))?
        .query_map(params![chain.0, int(after), user(scope), limit], |row| Ok(row_entry(row)))?
        .map(|entry| entry?)
        .collect()
}

pub(super) fn log(connection: &Connection, from: u64, limit: u32) -> Result<Vec<LogEntry>> {
    connection
        .prepare_cached(&format!("SELECT {ENTRY} WHERE log_index >= ?1 ORDER BY log_index LIMIT ?2"))?
        .query_map(params![int(from), limit], |row| Ok(row_entry(row)))?
        .map(|entry| entry?)
        .collect()
}

pub(super) fn payloads(connection: &Connection, scope: &Scope, chain: ChainId) -> Result<Vec<RawPayload>> {
    connection
        .prepare_cached(
            "SELECT payload_id, request_id, sha256, salt, body, erased_at FROM payload
             WHERE request_id = ?1 AND (?2 IS NULL OR user_id = ?2) ORDER BY payload_id",
        )?
        .query_map(params![chain.0, user(scope)], |row| {
            Ok(RawPayload {
                id: PayloadId(row.get(0)?),
                chain: ChainId(row.get(1)?),
                sha256: row.get(2)?,
                salt: row.get(3)?,
                body: row.get(4)?,
                erased_at: row.get::<_, Option<i64>>(5)?.map(Timestamp::from_micros),
            })
        })?
        .map(|payload| Ok(payload?))
        .collect()
}

/// Erases one payload of the owner.
pub(super) fn erase(
    connection: &Connection,
    owner: Option<&str>,
    id: PayloadId,
    at: Timestamp,
) -> Result<()> {
    let erased = connection
        .prepare_cached(
            "UPDATE payload SET salt = NULL, body = NULL, erased_at = ?2 WHERE payload_id = ?1 \
            AND erased_at IS NULL AND (?3 IS NULL OR user_id = ?3)",
        )?
        .execute(params![id.0, at.micros(), owner])?;
    if erased == 1 {
        Ok(())
    } else {
        Err(Error::NotFound { what: "payload that is not erased yet,", id: id.to_string() })
    }
}

/// Erases all payloads of a chain.
pub(super) fn erase_chain(connection: &Connection, chain: Uuid, at: Timestamp) -> Result<u64> {
    let erased = connection
        .prepare_cached(
            "UPDATE payload SET salt = NULL, body = NULL, erased_at = ?2 WHERE request_id = ?1 \
            AND erased_at IS NULL",
        )?
        .execute(params![chain, at.micros()])?;
    Ok(erased as u64)
}

pub(super) fn head(connection: &Connection) -> Result<Option<Head>> {
    connection
        .query_row("SELECT size, root, note, vkey FROM log_head", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?
        .map(|(size, root, note, vkey)| Ok(Head { size: uint(size)?, root: Hash(root), note, vkey }))
        .transpose()
}

/// The user to compare with; none for the system.
pub(super) fn user(scope: &Scope) -> Option<&str> {
    scope.user().map(|user| user.as_str())
}
