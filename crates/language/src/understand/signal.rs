//! What speaks for a tool, and how much each counts.
//!
//! The first weights were set by hand; these were learned from what people say to applications (`eval_utterances --fit`), held near those by
//! hand, and measured on applications that were left out while learning.

/// One number for each signal, in the order of [`SIGNALS`].
pub(super) type Signals = [f32; SIGNALS.len()];

/// The name of each signal and what it counts.
pub const SIGNALS: [(&str, f32); 34] = [
    ("verb", 0.91),
    ("noun", 0.55),
    ("near", 4.42),
    ("near_without_verb", 0.89),
    ("told", 0.78),
    ("evidence", 1.67),
    ("left", -0.54),
    ("missing", -1.48),
    ("target", 1.26),
    ("called", 0.05),
    ("rare", -1.23),
    ("before", 1.50),
    ("asks_but_changes", -4.66),
    ("changes_but_reads", -3.01),
    ("shows_but_changes", -0.50),
    ("reports_but_reads", -2.63),
    ("stated", 0.95),
    ("domain", 2.50),
    ("grounded_by_name", 1.94),
    ("grounded_by_value", -2.60),
    ("placed", -1.02),
    ("unplaced", -1.52),
    ("shared_name", 1.66),
    ("shared_description", 1.79),
    ("shared_fields", 2.22),
    ("near_masked", 5.53),
    ("states_and_changes", 6.09),
    ("unknown_target", -0.89),
    ("asks_and_reads", 1.21),
    ("new_is_made", 0.86),
    ("new_but_acts_on", -4.20),
    ("one_but_lists", -1.82),
    ("absorbed", -0.41),
    ("complete", 0.66),
];

/// What signals come to.
pub(super) fn weigh(signals: &Signals) -> f32 {
    signals.iter().zip(&SIGNALS).map(|(signal, (_, weight))| signal * weight).sum()
}
