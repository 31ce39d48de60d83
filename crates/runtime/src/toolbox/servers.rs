//! MCP servers in the registry: their tools are reviewed before use, at every start and at every
//! change.
//!
//! Invariant: a tool of a server is called only while the running server offers exactly what was
//! accepted. A restarted server is asked for its tools first.

use super::server_resources::{ServerCatalogue, resource_tools};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{ServerName, Timestamp};
use steward_policy::AdmittedCall;
use steward_tools::mcp::{Handle, Pins, RemoteTool, Review, State};
use steward_tools::registry::Registry;
use steward_tools::{Context, Error, Output, Registered, Result, Settings, Tool};

/// One server with its last review.
pub(super) struct Watched {
    pub(super) handle: Handle,
    pins: Pins,
    registry: Registry,
    /// The start count at the last review, and its result.
    seen: Mutex<Option<(u32, Arc<Review>)>>,
    /// Serialises reviews.
    looking: tokio::sync::Mutex<()>,
    /// The start count when the resources and prompts were listed, and the list.
    catalogue: Mutex<Option<(u32, Arc<ServerCatalogue>)>>,
    /// Serialises the listing of resources and prompts.
    pub(super) listing: tokio::sync::Mutex<()>,
    /// When the server was configured.
    since: Timestamp,
}

impl Watched {
    pub(super) fn new(handle: Handle, pins: Pins, registry: Registry, since: Timestamp) -> Arc<Self> {
        Arc::new(Self {
            handle,
            pins,
            registry,
            seen: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            catalogue: Mutex::default(),
            listing: tokio::sync::Mutex::default(),
            since,
        })
    }

    pub(super) fn name(&self) -> &ServerName {
        self.handle.name()
    }

    /// Registers the accepted tools without starting the server, so that they can be listed and
    /// found.
    pub(super) fn remember(self: &Arc<Self>) -> Result<()> {
        let known = self.pins.remembered(self.handle.config(), self.since)?;
        if !known.is_empty() {
            self.offer(&known, &[]);
        }
        Ok(())
    }

    /// Lists the server's tools, compares them with the accepted ones, and registers them.
    pub(super) async fn look(self: &Arc<Self>) -> Result<Arc<Review>> {
        let _turn = self.looking.lock().await;
        if let Some(review) = self.current() {
            return Ok(review);
        }
        let tools = self.handle.tools().await?;
        let review = Arc::new(self.pins.review(self.name(), tools)?);
        self.offer(&review.admitted, &review.held);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((self.starts(), review.clone()));
        Ok(review)
    }

    /// Drops the last review, so that the next call reviews again.
    pub(super) fn forget(&self) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.catalogue.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The resources and prompts of the running server, if they were listed.
    pub(super) fn kept_catalogue(&self) -> Option<Arc<ServerCatalogue>> {
        let kept = self.catalogue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let running = self.handle.state() == State::Ready;
        kept.filter(|(starts, _)| running && *starts == self.starts()).map(|(_, catalogue)| catalogue)
    }

    pub(super) fn keep_catalogue(&self, catalogue: Arc<ServerCatalogue>) {
        let kept = Some((self.starts(), catalogue));
        *self.catalogue.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    /// The review of the running server, if there is one.
    fn current(&self) -> Option<Arc<Review>> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let running = self.handle.state() == State::Ready;
        seen.filter(|(starts, _)| running && *starts == self.starts()).map(|(_, review)| review)
    }

    fn starts(&self) -> u32 {
        self.handle.status().restarts
    }

    fn offer(self: &Arc<Self>, admitted: &[RemoteTool], held: &[(RemoteTool, String)]) {
        let permissions = self.handle.config().permissions.clone();
        let registered = |tool: &RemoteTool, change: Option<&String>| Registered {
            definition: Arc::new(tool.definition.clone()),
            settings: Arc::new(Settings {
                permissions: permissions.clone(),
                retries: 2,
                ..Settings::default()
            }),
            tool: Arc::new(ServerTool {
                server: Arc::clone(self),
                name: tool.name.clone(),
                digest: tool.digest.clone(),
                held: change.cloned(),
            }),
        };
        let admitted = admitted.iter().map(|tool| registered(tool, None));
        let held = held.iter().map(|(tool, change)| registered(tool, Some(change)));
        let mut all: Vec<Registered> = admitted.chain(held).collect();
        all.extend(resource_tools(&self.handle, &all, self.since));
        self.registry.set_server_tools(self.name(), all);
    }
}

/// A tool of a server that was accepted with this digest, or is blocked.
struct ServerTool {
    server: Arc<Watched>,
    name: String,
    digest: String,
    held: Option<String>,
}

#[async_trait]
impl Tool for ServerTool {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output> {
        let held = |change: &str| Error::Held {
            server: self.server.name().to_string(),
            tool: call.tool().to_string(),
            change: change.to_owned(),
        };
        if let Some(change) = &self.held {
            return Err(held(change));
        }
        let review = match self.server.current() {
            Some(review) => review,
            None => self.server.look().await?,
        };
        if review.admitted.iter().any(|tool| tool.name == self.name && tool.digest == self.digest) {
            return self.server.handle.call(&self.name, call.arguments(), context).await;
        }
        match review.held.iter().find(|(tool, _)| tool.name == self.name) {
            Some((_, change)) => Err(held(change)),
            None => Err(Error::UnknownTool { name: call.tool().to_string(), near: Vec::new() }),
        }
    }
}
