//! Steward behind the door: a real store, a real toolbox over the example's to-do list, and people
//! of whom one may approve.

use super::fake::{BOT, Call, Fake, Posted};
use ring::hmac;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use steward_analysis::session;
use steward_domain::UserId;
use steward_journal::clock::{Clock as _, SystemClock};
use steward_journal::keys;
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_language::Encoder;
use steward_models::Models;
use steward_policy::Caller;
use steward_runtime::ask::AppContext;
use steward_runtime::converse::{ChatService, Limits};
use steward_runtime::run::Runner;
use steward_runtime::toolbox::{self, AnalysisRules, Toolbox};
use steward_server::slack::{self, Options, People, Secret, Slack};
use steward_store::sqlite::SqliteStore;
use steward_store::{Store, StoreOptions};
use steward_tools::builtin::file::Root;
use steward_tools::call::Request;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// One for all tests: it remembers what it worked out.
static ENCODER: LazyLock<Arc<Encoder>> = LazyLock::new(Arc::default);

pub(crate) const SIGNING: &str = "shhh";
/// As the examples have it: what may change something must find it first, what deletes asks a
/// person.
const TOOLS: &str = "categories:
  example_apps:
    tools:
      todo.update_task: { requires_validation: true }
      todo.complete_task: { requires_validation: true }
      todo.delete_task: { requires_validation: true, approval: always }
";

/// Ana owns the machine and approves, Bob works here, nobody else is known. Somebody of another
/// workspace is somebody else.
struct Staff;

impl People for Staff {
    fn caller(&self, team: &str, slack_user: &str) -> Option<Caller> {
        let user = |name: &str| UserId::new(name).unwrap();
        match (team, slack_user) {
            ("T1", "UANA") => Some(Caller::owner(user("ana"))),
            ("T1", "UBOB") => Some(Caller { administrator: false, ..Caller::owner(user("bob")) }),
            _ => None,
        }
    }

    fn may_decide(&self, team: &str, slack_user: &str, _: &[String], _: &[&str]) -> bool {
        (team, slack_user) == ("T1", "UANA")
    }
}

fn runner(chat: &ChatService, home: &std::path::Path) -> Runner {
    let models = Models::default();
    Runner::new(chat.toolbox().clone(), Arc::new(models), home.to_owned()).unwrap()
}

pub(crate) struct Office {
    pub(crate) slack: Arc<Slack>,
    pub(crate) fake: Arc<Fake>,
    pub(crate) chat: Arc<ChatService>,
    _folder: tempfile::TempDir,
    pub(crate) address: String,
    options: Options,
    client: reqwest::Client,
    next: AtomicUsize,
    serving: Vec<JoinHandle<()>>,
}

impl Drop for Office {
    fn drop(&mut self) {
        self.serving.iter().for_each(JoinHandle::abort);
    }
}

fn examples() -> PathBuf {
    Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/server"))
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples/apps")
}

async fn chat_service(folder: &Path, apps: bool) -> ChatService {
    let signer = keys::load_or_create(&folder.join("journal.key"), &SystemRandom).unwrap();
    let options = StoreOptions {
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        redactor: Arc::new(Redactor::default()),
        signer: Arc::new(signer),
    };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.join("state.db"), options).unwrap());
    let app = AppContext {
        store,
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        artifacts: folder.join("artifacts"),
        encoder: ENCODER.clone(),
        model: None,
        samples_to_model: false,
        model_name: steward_domain::Label::new("model").unwrap(),
        ledger: Default::default(),
        options: session::Options::default(),
    };
    std::fs::create_dir_all(folder.join("config")).unwrap();
    if apps {
        std::fs::write(folder.join("config/tools.yaml"), TOOLS).unwrap();
        let args = json!([examples().join("todo.py"), "--today", "2026-03-02"]);
        let todo = json!({ "name": "todo", "application_domain": "todo", "transport": "stdio", "category": "example_apps",
            "config": { "command": "python3", "args": args } });
        let config = json!({ "servers": [todo] });
        std::fs::write(folder.join("config/mcp_servers.yaml"), config.to_string()).unwrap();
    }
    let options = toolbox::Options {
        home: folder.to_owned(),
        environment: steward_domain::Environment::Production,
        roots: vec![Root::read(folder)],
        rules: AnalysisRules::default(),
        launcher: None,
        watch: false,
        grants: Arc::new(Everybody),
    };
    ChatService::new(Arc::new(Toolbox::open(&app, options).await.unwrap()), Limits::default())
}

impl Office {
    /// With the example's to-do list.
    pub(crate) async fn open() -> Self {
        Self::with(true, |_, _| {}).await
    }

    pub(crate) async fn with(apps: bool, change: impl FnOnce(&mut Options, &Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (fake, faking) = Fake::start().await;
        let chat = Arc::new(chat_service(folder.path(), apps).await);
        let mut options = Options::new(Secret::new("xoxb-test"));
        options.base_url = format!("{}/api", fake.address);
        options.signing_secret = Some(Secret::new(SIGNING));
        options.app_token = Some(Secret::new("xapp-test"));
        options.contact = "<@UANA>".to_owned();
        options.reconnect_after = Duration::from_millis(5);
        options.progress_every = Duration::from_millis(5);
        change(&mut options, folder.path());
        let client = steward_models::connection(false).unwrap();
        let slack =
            Slack::new(chat.clone(), runner(&chat, folder.path()), Arc::new(Staff), options.clone()).unwrap();
        let (address, serving) = serve(slack.clone()).await;
        let serving = vec![faking, serving];
        Self {
            slack,
            fake,
            chat,
            _folder: folder,
            address,
            options,
            client,
            next: AtomicUsize::new(1),
            serving,
        }
    }

    /// Another process over the same store and the same application: it remembers nothing of the
    /// one before.
    pub(crate) async fn restart(&mut self) {
        self.slack.close(Duration::from_secs(60)).await;
        self.slack = Slack::new(
            self.chat.clone(),
            runner(&self.chat, self._folder.path()),
            Arc::new(Staff),
            self.options.clone(),
        )
        .unwrap();
        let (address, serving) = serve(self.slack.clone()).await;
        self.address = address;
        self.serving.push(serving);
    }

    /// Sends bytes as Slack does and gives the status and the body.
    pub(crate) async fn send(&self, path: &str, body: String, shift: i64, secret: &str) -> (u16, String) {
        let now = SystemClock::default().now().micros() / 1_000_000 + shift;
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let mac = hmac::sign(&key, format!("v0:{now}:{body}").as_bytes());
        let signature: String = mac.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let request = self.client.post(format!("{}{path}", self.address)).body(body);
        let request = request.header("x-slack-request-timestamp", now.to_string());
        let answer = request.header("x-slack-signature", format!("v0={signature}")).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    /// A request that carries no signature.
    pub(crate) async fn unsigned(&self, body: &str) -> u16 {
        let request = self.client.post(format!("{}/slack/events", self.address)).body(body.to_owned());
        request.send().await.unwrap().status().as_u16()
    }

    /// The envelope of an event with an id of its own.
    pub(crate) fn envelope(&self, mut event: Json) -> Json {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if event.get("ts").is_none() {
            event["ts"] = json!(format!("100.{number:06}"));
        }
        json!({ "type": "event_callback", "team_id": "T1", "event_id": format!("Ev{number}"), "event": event,
            "authorizations": [{ "user_id": BOT, "is_bot": true }] })
    }

    pub(crate) async fn event(&self, envelope: &Json) -> u16 {
        self.send("/slack/events", envelope.to_string(), 0, SIGNING).await.0
    }

    /// Somebody mentions Steward in a channel; gives what was answered last.
    pub(crate) async fn mention(&self, user: &str, thread: Option<&str>, text: &str) -> Posted {
        let mut event = json!({ "type": "app_mention", "user": user, "channel": "C1", "text": format!("<@{BOT}> {text}") });
        if let Some(thread) = thread {
            event["thread_ts"] = thread.into();
        }
        assert_eq!(self.event(&self.envelope(event)).await, 200);
        self.slack.idle().await;
        let last = self.fake.last();
        eprintln!("› {text}\n{}", last.text);
        last
    }

    /// Somebody presses a button.
    pub(crate) async fn press(&self, user: &str, post: &Posted, label: &str) {
        let (_, action) =
            post.buttons().into_iter().find(|(shown, _)| shown == label).expect("the button is there");
        let payload = json!({ "type": "block_actions", "team": { "id": "T1" }, "user": { "id": user, "team_id": "T1" },
            "channel": { "id": post.channel }, "actions": [action],
            "message": { "ts": post.ts, "thread_ts": post.thread, "blocks": post.blocks } });
        let body = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("payload", &payload.to_string())
            .finish();
        assert_eq!(self.send("/slack/interactions", body, 0, SIGNING).await.0, 200);
        self.slack.idle().await;
    }

    /// What was said to one person only.
    pub(crate) fn whispers(&self) -> Vec<Call> {
        self.fake.calls("chat.postEphemeral")
    }

    /// A task of the to-do list, past the conversation.
    pub(crate) async fn task(&self, id: u32) -> Option<Json> {
        let mut arguments = serde_json::Map::new();
        arguments.insert("id".to_owned(), id.into());
        let request = Request::new(Caller::owner(UserId::new("ana").unwrap()), "todo.get_task", arguments);
        self.chat.toolbox().call(&request).await.ok()?.output.structured
    }

    pub(crate) async fn status(&self, id: u32) -> String {
        self.task(id).await.unwrap()["status"].as_str().unwrap().to_owned()
    }
}

async fn serve(slack: Arc<Slack>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, slack::router(slack)).await.unwrap() });
    (address, serving)
}

/// Everybody of the office holds everything.
struct Everybody;

impl steward_runtime::Grants for Everybody {
    fn of(&self, user: &UserId, _: &steward_tools::registry::Registry) -> Result<Caller, String> {
        Ok(Caller::owner(user.clone()))
    }
}
