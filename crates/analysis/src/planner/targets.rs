//! What the answer shows: columns, aggregates, counts and groups.
//!
//! The invariant: an answer always has at least one column, and groups stand in the answer.

use crate::frame::Kind;
use crate::query::{Aggregate, Expr, Grain};

use super::build::has_aggregate;
use super::lexicon::Key;
use super::order::{By, Extreme};
use super::reader::Reader;
use super::schema::Place;
use super::sketch::Target;

impl Reader<'_> {
    fn add(&mut self, expr: Expr, name: String) {
        if !self.sketch.targets.iter().any(|target| target.expr == expr) {
            self.sketch.targets.push(Target { expr, name });
        }
    }

    pub(super) fn add_column(&mut self, place: Place) {
        let name = self.label(place);
        self.add(self.expr(place), name);
    }

    pub(super) fn add_aggregate(&mut self, aggregate: Aggregate, place: Place) {
        let name = format!("{} {}", aggregate_word(aggregate), self.label(place));
        self.add(Expr::Aggregate(aggregate, vec![self.expr(place)]), name);
    }

    pub(super) fn add_count(&mut self, table: Option<usize>) {
        let name = table.map_or_else(|| "count".to_owned(), |table| format!("number of {}", self.table_name(table)));
        self.add(Expr::Aggregate(Aggregate::Count, vec![Expr::Star]), name);
    }

    /// Is there anything counted or summed in the question?
    fn wants_aggregate(&self) -> bool {
        (self.marks.iter()).any(|mark| !mark.quoted && matches!(mark.key, Some(Key::HowMany | Key::NumberOf | Key::Agg(_) | Key::Share)) && (!mark.used || mark.key.is_some_and(|key| matches!(key, Key::NumberOf))))
    }

    /// "which month": a part of the calendar that is asked for.
    fn asked_grain(&mut self) {
        for at in 0..self.marks.len() {
            let Some(grain) = self.mark(at).filter(|mark| mark.unknown() && !mark.used).and_then(|mark| grain_word(&mark.text)) else { continue };
            let asked = self.previous(at, |_| false).is_some_and(|before| self.key(before) == Some(Key::Ask));
            let Some(place) = self.time_of(self.head).filter(|_| asked) else { continue };
            self.take(at);
            self.add_grain(grain, place);
        }
    }

    /// "for each X", "per X", "by X".
    pub(super) fn groups(&mut self, extremes: &[Extreme]) {
        let aggregate = self.wants_aggregate();
        self.asked_grain();
        for at in 0..self.marks.len() {
            let key = self.key(at);
            let by = key == Some(Key::By);
            if let Some(Key::Grain(grain)) = key {
                if let Some(place) = self.time_column(at).filter(|place| self.schema.column(*place).is_some_and(|column| column.kind.is_time())) {
                    self.add_grain(grain, place);
                    self.take(at);
                }
                continue;
            }
            if self.mark(at).is_some_and(|mark| mark.used) || key != Some(Key::Each) && !by || !aggregate && extremes.is_empty() && !by && !self.amount_before(at) {
                continue;
            }
            let Some(mut next) = self.next(at, |key| matches!(key, Key::Distinct | Key::Of | Key::Everything)) else { continue };
            if by && !self.by_groups(next, aggregate) {
                continue;
            }
            let mut first = true;
            loop {
                if !self.group_at(next, at, first) {
                    break;
                }
                self.take(at);
                first = false;
                match self.next(next, |_| false) {
                    Some(joint) if self.key(joint) == Some(Key::And) && self.is_column(joint + 1) && self.groupable(joint + 1) && at + 1 == next => next = joint + 1,
                    _ => break,
                }
            }
        }
    }

    /// Does the name of a table that stands for an amount come before: "sales per state"?
    fn amount_before(&self, at: usize) -> bool {
        (0..at).any(|place| self.is_table(place) && self.table_at(place).is_some_and(|table| self.stands_for_amount(table).is_some()))
    }

    fn groupable(&self, at: usize) -> bool {
        self.resolve(at).is_some_and(|place| !self.schema.is_measure(place) && !self.schema.is_key(place)) && by_list(self, at)
    }

    /// "by" groups when a measure stands before it and a dimension or a part of the calendar behind it.
    fn by_groups(&self, next: usize, aggregate: bool) -> bool {
        // "owned by students": a verb before "by" tells who did it.
        let by = (0..next).rev().find(|place| self.key(*place) == Some(Key::By));
        let verb = by.and_then(|by| by.checked_sub(1)).and_then(|place| self.mark(place)).is_some_and(|mark| mark.unknown() || mark.text.ends_with("ed") || mark.key == Some(Key::Filler) && mark.text.len() > 2);
        if verb {
            return false;
        }
        let grain = self.mark(next).is_some_and(|mark| grain_word(&mark.text).is_some());
        let measure = (0..next).any(|place| {
            self.is_column(place) && self.resolve(place).is_some_and(|place| self.schema.is_measure(place))
                || self.is_table(place) && self.table_at(place).is_some_and(|table| self.stands_for_amount(table).is_some())
        });
        let dimension = (self.is_column(next) || self.is_table(next)) && self.next(next, |_| false).is_none_or(|after| self.mark(after).is_some_and(|mark| mark.values.is_empty()));
        grain && (aggregate || measure) || dimension && (aggregate || measure) && !self.resolve(next).is_some_and(|place| self.schema.is_measure(place))
    }

    fn group_at(&mut self, next: usize, at: usize, first: bool) -> bool {
        let Some(mark) = self.mark(next) else { return false };
        let whole_column = self.is_column(next) && mark.column_quality() > 0.9;
        if let Some(grain) = grain_word(&mark.text).filter(|_| !whole_column)
            && let Some(place) = self.time_column(next).filter(|place| self.schema.column(*place).is_some_and(|column| column.kind.is_time()))
        {
            self.add_grain(grain, place);
            self.take(next);
            return true;
        }
        if self.is_table(next) && !(mark.column_quality() >= mark.table_quality() && self.counted_table(next)) {
            let Some(table) = self.table_at(next) else { return false };
            // "each stadium name": the column behind the table is the group.
            if let Some(column) = self.next(next, |_| false).filter(|place| *place == next + 1 && self.is_column(*place) && !self.mark(*place).is_some_and(|mark| mark.used))
                && let Some(place) = self.resolve(column).filter(|place| place.table == table)
            {
                return self.group_column(place, column, first);
            }
            let name = self.table_name(table);
            if !self.sketch.entities.contains(&name) {
                self.sketch.entities.push(name);
            }
            self.take(next);
            return true;
        }
        if self.is_column(next) {
            let Some(place) = self.resolve(next) else { return false };
            return self.group_column(place, next, first);
        }
        let _ = at;
        false
    }

    /// Is this table also the one whose rows are counted?
    fn counted_table(&self, at: usize) -> bool {
        let table = self.table_at(at);
        (0..self.marks.len()).any(|place| matches!(self.key(place), Some(Key::HowMany | Key::NumberOf)) && self.next(place, |_| false).is_some_and(|next| self.table_at(next) == table && self.is_table(next) && next != at))
    }

    fn group_column(&mut self, place: Place, at: usize, _first: bool) -> bool {
        let expr = self.expr(place);
        if !self.sketch.groups.contains(&expr) {
            self.sketch.groups.push(expr);
        }
        self.take(at);
        true
    }

    fn add_grain(&mut self, grain: Grain, place: Place) {
        let expr = Expr::Truncate(grain, Box::new(self.expr(place)));
        if !self.sketch.groups.contains(&expr) {
            self.sketch.groups.push(expr);
        }
    }

    /// Columns and aggregates that the question asks to see.
    pub(super) fn targets(&mut self) {
        let mut pending: Vec<Aggregate> = Vec::new();
        let mut last: Vec<Aggregate> = Vec::new();
        let mut distinct = false;
        let mut counting = None;
        let mut share = false;
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at) else { continue };
            if mark.used && !matches!(mark.key, Some(Key::Each)) {
                continue;
            }
            match mark.key {
                Some(Key::Agg(aggregate)) => {
                    pending.push(aggregate);
                    continue;
                }
                Some(Key::NumberOf) if self.next(at, |_| false).is_none_or(|next| matches!(self.key(next), Some(Key::And | Key::Ask))) => {
                    // "the name and the count".
                    self.take(at);
                    if !self.sketch.targets.iter().any(|target| has_aggregate(&target.expr)) {
                        self.add_count(None);
                    }
                    continue;
                }
                Some(Key::HowMany | Key::NumberOf) => {
                    counting = Some(at);
                    continue;
                }
                Some(Key::Share) => {
                    share = true;
                    self.take(at);
                    continue;
                }
                Some(Key::Distinct) => {
                    distinct = true;
                    continue;
                }
                Some(Key::How(hint)) => {
                    let mine = self.sketch.targets.last().and_then(|target| self.place_of(&target.expr)).map(|place| place.table);
                    let place = mine.and_then(|table| self.hinted_in(hint, table)).or_else(|| self.hinted(hint, at));
                    if let Some(place) = place {
                        self.take(at);
                        self.add_column(place);
                    }
                    continue;
                }
                Some(Key::And | Key::Filler | Key::Of | Key::Everything) => continue,
                Some(_) => continue,
                None => {}
            }
            if self.is_modifier(at) || self.is_truth(at, counting.is_some()) {
                continue;
            }
            if counting.is_none() && pending.is_empty() && self.describes(at) {
                continue;
            }
            if !pending.is_empty() && counting.is_some() && self.is_column(at) && self.resolve(at).is_some_and(|place| self.schema.is_measure(place)) {
                // "maximum number of staff": the column is a number itself.
                counting.take().into_iter().for_each(|counter| self.take(counter));
            }
            if let Some(counter) = counting {
                if self.is_table(at) && self.is_table(at + 1) {
                    // "car models": the last of two nouns is what is counted.
                    self.take(at);
                    continue;
                }
                if self.count_at(counter, at, distinct) {
                    if distinct {
                        last = vec![Aggregate::CountDistinct];
                    }
                    counting = None;
                    distinct = false;
                    continue;
                }
                if !self.is_column(at) && !self.is_table(at) {
                    continue;
                }
            }
            if self.is_column(at) {
                let Some(place) = self.resolve(at) else { continue };
                if distinct && pending.is_empty() {
                    self.sketch.distinct = true;
                }
                distinct = false;
                let place = self.meant_measure(at, place, &pending);
                self.column_target(at, place, &mut pending, &mut last);
            } else if self.is_table(at) && !pending.is_empty() && self.mark(at).is_some_and(|mark| !mark.columns.is_empty()) {
                // "average orders" style: an aggregate of a measure that is called like a table.
                let Some(place) = self.resolve(at).filter(|place| self.schema.is_measure(*place)) else { continue };
                self.column_target(at, place, &mut pending, &mut last);
            } else if self.is_table(at) && distinct {
                self.sketch.distinct = true;
            }
        }
        if let Some(counter) = counting {
            self.take(counter);
            if !self.sketch.targets.iter().any(|target| matches!(target.expr, Expr::Aggregate(Aggregate::Count | Aggregate::CountDistinct, _))) {
                self.add_count(None);
            }
        }
        self.leftover_aggregates(&pending);
        if share && (!self.sketch.groups.is_empty() || self.sketch.targets.is_empty()) {
            self.share();
        }
    }

    /// After the first column of the answer, further ones stand in a list; other nouns only describe the thing.
    fn describes(&self, at: usize) -> bool {
        if self.sketch.targets.is_empty() || !self.is_column(at) {
            return false;
        }
        let ordered = self.resolve(at).map(|place| self.expr(place)).is_some_and(|expr| self.sketch.order.iter().any(|(known, _)| *known == expr));
        let Some(before) = self.previous(at, |key| matches!(key, Key::Everything | Key::Distinct | Key::Each)) else { return false };
        let with_their = self.key(before) == Some(Key::Clause) && self.mark(before).is_some_and(|mark| mark.text.eq_ignore_ascii_case("with")) && (before + 1..at).any(|place| self.mark(place).is_some_and(|mark| matches!(mark.text.to_lowercase().as_str(), "their" | "its" | "his" | "her")));
        let listed = match self.key(before) {
            Some(Key::And | Key::Ask | Key::Agg(_) | Key::HowMany | Key::NumberOf | Key::HowMuch) => true,
            Some(Key::Is) => self.previous(before, |_| false).is_some_and(|earlier| matches!(self.key(earlier), Some(Key::Ask))),
            None if self.mark(before).is_some_and(super::link::Mark::unknown) => self.previous(before, |_| false).is_some_and(|earlier| matches!(self.key(earlier), Some(Key::And))),
            None => self.mark(before).is_some_and(|mark| mark.table_quality() >= 0.55) && self.previous(before, |key| matches!(key, Key::Everything | Key::Distinct | Key::Each)).is_none_or(|earlier| matches!(self.key(earlier), Some(Key::And | Key::Ask))),
            _ => false,
        };
        !listed && !with_their || ordered && self.key(before) != Some(Key::And)
    }

    /// A yes/no column in a condition: "that supports X", "were returned".
    fn is_truth(&mut self, at: usize, counting: bool) -> bool {
        if !self.is_column(at) || self.is_table(at) {
            return false;
        }
        let Some(place) = self.resolve(at) else { return false };
        let Some(yes) = self.schema.column(place).and_then(yes_of) else { return false };
        let before = self.previous(at, |_| false);
        let stated = before.is_some_and(|before| matches!(self.key(before), Some(Key::Is | Key::Clause | Key::Not)) && self.previous(before, |_| false).is_none_or(|earlier| self.key(earlier) != Some(Key::Ask)) || self.mark(before).is_some_and(super::link::Mark::unknown));
        if !(stated && (counting || !self.sketch.targets.is_empty() || self.named.iter().any(|(mark, _)| *mark < at)) || counting && stated) {
            return false;
        }
        let negated = before.is_some_and(|before| self.key(before) == Some(Key::Not));
        let compare = if negated { crate::query::Compare::NotEqual } else { crate::query::Compare::Equal };
        let condition = crate::query::Condition::Compare(self.expr(place), compare, Expr::Literal(yes));
        self.sketch.filters.push(condition);
        self.take(at);
        before.filter(|_| negated).into_iter().for_each(|before| self.take(before));
        true
    }

    /// A noun that only says which column or table is meant: "maker full name", "for the models with".
    fn is_modifier(&self, at: usize) -> bool {
        let next = at + 1;
        if self.is_column(next) && self.is_column(at) && self.mark(at).is_some_and(|mark| mark.table_quality() >= 0.55) && !self.mark(next).is_some_and(|mark| mark.used) {
            return true;
        }
        let weak = self.mark(at).is_some_and(|mark| mark.column_quality() < 0.6);
        if weak && self.is_column(at) && self.is_table(next) && !self.mark(next).is_some_and(|mark| mark.used) {
            return true;
        }
        if weak && self.is_column(at) && self.is_column(next) && self.mark(next).is_some_and(|mark| !mark.used && mark.column_quality() > 0.6) {
            return true;
        }
        if !self.is_table(at) {
            return false;
        }
        let before = self.previous(at, |key| matches!(key, Key::Everything | Key::Distinct));
        self.is_column(at) && before.is_some_and(|before| self.key(before) == Some(Key::Of)) && (!self.sketch.targets.is_empty() || before.is_some_and(|before| self.previous(before, |_| false).is_some_and(|earlier| self.is_column(earlier))))
    }

    /// "average order value": an average of keys or dates is never meant, the amount of the row is.
    fn meant_measure(&mut self, at: usize, place: Place, pending: &[Aggregate]) -> Place {
        let summed = pending.iter().any(|aggregate| matches!(aggregate, Aggregate::Average | Aggregate::Sum | Aggregate::Median));
        let weak = self.mark(at).is_some_and(|mark| mark.column_quality() < 0.9) && (self.schema.is_key(place) || self.schema.refers(place) || self.schema.column(place).is_some_and(|column| column.kind.is_time()));
        match self.main_measure(place.table).filter(|_| summed && weak) {
            Some(measure) => {
                let (said, label) = (self.mark(at).map(|mark| mark.text.clone()).unwrap_or_default(), self.label(measure));
                self.assumptions.push(format!("“{said}” is measured by {label}."));
                self.doubt(0.9);
                measure
            }
            None => place,
        }
    }

    fn column_target(&mut self, at: usize, place: Place, pending: &mut Vec<Aggregate>, last: &mut Vec<Aggregate>) {
        self.take(at);
        let after_and = self.previous(at, |key| matches!(key, Key::Of)).is_some_and(|before| self.key(before) == Some(Key::And));
        let again = if last.first() == Some(&Aggregate::CountDistinct) { self.sketch.groups.is_empty() } else { self.schema.is_measure(place) && !self.schema.is_year(place) };
        if pending.is_empty() && after_and && !last.is_empty() && again {
            for aggregate in last.clone() {
                self.add_aggregate(aggregate, place);
            }
            return;
        }
        if pending.is_empty() {
            self.add_column(place);
            return;
        }
        for aggregate in pending.iter() {
            self.add_aggregate(*aggregate, place);
        }
        last.clone_from(pending);
        pending.clear();
        for before in 0..at {
            if matches!(self.key(before), Some(Key::Agg(_))) {
                self.take(before);
            }
        }
    }

    /// "how many X": rows of a table, different values of a column, or the number that a column holds.
    fn count_at(&mut self, counter: usize, at: usize, distinct: bool) -> bool {
        if self.is_table(at) && !(distinct && self.is_column(at)) {
            let next = self.next(at, |_| false).filter(|next| self.key(at + 1).is_none() && self.is_column(*next) && !self.mark(*next).is_some_and(|mark| mark.used) && *next == at + 1);
            if let Some(place) = next.and_then(|next| self.resolve(next)).filter(|place| Some(place.table) == self.table_at(at) && !self.schema.is_measure(*place)) {
                // "number of car models": a column that stands right behind the table's name.
                let target = next.unwrap_or(at);
                [counter, at, target].into_iter().for_each(|used| self.take(used));
                let aggregate = if distinct { Aggregate::CountDistinct } else { Aggregate::Count };
                self.add_aggregate(aggregate, place);
                return true;
            }
            let table = self.table_at(at);
            [counter, at].into_iter().for_each(|used| self.take(used));
            if let Some(table) = table {
                self.count_table(table);
            }
            return true;
        }
        if !self.is_column(at) {
            return false;
        }
        let Some(place) = self.resolve(at) else { return false };
        if let Some(table) = self.table_at(at).filter(|table| self.schema.refers_to(place, Some(*table)) && !distinct) {
            [counter, at].into_iter().for_each(|used| self.take(used));
            self.count_table(table);
            return true;
        }
        let named = self.key(counter) == Some(Key::NumberOf);
        let written = self.schema.column(place).is_some_and(|column| column.kind == Kind::Text && super::reader::numbers_as_text(column) && column.values.iter().take(20).all(|(value, _)| value.len() < 8));
        let numeric = (self.schema.is_measure(place) || written) && !self.schema.is_year(place);
        [counter, at].into_iter().for_each(|used| self.take(used));
        let attribute = self.schema.tables.len() > 1 && self.schema.column(place).is_some_and(|column| column.distinct * 2 < column.seen) && !self.schema.is_key(place);
        if numeric && !distinct && !named && self.additive_or_counted(place) && !self.found.iter().any(|found| found.rows == Some(1)) && self.schema.tables.len() > 1 {
            self.add_aggregate(Aggregate::Sum, place);
            self.doubt(0.9);
        } else if numeric && !distinct && !named {
            self.add_column(place);
            self.doubt(0.93);
        } else if distinct || attribute && !named || self.named.iter().any(|_| true) && !self.schema.is_key(place) && self.found.is_empty() && !named {
            self.add_aggregate(Aggregate::CountDistinct, place);
        } else {
            self.add_aggregate(Aggregate::Count, place);
            if !named {
                self.doubt(0.95);
            }
        }
        true
    }

    /// Numbers that count things, so that a sum of them counts too.
    fn additive_or_counted(&self, place: Place) -> bool {
        self.additive(place) || self.schema.column(place).is_some_and(|column| column.kind == Kind::Integer) && self.schema.has_stem(place, &["population", "number", "people", "staff", "attendance", "visitor", "ticket", "passenger", "employee", "student"])
    }

    fn count_table(&mut self, table: usize) {
        let name = self.table_name(table);
        self.add_count(Some(table));
        if !self.sketch.also.contains(&name) {
            self.sketch.also.push(name);
        }
    }

    /// Aggregates without a column: "what is the total", "the average".
    fn leftover_aggregates(&mut self, pending: &[Aggregate]) {
        if pending.is_empty() {
            return;
        }
        let lone = self.sketch.targets.iter().position(|target| matches!(&target.expr, Expr::Column(..)));
        let measure = self.sketch.targets.get(lone.unwrap_or(usize::MAX)).and_then(|target| self.place_of(&target.expr)).filter(|place| self.schema.is_measure(*place));
        let place = measure.or(self.kept).or_else(|| self.main_measure(self.head));
        for aggregate in pending {
            match place {
                Some(place) => self.add_aggregate(*aggregate, place),
                None if *aggregate == Aggregate::Sum => self.add_count(None),
                None => {}
            }
        }
        if measure.is_some()
            && let Some(lone) = lone
        {
            self.sketch.targets.remove(lone);
        } else {
            self.doubt(0.7);
        }
    }

    /// Turns the measure into its share of the whole.
    fn share(&mut self) {
        let position = self.sketch.targets.iter().position(|target| has_aggregate(&target.expr));
        let numeric = self.sketch.targets.iter().position(|target| self.place_of(&target.expr).is_some_and(|place| self.schema.is_measure(place)));
        let measure = match (position, numeric) {
            (Some(place), _) => self.sketch.targets.remove(place).expr,
            (None, Some(place)) => Expr::Aggregate(Aggregate::Sum, vec![self.sketch.targets.remove(place).expr]),
            (None, None) => {
                let table = self.named.first().map_or(self.head, |(_, table)| *table);
                match self.stands_for_amount(table) {
                    Some(place) => Expr::Aggregate(Aggregate::Sum, vec![self.expr(place)]),
                    None => Expr::Aggregate(Aggregate::Count, vec![Expr::Star]),
                }
            }
        };
        self.add(measure.clone(), "total".to_owned());
        self.add(Expr::ShareOfTotal(Box::new(measure)), "share".to_owned());
    }

    /// The place of a plain column.
    pub(super) fn place_of(&self, expr: &Expr) -> Option<Place> {
        let Expr::Column(table, column) = expr else { return None };
        let table = self.schema.catalogue.tables.iter().position(|known| &known.name == table)?;
        let column = self.schema.table(table)?.columns.iter().position(|known| &known.name == column)?;
        Some(Place { table, column })
    }

    /// Puts superlatives to work once the targets are known.
    pub(super) fn apply_extremes(&mut self, extremes: &[Extreme]) {
        for extreme in extremes {
            let Some(expr) = self.by_expr(&extreme.by) else { continue };
            match &extreme.by {
                By::Column(place) if self.sketch.targets.is_empty() && extreme.limit.is_none() && !self.asks_for_thing(extreme.at) => {
                    self.add_aggregate(if extreme.down { Aggregate::Max } else { Aggregate::Min }, *place);
                    continue;
                }
                By::Measure(aggregated) => {
                    self.group_dimension(extreme.at);
                    let shown = matches!(aggregated, Expr::Arithmetic(..)).then(|| Target { expr: aggregated.clone(), name: "profit".to_owned() });
                    self.sketch.targets.extend(shown);
                }
                By::Column(place) if self.marks.iter().any(|mark| mark.key == Some(Key::HowMuch)) && extreme.limit.is_none() && self.sketch.groups.is_empty() && !self.shows_measure() => {
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
                By::Column(place) if !self.sketch.groups.is_empty() && self.sketch.targets.iter().all(|target| has_aggregate(&target.expr)) && extreme.limit.is_none() => {
                    self.add_aggregate(if extreme.down { Aggregate::Max } else { Aggregate::Min }, *place);
                    continue;
                }
                By::Column(place) if self.sketch.groups.is_empty() && self.sketch.entities.is_empty() && extreme.limit.is_none() && (self.all_aggregates() || self.shared_year(*place)) => {
                    let condition = self.equals_extreme(*place, extreme.down);
                    self.sketch.filters.push(condition);
                    if self.asked_first(extreme.at) {
                        self.add_column(*place);
                    }
                    continue;
                }
                By::Column(place) => {
                    if let Some(group) = self.sketch.groups.first().cloned().filter(|_| extreme.limit.is_none() && self.sketch.having.is_empty()) {
                        self.sketch.per_group = Some((expr, extreme.down, group.clone()));
                        self.sketch.groups.clear();
                        self.add(group, "group".to_owned());
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

    /// "which state has the highest amount": the total of many rows is meant.
    fn summed_extreme(&self, place: Place) -> bool {
        let calendar = self.sketch.groups.iter().any(|group| matches!(group, Expr::Truncate(..)));
        let first = self.sketch.targets.first().and_then(|target| self.place_of(&target.expr));
        let split = first.is_some_and(|first| {
            first.table == place.table && !self.schema.is_measure(first) && self.schema.column(first).is_some_and(|column| column.seen > 0 && column.distinct * 5 < column.seen)
        });
        self.additive(place) && (calendar || split && self.sketch.targets.len() == 1 && !self.sketch.distinct)
    }

    /// Groups by the thing that a total is compared for.
    fn group_dimension(&mut self, at: usize) {
        if !self.sketch.groups.is_empty() || !self.sketch.entities.is_empty() {
            return;
        }
        let first = self.sketch.targets.iter().find_map(|target| self.place_of(&target.expr).filter(|place| !self.schema.is_measure(*place)));
        let noun = (0..self.marks.len()).filter(|place| *place != at && self.is_column(*place)).find_map(|place| self.resolve(place).filter(|place| !self.schema.is_measure(*place)));
        let place = first.or(noun).or_else(|| self.named.first().and_then(|(_, table)| self.schema.display(*table)));
        let Some(place) = place else { return };
        // The same column in the table that is summed saves a join.
        let own = self.schema.places().find(|other| other.table == self.head && self.label(*other).eq_ignore_ascii_case(&self.label(place)));
        let place = own.unwrap_or(place);
        let group = self.expr(place);
        self.sketch.targets.retain(|target| target.expr == group);
        self.add_column(place);
        self.sketch.groups.push(group);
    }

    fn shows_measure(&self) -> bool {
        self.sketch.targets.iter().filter_map(|target| self.place_of(&target.expr)).any(|place| self.schema.is_measure(place))
    }

    fn all_aggregates(&self) -> bool {
        !self.sketch.targets.is_empty() && self.sketch.targets.iter().all(|target| has_aggregate(&target.expr))
    }

    /// Years that many rows share: "in the earliest year" means all of them.
    fn shared_year(&self, place: Place) -> bool {
        self.schema.is_year(place) && self.schema.column(place).is_some_and(|column| column.distinct * 3 < column.seen)
    }

    /// The column has its largest or smallest value.
    fn equals_extreme(&self, place: Place, down: bool) -> crate::query::Condition {
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
            items: vec![crate::query::Item { expr: Expr::Aggregate(aggregate, vec![expr.clone()]), name: "extreme".to_owned() }],
            table: table.clone(),
            alias: table,
            filter: super::build::all(same),
            ..crate::query::Query::default()
        };
        crate::query::Condition::Compare(expr, crate::query::Compare::Equal, Expr::Scalar(Box::new(inner)))
    }

    /// "What is the largest X … and which Y": the superlative itself is asked for.
    fn asked_first(&self, at: usize) -> bool {
        self.previous(at, |key| matches!(key, Key::Is)).is_some_and(|before| self.key(before) == Some(Key::Ask)) && self.next(at, |_| false).is_some_and(|next| self.mark(next).is_some_and(|mark| mark.used && !mark.columns.is_empty() && mark.key.is_none()))
    }

    /// Is a thing asked for, not the superlative's own number?
    fn asks_for_thing(&self, at: usize) -> bool {
        let noun = (0..at).any(|place| self.is_table(place));
        let who = (0..self.marks.len()).any(|place| matches!(self.key(place), Some(Key::Who | Key::Where | Key::When)));
        let next_table = self.next(at, |key| matches!(key, Key::Of)).is_some_and(|next| {
            let next = if self.mark(next).is_some_and(super::link::Mark::unknown) { next + 1 } else { next };
            self.is_table(next) && !self.is_column(next)
        });
        noun || who || next_table
    }

    /// What the rows are grouped by when a superlative counts them.
    fn group_for(&mut self, counted: Option<usize>, at: usize) {
        if !self.sketch.groups.is_empty() || !self.sketch.entities.is_empty() {
            return;
        }
        let first = self.sketch.targets.iter().find_map(|target| self.place_of(&target.expr));
        if let Some(place) = first {
            if Some(place.table) == counted || self.names_table(place.table) && !self.is_descriptor(place) {
                let group = self.expr(place);
                if Some(place.table) == counted && !self.schema.is_key(place) || Some(place.table) != counted && !self.is_descriptor(place) {
                    self.sketch.groups.push(group);
                    return;
                }
            }
            let name = self.table_name(place.table);
            self.sketch.entities.push(name);
            return;
        }
        let entity = self.named.iter().find(|(_, table)| Some(*table) != counted).map_or(self.entity_before(at), |(_, table)| *table);
        let name = self.table_name(entity);
        self.sketch.entities.push(name);
    }

    /// Names or identifies its row, so grouping by the row is meant.
    fn is_descriptor(&self, place: Place) -> bool {
        self.schema.is_key(place) || self.schema.display(place.table) == Some(place) || self.schema.column(place).is_some_and(|column| column.seen > 0 && column.distinct * 10 >= column.seen * 9)
    }

    /// When nothing was asked for by name.
    pub(super) fn default_targets(&mut self) {
        if !self.sketch.targets.is_empty() {
            return;
        }
        if !self.sketch.groups.is_empty() && self.sketch.having.is_empty() {
            let compared = self.sketch.order.iter().find(|(expr, _)| has_aggregate(expr)).map(|(expr, _)| expr.clone());
            match compared {
                Some(expr) => self.add(expr, "total".to_owned()),
                None => self.main_target(self.head),
            }
            return;
        }
        let key = |wanted: Key| self.marks.iter().any(|mark| mark.key == Some(wanted));
        let entity = self.named.first().map_or(self.head, |(_, table)| *table);
        let by_type = if key(Key::Who) {
            self.typed_column(&["name", "player", "person", "author", "winner", "artist", "driver", "director"], &[Kind::Text])
        } else if key(Key::When) {
            self.typed_column(&["date", "year", "time", "when", "season", "day"], &[])
        } else if key(Key::Where) {
            self.typed_column(&["location", "place", "city", "venue", "hometown", "country", "state", "address", "site", "ground", "stadium", "arena", "region"], &[])
        } else {
            None
        };
        if let Some(place) = by_type {
            self.doubt(0.9);
            self.add_column(place);
            return;
        }
        let much = key(Key::HowMuch);
        if much && let Some(place) = self.main_measure(entity) {
            self.doubt(0.8);
            if self.found.is_empty() { self.add_aggregate(Aggregate::Sum, place) } else { self.add_column(place) }
            return;
        }
        if let Some(place) = self.guessed_column() {
            self.add_column(place);
            return;
        }
        let whole = self.marks.iter().any(|mark| mark.key == Some(Key::Everything)) && self.sketch.entities.is_empty();
        if whole && self.named.len() <= 1 {
            let name = self.table_name(entity);
            self.add(Expr::Column(name, "*".to_owned()), "*".to_owned());
            return;
        }
        if let Some(place) = self.schema.display(entity) {
            if self.named.is_empty() {
                self.doubt(0.5);
            }
            self.add_column(place);
        }
    }

    /// A column by the kind of question word, not one that is already compared.
    fn typed_column(&self, stems: &[&str], kinds: &[Kind]) -> Option<Place> {
        let tables = [self.head].into_iter().chain(self.named.iter().map(|(_, table)| *table)).chain(self.found.iter().map(|found| found.place.table));
        for table in tables {
            let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
            for stem in stems {
                let fits = |place: &Place| {
                    self.schema.has_stem(*place, &[stem])
                        && !self.found.iter().any(|found| found.place == *place)
                        && self.schema.column(*place).is_some_and(|column| kinds.is_empty() || kinds.contains(&column.kind))
                        && !self.schema.refers(*place)
                };
                if let Some(place) = (0..columns).map(|column| Place { table, column }).find(fits) {
                    return Some(place);
                }
            }
        }
        None
    }

    /// The column nearest in meaning to the words that nothing explained.
    fn guessed_column(&mut self) -> Option<Place> {
        let words: Vec<String> = self.marks.iter().filter(|mark| mark.unknown() && !mark.used).map(|mark| mark.text.clone()).collect();
        if words.is_empty() || self.found.is_empty() && self.named.is_empty() {
            return None;
        }
        let said = words.join(" ");
        let table = self.found.first().map_or(self.head, |found| found.place.table);
        let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
        let scored = (0..columns).map(|column| Place { table, column }).filter(|place| !self.found.iter().any(|found| found.place == *place)).map(|place| (self.meaning.similarity(&said, &self.label(place)), place));
        let (score, place) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
        if score < 0.3 {
            return None;
        }
        self.doubt(if score > 0.55 { 0.8 } else { 0.6 });
        let label = self.label(place);
        self.reasoning.push(format!("“{said}” is closest in meaning to {label}"));
        for at in 0..self.marks.len() {
            if self.mark(at).is_some_and(|mark| mark.unknown()) {
                self.take(at);
            }
        }
        Some(place)
    }
}

/// How a yes/no column says yes.
fn yes_of(column: &crate::catalogue::Column) -> Option<crate::query::Literal> {
    use crate::query::Literal;
    if column.kind == Kind::Boolean {
        return Some(Literal::Bool(true));
    }
    let truth = |value: &str| matches!(value.to_lowercase().as_str(), "yes" | "no" | "true" | "false" | "y" | "n" | "t" | "f");
    if column.values.is_empty() || column.values.len() > 3 || !column.values.iter().all(|(value, _)| truth(value)) {
        return None;
    }
    column.values.iter().map(|(value, _)| value).find(|value| matches!(value.to_lowercase().as_str(), "yes" | "true" | "y" | "t")).map(|value| Literal::Text(value.clone()))
}

fn by_list(reader: &Reader, at: usize) -> bool {
    reader.mark(at).is_some_and(|mark| !mark.used)
}

/// A part of the calendar by its name.
pub(super) fn grain_word(text: &str) -> Option<Grain> {
    match text.to_lowercase().trim_end_matches('s') {
        "day" | "date" => Some(Grain::Day),
        "week" => Some(Grain::Week),
        "month" => Some(Grain::Month),
        "quarter" => Some(Grain::Quarter),
        "year" => Some(Grain::Year),
        _ => None,
    }
}

/// The word for an aggregate in the name of a result column.
pub(super) fn aggregate_word(aggregate: Aggregate) -> &'static str {
    match aggregate {
        Aggregate::Count => "number of",
        Aggregate::CountDistinct => "number of different",
        Aggregate::Sum => "total",
        Aggregate::Average => "average",
        Aggregate::Min => "lowest",
        Aggregate::Max => "highest",
        Aggregate::Median => "median",
        Aggregate::StdDev => "standard deviation of",
        Aggregate::Correlation => "correlation of",
    }
}
