//! Errors of definitions, rejected events, and failures of tasks.

use crate::EffectId;
use serde::{Deserialize, Serialize};
use std::fmt;
use steward_domain::{Coded, ErrorClass, NodeName, Problem};

/// All problems of a definition, so that they can be fixed in one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    /// The title of what was compiled, such as `workflow review`.
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
            Self::Failed(failure) => failure.code.page(),
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Definition(_) | Self::Failed(_) => ErrorClass::User,
            Self::Event(rejected) => rejected.class(),
        }
    }
}

/// Why an event was rejected and changed nothing.
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
    #[error("the signal {key:?} was taken before: a key counts once")]
    SignalTwice { key: String },
    #[error("{reason}")]
    Signal { reason: String },
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
            Self::SignalTwice { .. } => "ENG002",
            Self::Signal { .. } => "ENG008",
            Self::NotStarted | Self::AlreadyStarted | Self::Ended => "ENG006",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Late { .. }
            | Self::Digest { .. }
            | Self::Decision { .. }
            | Self::SignalTwice { .. }
            | Self::Signal { .. }
            | Self::Ended => ErrorClass::User,
            _ => ErrorClass::Bug,
        }
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $page:literal;)*) => {
        /// The code of a failed task or node: stable names that people and programs can match.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code { $($(#[$doc])* #[serde(rename = $text)] $name,)* }

        impl Code {
            /// The name of the code.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The page in `docs/errors/` that documents the code.
            #[must_use]
            pub fn page(self) -> &'static str {
                match self { $(Self::$name => $page,)* }
            }

            /// The code with this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

codes! {
    /// The limit of nodes, or of rounds of one agent.
    BudgetIterations = "BUDGET_ITERATIONS", "ENG010";
    /// The limit of tokens.
    BudgetTokens = "BUDGET_TOKENS", "ENG010";
    /// The limit of cost.
    BudgetMoney = "BUDGET_MONEY", "ENG010";
    /// The limit of elapsed time.
    BudgetTime = "BUDGET_TIME", "ENG010";
    /// The same call was repeated too often.
    LoopRepeatedCall = "LOOP_REPEATED_CALL", "ENG011";
    /// A cycle repeated without a change of state.
    LoopNoProgress = "LOOP_NO_PROGRESS", "ENG011";
    /// One message alone is larger than the model's context.
    ContextOverflow = "CONTEXT_OVERFLOW", "ENG012";
    /// The call of the model failed.
    ModelFailed = "MODEL_FAILED", "ENG012";
    /// The model gave no usable reply, even after corrections.
    ModelNonsense = "MODEL_NONSENSE", "ENG012";
    /// The model kept calling tools that do not exist.
    ModelUnknownTool = "MODEL_UNKNOWN_TOOL", "ENG012";
    /// A tool failed, and so did its fallbacks.
    ToolFailed = "TOOL_FAILED", "ENG013";
    /// A tool timed out, and so did its fallbacks.
    ToolTimeout = "TOOL_TIMEOUT", "ENG013";
    /// Policy denied the call.
    Denied = "DENIED", "ENG014";
    /// A call may or may not have happened.
    OutcomeUnknown = "OUTCOME_UNKNOWN", "ENG015";
    /// A person rejected the request.
    Rejected = "REJECTED", "ENG016";
    /// The approval timed out.
    ApprovalExpired = "APPROVAL_EXPIRED", "ENG017";
    /// An expression could not be evaluated.
    Expression = "EXPRESSION", "ENG018";
    /// No edge of the node matches.
    NoRoute = "NO_ROUTE", "ENG018";
    /// Too many branches failed.
    ParallelFailed = "PARALLEL_FAILED", "ENG019";
    /// A subtask that this one depends on failed.
    NeedMissing = "NEED_MISSING", "ENG019";
    /// A sub-agent failed.
    SubFailed = "SUB_FAILED", "ENG020";
    /// Agents called agents beyond the maximum depth.
    TooDeep = "TOO_DEEP", "ENG020";
    /// Too many items of a map failed.
    MapFailed = "MAP_FAILED", "ENG019";
    /// The input does not match the declared inputs.
    InputInvalid = "INPUT_INVALID", "ENG021";
    /// The result does not match the declared outputs.
    OutputInvalid = "OUTPUT_INVALID", "ENG022";
    /// No signal arrived in time.
    SignalExpired = "SIGNAL_EXPIRED", "ENG023";
    /// A defect of the engine.
    Bug = "BUG", "ENG007";
}

impl Code {
    /// Whether the message may contain text of a tool, a sub-agent or a model. Only messages of the
    /// engine itself or of a person do not.
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
                | Self::SignalExpired
                | Self::TooDeep
        )
    }
}

/// A failure: a code for programs and a message for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The code.
    pub code: Code,
    /// The message.
    pub message: String,
    /// The node that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), node: None }
    }

    /// Sets the node, unless one is set already.
    pub(crate) fn at(mut self, node: &NodeName) -> Self {
        self.node.get_or_insert_with(|| node.clone());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}
