//! `steward init`.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say};
use serde_json::{Map, json};
use std::io::Write;
use steward_domain::{ChainId, EventType, Label};
use steward_journal::Draft;
use steward_store::audit::system_owner;
use steward_store::{Commit, Scope};

const STEWARD_YAML: &str = "# Settings of this home. Every line is optional; these are the defaults.
store: sqlite:state.db        # or postgres://user@host/database for more than one process
user: local                   # who works on this machine
environment: production       # development | staging | production
";

const RETENTION_YAML: &str =
    "# How many days things are kept. `steward retention run --dry-run` shows what would go.
default_days: 7
by_task:
  critical: 30
  debug: 3
by_status:
  completed: 7
  failed: 14
conversation_archive_days: 90
execution_days: 30
invocation_days: 30
";

const MCP_YAML: &str = "# MCP servers whose tools may be used.
servers: []
#  - name: time
#    transport: stdio
#    config:
#      command: mcp-server-time
#      args: [--local-timezone, UTC]
";

const DOMAINS_YAML: &str = "# Fields of knowledge that questions are routed to.
domains: []
#  - name: sales
#    display_name: Sales
#    description: Orders and revenue by state, product and month
#    data_sources: [sales.csv]
";

const TOOLS_YAML: &str = "# Tool categories: switched, permitted and limited together.
categories: []
#  - name: slack_tools
#    enabled: true
#    permissions: [channels:history]
#    tools:
#      slack.history:
#        tool_name: slack.history
#        rate_limits: { per_minute: 60 }
";

pub(super) async fn run(context: &Context) -> Result<(), Failure> {
    context.home.create()?;
    let mut made = Vec::new();
    for (name, text) in [
        ("steward.yaml", STEWARD_YAML),
        ("retention_policy.yaml", RETENTION_YAML),
        ("mcp_servers.yaml", MCP_YAML),
        ("domains.yaml", DOMAINS_YAML),
        ("tools.yaml", TOOLS_YAML),
    ] {
        let path = context.home.path.join("config").join(name);
        // Existing files are never overwritten.
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes()).map_err(|error| Failure::file(&path, &error))?;
                made.push(format!("config/{name}"));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::file(&path, &error)),
        }
    }
    let opened = context.open().await?;
    let key = opened.signer.verifier().vkey();
    if opened.store.chain(&Scope::System, ChainId::SYSTEM).await?.is_none() {
        // The first event of a home is its key: the journal starts with it.
        let data = Map::from_iter([("verifier".to_owned(), json!(key))]);
        let actor = Label::new("init").map_err(Failure::unexpected)?;
        let first = Commit::new(system_owner()?, ChainId::SYSTEM).entry(Draft::new(
            EventType::KeyRotated,
            actor,
            data,
        ));
        opened.store.commit(&Scope::System, first).await?;
    }
    if context.json {
        document(&json!({ "home": context.home.path, "made": made, "key": key }));
        return Ok(());
    }
    say(format!("{} {}", paint(Tone::Good, "ready"), context.home.path.display()));
    if !made.is_empty() {
        say(format!("made   {}", made.join(", ")));
    }
    say(format!("key    {key}"));
    say(paint(
        Tone::Quiet,
        "Keep the key line elsewhere: whoever has it can check your journal. Next: steward doctor",
    ));
    Ok(())
}
