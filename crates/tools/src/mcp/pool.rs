//! All configured servers by their names. Servers are independent: the pool hands out handles and
//! does nothing between them.

use crate::error::{Error, Result};
use crate::mcp::server::{Handle, Options, Server};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use steward_domain::{McpServer, ServerName, Valid};
use tokio::task::JoinSet;

/// The servers that there are.
#[derive(Debug)]
pub struct Servers {
    options: Options,
    handles: Mutex<BTreeMap<ServerName, Handle>>,
}

impl Servers {
    /// None yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, handles: Mutex::default() }
    }

    /// Takes over a new list. A server whose configuration is the same keeps running; one that
    /// changed, was switched off or is not listed any more is closed for good, and calls through
    /// its old handles are refused.
    pub async fn reload(&self, list: Vec<Valid<McpServer>>) {
        let replaced = {
            let mut handles = self.lock();
            let mut old = std::mem::take(&mut *handles);
            for server in list.into_iter().filter(|server| server.enabled) {
                let unchanged = old.get(&server.name).is_some_and(|handle| *handle.config() == server);
                let handle = match old.remove(&server.name) {
                    Some(handle) if unchanged => handle,
                    changed => {
                        // The old one stays among those to be closed.
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

    /// The server of this name.
    ///
    /// # Errors
    /// [`Error::UnknownServer`], with the names that are near.
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

    /// Closes all of them at the same time and waits until their processes are gone.
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
