//! Superlatives, "top n", and the order of rows.
//!
//! The invariant: a superlative becomes either an aggregate of the answer or an order with a limit,
//! never both.

use crate::query::{Aggregate, Expr};

use super::lexicon::{ANY, Hint, Key};
use super::reader::Reader;
use super::schema::Place;

/// A superlative that was found: by what the rows are ordered.
#[derive(Debug, Clone)]
pub(super) struct Extreme {
    /// Its mark.
    pub at: usize,
    /// Largest first.
    pub down: bool,
    /// How many were asked for, when said.
    pub limit: Option<u64>,
    pub by: By,
}

/// What is compared.
#[derive(Debug, Clone)]
pub(super) enum By {
    /// A column of single rows.
    Column(Place),
    /// An aggregate of a column.
    Aggregate(Aggregate, Place),
    /// How many rows of a table there are.
    Count(usize),
    /// How often a value of this column occurs.
    Common(Place),
    /// A total over many rows.
    Measure(Expr),
}

impl Reader<'_> {
    /// Finds superlatives and "top n".
    pub(super) fn extremes(&mut self) -> Vec<Extreme> {
        let mut found = Vec::new();
        let mut pending = None;
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at).filter(|mark| !mark.used) else { continue };
            let (down, hint, common, top) = match mark.key {
                Some(Key::Super(down, hint)) => (down, hint, false, false),
                Some(Key::Common(down)) => (down, ANY, true, false),
                Some(Key::Top(down)) => (down, ANY, false, true),
                Some(Key::Agg(aggregate @ (Aggregate::Max | Aggregate::Min))) if self.after_with(at) => {
                    (aggregate == Aggregate::Max, ANY, false, false)
                }
                _ => continue,
            };
            let limit = self.said_limit(at).or(pending.take());
            if top
                && (at + 1..(at + 4).min(self.marks.len()))
                    .find(|place| {
                        self.mark(*place)
                            .is_some_and(|mark| mark.number.is_none() && mark.key != Some(Key::Filler))
                    })
                    .is_some_and(|next| matches!(self.key(next), Some(Key::Super(..) | Key::Common(_))))
            {
                pending = limit;
                self.take(at);
                continue;
            }
            let by = if top {
                self.top_by(at)
            } else if common {
                self.common_by(at)
            } else {
                self.extreme_by(at, hint)
            };
            if top && by.is_none() {
                pending = limit;
                self.take(at);
            }
            let Some(by) = by else { continue };
            let down = self.turned(down, mark_hint(hint), &by);
            let limit = limit.or_else(|| self.several(at, &by));
            self.take(at);
            found.push(Extreme { at, down, limit, by });
        }
        found
    }

    /// "our best customers": a few of them.
    pub(super) fn several(&mut self, at: usize, by: &By) -> Option<u64> {
        let ranked = matches!(by, By::Measure(_))
            && self.mark(at).is_some_and(|mark| {
                matches!(mark.text.to_lowercase().as_str(), "best" | "worst" | "top" | "bottom")
            });
        let plural = self
            .next(at, |_| false)
            .and_then(|next| self.mark(next))
            .is_some_and(|mark| mark.text.ends_with('s') && !mark.text.ends_with("ss"));
        if !ranked || !plural {
            return None;
        }
        self.assumptions.push("Shows the first ten.".to_owned());
        Some(10)
    }

    /// The largest table whose rows refer to things of this table.
    fn rows_of(&self, table: usize) -> Option<usize> {
        let name = self.table_name(table);
        let refers = |other: &usize| {
            let other = self.table_name(*other);
            super::joins::steps(self.schema.catalogue, &name, &other) == Some(1)
                && super::joins::fans_out(self.schema.catalogue, &name, &other)
        };
        let rows = |other: &usize| self.schema.table(*other).and_then(|table| table.rows).unwrap_or(0);
        (0..self.schema.tables.len()).filter(refers).max_by_key(rows)
    }

    /// The table of amounts whose rows belong to things of this table.
    pub(super) fn amounts_of(&self, table: usize) -> Option<Place> {
        let name = self.table_name(table);
        (0..self.schema.tables.len())
            .filter(|other| {
                super::joins::steps(self.schema.catalogue, &name, &self.table_name(*other)) == Some(1)
                    && super::joins::fans_out(self.schema.catalogue, &name, &self.table_name(*other))
            })
            .find_map(|other| self.stands_for_amount(other))
    }

    /// "with the maximum", "has the minimum": a superlative, not an aggregate.
    pub(super) fn after_with(&self, at: usize) -> bool {
        let Some(before) = self.previous(at, |_| false) else { return false };
        self.key(before) == Some(Key::Clause)
            && self
                .next(at, |_| false)
                .is_some_and(|next| self.is_column(next) || self.key(next) == Some(Key::NumberOf))
            && !(0..self.marks.len()).any(|place| self.key(place) == Some(Key::Each))
    }

    pub(super) fn said_limit(&mut self, at: usize) -> Option<u64> {
        let asked =
            (0..at).find(|place| self.key(*place) == Some(Key::Ask)).map_or(usize::MAX, |place| place + 1);
        for place in [at.wrapping_sub(1), at + 1, asked] {
            let number =
                self.mark(place).filter(|mark| !mark.used && !mark.quoted).and_then(|mark| mark.number);
            if let Some(number) = number.filter(|n| n.fract() == 0.0 && *n >= 1.0 && *n <= 1000.0) {
                self.take(place);
                return Some(number as u64);
            }
        }
        None
    }

    /// "oldest" by a year of birth or founding is the smallest.
    pub(super) fn turned(&self, down: bool, aged: bool, by: &By) -> bool {
        match by {
            By::Column(place) if aged && !self.schema.has_stem(*place, &["age"]) => {
                let dated = self.schema.has_stem(
                    *place,
                    &[
                        "birth", "born", "dob", "year", "date", "found", "launch", "open", "start", "build",
                        "built",
                    ],
                );
                if dated { !down } else { down }
            }
            _ => down,
        }
    }

    /// "top 5 products by margin": what follows "by".
    pub(super) fn top_by(&mut self, at: usize) -> Option<By> {
        let by = (at + 1..self.marks.len()).find(|place| {
            matches!(self.key(*place), Some(Key::By | Key::OrderBy))
                || matches!(self.key(*place), Some(Key::Of)) && self.is_column(place + 1)
        });
        let by = by?;
        let next = self.next(by, |_| false)?;
        let result = self.measured(next);
        if result.is_some() {
            self.take(by);
        }
        result
    }

    /// What an aggregate, a count or a column at a mark measures.
    pub(super) fn measured(&mut self, at: usize) -> Option<By> {
        if self.mark(at).is_some_and(super::link::Mark::unknown)
            && let Some((expr, table)) = self.profit()
        {
            self.head = table;
            self.assumptions.push("Profit is the amount less the cost.".to_owned());
            return Some(By::Measure(expr));
        }
        match self.key(at) {
            Some(Key::Agg(aggregate)) => {
                let next = self.next(at, |key| matches!(key, Key::Of))?;
                let place = self.resolve(next).filter(|_| self.is_column(next))?;
                self.take(at);
                self.take(next);
                Some(By::Aggregate(aggregate, place))
            }
            Some(Key::NumberOf | Key::HowMany) => {
                let next = self.next(at, |key| matches!(key, Key::Of | Key::Distinct))?;
                self.take(at);
                self.counted(next)
            }
            None if self.is_column(at) => {
                let place = self.resolve(at).filter(|place| self.orderable(*place))?;
                self.take(at);
                Some(By::Column(place))
            }
            None if self.is_table(at)
                && self.table_at(at).is_some_and(|table| self.stands_for_amount(table).is_some()) =>
            {
                let place = self.table_at(at).and_then(|table| self.stands_for_amount(table))?;
                self.take(at);
                self.head = place.table;
                Some(By::Measure(Expr::Aggregate(Aggregate::Sum, vec![self.expr(place)])))
            }
            None if self.is_table(at) => {
                let place = self.resolve(at).filter(|place| self.schema.is_measure(*place))?;
                self.take(at);
                Some(By::Column(place))
            }
            _ => None,
        }
    }

    pub(super) fn counted(&mut self, at: usize) -> Option<By> {
        let weak = self
            .mark(at)
            .is_some_and(|mark| mark.unknown() || self.is_column(at) && mark.column_quality() < 0.6);
        let at = if weak && self.is_table(at + 1) { at + 1 } else { at };
        if self.is_table(at) {
            let table = self.table_at(at)?;
            self.take(at);
            return Some(By::Count(table));
        }
        if self.is_column(at) {
            let place = self.resolve(at)?;
            self.take(at);
            return Some(if self.schema.is_measure(place) {
                By::Column(place)
            } else {
                By::Aggregate(Aggregate::CountDistinct, place)
            });
        }
        None
    }

    pub(super) fn common_by(&mut self, at: usize) -> Option<By> {
        let times = self.mark(at).is_some_and(|mark| mark.text.ends_with("times"));
        let next = self.next(at, |key| matches!(key, Key::Of)).filter(|_| !times);
        let Some(next) = next.filter(|next| self.is_column(*next) || self.is_table(*next)) else {
            let asked = (0..at)
                .find(|place| self.is_column(*place) && !self.mark(*place).is_some_and(|mark| mark.used))
                .and_then(|place| self.resolve(place));
            if let Some(place) = asked.filter(|place| self.named.len() < 2 && !self.schema.is_measure(*place))
            {
                return Some(By::Common(place));
            }
            let entity = self.named.first().map(|(_, table)| *table)?;
            let named = self.named.iter().rev().map(|(_, table)| *table).find(|table| *table != entity);
            return named.or_else(|| self.rows_of(entity)).map(By::Count);
        };
        if self.is_column(next) {
            return self.resolve(next).map(By::Common);
        }
        if self.is_table(next) {
            let table = self.table_at(next)?;
            return self.schema.display(table).map(By::Common);
        }
        None
    }

    pub(super) fn extreme_by(&mut self, at: usize, hint: Hint) -> Option<By> {
        let next = self.next(at, |key| matches!(key, Key::Of | Key::Ask));
        if let Some(next) = next {
            match self.key(next) {
                Some(Key::Agg(_) | Key::NumberOf | Key::HowMany) => {
                    if let Some(by) = self.measured(next) {
                        return Some(by);
                    }
                }
                None if self.is_column(next) && !self.mark(next).is_some_and(|mark| mark.used) => {
                    // Of several nouns in a row the last one counts: "one time bonus".
                    let next = if self.is_column(next + 1)
                        && self.mark(next).is_some_and(|mark| mark.column_quality() < 0.6)
                    {
                        next + 1
                    } else {
                        next
                    };
                    let place = self.resolve(next)?;
                    let many = self
                        .mark(at)
                        .is_some_and(|mark| matches!(mark.text.to_lowercase().as_str(), "most" | "fewest"));
                    if many
                        && self.mark(next).is_some_and(|mark| mark.column_quality() < 0.75)
                        && !self.schema.is_measure(place)
                        && place.table != self.head
                    {
                        self.take(next);
                        return Some(By::Count(place.table));
                    }
                    if self.orderable(place) {
                        self.take(next);
                        return Some(By::Column(place));
                    }
                    if !hint.is_empty()
                        && let Some(place) = self.hinted(hint, at)
                    {
                        return Some(By::Column(place));
                    }
                    if self.is_table(next) {
                        return self.counted(next);
                    }
                    if self.key(at).is_some_and(|key| matches!(key, Key::Super(_, ANY))) {
                        self.take(next);
                        return Some(By::Aggregate(Aggregate::CountDistinct, place));
                    }
                }
                None if self.is_table(next) => {
                    if !hint.is_empty()
                        && let Some(place) = self.hinted(hint, at)
                    {
                        return Some(By::Column(place));
                    }
                    let table = self.table_at(next)?;
                    let counted = self
                        .mark(at)
                        .is_some_and(|mark| matches!(mark.text.to_lowercase().as_str(), "most" | "fewest"));
                    if let Some(place) = self.stands_for_amount(table).filter(|_| !counted) {
                        self.take(next);
                        self.head = table;
                        return Some(By::Measure(Expr::Aggregate(Aggregate::Sum, vec![self.expr(place)])));
                    }
                    let only = self.named.iter().all(|(place, known)| *known == table && *place > at);
                    if hint.first() == Some(&"rating") {
                        let place = self.amounts_of(table)?;
                        let label = self.label(place);
                        self.assumptions.push(format!("Ranked by the total of {label}."));
                        return Some(By::Measure(Expr::Aggregate(Aggregate::Sum, vec![self.expr(place)])));
                    }
                    if Some(table) != self.named.first().map(|(_, table)| *table) || only {
                        return self.counted(next);
                    }
                }
                None if self.mark(next).is_some_and(super::link::Mark::unknown)
                    && matches!(
                        self.mark(next).map(|mark| mark.text.to_lowercase()).as_deref(),
                        Some("profit" | "margin" | "profits" | "margins" | "profitable")
                    ) =>
                {
                    return self.measured(next);
                }
                None => {
                    // "most highly rated episodes": the word after is a verb or adverb that names a
                    // column.
                    if let Some(place) = self.verb_column(next) {
                        self.take(next);
                        return Some(By::Column(place));
                    }
                }
                _ => {}
            }
        }
        if !hint.is_empty()
            && let Some(place) = self.hinted(hint, at)
        {
            return Some(By::Column(place));
        }
        let verb = self
            .previous(at, |_| false)
            .filter(|place| self.is_table(*place))
            .and_then(|place| self.table_at(place))
            .and_then(|table| self.stands_for_amount(table));
        if let Some(place) = verb {
            self.head = place.table;
            return Some(By::Measure(Expr::Aggregate(Aggregate::Sum, vec![self.expr(place)])));
        }
        let before = self
            .previous(at, |key| matches!(key, Key::Is | Key::Of | Key::Clause | Key::Ask))
            .filter(|place| self.is_column(*place))?;
        let place = self.resolve(before).filter(|place| self.orderable(*place))?;
        self.take(before);
        Some(By::Column(place))
    }

    /// An unexplained word whose next words name a column.
    pub(super) fn verb_column(&mut self, at: usize) -> Option<Place> {
        if !self.mark(at).is_some_and(super::link::Mark::unknown) {
            return None;
        }
        let said: Vec<char> = self.mark(at)?.text.to_lowercase().chars().collect();
        let alike = |place: &Place| {
            self.schema.columns.get(place.table).and_then(|columns| columns.get(place.column)).is_some_and(
                |words| {
                    words
                        .iter()
                        .any(|(word, _)| word.chars().zip(&said).take_while(|(a, b)| a == *b).count() >= 5)
                },
            )
        };
        let near = self.next(at, |_| false);
        let table = near.and_then(|near| self.table_at(near)).unwrap_or(self.head);
        if let Some(place) = self
            .schema
            .places()
            .find(|place| place.table == table && alike(place) && self.schema.is_measure(*place))
        {
            return Some(place);
        }
        let next = near.filter(|place| self.is_column(*place))?;
        let place = self.resolve(next).filter(|place| self.orderable(*place))?;
        self.take(next);
        Some(place)
    }

    /// "ordered by age", "in descending order of price", "alphabetically".
    pub(super) fn ordering(&mut self) {
        let mut down = false;
        let mut start: Option<usize> = None;
        for at in 0..self.marks.len() {
            match self.key(at).filter(|_| !self.mark(at).is_some_and(|mark| mark.used)) {
                Some(Key::OrderBy)
                    if start.is_some_and(|start| matches!(self.key(start), Some(Key::By | Key::OrderBy))) => {
                }
                Some(Key::OrderBy) => {
                    // "sort names by age": what counts stands behind "by".
                    let by = (at + 1..self.marks.len()).find(|place| self.key(*place) == Some(Key::By));
                    start = Some(
                        by.filter(|_| !self.mark(at).is_some_and(|mark| mark.text.contains(' ')))
                            .unwrap_or(at),
                    );
                    if let Some(by) = by.filter(|by| Some(*by) == start) {
                        self.take(by);
                    }
                }
                Some(Key::Desc) => {
                    down = true;
                    start = start.or(Some(at));
                }
                Some(Key::Asc) => start = start.or(Some(at)),
                Some(Key::Alphabetical) => {
                    start = start.or(Some(at));
                }
                _ => continue,
            }
            self.take(at);
        }
        let Some(start) = start else { return };
        let mut found = false;
        let mut at = start + 1;
        while at < self.marks.len() {
            let Some(mark) = self.mark(at) else { break };
            match mark.key {
                Some(
                    Key::Of
                    | Key::Filler
                    | Key::By
                    | Key::And
                    | Key::Desc
                    | Key::Asc
                    | Key::OrderBy
                    | Key::Alphabetical
                    | Key::Is
                    | Key::Each
                    | Key::Clause,
                ) => {}
                Some(Key::Super(..)) => {}
                Some(Key::Ask) => break,
                Some(Key::Agg(_) | Key::NumberOf) if !found => {
                    let by = self.measured(at);
                    if let Some(expr) = by.and_then(|by| self.by_expr(&by)) {
                        self.sketch.order.push((expr, down));
                        found = true;
                    } else if self.key(at) == Some(Key::NumberOf) {
                        self.take(at);
                        self.sketch.order.push((Expr::Aggregate(Aggregate::Count, vec![Expr::Star]), down));
                        found = true;
                    }
                }
                None if self.is_column(at) && !mark.used => {
                    if let Some(place) = self.resolve(at) {
                        let expr = self.expr(place);
                        self.sketch.order.push((expr, down));
                        self.take(at);
                        found = true;
                    }
                }
                None if self.is_table(at) => {
                    if !found
                        && self.next(at, |_| false).is_none_or(|next| !self.is_column(next))
                        && let Some(place) = self.table_at(at).and_then(|table| self.schema.display(table))
                    {
                        let expr = self.expr(place);
                        self.sketch.order.push((expr, down));
                        self.take(at);
                        found = true;
                    }
                }
                _ if found => break,
                _ => {}
            }
            at += 1;
        }
        if !found {
            // Nothing named: by the first column of the answer.
            self.sketch.order.push((Expr::Star, down));
        }
    }

    /// What a superlative compares, as an expression.
    pub(super) fn by_expr(&self, by: &By) -> Option<Expr> {
        Some(match by {
            By::Column(place) => self.expr(*place),
            By::Aggregate(aggregate, place) => Expr::Aggregate(*aggregate, vec![self.expr(*place)]),
            By::Measure(expr) => expr.clone(),
            By::Count(_) | By::Common(_) => Expr::Aggregate(Aggregate::Count, vec![Expr::Star]),
        })
    }
}

fn mark_hint(hint: Hint) -> bool {
    hint.first() == Some(&"age")
}
