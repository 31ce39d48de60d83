//! The errors of this crate with their codes. The class decides retry, exit code and tone.

use std::path::PathBuf;
use std::time::Duration;
use steward_domain::{Coded, ErrorClass, Sha256Hex, ToolName};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A request for approval. It names the tool that will run, not the requested name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The resolved tool.
    pub tool: ToolName,
    /// The digest of the accepted tool version with exactly these arguments.
    pub digest: Sha256Hex,
    /// Why approval is required.
    pub reason: String,
}

/// All errors of this crate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum Error {
    #[error("{}:{line}: {problem}", file.display())]
    Config { file: PathBuf, line: u64, problem: String },
    #[error("there is no tool {name}.{}", hint(near))]
    UnknownTool { name: String, near: Vec<String> },
    #[error("{name} is offered by {}: say which, as server.{name}", servers.join(" and "))]
    AmbiguousTool { name: String, servers: Vec<String> },
    #[error("the arguments of {tool} do not fit: {}", problems.join("; "))]
    Arguments { tool: String, problems: Vec<String> },
    #[error("{told}")]
    Denied { tool: String, rule: &'static str, told: String },
    #[error("{} waits for approval of {}: {}", .0.tool, .0.digest, .0.reason)]
    ApprovalNeeded(Box<ApprovalRequest>),
    #[error("the approval of {tool} was used already: an approval is for one call. Ask for another")]
    ApprovalUsed { tool: String },
    #[error("{tool} has been called as often as it may be; try again in {:.1} s", retry_after.as_secs_f64())]
    RateLimited { tool: String, retry_after: Duration },
    #[error("{tool} did not answer within {:.1} s", after.as_secs_f64())]
    Timeout { tool: String, after: Duration },
    #[error("the call of {tool} was called off")]
    Cancelled { tool: String },
    #[error("{tool} answered with something else than it promises: {problem}")]
    BadResult { tool: String, problem: String },
    #[error("{tool} failed: {message}")]
    Failed { tool: String, message: String, transient: bool },
    #[error(
        "{tool} was called, but nobody knows what came of it: {detail}. It is not called again by itself"
    )]
    UnknownOutcome { tool: String, detail: String },
    #[error(
        "{tool} was called {times} times with the same arguments and gave the same: it is not called again"
    )]
    Repeated { tool: String, times: usize },
    #[error("the answer of {what} is larger than {limit} bytes")]
    TooLarge { what: String, limit: usize },
    #[error("there is no MCP server {name}.{}", hint(near))]
    UnknownServer { name: String, near: Vec<String> },
    #[error("the MCP server {server} did not start: {detail}")]
    ServerStart { server: String, detail: String },
    #[error("the MCP server {server} went away: {detail}")]
    ServerGone {
        server: String,
        detail: String,
        /* whether the request had been handed to the server */ sent: bool,
    },
    #[error("the MCP server {server} does not keep to the protocol: {detail}")]
    Protocol { server: String, detail: String },
    #[error("the MCP server {server} failed {failures} times in a row; it is tried again in {:.0} \
        s", retry_after.as_secs_f64())]
    CircuitOpen { server: String, failures: u32, retry_after: Duration },
    #[error(
        "the MCP server {server} changed {tool}: {change}. Look at it with `steward tools show {tool}` and \
            accept it with `steward mcp-servers accept {server}`"
    )]
    Held { server: String, tool: String, change: String },
    #[error("the MCP server {server} wants a login: run `steward mcp-servers login {server}`. {detail}")]
    LoginNeeded { server: String, detail: String },
    #[error("{url} may not be reached: {rule}")]
    Egress { url: String, rule: String },
    #[error("{host} cannot be reached: {detail}")]
    Unreachable { host: String, detail: String },
    #[error("{path} is outside of what was granted: {rule}")]
    Path { path: String, rule: String },
    #[error("{path}: {detail}")]
    File { path: String, detail: String },
    #[error("the child process cannot be shut in: {detail}. It was not started")]
    Sandbox { detail: String },
    #[error("{program} cannot be started: {detail}")]
    Process { program: String, detail: String },
    #[error("this cannot be worked out: {detail}")]
    Expression { detail: String },
    #[error("Slack said {error}: {advice}")]
    Slack { error: String, advice: String, transient: bool },
    #[error("{}: {problem}", file.display())]
    Skill { file: PathBuf, problem: String },
    #[error("the call cannot be written down: {detail}. It was not made")]
    Ledger { detail: String },
    #[error("{detail}")]
    Bug { detail: String },
}

/// `Did you mean …?`, or an empty string.
fn hint(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(" Did you mean {}?", near.join(" or ")) }
}

impl Coded for Error {
    fn code(&self) -> &'static str {
        match self {
            Self::Config { .. } => "TOL001",
            Self::UnknownTool { .. } => "TOL002",
            Self::AmbiguousTool { .. } => "TOL003",
            Self::Arguments { .. } => "TOL004",
            Self::Denied { .. } => "TOL005",
            Self::ApprovalNeeded(_) => "TOL006",
            Self::ApprovalUsed { .. } => "TOL015",
            Self::RateLimited { .. } => "TOL007",
            Self::Timeout { .. } => "TOL008",
            Self::Cancelled { .. } => "TOL009",
            Self::BadResult { .. } => "TOL010",
            Self::Failed { .. } => "TOL011",
            Self::UnknownOutcome { .. } => "TOL012",
            Self::Repeated { .. } => "TOL013",
            Self::TooLarge { .. } => "TOL014",
            Self::UnknownServer { .. } => "TOL020",
            Self::ServerStart { .. } => "TOL021",
            Self::ServerGone { .. } => "TOL022",
            Self::Protocol { .. } => "TOL023",
            Self::CircuitOpen { .. } => "TOL024",
            Self::Held { .. } => "TOL025",
            Self::LoginNeeded { .. } => "TOL026",
            Self::Egress { .. } => "TOL030",
            Self::Unreachable { .. } => "TOL031",
            Self::Path { .. } => "TOL040",
            Self::File { .. } => "TOL041",
            Self::Sandbox { .. } => "TOL050",
            Self::Process { .. } => "TOL051",
            Self::Expression { .. } => "TOL060",
            Self::Slack { .. } => "TOL061",
            Self::Skill { .. } => "TOL070",
            Self::Ledger { .. } => "TOL080",
            Self::Bug { .. } => "TOL090",
        }
    }

    fn class(&self) -> ErrorClass {
        match self {
            Self::Config { .. }
            | Self::UnknownTool { .. }
            | Self::AmbiguousTool { .. }
            | Self::Arguments { .. }
            | Self::Cancelled { .. }
            | Self::Repeated { .. }
            | Self::UnknownServer { .. }
            | Self::File { .. }
            | Self::Process { .. }
            | Self::Expression { .. }
            | Self::LoginNeeded { .. }
            | Self::TooLarge { .. }
            | Self::Skill { .. } => ErrorClass::User,
            Self::Denied { .. }
            | Self::ApprovalNeeded(_)
            | Self::ApprovalUsed { .. }
            | Self::Held { .. }
            | Self::Egress { .. }
            | Self::Path { .. }
            | Self::Sandbox { .. } => ErrorClass::Denied,
            Self::Failed { transient, .. } | Self::Slack { transient, .. } if !transient => ErrorClass::User,
            Self::Failed { .. }
            | Self::Slack { .. }
            | Self::RateLimited { .. }
            | Self::Timeout { .. }
            | Self::BadResult { .. }
            | Self::UnknownOutcome { .. }
            | Self::ServerStart { .. }
            | Self::ServerGone { .. }
            | Self::Protocol { .. }
            | Self::CircuitOpen { .. }
            | Self::Unreachable { .. }
            | Self::Ledger { .. } => ErrorClass::Transient,
            Self::Bug { .. } => ErrorClass::Bug,
        }
    }
}
