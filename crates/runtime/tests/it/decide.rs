//! Decisions from every surface: who may decide, and who hears of it.

use crate::toolbox::Shop;
use crate::user;
use crate::workers::runner;
use serde_json::{Value as Json, json};
use steward_domain::{
    Delivery, DeliveryTarget, HumanAction, JsonObject, Label, SavedEntity as _, SavedKind, TaskId,
    TaskStatus, Timestamp, UserId,
};
use steward_models::Models;
use steward_policy::Caller;
use steward_runtime::Error as RuntimeError;
use steward_runtime::run::{Audience, Decided, DecisionOutcome, NoticeCursor, RunStatus};
use steward_runtime::toolbox::Waiting;
use steward_store::Scope;
use steward_tools::Error;
use steward_tools::call::Request;

const ALWAYS: &str = "tools: { shop.delete: { approval: always } }";

async fn waiting(shop: &Shop) -> Waiting {
    let Json::Object(arguments) = json!({ "name": "pen" }) else { unreachable!() };
    let wanted = Request::new(Caller::owner(user()), "shop.delete", arguments);
    let Err(RuntimeError::Tools(Error::ApprovalNeeded(needed))) = shop.toolbox.call(&wanted).await else {
        panic!("it asks")
    };
    shop.toolbox.approvals().wait(&wanted, &needed).await.unwrap()
}

fn decided(call: &Waiting, action: HumanAction, by: &str) -> Decided {
    let (message, updates) = (String::new(), JsonObject::new());
    let (by, from, shown) = (Label::new(by).unwrap(), "test".to_owned(), call.shown().unwrap().digest);
    Decided { action, message, updates, by, from, shown }
}

fn bob() -> UserId {
    UserId::new("bob").unwrap()
}

#[tokio::test]
async fn a_decision_needs_the_right_that_the_user_has_now() {
    let shop = Shop::open(ALWAYS).await;
    shop.toolbox.look_at("shop").await.unwrap();
    let runner = runner(&shop, "one", Models::default()).await;
    let call = waiting(&shop).await;
    let no_approver = Caller { administrator: false, ..Caller::owner(bob()) };
    shop.fixture.grants.set(bob(), Ok(no_approver.clone()));
    let yes = || decided(&call, HumanAction::Approve, "bob");
    // What waits for another user is not there for those who may not decide on it.
    let refused = runner.decide_waiting(call.task, &bob(), yes(), None).await;
    assert!(matches!(refused, Err(RuntimeError::NotWaiting(_))), "{refused:?}");
    // One's own is there, and refused.
    shop.fixture.grants.set(user(), Ok(Caller { user: user(), ..no_approver }));
    let refused = runner.decide_waiting(call.task, &user(), yes(), None).await;
    assert!(matches!(refused, Err(RuntimeError::MayNotDecide { .. })), "{refused:?}");
    assert!(shop.ledger().is_empty());
    let owners = |name| shop.fixture.grants.set(name, Ok(Caller::owner(user())));
    owners(user());
    owners(bob());
    let modified = decided(&call, HumanAction::Modify, "bob");
    let refused = runner.decide_waiting(call.task, &bob(), modified, None).await;
    assert!(matches!(refused, Err(RuntimeError::Decision(_))), "{refused:?}");
    let made = runner.decide_waiting(call.task, &bob(), yes(), None).await.unwrap();
    assert!(matches!(made, DecisionOutcome::Called(_)), "{made:?}");
    assert_eq!(shop.ledger(), ["delete"]);
    let again = runner.decide_waiting(call.task, &bob(), yes(), None).await;
    assert!(matches!(again, Err(RuntimeError::NotWaiting(_))), "{again:?}");
    let task = shop.fixture.app.store.task(&Scope::System, call.task).await.unwrap().unwrap();
    assert_eq!(task.status, TaskStatus::Completed);
}

#[tokio::test]
async fn a_waiting_call_is_not_ended_by_a_resume_and_can_be_cancelled() {
    let shop = Shop::open(ALWAYS).await;
    shop.toolbox.look_at("shop").await.unwrap();
    let runner = runner(&shop, "one", Models::default()).await;
    let call = waiting(&shop).await;
    let scope = Scope::User(user());
    let ran = runner.resume(&scope, call.task, None).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Waiting);
    assert_eq!(runner.decidable(&bob()).await.unwrap().len(), 1, "it still waits");
    let by = Label::new("ana").unwrap();
    let ran = runner.cancel(&scope, call.task, &by).await.unwrap();
    assert_eq!(ran.standing, RunStatus::Cancelled("ana".to_owned()));
    let yes = decided(&call, HumanAction::Approve, "bob");
    let refused = runner.decide_waiting(call.task, &bob(), yes, None).await;
    assert!(matches!(refused, Err(RuntimeError::NotWaiting(_))), "{refused:?}");
    assert!(shop.ledger().is_empty());
}

/// Two webhooks for each side.
struct Webhooks;

impl Audience for Webhooks {
    fn approvers(&self, _: &Waiting) -> Vec<DeliveryTarget> {
        ["https://one.test/", "https://two.test/"].map(|url| DeliveryTarget::Webhook(url.into())).to_vec()
    }
    fn asker(&self, _: &UserId) -> Vec<DeliveryTarget> {
        vec![DeliveryTarget::Webhook("https://one.test/".into())]
    }
    fn link(&self, task: TaskId) -> Option<String> {
        Some(format!("https://page.test/{task}"))
    }
}

async fn notices(shop: &Shop) -> Vec<Delivery> {
    let (store, end) = (&shop.fixture.app.store, Timestamp::from_micros(4_102_444_800_000_000));
    let items = store.due_items(SavedKind::Delivery, end, 100).await.unwrap();
    items.into_iter().filter_map(|item| Delivery::from_item(item.into_inner())).collect()
}

#[tokio::test]
async fn a_notice_is_written_once_and_holds_no_arguments() {
    let shop = Shop::open(ALWAYS).await;
    shop.toolbox.look_at("shop").await.unwrap();
    let runner = runner(&shop, "one", Models::default()).await;
    let call = waiting(&shop).await;
    // A new cursor is a process that starts again.
    for _ in 0..2 {
        let mut cursor = NoticeCursor::default();
        runner.write_notices(&Webhooks, &mut cursor).await.unwrap();
        runner.write_notices(&Webhooks, &mut cursor).await.unwrap();
    }
    let written = notices(&shop).await;
    assert_eq!(written.len(), 2, "{written:?}");
    for notice in &written {
        assert_eq!(notice.content["event"], "approval_waiting");
        assert_eq!(notice.content["digest"], call.digest);
        assert!(!json!(notice.content).to_string().contains("pen"), "{notice:?}");
    }
    let no = decided(&call, HumanAction::Reject, "bob");
    runner.decide_waiting(call.task, &bob(), no, None).await.unwrap();
    for _ in 0..2 {
        runner.write_notices(&Webhooks, &mut NoticeCursor::default()).await.unwrap();
    }
    let written = notices(&shop).await;
    let told: Vec<&Json> = written
        .iter()
        .filter(|notice| notice.content["event"] == "approval_decided")
        .map(|notice| &notice.content["decision"])
        .collect();
    assert_eq!(told, ["rejected"], "{written:?}");
}
