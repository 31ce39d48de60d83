//! Approvals that come back into the conversation that asked for them.

use crate::talks::Office;
use crate::user;
use serde_json::json;
use steward_domain::{ConversationId, Label, Role, TaskId};
use steward_policy::Caller;
use steward_runtime::converse::{Outcome, Reply, Turn};
use steward_store::{Page, Scope};

/// Somebody who may ask and may not approve.
fn asker() -> Caller {
    Caller { administrator: false, ..Caller::owner(user()) }
}

async fn say(office: &Office, conversation: Option<ConversationId>, said: &str) -> Reply {
    let turn = Turn { said: said.into(), conversation, caller: asker(), data: Vec::new(), choice: None };
    office.chat.say(&turn, &|_| {}).await.unwrap()
}

/// What somebody else decides.
async fn decide(office: &Office, task: TaskId, rejected: Option<&str>) {
    let (toolbox, scope) = (office.chat.toolbox(), Scope::User(user()));
    let by = Label::new("boss").unwrap();
    let waiting = toolbox.approvals().list(&scope).await.unwrap();
    let shown = waiting.iter().find(|waiting| waiting.task == task).unwrap().shown().unwrap();
    match rejected {
        Some(why) => drop(toolbox.approvals().reject(&scope, &shown, &by, why).await.unwrap()),
        None => drop(toolbox.approvals().approve(toolbox.gateway(), &scope, &shown, &by).await.unwrap()),
    }
}

async fn told(office: &Office, id: ConversationId) -> Vec<String> {
    let store = &office.fixture.app.store;
    let history = store.history(&Scope::User(user()), id, Page::first(50)).await.unwrap();
    let agent = history.iter().filter(|message| message.role == Role::Agent);
    agent.map(|message| message.content.to_string()).collect()
}

#[tokio::test]
async fn approval_result_is_reported_once() {
    let office = Office::todo().await;
    let asked = say(&office, None, "delete task 7").await;
    assert_eq!(asked.outcome, Outcome::Confirm, "{asked:#?}");
    let [task] = asked.waiting.as_slice() else { panic!("{asked:#?}") };
    let id = asked.conversation_id;
    assert!(!office.chat.report_decisions(&user(), id).await.unwrap(), "nothing was decided yet");
    decide(&office, *task, None).await;
    assert!(office.chat.report_decisions(&user(), id).await.unwrap());
    assert!(!office.chat.report_decisions(&user(), id).await.unwrap(), "it is told once");
    let told = told(&office, id).await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].contains("approved by boss") && told[1].contains("Water the plants"), "{}", told[1]);
    assert_eq!(office.look("todo.list_tasks", json!({})).await["count"], 11);
}

#[tokio::test]
async fn rejection_is_reported_before_next_answer() {
    let office = Office::todo().await;
    let asked = say(&office, None, "delete task 7").await;
    let [task] = asked.waiting.as_slice() else { panic!("{asked:#?}") };
    decide(&office, *task, Some("we still need it")).await;
    let next = say(&office, Some(asked.conversation_id), "show my tasks").await;
    assert_eq!(next.outcome, Outcome::Answered, "{next:#?}");
    let told = told(&office, asked.conversation_id).await;
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[1].contains("not approved by boss: we still need it"), "{}", told[1]);
    assert_eq!(next.decisions, [told[1].clone()], "who only hears replies hears it, too");
    assert_eq!(office.look("todo.list_tasks", json!({})).await["count"], 12);
}
