//! For whom a task is carried out: the person who started it, with what they hold now.
//!
//! Invariants
//! - A call of a task is made by a [`CurrentCaller`], and only [`Callers::now`] makes one. It reads
//!   the person's grants at that moment, so a grant that was taken away counts from the next call
//!   on, however long the task has been running.
//! - A person who is disabled or no longer set up has none: what runs for them stops with that
//!   reason, and what waits for a decision is not carried out.

use crate::error::{Error, Result};
use std::sync::Arc;
use steward_domain::{JsonObject, UserId};
use steward_policy::Caller;
use steward_tools::call::Request;
use steward_tools::registry::Registry;

/// Knows what people hold.
pub trait Grants: Send + Sync {
    /// What a person holds now, or why they may not use this Steward.
    fn of(&self, user: &UserId, registry: &Registry) -> std::result::Result<Caller, String>;
}

/// Resolves people to what they hold now.
#[derive(Clone)]
pub struct Callers {
    grants: Arc<dyn Grants>,
    registry: Registry,
}

/// A person with the grants of this moment. It is made for one call and not kept.
#[derive(Debug)]
pub struct CurrentCaller(Caller);

impl Callers {
    pub(crate) fn new(grants: Arc<dyn Grants>, registry: Registry) -> Self {
        Self { grants, registry }
    }

    /// What a person holds at this moment.
    pub fn now(&self, user: &UserId) -> Result<CurrentCaller> {
        match self.grants.of(user, &self.registry) {
            Ok(caller) => Ok(CurrentCaller(Caller { user: user.clone(), ..caller })),
            Err(reason) => Err(Error::NotAdmitted { user: user.to_string(), reason }),
        }
    }
}

impl CurrentCaller {
    /// What they hold at this moment.
    pub(crate) fn held(&self) -> &Caller {
        &self.0
    }

    /// A call of theirs.
    pub(crate) fn request(self, tool: impl Into<String>, arguments: JsonObject) -> Request {
        Request::new(self.0, tool, arguments)
    }
}
