//! Conditions: comparisons with numbers and times, values of columns, parts of text, empty cells.
//!
//! The invariant: each condition remembers the mark of its value, so that negation and "or" can be
//! placed later.

use crate::frame::{Kind, Value};
use crate::query::{Compare, Condition, Expr, Literal};

use super::lexicon::{ANY, Hint, Key};
use super::reader::{Found, Reader};
use super::schema::Place;

impl Reader<'_> {
    /// Numbers and times with a comparison or next to a column.
    pub(super) fn comparisons(&mut self) {
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at) else { continue };
            if mark.used
                || mark.quoted
                || mark.number.is_none() && mark.time.is_none()
                || !mark.columns.is_empty() && mark.number.is_none()
            {
                continue;
            }
            if self.between(at) || self.compared(at) {
                continue;
            }
        }
    }

    /// "between 5 and 10", "from 5 to 10".
    pub(super) fn between(&mut self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let opened = self.key(before) == Some(Key::Between)
            || self.mark(before).is_some_and(|mark| mark.text.eq_ignore_ascii_case("from"));
        let joint = matches!(self.key(at + 1), Some(Key::And | Key::To));
        let ends = self.mark(at + 2).is_some_and(|mark| mark.number.is_some() || mark.time.is_some());
        if !opened || !joint || !ends {
            return false;
        }
        let Some(place) = self.compared_column(at, before, Some(at + 2), ANY, false) else { return false };
        let condition = match (self.literal(place, at), self.literal(place, at + 2)) {
            (Some(low), Some(high)) => {
                let expr = self.expr(place);
                let upper = match (&high, self.mark(at + 2).and_then(|mark| mark.time.clone())) {
                    (Literal::Date(_), Some(when)) => {
                        Condition::Compare(expr.clone(), Compare::Less, Expr::Literal(Literal::Date(when.to)))
                    }
                    _ => Condition::Compare(expr.clone(), Compare::LessOrEqual, Expr::Literal(high)),
                };
                Condition::All(vec![
                    Condition::Compare(expr, Compare::GreaterOrEqual, Expr::Literal(low)),
                    upper,
                ])
            }
            _ => return false,
        };
        self.found.push(Found { at, place, condition, equal: false, negated: false, rows: None });
        [before, at, at + 2].into_iter().for_each(|used| self.take(used));
        true
    }

    /// The comparison that belongs to a number: where it stands and what it says.
    pub(super) fn operator(&self, at: usize) -> Option<(usize, Compare, Hint)> {
        for place in (at.saturating_sub(5)..at).rev() {
            let mark = self.mark(place)?;
            match mark.key {
                Some(Key::Cmp(compare, hint)) if !mark.used => return Some((place, compare, hint)),
                Some(Key::Than | Key::Filler | Key::Of | Key::Is | Key::Everything) => {}
                Some(_) => return None,
                None if mark.number.is_some() || mark.time.is_some() || mark.used => return None,
                None => {}
            }
        }
        None
    }

    pub(super) fn compared(&mut self, at: usize) -> bool {
        let operator = self.operator(at);
        let or_more = match self.key(at + 1) {
            Some(Key::OrMore) => Some(Compare::GreaterOrEqual),
            Some(Key::OrLess) => Some(Compare::LessOrEqual),
            _ => None,
        };
        let (start, mut compare, hint) = operator.unwrap_or((at, Compare::Equal, ANY));
        if let Some(inclusive) = or_more {
            compare = inclusive;
            self.take(at + 1);
        }
        let explicit = operator.is_some() || or_more.is_some();
        if self.having(at, start, compare, explicit) {
            return true;
        }
        // A number that repeats the comparison before it: "2014 or 2015", "year 2014 and 2015".
        let chained = (!explicit).then(|| self.chained(at)).flatten();
        let Some(place) = chained.or_else(|| self.compared_column(at, start, None, hint, explicit)) else {
            return false;
        };
        let Some(condition) = self.comparison(place, compare, at) else { return false };
        if operator.is_some() {
            self.take(start);
        }
        self.take(at);
        let rows = self
            .mark(at)
            .and_then(|mark| mark.values.iter().find(|link| link.place == place))
            .map(|link| link.count)
            .filter(|_| compare == Compare::Equal);
        self.found.push(Found {
            at,
            place,
            condition,
            equal: compare == Compare::Equal,
            negated: false,
            rows,
        });
        self.note_parameter(place, at, compare);
        true
    }

    pub(super) fn chained(&self, at: usize) -> Option<Place> {
        let joint = at.checked_sub(1)?;
        if !matches!(self.key(joint), Some(Key::Or | Key::And)) {
            return None;
        }
        let next_is_own =
            self.next(at, |_| false).is_some_and(|next| self.is_column(next)) && self.key(at + 1).is_none();
        let last = self.found.last().filter(|found| found.at + 1 == joint && !next_is_own)?;
        let elsewhere = self.mark(at).is_some_and(|mark| {
            !mark.values.is_empty() && !mark.values.iter().any(|link| link.place == last.place)
        });
        Some(last.place).filter(|_| !elsewhere)
    }

    /// The column that a number is compared with.
    pub(super) fn compared_column(
        &mut self,
        at: usize,
        start: usize,
        end: Option<usize>,
        hint: Hint,
        explicit: bool,
    ) -> Option<Place> {
        let when = self.mark(at).and_then(|mark| mark.time.clone());
        let inside = (start + 1..at)
            .find(|place| self.is_column(*place) && self.mark(*place).is_some_and(|mark| !mark.used));
        if let Some(place) = inside {
            // "founded after the year 2008": the column that both words may mean.
            let verb = self
                .previous(start, |key| matches!(key, Key::Is))
                .and_then(|before| self.mark(before))
                .filter(|mark| mark.key.is_none());
            let shared = verb.zip(self.mark(place)).and_then(|(verb, year)| {
                verb.columns
                    .iter()
                    .map(|link| link.place)
                    .find(|known| year.columns.iter().any(|link| link.place == *known))
            });
            let column = shared.or_else(|| self.resolve(place))?;
            if shared.is_some()
                && let Some(before) = self.previous(start, |key| matches!(key, Key::Is))
            {
                self.take(before);
            }
            self.take(place);
            return Some(column);
        }
        let skip = |key: Key| {
            matches!(
                key,
                Key::Is | Key::Of | Key::Everything | Key::Clause | Key::Not | Key::Both | Key::Either
            )
        };
        let before = self.previous(start, skip).filter(|place| {
            self.is_column(*place) && start - place <= 4 && self.mark(*place).is_some_and(|mark| !mark.used)
        });
        let next = self.next(end.unwrap_or(at), |key| key == Key::Is && before.is_none());
        let after =
            next.filter(|place| self.is_column(*place) && self.mark(*place).is_some_and(|mark| !mark.used));
        let holds = |reader: &Self, place: Option<usize>| {
            place.and_then(|place| reader.resolve(place)).is_some_and(|column| reader.may_hold(column, at))
        };
        let choice = match (before, after) {
            (Some(before), Some(after)) => {
                let separated = (before + 1..at).any(|place| matches!(self.key(place), Some(Key::And)));
                let (left, right) = (holds(self, Some(before)), holds(self, Some(after)));
                let adjacent = start - before <= 1;
                if left && !separated && (adjacent || !right) {
                    Some(before)
                } else if right {
                    Some(after)
                } else {
                    Some(before).filter(|_| left)
                }
            }
            (before, after) => {
                before.filter(|_| holds(self, before)).or(after.filter(|_| holds(self, after)))
            }
        };
        if let Some(choice) = choice {
            let column = self.resolve_for(choice, at)?;
            self.take(choice);
            return Some(column);
        }
        if self.mark(at + 1).is_some_and(|mark| mark.text.starts_with("year"))
            && self.mark(at + 2).is_some_and(|mark| mark.text == "old")
        {
            self.take(at + 1);
            self.take(at + 2);
            return self.hinted(&["age"], at);
        }
        if !hint.is_empty()
            && let Some(place) = self.hinted(hint, start).filter(|place| self.may_hold(*place, at))
        {
            return Some(place);
        }
        if when.is_some()
            && let Some(place) = self.time_column(at)
        {
            return Some(place);
        }
        self.by_value(at, explicit)
    }

    /// A column for a bare number: one that holds it, best in a named table.
    pub(super) fn by_value(&self, at: usize, explicit: bool) -> Option<Place> {
        let mark = self.mark(at)?;
        let number = mark.number?;
        if explicit {
            let table = self.entity_before(at);
            let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
            let mut measures = (0..columns)
                .map(|column| Place { table, column })
                .filter(|place| self.schema.is_measure(*place) && self.in_range(*place, number));
            let only = measures.next()?;
            return measures.next().is_none().then_some(only);
        }
        let score = |place: Place| {
            let mut score = 0.0_f32;
            if self.names_table(place.table) || place.table == self.head {
                score += 1.0;
            }
            if !self.schema.is_key(place) {
                score += 0.5;
            }
            if self.asked_elsewhere(place) {
                score -= 0.4;
            }
            score
        };
        mark.values
            .iter()
            .filter(|link| !link.part)
            .map(|link| (score(link.place), link.place))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
            .map(|(_, place)| place)
    }

    /// Is the column named somewhere else in the question?
    pub(super) fn asked_elsewhere(&self, place: Place) -> bool {
        self.marks.iter().any(|mark| {
            !mark.used
                && mark.key.is_none()
                && mark.columns.iter().any(|link| link.place == place && link.quality > 0.9)
        })
    }

    pub(super) fn in_range(&self, place: Place, number: f64) -> bool {
        let Some(column) = self.schema.column(place) else { return false };
        match (column.min.number(), column.max.number()) {
            (Some(low), Some(high)) => number >= low - (high - low) && number <= high + (high - low),
            _ => true,
        }
    }

    /// The column of times that a date or year is compared with.
    pub(super) fn time_column(&self, at: usize) -> Option<Place> {
        let tables = [self.entity_before(at), self.head]
            .into_iter()
            .chain(self.named.iter().map(|(_, table)| *table))
            .chain(0..self.schema.tables.len());
        let bare_year = self.mark(at).is_some_and(|mark| mark.number.is_some());
        let mut seen = Vec::new();
        for table in tables {
            if seen.contains(&table) {
                continue;
            }
            seen.push(table);
            let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
            let places = || (0..columns).map(move |column| Place { table, column });
            let year = places().find(|place| bare_year && self.schema.is_year(*place));
            let date = places()
                .filter(|place| self.schema.column(*place).is_some_and(|column| column.kind.is_time()))
                .min_by_key(|place| self.time_rank(*place));
            let text = places().find(|place| bare_year && self.schema.has_stem(*place, &["date", "year"]));
            if let Some(place) = year.or(date).or(text) {
                return Some(place);
            }
        }
        None
    }

    /// The time of the event itself comes before times of registration.
    pub(super) fn time_rank(&self, place: Place) -> usize {
        if self.schema.has_stem(place, &["updated", "modified", "signed", "launch", "birth", "restocked"]) {
            place.column + 100
        } else {
            place.column
        }
    }

    /// Can the column hold the number or time at a mark?
    pub(super) fn may_hold(&self, place: Place, at: usize) -> bool {
        let (Some(column), Some(mark)) = (self.schema.column(place), self.mark(at)) else { return false };
        if mark.values.iter().any(|link| link.place == place) {
            return true;
        }
        match column.kind {
            Kind::Integer | Kind::Number => mark.number.is_some(),
            Kind::Date | Kind::Timestamp => mark.time.is_some(),
            Kind::Text => {
                super::reader::numbers_as_text(column)
                    && (self.operator(at).is_some()
                        || !column.complete
                        || self.key(at.wrapping_sub(1)) == Some(Key::Between))
            }
            Kind::Boolean => false,
        }
    }

    /// Among the columns a mark may mean, one that can hold the number.
    pub(super) fn resolve_for(&self, choice: usize, at: usize) -> Option<Place> {
        let plain = self.resolve(choice)?;
        let mark = self.mark(at)?;
        if mark.values.iter().any(|link| link.place == plain) || mark.values.is_empty() {
            return Some(plain);
        }
        let best = self.mark(choice)?.column_quality();
        let holder = self.mark(choice)?.columns.iter().find(|link| {
            link.quality >= best - 0.3 && mark.values.iter().any(|value| value.place == link.place)
        });
        Some(holder.map_or(plain, |link| link.place))
    }

    /// A number or date as a literal that fits a column.
    pub(super) fn literal(&self, place: Place, at: usize) -> Option<Literal> {
        let (column, mark) = (self.schema.column(place)?, self.mark(at)?);
        if column.kind.is_time() {
            return mark.time.as_ref().map(|when| Literal::Date(when.from));
        }
        if let Some(link) = mark.values.iter().find(|link| link.place == place)
            && column.kind == Kind::Text
        {
            return Some(Literal::Text(link.text.clone()));
        }
        let number = mark.number?;
        match column.kind {
            Kind::Text => Some(Literal::Text(mark.text.replace(',', ""))),
            _ => Some(number_literal(number)),
        }
    }

    pub(super) fn comparison(&self, place: Place, compare: Compare, at: usize) -> Option<Condition> {
        let expr = self.expr(place);
        let column = self.schema.column(place)?;
        let mark = self.mark(at)?;
        if column.kind.is_time() {
            let when = mark.time.as_ref()?;
            let (from, to) = (Literal::Date(when.from), Literal::Date(when.to));
            return Some(match compare {
                Compare::Equal => Condition::Within(expr, from, to),
                Compare::NotEqual => Condition::Not(Box::new(Condition::Within(expr, from, to))),
                Compare::Greater => Condition::Compare(expr, Compare::GreaterOrEqual, Expr::Literal(to)),
                Compare::GreaterOrEqual => {
                    Condition::Compare(expr, Compare::GreaterOrEqual, Expr::Literal(from))
                }
                Compare::Less => Condition::Compare(expr, Compare::Less, Expr::Literal(from)),
                Compare::LessOrEqual => Condition::Compare(expr, Compare::Less, Expr::Literal(to)),
            });
        }
        // A year compared with a text column of dates: the year stands inside.
        if column.kind == Kind::Text
            && compare == Compare::Equal
            && mark.time.is_some()
            && !mark.values.iter().any(|link| link.place == place)
        {
            return Some(Condition::Like(expr, format!("%{}%", mark.text)));
        }
        Some(Condition::Compare(expr, compare, Expr::Literal(self.literal(place, at)?)))
    }

    pub(super) fn note_parameter(&mut self, place: Place, at: usize, compare: Compare) {
        let (Some(mark), Some(column)) = (self.mark(at), self.schema.column(place)) else { return };
        let name = if column.kind.is_time() || mark.time.is_some() && mark.number.is_none() {
            "time_range".to_owned()
        } else {
            column.label.clone()
        };
        let value = mark.time.as_ref().map_or_else(|| mark.text.clone(), steward_text::period::Period::words);
        let sign =
            if compare == Compare::Equal { String::new() } else { format!("{compare:?} ").to_lowercase() };
        let note = format!("“{}” compares {}", mark.text, column.label);
        let label = column.label.clone();
        self.parameters.push(super::Parameter { name, column: label, value: format!("{sign}{value}") });
        self.reasoning.push(note);
    }
}

/// A whole number where it is one.
pub(super) fn number_literal(number: f64) -> Literal {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        Literal::Int(number as i64)
    } else {
        Literal::Float(number)
    }
}

/// The date in a value, if it is one.
pub(crate) fn date_of(value: &Value) -> Option<chrono::NaiveDate> {
    match value {
        Value::Date(date) => Some(*date),
        Value::Time(time) => Some(time.date()),
        Value::Text(text) => text.get(..10).and_then(|text| text.parse().ok()),
        _ => None,
    }
}
