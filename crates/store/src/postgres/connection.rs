//! The connection pool, the roles, and the translation of PostgreSQL's errors.

use crate::error::{Error, Result};
use crate::migrate::{POSTGRES, newest};
use crate::query::Scope;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgPool, Postgres, Row, Transaction};
use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_domain::{Invalid, Problem};

/// The pool size: 20 connections, and 10 more under load.
const CONNECTIONS: u32 = 30;

/// Time limit of the first connection.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// Advisory lock that serialises migrations of replicas that start together.
const MIGRATION_LOCK: i64 = 0x7374_6577_6172_6401;

pub(super) type Tx = Transaction<'static, Postgres>;

/// The pool. All work runs inside [`Database::begin`], under one of the two roles.
#[derive(Clone)]
pub(super) struct Database {
    pool: PgPool,
    /// Vector widths that have an index.
    indexed: Arc<Mutex<BTreeSet<usize>>>,
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let detail = error.to_string();
        let Some(refusal) = error.as_database_error() else {
            return match error {
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed => Self::Unreachable { detail },
                sqlx::Error::Configuration(_) => Self::BadAddress("(hidden)".to_owned()),
                _ => Self::Database(detail),
            };
        };
        match refusal.code().as_deref().unwrap_or_default() {
            "23505" | "23503" => {
                Self::Conflict { what: "a row with the same key, or a row it refers to,".to_owned(), detail }
            }
            "42501" => Self::OtherOwner,
            "22P05" | "22021" => Self::Invalid(Invalid {
                entity: "text",
                problems: vec![Problem::new(
                    "",
                    "must not contain the character U+0000, which PostgreSQL cannot keep",
                    detail,
                )],
            }),
            "53100" => Self::DiskFull { detail },
            "25006" => Self::ReadOnly { path: "the PostgreSQL database".into(), detail },
            "40001" | "40P01" | "55P03" | "53300" => Self::Busy { detail },
            code if code.starts_with("08")
                || code.starts_with("57P")
                || code.starts_with("28")
                || code == "3D000"
                || code == "25P03" =>
            {
                Self::Unreachable { detail }
            }
            "XX001" | "XX002" => Self::Corrupt { path: "the PostgreSQL database".into(), detail },
            _ => Self::Database(detail),
        }
    }
}

impl Database {
    pub(super) async fn connect(address: &str, up_to: i64) -> Result<Self> {
        let options =
            PgConnectOptions::from_str(address).map_err(|_| Error::BadAddress("postgres://…".to_owned()))?;
        // A pool retries until its timeout; a separate first connection reports errors at once.
        let first = tokio::time::timeout(FIRST_ANSWER, options.clone().connect()).await;
        let slow = || Error::Unreachable { detail: format!("no answer within {} s", FIRST_ANSWER.as_secs()) };
        first.map_err(|_| slow())??.close().await?;
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(Duration::from_secs(10))
            .connect_with(options.application_name("steward"))
            .await?;
        let database = Self { pool, indexed: Arc::default() };
        database.migrate(up_to).await?;
        Ok(database)
    }

    /// A transaction in a role: the user role sees only that user's rows, the system role sees all.
    /// Both settings are local to the transaction, so nothing leaks to the next user of the
    /// connection.
    pub(super) async fn begin(&self, scope: &Scope) -> Result<Tx> {
        self.begin_with(scope, "SELECT set_config('role', $1, true), set_config('steward.user_id', $2, true)")
            .await
    }

    /// A transaction that sees all rows, in a consistent snapshot.
    pub(super) async fn begin_as_of_now(&self) -> Result<Tx> {
        let mut transaction = self.pool.begin().await?;
        sqlx::raw_sql(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL ROLE steward_system",
        )
        .execute(&mut *transaction)
        .await?;
        Ok(transaction)
    }

    /// A transaction of the role that owns the tables.
    pub(super) async fn begin_as_owner(&self) -> Result<Tx> {
        Ok(self.pool.begin().await?)
    }

    /// A transaction whose commit does not wait for the disk. The server writes its WAL in order,
    /// so the next synchronous commit also flushes this one; otherwise the WAL writer does, within
    /// three times `wal_writer_delay` (0.6 s by default).
    pub(super) async fn begin_unsynced(&self, scope: &Scope) -> Result<Tx> {
        self.begin_with(
            scope,
            "SELECT set_config('role', $1, true), set_config('steward.user_id', $2, true), \
                set_config('synchronous_commit', 'off', true)",
        )
        .await
    }

    async fn begin_with(&self, scope: &Scope, settings: &'static str) -> Result<Tx> {
        let mut transaction = self.pool.begin().await?;
        let (role, user) = match scope {
            Scope::User(user) => ("steward_user", user.as_str()),
            Scope::System => ("steward_system", ""),
        };
        sqlx::query(settings).bind(role).bind(user).execute(&mut *transaction).await?;
        Ok(transaction)
    }

    /// A separate connection that listens on a channel and reconnects when it is lost.
    pub(super) async fn listen(&self, channel: &str) -> Result<PgListener> {
        let beside = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let options = self.pool.connect_options().as_ref().clone();
        let mut listener = PgListener::connect_with(&beside.connect_with(options).await?).await?;
        listener.listen(channel).await?;
        Ok(listener)
    }

    /// Applies missing migrations in one transaction, under a lock that is released with it.
    async fn migrate(&self, up_to: i64) -> Result<()> {
        let mut tx = self.pool.begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(MIGRATION_LOCK).execute(&mut *tx).await?;
        sqlx::raw_sql("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
            .execute(&mut *tx)
            .await?;
        let found: i64 = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM schema_version")
            .fetch_one(&mut *tx)
            .await?;
        let known = newest(POSTGRES);
        if found > known {
            return Err(Error::NewerSchema { found, known });
        }
        for migration in POSTGRES.iter().filter(|m| m.version > found && m.version <= up_to) {
            let done = sqlx::raw_sql(migration.sql).execute(&mut *tx).await;
            done.map_err(|error| setup_error(migration.version, &error))?;
            sqlx::query("INSERT INTO schema_version VALUES ($1)")
                .bind(migration.version)
                .execute(&mut *tx)
                .await?;
        }
        Ok(tx.commit().await?)
    }

    /// Creates the index for vectors of this width on the first search. Widths that no tool uses
    /// need none, and pgvector indexes at most 2,000 dimensions: wider vectors are compared one by
    /// one.
    pub(super) async fn index_vectors(&self, width: usize) -> Result<()> {
        if width > 2000 || self.indexed.lock().is_ok_and(|indexed| indexed.contains(&width)) {
            return Ok(());
        }
        let mut tx = self.pool.begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(MIGRATION_LOCK).execute(&mut *tx).await?;
        let used: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM tool_definition WHERE vector_dims(description_embedding) = $1)",
        )
        .bind(i32::try_from(width).unwrap_or(0))
        .fetch_one(&mut *tx)
        .await?;
        if !used {
            return Ok(());
        }
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!(
            "CREATE INDEX IF NOT EXISTS tool_by_meaning_{width} ON tool_definition
             USING hnsw ((description_embedding::vector({width})) vector_cosine_ops) WHERE \
             vector_dims(description_embedding) = {width}"
        )))
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        if let Ok(mut indexed) = self.indexed.lock() {
            indexed.insert(width);
        }
        Ok(())
    }

    pub(super) async fn schema_version(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM schema_version")
            .fetch_one(&self.pool)
            .await?)
    }

    pub(super) async fn check(&self) -> Result<String> {
        let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(&self.pool).await?;
        let vector: String =
            sqlx::query_scalar("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
                .fetch_one(&self.pool)
                .await?;
        let unprotected = self.unprotected_tables().await?;
        if !unprotected.is_empty() {
            return Err(Error::Setup {
                detail: format!("row-level security is not forced on {}", unprotected.join(", ")),
            });
        }
        Ok(format!(
            "PostgreSQL {version}, pgvector {vector}, schema version {}",
            self.schema_version().await?
        ))
    }

    pub(super) async fn unprotected_tables(&self) -> Result<Vec<String>> {
        let rows = sqlx::query(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.attname \
             = 'user_id'
             AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY 1",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(|row| row.try_get(0)).collect::<std::result::Result<_, _>>()?)
    }
}

fn setup_error(version: i64, error: &sqlx::Error) -> Error {
    let code = error.as_database_error().and_then(|refusal| refusal.code()).map(|code| code.into_owned());
    let advice = match code.as_deref() {
        Some("58P01" | "0A000") => "install the pgvector extension on the server",
        Some("42501") => {
            "connect as a role that may CREATE EXTENSION vector and CREATE ROLE, or let an administrator \
                make them first"
        }
        _ => return Error::Migration { version, detail: error.to_string() },
    };
    Error::Setup { detail: format!("{error}; {advice}") }
}
