//! A plan from a language model: it gets the schema, and samples where configuration allows, and
//! answers with one SELECT statement, or with a plan in a fixed JSON form where the question asks
//! for charts or a report. What it writes is a draft like any other: policy decides.

mod names;
mod prompt;
#[cfg(test)]
mod tests;

pub use names::{Spelled, spell};

use crate::catalogue::Catalogue;
use crate::query::Dialect;
use crate::tools::PlotRender;
use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::time::Duration;
use steward_models::{Message, Model, ModelError, Request, Role};

/// How long a model may think.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What a model planned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelPlan {
    /// The queries; the first is the answer.
    pub queries: Vec<ModelQuery>,
    /// The charts.
    #[serde(default)]
    pub charts: Vec<PlotRender>,
    /// How sure it is.
    #[serde(default)]
    pub confidence: f64,
    /// Defaults it took.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// Why this way.
    #[serde(default)]
    pub reasoning: Vec<String>,
}

impl ModelPlan {
    /// Text literals of its statements.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.queries.iter().flat_map(|query| crate::tools::texts(&query.sql)).collect()
    }
}

/// One query of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelQuery {
    /// A short name.
    pub name: String,
    /// What it shows.
    #[serde(default)]
    pub title: String,
    /// One SELECT statement.
    pub sql: String,
}

/// What a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The person's words.
    pub question: &'a str,
    /// The tables that the person may read.
    pub catalogue: &'a Catalogue,
    /// The SQL that the data is queried with.
    pub dialect: Dialect,
    /// Whether sample values may be sent.
    pub samples: bool,
    /// The day of the question.
    pub today: NaiveDate,
}

/// A plan, and the words that it was given in.
#[derive(Debug, Clone)]
pub struct WrittenPlan {
    /// The plan.
    pub plan: ModelPlan,
    /// What the model wrote.
    pub text: String,
}

/// Asks a model for a plan. `before` is what it wrote last and what was wrong with it.
///
/// The rules and the schema stand first and are the same for every question about the same data, so
/// that a server need not read them again.
pub async fn plan(
    model: &dyn Model,
    wanted: &PlanRequest<'_>,
    before: Option<(&WrittenPlan, &str)>,
) -> Result<WrittenPlan, ModelError> {
    let whole = prompt::wants_whole_plan(wanted.question);
    let mut messages = vec![
        Message::new(Role::System, prompt::rules(wanted, whole)),
        Message::new(Role::User, prompt::question(wanted)),
    ];
    if let Some((written, problem)) = before {
        messages.push(Message::new(Role::Assistant, written.text.clone()));
        let again = format!("This did not work: {problem}\nWrite it again, corrected.");
        messages.push(Message::new(Role::User, again));
    }
    let request = Request {
        messages,
        schema: whole.then(|| ("analysis_plan".to_owned(), schema())),
        max_tokens: if whole { 1500 } else { 700 },
        temperature: 0.0,
        timeout: TIMEOUT,
    };
    let reply = model.complete(&request).await?;
    let mut plan = match reply.json {
        Some(json) => {
            serde_json::from_value(json).map_err(|error| ModelError::NotJson { detail: error.to_string() })?
        }
        None => read(&reply.text)?,
    };
    if plan.queries.is_empty() {
        return Err(ModelError::NotJson { detail: "the plan has no query".to_owned() });
    }
    tidy(&mut plan);
    Ok(WrittenPlan { plan, text: reply.text })
}

/// The plan in a reply: JSON, else one statement, in a fence or not.
fn read(text: &str) -> Result<ModelPlan, ModelError> {
    let json = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    if let Some(plan) = json.and_then(|json| serde_json::from_str::<ModelPlan>(json).ok()) {
        return Ok(plan);
    }
    let Some(sql) = statement(text) else {
        return Err(ModelError::NotJson { detail: "there is no SELECT statement in the reply".to_owned() });
    };
    let query = ModelQuery { name: "result".to_owned(), title: "Result".to_owned(), sql };
    Ok(ModelPlan {
        queries: vec![query],
        charts: Vec::new(),
        confidence: 0.0,
        assumptions: Vec::new(),
        reasoning: Vec::new(),
    })
}

/// The first SELECT statement of a text.
fn statement(text: &str) -> Option<String> {
    let fenced = text.split("```").nth(1).map(|inner| {
        let inner = inner.trim_start();
        inner.strip_prefix("sql").or_else(|| inner.strip_prefix("SQL")).unwrap_or(inner)
    });
    let text = fenced.unwrap_or(text);
    let lower = text.to_ascii_lowercase();
    let begins = |word: &str| {
        let mut places = lower.match_indices(word).map(|(place, _)| place);
        places.find(|place| {
            let before = lower.get(..*place).and_then(|head| head.chars().next_back());
            let after = lower.get(place + word.len()..).and_then(|tail| tail.chars().next());
            !before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_whitespace)
        })
    };
    let from = [begins("with"), begins("select")].into_iter().flatten().min()?;
    // "with" is a word of prose too: what does not hold a SELECT is none.
    begins("select")?;
    let rest = text.get(from..)?;
    let mut quote = None;
    let end = rest.char_indices().find(|(_, c)| match (quote, *c) {
        (None, '\'' | '"') => {
            quote = Some(*c);
            false
        }
        (Some(open), c) if open == c => {
            quote = None;
            false
        }
        (None, ';') => true,
        _ => false,
    });
    let sql = rest.get(..end.map_or(rest.len(), |(place, _)| place))?.trim();
    (!sql.is_empty()).then(|| sql.to_owned())
}

/// Names become unique and fit for a plan; charts of unknown results are dropped.
fn tidy(plan: &mut ModelPlan) {
    plan.queries.truncate(8);
    let mut renamed = Vec::new();
    for (place, query) in plan.queries.iter_mut().enumerate() {
        let clean: String = query
            .name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
            .collect();
        let clean = clean.trim_matches('_').to_owned();
        let name = if clean.is_empty()
            || clean.starts_with(|c: char| c.is_ascii_digit())
            || renamed.iter().any(|(_, known)| *known == clean)
        {
            format!("query_{}", place + 1)
        } else {
            clean
        };
        renamed.push((std::mem::replace(&mut query.name, name.clone()), name));
        if query.title.trim().is_empty() {
            query.title = query.name.replace('_', " ");
        }
    }
    for chart in &mut plan.charts {
        if let Some((_, name)) = renamed.iter().find(|(old, new)| *old == chart.input || *new == chart.input)
        {
            chart.input.clone_from(name);
        }
    }
    plan.charts.retain(|chart| renamed.iter().any(|(_, name)| *name == chart.input));
    plan.charts.truncate(4);
}

fn schema() -> Json {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let kinds = [
        "line",
        "bar",
        "grouped_bar",
        "stacked_bar",
        "area",
        "scatter",
        "histogram",
        "box",
        "heatmap",
        "pie",
    ];
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["queries", "charts", "confidence", "assumptions", "reasoning"],
        "properties": {
            "queries": { "type": "array", "minItems": 1, "items": {
                "type": "object", "additionalProperties": false, "required": ["name", "title", "sql"],
                "properties": { "name": text, "title": text, "sql": text } } },
            "charts": { "type": "array", "items": {
                "type": "object", "additionalProperties": false, "required": ["input", "kind", "title", "x", "y", "series"],
                "properties": { "input": text, "kind": { "type": "string", "enum": kinds }, "title": text, "x": text, "y": texts, "series": { "type": ["string", "null"] } } } },
            "confidence": { "type": "number" },
            "assumptions": texts,
            "reasoning": texts,
        },
    })
}
