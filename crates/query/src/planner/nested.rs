//! Puts conditions together: "or", "not", "without", "both … and", "but not".
//!
//! The invariant: every condition that was found ends up in the sketch exactly once.

use crate::query::{Compare, Condition, Expr, Literal};

use super::joins;
use super::lexicon::Key;
use super::reader::{Found, Reader};
use super::sketch::Absent;

impl Reader<'_> {
    /// Settles negation, then joins the conditions.
    pub(super) fn conditions(&mut self) {
        self.found.sort_by_key(|found| found.at);
        self.negations();
        let found = std::mem::take(&mut self.found);
        let mut groups: Vec<Vec<Found>> = Vec::new();
        for item in &found {
            let apart =
                groups.last().and_then(|group| group.last()).is_none_or(|last| !self.alternative(last, item));
            match groups.last_mut().filter(|_| !apart) {
                Some(group) => group.push(item.clone()),
                None => groups.push(vec![item.clone()]),
            }
        }
        self.both(&mut groups);
        for group in groups {
            let condition = either(group);
            self.sketch.filters.push(condition);
        }
        self.found = found;
    }

    /// Do two neighbouring conditions stand for "one or the other"?
    pub(super) fn alternative(&self, last: &Found, item: &Found) -> bool {
        let between = || last.at + 1..item.at;
        let or = between().any(|place| self.key(place) == Some(Key::Or));
        let same = last.place == item.place;
        let clash =
            same && last.equal && item.equal && !last.negated && !item.negated && !self.partners(last);
        or || clash
            && !self.marks.iter().any(|mark| mark.key == Some(Key::Both))
            && between().all(|place| self.key(place).is_some())
    }

    /// May one thing asked for have several rows, so that "A and B" are two of them?
    pub(super) fn partners(&self, found: &Found) -> bool {
        let head = self.table_name(self.head);
        found.place.table != self.head
            && joins::fans_out(self.schema.catalogue, &head, &self.table_name(found.place.table))
    }

    /// "both A and B" of the same column: two sets of rows that share the answer.
    pub(super) fn both(&mut self, groups: &mut Vec<Vec<Found>>) {
        let said = self.marks.iter().any(|mark| mark.key == Some(Key::Both));
        for second in 1..groups.len() {
            let first = second - 1;
            let (Some([a]), Some([b])) =
                (groups.get(first).map(Vec::as_slice), groups.get(second).map(Vec::as_slice))
            else {
                continue;
            };
            let opposite = a.place == b.place
                && !a.negated
                && !b.negated
                && (a.equal && b.equal || contradict(&a.condition, &b.condition));
            if !opposite || !(said || (a.at..b.at).any(|place| self.key(place) == Some(Key::And))) {
                continue;
            }
            let (left, right) = (vec![a.condition.clone()], vec![b.condition.clone()]);
            groups.remove(second);
            groups.remove(first);
            self.sketch.both = Some((left, right));
            self.reasoning.push("both conditions hold, for different rows".to_owned());
            return;
        }
    }

    /// What "not", "without" and "except" turn round.
    pub(super) fn negations(&mut self) {
        for at in 0..self.marks.len() {
            let Some(key @ (Key::Not | Key::Without | Key::Except)) = self.key(at) else { continue };
            if self.mark(at).is_some_and(|mark| mark.used) {
                continue;
            }
            let end = self.scope_end(at);
            let entity = self.entity_before(at);
            let inside: Vec<usize> = (0..self.found.len())
                .filter(|place| self.found.get(*place).is_some_and(|found| (at..end).contains(&found.at)))
                .collect();
            let foreign_table = self
                .named
                .iter()
                .find(|(place, table)| (at..end).contains(place) && *table != entity)
                .map(|(_, table)| *table);
            let foreign_value = inside
                .iter()
                .filter_map(|place| self.found.get(*place))
                .map(|found| found.place.table)
                .find(|table| *table != entity);
            let many = |table: usize| {
                joins::fans_out(self.schema.catalogue, &self.table_name(entity), &self.table_name(table))
            };
            let direct = inside
                .iter()
                .filter_map(|place| self.found.get(*place))
                .any(|found| found.place.table == entity);
            let acted = if inside.is_empty() && foreign_table.is_none() {
                self.acted_table(at, end, entity)
            } else {
                None
            };
            match foreign_table.or(foreign_value).or(acted).filter(|table| !direct && many(*table)) {
                Some(table) => self.absent(at, end, entity, table, &inside),
                None if !inside.is_empty() => {
                    self.take(at);
                    let last =
                        if key == Key::Not { inside.first().copied().into_iter().collect() } else { inside };
                    for place in last {
                        if let Some(found) = self.found.get_mut(place) {
                            found.negated = true;
                            found.condition = negate(found.condition.clone());
                        }
                    }
                }
                None => {
                    if key != Key::Without {
                        self.doubt(0.7);
                    }
                }
            }
        }
    }

    /// "never bought anything": the table whose rows tell of the act.
    pub(super) fn acted_table(&self, at: usize, end: usize, entity: usize) -> Option<usize> {
        let name = self.table_name(entity);
        let many = |table: &usize| {
            *table != entity
                && joins::fans_out(self.schema.catalogue, &name, &self.table_name(*table))
                && joins::steps(self.schema.catalogue, &name, &self.table_name(*table)) == Some(1)
        };
        let verb = (at..end)
            .filter_map(|place| self.mark(place))
            .flat_map(|mark| mark.columns.iter())
            .map(|link| link.place.table)
            .find(many);
        let anything = (at..end).any(|place| {
            self.mark(place).is_some_and(|mark| {
                matches!(mark.text.to_lowercase().as_str(), "anything" | "any" | "nothing")
            })
        });
        let rows = |table: &usize| self.schema.table(*table).and_then(|table| table.rows).unwrap_or(0);
        verb.or_else(|| {
            (0..self.schema.tables.len()).filter(|table| anything && many(table)).max_by_key(rows)
        })
    }

    /// Where the reach of a negation ends.
    pub(super) fn scope_end(&self, at: usize) -> usize {
        for place in at + 1..self.marks.len() {
            match self.key(place) {
                Some(Key::But | Key::Who | Key::OrderBy | Key::HowMany) => return place,
                Some(Key::And) => {
                    let next = self.next(place, |_| false).and_then(|next| self.key(next));
                    if matches!(next, Some(Key::Ask | Key::HowMany | Key::Clause | Key::How(_) | Key::Is)) {
                        return place;
                    }
                }
                _ => {}
            }
        }
        self.marks.len()
    }

    pub(super) fn absent(&mut self, at: usize, end: usize, entity: usize, table: usize, inside: &[usize]) {
        let mut tables: Vec<usize> = self
            .named
            .iter()
            .filter(|(place, known)| (at..end).contains(place) && *known != entity)
            .map(|(_, table)| *table)
            .collect();
        tables.push(table);
        let mut conditions = Vec::new();
        for place in inside.iter().rev() {
            let found = self.found.remove(*place);
            tables.push(found.place.table);
            conditions.push(found.condition);
        }
        for place in at..end {
            if self.mark(place).is_some_and(|mark| mark.key.is_none()) || place == at {
                self.take(place);
            }
        }
        let mut names: Vec<String> = Vec::new();
        for table in tables {
            let name = self.table_name(table);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        // Tables that were only named to say what is missing do not join.
        self.named.retain(|(place, known)| !((at..end).contains(place) && *known != entity));
        self.reasoning.push(format!("looked for {} without {}", self.table_name(entity), names.join(", ")));
        let by_value = !self.named.iter().any(|(_, known)| *known == entity);
        self.sketch.absent.push(Absent {
            entity: self.table_name(entity),
            tables: names,
            conditions,
            by_value,
        });
    }
}

/// The opposite.
pub(super) fn negate(condition: Condition) -> Condition {
    match condition {
        Condition::Compare(left, Compare::Equal, right) => Condition::Compare(left, Compare::NotEqual, right),
        Condition::Compare(left, Compare::Greater, right) => {
            Condition::Compare(left, Compare::LessOrEqual, right)
        }
        Condition::Compare(left, Compare::Less, right) => {
            Condition::Compare(left, Compare::GreaterOrEqual, right)
        }
        other => Condition::Not(Box::new(other)),
    }
}

/// One of the conditions holds.
fn either(group: Vec<Found>) -> Condition {
    let same = group.first().is_some_and(|first| {
        group.iter().all(|found| found.place == first.place && found.equal && !found.negated)
    });
    if same && group.len() > 1 {
        let mut values: Vec<Literal> = Vec::new();
        let mut column = None;
        for found in &group {
            if let Condition::Compare(expr, Compare::Equal, Expr::Literal(value)) = &found.condition {
                column = Some(expr.clone());
                values.push(value.clone());
            }
        }
        if let Some(column) = column.filter(|_| values.len() == group.len()) {
            return Condition::In(column, values);
        }
    }
    let mut conditions: Vec<Condition> = group.into_iter().map(|found| found.condition).collect();
    if conditions.len() == 1 {
        conditions.pop().unwrap_or(Condition::All(Vec::new()))
    } else {
        Condition::Any(conditions)
    }
}

/// Can no single value fulfil both?
fn contradict(left: &Condition, right: &Condition) -> bool {
    let (Condition::Compare(_, first, Expr::Literal(a)), Condition::Compare(_, second, Expr::Literal(b))) =
        (left, right)
    else {
        return false;
    };
    let number = |literal: &Literal| match literal {
        Literal::Int(n) => Some(*n as f64),
        Literal::Float(n) => Some(*n),
        Literal::Text(text) => text.parse().ok(),
        Literal::Date(date) => Some(f64::from(chrono::Datelike::num_days_from_ce(date))),
        _ => None,
    };
    let (Some(a), Some(b)) = (number(a), number(b)) else { return false };
    let down = |compare: &Compare| matches!(compare, Compare::Less | Compare::LessOrEqual);
    let up = |compare: &Compare| matches!(compare, Compare::Greater | Compare::GreaterOrEqual);
    down(first) && up(second) && a <= b || up(first) && down(second) && a >= b
}
