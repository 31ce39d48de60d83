//! One table of ours and theirs over the rounds: the middle, the spread, how many times better ours
//! is, and the goal.
//!
//! The ratio is taken within each round, where both had the same machine; its middle is what
//! counts.

use std::fmt;

/// What a figure means, and so which of two is better.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unit {
    /// Steps a second: more is better.
    PerSecond,
    /// Less is better.
    Seconds,
    /// Less is better.
    Bytes,
}

impl Unit {
    fn show(self, figure: f64) -> String {
        match self {
            Self::PerSecond => format!("{}/s", significant(figure)),
            Self::Seconds if figure.abs() < 1.0 => format!("{} ms", significant(figure * 1e3)),
            Self::Seconds => format!("{figure:.2} s"),
            Self::Bytes if figure.abs() < 1e3 => format!("{figure:.0} B"),
            Self::Bytes if figure.abs() < 1e6 => format!("{} kB", significant(figure / 1e3)),
            Self::Bytes => format!("{} MB", significant(figure / 1e6)),
        }
    }

    /// How many times better ours is. A figure that is not above nothing has no ratio.
    fn times(self, ours: f64, theirs: f64) -> Option<f64> {
        let (more, less) = if self == Self::PerSecond { (ours, theirs) } else { (theirs, ours) };
        (more > 0.0 && less > 0.0).then(|| more / less)
    }
}

/// A line of the table, without who is compared.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub(super) what: &'static str,
    pub(super) unit: Unit,
    /// How many times better ours is to be.
    pub(super) goal: Option<f64>,
}

struct Row {
    measure: Measure,
    peer: &'static str,
    rounds: Vec<(Option<f64>, Option<f64>)>,
}

impl Row {
    fn ours(&self) -> Samples {
        Samples::new(self.rounds.iter().filter_map(|round| round.0))
    }

    fn theirs(&self) -> Samples {
        Samples::new(self.rounds.iter().filter_map(|round| round.1))
    }

    fn ratio(&self) -> Samples {
        let times = |round: &(Option<f64>, Option<f64>)| self.measure.unit.times(round.0?, round.1?);
        Samples::new(self.rounds.iter().filter_map(times))
    }

    fn goal(&self) -> String {
        match (self.measure.goal, self.ratio().middle()) {
            (Some(goal), Some(ratio)) => {
                format!(">= {goal}x  {}", if ratio >= goal { "met" } else { "MISSED" })
            }
            (Some(goal), None) => format!(">= {goal}x  not measured"),
            (None, _) => String::new(),
        }
    }
}

/// Figures of one kind, smallest first.
struct Samples(Vec<f64>);

impl Samples {
    fn new(figures: impl Iterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_by(f64::total_cmp);
        Self(figures)
    }

    fn middle(&self) -> Option<f64> {
        let half = self.0.len() / 2;
        let upper = self.0.get(half)?;
        if !self.0.len().is_multiple_of(2) {
            return Some(*upper);
        }
        Some((self.0.get(half.checked_sub(1)?)? + upper) / 2.0)
    }

    /// The middle, and from where to where when there is more than one.
    fn show(&self, show: impl Fn(f64) -> String) -> String {
        match (self.middle(), self.0.as_slice()) {
            (Some(middle), [least, .., most]) => {
                format!("{} ({} to {})", show(middle), show(*least), show(*most))
            }
            (Some(middle), _) => show(middle),
            (None, _) => "-".to_owned(),
        }
    }
}

/// The rows in the order in which they were first seen, and what is to be said below them.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Table {
    /// One round of ours and theirs; nothing stands for what was not measured.
    pub(super) fn add(
        &mut self,
        measure: Measure,
        peer: &'static str,
        ours: Option<f64>,
        theirs: Option<f64>,
    ) {
        let same = |row: &&mut Row| row.measure.what == measure.what && row.peer == peer;
        match self.rows.iter_mut().find(same) {
            Some(row) => row.rounds.push((ours, theirs)),
            None => self.rows.push(Row { measure, peer, rounds: vec![(ours, theirs)] }),
        }
    }

    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["what", "steward", "beside", "theirs", "ratio", "goal"].map(str::to_owned);
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        // Rows of one kind stand together, in the order of the first of them.
        rows.sort_by_key(|row| self.rows.iter().position(|first| first.measure.what == row.measure.what));
        let cells = rows.into_iter().map(|row| {
            let show = |figure| row.measure.unit.show(figure);
            [
                row.measure.what.to_owned(),
                row.ours().show(show),
                row.peer.to_owned(),
                row.theirs().show(show),
                row.ratio().show(times),
                row.goal(),
            ]
        });
        let lines: Vec<[String; 6]> = std::iter::once(head).chain(cells).collect();
        let mut widths = [0; 6];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = cell.chars().count().max(*width);
            }
        }
        for line in &lines {
            let padded = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(f, "{}", padded.collect::<Vec<_>>().join("   ").trim_end())?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

/// The largest of some figures as a multiple of the smallest.
pub(super) fn flatness(figures: &[f64]) -> Option<f64> {
    let sorted = Samples::new(figures.iter().copied()).0;
    let (least, most) = (sorted.first()?, sorted.last()?);
    (*least > 0.0).then(|| most / least)
}

fn times(ratio: f64) -> String {
    format!("{}x", significant(ratio))
}

/// Three digits that mean something, and no more behind the point than they need.
fn significant(figure: f64) -> String {
    match figure.abs() {
        100.0.. => grouped(figure),
        10.0..100.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

/// `12,345`
fn grouped(figure: f64) -> String {
    let digits = format!("{:.0}", figure.abs());
    let mut shown = if figure < 0.0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Measure, Samples, Table, Unit, flatness};

    const SPEED: Measure = Measure { what: "nothing kept", unit: Unit::PerSecond, goal: Some(100.0) };

    #[test]
    fn figures_are_shown_as_people_write_them() {
        let check = |unit: Unit, figure, expected| assert_eq!(unit.show(figure), expected);
        check(Unit::PerSecond, 376_312.4, "376,312/s");
        check(Unit::PerSecond, 1_000_000.0, "1,000,000/s");
        check(Unit::PerSecond, 99.94, "99.9/s");
        check(Unit::Seconds, 0.0123, "12.3 ms");
        check(Unit::Seconds, 2.266, "2.27 s");
        check(Unit::Bytes, 250.4, "250 B");
        check(Unit::Bytes, 1_800.0, "1.80 kB");
        check(Unit::Bytes, -4_096.0, "-4.10 kB");
        check(Unit::Bytes, 2.5e7, "25.0 MB");
    }

    #[test]
    fn more_is_better_for_speeds_and_less_for_all_else() {
        assert_eq!(Unit::PerSecond.times(200.0, 2.0), Some(100.0));
        assert_eq!(Unit::Seconds.times(0.5, 2.0), Some(4.0));
        assert_eq!(Unit::Bytes.times(100.0, 50.0), Some(0.5));
        assert_eq!(Unit::Bytes.times(0.0, 50.0), None);
        assert_eq!(Unit::Bytes.times(10.0, -50.0), None);
    }

    #[test]
    fn the_middle_is_between_two_when_there_is_no_one_in_the_middle() {
        let middle = |figures: &[f64]| Samples::new(figures.iter().copied()).middle();
        assert_eq!(middle(&[]), None);
        assert_eq!(middle(&[3.0]), Some(3.0));
        assert_eq!(middle(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(middle(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn a_flat_cost_is_one_and_a_growing_one_is_more() {
        assert_eq!(flatness(&[250.0, 250.0]), Some(1.0));
        assert_eq!(flatness(&[300.0, 250.0, 200.0]), Some(1.5));
        assert_eq!(flatness(&[]), None);
        assert_eq!(flatness(&[0.0, 1.0]), None);
    }

    /// The ratio of each round counts: a slow round that slows both changes nothing.
    #[test]
    fn the_table_shows_middle_spread_ratio_and_goal() {
        let mut table = Table::default();
        for (ours, theirs) in [(400_000.0, 4_000.0), (200_000.0, 1_000.0), (420_000.0, 4_000.0)] {
            table.add(SPEED, "LangGraph", Some(ours), Some(theirs));
            table.add(
                Measure { what: "import", unit: Unit::Seconds, goal: None },
                "LangGraph",
                None,
                Some(0.6),
            );
            table.add(SPEED, "slow", Some(ours), None);
            table.add(SPEED, "quick", Some(ours), Some(10_000.0));
        }
        table.note("a note".to_owned());
        let expected = "\
what           steward                              beside      theirs                            ratio                    goal
nothing kept   400,000/s (200,000/s to 420,000/s)   LangGraph   4,000/s (1,000/s to 4,000/s)      105x (100x \
to 200x)      >= 100x  met
nothing kept   400,000/s (200,000/s to 420,000/s)   slow        -                                 -                        >= 100x  not measured
nothing kept   400,000/s (200,000/s to 420,000/s)   quick       10,000/s (10,000/s to 10,000/s)   40.0x \
(20.0x to 42.0x)   >= 100x  MISSED
import         -                                    LangGraph   600 ms (600 ms to 600 ms)         -
a note
";
        assert_eq!(table.to_string(), expected);
    }
}
