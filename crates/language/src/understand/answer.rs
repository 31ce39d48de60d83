//! Interprets the answer to a clarifying question: a choice by name, number or position, a value,
//! yes, no. Anything else is a new request.

use super::Reader;
use super::catalogue::{Prepared, Role, ToolField};
use super::fill::fill_alone;
use super::lexicon::root;
use super::place::{ListPosition, place};
use super::plan::finish;
use super::steps::ask_field;
use super::text::Text;
use super::types::{
    Act, Answered, Argument, Choice, Kind, Pending, QuestionKind, RecordRef, Step, Target, TurnContext,
    Understood,
};
use super::values::choice_at;
use super::wish::{Clause, clauses, is};
use crate::pattern::pattern;
use crate::words::words;
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static DECLINES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:no|nope|nah|never ?mind|forget (?:it|that|about it)|cancel(?: (?:it|that))?|stop|leave it|none(?: of (?:them|these|those))?|neither|nothing|don't|do not|skip it|abort|no thanks|no thank you)\b\W*(?:thanks|thank you|please|it|then)?\W*$",
    )
});
static AGREES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:yes|yep|yeah|yup|sure|ok|okay|right|correct|exactly|do it|go ahead|please do|that one|that's (?:it|right)|this one|it)\b\W*(?:please|thanks)?\W*$",
    )
});

/// "The second one, please": a position and nothing else. With a verb it is a new request.
static ONLY_A_PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:(?:i mean|i meant|take|choose|pick|use|it's|it is|that's|make it|yes|ok|please|just) )*(?:the |that |number |no )?(?:very )?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|latter|former|one|two|three|four|five|six|seven|eight|nine|\d{1,2}(?:st|nd|rd|th)?)(?: \w+)?(?: please| thanks)?\W*$",
    )
});

/// "Show me …", "how many …": openings of a request.
static REQUESTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:please |can you |could you |now |instead |no,? |actually,? )*(?:show|list|display|give me|tell me|find|search|look up|get|read|open|what|which|who|where|when|why|how|is there|are there|do (?:i|we) have|delete|remove|create|add|update|rename|cancel|mark)\b",
    )
});

/// The earlier understanding, completed or rejected; none if this does not answer the question.
pub(super) fn answer(
    reader: &Reader,
    text: &Text,
    given: &TurnContext<'_>,
    pending: &Pending,
) -> Option<Understood> {
    let plain = text.plain.trim();
    let chosen = match given.choice {
        Some(place) => Chosen::by_place(&pending.question.options, place),
        None => chosen(text, &pending.question.options),
    };
    if given.choice.is_none() && plain.is_empty() {
        return None;
    }
    if given.choice.is_none() && is(&DECLINES, plain) {
        let mut out = Understood::plain(Kind::Chat, "the question was turned down");
        out.answered = Answered::Declined;
        return Some(out);
    }
    let question = &pending.question;
    let choice = match chosen {
        Chosen::One(choice) => Some(choice),
        Chosen::Unclear => return Some(ask_again(pending)),
        Chosen::Nothing => None,
    };
    match question.why {
        QuestionKind::Entity => {
            if let Some(choice) = choice {
                return Some(with_entity(reader, pending, choice));
            }
            if question.options.is_empty() || short(reader, text) {
                return by_words(reader, text, given, pending);
            }
            None
        }
        QuestionKind::Field => with_field(reader, text, given, pending, choice),
        QuestionKind::Meaning => {
            let choice = choice.or_else(|| by_verb(reader, text, &question.options))?;
            with_tool(reader, given, pending, choice)
        }
        QuestionKind::Domain => {
            let choice = choice?;
            let mut out = pending.understood.clone();
            for step in &mut out.steps {
                step.domain =
                    choice.value.as_str().and_then(|name| steward_domain::DomainName::new(name).ok());
            }
            Some(completed(reader, out))
        }
    }
}

/// The same question again: the answer matches two of its options.
fn ask_again(pending: &Pending) -> Understood {
    let mut out = pending.understood.clone();
    out.kind = Kind::Act;
    out.answered = Answered::Completed;
    out.question = Some(pending.question.clone());
    out.reasons = vec!["what was said fits more than one option".into()];
    out
}

/// Whether it is a few words that are not a request.
fn short(reader: &Reader, text: &Text) -> bool {
    let strongest = clauses(text, &reader.catalogue)
        .iter()
        .flat_map(|clause| clause.cues.iter())
        .map(|cue| cue.weight)
        .fold(0.0, f32::max);
    text.tokens.len() <= 6 && strongest < 2.5
}

/// Which option was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Chosen<'a> {
    One(&'a Choice),
    /// Two options match. Neither is chosen.
    Unclear,
    Nothing,
}

impl<'a> Chosen<'a> {
    fn by_place(options: &'a [Choice], place: usize) -> Self {
        options.get(place).map_or(Self::Nothing, Self::One)
    }

    fn only(fitting: &[&'a Choice]) -> Self {
        match fitting {
            [] => Self::Nothing,
            [only] => Self::One(only),
            _ => Self::Unclear,
        }
    }
}

/// The chosen option: by its label, its position, its id, by words that only it has, or by yes if
/// there is only one. If two options match, none is chosen.
fn chosen<'a>(text: &Text, options: &'a [Choice]) -> Chosen<'a> {
    let plain = text.plain.trim();
    if let [only] = options
        && is(&AGREES, plain)
    {
        return Chosen::One(only);
    }
    let raw = text.raw.trim();
    let exact: Vec<&Choice> = options.iter().filter(|choice| choice.label == raw).collect();
    if let [only] = exact.as_slice() {
        return Chosen::One(only);
    }
    let lower = |text: &str| words(text).into_iter().map(|word| word.lower).collect::<Vec<_>>();
    let said = lower(&text.raw);
    let labelled: Vec<&Choice> = options.iter().filter(|choice| lower(&choice.label) == said).collect();
    if !labelled.is_empty() {
        return Chosen::only(&labelled);
    }
    let id = |choice: &&Choice| match &choice.value {
        Value::String(text) => lower(text) == said,
        other => said.as_slice() == [other.to_string()],
    };
    let by_id: Vec<&Choice> = options.iter().filter(id).collect();
    // A plain number is a position in the list that was shown, or an id in it. If these are two
    // different options, ask again.
    let number = match said.as_slice() {
        [only] => only.parse::<usize>().ok().and_then(|number| number.checked_sub(1)),
        _ => None,
    };
    if let Some(at) = number.and_then(|at| options.get(at)).filter(|_| options.len() > 1) {
        return match by_id.as_slice() {
            [] => Chosen::One(at),
            [same] if std::ptr::eq(*same, at) => Chosen::One(at),
            _ => Chosen::Unclear,
        };
    }
    if !by_id.is_empty() {
        return Chosen::only(&by_id);
    }
    if is(&ONLY_A_PLACE, plain) {
        match place(plain) {
            Some(ListPosition::Nth(number)) => {
                return number.checked_sub(1).map_or(Chosen::Nothing, |at| Chosen::by_place(options, at));
            }
            Some(ListPosition::Last) => return options.last().map_or(Chosen::Nothing, Chosen::One),
            _ => {}
        }
    }
    // Words that only one option has, in a message with little else.
    let telling: Vec<String> =
        words(&text.raw).into_iter().filter(|word| !word.stop).map(|word| root(&word.lower)).collect();
    let holds = |choice: &&Choice| {
        let name: Vec<String> = lower(&choice.label).iter().map(|word| root(word)).collect();
        !telling.is_empty() && telling.iter().all(|word| name.contains(word))
    };
    let fitting: Vec<&Choice> = options.iter().filter(holds).collect();
    match fitting.as_slice() {
        [only] if telling.len() <= 6 => Chosen::One(only),
        [_, _, ..] if telling.len() <= 6 && options.iter().any(|choice| choice.record.is_some()) => {
            Chosen::Unclear
        }
        _ => Chosen::Nothing,
    }
}

fn completed(reader: &Reader, mut out: Understood) -> Understood {
    out.kind = Kind::Act;
    out.answered = Answered::Completed;
    out.question = None;
    out.reasons = vec!["it answers what was asked".into()];
    let next = out
        .steps
        .iter()
        .enumerate()
        .find_map(|(at, step)| ask_field(&reader.catalogue, step, at, &Clause::default()));
    out.question = next;
    finish(reader, &mut out, &BTreeMap::new());
    out
}

fn with_entity(reader: &Reader, pending: &Pending, choice: &Choice) -> Understood {
    let mut out = pending.understood.clone();
    if let Some(step) = out.steps.get_mut(pending.question.step) {
        let need = pending
            .question
            .field
            .as_ref()
            .and_then(|field| step.also.iter().position(|need| need.field == *field));
        if let (Some(need), Some(field)) = (need, pending.question.field.clone()) {
            step.also.remove(need);
            let name = choice.record.as_ref().and_then(|record| record.name.clone());
            step.arguments.insert(field, argument(json!(name.unwrap_or_else(|| choice.label.clone()))));
        } else {
            act_on_record(reader, step, choice);
        }
    }
    completed(reader, out)
}

/// Points a step at the record of an option, and at the tool that acts on records of its type.
fn act_on_record(reader: &Reader, step: &mut Step, choice: &Choice) {
    let tool = step.tool().and_then(|tool| reader.catalogue.tool(tool));
    let mut record = choice.record.clone().unwrap_or_else(|| RecordRef {
        id: super::settle::text(&choice.value),
        name: Some(choice.label.clone()),
        ..RecordRef::default()
    });
    if record.entity_type.is_empty() {
        record.entity_type = match &step.target {
            Some(Target::Named { entity_type, .. } | Target::Id { entity_type, .. })
                if !entity_type.is_empty() =>
            {
                entity_type.clone()
            }
            _ => tool.and_then(|tool| tool.entity.clone()).unwrap_or_default(),
        };
    }
    record.domain = record.domain.or_else(|| step.domain.clone());
    let fits = |tool: &&Prepared| super::referent::acts_on(tool, &record);
    let other = step.alternatives.iter().filter_map(|(name, _)| reader.catalogue.tool(name)).find(fits);
    let own = step.target_field.as_deref().zip(tool).and_then(|(field, tool)| tool.named(field));
    // A field that holds records of another type keeps its tool.
    let foreign = own.is_some_and(|field| field.of.is_some());
    if let (Some(other), false, false) = (other, tool.as_ref().is_some_and(fits), foreign) {
        step.act = Act::Call { tool: other.tool.name.clone() };
        step.domain.clone_from(&other.tool.domain);
        (step.destructive, step.read_only) = (other.tool.destructive, other.tool.read_only);
        step.intent = Some(super::steps::stands_for(other));
        step.target_field = other.target().map(|field| field.name.clone());
        step.arguments.retain(|name, _| other.named(name).is_some());
        step.missing.retain(|name| other.named(name).is_some());
    }
    step.target = Some(Target::Known { things: vec![record] });
    step.target_field =
        step.target_field.clone().or_else(|| tool.and_then(Prepared::target).map(|field| field.name.clone()));
}

/// "Anna Berg" as the answer to an open question: the words name the record.
fn by_words(reader: &Reader, text: &Text, given: &TurnContext<'_>, pending: &Pending) -> Option<Understood> {
    if !short(reader, text) {
        return None;
    }
    let mut out = pending.understood.clone();
    let step = out.steps.get_mut(pending.question.step)?;
    let tool = reader.catalogue.tool(step.tool()?)?;
    let clause = Clause { start: 0, end: text.plain.len(), ..Clause::default() };
    let filled = fill_alone(text, &reader.catalogue, tool, &clause, given.today);
    let entity_type = tool.entity.clone().unwrap_or_default();
    let number = text
        .tokens
        .first()
        .and_then(|token| token.lower.parse::<u64>().ok())
        .filter(|_| text.tokens.len() == 1);
    step.target = Some(match (filled.id, number) {
        (Some((id, ..)), _) => Target::Id { id, entity_type },
        (None, Some(number)) => Target::Id { id: json!(number), entity_type },
        (None, None) => Target::Named { words: text.raw.trim().to_owned(), entity_type },
    });
    step.target_field = tool.target().map(|field| field.name.clone());
    Some(completed(reader, out))
}

fn argument(value: Value) -> Argument {
    Argument { value, span: None, reason: "it answers the question".into() }
}

/// A value for the field that was asked for, or for one of several that could be set.
fn with_field(
    reader: &Reader,
    text: &Text,
    given: &TurnContext<'_>,
    pending: &Pending,
    choice: Option<&Choice>,
) -> Option<Understood> {
    let mut out = pending.understood.clone();
    let at = pending.question.step;
    let step = out.steps.get(at)?.clone();
    let tool = reader.catalogue.tool(step.tool()?)?;
    let Some(name) = pending.question.field.clone() else {
        // Several fields could be set: the text must name one or match its type.
        let clause = Clause { start: 0, end: text.plain.len(), ..Clause::default() };
        let filled = fill_alone(text, &reader.catalogue, tool, &clause, given.today);
        if filled.arguments.is_empty() {
            let choice = choice?;
            let field = choice.value.as_str()?.to_owned();
            let mut out = completed(reader, out);
            out.question = Some(super::types::Question {
                why: QuestionKind::Field,
                text: format!("What should the {} be?", field.replace('_', " ")),
                options: vec![choice.clone()],
                step: at,
                field: Some(field),
                words: String::new(),
            });
            return Some(out);
        }
        if let Some(step) = out.steps.get_mut(at) {
            step.arguments.extend(filled.arguments);
        }
        return Some(completed(reader, out));
    };
    let field = tool.named(&name)?;
    let listed = choice.filter(|_| field.role == Role::Choice || given.choice.is_some());
    let value = match listed.filter(|_| given.choice.is_some() && field.role == Role::Choice) {
        Some(choice) => choice.value.clone(),
        None => value_of(reader, text, given, tool, field, listed)?,
    };
    if let Some(step) = out.steps.get_mut(at) {
        step.arguments.insert(name.clone(), argument(value.clone()));
        step.missing.retain(|missing| *missing != name);
        if let (Some(of), Some(words)) = (&field.of, value.as_str()) {
            let target = Target::Named { words: words.to_owned(), entity_type: of.clone() };
            step.also.push(super::types::Need { field: name, target });
        }
    }
    Some(completed(reader, out))
}

/// The text as a value of a field. A complete new request is not a value.
fn value_of(
    reader: &Reader,
    text: &Text,
    given: &TurnContext<'_>,
    tool: &Prepared,
    field: &ToolField,
    choice: Option<&Choice>,
) -> Option<Value> {
    let raw = text.raw.trim().trim_matches(['"', '\'', '“', '”']).trim_end_matches(['.', '!']).to_owned();
    let clause = Clause { start: 0, end: text.plain.len(), ..Clause::default() };
    match field.role {
        Role::Choice => {
            let tokens: Vec<_> = text.tokens.iter().collect();
            let said = field
                .choices
                .iter()
                .find(|choice| (0..tokens.len()).any(|at| choice_at(&tokens, at, choice).is_some()));
            said.map(|choice| json!(choice))
                .filter(|_| text.tokens.len() <= 6)
                .or_else(|| choice.map(|choice| choice.value.clone()))
        }
        Role::Day | Role::Time | Role::Number | Role::Limit | Role::Email | Role::Phone | Role::Flag => {
            fill_alone(text, &reader.catalogue, tool, &clause, given.today)
                .arguments
                .remove(&field.name)
                .map(|argument| argument.value)
        }
        Role::Tags => Some(json!(
            raw.split([',', ';'])
                .flat_map(|part| part.split(" and "))
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
        )),
        _ if text.quotes.is_empty() && asks_anew(reader, text, given, field) => None,
        _ => Some(json!(raw)),
    }
}

/// Whether this is a new request rather than a value of the field: it starts with a verb and names
/// a type of record that tools act on, it is a question, or it is worded as a request that this
/// catalogue can execute. A title may well start with a verb ("call the dentist"), so for titles
/// only a request to see something counts.
fn asks_anew(reader: &Reader, text: &Text, given: &TurnContext<'_>, field: &ToolField) -> bool {
    let read = clauses(text, &reader.catalogue);
    let typed = text.tokens.iter().any(|token| !reader.catalogue.types_of(&token.lower).is_empty());
    let opens = read.iter().flat_map(|clause| clause.cues.iter()).any(|cue| cue.weight >= 4.0);
    let asks = read.first().is_some_and(|clause| clause.asks);
    if typed && (opens || asks) {
        return true;
    }
    let plain = text.plain.trim();
    if text.tokens.len() < 3 || !(is(&REQUESTS, plain) || (asks && plain.ends_with('?'))) {
        return false;
    }
    // A name, an id, a path or a place is not a sentence; a title or a text may be one.
    if !matches!(field.role, Role::Title | Role::Long | Role::Query) {
        return true;
    }
    let alone = TurnContext { pending: None, choice: None, ..*given };
    let read = reader.understand(&text.raw, &alone);
    read.kind == Kind::Act && read.question.is_none() && !read.steps.is_empty()
}

/// "Create it", "find it": the option with this verb.
fn by_verb<'a>(reader: &Reader, text: &Text, options: &'a [Choice]) -> Option<&'a Choice> {
    if text.tokens.len() > 5 {
        return None;
    }
    let cues: Vec<String> = clauses(text, &reader.catalogue)
        .into_iter()
        .flat_map(|clause| clause.cues)
        .map(|cue| cue.group)
        .collect();
    let said = |tool: &Prepared| {
        tool.groups.iter().any(|group| cues.iter().any(|cue| cue == group))
            || text.tokens.iter().any(|token| {
                token.root == tool.verb
                    || tool.entity.as_deref().is_some_and(|entity| root(entity) == token.root)
            })
    };
    let fitting: Vec<&Choice> = options
        .iter()
        .filter(|choice| choice.value.as_str().and_then(|name| reader.catalogue.tool(name)).is_some_and(said))
        .collect();
    fitting.first().copied()
}

/// The chosen tool, with arguments from the original request.
fn with_tool(
    reader: &Reader,
    given: &TurnContext<'_>,
    pending: &Pending,
    choice: &Choice,
) -> Option<Understood> {
    let tool = reader.catalogue.tool(choice.value.as_str()?)?;
    let mut out = pending.understood.clone();
    let said = pending.question.words.clone();
    let text = Text::read(&said);
    if let Some(step) = super::literal::chosen(&text, tool) {
        out.steps.truncate(pending.question.step);
        out.steps.push(step);
        return Some(completed(reader, out));
    }
    let clause = Clause { start: 0, end: text.plain.len(), ..Clause::default() };
    let filled = fill_alone(&text, &reader.catalogue, tool, &clause, given.today);
    let entity_type = tool.entity.clone().unwrap_or_default();
    let target = tool.target().map(|_| match filled.id {
        Some((id, ..)) => Target::Id { id, entity_type },
        None => Target::Named {
            words: filled.target.map_or_else(|| said.clone(), |piece| piece.words),
            entity_type,
        },
    });
    let step = Step {
        domain: tool.tool.domain.clone(),
        act: Act::Call { tool: tool.tool.name.clone() },
        said,
        intent: None,
        confidence: crate::skill::sure(0.9),
        arguments: filled.arguments,
        target,
        target_field: tool.target().map(|field| field.name.clone()),
        also: Vec::new(),
        missing: filled.missing,
        after: Vec::new(),
        destructive: tool.tool.destructive,
        read_only: tool.tool.read_only,
        alternatives: Vec::new(),
        otherwise: Vec::new(),
        reasons: vec!["it was chosen".into()],
    };
    out.steps.truncate(pending.question.step);
    out.steps.push(step);
    Some(completed(reader, out))
}
