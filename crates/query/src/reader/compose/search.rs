//! Forms that the words of a question allow, whatever their order: measures x groups x orders over
//! the conditions of an interpretation. The search proposes far more than is likely; the weights
//! decide.

use super::super::form::{Filter, Form, Group, Measure, OrderKey, Scalar};
use super::super::lexicon::{DatePart, Operator, adjective};
use super::super::link::{ColumnRef, Mark, Schema};
use super::mentions::{Before, Behind, Mention, is_extreme, is_unlisted_superlative};
use crate::query::{Aggregate, Grain};
use crate::roles::Role;

/// What the search works on.
pub(super) struct Search<'a> {
    pub schema: &'a Schema<'a>,
    pub marks: &'a [Mark],
    pub mentions: &'a [Mention],
}

/// An order with its limit, and whether the limit holds within the first group.
type Ranking = (Option<(OrderKey, bool)>, Option<u64>, Option<usize>);

impl Search<'_> {
    /// Forms with the conditions of `base`, at most so many that measure something.
    pub(super) fn variants(&self, base: &Form, most: usize) -> Vec<Form> {
        let mut forms: Vec<Form> = Vec::new();
        let groups = self.group_sets(base);
        for (measures, without) in self.measure_sets(base) {
            let filters: Vec<Filter> =
                base.filters.iter().filter(|filter| Some(*filter) != without.as_ref()).cloned().collect();
            for groups in &groups {
                for (order, limit, within) in self.rankings(groups, &measures, base) {
                    for table in self.counted_tables(base, &measures) {
                        let having = base.having.iter().filter_map(|(at, compare, number)| {
                            let measure = base.measures.get(*at)?;
                            let at = measures.iter().position(|known| known == measure)?;
                            Some((at, *compare, *number))
                        });
                        let same = measures == base.measures && *groups == base.groups;
                        let share = self.says(|operator| matches!(operator, Operator::Share));
                        let plain = Form {
                            table,
                            having: having.collect(),
                            measures: measures.clone(),
                            groups: groups.clone(),
                            filters: filters.clone(),
                            show: Vec::new(),
                            distinct: false,
                            order,
                            limit,
                            within,
                            share: false,
                            beyond: if same { base.beyond.clone() } else { Vec::new() },
                            tally: base.tally.filter(|_| same),
                            has_before: base.has_before && same,
                            pivot: base.pivot && groups.len() > 1,
                            ..base.clone()
                        };
                        if share && !groups.is_empty() && without.is_none() {
                            forms.push(Form { share: true, ..plain.clone() });
                        }
                        if let Some(without) = self.without_gaps(&plain) {
                            forms.push(without);
                        }
                        forms.push(plain);
                        if forms.len() >= most {
                            forms.extend(self.lists(base).into_iter().take(most / 4));
                            return forms;
                        }
                    }
                }
            }
        }
        forms.extend(self.lists(base));
        forms
    }

    /// The same without the group of empty cells.
    fn without_gaps(&self, form: &Form) -> Option<Form> {
        if form.limit.is_some() || form.pivot {
            return None;
        }
        let place = form.groups.iter().find_map(|group| match group {
            Group::Column(place) => {
                self.schema.column(*place).filter(|column| column.nulls > 0).map(|_| *place)
            }
            _ => None,
        })?;
        if form.filters.iter().any(|filter| filter.place() == place) {
            return None;
        }
        let mut form = form.clone();
        form.filters.push(Filter::Missing(place, false));
        Some(form)
    }

    pub(super) fn says(&self, wanted: impl Fn(Operator) -> bool) -> bool {
        self.marks.iter().any(|mark| mark.operator.is_some_and(&wanted))
    }

    /// Mentions that no condition of the form stands for.
    pub(super) fn free<'b>(&'b self, form: &'b Form) -> impl Iterator<Item = &'b Mention> {
        self.mentions.iter().filter(move |mention| !is_condition(mention, form))
    }

    /// Sets of measures, each with a condition that it replaces.
    fn measure_sets(&self, base: &Form) -> Vec<(Vec<Measure>, Option<Filter>)> {
        let mut sets: Vec<(Vec<Measure>, Option<Filter>)> = Vec::new();
        let mut add = |set: Vec<Measure>, without: Option<Filter>| {
            if !set.is_empty() && !sets.iter().any(|(known, _)| *known == set) {
                sets.push((set, without));
            }
        };
        add(base.measures.clone(), None);
        let numbers: Vec<&Mention> = self.free(base).filter(|mention| mention.role.is_number()).collect();
        let mut first_of: Vec<(usize, ColumnRef)> = Vec::new();
        for mention in &numbers {
            for aggregate in self.aggregates(mention) {
                add(vec![Measure::Of(aggregate, Scalar::Column(mention.place))], None);
            }
            if !first_of.iter().any(|(at, _)| *at == mention.at) {
                first_of.push((mention.at, mention.place));
            }
        }
        // Several measures side by side.
        if let [(_, left), (_, right), ..] = first_of.as_slice() {
            for aggregate in self.said_aggregates().into_iter().chain([Aggregate::Sum, Aggregate::Average]) {
                let of = |place: ColumnRef| Measure::Of(aggregate, Scalar::Column(place));
                add(vec![of(*left), of(*right)], None);
                if matches!(aggregate, Aggregate::Sum) {
                    add(vec![Measure::Ratio(Box::new(of(*left)), Box::new(of(*right)))], None);
                }
            }
        }
        // Several figures of one column, and how many rows there are beside a figure.
        let said = self.said_aggregates();
        if let Some((_, place)) = first_of.first() {
            let of = |aggregate: &Aggregate| Measure::Of(*aggregate, Scalar::Column(*place));
            if said.len() > 1 {
                add(said.iter().map(of).collect(), None);
            }
            if self.says(|operator| operator == Operator::Count || operator == Operator::And) {
                for aggregate in said.iter().chain([&Aggregate::Sum]).take(2) {
                    add(vec![Measure::Rows, of(aggregate)], None);
                }
            }
        }
        for measure in self.elapsed(base) {
            add(vec![measure], None);
        }
        for measure in self.unnamed(base, numbers.is_empty()) {
            add(vec![measure], None);
        }
        for mark in self.marks {
            for (price, quantity) in mark.products.iter().take(2) {
                add(vec![Measure::Of(Aggregate::Sum, Scalar::Product(*price, *quantity))], None);
            }
        }
        add(vec![Measure::Rows], None);
        for mention in self.free(base).filter(|mention| mention.is_group()) {
            add(vec![Measure::Of(Aggregate::CountDistinct, Scalar::Column(mention.place))], None);
        }
        if self.says(|operator| matches!(operator, Operator::Share | Operator::Rate)) {
            for filter in &base.filters {
                if !matches!(filter, Filter::Within(..) | Filter::WithinAny(..)) {
                    add(vec![Measure::ShareWhere(Box::new(filter.clone()))], Some(filter.clone()));
                }
            }
            for mention in self.free(base).filter(|mention| mention.role == Role::Flag) {
                add(vec![Measure::ShareWhere(Box::new(Filter::Flag(mention.place, true)))], None);
            }
        }
        sets.truncate(20);
        sets
    }

    /// Measures of the table that no word names, where an amount or an extreme is asked for.
    fn unnamed(&self, base: &Form, none_named: bool) -> Vec<Measure> {
        let asked = self.says(|operator| {
            matches!(operator, Operator::HowMuch | Operator::Aggregate(_) | Operator::Superlative(_))
        });
        if !none_named || !asked {
            return Vec::new();
        }
        let wanted = self.said_aggregates().into_iter().chain([Aggregate::Sum]).next();
        (self.schema.places())
            .filter(|(place, role)| place.table == base.table && role.is_number())
            .take(3)
            .filter_map(|(place, _)| Some(Measure::Of(wanted?, Scalar::Column(place))))
            .collect()
    }

    /// Aggregates that the question says, by a word or by an extreme.
    pub(super) fn said_aggregates(&self) -> Vec<Aggregate> {
        let mut said = Vec::new();
        for (at, mark) in self.marks.iter().enumerate() {
            let behind = at.checked_sub(1).and_then(|before| self.marks.get(before));
            let again = behind.is_some_and(|mark| matches!(mark.operator, Some(Operator::Aggregate(_))));
            let aggregate = match mark.operator {
                // "median total amount": the total is part of a name.
                Some(Operator::Aggregate(Aggregate::Sum) | Operator::Whole) if again => None,
                Some(Operator::Aggregate(aggregate)) => Some(aggregate),
                Some(Operator::Whole) => Some(Aggregate::Sum),
                Some(Operator::Superlative(true)) => Some(Aggregate::Max),
                Some(Operator::Superlative(false)) => Some(Aggregate::Min),
                _ => adjective(&mark.text.to_lowercase(), true).map(|adjective| {
                    let largest = adjective.largest != self.takes_time(&adjective.about);
                    if largest { Aggregate::Max } else { Aggregate::Min }
                }),
            };
            if let Some(aggregate) = aggregate.filter(|aggregate| !said.contains(aggregate)) {
                said.push(aggregate);
            }
        }
        said
    }

    fn aggregates(&self, mention: &Mention) -> Vec<Aggregate> {
        let mut all = Vec::new();
        if let Before::Aggregate(aggregate) = mention.before {
            all.push(aggregate);
        }
        if let Behind::Aggregate(aggregate) = mention.behind {
            all.push(aggregate);
        }
        let usual = if mention.role == Role::Measure {
            [Aggregate::Sum, Aggregate::Average]
        } else {
            [Aggregate::Average, Aggregate::Sum]
        };
        for aggregate in self.said_aggregates().into_iter().chain(usual) {
            if !all.contains(&aggregate) {
                all.push(aggregate);
            }
        }
        all
    }

    fn group_sets(&self, base: &Form) -> Vec<Vec<Group>> {
        let mut sets: Vec<Vec<Group>> = vec![base.groups.clone()];
        let mut add = |set: Vec<Group>| {
            if !sets.contains(&set) {
                sets.push(set);
            }
        };
        add(Vec::new());
        let times = self.times(base);
        let mut named: Vec<(usize, Group)> = Vec::new();
        for mention in self.mentions.iter().filter(|mention| mention.is_group()) {
            named.push((mention.at, Group::Column(mention.place)));
        }
        for (at, mark) in self.marks.iter().enumerate() {
            for (table, quality) in &mark.tables {
                let display = self.schema.display(*table).filter(|_| *quality >= 0.5);
                if let Some(place) = display.and_then(|places| places.first().copied()) {
                    named.push((at, Group::Column(place)));
                }
            }
        }
        if self.asks_who() {
            for place in self.people(base).into_iter().take(3) {
                named.push((usize::MAX, Group::Column(place)));
            }
            for table in self.related(base.table) {
                let display = self.schema.display(table).and_then(|places| places.first().copied());
                named.extend(display.map(|place| (usize::MAX, Group::Column(place))));
            }
        }
        for place in self.whereabouts().into_iter().take(3) {
            named.push((usize::MAX, Group::Column(place)));
        }
        named.dedup_by(|a, b| a.1 == b.1);
        for (_, group) in &named {
            add(vec![group.clone()]);
        }
        for time in &times {
            add(vec![time.clone()]);
            for (_, group) in &named {
                add(vec![group.clone(), time.clone()]);
            }
        }
        for (at, (left, first)) in named.iter().enumerate() {
            for (right, second) in named.iter().skip(at + 1) {
                if left != right && first != second {
                    add(vec![first.clone(), second.clone()]);
                    add(vec![second.clone(), first.clone()]);
                }
            }
        }
        sets.truncate(16);
        sets
    }

    /// Columns that hold names of people, of the table and of those that it refers to.
    fn people(&self, base: &Form) -> Vec<ColumnRef> {
        let mut related = self.related(base.table);
        for event in self.referring(base.table) {
            related.extend(self.related(event));
        }
        self.all_people().into_iter().filter(|place| related.contains(&place.table)).collect()
    }

    /// Columns that hold names of people: first name and last name in nearly every cell.
    pub(super) fn all_people(&self) -> Vec<ColumnRef> {
        let name = |value: &str| {
            let mut words = value.split(' ');
            let capital = |word: &str| {
                word.chars().count() > 1
                    && word.starts_with(char::is_uppercase)
                    && word.chars().all(|c| c.is_alphabetic() || "-'.".contains(c))
                    && word.chars().any(char::is_lowercase)
            };
            let parts = words.by_ref().take(4).collect::<Vec<_>>();
            (2..=3).contains(&parts.len()) && parts.into_iter().all(capital)
        };
        let holds = |place: &ColumnRef| {
            let values =
                self.schema.column(*place).map(|column| column.values.as_slice()).unwrap_or_default();
            let names = values.iter().take(40).filter(|(value, _)| name(value)).count();
            names > 2 && names * 10 >= values.len().min(40) * 9
        };
        let texts = self.schema.places().filter(|(_, role)| matches!(role, Role::Text | Role::Category));
        texts.map(|(place, _)| place).filter(holds).collect()
    }

    /// Columns that say where, if the question asks for it.
    pub(super) fn whereabouts(&self) -> Vec<ColumnRef> {
        const PLACES: [&str; 22] = [
            "city",
            "town",
            "country",
            "region",
            "state",
            "province",
            "district",
            "location",
            "place",
            "origin",
            "destination",
            "station",
            "site",
            "venue",
            "branch",
            "store",
            "area",
            "neighbourhood",
            "address",
            "borough",
            "county",
            "continent",
        ];
        let asked = self.marks.iter().any(|mark| {
            mark.operator == Some(Operator::Which) && mark.text.to_lowercase().starts_with("where")
        });
        let is_place = |place: ColumnRef| PLACES.iter().any(|word| self.schema.fits(place, word) >= 0.95);
        let texts = self.schema.places().filter(|(_, role)| matches!(role, Role::Text | Role::Category));
        texts.map(|(place, _)| place).filter(|place| asked && is_place(*place)).collect()
    }

    /// Whether the things that are ranked come up in many rows: "top 3 machines".
    pub(super) fn ranks_repeated(&self) -> bool {
        self.mentions.iter().any(|mention| {
            matches!(mention.before, Before::Extreme | Before::Number)
                && mention.is_group()
                && mention.quality >= 0.5
                && self.schema.column(mention.place).is_some_and(|column| column.distinct * 2 < column.seen)
        })
    }

    pub(super) fn asks_who(&self) -> bool {
        self.marks
            .iter()
            .any(|mark| mark.operator == Some(Operator::Which) && mark.text.to_lowercase().starts_with("who"))
    }

    /// Tables whose rows refer to those of a table.
    fn referring(&self, table: usize) -> Vec<usize> {
        let catalogue = self.schema.catalogue;
        let name = self.schema.table(table).map(|table| table.name.as_str()).unwrap_or_default();
        let joins = catalogue.joins.iter().filter(|join| join.to.0 == name && join.from.0 != name);
        joins.filter_map(|join| catalogue.place_of(&join.from.0)).collect()
    }

    /// A table and those that it refers to.
    fn related(&self, table: usize) -> Vec<usize> {
        let catalogue = self.schema.catalogue;
        let mut found = vec![table];
        let name = self.schema.table(table).map(|table| table.name.as_str()).unwrap_or_default();
        for join in catalogue.joins.iter().filter(|join| join.from.0 == name) {
            found.extend(catalogue.place_of(&join.to.0).filter(|other| !found.contains(other)));
        }
        found.truncate(4);
        found
    }

    /// Periods and parts of days that the question speaks of.
    pub(super) fn times(&self, base: &Form) -> Vec<Group> {
        let mut found: Vec<Group> = Vec::new();
        for mark in self.marks {
            let word = mark.text.to_lowercase();
            let (grain, part) = match mark.operator {
                Some(Operator::Grain(grain)) => (Some(grain), None),
                Some(Operator::Part(part)) => (None, Some(part)),
                _ => match word.trim_end_matches('s') {
                    "day" | "date" => (Some(Grain::Day), None),
                    "week" => (Some(Grain::Week), None),
                    "month" => (Some(Grain::Month), None),
                    "quarter" => (Some(Grain::Quarter), None),
                    "year" => (Some(Grain::Year), None),
                    "weekday" => (None, Some(DatePart::Weekday)),
                    "hour" => (None, Some(DatePart::Hour)),
                    _ => continue,
                },
            };
            for time in self.time_columns(base).into_iter().take(3) {
                let group = match (grain, part) {
                    (Some(grain), _) => Group::Period(time, grain),
                    (None, Some(part)) => Group::Part(time, part),
                    _ => continue,
                };
                if !found.contains(&group) {
                    found.push(group);
                }
            }
            let year = self.schema.places().find(|(place, role)| {
                grain == Some(Grain::Year) && *role == Role::Year && place.table == base.table
            });
            if let Some((place, _)) = year {
                found.insert(0, Group::Column(place));
            }
        }
        found.truncate(5);
        found
    }

    /// Times that may be meant: named ones first, then those of the table.
    pub(super) fn time_columns(&self, base: &Form) -> Vec<ColumnRef> {
        let mut all: Vec<ColumnRef> = self.named_times();
        let own = |here: bool| {
            self.schema
                .places()
                .filter(move |(place, role)| *role == Role::Time && (place.table == base.table) == here)
        };
        all.extend(own(true).chain(own(false)).map(|(place, _)| place));
        let mut seen = Vec::new();
        all.retain(|place| {
            !seen.contains(place) && {
                seen.push(*place);
                true
            }
        });
        all
    }

    fn rankings(&self, groups: &[Group], measures: &[Measure], base: &Form) -> Vec<Ranking> {
        let mut found: Vec<Ranking> = Vec::new();
        let keeps = match base.order {
            Some((OrderKey::Measure(at), _)) => at < measures.len() && !groups.is_empty(),
            Some(_) => false,
            None => true,
        };
        if keeps {
            let within = base.within.filter(|at| *at < groups.len());
            found.push((base.order, base.limit, within));
        }
        let mut add = |ranking: Ranking| {
            if !found.contains(&ranking) {
                found.push(ranking);
            }
        };
        add((None, None, None));
        if groups.is_empty() {
            return found;
        }
        for (largest, limit) in self.extremes() {
            let key = Some((OrderKey::Measure(0), largest));
            add((key, Some(limit.unwrap_or(1)), None));
            add((key, limit, None));
            if groups.len() == 2 {
                add((key, Some(limit.unwrap_or(1)), Some(0)));
            }
        }
        found
    }

    /// Extremes that are asked for: the largest or the smallest, and how many.
    pub(super) fn extremes(&self) -> Vec<(bool, Option<u64>)> {
        let mut found: Vec<(bool, Option<u64>)> = Vec::new();
        for (at, mark) in self.marks.iter().enumerate() {
            let largest = match mark.operator {
                Some(Operator::Top(largest) | Operator::Superlative(largest) | Operator::Common(largest)) => {
                    largest
                }
                _ => match adjective(&mark.text.to_lowercase(), true) {
                    Some(adjective) => adjective.largest != self.takes_time(&adjective.about),
                    None if is_unlisted_superlative(mark) => true,
                    None => continue,
                },
            };
            // "least expensive" turns round.
            let turned = self.marks.get(at + 1).and_then(|next| adjective(&next.text.to_lowercase(), false));
            let largest = turned.map_or(largest, |adjective| largest == adjective.largest);
            let near = [at.checked_sub(1), Some(at + 1), at.checked_sub(2)];
            let number = near.into_iter().flatten().find_map(|near| {
                let mark = self.marks.get(near)?;
                mark.number
                    .filter(|n| (1.0..=1000.0).contains(n) && n.fract() == 0.0 && mark.period.is_none())
            });
            let extreme = (largest, number.map(|number| number as u64));
            if !found.contains(&extreme) {
                found.push(extreme);
            }
        }
        found
    }

    /// Whether speed shows in how long something takes, because no column holds a speed.
    fn takes_time(&self, about: &[&str]) -> bool {
        about.contains(&"speed")
            && !self.schema.places().any(|(place, role)| {
                role.is_number() && about.iter().any(|word| self.schema.fits(place, word) >= 0.8)
            })
    }

    /// The oldest has the earliest day: times of a table with the direction that age turns round.
    pub(super) fn dates_of_age(&self, base: &Form) -> Vec<(ColumnRef, bool)> {
        let aged = self.marks.iter().find_map(|mark| {
            adjective(&mark.text.to_lowercase(), true).filter(|adjective| adjective.about.contains(&"born"))
        });
        let Some(aged) = aged else { return Vec::new() };
        let times = self
            .schema
            .places()
            .filter(|(place, role)| matches!(role, Role::Time | Role::Year) && place.table == base.table);
        times.take(2).map(|(place, _)| (place, !aged.largest)).collect()
    }

    fn counted_tables(&self, base: &Form, measures: &[Measure]) -> Vec<usize> {
        let mut tables = vec![base.table];
        if measures.contains(&Measure::Rows) {
            for (table, quality) in self.marks.iter().flat_map(|mark| &mark.tables) {
                if *quality >= 0.5 && !tables.contains(table) {
                    tables.push(*table);
                }
            }
            // What happens to named things stands in the tables that refer to them.
            for table in tables.clone() {
                let events = self.referring(table).into_iter().filter(|event| !tables.contains(event));
                tables.extend(events.take(2).collect::<Vec<_>>());
            }
        }
        tables.truncate(5);
        tables
    }

    /// Rows that are listed: what is shown, in what order, how many.
    fn lists(&self, base: &Form) -> Vec<Form> {
        let plain = |show: Vec<ColumnRef>, order: Option<(OrderKey, bool)>, limit| Form {
            measures: Vec::new(),
            groups: Vec::new(),
            having: Vec::new(),
            beyond: Vec::new(),
            tally: None,
            has_before: false,
            share: false,
            change: false,
            running: false,
            pivot: false,
            within: None,
            distinct: show.len() == 1
                && order.is_none()
                && show.first().is_some_and(|place| self.schema.role(*place) != Role::Identifier),
            show,
            order,
            limit,
            ..base.clone()
        };
        let mut shows: Vec<Vec<ColumnRef>> = vec![base.show.clone()];
        let mut add = |set: Vec<ColumnRef>| {
            if !shows.contains(&set) {
                shows.push(set);
            }
        };
        let best = |wanted: &dyn Fn(&Mention) -> bool| {
            let mut places: Vec<ColumnRef> = Vec::new();
            let mut at = None;
            for mention in self.free(base).filter(|mention| wanted(mention)) {
                if at != Some(mention.at) && !places.contains(&mention.place) {
                    places.push(mention.place);
                    at = Some(mention.at);
                }
            }
            places
        };
        add(best(&|_| true));
        add(best(&|mention| !mention.role.is_number()));
        add(best(&|mention| mention.before != Before::Extreme && mention.before != Before::Order));
        for (table, quality) in self.marks.iter().flat_map(|mark| &mark.tables) {
            if *quality >= 0.5
                && let Some(display) = self.schema.display(*table)
            {
                add(display.clone());
                let mut with = display;
                let named = best(&|_| true);
                with.extend(named.into_iter().filter(|place| !with.contains(place)).collect::<Vec<_>>());
                add(with);
            }
        }
        if (self.asks_who() || !self.extremes().is_empty())
            && let Some(display) = self.schema.display(base.table)
        {
            let mut with = display.clone();
            let named = best(&|_| true);
            with.extend(named.into_iter().filter(|place| !with.contains(place)).collect::<Vec<_>>());
            add(display);
            add(with);
        }
        for mention in self.free(base).take(4) {
            let set = vec![mention.place];
            if !shows.contains(&set) {
                shows.push(set);
            }
        }
        let mut keys: Vec<ColumnRef> = Vec::new();
        for mark in self.marks.iter().filter(|mark| is_extreme(mark)) {
            let Some(adjective) = adjective(&mark.text.to_lowercase(), true) else { continue };
            let time = ["time", "duration", "minutes", "seconds"];
            let about: &[&str] = if self.takes_time(&adjective.about) { &time } else { &adjective.about };
            for word in about {
                let fits = self.schema.places().filter(|(place, role)| {
                    (role.is_number() || matches!(role, Role::Time | Role::Year))
                        && self.schema.fits(*place, word) >= 0.8
                });
                keys.extend(fits.map(|(place, _)| place));
            }
        }
        let ordered = self
            .mentions
            .iter()
            .filter(|mention| mention.role.is_number() || matches!(mention.role, Role::Time | Role::Year));
        keys.extend(ordered.map(|mention| mention.place));
        keys.dedup();
        keys.truncate(4);
        let dates = self.dates_of_age(base);
        let mut forms = Vec::new();
        for show in shows.iter().take(9) {
            forms.push(plain(show.clone(), None, None));
            for ((key, largest), (_, limit)) in dates.iter().zip(self.extremes().iter().cycle()) {
                let mut with = show.clone();
                if !with.is_empty() && !with.contains(key) {
                    with.push(*key);
                }
                let order = Some((OrderKey::Column(*key), *largest));
                forms.push(plain(with, order, Some(limit.unwrap_or(1))));
            }
            for (largest, limit) in self.extremes() {
                for key in &keys {
                    let order = Some((OrderKey::Column(*key), largest));
                    forms.push(plain(show.clone(), order, Some(limit.unwrap_or(1))));
                    let mut with = show.clone();
                    if !with.is_empty() && !with.contains(key) {
                        with.push(*key);
                        forms.push(plain(with, order, Some(limit.unwrap_or(1))));
                    }
                }
            }
        }
        forms.truncate(120);
        forms
    }
}

/// Whether a mention only says which column a condition is about.
pub(super) fn is_condition(mention: &Mention, form: &Form) -> bool {
    form.filters.iter().any(|filter| match filter {
        Filter::Values { place, .. } => {
            *place == mention.place
                && mention.before != Before::Group
                && matches!(mention.behind, Behind::Value | Behind::Compare)
        }
        Filter::Number(place, ..) | Filter::Between(place, ..) => {
            *place == mention.place
                && (mention.behind == Behind::Compare
                    || matches!(mention.before, Before::Number | Before::Compare))
        }
        Filter::Flag(place, _) | Filter::Missing(place, _) => {
            *place == mention.place && mention.before != Before::Group
        }
        _ => false,
    })
}
