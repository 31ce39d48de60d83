//! Truncates large results. The whole content is stored as an artifact and linked.

use super::{ArtifactSink, Intent};
use crate::error::Result;
use crate::tool::{Content, Output, Registered};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;

/// The default size limit of a result.
pub(crate) const RESULT_BYTES: usize = 256 * 1024;

/// Truncates a result to its limit. Each part that does not fit is stored and replaced by its
/// beginning and a link.
pub(super) async fn cut(
    output: Output,
    registered: &Registered,
    artifacts: &dyn ArtifactSink,
    intent: &Arc<Intent>,
) -> Result<Output> {
    let limit = registered.settings.result_bytes.unwrap_or(RESULT_BYTES);
    let structured = output.structured.as_ref().map_or(0, |value| value.to_string().len());
    let weight: usize = output.content.iter().map(weigh).sum();
    if weight + structured <= limit {
        return Ok(output);
    }
    let mut left = limit;
    let mut kept = Output::default();
    if let Some(value) = output.structured {
        if structured <= left {
            left -= structured;
            kept.structured = Some(value);
        } else {
            let text = value.to_string();
            let link = artifacts.keep(intent, "structured.json", "application/json", text.as_bytes()).await?;
            kept.content.push(note(text.len(), "structured content"));
            kept.content.push(link);
        }
    }
    for (place, part) in output.content.into_iter().enumerate() {
        let weight = weigh(&part);
        if weight <= left {
            left -= weight;
            kept.content.push(part);
            continue;
        }
        let (name, mime_type, bytes) = bytes_of(&part, place);
        kept.content.push(note(bytes.len(), &name));
        if let Content::Text { text } = &part {
            let beginning: String = text.chars().take(left / 4).collect();
            left = left.saturating_sub(beginning.len());
            kept.content.push(Content::Text { text: beginning });
        }
        kept.content.push(artifacts.keep(intent, &name, &mime_type, &bytes).await?);
    }
    Ok(kept)
}

fn note(bytes: usize, name: &str) -> Content {
    Content::Text { text: format!("[{name} has {bytes} bytes; all of it is at the address below]") }
}

fn weigh(part: &Content) -> usize {
    match part {
        Content::Text { text } => text.len(),
        Content::Image { data, .. } | Content::Audio { data, .. } => data.len(),
        Content::Resource { text, data, .. } => {
            text.as_ref().map_or(0, String::len) + data.as_ref().map_or(0, String::len)
        }
        Content::Link { uri, .. } => uri.len(),
    }
}

fn bytes_of(part: &Content, place: usize) -> (String, String, Vec<u8>) {
    let decoded = |data: &str| STANDARD.decode(data).unwrap_or_else(|_| data.as_bytes().to_vec());
    let plain = || "text/plain".to_owned();
    let (kind, mime_type, bytes) = match part {
        Content::Text { text } => ("text", plain(), text.clone().into_bytes()),
        Content::Image { data, mime_type } => ("image", mime_type.clone(), decoded(data)),
        Content::Audio { data, mime_type } => ("audio", mime_type.clone(), decoded(data)),
        Content::Resource { text, data, mime_type, .. } => {
            let bytes = match (text, data) {
                (Some(text), _) => text.clone().into_bytes(),
                (None, Some(data)) => decoded(data),
                (None, None) => Vec::new(),
            };
            ("resource", mime_type.clone().unwrap_or_else(plain), bytes)
        }
        Content::Link { uri, .. } => ("link", plain(), uri.clone().into_bytes()),
    };
    (format!("{kind}-{}", place + 1), mime_type, bytes)
}
