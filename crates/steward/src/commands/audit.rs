//! `steward audit`: verify, export, prove, head.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, count, document, paint, say};
use clap::Subcommand;
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use steward_domain::ChainId;
use steward_journal::keys;
use steward_journal::note::NoteVerifier;
use steward_journal::verify::{check_head, verify_log};
use steward_store::audit;

#[derive(Subcommand)]
pub(crate) enum Audit {
    /// Verify the store, or an exported file, offline.
    #[command(after_help = "Examples:
  steward audit verify                          everything in the store
  steward audit verify --since head.txt         and that it continues a head you kept
  steward audit verify run.jsonl                an exported file, with run.jsonl.head beside it
  steward audit verify run.jsonl --key KEY      on another machine, with the key line of `steward init`")]
    Verify {
        /// An exported log; the store when absent.
        file: Option<PathBuf>,
        /// The signed head of the file; FILE.head when absent.
        #[arg(long, value_name = "FILE")]
        head: Option<PathBuf>,
        /// Check the chain of the file alone. A cut tail is not seen then.
        #[arg(long, conflicts_with = "head")]
        no_head: bool,
        /// A signed head of the store that was kept earlier.
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        since: Option<PathBuf>,
        /// The key that must have signed; this home's when absent.
        #[arg(long)]
        key: Option<String>,
    },
    /// Write a task's journal as JSONL, with its signed head beside it.
    Export {
        /// A task, a conversation, or `system`.
        chain: ChainId,
        /// Where to; standard output when absent, then the head goes to standard error.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Prove that an entry is in the log, for somebody who has only a signed head and the key.
    Prove {
        /// A task, a conversation, or `system`.
        chain: ChainId,
        /// Which entry of it, from 1.
        sequence: u64,
        /// Also prove that the log continues the one of this size.
        #[arg(long, value_name = "SIZE")]
        since: Option<u64>,
    },
    /// Print the signed head of the log. Keep it elsewhere to be able to show a rewrite.
    Head {
        /// Print the key that checks it instead.
        #[arg(long)]
        key: bool,
    },
}

pub(super) async fn run(context: &Context, audit: Audit) -> Result<(), Failure> {
    match audit {
        Audit::Verify { file: Some(file), head, no_head, key, .. } => {
            let head = (!no_head).then(|| head.unwrap_or_else(|| with_head(&file)));
            verify_file(context, &file, head.as_deref(), key.as_deref())
        }
        Audit::Verify { since, key, .. } => verify_store(context, since.as_deref(), key.as_deref()).await,
        Audit::Export { chain, out } => export(context, chain, out.as_deref()).await,
        Audit::Prove { chain, sequence, since } => prove(context, chain, sequence, since).await,
        Audit::Head { key } => head(context, key).await,
    }
}

/// `run.jsonl` and `run.jsonl.head` belong together.
fn with_head(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".head");
    name.into()
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))
}

fn verifier(context: &Context, named: Option<&str>) -> Result<NoteVerifier, Failure> {
    match named {
        Some(vkey) => Ok(NoteVerifier::parse(vkey)?),
        None => Ok(keys::load(&context.home.key_path())?.verifier().clone()),
    }
}

fn verify_file(
    context: &Context,
    file: &Path,
    head: Option<&Path>,
    key: Option<&str>,
) -> Result<(), Failure> {
    let log = std::fs::File::open(file).map_err(|error| Failure::file(file, &error))?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let checked = match head {
        Some(path) if !path.exists() => {
            return Err(steward_journal::Error::NoHead { what: file.display().to_string() }.into());
        }
        Some(path) => Some((read(path)?, verifier(context, key)?)),
        None => None,
    };
    let report = match (verify_log(log, threads), &checked) {
        // With a head an emptied file is a cut tail, and the head knows of how much.
        (Err(steward_journal::Error::NotAnEntry { line: 1, .. }), Some((note, key)))
            if std::fs::metadata(file).is_ok_and(|m| m.len() == 0) =>
        {
            return Err(steward_journal::Error::CutTail { signed: key.open(note)?.size, found: 0 }.into());
        }
        (report, _) => report?,
    };
    let signed = checked.map(|(note, key)| check_head(&report, &note, &key)).transpose()?;
    if context.json {
        document(
            &json!({ "valid": true, "entries": report.tip.entries, "chain": report.tip.chain.to_string(), "root": report.root.to_string(), "signed": signed.is_some() }),
        );
        return Ok(());
    }
    say(format!(
        "{} {} of {}",
        paint(Tone::Good, "valid"),
        count(report.tip.entries, "entry"),
        report.tip.chain
    ));
    match signed {
        Some(head) => say(format!("signed by {}", head.origin)),
        None => say(paint(
            Tone::Warn,
            "not checked against a signed head: entries cut off at the end would not be seen",
        )),
    }
    Ok(())
}

async fn verify_store(context: &Context, since: Option<&Path>, key: Option<&str>) -> Result<(), Failure> {
    let opened = context.open().await?;
    let key = match key {
        Some(vkey) => NoteVerifier::parse(vkey)?,
        None => opened.signer.verifier().clone(),
    };
    let earlier = since.map(read).transpose()?;
    let verified = audit::verify(&*opened.store, &key, earlier.as_deref()).await?;
    if context.json {
        document(&json!({ "valid": true, "verified": verified }));
        return Ok(());
    }
    say(format!(
        "{} {} in {}",
        paint(Tone::Good, "valid"),
        count(verified.entries, "entry"),
        count(verified.chains, "chain")
    ));
    say(format!("signed   {}, by {}", count(verified.signed, "entry"), key.vkey()));
    say(format!("payloads {} intact, {} erased", verified.payloads, verified.erased));
    if earlier.is_some() {
        say("history  continues the head you kept");
    }
    Ok(())
}

async fn export(context: &Context, chain: ChainId, out: Option<&Path>) -> Result<(), Failure> {
    let opened = context.open().await?;
    let scope = scope_of(context, chain);
    let Some(path) = out else {
        let (_, head) =
            audit::export(&*opened.store, scope, chain, &opened.signer, &mut std::io::stdout()).await?;
        eprint!("{head}");
        return Ok(());
    };
    let failed = |error: std::io::Error| Failure::file(path, &error);
    // Written aside and moved into place: a reader never sees half a log.
    let aside = path.with_extension("part");
    let mut file = BufWriter::new(std::fs::File::create(&aside).map_err(failed)?);
    let exported = audit::export(&*opened.store, scope, chain, &opened.signer, &mut file).await;
    let (entries, head) = exported.inspect_err(|_| drop(std::fs::remove_file(&aside)))?;
    file.flush().map_err(failed)?;
    std::fs::rename(&aside, path).map_err(failed)?;
    std::fs::write(with_head(path), &head).map_err(failed)?;
    if context.json {
        document(&json!({ "file": path, "head": with_head(path), "entries": entries }));
    } else {
        say(format!(
            "{} in {}, head in {}",
            count(entries, "entry"),
            path.display(),
            with_head(path).display()
        ));
    }
    Ok(())
}

async fn prove(context: &Context, chain: ChainId, sequence: u64, since: Option<u64>) -> Result<(), Failure> {
    let opened = context.open().await?;
    document(&audit::prove(&*opened.store, scope_of(context, chain), chain, sequence, since).await?);
    Ok(())
}

async fn head(context: &Context, key: bool) -> Result<(), Failure> {
    let opened = context.open().await?;
    let head = opened.store.head().await?;
    if key {
        say(opened.signer.verifier().vkey());
    } else if context.json {
        document(&head);
    } else {
        match head {
            Some(head) => print!("{}", head.note),
            None => say(paint(Tone::Quiet, "the journal is empty: nothing to sign yet")),
        }
    }
    Ok(())
}

/// The house's own chain belongs to nobody, and everybody may check it.
fn scope_of(context: &Context, chain: ChainId) -> &steward_store::Scope {
    if chain == ChainId::SYSTEM { &steward_store::Scope::System } else { &context.scope }
}
