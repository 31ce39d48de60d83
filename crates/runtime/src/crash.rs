//! Places where a process may die, by name, so that a test can let it die there. Only debug builds
//! have them.

/// A moment between two things that must not come apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// A task was claimed, nothing was read of it yet.
    AfterClaim,
    /// Events are noted and not on disk.
    BeforeFlush,
    /// Events are on disk, nothing that follows from them was done.
    AfterFlush,
    /// The intent of a call is on disk, the call was not made.
    AfterIntentBeforeEffect,
    /// The call was made, its receipt is not on disk.
    AfterEffectBeforeReceipt,
    /// The receipt is on disk, the event that it makes is not.
    AfterReceiptBeforeEvent,
    /// The last event happened, the end is not on disk.
    BeforeEnd,
    /// A run has taken a signal and is on disk, the signal is not settled.
    AfterSignalBeforeSettled,
    /// The answer is in the conversation, the task of its question has not ended.
    AfterAnswerBeforeEnd,
}

impl CrashPoint {
    /// Those that a question passes.
    pub const OF_QUESTIONS: [Self; 4] =
        [Self::BeforeFlush, Self::AfterFlush, Self::BeforeEnd, Self::AfterAnswerBeforeEnd];

    /// Those that a chat turn passes that changes something.
    pub const OF_TURNS: [Self; 7] = [
        Self::BeforeFlush,
        Self::AfterFlush,
        Self::AfterIntentBeforeEffect,
        Self::AfterEffectBeforeReceipt,
        Self::AfterReceiptBeforeEvent,
        Self::BeforeEnd,
        Self::AfterAnswerBeforeEnd,
    ];

    /// Those that a run of a workflow with maps, timers, sub-workflows and signals passes.
    pub const OF_WORKFLOWS: [Self; 8] = [
        Self::AfterClaim,
        Self::BeforeFlush,
        Self::AfterFlush,
        Self::AfterIntentBeforeEffect,
        Self::AfterEffectBeforeReceipt,
        Self::AfterReceiptBeforeEvent,
        Self::AfterSignalBeforeSettled,
        Self::BeforeEnd,
    ];

    /// Those that a run passes.
    pub const ALL: [Self; 7] = [
        Self::AfterClaim,
        Self::BeforeFlush,
        Self::AfterFlush,
        Self::AfterIntentBeforeEffect,
        Self::AfterEffectBeforeReceipt,
        Self::AfterReceiptBeforeEvent,
        Self::BeforeEnd,
    ];

    /// Its name, as `STEWARD_CRASH_AT` has it.
    #[must_use]
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}

/// Dies here if `STEWARD_CRASH_AT=NAME:N` says so and this is the N-th time.
#[cfg(debug_assertions)]
pub(crate) fn here(point: CrashPoint) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    static WANTED: OnceLock<Option<(String, AtomicU32)>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var("STEWARD_CRASH_AT").ok()?;
        let (name, times) = text.split_once(':')?;
        Some((name.to_owned(), AtomicU32::new(times.parse().ok()?)))
    });
    if let Some((name, left)) = wanted
        && *name == point.name()
        && left.fetch_sub(1, Ordering::SeqCst) == 1
    {
        // No destructor runs and nothing is flushed, as when the process is killed.
        std::process::abort();
    }
}

/// Nothing, in a build that people use.
#[cfg(not(debug_assertions))]
pub(crate) fn here(_: CrashPoint) {}
