//! Questions that ask for named values (`dabench`): the benchmark's answer format said as a person
//! would, and the values taken from the structured answer.

use super::score::{cell, same};
use serde_json::Value;

/// The figures of an answer format, as a list: `@mean_fare[m] where "m" is rounded to two decimals`
/// is the line "- mean fare: is rounded to two decimals".
pub(super) fn figures(format: &str) -> String {
    let slots = slots(format);
    let outside = outside(format);
    let mut lines = vec!["Report:".to_owned()];
    for (name, holder) in &slots {
        let speaks = |clause: &&str| {
            let lower = clause.to_lowercase();
            slots.len() == 1 || [name, holder].iter().any(|word| lower.contains(&word.to_lowercase()))
        };
        let about: Vec<&str> = clauses(&outside).into_iter().filter(speaks).collect();
        let about = about.join("; ").replace(':', ",").replace(&format!("\"{holder}\""), "it");
        let choices = if holder.contains('/') {
            holder.split('/').map(|word| format!("\"{}\"", word.trim())).collect::<Vec<_>>().join(" or ")
        } else {
            String::new()
        };
        lines.push(
            format!("- {}: {about} {choices}", name.replace('_', " "))
                .trim_end_matches([' ', ':'])
                .to_owned(),
        );
    }
    lines.join("\n")
}

/// Names and what stands in their brackets.
fn slots(format: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for piece in format.split('@').skip(1) {
        let Some((name, rest)) = piece.split_once('[') else { continue };
        let Some((holder, _)) = rest.split_once(']') else { continue };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
        if is_name && !found.iter().any(|(known, _)| known == name) {
            found.push((name.to_owned(), holder.trim().trim_matches('"').to_owned()));
        }
    }
    found
}

/// The format without its slots.
fn outside(format: &str) -> String {
    let mut kept = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('@') {
        kept.push_str(before);
        rest = after.split_once(']').map_or("", |(_, rest)| rest);
    }
    kept.push_str(rest);
    kept
}

fn clauses(text: &str) -> Vec<&str> {
    let pieces =
        text.split(['\n', ';']).flat_map(|line| line.split(". ")).flat_map(|line| line.split(" where "));
    let trimmed = pieces.map(|piece| piece.trim().trim_start_matches("where ").trim_matches(['.', ',', ' ']));
    trimmed.filter(|piece| piece.chars().any(char::is_alphanumeric)).collect()
}

/// Every named value stands in the answer under its name, or is the only cell of it, equal at the
/// stated rounding.
pub(super) fn same_named(gold: &Value, answer: &Value) -> bool {
    let rows: Vec<&Vec<Value>> =
        (answer.pointer("/tables/0/rows").and_then(Value::as_array).into_iter().flatten())
            .filter_map(Value::as_array)
            .collect();
    let gold: Vec<(&str, &str)> = (gold.as_array().into_iter().flatten())
        .filter_map(|pair| Some((pair.get(0)?.as_str()?, pair.get(1)?.as_str()?)))
        .collect();
    let alone = match rows.as_slice() {
        [row] if gold.len() == 1 && row.len() == 1 => row.first(),
        _ => None,
    };
    let named = |name: &str| {
        let name = name.replace('_', " ");
        let of = rows
            .iter()
            .find(|row| row.len() == 2 && row.first().and_then(Value::as_str) == Some(name.as_str()));
        of.and_then(|row| row.get(1)).or(alone)
    };
    !gold.is_empty()
        && gold.iter().all(|(name, value)| {
            named(name).is_some_and(|found| same(&cell(found), &cell(&Value::String((*value).to_owned()))))
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_format_becomes_a_list() {
        let format = "@mean_fare[m] @kind[normal/not normal] where \"m\" is rounded to two decimal places.";
        assert_eq!(
            figures(format),
            "Report:\n- mean fare: it is rounded to two decimal places\n- kind:  \"normal\" or \"not normal\""
        );
    }

    #[test]
    fn values_are_found_by_their_names() {
        let gold = json!([["mean_fare", "34.65"]]);
        let right = json!({ "tables": [{ "rows": [["other", 1], ["mean fare", 34.65]] }] });
        let wrong = json!({ "tables": [{ "rows": [["other", 34.65], ["mean fare", 1]] }] });
        assert!(same_named(&gold, &right));
        assert!(!same_named(&gold, &wrong));
        assert!(same_named(&gold, &json!({ "tables": [{ "rows": [[34.65]] }] })));
    }
}
