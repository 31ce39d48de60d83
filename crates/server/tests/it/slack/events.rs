//! Who is let in, what is taken once, and what Slack's own limits do.

use super::fake::BOT;
use super::office::{Office, SIGNING};
use serde_json::{Value as Json, json};
use steward_domain::{ConversationStatus, UserId};
use steward_server::slack::{Options, Secret};
use steward_store::{ConversationFilter, Page, Scope};

fn direct(user: &str, text: &str) -> Json {
    json!({ "type": "message", "channel_type": "im", "channel": "D1", "user": user, "text": text })
}

#[tokio::test]
async fn only_what_slack_signed_within_five_minutes_is_taken() {
    let office = Office::with(false, |_, _| {}).await;
    let body = json!({ "type": "url_verification", "challenge": "abc" }).to_string();
    let (status, answer) = office.send("/slack/events", body.clone(), 0, SIGNING).await;
    assert_eq!(
        (status, serde_json::from_str::<Json>(&answer).unwrap()),
        (200, json!({ "challenge": "abc" }))
    );
    for (shift, secret, status) in
        [(-290, SIGNING, 200), (-310, SIGNING, 401), (310, SIGNING, 401), (0, "wrong", 401), (0, "", 401)]
    {
        assert_eq!(
            office.send("/slack/events", body.clone(), shift, secret).await.0,
            status,
            "{shift} {secret}"
        );
    }
    assert_eq!(office.unsigned(&body).await, 401);
    assert_eq!(office.send("/slack/interactions", "payload=%7B%7D".into(), 0, "wrong").await.0, 401);
    assert_eq!(office.send("/slack/interactions", "nothing=1".into(), 0, SIGNING).await.0, 400);
    assert_eq!(office.send("/slack/events", "no json".into(), 0, SIGNING).await.0, 400);
    assert_eq!(office.send("/slack/events", "x".repeat(1024 * 1024 + 1), 0, SIGNING).await.0, 413);
    office.slack.idle().await;
    assert!(office.fake.posts().is_empty());
}

#[tokio::test]
async fn without_a_signing_secret_nothing_comes_in_over_http() {
    let office = Office::with(false, |options, _| options.signing_secret = None).await;
    let envelope = office.envelope(direct("UANA", "hello"));
    assert_eq!(office.event(&envelope).await, 404);
    office.slack.idle().await;
    assert!(office.fake.posts().is_empty());
}

#[tokio::test]
async fn an_event_is_taken_once_however_often_it_comes() {
    let office = Office::with(false, |_, _| {}).await;
    let said = json!({ "type": "app_mention", "user": "UANA", "channel": "C1", "text": format!("<@{BOT}> \
        hello"), "ts": "5.5" });
    let mention = office.envelope(said.clone());
    // The same mention also comes as a message of the channel, under another id.
    let mut twin = said;
    twin["type"] = "message".into();
    let twin = office.envelope(twin);
    for envelope in [&mention, &mention, &twin, &mention] {
        assert_eq!(office.event(envelope).await, 200);
    }
    office.slack.idle().await;
    assert_eq!(office.fake.posts().len(), 1, "{:#?}", office.fake.posts());
    // What we write ourselves, what others' programs write and what was changed is not read.
    for mut event in [direct(BOT, "hello"), direct("UANA", "hello"), direct("UANA", "hello")] {
        event["subtype"] = if event["user"] == BOT { Json::Null } else { "message_changed".into() };
        assert_eq!(office.event(&office.envelope(event)).await, 200);
    }
    office.slack.idle().await;
    assert_eq!(office.fake.posts().len(), 1);
}

#[tokio::test]
async fn slack_is_answered_before_the_work_is_done() {
    let office = Office::with(false, |_, _| {}).await;
    office.fake.hold();
    assert_eq!(office.event(&office.envelope(direct("UANA", "hello"))).await, 200);
    assert!(office.fake.posts().is_empty());
    office.fake.let_through();
    office.slack.idle().await;
    let post = office.fake.last();
    assert_eq!((post.channel.as_str(), post.thread.as_str()), ("D1", ""), "a direct message needs no thread");
    assert!(post.text.starts_with("Hello!") && post.before[0].starts_with("Working on it"), "{post:?}");
}

#[tokio::test]
async fn strangers_are_told_whom_to_ask_and_nothing_is_run() {
    let office = Office::with(false, |_, _| {}).await;
    let mut connected = direct("UANA", "show my tasks");
    connected["team"] = "T2".into();
    for event in [direct("UEVE", "show my tasks"), connected] {
        assert_eq!(office.event(&office.envelope(event)).await, 200);
        office.slack.idle().await;
        let post = office.fake.last();
        assert!(post.text.contains("do not know you") && post.text.contains("<@UANA>"), "{}", post.text);
    }
    // In a thread that nobody put to us, strangers are left alone.
    let event =
        json!({ "type": "message", "user": "UEVE", "channel": "C1", "thread_ts": "1.1", "text": "hi all" });
    assert_eq!(office.event(&office.envelope(event)).await, 200);
    office.slack.idle().await;
    assert_eq!(office.fake.posts().len(), 2);
    let all = office.chat.toolbox().app().store.conversations(
        &Scope::System,
        ConversationFilter::default(),
        Page::first(10),
    );
    assert!(all.await.unwrap().is_empty());
}

#[tokio::test]
async fn when_slack_asks_to_wait_it_waits_and_not_for_ever() {
    let office = Office::with(false, |_, _| {}).await;
    office.fake.fail("chat.postMessage", &[(429, 0), (429, 0)]);
    office.fake.fail("chat.update", &[(503, 0)]);
    assert_eq!(office.event(&office.envelope(direct("UANA", "hello"))).await, 200);
    office.slack.idle().await;
    assert!(office.fake.last().text.starts_with("Hello!"));
    assert_eq!(office.fake.calls("chat.postMessage").len(), 3);
    // A post whose outcome is not known is not sent again, and what nobody can be told about is not
    // run.
    office.fake.fail("chat.postMessage", &[(503, 0)]);
    assert_eq!(office.event(&office.envelope(direct("UBOB", "hello"))).await, 200);
    office.slack.idle().await;
    assert_eq!(office.fake.calls("chat.postMessage").len(), 4);
    // It gives up after four attempts, and at once when the pause is too long.
    office.fake.fail("chat.postMessage", &[(429, 0), (429, 0), (429, 0), (429, 0)]);
    assert_eq!(office.event(&office.envelope(direct("UBOB", "hello"))).await, 200);
    office.slack.idle().await;
    assert_eq!(office.fake.calls("chat.postMessage").len(), 8);
    office.fake.fail("chat.postMessage", &[(429, 3600)]);
    assert_eq!(office.event(&office.envelope(direct("UBOB", "hello"))).await, 200);
    office.slack.idle().await;
    assert_eq!(office.fake.calls("chat.postMessage").len(), 9);
    let scope = Scope::User(UserId::new("bob").unwrap());
    let store = &office.chat.toolbox().app().store;
    let begun = store.conversations(&scope, ConversationFilter::default(), Page::first(10)).await.unwrap();
    for conversation in begun {
        assert_eq!(conversation.status, ConversationStatus::Active);
        let history = store.history(&scope, conversation.id, Page::first(10)).await.unwrap();
        assert!(history.is_empty(), "{history:?}");
    }
    assert!(office.fake.calls("chat.postMessage").iter().all(|call| call.token == "Bearer xoxb-test"));
}

#[test]
fn the_variables_say_how_it_is_set_up() {
    let of = |set: &'static [(&'static str, &'static str)]| {
        Options::from_variables(move |name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    };
    assert!(of(&[]).unwrap().is_none());
    assert!(of(&[("STEWARD_SLACK_BOT_TOKEN", "  ")]).unwrap().is_none());
    let half = of(&[("STEWARD_SLACK_BOT_TOKEN", "xoxb-1")]).unwrap_err();
    assert!(half.to_string().contains("STEWARD_SLACK_SIGNING_SECRET"), "{half}");
    let whole =
        of(&[("STEWARD_SLACK_BOT_TOKEN", "xoxb-1"), ("STEWARD_SLACK_APP_TOKEN", "xapp-1")]).unwrap().unwrap();
    assert_eq!(whole.app_token, Some(Secret::new("xapp-1")));
    assert!(!format!("{whole:?}").contains("xoxb-1") && !format!("{whole:?}").contains("xapp-1"));
}
