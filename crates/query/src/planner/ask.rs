//! Period to ask back, and which chart suits a plain answer.
//!
//! The invariant: a question is only asked when two columns fit a word equally well and the answer
//! would differ.

use crate::query::Expr;

use super::build::has_aggregate;
use super::reader::Reader;
use super::schema::Place;
use super::{ChartKind, ChartWish, Choice, Outcome};

impl Reader<'_> {
    /// Two measures that a word fits equally well, in a table of dated events: worth a question.
    pub(super) fn ambiguity(&self, question: &str) -> Option<Outcome> {
        let summed: Vec<Place> = (self.sketch.targets.iter())
            .filter_map(|target| match &target.expr {
                Expr::Aggregate(_, inner) => inner.first().and_then(|inner| self.place_of(inner)),
                _ => None,
            })
            .collect();
        for mark in self.marks.iter().filter(|mark| mark.used && mark.key.is_none() && !mark.quoted) {
            let best = mark.column_quality();
            if best > 0.8 {
                continue;
            }
            let Some(chosen) =
                mark.columns.iter().map(|link| link.place).find(|place| summed.contains(place))
            else {
                continue;
            };
            let dated = self.time_of(chosen.table).is_some();
            let equal: Vec<Place> = (mark.columns.iter())
                .filter(|link| link.quality >= best - 0.01 && self.schema.is_measure(link.place))
                .map(|link| link.place)
                .collect();
            if equal.len() >= 2 && dated && equal.contains(&chosen) {
                return Some(self.choices(question, &mark.text, &equal));
            }
        }
        None
    }

    pub(super) fn choices(&self, question: &str, said: &str, places: &[Place]) -> Outcome {
        let options = (places.iter())
            .map(|place| {
                let label = self.label(*place);
                let lower = question.to_lowercase();
                let full = match lower
                    .find(&said.to_lowercase())
                    .and_then(|start| Some((question.get(..start)?, question.get(start + said.len()..)?)))
                {
                    Some((before, after)) => format!("{before}{}{after}", label.replace('_', " ")),
                    None => format!("{question} ({})", label.replace('_', " ")),
                };
                Choice { label, question: full }
            })
            .collect();
        Outcome::Ask { question: format!("Which “{said}” do you mean?"), options }
    }

    /// A chart for groups with numbers.
    pub(super) fn chart(&self) -> Option<ChartWish> {
        let group = self.sketch.groups.first().cloned().or_else(|| {
            self.sketch
                .entities
                .first()
                .and_then(|_| self.sketch.targets.iter().find(|target| !has_aggregate(&target.expr)))
                .map(|target| target.expr.clone())
        })?;
        if self.sketch.limit == Some(1) || self.sketch.count_rows {
            return None;
        }
        let x = self.sketch.targets.iter().find(|target| target.expr == group)?;
        let numbers: Vec<_> =
            self.sketch.targets.iter().filter(|target| has_aggregate(&target.expr)).collect();
        let shares = numbers.iter().find(|target| matches!(target.expr, Expr::ShareOfTotal(_)));
        let y: Vec<String> = shares.map_or_else(
            || numbers.iter().map(|target| target.name.clone()).collect(),
            |share| vec![share.name.clone()],
        );
        if y.is_empty() {
            return None;
        }
        let values = self
            .place_of(&group)
            .and_then(|place| self.schema.column(place))
            .map_or(0, |column| column.distinct);
        let yearly = self.place_of(&group).is_some_and(|place| self.schema.is_year(place));
        let kind = match &group {
            Expr::Truncate(..) => ChartKind::Line,
            _ if yearly => ChartKind::Line,
            _ if shares.is_some() && values <= 8 => ChartKind::Pie,
            _ if y.len() > 1 => ChartKind::GroupedBar,
            _ => ChartKind::Bar,
        };
        let title = format!("{} by {}", y.join(", "), x.name);
        Some(ChartWish { query: 0, kind, x: x.name.clone(), y, series: None, title })
    }
}
