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

    /// Reads a question that leans on the one before.
    pub(super) fn assemble_follow(&mut self, earlier: &super::sketch::Sketch, lean: super::follow::Lean) {
        use super::follow::Lean;
        let table = self.schema.catalogue.tables.iter().position(|table| table.name == earlier.head);
        if let Some(table) = table.filter(|_| self.named.is_empty() || lean != Lean::Instead) {
            self.head = table;
        } else {
            self.find_head();
        }
        let kept = if lean == Lean::Instead { earlier.targets.clone() } else { Vec::new() };
        self.parts(&kept);
        self.follow(earlier, lean);
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
            let noun = |place: Option<usize>| place.and_then(|place| self.mark(place)).is_some_and(|mark| mark.key.is_none() && (!mark.columns.is_empty() || !mark.tables.is_empty()));
            let next = self.next(at, |key| matches!(key, Key::Of));
            let previous = self.previous(at, |key| matches!(key, Key::Is));
            let measured = previous.is_some_and(|place| matches!(self.key(place), Some(Key::Agg(_) | Key::Super(..) | Key::HowMany)));
            let valued = next.and_then(|place| self.mark(place)).is_some_and(|mark| mark.number.is_some() || !mark.values.is_empty() && mark.columns.is_empty());
            let first = at == 0 || self.previous(at, |_| false).is_none();
            let as_name = match key {
                Key::Ask => !first || quality > 0.9 && self.key(at + 1) == Some(Key::And),
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
        // A column that refers to a table is not meant by the table's own name.
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at).filter(|mark| mark.table_quality() >= 0.9 && mark.columns.len() + mark.tables.len() > 1) else { continue };
            let table = self.table_at(at);
            let kept: Vec<_> = mark.columns.iter().filter(|link| Some(link.place.table) == table || !self.schema.refers(link.place)).cloned().collect();
            if let Some(mark) = self.marks.get_mut(at) {
                mark.columns = kept;
            }
        }
        self.named = (0..self.marks.len()).filter(|at| self.is_table(*at)).filter_map(|at| self.table_at(at).map(|table| (at, table))).collect();
        // The first of two nouns in a row only describes the second: "car models".
        let described: Vec<usize> = self.named.iter().map(|(at, _)| *at).filter(|at| self.is_table(at + 1) && self.table_at(at + 1) != self.table_at(*at)).collect();
        self.named.retain(|(at, _)| !described.contains(at));
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
        self.group_targets();
        self.named_tables();
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

    fn group_targets(&mut self) {
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
        if self.sketch.groups.is_empty() && self.sketch.entities.is_empty() && !plain.is_empty() && shown {
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
