//! Name resolution: relations, their columns, and the aliases of a select list.
//!
//! Invariants
//! - A name is a list of identifiers with their quoting, never one text.
//! - A qualifier that names a relation is looked up in that relation only, never in an outer scope.
//! - The result is one column of one relation, written with the relation's name in the new
//!   statement.

use super::dialect::Dialect;
use crate::access::Verdict;
use crate::error::Denied;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use std::rc::Rc;

/// A column that a relation offers.
#[derive(Debug, Clone)]
pub(super) struct Offered {
    /// Its name in the original statement.
    pub(super) name: String,
    /// Its name in the new statement.
    pub(super) written: String,
    pub(super) verdict: Verdict,
    /// The table and column it comes from, unless it was computed.
    pub(super) origin: Option<(String, String)>,
}

/// A relation: a table, or the result of a query.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    /// Its alias, or a table's name with its qualifiers.
    pub(super) path: Vec<String>,
    /// Its name in the new statement; unique there.
    pub(super) written: String,
    pub(super) columns: Rc<[Offered]>,
    /// Columns that USING or NATURAL merged with one of another relation: an unqualified name means
    /// that one.
    pub(super) merged: Vec<String>,
    /// The table with a minimum group size, and that size.
    pub(super) smallest: Option<(String, u32)>,
}

/// An item of a select list that GROUP BY, HAVING and ORDER BY may name.
#[derive(Debug, Clone)]
pub(super) struct Alias {
    pub(super) name: String,
    /// The rendered expression.
    pub(super) sql: String,
    /// Its position in the list, from one.
    pub(super) place: usize,
}

/// Which aliases a name may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aliases {
    /// None: aliases are not visible before grouping.
    None,
    /// One, if no column has the name (GROUP BY, HAVING).
    AfterColumns,
    /// One, before any column (ORDER BY).
    BeforeColumns,
}

/// The names that are visible at one place.
#[derive(Debug, Clone)]
pub(super) struct Scope<'a> {
    pub(super) dialect: Dialect,
    pub(super) relations: Vec<Relation>,
    pub(super) aliases: Vec<Alias>,
    pub(super) use_aliases: Aliases,
    pub(super) outer: Option<&'a Scope<'a>>,
}

/// The result of resolving a name.
pub(super) enum Meaning<'s> {
    Column(&'s Relation, &'s Offered),
    Alias(&'s Alias),
}

/// How names are compared: as the engine does, or ignoring case. The second is for people who write
/// `State` for `state`. It is safe because the new statement names the column that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strictness {
    Engine,
    Lenient,
}

impl<'a> Scope<'a> {
    pub(super) fn new(dialect: Dialect, relations: Vec<Relation>, outer: Option<&'a Scope<'a>>) -> Self {
        Self { dialect, relations, aliases: Vec::new(), use_aliases: Aliases::None, outer }
    }

    /// Resolves a name: `amount` in all relations here, `s.amount` in the relation `s`, then in the
    /// outer scopes.
    pub(super) fn find(&self, parts: &[Ident]) -> Result<Meaning<'_>, Denied> {
        let names: Vec<String> = parts.iter().map(|part| self.dialect.fold(part)).collect();
        let written = parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
        for strictness in [Strictness::Engine, Strictness::Lenient] {
            if let Some(found) = self.look(&names, &written, strictness)? {
                return Ok(found);
            }
        }
        Err(Denied::Column { column: written })
    }

    fn look(
        &self,
        names: &[String],
        written: &str,
        strictness: Strictness,
    ) -> Result<Option<Meaning<'_>>, Denied> {
        let Some((name, qualifier)) = names.split_last() else { return Ok(None) };
        let found = if qualifier.is_empty() {
            self.bare(name, written, strictness)?
        } else {
            let mut matching = self.relations.iter().filter(|r| r.is_called(qualifier, self, strictness));
            match (matching.next(), matching.next()) {
                (None, _) => None,
                (Some(relation), None) => {
                    return relation
                        .column(name, written, self, strictness)
                        .map(|column| column.map(|column| Meaning::Column(relation, column)));
                }
                (Some(_), Some(_)) => return Err(Denied::Ambiguous { name: written.to_owned() }),
            }
        };
        match (found, self.outer) {
            (None, Some(outer)) => outer.look(names, written, strictness),
            (found, _) => Ok(found),
        }
    }

    fn bare(&self, name: &str, written: &str, strictness: Strictness) -> Result<Option<Meaning<'_>>, Denied> {
        let alias = match self.use_aliases {
            Aliases::None => None,
            _ => self.aliases.iter().find(|alias| self.same(name, &alias.name, strictness)),
        };
        if let (Aliases::BeforeColumns, Some(alias)) = (self.use_aliases, alias) {
            return Ok(Some(Meaning::Alias(alias)));
        }
        let mut found: Option<(&Relation, &Offered)> = None;
        let mut hidden = false;
        for relation in &self.relations {
            if relation.merged.iter().any(|merged| self.same(name, merged, strictness)) {
                continue;
            }
            match relation.column(name, written, self, strictness) {
                Ok(None) => {}
                Ok(Some(column)) if found.is_none() => found = Some((relation, column)),
                Ok(Some(_)) => return Err(Denied::Ambiguous { name: written.to_owned() }),
                Err(Denied::Column { .. }) => hidden = true,
                Err(denied) => return Err(denied),
            }
        }
        match (found, alias) {
            (Some((relation, column)), _) => Ok(Some(Meaning::Column(relation, column))),
            (None, Some(alias)) => Ok(Some(Meaning::Alias(alias))),
            // A hidden column is not looked up in an outer scope, where the name would mean
            // something else.
            (None, None) if hidden => Err(Denied::Column { column: written.to_owned() }),
            (None, None) => Ok(None),
        }
    }

    fn same(&self, folded: &str, name: &str, strictness: Strictness) -> bool {
        match strictness {
            Strictness::Engine => self.dialect.same(folded, name),
            Strictness::Lenient => folded.to_lowercase() == name.to_lowercase(),
        }
    }

    /// The relation of `x.*`.
    pub(super) fn relation(&self, name: &ObjectName) -> Result<&Relation, Denied> {
        let parts = identifiers(name)?;
        let names: Vec<String> = parts.iter().map(|part| self.dialect.fold(part)).collect();
        for strictness in [Strictness::Engine, Strictness::Lenient] {
            let mut matching = self.relations.iter().filter(|r| r.is_called(&names, self, strictness));
            match (matching.next(), matching.next()) {
                (Some(relation), None) => return Ok(relation),
                (Some(_), Some(_)) => return Err(Denied::Ambiguous { name: name.to_string() }),
                (None, _) => {}
            }
        }
        Err(Denied::Column { column: format!("{name}.*") })
    }
}

impl Relation {
    /// Whether it has this name: its alias, or a table's name with or without qualifiers.
    fn is_called(&self, names: &[String], scope: &Scope<'_>, strictness: Strictness) -> bool {
        names.len() <= self.path.len()
            && names
                .iter()
                .rev()
                .zip(self.path.iter().rev())
                .all(|(name, part)| scope.same(name, part, strictness))
    }

    /// A column that may be read, or the reason why it may not.
    fn column(
        &self,
        name: &str,
        written: &str,
        scope: &Scope<'_>,
        strictness: Strictness,
    ) -> Result<Option<&Offered>, Denied> {
        let mut found = None;
        for column in self.columns.iter().filter(|column| scope.same(name, &column.name, strictness)) {
            match &column.verdict {
                Verdict::Blocked(pattern) => {
                    return Err(Denied::Blocked { column: written.to_owned(), pattern: pattern.clone() });
                }
                Verdict::Hidden => return Err(Denied::Column { column: written.to_owned() }),
                Verdict::Allowed if found.is_some() => {
                    return Err(Denied::Ambiguous { name: written.to_owned() });
                }
                Verdict::Allowed => found = Some(column),
            }
        }
        Ok(found)
    }
}

/// The identifiers of a name that is not computed.
pub(super) fn identifiers(name: &ObjectName) -> Result<Vec<&Ident>, Denied> {
    fn identifier(part: &ObjectNamePart) -> Result<&Ident, Denied> {
        match part {
            ObjectNamePart::Identifier(ident) => Ok(ident),
            ObjectNamePart::Function(_) => {
                Err(Denied::Construct { what: "a name that is computed".to_owned() })
            }
        }
    }
    name.0.iter().map(identifier).collect()
}
