//! Everyday English of requests: verbs and phrases, synonyms, and politeness.
//!
//! Invariant: general words only. The vocabulary of an application is in its schemas, names and
//! descriptions.

use crate::pattern::pattern;
use crate::words::stem;
use regex::Regex;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Synonyms of nouns.
const NOUNS: &[&str] = &[
    "task todo to-do item job chore reminder errand",
    "contact person people customer client colleague somebody someone everybody everyone who whom",
    "company firm business organisation organization account customer client enterprise prospect",
    "deal opportunity sale",
    "note memo page entry",
    "tag label category keyword",
    "book title volume copy novel",
    "loan borrowing lending",
    "member reader borrower patron user",
    "appointment meeting event",
    "message mail email",
    "document file paper",
    "ticket issue bug case incident",
    "order purchase",
    "invoice bill",
    "product article goods item",
    "employee staff worker colleague",
    "project undertaking",
    "vehicle car automobile",
    "booking reservation",
    "guest visitor",
    "medicine drug medication",
    "class course lesson",
    "trainer coach instructor",
    "payment instalment",
];

/// Synonyms of field names.
const FIELDS: &[&str] = &[
    "due deadline until",
    "text body content contents message words",
    "phone telephone number mobile cell",
    "email mail address e-mail",
    "role position job function",
    "priority importance urgency",
    "stage phase status state",
    "tag tags label labels category",
    "value worth amount price cost",
    "title name called named titled heading subject",
    "company employer firm",
    "city town place location",
    "summary said",
    "day date when",
    "author writer by",
];

/// Synonyms of choice values; several words are a phrase.
const VALUES: &[&str] = &[
    "open,reopen,unfinished,outstanding,remaining,left,still,pending,to do,undone,incomplete,unresolved,not done",
    "done,finished,complete,completed,closed,resolved,finish",
    "high,important,urgent,critical,top",
    "low,unimportant,minor,not important,not that important,not urgent",
    "normal,medium,average,regular",
    "call,phoned,rang,spoke,called",
    "email,mailed,emailed,wrote to",
    "meeting,met,meet",
    "won,win",
    "lost,lose",
    "in_progress,started,ongoing,in progress,working on",
    "cancelled,canceled,called off",
    "active,enabled,live",
    "inactive,disabled",
    "available,in stock,on the shelf",
    "overdue,late,past due,belated",
];

type Groups = LazyLock<HashMap<String, Vec<usize>>>;

/// The groups of a word, by its stem.
fn grouped(groups: &[&str]) -> HashMap<String, Vec<usize>> {
    let mut found: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        for word in group.split(' ') {
            found.entry(root(word)).or_default().push(at);
        }
    }
    found
}

static NOUN_GROUPS: Groups = LazyLock::new(|| grouped(NOUNS));
static FIELD_GROUPS: Groups = LazyLock::new(|| grouped(FIELDS));

fn together(groups: &Groups, a: &str, b: &str) -> bool {
    match (groups.get(a), groups.get(b)) {
        (Some(a), Some(b)) => a.iter().any(|group| b.contains(group)),
        _ => false,
    }
}

/// Whether two nouns are synonyms.
pub(super) fn same_noun(a: &str, b: &str) -> bool {
    same_noun_roots(&root(a), &root(b))
}

/// The same for stems.
pub(super) fn same_noun_roots(a: &str, b: &str) -> bool {
    a == b || together(&NOUN_GROUPS, a, b)
}

/// Whether two field names are synonyms.
pub(super) fn same_field(a: &str, b: &str) -> bool {
    let (a, b) = (root(a), root(b));
    a == b || together(&FIELD_GROUPS, &a, &b)
}

/// Synonyms of a choice value.
pub(super) fn said_for(choice: &str) -> impl Iterator<Item = &'static str> {
    let plain = choice.to_lowercase();
    VALUES
        .iter()
        .filter(move |group| group.split(',').any(|value| value == plain))
        .flat_map(|group| group.split(','))
}

/// Whether a type of record is a person.
pub(super) fn is_person(entity_type: &str) -> bool {
    [
        "contact",
        "person",
        "member",
        "user",
        "employee",
        "patient",
        "student",
        "candidate",
        "author",
        "lead",
        "driver",
        "guest",
        "visitor",
        "assignee",
        "agent",
        "trainer",
        "coach",
        "doctor",
        "tenant",
    ]
    .iter()
    .any(|person| root(person) == root(entity_type))
        || together(&NOUN_GROUPS, &root(entity_type), &root("person"))
}

/// Generic nouns, such as "thing".
pub(super) fn is_generic(word: &str) -> bool {
    [
        "one",
        "ones",
        "thing",
        "things",
        "stuff",
        "item",
        "items",
        "everything",
        "anything",
        "something",
        "entry",
        "entries",
        "record",
        "records",
        "section",
        "selection",
        "whole",
        "details",
        "detail",
        "info",
        "information",
        "data",
        "somewhere",
    ]
    .contains(&word)
}

const IRREGULAR: &[(&str, &str)] = &[
    ("won", "win"),
    ("winning", "win"),
    ("lost", "lose"),
    ("losing", "lose"),
    ("sent", "send"),
    ("bought", "buy"),
    ("wrote", "write"),
    ("written", "write"),
    ("writing", "write"),
    ("took", "take"),
    ("taken", "take"),
    ("taking", "take"),
    ("made", "make"),
    ("making", "make"),
    ("met", "meet"),
    ("paid", "pay"),
    ("told", "tell"),
    ("gave", "give"),
    ("given", "give"),
    ("giving", "give"),
    ("lent", "lend"),
    ("brought", "bring"),
    ("found", "find"),
    ("spoke", "speak"),
    ("spoken", "speak"),
    ("went", "go"),
    ("gone", "go"),
    ("goes", "go"),
    ("did", "do"),
    ("sold", "sell"),
    ("kept", "keep"),
    ("left", "leave"),
    ("held", "hold"),
    ("got", "get"),
    ("shown", "show"),
    ("seen", "see"),
    ("saw", "see"),
    ("threw", "throw"),
    ("thrown", "throw"),
    ("began", "begin"),
    ("begun", "begin"),
    ("chose", "choose"),
    ("people", "person"),
    ("children", "child"),
    ("men", "man"),
    ("women", "woman"),
    ("shelves", "shelf"),
    ("moved", "move"),
    ("moving", "move"),
    ("changed", "change"),
    ("removed", "remove"),
    ("closed", "close"),
    ("tasks", "task"),
    ("does", "do"),
    ("planned", "plan"),
    ("dealing", "deal"),
];

/// The stem of a word, including irregular forms.
pub(super) fn root(word: &str) -> String {
    static FORMS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| IRREGULAR.iter().copied().collect());
    stem(FORMS.get(word).copied().unwrap_or(word))
}

/// The singular of a noun, as names of tools use it.
pub(super) fn singular(word: &str) -> String {
    if word == "people" {
        return "person".into();
    }
    for (ending, instead) in [("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")] {
        if let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() > 1) {
            return format!("{rest}{instead}");
        }
    }
    match word.strip_suffix('s') {
        Some(rest) if rest.len() > 2 && !rest.ends_with(['s', 'u', 'i']) => rest.to_owned(),
        _ => word.to_owned(),
    }
}

/// Whether a noun is in the plural.
pub(super) fn plural(word: &str) -> bool {
    singular(word) != word || ["who", "everybody", "everyone", "everything", "people"].contains(&word)
}

/// Fillers before a request.
pub(super) static FILLERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:[\s,.!:;–-]*\b(?:please|pls|plz|kindly|hey|hi|hello|ok|okay|so|well|and|also|then|now|first|firstly|next|finally|just|actually|oh|alright|right|go ahead and|after that|afterwards|can you|could you|would you|will you|can i|could i|can we|may i|let me|let us|let's|let’s|i want you to|i want to|i'd like you to|i'd like to|i’d like to|i would like to|i would like|i'd like|i want|i wanna|we want to|want to|i wish to|you should|you can|tell me|show me)\b)+[\s,.!:;–-]*",
    )
});

/// Politeness at the end of a request.
pub(super) static TRAILERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:[\s,.!?;]*\b(?:please|pls|plz|thanks|thank you|thx|for me|to me|right now|now|at the moment|at present|these days|asap|would you|will you|could you|again|so far|from (?:before|earlier)|out loud)\b)*[\s,.!?;]*$",
    )
});

/// Small talk: a message with little else.
pub(super) static CHAT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:\W*\b(?:hi|hiya|hello|hey|howdy|yo|there|good (?:morning|afternoon|evening|night|day)|morning|thanks?|thank you|thx|ty|cheers|mate|bye|goodbye|see you|later|ok|okay|k|fine|great|cool|nice|nice one|perfect|awesome|wonderful|excellent|well done|good job|good|haha+|hehe|lol|hm+|uh|um|oh|ah|wow|yes|no|yep|nope|yeah|sure|never ?mind|forget it|that's all|that is all|that’s all|that's it|so much|very much|a lot|you're|you are|youre|you’re|so|the best|amazing|welcome|quick|fast|clever|smart|kind|sweet|funny|brilliant|helpful|that (?:was|is) (?:quick|fast|great|good|nice|helpful|perfect)|you saved (?:my|the) (?:day|life)|you made my day|saved my day|you rock|appreciate it|much appreciated|how are you|what's up|sorry|all|friend|everyone|again|too|really|very|much|please)\b)+\W*$",
    )
});

/// Thanks and good wishes, whatever else is said.
pub(super) static POLITE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:hi|hello|hey|hiya|(?:morning|evening|afternoon) (?:all|everyone|everybody|folks)|oh dear|thanks|thank you|thx|cheers|brilliant|great|lovely|perfect|awesome|excellent|wonderful|fantastic|super|good (?:morning|evening|afternoon|night|job|work)|nice one|well done|bye|goodbye|have a (?:nice|good|great|lovely|quiet)|see you|phew|ugh|wow|happy \w+)\b",
    )
});

/// A request for help, after a reason.
pub(super) static ASKS_HELP: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:how (?:do|does|can|should) (?:i|we|this|it|you) (?:use|work|work with|operate)(?: (?:this|it|you|that))?|what (?:can|do|could) (?:you|i|we) (?:do|ask|say|help)(?: (?:you|me|us|here|for me|to do|with this|with you|with|me with|us with))*|what (?:are you|is this) (?:good )?for|what are my options)\W*$",
    )
});

/// A request for help.
pub(super) static HELP: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\W*(?:help|help me|help please|\?+|what can (?:you|i|we) (?:do|ask|say)(?: .*)?|what (?:are you able|do you know how) to do.*|what (?:kind|sort)s? of (?:things|questions|stuff) can .*|how (?:does|do) (?:this|it|that|you) (?:work|function|help).*|how do i use (?:this|it).*|what (?:do|can) you (?:do|offer|support).*|who are you|what are you|what is this|show (?:me )?(?:the )?help|commands|usage|how can you help(?: me)?|(?:i(?:'m|’m| am) new(?: here)?\W+)?how (?:do|can|should) (?:i|we) (?:use|operate|work with) (?:this|it|you).*)\W*$",
    )
});
