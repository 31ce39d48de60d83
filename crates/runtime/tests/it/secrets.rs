//! Secrets that a person types into a chat: the tool gets them, the store and the files do not keep
//! them.

use crate::talks::Office;
use std::path::Path;

const SECRETS: [&str; 4] = [
    "4111 1111 1111 1111",
    "hunter2-Xy9",
    "sk-proj-abcdefghijklmnop1234",
    "stw_k3f9a2_Zm9vYmFyYmF6cXV4MTIzNDU2Nzg",
];

/// Files below a folder that hold one of the secrets.
fn holding(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            holding(&path, found);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes);
            for secret in SECRETS {
                found.extend(text.match_indices(secret).map(|(at, _)| {
                    let near = text.get(at.saturating_sub(160)..at).unwrap_or_default();
                    format!("{} keeps {secret}: …{near}", path.display())
                }));
            }
        }
    }
}

#[tokio::test]
async fn chat_messages_are_stored_redacted() {
    let office = Office::todo().await;
    let folder = office.fixture.folder.path().to_owned();
    let first = office.say(None, "my password is hunter2-Xy9, hello").await;
    let id = first.conversation_id;
    for said in [
        "add a task called pay with 4111 1111 1111 1111",
        "use the key sk-proj-abcdefghijklmnop1234 or stw_k3f9a2_Zm9vYmFyYmF6cXV4MTIzNDU2Nzg",
        "show my tasks",
        "what is 1+1, password: hunter2-Xy9",
    ] {
        office.say(Some(id), said).await;
    }
    let mut found = Vec::new();
    holding(&folder, &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

/// Whether a value stands in a blocked column cannot be found out by asking for it.
#[tokio::test]
async fn a_blocked_value_is_answered_the_same_whether_it_is_there_or_not() {
    let fixture = crate::Fixture::new();
    for question in
        ["how many customers with alice@corp.example", "count rows where anything is alice@corp.example"]
    {
        let mut answers = Vec::new();
        for value in ["alice@corp.example", "zoe@corp.example"] {
            let folder = tempfile::tempdir().unwrap();
            let text = format!(
                "id,name,state,customer_email\n1,Alice,Arizona,{value}\n2,Bob,Texas,bob@corp.example\n"
            );
            let file = crate::write(folder.path(), "customers.csv", &text);
            let answer = fixture.ask(crate::local(question, &[file])).await;
            answers.push((answer.answer, answer.confidence));
        }
        assert_eq!(answers[0], answers[1], "{question}");
    }
}
