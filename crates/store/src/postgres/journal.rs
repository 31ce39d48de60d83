//! The tables of the journal. Entries are appended to their chain at once. The replica that holds
//! the log's lock adds them to the Merkle log soon after, so that appends of different tasks never
//! wait for each other.

use super::connection::{Database, Tx};
use crate::audit::RawPayload;
use crate::error::{Error, Result};
use crate::interface::StoreOptions;
use crate::query::{Head, LogEntry, Scope};
use crate::words::{int, uint};
use chrono::{DateTime, Utc};
use sqlx::Row;
use sqlx::postgres::PgRow;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{ChainId, EntryId, EventType, PayloadId, Timestamp, UserId};
use steward_journal::merkle::Edge;
use steward_journal::note::{Checkpoint, NoteSigner};
use steward_journal::payload::Content;
use steward_journal::{ChainTip, Hash, Prepared, Sealed, seal};
use tokio::sync::Notify;
use uuid::Uuid;

/// Advisory lock, held while entries are added to the log.
const LOG_LOCK: i64 = 0x7374_6577_6172_6402;

/// Entries added at once.
const BATCH: i64 = 10_000;

fn hash(bytes: &[u8]) -> Result<Hash> {
    bytes.try_into().map(Hash).map_err(|_| Error::BadRow(format!("a hash of {} bytes", bytes.len())))
}

pub(super) async fn check_key(db: &Database, signer: &NoteSigner) -> Result<()> {
    stored_edge(&mut db.begin(&Scope::System).await?, signer).await.map(drop)
}

/// Seals drafts onto a chain and writes them. The chain's row is locked, so that a chain has one
/// writer at a time.
pub(super) async fn append(
    tx: &mut Tx,
    options: &StoreOptions,
    owner: &UserId,
    chain: ChainId,
    prepared: Vec<Prepared>,
) -> Result<Vec<Sealed>> {
    if prepared.is_empty() {
        return Ok(Vec::new());
    }
    let mut tip = lock_chain(tx, owner, chain).await?;
    let now = options.clock.now();
    let mut sealed = Vec::with_capacity(prepared.len());
    let mut payloads = Vec::new();
    for draft in prepared {
        let (entry, aside) = seal(&mut tip, draft, now)?;
        sealed.push(entry);
        payloads.extend(aside);
    }
    insert_entries(tx, owner, &sealed).await?;
    for payload in payloads {
        if let Content::Present { salt, body } = payload.content {
            sqlx::query("INSERT INTO payload VALUES ($1, $2, $3, $4, $5, $6, NULL)")
                .bind(payload.id.0)
                .bind(payload.chain.0)
                .bind(owner.as_str())
                .bind(&payload.sha256.0[..])
                .bind(&salt[..])
                .bind(body)
                .execute(&mut **tx)
                .await?;
        }
    }
    sqlx::query("UPDATE chain SET entries = $2, hash = $3, digest = $4 WHERE request_id = $1")
        .bind(chain.0)
        .bind(int(tip.entries))
        .bind(&tip.hash.0[..])
        .bind(&tip.digest.0[..])
        .execute(&mut **tx)
        .await?;
    Ok(sealed)
}

/// The end of a chain of this owner, locked; a new chain is empty.
async fn lock_chain(tx: &mut Tx, owner: &UserId, chain: ChainId) -> Result<ChainTip> {
    const SELECT: &str =
        "SELECT request_id, entries, hash, digest, user_id FROM chain WHERE request_id = $1 FOR UPDATE";
    let mut found = sqlx::query(SELECT).bind(chain.0).fetch_optional(&mut **tx).await?;
    if found.is_none() {
        sqlx::query("INSERT INTO chain VALUES ($1, $2, 0, $3, $3) ON CONFLICT DO NOTHING")
            .bind(chain.0)
            .bind(owner.as_str())
            .bind(&Hash::ZERO.0[..])
            .execute(&mut **tx)
            .await?;
        found = sqlx::query(SELECT).bind(chain.0).fetch_optional(&mut **tx).await?;
    }
    // A chain that is not visible at this point belongs to another user.
    let row = found.ok_or(Error::OtherOwner)?;
    if row.try_get::<&str, _>(4)? == owner.as_str() { row_tip(&row) } else { Err(Error::OtherOwner) }
}

async fn insert_entries(tx: &mut Tx, owner: &UserId, entries: &[Sealed]) -> Result<()> {
    let column =
        |of: fn(&Sealed) -> Hash| entries.iter().map(|entry| of(entry).0.to_vec()).collect::<Vec<_>>();
    sqlx::query(
        "INSERT INTO journal_entry (request_id, sequence_number, entry_id, user_id, timestamp, event_type, \
            event_data, actor,
             parent_hash, hash, parent_digest, digest, on_behalf)
         SELECT r, s, e, $12, t, y, d, a, ph, h, pd, dg, ob FROM unnest($1::uuid[], $2::bigint[], \
         $3::uuid[], $4::timestamptz[], $5::text[],
             $6::text[], $7::text[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[], $13::text[]) AS x \
             (r, s, e, t, y, d, a, ph, h, pd, dg, ob)",
    )
    .bind(entries.iter().map(|entry| entry.chain.0).collect::<Vec<Uuid>>())
    .bind(entries.iter().map(|entry| int(entry.sequence)).collect::<Vec<i64>>())
    .bind(entries.iter().map(|entry| entry.entry_id.0).collect::<Vec<Uuid>>())
    .bind(entries.iter().map(|entry| entry.timestamp.to_chrono()).collect::<Vec<DateTime<Utc>>>())
    .bind(entries.iter().map(|entry| entry.event_type.name()).collect::<Vec<&str>>())
    .bind(entries.iter().map(|entry| entry.event_data.as_str()).collect::<Vec<&str>>())
    .bind(entries.iter().map(|entry| entry.actor.as_str()).collect::<Vec<&str>>())
    .bind(column(|entry| entry.parent_hash))
    .bind(column(|entry| entry.hash))
    .bind(column(|entry| entry.parent_digest))
    .bind(column(|entry| entry.digest))
    .bind(owner.as_str())
    .bind(entries.iter().map(|entry| entry.on_behalf.as_deref()).collect::<Vec<Option<&str>>>())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Adds entries to the log after each commit, and periodically for entries of replicas that died.
pub(super) async fn integrate_forever(db: Database, options: StoreOptions, committed: Arc<Notify>) {
    loop {
        let _woken_or_due = tokio::time::timeout(Duration::from_secs(5), committed.notified()).await;
        // A failure loses nothing: the entries wait for the next round or the next `head`.
        let _tried = integrate(&db, &options).await;
    }
}

/// Gives every waiting entry its index in the log and signs the new head, in one transaction.
pub(super) async fn integrate(db: &Database, options: &StoreOptions) -> Result<()> {
    loop {
        let mut tx = db.begin(&Scope::System).await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOG_LOCK).execute(&mut *tx).await?;
        let mut edge = stored_edge(&mut tx, &options.signer).await?;
        let waiting =
            sqlx::query("SELECT id, digest FROM journal_entry WHERE log_index IS NULL ORDER BY id LIMIT $1")
                .bind(BATCH)
                .fetch_all(&mut *tx)
                .await?;
        if waiting.is_empty() {
            return Ok(());
        }
        let (mut ids, mut places) = (Vec::new(), Vec::new());
        for row in &waiting {
            ids.push(row.try_get::<i64, _>(0)?);
            places.push(int(edge.size()));
            edge.push(hash(row.try_get(1)?)?);
        }
        sqlx::query(
            "UPDATE journal_entry e SET log_index = x.place FROM unnest($1::bigint[], $2::bigint[]) \
            AS x (id, place) WHERE e.id = x.id",
        )
        .bind(&ids)
        .bind(&places)
        .execute(&mut *tx)
        .await?;
        write_head(&mut tx, options, &edge).await?;
        tx.commit().await?;
        if (waiting.len() as i64) < BATCH {
            return Ok(());
        }
    }
}

/// The edge of the log, if our key signed it.
async fn stored_edge(tx: &mut Tx, signer: &NoteSigner) -> Result<Edge> {
    let Some(row) = sqlx::query("SELECT size, peaks, vkey FROM log_head").fetch_optional(&mut **tx).await?
    else {
        return Ok(Edge::default());
    };
    let (log, ours) = (row.try_get::<String, _>(2)?, signer.verifier().vkey());
    if log != ours {
        return Err(Error::WrongKey { log, ours });
    }
    let peaks: Vec<u8> = row.try_get(1)?;
    let peaks = peaks.as_chunks::<32>().0.iter().map(|peak| Hash(*peak)).collect();
    Ok(Edge::from_parts(uint(row.try_get(0)?)?, peaks)?)
}

async fn write_head(tx: &mut Tx, options: &StoreOptions, edge: &Edge) -> Result<()> {
    let checkpoint =
        Checkpoint { origin: options.signer.origin().to_owned(), size: edge.size(), root: edge.root() };
    sqlx::query(
        "INSERT INTO log_head (id, size, root, peaks, note, vkey) VALUES (1, $1, $2, $3, $4, $5)
         ON CONFLICT (id) DO UPDATE SET size = excluded.size, root = excluded.root, peaks = excluded.peaks, \
         note = excluded.note",
    )
    .bind(int(checkpoint.size))
    .bind(&checkpoint.root.0[..])
    .bind(edge.peaks().iter().flat_map(|peak| peak.0).collect::<Vec<u8>>())
    .bind(options.signer.sign(&checkpoint))
    .bind(options.signer.verifier().vkey())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

fn row_tip(row: &PgRow) -> Result<ChainTip> {
    Ok(ChainTip {
        chain: ChainId(row.try_get(0)?),
        entries: uint(row.try_get(1)?)?,
        hash: hash(row.try_get(2)?)?,
        digest: hash(row.try_get(3)?)?,
    })
}

pub(super) async fn tip(tx: &mut Tx, chain: ChainId) -> Result<Option<ChainTip>> {
    let row = sqlx::query("SELECT request_id, entries, hash, digest FROM chain WHERE request_id = $1")
        .bind(chain.0)
        .fetch_optional(&mut **tx)
        .await?;
    row.map(|row| row_tip(&row)).transpose()
}

pub(super) async fn chains(tx: &mut Tx, after: Option<ChainId>, limit: u32) -> Result<Vec<ChainTip>> {
    sqlx::query(
        "SELECT request_id, entries, hash, digest FROM chain WHERE $1::uuid IS NULL OR request_id > \
        $1 ORDER BY request_id LIMIT $2",
    )
    .bind(after.map(|chain| chain.0))
    .bind(i64::from(limit))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(row_tip)
    .collect()
}

fn row_entry(row: &PgRow) -> Result<LogEntry> {
    let event_type: &str = row.try_get(5)?;
    let entry = Sealed {
        chain: ChainId(row.try_get(1)?),
        sequence: uint(row.try_get(2)?)?,
        entry_id: EntryId(row.try_get(3)?),
        timestamp: row.try_get::<DateTime<Utc>, _>(4)?.into(),
        event_type: EventType::from_name(event_type)
            .ok_or_else(|| Error::BadRow(format!("event type {event_type:?}")))?,
        event_data: row.try_get(6)?,
        actor: row.try_get(7)?,
        on_behalf: row.try_get(12)?,
        parent_hash: hash(row.try_get(8)?)?,
        hash: hash(row.try_get(9)?)?,
        parent_digest: hash(row.try_get(10)?)?,
        digest: hash(row.try_get(11)?)?,
    };
    Ok(LogEntry {
        index: row.try_get::<Option<i64>, _>(0)?.map(uint).transpose()?,
        owner: row.try_get(13)?,
        entry,
    })
}

pub(super) async fn entries(tx: &mut Tx, chain: ChainId, after: u64, limit: u32) -> Result<Vec<LogEntry>> {
    sqlx::query(
        "SELECT log_index, request_id, sequence_number, entry_id, timestamp, event_type, event_data, actor, \
            parent_hash, hash,
             parent_digest, digest, on_behalf,
             concat_ws('/', user_id, nullif((SELECT c.user_id FROM chain c WHERE c.request_id = \
             journal_entry.request_id), user_id))
         FROM journal_entry WHERE request_id = $1 AND sequence_number > $2 ORDER BY sequence_number LIMIT $3",
    )
    .bind(chain.0)
    .bind(int(after))
    .bind(i64::from(limit))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(row_entry)
    .collect()
}

pub(super) async fn log(tx: &mut Tx, from: u64, limit: u32) -> Result<Vec<LogEntry>> {
    sqlx::query(
        "SELECT log_index, request_id, sequence_number, entry_id, timestamp, event_type, event_data, actor, \
            parent_hash, hash,
             parent_digest, digest, on_behalf,
             concat_ws('/', user_id, nullif((SELECT c.user_id FROM chain c WHERE c.request_id = \
             journal_entry.request_id), user_id))
         FROM journal_entry WHERE log_index >= $1 ORDER BY log_index LIMIT $2",
    )
    .bind(int(from))
    .bind(i64::from(limit))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(row_entry)
    .collect()
}

pub(super) async fn payloads(tx: &mut Tx, chain: ChainId) -> Result<Vec<RawPayload>> {
    let rows = sqlx::query(
        "SELECT payload_id, request_id, sha256, salt, body, erased_at FROM payload WHERE \
        request_id = $1 ORDER BY payload_id",
    )
    .bind(chain.0)
    .fetch_all(&mut **tx)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(RawPayload {
                id: PayloadId(row.try_get(0)?),
                chain: ChainId(row.try_get(1)?),
                sha256: hash(row.try_get(2)?)?.0,
                salt: row
                    .try_get::<Option<&[u8]>, _>(3)?
                    .map(|salt| hash(salt).map(|salt| salt.0))
                    .transpose()?,
                body: row.try_get(4)?,
                erased_at: row.try_get::<Option<DateTime<Utc>>, _>(5)?.map(Timestamp::from),
            })
        })
        .collect()
}

pub(super) async fn erase(tx: &mut Tx, owner: &UserId, id: PayloadId, at: Timestamp) -> Result<()> {
    let erased = sqlx::query(
        "UPDATE payload SET salt = NULL, body = NULL, erased_at = $2 WHERE payload_id = $1 AND erased_at IS \
            NULL AND user_id = $3",
    )
    .bind(id.0)
    .bind(at.to_chrono())
    .bind(owner.as_str())
    .execute(&mut **tx)
    .await?;
    if erased.rows_affected() == 1 {
        Ok(())
    } else {
        Err(Error::NotFound { what: "payload that is not erased yet,", id: id.to_string() })
    }
}

pub(super) async fn erase_chain(tx: &mut Tx, chain: Uuid, at: Timestamp) -> Result<u64> {
    let erased = sqlx::query(
        "UPDATE payload SET salt = NULL, body = NULL, erased_at = $2 WHERE request_id = \
        $1 AND erased_at IS NULL",
    )
    .bind(chain)
    .bind(at.to_chrono())
    .execute(&mut **tx)
    .await?;
    Ok(erased.rows_affected())
}

pub(super) async fn head(tx: &mut Tx) -> Result<Option<Head>> {
    let row = sqlx::query("SELECT size, root, note, vkey FROM log_head").fetch_optional(&mut **tx).await?;
    row.map(|row| {
        Ok(Head {
            size: uint(row.try_get(0)?)?,
            root: hash(row.try_get(1)?)?,
            note: row.try_get(2)?,
            vkey: row.try_get(3)?,
        })
    })
    .transpose()
}
