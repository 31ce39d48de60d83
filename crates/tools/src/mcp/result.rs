//! Converts results of a server to types of this crate.

use crate::error::{Error, Result};
use crate::tool::{Content, Output};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// The maximum length of a tool's error message, in characters.
const MESSAGE_CHARS: usize = 4_000;

/// The output of a call, or the error that the tool reported.
pub(crate) fn output(tool: &str, result: CallToolResult) -> Result<Output> {
    let content: Vec<Content> = result.content.into_iter().filter_map(content).collect();
    let output = Output { content, structured: result.structured_content };
    if result.is_error != Some(true) {
        return Ok(output);
    }
    let words = output.words();
    let words = match (words.trim(), &output.structured) {
        ("", Some(structured)) => structured.to_string(),
        ("", None) => "it did not say why".to_owned(),
        (words, _) => words.to_owned(),
    };
    let message = words.chars().take(MESSAGE_CHARS).collect();
    Err(Error::Failed { tool: tool.to_owned(), message, transient: false })
}

/// One part of a result. Unknown kinds are dropped.
pub(crate) fn content(block: ContentBlock) -> Option<Content> {
    Some(match block {
        ContentBlock::Text(part) => Content::Text { text: part.text },
        ContentBlock::Image(part) => Content::Image { data: part.data, mime_type: part.mime_type },
        ContentBlock::Audio(part) => Content::Audio { data: part.data, mime_type: part.mime_type },
        ContentBlock::Resource(part) => resource(part.resource)?,
        ContentBlock::ResourceLink(link) => {
            Content::Link { uri: link.uri, name: link.name, mime_type: link.mime_type }
        }
        _ => return None,
    })
}

/// The content of a resource.
pub(crate) fn resource(contents: ResourceContents) -> Option<Content> {
    match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            Some(Content::Resource { uri, mime_type, text: Some(text), data: None })
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            Some(Content::Resource { uri, mime_type, text: None, data: Some(blob) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(result: serde_json::Value) -> Result<Output> {
        output("s.t", serde_json::from_value(result).unwrap())
    }

    #[test]
    fn all_content_types_are_converted() {
        let out = read(json!({
            "content": [
                { "type": "text", "text": "hello" },
                { "type": "image", "data": "aGk=", "mimeType": "image/png" },
                { "type": "audio", "data": "aGk=", "mimeType": "audio/wav" },
                { "type": "resource", "resource": { "uri": "a://b", "mimeType": "text/plain", "text": "inside" } },
                { "type": "resource", "resource": { "uri": "a://c", "blob": "aGk=" } },
                { "type": "resource_link", "uri": "a://d", "name": "d" }
            ],
            "structuredContent": { "sum": 3 }
        }))
        .unwrap();
        insta::assert_json_snapshot!(out);
    }

    #[test]
    fn failed_tool_reports_its_message() {
        let failed =
            read(json!({ "content": [{ "type": "text", "text": "no such file" }], "isError": true }));
        assert!(
            matches!(failed, Err(Error::Failed { message, transient: false, .. }) if message == "no such file")
        );
        let mute = read(json!({ "content": [], "isError": true }));
        assert!(matches!(mute, Err(Error::Failed { message, .. }) if message == "it did not say why"));
    }
}
