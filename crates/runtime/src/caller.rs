//! The user on whose behalf a task runs, with the user's current grants.
//!
//! Invariants
//! - A call of a task is made by a [`CurrentCaller`], and only [`Callers::now`] creates one. It
//!   reads the user's current grants, so a revoked grant is effective from the next call on,
//!   however long the task has been running.
//! - A disabled or removed user has no grants: their running tasks stop with that reason, and their
//!   waiting calls are not executed.

use crate::error::{Error, Result};
use std::sync::Arc;
use steward_domain::{JsonObject, UserId};
use steward_policy::Caller;
use steward_tools::call::Request;
use steward_tools::registry::Registry;

/// Resolves the grants of users.
pub trait Grants: Send + Sync {
    /// The current grants of a user, or why the user may not use this Steward.
    fn of(&self, user: &UserId, registry: &Registry) -> std::result::Result<Caller, String>;

    /// Whether this user may decide on an approval: by one of these roles, or by these tools if
    /// there are no roles. By default an administrator may.
    fn may_decide(&self, user: &UserId, registry: &Registry, roles: &[String], tools: &[&str]) -> bool {
        let _an_administrator_needs_neither = (roles, tools);
        self.of(user, registry).is_ok_and(|caller| caller.administrator)
    }
}

/// Resolves users to their current grants.
#[derive(Clone)]
pub struct Callers {
    grants: Arc<dyn Grants>,
    registry: Registry,
}

/// A user with current grants. It is created for one call and not stored.
#[derive(Debug)]
pub struct CurrentCaller(Caller);

impl Callers {
    pub(crate) fn new(grants: Arc<dyn Grants>, registry: Registry) -> Self {
        Self { grants, registry }
    }

    /// Whether this user may decide on an approval now.
    #[must_use]
    pub fn may_decide(&self, user: &UserId, roles: &[String], tools: &[&str]) -> bool {
        self.grants.may_decide(user, &self.registry, roles, tools)
    }

    /// The user with current grants.
    pub fn now(&self, user: &UserId) -> Result<CurrentCaller> {
        match self.grants.of(user, &self.registry) {
            Ok(caller) => Ok(CurrentCaller(Caller { user: user.clone(), ..caller })),
            Err(reason) => Err(Error::NotAdmitted { user: user.to_string(), reason }),
        }
    }
}

impl CurrentCaller {
    /// The grants.
    pub(crate) fn held(&self) -> &Caller {
        &self.0
    }

    /// A call on behalf of this user.
    pub(crate) fn request(self, tool: impl Into<String>, arguments: JsonObject) -> Request {
        Request::new(self.0, tool, arguments)
    }
}
