//! Configuration: the file, then the environment, then the command line. All configuration files
//! are parsed strictly; errors have file, line and reason.

use crate::error::Failure;
use crate::home::Home;
use crate::references;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use steward_domain::{
    Agent, AnalysisTimeout, Check, Environment, Problem, RequestPolicy, RetentionPolicy, RowLimit, UserId,
    Valid, Workflow,
};

/// `config/steward.yaml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// `sqlite:PATH` (inside the home unless absolute) or `postgres://…`.
    pub(crate) store: String,
    /// The user of this machine.
    pub(crate) user: UserId,
    /// The environment whose tool overrides apply.
    pub(crate) environment: Environment,
    /// Deprecated setting of a single model, for `ask` only. Replaced by `models` and `use`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<ModelSettings>,
    /// Language models, by name.
    pub(crate) models: ModelsSection,
    /// Which model is used for which purpose.
    #[serde(rename = "use")]
    pub(crate) uses: steward_models::ModelUse,
    /// Limits and restrictions of questions.
    pub(crate) analysis: AnalysisSettings,
    /// Limits of conversations.
    pub(crate) conversation: ConversationSettings,
    /// What tools may access.
    pub(crate) tools: ToolSettings,
    /// Calls that wait for a person, and who hears of them.
    pub(crate) approvals: ApprovalSettings,
    /// Address and limits of `steward serve`.
    pub(crate) serve: ServeSettings,
    /// Where journal heads are kept outside the store, and which logs this server witnesses.
    pub(crate) witness: WitnessSettings,
    /// Hosts that answers and alerts may be sent to. If empty, nothing is sent.
    pub(crate) delivery: steward_tools::egress::Rules,
    /// Hosts that data may be read from (`s3://`, `gs://`, `az://`, `https://`). If empty, none.
    pub(crate) sources: steward_tools::egress::Rules,
    /// Data sources by name, for `connection:NAME`.
    pub(crate) connections: crate::connections::Connections,
}

/// Calls that wait for a person, and who hears of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApprovalSettings {
    /// Seconds until a waiting call is rejected. A workflow has its own `expires_seconds`.
    pub(crate) expires_seconds: u64,
    /// Addresses that hear when something waits and when it was decided. Their hosts must be among
    /// those of `delivery`.
    pub(crate) webhooks: Vec<String>,
    /// Whether Slack users hear what waits for them, and what was decided on their requests.
    pub(crate) slack: bool,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { expires_seconds: 24 * 3600, webhooks: Vec::new(), slack: true }
    }
}

/// `models`: the models by name, and `budget`, which is not a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelsSection {
    /// The budget of all models.
    #[serde(default, skip_serializing_if = "steward_models::ModelBudget::is_empty")]
    pub(crate) budget: steward_models::ModelBudget,
    #[serde(flatten)]
    named: std::collections::BTreeMap<String, steward_models::ModelSettings>,
}

impl std::ops::Deref for ModelsSection {
    type Target = std::collections::BTreeMap<String, steward_models::ModelSettings>;
    fn deref(&self) -> &Self::Target {
        &self.named
    }
}

impl std::ops::DerefMut for ModelsSection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.named
    }
}

/// Where journal heads are kept outside the home.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WitnessSettings {
    /// A file that heads are appended to, ideally on another disk or append-only.
    pub(crate) file: Option<PathBuf>,
    /// A C2SP witness: the address before `/add-checkpoint`.
    pub(crate) url: Option<String>,
    /// Its key, which verifies its signatures.
    pub(crate) key: Option<String>,
    /// Keys of logs that this server is a witness for.
    pub(crate) logs: Vec<String>,
}

/// Address and limits of `steward serve`. The environment and the command line take precedence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServeSettings {
    /// The port; 0 chooses a free one.
    pub(crate) port: u16,
    /// The address to listen on.
    pub(crate) listen: IpAddr,
    /// Host names that it accepts, beside localhost.
    pub(crate) host_names: Vec<String>,
    /// Origins whose pages may use it.
    pub(crate) origins: Vec<String>,
    /// The address under which people reach the page, for links: `https://steward.example`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) public_url: Option<String>,
    /// Rate limit: requests per minute for each identity.
    pub(crate) per_minute: u32,
    /// Maximum concurrent questions.
    pub(crate) at_once: usize,
    /// Maximum concurrent tasks of workflows and agents.
    pub(crate) tasks: u32,
    /// Whether it runs queued tasks itself.
    pub(crate) worker: bool,
    /// Seconds to finish running work at shutdown.
    pub(crate) drain_seconds: u64,
    /// Tools to offer over MCP under their own names.
    pub(crate) expose: Vec<String>,
    /// Whether cookies have the Secure flag.
    pub(crate) behind_tls: bool,
    /// Whether every request is logged to standard error.
    pub(crate) log: bool,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            port: 8088,
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            host_names: Vec::new(),
            origins: Vec::new(),
            public_url: None,
            per_minute: 1200,
            at_once: 64,
            tasks: 32,
            worker: true,
            drain_seconds: 30,
            expose: Vec::new(),
            behind_tls: false,
            log: false,
        }
    }
}

/// What tools may access, for all callers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolSettings {
    /// Folders that tools may read, and write if allowed. By default they may read the working
    /// directory of Steward.
    pub(crate) roots: Vec<RootSettings>,
}

/// A folder that is granted to tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootSettings {
    /// The folder.
    pub(crate) path: PathBuf,
    /// Whether it may be written to.
    #[serde(default)]
    pub(crate) write: bool,
}

/// A language model behind an OpenAI-compatible address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelSettings {
    /// Such as `http://127.0.0.1:8080/v1`.
    pub(crate) base_url: String,
    /// The model's name.
    pub(crate) name: String,
    /// The environment variable that holds the key.
    #[serde(default)]
    pub(crate) key_variable: Option<String>,
    /// Whether values of the data may be sent. Names of tables and columns always are.
    #[serde(default)]
    pub(crate) send_samples: bool,
}

/// Limits of conversations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConversationSettings {
    /// Time limit of one call in seconds.
    pub(crate) call_seconds: u16,
    /// Time limit of a whole answer in seconds.
    pub(crate) answer_seconds: u16,
    /// Maximum model calls in one turn.
    pub(crate) model_steps: u16,
    /// Maximum model tokens in one turn.
    pub(crate) model_tokens: u64,
    /// Time limit of a turn with a model in seconds.
    pub(crate) model_seconds: u64,
    /// Whether a model plans a task before it sees any result, where possible.
    pub(crate) plan_first: bool,
}

impl Default for ConversationSettings {
    fn default() -> Self {
        Self {
            call_seconds: 50,
            answer_seconds: 60,
            model_steps: 16,
            model_tokens: 200_000,
            model_seconds: 300,
            plan_first: true,
        }
    }
}

/// Limits and restrictions of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AnalysisSettings {
    /// Columns whose name or values match one of these patterns are not read.
    pub(crate) blocked_patterns: Vec<String>,
    /// The only columns that may be read; all when empty.
    pub(crate) allowed_columns: Vec<String>,
    /// Maximum rows of a query.
    pub(crate) row_limit: RowLimit,
    /// Time limit of a question in seconds.
    pub(crate) timeout_seconds: AnalysisTimeout,
    /// Memory for queries, in megabytes.
    pub(crate) memory_mb: usize,
}

impl Default for AnalysisSettings {
    fn default() -> Self {
        let policy = RequestPolicy::default();
        Self {
            blocked_patterns: policy.blocked_patterns,
            allowed_columns: policy.allowed_columns,
            row_limit: RowLimit::default(),
            timeout_seconds: AnalysisTimeout::default(),
            memory_mb: 1024,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let local = "local".parse().unwrap_or_else(|_: Problem| unreachable!());
        Self {
            store: "sqlite:state.db".to_owned(),
            user: local,
            environment: Environment::Production,
            model: None,
            models: ModelsSection::default(),
            uses: steward_models::ModelUse::default(),
            analysis: AnalysisSettings::default(),
            conversation: ConversationSettings::default(),
            tools: ToolSettings::default(),
            approvals: ApprovalSettings::default(),
            serve: ServeSettings::default(),
            witness: WitnessSettings::default(),
            delivery: steward_tools::egress::Rules::default(),
            sources: steward_tools::egress::Rules::default(),
            connections: crate::connections::Connections::default(),
        }
    }
}

impl Settings {
    /// Parses settings from a text that is not yet in its file.
    pub(crate) fn check_text(path: &Path, text: &str) -> Result<Self, Failure> {
        parse(path, text)
    }

    /// The settings of a home, overridden by the command line or the environment.
    pub(crate) fn load(home: &Home, store: Option<&str>, user: Option<&str>) -> Result<Self, Failure> {
        let path = home.path.join("config/steward.yaml");
        let mut settings: Self = if path.exists() { read(&path)? } else { Self::default() };
        if let Some(store) = store {
            settings.store = store.to_owned();
        }
        if let Some(user) = user {
            settings.user = user
                .parse()
                .map_err(|problem: Problem| Failure::user("CLI004", format!("--user: {problem}")))?;
        }
        Ok(settings)
    }
}

/// The retention policy of a home, or the default.
pub(crate) fn retention(home: &Home) -> Result<Valid<RetentionPolicy>, Failure> {
    let path = home.path.join("config/retention_policy.yaml");
    if path.exists() { read_checked(&path) } else { Ok(RetentionPolicy::default().validate()?) }
}

/// Checks every definition and every setting of a home. Returns the valid files and the errors of
/// the others.
pub(crate) fn check_all(home: &Home) -> (Vec<PathBuf>, Vec<Failure>) {
    let mut checked = (Vec::new(), Vec::new());
    let mut note = |path: PathBuf, result: Result<(), Failure>| match result {
        Ok(()) => checked.0.push(path),
        Err(failure) => checked.1.push(failure),
    };
    let config = |name: &str| home.path.join("config").join(name);
    for (path, check) in [
        (config("steward.yaml"), checked_settings as fn(&Path) -> Result<(), Failure>),
        (config("retention_policy.yaml"), |path| read_checked::<RetentionPolicy>(path).map(drop)),
    ] {
        if path.exists() {
            let result = check(&path);
            note(path, result);
        }
    }
    if config("access.yaml").exists() {
        let read = steward_server::identity::AccessFile::load(&home.path);
        note(config("access.yaml"), read.map(drop).map_err(Failure::from));
    }
    let tools = ["mcp_servers.yaml", "domains.yaml", "tools.yaml"].map(config);
    let problems = steward_tools::config::Configuration::load(&home.path).err();
    for path in tools.into_iter().filter(|path| path.exists()) {
        let found: Vec<_> =
            problems.iter().flat_map(|problems| problems.iter()).filter(|one| one.file == path).collect();
        if found.is_empty() {
            note(path, Ok(()));
        } else {
            found.into_iter().for_each(|one| note(path.clone(), Err(wrong(&path, one.line, &one.problem))));
        }
    }
    let settings = Settings::load(home, None, None).unwrap_or_default();
    for path in definitions(&home.path.join("agents")) {
        let result = read_named::<Agent>(&path, |agent| agent.name.as_str());
        let named = references::check_agent(home, &path, &settings).into_iter().next();
        note(path, result.and(named.map_or(Ok(()), Err)));
    }
    for path in definitions(&home.path.join("workflows")) {
        let result = read_named::<Workflow>(&path, |workflow| workflow.name.as_str());
        let named = references::check_workflow(home, &path).into_iter().next();
        note(path, result.and(named.map_or(Ok(()), Err)));
    }
    checked
}

/// Checks that the settings parse, and that every model and every use of one is valid. A missing
/// key is no error here.
fn checked_settings(path: &Path) -> Result<(), Failure> {
    let settings = read::<Settings>(path)?;
    if let Some(failure) = references::check_settings(path, &settings).into_iter().next() {
        return Err(failure);
    }
    let launcher = steward_tools::ModelServers::new(Path::new("logs"));
    let services = steward_models::ModelServices { launcher: Some(std::sync::Arc::new(launcher)) };
    steward_models::build(&settings.models, &services)
        .and_then(|models| models.with_uses(&settings.uses))
        .map(drop)
        .map_err(|error| wrong(path, 1, &error.to_string()))
}

/// The YAML and JSON files of a folder in the order of their names.
fn definitions(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_definition = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_definition).collect();
    found.sort();
    found
}

/// A definition must have the name of its file, by which it is found.
fn read_named<T: Check + DeserializeOwned>(path: &Path, name: impl Fn(&T) -> &str) -> Result<(), Failure> {
    let definition = read_checked::<T>(path)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if name(&definition) == stem {
        return Ok(());
    }
    Err(wrong(path, 1, &format!("`name` must be that of the file, {stem:?}, found {:?}", name(&definition))))
}

pub(crate) fn read_checked<T: Check + DeserializeOwned>(path: &Path) -> Result<Valid<T>, Failure> {
    let text = text(path)?;
    let draft = parse(path, &text)?;
    validated(path, &text, draft)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    parse(path, &text(path)?)
}

fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))
}

/// Parses YAML, which includes JSON. An empty file means all defaults.
fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Failure> {
    let text = if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        "{}"
    } else {
        text
    };
    serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        // The first line of the message is the reason, after a position that we add ourselves; the
        // rest is an excerpt.
        let message = error.to_string();
        let first = message.lines().next().unwrap_or_default();
        let reason = first.trim_start_matches("error: ");
        let reason = reason
            .strip_prefix("line ")
            .and_then(|rest| rest.split_once(": "))
            .map_or(reason, |(_, reason)| reason);
        let there = text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim();
        wrong(path, line, &format!("{reason}, in `{}`", crate::output::short(there, 60)))
    })
}

/// Rules that span fields have no position in the file; the line of the field they name is used.
fn validated<T: Check>(path: &Path, text: &str, draft: T) -> Result<Valid<T>, Failure> {
    draft.validate().map_err(|invalid| {
        let named = invalid.problems.first().map(|problem| {
            problem.field.split(['.', '[']).next_back().unwrap_or_default().trim_end_matches(']').to_owned()
        });
        let at = |name: &str| {
            text.lines()
                .position(|line| line.trim_start().trim_start_matches("- ").starts_with(&format!("{name}:")))
        };
        let outer = invalid
            .problems
            .first()
            .map(|problem| problem.field.split(['.', '[']).next().unwrap_or_default().to_owned());
        let line = named
            .as_deref()
            .and_then(at)
            .or_else(|| outer.as_deref().and_then(at))
            .map_or(1, |line| line as u64 + 1);
        wrong(path, line, &invalid.to_string())
    })
}

fn wrong(path: &Path, line: u64, reason: &str) -> Failure {
    Failure::user("CFG001", format!("{}:{line}: {reason}", path.display()))
}
