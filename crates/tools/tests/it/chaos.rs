//! Servers that hang, crash, flood, garble, answer late or rename their tools harm only those who
//! call them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper of a test fails with it"
)]

use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_domain::{Coded, JsonObject, McpServer, Valid};
use steward_journal::clock::{Clock, SystemClock};
use steward_tools::mcp::{Handle, Options, Pins, Server, Servers, State};
use steward_tools::{Context, Error};
use tokio::task::JoinSet;

fn script() -> String {
    PathBuf::from(concat!(env!("STEWARD_CHECKOUT"), "crates/tools"))
        .join("tests/it/fixtures/chaos_server.py")
        .display()
        .to_string()
}

fn config(name: &str, mode: &str) -> Valid<McpServer> {
    // -S and -E: the interpreter starts faster without looking for packages.
    let server = json!({
        "name": name, "transport": "stdio",
        "config": { "command": "python3", "args": ["-S", "-E", script(), mode] }
    });
    serde_json::from_value(server).unwrap()
}

fn quick() -> Options {
    Options {
        backoff_first: Duration::from_millis(5),
        backoff_most: Duration::from_millis(20),
        health_within: Duration::from_millis(500),
        message_bytes: 1024 * 1024,
        ..Options::default()
    }
}

fn server(mode: &str) -> Handle {
    Server::new(config(mode, mode), quick())
}

fn say(word: &str) -> JsonObject {
    json!({ "say": word }).as_object().cloned().unwrap()
}

fn within(milliseconds: u64) -> Context {
    Context::within(Duration::from_millis(milliseconds))
}

/// Long enough for a start on a busy machine.
const PATIENT: u64 = 20_000;

/// Processes of a group. Our own children count even when they are dead and not yet buried; orphans
/// are buried by the system.
fn group(id: i32) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|process| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // After the name in parentheses come the state, the parent and the group.
        let rest = stat.rsplit(')').next().unwrap_or_default();
        let mut rest = rest.split_whitespace();
        let (state, parent, group) = (rest.next(), rest.next(), rest.next());
        let orphan = state == Some("Z") && parent != Some(std::process::id().to_string().as_str());
        !orphan && group.and_then(|group| group.parse().ok()) == Some(id)
    })
    .collect()
}

async fn pid(server: &Handle) -> i32 {
    server.call("pid", &JsonObject::new(), &within(PATIENT)).await.unwrap().words().parse().unwrap()
}

#[tokio::test]
async fn a_good_server_answers_fails_and_reports_progress() {
    let server = server("noisy");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let mut context = within(PATIENT);
    context.progress = Some(Arc::new(move |progress| ear.lock().unwrap().push(progress.done as u32)));
    let out = server.call("echo", &say("hello"), &context).await.unwrap();
    assert_eq!(
        (out.words().as_str(), out.structured),
        ("hello", Some(json!({ "echo": { "say": "hello" } })))
    );
    assert_eq!(server.call("step", &say(""), &context).await.unwrap().words(), "stepped");
    assert!(heard.lock().unwrap().iter().all(|done| (1..=3).contains(done)));
    let failed = server.call("fail", &say(""), &context).await;
    assert!(matches!(failed, Err(Error::Failed { message, .. }) if message == "it broke"));
    let tools = server.tools().await.unwrap();
    assert_eq!(tools[0].definition.tool_name.as_str(), "noisy.echo");
    assert_eq!(tools[0].definition.tool_version.as_str(), "0.3.1");
    assert!(server.log().contains(&"stdout: handling a call".to_owned()), "{:?}", server.log());
    let status = server.status();
    assert_eq!((status.state, status.protocol.as_deref()), (State::Ready, Some("2025-11-25")));
}

#[tokio::test]
async fn a_crash_is_told_at_once_and_the_server_comes_back_until_its_circuit_opens() {
    let options = Options { break_after: 3, break_for: Duration::from_secs(60), ..quick() };
    let server = Server::new(config("crash", "crash"), options);
    assert_eq!(server.state(), State::Stopped);
    let calls: Vec<_> = (0..3).map(|_| (server.clone(), within(PATIENT))).collect();
    let mut running = JoinSet::new();
    for (server, context) in calls {
        running.spawn(async move { server.call("echo", &say("x"), &context).await });
    }
    let mut gone = 0;
    while let Some(called) = running.join_next().await {
        match called.unwrap() {
            Err(Error::ServerGone { detail, .. }) => {
                gone += 1;
                assert!(detail.contains("sent"), "{detail}");
            }
            // Later calls may meet the next process, which dies in the same way.
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(gone, 3);
    let mut last = None;
    for _ in 0..5 {
        last = server.call("echo", &say("x"), &within(PATIENT)).await.err();
    }
    assert!(matches!(last, Some(Error::CircuitOpen { failures: 3, .. })), "{last:?}");
    assert!(matches!(server.state(), State::Open { .. }));
    assert!(server.log().iter().any(|line| line == "stderr: out of cheese"));
}

#[tokio::test]
async fn cancellation_reaches_the_server_and_a_late_answer_is_dropped() {
    let server = server("late");
    let id = pid(&server).await;
    let late = server.call("echo", &say("x"), &within(50)).await;
    assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
    let context = within(PATIENT);
    context.cancel.cancel();
    assert!(matches!(server.call("echo", &say("x"), &context).await, Err(Error::Cancelled { .. })));
    // The same process still answers, knows that one call was called off, and waits out its late
    // answer unharmed.
    let clock = SystemClock::default();
    let told = loop {
        let told = server.call("cancelled", &say(""), &within(PATIENT)).await.unwrap().words();
        let told = serde_json::from_str::<Vec<i64>>(&told).unwrap();
        if !told.is_empty() || clock.monotonic() > Duration::from_secs(10) {
            break told;
        }
    };
    assert_eq!(told.len(), 1, "a call that was never sent is not called off");
    assert_eq!(server.call("echo", &say("y"), &within(PATIENT)).await.unwrap().words(), "late");
    assert_eq!(pid(&server).await, id);
}

#[tokio::test]
async fn a_server_that_hangs_is_found_out_and_replaced() {
    let server = server("hang");
    let first = pid(&server).await;
    assert!(matches!(server.call("echo", &say("x"), &within(100)).await, Err(Error::Timeout { .. })));
    // The supervisor asks after it, gets no answer, and ends it; the next call meets a new process.
    let clock = SystemClock::default();
    let second = loop {
        assert!(clock.monotonic() < Duration::from_secs(20), "it was never replaced");
        match server.call("pid", &say(""), &within(1_000)).await {
            Ok(out) => break out.words().parse::<i32>().unwrap(),
            Err(Error::Timeout { .. } | Error::ServerGone { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_ne!(first, second);
    server.stop().await;
    assert_eq!((group(first), group(second)), (vec![], vec![]));
}

#[tokio::test]
async fn floods_and_garbled_answers_are_typed_errors() {
    let flooded = server("flood").call("echo", &say("x"), &within(PATIENT)).await;
    assert!(matches!(flooded, Err(Error::TooLarge { limit: 1_048_576, .. })), "{flooded:?}");
    let garbled = server("invalid").call("echo", &say("x"), &within(PATIENT)).await;
    assert!(matches!(garbled, Err(Error::Protocol { .. })), "{garbled:?}");
    let missing: Valid<McpServer> = serde_json::from_value(json!({
        "name": "none", "transport": "stdio", "config": { "command": "no-such-program-anywhere" }
    }))
    .unwrap();
    let never = Server::new(missing, quick()).call("echo", &say("x"), &within(PATIENT)).await;
    assert!(matches!(never, Err(Error::ServerStart { .. })), "{never:?}");
}

#[tokio::test]
async fn a_renamed_tool_is_held_back() {
    let folder = tempfile::tempdir().unwrap();
    let (server, pins) = (server("rename"), Pins::at(folder.path().join("pins.json")));
    let mut changes = server.changes();
    let first = pins.review(server.name(), server.tools().await.unwrap()).unwrap();
    assert_eq!(first.admitted.len(), 1);
    tokio::time::timeout(Duration::from_secs(10), changes.changed()).await.unwrap().unwrap();
    let second = pins.review(server.name(), server.tools().await.unwrap()).unwrap();
    assert_eq!((second.admitted.len(), second.gone), (0, vec!["echo".to_owned()]));
    assert_eq!(second.held[0].0.name, "shout");
}

#[tokio::test]
async fn the_whole_group_goes_when_a_server_stops_is_dropped_or_will_not_go() {
    let stopped = server("grandchildren");
    let id = pid(&stopped).await;
    assert_eq!(group(id).len(), 4, "the server and its three children");
    stopped.stop().await;
    assert_eq!((group(id), stopped.state()), (vec![], State::Stopped));
    assert_ne!(pid(&stopped).await, id, "the next call starts it again");
    stopped.close().await;
    assert!(matches!(stopped.call("pid", &say(""), &within(PATIENT)).await, Err(Error::ServerGone { .. })));

    let options = Options { grace: Duration::from_millis(50), ..quick() };
    let deaf = Server::new(config("deaf", "deaf"), options);
    let id = pid(&deaf).await;
    deaf.stop().await;
    assert!(group(id).is_empty());

    let dropped = server("grandchildren");
    let id = pid(&dropped).await;
    drop(dropped);
    let clock = SystemClock::default();
    while !group(id).is_empty() {
        assert!(clock.monotonic() < Duration::from_secs(10), "{:?} are still there", group(id));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_started_again() {
    let options = Options { idle_stop: Some(Duration::from_millis(50)), ..quick() };
    let server = Server::new(config("idle", "ok"), options);
    let first = pid(&server).await;
    let clock = SystemClock::default();
    while server.state() != State::Stopped || !group(first).is_empty() {
        assert!(clock.monotonic() < Duration::from_secs(20), "it still runs");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_ne!(pid(&server).await, first);
    assert_eq!(server.status().restarts, 1);
}

#[tokio::test]
async fn a_reload_keeps_what_is_the_same_and_closes_the_rest() {
    let servers = Servers::new(quick());
    servers.reload(vec![config("a", "ok"), config("b", "ok")]).await;
    let (a, b) = (servers.get("a").unwrap(), servers.get("b").unwrap());
    let (kept, ended) = (pid(&a).await, pid(&b).await);
    servers.reload(vec![config("a", "ok"), config("b", "noisy")]).await;
    assert_eq!((pid(&servers.get("a").unwrap()).await, group(ended)), (kept, vec![]));
    assert!(matches!(
        b.call("pid", &say(""), &within(PATIENT)).await,
        Err(Error::ServerGone { sent: false, .. })
    ));
    assert!(matches!(servers.get("ab"), Err(Error::UnknownServer { near, .. }) if near == ["a"]));
    servers.stop_all().await;
    assert_eq!((group(kept), servers.all().len()), (vec![], 0));
}

/// These two load the machine, so they run one after the other.
static HEAVY: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The 99th percentile of so many calls, four at a time.
async fn p99(server: &Handle, calls: usize, clock: &Arc<SystemClock>) -> Duration {
    let mut times = Vec::with_capacity(calls);
    let mut running = JoinSet::new();
    for number in 0..calls {
        if running.len() >= 4 {
            times.push(running.join_next().await.unwrap().unwrap());
        }
        let (server, clock) = (server.clone(), Arc::clone(clock));
        running.spawn(async move {
            let begun = clock.monotonic();
            let out = server.call("echo", &say(&number.to_string()), &within(PATIENT)).await.unwrap();
            assert_eq!(out.words(), number.to_string(), "each call gets its own answer");
            clock.monotonic() - begun
        });
    }
    while let Some(time) = running.join_next().await {
        times.push(time.unwrap());
    }
    times.sort();
    times[times.len() * 99 / 100]
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Calls all bad servers at the same time and says what their callers were told.
async fn trouble(servers: Vec<Handle>) -> Vec<String> {
    let mut calls = JoinSet::new();
    for server in servers {
        calls.spawn(async move {
            // Those that do not answer in time are given up soon, the others may take what they
            // need.
            let time = if ["hang", "late"].contains(&server.name().as_str()) { 200 } else { PATIENT };
            let called = server.call("echo", &say("x"), &within(time)).await;
            let told = called.map_or_else(|error| error.code(), |_| "answered");
            format!("{} {told}", server.name())
        });
    }
    let mut told = Vec::new();
    while let Some(call) = calls.join_next().await {
        told.push(call.unwrap());
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_servers_do_not_slow_a_good_one() {
    const ROUNDS: usize = 11;
    const CALLS: usize = 400;
    let _heavy = HEAVY.lock().await;
    let clock = Arc::new(SystemClock::default());
    let good = server("ok");
    p99(&good, CALLS, &clock).await;
    // Alone and beside are measured in pairs, now one first and now the other, and the median of
    // the pairs' differences counts: other load of the machine falls on both of a pair alike.
    let (mut alone, mut beside, mut codes) = (Vec::new(), Vec::new(), BTreeSet::new());
    for round in 0..ROUNDS {
        let modes = ["hang", "crash", "flood", "invalid", "late", "rename"];
        let bad = Servers::new(quick());
        bad.reload(modes.iter().map(|mode| config(mode, mode)).collect()).await;
        for server in bad.all() {
            pid(&server).await;
        }
        if round % 2 == 0 {
            alone.push(p99(&good, CALLS, &clock).await);
        }
        let (told, time) = tokio::join!(trouble(bad.all()), p99(&good, CALLS, &clock));
        beside.push(time);
        codes.extend(told);
        bad.stop_all().await;
        if round % 2 == 1 {
            alone.push(p99(&good, CALLS, &clock).await);
        }
    }
    let slower = alone.iter().zip(&beside).map(|(alone, beside)| beside.saturating_sub(*alone)).collect();
    let (alone, beside, slower) = (median(alone), median(beside), median(slower));
    println!(
        "p99 of {ROUNDS} x {CALLS} calls: alone {alone:?}, beside six bad servers {beside:?}, slower by {slower:?}"
    );
    println!("their callers were told: {codes:?}");
    let allowed = alone.mul_f64(0.1) + Duration::from_millis(2);
    assert!(slower <= allowed, "alone {alone:?}, beside bad servers {beside:?}, slower by {slower:?}");
    let expected =
        ["crash TOL022", "flood TOL014", "hang TOL008", "invalid TOL023", "late TOL008", "rename answered"];
    assert_eq!(codes, expected.map(str::to_owned).into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_starts_and_stops_leave_nothing() {
    const CYCLES: usize = 500;
    let _heavy = HEAVY.lock().await;
    let script = script().replace("chaos_server.py", "tiny_server.sh");
    let tiny: Valid<McpServer> = serde_json::from_value(json!({
        "name": "tiny", "transport": "stdio", "config": { "command": "sh", "args": [script] }
    }))
    .unwrap();
    let mut running = JoinSet::new();
    let workers = 4;
    for _ in 0..workers {
        let tiny = tiny.clone();
        running.spawn(async move {
            let server = Server::new(tiny, quick());
            let mut ids = Vec::new();
            for _ in 0..CYCLES / workers {
                ids.push(pid(&server).await);
                server.stop().await;
            }
            ids
        });
    }
    let mut ids = Vec::new();
    while let Some(done) = running.join_next().await {
        ids.extend(done.unwrap());
    }
    assert_eq!(ids.len(), CYCLES);
    let left: Vec<i32> = ids.iter().flat_map(|id| group(*id)).collect();
    let me = std::process::id().to_string();
    let zombies = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let mut rest = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        rest.next() == Some("Z") && rest.next() == Some(me.as_str())
    });
    let zombies = zombies.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let zombies: Vec<i32> = zombies.filter(|id| ids.contains(id)).collect();
    println!("{CYCLES} starts and stops: {} processes left, {} zombies", left.len(), zombies.len());
    assert_eq!((left, zombies), (vec![], vec![]));
}
