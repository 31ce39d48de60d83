//! What can be asked for.

use serde::Serialize;
use steward_domain::{
    AgentKind, ConversationId, ConversationStatus, DomainName, EntityType, ExecutionId, Outcome, TaskStatus,
    Timestamp, ToolId, UserId,
};
use steward_journal::{Hash, Sealed};

/// Who looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// A user: sees what is theirs.
    User(UserId),
    /// The system: retention, verification, administration. Never handed to a request from outside.
    System,
}

impl Scope {
    /// The user, when it is one.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            Self::User(user) => Some(user),
            Self::System => None,
        }
    }
}

/// How many, and after how many. Newest first unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// At most this many.
    pub limit: u32,
    /// Leaving out this many.
    pub offset: u32,
}

impl Page {
    /// The first so many.
    pub fn first(limit: u32) -> Self {
        Self { limit, offset: 0 }
    }
}

/// Which conversations.
#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    /// In this state.
    pub status: Option<ConversationStatus>,
    /// Of this application.
    pub application_domain: Option<DomainName>,
}

/// Which entities of a conversation.
#[derive(Debug, Clone)]
pub enum EntitySearch {
    /// The most recently mentioned.
    Recent,
    /// Of a type, most recent first.
    OfType(EntityType),
    /// Whose name contains this, most mentioned first.
    Named(String),
}

/// Which runs of agents.
#[derive(Debug, Clone, Default)]
pub struct ExecutionFilter {
    /// In this conversation.
    pub conversation: Option<ConversationId>,
    /// Of this agent.
    pub agent: Option<AgentKind>,
    /// Begun since.
    pub since: Option<Timestamp>,
}

/// Which calls of tools.
#[derive(Debug, Clone, Default)]
pub struct InvocationFilter {
    /// In this run, in the order of their start.
    pub execution: Option<ExecutionId>,
    /// Of this tool.
    pub tool: Option<ToolId>,
    /// That ended so.
    pub status: Option<Outcome>,
    /// Begun since.
    pub since: Option<Timestamp>,
}

/// Which tasks.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// In this state.
    pub status: Option<TaskStatus>,
}

/// Something found by meaning, with its cosine distance (0 is the same, 2 the opposite).
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest<T> {
    /// What was found.
    pub item: T,
    /// How far it is.
    pub distance: f32,
}

/// An entry with its place in the log of all entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Its place, from 0; nothing while it waits to be taken into the log.
    pub index: Option<u64>,
    /// To whom its chain belongs, as the rows say.
    pub owner: String,
    /// The entry.
    pub entry: Sealed,
}

/// The newest signed head of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Head {
    /// How many entries it covers.
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
