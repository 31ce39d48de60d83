//! A tool of an MCP server in the registry.

use crate::error::Result;
use crate::mcp::server::Handle;
use crate::tool::{Context, Output, Tool};
use async_trait::async_trait;
use steward_policy::AdmittedCall;

/// Calls one tool of one server.
#[derive(Debug, Clone)]
pub struct McpTool {
    server: Handle,
    name: String,
}

impl McpTool {
    /// The tool with this name on the server.
    pub fn new(server: Handle, name: impl Into<String>) -> Self {
        Self { server, name: name.into() }
    }

    /// The server of the tool.
    #[must_use]
    pub fn server(&self) -> &Handle {
        &self.server
    }
}

#[async_trait]
impl Tool for McpTool {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output> {
        self.server.call(&self.name, call.arguments(), context).await
    }
}
