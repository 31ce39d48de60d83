//! Conditions: comparisons with numbers and times, values of columns, parts of text, empty cells.
//!
//! The invariant: each condition remembers the mark of its value, so that negation and "or" can be placed later.

use crate::frame::{Kind, Value};
use crate::query::{Aggregate, Compare, Condition, Expr, Item, Literal, Query};

use super::lexicon::{ANY, Hint, Key};
use super::link::ValueLink;
use super::reader::{Found, Reader};
use super::schema::Place;

impl Reader<'_> {
    /// "above average age", "weight smaller than the average": a comparison with an aggregate of the column itself.
    pub(super) fn against_average(&mut self) {
        for at in 0..self.marks.len() {
            let aggregate = match self.key(at) {
                Some(Key::Agg(aggregate @ (Aggregate::Average | Aggregate::Min | Aggregate::Max | Aggregate::Median))) => aggregate,
                Some(Key::Super(true, ANY)) => Aggregate::Max,
                Some(Key::Super(false, ANY)) => Aggregate::Min,
                _ => continue,
            };
            let Some(before) = self.previous(at, |key| matches!(key, Key::Than | Key::Of)) else { continue };
            let (compare, middle) = match self.key(before) {
                Some(Key::Cmp(compare, _)) => (compare, None),
                None if self.is_column(before) => {
                    let Some(Key::Cmp(compare, _)) = self.previous(before, |_| false).and_then(|at| self.key(at)) else { continue };
                    if self.key(before + 1) != Some(Key::Than) {
                        continue;
                    }
                    (compare, Some(before))
                }
                _ => continue,
            };
            let op = if middle.is_some() { self.previous(before, |_| false).unwrap_or(before) } else { before };
            let after = self.next(at, |_| false).filter(|next| self.is_column(*next));
            let earlier = self.previous(op, |key| matches!(key, Key::Is)).filter(|place| self.is_column(*place));
            let hint = if let Some(Key::Cmp(_, hint)) = self.key(op) { hint } else { ANY };
            let Some(place) = (middle.or(after).or(earlier).and_then(|place| self.resolve(place))).or_else(|| self.hinted(hint, op)) else { continue };
            let expr = self.expr(place);
            let table = self.table_name(place.table);
            let inner = Query {
                items: vec![Item { expr: Expr::Aggregate(aggregate, vec![expr.clone()]), name: "value".to_owned() }],
                table: table.clone(),
                alias: table,
                ..Query::default()
            };
            let condition = Condition::Compare(expr, compare, Expr::Scalar(Box::new(inner)));
            self.found.push(Found { at, place, condition, equal: false, negated: false, rows: None });
            let earlier = earlier.filter(|near| self.resolve(*near) == Some(place));
            for used in [Some(at), Some(op), middle, after, earlier].into_iter().flatten() {
                self.take(used);
            }
            let label = self.label(place);
            self.reasoning.push(format!("compared {label} with its own {aggregate:?} over all rows").to_lowercase());
        }
    }

    /// Numbers and times with a comparison or next to a column.
    pub(super) fn comparisons(&mut self) {
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at) else { continue };
            if mark.used || mark.quoted || mark.number.is_none() && mark.time.is_none() || !mark.columns.is_empty() && mark.number.is_none() {
                continue;
            }
            if self.between(at) || self.compared(at) {
                continue;
            }
        }
    }

    /// "stock below reorder level": two columns compared.
    pub(super) fn column_pairs(&mut self) {
        for at in 0..self.marks.len() {
            let Some(Key::Cmp(compare, _)) = self.key(at).filter(|_| !self.mark(at).is_some_and(|mark| mark.used)) else { continue };
            let before = self.previous(at, |key| matches!(key, Key::Is | Key::Clause)).filter(|place| self.is_column(*place) && !self.mark(*place).is_some_and(|mark| mark.used));
            let after = self.next(at, |key| matches!(key, Key::Than | Key::Of)).filter(|place| self.is_column(*place) && !self.mark(*place).is_some_and(|mark| mark.used));
            let numbered = self.next(at, |key| matches!(key, Key::Than | Key::Of | Key::Is)).is_none_or(|place| self.mark(place).is_some_and(|mark| mark.number.is_some()));
            let (Some(before), Some(after), false) = (before, after, numbered) else { continue };
            let later = (after + 1..(after + 4).min(self.marks.len())).any(|place| self.mark(place).is_some_and(|mark| mark.number.is_some()));
            let (Some(left), Some(right)) = (self.resolve(before), self.resolve(after)) else { continue };
            if later || left == right || !self.schema.is_measure(left) || !self.schema.is_measure(right) {
                continue;
            }
            let condition = Condition::Compare(self.expr(left), compare, self.expr(right));
            self.found.push(Found { at, place: left, condition, equal: false, negated: false, rows: None });
            [before, at, after].into_iter().for_each(|used| self.take(used));
        }
    }

    /// "between 5 and 10", "from 5 to 10".
    fn between(&mut self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let opened = self.key(before) == Some(Key::Between) || self.mark(before).is_some_and(|mark| mark.text.eq_ignore_ascii_case("from"));
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
                    (Literal::Date(_), Some(when)) => Condition::Compare(expr.clone(), Compare::Less, Expr::Literal(Literal::Date(when.to))),
                    _ => Condition::Compare(expr.clone(), Compare::LessOrEqual, Expr::Literal(high)),
                };
                Condition::All(vec![Condition::Compare(expr, Compare::GreaterOrEqual, Expr::Literal(low)), upper])
            }
            _ => return false,
        };
        self.found.push(Found { at, place, condition, equal: false, negated: false, rows: None });
        [before, at, at + 2].into_iter().for_each(|used| self.take(used));
        true
    }

    /// The comparison that belongs to a number: where it stands and what it says.
    fn operator(&self, at: usize) -> Option<(usize, Compare, Hint)> {
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

    fn compared(&mut self, at: usize) -> bool {
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
        let Some(place) = chained.or_else(|| self.compared_column(at, start, None, hint, explicit)) else { return false };
        let Some(condition) = self.comparison(place, compare, at) else { return false };
        if operator.is_some() {
            self.take(start);
        }
        self.take(at);
        let rows = self.mark(at).and_then(|mark| mark.values.iter().find(|link| link.place == place)).map(|link| link.count).filter(|_| compare == Compare::Equal);
        self.found.push(Found { at, place, condition, equal: compare == Compare::Equal, negated: false, rows });
        self.note_parameter(place, at, compare);
        true
    }

    /// "at least 3 pets": a count of rows of a table that the thing asked for has.
    fn having(&mut self, at: usize, start: usize, compare: Compare, explicit: bool) -> bool {
        let Some(number) = self.mark(at).and_then(|mark| mark.number).filter(|_| explicit || self.key(start.wrapping_sub(1)) == Some(Key::Is)) else { return false };
        if matches!(self.mark(at).map(|mark| mark.text.to_lowercase()).as_deref(), Some("once" | "twice")) {
            return self.having_times(at, start, compare, number);
        }
        let Some(next) = self.next(at, |key| matches!(key, Key::Distinct | Key::OrMore | Key::OrLess)) else { return false };
        // "3 car models": the last of two nouns is what is counted.
        let next = if self.is_table(next) && self.is_table(next + 1) { next + 1 } else { next };
        let owner = self.resolve(next).filter(|place| self.is_column(next) && !self.schema.is_measure(*place) && self.schema.tables.len() > 1).map(|place| place.table);
        let owner = owner.filter(|owner| *owner != self.entity_before(start) && super::joins::fans_out(self.schema.catalogue, &self.table_name(self.entity_before(start)), &self.table_name(*owner)));
        if !self.is_table(next) && owner.is_none() {
            return false;
        }
        let Some(counted) = owner.filter(|_| !self.is_table(next)).or_else(|| self.table_at(next)) else { return false };
        let before = self.named.iter().rev().find(|(place, _)| *place < start).map(|(_, table)| *table);
        let group_column = (0..start).rev().find(|place| self.is_column(*place) && !self.mark(*place).is_some_and(|mark| mark.used));
        let mut entity = before.unwrap_or(self.head);
        if entity == counted {
            // "cities with more than 2 shops": the column is the group.
            let Some(place) = group_column.and_then(|place| self.resolve(place)).filter(|place| place.table == counted) else { return false };
            let group = self.expr(place);
            self.sketch.groups.push(group);
            entity = counted;
        } else {
            let name = self.table_name(entity);
            if !self.sketch.entities.contains(&name) {
                self.sketch.entities.push(name);
            }
        }
        let name = self.table_name(counted);
        if counted != entity && !self.sketch.also.contains(&name) {
            self.sketch.also.push(name.clone());
        }
        let counting = Expr::Aggregate(Aggregate::Count, vec![Expr::Star]);
        self.sketch.having.push(Condition::Compare(counting, compare, Expr::Literal(number_literal(number))));
        self.reasoning.push(format!("counted rows of {name} for each one and compared the count with {number}"));
        [start, at, next].into_iter().for_each(|used| self.take(used));
        true
    }

    /// "visited more than once": rows of the table that the verb names.
    fn having_times(&mut self, at: usize, start: usize, compare: Compare, number: f64) -> bool {
        let Some(entity) = self.named.first().map(|(_, table)| *table) else { return false };
        let acted = self.named.iter().map(|(_, table)| *table).find(|table| *table != entity);
        let (entity, also) = (self.table_name(entity), acted.map(|table| self.table_name(table)));
        self.sketch.entities.push(entity);
        self.sketch.also.extend(also);
        let counting = Expr::Aggregate(Aggregate::Count, vec![Expr::Star]);
        self.sketch.having.push(Condition::Compare(counting, compare, Expr::Literal(number_literal(number))));
        self.take(start);
        self.take(at);
        true
    }

    fn chained(&self, at: usize) -> Option<Place> {
        let joint = at.checked_sub(1)?;
        if !matches!(self.key(joint), Some(Key::Or | Key::And)) {
            return None;
        }
        let next_is_own = self.next(at, |_| false).is_some_and(|next| self.is_column(next)) && self.key(at + 1).is_none();
        let last = self.found.last().filter(|found| found.at + 1 == joint && !next_is_own)?;
        let elsewhere = self.mark(at).is_some_and(|mark| !mark.values.is_empty() && !mark.values.iter().any(|link| link.place == last.place));
        Some(last.place).filter(|_| !elsewhere)
    }

    /// The column that a number is compared with.
    fn compared_column(&mut self, at: usize, start: usize, end: Option<usize>, hint: Hint, explicit: bool) -> Option<Place> {
        let when = self.mark(at).and_then(|mark| mark.time.clone());
        let inside = (start + 1..at).find(|place| self.is_column(*place) && self.mark(*place).is_some_and(|mark| !mark.used));
        if let Some(place) = inside {
            // "founded after the year 2008": the column that both words may mean.
            let verb = self.previous(start, |key| matches!(key, Key::Is)).and_then(|before| self.mark(before)).filter(|mark| mark.key.is_none());
            let shared = verb.zip(self.mark(place)).and_then(|(verb, year)| verb.columns.iter().map(|link| link.place).find(|known| year.columns.iter().any(|link| link.place == *known)));
            let column = shared.or_else(|| self.resolve(place))?;
            if shared.is_some()
                && let Some(before) = self.previous(start, |key| matches!(key, Key::Is))
            {
                self.take(before);
            }
            self.take(place);
            return Some(column);
        }
        let skip = |key: Key| matches!(key, Key::Is | Key::Of | Key::Everything | Key::Clause | Key::Not | Key::Both | Key::Either);
        let before = self.previous(start, skip).filter(|place| self.is_column(*place) && start - place <= 4 && self.mark(*place).is_some_and(|mark| !mark.used));
        let next = self.next(end.unwrap_or(at), |key| key == Key::Is && before.is_none());
        let after = next.filter(|place| self.is_column(*place) && self.mark(*place).is_some_and(|mark| !mark.used));
        let holds = |reader: &Self, place: Option<usize>| place.and_then(|place| reader.resolve(place)).is_some_and(|column| reader.may_hold(column, at));
        let choice = match (before, after) {
            (Some(before), Some(after)) => {
                let separated = (before + 1..at).any(|place| matches!(self.key(place), Some(Key::And)));
                let (left, right) = (holds(self, Some(before)), holds(self, Some(after)));
                let adjacent = start - before <= 1;
                if left && !separated && (adjacent || !right) { Some(before) } else if right { Some(after) } else { Some(before).filter(|_| left) }
            }
            (before, after) => before.filter(|_| holds(self, before)).or(after.filter(|_| holds(self, after))),
        };
        if let Some(choice) = choice {
            let column = self.resolve_for(choice, at)?;
            let shared = Some(choice) == before && (at..self.marks.len()).any(|_| false);
            if !shared {
                self.take(choice);
            }
            return Some(column);
        }
        if self.mark(at + 1).is_some_and(|mark| mark.text.starts_with("year")) && self.mark(at + 2).is_some_and(|mark| mark.text == "old") {
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
    fn by_value(&self, at: usize, explicit: bool) -> Option<Place> {
        let mark = self.mark(at)?;
        let number = mark.number?;
        if explicit {
            let table = self.entity_before(at);
            let columns = self.schema.table(table).map_or(0, |table| table.columns.len());
            let mut measures = (0..columns).map(|column| Place { table, column }).filter(|place| self.schema.is_measure(*place) && self.in_range(*place, number));
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
        mark.values.iter().filter(|link| !link.part).map(|link| (score(link.place), link.place)).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, place)| place)
    }

    /// Is the column named somewhere else in the question?
    fn asked_elsewhere(&self, place: Place) -> bool {
        self.marks.iter().any(|mark| !mark.used && mark.key.is_none() && mark.columns.iter().any(|link| link.place == place && link.quality > 0.9))
    }

    fn in_range(&self, place: Place, number: f64) -> bool {
        let Some(column) = self.schema.column(place) else { return false };
        match (column.min.number(), column.max.number()) {
            (Some(low), Some(high)) => number >= low - (high - low) && number <= high + (high - low),
            _ => true,
        }
    }

    /// The column of times that a date or year is compared with.
    pub(super) fn time_column(&self, at: usize) -> Option<Place> {
        let tables = [self.entity_before(at), self.head].into_iter().chain(self.named.iter().map(|(_, table)| *table)).chain(0..self.schema.tables.len());
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
            let date = places().filter(|place| self.schema.column(*place).is_some_and(|column| column.kind.is_time())).min_by_key(|place| self.time_rank(*place));
            let text = places().find(|place| bare_year && self.schema.has_stem(*place, &["date", "year"]));
            if let Some(place) = year.or(date).or(text) {
                return Some(place);
            }
        }
        None
    }

    /// The time of the event itself comes before times of registration.
    pub(super) fn time_rank(&self, place: Place) -> usize {
        if self.schema.has_stem(place, &["updated", "modified", "signed", "launch", "birth", "restocked"]) { place.column + 100 } else { place.column }
    }

    /// Can the column hold the number or time at a mark?
    fn may_hold(&self, place: Place, at: usize) -> bool {
        let (Some(column), Some(mark)) = (self.schema.column(place), self.mark(at)) else { return false };
        if mark.values.iter().any(|link| link.place == place) {
            return true;
        }
        match column.kind {
            Kind::Integer | Kind::Number => mark.number.is_some(),
            Kind::Date | Kind::Timestamp => mark.time.is_some(),
            Kind::Text => super::reader::numbers_as_text(column) && (self.operator(at).is_some() || !column.complete || self.key(at.wrapping_sub(1)) == Some(Key::Between)),
            Kind::Boolean => false,
        }
    }

    /// Among the columns a mark may mean, one that can hold the number.
    fn resolve_for(&self, choice: usize, at: usize) -> Option<Place> {
        let plain = self.resolve(choice)?;
        let mark = self.mark(at)?;
        if mark.values.iter().any(|link| link.place == plain) || mark.values.is_empty() {
            return Some(plain);
        }
        let best = self.mark(choice)?.column_quality();
        let holder = self.mark(choice)?.columns.iter().find(|link| link.quality >= best - 0.3 && mark.values.iter().any(|value| value.place == link.place));
        Some(holder.map_or(plain, |link| link.place))
    }

    /// A number or date as a literal that fits a column.
    fn literal(&self, place: Place, at: usize) -> Option<Literal> {
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

    fn comparison(&self, place: Place, compare: Compare, at: usize) -> Option<Condition> {
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
                Compare::GreaterOrEqual => Condition::Compare(expr, Compare::GreaterOrEqual, Expr::Literal(from)),
                Compare::Less => Condition::Compare(expr, Compare::Less, Expr::Literal(from)),
                Compare::LessOrEqual => Condition::Compare(expr, Compare::Less, Expr::Literal(to)),
            });
        }
        // A year compared with a text column of dates: the year stands inside.
        if column.kind == Kind::Text && compare == Compare::Equal && mark.time.is_some() && !mark.values.iter().any(|link| link.place == place) {
            return Some(Condition::Like(expr, format!("%{}%", mark.text)));
        }
        Some(Condition::Compare(expr, compare, Expr::Literal(self.literal(place, at)?)))
    }

    fn note_parameter(&mut self, place: Place, at: usize, compare: Compare) {
        let (Some(mark), Some(column)) = (self.mark(at), self.schema.column(place)) else { return };
        let name = if column.kind.is_time() || mark.time.is_some() && mark.number.is_none() { "time_range".to_owned() } else { column.label.clone() };
        let value = mark.time.as_ref().map_or_else(|| mark.text.clone(), super::time::When::words);
        let sign = if compare == Compare::Equal { String::new() } else { format!("{compare:?} ").to_lowercase() };
        let note = format!("“{}” compares {}", mark.text, column.label);
        let label = column.label.clone();
        self.parameters.push(super::Parameter { name, column: label, value: format!("{sign}{value}") });
        self.reasoning.push(note);
    }

    /// Values that stand in the data.
    pub(super) fn values(&mut self) {
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at) else { continue };
            if mark.used || mark.key.is_some() || mark.values.is_empty() && !mark.quoted || mark.number.is_some() && !mark.quoted {
                continue;
            }
            if self.text_part(at) {
                continue;
            }
            let Some(mark) = self.mark(at) else { continue };
            let noun = mark.column_quality().max(mark.table_quality()) >= 0.9 && !mark.quoted;
            let Some(link) = self.choose_value(at) else {
                self.unseen_value(at);
                continue;
            };
            if noun && !self.beside(at, link.place).0 {
                continue;
            }
            let expr = self.expr(link.place);
            let condition = self.value_condition(at, &link, expr);
            let (_, neighbour) = self.beside(at, link.place);
            if let Some(neighbour) = neighbour {
                self.take(neighbour);
            }
            self.take(at);
            if link.part {
                self.doubt(0.85);
            }
            let label = self.label(link.place);
            let said = self.mark(at).map(|mark| mark.text.clone()).unwrap_or_default();
            self.reasoning.push(format!("“{said}” is a value of {label}"));
            self.parameters.push(super::Parameter { name: label.clone(), column: label, value: link.text.clone() });
            let rows = Some(link.count).filter(|_| !link.part);
            self.found.push(Found { at, place: link.place, condition, equal: true, negated: false, rows });
        }
    }

    /// Equal to the value, or to every value that the said part fits.
    fn value_condition(&self, at: usize, link: &ValueLink, expr: Expr) -> Condition {
        let kind = self.schema.column(link.place).map_or(Kind::Text, |column| column.kind);
        if kind != Kind::Text
            && let Ok(number) = link.text.parse::<f64>()
        {
            return Condition::Compare(expr, Compare::Equal, Expr::Literal(number_literal(number)));
        }
        if kind == Kind::Boolean {
            return Condition::Compare(expr, Compare::Equal, Expr::Literal(Literal::Bool(link.text.eq_ignore_ascii_case("true") || link.text == "1")));
        }
        let mut same: Vec<&ValueLink> = self.mark(at).map(|mark| mark.values.iter().filter(|other| other.place == link.place).collect()).unwrap_or_default();
        same.dedup_by(|a, b| a.text == b.text);
        if link.part && same.len() > 1 {
            return Condition::In(expr, same.iter().map(|other| Literal::Text(other.text.clone())).collect());
        }
        Condition::Compare(expr, Compare::Equal, Expr::Literal(Literal::Text(link.text.clone())))
    }

    /// "containing 'x'", "starting with 'x'".
    fn text_part(&mut self, at: usize) -> bool {
        let Some(before) = self.previous(at, |key| matches!(key, Key::Is | Key::Of)) else { return false };
        let Some(mark) = self.mark(at) else { return false };
        let text = mark.text.replace(' ', " ");
        let inside = mark.quoted && mark.values.is_empty() && self.mark(at + 1).is_some_and(|mark| mark.text.eq_ignore_ascii_case("in")) && self.next(at + 1, |_| false).is_some_and(|next| self.is_column(next));
        let pattern = match self.key(before) {
            _ if inside => format!("%{text}%"),
            Some(Key::Contains) => format!("%{text}%"),
            Some(Key::Starts) => format!("{text}%"),
            Some(Key::Ends) => format!("%{text}"),
            _ => return false,
        };
        let is_text = |reader: &Self, place: usize| reader.resolve(place).filter(|column| reader.schema.column(*column).is_some_and(|column| column.kind == Kind::Text));
        let earlier = (0..before).rev().find(|place| self.is_column(*place) && is_text(self, *place).is_some());
        let later = (at + 1..(at + 5).min(self.marks.len())).find(|place| self.is_column(*place) && is_text(self, *place).is_some());
        let nearest = later.or(earlier);
        // "a song with 'x' in its title": the column that both nouns may mean.
        let shared = later.zip(earlier).and_then(|(later, earlier)| {
            let (later, earlier) = (self.mark(later)?, self.mark(earlier)?);
            later.columns.iter().map(|link| link.place).find(|place| earlier.columns.iter().any(|link| link.place == *place))
        });
        let Some(place) = shared.or(nearest.and_then(|place| is_text(self, place))).or_else(|| self.schema.display(self.entity_before(at))) else { return false };
        if let Some(nearest) = nearest.filter(|place| Some(*place) == later || before - place <= 3) {
            self.take(nearest);
        }
        let condition = Condition::Like(self.expr(place), pattern);
        self.found.push(Found { at, place, condition, equal: false, negated: false, rows: None });
        self.take(before);
        self.take(at);
        true
    }

    /// A quoted text that no column is known to hold.
    fn unseen_value(&mut self, at: usize) {
        if !self.mark(at).is_some_and(|mark| mark.quoted) {
            return;
        }
        let near = self.previous(at, |key| matches!(key, Key::Is | Key::Of | Key::Not)).filter(|place| self.is_column(*place));
        let Some(place) = near.and_then(|place| self.resolve(place)) else { return };
        let text = self.mark(at).map(|mark| mark.text.clone()).unwrap_or_default();
        let condition = Condition::Compare(self.expr(place), Compare::Equal, Expr::Literal(Literal::Text(text)));
        self.found.push(Found { at, place, condition, equal: true, negated: false, rows: None });
        near.into_iter().for_each(|near| self.take(near));
        self.take(at);
        self.doubt(0.7);
    }

    /// Is a mark next to one that names the column? Gives that mark too.
    fn beside(&self, at: usize, place: Place) -> (bool, Option<usize>) {
        let skip = |key: Key| matches!(key, Key::Is | Key::Of | Key::Not | Key::Either | Key::Both | Key::Except | Key::Clause | Key::By);
        let names = |near: &usize| {
            let best = self.mark(*near).map_or(0.0, super::link::Mark::column_quality);
            self.mark(*near).is_some_and(|mark| !mark.used && mark.key.is_none() && mark.columns.iter().any(|link| link.place == place && link.quality >= best - 0.3))
        };
        let before = self.previous(at, skip).filter(names);
        let after = self.next(at, |_| false).filter(names);
        let near = before.or(after);
        (near.is_some(), near)
    }

    /// Which column a value belongs to.
    fn choose_value(&self, at: usize) -> Option<ValueLink> {
        let mark = self.mark(at)?;
        let best = mark.values.iter().map(|link| link.quality).fold(0.0, f32::max);
        let scored = mark.values.iter().filter(|link| link.quality >= best - 0.2).map(|link| (self.value_score(at, link), link));
        scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.place.cmp(&a.1.place))).map(|(_, link)| link.clone())
    }

    fn value_score(&self, at: usize, link: &ValueLink) -> f32 {
        let mut score = link.quality;
        let before = self.previous(at, |key| matches!(key, Key::Is | Key::Of | Key::Not | Key::Either | Key::Both | Key::Except | Key::Clause | Key::By));
        let after = self.next(at, |_| false);
        let quality = |near: Option<usize>| {
            let mark = near.and_then(|near| self.mark(near)).filter(|mark| mark.key.is_none())?;
            mark.columns.iter().find(|column| column.place == link.place).map(|column| column.quality)
        };
        score += quality(before).unwrap_or(0.0) * 1.0;
        score += quality(after).unwrap_or(0.0) * 0.9;
        let anywhere = (0..self.marks.len()).filter(|place| Some(*place) != before && Some(*place) != after && *place != at).filter_map(|place| quality(Some(place))).fold(0.0, f32::max);
        score += anywhere * 0.25;
        // "the Alton airport", "airline JetBlue": the value names the thing.
        let names = |near: Option<usize>| near.is_some_and(|near| self.is_table(near) && self.schema.display(link.place.table) == Some(link.place) && self.table_at(near) == Some(link.place.table));
        if names(before) || names(after.filter(|after| *after == at + 1)) {
            score += 0.3;
        }
        if self.names_table(link.place.table) {
            score += 0.15;
        }
        if link.place.table == self.head {
            score += 0.1;
        }
        if self.found.last().is_some_and(|found| found.place == link.place && (found.at + 1..at).any(|place| matches!(self.key(place), Some(Key::Or | Key::And)))) {
            score += 0.5;
        }
        // The text as it stands beats the same letters in other dress.
        if self.mark(at).is_some_and(|mark| mark.text.eq_ignore_ascii_case(&link.text)) {
            score += 0.05;
        }
        score
    }

    /// "missing", "is empty", "no amount recorded".
    pub(super) fn empty_cells(&mut self) {
        for at in 0..self.marks.len() {
            if self.key(at) != Some(Key::Null) {
                continue;
            }
            let near = [self.next(at, |_| false), self.previous(at, |key| matches!(key, Key::Is | Key::Of))].into_iter().flatten().find(|place| self.is_column(*place));
            let Some(near) = near else { continue };
            let Some(place) = self.resolve(near) else { continue };
            let condition = Condition::IsNull(self.expr(place));
            self.found.push(Found { at, place, condition, equal: false, negated: false, rows: None });
            self.take(at);
            self.take(near);
        }
    }
}

/// A whole number where it is one.
pub(super) fn number_literal(number: f64) -> Literal {
    if number.fract() == 0.0 && number.abs() < 9e15 { Literal::Int(number as i64) } else { Literal::Float(number) }
}

/// The date in a value, if it is one.
pub(super) fn date_of(value: &Value) -> Option<chrono::NaiveDate> {
    match value {
        Value::Date(date) => Some(*date),
        Value::Time(time) => Some(time.date()),
        Value::Text(text) => text.get(..10).and_then(|text| text.parse().ok()),
        _ => None,
    }
}
