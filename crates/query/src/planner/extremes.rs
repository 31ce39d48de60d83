//! Puts superlatives to work once it is known what the answer shows.
//!
//! The invariant: a superlative becomes an aggregate, a condition, or an order with a limit.

use crate::query::{Aggregate, Expr};

use super::build::has_aggregate;
use super::lexicon::Key;
use super::order::{By, Extreme};
use super::reader::Reader;
use super::schema::Place;
use super::sketch::Target;

impl Reader<'_> {
    /// Puts superlatives to work once the targets are known.
    pub(super) fn apply_extremes(&mut self, extremes: &[Extreme]) {
        for extreme in extremes {
            let Some(expr) = self.by_expr(&extreme.by) else { continue };
            match &extreme.by {
                By::Column(place)
                    if self.sketch.targets.is_empty()
                        && extreme.limit.is_none()
                        && !self.asks_for_thing(extreme.at) =>
                {
                    self.add_aggregate(if extreme.down { Aggregate::Max } else { Aggregate::Min }, *place);
                    continue;
                }
                By::Measure(aggregated) => {
                    self.group_dimension(extreme.at);
                    let shown = matches!(aggregated, Expr::Arithmetic(..))
                        .then(|| Target { expr: aggregated.clone(), name: "profit".to_owned() });
                    self.sketch.targets.extend(shown);
                }
                By::Column(place)
                    if self.marks.iter().any(|mark| mark.key == Some(Key::HowMuch))
                        && extreme.limit.is_none()
                        && self.sketch.groups.is_empty()
                        && !self.shows_measure() =>
                {
                    self.sketch.targets.clear();
                    self.add_aggregate(if extreme.down { Aggregate::Max } else { Aggregate::Min }, *place);
                    continue;
                }
                By::Column(place) if self.summed_extreme(*place) => {
                    let total = Expr::Aggregate(Aggregate::Sum, vec![self.expr(*place)]);
                    let label = self.label(*place);
                    self.assumptions.push(format!("Compared the total of {label}."));
                    self.group_dimension(extreme.at);
                    self.sketch.order.push((total, extreme.down));
                    self.sketch.limit = Some(extreme.limit.unwrap_or(1));
                    continue;
                }
                By::Column(place)
                    if !self.sketch.groups.is_empty()
                        && self.sketch.targets.iter().all(|target| has_aggregate(&target.expr))
                        && extreme.limit.is_none() =>
                {
                    self.add_aggregate(if extreme.down { Aggregate::Max } else { Aggregate::Min }, *place);
                    continue;
                }
                By::Column(place)
                    if self.sketch.groups.is_empty()
                        && self.sketch.entities.is_empty()
                        && extreme.limit.is_none()
                        && (self.all_aggregates() || self.shared_year(*place)) =>
                {
                    let condition = self.equals_extreme(*place, extreme.down);
                    self.sketch.filters.push(condition);
                    if self.asked_first(extreme.at) {
                        self.add_column(*place);
                    }
                    continue;
                }
                By::Column(place) => {
                    if let Some(reference) = self.entity_reference(*place).filter(|_| extreme.limit.is_none())
                    {
                        // "the most populated city in each country": one city for each.
                        self.sketch.per_group = Some((expr, extreme.down, reference));
                        let entities = std::mem::take(&mut self.sketch.entities);
                        self.show_entities(&entities);
                        continue;
                    }
                    if let Some(group) = self
                        .sketch
                        .groups
                        .first()
                        .cloned()
                        .filter(|_| extreme.limit.is_none() && self.sketch.having.is_empty())
                    {
                        self.sketch.per_group = Some((expr, extreme.down, group.clone()));
                        self.sketch.groups.clear();
                        let name = self
                            .place_of(&group)
                            .map_or_else(|| "group".to_owned(), |place| self.label(place));
                        self.add(group, name);
                        continue;
                    }
                    if self.asked_first(extreme.at) {
                        self.add_column(*place);
                    }
                }
                By::Aggregate(_, place) => self.group_for(Some(place.table), extreme.at),
                By::Count(table) => {
                    let name = self.table_name(*table);
                    if !self.sketch.also.contains(&name) {
                        self.sketch.also.push(name);
                    }
                    self.group_for(Some(*table), extreme.at);
                }
                By::Common(place) => {
                    let group = self.expr(*place);
                    self.sketch.groups = vec![group];
                    if self.sketch.targets.is_empty() {
                        self.add_column(*place);
                    }
                }
            }
            self.sketch.order.push((expr, extreme.down));
            self.sketch.limit = Some(extreme.limit.unwrap_or(1));
        }
    }

    /// The column by which rows of a table refer to the one entity that groups them.
    pub(super) fn entity_reference(&self, place: Place) -> Option<Expr> {
        let [entity] = self.sketch.entities.as_slice() else { return None };
        if self.sketch.targets.iter().any(|target| has_aggregate(&target.expr))
            || !self.sketch.having.is_empty()
        {
            return None;
        }
        let table = self.table_name(place.table);
        let join =
            self.schema.catalogue.joins.iter().find(|join| join.from.0 == table && join.to.0 == *entity)?;
        Some(Expr::Column(table, join.from.1.first()?.clone()))
    }

    /// Shows the name of the things that group the answer.
    fn show_entities(&mut self, entities: &[String]) {
        for entity in entities {
            let table = self.schema.catalogue.tables.iter().position(|table| table.name == *entity);
            if let Some(place) = table.and_then(|table| self.schema.display(table)) {
                self.add_column(place);
            }
        }
    }

    /// "What is the largest X … and which Y": the superlative itself is asked for.
    pub(super) fn asked_first(&self, at: usize) -> bool {
        self.previous(at, |key| matches!(key, Key::Is))
            .is_some_and(|before| self.key(before) == Some(Key::Ask))
            && self.next(at, |_| false).is_some_and(|next| {
                self.mark(next)
                    .is_some_and(|mark| mark.used && !mark.columns.is_empty() && mark.key.is_none())
            })
    }

    /// Is a thing asked for, not the superlative's own number?
    pub(super) fn asks_for_thing(&self, at: usize) -> bool {
        let noun = (0..at).any(|place| self.is_table(place));
        let who = (0..self.marks.len())
            .any(|place| matches!(self.key(place), Some(Key::Who | Key::Where | Key::When)));
        let next_table = self.next(at, |key| matches!(key, Key::Of)).is_some_and(|next| {
            let next = if self.mark(next).is_some_and(super::link::Mark::unknown) { next + 1 } else { next };
            self.is_table(next) && !self.is_column(next)
        });
        noun || who || next_table
    }

    /// What the rows are grouped by when a superlative counts them.
    pub(super) fn group_for(&mut self, counted: Option<usize>, at: usize) {
        if !self.sketch.groups.is_empty() || !self.sketch.entities.is_empty() {
            return;
        }
        let first = self.sketch.targets.iter().find_map(|target| self.place_of(&target.expr));
        if let Some(place) = first {
            if Some(place.table) == counted || self.names_table(place.table) && !self.is_descriptor(place) {
                let group = self.expr(place);
                if Some(place.table) == counted && !self.schema.is_key(place)
                    || Some(place.table) != counted && !self.is_descriptor(place)
                {
                    self.sketch.groups.push(group);
                    return;
                }
            }
            let name = self.table_name(place.table);
            self.sketch.entities.push(name);
            return;
        }
        let entity = self
            .named
            .iter()
            .find(|(_, table)| Some(*table) != counted)
            .map_or(self.entity_before(at), |(_, table)| *table);
        let name = self.table_name(entity);
        self.sketch.entities.push(name);
    }

    /// Names or identifies its row, so grouping by the row is meant.
    pub(super) fn is_descriptor(&self, place: Place) -> bool {
        self.schema.is_key(place)
            || self.schema.display(place.table) == Some(place)
            || self
                .schema
                .column(place)
                .is_some_and(|column| column.seen > 0 && column.distinct * 10 >= column.seen * 9)
    }

    /// "which state has the highest amount": the total of many rows is meant.
    pub(super) fn summed_extreme(&self, place: Place) -> bool {
        let calendar = self.sketch.groups.iter().any(|group| matches!(group, Expr::Truncate(..)));
        let first = self.sketch.targets.first().and_then(|target| self.place_of(&target.expr));
        let split = first.is_some_and(|first| {
            first.table == place.table
                && !self.schema.is_measure(first)
                && self
                    .schema
                    .column(first)
                    .is_some_and(|column| column.seen > 0 && column.distinct * 5 < column.seen)
        });
        self.additive(place) && (calendar || split && self.sketch.targets.len() == 1 && !self.sketch.distinct)
    }

    /// Groups by the thing that a total is compared for.
    pub(super) fn group_dimension(&mut self, at: usize) {
        if !self.sketch.groups.is_empty() || !self.sketch.entities.is_empty() {
            return;
        }
        let first =
            self.sketch.targets.iter().find_map(|target| {
                self.place_of(&target.expr).filter(|place| !self.schema.is_measure(*place))
            });
        let noun = (0..self.marks.len())
            .filter(|place| *place != at && self.is_column(*place))
            .find_map(|place| self.resolve(place).filter(|place| !self.schema.is_measure(*place)));
        let place =
            first.or(noun).or_else(|| self.named.first().and_then(|(_, table)| self.schema.display(*table)));
        let Some(place) = place else { return };
        // The same column in the table that is summed saves a join.
        let own = self.schema.places().find(|other| {
            other.table == self.head && self.label(*other).eq_ignore_ascii_case(&self.label(place))
        });
        let place = own.unwrap_or(place);
        let group = self.expr(place);
        self.sketch.targets.retain(|target| target.expr == group);
        self.add_column(place);
        self.sketch.groups.push(group);
    }

    pub(super) fn shows_measure(&self) -> bool {
        self.sketch
            .targets
            .iter()
            .filter_map(|target| self.place_of(&target.expr))
            .any(|place| self.schema.is_measure(place))
    }

    pub(super) fn all_aggregates(&self) -> bool {
        !self.sketch.targets.is_empty()
            && self.sketch.targets.iter().all(|target| has_aggregate(&target.expr))
    }

    /// Years that many rows share: "in the earliest year" means all of them.
    pub(super) fn shared_year(&self, place: Place) -> bool {
        self.schema.is_year(place)
            && self.schema.column(place).is_some_and(|column| column.distinct * 3 < column.seen)
    }

    /// The column has its largest or smallest value.
    pub(super) fn equals_extreme(&self, place: Place, down: bool) -> crate::query::Condition {
        let expr = self.expr(place);
        let table = self.table_name(place.table);
        let same: Vec<_> = (self.sketch.filters.iter())
            .filter(|condition| {
                let mut tables = Vec::new();
                super::build::tables_in(condition, &mut tables);
                tables.iter().all(|known| *known == table)
            })
            .cloned()
            .collect();
        let aggregate = if down { Aggregate::Max } else { Aggregate::Min };
        let inner = crate::query::Query {
            items: vec![crate::query::Item {
                expr: Expr::Aggregate(aggregate, vec![expr.clone()]),
                name: "extreme".to_owned(),
            }],
            table: table.clone(),
            alias: table,
            filter: super::build::all(same),
            ..crate::query::Query::default()
        };
        crate::query::Condition::Compare(expr, crate::query::Compare::Equal, Expr::Scalar(Box::new(inner)))
    }
}
