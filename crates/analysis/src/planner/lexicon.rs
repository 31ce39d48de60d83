//! The English of questions: question words, comparatives, superlatives, connectives, and general synonyms.
//!
//! The invariant: nothing here comes from a data set. A word is listed because English uses it so.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::query::{Aggregate, Compare, Grain};

use super::tokens::{Token, stem};

/// What a comparative or superlative is about: stems that a fitting column has in its name.
pub(super) type Hint = &'static [&'static str];

/// No hint.
pub(super) const ANY: Hint = &[];
const AGE: Hint = &["age", "birth", "born", "dob", "year", "date", "found", "launch", "open", "start", "build", "built"];
const TIME: Hint = &["date", "year", "time", "day", "month", "created", "found", "open", "launch", "season", "when", "start"];
const WEIGHT: Hint = &["weight", "mass", "weigh"];
const LENGTH: Hint = &["length", "duration", "distance", "long", "height", "minute", "second", "hour", "run", "time"];
const HEIGHT: Hint = &["height", "tall", "elevation", "floor", "high"];
const PRICE: Hint = &["price", "cost", "amount", "fee", "value", "salary"];
const MONEY: Hint = &["worth", "salary", "income", "wealth", "earning", "money", "revenue"];
const SPEED: Hint = &["speed", "time", "velocity", "accelerat", "lap"];
const SIZE: Hint = &["size", "area", "capacity", "population", "square", "staff", "employe", "volume", "total"];
const SCORE: Hint = &["rating", "score", "rank", "point", "grade", "result"];
const CROWD: Hint = &["population", "attendance", "visitor", "people", "capacity"];

/// The part a word or phrase plays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Key {
    /// "how many".
    HowMany,
    /// "number of", "count".
    NumberOf,
    /// "how much".
    HowMuch,
    /// "average", "total", "maximum".
    Agg(Aggregate),
    /// "highest", "oldest": down when the largest comes first, and what it is about.
    Super(bool, Hint),
    /// "most common": counted rows.
    Common(bool),
    /// "top" and "bottom" before a number.
    Top(bool),
    /// "more than", "older than".
    Cmp(Compare, Hint),
    /// "or more", "or later": makes the comparison before it inclusive.
    OrMore,
    /// "or less", "or earlier".
    OrLess,
    /// "between".
    Between,
    /// "each", "per".
    Each,
    /// "by".
    By,
    /// "ordered by".
    OrderBy,
    /// "ascending".
    Asc,
    /// "descending".
    Desc,
    /// "alphabetically".
    Alphabetical,
    /// "different".
    Distinct,
    /// "not".
    Not,
    /// "without", "no".
    Without,
    /// "except".
    Except,
    /// "both".
    Both,
    /// "either".
    Either,
    /// "and".
    And,
    /// "or".
    Or,
    /// "but".
    But,
    /// "containing".
    Contains,
    /// "starting with".
    Starts,
    /// "ending with".
    Ends,
    /// "missing", "empty".
    Null,
    /// "share of", "percentage of".
    Share,
    /// "monthly".
    Grain(Grain),
    /// "who".
    Who,
    /// "when".
    When,
    /// "where".
    Where,
    /// "what", "which", "show", "list".
    Ask,
    /// "all", "any", "information about".
    Everything,
    /// "how old", "how long".
    How(Hint),
    /// "with", "whose", "that": a condition begins.
    Clause,
    /// "of", "for", "in", "from", "at": ties a noun to another.
    Of,
    /// "than".
    Than,
    /// "to", "through".
    To,
    /// "is", "=", "named".
    Is,
    /// Words that carry nothing.
    Filler,
}

/// Phrases and what they mean. The longest match wins.
const PHRASES: &[(&str, Key)] = &[
    ("how many", Key::HowMany),
    ("number of", Key::NumberOf),
    ("numbers of", Key::NumberOf),
    ("total number of", Key::NumberOf),
    ("total count of", Key::NumberOf),
    ("total number", Key::NumberOf),
    ("amount of", Key::Filler),
    ("number", Key::NumberOf),
    ("count of", Key::NumberOf),
    ("count", Key::NumberOf),
    ("how often", Key::HowMany),
    ("frequency", Key::NumberOf),
    ("how much", Key::HowMuch),
    ("average", Key::Agg(Aggregate::Average)),
    ("mean", Key::Agg(Aggregate::Average)),
    ("avg", Key::Agg(Aggregate::Average)),
    ("on average", Key::Agg(Aggregate::Average)),
    ("total", Key::Agg(Aggregate::Sum)),
    ("sum of", Key::Agg(Aggregate::Sum)),
    ("sum", Key::Agg(Aggregate::Sum)),
    ("combined", Key::Agg(Aggregate::Sum)),
    ("overall", Key::Agg(Aggregate::Sum)),
    ("minimum", Key::Agg(Aggregate::Min)),
    ("min", Key::Agg(Aggregate::Min)),
    ("maximum", Key::Agg(Aggregate::Max)),
    ("max", Key::Agg(Aggregate::Max)),
    ("median", Key::Agg(Aggregate::Median)),
    ("standard deviation", Key::Agg(Aggregate::StdDev)),
    ("highest", Key::Super(true, ANY)),
    ("greatest", Key::Super(true, ANY)),
    ("largest", Key::Super(true, SIZE)),
    ("biggest", Key::Super(true, SIZE)),
    ("most", Key::Super(true, ANY)),
    ("peak", Key::Super(true, ANY)),
    ("strongest", Key::Super(true, ANY)),
    ("lowest", Key::Super(false, ANY)),
    ("smallest", Key::Super(false, SIZE)),
    ("least", Key::Super(false, ANY)),
    ("fewest", Key::Super(false, ANY)),
    ("weakest", Key::Super(false, ANY)),
    ("oldest", Key::Super(true, AGE)),
    ("youngest", Key::Super(false, AGE)),
    ("newest", Key::Super(true, TIME)),
    ("latest", Key::Super(true, TIME)),
    ("most recent", Key::Super(true, TIME)),
    ("most recently", Key::Super(true, TIME)),
    ("earliest", Key::Super(false, TIME)),
    ("longest", Key::Super(true, LENGTH)),
    ("shortest", Key::Super(false, LENGTH)),
    ("tallest", Key::Super(true, HEIGHT)),
    ("heaviest", Key::Super(true, WEIGHT)),
    ("lightest", Key::Super(false, WEIGHT)),
    ("most expensive", Key::Super(true, PRICE)),
    ("least expensive", Key::Super(false, PRICE)),
    ("cheapest", Key::Super(false, PRICE)),
    ("richest", Key::Super(true, MONEY)),
    ("poorest", Key::Super(false, MONEY)),
    ("fastest", Key::Super(true, SPEED)),
    ("slowest", Key::Super(false, SPEED)),
    ("best", Key::Super(true, SCORE)),
    ("worst", Key::Super(false, SCORE)),
    ("highest rated", Key::Super(true, SCORE)),
    ("most populous", Key::Super(true, CROWD)),
    ("most common", Key::Common(true)),
    ("most popular", Key::Common(true)),
    ("most frequent", Key::Common(true)),
    ("most frequently", Key::Common(true)),
    ("most often", Key::Common(true)),
    ("most times", Key::Common(true)),
    ("most number of times", Key::Common(true)),
    ("least common", Key::Common(false)),
    ("least popular", Key::Common(false)),
    ("rarest", Key::Common(false)),
    ("least frequent", Key::Common(false)),
    ("top", Key::Top(true)),
    ("bottom", Key::Top(false)),
    ("more than", Key::Cmp(Compare::Greater, ANY)),
    ("greater than", Key::Cmp(Compare::Greater, ANY)),
    ("bigger than", Key::Cmp(Compare::Greater, SIZE)),
    ("larger than", Key::Cmp(Compare::Greater, SIZE)),
    ("higher than", Key::Cmp(Compare::Greater, ANY)),
    ("better than", Key::Cmp(Compare::Greater, SCORE)),
    ("above", Key::Cmp(Compare::Greater, ANY)),
    ("over", Key::Cmp(Compare::Greater, ANY)),
    ("exceeding", Key::Cmp(Compare::Greater, ANY)),
    ("exceed", Key::Cmp(Compare::Greater, ANY)),
    ("exceeds", Key::Cmp(Compare::Greater, ANY)),
    ("greater", Key::Cmp(Compare::Greater, ANY)),
    ("larger", Key::Cmp(Compare::Greater, SIZE)),
    ("bigger", Key::Cmp(Compare::Greater, SIZE)),
    ("higher", Key::Cmp(Compare::Greater, ANY)),
    ("more", Key::Cmp(Compare::Greater, ANY)),
    ("less than", Key::Cmp(Compare::Less, ANY)),
    ("fewer than", Key::Cmp(Compare::Less, ANY)),
    ("smaller than", Key::Cmp(Compare::Less, SIZE)),
    ("lower than", Key::Cmp(Compare::Less, ANY)),
    ("worse than", Key::Cmp(Compare::Less, SCORE)),
    ("below", Key::Cmp(Compare::Less, ANY)),
    ("under", Key::Cmp(Compare::Less, ANY)),
    ("less", Key::Cmp(Compare::Less, ANY)),
    ("fewer", Key::Cmp(Compare::Less, ANY)),
    ("lower", Key::Cmp(Compare::Less, ANY)),
    ("smaller", Key::Cmp(Compare::Less, SIZE)),
    ("at least", Key::Cmp(Compare::GreaterOrEqual, ANY)),
    ("no less than", Key::Cmp(Compare::GreaterOrEqual, ANY)),
    ("not less than", Key::Cmp(Compare::GreaterOrEqual, ANY)),
    ("no fewer than", Key::Cmp(Compare::GreaterOrEqual, ANY)),
    ("minimum of", Key::Cmp(Compare::GreaterOrEqual, ANY)),
    ("at most", Key::Cmp(Compare::LessOrEqual, ANY)),
    ("no more than", Key::Cmp(Compare::LessOrEqual, ANY)),
    ("not more than", Key::Cmp(Compare::LessOrEqual, ANY)),
    ("up to", Key::Cmp(Compare::LessOrEqual, ANY)),
    ("maximum of", Key::Cmp(Compare::LessOrEqual, ANY)),
    ("older than", Key::Cmp(Compare::Greater, AGE)),
    ("younger than", Key::Cmp(Compare::Less, AGE)),
    ("heavier than", Key::Cmp(Compare::Greater, WEIGHT)),
    ("lighter than", Key::Cmp(Compare::Less, WEIGHT)),
    ("taller than", Key::Cmp(Compare::Greater, HEIGHT)),
    ("shorter than", Key::Cmp(Compare::Less, HEIGHT)),
    ("longer than", Key::Cmp(Compare::Greater, LENGTH)),
    ("cheaper than", Key::Cmp(Compare::Less, PRICE)),
    ("faster than", Key::Cmp(Compare::Greater, SPEED)),
    ("after", Key::Cmp(Compare::Greater, TIME)),
    ("later than", Key::Cmp(Compare::Greater, TIME)),
    ("since", Key::Cmp(Compare::GreaterOrEqual, TIME)),
    ("before", Key::Cmp(Compare::Less, TIME)),
    ("prior to", Key::Cmp(Compare::Less, TIME)),
    ("earlier than", Key::Cmp(Compare::Less, TIME)),
    ("until", Key::Cmp(Compare::LessOrEqual, TIME)),
    ("equal to", Key::Is),
    ("equals", Key::Is),
    ("equal", Key::Is),
    ("first", Key::Super(false, TIME)),
    ("last", Key::Super(true, TIME)),
    ("exactly", Key::Is),
    ("or more", Key::OrMore),
    ("or above", Key::OrMore),
    ("or over", Key::OrMore),
    ("or higher", Key::OrMore),
    ("or greater", Key::OrMore),
    ("or older", Key::OrMore),
    ("or later", Key::OrMore),
    ("or after", Key::OrMore),
    ("or newer", Key::OrMore),
    ("or less", Key::OrLess),
    ("or fewer", Key::OrLess),
    ("or below", Key::OrLess),
    ("or under", Key::OrLess),
    ("or lower", Key::OrLess),
    ("or younger", Key::OrLess),
    ("or earlier", Key::OrLess),
    ("or before", Key::OrLess),
    ("between", Key::Between),
    ("each", Key::Each),
    ("for each", Key::Each),
    ("for every", Key::Each),
    ("in each", Key::Each),
    ("of each", Key::Each),
    ("per", Key::Each),
    ("grouped by", Key::Each),
    ("group by", Key::Each),
    ("broken down by", Key::Each),
    ("breakdown by", Key::Each),
    ("split by", Key::Each),
    ("respective", Key::Filler),
    ("corresponding", Key::Filler),
    ("every", Key::Each),
    ("across", Key::Each),
    ("across all", Key::Of),
    ("for all the different", Key::Each),
    ("for all different", Key::Each),
    ("for the different", Key::Each),
    ("for different", Key::Each),
    ("by", Key::By),
    ("order by", Key::OrderBy),
    ("ordered by", Key::OrderBy),
    ("sorted by", Key::OrderBy),
    ("sort by", Key::OrderBy),
    ("ranked by", Key::OrderBy),
    ("rank by", Key::OrderBy),
    ("sorted", Key::OrderBy),
    ("ordered", Key::OrderBy),
    ("sort", Key::OrderBy),
    ("rank", Key::OrderBy),
    ("in order of", Key::OrderBy),
    ("order of", Key::OrderBy),
    ("in the order of", Key::OrderBy),
    ("ascending order of", Key::OrderBy),
    ("descending order of", Key::Desc),
    ("decreasing order of", Key::Desc),
    ("order", Key::OrderBy),
    ("ascending", Key::Asc),
    ("increasing", Key::Asc),
    ("asc", Key::Asc),
    ("lowest to highest", Key::Asc),
    ("smallest to largest", Key::Asc),
    ("low to high", Key::Asc),
    ("youngest to oldest", Key::Asc),
    ("young to old", Key::Asc),
    ("oldest to youngest", Key::Desc),
    ("the oldest to the youngest", Key::Desc),
    ("the youngest to the oldest", Key::Asc),
    ("old to young", Key::Desc),
    ("oldest to newest", Key::Asc),
    ("newest to oldest", Key::Desc),
    ("oldest first", Key::Desc),
    ("youngest first", Key::Asc),
    ("newest first", Key::Desc),
    ("highest first", Key::Desc),
    ("lowest first", Key::Asc),
    ("largest first", Key::Desc),
    ("most recent first", Key::Desc),
    ("highest to lowest", Key::Desc),
    ("high to low", Key::Desc),
    ("largest to smallest", Key::Desc),
    ("most to least", Key::Desc),
    ("least to most", Key::Asc),
    ("descending", Key::Desc),
    ("decreasing", Key::Desc),
    ("desc", Key::Desc),
    ("reverse", Key::Desc),
    ("alphabetically", Key::Alphabetical),
    ("alphabetical", Key::Alphabetical),
    ("lexicographically", Key::Alphabetical),
    ("lexicographical", Key::Alphabetical),
    ("lexicographic", Key::Alphabetical),
    ("distinct", Key::Distinct),
    ("different", Key::Distinct),
    ("unique", Key::Distinct),
    ("distinctive", Key::Distinct),
    ("kinds of", Key::Distinct),
    ("not", Key::Not),
    ("never", Key::Not),
    ("cannot", Key::Not),
    ("not a single", Key::Without),
    ("not one", Key::Without),
    ("without", Key::Without),
    ("without any", Key::Without),
    ("no", Key::Without),
    ("not any", Key::Without),
    ("lack", Key::Without),
    ("lacking", Key::Without),
    ("except", Key::Except),
    ("except for", Key::Except),
    ("excluding", Key::Except),
    ("other than", Key::Except),
    ("outside of", Key::Except),
    ("outside", Key::Except),
    ("both", Key::Both),
    ("either", Key::Either),
    ("and", Key::And),
    ("as well as", Key::And),
    ("along with", Key::And),
    ("together with", Key::And),
    ("or", Key::Or),
    ("but", Key::But),
    ("containing", Key::Contains),
    ("contains", Key::Contains),
    ("contain", Key::Contains),
    ("includes", Key::Contains),
    ("include", Key::Contains),
    ("with the word", Key::Contains),
    ("has the word", Key::Contains),
    ("contains the word", Key::Contains),
    ("containing the word", Key::Contains),
    ("contain the word", Key::Contains),
    ("with the substring", Key::Contains),
    ("substring", Key::Contains),
    ("the phrase", Key::Contains),
    ("the letter", Key::Contains),
    ("starting with", Key::Starts),
    ("starts with", Key::Starts),
    ("start with", Key::Starts),
    ("begins with", Key::Starts),
    ("beginning with", Key::Starts),
    ("begin with", Key::Starts),
    ("ending with", Key::Ends),
    ("ends with", Key::Ends),
    ("end with", Key::Ends),
    ("ending in", Key::Ends),
    ("missing", Key::Null),
    ("empty", Key::Null),
    ("blank", Key::Null),
    ("null", Key::Null),
    ("unknown", Key::Null),
    ("unspecified", Key::Null),
    ("percentage", Key::Share),
    ("percent", Key::Share),
    ("share", Key::Share),
    ("proportion", Key::Share),
    ("fraction", Key::Share),
    ("daily", Key::Grain(Grain::Day)),
    ("weekly", Key::Grain(Grain::Week)),
    ("monthly", Key::Grain(Grain::Month)),
    ("quarterly", Key::Grain(Grain::Quarter)),
    ("yearly", Key::Grain(Grain::Year)),
    ("annual", Key::Grain(Grain::Year)),
    ("annually", Key::Grain(Grain::Year)),
    ("who", Key::Who),
    ("whom", Key::Who),
    ("when", Key::When),
    ("what time", Key::When),
    ("where", Key::Where),
    ("what", Key::Ask),
    ("which", Key::Ask),
    ("show", Key::Ask),
    ("list", Key::Ask),
    ("find", Key::Ask),
    ("give", Key::Ask),
    ("tell", Key::Ask),
    ("name", Key::Ask),
    ("return", Key::Ask),
    ("display", Key::Ask),
    ("get", Key::Ask),
    ("all", Key::Everything),
    ("any", Key::Everything),
    ("information", Key::Everything),
    ("details", Key::Everything),
    ("info", Key::Everything),
    ("how old", Key::How(AGE)),
    ("how long", Key::How(LENGTH)),
    ("how tall", Key::How(HEIGHT)),
    ("how high", Key::How(HEIGHT)),
    ("how heavy", Key::How(WEIGHT)),
    ("how big", Key::How(SIZE)),
    ("how large", Key::How(SIZE)),
    ("how fast", Key::How(SPEED)),
    ("how expensive", Key::How(PRICE)),
    ("how far", Key::How(LENGTH)),
    ("with", Key::Clause),
    ("whose", Key::Clause),
    ("that", Key::Clause),
    ("having", Key::Clause),
    ("has", Key::Clause),
    ("have", Key::Clause),
    ("had", Key::Clause),
    ("if", Key::Clause),
    ("of", Key::Of),
    ("for", Key::Of),
    ("in", Key::Of),
    ("from", Key::Of),
    ("at", Key::Of),
    ("on", Key::Of),
    ("among", Key::Of),
    ("during", Key::Of),
    ("within", Key::Of),
    ("than", Key::Than),
    ("to", Key::To),
    ("through", Key::To),
    ("is", Key::Is),
    ("are", Key::Is),
    ("was", Key::Is),
    ("were", Key::Is),
    ("be", Key::Is),
    ("been", Key::Is),
    ("being", Key::Is),
    ("=", Key::Is),
    ("named", Key::Is),
    ("called", Key::Is),
];

/// Words that carry nothing when no column, table or value is called so.
const FILLERS: &[&str] = &[
    "a", "an", "the", "do", "does", "did", "done", "me", "us", "we", "you", "i", "my", "our", "please", "can", "could", "would", "there", "their",
    "them", "they", "it", "its", "his", "her", "he", "she", "this", "these", "those", "one", "ones", "as", "so", "also", "s", "also", "just",
    "will", "value", "values", "exist", "exists", "current", "currently", "listed", "recorded", "record", "table", "database", "data", "some",
    "used", "use", "uses", "using", "want", "know", "see", "like", "need", "let", "then", "now", "only", "about", "given", "same", "own", "owns",
    "belong", "belongs", "made", "make", "makes", "took", "take", "takes", "place", "happened", "happen", "held", "shown", "provide", "came", "come",
    "comes", "went", "go", "goes", "gave", "got", "entry", "entries", "item", "items", "thing", "things", "case", "cases", "amount", "way", "such",
    "kind", "sort", "exactly", "total", "many", "much", "well", "together", "altogether", "each", "other", "others", "more", "rows", "row", "result",
    "results", "said", "mentioned", "out", "up", "has", "shared", "share", "who", "whats", "what's", "having", "often", "times", "time", "possible",
    "live", "lives", "work", "works", "available", "there's", "corresponding", "occur", "occurred", "contain", "play", "played", "plays", "associated",
    "produced", "produce", "located", "originate", "originated", "respectively", "ever", "calculate", "compute", "determine", "describe", "identify",
];

/// A word that carries nothing by itself.
pub(super) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
}

/// The longest phrase that starts at a token: what it means and how many tokens it takes.
pub(super) fn phrase(tokens: &[Token], start: usize) -> Option<(Key, usize)> {
    let first = tokens.get(start)?;
    let mut best: Option<(Key, usize)> = None;
    for (text, key) in PHRASES {
        let mut words = text.split(' ');
        if words.next() != Some(first.word.as_str()) {
            continue;
        }
        let mut length = 1;
        let fits = words.all(|word| {
            let same = tokens.get(start + length).is_some_and(|token| token.word == word);
            length += 1;
            same
        });
        // "or before 2008" begins another comparison.
        let another = first.word == "or" && length > 1 && tokens.get(start + length).is_some_and(|token| token.number.is_some());
        if fits && !another && best.is_none_or(|(_, longest)| length > longest) {
            best = Some((*key, length));
        }
    }
    best
}

/// General synonyms, by stem: words of one line may stand for each other in a column's name.
const SYNONYMS: &[&[&str]] = &[
    &["country", "nation", "nationality", "citizenship"],
    &["gender", "sex"],
    &["price", "cost", "fee"],
    &["salary", "earn", "earning", "income", "wage", "pay"],
    &["weight", "weigh", "heavy", "mass"],
    &["height", "tall"],
    &["maker", "manufactur", "manufacturer", "producer", "make"],
    &["location", "place", "venue", "site"],
    &["city", "town", "hometown"],
    &["phone", "telephone", "mobile"],
    &["email", "mail"],
    &["job", "profession", "occupation", "position"],
    &["employee", "staff", "worker"],
    &["customer", "client", "buyer", "shopper"],
    &["order", "purchas", "purchase", "buy"],
    &["sale", "revenue", "turnover"],
    &["amount", "revenue", "sale"],
    &["type", "kind", "category"],
    &["score", "point", "result"],
    &["year", "season"],
    &["birth", "born", "birthday"],
    &["begin", "start", "starting"],
    &["end", "finish"],
    &["quantity", "unit"],
    &["crowd", "attendance", "spectator", "audience"],
    &["population", "inhabitant", "resident", "people"],
    &["album", "record"],
    &["title", "name"],
    &["author", "writer", "written"],
    &["director", "direct"],
    &["home", "host"],
    &["away", "visitor", "visit"],
    &["rank", "position", "place", "standing"],
    &["winner", "won", "win", "champion"],
    &["loser", "lost", "loss", "lose"],
    &["opponent", "against", "opposition", "rival"],
    &["length", "duration", "long"],
    &["area", "size", "surface"],
    &["sport", "game", "match"],
    &["found", "establish", "founded"],
    &["date", "day"],
    &["language", "speak", "spoken"],
    &["state", "province"],
    &["rating", "rate"],
    &["number", "no", "num"],
    &["code", "abbreviation"],
    &["stock", "inventory"],
    &["department", "dept"],
    &["constructor", "team"],
    &["club", "team"],
    &["network", "channel"],
    &["episode", "show"],
    &["car", "vehicle", "automobile"],
    &["school", "college", "university"],
    &["spend", "spent", "expense", "expenditure"],
    &["open", "opened", "opening"],
    &["release", "releas", "publish"],
    &["air", "aired", "broadcast"],
    &["animal", "pet"],
    &["teach", "teacher", "instructor"],
    &["student", "pupil"],
    &["vote", "voter"],
    &["partner", "teammate"],
    &["destination", "dest", "arrive", "arrival", "land"],
    &["source", "origin", "depart", "departure"],
];

/// Do two stems mean about the same?
pub(super) fn synonyms(left: &str, right: &str) -> bool {
    static LINES: OnceLock<HashMap<String, Vec<usize>>> = OnceLock::new();
    let lines = LINES.get_or_init(|| {
        let mut lines: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, line) in SYNONYMS.iter().enumerate() {
            for word in *line {
                lines.entry(stem(word)).or_default().push(place);
            }
        }
        lines
    });
    lines.get(left).zip(lines.get(right)).is_some_and(|(left, right)| left.iter().any(|line| right.contains(line)))
}

/// Countries by the word for their people and things.
const DEMONYMS: &[(&str, &[&str])] = &[
    ("american", &["usa", "us", "united states", "america", "united states of america"]),
    ("british", &["uk", "united kingdom", "great britain", "britain"]),
    ("english", &["england"]),
    ("scottish", &["scotland"]),
    ("welsh", &["wales"]),
    ("irish", &["ireland"]),
    ("french", &["france"]),
    ("german", &["germany"]),
    ("italian", &["italy"]),
    ("spanish", &["spain"]),
    ("portuguese", &["portugal"]),
    ("dutch", &["netherlands", "the netherlands", "holland"]),
    ("belgian", &["belgium"]),
    ("swiss", &["switzerland"]),
    ("austrian", &["austria"]),
    ("polish", &["poland"]),
    ("czech", &["czech republic", "czechia"]),
    ("hungarian", &["hungary"]),
    ("greek", &["greece"]),
    ("turkish", &["turkey"]),
    ("russian", &["russia", "ussr", "russian federation"]),
    ("ukrainian", &["ukraine"]),
    ("swedish", &["sweden"]),
    ("norwegian", &["norway"]),
    ("danish", &["denmark"]),
    ("finnish", &["finland"]),
    ("chinese", &["china"]),
    ("japanese", &["japan"]),
    ("korean", &["korea", "south korea"]),
    ("indian", &["india"]),
    ("canadian", &["canada"]),
    ("mexican", &["mexico"]),
    ("brazilian", &["brazil"]),
    ("argentine", &["argentina"]),
    ("australian", &["australia"]),
    ("egyptian", &["egypt"]),
    ("african", &["africa"]),
    ("asian", &["asia"]),
    ("european", &["europe"]),
];

/// The countries that an adjective stands for.
pub(super) fn demonym(word: &str) -> Option<&'static [&'static str]> {
    DEMONYMS.iter().find(|(known, _)| *known == word).map(|(_, countries)| *countries)
}

/// Short forms in names, written out.
pub(super) fn expand(word: &str) -> Vec<&str> {
    match word {
        "fname" => vec!["first", "name"],
        "lname" => vec!["last", "name"],
        "dob" => vec!["date", "birth"],
        "qty" => vec!["quantity"],
        "amt" => vec!["amount"],
        "num" | "nbr" | "no" => vec!["number"],
        "addr" => vec!["address"],
        "dept" => vec!["department"],
        "cust" => vec!["customer"],
        "prod" => vec!["product"],
        "avg" => vec!["average"],
        "pct" => vec!["percent"],
        "yr" => vec!["year"],
        "tel" => vec!["phone"],
        "emp" => vec!["employee"],
        "mpg" => vec!["mpg", "mile", "gallon"],
        "dist" => vec!["distance"],
        "hs" => vec!["high", "school"],
        "pos" => vec!["position"],
        "pts" => vec!["point"],
        "lng" => vec!["longitude"],
        "lat" => vec!["latitude"],
        _ => vec![word],
    }
}
