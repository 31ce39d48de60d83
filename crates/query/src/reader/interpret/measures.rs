//! What is measured: aggregates, counts, durations, rates, revenue.

use super::super::form::{Filter, Group, Measure, Scalar};
use super::super::lexicon::Operator;
use super::super::link::{ColumnRef, Mark};
use super::Interpreter;
use crate::query::Aggregate;
use crate::roles::Role;

impl Interpreter<'_> {
    /// The columns that follow, joined by "and".
    pub(super) fn column_list(&mut self, at: usize, wanted: impl Fn(Role) -> bool + Copy) -> Vec<ColumnRef> {
        let mut places = Vec::new();
        let mut from = at;
        while let Some(next) = self.next(from) {
            if self.is_used(next) || !self.has_role(next, wanted) {
                break;
            }
            let Some(place) = self.column(next, wanted) else { break };
            self.take(next);
            places.push(place);
            let again = self.operator(next + 1) == Some(Operator::And)
                && self
                    .next(next + 1)
                    .is_some_and(|after| self.has_role(after, wanted) && !self.is_used(after));
            if !again {
                break;
            }
            self.take(next + 1);
            from = next + 1;
        }
        places
    }

    pub(super) fn aggregate(&mut self, at: usize, aggregate: Aggregate) {
        // "median total amount": the total is part of a name.
        let behind = at.checked_sub(1).and_then(|before| self.mark(before)?.operator);
        if aggregate == Aggregate::Sum && matches!(behind, Some(Operator::Aggregate(_))) {
            return;
        }
        if let Some(next) = self.next(at) {
            if self.operator(next) == Some(Operator::Count) {
                self.pending = Some(aggregate);
                return;
            }
            if aggregate == Aggregate::Sum && self.operator(next) == Some(Operator::Group) {
                return;
            }
        }
        let another = (at + 1..self.marks.len()).find(|next| {
            !matches!(self.mark(*next).and_then(|mark| mark.operator), Some(Operator::And | Operator::Filler))
        });
        if let Some(another) = another.filter(|another| *another > at + 1)
            && matches!(self.operator(another), Some(Operator::Aggregate(_)))
        {
            self.waiting.push(aggregate);
            return;
        }
        if aggregate == Aggregate::Average && self.value_of_thing(at) {
            return;
        }
        // "total account balance": the thing that a number belongs to stands before it.
        let at = match self.next(at) {
            Some(thing)
                if !self.is_numeric(thing)
                    && self.mark(thing).is_some_and(|mark| mark.table_quality() >= 0.5)
                    && self.is_numeric(thing + 1) =>
            {
                self.take(thing);
                thing
            }
            _ => at,
        };
        let places = self.column_list(at, |role| {
            role.is_number() || role == Role::Flag || role == Role::Year || role == Role::Category
        });
        if places.is_empty() {
            if !self.aggregate_before(at, aggregate) {
                self.pending_aggregate(at, aggregate);
            }
            return;
        }
        for place in places {
            for earlier in self.waiting.clone() {
                self.form.measures.push(Measure::Of(earlier, Scalar::Column(place)));
            }
            let numeric = self
                .schema
                .column(place)
                .is_some_and(|column| column.kind.is_number() || column.kind == crate::frame::Kind::Boolean);
            if !numeric {
                let counted = Measure::Of(Aggregate::CountDistinct, Scalar::Column(place));
                self.form.measures.push(counted);
                continue;
            }
            if self.last_taken().is_some_and(|at| self.rate_of(at, place)) {
                continue;
            }
            let scalar = match self.population_for(place).filter(|_| aggregate == Aggregate::Sum) {
                Some(people) => Scalar::Product(place, people),
                None => Scalar::Column(place),
            };
            if self.schema.role(place) == Role::Rate
                && aggregate == Aggregate::Sum
                && matches!(scalar, Scalar::Column(_))
            {
                self.assumptions
                    .push(format!("{} is added up because a total was asked for.", self.label(place)));
            }
            self.form.measures.push(Measure::Of(aggregate, scalar));
        }
    }

    /// "rain total", "billed in total", "take on average": the aggregate stands behind its column.
    pub(super) fn aggregate_before(&mut self, at: usize, aggregate: Aggregate) -> bool {
        let ahead = (at + 1..self.marks.len()).any(|at| self.is_numeric(at) && !self.is_used(at));
        let near = self.previous(at);
        let Some(Measure::Of(known, Scalar::Column(place))) = self.form.measures.last_mut() else {
            return false;
        };
        let place = *place;
        let adjacent = near
            .is_some_and(|near| self.columns.iter().any(|(mark, known)| *mark == near && *known == place));
        if !self.implicit.contains(&place) || ahead && !adjacent {
            return false;
        }
        *known = aggregate;
        self.implicit.retain(|known| *known != place);
        true
    }

    /// The last mark that was used.
    pub(super) fn last_taken(&self) -> Option<usize> {
        self.used.iter().rposition(|used| *used)
    }

    /// The total of something per head is that times the heads.
    pub(super) fn population_for(&self, place: ColumnRef) -> Option<ColumnRef> {
        let label = self.label(place).to_lowercase();
        if !label.contains("percap") && !label.contains("per capita") && !label.contains("per_capita") {
            return None;
        }
        let mut same =
            self.schema.places().filter(|(other, role)| role.is_number() && other.table == place.table);
        same.find(|(other, _)| self.schema.fits(*other, "population") >= 0.6).map(|(other, _)| other)
    }

    /// "average order value": an amount for each of the things.
    pub(super) fn value_of_thing(&mut self, at: usize) -> bool {
        let Some(next) = self.next(at) else { return false };
        let sized = matches!(self.text(next + 1).as_str(), "value" | "size" | "amount" | "spend" | "total");
        if !sized || !self.has_role(next, |role| role == Role::Identifier) {
            return false;
        }
        let Some(thing) = self.column(next, |role| role == Role::Identifier) else { return false };
        let Some(amount) = self.whole_for(thing) else { return false };
        self.take(next);
        self.take(next + 1);
        let sum = Measure::Of(Aggregate::Sum, Scalar::Column(amount));
        let things = Measure::Of(Aggregate::CountDistinct, Scalar::Column(thing));
        self.form.measures.push(Measure::Ratio(Box::new(sum), Box::new(things)));
        true
    }

    /// An aggregate whose column comes later or not at all: "total by region", "average time
    /// between …".
    pub(super) fn pending_aggregate(&mut self, at: usize, aggregate: Aggregate) {
        let next = self.next(at);
        let table = next.and_then(|next| self.mark(next)?.tables.iter().map(|(table, _)| *table).next());
        let money = next.is_some_and(|next| self.mark(next).is_some_and(|mark| !mark.products.is_empty()));
        if let (Some(table), Some(next), Aggregate::Sum, false) = (table, next, aggregate, money) {
            self.take(next);
            self.form.table = table;
            self.form.measures.push(Measure::Rows);
            return;
        }
        if let Some(measure) = self.duration(at) {
            self.form.measures.push(Measure::Of(aggregate, measure));
        } else {
            self.pending = Some(aggregate);
        }
    }

    /// "how many countries", "number of orders".
    pub(super) fn count(&mut self, at: usize) {
        if self.text(at) == "how often" {
            self.form.measures.push(Measure::Rows);
            return;
        }
        let mut next = self.next(at);
        while next.is_some_and(|next| self.operator(next) == Some(Operator::Distinct)) {
            next = next.and_then(|next| {
                self.take(next);
                self.next(next)
            });
        }
        let Some(next) = next else {
            self.form.measures.push(Measure::Rows);
            return;
        };
        let Some(mark) = self.mark(next).cloned() else { return };
        if self.elapsed_count(at, next) {
            return;
        }
        // "by how many percent": a unit, not a thing.
        if mark.operator == Some(Operator::Share) {
            self.take(next);
            return;
        }
        if self.is_row_noun(next) {
            self.take(next);
            self.defaults += 1;
            self.form.measures.push(Measure::Rows);
            return;
        }
        let column = self.names_column(next) && mark.period.is_none();
        let averaged = self.pending.is_some()
            && self.mark(next).is_some_and(|mark| {
                mark.columns.iter().any(|(place, quality)| {
                    *quality >= 0.5
                        && self.schema.column(*place).is_some_and(|column| column.kind.is_number())
                        && self.schema.role(*place) != Role::Identifier
                })
            });
        match self.table_at(next) {
            Some(table) => {
                self.take(next);
                self.tables.push((next, table));
                self.form.table = table;
                self.form.measures.push(Measure::Rows);
            }
            _ if column
                && mark.column_quality() <= 0.5
                && !mark.by_meaning
                && !averaged
                && self.has_role(next, Role::is_number) =>
            {
                // "how many entries": half of `entry_fee` names the rows.
                self.take(next);
                self.defaults += 1;
                self.form.measures.push(Measure::Rows);
            }
            _ if column
                && (averaged || self.has_role(next, Role::is_number))
                && !self.missing_ahead(next) =>
            {
                let wanted = |role: Role| role.is_number() || averaged && role == Role::Category;
                let Some(place) = self.column(next, wanted) else { return };
                self.take(next);
                let aggregate = self.pending.take().unwrap_or(Aggregate::Sum);
                self.form.measures.push(Measure::Of(aggregate, Scalar::Column(place)));
            }
            _ if column && !self.is_plain_number(next) => {
                let Some(place) =
                    self.column(next, |role| role != Role::Time).or_else(|| self.column(next, |_| true))
                else {
                    return;
                };
                self.take(next);
                let role = self.schema.role(place);
                if role == Role::Flag {
                    self.form.filters.push(Filter::Flag(place, true));
                    self.form.measures.push(Measure::Rows);
                } else if self.mark(next + 1).is_some_and(|mark| mark.operator == Some(Operator::Is))
                    && self.missing_ahead(next)
                {
                    self.form.filters.push(Filter::Missing(place, true));
                    self.form.measures.push(Measure::Rows);
                } else {
                    self.counted = Some((next, place));
                    self.form.measures.push(Measure::Of(Aggregate::CountDistinct, Scalar::Column(place)));
                }
            }
            _ if column && self.missing_ahead(next) => {
                let Some(place) = self.column(next, |_| true) else { return };
                self.take(next);
                self.form.filters.push(Filter::Missing(place, true));
                self.form.measures.push(Measure::Rows);
            }
            _ => {
                // A noun that the data does not name stands for its rows.
                if mark.is_unknown() && !self.is_used(next) {
                    self.take(next);
                    self.defaults += 1;
                    self.assumptions.push(format!("“{}” is taken to mean the rows.", mark.text));
                }
                self.form.measures.push(Measure::Rows);
            }
        }
    }

    /// "properties" in a table of them whose types are called `property_type`: the rows themselves.
    pub(super) fn is_row_noun(&self, at: usize) -> bool {
        self.mark(at).is_some_and(|mark| mark.plural && mark.tables.is_empty() && self.is_row_noun_of(mark))
    }

    pub(super) fn is_row_noun_of(&self, mark: &Mark) -> bool {
        let best = mark.column_quality();
        let mut columns = mark.columns.iter().filter(|(_, quality)| *quality >= best - 0.05).peekable();
        let kinds = ["type", "kind", "class", "status", "date"];
        best < 0.9
            && columns.peek().is_some()
            && columns.all(|(place, _)| {
                let label = self.label(*place).to_lowercase();
                let last = label.split(|c: char| !c.is_alphanumeric()).rfind(|word| !word.is_empty());
                last.is_some_and(|last| kinds.contains(&last))
            })
    }

    pub(super) fn missing_ahead(&mut self, at: usize) -> bool {
        let found =
            (at + 1..self.marks.len()).take(3).find(|at| self.operator(*at) == Some(Operator::Missing));
        if let Some(found) = found {
            self.take(found);
        }
        found.is_some()
    }

    pub(super) fn missing(&mut self, at: usize) {
        let behind = (0..at).rev().take(4).find(|before| {
            self.mark(*before).is_some_and(|mark| {
                mark.columns.iter().any(|(place, quality)| {
                    *quality >= 0.5 && self.schema.column(*place).is_some_and(|column| column.nulls > 0)
                })
            })
        });
        let near = self
            .previous(at)
            .filter(|before| self.names_column(*before) && !self.is_used(*before))
            .or(behind)
            .or_else(|| self.next(at).filter(|next| self.names_column(*next)));
        if let Some(near) = near
            && let Some(place) = self.column(near, |_| true)
        {
            self.take(near);
            self.forget(place);
            self.subjects.retain(|(_, known)| *known != place);
            for between in near + 1..at {
                self.take(between);
            }
            self.form.filters.push(Filter::Missing(place, true));
        }
    }

    /// Revenue: a total, or a price times a quantity.
    pub(super) fn money(&mut self, at: usize) -> bool {
        let Some(mark) = self.mark(at).cloned().filter(|mark| !mark.products.is_empty()) else {
            return false;
        };
        // "units sold": the verb adds nothing to what is measured.
        let verb = matches!(mark.text.to_lowercase().as_str(), "sold" | "paid" | "earned" | "spent");
        if verb && (0..self.marks.len()).any(|other| other != at && self.is_numeric(other)) {
            self.take(at);
            return true;
        }
        let mut options: Vec<(Scalar, f32)> = mark
            .products
            .iter()
            .map(|(price, quantity)| (Scalar::Product(*price, *quantity), 0.62))
            .collect();
        let same = |place: ColumnRef| mark.products.iter().any(|(price, _)| price.table == place.table);
        options.extend(mark.columns.iter().map(|(place, quality)| {
            (Scalar::Column(*place), quality + if same(*place) { 0.1 } else { 0.0 })
        }));
        let Some(scalar) = self.choices.take(options) else { return false };
        self.take(at);
        let aggregate = self.pending.take().unwrap_or(Aggregate::Sum);
        self.form.measures.push(Measure::Of(aggregate, scalar));
        true
    }

    /// "margin", "profit" where no column is called so: revenue less cost.
    pub(super) fn earnings(&mut self, at: usize) -> bool {
        let word = self.text(at);
        let share = matches!(word.as_str(), "margin" | "margins");
        if !share && !matches!(word.as_str(), "profit" | "profits")
            || !self.mark(at).is_some_and(|mark| mark.is_unknown() || mark.column_quality() < 0.5)
        {
            return false;
        }
        let numbers: Vec<ColumnRef> =
            self.schema.places().filter(|(_, role)| role.is_number()).map(|(place, _)| place).collect();
        let find = |words: &[&str]| {
            words
                .iter()
                .find_map(|word| numbers.iter().find(|place| self.schema.fits(**place, word) >= 0.95))
                .copied()
        };
        let Some(revenue) = find(&["sales", "revenue", "amount", "total"]) else { return false };
        let part = match (find(&["profit"]), find(&["cost", "costs", "expense"])) {
            (Some(profit), _) => Scalar::Column(profit),
            (None, Some(cost)) if cost.table == revenue.table => Scalar::Difference(revenue, cost),
            _ => return false,
        };
        self.take(at);
        self.assumptions.push(match part {
            Scalar::Difference(..) => format!("“{word}” is {} less cost.", self.label(revenue)),
            _ => format!("“{word}” is profit over {}.", self.label(revenue)),
        });
        let part = Measure::Of(Aggregate::Sum, part);
        let whole = Measure::Of(Aggregate::Sum, Scalar::Column(revenue));
        let measure = if share { Measure::Percent(Box::new(part), Box::new(whole)) } else { part };
        self.form.measures.push(measure);
        true
    }

    /// What sales are, where no word names a column of them.
    pub(super) fn revenue(&mut self) -> Option<Scalar> {
        let named =
            |words: &[&str], place: ColumnRef| words.iter().any(|word| self.schema.fits(place, word) >= 0.95);
        let numbers: Vec<ColumnRef> =
            self.schema.places().filter(|(_, role)| role.is_number()).map(|(place, _)| place).collect();
        let mut options: Vec<(Scalar, f32)> = Vec::new();
        for place in &numbers {
            if named(&["sales", "revenue", "amount", "total"], *place) {
                options.push((Scalar::Column(*place), 0.6));
            }
            let quantity = numbers.iter().find(|other| {
                other.table == place.table && *other != place && named(&["quantity", "qty"], **other)
            });
            if let (true, Some(quantity)) = (named(&["price"], *place), quantity) {
                options.push((Scalar::Product(*place, *quantity), 0.62));
            }
        }
        self.choices.take(options)
    }

    /// A column with no operator before it.
    pub(super) fn bare_column(&mut self, at: usize) {
        if self.is_row_noun(at) {
            self.take(at);
            self.defaults += 1;
            return;
        }
        let Some(place) = self.column(at, |_| true) else { return };
        if self.filled(at, place) {
            return;
        }
        if self.is_way(at, place) {
            self.take(at);
            return;
        }
        let compared = self.form.filters.iter().any(
            |filter| matches!(filter, Filter::Number(known, ..) | Filter::Between(known, ..) if *known == place),
        );
        if compared && self.form.show.contains(&place) {
            self.take(at);
            return;
        }
        match self.schema.role(place) {
            role if role.is_number() => {
                self.take(at);
                if self.rate_of(at, place) {
                    return;
                }
                let measure = self.default_measure(place);
                self.form.measures.push(measure);
            }
            Role::Flag => self.flag(at, place),
            Role::Time | Role::Year => {
                self.take(at);
                self.subjects.push((at, place));
            }
            _ => {
                self.take(at);
                self.subjects.push((at, place));
            }
        }
    }

    /// "the country of the destination airport": the way to a table that was named already.
    pub(super) fn is_way(&self, at: usize, place: ColumnRef) -> bool {
        let (Some(table), Some(column)) = (self.schema.table(place.table), self.schema.column(place)) else {
            return false;
        };
        let mut joins = self
            .schema
            .catalogue
            .joins
            .iter()
            .filter(|join| join.from.0 == table.name && join.from.1.first() == Some(&column.name));
        joins.any(|join| {
            let is_target =
                |table: usize| self.schema.table(table).is_some_and(|known| known.name == join.to.0);
            let named = self.mark(at + 1).is_some_and(|mark| {
                mark.table_quality() >= 0.5 && mark.tables.iter().any(|(table, _)| is_target(*table))
            });
            named && self.form.groups.iter().any(|group| is_target(group.place().table))
        })
    }

    /// "loans that were approved", "orders that used a coupon": cells that are filled.
    pub(super) fn filled(&mut self, at: usize, place: ColumnRef) -> bool {
        let column = self.schema.column(place);
        let has_gaps = column.is_some_and(|column| column.nulls > 0);
        let before = |back: usize| at.checked_sub(back).map(|at| self.text(at)).unwrap_or_default();
        let role = self.schema.role(place);
        let word = self.text(at);
        let happened = role == Role::Time
            && matches!(before(1).as_str(), "were" | "was" | "been" | "are" | "is" | "got" | "have been")
            && (word.ends_with("ed") || matches!(word.as_str(), "paid" | "sold"));
        let used = !role.is_number()
            && role != Role::Time
            && matches!(before(1).as_str(), "a" | "an" | "any")
            && matches!(before(2).as_str(), "used" | "with" | "had" | "has" | "have" | "using" | "use");
        if !has_gaps || !(happened || used) {
            return false;
        }
        self.take(at);
        let filter = Filter::Missing(place, false);
        if !self.form.filters.contains(&filter) {
            self.form.filters.push(filter);
        }
        true
    }

    /// "survival rate", "percentage of women who survived", "passengers who survived".
    pub(super) fn flag(&mut self, at: usize, place: ColumnRef) {
        let rate = self.mark(at + 1).is_some_and(|mark| mark.operator == Some(Operator::Rate));
        self.take(at);
        if rate {
            self.take(at + 1);
        }
        let negated = at
            .checked_sub(1)
            .is_some_and(|before| self.mark(before).is_some_and(|mark| mark.operator == Some(Operator::Not)));
        if rate || self.share && self.form.measures.is_empty() {
            self.share = false;
            self.form.measures.push(Measure::ShareWhere(Box::new(Filter::Flag(place, !negated))));
        } else {
            self.add_flag(place, !negated);
        }
    }

    /// "return rate": the share of rows with a value.
    pub(super) fn value_rate(&mut self, at: usize) -> bool {
        let rate = self.mark(at + 1).is_some_and(|mark| mark.operator == Some(Operator::Rate));
        let Some(link) = self.mark(at).and_then(|mark| mark.values.first()).cloned().filter(|_| rate) else {
            return false;
        };
        self.take(at);
        self.take(at + 1);
        let filter = Filter::Values { place: link.place, values: link.values, negated: false };
        self.form.measures.push(Measure::ShareWhere(Box::new(filter)));
        true
    }

    /// A flag and its opposite are two groups.
    pub(super) fn add_flag(&mut self, place: ColumnRef, set: bool) {
        let before = self.form.filters.len();
        self.form.filters.retain(|filter| *filter != Filter::Flag(place, !set));
        if self.form.filters.len() < before {
            self.add_group(Group::Column(place));
        } else {
            self.form.filters.push(Filter::Flag(place, set));
        }
    }

    /// Additive columns are summed, others averaged.
    pub(super) fn default_measure(&mut self, place: ColumnRef) -> Measure {
        let role = self.schema.role(place);
        if let Some(aggregate) = self.pending.take() {
            return Measure::Of(aggregate, Scalar::Column(place));
        }
        let (sum, average) = if role == Role::Measure || self.amount { (1.0, 0.4) } else { (0.3, 1.0) };
        let options = vec![(Aggregate::Sum, sum), (Aggregate::Average, average)];
        let aggregate = self.choices.take(options).unwrap_or(Aggregate::Sum);
        self.implicit.push(place);
        Measure::Of(aggregate, Scalar::Column(place))
    }

    /// "profit margin": a part over the whole it belongs to.
    pub(super) fn rate_of(&mut self, at: usize, place: ColumnRef) -> bool {
        let next = self.text(at + 1);
        let percent =
            matches!(next.as_str(), "margin" | "margins" | "percentage" | "percent" | "%" | "ratio")
                || self.mark(at + 1).is_some_and(|mark| mark.operator == Some(Operator::Rate));
        if !percent {
            return false;
        }
        // A rate is a part of what it came from; a margin is a part of what was earned.
        let rate = self.mark(at + 1).is_some_and(|mark| mark.operator == Some(Operator::Rate));
        let whole = if rate && !self.is_money(place) {
            let wholes = self.counts_above(place);
            if wholes.len() > 1 {
                self.defaults += 1;
            }
            let options = wholes.into_iter().zip([0.6, 0.5, 0.4]).collect();
            self.choices.take(options)
        } else {
            self.whole_for(place)
        };
        let Some(whole) = whole else { return false };
        self.take(at + 1);
        let sum = |place: ColumnRef| Box::new(Measure::Of(Aggregate::Sum, Scalar::Column(place)));
        self.form.measures.push(Measure::Percent(sum(place), sum(whole)));
        self.assumptions.push(format!(
            "“{} {next}” is {} over {}.",
            self.text(at),
            self.label(place),
            self.label(whole)
        ));
        true
    }

    /// The amount that a part belongs to: sales, revenue, total, bill, fare.
    pub(super) fn whole_for(&self, part: ColumnRef) -> Option<ColumnRef> {
        let words = ["sales", "revenue", "total", "bill", "amount", "fare", "price"];
        let measures: Vec<ColumnRef> = (self.schema.places())
            .filter(|(place, role)| role.is_number() && place.table == part.table && *place != part)
            .map(|(place, _)| place)
            .collect();
        words
            .iter()
            .find_map(|word| measures.iter().find(|place| self.schema.fits(**place, word) >= 0.95))
            .copied()
    }
}
