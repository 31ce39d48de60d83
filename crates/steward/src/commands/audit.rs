//! `steward audit`: verify, export, prove, head.

use super::Context;
use crate::error::Failure;
use crate::home::Opened;
use crate::output::{Tone, count, document, paint, say};
use crate::witness;
use clap::Subcommand;
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use steward_domain::ChainId;
use steward_journal::keys;
use steward_journal::note::NoteVerifier;
use steward_journal::verify::{check_head, verify_log};
use steward_journal::witness::Cosigner;
use steward_store::audit;

#[derive(Subcommand)]
pub(crate) enum Audit {
    /// Verify the store, or an exported file, offline.
    #[command(after_help = "Examples:
  steward audit verify                          everything in the store
  steward audit verify --deep                   and every row, payload and file against it
  steward audit verify --copy                   on media that cannot be written
  steward audit verify --since head.txt         and that it continues a head you kept
  steward audit verify run.jsonl                an exported file, with run.jsonl.head beside it
  steward audit verify run.jsonl --key KEY      on another machine, with the key line of `steward init`")]
    Verify {
        /// An exported log; the store by default.
        file: Option<PathBuf>,
        /// The signed head of the file; FILE.head by default.
        #[arg(long, value_name = "FILE")]
        head: Option<PathBuf>,
        /// Check only the chain of the file. A truncated end is not detected then.
        #[arg(long, conflicts_with = "head")]
        no_head: bool,
        /// A signed head of the store that was saved earlier.
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        since: Option<PathBuf>,
        /// Also compare rows, payloads and files with the journal. Needs the key of the home.
        #[arg(long, conflicts_with = "file")]
        deep: bool,
        /// Verify a copy in a temporary folder, without writing to the home. For read-only media.
        #[arg(long, conflicts_with = "file")]
        copy: bool,
        /// The key that must have signed; that of this home by default.
        #[arg(long)]
        key: Option<String>,
    },
    /// Send the newest head to the witness of the settings, and store its cosignature.
    Publish,
    /// Write a task's journal as JSONL, with its signed head beside it.
    Export {
        /// A task, a conversation, or `system`.
        chain: ChainId,
        /// Output file; standard output by default, with the head on standard error.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Prove that an entry is in the log; checkable with only a signed head and the key.
    Prove {
        /// A task, a conversation, or `system`.
        chain: ChainId,
        /// The number of the entry, from 1.
        sequence: u64,
        /// Also prove that the log extends the one of this size.
        #[arg(long, value_name = "SIZE")]
        since: Option<u64>,
    },
    /// Print the signed head of the log. Keep it elsewhere to be able to prove a rewrite.
    Head {
        /// Print the public key instead.
        #[arg(long)]
        key: bool,
        /// Print the key of this home as a witness for other logs.
        #[arg(long, conflicts_with = "key")]
        witness_key: bool,
        /// Accept the current store although a longer history was recorded. The store is verified
        /// first.
        #[arg(long, conflicts_with_all = ["key", "witness_key"])]
        accept: bool,
    },
}

pub(super) async fn run(context: &Context, audit: Audit) -> Result<(), Failure> {
    match audit {
        Audit::Verify { file: Some(file), head, no_head, key, .. } => {
            let head = (!no_head).then(|| head.unwrap_or_else(|| with_head(&file)));
            verify_file(context, &file, head.as_deref(), key.as_deref())
        }
        Audit::Verify { since, key, deep, copy, .. } => {
            verify_store(context, since.as_deref(), key.as_deref(), deep, copy).await
        }
        Audit::Publish => publish(context).await,
        Audit::Export { chain, out } => export(context, chain, out.as_deref()).await,
        Audit::Prove { chain, sequence, since } => prove(context, chain, sequence, since).await,
        Audit::Head { accept: true, .. } => accept(context).await,
        Audit::Head { witness_key: true, .. } => {
            say(Cosigner::of(&context.home.signer()?)?.verifier().vkey());
            Ok(())
        }
        Audit::Head { key, .. } => head(context, key).await,
    }
}

/// The head file of an export: `run.jsonl` and `run.jsonl.head`.
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
        // With a head, an empty file is a truncated log, and the head tells how long it was.
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

/// A store to be verified, and its copy if the home cannot be written.
struct Verifiable {
    opened: Opened,
    _copy: Option<tempfile::TempDir>,
}

/// Opens the store to be verified. A read-only home is copied first.
async fn verifiable(context: &Context, copy: bool) -> Result<Verifiable, Failure> {
    let home = &context.home;
    let Some(named) = context.settings.store.strip_prefix("sqlite:") else {
        return Ok(Verifiable { opened: home.open(&context.settings).await?, _copy: None });
    };
    let store = home.path.join(named);
    let writable = || {
        let probe = home.path.join(format!(".probe-{}", std::process::id()));
        std::fs::write(&probe, "").and_then(|()| std::fs::remove_file(&probe)).is_ok()
            && std::fs::OpenOptions::new().write(true).open(&store).is_ok()
    };
    if !copy && (!store.exists() || writable()) {
        return Ok(Verifiable { opened: home.open(&context.settings).await?, _copy: None });
    }
    let folder = tempfile::tempdir().map_err(Failure::unexpected)?;
    let target = folder.path().join("state.db");
    for ending in ["", "-wal"] {
        let with = |path: &Path| PathBuf::from(format!("{}{ending}", path.display()));
        if ending.is_empty() || with(&store).exists() {
            std::fs::copy(with(&store), with(&target)).map_err(|error| Failure::file(&store, &error))?;
        }
    }
    let signer = keys::load(&home.key_path())?;
    Ok(Verifiable { opened: home.open_copy(&target, signer)?, _copy: Some(folder) })
}

async fn publish(context: &Context) -> Result<(), Failure> {
    let opened = context.open().await?;
    match witness::publish(&context.home, &context.settings.witness, &opened).await? {
        Some(signed) if context.json => document(&json!({ "size": signed.size, "at": signed.at })),
        Some(signed) => say(format!("the witness signed the head of {}", count(signed.size, "entry"))),
        None => say(paint(Tone::Quiet, "no witness is set (`witness.url`), or the journal is empty")),
    }
    Ok(())
}

/// Accepts the current store as the right one.
async fn accept(context: &Context) -> Result<(), Failure> {
    let opened = context.home.open(&context.settings).await?;
    let verified = audit::verify(&*opened.store, opened.signer.verifier(), None).await?;
    let path = witness::kept_path(&context.home);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::file(&path, &error));
        }
        _ => {}
    }
    witness::keep(&context.home, &context.settings.witness, &opened).await?;
    say(format!("{} {} count from now on", paint(Tone::Good, "accepted"), count(verified.entries, "entry")));
    Ok(())
}

async fn verify_store(
    context: &Context,
    since: Option<&Path>,
    key: Option<&str>,
    deep: bool,
    copy: bool,
) -> Result<(), Failure> {
    let verifiable = verifiable(context, copy).await?;
    let opened = &verifiable.opened;
    let key = match key {
        Some(vkey) => NoteVerifier::parse(vkey)?,
        None => opened.signer.verifier().clone(),
    };
    let earlier = since.map(read).transpose()?;
    let verified = audit::verify(&*opened.store, &key, earlier.as_deref()).await?;
    // The log must extend every head that was kept outside the store.
    let kept = if key == *opened.signer.verifier() {
        witness::heads(&context.home, &context.settings.witness, &key)?
    } else {
        Vec::new()
    };
    for (path, head, note) in &kept {
        if head.size > verified.entries {
            let (found, kept, kept_at) = (verified.entries, head.size, path.clone());
            return Err(steward_journal::Error::RolledBack { found, kept, kept_at }.into());
        }
        audit::verify(&*opened.store, &key, Some(note)).await?;
    }
    let deeply = if deep { Some(look_deep(context, opened).await?) } else { None };
    if context.json {
        document(&json!({ "valid": true, "verified": verified, "witnessed": kept.len(), "deep": deeply }));
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
    for (path, head, _) in &kept {
        say(format!(
            "history  continues the head of {} kept at {}",
            count(head.size, "entry"),
            path.display()
        ));
    }
    if let Some(deep) = deeply {
        let (rows, files) = (count(deep.rows, "row"), count(deep.files, "file"));
        say(format!(
            "deep     {rows} and {files} are what the journal says; {} are older than seals",
            deep.unsealed
        ));
    }
    Ok(())
}

/// Compares rows, payloads and files with the journal.
async fn look_deep(context: &Context, opened: &Opened) -> Result<audit::Deep, Failure> {
    let artifacts = context.home.path.join("artifacts");
    let locate = |artifact: &steward_domain::Artifact| {
        let path = steward_runtime::ask::placed(&artifacts, &artifact.content_ref);
        let ours = path.starts_with(&artifacts);
        (path, ours)
    };
    let deep = audit::verify_deep(&*opened.store, &opened.signer, &locate).await?;
    if context.json && !deep.findings.is_empty() {
        document(&json!({ "valid": false, "findings": deep.findings }));
    }
    let checked: std::result::Result<_, steward_store::Error> = deep.into();
    Ok(checked?)
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
    // Written to a temporary file and renamed: a reader never sees a partial log.
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

/// All users may verify the system chain.
fn scope_of(context: &Context, chain: ChainId) -> &steward_store::Scope {
    if chain == ChainId::SYSTEM { &steward_store::Scope::System } else { &context.scope }
}
