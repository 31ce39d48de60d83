//! The types of records that a clause names, and their evidence for a tool.

use super::catalogue::{Catalogue, Prepared};
use super::fill::{Filled, is_determiner};
use super::ground::Ground;
use super::lexicon::{is_generic, is_person, plural, singular};
use super::text::Token;
use super::verbs::{Class, verb_groups};
use steward_domain::DomainName;

/// The types of records that a clause names.
pub(super) struct Kinds {
    /// In order: the type's name, its domain, whether it is in the plural.
    pub(super) said: Vec<(String, Option<DomainName>, bool)>,
    pub(super) several: bool,
    pub(super) person: bool,
    /// "A book called …": indefinite.
    pub(super) indefinite: bool,
    pub(super) proper: bool,
    /// Stems of the content words, with the groups of each verb among them.
    pub(super) roots: Vec<(String, Vec<&'static str>)>,
}

/// Whether the first word is the verb of a tool, and not the noun of the same form.
fn opens(catalogue: &Catalogue, head: &Token, next: Option<&Token>) -> bool {
    let exact =
        catalogue.types.iter().any(|kind| kind.name == head.lower || singular(&head.lower) == kind.name);
    let numbered = next.is_some_and(|next| next.lower.starts_with(|c: char| c.is_ascii_digit()));
    !exact && !numbered && catalogue.tools.iter().any(|tool| tool.verb == head.root)
}

impl Kinds {
    pub(super) fn read(catalogue: &Catalogue, tokens: &[&Token], ground: &Ground<'_>) -> Self {
        let mut said: Vec<(String, Option<DomainName>, bool)> = Vec::new();
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| !token.quoted) {
            // A capital in the middle is part of a name.
            let named = ground.at(token.start).is_some_and(|mention| mention.whole);
            if (token.capital && at > 0) || is_determiner(&token.lower) || named {
                continue;
            }
            // In "Book Ann in for Friday", "book" is not a noun.
            if at == 0 && opens(catalogue, token, tokens.get(1).copied()) {
                continue;
            }
            // "How many notes does each tag have" is about tags.
            let each = at
                .checked_sub(1)
                .and_then(|at| tokens.get(at))
                .is_some_and(|before| ["each", "every", "per"].contains(&before.lower.as_str()));
            // "Who is Ann" asks for one.
            let many = plural(&token.lower)
                && !(token.lower == "who"
                    && tokens.get(at + 1).is_some_and(|next| ["is", "was"].contains(&next.lower.as_str())));
            for kind in catalogue.types_of(&token.lower) {
                if each {
                    said.retain(|(name, domain, _)| *name != kind.name || *domain != kind.domain);
                    said.insert(0, (kind.name.clone(), kind.domain.clone(), true));
                }
                if !said.iter().any(|(name, domain, _)| *name == kind.name && *domain == kind.domain) {
                    said.push((kind.name.clone(), kind.domain.clone(), many));
                }
            }
        }
        let several = tokens.iter().any(|token| {
            !token.quoted
                && (is_generic(&token.lower) && plural(&token.lower)
                    || ["everything", "all", "stuff", "any"].contains(&token.lower.as_str()))
        });
        let person = tokens
            .iter()
            .any(|token| ["he", "she", "him", "her", "his", "hers"].contains(&token.lower.as_str()));
        let proper = tokens.windows(2).any(|pair| matches!(pair, [a, b] if a.capital && b.capital && !a.quoted && !b.quoted && b.start - a.end == 1));
        // Indefinite: "A ticket", "a low priority ticket", "new appointment".
        let indefinite = (0..tokens.len()).any(|at| {
            let article = tokens
                .get(at)
                .is_some_and(|token| ["a", "an", "any", "another", "new"].contains(&token.lower.as_str()));
            let noun = |at: usize| {
                tokens.get(at).is_some_and(|token| {
                    !plural(&token.lower) && !catalogue.types_of(&token.lower).is_empty()
                })
            };
            let plain = |at: usize| tokens.get(at).is_some_and(|token| !token.stop && !token.capital);
            article
                && (noun(at + 1)
                    || (plain(at + 1) && noun(at + 2))
                    || (plain(at + 1) && plain(at + 2) && noun(at + 3)))
        });
        let telling = |token: &&&Token| {
            !token.stop && !token.quoted && !token.capital && catalogue.types_of(&token.lower).is_empty()
        };
        let roots = tokens
            .iter()
            .filter(telling)
            .map(|token| {
                (token.root.clone(), verb_groups(&token.root).iter().map(|(group, _)| *group).collect())
            })
            .collect();
        Self { said, several, person, indefinite, proper, roots }
    }

    /// The overlap of the clause with a tool's description.
    pub(super) fn told(&self, tool: &Prepared) -> f32 {
        let plain = ["create", "read", "list", "search", "update", "delete", "move"];
        let shares = |groups: &[&'static str]| {
            tool.telling.iter().any(|word| {
                verb_groups(word).iter().any(|(group, _)| groups.contains(group) && !plain.contains(group))
            })
        };
        let said =
            self.roots.iter().filter(|(root, groups)| tool.telling.contains(root) || shares(groups)).count();
        said.min(3) as f32
    }

    pub(super) fn speak(&self, tool: &Prepared, filled: &Filled) -> f32 {
        let entity = tool.entity.as_deref().unwrap_or_default();
        let is =
            |name: &String| name == entity || (tool.gives.as_ref() == Some(name) && tool.target().is_none());
        let place = self.said.iter().position(|(name, domain, _)| is(name) && *domain == tool.tool.domain);
        let of_field = tool
            .fields
            .iter()
            .any(|field| field.of.as_ref().is_some_and(|of| self.said.iter().any(|(name, ..)| name == of)));
        let named_field = tool.fields.iter().any(|field| {
            field.words.iter().any(|word| {
                self.said
                    .iter()
                    .any(|(name, ..)| name == word || plural(word) && word.starts_with(name.as_str()))
            })
        });
        let choice = filled.arguments.iter().any(|(name, argument)| {
            let listed = tool.named(name).is_some_and(|field| !field.choices.is_empty());
            listed
                && argument
                    .value
                    .as_str()
                    .is_some_and(|value| self.said.iter().any(|(kind, ..)| kind == value))
        });
        let mut points = match place {
            Some(0) => 2.5,
            Some(_) => 1.2,
            None if choice => 1.5,
            None if of_field || named_field => 0.6,
            None if !self.said.is_empty() => -2.0,
            None => 0.0,
        };
        let many = place.and_then(|place| self.said.get(place)).is_some_and(|(.., many)| *many)
            || (place.is_none() && self.several);
        let one = place.and_then(|place| self.said.get(place)).is_some_and(|(.., many)| !*many);
        let lists = matches!(tool.class, Class::List | Class::Search);
        points += match tool.class {
            _ if many && lists => 1.0,
            Class::Read if many && place.is_some() => -1.5,
            Class::List if one && filled.arguments.is_empty() => -1.0,
            Class::Read if self.indefinite => -2.0,
            Class::Read if one => 0.5,
            _ => 0.0,
        };
        if is_person(entity) {
            points += if self.person { 1.2 } else { 0.0 }
                + if self.proper && self.said.is_empty() && tool.target().is_some() { 0.6 } else { 0.0 };
        }
        points
    }
}
