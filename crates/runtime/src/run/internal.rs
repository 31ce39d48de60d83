//! Tools of the runtime itself, for agents: searching tools, asking about data, reading skills.
//!
//! Invariants
//! - They are read-only, and show only what the caller may use at that moment. A domain without a
//!   grant is reported like one that does not exist.
//! - Found tools are only offered. Each call of them goes through the gateway like any other.

use super::{ClientRequest, Runner};
use crate::ask::{Answer, Ask};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use steward_domain::{
    Coded as _, ConversationId, Idempotency, JsonObject, Label, ResponseStatus, TaskId, ToolName,
};
use steward_engine::{Class, ToolOutcome, ToolSpec};
use steward_policy::{Caller, RowRules};
use steward_tools::registry::{Filter, Snapshot};

/// Searches tools.
pub(crate) const SEARCH_TOOLS: &str = "steward.search_tools";
/// Answers a question about data.
pub(crate) const ASK_DATA: &str = "steward.ask_data";
/// Reads a skill.
pub(crate) const READ_SKILL: &str = "steward.read_skill";
/// The source name of the user's own data in the conversation.
pub(crate) const OWN_DATA: &str = "your_data";

/// The maximum number of tools of one search.
const FOUND: usize = 8;
/// The maximum number of rows of a table for a model.
const ROWS: usize = 60;
/// The maximum number of skills in a prompt.
const SKILLS: usize = 20;
/// The maximum number of characters of a skill for a model.
const SKILL: usize = 20_000;

/// The context of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunContext {
    /// The conversation.
    #[serde(default)]
    pub(crate) conversation: Option<ConversationId>,
    /// The user's own data. Passwords are not stored.
    #[serde(default, serialize_with = "without_passwords")]
    pub(crate) data: Vec<String>,
    /// The options of a client of a model protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<Box<ClientRequest>>,
}

impl RunContext {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn without_passwords<S: Serializer>(data: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(data.iter().map(|named| steward_analysis::source::without_password(named)))
}

/// The engine's specification of one of these tools.
pub(crate) fn spec(name: &str) -> Option<ToolSpec> {
    about(name)?;
    Some(ToolSpec {
        name: ToolName::new(name).ok()?,
        server: None,
        safety: Idempotency::ReadOnly,
        timeout_seconds: 180,
        fallback_tools: Vec::new(),
        trusted_fields: Vec::new(),
    })
}

/// The description and the parameters of one of these tools, for a model.
pub(crate) fn about(name: &str) -> Option<(&'static str, Json)> {
    let text =
        |about: &str| json!({ "type": "string", "minLength": 1, "maxLength": 2000, "description": about });
    Some(match name {
        SEARCH_TOOLS => (
            "Finds more tools that you may call, by what they are to do. Use it when none of your tools fits.",
            json!({ "type": "object", "additionalProperties": false, "required": ["query"],
                "properties": { "query": text("What the tool is to do, in plain words.") } }),
        ),
        ASK_DATA => (
            "Answers one question about data with a query: counts, sums, comparisons, rankings, trends, \
                lists of rows. Say in the question what is to be computed, over what, grouped how, filtered \
                by what.",
            json!({ "type": "object", "additionalProperties": false, "required": ["question"],
                "properties": {
                    "question": text("The question in plain words."),
                    "source": text("Which source of data; leave it out when there is only one."),
                } }),
        ),
        READ_SKILL => (
            "Reads the instructions of a skill by its name.",
            json!({ "type": "object", "additionalProperties": false, "required": ["name"],
                "properties": { "name": text("The name of the skill.") } }),
        ),
        _ => return None,
    })
}

/// The data sources that a caller may ask about, with their descriptions.
pub(crate) fn sources(snapshot: &Snapshot, caller: &Caller) -> BTreeMap<String, String> {
    let usable = snapshot.domains.iter().filter(|(name, field)| {
        field.domain.enabled && !field.domain.data_sources.is_empty() && caller.asks(name.as_str())
    });
    usable.map(|(name, field)| (name.to_string(), field.domain.description.to_string())).collect()
}

/// Whether a tool of the registry may be offered to a model. Analysis tools take any data and do
/// not know the table grants: `steward.ask_data` replaces them.
pub(crate) fn is_offered(name: &str) -> bool {
    let is_analysis = steward_analysis::tools::TOOLS.iter().any(|(tool, _)| *tool == name);
    !is_analysis && name != "agent.analyst"
}

fn failed(message: impl Into<String>) -> ToolOutcome {
    ToolOutcome::Failed { class: Class::User, message: message.into(), sent: false }
}

impl Runner {
    /// Executes one of these tools; `None` for any other.
    pub(super) async fn call_internal(
        &self,
        caller: &Caller,
        within: (TaskId, &RunContext),
        tool: &str,
        arguments: &JsonObject,
    ) -> Option<ToolOutcome> {
        about(tool)?;
        let text = |name: &str| arguments.get(name).and_then(Json::as_str).map(str::trim).unwrap_or_default();
        Some(match tool {
            SEARCH_TOOLS => self.search_tools(caller, text("query")).await,
            READ_SKILL => self.read_skill(text("name")),
            _ => self.ask_data(caller, within, text("question"), text("source")).await,
        })
    }

    async fn search_tools(&self, caller: &Caller, query: &str) -> ToolOutcome {
        let found = match self.toolbox.search(caller, query, FOUND).await {
            Ok(found) => found,
            Err(error) => return failed(error.to_string()),
        };
        let (mut tools, mut listed) = (Vec::new(), Vec::new());
        for candidate in found.candidates.iter().filter(|candidate| is_offered(candidate.tool.as_str())) {
            let Some(registered) = self.toolbox.registry().get(&candidate.tool, None) else { continue };
            let spec = ToolSpec::from(&**registered.definition);
            let about: String = registered.definition.description.chars().take(300).collect();
            listed.push(json!({ "name": spec.name, "description": about }));
            tools.push(spec);
        }
        let note = if listed.is_empty() { "nothing fits" } else { "you may call these from now on" };
        ToolOutcome::Found { output: json!({ "tools": listed, "note": note }), tools }
    }

    fn read_skill(&self, name: &str) -> ToolOutcome {
        match self.toolbox.skills().get(name).map(|skill| skill.body()) {
            Some(Ok(body)) => {
                let body: String = body.chars().take(SKILL).collect();
                ToolOutcome::Found { output: Json::String(body), tools: Vec::new() }
            }
            Some(Err(error)) => failed(error.to_string()),
            None => failed(format!("there is no skill {name:?}")),
        }
    }

    async fn ask_data(
        &self,
        caller: &Caller,
        (task, context): (TaskId, &RunContext),
        question: &str,
        source: &str,
    ) -> ToolOutcome {
        let snapshot = self.toolbox.registry().snapshot();
        let granted = sources(&snapshot, caller);
        let own = !context.data.is_empty();
        let chosen = match source {
            "" if own => OWN_DATA,
            "" if granted.len() == 1 => granted.keys().next().map(String::as_str).unwrap_or_default(),
            named => named,
        };
        let (data, tables, rows) = if chosen == OWN_DATA && own {
            (context.data.clone(), BTreeMap::new(), RowRules::default())
        } else if granted.contains_key(chosen) {
            let field = snapshot.domains.iter().find(|(name, _)| name.as_str() == chosen);
            let named =
                field.map(|(_, field)| field.domain.data_sources.iter().map(Label::to_string).collect());
            (named.unwrap_or_default(), caller.tables.clone(), caller.rows.clone())
        } else {
            let names = granted.keys().map(String::as_str).chain(own.then_some(OWN_DATA));
            let names: Vec<&str> = names.collect();
            return failed(format!("name one of the sources: {}", names.join(", ")));
        };
        let conversation = match context.conversation {
            Some(id) => id,
            None => match self.app().random.uuid_v7(self.now()) {
                Ok(id) => ConversationId(id),
                Err(error) => return failed(error.to_string()),
            },
        };
        let rules = self.toolbox.rules();
        let ask = Ask {
            question: question.to_owned(),
            data,
            conversation: None,
            user: caller.user.clone(),
            deliver: Vec::new(),
            out: None,
            planner: None,
            tables,
            rows,
            policy: rules.policy.clone(),
            constraints: rules.constraints,
        };
        match self.app().answer_within(&ask, None, conversation, task).await {
            Ok(answer) if answer.response.status == ResponseStatus::Failed => {
                let why = answer.response.error.clone().unwrap_or_else(|| answer.answer.clone());
                ToolOutcome::Failed { class: Class::User, message: why, sent: false }
            }
            Ok(answer) => ToolOutcome::Success { output: shown(&answer), artifact: None },
            Err(error) => failed(format!("{} {error}", error.code())),
        }
    }
}

/// An answer for a model: the text, its rows, and the assumptions.
fn shown(answer: &Answer) -> Json {
    let tables: Vec<Json> = answer
        .tables
        .iter()
        .take(4)
        .map(|table| {
            let columns: Vec<&str> = table.frame.fields.iter().map(|field| field.name.as_str()).collect();
            let row = |row: &Vec<steward_analysis::frame::Value>| -> Json {
                row.iter().map(steward_analysis::frame::Value::json).collect()
            };
            let rows: Vec<Json> = table.frame.rows.iter().take(ROWS).map(row).collect();
            json!({ "title": table.title, "columns": columns, "rows": rows, "row_count": table.frame.rows.len() })
        })
        .collect();
    let mut document = json!({
        "answer": answer.answer, "tables": tables, "confidence": answer.confidence,
        "assumptions": answer.assumptions, "findings": answer.response.summary.key_findings,
        "warnings": answer.response.summary.warnings,
    });
    if let (Some(asked), Some(document)) = (&answer.clarification, document.as_object_mut()) {
        let options: Vec<&str> = asked.options.iter().map(|option| option.label.as_str()).collect();
        document.insert("unclear".into(), json!({ "question": asked.question, "readings": options }));
    }
    document
}

/// The skills of the home with their descriptions, for a prompt.
pub(crate) fn skills(runner: &Runner) -> Vec<(String, String)> {
    let known = runner.toolbox.skills().skills.into_iter().take(SKILLS);
    known.map(|skill| (skill.name, skill.description.chars().take(300).collect())).collect()
}

/// The best matching tools for a request that a caller may use.
pub(crate) async fn best_tools(runner: &Runner, caller: &Caller, said: &str, most: usize) -> Vec<ToolName> {
    let Ok(found) = runner.toolbox.search(caller, said, most * 2).await else { return Vec::new() };
    let names = found.candidates.into_iter().map(|candidate| candidate.tool);
    names.filter(|name| is_offered(name.as_str())).take(most).collect()
}

/// Whether a caller may use a tool now.
pub(crate) fn can_use_tool(runner: &Runner, caller: &Caller, tool: &ToolName) -> bool {
    let snapshot = runner.toolbox.registry().snapshot();
    let filter = Filter { caller: Some(caller), ..Filter::default() };
    snapshot.list(&filter).any(|entry| {
        entry.registered.definition.tool_name == *tool && entry.registered.settings.off.is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::is_offered;

    #[test]
    fn no_tool_that_names_its_data_itself_is_offered_to_a_model() {
        for (tool, _) in steward_analysis::tools::TOOLS {
            assert!(!is_offered(tool), "{tool}");
        }
        assert!(!is_offered("agent.analyst"));
        assert!(is_offered("notes.create_note"));
    }
}
