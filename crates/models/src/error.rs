//! Errors of models. Each kind has a code with a page in `docs/errors/`.

use steward_domain::{Coded, ErrorClass};

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum ModelError {
    #[error("this is not the address of a model server: {detail}. It looks like https://host/v1")]
    Address { detail: String },
    #[error("no model server answers at {host}: {detail}. Check the address and that the server is running")]
    Unreachable { host: String, detail: String },
    #[error("the model server at {host} does not accept the key: {detail}")]
    Unauthorised { host: String, detail: String },
    #[error("the server at {host} has no model {model}: {detail}")]
    NoModel { host: String, model: String, detail: String },
    #[error("the model server at {host} asks to wait: {detail}. Try again later")]
    RateLimited { host: String, detail: String },
    #[error("the model server at {host} failed with status {status}: {detail}. Try again later")]
    Server { host: String, status: u16, detail: String },
    #[error("the model server at {host} refused the question with status {status}: {detail}")]
    Refused { host: String, status: u16, detail: String },
    #[error("the model server at {host} sent something that is not a reply: {detail}")]
    Garbled { host: String, detail: String },
    #[error("the reply has more than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the model did not reply in the form asked for: {detail}")]
    NotJson { detail: String },
    #[error("the reply was cut off after {max_tokens} tokens. Allow more, or ask for less")]
    CutOff { max_tokens: u32 },
    #[error("the model declined to reply: {detail}")]
    Declined { detail: String },
    #[error("the model did not reply within {milliseconds} ms")]
    Timeout { milliseconds: u64 },
    #[error(
        "the conversation is too long for the model {model}: {detail}. Shorten it, or use a model with a \
            larger window"
    )]
    ContextOverflow { model: String, detail: String },
    #[error("the reply of the server at {host} broke off: {detail}. Nothing of it was used; try again")]
    BrokeOff { host: String, detail: String },
    #[error("the model {model} cannot call tools. Offer none, or use a model that can")]
    NoTools { model: String },
    #[error(
        "the cassette {path} has no such question: {detail}. Record it again if the question was meant to change"
    )]
    NotRecorded { path: String, detail: String },
    #[error("the cassette {path} cannot be used: {detail}")]
    Cassette { path: String, detail: String },
    #[error("the settings of the model {name} are wrong: {detail}")]
    Settings { name: String, detail: String },
    #[error("there is no key for the model: {detail}")]
    NoKey { detail: String },
    #[error("the model server {program} did not start: {detail}")]
    NotStarted { program: String, detail: String },
    #[error("the budget for models is used up ({which}): {detail}")]
    OverBudget { which: &'static str, detail: String },
    #[error("none of the models replied: {detail}")]
    NoneLeft { detail: String, transient: bool },
}

impl Coded for ModelError {
    fn code(&self) -> &'static str {
        match self {
            Self::Address { .. } => "MDL001",
            Self::Unreachable { .. } => "MDL002",
            Self::Unauthorised { .. } => "MDL003",
            Self::NoModel { .. } => "MDL004",
            Self::RateLimited { .. } => "MDL005",
            Self::Server { .. } => "MDL006",
            Self::Refused { .. } => "MDL007",
            Self::Garbled { .. } => "MDL008",
            Self::TooLarge { .. } => "MDL009",
            Self::NotJson { .. } => "MDL010",
            Self::CutOff { .. } => "MDL011",
            Self::Declined { .. } => "MDL012",
            Self::Timeout { .. } => "MDL013",
            Self::ContextOverflow { .. } => "MDL014",
            Self::BrokeOff { .. } => "MDL015",
            Self::NoTools { .. } => "MDL016",
            Self::NotRecorded { .. } => "MDL017",
            Self::Cassette { .. } => "MDL018",
            Self::Settings { .. } => "MDL019",
            Self::NoKey { .. } => "MDL020",
            Self::NotStarted { .. } => "MDL021",
            Self::NoneLeft { .. } => "MDL022",
            Self::OverBudget { .. } => "MDL023",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Address { .. }
            | Self::Unauthorised { .. }
            | Self::NoModel { .. }
            | Self::Refused { .. }
            | Self::CutOff { .. }
            | Self::ContextOverflow { .. }
            | Self::NoTools { .. }
            | Self::NotRecorded { .. }
            | Self::Cassette { .. }
            | Self::Settings { .. }
            | Self::NoKey { .. }
            | Self::NotStarted { .. }
            | Self::NoneLeft { transient: false, .. } => ErrorClass::User,
            Self::Declined { .. } | Self::OverBudget { .. } => ErrorClass::Denied,
            _ => ErrorClass::Transient,
        }
    }
}
