//! The interfaces for recording calls and storing large results. The runtime implements both.

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
    /// The call id of this attempt.
    pub call: CallId,
    /// The record id of this attempt. Each attempt has its own, even if the caller uses one key for
    /// all of them.
    pub record: InvocationId,
    /// The journal chain.
    pub chain: ChainId,
    /// The user for whom the call is made.
    pub user: UserId,
    /// The user for the journal, with the API key and the version of the grants.
    pub on_behalf: OnBehalf,
    /// The tool.
    pub definition: Arc<Valid<ToolDefinition>>,
    /// The arguments.
    pub arguments: JsonObject,
    /// The provenance of each argument, as text.
    pub provenance: JsonObject,
    /// The digest that an approval is bound to.
    pub digest: Sha256Hex,
    /// The approval of exactly this call. The intent uses it up.
    pub approval: Option<Approval>,
    /// The idempotency key, the same for every attempt at this call.
    pub key: CallId,
    /// The attempt number, from 1.
    pub attempt: u32,
    /// The time.
    pub at: Timestamp,
    /// Whether the effect is visible outside of this process; then the intent must be on disk.
    pub leaves_process: bool,
}

impl Intent {
    /// Whether the call is read-only and uses up no approval. Its result is returned only after its
    /// receipt is on disk together with the intent, so the intent need not be on disk first.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.definition.idempotency == Idempotency::ReadOnly && self.approval.is_none()
    }
}

/// The result of a call.
#[derive(Debug, Clone)]
pub struct Ending {
    /// The intent.
    pub intent: Arc<Intent>,
    /// Whether the intent was written. For a fast read it is written with the receipt.
    pub intended: bool,
    /// The outcome.
    pub outcome: Outcome,
    /// The result, for the record.
    pub result: Option<Json>,
    /// The error: code and message.
    pub error: Option<(&'static str, String)>,
    /// The end time.
    pub ended: Timestamp,
    /// The duration.
    pub took: Duration,
}

/// A call that policy rejected.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The intent.
    pub intent: Arc<Intent>,
    /// `ask` or `deny`.
    pub decision: &'static str,
    /// The rule.
    pub rule: String,
    /// The reason.
    pub detail: String,
}

/// Records calls.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Records an intent before the call, or concurrently for a [read](Intent::is_read) that is not
    /// fast. If it fails, the call is not made, or its result is not returned. It returns when the
    /// intent is on disk; for a read, when it is written. An [approval](Intent::approval) with a
    /// gate is used up in the same write, or the call is not made.
    async fn intend(&self, intent: &Arc<Intent>) -> Result<()>;
    /// Records the receipt after the call. It returns when the receipt is on disk, and the intent
    /// with it, which is written here if it was not yet.
    async fn end(&self, ending: Ending) -> Result<()>;
    /// Records a rejected call.
    async fn refuse(&self, refused: Refused) -> Result<()>;
}

/// Stores results that are too large to return.
#[async_trait]
pub trait ArtifactSink: Send + Sync {
    /// Stores the bytes and returns their address, such as `artifact://…`.
    async fn keep(&self, intent: &Arc<Intent>, name: &str, mime_type: &str, bytes: &[u8]) -> Result<Content>;
}
