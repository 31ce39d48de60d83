//! A SHA-256 value and its three written forms.

use crate::error::{Error, Result};
use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};
use std::fmt;
use steward_domain::Sha256Hex;

/// 32 bytes of SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

/// The two digits of every byte.
#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, with bounds it checks")]
const HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    table
};

impl Hash {
    /// The parent hash of the first entry.
    pub const ZERO: Self = Self([0; 32]);

    /// The hash of the concatenated parts.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Lower-case hexadecimal, as bytes.
    pub fn hex(self) -> [u8; 64] {
        let mut out = [b'0'; 64];
        for (pair, byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = HEX.get(usize::from(byte)).copied().unwrap_or_default();
        }
        out
    }

    /// Parses lower-case hexadecimal. Upper case is rejected, so that a hash has exactly one
    /// spelling.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        fn digit(c: u8) -> Option<u8> {
            match c {
                b'0'..=b'9' => Some(c - b'0'),
                b'a'..=b'f' => Some(c - b'a' + 10),
                _ => None,
            }
        }
        let mut out = [0; 32];
        if text.len() != 64 {
            return None;
        }
        for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(out))
    }

    /// The hash as a domain type.
    pub fn to_domain(self) -> Sha256Hex {
        // 64 lower-case hexadecimal digits always satisfy the rule of the type.
        Sha256Hex::new(self.to_string()).unwrap_or_else(|_| unreachable!())
    }

    /// Base64, as used in checkpoints.
    pub fn base64(self) -> String {
        STANDARD.encode(self.0)
    }

    /// Parses base64.
    pub fn from_base64(text: &str) -> Result<Self> {
        let bytes = STANDARD.decode(text).ok();
        bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()).map(Self).ok_or_else(|| Error::BadNote {
            what: text.to_owned(),
            why: "a hash must be 32 bytes in base64".to_owned(),
        })
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
