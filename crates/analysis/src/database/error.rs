//! How talking to a database fails: which of the few situations it is, what the database said, what
//! to do.
//!
//! No message holds a password: addresses are shown as `host:port`, and servers do not repeat
//! passwords in what they say.

use steward_domain::{Coded, ErrorClass};

/// What is wrong with a query, as far as somebody who repairs it needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// The sentence is not SQL of this database.
    Syntax,
    /// A value, a function or an operator does not fit the type it meets.
    Type,
    /// A column is not there, or it is not clear which one is meant.
    MissingColumn,
    /// A table is not there.
    MissingTable,
    /// It would take more time or memory than allowed.
    Resource,
    /// Anything else; trying the same with other words does not help.
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
    /// What somebody who repairs the query needs to know.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Sql { category, .. } => *category,
            Self::Timeout { .. } => Category::Resource,
            _ => Category::Other,
        }
    }

    /// A refusal of the query itself.
    pub(super) fn sql(category: Category, message: impl Into<String>) -> Self {
        Self::Sql { message: message.into(), category }
    }

    /// Can the connection be used again after this?
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

/// When the failure came: the same broken socket means different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// While the connection was made.
    Connecting,
    /// While a query ran.
    Reading,
}

/// Turns a failure of the driver into ours. `named` maps what the server itself complains about.
pub(super) fn from_driver(
    error: sqlx::Error,
    host: &str,
    moment: Moment,
    named: impl FnOnce(&(dyn sqlx::error::DatabaseError + 'static)) -> Option<Named>,
) -> DatabaseError {
    let host = host.to_owned();
    match error {
        sqlx::Error::Database(said) => from_server(&*said, host, named(&*said)),
        // Without TLS, MySQL takes some passwords only under a key of its own, and the driver is
        // built without that.
        sqlx::Error::Configuration(detail) if detail.to_string().contains("RSA") => DatabaseError::Tls {
            host,
            detail: "the server takes this user's password only over TLS".to_owned(),
        },
        sqlx::Error::Configuration(detail) => DatabaseError::Address { detail: plainly(&detail.to_string()) },
        sqlx::Error::Tls(detail) => DatabaseError::Tls { host, detail: detail.to_string() },
        // A failed handshake comes as data that makes no sense.
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

/// What the driver says, without the places in its own source.
fn plainly(detail: &str) -> String {
    let detail = detail.trim_start_matches("error with configuration: ");
    detail.split(" (sqlx_").next().unwrap_or(detail).to_owned()
}

/// What a server's error number stands for.
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
    /// The server ends the connection.
    Vanished,
    /// Not allowed to read it.
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
    // MySQL quotes the statement from where it stopped reading: that may be a rule for rows.
    let detail = said.message().split(" near '").next().unwrap_or_default().to_owned();
    match named {
        Some(Named::Password) => DatabaseError::Password { host, detail },
        Some(Named::NoDatabase) => DatabaseError::NoDatabase { host, detail },
        Some(Named::Busy) => DatabaseError::Busy { host, detail },
        // The caller knows how long it was and fills it in.
        Some(Named::TimedOut) => DatabaseError::Timeout { milliseconds: 0 },
        Some(Named::Vanished) => DatabaseError::Vanished { host, detail },
        Some(Named::Permission) => DatabaseError::Permission { detail },
        Some(Named::NotReadOnly) => DatabaseError::NotReadOnly { detail },
        Some(Named::Sql(category)) => DatabaseError::sql(category, detail),
        None => DatabaseError::sql(Category::Other, detail),
    }
}
