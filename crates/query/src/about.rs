//! Questions about the data itself: which columns there are, what the first rows look like.
//!
//! They are recognised only when every word of the question is about the data as such. A question
//! that names a column, a
//! value or anything unknown is for the reader.

use crate::catalogue::{Catalogue, Table};
use crate::frame::Kind;
use crate::planner::{Intent, Named, Reading, Sketch};
use crate::query::{Aggregate, Expr, Item, Literal, Query, SetOperation};
use steward_text::tokens::{Token, name_words, stem, tokenize};

/// The query that lists columns is called so.
pub const COLUMNS: &str = "columns";
/// The query that counts the rows of each table is called so.
pub const TABLES: &str = "tables";
/// The query that shows the first rows is called so.
pub const FIRST_ROWS: &str = "first rows";
/// Columns that are listed at most.
const MOST: usize = 120;

const STRUCTURE: &str =
    "column columns field fields variable variables attribute attributes schema structure describe";
const ROWS: &str = "row rows record records line lines sample preview head entry entries";
const DATA: &str = "data dataset file files table tables database sheets";
const SMALL: &str = "what which are is the in of do does you we i have has this that there here me my your \
    our show list give tell all a an it contain contains holds hold available can see look at like please s \
    from some few \
    first top and names name about get display print how looks named called us file's exist each every many \
    one ones";

fn among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// A reading of a question about the data itself.
pub(crate) fn read(question: &str, catalogue: &Catalogue) -> Option<Reading> {
    let (tokens, _) = tokenize(question);
    let said: Vec<&Token> = tokens.iter().filter(|token| !token.is_sign()).collect();
    let named: Vec<&Table> = (catalogue.tables.iter())
        .filter(|table| name_words(&table.label).iter().all(|word| said.iter().any(|t| t.stem == stem(word))))
        .collect();
    let of_table = |token: &Token| {
        named.iter().any(|table| name_words(&table.label).iter().any(|word| stem(word) == token.stem))
    };
    let known = |token: &Token| {
        let word = token.word.as_str();
        [STRUCTURE, ROWS, DATA, SMALL].iter().any(|list| among(list, word))
            || token.number.is_some()
            || of_table(token)
    };
    if said.is_empty() || !said.iter().all(|token| known(token)) {
        return None;
    }
    // A column that is called so is meant as a column.
    let is_column = |token: &Token| {
        let mut columns = catalogue.tables.iter().flat_map(|table| &table.columns);
        !among(SMALL, &token.word) && columns.any(|column| stem(&column.label.to_lowercase()) == token.stem)
    };
    if said.iter().any(|token| is_column(token)) {
        return None;
    }
    let has = |list: &str| said.iter().any(|token| among(list, &token.word));
    let tables = if named.is_empty() { catalogue.tables.iter().collect() } else { named };
    let number = said.iter().find_map(|token| token.number);
    if has(STRUCTURE) {
        let query = columns_of(&tables)?;
        return Some(reading(question, COLUMNS, vec![query]));
    }
    // "how many rows does each table have", "which tables are there".
    let asks_tables = has("tables files sheets") || has("each every") && has("table file");
    if asks_tables && (has(ROWS) || !has("show first")) {
        let query = rows_of(&catalogue.tables)?;
        return Some(reading(question, TABLES, vec![query]));
    }
    let shows =
        has("show give list see look display print get preview head sample first top") || number.is_some();
    let counts = has("how") && !has("looks look");
    if has(ROWS) && shows && !counts || has(DATA) && has("show see look preview display print") {
        let limit = number.filter(|number| (1.0..=1000.0).contains(number)).map_or(5, |number| number as u64);
        let queries = tables.iter().take(3).map(|table| first_rows(table, limit)).collect();
        return Some(reading(question, FIRST_ROWS, queries));
    }
    None
}

fn reading(question: &str, name: &str, queries: Vec<Query>) -> Reading {
    let several = queries.len() > 1;
    let named = |query: Query| Named {
        name: name.to_owned(),
        title: if several { query.table.clone() } else { question.trim().to_owned() },
        query,
    };
    Reading {
        intent: Intent::Overview,
        queries: queries.into_iter().map(named).collect(),
        charts: Vec::new(),
        confidence: 0.95,
        assumptions: Vec::new(),
        reasoning: vec!["The question is about the data itself.".to_owned()],
        parameters: Vec::new(),
        sketch: Sketch::default(),
        form: None,
        unexplained: Vec::new(),
        then: None,
    }
}

/// One row for each table: its name and how many rows it has.
fn rows_of(tables: &[Table]) -> Option<Query> {
    let item = |expr: Expr, name: &str| Item { expr, name: name.to_owned() };
    let count = Expr::Aggregate(Aggregate::Count, vec![Expr::Star]);
    let rows = tables.iter().map(|table| Query {
        items: vec![
            item(Expr::Literal(Literal::Text(table.label.clone())), "table"),
            item(count.clone(), "rows"),
        ],
        table: table.name.clone(),
        alias: table.name.clone(),
        ..Query::default()
    });
    let mut query = rows.collect::<Vec<_>>().into_iter().rev().reduce(|after, mut query| {
        query.set = Some((SetOperation::Union, Box::new(after)));
        query
    })?;
    query.order = vec![(Expr::Column(String::new(), "table".to_owned()), false)];
    Some(query)
}

/// One row for each column: its table, its name, its type, how many of its cells are filled.
fn columns_of(tables: &[&Table]) -> Option<Query> {
    let text = |text: &str| Expr::Literal(Literal::Text(text.to_owned()));
    let all = tables.iter().flat_map(|table| table.columns.iter().map(move |column| (*table, column)));
    let rows: Vec<Query> = (all.take(MOST).enumerate())
        .map(|(at, (table, column))| {
            let cells = Expr::Column(table.name.clone(), column.name.clone());
            let item = |expr: Expr, name: &str| Item { expr, name: name.to_owned() };
            Query {
                items: vec![
                    item(Expr::Literal(Literal::Int(at as i64 + 1)), "number"),
                    item(text(&table.label), "table"),
                    item(text(if column.label.is_empty() { &column.name } else { &column.label }), "column"),
                    item(text(column.kind.word()), "type"),
                    item(Expr::Aggregate(Aggregate::Count, vec![cells]), "filled cells"),
                ],
                table: table.name.clone(),
                alias: table.name.clone(),
                ..Query::default()
            }
        })
        .collect();
    let mut query = rows.into_iter().rev().reduce(|after, mut query| {
        query.set = Some((SetOperation::Union, Box::new(after)));
        query
    })?;
    query.order = vec![(Expr::Column(String::new(), "number".to_owned()), false)];
    Some(query)
}

fn first_rows(table: &Table, limit: u64) -> Query {
    let items = (table.columns.iter())
        .filter(|column| column.kind != Kind::Text || !column.name.is_empty())
        .map(|column| Item {
            expr: Expr::Column(table.name.clone(), column.name.clone()),
            name: if column.label.is_empty() { column.name.clone() } else { column.label.clone() },
        });
    Query {
        items: items.collect(),
        table: table.name.clone(),
        alias: table.name.clone(),
        limit: Some(limit),
        ..Query::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Column;
    use crate::frame::{Unit, Value};
    use crate::query::Dialect;
    use crate::sql;

    fn catalogue() -> Catalogue {
        let column = |name: &str| Column {
            name: name.to_owned(),
            label: name.to_owned(),
            kind: Kind::Text,
            unit: Unit::Plain,
            nulls: 0,
            seen: 3,
            distinct: 3,
            min: Value::Null,
            max: Value::Null,
            values: Vec::new(),
            complete: false,
            looks_like: None,
        };
        let table = |name: &str, columns: &[&str]| Table {
            name: name.to_owned(),
            label: name.to_owned(),
            source: 0,
            columns: columns.iter().map(|name| column(name)).collect(),
            rows: Some(3),
            primary_key: Vec::new(),
        };
        let tables = vec![table("hives", &["keeper", "meadow"]), table("honey", &["jar", "grade", "weight"])];
        Catalogue { tables, joins: Vec::new() }
    }

    #[test]
    fn questions_about_the_data_itself() {
        for (question, name, queries, rows) in [
            ("what columns do you have?", COLUMNS, 1, 5),
            ("which columns are in the honey table", COLUMNS, 1, 3),
            ("describe the data", COLUMNS, 1, 5),
            ("how many rows does each table have?", TABLES, 1, 2),
            ("which tables are in this database and how many rows does each one have?", TABLES, 1, 2),
            ("first 4 rows", FIRST_ROWS, 2, 3),
            ("show me some rows of hives", FIRST_ROWS, 1, 3),
            ("show me the data", FIRST_ROWS, 2, 3),
        ] {
            let reading = read(question, &catalogue()).unwrap();
            assert_eq!(
                (reading.queries.len(), reading.queries[0].name.as_str()),
                (queries, name),
                "{question}"
            );
            let database = rusqlite::Connection::open_in_memory().unwrap();
            database
                .execute_batch(
                    "CREATE TABLE hives (keeper, meadow); CREATE TABLE honey (jar, grade, weight);
                     INSERT INTO hives VALUES ('Ann', 'North'), ('Ann', 'South'), ('Bo', NULL);",
                )
                .unwrap();
            let text = sql::write(&reading.queries[0].query, Dialect::Sqlite);
            let mut statement = database.prepare(&text).unwrap();
            assert_eq!(statement.query_map([], |_| Ok(())).unwrap().count(), rows, "{question}");
        }
    }

    #[test]
    fn questions_about_what_the_data_says_are_not_taken() {
        for question in
            ["how many rows are there", "show me the keeper", "first 3 bees", "describe the weather"]
        {
            assert!(read(question, &catalogue()).is_none(), "{question}");
        }
    }
}
