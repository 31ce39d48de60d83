//! Who writes calls down and who keeps what is too large: the runtime stands behind both.

use crate::error::Result;
use crate::tool::Content;
use async_trait::async_trait;
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{
    CallId, ChainId, Idempotency, InvocationId, JsonObject, OnBehalf, Outcome, Sha256Hex, Timestamp,
    ToolDefinition, UserId, Valid,
};
use steward_policy::Approval;

/// A call that is about to be made.
#[derive(Debug, Clone)]
pub struct Intent {
    /// The call, which is its idempotency key.
    pub call: CallId,
    /// The id of this attempt's record: each has its own, also when the caller keeps one key for
    /// all of them.
    pub record: InvocationId,
    /// The chain it is written to.
    pub chain: ChainId,
    /// For whom.
    pub user: UserId,
    /// The same for the journal, with the key and the version of their grants.
    pub on_behalf: OnBehalf,
    /// Which tool.
    pub definition: Arc<Valid<ToolDefinition>>,
    /// With what.
    pub arguments: JsonObject,
    /// Where each argument came from, in words.
    pub provenance: JsonObject,
    /// What an approval would be bound to.
    pub digest: Sha256Hex,
    /// The person's agreement to exactly this call, which its intent uses up.
    pub approval: Option<Approval>,
    /// The same for every attempt at this call.
    pub key: CallId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
    /// Whether the effect can be seen outside of this process: only then it waits for the disk.
    pub leaves_process: bool,
}

impl Intent {
    /// Whether the call changes nothing and uses up no approval. Its answer is handed over only
    /// after its receipt is on disk, and that takes the intent along, so the intent need not wait
    /// for the disk by itself.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.definition.idempotency == Idempotency::ReadOnly && self.approval.is_none()
    }
}

/// What came of a call.
#[derive(Debug, Clone)]
pub struct Ending {
    /// What was intended.
    pub intent: Arc<Intent>,
    /// Whether the intent was written. A quick read's is written with this.
    pub intended: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// What came back, for the record.
    pub result: Option<Json>,
    /// What went wrong: code and message.
    pub error: Option<(&'static str, String)>,
    /// When it ended.
    pub ended: Timestamp,
    /// How long it took.
    pub took: Duration,
}

/// A call that policy did not let through.
#[derive(Debug, Clone)]
pub struct Refused {
    /// What was intended.
    pub intent: Arc<Intent>,
    /// `ask` or `deny`.
    pub decision: &'static str,
    /// The rule.
    pub rule: String,
    /// Why.
    pub detail: String,
}

/// Writes calls down.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Before the call is made, or beside it when [it is a read](Intent::is_read) that is not
    /// quick. When it cannot be written, the call is not made, or its answer not handed over. It
    /// returns when the intent is on disk; for a read, when it is written. An
    /// [approval](Intent::approval) with a gate is used up in the same write, or the call is not
    /// made.
    async fn intend(&self, intent: &Arc<Intent>) -> Result<()>;
    /// After it came back. It returns when the receipt is on disk, and with it the intent, which is
    /// written here if it was not yet.
    async fn end(&self, ending: Ending) -> Result<()>;
    /// Instead of it.
    async fn refuse(&self, refused: Refused) -> Result<()>;
}

/// Keeps what is too large to hand over.
#[async_trait]
pub trait ArtifactSink: Send + Sync {
    /// Keeps the bytes and says where they can be read: an address such as `artifact://…`.
    async fn keep(&self, intent: &Arc<Intent>, name: &str, mime_type: &str, bytes: &[u8]) -> Result<Content>;
}
