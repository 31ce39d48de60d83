//! General synonyms, words for the people of countries, and short forms in names.
//!
//! The invariant: nothing here comes from a data set. A word is listed because English uses it so.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::tokens::stem;

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
pub fn synonyms(left: &str, right: &str) -> bool {
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
    lines
        .get(left)
        .zip(lines.get(right))
        .is_some_and(|(left, right)| left.iter().any(|line| right.contains(line)))
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
pub fn demonym(word: &str) -> Option<&'static [&'static str]> {
    DEMONYMS.iter().find(|(known, _)| *known == word).map(|(_, countries)| *countries)
}

/// Short forms in names, written out.
pub fn expand(word: &str) -> Vec<&str> {
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
        "hr" | "hrs" => vec!["hour"],
        "mgr" => vec!["manager"],
        "dep" => vec!["departure"],
        "arr" => vec!["arrival"],
        "sched" => vec!["scheduled"],
        "orig" => vec!["origin"],
        "rev" => vec!["revenue"],
        "acct" => vec!["account"],
        "bal" => vec!["balance"],
        "txn" | "trx" => vec!["transaction"],
        "pmt" => vec!["payment"],
        "cnt" => vec!["count"],
        "mo" | "mth" => vec!["month"],
        "wk" => vec!["week"],
        "qtr" => vec!["quarter"],
        "dt" => vec!["date"],
        "desc" | "descr" => vec!["description"],
        "loc" => vec!["location"],
        "dur" => vec!["duration"],
        "lng" => vec!["longitude"],
        "lat" => vec!["latitude"],
        _ => vec![word],
    }
}
