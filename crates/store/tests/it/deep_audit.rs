//! The deep audit on both stores: rows without a body, and columns that stand beside one.

use crate::{options, postgres::database};
use serde_json::{Value, json};
use steward_domain::*;
use steward_store::audit::verify_deep;
use steward_store::conformance::samples::*;
use steward_store::postgres::PostgresStore;
use steward_store::sqlite::SqliteStore;
use steward_store::{Change, Commit, GateDecision, Store, Verdict};

/// A change behind the store's back, and its opposite. `{call}` is the id of a call, `{micro}` a
/// microsecond, in the words of the store.
const CHANGES: &[(&str, &str)] = &[
    (
        "UPDATE approval_decision SET decided_by = 'mallory'",
        "UPDATE approval_decision SET decided_by = 'bob'",
    ),
    (
        "UPDATE approval_decision SET decision = 'approved' WHERE gate = 1",
        "UPDATE approval_decision SET decision = 'rejected' WHERE gate = 1",
    ),
    (
        "UPDATE approval_decision SET call_id = NULL WHERE gate = 0",
        "UPDATE approval_decision SET call_id = {call} WHERE gate = 0",
    ),
    ("UPDATE approval_decision SET gate = gate + 7", "UPDATE approval_decision SET gate = gate - 7"),
    ("UPDATE approval_decision SET user_id = 'mallory'", "UPDATE approval_decision SET user_id = 'alice'"),
    (
        "UPDATE approval_decision SET decided_at = decided_at - {micro}",
        "UPDATE approval_decision SET decided_at = decided_at + {micro}",
    ),
    (
        "INSERT INTO approval_decision SELECT user_id, task_id, 9, digest, 'approved', decided_by, \
            decided_at, NULL FROM approval_decision WHERE gate = 1",
        "DELETE FROM approval_decision WHERE gate = 9",
    ),
    ("UPDATE task SET status = 'paused'", "UPDATE task SET status = 'completed'"),
    ("UPDATE task SET ended_at = ended_at - {micro}", "UPDATE task SET ended_at = ended_at + {micro}"),
    ("UPDATE task SET user_id = 'mallory'", "UPDATE task SET user_id = 'alice'"),
    ("UPDATE saved_item SET user_id = 'mallory'", "UPDATE saved_item SET user_id = 'alice'"),
    ("UPDATE saved_item SET due_at = due_at - {micro}", "UPDATE saved_item SET due_at = due_at + {micro}"),
    (
        "UPDATE schedule_tick SET due_at = due_at - {micro}",
        "UPDATE schedule_tick SET due_at = due_at + {micro}",
    ),
    (
        "UPDATE schedule_tick SET settled_at = settled_at - {micro}",
        "UPDATE schedule_tick SET settled_at = settled_at + {micro}",
    ),
    ("UPDATE schedule_tick SET user_id = 'mallory'", "UPDATE schedule_tick SET user_id = 'alice'"),
    (
        "UPDATE conversation_message SET user_id = 'mallory'",
        "UPDATE conversation_message SET user_id = 'alice'",
    ),
    ("UPDATE payload SET user_id = 'mallory'", "UPDATE payload SET user_id = 'alice'"),
    (
        "UPDATE recipe SET intent_template = intent_template || '!'",
        "UPDATE recipe SET intent_template = '{template}'",
    ),
    ("UPDATE recipe SET user_id = 'mallory'", "UPDATE recipe SET user_id = 'alice'"),
];
/// The same for a column whose type differs between the stores.
const SHARED: [(&str, &str); 2] = [
    ("UPDATE saved_item SET shared = 1", "UPDATE saved_item SET shared = 0"),
    ("UPDATE saved_item SET shared = TRUE", "UPDATE saved_item SET shared = FALSE"),
];

const CALL: u128 = 3;

/// One row of each kind, and the template of the recipe.
async fn fill(store: &dyn Store) -> String {
    let alice: UserId = "alice".parse().unwrap();
    let scope = scope(&alice);
    let task = task(&alice, 0).start(at(1)).unwrap().complete("done".into(), at(9)).unwrap();
    let conversation = conversation(&alice);
    let decision = |number, verdict, call: Option<CallId>| {
        let gate = Gate { task: task.id, number };
        let (digest, by) = (fingerprint(), Label::new("bob").unwrap());
        Change::Decide(GateDecision {
            gate,
            digest,
            verdict,
            by,
            at: at(30 + i64::from(call.is_some())),
            call,
        })
    };
    let saved = |value: Value| {
        let item: Valid<SavedItem> = parse(&value.to_string()).unwrap();
        Change::PutSaved { item, replaces: None }
    };
    let (schedule_id, due_at) = (ScheduleId(uuid()), at(40));
    let board = json!({ "kind": "board", "id": uuid(), "user_id": alice, "name": "north", "is_shared": false,
        "created_at": at(1), "updated_at": at(1) });
    let schedule = json!({ "kind": "schedule", "id": schedule_id, "user_id": alice, "name": "monday",
        "cadence": "every Monday 8:00", "cron": "0 8 * * 1", "zone": "Europe/Berlin", "status": "active",
        "next_at": at(9_000_000), "subject": { "question": { "question": "total", "data": ["sales.csv"] } },
        "created_at": at(0), "updated_at": at(0) });
    let tick =
        ScheduleTick { schedule_id, due_at, user_id: alice.clone(), task_id: task.id, settled_at: None };
    let recipe = recipe(&alice, &fingerprint(), vec![0.5; 256]);
    let template = recipe.intent_template.to_string();
    let mut entry = draft(EventType::StepRecorded, json!({ "step": "one" }));
    entry.personal.insert("why".into(), json!("a personal reason"));
    let of_task = |changes: Vec<Change>| Commit { changes, ..Commit::new(alice.clone(), task.id) };
    let commits = [
        of_task(vec![
            Change::PutTask(task.clone()),
            decision(0, Verdict::Approved, None),
            saved(board),
            Change::PutRecipe(recipe),
        ])
        .entry(entry),
        of_task(vec![decision(1, Verdict::Rejected, None), saved(schedule), Change::TakeTick(tick)]),
        of_task(vec![decision(0, Verdict::Approved, Some(CallId(uuid::Uuid::from_u128(CALL))))]),
        of_task(vec![Change::SettleTick { schedule: schedule_id, due_at, at: at(50) }]),
        Commit::new(alice.clone(), conversation.id)
            .change(Change::PutConversation(conversation.clone()))
            .change(Change::AppendMessage(message(conversation.id, "total sales", 2))),
    ];
    for commit in commits {
        store.commit(&scope, commit).await.unwrap();
    }
    template
}

async fn findings(store: &dyn Store) -> Vec<String> {
    store.head().await.unwrap();
    verify_deep(store, &options().signer, &|_: &Artifact| (std::path::PathBuf::new(), false))
        .await
        .unwrap()
        .findings
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_are_compared_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let store = SqliteStore::open(&path, options()).unwrap();
    let template = fill(&store).await;
    assert_eq!(findings(&store).await, Vec::<String>::new());
    let call = format!("X'{}'", uuid::Uuid::from_u128(CALL).simple());
    for (change, undo) in CHANGES.iter().chain(&SHARED[..1]) {
        for (sql, is_found) in [(change, true), (undo, false)] {
            let sql = sql.replace("{call}", &call).replace("{micro}", "1").replace("{template}", &template);
            assert!(crate::sqlite::rusqlite_open(&path).execute(&sql, []).unwrap() > 0, "{sql}");
            assert_eq!(!findings(&store).await.is_empty(), is_found, "{sql}: {:?}", findings(&store).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_are_compared_in_postgres() {
    let Some(address) = database().await else { return };
    let store = PostgresStore::open(&address, options()).await.unwrap();
    let template = fill(&store).await;
    assert_eq!(findings(&store).await, Vec::<String>::new());
    let mut raw = <sqlx::PgConnection as sqlx::Connection>::connect(&address).await.unwrap();
    let call = format!("'{}'", uuid::Uuid::from_u128(CALL));
    for (change, undo) in CHANGES.iter().chain(&SHARED[1..]) {
        for (sql, is_found) in [(change, true), (undo, false)] {
            let sql = sql
                .replace("{call}", &call)
                .replace("{micro}", "interval '1 microsecond'")
                .replace("{template}", &template);
            let done = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.clone())).execute(&mut raw).await.unwrap();
            assert!(done.rows_affected() > 0, "{sql}");
            assert_eq!(!findings(&store).await.is_empty(), is_found, "{sql}: {:?}", findings(&store).await);
        }
    }
}
