//! Verified answers: statements that a user verified, stored with their rows and checked again.
//!
//! Invariants
//! - A verified statement was run once, with the verifier's grants; only the verifier sees its
//!   rows.
//! - Verifying, checking and revoking are entries of the answer's own chain, in the transaction of
//!   the change.
//! - A verified answer runs with the grants of the caller, through admission like any other
//!   statement.

use crate::ask::{AppContext, Ask, Workspace};
use crate::error::{Error, Result};
use crate::journal_writer::JournalWriter;
use serde::Serialize;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use steward_analysis::catalogue::Catalogue;
use steward_analysis::frame::{Frame, Value};
use steward_analysis::tools::Workbench;
use steward_analysis::verified::{Matcher, Statement, obstacle};
use steward_domain::{
    ChainId, Check as _, Coded as _, EventType, JsonObject, Label, Question, SavedEntity, SavedItem,
    SavedKind, Sha256Hex, TaskId, Timestamp, UserId, VerifiedAnswer, VerifiedId, VerifiedResult,
    VerifiedStatement,
};
use steward_journal::Draft;
use steward_store::{Change, Commit, Page, Scope, Store};
use uuid::Uuid;

/// The maximum number of stored rows of a verified answer. The digest covers all rows.
const MAX_STORED_ROWS: usize = 200;
/// The maximum number of verified answers that are read.
pub(crate) const MOST: u32 = 1000;

/// A new verified answer.
#[derive(Debug, Clone, Default)]
pub struct NewVerified {
    /// The SQL; without it the reading of the question, or the statement of `origin`.
    pub sql: Option<String>,
    /// The task of the verified answer.
    pub origin: Option<TaskId>,
    /// Paraphrases of the question.
    pub paraphrases: Vec<String>,
    /// A note for other users.
    pub note: String,
}

/// The result of checking a verified answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerifiedCheck {
    /// The id of the answer.
    pub id: VerifiedId,
    /// Its question.
    pub question: Question,
    /// The outcome.
    pub outcome: CheckOutcome,
}

/// The outcome of checking a verified answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CheckOutcome {
    /// The same rows.
    Same,
    /// Other rows, columns, or another order.
    Moved {
        /// The differences, as text.
        changes: Vec<String>,
    },
    /// The statement failed.
    Broken {
        /// The error code.
        code: String,
        /// The reason.
        reason: String,
    },
}

/// The items of a kind in a scope.
pub async fn list_saved<T: SavedEntity>(store: &dyn Store, scope: &Scope, page: Page) -> Result<Vec<T>> {
    let found = store.saved_items(scope, T::KIND, page).await?;
    Ok(found.into_iter().filter_map(|item| T::from_item(item.into_inner())).collect())
}

/// One item of a kind.
pub async fn find_saved<T: SavedEntity>(store: &dyn Store, scope: &Scope, id: Uuid) -> Result<T> {
    let found = store.saved(scope, T::KIND, id).await?;
    let found = found.and_then(|item| T::from_item(item.into_inner()));
    found.ok_or_else(|| steward_store::Error::NotFound { what: T::KIND.name(), id: id.to_string() }.into())
}

/// The change that writes an item.
pub(crate) fn put_saved(item: impl Into<SavedItem>, replaces: Option<Timestamp>) -> Result<Change> {
    let item: SavedItem = item.into();
    Ok(Change::PutSaved { item: item.validate()?, replaces })
}

/// The time of the next change of an item: later than the previous one.
pub(crate) fn after(now: Timestamp, earlier: Timestamp) -> Timestamp {
    now.max(Timestamp::from_micros(earlier.micros().saturating_add(1)))
}

/// Writes one entry and its changes on an item's own chain.
pub(crate) async fn write_saved(
    store: &dyn Store,
    owner: &UserId,
    id: Uuid,
    event: EventType,
    surface: &str,
    data: Json,
    changes: Vec<Change>,
) -> Result<()> {
    let Json::Object(data) = data else { return Err(Error::Stored("an entry is an object".to_owned())) };
    let mut commit =
        Commit::new(owner.clone(), ChainId(id)).entry(Draft::new(event, Label::new(surface)?, data));
    commit.changes = changes;
    JournalWriter::write_once(store, &Scope::User(owner.clone()), commit).await?;
    Ok(())
}

impl AppContext {
    /// Verifies the answer to a question: its statement is run, and stored with its rows.
    pub async fn verify(&self, ask: &Ask, new: NewVerified, surface: &str) -> Result<VerifiedAnswer> {
        let question = Question::new(ask.question.trim())?;
        let bench = self.open_data(ask).await?;
        let visible = bench.session.visible(&bench.access);
        let statement = match &new.sql {
            Some(sql) => Statement::Sql(sql.trim().trim_end_matches(';').trim().to_owned()),
            None => self.statement_of(ask, new.origin, &bench).await?,
        };
        if let Some(why) = self.obstacle_to(question.as_str(), &statement, &visible) {
            return Err(Error::NotVerifiable(why.to_owned()));
        }
        let Run { frame, tables, ordered } = run(&bench, &statement, &visible).await?;
        let now = self.clock.now();
        let id = VerifiedId(self.random.uuid_v7(now)?);
        let paraphrases = new.paraphrases.iter().map(|text| Question::new(text.trim()));
        let answer = VerifiedAnswer {
            id,
            user_id: ask.user.clone(),
            question,
            paraphrases: paraphrases.collect::<std::result::Result<_, _>>()?,
            data: ask.data.iter().map(|named| steward_analysis::source::without_password(named)).collect(),
            schema_fingerprint: fingerprint(bench.session.catalogue(), &tables)?,
            tables,
            statement: stored(&statement)?,
            origin: new.origin,
            note: new.note,
            created_at: now,
            updated_at: now,
        };
        let result = result_of(&answer, &frame, ordered, now)?;
        let data = json!({
            "action": "verified", "verified": id, "origin": answer.origin, "tables": answer.tables,
            "statement_sha256": digest(&json!(answer.statement)), "result_sha256": result.digest,
            "rows": result.row_count,
        });
        let mut changes = vec![put_saved(answer.clone(), None)?, put_saved(result, None)?];
        changes.extend(self.verified_feedback_change(ask, new.origin, now).await?);
        write_saved(&*self.store, &ask.user, id.0, EventType::AnswerVerified, surface, data, changes).await?;
        Ok(answer)
    }

    /// Why a statement cannot be reused for later questions of this kind.
    fn obstacle_to(
        &self,
        question: &str,
        statement: &Statement,
        visible: &Catalogue,
    ) -> Option<&'static str> {
        let today = self.clock.now().to_chrono().date_naive();
        let meaning = |a: &str, b: &str| self.encoder.similarity(a, b);
        obstacle(question, statement, &Matcher { catalogue: visible, today, meaning: &meaning })
    }

    /// The reading of the question, or the statement of the origin answer.
    pub(crate) async fn statement_of(
        &self,
        ask: &Ask,
        origin: Option<TaskId>,
        bench: &Workbench,
    ) -> Result<Statement> {
        if let Some(task) = origin {
            let earlier =
                crate::ask::earlier_answer(&*self.store, &Scope::User(ask.user.clone()), task).await?;
            return match (earlier.reading, earlier.sql) {
                (Some(reading), _) => Ok(Statement::Reading(Box::new(reading))),
                (None, Some(sql)) => Ok(Statement::Sql(sql)),
                (None, None) => {
                    Err(Error::NotVerifiable(format!("the task {task} left no statement; give the SQL")))
                }
            };
        }
        match crate::ask::read_question(self, ask, bench).await {
            Some(reading) => Ok(Statement::Reading(Box::new(reading))),
            None => Err(Error::NotVerifiable(
                "the question is not understood; give the SQL that answers it".into(),
            )),
        }
    }

    /// The change that marks feedback on the verified answer as verified.
    async fn verified_feedback_change(
        &self,
        ask: &Ask,
        origin: Option<TaskId>,
        now: Timestamp,
    ) -> Result<Option<Change>> {
        let Some(task) = origin else { return Ok(None) };
        let scope = Scope::User(ask.user.clone());
        let all: Vec<steward_domain::Feedback> = list_saved(&*self.store, &scope, Page::first(MOST)).await?;
        let Some(mut found) = all.into_iter().find(|one| one.task_id == task) else { return Ok(None) };
        let seen = found.updated_at;
        found.status = steward_domain::FeedbackStatus::Verified;
        found.updated_at = after(now, seen);
        put_saved(found, Some(seen)).map(Some)
    }

    /// Runs verified answers again, each with the grants of `ask`, and reports the changes.
    pub async fn check_verified(
        &self,
        ask: &Ask,
        only: &[VerifiedId],
        surface: &str,
    ) -> Result<Vec<VerifiedCheck>> {
        let all: Vec<VerifiedAnswer> =
            list_saved(&*self.store, &Scope::User(ask.user.clone()), Page::first(MOST)).await?;
        let mut checks = Vec::new();
        for answer in all.into_iter().filter(|answer| only.is_empty() || only.contains(&answer.id)) {
            let outcome = self.check_one(ask, &answer).await?;
            if answer.user_id == ask.user {
                let data = json!({ "action": "checked", "verified": answer.id, "outcome": outcome });
                let owner = &answer.user_id;
                let event = EventType::AnswerVerified;
                write_saved(&*self.store, owner, answer.id.0, event, surface, data, Vec::new()).await?;
            }
            checks.push(VerifiedCheck { id: answer.id, question: answer.question, outcome });
        }
        Ok(checks)
    }

    async fn check_one(&self, ask: &Ask, answer: &VerifiedAnswer) -> Result<CheckOutcome> {
        let expected = self.store.saved(&Scope::System, SavedKind::VerifiedResult, answer.id.0).await?;
        let expected = expected.and_then(|item| VerifiedResult::from_item(item.into_inner()));
        let Some(expected) = expected else {
            return Err(Error::Stored(format!("{} has no rows", answer.id)));
        };
        Ok(match self.run_verified(ask, answer).await {
            Ok((frame, _)) => match differences(&expected, &frame) {
                changes if changes.is_empty() => CheckOutcome::Same,
                changes => CheckOutcome::Moved { changes },
            },
            Err(error) => CheckOutcome::Broken { code: error.code().to_owned(), reason: error.to_string() },
        })
    }

    async fn run_verified(&self, ask: &Ask, answer: &VerifiedAnswer) -> Result<(Frame, bool)> {
        let ask = Ask { data: answer.data.clone(), ..ask.clone() };
        let bench = self.open_data(&ask).await?;
        let visible = bench.session.visible(&bench.access);
        let statement = loaded(&answer.statement)?;
        let Run { frame, ordered, .. } = run(&bench, &statement, &visible).await?;
        Ok((frame, ordered))
    }

    /// Accepts the current rows of a verified answer as the expected ones.
    pub async fn accept_verified(&self, ask: &Ask, id: VerifiedId, surface: &str) -> Result<()> {
        let scope = Scope::User(ask.user.clone());
        let mut answer: VerifiedAnswer = find_saved(&*self.store, &scope, id.0).await?;
        let bench = self.open_data(&Ask { data: answer.data.clone(), ..ask.clone() }).await?;
        let visible = bench.session.visible(&bench.access);
        let Run { frame, tables, ordered } = run(&bench, &loaded(&answer.statement)?, &visible).await?;
        let (now, seen) = (self.clock.now(), answer.updated_at);
        answer.updated_at = after(now, seen);
        answer.schema_fingerprint = fingerprint(bench.session.catalogue(), &tables)?;
        let result = result_of(&answer, &frame, ordered, now)?;
        let data = json!({ "action": "accepted", "verified": id, "result_sha256": result.digest });
        let owner = answer.user_id.clone();
        let changes = vec![put_saved(answer, Some(seen))?, put_saved(result, None)?];
        write_saved(&*self.store, &owner, id.0, EventType::AnswerVerified, surface, data, changes).await
    }

    /// Revokes a verification.
    pub async fn unverify(&self, scope: &Scope, id: VerifiedId, surface: &str) -> Result<()> {
        let answer: VerifiedAnswer = find_saved(&*self.store, scope, id.0).await?;
        let data = json!({ "action": "taken_back", "verified": id });
        let kinds = [SavedKind::VerifiedAnswer, SavedKind::VerifiedResult];
        let changes = kinds.map(|kind| Change::DeleteSaved { kind, id: id.0 }).to_vec();
        write_saved(&*self.store, &answer.user_id, id.0, EventType::AnswerVerified, surface, data, changes)
            .await
    }
}

/// The result of a statement.
struct Run {
    frame: Frame,
    tables: Vec<String>,
    ordered: bool,
}

async fn run(bench: &Workbench, statement: &Statement, visible: &Catalogue) -> Result<Run> {
    let arguments = Workspace { bench, visible }.arguments(statement)?;
    let sql = arguments.get("sql").and_then(Json::as_str).unwrap_or_default().to_owned();
    let tables: Vec<String> = bench.admit(&sql)?.tables().iter().cloned().collect();
    let output = bench.call("sql.run", &arguments, "verified").await?;
    let frame = output.frame.ok_or_else(|| Error::NotVerifiable("the statement gives no rows".to_owned()))?;
    if output.cut {
        let most = frame.rows.len();
        return Err(Error::NotVerifiable(format!("it gives more than {most} rows; ask for fewer")));
    }
    let ordered = match statement {
        Statement::Reading(reading) => {
            reading.queries.first().is_some_and(|named| !named.query.order.is_empty())
        }
        Statement::Sql(sql) => sql.to_lowercase().contains("order by"),
    };
    Ok(Run { frame, tables, ordered })
}

/// Hash over the columns of some tables.
pub(crate) fn fingerprint(catalogue: &Catalogue, tables: &[String]) -> Result<Sha256Hex> {
    let named = |name: &str| tables.iter().any(|table| table.eq_ignore_ascii_case(name));
    let tables = catalogue.tables.iter().filter(|table| named(&table.name)).cloned().collect();
    Ok(Sha256Hex::new(Catalogue { tables, joins: Vec::new() }.fingerprint())?)
}

/// The statement in its stored form.
pub(crate) fn stored(statement: &Statement) -> Result<VerifiedStatement> {
    Ok(match statement {
        Statement::Sql(sql) => VerifiedStatement::Sql(sql.clone()),
        Statement::Reading(reading) => match json!(reading) {
            Json::Object(reading) => VerifiedStatement::Reading(reading),
            _ => return Err(Error::Stored("a reading is an object".to_owned())),
        },
    })
}

/// The statement in its executable form.
pub(crate) fn loaded(statement: &VerifiedStatement) -> Result<Statement> {
    Ok(match statement {
        VerifiedStatement::Sql(sql) => Statement::Sql(sql.clone()),
        VerifiedStatement::Reading(reading) => {
            let reading = serde_json::from_value(Json::Object(JsonObject::clone(reading)));
            Statement::Reading(Box::new(reading.map_err(|error| Error::Stored(error.to_string()))?))
        }
    })
}

/// The hash of a JSON document.
pub(crate) fn digest(value: &Json) -> String {
    let mut text = String::new();
    steward_journal::canonical::jcs(value, &mut text);
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A cell for comparison. Numbers are rounded to ten significant digits, because the last digits of
/// a sum depend on the order.
fn cell(value: &Value) -> Json {
    match (value, value.number()) {
        (Value::Null, _) => Json::Null,
        (_, Some(number)) => json!(format!("{number:.9e}")),
        _ => json!(value.plain()),
    }
}

/// Rows for comparison.
pub(crate) fn rows_of(frame: &Frame, ordered: bool) -> Vec<Vec<Json>> {
    let mut rows: Vec<Vec<Json>> = frame.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    if !ordered {
        rows.sort_by_cached_key(|row| json!(row).to_string());
    }
    rows
}

fn result_of(
    answer: &VerifiedAnswer,
    frame: &Frame,
    ordered: bool,
    now: Timestamp,
) -> Result<VerifiedResult> {
    let mut rows = rows_of(frame, ordered);
    let columns: Vec<String> = frame.fields.iter().map(|field| field.name.clone()).collect();
    let digest = Sha256Hex::new(digest(&json!({ "columns": columns, "rows": rows })))?;
    let row_count = rows.len() as u64;
    rows.truncate(MAX_STORED_ROWS);
    let (id, user_id) = (answer.id, answer.user_id.clone());
    Ok(VerifiedResult {
        id,
        user_id,
        columns,
        rows,
        row_count,
        ordered,
        digest,
        created_at: now,
        updated_at: now,
    })
}

/// The differences between the verified and the current rows, as text.
fn differences(expected: &VerifiedResult, frame: &Frame) -> Vec<String> {
    let rows = rows_of(frame, expected.ordered);
    let columns: Vec<String> = frame.fields.iter().map(|field| field.name.clone()).collect();
    if digest(&json!({ "columns": columns, "rows": rows })) == expected.digest.as_str() {
        return Vec::new();
    }
    let mut changes = Vec::new();
    if columns != expected.columns {
        changes.push(format!("columns were {}, are {}", expected.columns.join(", "), columns.join(", ")));
    }
    if rows.len() as u64 != expected.row_count {
        changes.push(format!("{} rows were {}", rows.len(), expected.row_count));
    }
    let shown = |row: &[Json]| {
        let cell = |value: &Json| match value.as_str() {
            Some(text) => text.parse::<f64>().map_or_else(|_| text.to_owned(), |number| number.to_string()),
            None => "nothing".to_owned(),
        };
        row.iter().map(cell).collect::<Vec<_>>().join(", ")
    };
    let gone = expected.rows.iter().filter(|row| !rows.contains(row)).take(3);
    let new = rows.iter().filter(|row| !expected.rows.contains(row)).take(3);
    changes.extend(gone.map(|row| format!("gone: {}", shown(row))));
    if expected.rows.len() as u64 == expected.row_count {
        changes.extend(new.map(|row| format!("new: {}", shown(row))));
    }
    if changes.is_empty() {
        changes.push("the same rows in another order".to_owned());
    }
    changes
}

#[cfg(test)]
#[path = "verified_tests.rs"]
mod tests;
