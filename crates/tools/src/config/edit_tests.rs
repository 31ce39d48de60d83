//! Tests that adding and removing servers leaves the rest of the file unchanged.

use super::*;
use serde_json::json;
use steward_domain::Check as _;

fn server(name: &str) -> Valid<McpServer> {
    let server: McpServer = serde_json::from_value(json!({
        "name": name, "transport": "stdio", "config": { "command": "npx", "args": ["-y", "a: b \
            #c"], "env": { "KEY": "${K}" } },
    }))
    .unwrap();
    server.validate().unwrap()
}

#[test]
fn added_server_parses_and_comments_stay() {
    let home = tempfile::tempdir().unwrap();
    add_server(home.path(), &server("one")).unwrap();
    let path = home.path().join(FILE);
    let commented = std::fs::read_to_string(&path).unwrap().replace("servers:", "# mine\nservers:");
    std::fs::write(&path, commented).unwrap();
    add_server(home.path(), &server("two")).unwrap();
    let known = Configuration::load(home.path()).unwrap();
    assert_eq!(known.servers.values().cloned().collect::<Vec<_>>(), [server("one"), server("two")]);
    assert!(matches!(add_server(home.path(), &server("two")), Err(Error::Config { .. })));
    remove_server(home.path(), &"one".parse().unwrap()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("# mine") && !text.contains("one"), "{text}");
    remove_server(home.path(), &"two".parse().unwrap()).unwrap();
    assert!(Configuration::load(home.path()).unwrap().servers.is_empty());
    assert!(matches!(remove_server(home.path(), &"two".parse().unwrap()), Err(Error::UnknownServer { .. })));
}

#[test]
fn file_in_unsupported_style_is_unchanged() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("config")).unwrap();
    let text =
        r#"{"servers": [{"name": "one", "transport": "http", "config": {"url": "http://127.0.0.1:1/mcp"}}]}"#;
    std::fs::write(home.path().join(FILE), text).unwrap();
    assert!(add_server(home.path(), &server("two")).is_err());
    assert!(remove_server(home.path(), &"one".parse().unwrap()).is_err());
    assert_eq!(std::fs::read_to_string(home.path().join(FILE)).unwrap(), text);
}
