//! The server under test of the official conformance suite: our router over a gateway that offers
//! what the suite expects.
//!
//! `cargo run -p steward-server --example mcp_conformance_server` prints its address and serves
//! until its input is closed.

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{ErrorClass, JsonObject};
use steward_server::mcp::{
    Argument, Caller, Changes, ClientPrompt, Completion, CompletionRequest, Failure, Gateway, Level, Message,
    Offered, Options, Page, Prompt, Resource, ResourceBody, Session, Speaker, TaskSupport, Template,
    serve_http,
};
use steward_tools::{Answered, Content, Output, Progress};
use tokio::io::AsyncReadExt as _;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

/// A red picture of one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound of no length.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

struct Fixtures {
    tools: watch::Sender<u64>,
    resources: watch::Sender<u64>,
    prompts: watch::Sender<u64>,
    updated: broadcast::Sender<Arc<str>>,
}

fn object(value: Json) -> JsonObject {
    match value {
        Json::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn string<'a>(arguments: &'a JsonObject, name: &str) -> &'a str {
    arguments.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn text(text: impl Into<String>) -> Content {
    Content::Text { text: text.into() }
}

fn picture() -> Content {
    Content::Image { data: PNG.into(), mime_type: "image/png".into() }
}

fn embedded(uri: &str, mime_type: &str, words: &str) -> Content {
    Content::Resource {
        uri: uri.into(),
        mime_type: Some(mime_type.into()),
        text: Some(words.into()),
        data: None,
    }
}

fn parts(content: Vec<Content>) -> Output {
    Output { content, structured: None }
}

/// The tools without arguments, with what they are for.
const PLAIN: &[(&str, &str)] = &[
    ("test_simple_text", "Returns text"),
    ("test_image_content", "Returns a picture"),
    ("test_audio_content", "Returns a sound"),
    ("test_embedded_resource", "Returns a resource"),
    ("test_multiple_content_types", "Returns text, a picture and a resource"),
    ("test_tool_with_logging", "Writes to the log"),
    ("test_logging_tool", "Writes to the log"),
    ("test_tool_with_progress", "Reports progress"),
    ("test_error_handling", "Always fails"),
    ("test_reconnection", "Takes a while"),
    ("test_elicitation_sep1034_defaults", "Asks with defaults"),
    ("test_elicitation_sep1330_enums", "Asks with choices"),
    ("test_streaming_elicitation", "Asks while it streams"),
    ("test_missing_capability", "Needs sampling"),
    ("test_trigger_tool_change", "Says that the tools changed"),
    ("test_trigger_prompt_change", "Says that the prompts changed"),
    ("test_input_required_result_elicitation", "Asks for a name"),
    ("test_input_required_result_sampling", "Asks the model"),
    ("test_input_required_result_list_roots", "Asks for folders"),
    ("test_input_required_result_request_state", "Asks for a yes"),
    ("test_input_required_result_tampered_state", "Asks for a yes"),
    ("test_input_required_result_multiple_inputs", "Asks for three things at once"),
    ("test_input_required_result_multi_round", "Asks twice"),
    ("test_input_required_result_capabilities", "Asks for what the client can do"),
];

/// The tools that become tasks, with what they are for.
const TASKS: &[(&str, &str)] = &[
    ("failing_job", "Fails after a while"),
    ("protocol_error_job", "Runs into a fault of the server"),
    ("multi_input", "Asks for two things at once"),
    ("test_tool_with_task", "Asks for a name, then works in the background"),
];

fn offered() -> Vec<Offered> {
    let nothing = Arc::new(object(json!({"type": "object", "properties": {}})));
    let mut tools: Vec<Offered> =
        PLAIN.iter().map(|(name, what)| Offered::new(*name, *what, nothing.clone())).collect();
    let with = |name: &str, what: &str, schema: Json| Offered::new(name, what, Arc::new(object(schema)));
    tools.push(with("test_sampling", "Asks the client's model", one_string("prompt")));
    tools.push(with("test_elicitation", "Asks the person", one_string("message")));
    tools.push(with("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", rich_schema()));
    tools.extend(TASKS.iter().map(|(name, what)| Offered::new(*name, *what, nothing.clone())));
    tools.push(with("greet", "Greets", one_string("name")));
    tools.push(with("confirm_delete", "Asks before it deletes", one_string("filename")));
    let slow = json!({"type": "object", "properties": {
        "seconds": {"type": "number"}, "label": {"type": "string"},
    }});
    tools.push(with("slow_compute", "Takes so many seconds", slow));
    tools.push(with("test_custom_headers", "Has arguments that are mirrored in headers", mirrored()));
    tools
}

fn one_string(name: &str) -> Json {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

fn mirrored() -> Json {
    json!({"type": "object", "required": ["region"], "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "query": {"type": "string"},
    }})
}

fn rich_schema() -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

fn form(message: &str, field: &str, kind: &str) -> ClientPrompt {
    let schema = json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    ClientPrompt::Form { message: message.into(), schema }
}

fn user(words: &str) -> Vec<Message> {
    vec![Message { speaker: Speaker::User, content: text(words) }]
}

fn choice(name: &str, title: &str) -> Json {
    json!({"const": name, "title": title})
}

fn choices() -> Json {
    let titled = [
        choice("value1", "First Option"),
        choice("value2", "Second Option"),
        choice("value3", "Third Option"),
    ];
    let many = [
        choice("value1", "First Choice"),
        choice("value2", "Second Choice"),
        choice("value3", "Third Choice"),
    ];
    json!({"type": "object", "required": [], "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": many}},
    }})
}

fn defaults() -> Json {
    json!({"type": "object", "required": [], "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

fn told(answer: &Answered) -> String {
    match answer {
        Answered::Accepted(content) => format!("action=accept, content={}", Json::Object(content.clone())),
        Answered::Declined => "action=decline, content={}".into(),
        Answered::Cancelled => "action=cancel, content={}".into(),
    }
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

impl Fixtures {
    async fn asking(&self, name: &str, session: &Session) -> Result<Output, Failure> {
        let ask = |key: &str, want: ClientPrompt| session.ask(BTreeMap::from([(key.to_owned(), want)]));
        Ok(Output::text(match name {
            "test_input_required_result_elicitation" => {
                let answers = ask("user_name", form("What is your name?", "name", "string")).await?;
                let name = answers.get("user_name").and_then(|answer| answer.pointer("/content/name"));
                format!("Hello, {}!", name.and_then(Json::as_str).unwrap_or("stranger"))
            }
            "test_input_required_result_sampling" => {
                let want = ClientPrompt::Sample {
                    messages: user("What is the capital of France?"),
                    system: None,
                    max_tokens: 100,
                };
                let answers = ask("capital_question", want).await?;
                answers
                    .get("capital_question")
                    .and_then(|answer| answer.pointer("/content/text"))
                    .map(Json::to_string)
                    .unwrap_or_default()
            }
            "test_input_required_result_list_roots" => {
                let answers = ask("client_roots", ClientPrompt::Roots).await?;
                answers.get("client_roots").map(Json::to_string).unwrap_or_default()
            }
            "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
                ask("confirm", form("Please confirm", "ok", "boolean")).await?;
                "state-ok".into()
            }
            "test_input_required_result_multiple_inputs" => {
                let sample = ClientPrompt::Sample {
                    messages: user("Generate a greeting"),
                    system: None,
                    max_tokens: 50,
                };
                let wants = [
                    ("user_name".to_owned(), form("What is your name?", "name", "string")),
                    ("greeting".to_owned(), sample),
                    ("client_roots".to_owned(), ClientPrompt::Roots),
                ];
                let answers = session.ask(BTreeMap::from(wants)).await?;
                format!("{answers:?}")
            }
            "test_input_required_result_multi_round" => {
                let first = ask("step1", form("Step 1: What is your name?", "name", "string")).await?;
                let second =
                    ask("step2", form("Step 2: What is your favorite color?", "color", "string")).await?;
                format!("{first:?} {second:?}")
            }
            "test_input_required_result_capabilities" => self.what_it_can(session).await?,
            _ => {
                let answer = session.elicit("Go on?", json!({"type": "object", "properties": {}})).await?;
                told(&answer)
            }
        }))
    }

    /// Asks for each thing that the client said it can do, and for nothing else.
    async fn what_it_can(&self, session: &Session) -> Result<String, Failure> {
        let sample = ClientPrompt::Sample { messages: user("Say hello"), system: None, max_tokens: 50 };
        for (key, want) in [("sample", sample), ("name", form("What is your name?", "name", "string"))] {
            match session.ask(BTreeMap::from([(key.to_owned(), want)])).await {
                Ok(answers) => return Ok(format!("{answers:?}")),
                Err(failure) if matches!(failure.kind, steward_server::mcp::Kind::Needs(_)) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok("nothing to ask for".into())
    }

    /// The tools that become tasks.
    async fn in_background(
        &self,
        name: &str,
        arguments: &JsonObject,
        session: &Session,
    ) -> Result<Output, Failure> {
        if name == "test_tool_with_task" {
            let want = form("What is your name?", "name", "string");
            let answers = session.ask(BTreeMap::from([("user_name".to_owned(), want)])).await?;
            session.start_task(None);
            pause().await;
            let name = answers.get("user_name").and_then(|answer| answer.pointer("/content/name"));
            return Ok(Output::text(format!("Hello, {}!", name.and_then(Json::as_str).unwrap_or_default())));
        }
        session.start_task(None);
        match name {
            "slow_compute" => {
                let seconds = arguments.get("seconds").and_then(Json::as_f64).unwrap_or_default();
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => {}
                    () = session.cancelled().cancelled() => {
                        return Err(Failure::tool("TOL013", "it was called off", ErrorClass::User));
                    }
                }
                Ok(Output::text(format!("Computed {} for {seconds} s", string(arguments, "label"))))
            }
            "failing_job" => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Err(Failure::tool("TOL011", "This job always fails", ErrorClass::User))
            }
            "protocol_error_job" => {
                pause().await;
                Err(Failure::tool("MCP005", "This job runs into a fault", ErrorClass::Bug))
            }
            "confirm_delete" => {
                let schema = json!({"type": "object", "properties": {"confirm": {"type": "boolean"}}});
                let answer =
                    session.elicit(format!("Delete {}?", string(arguments, "filename")), schema).await?;
                Ok(Output::text(told(&answer)))
            }
            _ => {
                let wants = [("first", "First name?"), ("second", "Second name?")];
                let wants = wants.map(|(key, words)| (key.to_owned(), form(words, "name", "string")));
                Ok(Output::text(format!("{:?}", session.ask(BTreeMap::from(wants)).await?)))
            }
        }
    }

    async fn logging(&self, session: &Session) -> Output {
        for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            session.log(Level::Info, Some("conformance"), json!(line)).await;
            pause().await;
        }
        Output::text("Wrote three lines to the log")
    }

    async fn progressing(&self, session: &Session) -> Output {
        for done in [0.0, 50.0, 100.0] {
            session.progress(Progress { done, total: Some(100.0), message: None });
            pause().await;
        }
        Output::text("Reported progress three times")
    }
}

#[async_trait]
impl Gateway for Fixtures {
    async fn tools(&self, _: &Caller) -> Vec<Offered> {
        offered()
    }

    fn input_schema(&self, name: &str) -> Option<Arc<JsonObject>> {
        offered().into_iter().find(|tool| tool.name == name).map(|tool| tool.input_schema)
    }

    fn task_support(&self, name: &str) -> TaskSupport {
        match name {
            "failing_job" | "test_tool_with_task" => TaskSupport::Required,
            "slow_compute" | "confirm_delete" | "protocol_error_job" | "multi_input" => TaskSupport::Optional,
            _ => TaskSupport::Never,
        }
    }

    async fn call(&self, name: &str, arguments: JsonObject, session: &Session) -> Result<Output, Failure> {
        Ok(match name {
            "test_simple_text" => Output::text("This is a simple text response for testing."),
            "test_image_content" => parts(vec![picture()]),
            "test_audio_content" => {
                parts(vec![Content::Audio { data: WAV.into(), mime_type: "audio/wav".into() }])
            }
            "test_embedded_resource" => parts(vec![embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )]),
            "test_multiple_content_types" => parts(vec![
                text("Multiple content types test:"),
                picture(),
                embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                ),
            ]),
            "test_tool_with_logging" | "test_logging_tool" => self.logging(session).await,
            "test_tool_with_progress" => self.progressing(session).await,
            "test_error_handling" => {
                let message = "This tool intentionally returns an error for testing";
                return Err(Failure::tool("TOL011", message, ErrorClass::User));
            }
            "test_reconnection" => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Output::text("Reconnection test completed")
            }
            "test_sampling" => {
                let sampled = session.sample(user(string(&arguments, "prompt")), None, 100).await?;
                let words = parts(sampled.content).words();
                Output::text(format!("LLM response: {words}"))
            }
            "test_elicitation" => {
                let schema = json!({"type": "object", "required": ["username", "email"], "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                }});
                let answer = session.elicit(string(&arguments, "message"), schema).await?;
                Output::text(format!("User response: {}", told(&answer)))
            }
            "test_elicitation_sep1034_defaults" => {
                let answer = session.elicit("Please look at the defaults", defaults()).await?;
                Output::text(format!("Elicitation completed: {}", told(&answer)))
            }
            "test_elicitation_sep1330_enums" => {
                let answer = session.elicit("Please choose", choices()).await?;
                Output::text(format!("Elicitation completed: {}", told(&answer)))
            }
            "test_missing_capability" => {
                session.sample(user("Hello"), None, 10).await?;
                Output::text("The client's model wrote")
            }
            "test_trigger_tool_change" => {
                self.tools.send_modify(|version| *version += 1);
                Output::text("The tools changed")
            }
            "test_trigger_prompt_change" => {
                self.prompts.send_modify(|version| *version += 1);
                Output::text("The prompts changed")
            }
            "greet" => Output::text(format!("Hello, {}!", string(&arguments, "name"))),
            "slow_compute" | "confirm_delete" => self.in_background(name, &arguments, session).await?,
            name if TASKS.iter().any(|(known, _)| *known == name) => {
                self.in_background(name, &arguments, session).await?
            }
            "json_schema_2020_12_tool" | "test_custom_headers" => Output::json(Json::Object(arguments)),
            name if PLAIN.iter().any(|(known, _)| *known == name) => self.asking(name, session).await?,
            name => return Err(Failure::unknown(format!("there is no tool {name}"))),
        })
    }

    async fn resources(&self, _: Option<&str>, _: &Caller) -> Result<Page<Resource>, Failure> {
        let one = |uri: &str, name: &str, mime_type: &str| Resource {
            uri: uri.into(),
            name: name.into(),
            description: Some(format!("{name} for testing")),
            mime_type: Some(mime_type.into()),
            ..Resource::default()
        };
        let items = vec![
            one("test://static-text", "Static text", "text/plain"),
            one("test://static-binary", "Static picture", "image/png"),
            one("test://watched-resource", "Watched resource", "text/plain"),
        ];
        Ok(Page { items, next: None })
    }

    async fn resource_templates(&self, _: Option<&str>, _: &Caller) -> Result<Page<Template>, Failure> {
        let template = Template {
            uri_template: "test://template/{id}/data".into(),
            name: "Data by id".into(),
            description: Some("Data for an id".into()),
            mime_type: Some("application/json".into()),
            ..Template::default()
        };
        Ok(Page { items: vec![template], next: None })
    }

    async fn read(&self, uri: &str, _: &Session) -> Result<Vec<ResourceBody>, Failure> {
        let words = |mime_type: &str, text: String| {
            vec![ResourceBody::Text { uri: uri.into(), mime_type: Some(mime_type.into()), text }]
        };
        let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        Ok(match (uri, id) {
            ("test://static-text", _) => {
                words("text/plain", "This is the content of the static text resource.".into())
            }
            ("test://watched-resource", _) => words("text/plain", "Watched.".into()),
            ("test://static-binary", _) => {
                let bytes = vec![0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a];
                vec![ResourceBody::Blob { uri: uri.into(), mime_type: Some("image/png".into()), bytes }]
            }
            (_, Some(id)) => {
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                words("application/json", data.to_string())
            }
            _ => return Err(Failure::unknown(format!("there is no resource {uri}"))),
        })
    }

    async fn prompts(&self, _: &Caller) -> Vec<Prompt> {
        let one = |name: &str, arguments: &[&str]| Prompt {
            name: name.into(),
            title: None,
            description: Some("A prompt for testing".into()),
            arguments: arguments
                .iter()
                .map(|name| Argument {
                    name: (*name).into(),
                    description: Some("For testing".into()),
                    required: true,
                })
                .collect(),
        };
        vec![
            one("test_simple_prompt", &[]),
            one("test_prompt_with_arguments", &["arg1", "arg2"]),
            one("test_prompt_with_embedded_resource", &["resourceUri"]),
            one("test_prompt_with_image", &[]),
            one("test_input_required_result_prompt", &[]),
        ]
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        session: &Session,
    ) -> Result<Vec<Message>, Failure> {
        let of = |content: Content| Message { speaker: Speaker::User, content };
        Ok(match name {
            "test_simple_prompt" => user("This is a simple prompt for testing."),
            "test_prompt_with_arguments" => {
                let (one, two) = (string(&arguments, "arg1"), string(&arguments, "arg2"));
                user(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))
            }
            "test_prompt_with_embedded_resource" => {
                let uri = string(&arguments, "resourceUri");
                let resource = embedded(uri, "text/plain", "Embedded resource content for testing.");
                vec![of(resource), of(text("Please process the embedded resource above."))]
            }
            "test_prompt_with_image" => vec![of(picture()), of(text("Please analyze the image above."))],
            "test_input_required_result_prompt" => {
                let want = form("What context should the prompt use?", "context", "string");
                let answers = session.ask(BTreeMap::from([("user_context".to_owned(), want)])).await?;
                user(&format!("{answers:?}"))
            }
            _ => return Err(Failure::unknown(format!("there is no prompt {name}"))),
        })
    }

    async fn complete(&self, completion: CompletionRequest, _: &Caller) -> Result<Completion, Failure> {
        let words = ["paris", "park", "party"].into_iter().filter(|word| word.starts_with(&completion.typed));
        Ok(Completion { values: words.map(str::to_owned).collect(), total: None })
    }

    fn changed(&self) -> Changes {
        Changes {
            tools: self.tools.subscribe(),
            resources: self.resources.subscribe(),
            prompts: self.prompts.subscribe(),
            updated: self.updated.subscribe(),
        }
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let gateway = Fixtures {
        tools: watch::Sender::new(0),
        resources: watch::Sender::new(0),
        prompts: watch::Sender::new(0),
        updated: broadcast::Sender::new(16),
    };
    let shutdown = CancellationToken::new();
    let serving = serve_http(listener, Arc::new(gateway), Options::default(), shutdown.clone());
    let leaving = async {
        let mut rest = Vec::new();
        drop(tokio::io::stdin().read_to_end(&mut rest).await);
        shutdown.cancel();
    };
    tokio::join!(serving, leaving).0
}
