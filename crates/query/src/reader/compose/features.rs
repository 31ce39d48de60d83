//! What speaks for a form and against it: how each part is said, and what the question says that no
//! part stands for.
//!
//! A feature is a name with a number. Names are made of what a part is, its role and its company,
//! never of a word or a column.

use super::super::form::{Filter, Form, Group, Measure, OrderKey, Scalar};
use super::super::lexicon::Operator;
use super::super::link::{ColumnRef, Mark, Schema};
use super::mentions::{Before, Behind, Mention, is_extreme};
use super::search::{Search, is_condition};
use crate::query::{Aggregate, Compare};
use crate::roles::Role;

/// Features of one form.
pub(super) type Features = Vec<(String, f32)>;

/// What a question says, found once for all its forms.
pub(super) struct Said {
    group: bool,
    time: bool,
    trend: bool,
    aggregate: bool,
    count: bool,
    how_much: bool,
    extreme: bool,
    share: bool,
    rate: bool,
    each: bool,
    ask: &'static str,
    aggregates: Vec<Aggregate>,
    extremes: Vec<(bool, Option<u64>)>,
    distinct: bool,
    numbers: bool,
    single: bool,
    people: Vec<ColumnRef>,
    places: Vec<ColumnRef>,
}

impl Said {
    pub(super) fn new(search: &Search) -> Self {
        let says = |wanted: fn(Operator) -> bool| search.says(wanted);
        let ask = (search.marks.iter())
            .find_map(|mark| match mark.operator? {
                Operator::Which if mark.text.to_lowercase().starts_with("who") => Some("who"),
                Operator::Which if mark.text.to_lowercase().starts_with("when") => Some("when"),
                Operator::Which if mark.text.to_lowercase().starts_with("where") => Some("where"),
                Operator::Which if mark.text.to_lowercase().starts_with("which") => Some("which"),
                Operator::Which => Some("what"),
                Operator::Show => Some("show"),
                Operator::Count => Some("count"),
                Operator::HowMuch => Some("amount"),
                _ => None,
            })
            .unwrap_or("none");
        Self {
            group: says(|operator| matches!(operator, Operator::Group | Operator::Within)),
            time: search.marks.iter().any(|mark| {
                matches!(mark.operator, Some(Operator::Grain(_) | Operator::Part(_))) || mark.is_time_word()
            }),
            trend: says(|operator| {
                matches!(operator, Operator::Trend | Operator::Growth | Operator::Running | Operator::Rolling)
            }),
            aggregate: says(|operator| matches!(operator, Operator::Aggregate(_))),
            count: says(|operator| operator == Operator::Count),
            how_much: says(|operator| operator == Operator::HowMuch),
            extreme: search.marks.iter().any(is_extreme),
            share: says(|operator| operator == Operator::Share),
            rate: says(|operator| operator == Operator::Rate),
            each: search.marks.iter().any(|mark| {
                mark.operator == Some(Operator::Group)
                    && ["each", "every", "per"].iter().any(|word| mark.text.to_lowercase().contains(word))
            }),
            ask,
            aggregates: search.said_aggregates(),
            extremes: search.extremes(),
            distinct: says(|operator| operator == Operator::Distinct),
            numbers: search.mentions.iter().any(|mention| mention.role.is_number()),
            single: search.schema.catalogue.tables.len() == 1,
            people: if search.asks_who() { search.all_people() } else { Vec::new() },
            places: search.whereabouts(),
        }
    }
}

/// Looks at a form.
struct Look<'a> {
    search: &'a Search<'a>,
    said: &'a Said,
    form: &'a Form,
    out: Features,
}

/// The features of a form.
pub(super) fn features(search: &Search, said: &Said, form: &Form) -> Features {
    let mut look = Look { search, said, form, out: Vec::with_capacity(48) };
    look.kind();
    look.measures();
    look.groups();
    look.order();
    look.list();
    look.left_over();
    look.tables();
    super::condition_features::add(search, form, &mut look.out);
    look.out
}

fn before_name(before: Before) -> &'static str {
    match before {
        Before::Group => "group",
        Before::Which => "which",
        Before::Show => "show",
        Before::Count => "count",
        Before::Amount => "amount",
        Before::Aggregate(_) => "aggregate",
        Before::Extreme => "extreme",
        Before::Number => "number",
        Before::Compare => "compare",
        Before::Order => "order",
        Before::Not => "not",
        Before::Share => "share",
        Before::Clause => "clause",
        Before::Of => "of",
        Before::Name => "name",
        Before::Unknown => "unknown",
        Before::Start => "start",
    }
}

fn behind_name(behind: Behind) -> &'static str {
    match behind {
        Behind::Group => "group",
        Behind::Aggregate(_) => "aggregate",
        Behind::Count => "count",
        Behind::Compare => "compare",
        Behind::Value => "value",
        Behind::Share => "share",
        Behind::Name => "name",
        Behind::Other => "other",
        Behind::End => "end",
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Measure => "measure",
        Role::Rate => "rate",
        Role::Identifier => "identifier",
        Role::Flag => "flag",
        Role::Category => "category",
        Role::Time => "time",
        Role::Year => "year",
        Role::Text => "text",
    }
}

fn aggregate_name(aggregate: Aggregate) -> &'static str {
    match aggregate {
        Aggregate::Sum => "sum",
        Aggregate::Average => "average",
        Aggregate::Min => "min",
        Aggregate::Max => "max",
        _ => "other",
    }
}

impl Look<'_> {
    fn add(&mut self, name: impl Into<String>, value: f32) {
        self.out.push((name.into(), value));
    }

    fn schema(&self) -> &Schema<'_> {
        self.search.schema
    }

    /// The mention that names a column best.
    fn mention(&self, place: ColumnRef) -> Option<&Mention> {
        (self.search.mentions.iter())
            .filter(|mention| mention.place == place)
            .max_by(|a, b| a.quality.total_cmp(&b.quality))
    }

    fn kind(&mut self) {
        let form = self.form;
        let kind = match (form.measures.is_empty(), form.groups.is_empty()) {
            (true, _) if form.limit.is_some() => "top rows",
            (true, _) => "list",
            (false, true) => "single",
            (false, false) if form.limit.is_some() => "top groups",
            (false, false) => "groups",
        };
        self.add(format!("{kind}, asks {}", self.said.ask), 1.0);
        let flags = [
            ("group", self.said.group),
            ("time", self.said.time),
            ("trend", self.said.trend),
            ("aggregate", self.said.aggregate),
            ("count", self.said.count),
            ("how much", self.said.how_much),
            ("extreme", self.said.extreme),
            ("share", self.said.share || self.said.rate),
            ("number column", self.said.numbers),
            ("one table", self.said.single),
        ];
        for (name, said) in flags {
            let word = if said { "said" } else { "not said" };
            self.add(format!("{kind}, {name} {word}"), 1.0);
        }
        if form.share {
            self.add(if self.said.share { "share said" } else { "share not said" }, 1.0);
        }
    }

    fn measures(&mut self) {
        let form = self.form;
        for (at, measure) in form.measures.iter().enumerate() {
            if at > 0 {
                self.add("second measure", 1.0);
            }
            self.measure(measure);
        }
    }

    fn measure(&mut self, measure: &Measure) {
        match measure {
            Measure::Rows => {
                self.add(if self.said.count { "rows, count said" } else { "rows, count not said" }, 1.0);
                if self.said.how_much {
                    self.add("rows, how much said", 1.0);
                }
                if !self.said.single {
                    let table = self.form.table;
                    let named =
                        |mark: &Mark| mark.tables.iter().any(|(known, q)| *known == table && *q >= 0.5);
                    let verb = self.search.marks.iter().any(|mark| mark.is_unknown() || mark.by_meaning);
                    let name = match (self.search.marks.iter().any(named), verb) {
                        (true, _) => "rows of a named table",
                        (false, true) => "rows of a table not named, word unknown",
                        (false, false) => "rows of a table not named",
                    };
                    self.add(name, 1.0);
                }
                if self.said.aggregate {
                    self.add("rows, aggregate said", 1.0);
                }
                // What is counted is a column.
                for mention in self.search.free(self.form) {
                    if mention.before == Before::Count {
                        let name = format!("rows, counted {}", role_name(mention.role));
                        self.out.push((name, 1.0));
                        break;
                    }
                }
            }
            Measure::Of(Aggregate::CountDistinct, Scalar::Column(place)) => {
                let name = self.mention(*place).map_or("nothing", |mention| before_name(mention.before));
                self.add(format!("distinct after {name}"), 1.0);
                self.add(format!("distinct of {}", role_name(self.schema().role(*place))), 1.0);
                if self.said.distinct {
                    self.add("distinct said", 1.0);
                }
            }
            Measure::Of(aggregate, Scalar::Column(place)) => self.aggregate(*aggregate, *place),
            Measure::Of(_, Scalar::Product(..)) => self.add("product", 1.0),
            Measure::Of(_, Scalar::Elapsed(..)) => self.add("duration", 1.0),
            Measure::Of(..) => self.add("other measure", 1.0),
            Measure::ShareWhere(_) => {
                self.add("share of rows", 1.0);
                self.add(if self.said.rate { "share of rows, rate" } else { "share of rows, no rate" }, 1.0);
            }
            Measure::PerMany(..) => self.add("per many", 1.0),
            Measure::Ratio(..) | Measure::Percent(..) => {
                self.add("ratio", 1.0);
                self.add(if self.said.rate { "ratio, rate" } else { "ratio, no rate" }, 1.0);
            }
            Measure::Correlation(..) => self.add("correlation", 1.0),
            Measure::OfWhere(..) => self.add("measure of some rows", 1.0),
            Measure::Span(..) => self.add("span of time", 1.0),
            _ => self.add("other measure", 1.0),
        }
    }

    fn aggregate(&mut self, aggregate: Aggregate, place: ColumnRef) {
        let role = role_name(self.schema().role(place));
        let name = aggregate_name(aggregate);
        let Some(mention) = self.mention(place).cloned() else {
            self.add("measure not named", 1.0);
            self.add(format!("{name} of {role}, not named"), 1.0);
            return;
        };
        self.add("measure quality", mention.quality);
        self.add(format!("measure after {}", before_name(mention.before)), 1.0);
        self.add(format!("measure before {}", behind_name(mention.behind)), 1.0);
        let adjacent = match (mention.before, mention.behind) {
            (Before::Aggregate(said), _) | (_, Behind::Aggregate(said)) => Some(said),
            _ => None,
        };
        match adjacent {
            Some(said) if said == aggregate => self.add("aggregate adjacent", 1.0),
            Some(_) => self.add("another aggregate adjacent", 1.0),
            None if self.said.aggregates.contains(&aggregate) => {
                self.add(format!("{name} said elsewhere"), 1.0);
            }
            None => {
                self.add(format!("{name} of {role}, not said"), 1.0);
                let asked = if self.said.how_much || self.said.ask == "count" { "how much" } else { "other" };
                self.add(format!("{name} not said, asks {asked}"), 1.0);
                if self.form.groups.is_empty() {
                    self.add(format!("{name} not said, no groups"), 1.0);
                }
                if self.said.extreme {
                    self.add(format!("{name} not said, extreme"), 1.0);
                }
            }
        }
        if aggregate == Aggregate::Sum && role == "rate" {
            self.add("sum of rate", 1.0);
        }
    }

    fn groups(&mut self) {
        let form = self.form;
        if form.groups.len() > 1 {
            self.add("two groups", 1.0);
        }
        for group in &form.groups {
            match group {
                Group::Column(place) => self.group(*place),
                Group::Bracket(..) | Group::Holds(_) => self.add("condition group", 1.0),
                Group::Period(..) | Group::Part(..) => {
                    let said = if self.said.time {
                        "said"
                    } else if self.said.trend {
                        "trend"
                    } else {
                        "not said"
                    };
                    self.add(format!("period group, {said}"), 1.0);
                }
            }
        }
    }

    fn group(&mut self, place: ColumnRef) {
        let role = self.schema().role(place);
        if self.said.ask == "who" && !self.said.people.is_empty() {
            let people = self.said.people.contains(&place);
            self.add(if people { "who, group of people" } else { "who, group of others" }, 1.0);
        }
        if !self.said.places.is_empty() {
            let where_ = self.said.places.contains(&place);
            self.add(if where_ { "where, group of places" } else { "where, group of others" }, 1.0);
        }
        if self.search.is_unsaid_kind(place) {
            self.add("group is a kind that is not said", 1.0);
        }
        let Some(mention) = self.mention(place).cloned() else {
            let of_table = self.search.marks.iter().any(|mark| {
                mark.tables.iter().any(|(table, quality)| *table == place.table && *quality >= 0.5)
            });
            self.add(if of_table { "group names a table" } else { "group not named" }, 1.0);
            return;
        };
        self.add("group quality", mention.quality);
        self.add(format!("group after {}", before_name(mention.before)), 1.0);
        self.add(format!("group is {}", role_name(role)), 1.0);
        if mention.before != Before::Group {
            self.add(format!("group of {}, not said", role_name(role)), 1.0);
            if mention.plural {
                self.add("group plural, not said", 1.0);
            }
            self.add(format!("group before {}", behind_name(mention.behind)), 1.0);
        }
        let fixed = self.form.filters.iter().any(|filter| match filter {
            Filter::Values { place: known, values, negated: false } => *known == place && values.len() == 1,
            Filter::Number(known, Compare::Equal, _) => *known == place,
            _ => false,
        });
        if fixed {
            self.add("group has one value", 1.0);
        }
        if self.counts(place) {
            self.add("group is counted", 1.0);
        }
        let column = self.schema().column(place);
        let unique = column.is_some_and(|column| column.distinct + 1 >= column.seen && column.seen > 1);
        if unique && !self.form.measures.is_empty() {
            self.add("group has one row each", 1.0);
        }
    }

    fn counts(&self, place: ColumnRef) -> bool {
        let counted = Measure::Of(Aggregate::CountDistinct, Scalar::Column(place));
        self.form.measures.contains(&counted)
    }

    fn order(&mut self) {
        let form = self.form;
        let extreme = if self.said.extreme { "extreme" } else { "no extreme" };
        match (form.order, form.limit) {
            (Some(_), Some(_)) => self.add(format!("first rows, {extreme}"), 1.0),
            (Some(_), None) => self.add(format!("ordered, {extreme}"), 1.0),
            (None, Some(_)) => self.add(format!("limit, {extreme}"), 1.0),
            (None, None) => {
                let by = form
                    .measures
                    .iter()
                    .any(|measure| matches!(measure, Measure::Of(Aggregate::Min | Aggregate::Max, _)));
                self.add(format!("no order, {extreme}{}", if by { ", min or max" } else { "" }), 1.0);
            }
        }
        if let Some(limit) = form.limit {
            let said = self.said.extremes.iter().any(|(_, number)| *number == Some(limit));
            self.add(if said { "limit said" } else { "limit not said" }, 1.0);
            let plural = |place: ColumnRef| self.mention(place).is_some_and(|mention| mention.plural);
            let things = form.groups.iter().any(|group| matches!(group, Group::Column(p) if plural(*p)))
                || form.show.iter().any(|place| plural(*place));
            if limit == 1 && things {
                self.add("one of many", 1.0);
            }
        } else if self.said.extremes.iter().any(|(_, number)| number.is_some()) {
            self.add("no limit, number said", 1.0);
        }
        if let Some((key, down)) = form.order {
            let aged = match key {
                OrderKey::Column(place) => self.search.dates_of_age(form).contains(&(place, down)),
                _ => false,
            };
            if aged {
                self.add("ordered by age", 1.0);
            }
            let fits = aged || self.said.extremes.iter().any(|(largest, _)| *largest == down);
            self.add(if fits { "direction said" } else { "direction not said" }, 1.0);
            if let OrderKey::Column(place) = key {
                let name = self.mention(place).map_or("nothing", |mention| before_name(mention.before));
                self.add(format!("ordered by column after {name}"), 1.0);
                self.add(format!("ordered by {}", role_name(self.schema().role(place))), 1.0);
            } else if form.measures.first() == Some(&Measure::Rows) {
                let numbers = if self.said.numbers { "number named" } else { "no number named" };
                self.add(format!("ordered by rows, {numbers}"), 1.0);
            }
        }
        if form.within.is_some() {
            self.add(if self.said.each { "within, each said" } else { "within, each not said" }, 1.0);
        } else if form.groups.len() > 1 && form.limit.is_some() && self.said.each {
            self.add("each said, not within", 1.0);
        }
    }

    fn list(&mut self) {
        let form = self.form;
        if !form.measures.is_empty() {
            return;
        }
        if form.show.is_empty() {
            self.add("whole rows", 1.0);
        }
        if form.distinct {
            self.add("equal rows once", 1.0);
        }
        if form.limit.is_some() && self.search.ranks_repeated() {
            self.add("first rows, things repeat", 1.0);
        }
        self.add("shown columns", form.show.len() as f32);
        for place in &form.show {
            let role = role_name(self.schema().role(*place));
            match self.mention(*place).cloned() {
                Some(mention) => {
                    self.add(format!("shown after {}", before_name(mention.before)), 1.0);
                    self.add(format!("shown {role}"), 1.0);
                    self.add("shown quality", mention.quality);
                }
                None => self.add(format!("shown {role}, not named"), 1.0),
            }
        }
    }

    /// What the question says and no part of the form stands for.
    fn left_over(&mut self) {
        let form = self.form;
        let mut places: Vec<ColumnRef> = form.show.clone();
        places.extend(form.filters.iter().flat_map(Filter::places));
        places.extend(form.groups.iter().map(Group::place));
        for measure in &form.measures {
            super::super::lower::measure_places(measure, &mut places);
        }
        if let Some((OrderKey::Column(place), _)) = form.order {
            places.push(place);
        }
        let timed = form.groups.iter().any(|group| !matches!(group, Group::Column(_)));
        for (at, mark) in self.search.marks.iter().enumerate() {
            self.left_over_mark(at, mark, &places, timed);
        }
    }

    fn left_over_mark(&mut self, at: usize, mark: &Mark, places: &[ColumnRef], timed: bool) {
        let form = self.form;
        let mentions: Vec<&Mention> =
            self.search.mentions.iter().filter(|mention| mention.at == at).collect();
        if let Some(first) = mentions.first() {
            let used = mentions.iter().any(|mention| places.contains(&mention.place));
            let table = mark
                .tables
                .iter()
                .any(|(table, _)| *table == form.table || places.iter().any(|place| place.table == *table));
            let said = used || timed && mark.is_time_word();
            if !(said || is_condition(first, form)) {
                let kind = if first.role.is_number() { "number" } else { "thing" };
                let before = before_name(first.before);
                let known = if table { ", table used" } else { "" };
                let name = format!("unused {kind} after {before}{known}");
                self.out.push((name, first.quality));
            }
            return;
        }
        if mark.value_quality() >= 0.5 {
            let used = mark.values.iter().any(|link| {
                form.filters.iter().any(|filter| filter_has(filter, link.place, &link.values))
                    || form.measures.iter().any(|measure| match measure {
                        Measure::ShareWhere(filter) | Measure::RowsWhere(filter) => {
                            filter_has(filter, link.place, &link.values)
                        }
                        _ => false,
                    })
            });
            self.out
                .push((if used { "value used" } else { "value unused" }.to_owned(), mark.value_quality()));
        } else if let Some(number) = mark.number.filter(|_| mark.period.is_none()) {
            let used = form.limit.is_some_and(|limit| (limit as f64 - number).abs() < 1e-9)
                || form.having.iter().any(|(_, _, known)| is_scaled(*known, number))
                || form.measures.iter().any(
                    |measure| matches!(measure, Measure::PerMany(_, many, _) if (many - number).abs() < 1e-9),
                )
                || form.filters.iter().any(|filter| match filter {
                    Filter::Number(_, _, known) => is_scaled(*known, number),
                    Filter::Between(_, from, to) => {
                        (from - number).abs() < 1e-9 || (to - number).abs() < 1e-9
                    }
                    Filter::Values { values, .. } => values.contains(&format!("{number}")),
                    _ => false,
                });
            if !used {
                self.out.push(("number unused".to_owned(), 1.0));
            }
        } else if mark.table_quality() >= 0.5 {
            let used = mark.tables.iter().any(|(table, _)| {
                *table == form.table && (form.measures.contains(&Measure::Rows) || form.measures.is_empty())
                    || places.iter().any(|place| place.table == *table)
            });
            if !used {
                self.out.push(("table unused".to_owned(), mark.table_quality()));
            }
        }
    }

    fn tables(&mut self) {
        let form = self.form;
        let mut tables: Vec<usize> = form.show.iter().map(|place| place.table).collect();
        tables.extend(form.filters.iter().flat_map(Filter::places).map(|place| place.table));
        tables.extend(form.groups.iter().map(|group| group.place().table));
        let mut places = Vec::new();
        for measure in &form.measures {
            super::super::lower::measure_places(measure, &mut places);
        }
        tables.extend(places.iter().map(|place| place.table));
        if form.measures.contains(&Measure::Rows) {
            tables.push(form.table);
        }
        tables.sort_unstable();
        tables.dedup();
        self.add("joins", tables.len().saturating_sub(1) as f32);
        for (_, compare, _) in &form.having {
            self.add(if *compare == Compare::Equal { "having equal" } else { "having" }, 1.0);
        }
        if form.tally.is_some() {
            self.add("counted groups", 1.0);
        }
        self.add("compared with an average", form.beyond.len() as f32);
        if matches!(form.measures.as_slice(), [_, _, Measure::Less(..), Measure::Percent(..)]) {
            self.add("two periods", 1.0);
        }
        let per_many = form.measures.iter().any(|measure| matches!(measure, Measure::PerMany(..)));
        if !per_many && super::relations::says_per_many(self.search.marks) {
            self.add("not per many", 1.0);
        }
        for filter in &form.filters {
            match filter {
                Filter::Average(..) => self.add("rows against an average", 1.0),
                Filter::Columns(..) => self.add("columns compared", 1.0),
                Filter::Never(..) => self.add("never, said", 1.0),
                Filter::Parts(..) => self.add("days of the week", 1.0),
                Filter::Values { negated: true, .. }
                    if self.search.marks.iter().any(super::relations::is_never) =>
                {
                    self.add("not for never", 1.0);
                }
                Filter::Missing(..) => self.add("missing cells", 1.0),
                Filter::Any(_) => self.add("either", 1.0),
                _ => {}
            }
        }
        if form.change || form.running {
            self.add(if self.said.trend { "change, said" } else { "change, not said" }, 1.0);
        }
        self.add("conditions", form.filters.len() as f32);
    }
}

/// Whether a number of the query is the one that was said, in the units of its column.
fn is_scaled(known: f64, said: f64) -> bool {
    [1.0, 1e3, 1e6, 1e9].iter().any(|times| (known * times - said).abs() < 1e-9 * said.abs().max(1.0))
}

fn filter_has(filter: &Filter, place: ColumnRef, values: &[String]) -> bool {
    match filter {
        Filter::Values { place: known, values: held, .. } => {
            *known == place && values.iter().any(|value| held.contains(value))
        }
        Filter::Any(sets) => sets.iter().flatten().any(|filter| filter_has(filter, place, values)),
        Filter::Never(_, of) => of.iter().any(|filter| filter_has(filter, place, values)),
        _ => false,
    }
}
