//! Conversations in threads: what is remembered, asked back, decided and shown.

use super::office::Office;
use serde_json::{Value as Json, json};
use steward_domain::{TaskStatus, UserId};
use steward_store::{ConversationFilter, Page, Scope, TaskFilter};

fn reply(user: &str, thread: &str, text: &str) -> Json {
    json!({ "type": "message", "user": user, "channel": "C1", "thread_ts": thread, "text": text })
}

#[tokio::test]
async fn a_thread_is_one_conversation_also_after_a_restart() {
    let mut office = Office::open().await;
    let first = json!({ "type": "app_mention", "user": "UANA", "channel": "C1", "text": "<@UBOT> show my \
        open tasks", "ts": "100.5" });
    let first = office.envelope(first);
    assert_eq!(office.event(&first).await, 200);
    office.slack.idle().await;
    let list = office.fake.last();
    assert_eq!(list.thread, "100.5", "the answer begins a thread");
    assert!(list.all().contains("Buy milk") && list.all().contains("```"), "{}", list.all());
    assert!(list.all().contains("Sources:") && list.all().contains("confidence"), "{}", list.all());
    assert!(list.before.iter().any(|text| text.starts_with("Working on it")), "{:?}", list.before);
    // In the thread no mention is needed.
    assert_eq!(office.event(&office.envelope(reply("UANA", "100.5", "mark the first one done"))).await, 200);
    office.slack.idle().await;
    assert_eq!(office.status(1).await, "done", "{}", office.fake.last().text);

    office.restart().await;
    let before = office.fake.posts().len();
    assert_eq!(office.event(&first).await, 200);
    office.slack.idle().await;
    assert_eq!(office.fake.posts().len(), before, "what the process before took is not taken again");
    assert_eq!(office.event(&office.envelope(reply("UANA", "100.5", "delete it"))).await, 200);
    office.slack.idle().await;
    let asked = office.fake.last();
    assert!(asked.text.contains("Buy milk"), "it is still the one of before: {}", asked.text);
    office.press("UANA", &asked, "Delete task 1 “Buy milk”").await;
    assert!(office.task(1).await.is_none() && office.task(2).await.is_some());
    let scope = Scope::User(UserId::new("ana").unwrap());
    let store = &office.chat.toolbox().app().store;
    let talks = store.conversations(&scope, ConversationFilter::default(), Page::first(10)).await.unwrap();
    assert_eq!(talks.len(), 1);
    assert_eq!(store.history(&scope, talks[0].id, Page::first(20)).await.unwrap().len(), 8);
    assert_eq!(talks[0].metadata["slack"]["place"]["thread"], "100.5");
}

#[tokio::test]
async fn what_is_said_in_a_hurry_is_taken_in_its_order() {
    let office = Office::open().await;
    office.fake.hold();
    for text in ["show my open tasks", "mark the first one done"] {
        let event =
            json!({ "type": "message", "channel_type": "im", "channel": "D1", "user": "UANA", "text": text });
        assert_eq!(office.event(&office.envelope(event)).await, 200);
    }
    office.fake.let_through();
    office.slack.idle().await;
    let posts = office.fake.posts();
    assert!(posts.len() == 2 && posts[0].all().contains("Call the dentist"), "{posts:#?}");
    assert_eq!(office.status(1).await, "done", "{}", posts[1].text);
}

#[tokio::test]
async fn threads_of_others_and_words_to_others_are_left_alone() {
    let office = Office::with(false, |_, _| {}).await;
    office.fake.write("C1", Some("7.7"), vec![json!({ "user": "UBOB", "ts": "7.7", "text": "lunch?" })]);
    for _ in 0..2 {
        assert_eq!(office.event(&office.envelope(reply("UANA", "7.7", "hello"))).await, 200);
        office.slack.idle().await;
    }
    assert!(office.fake.posts().is_empty());
    assert_eq!(office.fake.calls("conversations.replies").len(), 1, "it is looked up once");
    // We wrote in this one, says Slack, though this process does not remember.
    office.fake.write("C1", Some("8.8"), vec![json!({ "user": "UBOT", "ts": "8.8", "text": "report" })]);
    assert_eq!(office.event(&office.envelope(reply("UANA", "8.8", "hello"))).await, 200);
    office.slack.idle().await;
    assert_eq!(office.fake.posts().len(), 1);
    assert_eq!(office.event(&office.envelope(reply("UANA", "8.8", "<@UBOB> look at this"))).await, 200);
    office.slack.idle().await;
    assert_eq!(office.fake.posts().len(), 1);
}

#[tokio::test]
async fn a_question_back_is_answered_by_the_one_who_was_asked() {
    let office = Office::open().await;
    let asked = office.mention("UBOB", None, "mark the report as done").await;
    let labels: Vec<String> = asked.buttons().into_iter().map(|(label, _)| label).collect();
    let budget = labels.iter().find(|label| label.contains("budget")).unwrap().clone();
    assert!(labels.len() >= 2, "{labels:?}");
    office.press("UANA", &asked, &budget).await;
    assert_eq!(office.status(4).await, "open");
    let whisper = office.whispers().pop().unwrap();
    assert!(whisper.get("user") == "UANA" && whisper.get("text").contains("<@UBOB>"), "{whisper:?}");
    office.press("UBOB", &asked, &budget).await;
    assert_eq!(office.status(4).await, "done", "{:#?}", office.fake.posts());
    assert_eq!(office.status(3).await, "open");
    let now = office.fake.posts().into_iter().find(|post| post.ts == asked.ts).unwrap();
    assert!(now.buttons().is_empty() && now.all().contains("<@UBOB> chose"), "{now:?}");
    assert_eq!(office.fake.last().thread, asked.thread, "it goes on in the thread");
}

#[tokio::test]
async fn an_old_yes_does_not_agree_to_a_new_question() {
    let office = Office::open().await;
    let first = office.mention("UANA", None, "delete task 2").await;
    assert!(first.all().contains("Shall I"), "{}", first.all());
    let thread = Some(first.thread.clone());
    let second = office.mention("UANA", thread.as_deref(), "delete task 3").await;
    office.press("UANA", &first, "Delete task 2 “Call the dentist”").await;
    assert!(office.task(2).await.is_some() && office.task(3).await.is_some());
    assert!(office.whispers().pop().unwrap().get("text").contains("no longer open"));
    office.press("UANA", &second, "Delete task 3 “Write the quarterly report”").await;
    assert!(office.task(2).await.is_some() && office.task(3).await.is_none());
    // Pressed again it does nothing more.
    let posts = office.fake.posts().len();
    office.press("UANA", &second, "Delete task 3 “Write the quarterly report”").await;
    assert_eq!(office.fake.posts().len(), posts);
}

#[tokio::test]
async fn calls_that_wait_are_decided_by_those_who_may() {
    let office = Office::open().await;
    office.mention("UBOB", None, "delete task 2").await;
    let posts = office.fake.posts();
    let shown = posts.iter().find(|post| post.text.contains("Approval needed")).expect("it waits");
    assert!(
        shown.all().contains("todo.delete_task") && shown.all().contains("\\\"id\\\": 2"),
        "{}",
        shown.all()
    );
    for stranger in ["UBOB", "UEVE"] {
        let before = office.whispers().len();
        office.press(stranger, shown, "Approve").await;
        assert_eq!(office.whispers().len(), before + 1);
        assert_eq!(office.whispers().pop().unwrap().get("user"), stranger);
        assert!(office.task(2).await.is_some());
    }
    // A button that names another call than the one shown decides nothing.
    let mut other = shown.clone();
    let forged = other.blocks.to_string().replace("digest\\\":\\\"", "digest\\\":\\\"0");
    other.blocks = serde_json::from_str(&forged).unwrap();
    other.ts = "1.1".to_owned();
    office.press("UANA", &other, "Approve").await;
    assert!(office.task(2).await.is_some());

    office.press("UANA", shown, "Approve").await;
    assert!(office.task(2).await.is_none(), "{:#?}", office.fake.posts());
    let now = office.fake.posts().into_iter().find(|post| post.ts == shown.ts).unwrap();
    assert!(now.buttons().is_empty() && now.all().contains("approved by <@UANA>"), "{now:?}");
    // Once decided it stays decided.
    office.press("UANA", shown, "Reject").await;
    let now = office.fake.posts().into_iter().find(|post| post.ts == shown.ts).unwrap();
    assert!(now.text.contains("no longer waits"), "{now:?}");

    office.mention("UBOB", None, "delete task 3").await;
    let shown =
        office.fake.posts().into_iter().rev().find(|post| post.text.contains("Approval needed")).unwrap();
    office.press("UANA", &shown, "Reject").await;
    assert!(office.task(3).await.is_some());
    let scope = Scope::User(UserId::new("bob").unwrap());
    let store = &office.chat.toolbox().app().store;
    let rejected = TaskFilter { status: Some(TaskStatus::Rejected) };
    let rejected = store.tasks(&scope, rejected, Page::first(10)).await.unwrap();
    assert!(
        rejected
            .iter()
            .any(|task| task.error.as_ref().is_some_and(|why| why.contains("ana in Slack (UANA)")))
    );
}

#[tokio::test]
async fn a_thread_is_summarised_from_its_last_hundred_messages() {
    let office = Office::with(false, |_, _| {}).await;
    let said = |number: usize| {
        let text = match number {
            1 => "The very first message was about penguins.".to_owned(),
            240 => "We decided to ship the release on Friday, see <https://example.com/plan|the plan>."
                .to_owned(),
            241 => "Does anyone know who updates the changelog?".to_owned(),
            242 => "<@UANA> please send the invoice to Nordwind.".to_owned(),
            _ => format!("Progress report number {number} about the release."),
        };
        json!({ "user": if number.is_multiple_of(2) { "UANA" } else { "UBOB" }, "ts": format!("50.{number:06}"), "text": text })
    };
    let mut messages: Vec<Json> = (1..=249).map(said).collect();
    messages.push(json!({ "user": "UBOT", "ts": "50.900000", "text": "Working on it: elephants" }));
    office.fake.write("C1", Some("50.000001"), messages.clone());
    let told = office.mention("UBOB", Some("50.000001"), "summarise this thread").await.all();
    assert!(told.contains("We decided to ship the release on Friday"), "{told}");
    assert!(
        told.contains("who updates the changelog") && told.contains("@Ana please send the invoice"),
        "{told}"
    );
    assert!(
        told.contains("Ana (") && told.contains("Bob (") && told.contains("https://example.com/plan"),
        "{told}"
    );
    assert!(!told.contains("penguins") && !told.contains("elephants"), "{told}");
    assert!(told.contains("99 messages by") && told.contains("no more than 100"), "{told}");
    let pages = office.fake.calls("conversations.replies");
    assert_eq!(pages.len(), 3);
    assert!(pages.iter().all(|call| call.get("limit") == "100"));

    office.fake.write("C1", None, messages);
    let told = office.mention("UBOB", None, "summarise this channel").await.all();
    assert!(told.contains("We decided to ship") && !told.contains("penguins"), "{told}");
    assert_eq!(office.fake.calls("conversations.history").len(), 1);
}

#[tokio::test]
async fn a_chart_and_a_long_table_are_uploaded_to_the_thread() {
    let office = Office::with(false, |options, folder| {
        let mut text = "region,amount\n".to_owned();
        for number in 0..120 {
            text.push_str(&format!("Region {:02},{}\n", number % 30, 10 + number));
        }
        let path = folder.join("orders.csv");
        std::fs::write(&path, text).unwrap();
        options.data = vec![path.display().to_string()];
    })
    .await;
    let told =
        office.mention("UANA", None, "show the total amount of the orders per region as a bar chart").await;
    assert!(told.all().contains("orders"), "{}", told.all());
    let uploads = office.fake.uploads();
    assert!(uploads.iter().any(|bytes| bytes.starts_with(b"\x89PNG")), "{} files", uploads.len());
    let csv = uploads.iter().find(|bytes| bytes.starts_with(b"region")).expect("thirty rows are a file");
    assert_eq!(String::from_utf8_lossy(csv).lines().count(), 31);
    for done in office.fake.calls("files.completeUploadExternal") {
        assert_eq!((done.get("channel_id"), done.get("thread_ts")), ("C1", told.thread.as_str()));
    }
    let names: Vec<String> = office
        .fake
        .calls("files.getUploadURLExternal")
        .iter()
        .map(|call| call.get("filename").to_owned())
        .collect();
    assert!(
        names.iter().any(|name| name.ends_with(".png")) && names.iter().any(|name| name.ends_with(".csv")),
        "{names:?}"
    );
}

#[tokio::test]
async fn too_long_is_said_to_be_and_nothing_said_is_a_call_for_help() {
    let office = Office::with(false, |_, _| {}).await;
    let told = office.mention("UANA", None, &"long ".repeat(500)).await;
    assert!(told.text.contains("2000 characters"), "{}", told.text);
    let told = office.mention("UANA", None, "").await;
    assert!(!told.text.contains("Working on it"), "{}", told.text);
}
