//! The names of result columns, settled once: in words that people use, and of a length that every
//! engine keeps. The charts of a query follow its names.

use steward_analysis::planner::Reading;
use steward_analysis::query::{Expr, Item};
use steward_policy::RESULT_NAME_BYTES;

/// Settles the names of all results of a reading. What follows a forecast or the explanation of a
/// change refers to its columns by name, so their names stay.
pub(super) fn settle_names(reading: &mut Reading) {
    if reading.then.is_some() {
        return;
    }
    for (place, named) in reading.queries.iter_mut().enumerate() {
        for at in 0..named.query.items.len() {
            let Some(item) = named.query.items.get(at) else { continue };
            let is_taken = |name: &str| {
                let others = named.query.items.iter().enumerate().filter(|(other, _)| *other != at);
                others.map(|(_, item)| &item.name).any(|other| other.eq_ignore_ascii_case(name))
            };
            let old = item.name.clone();
            let plain = plain_name(item);
            let new = shorten(if is_taken(&plain) { &old } else { &plain }, at, is_taken);
            if new == old {
                continue;
            }
            for wish in reading.charts.iter_mut().filter(|wish| wish.query == place) {
                let names = wish.y.iter_mut().chain([&mut wish.x]).chain(wish.series.as_mut());
                names.filter(|name| **name == old).for_each(|name| name.clone_from(&new));
            }
            if let Some(item) = named.query.items.get_mut(at) {
                item.name = new;
            }
        }
    }
}

/// The name without a word said twice ("total Total"), and price times quantity as revenue.
fn plain_name(item: &Item) -> String {
    let mut name = item.name.clone();
    if let Some((left, right)) = product(&item.expr) {
        let words = |column: &str| column.replace('_', " ").to_lowercase();
        let (left, right) = (words(left), words(right));
        for part in [format!("{left} x {right}"), format!("{right} x {left}")] {
            if let Some(start) =
                name.replace('_', " ").to_lowercase().find(&part).filter(|_| is_revenue(&left, &right))
                && name.is_ascii()
            {
                name.replace_range(start..start + part.len(), "revenue");
            }
        }
    }
    let mut words: Vec<&str> = name.split(' ').collect();
    words.dedup_by(|later, earlier| later.eq_ignore_ascii_case(earlier) && later.parse::<f64>().is_err());
    words.join(" ")
}

/// The two columns that are multiplied, if there is such a product.
fn product(expr: &Expr) -> Option<(&str, &str)> {
    if let Expr::Arithmetic('*', left, right) = expr
        && let (Expr::Column(_, left), Expr::Column(_, right)) = (&**left, &**right)
    {
        return Some((left, right));
    }
    expr.children().into_iter().find_map(product)
}

fn is_revenue(left: &str, right: &str) -> bool {
    let has = |name: &str, words: &[&str]| {
        name.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
    };
    let (price, number) = (["price"], ["quantity", "qty", "units"]);
    has(left, &price) && has(right, &number) || has(left, &number) && has(right, &price)
}

/// The name cut to the length that every engine keeps, still different from the others.
fn shorten(name: &str, at: usize, is_taken: impl Fn(&str) -> bool) -> String {
    let cut = |bytes: usize| name.get(..name.floor_char_boundary(bytes)).unwrap_or_default().trim_end();
    let short = cut(RESULT_NAME_BYTES);
    if short.len() < name.len() && is_taken(short) {
        return format!("{} {}", cut(RESULT_NAME_BYTES - 5), at + 1);
    }
    short.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use steward_analysis::planner::{ChartKind, ChartWish, Named};
    use steward_analysis::query::{Aggregate, Query};

    fn column(name: &str) -> Expr {
        Expr::Column("t".to_owned(), name.to_owned())
    }

    fn item(expr: Expr, name: &str) -> Item {
        Item { expr: Expr::Aggregate(Aggregate::Sum, vec![expr]), name: name.to_owned() }
    }

    #[test]
    fn names_are_words_and_fit_every_engine() {
        let times = Expr::Arithmetic('*', Box::new(column("unit_price")), Box::new(column("quantity")));
        let long = "total of a very long question about the temperature in the hall of the north wing";
        let items = vec![
            item(column("total"), "total Total"),
            item(times, "total unit_price x quantity"),
            item(column("a"), &format!("{long} one")),
            item(column("b"), &format!("{long} two")),
        ];
        let wish = ChartWish {
            query: 0,
            kind: ChartKind::Bar,
            x: "x".to_owned(),
            y: items.iter().map(|item| item.name.clone()).collect(),
            series: None,
            title: String::new(),
        };
        let named = Named {
            name: "answer".to_owned(),
            title: String::new(),
            query: Query { items, ..Query::default() },
        };
        let mut reading = Reading { queries: vec![named], charts: vec![wish], ..reading() };
        settle_names(&mut reading);
        let names: Vec<String> = reading
            .queries
            .iter()
            .flat_map(|named| &named.query.items)
            .map(|item| item.name.clone())
            .collect();
        assert_eq!(names.first().map(String::as_str), Some("total"));
        assert_eq!(names.get(1).map(String::as_str), Some("total revenue"));
        assert!(names.iter().all(|name| name.len() <= RESULT_NAME_BYTES), "{names:?}");
        assert_ne!(names.get(2), names.get(3));
        assert_eq!(reading.charts.first().map(|wish| &wish.y), Some(&names), "the chart follows");
    }

    fn reading() -> Reading {
        Reading {
            intent: steward_analysis::planner::Intent::Lookup,
            queries: Vec::new(),
            charts: Vec::new(),
            parameters: Vec::new(),
            confidence: 0.5,
            assumptions: Vec::new(),
            reasoning: Vec::new(),
            sketch: steward_analysis::planner::Sketch::default(),
            form: None,
            unexplained: Vec::new(),
            then: None,
        }
    }
}
