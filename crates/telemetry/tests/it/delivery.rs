//! A receiver that is down, hangs, refuses or fails at times: the work is not affected, and
//! shutdown has a deadline.

use std::time::{Duration, Instant};

use steward_telemetry::Delivered;

use crate::export::{options, under};
use crate::receiver::{Act, Receiver};

async fn spans(count: usize) {
    for _ in 0..count {
        drop(
            tracing::info_span!(target: "steward_runtime", "execute_tool", gen_ai.operation.name = "execute_tool"),
        );
    }
}

/// Measures how long spans take with this receiver, how long shutdown takes, and the delivery
/// counts.
fn measured(url: &str, count: usize, within: Duration) -> (Duration, Duration, Delivered) {
    let began = Instant::now();
    let (telemetry, ()) = under(&options(url), spans(count));
    let worked = began.elapsed();
    let metrics = telemetry.metrics().unwrap();
    let began = Instant::now();
    let delivered = telemetry.shutdown(within);
    let ended = began.elapsed();
    let line = format!(r#"steward_telemetry_spans_total{{outcome="dropped"}} {}"#, delivered.dropped);
    assert!(metrics.render().contains(&line), "{}", metrics.render());
    (worked, ended, delivered)
}

#[test]
fn a_dead_receiver_slows_nobody() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (worked, ended, delivered) = measured(&url, 20_000, Duration::from_secs(5));
    assert!(worked < Duration::from_secs(5), "{worked:?}");
    assert!(ended < Duration::from_secs(5), "{ended:?}");
    assert_eq!(delivered.exported, 0);
    assert_eq!(delivered.failed + delivered.dropped, 20_000);
    assert!(delivered.dropped > 0, "{delivered:?}");
}

#[test]
fn a_receiver_that_hangs_holds_nobody_up() {
    let receiver = Receiver::start(vec![Act::Hang]);
    let (worked, ended, delivered) = measured(&receiver.url, 20_000, Duration::from_millis(300));
    assert!(worked < Duration::from_secs(5), "{worked:?}");
    assert!(ended >= Duration::from_millis(300) && ended < Duration::from_millis(1500), "{ended:?}");
    assert_eq!(delivered.exported, 0);
    assert_eq!(delivered.failed + delivered.dropped, 20_000);
}

#[test]
fn dropping_has_the_deadline_of_the_options() {
    let receiver = Receiver::start(vec![Act::Hang]);
    let mut options = options(&receiver.url);
    options.flush_within = Duration::from_millis(200);
    let (telemetry, ()) = under(&options, spans(1));
    let began = Instant::now();
    drop(telemetry);
    let ended = began.elapsed();
    assert!(ended >= Duration::from_millis(200) && ended < Duration::from_millis(1500), "{ended:?}");
    assert_eq!(receiver.requests().len(), 1);
}

#[test]
fn batches_are_posted_while_the_work_goes_on() {
    let receiver = Receiver::start(vec![Act::Status(503), Act::Status(200)]);
    let (telemetry, ()) = under(&options(&receiver.url), spans(3));
    // Refused temporarily once, then accepted.
    receiver.wait();
    receiver.wait();
    assert_eq!(telemetry.shutdown(Duration::from_secs(10)), Delivered { exported: 3, failed: 0, dropped: 0 });
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].1, requests[1].1);
}

#[test]
fn a_refusal_is_not_repeated_and_a_part_is_counted() {
    let receiver = Receiver::start(vec![Act::Status(400)]);
    let (telemetry, ()) = under(&options(&receiver.url), spans(3));
    receiver.wait();
    assert_eq!(telemetry.shutdown(Duration::from_secs(10)), Delivered { exported: 0, failed: 3, dropped: 0 });
    assert_eq!(receiver.requests().len(), 1);
    let receiver = Receiver::start(vec![Act::Reject(2)]);
    let (telemetry, ()) = under(&options(&receiver.url), spans(3));
    assert_eq!(telemetry.shutdown(Duration::from_secs(10)), Delivered { exported: 1, failed: 2, dropped: 0 });
}

#[test]
fn many_spans_all_arrive() {
    let receiver = Receiver::start(vec![Act::Status(200)]);
    let (telemetry, ()) = under(&options(&receiver.url), spans(3000));
    assert_eq!(telemetry.shutdown(Duration::from_secs(10)).exported, 3000);
    let spans = receiver.spans();
    let ids: std::collections::HashSet<&[u8]> = spans.iter().map(|span| span.id.as_slice()).collect();
    assert_eq!((spans.len(), ids.len()), (3000, 3000));
}
