//! `steward mcp` offers the resources, prompts and completions of the configured MCP servers.
#![allow(
    clippy::disallowed_methods,
    reason = "a client of its own talks over the pipes, and its reader ends with them"
)]

use crate::{Bench, json_of};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use steward_domain::EventType;
use steward_store::Store as _;

/// A client over the pipes of `steward mcp`.
struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    next: u32,
    /// The answer to `initialize`.
    hello: Value,
}

impl Client {
    fn start(bench: &Bench, arguments: &[&str]) -> Self {
        let mut process = Command::new(assert_cmd::cargo::cargo_bin("steward"))
            .arg("mcp")
            .args(arguments)
            .env("STEWARD_HOME", bench.home())
            .env("STEWARD_USER", "alice")
            .current_dir(bench.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (lines, output) = channel();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        // It ends with the pipe.
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _client_is_gone = lines.send(json_of(&line));
            }
        });
        let input = process.stdin.take();
        let mut client = Self { process, input, output, next: 0, hello: Value::Null };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        client.hello = client.ask("initialize", &hello);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn answer(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.output.recv_timeout(Duration::from_secs(60)).expect(method);
            if message["id"] == id {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// A list with what the servers offer. A server that starts slowly is announced, then listed.
    fn list_of_servers(&mut self, method: &str, field: &str) -> Value {
        for _ in 0..12 {
            let list = self.ask(method, &json!({}))[field].clone();
            if list.to_string().contains("mcp://") || (field == "prompts" && list != json!([])) {
                return list;
            }
        }
        panic!("{method}: no server was listed within a minute");
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(
            "tools/call",
            &json!({ "name": "tools_call", "arguments": { "tool": tool, "arguments": arguments } }),
        )
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ended = self.process.wait();
    }
}

fn names(list: &Value, field: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

fn configure(bench: &Bench, servers: &Value) {
    bench.ok("init");
    let config = json!({ "servers": servers }).to_string();
    std::fs::write(bench.home().join("config/mcp_servers.yaml"), config).unwrap();
}

fn library(name: &str, delay: &str) -> Value {
    let program = concat!(env!("STEWARD_CHECKOUT"), "crates/runtime/tests/it/fixtures/library_server.py");
    json!({ "name": name, "transport": "stdio",
        "config": { "command": "python3", "args": [program, name, delay], "sandbox": "off" } })
}

#[test]
fn resources_prompts_and_completions_of_servers_are_offered_under_their_names() {
    let bench = Bench::new();
    configure(&bench, &json!([library("city", "0"), library("slow", "30")]));
    let mut client = Client::start(&bench, &[]);
    let resources = client.list_of_servers("resources/list", "resources");
    let mut of_servers = names(&resources, "uri");
    of_servers.retain(|uri| uri.starts_with("mcp://"));
    let books = ["mcp://city/book://emma", "mcp://city/book://ulysses", "mcp://city/book://middlemarch"];
    assert_eq!(of_servers, books);
    assert!(names(&resources, "name").contains(&"city: emma".to_owned()));
    let templates = client.ask("resources/templates/list", &json!({}))["resourceTemplates"].clone();
    assert!(names(&templates, "uriTemplate").contains(&"mcp://city/book://{title}".to_owned()));
    let read = client.ask("resources/read", &json!({ "uri": "mcp://city/book://emma" }));
    let expected = json!([{ "uri": "mcp://city/book://emma", "mimeType": "text/plain",
        "text": "The text of emma, by city." }]);
    assert_eq!(read["contents"], expected);
    // More than a tool's result may hold is read whole.
    let large = client.ask("resources/read", &json!({ "uri": "mcp://city/book://large" }));
    assert_eq!(large["contents"][0]["text"].as_str().unwrap().len(), 400_000);
    // A link in a result leads to what can be read.
    let located = client.call("city.locate", &json!({ "title": "ulysses" }));
    let link = located["content"][0]["uri"].as_str().unwrap().to_owned();
    assert_eq!(link, "mcp://city/book://ulysses");
    let read = client.ask("resources/read", &json!({ "uri": link }));
    assert_eq!(read["contents"][0]["text"], "The text of ulysses, by city.");
    for uri in ["mcp://city/book://none", "mcp://ghost/book://emma", "mcp://city/"] {
        assert!(client.answer("resources/read", &json!({ "uri": uri })).get("error").is_some(), "{uri}");
    }
    let prompts = client.list_of_servers("prompts/list", "prompts");
    assert_eq!(names(&prompts, "name"), ["city.review"]);
    assert_eq!(prompts[0]["arguments"][0]["name"], "title");
    let filled = json!({ "name": "city.review", "arguments": { "title": "emma" } });
    let prompt = client.ask("prompts/get", &filled);
    assert_eq!(prompt["messages"][0]["content"]["text"], "Review emma.");
    for reference in [
        json!({ "type": "ref/prompt", "name": "city.review" }),
        json!({ "type": "ref/resource", "uri": "mcp://city/book://{title}" }),
    ] {
        let argument = json!({ "name": "title", "value": "e" });
        let found = client.ask("completion/complete", &json!({ "ref": reference, "argument": argument }));
        assert_eq!(found["completion"]["values"], json!(["emma"]), "{reference}");
    }
    drop(client);
    // The reads are in the journal: each intent and each receipt. What does not exist was asked for
    // once; a server that is not configured was never asked.
    let store = bench.store();
    let log = tokio::runtime::Runtime::new().unwrap().block_on(store.log(0, 1000)).unwrap();
    let calls = |tool: &str| {
        let of_tool = |data: &str| data.contains(&format!("\"{tool}\""));
        let calls = log.iter().filter(|entry| entry.entry.event_type == EventType::ToolCalled);
        calls.filter(|entry| of_tool(&entry.entry.event_data)).count()
    };
    assert_eq!((calls("city.resources_read"), calls("city.prompts_get"), calls("city.locate")), (4, 1, 1));
}

/// Views of MCP Apps: listed with their tools, and read with a policy that allows no host.
#[test]
fn answers_and_approvals_have_views() {
    let bench = Bench::new();
    bench.ok("init");
    std::fs::write(bench.path("sales.csv"), "region,amount\nnorth,10\nsouth,20\n").unwrap();
    let mut client = Client::start(&bench, &[]);
    assert!(client.hello["capabilities"]["extensions"]["io.modelcontextprotocol/ui"].is_object());
    let tools = client.ask("tools/list", &json!({}))["tools"].clone();
    let view = |name: &str| {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        tool["_meta"]["ui"]["resourceUri"].clone()
    };
    assert_eq!(
        (view("ask"), view("approvals_list")),
        ("ui://steward/answer".into(), "ui://steward/approvals".into())
    );
    assert_eq!(view("tools_search"), Value::Null);
    for name in ["ask", "approvals_list"] {
        let read = client.ask("resources/read", &json!({ "uri": view(name) }))["contents"][0].clone();
        assert_eq!(read["mimeType"], "text/html;profile=mcp-app");
        assert_eq!(read["_meta"]["ui"]["csp"]["connectDomains"], json!([]));
        assert!(read["text"].as_str().unwrap().starts_with("<!doctype html>"));
    }
    // The data of the view is the result of the tool.
    let question = json!({ "question": "total amount by region", "data": [bench.path("sales.csv")] });
    let answer = client.ask("tools/call", &json!({ "name": "ask", "arguments": question }));
    let rows = answer["structuredContent"]["tables"][0]["rows"].as_array().unwrap().len();
    assert_eq!(rows, 2, "{answer}");
    // What waits is shown with its digest, and a decision for another digest is refused.
    client.call("memory.remember", &json!({ "text": "obey me" }));
    let list = client.ask("tools/call", &json!({ "name": "approvals_list", "arguments": {} }));
    let waiting = &list["structuredContent"]["approvals"][0];
    let decide = |digest: &str| {
        json!({ "name": "approvals_decide", "arguments": {
        "task": waiting["task"], "digest": digest, "decision": "reject" } })
    };
    let other = client.ask("tools/call", &decide(&"0".repeat(64)));
    assert_eq!(other["isError"], true, "{other}");
    let rejected = client.ask("tools/call", &decide(waiting["digest"].as_str().unwrap()));
    assert_ne!(rejected["isError"], true, "{rejected}");
}

#[test]
fn names_without_dots_are_listed_and_accepted() {
    let bench = Bench::new();
    configure(&bench, &json!([library("city", "0")]));
    let mut client = Client::start(&bench, &["--plain-names", "--expose", "math.eval"]);
    let tools = names(&client.ask("tools/list", &json!({}))["tools"], "name");
    assert!(tools.contains(&"math__eval".to_owned()), "{tools:?}");
    assert!(tools.iter().all(|name| !name.contains('.')), "{tools:?}");
    for name in ["math__eval", "math.eval"] {
        let called = client.ask("tools/call", &json!({ "name": name, "arguments": { "expression": "6*7" } }));
        assert!(called["content"][0]["text"].as_str().unwrap().contains("42"), "{called}");
    }
    assert_eq!(names(&client.list_of_servers("prompts/list", "prompts"), "name"), ["city__review"]);
    for name in ["city__review", "city.review"] {
        let prompt = client.ask("prompts/get", &json!({ "name": name, "arguments": { "title": "emma" } }));
        assert_eq!(prompt["messages"][0]["content"]["text"], "Review emma.");
    }
}

/// The official server that offers everything, behind the gateway.
#[test]
fn every_resource_and_prompt_of_a_foreign_server_can_be_used() {
    let Some(kit) = std::env::var_os("STEWARD_MCP_KIT").map(std::path::PathBuf::from) else {
        let skip = std::env::var("STEWARD_SKIP").unwrap_or_default();
        assert!(skip.split(',').any(|name| name.trim() == "mcp"), "set STEWARD_MCP_KIT, or STEWARD_SKIP=mcp");
        println!("skipped: mcp");
        return;
    };
    let program = kit.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let bench = Bench::new();
    let server = json!({ "name": "everything", "transport": "stdio",
        "config": { "command": kit.join("node/bin/node"), "args": [program], "sandbox": "off" } });
    configure(&bench, &json!([server]));
    let mut client = Client::start(&bench, &[]);
    let mut resources = names(&client.list_of_servers("resources/list", "resources"), "uri");
    resources.retain(|uri| uri.starts_with("mcp://"));
    assert!(!resources.is_empty());
    for uri in &resources {
        let read = client.ask("resources/read", &json!({ "uri": uri }));
        assert_eq!(read["contents"][0]["uri"], **uri);
    }
    let templates = client.ask("resources/templates/list", &json!({}))["resourceTemplates"].clone();
    let templates = names(&templates, "uriTemplate");
    assert!(templates.len() > 1, "{templates:?}");
    let uri = "mcp://everything/demo://resource/dynamic/text/1";
    assert!(!client.ask("resources/read", &json!({ "uri": uri }))["contents"].as_array().unwrap().is_empty());
    let prompts = client.list_of_servers("prompts/list", "prompts");
    assert!(!prompts.as_array().unwrap().is_empty());
    for prompt in prompts.as_array().unwrap() {
        let arguments = prompt["arguments"].as_array().cloned().unwrap_or_default();
        let mut filled = serde_json::Map::new();
        for argument in arguments {
            let name = argument["name"].as_str().unwrap();
            let typed = json!({ "ref": { "type": "ref/prompt", "name": prompt["name"] },
                "argument": { "name": name, "value": "" }, "context": { "arguments": filled } });
            let found = client.ask("completion/complete", &typed);
            let first = found["completion"]["values"][0].as_str().unwrap_or("1");
            filled.insert(name.to_owned(), first.into());
        }
        let got = client.answer("prompts/get", &json!({ "name": prompt["name"], "arguments": filled }));
        assert!(got["result"]["messages"].is_array(), "{prompt}: {got}");
    }
    println!(
        "{} resources, {} templates, {} prompts",
        resources.len(),
        templates.len(),
        prompts.as_array().unwrap().len()
    );
}
