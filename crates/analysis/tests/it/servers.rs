//! Shared parts of the tests of both databases.

use std::time::Duration;

use steward_analysis::database::{Bounds, Database, DatabaseError};
use steward_analysis::frame::{Frame, Value};

/// Bounds with ample time.
pub(crate) fn bounds(rows: usize) -> Bounds {
    Bounds { rows, timeout: Duration::from_secs(20) }
}

/// The first cell.
pub(crate) async fn one(database: &dyn Database, sql: &str) -> Value {
    match database.query(sql, bounds(10)).await {
        Ok((frame, _)) => frame.cell(0, 0).clone(),
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// All rows.
pub(crate) async fn all(database: &dyn Database, sql: &str) -> Vec<Vec<Value>> {
    database.query(sql, bounds(1_000)).await.unwrap().0.rows
}

/// Whether it was refused as a write.
pub(crate) fn refused(result: &Result<(Frame, bool), DatabaseError>) -> bool {
    matches!(result, Err(DatabaseError::NotReadOnly { .. }))
}

/// The address of the server. A test that needs one fails if it is missing, unless it was asked to
/// skip by name.
pub(crate) fn server(variable: &str, name: &str) -> Option<String> {
    if let Ok(server) = std::env::var(variable) {
        return Some(server);
    }
    let skip = std::env::var("STEWARD_SKIP").unwrap_or_default();
    assert!(
        skip.split(',').any(|skipped| skipped == name),
        "{variable} is not set: use `./test`, or STEWARD_SKIP={name}"
    );
    eprintln!("skipped: {name}");
    None
}
