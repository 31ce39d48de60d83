//! Rows as they are searched: the columns that stand beside a body, and rows that have no body.
//!
//! Lists and searches read these columns, the journal seals the bodies. The deep audit compares the
//! two: [`expected`] says from a body what its columns must hold. Both stores read the rows with
//! the same list of columns ([`LookupTable::columns`]), so they cannot differ in what is compared.

use crate::change::GateDecision;
use crate::error::{Error, Result};
use crate::words::{from_json, int, word};
use std::collections::BTreeMap;
use steward_domain::{
    AnalysisRequest, Artifact, ChainId, Checkpoint, Plan, SavedItem, ScheduleTick, SubAgentSession, Task,
    TaskId, Timestamp, Valid,
};
use uuid::Uuid;

/// A table whose columns are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the name of each variant says what it holds")]
pub enum LookupTable {
    Task,
    Request,
    Plan,
    Checkpoint,
    Session,
    Artifact,
    Saved,
    Message,
    Payload,
    Decision,
    Tick,
}

/// How a column is written as text, the same in both stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Text,
    /// 32 hexadecimal digits.
    Uuid,
    Number,
    /// Microseconds.
    Time,
    /// 0 or 1.
    Flag,
}

/// A row: its identity, its owner, and its other columns by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupRow {
    /// The id, as 32 hexadecimal digits.
    pub id: String,
    /// The chain to which it belongs.
    pub chain: Option<ChainId>,
    /// The owner.
    pub owner: String,
    /// The body; none in tables without one.
    pub body: Option<String>,
    /// The other columns.
    pub columns: Columns,
}

impl LookupRow {
    /// A column's value; empty without one.
    pub(crate) fn text(&self, column: &str) -> &str {
        self.columns.get(column).and_then(Option::as_deref).unwrap_or_default()
    }

    /// What a seal covers.
    pub(crate) fn content(&self) -> serde_json::Value {
        serde_json::json!({ "id": self.id, "chain": self.chain, "owner": self.owner, "columns": self.columns })
    }
}

/// Values of columns as text.
pub type Columns = BTreeMap<&'static str, Option<String>>;

/// What a table is called, and its columns.
pub(crate) struct TableColumns {
    pub(crate) name: &'static str,
    pub(crate) id: &'static str,
    /// The column that names the chain.
    pub(crate) chain: Option<&'static str>,
    pub(crate) has_body: bool,
    pub(crate) others: &'static [(&'static str, ColumnType)],
}

const STATUS: &[(&str, ColumnType)] = &[("status", ColumnType::Text), ("created_at", ColumnType::Time)];

impl LookupTable {
    /// The tables whose rows have a body.
    pub(crate) const WITH_BODY: [Self; 7] =
        [Self::Task, Self::Request, Self::Plan, Self::Checkpoint, Self::Session, Self::Artifact, Self::Saved];

    /// What the table holds, for a finding.
    pub(crate) fn row_name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Request => "request",
            Self::Plan => "plan",
            Self::Checkpoint => "checkpoint",
            Self::Session => "session",
            Self::Artifact => "artifact",
            Self::Saved => "saved item",
            Self::Message => "message",
            Self::Payload => "payload",
            Self::Decision => "decision",
            Self::Tick => "tick",
        }
    }

    pub(crate) fn columns(self) -> TableColumns {
        use ColumnType::{Flag, Number, Text, Time, Uuid};
        let with_body =
            |name, chain, others| TableColumns { name, id: "id", chain: Some(chain), has_body: true, others };
        match self {
            Self::Task => {
                with_body("task", "id", &[("status", Text), ("created_at", Time), ("ended_at", Time)])
            }
            Self::Request => with_body("analysis_request", "id", STATUS),
            Self::Plan => with_body("plan", "task_id", STATUS),
            Self::Checkpoint => {
                with_body("checkpoint", "task_id", &[("sequence", Number), ("created_at", Time)])
            }
            Self::Session => with_body("sub_agent_session", "task_id", STATUS),
            Self::Artifact => {
                with_body("artifact", "task_id", &[("content_ref", Text), ("created_at", Time)])
            }
            Self::Saved => TableColumns {
                chain: None,
                ..with_body(
                    "saved_item",
                    "id",
                    &[
                        ("kind", Text),
                        ("shared", Flag),
                        ("due_at", Time),
                        ("created_at", Time),
                        ("updated_at", Time),
                    ],
                )
            },
            Self::Message => {
                TableColumns { has_body: false, ..with_body("conversation_message", "conversation_id", &[]) }
            }
            Self::Payload => {
                TableColumns { id: "payload_id", has_body: false, ..with_body("payload", "request_id", &[]) }
            }
            Self::Decision => TableColumns {
                id: "task_id",
                has_body: false,
                ..with_body(
                    "approval_decision",
                    "task_id",
                    &[
                        ("gate", Number),
                        ("digest", Text),
                        ("decision", Text),
                        ("decided_by", Text),
                        ("decided_at", Time),
                        ("call_id", Uuid),
                    ],
                )
            },
            Self::Tick => TableColumns {
                id: "schedule_id",
                has_body: false,
                ..with_body("schedule_tick", "task_id", &[("due_at", Time), ("settled_at", Time)])
            },
        }
    }
}

impl TableColumns {
    /// The expressions of a SELECT that reads these rows: id, chain, owner, body, then the others.
    pub(crate) fn select(&self, as_text: impl Fn(&str, ColumnType) -> String) -> String {
        let mut parts = vec![
            as_text(self.id, ColumnType::Uuid),
            self.chain.map_or_else(|| "NULL".to_owned(), |chain| as_text(chain, ColumnType::Uuid)),
            "user_id".to_owned(),
            if self.has_body { "body" } else { "NULL" }.to_owned(),
        ];
        parts.extend(self.others.iter().map(|(name, kind)| as_text(name, *kind)));
        // The primary key of each table is among these: the order is total.
        let order: Vec<String> = (1..=parts.len()).filter(|n| *n != 4).map(|n| n.to_string()).collect();
        format!("SELECT {} FROM {} ORDER BY {}", parts.join(", "), self.name, order.join(", "))
    }

    /// A row from the values of that SELECT.
    pub(crate) fn row(&self, values: Vec<Option<String>>) -> Result<LookupRow> {
        let mut values = values.into_iter();
        let mut next = || values.next().flatten();
        let bad = || Error::BadRow(format!("a row of {} without an id or an owner", self.name));
        let (id, chain, owner, body) = (next().ok_or_else(bad)?, next(), next().ok_or_else(bad)?, next());
        let chain = chain.and_then(|chain| Uuid::parse_str(&chain).ok()).map(ChainId);
        let columns = self.others.iter().map(|(name, _)| (*name, next())).collect();
        Ok(LookupRow { id, chain, owner, body, columns })
    }
}

/// What a body says of the row that it stands in. The owner is that of the chain where the body
/// does not name one.
pub(crate) fn expected(table: LookupTable, body: &str, chain_owner: &str) -> Result<LookupRow> {
    let time = |at: Timestamp| Some(at.micros().to_string());
    let id = |id: Uuid| id.simple().to_string();
    let inherited = || chain_owner.to_owned();
    let row = |id, chain: Option<TaskId>, owner, columns: &[(&'static str, Option<String>)]| LookupRow {
        id,
        chain: chain.map(ChainId::from),
        owner,
        body: None,
        columns: columns.iter().cloned().collect(),
    };
    Ok(match table {
        LookupTable::Task => {
            let task: Valid<Task> = from_json(body)?;
            let columns = [
                ("status", Some(task.status_name().to_owned())),
                ("created_at", time(task.created_at)),
                ("ended_at", task.completed_at.and_then(time)),
            ];
            row(id(task.id.0), Some(task.id), task.user_id.to_string(), &columns)
        }
        LookupTable::Request => {
            let one: Valid<AnalysisRequest> = from_json(body)?;
            let columns = [("status", Some(word(&one.status)?)), ("created_at", time(one.timestamp))];
            row(id(one.request_id.0), Some(one.request_id), one.user_id.to_string(), &columns)
        }
        LookupTable::Plan => {
            let plan: Valid<Plan> = from_json(body)?;
            let columns = [("status", Some(word(&plan.status)?)), ("created_at", time(plan.created_at))];
            row(id(plan.plan_id.0), Some(plan.request_id), inherited(), &columns)
        }
        LookupTable::Checkpoint => {
            let one: Valid<Checkpoint> = from_json(body)?;
            let columns =
                [("sequence", Some(int(one.sequence).to_string())), ("created_at", time(one.created_at))];
            row(id(one.checkpoint_id.0), Some(one.task_id), inherited(), &columns)
        }
        LookupTable::Session => {
            let one: Valid<SubAgentSession> = from_json(body)?;
            let columns = [("status", Some(word(&one.status)?)), ("created_at", time(one.created_at))];
            row(id(one.session_id.0), Some(one.parent_task_id), inherited(), &columns)
        }
        LookupTable::Artifact => {
            let one: Valid<Artifact> = from_json(body)?;
            let columns =
                [("content_ref", Some(one.content_ref.clone())), ("created_at", time(one.created_at))];
            row(id(one.artifact_id.0), Some(one.request_id), inherited(), &columns)
        }
        LookupTable::Saved => {
            let item: Valid<SavedItem> = from_json(body)?;
            let columns = [
                ("kind", Some(item.kind().name().to_owned())),
                ("shared", Some(u8::from(item.is_shared()).to_string())),
                ("due_at", item.due_at().and_then(time)),
                ("created_at", time(item.created_at())),
                ("updated_at", time(item.updated_at())),
            ];
            row(id(item.id()), None, item.user_id().to_string(), &columns)
        }
        LookupTable::Message | LookupTable::Payload | LookupTable::Decision | LookupTable::Tick => {
            return Err(Error::BadRow(format!("a {} has no body", table.row_name())));
        }
    })
}

/// The row of a decision, without the call that it released.
pub(crate) fn of_decision(owner: &str, decided: &GateDecision) -> Result<LookupRow> {
    let columns = [
        ("gate", Some(int(decided.gate.number).to_string())),
        ("digest", Some(decided.digest.to_string())),
        ("decision", Some(word(&decided.verdict)?)),
        ("decided_by", Some(decided.by.to_string())),
        ("decided_at", Some(decided.at.micros().to_string())),
    ];
    Ok(LookupRow {
        id: decided.gate.task.0.simple().to_string(),
        chain: Some(decided.gate.task.into()),
        owner: owner.to_owned(),
        body: None,
        columns: columns.into_iter().collect(),
    })
}

/// The row of a tick, without the time at which it was settled.
pub(crate) fn of_tick(tick: &ScheduleTick) -> LookupRow {
    LookupRow {
        id: tick.schedule_id.0.simple().to_string(),
        chain: Some(tick.task_id.into()),
        owner: tick.user_id.to_string(),
        body: None,
        columns: [("due_at", Some(tick.due_at.micros().to_string()))].into_iter().collect(),
    }
}
