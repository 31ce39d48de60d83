//! Identifiers: one type for each kind of entity, so that they cannot be mixed up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = crate::Problem;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self).map_err(|_| {
                    crate::Problem::new("", concat!(stringify!($name), " must be a UUID such as \
                        550e8400-e29b-41d4-a716-446655440000"), text)
                })
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    )*};
}

ids! {
    /// A conversation.
    ConversationId;
    /// A message of a conversation.
    MessageId;
    /// A tracked mention of an application's entity.
    EntityRef;
    /// A task; an analysis request is a task, so this is also its `request_id`.
    TaskId;
    /// A plan.
    PlanId;
    /// One call of one tool.
    CallId;
    /// The result of a call.
    ObservationId;
    /// One recorded run of an agent.
    ExecutionId;
    /// One recorded call of a tool.
    InvocationId;
    /// A tool definition in one version.
    ToolId;
    /// A recipe.
    RecipeId;
    /// An artifact.
    ArtifactId;
    /// A checkpoint.
    CheckpointId;
    /// A sub-agent's session.
    SessionId;
    /// A journal entry.
    EntryId;
    /// A payload kept beside the journal.
    PayloadId;
    /// A verified answer.
    VerifiedId;
    /// A user's rating of an answer.
    FeedbackId;
    /// A schedule.
    ScheduleId;
    /// An alert on a schedule.
    AlertId;
    /// A delivery to an outside address.
    DeliveryId;
    /// A signal for a run.
    SignalId;
    /// A board.
    BoardId;
    /// A tile of a board.
    TileId;
    /// A link that shows a board.
    BoardLinkId;
}

/// The chain that a journal entry belongs to: that of a task, of a conversation, or of the system
/// ([`ChainId::SYSTEM`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ChainId(pub Uuid);

impl ChainId {
    /// The chain of system actions: retention runs, erasures and key changes.
    pub const SYSTEM: Self = Self(Uuid::nil());
}

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ChainId {
    type Err = crate::Problem;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "system" { Ok(Self::SYSTEM) } else { text.parse::<TaskId>().map(Self::from) }
    }
}

impl From<TaskId> for ChainId {
    fn from(id: TaskId) -> Self {
        Self(id.0)
    }
}

impl From<ConversationId> for ChainId {
    fn from(id: ConversationId) -> Self {
        Self(id.0)
    }
}
