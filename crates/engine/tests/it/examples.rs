//! The workflows that people copy from: each compiles, is drawn, and stays under 50 lines.

use crate::kit::Definitions;
use serde_json::json;
use steward_domain::{Idempotency, ToolName, Workflow};
use steward_engine::{Program, Root, Settings, ToolSpec};

#[test]
fn every_example_compiles() {
    let folder = std::path::Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/engine"))
        .join("../../examples/workflows");
    let mut definitions = Definitions::new();
    for agent in ["assistant", "researcher", "writer", "critic", "classifier"] {
        definitions = definitions.with_agent(json!({ "name": agent }));
    }
    definitions =
        definitions.with_agent(json!({ "name": "supervisor", "sub_agents": ["researcher", "writer"] }));
    for (name, fallback) in [
        ("office.refund_order", None),
        ("office.send_mail", None),
        ("office.weather_now", Some("office.weather_usual")),
        ("office.weather_usual", None),
        ("office.news_today", None),
        ("office.save_text", None),
    ] {
        let name = ToolName::new(name).unwrap();
        let fallback_tools = fallback.iter().map(|name| ToolName::new(*name).unwrap()).collect();
        let reads = name.as_str().contains("weather") || name.as_str().contains("news");
        let safety = if reads { Idempotency::ReadOnly } else { Idempotency::None };
        definitions.tools.insert(
            name.clone(),
            ToolSpec {
                name,
                server: None,
                safety,
                timeout_seconds: 300,
                fallback_tools,
                trusted_fields: Vec::new(),
            },
        );
    }
    let child = std::fs::read_to_string(folder.join("city_weather.yaml")).unwrap();
    let child: Workflow = serde_saphyr::from_str(&child).unwrap();
    definitions.workflows.insert(child.name.clone(), child);
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(text.lines().count() < 50, "{name} is too long");
        let workflow: Workflow =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(workflow.name.as_str(), name);
        let program = Program::compile(Root::Workflow(workflow), Settings::default(), &definitions);
        let program = program.unwrap_or_else(|problems| panic!("{problems}"));
        assert!(program.to_mermaid(None).contains("start") && program.to_svg(None).contains("</svg>"));
        seen += 1;
    }
    assert_eq!(seen, 14);
}
