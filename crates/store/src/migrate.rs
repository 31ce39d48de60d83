//! Migrations: numbered SQL files, forward only, each in a transaction of its own.

/// One step of the schema.
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) sql: &'static str,
}

macro_rules! migrations {
    ($folder:literal: $($version:literal $name:literal),*) => {
        &[$(Migration { version: $version, sql: include_str!(concat!("../migrations/", $folder, "/", $name)) }),*]
    };
}

/// SQLite's steps.
pub(crate) const SQLITE: &[Migration] = migrations!("sqlite": 1 "0001_foundation.sql", 2 "0002_usage.sql", 3 "0003_queue.sql", 4 "0004_fewer_pages.sql", 5 "0005_approvals.sql", 6 "0006_on_behalf.sql", 7 "0007_saved_items.sql", 8 "0008_model_usage.sql");

/// PostgreSQL's steps; the same numbers make the same version.
pub(crate) const POSTGRES: &[Migration] = migrations!("postgres": 1 "0001_foundation.sql", 2 "0002_usage.sql", 3 "0003_queue.sql", 4 "0004_fewer_pages.sql", 5 "0005_approvals.sql", 6 "0006_on_behalf.sql", 7 "0007_saved_items.sql", 8 "0008_model_usage.sql");

/// The version this program knows.
pub(crate) fn newest(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |migration| migration.version)
}
