//! The only source of randomness: ids, salts and keys. Simulations pass a seeded source to get
//! reproducible bytes.

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use steward_domain::Timestamp;
use uuid::{Builder, Uuid};

/// A source of random bytes and ids.
pub trait Random: Send + Sync {
    /// 32 random bytes.
    fn bytes(&self) -> Result<[u8; 32]>;

    /// An id without order, for entities that are few in number.
    fn uuid_v4(&self) -> Result<Uuid> {
        let bytes = self.bytes()?;
        Ok(Builder::from_random_bytes(first_16(bytes)).into_uuid())
    }

    /// An id that starts with the time, for tables with millions of rows: indexes then grow at one
    /// end.
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

/// The operating system's source. Each thread draws a page at once; bytes are wiped once handed
/// out.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

/// Number of 32-byte draws per system call.
const PAGE: usize = 64;

/// The bytes that a thread has drawn but not handed out yet.
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

/// The same bytes for the same seed. Must not be used for real keys or salts.
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
