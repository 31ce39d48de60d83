//! Journal entries and all event types.

use crate::{ChainId, Check, EntryId, Label, Problem, Sequence, Sha256Hex, Timestamp, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One entry of the journal. Beside its `hash` it carries a digest over the whole entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    /// The entry's id.
    pub entry_id: EntryId,
    /// The chain: that of a request (which is a task), of a conversation, or of the system.
    pub request_id: ChainId,
    /// Its place in the chain, from 1, without gaps.
    pub sequence_number: Sequence,
    /// The hash of the preceding entry; 64 zeros in the first one.
    pub parent_hash: Sha256Hex,
    /// When it was written.
    pub timestamp: Timestamp,
    /// What happened.
    pub event_type: EventType,
    /// The data of the event.
    pub event_data: serde_json::Map<String, serde_json::Value>,
    /// The component that wrote the entry.
    pub actor: Label,
    /// The user on whose behalf it happened. Older entries have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf: Option<OnBehalf>,
    /// Hash over parent hash, time, event type and event data.
    pub hash: Sha256Hex,
    /// The digest of the preceding entry; 64 zeros in the first one.
    pub parent_digest: Sha256Hex,
    /// Digest over the whole entry.
    pub digest: Sha256Hex,
}

/// The user on whose behalf something happened, with their key and grants at that time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnBehalf {
    /// The user who owns the chain.
    pub user: UserId,
    /// The id of the API key that they authenticated with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Label>,
    /// The version of their grants: a digest over all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Sha256Hex>,
}

impl OnBehalf {
    /// This user, without a known key.
    #[must_use]
    pub fn of(user: UserId) -> Self {
        Self { user, key: None, grants: None }
    }
}

impl Check for AuditEntry {
    const ENTITY: &'static str = "AuditEntry";
    fn check(&self, _: &mut Vec<Problem>) {}
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// All event types.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum EventType { $($(#[$doc])* $name,)* }

        impl EventType {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The event type as it is written in JSON and SQL.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The type of this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

events! {
    /// A request was accepted.
    RequestSubmitted = "request_submitted",
    /// A question was interpreted: intent, entities, routing.
    Understood = "understood",
    /// A plan was made.
    PlanCreated = "plan_created",
    /// A policy decision: allowed, approval needed, or denied.
    PolicyDecision = "policy_decision",
    /// A call is about to be made: the intent.
    ToolCalled = "tool_called",
    /// A call returned: the receipt.
    ObservationRecorded = "observation_recorded",
    /// A file was produced.
    ArtifactGenerated = "artifact_generated",
    /// An answer was given.
    Answered = "answered",
    /// A task changed its state.
    TaskChanged = "task_changed",
    /// A step of an agent or a workflow.
    StepRecorded = "step_recorded",
    /// A checkpoint was saved.
    CheckpointSaved = "checkpoint_saved",
    /// An approval was requested.
    ApprovalRequested = "approval_requested",
    /// A person decided.
    ApprovalDecided = "approval_decided",
    /// A signal for a run arrived.
    SignalReceived = "signal_received",
    /// A sub-agent or a sub-workflow began.
    SubAgentStarted = "sub_agent_started",
    /// A sub-agent returned its summary.
    SubAgentEnded = "sub_agent_ended",
    /// A message was appended to a conversation.
    MessageAppended = "message_appended",
    /// A conversation changed its state.
    ConversationChanged = "conversation_changed",
    /// A payload was erased; its hash stays.
    PayloadErased = "payload_erased",
    /// Retention purged something.
    RetentionApplied = "retention_applied",
    /// A recipe was deleted.
    RecipeDeleted = "recipe_deleted",
    /// A person verified an answer, or withdrew the verification.
    AnswerVerified = "answer_verified",
    /// A person rated an answer.
    FeedbackGiven = "feedback_given",
    /// A schedule was made, changed or removed.
    ScheduleChanged = "schedule_changed",
    /// A tick of a schedule queued its task, or was skipped.
    ScheduleTicked = "schedule_ticked",
    /// An alert was created, triggered, acknowledged, resolved or removed.
    AlertChanged = "alert_changed",
    /// A delivery was attempted.
    DeliveryTried = "delivery_tried",
    /// A board was made, changed or removed.
    BoardChanged = "board_changed",
    /// Tiles of a board were read for a viewer.
    BoardRead = "board_read",
    /// A signing key came into use.
    KeyRotated = "key_rotated",
    /// Users, roles, grants or keys changed.
    AccessChanged = "access_changed",
    /// A user signed in.
    SignedIn = "signed_in",
    /// A sign-in was refused.
    SignInRefused = "sign_in_refused",
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
