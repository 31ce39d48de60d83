//! The door for outbound HTTP, against everything that is known to get past such doors, and with
//! what it is for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly"
)]

mod lab;
mod tls;
mod tricks;

use lab::{Lab, PATIENCE, PUBLIC, Route};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_policy::{AdmittedCall, Caller, Decision, Proposal, Provenance};
use steward_tools::egress::{
    Connector, EgressClient, HttpFetch, Request, Resolver, Response, Rules, Stream, address_allowed,
};
use steward_tools::{Context, Error, Tool};
use tricks::{NOT_LISTED, TRICKS};

fn rules(parameters: &Json) -> Rules {
    Rules::from_json(parameters).unwrap()
}

/// A list that names the good hosts, and nothing else.
fn strict() -> Rules {
    rules(&json!({"allow": ["allowed.com", "*.allowed.com", "other.com"]}))
}

/// A list on which a careless operator put the very host that the trick leads to, so that the other
/// checks have to hold.
fn careless(trick: &str, port: u16) -> Rules {
    let mut allow: Vec<String> = strict().allow.iter().map(ToString::to_string).collect();
    for host in ["127.0.0.1", "[::1]", "localhost", "*.allowed.com", "allowed.com"] {
        allow.push(format!("{host}:{port}"));
    }
    if let Ok(url) = url::Url::parse(trick)
        && let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default())
    {
        allow.push(format!("{host}:{port}"));
    }
    allow.retain(|host| host.parse::<steward_tools::egress::HostRule>().is_ok());
    rules(&json!({ "allow": allow }))
}

/// Names of the tests' zone that lead where they must not.
const ZONE: &[(&str, &[&[&str]])] = &[
    ("private.allowed.com", &[&["127.0.0.1"]]),
    ("zero.allowed.com", &[&["0.0.0.0"]]),
    ("mixed.allowed.com", &[&[PUBLIC, "10.0.0.1"]]),
    ("last.allowed.com", &[&[PUBLIC, "1.1.1.1", "8.8.8.8", "::1"]]),
    ("six.allowed.com", &[&["::1"]]),
    ("mapped.allowed.com", &[&["::ffff:127.0.0.1"]]),
    ("nat64.allowed.com", &[&["64:ff9b::7f00:1"]]),
    ("meta.allowed.com", &[&["169.254.169.254"]]),
    ("meta6.allowed.com", &[&["fd00:ec2::254"]]),
    ("127.0.0.1.nip.allowed.com", &[&["127.0.0.1"]]),
    ("7f000001.allowed.com", &[&["127.0.0.1"]]),
];

async fn fetch(door: &EgressClient, url: &str) -> Result<Response, Error> {
    tokio::time::timeout(PATIENCE, door.fetch(Request::get(url)))
        .await
        .expect("the door has its own deadline")
}

#[tokio::test]
async fn every_trick_is_refused_before_a_connection_is_opened() {
    let lab = Lab::new(ZONE).await;
    let mut rows = 0;
    for (rule, tricks) in TRICKS {
        for trick in *tricks {
            let trick = trick.replace("{p}", &lab.port.to_string());
            let refused = |found: Result<Response, Error>| match found {
                Err(Error::Egress { rule, .. }) => rule,
                other => panic!("{trick:?} was not refused: {other:?}"),
            };
            refused(fetch(&lab.door(strict()), &trick).await);
            let told = refused(fetch(&lab.door(careless(&trick, lab.port)), &trick).await);
            assert!(told.contains(rule), "{trick:?}: {told:?} instead of {rule:?}");
            assert_eq!(lab.dialled(), [], "{trick:?}");
            rows += 1;
        }
    }
    for trick in NOT_LISTED {
        let found = fetch(&lab.door(strict()), trick).await;
        let told = found.expect_err(trick).to_string();
        assert!(told.contains("not on the operator's list"), "{trick:?}: {told}");
        rows += 1;
    }
    assert_eq!(lab.dialled(), []);
    lab.canaries_are_silent();
    assert!(rows >= 100, "{rows} tricks");
    println!("{rows} tricks refused");
}

#[tokio::test]
async fn every_trick_is_refused_as_a_redirect() {
    let lab = Lab::new(ZONE).await;
    let (mut rows, statuses) = (0, [301, 302, 303, 307, 308]);
    let all = TRICKS.iter().flat_map(|(_, tricks)| *tricks).chain(NOT_LISTED);
    // What names no host is a path on the same server when it stands in a redirect, and no header
    // holds a line break.
    let fits =
        |trick: &&&str| (trick.contains(':') || trick.starts_with("//")) && !trick.contains(['\n', '\r']);
    for trick in all.filter(fits) {
        let trick = trick.replace("{p}", &lab.port.to_string());
        lab.site.redirect("/start", statuses[rows % statuses.len()], &trick);
        let listed = if NOT_LISTED.contains(&trick.as_str()) { strict() } else { careless(&trick, lab.port) };
        let found = fetch(&lab.door(listed), "http://allowed.com/start").await;
        match found {
            Err(Error::Egress { .. }) => {}
            // Control characters make the answer itself invalid.
            Err(Error::Unreachable { .. }) if trick.contains(['\0', '\u{1}', '\u{7f}']) => {}
            other => panic!("{trick:?} was not refused: {other:?}"),
        }
        assert_eq!(lab.dialled(), [SocketAddr::new(PUBLIC.parse().unwrap(), 80)], "{trick:?}");
        rows += 1;
    }
    lab.canaries_are_silent();
    assert!(rows >= 100, "{rows} tricks");
}

#[tokio::test]
async fn an_empty_list_reaches_nothing() {
    let lab = Lab::new(&[]).await;
    for url in ["http://allowed.com/", "https://allowed.com/", "http://93.184.215.14/"] {
        let error = fetch(&lab.door(Rules::default()), url).await.unwrap_err();
        assert!(matches!(error, Error::Egress { .. }), "{url}: {error}");
    }
    assert_eq!((lab.dialled(), lab.names.asked()), (vec![], 0), "nobody even asked for a name");
}

#[tokio::test]
async fn a_second_answer_of_the_name_server_changes_nothing() {
    let turns: &[&[&str]] = &[&[PUBLIC], &["127.0.0.1"]];
    let lab = Lab::new(&[("rebind.allowed.com", turns), ("loop.allowed.com", turns)]).await;
    let door = lab.door(careless("", lab.port));
    lab.site.answer("/", "200 OK", "", b"public");
    let url = format!("http://rebind.allowed.com:{}/", lab.port);
    assert_eq!(fetch(&door, &url).await.unwrap().body, b"public");
    assert_eq!(lab.names.asked(), 1, "one lookup for one hop");
    assert_eq!(lab.dialled(), [SocketAddr::new(PUBLIC.parse().unwrap(), lab.port)]);
    // The next request asks anew, and the new answer is checked as the first one was.
    assert!(matches!(fetch(&door, &url).await, Err(Error::Egress { .. })));
    // So is the lookup for a redirect to the same name.
    lab.site.redirect("/again", 302, "/");
    let url = format!("http://loop.allowed.com:{}/again", lab.port);
    assert!(matches!(fetch(&door, &url).await, Err(Error::Egress { .. })));
    assert_eq!(lab.dialled(), [SocketAddr::new(PUBLIC.parse().unwrap(), lab.port)]);
    lab.canaries_are_silent();
}

#[tokio::test]
async fn an_allowed_host_is_fetched_under_its_own_name() {
    let lab = Lab::new(&[]).await;
    lab.site.answer("/a?b=c", "200 OK", "content-type: text/plain\r\n", b"hello");
    let request = Request {
        headers: vec![("X-Key".into(), "1".into()), ("accept".into(), "text/plain".into())],
        ..Request::get("http://Allowed.COM/a?b=c#d")
    };
    let response = lab.door(strict()).fetch(request).await.unwrap();
    assert_eq!((response.status.as_u16(), response.body.as_slice()), (200, b"hello".as_slice()));
    assert_eq!((response.final_url.as_str(), response.truncated), ("http://allowed.com/a?b=c", false));
    assert_eq!(lab.dialled(), [SocketAddr::new(PUBLIC.parse().unwrap(), 80)]);
    let seen = lab.site.seen().concat().to_lowercase();
    for line in ["get /a?b=c http/1.1", "host: allowed.com\r\n", "accept-encoding: identity", "x-key: 1"] {
        assert!(seen.contains(line), "{line} in {seen}");
    }
}

#[tokio::test]
async fn a_redirect_to_an_allowed_host_is_followed_without_the_callers_secrets() {
    let lab = Lab::new(&[]).await;
    lab.site.redirect("/here", 302, "/there");
    lab.site.redirect("/there", 301, "//other.com/end");
    lab.site.answer("/end", "200 OK", "", b"arrived");
    let secrets = [
        ("authorization", "Bearer s3cret"),
        ("cookie", "s3cret"),
        ("x-api-key", "s3cret"),
        ("accept", "*/*"),
    ];
    let headers = secrets.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let request = Request { headers, ..Request::get("http://allowed.com/here") };
    let response = lab.door(strict()).fetch(request).await.unwrap();
    assert_eq!(
        (response.final_url.as_str(), response.body.as_slice()),
        ("http://other.com/end", b"arrived".as_slice())
    );
    let seen = lab.site.seen();
    assert_eq!(seen.iter().map(|request| request.matches("s3cret").count()).collect::<Vec<_>>(), [3, 3, 0]);
    assert!(seen[2].contains("accept: */*") && seen[2].contains("host: other.com"), "{}", seen[2]);
}

#[tokio::test]
async fn redirects_end() {
    let lab = Lab::new(&[]).await;
    lab.site.redirect("/round", 302, "/round");
    let error = fetch(&lab.door(strict()), "http://allowed.com/round").await.unwrap_err();
    assert!(error.to_string().contains("more often"), "{error}");
    assert_eq!(lab.dialled().len(), 6, "the first request and five redirects");
}

#[tokio::test]
async fn writing_needs_the_operators_word_and_stays_with_its_host() {
    let lab = Lab::new(&[]).await;
    let post =
        |url: &str| Request { method: http::Method::POST, body: b"data".to_vec(), ..Request::get(url) };
    let error = lab.door(strict()).fetch(post("http://allowed.com/")).await.unwrap_err();
    assert!(error.to_string().contains("allow_writes"), "{error}");
    let door = lab.door(Rules { allow_writes: true, ..strict() });
    lab.site.answer("/", "201 Created", "", b"");
    assert_eq!(door.fetch(post("http://allowed.com/")).await.unwrap().status.as_u16(), 201);
    assert!(lab.site.seen()[0].ends_with("\r\n\r\ndata"), "{:?}", lab.site.seen());
    lab.site.redirect("/keep", 307, "http://other.com/");
    let error = door.fetch(post("http://allowed.com/keep")).await.unwrap_err();
    assert!(error.to_string().contains("changes something"), "{error}");
    // After 303 it is a request that reads, with nothing of the body.
    lab.site.redirect("/see", 303, "http://other.com/end");
    lab.site.answer("/end", "200 OK", "", b"seen");
    assert_eq!(door.fetch(post("http://allowed.com/see")).await.unwrap().body, b"seen");
    assert!(lab.site.seen().last().unwrap().starts_with("GET /end"), "{:?}", lab.site.seen());
    // When the answer breaks off, nobody knows whether it was carried out.
    lab.site.route("/broken", Route::Raw(b"HTTP/1.1 20".to_vec()));
    let error = door.fetch(post("http://allowed.com/broken")).await.unwrap_err();
    assert!(matches!(error, Error::UnknownOutcome { .. }), "{error}");
}

#[tokio::test]
async fn headers_cannot_be_smuggled() {
    let lab = Lab::new(&[]).await;
    let wrong = [
        ("x", "a\r\nhost: evil.com"),
        ("x", "a\nb"),
        ("x", "a\0"),
        ("x\r\ny", "a"),
        ("x y", "a"),
        ("", "a"),
        ("Host", "evil.com"),
        ("Transfer-Encoding", "chunked"),
        ("content-length", "0"),
        ("Connection", "upgrade"),
        ("upgrade", "h2c"),
        ("proxy-authorization", "x"),
        ("Proxy-Connection", "x"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("accept-encoding", "gzip"),
        ("x", "é\u{7f}"),
    ];
    for (name, value) in wrong {
        let headers = vec![(name.to_owned(), value.to_owned())];
        let found =
            lab.door(strict()).fetch(Request { headers, ..Request::get("http://allowed.com/") }).await;
        assert!(matches!(found, Err(Error::Egress { .. })), "{name:?}: {value:?} gave {found:?}");
    }
    assert_eq!(lab.dialled(), []);
}

#[tokio::test]
async fn answers_are_bounded() {
    let lab = Lab::new(&[]).await;
    let door = lab.door(Rules { max_body_bytes: 10, ..strict() });
    lab.site.answer("/ten", "200 OK", "", b"0123456789");
    lab.site.answer("/more", "200 OK", "", &[b'x'; 100_000]);
    // A server that never ends, and one that promises more than anyone has.
    lab.site
        .route("/endless", Route::Hang([b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[b'x'; 20_000]].concat()));
    lab.site.route(
        "/huge",
        Route::Hang(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n01234567890".to_vec()),
    );
    for (path, truncated) in [("/ten", false), ("/more", true), ("/endless", true), ("/huge", true)] {
        let response = fetch(&door, &format!("http://allowed.com{path}")).await.unwrap();
        assert_eq!((response.body.len(), response.truncated), (10, truncated), "{path}");
    }
    let lines = "x: y\r\n".repeat(200);
    lab.site.answer("/lines", "200 OK", &lines, b"");
    lab.site.answer("/long", "200 OK", &format!("x: {}\r\n", "y".repeat(200_000)), b"");
    lab.site.route("/garbage", Route::Raw(b"\x00\xff not HTTP at all\r\n\r\n".to_vec()));
    lab.site.route("/cut", Route::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1".to_vec()));
    lab.site.route(
        "/both",
        Route::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12".to_vec()),
    );
    for path in ["/lines", "/long", "/garbage", "/cut", "/both"] {
        let error = fetch(&door, &format!("http://allowed.com{path}")).await.expect_err(path);
        assert!(matches!(error, Error::Unreachable { .. }), "{path}: {error}");
    }
}

#[tokio::test]
async fn a_slow_server_runs_out_of_time_and_its_connection_is_closed() {
    let lab = Lab::new(&[]).await;
    lab.site.route("/slow", Route::Hang(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhal".to_vec()));
    let door = lab.door(Rules { timeout_seconds: 0.2, ..strict() });
    let error = fetch(&door, "http://allowed.com/slow").await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    tokio::time::timeout(PATIENCE, lab.site.left.notified()).await.expect("the connection is closed");
}

#[tokio::test]
async fn tls_is_spoken_to_the_name() {
    let lab = Lab::new(&[]).await;
    lab.site.answer("/", "200 OK", "", b"safe");
    lab.site.redirect("/across", 302, "https://other.com/");
    lab.site.redirect("/down", 302, "http://allowed.com/");
    let door = lab.door(strict()).trusting(tls::trusting());
    let response = fetch(&door, "https://allowed.com/").await.unwrap();
    assert_eq!(
        (response.body.as_slice(), response.final_url.as_str()),
        (b"safe".as_slice(), "https://allowed.com/")
    );
    assert_eq!(fetch(&door, "https://allowed.com/across").await.unwrap().final_url, "https://other.com/");
    assert_eq!(lab.site.greeted(), ["allowed.com", "allowed.com", "other.com"]);
    assert!(lab.site.seen()[2].contains("host: other.com\r\n"), "{:?}", lab.site.seen());
    assert!(lab.dialled().iter().all(|address| address.port() == 443));
    let error = fetch(&door, "https://allowed.com/down").await.unwrap_err();
    assert!(error.to_string().contains("from https to http"), "{error}");
    // The certificate is not this name's.
    let error = fetch(&door, "https://a.allowed.com/").await.unwrap_err();
    assert!(matches!(&error, Error::Unreachable { detail, .. } if detail.starts_with("TLS")), "{error}");
}

#[tokio::test]
async fn a_certificate_that_the_machine_does_not_trust_is_not_trusted() {
    let lab = Lab::new(&[]).await;
    let error = fetch(&lab.door(strict()), "https://allowed.com/").await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert_eq!(lab.site.seen(), [""; 0], "nothing was sent");
}

#[tokio::test]
async fn a_private_host_takes_two_words_of_the_operator() {
    let lab = Lab::new(ZONE).await;
    let site = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    site.set_nonblocking(true).unwrap();
    let (url, host) =
        (format!("http://{}/", site.local_addr().unwrap()), site.local_addr().unwrap().to_string());
    let once = fetch(&lab.door(rules(&json!({"allow": [host]}))), &url).await;
    assert!(matches!(once, Err(Error::Egress { .. })), "{once:?}");
    let other = fetch(
        &lab.door(rules(&json!({"allow": ["*.allowed.com"], "allow_private": true}))),
        "http://private.allowed.com/",
    )
    .await;
    assert!(matches!(other, Err(Error::Egress { .. })), "{other:?}");
    let meta =
        rules(&json!({"allow": ["169.254.169.254", "metadata.google.internal"], "allow_private": true}));
    for url in ["http://169.254.169.254/", "http://metadata.google.internal/"] {
        assert!(matches!(fetch(&lab.door(meta.clone()), url).await, Err(Error::Egress { .. })), "{url}");
    }
    assert_eq!(lab.dialled(), []);
    let both = lab.door(rules(&json!({"allow": [host], "allow_private": true, "timeout_seconds": 0.2})));
    let error = fetch(&both, &url).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(site.accept().is_ok(), "it was dialled");
}

fn admitted(arguments: Json) -> AdmittedCall {
    let Json::Object(arguments) = arguments else { panic!("an object") };
    let proposal = Proposal {
        accepted: "a".repeat(64).parse().unwrap(),
        effect: steward_policy::Effect::Change,
        call: serde_json::from_value(json!("018f0000-0000-7000-8000-000000000001")).unwrap(),
        tool: HttpFetch::NAME.parse().unwrap(),
        version: "1.0.0".parse().unwrap(),
        server: None,
        arguments,
        provenance: std::collections::BTreeMap::new(),
        default_provenance: Provenance::User,
        approval: None,
    };
    let caller = Caller::owner("ada".parse().unwrap());
    let Decision::Allow(call) = proposal.decide(&caller, &steward_policy::Rules::default()) else {
        panic!("the owner may")
    };
    call
}

#[tokio::test]
async fn the_tool_gives_what_its_schema_promises() {
    let lab = Lab::new(&[]).await;
    let tool = HttpFetch::through(Arc::new(lab.door(strict())));
    lab.site.answer("/text", "200 OK", "content-type: text/html\r\n", "Grüße".as_bytes());
    lab.site.answer("/bytes", "404 Not Found", "", &[0xff, 0x00]);
    let schema = jsonschema::validator_for(&HttpFetch::output_schema()).unwrap();
    let rows = [
        (json!({"url": "http://allowed.com/text"}), json!([200, "text/html", "Grüße", "utf-8", false])),
        (
            json!({"url": "http://allowed.com/text", "max_bytes": 3}),
            json!([200, "text/html", "Gr", "utf-8", true]),
        ),
        (json!({"url": "http://allowed.com/bytes"}), json!([404, null, "/wA=", "base64", false])),
        (
            json!({"url": "http://allowed.com/text", "method": "HEAD"}),
            json!([200, "text/html", "", "utf-8", false]),
        ),
    ];
    for (arguments, wanted) in rows {
        let output = tool.call(&admitted(arguments.clone()), &Context::within(PATIENCE)).await.unwrap();
        let found = output.structured.unwrap();
        assert!(schema.is_valid(&found), "{found}");
        let parts =
            ["status", "content_type", "body", "encoding", "truncated"].map(|part| found[part].clone());
        assert_eq!(Json::from(parts.to_vec()), wanted, "{arguments}");
    }
    for arguments in [json!({"url": 1}), json!({}), json!({"url": "http://allowed.com/", "method": "G T"})] {
        let error = tool.call(&admitted(arguments), &Context::within(PATIENCE)).await.unwrap_err();
        assert!(matches!(error, Error::Arguments { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_call_that_nobody_wants_any_more_ends_at_once() {
    let lab = Lab::new(&[]).await;
    let tool = HttpFetch::through(Arc::new(lab.door(strict())));
    lab.site.route("/never", Route::Hang(Vec::new()));
    let context = Context::within(PATIENCE);
    let call = admitted(json!({"url": "http://allowed.com/never"}));
    let cancel = async {
        lab.site.arrived.notified().await;
        context.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(tool.call(&call, &context), cancel);
    assert!(matches!(outcome, Err(Error::Cancelled { .. })), "{outcome:?}");
    tokio::time::timeout(PATIENCE, lab.site.left.notified()).await.expect("the connection is closed");
}

/// Resolves every name to addresses that the case chose, opens nothing, and remembers what it was
/// told to open.
#[derive(Default)]
struct Ear {
    addresses: Vec<IpAddr>,
    dialled: Mutex<Vec<SocketAddr>>,
}

#[async_trait::async_trait]
impl Resolver for Ear {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(self.addresses.clone())
    }
}

#[async_trait::async_trait]
impl Connector for Ear {
    async fn connect(&self, address: SocketAddr) -> std::io::Result<Box<dyn Stream>> {
        self.dialled.lock().unwrap().push(address);
        Err(std::io::Error::other("nothing is opened"))
    }
}

/// Pieces from which confusing addresses are made.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "http://",
        "https://",
        "http:",
        "//",
        "/",
        "\\",
        "@",
        ":",
        "#",
        "?",
        "[",
        "]",
        "%",
        "%2e",
        ".",
        "..",
        "127.0.0.1",
        "::1",
        "0x7f",
        "2130706433",
        "localhost",
        "allowed.com",
        "a",
        "0",
        "1",
        "80",
        "443",
        "::ffff:",
        "169.254.169.254",
        "。",
        "①",
        "\t",
        "\n",
        " ",
        "xn--",
        "8.8.8.8",
        "2606:4700::1111",
        "user:pass@",
        "é",
        "-",
        "_",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(bits.into())),
        any::<u128>().prop_map(|bits| IpAddr::V6(bits.into())),
        any::<u32>().prop_map(|bits| IpAddr::V6((0xffff_0000_0000 | u128::from(bits)).into())),
        Just(IpAddr::from([8, 8, 8, 8])),
        Just(IpAddr::from([127, 0, 0, 1])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_string_makes_the_door_panic_or_dial_what_is_refused(
        url in prop_oneof![
            any::<String>(),
            proptest::collection::vec(piece(), 0..8).prop_map(|parts| parts.concat()),
            proptest::collection::vec(piece(), 0..6).prop_map(|parts| format!("http://{}", parts.concat())),
            proptest::collection::vec(piece(), 0..3).prop_map(|parts| format!("https://a.allowed.com/{}", parts.concat())),
        ],
        addresses in proptest::collection::vec(address(), 0..4),
    ) {
        let ear = Arc::new(Ear { addresses: addresses.clone(), ..Ear::default() });
        let door = EgressClient::with(careless(&url, 80), ear.clone(), ear.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let outcome = runtime.block_on(door.fetch(Request { timeout: Some(Duration::from_secs(5)), ..Request::get(&url) }));
        prop_assert!(outcome.is_err());
        let dialled = ear.dialled.lock().unwrap();
        for address in dialled.iter() {
            prop_assert_eq!(address_allowed(address.ip(), false), Ok(()), "{:?} dialled {}", &url, address);
        }
        let literal = url::Url::parse(&url).is_ok_and(|url| !matches!(url.host(), Some(url::Host::Domain(_))));
        let bad = addresses.iter().any(|address| address_allowed(*address, false).is_err());
        prop_assert!(literal || !bad || dialled.is_empty(), "{:?} dialled {:?} of {:?}", &url, &dialled, &addresses);
    }
}
