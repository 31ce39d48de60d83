//! Metrics over HTTP: what Prometheus scrapes at `/metrics`. Numbers and names of tools and models,
//! nothing that was said.

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use steward_telemetry::Metrics;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves them until it is told to stop.
pub async fn serve(listener: TcpListener, metrics: Metrics, stop: CancellationToken) -> std::io::Result<()> {
    let pages = Router::new().route("/metrics", get(page)).with_state(metrics);
    axum::serve(listener, pages).with_graceful_shutdown(stop.cancelled_owned()).await
}

async fn page(State(metrics): State<Metrics>) -> impl IntoResponse {
    ([(CONTENT_TYPE, Metrics::CONTENT_TYPE)], metrics.render())
}
