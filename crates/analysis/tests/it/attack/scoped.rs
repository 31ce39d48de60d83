//! Mostly admissible statements: names resolve, types match, and the syntax is as unusual as the
//! grammar allows. Aliases look like blocked columns, scopes shadow each other, names change case
//! and quoting, subqueries are correlated. Most of them run, and their results are compared with
//! those of a copy without the blocked columns.

use super::grammar::Random;
use steward_analysis::query::Dialect;

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
}

use Kind::{Number, Text};

#[derive(Debug, Clone)]
struct Relation {
    /// The qualifier of its columns, as written.
    called: String,
    columns: Vec<(String, Kind)>,
}

/// The visible relations, from the outermost query on.
type Scope = Vec<Vec<Relation>>;

const CUSTOMERS: &[(&str, Kind)] = &[("id", Number), ("name", Text), ("segment", Text), ("state", Text)];
const ORDERS: &[(&str, Kind)] =
    &[("id", Number), ("customer_id", Number), ("amount", Number), ("state", Text)];
/// Names for relations and results: those of tables, of blocked columns, of engine objects.
const NAMES: &[&str] = &[
    "c",
    "o",
    "x",
    "email",
    "ssn",
    "secret_score",
    "payroll",
    "salary",
    "main",
    "public",
    "excluded",
    "t1",
    "row_id",
    "customer_email",
    "q",
    "tmp",
];

pub(crate) struct Scoped<'r> {
    random: &'r mut Random,
    dialect: Dialect,
    named: Vec<Relation>,
    depth: usize,
    fresh: usize,
}

impl<'r> Scoped<'r> {
    pub(crate) fn new(random: &'r mut Random, dialect: Dialect) -> Self {
        Self { random, dialect, named: Vec::new(), depth: 0, fresh: 0 }
    }

    pub(crate) fn statement(&mut self) -> String {
        let mut with = Vec::new();
        for _ in 0..self.random.below(3) {
            let (sql, columns) = self.select(&Vec::new(), None);
            let name = self.name();
            with.push(format!("{} AS ({sql})", self.quoted(&name)));
            self.named.push(Relation { called: name, columns });
        }
        let (body, columns) = self.select(&Vec::new(), None);
        let kinds: Vec<Kind> = columns.iter().map(|(_, kind)| *kind).collect();
        let body = if self.random.chance(15) {
            let (other, _) = self.select(&Vec::new(), Some(&kinds));
            let word = self.random.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
            format!("{body} {word} {other}")
        } else {
            body
        };
        let order: Vec<String> = (1..=columns.len()).map(|place| place.to_string()).collect();
        let with = if with.is_empty() { String::new() } else { format!("WITH {} ", with.join(", ")) };
        let end = self.random.pick(&["", "", "", " -- x", " /* y */", ";"]);
        format!("{with}{body} ORDER BY {}{end}", order.join(", "))
    }

    /// A name that is unique in the statement.
    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("{}_{}", self.random.pick(NAMES), self.fresh)
    }

    /// A SELECT without ORDER BY; with `kinds` its columns are of these kinds.
    fn select(&mut self, outer: &Scope, kinds: Option<&[Kind]>) -> (String, Vec<(String, Kind)>) {
        self.depth += 1;
        let (from, relations) = self.from();
        let mut scope = outer.clone();
        scope.push(relations);
        let kinds: Vec<Kind> = match kinds {
            Some(kinds) => kinds.to_vec(),
            None => (0..=self.random.below(3)).map(|_| self.kind()).collect(),
        };
        let filter =
            if self.random.chance(50) { format!(" WHERE {}", self.condition(&scope)) } else { String::new() };
        let grouped = self.random.chance(25);
        let (items, tail) =
            if grouped { self.grouped(&scope, &kinds) } else { (self.plain(&scope, &kinds), String::new()) };
        let distinct = if self.random.chance(10) { "DISTINCT " } else { "" };
        let mut columns = Vec::new();
        let mut list = Vec::new();
        for (sql, kind) in items.into_iter().zip(&kinds) {
            let name = self.name();
            let word = self.random.pick(&["AS ", "as ", ""]);
            let word = if self.dialect == Dialect::DataFusion || word.is_empty() { "AS " } else { word };
            list.push(format!("{sql} {word}{}", self.quoted(&name)));
            columns.push((name, *kind));
        }
        self.depth -= 1;
        (format!("SELECT {distinct}{} FROM {from}{filter}{tail}", list.join(", ")), columns)
    }

    fn plain(&mut self, scope: &Scope, kinds: &[Kind]) -> Vec<String> {
        kinds
            .iter()
            .map(|kind| match (kind, self.random.below(12)) {
                (Number, 0) => {
                    let (part, order) = (self.expr(scope, Text), self.column(scope, Number));
                    format!("count(*) OVER (PARTITION BY {part} ORDER BY {order})")
                }
                (Number, 1) => format!("sum({}) OVER ()", self.column(scope, Number)),
                _ => self.expr(scope, *kind),
            })
            .collect()
    }

    /// Aggregates over groups of one column.
    fn grouped(&mut self, scope: &Scope, kinds: &[Kind]) -> (Vec<String>, String) {
        let by = self.own_column(scope, Text);
        let items = kinds
            .iter()
            .map(|kind| match (kind, self.random.below(5)) {
                (Text, 0) => by.clone(),
                (Text, 1) => format!("upper({by})"),
                (Text, _) => {
                    format!("{}({})", self.random.pick(&["min", "max"]), self.own_column(scope, Text))
                }
                (Number, 0) => "count(*)".to_owned(),
                (Number, 1) => format!("count(DISTINCT {})", self.own_column(scope, Text)),
                (Number, _) => {
                    format!(
                        "{}({})",
                        self.random.pick(&["sum", "min", "max"]),
                        self.own_column(scope, Number)
                    )
                }
            })
            .collect();
        let having = match self.random.below(3) {
            0 => format!(" HAVING count(*) >= {}", self.random.below(3)),
            1 => format!(" HAVING max({}) IS NOT NULL", self.own_column(scope, Text)),
            _ => String::new(),
        };
        (items, format!(" GROUP BY {by}{having}"))
    }

    fn from(&mut self) -> (String, Vec<Relation>) {
        let (mut sql, first) = self.relation();
        let mut relations = vec![first];
        for _ in 0..self.random.below(3).min(if self.depth > 2 { 0 } else { 2 }) {
            let (next, relation) = self.relation();
            relations.push(relation);
            let scope = vec![relations.clone()];
            sql = match self.random.below(4) {
                0 => format!("{sql} CROSS JOIN {next}"),
                1 => format!("{sql} LEFT JOIN {next} ON {}", self.comparison(&scope)),
                _ => format!("{sql} JOIN {next} ON {}", self.comparison(&scope)),
            };
        }
        (sql, relations)
    }

    fn relation(&mut self) -> (String, Relation) {
        let called = self.name();
        let alias = self.quoted(&called);
        if self.depth < 4 && self.random.chance(20) {
            let (sql, columns) = self.select(&Vec::new(), None);
            return (format!("({sql}) AS {alias}"), Relation { called, columns });
        }
        if !self.named.is_empty() && self.random.chance(40) {
            let place = self.random.below(self.named.len());
            let named = self.named[place].clone();
            let written = self.quoted(&named.called);
            return (format!("{written} AS {alias}"), Relation { called, columns: named.columns });
        }
        let (table, columns) =
            if self.random.chance(60) { ("customers", CUSTOMERS) } else { ("orders", ORDERS) };
        let columns = columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        (format!("{} AS {alias}", self.cased(table)), Relation { called, columns })
    }

    fn kind(&mut self) -> Kind {
        if self.random.chance(50) { Number } else { Text }
    }

    fn condition(&mut self, scope: &Scope) -> String {
        match self.random.below(8) {
            0 if self.depth < 4 => format!("EXISTS ({})", self.select(scope, None).0),
            1 if self.depth < 4 => {
                let kind = self.kind();
                let word = self.random.pick(&["IN", "NOT IN"]);
                format!("{} {word} ({})", self.column(scope, kind), self.select(&Vec::new(), Some(&[kind])).0)
            }
            2 => {
                format!("{} LIKE '%{}%'", self.column(scope, Text), self.random.pick(&["a", "A", "_", "\\"]))
            }
            3 => format!("{} IS NOT NULL", self.column(scope, Text)),
            4 => format!("({}) AND ({})", self.comparison(scope), self.comparison(scope)),
            5 => format!("NOT ({}) OR {}", self.comparison(scope), self.comparison(scope)),
            6 => format!("{} BETWEEN 0 AND {}", self.column(scope, Number), self.random.below(20)),
            _ => self.comparison(scope),
        }
    }

    fn comparison(&mut self, scope: &Scope) -> String {
        let kind = self.kind();
        let sign = self.random.pick(&["=", "<>", "<", ">="]);
        format!("{} {sign} {}", self.column(scope, kind), self.expr(scope, kind))
    }

    fn expr(&mut self, scope: &Scope, kind: Kind) -> String {
        match (kind, self.random.below(14)) {
            (Number, 0) => self.random.below(100).to_string(),
            (Number, 1) => format!("({} + {})", self.column(scope, Number), self.column(scope, Number)),
            (Number, 2) => format!("length({})", self.column(scope, Text)),
            (Number, 3) => format!("abs({})", self.column(scope, Number)),
            (Number, 4) if self.depth < 4 => self.scalar(scope, Number),
            (Text, 0) => self.random.pick(&["'a'", "'it''s'", "''", "'email'", "'-- x'", "'/*'"]).to_owned(),
            (Text, 1) => format!("lower({})", self.column(scope, Text)),
            (Text, 2) => format!("upper({})", self.column(scope, Text)),
            (Text, 3) => format!("coalesce({}, 'none')", self.column(scope, Text)),
            (Text, 4) if self.depth < 4 => self.scalar(scope, Text),
            (_, 5) => format!(
                "CASE WHEN {} THEN {} ELSE {} END",
                self.comparison_of_columns(scope),
                self.column(scope, kind),
                self.column(scope, kind)
            ),
            _ => self.column(scope, kind),
        }
    }

    fn comparison_of_columns(&mut self, scope: &Scope) -> String {
        let kind = self.kind();
        format!("{} = {}", self.column(scope, kind), self.column(scope, kind))
    }

    /// One value of a correlated query.
    fn scalar(&mut self, scope: &Scope, kind: Kind) -> String {
        self.depth += 1;
        let (from, relations) = {
            let (sql, relation) = self.relation();
            (sql, vec![relation])
        };
        let mut inner = scope.clone();
        inner.push(relations);
        let value = self.own_column(&inner, kind);
        let joined = format!("{} = {}", self.own_column(&inner, kind), self.column(scope, kind));
        self.depth -= 1;
        format!("(SELECT max({value}) FROM {from} WHERE {joined})")
    }

    /// A column of this kind in any scope, or a literal where there is none.
    fn column(&mut self, scope: &Scope, kind: Kind) -> String {
        let inner = self.random.chance(80) || scope.len() < 2;
        let levels: Vec<Relation> = if inner {
            scope.last().cloned().unwrap_or_default()
        } else {
            scope.iter().flatten().cloned().collect()
        };
        self.of(&levels, kind)
    }

    /// A column of this kind of the query itself.
    fn own_column(&mut self, scope: &Scope, kind: Kind) -> String {
        let own = scope.last().cloned().unwrap_or_default();
        self.of(&own, kind)
    }

    fn of(&mut self, relations: &[Relation], kind: Kind) -> String {
        let fits: Vec<(&str, &str)> = relations
            .iter()
            .flat_map(|relation| {
                relation.columns.iter().map(move |column| (relation.called.as_str(), column))
            })
            .filter(|(_, (_, found))| *found == kind)
            .map(|(called, (name, _))| (called, name.as_str()))
            .collect();
        if fits.is_empty() {
            return if kind == Number { "7".to_owned() } else { "'seven'".to_owned() };
        }
        let (called, name) = fits[self.random.below(fits.len())];
        let comment = self.random.pick(&["", "", "", "", "", "", "/**/", " /* , email */ "]);
        let (called, name) = (self.cased(called), self.cased(name));
        format!("{called}.{name}{comment}")
    }

    /// The name in another case, or in quotes: equivalent after admission.
    fn cased(&mut self, name: &str) -> String {
        match self.random.below(10) {
            0 => name.to_uppercase(),
            1 => self.quote(name),
            2 => self.quote(&name.to_uppercase()),
            3 => {
                let mut letters = name.chars();
                let first: String = letters.by_ref().take(1).collect();
                format!("{}{}", first.to_uppercase(), letters.as_str())
            }
            _ => name.to_owned(),
        }
    }

    fn quoted(&mut self, name: &str) -> String {
        if self.random.chance(50) { self.quote(name) } else { name.to_owned() }
    }

    fn quote(&mut self, name: &str) -> String {
        match (self.dialect, self.random.below(8)) {
            (Dialect::MySql, _) | (Dialect::Sqlite, 1) => format!("`{name}`"),
            (Dialect::Sqlite, 0) => format!("[{name}]"),
            _ => format!("\"{name}\""),
        }
    }
}
