//! The errors of this crate.

use steward_domain::{Coded, ErrorClass, Invalid, Problem};

/// The result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A question could not be accepted, or its answer could not be stored. Failures during execution
/// give an answer with the status `failed`.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error(transparent)]
    Store(#[from] steward_store::Error),
    #[error(transparent)]
    Journal(#[from] steward_journal::Error),
    #[error(transparent)]
    Analysis(#[from] steward_analysis::Error),
    #[error(transparent)]
    Tools(#[from] steward_tools::Error),
    #[error("{0}")]
    Configuration(steward_tools::config::Problems),
    #[error(
        "no call waits under {0}: it was decided already, its time ran out, or there is none. `steward \
            approvals list` shows what waits"
    )]
    NotWaiting(String),
    #[error("what waits under {0} is not what was shown: look at it again with `steward approvals list`")]
    OtherCall(String),
    #[error("the decision cannot be taken: {0}")]
    Decision(String),
    #[error(
        "{user} may not use this Steward: {reason}. Their task is not carried on; reject what waits, or let \
            them in again"
    )]
    NotAdmitted { user: String, reason: String },
    #[error("{user} may not decide on {task}. It waits for a person {approvers}")]
    MayNotDecide { user: String, task: String, approvers: String },
    #[error("{}:{line}: {problem}", file.display())]
    Definition { file: std::path::PathBuf, line: u64, problem: String },
    #[error("{0}")]
    Program(String),
    #[error("there is no workflow or agent {name}. There is: {known}")]
    NoDefinition { name: String, known: String },
    #[error("the input does not fit the declared inputs: {0}")]
    Input(String),
    #[error("the signal was refused: {0}")]
    Signal(String),
    #[error("there is no task {0}")]
    NoTask(String),
    #[error("the task {0} is no run of a workflow or an agent: it cannot be taken up")]
    NotARun(String),
    #[error("what was stored of the run cannot be read: {0}")]
    Stored(String),
    #[error("the run {0} waits for something that nobody does")]
    Stuck(String),
    #[error(
        "the task {task} is being worked on by {worker}. Watch it with `steward task watch {task}`, or call \
            it off with `steward task cancel {task}`"
    )]
    Busy { task: String, worker: String },
    #[error("the task {task} has {steps} steps; there is no step {step}")]
    NoStep { task: String, step: usize, steps: usize },
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("{0}")]
    Problem(Problem),
    #[error("there is no conversation {0} that takes messages. Begin a new one")]
    NoConversation(String),
    #[error("no data was named. Pass --data with a file, a folder or a database address")]
    NoData,
    #[error("nothing was said. Ask a question, or say what to do")]
    NothingSaid,
    #[error(
        "the message has {bytes} bytes; at most {most} are taken. Put long texts in a file and name it as data"
    )]
    TooLong { bytes: usize, most: usize },
    #[error("one wish came to {count} calls; at most {most} are made. Name fewer at once")]
    TooMany { count: usize, most: usize },
    #[error("it was called off. What had been done by then is in the task's trace")]
    CalledOff,
    #[error("{0}")]
    Cadence(String),
    #[error("{0}")]
    Board(String),
    #[error("this cannot be verified: {0}")]
    NotVerifiable(String),
    #[error("the question of this option is no longer open. Say in words what you want")]
    QuestionClosed,
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Journal(error) => error.code(),
            Self::Analysis(error) => error.code(),
            Self::Tools(error) => error.code(),
            Self::Configuration(_) => "TOL001",
            Self::NotWaiting(_) => "RUN004",
            Self::OtherCall(_) => "RUN017",
            Self::Decision(_) => "RUN018",
            Self::NotAdmitted { .. } => "RUN019",
            Self::MayNotDecide { .. } => "RUN020",
            Self::Definition { .. } => "RUN005",
            Self::Program(_) => "ENG001",
            Self::NoDefinition { .. } => "RUN006",
            Self::Input(_) => "ENG021",
            Self::Signal(_) => "ENG008",
            Self::NoTask(_) => "RUN007",
            Self::NotARun(_) => "RUN008",
            Self::Stored(_) => "RUN009",
            Self::Stuck(_) => "RUN010",
            Self::Busy { .. } => "RUN011",
            Self::NoStep { .. } => "RUN012",
            Self::Invalid(error) => error.code(),
            Self::Problem(_) => "RUN001",
            Self::NoConversation(_) => "RUN002",
            Self::NoData => "RUN003",
            Self::NothingSaid => "RUN013",
            Self::TooLong { .. } => "RUN014",
            Self::TooMany { .. } => "RUN015",
            Self::CalledOff => "RUN016",
            Self::NotVerifiable(_) => "RUN031",
            Self::Cadence(_) => "RUN033",
            Self::Board(_) => "RUN034",
            Self::QuestionClosed => "RUN030",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Journal(error) => error.class(),
            Self::Analysis(error) => error.class(),
            Self::Tools(error) => error.class(),
            Self::Invalid(error) => error.class(),
            Self::NotAdmitted { .. } | Self::MayNotDecide { .. } => ErrorClass::Denied,
            Self::Stored(_) | Self::Stuck(_) => ErrorClass::Bug,
            _ => ErrorClass::User,
        }
    }
}
