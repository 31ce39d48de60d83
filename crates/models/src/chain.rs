//! Fallback models: the next model is asked if one fails with an error that the settings name.
//!
//! Each model gets the full time limit of the request. Once a listener has received part of one
//! reply, no other model is asked.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use steward_domain::{Coded, ErrorClass};

use super::chat::{Answer, Chat};
use super::stream::Listener;
use super::{Model, ModelError, Reply, Request, simple};

/// Which errors trigger the fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackOn {
    /// Transient errors: no connection, rate limits, server errors, timeouts, a broken reply.
    Transient,
    /// The conversation exceeds the context window.
    ContextOverflow,
    /// All errors, including refusals of the model.
    Any,
}

impl FallbackOn {
    fn covers(self, error: &ModelError) -> bool {
        match self {
            Self::Transient => error.class() == ErrorClass::Transient,
            Self::ContextOverflow => matches!(error, ModelError::ContextOverflow { .. }),
            Self::Any => true,
        }
    }
}

/// Models in the order in which they are asked.
pub struct Chain {
    models: Vec<Arc<dyn Model>>,
    on: Vec<FallbackOn>,
    name: String,
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.models.iter().map(|model| model.name()).collect();
        f.debug_struct("Chain").field("models", &names).field("on", &self.on).finish()
    }
}

impl Chain {
    /// The first model and its fallbacks.
    #[must_use]
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>, on: Vec<FallbackOn>) -> Self {
        let name = first.name().to_owned();
        let models = std::iter::once(first).chain(others).collect();
        Self { models, on, name }
    }
}

#[async_trait]
impl Model for Chain {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ModelError> {
        simple::complete(self, request).await
    }

    async fn talk(&self, chat: &Chat, listener: Option<&Listener>) -> Result<Answer, ModelError> {
        let mut failed: Vec<(&str, ModelError)> = Vec::new();
        for model in &self.models {
            let error = match model.talk(chat, listener).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let heard = listener.is_some_and(Listener::has_heard);
            let next = !heard && self.on.iter().any(|on| on.covers(&error));
            failed.push((model.name(), error));
            if !next {
                break;
            }
        }
        // A single failure is returned as it is; several are listed.
        if failed.len() == 1
            && let Some((_, error)) = failed.pop()
        {
            return Err(error);
        }
        let transient = failed.iter().any(|(_, error)| error.class() == ErrorClass::Transient);
        let told: Vec<String> =
            failed.iter().map(|(name, error)| format!("{name}: {} {error}", error.code())).collect();
        Err(ModelError::NoneLeft { detail: told.join("; "), transient })
    }

    async fn close(&self) {
        for model in &self.models {
            model.close().await;
        }
    }
}
