//! Connections: taken, served in bounded time, and closed in an orderly way.
//!
//! Invariant: a client that sends its headers slowly, or not at all, holds one of many places for
//! seconds and nothing else.

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

/// Connections at once.
const CONNECTIONS: usize = 4096;
/// How long headers may take to arrive.
const HEADERS: Duration = Duration::from_secs(10);
/// How large they may be.
const BUFFER: usize = 64 * 1024;
/// How long a connection may take to end after its last answer.
const GOODBYE: Duration = Duration::from_secs(3);

/// Serves until `closing` is set, then lets every connection end its answer.
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
            // Out of file handles, or a client that went away: the others are served on.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    open.close();
    let _those_that_do_not_end_are_dropped = tokio::time::timeout(GOODBYE * 2, open.wait()).await;
    Ok(())
}

async fn connection(stream: TcpStream, peer: SocketAddr, router: Router, closing: CancellationToken) {
    // Events are small and must not wait for each other.
    let _slower_is_not_wrong = stream.set_nodelay(true);
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
    let _a_client_that_does_not_read_is_dropped = tokio::time::timeout(GOODBYE, serving).await;
}
