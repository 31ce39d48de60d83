//! Answers lines of JSON for programs that compare the answers with others: `bench/metrics/`,
//! `bench/verified/`.
//!
//! `answer_lines HOME DATA…` reads one request a line and writes one line for it:
//! `{"ask": QUESTION}` gives `planner`, `verified`, `columns`, `rows`, `sql` and `answer`;
//! `{"verify": QUESTION, "sql": …}` the id of a verified answer; `{"check": true}` what
//! `steward verify run` finds; `{"unverify": ID}` takes one back. The definitions are those of `HOME/semantics`. No model.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measuring program may fail loudly"
)]

#[path = "app/mod.rs"]
#[allow(dead_code, reason = "the other examples use the rest")]
mod app;

use serde_json::{Value as Json, json};
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steward_analysis::frame::{Frame, Value};
use steward_analysis::session::Options;
use steward_domain::{Constraints, RequestPolicy, UserId, VerifiedId};
use steward_journal::clock::SystemClock;
use steward_journal::random::SystemRandom;
use steward_language::Encoder;
use steward_runtime::NewVerified;
use steward_runtime::ask::{AppContext, Ask};
use steward_store::Scope;
use steward_store::sqlite::SqliteStore;

fn context(home: &Path) -> AppContext {
    let store = SqliteStore::open(&home.join("state.db"), app::store_options(home)).expect("a store");
    AppContext {
        store: Arc::new(store),
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        artifacts: home.join("artifacts"),
        encoder: Arc::new(Encoder::default()),
        model: None,
        samples_to_model: false,
        model_name: steward_domain::Label::new("model").expect("a label"),
        ledger: Default::default(),
        options: Options::default(),
    }
}

fn user() -> UserId {
    UserId::new("ana").expect("a name")
}

fn question(text: &str, data: &[String]) -> Ask {
    Ask {
        question: text.to_owned(),
        data: data.to_vec(),
        conversation: None,
        user: user(),
        deliver: Vec::new(),
        out: None,
        planner: None,
        policy: RequestPolicy::default(),
        constraints: Constraints::default(),
        tables: Default::default(),
        rows: Default::default(),
    }
}

fn cell(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Int(_) | Value::Float(_) => json!(value.number()),
        _ => json!(value.plain()),
    }
}

fn rows(frame: &Frame) -> Vec<Vec<Json>> {
    frame.rows.iter().map(|row| row.iter().map(cell).collect()).collect()
}

async fn ask(app: &AppContext, text: &str, data: &[String]) -> Json {
    let answer = match app.ask(&question(text, data), &|_| {}).await {
        Ok(answer) => answer,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let table = answer.tables.first().filter(|_| answer.error_code.is_none());
    json!({
        "planner": answer.planner,
        "verified": answer.verified.map(|mark| mark.id),
        "error": answer.error_code,
        "asked_back": answer.clarification.is_some() && table.is_none(),
        "columns": table.map(|table| {
            table.frame.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>()
        }),
        "rows": table.map(|table| rows(&table.frame)),
        "cut": table.is_some_and(|table| table.cut),
        "sql": answer.sql.first().map(|run| run.sql.clone()),
        "answer": answer.answer,
        "confidence": answer.score,
    })
}

async fn respond(app: &AppContext, request: &Json, data: &[String]) -> Json {
    let text = |name: &str| request.get(name).and_then(Json::as_str);
    let failed = |error: steward_runtime::Error| json!({ "error": error.to_string() });
    if let Some(text) = text("ask") {
        return ask(app, text, data).await;
    }
    if let Some(asked) = text("verify") {
        let new = NewVerified { sql: text("sql").map(str::to_owned), ..NewVerified::default() };
        let made = app.verify(&question(asked, data), new, "bench").await;
        return made.map_or_else(failed, |made| json!({ "id": made.id }));
    }
    if let Some(id) = text("unverify") {
        let id: VerifiedId = serde_json::from_value(json!(id)).expect("an id");
        let done = app.unverify(&Scope::User(user()), id, "bench").await;
        return done.map_or_else(failed, |()| json!({}));
    }
    let checks = app.check_verified(&question("", &[]), &[], "bench").await;
    checks.map_or_else(failed, |checks| json!(checks))
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let home = PathBuf::from(arguments.next().expect("the home"));
    let data: Vec<String> = arguments.collect();
    std::fs::create_dir_all(home.join("keys")).expect("a folder for keys");
    let app = context(&home);
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let request: Json = serde_json::from_str(&line).expect("a line of JSON");
        println!("{}", respond(&app, &request, &data).await);
        std::io::stdout().flush().expect("the output");
    }
}
