//! Slots that take a word: which measure decides, and by which rules.

use super::asked::{Bound, Judgement, Quantity, Rule};
use super::choose::{group_pair, pair, target};
use super::figure_list::Figure;
use super::reader::Context;
use super::rules::{Rules, label_of, read_rules};
use super::types::{Compare, Give, Measure};
use super::words::{Token, has_any, name_words, sentences, tokens};

/// The judgement of a figure, its columns, and how sure the reading is.
#[must_use]
pub(super) fn judgement(context: &Context, figure: &Figure) -> Option<(Measure, Vec<String>, f64)> {
    let (of, columns, sure) = basis(context, figure)?;
    let mut parts: Vec<&[Token]> =
        context.sentences.iter().filter_map(|r| context.tokens.get(r.clone())).collect();
    let about = tokens(&figure.about);
    parts.extend(sentences(&about).into_iter().filter_map(|r| about.get(r)));
    let mut rules = read_rules(&parts, &figure.choices, context.alpha);
    let with_p = matches!(of, Measure::Test(..));
    rules.rules.retain(|rule| with_p || rule.when.iter().flatten().all(|b| b.quantity != Quantity::P));
    let labels: std::collections::BTreeSet<&String> =
        rules.rules.iter().map(|r| &r.label).chain(&rules.otherwise).collect();
    let stated = labels.len() >= 2 || (labels.len() == 1 && figure.choices.len() == 2);
    if !stated {
        rules = usual(&of, &figure.choices, context.alpha, &context.words)?;
    }
    if rules.rules.iter().all(|r| Some(&r.label) == rules.otherwise.as_ref()) {
        rules.otherwise = None;
    }
    // One word without a rule is the word for all other cases.
    let without: Vec<&String> =
        figure.choices.iter().filter(|c| !rules.rules.iter().any(|r| r.label == **c)).collect();
    if let ([one], None) = (without.as_slice(), &rules.otherwise) {
        rules.otherwise = Some((*one).clone());
    }
    if !stated
        && matches!(of, Measure::Test(super::types::Test::Levene, _))
        && has_any(&name_words(&figure.name).join(" "), &["equal", "homogen*", "same"])
    {
        for rule in &mut rules.rules {
            rule.when =
                vec![vec![Bound { quantity: Quantity::P, is: Compare::AtLeast, limit: context.alpha }]];
        }
    }
    let judgement = Judgement { of, rules: rules.rules, otherwise: rules.otherwise };
    Some((Measure::Judgement(Box::new(judgement)), columns, sure * if stated { 0.98 } else { 0.9 }))
}

/// What the word is decided by.
fn basis(context: &Context, figure: &Figure) -> Option<(Measure, Vec<String>, f64)> {
    let text = format!("{} {}", name_words(&figure.name).join(" "), figure.choices.join(" ").to_lowercase());
    let words = &context.words;
    let correlates = has_any(words, &["correlation", "correlated", "spearman*"])
        || has_any(words, &["pearson*"]) && context.normality().is_none();
    let normal = has_any(&text, &["normal*", "not_normal", "non normal", "distribution", "distributed"]);
    if has_any(&text, &["skew*", "symmetric"])
        || (has_any(words, &["skewness"]) && context.normality().is_none() && !correlates)
    {
        let (column, sure) = target(context, figure)?;
        return Some((Measure::Skewness(context.shape()), vec![column], sure));
    }
    if let Some(test) =
        context.normality().filter(|_| normal || !correlates && context.group_test().is_none())
    {
        let (column, sure) = target(context, figure)?;
        return Some((Measure::Test(test, Give::P), vec![column], sure));
    }
    if let Some(test) = context.group_test() {
        let (columns, sure) = group_pair(context, figure, test)?;
        return Some((Measure::Test(test, Give::P), columns, sure));
    }
    if correlates || has_any(words, &["relationship"]) {
        let (columns, sure) = pair(context, figure)?;
        return Some((Measure::Test(context.correlation(), Give::P), columns, sure));
    }
    if normal {
        let (column, sure) = target(context, figure)?;
        return Some((Measure::Test(super::types::Test::Shapiro, Give::P), vec![column], 0.7 * sure));
    }
    None
}

/// The usual rules, when the text states none: normal from the level on, significant below it, the
/// sign of r.
fn usual(of: &Measure, choices: &[String], alpha: f64, words: &str) -> Option<Rules> {
    let lower: Vec<String> = choices.iter().map(|c| c.to_lowercase()).collect();
    let bound = |quantity, is, limit| vec![vec![Bound { quantity, is, limit }]];
    let find = |phrases: &[&str]| {
        choices
            .iter()
            .zip(&lower)
            .find(|(_, l)| phrases.iter().any(|p| l.starts_with(p)))
            .map(|(c, _)| c.clone())
    };
    if let (Some(plus), Some(minus)) = (
        find(&["positiv", "right", "skewed_right", "skewed right"]),
        find(&["negativ", "left", "skewed_left", "skewed left"]),
    ) {
        let rules = vec![
            Rule { label: plus, when: bound(Quantity::Statistic, Compare::More, 0.0) },
            Rule { label: minus, when: bound(Quantity::Statistic, Compare::Less, 0.0) },
        ];
        return Some(Rules { rules, otherwise: find(&["no", "zero", "symm", "neutral"]) });
    }
    if let (Some(reject), Some(keep)) =
        (find(&["reject"]), find(&["fail", "accept", "retain", "do not", "not reject"]))
    {
        let rules = vec![Rule { label: reject, when: bound(Quantity::P, Compare::Less, alpha) }];
        return Some(Rules { rules, otherwise: Some(keep) });
    }
    let (yes, no) = polar(choices)?;
    let normality = matches!(
        of,
        Measure::Test(
            super::types::Test::Shapiro
                | super::types::Test::Kolmogorov
                | super::types::Test::DAgostino
                | super::types::Test::Anderson
                | super::types::Test::JarqueBera,
            _
        )
    );
    if normality {
        let rules = vec![Rule { label: yes, when: bound(Quantity::P, Compare::AtLeast, alpha) }];
        return Some(Rules { rules, otherwise: Some(no) });
    }
    if matches!(of, Measure::Test(..)) && !has_any(words, &["without a test"]) {
        let rules = vec![Rule { label: yes, when: bound(Quantity::P, Compare::Less, alpha) }];
        return Some(Rules { rules, otherwise: Some(no) });
    }
    matches!(of, Measure::Skewness(_)).then(|| Rules {
        rules: vec![Rule { label: yes, when: bound(Quantity::Size, Compare::Less, 0.5) }],
        otherwise: Some(no),
    })
}

/// The affirming and the denying one of two words.
fn polar(choices: &[String]) -> Option<(String, String)> {
    let [first, second] = choices else { return None };
    let denies = |c: &str| {
        let words = name_words(c);
        words.iter().any(|w| {
            ["not", "no", "non", "false", "none", "insignificant", "nonnormal"].contains(&w.as_str())
        })
    };
    match (denies(first), denies(second)) {
        (false, true) => Some((first.clone(), second.clone())),
        (true, false) => Some((second.clone(), first.clone())),
        _ => label_of("is", choices, true)
            .map(|yes| (yes.clone(), choices.iter().find(|c| **c != yes).cloned().unwrap_or_default())),
    }
}
