//! Admission from outside: which statements are admitted or refused, and with which code.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly"
)]

mod admitted;
mod attacks;
mod hostile;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use steward_policy::{
    Access, AdmittedSql, Column, Denied, Dialect, Draft, Limits, Parameters, Schema, Table, admit,
};

/// Sales with an address in it, customers with a hidden column, and a payroll table that is not
/// granted.
pub(crate) fn schema() -> Schema {
    let table = |name: &str, columns: &[&str]| Table {
        name: name.to_owned(),
        path: name.split('.').map(str::to_owned).collect(),
        columns: columns.iter().map(|name| Column::plain(*name)).collect(),
        has_twin: false,
    };
    let mut customers = table("customers", &["id", "name", "segment", "secret_score", "contact", "state"]);
    customers.columns[4].looks_like = Some("phone".to_owned());
    Schema {
        tables: vec![
            table(
                "sales",
                &[
                    "order_id",
                    "order_date",
                    "state",
                    "city",
                    "category",
                    "product",
                    "quantity",
                    "unit_price",
                    "amount",
                    "customer_id",
                    "customer_email",
                ],
            ),
            customers,
            table("payroll", &["id", "name", "salary"]),
            table("hr.people", &["id", "name"]),
            table("archive.people", &["id", "name"]),
        ],
    }
}

pub(crate) fn access() -> Access {
    let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    Access {
        tables: BTreeMap::from([
            ("sales".to_owned(), BTreeSet::new()),
            ("customers".to_owned(), columns(&["id", "name", "segment", "contact", "state"])),
            ("hr.people".to_owned(), BTreeSet::new()),
        ]),
        allowed_columns: BTreeSet::new(),
        blocked_patterns: ["ssn", "social_security", "email", "phone", "credit_card"]
            .map(str::to_owned)
            .to_vec(),
        ..Access::default()
    }
}

pub(crate) fn ask(sql: &str) -> Result<AdmittedSql, Denied> {
    ask_in(sql, Dialect::DataFusion)
}

pub(crate) fn ask_in(sql: &str, dialect: Dialect) -> Result<AdmittedSql, Denied> {
    ask_as(sql, dialect, &access())
}

pub(crate) fn ask_as(sql: &str, dialect: Dialect, access: &Access) -> Result<AdmittedSql, Denied> {
    let draft = Draft { sql, dialect, parameters: &Parameters::new() };
    admit(&draft, &schema(), access, Limits::default())
}
