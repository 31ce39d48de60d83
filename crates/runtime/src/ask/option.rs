//! The option of a clarifying question that a message chooses: by its number, its ordinal, or its
//! words.

use steward_language::words::words;

const ORDINALS: &[&str] =
    &["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

/// Words that may stand around a choice and say nothing.
const LIGHT: &[&str] = &[
    "the", "a", "an", "one", "option", "number", "no", "please", "i", "mean", "meant", "take", "use",
    "choose", "it", "s", "is", "of", "by", "for", "that", "this",
];

/// The index of the option that a message chooses, if it chooses exactly one. Each option has a
/// label and the full question that it stands for.
pub(crate) fn chosen_option(said: &str, options: &[(&str, &str)]) -> Option<usize> {
    let said_words = lower_words(said);
    let plain = said_words.join(" ");
    let same = |text: &str| lower_words(text).join(" ") == plain;
    if let Some(at) = options.iter().position(|(label, question)| same(label) || same(question)) {
        return Some(at);
    }
    let telling: Vec<&str> =
        said_words.iter().map(String::as_str).filter(|word| !LIGHT.contains(word)).collect();
    if let [only] = telling.as_slice() {
        let number = only.trim_start_matches('#').parse::<usize>().ok();
        let ordinal = ORDINALS.iter().position(|known| known == only).map(|at| at + 1);
        let last = (*only == "last").then_some(options.len());
        if let Some(number) = number.or(ordinal).or(last) {
            return number.checked_sub(1).filter(|at| *at < options.len());
        }
    }
    // The words of one option alone: "list price" of "average list price by category".
    let has_all = |(label, question): &(&str, &str)| {
        let known: Vec<String> = lower_words(label).into_iter().chain(lower_words(question)).collect();
        !telling.is_empty() && telling.iter().all(|word| known.iter().any(|known| known == word))
    };
    let mut fitting = options.iter().enumerate().filter(|(_, option)| has_all(option));
    match (fitting.next(), fitting.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

fn lower_words(text: &str) -> Vec<String> {
    words(&text.replace('_', " ")).into_iter().map(|word| word.lower).collect()
}

#[cfg(test)]
mod tests {
    use super::chosen_option;

    #[test]
    fn an_option_is_chosen_by_number_ordinal_or_words() {
        let options = [
            ("average of unit_price, by category", "average unit_price by category"),
            ("average of list_price, by category", "average list_price by category"),
        ];
        let check = |said: &str, expected: Option<usize>| {
            assert_eq!(chosen_option(said, &options), expected, "{said}");
        };
        check("2", Some(1));
        check("#1", Some(0));
        check("option 2", Some(1));
        check("the second", Some(1));
        check("the second one, please", Some(1));
        check("the last one", Some(1));
        check("list price", Some(1));
        check("I mean the unit price", Some(0));
        check("average list_price by category", Some(1));
        check("3", None);
        check("price", None);
        check("total amount by month", None);
        check("", None);
    }
}
