//! MCP over pipes, for one client.

use super::gateway::Gateway;
use super::handler::{Handler, Shared};
use rmcp::service::serve_server_with_ct;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// The maximum length of a line. A longer line is dropped; the connection stays open.
const LINE: usize = 16 * 1024 * 1024;
/// The page size of lists.
const PAGE: usize = 100;

/// Serves the process that started this one, until it closes stdin or `shutdown` is cancelled.
/// Nothing else may write to stdout meanwhile.
///
/// # Errors
/// When the client does not speak MCP.
pub async fn serve_stdio(gateway: Arc<dyn Gateway>, shutdown: CancellationToken) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    serve(gateway, input, output, shutdown).await
}

/// Serves one client over any pair of streams. When it returns, no call of this client is running.
///
/// # Errors
/// When the client does not speak MCP.
pub async fn serve(
    gateway: Arc<dyn Gateway>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let shared = Shared::new(gateway, PAGE, None, shutdown.child_token());
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LINE);
    let served = serve_server_with_ct(Handler::new(shared.clone()), transport, shutdown.clone()).await;
    let running = match served {
        Ok(running) => running,
        // A client that disconnects before initialization is not an error.
        Err(
            rmcp::service::ServerInitializeError::ConnectionClosed(_)
            | rmcp::service::ServerInitializeError::Cancelled,
        ) => {
            return Ok(());
        }
        Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
    };
    let ended = running.waiting().await;
    shared.room.clear();
    shared.off.cancel();
    shared.ended.cancel();
    shared.calls.close();
    shared.calls.wait().await;
    ended.map(drop).map_err(io::Error::other)
}
