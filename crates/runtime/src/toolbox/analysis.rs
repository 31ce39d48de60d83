//! Analysis tools for the registry, and the analyst as a sub-agent. The caller names the data.
//!
//! Invariant: a tool reads only what the operator granted: files inside the granted folders, and
//! sources named by a domain. The canonical path of a file decides: a symlink in a granted folder
//! grants nothing, and Steward's own home is never data. A user at the command line may read more
//! with `steward ask --data`; a manipulated agent may not.

use crate::ask::{AppContext, Ask};
use crate::progress::ProgressEvent;
use async_trait::async_trait;
use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use steward_analysis::frame::Frame;
use steward_analysis::session::Session;
use steward_analysis::source::Opening;
use steward_analysis::tools::{self as analysis, Workbench};
use steward_domain::{Coded as _, Constraints, Deliverable, ErrorClass, JsonObject, RequestPolicy};
use steward_policy::{Access, AdmittedCall, Caller, Limits};
use steward_tools::builtin::file::beneath::is_own;
use steward_tools::{Content, Context, Error, Output, Progress, Result, Tool};

/// The data that tools may read.
#[derive(Debug, Default)]
pub struct DataGrants {
    /// Folders in which any file may be read.
    folders: Vec<PathBuf>,
    /// The addresses and files of the domains.
    listed: Mutex<Vec<DomainSource>>,
    /// Steward's own home.
    home: Option<PathBuf>,
}

/// A source of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainSource {
    /// The domain.
    pub domain: String,
    /// The source as the domain names it.
    pub source: String,
}

impl DataGrants {
    /// Grants the files inside these folders, but none of this home.
    #[must_use]
    pub fn new(folders: &[PathBuf], home: &Path) -> Self {
        let folders = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        Self { folders, listed: Mutex::default(), home: home.canonicalize().ok() }
    }

    /// Whether an address leads into Steward's own home, in any spelling: a path, a pattern, a
    /// folder above it, `name=path`, a database address.
    #[must_use]
    pub fn is_own(&self, address: &str) -> bool {
        let own = Cell::new(false);
        let guard = |opening: Opening<'_>| {
            let Opening::File(path) = opening else { return Ok(()) };
            let real = path.canonicalize().ok();
            own.set(
                own.get() || real.zip(self.home.as_ref()).is_some_and(|(real, home)| real.starts_with(home)),
            );
            Ok(())
        };
        // A source that does not exist is reported when it is opened.
        let _found = steward_analysis::source::find_guarded(address, &guard);
        own.get()
    }

    /// Sets the current sources of the domains.
    pub fn list(&self, sources: Vec<DomainSource>) {
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = sources;
    }

    /// Checks that a caller may read a source: one of a granted domain, or files inside the granted
    /// folders. The check applies to the resolved path, not to its spelling.
    fn admit(&self, caller: &Caller, source: &str) -> Result<()> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (asked, withheld): (Vec<_>, Vec<_>) =
            listed.into_iter().partition(|known| caller.asks(&known.domain));
        if asked.iter().any(|known| known.source == source) {
            return Ok(());
        }
        let refuse = |rule: String| Error::Path { path: source.to_owned(), rule };
        // Table grants limit the data of domains. Other files would have no such limit.
        if !caller.tables.is_empty() || !caller.rows.tables.is_empty() {
            return Err(refuse("your grants name tables: only data of your domains can be read".into()));
        }
        let real = |known: &DomainSource| Path::new(&known.source).canonicalize().ok();
        let asked: Vec<PathBuf> = asked.iter().filter_map(real).collect();
        let withheld: Vec<PathBuf> = withheld.iter().filter_map(real).collect();
        let refused = Cell::new(None);
        let guard = |opening: Opening<'_>| {
            let reason = match opening {
                Opening::Server(_) => Some(
                    "a database is read by tools only when a domain in config/domains.yaml names it"
                        .to_owned(),
                ),
                Opening::File(path) => self.refusal(path, &asked, &withheld),
            };
            let Some(reason) = reason else { return Ok(()) };
            refused.set(Some(reason));
            Err(steward_analysis::Error::Source { what: source.to_owned(), detail: "refused".to_owned() })
        };
        match steward_analysis::source::find_guarded(source, &guard) {
            Ok(_) => Ok(()),
            Err(error) => Err(match refused.take() {
                Some(reason) => refuse(reason),
                // Outside the grants, existing and missing files give the same error.
                None if self.names_granted(source) => failed("sql.run", &error),
                None => refuse(self.granted()),
            }),
        }
    }

    /// Whether a source that was not found is inside the granted folders, by every interpretation
    /// of its text.
    fn names_granted(&self, source: &str) -> bool {
        let is_pattern = source.contains(['*', '?', '[']);
        let after = |mark: &str| source.split_once(mark).map(|(_, path)| path);
        let readings = [Some(source), after("="), after("://"), source.strip_prefix("sqlite:")];
        let inside = |path: &str| {
            let existing = Path::new(path).ancestors().find_map(|part| {
                let part = if part.as_os_str().is_empty() { Path::new(".") } else { part };
                part.canonicalize().ok()
            });
            existing.is_some_and(|real| self.folders.iter().any(|folder| real.starts_with(folder)))
        };
        !(is_pattern && source.contains("..")) && readings.into_iter().flatten().all(inside)
    }

    /// The grants as text.
    fn granted(&self) -> String {
        let folders: Vec<String> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        format!("granted: {}", if folders.is_empty() { "nothing".to_owned() } else { folders.join(", ") })
    }

    /// Why a file may not be read; `None` when it may.
    fn refusal(&self, path: &Path, asked: &[PathBuf], withheld: &[PathBuf]) -> Option<String> {
        let Ok(real) = path.canonicalize() else { return Some(self.granted()) };
        let within = |roots: &[PathBuf]| roots.iter().any(|root| real.starts_with(root));
        let own = |root: &Path| self.home.as_ref().is_some_and(|home| is_own(home, root, &real));
        if within(asked) {
            return None;
        }
        if within(withheld) || !self.folders.iter().any(|folder| real.starts_with(folder) && !own(folder)) {
            return Some(self.granted());
        }
        None
    }
}

/// The rules of analysis, from the settings.
#[derive(Debug, Clone, Default)]
pub struct AnalysisRules {
    /// The allowed and blocked columns.
    pub policy: RequestPolicy,
    /// The limits of rows and seconds.
    pub constraints: Constraints,
}

/// One of the analysis tools.
pub(super) struct AnalysisTool {
    pub(super) name: &'static str,
    pub(super) app: AppContext,
    pub(super) grounds: Arc<DataGrants>,
    pub(super) rules: AnalysisRules,
}

/// The schema of a tool's arguments, extended by the data.
pub(super) fn parameters(tool: &str) -> JsonObject {
    let Some(Json::Object(mut schema)) = analysis::schema(tool) else { return JsonObject::new() };
    let data = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1,
        "description": "Files, folders, patterns or database addresses to read; each becomes one or more \
            tables." });
    if let Some(Json::Object(properties)) = schema.get_mut("properties") {
        properties.insert("data".into(), data);
    }
    if let Json::Array(required) = schema.entry("required").or_insert_with(|| json!([])) {
        required.push("data".into());
    }
    schema
}

#[async_trait]
impl Tool for AnalysisTool {
    async fn call(&self, call: &AdmittedCall, _: &Context) -> Result<Output> {
        let mut arguments = call.arguments().clone();
        let data: Vec<String> = sources(self.name, arguments.remove("data"))?;
        data.iter().try_for_each(|source| self.grounds.admit(call.caller(), source))?;
        let failed = |error: steward_analysis::Error| failed(self.name, &error);
        let session = Session::open(&data, self.app.options).await.map_err(failed)?;
        let access = Access {
            allowed_columns: self.rules.policy.allowed_columns.iter().cloned().collect(),
            blocked_patterns: self.rules.policy.blocked_patterns.clone(),
            tables: call.caller().tables.clone(),
            rows: call.caller().rows.clone(),
        };
        let constraints = &self.rules.constraints;
        let limits = Limits { rows: constraints.row_limit, timeout: constraints.timeout_seconds };
        let bench = Workbench::new(session, access, limits);
        let output = bench.call(self.name, &Json::Object(arguments), "result").await.map_err(failed)?;
        Ok(analysis_output(output))
    }
}

fn sources(tool: &str, data: Option<Json>) -> Result<Vec<String>> {
    serde_json::from_value(data.unwrap_or_default())
        .map_err(|error| Error::Arguments { tool: tool.to_owned(), problems: vec![format!("data: {error}")] })
}

fn failed(tool: &str, error: &steward_analysis::Error) -> Error {
    match error.class() {
        ErrorClass::Denied => {
            Error::Denied { tool: tool.to_owned(), rule: "data", told: format!("{} {error}", error.code()) }
        }
        class => Error::Failed {
            tool: tool.to_owned(),
            message: format!("{} {error}", error.code()),
            transient: class == ErrorClass::Transient,
        },
    }
}

fn analysis_output(output: analysis::Output) -> Output {
    let mut told = Output::default();
    let mut document = JsonObject::new();
    if let Some(frame) = &output.frame {
        document = table(frame);
        document.insert("cut".into(), output.cut.into());
    }
    if let Some(Json::Object(profile)) = output.profile {
        document = profile;
    }
    document.extend(output.values.iter().map(|(name, value)| (name.clone(), value.json())));
    for (name, text) in [("sql", output.sql), ("text", output.text)] {
        if let Some(text) = text {
            document.insert(name.into(), text.into());
        }
    }
    if !output.warnings.is_empty() {
        document.insert("warnings".into(), json!(output.warnings));
    }
    if let Some(drawn) = output.drawn {
        document.insert("vega_lite".into(), drawn.vega_lite);
        let data = base64::engine::general_purpose::STANDARD.encode(&drawn.png);
        told.content.push(Content::Image { data, mime_type: "image/png".into() });
    }
    let document = Json::Object(document);
    told.content.insert(0, Content::Text { text: document.to_string() });
    told.structured = Some(document);
    told
}

fn table(frame: &Frame) -> JsonObject {
    let columns: Vec<Json> =
        frame.fields.iter().map(|field| json!({ "name": field.name, "type": field.kind })).collect();
    let cells = |row: &Vec<steward_analysis::frame::Value>| {
        Json::Array(row.iter().map(steward_analysis::frame::Value::json).collect())
    };
    let rows: Vec<Json> = frame.rows.iter().map(cells).collect();
    [("columns", json!(columns)), ("row_count", rows.len().into()), ("rows", Json::Array(rows))]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// The analyst: answers a question in plain language in its own session, and returns a summary.
pub(super) struct Analyst {
    pub(super) app: AppContext,
    pub(super) grounds: Arc<DataGrants>,
    pub(super) rules: AnalysisRules,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnalystArguments {
    question: String,
    #[serde(default)]
    data: Vec<String>,
    #[serde(default)]
    conversation: Option<steward_domain::ConversationId>,
}

/// The schema of the analyst's arguments.
pub(super) fn analyst_parameters() -> JsonObject {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["question"],
        "properties": {
            "question": { "type": "string", "minLength": 1, "maxLength": 2000, "description": "The question \
                in plain language, or one SELECT statement." },
            "data": { "type": "array", "items": { "type": "string" }, "description": "Files, folders, \
                patterns or database addresses. Leave it out to go on with the conversation's." },
            "conversation": { "type": "string", "format": "uuid", "description": "Goes on with this \
                conversation: `and Texas?` changes one part of the question before." },
        },
    });
    match schema {
        Json::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

#[async_trait]
impl Tool for Analyst {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output> {
        let name = call.tool().to_string();
        let arguments: AnalystArguments = serde_json::from_value(Json::Object(call.arguments().clone()))
            .map_err(|error| Error::Arguments { tool: name.clone(), problems: vec![error.to_string()] })?;
        let ask = Ask {
            tables: call.caller().tables.clone(),
            rows: call.caller().rows.clone(),
            question: arguments.question,
            data: arguments.data,
            conversation: arguments.conversation,
            user: call.caller().user.clone(),
            deliver: vec![
                Deliverable::Tables,
                Deliverable::Charts,
                Deliverable::Reports,
                Deliverable::Summary,
            ],
            out: None,
            planner: None,
            policy: self.rules.policy.clone(),
            constraints: self.rules.constraints,
        };
        // The current grants apply to sources of the conversation as much as to named ones.
        let sources = self.app.sources_of(&ask).await.map_err(|error| unanswered(&name, &error))?;
        sources.iter().try_for_each(|source| self.grounds.admit(call.caller(), source))?;
        let report = context.progress.clone();
        let steps = Mutex::new(0.0);
        let tell = move |event: ProgressEvent| {
            let (ProgressEvent::Working { what } | ProgressEvent::Began { what, .. }) = event else {
                return;
            };
            if let Some(report) = &report {
                let mut done = steps.lock().unwrap_or_else(PoisonError::into_inner);
                *done += 1.0;
                report(Progress { done: *done, total: None, message: Some(what) });
            }
        };
        let answer = self.app.ask(&ask, &tell).await.map_err(|error| unanswered(&name, &error))?;
        if let (Some(code), Some(class)) =
            (answer.error_code.filter(|code| *code != "ASK001"), answer.error_class)
        {
            let message = answer.response.error.clone().unwrap_or_else(|| code.to_owned());
            return Err(match class {
                ErrorClass::Denied => Error::Denied { tool: name, rule: "data", told: message },
                class => Error::Failed { tool: name, message, transient: class == ErrorClass::Transient },
            });
        }
        let mut told = Output::json(answer.json());
        told.content = vec![Content::Text { text: spoken(&answer) }];
        for chart in answer.charts.iter().take(3) {
            let data = base64::engine::general_purpose::STANDARD.encode(&chart.drawn.png);
            told.content.push(Content::Image { data, mime_type: "image/png".into() });
        }
        Ok(told)
    }
}

/// The error of a question that could not be accepted.
fn unanswered(tool: &str, error: &crate::Error) -> Error {
    Error::Failed {
        tool: tool.to_owned(),
        message: format!("{} {error}", error.code()),
        transient: error.class() == ErrorClass::Transient,
    }
}

/// The answer as text, for a person or a model.
fn spoken(answer: &crate::ask::Answer) -> String {
    let mut text = answer.answer.clone();
    for finding in &answer.response.summary.key_findings {
        text.push_str(&format!("\n- {finding}"));
    }
    if let Some(clarification) = &answer.clarification {
        for option in &clarification.options {
            text.push_str(&format!("\n? {}", option.question));
        }
    }
    if let Some(id) = answer.conversation_id {
        text.push_str(&format!("\n(conversation {id})"));
    }
    text
}

#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
