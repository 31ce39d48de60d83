//! The limited markup of an answer: paragraphs, `- ` lists, `**bold**` and `` `code` ``.
//!
//! Invariant: everything else is text. The pieces are found first and each is escaped separately,
//! so no input can close or open an element.

/// A block of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    Paragraph(String),
    List(Vec<String>),
}

/// A piece of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Bold(&'a str),
    Code(&'a str),
}

/// The blocks of an answer. Headings become paragraphs in bold.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut open = false;
    for line in text.lines().map(str::trim) {
        let item =
            line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(|| line.strip_prefix("• "));
        let heading = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim());
        match (item, heading, out.last_mut()) {
            (Some(item), _, Some(Block::List(items))) => items.push(item.to_owned()),
            (Some(item), ..) => out.push(Block::List(vec![item.to_owned()])),
            (None, Some(heading), _) => out.push(Block::Paragraph(format!("**{heading}**"))),
            (None, None, _) if line.is_empty() => {}
            (None, None, Some(Block::Paragraph(paragraph))) if open => {
                paragraph.push('\n');
                paragraph.push_str(line);
            }
            (None, None, _) => out.push(Block::Paragraph(line.to_owned())),
        }
        open = !line.is_empty() && item.is_none() && heading.is_none();
    }
    out
}

/// The pieces of a text; an unpaired mark is text.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (bold, code) = (between(rest, "**"), between(rest, "`"));
        let bold_first = match (&bold, &code) {
            (Some(bold), Some(code)) => bold.0.len() < code.0.len(),
            (Some(_), None) => true,
            _ => false,
        };
        let Some((before, inner, after)) = (if bold_first { bold } else { code }) else {
            out.push(Piece::Text(rest));
            break;
        };
        if !before.is_empty() {
            out.push(Piece::Text(before));
        }
        out.push(if bold_first { Piece::Bold(inner) } else { Piece::Code(inner) });
        rest = after;
    }
    out
}

/// What is before, between and after the first pair of marks.
fn between<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (before, rest) = text.split_once(mark)?;
    let (inner, after) = rest.split_once(mark)?;
    (!inner.trim().is_empty()).then_some((before, inner, after))
}

/// The answer as Markdown again, with everything but its markup escaped.
pub(super) fn markdown(text: &str) -> String {
    let line = |text: &str| {
        let piece = |piece: Piece<'_>| match piece {
            Piece::Text(text) => text.split('\n').map(escape).collect::<Vec<_>>().join("  \n"),
            Piece::Bold(text) => format!("**{}**", escape(text).trim()),
            Piece::Code(text) => format!("`{text}`"),
        };
        pieces(text).into_iter().map(piece).collect::<String>()
    };
    let block = |block: Block| match block {
        Block::Paragraph(text) => line(&text),
        Block::List(items) => {
            items.iter().map(|item| format!("- {}", line(item))).collect::<Vec<_>>().join("\n")
        }
    };
    blocks(text).into_iter().map(block).collect::<Vec<_>>().join("\n\n")
}

/// Like the text of a list item, but spaces at the ends stay.
fn escape(text: &str) -> String {
    let trimmed = super::plain(text);
    let start = if text.starts_with(' ') { " " } else { "" };
    let end = if text.ends_with(' ') && !trimmed.is_empty() { " " } else { "" };
    format!("{start}{trimmed}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_pieces() {
        let found = blocks("One\ntwo\n\n- a\n- b\n\n# Head\nthree");
        let expected = vec![
            Block::Paragraph("One\ntwo".into()),
            Block::List(vec!["a".into(), "b".into()]),
            Block::Paragraph("**Head**".into()),
            Block::Paragraph("three".into()),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            pieces("a **b** `c` **d"),
            [Piece::Text("a "), Piece::Bold("b"), Piece::Text(" "), Piece::Code("c"), Piece::Text(" **d")]
        );
    }

    #[test]
    fn markup_of_others_is_text() {
        assert_eq!(markdown("5 < 6 and [x](javascript:1) **so**"), "5 < 6 and \\[x\\](javascript:1) **so**");
    }
}
