//! The effect of a call: read, change or destroy. This is the only place where it is derived.
//!
//! In this order:
//! 1. the definition: `effect` in its metadata (our own tools), `read_only` (a server's
//!    `readOnlyHint`), and `destructive` (a server's `destructiveHint`);
//! 2. a text that is executed, such as SQL or a command: its own effect; a text that cannot be
//!    parsed may destroy;
//! 3. the tool's name, if the server declares nothing: `delete_task` destroys and `list_tasks`
//!    reads.
//!
//! Invariant: provenance plays no part here. It matters only for calls that change something
//! without destroying.

use sqlparser::ast::{Query, SetExpr, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use steward_domain::{Idempotency, JsonObject, ToolDefinition};

/// The effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It adds or changes something.
    Change,
    /// It deletes or overwrites something, or may do so.
    Destroy,
}

impl Effect {
    /// The name as it is written in the journal and in a definition's metadata.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Change => "change",
            Self::Destroy => "destroy",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Read, Self::Change, Self::Destroy].into_iter().find(|effect| effect.name() == name)
    }
}

/// The effect of a call of this tool with these arguments.
#[must_use]
pub fn effect_of(definition: &ToolDefinition, arguments: &JsonObject) -> Effect {
    let said = said(definition);
    match said {
        DeclaredEffect::Effect(effect) => effect,
        // A server may declare a tool harmless although it executes a text that is not.
        DeclaredEffect::Harmless => statements(definition, arguments).unwrap_or(Effect::Change),
        DeclaredEffect::Nothing => statements(definition, arguments).unwrap_or_else(|| by_name(definition)),
    }
}

/// The strongest effect that any call of this tool can have.
#[must_use]
pub fn worst_effect_of(definition: &ToolDefinition) -> Effect {
    match said(definition) {
        DeclaredEffect::Effect(effect) => effect,
        _ if carried_out(definition).next().is_some() => Effect::Destroy,
        DeclaredEffect::Harmless => Effect::Change,
        DeclaredEffect::Nothing => by_name(definition),
    }
}

/// The effect that a definition declares.
enum DeclaredEffect {
    Effect(Effect),
    /// Declared not destructive (`destructiveHint: false`).
    Harmless,
    Nothing,
}

fn said(definition: &ToolDefinition) -> DeclaredEffect {
    let own = definition.metadata.get("effect").and_then(serde_json::Value::as_str).and_then(Effect::named);
    if let Some(effect) = own {
        return DeclaredEffect::Effect(effect);
    }
    if definition.idempotency == Idempotency::ReadOnly {
        return DeclaredEffect::Effect(Effect::Read);
    }
    match definition.metadata.get("destructive").and_then(serde_json::Value::as_bool) {
        Some(true) => DeclaredEffect::Effect(Effect::Destroy),
        Some(false) => DeclaredEffect::Harmless,
        None => DeclaredEffect::Nothing,
    }
}

/// Parameters whose text is executed.
const CARRIED_OUT: &[&str] = &["sql", "statement", "command", "cmd", "script", "shell"];
/// Parameters whose text is executed only by tools that run things; elsewhere `query` is a search
/// and `code` is a value.
const MAY_BE_CARRIED_OUT: &[&str] = &["query", "code"];
/// Words in the name of a tool that runs things.
const RUNS: &[&str] = &[
    "bash",
    "eval",
    "exec",
    "execute",
    "javascript",
    "mutate",
    "python",
    "run",
    "script",
    "shell",
    "sql",
    "write",
];

/// The parameters of a tool whose text is executed.
fn carried_out(definition: &ToolDefinition) -> impl Iterator<Item = &String> {
    let properties = definition.parameter_schema.get("properties").and_then(serde_json::Value::as_object);
    let text = |schema: &serde_json::Value| {
        schema.get("type").is_none_or(|kind| kind.as_str().is_none_or(|kind| kind == "string"))
    };
    let runs = words_of(definition).iter().any(|word| RUNS.contains(&word.as_str()))
        || definition.description.contains("SQL");
    let carried =
        move |name: &str| CARRIED_OUT.contains(&name) || (runs && MAY_BE_CARRIED_OUT.contains(&name));
    properties
        .into_iter()
        .flatten()
        .filter(move |(name, schema)| carried(&name.to_lowercase()) && text(schema))
        .map(|(name, _)| name)
}

/// The effect of the texts that the call executes; none if there are none.
fn statements(definition: &ToolDefinition, arguments: &JsonObject) -> Option<Effect> {
    let texts = carried_out(definition).filter_map(|name| arguments.get(name));
    texts.map(|text| text.as_str().map_or(Effect::Destroy, sql_effect)).max()
}

/// The effect of SQL. Only statements that certainly add are a change; an UPDATE overwrites, and a
/// text that is not SQL may do anything.
fn sql_effect(text: &str) -> Effect {
    let Ok(statements) = Parser::parse_sql(&GenericDialect {}, text) else { return Effect::Destroy };
    let one = |statement: &Statement| match statement {
        Statement::Query(query) if query_reads(query) => Effect::Change,
        Statement::Insert(insert)
            if !insert.replace_into && !insert.overwrite && insert.on.is_none() && insert.or.is_none() =>
        {
            Effect::Change
        }
        Statement::CreateTable(table) if !table.or_replace => Effect::Change,
        Statement::CreateIndex(_) => Effect::Change,
        _ => Effect::Destroy,
    };
    statements.iter().map(one).max().unwrap_or(Effect::Destroy)
}

/// Whether a query only reads: some engines allow a DELETE in a common table expression.
fn query_reads(query: &Query) -> bool {
    let tables = query.with.iter().flat_map(|with| &with.cte_tables);
    tables.into_iter().all(|table| query_reads(&table.query)) && reads(&query.body)
}

fn reads(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.into.is_none(),
        SetExpr::Query(query) => query_reads(query),
        SetExpr::SetOperation { left, right, .. } => reads(left) && reads(right),
        SetExpr::Values(_) | SetExpr::Table(_) => true,
        _ => false,
    }
}

/// Words that mark a tool as destructive, anywhere in its name.
const DESTROYS: &[&str] =
    &["delete", "destroy", "drop", "erase", "overwrite", "purge", "remove", "truncate", "uninstall", "wipe"];
/// Words that mark it as destructive unless the name starts with a word for reading:
/// `list_empty_rooms` reads.
const MAY_DESTROY: &[&str] = &[
    "cancel",
    "clear",
    "discard",
    "empty",
    "forget",
    "kill",
    "reset",
    "revoke",
    "scrap",
    "terminate",
    "trash",
    "unassign",
    "unsubscribe",
];

/// First words of the name of a tool that only reads.
const READS: &[&str] = &[
    "count", "describe", "fetch", "find", "get", "list", "lookup", "query", "read", "search", "show", "view",
];

fn by_name(definition: &ToolDefinition) -> Effect {
    let words = words_of(definition);
    let holds = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let reads = words.first().is_some_and(|first| READS.contains(&first.as_str()));
    match (holds(DESTROYS), reads, holds(MAY_DESTROY)) {
        (true, ..) | (_, false, true) => Effect::Destroy,
        (_, true, _) => Effect::Read,
        _ => Effect::Change,
    }
}

/// The words of a tool's name without its server, in lower case.
fn words_of(definition: &ToolDefinition) -> Vec<String> {
    let name = definition.tool_name.as_str();
    let bare = name.rsplit('.').next().unwrap_or(name);
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in bare.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_alphanumeric(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
#[path = "effect_tests.rs"]
mod tests;
