//! Converts text to and from Slack's mrkdwn.
//!
//! Invariant: `&`, `<` and `>` are escaped first, so text of a tool cannot mention users, notify a
//! whole channel, or hide an address behind other text.

/// Escapes Slack's control characters.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Converts Markdown to Slack's mrkdwn. Code is unchanged.
pub(super) fn mrkdwn(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut code = false;
    for line in escape(text).lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
            out.push("```".to_owned());
        } else if code {
            out.push(line.to_owned());
        } else {
            out.push(styled(line));
        }
    }
    if code {
        out.push("```".to_owned());
    }
    out.join("\n")
}

fn styled(line: &str) -> String {
    let trimmed = line.trim_start();
    let heading = trimmed.trim_start_matches('#');
    if heading.len() < trimmed.len() && heading.starts_with(' ') {
        return format!("*{}*", heading.trim().replace("**", ""));
    }
    let indent = line.len() - trimmed.len();
    let item = trimmed.strip_prefix("- ").or_else(|| trimmed.strip_prefix("* "));
    let line = match item {
        Some(item) => format!("{}• {item}", " ".repeat(indent)),
        None => line.to_owned(),
    };
    // Every second part is between backticks.
    let parts = line.split('`').enumerate();
    let parts = parts.map(|(place, part)| if place % 2 == 1 { part.to_owned() } else { spans(part) });
    parts.collect::<Vec<_>>().join("`")
}

fn spans(text: &str) -> String {
    let text = links(text);
    text.replace("**", "*").replace("__", "*").replace("~~", "~")
}

/// `[text](address)` becomes the text followed by the address, so that both are visible.
fn links(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('[') {
        let found = after.split_once("](").and_then(|(words, tail)| {
            let (address, tail) = tail.split_once(')')?;
            let plain =
                !address.contains(char::is_whitespace) && !words.contains('[') && !address.contains('|');
            (plain && (address.starts_with("https://") || address.starts_with("http://")))
                .then_some((words, address, tail))
        });
        out.push_str(before);
        match found {
            Some((words, address, tail)) => {
                out.push_str(&format!("{words} (<{address}>)"));
                rest = tail;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out + rest
}

/// A preformatted block.
pub(super) fn fixed(text: &str) -> String {
    // Three backticks would end the block.
    format!("```\n{}\n```", escape(text).replace("```", "`\u{200b}`\u{200b}`"))
}

/// Splits text into pieces of at most `most` characters, at line ends if possible.
pub(super) fn pieces(text: &str, most: usize) -> Vec<String> {
    let (mut all, mut piece, mut length) = (Vec::new(), String::new(), 0);
    for line in text.split_inclusive('\n') {
        let count = line.chars().count();
        if length > 0 && length + count > most {
            all.push(std::mem::take(&mut piece));
            length = 0;
        }
        if count > most {
            for letter in line.chars() {
                if length == most {
                    all.push(std::mem::take(&mut piece));
                    length = 0;
                }
                piece.push(letter);
                length += 1;
            }
        } else {
            piece.push_str(line);
            length += count;
        }
    }
    if !piece.trim().is_empty() {
        all.push(piece);
    }
    all.iter()
        .map(|piece| piece.trim_end_matches('\n').to_owned())
        .filter(|piece| !piece.is_empty())
        .collect()
}

/// Replaces Slack's markup of users, channels and addresses by plain text. `name` resolves users.
pub(super) fn plain(text: &str, name: impl Fn(&str) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let Some((mark, tail)) = after.split_once('>') else {
            out.push('<');
            rest = after;
            continue;
        };
        let (target, label) =
            mark.split_once('|').map_or((mark, None), |(target, label)| (target, Some(label)));
        match target.chars().next() {
            Some('@') => {
                let id = target.trim_start_matches('@');
                out.push('@');
                out.push_str(&label.map(str::to_owned).or_else(|| name(id)).unwrap_or_else(|| id.to_owned()));
            }
            Some('#') => {
                out.push('#');
                out.push_str(
                    label.filter(|label| !label.is_empty()).unwrap_or(target.trim_start_matches('#')),
                );
            }
            Some('!') => {
                out.push('@');
                out.push_str(
                    label.map_or(target.trim_start_matches('!'), |label| label.trim_start_matches('@')),
                );
            }
            _ => out.push_str(target.strip_prefix("mailto:").unwrap_or(target)),
        }
        rest = tail;
    }
    out.push_str(rest);
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_mrkdwn() {
        for (said, shown) in [
            ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
            ("<!channel> <@U1>", "&lt;!channel&gt; &lt;@U1&gt;"),
            ("**bold** and __bold__ and ~~gone~~", "*bold* and *bold* and ~gone~"),
            ("## Sales of **May**", "*Sales of May*"),
            ("- one\n  - two\n* three", "• one\n  • two\n• three"),
            ("see [the page](https://example.com/a)", "see the page (<https://example.com/a>)"),
            ("[x](javascript:alert)", "[x](javascript:alert)"),
            ("[a] and `**b**`", "[a] and `**b**`"),
            ("```sql\nselect **\n```", "```\nselect **\n```"),
            ("```\nopen", "```\nopen\n```"),
        ] {
            assert_eq!(mrkdwn(said), shown, "{said}");
        }
        assert_eq!(fixed("a ``` b"), "```\na `\u{200b}`\u{200b}` b\n```");
    }

    #[test]
    fn slack_markup_becomes_plain_text() {
        let name = |id: &str| (id == "U1").then(|| "Ana".to_owned());
        for (sent, read) in [
            ("ask <@U1> and <@U2> or <@U3|bob>", "ask @Ana and @U2 or @bob"),
            ("in <#C1|general> &amp; <#C2>", "in #general & #C2"),
            ("<https://example.com|example> <mailto:a@b.c|a@b.c>", "https://example.com a@b.c"),
            ("<!here> <!subteam^S1|@ops> 1 &lt; 2 < 3", "@here @ops 1 < 2 < 3"),
        ] {
            assert_eq!(plain(sent, name), read, "{sent}");
        }
    }

    #[test]
    fn long_texts_are_split_at_line_ends() {
        assert_eq!(pieces("one\ntwo\nthree", 8), ["one\ntwo", "three"]);
        assert_eq!(pieces("abcdefgh\nij", 3), ["abc", "def", "gh", "ij"]);
        assert!(pieces(" \n", 5).is_empty());
    }
}
