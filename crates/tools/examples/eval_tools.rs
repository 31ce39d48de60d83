//! How well tools are chosen and arguments filled on public requests: `eval_tools --bench DIR
//! [--fit] [--wrong]`.
//!
//! `DIR/bfcl` holds `tools.jsonl` and `requests.jsonl`; they are third-party data and stay outside
//! of the repository. `--fit` learns the weights of the signals by a conditional logit and prints
//! its five-fold cross-validation.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a measuring program"
)]

use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use steward_domain::{JsonObject, SemanticVersion, ToolName};
use steward_tools::select::{
    CallHistory, Embed, Entry, Filling, Index, LEARNED, Request, Selection, Signals, WEIGHTS,
};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let bench = arguments.iter().skip_while(|argument| *argument != "--bench").nth(1);
    let bench = bench.ok_or("say where the data is: --bench DIR")?;
    let folder = Path::new(bench).join("bfcl");
    let tools: Vec<Json> = lines(&folder.join("tools.jsonl"))?;
    let requests: Vec<Json> = lines(&folder.join("requests.jsonl"))?;
    let entries: Vec<Entry> = tools.iter().map(entry).collect::<Result<_, _>>()?;

    let encoder = Arc::new(steward_language::Encoder::default());
    let mut index = Index::new(encoder.clone());
    let begin = Instant::now();
    let updated = index.update(&entries)?;
    println!(
        "index: {} tools, {} texts embedded in {:.1} s",
        updated.tools,
        updated.embedded,
        begin.elapsed().as_secs_f64()
    );

    let mut cases = Vec::new();
    let mut times = Vec::new();
    for request in &requests {
        let text = request["request"].as_str().unwrap_or_default();
        let gold = request["tool"].as_str().unwrap_or_default();
        let vector = Embed::embed(encoder.as_ref(), &[text])?.pop();
        let begin = Instant::now();
        let selection = index.select_near(&Request { limit: 50, ..Request::new(text) }, vector.as_deref());
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        cases.push(Case { id: request["id"].as_str().unwrap_or_default(), text, gold, selection });
    }
    retrieval(&cases);
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    println!(
        "time beside the encoder, 50 candidates shown: median {:.2} ms, p99 {:.2} ms",
        at(0.5),
        at(0.99)
    );
    filling(&index, &entries, &requests, flag("--wrong"));
    if flag("--misses") {
        for case in cases.iter().filter(|case| case.rank() != Some(0)) {
            let first = case.selection.candidates.first();
            let gold =
                case.selection.candidates.iter().find(|candidate| candidate.tool.as_str() == case.gold);
            println!(
                "{:?} {} | {}\n   gold {} {:?}",
                case.rank(),
                case.id,
                case.text,
                case.gold,
                gold.map(|c| (c.confidence, c.signals))
            );
            println!("   got  {:?}", first.map(|c| (c.tool.as_str(), c.confidence, c.signals)));
        }
    }
    if flag("--fit") {
        fit(&cases);
    }
    Ok(())
}

fn lines(path: &Path) -> Result<Vec<Json>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn entry(tool: &Json) -> Result<Entry, Failure> {
    Ok(Entry {
        name: ToolName::new(tool["name"].as_str().unwrap_or_default())
            .map_err(|problem| format!("{problem:?}"))?,
        version: SemanticVersion::new("1.0.0").map_err(|problem| format!("{problem:?}"))?,
        domain: None,
        description: tool["description"].as_str().unwrap_or_default().to_owned(),
        parameter_schema: tool["parameters"].as_object().cloned().unwrap_or_default(),
        examples: Vec::new(),
        past: CallHistory::default(),
    })
}

struct Case<'a> {
    id: &'a str,
    text: &'a str,
    gold: &'a str,
    selection: Selection,
}

impl Case<'_> {
    fn rank(&self) -> Option<usize> {
        self.selection.candidates.iter().position(|candidate| candidate.tool.as_str() == self.gold)
    }
    fn confidence(&self) -> f32 {
        self.selection.candidates.first().map_or(0.0, |first| first.confidence)
    }
}

fn retrieval(cases: &[Case<'_>]) {
    let count = cases.len() as f64;
    let within = |limit: usize| {
        cases.iter().filter(|case| case.rank().is_some_and(|rank| rank < limit)).count() as f64
    };
    println!(
        "recall@1 {:.3}  recall@5 {:.3}  recall@10 {:.3}  recall@50 {:.3}  ({} requests)",
        within(1) / count,
        within(5) / count,
        within(10) / count,
        within(50) / count,
        cases.len()
    );
    let sure: Vec<&Case<'_>> = cases.iter().filter(|case| case.selection.question.is_none()).collect();
    let right = sure.iter().filter(|case| case.rank() == Some(0)).count();
    println!(
        "a question was asked for {:.3} of the requests; the rest was right in {:.3}",
        1.0 - sure.len() as f64 / count,
        right as f64 / sure.len().max(1) as f64
    );
    for limit in [0.25_f32, 0.5, 0.75, 0.9] {
        let sure: Vec<_> = cases.iter().filter(|case| case.confidence() >= limit).collect();
        let right = sure.iter().filter(|case| case.rank() == Some(0)).count() as f64;
        println!(
            "  threshold {limit}: answers {:.3}, right {:.3}",
            sure.len() as f64 / count,
            right / sure.len().max(1) as f64
        );
    }
    println!("confidence  requests  mean confidence  right");
    for bucket in 0..10 {
        let (low, high) = (bucket as f32 / 10.0, (bucket + 1) as f32 / 10.0);
        let inside: Vec<_> = cases
            .iter()
            .filter(|case| case.confidence() >= low && (case.confidence() < high || bucket == 9))
            .collect();
        let many = inside.len().max(1) as f64;
        let mean = inside.iter().map(|case| f64::from(case.confidence())).sum::<f64>() / many;
        let right = inside.iter().filter(|case| case.rank() == Some(0)).count() as f64 / many;
        println!("{low:.1} to {high:.1}  {:8}  {mean:15.2}  {right:5.2}", inside.len());
    }
}

/// Arguments, given the right tool.
fn filling(index: &Index, entries: &[Entry], requests: &[Json], wrong: bool) {
    let mut known = 0;
    let (mut whole, mut single, mut arguments, mut spoken, mut spoken_right) = (0, 0, 0, 0, 0);
    for request in requests {
        let (text, gold) =
            (request["request"].as_str().unwrap_or_default(), request["tool"].as_str().unwrap_or_default());
        let Some(entry) = entries.iter().find(|entry| entry.name.as_str() == gold) else { continue };
        let name = &entry.name;
        let has = |parameter: &String| {
            entry.parameter_schema.get("properties").is_some_and(|all| all.get(parameter).is_some())
        };
        // Some tools of the set share a name: only one schema is there, and arguments of the others
        // cannot be filled.
        let fillable = request["arguments"].as_object().is_some_and(|arguments| arguments.keys().all(has));
        known += usize::from(fillable);
        let filled = index.fill(name, text).unwrap_or_default();
        let none = JsonObject::new();
        let accepted = request["arguments"].as_object().unwrap_or(&none);
        let mut all = true;
        for (parameter, accepted) in accepted {
            let right = accepts(accepted, filled.arguments.get(parameter));
            arguments += 1;
            single += usize::from(right);
            let must = !accepted.as_array().is_some_and(|values| values.iter().any(|value| value == ""));
            spoken += usize::from(must);
            spoken_right += usize::from(must && right);
            all &= right;
        }
        let extra = filled.arguments.keys().any(|parameter| !accepted.contains_key(parameter));
        all &= !extra;
        whole += usize::from(all);
        if wrong && !all && fillable {
            show(text, gold, accepted, &filled);
        }
    }
    println!(
        "arguments, given the tool: all right in {:.3} of all requests and {:.3} of the {known} whose schema \
            has all their arguments",
        whole as f64 / requests.len() as f64,
        whole as f64 / known.max(1) as f64,
    );
    println!(
        "single arguments right: {:.3} of {arguments}, {:.3} of the {spoken} that must be given",
        single as f64 / arguments as f64,
        spoken_right as f64 / spoken as f64
    );
}

fn show(text: &str, tool: &str, accepted: &JsonObject, filled: &Filling) {
    println!("- {}\n    {tool}", text.replace('\n', " / "));
    for (parameter, accepted) in accepted {
        let got = filled.arguments.get(parameter);
        if !accepts(accepted, got) {
            println!(
                "    {parameter}: got {} wanted {accepted}",
                got.map(ToString::to_string).unwrap_or("-".into())
            );
        }
    }
}

/// Whether a value is among the accepted; `""` accepts that it was left out.
fn accepts(accepted: &Json, value: Option<&Json>) -> bool {
    let values = accepted.as_array().map(Vec::as_slice).unwrap_or_default();
    match value {
        None => values.is_empty() || values.iter().any(|one| one == ""),
        Some(value) => values.iter().any(|one| same(one, value)),
    }
}

fn same(wanted: &Json, value: &Json) -> bool {
    match (wanted, value) {
        (Json::String(a), Json::String(b)) => plain(a) == plain(b),
        (Json::Number(a), Json::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
            _ => false,
        },
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.iter().all(|(key, accepted)| accepts(accepted, b.get(key)))
                && b.keys().all(|key| a.contains_key(key))
        }
        (a, b) => a == b,
    }
}

/// The benchmark's own leniency: case, quotes and these signs do not count.
fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace('\'', "\"");
    text.chars().filter(|c| !matches!(c, ' ' | ',' | '.' | '/' | '-' | '_' | '*' | '^')).collect()
}

/// One request for learning: the signals of its candidates, and which is right (`None`: none of
/// them).
type Sample = (Vec<[f32; LEARNED]>, Option<usize>);

fn fit(cases: &[Case<'_>]) {
    let signals =
        |case: &Case<'_>| case.selection.candidates.iter().map(|c| Signals::learned(&c.signals)).collect();
    let samples: Vec<Sample> = cases.iter().map(|case| (signals(case), case.rank())).collect();
    let mut right = 0;
    let mut top5 = 0;
    for fold in 0..5 {
        let part = |inside: bool| {
            let chosen =
                samples.iter().enumerate().filter(|(at, _)| (at * 5 / samples.len() == fold) == inside);
            chosen.map(|(_, sample)| sample).collect::<Vec<_>>()
        };
        let weights = learn(&part(false));
        for (candidates, gold) in part(true) {
            let Some(gold) = gold else { continue };
            let score = |at: usize| candidates.get(at).map_or(f32::MIN, |signals| dot(signals, &weights));
            let better = (0..candidates.len()).filter(|at| score(*at) > score(*gold)).count();
            right += usize::from(better == 0);
            top5 += usize::from(better < 5);
        }
        println!("fold {fold}: {weights:.2?}");
    }
    let count = samples.len() as f64;
    println!("cross-validated recall@1 {:.3} recall@5 {:.3}", right as f64 / count, top5 as f64 / count);
    println!("all: {:.2?} (in use: {WEIGHTS:.2?})", learn(&samples.iter().collect::<Vec<_>>()));
}

fn dot(signals: &[f32; LEARNED], weights: &[f32; LEARNED + 1]) -> f32 {
    signals.iter().zip(weights).map(|(a, b)| a * b).sum()
}

/// Gradient ascent on the log-likelihood, with a little pull to zero. A request whose tool is taken
/// away teaches "none".
fn learn(samples: &[&Sample]) -> [f32; LEARNED + 1] {
    let mut weights = [1.0_f32; LEARNED + 1];
    let mut memory = [1e-6_f32; LEARNED + 1];
    for _ in 0..1000 {
        let mut gradient = [0.0_f32; LEARNED + 1];
        for (candidates, gold) in samples {
            let scores: Vec<f32> = candidates.iter().map(|signals| dot(signals, &weights).exp()).collect();
            let none = weights.last().copied().unwrap_or_default().exp();
            for (without, share) in [(None, 1.0), (*gold, 0.05)] {
                if without.is_none() && share < 1.0 {
                    continue;
                }
                let total = none
                    + scores
                        .iter()
                        .enumerate()
                        .filter(|(at, _)| Some(*at) != without)
                        .map(|(_, s)| s)
                        .sum::<f32>();
                let wanted = if without.is_some() { None } else { *gold };
                for (at, (signals, score)) in candidates.iter().zip(&scores).enumerate() {
                    if Some(at) == without {
                        continue;
                    }
                    let pull = share * (f32::from(u8::from(wanted == Some(at))) - score / total);
                    gradient.iter_mut().zip(signals).for_each(|(g, signal)| *g += pull * signal);
                }
                if let Some(g) = gradient.last_mut() {
                    *g += share * (f32::from(u8::from(wanted.is_none())) - none / total);
                }
            }
        }
        for ((weight, g), memory) in weights.iter_mut().zip(gradient).zip(&mut memory) {
            let g = g / samples.len() as f32 - 0.0001 * *weight;
            *memory += g * g;
            *weight += 0.5 * g / memory.sqrt();
        }
    }
    weights
}
