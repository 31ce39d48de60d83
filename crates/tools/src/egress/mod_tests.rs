//! Tests of displayed URLs, and of what is dropped at a redirect.

use super::*;

#[test]
fn error_message_contains_no_secrets() {
    let rows = [
        ("https://user:secret@example.com/a?token=1#x", "https://example.com/a"),
        ("https://example.com/\r\nx", "https://example.com/\\r\\nx"),
        ("user:secret@example.com", "example.com"),
        ("", ""),
    ];
    for (url, wanted) in rows {
        assert_eq!(shown(url), wanted);
    }
    assert_eq!(shown(&"x".repeat(1000)).len(), 200);
}

#[track_caller]
fn turn(method: Method, from: &str, status: u16, to: &str) -> Result<RedirectState> {
    let target = Target::parse(from).unwrap();
    let next = target.redirected(to).unwrap();
    let headers =
        wire::headers_of(&[("authorization".into(), "x".into()), ("accept".into(), "y".into())]).unwrap();
    let mut journey = RedirectState { target, method, headers, body: Bytes::from_static(b"data") };
    journey.turn(StatusCode::from_u16(status).unwrap(), next)?;
    Ok(journey)
}

#[test]
fn redirect_keeps_only_harmless_headers() {
    let rows = [
        (Method::GET, 302, "https://a.com/2", Some((Method::GET, 2))),
        (Method::GET, 302, "/2", Some((Method::GET, 2))),
        (Method::GET, 302, "https://b.com/", Some((Method::GET, 1))),
        (Method::GET, 302, "https://a.com:8443/", Some((Method::GET, 1))),
        (Method::GET, 302, "http://a.com/", None),
        (Method::GET, 302, "http://b.com/", None),
        (Method::POST, 302, "/2", Some((Method::GET, 2))),
        (Method::PUT, 302, "/2", Some((Method::PUT, 2))),
        (Method::PUT, 303, "/2", Some((Method::GET, 2))),
        (Method::POST, 308, "/2", Some((Method::POST, 2))),
        (Method::POST, 303, "https://b.com/", Some((Method::GET, 1))),
        (Method::POST, 307, "https://b.com/", None),
        (Method::DELETE, 302, "https://b.com/", None),
        (Method::HEAD, 303, "/2", Some((Method::HEAD, 2))),
    ];
    for (method, status, to, wanted) in rows {
        let found = turn(method.clone(), "https://a.com/1", status, to).ok();
        let found = found.map(|journey| (journey.method, journey.headers.len()));
        assert_eq!(found, wanted, "{method} {status} {to}");
    }
}

#[test]
fn both_url_parsers_agree_on_accepted_urls() {
    let rows = [
        ("https://example.com/", "example.com", 443),
        ("HTTPS://EXAMPLE.com", "example.com", 443),
        ("http://example.com:8080/a/../b?x=y@z#@w", "example.com:8080", 8080),
        ("http://example.com:80/", "example.com", 80),
        ("http://[2606:4700:0:0::1111]/", "[2606:4700::1111]", 80),
        ("http://1.1.1.1/", "1.1.1.1", 80),
        ("http://xn--bcher-kva.example/", "xn--bcher-kva.example", 80),
        ("http://_dmarc.example.com/", "_dmarc.example.com", 80),
        ("https://de.example.org/wiki/Köln", "de.example.org", 443),
        ("https://a.b-c.example.com/@user", "a.b-c.example.com", 443),
    ];
    for (url, authority, port) in rows {
        let target = Target::parse(url).unwrap();
        assert_eq!((target.authority().as_str(), target.port), (authority, port), "{url}");
        assert!(target.path().starts_with('/') && target.path().is_ascii(), "{url}");
    }
}
