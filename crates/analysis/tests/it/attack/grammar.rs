//! A grammar of statements that try to read forbidden data, beside the admissible ones of
//! [`super::scoped`]: quoting, case, shadowing, correlation, functional notation, comments,
//! escapes, and the peculiarities of each engine. The same seed gives the same statements.

use super::scoped::Scoped;
use steward_analysis::query::Dialect;

const TABLES: &[&str] = &["customers", "orders", "payroll", "sqlite_master", "pg_authid", "c", "o", "x"];
const COLUMNS: &[&str] = &["id", "name", "segment", "state", "amount", "customer_id"];
const SECRETS: &[&str] = &["email", "ssn", "secret_score", "customer_email", "salary", "sql", "rolpassword"];
const SCHEMAS: &[&str] = &["main", "public", "attack_canaries", "temp", "pg_catalog", "datafusion.public"];
const FUNCTIONS: &[&str] = &[
    "lower",
    "upper",
    "length",
    "max",
    "min",
    "count",
    "coalesce",
    "concat",
    "row_to_json",
    "to_json",
    "reverse",
    "pg_read_file",
    "hex",
    "quote",
    "json_group_array",
    "group_concat",
    "string_agg",
    "array_agg",
    "trim",
    "md5",
    "current_setting",
    "load_file",
    "version",
    "typeof",
    "printf",
    "json_object",
];

/// A deterministic random generator.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// A statement, and whether it should be admitted.
pub(crate) struct Generated {
    pub(crate) sql: String,
    pub(crate) admissible: bool,
}

pub(crate) struct Grammar {
    random: Random,
    dialect: Dialect,
    depth: usize,
}

impl Grammar {
    pub(crate) fn new(seed: u64, dialect: Dialect) -> Self {
        Self { random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1), dialect, depth: 0 }
    }

    fn next(&mut self, below: usize) -> usize {
        self.random.below(below)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.random.chance(percent)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.random.pick(from)
    }

    /// Four statements in five are admissible but unusual, the others try to read forbidden data.
    pub(crate) fn statement(&mut self) -> Generated {
        if self.chance(80) {
            let sql = Scoped::new(&mut self.random, self.dialect).statement();
            return Generated { sql, admissible: true };
        }
        Generated { sql: self.hostile(), admissible: false }
    }

    fn hostile(&mut self) -> String {
        self.depth = 0;
        let body = match self.next(10) {
            0 => self.trick(),
            1 => format!("{} {} {}", self.select(), self.set_word(), self.select()),
            _ => self.select(),
        };
        let with = if self.chance(35) { self.with() } else { String::new() };
        let end = match self.next(20) {
            0 => "; DROP TABLE customers",
            1 => " -- ",
            2 => "/* x */",
            3 => ";",
            _ => "",
        };
        format!("{with}{body}{end}")
    }

    fn set_word(&mut self) -> &'static str {
        self.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
    }

    /// Named queries, some with the quoted name of a table and its schema.
    fn with(&mut self) -> String {
        let name = match self.next(5) {
            0 => {
                let (schema, table) = (self.pick(SCHEMAS), self.pick(TABLES));
                self.quoted(&format!("{schema}.{table}"))
            }
            1 => {
                let table = self.pick(TABLES).to_owned();
                self.cased(&table)
            }
            _ => self.pick(&["x", "q", "tmp"]).to_owned(),
        };
        let columns = if self.chance(30) { " (id, name)" } else { "" };
        let inner = match self.next(3) {
            0 => "SELECT 1 AS email, 2 AS ssn, 3 AS secret_score".to_owned(),
            1 => "SELECT 1 AS id, 'a' AS name".to_owned(),
            _ => self.select(),
        };
        let recursive = if self.chance(10) { "RECURSIVE " } else { "" };
        format!("WITH {recursive}{name}{columns} AS ({inner}) ")
    }

    fn select(&mut self) -> String {
        self.depth += 1;
        let from = self.from();
        let items: Vec<String> = (0..=self.next(3)).map(|_| self.item()).collect();
        let distinct = if self.chance(10) { "DISTINCT " } else { "" };
        let mut sql = format!("SELECT {distinct}{} FROM {from}", items.join(", "));
        if self.chance(40) {
            sql = format!("{sql} WHERE {}", self.condition());
        }
        if self.chance(15) {
            sql = format!("{sql} GROUP BY {}", self.expr());
        }
        if self.chance(25) {
            sql = format!("{sql} ORDER BY {}", self.expr());
        }
        if self.chance(20) {
            sql = format!("{sql} LIMIT {}", self.next(5));
        }
        self.depth -= 1;
        sql
    }

    fn item(&mut self) -> String {
        match self.next(12) {
            0 => "*".to_owned(),
            1 => format!("{}.*", self.pick(&["c", "o", "customers", "x"])),
            2..=4 => {
                let expr = self.expr();
                let alias = self.pick(&["c", "id", "email", "customers", "x", "\"Email\"", "secret_score"]);
                let alias =
                    if self.dialect == Dialect::MySql { alias.replace('"', "`") } else { alias.to_owned() };
                format!("{expr} AS {alias}")
            }
            _ => self.expr(),
        }
    }

    fn from(&mut self) -> String {
        let count = 1 + self.next(2);
        let parts: Vec<String> = (0..count).map(|_| self.source()).collect();
        match self.next(4) {
            0 => parts.join(" NATURAL JOIN "),
            1 => parts.join(" CROSS JOIN "),
            _ => parts.join(", "),
        }
    }

    fn source(&mut self) -> String {
        let alias = self.pick(&["", " c", " AS o", " x", " AS \"C\"", " customers"]);
        let alias = if self.dialect == Dialect::MySql { alias.replace('"', "`") } else { alias.to_owned() };
        if self.depth < 3 && self.chance(20) {
            let lateral = if self.chance(15) { "LATERAL " } else { "" };
            return format!("{lateral}({}){}", self.select(), if alias.is_empty() { " x" } else { &alias });
        }
        let table = match self.next(10) {
            0..=5 => "customers".to_owned(),
            6 | 7 => "orders".to_owned(),
            _ => self.pick(TABLES).to_owned(),
        };
        let table = self.cased(&table);
        let schema = if self.chance(20) { format!("{}.", self.pick(SCHEMAS)) } else { String::new() };
        format!("{schema}{table}{alias}")
    }

    fn condition(&mut self) -> String {
        match self.next(8) {
            0 => format!("{} IS NOT NULL", self.expr()),
            1 if self.depth < 3 => format!("EXISTS ({})", self.select()),
            2 if self.depth < 3 => format!("{} IN ({})", self.expr(), self.select()),
            3 => format!("{} LIKE '%A%'", self.expr()),
            4 => format!("({}) AND ({})", self.condition_leaf(), self.condition_leaf()),
            _ => self.condition_leaf(),
        }
    }

    fn condition_leaf(&mut self) -> String {
        let sign = self.pick(&["=", "<>", "<", ">="]);
        format!("{} {sign} {}", self.expr(), self.expr())
    }

    fn expr(&mut self) -> String {
        match self.next(22) {
            0..=8 => self.column(),
            9 => self.literal(),
            10 | 11 => {
                let function = self.pick(FUNCTIONS);
                format!("{function}({})", self.column())
            }
            12 => format!(
                "CAST({} AS {})",
                self.column(),
                self.pick(&["CHAR", "int", "text", "regclass", "VARCHAR"])
            ),
            13 => format!("CAST(CAST({} AS CHAR) AS int)", self.column()),
            14 if self.depth < 3 => format!("({})", self.select()),
            15 => {
                format!("({}).{}", self.column(), self.pick(&["email", "row_to_json", "pg_sleep", "lower"]))
            }
            16 => format!("{}.{}", self.pick(&["c", "customers", "id"]), self.pick(FUNCTIONS)),
            17 => {
                format!("{} {} {}", self.column(), self.pick(&["+", "-", "*", "/", "%", "||"]), self.column())
            }
            18 => {
                format!("CASE WHEN {} = 1 THEN {} ELSE {} END", self.column(), self.column(), self.literal())
            }
            19 => format!("count(*) OVER (PARTITION BY {} ORDER BY {})", self.column(), self.column()),
            20 => format!("{}::{}", self.column(), self.pick(&["text", "int", "json", "regproc"])),
            _ => self.column(),
        }
    }

    fn column(&mut self) -> String {
        let name = match self.next(10) {
            0..=5 => self.pick(COLUMNS).to_owned(),
            6..=8 => self.pick(SECRETS).to_owned(),
            _ => self.pick(&["c", "customers", "rowid", "ctid", "x", "o", "tableoid", "_rowid_"]).to_owned(),
        };
        let name = self.cased(&name);
        let comment = match self.next(40) {
            0 => "/**/",
            1 => "/*!50000 ,email */",
            2 => " -- x\n",
            _ => "",
        };
        match self.next(10) {
            0..=2 => format!("{}.{name}{comment}", self.pick(&["c", "o", "customers", "orders", "x"])),
            3 => format!("{}.customers.{name}{comment}", self.pick(SCHEMAS)),
            _ => format!("{name}{comment}"),
        }
    }

    fn literal(&mut self) -> String {
        self.pick(&[
            "1",
            "'a'",
            "NULL",
            "'it''s'",
            "'a\\', email, ssn FROM customers -- '",
            "'\\'",
            "\"email\"",
            "E'\\''",
            "$$email$$",
            "X'65'",
            "0x65",
            "1e3",
            "DATE '2024-01-01'",
            "@@version",
            ":x",
            "?",
            "N'a'",
            "U&'\\0065'",
            "`email`",
            "[email]",
        ])
        .to_owned()
    }

    /// The name in another case, or in quotes, or both; sometimes longer than an engine's limit.
    fn cased(&mut self, name: &str) -> String {
        match self.next(14) {
            0 => name.to_uppercase(),
            1 => self.quoted(name),
            2 => self.quoted(&name.to_uppercase()),
            3 => {
                let mut letters = name.chars();
                let first: String = letters.by_ref().take(1).collect();
                self.quoted(&format!("{}{}", first.to_uppercase(), letters.as_str()))
            }
            4 if self.chance(10) => format!("{name}{}", "_".repeat(70)),
            _ => name.to_owned(),
        }
    }

    fn quoted(&mut self, name: &str) -> String {
        match (self.dialect, self.next(8)) {
            (Dialect::MySql, 0) => format!("\"{name}\""),
            (Dialect::MySql, _) => format!("`{name}`"),
            (Dialect::Sqlite, 0) => format!("[{name}]"),
            (Dialect::Sqlite, 1) => format!("`{name}`"),
            _ => format!("\"{name}\""),
        }
    }

    /// Whole statements that once bypassed admission, with variations.
    fn trick(&mut self) -> String {
        let (secret, schema) = (self.pick(SECRETS), self.pick(SCHEMAS));
        match self.next(10) {
            0 => format!("SELECT c.{secret} FROM {schema}.customers c, (SELECT 1 FROM orders LIMIT 1) o"),
            1 => format!(
                "SELECT id, (SELECT {secret} FROM (SELECT 1 AS \"{}\") x) FROM customers",
                secret.to_uppercase()
            ),
            2 => "SELECT c.row_to_json FROM customers c".to_owned(),
            3 => "SELECT ('PG_VERSION'::text).pg_read_file".to_owned(),
            4 => "SELECT id AS c FROM customers c ORDER BY CAST(CAST(c AS text) AS int)".to_owned(),
            5 => format!("SELECT 'a\\', ', {secret}, ssn FROM customers -- '"),
            6 => format!("SELECT id /*!50000 , {secret} */ FROM customers"),
            7 => format!(
                "SELECT c.id FROM customers c WHERE EXISTS (SELECT c.{secret} FROM (SELECT 1 AS a) c)"
            ),
            8 => format!("SELECT {secret} FROM customers NATURAL JOIN orders"),
            _ => format!("SELECT x.id FROM customers JOIN orders x USING ({secret})"),
        }
    }
}
