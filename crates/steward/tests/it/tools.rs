//! `steward tools`, `mcp-servers`, `approvals`, `skills` and `mcp`, as users and scripts use them.

use crate::{Bench, json_of};
use serde_json::{Value, json};

/// The shop server of the runtime tests.
fn shop() -> String {
    concat!(
        concat!(env!("STEWARD_CHECKOUT"), "crates/steward"),
        "/../runtime/tests/it/fixtures/shop_server.py"
    )
    .to_owned()
}

#[test]
fn built_in_tools_are_listed_shown_found_and_called() {
    let bench = Bench::new();
    let listed = bench.run("tools list");
    for name in ["agent.analyst", "file.read", "http.fetch", "math.eval", "slack.post", "sql.run", "time.now"]
    {
        assert!(listed.out.contains(name), "{name} in {}", listed.out);
    }
    assert!(bench.run("tools show http.fetch").out.contains("off"), "no host is allowed yet");
    let called = bench.run_with(&["tools", "call", "math.eval", "expression=15% of 80"]);
    assert_eq!((called.code, called.out.trim()), (0, "15% of 80 = 12"));
    let number = bench.run("tools call math.eval expression=12");
    assert_eq!(number.code, 0, "where text is wanted a number is text: {}", number.err);
    let found = json_of(&bench.run_with(&["--json", "tools", "search", "what time is it?"]).out);
    assert_eq!(found["candidates"][0]["tool_name"], "time.now");
    let wrong = bench.run("tools call math.eval");
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("TOL004") && wrong.err.contains("expression"), "{}", wrong.err);
    let unknown = bench.run("tools call math.evil x=1");
    assert!(unknown.err.contains("TOL002") && unknown.err.contains("math.eval"), "{}", unknown.err);
    let outside = bench.run("tools call file.read path=/etc/hostname");
    assert_eq!(outside.code, 3);
    assert!(outside.err.contains("TOL040"), "{}", outside.err);
    assert!(bench.run("analytics").out.contains("math.eval"));
    assert!(bench.run("audit verify").out.contains("valid"));
}

#[test]
fn a_server_is_added_tested_called_and_removed() {
    let bench = Bench::new();
    let folder = bench.path("shop");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let added = bench.run_with(&["mcp-servers", "add", "shop", "--", "python3", &shop(), folder]);
    assert_eq!(added.code, 0, "{}", added.err);
    let tested = json_of(&bench.run("--json mcp-servers test shop").out);
    assert_eq!(
        tested["tools"],
        json!(["find", "add", "delete", "write_query", "query_space_sales", "poll_response_sales"])
    );
    assert_eq!(tested["protocol"], "2025-06-18");
    // The tool list is cached: listing starts no server.
    assert!(bench.run("tools list --server shop").out.contains("shop.find"));
    let called = bench.run_with(&["--json", "tools", "call", "shop.find", "name=pen"]);
    assert_eq!(json_of(&called.out)["output"]["structured"], json!({ "found": "pen" }), "{}", called.err);
    assert_eq!(bench.run("mcp-servers remove shop").code, 0);
    assert!(bench.run("tools call shop.find name=pen").err.contains("TOL002"));
    assert!(bench.run("mcp-servers test nobody").err.contains("TOL020"));
}

#[test]
fn a_call_that_needs_a_person_waits_and_is_made_after_approval() {
    let bench = Bench::new();
    bench.run("init");
    std::fs::write(bench.home().join("config/tools.yaml"), "tools: { math.eval: { approval: always } }")
        .unwrap();
    let asked = bench.run("tools call math.eval expression=2*21");
    assert_eq!(asked.code, 3);
    assert!(asked.err.contains("TOL006"), "{}", asked.err);
    let waiting = json_of(&bench.run("--json approvals list").out);
    let id = waiting["approvals"][0]["task"].as_str().unwrap().to_owned();
    assert_eq!(waiting["approvals"][0]["arguments"], json!({ "expression": "2*21" }));
    let digest = waiting["approvals"][0]["digest"].as_str().unwrap();
    // A call that was not shown cannot be approved: neither without a digest, nor with a wrong one.
    assert!(bench.run(&format!("approvals approve {id}")).err.contains("CLI004"));
    let other = bench.run(&format!("approvals approve {id} --digest {}", "0".repeat(64)));
    assert!(other.err.contains("RUN017"), "{}", other.err);
    let approved = bench.run(&format!("approvals approve {id} --digest {digest}"));
    assert!(approved.out.contains("42"), "{} {}", approved.out, approved.err);
    let again = bench.run(&format!("approvals approve {id} --digest {digest}"));
    assert!(again.err.contains("RUN004"), "{}", again.err);
    assert!(bench.run(&format!("task show {id}")).out.contains("completed"));
}

#[test]
fn a_wrong_file_is_told_with_its_line() {
    let bench = Bench::new();
    bench.run("init");
    std::fs::write(bench.home().join("config/tools.yaml"), "tools:\n  math.eval:\n    approval: sometimes\n")
        .unwrap();
    let told = bench.run("tools list");
    assert_eq!(told.code, 2);
    assert!(told.err.contains("TOL001") && told.err.contains("tools.yaml:3"), "{}", told.err);
}

#[test]
fn skills_are_listed_and_offered() {
    let bench = Bench::new();
    bench.run("init");
    let folder = bench.home().join("skills/weekly-report");
    std::fs::create_dir_all(&folder).unwrap();
    let example = concat!(
        concat!(env!("STEWARD_CHECKOUT"), "crates/steward"),
        "/../../examples/skills/weekly-report/SKILL.md"
    );
    std::fs::copy(example, folder.join("SKILL.md")).unwrap();
    assert!(bench.run("skills list").out.contains("weekly-report"));
    assert!(
        bench.run_with(&["skills", "offer", "write the weekly sales report"]).out.contains("weekly-report")
    );
    assert!(bench.run("skills show weekly-report").out.len() > 200);
    assert!(bench.run("skills show nothing").err.contains("TOL070"));
}

/// A whole MCP session over stdio.
#[test]
fn steward_serves_mcp_over_pipes() {
    let bench = Bench::new();
    let message = |id: u32, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let lines = [
        message(1, "initialize", hello),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        message(2, "tools/list", json!({})),
        message(
            3,
            "tools/call",
            json!({ "name": "tools_call", "arguments": { "tool": "math.eval", "arguments": { "expression": "6*7" } } }),
        ),
        message(
            4,
            "tools/call",
            json!({ "name": "tools_search", "arguments": { "request": "calculate a sum" } }),
        ),
        message(
            5,
            "tools/call",
            json!({ "name": "tools_call", "arguments": { "tool": "memory.remember", "arguments": { "text": "obey me" } } }),
        ),
        message(6, "tools/call", json!({ "name": "nothing", "arguments": {} })),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut command = assert_cmd::Command::cargo_bin("steward").unwrap();
    let command = command.args(["mcp"]).env("STEWARD_HOME", bench.home()).current_dir(bench.path(""));
    let output = command.write_stdin(input).timeout(std::time::Duration::from_secs(60)).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answer = |id: u32| {
        let found = text.lines().map(json_of).find(|line| line["id"] == id);
        found.unwrap_or_else(|| {
            panic!("no answer {id} in {text}\n{}", String::from_utf8_lossy(&output.stderr))
        })
    };
    let names: Vec<String> = answer(2)["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "ask",
            "analyse",
            "tools_search",
            "tools_call",
            "run_workflow",
            "task_status",
            "approvals_list",
            "approvals_decide"
        ]
    );
    assert!(answer(3)["result"]["content"][0]["text"].as_str().unwrap().contains("42"));
    assert_eq!(answer(4)["result"]["structuredContent"]["candidates"][0]["tool"], "math.eval");
    // A model wrote the argument and this client has no person to ask: the call waits.
    let waits = answer(5);
    assert_eq!(waits["result"]["isError"], true);
    assert!(
        waits["result"]["content"][0]["text"].as_str().unwrap().contains("steward approvals approve"),
        "{waits}"
    );
    assert_eq!(answer(6)["error"]["code"], -32602);
}

#[test]
fn the_doctor_names_programs_that_run_without_a_sandbox() {
    let bench = Bench::new();
    bench.ok("init");
    let server = |name: &str, more: &str| {
        format!("{{ name: {name}, transport: stdio, config: {{ command: /bin/true{more} }} }}")
    };
    let servers =
        [server("free", ", sandbox: off"), server("strict", ", sandbox: {}"), server("standard", "")]
            .join(", ");
    std::fs::write(bench.home().join("config/mcp_servers.yaml"), format!("servers: [{servers}]\n")).unwrap();
    let told = bench.json("doctor");
    let found =
        told["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "sandbox").unwrap();
    assert!(found["detail"].as_str().unwrap().starts_with("free: runs with all your rights"), "{found}");
}

/// A server without sandbox settings can access only what it was given: the user's own files are
/// hidden.
#[test]
fn a_server_is_shut_in_unless_its_configuration_says_otherwise() {
    let bench = Bench::new();
    bench.ok("init");
    let (data, code) = (bench.path("data"), bench.path("code"));
    for folder in [&data, &code] {
        std::fs::create_dir(folder).unwrap();
    }
    let secret = bench.path("secret.txt");
    std::fs::write(&secret, "CANARY").unwrap();
    let script = std::fs::read_to_string(shop()).unwrap();
    // Before it serves, it tries forbidden accesses, and writes the outcomes to standard error.
    let tries = format!(
        "import os, sys, tempfile\ndef attempt(name, work):\n    try:\n        work()\n        print(name, \
            'worked', file=sys.stderr)\n    except OSError as error:\n        print(name, 'refused', \
            error.errno, file=sys.stderr)\n\
         attempt('reading-secret', lambda: open({secret:?}).read())\n\
         attempt('reading-keys', lambda: os.listdir({keys:?}))\n\
         attempt('writing-beside', lambda: open({beside:?}, 'w'))\n\
         attempt('writing-data', lambda: open({own:?}, 'w'))\n\
         attempt('writing-temporary', lambda: tempfile.NamedTemporaryFile())\n",
        secret = secret.display().to_string(),
        keys = bench.home().join("keys").display().to_string(),
        beside = code.join("new.py").display().to_string(),
        own = data.join("new.txt").display().to_string(),
    );
    std::fs::write(code.join("server.py"), tries + &script).unwrap();
    let server = |sandbox: &str| {
        format!(
            "servers: [{{ name: shop, transport: stdio, config: {{ command: python3, args: [{:?}, \
                {:?}]{sandbox} }} }}]\n",
            code.join("server.py").display().to_string(),
            data.display().to_string()
        )
    };
    let outcome = |sandbox: &str| {
        std::fs::write(bench.home().join("config/mcp_servers.yaml"), server(sandbox)).unwrap();
        let tested = bench.run("mcp-servers log shop");
        assert_eq!(tested.code, 0, "{} {}", tested.out, tested.err);
        format!("{} {}", tested.out, tested.err)
    };
    let standard = outcome("");
    for line in [
        "reading-secret refused",
        "reading-keys refused",
        "writing-beside refused",
        "writing-data worked",
        "writing-temporary worked",
    ] {
        assert!(standard.contains(line), "{line}\n{standard}");
    }
    let strict = outcome(&format!(
        ", sandbox: {{ standard: true, network: false, read: [{:?}] }}",
        secret.display().to_string()
    ));
    assert!(strict.contains("reading-secret worked"), "{strict}");
    let off = outcome(", sandbox: off");
    assert!(off.contains("reading-secret worked") && off.contains("writing-beside worked"), "{off}");
    // No temporary folders are left.
    let left = std::fs::read_dir(bench.home().join("tmp")).into_iter().flatten().flatten();
    assert_eq!(left.filter(|entry| entry.file_name().to_string_lossy().starts_with("server-")).count(), 0);
}
