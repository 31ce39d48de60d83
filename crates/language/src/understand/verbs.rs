//! Verbs of requests: verb groups, phrasal verbs, and phrases.

use super::lexicon::root;
use crate::pattern::pattern;
use regex::Regex;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The action class of a verb. The finer sense is its group.
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

/// Groups of synonymous verbs. A verb may be in several; the context decides.
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
    ("report", Create, "report submit lodge"),
    ("return", Update, "return"),
    ("renew", Update, "renew prolong extend"),
    ("reserve", Update, "reserve hold book queue keep"),
    ("approve", Update, "approve accept confirm allow"),
    ("reject", Update, "reject decline deny refuse"),
    ("archive", Update, "archive store shelve"),
    ("start", Update, "start begin launch run activate enable"),
    ("stop", Update, "stop end halt terminate deactivate disable pause suspend"),
    ("send", Create, "send mail email forward deliver dispatch message"),
    ("enrol", Create, "enrol enroll subscribe admit"),
    ("reply", Create, "reply answer respond"),
    ("pay", Update, "pay settle charge"),
    ("refund", Update, "refund reimburse"),
    ("order", Create, "order buy purchase"),
    ("invite", Create, "invite"),
    ("share", Update, "share publish"),
    ("copy", Create, "copy duplicate clone"),
    ("merge", Update, "merge combine join"),
    ("count", Read, "count calculate compute sum total average analyze analyse compare"),
];

/// Particles of phrasal verbs: "check out", "sign up".
pub(super) const PARTICLES: &[&str] = &["out", "in", "up", "over", "off", "back", "on", "down", "away"];

/// Phrasal verbs and their groups.
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

/// The group of a phrasal verb.
pub(super) fn phrasal(phrase: &str) -> Option<&'static str> {
    PHRASAL.iter().find(|(known, _)| *known == phrase).map(|(_, group)| *group)
}

/// The groups, beyond the plain ones, that a description mentions.
pub(super) fn hints(description: &str) -> Vec<&'static str> {
    let plain =
        ["create", "remind", "read", "list", "search", "update", "delete", "move", "rename", "append"];
    let lower = description.to_lowercase();
    let by_phrase =
        PATTERNS.iter().filter(|(.., pattern)| pattern.is_match(&lower)).map(|(group, ..)| *group);
    // "Hands it to a driver": only verbs in the third person, which describe the tool.
    let told = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.ends_with('s'));
    let by_verb = told.flat_map(|word| verb_groups(&root(word))).map(|(group, _)| *group);
    by_phrase.chain(by_verb).filter(|group| !plain.contains(group)).collect()
}

/// Units after a number, by what they measure.
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

/// The synonyms of a unit, if a word is one.
pub(super) fn unit(word: &str) -> Option<impl Iterator<Item = &'static str>> {
    UNITS.iter().find(|unit| unit.split(' ').any(|known| known == word)).map(|unit| unit.split(' '))
}

/// Verb groups by the stem of each verb.
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

/// The groups of a verb, by its stem.
pub(super) fn verb_groups(root: &str) -> &'static [(&'static str, Class)] {
    VERBS.get(root).map_or(&[], Vec::as_slice)
}

/// Whether a verb, by its stem, is only create, read, update or delete.
pub(super) fn is_plain_verb(root: &str) -> bool {
    let plain = ["create", "read", "list", "search", "update", "delete"];
    verb_groups(root).iter().any(|(group, _)| plain.contains(group))
}

/// All verbs, for spelling correction.
pub(super) fn verbs() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, _, verbs)| verbs.split(' '))
}

/// Phrases: the group, the weight, and the pattern in a lower-case segment. The named groups `a`,
/// `b` and `c` are used up; without any, the whole match is.
const PHRASES: &[(&str, f32, &str)] = &[
    ("delete", 5.0, r"\bget rid of\b"),
    ("delete", 4.5, r"\bcall(?:ed|ing|s)? off\b"),
    ("delete", 4.5, r"\bcall (?:it|that|this|them) off\b"),
    ("delete", 4.0, r"\b(?:drop|pull|back)(?:s|ped|ed|ping|ing)? out\b"),
    ("delete", 3.6, r"\bfree(?:s|d)? up\b"),
    ("delete", 3.6, r"\b(?:can't|can’t|cannot|won't|won’t) (?:make it|be coming|come)\b"),
    ("delete", 3.8, r"(?P<a>\btake) \S+(?: \S+)? (?P<b>\boff) \w"),
    ("delete", 4.2, r"\b(?:is|are|was|'s) not coming\b"),
    ("update", 3.2, r"\binstead\b"),
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
    ("complete", 4.5, r"^(?P<a>i|we)(?:['’]ve| have)(?: just| already)? (?:done|finished|completed)\b"),
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
    ("search", 3.0, r"\b(?:anything|something|everything|things?) (?:about|on|with|regarding|by)\b"),
    ("search", 3.5, r"\b(?:is|are) there (?:an?|any|anything|something|anyone)\b"),
    ("search", 4.0, r"(?P<a>\b(?:with|has|have|having|contains?|containing) (?:the )?words?)\b"),
    ("search", 3.0, r"\bwhat (?:i|we) (?:wrote|said|noted)(?: about)?\b"),
    ("search", 2.0, r"\b(?P<a>about|regarding|concerning) \w"),
    (
        "read",
        4.0,
        r"\b(?:details? (?:of|on|for|about)|tell (?:me|us) (?:more )?about|status of|more about|everything (?:i|we) (?:have|know) (?:on|about)|info(?:rmation)? (?:on|about))\b",
    ),
    ("read", 4.0, r"(?P<a>\b(?:details?|info|information|particulars))(?: please| pls)?$"),
    ("read", 4.0, r"(?P<a>\b(?:call|pull|bring)) .*?(?P<b>\bup$)"),
    ("read", 4.0, r"\b(?:pull|bring) up\b"),
    (
        "read",
        3.6,
        r"^(?P<a>(?:i|we) (?:need|want|would like|require)) (?:to (?:know|see) )?(?:the|his|her|their|its|\w+(?: \w+)?['’]s) ",
    ),
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
    ("read", 4.2, r"^(?:what|which) \w+ (?:does|do|did) (?:it|this|that)\b"),
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
    ("list", 5.0, r"(?P<a>\b(?:the |an? )?(?:whole |full |complete |entire )?list of)\b"),
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
    ("update", 4.0, r"(?P<a>\b(?:has|have|got) (?:a |an )?(?:new|another|different)) \w+"),
    ("rename", 4.0, r"(?:\bis|'s|’s) (?:now )?called\b"),
    ("postpone", 4.5, r"\b(?:push|put|move) (?:back|off|forward|up)\b|\bbring forward\b"),
    (
        "append",
        4.6,
        r"(?P<a>\badd|\bput|\bwrite|\binsert|\bad) .+? (?P<b>\b(?:to|into|onto|in|at the (?:end|bottom) of)) \w",
    ),
    ("append", 4.5, r"\b(?:one more(?: thing)?|also|another thing|something else) for\b"),
    ("append", 4.0, r"\bshould be added to\b"),
    ("return", 4.5, r"\b(?:hand|turn)(?:s|ed|ing)? (?:back|in)\b"),
    ("return", 4.5, r"(?P<a>\b(?:check|book|sign)) .*?(?P<b>\bback in\b)"),
    (
        "reserve",
        4.5,
        r"(?P<a>\b(?:put|pencil|fit|squeeze|slot)) .+? (?P<b>\b(?:down|in)) (?:for|with|on|at)\b",
    ),
    ("enrol", 4.2, r"(?P<a>\b(?:put|sign)) .+? (?P<b>\b(?:down|up)) (?:for|in|on)\b"),
    ("enrol", 3.6, r"(?P<a>\b(?:would like|['’]d like|wants?) to (?:join|do|take|attend))\b"),
    ("reserve", 3.6, r"(?P<a>\b(?:would like|['’]d like)) an? "),
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
    ("reserve", 4.5, r"\bwait(?:s|ing)? for\b|\bqueue (?:up )?for\b"),
    (
        "reserve",
        5.4,
        r"(?P<a>\b(?:would like|wants?)) .+? (?P<b>\b(?:when|once|as soon as) .+? (?:back|free|available)\b)",
    ),
];

/// The compiled phrases.
pub(super) static PATTERNS: LazyLock<Vec<(&'static str, f32, Regex)>> = LazyLock::new(|| {
    PHRASES.iter().map(|(group, weight, literal)| (*group, *weight, pattern(literal))).collect()
});

/// The class of a group.
pub(super) fn class_of(group: &str) -> Option<Class> {
    GROUPS.iter().find(|(name, ..)| *name == group).map(|(_, class, _)| *class)
}
