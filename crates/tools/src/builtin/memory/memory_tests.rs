//! Tests of the memory: isolation between users, search and durability.

use super::{FileMemory, Memory};
use crate::builtin::tests::{run, tool};
use crate::builtin::{Builtin, Options};
use serde_json::{Value as Json, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steward_journal::clock::ManualClock;
use uuid::Uuid;

fn options(folder: &Path) -> Options {
    let clock = Arc::new(ManualClock::at("2026-11-16T03:04:05Z".parse().unwrap()));
    let memory = FileMemory::new(folder, clock.clone(), None);
    Options { clock, memory: Some(Arc::new(memory)), ..Options::default() }
}

fn tools(folder: &Path) -> [Builtin; 3] {
    ["memory.remember", "memory.recall", "memory.forget"].map(|name| tool(&options(folder), name))
}

async fn texts(recall: &Builtin, user: &str, query: &str) -> Vec<String> {
    let found = run(recall, user, 99, json!({ "query": query })).await.unwrap().structured.unwrap();
    let text = |fact: &Json| fact["text"].as_str().unwrap().to_owned();
    found["facts"].as_array().unwrap().iter().map(text).collect()
}

fn only_file(folder: &Path) -> PathBuf {
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[tokio::test]
async fn remembers_recalls_and_forgets_per_person() {
    let folder = tempfile::tempdir().unwrap();
    let [remember, recall, forget] = tools(folder.path());
    let fiscal = "My fiscal year starts in April.";
    run(&remember, "ana", 1, json!({ "text": fiscal, "tags": ["finance"] })).await.unwrap();
    run(&remember, "ana", 2, json!({ "text": "Ben likes short reports." })).await.unwrap();
    run(&remember, "ben", 3, json!({ "text": "The secret of Ben is tea." })).await.unwrap();
    assert_eq!(texts(&recall, "ana", "when does the fiscal year start?").await, [fiscal]);
    assert_eq!(texts(&recall, "ana", "finance").await, [fiscal]);
    assert_eq!(texts(&recall, "ana", "").await.len(), 2);
    assert_eq!(texts(&recall, "ana", "secret tea").await.len(), 0);
    assert_eq!(texts(&recall, "cleo", "").await.len(), 0);

    let shown = run(&recall, "ana", 9, json!({ "query": "fiscal" })).await.unwrap();
    assert!(shown.words().contains("said by ana, 2026-11-16"), "{}", shown.words());
    let id = shown.structured.unwrap()["facts"][0]["id"].clone();
    let forgotten =
        async |user| run(&forget, user, 10, json!({ "id": id })).await.unwrap().structured.unwrap();
    assert_eq!(forgotten("ben").await, json!({ "forgotten": false }));
    assert_eq!(forgotten("ana").await, json!({ "forgotten": true }));
    assert_eq!(texts(&recall, "ana", "").await, ["Ben likes short reports."]);
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("fiscal"), "a forgotten text is gone from the file");
    }
}

#[tokio::test]
async fn the_same_call_remembers_once_and_files_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let [remember, recall, _] = tools(folder.path());
    for _ in 0..3 {
        run(&remember, "../../etc/passwd", 7, json!({ "text": "Tea." })).await.unwrap();
    }
    assert_eq!(texts(&recall, "../../etc/passwd", "").await.len(), 1);
    let mode = only_file(folder.path()).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn incomplete_last_line_is_ignored_and_truncated() {
    let folder = tempfile::tempdir().unwrap();
    let [remember, recall, _] = tools(folder.path());
    run(&remember, "ana", 1, json!({ "text": "One." })).await.unwrap();
    let file = only_file(folder.path());
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.extend_from_slice(b"{\"id\":\"550e84");
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(texts(&recall, "ana", "").await, ["One."]);
    run(&remember, "ana", 2, json!({ "text": "Two." })).await.unwrap();
    assert_eq!(texts(&recall, "ana", "").await.len(), 2);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[tokio::test]
async fn full_memory_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at("2026-11-16T03:04:05Z".parse().unwrap()));
    let memory = FileMemory::with_limit(folder.path(), clock, None, 300);
    let user = "ana".parse().unwrap();
    memory.put(&user, Uuid::from_u128(1), "short", &[]).await.unwrap();
    let error = memory.put(&user, Uuid::from_u128(2), &"long ".repeat(60), &[]).await.unwrap_err();
    assert!(error.to_string().contains("the memory is full"), "{error}");
    assert_eq!(memory.search(&user, "", 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn meaning_finds_what_words_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at("2026-11-16T03:04:05Z".parse().unwrap()));
    // A vector space with one dimension for cars and one for the rest.
    let place = |text: &str| {
        let car = ["car", "vehicle", "Volvo"].iter().any(|word| text.contains(word));
        if car { vec![1.0, 0.0] } else { vec![0.0, 1.0] }
    };
    let embed: super::Embed = Arc::new(move |texts| Some(texts.iter().map(|text| place(text)).collect()));
    let memory = FileMemory::new(folder.path(), clock, Some(embed));
    let user = "ana".parse().unwrap();
    memory.put(&user, Uuid::from_u128(1), "I drive a Volvo", &[]).await.unwrap();
    memory.put(&user, Uuid::from_u128(2), "I drink tea", &[]).await.unwrap();
    let found = memory.search(&user, "which vehicle is mine", 5).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0.text, "I drive a Volvo");
}
