//! Prints tool results: text to the terminal, images and audio to files.

use crate::error::Failure;
use crate::output::say;
use steward_tools::{Content, Output};

/// Prints every part.
pub(super) fn print(output: &Output, folder: Option<&std::path::Path>) -> Result<(), Failure> {
    for (place, part) in output.content.iter().enumerate() {
        match part {
            Content::Text { text } | Content::Resource { text: Some(text), .. } => say(printable(text)),
            Content::Image { data, mime_type } | Content::Audio { data, mime_type } => {
                say(kept(data, mime_type, place, folder)?);
            }
            Content::Resource { uri, .. } => say(uri),
            Content::Link { uri, name, .. } => say(format!("{name}: {uri}")),
        }
    }
    Ok(())
}

/// Removes control sequences: the output of a tool must not control the terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

fn kept(
    data: &str,
    mime_type: &str,
    place: usize,
    folder: Option<&std::path::Path>,
) -> Result<String, Failure> {
    use base64::Engine as _;
    let Some(folder) = folder else {
        return Ok(format!("[{mime_type}, {} bytes in base64; --out FOLDER keeps it]", data.len()));
    };
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap_or_default();
    let ending: String =
        mime_type.rsplit('/').next().unwrap_or("bin").chars().filter(char::is_ascii_alphanumeric).collect();
    let path = folder.join(format!("part-{}.{ending}", place + 1));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(|error| Failure::file(&path, &error))?;
    Ok(path.display().to_string())
}
