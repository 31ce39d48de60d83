//! The command line as users and scripts use it: a real binary with its own home.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod audit;
mod backup;
mod configuration;
mod drivers;
mod example_workflows;
mod guides;
mod home;
mod mcp_upstream;
mod models;
mod records;
mod runs;
mod tampering;
mod tools;

use assert_cmd::Command;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use steward_domain::{AgentKind, Check, EventType, Outcome, TaskId, UserId};
use steward_journal::clock::SystemClock;
use steward_journal::keys;
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_store::conformance::samples::*;
use steward_store::sqlite::SqliteStore;
use steward_store::{Change, Commit, Scope, Store, StoreOptions};

/// Reads a command's output as JSON.
pub(crate) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A home and the program in it.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

/// The outcome of a command.
pub(crate) struct Outcomes {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn run(&self, line: &str) -> Outcomes {
        self.run_with(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub(crate) fn run_with(&self, arguments: &[&str]) -> Outcomes {
        let mut command = Command::cargo_bin("steward").unwrap();
        let output = command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("STEWARD_STORE")
            .env("STEWARD_USER", "alice")
            .env("STEWARD_HOME", self.home())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Outcomes { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs a command that must succeed.
    pub(crate) fn ok(&self, line: &str) -> String {
        let outcome = self.run(line);
        assert_eq!(outcome.code, 0, "steward {line}\n{}{}", outcome.out, outcome.err);
        outcome.out
    }

    /// Runs a command that must succeed, and parses its JSON.
    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.ok(&format!("{line} --json"))).unwrap()
    }

    /// Runs a command that must fail in this way.
    pub(crate) fn fails(&self, line: &str, exit: i32, code: &str) -> String {
        let outcome = self.run(line);
        assert_eq!(outcome.code, exit, "steward {line}\n{}{}", outcome.out, outcome.err);
        assert!(outcome.err.contains(code), "steward {line}: {}", outcome.err);
        outcome.err
    }

    /// The home's store, as the program itself opens it.
    pub(crate) fn store(&self) -> SqliteStore {
        let options = StoreOptions {
            clock: Arc::new(SystemClock::default()),
            random: Arc::new(SystemRandom),
            redactor: Arc::new(Redactor::default()),
            signer: Arc::new(
                keys::load_or_create(&self.home().join("keys/journal.key"), &SystemRandom).unwrap(),
            ),
        };
        SqliteStore::open(&self.home().join("state.db"), options).unwrap()
    }

    /// A task of alice that called a tool twice, once without success.
    pub(crate) fn worked(&self) -> TaskId {
        self.ok("init");
        let store = self.store();
        let alice: UserId = "alice".parse().unwrap();
        let task = task(&alice, 0).start(at(1)).unwrap().complete("42 orders".into(), at(9)).unwrap();
        let tool = steward_domain::ToolDefinition {
            tool_name: "list_orders".parse().unwrap(),
            ..tool("x", "todo", None)
        }
        .validate()
        .unwrap();
        let call = |id: &str| {
            draft(
                EventType::ToolCalled,
                json!({ "call_id": id, "tool_name": "list_orders", "arguments": { "limit": 10 } }),
            )
        };
        let answer = |id: &str, status: &str| {
            draft(
                EventType::ObservationRecorded,
                json!({ "call_id": id, "status": status, "error_message": "no such table" }),
            )
        };
        let work = Commit::new(alice.clone(), task.id)
            .entry(draft(EventType::RequestSubmitted, json!({ "sources": ["orders.csv"] })))
            .entry(call("c1"))
            .entry(answer("c1", "error"))
            .entry(call("c2"))
            .entry(draft(
                EventType::ObservationRecorded,
                json!({ "call_id": "c2", "status": "success", "data": [42] }),
            ))
            .entry(draft(EventType::Answered, json!({ "confidence": 0.9 })))
            .change(Change::PutTask(task.clone()))
            .change(Change::PutExecution(execution(&alice, None, AgentKind::Orchestrator, 1, 120)))
            .change(Change::PutInvocation(invocation(&alice, None, tool.id, 2, 40, Outcome::Success)));
        run(async {
            store.commit(&Scope::System, commit(&alice).change(Change::PutTool(tool.clone()))).await.unwrap();
            store.commit(&scope(&alice), work).await.unwrap();
        });
        task.id
    }
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}
