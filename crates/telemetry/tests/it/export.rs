//! Spans arrive with the names of the GenAI semantic conventions, in their trace, with their
//! outcome.

use serde_json::json;
use std::time::Duration;
use steward_models::{Chat, Local, Model as _, Turn};
use steward_telemetry::{Delivered, Endpoint, Headers, Options, Telemetry, prepare};
use tracing::Instrument as _;

use crate::app::{gateway, model, reply, request, server};
use crate::receiver::{Act, Got, Receiver};

pub(crate) fn options(receiver: &str) -> Options {
    Options { endpoint: Some(Endpoint::parse(receiver).unwrap()), metrics: true, ..Options::default() }
}

/// Runs work with this telemetry.
pub(crate) fn under<W: Future>(options: &Options, work: W) -> (Telemetry, W::Output) {
    let (telemetry, dispatch) = prepare(options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dispatch = dispatch.unwrap();
    let done = tracing::dispatcher::with_default(&dispatch, || runtime.block_on(work));
    // The subscriber of a process also lives until its end: the exporter must stop while spans may
    // still arrive.
    std::mem::forget(dispatch);
    (telemetry, done)
}

fn named<'a>(spans: &'a [Got], name: &str) -> &'a Got {
    let found: Vec<&Got> = spans.iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "{name} in {spans:#?}");
    found[0]
}

#[test]
fn a_run_with_a_model_and_tools() {
    let receiver = Receiver::start(vec![Act::Status(200)]);
    let mut options = options(&receiver.url);
    options.headers = Headers::parse("authorization=Bearer%20abc").unwrap();
    options.service_name = "steward-test".to_owned();
    let (telemetry, ()) = under(&options, async {
        let (url, _server) = server(200, reply("hello")).await;
        let run = tracing::info_span!(
            target: "steward_runtime", "invoke_agent",
            otel.name = "invoke_agent helper",
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = "helper",
            gen_ai.conversation.id = "c-1",
            steward.task.kind = "agent",
            steward.outcome = "completed",
        );
        async {
            let chat = Chat { turns: vec![Turn::user("hi")], max_tokens: Some(77), ..Chat::default() };
            model(&url, "k").chat(&chat).await.unwrap();
            Local.chat(&chat).await.unwrap();
            let gateway = gateway();
            let receipt = gateway.call(&request("crm.find", json!({ "n": 1 }))).await.unwrap();
            assert_eq!(receipt.attempts, 1);
            gateway.call(&request("crm.break", json!({}))).await.unwrap_err();
            gateway.call(&request("crm.find", json!({ "n": "one" }))).await.unwrap_err();
            gateway.call(&request("crm.nothing", json!({}))).await.unwrap_err();
        }
        .instrument(run)
        .await;
    });
    let text = telemetry.metrics().unwrap().render();
    let delivered = telemetry.shutdown(Duration::from_secs(10));
    assert_eq!(delivered, Delivered { exported: 7, failed: 0, dropped: 0 });

    let requests = receiver.requests();
    let head = requests[0].0.to_lowercase();
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    assert!(
        head.contains("content-type: application/x-protobuf") && head.contains("authorization: bearer abc")
    );

    let spans = receiver.spans();
    assert_eq!(spans.len(), 7);
    let run = named(&spans, "invoke_agent helper");
    assert_eq!((run.kind, run.status, run.parent.len()), (1, 0, 0));
    assert_eq!((run.at("gen_ai.agent.name"), run.at("gen_ai.conversation.id")), ("helper", "c-1"));
    for span in &spans {
        assert_eq!(span.service, "steward-test");
        assert_eq!((span.trace.len(), span.id.len()), (16, 8));
        assert_eq!(span.trace, run.trace);
        assert!(span.nanos.0 <= span.nanos.1 && span.nanos.0 >= run.nanos.0 && span.nanos.1 <= run.nanos.1);
        assert!(span.name == run.name || span.parent == run.id);
    }

    let chat = named(&spans, "chat qwen");
    assert_eq!((chat.kind, chat.status), (3, 0));
    for (name, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "qwen"),
        ("gen_ai.request.max_tokens", "77"),
        ("gen_ai.response.model", "qwen-2026"),
        ("gen_ai.usage.input_tokens", "1200"),
        ("gen_ai.usage.output_tokens", "30"),
        ("gen_ai.usage.cache_read.input_tokens", "1000"),
        ("steward.cost_micros", "4050"),
        ("steward.outcome", "success"),
    ] {
        assert_eq!(chat.at(name), value, "{name}");
    }
    assert_eq!(named(&spans, "chat local").at("gen_ai.provider.name"), "local");

    let broken = named(&spans, "execute_tool crm.break");
    assert_eq!((broken.kind, broken.status), (1, 2));
    assert_eq!((broken.at("error.type"), broken.at("steward.outcome")), ("TOL011", "error"));
    let found: Vec<&Got> = spans.iter().filter(|span| span.name == "execute_tool crm.find").collect();
    let [well, badly] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((well.at("gen_ai.tool.name"), well.at("gen_ai.tool.type")), ("crm.find", "function"));
    assert_eq!((well.at("gen_ai.tool.call.id").len(), well.at("steward.attempts")), (36, "1"));
    assert_eq!((badly.at("error.type"), badly.at("gen_ai.tool.call.id")), ("TOL004", ""));
    // The name of a tool that does not exist is not exported.
    let unknown = named(&spans, "execute_tool");
    assert_eq!((unknown.at("error.type"), unknown.at("gen_ai.tool.name")), ("TOL002", ""));

    for line in [
        r#"steward_tool_calls_total{tool="crm.find",outcome="success"} 1"#,
        r#"steward_tool_calls_total{tool="crm.break",outcome="error"} 1"#,
        r#"steward_tool_calls_total{tool="unknown",outcome="error"} 1"#,
        r#"steward_model_calls_total{provider="openai",model="qwen",outcome="success"} 1"#,
        r#"steward_model_tokens_total{provider="openai",model="qwen",direction="input"} 1200"#,
        r#"steward_model_cost_total{provider="openai",model="qwen"} 0.00405"#,
        r#"steward_tasks_total{kind="agent",outcome="completed"} 1"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
}

#[test]
fn a_call_that_is_given_up_says_so() {
    let receiver = Receiver::start(vec![Act::Status(200)]);
    let (telemetry, ()) = under(&options(&receiver.url), async {
        // It accepts the connection and never responds.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let model = model(&url, "k");
        let chat = Chat { turns: vec![Turn::user("hi")], ..Chat::default() };
        tokio::select! {
            _ = model.chat(&chat) => panic!("nobody answers"),
            _ = listener.accept() => {}
        }
        let late = Chat { timeout: Some(Duration::from_millis(50)), ..chat };
        model.chat(&late).await.unwrap_err();
    });
    let text = telemetry.metrics().unwrap().render();
    for outcome in ["cancelled", "timeout"] {
        let line = format!(r#"{{provider="openai",model="qwen",outcome="{outcome}"}} 1"#);
        assert!(text.contains(&line), "{text}");
    }
    telemetry.shutdown(Duration::from_secs(10));
    let spans = receiver.spans();
    assert_eq!(spans.len(), 2);
    assert!(spans.iter().any(|span| span.at("error.type") == "MDL013" && span.status == 2), "{spans:#?}");
}

#[test]
fn off_installs_nothing_and_a_second_start_is_refused() {
    let (telemetry, dispatch) = prepare(&Options::default()).unwrap();
    assert!(dispatch.is_none() && telemetry.metrics().is_none());
    let on = Options { metrics: true, ..Options::default() };
    let _first = steward_telemetry::start(&on).unwrap();
    assert!(matches!(steward_telemetry::start(&on), Err(steward_telemetry::Error::Taken)));
    drop(steward_telemetry::start(&Options::default()).unwrap());
}
