//! Reading new columns: "create a column 'X' as the sum of A and B", "X = A / B", "percentage
//! change in A".

use super::columns::Mention;
use super::prepare::unique;
use super::reader::Context;
use super::types::{Formula, Step};
use super::words::{Token, has_any};
use std::ops::Range;

/// The new columns a sentence asks for.
pub(super) fn read_derived(context: &Context, range: &Range<usize>, only_named: bool) -> Vec<Step> {
    let words = context.sentence(range);
    let makes = has_any(
        &words,
        &[
            "stor*",
            "column called",
            "column named",
            "feature called",
            "feature named",
            "new variable",
            "creat*",
            "generat*",
            "add",
            "construct*",
            "introduc*",
            "deriv*",
        ],
    );
    let thing = has_any(
        &words,
        &[
            "store it as",
            "save it as",
            "call it",
            "column",
            "feature",
            "variable",
            "attribute",
            "columns",
            "features",
        ],
    );
    if has_any(&words, &["rolling", "moving average"]) && context.derived.is_empty() {
        let name = new_name(context, range).unwrap_or_else(|| "rolling_mean".into());
        let formula = read_formula(context, range, Some(&name));
        return formula.map(|formula| Step::Derive { name, formula }).into_iter().collect();
    }
    if lengthy(&words) && context.derived.is_empty() && !(makes && thing) {
        let formula = read_formula(context, range, None);
        return formula.map(|formula| Step::Derive { name: "length".into(), formula }).into_iter().collect();
    }
    let makes = makes
        || has_any(&words, &["new column", "new feature", "new variable"])
            && new_name(context, range).is_some();
    let changes = has_any(
        &words,
        &["daily return", "daily returns", "percentage change", "percent change", "pct change"],
    );
    let works = has_any(&words, &["calculat*", "comput*"]);
    if changes && works && !(makes && thing) && context.derived.is_empty() {
        let formula = read_formula(context, range, None);
        let change = formula.filter(|f| matches!(f, Formula::Change(..)));
        return change.map(|formula| Step::Derive { name: "change".into(), formula }).into_iter().collect();
    }
    if !makes
        || !thing
        || has_any(&words, &["categoriz*", "categoris*", "categor*", "new dataframe", "classif*"])
    {
        return Vec::new();
    }
    let name = new_name(context, range);
    if name.as_ref().is_some_and(|n| context.derived.contains(n))
        || (name.is_none() && (only_named || !context.derived.is_empty()))
    {
        return Vec::new();
    }
    // The formula may stand in the same sentence or in a later one that names the column or is
    // about calculating.
    let mut formula = read_formula(context, range, name.as_deref());
    if formula.is_none() {
        let later = context.sentences.iter().filter(|r| r.start != range.start);
        formula = later
            .clone()
            .filter(|r| {
                name.as_ref().is_some_and(|n| mentions_name(context, r, n))
                    || calculates(&context.sentence(r))
            })
            .find_map(|r| read_formula(context, r, name.as_deref()));
    }
    let Some(formula) = formula else { return Vec::new() };
    vec![Step::Derive { name: name.unwrap_or_else(|| "new_feature".into()), formula }]
}

fn calculates(words: &str) -> bool {
    has_any(
        words,
        &[
            "calculate*",
            "comput*",
            "defined as",
            "sum of",
            "ratio",
            "difference",
            "subtract*",
            "divid*",
            "add",
            "represents",
        ],
    )
}

fn mentions_name(context: &Context, range: &Range<usize>, name: &str) -> bool {
    let wanted = super::words::key(name);
    let text: String = context
        .tokens
        .get(range.clone())
        .map(|t| t.iter().filter(|t| t.word).map(|t| t.lower.as_str()).collect())
        .unwrap_or_default();
    text.contains(&wanted)
}

/// The name after "called", "named" or "column": a quoted text, or a word that looks like a name.
fn new_name(context: &Context, range: &Range<usize>) -> Option<String> {
    let tokens = context.tokens.get(range.clone())?;
    let known = |name: &str| context.frame.position(name).is_some();
    let mut after_mark = false;
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        if ["called", "named", "column", "feature", "variable", "as", "attribute", "new"]
            .contains(&token.lower.as_str())
            && token.quote == 0
        {
            after_mark = true;
            place += 1;
            continue;
        }
        if after_mark && token.quote > 0 {
            let name = quoted(tokens, place);
            if !known(&name) {
                return Some(name);
            }
        }
        let before = place.checked_sub(1).and_then(|p| tokens.get(p)).map_or("", |t| t.lower.as_str());
        if ["called", "named"].contains(&before) && token.word && token.quote == 0 {
            return Some(joined(tokens, place));
        }
        place += 1;
    }
    None
}

/// The whole quoted text that starts here.
fn quoted(tokens: &[Token], start: usize) -> String {
    let quote = tokens.get(start).map_or(0, |t| t.quote);
    let mut text = String::new();
    for token in tokens.iter().skip(start).take_while(|t| t.quote == quote) {
        if token.spaced && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&token.text);
    }
    text
}

/// A name of words joined by underscores.
fn joined(tokens: &[Token], start: usize) -> String {
    let mut text = String::new();
    for (place, token) in tokens.iter().enumerate().skip(start) {
        if place > start && (token.spaced || !(token.word || token.text == "_" || token.text == "-")) {
            break;
        }
        text.push_str(&token.text);
    }
    text
}

/// The formula a sentence states over known columns.
#[must_use]
pub(super) fn read_formula(context: &Context, range: &Range<usize>, own: Option<&str>) -> Option<Formula> {
    let tokens = context.tokens.get(range.clone())?;
    let words = context.sentence(range);
    let mentions: Vec<&Mention> = context
        .within(range)
        .into_iter()
        .filter(|m| context.is_numeric(&m.column) != lengthy(&words))
        .filter(|m| own.is_none_or(|own| m.column != own && !inside_name(context, m, own)))
        .collect();
    let names = unique(mentions.iter().map(|m| m.column.clone()).collect());
    let first = names.first()?;
    if lengthy(&words) {
        return Some(Formula::Length(
            first.clone(),
            has_any(&words, &["non space", "without spaces", "excluding spaces"]),
        ));
    }
    if has_any(
        &words,
        &[
            "previous day",
            "previous row",
            "pct change",
            "percentage change",
            "percent change",
            "daily return",
            "previous close",
            "day to day",
            "prior day",
            "day over day",
            "month over month",
            "year over year",
        ],
    ) {
        let percent = has_any(&words, &["percentage", "percent", "pct", "return", "returns"]);
        return Some(Formula::Change(first.clone(), percent));
    }
    if has_any(&words, &["rolling", "moving average"]) {
        let window = tokens.iter().find_map(Token::number).filter(|n| *n >= 2.0)?;
        return Some(Formula::Rolling(first.clone(), window as usize));
    }
    if let Some(formula) = symbolic(context, range, &mentions) {
        return Some(formula);
    }
    verbal(&words, &names, context, range, &mentions)
}

/// Does the sentence speak of the length of texts?
fn lengthy(words: &str) -> bool {
    has_any(
        words,
        &["character count", "number of characters", "length of the", "text length", "count of characters"],
    )
}

/// Is the mention only a part of the quoted name of the new column?
fn inside_name(context: &Context, mention: &Mention, own: &str) -> bool {
    let Some(token) = context.tokens.get(mention.start) else { return false };
    if token.quote == 0 {
        return false;
    }
    let start = context.tokens.iter().position(|t| t.quote == token.quote).unwrap_or(mention.start);
    super::words::key(&quoted(&context.tokens, start)) == super::words::key(own)
}

fn verbal(
    words: &str,
    names: &[String],
    context: &Context,
    range: &Range<usize>,
    mentions: &[&Mention],
) -> Option<Formula> {
    let first = names.first()?;
    let Some(second) = names.get(1) else { return scaled(words, first, context, range) };
    let column = |name: &String| Box::new(Formula::Column(name.clone()));
    let place_of = |mark: &str| {
        context
            .tokens
            .iter()
            .enumerate()
            .skip(range.start)
            .take(range.len())
            .find(|(_, t)| t.lower.starts_with(mark))
            .map(|(p, _)| p)
    };
    if let Some(place) = place_of("subtract") {
        let from = context
            .tokens
            .iter()
            .enumerate()
            .skip(place)
            .take(range.end - place)
            .find(|(_, t)| t.lower == "from")
            .map(|(p, _)| p);
        let after: Vec<&&Mention> = mentions.iter().filter(|m| m.start > place).collect();
        if let (Some(from), [a, .., b]) = (from, after.as_slice())
            && a.start < from
            && b.start > from
        {
            return Some(Formula::Operation('-', column(&b.column), column(&a.column)));
        }
        return Some(Formula::Operation('-', column(first), column(second)));
    }
    let percent = |formula: Formula| {
        if has_any(words, &["percentage", "percent"]) {
            Formula::Operation('*', Box::new(formula), Box::new(Formula::Number(100.0)))
        } else {
            formula
        }
    };
    if has_any(words, &["ratio", "divided", "dividing", "divide", "as a percentage of", "percentage of"]) {
        return Some(percent(Formula::Operation('/', column(first), column(second))));
    }
    if has_any(words, &["product of", "multiply*", "multiplied", "times"]) {
        return Some(Formula::Operation('*', column(first), column(second)));
    }
    if has_any(words, &["difference", "minus", "subtraction"]) {
        let difference = Formula::Operation('-', column(first), column(second));
        return Some(if has_any(words, &["absolute difference"]) {
            Formula::Absolute(Box::new(difference))
        } else {
            difference
        });
    }
    if has_any(words, &["sum", "summing", "adding", "sums", "combin*", "total of", "total number", "add"]) {
        return Some(Formula::Sum(names.to_vec()));
    }
    has_any(words, &["average", "mean", "averaging"]).then(|| Formula::Mean(names.to_vec()))
}

/// One column and a fixed number: "MonthlyIncome multiplied by 12".
fn scaled(words: &str, column: &str, context: &Context, range: &Range<usize>) -> Option<Formula> {
    let sign = if has_any(words, &["multipl*", "times", "product"]) {
        '*'
    } else if has_any(words, &["divid*"]) {
        '/'
    } else if has_any(words, &["subtract*", "minus"]) {
        '-'
    } else if has_any(words, &["adding", "plus"]) {
        '+'
    } else if has_any(words, &["logarithm", "log"]) {
        return Some(Formula::Log(Box::new(Formula::Column(column.to_owned()))));
    } else {
        return None;
    };
    let number = context.tokens.get(range.clone())?.iter().rev().find_map(Token::number)?;
    Some(Formula::Operation(
        sign,
        Box::new(Formula::Column(column.to_owned())),
        Box::new(Formula::Number(number)),
    ))
}

/// A part of a written formula.
#[derive(Debug, Clone, PartialEq)]
enum Symbol {
    Atom(Formula),
    Sign(char),
    Open,
    Close,
}

/// A formula in signs, such as `(A - B) / C * 100`.
fn symbolic(context: &Context, range: &Range<usize>, mentions: &[&Mention]) -> Option<Formula> {
    let mut runs: Vec<Vec<Symbol>> = vec![Vec::new()];
    let mut place = range.start;
    while place < range.end {
        let Some(token) = context.tokens.get(place) else { break };
        if let Some(mention) = mentions.iter().find(|m| m.start == place) {
            add(&mut runs, Some(Symbol::Atom(Formula::Column(mention.column.clone()))));
            place = mention.end;
            continue;
        }
        let symbol = match token.text.as_str() {
            "+" | "*" | "/" | "-" => token.text.chars().next().map(Symbol::Sign),
            "×" => Some(Symbol::Sign('*')),
            "÷" => Some(Symbol::Sign('/')),
            "−" | "–" => Some(Symbol::Sign('-')),
            "(" => Some(Symbol::Open),
            ")" => Some(Symbol::Close),
            _ => token.number().map(|n| Symbol::Atom(Formula::Number(n))),
        };
        let soft = ["the", "column", "value", "values", "price", "of"].contains(&token.lower.as_str());
        if symbol.is_some() || !soft {
            add(&mut runs, symbol);
        }
        place += 1;
    }
    let single = names_count(mentions) == 1;
    let columns =
        |run: &[Symbol]| run.iter().filter(|s| matches!(s, Symbol::Atom(Formula::Column(_)))).count();
    let best = runs
        .iter()
        .filter(|run| {
            (columns(run) >= 2 || single && columns(run) == 1 && run.len() >= 3)
                && run.iter().any(|s| matches!(s, Symbol::Sign(_)))
        })
        .max_by_key(|run| columns(run))?;
    parse(&balanced(best))
}

fn names_count(mentions: &[&Mention]) -> usize {
    unique(mentions.iter().map(|m| m.column.clone()).collect()).len()
}

fn add(runs: &mut Vec<Vec<Symbol>>, symbol: Option<Symbol>) {
    match (symbol, runs.last_mut()) {
        (Some(symbol), Some(run)) => run.push(symbol),
        _ => runs.push(Vec::new()),
    }
}

/// Drops brackets at the ends that have no partner, and signs with nothing beside them.
fn balanced(run: &[Symbol]) -> Vec<Symbol> {
    let mut run: Vec<Symbol> = run.to_vec();
    loop {
        let opens = run.iter().filter(|s| **s == Symbol::Open).count();
        let closes = run.iter().filter(|s| **s == Symbol::Close).count();
        match (run.first(), run.last()) {
            (Some(Symbol::Sign(_) | Symbol::Close), _) => drop(run.remove(0)),
            (_, Some(Symbol::Sign(_) | Symbol::Open)) => drop(run.pop()),
            (Some(Symbol::Open), _) if opens > closes => drop(run.remove(0)),
            (_, Some(Symbol::Close)) if closes > opens => drop(run.pop()),
            _ => return run,
        }
    }
}

fn parse(run: &[Symbol]) -> Option<Formula> {
    let mut place = 0;
    let formula = sum(run, &mut place)?;
    (place == run.len()).then_some(formula)
}

fn sum(run: &[Symbol], place: &mut usize) -> Option<Formula> {
    let mut left = product(run, place)?;
    while let Some(Symbol::Sign(sign @ ('+' | '-'))) = run.get(*place) {
        *place += 1;
        left = Formula::Operation(*sign, Box::new(left), Box::new(product(run, place)?));
    }
    Some(left)
}

fn product(run: &[Symbol], place: &mut usize) -> Option<Formula> {
    let mut left = atom(run, place)?;
    while let Some(Symbol::Sign(sign @ ('*' | '/'))) = run.get(*place) {
        *place += 1;
        left = Formula::Operation(*sign, Box::new(left), Box::new(atom(run, place)?));
    }
    Some(left)
}

fn atom(run: &[Symbol], place: &mut usize) -> Option<Formula> {
    match run.get(*place)? {
        Symbol::Atom(formula) => {
            *place += 1;
            Some(formula.clone())
        }
        Symbol::Open => {
            *place += 1;
            let inner = sum(run, place)?;
            (run.get(*place) == Some(&Symbol::Close)).then_some(())?;
            *place += 1;
            Some(inner)
        }
        _ => None,
    }
}
