//! Conversations about data: a question has the same answer and the same confidence in `ask` and in
//! a chat, and a short message goes on from the last answer.

use crate::talks::Office;
use crate::toolbox::Shop;
use crate::{Fixture, ask, retail, user};
use serde_json::json;
use std::sync::Arc;
use steward_domain::{Certainty, ConversationId};
use steward_policy::Caller;
use steward_runtime::ask::Ask;
use steward_runtime::converse::{ChatService, Limits, Outcome, Reply, Turn};

struct Talk {
    fixture: Fixture,
    chat: ChatService,
}

impl Talk {
    /// Data and no application.
    async fn open() -> Self {
        let fixture = Fixture::new();
        let toolbox = Shop::toolbox(&fixture).await;
        Self { chat: ChatService::new(Arc::new(toolbox), Limits::default()), fixture }
    }

    async fn say(&self, conversation: Option<ConversationId>, said: &str, data: &[String]) -> Reply {
        say(&self.chat, conversation, said, data).await
    }

    async fn ask(&self, question: &str, data: &[String]) -> serde_json::Value {
        self.fixture.ask(ask(question, data)).await.json()
    }
}

async fn say(chat: &ChatService, conversation: Option<ConversationId>, said: &str, data: &[String]) -> Reply {
    let caller = Caller::owner(user());
    let turn = Turn { said: said.to_owned(), conversation, caller, data: data.to_vec(), choice: None };
    let reply = chat.say(&turn, &|_| {}).await.unwrap();
    eprintln!("› {said}\n{:?}: {}", reply.outcome, reply.response.answer);
    reply
}

/// The first table of the analysis, as JSON rows.
fn rows(reply: &Reply) -> serde_json::Value {
    reply.json()["analyses"][0]["tables"][0]["rows"].clone()
}

#[tokio::test]
async fn chat_and_ask_have_one_confidence() {
    let talk = Talk::open().await;
    let data = [retail("sales.csv")];
    for question in [
        "total amount by state in 2021",
        "how many open orders are there?",
        "total amount by month",
        "average rating by category",
        "correlation between discount and quantity",
    ] {
        let asked = talk.ask(question, &data).await;
        let reply = talk.say(None, question, &data).await;
        let said = reply.json();
        let is_answered = matches!(reply.outcome, Outcome::Answered | Outcome::Partial);
        assert_eq!(said["confidence"], asked["confidence"], "{question}: {said:#}");
        if is_answered {
            assert_eq!(said["confidence_score"], asked["confidence_score"], "{question}");
            assert_eq!(said["unexplained"], asked["unexplained"], "{question}");
            let unused = asked["unexplained"].as_array().is_some_and(|words| !words.is_empty());
            assert!(!unused || reply.response.confidence != Certainty::High, "{question}");
        }
    }
}

#[tokio::test]
async fn a_short_message_goes_on_from_the_last_answer() {
    let talk = Talk::open().await;
    let data = [retail("sales.csv")];
    let first = talk.say(None, "total amount by month", &data).await;
    let id = Some(first.conversation_id);
    assert_eq!(rows(&first).as_array().unwrap().len(), 36);
    for said in [
        "only 2022",
        "only Texas",
        "by category",
        "as a bar chart",
        "why did it drop in February?",
        "forecast next quarter",
        "how many are there?",
        "top 3",
    ] {
        let reply = talk.say(id, said, &[]).await;
        assert_eq!(reply.outcome, Outcome::Answered, "{said}: {}", reply.response.answer);
        assert_eq!(reply.analyses.len(), 1, "{said}");
        assert_ne!(reply.response.confidence, Certainty::High, "{said}");
        if said == "as a bar chart" {
            assert_eq!(reply.json()["analyses"][0]["charts"][0]["kind"], "bar");
        }
    }
    // Small talk in between changes nothing.
    let thanks = talk.say(id, "thanks", &[]).await;
    assert_eq!(thanks.outcome, Outcome::Chat, "{}", thanks.response.answer);
    let reply = talk.say(id, "only California", &[]).await;
    assert_eq!(reply.outcome, Outcome::Answered, "{}", reply.response.answer);
    assert!(reply.json()["analyses"][0]["sql"][0]["sql"].as_str().unwrap().contains("California"));
}

#[tokio::test]
async fn another_value_replaces_the_one_before() {
    let talk = Talk::open().await;
    let path = talk.fixture.folder.path().join("orders.csv");
    let mut text = String::from("order_id,channel,amount\n");
    for at in 0..60 {
        let channel = ["web", "app", "store"][at % 3];
        text.push_str(&format!("{at},{channel},{}\n", 10 + at % 3));
    }
    std::fs::write(&path, text).unwrap();
    let data = [path.display().to_string()];
    let id = Some(talk.say(None, "total amount by channel", &data).await.conversation_id);
    let web = talk.say(id, "only web orders", &[]).await;
    assert!(web.response.answer.contains("200"), "{}", web.response.answer);
    let app = talk.say(id, "and the app?", &[]).await;
    assert!(app.response.answer.contains("220"), "{}", app.response.answer);
    let unknown = talk.say(id, "only the moon", &[]).await;
    assert_ne!(unknown.response.confidence, Certainty::High);
    assert!(unknown.response.answer.contains("moon"), "{}", unknown.response.answer);
}

#[tokio::test]
async fn a_question_back_is_answered_by_number_ordinal_or_words() {
    let talk = Talk::open().await;
    let data = [retail("sales.csv"), retail("products.csv")];
    let question = "average price by category";
    let first = talk.fixture.ask(ask(question, &data)).await;
    let options = first.clarification.clone().expect("it asks which price is meant").options;
    let list = options.iter().position(|option| option.question.contains("list")).unwrap();
    for said in [format!("{}", list + 1), "list price".to_owned()] {
        let asked = talk.fixture.ask(ask(question, &data)).await;
        let answer = talk.fixture.ask(Ask { conversation: asked.conversation_id, ..ask(&said, &[]) }).await;
        assert!(answer.sql[0].sql.contains("list_price"), "{said}: {:?}", answer.sql);
        // The same in a chat.
        let id = Some(talk.say(None, question, &data).await.conversation_id);
        let reply = talk.say(id, &said, &[]).await;
        assert_eq!(reply.outcome, Outcome::Answered, "{said}: {}", reply.response.answer);
        assert!(reply.analyses[0].sql[0].sql.contains("list_price"), "{said}");
    }
}

#[tokio::test]
async fn requests_to_tools_keep_their_way_beside_data() {
    let office = Office::todo().await;
    let data = [retail("sales.csv")];
    let id = Some(say(&office.chat, None, "total amount by month", &data).await.conversation_id);
    let reply = say(&office.chat, id, "only 2022", &[]).await;
    assert_eq!(reply.analyses.len(), 1, "{}", reply.response.answer);
    let reply = say(&office.chat, id, "add a task Call the bank", &[]).await;
    assert_eq!(reply.steps[0].tool.as_deref(), Some("todo.create_task"), "{}", reply.response.answer);
    let tasks = office.look("todo.list_tasks", json!({})).await;
    assert!(tasks.to_string().contains("Call the bank"), "{tasks}");
}

#[tokio::test]
async fn a_lookup_without_a_result_is_not_sure() {
    let office = Office::todo().await;
    for said in ["find companies named Zzyxq", "list tasks of the project zzyxq"] {
        let reply = office.say(None, said).await;
        assert_ne!(reply.response.confidence, Certainty::High, "{said}: {}", reply.response.answer);
    }
}
