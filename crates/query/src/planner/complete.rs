//! What the parts of a sketch need of each other: groups in the answer, tables that take part, rows
//! listed once.
//!
//! The invariant: it only completes what was read, it never drops a condition.

use crate::query::{Aggregate, Expr};

use super::build::has_aggregate;
use super::lexicon::Key;
use super::reader::Reader;

impl Reader<'_> {
    /// What the parts need of each other: groups in the answer, tables that must take part, an
    /// order by name.
    pub(super) fn complete(&mut self) {
        self.drop_compared();
        self.nearer_columns();
        self.group_targets();
        self.named_tables();
        self.once_each();
        // A course over time reads in its order.
        if self.sketch.order.is_empty()
            && let Some(time) =
                self.sketch.groups.iter().find(|group| matches!(group, Expr::Truncate(..))).cloned()
        {
            self.sketch.order.push((time, false));
        }
        let alphabetical = self.marks.iter().any(|mark| mark.key == Some(Key::Alphabetical));
        let counted = self.sketch.targets.iter().find(|target| has_aggregate(&target.expr) && !alphabetical);
        let first = counted.or(self.sketch.targets.first()).map(|target| target.expr.clone());
        for (expr, _) in &mut self.sketch.order {
            if *expr == Expr::Star
                && let Some(first) = &first
            {
                *expr = first.clone();
            }
        }
        self.whole_groups();
        self.ordered_once();
        self.own_names();
        let whole = |expr: &Expr| matches!(expr, Expr::Column(_, star) if star == "*");
        self.sketch.order.retain(|(expr, _)| !whole(expr));
        if self.sketch.distinct && self.sketch.targets.iter().any(|target| has_aggregate(&target.expr)) {
            self.sketch.distinct = false;
        }
    }

    /// Whole rows of grouped things: every column by its name, since a group cannot show `*`.
    fn whole_groups(&mut self) {
        if self.sketch.groups.is_empty() && self.sketch.entities.is_empty() {
            return;
        }
        let whole = self.sketch.targets.iter().position(|target| target.name == "*");
        let Some(Expr::Column(table, _)) = whole.map(|place| self.sketch.targets.remove(place).expr) else {
            return;
        };
        let columns =
            self.schema.catalogue.table(&table).map(|table| table.columns.iter()).into_iter().flatten();
        for column in columns {
            self.add(Expr::Column(table.clone(), column.name.clone()), column.label.clone());
        }
    }

    /// Equal rows once, in the order of something that is not shown: one group for each row.
    fn ordered_once(&mut self) {
        let shown = |expr: &Expr| self.sketch.targets.iter().any(|target| target.expr == *expr);
        if !self.sketch.distinct || self.sketch.order.iter().all(|(expr, _)| shown(expr)) {
            return;
        }
        if self.sketch.targets.iter().any(|target| target.name == "*") {
            self.sketch.distinct = false;
            return;
        }
        self.sketch.distinct = false;
        self.sketch.groups = self.sketch.targets.iter().map(|target| target.expr.clone()).collect();
        let targets = self.sketch.targets.clone();
        for (expr, down) in &mut self.sketch.order {
            if !has_aggregate(expr) && !targets.iter().any(|target| target.expr == *expr) {
                let aggregate = if *down { Aggregate::Max } else { Aggregate::Min };
                *expr = Expr::Aggregate(aggregate, vec![expr.clone()]);
            }
        }
    }

    /// Two columns of the answer never share a name.
    fn own_names(&mut self) {
        let mut seen: Vec<String> = Vec::new();
        for target in &mut self.sketch.targets {
            if seen.contains(&target.name.to_lowercase()) {
                if let Expr::Column(table, _) = &target.expr {
                    target.name = format!("{table} {}", target.name);
                }
                while seen.contains(&target.name.to_lowercase()) {
                    target.name.push('2');
                }
            }
            seen.push(target.name.to_lowercase());
        }
    }

    /// A thing that fulfils a condition through several partners is listed once.
    pub(super) fn once_each(&mut self) {
        let sketch = &self.sketch;
        let plain = sketch.groups.is_empty()
            && sketch.entities.is_empty()
            && sketch.having.is_empty()
            && sketch.order.is_empty()
            && sketch.both.is_none();
        let places: Vec<_> = sketch.targets.iter().filter_map(|target| self.place_of(&target.expr)).collect();
        let Some(table) = places.first().map(|place| place.table) else { return };
        if !plain || places.len() != sketch.targets.len() || places.iter().any(|place| place.table != table) {
            return;
        }
        let mut used = sketch.also.clone();
        sketch.filters.iter().for_each(|condition| super::build::tables_in(condition, &mut used));
        let name = self.table_name(table);
        let fans = used
            .iter()
            .any(|other| *other != name && super::joins::fans_out(self.schema.catalogue, &name, other));
        if fans && table == self.head {
            self.sketch.distinct = true;
        }
        let attribute = places.len() == 1
            && places.first().is_some_and(|place| {
                !self.schema.is_key(*place)
                    && self.schema.display(table) != Some(*place)
                    && self.schema.column(*place).is_some_and(|column| column.distinct * 2 < column.seen)
            });
        let asked = self.marks.iter().any(|mark| mark.text.eq_ignore_ascii_case("which"));
        if attribute
            && (!self.sketch.filters.is_empty() && asked
                || self.sketch.absent.iter().any(|absent| absent.by_value))
        {
            self.sketch.distinct = true;
        }
    }

    /// A column that is held to one value is not asked for when something else is.
    pub(super) fn drop_compared(&mut self) {
        let fixed: Vec<Expr> = self
            .sketch
            .filters
            .iter()
            .filter_map(|condition| match condition {
                crate::query::Condition::Compare(
                    column @ Expr::Column(..),
                    crate::query::Compare::Equal,
                    Expr::Literal(_),
                ) => Some(column.clone()),
                _ => None,
            })
            .collect();
        if self.sketch.targets.iter().any(|target| !fixed.contains(&target.expr))
            && self.sketch.groups.is_empty()
        {
            self.sketch.targets.retain(|target| !fixed.contains(&target.expr));
        }
    }

    /// The same column in a table that is used anyway saves a join.
    pub(super) fn nearer_columns(&mut self) {
        let mut used = Vec::new();
        self.sketch.filters.iter().for_each(|condition| super::build::tables_in(condition, &mut used));
        self.sketch.order.iter().for_each(|(expr, _)| super::build::tables_of(expr, &mut used));
        self.sketch
            .targets
            .iter()
            .filter(|target| has_aggregate(&target.expr))
            .for_each(|target| super::build::tables_of(&target.expr, &mut used));
        let [only] = used.as_slice() else { return };
        let Some(table) = self.schema.catalogue.tables.iter().position(|table| table.name == *only) else {
            return;
        };
        let plain: Vec<Expr> = self
            .sketch
            .targets
            .iter()
            .map(|target| target.expr.clone())
            .chain(self.sketch.groups.clone())
            .collect();
        for expr in plain {
            let Some(place) = self.place_of(&expr).filter(|place| place.table != table) else { continue };
            let twin = self.schema.places().find(|other| {
                other.table == table
                    && self.label(*other).eq_ignore_ascii_case(&self.label(place))
                    && self.overlaps(*other, place)
                    && !self.schema.is_key(*other)
            });
            let Some(twin) = twin.map(|twin| self.expr(twin)) else { continue };
            self.sketch
                .targets
                .iter_mut()
                .map(|target| &mut target.expr)
                .chain(self.sketch.groups.iter_mut())
                .filter(|known| **known == expr)
                .for_each(|known| *known = twin.clone());
            let old = self.table_name(place.table);
            self.named.retain(|(_, known)| *known != place.table);
            self.sketch.entities.retain(|entity| *entity != old);
            self.sketch.also.retain(|also| *also != old);
        }
    }

    pub(super) fn overlaps(&self, left: super::schema::Place, right: super::schema::Place) -> bool {
        let (Some(left), Some(right)) = (self.schema.column(left), self.schema.column(right)) else {
            return false;
        };
        let sample: Vec<&String> = right.values.iter().take(30).map(|(value, _)| value).collect();
        let shared =
            sample.iter().filter(|value| left.values.iter().any(|(known, _)| known == **value)).count();
        !sample.is_empty() && shared * 10 >= sample.len() * 8
    }

    /// A number that is shown for groups is summed, or averaged when a sum says nothing.
    pub(super) fn sum_groups(&mut self) {
        let aggregated = self.sketch.targets.iter().any(|target| has_aggregate(&target.expr))
            || self.sketch.order.iter().any(|(expr, _)| has_aggregate(expr));
        if aggregated
            || self.sketch.groups.is_empty() && self.sketch.entities.is_empty()
            || !self.sketch.having.is_empty()
        {
            return;
        }
        let measured: Vec<super::schema::Place> = self
            .sketch
            .targets
            .iter()
            .filter_map(|target| self.place_of(&target.expr))
            .filter(|place| self.schema.is_measure(*place) && !self.schema.is_year(*place))
            .collect();
        if measured.is_empty()
            && self.sketch.targets.iter().all(|target| self.sketch.groups.contains(&target.expr))
        {
            self.main_target(self.head);
            return;
        }
        for place in measured {
            let expr = self.expr(place);
            self.sketch.targets.retain(|target| target.expr != expr);
            let aggregate = if self.additive(place) {
                crate::query::Aggregate::Sum
            } else {
                crate::query::Aggregate::Average
            };
            self.add_aggregate(aggregate, place);
            let label = self.label(place);
            self.assumptions.push(format!(
                "“{label}” of a group is its {}.",
                if aggregate == crate::query::Aggregate::Sum { "total" } else { "average" }
            ));
        }
    }

    pub(super) fn group_targets(&mut self) {
        self.sum_groups();
        let aggregated = self.sketch.targets.iter().any(|target| has_aggregate(&target.expr))
            || self.sketch.order.iter().any(|(expr, _)| has_aggregate(expr))
            || !self.sketch.having.is_empty();
        if !aggregated {
            if !self.sketch.having.is_empty() {
                return;
            }
            // Groups without anything to compute are columns to show.
            for group in std::mem::take(&mut self.sketch.groups) {
                if let Some(place) = self.place_of(&group) {
                    self.add_column(place);
                }
            }
            self.sketch.entities.clear();
            return;
        }
        let shown = self.sketch.targets.iter().any(|target| has_aggregate(&target.expr));
        let plain: Vec<Expr> = self
            .sketch
            .targets
            .iter()
            .filter(|target| !has_aggregate(&target.expr))
            .map(|target| target.expr.clone())
            .collect();
        if shown {
            for group in self.sketch.groups.clone() {
                if !self.sketch.targets.iter().any(|target| target.expr == group) {
                    let name =
                        self.place_of(&group).map_or_else(|| group_name(&group), |place| self.label(place));
                    self.sketch.targets.insert(0, super::sketch::Target { expr: group, name });
                }
            }
            for entity in self.sketch.entities.clone() {
                let Some(table) = self.schema.catalogue.tables.iter().position(|table| table.name == entity)
                else {
                    continue;
                };
                let mine =
                    plain.iter().any(|expr| self.place_of(expr).is_some_and(|place| place.table == table));
                if !mine
                    && self.sketch.having.is_empty()
                    && let Some(place) = self.schema.display(table)
                {
                    let name = self.label(place);
                    self.sketch.targets.insert(0, super::sketch::Target { expr: self.expr(place), name });
                }
            }
        }
        let counted_order = self.sketch.order.iter().any(|(expr, _)| has_aggregate(expr));
        if self.sketch.groups.is_empty()
            && self.sketch.entities.is_empty()
            && !plain.is_empty()
            && (shown || counted_order)
        {
            // Plain columns next to an aggregate: one row for each of their things.
            let place = plain.first().and_then(|expr| self.place_of(expr));
            match place {
                Some(place)
                    if self.schema.display(place.table) == Some(place) || self.schema.is_key(place) =>
                {
                    let name = self.table_name(place.table);
                    self.sketch.entities.push(name);
                }
                _ => self.sketch.groups = plain,
            }
        }
    }

    /// Tables that the question names without using a column of them.
    pub(super) fn named_tables(&mut self) {
        let mut used = Vec::new();
        self.sketch.targets.iter().for_each(|target| super::build::tables_of(&target.expr, &mut used));
        self.sketch.filters.iter().for_each(|condition| super::build::tables_in(condition, &mut used));
        used.extend(self.sketch.also.iter().cloned());
        used.extend(self.sketch.entities.iter().cloned());
        if used.is_empty() {
            return;
        }
        for (at, table) in self.named.clone() {
            let name = self.table_name(table);
            if used.contains(&name)
                || self
                    .sketch
                    .absent
                    .iter()
                    .any(|absent| absent.entity == name || absent.tables.contains(&name))
            {
                continue;
            }
            // A name that is also a column that was shown is explained.
            let shown = self.mark(at).is_some_and(|mark| {
                mark.columns.iter().any(|link| {
                    link.quality > 0.7
                        && self
                            .sketch
                            .targets
                            .iter()
                            .any(|target| self.place_of(&target.expr) == Some(link.place))
                })
            });
            let near =
                used.iter().any(|known| super::joins::steps(self.schema.catalogue, known, &name).is_some());
            let value = self.mark(at).is_some_and(|mark| !mark.values.is_empty() && mark.used);
            if !shown && near && !value {
                self.sketch.also.push(name.clone());
                used.push(name);
            }
        }
    }
}

fn group_name(expr: &Expr) -> String {
    match expr {
        Expr::Truncate(grain, _) => format!("{grain:?}").to_lowercase(),
        _ => "group".to_owned(),
    }
}
