//! `steward models`, and commands that work although the key of a model is missing.

use crate::Bench;
use std::fs;

const AGENT: &str = "name: helper\nrole: helper\nsystem_prompt: You calculate.\ntools: [math.eval]\n\
                     llm_config: { model: claude }\n";

#[test]
fn models_are_added_listed_and_a_missing_key_stops_nothing() {
    let bench = Bench::new();
    bench.ok("init");
    let said =
        bench.ok("models add anthropic claude-test --as claude --key-variable STEWARD_TEST_NO_SUCH_KEY");
    assert!(said.contains("STEWARD_TEST_NO_SUCH_KEY is not set"), "{said}");
    bench.ok("models add ollama qwen3 --as own --no-test");
    let listed = bench.json("models list");
    let models = listed["models"].as_array().unwrap();
    assert_eq!(models.len(), 2, "{listed}");
    assert_eq!((&models[0]["name"], &models[0]["ready"]), (&"claude".into(), &false.into()));
    assert_eq!(
        models[0]["used_for"],
        serde_json::json!(["chat", "ask", "agents", "extract"]),
        "the first is the default"
    );
    assert_eq!(models[1]["ready"], true);
    // Nothing else needs the key.
    fs::write(bench.home().join("agents/helper.yaml"), AGENT).unwrap();
    bench.ok("workflow check helper");
    bench.ok("config check");
    bench.ok("worker --until-empty");
    let doctor = bench.run("doctor");
    assert!(doctor.out.contains("STEWARD_TEST_NO_SUCH_KEY"), "{}", doctor.out);
    // Its use fails with the missing key.
    bench.fails("models test claude", 2, "MDL020");
    let failed = bench.run_with(&["run", "helper", "--input", "1+1"]);
    assert!(failed.code != 0 && format!("{}{}", failed.out, failed.err).contains("STEWARD_TEST_NO_SUCH_KEY"));
    bench.fails("models add ollama qwen3 --as own", 2, "CLI004");
}

#[test]
fn the_older_setting_says_how_to_move() {
    let bench = Bench::new();
    bench.ok("init");
    let older = "model: { base_url: \"http://127.0.0.1:9/v1\", name: qwen, send_samples: true }\n";
    fs::write(bench.home().join("config/steward.yaml"), older).unwrap();
    let said = bench.ok("models list");
    assert!(said.contains("use: { default: main }") && said.contains("send_samples: true"), "{said}");
    let doctor = bench.run("doctor").out;
    assert!(doctor.contains("older setting"), "{doctor}");
    fs::write(bench.home().join("config/steward.yaml"), "use: { chat: nobody }\n").unwrap();
    bench.fails("config check", 2, "CFG001");
    let wrong = bench.run("config check").out;
    assert!(wrong.contains("use: chat"), "{wrong}");
}
