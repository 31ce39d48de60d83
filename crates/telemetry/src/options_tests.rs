//! Valid environment variables, and the errors for invalid ones.

use super::*;
use steward_domain::Coded as _;
use tracing::Level;

fn from(variables: &[(&str, &str)]) -> Result<Options> {
    Options::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn nothing_is_on_by_itself() {
    let options = from(&[]).unwrap();
    assert_eq!(options, Options::default());
    assert!(options.endpoint.is_none() && options.log.is_none() && !options.metrics);
    assert_eq!(from(&[(ENDPOINT, " "), (FILTER, "")]).unwrap(), Options::default());
}

#[test]
fn the_standard_variables() {
    let options = from(&[
        (ENDPOINT, "https://otlp.example:4318/base/"),
        (HEADERS, "authorization=Basic%20abc%3D, x-scope = team ,"),
        (SERVICE, "steward-eu"),
        (PROTOCOL, "http/protobuf"),
        (FORMAT, "json"),
    ])
    .unwrap();
    let endpoint = options.endpoint.unwrap();
    assert_eq!(endpoint.traces().as_str(), "https://otlp.example:4318/base/v1/traces");
    assert!(endpoint.is_https());
    assert_eq!(options.service_name, "steward-eu");
    assert_eq!(options.log_format, LogFormat::Json);
    let headers = options.headers.map();
    assert_eq!(headers["authorization"], "Basic abc=");
    assert_eq!(headers["x-scope"], "team");
    assert!(!format!("{:?}", options.headers).contains("abc"));
}

#[test]
fn disabled_means_that_nothing_is_sent() {
    let options = from(&[(DISABLED, "TRUE"), (ENDPOINT, "nonsense"), (FILTER, "info")]).unwrap();
    assert!(options.endpoint.is_none() && options.log.is_some());
    assert!(from(&[(DISABLED, "false"), (ENDPOINT, "http://127.0.0.1:4318")]).unwrap().endpoint.is_some());
}

#[test]
fn wrong_values_are_told_with_their_code() {
    for (name, value, code) in [
        (ENDPOINT, "127.0.0.1:4318", "TEL001"),
        (ENDPOINT, "ftp://host", "TEL001"),
        (ENDPOINT, "http://ada:secret@host", "TEL001"),
        (ENDPOINT, "http://host?key=secret", "TEL001"),
        (HEADERS, "a=b,secret", "TEL002"),
        (HEADERS, "na me=secret", "TEL002"),
        (HEADERS, "a=secret%0Ab", "TEL002"),
        (PROTOCOL, "grpc", "TEL003"),
        (FILTER, "inof", "TEL004"),
        (FILTER, "steward=loud", "TEL004"),
        (FORMAT, "xml", "TEL005"),
        (DISABLED, "yes", "TEL005"),
    ] {
        let error = from(&[(name, value)]).unwrap_err();
        assert_eq!(error.code(), code, "{name}={value}");
        assert!(error.to_string().contains(name), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn a_bare_level_speaks_of_our_crates() {
    for (filter, target, level, wanted) in [
        ("debug", "steward_tools::call", Level::DEBUG, true),
        ("debug", "steward_tools::call", Level::TRACE, false),
        ("debug", "rmcp::service", Level::ERROR, false),
        ("info,rmcp=warn", "rmcp::service", Level::WARN, true),
        ("info,steward_tools=debug", "steward_tools", Level::DEBUG, true),
        ("info,steward_tools=debug", "steward_language", Level::DEBUG, false),
        ("steward_tools=debug", "steward_language", Level::ERROR, false),
    ] {
        let found = LogFilter::parse(filter).unwrap().0.would_enable(target, &level);
        assert_eq!(found, wanted, "{filter}: {target} {level}");
    }
}
