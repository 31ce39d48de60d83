//! "Why did revenue drop in March?": the change between two periods, split over the columns that
//! group the rows, so that the parts add up to the whole.

use super::{Span, forecast, without};
use crate::catalogue::Catalogue;
use crate::chart::ChartKind;
use crate::planner::{ChartWish, Intent, Named, Reading, joins};
use crate::query::{Aggregate, Grain};
use crate::reader::{ColumnRef, Filter, Form, Group, Measure, Scalar, Schema, lower};
use crate::roles::{Role, role};
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use steward_text::period::{Period, containing};
use steward_text::tokens::Token;

/// How the change of a number between two periods is split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// The number, for people.
    pub value: String,
    /// The earlier period.
    pub before: Span,
    /// The later period.
    pub after: Span,
    /// An average: each row of the queries also has how many rows it stands for.
    pub is_average: bool,
    /// The last day of the data.
    pub last_day: NaiveDate,
    /// What the question says of the direction: `true` for up.
    pub rises: Option<bool>,
    /// The column of each query behind the first, for people.
    pub columns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    rises: Option<bool>,
    tokens: Vec<Token>,
    anchor: NaiveDate,
}

const FALLS: &str = "drop drops dropped dropping fall falls fell falling fallen decline declines declined \
    declining decrease decreases decreased decreasing shrink shrank shrinks dip dipped dips lower less down \
    worse slump slumped \
    plunge plunged loss lost";
const RISES: &str = "rise rises rose risen rising increase increases increased increasing grow grows grew \
    grown growth growing jump jumped jumps spike spiked spikes up higher more better surge surged climb \
    climbed gain gained";
const CHANGES: &str = "change changes changed differ different difference";
/// Words around the cue that mean nothing for the rows.
const IDLE: &str = "why did does do has have had been was were is are go going gone went so much what caused \
    causes cause explains explain explained behind drove drives drive driving led leads lead to reason \
    reasons for the a \
    an there come how ? . ! please tell me us";

/// The change that a question asks about, and the words that remain.
pub(super) fn wish(tokens: &[Token], catalogue: &Catalogue, anchor: NaiveDate) -> Option<(Vec<Token>, Wish)> {
    let word = |at: usize| tokens.get(at).map(|token| token.word.as_str()).unwrap_or_default();
    let has = |list: &str| (0..tokens.len()).any(|at| super::among(list, word(at)));
    let why = word(0) == "why" || word(0) == "how" && word(1) == "come";
    let cause = has("what") && has("caused causes explains explain behind drove drives driving led")
        || has("reason reasons") && has("for behind why");
    // A word of the data itself, such as a column "cause", is no such question.
    let asks = why || cause && !super::is_name("cause", catalogue);
    if !asks {
        return None;
    }
    let moves = |list: &str| {
        (0..tokens.len()).find(|at| super::among(list, word(*at)) && !super::is_name(word(*at), catalogue))
    };
    let (falls, rises, changes) = (moves(FALLS), moves(RISES), moves(CHANGES));
    let rises = match (falls, rises, changes) {
        (Some(_), ..) => Some(false),
        (None, Some(_), _) => Some(true),
        (None, None, Some(_)) => None,
        // "why?" after an answer asks about the last change.
        _ if tokens.iter().filter(|token| !token.is_sign()).count() == 1 => None,
        _ => return None,
    };
    let mut taken = vec![false; tokens.len()];
    let mut take = |from, to| super::take(&mut taken, from, to);
    for (from, to, _) in super::times(tokens, anchor) {
        let joined = |at: usize| {
            super::among(
                "in from to between and during of the on vs versus compared with against than over since",
                word(at),
            )
        };
        let mut first = from;
        while first > 0 && joined(first - 1) {
            first -= 1;
        }
        take(first, to);
    }
    for (at, token) in tokens.iter().enumerate() {
        if is_year_over_year(tokens, at) {
            take(at, if token.word == "year" { at + 3 } else { at + 1 });
        }
        if super::among(IDLE, &token.word)
            || [FALLS, RISES, CHANGES].iter().any(|list| super::among(list, &token.word))
                && !super::is_name(&token.word, catalogue)
        {
            take(at, at + 1);
        }
    }
    // What is left of "the drop in sales".
    let mut rest = without(tokens, &taken);
    while rest.first().is_some_and(|token| super::among("in of by", &token.word)) {
        rest.remove(0);
    }
    Some((rest, Wish { rises, tokens: tokens.to_vec(), anchor }))
}

fn is_year_over_year(tokens: &[Token], at: usize) -> bool {
    let word = |at: usize| tokens.get(at).map(|token| token.word.as_str()).unwrap_or_default();
    word(at) == "yoy" || word(at) == "year" && word(at + 1) == "over" && word(at + 2) == "year"
}

/// The two periods that a question compares, as far as it names them. `anchor` is the last day that
/// it can be about.
fn named_periods(tokens: &[Token], anchor: NaiveDate) -> Option<(Span, Span)> {
    let word = |at: usize| tokens.get(at).map(|token| token.word.as_str()).unwrap_or_default();
    let (mut spans, mut yearly) = (Vec::new(), false);
    for (from, _, period) in super::times(tokens, anchor) {
        // "Compared with last year" names no period of its own.
        let against =
            (0..from).rev().take(3).any(|at| super::among("compared vs versus against than", word(at)));
        if against && period.relative && period.grain == Grain::Year {
            yearly = true;
        } else {
            spans.push(period);
        }
    }
    yearly |= (0..tokens.len()).any(|at| is_year_over_year(tokens, at));
    spans.sort_by_key(|period| period.from);
    periods(&spans, yearly, anchor)
}

/// The two periods that are compared, as far as the question names them.
fn periods(named: &[Period], yearly: bool, anchor: NaiveDate) -> Option<(Span, Span)> {
    let span = |period: &Period| Span { from: period.from, to: period.to };
    match named {
        [before, after, ..] if before.to <= after.from => Some((span(before), span(after))),
        [after, ..] => {
            let earlier = if yearly { after.year_before()? } else { after.before()? };
            let (mut before, mut after) = (span(&earlier), span(after));
            // The data does not reach the end of the period: both are cut alike.
            let end = anchor.succ_opt()?;
            if end > after.from && end < after.to {
                before.to = (before.from + (end - after.from)).min(before.to);
                after.to = end;
            }
            Some((before, after))
        }
        [] if yearly => {
            let after = containing(anchor, Grain::Year)?;
            periods(&[after], true, anchor)
        }
        [] => None,
    }
}

/// The last whole period of the data and the one before it.
fn last_two(grain: Grain, last_day: NaiveDate) -> Option<(Span, Span)> {
    let now = containing(last_day, grain)?;
    let nearly = now.to - chrono::Days::new(2);
    let after = if last_day >= nearly { now } else { now.before()? };
    let before = after.before()?;
    Some((Span { from: before.from, to: before.to }, Span { from: after.from, to: after.to }))
}

/// Columns that a change is split over, at most.
const MOST: usize = 8;
/// Values of such a column.
const VALUES: std::ops::RangeInclusive<u64> = 2..=60;

/// The reading with the queries that split the change.
pub(super) fn apply(
    wish: &Wish,
    mut reading: Reading,
    asked: &str,
    catalogue: &Catalogue,
) -> Option<Reading> {
    let form = reading.form.clone()?;
    let grain = forecast::course(&form)?;
    let (Group::Period(time, _), 1) =
        (form.groups.iter().find(|group| matches!(group, Group::Period(..)))?, form.groups.len())
    else {
        return None;
    };
    let time = *time;
    let column = catalogue.tables.get(time.table)?.columns.get(time.column)?;
    let last_day = crate::planner::filters::date_of(&column.max).unwrap_or(wish.anchor).min(wish.anchor);
    // In a conversation about 2025, "in May" is May 2025.
    let last_day = forecast::last_day_within(&form, time, last_day);
    let periods = named_periods(&wish.tokens, last_day);
    let (before, after) = periods.or_else(|| last_two(grain, last_day))?;
    let value = reading.queries.first()?.query.items.get(form.groups.len())?.name.clone();
    let schema = Schema::new(catalogue);
    let measures = both(form.measures.first()?, time, before, after)?;
    let is_average = measures.len() == 4;
    let base = Form {
        table: form.table,
        measures,
        filters: form.filters.iter().filter(|filter| filter.place() != time).cloned().collect(),
        via: form.via.clone(),
        ..Form::default()
    };
    let named = |name: &str, title: &str, form: &Form| {
        let lowered = lower::lower(form, &schema)?;
        (!lowered.multiplies).then(|| Named {
            name: name.to_owned(),
            title: title.to_owned(),
            query: lowered.query,
        })
    };
    let mut queries = vec![named("totals", asked.trim(), &base)?];
    let mut columns = Vec::new();
    for place in dimensions(&base, time, &schema, catalogue) {
        let group = Form { groups: vec![Group::Column(place)], ..base.clone() };
        let label = catalogue.tables.get(place.table)?.columns.get(place.column)?.label.clone();
        let title = format!("{value} by {label}");
        if let Some(query) = named(&format!("part_{}", columns.len() + 1), &title, &group) {
            queries.push(query);
            columns.push(label);
        }
    }
    reading.intent = Intent::Compare;
    reading.queries = queries;
    let chart = ChartWish {
        query: 0,
        kind: ChartKind::Bar,
        x: "value".to_owned(),
        y: vec!["change".to_owned()],
        series: None,
        title: asked.trim().to_owned(),
    };
    reading.charts = if columns.is_empty() { Vec::new() } else { vec![chart] };
    reading.form = Some(form);
    if periods.is_none() {
        reading
            .assumptions
            .push("No period was named: the last whole one is compared with the one before.".to_owned());
    }
    reading.then = Some(super::Afterwards::Change(Split {
        value,
        before,
        after,
        is_average,
        last_day,
        rises: wish.rises,
        columns,
    }));
    Some(reading)
}

/// The measure in the earlier and in the later period; of an average the sums and the numbers of
/// rows.
fn both(measure: &Measure, time: ColumnRef, before: Span, after: Span) -> Option<Vec<Measure>> {
    let within = |span: Span| Box::new(Filter::Within(time, span.from, span.to));
    let of = |aggregate: Aggregate, scalar: &Scalar| {
        [before, after].map(|span| Measure::OfWhere(aggregate, scalar.clone(), within(span)))
    };
    match measure {
        Measure::Rows => Some([before, after].map(|span| Measure::RowsWhere(within(span))).to_vec()),
        Measure::Of(Aggregate::Sum, scalar) => Some(of(Aggregate::Sum, scalar).to_vec()),
        Measure::Of(Aggregate::Count, scalar) => Some(of(Aggregate::Count, scalar).to_vec()),
        Measure::Of(Aggregate::Average, scalar) => {
            Some(of(Aggregate::Sum, scalar).into_iter().chain(of(Aggregate::Count, scalar)).collect())
        }
        _ => None,
    }
}

/// Columns that group the rows of the measure: of its own table first, then of those that each row
/// leads to one row of.
fn dimensions(form: &Form, time: ColumnRef, schema: &Schema, catalogue: &Catalogue) -> Vec<ColumnRef> {
    let mut measured = Vec::new();
    form.measures.iter().for_each(|measure| lower::measure_places(measure, &mut measured));
    let head = measured.iter().find(|place| **place != time).map_or(form.table, |place| place.table);
    let Some(head_table) = catalogue.tables.get(head) else { return Vec::new() };
    let mut tables: Vec<(usize, usize)> = (catalogue.tables.iter().enumerate())
        .filter_map(|(at, table)| {
            let steps = joins::steps(catalogue, &head_table.name, &table.name)?;
            (steps <= 2 && !joins::fans_out(catalogue, &head_table.name, &table.name)).then_some((steps, at))
        })
        .collect();
    if !tables.iter().any(|(_, at)| *at == head) {
        tables.push((0, head));
    }
    tables.sort_unstable();
    let held = |place: ColumnRef| form.filters.iter().any(|filter| filter.places().contains(&place));
    let mut found: Vec<ColumnRef> = Vec::new();
    for (_, at) in tables {
        let Some(table) = catalogue.tables.get(at) else { continue };
        for (column, known) in table.columns.iter().enumerate() {
            let place = ColumnRef { table: at, column };
            let groups = matches!(role(catalogue, table, known), Role::Category | Role::Flag | Role::Text)
                && VALUES.contains(&known.distinct)
                && known.distinct * 4 <= known.seen.max(8);
            if groups && !held(place) && schema.column(place).is_some() && found.len() < MOST {
                found.push(place);
            }
        }
    }
    found
}
