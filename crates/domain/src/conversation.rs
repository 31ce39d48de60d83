//! Conversations, their messages, and the entities mentioned in them.

use crate::valid::require;
use crate::{
    Check, Content, ConversationId, DomainName, EntityId, EntityName, EntityRef, EntityType, Invalid,
    JsonObject, Label, MessageId, Problem, Sequence, States, Timestamp, ToolCall, UserId, Valid, step,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A conversation of one user. Its messages and entities are stored separately under the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// The conversation's id; `session_id` is read as well.
    #[serde(alias = "session_id")]
    pub id: ConversationId,
    /// The owner.
    pub user_id: UserId,
    /// The application it is about, or `generic`.
    pub application_domain: DomainName,
    /// When it began.
    pub created_at: Timestamp,
    /// When the last message arrived; `last_updated` is read as well.
    #[serde(alias = "last_updated")]
    pub updated_at: Timestamp,
    /// The current status.
    #[serde(default)]
    pub status: ConversationStatus,
    /// Tags, labels, domains accessed.
    #[serde(default)]
    pub metadata: JsonObject,
}

/// The life of a conversation. An archived one can be made active again; a deleted one is gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationStatus {
    /// Accepts messages.
    #[default]
    Active,
    /// Read-only.
    Archived,
    /// Its messages and entities are deleted; a tombstone remains.
    Deleted,
}

impl States for ConversationStatus {
    fn next(self) -> &'static [Self] {
        match self {
            Self::Active => &[Self::Archived, Self::Deleted],
            Self::Archived => &[Self::Active, Self::Deleted],
            Self::Deleted => &[],
        }
    }
}

/// Whether a conversation is active. This is derived from the age of the last message and never
/// stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// The last message is at most an hour old.
    Active,
    /// The last message is older; the conversation can be resumed.
    Idle,
}

impl Check for Conversation {
    const ENTITY: &'static str = "Conversation";
    fn check(&self, problems: &mut Vec<Problem>) {
        require(
            problems,
            self.created_at <= self.updated_at,
            "updated_at",
            "must not be before created_at",
            self.updated_at,
        );
    }
}

impl Conversation {
    /// The activity at this moment.
    pub fn activity(&self, now: Timestamp) -> Activity {
        if now.millis_since(self.updated_at) <= 3_600_000 { Activity::Active } else { Activity::Idle }
    }
}

impl Valid<Conversation> {
    /// Changes the status, or returns why the change is not allowed.
    pub fn become_status(self, to: ConversationStatus, now: Timestamp) -> Result<Self, Invalid> {
        let to = step(Conversation::ENTITY, self.status, to)?;
        self.with(|c| {
            c.status = to;
            c.updated_at = c.updated_at.max(now);
        })
    }
}

/// The author of a message. `assistant` is read as `agent`; `agent` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user.
    User,
    /// An agent, or a model on its behalf.
    #[serde(alias = "assistant")]
    Agent,
    /// Instructions from the operator.
    System,
    /// A tool's result: data, never instructions.
    Tool,
}

/// A message; immutable once written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The message's id.
    pub id: MessageId,
    /// The conversation it belongs to.
    pub conversation_id: ConversationId,
    /// The author.
    pub role: Role,
    /// The text.
    pub content: Content,
    /// Its position in the conversation, unique there. The store assigns it.
    pub sequence_number: Sequence,
    /// When it was written.
    pub timestamp: Timestamp,
    /// The agent that wrote it; required when the role is `agent`.
    #[serde(default)]
    pub agent_type: Option<Label>,
    /// The calls made for it.
    #[serde(default)]
    pub tool_calls: Vec<ToolCall>,
    /// Confidence, domains accessed, timing.
    #[serde(default)]
    pub metadata: JsonObject,
}

impl Check for Message {
    const ENTITY: &'static str = "Message";
    fn check(&self, problems: &mut Vec<Problem>) {
        let agent = self.role == Role::Agent;
        require(
            problems,
            !agent || self.agent_type.is_some(),
            "agent_type",
            "is required when role is agent",
            "nothing",
        );
        require(
            problems,
            agent || self.tool_calls.is_empty(),
            "tool_calls",
            "are only present when role is agent",
            self.tool_calls.len(),
        );
    }
}

/// An entity of an application that was mentioned in a conversation, so that "it" can be resolved
/// later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationEntity {
    /// The id of this reference.
    pub id: EntityRef,
    /// The conversation in which it was mentioned.
    pub conversation_id: ConversationId,
    /// `task`, `customer`, `note`, …
    pub entity_type: EntityType,
    /// The application's id of the entity.
    pub entity_id: EntityId,
    /// Its title, if it has one.
    #[serde(default)]
    pub entity_name: Option<EntityName>,
    /// When it was first mentioned.
    pub first_mentioned_at: Timestamp,
    /// When it was last mentioned.
    pub last_mentioned_at: Timestamp,
    /// Number of mentions.
    pub mention_count: u32,
    /// Other attributes that were extracted.
    #[serde(default)]
    pub metadata: JsonObject,
}

impl Check for ConversationEntity {
    const ENTITY: &'static str = "ConversationEntity";
    fn check(&self, problems: &mut Vec<Problem>) {
        require(problems, self.mention_count > 0, "mention_count", "must be at least 1", self.mention_count);
        let ordered = self.first_mentioned_at <= self.last_mentioned_at;
        require(
            problems,
            ordered,
            "last_mentioned_at",
            "must not be before first_mentioned_at",
            self.last_mentioned_at,
        );
    }
}
