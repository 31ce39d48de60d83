//! All configured servers by name. Servers are independent; the pool only returns handles.

use crate::error::{Error, Result};
use crate::mcp::server::{Handle, Options, Server};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use steward_domain::{McpServer, ServerName, Valid};
use tokio::task::JoinSet;

/// The configured servers.
#[derive(Debug)]
pub struct Servers {
    options: Options,
    handles: Mutex<BTreeMap<ServerName, Handle>>,
}

impl Servers {
    /// An empty pool.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, handles: Mutex::default() }
    }

    /// Applies a new list. A server with an unchanged configuration keeps running. One that was
    /// changed, disabled or removed is closed, and calls through its old handles fail.
    pub async fn reload(&self, list: Vec<Valid<McpServer>>) {
        let replaced = {
            let mut handles = self.lock();
            let mut old = std::mem::take(&mut *handles);
            for server in list.into_iter().filter(|server| server.enabled) {
                let unchanged = old.get(&server.name).is_some_and(|handle| *handle.config() == server);
                let handle = match old.remove(&server.name) {
                    Some(handle) if unchanged => handle,
                    changed => {
                        // The old handle stays in the list and is closed below.
                        old.extend(changed.map(|handle| (server.name.clone(), handle)));
                        Server::new(server, self.options.clone())
                    }
                };
                handles.insert(handle.name().clone(), handle);
            }
            old
        };
        close(replaced).await;
    }

    /// The server with this name.
    ///
    /// # Errors
    /// [`Error::UnknownServer`], with similar names.
    pub fn get(&self, name: &str) -> Result<Handle> {
        let handles = self.lock();
        let found = name.parse::<ServerName>().ok().and_then(|name| handles.get(&name).cloned());
        found.ok_or_else(|| {
            let like = |other: &&ServerName| {
                let (a, b) = (other.as_str().to_lowercase(), name.to_lowercase());
                a.starts_with(&b) || b.starts_with(&a) || a.contains(&b)
            };
            let near = handles.keys().filter(like).map(ToString::to_string).take(3).collect();
            Error::UnknownServer { name: name.to_owned(), near }
        })
    }

    /// All servers, by name.
    #[must_use]
    pub fn all(&self) -> Vec<Handle> {
        self.lock().values().cloned().collect()
    }

    /// Closes all servers concurrently and waits until their processes have ended.
    pub async fn stop_all(&self) {
        let handles = std::mem::take(&mut *self.lock());
        close(handles).await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerName, Handle>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn close(handles: BTreeMap<ServerName, Handle>) {
    let mut closing = JoinSet::new();
    for handle in handles.into_values() {
        closing.spawn(async move { handle.close().await });
    }
    while closing.join_next().await.is_some() {}
}
