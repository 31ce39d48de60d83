//! Chooses a chart for rows without a planned one, such as those of a handwritten statement.

use super::{ChartKind, Spec};
use crate::findings::Roles;
use crate::frame::Frame;

/// Maximum number of bars that can be distinguished.
const MOST_BARS: usize = 40;
/// Maximum number of lines that can be distinguished.
const MOST_SERIES: usize = 8;

/// A chart for these rows: lines over time, bars over names. None if a table is better.
#[must_use]
pub fn suggest(frame: &Frame, title: &str) -> Option<Spec> {
    let roles = Roles::guess(frame);
    let measure = roles.measures.first()?.clone();
    if frame.rows.len() < 2 {
        return None;
    }
    let spec = |kind, x: String, series| Spec {
        kind,
        title: title.to_owned(),
        subtitle: None,
        x,
        y: vec![measure.clone()],
        series,
        x_title: None,
        y_title: None,
    };
    match (roles.time, roles.category) {
        (Some(time), None) => Some(spec(ChartKind::Line, time, None)),
        (Some(time), Some(category)) => {
            let series = distinct(frame, &category);
            (series <= MOST_SERIES).then(|| spec(ChartKind::Line, time, Some(category)))
        }
        (None, Some(category)) => {
            let names = distinct(frame, &category);
            // If a name occurs twice, another column distinguishes its rows.
            (names == frame.rows.len() && names <= MOST_BARS).then(|| spec(ChartKind::Bar, category, None))
        }
        (None, None) => None,
    }
}

fn distinct(frame: &Frame, name: &str) -> usize {
    let place = frame.fields.iter().position(|field| field.name == name).unwrap_or_default();
    let values: std::collections::BTreeSet<String> = frame.column(place).map(|value| value.plain()).collect();
    values.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Field, Kind, Unit, Value};

    fn frame(columns: &[(&str, Kind)], rows: Vec<Vec<Value>>) -> Frame {
        let field =
            |(name, kind): &(&str, Kind)| Field { name: (*name).into(), kind: *kind, unit: Unit::Plain };
        Frame { name: "result".into(), fields: columns.iter().map(field).collect(), rows }
    }

    #[test]
    fn rows_get_the_chart_that_suits_them() {
        let text = |word: &str| Value::Text(word.to_owned());
        let bars = frame(
            &[("state", Kind::Text), ("amount", Kind::Number)],
            vec![vec![text("Ohio"), Value::Float(2.0)], vec![text("Utah"), Value::Float(3.0)]],
        );
        assert_eq!(
            suggest(&bars, "t").map(|spec| (spec.kind, spec.x)),
            Some((ChartKind::Bar, "state".into()))
        );
        let day = |day: u32| Value::Date(chrono::NaiveDate::from_ymd_opt(2021, 1, day).unwrap_or_default());
        let lines = frame(
            &[("day", Kind::Date), ("amount", Kind::Number)],
            vec![vec![day(1), Value::Float(2.0)], vec![day(2), Value::Float(3.0)]],
        );
        assert_eq!(suggest(&lines, "t").map(|spec| spec.kind), Some(ChartKind::Line));
        let single = frame(&[("amount", Kind::Number)], vec![vec![Value::Float(2.0)]]);
        assert_eq!(suggest(&single, "t"), None);
        let twice = frame(
            &[("state", Kind::Text), ("amount", Kind::Number)],
            vec![vec![text("Ohio"), Value::Float(2.0)], vec![text("Ohio"), Value::Float(3.0)]],
        );
        assert_eq!(suggest(&twice, "t"), None);
    }
}
