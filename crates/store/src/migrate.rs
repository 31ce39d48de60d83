//! Migrations: numbered SQL files, forward only, each in its own transaction.

/// One migration of the schema.
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) sql: &'static str,
}

macro_rules! migrations {
    ($folder:literal: $($version:literal $name:literal),*) => {
        &[$(Migration { version: $version, sql: include_str!(concat!("../migrations/", $folder, "/", $name)) }),*]
    };
}

/// Migrations of SQLite.
pub(crate) const SQLITE: &[Migration] = migrations!("sqlite": 1 "0001_foundation.sql", 2 "0002_usage.sql", 3 "0003_queue.sql", 4 "0004_fewer_pages.sql", 5 "0005_approvals.sql", 6 "0006_on_behalf.sql", 7 "0007_saved_items.sql", 8 "0008_model_usage.sql");

/// Migrations of PostgreSQL; the same number is the same version.
pub(crate) const POSTGRES: &[Migration] = migrations!("postgres": 1 "0001_foundation.sql", 2 "0002_usage.sql", 3 "0003_queue.sql", 4 "0004_fewer_pages.sql", 5 "0005_approvals.sql", 6 "0006_on_behalf.sql", 7 "0007_saved_items.sql", 8 "0008_model_usage.sql");

/// The newest version that this program supports.
pub(crate) fn newest(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |migration| migration.version)
}
