//! The Merkle tree of RFC 6962 over entry digests: appending, roots, inclusion and consistency
//! proofs.
//!
//! The tree is never stored as a whole. Its right edge ([`Edge`], at most 64 hashes) is enough to
//! append and to compute the root; proofs are built by reading the leaves once.

use crate::error::{Error, Result};
use crate::hash::Hash;

/// The hash of a leaf: an entry's digest under RFC 6962's leaf prefix.
pub fn leaf(digest: Hash) -> Hash {
    Hash::of(&[&[0], &digest.0])
}

fn node(left: Hash, right: Hash) -> Hash {
    Hash::of(&[&[1], &left.0, &right.0])
}

/// The right edge of a tree: the roots of its complete subtrees, largest first, one for each bit of
/// the size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edge {
    size: u64,
    peaks: Vec<Hash>,
}

impl Edge {
    /// Rebuilds an edge from its stored parts.
    pub fn from_parts(size: u64, peaks: Vec<Hash>) -> Result<Self> {
        if u32::try_from(peaks.len()) == Ok(size.count_ones()) {
            Ok(Self { size, peaks })
        } else {
            Err(Error::RootMismatch)
        }
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The hashes to store.
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Appends an entry's digest.
    pub fn push(&mut self, digest: Hash) {
        self.push_leaf(leaf(digest));
    }

    /// Appends a leaf that is already hashed.
    pub fn push_leaf(&mut self, mut hash: Hash) {
        // Each trailing one bit of the size is a complete subtree, which is merged with the new
        // leaf.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                hash = node(left, hash);
            }
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// The root; for an empty tree the hash of the empty string, as the RFC defines it.
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        match peaks.next() {
            None => Hash::of(&[]),
            Some(last) => peaks.fold(*last, |right, left| node(*left, right)),
        }
    }
}

/// The root over these leaf hashes.
fn root_of(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::of(&[]),
        [one] => *one,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            node(root_of(left), root_of(right))
        }
    }
}

/// The largest power of two below `n`.
fn split(n: usize) -> usize {
    n.next_power_of_two() / 2
}

/// The path from leaf `index` to the root, nearest first. `None` if there is no such leaf.
pub fn inclusion(leaves: &[Hash], index: usize) -> Option<Vec<Hash>> {
    if index >= leaves.len() {
        return None;
    }
    if leaves.len() == 1 {
        return Some(Vec::new());
    }
    let (left, right) = leaves.split_at(split(leaves.len()));
    let (mut path, sibling) = if index < left.len() {
        (inclusion(left, index)?, root_of(right))
    } else {
        (inclusion(right, index - left.len())?, root_of(left))
    };
    path.push(sibling);
    Some(path)
}

/// The root computed from a leaf and its path, or `None` if the path does not fit such a tree.
pub fn root_from_inclusion(leaf: Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut place, mut last, mut hash) = (index, size - 1, leaf);
    let mut path = path.iter();
    while last > 0 {
        if place % 2 == 1 {
            hash = node(*path.next()?, hash);
        } else if place < last {
            hash = node(hash, *path.next()?);
        }
        place /= 2;
        last /= 2;
    }
    path.next().is_none().then_some(hash)
}

/// The proof that the tree over all leaves extends the tree over the first `old`.
pub fn consistency(leaves: &[Hash], old: usize) -> Option<Vec<Hash>> {
    fn sub(leaves: &[Hash], old: usize, complete: bool) -> Option<Vec<Hash>> {
        if old == leaves.len() {
            return Some(if complete { Vec::new() } else { vec![root_of(leaves)] });
        }
        let (left, right) = leaves.split_at(split(leaves.len()));
        let (mut path, sibling) = if old <= left.len() {
            (sub(left, old, complete)?, root_of(right))
        } else {
            (sub(right, old - left.len(), false)?, root_of(left))
        };
        path.push(sibling);
        Some(path)
    }
    if old == 0 || old > leaves.len() { None } else { sub(leaves, old, true) }
}

/// Checks a consistency proof between two roots (RFC 9162, section 2.1.4.2).
pub fn is_consistent(old: (u64, Hash), new: (u64, Hash), path: &[Hash]) -> bool {
    fn check(old: (u64, Hash), new: (u64, Hash), path: &[Hash]) -> Option<bool> {
        let (old_size, old_root) = old;
        let (new_size, new_root) = new;
        if old_size == new_size {
            return Some(path.is_empty() && old_root == new_root);
        }
        if old_size == 0 || old_size > new_size {
            return None;
        }
        let mut path = path.iter();
        let (mut place, mut last) = (old_size - 1, new_size - 1);
        while place % 2 == 1 {
            place /= 2;
            last /= 2;
        }
        // When the old tree is complete, its root is the first hash and is not repeated in the
        // proof.
        let first = if old_size.is_power_of_two() { old_root } else { *path.next()? };
        let (mut old_hash, mut new_hash) = (first, first);
        while last > 0 {
            if place % 2 == 1 {
                let sibling = *path.next()?;
                old_hash = node(sibling, old_hash);
                new_hash = node(sibling, new_hash);
            } else if place < last {
                new_hash = node(new_hash, *path.next()?);
            }
            place /= 2;
            last /= 2;
        }
        Some(path.next().is_none() && old_hash == old_root && new_hash == new_root)
    }
    check(old, new, path).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(n: u8) -> Vec<Hash> {
        (0..n).map(|i| Hash::of(&[&[i]])).collect()
    }

    fn hex(text: &str) -> Hash {
        Hash::from_hex(text.as_bytes()).unwrap()
    }

    /// Known values of RFC 6962: the empty root is the SHA-256 of the empty string, and a leaf is
    /// hashed with prefix 0x00.
    #[test]
    fn known_values() {
        assert_eq!(
            Edge::default().root(),
            hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        );
        assert_eq!(
            Hash::of(&[&[0]]),
            hex("6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d")
        );
    }

    #[test]
    fn edge_agrees_with_the_definition() {
        for n in 0..70 {
            let mut edge = Edge::default();
            digests(n).into_iter().for_each(|digest| edge.push(digest));
            let leaves: Vec<Hash> = digests(n).into_iter().map(leaf).collect();
            assert_eq!(edge.root(), root_of(&leaves), "{n} leaves");
            assert_eq!(Edge::from_parts(edge.size(), edge.peaks().to_vec()).unwrap(), edge);
        }
    }

    #[test]
    fn every_inclusion_proof_holds_and_no_other() {
        for n in 1..40_u8 {
            let leaves: Vec<Hash> = digests(n).into_iter().map(leaf).collect();
            let root = root_of(&leaves);
            for index in 0..leaves.len() {
                let path = inclusion(&leaves, index).unwrap();
                let found = |i: usize, size: u64, path: &[Hash]| {
                    root_from_inclusion(leaves[i], index as u64, size, path)
                };
                assert_eq!(found(index, u64::from(n), &path), Some(root));
                assert_ne!(
                    found((index + 1) % leaves.len(), u64::from(n), &path),
                    Some(root).filter(|_| n > 1)
                );
                assert_eq!(found(index, u64::from(n), &[&path[..], &[root]].concat()), None);
            }
        }
    }

    #[test]
    fn every_consistency_proof_holds_and_no_other() {
        let all: Vec<Hash> = digests(40).into_iter().map(leaf).collect();
        for new in 1..=all.len() {
            for old in 1..=new {
                let path = consistency(&all[..new], old).unwrap();
                let head = |n: usize| (n as u64, root_of(&all[..n]));
                assert!(is_consistent(head(old), head(new), &path), "{old} in {new}");
                assert!(!is_consistent((old as u64, Hash::ZERO), head(new), &path));
                assert!(old == new || !is_consistent(head(old), (new as u64, Hash::ZERO), &path));
            }
        }
    }
}
