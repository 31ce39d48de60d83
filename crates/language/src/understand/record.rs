//! Records as options of a question: each option is one record, and all labels are distinct.

use super::types::{Choice, RecordRef};
use crate::words::words;
use std::collections::BTreeSet;

/// Maximum number of options.
const OPTIONS: usize = 9;

/// The options of a question about records. Records whose names differ only in case or punctuation
/// are distinguished by type and id, and by their domain if needed.
pub(super) fn options<'a>(records: impl IntoIterator<Item = &'a RecordRef>) -> Vec<Choice> {
    let mut offered: Vec<&RecordRef> = Vec::new();
    for record in records {
        if offered.len() < OPTIONS && !offered.iter().any(|known| known.is_same(record)) {
            offered.push(record);
        }
    }
    let name = |record: &RecordRef| record.name.clone().unwrap_or_else(|| record.id.clone());
    let folded = |text: &str| words(text).into_iter().map(|word| word.lower).collect::<Vec<_>>();
    let alike = |record: &RecordRef| -> Vec<&RecordRef> {
        let own = folded(&name(record));
        offered.iter().copied().filter(|other| folded(&name(other)) == own).collect()
    };
    let label = |record: &RecordRef| {
        let alike = alike(record);
        if alike.len() < 2 {
            return name(record);
        }
        let numbers: BTreeSet<(&str, &str)> =
            alike.iter().map(|other| (other.entity_type.as_str(), other.id.as_str())).collect();
        let kind = record.entity_type.replace('_', " ");
        match &record.domain {
            Some(domain) if numbers.len() < alike.len() => {
                format!("{} ({} {kind} {})", name(record), domain.as_str().replace('_', " "), record.id)
            }
            _ => format!("{} ({kind} {})", name(record), record.id),
        }
    };
    let choice = |record: &RecordRef| Choice {
        label: label(record),
        value: record.id_value(),
        record: Some(record.clone()),
    };
    offered.iter().map(|record| choice(record)).collect()
}

/// "Which one do you mean: …?"
pub(super) fn which(noun: &str, options: &[Choice]) -> String {
    let names: Vec<String> = options.iter().map(|choice| format!("\"{}\"", choice.label)).collect();
    if names.is_empty() {
        return format!("Which {noun} do you mean?");
    }
    format!("Which {noun} do you mean: {}?", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::options;
    use crate::understand::RecordRef;
    use steward_domain::DomainName;

    fn record(domain: &str, kind: &str, id: &str, name: &str) -> RecordRef {
        RecordRef {
            entity_type: kind.into(),
            id: id.into(),
            name: Some(name.into()),
            domain: Some(DomainName::new(domain).unwrap()),
            ..RecordRef::default()
        }
    }

    #[test]
    fn no_two_options_read_the_same() {
        let labels = |records: &[RecordRef]| -> Vec<String> {
            options(records).into_iter().map(|choice| choice.label).collect()
        };
        let milk = record("todo", "task", "1", "Buy milk");
        let again = record("todo", "task", "13", "buy milk");
        let bread = record("todo", "task", "2", "Buy bread");
        assert_eq!(
            labels(&[milk.clone(), again, bread]),
            ["Buy milk (task 1)", "buy milk (task 13)", "Buy bread"]
        );
        let note = record("notes", "note", "1", "Buy milk");
        assert_eq!(labels(&[milk.clone(), note]), ["Buy milk (task 1)", "Buy milk (note 1)"]);
        let other = record("planner", "task", "1", "Buy milk");
        assert_eq!(labels(&[milk.clone(), other]), ["Buy milk (todo task 1)", "Buy milk (planner task 1)"]);
        assert_eq!(labels(&[milk.clone(), milk]), ["Buy milk"], "one record is offered once");
    }
}
