//! The signals for a tool, and their weights.
//!
//! The initial weights were set by hand; these were fitted on user utterances (`eval_utterances
//! --fit`), regularised towards the initial ones, and measured on applications that were left out.

/// One number for each signal, in the order of [`SIGNALS`].
pub(super) type Signals = [f32; SIGNALS.len()];

/// The name of each signal and its weight.
pub const SIGNALS: [(&str, f32); 35] = [
    ("verb", 0.94),
    ("noun", 0.61),
    ("near", 4.54),
    ("near_without_verb", 1.06),
    ("told", 0.77),
    ("evidence", 1.61),
    ("left", -0.52),
    ("missing", -1.55),
    ("target", 1.26),
    ("called", 0.05),
    ("rare", -1.12),
    ("before", 1.50),
    ("asks_but_changes", -4.83),
    ("changes_but_reads", -2.42),
    ("shows_but_changes", -0.50),
    ("reports_but_reads", -2.65),
    ("stated", 0.91),
    ("domain", 2.50),
    ("grounded_by_name", 1.98),
    ("grounded_by_value", -2.74),
    ("placed", -0.80),
    ("unplaced", -1.63),
    ("shared_name", 1.79),
    ("shared_description", 1.88),
    ("shared_fields", 2.27),
    ("near_masked", 5.31),
    ("states_and_changes", 4.78),
    ("unknown_target", -1.24),
    ("asks_and_reads", 1.53),
    ("new_is_made", 1.02),
    ("new_but_acts_on", -4.29),
    ("one_but_lists", -1.90),
    ("absorbed", -0.31),
    ("complete", 0.65),
    ("takes_away_unsaid", -2.00),
];

/// The weighted sum of the signals.
pub(super) fn weigh(signals: &Signals) -> f32 {
    signals.iter().zip(&SIGNALS).map(|(signal, (_, weight))| signal * weight).sum()
}
