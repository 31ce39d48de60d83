//! Text types with rules. Each type applies its rule in parsing, error messages and JSON Schema.

use crate::Problem;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use std::{borrow::Cow, fmt, ops::Deref, str::FromStr};

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident: $min:literal..=$max:literal $(, $pattern:literal, $holds:expr)?;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks the rule and builds the value.
            pub fn new(text: impl Into<String>) -> Result<Self, Problem> {
                let text = text.into();
                let length = text.chars().count();
                if !($min..=$max).contains(&length) {
                    return Err(Problem::new("", concat!(stringify!($name), " must have ", $min, " to ", $max, " characters"), text));
                }
                // PostgreSQL cannot store this character, and no readable text contains it.
                if text.contains('\0') {
                    return Err(Problem::new("", concat!(stringify!($name), " must not contain the character \
                        U+0000"), text));
                }
                $(
                    let holds: fn(&str) -> bool = $holds;
                    if !holds(&text) {
                        return Err(Problem::new("", concat!(stringify!($name), " must match ", $pattern), text));
                    }
                )?
                Ok(Self(text))
            }

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = Problem;
            fn from_str(text: &str) -> Result<Self, Problem> {
                Self::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                #[allow(unused_mut, reason = "only some texts have a pattern")]
                let mut schema = json_schema!({ "type": "string", "minLength": $min, "maxLength": $max });
                $( schema.insert("pattern".into(), $pattern.into()); )?
                schema
            }
        }
    )*};
}

texts! {
    /// The id of a user. Opaque: it is never parsed.
    UserId: 1..=255;
    /// The application or data domain: `todo`, `sales`, or `generic`.
    DomainName: 1..=50, "^[a-z][a-z0-9_]*$", snake_case;
    /// An agent's name.
    AgentName: 1..=100, "^[a-z][a-z0-9_]*$", snake_case;
    /// A tool category: `slack_tools`, `analysis_tools`.
    CategoryName: 1..=100, "^[a-z][a-z0-9_]*$", snake_case;
    /// A tool's name. The pattern is wide because MCP servers choose their own names (`get-sum`,
    /// `sql.run`).
    ToolName: 1..=255, "^[A-Za-z0-9_][A-Za-z0-9_./-]*$", tool_name;
    /// A tool's name, or a prefix of several names: `banking.*`, `crm.list_*`.
    ToolPattern: 1..=255, "^[A-Za-z0-9_][A-Za-z0-9_./-]*\\*?$", tool_pattern;
    /// The name of an MCP server in the configuration.
    ServerName: 1..=100, "^[A-Za-z0-9_][A-Za-z0-9_.-]*$", server_name;
    /// `1.4.0`.
    SemanticVersion: 5..=50, "^[0-9]+\\.[0-9]+\\.[0-9]+$", semantic_version;
    /// The name of a node of a workflow or of a subtask of a plan.
    NodeName: 1..=100, "^[A-Za-z_][A-Za-z0-9_.-]*$", node_name;
    /// SHA-256 in lower-case hexadecimal.
    Sha256Hex: 64..=64, "^[0-9a-f]{64}$", sha256_hex;
    /// A question in plain language.
    Question: 1..=2000, "\\S", not_blank;
    /// The description of a task.
    Description: 1..=10000, "\\S", not_blank;
    /// The text of a message. Anything larger is an attachment.
    Content: 1..=1000000;
    /// The kind of an application's entity: `task`, `customer`.
    EntityType: 1..=100, "\\S", not_blank;
    /// The id an application gives to its entity.
    EntityId: 1..=255, "\\S", not_blank;
    /// The title of an application's entity.
    EntityName: 1..=500;
    /// A short free name: a step, an actor, a role.
    Label: 1..=255, "\\S", not_blank;
    /// A text with `{placeholders}`.
    Template: 1..=10000, "\\{[A-Za-z_][A-Za-z0-9_]*\\}", has_placeholder;
}

fn snake_case(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn tool_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c))
}

fn tool_pattern(text: &str) -> bool {
    tool_name(text.strip_suffix('*').unwrap_or(text))
}

impl ToolPattern {
    /// The prefix of the names it matches; none when it is a single name.
    #[must_use]
    pub fn prefix(&self) -> Option<&str> {
        self.strip_suffix('*')
    }

    /// Whether it matches a tool.
    #[must_use]
    pub fn matches(&self, tool: &ToolName) -> bool {
        self.prefix().map_or(tool.as_str() == self.as_str(), |prefix| tool.starts_with(prefix))
    }
}

fn server_name(text: &str) -> bool {
    tool_name(text) && !text.contains('/')
}

fn node_name(text: &str) -> bool {
    server_name(text) && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn semantic_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
}

fn sha256_hex(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn not_blank(text: &str) -> bool {
    !text.trim().is_empty()
}

fn has_placeholder(text: &str) -> bool {
    !placeholders(text).is_empty()
}

/// The names in braces of a template, in order of appearance.
pub fn placeholders(text: &str) -> Vec<&str> {
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
        .filter(|name| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
        .collect()
}
