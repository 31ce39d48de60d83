//! Over eighty ways to tamper with a home, each detected by `audit verify --deep`: with the head kept
//! outside the store, and without it where possible.

use crate::{Bench, run};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use steward_domain::{EventType, Gate, Label, SavedItem, Timestamp, Valid, parse};
use steward_journal::clock::Clock;
use steward_journal::keys;
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_store::conformance::samples::{at, draft, fingerprint, recipe, task};
use steward_store::sqlite::SqliteStore;
use steward_store::{Change, Commit, GateDecision, Scope, Store as _, StoreOptions, Verdict};

/// The method of tampering.
enum How {
    /// SQL statements; each must change something.
    Sql(&'static str),
    /// Code.
    Hand(fn(&Bench)),
}

/// Whether it is detected without the head kept outside the store.
#[derive(PartialEq)]
enum Needs {
    Nothing,
    Witness,
}

use How::{Hand, Sql};
use Needs::{Nothing, Witness};

const FREE: &str = "DROP TRIGGER IF EXISTS journal_is_append_only_update; DROP TRIGGER IF EXISTS \
    journal_is_append_only_delete;";

#[rustfmt::skip]
const WAYS: &[(&str, Needs, How)] = &[
    ("a changed message", Nothing, Sql("UPDATE conversation_message SET content = content || '!' WHERE \
        sequence_number = 1")),
    ("a message put into another mouth", Nothing, Sql("UPDATE conversation_message SET role = 'tool' WHERE \
        sequence_number = 1")),
    ("a message at another time", Nothing, Sql("UPDATE conversation_message SET timestamp = timestamp + 1 \
        WHERE sequence_number = 1")),
    ("a message with other metadata", Nothing, Sql("UPDATE conversation_message SET metadata = '{\"x\":1}' \
        WHERE sequence_number = 2")),
    ("a message taken away", Nothing, Sql("DELETE FROM conversation_message WHERE sequence_number = 2")),
    ("a message added", Nothing, Sql("INSERT INTO conversation_message SELECT conversation_id, \
        sequence_number + 1000, randomblob(16), user_id, role, content, timestamp, agent_type, tool_calls, \
        metadata FROM conversation_message WHERE sequence_number = 1")),
    ("messages in another order", Nothing, Sql("UPDATE conversation_message SET sequence_number = 900 WHERE \
        sequence_number = 1; UPDATE conversation_message SET sequence_number = 1 WHERE sequence_number = 3; \
        UPDATE conversation_message SET sequence_number = 3 WHERE sequence_number = 900")),
    ("a conversation given to another", Nothing, Sql("UPDATE conversation SET user_id = 'mallory'")),
    ("a conversation with other metadata", Nothing, Sql("UPDATE conversation SET metadata = '{\"x\":1}'")),
    ("a conversation from another time", Nothing, Sql("UPDATE conversation SET created_at = created_at - 1")),
    ("a conversation archived", Nothing, Sql("UPDATE conversation SET status = 'archived'")),
    ("a conversation emptied as if deleted", Nothing, Sql("DELETE FROM conversation_message; UPDATE \
        conversation SET status = 'deleted', metadata = '{}'")),
    ("a conversation taken away", Nothing, Sql("DELETE FROM conversation_message; DELETE FROM conversation")),
    ("a changed task", Nothing, Sql("UPDATE task SET body = replace(body, '42 orders', '43 orders') WHERE \
        body LIKE '%42 orders%'")),
    ("a task given to another", Nothing, Sql("UPDATE task SET user_id = 'mallory'")),
    ("a task taken away", Nothing, Sql("DELETE FROM task WHERE body LIKE '%42 orders%'")),
    ("a task added", Nothing, Sql("INSERT INTO task SELECT X'01A1ECC8C6A771669BA3A0444B04D0D0', user_id, \
        status, created_at, ended_at, json_set(body, '$.id', '01a1ecc8-c6a7-7166-9ba3-a0444b04d0d0') FROM \
        task WHERE body LIKE '%42 orders%'")),
    ("a changed call", Nothing, Sql("UPDATE tool_invocation SET input_parameters = '{\"limit\":11}'")),
    ("a call that was tried more often", Nothing, Sql("UPDATE tool_invocation SET retry_count = retry_count + 1")),
    ("a call taken away", Nothing, Sql("DELETE FROM tool_invocation")),
    ("a call added", Nothing, Sql("INSERT INTO tool_invocation SELECT randomblob(16), user_id, \
        agent_execution_id, tool_definition_id, input_parameters, output_result, invocation_start, \
        invocation_end, duration_ms, status, error_details, retry_count FROM tool_invocation LIMIT 1")),
    ("a call given to another", Nothing, Sql("UPDATE tool_invocation SET user_id = 'mallory'")),
    ("a changed run of an agent", Nothing, Sql("UPDATE agent_execution SET output_data = '{\"x\":1}'")),
    ("a run of an agent taken away", Nothing, Sql("DELETE FROM agent_execution")),
    ("a changed request", Nothing, Sql("UPDATE analysis_request SET body = replace(body, 'amount', 'count')")),
    ("a request taken away", Nothing, Sql("DELETE FROM analysis_request")),
    ("a changed plan", Nothing, Sql("UPDATE plan SET body = replace(body, 'sql.run', 'df.transform')")),
    ("a plan taken away", Nothing, Sql("DELETE FROM plan")),
    ("the digest of an artifact changed", Nothing, Sql("UPDATE artifact SET body = json_set(body, \
        '$.content_hash', '0000000000000000000000000000000000000000000000000000000000000000')")),
    ("an artifact taken away", Nothing, Sql("DELETE FROM artifact")),
    ("the bytes of an artifact changed", Nothing, Hand(|bench| { let file = artifact(bench); let mut bytes = fs::read(&file).unwrap(); bytes.push(b' '); fs::write(file, bytes).unwrap(); })),
    ("the file of an artifact removed", Nothing, Hand(|bench| fs::remove_file(artifact(bench)).unwrap())),
    ("a payload erased without an entry", Nothing, Sql("UPDATE payload SET salt = NULL, body = NULL, \
        erased_at = 1900000000000000")),
    ("a changed payload", Nothing, Sql("UPDATE payload SET body = body || ' '")),
    ("a payload taken away", Nothing, Sql("DELETE FROM payload")),
    ("a changed entry", Nothing, Sql("UPDATE journal_entry SET event_data = replace(event_data, '10', '11') \
        WHERE event_data LIKE '%\"limit\": 10%'")),
    ("a seal replaced in its entry", Nothing, Sql("UPDATE journal_entry SET event_data = replace(event_data, \
        'sealed_rows', 'sealed_rowz') WHERE event_data LIKE '%sealed_rows%'")),
    ("a forged actor", Nothing, Sql("UPDATE journal_entry SET actor = 'safety' WHERE log_index = 2")),
    ("an entry at another time", Nothing, Sql("UPDATE journal_entry SET timestamp = timestamp + 1 WHERE \
        log_index = 2")),
    ("an entry taken away", Nothing, Sql("DELETE FROM journal_entry WHERE log_index = 2")),
    ("a cut tail", Nothing, Sql("DELETE FROM journal_entry WHERE log_index >= (SELECT max(log_index) - 1 \
        FROM journal_entry)")),
    ("a chain given to another", Nothing, Sql("UPDATE chain SET user_id = 'mallory' WHERE request_id <> \
        X'00000000000000000000000000000000'")),
    ("a chain without its record", Nothing, Sql("DELETE FROM chain WHERE id = (SELECT max(id) FROM chain)")),
    ("a head by nobody", Nothing, Sql("UPDATE log_head SET note = replace(note, '—', '-')")),
    ("an approval by another person", Nothing, Sql("UPDATE approval_decision SET decided_by = 'mallory' WHERE \
        decision = 'approved'")),
    ("a rejection that became an approval", Nothing, Sql("UPDATE approval_decision SET decision = 'approved' \
        WHERE decision = 'rejected'")),
    ("an approval of something else", Nothing, Sql("UPDATE approval_decision SET digest = replace(digest, \
        substr(digest, 1, 8), '01234567') WHERE decision = 'approved'")),
    ("a decision at another time", Nothing, Sql("UPDATE approval_decision SET decided_at = decided_at - 1")),
    ("an approval that released another call", Nothing, Sql("UPDATE approval_decision SET call_id = \
        randomblob(16) WHERE call_id IS NOT NULL")),
    ("an approval that may release a second call", Nothing, Sql("UPDATE approval_decision SET call_id = NULL \
        WHERE call_id IS NOT NULL")),
    ("an approval of another gate", Nothing, Sql("UPDATE approval_decision SET gate = 77 WHERE decision = \
        'rejected'")),
    ("a decision given to another", Nothing, Sql("UPDATE approval_decision SET user_id = 'mallory'")),
    ("a decision added", Nothing, Sql("INSERT INTO approval_decision SELECT user_id, task_id, 99, digest, \
        'approved', decided_by, decided_at, NULL FROM approval_decision WHERE decision = 'rejected'")),
    ("an old decision added", Nothing, Sql("INSERT INTO approval_decision SELECT user_id, task_id, 99, digest, \
        'approved', decided_by, 1000, NULL FROM approval_decision WHERE decision = 'rejected'")),
    ("a decision taken away", Nothing, Sql("DELETE FROM approval_decision WHERE decision = 'rejected'")),
    ("a task that is listed as paused", Nothing, Sql("UPDATE task SET status = 'paused'")),
    ("a task that seems to have ended at another time", Nothing, Sql("UPDATE task SET ended_at = ended_at - 1 \
        WHERE ended_at IS NOT NULL")),
    ("a task that seems older", Nothing, Sql("UPDATE task SET created_at = created_at - 1")),
    ("a request that is listed as failed", Nothing, Sql("UPDATE analysis_request SET status = 'failed'")),
    ("a plan that is listed as failed", Nothing, Sql("UPDATE plan SET status = 'failed'")),
    ("a plan given to another task", Nothing, Sql("UPDATE plan SET task_id = (SELECT id FROM task WHERE body \
        LIKE '%42 orders%')")),
    ("an artifact that leads elsewhere", Nothing, Sql("UPDATE artifact SET content_ref = '/etc/hostname'")),
    ("an artifact given to another", Nothing, Sql("UPDATE artifact SET user_id = 'mallory'")),
    ("an artifact of another time", Nothing, Sql("UPDATE artifact SET created_at = created_at + 1")),
    ("a saved item that is shared", Nothing, Sql("UPDATE saved_item SET shared = 1 WHERE kind = 'board'")),
    ("a saved item given to another", Nothing, Sql("UPDATE saved_item SET user_id = 'mallory'")),
    ("a schedule that is due at another time", Nothing, Sql("UPDATE saved_item SET due_at = due_at - 1 WHERE \
        due_at IS NOT NULL")),
    ("a saved item taken away", Nothing, Sql("DELETE FROM saved_item WHERE kind = 'board'")),
    ("a tick taken away", Nothing, Sql("DELETE FROM schedule_tick")),
    ("a tick at another time", Nothing, Sql("UPDATE schedule_tick SET due_at = due_at + 1")),
    ("a tick with another task", Nothing, Sql("UPDATE schedule_tick SET task_id = randomblob(16)")),
    ("a tick that is open again", Nothing, Sql("UPDATE schedule_tick SET settled_at = NULL")),
    ("a tick added", Nothing, Sql("INSERT INTO schedule_tick SELECT schedule_id, due_at - 7, user_id, task_id, \
        settled_at FROM schedule_tick")),
    ("a message shown to another", Nothing, Sql("UPDATE conversation_message SET user_id = 'mallory'")),
    ("a payload given to another", Nothing, Sql("UPDATE payload SET user_id = 'mallory'")),
    ("a changed recipe", Nothing, Sql("UPDATE recipe SET plan_structure = replace(plan_structure, 'sql.run', \
        'df.transform')")),
    ("a recipe for another question", Nothing, Sql("UPDATE recipe SET intent_template = intent_template || '!'")),
    ("a recipe given to another", Nothing, Sql("UPDATE recipe SET user_id = 'mallory'")),
    ("a recipe taken away", Nothing, Sql("DELETE FROM recipe")),
    ("a clock that was set back", Nothing, Hand(set_back)),
    ("a store put back to an older copy", Witness, Hand(|bench| put_back(bench, false))),
    ("a store that was emptied", Witness, Hand(gone)),
    ("another history of the same length", Witness, Hand(|bench| put_back(bench, true))),
];

fn artifact(bench: &Bench) -> std::path::PathBuf {
    fn first(folder: &Path) -> Option<std::path::PathBuf> {
        fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
            let path = entry.path();
            if path.is_dir() { first(&path) } else { Some(path) }
        })
    }
    first(&bench.home().join("artifacts")).expect("an answer leaves a file")
}

fn gone(bench: &Bench) {
    for ending in ["", "-wal", "-shm"] {
        let _may_not_be_there = fs::remove_file(bench.home().join(format!("state.db{ending}")));
    }
}

/// Restores the older copy; with `grow` another history is appended until it has the same length.
fn put_back(bench: &Bench, grow: bool) {
    gone(bench);
    fs::copy(bench.home().join("older.db"), bench.home().join("state.db")).unwrap();
    if !grow {
        return;
    }
    let wanted: u64 = fs::read_to_string(bench.home().join("size")).unwrap().parse().unwrap();
    let store = store(bench, Arc::new(steward_journal::clock::SystemClock::default()));
    run(async {
        while store.head().await.unwrap().map_or(0, |head| head.size) < wanted {
            let commit =
                Commit::new("alice".parse().unwrap(), steward_domain::TaskId(uuid::Uuid::from_u128(7)));
            let commit = commit.entry(draft(EventType::StepRecorded, json!({ "another": "history" })));
            store.commit(&Scope::System, commit).await.unwrap();
        }
    });
}

/// A clock that is a year behind.
struct Late(steward_journal::clock::SystemClock);

impl Clock for Late {
    fn now(&self) -> Timestamp {
        self.0.now().minus_days(365)
    }
    fn monotonic(&self) -> std::time::Duration {
        self.0.monotonic()
    }
}

fn set_back(bench: &Bench) {
    let store = store(bench, Arc::new(Late(steward_journal::clock::SystemClock::default())));
    let commit = Commit::new("alice".parse().unwrap(), steward_domain::TaskId(uuid::Uuid::from_u128(8)));
    let commit = commit.entry(draft(EventType::StepRecorded, json!({ "step": "late" })));
    run(async { store.commit(&Scope::System, commit).await.unwrap() });
}

/// Decisions, a board, a schedule and its tick, and a recipe.
fn decide_and_save(bench: &Bench) {
    let store = store(bench, Arc::new(steward_journal::clock::SystemClock::default()));
    let alice: steward_domain::UserId = "alice".parse().unwrap();
    let task = task(&alice, 20);
    let gate = |number| Gate { task: task.id, number };
    let decision = |number, verdict, call| {
        let (digest, by) = (fingerprint(), Label::new("bob").unwrap());
        Change::Decide(GateDecision { gate: gate(number), digest, verdict, by, at: at(30), call })
    };
    let saved = |value: serde_json::Value| {
        let item: Valid<SavedItem> = parse(&value.to_string()).unwrap();
        Change::PutSaved { item, replaces: None }
    };
    let (schedule_id, due_at) = (steward_domain::ScheduleId(uuid::Uuid::from_u128(5)), at(40));
    let board = json!({ "kind": "board", "id": uuid::Uuid::from_u128(4), "user_id": alice, "name": "north",
        "is_shared": false, "created_at": at(1), "updated_at": at(1) });
    let schedule = json!({ "kind": "schedule", "id": schedule_id, "user_id": alice, "name": "monday",
        "cadence": "every Monday 8:00", "cron": "0 8 * * 1", "zone": "Europe/Berlin", "status": "active",
        "next_at": at(4_000_000_000), "subject": { "question": { "question": "total", "data": ["sales.csv"] } },
        "created_at": at(0), "updated_at": at(0) });
    let tick = steward_domain::ScheduleTick {
        schedule_id,
        due_at,
        user_id: alice.clone(),
        task_id: task.id,
        settled_at: None,
    };
    let commits = [
        vec![Change::PutTask(task.clone()), decision(0, Verdict::Approved, None), saved(board)],
        vec![decision(1, Verdict::Rejected, None), saved(schedule), Change::TakeTick(tick)],
        vec![decision(0, Verdict::Approved, Some(steward_domain::CallId(uuid::Uuid::from_u128(3))))],
        vec![Change::SettleTick { schedule: schedule_id, due_at, at: at(50) }],
        vec![Change::PutRecipe(recipe(&alice, &fingerprint(), vec![1.0]))],
    ];
    for changes in commits {
        let mut commit = Commit::new(alice.clone(), task.id);
        commit = commit.entry(draft(EventType::StepRecorded, json!({ "step": "decided" })));
        commit.changes = changes;
        run(async { store.commit(&Scope::System, commit).await.unwrap() });
    }
}

fn store(bench: &Bench, clock: Arc<dyn Clock>) -> SqliteStore {
    let options = StoreOptions {
        clock,
        random: Arc::new(SystemRandom),
        redactor: Arc::new(Redactor::default()),
        signer: Arc::new(keys::load(&bench.home().join("keys/journal.key")).unwrap()),
    };
    SqliteStore::open(&bench.home().join("state.db"), options).unwrap()
}

#[allow(clippy::disallowed_methods, reason = "the test is whoever writes behind Steward's back")]
fn tamper(bench: &Bench, sql: &str) {
    let db = rusqlite::Connection::open(bench.home().join("state.db")).unwrap();
    db.execute_batch(FREE).unwrap();
    for statement in sql.split(';') {
        assert!(db.execute(statement, []).unwrap() > 0, "{statement} touches nothing");
    }
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target);
        } else {
            let _bytes = fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn every_kind_of_tampering_is_found() {
    let whole = Bench::new();
    whole.worked();
    fs::write(whole.path("sales.csv"), "city,amount\nRome,3\nOslo,5\nRome,7\n").unwrap();
    whole.ok("audit verify");
    decide_and_save(&whole);
    let ask = |words: &[&str]| {
        let outcome = whole.run_with(words);
        assert_eq!(outcome.code, 0, "{}{}", outcome.out, outcome.err);
    };
    ask(&["ask", "total amount by city", "--data", "sales.csv"]);
    whole.ok("audit head");
    // One file, without its write-ahead log.
    fs::copy(whole.home().join("state.db"), whole.home().join("older.db")).unwrap();
    ask(&["ask", "total amount", "--conversation", "last"]);
    let told = whole.json("audit verify --deep");
    assert_eq!(told["deep"]["unsealed"], 0, "{told}");
    assert!(
        told["deep"]["rows"].as_u64().unwrap() > 8 && told["deep"]["files"].as_u64().unwrap() > 0,
        "{told}"
    );
    fs::write(whole.home().join("size"), told["verified"]["entries"].to_string()).unwrap();
    assert!(WAYS.len() >= 80);
    let mut missed = Vec::new();
    for (name, needs, how) in WAYS {
        for witness in [true, false] {
            let bench = Bench::new();
            copied(&whole.home(), &bench.home());
            match how {
                Sql(sql) => tamper(&bench, sql),
                Hand(work) => work(&bench),
            }
            if !witness {
                fs::remove_dir_all(bench.home().join("witness")).unwrap();
            }
            let found = bench.run("audit verify --deep");
            let seen = found.code != 0 && found.err.contains("JRN");
            let wanted = witness || *needs == Nothing;
            if seen != wanted {
                missed
                    .push(format!("{name} (witness: {witness}): {} {}{}", found.code, found.out, found.err));
            }
            if *needs == Witness && witness && *name != "another history of the same length" {
                let refused = bench.run("task list");
                assert!(refused.err.contains("JRN016"), "{name} is found at every start: {}", refused.err);
            }
        }
    }
    assert!(missed.is_empty(), "{} were missed:\n{}", missed.len(), missed.join("\n"));
    whole.ok("audit verify --deep");
}

/// Verifying from a copy writes nothing to the home.
#[test]
fn media_that_cannot_be_written_are_verified() {
    let bench = Bench::new();
    bench.worked();
    let listed = || {
        let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(bench.home())
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().is_file())
            .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = listed();
    assert!(bench.ok("audit verify --deep --copy").contains("valid"));
    assert_eq!(before, listed());
}

/// Deletion and erasure on purpose are not tampering.
#[test]
fn what_was_deleted_on_purpose_is_accounted_for() {
    let bench = Bench::new();
    bench.ok("init");
    fs::write(bench.path("sales.csv"), "city,amount\nRome,3\nOslo,5\n").unwrap();
    let asked = bench.run_with(&["ask", "total amount by city", "--data", "sales.csv", "--json"]);
    let conversation =
        serde_json::from_str::<serde_json::Value>(&asked.out).unwrap()["conversation_id"].clone();
    bench.ok("audit verify --deep");
    bench.ok(&format!("conversation delete {} --yes", conversation.as_str().unwrap()));
    bench.ok("audit verify --deep");
    let accepted = bench.ok("audit head --accept");
    assert!(accepted.contains("count from now on"), "{accepted}");
}
