//! Socket Mode against a server that speaks it: what is acknowledged, and how it comes back.

use super::fake::BOT;
use super::office::Office;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value as Json, json};
use std::time::Duration;
use steward_server::slack;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};
use tokio_util::sync::CancellationToken;

type Socket = WebSocketStream<TcpStream>;

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("it takes too long")
}

async fn accept(listener: &TcpListener) -> Socket {
    let (stream, _) = soon(listener.accept()).await.unwrap();
    let mut socket = soon(accept_async(stream)).await.unwrap();
    send(&mut socket, json!({ "type": "hello", "num_connections": 1 })).await;
    socket
}

async fn send(socket: &mut Socket, message: Json) {
    socket.send(Message::text(message.to_string())).await.unwrap();
}

async fn acknowledged(socket: &mut Socket) -> String {
    let Message::Text(text) = soon(socket.next()).await.unwrap().unwrap() else {
        panic!("an acknowledgement is text")
    };
    let answer: Json = serde_json::from_str(&text).unwrap();
    answer["envelope_id"].as_str().unwrap().to_owned()
}

fn envelope(id: &str, kind: &str, payload: &Json) -> Json {
    json!({ "type": kind, "envelope_id": id, "accepts_response_payload": false, "payload": payload })
}

#[tokio::test]
async fn a_socket_acknowledges_and_comes_back() {
    let office = Office::with(false, |_, _| {}).await;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    office.fake.socket_at(format!("ws://{}/link?ticket=1", listener.local_addr().unwrap()));
    let stop = CancellationToken::new();
    let running = tokio::spawn(slack::socket(office.slack.clone(), stop.clone()));

    let direct = |text: &str| json!({ "type": "message", "channel_type": "im", "channel": "D1", "user": "UANA", "text": text });
    let first = office.envelope(direct("hello"));
    let mut socket = accept(&listener).await;
    send(&mut socket, envelope("e1", "events_api", &first)).await;
    assert_eq!(acknowledged(&mut socket).await, "e1");
    // What nobody here knows is acknowledged too, so that it does not come again and again.
    send(&mut socket, envelope("e2", "slash_commands", &json!({}))).await;
    assert_eq!(acknowledged(&mut socket).await, "e2");
    send(&mut socket, json!({ "type": "disconnect", "reason": "refresh_requested" })).await;

    // It comes back at once, and knows what it took.
    let mut socket = accept(&listener).await;
    send(&mut socket, envelope("e3", "events_api", &first)).await;
    assert_eq!(acknowledged(&mut socket).await, "e3");
    drop(socket);

    // A connection that breaks is opened anew, also when Slack does not answer for a while.
    office.fake.fail("apps.connections.open", &[(500, 0), (500, 0)]);
    let mut socket = accept(&listener).await;
    send(&mut socket, envelope("e4", "events_api", &office.envelope(direct("thanks")))).await;
    assert_eq!(acknowledged(&mut socket).await, "e4");
    let press = json!({ "type": "block_actions", "user": { "id": "UANA", "team_id": "T1" }, "actions": [] });
    send(&mut socket, envelope("e5", "interactive", &press)).await;
    assert_eq!(acknowledged(&mut socket).await, "e5");
    office.slack.idle().await;
    let texts: Vec<String> = office.fake.posts().into_iter().map(|post| post.text).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("Hello!") && texts[1].starts_with("You are welcome"), "{texts:?}");
    assert!(office.fake.calls("apps.connections.open").iter().all(|call| call.token == "Bearer xapp-test"));
    assert!(office.fake.calls("auth.test").is_empty(), "the envelope says who we are: {BOT}");

    stop.cancel();
    soon(running).await.unwrap().unwrap();
    office.slack.close(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn without_an_app_token_there_is_no_socket() {
    let office = Office::with(false, |options, _| options.app_token = None).await;
    let error = slack::socket(office.slack.clone(), CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("STEWARD_SLACK_APP_TOKEN"), "{error}");
}
