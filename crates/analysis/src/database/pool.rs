//! A small connection pool; each connection serves one query at a time.
//!
//! A connection is returned only if it is known to be clean. One that is dropped during a query is
//! closed, and the query is cancelled on the server, so that an abandoned query does not keep
//! running.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::error::DatabaseError;

/// Maximum number of connections.
const CONNECTIONS: usize = 2;
/// Time limit of cancelling a query on the server.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Opens and checks connections of one server.
#[async_trait]
pub(super) trait Opener: Send + Sync + 'static {
    /// A connection.
    type Link: Send + 'static;
    /// Connects and makes the session read-only.
    async fn open(&self) -> Result<Self::Link, DatabaseError>;
    /// Whether the server still responds on it.
    async fn alive(&self, link: &mut Self::Link) -> bool;
    /// The id of this connection on the server.
    fn id(&self, link: &Self::Link) -> i64;
    /// Cancels the query of the connection with that id.
    async fn stop(&self, id: i64);
}

/// The connections.
pub(super) struct Pool<O: Opener> {
    opener: Arc<O>,
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<O::Link>>>,
    stops: Arc<Mutex<JoinSet<()>>>,
}

impl<O: Opener> Pool<O> {
    /// A pool with its first connection, which tests the address.
    pub(super) async fn new(opener: O) -> Result<Self, DatabaseError> {
        let first = opener.open().await?;
        Ok(Self {
            opener: Arc::new(opener),
            permits: Arc::new(Semaphore::new(CONNECTIONS)),
            idle: Arc::new(Mutex::new(vec![first])),
            stops: Arc::default(),
        })
    }

    /// The opener of the connections.
    pub(super) fn opener(&self) -> &O {
        &self.opener
    }

    /// A connection; waits if all are in use.
    pub(super) async fn take(&self) -> Result<Lease<O>, DatabaseError> {
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
            return Err(DatabaseError::Vanished {
                host: String::new(),
                detail: "the pool is closed".to_owned(),
            });
        };
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let link = match kept {
            // An idle connection may have been closed by a timeout or a restart of the server.
            Some(mut link) => {
                if self.opener.alive(&mut link).await {
                    link
                } else {
                    self.opener.open().await?
                }
            }
            None => self.opener.open().await?,
        };
        Ok(Lease {
            opener: Arc::clone(&self.opener),
            idle: Arc::clone(&self.idle),
            stops: Arc::clone(&self.stops),
            link: Some(link),
            _permit: permit,
        })
    }
}

/// A connection in use.
pub(super) struct Lease<O: Opener> {
    opener: Arc<O>,
    idle: Arc<Mutex<Vec<O::Link>>>,
    stops: Arc<Mutex<JoinSet<()>>>,
    link: Option<O::Link>,
    _permit: OwnedSemaphorePermit,
}

impl<O: Opener> Lease<O> {
    /// The connection.
    pub(super) fn link(&mut self) -> Result<&mut O::Link, DatabaseError> {
        let gone = || DatabaseError::Vanished {
            host: String::new(),
            detail: "the connection was given back".to_owned(),
        };
        self.link.as_mut().ok_or_else(gone)
    }

    /// Closes a connection without a running query. Nothing is cancelled: after a restart of the
    /// server the same id may belong to another client.
    pub(super) fn discard(mut self) {
        self.link = None;
    }

    /// Returns a clean connection to the pool.
    pub(super) fn give_back(mut self) {
        if let Some(link) = self.link.take() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        }
    }
}

impl<O: Opener> Drop for Lease<O> {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        let id = self.opener.id(&link);
        drop(link);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let opener = Arc::clone(&self.opener);
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        while stops.try_join_next().is_some() {}
        let stop = async move {
            // If cancelling fails, the server's own time limit ends the statement.
            let _told = tokio::time::timeout(STOP_WITHIN, opener.stop(id)).await;
        };
        stops.spawn_on(stop, &runtime);
    }
}
