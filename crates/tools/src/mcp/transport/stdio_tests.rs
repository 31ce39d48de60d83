//! Tests of the pipe transport.

use super::*;

/// Reads a server's output: the messages, the reason of the end, and the log.
async fn hear(output: &[u8], limit: usize) -> (Vec<ServerJsonRpcMessage>, DisconnectReason, Vec<String>) {
    let (tap, log) = (Arc::new(ConnectionMonitor::default()), Arc::new(Log::new(100)));
    let pipes = (tokio::io::sink(), output, tokio::io::empty());
    let mut transport = Stdio::new(pipes, limit, Arc::clone(&tap), Arc::clone(&log));
    let mut messages = Vec::new();
    while let Some(message) = transport.receive().await {
        messages.push(message);
    }
    (messages, tap.why(), log.lines())
}

#[tokio::test]
async fn noise_is_logged_and_skipped() {
    let output = b"listening on stdio\n\n[INFO] ready\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    let (messages, lost, log) = hear(output, 1024).await;
    assert_eq!(messages.len(), 1);
    assert_eq!(log, ["stdout: listening on stdio", "stdout: [INFO] ready"]);
    assert!(matches!(lost, DisconnectReason::Closed(_)));
}

#[tokio::test]
async fn broken_json_ends_the_connection() {
    let (messages, lost, _) = hear(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"resu\n{}\n", 1024).await;
    assert!(messages.is_empty());
    assert!(matches!(lost, DisconnectReason::Protocol(_)), "{lost:?}");
}

#[tokio::test]
async fn response_of_unknown_shape_fails_only_its_call() {
    let (messages, _, _) = hear(b"{\"id\":7,\"result\":{}}\n", 1024).await;
    assert!(
        matches!(&messages[..], [JsonRpcMessage::Error(error)] if error.id == Some(RequestId::Number(7)))
    );
}

#[tokio::test]
async fn unterminated_line_is_truncated() {
    let (messages, lost, _) = hear(&vec![b'x'; 5000], 1024).await;
    assert!(messages.is_empty());
    assert_eq!(lost, DisconnectReason::TooLarge(1024));
}

#[tokio::test]
async fn batch_is_split_into_messages() {
    let output =
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]\n";
    assert_eq!(hear(output, 1024).await.0.len(), 2);
}
