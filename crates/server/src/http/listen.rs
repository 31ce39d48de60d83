//! Accepts connections, serves them with time limits, and closes them gracefully.
//!
//! Invariant: a client that sends its headers slowly, or not at all, holds only one of many
//! connection slots, and only for seconds.

use super::door::Peer;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The maximum number of connections.
const CONNECTIONS: usize = 4096;
/// The timeout for receiving headers.
const HEADERS: Duration = Duration::from_secs(10);
/// The maximum size of the headers.
const BUFFER: usize = 64 * 1024;
/// The time that a connection may take to close after its last response.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Serves until `closing` is cancelled, then lets each connection finish its response.
pub async fn serve(listener: TcpListener, router: Router, closing: CancellationToken) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let open = TaskTracker::new();
    while !closing.is_cancelled() {
        let place = tokio::select! {
            () = closing.cancelled() => break,
            place = places.clone().acquire_owned() => place,
        };
        let accepted = tokio::select! {
            () = closing.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, closing) = (router.clone(), closing.clone());
                open.spawn(async move {
                    connection(stream, peer, router, closing).await;
                    drop(place);
                });
            }
            // Out of file handles, or the client disconnected. Other connections are not affected.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    open.close();
    let _unfinished_work_is_dropped = tokio::time::timeout(CLOSE_TIMEOUT * 2, open.wait()).await;
    Ok(())
}

async fn connection(stream: TcpStream, peer: SocketAddr, router: Router, closing: CancellationToken) {
    // Events are small and must not be delayed by Nagle's algorithm.
    let _nodelay_is_optional = stream.set_nodelay(true);
    let inner = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        inner.call(request)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(BUFFER).keep_alive(true);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = serving.as_mut() => return,
        () = closing.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    let _slow_client_is_dropped = tokio::time::timeout(CLOSE_TIMEOUT, serving).await;
}
