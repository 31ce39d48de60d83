//! Mechanisms of the reader as rows of data: a question, the grammar that reads it, and the rows
//! that come of it.

use super::{Candidate, Grammar, propose};
use crate::catalogue::{Catalogue, Column, Evidence, Join, Table};
use crate::frame::{Kind, Unit, Value};
use crate::planner::NoMeaning;
use crate::query::Dialect;
use crate::sql;
use chrono::NaiveDate;
use rusqlite::types::ValueRef;

/// A column: its name, its kind, and its cells in the order of the rows.
pub(crate) type Cells<'a> = (&'a str, Kind, &'a [&'a str]);

fn column((name, kind, cells): Cells) -> Column {
    let mut values: Vec<(String, u64)> = Vec::new();
    let filled: Vec<&&str> = cells.iter().filter(|cell| !cell.is_empty()).collect();
    for cell in &filled {
        match values.iter_mut().find(|(known, _)| known == **cell) {
            Some((_, count)) => *count += 1,
            None => values.push(((**cell).to_owned(), 1)),
        }
    }
    let numbers: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
    let edge = |pick: fn(f64, f64) -> f64| {
        let edge = numbers.iter().copied().reduce(pick).filter(|_| kind.is_number());
        edge.map_or(Value::Null, Value::Float)
    };
    Column {
        name: name.to_owned(),
        label: name.to_owned(),
        kind,
        unit: Unit::Plain,
        nulls: (cells.len() - filled.len()) as u64,
        seen: filled.len() as u64,
        distinct: values.len() as u64,
        min: edge(f64::min),
        max: edge(f64::max),
        values,
        complete: true,
        looks_like: None,
    }
}

/// Tables, their joins, and a database that holds their rows.
pub(crate) struct Data {
    catalogue: Catalogue,
    rows: rusqlite::Connection,
}

impl Data {
    pub(crate) fn new(tables: &[(&str, &[Cells])], joins: &[(&str, &str, &str, &str)]) -> Self {
        let rows = rusqlite::Connection::open_in_memory().unwrap();
        let mut catalogue = Catalogue::default();
        for (name, columns) in tables {
            let kinds: Vec<String> = (columns.iter())
                .map(|(name, kind, _)| {
                    format!("\"{name}\" {}", if kind.is_number() { "NUMERIC" } else { "TEXT" })
                })
                .collect();
            rows.execute(&format!("CREATE TABLE \"{name}\" ({})", kinds.join(", ")), []).unwrap();
            let count = columns[0].2.len();
            for row in 0..count {
                let cells: Vec<Option<&str>> = (columns.iter())
                    .map(|(_, _, cells)| Some(cells[row]).filter(|cell| !cell.is_empty()))
                    .collect();
                let marks = vec!["?"; cells.len()].join(", ");
                let insert = format!("INSERT INTO \"{name}\" VALUES ({marks})");
                rows.execute(&insert, rusqlite::params_from_iter(cells)).unwrap();
            }
            let primary_key = (columns.iter())
                .filter(|(column, ..)| *column == "id")
                .map(|(column, ..)| (*column).to_owned());
            catalogue.tables.push(Table {
                name: (*name).to_owned(),
                label: (*name).to_owned(),
                source: 0,
                columns: columns.iter().map(|cells| column(*cells)).collect(),
                rows: Some(count as u64),
                primary_key: primary_key.collect(),
            });
        }
        for (from, column, to, key) in joins {
            catalogue.joins.push(Join {
                from: ((*from).to_owned(), vec![(*column).to_owned()]),
                to: ((*to).to_owned(), vec![(*key).to_owned()]),
                evidence: Evidence::Constraint,
            });
        }
        Self { catalogue, rows }
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn candidates(&self, question: &str) -> Vec<Candidate> {
        let today = NaiveDate::from_ymd_opt(2025, 6, 1).unwrap();
        propose(question, &self.catalogue, None, today, &NoMeaning)
    }

    /// Each turn follows the best reading of the one before and gives these rows.
    pub(super) fn check_turns(&self, turns: &[(&str, &str)]) {
        let today = NaiveDate::from_ymd_opt(2025, 6, 1).unwrap();
        let mut before: Option<Candidate> = None;
        for (question, expected) in turns {
            let form = before.as_ref().map(|candidate| &candidate.form);
            let best =
                propose(question, &self.catalogue, form, today, &NoMeaning).into_iter().next().unwrap();
            assert_eq!(self.run(&best), *expected, "{question}: {}", best.words);
            before = Some(best);
        }
    }

    fn run(&self, candidate: &Candidate) -> String {
        let text = sql::write(&candidate.query, Dialect::Sqlite);
        let mut statement = self.rows.prepare(&text).unwrap();
        let width = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        let mut all = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            let cell = |at: usize| match row.get_ref(at).unwrap() {
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Real(number) => number.to_string(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                _ => String::new(),
            };
            all.push((0..width).map(cell).collect::<Vec<_>>().join(" "));
        }
        all.join("; ")
    }

    /// One of the candidates gives these rows.
    pub(super) fn check_offers(&self, rows: &[(&str, &str)]) {
        for (question, expected) in rows {
            let candidates = self.candidates(question);
            let found: Vec<String> = candidates.iter().map(|candidate| self.run(candidate)).collect();
            assert!(found.iter().any(|found| found == expected), "{question}: {found:#?}");
        }
    }

    /// The SQL of every candidate that is not from the search over the rows of a small table.
    pub(super) fn offers(&self, question: &str) -> Vec<String> {
        let candidates = self.candidates(question).into_iter();
        let candidates = candidates.filter(|candidate| candidate.grammar != Grammar::Rows);
        candidates.map(|candidate| sql::write(&candidate.query, Dialect::Sqlite)).collect()
    }

    /// The best candidate of a grammar gives these rows.
    pub(super) fn check(&self, grammar: Grammar, rows: &[(&str, &str)]) {
        for (question, expected) in rows {
            let candidates = self.candidates(question);
            let best = match grammar {
                Grammar::Rows => (candidates.iter()).max_by(|a, b| {
                    a.row_probability.unwrap_or(0.0).total_cmp(&b.row_probability.unwrap_or(0.0))
                }),
                _ => candidates.iter().find(|candidate| candidate.grammar == grammar),
            };
            let found = best.map(|candidate| self.run(candidate)).unwrap_or_default();
            assert_eq!(found, *expected, "{question}: {}", best.map_or("", |best| best.words.as_str()));
        }
    }
}

use Kind::{Integer, Text};

fn workshop() -> Data {
    Data::new(
        &[
            ("crews", &[("id", Integer, &["1", "2", "3"]), ("name", Text, &["Ash", "Birch", "Cedar"])]),
            (
                "tools",
                &[
                    ("id", Integer, &["1", "2", "3"]),
                    ("name", Text, &["Saw", "Drill", "Plane"]),
                    ("storage", Text, &["Rack", "Box", "Shelf"]),
                ],
            ),
            (
                "crew_tools",
                &[("crew_id", Integer, &["1", "2", "3", "3"]), ("tool_id", Integer, &["1", "1", "1", "2"])],
            ),
        ],
        &[("crew_tools", "crew_id", "crews", "id"), ("crew_tools", "tool_id", "tools", "id")],
    )
}

#[test]
fn lists_over_two_kinds_of_things() {
    let pairs = "Ash Saw; Birch Saw; Cedar Saw; Cedar Drill";
    workshop().check(
        Grammar::Lists,
        &[
            ("For each crew, list the tools they use.", pairs),
            ("List the crews and their tools.", pairs),
            ("Which tools are common to all crews?", "Saw"),
            ("What is the storage of the tools shared by every crew?", "Rack"),
            ("For every crew, show the storage of its tools", "Ash Rack; Birch Rack; Cedar Rack; Cedar Box"),
        ],
    );
}

#[test]
fn a_quantifier_without_a_cue_is_read_both_ways() {
    let data = workshop();
    let candidates = data.candidates("What tools do we have for every crew?");
    let lists: Vec<String> = (candidates.iter())
        .filter(|candidate| candidate.grammar == Grammar::Lists)
        .map(|candidate| data.run(candidate))
        .collect();
    assert_eq!(lists, ["Saw", "Ash Saw; Birch Saw; Cedar Saw; Cedar Drill"]);
}

#[test]
fn a_condition_behind_two_lists_holds_for_one_or_both() {
    let staff = Data::new(
        &[(
            "staff",
            &[
                ("name", Text, &["Ida", "Jon", "Kim", "Lea"]),
                ("job", Text, &["Potter", "Potter", "Weaver", "Weaver"]),
                ("language", Text, &["Danish", "Greek", "Danish", "Greek"]),
            ],
        )],
        &[],
    );
    staff.check(
        Grammar::Lists,
        &[
            ("Show both potters and weavers who speak Greek.", "Jon; Lea"),
            ("Which potters speak Greek and which weavers speak the same language?", "Jon; Lea"),
            ("List all potters and also list weavers who speak Greek.", "Ida; Jon; Lea"),
        ],
    );
    let boats = Data::new(
        &[
            ("ferries", &[("name", Text, &["Alma", "Bris"]), ("harbour", Text, &["Kiel", "Oban"])]),
            ("tugs", &[("name", Text, &["Crab", "Dory"]), ("harbour", Text, &["Kiel", "Oban"])]),
        ],
        &[],
    );
    boats.check(
        Grammar::Lists,
        &[
            ("Show both the ferries and the tugs in Kiel.", "Alma; Crab"),
            ("Show all ferries and just the tugs in Kiel.", "Alma; Bris; Crab"),
        ],
    );
}

#[test]
fn rows_of_one_table() {
    let regatta = Data::new(
        &[(
            "regatta",
            &[
                ("Boat", Text, &["Heron", "Osprey", "Plover", "Curlew", "Dunlin"]),
                ("Club", Text, &["Bay", "Cove", "Bay", "Cove", "Bay"]),
                ("Year", Integer, &["2001", "2002", "2003", "2004", "2005"]),
                ("Points", Integer, &["12", "30", "7", "21", "16"]),
                ("Time", Text, &["9:58.1", "10:02.4", "11:20.0", "9:41.7", "10:30.9"]),
                ("Crew list", Text, &["Ann Bell, Tom Reed", "Kai Lund", "Mo Hart", "Tom Reed", "Ines Paz"]),
            ],
        )],
        &[],
    );
    regatta.check(
        Grammar::Rows,
        &[
            ("which boat comes after osprey?", "Plover"),
            ("what boat is listed right before curlew?", "Plover"),
            ("what is the last boat listed?", "Dunlin"),
            ("which boat had the most points?", "Osprey"),
            ("who had more points, heron or dunlin?", "Dunlin"),
            ("what is the difference in points between osprey and curlew?", "9"),
            ("how many boats are from the bay club?", "3"),
            ("how many points did plover have?", "7"),
            ("which boat had the longest time?", "Plover"),
            ("which club is listed the most?", "Bay"),
            ("which boats did tom reed sail?", "Heron; Curlew"),
            ("how many boats had more than 15 points?", "3"),
        ],
    );
}

#[test]
fn the_first_number_of_a_text_cell() {
    let rows = rusqlite::Connection::open_in_memory().unwrap();
    for (cell, expected) in [
        ("21,707", Some(21_707.0)),
        ("5th", Some(5.0)),
        ("$4.50", Some(4.5)),
        ("160 ft (49 m)", Some(160.0)),
        ("1:30", Some(90.0)),
        ("did not finish", None),
    ] {
        let text = crate::query::Expr::Literal(crate::query::Literal::Text(cell.to_owned()));
        let item = crate::query::Item {
            expr: crate::query::Expr::NumberIn(Box::new(text)),
            name: "number".to_owned(),
        };
        let inner = crate::query::Query { items: vec![item], ..Default::default() };
        let written = sql::write(&inner, Dialect::Sqlite);
        let select = written.split(" FROM ").next().unwrap();
        let found: Option<f64> = rows.query_row(select, [], |row| row.get(0)).unwrap();
        assert_eq!(found, expected, "{cell}");
    }
}
