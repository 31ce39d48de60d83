//! Pieces of requests in the fields of tools such as servers for files, repositories, databases and
//! graphs have them.

use super::fill::fill;
use super::slot::slots;
use super::span;
use serde_json::{Value, json};

fn string() -> Value {
    json!({"type": "string"})
}

fn tool(name: &str) -> (Value, &'static str) {
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let repo = || json!({"title": "Repo Path", "type": "string"});
    match name {
        "read" => (
            object(
                json!({"path": string(), "head": {"type": "number",
            "description": "If provided, returns only the first N lines of the file"}}),
                &["path"],
            ),
            "Read a file",
        ),
        "write" => {
            (object(json!({"path": string(), "content": string()}), &["path", "content"]), "Write a file")
        }
        "move" => (
            object(json!({"source": string(), "destination": string()}), &["source", "destination"]),
            "Move or rename files and directories",
        ),
        "search" => {
            (object(json!({"path": string(), "pattern": string()}), &["path", "pattern"]), "Search files")
        }
        "commit" => {
            (object(json!({"repo_path": repo(), "message": string()}), &["repo_path", "message"]), "Commit")
        }
        "branch" => (
            object(json!({"repo_path": repo(), "branch_name": string()}), &["repo_path", "branch_name"]),
            "Creates a new branch",
        ),
        "stage" => (
            object(
                json!({"repo_path": repo(), "files": {"type": "array", "items": string()}}),
                &["repo_path", "files"],
            ),
            "Adds file contents to the staging area",
        ),
        "log" => {
            (object(json!({"repo_path": repo(), "max_count": {"type": "integer"}}), &["repo_path"]), "Log")
        }
        "query" => (object(json!({"query": string()}), &["query"]), "Execute a SELECT query on the database"),
        "table" => (object(json!({"table_name": string()}), &["table_name"]), "Get the schema of a table"),
        "entities" => (
            object(
                json!({"entities": {"type": "array", "items": object(json!({
                "name": string(), "entityType": string(),
                "observations": {"type": "array", "items": string()},
            }), &["name", "entityType", "observations"])}}),
                &["entities"],
            ),
            "Create entities",
        ),
        "relations" => (
            object(
                json!({"relations": {"type": "array", "items": object(json!({
                "from": string(), "to": string(), "relationType": string(),
            }), &["from", "to", "relationType"])}}),
                &["relations"],
            ),
            "Create relations",
        ),
        "names" => (object(json!({"names": {"type": "array", "items": string()}}), &["names"]), "Open nodes"),
        _ => (
            object(
                json!({"path": string(), "edits": {"type": "array", "items": object(json!({
                "oldText": string(), "newText": string(),
            }), &["oldText", "newText"])}}),
                &["path", "edits"],
            ),
            "Edit a file",
        ),
    }
}

#[test]
fn pieces_go_into_the_fields_that_take_them() {
    for (said, name, wanted) in [
        ("read the file todo.txt", "read", json!({"path": "todo.txt"})),
        ("show the first 3 lines of a/b.md", "read", json!({"path": "a/b.md", "head": 3})),
        (
            "write \"hello world\" to greeting.txt",
            "write",
            json!({"path": "greeting.txt", "content": "hello world"}),
        ),
        (
            "create a file called n.txt with the content \"Water the roses\"",
            "write",
            json!({"path": "n.txt", "content": "Water the roses"}),
        ),
        ("rename garden.md to plants.md", "move", json!({"source": "garden.md", "destination": "plants.md"})),
        ("find *.txt in /srv/data", "search", json!({"path": "/srv/data", "pattern": "*.txt"})),
        (
            "commit in /srv/site with the message \"Fix login\"",
            "commit",
            json!({"repo_path": "/srv/site", "message": "Fix login"}),
        ),
        (
            "create a branch called feature/search in /srv/site",
            "branch",
            json!({"repo_path": "/srv/site", "branch_name": "feature/search"}),
        ),
        (
            "create the branch fix-7 in /srv/site",
            "branch",
            json!({"repo_path": "/srv/site", "branch_name": "fix-7"}),
        ),
        (
            "stage a.txt and b.rs in /srv/site",
            "stage",
            json!({"repo_path": "/srv/site", "files": ["a.txt", "b.rs"]}),
        ),
        ("show the last two commits of /srv/site", "log", json!({"repo_path": "/srv/site", "max_count": 2})),
        ("run SELECT a FROM b", "query", json!({"query": "SELECT a FROM b"})),
        ("what columns does the orders table have?", "table", json!({"table_name": "orders"})),
        (
            "create an entity named \"Ada Lovelace\" of type person",
            "entities",
            json!({"entities": [{"name": "Ada Lovelace", "entityType": "person", "observations": []}]}),
        ),
        (
            "create a relation from \"Ada\" to \"Charles\" of type \"worked with\"",
            "relations",
            json!({"relations": [{"from": "Ada", "to": "Charles", "relationType": "worked with"}]}),
        ),
        ("open the node \"Ada Lovelace\"", "names", json!({"names": ["Ada Lovelace"]})),
        (
            "in a.json replace \"off\" with \"on\"",
            "edit",
            json!({"path": "a.json", "edits": [{"oldText": "off", "newText": "on"}]}),
        ),
    ] {
        let (schema, about) = tool(name);
        let literals = span::read(said);
        let filled = fill(&slots(&schema, about), &literals, &span::counts(said, &literals));
        let got: Value =
            filled.arguments.iter().map(|(name, one)| (name.clone(), one.value.clone())).collect();
        assert_eq!(got, wanted, "{said}");
        assert!(filled.is_complete(), "{said}: {filled:?}");
    }
}

#[test]
fn what_finds_no_field_is_counted() {
    let (schema, about) = tool("read");
    for (said, hard, quotes) in [("copy a.txt to b.txt", 1, 0), ("read a.txt as \"text\"", 0, 1)] {
        let filled = fill(&slots(&schema, about), &span::read(said), &[]);
        assert_eq!((filled.unused_hard, filled.unused_quotes), (hard, quotes), "{said}");
    }
}
