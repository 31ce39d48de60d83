//! MCP servers: how each is reached, shut in, and shown who asks (S2 `MCPServer`).

use crate::tool::yes;
use crate::valid::require;
use crate::{ApprovalMode, CategoryName, Check, DomainName, Label, Problem, ServerName, ToolTimeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A connection to an MCP server (S2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// Its name, unique.
    pub name: ServerName,
    /// How it is reached.
    pub transport: Transport,
    /// Where it is.
    pub config: ServerConfig,
    /// Whether it is used.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The application that its tools belong to; `generic` when nothing is said.
    #[serde(default)]
    pub application_domain: Option<DomainName>,
    /// The category whose switches and permissions apply to its tools.
    #[serde(default)]
    pub category: Option<CategoryName>,
    /// What a caller of any of its tools must hold.
    #[serde(default)]
    pub permissions: Vec<Label>,
    /// When a person is asked before one of its tools is called. A foreign server's tools are asked
    /// about when an argument stems from data.
    #[serde(default = "when_untrusted")]
    pub approval: ApprovalMode,
    /// How long a call of one of its tools may take.
    #[serde(default)]
    pub timeout_seconds: ToolTimeout,
}

fn when_untrusted() -> ApprovalMode {
    ApprovalMode::WhenUntrusted
}

/// How an MCP server is reached. S2 knows `stdio` and `sse`; Streamable HTTP came later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A child process.
    Stdio,
    /// The older HTTP + SSE transport.
    Sse,
    /// Streamable HTTP.
    Http,
}

impl Transport {
    /// In the words of the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Sse => "sse",
            Self::Http => "http",
        }
    }
}

/// A command for `stdio`, an address for the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment; nothing else is handed down.
    pub env: BTreeMap<String, String>,
    /// Where the program starts.
    pub folder: Option<String>,
    /// How the program is shut in. Nothing means the standard sandbox; `off` means that it runs
    /// with the rights of this process.
    pub sandbox: Sandbox,
    /// The address.
    pub url: Option<String>,
    /// Headers sent with every request. `${NAME}` takes a value from the environment, here and in
    /// `env`.
    pub headers: BTreeMap<String, String>,
    /// How this process proves who it is.
    pub auth: Option<ServerAuth>,
}

/// How a server's program is shut in: `off`, or by these rules. Nothing means the standard rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Sandbox {
    /// Not at all.
    Off(SandboxOff),
    /// By these rules.
    Rules(SandboxRules),
}

/// The word for no sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxOff {
    /// The program runs with the rights of this process.
    Off,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::Rules(SandboxRules { standard: true, ..SandboxRules::default() })
    }
}

impl Sandbox {
    /// The rules, unless it is off.
    #[must_use]
    pub fn rules(&self) -> Option<&SandboxRules> {
        match self {
            Self::Off(_) => None,
            Self::Rules(rules) => Some(rules),
        }
    }
}

impl<'de> Deserialize<'de> for Sandbox {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Sandbox;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`off`, or rules such as { standard: true, write: [FOLDER] }")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Sandbox, E> {
                match word {
                    "off" => Ok(Sandbox::Off(SandboxOff::Off)),
                    "standard" => Ok(Sandbox::default()),
                    other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
                }
            }

            // Older YAML takes `off` and `on` for switches.
            fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<Sandbox, E> {
                Ok(if on { Sandbox::default() } else { Sandbox::Off(SandboxOff::Off) })
            }

            fn visit_unit<E: serde::de::Error>(self) -> Result<Sandbox, E> {
                Ok(Sandbox::default())
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Sandbox, A::Error> {
                SandboxRules::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    .map(Sandbox::Rules)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// The rules of a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxRules {
    /// Whether it also gets what an ordinary server needs: its installation, its folder, the caches
    /// of its package runner, what its arguments name, and the network.
    pub standard: bool,
    /// Folders it may read beside the system's programs and libraries.
    pub read: Vec<String>,
    /// Folders it may read and write.
    pub write: Vec<String>,
    /// Whether it may open connections; when nothing is said, only with `standard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Whether it is not started at all where the kernel cannot shut it in.
    pub required: bool,
}

/// How a remote server is shown who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServerAuth {
    /// A token from the environment.
    Bearer {
        /// The variable that holds it.
        token_variable: String,
    },
    /// OAuth 2.1 with PKCE; a person logs in once with `steward mcp-servers login`.
    Oauth {
        /// The client's id, where the server does not hand one out.
        #[serde(default)]
        client_id: Option<String>,
        /// The variable that holds the client's secret.
        #[serde(default)]
        secret_variable: Option<String>,
        /// What is asked for.
        #[serde(default)]
        scopes: Vec<String>,
    },
    /// OAuth 2.1 between programs: no person logs in.
    ClientCredentials {
        /// The client's id.
        client_id: String,
        /// The variable that holds the client's secret.
        secret_variable: String,
        /// What is asked for.
        #[serde(default)]
        scopes: Vec<String>,
    },
}

impl Check for McpServer {
    const ENTITY: &'static str = "McpServer";
    fn check(&self, problems: &mut Vec<Problem>) {
        let config = &self.config;
        let process = self.transport == Transport::Stdio;
        let command = config.command.as_deref().unwrap_or_default();
        let url = config.url.as_deref().unwrap_or_default();
        require(
            problems,
            process != command.is_empty(),
            "config.command",
            "is present exactly when the transport is stdio",
            command,
        );
        let http = url.starts_with("http://") || url.starts_with("https://");
        require(problems, process || http, "config.url", "must be an http or https address", url);
        require(problems, !process || url.is_empty(), "config.url", "is not used with stdio", url);
        let bare = config.args.is_empty() && config.env.is_empty() && config.sandbox == Sandbox::default();
        let local = "takes args, env, folder and sandbox only with stdio";
        require(
            problems,
            process || (bare && config.folder.is_none()),
            "config",
            local,
            self.transport.name(),
        );
        let open = config.headers.is_empty() && config.auth.is_none();
        require(
            problems,
            !process || open,
            "config",
            "takes headers and auth only with http and sse",
            "stdio",
        );
    }
}
