//! The toolbox: registry, gateway, servers, selection, approvals and skills over the store.
//!
//! Invariants
//! - Opening it starts no server and sends nothing: the accepted tools of servers are stored. A
//!   server starts when one of its tools is called or when its tools are listed.
//! - A changed file is effective from the next call on; an invalid one changes nothing.

mod analysis;
mod approval;
mod artifact_sink;
mod asking;
mod ledger;
mod own;
mod search;
mod server_resources;
mod servers;

pub use analysis::{AnalysisRules, DataGrants, DomainSource};
pub use approval::{Approvals, Shown, Waiting};
pub use artifact_sink::StoreArtifactSink;
pub use ledger::StoreLedger;
pub use search::Found;
pub use server_resources::{ResourceTool, ServerCatalogue};

use crate::ask::AppContext;
use crate::caller::{Callers, Grants};
use crate::error::{Error, Result};
use crate::journal_writer::JournalWriters;
use servers::Watched;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use steward_domain::{Environment, ServerName, ToolName};
use steward_policy::Caller;
use steward_tools::builtin::file::Root;
use steward_tools::call::{Receipt, Request, ToolGateway};
use steward_tools::config::{Change, Configuration, Source, Watcher};
use steward_tools::mcp::{Pins, Review, Servers, Status};
use steward_tools::registry::Registry;
use steward_tools::skill::Skills;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The locations of the toolbox, and the limits of its tools.
#[derive(Clone)]
pub struct Options {
    /// The home: `config/`, `skills/`, `memory/`, `artifacts/`, `keys/`.
    pub home: PathBuf,
    /// The environment whose overrides apply.
    pub environment: Environment,
    /// Folders that tools may read and write.
    pub roots: Vec<Root>,
    /// The rules of analysis.
    pub rules: AnalysisRules,
    /// The path of this program, which starts servers in a sandbox.
    pub launcher: Option<PathBuf>,
    /// Whether changes of the files are watched.
    pub watch: bool,
    /// Resolves the current grants of users.
    pub grants: Arc<dyn Grants>,
}

/// All tools, and the only way to call them.
pub struct Toolbox {
    gateway: Arc<ToolGateway>,
    app: AppContext,
    journal_writers: JournalWriters,
    options: Options,
    servers: Servers,
    watched: Arc<RwLock<BTreeMap<ServerName, Arc<Watched>>>>,
    pins: Pins,
    grounds: Arc<DataGrants>,
    index: search::Searcher,
    approvals: Approvals,
    callers: Callers,
    watcher: Mutex<Option<Watcher>>,
    listening: tokio::sync::Mutex<JoinSet<()>>,
    /// Counts changes of the servers' resources and prompts.
    catalogue_changed: watch::Sender<u64>,
}

/// The timeout for one server when all servers are listed.
const LOOK: Duration = Duration::from_secs(20);

impl Toolbox {
    /// Opens the toolbox.
    pub async fn open(app: &AppContext, mut options: Options) -> Result<Self> {
        for root in &mut options.roots {
            root.home = Some(options.home.clone());
        }
        let folders: Vec<PathBuf> = options.roots.iter().map(|root| root.path.clone()).collect();
        let grounds = Arc::new(DataGrants::new(&folders, &options.home));
        let registry = Registry::new(Vec::new());
        registry.set_agents("own", own::agents(app, &options, &grounds)?);
        registry.set_builtin(own::builtins(app, &options, &grounds, &Configuration::default())?);
        let journal_writers = JournalWriters::default();
        let ledger = Arc::new(StoreLedger::new(app.store.clone(), journal_writers.clone()));
        let artifacts = Arc::new(StoreArtifactSink::new(app.store.clone(), &app.artifacts));
        let gateway =
            ToolGateway::new(registry, ledger.clone(), artifacts, app.clock.clone(), app.random.clone());
        let callers = Callers::new(options.grants.clone(), gateway.registry().clone());
        let approvals = Approvals {
            store: app.store.clone(),
            clock: app.clock.clone(),
            random: app.random.clone(),
            ledger,
            callers: callers.clone(),
            patience: approval::PATIENCE,
        };
        let servers = Servers::new(mcp_options(&options, app));
        let toolbox = Self {
            gateway: Arc::new(gateway),
            app: app.clone(),
            journal_writers,
            pins: Pins::at(options.home.join("config/mcp_pins.json")),
            index: search::Searcher::new(app.encoder.clone()),
            options,
            servers,
            watched: Arc::default(),
            grounds,
            approvals,
            callers,
            watcher: Mutex::default(),
            listening: tokio::sync::Mutex::default(),
            catalogue_changed: watch::Sender::new(0),
        };
        toolbox.configure().await?;
        Ok(toolbox)
    }

    /// Sets how long a call waits for a decision before it is rejected.
    #[must_use]
    pub fn expiring_approvals(mut self, patience: Duration) -> Self {
        self.approvals.patience = patience;
        self
    }

    /// The journal writers of the running tasks.
    pub(crate) fn journal_writers(&self) -> &JournalWriters {
        &self.journal_writers
    }

    /// Loads and applies the configuration files; watches them if requested.
    async fn configure(&self) -> Result<()> {
        let source = Source {
            folder: self.options.home.clone(),
            environment: self.options.environment,
            known: Some(self.registry().known()),
        };
        if !self.options.watch {
            let configuration = source.load().map_err(Error::Configuration)?;
            return self.apply(&configuration).await;
        }
        let watcher = Watcher::start(source, |_| {}).map_err(Error::Configuration)?;
        self.apply(&watcher.current()).await?;
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
        Ok(())
    }

    /// Applies changes of the files until it is dropped. A server runs this in the background.
    pub async fn follow(&self, tell: impl Fn(&Change)) {
        let changes = {
            let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
            watcher.as_ref().map(Watcher::changes)
        };
        let Some(mut changes) = changes else { return };
        while changes.changed().await.is_ok() {
            let change = changes.borrow_and_update().clone();
            if let Some(Change::Applied { configuration, .. }) = &change
                && let Err(error) = self.apply(configuration).await
            {
                eprintln!("the changed configuration is not in force: {error}");
            }
            if let Some(change) = &change {
                tell(change);
            }
        }
    }

    /// Reloads the files, so that the next call uses them.
    pub async fn reload(&self) -> Result<()> {
        let configuration = {
            let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
            match watcher.as_ref() {
                Some(watcher) => {
                    watcher.reload().map_err(Error::Configuration)?;
                    Some(watcher.current())
                }
                None => None,
            }
        };
        match configuration {
            Some(configuration) => self.apply(&configuration).await,
            None => self.configure().await,
        }
    }

    async fn apply(&self, configuration: &Configuration) -> Result<()> {
        // Permissions first: a revoked right is effective before anything else.
        self.registry().apply(configuration.clone());
        self.registry().set_builtin(own::builtins(&self.app, &self.options, &self.grounds, configuration)?);
        let enabled = configuration.domains.iter().filter(|(_, domain)| domain.enabled);
        let sources = enabled.flat_map(|(name, domain)| {
            let of =
                |source: &_| DomainSource { domain: name.to_string(), source: ToString::to_string(source) };
            domain.data_sources.iter().map(of).collect::<Vec<_>>()
        });
        self.grounds.list(sources.collect());
        let wanted: Vec<_> =
            configuration.servers.values().filter(|server| server.enabled).cloned().collect();
        self.servers.reload(wanted.clone()).await;
        let mut watched = BTreeMap::new();
        let before = self.watched.read().unwrap_or_else(PoisonError::into_inner).clone();
        for server in &wanted {
            let known = before.get(&server.name).filter(|known| *known.handle.config() == *server);
            let entry = match known {
                Some(known) => known.clone(),
                None => {
                    let handle = self.servers.get(server.name.as_str())?;
                    let now = self.app.clock.now();
                    let entry = Watched::new(handle, self.pins.clone(), self.registry().clone(), now);
                    entry.remember()?;
                    self.listen(&entry).await;
                    entry
                }
            };
            watched.insert(server.name.clone(), entry);
        }
        for gone in before.keys().filter(|name| !watched.contains_key(*name)) {
            self.registry().remove_server(gone);
        }
        *self.watched.write().unwrap_or_else(PoisonError::into_inner) = watched;
        Ok(())
    }

    /// Lists a server's tools again when the server reports a change.
    async fn listen(&self, server: &Arc<Watched>) {
        let (server, mut changes) = (server.clone(), server.handle.changes());
        let catalogue_changed = self.catalogue_changed.clone();
        self.listening.lock().await.spawn(async move {
            while changes.changed().await.is_ok() {
                server.forget();
                let _next_call_retries_review = server.look().await;
                catalogue_changed.send_modify(|count| *count += 1);
            }
        });
    }

    /// The registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        self.gateway.registry()
    }

    /// The gateway.
    #[must_use]
    pub fn gateway(&self) -> &Arc<ToolGateway> {
        &self.gateway
    }

    /// The dependencies for answering questions.
    #[must_use]
    pub fn app(&self) -> &AppContext {
        &self.app
    }

    /// The rules of analysis.
    #[must_use]
    pub fn rules(&self) -> &AnalysisRules {
        &self.options.rules
    }

    /// The calls that wait for approval.
    #[must_use]
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Resolves the current grants of users.
    #[must_use]
    pub fn callers(&self) -> &Callers {
        &self.callers
    }

    /// The accepted tools of each server.
    #[must_use]
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// The skills of the home, as they are on disk now.
    #[must_use]
    pub fn skills(&self) -> Skills {
        Skills::load(&self.options.home.join("skills"))
    }

    /// Calls a tool. A call that needs approval is stored as waiting; the error has its id.
    pub async fn call(&self, request: &Request) -> Result<Receipt> {
        self.find(request).await?;
        Ok(self.gateway.call(request).await?)
    }

    /// An unknown tool may belong to a server whose tools were never listed.
    async fn find(&self, request: &Request) -> Result<()> {
        let unknown =
            |error: &steward_tools::Error| matches!(error, steward_tools::Error::UnknownTool { .. });
        let resolved = self.registry().resolve(request.server.as_ref(), &request.tool);
        if !resolved.as_ref().is_err_and(unknown) {
            return Ok(());
        }
        let named =
            request.server.as_ref().map(ServerName::as_str).or_else(|| request.tool.split('.').next());
        let server = self.watched(named.unwrap_or_default());
        if let Some(server) = server {
            let looked = server.look().await;
            // An administrator gets the reason why the server's tools are unknown. Other callers
            // must not learn which servers exist.
            if request.caller.administrator {
                looked?;
            }
        } else {
            let _call_reports_unknown_tool = self.review_new_servers().await;
        }
        Ok(())
    }

    fn all_watched(&self) -> Vec<Arc<Watched>> {
        self.watched.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn watched(&self, name: &str) -> Option<Arc<Watched>> {
        let watched = self.watched.read().unwrap_or_else(PoisonError::into_inner);
        watched.iter().find(|(known, _)| known.as_str() == name).map(|(_, server)| server.clone())
    }

    /// Lists the tools of all servers in parallel, each with its own timeout. Errors are returned
    /// by server.
    pub async fn review_all_servers(
        &self,
    ) -> Vec<(ServerName, std::result::Result<Arc<Review>, steward_tools::Error>)> {
        let all = self.all_watched();
        let mut looks = JoinSet::new();
        for server in all {
            looks.spawn(async move {
                let late = || steward_tools::Error::ServerStart {
                    server: server.name().to_string(),
                    detail: format!("it did not list its tools within {} s", LOOK.as_secs()),
                };
                let looked = tokio::time::timeout(LOOK, server.look()).await;
                (server.name().clone(), looked.unwrap_or_else(|_| Err(late())))
            });
        }
        let mut results = looks.join_all().await;
        results.sort_by(|one, other| one.0.cmp(&other.0));
        results
    }

    /// Lists the tools of new servers, so that they can be resolved. Returns the servers that
    /// failed.
    pub async fn review_new_servers(&self) -> Vec<(ServerName, steward_tools::Error)> {
        if self.new_servers().is_empty() {
            return Vec::new();
        }
        let looked = self.review_all_servers().await;
        looked.into_iter().filter_map(|(name, looked)| Some((name, looked.err()?))).collect()
    }

    /// Whether a caller may know that a server is configured: the caller has its permissions and
    /// may call its tools.
    #[must_use]
    pub fn can_see_server(&self, caller: &Caller, server: &ServerName) -> bool {
        let Some(watched) = self.watched(server.as_str()) else { return false };
        let Ok(any) = ToolName::new(format!("{server}.any")) else { return false };
        caller.administrator || caller.sees(&any, &watched.handle.config().permissions)
    }

    /// The servers whose tools were never listed.
    #[must_use]
    pub fn new_servers(&self) -> Vec<ServerName> {
        let known = self.registry().snapshot();
        let unknown = |server: &ServerName| {
            let filter = steward_tools::registry::Filter {
                server: Some(server),
                everything: true,
                ..Default::default()
            };
            known.list(&filter).next().is_none()
        };
        let watched = self.watched.read().unwrap_or_else(PoisonError::into_inner);
        watched.keys().filter(|server| unknown(server)).cloned().collect()
    }

    /// Lists the tools of one server again.
    pub async fn look_at(&self, name: &str) -> Result<Arc<Review>> {
        // The pool's error suggests similar names.
        self.servers.get(name)?;
        let server = self
            .watched(name)
            .ok_or_else(|| steward_tools::Error::UnknownServer { name: name.to_owned(), near: Vec::new() })?;
        server.forget();
        Ok(server.look().await?)
    }

    /// Whether an address leads into Steward's own home, which is never data.
    #[must_use]
    pub fn is_own_data(&self, address: &str) -> bool {
        self.grounds.is_own(address)
    }

    /// The servers with their status.
    #[must_use]
    pub fn servers(&self) -> Vec<(Arc<steward_tools::mcp::Handle>, Status)> {
        let all = self.servers.all().into_iter();
        all.map(|handle| {
            let status = handle.status();
            (Arc::new(handle), status)
        })
        .collect()
    }

    /// Authenticates a user at a server; `open` gets the address to visit.
    pub async fn login(&self, name: &ServerName, open: impl Fn(&str)) -> Result<()> {
        let handle = self.servers.get(name.as_str())?;
        let options = self.mcp_options();
        Ok(steward_tools::mcp::login(handle.config(), &options, steward_tools::mcp::Login::default(), open)
            .await?)
    }

    fn mcp_options(&self) -> steward_tools::mcp::Options {
        mcp_options(&self.options, &self.app)
    }

    /// Stops every server with all its processes.
    pub async fn close(&self) {
        self.listening.lock().await.abort_all();
        self.servers.stop_all().await;
    }
}

fn mcp_options(options: &Options, app: &AppContext) -> steward_tools::mcp::Options {
    steward_tools::mcp::Options {
        launcher: options.launcher.clone(),
        home: Some(options.home.clone()),
        logins: Some(options.home.join("keys/mcp")),
        clock: app.clock.clone(),
        ..steward_tools::mcp::Options::default()
    }
}
