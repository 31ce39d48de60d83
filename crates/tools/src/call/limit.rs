//! Rate limits: at most N calls in any sliding window, also under concurrency.
//!
//! A window is a ring of the last N call times. Unlike a token bucket, it never allows a double
//! burst, and the reported wait is exact.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use steward_domain::ToolName;

/// The rate limits of all tools.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    tools: Mutex<HashMap<ToolName, Arc<Mutex<Windows>>>>,
}

#[derive(Debug, Default)]
struct Windows {
    rules: BTreeMap<String, u32>,
    rings: Vec<Ring>,
}

#[derive(Debug)]
struct Ring {
    most: usize,
    span: Duration,
    times: VecDeque<Duration>,
}

impl Limits {
    /// Reserves one call now, in every window or in none. The error is the time until a call is
    /// possible.
    pub(crate) fn take(
        &self,
        tool: &ToolName,
        rules: &BTreeMap<String, u32>,
        now: Duration,
    ) -> Result<(), Duration> {
        if rules.is_empty() {
            return Ok(());
        }
        let windows = {
            let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(tools.entry(tool.clone()).or_default())
        };
        let mut windows = windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.rules != *rules {
            windows.follow(rules);
        }
        let wait = windows.rings.iter_mut().filter_map(|ring| ring.wait(now)).max();
        match wait {
            Some(wait) => Err(wait),
            None => {
                windows.rings.iter_mut().for_each(|ring| ring.times.push_back(now));
                Ok(())
            }
        }
    }
}

impl Windows {
    /// Applies changed rules and keeps the counts, so that a reload does not reset the limits.
    fn follow(&mut self, rules: &BTreeMap<String, u32>) {
        let known = std::mem::take(&mut self.rings);
        self.rules.clone_from(rules);
        for (window, most) in rules {
            let Some(span) = span(window) else { continue };
            let times = known.iter().max_by_key(|ring| ring.times.len()).map(|ring| ring.times.clone());
            self.rings.push(Ring { most: *most as usize, span, times: times.unwrap_or_default() });
        }
    }
}

impl Ring {
    fn wait(&mut self, now: Duration) -> Option<Duration> {
        while self.times.front().is_some_and(|first| *first + self.span <= now) {
            self.times.pop_front();
        }
        let over = self.times.len().checked_sub(self.most)?;
        Some(self.times.get(over).map_or(self.span, |first| (*first + self.span).saturating_sub(now)))
    }
}

fn span(window: &str) -> Option<Duration> {
    Some(Duration::from_secs(match window {
        "per_second" => 1,
        "per_minute" => 60,
        "per_hour" => 3600,
        "per_day" => 86400,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &[(&str, u32)]) -> BTreeMap<String, u32> {
        text.iter().map(|(window, most)| ((*window).to_owned(), *most)).collect()
    }

    #[test]
    fn no_window_exceeds_its_limit() {
        let (limits, tool) = (Limits::default(), "a.b".parse().unwrap());
        let rules = rules(&[("per_second", 5), ("per_minute", 20)]);
        let mut taken = Vec::new();
        for step in 0..2000 {
            let now = Duration::from_millis(step * 37);
            if limits.take(&tool, &rules, now).is_ok() {
                taken.push(now);
            }
        }
        for (span, most) in [(1, 5), (60, 20)] {
            let span = Duration::from_secs(span);
            for first in &taken {
                let inside = taken.iter().filter(|time| **time >= *first && **time < *first + span).count();
                assert!(inside <= most, "{inside} in {span:?}");
            }
        }
        assert!(taken.len() >= 20);
    }

    #[test]
    fn reported_wait_is_exact() {
        let (limits, tool) = (Limits::default(), "a.b".parse().unwrap());
        let rules = rules(&[("per_minute", 2)]);
        for second in [0, 10] {
            limits.take(&tool, &rules, Duration::from_secs(second)).unwrap();
        }
        let wait = limits.take(&tool, &rules, Duration::from_secs(15)).unwrap_err();
        assert_eq!(wait, Duration::from_secs(45));
        assert!(limits.take(&tool, &rules, Duration::from_millis(59_999)).is_err());
        assert!(limits.take(&tool, &rules, Duration::from_secs(60)).is_ok());
    }

    #[test]
    fn changed_rate_limit_keeps_counts() {
        let (limits, tool) = (Limits::default(), "a.b".parse().unwrap());
        for _ in 0..4 {
            limits.take(&tool, &rules(&[("per_minute", 10)]), Duration::from_secs(1)).unwrap();
        }
        assert!(limits.take(&tool, &rules(&[("per_minute", 4)]), Duration::from_secs(2)).is_err());
        assert!(limits.take(&tool, &rules(&[("per_minute", 5)]), Duration::from_secs(2)).is_ok());
    }
}
