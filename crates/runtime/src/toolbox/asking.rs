//! Questions on behalf of a user at a later time, with the user's current access rights.
//!
//! Invariant: the data of a domain is read with the caller's tables and row rules. Other data is
//! read only for the user who named it, or for an administrator.

use super::Toolbox;
use crate::ask::Ask;
use crate::error::{Error, Result};
use steward_domain::{Label, UserId};
use steward_policy::Caller;

impl Toolbox {
    /// A question for a user over data that another user may have named.
    pub fn question_for_caller(
        &self,
        caller: &Caller,
        named_by: &UserId,
        question: &str,
        data: &[String],
    ) -> Result<Ask> {
        let snapshot = self.registry().snapshot();
        let of_domains: Vec<&str> = (snapshot.domains.iter())
            .filter(|(_, field)| {
                let sources: Vec<String> = field.domain.data_sources.iter().map(Label::to_string).collect();
                data.iter().any(|named| sources.contains(named))
            })
            .map(|(name, _)| name.as_str())
            .collect();
        let denied = |reason: String| Error::NotAdmitted { user: caller.user.to_string(), reason };
        if let Some(domain) = of_domains.iter().find(|domain| !caller.asks(domain)) {
            return Err(denied(format!("the data of {domain} is not granted to them")));
        }
        if of_domains.is_empty() && caller.user != *named_by && !caller.administrator {
            return Err(denied("the data is another person's".to_owned()));
        }
        let (tables, rows) = match of_domains.as_slice() {
            [] => Default::default(),
            _ => (caller.tables.clone(), caller.rows.clone()),
        };
        let rules = self.rules();
        Ok(Ask {
            question: question.to_owned(),
            data: data.to_vec(),
            conversation: None,
            user: caller.user.clone(),
            deliver: Vec::new(),
            out: None,
            planner: None,
            tables,
            rows,
            policy: rules.policy.clone(),
            constraints: rules.constraints,
        })
    }

    /// The same for an absent user, with the user's current grants.
    pub fn ask_as(&self, user: &UserId, named_by: &UserId, data: &[String]) -> Result<Ask> {
        let caller = self.callers().now(user)?;
        self.question_for_caller(caller.held(), named_by, "", data)
    }
}
