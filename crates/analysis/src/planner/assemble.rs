//! Reads one question from its marks to a sketch: the order in which the parts are looked for.
//!
//! The invariant: conditions are read before what is shown, since a column next to a value is a condition.

use crate::query::Expr;

use super::build::has_aggregate;
use super::lexicon::Key;
use super::reader::Reader;

impl Reader<'_> {
    /// Reads a question that stands alone.
    pub(super) fn assemble(&mut self) {
        self.settle();
        self.find_head();
        self.parts(&[]);
        self.default_targets();
        self.complete();
        self.sketch.head = self.table_name(self.head);
    }

    /// Reads the parts of an open request.
    pub(super) fn assemble_parts(&mut self) {
        self.settle();
        self.find_head();
        if self.named.is_empty() && !self.links_anything() {
            self.head = self.main_table();
        }
        self.parts(&[]);
    }

    /// The table with the most rows among those with numbers and times.
    fn main_table(&self) -> usize {
        let rank = |table: &usize| {
            let has = |fits: &dyn Fn(super::schema::Place) -> bool| self.schema.places().any(|place| place.table == *table && fits(place));
            let time = has(&|place| self.schema.column(place).is_some_and(|column| column.kind.is_time()));
            let measure = has(&|place| self.additive(place));
            (time && measure, measure, self.schema.table(*table).and_then(|table| table.rows).unwrap_or(0))
        };
        (0..self.schema.tables.len()).max_by_key(rank).unwrap_or(0)
    }

    /// Reads a question that leans on the one before.
    pub(super) fn assemble_follow(&mut self, earlier: &super::sketch::Sketch, lean: super::follow::Lean) {
        use super::follow::Lean;
        let table = self.schema.catalogue.tables.iter().position(|table| table.name == earlier.head);
        if let Some(table) = table.filter(|_| self.named.is_empty() || lean != Lean::Instead) {
            self.head = table;
        } else {
            self.find_head();
        }
        if let [target] = earlier.targets.as_slice() {
            self.kept = self.place_of(&target.expr).filter(|place| self.orderable(*place));
        }
        let kept = if lean == Lean::Instead || lean == Lean::Narrow { earlier.targets.clone() } else { Vec::new() };
        self.parts(&kept);
        self.follow(earlier, lean);
        self.sketch.head = if self.sketch.head.is_empty() { self.table_name(self.head) } else { self.sketch.head.clone() };
        if self.sketch.targets.is_empty() {
            self.default_targets();
        }
        self.complete();
    }

    /// All parts but defaults. `kept` stands for columns of the answer that an earlier question asked for.
    fn parts(&mut self, kept: &[super::sketch::Target]) {
        self.sketch.head = self.table_name(self.head);
        self.against_average();
        let extremes = self.extremes();
        self.column_pairs();
        self.comparisons();
        self.values();
        self.empty_cells();
        self.groups(&extremes);
        self.ordering();
        self.conditions();
        self.targets();
        if self.sketch.targets.is_empty() {
            self.sketch.targets = kept.to_vec();
        }
        self.apply_extremes(&extremes);
        if self.sketch.targets == kept {
            self.sketch.targets.clear();
        }
    }

    /// Decides for words that are English and a name at the same time.
    pub(super) fn settle(&mut self) {
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at) else { continue };
            let Some(key) = mark.key else { continue };
            if mark.columns.is_empty() && mark.tables.is_empty() && mark.values.is_empty() {
                continue;
            }
            let quality = mark.column_quality().max(mark.table_quality());
            let listed = matches!(key, Key::Agg(_)).then(|| self.next(at, |key| matches!(key, Key::Of | Key::And | Key::Agg(_)))).flatten();
            let noun = |place: Option<usize>| place.and_then(|place| self.mark(place)).is_some_and(|mark| mark.key.is_none_or(|inner| matches!(key, Key::Super(..)) && matches!(inner, Key::Agg(_))) && (!mark.columns.is_empty() || !mark.tables.is_empty()));
            let next = self.next(at, |key| matches!(key, Key::Of));
            let previous = self.previous(at, |key| matches!(key, Key::Is));
            let measured = previous.is_some_and(|place| matches!(self.key(place), Some(Key::Agg(_) | Key::Super(..) | Key::HowMany)));
            let valued = next.and_then(|place| self.mark(place)).is_some_and(|mark| mark.number.is_some() || !mark.values.is_empty() && mark.columns.is_empty());
            let first = at == 0 || self.previous(at, |_| false).is_none();
            let as_name = match key {
                Key::Null if !mark.values.is_empty() => true,
                Key::Ask => !first || quality > 0.9 && self.key(at + 1) == Some(Key::And),
                Key::Share if measured => quality > 0.9,
                Key::OrderBy if mark.text.eq_ignore_ascii_case("order") && !self.orders(at) => true,
                Key::Agg(_) | Key::Super(..) | Key::Share | Key::NumberOf | Key::OrderBy | Key::Grain(_) | Key::Null | Key::Top(_) | Key::Common(_) => {
                    let compared = previous.is_some_and(|place| matches!(self.key(place), Some(Key::Cmp(..) | Key::Than)));
                    let in_list = listed != next && next.is_some_and(|next| matches!(self.key(next), Some(Key::And | Key::Agg(_)))) && noun(listed);
                    quality > 0.9 && !compared && !in_list && (measured && !noun(next) || valued || !noun(next))
                }
                Key::Of | Key::Is | Key::Clause | Key::And | Key::Or | Key::To | Key::Filler | Key::Without | Key::Not | Key::By => quality > 0.95 && valued && mark.text.len() > 2,
                Key::Cmp(..) => quality > 0.9 && !valued,
                _ => quality > 0.9 && !first,
            };
            if let Some(mark) = self.marks.get_mut(at) {
                if as_name {
                    mark.key = None;
                } else {
                    mark.columns.clear();
                    mark.tables.clear();
                    mark.values.clear();
                }
            }
        }
        // "roll number", "number 1": a label, not a count.
        for at in 0..self.marks.len() {
            let bare = self.key(at) == Some(Key::NumberOf) && self.mark(at).is_some_and(|mark| mark.text.eq_ignore_ascii_case("number"));
            let labels = self.mark(at + 1).is_some_and(|mark| mark.number.is_some()) || at.checked_sub(1).is_some_and(|before| self.is_column(before));
            if let Some(mark) = self.marks.get_mut(at).filter(|_| bare && labels) {
                mark.key = Some(Key::Filler);
            }
        }
        // A column that refers to a table is not meant by the table's own name.
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at).filter(|mark| mark.table_quality() + 0.02 >= mark.column_quality() && mark.columns.len() + mark.tables.len() > 1) else { continue };
            let table = self.table_at(at);
            let kept: Vec<_> = mark.columns.iter().filter(|link| Some(link.place.table) == table || !self.schema.refers_to(link.place, table)).cloned().collect();
            if let Some(mark) = self.marks.get_mut(at) {
                mark.columns = kept;
            }
        }
        self.named = (0..self.marks.len()).filter(|at| self.is_table(*at)).filter_map(|at| self.table_at(at).map(|table| (at, table))).collect();
        // The first of two nouns in a row only describes the second: "car models".
        let described: Vec<usize> = self.named.iter().map(|(at, _)| *at).filter(|at| self.is_table(at + 1) && self.table_at(at + 1) != self.table_at(*at)).collect();
        self.named.retain(|(at, _)| !described.contains(at));
    }

    /// Is "order" about the order of rows?
    fn orders(&self, at: usize) -> bool {
        let by = (at + 1..(at + 8).min(self.marks.len())).any(|place| self.key(place) == Some(Key::By));
        let before = at.checked_sub(1).is_some_and(|before| matches!(self.key(before), Some(Key::Asc | Key::Desc | Key::Alphabetical)));
        let measured = self.previous(at, |_| false).is_some_and(|before| matches!(self.key(before), Some(Key::Agg(_) | Key::HowMany | Key::Super(..))));
        (by || before) && !measured
    }

    /// The table the question is about.
    fn find_head(&mut self) {
        if let Some((_, table)) = self.named.first() {
            self.head = *table;
            return;
        }
        let mut scores: Vec<f32> = vec![0.0; self.schema.tables.len()];
        for mark in &self.marks {
            let mut best: Vec<(usize, f32)> = Vec::new();
            for link in &mark.columns {
                best.push((link.place.table, link.quality));
            }
            for link in &mark.values {
                best.push((link.place.table, link.quality * 0.8));
            }
            for (table, score) in scores.iter_mut().enumerate() {
                *score += best.iter().filter(|(known, _)| *known == table).map(|(_, quality)| *quality).fold(0.0, f32::max);
            }
        }
        for (table, score) in scores.iter_mut().enumerate() {
            if self.schema.bridge.get(table) == Some(&true) {
                *score -= 0.3;
            }
            *score -= 0.001 * table as f32;
        }
        let best = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(table, _)| table);
        self.head = best.unwrap_or(0);
        if self.schema.tables.len() > 1 {
            self.doubt(0.85);
        }
    }

    /// What the parts need of each other: groups in the answer, tables that must take part, an order by name.
    fn complete(&mut self) {
        self.drop_compared();
        self.nearer_columns();
        self.group_targets();
        self.named_tables();
        self.once_each();
        let first = self.sketch.targets.first().map(|target| target.expr.clone());
        for (expr, _) in &mut self.sketch.order {
            if *expr == Expr::Star
                && let Some(first) = &first
            {
                *expr = first.clone();
            }
        }
        let whole = |expr: &Expr| matches!(expr, Expr::Column(_, star) if star == "*");
        self.sketch.order.retain(|(expr, _)| !whole(expr));
        if self.sketch.distinct && self.sketch.targets.iter().any(|target| has_aggregate(&target.expr)) {
            self.sketch.distinct = false;
        }
    }

    /// A thing that fulfils a condition through several partners is listed once.
    fn once_each(&mut self) {
        let sketch = &self.sketch;
        let plain = sketch.groups.is_empty() && sketch.entities.is_empty() && sketch.having.is_empty() && sketch.order.is_empty() && sketch.both.is_none();
        let places: Vec<_> = sketch.targets.iter().filter_map(|target| self.place_of(&target.expr)).collect();
        let Some(table) = places.first().map(|place| place.table) else { return };
        if !plain || places.len() != sketch.targets.len() || places.iter().any(|place| place.table != table) {
            return;
        }
        let mut used = sketch.also.clone();
        sketch.filters.iter().for_each(|condition| super::build::tables_in(condition, &mut used));
        let name = self.table_name(table);
        let fans = used.iter().any(|other| *other != name && super::joins::fans_out(self.schema.catalogue, &name, other));
        if fans && table == self.head {
            self.sketch.distinct = true;
        }
        let attribute = places.len() == 1 && places.first().is_some_and(|place| !self.schema.is_key(*place) && self.schema.display(table) != Some(*place) && self.schema.column(*place).is_some_and(|column| column.distinct * 2 < column.seen));
        let asked = self.marks.iter().any(|mark| mark.text.eq_ignore_ascii_case("which"));
        if attribute && (!self.sketch.filters.is_empty() && asked || self.sketch.absent.iter().any(|absent| absent.by_value)) {
            self.sketch.distinct = true;
        }
    }

    /// A column that is held to one value is not asked for when something else is.
    fn drop_compared(&mut self) {
        let fixed: Vec<Expr> = self.sketch.filters.iter().filter_map(|condition| match condition {
            crate::query::Condition::Compare(column @ Expr::Column(..), crate::query::Compare::Equal, Expr::Literal(_)) => Some(column.clone()),
            _ => None,
        }).collect();
        if self.sketch.targets.iter().any(|target| !fixed.contains(&target.expr)) && self.sketch.groups.is_empty() {
            self.sketch.targets.retain(|target| !fixed.contains(&target.expr));
        }
    }

    /// The same column in a table that is used anyway saves a join.
    fn nearer_columns(&mut self) {
        let mut used = Vec::new();
        self.sketch.filters.iter().for_each(|condition| super::build::tables_in(condition, &mut used));
        self.sketch.order.iter().for_each(|(expr, _)| super::build::tables_of(expr, &mut used));
        self.sketch.targets.iter().filter(|target| has_aggregate(&target.expr)).for_each(|target| super::build::tables_of(&target.expr, &mut used));
        let [only] = used.as_slice() else { return };
        let Some(table) = self.schema.catalogue.tables.iter().position(|table| table.name == *only) else { return };
        let plain: Vec<Expr> = self.sketch.targets.iter().map(|target| target.expr.clone()).chain(self.sketch.groups.clone()).collect();
        for expr in plain {
            let Some(place) = self.place_of(&expr).filter(|place| place.table != table) else { continue };
            let twin = self.schema.places().find(|other| other.table == table && self.label(*other).eq_ignore_ascii_case(&self.label(place)) && self.overlaps(*other, place) && !self.schema.is_key(*other));
            let Some(twin) = twin.map(|twin| self.expr(twin)) else { continue };
            self.sketch.targets.iter_mut().map(|target| &mut target.expr).chain(self.sketch.groups.iter_mut()).filter(|known| **known == expr).for_each(|known| *known = twin.clone());
            let old = self.table_name(place.table);
            self.named.retain(|(_, known)| *known != place.table);
            self.sketch.entities.retain(|entity| *entity != old);
            self.sketch.also.retain(|also| *also != old);
        }
    }

    fn overlaps(&self, left: super::schema::Place, right: super::schema::Place) -> bool {
        let (Some(left), Some(right)) = (self.schema.column(left), self.schema.column(right)) else { return false };
        let sample: Vec<&String> = right.values.iter().take(30).map(|(value, _)| value).collect();
        let shared = sample.iter().filter(|value| left.values.iter().any(|(known, _)| known == **value)).count();
        !sample.is_empty() && shared * 10 >= sample.len() * 8
    }

    /// A number that is shown for groups is summed, or averaged when a sum says nothing.
    fn sum_groups(&mut self) {
        let aggregated = self.sketch.targets.iter().any(|target| has_aggregate(&target.expr)) || self.sketch.order.iter().any(|(expr, _)| has_aggregate(expr));
        if aggregated || self.sketch.groups.is_empty() && self.sketch.entities.is_empty() || !self.sketch.having.is_empty() {
            return;
        }
        let measured: Vec<super::schema::Place> = self.sketch.targets.iter().filter_map(|target| self.place_of(&target.expr)).filter(|place| self.schema.is_measure(*place) && !self.schema.is_year(*place)).collect();
        if measured.is_empty() && self.sketch.targets.iter().all(|target| self.sketch.groups.contains(&target.expr)) {
            self.main_target(self.head);
            return;
        }
        for place in measured {
            let expr = self.expr(place);
            self.sketch.targets.retain(|target| target.expr != expr);
            let aggregate = if self.additive(place) { crate::query::Aggregate::Sum } else { crate::query::Aggregate::Average };
            self.add_aggregate(aggregate, place);
            let label = self.label(place);
            self.assumptions.push(format!("“{label}” of a group is its {}.", if aggregate == crate::query::Aggregate::Sum { "total" } else { "average" }));
        }
    }

    fn group_targets(&mut self) {
        self.sum_groups();
        let aggregated = self.sketch.targets.iter().any(|target| has_aggregate(&target.expr)) || self.sketch.order.iter().any(|(expr, _)| has_aggregate(expr)) || !self.sketch.having.is_empty();
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
        let plain: Vec<Expr> = self.sketch.targets.iter().filter(|target| !has_aggregate(&target.expr)).map(|target| target.expr.clone()).collect();
        if shown {
            for group in self.sketch.groups.clone() {
                if !self.sketch.targets.iter().any(|target| target.expr == group) {
                    let name = self.place_of(&group).map_or_else(|| group_name(&group), |place| self.label(place));
                    self.sketch.targets.insert(0, super::sketch::Target { expr: group, name });
                }
            }
            for entity in self.sketch.entities.clone() {
                let Some(table) = self.schema.catalogue.tables.iter().position(|table| table.name == entity) else { continue };
                let mine = plain.iter().any(|expr| self.place_of(expr).is_some_and(|place| place.table == table));
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
        if self.sketch.groups.is_empty() && self.sketch.entities.is_empty() && !plain.is_empty() && (shown || counted_order) {
            // Plain columns next to an aggregate: one row for each of their things.
            let place = plain.first().and_then(|expr| self.place_of(expr));
            match place {
                Some(place) if self.schema.display(place.table) == Some(place) || self.schema.is_key(place) => {
                    let name = self.table_name(place.table);
                    self.sketch.entities.push(name);
                }
                _ => self.sketch.groups = plain,
            }
        }
    }

    /// Tables that the question names without using a column of them.
    fn named_tables(&mut self) {
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
            if used.contains(&name) || self.sketch.absent.iter().any(|absent| absent.entity == name || absent.tables.contains(&name)) {
                continue;
            }
            // A name that is also a column that was shown is explained.
            let shown = self.mark(at).is_some_and(|mark| {
                mark.columns.iter().any(|link| link.quality > 0.7 && self.sketch.targets.iter().any(|target| self.place_of(&target.expr) == Some(link.place)))
            });
            let near = used.iter().any(|known| super::joins::steps(self.schema.catalogue, known, &name).is_some());
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
