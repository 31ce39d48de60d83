//! Mapping the figures of a list to measures, columns and rows.

use super::asked::{NamedFigure, Part, Procedure};
use super::choose::{pair, target};
use super::figure_list::Figure;
use super::judging::judgement;
use super::models::read_model;
use super::reader::Context;
use super::rows::conditions;
use super::superlative::{Superlative, superlative};
use super::types::{Condition, Give, Measure, Outlier, Step};
use super::wants::{Want, want};
use super::words::{has_any, name_words};

/// A part with how sure the reading is.
pub(super) struct Sure {
    /// The part.
    pub part: Part,
    /// From 0 to 1.
    pub sure: f64,
}

/// Reads all figures. `None` when not one of them is understood.
pub(super) fn with_figures(context: &mut Context) -> Option<Procedure> {
    let figures = context.request.figures.clone();
    let best = superlative(context);
    let mut answers = Vec::new();
    let mut confidence: f64 = 0.97;
    let mut reasoning = Vec::new();
    for figure in &figures {
        let sure = read_figure(context, figure, best.as_ref());
        if sure.is_none() {
            confidence = confidence.min(0.3);
            context.assumptions.push(format!("It is not clear what {} asks for.", figure.name));
        }
        let Some(sure) = sure else { continue };
        confidence = confidence.min(sure.sure);
        reasoning.push(format!(
            "{}: {} of {}",
            figure.name,
            super::answers::word(&sure.part.measure),
            sure.part.columns.join(" and ")
        ));
        answers.push(NamedFigure { name: figure.name.clone(), parts: vec![sure.part] });
    }
    if answers.is_empty() {
        return None;
    }
    // Two figures with the same reading: at least one of them was not understood.
    let twice = answers
        .iter()
        .enumerate()
        .any(|(place, a)| answers.iter().skip(place + 1).any(|b: &NamedFigure| a.parts == b.parts));
    if twice {
        confidence *= 0.6;
    }
    Some(Procedure {
        steps: context.steps.clone(),
        answers,
        confidence: confidence * super::caution::factor(context),
        assumptions: context.assumptions.clone(),
        reasoning,
    })
}

/// The words of a figure: its name, and what is said about it.
fn figure_words(figure: &Figure) -> (String, String) {
    (name_words(&figure.name).join(" "), name_words(&figure.about).join(" "))
}

/// What the figure wants: by its name, by its description, by the question.
fn figure_want(context: &Context, figure: &Figure) -> Option<(Want, f64)> {
    let (name, about) = figure_words(figure);
    let bare = without_columns(context, &name);
    want(&bare, context)
        .map(|w| (w, 1.0))
        .or_else(|| want(&name, context).map(|w| (w, 0.95)))
        .or_else(|| want(&about, context).map(|w| (w, 0.85)))
        .or_else(|| want(&context.words, context).map(|w| (w, 0.6)))
}

/// The words of a name without those that name a column.
fn without_columns(context: &Context, name: &str) -> String {
    let tokens = super::words::tokens(name);
    let mentions = context.lexicon.mentions(&tokens);
    let kept: Vec<&str> = tokens
        .iter()
        .enumerate()
        .filter(|(place, _)| !mentions.iter().any(|m| m.score >= 0.7 && (m.start..m.end).contains(place)))
        .map(|(_, t)| t.lower.as_str())
        .collect();
    kept.join(" ")
}

fn read_figure(context: &mut Context, figure: &Figure, best: Option<&Superlative>) -> Option<Sure> {
    let (name, about) = figure_words(figure);
    let decimals = figure.decimals.filter(|_| !figure.whole);
    let conditions = conditions(context, figure);
    let after = stage(context, &name, &about);
    let make = |measure: Measure, columns: Vec<String>, sure: f64| {
        let decimals = if matches!(measure, Measure::Outliers(_) | Measure::Count | Measure::Missing) {
            None
        } else {
            decimals
        };
        Some(Sure { part: Part { measure, columns, conditions: conditions.clone(), after, decimals }, sure })
    };
    if figure.choices.len() >= 2 {
        let (measure, columns, sure) = judgement(context, figure)?;
        return Some(Sure { part: Part { measure, columns, conditions, after, decimals: None }, sure });
    }
    if let Some((measure, columns, sure)) = strongest(context, &name) {
        return make(measure, columns, sure);
    }
    if let Some(best) = best
        && let Some((measure, columns, sure)) = best.answer(context, figure)
    {
        return make(measure, columns, sure);
    }
    let (want, sure) = figure_want(context, figure)?;
    if has_any(&name, &["description", "strategy", "message", "explanation", "interpretation"]) {
        return None;
    }
    if has_any(&about, &["each", "every", "dictionary"])
        && let Some((measure, columns, sure)) = dictionary(context, figure, &want)
    {
        return make(measure, columns, sure);
    }
    if want == Want::Share
        || want == Want::Of(Measure::Mean) && has_any(&name, &["rate", "proportion", "percentage"])
    {
        return share(context, figure, conditions, decimals);
    }
    by_want(context, figure, want, sure).and_then(|(measure, columns, sure)| make(measure, columns, sure))
}

/// A share of rows: those that the figure names, or those that the text filters, of all rows before
/// that filter.
fn share(
    context: &Context,
    figure: &Figure,
    conditions: Vec<Condition>,
    decimals: Option<usize>,
) -> Option<Sure> {
    let text = format!("{} {}", name_words(&figure.name).join(" "), figure.about.to_lowercase());
    let percent = has_any(&text, &["percentage", "percent", "100", "rate", "pct"])
        || has_any(&context.words, &["percentage", "percent"]);
    let percent = percent && !has_any(&text, &["proportion", "between 0 and 1", "fraction"]);
    let filtered = |column: &str| filter_conditions(&context.steps).iter().any(|c| c.column == column);
    if let Some((column, value)) =
        super::rows::flag_of(context, figure, &conditions).filter(|(c, _)| !filtered(c))
    {
        let measure = Measure::Rate(column, value, percent);
        return Some(Sure {
            part: Part { measure, columns: Vec::new(), conditions, after: context.steps.len(), decimals },
            sure: 0.78,
        });
    }
    let filter = context.steps.iter().position(|s| matches!(s, Step::Filter { .. }));
    let (conditions, after, sure) = match (conditions.is_empty(), filter) {
        (false, place) => (conditions, place.unwrap_or(context.steps.len()), 0.8),
        (true, Some(place)) => (filter_conditions(&context.steps).into_iter().cloned().collect(), place, 0.8),
        (true, None) => return None,
    };
    Some(Sure {
        part: Part { measure: Measure::Share(percent), columns: Vec::new(), conditions, after, decimals },
        sure,
    })
}

/// "Which column has the strongest correlation with X?": the name, or the correlation.
fn strongest(context: &Context, name: &str) -> Option<(Measure, Vec<String>, f64)> {
    let asks = has_any(
        &context.words,
        &[
            "strongest correlation",
            "highest correlation",
            "most correlated",
            "most strongly correlated",
            "highest absolute correlation",
        ],
    );
    let of_many = has_any(
        &context.words,
        &[
            "which column",
            "which feature",
            "which variable",
            "which of the",
            "which numeric",
            "which attribute",
        ],
    );
    let with = context.tokens.iter().enumerate().find(|(_, t)| t.lower.starts_with("correlat"))?.0;
    let target = context
        .mentions
        .iter()
        .find(|m| m.start > with && m.score >= 0.6 && context.is_numeric(&m.column))?;
    (asks && of_many).then(|| {
        let value = has_any(name, &["correlation", "coefficient", "corr", "r", "value"]);
        (Measure::Strongest(context.correlation(), !value), vec![target.column.clone()], 0.78)
    })
}

/// A figure that asks for a value of every group or column.
fn dictionary(context: &Context, figure: &Figure, want: &Want) -> Option<(Measure, Vec<String>, f64)> {
    if *want == Want::MissingColumns || matches!(want, Want::Of(Measure::Missing | Measure::MissingByColumn))
    {
        return Some((Measure::MissingByColumn, Vec::new(), 0.85));
    }
    let Want::Of(measure) = want else { return None };
    if context.groups.is_empty() {
        return None;
    }
    let (column, sure) = target(context, figure)?;
    Some((Measure::PerGroup(context.groups.clone(), Box::new(measure.clone())), vec![column], 0.7 * sure))
}

fn by_want(
    context: &mut Context,
    figure: &Figure,
    want: Want,
    sure: f64,
) -> Option<(Measure, Vec<String>, f64)> {
    let rule = context.outlier_rule();
    match want {
        Want::Of(Measure::MissingByColumn) => Some((Measure::MissingByColumn, Vec::new(), sure)),
        Want::Of(Measure::Missing) => match target(context, figure) {
            Some((column, more)) => Some((Measure::Missing, vec![column], sure * more)),
            None => Some((Measure::Missing, Vec::new(), 0.6)),
        },
        Want::Of(measure) => {
            let (column, more) = target(context, figure)?;
            if has_any(&name_words(&figure.name).join(" "), &["difference", "diff", "gap"])
                && !has_any(&column.to_lowercase(), &["diff*"])
            {
                let (by, first, second) = super::choose::two_values(context)?;
                return Some((
                    Measure::Difference(by, first, second, Box::new(measure)),
                    vec![column],
                    0.8 * more,
                ));
            }
            Some((measure, vec![column], sure * more))
        }
        Want::P | Want::TestStatistic => {
            let give = if want == Want::P { Give::P } else { Give::Statistic };
            tested(context, figure, give).map(|(m, c, s)| (m, c, s * sure))
        }
        Want::Correlation => {
            let (columns, more) = pair(context, figure)?;
            Some((Measure::Test(context.correlation(), Give::Statistic), columns, sure * more))
        }
        Want::Covariance => {
            let (columns, more) = pair(context, figure)?;
            Some((Measure::Covariance, columns, sure * more))
        }
        Want::OutlierCount | Want::OutlierShare => {
            let (column, more) = target(context, figure)?;
            let measure = if want == Want::OutlierCount {
                Measure::Outliers(rule)
            } else {
                Measure::OutlierShare(rule)
            };
            Some((measure, vec![column], sure * more))
        }
        Want::OutlierList => outlier_list(context, figure, rule, sure),
        Want::MissingColumns => {
            let words = has_any(&context.words, &["object", "string", "strings", "categorical"]);
            Some((Measure::MissingColumns(words), Vec::new(), 0.8))
        }
        Want::Model(quality) => {
            let model = read_model(context, quality)?;
            let split = model.split.is_some();
            Some((Measure::Model(model), Vec::new(), if split { 0.7 } else { 0.6 }))
        }
        Want::Share => None,
        Want::Extreme(largest) => {
            let (column, more) = target(context, figure)?;
            Some((if largest { Measure::Max } else { Measure::Min }, vec![column], sure * more * 0.9))
        }
        Want::Total => {
            let (column, more) = target(context, figure)?;
            let measure = if context.is_numeric(&column) { Measure::Sum } else { Measure::Count };
            Some((measure, vec![column], sure * more * 0.9))
        }
        Want::Count => {
            if has_any(&context.words, &["outlier*"])
                && !has_any(&figure.about.to_lowercase(), &["row", "rows", "record*"])
            {
                let (column, more) = target(context, figure)?;
                return Some((Measure::Outliers(rule), vec![column], 0.8 * more));
            }
            Some((Measure::Count, Vec::new(), 0.65))
        }
    }
}

/// The p-value or statistic of the test that the text names.
fn tested(context: &Context, figure: &Figure, give: Give) -> Option<(Measure, Vec<String>, f64)> {
    let correlates = has_any(
        &context.words,
        &["correlation", "correlations", "correlated", "pearson correlation", "spearman*", "kendall*"],
    ) || has_any(&context.words, &["pearson*"]) && context.normality().is_none();
    if let Some(test) = context.group_test() {
        let (columns, sure) = super::choose::group_pair(context, figure, test)?;
        return Some((Measure::Test(test, give), columns, sure));
    }
    if let Some(test) = context.normality().filter(|_| !correlates) {
        let (column, sure) = target(context, figure)?;
        return Some((Measure::Test(test, give), vec![column], sure));
    }
    if correlates {
        let (columns, sure) = pair(context, figure)?;
        return Some((Measure::Test(context.correlation(), give), columns, sure));
    }
    None
}

fn outlier_list(
    context: &Context,
    figure: &Figure,
    rule: Outlier,
    sure: f64,
) -> Option<(Measure, Vec<String>, f64)> {
    let (column, more) = super::choose::body_target(context, &Figure::default())?;
    let name = name_words(&figure.name).join(" ");
    if has_any(&name, &["values", "value"])
        && !has_any(&name, &["id", "ids", "identifiers", "names", "dates"])
    {
        return Some((Measure::OutlierValues(rule, column.clone()), vec![column], sure * more * 0.8));
    }
    let about = format!("{} {}", figure.name.replace('_', " "), figure.about);
    let shown = context
        .lexicon
        .mentions(&super::words::tokens(&about))
        .into_iter()
        .filter(|m| m.score >= 0.3 && m.column != column)
        .max_by(|a, b| a.score.total_cmp(&b.score))
        .map_or_else(|| column.clone(), |m| m.column);
    Some((Measure::OutlierValues(rule, shown), vec![column], sure * more * 0.8))
}

/// After how many steps the figure is measured: a count of outliers before they are removed,
/// "before" at the start.
fn stage(context: &Context, words: &str, about: &str) -> usize {
    let all = context.steps.len();
    if has_any(words, &["before", "pre", "original", "initial", "raw"]) {
        return 0;
    }
    let early = |step: &Step| match step {
        Step::FillMissing { .. } | Step::DropMissing { .. } => has_any(words, &["missing"]),
        Step::RemoveOutliers { .. } => {
            has_any(words, &["outlier", "outliers", "removed"])
                && !has_any(words, &["without", "after", "mean", "std", "average", "median"])
        }
        Step::Normalise { unless_normal: Some(_), .. } => has_any(words, &["p", "pvalue", "normal"]),
        Step::Normalise { .. } => has_any(about, &["before"]) || has_any(words, &["mode"]),
        _ => false,
    };
    context.steps.iter().position(early).unwrap_or(all)
}

/// The filter conditions among the steps, for whoever needs them.
#[must_use]
pub(super) fn filter_conditions(steps: &[Step]) -> Vec<&Condition> {
    steps
        .iter()
        .filter_map(|s| if let Step::Filter { conditions } = s { Some(conditions) } else { None })
        .flatten()
        .collect()
}
