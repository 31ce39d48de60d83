//! A model that cannot be used because its key is missing. Only its use fails; other models are not
//! affected.

use async_trait::async_trait;

use super::{Answer, Chat, Listener, Model, ModelError, Reply, Request};

/// Fails every request with the reason why it cannot be used.
#[derive(Debug, Clone)]
pub(super) struct Unavailable {
    pub(super) name: String,
    pub(super) reason: ModelError,
}

#[async_trait]
impl Model for Unavailable {
    fn name(&self) -> &str {
        &self.name
    }

    fn leaves_process(&self) -> bool {
        false
    }

    async fn complete(&self, _: &Request) -> Result<Reply, ModelError> {
        Err(self.reason.clone())
    }

    async fn talk(&self, _: &Chat, _: Option<&Listener>) -> Result<Answer, ModelError> {
        Err(self.reason.clone())
    }
}
