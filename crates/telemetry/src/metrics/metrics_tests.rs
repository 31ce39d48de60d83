//! The rendered text is parsed by a small reader of the format, so that escaping and buckets are
//! checked rather than compared.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use tracing_subscriber::layer::SubscriberExt as _;

/// A sample: name, labels, value.
type Sample = (String, BTreeMap<String, String>, f64);

/// Parses the text format; panics at a violation.
fn read(text: &str) -> (BTreeMap<String, String>, Vec<Sample>) {
    assert!(text.is_empty() || text.ends_with('\n'));
    let (mut types, mut samples, mut helped) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            assert!(helped.insert(rest.split(' ').next().unwrap().to_owned()), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
        } else {
            samples.push(sample(line));
        }
    }
    for (name, ..) in &samples {
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end).filter(|family| types.contains_key(*family)))
            .unwrap_or(name);
        assert!(types.contains_key(family) && helped.contains(family), "{name} has no type");
    }
    (types, samples)
}

fn sample(line: &str) -> Sample {
    let (name, rest) = line.split_once('{').unwrap();
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    let (mut labels, mut chars) = (BTreeMap::new(), rest.chars());
    loop {
        let key: String = chars.by_ref().take_while(|c| *c != '=').collect();
        assert_eq!(chars.next(), Some('"'), "{line}");
        let mut value = String::new();
        loop {
            match chars.next().expect("a label ends") {
                '"' => break,
                '\\' => value.push(match chars.next().unwrap() {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    other => panic!("\\{other} means nothing: {line}"),
                }),
                c => value.push(c),
            }
        }
        assert!(labels.insert(key, value).is_none());
        match chars.next() {
            Some(',') => {}
            Some('}') => break,
            other => panic!("{other:?}: {line}"),
        }
    }
    let value: String = chars.collect();
    (name.to_owned(), labels, value.trim().parse().unwrap())
}

fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let wanted: BTreeMap<String, String> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    samples.iter().find(|(known, has, _)| known == name && *has == wanted).map(|(.., value)| *value)
}

/// Counts the spans of `work`.
fn counted(label_sets: usize, work: impl FnOnce()) -> (BTreeMap<String, String>, Vec<Sample>) {
    let metrics = Metrics::new(label_sets, None);
    let layer = crate::collect::Collect {
        metrics: Some(metrics.clone()),
        queue: None,
        log: None,
        ids: crate::span::Ids::default(),
    };
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
    read(&metrics.render())
}

fn tool(name: &str, outcome: &str) {
    let _span = tracing::info_span!(
        "execute_tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name,
        steward.outcome = outcome
    );
}

#[test]
fn spans_become_metrics() {
    let (types, samples) = counted(100, || {
        tool("crm.find", "success");
        tool("crm.find", "success");
        tool("crm.find", "timeout");
        tool("crm.find", "a word of its own");
        drop(tracing::info_span!("execute_tool", gen_ai.operation.name = "execute_tool"));
        drop(tracing::info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = "openai",
            gen_ai.request.model = "qwen",
            gen_ai.usage.input_tokens = 1200_u64,
            gen_ai.usage.output_tokens = 30_u64,
            steward.cost_micros = 4_500_u64,
            steward.outcome = "success"
        ));
        let task = tracing::info_span!(
            "invoke_agent",
            gen_ai.operation.name = "invoke_agent",
            steward.task.kind = "agent",
            steward.outcome = tracing::field::Empty
        );
        task.record("steward.outcome", "completed");
        drop(task);
        // The level is too low, or the crate is not ours.
        drop(tracing::debug_span!("execute_tool", gen_ai.operation.name = "execute_tool"));
        drop(tracing::info_span!(target: "rmcp", "x", gen_ai.operation.name = "execute_tool"));
    });
    let calls = "steward_tool_calls_total";
    assert_eq!(types[calls], "counter");
    for (tool, outcome, wanted) in [
        ("crm.find", "success", 2.0),
        ("crm.find", "timeout", 1.0),
        ("crm.find", "other", 1.0),
        ("unknown", "cancelled", 1.0),
    ] {
        assert_eq!(value(&samples, calls, &[("tool", tool), ("outcome", outcome)]), Some(wanted), "{tool}");
    }
    assert_eq!(samples.iter().filter(|(name, ..)| name == calls).count(), 4);
    let model = [("provider", "openai"), ("model", "qwen")];
    let with = |more: (&'static str, &'static str)| [model[0], model[1], more];
    let tokens = "steward_model_tokens_total";
    assert_eq!(value(&samples, "steward_model_calls_total", &with(("outcome", "success"))), Some(1.0));
    assert_eq!(value(&samples, tokens, &with(("direction", "input"))), Some(1200.0));
    assert_eq!(value(&samples, tokens, &with(("direction", "output"))), Some(30.0));
    assert_eq!(value(&samples, "steward_model_cost_total", &model), Some(0.0045));
    let task = [("kind", "agent"), ("outcome", "completed")];
    assert_eq!(value(&samples, "steward_tasks_total", &task), Some(1.0));
    assert_eq!(value(&samples, "steward_task_duration_seconds_count", &[("kind", "agent")]), Some(1.0));
}

#[test]
fn labels_are_escaped() {
    for name in ["plain", "quo\"te", "back\\slash", "line\nbreak", "\\n", "a}b{c=d,e", "ü\u{202e}"] {
        let mut family: Family<Counter> = Family::new("steward_x_total", "A\nB\\", &["tool"], 1, 10);
        family.at(&[name]).add(7);
        let mut text = String::new();
        family.render(&mut text);
        assert_eq!(value(&read(&text).1, "steward_x_total", &[("tool", name)]), Some(7.0), "{text}");
    }
}

#[test]
fn buckets_are_cumulative_and_end_with_all() {
    let mut family: Family<Histogram> = Family::new("steward_x_seconds", "X.", &["tool"], 1, 10);
    for micros in [500, 1000, 1001, 40_000, 2_000_000, 4_000_000_000] {
        family.at(&["a"]).note(std::time::Duration::from_micros(micros));
    }
    let mut text = String::new();
    family.render(&mut text);
    let (types, samples) = read(&text);
    assert_eq!(types["steward_x_seconds"], "histogram");
    let buckets: Vec<(String, f64)> = samples
        .iter()
        .filter(|(name, ..)| name == "steward_x_seconds_bucket")
        .map(|(_, labels, value)| (labels["le"].clone(), *value))
        .collect();
    assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{buckets:?}");
    let bounds: Vec<f64> = buckets.iter().map(|(bound, _)| bound.replace('+', "").parse().unwrap()).collect();
    assert!(bounds.is_sorted() && bounds.last() == Some(&f64::INFINITY), "{bounds:?}");
    let at = |le: &str| buckets.iter().find(|(bound, _)| bound == le).unwrap().1;
    // A bound is inclusive.
    assert_eq!((at("0.001"), at("0.0025"), at("0.05"), at("2.5"), at("1800")), (2.0, 3.0, 4.0, 5.0, 5.0));
    assert_eq!(at("+Inf"), 6.0);
    assert_eq!(value(&samples, "steward_x_seconds_count", &[("tool", "a")]), Some(6.0));
    assert_eq!(value(&samples, "steward_x_seconds_sum", &[("tool", "a")]), Some(4002.042501));
}

#[test]
fn label_sets_have_a_bound_and_nothing_is_lost() {
    let (_, samples) = counted(5, || {
        for number in 0..1000 {
            tool(&format!("tool{number}"), if number % 2 == 0 { "success" } else { "error" });
        }
        tool("tool0", "success");
    });
    let calls: Vec<&Sample> =
        samples.iter().filter(|(name, ..)| name == "steward_tool_calls_total").collect();
    assert_eq!(calls.len(), 7, "{calls:?}");
    assert_eq!(calls.iter().map(|(.., value)| value).sum::<f64>(), 1001.0);
    let at = |tool, outcome| {
        value(&samples, "steward_tool_calls_total", &[("tool", tool), ("outcome", outcome)]).unwrap()
    };
    assert_eq!((at("tool0", "success"), at("tool1", "error")), (2.0, 1.0));
    assert_eq!((at("other", "success"), at("other", "error")), (497.0, 498.0));
    let counts = samples.iter().filter(|(name, ..)| name == "steward_tool_call_duration_seconds_count");
    assert_eq!(counts.count(), 6);
}

#[test]
fn nothing_counted_is_nothing_written() {
    assert_eq!(Metrics::new(5, None).render(), "");
}
