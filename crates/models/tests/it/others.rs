//! Wrapping models, models without a server, and models from settings.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use steward_domain::Coded;
use steward_models::{
    Arguments, Chat, Event, Finish, Launched, Launcher, LlamaOptions, LlamaServer, Local, Model, ModelError,
    ModelPurpose, ModelServices, ModelSettings, ModelUse, OfferedTool, Recorder, Replayer, Turn, build,
};
use tokio::net::TcpListener;

use crate::fake::{Act, Fake};
use crate::{conversation, providers};

fn settings(text: Value) -> BTreeMap<String, ModelSettings> {
    serde_json::from_value(text).unwrap()
}

#[tokio::test]
async fn the_next_model_is_asked() {
    let kind = &providers::kinds()[0];
    let fine = Fake::start(vec![Act::json(200, &kind.whole)]).await;
    let long = (kind.overflow.0, kind.overflow.1.clone());
    for (fault, on, code, asked) in [
        ((429, json!({"error": "insufficient_quota"})), None, None, 1),
        (long.clone(), None, None, 1),
        (long, Some(json!(["transient"])), Some("MDL014"), 0),
        ((401, json!({"error": "no"})), None, Some("MDL003"), 0),
        ((401, json!({"error": "no"})), Some(json!(["any"])), None, 1),
    ] {
        let broken = Fake::start(vec![Act::json(fault.0, &fault.1)]).await;
        let mut text = json!({
            "main": {"base_url": format!("{}/v1", broken.url), "name": "main", "fallback": ["spare"]},
            "spare": {"provider": "openai", "base_url": format!("{}/v1", fine.url), "name": "spare"}});
        if let Some(on) = on {
            text["main"]["fallback_on"] = on;
        }
        let models = build(&settings(text), &ModelServices::default()).unwrap();
        let before = fine.count();
        let result = models.get("main").unwrap().chat(&providers::chat()).await;
        assert_eq!(result.as_ref().err().map(Coded::code), code, "{fault:?}");
        assert_eq!(fine.count() - before, asked, "{fault:?}");
    }
    // Both fail: both errors are listed.
    let broken = Fake::start(vec![Act::json(429, &json!({"error": "insufficient_quota"}))]).await;
    let one = json!({"base_url": format!("{}/v1", broken.url), "name": "one", "fallback": ["two"]});
    let two = json!({"base_url": format!("{}/v1", broken.url), "name": "two"});
    let models = build(&settings(json!({"one": one, "two": two})), &ModelServices::default()).unwrap();
    let failed = models.get("one").unwrap().chat(&providers::chat()).await.unwrap_err();
    assert!(
        failed.to_string().contains("one: MDL005") && failed.to_string().contains("two: MDL005"),
        "{failed}"
    );
    assert_eq!((failed.code(), failed.class()), ("MDL022", steward_domain::ErrorClass::Transient));
}

#[tokio::test]
async fn a_cassette_says_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape.jsonl");
    let kind = &providers::kinds()[0];
    let mut other = kind.whole.clone();
    other["choices"][0]["message"]["content"] = json!("mail jane@example.com, key sk-abcdefghijklmnop1234");
    let fake = Fake::start(vec![Act::json(200, &kind.whole), Act::json(200, &other)]).await;
    let recorder = Recorder::new(kind.client(&fake.url), &path).unwrap();
    let chat = providers::chat();
    let first = recorder.chat(&chat).await.unwrap();
    recorder.chat(&chat).await.unwrap();
    drop(fake);

    let tape = std::fs::read_to_string(&path).unwrap();
    assert!(
        !tape.contains("jane@") && !tape.contains("sk-abc") && !tape.contains("key-that-nobody"),
        "{tape}"
    );
    let replayer = Replayer::new("asked", &path).unwrap();
    let mut events = replayer.stream(&chat);
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event.unwrap());
    }
    assert_eq!(last, Some(Event::Done(Box::new(first.clone()))));
    // In the order of the recording, then the last one repeatedly. The time limit does not matter.
    let quick = Chat { timeout: Some(Duration::from_millis(1)), ..chat.clone() };
    for _ in 0..2 {
        assert!(replayer.chat(&quick).await.unwrap().text.starts_with("mail "));
    }

    let mut changed = chat.clone();
    changed.turns[1] = Turn::user("hello there");
    let failed = replayer.chat(&changed).await.unwrap_err();
    assert_eq!(failed.code(), "MDL017");
    assert!(
        failed.to_string().contains("/chat/turns/1/text") && failed.to_string().contains("hello there"),
        "{failed}"
    );
    let failed = Replayer::new("other", &path).unwrap().chat(&chat).await.unwrap_err();
    assert!(failed.to_string().contains("\"asked\" at /model"), "{failed}");

    std::fs::write(&path, "{\"key\": 1}\n").unwrap();
    assert!(Replayer::new("asked", &path).unwrap_err().to_string().contains("line 1"));
    assert_eq!(Replayer::new("asked", &folder.path().join("none")).unwrap_err().code(), "MDL018");
    assert_eq!(Recorder::new(Arc::new(Local), folder.path()).unwrap_err().code(), "MDL018");
}

#[tokio::test]
async fn a_real_model_from_its_cassette() {
    let path = Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/models"))
        .join("tests/it/cassettes/qwen2.5-coder-1.5b.jsonl");
    let replayer = Replayer::new("qwen", &path).unwrap();
    let turns = conversation::hold(&replayer).await.unwrap();
    let called: Vec<&str> = (turns.iter())
        .filter_map(|turn| match turn {
            Turn::Tool { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(called, ["get_temperature", "celsius_to_fahrenheit"]);
    assert!(matches!(turns.last(), Some(Turn::Assistant { text, .. }) if text.contains("44.6")), "{turns:?}");
}

fn tools() -> Vec<OfferedTool> {
    let tool = |name: &str, about: &str, parameters: Value| OfferedTool {
        name: name.to_owned(),
        description: about.to_owned(),
        parameters,
    };
    let numbers = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]});
    let mail = json!({"type": "object", "required": ["to", "text"], "properties": {"to": {"type": "string"}, "text": {"type": "string"}, "urgent": {"type": "boolean"}}});
    let weather = json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "kelvin"]}}});
    vec![
        tool("add_numbers", "The sum of two numbers", numbers),
        tool("send_mail", "Sends a message to a person", mail),
        tool("get_weather", "Weather and temperature of a city", weather),
    ]
}

#[tokio::test]
async fn the_floor() {
    for (question, wanted) in [
        ("add 2 and 3.5", Some(("add_numbers", json!({"a": 2, "b": 3.5})))),
        ("What is the sum of a=7 and b=-1?", Some(("add_numbers", json!({"a": 7, "b": -1})))),
        ("add 2", None),
        (
            "Send \"see you, it's late\" text=\"hi there\" to=ana urgent=yes",
            Some(("send_mail", json!({"to": "ana", "text": "hi there", "urgent": true}))),
        ),
        ("send a message to 'bo' saying 'hello'", Some(("send_mail", json!({"to": "bo", "text": "hello"})))),
        (
            "the weather in “New York” in kelvin please",
            Some(("get_weather", json!({"city": "New York", "unit": "kelvin"}))),
        ),
        ("tell me a joke", None),
        ("", None),
    ] {
        let mut chat = Chat { turns: vec![Turn::user(question)], tools: tools(), ..Chat::default() };
        let answer = Local.chat(&chat).await.unwrap();
        assert_eq!(Local.chat(&chat).await.unwrap(), answer, "always the same");
        let call = answer.calls.first();
        let Some((name, arguments)) = wanted else {
            assert!(call.is_none() && !answer.text.is_empty(), "{question}: {answer:?}");
            continue;
        };
        let call = call.unwrap_or_else(|| panic!("{question}: {answer:?}"));
        assert_eq!(
            (call.name.as_str(), &call.arguments),
            (name, &Arguments::from_value(&arguments)),
            "{question}"
        );
        chat.turns.extend([answer.turn(), Turn::tool(call, "the result")]);
        let answer = Local.chat(&chat).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.finish), ("the result", Finish::Stop));
        // A new question starts again.
        chat.turns.push(Turn::user("add 1 and 2"));
        assert_eq!(Local.chat(&chat).await.unwrap().calls[0].name, "add_numbers");
    }
}

/// Starts no process, only a server inside the test.
#[derive(Default)]
pub(crate) struct Pretend {
    pub(crate) acts: Vec<Act>,
    pub(crate) running: Mutex<Vec<Process>>,
    pub(crate) stopped: Arc<AtomicUsize>,
    pub(crate) dies: bool,
}

/// What a process is here: a server, and the news of its end.
pub(crate) type Process = Arc<(Mutex<Option<Fake>>, tokio::sync::Notify)>;

struct Pretended(Process, Arc<AtomicUsize>);

fn kill(process: &Process) {
    *process.0.lock().unwrap() = None;
    process.1.notify_one();
}

#[async_trait]
impl Launcher for Pretend {
    async fn launch(
        &self,
        program: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
    ) -> Result<Box<dyn Launched>, String> {
        assert_eq!((program, env["LLAMA_API_KEY"].len()), ("llama-server", 64));
        let after = |word: &str| args[args.iter().position(|known| known == word).unwrap() + 1].clone();
        assert_eq!(after("--alias"), "mine", "it must not call the model by its path");
        let port = after("--port");
        let listener =
            TcpListener::bind(format!("127.0.0.1:{port}")).await.map_err(|error| error.to_string())?;
        let server = Mutex::new(Some(Fake::on(listener, self.acts.clone())));
        let process: Process = Arc::new((server, tokio::sync::Notify::new()));
        if self.dies {
            kill(&process);
        }
        self.running.lock().unwrap().push(Arc::clone(&process));
        Ok(Box::new(Pretended(process, Arc::clone(&self.stopped))))
    }
}

#[async_trait]
impl Launched for Pretended {
    async fn ended(&mut self) -> String {
        self.0.1.notified().await;
        "exit status 1".to_owned()
    }

    async fn stop(self: Box<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Pretended {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap() = None;
    }
}

#[tokio::test]
async fn a_server_of_our_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.gguf");
    std::fs::write(&file, "x").unwrap();
    let whole = Act::json(200, &providers::kinds()[0].whole);
    let launcher = Arc::new(Pretend { acts: vec![whole], ..Pretend::default() });
    let mut options = LlamaOptions::new("mine", &file);
    options.client.backoff = Duration::from_millis(1);
    let model = LlamaServer::new(options.clone(), launcher.clone());
    let chat = providers::chat();
    assert_eq!(launcher.running.lock().unwrap().len(), 0, "nothing runs before the first question");
    let both = tokio::join!(model.chat(&chat), model.chat(&chat));
    assert!(both.0.is_ok() && both.1.is_ok(), "{both:?}");
    assert_eq!(launcher.running.lock().unwrap().len(), 1, "one server for all");
    model.close().await;
    assert_eq!(launcher.stopped.load(Ordering::SeqCst), 1);
    assert!(model.chat(&chat).await.is_ok());
    assert_eq!(launcher.running.lock().unwrap().len(), 2, "started again");
    let second = Arc::clone(&launcher.running.lock().unwrap()[1]);
    kill(&second);
    assert!(model.chat(&chat).await.is_ok());
    assert_eq!(launcher.running.lock().unwrap().len(), 3, "and again after its death");

    let dying = Arc::new(Pretend { dies: true, ..Pretend::default() });
    let failed = LlamaServer::new(options.clone(), dying.clone()).chat(&chat).await.unwrap_err();
    assert_eq!(failed.code(), "MDL021");
    assert!(failed.to_string().contains("exit status 1"), "{failed}");
    assert_eq!(dying.running.lock().unwrap().len(), 3);
    options.file = folder.path().join("none.gguf");
    let failed = LlamaServer::new(options, launcher).chat(&chat).await.unwrap_err();
    assert!(failed.to_string().contains("none.gguf"), "{failed}");
}

#[tokio::test]
async fn settings_are_checked() {
    for (text, code, words) in [
        (json!({"name": "x"}), "MDL019", "base_url"),
        (json!({"base_url": "http://h/v1"}), "MDL019", "`name`"),
        (json!({"base_url": "nonsense", "name": "x"}), "MDL001", "address"),
        (json!({"provider": "llama_cpp", "name": "x"}), "MDL019", "`file`"),
        (json!({"provider": "llama_cpp", "name": "x", "file": "m.gguf"}), "MDL019", "child process"),
        (json!({"provider": "ollama", "name": "x", "file": "m.gguf"}), "MDL019", "llama_cpp"),
        (json!({"provider": "ollama", "name": "x", "fallback": ["m"]}), "MDL019", "fallback"),
        (json!({"provider": "ollama", "name": "x", "fallback": ["none"]}), "MDL019", "none"),
        (json!({"provider": "ollama", "name": "x", "record": "a", "replay": "b"}), "MDL019", "not both"),
        (json!({"provider": "ollama", "name": "x", "temperature": 3}), "MDL019", "temperature"),
        (
            json!({"provider": "ollama", "name": "x", "price": {"input_per_million": -1, "output_per_million": 1}}),
            "MDL019",
            "price",
        ),
        (
            json!({"provider": "anthropic", "name": "x", "replay": "/nonexistent/tape"}),
            "MDL018",
            "/nonexistent/tape",
        ),
    ] {
        let failed = build(&settings(json!({"m": text})), &ModelServices::default()).unwrap_err();
        assert_eq!(failed.code(), code, "{text}: {failed}");
        assert!(failed.to_string().contains(words), "{text}: {failed}");
    }
    assert!(serde_json::from_value::<ModelSettings>(json!({"name": "x", "api_key": "sk-1"})).is_err());
    let models =
        build(&settings(json!({"floor": {"provider": "local"}})), &ModelServices::default()).unwrap();
    assert_eq!(
        (models.names().collect::<Vec<_>>(), models.get("floor").unwrap().name()),
        (vec!["floor"], "local")
    );
    assert!(models.get("other").is_none());
    models.close().await;
}

/// A model without its key does not affect others, and its use fails with that reason.
#[tokio::test]
async fn a_missing_key_is_told_when_the_model_is_used() {
    for (text, words) in [
        (
            json!({"provider": "anthropic", "name": "x", "key_variable": "STEWARD_TEST_NO_SUCH_KEY"}),
            "SUCH_KEY",
        ),
        (json!({"provider": "anthropic", "name": "x", "key_file": "/nonexistent/key"}), "/nonexistent/key"),
    ] {
        let both = settings(json!({"m": text, "floor": {"provider": "local"}}));
        let models = build(&both, &ModelServices::default()).unwrap();
        assert!(models.problem("floor").is_none());
        assert!(models.problem("m").unwrap().to_string().contains(words));
        let chat = Chat { turns: vec![Turn::user("hello")], ..Chat::default() };
        let failed = models.get("m").unwrap().chat(&chat).await.unwrap_err();
        assert_eq!(failed.code(), "MDL020", "{failed}");
        assert!(models.get("floor").unwrap().chat(&chat).await.is_ok());
    }
}

#[test]
fn a_purpose_has_its_model_or_the_default() {
    let set = settings(json!({
        "big": {"provider": "local", "send_samples": true},
        "quiet": {"provider": "local", "send_results": false},
    }));
    let made = || build(&set, &ModelServices::default()).unwrap();
    let uses = |text: Value| serde_json::from_value::<ModelUse>(text).unwrap();
    let models = made().with_uses(&uses(json!({"default": "big", "ask": "quiet"}))).unwrap();
    let chosen = |purpose| models.for_purpose(purpose).map(|chosen| chosen.name);
    assert_eq!(chosen(ModelPurpose::Chat).as_deref(), Some("big"));
    assert_eq!(chosen(ModelPurpose::Ask).as_deref(), Some("quiet"));
    let ask = models.for_purpose(ModelPurpose::Ask).unwrap();
    assert!(!ask.send_samples && !ask.send_results);
    assert!(made().for_purpose(ModelPurpose::Chat).is_none(), "nothing is used unless it is said");
    let failed = made().with_uses(&uses(json!({"chat": "none"}))).unwrap_err();
    assert!(failed.to_string().contains("use: chat"), "{failed}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "secret-from-a-file\n").unwrap();
    let fake = Fake::start(vec![Act::json(200, &providers::kinds()[0].whole)]).await;
    let text = json!({"m": {"base_url": format!("{}/v1", fake.url), "name": "x", "key_file": key}});
    for mode in [0o644, 0o640, 0o604] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        let models = build(&settings(text.clone()), &ModelServices::default()).unwrap();
        let failed = models.problem("m").unwrap();
        assert!(
            failed.to_string().contains("chmod 600") && !failed.to_string().contains("secret-from"),
            "{failed}"
        );
    }
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let models = build(&settings(text), &ModelServices::default()).unwrap();
    models.get("m").unwrap().chat(&providers::chat()).await.unwrap();
    assert!(fake.asked(0).0.contains("Bearer secret-from-a-file"));
}

#[tokio::test]
async fn models_of_one_account_share_its_limits() {
    let fake = Fake::start(vec![Act::json(200, &providers::kinds()[0].whole)]).await;
    let one =
        |name: &str| json!({"base_url": format!("{}/v1", fake.url), "name": name, "max_concurrency": 1});
    let models = build(&settings(json!({"a": one("a"), "b": one("b")})), &ModelServices::default()).unwrap();
    let (a, b, chat) = (models.get("a").unwrap(), models.get("b").unwrap(), providers::chat());
    let all = futures_util::future::join_all((0..4).flat_map(|_| [a.chat(&chat), b.chat(&chat)])).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!((fake.count(), fake.busiest.load(Ordering::SeqCst)), (8, 1));
}

/// A model that supports only text.
struct Parrot;

#[async_trait]
impl Model for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }

    async fn complete(&self, request: &steward_models::Request) -> Result<steward_models::Reply, ModelError> {
        let text = request.messages.last().map(|message| message.content.clone()).unwrap_or_default();
        Ok(steward_models::Reply {
            text,
            json: None,
            input_tokens: 1,
            output_tokens: 2,
            cost_micros: None,
            model: "parrot".to_owned(),
        })
    }
}

#[tokio::test]
async fn a_text_machine_is_a_model_too() {
    let chat = Chat { turns: vec![Turn::user("polly")], ..Chat::default() };
    let mut events = Parrot.stream(&chat);
    assert_eq!(events.next().await, Some(Ok(Event::TextDelta("polly".to_owned()))));
    assert!(matches!(events.next().await, Some(Ok(Event::Usage(usage))) if usage.output == 2));
    assert!(matches!(events.next().await, Some(Ok(Event::Done(answer))) if answer.text == "polly"));
    assert_eq!(events.next().await, None);
    let failed = Parrot.chat(&Chat { tools: tools(), ..chat.clone() }).await.unwrap_err();
    assert_eq!(failed.code(), "MDL016");
}
