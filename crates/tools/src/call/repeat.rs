//! Notices an agent that goes in circles: the same call with the same arguments, and each time the
//! same answer.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use steward_domain::{ChainId, Sha256Hex};

/// The last calls of every chain that is under way.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    chains: Mutex<Chains>,
}

#[derive(Debug, Default)]
struct Chains {
    seen: HashMap<ChainId, HashMap<Sha256Hex, RepeatCount>>,
    /// Oldest first, so that the number of chains stays bounded.
    order: VecDeque<ChainId>,
}

#[derive(Debug)]
struct RepeatCount {
    result: u64,
    times: usize,
}

/// Chains that are remembered.
const CHAINS: usize = 1024;
/// Calls that are remembered of each.
const CALLS: usize = 256;

impl Repeats {
    /// How often this call gave the same answer in a row already.
    pub(crate) fn times(&self, chain: ChainId, digest: &Sha256Hex) -> usize {
        let chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        chains.seen.get(&chain).and_then(|calls| calls.get(digest)).map_or(0, |seen| seen.times)
    }

    /// Notes what a call gave.
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
