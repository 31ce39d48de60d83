//! A look around before words are taken at their word: what there is, by the tools that show it.
//!
//! Who says "Bella has just come in" names something that only the application knows. So where
//! something may be named, the tools of the domain that list what there is are called, at the same
//! time and for a short while, and the words are read again with what they gave.
//!
//! Invariants
//! - Only tools that change nothing are called, through the gateway like every call: with the
//!   caller's grants, limits and journal.
//! - What they give is data. It says which words are names; it never becomes a wish.
//! - It is read anew for each message. What does not come in time is done without.

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

/// How long a look may take, and how many tools are called for it.
const LONGEST: Duration = Duration::from_millis(1500);
const MOST: usize = 24;
/// The domains that are looked at when it is not clear which is meant.
const DOMAINS: usize = 3;
/// How likely a domain must be.
const LIKELY: f64 = 0.15;

/// Whether something may be named that only an application knows.
pub(super) fn worth(opened: &Opened, understood: &Understood) -> bool {
    let said = opened.turn.said.as_str();
    let long = said.split_whitespace().count() > 2;
    let asks = |question: &Question| {
        matches!(question.why, QuestionKind::Entity | QuestionKind::Field | QuestionKind::Meaning)
    };
    match understood.kind {
        _ if matches!(understood.answered, Answered::Completed | Answered::Declined) => false,
        Kind::Help => false,
        // A statement in which nothing was recognised may still be about something that is there:
        // "Bella is here".
        Kind::Chat | Kind::OutOfScope => long && understood.found_nothing(),
        Kind::Act if understood.question.as_ref().is_some_and(asks) => true,
        Kind::Act => understood.steps.iter().any(|step| {
            step.tool().is_some()
                && (!step.read_only || step.target.is_some() || !step.arguments.is_empty() || names(said))
        }),
    }
}

/// Whether a word behind the first is written as a name or a number, or something is quoted.
fn names(said: &str) -> bool {
    let name =
        |word: &str| word.starts_with(char::is_uppercase) || word.contains(|c: char| c.is_ascii_digit());
    said.contains(['"', '“', '‘', '«']) || said.split_whitespace().skip(1).any(name)
}

/// Whether something is named that was not seen: before it is said not to be there, it is looked
/// for everywhere.
pub(super) fn unseen(opened: &Opened, understood: &Understood) -> bool {
    let named = |step: &Step| matches!(step.target, Some(Target::Named { .. }));
    match understood.kind {
        Kind::Act => understood.question.is_none() && understood.steps.iter().any(named),
        Kind::Chat | Kind::OutOfScope => understood.found_nothing() && names(&opened.turn.said),
        Kind::Help => false,
    }
}

/// Whether something that is named is to be changed. Another application may hold a record of the
/// same name.
pub(super) fn changes_by_name(understood: &Understood) -> bool {
    let named = |target: &Target| match target {
        Target::Named { .. } => true,
        Target::Known { things } => things.iter().any(|thing| thing.by.is_some()),
        Target::Id { .. } | Target::OfStep { .. } => false,
    };
    understood.steps.iter().any(|step| !step.read_only && step.target.as_ref().is_some_and(named))
}

impl ChatService {
    /// Looks around in some domains, and adds what is seen to what was seen before. Says whether
    /// anything was seen now.
    pub(super) async fn look_around(
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
            let result = self.through_the_desk(&request).await;
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
        // Thousands of things take their time.
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
    // With one application, there is nothing to choose.
    let mut all = opened.reader.domains();
    if let (Some(only), None, true) = (all.next(), all.next(), found.is_empty()) {
        found.push(only.name.clone());
    }
    found
}
