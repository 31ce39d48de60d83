//! Kills a writing process at random moments and checks what it left: every acknowledged commit is
//! there, every chain and the log verify, and what was not acknowledged is there as a whole or not
//! at all.

mod questions;
mod runs;
mod workflows;

use crate::postgres::Postgres;
use crate::process::command;
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use steward_domain::{EventType, TaskId, UserId};
use steward_journal::clock::SystemClock;
use steward_journal::keys;
use steward_journal::random::{Random, SystemRandom};
use steward_journal::redact::Redactor;
use steward_store::audit::verify;
use steward_store::conformance::samples::{draft, message, scope, uuid};
use steward_store::postgres::PostgresStore;
use steward_store::sqlite::SqliteStore;
use steward_store::{Change, Commit, Scope, Store, StoreOptions, conformance::samples};

/// How often.
#[derive(clap::Args)]
pub(crate) struct Crash {
    /// Kills for each store.
    #[arg(long, default_value_t = 500)]
    kills: u32,
    /// Rounds with several workers on PostgreSQL, for two and for four of them.
    #[arg(long, default_value_t = 30)]
    rounds: u32,
    /// A folder with programs that were built before, instead of building them.
    #[arg(long, value_name = "FOLDER")]
    built: Option<PathBuf>,
}

/// The process that is killed.
#[derive(clap::Args)]
pub(crate) struct Writer {
    /// `sqlite:PATH` or `postgres://…`.
    store: String,
    /// The folder with the key.
    home: PathBuf,
}

pub(crate) fn options(home: &Path) -> Result<StoreOptions> {
    Ok(StoreOptions {
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        redactor: Arc::new(Redactor::default()),
        signer: Arc::new(keys::load_or_create(&home.join("keys/journal.key"), &SystemRandom)?),
    })
}

pub(crate) async fn open(address: &str, home: &Path) -> Result<Arc<dyn Store>> {
    Ok(match address.strip_prefix("sqlite:") {
        Some(path) => Arc::new(SqliteStore::open(Path::new(path), options(home)?)?),
        None => Arc::new(PostgresStore::open(address, options(home)?).await?),
    })
}

/// Writes until killed: eight tasks at once, each commit an entry and a message, each
/// acknowledgement a line.
pub(crate) fn write(writer: &Writer) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let store = open(&writer.store, &writer.home).await?;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let store = store.clone();
            tasks.spawn(async move { write_one(&*store).await });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(())
    })
}

async fn write_one(store: &dyn Store) -> Result<()> {
    let user = UserId::new("crash").map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let conversation = samples::conversation(&user);
    let (id, task) = (conversation.id, TaskId(uuid()));
    store
        .commit(&scope(&user), Commit::new(user.clone(), task).change(Change::PutConversation(conversation)))
        .await?;
    for step in 1_u64.. {
        let commit = Commit::new(user.clone(), task)
            .entry(draft(EventType::StepRecorded, json!({ "step": step })))
            .change(Change::AppendMessage(message(id, &format!("step {step}"), 1)));
        store.commit(&scope(&user), commit).await?;
        // One write of one line: it reaches the pipe whole or not at all.
        std::io::stdout().write_all(format!("{task} {id} {step}\n").as_bytes())?;
    }
    Ok(())
}

pub(crate) fn run(crash: &Crash) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let postgres = Postgres::start()?;
    for (name, address) in [
        ("sqlite", format!("sqlite:{}/state.db", folder.path().display())),
        ("postgres", format!("{}/postgres", postgres.address)),
    ] {
        let home = folder.path().join(name);
        let report = crash_store(&address, &home, crash.kills)?;
        println!(
            "crash {name}: {} kills, {} acknowledged commits, none lost; slowest check after a kill {:.2} s",
            crash.kills,
            report.0,
            report.1.as_secs_f64()
        );
    }
    run_tasks(crash, folder.path(), &postgres)?;
    run_workflows(crash, folder.path(), &postgres)?;
    run_questions(crash, folder.path(), &postgres)
}

/// The same with maps, timers, sub-workflows and signals.
fn run_workflows(crash: &Crash, folder: &Path, postgres: &Postgres) -> Result<()> {
    let program = runs::program(crash.built.as_deref())?;
    let (home, state) = (folder.join("workflows"), folder.join("workflows/state.db"));
    let stores = [
        ("sqlite", home, format!("sqlite:{}", state.display())),
        ("postgres", folder.join("workflows_postgres"), postgres.database("crash_workflows")?),
    ];
    for (name, home, store) in stores {
        let report = workflows::killed(&program, &home, store, crash.kills.min(100))?;
        println!(
            "crash workflows on {name}: {} kills, {} runs with a map, a timer, a sub-workflow and a signal, all completed; {} effects, none twice",
            report.kills, report.runs, report.effects
        );
    }
    Ok(())
}

/// The same with questions and chat turns.
fn run_questions(crash: &Crash, folder: &Path, postgres: &Postgres) -> Result<()> {
    let program = runs::program(crash.built.as_deref())?;
    let (home, state) = (folder.join("questions"), folder.join("questions/state.db"));
    let stores = [
        ("sqlite", home, format!("sqlite:{}", state.display())),
        ("postgres", folder.join("questions_postgres"), postgres.database("crash_questions")?),
    ];
    for (name, home, store) in stores {
        let report = questions::killed(&program, &home, store, crash.kills)?;
        println!(
            "crash questions and turns on {name}: {} kills, {} taken, none lost, nothing answered or done \
                twice; {} answered, {} ended with the reason, {} notes",
            report.kills, report.questions, report.answered, report.ended, report.notes
        );
    }
    Ok(())
}

/// The same with whole tasks.
fn run_tasks(crash: &Crash, folder: &Path, postgres: &Postgres) -> Result<()> {
    let program = runs::program(crash.built.as_deref())?;
    let show = |name: &str, report: &runs::Report| {
        let resumed = report.resume_p95.map_or_else(String::new, |p95| {
            format!("; p95 from restart to the next task done {:.2} s", p95.as_secs_f64())
        });
        println!(
            "crash {name}: {} kills, {} tasks, none lost, no effect twice; {} outcomes were unknown and \
                asked about{resumed}",
            report.kills, report.tasks, report.unknown
        );
    };
    let (home, state) = (folder.join("runs"), folder.join("runs/state.db"));
    let report = runs::one_worker(&program, &home, format!("sqlite:{}", state.display()), crash.kills)?;
    show("runs on sqlite", &report);
    let database = postgres.database("crash_runs")?;
    let report = runs::one_worker(&program, &folder.join("runs_postgres"), database, crash.kills)?;
    show("runs on postgres", &report);
    for workers in [2, 4] {
        let database = postgres.database(&format!("crash_workers{workers}"))?;
        let home = folder.join(format!("workers{workers}"));
        let report = runs::many_workers(&program, &home, database, workers, crash.rounds)?;
        show(&format!("{workers} workers on postgres, killed and stopped past their lease"), &report);
    }
    Ok(())
}

fn crash_store(address: &str, home: &Path, kills: u32) -> Result<(u64, Duration)> {
    let runtime = tokio::runtime::Runtime::new()?;
    let (mut acknowledged, mut slowest) = (0, Duration::ZERO);
    for round in 0..kills {
        let acks = run_and_kill(address, home)?;
        acknowledged += acks.len() as u64;
        let reopened = now();
        // Opening is what a restart does; walking the whole log is done now and then, as it grows
        // with every round.
        runtime.block_on(check(address, home, &acks, round % 10 == 9 || round + 1 == kills))?;
        slowest = slowest.max(reopened.elapsed());
    }
    ensure!(acknowledged > 0, "no commit was acknowledged before its process was killed: nothing was tested");
    Ok((acknowledged, slowest))
}

/// The last acknowledged step of each task and its conversation.
fn run_and_kill(address: &str, home: &Path) -> Result<Vec<(TaskId, steward_domain::ConversationId, u64)>> {
    let mut child = command(std::env::current_exe()?)
        .args(["crash-writer", address])
        .arg(home)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("a pipe was asked for")?).lines();
    let first = lines.next().context("the writer ended before its first acknowledgement")??;
    let random = SystemRandom.bytes()?;
    let micros = u64::from(u16::from_le_bytes([random[0], random[1]])) * 3;
    std::thread::sleep(Duration::from_micros(micros));
    child.kill()?;
    child.wait()?;
    let mut acks = Vec::new();
    for line in std::iter::once(Ok(first)).chain(lines) {
        let line = line?;
        let mut parts = line.split(' ');
        let (Some(task), Some(conversation), Some(step)) = (parts.next(), parts.next(), parts.next()) else {
            bail!("{line:?} is no acknowledgement")
        };
        let parsed = (
            task.parse().map_err(|_| anyhow::anyhow!("{line}"))?,
            conversation.parse().map_err(|_| anyhow::anyhow!("{line}"))?,
            step.parse()?,
        );
        acks.push(parsed);
    }
    Ok(acks)
}

/// How often it is looked whether what was on its way has landed.
const LANDS: u32 = 50;

async fn check(
    address: &str,
    home: &Path,
    acks: &[(TaskId, steward_domain::ConversationId, u64)],
    whole_log: bool,
) -> Result<()> {
    let store = open(address, home).await?;
    for (task, conversation, step) in acks {
        let (mut entries, mut messages) = (0, 0);
        // The server may still be at the last commit of the process that was killed, which then
        // lands between two reads.
        for _ in 0..LANDS {
            // The first entry is the conversation's, which was made without one of its own; it
            // seals its row.
            let chain = store.chain(&Scope::System, (*task).into()).await?;
            entries = chain.map_or(0, |tip| tip.entries.saturating_sub(1));
            let last = store.window(&Scope::System, *conversation, 1).await?;
            messages = last.first().map_or(0, |message| message.sequence_number.get());
            if entries == messages {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ensure!(entries >= *step, "task {task}: step {step} was acknowledged, {entries} are there");
        ensure!(
            messages == entries,
            "task {task}: {entries} entries but {messages} messages; they must be one"
        );
    }
    if whole_log {
        verify(&*store, options(home)?.signer.verifier(), None).await?;
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn now() -> Instant {
    Instant::now()
}
