//! MCP servers in the registry: what they offer is looked over before it is used, at every start
//! and at every change.
//!
//! Invariant: a tool of a server is called only while the server, as it runs now, offers exactly
//! what was accepted. A server that starts anew is asked for its list first.

use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use steward_domain::{ServerName, Timestamp};
use steward_policy::AdmittedCall;
use steward_tools::mcp::{Handle, Pins, RemoteTool, Review, State};
use steward_tools::registry::Registry;
use steward_tools::{Context, Error, Output, Registered, Result, Settings, Tool};

/// One server and what was seen of it.
pub(super) struct Watched {
    pub(super) handle: Handle,
    pins: Pins,
    registry: Registry,
    /// The start at which it was looked over, and what came of it.
    seen: Mutex<Option<(u32, Arc<Review>)>>,
    /// One look at a time.
    looking: tokio::sync::Mutex<()>,
}

impl Watched {
    pub(super) fn new(handle: Handle, pins: Pins, registry: Registry) -> Arc<Self> {
        Arc::new(Self {
            handle,
            pins,
            registry,
            seen: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn name(&self) -> &ServerName {
        self.handle.name()
    }

    /// What was accepted before, without starting the server: so that its tools can be listed and
    /// found.
    pub(super) fn remember(self: &Arc<Self>, now: Timestamp) -> Result<()> {
        let known = self.pins.remembered(self.handle.config(), now)?;
        if !known.is_empty() {
            self.offer(&known, &[]);
        }
        Ok(())
    }

    /// Asks the server for its tools, compares them with what was accepted, and puts them into the
    /// registry.
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

    /// Forgets what was seen, so that the next call looks anew.
    pub(super) fn forget(&self) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What was seen at the start that is running now.
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
        let all: Vec<Registered> = admitted.chain(held).collect();
        self.registry.set_server_tools(self.name(), all);
    }
}

/// A tool of a server that was accepted with this digest, or is held back.
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
