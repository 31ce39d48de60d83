//! Conversations, their messages, and the entities that outlive the window (S0, S2, S4).

use crate::valid::require;
use crate::{
    Check, Content, ConversationId, DomainName, EntityId, EntityName, EntityRef, EntityType, Invalid,
    JsonObject, Label, MessageId, Problem, Sequence, States, Timestamp, ToolCall, UserId, Valid, step,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A conversation of one user. Messages and entities live beside it under the same id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// S4's `id`, S0's `session_id`.
    #[serde(alias = "session_id")]
    pub id: ConversationId,
    /// Who owns it.
    pub user_id: UserId,
    /// The application it is about, or `generic`.
    pub application_domain: DomainName,
    /// When it began.
    pub created_at: Timestamp,
    /// When the last message came (S0's `last_updated`).
    #[serde(alias = "last_updated")]
    pub updated_at: Timestamp,
    /// Where it is in its life.
    #[serde(default)]
    pub status: ConversationStatus,
    /// Tags, labels, domains accessed.
    #[serde(default)]
    pub metadata: JsonObject,
}

/// The life of a conversation. There is no way back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationStatus {
    /// Takes messages.
    #[default]
    Active,
    /// Kept to read.
    Archived,
    /// Its messages and entities are gone; the tombstone stays.
    Deleted,
}

impl States for ConversationStatus {
    fn next(self) -> &'static [Self] {
        match self {
            Self::Active => &[Self::Archived, Self::Deleted],
            Self::Archived => &[Self::Deleted],
            Self::Deleted => &[],
        }
    }
}

/// Whether people are still in it: a matter of the last message's age, so it is derived and never
/// stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// The last message is at most an hour old.
    Active,
    /// It may be taken up again.
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
    /// Active or idle at this moment (S0).
    pub fn activity(&self, now: Timestamp) -> Activity {
        if now.millis_since(self.updated_at) <= 3_600_000 { Activity::Active } else { Activity::Idle }
    }
}

impl Valid<Conversation> {
    /// Moves it along its life, or says why not.
    pub fn become_status(self, to: ConversationStatus, now: Timestamp) -> Result<Self, Invalid> {
        let to = step(Conversation::ENTITY, self.status, to)?;
        self.with(|c| {
            c.status = to;
            c.updated_at = c.updated_at.max(now);
        })
    }
}

/// Who speaks. S0 and S2 say `assistant` where S4 says `agent`; both are read, `agent` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person.
    User,
    /// One of our agents, or a model in its name.
    #[serde(alias = "assistant")]
    Agent,
    /// Instructions of the operator.
    System,
    /// A tool's result: data, never instructions.
    Tool,
}

/// A message; immutable once written (S0 `Message`, S2 `Message`, S4 `ConversationMessage`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The message's id.
    pub id: MessageId,
    /// The conversation it belongs to.
    pub conversation_id: ConversationId,
    /// Who speaks.
    pub role: Role,
    /// What was said.
    pub content: Content,
    /// Its place in the conversation, unique there. The store gives it.
    pub sequence_number: Sequence,
    /// When it was said.
    pub timestamp: Timestamp,
    /// Which agent spoke; required when the role is `agent`.
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

/// Something an application knows, mentioned in a conversation, so that "it" can be found again
/// (S4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationEntity {
    /// The id of this reference.
    pub id: EntityRef,
    /// Where it was mentioned.
    pub conversation_id: ConversationId,
    /// `task`, `customer`, `note`, …
    pub entity_type: EntityType,
    /// The application's own id.
    pub entity_id: EntityId,
    /// Its title, when it has one.
    #[serde(default)]
    pub entity_name: Option<EntityName>,
    /// When it was first mentioned.
    pub first_mentioned_at: Timestamp,
    /// When it was last mentioned.
    pub last_mentioned_at: Timestamp,
    /// How often.
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
