//! Names that are near to one that does not exist.

/// At most `most` of the known names, nearest first, that are a slip away from this one: a third of
/// its letters, at least two.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    let mut limit = (wanted.len() / 3).max(2);
    let mut near: Vec<(usize, &str)> = Vec::new();
    for known in known {
        // A name that is a part of the other is near whatever else there is: `find` for `crm.find`,
        // `timeout` for `timeout_seconds`.
        let part = wanted.len() > 3 && (known.rsplit('.').next() == Some(name) || known.starts_with(name));
        let distance = if part {
            Some(1)
        } else if known.len().abs_diff(name.len()) > 3 * limit {
            None
        } else {
            let letters: Vec<char> = known.to_lowercase().chars().collect();
            // Two names that share nothing but their length are not near.
            distance(&wanted, &letters, limit).filter(|distance| *distance < letters.len().max(wanted.len()))
        };
        let Some(distance) = distance else { continue };
        let place = near.partition_point(|other| *other <= (distance, known));
        near.insert(place, (distance, known));
        near.dedup();
        if near.len() > most {
            near.truncate(most);
            // Once there are enough, only what is at least as near is looked at closely.
            limit = near.last().map_or(limit, |(distance, _)| *distance);
        }
    }
    near.into_iter().map(|(_, name)| name).collect()
}

/// Letters to be changed, added, left out or swapped with their neighbour; nothing when there are
/// more than `limit`.
fn distance(one: &[char], other: &[char], limit: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, compared) in other.iter().enumerate() {
            let at = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX / 2);
            let changed = at(&row, j) + usize::from(letter != compared);
            let mut best = changed.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped =
                i > 0 && j > 0 && one.get(i - 1) == Some(compared) && other.get(j - 1) == Some(letter);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
        }
        if next.iter().min().is_some_and(|least| *least > limit) {
            return None;
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|distance| *distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near() {
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
