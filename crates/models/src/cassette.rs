//! Cassettes: recorded requests and replies of a model, one JSON line each, for tests.
//!
//! A request is looked up by the hash of its canonical form: the model's name, the conversation and
//! the options, but no keys, addresses or times. Secrets and personal data are redacted in requests
//! and replies before hashing and writing, so that the file can be shared. Replies are stored
//! complete; a replayed stream consists of complete parts.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use steward_journal::canonical::jcs;
use steward_journal::redact::Redactor;

use super::chat::{Answer, Chat};
use super::stream::Listener;
use super::traced::traced;
use super::{Model, ModelError, Reply, Request, simple};

/// Maximum size of a cassette.
const LARGEST: u64 = 256 * 1024 * 1024;
/// Characters of a difference that are shown.
const SHOWN: usize = 120;

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    key: String,
    question: Value,
    answer: Answer,
}

/// The canonical form of a request, and its key.
fn normal(model: &str, chat: &Chat, redactor: &Redactor) -> (String, Value) {
    let chat = serde_json::to_value(chat).unwrap_or_default();
    let question = redactor.redact(json!({ "model": model, "chat": chat }));
    let mut canonical = String::new();
    jcs(&question, &mut canonical);
    let key = Sha256::digest(canonical.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    (key, question)
}

/// Forwards to another model and records its replies. Errors are not recorded.
pub struct Recorder {
    inner: Arc<dyn Model>,
    path: PathBuf,
    file: Mutex<File>,
    redactor: Redactor,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("model", &self.inner.name()).field("path", &self.path).finish()
    }
}

impl Recorder {
    /// Appends to a cassette; a new one is readable by its owner only.
    pub fn new(inner: Arc<dyn Model>, path: &Path) -> Result<Self, ModelError> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| unusable(path, &error.to_string()))?;
        let redactor = Redactor::default();
        Ok(Self { inner, path: path.to_owned(), file: Mutex::new(file), redactor })
    }

    fn keep(&self, chat: &Chat, answer: &Answer) -> Result<(), ModelError> {
        let (key, question) = normal(self.inner.name(), chat, &self.redactor);
        let answer = self.redactor.redact(serde_json::to_value(answer).unwrap_or_default());
        let mut line = json!({ "key": key, "question": question, "answer": answer }).to_string();
        line.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // One write, so that the lines of two recorders do not mix.
        file.write_all(line.as_bytes()).map_err(|error| unusable(&self.path, &error.to_string()))
    }
}

#[async_trait]
impl Model for Recorder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ModelError> {
        simple::complete(self, request).await
    }

    async fn talk(&self, chat: &Chat, listener: Option<&Listener>) -> Result<Answer, ModelError> {
        let answer = self.inner.talk(chat, listener).await?;
        self.keep(chat, &answer)?;
        Ok(answer)
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

/// Replies only from a cassette.
pub struct Replayer {
    name: String,
    path: PathBuf,
    questions: Vec<Value>,
    answers: HashMap<String, Vec<Answer>>,
    played: Mutex<HashMap<String, usize>>,
    redactor: Redactor,
}

impl std::fmt::Debug for Replayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replayer")
            .field("model", &self.name)
            .field("path", &self.path)
            .field("questions", &self.questions.len())
            .finish_non_exhaustive()
    }
}

impl Replayer {
    /// Loads a cassette for the model of this name.
    pub fn new(name: impl Into<String>, path: &Path) -> Result<Self, ModelError> {
        let wrong = |detail: String| unusable(path, &detail);
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        if file.metadata().map_err(|error| wrong(error.to_string()))?.len() > LARGEST {
            return Err(wrong(format!("it has more than {LARGEST} bytes")));
        }
        let (mut questions, mut answers) = (Vec::new(), HashMap::<String, Vec<Answer>>::new());
        for (place, line) in BufReader::new(file).lines().enumerate() {
            let at = |detail: String| wrong(format!("line {}: {detail}", place + 1));
            let line = line.map_err(|error| at(error.to_string()))?;
            if line.trim().is_empty() {
                continue;
            }
            let line: Line = serde_json::from_str(&line).map_err(|error| at(error.to_string()))?;
            questions.push(line.question);
            answers.entry(line.key).or_default().push(line.answer);
        }
        let (played, redactor) = (Mutex::default(), Redactor::default());
        Ok(Self { name: name.into(), path: path.to_owned(), questions, answers, played, redactor })
    }

    /// The recorded reply. A request that was recorded several times gets its replies in the same
    /// order, then the last one again.
    fn play(&self, chat: &Chat) -> Result<Answer, ModelError> {
        let (key, question) = normal(&self.name, chat, &self.redactor);
        let Some(answers) = self.answers.get(&key) else {
            let path = self.path.display().to_string();
            return Err(ModelError::NotRecorded { path, detail: nearest(&self.questions, &question) });
        };
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let count = played.entry(key).or_default();
        let answer = answers.get(*count).or_else(|| answers.last()).cloned().unwrap_or_default();
        *count += 1;
        Ok(answer)
    }
}

#[async_trait]
impl Model for Replayer {
    fn leaves_process(&self) -> bool {
        false
    }

    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ModelError> {
        simple::complete(self, request).await
    }

    async fn talk(&self, chat: &Chat, listener: Option<&Listener>) -> Result<Answer, ModelError> {
        let answer = traced("cassette", &self.name, chat, async { self.play(chat) }).await?;
        if let Some(listener) = listener {
            listener.whole(&answer).await;
        }
        Ok(answer)
    }
}

fn unusable(path: &Path, detail: &str) -> ModelError {
    ModelError::Cassette { path: path.display().to_string(), detail: detail.to_owned() }
}

/// The first difference from the most similar recorded request.
fn nearest(recorded: &[Value], question: &Value) -> String {
    let differences = recorded.iter().map(|known| {
        let mut found = Vec::new();
        differ(known, question, String::new(), &mut found);
        found
    });
    let Some(fewest) = differences.min_by_key(Vec::len) else { return "it is empty".to_owned() };
    match fewest.first() {
        Some((place, known, now)) => format!("the nearest has {known} at {place}, and this one {now}"),
        // Only a manually edited key leads here.
        None => "the question is there under another key".to_owned(),
    }
}

fn differ(known: &Value, now: &Value, place: String, found: &mut Vec<(String, String, String)>) {
    match (known, now) {
        (Value::Object(a), Value::Object(b)) => {
            let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let part = |map: &serde_json::Map<String, Value>| map.get(name).cloned().unwrap_or_default();
                differ(&part(a), &part(b), format!("{place}/{name}"), found);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                let part = |items: &[Value]| items.get(index).cloned().unwrap_or_default();
                differ(&part(a), &part(b), format!("{place}/{index}"), found);
            }
        }
        _ if known == now => {}
        (Value::String(a), Value::String(b)) => {
            let (a, b) = apart(a, b);
            found.push((place, a, b));
        }
        _ => found.push((place, shown(&known.to_string()), shown(&now.to_string()))),
    }
}

/// Two texts, from shortly before their first difference.
fn apart(a: &str, b: &str) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = |text: &str| {
        let dots = if same > 20 { "…" } else { "" };
        let rest: String = text.chars().skip(same.saturating_sub(20)).collect();
        shown(&format!("{:?}", format!("{dots}{rest}")))
    };
    (from(a), from(b))
}

fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}
