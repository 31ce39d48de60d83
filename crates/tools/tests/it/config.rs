//! The configuration: what is read, what is refused and where, and what happens when files change
//! under our hands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests fail loudly")]

use serde_json::json;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_domain::{Environment, Label, ToolName, UserId};
use steward_policy::Caller;
use steward_tools::config::{BuiltinNames, Change, Configuration, Source, Watcher, schemas};
use steward_tools::registry::Registry;
use tempfile::TempDir;

#[path = "config/mistakes.rs"]
mod mistakes;
#[path = "config/registry.rs"]
mod registry;

/// A home with these files in `config`.
pub(crate) fn home(files: &[(&str, &str)]) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("config")).unwrap();
    for (name, text) in files {
        std::fs::write(home.path().join("config").join(name), text).unwrap();
    }
    home
}

fn load(files: &[(&str, &str)]) -> Configuration {
    Configuration::load(home(files).path()).unwrap_or_else(|problems| panic!("{problems}"))
}

pub(crate) fn tool(name: &str) -> ToolName {
    name.parse().unwrap()
}

fn repository() -> std::path::PathBuf {
    Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/tools")).join("../..")
}

/// The schemas in `docs/schemas/config` are those of the code; `STEWARD_BLESS=1` writes them anew.
#[test]
fn published_config_schemas_are_current() {
    for (name, schema) in schemas() {
        let path = repository().join(format!("docs/schemas/config/{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("STEWARD_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let advice = "run STEWARD_BLESS=1 cargo test -p steward-tools config_schemas";
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{advice}");
    }
}

/// The examples are right by the reader and by the published schemas, and say what their comments
/// say.
#[test]
fn examples_are_right() {
    let examples = repository().join("examples/config");
    let mut files = Vec::new();
    for (name, schema) in schemas() {
        let text = std::fs::read_to_string(examples.join(format!("{name}.yaml"))).unwrap();
        let value: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let wrong: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        files.push((format!("{name}.yaml"), text));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let home = home(&files);
    let known = BuiltinNames {
        tools: ["slack.history", "slack.post"].map(tool).into_iter().collect(),
        categories: Default::default(),
    };
    let source = Source { known: Some(known), ..Source::of(home.path()) };
    let configuration = source.load().unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(configuration.environment, Environment::Production);
    assert_eq!(configuration.servers.len(), 3);
    assert_eq!(configuration.domains.len(), 2);
    assert_eq!(configuration.laid().len(), 5);
}

#[test]
fn no_files_mean_nothing_configured() {
    assert_eq!(load(&[]), Configuration::default());
    assert_eq!(load(&[("tools.yaml", "# nothing yet\n"), ("domains.yaml", "")]), Configuration::default());
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(Configuration::load(empty.path()).unwrap(), Configuration::default());
}

/// A list and a mapping, YAML and JSON: the same thing.
#[test]
fn every_spelling_means_the_same() {
    let list = load(&[(
        "tools.yaml",
        "categories:\n  - name: a\n    tools:\n      x.y: { tool_name: x.y, retries: 1 }\n  - name: b\n",
    )]);
    let map = load(&[("tools.yml", "categories:\n  a:\n    tools:\n      x.y: { retries: 1 }\n  b:\n")]);
    let json =
        json!({ "categories": { "a": { "tools": { "x.y": { "retries": 1 } } }, "b": { "name": "b" } } });
    let json = load(&[("tools.json", &json.to_string())]);
    assert_eq!(list, map);
    assert_eq!(list, json);
    let servers = load(&[(
        "mcp_servers.yaml",
        "servers:\n  time: { transport: stdio, config: { command: mcp-server-time } }\n",
    )]);
    assert_eq!(servers.servers.keys().map(|name| name.as_str()).collect::<Vec<_>>(), ["time"]);
}

/// Category, tool, environment: the later one wins; settings replace, parameters and limits are
/// changed one by one.
#[test]
fn environments_change_settings_and_parameters() {
    let text = r"
categories:
  c:
    global_config: { base: live, region: eu }
    tools:
      x.y:
        retries: 1
        parameters: { limit: 100, depth: 2 }
        rate_limits: { per_minute: 60, per_day: 1000 }
        approval: always
        environment_overrides:
          development: { limit: 5, enabled: false }
          staging:
            base: rehearsal
            parameters: { depth: 9 }
            rate_limits: { per_minute: 6 }
            approval: never
            retries: 3
";
    for (environment, expected) in [
        ("development", json!([false, { "limit": 5, "depth": 2 }, 60, "always", 1])),
        ("staging", json!([true, { "limit": 100, "depth": 9, "base": "rehearsal" }, 6, "never", 3])),
        ("production", json!([true, { "limit": 100, "depth": 2 }, 60, "always", 1])),
    ] {
        let text = format!("environment: {environment}\n{text}");
        let configuration = load(&[("tools.yaml", &text)]);
        let settings = configuration.laid().remove(&tool("x.y")).unwrap().settings;
        let found = json!([
            settings.enabled,
            settings.parameters,
            settings.rate_limits["per_minute"],
            settings.approval,
            settings.retries,
        ]);
        assert_eq!(found, expected, "{environment}");
        assert_eq!(settings.rate_limits["per_day"], 1000, "{environment}");
    }
}

const OPEN: &str = "categories:\n  c:\n    tools:\n      time.now: {}\n";
const CLOSED: &str = "categories:\n  c:\n    permissions: [clock]\n    tools:\n      time.now: {}\n";
const WRONG: &str = "categories:\n  c:\n    permisions: [clock]\n";

/// Waits for a change that fits, for at most ten seconds.
async fn wait_for(watcher: &Watcher, fits: impl FnMut(&Option<Change>) -> bool) -> Change {
    let mut changes = watcher.changes();
    let found = tokio::time::timeout(Duration::from_secs(10), changes.wait_for(fits)).await;
    found.expect("the change is seen").unwrap().clone().unwrap()
}

/// A generation that is in force.
fn applied(generation: u64) -> impl FnMut(&Option<Change>) -> bool {
    move |change| matches!(change, Some(Change::Applied { generation: found, .. }) if *found == generation)
}

/// Whoever may hold nothing sees the tool or not, at the very next look.
fn visible(registry: &Registry) -> bool {
    let caller = Caller {
        permissions: Some(Default::default()),
        tools: None,
        administrator: false,
        ..Caller::owner(UserId::new("u").unwrap())
    };
    let found = registry.get(&tool("time.now"), None).unwrap();
    caller.sees(&found.definition.tool_name, &found.settings.permissions)
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_followed_and_bad_ones_refused() {
    let home = home(&[("tools.yaml", OPEN)]);
    let file = home.path().join("config/tools.yaml");
    let registry = Registry::new(vec![registry::builtin("time.now", "1.0.0")]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let (follower, heard) = (registry.clone(), told.clone());
    let watcher = Watcher::start(Source::of(home.path()), move |change| {
        match change {
            Change::Applied { configuration, .. } => drop(follower.apply((**configuration).clone())),
            Change::Refused { problems, .. } => heard.lock().unwrap().push(problems.to_string()),
        };
    })
    .unwrap();
    assert_eq!(watcher.generation(), 1);
    assert!(visible(&registry));

    // Written in place.
    std::fs::write(&file, CLOSED).unwrap();
    wait_for(&watcher, applied(2)).await;
    assert!(!visible(&registry));

    // Renamed over, as editors do.
    let beside = home.path().join("config/.tools.yaml.swp");
    std::fs::write(&beside, OPEN).unwrap();
    std::fs::rename(&beside, &file).unwrap();
    wait_for(&watcher, applied(3)).await;
    assert!(visible(&registry));

    // A mistake changes nothing and is told with its place.
    std::fs::write(&file, WRONG).unwrap();
    let refused = wait_for(&watcher, |change| matches!(change, Some(Change::Refused { .. }))).await;
    let Change::Refused { generation, problems } = refused else { unreachable!() };
    assert_eq!(generation, 3);
    assert!(
        problems.to_string().contains("tools.yaml:3: category `c`: `permisions` is no known field"),
        "{problems}"
    );
    assert!(told.lock().unwrap().iter().any(|told| told.contains("did you mean `permissions`?")));
    assert!(visible(&registry));
    assert_eq!(watcher.generation(), 3);

    // Put right again as it was: no new generation, but the problems are gone.
    std::fs::write(&file, OPEN).unwrap();
    wait_for(&watcher, applied(3)).await;

    // By hand it holds when the call comes back.
    std::fs::write(&file, CLOSED).unwrap();
    watcher.reload().unwrap();
    assert!(!visible(&registry));
    assert_eq!(watcher.generation(), 4);
    assert_eq!(watcher.reload().unwrap(), 4);
}

/// A home without the folder, a folder that comes, is exchanged, and loses a file.
#[tokio::test(flavor = "multi_thread")]
async fn the_folder_may_come_and_go() {
    let home = tempfile::tempdir().unwrap();
    let watcher = Watcher::start(Source::of(home.path()), |_| {}).unwrap();
    let folder = home.path().join("config");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("tools.yaml"), OPEN).unwrap();
    wait_for(&watcher, applied(2)).await;
    std::fs::rename(&folder, home.path().join("old")).unwrap();
    wait_for(&watcher, applied(3)).await;
    assert_eq!(*watcher.current(), Configuration::default());
    std::fs::rename(home.path().join("old"), &folder).unwrap();
    wait_for(&watcher, applied(4)).await;
    std::fs::write(folder.join("tools.yaml"), CLOSED).unwrap();
    wait_for(&watcher, applied(5)).await;
    let category = watcher.current().tools.categories.values().next().unwrap().clone();
    assert_eq!(category.permissions, [Label::new("clock").unwrap()]);
    std::fs::remove_file(folder.join("tools.yaml")).unwrap();
    wait_for(&watcher, applied(6)).await;
    assert!(watcher.current().tools.categories.is_empty());
}

/// A start with wrong files is refused; a watcher that is dropped tells nothing more.
#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_ends_with_its_handle() {
    let home = home(&[("tools.yaml", WRONG)]);
    assert!(Watcher::start(Source::of(home.path()), |_| {}).is_err());
    std::fs::write(home.path().join("config/tools.yaml"), OPEN).unwrap();
    let owned = Arc::new(());
    let held = owned.clone();
    let watcher = Watcher::start(Source::of(home.path()), move |_| drop(held.clone())).unwrap();
    let mut changes = watcher.changes();
    drop(watcher);
    // Every part that could still run holds the sender: it is gone when they are.
    let gone = async { while changes.changed().await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(10), gone).await.expect("nothing is left running");
    assert_eq!(Arc::strong_count(&owned), 1);
}
