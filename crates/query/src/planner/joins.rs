//! Ways through the tables: the cheapest tree of joins that reaches every table a question needs.
//!
//! The invariant: each table stands once in a query, under its own name.

use std::collections::HashMap;

use crate::catalogue::{Catalogue, Evidence, Join};
use crate::query::{Expr, Joined};

/// Joins that reach all of `tables` from `head`, in an order in which each one ties to what stands
/// before it. `None` when there is no way.
pub(crate) fn tree(catalogue: &Catalogue, head: &str, tables: &[String]) -> Option<Vec<Joined>> {
    let mut inside: Vec<String> = vec![head.to_owned()];
    let mut joins = Vec::new();
    let mut missing: Vec<String> = tables.iter().filter(|table| *table != head).cloned().collect();
    missing.dedup();
    while !missing.is_empty() {
        let (target, path) = (missing.iter())
            .filter_map(|target| {
                path(catalogue, &inside, target).map(|(cost, path)| (cost, target.clone(), path))
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, target, path)| (target, path))?;
        for step in path {
            if !inside.contains(&step.table) {
                inside.push(step.table.clone());
                joins.push(step);
            }
        }
        missing.retain(|table| table != &target && !inside.contains(table));
    }
    Some(joins)
}

/// How many joins lie between two tables, if they can be joined.
pub(crate) fn steps(catalogue: &Catalogue, from: &str, to: &str) -> Option<usize> {
    if from == to {
        return Some(0);
    }
    path(catalogue, &[from.to_owned()], to).map(|(_, path)| path.len())
}

/// Does one row of `from` meet many rows of `to` on the way between them?
pub(crate) fn fans_out(catalogue: &Catalogue, from: &str, to: &str) -> bool {
    let Some((_, path)) = path(catalogue, &[from.to_owned()], to) else { return false };
    path.iter().any(|step| {
        let Some((Expr::Column(left, left_column), Expr::Column(right, right_column))) = step.on.first()
        else {
            return false;
        };
        let (near, near_column) =
            if *left == step.table { (left, left_column) } else { (right, right_column) };
        catalogue.joins.iter().any(|join| join.from.0 == *near && join.from.1.first() == Some(near_column))
    })
}

/// Tables with what it costs to reach them, and from where.
type Reached = HashMap<String, (f64, Option<(String, Joined)>)>;

fn cost(join: &Join) -> f64 {
    match join.evidence {
        Evidence::Constraint => 1.0,
        Evidence::Name => 1.25,
        Evidence::Values => 1.9,
    }
}

fn path(catalogue: &Catalogue, from: &[String], to: &str) -> Option<(f64, Vec<Joined>)> {
    let mut best: Reached = from.iter().map(|table| (table.clone(), (0.0, None))).collect();
    let mut open: Vec<String> = from.to_vec();
    while let Some(position) = cheapest(&open, &best) {
        let table = open.swap_remove(position);
        let so_far = best.get(&table).map_or(0.0, |(cost, _)| *cost);
        if table == to {
            break;
        }
        for join in &catalogue.joins {
            for (near, far) in [(&join.from, &join.to), (&join.to, &join.from)] {
                if near.0 != table || far.0 == table {
                    continue;
                }
                let total = so_far + cost(join);
                if best.get(&far.0).is_none_or(|(known, _)| total < *known - 1e-9) {
                    let on = (near.1.iter().zip(&far.1))
                        .map(|(a, b)| {
                            (Expr::Column(near.0.clone(), a.clone()), Expr::Column(far.0.clone(), b.clone()))
                        })
                        .collect();
                    let step = Joined { table: far.0.clone(), alias: far.0.clone(), on, outer: false };
                    best.insert(far.0.clone(), (total, Some((table.clone(), step))));
                    open.push(far.0.clone());
                }
            }
        }
    }
    let total = best.get(to).map(|(cost, _)| *cost)?;
    let mut steps = Vec::new();
    let mut at = to.to_owned();
    while let Some((_, Some((before, step)))) = best.get(&at) {
        steps.push(step.clone());
        at.clone_from(before);
    }
    steps.reverse();
    Some((total, steps))
}

fn cheapest(open: &[String], best: &Reached) -> Option<usize> {
    let cost = |table: &String| best.get(table).map_or(f64::MAX, |(cost, _)| *cost);
    (0..open.len()).min_by(|a, b| {
        let at = |place: &usize| open.get(*place).map_or(f64::MAX, cost);
        at(a).total_cmp(&at(b))
    })
}
