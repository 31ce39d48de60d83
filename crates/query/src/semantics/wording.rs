//! Synonyms of tables, columns and values: a question in the words of the data.
//!
//! Invariants
//! - The name of a metric or a segment, what stands in quotes, and a name that the data itself has
//!   stay as they are.
//! - What was exchanged is part of the answer.

use crate::catalogue::Catalogue;
use std::collections::BTreeMap;
use steward_domain::SemanticModel;
use steward_text::tokens::{name_words, stem, tokenize};

/// A question in the words of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rephrased {
    /// The question.
    pub question: String,
    /// What was exchanged, one sentence each.
    pub notes: Vec<String>,
}

/// A synonym with what it stands for; nothing when it only protects its words.
struct Synonym {
    words: Vec<String>,
    stands_for: Option<(String, String)>,
}

/// Exchanges synonyms of the model for names of the data; nothing when the question has none.
#[must_use]
pub fn rephrase(question: &str, model: &SemanticModel, catalogue: &Catalogue) -> Option<Rephrased> {
    let mut synonyms = collect(model, catalogue);
    synonyms.sort_by_key(|one| std::cmp::Reverse(one.words.len()));
    let spans = word_spans(question);
    let stems: Vec<String> = spans
        .iter()
        .map(|(from, to)| stem(&question.get(*from..*to).unwrap_or_default().to_lowercase()))
        .collect();
    let mut taken = vec![false; spans.len()];
    let mut changes: BTreeMap<usize, (usize, &str, &str)> = BTreeMap::new();
    for one in synonyms.iter().filter(|one| !one.words.is_empty()) {
        for start in 0..stems.len() {
            let end = start + one.words.len();
            let same = stems.get(start..end).is_some_and(|window| window == one.words.as_slice());
            let free = taken.get(start..end).is_some_and(|window| window.iter().all(|used| !used));
            if !same || !free {
                continue;
            }
            taken.iter_mut().take(end).skip(start).for_each(|used| *used = true);
            if let (Some((name, what)), Some((from, _)), Some((_, to))) =
                (&one.stands_for, spans.get(start), spans.get(end - 1))
            {
                changes.insert(*from, (*to, name, what));
            }
        }
    }
    if changes.is_empty() {
        return None;
    }
    let (mut told, mut notes, mut place) = (String::new(), Vec::new(), 0);
    for (from, (to, name, what)) in changes {
        told.push_str(question.get(place..from).unwrap_or_default());
        told.push_str(name);
        notes.push(format!("“{}” was read as {what}.", question.get(from..to).unwrap_or_default()));
        place = to;
    }
    told.push_str(question.get(place..).unwrap_or_default());
    notes.dedup();
    Some(Rephrased { question: told, notes })
}

/// Synonyms that stand for more than one name, each in a sentence.
pub(super) fn ambiguous(model: &SemanticModel) -> Vec<String> {
    let mut found = Vec::new();
    for (name, table) in &model.tables {
        let mut owners: BTreeMap<Vec<String>, &str> = BTreeMap::new();
        for (column, meaning) in &table.columns {
            for word in &meaning.synonyms {
                if let Some(other) = owners.insert(stems_of(word), column).filter(|other| other != column) {
                    found.push(format!("{name}: {word:?} is a synonym of {other} and of {column}"));
                }
            }
        }
    }
    found
}

fn collect(model: &SemanticModel, catalogue: &Catalogue) -> Vec<Synonym> {
    let spoken = |label: &str| label.replace('_', " ");
    let mut own: Vec<Vec<String>> = Vec::new();
    for table in &catalogue.tables {
        own.push(stems_of(&spoken(&table.label)));
        own.extend(table.columns.iter().map(|column| stems_of(&spoken(&column.label))));
    }
    let protects = |word: &String| Synonym { words: stems_of(word), stands_for: None };
    let metrics = model.metrics.iter().flat_map(|(name, one)| std::iter::once(name).chain(&one.synonyms));
    let segments = model.segments.iter().flat_map(|(name, one)| std::iter::once(name).chain(&one.synonyms));
    let mut found: Vec<Synonym> = metrics.chain(segments).map(protects).collect();
    let mut add = |word: &String, name: String, what: String| {
        let words = stems_of(word);
        if !own.contains(&words) {
            found.push(Synonym { words, stands_for: Some((name, what)) });
        }
    };
    for (name, meaning) in &model.tables {
        let Some(table) = catalogue.table(name) else { continue };
        for word in &meaning.synonyms {
            add(word, spoken(&table.label), format!("the table {}", table.label));
        }
        for (name, meaning) in &meaning.columns {
            let Some(column) = table.column(name) else { continue };
            let shared = catalogue.tables.iter().filter(|other| other.column(name).is_some()).count() > 1;
            let label = spoken(&column.label);
            let said = if shared { format!("{} {label}", spoken(&table.label)) } else { label };
            for word in &meaning.synonyms {
                add(word, said.clone(), format!("the column {}", column.label));
            }
            for (value, words) in &meaning.values {
                for word in words {
                    add(word, value.clone(), format!("the value {value} of {}", column.label));
                }
            }
        }
    }
    found
}

fn stems_of(text: &str) -> Vec<String> {
    let (tokens, _) = tokenize(&name_words(text).join(" "));
    tokens.into_iter().map(|token| token.stem).collect()
}

/// Where the words of a question are that do not stand in quotes.
fn word_spans(question: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let (mut start, mut quoted) = (None, false);
    for (place, letter) in question.char_indices() {
        quoted ^= matches!(letter, '"' | '“' | '”');
        let inside = !quoted && (letter.is_alphanumeric() || letter == '_');
        match (inside, start) {
            (true, None) => start = Some(place),
            (false, Some(from)) => {
                spans.push((from, place));
                start = None;
            }
            _ => {}
        }
    }
    spans.extend(start.map(|from| (from, question.len())));
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Column, Table};
    use crate::frame::{Kind, Unit, Value};
    use steward_domain::{ColumnMeaning, Metric, TableMeaning};

    fn catalogue() -> Catalogue {
        let column = |name: &str| Column {
            name: name.to_owned(),
            label: name.to_owned(),
            kind: Kind::Text,
            unit: Unit::Plain,
            nulls: 0,
            seen: 9,
            distinct: 2,
            min: Value::Null,
            max: Value::Null,
            values: Vec::new(),
            complete: false,
            looks_like: None,
        };
        let table = Table {
            name: "titanic".to_owned(),
            label: "titanic".to_owned(),
            source: 0,
            columns: ["pclass", "sex", "embark_town", "port"].map(column).to_vec(),
            rows: Some(9),
            primary_key: Vec::new(),
        };
        Catalogue { tables: vec![table], joins: Vec::new() }
    }

    fn model() -> SemanticModel {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let column = |synonyms: &[&str], values: &[(&str, &[&str])]| ColumnMeaning {
            synonyms: words(synonyms),
            values: values.iter().map(|(value, said)| ((*value).to_owned(), words(said))).collect(),
            ..ColumnMeaning::default()
        };
        let columns = BTreeMap::from([
            ("pclass".to_owned(), column(&["passenger class", "class"], &[])),
            ("sex".to_owned(), column(&["gender"], &[("female", &["women", "woman"])])),
            ("embark_town".to_owned(), column(&["port", "harbour"], &[])),
            ("hidden".to_owned(), column(&["secret"], &[])),
        ]);
        let table = TableMeaning { synonyms: words(&["passengers"]), columns, ..TableMeaning::default() };
        let survivors = Metric { synonyms: words(&["women class"]), ..Metric::default() };
        SemanticModel {
            tables: BTreeMap::from([("titanic".to_owned(), table)]),
            metrics: BTreeMap::from([("survivors".to_owned(), survivors)]),
            ..SemanticModel::default()
        }
    }

    #[test]
    fn synonyms_become_names_of_the_data() {
        let check = |question: &str, expected: Option<&str>| {
            let told = rephrase(question, &model(), &catalogue());
            assert_eq!(told.map(|told| told.question).as_deref(), expected, "{question}");
        };
        check("average fare by passenger class?", Some("average fare by pclass?"));
        check("how many women by harbour", Some("how many female by embark town"));
        check("Passengers per gender", Some("titanic per sex"));
        // The data has such a name itself, the words are a metric's, they are quoted, or the asker
        // may not know the column.
        check("fare by port", None);
        check("survivors by women class", None);
        check("where name is \"gender\"", None);
        check("secret by sex", None);
        let told = rephrase("fare by class", &model(), &catalogue()).unwrap();
        assert_eq!(told.notes, ["“class” was read as the column pclass."]);
    }
}
