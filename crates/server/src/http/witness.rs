//! A witness for other logs: it stores the last head of each log and cosigns a new head only if
//! that extends the stored one.
//!
//! The protocol is C2SP's `add-checkpoint`. Requests are authenticated by the log's signature, so
//! no sign-in is needed.
//!
//! Invariant: a head is on disk before its cosignature is sent.

use super::extract::whole;
use super::openapi::Api;
use super::problem::Problem;
use super::{AppState, Shared};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steward_journal::Hash;
use steward_journal::note::{NoteSigner, NoteVerifier};
use steward_journal::witness::{Cosigner, Submission, Verdict, judge};
use tokio::sync::Mutex;

/// The watched logs and their cosigned heads.
pub struct LogWitness {
    folder: PathBuf,
    cosigner: Cosigner,
    logs: Vec<NoteVerifier>,
    /// Serializes updates: two heads of one log must not both be accepted as the first.
    alone: Mutex<()>,
}

impl LogWitness {
    /// Creates a witness for these logs. Its key is derived from the key of this home.
    pub fn open(home: &Path, signer: &NoteSigner, logs: &[String]) -> steward_journal::Result<Self> {
        let logs = logs.iter().map(|key| NoteVerifier::parse(key)).collect::<steward_journal::Result<_>>()?;
        let folder = home.join("witness/logs");
        Ok(Self { folder, cosigner: Cosigner::of(signer)?, logs, alone: Mutex::default() })
    }

    fn path(&self, log: &NoteVerifier) -> PathBuf {
        self.folder.join(format!("{}.head", Hash::of(&[log.vkey().as_bytes()])))
    }

    /// Handles a submission at a time in Unix seconds. Returns the status and the body.
    pub async fn add(&self, text: &str, now: u64) -> std::io::Result<(StatusCode, String)> {
        let refused = |status: StatusCode| Ok((status, String::new()));
        let Ok(submission) = Submission::parse(text) else { return refused(StatusCode::BAD_REQUEST) };
        let origin = submission.note.lines().next().unwrap_or_default();
        let Some(log) = self.logs.iter().find(|log| log.name() == origin) else {
            return refused(StatusCode::NOT_FOUND);
        };
        let _alone = self.alone.lock().await;
        let path = self.path(log);
        let last = match std::fs::read_to_string(&path) {
            Ok(note) => Some(log.open_log(&note).map_err(std::io::Error::other)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        match judge(&submission, log, last.as_ref()) {
            Err(_) => refused(StatusCode::FORBIDDEN),
            Ok(Verdict::Malformed) => refused(StatusCode::BAD_REQUEST),
            Ok(Verdict::Unproven) => refused(StatusCode::UNPROCESSABLE_ENTITY),
            Ok(Verdict::Conflict { size }) => Ok((StatusCode::CONFLICT, format!("{size}\n"))),
            Ok(Verdict::Sign(head)) => {
                crate::identity::replace_file(&path, submission.note.as_bytes())?;
                Ok((StatusCode::OK, self.cosigner.sign(&head, now)))
            }
        }
    }
}

impl AppState {
    /// Sets the witness. A second call has no effect.
    pub fn watch_logs(&self, witness: LogWitness) {
        let _ = self.witness.set(Arc::new(witness));
    }
}

pub(super) fn routes(api: &mut Api) {
    api.post("/witness/add-checkpoint", "Show a head of a log that is watched here (C2SP tlog-witness)")
        .open()
        .takes_bytes()
        .gives_kind(200, "The cosignature, as a line of a signed note.", "text/plain")
        .to(post(add));
}

async fn add(State(site): State<Shared>, request: Request) -> Result<Response, Problem> {
    let Some(witness) = site.witness.get() else {
        return Err(Problem::new(
            StatusCode::NOT_FOUND,
            "WEB018",
            "no logs are watched here (`witness.logs`)",
        ));
    };
    let bytes = whole(request, &site).await?;
    let text = String::from_utf8(bytes.to_vec()).map_err(|_| Problem::input("a submission is text"))?;
    let now = u64::try_from(site.now().micros() / 1_000_000).unwrap_or_default();
    let (status, answer) = witness.add(&text, now).await.map_err(|error| {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "WEB005",
            format!("the head could not be kept: {error}"),
        )
    })?;
    let kind = if status == StatusCode::CONFLICT { "text/x.tlog.size" } else { "text/plain; charset=utf-8" };
    if status.is_success() || status == StatusCode::CONFLICT {
        return Ok((status, [(CONTENT_TYPE, kind)], answer).into_response());
    }
    let why = match status.as_u16() {
        404 => "no such log is watched here (`witness.logs`)",
        403 => "the head is not signed by the key of its log",
        422 => "the proof does not lead from the last head to this one",
        _ => "this is no submission in the form of add-checkpoint",
    };
    Err(Problem::new(status, "WEB023", why))
}
