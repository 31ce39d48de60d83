//! Mistakes people make, each with the line and the words they get. One row is one mistake and
//! gives exactly one problem.

use super::{home, tool};
use steward_tools::config::{BuiltinNames, Problems, Source};

fn problems(files: &[(&str, &str)]) -> Problems {
    let home = home(files);
    let known = BuiltinNames {
        tools: ["time.now", "http.fetch"].map(tool).into_iter().collect(),
        categories: ["clock_tools".parse().unwrap()].into_iter().collect(),
    };
    let source = Source { known: Some(known), ..Source::of(home.path()) };
    source.load().expect_err(&format!("{files:?}"))
}

/// `tools.yaml:3: what it is`, one per line.
fn told(problems: &Problems) -> Vec<String> {
    let short = |problem: &steward_tools::config::Problem| {
        let file = problem.file.file_name().unwrap().to_string_lossy();
        format!("{file}:{}: {}", problem.line, problem.problem)
    };
    problems.iter().map(short).collect()
}

const TOOLS: &[(&str, &str)] = &[
    ("categorys: []\n", "tools.yaml:1: `categorys` is no known section; did you mean `categories`?"),
    ("- a\n", "tools.yaml:1: must be a mapping that begins with `environment:` or `categories:` or `tools:`"),
    ("categories: 3\n", "tools.yaml:1: `categories` must be a list, or a mapping of names"),
    (
        "environment: moon\n",
        "tools.yaml:1: `environment`: `moon` is no known value. Known are development, staging",
    ),
    ("categories:\n  - enabled: true\n", "tools.yaml:2: category 1: `name` is missing: add it"),
    (
        "categories:\n  - name: Slack Tools\n",
        "tools.yaml:2: category `Slack Tools`: `name`: CategoryName must match",
    ),
    (
        "categories:\n  a:\n    enabld: true\n",
        "tools.yaml:3: category `a`: `enabld` is no known field; did you mean `enabled`?",
    ),
    (
        "categories:\n  a:\n    enabled: maybe\n",
        "tools.yaml:3: category `a`: `enabled`: found string \"maybe\", but it must be true or false",
    ),
    (
        "categories:\n  a:\n    permissions: read\n",
        "tools.yaml:3: category `a`: `permissions`: found string \"read\", but it must be a list",
    ),
    (
        "categories:\n  a:\n    permissions:\n      - read\n      - 7\n",
        "tools.yaml:5: category `a`: `permissions[1]`: found integer `7`, but it must be a text: put it in quotes",
    ),
    (
        "categories:\n  a:\n    name: b\n",
        "tools.yaml:3: category `a`: `name` says `b`: leave it out or write the same",
    ),
    (
        "categories:\n  - name: a\n  - name: a\n",
        "tools.yaml:3: category `a` is already in line 2: keep one of the two",
    ),
    (
        "categories:\n  a: {}\n  a: {}\n",
        "tools.yaml:3: the key `a` stands here for the second time: keep one of the two",
    ),
    ("tools:\n  - time.now\n", "tools.yaml:1: `tools` must be a mapping"),
    (
        "tools:\n  time.now: fast\n",
        "tools.yaml:2: tool `time.now`: found string \"fast\", but it must be a mapping",
    ),
    (
        "tools:\n  time.now:\n    tool_name: http.fetch\n",
        "tools.yaml:3: tool `time.now`: `tool_name` says `http.fetch`",
    ),
    ("tools:\n  time now: {}\n", "tools.yaml:2: tool `time now`: `tool_name`: ToolName must match"),
    (
        "tools:\n  time.now:\n    timeout: 3\n",
        "tools.yaml:3: tool `time.now`: `timeout` is no known field; did you mean `timeout_seconds`?",
    ),
    (
        "tools:\n  time.now:\n    timeout_seconds: 301\n",
        "tools.yaml:3: tool `time.now`: `timeout_seconds`: ToolTimeout must be between 1 and 300, found \"301\"",
    ),
    (
        "tools:\n  time.now:\n    timeout_seconds: \"3\"\n",
        "tools.yaml:3: tool `time.now`: `timeout_seconds`: found string \"3\", but it must be a whole number",
    ),
    (
        "tools:\n  time.now:\n    retries: 4\n",
        "tools.yaml:3: tool `time.now`: `retries` must be between 0 and 3, found \"4\"",
    ),
    (
        "tools:\n  time.now:\n    retries: -1\n",
        "tools.yaml:3: tool `time.now`: `retries`: found integer `-1`, but it must be a whole number that is \
            not negative",
    ),
    (
        "tools:\n  time.now:\n    rate_limits:\n      per_minute: 0\n",
        "tools.yaml:4: tool `time.now`: `rate_limits.per_minute` must be positive",
    ),
    (
        "tools:\n  time.now:\n    rate_limits:\n      per_blink: 1\n",
        "tools.yaml:4: tool `time.now`: `rate_limits.per_blink` must be per_second, per_minute",
    ),
    (
        "tools:\n  time.now:\n    approval: sometimes\n",
        "tools.yaml:3: tool `time.now`: `approval`: `sometimes` is no known value. Known are never, always, \
            when_untrusted",
    ),
    (
        "tools:\n  time.now:\n    idempotency: readonly\n",
        "tools.yaml:3: tool `time.now`: `idempotency`: `readonly` is no known value; did you mean `read_only`?",
    ),
    (
        "tools:\n  time.now:\n    version: \"1.2\"\n",
        "tools.yaml:3: tool `time.now`: `version`: SemanticVersion must",
    ),
    (
        "tools:\n  time.now:\n    result_bytes: 0\n",
        "tools.yaml:3: tool `time.now`: `result_bytes` must be positive",
    ),
    (
        "tools:\n  time.now:\n    fallback_tools: [time.now]\n",
        "tools.yaml:3: tool `time.now`: `fallback_tools` must not contain the tool itself",
    ),
    (
        "tools:\n  time.now:\n    fallback_tools:\n      - http.fetsh\n",
        "tools.yaml:4: tool `time.now` as a fallback: there is no tool `http.fetsh`; did you mean `http.fetch`?",
    ),
    (
        "tools:\n  time.now:\n    examples:\n      - request: \" \"\n",
        "tools.yaml:4: tool `time.now`: `examples[0].request` must say something",
    ),
    (
        "tools:\n  time.now:\n    examples:\n      - arguments: {}\n",
        "tools.yaml:4: tool `time.now`: `examples[0]`: `request` is missing: add it",
    ),
    (
        "tools:\n  time.now:\n    poll:\n      tool: time.now\n",
        "tools.yaml:4: tool `time.now`: `poll.tool` must be another tool",
    ),
    (
        "tools:\n  time.now:\n    environment_overrides:\n      moon: {}\n",
        "tools.yaml:4: tool `time.now`: `environment_overrides.moon`: `moon` is no known value",
    ),
    (
        "tools:\n  time.now:\n    parameters: { limit: 5 }\n    environment_overrides:\n      staging:\n        limt: 3\n",
        "tools.yaml:6: tool `time.now` in staging: `limt` is neither a setting nor a parameter of the tool; \
            did you mean `limit`?",
    ),
    (
        "tools:\n  time.now:\n    environment_overrides:\n      staging:\n        zone: UTC\n",
        "tools.yaml:5: tool `time.now` in staging: `zone` is neither a setting nor a parameter of the tool: \
            add it to `parameters`",
    ),
    (
        "tools:\n  time.now:\n    environment_overrides:\n      staging:\n        retries: 9\n",
        "tools.yaml:5: tool `time.now` in staging: `retries` must be between 0 and 3",
    ),
    (
        "tools:\n  time.nwo: {}\n",
        "tools.yaml:2: tool `time.nwo`: there is no tool `time.nwo`; did you mean `time.now`?",
    ),
    (
        "tools:\n  weather.today: {}\n",
        "tools.yaml:2: tool `weather.today`: there is no tool `weather.today`: it is not built in",
    ),
    (
        "categories:\n  a:\n    tools:\n      time.now: {}\ntools:\n  time.now: {}\n",
        "tools.yaml:6: tool `time.now` is set in two places of this file",
    ),
    (
        "tools:\n  time.now:\n    fallback_tools: [http.fetch]\n  http.fetch:\n    fallback_tools: [time.now]\n",
        "tools.yaml:5: tool `http.fetch`: its fallbacks go in a circle: http.fetch -> time.now -> \
            http.fetch. Take one of them out",
    ),
    ("tools:\n  time.now: {\n", "tools.yaml:"),
    ("tools:\n\ttime.now: {}\n", "tools.yaml:2: "),
];

const SERVERS: &[(&str, &str)] = &[
    ("server: []\n", "mcp_servers.yaml:1: `server` is no known section; did you mean `servers`?"),
    (
        "servers:\n  - name: a\n    transport: stdio\n",
        "mcp_servers.yaml:2: server `a`: `config` is missing: add it",
    ),
    (
        "servers:\n  - name: a\n    transport: pigeon\n    config: { command: x }\n",
        "mcp_servers.yaml:3: server `a`: `transport`: `pigeon` is no known value. Known are stdio, sse, http",
    ),
    (
        "servers:\n  - name: a\n    transport: stdio\n    config:\n      url: http://127.0.0.1\n      command: x\n",
        "mcp_servers.yaml:5: server `a`: `config.url` is not used with stdio",
    ),
    (
        "servers:\n  - name: a\n    transport: http\n    config:\n      url: ftp://x\n",
        "mcp_servers.yaml:5: server `a`: `config.url` must be an http or https address",
    ),
    (
        "servers:\n  - name: a\n    transport: stdio\n    config:\n      command: x\n      env:\n        PORT: 80\n",
        "mcp_servers.yaml:7: server `a`: `config.env.PORT`: found integer `80`, but it must be a text: put \
            it in quotes",
    ),
    (
        "servers:\n  - name: a\n    transport: stdio\n    config: { command: x }\n  - name: \
            a\n    transport: stdio\n    config: { command: y }\n",
        "mcp_servers.yaml:5: server `a` is already in line 2: keep one of the two",
    ),
    (
        "servers:\n  - name: a\n    transport: stdio\n    config: { command: x }\n    category: clok_tools\n",
        "mcp_servers.yaml:5: server `a`: there is no category `clok_tools`; did you mean `clock_tools`?",
    ),
    (
        "servers:\n  - name: a\n    transport: stdio\n    config: { command: x }\n    category: other\n",
        "mcp_servers.yaml:5: server `a`: there is no category `other`: add it to `categories` of tools.yaml",
    ),
    (
        "servers:\n  - name: a\n    transport: http\n    config:\n      url: http://127.0.0.1\n      auth: { \
            type: magic }\n",
        "mcp_servers.yaml:6: server `a`: `config.auth",
    ),
];

const DOMAINS: &[(&str, &str)] = &[
    (
        "domains:\n  - name: Sales Figures\n    display_name: S\n    description: S\n    data_sources: [a.csv]\n",
        "domains.yaml:2: domain `Sales Figures`: `name`: DomainName must match",
    ),
    (
        "domains:\n  - name: sales\n    display_name: S\n    description: S\n",
        "domains.yaml:2: domain `sales`: `mcp_tools` or data_sources must name at least one",
    ),
    (
        "domains:\n  - name: sales\n    display_name: S\n    data_sources: [a.csv]\n",
        "domains.yaml:2: domain `sales`: `description` is missing: add it",
    ),
    (
        "domains:\n  sales:\n    display_name: S\n    description: S\n    data_sources: \
            [a.csv]\n    related_domains:\n      - stock\n",
        "domains.yaml:7: domain `sales`: there is no domain `stock`: add it, or take it out",
    ),
    (
        "domains:\n  sales:\n    display_name: S\n    description: S\n    mcp_tools:\n      - crm.find\n",
        "domains.yaml:6: domain `sales`: there is no tool `crm.find`",
    ),
    (
        "domains:\n  sales:\n    display_name: S\n    description: S\n    mcp_tools:\n      - \
            time.now\n      - time.now\n",
        "domains.yaml:5: domain `sales`: `mcp_tools` must be unique",
    ),
];

#[test]
fn every_mistake_has_its_line() {
    let files = [("tools.yaml", TOOLS), ("mcp_servers.yaml", SERVERS), ("domains.yaml", DOMAINS)];
    let mut wrong = Vec::new();
    for (file, rows) in files {
        for (text, expected) in rows {
            let told = told(&problems(&[(file, text)]));
            if !matches!(told.as_slice(), [one] if one.starts_with(expected)) {
                wrong.push(format!("{text}\nexpected {expected}\nfound    {}", told.join("\n         ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Everything that is wrong in all three files is told at once, and one mistake is told once.
#[test]
fn all_problems_of_all_files_at_once() {
    let tools = "
categories:
  a:
    enabld: true
    permissions: [1, 2]
    tools:
      crm.find:
        retries: 9
        timeout: 3
        approval: often
      crm.list:
        rate_limits: { per_minute: 0, per_blink: 1 }
tools:
  crmm.drop: {}
surprise: 1
";
    let servers = "
servers:
  - name: crm
    transport: stdio
    config: { command: 1, args: x }
    category: b
  - transport: http
";
    let domains = "
domains:
  - name: sales
    display_name: 3
    description: Sales
    mcp_tools: [crm.find]
    related_domains: [nowhere]
  - name: stock
    display_name: Stock
    description: Stock
    mcp_tools: [nothing.there, crm.find]
    related_domains: [sales, nowhere]
";
    let all = problems(&[("tools.yaml", tools), ("mcp_servers.yaml", servers), ("domains.yaml", domains)]);
    insta::assert_snapshot!(told(&all).join("\n"));
}

/// A file that cannot be read at all does not make the others look wrong.
#[test]
fn a_broken_file_is_not_held_against_the_others() {
    let servers = "servers: [\n";
    let domains = "domains:\n  s:\n    display_name: S\n    description: S\n    mcp_tools: [crm.find]\n";
    let told = told(&problems(&[("mcp_servers.yaml", servers), ("domains.yaml", domains)]));
    assert!(matches!(told.as_slice(), [one] if one.starts_with("mcp_servers.yaml:")), "{told:?}");
}

#[test]
fn two_files_for_one_thing_are_one_too_many() {
    let told = told(&problems(&[("tools.yaml", ""), ("tools.json", "{}")]));
    assert!(
        matches!(told.as_slice(), [one] if one.ends_with("tools.json is there as well: keep one of the two"))
    );
}

/// With a server of that name the tool may come; the server's name may also be the mistake.
#[test]
fn tools_of_servers_are_plausible() {
    let servers = "servers:\n  crm: { transport: stdio, config: { command: x } }\n";
    let tools = "tools:\n  crm.find: { fallback_tools: [cmr.find] }\n";
    let told = told(&problems(&[("mcp_servers.yaml", servers), ("tools.yaml", tools)]));
    assert_eq!(
        told,
        ["tools.yaml:2: tool `crm.find` as a fallback: there is no server `cmr`; did you mean `crm.find`?"]
    );
}
