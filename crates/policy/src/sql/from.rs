//! FROM: tables, queries and joins, each with the relation that later names can refer to.

use super::names::{Meaning, Relation, Scope, identifiers};
use super::query::ClauseContext;
use super::render::{Named, Renderer};
use super::shape;
use crate::access::Verdict;
use crate::error::Denied;
use sqlparser::ast::{Ident, JoinConstraint, JoinOperator, TableFactor, TableWithJoins};

impl Renderer<'_> {
    /// The relations of a FROM clause, and its text.
    pub(super) fn from(
        &mut self,
        from: &[TableWithJoins],
        around: ClauseContext<'_, '_>,
    ) -> Result<(Vec<Relation>, String), Denied> {
        let mut relations = Vec::new();
        let mut parts = Vec::new();
        for tables in from {
            let (joined, sql) = self.joined(tables, &relations, around)?;
            relations.extend(joined);
            parts.push(sql);
        }
        Ok((relations, parts.join(", ")))
    }

    /// Joined tables; `beside` are the tables before them, which only LATERAL sees.
    fn joined(
        &mut self,
        tables: &TableWithJoins,
        beside: &[Relation],
        around: ClauseContext<'_, '_>,
    ) -> Result<(Vec<Relation>, String), Denied> {
        let (mut relations, mut sql) = self.factor(&tables.relation, beside, around)?;
        for join in &tables.joins {
            let seen: Vec<Relation> = beside.iter().chain(&relations).cloned().collect();
            let (mut right, text) = self.factor(&join.relation, &seen, around)?;
            let (word, constraint) = join_word(&join.join_operator)?;
            let condition = match constraint {
                JoinConstraint::None => None,
                JoinConstraint::On(condition) => {
                    let both = relations.iter().chain(&right).cloned().collect();
                    let scope = Scope::new(self.dialect, both, around.outer);
                    Some(self.expr(condition, &scope, around)?.sql)
                }
                JoinConstraint::Using(columns) => {
                    let mut names = Vec::new();
                    for column in columns {
                        match identifiers(column)?.as_slice() {
                            [name] => names.push((*name).clone()),
                            _ => {
                                return Err(Denied::Construct {
                                    what: "a qualified name in USING".to_owned(),
                                });
                            }
                        }
                    }
                    Some(self.merge(&relations, &mut right, &names, word)?)
                }
                JoinConstraint::Natural => {
                    let names = common(&relations, &right)?;
                    if names.is_empty() {
                        None
                    } else {
                        Some(self.merge(&relations, &mut right, &names, word)?)
                    }
                }
            };
            sql = match condition {
                Some(condition) if word != "CROSS JOIN" => format!("{sql} {word} {text} ON {condition}"),
                None if word == "JOIN" || word == "CROSS JOIN" => format!("{sql} CROSS JOIN {text}"),
                _ => {
                    return Err(Denied::Construct {
                        what: format!("{word} without a condition that fits it"),
                    });
                }
            };
            relations.extend(right);
        }
        Ok((relations, sql))
    }

    /// The condition of USING; unqualified names of the right side's columns then mean those of the
    /// left.
    fn merge(
        &mut self,
        left: &[Relation],
        right: &mut [Relation],
        names: &[Ident],
        word: &str,
    ) -> Result<String, Denied> {
        if !matches!(word, "JOIN" | "LEFT JOIN") {
            return Err(Denied::Construct { what: format!("{word} with USING or NATURAL") });
        }
        let mut pairs = Vec::new();
        for name in names {
            let mut side = |relations: &[Relation]| -> Result<(String, String), Denied> {
                let scope = Scope::new(self.dialect, relations.to_vec(), None);
                match scope.find(std::slice::from_ref(name))? {
                    Meaning::Column(relation, column) => {
                        let sql = self.column(relation, column).sql;
                        Ok((sql, column.name.clone()))
                    }
                    Meaning::Alias(_) => Err(Denied::Column { column: name.value.clone() }),
                }
            };
            let ((l, _), (r, merged)) = (side(left)?, side(right)?);
            pairs.push(format!("{l} = {r}"));
            right.iter_mut().for_each(|relation| relation.merged.push(merged.clone()));
        }
        Ok(pairs.join(" AND "))
    }

    fn factor(
        &mut self,
        factor: &TableFactor,
        beside: &[Relation],
        around: ClauseContext<'_, '_>,
    ) -> Result<(Vec<Relation>, String), Denied> {
        shape::factor(factor)?;
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let alias = alias.as_ref().map(|alias| &alias.name);
                if let [only] = identifiers(name)?.as_slice() {
                    let folded = self.dialect.fold(only);
                    let same = |named: &&Named| self.dialect.same(&folded, &named.name);
                    if let Some(named) = around.named.iter().rev().find(same).cloned() {
                        return self.use_named(named, alias);
                    }
                }
                let (relation, sql) = self.table(name, alias)?;
                Ok((vec![relation], sql))
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let beside = Scope::new(self.dialect, beside.to_vec(), around.outer);
                let outer = if *lateral { Some(&beside) } else { around.outer };
                let renamed: Vec<Ident> =
                    alias.iter().flat_map(|alias| &alias.columns).map(|column| column.name.clone()).collect();
                let query = self.query(subquery, &renamed, around.deeper()?.with_outer(outer))?;
                let name = alias.as_ref().map(|alias| self.dialect.fold(&alias.name));
                let written = self.relation_name(name.as_deref().unwrap_or("derived"))?;
                let word = if *lateral { "LATERAL " } else { "" };
                let sql = format!("{word}({}) AS {}", query.sql, self.dialect.quote(&written));
                let path = name.into_iter().collect();
                Ok((
                    vec![Relation {
                        path,
                        written,
                        columns: query.columns.into(),
                        merged: Vec::new(),
                        smallest: None,
                    }],
                    sql,
                ))
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                let (relations, sql) = self.joined(table_with_joins, beside, around.deeper()?)?;
                Ok((relations, format!("({sql})")))
            }
            _ => Err(Denied::Construct { what: "this in FROM".to_owned() }),
        }
    }

    fn use_named(&mut self, named: Named, alias: Option<&Ident>) -> Result<(Vec<Relation>, String), Denied> {
        let name = alias.map_or_else(|| named.name.clone(), |alias| self.dialect.fold(alias));
        let written = self.relation_name(&name)?;
        let quote = |name: &str| self.dialect.quote(name);
        let sql = format!("{} AS {}", quote(&named.written), quote(&written));
        Ok((
            vec![Relation {
                path: vec![name],
                written,
                columns: named.columns,
                merged: Vec::new(),
                smallest: None,
            }],
            sql,
        ))
    }
}

fn join_word(operator: &JoinOperator) -> Result<(&'static str, &JoinConstraint), Denied> {
    Ok(match operator {
        JoinOperator::Join(c) | JoinOperator::Inner(c) => ("JOIN", c),
        JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => ("LEFT JOIN", c),
        JoinOperator::Right(c) | JoinOperator::RightOuter(c) => ("RIGHT JOIN", c),
        JoinOperator::FullOuter(c) => ("FULL JOIN", c),
        JoinOperator::CrossJoin(c) => ("CROSS JOIN", c),
        _ => return Err(Denied::Construct { what: "this kind of join".to_owned() }),
    })
}

/// The columns that both sides of a natural join have. The join would also compare hidden columns,
/// so all of them must be visible.
fn common(left: &[Relation], right: &[Relation]) -> Result<Vec<Ident>, Denied> {
    for relation in left.iter().chain(right) {
        for column in relation.columns.iter() {
            let star = "NATURAL JOIN".to_owned();
            match &column.verdict {
                Verdict::Allowed => {}
                Verdict::Blocked(_) => return Err(Denied::Star { star, column: column.name.clone() }),
                // The name of a hidden column is not revealed.
                Verdict::Hidden => {
                    let column = format!("a column of {}", relation.path.join("."));
                    return Err(Denied::Star { star, column });
                }
            }
        }
    }
    let is_left = |name: &str| left.iter().flat_map(|r| r.columns.iter()).any(|column| column.name == name);
    let names = right.iter().flat_map(|relation| relation.columns.iter()).map(|column| &column.name);
    Ok(names.filter(|name| is_left(name)).map(|name| Ident::with_quote('"', name)).collect())
}
