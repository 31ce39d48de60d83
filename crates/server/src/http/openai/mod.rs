//! OpenAI-compatible endpoints: chat completions, responses, models, embeddings.
//!
//! Invariants
//! - A client that sends its whole history each time continues one conversation. The history is
//!   matched by its hash.
//! - Client tools are never called here. Calls of them are returned with their arguments.
//! - A parameter is honoured or rejected by name, never ignored.

mod completion;
mod embeddings;
mod error;
mod flow;
mod request;
mod responses;
mod structured;
mod tokens;
mod tools;

pub(super) use error::in_form;
pub(super) use flow::{ClientStart, begin_for_client};

use super::Shared;
use super::extract::Authenticated;
use super::openapi::Api;
use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use steward_domain::{ConversationId, UserId};
use steward_engine::EarlierMessage;

/// The model name of Steward itself.
const MODEL: &str = "steward";
/// The model name of `/v1/embeddings`.
const EMBEDDINGS: &str = "steward-embed";
/// The maximum number of histories kept.
const HISTORIES: usize = 10_000;
/// The maximum number of kept answers that have no task.
const ANSWERS: usize = 1000;

pub(super) fn routes(api: &mut Api) {
    api.get("/v1/models", "What can be talked to: Steward, its agents and its workflows")
        .gives_object(200, "`data`.")
        .fails_as_openai()
        .to(get(models));
    api.post("/v1/chat/completions", "Talk to Steward as to a model; streams with `stream: true`")
        .takes::<request::Completion>()
        .gives_object(200, "A completion.")
        .or_events()
        .fails_as_openai()
        .to(post(completion::complete));
    api.post("/v1/responses", "The same in the form of responses")
        .takes::<request::Responding>()
        .gives_object(200, "A response.")
        .or_events()
        .fails_as_openai()
        .to(post(responses::respond));
    api.post("/v1/embeddings", "Texts as numbers, by the built-in encoder")
        .takes::<embeddings::Embedding>()
        .gives_object(200, "`data`.")
        .fails_as_openai()
        .to(post(embeddings::embed));
}

async fn models(State(site): State<Shared>, Authenticated(identity): Authenticated) -> Json<Value> {
    let model =
        |id: String| json!({ "id": id, "object": "model", "created": 1_767_225_600, "owned_by": "steward" });
    let (workflows, agents) = site.runner.defined();
    let named = agents.into_iter().chain(workflows);
    let named = named.filter(|name| identity.runs(name)).map(|name| model(format!("{MODEL}/{name}")));
    let data: Vec<Value> =
        [model(MODEL.to_owned()), model(EMBEDDINGS.to_owned())].into_iter().chain(named).collect();
    Json(json!({ "object": "list", "data": data }))
}

/// Maps histories to conversations.
#[derive(Default)]
pub(super) struct Histories {
    known: Mutex<HashMap<[u8; 32], ConversationId>>,
    /// Answers without a task, so that a later request can continue from them.
    answers: Mutex<HashMap<(UserId, String), Vec<EarlierMessage>>>,
    /// The search indexes of the tools that clients send with every request.
    indexes: tools::Indexes,
}

impl Histories {
    fn get(&self, key: &[u8; 32]) -> Option<ConversationId> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    fn answered(&self, user: &UserId, id: &str) -> Option<Vec<EarlierMessage>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(&(user.clone(), id.to_owned())).cloned()
    }

    fn keep_answer(&self, user: &UserId, id: &str, messages: Vec<EarlierMessage>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= ANSWERS {
            answers.clear();
        }
        answers.insert((user.clone(), id.to_owned()), messages);
    }

    fn keep(&self, key: [u8; 32], id: ConversationId) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= HISTORIES {
            known.clear();
        }
        known.insert(key, id);
    }
}
