//! Statistics over the values of one column: the evidence for its format.
//!
//! Counting takes one pass and decides nothing by itself; `guess` evaluates it. Decisions that the
//! values do not force are recorded as assumptions.

use super::guess::Hint;
use super::moment::{self, Order, Shape};
use super::number::{self, Look, Mark};
use super::value_format::{Style, Words, is_empty_text, is_nothing};
use crate::frame::Value;

/// What was counted over the values of a column.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) total: usize,
    pub(super) empty: usize,
    pub(super) nothing: usize,
    pub(super) empty_text: usize,
    pub(super) yes: [usize; 5],
    pub(super) no: [usize; 5],
    pub(super) numbers: usize,
    pub(super) marks: [usize; 5],
    pub(super) spacer: Option<char>,
    pub(super) grouped: bool,
    pub(super) spaced: usize,
    pub(super) spaced_short: usize,
    pub(super) spaced_most: f64,
    pub(super) unspaced_most: f64,
    pub(super) signs: Vec<char>,
    pub(super) signed: usize,
    pub(super) percent: usize,
    pub(super) parentheses: usize,
    pub(super) scaled: usize,
    pub(super) unclear_scale: usize,
    pub(super) scales: Vec<f64>,
    pub(super) leading_zero: usize,
    pub(super) huge: usize,
    pub(super) dialled: usize,
    pub(super) fewest_digits: usize,
    pub(super) exponents: usize,
    pub(super) ambiguous: Option<String>,
    pub(super) dates: Dates,
}

/// What was counted over the dates of a column.
#[derive(Debug, Default)]
pub(super) struct Dates {
    pub(super) count: usize,
    pub(super) clocks: usize,
    pub(super) past_midnight: usize,
    pub(super) zoned: usize,
    pub(super) iso: usize,
    pub(super) months: usize,
    pub(super) named: usize,
    pub(super) by_order: usize,
    pub(super) first_big: usize,
    pub(super) first_year: usize,
    pub(super) second_big: usize,
    pub(super) dotted: usize,
    pub(super) future: Option<String>,
    pub(super) seasons: usize,
    pub(super) first_month: Option<chrono::NaiveDate>,
    pub(super) several_months: bool,
    pub(super) sample: Option<String>,
}

/// A two-digit year that would be later than this may belong to the last century.
const FUTURE: i32 = 2040;

/// At least 98 %.
pub(super) fn enough(part: usize, total: usize) -> bool {
    total > 0 && part.saturating_mul(100) >= total.saturating_mul(98)
}

impl Evidence {
    /// Counts one value.
    pub(super) fn add(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            self.empty += 1;
            return;
        }
        self.empty_text += usize::from(is_empty_text(text));
        if is_nothing(text) {
            self.nothing += 1;
            return;
        }
        self.total += 1;
        if text.len() <= 5 {
            for ((words, yes), no) in Words::ALL.into_iter().zip(&mut self.yes).zip(&mut self.no) {
                match words.read(text) {
                    Some(true) => *yes += 1,
                    Some(false) => *no += 1,
                    None => {}
                }
            }
        }
        if let Some(look) = number::look(text) {
            self.add_number(text, &look);
        } else {
            self.dates.add(text);
        }
    }

    /// Counts one number.
    pub(super) fn add_number(&mut self, text: &str, look: &Look<'_>) {
        self.numbers += 1;
        if let Some(count) = self.marks.get_mut(look.mark as usize) {
            *count += 1;
        }
        if matches!(look.mark, Mark::MaybeComma | Mark::MaybePoint) && self.ambiguous.is_none() {
            self.ambiguous = Some(text.to_owned());
        }
        self.spacer = self.spacer.or(look.spacer);
        self.grouped |= look.grouped;
        let size = number::number(text, '.').unwrap_or(0.0).abs();
        if look.spacer == Some(' ') {
            self.spaced_most = self.spaced_most.max(size);
            self.spaced += 1;
            self.spaced_short +=
                usize::from(look.bare.core.bytes().take_while(u8::is_ascii_digit).count() < 3);
        } else {
            self.unspaced_most = self.unspaced_most.max(size);
        }
        let bare = &look.bare;
        if let Some(sign) = bare.currency {
            self.signed += 1;
            if !self.signs.contains(&sign) {
                self.signs.push(sign);
            }
        }
        self.percent += usize::from(bare.percent);
        self.parentheses += usize::from(bare.parentheses);
        if bare.scale != 1.0 {
            self.scaled += 1;
            self.unclear_scale += usize::from(text.ends_with(['m', 't', 'b']) && !text.ends_with("mm"));
            if !self.scales.contains(&bare.scale) {
                self.scales.push(bare.scale);
            }
        }
        self.fewest_digits =
            if self.numbers == 1 { look.digits } else { self.fewest_digits.min(look.digits) };
        self.leading_zero += usize::from(look.leading_zero);
        self.huge += usize::from(
            look.mark == Mark::Whole && look.digits > 18 && !look.exponent && text.parse::<i64>().is_err(),
        );
        self.dialled += usize::from(bare.plus && look.digits >= 9 && look.mark == Mark::Whole);
        self.exponents += usize::from(look.exponent);
    }

    /// How often a mark was seen.
    pub(super) fn mark(&self, mark: Mark) -> usize {
        self.marks.get(mark as usize).copied().unwrap_or(0)
    }

    /// The pair of words, when every value is one of them.
    pub(super) fn words(&self) -> Option<Words> {
        Words::ALL.into_iter().zip(self.yes.iter().zip(&self.no)).find_map(|(words, (yes, no))| {
            let both = *yes > 0 && *no > 0;
            // `Unknown` next to yes and no is an answer; next to true and false it is a missing
            // value.
            let answers = words == Words::TrueFalse || self.nothing == self.empty_text;
            let clear = (both && answers) || (words == Words::TrueFalse && yes + no > 0);
            (clear && yes + no == self.total).then_some(words)
        })
    }

    /// Scale words are accepted only if they are unambiguous: `5m` may be metres, `3B` a flat.
    pub(super) fn scale_is_clear(&self) -> bool {
        let fractions = self.mark(Mark::Point) + self.mark(Mark::Comma);
        self.scaled == 0
            || self.signed > 0
            || (self.unclear_scale < self.scaled && (self.scales.len() > 1 || fractions > 0))
    }

    /// `448 441` may be a list of two numbers: spaces count as thousands separators only if they
    /// occur often.
    pub(super) fn spaces_are_clear(&self) -> bool {
        let alike = self.spaced_most <= self.unspaced_most * 10.0;
        self.spaced == 0 || self.spaced_short > 0 || alike || self.spaced * 10 >= self.numbers * 3
    }

    /// Identifiers made of digits are text, not amounts.
    pub(super) fn is_identifier(&self, hint: Hint) -> bool {
        let fractions = self.mark(Mark::Point) + self.mark(Mark::Comma) + self.exponents;
        let code = self.leading_zero > 0 && !hint.part_of_date;
        let telephone = self.dialled * 2 > self.total;
        fractions == 0
            && (code
                || self.huge > 0
                || telephone
                || (hint.identifier.is_some_and(|least| self.fewest_digits >= least)
                    && self.signed == 0
                    && self.percent == 0))
    }

    /// The number style, what had to be assumed, and what is worth a note in a profile.
    pub(super) fn style(
        &self,
        decimal_comma: bool,
        assumptions: &mut Vec<String>,
        notes: &mut Vec<String>,
    ) -> Style {
        let (points, commas) = (self.mark(Mark::Point), self.mark(Mark::Comma));
        let by_comma = if points == commas { decimal_comma } else { commas > points };
        let decimal = if by_comma { ',' } else { '.' };
        let other = if by_comma { '.' } else { ',' };
        let thousands = if by_comma { self.mark(Mark::MaybePoint) } else { self.mark(Mark::MaybeComma) };
        let group =
            if thousands > 0 || (self.grouped && self.spacer.is_none()) { Some(other) } else { self.spacer };
        // A column that only holds values like 1,234 is ambiguous.
        if points + commas == 0
            && let Some(sample) = &self.ambiguous
            && let Some(number) = number::number(sample, decimal)
            && (by_comma || sample.contains(','))
            && (by_comma || self.signs.is_empty())
        {
            let plain = Value::Float(number).plain();
            notes.push(format!("{sample} was read as the number {plain}"));
        }
        if self.signs.len() > 1 {
            let signs: Vec<String> = self.signs.iter().map(char::to_string).collect();
            assumptions.push(format!(
                "amounts in several currencies ({}) were read as bare numbers",
                signs.join(" ")
            ));
        }
        if self.percent > 0 && self.percent < self.numbers {
            assumptions.push("values with and without a percent sign were read alike".to_owned());
        }
        Style {
            decimal,
            group,
            currency: self.signs.first().copied().filter(|_| self.signs.len() == 1),
            percent: self.percent * 2 > self.numbers,
            parentheses: self.parentheses > 0,
            scaled: self.scaled > 0,
        }
    }
}

impl Dates {
    /// Counts one value, if it is a date under any order.
    pub(super) fn add(&mut self, text: &str) {
        // The order only matters where numbers come first.
        let orders: &[Order] = if text.starts_with(|c: char| c.is_ascii_digit()) {
            &[Order::Mdy, Order::Dmy, Order::Ymd]
        } else {
            &[Order::Mdy]
        };
        let found = orders.iter().find_map(|order| moment::moment(text, *order));
        let Some(found) = found else { return };
        self.count += 1;
        self.zoned += usize::from(found.zoned);
        if let Some(clock) = found.clock {
            self.clocks += 1;
            self.past_midnight += usize::from(clock != chrono::NaiveTime::MIN);
        }
        let year = chrono::Datelike::year(&found.day);
        if year > FUTURE && self.future.is_none() && !text.contains(&year.to_string()) {
            self.future = Some(format!("{text} was read as the year {year}"));
        }
        match found.shape {
            Shape::Iso => self.iso += 1,
            Shape::Month => self.add_month(text, found.day),
            Shape::Named => self.named += 1,
            _ => {}
        }
        if let Some((first, second, separator)) = found.parts {
            self.by_order += 1;
            self.first_year += usize::from(first > 31);
            self.first_big += usize::from(first > 12);
            self.second_big += usize::from(second > 12);
            self.dotted += usize::from(separator == b'.');
            self.sample.get_or_insert_with(|| text.to_owned());
        }
    }

    /// Counts a month, and whether it could be a season such as 2004/05.
    pub(super) fn add_month(&mut self, text: &str, day: chrono::NaiveDate) {
        use chrono::Datelike;
        self.months += 1;
        let next = u32::try_from((day.year() + 1) % 100).unwrap_or(0);
        self.seasons += usize::from(day.month() == next && text.bytes().all(|b| !b.is_ascii_alphabetic()));
        self.several_months |= text.contains('/') || self.first_month.is_some_and(|known| known != day);
        self.first_month.get_or_insert(day);
    }

    /// Two consecutive years, as in 2004/05 and 2005/06, are seasons and not months.
    pub(super) fn is_seasons(&self) -> bool {
        self.seasons > 0 && self.seasons == self.months && self.several_months
    }

    /// How most of them are written.
    pub(super) fn shape(&self) -> Shape {
        if self.iso == self.count {
            Shape::Iso
        } else if self.months * 2 > self.count {
            Shape::Month
        } else if self.named * 2 > self.count {
            Shape::Named
        } else {
            Shape::Numeric
        }
    }

    /// The order of the date parts, and what had to be assumed.
    pub(super) fn order<'a>(
        &self,
        values: impl Iterator<Item = &'a str> + Clone,
        decimal_comma: bool,
        assumptions: &mut Vec<String>,
    ) -> Order {
        if self.by_order == 0 {
            return Order::Ymd;
        }
        if self.first_year > 0 {
            return Order::Ymd;
        }
        if self.first_big != self.second_big {
            return if self.first_big > self.second_big { Order::Dmy } else { Order::Mdy };
        }
        let mut order =
            if self.dotted * 2 > self.by_order || decimal_comma { Order::Dmy } else { Order::Mdy };
        // Rows are often sorted by time: if only one reading is sorted, or only one has even steps,
        // it is meant.
        match (steps(values.clone(), Order::Dmy), steps(values, Order::Mdy)) {
            (Some(_), None) => order = Order::Dmy,
            (None, Some(_)) => order = Order::Mdy,
            (Some(by_day), Some(by_month)) if by_day < 1.25 && by_month > 5.0 => order = Order::Dmy,
            (Some(by_day), Some(by_month)) if by_month < 1.25 && by_day > 5.0 => order = Order::Mdy,
            _ => {}
        }
        if let Some(sample) = &self.sample {
            assumptions.push(format!("{sample} was read as {}", order.word()));
        }
        order
    }
}

/// How uneven the steps between dates are: the longest over the shortest. `None` unless at least
/// six dates are sorted.
fn steps<'a>(values: impl Iterator<Item = &'a str>, order: Order) -> Option<f64> {
    let (mut up, mut down, mut count, mut last) = (0_usize, 0_usize, 0_usize, None);
    let (mut shortest, mut longest) = (f64::INFINITY, 0.0_f64);
    for moment in values.filter_map(|value| moment::moment(value, order)) {
        let time = moment.time();
        if let Some(last) = last.replace(time) {
            let step = (time - last).num_seconds();
            up += usize::from(step > 0);
            down += usize::from(step < 0);
            let size = step.unsigned_abs() as f64;
            if size > 0.0 {
                shortest = shortest.min(size);
                longest = longest.max(size);
            }
        }
        count += 1;
    }
    (count >= 6 && (up == 0) != (down == 0)).then_some(longest / shortest)
}
