//! The XML that buckets answer with.

use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};

/// Maximum nesting.
const DEEPEST: usize = 32;

/// Visits every element when it ends, with the names from the root to it and its text.
pub(super) fn each_element(xml: &[u8], visit: &mut dyn FnMut(&[&str], String)) -> Result<(), String> {
    let xml = std::str::from_utf8(xml).map_err(|error| error.to_string())?;
    let mut reader = Reader::from_str(xml.trim_start_matches('\u{feff}'));
    let (mut path, mut text): (Vec<String>, String) = (Vec::new(), String::new());
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Eof => return Ok(()),
            Event::Start(start) => {
                path.push(start.local_name().as_ref().to_owned());
                text.clear();
                if path.len() > DEEPEST {
                    return Err("a list of objects is nested too deeply".to_owned());
                }
            }
            Event::Text(part) => text.push_str(&part),
            Event::GeneralRef(name) => text.push_str(entity(&name)?.as_str()),
            Event::End(_) => {
                let names: Vec<&str> = path.iter().map(String::as_str).collect();
                visit(&names, std::mem::take(&mut text));
                path.pop();
            }
            _ => {}
        }
    }
}

/// The character of a reference such as `&amp;`.
fn entity(name: &BytesRef<'_>) -> Result<String, String> {
    if let Some(letter) = name.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(letter.to_string());
    }
    Ok(match &**name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => return Err("a list of objects has an unknown reference".to_owned()),
    }
    .to_owned())
}
