//! Drives the MCP client against the official conformance suite, which starts this program with the
//! address of a test server as its last argument and names the scenario in
//! `MCP_CONFORMANCE_SCENARIO`:
//!
//! `conformance client --command target/debug/examples/mcp_conformance_client --scenario
//! tools_call`

use async_trait::async_trait;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{McpServer, Valid};
use steward_tools::mcp::{Handle, Login, Options, Server, login};
use steward_tools::{Answered, Context, Elicitation, Error, Human};
use tokio::sync::mpsc;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Where the suite expects the document that says who the client is. Nobody fetches it.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// A server that wants more rights after every login is given up.
const LOGINS: usize = 3;

/// Agrees to everything and leaves every field at its default.
struct Agreeable;

#[async_trait]
impl Human for Agreeable {
    async fn ask(&self, _: Elicitation) -> Answered {
        Answered::Accepted(Map::new())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let url = std::env::args().next_back().ok_or("the address of a server is missing")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let given: Json = serde_json::from_str(&context).unwrap_or_default();
    let folder = std::env::temp_dir().join(format!("steward-conformance-{}", std::process::id()));
    let secret = given.get("client_secret").and_then(Json::as_str).map(str::to_owned);
    let options = Options {
        logins: Some(folder.clone()),
        variables: Arc::new(move |name| if name == "CLIENT_SECRET" { secret.clone() } else { None }),
        backoff_first: Duration::from_millis(1),
        break_after: 20,
        ..Options::default()
    };
    let server = server(&url, &scenario, &given)?;
    let outcome = drive(&server, &options, &given).await;
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

/// The configuration that a person would write for this scenario.
fn server(url: &str, scenario: &str, given: &Json) -> Outcome<Valid<McpServer>> {
    let client_id = given.get("client_id").cloned();
    let auth = match scenario {
        "auth/client-credentials-basic" => Some(json!({
            "type": "client_credentials", "client_id": client_id, "secret_variable": "CLIENT_SECRET"
        })),
        "auth/pre-registration" => Some(json!({
            "type": "oauth", "client_id": client_id, "secret_variable": "CLIENT_SECRET"
        })),
        other => other.starts_with("auth/").then(|| json!({ "type": "oauth" })),
    };
    let config =
        json!({ "name": "conformance", "transport": "http", "config": { "url": url, "auth": auth } });
    Ok(serde_json::from_value(config)?)
}

/// Uses the server, and logs in as often as it asks for that.
async fn drive(server: &Valid<McpServer>, options: &Options, given: &Json) -> Outcome {
    let mut logins = 0;
    loop {
        let handle = Server::new(server.clone(), options.clone());
        let used = visit(&handle, given).await;
        handle.close().await;
        match used {
            Err(Error::LoginNeeded { detail, .. }) if logins < LOGINS => {
                eprintln!("a login is needed: {detail}");
                logins += 1;
                log_in(server, options, detail).await?;
            }
            other => return Ok(other?),
        }
    }
}

/// Lists the tools and calls every one: with the arguments that the suite names, or with something
/// that fits. A tool that wants a schema gets the first one that another tool has.
async fn visit(handle: &Handle, given: &Json) -> Result<(), Error> {
    let mut context = Context::within(Duration::from_secs(20));
    context.human = Arc::new(Agreeable);
    let tools = handle.tools().await?;
    let named = |name: &str| {
        let mut calls = given.get("toolCalls").and_then(Json::as_array).into_iter().flatten();
        let call = calls.find(|call| call.get("name").and_then(Json::as_str) == Some(name))?;
        call.get("arguments").and_then(Json::as_object).cloned()
    };
    let first = tools.first().map(|tool| tool.offer.input_schema.clone()).unwrap_or_default();
    for tool in tools {
        let mut arguments = named(&tool.name).unwrap_or_else(|| arguments(&tool.offer.input_schema));
        if let Some(schema) = arguments.get_mut("schema") {
            *schema = first.clone();
        }
        let called = handle.call(&tool.name, &arguments, &context).await;
        eprintln!("{}: {called:?}", tool.name);
        match called {
            // A tool that says no has been called all the same.
            Ok(_) | Err(Error::Failed { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Something for every argument that a schema asks for.
fn arguments(schema: &Json) -> Map<String, Json> {
    let fields = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
    let values = fields.map(|(name, field)| {
        let value = match field.get("type").and_then(Json::as_str) {
            Some("number" | "integer") => json!(2),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        };
        (name.clone(), value)
    });
    values.collect()
}

/// Visits the address of the login as a browser would, and follows it back.
async fn log_in(server: &McpServer, options: &Options, challenge: String) -> Outcome {
    let (opened, mut addresses) = mpsc::unbounded_channel::<String>();
    let challenge = challenge.contains("earer").then_some(challenge);
    let wanted = Login {
        within: Duration::from_secs(20),
        challenge,
        client_document: Some(CLIENT_DOCUMENT.to_owned()),
    };
    let browser = async {
        let client = reqwest::Client::builder().no_proxy().build()?;
        if let Some(address) = addresses.recv().await {
            client.get(address).send().await?;
        }
        Ok::<_, reqwest::Error>(())
    };
    let open = move |address: &str| {
        let _ = opened.send(address.to_owned());
    };
    let (done, visited) = tokio::join!(login(server, options, wanted, open), browser);
    done?;
    Ok(visited?)
}
