//! The bundled sentence encoder, loaded on first use, with a cache by text.
//!
//! Invariant: only texts of definitions ([`Encoder::prepare`]) are cached on disk. User texts are
//! kept in memory only.

mod kept;

use kept::VectorCache;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use steward_encoder::Encoder as Inner;

/// Maximum number of cached texts; beyond that, the cache is cleared.
const REMEMBERED: usize = 20_000;

/// Turns texts into unit vectors; their angle is the semantic distance.
#[derive(Default)]
pub struct Encoder {
    inner: OnceLock<Option<Inner>>,
    known: Mutex<HashMap<String, Arc<[f32]>>>,
    kept: Option<VectorCache>,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

impl Encoder {
    /// An encoder that caches the vectors of definitions in a file, so that the next process need
    /// not compute them again.
    #[must_use]
    pub fn kept_in(path: PathBuf) -> Self {
        Self { kept: Some(VectorCache::new(path)), ..Self::default() }
    }

    /// Computes the vectors of many definitions in parallel, and caches them.
    pub fn prepare(&self, texts: &[String]) {
        let mut missing: Vec<&String> = Vec::new();
        let mut seen: HashSet<&String> = HashSet::new();
        {
            let mut known = self.lock();
            for text in texts.iter().filter(|text| !text.trim().is_empty()) {
                if known.contains_key(text) || !seen.insert(text) {
                    continue;
                }
                match self.kept.as_ref().and_then(|kept| kept.get(text)) {
                    Some(vector) => drop(known.insert(text.clone(), vector)),
                    None => missing.push(text),
                }
            }
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        let share = missing.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            for part in missing.chunks(share) {
                scope.spawn(|| part.iter().for_each(|text| drop(self.embed(text))));
            }
        });
        if let Some(kept) = &self.kept {
            let known = self.lock();
            kept.add(missing.iter().filter_map(|text| Some((text.as_str(), known.get(*text)?.clone()))));
        }
    }

    /// Loads the weights now, which takes about a tenth of a second, to avoid the delay at the
    /// first text.
    pub fn warm(&self) {
        let _ = self.inner();
    }

    fn inner(&self) -> Option<&Inner> {
        self.inner.get_or_init(|| Inner::load().ok()).as_ref()
    }

    /// The vector of a text. None if the bundled weights cannot be loaded.
    pub fn embed(&self, text: &str) -> Option<Arc<[f32]>> {
        if let Some(known) = self.lock().get(text) {
            return Some(known.clone());
        }
        let vector: Arc<[f32]> = self.inner()?.embed(text).ok()?.into();
        let mut known = self.lock();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(text.to_owned(), vector.clone());
        Some(vector)
    }

    /// The semantic similarity of two texts: 1 is equal, 0 is unrelated.
    pub fn similarity(&self, a: &str, b: &str) -> f32 {
        match (self.embed(a), self.embed(b)) {
            (Some(a), Some(b)) => cosine(&a, &b),
            _ => 0.0,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<[f32]>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cosine of the angle between two vectors.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot: f32 = a.iter().zip(b).map(|(x, y)| x * y).sum();
    let length = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
    let product = length(a) * length(b);
    if product > 0.0 { dot / product } else { 0.0 }
}
