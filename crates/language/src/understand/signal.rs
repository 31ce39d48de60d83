//! What speaks for a tool, and how much each counts.
//!
//! The first weights were set by hand; these were learned from what people say to applications (`eval_utterances --fit`), held near those by
//! hand, and measured on applications that were left out while learning.

/// One number for each signal, in the order of [`SIGNALS`].
pub(super) type Signals = [f32; SIGNALS.len()];

/// The name of each signal and what it counts.
pub const SIGNALS: [(&str, f32); 34] = [
    ("verb", 0.95),
    ("noun", 0.54),
    ("near", 4.39),
    ("near_without_verb", 0.87),
    ("told", 0.77),
    ("evidence", 1.61),
    ("left", -0.47),
    ("missing", -1.46),
    ("target", 1.25),
    ("called", 0.06),
    ("rare", -1.14),
    ("before", 1.50),
    ("asks_but_changes", -4.57),
    ("changes_but_reads", -3.00),
    ("shows_but_changes", 0.58),
    ("reports_but_reads", -2.62),
    ("stated", 1.01),
    ("domain", 2.50),
    ("grounded_by_name", 1.83),
    ("grounded_by_value", -2.34),
    ("placed", -1.00),
    ("unplaced", -1.51),
    ("shared_name", 1.76),
    ("shared_description", 1.91),
    ("shared_fields", 2.27),
    ("near_masked", 5.78),
    ("states_and_changes", 7.59),
    ("unknown_target", -1.09),
    ("asks_and_reads", 1.15),
    ("new_is_made", 0.92),
    ("new_but_acts_on", -4.14),
    ("one_but_lists", -1.73),
    ("absorbed", -0.42),
    ("complete", 0.51),
];

/// What signals come to.
pub(super) fn weigh(signals: &Signals) -> f32 {
    signals.iter().zip(&SIGNALS).map(|(signal, (_, weight))| signal * weight).sum()
}
