//! Named crash points, at which a test can abort the process. Only debug builds have them.

/// A point between two actions that must stay consistent across a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// A task was claimed, nothing of it was read yet.
    AfterClaim,
    /// Events are collected and not on disk.
    BeforeFlush,
    /// Events are on disk, their effects were not started.
    AfterFlush,
    /// The intent of a call is on disk, the call was not made.
    AfterIntentBeforeEffect,
    /// The call was made, its receipt is not on disk.
    AfterEffectBeforeReceipt,
    /// The receipt is on disk, its event is not.
    AfterReceiptBeforeEvent,
    /// The last event happened, the end is not on disk.
    BeforeEnd,
    /// A run has taken a signal and is on disk, the signal is not settled.
    AfterSignalBeforeSettled,
    /// The answer is in the conversation, the task of its question has not ended.
    AfterAnswerBeforeEnd,
}

impl CrashPoint {
    /// The crash points of a question.
    pub const OF_QUESTIONS: [Self; 4] =
        [Self::BeforeFlush, Self::AfterFlush, Self::BeforeEnd, Self::AfterAnswerBeforeEnd];

    /// The crash points of a chat turn with side effects.
    pub const OF_TURNS: [Self; 7] = [
        Self::BeforeFlush,
        Self::AfterFlush,
        Self::AfterIntentBeforeEffect,
        Self::AfterEffectBeforeReceipt,
        Self::AfterReceiptBeforeEvent,
        Self::BeforeEnd,
        Self::AfterAnswerBeforeEnd,
    ];

    /// The crash points of a workflow with maps, timers, sub-workflows and signals.
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

    /// The crash points of a run.
    pub const ALL: [Self; 7] = [
        Self::AfterClaim,
        Self::BeforeFlush,
        Self::AfterFlush,
        Self::AfterIntentBeforeEffect,
        Self::AfterEffectBeforeReceipt,
        Self::AfterReceiptBeforeEvent,
        Self::BeforeEnd,
    ];

    /// The name in `STEWARD_CRASH_AT`.
    #[must_use]
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}

/// Aborts the process if `STEWARD_CRASH_AT=NAME:N` names this point and this is the N-th time.
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

/// Does nothing in release builds.
#[cfg(not(debug_assertions))]
pub(crate) fn here(_: CrashPoint) {}
