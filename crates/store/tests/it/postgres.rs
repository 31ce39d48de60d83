//! PostgreSQL: the suite, migrations, and row-level security with a busy pool.

use crate::{conform, options};
use std::sync::Arc;
use steward_domain::{Coded as _, EventType};
use steward_store::audit::verify;
use steward_store::conformance::isolation::{settle, visible};
use steward_store::conformance::samples::*;
use steward_store::postgres::PostgresStore;
use steward_store::{Commit, Scope, Store};

/// A new database on the test server. `./test` and `cargo xtask test` start one; by hand it is
/// `cargo xtask services -- cargo test`.
pub(crate) async fn database() -> Option<String> {
    let Ok(server) = std::env::var("STEWARD_TEST_POSTGRES") else {
        assert!(
            std::env::var("STEWARD_SKIP").is_ok_and(|skip| skip.contains("postgres")),
            "no PostgreSQL: run `cargo xtask services -- cargo test`, or set STEWARD_SKIP=postgres"
        );
        println!("skipped: postgres, as STEWARD_SKIP asks");
        return None;
    };
    let name = format!("t{}", uuid().simple());
    let mut connection =
        <sqlx::PgConnection as sqlx::Connection>::connect(&format!("{server}/postgres")).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}")))
        .execute(&mut connection)
        .await
        .unwrap();
    Some(format!("{server}/{name}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_the_conformance_suite() {
    let Some(address) = database().await else { return };
    conform(Arc::new(PostgresStore::open(&address, options()).await.unwrap())).await;
}

/// Data of the previous version is still there after opening it with this one.
#[tokio::test(flavor = "multi_thread")]
async fn opens_the_previous_version() {
    let Some(address) = database().await else { return };
    PostgresStore::create_at_version(&address, 1).await.unwrap();
    let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(&address).await.unwrap();
    let sql = "INSERT INTO conversation VALUES ('550e8400-e29b-41d4-a716-446655440000', 'alice', 'todo', \
        now(), now(), 'active', '{}')";
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    let store = PostgresStore::open(&address, options()).await.unwrap();
    assert_eq!(store.schema_version().await.unwrap(), 8);
    let id = "550e8400-e29b-41d4-a716-446655440000".parse().unwrap();
    assert!(store.conversation(&Scope::User("alice".parse().unwrap()), id).await.unwrap().is_some());
}

/// Ten thousand interleaved transactions of two users over a shared pool: no identity leaks to
/// another transaction.
#[tokio::test(flavor = "multi_thread")]
async fn no_leak_over_pooled_connections() {
    let Some(address) = database().await else { return };
    let store = Arc::new(PostgresStore::open(&address, options()).await.unwrap());
    assert_eq!(store.unprotected_tables().await.unwrap(), Vec::<String>::new());
    let people = Arc::new([settle(&*store).await, settle(&*store).await]);
    store.head().await.unwrap();
    let queries = visible(&*store, &scope(&people[0].user), &people[0]).await.len();
    let mut crowd = tokio::task::JoinSet::new();
    let rounds = 10_000_usize.div_ceil(queries * 2 * 16);
    for worker in 0..16 {
        let (store, people) = (store.clone(), people.clone());
        crowd.spawn(async move {
            for round in 0..rounds {
                let (me, other) = if (worker + round) % 2 == 0 {
                    (&people[0], &people[1])
                } else {
                    (&people[1], &people[0])
                };
                for (query, rows) in visible(&*store, &scope(&me.user), me).await {
                    assert_eq!(rows, 1, "{query} must show what is mine");
                }
                for (query, rows) in visible(&*store, &scope(&me.user), other).await {
                    assert_eq!(rows, 0, "{query} leaked");
                }
            }
        });
    }
    crowd.join_all().await;
}

/// Even the owner of the tables sees nothing without an identity, and no role can rewrite the
/// journal.
#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_bound_too_and_the_journal_is_append_only() {
    let Some(address) = database().await else { return };
    let store = PostgresStore::open(&address, options()).await.unwrap();
    let person = settle(&store).await;
    let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(&address).await.unwrap();
    // The test's login is a superuser, which bypasses row-level security; FORCE applies it to an
    // ordinary owner.
    for sql in [
        "CREATE ROLE plain_owner",
        "ALTER TABLE journal_entry OWNER TO plain_owner",
        "ALTER TABLE task OWNER TO plain_owner",
        "SET ROLE plain_owner",
    ] {
        if let Err(error) = sqlx::raw_sql(sql).execute(&mut connection).await {
            assert!(sql.starts_with("CREATE ROLE"), "{sql}: {error}");
        }
    }
    let seen: i64 = sqlx::query_scalar("SELECT count(*) FROM task").fetch_one(&mut connection).await.unwrap();
    assert_eq!(seen, 0, "the owner has no policy and sees nothing");
    for role in ["steward_user", "steward_system"] {
        for sql in
            ["UPDATE journal_entry SET actor = 'x'", "DELETE FROM journal_entry", "TRUNCATE journal_entry"]
        {
            let sql = format!("RESET ROLE; SET ROLE {role}; SET steward.user_id = '{}'; {sql}", person.user);
            let refused = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.clone())).execute(&mut connection).await;
            assert!(refused.is_err_and(|error| error.to_string().contains("permission denied")), "{sql}");
        }
    }
}

/// Each kind of commit uses its own setting, which does not leak to the next transaction; and an
/// empty commit makes the server flush its WAL.
#[tokio::test(flavor = "multi_thread")]
async fn an_unsynced_commit_does_not_wait_for_the_servers_disk() {
    let Some(address) = database().await else { return };
    let store = PostgresStore::open(&address, options()).await.unwrap();
    let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(&address).await.unwrap();
    let watch = "CREATE TABLE seen (n SERIAL, setting TEXT);
        GRANT ALL ON seen, seen_n_seq TO PUBLIC;
        CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO seen (setting) VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
        CREATE TRIGGER see AFTER INSERT ON journal_entry FOR EACH ROW EXECUTE FUNCTION see();";
    sqlx::raw_sql(watch).execute(&mut connection).await.unwrap();
    let (user, chain) = (user(), steward_domain::TaskId(uuid()));
    let entry =
        || Commit::new(user.clone(), chain).entry(draft(EventType::ToolCalled, serde_json::json!({})));
    for commit in [entry(), entry().with_next(), entry(), entry().with_next()] {
        store.commit(&scope(&user), commit).await.unwrap();
    }
    let seen: Vec<String> =
        sqlx::query_scalar("SELECT setting FROM seen ORDER BY n").fetch_all(&mut connection).await.unwrap();
    assert_eq!(seen, ["on", "off", "on", "off"]);

    let written = "SELECT pg_current_wal_insert_lsn()::text";
    let written: String = sqlx::query_scalar(written).fetch_one(&mut connection).await.unwrap();
    store.commit(&scope(&user), Commit::new(user.clone(), chain)).await.unwrap();
    let synced: bool = sqlx::query_scalar("SELECT pg_current_wal_flush_lsn() >= $1::pg_lsn")
        .bind(written)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert!(synced, "everything before a synced commit is on disk");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let refused = PostgresStore::open("postgres://nobody@127.0.0.1:1/none", options()).await.err().unwrap();
    assert!(matches!(refused, steward_store::Error::Unreachable { .. }), "{refused:?}");
}

/// A snapshot is restored into an empty database, completely or not at all, and work continues
/// there.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_fills_an_empty_database() {
    let (Some(from), Some(to), Some(other)) = (database().await, database().await, database().await) else {
        return;
    };
    let store = PostgresStore::open(&from, options()).await.unwrap();
    let mine = settle(&store).await;
    let head = store.head().await.unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    store.snapshot(&copy).await.unwrap();
    settle(&store).await;
    PostgresStore::restore(&to, &copy).await.unwrap();
    let restored = PostgresStore::open(&to, options()).await.unwrap();
    assert_eq!(
        visible(&restored, &scope(&mine.user), &mine).await,
        visible(&store, &scope(&mine.user), &mine).await
    );
    assert_eq!(restored.unprotected_tables().await.unwrap(), Vec::<String>::new(), "policies hold again");
    let verified = verify(&restored, options().signer.verifier(), Some(&head.note)).await.unwrap();
    assert_eq!(verified.entries, head.size);
    // Sequences continue where they were.
    let more = settle(&restored).await;
    assert!(restored.task(&scope(&more.user), more.task).await.unwrap().is_some());
    let used = PostgresStore::restore(&to, &copy).await.unwrap_err();
    assert_eq!(used.code(), "STO002", "{used}");
    // A truncated file is refused at any length, and nothing is restored.
    let bytes = std::fs::read(&copy).unwrap();
    for share in [1, 3, 7, 9] {
        let cut = folder.path().join(format!("cut{share}"));
        std::fs::write(&cut, &bytes[..bytes.len() * share / 10]).unwrap();
        let refused = PostgresStore::restore(&other, &cut).await.unwrap_err();
        assert!(["STO003", "STO015"].contains(&refused.code()), "{refused}");
    }
    PostgresStore::restore(&other, &copy).await.unwrap();
}
