//! Names: every table, column and alias of a query, each in the scope it stands in.
//!
//! The walk follows the structure of queries itself, because what a name means depends on where it stands; inside
//! expressions it uses the parser's own visitor, so that no kind of expression can be overlooked.

use super::{functions, shape};
use crate::access::{Access, Schema, Table, Verdict};
use crate::error::Denied;
use sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, TableWithJoins, Visit, Visitor,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Deeper nesting is not written by people or planners.
const MAX_DEPTH: usize = 24;

/// Something that can be read from: a table, or what a query yields.
#[derive(Debug, Clone)]
struct Relation {
    /// How it is called here.
    name: String,
    columns: Vec<Known>,
}

/// A column and whether it may be read.
#[derive(Debug, Clone)]
struct Known {
    name: String,
    verdict: Verdict,
}

/// What names mean at one place.
#[derive(Default, Clone)]
struct Scope<'a> {
    relations: Vec<Relation>,
    /// Aliases of the select list, which GROUP BY, HAVING and ORDER BY may use.
    aliases: BTreeSet<String>,
    outer: Option<&'a Scope<'a>>,
}

/// The queries that were named by WITH, the nearest last.
type Named = Vec<Relation>;

struct Resolver<'a> {
    schema: &'a Schema,
    access: &'a Access,
    tables: BTreeSet<String>,
}

/// Checks a whole query; returns the tables it reads.
pub(super) fn check(query: &Query, schema: &Schema, access: &Access) -> Result<BTreeSet<String>, Denied> {
    let mut resolver = Resolver { schema, access, tables: BTreeSet::new() };
    resolver.query(query, &Named::new(), None, 0)?;
    Ok(resolver.tables)
}

impl Resolver<'_> {
    /// Checks a query and returns the names of the columns it yields.
    fn query(
        &mut self,
        query: &Query,
        named: &Named,
        outer: Option<&Scope<'_>>,
        depth: usize,
    ) -> Result<Vec<String>, Denied> {
        if depth > MAX_DEPTH {
            return Err(Denied::TooDeep { limit: MAX_DEPTH });
        }
        shape::query(query)?;
        let mut named = named.clone();
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = cte.alias.name.value.to_lowercase();
            if cte.from.is_some() || self.schema.table(&name).is_some() {
                return Err(Denied::Construct {
                    what: format!("WITH {name}, which is also the name of a table,"),
                });
            }
            if query.with.as_ref().is_some_and(|with| with.recursive)
                && let SetExpr::SetOperation { left, .. } = &*cte.query.body
            {
                // What the first part yields is what the second part sees under this name.
                let columns = self.body(left, &named, outer, &Scope::default(), depth + 1)?;
                named.push(relation(&cte.alias, columns));
            }
            let columns = self.query(&cte.query, &named, outer, depth + 1)?;
            named.push(relation(&cte.alias, columns));
        }
        // ORDER BY and LIMIT see the columns that the query yields and, for a plain SELECT, those it reads from.
        let mut after = Scope { outer, ..Scope::default() };
        if let SetExpr::Select(select) = &*query.body {
            after.relations = self.sources(&select.from, &named, outer, depth)?;
        }
        let columns = self.body(&query.body, &named, outer, &after, depth)?;
        after.aliases.extend(columns.iter().cloned());
        self.expressions(&query.order_by, &after, &named, depth)?;
        self.expressions(&query.limit_clause, &after, &named, depth)?;
        self.expressions(&query.fetch, &after, &named, depth)?;
        Ok(columns)
    }

    fn body(
        &mut self,
        body: &SetExpr,
        named: &Named,
        outer: Option<&Scope<'_>>,
        sources: &Scope<'_>,
        depth: usize,
    ) -> Result<Vec<String>, Denied> {
        match body {
            SetExpr::Select(select) => {
                let relations = if sources.relations.is_empty() {
                    self.sources(&select.from, named, outer, depth)?
                } else {
                    sources.relations.clone()
                };
                self.select(select, relations, named, outer, depth)
            }
            SetExpr::Query(query) => self.query(query, named, outer, depth + 1),
            SetExpr::SetOperation { left, right, .. } => {
                let columns = self.body(left, named, outer, &Scope::default(), depth + 1)?;
                self.body(right, named, outer, &Scope::default(), depth + 1)?;
                Ok(columns)
            }
            SetExpr::Values(values) => {
                self.expressions(values, &Scope { outer, ..Scope::default() }, named, depth)?;
                let width = values.rows.first().map_or(0, |row| row.len());
                Ok((1..=width).map(|place| format!("column{place}")).collect())
            }
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => Err(Denied::NotReadOnly { what: shape::verb(statement) }),
            SetExpr::Table(_) => Err(Denied::Construct { what: "TABLE as a query".to_owned() }),
        }
    }

    fn select(
        &mut self,
        select: &Select,
        relations: Vec<Relation>,
        named: &Named,
        outer: Option<&Scope<'_>>,
        depth: usize,
    ) -> Result<Vec<String>, Denied> {
        shape::select(select)?;
        let mut scope = Scope { relations, outer, ..Scope::default() };
        let mut columns = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => columns.push(name.value.to_lowercase()),
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                    columns.extend(parts.last().map(|name| name.value.to_lowercase()));
                }
                SelectItem::UnnamedExpr(other) => columns.push(other.to_string().to_lowercase()),
                SelectItem::ExprWithAlias { alias, .. } => columns.push(alias.value.to_lowercase()),
                SelectItem::ExprWithAliases { .. } => {
                    return Err(Denied::Construct { what: "a list of aliases".to_owned() });
                }
                SelectItem::Wildcard(_) => columns.extend(star(&scope.relations, "*")?),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let wanted = full_name(name)?;
                    let of: Vec<Relation> =
                        scope.relations.iter().filter(|relation| relation.is(&wanted)).cloned().collect();
                    if of.is_empty() {
                        return Err(Denied::Column { column: format!("{wanted}.*") });
                    }
                    columns.extend(star(&of, &format!("{wanted}.*"))?);
                }
                SelectItem::QualifiedWildcard(..) => {
                    return Err(Denied::Construct { what: "`.*` of an expression".to_owned() });
                }
            }
        }
        scope.aliases = select
            .projection
            .iter()
            .filter_map(|item| match item {
                SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_lowercase()),
                _ => None,
            })
            .collect();
        // The queries in FROM were checked as sources; the clauses that are not here were refused by their shape. Aliases
        // come last: before grouping they mean nothing, and a database would read the name as something else.
        let before = Scope { aliases: BTreeSet::new(), ..scope.clone() };
        self.expressions(&select.projection, &before, named, depth)?;
        self.expressions(&select.distinct, &before, named, depth)?;
        self.expressions(&select.top, &before, named, depth)?;
        self.expressions(&select.from, &before, named, depth)?;
        self.expressions(&select.selection, &before, named, depth)?;
        self.expressions(&select.named_window, &before, named, depth)?;
        self.expressions(&select.group_by, &scope, named, depth)?;
        self.expressions(&select.having, &scope, named, depth)?;
        self.expressions(&select.qualify, &scope, named, depth)?;
        Ok(columns)
    }

    /// The relations of a FROM clause.
    fn sources(
        &mut self,
        from: &[TableWithJoins],
        named: &Named,
        outer: Option<&Scope<'_>>,
        depth: usize,
    ) -> Result<Vec<Relation>, Denied> {
        let mut relations = Vec::new();
        for tables in from {
            self.joined(tables, named, outer, depth, &mut relations)?;
        }
        Ok(relations)
    }

    fn joined(
        &mut self,
        tables: &TableWithJoins,
        named: &Named,
        outer: Option<&Scope<'_>>,
        depth: usize,
        relations: &mut Vec<Relation>,
    ) -> Result<(), Denied> {
        self.factor(&tables.relation, named, outer, depth, relations)?;
        for join in &tables.joins {
            self.factor(&join.relation, named, outer, depth, relations)?;
            match constraint(&join.join_operator) {
                Some(JoinConstraint::Using(columns)) => {
                    for column in columns {
                        let here = Scope { relations: relations.clone(), ..Scope::default() };
                        here.column(&full_name(column)?)?;
                    }
                }
                // A natural join compares every column of the same name, so all of them must be visible.
                Some(JoinConstraint::Natural) => drop(star(relations, "NATURAL JOIN")?),
                Some(JoinConstraint::On(_) | JoinConstraint::None) => {}
                None => return Err(Denied::Construct { what: "this kind of join".to_owned() }),
            }
        }
        Ok(())
    }

    fn factor(
        &mut self,
        factor: &TableFactor,
        named: &Named,
        outer: Option<&Scope<'_>>,
        depth: usize,
        relations: &mut Vec<Relation>,
    ) -> Result<(), Denied> {
        shape::factor(factor)?;
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let wanted = full_name(name)?;
                let mut found = match named.iter().rev().find(|query| query.name == wanted) {
                    Some(query) => query.clone(),
                    None => self.table(&wanted)?,
                };
                if let Some(alias) = alias {
                    found.name = alias.name.value.to_lowercase();
                }
                relations.push(found);
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let beside = Scope { relations: relations.clone(), outer, ..Scope::default() };
                let columns =
                    self.query(subquery, named, if *lateral { Some(&beside) } else { outer }, depth + 1)?;
                relations.push(match alias {
                    Some(alias) => relation(alias, columns),
                    None => Relation { name: String::new(), columns: visible(columns) },
                });
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                self.joined(table_with_joins, named, outer, depth + 1, relations)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn table(&mut self, wanted: &str) -> Result<Relation, Denied> {
        let Some(table) = self.schema.table(wanted).filter(|table| self.access.sees_table(table)) else {
            let known: Vec<&str> = self
                .schema
                .tables
                .iter()
                .filter(|t| self.access.sees_table(t))
                .map(|t| t.name.as_str())
                .take(10)
                .collect();
            return Err(Denied::Table { table: wanted.to_owned(), known: known.join(", ") });
        };
        self.tables.insert(table.name.clone());
        let known = |table: &Table| {
            table
                .columns
                .iter()
                .map(|c| Known { name: c.name.to_lowercase(), verdict: self.access.verdict(table, c) })
                .collect()
        };
        Ok(Relation { name: table.name.to_lowercase(), columns: known(table) })
    }

    /// Checks every expression of a part of the query, and the queries inside expressions.
    fn expressions(
        &mut self,
        part: &impl Visit,
        scope: &Scope<'_>,
        named: &Named,
        depth: usize,
    ) -> Result<(), Denied> {
        let mut found = Found { scope, inside: 0, in_from: 0, queries: Vec::new() };
        if let ControlFlow::Break(denied) = part.visit(&mut found) {
            return Err(denied);
        }
        for query in found.queries {
            self.query(&query, named, Some(scope), depth + 1)?;
        }
        Ok(())
    }
}

/// Collects what an expression names. It stops at queries: those have scopes of their own.
struct Found<'a> {
    scope: &'a Scope<'a>,
    inside: usize,
    in_from: usize,
    queries: Vec<Query>,
}

impl Visitor for Found<'_> {
    type Break = Denied;

    fn pre_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<Denied> {
        self.in_from += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<Denied> {
        self.in_from -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Denied> {
        if self.inside == 0 && self.in_from == 0 {
            self.queries.push(query.clone());
        }
        self.inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Denied> {
        self.inside -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Denied> {
        if self.inside > 0 {
            return ControlFlow::Continue(());
        }
        let checked = match expr {
            Expr::Identifier(name) => self.scope.column(&name.value.to_lowercase()),
            Expr::CompoundIdentifier(parts) => self.scope.column(&joined_name(parts)),
            Expr::Function(function) => functions::check(function),
            Expr::QualifiedWildcard(..) | Expr::Wildcard(_) => {
                Err(Denied::Construct { what: "`*` inside an expression".to_owned() })
            }
            Expr::Lambda(_) | Expr::MatchAgainst { .. } | Expr::Prior(_) | Expr::OuterJoin(_) => {
                Err(Denied::Construct { what: format!("`{expr}`") })
            }
            _ => Ok(()),
        };
        match checked {
            Ok(()) => ControlFlow::Continue(()),
            Err(denied) => ControlFlow::Break(denied),
        }
    }
}

impl Relation {
    /// Whether it goes by this name: its alias, or a table's name with or without the parts before the last.
    fn is(&self, name: &str) -> bool {
        self.name == name || self.name.rsplit('.').next() == Some(name)
    }
}

impl Scope<'_> {
    /// Looks a column up: `amount` in everything here, `s.amount` in what is called `s`, then further out.
    fn column(&self, name: &str) -> Result<(), Denied> {
        let (qualifier, column) = match name.rsplit_once('.') {
            Some((qualifier, column)) => (Some(qualifier), column),
            None => (None, name),
        };
        let mut hidden = false;
        let mut found = false;
        for relation in
            self.relations.iter().filter(|relation| qualifier.is_none_or(|qualifier| relation.is(qualifier)))
        {
            for known in relation.columns.iter().filter(|known| known.name == column) {
                match &known.verdict {
                    Verdict::Allowed => found = true,
                    Verdict::Hidden => hidden = true,
                    Verdict::Blocked(pattern) => {
                        return Err(Denied::Blocked { column: name.to_owned(), pattern: pattern.clone() });
                    }
                }
            }
        }
        // Where one of two columns of a name may not be seen, the name alone is not enough.
        if found && !hidden || qualifier.is_none() && !hidden && self.aliases.contains(column) {
            return Ok(());
        }
        match self.outer {
            Some(outer) if !found && !hidden => outer.column(name),
            _ => Err(Denied::Column { column: name.to_owned() }),
        }
    }
}

/// The columns that a star stands for; every one must be visible.
fn star(relations: &[Relation], written: &str) -> Result<Vec<String>, Denied> {
    let columns =
        relations.iter().flat_map(|relation| relation.columns.iter().map(move |column| (relation, column)));
    columns
        .map(|(relation, column)| match &column.verdict {
            Verdict::Allowed => Ok(column.name.clone()),
            // The name of a hidden column is not given away.
            Verdict::Hidden => Err(Denied::Star {
                star: written.to_owned(),
                column: format!("a column of {}", relation.name),
            }),
            Verdict::Blocked(_) => {
                Err(Denied::Star { star: written.to_owned(), column: column.name.clone() })
            }
        })
        .collect()
}

/// What a query yields under an alias, whose list of columns renames the first of them.
fn relation(alias: &TableAlias, mut columns: Vec<String>) -> Relation {
    for (column, renamed) in columns.iter_mut().zip(&alias.columns) {
        *column = renamed.name.value.to_lowercase();
    }
    Relation { name: alias.name.value.to_lowercase(), columns: visible(columns) }
}

fn visible(columns: Vec<String>) -> Vec<Known> {
    columns.into_iter().map(|name| Known { name, verdict: Verdict::Allowed }).collect()
}

fn full_name(name: &ObjectName) -> Result<String, Denied> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => Ok(ident.value.to_lowercase()),
        ObjectNamePart::Function(_) => Err(Denied::Construct { what: "a name that is computed".to_owned() }),
    };
    Ok(name.0.iter().map(part).collect::<Result<Vec<_>, _>>()?.join("."))
}

fn joined_name(parts: &[Ident]) -> String {
    parts.iter().map(|part| part.value.to_lowercase()).collect::<Vec<_>>().join(".")
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(c)
        | JoinOperator::Inner(c)
        | JoinOperator::Left(c)
        | JoinOperator::LeftOuter(c)
        | JoinOperator::Right(c)
        | JoinOperator::RightOuter(c)
        | JoinOperator::FullOuter(c)
        | JoinOperator::CrossJoin(c)
        | JoinOperator::Semi(c)
        | JoinOperator::LeftSemi(c)
        | JoinOperator::RightSemi(c)
        | JoinOperator::Anti(c)
        | JoinOperator::LeftAnti(c)
        | JoinOperator::RightAnti(c)
        | JoinOperator::StraightJoin(c) => Some(c),
        _ => None,
    }
}
