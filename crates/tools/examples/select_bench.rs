//! How long selection takes among many tools: `select_bench [TOOLS] [REQUESTS]`, 10,000 and 2,000
//! when nothing is said.
//!
//! The tools are generated: names, descriptions and parameters from a few words, so that the lists
//! are long and many tools are alike. Their vectors are scattered instead of embedded, which
//! changes nothing in the time of a selection.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a measuring program")]

use serde_json::{Map, json};
use std::sync::Arc;
use std::time::Instant;
use steward_domain::{SemanticVersion, ToolName};
use steward_tools::select::{CallHistory, Embed, Entry, Index, Request};

type Failure = Box<dyn std::error::Error>;

/// Vectors without the encoder: to embed 30,000 texts takes minutes and is not what is measured.
struct Scattered;

impl Embed for Scattered {
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, steward_tools::Error> {
        let vector = |text: &&str| {
            let mut state = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f32 / 8_388_608.0 - 1.0
            };
            (0..384).map(|_| next()).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let tools = arguments.next().transpose()?.unwrap_or(10_000);
    let requests = arguments.next().transpose()?.unwrap_or(2_000);
    let entries: Vec<Entry> = (0..tools).map(entry).collect::<Result<_, _>>()?;
    let mut index = Index::new(Arc::new(Scattered));
    let begin = Instant::now();
    index.update(&entries)?;
    println!("{tools} tools: built without the encoder in {:.2} s", begin.elapsed().as_secs_f64());
    let mut changed = entries.clone();
    if let Some(first) = changed.first_mut() {
        first.description.push_str(" and more");
    }
    let begin = Instant::now();
    let updated = index.update(&changed)?;
    println!(
        "one changed: {:.0} ms, {} texts embedded",
        begin.elapsed().as_secs_f64() * 1e3,
        updated.embedded
    );

    let encoder = steward_language::Encoder::default();
    encoder.warm();
    let (mut beside, mut whole) = (Vec::new(), Vec::new());
    for number in 0..requests {
        let text = format!(
            "Please {} the {} of the {} in Springfield for {number} days from March 3, 2024, named 'Test {number}'",
            word(number * 7, DEEDS),
            word(number * 3, THINGS),
            word(number * 5 + 1, THINGS)
        );
        let begin = Instant::now();
        let vector = Embed::embed(&encoder, &[&text])?.pop();
        let middle = Instant::now();
        let selection = index.select_near(&Request::new(&text), vector.as_deref());
        whole.push(begin.elapsed().as_secs_f64() * 1e3);
        beside.push(middle.elapsed().as_secs_f64() * 1e3);
        assert_eq!(selection.candidates.len(), 5.min(tools));
    }
    report("beside the encoder", &mut beside);
    report("with the encoder", &mut whole);
    Ok(())
}

fn report(what: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    println!("{what}: median {:.2} ms, p90 {:.2} ms, p99 {:.2} ms", at(0.5), at(0.9), at(0.99));
}

const DEEDS: &[&str] = &[
    "create",
    "delete",
    "rename",
    "archive",
    "export",
    "measure",
    "paint",
    "weigh",
    "repair",
    "translate",
    "book",
    "list",
    "find",
    "compare",
    "send",
    "compute",
    "convert",
    "plan",
    "check",
    "watch",
];
const THINGS: &[&str] = &[
    "invoice", "train", "garden", "recipe", "patient", "engine", "student", "parcel", "camera", "bridge",
    "hotel", "flight", "song", "film", "price", "stock", "weather", "route", "room", "ticket", "server",
    "project", "team", "player", "circle", "number", "city", "country", "language", "contract",
];

fn word(number: usize, words: &'static [&'static str]) -> &'static str {
    words.get(number % words.len()).copied().unwrap_or_default()
}

fn entry(number: usize) -> Result<Entry, Failure> {
    let (deed, thing, other) =
        (word(number, DEEDS), word(number / 20, THINGS), word(number / 600 + number, THINGS));
    let mut properties = Map::new();
    properties.insert(
        format!("{thing}_name"),
        json!({ "type": "string", "description": format!("The name of the {thing}.") }),
    );
    properties.insert(
        "days".into(),
        json!({ "type": "integer", "description": format!("For how many days the {other} is meant.") }),
    );
    properties.insert(
        "start_date".into(),
        json!({ "type": "string", "description": "The first day, as YYYY-MM-DD." }),
    );
    properties
        .insert("city".into(), json!({ "type": "string", "description": "The city, such as 'Boston, MA'." }));
    properties
        .insert("format".into(), json!({ "type": "string", "enum": ["short", "long", "table", "chart"] }));
    let schema = json!({ "type": "object", "properties": properties, "required": ["days", "city"] });
    Ok(Entry {
        name: ToolName::new(format!("{deed}_{thing}_{number}")).map_err(|problem| format!("{problem:?}"))?,
        version: SemanticVersion::new("1.0.0").map_err(|problem| format!("{problem:?}"))?,
        domain: None,
        description: format!(
            "Lets somebody {deed} a {thing} by its {other}, and tells how that went, in variant {number}."
        ),
        parameter_schema: schema.as_object().cloned().unwrap_or_default(),
        examples: Vec::new(),
        past: CallHistory::default(),
    })
}
