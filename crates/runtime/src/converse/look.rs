//! Prefetch of records: lists existing records by tool calls before a message is interpreted.
//!
//! A message such as "Bella has just come in" names something that only the application knows. So
//! when a message may name a record, the list tools of its domain are called, in parallel and with
//! a short timeout, and the message is read again with their results.
//!
//! Invariants
//! - Only read-only tools are called, through the gateway like every call: with the caller's
//!   grants, limits and journal.
//! - Their results are data. They say which words are names; they never become a request.
//! - They are read again for each message. Results after the timeout are ignored.

use super::call::{Call, value_of};
use super::{ChatService, Opened};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{DomainName, TaskId};
use steward_language::understand::{
    Answered, Kind, Lookup, Question, QuestionKind, Step, Target, Understood,
};
use steward_tools::Context;
use steward_tools::call::Request;

/// The timeout of a prefetch, and the maximum number of tools that it calls.
const LONGEST: Duration = Duration::from_millis(1500);
const MOST: usize = 24;
/// The maximum number of domains when the domain is not clear.
const DOMAINS: usize = 3;
/// The minimum probability of a domain.
const LIKELY: f64 = 0.15;

/// Whether a message may name a record that only an application knows.
pub(super) fn worth(opened: &Opened, understood: &Understood) -> bool {
    let said = opened.turn.said.as_str();
    let long = said.split_whitespace().count() > 2;
    let asks = |question: &Question| {
        matches!(question.why, QuestionKind::Entity | QuestionKind::Field | QuestionKind::Meaning)
    };
    match understood.kind {
        _ if matches!(understood.answered, Answered::Completed | Answered::Declined) => false,
        Kind::Help => false,
        // A statement without a recognised request may still name an existing record: "Bella is
        // here".
        Kind::Chat | Kind::OutOfScope => long && understood.found_nothing(),
        Kind::Act if understood.question.as_ref().is_some_and(asks) => true,
        Kind::Act => understood.steps.iter().any(|step| {
            step.tool().is_some()
                && (!step.read_only || step.target.is_some() || !step.arguments.is_empty() || names(said))
        }),
    }
}

/// Whether a word after the first looks like a name or a number, or something is quoted.
fn names(said: &str) -> bool {
    let name =
        |word: &str| word.starts_with(char::is_uppercase) || word.contains(|c: char| c.is_ascii_digit());
    said.contains(['"', '“', '‘', '«']) || said.split_whitespace().skip(1).any(name)
}

/// Whether a named record was not found: then all other domains are searched, too.
pub(super) fn unseen(opened: &Opened, understood: &Understood) -> bool {
    let named = |step: &Step| matches!(step.target, Some(Target::Named { .. }));
    match understood.kind {
        Kind::Act => understood.question.is_none() && understood.steps.iter().any(named),
        Kind::Chat | Kind::OutOfScope => understood.found_nothing() && names(&opened.turn.said),
        Kind::Help => false,
    }
}

/// Whether a record identified by name is to be changed. Another application may have a record of
/// the same name.
pub(super) fn changes_by_name(understood: &Understood) -> bool {
    let named = |target: &Target| match target {
        Target::Named { .. } => true,
        Target::Known { things } => things.iter().any(|thing| thing.by.is_some()),
        Target::Id { .. } | Target::OfStep { .. } => false,
    };
    understood.steps.iter().any(|step| !step.read_only && step.target.as_ref().is_some_and(named))
}

impl ChatService {
    /// Lists the records of some domains and adds them to the known ones. Returns whether any were
    /// found.
    pub(super) async fn prefetch_records(
        &self,
        opened: &mut Opened,
        domains: &[DomainName],
        task: TaskId,
    ) -> bool {
        let spent = self.app().clock.monotonic().saturating_sub(opened.began);
        let time = (self.limits.answer.saturating_sub(spent) / 4).min(LONGEST);
        let lookups: Vec<Lookup> =
            domains.iter().flat_map(|domain| opened.reader.survey(domain)).take(MOST).collect();
        let looks = lookups.into_iter().map(|lookup| async {
            let mut request =
                Request::new(opened.turn.caller.clone(), &lookup.tool, lookup.arguments.clone());
            request.chain = Some(task.into());
            request.context = Context::within(time);
            let at = self.app().clock.now();
            let result = self.call_gateway(&request).await;
            let call = Call { tool: lookup.tool.clone(), arguments: lookup.arguments.clone(), at, result };
            (lookup, call)
        });
        let (mut shown, mut calls) = (Vec::new(), Vec::new());
        for (lookup, call) in futures_util::future::join_all(looks).await {
            if let Ok(receipt) = &call.result {
                shown.push((lookup, value_of(&receipt.output)));
            }
            calls.push(call);
        }
        // Collecting thousands of records takes time, so it runs on a blocking thread.
        let reader = opened.reader.clone();
        let world = tokio::task::spawn_blocking(move || reader.gather(&shown)).await.unwrap_or_default();
        let seen = !world.is_empty();
        opened.world = Arc::new(opened.world.iter().cloned().chain(world).collect());
        opened.looked.extend(calls.into_iter().map(Arc::new));
        seen
    }
}

/// All other domains.
pub(super) fn elsewhere(opened: &Opened, looked: &[DomainName]) -> Vec<DomainName> {
    opened.reader.domains().map(|topic| topic.name.clone()).filter(|name| !looked.contains(name)).collect()
}

/// The domains of the steps, and the likeliest ones.
pub(super) fn domains(opened: &Opened, understood: &Understood) -> Vec<DomainName> {
    let mut found: Vec<DomainName> = Vec::new();
    for domain in understood.steps.iter().filter_map(|step| step.domain.clone()) {
        if !found.contains(&domain) {
            found.push(domain);
        }
    }
    let likely =
        understood.domains.iter().filter(|(_, share)| share.get() >= LIKELY).map(|(domain, _)| domain);
    for domain in likely.take(DOMAINS) {
        if found.len() < DOMAINS && !found.contains(domain) {
            found.push(domain.clone());
        }
    }
    // With a single domain there is nothing to choose.
    let mut all = opened.reader.domains();
    if let (Some(only), None, true) = (all.next(), all.next(), found.is_empty()) {
        found.push(only.name.clone());
    }
    found
}
