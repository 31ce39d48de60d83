//! Requests without a list of figures: the named values and tables come from the question itself.

use super::asked::{NamedFigure, Part, Procedure};
use super::choose::pair;
use super::figure_list::{Figure, decimals};
use super::reader::Context;
use super::types::{Give, Measure, Step};
use super::words::has_any;

/// The word for a measure.
#[must_use]
pub(super) fn word(measure: &Measure) -> String {
    let text = match measure {
        Measure::Mean => "mean",
        Measure::Median => "median",
        Measure::Mode => "mode",
        Measure::Std(false) => "standard deviation",
        Measure::Std(true) => "population standard deviation",
        Measure::Variance(_) => "variance",
        Measure::Min => "minimum",
        Measure::Max => "maximum",
        Measure::Range => "range",
        Measure::Sum => "sum",
        Measure::Count | Measure::Rows => "count",
        Measure::Share(_) => "share",
        Measure::Unique => "distinct values",
        Measure::Missing | Measure::MissingByColumn => "missing values",
        Measure::MissingShare => "missing percentage",
        Measure::MissingColumns(_) => "columns with missing values",
        Measure::Skewness(_) => "skewness",
        Measure::Kurtosis(_) => "kurtosis",
        Measure::Quantile(share) => return format!("{:.0}th percentile", share * 100.0),
        Measure::Iqr => "interquartile range",
        Measure::Variation => "coefficient of variation",
        Measure::Strongest(_, true) => "most correlated column",
        Measure::Strongest(_, false) => "strongest correlation",
        Measure::Outliers(_) => "outliers",
        Measure::OutlierShare(_) => "outlier percentage",
        Measure::OutlierValues(..) => "outlying values",
        Measure::WithoutOutliers(_, inner) => return format!("{} without outliers", word(inner)),
        Measure::Test(test, Give::P) => return format!("p-value ({test:?})"),
        Measure::Test(test, Give::Statistic) => return format!("statistic ({test:?})"),
        Measure::Model(model) => return format!("{:?} of the model for {}", model.give, model.target),
        Measure::At(..) => "place of the extreme",
        Measure::BestGroup(..) | Measure::BestKey(..) => "group at the extreme",
        Measure::BestValue(..) => "extreme over groups",
        Measure::BestColumn(..) => "column at the extreme",
        Measure::PerGroup(_, inner) => return format!("{} by group", word(inner)),
        Measure::Difference(_, a, b, inner) => {
            return format!("difference of the {} between {a} and {b}", word(inner));
        }
        Measure::TopShare(_) => "share of the largest group",
        Measure::Last => "last value",
        Measure::First => "first value",
        Measure::Covariance => "covariance",
        Measure::Rate(column, value, _) => return format!("share of {value} in {column}"),
        Measure::Width => "columns",
        Measure::Judgement(_) => "judgement",
        Measure::Fixed(_) => "note",
    };
    text.to_owned()
}

/// The measures of one column that a text names, in its order.
fn named_measures(context: &Context) -> Vec<Measure> {
    let population = context.population();
    let table: [(&[&str], Measure); 14] = [
        (&["mean", "average", "averages", "means"], Measure::Mean),
        (&["median", "medians"], Measure::Median),
        (&["mode"], Measure::Mode),
        (
            &["standard deviation", "std", "standard deviations", "std dev", "stddev"],
            Measure::Std(population),
        ),
        (&["variance"], Measure::Variance(population)),
        (&["minimum", "min"], Measure::Min),
        (&["maximum", "max"], Measure::Max),
        (&["range"], Measure::Range),
        (&["skewness", "skew"], Measure::Skewness(context.shape())),
        (&["kurtosis"], Measure::Kurtosis(context.shape())),
        (&["first quartile", "q1", "25th percentile"], Measure::Quantile(0.25)),
        (&["third quartile", "q3", "75th percentile"], Measure::Quantile(0.75)),
        (&["iqr", "interquartile range"], Measure::Iqr),
        (&["count"], Measure::Count),
    ];
    table.into_iter().filter(|(phrases, _)| has_any(&context.words, phrases)).map(|(_, m)| m).collect()
}

/// Is it an analysis at all? Plain sums, counts and averages are left to a query.
fn is_analysis(context: &Context, measures: &[Measure]) -> bool {
    let words = &context.words;
    let shape = measures.iter().any(|m| {
        matches!(
            m,
            Measure::Median
                | Measure::Std(_)
                | Measure::Variance(_)
                | Measure::Skewness(_)
                | Measure::Kurtosis(_)
                | Measure::Quantile(_)
                | Measure::Iqr
                | Measure::Mode
        )
    });
    shape
        || has_any(
            words,
            &[
                "correlat*",
                "outlier*",
                "regression",
                "t test",
                "anova",
                "chi square*",
                "normal distribution",
                "normally distributed",
                "normality",
                "shapiro*",
                "kolmogorov*",
                "impute",
                "imput*",
                "standardiz*",
                "normaliz*",
                "z score*",
                "iqr",
                "mann whitney*",
                "significant difference",
                "p value",
                "levene*",
                "kruskal*",
                "missing values",
            ],
        ) || context.steps.iter().any(|s| {
        matches!(s, Step::Derive { formula, .. } if !matches!(formula, super::types::Formula::DatePart(..)))
            || matches!(s, Step::Bin { .. })
    })
}

/// Reads a request that lists no figures.
pub(super) fn without_figures(context: &mut Context) -> Option<Procedure> {
    let measures = named_measures(context);
    if !is_analysis(context, &measures) {
        return None;
    }
    let figure = Figure::default();
    let places = decimals(&context.request.body);
    let mut answers: Vec<NamedFigure> = Vec::new();
    let mut sure: f64 = 0.95;
    let after = context.steps.len();
    let mut ask = |name: String, measure: Measure, columns: Vec<String>, after: usize| {
        answers.push(NamedFigure {
            name,
            parts: vec![Part { measure, columns, conditions: Vec::new(), after, decimals: places }],
        });
    };
    let words = context.words.clone();
    if has_any(&words, &["correlat*", "pearson*", "spearman*", "kendall*"]) {
        let (columns, more) = pair(context, &figure)?;
        sure = sure.min(more);
        let test = context.correlation();
        let between = columns.join(" and ");
        ask(
            format!("correlation of {between}"),
            Measure::Test(test, Give::Statistic),
            columns.clone(),
            after,
        );
        ask(format!("p-value of the correlation of {between}"), Measure::Test(test, Give::P), columns, after);
    } else if let Some(test) = context.group_test().or_else(|| {
        has_any(&words, &["significant difference", "significantly different", "differ significantly"])
            .then_some(super::types::Test::Welch)
    }) {
        let (columns, more) = super::choose::group_pair(context, &figure, test)?;
        sure = sure.min(more);
        let of = columns.join(" by ");
        ask(format!("test statistic of {of}"), Measure::Test(test, Give::Statistic), columns.clone(), after);
        ask(format!("p-value of {of}"), Measure::Test(test, Give::P), columns, after);
    } else if has_any(&words, &["normal distribution", "normally distributed", "normality"])
        || context.normality().is_some()
    {
        let test = context.normality().unwrap_or(super::types::Test::Shapiro);
        let (column, more) = super::choose::target(context, &figure)?;
        sure = sure.min(more);
        ask(
            format!("{test:?} statistic of {column}"),
            Measure::Test(test, Give::Statistic),
            vec![column.clone()],
            after,
        );
        ask(format!("{test:?} p-value of {column}"), Measure::Test(test, Give::P), vec![column], after);
    } else if has_any(&words, &["outlier*"])
        && measures.iter().all(|m| matches!(m, Measure::Iqr | Measure::Quantile(_) | Measure::Range))
    {
        let (column, more) = super::choose::target(context, &figure)?;
        sure = sure.min(more);
        let rule = context.outlier_rule();
        let before =
            context.steps.iter().position(|s| matches!(s, Step::RemoveOutliers { .. })).unwrap_or(after);
        ask(format!("outliers in {column}"), Measure::Outliers(rule), vec![column.clone()], before);
        ask(
            format!("outlying values of {column}"),
            Measure::OutlierValues(rule, column.clone()),
            vec![column],
            before,
        );
    } else if measures.is_empty()
        && has_any(&words, &["missing values", "missing"])
        && context.steps.is_empty()
    {
        ask("missing values".into(), Measure::MissingByColumn, Vec::new(), after);
    } else if !measures.is_empty() {
        let (column, more) = super::choose::target(context, &figure)?;
        sure = sure.min(more);
        if context.groups.is_empty() {
            for measure in measures {
                ask(format!("{} of {column}", word(&measure)), measure, vec![column.clone()], after);
            }
        } else {
            let by = context.groups.clone();
            context.steps.push(Step::Statistic { what: measures, columns: vec![column], by });
        }
    }
    if answers.is_empty() && context.steps.is_empty() {
        return None;
    }
    let reasoning = answers.iter().map(|a| a.name.clone()).collect();
    let confidence = sure * super::caution::factor(context);
    Some(Procedure {
        steps: context.steps.clone(),
        answers,
        confidence,
        assumptions: context.assumptions.clone(),
        reasoning,
    })
}
