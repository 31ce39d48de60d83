//! Verification and appends.

use super::{line, timed, timed_async};
use crate::crash::options as store_options;
use crate::process::{command, root};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use steward_domain::{ChainId, EventType, Label, TaskId, Timestamp};
use steward_journal::random::{SeededRandom, SystemRandom};
use steward_journal::redact::Redactor;
use steward_journal::verify::verify_log;
use steward_journal::{ChainTip, Draft, Sealed, keys, prepare, seal};
use steward_store::conformance::samples::{draft, scope, user, uuid};
use steward_store::sqlite::SqliteStore;
use steward_store::{Commit, Store};

/// How much.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Entries of the log to verify.
    #[arg(long, default_value_t = 1_000_000)]
    entries: u64,
    /// Durable appends of each kind.
    #[arg(long, default_value_t = 2_000)]
    appends: u64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir_in(root())?;
    verification(options, folder.path())?;
    appends(options, folder.path())
}

fn verification(options: &Options, folder: &Path) -> Result<()> {
    let path = folder.join("log.jsonl");
    let (redactor, random) = (Redactor::default(), SeededRandom::new(7));
    let sealed = |tip: &mut ChainTip, draft, now| -> Result<Sealed> {
        Ok(seal(tip, prepare(tip.chain, draft, now, &redactor, &random)?, now)?.0)
    };
    let mut tip = ChainTip::empty(ChainId(uuid()));
    let mut log = BufWriter::new(std::fs::File::create(&path)?);
    let (done, sealing) = timed(|| -> Result<()> {
        for i in 0..options.entries {
            let data = json!({ "call_id": format!("c{i}"), "tool_name": "sql.run", "arguments": { "query": "SELECT 1", "params": [i] } });
            let now = Timestamp::from_micros(1_768_559_400_000_000 + i as i64);
            let event = Draft::new(
                EventType::ToolCalled,
                Label::new("actor").map_err(|p| anyhow::anyhow!("{p}"))?,
                data.as_object().cloned().context("an object")?,
            );
            writeln!(log, "{}", sealed(&mut tip, event, now)?.to_line())?;
        }
        Ok(log.flush()?)
    });
    done?;
    let per_second = |seconds: f64| options.entries as f64 / seconds;
    println!(
        "a log of {} entries, {:.0} MB; sealed and written at {:.0} entries/s",
        options.entries,
        std::fs::metadata(&path)?.len() as f64 / 1e6,
        per_second(sealing.as_secs_f64())
    );

    let script = "import importlib.util, sys, time
spec = importlib.util.spec_from_file_location('s3', sys.argv[1])
s3 = importlib.util.module_from_spec(spec)
spec.loader.exec_module(s3)
start = time.perf_counter()
assert s3.verify(sys.argv[2])
print(time.perf_counter() - start)";
    let verifier = root().join("crates/journal/tests/verify_s3.py");
    let output = command("python3").args(["-c", script]).arg(&verifier).arg(&path).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let python: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;

    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (report, ours) =
        timed(|| verify_log(std::fs::File::open(&path)?, threads).map_err(anyhow::Error::from));
    ensure!(report?.tip == tip, "the log must end where it was written to");
    let ratio = python / ours.as_secs_f64();
    println!(
        "verify, Python: {:.0} entries/s; ours on {threads} cores: {:.0} entries/s",
        per_second(python),
        per_second(ours.as_secs_f64())
    );
    line(
        "verify a log, times faster than Python's verifier",
        &format!("{ratio:.1}x"),
        ">= 20x",
        ratio >= 20.0,
    );
    let (_, alone) = timed(|| verify_log(std::fs::File::open(&path)?, 1).map_err(anyhow::Error::from));
    println!("                        on one core: {:.0} entries/s", per_second(alone.as_secs_f64()));
    std::fs::remove_file(&path)?;
    Ok(())
}

/// Rounds of theirs and ours in turn: a disk that is shared with others is quick at one moment and
/// slow at the next, so each ratio is taken within a round, and the range is printed beside the
/// middle.
const ROUNDS: usize = 7;

fn appends(options: &Options, folder: &Path) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    keys::load_or_create(&folder.join("keys/journal.key"), &SystemRandom)?;
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(&folder.join("state.db"), store_options(folder)?)?);
    let (mut plain, mut single, mut many, mut ratios) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let theirs = plain_sqlite(options.appends, &folder.join(format!("plain{round}.db")))?;
        let rate = |writers: u64, each: u64| -> Result<f64> {
            let (done, took) = runtime.block_on(timed_async(append(store.clone(), writers, each)));
            done?;
            Ok((writers * each) as f64 / took.as_secs_f64())
        };
        single.push(rate(1, options.appends / 4)?);
        let ours = rate(100, options.appends / 10)?;
        many.push(ours);
        plain.push(theirs);
        ratios.push(ours / theirs);
    }
    println!("durable appends, {ROUNDS} rounds, middle (range):");
    println!("  plain SQLite, one commit each      {}/s", spread(plain, 0).1);
    println!("  journal, one writer                {}/s", spread(single, 0).1);
    println!("  journal, 100 tasks at once         {}/s", spread(many, 0).1);
    let (ratio, shown) = spread(ratios, 1);
    line("100 tasks at once, times plain SQLite in the same round", &shown, ">= 10x", ratio >= 10.0);
    Ok(())
}

/// The middle of some figures, and how they spread, in words.
fn spread(mut figures: Vec<f64>, digits: usize) -> (f64, String) {
    figures.sort_by(f64::total_cmp);
    let at = |place: usize| figures.get(place).copied().unwrap_or_default();
    let (low, middle, high) = (at(0), at(figures.len() / 2), at(figures.len().saturating_sub(1)));
    (middle, format!("{middle:.digits$} ({low:.digits$} to {high:.digits$})"))
}

async fn append(store: Arc<dyn Store>, writers: u64, each: u64) -> Result<()> {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..writers {
        let store = store.clone();
        tasks.spawn(async move {
            let (user, chain) = (user(), TaskId(uuid()));
            for i in 0..each {
                let entry = draft(
                    EventType::ToolCalled,
                    json!({ "call_id": i, "tool_name": "sql.run", "arguments": { "query": "SELECT 1" } }),
                );
                store.commit(&scope(&user), Commit::new(user.clone(), chain).entry(entry)).await?;
            }
            Ok::<_, steward_store::Error>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// What a plain program does: one row, one commit, one sync.
#[allow(clippy::disallowed_methods, reason = "the peer opens its own file")]
fn plain_sqlite(appends: u64, path: &Path) -> Result<f64> {
    let connection = rusqlite::Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch("CREATE TABLE entry (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")?;
    let body = "x".repeat(400);
    let (done, took) = timed(|| -> Result<()> {
        for _ in 0..appends {
            connection.prepare_cached("INSERT INTO entry (body) VALUES (?1)")?.execute([&body])?;
        }
        Ok(())
    });
    done?;
    Ok(appends as f64 / took.as_secs_f64())
}
