//! One metric with its label sets, and its Prometheus format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// The label value for label sets beyond the limit.
const OTHER: &str = "other";

/// Upper bounds in seconds: from a call within the process to a long model reply.
const BOUNDS: [f64; 17] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0];

/// The value of one label set.
pub(super) trait Series: Default {
    /// The Prometheus type.
    const TYPE: &'static str;
    /// Writes its samples. `labels` is the text inside the braces.
    fn samples(&self, name: &str, labels: &str, millionths: bool, text: &mut String);
}

/// One metric.
#[derive(Debug)]
pub(super) struct Family<S> {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    /// The number of leading labels that may have any value.
    open: usize,
    limit: usize,
    millionths: bool,
    series: BTreeMap<Vec<String>, S>,
}

impl<S: Series> Family<S> {
    pub(super) fn new(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        open: usize,
        limit: usize,
    ) -> Self {
        Self { name, help, labels, open, limit, millionths: false, series: BTreeMap::new() }
    }

    /// Counts in millionths, rendered in units.
    pub(super) fn in_millionths(mut self) -> Self {
        self.millionths = true;
        self
    }

    /// The series of these values; the `other` series if there are too many.
    pub(super) fn at(&mut self, values: &[&str]) -> &mut S {
        let mut key: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        if self.series.len() >= self.limit && !self.series.contains_key(&key) {
            key.iter_mut().take(self.open).for_each(|value| OTHER.clone_into(value));
        }
        self.series.entry(key).or_default()
    }

    pub(super) fn render(&self, text: &mut String) {
        if self.series.is_empty() {
            return;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {} {}", self.name, escape_help(self.help));
        let _ = writeln!(text, "# TYPE {} {}", self.name, S::TYPE);
        for (values, series) in &self.series {
            let labels: Vec<String> = self
                .labels
                .iter()
                .zip(values)
                .map(|(name, value)| format!("{name}=\"{}\"", escape(value)))
                .collect();
            series.samples(self.name, &labels.join(","), self.millionths, text);
        }
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(u64);

impl Counter {
    pub(super) fn add(&mut self, more: u64) {
        self.0 = self.0.saturating_add(more);
    }
}

impl Series for Counter {
    const TYPE: &'static str = "counter";

    fn samples(&self, name: &str, labels: &str, millionths: bool, text: &mut String) {
        let _ = if millionths {
            writeln!(text, "{name}{{{labels}}} {}", self.0 as f64 / 1e6)
        } else {
            writeln!(text, "{name}{{{labels}}} {}", self.0)
        };
    }
}

/// A histogram of durations.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// The count of each bucket, not cumulative; values above the last bound are only in `count`.
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl Histogram {
    pub(super) fn note(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        if let Some((bucket, _)) = self.buckets.iter_mut().zip(BOUNDS).find(|(_, bound)| seconds <= *bound) {
            *bucket += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(took);
    }
}

impl Series for Histogram {
    const TYPE: &'static str = "histogram";

    fn samples(&self, name: &str, labels: &str, _: bool, text: &mut String) {
        let mut below = 0;
        let comma = if labels.is_empty() { "" } else { "," };
        for (bucket, bound) in self.buckets.iter().zip(BOUNDS) {
            below += bucket;
            let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {below}");
        }
        let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(text, "{name}_sum{{{labels}}} {}", self.sum.as_secs_f64());
        let _ = writeln!(text, "{name}_count{{{labels}}} {}", self.count);
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn escape_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}
