//! Measures routing accuracy on a public data set of requests: `eval_language --bench DIR [--fit]
//! [--wrong]`.
//!
//! `DIR/clinc` holds `domains.json` and `questions.jsonl`; they are third-party data and not part
//! of the repository. The questions of each intent are split into two halves. The weights were
//! fitted on the first only (`--fit` prints them), and the results are measured on the second. With
//! examples, five questions of each intent's first half are the examples, and the rest of that half
//! fits the weights. Consecutive questions are similar, so five in a row are less informative than
//! five that are spread out; both are shown, and the weights were fitted with five in a row.
#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs, reason = "a measuring program")]

use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use steward_domain::DomainName;
use steward_language::route::signal::{SIGNALS, Weights, peak};
use steward_language::route::{Label, Router, Topic, Understanding};
use steward_language::skill::{ALL, Field, Recent, classify, extract, humanise, resolve};
use steward_language::{Encoder, cosine};

type Failure = Box<dyn std::error::Error>;

/// Number of examples of each intent, in the variant with examples.
const EXAMPLES: usize = 5;
/// Assumed share of out-of-scope requests when the scope curve is fitted.
const OUTSIDE: f64 = 0.2;

#[derive(Clone)]
struct Question {
    text: String,
    /// The domain and the intent; none if it is out of scope.
    gold: Option<(String, String)>,
    /// Its index among those of its intent.
    number: usize,
}

impl Question {
    /// The same question if only these domains exist.
    fn within(&self, known: &dyn Fn(&String) -> bool) -> Self {
        Self { gold: self.gold.clone().filter(|(domain, _)| known(domain)), ..self.clone() }
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let bench = arguments.iter().skip_while(|argument| *argument != "--bench").nth(1);
    let folder = Path::new(bench.ok_or("say where the data is: --bench DIR")?).join("clinc");
    let domains: BTreeMap<String, Vec<String>> =
        serde_json::from_slice(&std::fs::read(folder.join("domains.json"))?)?;
    let questions = read(&folder.join("questions.jsonl"))?;
    let (first, second): (Vec<&Question>, Vec<&Question>) =
        questions.iter().partition(|question| question.number % 2 == 0);

    println!(
        "{} questions measured, {} intents, {} domains",
        second.len(),
        domains.values().map(Vec::len).sum::<usize>(),
        domains.len()
    );
    println!(
        "{:<44} {:>7} {:>7} {:>7} {:>7} {:>16} {:>9}",
        "", "domain", "intent", "AUROC", "off by", "p50 / p95, ms", "built in"
    );
    println!("{:<44} {:>7} {:>7} {:>7}", "names, MiniLM-L6 (another half)", "0.842", "0.685", "0.902");
    println!("{:<44} {:>7} {:>7} {:>7}", "names, bundled encoder (another half)", "0.803", "0.577", "0.868");
    alone(&domains, &second);
    let named = topics(&domains, &[])?;
    let encoder = || Arc::new(Encoder::default());
    measure(
        "names, router without its lexicon",
        &second,
        || Router::without_lexicon(encoder(), &named),
        false,
    );
    measure("names, router", &second, || Router::new(encoder(), &named), flag("--wrong"));
    // Half of the domains are removed, and their questions become out of scope: the weights were
    // fitted with all of them.
    let some: Vec<Topic> = named.iter().step_by(2).cloned().collect();
    let known = |domain: &String| some.iter().any(|topic| topic.name.as_str() == domain);
    let narrowed: Vec<Question> = second.iter().map(|question| question.within(&known)).collect();
    let narrowed: Vec<&Question> = narrowed.iter().collect();
    measure("names, router, every other domain", &narrowed, || Router::new(encoder(), &some), false);
    let taught = topics(&domains, &first)?;
    let even: Vec<&Question> = first.iter().copied().filter(|question| question.number % 4 == 0).collect();
    let spread = topics(&domains, &even)?;
    println!("{:<44} {:>7} {:>7} {:>7}", "five examples, to beat", "0.950", "0.880", "0.930");
    measure(
        "five examples that follow each other, router",
        &second,
        || Router::new(encoder(), &taught),
        false,
    );
    measure("five examples spread over the half, router", &second, || Router::new(encoder(), &spread), false);
    skills(&questions);
    if flag("--fit") {
        println!("\nBY_NAME {:?}", fit(&Router::new(encoder(), &named), &domains, &first, &[0, 1, 2, 3]));
        let rest: Vec<&Question> = first
            .into_iter()
            .filter(|question| question.gold.is_none() || question.number >= 2 * EXAMPLES)
            .collect();
        println!(
            "BY_EXAMPLE {:?}",
            fit(&Router::new(encoder(), &taught), &domains, &rest, &[0, 1, 2, 3, 4, 5, 6])
        );
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<Question>, Failure> {
    let mut seen: BTreeMap<Option<(String, String)>, usize> = BTreeMap::new();
    let mut questions = Vec::new();
    for line in std::fs::read_to_string(path)?.lines().filter(|line| !line.trim().is_empty()) {
        let case: Json = serde_json::from_str(line)?;
        let text = |name: &str| case.get(name).and_then(Json::as_str).map(str::to_owned);
        let gold = text("domain").zip(text("intent"));
        let count = seen.entry(gold.clone()).or_default();
        questions.push(Question { text: text("question").unwrap_or_default(), gold, number: *count });
        *count += 1;
    }
    Ok(questions)
}

fn topics(domains: &BTreeMap<String, Vec<String>>, from: &[&Question]) -> Result<Vec<Topic>, Failure> {
    let examples = |domain: &str, intent: &str| -> Vec<String> {
        let of =
            |question: &&&Question| question.gold.as_ref().is_some_and(|(d, i)| d == domain && i == intent);
        from.iter().filter(of).take(EXAMPLES).map(|question| question.text.clone()).collect()
    };
    let mut all = Vec::new();
    for (domain, intents) in domains {
        let label = |intent: &String| Label {
            name: intent.clone(),
            description: String::new(),
            examples: examples(domain, intent),
        };
        all.push(Topic {
            name: DomainName::new(domain.clone()).map_err(|problem| problem.to_string())?,
            title: domain.replace('_', " "),
            description: String::new(),
            intents: intents.iter().map(label).collect(),
        });
    }
    Ok(all)
}

/// The bundled encoder alone on the same questions: the nearest name.
fn alone(domains: &BTreeMap<String, Vec<String>>, questions: &[&Question]) {
    let encoder = Encoder::default();
    let names: Vec<(&str, &str)> = domains
        .iter()
        .flat_map(|(domain, intents)| intents.iter().map(move |intent| (domain.as_str(), intent.as_str())))
        .collect();
    let mut tally = Tally::default();
    for question in questions {
        let Some(vector) = encoder.embed(&question.text) else { continue };
        let near =
            |name: &str| encoder.embed(&name.replace('_', " ")).map_or(0.0, |name| cosine(&vector, &name));
        let best = names
            .iter()
            .map(|(domain, intent)| (near(intent), *domain, *intent))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((score, domain, intent)) = best {
            tally.add(question, domain, intent, score, score);
        }
    }
    tally.print("names, bundled encoder (these)", false);
}

#[derive(Default)]
struct Tally {
    inside: usize,
    domain: usize,
    intent: usize,
    /// Whether it was in scope, and the predicted probability.
    scope: Vec<(bool, f32)>,
    /// Whether the routing was right, and its confidence.
    sure: Vec<(bool, f32)>,
}

impl Tally {
    fn add(&mut self, question: &Question, domain: &str, intent: &str, scope: f32, confidence: f32) {
        let right = question.gold.as_ref().map(|(d, i)| (d == domain, d == domain && i == intent));
        self.inside += usize::from(right.is_some());
        self.domain += usize::from(right.is_some_and(|right| right.0));
        self.intent += usize::from(right.is_some_and(|right| right.1));
        self.scope.push((right.is_some(), scope));
        self.sure.push((right.is_some_and(|right| right.0), confidence));
    }

    fn auroc(&self) -> f64 {
        let (inside, outside): (Vec<_>, Vec<_>) = self.scope.iter().partition(|(inside, _)| *inside);
        let mut won = 0.0;
        for (_, a) in &inside {
            for (_, b) in &outside {
                won += if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                };
            }
        }
        won / (inside.len() * outside.len()).max(1) as f64
    }

    /// The calibration error over ten bins.
    fn off(&self) -> f64 {
        let mut off = 0.0;
        for step in 0..10 {
            let within = |share: f32| ((share * 10.0) as usize).min(9) == step;
            let bin: Vec<_> = self.sure.iter().filter(|(_, share)| within(*share)).collect();
            let right = bin.iter().filter(|(right, _)| *right).count() as f64;
            off += (right - bin.iter().map(|(_, share)| f64::from(*share)).sum::<f64>()).abs();
        }
        off / self.sure.len().max(1) as f64
    }

    fn print(&self, name: &str, calibrated: bool) {
        let share = |part: usize| part as f64 / self.inside.max(1) as f64;
        let off = if calibrated { format!("{:.3}", self.off()) } else { String::new() };
        print!(
            "{name:<44} {:>7.3} {:>7.3} {:>7.3} {off:>7}",
            share(self.domain),
            share(self.intent),
            self.auroc()
        );
        if !calibrated {
            println!();
        }
    }
}

fn measure(name: &str, questions: &[&Question], build: impl Fn() -> Router, wrong: bool) {
    let begin = Instant::now();
    let router = build();
    let built = begin.elapsed().as_secs_f64();
    let (mut tally, mut times, mut misses) = (Tally::default(), Vec::new(), Vec::new());
    let (mut sure, mut right, mut outside) = (0, 0, 0);
    for question in questions {
        let begin = Instant::now();
        let found: Understanding = router.understand(&question.text);
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        let domain = found.domains.first().map(|(name, _)| name.as_str()).unwrap_or_default();
        let meant = found.intents.first().map(|meant| meant.intent.as_str()).unwrap_or_default();
        tally.add(question, domain, meant, found.scope.get() as f32, found.confidence.get() as f32);
        if found.question.is_none() {
            sure += 1;
            right += usize::from(question.gold.as_ref().is_some_and(|(gold, _)| gold == domain));
            outside += usize::from(question.gold.is_none());
        }
        if question.gold.as_ref().is_some_and(|(_, gold)| gold != meant) {
            misses.push(format!("    {} | {:?} | {domain} {meant}", question.text, question.gold));
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    tally.print(name, true);
    println!(" {:>7.1} / {:>6.1} {built:>7.1} s", at(0.5), at(0.95));
    let all = questions.iter().filter(|question| question.gold.is_none()).count();
    println!(
        "  without a question back: {sure} of {}, {right} right; {outside} of {all} outside",
        questions.len()
    );
    for miss in misses.iter().filter(|_| wrong) {
        println!("{miss}");
    }
}

/// Measures the skills that need no encoder: intent, entities, references and an error for each
/// question.
fn skills(questions: &[Question]) {
    let field =
        Field { name: "status".into(), choices: ["todo", "in_progress", "done"].map(str::to_owned).to_vec() };
    let recent: Vec<Recent> = (0..20)
        .map(|at| Recent {
            place: None,
            domain: None,
            entity_type: "task".into(),
            id: format!("t-{at}"),
            name: Some(format!("task {at}")),
            mentions: 1,
            last: at,
        })
        .collect();
    let mut times: [Vec<f64>; 4] = Default::default();
    for question in questions {
        let mut time = |place: usize, work: &dyn Fn()| {
            let begin = Instant::now();
            work();
            if let Some(times) = times.get_mut(place) {
                times.push(begin.elapsed().as_secs_f64() * 1e3);
            }
        };
        time(0, &|| drop(black_box(classify(&question.text, ALL))));
        time(1, &|| drop(black_box(extract(&question.text, std::slice::from_ref(&field), None))));
        time(2, &|| drop(black_box(resolve(&question.text, &recent))));
        time(3, &|| drop(black_box(humanise(&question.text, None))));
    }
    for (name, times) in ["intent", "entities", "references", "errors"].iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
        println!("skill {name:<38} p50 {:.3} ms, p95 {:.3} ms", at(0.5), at(0.95));
    }
}

/// Fits weights by a conditional logit, then the scope curve by logistic regression.
fn fit(
    router: &Router,
    domains: &BTreeMap<String, Vec<String>>,
    questions: &[&Question],
    used: &[usize],
) -> Weights {
    let names: Vec<(&String, &String)> = domains
        .iter()
        .flat_map(|(domain, intents)| intents.iter().map(move |intent| (domain, intent)))
        .collect();
    let place = |gold: &(String, String)| {
        names.iter().position(|(domain, intent)| (*domain, *intent) == (&gold.0, &gold.1))
    };
    let cases: Vec<(Option<usize>, Vec<[f32; SIGNALS]>)> = questions
        .iter()
        .map(|question| {
            let signals = router.signals(&question.text).iter().map(|signals| signals.all()).collect();
            (question.gold.as_ref().and_then(place), signals)
        })
        .collect();
    let mut weights = Weights { signals: [0.0; SIGNALS], steep: 1.0, even: 0.0 };
    let (mut mean, mut square) = ([0.0_f32; SIGNALS], [0.0_f32; SIGNALS]);
    for turn in 1..=400 {
        let mut slope = [0.0_f32; SIGNALS];
        for (gold, signals) in cases.iter().filter_map(|(gold, signals)| Some(((*gold)?, signals))) {
            let raised = raised(signals, &weights);
            let total: f32 = raised.iter().sum();
            for (at, (signal, part)) in signals.iter().zip(&raised).enumerate() {
                let pull = f32::from(u8::from(at == gold)) - part / total;
                slope.iter_mut().zip(signal).for_each(|(slope, x)| *slope += pull * x);
            }
        }
        for at in used {
            let (Some(slope), Some(mean), Some(square), Some(weight)) =
                (slope.get(*at), mean.get_mut(*at), square.get_mut(*at), weights.signals.get_mut(*at))
            else {
                continue;
            };
            let slope = slope / cases.len() as f32 - 1e-5 * *weight;
            *mean = 0.9 * *mean + 0.1 * slope;
            *square = 0.999 * *square + 0.001 * slope * slope;
            let (m, s) = (*mean / (1.0 - 0.9_f32.powi(turn)), *square / (1.0 - 0.999_f32.powi(turn)));
            *weight += 0.3 * m / (s.sqrt() + 1e-8);
        }
    }
    curve(&mut weights, &cases);
    weights
}

fn raised(signals: &[[f32; SIGNALS]], weights: &Weights) -> Vec<f32> {
    let scores = scores(signals, weights);
    let most = scores.iter().copied().fold(f32::MIN, f32::max);
    scores.iter().map(|score| (score - most).exp()).collect()
}

fn scores(signals: &[[f32; SIGNALS]], weights: &Weights) -> Vec<f32> {
    signals
        .iter()
        .map(|signal| signal.iter().zip(weights.signals).map(|(x, weight)| x * weight).sum())
        .collect()
}

fn curve(weights: &mut Weights, cases: &[(Option<usize>, Vec<[f32; SIGNALS]>)]) {
    let points: Vec<(bool, f64)> = cases
        .iter()
        .map(|(gold, signals)| (gold.is_some(), f64::from(peak(&scores(signals, weights)))))
        .collect();
    let inside = points.iter().filter(|(inside, _)| *inside).count() as f64;
    let outside = points.len() as f64 - inside;
    let middle = points.iter().map(|(_, x)| x).sum::<f64>() / points.len().max(1) as f64;
    let (mut steep, mut bias) = (1.0, 1.0);
    for _ in 0..20_000 {
        let (mut ds, mut db) = (0.0, 0.0);
        for (is_inside, x) in &points {
            let weight = if *is_inside { (1.0 - OUTSIDE) / inside } else { OUTSIDE / outside };
            let held = 1.0 / (1.0 + (-(steep * (x - middle) + bias)).exp());
            let pull = weight * (f64::from(u8::from(*is_inside)) - held);
            ds += pull * (x - middle);
            db += pull;
        }
        steep += 0.2 * ds;
        bias += 0.2 * db;
    }
    weights.steep = steep as f32;
    weights.even = (middle - bias / steep) as f32;
}
