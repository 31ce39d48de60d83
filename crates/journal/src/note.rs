//! Signed heads: the C2SP checkpoint (origin, size, root) inside a C2SP signed note (Ed25519).
//!
//! A head is plain text that can be printed, mailed or sent to a witness. Anyone who keeps a head
//! can later prove that the log was rewritten.

use crate::error::{Error, Result};
use crate::hash::Hash;
use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

/// The algorithm byte of Ed25519 in C2SP keys.
const ED25519: u8 = 1;

/// A checkpoint of a log: the number of entries and their root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log.
    pub origin: String,
    /// The number of entries.
    pub size: u64,
    /// The Merkle root over them.
    pub root: Hash,
}

impl Checkpoint {
    /// The text that is signed.
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, self.root.base64())
    }

    fn parse(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::BadNote { what: "this text".to_owned(), why: why.to_owned() };
        let mut lines = text.lines();
        let mut line = || lines.next().ok_or_else(|| bad("it needs an origin, a size and a root"));
        let (origin, size, root) = (line()?, line()?, line()?);
        let number = size.parse().map_err(|_| bad("the size must be a number"))?;
        if origin.is_empty() || (size.starts_with('0') && size != "0") {
            return Err(bad("the origin must not be empty and the size has no leading zero"));
        }
        Ok(Self { origin: origin.to_owned(), size: number, root: Hash::from_base64(root)? })
    }
}

/// Signs checkpoints of a log.
#[derive(Clone)]
pub struct NoteSigner {
    key: SigningKey,
    verifier: NoteVerifier,
}

impl std::fmt::Debug for NoteSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NoteSigner({})", self.verifier.vkey())
    }
}

impl NoteSigner {
    /// A signer with this name and secret.
    pub fn new(name: &str, secret: &[u8; 32]) -> Result<Self> {
        let key = SigningKey::from_bytes(secret);
        let verifier = NoteVerifier::new(name, key.verifying_key())?;
        Ok(Self { key, verifier })
    }

    /// The verifier of its signatures, for others.
    pub fn verifier(&self) -> &NoteVerifier {
        &self.verifier
    }

    /// The origin of checkpoints of the whole log: the signer's name.
    pub fn origin(&self) -> &str {
        &self.verifier.name
    }

    /// A keyed hash: only a holder of this key can compute or check it.
    pub fn keyed_hash(&self, parts: &[&[u8]]) -> Hash {
        let key = Hash::of(&[b"steward.keyed-hash.v1\0", self.key.as_bytes()]);
        let parts: Vec<&[u8]> = std::iter::once(&key.0[..]).chain(parts.iter().copied()).collect();
        Hash::of(&[&key.0, &Hash::of(&parts).0])
    }

    /// Signs a checkpoint.
    pub fn sign(&self, checkpoint: &Checkpoint) -> String {
        let text = checkpoint.text();
        let signature = self.key.sign(text.as_bytes());
        let blob = [&self.verifier.id[..], &signature.to_bytes()].concat();
        format!("{text}\n— {} {}\n", self.verifier.name, STANDARD.encode(blob))
    }
}

/// Verifies signatures of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteVerifier {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl NoteVerifier {
    fn new(name: &str, key: VerifyingKey) -> Result<Self> {
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '+') {
            return Err(Error::BadNote {
                what: format!("{name:?}"),
                why: "a key's name has no spaces and no plus".to_owned(),
            });
        }
        let hash = Hash::of(&[name.as_bytes(), b"\n", &[ED25519], key.as_bytes()]);
        Ok(Self { name: name.to_owned(), id: *hash.0.first_chunk::<4>().unwrap_or(&[0; 4]), key })
    }

    /// The key in C2SP's form: `name+id+base64`.
    pub fn vkey(&self) -> String {
        let key = STANDARD.encode([&[ED25519][..], self.key.as_bytes()].concat());
        format!("{}+{:08x}+{key}", self.name, u32::from_be_bytes(self.id))
    }

    /// Parses a key in C2SP's form.
    pub fn parse(vkey: &str) -> Result<Self> {
        let bad = |why: &str| Error::BadNote { what: format!("the key {vkey:?}"), why: why.to_owned() };
        let mut parts = vkey.trim().splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(bad("it must read name+id+base64"));
        };
        let bytes = STANDARD.decode(key).map_err(|_| bad("the last part must be base64"))?;
        let Some((&ED25519, key)) = bytes.split_first() else { return Err(bad("only Ed25519 is known")) };
        let key = <&[u8; 32]>::try_from(key).ok().and_then(|key| VerifyingKey::from_bytes(key).ok());
        let verifier = Self::new(name, key.ok_or_else(|| bad("it is not an Ed25519 key"))?)?;
        if format!("{:08x}", u32::from_be_bytes(verifier.id)) == id {
            Ok(verifier)
        } else {
            Err(bad("its id does not fit its content"))
        }
    }

    /// The key's name, which is the origin of the heads of the whole log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Verifies a signed head of the whole log. Heads of single chains are signed by the same key
    /// and are rejected here.
    pub fn open_log(&self, note: &str) -> Result<Checkpoint> {
        let head = self.open(note)?;
        if head.origin == self.name {
            return Ok(head);
        }
        Err(Error::BadNote {
            what: format!("the head of {}", head.origin),
            why: "it is not of the whole log".to_owned(),
        })
    }

    /// Verifies a signed note and parses its checkpoint. Signatures by other keys are ignored, as
    /// C2SP specifies.
    pub fn open(&self, note: &str) -> Result<Checkpoint> {
        let bad = |why: &str| Error::BadNote { what: "this text".to_owned(), why: why.to_owned() };
        let (text, signatures) = note.split_once("\n\n").ok_or_else(|| bad("it has no signature"))?;
        let text = format!("{text}\n");
        let by_us = signatures
            .lines()
            .filter_map(|line| line.strip_prefix("— ")?.split_once(' '))
            .filter(|(name, _)| *name == self.name);
        for (_, blob) in by_us {
            let blob = STANDARD.decode(blob).map_err(|_| bad("a signature must be base64"))?;
            let Some((id, signature)) = blob.split_first_chunk::<4>() else { continue };
            let Ok(signature) = Signature::from_slice(signature) else { continue };
            if *id == self.id && self.key.verify_strict(text.as_bytes(), &signature).is_ok() {
                return Checkpoint::parse(&text);
            }
        }
        Err(Error::BadSignature { key: self.vkey() })
    }
}
