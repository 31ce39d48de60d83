//! Tests of all built-in tools, and helpers to call one in a test.

use super::*;
use crate::tool::Output;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use steward_domain::{CallId, UserId};
use steward_policy::{Caller, Decision, Proposal, Provenance, Rules};
use uuid::Uuid;

/// An admitted call.
pub(crate) fn admitted(name: &str, user: &str, call: u128, arguments: Json) -> AdmittedCall {
    let proposal = Proposal {
        accepted: "a".repeat(64).parse().unwrap(),
        effect: steward_policy::Effect::Change,
        call: CallId(Uuid::from_u128(call)),
        tool: name.parse().unwrap(),
        version: VERSION.parse().unwrap(),
        server: None,
        arguments: object(arguments),
        provenance: BTreeMap::new(),
        default_provenance: Provenance::User,
        approval: None,
    };
    match proposal.decide(&Caller::owner(UserId::new(user).unwrap()), &Rules::default()) {
        Decision::Allow(call) => call,
        other => panic!("not admitted: {other:?}"),
    }
}

/// Validates the arguments, calls a tool, and validates the result.
pub(crate) async fn run(tool: &Builtin, user: &str, call: u128, arguments: Json) -> Result<Output> {
    let schema = Json::Object(tool.parameters.clone());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator.iter_errors(&arguments).map(|error| error.to_string()).collect();
    if !problems.is_empty() {
        return Err(Error::Arguments { tool: tool.name.to_owned(), problems });
    }
    let call = admitted(tool.name, user, call, arguments);
    let output = tool.tool.call(&call, &Context::within(Duration::from_secs(20))).await?;
    let schema = Json::Object(tool.returns.clone());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let structured = output.structured.clone().unwrap();
    let problems: Vec<String> = validator.iter_errors(&structured).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{}: {problems:?} in {structured}", tool.name);
    Ok(output)
}

/// The tool with this name.
pub(crate) fn tool(options: &Options, name: &str) -> Builtin {
    all(options).into_iter().find(|tool| tool.name == name).unwrap()
}

#[test]
fn every_tool_has_a_valid_definition() {
    let tools = all(&Options::default());
    let mut ids = BTreeSet::new();
    for tool in &tools {
        let definition = tool.definition(Timestamp::from_micros(0)).unwrap();
        assert_eq!(definition.id, tool.definition(Timestamp::from_micros(5)).unwrap().id);
        assert!(ids.insert(definition.id));
        assert!((2..=4).contains(&tool.examples.len()), "{}", tool.name);
        for schema in [&tool.parameters, &tool.returns] {
            assert!(jsonschema::meta::is_valid(&Json::Object(schema.clone())), "{}", tool.name);
            assert_eq!(schema["additionalProperties"], false);
            for (name, property) in schema["properties"].as_object().unwrap() {
                let said = property.get("description").or_else(|| property.pointer("/items/description"));
                assert!(said.is_some(), "{}.{name} is not described", tool.name);
            }
        }
        let validator = jsonschema::validator_for(&Json::Object(tool.parameters.clone())).unwrap();
        for example in &tool.examples {
            assert!(
                validator.is_valid(&Json::Object(example.arguments.clone())),
                "{}: {example:?}",
                tool.name
            );
        }
    }
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    assert_eq!(
        names,
        [
            "file.list",
            "file.read",
            "file.write",
            "math.eval",
            "memory.forget",
            "memory.recall",
            "memory.remember",
            "slack.history",
            "slack.post",
            "slack.thread",
            "text.summarize",
            "time.now",
        ]
    );
}

#[test]
fn missing_requirement_is_reported() {
    let off = |name: &str| tool(&Options::default(), name).off;
    for name in ["file.read", "memory.recall", "slack.post"] {
        assert!(off(name).is_some_and(|why| why.starts_with("switched off: no ")), "{name}");
    }
    for name in ["math.eval", "time.now", "text.summarize"] {
        assert_eq!(off(name), None);
    }
    let read_only = Options { roots: vec![file::Root::read("/nowhere")], ..Options::default() };
    assert_eq!(tool(&read_only, "file.read").off, None);
    assert!(tool(&read_only, "file.write").off.is_some_and(|why| why.contains("for writing")));
}
