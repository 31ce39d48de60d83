//! Expressions: each known kind is resolved and written again; all others are refused.

use super::dialect::{Dialect, is_time_type, time_field};
use super::names::{Meaning, Scope};
use super::query::ClauseContext;
use super::render::{MAX_CHAIN, MAX_DEPTH, Renderer, Text};
use crate::error::Denied;
use sqlparser::ast::{
    BinaryOperator, CastKind, CeilFloorKind, DateTimeField, Expr, Ident, Interval, ObjectName, OrderByExpr,
    TrimWhereField, UnaryOperator, Value, ValueWithSpan,
};

impl Renderer<'_> {
    /// Writes an expression.
    pub(super) fn expr(
        &mut self,
        expr: &Expr,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Text, Denied> {
        if around.depth >= MAX_DEPTH {
            return Err(Denied::TooDeep { limit: MAX_DEPTH });
        }
        let around = ClauseContext { depth: around.depth + 1, ..around };
        match expr {
            Expr::Identifier(name) => self.name(std::slice::from_ref(name), scope),
            Expr::CompoundIdentifier(parts) => self.name(parts, scope),
            Expr::Value(value) => self.value(&value.value),
            Expr::Prefixed { prefix, value } => self.prefixed(prefix, value),
            Expr::TypedString(typed) if is_time_type(&typed.data_type) => {
                let text = self.text_value(&typed.value)?;
                Ok(if self.dialect.has_typed_literals() {
                    Text::atom(format!("{} {text}", typed.data_type))
                } else {
                    Text::atom(text)
                })
            }
            Expr::Nested(inner) => self.expr(inner, scope, around),
            Expr::BinaryOp { .. } => self.binary(expr, scope, around),
            Expr::UnaryOp { op, expr } => {
                let word = match op {
                    UnaryOperator::Plus => "+",
                    UnaryOperator::Minus => "-",
                    UnaryOperator::Not => "NOT ",
                    _ => return Err(refused(&format!("the operator {op}"))),
                };
                let inner = self.expr(expr, scope, around)?.operand();
                // A second sign would start a comment.
                let inner = if inner.starts_with(['-', '+']) { format!("({inner})") } else { inner };
                Ok(Text::open(format!("{word}{inner}")))
            }
            Expr::IsNull(inner) => self.after(inner, "IS NULL", scope, around),
            Expr::IsNotNull(inner) => self.after(inner, "IS NOT NULL", scope, around),
            Expr::IsTrue(inner) => self.after(inner, "IS TRUE", scope, around),
            Expr::IsNotTrue(inner) => self.after(inner, "IS NOT TRUE", scope, around),
            Expr::IsFalse(inner) => self.after(inner, "IS FALSE", scope, around),
            Expr::IsNotFalse(inner) => self.after(inner, "IS NOT FALSE", scope, around),
            Expr::IsDistinctFrom(left, right) => self.between(left, "IS DISTINCT FROM", right, scope, around),
            Expr::IsNotDistinctFrom(left, right) => {
                self.between(left, "IS NOT DISTINCT FROM", right, scope, around)
            }
            Expr::InList { expr, list, negated } => {
                let inner = self.expr(expr, scope, around)?.operand();
                let list = self.list(list, scope, around)?;
                Ok(Text::open(format!("{inner} {}IN ({list})", not(*negated))))
            }
            Expr::InSubquery { expr, subquery, negated } => {
                let inner = self.expr(expr, scope, around)?.operand();
                let query = self.query(subquery, &[], around.deeper()?.with_outer(Some(scope)))?;
                Ok(Text::open(format!("{inner} {}IN ({})", not(*negated), query.sql)))
            }
            Expr::Exists { subquery, negated } => {
                let query = self.query(subquery, &[], around.deeper()?.with_outer(Some(scope)))?;
                Ok(Text::open(format!("{}EXISTS ({})", not(*negated), query.sql)))
            }
            Expr::Subquery(query) => {
                let query = self.query(query, &[], around.deeper()?.with_outer(Some(scope)))?;
                Ok(Text::atom(format!("({})", query.sql)))
            }
            Expr::AnyOp { left, compare_op, right, .. } => {
                self.quantified(left, compare_op, "ANY", right, scope, around)
            }
            Expr::AllOp { left, compare_op, right } => {
                self.quantified(left, compare_op, "ALL", right, scope, around)
            }
            Expr::Between { expr, negated, low, high } => {
                let inner = self.expr(expr, scope, around)?.operand();
                let low = self.expr(low, scope, around)?.operand();
                let high = self.expr(high, scope, around)?.operand();
                Ok(Text::open(format!("{inner} {}BETWEEN {low} AND {high}", not(*negated))))
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, "LIKE", *negated, pattern, escape_char.as_ref(), scope, around)
            }
            Expr::ILike { negated, any: false, expr, pattern, escape_char }
                if matches!(self.dialect, Dialect::Postgres | Dialect::DataFusion | Dialect::DuckDb) =>
            {
                self.like(expr, "ILIKE", *negated, pattern, escape_char.as_ref(), scope, around)
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char }
                if matches!(self.dialect, Dialect::Postgres | Dialect::DataFusion | Dialect::DuckDb) =>
            {
                self.like(expr, "SIMILAR TO", *negated, pattern, escape_char.as_ref(), scope, around)
            }
            Expr::RLike { negated, expr, pattern, .. } if self.dialect == Dialect::MySql => {
                self.like(expr, "REGEXP", *negated, pattern, None, scope, around)
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let mut sql = String::from("CASE");
                if let Some(operand) = operand {
                    sql.push_str(&format!(" {}", self.expr(operand, scope, around)?.operand()));
                }
                for when in conditions {
                    let condition = self.expr(&when.condition, scope, around)?.sql;
                    let result = self.expr(&when.result, scope, around)?.sql;
                    sql.push_str(&format!(" WHEN {condition} THEN {result}"));
                }
                if let Some(otherwise) = else_result {
                    sql.push_str(&format!(" ELSE {}", self.expr(otherwise, scope, around)?.sql));
                }
                Ok(Text::atom(format!("{sql} END")))
            }
            Expr::Cast { kind, expr, data_type, array: false, format: None } => {
                let inner = self.expr(expr, scope, around)?.sql;
                let word = match kind {
                    CastKind::Cast | CastKind::DoubleColon => "CAST",
                    CastKind::TryCast if matches!(self.dialect, Dialect::DataFusion | Dialect::DuckDb) => {
                        "TRY_CAST"
                    }
                    _ => return Err(refused("this kind of cast")),
                };
                Ok(Text::atom(format!("{word}({inner} AS {})", self.dialect.data_type(data_type)?)))
            }
            Expr::Extract { field, expr, .. } if self.dialect != Dialect::Sqlite => {
                let inner = self.expr(expr, scope, around)?.sql;
                Ok(Text::atom(format!("EXTRACT({} FROM {inner})", time_field(field)?)))
            }
            Expr::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                Ok(Text::atom(format!("ceil({})", self.expr(expr, scope, around)?.sql)))
            }
            Expr::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                Ok(Text::atom(format!("floor({})", self.expr(expr, scope, around)?.sql)))
            }
            Expr::Position { expr, r#in } if self.dialect != Dialect::Sqlite => {
                let what = self.expr(expr, scope, around)?.operand();
                let text = self.expr(r#in, scope, around)?.operand();
                Ok(Text::atom(format!("position({what} IN {text})")))
            }
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let mut arguments = vec![self.expr(expr, scope, around)?.sql];
                arguments.push(match substring_from {
                    Some(from) => self.expr(from, scope, around)?.sql,
                    None => "1".to_owned(),
                });
                if let Some(count) = substring_for {
                    arguments.push(self.expr(count, scope, around)?.sql);
                }
                Ok(Text::atom(format!("substr({})", arguments.join(", "))))
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
                let text = self.expr(expr, scope, around)?;
                let what = match (trim_what, trim_characters.as_deref()) {
                    (None, None) => None,
                    (Some(what), None) => Some(self.expr(what, scope, around)?),
                    (None, Some([what])) => Some(self.expr(what, scope, around)?),
                    _ => return Err(refused("this form of TRIM")),
                };
                Ok(self.trim(trim_where.as_ref(), what, text))
            }
            Expr::Collate { expr, collation } => {
                let inner = self.expr(expr, scope, around)?.operand();
                Ok(Text::open(format!("{inner} COLLATE {}", self.collation(collation)?)))
            }
            Expr::AtTimeZone { timestamp, time_zone }
                if matches!(self.dialect, Dialect::Postgres | Dialect::DataFusion) =>
            {
                let time = self.expr(timestamp, scope, around)?.operand();
                let Expr::Value(zone) = &**time_zone else {
                    return Err(refused("a time zone that is computed"));
                };
                Ok(Text::open(format!("{time} AT TIME ZONE {}", self.text_value(zone)?)))
            }
            Expr::Interval(interval) => self.interval(interval, scope, around),
            Expr::Tuple(parts) => Ok(Text::atom(format!("({})", self.list(parts, scope, around)?))),
            Expr::Function(function) => self.call(function, scope, around),
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => Err(refused("`*` inside an expression")),
            _ => Err(self.unknown(expr, scope, around)),
        }
    }

    /// Why an unknown kind of expression is refused. If a name in it is not allowed either, that is
    /// the reason given.
    fn unknown(&mut self, expr: &Expr, scope: &Scope<'_>, around: ClauseContext<'_, '_>) -> Denied {
        let inside = match expr {
            Expr::CompoundFieldAccess { root, .. } => Some(root),
            Expr::JsonAccess { value, .. } => Some(value),
            _ => None,
        };
        match inside.map(|inside| self.expr(inside, scope, around)) {
            Some(Err(denied)) => denied,
            _ => {
                let text: String = expr.to_string().chars().take(80).collect();
                refused(&format!("`{text}`"))
            }
        }
    }

    fn name(&mut self, parts: &[Ident], scope: &Scope<'_>) -> Result<Text, Denied> {
        match scope.find(parts)? {
            Meaning::Column(relation, column) => Ok(self.column(relation, column)),
            Meaning::Alias(alias) => {
                self.grow(alias.sql.len())?;
                Ok(Text::atom(alias.sql.clone()))
            }
        }
    }

    /// A literal.
    pub(super) fn value(&self, value: &Value) -> Result<Text, Denied> {
        if let Some(text) = text_of(value) {
            return Ok(Text::atom(self.dialect.text(&text)));
        }
        match value {
            Value::Number(number, false) if is_number(number) => Ok(Text::atom(number.clone())),
            Value::Boolean(truth) => Ok(Text::atom(self.dialect.boolean(*truth))),
            Value::Null => Ok(Text::atom("NULL")),
            Value::Placeholder(name) if name.starts_with('@') => Err(Denied::Column { column: name.clone() }),
            Value::Placeholder(name) => self.parameter(name),
            _ => Err(refused("this kind of literal")),
        }
    }

    /// `_utf8mb4 X'…'`, the form in which strings are written for MySQL.
    fn prefixed(&self, prefix: &Ident, value: &Expr) -> Result<Text, Denied> {
        let text = match value {
            Expr::Value(ValueWithSpan { value: Value::HexStringLiteral(hex), .. }) => text_of_hex(hex),
            Expr::Value(value) => text_of(&value.value),
            _ => None,
        };
        match text {
            Some(text) if self.dialect == Dialect::MySql && prefix.value.eq_ignore_ascii_case("_utf8mb4") => {
                Ok(Text::atom(self.dialect.text(&text)))
            }
            _ => Err(refused("a literal with a prefix")),
        }
    }

    /// A literal that must be a text.
    pub(super) fn text_value(&self, value: &ValueWithSpan) -> Result<String, Denied> {
        match &value.value {
            Value::Placeholder(_) => Ok(self.value(&value.value)?.sql),
            value => text_of(value)
                .map(|text| self.dialect.text(&text))
                .ok_or_else(|| refused("anything but a text here")),
        }
    }

    /// Binary operators. A chain such as `a AND b AND c` is written flat, as the engine parses it.
    fn binary(
        &mut self,
        expr: &Expr,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Text, Denied> {
        let mut rest = Vec::new();
        let mut first = expr;
        let mut chain = None;
        while let Expr::BinaryOp { left, op, right } = first {
            let class = class(op);
            if chain.is_some() && (chain != Some(class) || class == Class::Alone) {
                break;
            }
            chain = Some(class);
            rest.push((self.operator(op)?, &**right));
            first = left;
        }
        if rest.len() > MAX_CHAIN {
            return Err(Denied::TooDeep { limit: MAX_CHAIN });
        }
        let mut sql = self.expr(first, scope, around)?.operand();
        for (word, right) in rest.into_iter().rev() {
            let right = self.expr(right, scope, around)?.operand();
            sql.push_str(&format!(" {word} {right}"));
        }
        Ok(Text::open(sql))
    }

    fn operator(&self, op: &BinaryOperator) -> Result<&'static str, Denied> {
        use BinaryOperator as B;
        use Dialect::{DataFusion, DuckDb, MySql, Postgres, Sqlite};
        Ok(match (op, self.dialect) {
            (B::Plus, _) => "+",
            (B::Minus, _) => "-",
            (B::Multiply, _) => "*",
            (B::Divide, _) => "/",
            (B::Modulo, _) => "%",
            (B::StringConcat, DataFusion | Sqlite | Postgres | DuckDb) => "||",
            (B::Gt, _) => ">",
            (B::Lt, _) => "<",
            (B::GtEq, _) => ">=",
            (B::LtEq, _) => "<=",
            (B::Eq, _) => "=",
            (B::NotEq, _) => "<>",
            (B::And, _) => "AND",
            (B::Or, _) => "OR",
            (B::Xor, MySql) => "XOR",
            (B::Spaceship, MySql) => "<=>",
            (B::MyIntegerDivide, MySql) => "DIV",
            (B::BitwiseAnd, _) => "&",
            (B::BitwiseOr, _) => "|",
            (B::PGBitwiseShiftLeft, _) => "<<",
            (B::PGBitwiseShiftRight, _) => ">>",
            (B::PGRegexMatch, Postgres | DataFusion) => "~",
            (B::PGRegexIMatch, Postgres | DataFusion) => "~*",
            (B::PGRegexNotMatch, Postgres | DataFusion) => "!~",
            (B::PGRegexNotIMatch, Postgres | DataFusion) => "!~*",
            (B::Arrow, Postgres | Sqlite | DuckDb) => "->",
            (B::LongArrow, Postgres | Sqlite | DuckDb) => "->>",
            _ => return Err(refused(&format!("the operator {op}"))),
        })
    }

    fn after(
        &mut self,
        inner: &Expr,
        words: &str,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Text, Denied> {
        Ok(Text::open(format!("{} {words}", self.expr(inner, scope, around)?.operand())))
    }

    fn between(
        &mut self,
        left: &Expr,
        words: &str,
        right: &Expr,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Text, Denied> {
        let left = self.expr(left, scope, around)?.operand();
        let right = self.expr(right, scope, around)?.operand();
        Ok(Text::open(format!("{left} {words} {right}")))
    }

    /// `x > ANY (SELECT …)`.
    fn quantified(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        word: &str,
        right: &Expr,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Text, Denied> {
        let left = self.expr(left, scope, around)?.operand();
        let inner = self.expr(right, scope, around)?;
        let op = self.operator(op)?;
        if !matches!(right, Expr::Subquery(_)) || !matches!(op, "=" | "<>" | "<" | ">" | "<=" | ">=") {
            return Err(refused(&format!("{word} over anything but a query")));
        }
        Ok(Text::open(format!("{left} {op} {word} {}", inner.sql)))
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of LIKE, and where it stands")]
    fn like(
        &mut self,
        expr: &Expr,
        word: &str,
        negated: bool,
        pattern: &Expr,
        escape: Option<&ValueWithSpan>,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Text, Denied> {
        let text = self.expr(expr, scope, around)?.operand();
        let pattern = self.expr(pattern, scope, around)?.operand();
        let escape = match escape {
            Some(escape) => format!(" ESCAPE {}", self.text_value(escape)?),
            None => String::new(),
        };
        Ok(Text::open(format!("{text} {}{word} {pattern}{escape}", not(negated))))
    }

    fn trim(&self, side: Option<&TrimWhereField>, what: Option<Text>, text: Text) -> Text {
        let function = match side {
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
            Some(TrimWhereField::Both) | None => "trim",
        };
        match (what, self.dialect) {
            (None, _) => Text::atom(format!("{function}({})", text.sql)),
            (Some(what), Dialect::Sqlite | Dialect::DuckDb) => {
                Text::atom(format!("{function}({}, {})", text.sql, what.sql))
            }
            (Some(what), _) => {
                let side = side.map_or_else(|| "BOTH".to_owned(), ToString::to_string);
                Text::atom(format!("trim({side} {} FROM {})", what.operand(), text.operand()))
            }
        }
    }

    /// Collations are objects of a database, except for the three that are built into SQLite.
    fn collation(&self, name: &ObjectName) -> Result<&'static str, Denied> {
        let known = ["NOCASE", "BINARY", "RTRIM"];
        let written = name.to_string().to_uppercase();
        let written = written.trim_matches(['"', '`']);
        match known.into_iter().find(|known| *known == written) {
            Some(known) if self.dialect == Dialect::Sqlite => Ok(known),
            _ => Err(refused(&format!("the collation {name}"))),
        }
    }

    fn interval(
        &mut self,
        interval: &Interval,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Text, Denied> {
        let plain = interval.last_field.is_none()
            && interval.leading_precision.is_none()
            && interval.fractional_seconds_precision.is_none();
        if !plain || self.dialect == Dialect::Sqlite {
            return Err(refused("this form of INTERVAL"));
        }
        let value = match (&*interval.value, self.dialect) {
            (Expr::Value(value), _) => self.value(&value.value)?.sql,
            (value, Dialect::MySql) => self.expr(value, scope, around)?.operand(),
            _ => return Err(refused("an interval that is computed")),
        };
        // Standard SQL takes the number of an interval as a string.
        let value =
            if self.dialect != Dialect::MySql && is_number(&value) { format!("'{value}'") } else { value };
        Ok(match &interval.leading_field {
            Some(field) => Text::atom(format!("INTERVAL {value} {}", time_field(field)?)),
            None => Text::atom(format!("INTERVAL {value}")),
        })
    }

    /// Expressions, separated by commas.
    pub(super) fn list(
        &mut self,
        exprs: &[Expr],
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<String, Denied> {
        let mut parts = Vec::with_capacity(exprs.len());
        for expr in exprs {
            parts.push(self.expr(expr, scope, around)?.sql);
        }
        Ok(parts.join(", "))
    }

    /// A key with the direction of its ORDER BY item.
    pub(super) fn ordered(&self, key: &str, item: &OrderByExpr) -> Result<String, Denied> {
        if item.with_fill.is_some() {
            return Err(refused("WITH FILL"));
        }
        let direction = match item.options.asc {
            None => "",
            Some(true) => " ASC",
            Some(false) => " DESC",
        };
        let nulls = match (item.options.nulls_first, self.dialect) {
            (None, _) => "",
            (Some(_), Dialect::MySql) => return Err(refused("NULLS FIRST or LAST")),
            (Some(true), _) => " NULLS FIRST",
            (Some(false), _) => " NULLS LAST",
        };
        Ok(format!("{key}{direction}{nulls}"))
    }
}

/// Left-associative operators that can be chained.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    And,
    Or,
    Sum,
    Product,
    Concatenation,
    Alone,
}

fn class(op: &BinaryOperator) -> Class {
    match op {
        BinaryOperator::And => Class::And,
        BinaryOperator::Or => Class::Or,
        BinaryOperator::Plus | BinaryOperator::Minus => Class::Sum,
        BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => Class::Product,
        BinaryOperator::StringConcat => Class::Concatenation,
        _ => Class::Alone,
    }
}

pub(super) fn refused(what: &str) -> Denied {
    Denied::Construct { what: what.to_owned() }
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

/// The text of a string literal, if it is one.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::SingleQuotedString(text)
        | Value::DoubleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text) => Some(text.clone()),
        Value::DollarQuotedString(text) => Some(text.value.clone()),
        _ => None,
    }
}

fn text_of_hex(hex: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect();
    String::from_utf8(bytes?).ok()
}

/// Whether a text is an unsigned number that every engine reads the same way.
fn is_number(text: &str) -> bool {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let bare = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !bare.is_empty() && digits(bare)
    });
    number.len() > usize::from(number.contains('.')) && digits(whole) && digits(fraction) && exponent_fits
}
