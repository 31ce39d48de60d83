//! The request format that a server accepts.
//!
//! Servers differ. A client starts with the strictest format and falls back when the server rejects
//! it. Each fallback is taken once, so this terminates.

use super::chat::{Chat, ReplySchema};

/// The request format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Form {
    /// How JSON is requested.
    pub(super) format: Format,
    /// The server requires `max_completion_tokens`.
    pub(super) new_limit: bool,
    /// The server rejects a temperature.
    pub(super) no_temperature: bool,
    /// The server reports no token counts while streaming.
    pub(super) no_stream_usage: bool,
    /// The server requires tool schemas in the older, smaller format.
    pub(super) small_schemas: bool,
}

/// How JSON is requested, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    /// The server enforces the schema.
    #[default]
    Schema,
    /// The server enforces JSON; the schema is in the prompt.
    Json,
    /// The schema is only in the prompt.
    Words,
}

impl Form {
    /// Falls back after a rejection. False if no fallback is left.
    pub(super) fn step_back(&mut self, chat: &Chat, said: &str) -> bool {
        let said = said.to_ascii_lowercase();
        let steps = [
            (said.contains("max_completion_tokens"), &mut self.new_limit),
            (said.contains("temperature"), &mut self.no_temperature),
            (said.contains("stream_options"), &mut self.no_stream_usage),
            (said.contains("parametersjsonschema"), &mut self.small_schemas),
        ];
        for (named, step) in steps {
            if named && !*step {
                *step = true;
                return true;
            }
        }
        self.format = match self.format {
            Format::Schema if chat.schema.is_some() => Format::Json,
            Format::Json if chat.schema.is_some() => Format::Words,
            _ => return false,
        };
        true
    }
}

/// The schema as part of the prompt, for a server that does not enforce it.
pub(super) fn in_words(schema: &ReplySchema) -> String {
    format!(
        "Reply with one JSON value that follows this JSON schema, and with nothing else:\n{}",
        schema.schema
    )
}

/// A name that every server accepts.
pub(super) fn plain_name(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(64).collect();
    if name.is_empty() { "reply".to_owned() } else { name }
}
