//! Values that stand in the data, parts of text, and empty cells, as conditions.
//!
//! The invariant: a value belongs to one column, chosen by the words around it.

use crate::frame::Kind;
use crate::query::{Compare, Condition, Expr, Literal};

use super::filters::number_literal;
use super::lexicon::Key;
use super::link::ValueLink;
use super::reader::{Found, Reader};
use super::schema::Place;

impl Reader<'_> {
    /// Values that stand in the data.
    pub(super) fn values(&mut self) {
        for at in 0..self.marks.len() {
            let Some(mark) = self.mark(at) else { continue };
            if mark.used
                || mark.key.is_some()
                || mark.values.is_empty() && !mark.quoted
                || mark.number.is_some() && !mark.quoted
            {
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
            self.parameters.push(super::Parameter {
                name: label.clone(),
                column: label,
                value: link.text.clone(),
            });
            let rows = Some(link.count).filter(|_| !link.part);
            self.found.push(Found { at, place: link.place, condition, equal: true, negated: false, rows });
        }
    }

    /// Equal to the value, or to every value that the said part fits.
    pub(super) fn value_condition(&self, at: usize, link: &ValueLink, expr: Expr) -> Condition {
        let kind = self.schema.column(link.place).map_or(Kind::Text, |column| column.kind);
        if kind != Kind::Text
            && let Ok(number) = link.text.parse::<f64>()
        {
            return Condition::Compare(expr, Compare::Equal, Expr::Literal(number_literal(number)));
        }
        if kind == Kind::Boolean {
            return Condition::Compare(
                expr,
                Compare::Equal,
                Expr::Literal(Literal::Bool(link.text.eq_ignore_ascii_case("true") || link.text == "1")),
            );
        }
        let mut same: Vec<&ValueLink> = self
            .mark(at)
            .map(|mark| mark.values.iter().filter(|other| other.place == link.place).collect())
            .unwrap_or_default();
        same.dedup_by(|a, b| a.text == b.text);
        if link.part && same.len() > 1 {
            return Condition::In(expr, same.iter().map(|other| Literal::Text(other.text.clone())).collect());
        }
        Condition::Compare(expr, Compare::Equal, Expr::Literal(Literal::Text(link.text.clone())))
    }

    /// "containing 'x'", "starting with 'x'".
    pub(super) fn text_part(&mut self, at: usize) -> bool {
        let Some(before) = self.previous(at, |key| matches!(key, Key::Is | Key::Of)) else { return false };
        let Some(mark) = self.mark(at) else { return false };
        let text = mark.text.clone();
        let inside = mark.quoted
            && mark.values.is_empty()
            && self.mark(at + 1).is_some_and(|mark| mark.text.eq_ignore_ascii_case("in"))
            && self.next(at + 1, |_| false).is_some_and(|next| self.is_column(next));
        let pattern = match self.key(before) {
            _ if inside => format!("%{text}%"),
            Some(Key::Contains) => format!("%{text}%"),
            Some(Key::Starts) => format!("{text}%"),
            Some(Key::Ends) => format!("%{text}"),
            _ => return false,
        };
        let is_text = |reader: &Self, place: usize| {
            reader.resolve(place).filter(|column| {
                reader.schema.column(*column).is_some_and(|column| column.kind == Kind::Text)
            })
        };
        let earlier =
            (0..before).rev().find(|place| self.is_column(*place) && is_text(self, *place).is_some());
        let later = (at + 1..(at + 5).min(self.marks.len()))
            .find(|place| self.is_column(*place) && is_text(self, *place).is_some());
        let nearest = later.or(earlier);
        // "a song with 'x' in its title": the column that both nouns may mean.
        let shared = later.zip(earlier).and_then(|(later, earlier)| {
            let (later, earlier) = (self.mark(later)?, self.mark(earlier)?);
            later
                .columns
                .iter()
                .map(|link| link.place)
                .find(|place| earlier.columns.iter().any(|link| link.place == *place))
        });
        let Some(place) = shared
            .or(nearest.and_then(|place| is_text(self, place)))
            .or_else(|| self.schema.display(self.entity_before(at)))
        else {
            return false;
        };
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
    pub(super) fn unseen_value(&mut self, at: usize) {
        if !self.mark(at).is_some_and(|mark| mark.quoted) {
            return;
        }
        let near = self
            .previous(at, |key| matches!(key, Key::Is | Key::Of | Key::Not))
            .filter(|place| self.is_column(*place));
        let Some(place) = near.and_then(|place| self.resolve(place)) else { return };
        let text = self.mark(at).map(|mark| mark.text.clone()).unwrap_or_default();
        let condition =
            Condition::Compare(self.expr(place), Compare::Equal, Expr::Literal(Literal::Text(text)));
        self.found.push(Found { at, place, condition, equal: true, negated: false, rows: None });
        near.into_iter().for_each(|near| self.take(near));
        self.take(at);
        self.doubt(0.7);
    }

    /// Is a mark next to one that names the column? Gives that mark too.
    pub(super) fn beside(&self, at: usize, place: Place) -> (bool, Option<usize>) {
        let skip = |key: Key| {
            matches!(
                key,
                Key::Is | Key::Of | Key::Not | Key::Either | Key::Both | Key::Except | Key::Clause | Key::By
            )
        };
        let names = |near: &usize| {
            let best = self.mark(*near).map_or(0.0, super::link::Mark::column_quality);
            self.mark(*near).is_some_and(|mark| {
                !mark.used
                    && mark.key.is_none()
                    && mark.columns.iter().any(|link| link.place == place && link.quality >= best - 0.3)
            })
        };
        let before = self.previous(at, skip).filter(names);
        let after = self.next(at, |_| false).filter(names);
        let near = before.or(after);
        (near.is_some(), near)
    }

    /// Which column a value belongs to.
    pub(super) fn choose_value(&self, at: usize) -> Option<ValueLink> {
        let mark = self.mark(at)?;
        let best = mark.values.iter().map(|link| link.quality).fold(0.0, f32::max);
        let scored = mark
            .values
            .iter()
            .filter(|link| link.quality >= best - 0.2)
            .map(|link| (self.value_score(at, link), link));
        scored
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.place.cmp(&a.1.place)))
            .map(|(_, link)| link.clone())
    }

    pub(super) fn value_score(&self, at: usize, link: &ValueLink) -> f32 {
        let mut score = link.quality;
        let before = self.previous(at, |key| {
            matches!(
                key,
                Key::Is | Key::Of | Key::Not | Key::Either | Key::Both | Key::Except | Key::Clause | Key::By
            )
        });
        let after = self.next(at, |_| false);
        let quality = |near: Option<usize>| {
            let mark = near.and_then(|near| self.mark(near)).filter(|mark| mark.key.is_none())?;
            mark.columns.iter().find(|column| column.place == link.place).map(|column| column.quality)
        };
        score += quality(before).unwrap_or(0.0) * 1.0;
        score += quality(after).unwrap_or(0.0) * 0.9;
        let anywhere = (0..self.marks.len())
            .filter(|place| Some(*place) != before && Some(*place) != after && *place != at)
            .filter_map(|place| quality(Some(place)))
            .fold(0.0, f32::max);
        score += anywhere * 0.25;
        // "the Alton airport", "airline JetBlue": the value names the thing.
        let names = |near: Option<usize>| {
            near.is_some_and(|near| {
                self.is_table(near)
                    && self.schema.display(link.place.table) == Some(link.place)
                    && self.table_at(near) == Some(link.place.table)
            })
        };
        if names(before) || names(after.filter(|after| *after == at + 1)) {
            score += 0.3;
        }
        if self.names_table(link.place.table) {
            score += 0.15;
        }
        if link.place.table == self.head {
            score += 0.1;
        }
        if self.found.last().is_some_and(|found| {
            found.place == link.place
                && (found.at + 1..at).any(|place| matches!(self.key(place), Some(Key::Or | Key::And)))
        }) {
            score += 0.5;
        }
        // The text as it stands beats the same letters in another spelling.
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
            let near = [self.next(at, |_| false), self.previous(at, |key| matches!(key, Key::Is | Key::Of))]
                .into_iter()
                .flatten()
                .find(|place| self.is_column(*place));
            let Some(near) = near else { continue };
            let Some(place) = self.resolve(near) else { continue };
            let condition = Condition::IsNull(self.expr(place));
            self.found.push(Found { at, place, condition, equal: false, negated: false, rows: None });
            self.take(at);
            self.take(near);
        }
    }
}
