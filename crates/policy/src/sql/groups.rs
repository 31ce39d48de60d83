//! Tables of which only large groups may be seen: a SELECT over one returns aggregates and reveals
//! nothing of a single row.
//!
//! Invariants
//! - Such a table is the only one in its FROM: a join would count its rows more than once.
//! - A selected expression is a key of GROUP BY, a count, a sum or an average of a plain column, or
//!   is composed of those. Anything else could reveal the value of one row: `max`, `sum(CASE …)`, a
//!   column beside its group, an order.
//! - No condition and no key can fail on the value of one row: a failure would reveal it.
//! - Groups that are too small are removed by HAVING, which this module writes.
//!
//! This module does not remember earlier queries. Two large groups that differ by one row reveal
//! that row.

use super::names::Scope;
use super::query::ClauseContext;
use super::render::Renderer;
use crate::error::Denied;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    ObjectNamePart, Select, SelectItem, UnaryOperator, Value,
};

/// Aggregates that depend on all rows of a group.
const SUMMARIES: &[&str] = &["avg", "count", "mean", "sum", "total"];
/// Functions of one value, which reveal no more than their argument.
const PLAIN: &[&str] = &["abs", "ceil", "coalesce", "floor", "lower", "nullif", "round", "trunc", "upper"];

/// The table of this FROM that has a minimum group size.
pub(super) fn smallest_of(scope: &Scope<'_>) -> Option<(String, u32)> {
    scope.relations.iter().filter_map(|relation| relation.smallest.clone()).max_by_key(|(_, least)| *least)
}

impl Renderer<'_> {
    /// Refuses a SELECT that would reveal a row of such a table; returns the condition that its
    /// groups must meet.
    pub(super) fn check_groups(
        &mut self,
        select: &Select,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Option<String>, Denied> {
        let Some((table, smallest)) = smallest_of(scope) else { return Ok(None) };
        let refuse =
            |what: &str| Denied::SmallGroup { table: table.clone(), smallest, what: what.to_owned() };
        if scope.relations.len() > 1 {
            return Err(refuse("a join with it"));
        }
        if select.qualify.is_some() {
            return Err(refuse("QUALIFY"));
        }
        if let Some(condition) = select.selection.as_ref().filter(|condition| !cannot_fail(condition)) {
            return Err(refuse(&format!("WHERE {condition}")));
        }
        let GroupByExpr::Expressions(exprs, modifiers) = &select.group_by else {
            return Err(refuse("GROUP BY ALL"));
        };
        if !modifiers.is_empty() {
            return Err(refuse("this modifier of GROUP BY"));
        }
        let mut keys = Vec::new();
        for expr in exprs {
            let place = match expr {
                Expr::Value(value) => match &value.value {
                    Value::Number(number, _) => number.to_string().parse::<usize>().ok(),
                    _ => None,
                },
                _ => None,
            };
            match place.and_then(|place| select.projection.get(place.checked_sub(1)?)) {
                Some(SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }) => {
                    if !key_cannot_fail(item) {
                        return Err(refuse(&format!("GROUP BY {item}")));
                    }
                    keys.push(self.expr(item, scope, around)?.sql);
                }
                Some(_) => return Err(refuse("GROUP BY a star")),
                None if !key_cannot_fail(expr) => return Err(refuse(&format!("GROUP BY {expr}"))),
                None => keys.push(self.expr(expr, scope, around)?.sql),
            }
        }
        for item in &select.projection {
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
                return Err(refuse("`*`"));
            };
            if !self.is_summary(expr, &keys, scope, around)? {
                return Err(refuse(&expr.to_string()));
            }
        }
        if let Some(condition) = &select.having
            && !self.is_summary(condition, &keys, scope, around)?
        {
            return Err(refuse(&format!("HAVING {condition}")));
        }
        Ok(Some(format!("count(*) >= {smallest}")))
    }

    /// Whether an expression consists of keys, aggregates and literals.
    fn is_summary(
        &mut self,
        expr: &Expr,
        keys: &[String],
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<bool, Denied> {
        let around = around.deeper()?;
        if keys.contains(&self.expr(expr, scope, around)?.sql) {
            return Ok(true);
        }
        let mut all = |parts: &[&Expr]| -> Result<bool, Denied> {
            for part in parts {
                if !self.is_summary(part, keys, scope, around)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match expr {
            Expr::Value(_) => Ok(true),
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } | Expr::Cast { expr: inner, .. } => {
                all(&[inner])
            }
            Expr::BinaryOp { left, right, .. } => all(&[left, right]),
            Expr::Function(function) => match plain_arguments(function) {
                Some((name, arguments)) if SUMMARIES.contains(&name.as_str()) => Ok(arguments
                    .iter()
                    .all(|argument| matches!(argument, Expr::Identifier(_) | Expr::CompoundIdentifier(_)))),
                Some((name, arguments)) if PLAIN.contains(&name.as_str()) => all(&arguments),
                _ => Ok(false),
            },
            _ => Ok(false),
        }
    }
}

/// Whether no value of a column can make an expression fail: comparisons of columns and literals,
/// and functions of texts. A cast, arithmetic or CASE may fail for one row and not for another.
fn cannot_fail(expr: &Expr) -> bool {
    let all = |parts: &[&Expr]| parts.iter().all(|part| cannot_fail(part));
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::TypedString { .. } => true,
        Expr::Cast { expr, .. } => matches!(**expr, Expr::Value(_)),
        Expr::Nested(inner)
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::IsTrue(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsFalse(inner)
        | Expr::IsNotFalse(inner) => all(&[inner]),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => all(&[expr]),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => {
            matches!(**expr, Expr::Value(_))
        }
        Expr::BinaryOp { left, op, right } => {
            use BinaryOperator as B;
            let compares =
                matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::And | B::Or);
            compares && all(&[left, right])
        }
        Expr::Between { expr, low, high, .. } => all(&[expr, low, high]),
        Expr::InList { expr, list, .. } => cannot_fail(expr) && list.iter().all(cannot_fail),
        Expr::Like { expr, pattern, escape_char: None, .. }
        | Expr::ILike { expr, pattern, escape_char: None, .. } => {
            cannot_fail(expr) && matches!(**pattern, Expr::Value(_))
        }
        Expr::Collate { expr, .. } => cannot_fail(expr),
        Expr::Function(function) => plain_arguments(function).is_some_and(|(name, arguments)| {
            ["lower", "upper", "trim", "coalesce"].contains(&name.as_str()) && all(&arguments)
        }),
        _ => false,
    }
}

/// Whether no value of a column can make a key fail: also parts of moments, by a literal unit.
fn key_cannot_fail(expr: &Expr) -> bool {
    match expr {
        Expr::Extract { expr, .. } => cannot_fail(expr),
        Expr::Cast { expr, .. } => key_cannot_fail(expr) && !cannot_fail(expr),
        Expr::Function(function) => {
            plain_arguments(function).is_some_and(|(name, arguments)| {
                let parts = [
                    "date_trunc",
                    "date_part",
                    "strftime",
                    "date",
                    "date_format",
                    "year",
                    "month",
                    "to_char",
                ];
                let columns = arguments.iter().filter(|argument| !matches!(argument, Expr::Value(_)));
                parts.contains(&name.as_str())
                && columns.clone().count() <= 1
                && columns.into_iter().all(|column| cannot_fail(column))
                // The unit or the format is a literal.
                && (name == "date" || name == "year" || name == "month" || arguments.len() > 1)
            }) || cannot_fail(expr)
        }
        other => cannot_fail(other),
    }
}

/// The name and arguments of a plain call: no filter, window, order, or star other than that of
/// `count(*)`.
fn plain_arguments(function: &Function) -> Option<(String, Vec<&Expr>)> {
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let bare = function.filter.is_none()
        && function.over.is_none()
        && function.within_group.is_empty()
        && list.clauses.is_empty();
    let mut arguments = Vec::new();
    for argument in &list.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => arguments.push(expr),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {}
            _ => return None,
        }
    }
    bare.then(|| (name.value.to_lowercase(), arguments))
}
