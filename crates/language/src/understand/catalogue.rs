//! The tools as the reader knows them: what each does to which type of thing, and what its fields
//! are for. All of it is read from names, descriptions and schemas, once.

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

/// What a field is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The id of what is acted on.
    Id,
    /// Its name, where the id is not known.
    Selector,
    /// The name that a new thing gets, or the new name of one.
    Title,
    /// Words to look for, or a whole question.
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
    /// An address of mail.
    Email,
    /// A number of a telephone.
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
    /// What descriptions say of each of them, by roots.
    pub(super) meant: Vec<BTreeSet<String>>,
    /// Values that the description gives as examples.
    pub(super) examples: Vec<String>,
    /// The words of its name, without "new".
    pub(super) words: Vec<String>,
    /// Roots of the telling words of its description.
    pub(super) cues: BTreeSet<String>,
    /// The type of thing that it names, when it names one.
    pub(super) of: Option<String>,
    /// Whether numbers are whole.
    pub(super) whole: bool,
    /// Whether it is a number at all.
    pub(super) number: bool,
    /// Whether it names a person.
    pub(super) person: bool,
    /// For yes or no: roots of what its description says of each.
    pub(super) yes: BTreeSet<String>,
    pub(super) no: BTreeSet<String>,
}

/// A tool, prepared.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) tool: Tool,
    /// The root of the verb in its name, with the small word that belongs to it: "check out".
    pub(super) verb: String,
    /// The two parts of a verb of two words.
    pub(super) phrase: Option<(String, String)>,
    /// Groups of verbs that only its description speaks for.
    pub(super) hinted: BTreeSet<&'static str>,
    /// Roots of the nouns of its name that are no type of thing: `record_mileage`.
    pub(super) nouns: BTreeSet<String>,
    /// The root of the verb that its description opens with.
    pub(super) told: String,
    pub(super) groups: BTreeSet<&'static str>,
    pub(super) class: Class,
    /// What it acts on or gives.
    pub(super) entity: Option<String>,
    /// What its result consists of, where that is another type.
    pub(super) gives: Option<String>,
    /// Roots of the telling words of its description.
    pub(super) telling: BTreeSet<String>,
    pub(super) fields: Vec<ToolField>,
    pub(super) vector: Option<Arc<[f32]>>,
    /// Whether all it takes is a question in plain words.
    pub(super) free: bool,
}

impl Prepared {
    pub(super) fn field(&self, role: Role) -> Option<&ToolField> {
        self.fields.iter().find(|field| field.role == role)
    }

    pub(super) fn named(&self, name: &str) -> Option<&ToolField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field that takes what it acts on: the id before the name.
    pub(super) fn target(&self) -> Option<&ToolField> {
        self.field(Role::Id).or_else(|| self.field(Role::Selector))
    }

    /// The field for a thing of another type that must be there already.
    pub(super) fn refers(&self) -> Option<&ToolField> {
        let there = |field: &&ToolField| field.of.is_some() && field.role == Role::Open;
        self.fields
            .iter()
            .filter(there)
            .find(|field| field.required)
            .or_else(|| self.fields.iter().find(there))
    }
}

/// A type of thing with what else it is called.
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
    /// Roots of words that name the whole of something: "list", "notebook", "pipeline".
    pub(super) containers: BTreeSet<String>,
    /// Values that schemas list, in small letters.
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
        // What a thing is called in brackets behind its name is another name of it.
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

    /// The types that a noun names, the exact name first.
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

    /// Whether a word can open a wish here.
    pub(super) fn is_verb(&self, root: &str) -> bool {
        !verb_groups(root).is_empty() || self.verbs.contains(root)
    }

    /// Whether a verb is the own verb of a tool, beyond making, showing, changing and deleting.
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

    /// Mends what is misspelt: the verb that opens a segment, and nouns that name a type of thing.
    pub(super) fn mend(&self, text: &mut Text, heads: &[usize]) {
        // "Sign-up" where things are called `signup`.
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
            // A wrong letter in a short word may well be another word: "flat" is no "flag".
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

/// A group that is the own one of a tool is no hint for the others of its domain.
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

/// What one tool says of a field holds for the field of that name in the others of its domain, too.
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
