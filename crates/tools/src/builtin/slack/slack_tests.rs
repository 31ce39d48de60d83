//! Tests of the message conversion. The HTTP calls are tested in `tests/`.

use super::advice::advice;
use super::messages::{moment, seconds};
use super::{Config, Token};
use crate::builtin::Options;
use crate::builtin::tests::tool;

#[test]
fn moments() {
    for (ts, expected) in [
        ("1731700000.000100", Some("2024-11-15T19:46:40.000100Z")),
        ("1731700000", Some("2024-11-15T19:46:40.000000Z")),
        ("", None),
        ("x.y", None),
        ("-5.0", None),
        ("99999999999999.1", None),
    ] {
        assert_eq!(seconds(ts).map(|time| time.to_string()).as_deref(), expected, "{ts}");
    }
    assert_eq!(moment("2024-11-15T19:46:40.0001Z").as_deref(), Some("1731700000.000100"));
    assert_eq!(moment("1731700000.000100").as_deref(), Some("1731700000.000100"));
    assert_eq!(moment("yesterday"), None);
}

#[test]
fn slack_errors_have_advice() {
    for (error, part, transient) in [
        ("not_in_channel", "invite it", false),
        ("channel_not_found", "check the name", false),
        ("invalid_auth", "valid bot token", false),
        ("msg_too_long", "too long", false),
        ("internal_error", "try again later", true),
        ("something_new", "documentation", false),
    ] {
        let (text, again) = advice(error, None);
        assert!(text.contains(part) && again == transient, "{error}: {text}");
    }
    assert!(advice("missing_scope", Some("channels:history".to_owned())).0.contains("channels:history"));
}

#[test]
fn invalid_slack_configuration_disables_tools() {
    let off = |base_url: &str, token: Token| {
        let slack = Some(Config { base_url: base_url.to_owned(), token });
        tool(&Options { slack, ..Options::default() }, "slack.post").off
    };
    let value = || Token::Value("xoxb-secret".to_owned());
    assert_eq!(off("http://127.0.0.1:1/api", value()), None);
    for (base_url, token, part) in [
        ("nowhere", value(), "no address"),
        ("ftp://host/api", value(), "neither"),
        ("http://user:pass@host/api", value(), "more than an address"),
        ("http://host/api", Token::Value("  ".to_owned()), "empty"),
        ("http://host/api", Token::Variable("STEWARD_NO_SUCH_TOKEN".to_owned()), "STEWARD_NO_SUCH_TOKEN"),
        ("http://host/api", Token::Value("a\nb".to_owned()), "characters"),
    ] {
        let why = off(base_url, token).unwrap_or_default();
        assert!(why.contains(part), "{base_url}: {why}");
    }
    assert!(!format!("{:?}", value()).contains("secret"));
}
