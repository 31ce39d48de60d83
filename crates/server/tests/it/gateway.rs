//! A gateway that does a little of everything and tells the tests what it saw.

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use steward_domain::{ErrorClass, JsonObject};
use steward_server::mcp::{
    Argument, Caller, Changes, ClientPrompt, Completion, CompletionRequest, Failure, Gateway, Level, Message,
    Offered, Page, Prompt, Resource, ResourceBody, Session, Speaker, Template,
};
use steward_tools::{Content, Elicitation, Human, Output, Progress};
use tokio::sync::{Semaphore, broadcast, mpsc, watch};

/// How many tools are on offer beside the named ones.
pub(crate) const MANY: usize = 230;

pub(crate) struct Everything {
    pub(crate) tools: watch::Sender<u64>,
    pub(crate) resources: watch::Sender<u64>,
    pub(crate) prompts: watch::Sender<u64>,
    pub(crate) updated: broadcast::Sender<Arc<str>>,
    /// One permit for each that listens to changes.
    pub(crate) listening: Semaphore,
    /// How often `ask` was begun.
    pub(crate) asked: AtomicUsize,
    saw: mpsc::UnboundedSender<&'static str>,
}

impl Everything {
    /// The gateway, and where it tells what it saw.
    pub(crate) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<&'static str>) {
        let (saw, seen) = mpsc::unbounded_channel();
        let gateway = Self {
            tools: watch::Sender::new(0),
            resources: watch::Sender::new(0),
            prompts: watch::Sender::new(0),
            updated: broadcast::Sender::new(16),
            listening: Semaphore::new(0),
            asked: AtomicUsize::new(0),
            saw,
        };
        (Arc::new(gateway), seen)
    }
}

fn text(text: &str) -> Content {
    Content::Text { text: text.into() }
}

fn kinds() -> Output {
    let content = vec![
        text("words"),
        Content::Image { data: "aW1n".into(), mime_type: "image/png".into() },
        Content::Audio { data: "d2F2".into(), mime_type: "audio/wav".into() },
        Content::Resource {
            uri: "memo://a".into(),
            mime_type: Some("text/plain".into()),
            text: Some("inside".into()),
            data: None,
        },
        Content::Resource { uri: "memo://b".into(), mime_type: None, text: None, data: Some("Ymlu".into()) },
        Content::Link { uri: "memo://c".into(), name: "c".into(), mime_type: None },
    ];
    Output { content, structured: Some(json!({"parts": 6})) }
}

fn name_form() -> Json {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

impl Everything {
    /// Waits until it is called off, and tells that it was.
    async fn wait(&self, session: &Session) -> Output {
        let _ = self.saw.send("started");
        session.cancelled().cancelled().await;
        let _ = self.saw.send("cancelled");
        Output::text("called off")
    }

    async fn ask(&self, session: &Session) -> Result<Output, Failure> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let question = Elicitation {
            server: "test".into(),
            message: "Who are you?".into(),
            schema: Some(name_form()),
            url: None,
        };
        let first = Human::ask(session, question).await;
        let again = ClientPrompt::Form { message: "Really?".into(), schema: name_form() };
        let second = session.ask(BTreeMap::from([("again".to_owned(), again)])).await?;
        Ok(Output::text(format!("{first:?} {}", second.get("again").cloned().unwrap_or_default())))
    }
}

#[async_trait]
impl Gateway for Everything {
    async fn tools(&self, _: &Caller) -> Vec<Offered> {
        let any = Arc::new(json!({"type": "object"}).as_object().cloned().unwrap());
        let named = ["ask", "echo", "fail", "kinds", "late", "log", "panic", "steps", "wait", "who"]
            .map(str::to_owned);
        let many = (0..MANY).map(|number| format!("z{number:03}"));
        named.into_iter().chain(many).map(|name| Offered::new(name, "For testing", any.clone())).collect()
    }

    async fn call(&self, name: &str, arguments: JsonObject, session: &Session) -> Result<Output, Failure> {
        Ok(match name {
            "ask" => self.ask(session).await?,
            "echo" => Output::json(Json::Object(arguments)),
            "fail" => return Err(Failure::tool("TOL011", "it did not work; try less", ErrorClass::User)),
            "kinds" => kinds(),
            "late" => {
                let _ = self.saw.send("started");
                tokio::time::sleep(Duration::from_millis(700)).await;
                Output::text("late")
            }
            "log" => {
                session.log(Level::Info, None, json!("some")).await;
                session.log(Level::Error, Some("here"), json!("more")).await;
                Output::text("logged")
            }
            "panic" => panic!("a fault, on purpose"),
            "steps" => {
                for done in 1..=3 {
                    session.progress(Progress { done: f64::from(done), total: Some(3.0), message: None });
                }
                Output::text("done")
            }
            "wait" => self.wait(session).await,
            "who" => Output::text(format!("{} {}", session.caller().user, session.client().name)),
            _ => return Err(Failure::unknown(format!("there is no tool {name}"))),
        })
    }

    async fn resources(&self, cursor: Option<&str>, _: &Caller) -> Result<Page<Resource>, Failure> {
        let one = |uri: &str| Resource { uri: uri.into(), name: uri.into(), ..Resource::default() };
        match cursor {
            None => Ok(Page { items: vec![one("memo://1")], next: Some("2".into()) }),
            Some("2") => Ok(Page { items: vec![one("memo://2")], next: None }),
            Some(_) => Err(Failure::unknown("this cursor leads nowhere")),
        }
    }

    async fn resource_templates(&self, _: Option<&str>, _: &Caller) -> Result<Page<Template>, Failure> {
        let template =
            Template { uri_template: "memo://{id}".into(), name: "memo".into(), ..Template::default() };
        Ok(Page { items: vec![template], next: None })
    }

    async fn read(&self, uri: &str, _: &Session) -> Result<Vec<ResourceBody>, Failure> {
        match uri {
            "memo://1" => {
                Ok(vec![ResourceBody::Text { uri: uri.into(), mime_type: None, text: "one".into() }])
            }
            "memo://2" => {
                Ok(vec![ResourceBody::Blob { uri: uri.into(), mime_type: None, bytes: vec![1, 2, 3] }])
            }
            _ => Err(Failure::unknown(format!("there is no resource {uri}"))),
        }
    }

    async fn prompts(&self, _: &Caller) -> Vec<Prompt> {
        let argument = Argument { name: "who".into(), description: None, required: true };
        vec![Prompt { name: "greet".into(), arguments: vec![argument], ..Prompt::default() }]
    }

    async fn prompt(&self, name: &str, arguments: JsonObject, _: &Session) -> Result<Vec<Message>, Failure> {
        if name != "greet" {
            return Err(Failure::unknown(format!("there is no prompt {name}")));
        }
        let who = arguments.get("who").and_then(Json::as_str).unwrap_or("nobody");
        Ok(vec![Message { speaker: Speaker::Assistant, content: text(&format!("Hello {who}")) }])
    }

    async fn complete(&self, completion: CompletionRequest, _: &Caller) -> Result<Completion, Failure> {
        assert!(completion.prompt);
        let values = (0..150).map(|number| format!("{}{number}", completion.typed)).collect();
        Ok(Completion { values, total: None })
    }

    fn changed(&self) -> Changes {
        let changes = Changes {
            tools: self.tools.subscribe(),
            resources: self.resources.subscribe(),
            prompts: self.prompts.subscribe(),
            updated: self.updated.subscribe(),
        };
        self.listening.add_permits(1);
        changes
    }
}
