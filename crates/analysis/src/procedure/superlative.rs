//! "Which station has the most missing values?", "the month with the highest average": a group or a row at an extreme.

use super::reader::Context;
use super::template::Slot;
use super::types::Measure;
use super::wants::{LARGEST, SMALLEST, Want, want};
use super::words::{has_any, name_words, tokens};

/// What is extreme, and over what.
#[derive(Debug, Clone)]
pub struct Superlative {
    largest: bool,
    /// Groups that are compared; empty when single rows are.
    by: Vec<String>,
    /// What is measured in each group.
    measure: Measure,
    /// The column that is measured.
    column: String,
}

/// The superlative of a text, if it has one.
#[must_use]
pub fn superlative(context: &Context) -> Option<Superlative> {
    let asks = has_any(&context.words, &["which", "identify", "find", "return", "what", "determine", "provide"]);
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
    let after = context.mentions.iter().find(|m| m.start >= place && m.end <= range.end && m.score >= 0.4);
    let anywhere = context.mentions.iter().filter(|m| m.score >= 0.4 && context.is_numeric(&m.column)).max_by(|a, b| a.score.total_cmp(&b.score));
    let column = after.filter(|m| !context.groups.contains(&m.column)).or(anywhere)?.column.clone();
    let measure = match want(&words, context) {
        Some(Want::Of(measure @ (Measure::Mean | Measure::Median | Measure::Std(_) | Measure::Missing))) => measure,
        Some(Want::Total) => Measure::Sum,
        Some(Want::Count) => Measure::Count,
        _ => Measure::Max,
    };
    let by = if matches!(measure, Measure::Max) { Vec::new() } else { context.groups.clone() };
    Some(Superlative { largest, by, measure, column })
}

impl Superlative {
    /// The answer to a slot that asks for the group, the row or the extreme value.
    #[must_use]
    pub fn answer(&self, context: &Context, slot: &Slot, holder: Option<&String>) -> Option<(Measure, Vec<String>, f64)> {
        let own = holder.map_or_else(|| slot.name.clone(), Clone::clone);
        let words = name_words(&own).join(" ");
        let all = format!("{} {}", name_words(&slot.name).join(" "), slot.about.to_lowercase());
        let columns = vec![self.column.clone()];
        let numeric = want(&words, context);
        if !self.by.is_empty() {
            let key = self.by.iter().position(|b| name_words(b).iter().any(|w| has_any(&words, &[w.as_str()])));
            let counts = has_any(&words, &["count", "number", "num", "value", "average", "mean", "price", "total"]);
            let extreme = has_any(&all, &LARGEST) || has_any(&all, &SMALLEST);
            if !extreme {
                return None;
            }
            if let Some(place) = key.filter(|_| !counts) {
                // With several keys, each holder names one of them.
                let group = Measure::BestGroup(self.by.clone(), Box::new(self.measure.clone()), self.largest);
                if self.by.len() > 1 && holder.is_some() {
                    return Some((Measure::BestKey(self.by.clone(), Box::new(self.measure.clone()), self.largest, place), columns, 0.75));
                }
                return Some((group, columns, 0.8));
            }
            return Some((Measure::BestValue(self.by.clone(), Box::new(self.measure.clone()), self.largest), columns, 0.75));
        }
        // A row at the extreme: the slot names another column.
        let shown = context
            .lexicon
            .mentions(&tokens(&format!("{} {}", slot.name.replace('_', " "), slot.raw.replace('_', " "))))
            .into_iter()
            .filter(|m| m.score >= 0.4 && m.column != self.column)
            .max_by(|a, b| a.score.total_cmp(&b.score))?;
        let plain = matches!(numeric, None | Some(Want::Extreme(_)));
        plain.then(|| (Measure::At(self.largest, shown.column), columns, 0.75))
    }
}
