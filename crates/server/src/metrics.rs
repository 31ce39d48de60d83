//! Metrics and health of a worker over HTTP: `/metrics` for Prometheus and `/health` for liveness.
//! They contain numbers and the names of tools and models, never user content.

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use steward_telemetry::Metrics;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves until `stop` is cancelled.
pub async fn serve(listener: TcpListener, metrics: Metrics, stop: CancellationToken) -> std::io::Result<()> {
    let pages = Router::new().route("/metrics", get(page)).route("/health", get(health)).with_state(metrics);
    axum::serve(listener, pages).with_graceful_shutdown(stop.cancelled_owned()).await
}

async fn page(State(metrics): State<Metrics>) -> impl IntoResponse {
    ([(CONTENT_TYPE, Metrics::CONTENT_TYPE)], metrics.render())
}

async fn health() -> impl IntoResponse {
    axum::Json(serde_json::json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}
