//! Built-in tools from outside: paths under attack, and Slack over a real socket.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail loudly too"
)]

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use steward_domain::{CallId, Coded, ErrorClass, UserId};
use steward_policy::{AdmittedCall, Caller, Decision, Proposal, Provenance, Rules};
use steward_tools::builtin::file::Root;
use steward_tools::builtin::slack::{Config, Token};
use steward_tools::builtin::{Options, VERSION, all};
use steward_tools::process::{Running, Spec, start};
use steward_tools::{Context, Error, Output};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

const TOKEN: &str = "xoxb-very-secret-token";

fn admitted(name: &str, arguments: Json) -> AdmittedCall {
    let Json::Object(arguments) = arguments else { panic!("not an object") };
    let proposal = Proposal {
        accepted: "a".repeat(64).parse().unwrap(),
        effect: steward_policy::Effect::Change,
        call: CallId(Uuid::from_u128(7)),
        tool: name.parse().unwrap(),
        version: VERSION.parse().unwrap(),
        server: None,
        arguments,
        provenance: BTreeMap::new(),
        default_provenance: Provenance::User,
        approval: None,
    };
    match proposal.decide(&Caller::owner(UserId::new("ana").unwrap()), &Rules::default()) {
        Decision::Allow(call) => call,
        other => panic!("not admitted: {other:?}"),
    }
}

async fn call(options: &Options, name: &str, arguments: Json) -> Result<Output, Error> {
    let tool = all(options).into_iter().find(|tool| tool.name == name).unwrap();
    assert_eq!(tool.off, None);
    tool.tool.call(&admitted(name, arguments), &Context::within(Duration::from_secs(20))).await
}

/// A name is swapped between a folder and a symlink that leads out, as fast as it goes, while it is
/// read and written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_swapped_for_a_symlink_never_leads_out() {
    let kept = tempfile::tempdir().unwrap();
    let (root, outside) = (kept.path().join("root"), kept.path().join("outside"));
    for folder in [root.join("there"), outside.clone()] {
        fs::create_dir_all(&folder).unwrap();
    }
    fs::write(root.join("there/file"), "inside").unwrap();
    fs::write(outside.join("file"), "SECRET").unwrap();
    let options = Options { roots: vec![Root::write(&root)], ..Options::default() };
    let stop = AtomicBool::new(false);
    let runtime = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (there, away) = (root.join("there"), root.join("away"));
                while !stop.load(Ordering::Relaxed) {
                    fs::rename(&there, &away).unwrap();
                    symlink(&outside, &there).unwrap();
                    fs::remove_file(&there).unwrap();
                    fs::rename(&away, &there).unwrap();
                }
            });
            let mut read = 0;
            for _ in 0..500 {
                let arguments = json!({ "path": "there/file" });
                if let Ok(output) = runtime.block_on(call(&options, "file.read", arguments)) {
                    let content = output.structured.unwrap()["content"].as_str().unwrap().to_owned();
                    assert!(!content.contains("SECRET"));
                    read += 1;
                }
                let arguments = json!({ "path": "there/file", "content": "inside", "mode": "overwrite" });
                let _ = runtime.block_on(call(&options, "file.write", arguments));
            }
            stop.store(true, Ordering::Relaxed);
            assert!(read > 0, "some reads come through");
        });
    });
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "SECRET");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing was made outside");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_path_reaches_what_is_not_granted(steps in prop::collection::vec(
        prop::sample::select(vec!["..", ".", "a", "b", "up", "top", "here", "secret", "root", "", "a/..", "\u{0}"]), 0..10,
    ), absolute in any::<bool>()) {
        let kept = tempfile::tempdir().unwrap();
        let root = kept.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(kept.path().join("secret"), "SECRET").unwrap();
        fs::write(root.join("a/secret"), "inside").unwrap();
        symlink("..", root.join("a/up")).unwrap();
        symlink("../..", root.join("a/b/top")).unwrap();
        symlink(kept.path(), root.join("top")).unwrap();
        symlink(&root, root.join("here")).unwrap();
        let options = Options { roots: vec![Root::write(&root)], ..Options::default() };
        let path = steps.join("/");
        let path = if absolute { format!("{}/{path}", root.display()) } else { path };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            if let Ok(output) = call(&options, "file.read", json!({ "path": path })).await {
                assert!(!output.words().contains("SECRET"), "{path}");
            }
            let _ = call(&options, "file.write", json!({ "path": path, "content": "x", "mode": "overwrite" })).await;
            let _ = call(&options, "file.list", json!({ "path": path, "depth": 16 })).await;
        });
        assert_eq!(fs::read_to_string(kept.path().join("secret")).unwrap(), "SECRET");
        assert_eq!(fs::read_dir(kept.path()).unwrap().count(), 2);
    }
}

/// A server that gives one answer to each request, over a real socket, and shows what it was asked.
async fn serve(answers: &[(&str, &str, &str)]) -> (Options, tokio::task::JoinSet<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = slack(&format!("http://{}/api", listener.local_addr().unwrap()));
    let answers: Vec<(String, String, String)> =
        answers.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let mut asked = Vec::new();
        for (status, headers, body) in answers {
            let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::from_secs(20), listener.accept()).await
            else {
                break;
            };
            asked.push(answer(stream, &status, &headers, &body).await);
        }
        asked
    });
    (options, tasks)
}

async fn answer(mut stream: TcpStream, status: &str, headers: &str, body: &str) -> String {
    let mut reader = BufReader::new(&mut stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut form = vec![0; length];
    reader.read_exact(&mut form).await.unwrap();
    // An empty status is a connection that breaks after the question was heard.
    if !status.is_empty() {
        let head = format!(
            "HTTP/1.1 {status}\r\n{headers}content-type: application/json\r\ncontent-length: \
                {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
    }
    format!("{head}{}", String::from_utf8(form).unwrap())
}

fn slack(base_url: &str) -> Options {
    let token = Token::Value(TOKEN.to_owned());
    Options { slack: Some(Config { base_url: base_url.to_owned(), token }), ..Options::default() }
}

#[tokio::test]
async fn slack_errors_are_told_in_plain_words() {
    let ok = "200 OK";
    for (status, headers, body, class, part) in [
        ("429 Too Many Requests", "retry-after: 30\r\n", "", ErrorClass::Transient, "wait 30 s"),
        (ok, "", r#"{"ok":false,"error":"ratelimited"}"#, ErrorClass::Transient, "asks to wait"),
        (ok, "", r#"{"ok":false,"error":"not_in_channel"}"#, ErrorClass::User, "invite it"),
        (ok, "", r#"{"ok":false,"error":"invalid_auth"}"#, ErrorClass::User, "valid bot token"),
        (
            ok,
            "",
            r#"{"ok":false,"error":"missing_scope","needed":"channels:history"}"#,
            ErrorClass::User,
            "channels:history",
        ),
        (
            ok,
            "",
            r#"{"ok":false,"error":"xoxb-very-secret-token is wrong"}"#,
            ErrorClass::User,
            "*** is wrong",
        ),
        (ok, "", "hello", ErrorClass::User, "not Slack's API"),
        (ok, "", "[]", ErrorClass::User, "nothing about what is wrong"),
        ("302 Found", "location: http://127.0.0.1:1/\r\n", "", ErrorClass::User, "HTTP status 302"),
        ("500 Oops", "", "", ErrorClass::Transient, "HTTP status 500"),
        ("", "", "", ErrorClass::Transient, "connection"),
    ] {
        let (options, mut tasks) = serve(&[(status, headers, body)]).await;
        let error = call(&options, "slack.history", json!({ "channel": "C000000001" })).await.unwrap_err();
        let told = error.to_string();
        assert!(told.contains(part) && error.class() == class, "{status} {body}: {told}");
        assert!(!told.contains(TOKEN) && !format!("{error:?}").contains(TOKEN), "{told}");
        tasks.join_next().await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_post_whose_answer_is_lost_is_unknown_and_a_refused_connection_is_not() {
    let post = json!({ "channel": "C000000001", "text": "hi & <bye>" });
    for (status, body) in [("", ""), ("503 Down", "")] {
        let (options, mut tasks) = serve(&[(status, "", body)]).await;
        let error = call(&options, "slack.post", post.clone()).await.unwrap_err();
        assert_eq!(error.code(), "TOL012", "{error}");
        let asked = tasks.join_next().await.unwrap().unwrap();
        assert!(asked[0].contains("client_msg_id=00000000-0000-0000-0000-000000000007"), "{asked:?}");
        assert!(asked[0].contains("text=hi+%26+%3Cbye%3E"), "{asked:?}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = call(&slack(&format!("http://{closed}/api")), "slack.post", post).await.unwrap_err();
    assert_eq!(error.code(), "TOL031", "{error}");
}

#[tokio::test]
async fn messages_come_oldest_first_with_names_and_without_the_token() {
    let history = format!(
        r#"{{"ok":true,"has_more":true,"messages":[
        {{"user":"U1","ts":"1731700002.000000","text":"a &lt; b, <@U2>"}},
        {{"user":"U1","ts":"1731700001.000000","text":"my token is {TOKEN}","thread_ts":"1731700001.000000","reply_count":2}}]}}"#
    );
    let ana = r#"{"ok":true,"user":{"name":"ana","profile":{"display_name":"Ana"}}}"#;
    let ok = "200 OK";
    let lost = r#"{"ok":false,"error":"user_not_found"}"#;
    let (options, mut tasks) = serve(&[(ok, "", &history), (ok, "", ana), (ok, "", lost)]).await;
    let arguments = json!({ "channel": "C000000001", "oldest": "2024-11-15T19:46:40Z", "limit": 5 });
    let output = call(&options, "slack.history", arguments).await.unwrap();
    let asked = tasks.join_next().await.unwrap().unwrap();
    assert!(
        asked[0].starts_with("POST /api/conversations.history ")
            && asked[0].contains("oldest=1731700000.000000")
    );
    let messages = &output.structured.as_ref().unwrap()["messages"];
    assert_eq!(messages[0]["text"], "my token is ***");
    assert_eq!(messages[0]["replies"], 2);
    assert_eq!((&messages[1]["author"], &messages[1]["text"]), (&json!("Ana"), &json!("a < b, @U2")));
    assert_eq!(messages[1]["time"], "2024-11-15T19:46:42.000000Z");
    assert!(!output.words().contains(TOKEN));
}

/// Node and the emulator's command, from `STEWARD_SLACK_EMULATOR="<node> <cli.js>"`. Missing is a
/// failure unless it was asked to be left out.
fn emulator() -> Option<(String, String)> {
    if std::env::var("STEWARD_SKIP").is_ok_and(|skip| skip.split([',', ' ']).any(|name| name == "slack")) {
        println!("skipped: slack (STEWARD_SKIP)");
        return None;
    }
    let set = std::env::var("STEWARD_SLACK_EMULATOR").expect(
        "set STEWARD_SLACK_EMULATOR to '<node, 22 or newer> <…/emulate/dist/index.js>' (npm emulate@0.12.2), \
            or STEWARD_SKIP=slack",
    );
    let (node, cli) = set.split_once(' ').expect("STEWARD_SLACK_EMULATOR is '<node> <cli.js>'");
    Some((node.to_owned(), cli.trim().to_owned()))
}

/// Starts the emulator and waits until it says that it is ready.
async fn start_emulator(node: String, cli: String, folder: PathBuf) -> (Running, Options) {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let args = [cli, "start".into(), "--service".into(), "slack".into(), "--port".into(), port.to_string()];
    let spec = Spec { program: node, args: args.to_vec(), folder: Some(folder), ..Spec::default() };
    let mut running = start(&spec).unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let ready = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("Ready") {
                return true;
            }
        }
        false
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(30), ready).await.unwrap(),
        "the emulator did not start"
    );
    let base_url = format!("http://127.0.0.1:{port}/api");
    let token = Token::Value("test_token_admin".to_owned());
    (running, Options { slack: Some(Config { base_url, token }), ..Options::default() })
}

#[tokio::test]
async fn slack_tools_work_against_an_emulator_that_is_not_ours() {
    let Some((node, cli)) = emulator() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (running, options) = start_emulator(node, cli, folder.path().to_owned()).await;
    let first = call(&options, "slack.post", json!({ "channel": "#general", "text": "The report is ready" }))
        .await
        .unwrap();
    let first = first.structured.unwrap();
    let reply = json!({ "channel": first["channel"], "text": "Thanks", "thread_ts": first["ts"] });
    call(&options, "slack.post", reply).await.unwrap();
    let history =
        call(&options, "slack.history", json!({ "channel": "#general", "limit": 100 })).await.unwrap();
    let history = history.structured.unwrap();
    let found =
        history["messages"].as_array().unwrap().iter().find(|message| message["ts"] == first["ts"]).unwrap();
    assert_eq!(found["text"], "The report is ready");
    let thread = json!({ "channel": "#general", "thread_ts": first["ts"] });
    let thread = call(&options, "slack.thread", thread).await.unwrap().structured.unwrap();
    let texts: Vec<&Json> =
        thread["messages"].as_array().unwrap().iter().map(|message| &message["text"]).collect();
    assert_eq!(texts, ["The report is ready", "Thanks"]);
    let error = call(&options, "slack.history", json!({ "channel": "#no-such-channel" })).await.unwrap_err();
    assert!(error.to_string().contains("there is no such channel"), "{error}");
    running.stop(Duration::from_secs(2)).await;
}
