//! Why a definition is refused, why an event is refused, and why a task failed.

use crate::EffectId;
use serde::{Deserialize, Serialize};
use std::fmt;
use steward_domain::{Coded, ErrorClass, Problem};

/// Everything that is wrong with a definition, so that a person fixes it in one go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    /// What was compiled: `workflow review`.
    pub what: String,
    /// Never empty.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot run:", self.what)?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Errors of the engine. Every code has a page in `docs/errors/`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error("{0}")]
    Definition(Problems),
    #[error("{0}")]
    Event(#[from] Rejected),
    #[error("the task failed: {0}")]
    Failed(Failure),
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Definition(_) => "ENG001",
            Self::Event(rejected) => rejected.code(),
            Self::Failed(_) => "ENG007",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Definition(_) | Self::Failed(_) => ErrorClass::User,
            Self::Event(rejected) => rejected.class(),
        }
    }
}

/// Why an event changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Rejected {
    #[error(
        "effect {effect} was answered or called off before: this answer came late or twice and is not counted"
    )]
    Late { effect: EffectId },
    #[error("effect {effect} was never issued")]
    Unknown { effect: EffectId },
    #[error("effect {effect} is not of the kind that this event answers")]
    WrongKind { effect: EffectId },
    #[error(
        "the decision is about something else than what is now asked: look at the request again and decide anew"
    )]
    Digest { request: EffectId },
    #[error("{reason}")]
    Decision { request: EffectId, reason: String },
    #[error("the task has not started: its first event must be `started`")]
    NotStarted,
    #[error("the task has started before")]
    AlreadyStarted,
    #[error("the task has ended: nothing changes it any more")]
    Ended,
}

impl Coded for Rejected {
    fn code(&self) -> &'static str {
        match self {
            Self::Late { .. } => "ENG002",
            Self::Unknown { .. } | Self::WrongKind { .. } => "ENG003",
            Self::Digest { .. } => "ENG004",
            Self::Decision { .. } => "ENG005",
            Self::NotStarted | Self::AlreadyStarted | Self::Ended => "ENG006",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Late { .. } | Self::Digest { .. } | Self::Decision { .. } | Self::Ended => ErrorClass::User,
            _ => ErrorClass::Bug,
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Why a task or a part of it failed; stable words that people and programs can match.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code { $($(#[$doc])* #[serde(rename = $text)] $name,)* }

        impl Code {
            /// The word.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// Nodes passed, or rounds of one agent.
    BudgetIterations = "BUDGET_ITERATIONS",
    /// Tokens.
    BudgetTokens = "BUDGET_TOKENS",
    /// Money.
    BudgetMoney = "BUDGET_MONEY",
    /// Time from start to end.
    BudgetTime = "BUDGET_TIME",
    /// The same call again and again.
    LoopRepeatedCall = "LOOP_REPEATED_CALL",
    /// A cycle came round with nothing changed.
    LoopNoProgress = "LOOP_NO_PROGRESS",
    /// One message alone is larger than the model's context.
    ContextOverflow = "CONTEXT_OVERFLOW",
    /// The model could not be asked.
    ModelFailed = "MODEL_FAILED",
    /// The model said nothing usable, even after being told.
    ModelNonsense = "MODEL_NONSENSE",
    /// The model kept calling tools that do not exist.
    ModelUnknownTool = "MODEL_UNKNOWN_TOOL",
    /// A tool failed, and so did what stands in for it.
    ToolFailed = "TOOL_FAILED",
    /// A tool did not answer in time, and neither did what stands in for it.
    ToolTimeout = "TOOL_TIMEOUT",
    /// Policy refused.
    Denied = "DENIED",
    /// A call may or may not have happened.
    OutcomeUnknown = "OUTCOME_UNKNOWN",
    /// A person said no.
    Rejected = "REJECTED",
    /// Nobody answered in time.
    ApprovalExpired = "APPROVAL_EXPIRED",
    /// An expression could not be evaluated.
    Expression = "EXPRESSION",
    /// No edge of the node may be taken.
    NoRoute = "NO_ROUTE",
    /// Too many branches failed.
    ParallelFailed = "PARALLEL_FAILED",
    /// A subtask that this one needs failed.
    NeedMissing = "NEED_MISSING",
    /// A sub-agent failed.
    SubFailed = "SUB_FAILED",
    /// Agents called agents too deep.
    TooDeep = "TOO_DEEP",
    /// The engine is wrong.
    Bug = "BUG",
}

impl Code {
    /// Whether the sentence beside the code may hold words of a tool, a sub-agent or a model. Only
    /// what the engine or a person says of itself does not.
    #[must_use]
    pub fn carries_data(self) -> bool {
        !matches!(
            self,
            Self::BudgetIterations
                | Self::BudgetTokens
                | Self::BudgetMoney
                | Self::BudgetTime
                | Self::LoopNoProgress
                | Self::ContextOverflow
                | Self::ToolTimeout
                | Self::OutcomeUnknown
                | Self::Rejected
                | Self::ApprovalExpired
                | Self::TooDeep
        )
    }
}

/// What went wrong, in a word for programs and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The word.
    pub code: Code,
    /// The sentence.
    pub message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}
