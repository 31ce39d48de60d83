//! Usage of tools and agents: success rate, mean and 95th percentile, from details and from the
//! aggregates that outlive them.

use serde::Serialize;
use std::collections::BTreeMap;
use steward_domain::Timestamp;

/// Usage over a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Analytics {
    /// By tool.
    pub tools: Vec<Usage>,
    /// By agent.
    pub agents: Vec<Usage>,
}

/// Usage of one tool or agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    /// Its name.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of successful calls.
    pub successes: u64,
    /// The success rate.
    pub success_rate: f64,
    /// The mean duration.
    pub mean_ms: f64,
    /// The 95th percentile of the duration, interpolated as SQL's `percentile_cont` does.
    pub p95_ms: f64,
}

/// Calls of one name with the same success and duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) success: bool,
    pub(crate) duration_ms: u64,
    pub(crate) count: u64,
}

/// The duration that an aggregate keeps: four significant binary digits, so at most 6 % off.
pub(crate) fn rounded(duration_ms: u64) -> u64 {
    let shift = (64 - duration_ms.leading_zeros()).saturating_sub(4);
    (duration_ms >> shift) << shift
}

/// Daily aggregates, kept when details are deleted: day, user, name, success, rounded duration, and
/// the count.
#[derive(Debug, Default)]
pub(crate) struct Rollup(pub(crate) BTreeMap<(String, String, String, bool, u64), u64>);

impl Rollup {
    pub(crate) fn add(
        &mut self,
        start: Timestamp,
        user: String,
        name: String,
        success: bool,
        duration_ms: u64,
    ) {
        *self.0.entry((start.day(), user, name, success, rounded(duration_ms))).or_default() += 1;
    }
}

/// Sums groups up by name.
pub(crate) fn summarise(groups: Vec<Group>) -> Vec<Usage> {
    let mut names: BTreeMap<String, Vec<Group>> = BTreeMap::new();
    for group in groups {
        names.entry(group.name.clone()).or_default().push(group);
    }
    names.into_iter().map(|(name, groups)| usage(name, groups)).collect()
}

fn usage(name: String, mut groups: Vec<Group>) -> Usage {
    groups.sort_by_key(|group| group.duration_ms);
    let calls: u64 = groups.iter().map(|group| group.count).sum();
    let successes = groups.iter().filter(|group| group.success).map(|group| group.count).sum();
    let total: u128 =
        groups.iter().map(|group| u128::from(group.duration_ms) * u128::from(group.count)).sum();
    // The element at a rank, counting each group as often as it happened.
    let at = |rank: u64| {
        let mut seen = 0;
        groups
            .iter()
            .find(|group| {
                seen += group.count;
                seen > rank
            })
            .map_or(0.0, |group| group.duration_ms as f64)
    };
    let rank = 0.95 * calls.saturating_sub(1) as f64;
    let (low, high) = (at(rank.floor() as u64), at(rank.ceil() as u64));
    Usage {
        name,
        calls,
        successes,
        success_rate: successes as f64 / calls.max(1) as f64,
        mean_ms: total as f64 / calls.max(1) as f64,
        p95_ms: low + (high - low) * rank.fract(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_interpolates_like_sql() {
        let groups = (1..=20)
            .map(|ms| Group { name: "t".into(), success: ms != 20, duration_ms: ms, count: 1 })
            .collect();
        let usage = summarise(groups).remove(0);
        assert_eq!((usage.calls, usage.successes, usage.mean_ms), (20, 19, 10.5));
        assert!((usage.p95_ms - 19.05).abs() < 1e-9, "{}", usage.p95_ms);
    }

    #[test]
    fn rounding_stays_close() {
        for ms in [0, 1, 7, 8, 9, 15, 16, 17, 100, 12_345, u64::from(u32::MAX)] {
            let kept = rounded(ms);
            assert!(kept <= ms && (ms - kept) as f64 <= ms as f64 * 0.125, "{ms} became {kept}");
        }
    }
}
