//! The home: file permissions, leftovers, and the store of a restored home.

use crate::Bench;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_written_is_for_its_owner_alone() {
    let bench = Bench::new();
    bench.ok("init");
    fs::write(bench.path("sales.csv"), "city,amount\nRome,3\nOslo,5\n").unwrap();
    let asked = bench.run_with(&["ask", "total amount by city", "--data", "sales.csv"]);
    assert_eq!(asked.code, 0, "{}", asked.err);
    let mut folders = vec![bench.home()];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder) & 0o077, 0, "{}", folder.display());
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                assert_eq!(mode(&entry.path()) & 0o077, 0, "{}", entry.path().display());
            }
        }
    }
    // A home that other users could read is made private.
    fs::set_permissions(bench.home().join("state.db"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(bench.home(), fs::Permissions::from_mode(0o755)).unwrap();
    bench.ok("task list");
    assert_eq!((mode(&bench.home()), mode(&bench.home().join("state.db"))), (0o700, 0o600));
}

#[test]
fn what_a_killed_process_left_is_taken_away_at_the_next_start() {
    let bench = Bench::new();
    bench.ok("init");
    let dead = "4194304999";
    let unpacked = bench.home().join(format!("tmp/data-{dead}/0"));
    let (backup, restore) =
        (bench.path(&format!(".monday.tar.gz.backup-{dead}")), bench.path(&format!(".home.restore-{dead}")));
    for folder in [&unpacked, &backup, &restore] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(bench.home().join(format!("tmp/elsewhere-{dead}")), backup.display().to_string()).unwrap();
    bench.ok("task list");
    assert!(!unpacked.exists() && !backup.exists() && !restore.exists());
}

#[test]
fn a_restored_home_points_at_the_store_it_was_restored_into() {
    let bench = Bench::new();
    bench.worked();
    fs::write(bench.home().join("config/steward.yaml"), "user: alice\nstore: \"sqlite:state.db\"\n").unwrap();
    bench.ok("backup monday.tar.gz");
    let (home, store) = (bench.path("new"), bench.path("other.db"));
    let address = format!("sqlite:{}", store.display());
    let words = ["restore", "monday.tar.gz", "--home", home.to_str().unwrap(), "--store", &address];
    let restored = bench.run_with(&words);
    assert_eq!(restored.code, 0, "{}{}", restored.out, restored.err);
    let settings = fs::read_to_string(home.join("config/steward.yaml")).unwrap();
    assert!(settings.contains("other.db") && settings.contains("user: alice"), "{settings}");
    let shown = bench.run_with(&["--home", home.to_str().unwrap(), "config", "show"]);
    assert!(shown.out.contains("other.db"), "{}", shown.out);
    assert!(!home.join("state.db").exists(), "nothing else was made");
}

#[test]
fn a_key_that_is_not_set_stops_nothing_else() {
    let bench = Bench::new();
    bench.ok("init");
    let settings = "models:\n  big: { provider: openai, name: gpt, base_url: \"http://127.0.0.1:9/v1\", \
        key_variable: NO_SUCH_KEY_HERE }\n";
    fs::write(bench.home().join("config/steward.yaml"), settings).unwrap();
    bench.ok("approvals list");
    bench.ok("worker --until-empty");
    let said = bench.run("doctor");
    assert!(said.out.contains("NO_SUCH_KEY_HERE"), "{}", said.out);
}

#[test]
fn names_that_lead_nowhere_are_refused() {
    let check = |file: &str, text: &str, wanted: &str| {
        let bench = Bench::new();
        bench.ok("init");
        fs::write(bench.home().join(file), text).unwrap();
        let said = bench.run("config check");
        assert_eq!(said.code, 2, "{file}: {}{}", said.out, said.err);
        assert!(said.out.contains(wanted), "{wanted}: {}", said.out);
    };
    let agent = |model: &str, tool: &str| {
        format!(
            "name: helper\nrole: helper\nsystem_prompt: Help.\ntools: [{tool}]\nllm_config: {{ model: {model} }}\n"
        )
    };
    check("agents/helper.yaml", &agent("nosuch", "time.now"), "there is no model \"nosuch\"");
    check("agents/helper.yaml", &agent("local", "nosuch.send"), "there is no tool nosuch.send");
    check("config/steward.yaml", "model: { base_url: not-a-url, name: x }\n", "is no http address");
    check(
        "config/steward.yaml",
        "models: { a: { provider: openai, name: x, base_url: \"ftp://x\" } }\n",
        "is no http address",
    );
    check("config/steward.yaml", "store: mongodb://x\n", "`store` must begin with");
    check("config/steward.yaml", "witness: { url: \"https://w.example\" }\n", "belong together");
}
