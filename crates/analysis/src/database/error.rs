//! Database errors: the kind of failure, the database's message, and what to do.
//!
//! No message contains a password: addresses are shown as `host:port`, and servers do not repeat
//! passwords in their messages.

use steward_domain::{Coded, ErrorClass};

/// The category of a query error, as needed to repair the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// A syntax error in the dialect of this database.
    Syntax,
    /// A value, a function or an operator does not fit the type it meets.
    Type,
    /// A column does not exist, or is ambiguous.
    MissingColumn,
    /// A table does not exist.
    MissingTable,
    /// It exceeds the limit of time or memory.
    Resource,
    /// Anything else; rewriting the query does not help.
    Other,
}

/// A failure of a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum DatabaseError {
    #[error(
        "this is not the address of a database: {detail}. It looks like postgres://user:password@host:5432/name or mysql://user:password@host:3306/name"
    )]
    Address { detail: String },
    #[error(
        "no database answers at {host}: {detail}. Check host, port and firewall, and that the server is running"
    )]
    Unreachable { host: String, detail: String },
    #[error("the database at {host} does not let this user in: {detail}. Check user name and password")]
    Password { host: String, detail: String },
    #[error("the server at {host} has no such database: {detail}")]
    NoDatabase { host: String, detail: String },
    #[error("no safe connection to {host}: {detail}. Check sslmode and the server's certificate")]
    Tls { host: String, detail: String },
    #[error("the database at {host} takes no more connections now: {detail}. Try again later")]
    Busy { host: String, detail: String },
    #[error("the database did not finish within {milliseconds} ms. Ask for less, or allow more time")]
    Timeout { milliseconds: u64 },
    #[error("the connection to {host} was lost: {detail}. Try again")]
    Vanished { host: String, detail: String },
    #[error("the database does not let this user read that: {detail}")]
    Permission { detail: String },
    #[error("only reading is allowed: {detail}. Send one SELECT statement")]
    NotReadOnly { detail: String },
    #[error(
        "the database would read {detail} that this statement was not admitted to, so it was not run. Ask \
            for less, and report this statement: admission should have refused it"
    )]
    Wall { detail: String },
    #[error("{name} cannot be opened as a database: {detail}")]
    File { name: String, detail: String },
    #[error("the driver {name} cannot be used: {detail}. {install}")]
    Driver { name: String, detail: String, install: String },
    #[error("the database refused the query: {message}")]
    Sql { message: String, category: Category },
}

impl DatabaseError {
    /// The category, for repairing the query.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Sql { category, .. } => *category,
            Self::Timeout { .. } => Category::Resource,
            _ => Category::Other,
        }
    }

    /// An error in the query itself.
    pub(super) fn sql(category: Category, message: impl Into<String>) -> Self {
        Self::Sql { message: message.into(), category }
    }

    /// Whether the connection can be used again.
    pub(super) fn leaves_connection_usable(&self) -> bool {
        matches!(
            self,
            Self::Sql { .. }
                | Self::Permission { .. }
                | Self::NotReadOnly { .. }
                | Self::Timeout { .. }
                | Self::Wall { .. }
        )
    }
}

impl Coded for DatabaseError {
    fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "DBS001",
            Self::Unreachable { .. } => "DBS002",
            Self::Password { .. } => "DBS003",
            Self::NoDatabase { .. } => "DBS004",
            Self::Tls { .. } => "DBS005",
            Self::Busy { .. } => "DBS006",
            Self::Timeout { .. } => "DBS007",
            Self::Vanished { .. } => "DBS008",
            Self::Permission { .. } => "DBS009",
            Self::NotReadOnly { .. } => "DBS010",
            Self::Sql { .. } => "DBS011",
            Self::Wall { .. } => "DBS012",
            Self::Driver { .. } => "DBS013",
            Self::File { .. } => "DBS014",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Address { .. }
            | Self::Password { .. }
            | Self::NoDatabase { .. }
            | Self::Tls { .. }
            | Self::Driver { .. }
            | Self::File { .. }
            | Self::Sql { .. } => ErrorClass::User,
            Self::Permission { .. } | Self::NotReadOnly { .. } | Self::Wall { .. } => ErrorClass::Denied,
            Self::Unreachable { .. } | Self::Busy { .. } | Self::Timeout { .. } | Self::Vanished { .. } => {
                ErrorClass::Transient
            }
        }
    }
}

/// When the failure occurred: the same broken socket means different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// While connecting.
    Connecting,
    /// While a query was running.
    Reading,
}

/// Converts a driver error. `named` maps the server's error codes.
pub(super) fn from_driver(
    error: sqlx::Error,
    host: &str,
    moment: Moment,
    named: impl FnOnce(&(dyn sqlx::error::DatabaseError + 'static)) -> Option<Named>,
) -> DatabaseError {
    let host = host.to_owned();
    match error {
        sqlx::Error::Database(said) => from_server(&*said, host, named(&*said)),
        // Without TLS, MySQL accepts some passwords only RSA-encrypted, which the driver is built
        // without.
        sqlx::Error::Configuration(detail) if detail.to_string().contains("RSA") => DatabaseError::Tls {
            host,
            detail: "the server takes this user's password only over TLS".to_owned(),
        },
        sqlx::Error::Configuration(detail) => DatabaseError::Address { detail: plainly(&detail.to_string()) },
        sqlx::Error::Tls(detail) => DatabaseError::Tls { host, detail: detail.to_string() },
        // A failed handshake is reported as invalid data.
        sqlx::Error::Io(detail)
            if moment == Moment::Connecting && detail.kind() == std::io::ErrorKind::InvalidData =>
        {
            DatabaseError::Tls { host, detail: detail.to_string() }
        }
        sqlx::Error::Io(detail) if moment == Moment::Connecting => {
            DatabaseError::Unreachable { host, detail: detail.to_string() }
        }
        sqlx::Error::Io(detail) => DatabaseError::Vanished { host, detail: detail.to_string() },
        sqlx::Error::Protocol(detail) if moment == Moment::Connecting => DatabaseError::Unreachable {
            host,
            detail: format!("what answers does not speak its language ({})", plainly(&detail)),
        },
        other if moment == Moment::Connecting => {
            DatabaseError::Unreachable { host, detail: other.to_string() }
        }
        other => DatabaseError::sql(Category::Other, plainly(&other.to_string())),
    }
}

/// The driver's message without locations in its source.
fn plainly(detail: &str) -> String {
    let detail = detail.trim_start_matches("error with configuration: ");
    detail.split(" (sqlx_").next().unwrap_or(detail).to_owned()
}

/// The meaning of a server's error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// User or password are wrong.
    Password,
    /// There is no such database.
    NoDatabase,
    /// Too many connections.
    Busy,
    /// Stopped because it took too long.
    TimedOut,
    /// The server closes the connection.
    Vanished,
    /// Permission denied.
    Permission,
    /// It would have written.
    NotReadOnly,
    /// The query is wrong.
    Sql(Category),
}

fn from_server(
    said: &(dyn sqlx::error::DatabaseError + 'static),
    host: String,
    named: Option<Named>,
) -> DatabaseError {
    // MySQL quotes the statement from where it stopped parsing, which may contain a row-level rule.
    let detail = said.message().split(" near '").next().unwrap_or_default().to_owned();
    match named {
        Some(Named::Password) => DatabaseError::Password { host, detail },
        Some(Named::NoDatabase) => DatabaseError::NoDatabase { host, detail },
        Some(Named::Busy) => DatabaseError::Busy { host, detail },
        // The caller fills in the duration.
        Some(Named::TimedOut) => DatabaseError::Timeout { milliseconds: 0 },
        Some(Named::Vanished) => DatabaseError::Vanished { host, detail },
        Some(Named::Permission) => DatabaseError::Permission { detail },
        Some(Named::NotReadOnly) => DatabaseError::NotReadOnly { detail },
        Some(Named::Sql(category)) => DatabaseError::sql(category, detail),
        None => DatabaseError::sql(Category::Other, detail),
    }
}
