//! The client against a small server on a loopback socket with prepared responses, including
//! faults.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use steward_models::{Message, Model, ModelError, OpenAi, Options, Request, Role, Secret};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const KEY: &str = "sk-very-secret-key";

/// What the server does with one request.
#[derive(Clone)]
enum Act {
    Say(u16, &'static str, String),
    Hang,
    Slam,
    Half,
    Raw(&'static [u8]),
    Flood,
}

fn ok(content: &str) -> Act {
    let body = json!({"model": "served", "choices": [{"message": {"content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3}});
    Act::Say(200, "", body.to_string())
}

fn error(status: u16, message: &str) -> Act {
    Act::Say(status, "", json!({"error": {"message": message}}).to_string())
}

struct Fake {
    url: String,
    seen: Arc<Mutex<Vec<(String, Value)>>>,
    _tasks: tokio::task::JoinSet<()>,
}

impl Fake {
    async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let (kept, mut tasks) = (Arc::clone(&seen), tokio::task::JoinSet::new());
        tasks.spawn(async move {
            for act in acts {
                let (mut socket, _) = listener.accept().await.unwrap();
                let request = read(&mut socket).await;
                kept.lock().unwrap().push(request);
                play(&mut socket, act).await;
            }
        });
        Self { url, seen, _tasks: tasks }
    }

    fn client(&self) -> OpenAi {
        let mut options = Options::new(self.url.clone(), "asked");
        options.api_key = Some(Secret::new(KEY));
        options.backoff = Duration::from_millis(5);
        OpenAi::new(options).unwrap()
    }

    fn bodies(&self) -> Vec<Value> {
        self.seen.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }
}

async fn read(socket: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0; 4096];
        let count = socket.read(&mut part).await.unwrap();
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return (head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null));
            }
        }
        assert!(count > 0, "half a request");
    }
}

async fn play(socket: &mut TcpStream, act: Act) {
    match act {
        Act::Say(status, headers, body) => {
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
                body.len()
            );
            let _gone = socket.write_all(format!("{head}{body}").as_bytes()).await;
            let _gone = socket.shutdown().await;
        }
        Act::Hang => tokio::time::sleep(Duration::from_secs(30)).await,
        Act::Slam => {}
        Act::Half => {
            drop(socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\"").await);
        }
        Act::Raw(bytes) => drop(socket.write_all(bytes).await),
        Act::Flood => {
            let _gone = socket.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").await;
            while socket.write_all(&[b' '; 65536]).await.is_ok() {}
        }
    }
}

fn request() -> Request {
    Request {
        messages: vec![Message::new(Role::System, "be brief"), Message::new(Role::User, "hello")],
        schema: None,
        max_tokens: 100,
        temperature: 0.1,
        timeout: Duration::from_secs(5),
    }
}

fn structured() -> Request {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false});
    Request { schema: Some(("my plan".to_owned(), schema)), ..request() }
}

#[tokio::test]
async fn a_plain_reply() {
    let fake = Fake::start(vec![ok("hi")]).await;
    let reply = fake.client().complete(&request()).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.json, reply.input_tokens, reply.output_tokens),
        ("hi", None, 7, 3)
    );
    assert_eq!(reply.model, "served");
    let (head, body) = fake.seen.lock().unwrap()[0].clone();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer sk-very-secret-key"), "{head}");
    assert_eq!(body["temperature"], 0.1);
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "be brief"}));
    assert!(body.get("response_format").is_none());
}

#[tokio::test]
async fn a_structured_reply() {
    let fake = Fake::start(vec![ok("Here: ```json\n{\"a\": 1}\n```")]).await;
    let reply = fake.client().complete(&structured()).await.unwrap();
    assert_eq!(reply.json, Some(json!({"a": 1})));
    let format = fake.bodies()[0]["response_format"].clone();
    assert_eq!(
        (&format["type"], &format["json_schema"]["name"], &format["json_schema"]["strict"]),
        (&json!("json_schema"), &json!("my_plan"), &json!(true))
    );
}

#[tokio::test]
async fn steps_back_and_remembers() {
    let fake = Fake::start(vec![
        error(400, "response_format not supported"),
        error(422, "no"),
        ok("so: {\"a\": 2}!"),
        ok("{\"a\": 3}"),
    ])
    .await;
    let client = fake.client();
    assert_eq!(client.complete(&structured()).await.unwrap().json, Some(json!({"a": 2})));
    assert_eq!(client.complete(&structured()).await.unwrap().json, Some(json!({"a": 3})));
    let bodies = fake.bodies();
    assert_eq!(bodies[1]["response_format"], json!({"type": "json_object"}));
    assert!(bodies[1]["messages"][2]["content"].as_str().unwrap().contains("\"required\""));
    assert!(bodies[2].get("response_format").is_none());
    // The second request uses the format that worked.
    assert!(bodies[3].get("response_format").is_none());
    assert_eq!(bodies.len(), 4);
}

#[tokio::test]
async fn adapts_names_of_limits() {
    let acts = vec![
        error(400, "Unsupported parameter: 'max_tokens', use 'max_completion_tokens'"),
        error(400, "temperature must be 1"),
        ok("hi"),
    ];
    let fake = Fake::start(acts).await;
    fake.client().complete(&request()).await.unwrap();
    let last = fake.bodies()[2].clone();
    assert_eq!(
        (last.get("max_tokens"), &last["max_completion_tokens"], last.get("temperature")),
        (None, &json!(100), None)
    );
}

#[tokio::test]
async fn tries_again_after_faults() {
    for fault in [
        error(429, "slow down"),
        error(500, "oops"),
        error(503, "x"),
        Act::Slam,
        Act::Half,
        Act::Raw(b"garbage\r\n\r\n"),
    ] {
        let fake = Fake::start(vec![fault.clone(), fault, ok("hi")]).await;
        assert_eq!(fake.client().complete(&request()).await.unwrap().text, "hi");
        assert_eq!(fake.bodies().len(), 3);
    }
}

#[tokio::test]
async fn gives_up_after_three() {
    let fake = Fake::start(vec![error(500, "a"), error(500, "b"), error(500, "c"), ok("hi")]).await;
    let failed = fake.client().complete(&request()).await.unwrap_err();
    assert!(matches!(&failed, ModelError::Server { status: 500, detail, .. } if detail == "c"), "{failed}");
    assert_eq!(fake.bodies().len(), 3);
    let fake = Fake::start(vec![error(429, "a"), error(429, "b"), error(429, "c")]).await;
    assert!(matches!(fake.client().complete(&request()).await, Err(ModelError::RateLimited { .. })));
}

#[tokio::test]
async fn honours_retry_after_up_to_a_bound() {
    let fake = Fake::start(vec![Act::Say(429, "retry-after: 1\r\n", String::new()), ok("hi")]).await;
    let started = tokio::time::Instant::now();
    fake.client().complete(&request()).await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(950));
    let fake = Fake::start(vec![Act::Say(429, "retry-after: 3600\r\n", String::new()), ok("hi")]).await;
    assert!(matches!(fake.client().complete(&request()).await, Err(ModelError::RateLimited { .. })));
    assert_eq!(fake.bodies().len(), 1);
}

#[tokio::test]
async fn time_is_bounded() {
    let fake = Fake::start(vec![Act::Hang]).await;
    let quick = Request { timeout: Duration::from_millis(200), ..request() };
    assert_eq!(fake.client().complete(&quick).await, Err(ModelError::Timeout { milliseconds: 200 }));
    // Waiting between attempts counts against the time limit.
    let fake = Fake::start(vec![Act::Say(503, "retry-after: 10\r\n", String::new())]).await;
    assert_eq!(fake.client().complete(&quick).await, Err(ModelError::Timeout { milliseconds: 200 }));
}

#[tokio::test]
async fn size_is_bounded() {
    let fake = Fake::start(vec![Act::Flood]).await;
    assert!(matches!(fake.client().complete(&request()).await, Err(ModelError::TooLarge { .. })));
}

/// Checks the error.
type Right = fn(&ModelError) -> bool;

#[tokio::test]
async fn clear_errors() {
    let cases: Vec<(Act, Right)> = vec![
        (error(401, "Incorrect API key provided: sk-very-secret-key"), |e| matches!(e, ModelError::Unauthorised { .. })),
        (error(403, "no"), |e| matches!(e, ModelError::Unauthorised { .. })),
        (error(404, "The model `asked` does not exist"), |e| matches!(e, ModelError::NoModel { .. })),
        (error(404, "page not found"), |e| matches!(e, ModelError::Refused { status: 404, .. })),
        (error(413, "too big"), |e| matches!(e, ModelError::Refused { status: 413, .. })),
        (error(429, "insufficient_quota"), |e| matches!(e, ModelError::RateLimited { .. })),
        (Act::Say(302, "location: http://127.0.0.1:1/\r\n", String::new()), |e| matches!(e, ModelError::Refused { status: 302, .. })),
        (Act::Say(200, "", "<html>".into()), |e| matches!(e, ModelError::Garbled { .. })),
        (Act::Say(200, "", "{}".into()), |e| matches!(e, ModelError::Garbled { .. })),
        (
            Act::Say(200, "", json!({"error": "broken"}).to_string()),
            |e| matches!(e, ModelError::Garbled { detail, .. } if detail == "broken"),
        ),
        (ok("I would rather not"), |e| matches!(e, ModelError::NotJson { .. })),
        (ok("{\"b\": 1}"), |e| matches!(e, ModelError::NotJson { detail } if detail.contains("\"a\""))),
        (Act::Say(200, "", json!({"choices": [{"message": {"content": "{\"a\":"}, "finish_reason": "length"}]}).to_string()), |e| {
            matches!(e, ModelError::CutOff { max_tokens: 100 })
        }),
        (
            Act::Say(200, "", json!({"choices": [{"message": {"content": null, "refusal": "no"}, "finish_reason": "stop"}]}).to_string()),
            |e| matches!(e, ModelError::Declined { .. }),
        ),
    ];
    for (act, right) in cases {
        let fake = Fake::start(vec![act]).await;
        let failed = fake.client().complete(&structured()).await.unwrap_err();
        assert!(right(&failed), "{failed:?}");
        assert!(!format!("{failed} {failed:?}").contains(KEY), "{failed}");
        assert_eq!(fake.bodies().len(), 1, "{failed}");
    }
}

#[tokio::test]
async fn nobody_there() {
    let mut options = Options::new("http://127.0.0.1:1/v1", "m");
    options.backoff = Duration::from_millis(1);
    let failed = OpenAi::new(options).unwrap().complete(&request()).await.unwrap_err();
    assert!(
        matches!(&failed, ModelError::Unreachable { detail, .. } if detail.contains("refused")),
        "{failed}"
    );
}

#[tokio::test]
async fn addresses_and_secrets() {
    for url in ["", "x", "ftp://h/v1", "http://", "/v1", "https://u:p@h/v1"] {
        assert!(matches!(OpenAi::new(Options::new(url, "m")), Err(ModelError::Address { .. })), "{url}");
    }
    for url in ["http://h/v1/", "https://h/v1/chat/completions"] {
        let mut options = Options::new(url, "m");
        options.api_key = Some(Secret::new(KEY));
        let client = OpenAi::new(options.clone()).unwrap();
        assert!(!format!("{client:?} {options:?}").contains("secret"), "{client:?}");
        assert!(format!("{client:?}").contains("/v1/chat/completions"));
        assert!(!format!("{client:?}").contains("completions/chat"));
    }
    let mut options = Options::new("http://h/v1", "m");
    options.api_key = Some(Secret::new("a\nb"));
    assert!(matches!(OpenAi::new(options), Err(ModelError::Unauthorised { .. })));
}
