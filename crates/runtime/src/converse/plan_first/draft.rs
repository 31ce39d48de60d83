//! Parses a plan that a model wrote, and checks its tools and arguments against what was offered.

use super::signature;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use steward_domain::{NodeName, ToolName};
use steward_engine::{StaticStep, ToolSpec, first_json};

/// A tool that a plan may call.
pub(super) struct PlannedTool {
    pub(super) spec: ToolSpec,
    pub(super) parameters: Map<String, Json>,
    pub(super) signature: String,
}

/// The model's response to the request.
pub(super) enum Draft {
    /// A plan.
    Plan { steps: Vec<StaticStep>, answer: String },
    /// A plan is not possible before data is read, for this reason.
    Cannot(String),
    /// No valid plan; each line is a problem.
    Broken(Vec<String>),
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    steps: Vec<Json>,
    #[serde(default)]
    answer: Json,
    #[serde(default)]
    cannot: Option<Json>,
}

/// Parses a reply.
pub(super) fn read(reply: &str, tools: &BTreeMap<ToolName, PlannedTool>) -> Draft {
    let broken = |line: &str| Draft::Broken(vec![line.to_owned()]);
    let Some(document) = first_json(reply) else { return broken("the reply is not a JSON object") };
    // A list of steps is a plan without an answer.
    let document = if document.is_array() { serde_json::json!({ "steps": document }) } else { document };
    let written: Written = match serde_json::from_value(document) {
        Ok(written) => written,
        Err(error) => return broken(&error.to_string()),
    };
    if let Some(why) = written.cannot.filter(|why| !why.is_null() && *why != Json::Bool(false)) {
        return Draft::Cannot(why.as_str().unwrap_or("the model did not say why").to_owned());
    }
    let (mut steps, mut problems) = (Vec::new(), Vec::new());
    let mut drafted = with_plain_ids(written.steps);
    let ids: Vec<String> =
        drafted.iter().filter_map(|step| step.get("id")?.as_str()).map(str::to_owned).collect();
    for step in &mut drafted {
        for part in ["arguments", "args", "parameters", "for_each", "when", "extract"] {
            if let Some(value) = step.get_mut(part) {
                read_inline_references(value, &ids);
            }
        }
    }
    for (place, step) in drafted.into_iter().enumerate() {
        match step_of(step, place, tools) {
            Ok(step) => steps.push(step),
            Err(lines) => problems.extend(lines),
        }
    }
    if !problems.is_empty() {
        return Draft::Broken(problems);
    }
    if steps.is_empty() {
        return broken("there are no steps");
    }
    Draft::Plan { steps, answer: written.answer.as_str().unwrap_or_default().to_owned() }
}

/// Replaces dots and spaces in the ids of steps and in references to them: models name a step like
/// its tool.
fn with_plain_ids(mut steps: Vec<Json>) -> Vec<Json> {
    let plain = |id: &str| -> String {
        id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
    };
    let ids: Vec<String> = steps
        .iter()
        .filter_map(|step| step.get("id")?.as_str())
        .filter(|id| plain(id) != **id)
        .map(str::to_owned)
        .collect();
    for step in &mut steps {
        for id in &ids {
            rename(step, id, &plain(id));
        }
        if let Some(Json::String(id)) = step.get_mut("id") {
            *id = plain(id);
        }
    }
    steps
}

/// Parses inline references such as `"3 * ${cost.amount}"`, which models write. Text that names no
/// step stays as it is.
fn read_inline_references(value: &mut Json, ids: &[String]) {
    match value {
        Json::Array(values) => values.iter_mut().for_each(|value| read_inline_references(value, ids)),
        Json::Object(members) => {
            for (_, member) in
                members.iter_mut().filter(|(name, _)| *name != "$ref" && *name != "instruction")
            {
                read_inline_references(member, ids);
            }
        }
        Json::String(text) => {
            let parts = inline_parts(text, ids);
            match parts.as_slice() {
                [] | [Json::String(_)] => {}
                [only] => *value = only.clone(),
                _ => *value = json!({ "$text": parts }),
            }
        }
        _ => {}
    }
}

/// The literal parts and the references of a text, in order.
fn inline_parts(text: &str, ids: &[String]) -> Vec<Json> {
    let (mut parts, mut words, mut rest) = (Vec::new(), String::new(), text);
    while let Some((start, open, close)) = [("${", "}"), ("$ref{", "}"), ("{{", "}}")]
        .iter()
        .filter_map(|(open, close)| Some((rest.find(open)?, *open, *close)))
        .min()
    {
        let (before, from) = rest.split_at(start);
        let inner = from.strip_prefix(open).and_then(|inner| inner.split_once(close));
        let name = |inner: &str| inner.split(['.', '[']).next().unwrap_or_default().to_owned();
        let known =
            |inner: &str| ids.contains(&name(inner)) || ["item", "index"].contains(&name(inner).as_str());
        match inner.map(|(inner, after)| (inner.trim(), after)).filter(|(inner, _)| known(inner)) {
            Some((reference, after)) => {
                words.push_str(before);
                if !words.is_empty() {
                    parts.push(Json::String(std::mem::take(&mut words)));
                }
                parts.push(json!({ "$ref": reference }));
                rest = after;
            }
            None => {
                words.push_str(before);
                words.push_str(open);
                rest = from.get(open.len()..).unwrap_or_default();
            }
        }
    }
    words.push_str(rest);
    if !words.is_empty() {
        parts.push(Json::String(words));
    }
    parts
}

/// Renames a step in the references of a value.
fn rename(value: &mut Json, from: &str, to: &str) {
    match value {
        Json::Array(values) => values.iter_mut().for_each(|value| rename(value, from, to)),
        Json::Object(members) => {
            for (name, member) in members {
                match member {
                    Json::String(text) if name == "$ref" => {
                        if let Some(rest) = text.strip_prefix(from)
                            && (rest.is_empty() || rest.starts_with(['.', '[']))
                        {
                            *text = format!("{to}{rest}");
                        }
                    }
                    other => rename(other, from, to),
                }
            }
        }
        _ => {}
    }
}

fn step_of(
    mut step: Json,
    place: usize,
    tools: &BTreeMap<ToolName, PlannedTool>,
) -> Result<StaticStep, Vec<String>> {
    let number = place + 1;
    if let Some(members) = step.as_object_mut() {
        members.entry("id").or_insert_with(|| format!("step_{number}").into());
        // Models write null for fields that they leave out.
        members.retain(|_, value| !value.is_null());
        // A step without a tool whose id is the name of a tool uses that tool.
        if !members.contains_key("tool")
            && !members.contains_key("extract")
            && let Some(named) = members.get("id").and_then(Json::as_str)
            && let Some(known) = resolve(named, tools)
        {
            members.insert("tool".to_owned(), known.as_str().into());
        }
        if let Some(named) = members.get("tool").and_then(Json::as_str) {
            let known = resolve(named, tools).map(|name| Json::from(name.as_str()));
            let Some(known) = known else {
                let names: Vec<&str> = tools.keys().map(|name| name.as_str()).collect();
                return Err(vec![format!(
                    "step {number}: there is no tool {named:?}; there are {}",
                    names.join(", ")
                )]);
            };
            members.insert("tool".to_owned(), known);
        }
    }
    let step: StaticStep =
        serde_json::from_value(step).map_err(|error| vec![format!("step {number}: {error}")])?;
    let problems = check_arguments(&step, tools);
    if problems.is_empty() { Ok(step) } else { Err(problems) }
}

/// Resolves a tool name: exactly, in a provider's spelling, or by its last part if that is unique.
fn resolve<'a>(named: &str, tools: &'a BTreeMap<ToolName, PlannedTool>) -> Option<&'a ToolName> {
    let plain = |name: &str| name.replace(['.', '-', ':', '/'], "_").to_lowercase();
    let exact = tools.keys().find(|name| name.as_str() == named || plain(name.as_str()) == plain(named));
    exact.or_else(|| {
        let last = |name: &str| name.rsplit(['.', ':', '/']).next().map(str::to_lowercase);
        let mut fits = tools.keys().filter(|name| last(name.as_str()) == last(named));
        match (fits.next(), fits.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    })
}

fn check_arguments(step: &StaticStep, tools: &BTreeMap<ToolName, PlannedTool>) -> Vec<String> {
    let Some(tool) = step.tool.as_ref().and_then(|name| tools.get(name)) else { return Vec::new() };
    let (known, required) = signature::arguments(&tool.parameters);
    let mut problems = Vec::new();
    for name in step.arguments.keys().filter(|name| !known.contains(&name.as_str()) && !known.is_empty()) {
        problems.push(format!(
            "step {}: {} has no argument {name:?}: {}",
            step.id, tool.spec.name, tool.signature
        ));
    }
    for (name, value) in &step.arguments {
        let allowed =
            tool.parameters.get("properties").and_then(|known| known.get(name)?.get("enum")?.as_array());
        // A reference is resolved later; then the tool's own schema checks it.
        if let Some(allowed) = allowed.filter(|allowed| !value.is_object() && !allowed.contains(value)) {
            let allowed: Vec<String> = allowed.iter().map(Json::to_string).collect();
            problems.push(format!(
                "step {}: {name} must be one of {}, not {value}",
                step.id,
                allowed.join(", ")
            ));
        }
    }
    for name in required.iter().filter(|name| !step.arguments.contains_key(**name)) {
        problems.push(format!("step {}: {} needs {name:?}: {}", step.id, tool.spec.name, tool.signature));
    }
    problems
}

/// A description of a step: `list tasks`, `find out: the id of the task`.
pub(super) fn describe(step: &StaticStep) -> String {
    let id = |id: &NodeName| id.as_str().replace('_', " ");
    match (&step.tool, &step.extract) {
        (Some(tool), _) => {
            steward_language::words::name_words(tool.as_str().rsplit('.').next().unwrap_or_default())
                .join(" ")
        }
        (None, Some(extract)) => format!("find out: {}", extract.instruction),
        (None, None) => id(&step.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steward_domain::Idempotency;

    fn tools() -> BTreeMap<ToolName, PlannedTool> {
        let tool = |name: &str, parameters: Json| {
            let name = ToolName::new(name).unwrap();
            let spec = ToolSpec {
                name: name.clone(),
                server: None,
                safety: Idempotency::None,
                timeout_seconds: 10,
                fallback_tools: Vec::new(),
                trusted_fields: Vec::new(),
            };
            let parameters = parameters.as_object().unwrap().clone();
            let signature = signature::of_schema(name.as_str(), &parameters, &Map::new(), None).unwrap();
            (name, PlannedTool { spec, parameters, signature })
        };
        let id = json!({ "required": ["id"], "properties": { "id": { "type": "integer" }, "title": { "type": "string" } } });
        BTreeMap::from([tool("todo.update_task", id), tool("todo.list_tasks", json!({ "properties": {} }))])
    }

    #[test]
    fn references_in_texts_are_read() {
        let ids = ["cost".to_owned()];
        for (text, expected) in [
            ("17 * ${cost.euros}", json!({ "$text": ["17 * ", { "$ref": "cost.euros" }] })),
            ("{{ cost.euros }}", json!({ "$ref": "cost.euros" })),
            ("$ref{cost.euros}", json!({ "$ref": "cost.euros" })),
            (
                "${item.id} and ${cost}!",
                json!({ "$text": [{ "$ref": "item.id" }, " and ", { "$ref": "cost" }, "!"] }),
            ),
            ("pay ${other.thing}", json!("pay ${other.thing}")),
            ("${", json!("${")),
            ("plain", json!("plain")),
        ] {
            let mut value = json!(text);
            read_inline_references(&mut value, &ids);
            assert_eq!(value, expected, "{text}");
        }
    }

    #[test]
    fn drafts_are_read_leniently_and_checked_strictly() {
        let plan = |reply: &str| match read(reply, &tools()) {
            Draft::Plan { steps, .. } => {
                steps.iter().filter_map(|step| step.tool.clone()).map(|t| t.to_string()).collect()
            }
            Draft::Cannot(why) => vec![format!("cannot: {why}")],
            Draft::Broken(lines) => vec![format!("broken: {}", lines.join(" "))],
        };
        let steps = r#"{"steps": [{"id": "a", "tool": "todo_list_tasks", "arguments": {}},
            {"tool": "update_task", "args": {"id": {"$ref": "a[0].id"}}, "when": null}], "answer": "x"}"#;
        assert_eq!(plan(steps), ["todo.list_tasks", "todo.update_task"]);
        assert_eq!(
            plan(&format!("Here is the plan:\n```json\n{steps}\n```")),
            ["todo.list_tasks", "todo.update_task"]
        );
        let named = r#"{"steps": [{"id": "todo.list_tasks", "arguments": {}},
            {"id": "x y", "tool": "update_task", "arguments": {"id": {"$ref": "todo.list_tasks.tasks[0].id"}}}]}"#;
        let Draft::Plan { steps, .. } = read(named, &tools()) else { panic!("no plan") };
        assert_eq!((steps[0].id.as_str(), steps[1].id.as_str()), ("todo_list_tasks", "x_y"));
        assert_eq!(steps[1].arguments["id"], json!({ "$ref": "todo_list_tasks.tasks[0].id" }));
        assert_eq!(plan(r#"{"cannot": "it depends"}"#), ["cannot: it depends"]);
        for (reply, wanted) in [
            ("I would list the tasks first", "not a JSON object"),
            (r#"{"steps": []}"#, "no steps"),
            (r#"{"steps": [{"tool": "rm"}]}"#, "there is no tool \"rm\""),
            (r#"{"steps": [{"tool": "update_task", "arguments": {"name": 1}}]}"#, "has no argument \"name\""),
            (r#"{"steps": [{"tool": "update_task"}]}"#, "needs \"id\""),
            (r#"{"steps": [{"tool": "list_tasks", "loop": 1}]}"#, "unknown field"),
        ] {
            assert!(plan(reply)[0].contains(wanted), "{reply}: {:?}", plan(reply));
        }
    }
}
