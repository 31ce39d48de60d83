//! Questions that name a blocked column: they are refused with the rule instead of ignoring the
//! word.

use crate::catalogue::Catalogue;
use crate::session::Session;
use steward_policy::Access;
use steward_text::tokens::{name_words, stem};

/// The blocked table and column that a question names. A word that also names a readable column, or
/// is a value of one, is taken for that.
#[must_use]
pub fn asked_for(question: &str, session: &Session, access: &Access) -> Option<(String, String)> {
    let asked = words(question);
    let visible = session.visible(access);
    for table in session.schema().tables {
        for column in &table.columns {
            let Some(rule) = access.blocking_rule(&table, column) else { continue };
            // A single word such as `number` is not specific enough if only the values identified
            // the column.
            let name = words(&column.name);
            let telling = name.len() > 1 || column.looks_like.as_ref() != Some(&rule);
            let named = [Some(words(&rule)), telling.then_some(name)];
            let meant = (named.iter().flatten())
                .filter(|name| has(&asked, name))
                .any(|name| !is_visible(&visible, name));
            if meant {
                return Some((table.name.clone(), column.name.clone()));
            }
        }
    }
    None
}

/// Whether a readable table or column has this name, or contains it as a value.
fn is_visible(visible: &Catalogue, name: &[String]) -> bool {
    visible.tables.iter().any(|table| {
        has(&words(&table.name), name)
            || table.columns.iter().any(|column| {
                has(&words(&column.name), name)
                    || has(&words(&column.label), name)
                    || column.values.iter().any(|(value, _)| has(&words(value), name))
            })
    })
}

fn has(words: &[String], name: &[String]) -> bool {
    !name.is_empty() && words.windows(name.len()).any(|window| window == name)
}

/// The stems of a text's words.
fn words(text: &str) -> Vec<String> {
    let plain = text.replace("e-mail", "email").replace("E-mail", "Email");
    name_words(&plain).iter().map(|word| stem(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::{has, words};

    #[test]
    fn a_name_is_found_among_words() {
        assert!(has(&words("Show customer emails for Arizona orders"), &words("email")));
        assert!(has(&words("list the credit card of each client"), &words("credit_card")));
        assert!(has(&words("E-mail addresses, please"), &words("EmailAddress")));
        assert!(!has(&words("how many sessions"), &words("ssn")));
        assert!(!has(&words("mail orders by state"), &words("email")));
    }
}
