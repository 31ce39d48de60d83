//! Configuration: one file, then the environment, then the command line; and the strict reading of
//! every file that people edit, with file, line and reason.

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
    /// Who works on this machine.
    pub(crate) user: UserId,
    /// Which overrides of tools apply.
    pub(crate) environment: Environment,
    /// The older setting of one model, for `ask` only. `models` and `use` take its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<ModelSettings>,
    /// Language models, by name.
    pub(crate) models: ModelsSection,
    /// Which model does what.
    #[serde(rename = "use")]
    pub(crate) uses: steward_models::ModelUse,
    /// What questions may read and take.
    pub(crate) analysis: AnalysisSettings,
    /// How long a conversation waits.
    pub(crate) conversation: ConversationSettings,
    /// What tools may touch.
    pub(crate) tools: ToolSettings,
    /// How `steward serve` is reached, and how much it takes.
    pub(crate) serve: ServeSettings,
    /// Where heads of the journal are kept besides, and which logs are watched for others.
    pub(crate) witness: WitnessSettings,
    /// Which hosts answers and alerts may be sent to. Nothing listed means that nothing is sent.
    pub(crate) delivery: steward_tools::egress::Rules,
    /// Which hosts data may be read from (`s3://`, `https://`). Nothing listed means none.
    pub(crate) sources: steward_tools::egress::Rules,
    /// Sources of data by name, for `connection:NAME`.
    pub(crate) connections: crate::connections::Connections,
}

/// `models`: the models by name, and `budget`, which is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelsSection {
    /// What all of them may use.
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

/// Where heads of the journal are kept besides the home.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WitnessSettings {
    /// A file that heads are appended to: on another disk, or one that can only be appended to.
    pub(crate) file: Option<PathBuf>,
    /// A witness in the form of C2SP: the address before `/add-checkpoint`.
    pub(crate) url: Option<String>,
    /// Its key, which its signatures must fit.
    pub(crate) key: Option<String>,
    /// Keys of logs that this server is a witness for.
    pub(crate) logs: Vec<String>,
}

/// How `steward serve` is reached, and how much it takes. The environment and the command line come
/// before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServeSettings {
    /// The port; 0 takes a free one.
    pub(crate) port: u16,
    /// The address to listen on.
    pub(crate) listen: IpAddr,
    /// Names that it answers to, beside localhost.
    pub(crate) host_names: Vec<String>,
    /// Origins whose pages may use it.
    pub(crate) origins: Vec<String>,
    /// Requests that one identity may make in a minute.
    pub(crate) per_minute: u32,
    /// Questions that are worked on at once.
    pub(crate) at_once: usize,
    /// Tasks of workflows and agents that run at once.
    pub(crate) tasks: u32,
    /// Whether it works off the queue itself.
    pub(crate) worker: bool,
    /// Seconds that what runs may take to come to its end when it is stopped.
    pub(crate) drain_seconds: u64,
    /// Tools to offer over MCP under their own names.
    pub(crate) expose: Vec<String>,
    /// Whether cookies are for TLS only.
    pub(crate) behind_tls: bool,
    /// Whether every request is told on the error output.
    pub(crate) log: bool,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            port: 8088,
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            host_names: Vec::new(),
            origins: Vec::new(),
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

/// What tools may touch, whoever calls them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolSettings {
    /// Folders that tools may read, and write where that is said. Without any, they may read the
    /// folder that Steward is started in.
    pub(crate) roots: Vec<RootSettings>,
}

/// A folder that is granted to tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootSettings {
    /// Which.
    pub(crate) path: PathBuf,
    /// Whether things may be changed in it.
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
    /// Whether values of the data may be sent along. Names of tables and columns always are.
    #[serde(default)]
    pub(crate) send_samples: bool,
}

/// How long a conversation waits for its tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ConversationSettings {
    /// Seconds that one call may take.
    pub(crate) call_seconds: u16,
    /// Seconds that a whole answer may take.
    pub(crate) answer_seconds: u16,
    /// How often a model may be asked in one turn.
    pub(crate) model_steps: u16,
    /// Tokens that a model may read and write in one turn.
    pub(crate) model_tokens: u64,
    /// Seconds that a turn with a model may take.
    pub(crate) model_seconds: u64,
    /// Whether a model plans a task before it sees any result, where that can work.
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

/// Limits and rules of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AnalysisSettings {
    /// Columns whose name or values look like this are not read.
    pub(crate) blocked_patterns: Vec<String>,
    /// The only columns that may be read; all when empty.
    pub(crate) allowed_columns: Vec<String>,
    /// Rows that a query may return.
    pub(crate) row_limit: RowLimit,
    /// Seconds that a question may take.
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
            serve: ServeSettings::default(),
            witness: WitnessSettings::default(),
            delivery: steward_tools::egress::Rules::default(),
            sources: steward_tools::egress::Rules::default(),
            connections: crate::connections::Connections::default(),
        }
    }
}

impl Settings {
    /// Reads settings from a text that is not in its file yet.
    pub(crate) fn check_text(path: &Path, text: &str) -> Result<Self, Failure> {
        parse(path, text)
    }

    /// The settings of a home, with what the command line or the environment says on top.
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

/// The retention policy of a home, or the seeds' own.
pub(crate) fn retention(home: &Home) -> Result<Valid<RetentionPolicy>, Failure> {
    let path = home.path.join("config/retention_policy.yaml");
    if path.exists() { read_checked(&path) } else { Ok(RetentionPolicy::default().validate()?) }
}

/// Reads every definition and every setting of a home. Returns the files that are right and what is
/// wrong with the rest.
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

/// The settings parse, and every model and every use of one is right. A missing key is no error
/// here.
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

/// A definition must be called what its file is called: that is how it is found.
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

/// YAML; JSON is YAML too. An empty file means all defaults.
fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Failure> {
    let text = if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        "{}"
    } else {
        text
    };
    serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        // The first line of the message is the reason, after a place that we give ourselves; the
        // rest is a picture of it.
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

/// Rules that span fields have no place of their own in the file: the line of the field they name
/// is the best there is.
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
