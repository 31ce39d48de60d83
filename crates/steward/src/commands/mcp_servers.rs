//! `steward mcp-servers`: the configured MCP servers.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, short, table};
use crate::toolbox;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use std::path::PathBuf;
use steward_domain::{Check as _, McpServer, ServerConfig, ServerName, Transport};
use steward_runtime::toolbox::Toolbox;
use steward_tools::config::{add_server, remove_server};
use steward_tools::mcp::State;

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward mcp-servers add files -- npx -y @modelcontextprotocol/server-filesystem .
  steward mcp-servers add crm --url https://crm.example/mcp --bearer CRM_TOKEN
  steward mcp-servers test files
  steward mcp-servers log files
  steward mcp-servers accept files        after a server changed its tools")]
pub(crate) enum McpServers {
    /// Lists the configured servers and their tools.
    List,
    /// Adds a server to config/mcp_servers.yaml.
    Add(Add),
    /// Removes a server from config/mcp_servers.yaml.
    Remove {
        /// Its name.
        name: ServerName,
    },
    /// Starts a server, lists its tools, and stops it.
    Test {
        /// Its name.
        name: String,
    },
    /// Starts a server and shows its error output and its events.
    Log {
        /// Its name.
        name: String,
        /// Number of lines.
        #[arg(long, default_value_t = 50)]
        lines: usize,
    },
    /// Accepts tools that a server changed or added.
    Accept {
        /// The server's name.
        name: ServerName,
        /// Only this tool, by the server's name for it.
        #[arg(long)]
        tool: Option<String>,
    },
    /// Logs in to a server that uses OAuth.
    Login {
        /// Its name.
        name: ServerName,
    },
}

#[derive(Args)]
pub(crate) struct Add {
    /// A name for it; its tools are called NAME.TOOL.
    name: ServerName,
    /// The URL of a remote server.
    #[arg(long)]
    url: Option<String>,
    /// The transport of a remote server.
    #[arg(long, value_enum, default_value = "http")]
    transport: Remote,
    /// The environment variable that holds a bearer token.
    #[arg(long, value_name = "VARIABLE")]
    bearer: Option<String>,
    /// Use OAuth; then run `steward mcp-servers login NAME`.
    #[arg(long, conflicts_with = "bearer")]
    oauth: bool,
    /// An environment variable for the program, as NAME=VALUE; `${OTHER}` is replaced at the start.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// The working directory of the program.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The program and its arguments, after `--`.
    #[arg(last = true)]
    command: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Remote {
    Http,
    Sse,
}

pub(super) async fn run(context: &Context, command: McpServers) -> Result<(), Failure> {
    match command {
        McpServers::Add(add) => return self::add(context, &add),
        McpServers::Remove { name } => {
            context.home.create()?;
            remove_server(&context.home.path, &name)?;
            say(format!("{name} is gone from config/mcp_servers.yaml"));
            return Ok(());
        }
        _ => {}
    }
    let toolbox = toolbox::open(context, false).await?;
    let result = match command {
        McpServers::List => list(context, &toolbox),
        McpServers::Test { name } => test(context, &toolbox, &name).await,
        McpServers::Log { name, lines } => log(context, &toolbox, &name, lines).await,
        McpServers::Accept { name, tool } => accept(context, &toolbox, &name, tool.as_deref()).await,
        McpServers::Login { name } => login(&toolbox, &name).await,
        McpServers::Add(_) | McpServers::Remove { .. } => Ok(()),
    };
    toolbox.close().await;
    result
}

fn add(context: &Context, add: &Add) -> Result<(), Failure> {
    let (program, arguments) = match add.command.split_first() {
        Some((program, arguments)) => (Some(program.clone()), arguments.to_vec()),
        None => (None, Vec::new()),
    };
    let mut env = std::collections::BTreeMap::new();
    for pair in &add.env {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| Failure::user("CLI004", format!("--env {pair:?}: write NAME=VALUE")))?;
        env.insert(name.to_owned(), value.to_owned());
    }
    let auth = match &add.bearer {
        Some(variable) => Some(steward_domain::ServerAuth::Bearer { token_variable: variable.clone() }),
        None if add.oauth => Some(steward_domain::ServerAuth::Oauth {
            client_id: None,
            secret_variable: None,
            scopes: Vec::new(),
        }),
        None => None,
    };
    let transport = match (&add.url, add.transport) {
        (None, _) => Transport::Stdio,
        (Some(_), Remote::Http) => Transport::Http,
        (Some(_), Remote::Sse) => Transport::Sse,
    };
    let config = ServerConfig {
        command: program,
        args: arguments,
        env,
        folder: add.folder.as_ref().map(|folder| folder.display().to_string()),
        url: add.url.clone(),
        auth,
        ..ServerConfig::default()
    };
    let server: McpServer =
        serde_json::from_value(json!({ "name": add.name, "transport": transport, "config": config }))
            .map_err(|error| Failure::user("CLI004", error.to_string()))?;
    let server = server.validate()?;
    context.home.create()?;
    add_server(&context.home.path, &server)?;
    say(format!("{} is in config/mcp_servers.yaml. Try it: steward mcp-servers test {}", add.name, add.name));
    Ok(())
}

fn list(context: &Context, toolbox: &Toolbox) -> Result<(), Failure> {
    let servers = toolbox.servers();
    let tools = toolbox.registry().list(&steward_tools::registry::Filter::default());
    let count =
        |name: &ServerName| tools.iter().filter(|tool| tool.definition.server.as_ref() == Some(name)).count();
    let mut rows = Vec::new();
    let mut documents = Vec::new();
    for (handle, status) in &servers {
        let config = handle.config();
        let place = match &config.config.command {
            Some(command) => format!("{command} {}", config.config.args.join(" ")),
            None => config.config.url.clone().unwrap_or_default(),
        };
        let waiting = toolbox.pins().waiting(handle.name())?;
        let known = match count(handle.name()) {
            0 => paint(Tone::Quiet, "not looked at yet"),
            number => number.to_string(),
        };
        documents.push(json!({
            "name": handle.name(), "transport": config.transport, "place": place, "tools": count(handle.name()),
            "waiting": waiting, "state": told(status.state), "last_error": status.last_error,
        }));
        let held = if waiting.is_empty() {
            String::new()
        } else {
            paint(Tone::Warn, &format!("{} held back", waiting.len()))
        };
        rows.push(vec![
            handle.name().to_string(),
            config.transport.name().to_owned(),
            known,
            held,
            short(&place, 70),
        ]);
    }
    if context.json {
        document(&json!({ "servers": documents }));
    } else {
        let none = "no MCP servers: steward mcp-servers add NAME -- COMMAND ARGS…";
        table(&["server", "over", "tools", "", "where"], rows, none);
    }
    Ok(())
}

fn told(state: State) -> &'static str {
    match state {
        State::Stopped => "stopped",
        State::Starting => "starting",
        State::Ready => "ready",
        State::Backoff { .. } => "waits after a failure",
        State::Open { .. } => "given a rest",
        State::Closed => "closed",
    }
}

async fn test(context: &Context, toolbox: &Toolbox, name: &str) -> Result<(), Failure> {
    let review = toolbox.look_at(name).await?;
    let status = toolbox
        .servers()
        .into_iter()
        .find(|(handle, _)| handle.name().as_str() == name)
        .map(|(_, status)| status);
    let (software, protocol) = status.map(|status| (status.software, status.protocol)).unwrap_or_default();
    if context.json {
        let tools: Vec<&str> = review.admitted.iter().map(|tool| tool.name.as_str()).collect();
        document(
            &json!({ "server": name, "software": software, "protocol": protocol, "tools": tools, "held": review.held.iter().map(|(tool, change)| json!({ "tool": tool.name, "change": change })).collect::<Vec<_>>(), "gone": review.gone }),
        );
        return Ok(());
    }
    say(format!(
        "{} {} speaks MCP {}",
        paint(Tone::Good, "works:"),
        software.unwrap_or_else(|| name.to_owned()),
        protocol.unwrap_or_default()
    ));
    let rows = review
        .admitted
        .iter()
        .map(|tool| vec![tool.definition.tool_name.to_string(), short(&tool.definition.description, 80)]);
    table(&["tool", "what it says it does"], rows.collect(), "it offers no tools");
    for (tool, change) in &review.held {
        say(paint(Tone::Warn, &format!("{} is held back: {change}", tool.name)));
    }
    review.gone.iter().for_each(|tool| say(paint(Tone::Warn, &format!("{tool} is gone"))));
    Ok(())
}

async fn log(context: &Context, toolbox: &Toolbox, name: &str, lines: usize) -> Result<(), Failure> {
    let looked = toolbox.look_at(name).await;
    let found = toolbox.servers().into_iter().find(|(handle, _)| handle.name().as_str() == name);
    let Some((handle, status)) = found else { return Ok(looked.map(drop)?) };
    let log = handle.log();
    let last: Vec<&String> = log.iter().rev().take(lines).collect::<Vec<_>>().into_iter().rev().collect();
    if context.json {
        document(
            &json!({ "server": name, "state": told(status.state), "last_error": status.last_error, "lines": last }),
        );
        return Ok(());
    }
    last.iter().for_each(say);
    if let Err(error) = looked {
        say(paint(Tone::Bad, &error.to_string()));
    }
    Ok(())
}

async fn accept(
    context: &Context,
    toolbox: &Toolbox,
    name: &ServerName,
    tool: Option<&str>,
) -> Result<(), Failure> {
    // Accepts what the server offers now, not what it offered earlier.
    toolbox.look_at(name.as_str()).await?;
    for (tool, change) in toolbox.pins().waiting(name)? {
        eprintln!("{tool}: {change}");
    }
    let accepted = toolbox.pins().accept(name, tool)?;
    if context.json {
        document(&json!({ "server": name, "accepted": accepted }));
    } else if accepted.is_empty() {
        say("nothing waits to be accepted");
    } else {
        say(format!("accepted: {}", accepted.join(", ")));
    }
    Ok(())
}

async fn login(toolbox: &Toolbox, name: &ServerName) -> Result<(), Failure> {
    toolbox.login(name, |url| eprintln!("Open this address in a browser and log in:\n{url}")).await?;
    say(format!("logged in to {name}"));
    Ok(())
}
