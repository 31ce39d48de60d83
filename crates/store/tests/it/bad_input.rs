//! Damaged files, full disks, wrong keys: each gives a clear code, and nothing is lost.

use crate::options;
use crate::sqlite::rusqlite_open;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use steward_domain::{Coded, EventType, TaskId};
use steward_journal::note::NoteSigner;
use steward_store::audit::verify;
use steward_store::conformance::samples::*;
use steward_store::sqlite::SqliteStore;
use steward_store::{Commit, Error, Store, StoreOptions};

async fn filled(path: &Path, entries: u64) -> SqliteStore {
    let store = SqliteStore::open(path, options()).unwrap();
    let (user, chain) = (user(), TaskId(uuid()));
    for i in 0..entries {
        let commit = Commit::new(user.clone(), chain)
            .entry(draft(EventType::StepRecorded, serde_json::json!({ "i": i })));
        store.commit(&scope(&user), commit).await.unwrap();
    }
    store
}

fn code(error: &Error) -> &'static str {
    error.code()
}

#[tokio::test]
async fn a_file_that_is_no_database_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    std::fs::write(&path, "this is my diary, not a database".repeat(50)).unwrap();
    let before = std::fs::read(&path).unwrap();
    let refused = SqliteStore::open(&path, options()).err().unwrap();
    assert_eq!(code(&refused), "STO003", "{refused}");
    assert!(refused.to_string().contains("state.db"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_damaged_page_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    drop(filled(&path, 200).await);
    rusqlite_open(&path).pragma_update(None, "wal_checkpoint", "TRUNCATE").ok();
    let mut bytes = std::fs::read(&path).unwrap();
    let length = bytes.len();
    for page in (length / 3..length - 4096).step_by(4096) {
        bytes[page..page + 600].fill(0xa5);
    }
    std::fs::write(&path, bytes).unwrap();
    let found = match SqliteStore::open(&path, options()) {
        Err(error) => error,
        Ok(store) => match store.check().await {
            Err(error) => error,
            Ok(said) => verify(&store, options().signer.verifier(), None)
                .await
                .err()
                .unwrap_or_else(|| panic!("nothing found: {said}")),
        },
    };
    assert!(["STO003", "JRN001", "STO012"].contains(&code(&found)), "{found}");
}

#[tokio::test]
async fn a_newer_schema_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    drop(filled(&path, 3).await);
    rusqlite_open(&path).pragma_update(None, "user_version", 99).unwrap();
    let refused = SqliteStore::open(&path, options()).err().unwrap();
    assert_eq!((code(&refused), refused.to_string().contains("99")), ("STO006", true), "{refused}");
    let entries: i64 =
        rusqlite_open(&path).query_row("SELECT count(*) FROM journal_entry", [], |row| row.get(0)).unwrap();
    assert_eq!(entries, 3);
}

#[tokio::test]
async fn a_wrong_key_is_refused_before_anything_is_signed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    drop(filled(&path, 3).await);
    let other = StoreOptions {
        signer: Arc::new(NoteSigner::new("steward.log/other", &[9; 32]).unwrap()),
        ..options()
    };
    let refused = SqliteStore::open(&path, other).err().unwrap();
    assert_eq!(code(&refused), "STO007", "{refused}");
    let store = SqliteStore::open(&path, options()).unwrap();
    assert_eq!(verify(&store, options().signer.verifier(), None).await.unwrap().entries, 3);
}

/// A page limit simulates a full disk: SQLite reports both in the same way.
#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    drop(filled(&path, 5).await);
    let store = SqliteStore::open(&path, options()).unwrap();
    store.limit_pages_for_test(60).await.unwrap();
    let (user, chain) = (user(), TaskId(uuid()));
    let mut acknowledged = 5;
    let refused = loop {
        let commit = Commit::new(user.clone(), chain)
            .entry(draft(EventType::StepRecorded, serde_json::json!({ "filler": "x".repeat(3000) })));
        match store.commit(&scope(&user), commit).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 1000, "the limit must be felt");
    };
    assert_eq!(code(&refused), "STO004", "{refused}");
    store.limit_pages_for_test(1_000_000).await.unwrap();
    let commit = Commit::new(user.clone(), chain)
        .entry(draft(EventType::StepRecorded, serde_json::json!({ "space": "again" })));
    store.commit(&scope(&user), commit).await.unwrap();
    let verified = verify(&store, options().signer.verifier(), None).await.unwrap();
    assert_eq!(verified.entries, acknowledged + 1);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/folder/state.db");
    let refused = SqliteStore::open(&missing, options()).err().unwrap();
    assert_eq!(code(&refused), "STO005", "{refused}");
    // Root may write anywhere, so permissions are tested only for other users.
    let locked = folder.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(locked.join("probe"), "").is_err() {
        let refused = SqliteStore::open(&locked.join("state.db"), options()).err().unwrap();
        assert_eq!(code(&refused), "STO005", "{refused}");
    }
}

/// Any manual change to the database is detected.
#[tokio::test]
async fn changes_by_hand_are_found() {
    for (name, sql) in [
        ("an actor", "UPDATE journal_entry SET actor = 'nobody' WHERE log_index = 3"),
        ("a time", "UPDATE journal_entry SET timestamp = timestamp + 1 WHERE log_index = 3"),
        ("a chain's name", "UPDATE chain SET request_id = x'00000000000000000000000000000001'"),
        ("whose a chain is", "UPDATE chain SET user_id = 'mallory'"),
        (
            "for whom an entry was written",
            "UPDATE journal_entry SET on_behalf = '{\"user\": \"mallory\"}' WHERE log_index = 3",
        ),
        (
            "that an entry was written for anybody",
            "UPDATE journal_entry SET on_behalf = NULL WHERE log_index = 3",
        ),
        (
            "both",
            "UPDATE chain SET user_id = 'mallory'; UPDATE journal_entry SET on_behalf = '{\"user\": \"mallory\"}'",
        ),
        ("the last entry", "DELETE FROM journal_entry WHERE log_index = 9"),
        ("all entries", "DELETE FROM journal_entry"),
        ("entries and chains", "PRAGMA foreign_keys = OFF; DELETE FROM chain; DELETE FROM journal_entry"),
        ("the head", "DELETE FROM log_head"),
        ("a chain's record", "UPDATE chain SET entries = 9"),
        ("where a chain ends", "UPDATE chain SET last_index = 4"),
        (
            "an order",
            "UPDATE journal_entry SET log_index = 100 WHERE log_index = 3; UPDATE journal_entry SET \
                log_index = 3 WHERE log_index = 4; UPDATE journal_entry SET log_index = 4 WHERE log_index = 100",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        drop(filled(&path, 10).await);
        let raw = rusqlite_open(&path);
        assert!(
            raw.execute_batch(sql).is_err() || !sql.contains("journal_entry"),
            "the table itself must refuse {name}"
        );
        raw.execute_batch(
            "DROP TRIGGER journal_is_append_only_update; DROP TRIGGER journal_is_append_only_delete",
        )
        .unwrap();
        raw.execute_batch(sql).unwrap();
        drop(raw);
        let store = SqliteStore::open(&path, options()).unwrap();
        let found = verify(&store, options().signer.verifier(), None).await;
        assert!(
            found.as_ref().is_err_and(|error| code(error).starts_with("JRN")),
            "changing {name} gave {found:?}"
        );
    }
}

/// The head of an exported chain is signed by the same key, but is not the head of the log.
#[tokio::test]
async fn a_chains_head_does_not_pass_for_the_logs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let store = filled(&path, 4).await;
    let chain = store.chains(&steward_store::Scope::System, None, 1).await.unwrap()[0].chain;
    let exported = steward_store::audit::export(
        &store,
        &steward_store::Scope::System,
        chain,
        &options().signer,
        &mut Vec::new(),
    )
    .await;
    let (_, head) = exported.unwrap();
    drop(store);
    rusqlite_open(&path).execute("UPDATE log_head SET note = ?1", [&head]).unwrap();
    let store = SqliteStore::open(&path, options()).unwrap();
    let found = verify(&store, options().signer.verifier(), None).await.unwrap_err();
    assert_eq!(code(&found), "JRN010", "{found}");
}

/// Entries appended without the key, with every hash right, have no signed head; and an export does
/// not sign what does not verify.
#[tokio::test]
async fn a_forged_tail_is_found_and_not_exported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    drop(filled(&path, 3).await);
    let raw = rusqlite_open(&path);
    let kept: (i64, Vec<u8>, Vec<u8>, String) = raw
        .query_row("SELECT size, root, peaks, note FROM log_head", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .unwrap();
    // The forger lets the program itself append, then restores the old head: a tail without a
    // signature.
    let store = SqliteStore::open(&path, options()).unwrap();
    let (user, forged) = (user(), TaskId(uuid()));
    store
        .commit(
            &scope(&user),
            Commit::new(user.clone(), forged).entry(draft(EventType::Answered, serde_json::json!({}))),
        )
        .await
        .unwrap();
    drop(store);
    raw.execute("UPDATE log_head SET size = ?1, root = ?2, peaks = ?3, note = ?4", kept).unwrap();
    let store = SqliteStore::open(&path, options()).unwrap();
    assert_eq!(code(&verify(&store, options().signer.verifier(), None).await.unwrap_err()), "JRN014");
    let exported = steward_store::audit::export(
        &store,
        &scope(&user),
        forged.into(),
        &options().signer,
        &mut Vec::new(),
    )
    .await;
    assert_eq!(code(&exported.unwrap_err()), "JRN014");
}

/// Verifying beside a busy writer gives no false alarm.
#[tokio::test(flavor = "multi_thread")]
async fn verifying_while_others_write_is_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let store = Arc::new(filled(&path, 50).await);
    let writer = store.clone();
    let mut writing = tokio::task::JoinSet::new();
    writing.spawn(async move {
        let user = user();
        for i in 0..600 {
            let chain = TaskId(uuid());
            let mut entry = draft(EventType::StepRecorded, serde_json::json!({ "i": i }));
            entry.personal.insert("who".into(), serde_json::json!("somebody"));
            writer.commit(&scope(&user), Commit::new(user.clone(), chain).entry(entry)).await.unwrap();
        }
    });
    let mut rounds = 0;
    while writing.try_join_next().is_none() {
        verify(&*store, options().signer.verifier(), None).await.unwrap();
        rounds += 1;
    }
    assert!(rounds > 0);
}

/// Two homes with different keys open one empty store: the first to sign owns the log, the other
/// gets an error.
#[tokio::test]
async fn a_second_key_cannot_take_over_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let other = StoreOptions {
        signer: Arc::new(NoteSigner::new("steward.log/other", &[9; 32]).unwrap()),
        ..options()
    };
    let (first, second) =
        (SqliteStore::open(&path, options()).unwrap(), SqliteStore::open(&path, other).unwrap());
    let user = user();
    let write =
        || Commit::new(user.clone(), TaskId(uuid())).entry(draft(EventType::Answered, serde_json::json!({})));
    first.commit(&scope(&user), write()).await.unwrap();
    let refused = second.commit(&scope(&user), write()).await.unwrap_err();
    assert_eq!(code(&refused), "STO007", "{refused}");
    first.commit(&scope(&user), write()).await.unwrap();
    assert_eq!(verify(&first, options().signer.verifier(), None).await.unwrap().entries, 2);
}
