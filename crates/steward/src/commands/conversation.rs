//! `steward conversation`.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short, table};
use clap::{Subcommand, ValueEnum};
use serde_json::json;
use steward_domain::{ConversationId, ConversationStatus};
use steward_journal::clock::{Clock, SystemClock};
use steward_runtime::converse::{self, ConversationEndedBy, Ending};
use steward_store::{ConversationFilter, EntitySearch, Error, Page};

#[derive(Subcommand)]
pub(crate) enum Conversation {
    /// List conversations, newest first.
    List {
        /// Only those with this status.
        #[arg(long)]
        status: Option<Status>,
        /// Maximum number.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Show a conversation: its messages and entities.
    Show {
        /// The conversation.
        id: ConversationId,
        /// The last N messages.
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Archive a conversation: it becomes read-only.
    Archive {
        /// The conversation.
        id: ConversationId,
    },
    /// Delete a conversation's messages and entities permanently.
    Delete {
        /// The conversation.
        id: ConversationId,
        /// Skip the confirmation.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Status {
    Active,
    Archived,
    Deleted,
}

impl From<Status> for ConversationStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Active => Self::Active,
            Status::Archived => Self::Archived,
            Status::Deleted => Self::Deleted,
        }
    }
}

pub(super) async fn run(context: &Context, conversation: Conversation) -> Result<(), Failure> {
    match conversation {
        Conversation::List { status, limit } => list(context, status, limit).await,
        Conversation::Show { id, limit } => show(context, id, limit).await,
        Conversation::Archive { id } => end(context, id, Ending::Archived).await,
        Conversation::Delete { id, yes } => {
            if !yes && !confirmed(&format!("Delete the messages and entities of {id} for good?")) {
                return Err(Failure::user("CLI006", "nothing was deleted: say yes, or pass --yes"));
            }
            end(context, id, Ending::Deleted).await
        }
    }
}

fn confirmed(question: &str) -> bool {
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && answer.trim().eq_ignore_ascii_case("y")
}

async fn list(context: &Context, status: Option<Status>, limit: u32) -> Result<(), Failure> {
    let opened = context.open().await?;
    let filter = ConversationFilter { status: status.map(Into::into), application_domain: None };
    let found = opened.store.conversations(&context.scope, filter, Page::first(limit)).await?;
    if context.json {
        document(&found);
        return Ok(());
    }
    let now = SystemClock::default().now();
    let rows = found.iter().map(|c| {
        let state = match c.status {
            ConversationStatus::Active => format!("{:?}", c.activity(now)).to_lowercase(),
            other => format!("{other:?}").to_lowercase(),
        };
        vec![
            c.id.to_string(),
            c.user_id.to_string(),
            c.application_domain.to_string(),
            state,
            c.updated_at.to_string(),
        ]
    });
    table(&["conversation", "user", "domain", "state", "last message"], rows.collect(), "no conversations");
    Ok(())
}

async fn show(context: &Context, id: ConversationId, limit: u32) -> Result<(), Failure> {
    let opened = context.open().await?;
    let found = opened
        .store
        .conversation(&context.scope, id)
        .await?
        .ok_or(Error::NotFound { what: "conversation", id: id.to_string() })?;
    let messages = opened.store.window(&context.scope, id, limit).await?;
    let entities = opened.store.entities(&context.scope, id, EntitySearch::Recent, 100).await?;
    if context.json {
        document(&json!({ "conversation": found, "messages": messages, "entities": entities }));
        return Ok(());
    }
    say(format!("{id}  {} of {}, begun {}", found.application_domain, found.user_id, found.created_at));
    for message in messages {
        let who = message
            .agent_type
            .as_ref()
            .map_or_else(|| format!("{:?}", message.role).to_lowercase(), ToString::to_string);
        say(format!(
            "{} {}",
            paint(Tone::Quiet, &format!("{:>4} {who}", message.sequence_number)),
            message.content
        ));
    }
    let rows = entities.iter().map(|e| {
        let name = e.entity_name.as_deref().unwrap_or_default();
        vec![
            e.entity_type.to_string(),
            e.entity_id.to_string(),
            short(name, 60),
            e.mention_count.to_string(),
            e.last_mentioned_at.to_string(),
        ]
    });
    table(&["entity", "id", "name", "mentions", "last"], rows.collect(), "no entities");
    Ok(())
}

async fn end(context: &Context, id: ConversationId, ending: Ending) -> Result<(), Failure> {
    let opened = context.open().await?;
    let by = ConversationEndedBy {
        user: &context.settings.user,
        door: "command_line",
        at: SystemClock::default().now(),
    };
    converse::end(&*opened.store, &context.home.path.join("artifacts"), &context.scope, id, ending, by)
        .await?;
    if context.json {
        document(&json!({ "conversation": id.to_string(), "status": ending.name() }));
    } else {
        say(format!("{} {id}", paint(Tone::Good, ending.name())));
    }
    Ok(())
}
