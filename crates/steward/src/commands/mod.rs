//! The commands, a file each.

mod access;
mod acp;
mod analytics;
mod approvals;
mod ask;
mod audit;
mod backup;
mod board;
mod chat;
mod config;
mod connect;
mod conversation;
mod doctor;
mod doctor_walls;
mod eval;
mod init;
mod mcp;
mod mcp_servers;
mod models;
mod profile;
mod recipes;
mod retention;
mod run;
mod schedule;
mod semantics;
mod serve;
mod skill;
mod skills;
mod task;
mod tools;
mod verify;
mod watch;
mod worker;

use crate::config::Settings;
use crate::error::Failure;
use crate::home::{Home, Opened};
use crate::witness;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use steward_models::Models;
use steward_store::Scope;
use steward_telemetry::Metrics;

/// Runs agents you can account for.
#[derive(Parser)]
#[command(name = "steward", version, about, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  steward ask 'total sales by month in 2021' --data sales.csv
  steward chat                          talk with your tools and data
  steward profile sales.csv             what is in a file
  steward init                          set up ~/.steward
  steward doctor                        check everything and say how to fix it
  steward tools search 'what time is it in Tokyo?'
  steward serve                         the page and the API, at http://127.0.0.1:8088/
  steward mcp                           serve it all to an MCP client
  steward task list --status failed     what went wrong lately
  steward task trace ID                 what a task did, step by step
  steward audit verify                  prove that nobody rewrote the journal
  steward audit export ID --out run.jsonl
  steward backup monday.tar.gz          everything in one file, while it is in use

Exit codes: 0 done, 2 wrong input, 3 not allowed, 4 try again later, 70 a bug in Steward.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Args)]
pub(crate) struct Global {
    /// The home folder.
    #[arg(long, global = true, env = "STEWARD_HOME", value_name = "FOLDER", hide_env_values = true)]
    home: Option<PathBuf>,
    /// The store: sqlite:PATH or postgres://…
    #[arg(long, global = true, env = "STEWARD_STORE", value_name = "ADDRESS", hide_env_values = true)]
    store: Option<String>,
    /// The user whose data is shown.
    #[arg(long, global = true, env = "STEWARD_USER", hide_env_values = true)]
    user: Option<String>,
    /// Show the data of all users.
    #[arg(long, global = true)]
    all_users: bool,
    /// Print one JSON document instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Ask a question about data, in plain language.
    Ask(ask::AskCommand),
    /// Chat with the configured data and tools.
    Chat(chat::Chat),
    /// Profile a file, a folder or a database: columns, values, quality, joins.
    Profile(profile::ProfileCommand),
    /// Test a data source and save it under a name: databases, files, buckets.
    Connect(connect::Connect),
    /// Set up a home: folders, key, store, example configuration. Existing files are kept.
    Init,
    /// Check everything and explain how to fix problems.
    Doctor,
    /// Verify, export and prove the journal.
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Show, archive or delete conversations.
    #[command(subcommand)]
    Conversation(conversation::Conversation),
    /// Show tasks and their steps.
    #[command(subcommand)]
    Task(task::Task),
    /// Run a workflow or an agent.
    Run(run::Run),
    /// Run queued tasks, together with other workers on the same store.
    Worker(worker::Worker),
    /// Check or draw a workflow.
    #[command(subcommand)]
    Workflow(run::WorkflowCommand),
    /// List, search and call tools.
    #[command(subcommand)]
    Tools(tools::Tools),
    /// Add, test and inspect MCP servers.
    #[command(subcommand)]
    McpServers(mcp_servers::McpServers),
    /// List, test and add language models.
    #[command(subcommand)]
    Models(models::Models),
    /// Decide on calls that wait for a person.
    #[command(subcommand)]
    Approvals(approvals::Approvals),
    /// Run a single language skill: intent, entities, references, routing, error messages.
    Skill(skill::Skill),
    /// Show skills: folders with a SKILL.md.
    #[command(subcommand)]
    Skills(skills::SkillsCommand),
    /// Show recipes: plans of earlier questions that are reused.
    #[command(subcommand)]
    Recipes(recipes::Recipes),
    /// Definitions of metrics: check them, draft them from data.
    #[command(subcommand)]
    Semantics(semantics::Semantics),
    /// Pin answers side by side, filter, share and export them.
    #[command(subcommand)]
    Board(board::BoardCommand),
    /// Run questions and workflows on a schedule.
    #[command(subcommand)]
    Schedule(schedule::ScheduleCommand),
    /// Alert when the answer of a scheduled question crosses a threshold.
    #[command(subcommand)]
    Alert(schedule::AlertCommand),
    /// Verify answers, and check whether they still hold.
    #[command(subcommand)]
    Verify(verify::Verify),
    /// Test answers: your questions with the expected answers.
    #[command(subcommand)]
    Eval(eval::Eval),
    /// Serve everything over HTTP: the page, the API, MCP and other protocols.
    Serve(serve::Serve),
    /// Manage the users who may connect over the network.
    #[command(subcommand)]
    Users(access::Users),
    /// Create and revoke API keys.
    #[command(subcommand)]
    Keys(access::Keys),
    /// Manage the grants of each role.
    #[command(subcommand)]
    Grants(access::Grants),
    /// Serve Steward to an editor that speaks the agent client protocol, over pipes.
    Acp(acp::Acp),
    /// Serve Steward to MCP clients, over stdio or HTTP.
    Mcp(mcp::Mcp),
    /// Back up this home to one file, while it is in use.
    Backup(backup::Backup),
    /// Restore a backup into a new home, and verify its journal.
    Restore(backup::Restore),
    /// Purge data that is older than the retention policy allows.
    #[command(subcommand)]
    Retention(retention::Retention),
    /// Success, mean and p95 of every tool and agent.
    Analytics(analytics::Analytics),
    /// Show or check the configuration.
    #[command(subcommand)]
    Config(config::Config),
    /// Print completions for a shell.
    #[command(after_help = "Example: steward completions bash > /etc/bash_completion.d/steward")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Whether metrics are needed.
    pub(crate) fn wants_metrics(&self) -> bool {
        matches!(self, Self::Serve(_))
            || matches!(self, Self::Worker(worker) if worker.metrics_port.is_some())
    }
}

/// The application context, for commands without options for it.
pub(crate) fn app(context: &Context, opened: &Opened) -> Result<steward_runtime::ask::AppContext, Failure> {
    ask::app(context, None, opened)
}

/// The context of a command.
pub(crate) struct Context {
    pub(crate) home: Home,
    pub(crate) settings: Settings,
    pub(crate) json: bool,
    pub(crate) scope: Scope,
    /// The metrics, if enabled.
    pub(crate) metrics: Option<Metrics>,
    /// The models of the settings, built once.
    pub(crate) models: OnceLock<Arc<Models>>,
    /// The store, once opened.
    pub(crate) opened: OnceLock<Opened>,
}

impl Context {
    /// Bytes of memory for questions.
    pub(crate) fn memory(&self) -> usize {
        self.settings.analysis.memory_mb.max(64) << 20
    }

    pub(crate) async fn open(&self) -> Result<Opened, Failure> {
        let opened = self.home.open(&self.settings).await?;
        witness::check(&self.home, &self.settings.witness, &opened).await?;
        let _the_first_counts = self.opened.set(opened.clone());
        Ok(opened)
    }

    /// Saves the head outside the store, if the store was opened.
    async fn keep_head(&self) -> Result<(), Failure> {
        match self.opened.get() {
            Some(opened) => witness::keep(&self.home, &self.settings.witness, opened).await,
            None => Ok(()),
        }
    }

    /// The models of the settings. A model whose key is missing is included but unavailable.
    pub(crate) fn models(&self) -> Result<Arc<Models>, Failure> {
        if let Some(models) = self.models.get() {
            return Ok(models.clone());
        }
        let servers = steward_tools::ModelServers::new(&self.home.path.join("logs"));
        let services = steward_models::ModelServices { launcher: Some(Arc::new(servers)) };
        let models = steward_models::build(&self.settings.models, &services)?;
        let models = Arc::new(models.with_uses(&self.settings.uses)?);
        Ok(self.models.get_or_init(|| models).clone())
    }

    /// The same home with other settings.
    pub(crate) fn with_settings(&self, settings: Settings) -> Self {
        Self {
            home: self.home.clone(),
            settings,
            json: self.json,
            scope: self.scope.clone(),
            metrics: None,
            models: OnceLock::new(),
            opened: OnceLock::new(),
        }
    }
}

pub(crate) async fn run(cli: Cli, metrics: Option<Metrics>) -> Result<(), Failure> {
    let home = Home::locate(cli.global.home.as_deref())?;
    let settings = Settings::load(&home, cli.global.store.as_deref(), cli.global.user.as_deref());
    if let Ok(settings) = &settings {
        crate::isolation::install_for_drivers(&home, settings, settings.analysis.memory_mb.max(64) << 20);
        crate::remote_data::install(&settings.sources);
        crate::connections::install(&home, &settings.connections);
    }
    // The doctor must run even if the home is broken.
    if let Command::Doctor = cli.command {
        return doctor::run(&home, settings, cli.global.json).await;
    }
    if let Command::Config(config::Config::Check) = cli.command {
        return config::check(&home, cli.global.json);
    }
    if let Command::Restore(restore) = cli.command {
        return backup::restore(&home, cli.global.store.as_deref(), cli.global.json, restore).await;
    }
    let settings = settings?;
    let scope = if cli.global.all_users { Scope::System } else { Scope::User(settings.user.clone()) };
    let (models, opened) = (OnceLock::new(), OnceLock::new());
    let context = Context { home, settings, json: cli.global.json, scope, metrics, models, opened };
    let ended = Box::pin(carry_out(&context, cli.command)).await;
    ended.and(context.keep_head().await)
}

async fn carry_out(context: &Context, command: Command) -> Result<(), Failure> {
    match command {
        Command::Ask(ask) => Box::pin(ask::run(context, ask)).await,
        Command::Chat(chat) => Box::pin(chat::run(context, chat)).await,
        Command::Profile(profile) => profile::run(context, &profile).await,
        Command::Init => init::run(context).await,
        Command::Audit(audit) => audit::run(context, audit).await,
        Command::Conversation(conversation) => conversation::run(context, conversation).await,
        Command::Connect(connect) => Box::pin(connect::run(context, connect)).await,
        Command::Task(task) => task::run(context, task).await,
        Command::Run(command) => run::run(context, command).await,
        Command::Worker(command) => worker::run(context, command).await,
        Command::Workflow(command) => run::workflow(context, command).await,
        Command::Tools(tools) => tools::run(context, tools).await,
        Command::McpServers(servers) => mcp_servers::run(context, servers).await,
        Command::Models(models) => models::run(context, models).await,
        Command::Approvals(approvals) => approvals::run(context, approvals).await,
        Command::Skill(skill) => skill::run(context, skill).await,
        Command::Skills(skills) => skills::run(context, &skills),
        Command::Recipes(recipes) => recipes::run(context, recipes).await,
        Command::Semantics(command) => semantics::run(context, command).await,
        Command::Board(command) => Box::pin(board::run(context, command)).await,
        Command::Schedule(command) => schedule::run(context, command).await,
        Command::Alert(command) => schedule::alert(context, command).await,
        Command::Verify(verify) => verify::run(context, verify).await,
        Command::Eval(command) => Box::pin(eval::run(context, command)).await,
        Command::Serve(serve) => serve::run(context, serve).await,
        Command::Users(users) => access::users(context, users).await,
        Command::Keys(keys) => access::keys(context, keys).await,
        Command::Grants(grants) => access::grants(context, grants).await,
        Command::Acp(acp) => acp::run(context, acp).await,
        Command::Mcp(mcp) => mcp::run(context, mcp).await,
        Command::Backup(backup) => backup::backup(context, backup).await,
        Command::Retention(retention) => retention::run(context, &retention).await,
        Command::Analytics(analytics) => analytics::run(context, &analytics).await,
        Command::Config(config::Config::Show) => config::show(context),
        Command::Config(config::Config::Check)
        | Command::Doctor
        | Command::Restore(_)
        | Command::Completions { .. } => Ok(()),
    }
}

/// Waits for a signal to stop.
pub(crate) async fn stopped() {
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}
