//! Puts the pieces of an utterance into the fields of one tool: each piece once, by what it is and
//! by the words beside it.

use super::slot::{Slot, SlotKind, object, shaped};
use super::span::{Count, Literal, LiteralKind};
use crate::understand::lexicon::root;
use crate::understand::types::Argument;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What a tool was told.
#[derive(Debug, Clone, Default)]
pub(super) struct LiteralFill {
    pub(super) arguments: BTreeMap<String, Argument>,
    /// Required fields for which nothing was said.
    pub(super) missing: Vec<String>,
    /// Pieces that went into a field.
    pub(super) used: usize,
    /// Pieces that are surely data and went nowhere.
    pub(super) unused_hard: usize,
    pub(super) unused_quotes: usize,
    pub(super) unused_names: usize,
}

impl LiteralFill {
    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.unused_hard == 0 && self.unused_quotes == 0
    }
}

/// A field that takes plain values, and the field around it.
struct Leaf<'a> {
    outer: &'a Slot,
    slot: &'a Slot,
    values: Vec<Value>,
    span: Option<(usize, usize)>,
}

struct Filling<'a> {
    leaves: Vec<Leaf<'a>>,
    literals: &'a [Literal],
    used: Vec<bool>,
}

/// Fills the fields of a tool.
pub(super) fn fill(slots: &[Slot], literals: &[Literal], counts: &[Count]) -> LiteralFill {
    let mut filling = Filling { leaves: leaves(slots), literals, used: vec![false; literals.len()] };
    filling.statements();
    filling.repositories();
    filling.patterns();
    filling.paths();
    filling.by_hint();
    filling.by_order();
    filling.counts(counts);
    filling.finish(slots)
}

fn leaves(slots: &[Slot]) -> Vec<Leaf<'_>> {
    let leaf = |outer, slot| Leaf { outer, slot, values: Vec::new(), span: None };
    let mut found = Vec::new();
    for outer in slots {
        match &outer.kind {
            SlotKind::Fields(inner) => found.extend(inner.iter().map(|slot| leaf(outer, slot))),
            _ => found.push(leaf(outer, outer)),
        }
    }
    found
}

fn is_path(kind: LiteralKind) -> bool {
    matches!(kind, LiteralKind::Absolute | LiteralKind::File | LiteralKind::Slashed)
}

impl Filling<'_> {
    fn put(&mut self, leaf: usize, literal: usize) {
        let (Some(leaf), Some(piece)) = (self.leaves.get_mut(leaf), self.literals.get(literal)) else {
            return;
        };
        leaf.values.push(json!(piece.text));
        leaf.span.get_or_insert((piece.start, piece.end));
        if let Some(used) = self.used.get_mut(literal) {
            *used = true;
        }
    }

    fn is_free(&self, literal: usize) -> bool {
        self.used.get(literal).is_some_and(|used| !used)
    }

    /// The fields of a kind that still take something, those that must be filled first.
    fn open(&self, fits: impl Fn(&SlotKind) -> bool) -> Vec<usize> {
        let mut open: Vec<usize> = (0..self.leaves.len())
            .filter(|at| {
                self.leaves
                    .get(*at)
                    .is_some_and(|leaf| fits(&leaf.slot.kind) && (leaf.values.is_empty() || leaf.slot.many))
            })
            .collect();
        let needed =
            |at: &usize| self.leaves.get(*at).is_some_and(|leaf| leaf.slot.required && leaf.outer.required);
        open.sort_by_key(|at| !needed(at));
        open
    }

    fn pieces(&self, fits: impl Fn(&Literal) -> bool) -> Vec<usize> {
        let fits = |at: &usize| self.is_free(*at) && self.literals.get(*at).is_some_and(&fits);
        (0..self.literals.len()).filter(fits).collect()
    }

    fn statements(&mut self) {
        let pieces = self.pieces(|piece| piece.kind == LiteralKind::Sql);
        let open = self.open(|kind| *kind == SlotKind::Sql);
        if let (Some(leaf), Some(piece)) = (open.first(), pieces.first()) {
            self.put(*leaf, *piece);
        }
    }

    /// "in /srv/site", "of the repository /srv/site": the last path from the root that is not the
    /// only file of the wish.
    fn repositories(&mut self) {
        let Some(leaf) = self.open(|kind| *kind == SlotKind::Repository).first().copied() else { return };
        let pieces = self.pieces(|piece| piece.kind == LiteralKind::Absolute);
        let places =
            ["in", "of", "at", "from", "for", "repository", "repo", "inside", "within", "on", "under"];
        let placed = |at: &&usize| self.literals.get(**at).is_some_and(|piece| piece.follows(&places));
        let found = pieces.iter().rev().find(placed).or(pieces.last()).copied();
        if let Some(piece) = found {
            self.put(leaf, piece);
        }
    }

    fn patterns(&mut self) {
        let globs = self.pieces(|piece| piece.kind == LiteralKind::Glob);
        let leaves = self.open(|kind| *kind == SlotKind::Pattern);
        if let (Some(leaf), Some(piece)) = (leaves.first(), globs.first()) {
            self.put(*leaf, *piece);
        }
    }

    fn paths(&mut self) {
        let branch = self.open(|kind| *kind == SlotKind::Name).iter().any(|at| {
            let words = self.leaves.get(*at).map(|leaf| leaf.slot.words.as_slice()).unwrap_or_default();
            words.iter().any(|word| ["branch", "revision", "target", "ref", "tag"].contains(&word.as_str()))
        });
        let folder = |piece: &Literal| ["folder", "directory", "dir"].contains(&piece.after.as_str());
        let said = |piece: &Literal| {
            piece.follows(&["file", "path", "folder", "directory", "dir"])
                || (piece.follows(&["called", "named"])
                    && piece.before.iter().any(|word| {
                        ["file", "folder", "directory", "dir", "subfolder"].contains(&word.as_str())
                    }))
        };
        let takes = |piece: &Literal| match piece.kind {
            LiteralKind::Slashed => !branch,
            LiteralKind::Quote | LiteralKind::Name => folder(piece) || said(piece),
            kind => is_path(kind),
        };
        let goes = self.open(|kind| *kind == SlotKind::Destination).first().copied();
        if let Some(leaf) = goes {
            let to = |piece: &Literal| takes(piece) && piece.follows(&["to", "into", "as", "onto"]);
            if let Some(piece) = self.pieces(to).last().copied() {
                self.put(leaf, piece);
            }
        }
        for leaf in self.open(|kind| *kind == SlotKind::Path) {
            let many = self.leaves.get(leaf).is_some_and(|leaf| leaf.slot.many);
            let pieces = self.pieces(takes);
            for piece in pieces.into_iter().take(if many { usize::MAX } else { 1 }) {
                self.put(leaf, piece);
            }
        }
    }

    /// The best pairs of a field and a piece by the words beside it, the strongest first.
    fn by_hint(&mut self) {
        let words = |kind: &SlotKind| {
            matches!(kind, SlotKind::Text | SlotKind::Name | SlotKind::Query | SlotKind::Pattern)
        };
        loop {
            let mut best: Option<(f32, usize, usize)> = None;
            for leaf in self.open(words) {
                for piece in
                    self.pieces(|piece| !matches!(piece.kind, LiteralKind::Sql | LiteralKind::Absolute))
                {
                    let (Some(one), Some(other)) = (self.leaves.get(leaf), self.literals.get(piece)) else {
                        continue;
                    };
                    let score = hint(one.slot, other);
                    if score > 0.0 && best.is_none_or(|(known, ..)| score > known) {
                        best = Some((score, leaf, piece));
                    }
                }
            }
            let Some((_, leaf, piece)) = best else { return };
            self.put(leaf, piece);
        }
    }

    /// What nothing beside it speaks for goes where its kind is wanted, if a field must be filled.
    /// A bare name never does: it would only be a guess.
    fn by_order(&mut self) {
        let needed = |filling: &Self, at: &usize| {
            filling
                .leaves
                .get(*at)
                .is_some_and(|leaf| leaf.slot.required && leaf.outer.required && leaf.values.is_empty())
        };
        let order: [(&[SlotKind], &[LiteralKind]); 3] = [
            (&[SlotKind::Text, SlotKind::Query, SlotKind::Pattern], &[LiteralKind::Quote]),
            (&[SlotKind::Name], &[LiteralKind::Quote, LiteralKind::Slashed]),
            (&[SlotKind::Query], &[LiteralKind::File]),
        ];
        for (kinds, pieces) in order {
            for leaf in self.open(|kind| kinds.contains(kind)) {
                if !needed(self, &leaf) {
                    continue;
                }
                if let Some(piece) = self.pieces(|piece| pieces.contains(&piece.kind)).first().copied() {
                    self.put(leaf, piece);
                }
            }
        }
    }

    fn counts(&mut self, counts: &[Count]) {
        let open = self.open(|kind| *kind == SlotKind::Count);
        for count in counts {
            let fits = |at: &&usize| {
                self.leaves.get(**at).is_some_and(|leaf| leaf.values.is_empty() && counted(leaf.slot, count))
            };
            let Some(at) = open.iter().find(fits).copied() else { continue };
            if let Some(leaf) = self.leaves.get_mut(at) {
                leaf.values.push(json!(count.number));
                leaf.span = Some((count.start, count.end));
            }
        }
    }

    fn finish(self, slots: &[Slot]) -> LiteralFill {
        let mut out = LiteralFill::default();
        for (piece, used) in self.literals.iter().zip(&self.used) {
            match (used, piece.kind) {
                (true, _) => out.used += 1,
                (false, LiteralKind::Quote) => out.unused_quotes += 1,
                (false, LiteralKind::Name) => out.unused_names += 1,
                (false, _) => out.unused_hard += 1,
            }
        }
        for slot in slots {
            let own: Vec<&Leaf<'_>> =
                self.leaves.iter().filter(|leaf| std::ptr::eq(leaf.outer, slot)).collect();
            let span = own.iter().find_map(|leaf| leaf.span);
            let value = match &slot.kind {
                SlotKind::Fields(inner) => {
                    let filled: Map<String, Value> = own
                        .iter()
                        .filter(|leaf| !leaf.values.is_empty())
                        .filter_map(|leaf| {
                            Some((leaf.slot.name.clone(), shaped(leaf.slot, leaf.values.clone())?))
                        })
                        .collect();
                    object(inner, filled).and_then(|one| shaped(slot, vec![one]))
                }
                _ => own
                    .first()
                    .filter(|leaf| !leaf.values.is_empty())
                    .and_then(|leaf| shaped(slot, leaf.values.clone())),
            };
            match value {
                Some(value) => {
                    let reason = "it stands for itself in what was said".to_owned();
                    out.arguments.insert(slot.name.clone(), Argument { value, span, reason });
                }
                None if slot.required => out.missing.push(slot.name.clone()),
                None => {}
            }
        }
        out
    }
}

/// How much the words beside a piece speak for a field.
fn hint(slot: &Slot, piece: &Literal) -> f32 {
    let roots: Vec<String> = slot.words.iter().map(|word| root(word)).collect();
    let has = |list: &[&str]| slot.words.iter().any(|word| list.contains(&word.as_str()));
    let quote = piece.kind == LiteralKind::Quote;
    let mut best = 0.0_f32;
    for (at, word) in piece.before.iter().take(3).enumerate() {
        let near = 1.0 - 0.25 * at as f32;
        if roots.contains(&root(word)) && !crate::words::is_stop(word) || (at == 0 && slot.name == *word) {
            best = best.max(3.0 * near);
        } else if !crate::words::is_stop(word)
            && crate::words::words(&slot.description).iter().any(|known| root(&known.lower) == root(word))
        {
            best = best.max(1.6 * near);
        }
    }
    if roots.contains(&root(&piece.after)) && !piece.after.is_empty() {
        best = best.max(2.5);
    }
    if piece.follows(&["called", "named", "titled"]) && has(&["name", "title", "label", "names"]) {
        best = best.max(2.8);
    }
    if quote && slot.kind == SlotKind::Text && piece.follows(&["with", "saying", "write", "says", "text"]) {
        best = best.max(1.2);
    }
    if quote
        && slot.kind == SlotKind::Query
        && piece.follows(&["for", "find", "search", "about", "containing"])
    {
        best = best.max(1.2);
    }
    let replaced = piece.follows(&["replace", "change", "swap"]);
    let replacing = piece.follows(&["with", "by", "to"]);
    if (has(&["old"]) && replaced) || (has(&["new"]) && replacing) {
        best = best.max(3.2);
    }
    if slot.kind == SlotKind::Text && matches!(piece.kind, LiteralKind::File | LiteralKind::Slashed) {
        return 0.0;
    }
    best
}

/// Whether a number of things is what a field counts: by its description, or because it limits.
fn counted(slot: &Slot, count: &Count) -> bool {
    let about = &slot.description;
    let has = |list: &[&str]| slot.words.iter().any(|word| list.contains(&word.as_str()));
    if about.contains(&count.rank) && !count.rank.is_empty() {
        let named = crate::words::words(about).iter().any(|word| root(&word.lower) == root(&count.noun));
        return named;
    }
    let other = ["first", "last"].iter().any(|rank| about.contains(rank) && *rank != count.rank);
    let limits = has(&["limit", "count", "max", "top", "number", "size"]);
    limits && !other
}
