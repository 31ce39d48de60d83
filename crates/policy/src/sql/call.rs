//! Function calls: name, arguments and windows.

use super::dialect::Dialect;
use super::expr::refused;
use super::functions;
use super::names::{Aliases, Scope};
use super::query::ClauseContext;
use super::render::{Renderer, Text};
use crate::error::Denied;
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, NamedWindowDefinition, NamedWindowExpr, NullTreatment,
    ObjectNamePart, OrderByExpr, Value, WindowFrameBound, WindowSpec, WindowType,
};

/// Units of time that MySQL's functions take as their first argument.
const UNITS: &[&str] =
    &["microsecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"];

impl Renderer<'_> {
    /// Writes a call.
    pub(super) fn call(
        &mut self,
        function: &Function,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Text, Denied> {
        let unknown = || Denied::Function { function: function.name.to_string() };
        let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return Err(unknown()) };
        let name = name.value.to_lowercase();
        if !functions::is_allowed(self.dialect, &name)
            || function.uses_odbc_syntax
            || !matches!(function.parameters, FunctionArguments::None)
        {
            return Err(unknown());
        }
        let mut sql = match &function.args {
            FunctionArguments::None if functions::BARE.contains(&name.as_str()) => name,
            FunctionArguments::List(list) => {
                format!("{name}({})", self.arguments(&name, list, scope, around)?)
            }
            _ => return Err(unknown()),
        };
        if !function.within_group.is_empty() {
            sql.push_str(&format!(
                " WITHIN GROUP (ORDER BY {})",
                self.keys(&function.within_group, scope, around)?
            ));
        }
        if let Some(filter) = &function.filter {
            sql.push_str(&format!(" FILTER (WHERE {})", self.expr(filter, scope, around)?.sql));
        }
        if let Some(treatment) = &function.null_treatment {
            sql.push_str(nulls(*treatment));
        }
        match &function.over {
            None => {}
            Some(WindowType::WindowSpec(window)) => {
                sql.push_str(&format!(" OVER ({})", self.window(window, scope, around)?));
            }
            Some(WindowType::NamedWindow(name)) => {
                let wanted = self.dialect.fold(name);
                let named = around.windows.iter().find(|NamedWindowDefinition(known, _)| {
                    self.dialect.same(&wanted, &self.dialect.fold(known))
                });
                let Some(NamedWindowDefinition(_, NamedWindowExpr::WindowSpec(window))) = named else {
                    return Err(refused(&format!("the window {name}")));
                };
                sql.push_str(&format!(" OVER ({})", self.window(window, scope, around)?));
            }
        }
        Ok(Text::atom(sql))
    }

    fn arguments(
        &mut self,
        name: &str,
        list: &FunctionArgumentList,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<String, Denied> {
        let mut arguments = Vec::new();
        for (place, argument) in list.args.iter().enumerate() {
            let FunctionArg::Unnamed(argument) = argument else {
                return Err(refused(&format!("a named argument of {name}")));
            };
            arguments.push(match argument {
                FunctionArgExpr::Wildcard if name == "count" && list.args.len() == 1 => "*".to_owned(),
                FunctionArgExpr::Expr(Expr::Identifier(unit))
                    if place == 0
                        && self.dialect == Dialect::MySql
                        && functions::UNIT_FIRST.contains(&name) =>
                {
                    let unit = unit.value.to_lowercase();
                    let known = UNITS.iter().find(|known| **known == unit);
                    (*known.ok_or_else(|| refused(&format!("{unit} as a unit of time")))?).to_owned()
                }
                FunctionArgExpr::Expr(expr) => {
                    let text = self.expr(expr, scope, around)?.sql;
                    if place == 1 && functions::PADDING.contains(&name) {
                        bounded(name, &text)?;
                    }
                    text
                }
                _ => return Err(refused(&format!("`*` as an argument of {name}"))),
            });
        }
        let mut sql = arguments.join(", ");
        match list.duplicate_treatment {
            None => {}
            Some(DuplicateTreatment::Distinct) => sql = format!("DISTINCT {sql}"),
            Some(DuplicateTreatment::All) => sql = format!("ALL {sql}"),
        }
        for clause in &list.clauses {
            match clause {
                FunctionArgumentClause::OrderBy(keys) => {
                    sql.push_str(&format!(" ORDER BY {}", self.keys(keys, scope, around)?));
                }
                FunctionArgumentClause::Separator(text) if self.dialect == Dialect::MySql => {
                    let Value::SingleQuotedString(text) = &text.value else {
                        return Err(refused("this separator"));
                    };
                    // The MySQL grammar accepts no other form of a string here.
                    if text.contains('\\') {
                        return Err(refused("a backslash in a separator"));
                    }
                    sql.push_str(&format!(" SEPARATOR {}", self.dialect.text(text)));
                }
                FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => sql.push_str(nulls(*treatment)),
                _ => return Err(refused(&format!("this clause in {name}"))),
            }
        }
        Ok(sql)
    }

    /// Keys of an ORDER BY inside a call, where aliases have no meaning.
    fn keys(
        &mut self,
        keys: &[OrderByExpr],
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<String, Denied> {
        let inner = Scope { use_aliases: Aliases::None, ..scope.clone() };
        let mut all = Vec::new();
        for item in keys {
            let key = self.expr(&item.expr, &inner, around)?.sql;
            all.push(self.ordered(&key, item)?);
        }
        Ok(all.join(", "))
    }

    fn window(
        &mut self,
        window: &WindowSpec,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<String, Denied> {
        if window.window_name.is_some() {
            return Err(refused("a window that extends another"));
        }
        let mut parts = Vec::new();
        if !window.partition_by.is_empty() {
            parts.push(format!("PARTITION BY {}", self.list(&window.partition_by, scope, around)?));
        }
        if !window.order_by.is_empty() {
            parts.push(format!("ORDER BY {}", self.keys(&window.order_by, scope, around)?));
        }
        if let Some(frame) = &window.window_frame {
            let start = self.bound(&frame.start_bound)?;
            parts.push(match &frame.end_bound {
                Some(end) => format!("{} BETWEEN {start} AND {}", frame.units, self.bound(end)?),
                None => format!("{} {start}", frame.units),
            });
        }
        Ok(parts.join(" "))
    }

    fn bound(&self, bound: &WindowFrameBound) -> Result<String, Denied> {
        let rows = |count: &Option<Box<Expr>>| match count.as_deref() {
            None => Ok("UNBOUNDED".to_owned()),
            Some(Expr::Value(value)) if matches!(value.value, Value::Number(..)) => {
                Ok(self.value(&value.value)?.sql)
            }
            Some(_) => Err(refused("a window frame that is computed")),
        };
        Ok(match bound {
            WindowFrameBound::CurrentRow => "CURRENT ROW".to_owned(),
            WindowFrameBound::Preceding(count) => format!("{} PRECEDING", rows(count)?),
            WindowFrameBound::Following(count) => format!("{} FOLLOWING", rows(count)?),
        })
    }
}

fn nulls(treatment: NullTreatment) -> &'static str {
    match treatment {
        NullTreatment::IgnoreNulls => " IGNORE NULLS",
        NullTreatment::RespectNulls => " RESPECT NULLS",
    }
}

/// The length argument of a padding function must be a literal, and not a large one.
fn bounded(name: &str, length: &str) -> Result<(), Denied> {
    match length.parse::<u64>() {
        Ok(length) if length <= functions::PADDED => Ok(()),
        _ => Err(refused(&format!("{name} to a length that is no number up to {}", functions::PADDED))),
    }
}
