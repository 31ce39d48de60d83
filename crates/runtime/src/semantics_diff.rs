//! The stored answers that would change with other definitions of metrics.
//!
//! Verified answers and board tiles whose question names a metric, before or after, are computed by
//! both definitions with the grants of the caller, and their rows are compared.

use crate::ask::{AppContext, Ask, Workspace};
use crate::error::{Error, Result};
use crate::verified::{CheckOutcome, MOST, list_saved, rows_of};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;
use steward_analysis::frame::Frame;
use steward_analysis::tools::Workbench;
use steward_analysis::verified::Statement;
use steward_domain::{Board, Coded as _, SemanticModel, TileContent, VerifiedAnswer, VerifiedStatement};
use steward_store::{Page, Scope};

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StoredAnswer {
    /// A verified answer.
    VerifiedAnswer {
        /// Its id.
        id: String,
    },
    /// A tile of a board.
    Tile {
        /// The name of the board.
        board: String,
        /// The title of the tile.
        title: String,
    },
}

/// The effect of other definitions on an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SemanticsChange {
    /// The answer.
    #[serde(flatten)]
    pub kept: StoredAnswer,
    /// Its question.
    pub question: String,
    /// The effect.
    pub outcome: CheckOutcome,
}

impl AppContext {
    /// The effect of a new semantic model on the answers that name a metric. Answers that name none
    /// are not listed.
    pub async fn semantics_diff(&self, ask: &Ask, new: &SemanticModel) -> Result<Vec<SemanticsChange>> {
        let old = self.semantic_model()?;
        let mut opened: BTreeMap<Vec<String>, Arc<Workbench>> = BTreeMap::new();
        let mut changes = Vec::new();
        for (kept, question, data) in self.kept_answers(ask).await? {
            let bench = match opened.get(&data) {
                Some(bench) => bench.clone(),
                None => match self.open_data(&Ask { data: data.clone(), ..ask.clone() }).await {
                    Ok(bench) => {
                        opened.insert(data.clone(), bench.clone());
                        bench
                    }
                    Err(error) => {
                        let (code, reason) = (error.code().to_owned(), error.to_string());
                        changes.push(SemanticsChange {
                            kept,
                            question,
                            outcome: CheckOutcome::Broken { code, reason },
                        });
                        continue;
                    }
                },
            };
            let before = self.by_metric(&bench, &question, &old).await;
            let after = self.by_metric(&bench, &question, new).await;
            let outcome = match (before, after) {
                (Ok(None), Ok(None)) => continue,
                (_, Err(error)) => {
                    CheckOutcome::Broken { code: error.code().to_owned(), reason: error.to_string() }
                }
                (Ok(Some(before)), Ok(Some(after))) => compare(&before, &after),
                (Ok(None), Ok(Some(_))) => moved("it would be computed by a metric"),
                (Ok(Some(_)), Ok(None)) => moved("it would no longer be computed by a metric"),
                (Err(_), Ok(_)) => moved("it could not be computed and now can"),
            };
            changes.push(SemanticsChange { kept, question, outcome });
        }
        Ok(changes)
    }

    async fn kept_answers(&self, ask: &Ask) -> Result<Vec<(StoredAnswer, String, Vec<String>)>> {
        let scope = Scope::User(ask.user.clone());
        let verified: Vec<VerifiedAnswer> = list_saved(&*self.store, &scope, Page::first(MOST)).await?;
        let mut kept: Vec<_> = verified
            .into_iter()
            .map(|one| {
                (StoredAnswer::VerifiedAnswer { id: one.id.to_string() }, one.question.to_string(), one.data)
            })
            .collect();
        let boards: Vec<Board> = list_saved(&*self.store, &scope, Page::first(MOST)).await?;
        for board in boards.iter().filter(|board| board.user_id == ask.user) {
            for tile in &board.tiles {
                let TileContent::Answer { question, data, statement: VerifiedStatement::Reading(_), .. } =
                    &tile.content
                else {
                    continue;
                };
                let place = StoredAnswer::Tile { board: board.name.to_string(), title: tile.title.clone() };
                kept.push((place, question.to_string(), data.clone()));
            }
        }
        Ok(kept)
    }

    /// The rows of a question that names a metric of a model.
    async fn by_metric(
        &self,
        bench: &Workbench,
        question: &str,
        model: &SemanticModel,
    ) -> Result<Option<Frame>> {
        let visible = bench.session.visible(&bench.access);
        let Some((reading, _)) = self.metric_reading(question, model, &visible)? else { return Ok(None) };
        let statement = Statement::Reading(Box::new(reading));
        let arguments = Workspace { bench, visible: &visible }.arguments(&statement)?;
        let output = bench.call("sql.run", &arguments, "semantics_diff").await?;
        output.frame.map(Some).ok_or_else(|| Error::Stored("a metric gives rows".to_owned()))
    }
}

fn moved(why: &str) -> CheckOutcome {
    CheckOutcome::Moved { changes: vec![why.to_owned()] }
}

/// The difference between the rows of two definitions.
fn compare(before: &Frame, after: &Frame) -> CheckOutcome {
    let (old, new) = (rows_of(before, false), rows_of(after, false));
    if old == new {
        return CheckOutcome::Same;
    }
    let told = |frame: &Frame, place: usize| {
        let row = frame.rows.get(place).map(Vec::as_slice).unwrap_or_default();
        row.iter().map(steward_analysis::frame::Value::plain).collect::<Vec<_>>().join(", ")
    };
    let missing = |frame: &Frame, rows: &[Vec<Json>], other: &[Vec<Json>]| -> Vec<String> {
        let plain = rows_of(frame, true);
        let gone = |row: &&Vec<Json>| !other.contains(row);
        let count = rows.iter().filter(gone).count().min(3);
        let places = plain.iter().enumerate().filter(|(_, row)| !other.contains(row)).take(count);
        places.map(|(place, _)| told(frame, place)).collect()
    };
    let gone = missing(before, &old, &new).into_iter().map(|row| format!("gone: {row}"));
    let fresh = missing(after, &new, &old).into_iter().map(|row| format!("new: {row}"));
    let mut changes: Vec<String> = gone.chain(fresh).collect();
    if old.len() != new.len() {
        changes.insert(0, format!("{} rows instead of {}", new.len(), old.len()));
    }
    CheckOutcome::Moved { changes }
}
