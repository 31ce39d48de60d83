//! What a name asks for: "mean_fare" a mean, "p_value" a p-value, "outlier_count" a number of
//! outliers.

use super::reader::Context;
use super::types::{Measure, Quality};
use super::words::has_any;

/// What is wanted, before columns and rows are known.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Want {
    /// A measure of one column.
    Of(Measure),
    /// A p-value.
    P,
    /// A correlation.
    Correlation,
    /// The statistic of a test.
    TestStatistic,
    /// How many outliers.
    OutlierCount,
    /// Which share of outliers.
    OutlierShare,
    /// Which values, or where they stand.
    OutlierList,
    /// Names of columns with missing cells.
    MissingColumns,
    /// A number of a fitted model.
    Model(Quality),
    /// A share of rows, in percent or not.
    Share,
    /// The largest or smallest of something, perhaps where it stands.
    Extreme(bool),
    /// The covariance of two columns.
    Covariance,
    /// A number of rows.
    Count,
    /// A sum.
    Total,
}

/// The words for the largest.
pub(super) const LARGEST: [&str; 10] =
    ["highest", "largest", "maximum", "max", "most", "greatest", "biggest", "top", "best", "peak"];
/// The words for the smallest.
pub(super) const SMALLEST: [&str; 9] =
    ["lowest", "smallest", "minimum", "min", "least", "fewest", "worst", "bottom", "minimal"];

/// What some words ask for. The order matters: the more telling words come first.
#[must_use]
pub(super) fn want(words: &str, context: &Context) -> Option<Want> {
    let any = |phrases: &[&str]| has_any(words, phrases);
    let population = context.population();
    let of = |measure: Measure| Some(Want::Of(measure));
    if any(&["covariance", "cov"]) {
        return Some(Want::Covariance);
    }
    if any(&["last", "latest", "final"]) && !any(&["last name", "last year"]) {
        return of(Measure::Last);
    }
    if any(&["p value", "pvalue", "p val", "pval", "p values"]) || words == "p" || words.ends_with(" p") {
        return Some(Want::P);
    }
    let tested = context.group_test().is_some() || context.normality().is_some();
    if tested && ["w", "t", "f", "u", "h", "d", "k2", "k 2", "z"].contains(&words) {
        return Some(Want::TestStatistic);
    }
    let bounded = any(&["above", "below", "over", "under", "greater", "less", "more than", "exceeding"]);
    if bounded && any(&["count", "number", "num", "how many"]) && !any(&["outlier*"]) {
        return Some(Want::Count);
    }
    let centre = simple(words, population);
    if any(&["outlier*"])
        && !any(&["without", "after", "no outlier*", "removal", "excluding", "clean*", "before"])
        && !matches!(centre, Some(Measure::Mean | Measure::Median | Measure::Std(_)))
    {
        return Some(outliers(words));
    }
    if any(&["missing", "null", "nulls", "nan"]) {
        return missing(words);
    }
    if let Some(want) = model(words, context) {
        return Some(want);
    }
    if any(&["corr", "correlation", "correlations", "pearson", "spearman", "kendall", "rho", "tau"])
        || words == "r"
        || any(&["r value", "correlation coefficient"])
    {
        return Some(Want::Correlation);
    }
    if any(&["coefficient"]) && has_any(&context.words, &["correlation", "pearson*"]) {
        return Some(Want::Correlation);
    }
    if any(&["skew", "skewness"]) {
        return of(Measure::Skewness(context.shape()));
    }
    if any(&["kurt", "kurtosis"]) {
        return of(Measure::Kurtosis(context.shape()));
    }
    if any(&[
        "t statistic",
        "f statistic",
        "test statistic",
        "statistic",
        "chi square",
        "chi2",
        "chi 2",
        "stat",
        "tau",
        "chi",
        "t stat",
        "f stat",
        "u statistic",
        "t value",
        "f value",
        "ks statistic",
    ]) {
        return Some(Want::TestStatistic);
    }
    if let Some(measure) = centre {
        return of(measure);
    }
    if any(&["unique", "distinct"]) {
        return of(Measure::Unique);
    }
    if any(&["percentage", "percent", "proportion", "share", "fraction", "pct", "rate"]) {
        return Some(Want::Share);
    }
    if any(&LARGEST) {
        return Some(Want::Extreme(true));
    }
    if any(&SMALLEST) {
        return Some(Want::Extreme(false));
    }
    if any(&["total", "sum"]) {
        return Some(Want::Total);
    }
    any(&["count", "number", "num", "counts", "how many", "frequency"]).then_some(Want::Count)
}

/// Centre and spread of one column.
fn simple(words: &str, population: bool) -> Option<Measure> {
    let any = |phrases: &[&str]| has_any(words, phrases);
    if any(&[
        "std",
        "stddev",
        "std dev",
        "standard deviation",
        "stdev",
        "sd",
        "deviation",
        "std deviation",
        "standard dev",
    ]) {
        return Some(Measure::Std(population));
    }
    if any(&["variance", "var"]) {
        return Some(Measure::Variance(population));
    }
    if any(&["median", "q2", "q 2", "second quartile"]) {
        return Some(Measure::Median);
    }
    if any(&["mode", "most frequent", "most common"]) {
        return Some(Measure::Mode);
    }
    if any(&["iqr", "interquartile range"]) {
        return Some(Measure::Iqr);
    }
    if any(&["q1", "q 1", "first quartile", "25th percentile", "lower quartile"]) {
        return Some(Measure::Quantile(0.25));
    }
    if any(&["q3", "q 3", "third quartile", "75th percentile", "upper quartile"]) {
        return Some(Measure::Quantile(0.75));
    }
    if any(&["coefficient of variation", "cv"]) {
        return Some(Measure::Variation);
    }
    if let Some(share) = percentile(words) {
        return Some(Measure::Quantile(share));
    }
    if any(&["mean", "average", "avg", "averages", "means"]) {
        return Some(Measure::Mean);
    }
    any(&["range"]).then_some(Measure::Range)
}

/// "90th percentile", "percentile 90", "p95".
fn percentile(words: &str) -> Option<f64> {
    let list: Vec<&str> = words.split(' ').collect();
    let place = list.iter().position(|w| w.starts_with("percentile") || *w == "quantile")?;
    let number = |word: &&str| {
        word.trim_end_matches("th")
            .trim_end_matches("st")
            .trim_end_matches("nd")
            .trim_end_matches("rd")
            .parse::<f64>()
            .ok()
    };
    let near = [place.checked_sub(1), place.checked_sub(2), Some(place + 1)];
    let found = near.into_iter().flatten().filter_map(|p| list.get(p)).find_map(number)?;
    (found > 0.0 && found < 100.0).then(|| if found < 1.0 { found } else { found / 100.0 })
}

fn outliers(words: &str) -> Want {
    if has_any(words, &["percentage", "percent", "proportion", "share"]) {
        Want::OutlierShare
    } else if has_any(words, &["count", "number", "num", "total", "how many", "counts"]) {
        Want::OutlierCount
    } else if has_any(
        words,
        &["list", "ids", "values", "value", "years", "dates", "indices", "index", "names", "identifiers"],
    ) {
        Want::OutlierList
    } else {
        Want::OutlierCount
    }
}

fn missing(words: &str) -> Option<Want> {
    if has_any(words, &["percentage", "percent", "proportion", "share", "pct"]) {
        return Some(Want::Of(Measure::MissingShare));
    }
    if has_any(words, &["per column", "each column", "by column"]) {
        return Some(Want::Of(Measure::MissingByColumn));
    }
    if has_any(words, &["column", "columns"]) && !has_any(words, &["count", "number", "num"]) {
        return Some(Want::MissingColumns);
    }
    Some(Want::Of(Measure::Missing))
}

fn model(words: &str, context: &Context) -> Option<Want> {
    let any = |phrases: &[&str]| has_any(words, phrases);
    if any(&["rmse", "root mean squared error", "root mean square error"]) {
        return Some(Want::Model(Quality::Rmse));
    }
    if any(&["mse", "mean squared error", "mean square error"]) {
        return Some(Want::Model(Quality::Mse));
    }
    if any(&["mae", "mean absolute error"]) {
        return Some(Want::Model(Quality::Mae));
    }
    if any(&["r2", "r 2", "r squared", "rsquared", "r square", "coefficient of determination"]) {
        return Some(Want::Model(Quality::RSquared));
    }
    if any(&["accuracy"]) {
        return Some(Want::Model(Quality::Accuracy));
    }
    if any(&["slope"]) {
        return Some(Want::Model(Quality::Slope));
    }
    if any(&["intercept"]) {
        return Some(Want::Model(Quality::Intercept));
    }
    let regression = has_any(&context.words, &["regression"]) && !has_any(&context.words, &["correlation"]);
    (regression && any(&["coefficient", "coef"])).then_some(Want::Model(Quality::Slope))
}
