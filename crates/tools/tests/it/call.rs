//! The call path: one door, many ways to fail.

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_domain::{
    ApprovalMode, Check as _, Idempotency, JsonObject, Outcome, ToolDefinition, ToolId, ToolOrigin, Valid,
};
use steward_journal::clock::SystemClock;
use steward_journal::random::SystemRandom;
use steward_policy::{AdmittedCall, Approval, Caller, Provenance};
use steward_tools::call::{ArtifactSink, Ending, Intent, Ledger, Refused, Request, ToolGateway};
use steward_tools::registry::Registry;
use steward_tools::{Content, Context, Error, Output, Poll, Registered, Result, Settings, Tool};

/// What a tool does when it is called once.
type Line = Box<dyn Fn() -> Result<Output> + Send>;

/// A tool that does what its script says, and then its last line for ever.
struct Scripted {
    script: Mutex<VecDeque<Line>>,
    calls: AtomicU32,
    slow: Option<Duration>,
}

#[async_trait]
impl Tool for Scripted {
    async fn call(&self, _: &AdmittedCall, _: &Context) -> Result<Output> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if let Some(time) = self.slow {
            tokio::time::sleep(time).await;
        }
        let mut script = self.script.lock().unwrap();
        let line = if script.len() > 1 { script.pop_front() } else { None };
        match line {
            Some(line) => line(),
            None => script.front().unwrap()(),
        }
    }
}

fn does(script: Vec<Line>) -> Arc<Scripted> {
    Arc::new(Scripted { script: Mutex::new(script.into()), calls: AtomicU32::new(0), slow: None })
}

fn says(text: &'static str) -> Arc<Scripted> {
    does(vec![Box::new(move || Ok(Output::text(text)))])
}

fn gone(sent: bool) -> Error {
    Error::ServerGone { server: "s".into(), detail: "it died".into(), sent }
}

/// A ledger that keeps what it is told.
#[derive(Default)]
struct Book {
    lines: Mutex<Vec<String>>,
    full: Mutex<bool>,
    torn: Mutex<bool>,
}

#[async_trait]
impl Ledger for Book {
    async fn intend(&self, intent: &Arc<Intent>) -> Result<()> {
        if *self.full.lock().unwrap() {
            return Err(Error::Ledger { detail: "the disk is full".into() });
        }
        self.lines
            .lock()
            .unwrap()
            .push(format!("intend {} #{}", intent.definition.tool_name, intent.attempt));
        Ok(())
    }
    async fn end(&self, ending: Ending) -> Result<()> {
        if *self.torn.lock().unwrap() {
            return Err(Error::Ledger { detail: "the disk is full".into() });
        }
        if !ending.intended {
            self.intend(&ending.intent).await?;
        }
        let name = &ending.intent.definition.tool_name;
        self.lines.lock().unwrap().push(format!("end {name} {}", ending.outcome.name()));
        Ok(())
    }
    async fn refuse(&self, refused: Refused) -> Result<()> {
        self.lines.lock().unwrap().push(format!("{} {}", refused.decision, refused.rule));
        Ok(())
    }
}

#[derive(Default)]
struct Shelf(Mutex<Vec<(String, usize)>>);

#[async_trait]
impl ArtifactSink for Shelf {
    async fn keep(&self, _: &Arc<Intent>, name: &str, _: &str, bytes: &[u8]) -> Result<Content> {
        self.0.lock().unwrap().push((name.to_owned(), bytes.len()));
        Ok(Content::Link {
            uri: format!("artifact://results/1/{name}"),
            name: name.to_owned(),
            mime_type: None,
        })
    }
}

struct AppContext {
    gateway: ToolGateway,
    book: Arc<Book>,
    shelf: Arc<Shelf>,
}

fn app(tools: Vec<Registered>) -> AppContext {
    let (book, shelf) = (Arc::new(Book::default()), Arc::new(Shelf::default()));
    let registry = Registry::new(tools);
    let (clock, random) = (Arc::new(SystemClock::default()), Arc::new(SystemRandom));
    AppContext {
        gateway: ToolGateway::new(registry, book.clone(), shelf.clone(), clock, random),
        book,
        shelf,
    }
}

impl AppContext {
    async fn call(&self, tool: &str, arguments: Json) -> Result<steward_tools::call::Receipt> {
        self.gateway.call(&request(tool, arguments)).await
    }
    fn lines(&self) -> Vec<String> {
        self.book.lines.lock().unwrap().clone()
    }
}

fn map(value: Json) -> JsonObject {
    match value {
        Json::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

fn request(tool: &str, arguments: Json) -> Request {
    Request::new(Caller::owner("ada".parse().unwrap()), tool, map(arguments))
}

fn definition(name: &str, change: impl FnOnce(&mut ToolDefinition)) -> Valid<ToolDefinition> {
    let mut definition: ToolDefinition = serde_json::from_value(json!({
        "id": "00000000-0000-4000-8000-000000000000", "tool_name": name, "tool_version": "1.0.0",
        "application_domain": "generic", "origin": "builtin",
        "description": "A tool of the tests, which does nothing but what its script tells it to do.",
        "parameter_schema": { "type": "object", "properties": { "n": { "type": "integer", "maximum": 100 } } },
        "idempotency": "read_only",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    }))
    .unwrap();
    let mut bytes = [0_u8; 16];
    for (place, byte) in name.bytes().enumerate() {
        bytes[place % 16] ^= byte.rotate_left(u32::try_from(place / 16).unwrap());
    }
    definition.id = ToolId(uuid::Uuid::from_bytes(bytes));
    change(&mut definition);
    definition.validate().unwrap()
}

fn registered(definition: Valid<ToolDefinition>, settings: Settings, tool: Arc<Scripted>) -> Registered {
    Registered { definition: Arc::new(definition), settings: Arc::new(settings), tool }
}

fn plain(name: &str, tool: Arc<Scripted>) -> Registered {
    registered(definition(name, |_| {}), Settings::default(), tool)
}

#[tokio::test]
async fn a_call_is_written_down_before_and_after() {
    let app = app(vec![plain("t.one", says("hello"))]);
    let receipt = app.call("t.one", json!({ "n": 1 })).await.unwrap();
    assert_eq!(receipt.output.words(), "hello");
    assert_eq!(app.lines(), ["intend t.one #1", "end t.one success"]);
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_called() {
    let (tool, look) = (says("hello"), says("hello"));
    let changes = definition("t.change", |definition| definition.idempotency = Idempotency::Keyed);
    let changes = registered(changes, Settings::default(), tool.clone());
    let app = app(vec![changes, plain("t.look", look)]);
    *app.book.full.lock().unwrap() = true;
    assert!(matches!(app.call("t.change", json!({})).await, Err(Error::Ledger { .. })));
    assert_eq!(tool.calls.load(Ordering::SeqCst), 0);
    // A read goes out before it is written down; its answer is not handed over without that.
    assert!(matches!(app.call("t.look", json!({})).await, Err(Error::Ledger { .. })));
}

#[tokio::test]
async fn an_outcome_that_cannot_be_written_down_is_unknown() {
    let changes = definition("t.change", |definition| definition.idempotency = Idempotency::Keyed);
    let changes = registered(changes, Settings::default(), says("hello"));
    let app = app(vec![changes, plain("t.look", says("hello"))]);
    *app.book.torn.lock().unwrap() = true;
    let error = app.call("t.change", json!({})).await.unwrap_err();
    assert!(matches!(&error, Error::UnknownOutcome { detail, .. } if detail.contains("disk")), "{error}");
    // A read changed nothing, whatever became of its answer.
    assert!(matches!(app.call("t.look", json!({})).await, Err(Error::Ledger { .. })));
}

/// A read that takes its time is in the book before its answer is there; a quick one is written
/// once.
#[tokio::test]
async fn a_slow_read_is_written_down_while_it_is_made() {
    let slow = Scripted { slow: Some(Duration::from_secs(30)), ..Arc::into_inner(says("hello")).unwrap() };
    let app = app(vec![plain("t.slow", Arc::new(slow))]);
    let call = app.call("t.slow", json!({}));
    assert!(tokio::time::timeout(Duration::from_millis(300), call).await.is_err());
    assert_eq!(app.lines(), ["intend t.slow #1"]);
}

#[tokio::test]
async fn arguments_are_checked_before_anything_else() {
    let tool = says("hello");
    let app = app(vec![plain("t.one", tool.clone())]);
    let Err(Error::Arguments { problems, .. }) = app.call("t.one", json!({ "n": 500 })).await else {
        panic!("must be refused")
    };
    assert_eq!(problems, ["n: 500 is greater than the maximum of 100"]);
    assert_eq!(tool.calls.load(Ordering::SeqCst), 0);
    assert!(app.lines().is_empty());
}

/// What the tool does, what it is, how often it was called, what the caller hears and what the
/// record says.
#[tokio::test]
async fn a_call_is_repeated_only_where_that_is_safe() {
    let failed = |transient| move || Error::Failed { tool: "t".into(), message: "no".into(), transient };
    let check = async |idempotency, error: &dyn Fn() -> Error, calls: u32, heard: &str, record: Outcome| {
        let made = error();
        let tool = does(vec![Box::new(move || Err(made.clone()))]);
        let settings = Settings { retries: 2, ..Settings::default() };
        let definition = definition("t.one", |definition| definition.idempotency = idempotency);
        let app = app(vec![registered(definition, settings, tool.clone())]);
        let error = app.call("t.one", json!({})).await.unwrap_err();
        let (made, text) = (tool.calls.load(Ordering::SeqCst), error.to_string());
        assert_eq!(made, calls, "{idempotency:?} {text}");
        assert!(text.contains(heard), "{idempotency:?}: {text}");
        assert_eq!(app.lines().last().unwrap(), &format!("end t.one {}", record.name()));
    };
    use Idempotency::{Keyed, None, ReadOnly};
    check(ReadOnly, &|| gone(true), 3, "went away", Outcome::Error).await;
    check(Keyed, &|| gone(true), 3, "went away", Outcome::Error).await;
    // The request had been sent and the tool has effects: nobody knows, and nobody tries again.
    check(None, &|| gone(true), 1, "nobody knows what came of it", Outcome::Unknown).await;
    // It was certainly not reached.
    check(None, &|| gone(false), 3, "went away", Outcome::Error).await;
    check(ReadOnly, &failed(true), 3, "failed: no", Outcome::Error).await;
    check(ReadOnly, &failed(false), 1, "failed: no", Outcome::Error).await;
    check(None, &failed(true), 1, "failed: no", Outcome::Error).await;
}

/// What a tool of a server says when it fails, and how often it is then called with one retry
/// allowed.
#[tokio::test]
async fn a_failure_that_says_it_may_pass_is_tried_again() {
    use Idempotency::{Keyed, None, ReadOnly};
    let check = async |idempotency, origin, message: &str, calls: u32| {
        let said = message.to_owned();
        let failed = move || Err(Error::Failed { tool: "t".into(), message: said.clone(), transient: false });
        let tool = does(vec![Box::new(failed)]);
        let definition = definition("t.one", |definition| {
            definition.idempotency = idempotency;
            definition.origin = origin;
            definition.server = (origin == ToolOrigin::Mcp).then(|| "t".parse().unwrap());
        });
        let settings = Settings { retries: 1, ..Settings::default() };
        let app = app(vec![registered(definition, settings, tool.clone())]);
        assert!(matches!(app.call("t.one", json!({})).await, Err(Error::Failed { .. })));
        assert_eq!(tool.calls.load(Ordering::SeqCst), calls, "{idempotency:?} {origin:?} {message}");
    };
    let late = format!("{} timed out", "x".repeat(300));
    for (message, calls) in [
        ("Service Unavailable (503)", 2),
        ("Rate limit reached, slow down", 2),
        ("the request timed out after 30 s", 2),
        ("Timeout.", 2),
        ("429 Too Many Requests", 2),
        ("no such file: timeout.txt", 1),
        ("invalid argument timeout: 12", 1),
        ("that seat is unavailable on Monday", 1),
        (&late, 1),
    ] {
        check(ReadOnly, ToolOrigin::Mcp, message, calls).await;
    }
    check(Keyed, ToolOrigin::Mcp, "Service unavailable", 2).await;
    // It may have done something before it gave up.
    check(None, ToolOrigin::Mcp, "Service unavailable", 1).await;
    // Our own tools say themselves whether it may pass.
    check(ReadOnly, ToolOrigin::Builtin, "Service unavailable", 1).await;
}

#[tokio::test]
async fn a_slow_tool_costs_its_time_and_no_more() {
    let slow = Arc::new(Scripted {
        script: Mutex::new(vec![Box::new(|| Ok(Output::text("late"))) as Line].into()),
        calls: AtomicU32::new(0),
        slow: Some(Duration::from_secs(60)),
    });
    let app = app(vec![plain("t.slow", slow)]);
    let mut request = request("t.slow", json!({}));
    request.context.timeout = Duration::from_millis(50);
    let began = std::time::Instant::now();
    assert!(matches!(app.gateway.call(&request).await, Err(Error::Timeout { .. })));
    assert!(began.elapsed() < Duration::from_secs(5));
    request.context.timeout = Duration::from_secs(60);
    let cancel = request.context.cancel.clone();
    let (result, ()) = tokio::join!(app.gateway.call(&request), async {
        cancel.cancel();
    });
    assert!(matches!(result, Err(Error::Cancelled { .. })));
    assert_eq!(app.lines().last().unwrap(), "end t.slow cancelled");
}

#[tokio::test]
async fn another_tool_stands_in() {
    let first = does(vec![Box::new(|| Err(gone(true)))]);
    let effect = does(vec![Box::new(|| Err(gone(true)))]);
    let fallback =
        |definition: &mut ToolDefinition| definition.fallback_tools = vec!["t.two".parse().unwrap()];
    let app = app(vec![
        registered(definition("t.one", fallback), Settings::default(), first),
        plain("t.two", says("from the other")),
        registered(
            definition("t.effect", |definition| {
                fallback(definition);
                definition.idempotency = Idempotency::None;
            }),
            Settings::default(),
            effect,
        ),
    ]);
    let receipt = app.call("t.one", json!({})).await.unwrap();
    assert_eq!((receipt.tool.as_str(), receipt.output.words().as_str()), ("t.two", "from the other"));
    assert!(receipt.notes[0].starts_with("t.two stood in for t.one"), "{:?}", receipt.notes);
    // After an effect that may have happened, no second effect is tried.
    assert!(matches!(app.call("t.effect", json!({})).await, Err(Error::UnknownOutcome { .. })));
}

#[tokio::test]
async fn the_same_call_over_and_over_is_noticed() {
    let tool = says("the same");
    let app = app(vec![plain("t.one", tool.clone())]);
    let mut request = request("t.one", json!({ "n": 1 }));
    request.chain = Some(steward_domain::TaskId(uuid::Uuid::from_u128(7)).into());
    for _ in 0..3 {
        app.gateway.call(&request).await.unwrap();
    }
    assert!(matches!(app.gateway.call(&request).await, Err(Error::Repeated { times: 3, .. })));
    request.arguments = map(json!({ "n": 2 }));
    app.gateway.call(&request).await.unwrap();
    assert_eq!(tool.calls.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn approval_is_bound_to_what_was_shown() {
    let always = definition("t.one", |definition| definition.approval = ApprovalMode::Always);
    let app = app(vec![registered(always, Settings::default(), says("done"))]);
    let mut request = request("t.one", json!({ "n": 1 }));
    let Err(Error::ApprovalNeeded(needed)) = app.gateway.call(&request).await else { panic!("asks") };
    request.approval = Some(Approval { digest: needed.digest, by: "bob".parse().unwrap(), gate: None });
    app.gateway.call(&request).await.unwrap();
    request.arguments = map(json!({ "n": 2 }));
    assert!(matches!(app.gateway.call(&request).await, Err(Error::Denied { rule: "approval", .. })));
    assert_eq!(app.lines(), ["ask approval", "intend t.one #1", "end t.one success", "deny approval"]);
}

#[tokio::test]
async fn untrusted_arguments_are_asked_about() {
    let careful = |name: &str, idempotency: Idempotency| {
        let made = definition(name, |definition| {
            (definition.approval, definition.idempotency) = (ApprovalMode::WhenUntrusted, idempotency);
        });
        registered(made, Settings::default(), says("done"))
    };
    let app = app(vec![careful("t.set", Idempotency::Keyed), careful("t.get", Idempotency::ReadOnly)]);
    let mut change = request("t.set", json!({ "n": 1 }));
    app.gateway.call(&change).await.unwrap();
    change.provenance.insert("n".into(), Provenance::Untrusted);
    assert!(matches!(app.gateway.call(&change).await, Err(Error::ApprovalNeeded(_))));
    let mut read = request("t.get", json!({ "n": 1 }));
    read.provenance.insert("n".into(), Provenance::Untrusted);
    app.gateway.call(&read).await.unwrap();
}

#[tokio::test]
async fn a_result_that_breaks_its_promise_is_not_handed_on() {
    let promised = |definition: &mut ToolDefinition| {
        definition.return_schema = map(json!({ "type": "object", "required": ["total"] }));
    };
    let good = does(vec![Box::new(|| Ok(Output::json(json!({ "total": 1 }))))]);
    let bad = does(vec![Box::new(|| Ok(Output::json(json!({ "sum": 1 }))))]);
    let tools = [("t.good", good), ("t.bad", bad), ("t.none", says("just words"))];
    let tools = tools.map(|(name, tool)| registered(definition(name, promised), Settings::default(), tool));
    let app = app(tools.into());
    app.call("t.good", json!({})).await.unwrap();
    assert!(matches!(app.call("t.bad", json!({})).await, Err(Error::BadResult { .. })));
    assert!(matches!(app.call("t.none", json!({})).await, Err(Error::BadResult { .. })));
}

#[tokio::test]
async fn a_large_result_is_kept_whole_and_handed_over_in_part() {
    let large = does(vec![Box::new(|| Ok(Output::text("x".repeat(100_000))))]);
    let settings = Settings { result_bytes: Some(1000), ..Settings::default() };
    let app = app(vec![registered(definition("t.one", |_| {}), settings, large)]);
    let receipt = app.call("t.one", json!({})).await.unwrap();
    assert_eq!(*app.shelf.0.lock().unwrap(), [("text-1".to_owned(), 100_000)]);
    assert!(receipt.output.words().len() < 1000);
    let link = receipt.output.content.last().unwrap();
    assert!(matches!(link, Content::Link { uri, .. } if uri == "artifact://results/1/text-1"));
}

#[tokio::test]
async fn a_polling_pair_is_one_call() {
    let pending = || Ok(Output::json(json!({ "status": "EXECUTING_QUERY", "id": "q1" })));
    let first = does(vec![Box::new(pending)]);
    let asked = does(vec![
        Box::new(pending),
        Box::new(pending),
        Box::new(|| Ok(Output::json(json!({ "status": "COMPLETED", "answer": 42 })))),
    ]);
    let poll = Poll {
        tool: "t.poll".parse().unwrap(),
        carry: vec!["id".into()],
        status: "status".into(),
        pending: vec!["executing_query".into()],
        interval_ms: 1,
    };
    let settings = Settings { poll: Some(poll), ..Settings::default() };
    let needs_id = |definition: &mut ToolDefinition| {
        definition.parameter_schema = map(json!({ "type": "object", "required": ["id"] }));
    };
    let app = app(vec![
        registered(definition("t.query", |_| {}), settings, first),
        registered(definition("t.poll", needs_id), Settings::default(), asked.clone()),
    ]);
    let receipt = app.call("t.query", json!({})).await.unwrap();
    assert_eq!(receipt.output.structured, Some(json!({ "status": "COMPLETED", "answer": 42 })));
    assert_eq!(asked.calls.load(Ordering::SeqCst), 3);
    assert_eq!(app.lines(), ["intend t.query #1", "end t.query success"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rate_limit_holds_under_a_hundred_callers() {
    let tool = says("hello");
    let settings = Settings { rate_limits: [("per_hour".to_owned(), 25)].into(), ..Settings::default() };
    let app = Arc::new(app(vec![registered(definition("t.one", |_| {}), settings, tool.clone())]));
    let mut callers = tokio::task::JoinSet::new();
    for n in 0..100 {
        let app = app.clone();
        callers.spawn(async move { app.call("t.one", json!({ "n": n })).await });
    }
    let results = callers.join_all().await;
    let allowed = results.iter().filter(|result| result.is_ok()).count();
    let limited = results.iter().filter(|result| matches!(result, Err(Error::RateLimited { .. }))).count();
    assert_eq!((allowed, limited), (25, 75));
    assert_eq!(tool.calls.load(Ordering::SeqCst), 25);
}

#[tokio::test]
async fn a_permission_taken_away_stops_the_very_next_call() {
    let tool = plain("t.one", says("hello"));
    let app = app(vec![tool.clone()]);
    let mut request = request("t.one", json!({}));
    request.caller.permissions = Some(Default::default());
    app.gateway.call(&request).await.unwrap();
    let needs = Settings { permissions: vec!["t:use".parse().unwrap()], ..Settings::default() };
    app.gateway.registry().set_builtin(vec![Registered { settings: Arc::new(needs), ..tool }]);
    assert!(matches!(app.gateway.call(&request).await, Err(Error::Denied { rule: "permission", .. })));
    // Whoever is no administrator hears what they would hear of a tool that is not there; the
    // record knows better.
    request.caller.administrator = false;
    let hidden = app.gateway.call(&request).await.unwrap_err().to_string();
    request.tool = "t.none".into();
    let missing = app.gateway.call(&request).await.unwrap_err().to_string();
    assert_eq!(hidden.replace("t.one", "t.none"), missing);
    assert_eq!(app.lines().last().unwrap(), "deny permission");
}
