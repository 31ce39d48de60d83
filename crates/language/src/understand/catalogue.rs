//! The tools as the reader knows them: the action, the type of record, and the role of each field.
//! All of it is derived once from names, descriptions and schemas.

use super::lexicon::{root, same_noun_roots, singular};
use super::lexis::Lexis;
use super::prepare::{bracketed, held, prepare, shapes, types};
use super::text::{Text, Token, slip, swapped};
use super::types::Tool;
use super::verbs::{Class, verb_groups, verbs};
use crate::Encoder;
use crate::route::everyday;
use crate::words::{is_stop, name_words, words};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use steward_domain::DomainName;

/// The role of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The id of the record that is acted on.
    Id,
    /// Its name, if the id is not known.
    Selector,
    /// The name of a new record, or a new name.
    Title,
    /// Search words, or a whole question.
    Query,
    /// A longer text.
    Long,
    /// One of a list of values.
    Choice,
    /// A calendar day.
    Day,
    /// A time of day.
    Time,
    /// A number.
    Number,
    /// How many at most.
    Limit,
    /// Yes or no.
    Flag,
    /// Several words.
    Tags,
    /// An email address.
    Email,
    /// A phone number.
    Phone,
    /// Some other text.
    Open,
}

/// A field of a tool.
#[derive(Debug, Clone)]
pub(super) struct ToolField {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) role: Role,
    pub(super) choices: Vec<String>,
    /// The stems of each choice's description.
    pub(super) meant: Vec<BTreeSet<String>>,
    /// Example values in the description.
    pub(super) examples: Vec<String>,
    /// The words of its name, without "new".
    pub(super) words: Vec<String>,
    /// Stems of the content words of its description.
    pub(super) cues: BTreeSet<String>,
    /// The type of record that it refers to, if any.
    pub(super) of: Option<String>,
    /// Whether numbers are whole.
    pub(super) whole: bool,
    /// Whether it is a number at all.
    pub(super) number: bool,
    /// Whether it holds a person's name.
    pub(super) person: bool,
    /// For booleans: stems of the descriptions of true and false.
    pub(super) yes: BTreeSet<String>,
    pub(super) no: BTreeSet<String>,
}

/// A tool, prepared.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) tool: Tool,
    /// The stem of the verb in its name, with its particle: "check out".
    pub(super) verb: String,
    /// The two parts of a verb of two words.
    pub(super) phrase: Option<(String, String)>,
    /// Verb groups that only its description mentions.
    pub(super) hinted: BTreeSet<&'static str>,
    /// Stems of nouns in its name that are not a type of record: `record_mileage`.
    pub(super) nouns: BTreeSet<String>,
    /// The stem of the verb that its description starts with.
    pub(super) told: String,
    pub(super) groups: BTreeSet<&'static str>,
    pub(super) class: Class,
    /// The type it acts on or returns.
    pub(super) entity: Option<String>,
    /// The type of its result, if different.
    pub(super) gives: Option<String>,
    /// Stems of the content words of its description.
    pub(super) telling: BTreeSet<String>,
    pub(super) fields: Vec<ToolField>,
    pub(super) vector: Option<Arc<[f32]>>,
    /// Whether its only argument is a question in plain language.
    pub(super) free: bool,
}

impl Prepared {
    pub(super) fn field(&self, role: Role) -> Option<&ToolField> {
        self.fields.iter().find(|field| field.role == role)
    }

    pub(super) fn named(&self, name: &str) -> Option<&ToolField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field for the record it acts on: the id before the name.
    pub(super) fn target(&self) -> Option<&ToolField> {
        self.field(Role::Id).or_else(|| self.field(Role::Selector))
    }

    /// The field for an existing record of another type.
    pub(super) fn refers(&self) -> Option<&ToolField> {
        let there = |field: &&ToolField| field.of.is_some() && field.role == Role::Open;
        self.fields
            .iter()
            .filter(there)
            .find(|field| field.required)
            .or_else(|| self.fields.iter().find(there))
    }
}

/// A type of record with its synonyms.
#[derive(Debug, Clone, Default)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) root: String,
    pub(super) domain: Option<DomainName>,
    pub(super) synonyms: BTreeSet<String>,
}

/// All tools.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    pub(super) tools: Vec<Prepared>,
    pub(super) types: Vec<Type>,
    /// Stems of words for a collection: "list", "notebook", "pipeline".
    pub(super) containers: BTreeSet<String>,
    /// Values that schemas list, in lower case.
    pub(super) listed: BTreeSet<String>,
    pub(super) lexis: Lexis,
    verbs: BTreeSet<String>,
}

impl Catalogue {
    pub(super) fn new(encoder: &Encoder, tools: Vec<Tool>, titles: &BTreeMap<DomainName, String>) -> Self {
        let types = types(&tools);
        let shapes = shapes(&tools, &types);
        let mut prepared: Vec<Prepared> =
            tools.into_iter().map(|tool| prepare(encoder, tool, &types, &shapes)).collect();
        // A name in brackets after the type's name is a synonym.
        let mut types: Vec<Type> = types;
        for kind in &mut types {
            for tool in prepared.iter().filter(|tool| tool.tool.domain == kind.domain) {
                kind.synonyms.extend(bracketed(&tool.tool.description, &kind.name));
            }
        }
        share(&mut prepared);
        own_before_hints(&mut prepared);
        let mut containers: BTreeSet<String> = types.iter().map(|kind| root(&kind.name)).collect();
        for tool in &prepared {
            containers.extend(held(&tool.tool.description));
        }
        for (name, title) in titles {
            containers.extend(words(title).iter().filter(|word| !word.stop).map(|word| root(&word.lower)));
            containers.extend(name_words(name).iter().map(|word| root(word)));
        }
        let mut known: BTreeSet<String> =
            prepared.iter().flat_map(|tool| [tool.verb.clone(), tool.told.clone()]).collect();
        known.extend(prepared.iter().filter_map(|tool| tool.phrase.as_ref().map(|(verb, _)| verb.clone())));
        prepared.sort_by(|a, b| a.tool.name.cmp(&b.tool.name));
        let fields = prepared.iter().flat_map(|tool| &tool.fields);
        let listed = fields.flat_map(|field| &field.choices).map(|choice| choice.to_lowercase()).collect();
        let lexis = Lexis::new(&prepared);
        Self { tools: prepared, types, containers, listed, lexis, verbs: known }
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Prepared> {
        self.tools.iter().find(|tool| tool.tool.name == name)
    }

    /// The types that a noun names, exact matches first.
    pub(super) fn types_of(&self, noun: &str) -> Vec<&Type> {
        let wanted = root(noun);
        let exact: Vec<&Type> = self.types.iter().filter(|kind| kind.root == wanted).collect();
        if !exact.is_empty() {
            return exact;
        }
        let listed: Vec<&Type> = self.types.iter().filter(|kind| kind.synonyms.contains(&wanted)).collect();
        if !listed.is_empty() {
            return listed;
        }
        self.types.iter().filter(|kind| same_noun_roots(&kind.root, &wanted)).collect()
    }

    /// Whether a word can start a request here.
    pub(super) fn is_verb(&self, root: &str) -> bool {
        !verb_groups(root).is_empty() || self.verbs.contains(root)
    }

    /// Whether a verb is specific to a tool, beyond create, read, update and delete.
    pub(super) fn special(&self, root: &str) -> bool {
        let plain = ["create", "read", "list", "search", "update", "delete"];
        let groups: Vec<&str> = verb_groups(root).iter().map(|(group, _)| *group).collect();
        self.tools.iter().any(|tool| {
            tool.verb == root
                || tool
                    .groups
                    .iter()
                    .chain(&tool.hinted)
                    .any(|group| groups.contains(group) && !plain.contains(group))
        })
    }

    /// Corrects spelling: the verb that opens a segment, and nouns that name a type of record.
    pub(super) fn mend(&self, text: &mut Text, heads: &[usize]) {
        // "Sign-up" if the type is called `signup`.
        let joined = |pair: &[Token]| match pair {
            [a, b] if !a.quoted && b.start == a.end + 1 => {
                let word = format!("{}{}", a.lower, b.lower);
                let kind = |kind: &Type| kind.name == word || kind.name == singular(&word);
                (text.raw.get(a.end..b.start) == Some("-") && self.types.iter().any(kind))
                    .then_some((a.start, b.end, word))
            }
            _ => None,
        };
        let mut joins: Vec<(usize, usize, String)> = text.tokens.windows(2).filter_map(joined).collect();
        joins.dedup_by(|next, before| next.0 < before.1);
        for (start, end, word) in joins {
            text.join(start, end, &word);
        }
        let mut right: Vec<(usize, String)> = Vec::new();
        for (at, token) in text.tokens.iter().enumerate().filter(|(_, token)| !token.quoted && !token.capital)
        {
            if token.lower.chars().any(char::is_numeric) || is_stop(&token.lower) {
                continue;
            }
            let head = heads.contains(&token.start) && !self.is_verb(&token.root);
            let noun = || {
                self.types
                    .iter()
                    .flat_map(|kind| [kind.name.clone(), format!("{}s", kind.name)])
                    .find(|name| slip(&token.lower, name))
            };
            let known = !self.types_of(&token.lower).is_empty();
            // In a short word a wrong letter may well be another word: "flat" is not "flag".
            let verb = || {
                verbs().find(|verb| {
                    slip(&token.lower, verb)
                        && (verb.len() != token.lower.len() || verb.len() > 5 || swapped(&token.lower, verb))
                })
            };
            let own = || self.lexis.meant(&token.lower, &token.root);
            if head && let Some(verb) = verb() {
                right.push((at, verb.to_owned()));
            } else if !known
                && !verbs().any(|verb| verb == token.lower || root(verb) == token.root)
                && !everyday(&token.lower)
                && let Some(word) = own()
            {
                right.push((at, word.to_owned()));
            } else if !known
                && token.lower.len() >= 4
                && !verbs().any(|verb| verb == token.lower)
                && !everyday(&token.lower)
                && let Some(noun) = noun()
            {
                right.push((at, noun));
            }
        }
        for (at, word) in right {
            text.mend(at, &word);
        }
    }
}

/// A verb group that is specific to one tool is not a hint for the others of its domain.
fn own_before_hints(tools: &mut [Prepared]) {
    let own: BTreeSet<(Option<DomainName>, &'static str)> = tools
        .iter()
        .flat_map(|tool| tool.groups.iter().map(|group| (tool.tool.domain.clone(), *group)))
        .collect();
    for tool in tools {
        let domain = tool.tool.domain.clone();
        tool.hinted.retain(|group| !own.contains(&(domain.clone(), *group)));
    }
}

/// The description of a field also applies to fields of the same name in the other tools of its
/// domain.
fn share(tools: &mut [Prepared]) {
    type FieldNotes = (Vec<String>, BTreeSet<String>);
    let mut known: BTreeMap<(Option<DomainName>, String), FieldNotes> = BTreeMap::new();
    for tool in tools.iter() {
        for field in &tool.fields {
            let (examples, cues) =
                known.entry((tool.tool.domain.clone(), singular(&field.name))).or_default();
            examples.extend(field.examples.iter().cloned());
            cues.extend(field.cues.iter().cloned());
        }
    }
    for tool in tools {
        for field in &mut tool.fields {
            if let Some((examples, cues)) = known.get(&(tool.tool.domain.clone(), singular(&field.name))) {
                field.examples.clone_from(examples);
                field.cues.clone_from(cues);
            }
        }
    }
}
