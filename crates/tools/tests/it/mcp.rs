//! Tests of mcp.
