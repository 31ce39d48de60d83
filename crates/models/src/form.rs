//! The form of a question: what a server was found to accept.
//!
//! Servers differ. A client begins with the strictest form and steps back when the server refuses
//! it. Each step is taken once, so that this ends.

use super::chat::{Chat, ReplySchema};

/// The form of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Form {
    /// How JSON is asked for.
    pub(super) format: Format,
    /// It wants `max_completion_tokens`.
    pub(super) new_limit: bool,
    /// It does not want a temperature.
    pub(super) no_temperature: bool,
    /// It does not count tokens while it streams.
    pub(super) no_stream_usage: bool,
    /// It wants schemas of tools in the older, smaller form.
    pub(super) small_schemas: bool,
}

/// How JSON is asked for, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    /// The server keeps to the schema.
    #[default]
    Schema,
    /// The server keeps to JSON, the schema stands in the question.
    Json,
    /// The schema stands in the question.
    Words,
}

impl Form {
    /// Asks for less after a refusal. False when there is nothing left to leave out.
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

/// The schema in words, for a server that does not keep to it by itself.
pub(super) fn in_words(schema: &ReplySchema) -> String {
    format!(
        "Reply with one JSON value that follows this JSON schema, and with nothing else:\n{}",
        schema.schema
    )
}

/// Names that every server takes.
pub(super) fn plain_name(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(64).collect();
    if name.is_empty() { "reply".to_owned() } else { name }
}
