//! The SQL dialect of an engine: how it reads names, and how names, values and types are written
//! for it.
//!
//! Invariant: whatever a name or a text contains, it is written as a single token of the engine.

use crate::error::Denied;
use serde::{Deserialize, Serialize};
use sqlparser::ast::{DataType, DateTimeField, Ident, TimezoneInfo};
use sqlparser::dialect::{
    Dialect as Grammar, GenericDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect,
};

/// PostgreSQL truncates longer names, so two names that differ only after this are equal to it.
const POSTGRES_NAME_BYTES: usize = 63;
/// Maximum length of the names of result columns in bytes: no engine truncates them.
pub const RESULT_NAME_BYTES: usize = 60;

/// The SQL dialect of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// The engine in this process (files, mixed sources).
    DataFusion,
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    /// DuckDB.
    DuckDb,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::DataFusion, Self::Sqlite, Self::Postgres, Self::MySql, Self::DuckDb];

    /// The grammar that statements for this engine are parsed with.
    pub(super) fn grammar(self) -> Box<dyn Grammar> {
        match self {
            Self::DataFusion => Box::new(GenericDialect {}),
            Self::Sqlite => Box::new(SQLiteDialect {}),
            // The grammar of DuckDB comes from PostgreSQL. What only DuckDB has would be refused
            // anyway.
            Self::Postgres | Self::DuckDb => Box::new(PostgreSqlDialect {}),
            Self::MySql => Box::new(MySqlDialect {}),
        }
    }

    /// The name that the engine looks up when it reads this identifier.
    pub(super) fn fold(self, ident: &Ident) -> String {
        let name = match (self, ident.quote_style) {
            (Self::DataFusion, None) => ident.value.to_lowercase(),
            (Self::Postgres, None) => ident.value.to_ascii_lowercase(),
            _ => ident.value.clone(),
        };
        if self == Self::Postgres { cut(&name, POSTGRES_NAME_BYTES).to_owned() } else { name }
    }

    /// Whether the engine treats a folded name as equal to this other name.
    pub(super) fn same(self, folded: &str, name: &str) -> bool {
        match self {
            Self::DataFusion | Self::Postgres => folded == name,
            Self::Sqlite | Self::MySql | Self::DuckDb => folded.to_lowercase() == name.to_lowercase(),
        }
    }

    /// A name as one quoted token.
    pub(super) fn quote(self, name: &str) -> String {
        let name = name.replace('\0', "");
        match self {
            Self::MySql => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A text as one literal. If a backslash could be an escape, a form is used that does not
    /// depend on settings of the server.
    pub(super) fn text(self, text: &str) -> String {
        let text = text.replace('\0', "");
        let doubled = text.replace('\'', "''");
        match self {
            Self::MySql if text.contains('\\') => {
                let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
                format!("_utf8mb4 X'{hex}'")
            }
            Self::Postgres if text.contains('\\') => format!("E'{}'", doubled.replace('\\', "\\\\")),
            _ => format!("'{doubled}'"),
        }
    }

    /// A boolean literal.
    pub(super) fn boolean(self, truth: bool) -> &'static str {
        match (self, truth) {
            (Self::Sqlite, true) => "1",
            (Self::Sqlite, false) => "0",
            (_, true) => "true",
            (_, false) => "false",
        }
    }

    /// A type as it is written in a cast.
    pub(super) fn data_type(self, data_type: &DataType) -> Result<String, Denied> {
        use DataType as T;
        let plain = matches!(
            data_type,
            T::Character(_)
                | T::Char(_)
                | T::CharacterVarying(_)
                | T::CharVarying(_)
                | T::Varchar(_)
                | T::Nvarchar(_)
                | T::Text
                | T::String(_)
                | T::Uuid
                | T::Numeric(_)
                | T::Decimal(_)
                | T::Dec(_)
                | T::DecimalUnsigned(_)
                | T::Float(_)
                | T::Float4
                | T::Float8
                | T::Float32
                | T::Float64
                | T::Real
                | T::Double(_)
                | T::DoublePrecision
                | T::TinyInt(_)
                | T::SmallInt(_)
                | T::MediumInt(_)
                | T::Int(_)
                | T::Int2(_)
                | T::Int4(_)
                | T::Int8(_)
                | T::Int32
                | T::Int64
                | T::Integer(_)
                | T::BigInt(_)
                | T::Signed
                | T::SignedInteger
                | T::Unsigned
                | T::UnsignedInteger
                | T::Bool
                | T::Boolean
                | T::Date
                | T::Datetime(_)
                | T::Timestamp(..)
                | T::Time(..)
                | T::JSON
                | T::JSONB
                | T::Interval { fields: None, .. }
        );
        if !plain {
            return Err(Denied::Construct { what: format!("the type {data_type}") });
        }
        Ok(data_type.to_string())
    }

    /// Whether literals such as `DATE '2024-01-31'` are supported; otherwise the plain text is
    /// used.
    pub(super) fn has_typed_literals(self) -> bool {
        self != Self::Sqlite
    }
}

/// The types of literals such as `DATE '2024-01-31'`.
pub(super) fn is_time_type(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Date
            | DataType::Datetime(None)
            | DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithTimeZone)
            | DataType::Time(None, TimezoneInfo::None)
    )
}

/// A part of a time, as a word of SQL.
pub(super) fn time_field(field: &DateTimeField) -> Result<String, Denied> {
    match field {
        DateTimeField::Custom(_)
        | DateTimeField::Week(Some(_))
        | DateTimeField::NoDateTime
        | DateTimeField::TimezoneAbbr
        | DateTimeField::TimezoneRegion => {
            Err(Denied::Construct { what: format!("{field} as a part of a time") })
        }
        field => Ok(field.to_string()),
    }
}

/// A generated name that resembles `wanted`: short and plain, so that every engine reads it the
/// same way.
pub(super) fn plain_name(wanted: &str, otherwise: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() && u32::from(c) < 0x10000 || c == '_';
    if !wanted.is_empty() && wanted.len() <= RESULT_NAME_BYTES && wanted.chars().all(plain) {
        wanted.to_owned()
    } else {
        otherwise.to_owned()
    }
}

/// The name of a result column, for people: any text, truncated to a length that every engine
/// keeps.
pub(super) fn shown_name(wanted: &str, otherwise: &str) -> String {
    let plain: String = wanted.chars().filter(|c| !c.is_control() && u32::from(*c) < 0x10000).collect();
    let name = cut(plain.trim(), RESULT_NAME_BYTES).trim_end();
    if name.is_empty() { otherwise.to_owned() } else { name.to_owned() }
}

/// The first `bytes` bytes of a text, at most.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_as_the_engine_does() {
        let quoted = |name: &str| Ident::with_quote('"', name);
        assert_eq!(Dialect::Postgres.fold(&Ident::new("Email")), "email");
        assert_eq!(Dialect::Postgres.fold(&quoted("Email")), "Email");
        assert_eq!(Dialect::Postgres.fold(&quoted(&"é".repeat(40))).len(), 62);
        assert!(Dialect::Sqlite.same("Email", "email") && Dialect::MySql.same("Email", "email"));
        assert!(!Dialect::Postgres.same("Email", "email") && !Dialect::DataFusion.same("Email", "email"));
    }

    #[test]
    fn a_text_is_one_literal() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.text("it's"), "'it''s'");
        }
        assert_eq!(Dialect::MySql.text("a\\"), "_utf8mb4 X'615c'");
        assert_eq!(Dialect::Postgres.text("a\\'"), "E'a\\\\'''");
        assert_eq!(Dialect::Sqlite.text("a\\"), "'a\\'");
        assert_eq!(Dialect::MySql.quote("a`b"), "`a``b`");
        assert_eq!(Dialect::Postgres.quote("a\"b"), "\"a\"\"b\"");
    }
}
