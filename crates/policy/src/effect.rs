//! What a call does to the world, and so whether a person is asked: the one place where that is
//! derived.
//!
//! In this order:
//! 1. what the definition says: `effect` in its metadata (our own tools), `read_only` (a server's
//!    `readOnlyHint`), and `destructive` (a server's `destructiveHint`);
//! 2. a text that is carried out, such as SQL or a command: it does what it says, and what cannot
//!    be read may destroy;
//! 3. the tool's name, last: where the server says nothing, `delete_task` destroys and `list_tasks`
//!    reads.
//!
//! Invariant: who wrote the arguments has no say here. It matters only for what changes something
//! without destroying.

use sqlparser::ast::{Query, SetExpr, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use steward_domain::{Idempotency, JsonObject, ToolDefinition};

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It adds or changes something.
    Change,
    /// It takes something away or overwrites it, or may.
    Destroy,
}

impl Effect {
    /// In the words of the journal and of a definition's metadata.
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

/// What a call of this tool with these arguments does.
#[must_use]
pub fn effect_of(definition: &ToolDefinition, arguments: &JsonObject) -> Effect {
    let said = said(definition);
    match said {
        DeclaredEffect::Effect(effect) => effect,
        // What a server calls harmless may still carry out a text that is not.
        DeclaredEffect::Harmless => statements(definition, arguments).unwrap_or(Effect::Change),
        DeclaredEffect::Nothing => statements(definition, arguments).unwrap_or_else(|| by_name(definition)),
    }
}

/// The most that any call of this tool does.
#[must_use]
pub fn worst_effect_of(definition: &ToolDefinition) -> Effect {
    match said(definition) {
        DeclaredEffect::Effect(effect) => effect,
        _ if carried_out(definition).next().is_some() => Effect::Destroy,
        DeclaredEffect::Harmless => Effect::Change,
        DeclaredEffect::Nothing => by_name(definition),
    }
}

/// What a definition says of its effect.
enum DeclaredEffect {
    Effect(Effect),
    /// That it does not destroy (`destructiveHint: false`).
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

/// Parameters whose text is carried out.
const CARRIED_OUT: &[&str] = &["sql", "statement", "command", "cmd", "script", "shell"];
/// Parameters whose text is carried out by tools that run things; elsewhere a query is searched for
/// and a code is a value.
const MAY_BE_CARRIED_OUT: &[&str] = &["query", "code"];
/// Words of the name of a tool that runs things.
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

/// The parameters of a tool whose text is carried out.
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

/// What the texts do that the call carries out; nothing when there are none.
fn statements(definition: &ToolDefinition, arguments: &JsonObject) -> Option<Effect> {
    let texts = carried_out(definition).filter_map(|name| arguments.get(name));
    texts.map(|text| text.as_str().map_or(Effect::Destroy, sql_effect)).max()
}

/// What SQL does. Only what surely adds is taken for a change; an UPDATE overwrites, and what is no
/// SQL may do anything.
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

/// Whether a query only reads: some engines let a common table expression hold a DELETE.
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

/// Words of a tool's name that say that something goes, wherever they stand.
const DESTROYS: &[&str] =
    &["delete", "destroy", "drop", "erase", "overwrite", "purge", "remove", "truncate", "uninstall", "wipe"];
/// Words that say so unless the name begins with a word for reading: `list_empty_rooms` reads.
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

/// First words of a tool's name that say that nothing changes.
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
