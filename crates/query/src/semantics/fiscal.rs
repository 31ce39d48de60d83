//! Fiscal years: a year of the model's calendar that does not begin in January.

use crate::query::{Compare, Condition, Expr, Grain, Literal, Query};
use chrono::NaiveDate;
use steward_domain::{Calendar, FiscalYearName};

/// The first and the last day of a fiscal year.
pub(super) fn days(calendar: &Calendar, year: i32) -> Option<(NaiveDate, NaiveDate)> {
    let month = u32::from(calendar.fiscal_year_starts);
    let begins_before = month > 1 && calendar.fiscal_year_named_by == FiscalYearName::End;
    let first = if begins_before { year - 1 } else { year };
    let start = NaiveDate::from_ymd_opt(first, month, 1)?;
    let last = NaiveDate::from_ymd_opt(first + 1, month, 1)?.pred_opt()?;
    Some((start, last))
}

/// A question in calendar days: "in fiscal year 2021" becomes "from 2021-04-01 to 2022-03-31", "by
/// fiscal year" becomes "by year". The second says whether it is broken down by fiscal years.
pub(super) fn in_calendar_days(question: &str, calendar: &Calendar) -> Result<(String, bool), String> {
    let words: Vec<&str> = question.split_whitespace().collect();
    let plain = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let mut told: Vec<String> = Vec::new();
    let mut grouped = false;
    let mut place = 0;
    while let Some(word) = words.get(place) {
        let (word_plain, next) =
            (plain(word), words.get(place + 1).map(|word| plain(word)).unwrap_or_default());
        let short = word_plain.strip_prefix("fy").and_then(full_year);
        let (year, used) = match (word_plain.as_str(), next.as_str()) {
            ("fiscal", "year" | "years") => {
                (words.get(place + 2).and_then(|word| full_year(&plain(word))), 2)
            }
            ("fy", _) => (full_year(&next), 1),
            ("fiscal", "quarter" | "quarters") => {
                if !matches!(calendar.fiscal_year_starts, 1 | 4 | 7 | 10) {
                    return Err("fiscal quarters of this calendar are no quarters of the year".to_owned());
                }
                told.push("quarter".to_owned());
                place += 2;
                continue;
            }
            _ if short.is_some() => (short, 0),
            _ => {
                told.push((*word).to_owned());
                place += 1;
                continue;
            }
        };
        match year {
            Some(year) => {
                let (first, last) = days(calendar, year).ok_or("the fiscal year is out of range")?;
                if told.last().is_some_and(|word| matches!(word.as_str(), "in" | "for" | "during" | "of")) {
                    told.pop();
                }
                told.push(format!("from {first} to {last}"));
                place += used + 1;
            }
            None => {
                grouped = true;
                told.push("year".to_owned());
                place += used.max(1);
            }
        }
    }
    Ok((told.join(" "), grouped))
}

fn full_year(text: &str) -> Option<i32> {
    match (text.len(), text.parse::<i32>().ok()?) {
        (4, year @ 1900..=2200) => Some(year),
        (2, year) => Some(2000 + year),
        _ => None,
    }
}

/// Breaks a query down by fiscal years instead of calendar years.
pub(super) fn group_by_fiscal_year(query: &mut Query, calendar: &Calendar) -> Result<(), String> {
    let year = |expr: &Expr| match expr {
        Expr::Truncate(Grain::Year, time) | Expr::Part(Grain::Year, time) => Some((**time).clone()),
        _ => None,
    };
    let Some((old, time)) = query.group.iter().find_map(|expr| Some((expr.clone(), year(expr)?))) else {
        return Err("cannot be broken down by fiscal year here: name the time column".to_owned());
    };
    let number = |number: i64| Box::new(Expr::Literal(Literal::Int(number)));
    let part = |grain: Grain| Box::new(Expr::Part(grain, Box::new(time.clone())));
    let month = i64::from(calendar.fiscal_year_starts);
    let late = Condition::Compare(*part(Grain::Month), Compare::GreaterOrEqual, *number(month));
    let new = match (month, calendar.fiscal_year_named_by) {
        (1, _) => *part(Grain::Year),
        (_, FiscalYearName::Start) => Expr::Choose(
            Box::new(late),
            part(Grain::Year),
            Box::new(Expr::Arithmetic('-', part(Grain::Year), number(1))),
        ),
        (_, FiscalYearName::End) => Expr::Choose(
            Box::new(late),
            Box::new(Expr::Arithmetic('+', part(Grain::Year), number(1))),
            part(Grain::Year),
        ),
    };
    for item in &mut query.items {
        if item.expr == old {
            item.expr = new.clone();
            item.name = "fiscal year".to_owned();
        }
    }
    query.group.iter_mut().filter(|expr| **expr == old).for_each(|expr| *expr = new.clone());
    query.order.iter_mut().filter(|(expr, _)| *expr == old).for_each(|(expr, _)| *expr = new.clone());
    Ok(())
}
