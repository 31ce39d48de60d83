//! Queries: WITH, set operations, SELECT, FROM, ORDER BY and LIMIT, each resolved and written
//! again.

use super::dialect::{Dialect, plain_name, shown_name};
use super::groups::smallest_of;
use super::names::{Alias, Aliases, Meaning, Offered, Relation, Scope};
use super::render::{MAX_CHAIN, MAX_DEPTH, MAX_QUERIES, Named, Renderer, Text, computed};
use super::shape;
use crate::access::Verdict;
use crate::error::Denied;
use sqlparser::ast::{
    Cte, Distinct, Expr, GroupByExpr, GroupByWithModifier, Ident, LimitClause, NamedWindowDefinition,
    OrderBy, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator,
    SetQuantifier, Value, Values,
};
use std::collections::BTreeSet;

/// A rendered query and its columns.
pub(super) struct Written {
    pub(super) sql: String,
    pub(super) columns: Vec<Offered>,
}

/// The level of a query, which decides how its columns are named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryLevel {
    /// The statement itself: its columns have names for people.
    Top,
    /// Inside another query: its columns get plain, unique names.
    Inside,
}

/// The context in which a query is rendered.
#[derive(Clone, Copy)]
pub(super) struct ClauseContext<'c, 's> {
    pub(super) named: &'c [Named],
    pub(super) outer: Option<&'s Scope<'s>>,
    /// Windows that the SELECT defines.
    pub(super) windows: &'c [NamedWindowDefinition],
    pub(super) place: QueryLevel,
    /// Number of enclosing queries and expressions.
    pub(super) depth: usize,
    /// Number of enclosing queries.
    pub(super) queries: usize,
}

impl<'c, 's> ClauseContext<'c, 's> {
    pub(super) fn deeper(self) -> Result<Self, Denied> {
        if self.depth >= MAX_DEPTH || self.queries >= MAX_QUERIES {
            return Err(Denied::TooDeep {
                limit: if self.depth >= MAX_DEPTH { MAX_DEPTH } else { MAX_QUERIES },
            });
        }
        Ok(Self { place: QueryLevel::Inside, depth: self.depth + 1, queries: self.queries + 1, ..self })
    }

    pub(super) fn with_outer<'t>(self, outer: Option<&'t Scope<'t>>) -> ClauseContext<'c, 't> {
        let Self { named, outer: _, windows, place, depth, queries } = self;
        ClauseContext { named, outer, windows, place, depth, queries }
    }
}

/// The body of a query: its text, its columns, and for a plain SELECT the names that ORDER BY may
/// use.
struct Body<'s> {
    sql: String,
    columns: Vec<Offered>,
    scope: Option<Scope<'s>>,
}

impl Renderer<'_> {
    /// Renders a query. `names` renames its columns, from the first on.
    pub(super) fn query(
        &mut self,
        query: &Query,
        names: &[Ident],
        around: ClauseContext<'_, '_>,
    ) -> Result<Written, Denied> {
        shape::query(query)?;
        let mut named = around.named.to_vec();
        let mut with = Vec::new();
        let recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let (query, sql) = self.cte(cte, recursive, around.deeper()?, &named)?;
            named.push(query);
            with.push(sql);
        }
        let around = ClauseContext { named: &named, ..around };
        let body = self.body(&query.body, names, around)?;
        let mut sql = String::new();
        if !with.is_empty() {
            sql = format!("WITH {}{} ", if recursive { "RECURSIVE " } else { "" }, with.join(", "));
        }
        sql.push_str(&body.sql);
        if let Some(order) = &query.order_by {
            sql.push_str(" ORDER BY ");
            sql.push_str(&self.order_by(order, &body, around)?);
        }
        sql.push_str(&self.limit(query, around)?);
        Ok(Written { sql, columns: body.columns })
    }

    fn cte(
        &mut self,
        cte: &Cte,
        recursive: bool,
        around: ClauseContext<'_, '_>,
        named: &[Named],
    ) -> Result<(Named, String), Denied> {
        let name = self.dialect.fold(&cte.alias.name);
        if cte.from.is_some() || cte.alias.at.is_some() || self.is_visible_table(&name) {
            return Err(Denied::Construct {
                what: format!("WITH {name}, which is also the name of a table,"),
            });
        }
        let written = self.relation_name(&name)?;
        let names: Vec<Ident> = cte.alias.columns.iter().map(|column| column.name.clone()).collect();
        let around = ClauseContext { named, ..around };
        let query = if let (true, SetExpr::SetOperation { op, set_quantifier, left, right }) =
            (recursive, &*cte.query.body)
        {
            shape::query(&cte.query)?;
            if cte.query.with.is_some() {
                return Err(Denied::Construct { what: "WITH inside a recursive query".to_owned() });
            }
            // The columns of the first part are what the second part sees under this name.
            let first = self.body(left, &names, around.deeper()?)?;
            let mut all = named.to_vec();
            all.push(Named {
                name: name.clone(),
                written: written.clone(),
                columns: first.columns.clone().into(),
            });
            let around = ClauseContext { named: &all, ..around };
            let second = self.body(right, &[], around.deeper()?)?;
            let body = Body {
                sql: format!("{} {} {}", first.sql, set_operator(*op, *set_quantifier)?, second.sql),
                columns: first.columns,
                scope: None,
            };
            let mut sql = body.sql.clone();
            if let Some(order) = &cte.query.order_by {
                sql = format!("{sql} ORDER BY {}", self.order_by(order, &body, around)?);
            }
            sql.push_str(&self.limit(&cte.query, around)?);
            Written { sql, columns: body.columns }
        } else {
            self.query(&cte.query, &names, around)?
        };
        let sql = format!("{} AS ({})", self.dialect.quote(&written), query.sql);
        Ok((Named { name, written, columns: query.columns.into() }, sql))
    }

    fn body<'s>(
        &mut self,
        body: &SetExpr,
        names: &[Ident],
        around: ClauseContext<'_, 's>,
    ) -> Result<Body<'s>, Denied> {
        match body {
            SetExpr::Select(select) => self.select(select, names, around),
            SetExpr::Query(query) => {
                let inner = self.query(query, names, around.deeper()?)?;
                // SQLite accepts no parentheses around a part of a set operation.
                let sql = self.wrap(&inner.sql, &inner.columns)?;
                Ok(Body { sql, columns: inner.columns, scope: None })
            }
            SetExpr::SetOperation { .. } => self.set_operation(body, names, around),
            SetExpr::Values(values) => self.values(values, names, around),
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => Err(Denied::NotReadOnly { what: shape::verb(statement) }),
            SetExpr::Table(_) => Err(Denied::Construct { what: "TABLE as a query".to_owned() }),
        }
    }

    /// `a UNION b EXCEPT c`: the parts of a chain in order of precedence.
    fn set_operation<'s>(
        &mut self,
        body: &SetExpr,
        names: &[Ident],
        around: ClauseContext<'_, 's>,
    ) -> Result<Body<'s>, Denied> {
        let mut rest = Vec::new();
        let mut first = body;
        // INTERSECT has a higher precedence in some engines, so it is always written with
        // parentheses.
        while let SetExpr::SetOperation { op, set_quantifier, left, right } = first {
            let closer = |op: SetOperator| op == SetOperator::Intersect;
            if matches!(rest.last(), Some((before, _, _)) if closer(*before) != closer(*op)) {
                break;
            }
            rest.push((*op, *set_quantifier, &**right));
            first = left;
        }
        if rest.len() > MAX_CHAIN {
            return Err(Denied::TooDeep { limit: MAX_CHAIN });
        }
        let around = ClauseContext { place: around.place, ..around.deeper()? };
        let start = self.operand(first, names, around)?;
        let mut sql = start.sql;
        for (op, quantifier, part) in rest.into_iter().rev() {
            let part = self.operand(part, &[], around)?;
            if part.columns.len() != start.columns.len() {
                return Err(Denied::Syntax {
                    detail: "the parts of a set operation have different numbers of columns".to_owned(),
                });
            }
            sql = format!("{sql} {} {}", set_operator(op, quantifier)?, part.sql);
        }
        Ok(Body { sql, columns: start.columns, scope: None })
    }

    /// A part of a set operation; a nested set operation becomes a separate query.
    fn operand<'s>(
        &mut self,
        part: &SetExpr,
        names: &[Ident],
        around: ClauseContext<'_, 's>,
    ) -> Result<Body<'s>, Denied> {
        let body = self.body(part, names, around)?;
        if !matches!(part, SetExpr::SetOperation { .. }) {
            return Ok(body);
        }
        let sql = self.wrap(&body.sql, &body.columns)?;
        Ok(Body { sql, ..body })
    }

    /// A query as the source of a SELECT with the same columns.
    fn wrap(&mut self, sql: &str, columns: &[Offered]) -> Result<String, Denied> {
        let name = self.relation_name("part")?;
        let name = self.dialect.quote(&name);
        let column = |column: &Offered| {
            let written = self.dialect.quote(&column.written);
            format!("{name}.{written} AS {written}")
        };
        let list: Vec<String> = columns.iter().map(column).collect();
        let list = list.join(", ");
        self.grow(list.len())?;
        Ok(format!("SELECT {list} FROM ({sql}) AS {name}"))
    }

    /// VALUES, written as SELECTs: the only form whose columns every engine names alike.
    fn values<'s>(
        &mut self,
        values: &Values,
        names: &[Ident],
        around: ClauseContext<'_, 's>,
    ) -> Result<Body<'s>, Denied> {
        if values.rows.len() > MAX_CHAIN {
            return Err(Denied::TooDeep { limit: MAX_CHAIN });
        }
        let scope = Scope::new(self.dialect, Vec::new(), around.outer);
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let columns: Vec<Offered> = (1..=width)
            .map(|place| {
                let wanted = names.get(place - 1).map(|name| self.dialect.fold(name));
                let name = wanted.unwrap_or_else(|| format!("column{place}"));
                computed(name.clone(), plain_name(&name, &format!("column{place}")))
            })
            .collect();
        let mut rows = Vec::new();
        for row in &values.rows {
            if row.content.len() != width {
                return Err(Denied::Syntax { detail: "rows of VALUES have different lengths".to_owned() });
            }
            let mut cells = Vec::new();
            for (value, column) in row.content.iter().zip(&columns) {
                let value = self.expr(value, &scope, around)?.sql;
                let name = self.dialect.quote(&column.written);
                cells.push(format!("{value} AS {name}"));
            }
            rows.push(format!("SELECT {}", cells.join(", ")));
        }
        Ok(Body { sql: rows.join(" UNION ALL "), columns, scope: None })
    }

    fn select<'s>(
        &mut self,
        select: &Select,
        names: &[Ident],
        around: ClauseContext<'_, 's>,
    ) -> Result<Body<'s>, Denied> {
        shape::select(select, self.dialect)?;
        let (relations, from) = self.from(&select.from, around)?;
        let mut scope = Scope::new(self.dialect, relations, around.outer);
        let around = ClauseContext { windows: &select.named_window, ..around };
        let items = self.items(&select.projection, &scope, around)?;
        if items.is_empty() {
            return Err(Denied::Construct { what: "SELECT without columns".to_owned() });
        }
        let mut columns: Vec<Offered> = Vec::new();
        let mut taken = BTreeSet::new();
        let mut list = Vec::new();
        for (place, item) in items.into_iter().enumerate() {
            let renamed = names.get(place).map(|name| self.dialect.fold(name));
            let name = renamed.clone().unwrap_or_else(|| item.name.clone());
            let numbered = format!("column_{}", place + 1);
            let mut written = match around.place {
                QueryLevel::Top => shown_name(&name, &numbered),
                QueryLevel::Inside => plain_name(&name, &numbered),
            };
            // DataFusion does not allow two columns of one name; in other engines only inner
            // queries need unique names.
            if around.place == QueryLevel::Inside || self.dialect == Dialect::DataFusion {
                let wanted = written.clone();
                let mut count = 2;
                while !taken.insert(written.to_lowercase()) {
                    written = format!("{wanted}_{count}");
                    count += 1;
                }
            }
            let natural = around.place == QueryLevel::Top && item.natural.as_deref() == Some(&written);
            list.push(if natural {
                item.sql.sql.clone()
            } else {
                format!("{} AS {}", item.sql.sql, self.dialect.quote(&written))
            });
            scope.aliases.push(Alias { name: name.clone(), sql: item.sql.operand(), place: place + 1 });
            columns.push(computed(name, written));
        }
        let mut sql = String::from("SELECT ");
        sql.push_str(&self.distinct(select, &mut scope, around)?);
        sql.push_str(&list.join(", "));
        if !from.is_empty() {
            sql.push_str(&format!(" FROM {from}"));
        }
        if let Some(condition) = &select.selection {
            sql.push_str(&format!(" WHERE {}", self.expr(condition, &scope, around)?.sql));
        }
        scope.use_aliases = Aliases::AfterColumns;
        sql.push_str(&self.group_by(&select.group_by, &scope, around)?);
        let large_enough = self.check_groups(select, &scope, around)?;
        let having = match &select.having {
            Some(condition) => Some(self.expr(condition, &scope, around)?),
            None => None,
        };
        match (having, large_enough) {
            (None, None) => {}
            (Some(condition), None) => sql.push_str(&format!(" HAVING {}", condition.sql)),
            (None, Some(least)) => sql.push_str(&format!(" HAVING {least}")),
            (Some(condition), Some(least)) => {
                sql.push_str(&format!(" HAVING {} AND {least}", condition.operand()));
            }
        }
        if let Some(condition) = &select.qualify {
            sql.push_str(&format!(" QUALIFY {}", self.expr(condition, &scope, around)?.sql));
        }
        Ok(Body { sql, columns, scope: Some(scope) })
    }

    fn distinct(
        &mut self,
        select: &Select,
        scope: &mut Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<String, Denied> {
        match &select.distinct {
            None | Some(Distinct::All) => Ok(String::new()),
            Some(Distinct::Distinct) => Ok("DISTINCT ".to_owned()),
            Some(Distinct::On(exprs)) => {
                scope.use_aliases = Aliases::AfterColumns;
                let exprs = self.list(exprs, scope, around);
                scope.use_aliases = Aliases::None;
                Ok(format!("DISTINCT ON ({}) ", exprs?))
            }
        }
    }

    /// The items of a select list, with stars expanded.
    fn items(
        &mut self,
        projection: &[SelectItem],
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<Vec<Listed>, Denied> {
        let mut items = Vec::new();
        for item in projection {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let natural = self.natural_name(expr, scope);
                    let sql = self.expr(expr, scope, around)?;
                    let name = natural.clone().unwrap_or_else(|| expr.to_string());
                    items.push(Listed { name, natural, sql });
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let natural = self.natural_name(expr, scope);
                    let sql = self.expr(expr, scope, around)?;
                    items.push(Listed { name: self.dialect.fold(alias), natural, sql });
                }
                SelectItem::ExprWithAliases { .. } => {
                    return Err(Denied::Construct { what: "a list of aliases".to_owned() });
                }
                SelectItem::Wildcard(options) => {
                    let all: Vec<&Relation> = scope.relations.iter().collect();
                    self.star(&all, "*", &mut items)?;
                    shape::star(options)?;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    self.star(&[scope.relation(name)?], &format!("{name}.*"), &mut items)?;
                    shape::star(options)?;
                }
                SelectItem::QualifiedWildcard(..) => {
                    return Err(Denied::Construct { what: "`.*` of an expression".to_owned() });
                }
            }
        }
        Ok(items)
    }

    /// The name that every engine gives an item without AS: that of a column.
    fn natural_name(&self, expr: &Expr, scope: &Scope<'_>) -> Option<String> {
        let found = match expr {
            Expr::Identifier(name) => scope.find(std::slice::from_ref(name)).ok()?,
            Expr::CompoundIdentifier(parts) => scope.find(parts).ok()?,
            _ => return None,
        };
        match found {
            Meaning::Column(_, column) => Some(column.written.clone()),
            Meaning::Alias(_) => None,
        }
    }

    /// The columns that a star expands to. Columns that are not granted are omitted; blocked
    /// columns are reported.
    fn star(&mut self, of: &[&Relation], written: &str, items: &mut Vec<Listed>) -> Result<(), Denied> {
        let before = items.len();
        for relation in of {
            let merged = |column: &Offered| of.len() > 1 && relation.merged.contains(&column.name);
            for column in relation.columns.iter().filter(|column| !merged(column)) {
                match &column.verdict {
                    Verdict::Hidden => {}
                    Verdict::Blocked(_) => {
                        return Err(Denied::Star { star: written.to_owned(), column: column.name.clone() });
                    }
                    Verdict::Allowed => {
                        let sql = self.column(relation, column);
                        self.grow(sql.sql.len())?;
                        let natural = Some(column.written.clone());
                        items.push(Listed { name: column.name.clone(), natural, sql });
                    }
                }
            }
        }
        if items.len() == before {
            return Err(Denied::Column { column: written.to_owned() });
        }
        Ok(())
    }

    fn group_by(
        &mut self,
        group: &GroupByExpr,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<String, Denied> {
        let GroupByExpr::Expressions(exprs, modifiers) = group else {
            return Err(Denied::Construct { what: "GROUP BY ALL".to_owned() });
        };
        if exprs.is_empty() {
            return Ok(String::new());
        }
        let mut keys = Vec::new();
        for expr in exprs {
            keys.push(match expr {
                Expr::Rollup(sets) => format!("ROLLUP ({})", self.sets(sets, scope, around)?),
                Expr::Cube(sets) => format!("CUBE ({})", self.sets(sets, scope, around)?),
                Expr::GroupingSets(sets) => format!("GROUPING SETS ({})", self.sets(sets, scope, around)?),
                expr => self.key(expr, scope, around)?,
            });
        }
        let rollup = match modifiers.as_slice() {
            [] => "",
            [GroupByWithModifier::Rollup] if self.dialect == Dialect::MySql => " WITH ROLLUP",
            _ => return Err(Denied::Construct { what: "this modifier of GROUP BY".to_owned() }),
        };
        Ok(format!(" GROUP BY {}{rollup}", keys.join(", ")))
    }

    fn sets(
        &mut self,
        sets: &[Vec<Expr>],
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<String, Denied> {
        let mut all = Vec::new();
        for set in sets {
            all.push(format!("({})", self.list(set, scope, around)?));
        }
        Ok(all.join(", "))
    }

    /// A key of GROUP BY or ORDER BY. An item of the list is referred to by its position, which is
    /// unambiguous in every engine.
    fn key(
        &mut self,
        expr: &Expr,
        scope: &Scope<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<String, Denied> {
        if let Expr::Identifier(name) = expr
            && let Meaning::Alias(alias) = scope.find(std::slice::from_ref(name))?
        {
            return Ok(alias.place.to_string());
        }
        if let Expr::Value(value) = expr
            && let Value::Number(place, _) = &value.value
        {
            let known = place.parse::<usize>().ok().filter(|place| (1..=scope.aliases.len()).contains(place));
            return known
                .map(|place| place.to_string())
                .ok_or_else(|| Denied::Column { column: place.clone() });
        }
        Ok(self.expr(expr, scope, around)?.sql)
    }

    fn order_by(
        &mut self,
        order: &OrderBy,
        body: &Body<'_>,
        around: ClauseContext<'_, '_>,
    ) -> Result<String, Denied> {
        let OrderByKind::Expressions(exprs) = &order.kind else {
            return Err(Denied::Construct { what: "ORDER BY ALL".to_owned() });
        };
        if order.interpolate.is_some() {
            return Err(Denied::Construct { what: "INTERPOLATE".to_owned() });
        }
        let mut scope = match &body.scope {
            Some(scope) => scope.clone(),
            None => {
                let mut scope = Scope::new(self.dialect, Vec::new(), None);
                let alias = |(place, column): (usize, &Offered)| Alias {
                    name: column.name.clone(),
                    sql: self.dialect.quote(&column.written),
                    place: place + 1,
                };
                scope.aliases = body.columns.iter().enumerate().map(alias).collect();
                scope
            }
        };
        scope.use_aliases = Aliases::BeforeColumns;
        let mut keys = Vec::new();
        for item in exprs {
            let key = self.key(&item.expr, &scope, around)?;
            if let (Some((table, smallest)), false) =
                (smallest_of(&scope), key.bytes().all(|c| c.is_ascii_digit()))
            {
                let what = "ORDER BY something that is not in the list".to_owned();
                return Err(Denied::SmallGroup { table, smallest, what });
            }
            keys.push(self.ordered(&key, item)?);
        }
        Ok(keys.join(", "))
    }

    fn limit(&mut self, query: &Query, around: ClauseContext<'_, '_>) -> Result<String, Denied> {
        let scope = Scope::new(self.dialect, Vec::new(), None);
        let mut count = |expr: &Expr| -> Result<String, Denied> {
            let text = self.expr(expr, &scope, around)?;
            if text.sql.is_empty() || !text.sql.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(Denied::Construct { what: "LIMIT by anything but a number".to_owned() });
            }
            Ok(text.sql)
        };
        let (mut limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                if !limit_by.is_empty() {
                    return Err(Denied::Construct { what: "LIMIT BY".to_owned() });
                }
                (
                    limit.as_ref().map(&mut count).transpose()?,
                    offset.as_ref().map(|offset| count(&offset.value)).transpose()?,
                )
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                (Some(count(limit)?), Some(count(offset)?))
            }
        };
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent || limit.is_some() {
                return Err(Denied::Construct { what: "this form of FETCH".to_owned() });
            }
            limit = Some(match &fetch.quantity {
                Some(quantity) => count(quantity)?,
                None => "1".to_owned(),
            });
        }
        Ok(match (limit, offset) {
            (None, None) => String::new(),
            (Some(limit), None) => format!(" LIMIT {limit}"),
            (limit, Some(offset)) => {
                format!(" LIMIT {} OFFSET {offset}", limit.unwrap_or_else(|| i64::MAX.to_string()))
            }
        })
    }
}

/// An item of a select list.
struct Listed {
    name: String,
    /// The name that an engine gives it without AS.
    natural: Option<String>,
    sql: Text,
}

fn set_operator(op: SetOperator, quantifier: SetQuantifier) -> Result<String, Denied> {
    let word = match op {
        SetOperator::Union => "UNION",
        SetOperator::Except | SetOperator::Minus => "EXCEPT",
        SetOperator::Intersect => "INTERSECT",
    };
    match quantifier {
        SetQuantifier::None | SetQuantifier::Distinct => Ok(word.to_owned()),
        SetQuantifier::All => Ok(format!("{word} ALL")),
        _ => Err(Denied::Construct { what: format!("{word} BY NAME") }),
    }
}
