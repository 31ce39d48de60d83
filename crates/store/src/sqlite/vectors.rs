//! Exact nearest-neighbour search in memory: for ten thousand tools a full scan is fast enough
//! without an index.

use crate::error::Result;
use crate::words::vector_from_bytes;
use rusqlite::Connection;
use std::sync::{Arc, Mutex};
use uuid::Uuid;

/// The tools' vectors, read once and reloaded when the database has changed.
#[derive(Default)]
pub(super) struct ToolVectors(Mutex<Option<(i64, Arc<Vectors>)>>);

impl ToolVectors {
    /// The current vectors. `stamp` changes with every change of the tools.
    pub(super) fn current(&self, db: &Connection) -> Result<Arc<Vectors>> {
        let stamp = stamp(db)?;
        if let Ok(known) = self.0.lock()
            && let Some((_, vectors)) = known.as_ref().filter(|(at, _)| *at == stamp)
        {
            return Ok(vectors.clone());
        }
        let vectors = Arc::new(load(db)?);
        if let Ok(mut known) = self.0.lock() {
            *known = Some((stamp, vectors.clone()));
        }
        Ok(vectors)
    }
}

/// Newest change and number of rows: definitions are never deleted, and each change alters
/// `updated_at` or the count.
fn stamp(db: &Connection) -> Result<i64> {
    Ok(db.prepare_cached("SELECT changes FROM tool_stamp")?.query_row([], |row| row.get(0))?)
}

fn load(db: &Connection) -> Result<Vectors> {
    let mut statement = db.prepare_cached(
        "SELECT id, application_domain, description_embedding FROM tool_definition
         WHERE is_active = 1 AND description_embedding IS NOT NULL ORDER BY tool_name, tool_version",
    )?;
    let mut rows = statement.query([])?;
    let mut vectors = Vectors::default();
    while let Some(row) = rows.next()? {
        let vector = vector_from_bytes(row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?);
        vectors.push(row.get(0)?, row.get(1)?, &vector);
    }
    Ok(vectors)
}

/// Unit vectors in one array, grouped by width: the width depends on the embedding model, and two
/// models may be in use.
#[derive(Default)]
pub(super) struct Vectors {
    ids: Vec<Uuid>,
    domains: Vec<String>,
    starts: Vec<(usize, usize)>,
    numbers: Vec<f32>,
}

impl Vectors {
    pub(super) fn push(&mut self, id: Uuid, domain: String, vector: &[f32]) {
        let start = self.numbers.len();
        self.numbers.extend(unit(vector));
        self.ids.push(id);
        self.domains.push(domain);
        self.starts.push((start, vector.len()));
    }

    /// The nearest vectors with their cosine distance; ties in order of insertion.
    pub(super) fn nearest(&self, meaning: &[f32], domain: Option<&str>, limit: usize) -> Vec<(Uuid, f32)> {
        let meaning = unit(meaning);
        let mut best: Vec<(f32, usize)> = Vec::with_capacity(limit + 1);
        for (place, (start, width)) in self.starts.iter().enumerate() {
            let other_domain =
                domain.is_some_and(|domain| self.domains.get(place).is_none_or(|d| d != domain));
            let Some(vector) = self.numbers.get(*start..start + width) else { continue };
            if other_domain || *width != meaning.len() {
                continue;
            }
            let distance = 1.0 - dot(&meaning, vector);
            if best.len() < limit || best.last().is_some_and(|(worst, _)| distance < *worst) {
                let at = best.partition_point(|(known, _)| *known <= distance);
                best.insert(at, (distance, place));
                best.truncate(limit);
            }
        }
        best.into_iter().filter_map(|(distance, place)| Some((*self.ids.get(place)?, distance))).collect()
    }
}

/// The vector scaled to length 1; a zero vector is unchanged.
pub(super) fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(|x| x * scale).collect()
}

/// Eight sums at once, which the compiler turns into vector instructions.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum::<f32>()
}
