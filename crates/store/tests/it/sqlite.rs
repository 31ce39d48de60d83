//! SQLite: the suite, migrations, two processes on one file.

use crate::{conform, options};
use std::sync::Arc;
use steward_domain::{Coded as _, EventType};
use steward_store::audit::verify;
use steward_store::conformance::isolation::{settle, visible};
use steward_store::conformance::samples::*;
use steward_store::sqlite::SqliteStore;
use steward_store::{Commit, Scope, Store};

#[tokio::test(flavor = "multi_thread")]
async fn passes_the_conformance_suite() {
    let folder = tempfile::tempdir().unwrap();
    conform(Arc::new(SqliteStore::open(&folder.path().join("state.db"), options()).unwrap())).await;
}

/// Data of the previous version is still there after opening it with this one.
#[tokio::test]
async fn opens_the_previous_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    SqliteStore::create_at_version(&path, 1).unwrap();
    let raw = rusqlite_open(&path);
    raw.execute_batch(include_str!("version_1.sql")).unwrap();
    drop(raw);
    let store = SqliteStore::open(&path, options()).unwrap();
    assert_eq!(store.schema_version().await.unwrap(), 8);
    let user = Scope::User("alice".parse().unwrap());
    let id = "550e8400-e29b-41d4-a716-446655440000".parse().unwrap();
    assert_eq!(store.conversation(&user, id).await.unwrap().unwrap().application_domain.as_str(), "todo");
    assert_eq!(store.window(&user, id, 10).await.unwrap()[0].content.as_str(), "show my tasks");
    assert!(store.analytics(&user, at(0), at(1)).await.unwrap().tools.is_empty());
}

/// Two stores on one file, as when the command line is used beside a running server: no entry is
/// lost, and the chain and the log verify.
#[tokio::test(flavor = "multi_thread")]
async fn two_writers_share_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let stores = [0, 1].map(|_| Arc::new(SqliteStore::open(&path, options()).unwrap()));
    let (user, chain) = (user(), steward_domain::TaskId(uuid()));
    let mut writers = tokio::task::JoinSet::new();
    for i in 0..40 {
        let (store, user) = (stores[i % 2].clone(), user.clone());
        writers.spawn(async move {
            let commit = Commit::new(user.clone(), chain)
                .entry(draft(EventType::StepRecorded, serde_json::json!({ "i": i })));
            store.commit(&scope(&user), commit).await.unwrap();
        });
    }
    writers.join_all().await;
    let verified = verify(&*stores[0], options().signer.verifier(), None).await.unwrap();
    assert_eq!((verified.entries, verified.signed, verified.chains), (40, 40, 1));
}

/// Copying the files of an open store simulates a killed process: an entry that was written but not
/// synced is in them, and the next process continues after it.
#[tokio::test]
async fn an_unsynced_commit_outlives_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let (path, left) = (folder.path().join("state.db"), folder.path().join("left.db"));
    let store = SqliteStore::open(&path, options()).unwrap();
    let (user, chain) = (user(), steward_domain::TaskId(uuid()));
    let entry =
        || Commit::new(user.clone(), chain).entry(draft(EventType::ToolCalled, serde_json::json!({})));
    store.commit(&scope(&user), entry().with_next()).await.unwrap();
    for end in ["", "-wal"] {
        let file = |path: &std::path::Path| format!("{}{end}", path.display());
        std::fs::copy(file(&path), file(&left)).unwrap();
    }
    let next = SqliteStore::open(&left, options()).unwrap();
    next.commit(&scope(&user), entry()).await.unwrap();
    let verified = verify(&next, options().signer.verifier(), None).await.unwrap();
    assert_eq!((verified.entries, verified.signed), (2, 2));
}

#[allow(clippy::disallowed_methods, reason = "the test stands outside the store")]
pub(crate) fn rusqlite_open(path: &std::path::Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).unwrap()
}

/// A snapshot is consistent, and is an independent store.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_a_store_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("state.db"), options()).unwrap();
    let before = settle(&store).await;
    let head = store.head().await.unwrap().unwrap();
    let copy = folder.path().join("copy.db");
    store.snapshot(&copy).await.unwrap();
    let after = settle(&store).await;
    let copied = SqliteStore::open(&copy, options()).unwrap();
    assert_eq!(
        visible(&copied, &scope(&before.user), &before).await,
        visible(&store, &scope(&before.user), &before).await
    );
    assert!(copied.task(&scope(&after.user), after.task).await.unwrap().is_none(), "that came later");
    let verified = verify(&copied, options().signer.verifier(), Some(&head.note)).await.unwrap();
    assert_eq!(verified.entries, head.size);
    assert_eq!(store.snapshot(&copy).await.unwrap_err().code(), "STO005", "nothing is written over");
    settle(&copied).await;
}
