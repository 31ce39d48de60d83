//! `steward mcp`: Steward as an MCP server, over stdio or HTTP.

use super::Context;
use crate::error::Failure;
use crate::toolbox;
use clap::Args;
use std::sync::Arc;
use steward_server::mcp::{self, Gateway};
use steward_server::mcp_gateway::{ToolExposure, ToolboxGateway};
use steward_tools::config::Change;
use tokio_util::sync::CancellationToken;

#[derive(Args)]
#[command(after_help = "Examples:
  steward mcp                               over standard input and output, for a client that starts it
  steward mcp --port 8808                   over Streamable HTTP at http://127.0.0.1:8808/mcp
  steward mcp --expose 'crm.*' --expose time.now   offers these tools under their own names, too")]
pub(crate) struct Mcp {
    /// Listen on this loopback port instead of stdio; 0 chooses a free one.
    #[arg(long)]
    port: Option<u16>,
    /// Tools to offer under their own names, as names or `prefix.*`. Others are found with
    /// tools_search and called with tools_call.
    #[arg(long, value_name = "PATTERN")]
    expose: Vec<String>,
    /// List those tools without dots, for clients that forbid them: `crm__find` for `crm.find`.
    #[arg(long)]
    plain_names: bool,
}

pub(super) async fn run(context: &Context, command: Mcp) -> Result<(), Failure> {
    crate::isolation::install(&context.home, &context.settings, context.memory());
    let toolbox = Arc::new(toolbox::open(context, true).await?);
    let runner = super::run::over(context, &toolbox)?;
    let exposure = ToolExposure { tools: command.expose.clone(), plain_names: command.plain_names };
    let gateway: Arc<dyn Gateway> =
        Arc::new(ToolboxGateway::new(toolbox.clone(), runner, context.settings.user.clone(), exposure));
    let shutdown = CancellationToken::new();
    let serving = async {
        match command.port {
            None => mcp::serve_stdio(gateway, shutdown.clone()).await,
            Some(port) => {
                let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
                eprintln!("listening on http://{}/mcp", listener.local_addr()?);
                mcp::serve_http(listener, gateway, mcp::Options::default(), shutdown.clone()).await
            }
        }
    };
    let following = toolbox.follow(|change| {
        if let Change::Refused { problems, .. } = change {
            eprintln!("the configuration is left as it was:\n{problems}");
        }
    });
    let mut serving = std::pin::pin!(serving);
    let result = tokio::select! {
        result = &mut serving => result,
        () = async { following.await; std::future::pending::<()>().await } => Ok(()),
        () = super::stopped() => {
            shutdown.cancel();
            serving.await
        }
    };
    toolbox.close().await;
    result.map_err(Failure::unexpected)
}
