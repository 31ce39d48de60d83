//! Notifies a client that lists or resources changed: unprompted up to protocol version 2025-11-25,
//! on a stream that the client opened in later versions.

use super::gateway::Changes;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::SubscriptionContext;
use rmcp::{Peer, RoleServer};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

/// One change.
enum Change {
    Tools,
    Resources,
    Prompts,
    /// The content of this resource changed.
    Updated(Arc<str>),
    /// The channel lagged and updates were lost, so any watched resource may have changed.
    Missed,
    /// No more changes will follow.
    Over,
}

impl Changes {
    async fn next(&mut self) -> Change {
        tokio::select! {
            true = turned(&mut self.tools) => Change::Tools,
            true = turned(&mut self.resources) => Change::Resources,
            true = turned(&mut self.prompts) => Change::Prompts,
            Some(change) = updated(&mut self.updated) => change,
            else => Change::Over,
        }
    }
}

async fn turned(list: &mut watch::Receiver<u64>) -> bool {
    list.changed().await.is_ok()
}

async fn updated(resources: &mut broadcast::Receiver<Arc<str>>) -> Option<Change> {
    match resources.recv().await {
        Ok(uri) => Some(Change::Updated(uri)),
        Err(RecvError::Lagged(_)) => Some(Change::Missed),
        Err(RecvError::Closed) => None,
    }
}

/// Sends notifications until the connection ends. The caller owns the task.
pub(super) async fn tell(
    mut changes: Changes,
    peer: Peer<RoleServer>,
    subscribed: Arc<Mutex<BTreeSet<String>>>,
) {
    let watched = |uri: Option<&str>| -> Vec<String> {
        let subscribed = subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        subscribed.iter().filter(|one| uri.is_none_or(|uri| uri == one.as_str())).cloned().collect()
    };
    loop {
        let sent = match changes.next().await {
            Change::Tools => peer.notify_tool_list_changed().await,
            Change::Resources => peer.notify_resource_list_changed().await,
            Change::Prompts => peer.notify_prompt_list_changed().await,
            Change::Updated(uri) => resources(&peer, watched(Some(&uri))).await,
            Change::Missed => resources(&peer, watched(None)).await,
            Change::Over => return,
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn resources(peer: &Peer<RoleServer>, uris: Vec<String>) -> Result<(), rmcp::ServiceError> {
    for uri in uris {
        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
    }
    Ok(())
}

/// Sends notifications on one stream until the client closes it. The stream filters by the client's
/// subscription.
pub(super) async fn listen(mut changes: Changes, stream: &SubscriptionContext) {
    let sink = stream.sink();
    loop {
        let change = tokio::select! {
            change = changes.next() => change,
            () = stream.cancelled() => return,
        };
        let uris: Vec<&str> = match &change {
            Change::Tools => {
                drop(sink.notify_tool_list_changed().await);
                continue;
            }
            Change::Resources => {
                drop(sink.notify_resource_list_changed().await);
                continue;
            }
            Change::Prompts => {
                drop(sink.notify_prompt_list_changed().await);
                continue;
            }
            Change::Updated(uri) => vec![uri],
            Change::Missed => {
                stream.accepted().resource_subscriptions.iter().flatten().map(String::as_str).collect()
            }
            Change::Over => return stream.cancelled().await,
        };
        for uri in uris {
            drop(sink.notify_resource_updated(uri).await);
        }
    }
}
