//! Suggests existing names for an unknown one.

use steward_text::tokens::distance;

/// At most `most` known names, nearest first, within an edit distance of a third of the name's
/// length, at least two.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let length = wanted.chars().count();
    let mut limit = (length / 3).max(2);
    let mut near: Vec<(usize, &str)> = Vec::new();
    for known in known {
        // A name that is part of the other is always near: `find` for `crm.find`, `timeout` for
        // `timeout_seconds`.
        let part = length > 3 && (known.rsplit('.').next() == Some(name) || known.starts_with(name));
        let distance = if part {
            Some(1)
        } else if known.len().abs_diff(name.len()) > 3 * limit {
            None
        } else {
            let letters = known.to_lowercase();
            let edits = distance(&wanted, &letters, limit);
            // Two names that share nothing but their length are not near.
            (edits <= limit && edits < letters.chars().count().max(length)).then_some(edits)
        };
        let Some(distance) = distance else { continue };
        let place = near.partition_point(|other| *other <= (distance, known));
        near.insert(place, (distance, known));
        near.dedup();
        if near.len() > most {
            near.truncate(most);
            // Once there are enough, only names at least as near are considered.
            limit = near.last().map_or(limit, |(distance, _)| *distance);
        }
    }
    near.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found() {
        let known = ["crm.find", "crm.create", "http.fetch", "time.now", "slack.history"];
        for (name, near) in [
            ("crm.fnid", &["crm.find"][..]),
            ("find", &["crm.find"]),
            ("http.fetsh", &["http.fetch"]),
            ("HTTP.FETCH", &["http.fetch"]),
            ("weather.today", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(name, known, 3), near, "{name}");
        }
        assert_eq!(nearest("ab", ["ac", "ad", "ae", "xy"], 3), ["ac", "ad", "ae"]);
    }
}
