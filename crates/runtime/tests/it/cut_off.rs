//! Questions and chat turns as tasks: replayed and inspected like runs, and taken up or ended when
//! their process is gone.

use crate::talks::Office;
use crate::{Fixture, ask, local, retail, user, write};
use serde_json::json;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use steward_domain::{ConversationId, Label, ResponseStatus, Role, TaskId, TaskStatus};
use steward_models::Models;
use steward_policy::Caller;
use steward_runtime::ProgressEvent;
use steward_runtime::converse::{Limits, Turn};
use steward_runtime::run::{self, RunStatus, Runner, Service, ServiceOptions};
use steward_store::{Change, Commit, Page, Scope, TaskFilter};
use tokio_util::sync::CancellationToken;

fn scope() -> Scope {
    Scope::User(user())
}

fn runner(office: &Office) -> Runner {
    let home = office.fixture.folder.path().to_owned();
    Runner::new(office.chat.toolbox().clone(), Arc::new(Models::default()), home).unwrap()
}

/// Works on something until this happens, and then never again: as if the process had been killed.
/// What it held is held by a process that does not exist.
async fn cut_off<T>(
    office: &Office,
    work: impl Future<Output = T> + Send,
    seen: &Mutex<Option<TaskId>>,
    reached: &Mutex<bool>,
) -> TaskId {
    let mut work: Pin<Box<dyn Future<Output = T> + Send + '_>> = Box::pin(work);
    std::future::poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(_) => panic!("it ended before it could be cut off"),
        Poll::Pending if *reached.lock().unwrap() => Poll::Ready(()),
        Poll::Pending => Poll::Pending,
    })
    .await;
    // No destructor runs, as when the process is killed.
    std::mem::forget(work);
    let task = seen.lock().unwrap().expect("the task began");
    let name = runner(office).holder().name.to_string();
    let mut parts: Vec<&str> = name.split('/').collect();
    parts[1] = "4194399";
    let store = &office.fixture.app.store;
    let until = office.fixture.app.clock.now();
    let worker = Label::new(parts.join("/")).unwrap();
    let gone = Change::Hold { task, worker, until, unless_held: None };
    store.commit(&scope(), Commit::new(user(), task).change(gone)).await.unwrap();
    task
}

/// A question that is cut off when its first step begins.
async fn question_cut_off(office: &Office) -> TaskId {
    let (seen, reached) = (Mutex::default(), Mutex::new(false));
    let watch = |event: ProgressEvent| match event {
        ProgressEvent::Started(task) => *seen.lock().unwrap() = Some(task),
        ProgressEvent::Began { .. } => *reached.lock().unwrap() = true,
        _ => {}
    };
    let question = local("total amount by state", &[retail("sales.csv")]);
    let work = office.fixture.app.ask(&question, &watch);
    cut_off(office, work, &seen, &reached).await
}

async fn answers(office: &Office, task: TaskId) -> usize {
    office.fixture.count(task, "answered").await
}

#[tokio::test]
async fn a_question_is_a_plan_that_can_be_replayed_and_inspected_at_any_step() {
    let office = Office::todo().await;
    let question = local("total amount by state; chart", &[retail("sales.csv")]);
    let answer = office.fixture.ask(question).await;
    assert_eq!(answer.response.status, ResponseStatus::Completed, "{:?}", answer.response);
    let task = answer.response.request_id;
    let store = &*office.fixture.app.store;
    let (program, events) = run::history(store, &scope(), task).await.unwrap();
    assert!(!program.nodes().is_empty());
    assert_eq!(events.len(), 1 + program.nodes().len(), "{events:#?}");
    let last = run::at(store, &scope(), task, events.len()).await.unwrap();
    assert!(last.state.status().is_final());
    let replayed = runner(&office).replay(&scope(), task, None).await.unwrap();
    assert_eq!(replayed.parted, None);
    assert!(replayed.calls > 0, "the calls of the question are the calls of the program");
    let again = runner(&office).fork(&scope(), task, 1, None).await.unwrap();
    assert_ne!(again.task, task);
    assert!(matches!(again.standing, RunStatus::Completed(_)), "{again:?}");
}

#[tokio::test]
async fn interrupted_question_is_answered_by_next_worker() {
    let office = Office::todo().await;
    let task = question_cut_off(&office).await;
    let options = ServiceOptions { until_empty: true, ..ServiceOptions::default() };
    let worker = Service::new(runner(&office), options);
    worker.run(CancellationToken::new(), Arc::new(|_, _| {})).await.unwrap();
    let store = &office.fixture.app.store;
    let ended = store.task(&scope(), task).await.unwrap().unwrap();
    assert_eq!(ended.status, TaskStatus::Completed, "{ended:?}");
    assert_eq!(answers(&office, task).await, 1);
    let whole = office.fixture.ask(local("total amount by state", &[retail("sales.csv")])).await;
    assert_eq!(ended.result.as_deref(), Some(whole.answer.as_str()));
    assert_eq!(runner(&office).replay(&scope(), task, None).await.unwrap().parted, None);
    let found = store.conversations(&scope(), Default::default(), Page::first(10)).await.unwrap();
    let mut roles = Vec::new();
    for conversation in found {
        let messages = store.history(&scope(), conversation.id, Page::first(10)).await.unwrap();
        let of_it = |id: &serde_json::Value| *id == json!(task);
        if messages.iter().any(|message| message.metadata.get("request_id").is_some_and(of_it)) {
            roles.extend(messages.iter().map(|message| message.role));
        }
    }
    assert_eq!(roles, [Role::User, Role::Agent], "the answer reached its conversation once");
}

#[tokio::test]
async fn interrupted_question_is_ended_at_next_start() {
    let office = Office::todo().await;
    let task = question_cut_off(&office).await;
    let app = &office.fixture.app;
    assert_eq!(run::end_interrupted(app, &scope()).await.unwrap(), [task]);
    let ended = app.store.task(&scope(), task).await.unwrap().unwrap();
    assert_eq!(ended.status, TaskStatus::Failed);
    assert!(ended.error.as_ref().is_some_and(|why| why.contains("cut off")), "{ended:?}");
    assert_eq!(run::end_interrupted(app, &scope()).await.unwrap(), []);
    let request = app.store.request(&scope(), task).await.unwrap().unwrap();
    assert_eq!(request.status, steward_domain::RequestStatus::Failed);
}

#[tokio::test]
async fn abandoned_question_ends() {
    let fixture = Fixture::new();
    let question = local("total amount by state", &[retail("sales.csv")]);
    let waited = fixture.app.ask(&question, &|_| {});
    assert!(tokio::time::timeout(Duration::from_millis(1), waited).await.is_err());
    for _ in 0..2000 {
        let tasks = fixture.app.store.tasks(&scope(), TaskFilter::default(), Page::first(5)).await.unwrap();
        match tasks.first().map(|task| task.status) {
            // It was dropped before it was a task.
            None | Some(TaskStatus::Failed) => return,
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    let tasks = fixture.app.store.tasks(&scope(), TaskFilter::default(), Page::first(5)).await.unwrap();
    panic!("the task of a dropped question did not end: {tasks:?}");
}

#[tokio::test]
async fn columns_with_spaces_make_a_plan() {
    let fixture = Fixture::new();
    let data = write(
        fixture.folder.path(),
        "Sales 2024.csv",
        "Order Date,Customer Name,Net Amount\n2024-01-02,Ann Lee,10\n2024-01-03,Bo Li,5\n2024-02-01,Ann Lee,7\n",
    );
    for question in ["total net amount by customer name; chart", "net amount by month; trends and charts"] {
        let answer = fixture.ask(ask(question, std::slice::from_ref(&data))).await;
        assert_ne!(answer.response.status, ResponseStatus::Failed, "{question}: {:?}", answer.response.error);
    }
}

#[tokio::test]
async fn interrupted_turn_is_reported_in_conversation() {
    let office = Office::open("apps", &[("todo", &["--hang", "list_tasks"])], Limits::default()).await;
    let (seen, reached) = (Mutex::default(), Mutex::new(false));
    let watch = |event: ProgressEvent| match event {
        ProgressEvent::Started(task) => *seen.lock().unwrap() = Some(task),
        ProgressEvent::Began { .. } => *reached.lock().unwrap() = true,
        _ => {}
    };
    let (said, caller) = ("show my tasks".to_owned(), Caller::owner(user()));
    let turn = Turn { said, conversation: None, caller, data: Vec::new(), choice: None };
    let task = cut_off(&office, office.chat.say(&turn, &watch), &seen, &reached).await;
    let options = ServiceOptions { until_empty: true, ..ServiceOptions::default() };
    let worker = Service::new(runner(&office), options);
    worker.run(CancellationToken::new(), Arc::new(|_, _| {})).await.unwrap();
    let store = &office.fixture.app.store;
    let ended = store.task(&scope(), task).await.unwrap().unwrap();
    assert_eq!(ended.status, TaskStatus::Failed, "{ended:?}");
    assert!(ended.error.as_ref().is_some_and(|why| why.contains("cut off")), "{ended:?}");
    let found = store.conversations(&scope(), Default::default(), Page::first(10)).await.unwrap();
    let id: ConversationId = found.first().expect("a conversation").id;
    let messages = store.history(&scope(), id, Page::first(10)).await.unwrap();
    let [asked, told] = messages.as_slice() else { panic!("{messages:#?}") };
    assert_eq!(asked.content.as_str(), "show my tasks");
    assert!(told.content.contains("could not finish") && told.content.contains("list tasks"), "{told:?}");
}
