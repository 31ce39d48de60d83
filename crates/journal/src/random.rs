//! The door to randomness: ids, salts and keys. Simulations hand over a seeded source and get the
//! same bytes again.

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use steward_domain::Timestamp;
use uuid::{Builder, Uuid};

/// Gives random bytes and the ids made of them.
pub trait Random: Send + Sync {
    /// 32 random bytes.
    fn bytes(&self) -> Result<[u8; 32]>;

    /// An id with no order: for what people name and few of which exist.
    fn uuid_v4(&self) -> Result<Uuid> {
        let bytes = self.bytes()?;
        Ok(Builder::from_random_bytes(first_16(bytes)).into_uuid())
    }

    /// An id that begins with the time: for what is written by the million, so that indexes grow at
    /// one end.
    fn uuid_v7(&self, now: Timestamp) -> Result<Uuid> {
        let bytes = self.bytes()?;
        let millis = u64::try_from(now.micros() / 1000).unwrap_or_default();
        let mut random = [0; 10];
        random.copy_from_slice(bytes.first_chunk::<10>().unwrap_or(&[0; 10]));
        Ok(Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }
}

fn first_16(bytes: [u8; 32]) -> [u8; 16] {
    *bytes.first_chunk::<16>().unwrap_or(&[0; 16])
}

/// The system's source. Each thread draws a page of it at once; what was handed out is wiped.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

/// Draws of 32 bytes that one call of the system gives.
const PAGE: usize = 64;

/// What a thread has drawn and not handed out yet.
struct Drawn {
    page: [[u8; 32]; PAGE],
    left: usize,
}

thread_local! {
    static DRAWN: RefCell<Drawn> = const { RefCell::new(Drawn { page: [[0; 32]; PAGE], left: 0 }) };
}

impl Random for SystemRandom {
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    fn bytes(&self) -> Result<[u8; 32]> {
        DRAWN.with_borrow_mut(|drawn| {
            if drawn.left == 0 {
                getrandom::fill(drawn.page.as_flattened_mut())
                    .map_err(|error| Error::NoRandomness(error.to_string()))?;
                drawn.left = PAGE;
            }
            drawn.left -= 1;
            let place = drawn.page.get_mut(drawn.left).ok_or(Error::NoRandomness(String::new()))?;
            Ok(std::mem::take(place))
        })
    }
}

/// The same bytes for the same seed. Never for keys or salts that protect anything.
#[derive(Debug)]
pub struct SeededRandom {
    seed: u64,
    drawn: AtomicU64,
}

impl SeededRandom {
    /// A source for this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: AtomicU64::new(0) }
    }
}

impl Random for SeededRandom {
    fn bytes(&self) -> Result<[u8; 32]> {
        let count = self.drawn.fetch_add(1, Ordering::SeqCst);
        Ok(Sha256::new()
            .chain_update(self.seed.to_le_bytes())
            .chain_update(count.to_le_bytes())
            .finalize()
            .into())
    }
}
