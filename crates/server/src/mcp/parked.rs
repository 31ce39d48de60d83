//! Calls that wait for the client to come back with an answer (the multi-round requests of
//! 2026-07-28).
//!
//! A call that asks is not started again when the answer comes: it stands still where it asked, and
//! goes on. So nothing is done twice. The client holds only a name for it that cannot be guessed,
//! and that counts once, for the same request of the same caller.

use super::convert;
use super::drive::Running;
use super::gateway::Failure;
use super::session::Ask;
use rmcp::model::{InputRequests, InputResponses};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a call waits for its answer.
const LIFE: Duration = Duration::from_secs(600);
/// How many calls may wait. Beyond that the one that waits longest is dropped.
const ROOM: usize = 256;

/// The calls that wait.
#[derive(Default)]
pub(super) struct ParkedCalls {
    calls: Mutex<HashMap<String, ParkedCall>>,
}

/// A call that waits.
pub(super) struct ParkedCall {
    running: Running,
    ask: Ask,
    about: String,
    user: String,
    since: Instant,
}

/// What came of an answer.
pub(super) enum Resumed {
    /// Everything was answered: the call goes on.
    Running(Running),
    /// Something is missing or has the wrong shape: it is asked again.
    Missing(Running, Ask),
}

/// A name that cannot be guessed.
pub(super) fn fresh_id() -> String {
    rmcp::transport::common::server_side_http::session_id().to_string()
}

impl ParkedCalls {
    /// Sets a call aside and gives back what the client needs to come back.
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

    /// Takes a call up again with what the client brought.
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

    /// Drops the calls whose client did not come back. Dropping a call ends it.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|_, call| now.duration_since(call.since) < LIFE);
    }

    /// Ends all calls that wait.
    pub(super) fn clear(&self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
