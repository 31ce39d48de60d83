//! The toolbox: registry, gateway, servers, selection, approvals and skills, put together over the
//! store.
//!
//! Invariants
//! - Opening it starts no server and sends nothing: what a server offered before is remembered, and
//!   a server starts when one of its tools is called or when it is looked at.
//! - A changed file counts from the next call on; a wrong one changes nothing.

mod analysis;
mod approval;
mod artifact_sink;
mod asking;
mod ledger;
mod own;
mod search;
mod servers;

pub use analysis::{AnalysisRules, DomainSource, Grounds};
pub use approval::{Approvals, Shown, Waiting};
pub use artifact_sink::StoreArtifactSink;
pub use ledger::StoreLedger;
pub use search::Found;

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
use tokio::task::JoinSet;

/// Where the toolbox finds things, and what its tools may touch.
#[derive(Clone)]
pub struct Options {
    /// The home: `config/`, `skills/`, `memory/`, `artifacts/`, `keys/`.
    pub home: PathBuf,
    /// Whose overrides apply.
    pub environment: Environment,
    /// Folders that tools may read and write.
    pub roots: Vec<Root>,
    /// What analysis may read and take.
    pub rules: AnalysisRules,
    /// This very program, which shuts server programs in.
    pub launcher: Option<PathBuf>,
    /// Whether changes of the files are watched.
    pub watch: bool,
    /// What people hold when a task of theirs is carried out.
    pub grants: Arc<dyn Grants>,
}

/// Everything that can be done, and the one way to do it.
pub struct Toolbox {
    gateway: Arc<ToolGateway>,
    app: AppContext,
    journal_writers: JournalWriters,
    options: Options,
    servers: Servers,
    watched: Arc<RwLock<BTreeMap<ServerName, Arc<Watched>>>>,
    pins: Pins,
    grounds: Arc<Grounds>,
    index: search::Searcher,
    approvals: Approvals,
    callers: Callers,
    watcher: Mutex<Option<Watcher>>,
    listening: tokio::sync::Mutex<JoinSet<()>>,
}

/// How long a look at one server may take when all are looked at.
const LOOK: Duration = Duration::from_secs(20);

impl Toolbox {
    /// Puts everything together.
    pub async fn open(app: &AppContext, mut options: Options) -> Result<Self> {
        for root in &mut options.roots {
            root.home = Some(options.home.clone());
        }
        let folders: Vec<PathBuf> = options.roots.iter().map(|root| root.path.clone()).collect();
        let grounds = Arc::new(Grounds::new(&folders, &options.home));
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
        };
        toolbox.configure().await?;
        Ok(toolbox)
    }

    /// The journal writers of the runs that are carried out.
    pub(crate) fn journal_writers(&self) -> &JournalWriters {
        &self.journal_writers
    }

    /// Reads the files and puts them into force; watches them if that was asked for.
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

    /// Follows changes of the files until it is dropped. Whoever serves calls this beside its work.
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

    /// Reads the files now, so that the next call sees them.
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
        // Permissions first: what was taken away is gone before anything else happens.
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
                    let entry = Watched::new(handle, self.pins.clone(), self.registry().clone());
                    entry.remember(self.app.clock.now())?;
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

    /// Looks at a server anew when it says that its list changed.
    async fn listen(&self, server: &Arc<Watched>) {
        let (server, mut changes) = (server.clone(), server.handle.changes());
        self.listening.lock().await.spawn(async move {
            while changes.changed().await.is_ok() {
                server.forget();
                let _the_next_call_looks_again = server.look().await;
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

    /// What questions are answered with.
    #[must_use]
    pub fn app(&self) -> &AppContext {
        &self.app
    }

    /// What analysis may read and take.
    #[must_use]
    pub fn rules(&self) -> &AnalysisRules {
        &self.options.rules
    }

    /// The calls that wait for a person.
    #[must_use]
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// What people hold now.
    #[must_use]
    pub fn callers(&self) -> &Callers {
        &self.callers
    }

    /// What was accepted of each server.
    #[must_use]
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// The skills of the home, as they are on disk now.
    #[must_use]
    pub fn skills(&self) -> Skills {
        Skills::load(&self.options.home.join("skills"))
    }

    /// Calls a tool. One that waits for a person is kept waiting; the error says under which id.
    pub async fn call(&self, request: &Request) -> Result<Receipt> {
        self.find(request).await?;
        Ok(self.gateway.call(request).await?)
    }

    /// A tool that nobody knows may be one of a server that was never looked at.
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
            // Why its tools are not known says more than that they are not. Others are not told
            // what there is.
            if request.caller.administrator {
                looked?;
            }
        } else {
            let _the_call_says_what_is_missing = self.look_at_new().await;
        }
        Ok(())
    }

    fn watched(&self, name: &str) -> Option<Arc<Watched>> {
        let watched = self.watched.read().unwrap_or_else(PoisonError::into_inner);
        watched.iter().find(|(known, _)| known.as_str() == name).map(|(_, server)| server.clone())
    }

    /// Looks at every server at the same time, each within its own time. What went wrong is told by
    /// server.
    pub async fn look_at_all(
        &self,
    ) -> Vec<(ServerName, std::result::Result<Arc<Review>, steward_tools::Error>)> {
        let all: Vec<_> =
            self.watched.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
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

    /// Looks at the servers of which nothing is known yet, so that their tools can be named. Those
    /// that cannot be looked at are told.
    pub async fn look_at_new(&self) -> Vec<(ServerName, steward_tools::Error)> {
        if self.new_servers().is_empty() {
            return Vec::new();
        }
        let looked = self.look_at_all().await;
        looked.into_iter().filter_map(|(name, looked)| Some((name, looked.err()?))).collect()
    }

    /// Whether a caller may know that a server is set up: they hold what it needs, and may call
    /// tools of it.
    #[must_use]
    pub fn may_know(&self, caller: &Caller, server: &ServerName) -> bool {
        let Some(watched) = self.watched(server.as_str()) else { return false };
        let Ok(any) = ToolName::new(format!("{server}.any")) else { return false };
        caller.administrator || caller.sees(&any, &watched.handle.config().permissions)
    }

    /// The servers of which nothing is known yet.
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

    /// Looks at one server anew.
    pub async fn look_at(&self, name: &str) -> Result<Arc<Review>> {
        // The pool knows which names are near.
        self.servers.get(name)?;
        let server = self
            .watched(name)
            .ok_or_else(|| steward_tools::Error::UnknownServer { name: name.to_owned(), near: Vec::new() })?;
        server.forget();
        Ok(server.look().await?)
    }

    /// How the servers are, and the last lines of each one's log.
    #[must_use]
    pub fn servers(&self) -> Vec<(Arc<steward_tools::mcp::Handle>, Status)> {
        let all = self.servers.all().into_iter();
        all.map(|handle| {
            let status = handle.status();
            (Arc::new(handle), status)
        })
        .collect()
    }

    /// Logs a person in to a server; `open` is handed the address that they visit.
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
