//! The registry from outside: what is combined, found, listed, and seen while it changes.

use super::{load, tool};
use async_trait::async_trait;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use steward_domain::{
    ApprovalMode, Check, Idempotency, Label, ServerName, ToolDefinition, ToolOrigin, UserId, Valid,
};
use steward_journal::clock::{Clock, SystemClock};
use steward_policy::{AdmittedCall, Caller};
use steward_tools::config::Configuration;
use steward_tools::registry::{Filter, Registry};
use steward_tools::{Context, Output, Registered, Result, Settings, Tool};

struct Nothing;

#[async_trait]
impl Tool for Nothing {
    async fn call(&self, _: &AdmittedCall, _: &Context) -> Result<Output> {
        Ok(Output::text("nothing"))
    }
}

fn definition(name: &str, version: &str, server: Option<&str>) -> Valid<ToolDefinition> {
    let value = json!({
        "id": "018f0000-0000-7000-8000-000000000001",
        "tool_name": name,
        "tool_version": version,
        "application_domain": "generic",
        "origin": if server.is_some() { "mcp" } else { "builtin" },
        "server": server,
        "description": "Does something that is worth describing in more than fifty characters.",
        "parameter_schema": { "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] },
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    });
    serde_json::from_value::<ToolDefinition>(value).unwrap().validate().unwrap()
}

fn registered(definition: Valid<ToolDefinition>) -> Registered {
    Registered {
        definition: Arc::new(definition),
        settings: Arc::new(Settings::default()),
        tool: Arc::new(Nothing),
    }
}

pub(super) fn builtin(name: &str, version: &str) -> Registered {
    registered(definition(name, version, None))
}

fn remote(server: &str, name: &str) -> Registered {
    registered(definition(&format!("{server}.{name}"), "1.0.0", Some(server)))
}

fn server(name: &str) -> ServerName {
    name.parse().unwrap()
}

/// crm and archive with their tools, two built in.
fn registry() -> Registry {
    let registry = Registry::new(vec![builtin("time.now", "1.0.0"), builtin("http.fetch", "1.0.0")]);
    let crm = ["find", "create", "delete"].map(|name| remote("crm", name)).to_vec();
    registry.set_server_tools(&server("crm"), crm);
    let archive = ["find", "store"].map(|name| remote("archive", name)).to_vec();
    registry.set_server_tools(&server("archive"), archive);
    registry
}

#[test]
fn names_are_resolved_corrected_or_refused() {
    let registry = registry();
    for (server_name, name, expected) in [
        ("", "crm.find", "crm.find"),
        ("", "time.now", "time.now"),
        ("", "create", "crm.create"),
        ("", "now", "time.now"),
        ("crm", "find", "crm.find"),
        ("crm", "crm.find", "crm.find"),
        ("archive", "create", "crm.create (archive has no tool create; crm.create is meant)"),
        ("archive", "crm.find", "crm.find (archive has no tool crm.find; crm.find is meant)"),
        ("warehouse", "store", "archive.store (warehouse has no tool store; archive.store is meant)"),
        ("", "warehouse.store", "archive.store (warehouse has no tool store; archive.store is meant)"),
        ("", "find", "find is offered by archive and crm: say which, as server.find"),
        ("", "warehouse.find", "find is offered by archive and crm: say which, as server.find"),
        ("warehouse", "find", "find is offered by archive and crm: say which, as server.find"),
        ("", "crm.fnid", "there is no tool crm.fnid. Did you mean crm.find?"),
        ("crm", "crate", "there is no tool crm.crate. Did you mean crm.create?"),
        ("", "strore", "there is no tool strore. Did you mean archive.store?"),
        ("", "weather", "there is no tool weather."),
        ("", "", "there is no tool ."),
    ] {
        let named = (!server_name.is_empty()).then(|| server(server_name));
        let found = match registry.resolve(named.as_ref(), name) {
            Ok(resolved) => {
                let name = resolved.registered.definition.tool_name.to_string();
                resolved.corrected.map_or(name.clone(), |corrected| format!("{name} ({corrected})"))
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{server_name} {name}");
    }
}

/// Whoever may not use a tool does not find it, and it is in nobody's way.
#[test]
fn callers_resolve_among_what_they_may_use() {
    let registry = registry();
    let caller = Caller {
        permissions: None,
        tools: Some(BTreeSet::from(["crm.*".to_owned()])),
        administrator: false,
        ..Caller::owner(UserId::new("u").unwrap())
    };
    let resolve = |name: &str| registry.resolve_for(&caller, None, name);
    assert_eq!(&*resolve("find").unwrap().registered.definition.tool_name, "crm.find");
    for hidden in ["archive.store", "store", "archive.stroe", "time.now"] {
        assert_eq!(resolve(hidden).unwrap_err().to_string(), format!("there is no tool {hidden}."));
    }
}

#[test]
fn versions_are_chosen_by_number_activity_and_pin() {
    let old = builtin("x.y", "1.9.0");
    let new = builtin("x.y", "1.10.0");
    let newest = (*builtin("x.y", "2.0.0").definition).clone().with(|d| d.is_active = false).unwrap();
    let registry = Registry::new(vec![old, new, registered(newest)]);
    let version = |wanted: Option<&str>| {
        let wanted = wanted.map(|wanted| wanted.parse().unwrap());
        registry.get(&tool("x.y"), wanted.as_ref()).map(|found| found.definition.tool_version.to_string())
    };
    assert_eq!(version(None).as_deref(), Some("1.10.0"));
    assert_eq!(version(Some("1.9.0")).as_deref(), Some("1.9.0"));
    assert_eq!(version(Some("3.0.0")), None);
    let off = registry.get(&tool("x.y"), Some(&"2.0.0".parse().unwrap())).unwrap();
    assert_eq!(off.settings.off.as_deref(), Some("switched off"));
    registry.apply(load(&[("tools.yaml", "tools: { x.y: { version: 1.9.0 } }\n")]));
    assert_eq!(version(None).as_deref(), Some("1.9.0"));
    registry.apply(load(&[("tools.yaml", "tools: { x.y: { version: 4.0.0 } }\n")]));
    assert_eq!(version(None).as_deref(), Some("1.10.0"));
    assert_eq!(
        registry.snapshot().problems,
        ["config/tools.yaml wants x.y in version 4.0.0, which is not there"]
    );
}

const TOOLS: &str = r"
environment: staging
categories:
  customers:
    permissions: [crm]
    global_config: { base: live, region: eu }
    tools:
      crm.create:
        permissions: [crm-write]
        approval: never
        timeout_seconds: 9
        retries: 2
        idempotency: keyed
        requires_validation: true
        fallback_tools: [archive.store]
        result_bytes: 10
        rate_limits: { per_minute: 3 }
        parameters: { region: us }
        examples: [{ request: a new customer }]
        environment_overrides: { staging: { base: rehearsal } }
      crm.delete: { enabled: false }
  closed: { enabled: false }
";
const SERVERS: &str = r"
servers:
  crm:
    transport: stdio
    config: { command: crm }
    category: customers
    permissions: [crm-server]
    approval: always
    timeout_seconds: 30
  archive:
    transport: stdio
    config: { command: archive }
    category: closed
";

#[test]
fn everything_that_holds_for_a_tool_is_combined() {
    let registry = registry();
    registry.apply(load(&[("tools.yaml", TOOLS), ("mcp_servers.yaml", SERVERS)]));
    let get = |name: &str| registry.get(&tool(name), None).unwrap();
    let labels = |names: &[&str]| names.iter().map(|name| Label::new(*name).unwrap()).collect::<Vec<_>>();

    let create = get("crm.create");
    assert_eq!(create.settings.permissions, labels(&["crm", "crm-write", "crm-server"]));
    assert_eq!(create.definition.approval, ApprovalMode::Never);
    assert_eq!(create.definition.timeout_seconds.get(), 9);
    assert_eq!(create.definition.idempotency, Idempotency::Keyed);
    assert!(create.definition.requires_validation);
    assert_eq!(create.definition.fallback_tools, [tool("archive.store")]);
    assert_eq!(create.settings.retries, 2);
    assert_eq!(create.settings.result_bytes, Some(10));
    assert_eq!(create.settings.rate_limits["per_minute"], 3);
    assert_eq!(json!(create.settings.parameters), json!({ "base": "rehearsal", "region": "us" }));
    assert_eq!(create.settings.examples[0].request, "a new customer");
    assert_eq!(create.settings.off, None);

    let find = get("crm.find");
    assert_eq!(find.settings.permissions, labels(&["crm", "crm-server"]));
    assert_eq!(find.definition.approval, ApprovalMode::Always);
    assert_eq!(find.definition.timeout_seconds.get(), 30);
    assert_eq!(json!(find.settings.parameters), json!({ "base": "live", "region": "eu" }));

    assert_eq!(get("crm.delete").settings.off.as_deref(), Some("switched off in config/tools.yaml"));
    assert_eq!(get("archive.store").settings.off.as_deref(), Some("switched off with its category closed"));
    // What is switched off is meant only when nothing else can be.
    let resolved = registry.resolve(None, "find").unwrap();
    assert_eq!(&*resolved.registered.definition.tool_name, "crm.find");

    registry.apply(load(&[(
        "mcp_servers.yaml",
        &SERVERS.replace("    category: customers", "    enabled: false").replace("    category: closed", ""),
    )]));
    assert_eq!(get("crm.find").settings.off.as_deref(), Some("switched off with its server crm"));
    assert_eq!(get("archive.store").settings.off, None);
    registry.apply(Default::default());
    assert_eq!(*get("crm.create").settings, Settings::default());
}

#[test]
fn lists_follow_their_filter() {
    let registry = registry();
    let domains =
        "domains:\n  sales:\n    display_name: S\n    description: S\n    mcp_tools: [crm.find, store]\n";
    registry.apply(load(&[("tools.yaml", TOOLS), ("mcp_servers.yaml", SERVERS), ("domains.yaml", domains)]));
    let names = |filter: &Filter<'_>| -> Vec<String> {
        registry.list(filter).iter().map(|tool| tool.definition.tool_name.to_string()).collect()
    };
    let (sales, customers, crm) = ("sales".parse().unwrap(), "customers".parse().unwrap(), server("crm"));
    let caller = Caller {
        permissions: Some(["crm", "crm-server"].map(|name| Label::new(name).unwrap()).into()),
        tools: None,
        administrator: false,
        ..Caller::owner(UserId::new("u").unwrap())
    };
    let all = Filter::default();
    assert_eq!(names(&all), ["crm.create", "crm.find", "http.fetch", "time.now"]);
    assert_eq!(names(&Filter { everything: true, ..all }).len(), 7);
    assert_eq!(names(&Filter { domain: Some(&sales), ..all }), ["crm.find"]);
    assert_eq!(
        names(&Filter { domain: Some(&sales), everything: true, ..all }),
        ["archive.store", "crm.find"]
    );
    assert_eq!(names(&Filter { category: Some(&customers), ..all }), ["crm.create", "crm.find"]);
    assert_eq!(names(&Filter { server: Some(&crm), ..all }), ["crm.create", "crm.find"]);
    assert_eq!(names(&Filter { origin: Some(ToolOrigin::Builtin), ..all }), ["http.fetch", "time.now"]);
    assert_eq!(names(&Filter { caller: Some(&caller), ..all }), ["crm.find", "http.fetch", "time.now"]);
}

#[test]
fn a_domain_names_all_tools_of_a_server_by_a_star() {
    let registry = registry();
    let domains = "domains:\n  sales:\n    display_name: S\n    description: S\n    mcp_tools: [\"crm.*\"]\n  \
        lost:\n    display_name: L\n    description: L\n    mcp_tools: [\"crm.x*\"]\n";
    registry.apply(load(&[("tools.yaml", TOOLS), ("mcp_servers.yaml", SERVERS), ("domains.yaml", domains)]));
    let sales = "sales".parse().unwrap();
    let filter = Filter { domain: Some(&sales), ..Filter::default() };
    let names: Vec<String> =
        registry.list(&filter).iter().map(|tool| tool.definition.tool_name.to_string()).collect();
    assert_eq!(names, ["crm.create", "crm.find"]);
    let problems = registry.snapshot().problems.join("\n");
    assert!(problems.contains("domain lost: nothing offers crm.x*"), "{problems}");
    assert!(!problems.contains("sales"), "{problems}");
}

/// S0's query and poll are one tool to whoever calls, unless the operator says otherwise.
#[test]
fn polling_pairs_are_found_by_name() {
    let registry = Registry::new(Vec::new());
    let genie = server("genie");
    let names =
        ["query_space_1", "poll_response_1", "query_space_2", "start_job", "poll_job", "start_", "poll_"];
    registry.set_server_tools(&genie, names.map(|name| remote("genie", name)).to_vec());
    let offered = || -> Vec<String> {
        registry.list(&Filter::default()).iter().map(|tool| tool.definition.tool_name.to_string()).collect()
    };
    assert_eq!(
        offered(),
        ["genie.poll_", "genie.query_space_1", "genie.query_space_2", "genie.start_", "genie.start_job"]
    );
    let poll = registry.get(&tool("genie.query_space_1"), None).unwrap().settings.poll.clone().unwrap();
    assert_eq!(poll.tool, tool("genie.poll_response_1"));
    assert_eq!(poll.carry, ["id"]);
    assert_eq!(registry.get(&tool("genie.query_space_2"), None).unwrap().settings.poll, None);
    // The second one is still there for whoever polls.
    assert!(registry.get(&tool("genie.poll_response_1"), None).is_some());

    // Settings for the second one make it a tool again; a pair may also be named by hand, without
    // the server.
    let tools = "tools:\n  genie.poll_job: {}\n  genie.query_space_2: { poll: { tool: poll_response_1 } }\n";
    registry.apply(load(&[("tools.yaml", tools)]));
    assert!(offered().contains(&"genie.poll_job".to_owned()));
    assert_eq!(registry.get(&tool("genie.start_job"), None).unwrap().settings.poll, None);
    let named = registry.get(&tool("genie.query_space_2"), None).unwrap().settings.poll.clone().unwrap();
    assert_eq!(named.tool, tool("genie.poll_response_1"));
}

#[test]
fn sources_replace_their_own_tools_only() {
    let registry = registry();
    let mut changed = registry.changed();
    changed.mark_unchanged();
    let before = *changed.borrow();
    registry.set_server_tools(&server("crm"), vec![remote("crm", "search")]);
    assert!(changed.has_changed().unwrap());
    assert_eq!(*changed.borrow_and_update(), before + 1);
    assert!(registry.get(&tool("crm.find"), None).is_none());
    assert!(registry.get(&tool("crm.search"), None).is_some());
    assert!(registry.get(&tool("archive.find"), None).is_some());
    let agent =
        (*builtin("writer", "1.0.0").definition).clone().with(|d| d.origin = ToolOrigin::SubAgent).unwrap();
    registry.set_agents("agents", vec![registered(agent)]);
    assert!(registry.known().tools.contains(&tool("writer")));
    registry.set_agents("agents", Vec::new());
    assert!(registry.get(&tool("writer"), None).is_none());
    registry.remove_server(&server("crm"));
    assert!(registry.get(&tool("crm.search"), None).is_none());
    assert_eq!(registry.snapshot().generation, before + 4);
    // The same name and version from elsewhere does not push the built-in one aside.
    registry.set_server_tools(&server("time"), vec![remote("time", "now")]);
    assert_eq!(registry.get(&tool("time.now"), None).unwrap().definition.origin, ToolOrigin::Builtin);
    assert_eq!(
        registry.snapshot().problems,
        ["time.now 1.0.0 is registered twice; the first one is used: rename one"]
    );
}

/// A writer exchanges two configurations and two lists of tools; readers see one or the other,
/// never half of each.
#[test]
fn readers_never_see_half_a_change() {
    let registry = Registry::new(Vec::new());
    let crm = server("crm");
    let of = |prefix: &str| (0..50).map(|n| remote("crm", &format!("{prefix}_{n}"))).collect::<Vec<_>>();
    let permit = |name: &str| {
        let servers = SERVERS.replace("permissions: [crm-server]", &format!("permissions: [{name}]"));
        load(&[("tools.yaml", "categories: { customers: {}, closed: {} }\n"), ("mcp_servers.yaml", &servers)])
    };
    let (one, two) = (permit("one"), permit("two"));
    registry.apply(one.clone());
    registry.set_server_tools(&crm, of("a"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = || {
            let mut last = 0;
            while !done.load(Ordering::Acquire) {
                let snapshot = registry.snapshot();
                assert!(snapshot.generation >= last, "generations never go back");
                last = snapshot.generation;
                let prefixes: BTreeSet<&str> =
                    snapshot.tools.keys().filter_map(|name| name.split('_').next()).collect();
                assert_eq!((snapshot.tools.len(), prefixes.len()), (50, 1));
                let needs: BTreeSet<String> = snapshot
                    .list(&Filter::default())
                    .map(|entry| format!("{:?}", entry.registered.settings.permissions))
                    .collect();
                assert_eq!(needs.len(), 1, "one configuration holds for all");
            }
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        for round in 0..40 {
            registry.set_server_tools(&crm, of(if round % 2 == 0 { "b" } else { "a" }));
            registry.apply(if round % 2 == 0 { two.clone() } else { one.clone() });
        }
        done.store(true, Ordering::Release);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

/// Ten thousand tools: a change is built in no time, and a look takes less than that.
#[test]
fn ten_thousand_tools_are_quick() {
    let registry = Registry::new(Vec::new());
    let clock = SystemClock::default();
    let tools = |server: usize| {
        let name = format!("s{server}");
        (0..100).map(|n| remote(&name, &format!("tool_{n}"))).collect::<Vec<_>>()
    };
    for n in 0..100 {
        registry.set_server_tools(&server(&format!("s{n}")), tools(n));
    }
    assert_eq!(registry.snapshot().tools.len(), 10_000);
    let measure = |what: &str, run: &dyn Fn()| {
        let times = (0..5).map(|_| {
            let start = clock.monotonic();
            run();
            clock.monotonic() - start
        });
        let best = times.min().unwrap();
        println!("{what}: {best:?}");
        best
    };
    let fresh = tools(7);
    let one = measure("one server's list", &|| _ = registry.set_server_tools(&server("s7"), fresh.clone()));
    let servers: String = (0..100)
        .map(|n| {
            format!(
                "  s{n}: {{ transport: stdio, config: {{ command: x }}, category: c, permissions: [p] }}\n"
            )
        })
        .collect();
    let servers = format!("servers:\n{servers}");
    let configured = |tools: &str| load(&[("tools.yaml", tools), ("mcp_servers.yaml", &servers)]);
    let plain = configured("categories: { c: {} }\n");
    let guarded = configured("categories: { c: { permissions: [guard] } }\n");
    let limited = configured("categories: { c: { tools: { s1.tool_1: { retries: 1 } } } }\n");
    let turn = AtomicBool::new(false);
    let exchange = |other: &Configuration| {
        let next = if turn.fetch_xor(true, Ordering::Relaxed) { &plain } else { other };
        registry.apply(next.clone());
    };
    registry.apply(plain.clone());
    let single = measure("one tool's settings", &|| exchange(&limited));
    // From here on each turn changes every tool.
    registry.apply(plain.clone());
    turn.store(false, Ordering::Relaxed);
    let all = measure("a setting of every tool", &|| exchange(&guarded));
    let name = tool("s50.tool_50");
    let get = measure("1000 looks", &|| {
        (0..1000).for_each(|_| assert!(registry.get(&name, None).is_some()));
    });
    let unknown = measure("an unknown name", &|| drop(registry.resolve(None, "s50.toool_50").unwrap_err()));
    // Far above what was measured (30 to 75 ms for one source, on a busy machine): this catches a
    // change of kind only.
    assert!(one.as_millis() < 1000 && single.as_millis() < 1000, "{one:?} {single:?}");
    assert!(all.as_millis() < 3000, "{all:?}");
    assert!(get.as_millis() < 100 && unknown.as_millis() < 3000, "{get:?} {unknown:?}");
}
