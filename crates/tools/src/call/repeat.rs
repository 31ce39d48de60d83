//! Detects an agent in a loop: the same call with the same arguments and the same result.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use steward_domain::{ChainId, Sha256Hex};

/// The latest calls of every active chain.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    chains: Mutex<Chains>,
}

#[derive(Debug, Default)]
struct Chains {
    seen: HashMap<ChainId, HashMap<Sha256Hex, RepeatCount>>,
    /// The chains, oldest first, to limit their number.
    order: VecDeque<ChainId>,
}

#[derive(Debug)]
struct RepeatCount {
    result: u64,
    times: usize,
}

/// The maximum number of chains.
const CHAINS: usize = 1024;
/// The maximum number of calls per chain.
const CALLS: usize = 256;

impl Repeats {
    /// How often this call has returned the same result in a row.
    pub(crate) fn times(&self, chain: ChainId, digest: &Sha256Hex) -> usize {
        let chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        chains.seen.get(&chain).and_then(|calls| calls.get(digest)).map_or(0, |seen| seen.times)
    }

    /// Records the result of a call.
    pub(crate) fn note(&self, chain: ChainId, digest: &Sha256Hex, result: u64) {
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if !chains.seen.contains_key(&chain) {
            chains.order.push_back(chain);
            if chains.order.len() > CHAINS
                && let Some(oldest) = chains.order.pop_front()
            {
                chains.seen.remove(&oldest);
            }
        }
        let calls = chains.seen.entry(chain).or_default();
        if calls.len() >= CALLS && !calls.contains_key(digest) {
            calls.clear();
        }
        let seen = calls.entry(digest.clone()).or_insert(RepeatCount { result, times: 0 });
        if seen.result == result {
            seen.times += 1;
        } else {
            *seen = RepeatCount { result, times: 1 };
        }
    }
}
