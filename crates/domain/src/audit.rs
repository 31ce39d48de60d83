//! The journal's entries in S3's format, and everything that can happen.

use crate::{ChainId, Check, EntryId, Label, Problem, Sequence, Sha256Hex, Timestamp, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One entry of the journal: S3's `AuditTrace` and, beside its `hash`, a digest over everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    /// The entry's id.
    pub entry_id: EntryId,
    /// The chain: a request's (which is a task's), a conversation's, or the system's own.
    pub request_id: ChainId,
    /// Its place in the chain, from 1, without gaps.
    pub sequence_number: Sequence,
    /// The hash before; 64 zeros at the start.
    pub parent_hash: Sha256Hex,
    /// When it was written.
    pub timestamp: Timestamp,
    /// What happened.
    pub event_type: EventType,
    /// The particulars.
    pub event_data: serde_json::Map<String, serde_json::Value>,
    /// Which component says so.
    pub actor: Label,
    /// For whom it was done. Entries of before this was written have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf: Option<OnBehalf>,
    /// S3's hash over parent, time, type and particulars.
    pub hash: Sha256Hex,
    /// The digest before; 64 zeros at the start.
    pub parent_digest: Sha256Hex,
    /// Our digest over the whole entry.
    pub digest: Sha256Hex,
}

/// For whom something was done, and with what they held then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnBehalf {
    /// The user whose chain it is.
    pub user: UserId,
    /// The id of the key that they came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Label>,
    /// The version of their grants: a digest over everything they held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Sha256Hex>,
}

impl OnBehalf {
    /// This user, by no key that is known.
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
        /// What can happen: S3's six, and what the other seeds add.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum EventType { $($(#[$doc])* $name,)* }

        impl EventType {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The type in the words of JSON and SQL.
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
    /// A request was taken.
    RequestSubmitted = "request_submitted",
    /// A question was understood: intent, entities, routing.
    Understood = "understood",
    /// A plan was made.
    PlanCreated = "plan_created",
    /// Policy allowed, asked or denied.
    PolicyDecision = "policy_decision",
    /// A call is about to be made: the intent.
    ToolCalled = "tool_called",
    /// A call came back: the receipt.
    ObservationRecorded = "observation_recorded",
    /// A file was made.
    ArtifactGenerated = "artifact_generated",
    /// An answer was given.
    Answered = "answered",
    /// A task changed its state.
    TaskChanged = "task_changed",
    /// A step of an agent or a workflow.
    StepRecorded = "step_recorded",
    /// A state was saved.
    CheckpointSaved = "checkpoint_saved",
    /// A person was asked.
    ApprovalRequested = "approval_requested",
    /// A person decided.
    ApprovalDecided = "approval_decided",
    /// A signal for a run arrived.
    SignalReceived = "signal_received",
    /// A sub-agent or a sub-workflow began.
    SubAgentStarted = "sub_agent_started",
    /// A sub-agent handed back its summary.
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
    /// A person vouched for an answer, or took that back.
    AnswerVerified = "answer_verified",
    /// A person said what they think of an answer.
    FeedbackGiven = "feedback_given",
    /// A schedule was made, changed or removed.
    ScheduleChanged = "schedule_changed",
    /// A tick of a schedule queued its task, or was left out.
    ScheduleTicked = "schedule_ticked",
    /// An alert was made, stands, was acknowledged, is over or was removed.
    AlertChanged = "alert_changed",
    /// Something was sent out, or could not be.
    DeliveryTried = "delivery_tried",
    /// A board was made, changed or removed.
    BoardChanged = "board_changed",
    /// Tiles of a board were read for somebody.
    BoardRead = "board_read",
    /// A signing key came into use.
    KeyRotated = "key_rotated",
    /// Users, roles, grants or keys changed.
    AccessChanged = "access_changed",
    /// A person signed in.
    SignedIn = "signed_in",
    /// A sign-in was refused.
    SignInRefused = "sign_in_refused",
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
