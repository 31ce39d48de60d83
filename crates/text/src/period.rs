//! Time expressions: years, quarters, months, days, and spans relative to a day.
//!
//! The invariant: a span runs from its first day to the day after its last one.

use chrono::{Datelike, Days, Months, NaiveDate};
use serde::{Deserialize, Serialize};

use crate::calendar::MONTHS;

use crate::tokens::Token;

/// A part of the calendar that a time is cut to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Grain {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// A span of days.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    /// First day.
    pub from: NaiveDate,
    /// Day after the last.
    pub to: NaiveDate,
    /// How exact it was said.
    pub grain: Grain,
    /// Counted back from a day, not named.
    pub relative: bool,
    /// A month without a year.
    pub yearless: bool,
}

impl Period {
    fn new(from: NaiveDate, to: NaiveDate, grain: Grain) -> Self {
        Self { from, to, grain, relative: false, yearless: false }
    }

    /// A span by its days, said as exactly as it can be.
    pub fn span(from: NaiveDate, to: NaiveDate) -> Self {
        let grain = match months_between(from, to) {
            Some(12) if from.month() == 1 => Grain::Year,
            Some(3) if from.month0().is_multiple_of(3) => Grain::Quarter,
            Some(1) => Grain::Month,
            _ => Grain::Day,
        };
        Self::new(from, to, grain)
    }

    /// The span of the same length before this one.
    pub fn before(&self) -> Option<Self> {
        let months = months_between(self.from, self.to);
        let from = match months {
            Some(months) => self.from.checked_sub_months(Months::new(months))?,
            None => self
                .from
                .checked_sub_days(Days::new(u64::try_from((self.to - self.from).num_days()).ok()?))?,
        };
        Some(Self { from, to: self.from, ..self.clone() })
    }

    /// The same span a year earlier.
    pub fn year_before(&self) -> Option<Self> {
        let year = Months::new(12);
        Some(Self {
            from: self.from.checked_sub_months(year)?,
            to: self.to.checked_sub_months(year)?,
            ..self.clone()
        })
    }

    /// For people.
    pub fn words(&self) -> String {
        let last = self.to.pred_opt().unwrap_or(self.to);
        match self.grain {
            Grain::Year => self.from.year().to_string(),
            Grain::Quarter => format!("Q{} {}", self.from.month0() / 3 + 1, self.from.year()),
            Grain::Month => self.from.format("%B %Y").to_string(),
            _ if last == self.from => self.from.to_string(),
            _ => format!("{} to {last}", self.from),
        }
    }
}

fn months_between(from: NaiveDate, to: NaiveDate) -> Option<u32> {
    let months = (to.year() - from.year()) * 12 + to.month() as i32 - from.month() as i32;
    (from.day() == 1 && to.day() == 1 && months > 0).then(|| u32::try_from(months).ok()).flatten()
}

/// A calendar year.
pub fn year(year: i32) -> Option<Period> {
    Some(Period::new(
        NaiveDate::from_ymd_opt(year, 1, 1)?,
        NaiveDate::from_ymd_opt(year + 1, 1, 1)?,
        Grain::Year,
    ))
}

fn month(year: i32, month: u32) -> Option<Period> {
    let from = NaiveDate::from_ymd_opt(year, month, 1)?;
    Some(Period::new(from, from.checked_add_months(Months::new(1))?, Grain::Month))
}

fn quarter(year: i32, quarter: u32) -> Option<Period> {
    let from = NaiveDate::from_ymd_opt(year, quarter.checked_sub(1)? * 3 + 1, 1)?;
    Some(Period::new(from, from.checked_add_months(Months::new(3))?, Grain::Quarter))
}

fn day(year: i32, month: u32, day: u32) -> Option<Period> {
    let from = NaiveDate::from_ymd_opt(year, month, day)?;
    Some(Period::new(from, from.succ_opt()?, Grain::Day))
}

fn month_number(word: &str) -> Option<u32> {
    let place = (MONTHS.iter()).position(|known| {
        *known == word
            || word.len() == 3 && known.starts_with(word)
            || word == "sept" && *known == "september"
    })?;
    u32::try_from(place + 1).ok()
}

fn year_number(token: Option<&Token>) -> Option<i32> {
    let token = token?;
    let number =
        token.number.filter(|n| n.fract() == 0.0 && (1700.0..2200.0).contains(n) && token.word.len() == 4)?;
    Some(number as i32)
}

fn day_number(token: Option<&Token>) -> Option<u32> {
    let word = &token?.word;
    let plain = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    plain.parse::<u32>().ok().filter(|day| (1..=31).contains(day))
}

/// Every time expression with its first token and the one after its last.
pub fn read_times(tokens: &[Token], today: NaiveDate) -> Vec<(usize, usize, Period)> {
    let mut found = Vec::new();
    for start in 0..tokens.len() {
        for (length, when) in at(tokens, start, today) {
            found.push((start, start + length, when));
        }
    }
    share_years(tokens, &mut found);
    found
}

/// "March and June 2023", "1 April to 30 June 2022": the year of the last one holds for those
/// before it.
fn share_years(tokens: &[Token], found: &mut Vec<(usize, usize, Period)>) {
    let joins = |at: usize| {
        tokens.get(at).is_some_and(|token| {
            matches!(token.word.as_str(), "and" | "to" | "until" | "till" | "through" | "-" | "," | "or")
        })
    };
    let mut shared: Vec<usize> = Vec::new();
    for at in (0..found.len()).rev() {
        let Some((from, to, when)) = found.get(at).cloned() else { continue };
        if !when.yearless || !joins(to) {
            continue;
        }
        // Behind ", and" the next one starts a token later.
        let next = to + 1 + usize::from(joins(to + 1));
        let later = (found.iter().enumerate())
            .filter(|(place, (start, _, other))| {
                *start == next && (!other.yearless || shared.contains(place)) && other.grain != Grain::Year
            })
            .max_by_key(|(_, (_, end, _))| *end)
            .map(|(_, (.., other))| other.from);
        let Some(later) = later else { continue };
        let wraps = (when.from.month(), when.from.day()) > (later.month(), later.day());
        let year = later.year() - i32::from(wraps);
        let moved = match when.grain {
            Grain::Day => day(year, when.from.month(), when.from.day()),
            _ => month(year, when.from.month()),
        };
        if let (Some(moved), Some(cell)) = (moved, found.get_mut(at)) {
            *cell = (from, to, moved);
            shared.push(at);
        }
    }
    // A day without a year is one only beside a day with a year.
    found.retain(|(_, _, when)| !(when.yearless && when.grain == Grain::Day));
}

fn at(tokens: &[Token], start: usize, today: NaiveDate) -> Vec<(usize, Period)> {
    let token = |offset: usize| tokens.get(start + offset);
    let word = |offset: usize| token(offset).map_or("", |token| token.word.as_str());
    let skip = |offset: usize| usize::from(matches!(word(offset), "of" | "," | "in" | "the"));
    let mut found: Vec<(usize, Period)> = Vec::new();
    let mut add = |length: usize, when: Option<Period>| found.extend(when.map(|when| (length, when)));
    if let Some(number) = year_number(token(0)) {
        add(1, year(number));
        if word(1) == "-" && word(3) == "-" {
            let of = |offset: usize| word(offset).parse::<u32>().ok();
            if let (Some(m), Some(d)) = (of(2), of(4)) {
                add(5, day(number, m, d));
            }
        }
        if let Some(q) = quarter_number(word(1)) {
            add(2, quarter(number, q));
        }
    }
    let ordinal = ["first", "second", "third", "fourth"].iter().position(|known| *known == word(0));
    let named = quarter_number(word(0))
        .map(|q| (q, 1))
        .or_else(|| ordinal.filter(|_| word(1) == "quarter").map(|place| (place as u32 + 1, 2)));
    if let Some((q, length)) = named {
        let gap = skip(length);
        match year_number(token(length + gap)) {
            Some(number) => add(length + gap + 1, quarter(number, q)),
            None => add(length, quarter(today.year(), q)),
        }
    }
    let half = if word(0) == "h1" || word(0) == "first" && word(1) == "half" {
        Some(1)
    } else if word(0) == "h2" || word(0) == "second" && word(1) == "half" {
        Some(2)
    } else {
        None
    };
    if let Some(half) = half {
        let length = if word(0).starts_with('h') { 1 } else { 2 };
        let gap = skip(length);
        if let Some(number) = year_number(token(length + gap)) {
            let from = NaiveDate::from_ymd_opt(number, if half == 1 { 1 } else { 7 }, 1);
            let to = from.and_then(|from| from.checked_add_months(Months::new(6)));
            add(length + gap + 1, from.zip(to).map(|(from, to)| Period::new(from, to, Grain::Day)));
        }
    }
    if let Some(m) = month_number(word(0)) {
        month_first(
            &token,
            &word,
            m,
            &skip,
            start.checked_sub(1).and_then(|before| tokens.get(before)),
            today,
            &mut add,
        );
    }
    if let (Some(d), Some(m)) = (day_number(token(0)), month_number(word(1 + skip(1)))) {
        let length = 2 + skip(1);
        if let Some(number) = year_number(token(length + skip(length))) {
            add(length + skip(length) + 1, day(number, m, d));
        } else if word(1 + skip(1)).len() > 2 {
            add(length, day(today.year(), m, d).map(|when| Period { yearless: true, ..when }));
        }
    }
    if let Some((length, when)) = relative(&word, &token, today) {
        add(length, Some(when));
    }
    found
}

fn quarter_number(word: &str) -> Option<u32> {
    word.strip_prefix('q').and_then(|rest| rest.parse().ok()).filter(|q| (1..=4).contains(q))
}

fn month_first<'t>(
    token: &impl Fn(usize) -> Option<&'t Token>,
    word: &impl Fn(usize) -> &'t str,
    m: u32,
    skip: &impl Fn(usize) -> usize,
    before: Option<&Token>,
    today: NaiveDate,
    add: &mut impl FnMut(usize, Option<Period>),
) {
    let gap = skip(1);
    if let Some(number) = year_number(token(1 + gap)) {
        add(2 + gap, month(number, m));
    }
    if let Some(d) = day_number(token(1)) {
        let gap = skip(2);
        if let Some(number) = year_number(token(2 + gap)) {
            add(3 + gap, day(number, m, d));
        }
    }
    let sure = word(0).len() > 3
        || before.is_some_and(|token| {
            matches!(token.word.as_str(), "in" | "since" | "during" | "before" | "after" | "until")
        });
    let odd = matches!(word(0), "may" | "march")
        && !before.is_some_and(|token| {
            matches!(
                token.word.as_str(),
                "in" | "since"
                    | "during"
                    | "for"
                    | "before"
                    | "after"
                    | "and"
                    | "or"
                    | "to"
                    | "of"
                    | "until"
                    | "between"
                    | "from"
                    | ","
            )
        });
    if sure && !odd {
        let year = if m > today.month() { today.year() - 1 } else { today.year() };
        add(1, month(year, m).map(|when| Period { yearless: true, ..when }));
    }
}

fn relative<'t>(
    word: &impl Fn(usize) -> &'t str,
    token: &impl Fn(usize) -> Option<&'t Token>,
    today: NaiveDate,
) -> Option<(usize, Period)> {
    let next = today.succ_opt()?;
    let span = |from: NaiveDate, to: NaiveDate, grain: Grain| Period {
        relative: true,
        ..Period::new(from, to, grain)
    };
    match word(0) {
        "today" => return Some((1, span(today, next, Grain::Day))),
        "yesterday" => return Some((1, span(today.pred_opt()?, today, Grain::Day))),
        "last" | "past" | "previous" | "this" | "current" => {}
        _ => return None,
    }
    // "the last quarter of 2023" is counted from that year's end.
    let gap = usize::from(word(2) == "of" || word(2) == "in");
    if let Some(number) = year_number(token(2 + gap)).filter(|_| word(0) == "last") {
        let when = match word(1) {
            "quarter" => quarter(number, 4),
            "month" => month(number, 12),
            _ => None,
        };
        if let Some(when) = when {
            return Some((3 + gap, when));
        }
    }
    let this = matches!(word(0), "this" | "current");
    let (number, length) = match token(1).and_then(|token| token.number) {
        Some(number) if !this && (1.0..1000.0).contains(&number) => (number as u32, 3),
        _ => (0, 2),
    };
    let grain = match word(length - 1).trim_end_matches('s') {
        "day" => Grain::Day,
        "week" => Grain::Week,
        "month" => Grain::Month,
        "quarter" => Grain::Quarter,
        "year" => Grain::Year,
        _ => return None,
    };
    if number > 0 {
        let from = match grain {
            Grain::Day => next.checked_sub_days(Days::new(u64::from(number)))?,
            Grain::Week => next.checked_sub_days(Days::new(u64::from(number) * 7))?,
            Grain::Month => next.checked_sub_months(Months::new(number))?,
            Grain::Quarter => next.checked_sub_months(Months::new(number * 3))?,
            Grain::Year => next.checked_sub_months(Months::new(number * 12))?,
        };
        return Some((length, span(from, next, Grain::Day)));
    }
    let now = containing(today, grain)?;
    let when = if this { now } else { now.before()? };
    Some((length, Period { relative: true, ..when }))
}

/// The day, week, month, quarter or year that a day lies in.
pub fn containing(day_in: NaiveDate, grain: Grain) -> Option<Period> {
    match grain {
        Grain::Day => Some(Period::new(day_in, day_in.succ_opt()?, grain)),
        Grain::Week => {
            let from =
                day_in.checked_sub_days(Days::new(u64::from(day_in.weekday().num_days_from_monday())))?;
            Some(Period::new(from, from.checked_add_days(Days::new(7))?, grain))
        }
        Grain::Month => month(day_in.year(), day_in.month()),
        Grain::Quarter => quarter(day_in.year(), day_in.month0() / 3 + 1),
        Grain::Year => year(day_in.year()),
    }
}
