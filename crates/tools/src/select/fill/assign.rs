//! Assigns values to parameters, by type, adjacent words, unit and topic of the parameter.

use super::FillSource;
use super::request_text::{Kind, RequestText, Span};
use super::shape::{Choice, DayFormat, Parameter, Shape, Type};
use crate::select::words::{Word, is_stop, key};
use serde_json::Value as Json;

/// A value, its source and its position.
pub(super) type FoundValue = (Json, FillSource, Option<(usize, usize)>);

/// The minimum score for filling an optional parameter. Required ones take any remaining value.
const CLEAR: f32 = 1.4;

/// The minimum score for a value that no other parameter uses. Quotes alone reach it.
const LEFT: f32 = 0.75;

/// The maximum distance, in words, between a value and a word that relates to it.
const REACH: usize = 6;

/// The values of the parameters, in their order.
pub(super) fn assign(shape: &Shape, said: &RequestText, used: &mut [bool]) -> Vec<Option<FoundValue>> {
    let parameters = &shape.parameters;
    // Words that name the tool itself are not values, so they count as used.
    for (span, used) in said.spans.iter().zip(used.iter_mut()) {
        let mut words = said.words.get(span.before..span.after).unwrap_or_default().iter();
        *used |= span.kind == Kind::Name && words.all(|word| shape.topic.binary_search(&word.key).is_ok());
    }
    let mut found: Vec<Option<FoundValue>> =
        parameters.iter().map(|parameter| chosen(parameter, said, used)).collect();
    pairs(parameters, said, used, &mut found, CLEAR, false);
    for (parameter, found) in parameters.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        *found = inner(parameter, said, used);
    }
    pairs(parameters, said, used, &mut found, -0.6, true);
    pairs(parameters, said, used, &mut found, LEFT, false);
    for (parameter, found) in parameters.iter().zip(&mut found) {
        if found.is_none() {
            *found = phrase(parameter, said).or_else(|| constant(parameter));
        }
    }
    found
}

/// Values that need no span: enumeration values and switches.
fn chosen(parameter: &Parameter, said: &RequestText, used: &mut [bool]) -> Option<FoundValue> {
    if parameter.kind == Type::Boolean {
        return switch(parameter, said);
    }
    if let Some((on, off)) = spelled_switch(parameter) {
        let (value, how, place) = switch(parameter, said)?;
        return Some((if value == Json::Bool(true) { on } else { off }.clone(), how, place));
    }
    let choices = if parameter.choices.is_empty() { &parameter.quoted } else { &parameter.choices };
    let mut hits: Vec<(&Choice, usize, usize)> = choices
        .iter()
        .filter_map(|choice| place(choice, &said.words).map(|(start, end)| (choice, start, end)))
        .collect();
    // The longest match wins. Among equals, the first in the schema wins.
    hits.sort_by_key(|(choice, ..)| std::cmp::Reverse(choice.stems.len()));
    if parameter.kind == Type::List {
        hits.sort_by_key(|(_, start, _)| *start);
        let (first, last) = (hits.first()?.1, hits.last()?.2);
        let values: Vec<Json> = hits.iter().map(|(choice, ..)| choice.value.clone()).collect();
        return Some((values.into(), FillSource::Choice, Some((first, last))));
    }
    let (choice, start, end) = *hits.first()?;
    for (span, used) in said.spans.iter().zip(used) {
        *used |= span.start < end && start < span.end;
    }
    Some((choice.value.clone(), FillSource::Choice, Some((start, end))))
}

/// A switch with text values: `"True"` and `"False"` among the choices.
fn spelled_switch(parameter: &Parameter) -> Option<(&Json, &Json)> {
    let word = |word: &str| {
        let is =
            |choice: &&Choice| choice.value.as_str().is_some_and(|value| value.eq_ignore_ascii_case(word));
        parameter.choices.iter().find(is).map(|choice| &choice.value)
    };
    Some((word("true")?, word("false")?))
}

/// The position where the words of a choice occur consecutively.
fn place(choice: &Choice, words: &[Word]) -> Option<(usize, usize)> {
    let length = choice.stems.len();
    if length == 0 || choice.stems.iter().all(|stem| stem.len() < 2 || is_stop(stem)) {
        return None;
    }
    let fits = |window: &&[Word]| window.iter().zip(&choice.keys).all(|(word, key)| word.key == *key);
    let window = words.windows(length).find(fits)?;
    Some((window.first()?.start, window.last()?.end))
}

/// A switch is on if the request names its topic, and off if "no" or "without" precedes it.
fn switch(parameter: &Parameter, said: &RequestText) -> Option<FoundValue> {
    let weak = ["only", "us", "enabl", "allow", "show", "return", "ad", "flag", "has", "with", "should"];
    let stems: Vec<&String> = parameter.stems.iter().filter(|stem| !weak.contains(&stem.as_str())).collect();
    if stems.is_empty() {
        return None;
    }
    let at: Vec<usize> =
        stems.iter().filter_map(|stem| said.words.iter().position(|word| word.key == key(stem))).collect();
    if at.len() * 2 < stems.len() || at.is_empty() {
        return None;
    }
    let (first, last) = (*at.iter().min()?, *at.iter().max()?);
    let before = said.words.iter().take(first).rev().take(3);
    let off = before.into_iter().any(|word| {
        matches!(word.lower.as_str(), "no" | "not" | "without" | "don't" | "exclude" | "excluding" | "false")
    });
    let place = (said.words.get(first)?.start, said.words.get(last)?.end);
    Some((Json::Bool(!off), FillSource::Switch, Some(place)))
}

/// Assigns spans to parameters, the best pair first.
fn pairs(
    parameters: &[Parameter],
    said: &RequestText,
    used: &mut [bool],
    found: &mut [Option<FoundValue>],
    least: f32,
    needed: bool,
) {
    let mut pairs: Vec<(f32, usize, usize)> = Vec::new();
    for (p, parameter) in parameters.iter().enumerate() {
        let open = found.get(p).is_some_and(Option::is_none) && (!needed || parameter.required);
        if !open
            || parameter.kind == Type::Boolean
            || (!parameter.choices.is_empty() && parameter.kind != Type::List)
        {
            continue;
        }
        for (s, span) in said.spans.iter().enumerate().filter(|(s, _)| !used.get(*s).copied().unwrap_or(true))
        {
            if let Some(score) = score(parameter, span, said).filter(|score| *score >= least) {
                pairs.push((score, p, s));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    for (_, p, s) in pairs {
        let (Some(parameter), Some(slot)) = (parameters.get(p), found.get_mut(p)) else { continue };
        if slot.is_some() || used.get(s).copied().unwrap_or(true) {
            continue;
        }
        let (s, end) = if parameter.kind == Type::List { listed(parameter, said, s, used) } else { (s, s) };
        let Some(span) = said.spans.get(s) else { continue };
        let Some(value) = value(parameter, said, s, end) else { continue };
        let last = said.spans.get(end).map_or(span.end, |last| last.end);
        *slot = Some((value, how(span.kind, end > s), Some((span.start, last))));
        used.iter_mut().take(end + 1).skip(s).for_each(|used| *used = true);
    }
}

fn how(kind: Kind, many: bool) -> FillSource {
    match kind {
        _ if many => FillSource::List,
        Kind::Json => FillSource::List,
        Kind::Quoted => FillSource::Quoted,
        Kind::Link | Kind::Code | Kind::Formula => FillSource::Literal,
        Kind::Date | Kind::Time => FillSource::Date,
        Kind::Number | Kind::Percent => FillSource::Number,
        Kind::Name => FillSource::Name,
    }
}

/// The score of a span for a parameter. `None` if it cannot be used.
fn score(parameter: &Parameter, span: &Span, said: &RequestText) -> Option<f32> {
    let kind = if parameter.kind == Type::List { parameter.items } else { parameter.kind };
    let base = match (parameter.kind, span.kind) {
        (Type::List, Kind::Json) => span.value.as_ref().filter(|value| value.is_array()).map(|_| 3.0),
        (Type::Object | Type::Any, Kind::Json) => Some(2.0),
        _ => affinity(kind, parameter, span),
    }?;
    let many = parameter.kind == Type::List
        && said.text.get(span.end..).is_some_and(|rest| rest.starts_with(" and ") || rest.starts_with(", "));
    Some(base + beside(parameter, span, said) + role(parameter, span, said) + if many { 0.5 } else { 0.0 })
}

/// The base score of a kind of span for a type. `None` if it cannot be used.
fn affinity(kind: Type, parameter: &Parameter, span: &Span) -> Option<f32> {
    let about = parameter.about;
    let yes = |holds: bool, value: f32| if holds { value } else { 0.0 };
    match (kind, span.kind) {
        (Type::Integer | Type::Number, Kind::Number) => {
            let whole = span.value.as_ref().and_then(Json::as_i64);
            let year = whole.is_some_and(|year| (1900..2100).contains(&year));
            // A number in words is often not a value: "the other two sides".
            let spelled = span.text.starts_with(char::is_alphabetic);
            let score = yes(year && about.year, 2.0) - yes(year && !about.year, 0.3) - yes(spelled, 0.5);
            let money = if about.money { 1.2 } else { -0.3 };
            (kind == Type::Number || whole.is_some()).then_some(score + yes(span.money, money))
        }
        (Type::Integer | Type::Number, Kind::Percent) => Some(if about.share { 2.0 } else { -0.2 }),
        (Type::Integer | Type::Number, Kind::Quoted) => super::request_text::amount(&span.text).map(|_| 0.0),
        (Type::Text | Type::Any, kind) => text_affinity(parameter, kind),
        _ => None,
    }
}

fn text_affinity(parameter: &Parameter, kind: Kind) -> Option<f32> {
    let about = parameter.about;
    let dated = about.date || about.time;
    match kind {
        Kind::Date => (about.date || about.time || about.year).then_some(3.0),
        Kind::Time => about.time.then_some(3.0).or(about.date.then_some(0.5)),
        Kind::Link => Some(if about.link { 3.0 } else { 0.2 }),
        Kind::Quoted => Some(if dated { -0.2 } else { 0.8 }),
        Kind::Code => Some(if about.id {
            1.5
        } else if dated {
            -1.0
        } else {
            0.3
        }),
        Kind::Formula => Some(if about.formula { 3.0 } else { -0.4 }),
        Kind::Number => (about.id || about.year || parameter.kind == Type::Any).then_some(if about.opaque {
            1.0
        } else {
            0.2
        }),
        Kind::Percent => Some(-0.4),
        Kind::Name if dated || about.year || about.link || about.formula || about.opaque => None,
        Kind::Name => Some(if about.place || about.person { 1.0 } else { 0.5 }),
        Kind::Json => None,
    }
}

/// The score of words near a span that are also in the parameter's name or description.
fn beside(parameter: &Parameter, span: &Span, said: &RequestText) -> f32 {
    let (mut named, mut told, mut within): (f32, f32, bool) = (0.0, 0.0, false);
    // Only nearby words are checked, so that the cost stays linear in the length of the request.
    let around = span.before.saturating_sub(REACH + 1)..span.after + REACH + 1;
    for (at, word) in said.words.iter().enumerate().take(around.end).skip(around.start) {
        if word.stop {
            continue;
        }
        if at >= span.before && at < span.after {
            // "Premier League" itself contains the word "league".
            let itself = matches!(span.kind, Kind::Name | Kind::Quoted) && span.after - span.before > 1;
            within |= itself && parameter.named.contains(&word.key);
            continue;
        }
        let (distance, ahead) =
            if at < span.before { (span.before - at - 1, true) } else { (at - span.after, false) };
        let (name, described) =
            (parameter.named.contains(&word.key), parameter.described.binary_search(&word.key).is_ok());
        if distance > REACH || !(name || described) {
            continue;
        }
        // A unit follows its number directly; a word for the purpose usually precedes it. A value
        // in between weakens the relation.
        let near =
            if ahead { 1.0 / (1.0 + 0.35 * distance as f32) } else { 0.9 / (1.0 + 0.9 * distance as f32) };
        let inside = if ahead { at + 1..span.before } else { span.after..at };
        let between = inside.clone().any(|at| said.taken.get(at).copied().unwrap_or(false));
        let unit = if !ahead && distance == 0 && span.kind == Kind::Number { 1.6 } else { 1.0 };
        let gap =
            if ahead { said.text.get(word.end..span.start) } else { said.text.get(span.end..word.start) };
        let apart = gap.is_some_and(|gap| gap.contains(". ") || gap.contains("? ") || gap.contains("! "));
        let near = near * unit * if between { 0.45 } else { 1.0 } * if apart { 0.4 } else { 1.0 };
        if name {
            named = named.max(3.0 * near);
        } else {
            told += near;
        }
    }
    let named = if within { named.max(2.0) } else { named };
    named + told.min(2.0) * if named > 0.0 { 0.5 } else { 1.0 } + equals(parameter, span, said)
}

/// The parameter's name directly before the value: `a = 5`, `a: 5`, `a is 5`.
fn equals(parameter: &Parameter, span: &Span, said: &RequestText) -> f32 {
    let before = said.text.get(..span.start).unwrap_or_default().trim_end();
    let bare = before.strip_suffix(['=', ':']).or_else(|| before.strip_suffix(" is"));
    let Some(bare) = bare.map(str::trim_end) else { return 0.0 };
    let named =
        bare.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default().to_lowercase();
    if named == parameter.plain { 4.0 } else { 0.0 }
}

/// The score of the preposition before a span, which indicates the role of the value.
fn role(parameter: &Parameter, span: &Span, said: &RequestText) -> f32 {
    let about = parameter.about;
    let mut before = said.words.iter().take(span.before).rev();
    let word = before
        .find(|word| !matches!(word.lower.as_str(), "the" | "a" | "an"))
        .map_or("", |word| word.lower.as_str());
    let second = before.next().map_or("", |word| word.lower.as_str());
    let yes = |holds: bool, value: f32| if holds { value } else { 0.0 };
    match word {
        "from" | "between" | "starting" | "since" | "leaving" => yes(about.from, 2.0) - yes(about.to, 1.0),
        "to" | "until" | "till" | "towards" => yes(about.to, 2.0) - yes(about.from, 1.0),
        "and" => yes(about.to, 0.4),
        "in" | "near" | "around" => yes(about.place && span.kind == Kind::Name, 1.2),
        "at" => yes(about.place && span.kind == Kind::Name, 0.5),
        "by" => yes(about.person, 1.5),
        "least" if second == "at" => yes(about.from, 1.5),
        "most" if second == "at" => yes(about.to, 1.5),
        "over" | "above" => yes(about.from, 0.8),
        "under" | "below" => yes(about.to, 0.8),
        "for" | "of" => 0.2,
        _ => 0.0,
    }
}

/// The first and last span of the list that contains `at`. Members are separated by commas and
/// "and".
fn listed(parameter: &Parameter, said: &RequestText, at: usize, used: &[bool]) -> (usize, usize) {
    let (mut first, mut last) = (at, at);
    if said.spans.get(at).is_none_or(|span| span.kind == Kind::Json) {
        return (first, last);
    }
    let joined = |a: usize, b: usize, other: usize| {
        let (Some(one), Some(next), Some(new)) =
            (said.spans.get(a), said.spans.get(b), said.spans.get(other))
        else {
            return false;
        };
        let between = said.text.get(one.end..next.start).unwrap_or_default().trim().trim_matches(['"', '\'']);
        matches!(between.trim(), "," | "and" | ", and" | "&" | "or" | ", or" | "to" | "and the")
            && affinity(parameter.items, parameter, new).is_some()
            && !used.get(other).copied().unwrap_or(true)
    };
    while joined(last, last + 1, last + 1) {
        last += 1;
    }
    while let Some(before) = first.checked_sub(1).filter(|before| joined(*before, first, *before)) {
        first = before;
    }
    (first, last)
}

/// The value of the spans from `first` to `last` in the type of the parameter.
fn value(parameter: &Parameter, said: &RequestText, first: usize, last: usize) -> Option<Json> {
    let span = said.spans.get(first)?;
    if parameter.kind != Type::List {
        return single(parameter.kind, parameter, span);
    }
    if span.kind == Kind::Json {
        return span.value.clone();
    }
    let spans = said.spans.get(first..=last)?;
    spans
        .iter()
        .map(|span| single(parameter.items, parameter, span))
        .collect::<Option<Vec<_>>>()
        .map(Json::from)
}

fn single(kind: Type, parameter: &Parameter, span: &Span) -> Option<Json> {
    match (kind, span.kind) {
        (Type::Integer | Type::Number, Kind::Quoted) => super::request_text::amount(&span.text),
        (Type::Number, Kind::Percent) if !parameter.about.percent => {
            span.value.as_ref().and_then(Json::as_f64).map(|value| Json::from(value / 100.0))
        }
        (Type::Integer | Type::Number, _) | (Type::Any, Kind::Number) | (_, Kind::Json) => span.value.clone(),
        (_, Kind::Date) => Some(day(parameter.format, span).into()),
        (_, Kind::Formula) => Some(span.text.replace('^', "**").into()),
        (_, Kind::Name) if parameter.about.town => {
            Some(span.text.split(", ").next().unwrap_or_default().into())
        }
        _ => Some(span.text.clone().into()),
    }
}

/// A date in the parameter's format. Unchanged if the year is unknown.
fn day(format: DayFormat, span: &Span) -> String {
    let Some((year, month, said_day)) = span.day.filter(|(year, ..)| *year > 0) else {
        return span.text.clone();
    };
    let day = said_day.max(1);
    let named = span.text.chars().any(char::is_alphabetic);
    match format {
        DayFormat::MonthFirst => format!("{month:02}/{day:02}/{year}"),
        DayFormat::DayFirst => format!("{day:02}/{month:02}/{year}"),
        DayFormat::AsSaid if !named || said_day == 0 => span.text.clone(),
        DayFormat::Iso | DayFormat::AsSaid => format!("{year}-{month:02}-{day:02}"),
    }
}

/// Lower-case words after a word that introduces them: "in mountain view", "by jinjer".
fn phrase(parameter: &Parameter, said: &RequestText) -> Option<FoundValue> {
    if parameter.kind != Type::Text || !parameter.choices.is_empty() {
        return None;
    }
    let about = parameter.about;
    let special = about.date || about.time || about.link || about.opaque || about.formula || about.year;
    let plain = parameter.required && !special && !about.place && !about.person;
    let announces = |word: &str| match word {
        "in" | "near" | "around" => about.place && !about.from,
        "from" => about.place && about.from,
        "to" => about.place && about.to,
        "by" => about.person,
        "for" | "of" | "about" | "on" | "called" | "named" | "titled" => plain,
        _ => false,
    };
    let free = |at: &usize| {
        said.words.get(at + 1).is_some_and(|next| !next.stop || next.lower == "a" || next.lower == "the")
    };
    let at = said
        .words
        .iter()
        .enumerate()
        .filter(|(_, word)| announces(&word.lower))
        .map(|(at, _)| at)
        .find(free)?;
    let skip = said.words.get(at + 1).is_some_and(|word| matches!(word.lower.as_str(), "the" | "a" | "an"));
    let first = at + 1 + usize::from(skip);
    let mut last = first;
    let begin = said.words.get(first).filter(|word| !word.stop && !word.capital)?;
    while let (Some(one), Some(next)) = (said.words.get(last), said.words.get(last + 1)) {
        let close = said.text.get(one.end..next.start) == Some(" ");
        if !close || next.stop || last - first >= 2 {
            break;
        }
        last += 1;
    }
    let end = said.words.get(last)?.end;
    if said.spans.iter().any(|span| span.start < end && begin.start < span.end) {
        return None;
    }
    Some((said.text.get(begin.start..end)?.into(), FillSource::Phrase, Some((begin.start, end))))
}

/// An object that is not written as JSON, filled from its own parameters.
fn inner(parameter: &Parameter, said: &RequestText, used: &mut [bool]) -> Option<FoundValue> {
    if parameter.kind != Type::Object || parameter.inner.parameters.is_empty() {
        return None;
    }
    let found = assign(&parameter.inner, said, used);
    let mut object = serde_json::Map::new();
    let mut place: Option<(usize, usize)> = None;
    for (one, found) in parameter.inner.parameters.iter().zip(found) {
        let Some((value, _, at)) = found else { continue };
        object.insert(one.name.clone(), value);
        place = match (place, at) {
            (Some((start, end)), Some((s, e))) => Some((start.min(s), end.max(e))),
            (place, at) => place.or(at),
        };
    }
    let place = place?;
    Some((object.into(), FillSource::List, Some(place)))
}

/// The only value that the schema allows, or the default of a required parameter.
fn constant(parameter: &Parameter) -> Option<FoundValue> {
    let only = match parameter.choices.as_slice() {
        [only] => Some(&only.value),
        _ => parameter.default.as_ref(),
    };
    only.filter(|_| parameter.required).map(|value| (value.clone(), FillSource::Constant, None))
}
