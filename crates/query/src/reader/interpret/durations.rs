//! Time between two moments of a row: "days from booking to sailing".

use super::super::form::{Measure, Scalar, TimeUnit};
use super::super::lexicon::Operator;
use super::super::link::{ColumnRef, Mark};
use super::Interpreter;
use crate::query::Aggregate;
use crate::roles::Role;

impl Interpreter<'_> {
    /// "time between order and shipping", "trip duration in minutes": the time between two moments.
    pub(super) fn duration(&mut self, at: usize) -> Option<Scalar> {
        const WORDS: [&str; 8] = ["time", "days", "delay", "duration", "long", "hours", "minutes", "length"];
        let said = |reader: &Self, at: usize| WORDS.contains(&reader.text(at).as_str());
        let near = (at + 1..self.marks.len()).take(4).any(|at| said(self, at));
        if !near {
            return None;
        }
        let mut times: Vec<(usize, ColumnRef)> = Vec::new();
        for later in at..self.marks.len() {
            let options = self
                .mark(later)?
                .columns
                .iter()
                .filter(|(place, quality)| *quality >= 0.3 && self.schema.role(*place) == Role::Time);
            let best = options.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| *place);
            let best = best.or_else(|| self.time_by_root(later));
            if let Some(place) = best.filter(|place| !times.iter().any(|(_, known)| known == place)) {
                times.push((later, place));
            }
        }
        let (from, to) = match times.as_slice() {
            [(_, from), (_, to), ..] => (*from, *to),
            // One end is named; the other is the first time of the same table.
            [(_, one)] if !self.duration_named(at) => {
                let mut others = self
                    .schema
                    .places()
                    .filter(|(place, role)| *role == Role::Time && place.table == one.table && place != one);
                (others.next()?.0, *one)
            }
            _ => {
                let mut all = self
                    .schema
                    .places()
                    .filter(|(place, role)| *role == Role::Time && place.table == self.form.table);
                let (Some((from, _)), Some((to, _)), None) = (all.next(), all.next(), all.next()) else {
                    return None;
                };
                (from, to)
            }
        };
        let (from, to) = self.in_time_order(from, to);
        times.iter().take(2).for_each(|(at, _)| self.take(*at));
        let all: Vec<String> = (0..self.marks.len()).map(|at| self.text(at)).collect();
        let days = self.schema.column(from).is_some_and(|column| column.kind == crate::frame::Kind::Date);
        let unit = match () {
            () if all.iter().any(|word| word == "minutes") => TimeUnit::Minutes,
            () if all.iter().any(|word| word == "hours") => TimeUnit::Hours,
            () if days || all.iter().any(|word| word == "days") => TimeUnit::Days,
            () => TimeUnit::Minutes,
        };
        for later in at..self.marks.len() {
            if said(self, later)
                || matches!(self.text(later).as_str(), "between" | "and" | "from" | "to" | "after" | "until")
            {
                self.take(later);
            }
        }
        // The noun between the aggregate and "duration" is what lasts.
        let noun = self.next(at).filter(|next| self.mark(*next).is_some_and(Mark::is_unknown));
        noun.into_iter().for_each(|noun| self.take(noun));
        Some(Scalar::Elapsed(from, to, unit))
    }

    /// The time whose name begins like a word that nothing else explains: `resolved_at` for
    /// "resolution".
    pub(super) fn time_by_root(&self, at: usize) -> Option<ColumnRef> {
        let mark = self.mark(at).filter(|mark| mark.is_unknown())?;
        let word = mark.text.to_lowercase();
        let shared = |label: &str| {
            label
                .to_lowercase()
                .split(|c: char| !c.is_alphanumeric())
                .map(|part| part.chars().zip(word.chars()).take_while(|(a, b)| a == b).count())
                .max()
                .unwrap_or_default()
        };
        let times = self.schema.places().filter(|(_, role)| *role == Role::Time);
        times
            .map(|(place, _)| (shared(&self.label(place)), place))
            .filter(|(shared, _)| *shared >= 5)
            .max_by_key(|(shared, _)| *shared)
            .map(|(_, place)| place)
    }

    /// Whether a number is called so: "waiting time" of a column of minutes.
    pub(super) fn duration_named(&self, at: usize) -> bool {
        self.next(at).is_some_and(|next| self.is_numeric(next))
    }

    /// The earlier of two columns of times first.
    pub(super) fn in_time_order(&self, from: ColumnRef, to: ColumnRef) -> (ColumnRef, ColumnRef) {
        use crate::frame::Value;
        let moment = |value: &Value| match value {
            Value::Date(day) => day.and_hms_opt(0, 0, 0),
            Value::Time(moment) => Some(*moment),
            _ => None,
        };
        let ends = |place: ColumnRef| {
            let column = self.schema.column(place)?;
            moment(&column.min).zip(moment(&column.max))
        };
        let swaps = match ends(from).zip(ends(to)) {
            Some((first, second)) if first != second => second < first,
            _ => from.table == to.table && to.column < from.column,
        };
        if swaps { (to, from) } else { (from, to) }
    }

    /// "how many days from listing to sale": time, not things.
    pub(super) fn elapsed_count(&mut self, at: usize, next: usize) -> bool {
        let unit = matches!(self.text(next).as_str(), "days" | "hours" | "minutes" | "weeks");
        let cue = (0..self.marks.len()).any(|at| {
            matches!(
                self.text(at).as_str(),
                "between"
                    | "from"
                    | "take"
                    | "takes"
                    | "took"
                    | "until"
                    | "pass"
                    | "elapse"
                    | "lie"
                    | "take on"
            )
        });
        if !unit || !cue {
            return false;
        }
        let said = |word: &str| (0..self.marks.len()).any(|at| self.text(at).split(' ').any(|w| w == word));
        if said("first") && said("last") {
            let Some(time) = self.time_column() else { return false };
            for at in 0..self.marks.len() {
                if matches!(self.text(at).as_str(), "first" | "last" | "between" | "days" | "lie") {
                    self.take(at);
                }
            }
            self.form.measures.push(Measure::Span(time, TimeUnit::Days));
            return true;
        }
        let Some(scalar) = self.duration(at) else { return false };
        for at in 0..self.marks.len() {
            if matches!(self.text(at).as_str(), "pass" | "take" | "takes" | "took" | "lie") {
                self.take(at);
            }
        }
        let average = (0..self.marks.len())
            .find(|at| matches!(self.mark(*at).and_then(|mark| mark.operator), Some(Operator::Aggregate(_))));
        let aggregate = match average.and_then(|average| self.mark(average)?.operator) {
            Some(Operator::Aggregate(aggregate)) => aggregate,
            _ => Aggregate::Average,
        };
        average.into_iter().for_each(|average| self.take(average));
        self.pending = None;
        self.form.measures.push(Measure::Of(aggregate, scalar));
        true
    }
}
