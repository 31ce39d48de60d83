//! MCP servers: transport, sandbox and authentication.

use crate::tool::yes;
use crate::valid::require;
use crate::{ApprovalMode, CategoryName, Check, DomainName, Label, Problem, ServerName, ToolTimeout};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The configuration of an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// Its name, unique.
    pub name: ServerName,
    /// The transport.
    pub transport: Transport,
    /// The command or the address.
    pub config: ServerConfig,
    /// Whether it is enabled.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The application that its tools belong to; `generic` by default.
    #[serde(default)]
    pub application_domain: Option<DomainName>,
    /// The category whose switches and permissions apply to its tools.
    #[serde(default)]
    pub category: Option<CategoryName>,
    /// Permissions that a caller of any of its tools needs.
    #[serde(default)]
    pub permissions: Vec<Label>,
    /// When a call of its tools needs approval. By default, tools of an MCP server need approval
    /// when an argument comes from data.
    #[serde(default = "when_untrusted")]
    pub approval: ApprovalMode,
    /// Time limit of a call.
    #[serde(default)]
    pub timeout_seconds: ToolTimeout,
}

fn when_untrusted() -> ApprovalMode {
    ApprovalMode::WhenUntrusted
}

/// The transport of an MCP server.
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
    /// The name as it is written in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Sse => "sse",
            Self::Http => "http",
        }
    }
}

/// The connection: a command for `stdio`, an address for the other transports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment variables; no others are passed on.
    pub env: BTreeMap<String, String>,
    /// The working directory of the program.
    pub folder: Option<String>,
    /// The sandbox of the program. If absent, the standard sandbox; `off` runs the program with the
    /// rights of this process.
    pub sandbox: Sandbox,
    /// The address.
    pub url: Option<String>,
    /// Headers sent with every request. `${NAME}` is replaced by an environment variable, here and
    /// in `env`.
    pub headers: BTreeMap<String, String>,
    /// The authentication of this process to the server.
    pub auth: Option<ServerAuth>,
}

/// The sandbox of a server's program: `off`, or rules. If absent, the standard rules apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Sandbox {
    /// No sandbox.
    Off(SandboxOff),
    /// A sandbox with these rules.
    Rules(SandboxRules),
}

/// The value that disables the sandbox.
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

            // YAML 1.1 parses `off` and `on` as booleans.
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
    /// Whether it also gets what a typical server needs: its installation, its folder, the caches
    /// of its package runner, the paths in its arguments, and the network.
    pub standard: bool,
    /// Folders it may read beside the system's programs and libraries.
    pub read: Vec<String>,
    /// Folders it may read and write.
    pub write: Vec<String>,
    /// Whether it may open connections; by default only with `standard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
    /// Whether to refuse to start it if the kernel does not support the sandbox.
    pub required: bool,
}

/// The authentication to a remote server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServerAuth {
    /// A token from the environment.
    Bearer {
        /// The variable that holds it.
        token_variable: String,
    },
    /// OAuth 2.1 with PKCE; a user signs in once with `steward mcp-servers login`.
    Oauth {
        /// The client id, if the server does not issue one.
        #[serde(default)]
        client_id: Option<String>,
        /// The variable that holds the client's secret.
        #[serde(default)]
        secret_variable: Option<String>,
        /// The scopes that are requested.
        #[serde(default)]
        scopes: Vec<String>,
    },
    /// OAuth 2.1 client credentials, without a user.
    ClientCredentials {
        /// The client's id.
        client_id: String,
        /// The variable that holds the client's secret.
        secret_variable: String,
        /// The scopes that are requested.
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
