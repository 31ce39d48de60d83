//! Query parameters: scopes, pages and filters.

use serde::Serialize;
use steward_domain::{
    AgentKind, ConversationId, ConversationStatus, DomainName, EntityType, ExecutionId, Outcome, TaskStatus,
    Timestamp, ToolId, UserId,
};
use steward_journal::{Hash, Sealed};

/// The identity under which rows are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// A user, who sees only their own rows.
    User(UserId),
    /// The system: retention, verification, administration. Never used for a request from outside.
    System,
}

impl Scope {
    /// The user, if the scope is a user's.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            Self::User(user) => Some(user),
            Self::System => None,
        }
    }
}

/// A page of results. Newest first unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Maximum number of rows.
    pub limit: u32,
    /// Number of rows to skip.
    pub offset: u32,
}

impl Page {
    /// The first `limit` rows.
    pub fn first(limit: u32) -> Self {
        Self { limit, offset: 0 }
    }
}

/// A filter of conversations.
#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    /// With this status.
    pub status: Option<ConversationStatus>,
    /// Of this application.
    pub application_domain: Option<DomainName>,
}

/// A filter of the entities of a conversation.
#[derive(Debug, Clone)]
pub enum EntitySearch {
    /// The most recently mentioned.
    Recent,
    /// Of a type, most recent first.
    OfType(EntityType),
    /// Whose name contains this, most mentioned first.
    Named(String),
}

/// A filter of agent runs.
#[derive(Debug, Clone, Default)]
pub struct ExecutionFilter {
    /// In this conversation.
    pub conversation: Option<ConversationId>,
    /// Of this agent.
    pub agent: Option<AgentKind>,
    /// Started at or after this time.
    pub since: Option<Timestamp>,
}

/// A filter of tool calls.
#[derive(Debug, Clone, Default)]
pub struct InvocationFilter {
    /// Of this run, in order of their start.
    pub execution: Option<ExecutionId>,
    /// Of this tool.
    pub tool: Option<ToolId>,
    /// With this outcome.
    pub status: Option<Outcome>,
    /// Started at or after this time.
    pub since: Option<Timestamp>,
}

/// A filter of tasks.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// With this status.
    pub status: Option<TaskStatus>,
}

/// A result of a nearest-neighbour search, with its cosine distance (0 is equal, 2 is opposite).
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest<T> {
    /// The item.
    pub item: T,
    /// The distance.
    pub distance: f32,
}

/// An entry with its index in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Its index, from 0; none until it is added to the log.
    pub index: Option<u64>,
    /// The owner of its chain, as stored in the row.
    pub owner: String,
    /// The entry.
    pub entry: Sealed,
}

/// The newest signed head of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Head {
    /// The number of entries it covers.
    pub size: u64,
    /// The Merkle root over them.
    #[serde(serialize_with = "hex")]
    pub root: Hash,
    /// The signed note.
    pub note: String,
    /// The key that signed it.
    pub vkey: String,
}

fn hex<S: serde::Serializer>(hash: &Hash, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(hash)
}
