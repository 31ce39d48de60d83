//! A small server over pipes, for the official inspector and for measuring: the real one is
//! `steward mcp`.
//!
//! With a port as its argument it serves the same over HTTP on loopback, until its input is closed.

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::io;
use std::sync::Arc;
use steward_domain::{ErrorClass, JsonObject};
use steward_server::mcp::{
    Argument, Caller, Changes, Failure, Gateway, Message, Offered, Options, Page, Prompt, Resource,
    ResourceBody, Session, Speaker, serve_http, serve_stdio,
};
use steward_tools::{Content, Output};
use tokio::io::AsyncReadExt as _;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

struct Sums {
    tools: Vec<Offered>,
    lists: watch::Sender<u64>,
    updated: broadcast::Sender<Arc<str>>,
}

fn object(value: &Json) -> Arc<JsonObject> {
    Arc::new(value.as_object().cloned().unwrap_or_default())
}

impl Sums {
    fn new() -> Self {
        let numbers = json!({"type": "object", "required": ["a", "b"],
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}}});
        let sum = json!({"type": "object", "required": ["sum"], "properties": {"sum": {"type": "number"}}});
        let mut add = Offered::new("add", "Adds two numbers and gives their sum back", object(&numbers));
        add.output_schema = Some(object(&sum));
        let words =
            json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}});
        let echo = Offered::new("echo", "Gives the text back as it came", object(&words));
        Self { tools: vec![add, echo], lists: watch::Sender::new(0), updated: broadcast::Sender::new(1) }
    }
}

#[async_trait]
impl Gateway for Sums {
    async fn tools(&self, _: &Caller) -> Vec<Offered> {
        self.tools.clone()
    }

    async fn call(&self, name: &str, arguments: JsonObject, _: &Session) -> Result<Output, Failure> {
        let number = |name: &str| arguments.get(name).and_then(Json::as_f64);
        match name {
            "add" => match (number("a"), number("b")) {
                (Some(a), Some(b)) => Ok(Output::json(json!({"sum": a + b}))),
                _ => Err(Failure::tool("TOL004", "a and b must be numbers", ErrorClass::User)),
            },
            "echo" => match arguments.get("text").and_then(Json::as_str) {
                Some(text) => Ok(Output::text(text)),
                None => Err(Failure::tool("TOL004", "text must be there", ErrorClass::User)),
            },
            _ => Err(Failure::unknown(format!("there is no tool {name}"))),
        }
    }

    async fn resources(&self, _: Option<&str>, _: &Caller) -> Result<Page<Resource>, Failure> {
        let uri = "memo://welcome".to_owned();
        let memo = Resource {
            uri,
            name: "welcome".into(),
            mime_type: Some("text/plain".into()),
            ..Resource::default()
        };
        Ok(Page { items: vec![memo], next: None })
    }

    async fn read(&self, uri: &str, _: &Session) -> Result<Vec<ResourceBody>, Failure> {
        if uri != "memo://welcome" {
            return Err(Failure::unknown(format!("there is no resource {uri}")));
        }
        Ok(vec![ResourceBody::Text {
            uri: uri.into(),
            mime_type: Some("text/plain".into()),
            text: "Welcome.".into(),
        }])
    }

    async fn prompts(&self, _: &Caller) -> Vec<Prompt> {
        let who = Argument { name: "who".into(), description: Some("Whom to greet".into()), required: true };
        vec![Prompt {
            name: "greet".into(),
            title: None,
            description: Some("Greets".into()),
            arguments: vec![who],
        }]
    }

    async fn prompt(&self, name: &str, arguments: JsonObject, _: &Session) -> Result<Vec<Message>, Failure> {
        if name != "greet" {
            return Err(Failure::unknown(format!("there is no prompt {name}")));
        }
        let who = arguments.get("who").and_then(Json::as_str).unwrap_or("everybody");
        Ok(vec![Message { speaker: Speaker::User, content: Content::Text { text: format!("Greet {who}.") } }])
    }

    fn changed(&self) -> Changes {
        Changes {
            tools: self.lists.subscribe(),
            resources: self.lists.subscribe(),
            prompts: self.lists.subscribe(),
            updated: self.updated.subscribe(),
        }
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let gateway = Arc::new(Sums::new());
    let shutdown = CancellationToken::new();
    let Some(port) = std::env::args().nth(1).and_then(|port| port.parse().ok()) else {
        return serve_stdio(gateway, shutdown).await;
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let options = Options { sessions: 4096, ..Options::default() };
    let serving = serve_http(listener, gateway, options, shutdown.clone());
    let leaving = async {
        let mut rest = Vec::new();
        drop(tokio::io::stdin().read_to_end(&mut rest).await);
        shutdown.cancel();
    };
    tokio::join!(serving, leaving).0
}
