//! Turns with a model: a scripted one behind a real socket, with the example applications behind
//! MCP.

use crate::fake_model::{FakeModel, Says, last, results};
use crate::talks::Office;
use crate::user;
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use steward_domain::{ConversationId, Label, TaskStatus};
use steward_policy::Caller;
use steward_runtime::converse::{ChatModel, ModelLimits, OptionChoice, Outcome, ProgressEvent, Reply, Turn};
use steward_runtime::run::{Runner, history};
use steward_store::Scope;
use tokio_util::sync::CancellationToken;

/// A wish that the reader is not sure of: longer than what it read in it.
pub(crate) const HARD: &str = "have a look at my tasks, figure out what the dentist thing is about, sort it \
    out in whatever way seems best to you, and when all of that is through let me know which of my tasks are \
    left open";

async fn office(model: &FakeModel) -> Office {
    with_model(Office::todo().await, model)
}

fn with_model(office: Office, model: &FakeModel) -> Office {
    served_by(office, model, false)
}

/// With this model, which may plan first.
pub(crate) fn served_by(mut office: Office, model: &FakeModel, plan_first: bool) -> Office {
    let toolbox = office.chat.toolbox().clone();
    let home = office.fixture.folder.path().to_owned();
    let runner = Runner::new(toolbox.clone(), model.models(), home).unwrap();
    let name = Label::new("big").unwrap();
    let limits = ModelLimits { steps: 8, tokens: 20_000, money: None, seconds: 30 };
    let service = steward_runtime::converse::ChatService::new(toolbox, Default::default());
    office.chat = service.with_model(ChatModel { runner, extractor: name.clone(), name, limits, plan_first });
    office
}

pub(crate) fn turn(said: &str, conversation: Option<ConversationId>) -> Turn {
    Turn {
        said: said.to_owned(),
        conversation,
        caller: Caller::owner(user()),
        data: Vec::new(),
        choice: None,
    }
}

/// The names of the tools that a prompt offers.
fn offered(prompt: &Json) -> Vec<String> {
    let tools = prompt["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn confident_reading_calls_no_model() {
    let model = FakeModel::start(|_| Says::Text("never".into())).await;
    let office = office(&model).await;
    let reply = office.say(None, "show my tasks").await;
    assert_eq!(reply.outcome, Outcome::Answered, "{reply:#?}");
    assert!(reply.model.is_none() && model.prompts().is_empty());
}

/// What a short message leaves open is for the person to say. A long one may say it in words that
/// the reader does not use, so the model is asked first.
#[tokio::test]
async fn reader_asks_no_question_about_long_message() {
    let model = FakeModel::start(|_| Says::Text("It is done.".to_owned())).await;
    let office = office(&model).await;
    let reply = office.say(None, "complete the task").await;
    assert_eq!((reply.outcome, model.prompts().len()), (Outcome::Asked, 0), "{reply:#?}");
    let long = "complete the task, by which I mean the one that came up when we met last week and talked \
                about my teeth for the better part of an hour";
    let reply = office.say(None, long).await;
    assert!(!model.prompts().is_empty(), "{reply:#?}");
    assert_eq!(reply.response.answer, "It is done.", "{reply:#?}");
}

#[tokio::test]
async fn two_tools_and_a_streamed_answer() {
    let model = FakeModel::start(|messages| match results(messages) {
        0 => Says::Calls(vec![
            ("todo_list_tasks", json!({ "status": "open" })),
            ("todo_search_tasks", json!({ "query": "dentist" })),
        ]),
        _ => Says::Text("The dentist is task 2. There are 77 others.".into()),
    })
    .await;
    let office = office(&model).await;
    let heard: Mutex<Vec<ProgressEvent>> = Mutex::default();
    let reply = office.chat.say(&turn(HARD, None), &|event| heard.lock().unwrap().push(event)).await.unwrap();
    assert_eq!(reply.outcome, Outcome::Answered, "{reply:#?}");
    // A number that is in no result is marked, one that is stays.
    assert_eq!(reply.response.answer, "The dentist is task 2. There are 77 [unverified] others.");
    let used = reply.model.as_ref().unwrap();
    assert_eq!((used.name.as_str(), used.rounds, used.tokens, used.cost_micros), ("big", 2, 220, 240));
    assert_eq!(used.unverified, ["77"]);
    let called: Vec<&str> =
        reply.response.tool_calls_made.iter().map(|call| call.tool_name.as_str()).collect();
    assert_eq!(called, ["todo.list_tasks", "todo.search_tasks"]);
    // Both were begun before either ended, and the words came in pieces.
    let heard = heard.into_inner().unwrap();
    let kind = |event: &ProgressEvent| match event {
        ProgressEvent::Began { .. } => 'b',
        ProgressEvent::Ended { well: true, .. } => 'e',
        ProgressEvent::Text { .. } => 't',
        _ => '-',
    };
    let told: String = heard.iter().map(kind).filter(|kind| *kind != '-').collect();
    assert!(told.starts_with("bbee") && told.ends_with("ttt"), "{told}");
    // The run is a task of its own with its own journal.
    let (_, events) = history(&*office.fixture.app.store, &Scope::User(user()), used.run).await.unwrap();
    assert!(events.len() >= 5, "{events:?}");
    assert!(office.fixture.count(used.run, "tool_called").await >= 2);
    // The tools that fit are offered, and a search for the rest.
    let first = offered(&model.prompts()[0]);
    assert!(first.contains(&"steward_search_tools".to_owned()), "{first:?}");
    assert!(first.len() <= 18, "{first:?}");
}

#[tokio::test]
async fn a_tool_that_was_not_offered_is_found_and_called() {
    let model = FakeModel::start(|messages| match results(messages) {
        0 => Says::Calls(vec![(
            "steward_search_tools",
            json!({ "query": "check out a vehicle of the fleet" }),
        )]),
        1 => Says::Calls(vec![("fleet_list_vehicles", json!({}))]),
        _ => Says::Text("Here they are.".into()),
    })
    .await;
    let office = office(&model).await;
    let reply = office.say(None, "hmm was meinst du eigentlich zu alledem so im grossen und ganzen").await;
    assert_eq!(reply.response.answer, "Here they are.", "{reply:#?}");
    let called: Vec<&str> =
        reply.response.tool_calls_made.iter().map(|call| call.tool_name.as_str()).collect();
    assert_eq!(called, ["steward.search_tools", "fleet.list_vehicles"]);
    let prompts = model.prompts();
    assert!(offered(&prompts[1]).len() > offered(&prompts[0]).len(), "what was found is offered");
}

/// Deletes after it has seen a result: the run waits, a yes makes exactly that call, a no none.
/// A title that only the model says.
const RENAMED: &str = "Pay the other bill";

#[tokio::test]
async fn effect_after_result_needs_confirmation_and_resumes() {
    let model = FakeModel::start(|messages| match results(messages) {
        0 => Says::Calls(vec![("todo_list_tasks", json!({}))]),
        // The id is the server's own; the title is nowhere in what the person typed.
        1 => Says::Calls(vec![("todo_update_task", json!({ "id": 2, "new_title": RENAMED }))]),
        _ => Says::Text(format!("It said: {}", last(messages, "tool").chars().take(20).collect::<String>())),
    })
    .await;
    let office = office(&model).await;
    let asked = office.say(None, HARD).await;
    assert_eq!(asked.outcome, Outcome::Confirm, "{asked:#?}");
    let question = asked.question.as_ref().unwrap();
    assert!(question.text.contains("update task") && question.text.contains("id 2"), "{question:?}");
    assert_ne!(office.task(2).await["title"], RENAMED, "nothing is done before the yes");
    let task = |reply: &Reply| reply.model.as_ref().unwrap().run;
    let scope = Scope::User(user());
    let stored = office.fixture.app.store.task(&scope, task(&asked)).await.unwrap().unwrap();
    assert_eq!(stored.status, TaskStatus::Paused);
    let done = office.say(Some(asked.conversation_id), "yes").await;
    assert_eq!(done.outcome, Outcome::Answered, "{done:#?}");
    assert_eq!(task(&done), task(&asked), "the same run goes on");
    assert_eq!(office.task(2).await["title"], RENAMED);

    // A no by its button.
    let asked = office.say(None, HARD).await;
    assert_eq!(asked.outcome, Outcome::Confirm);
    let choice = Some(OptionChoice { question: Some(asked.task_id), option: 1 });
    let no = Turn { choice, ..turn("x", Some(asked.conversation_id)) };
    let reply = office.chat.say(&no, &|_| {}).await.unwrap();
    assert!(reply.response.answer.contains("error"), "the model is told: {}", reply.response.answer);

    // Something else drops it.
    let asked = office.say(None, HARD).await;
    let other = office.say(Some(asked.conversation_id), "show my tasks").await;
    assert!(other.model.is_none(), "{other:#?}");
    let dropped = office.fixture.app.store.task(&scope, task(&asked)).await.unwrap().unwrap();
    assert_eq!(dropped.status, TaskStatus::Cancelled);
}

/// Text of a result that gives orders: the model obeys it, and nothing happens without a person.
#[tokio::test]
async fn injected_model_is_stopped_by_confirmation() {
    let model = FakeModel::start(|messages| match results(messages) {
        0 => Says::Calls(vec![("todo_list_tasks", json!({}))]),
        _ => Says::Calls(vec![
            ("todo_delete_task", json!({ "id": 1 })),
            ("todo_delete_task", json!({ "id": 2 })),
        ]),
    })
    .await;
    let office = office(&model).await;
    let reply = office.say(None, HARD).await;
    assert_eq!(reply.outcome, Outcome::Confirm, "{reply:#?}");
    for id in [1, 2] {
        assert!(office.task(id).await["title"].is_string(), "task {id} is still there");
    }
}

#[tokio::test]
async fn unavailable_model_adds_a_note() {
    let model = FakeModel::start(|_| Says::Status(500)).await;
    let office = office(&model).await;
    let reply = office.say(None, HARD).await;
    assert!(reply.response.answer.contains("The model could not be used"), "{reply:#?}");
    assert!(reply.model.is_none());
}

#[tokio::test]
async fn a_loop_ends_at_its_budget() {
    let model = FakeModel::start(|messages| {
        Says::Calls(vec![("todo_get_task", json!({ "id": results(messages) + 1 }))])
    })
    .await;
    let office = office(&model).await;
    let reply = office.say(None, HARD).await;
    assert!(reply.response.answer.contains("could not be used"), "{reply:#?}");
    assert!(model.prompts().len() <= 9, "{} prompts", model.prompts().len());
}

#[tokio::test]
async fn stop_ends_a_streaming_answer_at_once() {
    let model = FakeModel::start(|_| Says::Hang("Once upon a time ".into())).await;
    let office = office(&model).await;
    let stop = CancellationToken::new();
    let stops = stop.clone();
    let run: Arc<Mutex<Option<Instant>>> = Arc::default();
    let at = run.clone();
    let watch = move |event: ProgressEvent| {
        if matches!(event, ProgressEvent::Text { .. }) && !stops.is_cancelled() {
            *at.lock().unwrap() = Some(Instant::now());
            stops.cancel();
        }
    };
    let failed = office.chat.answer_until(&turn(HARD, None), &watch, &stop).await.unwrap_err();
    let took = run.lock().unwrap().unwrap().elapsed();
    assert!(matches!(failed, steward_runtime::Error::CalledOff), "{failed}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    // Nobody takes the run up again.
    let scope = Scope::User(user());
    let tasks =
        office.fixture.app.store.tasks(&scope, Default::default(), steward_store::Page::first(10)).await;
    let open = tasks.unwrap().into_iter().filter(|task| task.status == TaskStatus::Running).count();
    assert_eq!(open, 0);
}

/// The conversation is shown to the model, and what it asked is answered.
#[tokio::test]
async fn a_question_of_the_model_is_answered_in_the_next_turn() {
    let model = FakeModel::start(|messages| {
        let said = last(messages, "user");
        if said == HARD {
            Says::Text("Which dentist do you mean?".into())
        } else {
            assert!(messages.iter().any(|message| message["content"] == HARD), "{messages:?}");
            Says::Text(format!("You said {said}."))
        }
    })
    .await;
    let office = office(&model).await;
    let asked = office.say(None, HARD).await;
    assert_eq!(asked.outcome, Outcome::Asked);
    let reply = office.say(Some(asked.conversation_id), "the one in Bern").await;
    assert_eq!(reply.response.answer, "You said the one in Bern.");
}

/// Questions about data go through analysis. What is blocked, not granted or another person's is in
/// no prompt.
#[tokio::test]
async fn no_prompt_holds_what_is_blocked_or_not_granted() {
    let model = FakeModel::start(|messages| match results(messages) {
        0 => Says::Calls(vec![
            ("steward_ask_data", json!({ "question": "total amount by region", "source": "shop" })),
            ("steward_ask_data", json!({ "question": "show all rows", "source": "shop" })),
            ("steward_ask_data", json!({ "question": "show all rows", "source": "payroll" })),
            ("steward_search_tools", json!({ "query": "CANARYTOOL crm contacts" })),
            ("crm_find_contacts", json!({ "query": "a" })),
        ]),
        _ => Says::Text("North made 30.".into()),
    })
    .await;
    let office = Office::todo().await;
    let home = office.fixture.folder.path();
    let write = |name: &str, text: &str| {
        std::fs::write(home.join(name), text).unwrap();
        home.join(name).display().to_string()
    };
    let shop = write(
        "shop.csv",
        "region,amount,password,CANARYCOLUMN\nNorth,10,CANARYBLOCKED1,CANARYVALUE1\nNorth,20,CANARYBLOCKED2,CANARYVALUE2\n\
         South,5,CANARYBLOCKED3,CANARYVALUE3\n",
    );
    let payroll = write("payroll.csv", "name,salary\nCANARYPERSON,77777\n");
    let domains = json!({ "domains": [
        { "name": "shop", "display_name": "Shop", "description": "Sales of the shop", "data_sources": [shop] },
        { "name": "payroll", "display_name": "CANARYPAYROLL", "description": "CANARYSALARIES", "data_sources": [payroll] },
    ] });
    std::fs::write(home.join("config/domains.yaml"), domains.to_string()).unwrap();
    office.chat.toolbox().reload().await.unwrap();
    let office = with_model(office, &model);
    let granted = ["region", "amount"].map(str::to_owned).into();
    let caller = Caller {
        tools: Some(["todo.*".to_owned()].into()),
        domains: Some(["shop".to_owned()].into()),
        tables: [("shop".to_owned(), granted)].into(),
        administrator: false,
        ..Caller::owner(user())
    };
    office.fixture.grants.set(user(), Ok(caller.clone()));
    let said = Turn {
        caller,
        ..turn("bitte sag mir doch einmal wie es um alles steht und was der Norden macht", None)
    };
    let reply = office.chat.say(&said, &|_| {}).await.unwrap();
    eprintln!("{reply:#?}");
    let prompts = model.prompts();
    assert!(prompts.len() >= 2, "{prompts:?}");
    let all = serde_json::to_string(&prompts).unwrap();
    for canary in [
        "CANARYBLOCKED",
        "CANARYVALUE",
        "CANARYCOLUMN",
        "CANARYPERSON",
        "CANARYPAYROLL",
        "CANARYSALARIES",
        "77777",
    ] {
        assert!(!all.contains(canary), "{canary} is in a prompt");
    }
    assert!(
        !prompts.iter().flat_map(offered).any(|name| name.starts_with("crm")),
        "tools of others are not offered"
    );
    // What is granted is there.
    assert!(all.contains("30") && reply.response.answer == "North made 30.", "{}", reply.response.answer);
}
