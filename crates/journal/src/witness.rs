//! Witnesses: parties that keep a head of a log elsewhere and confirm that each new head extends
//! it.
//!
//! The formats are those of C2SP: `add-checkpoint` of [tlog-witness](https://c2sp.org/tlog-witness)
//! and the timestamped cosignature of [tlog-cosignature](https://c2sp.org/tlog-cosignature). Other
//! witnesses can therefore watch this log, and this program can watch other logs.
//!
//! Invariant: a witness signs a head only if a proof shows that it extends the last one it signed
//! for that log.

use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::merkle::is_consistent;
use crate::note::{Checkpoint, NoteSigner, NoteVerifier};
use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

/// The algorithm byte of a timestamped Ed25519 cosignature in C2SP keys.
const COSIGNATURE: u8 = 4;
/// Maximum number of lines of a proof: enough for a log of 2^63 entries.
const LONGEST_PROOF: usize = 63;

/// What a log submits to a witness: a new head, and the proof that it extends the head with `old`
/// entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The size that the witness signed last; 0 if none.
    pub old: u64,
    /// The consistency proof; empty if `old` is 0 or nothing was added.
    pub proof: Vec<Hash>,
    /// The signed head.
    pub note: String,
}

impl Submission {
    /// The body of `add-checkpoint`.
    #[must_use]
    pub fn text(&self) -> String {
        let proof: String = self.proof.iter().map(|hash| format!("{}\n", hash.base64())).collect();
        format!("old {}\n{proof}\n{}", self.old, self.note)
    }

    /// Parses the body of `add-checkpoint`.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::BadNote { what: "this submission".to_owned(), why: why.to_owned() };
        let (head, note) = text.split_once("\n\n").ok_or_else(|| bad("it holds no head"))?;
        let mut lines = head.lines();
        let old = lines.next().and_then(|line| line.strip_prefix("old "));
        let old = old.filter(|old| *old == "0" || !old.starts_with('0')).and_then(|old| old.parse().ok());
        let old = old.ok_or_else(|| bad("it must begin with the size that was signed last"))?;
        let proof: Vec<Hash> = lines.map(Hash::from_base64).collect::<Result<_>>()?;
        if proof.len() > LONGEST_PROOF {
            return Err(bad("its proof is longer than any"));
        }
        Ok(Self { old, proof, note: note.to_owned() })
    }
}

/// The response of a witness to a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The head extends the last one: sign and store it.
    Sign(Checkpoint),
    /// The witness last signed a different size.
    Conflict {
        /// That size.
        size: u64,
    },
    /// The submission is inconsistent.
    Malformed,
    /// The proof does not lead from the last head to this one: the log was rewritten.
    Unproven,
}

/// Decides on a submission. `last` is the head of this log that was signed last.
pub fn judge(submission: &Submission, log: &NoteVerifier, last: Option<&Checkpoint>) -> Result<Verdict> {
    let head = log.open_log(&submission.note)?;
    if submission.old > head.size || (submission.old == 0 && !submission.proof.is_empty()) {
        return Ok(Verdict::Malformed);
    }
    let known = last.map_or(0, |last| last.size);
    if submission.old != known {
        return Ok(Verdict::Conflict { size: known });
    }
    let Some(last) = last.filter(|last| last.size > 0) else { return Ok(Verdict::Sign(head)) };
    if head.size == last.size && head.root != last.root {
        return Ok(Verdict::Conflict { size: known });
    }
    let continues = is_consistent((last.size, last.root), (head.size, head.root), &submission.proof);
    Ok(if continues { Verdict::Sign(head) } else { Verdict::Unproven })
}

/// Cosigns heads.
pub struct Cosigner {
    key: SigningKey,
    verifier: CosignatureVerifier,
}

impl std::fmt::Debug for Cosigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cosigner({})", self.verifier.vkey())
    }
}

impl Cosigner {
    /// A witness with this name and secret.
    pub fn new(name: &str, secret: &[u8; 32]) -> Result<Self> {
        let key = SigningKey::from_bytes(secret);
        Ok(Self { verifier: CosignatureVerifier::new(name, key.verifying_key())?, key })
    }

    /// The witness derived from a log's own key. There is one secret to keep; the two names differ,
    /// so that their signatures cannot be confused.
    pub fn of(signer: &NoteSigner) -> Result<Self> {
        let secret = signer.keyed_hash(&[b"steward.witness.v1\0"]);
        Self::new(&format!("{}/witness", signer.origin()), &secret.0)
    }

    /// The verifier of its cosignatures, for others.
    #[must_use]
    pub fn verifier(&self) -> &CosignatureVerifier {
        &self.verifier
    }

    /// The cosignature line: at this time (seconds since 1970) this head extended every head seen
    /// before.
    #[must_use]
    pub fn sign(&self, head: &Checkpoint, time: u64) -> String {
        let signature = self.key.sign(covered(head, time).as_bytes()).to_bytes();
        let blob = [&self.verifier.id[..], &time.to_be_bytes(), &signature].concat();
        format!("— {} {}\n", self.verifier.name, STANDARD.encode(blob))
    }
}

/// The text that a cosignature covers.
fn covered(head: &Checkpoint, time: u64) -> String {
    format!("cosignature/v1\ntime {time}\n{}", head.text())
}

/// Verifies cosignatures of one witness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CosignatureVerifier {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl CosignatureVerifier {
    fn new(name: &str, key: VerifyingKey) -> Result<Self> {
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '+') {
            let why = "a key's name has no spaces and no plus".to_owned();
            return Err(Error::BadNote { what: format!("{name:?}"), why });
        }
        let hash = Hash::of(&[name.as_bytes(), b"\n", &[COSIGNATURE], key.as_bytes()]);
        Ok(Self { name: name.to_owned(), id: *hash.0.first_chunk::<4>().unwrap_or(&[0; 4]), key })
    }

    /// The key in C2SP's form: `name+id+base64`.
    #[must_use]
    pub fn vkey(&self) -> String {
        let key = STANDARD.encode([&[COSIGNATURE][..], self.key.as_bytes()].concat());
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
        let Some((&COSIGNATURE, key)) = bytes.split_first() else {
            return Err(bad("only keys of cosignatures (algorithm 4) are witnesses"));
        };
        let key = <&[u8; 32]>::try_from(key).ok().and_then(|key| VerifyingKey::from_bytes(key).ok());
        let verifier = Self::new(name, key.ok_or_else(|| bad("it is not an Ed25519 key"))?)?;
        let fits = format!("{:08x}", u32::from_be_bytes(verifier.id)) == id;
        if fits { Ok(verifier) } else { Err(bad("its id does not fit its content")) }
    }

    /// When the witness signed this head, in seconds since 1970; none if no line is from this
    /// witness.
    #[must_use]
    pub fn signed_at(&self, head: &Checkpoint, lines: &str) -> Option<u64> {
        lines.lines().find_map(|line| {
            let (name, blob) = line.strip_prefix("— ")?.split_once(' ')?;
            let blob = STANDARD.decode(blob).ok()?;
            let (id, rest) = blob.split_first_chunk::<4>()?;
            let (time, signature) = rest.split_first_chunk::<8>()?;
            let (time, signature) = (u64::from_be_bytes(*time), Signature::from_slice(signature).ok()?);
            let fits = name == self.name && *id == self.id;
            let good = self.key.verify_strict(covered(head, time).as_bytes(), &signature).is_ok();
            (fits && good).then_some(time)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::{Edge, consistency, leaf};

    fn log(entries: u8, fork: u8) -> (Vec<Hash>, Checkpoint, String) {
        let signer = NoteSigner::new("log.example", &[7; 32]).unwrap();
        let digests = (0..entries).map(|n| Hash::of(&[&[n], &[if n < 3 { 0 } else { fork }]]));
        let (mut edge, mut leaves) = (Edge::default(), Vec::new());
        for digest in digests {
            edge.push(digest);
            leaves.push(leaf(digest));
        }
        let head = Checkpoint { origin: "log.example".into(), size: edge.size(), root: edge.root() };
        let note = signer.sign(&head);
        (leaves, head, note)
    }

    fn submitted(old: u64, entries: u8, fork: u8) -> Submission {
        let (leaves, _, note) = log(entries, fork);
        let proof = consistency(&leaves, old as usize).unwrap_or_default();
        Submission { old, proof, note }
    }

    #[test]
    fn a_witness_signs_what_continues_and_nothing_else() {
        let key = NoteSigner::new("log.example", &[7; 32]).unwrap().verifier().clone();
        let (_, five, _) = log(5, 0);
        let say = |submission: &Submission, last: Option<&Checkpoint>| judge(submission, &key, last).unwrap();
        assert!(matches!(say(&submitted(0, 5, 0), None), Verdict::Sign(_)));
        assert!(matches!(say(&submitted(5, 9, 0), Some(&five)), Verdict::Sign(_)));
        assert!(matches!(say(&submitted(5, 5, 0), Some(&five)), Verdict::Sign(_)));
        assert_eq!(say(&submitted(5, 9, 1), Some(&five)), Verdict::Unproven, "another history");
        assert_eq!(
            say(&submitted(5, 5, 1), Some(&five)),
            Verdict::Conflict { size: 5 },
            "two heads of a size"
        );
        assert_eq!(say(&submitted(0, 3, 0), Some(&five)), Verdict::Conflict { size: 5 }, "an older copy");
        assert_eq!(say(&submitted(4, 9, 0), Some(&five)), Verdict::Conflict { size: 5 });
        let stranger = NoteSigner::new("log.example", &[8; 32]).unwrap();
        assert!(judge(&submitted(0, 5, 0), stranger.verifier(), None).is_err(), "another key");
    }

    #[test]
    fn a_submission_reads_as_it_was_written() {
        let one = submitted(5, 9, 0);
        assert_eq!(Submission::parse(&one.text()).unwrap(), one);
        for text in ["", "old 1", "old x\n\nnote", "old 01\n\nnote", "old 1\n!!!\n\nnote", "new 1\n\nnote"] {
            assert!(Submission::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_cosignature_is_of_one_head_one_time_and_one_witness() {
        let witness = Cosigner::new("witness.example", &[9; 32]).unwrap();
        let (_, head, _) = log(5, 0);
        let (_, other, _) = log(6, 0);
        let line = witness.sign(&head, 1_700_000_000);
        let key = CosignatureVerifier::parse(&witness.verifier().vkey()).unwrap();
        assert_eq!(key.signed_at(&head, &line), Some(1_700_000_000));
        assert_eq!(key.signed_at(&other, &line), None);
        let stranger = Cosigner::new("witness.example", &[1; 32]).unwrap();
        assert_eq!(stranger.verifier().signed_at(&head, &line), None);
        assert!(
            CosignatureVerifier::parse(&NoteSigner::new("x", &[1; 32]).unwrap().verifier().vkey()).is_err()
        );
    }
}
