//! The last journal head, kept outside the store: in the home, in a file, at a witness.
//!
//! Invariants
//! - A store with fewer entries than the saved head is not opened, except for verification.
//! - A head is saved only after its entries are on disk in the store: a power failure cannot make
//!   an honest store look rolled back.

use crate::config::WitnessSettings;
use crate::error::Failure;
use crate::home::{Home, Opened};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use steward_journal::Error;
use steward_journal::note::{Checkpoint, NoteVerifier};
use steward_journal::witness::{CosignatureVerifier, Submission};
use steward_store::audit;
use steward_tools::egress::{EgressClient, HostRule, Request, Rules};

/// The path of the saved head in the home.
pub(crate) fn kept_path(home: &Home) -> PathBuf {
    home.path.join("witness/head")
}

/// The saved head, if there is one. A head that cannot be read is an error: ignoring it would allow
/// bypassing the check.
fn kept(path: &Path, key: &NoteVerifier) -> Result<Option<(Checkpoint, String)>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(note) => Ok(Some((key.open_log(&note)?, note))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file(path, &error)),
    }
}

/// The last head in a file of heads.
fn last_published(path: &Path, key: &NoteVerifier) -> Result<Option<(Checkpoint, String)>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| Failure::file(path, &error))?,
    };
    let origin = format!("{}\n", key.name());
    let Some(start) = text.rfind(&origin) else { return Ok(None) };
    let note = text.get(start..).unwrap_or_default();
    // The signature line contains the name of the log too: the head starts before it.
    let begin = if note.contains("\n\n") {
        start
    } else {
        text.get(..start).and_then(|t| t.rfind(&origin)).unwrap_or(start)
    };
    let note = text.get(begin..).unwrap_or_default().to_owned();
    Ok(Some((key.open_log(&note)?, note)))
}

/// Heads that were saved outside the store, with their location.
pub(crate) fn heads(
    home: &Home,
    settings: &WitnessSettings,
    key: &NoteVerifier,
) -> Result<Vec<(PathBuf, Checkpoint, String)>, Failure> {
    let own = kept_path(home);
    let mut heads: Vec<_> = kept(&own, key)?.map(|(head, note)| (own, head, note)).into_iter().collect();
    if let Some(file) = &settings.file {
        heads.extend(last_published(file, key)?.map(|(head, note)| (file.clone(), head, note)));
    }
    Ok(heads)
}

/// Compares the store with the saved heads at every start. `audit verify` verifies the whole log.
pub(crate) async fn check(home: &Home, settings: &WitnessSettings, opened: &Opened) -> Result<(), Failure> {
    let key = opened.signer.verifier();
    let heads = heads(home, settings, key)?;
    if heads.is_empty() {
        return Ok(());
    }
    let now = opened.store.head().await?;
    let found = now.as_ref().map_or(0, |head| head.size);
    for (path, head, _) in heads {
        if head.size > found {
            return Err(Error::RolledBack { found, kept: head.size, kept_at: path }.into());
        }
        if head.size == found && now.as_ref().is_some_and(|now| now.root != head.root) {
            let what = format!("the head that was kept at {} has another root", path.display());
            return Err(Error::Inconsistent(what).into());
        }
    }
    Ok(())
}

/// Saves the current head of the store.
pub(crate) async fn keep(home: &Home, settings: &WitnessSettings, opened: &Opened) -> Result<(), Failure> {
    let Some(head) = opened.store.head().await? else { return Ok(()) };
    let path = kept_path(home);
    if std::fs::read_to_string(&path).is_ok_and(|kept| kept == head.note) {
        return Ok(());
    }
    steward_server::identity::replace_file(&path, head.note.as_bytes())
        .map_err(|error| Failure::file(&path, &error))?;
    if let Some(file) = &settings.file {
        let failed = |error: std::io::Error| Failure::file(file, &error);
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).map_err(failed)?;
        file.write_all(head.note.as_bytes()).and_then(|()| file.sync_data()).map_err(failed)?;
    }
    Ok(())
}

/// The response of a witness.
pub(crate) struct Witnessed {
    pub(crate) size: u64,
    /// In seconds since 1970.
    pub(crate) at: u64,
}

/// Sends the head to the witness of the settings. None if no witness is configured, or there is no
/// head.
pub(crate) async fn publish(
    home: &Home,
    settings: &WitnessSettings,
    opened: &Opened,
) -> Result<Option<Witnessed>, Failure> {
    let (Some(url), Some(named)) = (&settings.url, &settings.key) else { return Ok(None) };
    let witness = CosignatureVerifier::parse(named)?;
    let Some(head) = opened.store.head().await? else { return Ok(None) };
    let refused = |why: String| Failure::from(Error::Witness { name: url.clone(), why });
    let checkpoint = opened.signer.verifier().open_log(&head.note)?;
    let state = home.path.join("witness/published");
    let mut old: u64 =
        std::fs::read_to_string(&state).ok().and_then(|old| old.trim().parse().ok()).unwrap_or(0);
    // A witness that signed another size last reports it, and gets the proof from there.
    for _ in 0..2 {
        let proof = audit::consistency_from(&*opened.store, old, head.size).await?;
        let text = Submission { old, proof, note: head.note.clone() }.text();
        let (status, answer) = send(url, text).await.map_err(&refused)?;
        match status {
            200 => {
                let at = witness.signed_at(&checkpoint, &answer);
                let at = at.ok_or_else(|| refused("its signature is not by `witness.key`".to_owned()))?;
                let kept = home.path.join("witness/cosigned");
                for (path, text) in
                    [(&state, head.size.to_string()), (&kept, format!("{}{answer}", head.note))]
                {
                    steward_server::identity::replace_file(path, text.as_bytes())
                        .map_err(|error| Failure::file(path, &error))?;
                }
                return Ok(Some(Witnessed { size: head.size, at }));
            }
            409 => {
                let size =
                    answer.trim().parse().map_err(|_| refused("it answers 409 without a size".to_owned()))?;
                if size > head.size {
                    let (found, kept) = (head.size, size);
                    return Err(Error::RolledBack { found, kept, kept_at: PathBuf::from(url) }.into());
                }
                if size == old {
                    return Err(refused("it knows another history of this log".to_owned()));
                }
                old = size;
            }
            status => return Err(refused(format!("it answers {status}: {}", answer.trim()))),
        }
    }
    Err(refused("it does not agree on the size that it signed last".to_owned()))
}

/// One request through the outbound HTTP module: only the host of the witness is allowed.
async fn send(url: &str, text: String) -> Result<(u16, String), String> {
    let address = format!("{}/add-checkpoint", url.trim_end_matches('/'));
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    let allow: HostRule = serde_json::from_value(host.into()).map_err(|error| error.to_string())?;
    let rules = Rules {
        allow: vec![allow],
        allow_private: true,
        allow_writes: true,
        max_redirects: 0,
        ..Rules::default()
    };
    let headers = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
    let post = "POST".parse().map_err(|_| "no method".to_owned())?;
    let request = Request { method: post, headers, body: text.into_bytes(), ..Request::get(address) };
    let response = EgressClient::new(rules).fetch(request).await.map_err(|error| error.to_string())?;
    Ok((response.status.as_u16(), String::from_utf8_lossy(&response.body).into_owned()))
}
