//! The same against an emulator of Slack that is not ours.

use super::office::Office;
use serde_json::{Value as Json, json};
use std::time::Duration;
use steward_server::slack::Secret;
use steward_tools::process::{Running, Spec, start};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;

/// Node and the emulator's command, from `STEWARD_SLACK_EMULATOR="<node> <cli.js>"`. Missing is a
/// failure unless it was asked to be left out.
fn emulator() -> Option<(String, String)> {
    if std::env::var("STEWARD_SKIP").is_ok_and(|skip| skip.split([',', ' ']).any(|name| name == "slack")) {
        println!("skipped: slack (STEWARD_SKIP)");
        return None;
    }
    let set = std::env::var("STEWARD_SLACK_EMULATOR").expect(
        "set STEWARD_SLACK_EMULATOR to '<node, 22 or newer> <…/emulate/dist/index.js>' (npm emulate@0.12.2), \
            or STEWARD_SKIP=slack",
    );
    let (node, cli) = set.split_once(' ').expect("STEWARD_SLACK_EMULATOR is '<node> <cli.js>'");
    Some((node.to_owned(), cli.trim().to_owned()))
}

async fn start_emulator(node: String, cli: String, folder: std::path::PathBuf) -> (Running, String) {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let args = [cli, "start".into(), "--service".into(), "slack".into(), "--port".into(), port.to_string()];
    let spec = Spec { program: node, args: args.to_vec(), folder: Some(folder), ..Spec::default() };
    let mut running = start(&spec).unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let ready = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("Ready") {
                return true;
            }
        }
        false
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(30), ready).await.unwrap(),
        "the emulator did not start"
    );
    (running, format!("http://127.0.0.1:{port}/api"))
}

/// Calls a method of the emulator past the door.
async fn call(base: &str, method: &str, form: &[(&str, &str)]) -> Json {
    let client = steward_models::connection(false).unwrap();
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = client.post(format!("{base}/{method}")).header("authorization", "Bearer test_token_admin");
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
    let answer: Json = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer["ok"], true, "{method}: {answer}");
    answer
}

#[tokio::test]
async fn a_thread_in_an_emulated_slack_is_answered() {
    let Some((node, cli)) = emulator() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (running, base) = start_emulator(node, cli, folder.path().to_owned()).await;
    let office = Office::with(true, |options, _| {
        options.base_url = base.clone();
        options.bot_token = Secret::new("test_token_admin");
    })
    .await;
    let list = call(&base, "conversations.list", &[]).await;
    let channel = list["channels"][0]["id"].as_str().unwrap();
    let said = [("channel", channel), ("text", "We decided to ship on Friday. Who tells the customers?")];
    let first = call(&base, "chat.postMessage", &said).await;
    let thread = first["ts"].as_str().unwrap();
    for (number, text) in ["show my open tasks", "mark the first one done"].into_iter().enumerate() {
        let mut envelope = office
            .envelope(json!({ "type": "app_mention", "user": "UANA", "channel": channel,
            "thread_ts": thread, "text": format!("<@UBOT> {text}"), "ts": format!("99.{number}") }));
        envelope["authorizations"] = Json::Null;
        assert_eq!(office.event(&envelope).await, 200);
        office.slack.idle().await;
    }
    let replies = call(&base, "conversations.replies", &[("channel", channel), ("ts", thread)]).await;
    let texts: Vec<&str> = replies["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["text"].as_str())
        .collect();
    assert_eq!(texts.len(), 3, "{replies:#}");
    assert!(texts[1].contains("tasks") && !texts[2].contains("Working on it"), "{texts:?}");
    assert_eq!(office.status(1).await, "done");
    running.stop(Duration::from_secs(2)).await;
}
