//! Setting up, checking, and configuration errors.

use crate::Bench;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_new_home_is_healthy_and_init_keeps_what_is_there() {
    let bench = Bench::new();
    assert!(bench.ok("doctor").contains("steward init"), "a missing home is no failure");
    bench.ok("init");
    let mode = |name: &str| fs::metadata(bench.home().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("keys"), mode("keys/journal.key")), (0o700, 0o600));
    let settings = bench.home().join("config/steward.yaml");
    fs::write(&settings, "user: carol\n").unwrap();
    bench.ok("init");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "user: carol\n");
    let report = bench.json("doctor");
    assert_eq!(report["ok"], true, "{report:#}");
    bench.ok("config check");
    assert!(bench.ok("config show").contains("user: \"alice\""), "the environment stands above the file");
}

#[test]
fn every_wrong_file_is_named_with_line_and_reason() {
    let bench = Bench::new();
    bench.ok("init");
    let agent =
        "name: writer\nrole: Writes\nsystem_prompt: Write.\ntools: [a, a]\nllm_config:\n  model: local\n";
    let looping = "name: loop\npatterns: [react]\nentry_point: a\nnodes:\n  a: {type: agent, agent: x}\n  b: \
        {type: agent, agent: x}\nedges:\n  - {from: a, to: b}\n  - {from: b, to: a}\n";
    for (file, text, line, reason) in [
        ("config/steward.yaml", "store: sqlite:state.db\nusr: x\n", 2, "usr"),
        ("config/steward.yaml", "user: ''\n", 1, "UserId must have 1 to 255 characters"),
        (
            "config/retention_policy.yaml",
            "default_days: 7\nby_status:\n  sleeping: 3\n",
            3,
            "must be completed, failed, cancelled or rejected",
        ),
        ("config/retention_policy.yaml", "default_days: -1\n", 1, "default_days"),
        (
            "config/mcp_servers.yaml",
            "servers:\n  - name: time\n    transport: stdio\n    config: {url: x}\n",
            4,
            "config",
        ),
        ("config/domains.yaml", "domains:\n  - name: Sales Figures\n", 2, "DomainName must match"),
        ("agents/writer.yaml", agent, 4, "must be unique"),
        ("agents/other.yaml", &agent.replace("[a, a]", "[a]"), 1, "must be that of the file"),
        ("workflows/loop.yaml", looping, 7, "a -> b -> a"),
        ("workflows/broken.json", "{\"name\": \"broken\",\n \"nodes\": [}", 2, ""),
    ] {
        let path = bench.home().join(file);
        let before = fs::read(&path).ok();
        fs::write(&path, text).unwrap();
        let outcome = bench.run("config check");
        let expected = format!("{file}:{line}: ");
        assert_eq!(outcome.code, 2, "{file}");
        assert!(
            outcome.out.contains(&expected) && outcome.out.contains(reason),
            "{expected}{reason}\n{}",
            outcome.out
        );
        match before {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    bench.ok("config check");
}

#[test]
fn a_broken_home_is_explained_and_left_as_it_is() {
    let bench = Bench::new();
    bench.worked();
    let database = bench.home().join("state.db");
    let good = fs::read(&database).unwrap();

    fs::write(&database, "not a database at all, just a long enough text to be looked at".repeat(20))
        .unwrap();
    let _ = fs::remove_file(bench.home().join("state.db-wal"));
    bench.fails("task list", 2, "STO003");
    assert!(bench.run("doctor").out.contains("FAIL store"));
    fs::write(&database, &good).unwrap();

    let key = bench.home().join("keys/journal.key");
    let kept = fs::read_to_string(&key).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    bench.fails("audit verify", 2, "JRN008");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&key, "nonsense").unwrap();
    bench.fails("audit verify", 2, "JRN009");
    let other = Bench::new();
    other.ok("init");
    fs::copy(other.home().join("keys/journal.key"), &key).unwrap();
    bench.fails("audit verify", 2, "STO007");
    fs::write(&key, kept).unwrap();
    bench.ok("audit verify");

    bench.fails("task list --store mysql://x:secret@y", 2, "STO016");
    assert!(!bench.run("task list --store mysql://x:secret@y").err.contains("secret"));
    bench.fails("task list --store postgres://nobody@127.0.0.1:1/none", 4, "STO009");
    fs::write(bench.path("file"), "").unwrap();
    bench.fails("task list --home file/inside", 4, "CLI002");
}

/// Root may write anywhere, so the program runs as user `nobody` when the tests run as root.
#[test]
fn a_read_only_home_is_named_and_nothing_is_lost() {
    let bench = Bench::new();
    let task = bench.worked();
    bench.ok("audit verify");
    let program = bench.path("steward");
    fs::copy(assert_cmd::cargo::cargo_bin("steward"), &program).unwrap();
    let walk = |mode: u32, file_mode: u32| {
        for folder in [bench.path(""), bench.home(), bench.home().join("keys"), bench.home().join("config")] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            for entry in fs::read_dir(&folder)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_file())
            {
                fs::set_permissions(&entry, fs::Permissions::from_mode(file_mode)).unwrap();
            }
        }
    };
    walk(0o555, 0o555);
    let as_nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let mut command = assert_cmd::Command::new("setpriv");
    // The key is readable only by its owner.
    let key = bench.home().join("keys/journal.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
    if std::os::unix::fs::chown(&key, Some(65534), Some(65534)).is_ok() {
        command.args(as_nobody).arg(&program);
    } else {
        command = assert_cmd::Command::new(&program);
    }
    let output = command.args(["task", "list"]).env("STEWARD_HOME", bench.home()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    walk(0o755, 0o600);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("STO005"), "{said}");
    assert!(bench.ok(&format!("task show {task}")).contains("42 orders"));
    bench.ok("audit verify");
}

#[test]
fn errors_are_documents_for_programs() {
    let bench = Bench::new();
    let outcome = bench.run("task show 550e8400-e29b-41d4-a716-446655440000 --json");
    let error: serde_json::Value = serde_json::from_str(&outcome.err).unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["class"]), (&"STO001".into(), &"user".into()));
}

#[test]
fn completions_and_help_are_there() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(bench.ok(&format!("completions {shell}")).contains("steward"));
    }
    insta::assert_snapshot!(bench.ok("--help"));
}
