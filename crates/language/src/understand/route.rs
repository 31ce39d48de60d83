//! Questions that are passed to a domain unchanged: to one without tools, or to the single tool
//! that takes a question in plain language.

use super::Reader;
use super::catalogue::{Prepared, Role};
use super::text::Text;
use super::types::{Act, Argument, Step};
use super::wish::{Clause, points_back};
use crate::route::Understanding;
use serde_json::json;
use std::collections::BTreeMap;
use steward_domain::{Confidence, DomainName, IntentKind};

/// The routing of a part of an utterance.
pub(super) struct Routed {
    pub(super) domains: BTreeMap<DomainName, f32>,
    understanding: Option<Understanding>,
}

/// Routes a part of an utterance, if there are several domains.
pub(super) fn route(reader: &Reader, part: &str) -> Routed {
    let Some(router) = &reader.router else {
        return Routed { domains: BTreeMap::new(), understanding: None };
    };
    let understanding = router.understand(part);
    let domains =
        understanding.domains.iter().map(|(name, share)| (name.clone(), share.get() as f32)).collect();
    Routed { domains, understanding: Some(understanding) }
}

/// The tool of a domain that takes a question in plain language.
fn free<'a>(reader: &'a Reader, domain: &DomainName) -> Option<&'a Prepared> {
    reader.catalogue.tools.iter().find(|tool| {
        tool.free && tool.tool.domain.as_ref() == Some(domain) && tool.field(Role::Query).is_some()
    })
}

/// Whether a domain is queried rather than acted on.
fn is_asked(reader: &Reader, domain: &DomainName) -> bool {
    let acts = |tool: &&Prepared| tool.tool.domain.as_ref() == Some(domain);
    free(reader, domain).is_some() || reader.catalogue.tools.iter().filter(acts).count() == 0
}

/// The steps of a clause that is passed to domains unchanged.
pub(super) fn asked(
    reader: &Reader,
    text: &Text,
    clause: &Clause,
    routed: &Routed,
    earlier: &[Step],
) -> Option<Vec<Step>> {
    let understanding = routed.understanding.as_ref()?;
    let domain = understanding.domain()?;
    if !is_asked(reader, domain) {
        return None;
    }
    let said = text.slice(clause.start, clause.end).trim();
    let after = if points_back(text.plain.get(clause.start..clause.end)?) && !earlier.is_empty() {
        vec![earlier.len() - 1]
    } else {
        Vec::new()
    };
    let joined: Vec<&DomainName> =
        understanding.joined.iter().filter(|name| is_asked(reader, name)).collect();
    if joined.len() < 2 {
        return Some(vec![step(reader, domain, said, understanding, after)]);
    }
    // Each part is routed separately; a part without a domain goes with the preceding one.
    let mut parts: Vec<(DomainName, String)> = Vec::new();
    for part in split(said) {
        let home = reader
            .router
            .as_ref()
            .map(|router| router.understand(part))
            .and_then(|found| found.domain().cloned());
        match (parts.last_mut(), home) {
            (Some((last, words)), home) if home.is_none() || home.as_ref() == Some(last) => {
                words.push_str(" and ");
                words.push_str(part);
            }
            (_, Some(home)) => parts.push((home, part.to_owned())),
            (_, None) => parts.push((domain.clone(), part.to_owned())),
        }
    }
    Some(
        parts
            .iter()
            .map(|(domain, words)| step(reader, domain, words, understanding, after.clone()))
            .collect(),
    )
}

fn split(said: &str) -> Vec<&str> {
    said.split(" and ")
        .flat_map(|part| part.split("; "))
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

fn step(
    reader: &Reader,
    domain: &DomainName,
    said: &str,
    understanding: &Understanding,
    after: Vec<usize>,
) -> Step {
    let mut arguments = BTreeMap::new();
    let tool = free(reader, domain);
    if let Some(field) = tool.and_then(|tool| tool.field(Role::Query)) {
        let reason = "the question goes on as it was asked".to_owned();
        arguments.insert(field.name.clone(), Argument { value: json!(said), span: None, reason });
    }
    Step {
        act: tool.map_or(Act::Ask, |tool| Act::Call { tool: tool.tool.name.clone() }),
        confidence: understanding.confidence,
        arguments,
        after,
        reasons: understanding.reasons.clone(),
        ..asking(domain, said)
    }
}

/// A step that queries a domain with this text.
pub(super) fn asking(domain: &DomainName, said: &str) -> Step {
    Step {
        domain: Some(domain.clone()),
        act: Act::Ask,
        said: said.to_owned(),
        intent: Some(IntentKind::Analyze),
        confidence: Confidence::default(),
        arguments: BTreeMap::new(),
        target: None,
        target_field: None,
        also: Vec::new(),
        missing: Vec::new(),
        after: Vec::new(),
        destructive: false,
        read_only: true,
        alternatives: Vec::new(),
        otherwise: Vec::new(),
        reasons: Vec::new(),
    }
}
