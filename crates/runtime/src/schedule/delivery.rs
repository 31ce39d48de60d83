//! Deliveries of schedules and alerts, with retries and receipts.
//!
//! Invariants
//! - A delivery is in the store before it is sent, and each attempt leaves an entry with its
//!   receipt. A process that dies between an attempt and its receipt sends it again under the same
//!   id, so the receiver can detect duplicates.
//! - Webhooks use the outbound HTTP client: only hosts that the operator listed are reached. Messages
//!   to Slack use the integration that the server installed.

use super::merged;
use crate::ask::AppContext;
use crate::error::{Error, Result};
use crate::verified::{after, put_saved, write_saved};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{
    Delivery, DeliveryStatus, DeliveryTarget, EventType, JsonObject, SavedEntity as _, SavedKind, Timestamp,
};
use steward_tools::egress::{EgressClient, Request, Rules};

/// The maximum number of deliveries in one round.
const ROUND: u32 = 20;
/// The maximum number of attempts of a delivery.
const ATTEMPTS: u32 = 8;
/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How long a sending replica claims a delivery, in microseconds.
const CLAIM: i64 = 60_000_000;

/// Sends direct messages to Slack users.
#[async_trait]
pub trait DirectMessages: Send + Sync {
    /// Sends this content to a user, `TEAM/USER`. Returns a receipt, or why it was not sent.
    async fn send(&self, user: &str, content: &JsonObject) -> std::result::Result<String, String>;
}

/// Sends deliveries.
pub struct Deliverer {
    client: EgressClient,
    slack: Option<Arc<dyn DirectMessages>>,
    /// The secret that signs deliveries.
    secret: Option<String>,
}

impl Deliverer {
    /// A deliverer with the operator's egress rules and this secret.
    #[must_use]
    pub fn new(mut rules: Rules, secret: Option<String>) -> Self {
        rules.allow_writes = true;
        Self { client: EgressClient::new(rules), slack: None, secret }
    }

    /// Sends direct messages through this integration.
    #[must_use]
    pub fn with_slack(mut self, slack: Arc<dyn DirectMessages>) -> Self {
        self.slack = Some(slack);
        self
    }

    /// Sends the due deliveries.
    pub(super) async fn round(&self, context: &AppContext) -> Result<()> {
        let now = context.clock.now();
        for item in context.store.due_items(SavedKind::Delivery, now, ROUND).await? {
            let Some(delivery) = Delivery::from_item(item.into_inner()) else { continue };
            match self.try_once(context, delivery).await {
                // Another replica sends it.
                Ok(()) | Err(Error::Store(steward_store::Error::Conflict { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn try_once(&self, context: &AppContext, mut delivery: Delivery) -> Result<()> {
        let (now, seen) = (context.clock.now(), delivery.updated_at);
        delivery.attempts += 1;
        delivery.updated_at = after(now, seen);
        delivery.next_at = Some(Timestamp::from_micros(now.micros() + CLAIM));
        self.write(context, &delivery, seen, json!({ "action": "sending" })).await?;
        let receipt = self.send(&delivery, now).await;
        let (at, claimed) = (context.clock.now(), delivery.updated_at);
        delivery.updated_at = after(at, claimed);
        match receipt {
            Ok(receipt) => {
                (delivery.status, delivery.next_at) = (DeliveryStatus::Delivered, None);
                delivery.receipt = Some(receipt);
            }
            Err(why) if delivery.attempts >= ATTEMPTS => {
                (delivery.status, delivery.next_at) = (DeliveryStatus::Failed, None);
                delivery.receipt = Some(why);
            }
            Err(why) => {
                // The waits are 5 s, 10 s, 20 s, ... up to 320 s before the last attempt.
                let wait = 5_000_000_i64 << (delivery.attempts.min(8) - 1);
                delivery.next_at = Some(Timestamp::from_micros(at.micros() + wait));
                delivery.receipt = Some(why);
            }
        }
        let receipt = json!({ "action": "tried", "status": delivery.status, "receipt": delivery.receipt });
        self.write(context, &delivery, claimed, receipt).await
    }

    async fn write(
        &self,
        context: &AppContext,
        delivery: &Delivery,
        seen: Timestamp,
        data: Json,
    ) -> Result<()> {
        let data = merged(&data, json!({ "delivery": delivery.id, "attempt": delivery.attempts }));
        let changes = vec![put_saved(delivery.clone(), Some(seen))?];
        let (owner, id) = (&delivery.user_id, delivery.id.0);
        write_saved(&*context.store, owner, id, EventType::DeliveryTried, "delivery", data, changes).await
    }

    async fn send(&self, delivery: &Delivery, now: Timestamp) -> std::result::Result<String, String> {
        let url = match &delivery.target {
            DeliveryTarget::Webhook(url) => url,
            DeliveryTarget::Slack(user) => {
                let slack = self.slack.as_ref().ok_or("Slack is not set up on this server")?;
                return slack.send(user, &delivery.content).await;
            }
        };
        let mut content = delivery.content.clone();
        content.insert("delivery_id".to_owned(), json!(delivery.id));
        let body = Json::Object(content).to_string();
        let seconds = now.micros() / 1_000_000;
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("steward-delivery".to_owned(), delivery.id.to_string()),
        ];
        if let Some(secret) = &self.secret {
            let signed = signature(secret, seconds, &body);
            headers.push(("steward-signature".to_owned(), format!("t={seconds},v1={signed}")));
        }
        let request = Request {
            method: "POST".parse().map_err(|_| "the method cannot be used".to_owned())?,
            headers,
            body: body.into_bytes(),
            timeout: Some(TIMEOUT),
            ..Request::get(url)
        };
        let answer = self.client.fetch(request).await.map_err(|error| error.to_string())?;
        let receipt = format!("{} {}", answer.status.as_u16(), answer.final_url);
        if answer.status.is_success() { Ok(receipt) } else { Err(receipt) }
    }
}

/// HMAC-SHA256 over `SECONDS.BODY` in hexadecimal, for the receiver to compare.
#[must_use]
pub fn signature(secret: &str, seconds: i64, body: &str) -> String {
    const BLOCK: usize = 64;
    let mut key = [0_u8; BLOCK];
    let hashed;
    let bytes: &[u8] = if secret.len() > BLOCK {
        hashed = Sha256::digest(secret.as_bytes());
        &hashed
    } else {
        secret.as_bytes()
    };
    key.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    let pad = |with: u8| key.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(format!("{seconds}.{body}")).finalize();
    let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::signature;

    #[test]
    fn signatures_are_hmac_sha256() {
        // Python: hmac.new(b"key", b"1700000000.{}", "sha256").hexdigest()
        let known = "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae";
        assert_eq!(signature("key", 1_700_000_000, "{}"), known);
        // A key that is longer than a block.
        let long = "8dc72019a8a249d8f2d36e36fac06f4497511f4f50cfee8600a5d97fb8a91da5";
        assert_eq!(signature(&"k".repeat(100), 1, "x"), long);
    }
}
