//! No content leaves the process: prompts, arguments, results, error texts and keys are not
//! exported.

use std::time::Duration;

use serde_json::json;
use steward_models::{Chat, Model as _, Turn};

use crate::app::{gateway, model, reply, request, server};
use crate::export::{options, under};
use crate::receiver::{Act, Receiver};

/// It could be a name, a key or a word.
const SECRET: &str = "hunter2.hunter2";

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn nothing_that_was_said_is_exported() {
    let receiver = Receiver::start(vec![Act::Status(200)]);
    let (telemetry, ()) = under(&options(&receiver.url), async {
        let chat = Chat { turns: vec![Turn::system(SECRET), Turn::user(SECRET)], ..Chat::default() };
        let (url, _server) = server(200, reply(SECRET)).await;
        assert_eq!(model(&url, SECRET).chat(&chat).await.unwrap().text, SECRET);
        let mut words = reply("x");
        words["model"] = json!(format!("I was asked about {SECRET}"));
        let (url, _server) = server(200, words).await;
        model(&url, SECRET).chat(&chat).await.unwrap();
        let (url, _server) =
            server(404, json!({ "error": { "message": format!("no model {SECRET}") } })).await;
        let failed = model(&url, "k").chat(&chat).await.unwrap_err();
        assert!(failed.to_string().contains(SECRET));

        let gateway = gateway();
        let given = json!({ "password": SECRET, SECRET: 1 });
        let receipt = gateway.call(&request("crm.find", given.clone())).await.unwrap();
        assert!(receipt.output.words().contains(SECRET));
        let failed = gateway.call(&request("crm.break", given)).await.unwrap_err();
        assert!(failed.to_string().contains(SECRET));
        gateway.call(&request("crm.find", json!({ "n": SECRET }))).await.unwrap_err();
        gateway.call(&request(SECRET, json!({}))).await.unwrap_err();

        // A mistake in the instrumentation: unknown fields, and content inside a span.
        let span = tracing::info_span!(
            target: "steward_runtime", "execute_tool",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.call.arguments = SECRET,
            gen_ai.input.messages = SECRET,
            otel.status_message = SECRET,
            anything = SECRET,
        );
        span.in_scope(|| tracing::error!(said = SECRET, "{SECRET}"));
        // Spans of other crates may contain anything.
        let _other = tracing::info_span!(target: "rmcp::service", "call", gen_ai.tool.name = SECRET);
    });
    let text = telemetry.metrics().unwrap().render();
    assert_eq!(telemetry.shutdown(Duration::from_secs(10)).exported, 8);
    for (_, body) in receiver.requests() {
        assert!(!holds(&body, "hunter2"), "{}", String::from_utf8_lossy(&body));
    }
    assert!(!text.contains("hunter2"), "{text}");
    // Check that the search works.
    assert!(receiver.requests().iter().any(|(_, body)| holds(body, "crm.find")));
    assert_eq!(receiver.spans().len(), 8);
}
