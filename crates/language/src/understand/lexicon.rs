//! Everyday English of requests: which verbs and turns of phrase ask for what, which words stand for the same, and what is only
//! politeness.
//!
//! Invariant: general words only. What a particular application calls things is in its schemas, names and descriptions.

use crate::words::stem;
use regex::Regex;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What kind of thing a verb does. The finer sense is its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Create,
    Read,
    List,
    Search,
    Update,
    Delete,
}

use Class::{Create, Delete, List, Read, Search, Update};

/// Verbs in groups of about the same sense. A verb may stand in several; what else is said decides.
const GROUPS: &[(&str, Class, &str)] = &[
    (
        "create",
        Create,
        "create add new make write start enter save insert register compose draft generate build open put take",
    ),
    ("remind", Create, "remind reminder schedule plan jot remember"),
    ("read", Read, "show open get read view display see preview check pull fetch give tell inspect describe"),
    ("list", List, "list enumerate show display give overview browse"),
    ("search", Search, "search find look locate seek lookup query dig hunt"),
    ("update", Update, "update change edit modify set adjust correct fix alter make switch"),
    ("move", Update, "move shift transfer put send go push bring advance"),
    ("postpone", Update, "postpone reschedule delay defer push extend"),
    ("rename", Update, "rename retitle call"),
    ("reopen", Update, "reopen restore reactivate resume unarchive"),
    ("assign", Update, "assign reassign give delegate allocate"),
    ("raise", Update, "raise increase bump boost escalate"),
    ("lower", Update, "lower decrease reduce drop"),
    ("complete", Update, "complete finish done close tick check cross resolve accomplish mark"),
    ("tag", Update, "tag label mark categorize categorise classify file flag"),
    ("untag", Update, "untag unlabel"),
    ("append", Update, "append add extend attach insert put write"),
    (
        "delete",
        Delete,
        "delete remove erase discard drop scrap trash bin purge wipe clear cancel ditch kill strike",
    ),
    ("log", Create, "log record note register track document"),
    ("lend", Update, "lend loan borrow issue hand"),
    ("report", Create, "report"),
    ("return", Update, "return"),
    ("renew", Update, "renew prolong extend"),
    ("reserve", Update, "reserve hold book queue keep"),
    ("approve", Update, "approve accept confirm allow"),
    ("reject", Update, "reject decline deny refuse"),
    ("archive", Update, "archive store shelve"),
    ("start", Update, "start begin launch run activate enable"),
    ("stop", Update, "stop end halt terminate deactivate disable pause suspend"),
    ("send", Create, "send mail email forward deliver dispatch message"),
    ("pay", Update, "pay settle charge"),
    ("refund", Update, "refund reimburse"),
    ("order", Create, "order buy purchase"),
    ("invite", Create, "invite"),
    ("share", Update, "share publish"),
    ("copy", Create, "copy duplicate clone"),
    ("merge", Update, "merge combine join"),
    ("count", Read, "count calculate compute sum total average analyze analyse compare"),
];

/// Small words that make another verb of a verb: "check out", "sign up".
pub(super) const PARTICLES: &[&str] = &["out", "in", "up", "over", "off", "back", "on", "down", "away"];

/// Verbs of two words and the groups that they belong to.
const PHRASAL: &[(&str, &str)] = &[
    ("check out", "lend"),
    ("hand out", "lend"),
    ("hand over", "lend"),
    ("give out", "lend"),
    ("take out", "lend"),
    ("give back", "return"),
    ("bring back", "return"),
    ("send back", "return"),
    ("hand back", "return"),
    ("hand in", "return"),
    ("write off", "delete"),
    ("call off", "delete"),
    ("throw away", "delete"),
    ("put off", "postpone"),
    ("push back", "postpone"),
    ("set up", "create"),
    ("sign off", "approve"),
    ("look up", "search"),
];

/// The group of a verb of two words.
pub(super) fn phrasal(phrase: &str) -> Option<&'static str> {
    PHRASAL.iter().find(|(known, _)| *known == phrase).map(|(_, group)| *group)
}

/// The groups, beyond the plain ones, that a description speaks for in its own words.
pub(super) fn hints(description: &str) -> Vec<&'static str> {
    let plain =
        ["create", "remind", "read", "list", "search", "update", "delete", "move", "rename", "append"];
    let lower = description.to_lowercase();
    let by_phrase =
        PATTERNS.iter().filter(|(.., pattern)| pattern.is_match(&lower)).map(|(group, ..)| *group);
    // "Hands it to a driver": only what is told of the tool, in the third person.
    let told = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.ends_with('s'));
    let by_verb = told.flat_map(|word| verb_groups(&root(word))).map(|(group, _)| *group);
    by_phrase.chain(by_verb).filter(|group| !plain.contains(group)).collect()
}

/// Units behind a number, by what they measure.
const UNITS: &[&str] = &[
    "km kilometre kilometres kilometer kilometers",
    "mi mile miles",
    "kg kilo kilos kilogram kilograms",
    "g gram grams",
    "mg milligram milligrams",
    "l litre litres liter liters",
    "ml millilitre millilitres",
    "m metre metres meter meters",
    "cm centimetre centimetres",
    "h hr hrs hour hours",
    "min mins minute minutes",
    "percent",
    "euro euros eur",
    "dollar dollars usd",
    "pound pounds gbp",
    "piece pieces pcs",
    "night nights",
    "tablet tablets",
];

/// What a unit may be called, when a word is one.
pub(super) fn unit(word: &str) -> Option<impl Iterator<Item = &'static str>> {
    UNITS.iter().find(|unit| unit.split(' ').any(|known| known == word)).map(|unit| unit.split(' '))
}

/// Verb groups by the root of each verb.
static VERBS: LazyLock<HashMap<String, Vec<(&'static str, Class)>>> = LazyLock::new(|| {
    let mut found: HashMap<String, Vec<(&'static str, Class)>> = HashMap::new();
    for (name, class, verbs) in GROUPS {
        for verb in verbs.split(' ') {
            let known = found.entry(root(verb)).or_default();
            if !known.contains(&(name, *class)) {
                known.push((name, *class));
            }
        }
    }
    found
});

/// The groups of a verb, by its root.
pub(super) fn verb_groups(root: &str) -> &'static [(&'static str, Class)] {
    VERBS.get(root).map_or(&[], Vec::as_slice)
}

/// Every verb as it is written, for mending misspellings.
pub(super) fn verbs() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, _, verbs)| verbs.split(' '))
}

/// Turns of phrase: the group they speak for, how much, and what they look like in a segment without capitals. What stands in
/// groups `a`, `b` and `c` is used up; without any, all of it is.
const PHRASES: &[(&str, f32, &str)] = &[
    ("delete", 5.0, r"\bget rid of\b"),
    ("delete", 5.0, r"(?P<a>\bthrow) .*?(?P<b>\b(?:away|out)\b)"),
    ("delete", 5.0, r"\bthrow (?:away|out)\b"),
    (
        "delete",
        4.0,
        r"(?P<a>\b(?:do not|don't|don’t|no longer|dont) (?:need|want|own|use|have)\b)(?:.*?(?P<b>\b(?:any ?more|any longer)\b))?",
    ),
    ("delete", 4.5, r"\bcan go\b"),
    ("delete", 4.0, r"(?P<a>\btake) .*?(?P<b>\b(?:off|from|out of)) (?:my|the|our) \w+$"),
    (
        "complete",
        5.0,
        r"(?P<a>\b(?:mark|tick|check|cross)) .*?(?P<b>\b(?:off|as (?:done|finished|complete|completed)|done|complete|completed)\b)",
    ),
    ("complete", 5.0, r"\b(?:tick|check|cross) off\b"),
    ("complete", 4.5, r"^(?:i(?:'m| am|’m) |we(?:'re| are) |all )?(?:done|finished|through|ready) with\b"),
    (
        "complete",
        4.5,
        r"\b(?:is|are|'s|’s|was|were|has been|have been) (?:now |all |already )?(?:done|finished|complete|completed)\b",
    ),
    (
        "complete",
        3.2,
        r"^(?:the |my ).+? (?P<a>(?:is|are|was|were|has been|have been|got|'s)) (?:\w+ed|bought|sent|paid|written|made|sold|booked|cut|read|met|taught|found|left|brought|told)$",
    ),
    (
        "complete",
        2.6,
        r"^(?P<a>i|we)(?: have|'ve|’ve| just| already)* (?:\w{2,}ed|bought|sent|paid|wrote|made|sold|got|took|did|went|brought|told|met|found|cut|read|saw|spoke|rang) ",
    ),
    ("create", 5.0, r"^(?:do not|don't|dont|don’t) (?:let me )?forget(?: to| about)?\b"),
    ("remind", 5.0, r"\bremind (?:me|us)(?: (?:to|about|of|that)(?: i (?:have|need) to)?)?\b"),
    ("remind", 4.0, r"\b(?:a |another )?reminders? (?:for|to|about|of)\b"),
    ("create", 2.6, r"^(?:i|we)(?: still)? (?:need to|have to|must|should|ought to|got to|gotta)\b"),
    (
        "create",
        4.5,
        r"(?P<a>\b(?:jot|write|note|put|take)(?: (?:this|that|it|something))? down(?: for me)?(?: (?:as|that)(?: i (?:have|need) to)?)?)\b",
    ),
    ("create", 4.5, r"^(?:a |another )?new (?:\w+)"),
    (
        "create",
        4.6,
        r"(?P<a>^(?:put|add|get|stick|place|write)) .+ (?P<b>\b(?:to|on|onto|in|into) (?:my|the|our) (?:to-?do |todo )?list\b)",
    ),
    (
        "log",
        2.7,
        r"^(?P<a>i|we)(?: have|'ve|’ve| just| already)* (?:\w{2,}ed|met|spoke|wrote|rang|sent|saw) ",
    ),
    ("log", 4.0, r"^(?:i|we)?(?: have|'ve|’ve)? ?(?P<a>had|held) an? "),
    ("search", 4.5, r"\b(?:look|looking|search|searching|hunt) (?:for|up)\b"),
    ("search", 4.5, r"\bdig (?:up|out)\b"),
    (
        "search",
        4.0,
        r"\bwhere (?:did|do|have) (?:i|we) (?:write|put|mention|say|note|written|noted)(?: (?:about|down))?\b",
    ),
    (
        "search",
        3.5,
        r"\b(?:that |which )?(?:mentions?|mentioning|contains?|containing|talks? about|is about|are about|speaks? of)\b",
    ),
    (
        "search",
        3.0,
        r"\b(?:do|did) (?:i|we|you) (?:have|own|know) (?:an?|any|anything|something|anyone|somebody)\b",
    ),
    ("search", 3.0, r"\b(?:anything|something|everything|things?) (?:about|on|with|regarding)\b"),
    ("search", 3.5, r"\b(?:is|are) there (?:an?|any|anything|something|anyone)\b"),
    ("search", 3.0, r"\bwhat (?:i|we) (?:wrote|said|noted)(?: about)?\b"),
    ("search", 2.0, r"\b(?P<a>about|regarding|concerning) \w"),
    (
        "read",
        4.0,
        r"\b(?:details? (?:of|on|for|about)|tell (?:me|us) (?:more )?about|status of|more about|everything (?:i|we) (?:have|know) (?:on|about)|info(?:rmation)? (?:on|about))\b",
    ),
    ("read", 4.0, r"(?P<a>\b(?:call|pull|bring)) .*?(?P<b>\bup$)"),
    ("read", 4.0, r"\b(?:pull|bring) up\b"),
    ("read", 3.5, r"^(?:when|where|how|why|who) (?:is|was|are|were|did|does|do|much|long|old|far|big)\b"),
    (
        "read",
        3.5,
        r"^(?P<a>what (?:did|does)) (?:i|we|it|they|the|that|this)\b|^(?P<b>what do) (?:it|they|the|that|this)\b",
    ),
    (
        "read",
        4.0,
        r"^what (?:did|have) (?:i|we) (?:write|written|note|noted|say|put)(?: down)? (?:in|on|under)\b",
    ),
    ("read", 3.4, r"^who(?:'s|’s) (?:got|\w+ing)\b"),
    (
        "report",
        3.4,
        r"(?P<a>\b(?:has|have|got|with)) (?:an? |its )?(?:flat|broken|cracked|dented|damaged|torn|faulty|defective|dead|leaking|worn)\b",
    ),
    (
        "report",
        3.4,
        r"(?P<a>\b(?:is|are)) (?:broken|damaged|leaking|dead|stuck|jammed|cracked|torn|faulty|defective)\b|\b(?:won't|won’t|will not|doesn't|doesn’t|does not) (?:work|start|open|close|load)\b",
    ),
    (
        "complete",
        4.4,
        r"(?P<a>\b(?:is|are|'s|’s|was|were|has been|have been) (?:now |all |already |finally )?(?:fixed|repaired|resolved|solved|sorted))(?: out)?$",
    ),
    ("complete", 3.4, r"^(?:the )?\w+ (?P<a>finished|completed|fixed|resolved|solved) (?:the|my|our) "),
    ("read", 3.2, r"^who (?:has|have|wrote|owns|made|got|borrowed|reserved|did)\b"),
    (
        "read",
        3.8,
        r"^(?P<a>is|are|when does|when do) .+ (?P<b>in|out|back|there|free|available|home)(?: yet| now)?$",
    ),
    ("read", 3.5, r"^(?:what|which) \w+ (?:is|was) (?:the|my|it|this|that)\b"),
    (
        "read",
        3.0,
        r"^(?P<a>what(?:'s|’s| is| was| are| were)?) (?:in|the|its|his|her|their|that|my|our|[a-z]+'s|[a-z]+ [a-z]+(?:'s|’s))\b",
    ),
    ("read", 3.3, r"^the (?:\w+ ){1,2}of (?:the|my|our|his|her) \w+$"),
    (
        "delete",
        3.3,
        r"\b(?P<a>(?:has|have) been|was|were|is|are|got) (?:scrapped|discontinued|thrown away|destroyed|written off|called off)\b",
    ),
    ("list", 3.5, r"^(?P<a>what(?:'s|’s| is| are)) (?:on|left|open|due|new|there|still|overdue)\b"),
    ("list", 3.0, r"\b(?P<a>what) (?:do|have|did) (?:i|we)\b"),
    ("list", 3.5, r"^(?P<a>which|what) \w+(?: \w+)? (?:are|do|did|have|were|need|does)\b"),
    ("list", 3.5, r"^(?P<a>which|what) \w+s\b"),
    ("list", 3.0, r"^(?:are there |do (?:i|we) have |is )?(?:any|anything)\b|^did (?:i|we) \w+ (?P<a>any)\b"),
    ("list", 3.0, r"\b(?:everything|everyone|everybody|all|every|each)\b"),
    ("list", 2.5, r"^who\b"),
    ("list", 3.0, r"^(?P<a>my|our) (?:\w+ )?\w+s$"),
    ("list", 2.5, r"\boverview of\b"),
    ("list", 3.2, r"\b(?:whole|entire|complete|full) \w+$"),
    ("list", 3.2, r"(?P<a>\b(?:section|category|department|selection|range))$"),
    ("list", 2.0, r"\b(?:only|just) (?:the|those)\b|\bonly$"),
    (
        "list",
        3.0,
        r"(?P<a>\b(?:the )?)(?:next|last|latest|first|newest|recent|top|past) (?:\d+|two|three|four|five|six|seven|eight|nine|ten) \w+",
    ),
    ("update", 4.0, r"\b(?:belongs? to|goes to|moves? to|moved to|now works? for|works? for)\b"),
    ("update", 3.5, r"\b(?:is|are)(?:n't| not)(?: that| so| very)? (?:important|urgent)\b"),
    ("update", 3.5, r"\bnew \w+ (?:is|are)\b"),
    ("rename", 4.0, r"(?:\bis|'s|’s) (?:now )?called\b"),
    ("postpone", 4.5, r"\b(?:push|put|move) (?:back|off|forward|up)\b|\bbring forward\b"),
    (
        "append",
        4.6,
        r"(?P<a>\badd|\bput|\bwrite|\binsert|\bad) .+? (?P<b>\b(?:to|into|onto|in|at the (?:end|bottom) of)) \w",
    ),
    ("append", 4.5, r"\b(?:one more thing|also|another thing|something else) for\b"),
    ("append", 4.0, r"\bshould be added to\b"),
    ("tag", 5.6, r"(?P<a>\bput|\badd|\bset|\bstick) (?:the |a )?(?:tag|label)s?\b"),
    ("tag", 4.5, r"(?P<a>\bput) \S+ (?P<b>on) "),
    ("tag", 4.0, r"(?P<a>\bfile) .+? (?P<b>under)\b"),
    ("tag", 3.0, r"(?P<a>\bmark) .+? (?P<b>as)\b"),
    ("tag", 4.0, r"(?P<a>\b(?:gets?|receives?|needs?)) #"),
    (
        "untag",
        6.0,
        r"(?P<a>\b(?:take|remove|get|drop|strip|delete)) .*?(?:tag|label|#\S+).*?(?P<b>\b(?:off|from)\b)",
    ),
    ("untag", 5.5, r"(?P<a>\b(?:take|strip)) .+? (?P<b>\boff\b)"),
    ("untag", 5.0, r"(?P<a>\bremove) .+? (?P<b>\bfrom) "),
    ("lend", 5.0, r"\bche?c?k ?-?out\b|\bloan out\b|\b(?:wants?|would like) to (?:borrow|take)\b"),
    ("lend", 5.0, r"(?P<a>\bcheck|\btakes?) .+? (?P<b>\b(?:out|home)\b)$"),
    ("lend", 3.6, r"(?P<a>\b(?:give|hand|pass)) .+? to \w+$|\bgoes to\b"),
    ("lend", 3.8, r"^(?P<a>give|hand|lend|pass) [a-z]{3,} (?:the|my|our|an?) "),
    ("lend", 2.6, r"^(?:\w+ )?(?P<a>wants|takes|gets|borrows) "),
    (
        "return",
        5.0,
        r"(?P<a>\b(?:brought|bring|brings|gave|give|gives|hand|handed|came|comes?|is|are|'s|’s|has been brought|took|take)) (?:.+? )?(?P<b>back\b)",
    ),
    ("return", 5.0, r"\bcheck(?:ed|s)? in\b|\bdrop(?:ped|s)? off\b"),
    (
        "renew",
        4.5,
        r"(?P<a>\b(?:keep|have)) .+? (?P<b>longer|for another)\b|\bmore time\b|\banother (?:week|month)\b",
    ),
    ("renew", 4.5, r"\bfor \w+ more (?:days?|weeks?|months?)\b"),
    ("renew", 5.5, r"\bkept longer\b"),
    (
        "reserve",
        5.2,
        r"(?P<a>\b(?:put|place|add|set|lay)) .+? (?P<b>(?:on hold|on the waiting list|on the list|aside)\b)",
    ),
    ("reserve", 4.5, r"\bwaits? for\b|\bqueue (?:up )?for\b"),
    (
        "reserve",
        5.4,
        r"(?P<a>\b(?:would like|wants?)) .+? (?P<b>\b(?:when|once|as soon as) .+? (?:back|free|available)\b)",
    ),
];

/// The turns of phrase, ready to be looked for.
pub(super) static PATTERNS: LazyLock<Vec<(&'static str, f32, Regex)>> = LazyLock::new(|| {
    let read = |(group, weight, pattern): &(&'static str, f32, &str)| {
        Some((*group, *weight, Regex::new(pattern).ok()?))
    };
    PHRASES.iter().filter_map(read).collect()
});

/// The class of a group.
pub(super) fn class_of(group: &str) -> Option<Class> {
    GROUPS.iter().find(|(name, ..)| *name == group).map(|(_, class, _)| *class)
}

/// Nouns that stand for the same sort of thing.
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

/// Names of fields that mean the same.
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

/// Values of lists that mean the same; several words are a phrase.
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

/// Which groups a word stands in, by its root.
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

/// Whether two nouns stand for the same sort of thing.
pub(super) fn same_noun(a: &str, b: &str) -> bool {
    same_noun_roots(&root(a), &root(b))
}

/// The same for roots.
pub(super) fn same_noun_roots(a: &str, b: &str) -> bool {
    a == b || together(&NOUN_GROUPS, a, b)
}

/// Whether two names of fields mean the same.
pub(super) fn same_field(a: &str, b: &str) -> bool {
    let (a, b) = (root(a), root(b));
    a == b || together(&FIELD_GROUPS, &a, &b)
}

/// What else a value of a list may be called.
pub(super) fn said_for(choice: &str) -> impl Iterator<Item = &'static str> {
    let plain = choice.to_lowercase();
    VALUES
        .iter()
        .filter(move |group| group.split(',').any(|value| value == plain))
        .flat_map(|group| group.split(','))
}

/// Whether a type of thing is a person.
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

/// Nouns that stand for anything.
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

/// What the forms of a word have in common, with the irregular ones.
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

/// Whether a noun is said in the plural.
pub(super) fn plural(word: &str) -> bool {
    singular(word) != word || ["who", "everybody", "everyone", "everything", "people"].contains(&word)
}

/// What may stand before a wish and says nothing.
pub(super) static FILLERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:[\s,.!:;–-]*\b(?:please|pls|plz|kindly|hey|hi|hello|ok|okay|so|well|and|also|then|now|first|firstly|next|finally|just|actually|oh|alright|right|go ahead and|after that|afterwards|can you|could you|would you|will you|can i|could i|can we|may i|let me|let us|let's|let’s|i want you to|i want to|i'd like you to|i'd like to|i’d like to|i would like to|i would like|i'd like|i want|i wanna|we want to|want to|i wish to|you should|you can|tell me|show me)\b)+[\s,.!:;–-]*").ok()
});

/// Politeness at the end of a wish.
pub(super) static TRAILERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:[\s,.!?;]*\b(?:please|pls|plz|thanks|thank you|thx|for me|to me|right now|now|at the moment|at present|these days|asap|would you|will you|could you|again|so far|from (?:before|earlier)|out loud)\b)*[\s,.!?;]*$").ok()
});

/// Small talk: a message that is one of these and little else.
pub(super) static CHAT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:\W*\b(?:hi|hiya|hello|hey|howdy|yo|there|good (?:morning|afternoon|evening|night|day)|morning|thanks?|thank you|thx|ty|cheers|mate|bye|goodbye|see you|later|ok|okay|k|fine|great|cool|nice|nice one|perfect|awesome|wonderful|excellent|well done|good job|good|haha+|hehe|lol|hm+|uh|um|oh|ah|wow|yes|no|yep|nope|yeah|sure|never ?mind|forget it|that's all|that is all|that’s all|that's it|so much|very much|a lot|you're|you are|youre|you’re|so|the best|amazing|welcome|that (?:was|is) (?:quick|fast|great|good|nice|helpful|perfect)|you saved (?:my|the) (?:day|life)|you made my day|saved my day|you rock|appreciate it|much appreciated|how are you|what's up|sorry|all|friend|everyone|again|too|really|very|much|please)\b)+\W*$").ok()
});

/// Asking what can be done.
pub(super) static HELP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\W*(?:help|help me|help please|\?+|what can (?:you|i|we) (?:do|ask|say)(?: .*)?|what (?:are you able|do you know how) to do.*|what (?:kind|sort)s? of (?:things|questions|stuff) can .*|how (?:does|do) (?:this|it|you|i use (?:this|it)).*|what (?:do|can) you (?:do|offer|support).*|who are you|what are you|what is this|show (?:me )?(?:the )?help|commands|usage|how can you help(?: me)?|(?:i(?:'m|’m| am) new(?: here)?\W+)?how (?:do|can|should) (?:i|we) (?:use|operate|work with) (?:this|it|you).*)\W*$").ok()
});
