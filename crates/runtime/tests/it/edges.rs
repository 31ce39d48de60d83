//! Where conversations end or turn: called off, dropped, too many at once, about data that was
//! brought, deleted.

use crate::talks::Office;
use crate::user;
use serde_json::json;
use steward_domain::{Coded as _, ConversationId, TaskStatus};
use steward_policy::Caller;
use steward_runtime::converse::{self, ConversationEndedBy, Ending, Limits, Outcome, ProgressEvent, Turn};
use steward_store::{Page, Scope, TaskFilter};
use tokio_util::sync::CancellationToken;

fn turn(said: &str, conversation: Option<ConversationId>) -> Turn {
    Turn {
        said: said.to_owned(),
        conversation,
        caller: Caller::owner(user()),
        data: Vec::new(),
        choice: None,
    }
}

#[tokio::test]
async fn cancelled_turn_has_status_cancelled() {
    let office = Office::open("apps", &[("todo", &["--hang", "list_tasks"])], Limits::default()).await;
    let stop = CancellationToken::new();
    let heard = |heard: ProgressEvent| {
        if let ProgressEvent::Began { .. } = heard {
            stop.cancel();
        }
    };
    let error = office.chat.answer_until(&turn("show my tasks", None), &heard, &stop).await.unwrap_err();
    assert_eq!(error.code(), "RUN016", "{error}");
    let scope = Scope::User(user());
    let store = &office.fixture.app.store;
    let tasks = store.tasks(&scope, TaskFilter::default(), Page::first(10)).await.unwrap();
    let task = tasks.first().unwrap();
    assert_eq!(task.status, TaskStatus::Cancelled, "{task:?}");
    // Nobody else is kept from asking.
    let next = office.say(None, "show me task 2").await;
    assert_eq!(next.outcome, Outcome::Answered, "{next:#?}");
}

#[tokio::test]
async fn unused_confirmation_is_dropped_and_journalled() {
    let office = Office::todo().await;
    let asked = office.say(None, "delete task 7").await;
    assert_eq!(asked.outcome, Outcome::Confirm, "{asked:#?}");
    let other = office.say(Some(asked.conversation_id), "show me task 2").await;
    assert_eq!(other.outcome, Outcome::Answered, "{other:#?}");
    let journal = office.fixture.journal(other.task_id).await;
    let decided = journal.iter().find(|(name, _)| name == "approval_decided");
    assert_eq!(decided.map(|(_, data)| data["decision"].clone()), Some(json!("dropped")), "{journal:#?}");
    // A yes that comes later agrees to nothing.
    let late = office.say(Some(asked.conversation_id), "yes").await;
    assert!(late.response.tool_calls_made.is_empty(), "{late:#?}");
    assert_eq!(office.look("todo.list_tasks", json!({})).await["count"], 12);
}

#[tokio::test]
async fn too_many_records_are_not_changed_at_once() {
    let office = Office::todo().await;
    for number in 0..45 {
        office.look("todo.create_task", json!({ "title": format!("Chore {number}") })).await;
    }
    let listed = office.say(None, "show all my tasks").await;
    assert_eq!(listed.outcome, Outcome::Answered);
    let reply = office.say(Some(listed.conversation_id), "delete all of them").await;
    assert_eq!(office.look("todo.list_tasks", json!({ "limit": 100 })).await["count"], 57, "{reply:#?}");
    assert!(reply.missing.iter().any(|missing| missing.code == Some("RUN015")), "{reply:#?}");
}

#[tokio::test]
async fn chart_of_user_data_writes_no_note() {
    let office = Office::todo().await;
    let notes = office.look("notes.list_notes", json!({})).await["count"].clone();
    let path = office.fixture.folder.path().join("sales.csv");
    std::fs::write(&path, "category,amount\nBikes,100\nHelmets,40\nBikes,60\nLights,20\n").unwrap();
    let brought =
        Turn { data: vec![path.display().to_string()], ..turn("pie chart of amount by category", None) };
    let reply = office.chat.say(&brought, &|_| {}).await.unwrap();
    assert_eq!(reply.outcome, Outcome::Answered, "{reply:#?}");
    let shown = reply.json().to_string();
    assert!(shown.contains("Bikes") && shown.contains("160"), "{shown}");
    // It stays what the conversation is about, and a wish is still a wish.
    let again = office.say(Some(reply.conversation_id), "total amount by category").await;
    assert!(again.json().to_string().contains("160"), "{again:#?}");
    assert_eq!(office.look("notes.list_notes", json!({})).await["count"], notes);
    let wish = office.say(Some(reply.conversation_id), "create a note that says the amount is wrong").await;
    assert_eq!(wish.outcome, Outcome::Answered, "{wish:#?}");
    assert_ne!(office.look("notes.list_notes", json!({})).await["count"], notes);
}

#[tokio::test]
async fn deleted_conversation_erases_messages_and_answers() {
    let office = Office::todo().await;
    let reply = office.say(None, "show me task 2").await;
    let (store, scope) = (&office.fixture.app.store, Scope::User(user()));
    let files: Vec<String> = store
        .artifacts(&scope, reply.task_id)
        .await
        .unwrap()
        .iter()
        .map(|artifact| artifact.content_ref.to_string())
        .collect();
    assert!(!files.is_empty() && files.iter().all(|file| std::path::Path::new(file).exists()), "{files:?}");
    let kept = store.payloads(&scope, reply.task_id.into()).await.unwrap();
    assert!(kept.iter().any(|payload| payload.erased_at.is_none()), "{kept:?}");
    let owner = user();
    let by = ConversationEndedBy { user: &owner, door: "test", at: office.fixture.app.clock.now() };
    let stranger = Scope::User("somebody_else".parse().unwrap());
    let id = reply.conversation_id;
    let kept_in = &office.fixture.app.artifacts;
    let refused = converse::end(&**store, kept_in, &stranger, id, Ending::Deleted, by).await.unwrap_err();
    assert_eq!(refused.code(), "STO001", "what is not theirs is not there");
    converse::end(&**store, kept_in, &scope, id, Ending::Deleted, by).await.unwrap();
    assert!(files.iter().all(|file| !std::path::Path::new(file).exists()), "{files:?}");
    assert!(store.history(&scope, id, Page::first(10)).await.unwrap().is_empty());
    let left = store.payloads(&scope, reply.task_id.into()).await.unwrap();
    assert!(left.iter().all(|payload| payload.erased_at.is_some()), "{left:?}");
    // That it was there stays provable.
    let journal = office.fixture.journal(reply.task_id).await;
    assert!(journal.iter().any(|(name, _)| name == "payload_erased"), "{journal:#?}");
    let twice = converse::end(&**store, kept_in, &scope, id, Ending::Deleted, by).await.unwrap_err();
    assert_eq!(twice.code(), "STO001");
}
