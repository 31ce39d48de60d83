//! The window and semantic search on both stores.

use super::{line, percentiles, timed_async};
use crate::crash::{open, options as store_options};
use crate::postgres::Postgres;
use crate::process::root;
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Check, Conversation, ConversationId, UserId, Valid};
use steward_journal::random::{Random, SeededRandom};
use steward_store::conformance::samples::{conversation, message, scope, tool, user, uuid};
use steward_store::{Change, Commit, Scope, Store};

/// How much.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Messages in all.
    #[arg(long, default_value_t = 1_000_000)]
    messages: u32,
    /// Tool definitions.
    #[arg(long, default_value_t = 10_000)]
    tools: u32,
    /// Queries of each kind.
    #[arg(long, default_value_t = 2_000)]
    queries: u32,
}

/// The bundled encoder's width.
const WIDTH: usize = 384;
/// Messages of one conversation.
const LENGTH: u32 = 1000;

pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir_in(root())?;
    let runtime = tokio::runtime::Runtime::new()?;
    let postgres = Postgres::start()?;
    let sqlite = format!("sqlite:{}/state.db", folder.path().display());
    for (name, address, window_goal, search_goal) in
        [("SQLite", sqlite, 1, 5), ("PostgreSQL", format!("{}/postgres", postgres.address), 5, 10)]
    {
        runtime.block_on(measure(
            name,
            &address,
            &folder.path().join(name),
            options,
            Duration::from_millis(window_goal),
            Duration::from_millis(search_goal),
        ))?;
    }
    Ok(())
}

async fn measure(
    name: &str,
    address: &str,
    home: &Path,
    options: &Options,
    window_goal: Duration,
    search_goal: Duration,
) -> Result<()> {
    store_options(home)?;
    let store = open(address, home).await?;
    let (filled, took) = timed_async(fill(store.clone(), options)).await;
    let (user, conversations) = filled?;
    println!(
        "{name}: {} messages in {} conversations and {} tools, filled in {:.0} s",
        options.messages,
        conversations.len(),
        options.tools,
        took.as_secs_f64()
    );

    let random = SeededRandom::new(3);
    let mut windows = Vec::new();
    for _ in 0..options.queries {
        let place = u64::from_le_bytes(*random.bytes()?.first_chunk().context("8 bytes")?) as usize
            % conversations.len();
        let id = *conversations.get(place).context("a conversation")?;
        let (found, took) = timed_async(store.window(&scope(&user), id, 10)).await;
        anyhow::ensure!(found?.len() == 10, "a window has ten messages");
        windows.push(took);
    }
    report(name, "window of 10", windows, window_goal);

    // The first search reads or indexes the vectors; what users feel is the ones after it.
    let (first, warm) = timed_async(store.nearest_tools(&vector(&random)?, None, 5)).await;
    first?;
    let mut searches = Vec::new();
    for _ in 0..options.queries {
        let meaning = vector(&random)?;
        let (found, took) = timed_async(store.nearest_tools(&meaning, None, 5)).await;
        anyhow::ensure!(found?.len() == 5, "five tools are found");
        searches.push(took);
    }
    report(name, "top-5 semantic", searches, search_goal);
    println!("{name}: first search, which reads or indexes the vectors: {:.2} s", warm.as_secs_f64());
    Ok(())
}

fn report(store: &str, what: &str, samples: Vec<Duration>, goal: Duration) {
    let (p50, p99) = percentiles(samples);
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    line(
        &format!("{store}, {what}, p50 / p99"),
        &format!("{:.3} / {:.3} ms", millis(p50), millis(p99)),
        &format!("p99 < {} ms", goal.as_millis()),
        p99 < goal,
    );
}

async fn fill(store: Arc<dyn Store>, options: &Options) -> Result<(UserId, Vec<ConversationId>)> {
    let user = user();
    let mut conversations = Vec::new();
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..options.messages / LENGTH {
        if writers.len() >= 8 {
            writers.join_next().await.context("a writer")???;
        }
        let conversation = conversation(&user);
        conversations.push(conversation.id);
        let (store, user) = (store.clone(), user.clone());
        writers.spawn(async move {
            store.commit(&scope(&user), long_conversation(&user, conversation)).await.map(drop)
        });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    let random = SeededRandom::new(1);
    for start in (0..options.tools).step_by(500) {
        let mut commit = Commit::new(user.clone(), steward_domain::TaskId(uuid()));
        for _ in start..(start + 500).min(options.tools) {
            commit =
                commit.change(Change::PutTool(tool("bench", "todo", Some(vector(&random)?)).validate()?));
        }
        store.commit(&Scope::System, commit).await?;
    }
    Ok((user, conversations))
}

fn long_conversation(user: &UserId, conversation: Valid<Conversation>) -> Commit {
    let id = conversation.id;
    let start = Commit::new(user.clone(), id).change(Change::PutConversation(conversation));
    (0..LENGTH).fold(start, |commit, i| {
        let text = format!(
            "message {i}: what products are frequently abandoned in carts, and what does that cost us?"
        );
        commit.change(Change::AppendMessage(message(id, &text, i64::from(i))))
    })
}

/// A random direction: harder for an index than real descriptions, which lie in clusters.
fn vector(random: &SeededRandom) -> Result<Vec<f32>> {
    let mut numbers = Vec::with_capacity(WIDTH);
    while numbers.len() < WIDTH {
        numbers.extend(random.bytes()?.map(|byte| f32::from(byte) - 127.5));
    }
    Ok(numbers)
}
