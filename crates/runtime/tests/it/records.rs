//! Conversations of two and three turns where the wrong record is near. The rows are data
//! (`records/*.yaml`); what counts is which calls the applications really got.
//!
//! A row is right when exactly the records changed that it names, asked when nothing changed, and
//! wrong when anything else changed. A third of the rows, by a hash of their names, is not read
//! while the reader is worked on.

use crate::talks::Office;
use crate::toolbox::Shop;
use crate::{Fixture, user};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steward_policy::Caller;
use steward_runtime::converse::{ChatService, Limits, OptionChoice, Outcome, Reply, Turn};

/// Rows over some applications.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    /// The applications by the name of their server, each with its script below the repository.
    servers: BTreeMap<String, String>,
    /// Whether the example's `domains.yaml` and `tools.yaml` are set up.
    #[serde(default)]
    configured: bool,
    /// Calls that are made once, before any row.
    #[serde(default)]
    seeds: Vec<Seed>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seed {
    tool: String,
    arguments: Map<String, Json>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    say: Vec<Say>,
    /// The calls that change something: the tool and the record, `todo.delete_task 9`.
    acts: Vec<String>,
}

/// What is said, or the place of an option that is pressed, from 1.
#[derive(Deserialize)]
#[serde(untagged)]
enum Say {
    Press(usize),
    Words(String),
}

#[derive(Debug, PartialEq)]
enum Verdict {
    Right,
    Asked,
    /// Nothing changed, and nothing was asked.
    Missed,
    Wrong,
}

struct Bench {
    office: Office,
    /// The database of each application, beside its state before any row.
    files: Vec<(PathBuf, PathBuf)>,
}

fn root() -> PathBuf {
    Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime")).ancestors().nth(2).unwrap().to_owned()
}

impl Bench {
    async fn open(rows: &Rows) -> Self {
        let fixture = Fixture::new();
        let home = fixture.folder.path().to_owned();
        std::fs::create_dir_all(home.join("config")).unwrap();
        let mut servers: BTreeMap<&str, PathBuf> =
            rows.servers.iter().map(|(name, script)| (name.as_str(), root().join(script))).collect();
        if rows.configured {
            for file in ["tools.yaml", "domains.yaml"] {
                let shipped = root().join("examples/apps/config").join(file);
                std::fs::copy(shipped, home.join("config").join(file)).unwrap();
            }
            // All that the configuration names are there.
            for name in ["todo", "crm", "notes", "library", "fleet", "hotel"] {
                servers.entry(name).or_insert_with(|| root().join(format!("examples/apps/{name}.py")));
            }
        }
        let database = |name: &str| home.join(format!("{name}.db"));
        let entry = |(name, script): (&&str, &PathBuf)| {
            json!({ "name": name, "application_domain": name, "transport": "stdio",
                "config": { "command": "python3", "args": [script, "--today", "2026-03-02", "--db", database(name)],
                    "env": { "PYTHONPATH": root().join("examples/apps") } } })
        };
        let mut config = json!({ "servers": servers.iter().map(entry).collect::<Vec<_>>() });
        if rows.configured {
            for server in config["servers"].as_array_mut().unwrap() {
                server["category"] = json!("example_apps");
            }
        }
        std::fs::write(home.join("config/mcp_servers.yaml"), config.to_string()).unwrap();
        let toolbox = Shop::toolbox(&fixture).await;
        let office = Office { chat: ChatService::new(Arc::new(toolbox), Limits::default()), fixture };
        // Every application is there once its tools are known.
        office.chat.reader(&Caller::owner(user()), &[]).await.unwrap();
        for seed in &rows.seeds {
            office.look(&seed.tool, Json::Object(seed.arguments.clone())).await;
        }
        let mut files = Vec::new();
        for name in servers.keys() {
            let (live, kept) = (database(name), home.join(format!("{name}.before.db")));
            if live.exists() {
                rusqlite::Connection::open(&live)
                    .unwrap()
                    .execute("VACUUM INTO ?1", [kept.display().to_string()])
                    .unwrap();
                files.push((live, kept));
            }
        }
        Self { office, files }
    }

    /// Puts every application back to where it was before any row.
    fn restore(&self) {
        for (live, kept) in &self.files {
            let database = rusqlite::Connection::open(live).unwrap();
            database.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
            database
                .execute_batch(&format!(
                    "PRAGMA foreign_keys = OFF; ATTACH '{}' AS kept; BEGIN IMMEDIATE;",
                    kept.display()
                ))
                .unwrap();
            let mut named =
                database.prepare("SELECT name FROM kept.sqlite_master WHERE type = 'table'").unwrap();
            let tables: Vec<String> =
                named.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
            for table in tables {
                database
                    .execute_batch(&format!(
                        "DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM kept.{table};"
                    ))
                    .unwrap();
            }
            database.execute_batch("COMMIT").unwrap();
        }
    }

    /// One row: what changed, and what was said on the way.
    async fn run(&self, row: &Row) -> (Verdict, String) {
        self.restore();
        let mut said: Vec<String> = Vec::new();
        let mut acts: Vec<String> = Vec::new();
        let mut last: Option<Reply> = None;
        for say in &row.say {
            last = Some(self.say(last.as_ref(), say, &mut said, &mut acts).await);
        }
        // What is to be confirmed is agreed to, so that a wrong record would be changed.
        if last.as_ref().is_some_and(|reply| reply.outcome == Outcome::Confirm) {
            last = Some(self.say(last.as_ref(), &Say::Words("yes".into()), &mut said, &mut acts).await);
        }
        let mut expected = row.acts.clone();
        expected.sort();
        acts.sort();
        let asked = last.is_some_and(|reply| {
            reply.question.is_some() || matches!(reply.outcome, Outcome::Asked | Outcome::NotFound)
        });
        let verdict = match () {
            () if acts == expected => Verdict::Right,
            () if !acts.iter().all(|act| expected.contains(act)) => Verdict::Wrong,
            () if asked => Verdict::Asked,
            () => Verdict::Missed,
        };
        said.push(format!("  changed {acts:?}, expected {expected:?}"));
        (verdict, said.join("\n"))
    }

    async fn say(
        &self,
        last: Option<&Reply>,
        say: &Say,
        told: &mut Vec<String>,
        acts: &mut Vec<String>,
    ) -> Reply {
        let question = last.map(|reply| reply.task_id);
        let (said, choice) = match say {
            Say::Words(words) => (words.clone(), None),
            Say::Press(place) => (String::new(), Some(OptionChoice { question, option: place - 1 })),
        };
        told.push(match choice {
            Some(choice) => format!("› [{}]", choice.option + 1),
            None => format!("› {said}"),
        });
        let caller = Caller::owner(user());
        let turn = Turn {
            said,
            conversation: last.map(|reply| reply.conversation_id),
            caller,
            data: Vec::new(),
            choice,
        };
        let reply = match (self.office.chat.say(&turn, &|_| {}).await, last) {
            (Ok(reply), _) => reply,
            // A button that is not there cannot be pressed: the row goes on where it was.
            (Err(_), Some(last)) if choice.is_some() => last.clone(),
            (Err(error), _) => panic!("{error}"),
        };
        told.push(format!("  {:?}: {}", reply.outcome, reply.response.answer));
        let made = reply
            .response
            .tool_calls_made
            .iter()
            .filter(|_| last.is_none_or(|last| last.task_id != reply.task_id));
        for call in made {
            let name = call.tool_name.as_str();
            let bare = name.rsplit('.').next().unwrap_or_default();
            if ["list_", "get_", "search_", "find_", "view_", "show_"]
                .iter()
                .any(|read| bare.starts_with(read))
            {
                continue;
            }
            let record =
                call.arguments.get("id").or_else(|| call.arguments.values().find(|value| value.is_string()));
            let record = record.map(steward_language::answer::plain).unwrap_or_default();
            acts.push(format!("{name} {record}"));
        }
        reply
    }
}

/// Whether a row is left unread while the reader is worked on.
fn is_held_out(name: &str) -> bool {
    Sha256::digest(name.as_bytes())[0] % 3 == 0
}

/// The least share of rows that must be right: who only asks is never wrong.
const RIGHT: f64 = 0.7;

async fn check(file: &str) {
    let path =
        Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime")).join("tests/it/records").join(file);
    let rows: Rows = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let bench = Bench::open(&rows).await;
    let mut counts: BTreeMap<(bool, String), usize> = BTreeMap::new();
    let (mut wrong, mut right) = (Vec::new(), 0);
    let only = std::env::var("RECORDS_ONLY").ok();
    let read_all = std::env::var_os("RECORDS_ALL").is_some();
    for row in
        rows.rows.iter().filter(|row| only.as_ref().is_none_or(|only| row.name.contains(only.as_str())))
    {
        let (verdict, told) = Box::pin(bench.run(row)).await;
        let held_out = is_held_out(&row.name);
        if verdict != Verdict::Right && (!held_out || read_all || verdict == Verdict::Wrong && only.is_none())
        {
            if !held_out || read_all {
                eprintln!("{verdict:?} {}\n{told}\n", row.name);
            } else {
                eprintln!("{verdict:?} {} (held out)", row.name);
            }
        }
        *counts.entry((held_out, format!("{verdict:?}"))).or_default() += 1;
        right += usize::from(verdict == Verdict::Right);
        if verdict == Verdict::Wrong {
            wrong.push(row.name.as_str());
        }
    }
    eprintln!("{file}: (held out, verdict) {counts:?}");
    assert!(wrong.is_empty(), "the wrong record was changed: {wrong:?}");
    let share = right as f64 / rows.rows.len() as f64;
    assert!(only.is_some() || share >= RIGHT, "only {share:.2} of the rows were right");
}

#[tokio::test]
async fn no_wrong_record_in_lists() {
    check("lists.yaml").await;
}

#[tokio::test]
async fn no_wrong_record_by_name() {
    check("names.yaml").await;
}

#[tokio::test]
async fn no_wrong_record_in_questions() {
    check("questions.yaml").await;
}

#[tokio::test]
async fn no_wrong_record_in_applications_without_a_domain() {
    check("elsewhere.yaml").await;
}

#[tokio::test]
async fn no_wrong_record_in_two_applications_of_one_kind() {
    check("twins.yaml").await;
}

#[test]
fn there_are_enough_rows_and_their_names_are_unique() {
    let folder = Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/runtime")).join("tests/it/records");
    let mut names: Vec<String> = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let rows: Rows =
            serde_saphyr::from_str(&std::fs::read_to_string(file.unwrap().path()).unwrap()).unwrap();
        assert!(
            rows.rows.iter().all(|row| (2..=4).contains(&row.say.len())),
            "each row has two to four turns"
        );
        names.extend(rows.rows.into_iter().map(|row| row.name));
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "two rows have one name");
    assert!(count >= 150, "{count} rows");
    let held_out = names.iter().filter(|name| is_held_out(name)).count();
    eprintln!("{count} rows, {held_out} of them held out");
}
