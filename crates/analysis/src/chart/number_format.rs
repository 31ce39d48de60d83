//! One number format for a whole column, so that the numbers of a table or a sentence are
//! consistent.
//!
//! Invariant: the value is that of the cell; only the number of decimals is chosen for the column.

use crate::frame::{Frame, Unit, Value, group, show};

/// The format of the numbers of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberFormat {
    unit: Unit,
    /// A fixed number of decimals; if absent, each number chooses its own.
    places: Option<usize>,
    /// Whether further decimals may be dropped.
    rounds: bool,
}

impl NumberFormat {
    /// Chooses the format for a column.
    pub(crate) fn of(frame: &Frame, column: usize) -> Self {
        let unit = frame.fields.get(column).map_or(Unit::Plain, |field| field.unit);
        let floats = frame.column(column).any(|value| matches!(value, Value::Float(_)));
        let numbers: Vec<f64> = frame.numbers(column).into_iter().filter(|number| *number != 0.0).collect();
        let least = numbers.iter().fold(f64::INFINITY, |least, number| least.min(number.abs()));
        let most = numbers.iter().fold(0.0_f64, |most, number| most.max(number.abs()));
        let needed = numbers.iter().map(|number| fraction(*number)).max().unwrap_or(0);
        let large = most >= 100_000.0 && least >= 1000.0;
        let places = match unit {
            _ if !floats => None,
            // Cents are irrelevant next to hundreds of thousands, unless there are small amounts
            // too.
            Unit::Currency(_) | Unit::Plain if large => Some(0),
            Unit::Currency(_) if least >= 1.0 => Some(2),
            Unit::Plain if needed <= 2 && least >= 1.0 => Some(needed),
            _ => None,
        };
        Self { unit, places, rounds: large || matches!(unit, Unit::Currency(_)) }
    }

    /// Formats a cell of the column, or a number that was computed from it.
    pub(crate) fn show(self, value: &Value) -> String {
        // Dozens of digits are unreadable; whole numbers may be keys and keep theirs.
        if let Value::Float(number) = value
            && number.is_finite()
            && number.abs() >= 1e18
        {
            return format!("{number:.3e}");
        }
        let Some(places) = self.places else { return show(value, self.unit) };
        let Value::Float(number) = value else { return show(value, self.unit) };
        // A computed number (a mean, a small change) may need more decimals than the cells.
        let finer = fraction(*number) > places && !self.rounds;
        if !number.is_finite() || finer || (places == 0 && number.abs() < 100.0) {
            return show(value, self.unit);
        }
        let text = group(number.abs(), places, true);
        let sign = if *number < 0.0 && text.chars().any(|c| matches!(c, '1'..='9')) { "-" } else { "" };
        match self.unit {
            Unit::Currency(mark) => format!("{sign}{mark}{text}"),
            _ => format!("{sign}{text}"),
        }
    }
}

/// How many decimals a number needs, up to three.
fn fraction(number: f64) -> usize {
    (0..3)
        .find(|places| {
            let grown = number * 10_f64.powi(*places);
            (grown - grown.round()).abs() < 1e-6
        })
        .map_or(3, |places| places as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Field, Kind};

    fn column(unit: Unit, values: &[f64]) -> Vec<String> {
        let field = Field { name: "n".into(), kind: Kind::Number, unit };
        let rows = values.iter().map(|v| vec![Value::Float(*v)]).collect();
        let frame = Frame { name: String::new(), fields: vec![field], rows };
        let format = NumberFormat::of(&frame, 0);
        frame.column(0).map(|value| format.show(value)).collect()
    }

    #[test]
    fn a_column_reads_as_one() {
        assert_eq!(column(Unit::Currency('€'), &[99_276.92, 101_708.4]), ["€99,277", "€101,708"]);
        assert_eq!(column(Unit::Currency('€'), &[9.5, -1200.0]), ["€9.50", "-€1,200.00"]);
        assert_eq!(column(Unit::Currency('€'), &[0.5, 120_000.0]), ["€0.50", "€120,000"]);
        assert_eq!(column(Unit::Plain, &[4.5, 3.0]), ["4.5", "3.0"]);
        assert_eq!(column(Unit::Plain, &[1.0, 2.0]), ["1", "2"]);
        assert_eq!(column(Unit::Plain, &[0.001_234, 5.0]), ["0.001234", "5"]);
        let field = Field::new("n", Kind::Number);
        let frame = Frame { name: String::new(), fields: vec![field], rows: vec![vec![Value::Float(3.0)]] };
        assert_eq!(NumberFormat::of(&frame, 0).show(&Value::Float(2.5)), "2.5", "a mean keeps its fraction");
        assert!(
            !NumberFormat::of(&frame, 0).show(&Value::Int(i64::MAX)).contains('e'),
            "keys keep their digits"
        );
        assert_eq!(column(Unit::Plain, &[1e40]), ["1.000e40"]);
        assert_eq!(column(Unit::Share, &[0.5]), ["50 %"]);
    }
}
