//! The confidence of a reply.
//!
//! Invariants
//! - A turn that is answered from data has exactly the label and the score of the analysis: the
//!   same question has the same confidence in `ask` and in a conversation.
//! - A lookup that failed or found nothing never has high confidence: the call may have been wrong.

use super::carry::{Done, Ended, StepOutcome};
use super::reply::{Outcome, Reply};
use steward_domain::Certainty;
use steward_language::answer::ResultText;
use steward_language::understand::{Act, Understood};

/// The threshold for high confidence in the reading of a request to tools.
const SURE: f64 = 0.75;

/// The confidence of a turn, from the completeness of the data and the confidence of the reading.
pub(super) fn certainty(outcome: Outcome, understood: &Understood, done: &Done) -> Certainty {
    match outcome {
        Outcome::Answered | Outcome::Partial => {
            let whole = if outcome == Outcome::Answered { Certainty::High } else { Certainty::Medium };
            let steps = done.ended.iter().map(|ended| step_certainty(ended, understood, done));
            steps.fold(whole, least)
        }
        Outcome::Chat | Outcome::Help | Outcome::Declined | Outcome::Confirm => Certainty::High,
        // The data without an answer may only mean that the words were not understood.
        Outcome::NotFound if done.ended.iter().any(|ended| ended.step.act == Act::Ask) => Certainty::Low,
        Outcome::NotFound => Certainty::Medium,
        Outcome::Asked | Outcome::Failed | Outcome::OutOfScope => Certainty::Low,
    }
}

/// The confidence of one step. Steps that did not succeed make the outcome a partial one already.
fn step_certainty(ended: &Ended, understood: &Understood, done: &Done) -> Certainty {
    if let Some(answer) = &ended.analysis {
        return answer.confidence;
    }
    let is_done = matches!(ended.came, StepOutcome::Done);
    let is_empty =
        |told: &ResultText| told.empty || told.table.as_ref().is_some_and(|table| table.rows.is_empty());
    let found_nothing = ended.step.read_only && is_done && ended.told.iter().all(is_empty);
    if found_nothing || done.confirming.is_some() || understood.confidence.get() < SURE {
        return Certainty::Medium;
    }
    Certainty::High
}

fn least(one: Certainty, other: Certainty) -> Certainty {
    match (one, other) {
        (Certainty::Low, _) | (_, Certainty::Low) => Certainty::Low,
        (Certainty::Medium, _) | (_, Certainty::Medium) => Certainty::Medium,
        (Certainty::High, Certainty::High) => Certainty::High,
    }
}

impl Reply {
    /// The confidence of the answers from data as a number: that of the least sure one.
    #[must_use]
    pub fn confidence_score(&self) -> Option<f64> {
        self.analyses.iter().map(|answer| answer.score).reduce(f64::min)
    }

    /// The words of the message that carry meaning and that nothing in the data was found for.
    pub fn unexplained(&self) -> impl Iterator<Item = &str> {
        let readings = self.analyses.iter().filter_map(|answer| answer.reading.as_ref());
        readings.flat_map(|reading| reading.unexplained.iter().map(String::as_str))
    }
}
