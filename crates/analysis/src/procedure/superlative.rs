//! "Which station has the most missing values?", "the month with the highest average": a group or a
//! row at an extreme.

use super::figure_list::Figure;
use super::reader::Context;
use super::types::Measure;
use super::wants::{LARGEST, SMALLEST, Want, want};
use super::words::{has_any, name_words, tokens};

/// What is extreme, and over what.
#[derive(Debug, Clone)]
pub(super) struct Superlative {
    largest: bool,
    /// Groups that are compared; empty when single rows are.
    by: Vec<String>,
    /// What is measured in each group.
    measure: Measure,
    /// The column that is measured.
    column: String,
    /// The columns that are compared, when columns are.
    columns: Vec<String>,
}

/// The superlative of a text, if it has one.
#[must_use]
pub(super) fn superlative(context: &Context) -> Option<Superlative> {
    let asks =
        has_any(&context.words, &["which", "identify", "find", "return", "what", "determine", "provide"]);
    let largest = has_any(&context.words, &LARGEST);
    let smallest = has_any(&context.words, &SMALLEST);
    if !asks || largest == smallest {
        return None;
    }
    let range = context.sentences.iter().find(|r| {
        let words = context.sentence(r);
        has_any(&words, &LARGEST) || has_any(&words, &SMALLEST)
    })?;
    let words = context.sentence(range);
    let place = context
        .tokens
        .iter()
        .enumerate()
        .skip(range.start)
        .take(range.len())
        .find(|(_, t)| LARGEST.contains(&t.lower.as_str()) || SMALLEST.contains(&t.lower.as_str()))
        .map(|(p, _)| p)?;
    let by = asked_groups(context, range);
    let usable = |m: &&super::columns::Mention| {
        m.score >= 0.4 && !by.contains(&m.column) && context.is_numeric(&m.column)
    };
    let after = context.mentions.iter().find(|m| m.start >= place && m.end <= range.end && usable(m));
    // "at which GR reaches its maximum": the column stands before the word.
    let before = context
        .mentions
        .iter()
        .rfind(|m| m.start >= range.start && m.end <= place && m.end + 4 >= place && usable(m));
    let after = after.or(before);
    let anywhere = context.mentions.iter().filter(usable).max_by(|a, b| a.score.total_cmp(&b.score));
    let found = after.or(anywhere).map(|m| m.column.clone());
    let fresh = context.derived.iter().rev().find(|d| context.is_numeric(d) && !by.contains(d)).cloned();
    let column = if after.is_some() { found } else { fresh.or(found) };
    if let Some(columns) = compared_columns(context, range) {
        return Some(Superlative {
            largest,
            by: Vec::new(),
            measure: Measure::Mean,
            column: String::new(),
            columns,
        });
    }
    let bare: Vec<&str> =
        words.split(' ').filter(|w| !LARGEST.contains(w) && !SMALLEST.contains(w)).collect();
    let measure = match want(&bare.join(" "), context) {
        Some(Want::Of(measure @ (Measure::Mean | Measure::Median | Measure::Std(_) | Measure::Missing))) => {
            measure
        }
        Some(Want::Total) => Measure::Sum,
        Some(Want::Count) => Measure::Count,
        _ if (after.is_none() || has_any(&words, &["most common", "most frequent"])) && !by.is_empty() => {
            Measure::Count
        }
        _ => Measure::Max,
    };
    let by = if matches!(measure, Measure::Max) { Vec::new() } else { by };
    let column = match (&measure, column) {
        (Measure::Count, _) => String::new(),
        (_, column) => column?,
    };
    Some(Superlative { largest, by, measure, column, columns: Vec::new() })
}

/// The groups that are compared: the thing after "which", else those after "for each".
fn asked_groups(context: &Context, range: &std::ops::Range<usize>) -> Vec<String> {
    let word = |p: usize| context.tokens.get(p).map_or("", |t| t.lower.as_str());
    let which = (range.start..range.end).find(|p| word(*p) == "which");
    // "the most common weather condition" asks for a value of that column.
    let common = (range.start..range.end)
        .find(|p| word(*p) == "most" && ["common", "frequent"].contains(&word(p + 1)));
    if let Some(m) = common.and_then(|p| context.mentions.iter().find(|m| (p + 2..=p + 3).contains(&m.start)))
    {
        return vec![m.column.clone()];
    }
    // "the town with the highest ...": what stands before "with" is asked for.
    let with =
        (range.start..range.end).find(|p| word(*p) == "with" || word(*p) == "having" || word(*p) == "that");
    let described = with.and_then(|p| {
        context
            .mentions
            .iter()
            .find(|m| m.end == p && m.start > range.start && !context.is_numeric(&m.column))
    });
    if let Some(m) = described.filter(|m| !super::choose::is_axis(context, &m.column)) {
        return vec![m.column.clone()];
    }
    let asked = which.and_then(|p| context.mentions.iter().find(|m| (p + 1..=p + 2).contains(&m.start)));
    let groups = &context.groups;
    match asked {
        Some(m) if !context.is_numeric(&m.column) || !context.lexicon.values_of(&m.column).is_empty() => {
            vec![m.column.clone()]
        }
        _ => groups.clone(),
    }
}

/// In a wide table, "which field has the highest ..." compares columns: the thing asked for is no
/// column itself, and one row is left by the filter.
fn compared_columns(context: &Context, range: &std::ops::Range<usize>) -> Option<Vec<String>> {
    let filters = super::figures::filter_conditions(&context.steps);
    let which =
        (range.start..range.end).find(|p| context.tokens.get(*p).is_some_and(|t| t.lower == "which"))?;
    let is_column = context.mentions.iter().any(|m| m.start == which + 1 && m.score >= 0.4);
    let others =
        context.mentions.iter().any(|m| m.score >= 0.7 && !filters.iter().any(|c| c.column == m.column));
    if is_column || others || filters.is_empty() {
        return None;
    }
    let numeric: Vec<String> = context
        .frame
        .fields
        .iter()
        .map(|f| f.name.clone())
        .filter(|n| {
            context.is_numeric(n)
                && !super::choose::is_axis(context, n)
                && !filters.iter().any(|c| c.column == *n)
        })
        .collect();
    (numeric.len() >= 3).then_some(numeric)
}

impl Superlative {
    /// The answer to a figure that asks for the group, the row or the extreme value.
    #[must_use]
    pub(super) fn answer(&self, context: &Context, figure: &Figure) -> Option<(Measure, Vec<String>, f64)> {
        if !self.columns.is_empty() {
            let measure = Measure::BestColumn(Box::new(self.measure.clone()), self.largest);
            return (want(&name_words(&figure.name).join(" "), context).is_none())
                .then(|| (measure, self.columns.clone(), 0.7));
        }
        let words = name_words(&figure.name).join(" ");
        let all = format!("{} {}", name_words(&figure.name).join(" "), figure.about.to_lowercase());
        let columns: Vec<String> =
            (!self.column.is_empty()).then(|| self.column.clone()).into_iter().collect();
        let numeric = want(&words, context);
        if matches!(
            numeric,
            Some(
                Want::Of(Measure::Unique | Measure::MissingShare)
                    | Want::P
                    | Want::Correlation
                    | Want::OutlierCount
            )
        ) {
            return None;
        }
        if !self.by.is_empty() {
            let squeezed = super::words::key(&words);
            let key = self.by.iter().position(|b| {
                name_words(b).iter().any(|w| has_any(&words, &[w.as_str()]))
                    || squeezed.contains(&super::words::key(b))
            });
            let counts =
                has_any(&words, &["count", "number", "num", "value", "average", "mean", "price", "total"]);
            let extreme = has_any(&all, &LARGEST) || has_any(&all, &SMALLEST);
            let counts = counts || numeric.as_ref() == Some(&Want::Of(self.measure.clone()));
            let names = has_any(&words, &["name", "id", "label", "title"]);
            if let Some(place) = key.filter(|_| !counts || names) {
                // With several keys, a figure names one of them.
                let group = Measure::BestGroup(self.by.clone(), Box::new(self.measure.clone()), self.largest);
                if self.by.len() > 1 {
                    return Some((
                        Measure::BestKey(
                            self.by.clone(),
                            Box::new(self.measure.clone()),
                            self.largest,
                            place,
                        ),
                        columns,
                        0.75,
                    ));
                }
                return Some((group, columns, 0.8));
            }
            let mode = matches!(numeric, None | Some(Want::Of(Measure::Mode) | Want::Extreme(_)));
            if self.measure == Measure::Count && mode && !counts {
                return Some((
                    Measure::BestGroup(self.by.clone(), Box::new(Measure::Count), self.largest),
                    columns,
                    0.78,
                ));
            }
            if self.measure == Measure::Count && numeric == Some(Want::Share) {
                return Some((Measure::TopShare(self.by.clone()), columns, 0.78));
            }
            let own = name_words(&self.column).iter().any(|w| has_any(&words, &[w.as_str()]));
            if !extreme && !counts && !own {
                return None;
            }
            return Some((
                Measure::BestValue(self.by.clone(), Box::new(self.measure.clone()), self.largest),
                columns,
                0.75,
            ));
        }
        // A row at the extreme: the figure names another column.
        let shown = context
            .lexicon
            .mentions(&tokens(&figure.name.replace('_', " ")))
            .into_iter()
            .filter(|m| m.score >= 0.3 && m.column != self.column)
            .max_by(|a, b| a.score.total_cmp(&b.score))?;
        let thing = !context.is_numeric(&shown.column) || super::choose::is_axis(context, &shown.column);
        let named = name_words(&shown.column)
            .iter()
            .any(|w| has_any(&name_words(&figure.name).join(" "), &[w.as_str()]));
        let plain = matches!(numeric, None | Some(Want::Extreme(_))) || thing && named;
        plain.then_some((Measure::At(self.largest, shown.column), columns, 0.75))
    }
}
