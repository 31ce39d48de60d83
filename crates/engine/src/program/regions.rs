//! Branches of a `parallel` node must be disjoint.
//!
//! A branch is everything that its first node leads to, up to an end. It joins at its parallel
//! node, whose own edges lead on. A node that two branches reach, or a branch and the rest, could
//! run twice at the same time, so it is refused.

use super::{Node, NodeWork, ProgramIndex, Transition};
use std::collections::BTreeMap;
use steward_domain::Problem;

/// The branch of a node: a parallel node and the number of its branch; `None` is the main path.
type Region = Option<(ProgramIndex, usize)>;

pub(super) fn check(nodes: &[Node], entry: Option<ProgramIndex>, problems: &mut Vec<Problem>) {
    let mut regions: BTreeMap<ProgramIndex, Region> = BTreeMap::new();
    let mut front: Vec<(ProgramIndex, Region)> = entry.map(|entry| (entry, None)).into_iter().collect();
    while let Some((place, region)) = front.pop() {
        let Some(node) = nodes.get(place as usize) else { continue };
        if let Some(before) = regions.get(&place) {
            if *before != region {
                problems.push(conflict(nodes, node, *before, region));
                return;
            }
            continue;
        }
        regions.insert(place, region);
        for target in ways(node) {
            front.push((target, region));
        }
        if let NodeWork::Parallel { branches, .. } = &node.work {
            front
                .extend(branches.iter().enumerate().map(|(number, branch)| (*branch, Some((place, number)))));
        }
    }
}

/// The targets of a node's edges, without ends.
pub(crate) fn ways(node: &Node) -> Vec<ProgramIndex> {
    let mut targets: Vec<ProgramIndex> = node.on_error.iter().flatten().copied().collect();
    for edge in &node.edges {
        match &edge.to {
            Transition::To(target) => targets.extend(target),
            Transition::Routes(routes) => targets.extend(routes.values().flatten()),
        }
    }
    targets
}

fn conflict(nodes: &[Node], node: &Node, one: Region, other: Region) -> Problem {
    let name = |place: ProgramIndex| nodes.get(place as usize).map_or("?", |node| node.name.as_str());
    let parallel = one.or(other).map_or("?", |(parallel, _)| name(parallel));
    let branch = |region: Region| match region {
        None => "the main way".to_owned(),
        Some((parallel, number)) => match nodes.get(parallel as usize).map(|node| &node.work) {
            Some(NodeWork::Parallel { branches, .. }) => {
                format!("branch {}", branches.get(number).map_or("?", |place| name(*place)))
            }
            _ => "a branch".to_owned(),
        },
    };
    let rule = format!(
        "is reached from {} and from {} of {parallel}: branches join at their parallel node, so lead on with \
            an edge from {parallel}",
        branch(one),
        branch(other),
    );
    Problem::new(format!("nodes.{}", node.name), rule, &node.name)
}
