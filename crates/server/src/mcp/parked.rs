//! Calls that wait for a response of the client (multi-round requests of 2026-07-28).
//!
//! A parked call is not restarted. It stops where it prompted and resumes there, so nothing is done
//! twice. The client holds only a random id. The id is valid once, for the same request of the same
//! caller.

use super::convert;
use super::drive::Running;
use super::gateway::Failure;
use super::session::Ask;
use rmcp::model::{InputRequests, InputResponses};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a call waits for a response.
const LIFE: Duration = Duration::from_secs(600);
/// The maximum number of parked calls. Above it, the oldest is dropped.
const ROOM: usize = 256;

/// The parked calls.
#[derive(Default)]
pub(super) struct ParkedCalls {
    calls: Mutex<HashMap<String, ParkedCall>>,
}

/// A parked call.
pub(super) struct ParkedCall {
    running: Running,
    ask: Ask,
    about: String,
    user: String,
    since: Instant,
}

/// The result of resuming a call.
pub(super) enum Resumed {
    /// All responses are present: the call continues.
    Running(Running),
    /// A response is missing or malformed: the client is prompted again.
    Missing(Running, Ask),
}

/// A random id that cannot be guessed.
pub(super) fn fresh_id() -> String {
    rmcp::transport::common::server_side_http::session_id().to_string()
}

impl ParkedCalls {
    /// Parks a call and returns the id that resumes it.
    pub(super) fn keep(
        &self,
        running: Running,
        ask: Ask,
        about: String,
        user: String,
    ) -> Result<(String, InputRequests), Failure> {
        let mut requests = InputRequests::new();
        for (key, want) in &ask.wants {
            if !ask.answers.contains_key(key) {
                requests.insert(key.clone(), convert::input(want.clone())?);
            }
        }
        let id = fresh_id();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() >= ROOM {
            let oldest = calls.iter().min_by_key(|(_, call)| call.since).map(|(id, _)| id.clone());
            oldest.and_then(|id| calls.remove(&id));
        }
        calls.insert(id.clone(), ParkedCall { running, ask, about, user, since: Instant::now() });
        Ok((id, requests))
    }

    /// Resumes a call with the responses of the client.
    pub(super) fn resume(
        &self,
        id: &str,
        about: &str,
        user: &str,
        responses: InputResponses,
    ) -> Result<Resumed, Failure> {
        let parked = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = calls.get(id).is_some_and(|call| call.about == about && call.user == user);
            if fits { calls.remove(id) } else { None }
        };
        let Some(ParkedCall { running, mut ask, .. }) = parked else {
            return Err(Failure::unknown(
                "this requestState does not belong to a call that waits; call again without it",
            ));
        };
        for (key, answer) in responses {
            if ask.wants.get(&key).is_some_and(|want| convert::fits(want, &answer)) {
                ask.answers.insert(key, answer);
            }
        }
        if ask.wants.keys().any(|key| !ask.answers.contains_key(key)) {
            return Ok(Resumed::Missing(running, ask));
        }
        drop(ask.reply.send(Ok(ask.answers)));
        Ok(Resumed::Running(running))
    }

    /// Drops calls whose client did not respond in time. Dropping a call ends it.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|_, call| now.duration_since(call.since) < LIFE);
    }

    /// Ends all parked calls.
    pub(super) fn clear(&self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
