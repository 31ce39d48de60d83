//! Rules that both stores share.

use crate::audit::system_owner;
use crate::change::{Commit, NewMessage};
use crate::error::{Error, Result};
use crate::query::Scope;
use steward_domain::{ChainId, Check, ConversationId, Message, SavedKind, Sequence, ToolDefinition, Valid};
use uuid::Uuid;

/// Only an active conversation accepts messages.
pub(crate) fn open_for_messages(status: Option<&str>, id: ConversationId) -> Result<()> {
    match status {
        Some("active") => Ok(()),
        Some(status) => Err(Error::Conflict {
            what: format!("the {status} conversation {id}"),
            detail: "it takes no more messages".to_owned(),
        }),
        None => Err(Error::NotFound { what: "conversation", id: id.to_string() }),
    }
}

/// The message with its sequence number, validated.
pub(crate) fn placed(new: NewMessage, place: u64) -> Result<Valid<Message>> {
    let message = Message {
        id: new.id,
        conversation_id: new.conversation_id,
        role: new.role,
        content: new.content,
        sequence_number: Sequence::new(place)?,
        timestamp: new.timestamp,
        agent_type: new.agent_type,
        tool_calls: new.tool_calls,
        metadata: new.metadata,
    };
    Ok(message.validate()?)
}

/// The item changed since it was read: another writer was faster.
pub(crate) fn changed_meanwhile(kind: SavedKind, id: Uuid) -> Error {
    Error::Conflict {
        what: format!("a newer {} {id}", kind.name()),
        detail: "it was changed meanwhile; read it again".to_owned(),
    }
}

/// The newest by version number, among the active ones unless a version was named.
pub(crate) fn newest(tools: Vec<Valid<ToolDefinition>>, named: bool) -> Option<Valid<ToolDefinition>> {
    let number = |tool: &Valid<ToolDefinition>| {
        tool.tool_version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u64>>()
    };
    tools.into_iter().filter(|tool| named || tool.is_active).max_by_key(number)
}

/// Only the system may write the system chain: the first writer of a chain owns it.
pub(crate) fn may_write(scope: &Scope, commit: &Commit) -> Result<()> {
    let other = scope.user().is_some_and(|user| *user != commit.owner);
    let foreign =
        commit.chain == ChainId::SYSTEM && (*scope != Scope::System || commit.owner != system_owner()?);
    if other || foreign { Err(Error::OtherOwner) } else { Ok(()) }
}
