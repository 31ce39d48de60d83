//! Units of results.

use super::*;
use crate::query::{Grain, Literal};

fn share() -> Expr {
    let sum = Expr::Aggregate(Aggregate::Sum, vec![Expr::Column("s".to_owned(), "amount".to_owned())]);
    Expr::ShareOfTotal(Box::new(sum))
}

fn times(left: Expr, number: i64) -> Expr {
    Expr::Arithmetic('*', Box::new(left), Box::new(Expr::Literal(Literal::Int(number))))
}

fn unit_of(expr: Expr, name: &str) -> Unit {
    let query = Query {
        items: vec![Item { expr, name: name.to_owned() }],
        table: "s".to_owned(),
        ..Query::default()
    };
    units(&query, &Catalogue::default()).remove(0)
}

#[test]
fn a_share_is_a_fraction_and_a_hundred_times_it_a_percentage() {
    assert_eq!(unit_of(share(), "share"), Unit::Share);
    assert_eq!(unit_of(times(share(), 100), "share in %"), Unit::Percent);
    assert_eq!(unit_of(times(share(), 1000), "per mille"), Unit::Plain);
    let column = |name: &str| Expr::Column("s".to_owned(), name.to_owned());
    let ratio = Expr::Arithmetic('/', Box::new(column("a")), Box::new(column("b")));
    assert_eq!(unit_of(times(ratio.clone(), 100), "margin in %"), Unit::Percent);
    assert_eq!(unit_of(times(ratio, 100), "beds per 100 people"), Unit::Plain);
    assert_eq!(unit_of(Expr::Part(Grain::Year, Box::new(column("day"))), "year"), Unit::Year);
}
