//! A gateway with two tools, and a fake model server with fixed answers.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use steward_domain::{Check as _, JsonObject, ToolDefinition};
use steward_journal::clock::SystemClock;
use steward_journal::random::SystemRandom;
use steward_models::{OpenAi, Options as ModelOptions, Price, Secret};
use steward_policy::{AdmittedCall, Caller};
use steward_tools::call::{ArtifactSink, Ending, Intent, Ledger, Refused, Request, ToolGateway};
use steward_tools::registry::Registry;
use steward_tools::{Content, Context, Error, Output, Registered, Result, Settings, Tool};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Returns its input, or fails with it.
struct Echo {
    fails: bool,
}

#[async_trait]
impl Tool for Echo {
    async fn call(&self, admitted: &AdmittedCall, _: &Context) -> Result<Output> {
        let said = Json::Object(admitted.arguments().clone()).to_string();
        if self.fails {
            return Err(Error::Failed { tool: "crm.break".to_owned(), message: said, transient: false });
        }
        Ok(Output::text(said))
    }
}

struct Nowhere;

#[async_trait]
impl Ledger for Nowhere {
    async fn intend(&self, _: &Arc<Intent>) -> Result<()> {
        Ok(())
    }
    async fn end(&self, _: Ending) -> Result<()> {
        Ok(())
    }
    async fn refuse(&self, _: Refused) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl ArtifactSink for Nowhere {
    async fn keep(&self, _: &Arc<Intent>, _: &str, _: &str, _: &[u8]) -> Result<Content> {
        Err(Error::Bug { detail: "nothing here is large".to_owned() })
    }
}

fn tool(name: &str, number: u8, fails: bool) -> Registered {
    let definition: ToolDefinition = serde_json::from_value(json!({
        "id": format!("00000000-0000-4000-8000-00000000000{number}"), "tool_name": name, "tool_version": "1.0.0",
        "application_domain": "generic", "origin": "builtin",
        "description": "A tool of the tests, which repeats what it is given and does nothing else.",
        "parameter_schema": { "type": "object", "properties": { "n": { "type": "integer" } } },
        "idempotency": "read_only",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    }))
    .unwrap();
    Registered {
        definition: Arc::new(definition.validate().unwrap()),
        settings: Arc::new(Settings::default()),
        tool: Arc::new(Echo { fails }),
    }
}

/// `crm.find` returns its input, `crm.break` fails.
pub(crate) fn gateway() -> ToolGateway {
    let registry = Registry::new(vec![tool("crm.find", 1, false), tool("crm.break", 2, true)]);
    let (clock, random) = (Arc::new(SystemClock::default()), Arc::new(SystemRandom));
    ToolGateway::new(registry, Arc::new(Nowhere), Arc::new(Nowhere), clock, random)
}

pub(crate) fn request(tool: &str, arguments: Json) -> Request {
    let arguments: JsonObject = serde_json::from_value(arguments).unwrap();
    Request::new(Caller::owner("ada".parse().unwrap()), tool, arguments)
}

/// A model server that gives this answer to everything.
pub(crate) async fn server(status: u16, body: Json) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut bytes = vec![0; 65536];
            let _asked = socket.read(&mut bytes).await;
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: \
                    close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _gone = socket.write_all((head + &body).as_bytes()).await;
        }
    });
    (url, tasks)
}

pub(crate) fn reply(text: &str) -> Json {
    json!({
        "model": "qwen-2026", "choices": [{ "message": { "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1200, "completion_tokens": 30, "prompt_tokens_details": { "cached_tokens": 1000 } },
    })
}

pub(crate) fn model(url: &str, key: &str) -> OpenAi {
    let mut options = ModelOptions::new(url, "qwen");
    options.api_key = Some(Secret::new(key));
    options.price =
        Some(Price { input_per_million: 3.0, output_per_million: 15.0, cached_per_million: None });
    OpenAi::new(options).unwrap()
}
