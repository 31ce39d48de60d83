//! `steward run`, `workflow`, and the commands for runs: approvals and tasks.

use crate::{Bench, json_of};

const PAUSE: &str = "name: pause
patterns: [react]
entry_point: sum
nodes:
  sum: { type: tool, tool: math.eval, arguments: { expression: \"6*7\" } }
  ask: { type: human, input: \"Is ${nodes.sum.output.result} right?\", expires_seconds: 3600, on_timeout: reject }
  again: { type: tool, tool: math.eval, arguments: { expression: \"${input.next}\" } }
edges:
  - { from: sum, to: ask }
  - { from: ask, to: { approve: again, reject: __end__, modify: __end__ } }
  - { from: again, to: __end__ }
";

#[test]
fn a_workflow_is_checked_drawn_run_paused_and_approved() {
    let bench = Bench::new();
    bench.run("init");
    std::fs::write(bench.home().join("workflows/pause.yaml"), PAUSE).unwrap();
    assert!(bench.run("workflow check pause").out.contains("3 nodes"));
    assert!(bench.run("workflow graph pause").out.contains("sum"));
    let drawn = bench.path("pause.svg");
    assert_eq!(bench.run(&format!("workflow graph pause --out {}", drawn.display())).code, 0);
    assert!(std::fs::read_to_string(drawn).unwrap().starts_with("<svg"));
    let ran = bench.run_with(&["--json", "run", "pause", "--input", "{\"next\": \"1+1\"}"]);
    let ran = json_of(&ran.out);
    assert_eq!(ran["status"], "paused");
    let id = ran["task"].as_str().unwrap();
    assert!(bench.run("approvals list").out.contains("Is"));
    let waits = json_of(&bench.run("--json approvals list").out);
    let digest = waits["approvals"][0]["digest"].as_str().unwrap();
    let done = bench.run(&format!("approvals approve {id} --digest {digest}"));
    assert!(done.out.contains("completed"), "{} {}", done.out, done.err);
    assert!(bench.run(&format!("task show {id}")).out.contains("completed"));
    let fork = bench.run(&format!("task fork {id} --steps 2"));
    assert!(fork.out.contains("waits for a person"), "{} {}", fork.out, fork.err);
    assert!(bench.run("audit verify").out.contains("valid"));
}

#[test]
fn the_example_of_one_agent_runs_as_it_is() {
    let file = concat!(
        concat!(env!("STEWARD_CHECKOUT"), "crates/steward"),
        "/../../examples/workflows/single_agent.yaml"
    );
    let ran = Bench::new().run_with(&["run", file, "--input", "calculate the expression \"6*7\""]);
    assert!(ran.out.contains("42"), "{} {}", ran.out, ran.err);
}

#[test]
fn a_wrong_definition_is_told_with_its_line() {
    let bench = Bench::new();
    bench.run("init");
    std::fs::write(bench.home().join("workflows/bad.yaml"), "name: bad\npatterns: [dance]\n").unwrap();
    let told = bench.run("run bad");
    assert_eq!(told.code, 2);
    assert!(told.err.contains("RUN005") && told.err.contains("bad.yaml:2"), "{}", told.err);
    assert!(bench.run("run nothing").err.contains("RUN006"));
    assert!(bench.run("task resume 018f0000-0000-7000-8000-000000000001").err.contains("RUN007"));
}

#[test]
fn what_is_queued_is_worked_off_watched_and_done_again() {
    let bench = Bench::new();
    let file = concat!(
        concat!(env!("STEWARD_CHECKOUT"), "crates/steward"),
        "/../../examples/workflows/single_agent.yaml"
    );
    let queued =
        bench.run_with(&["--json", "run", file, "--input", "calculate the expression \"6*7\"", "--detach"]);
    let queued = json_of(&queued.out);
    assert_eq!(queued["status"], "pending");
    let id = queued["task"].as_str().unwrap();
    assert!(bench.run("task list --status pending").out.contains(id));
    let worked = bench.run("worker --until-empty --metrics-port 0");
    assert_eq!(worked.code, 0, "{}", worked.err);
    assert!(worked.err.contains("completed") && worked.err.contains("/metrics"), "{}", worked.err);
    let watched = bench.run(&format!("task watch {id}"));
    assert!(watched.out.contains("completed"), "{}", watched.out);
    assert!(watched.err.contains("math.eval"), "every step is shown: {}", watched.err);
    assert!(bench.run(&format!("task show {id} --step 2")).out.contains("math.eval"));
    let far = bench.run(&format!("task show {id} --step 99"));
    assert_eq!((far.code, far.err.contains("RUN012")), (2, true), "{}", far.err);
    assert!(bench.run(&format!("task replay {id}")).out.contains("the same"));
    assert!(bench.run("audit verify").out.contains("valid"));
}
