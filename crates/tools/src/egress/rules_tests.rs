//! Tests of what a list allows, and of invalid lists.

use super::*;
use serde_json::json;

fn listing(allow: &[&str], private: bool, host: &str, port: u16) -> Listing {
    let rules = Rules::from_json(&json!({"allow": allow, "allow_private": private})).unwrap();
    rules.listing(&Host::parse(host).unwrap(), port, Scheme::Https)
}

#[test]
fn allow_list_allows_listed_hosts() {
    let rows: [(&[&str], &str, u16, Listing); 15] = [
        (&[], "example.com", 443, Listing::Absent),
        (&["example.com"], "example.com", 443, Listing::Public),
        (&["EXAMPLE.com"], "example.com", 443, Listing::Public),
        (&["example.com"], "example.com", 8443, Listing::Absent),
        (&["example.com:8443"], "example.com", 8443, Listing::Public),
        (&["example.com:8443"], "example.com", 443, Listing::Absent),
        (&["example.com"], "a.example.com", 443, Listing::Absent),
        (&["example.com"], "badexample.com", 443, Listing::Absent),
        (&["*.example.com"], "a.example.com", 443, Listing::Public),
        (&["*.example.com"], "a.b.example.com", 443, Listing::Public),
        (&["*.example.com"], "example.com", 443, Listing::Absent),
        (&["*.example.com"], "badexample.com", 443, Listing::Absent),
        (&["*.example.com"], "example.com.evil.net", 443, Listing::Absent),
        (&["[2606:4700::1111]"], "[2606:4700:0::1111]", 443, Listing::Public),
        (&["bücher.example.com"], "xn--bcher-kva.example.com", 443, Listing::Public),
    ];
    for (allow, host, port, wanted) in rows {
        assert_eq!(listing(allow, false, host, port), wanted, "{allow:?} {host}:{port}");
    }
    assert_eq!(listing(&["localhost:80"], true, "localhost", 80), Listing::Private);
    assert_eq!(
        listing(&["*.example.com"], true, "a.example.com", 443),
        Listing::Public,
        "a star is never private"
    );
    assert_eq!(listing(&["*.example.com", "a.example.com"], true, "a.example.com", 443), Listing::Private);
}

#[test]
fn malformed_allow_list_is_rejected() {
    let wrong = [
        json!({"allow": ["*"]}),
        json!({"allow": ["*.com"]}),
        json!({"allow": ["a.*.com"]}),
        json!({"allow": [""]}),
        json!({"allow": ["example.com."]}),
        json!({"allow": ["https://example.com"]}),
        json!({"allow": ["example.com/path"]}),
        json!({"allow": ["user@example.com"]}),
        json!({"allow": ["example.com:0"]}),
        json!({"allow": ["example.com:99999"]}),
        json!({"allow": ["example.com:"]}),
        json!({"allow": ["example.com:*"]}),
        json!({"allow": ["*.127.0.0.1"]}),
        json!({"allow": ["[::1"]}),
        json!({"schemes": ["ftp"]}),
        json!({"max_redirects": 6}),
        json!({"timeout_seconds": 0}),
        json!({"timeout_seconds": 1e9}),
        json!({"alow": ["example.com"]}),
    ];
    for rules in wrong {
        let error = Rules::from_json(&rules).expect_err(&rules.to_string());
        assert!(matches!(error, Error::Config { .. }), "{error}");
    }
}

#[test]
fn host_rule_round_trips() {
    for text in ["example.com", "*.example.com", "example.com:8443", "[::1]:80", "127.0.0.1:9000", "[::1]"] {
        assert_eq!(text.parse::<HostRule>().unwrap().to_string(), text);
    }
    assert_eq!(Rules::from_json(&json!({})).unwrap(), Rules::default());
}
