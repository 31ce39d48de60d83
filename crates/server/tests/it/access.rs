//! Who holds what while their tasks run, and what the journal says of administration and sign-ins.

use serde_json::{Value as Json, json};
use std::sync::Arc;
use steward_domain::{ChainId, EventType, UserId};
use steward_journal::clock::SystemClock;
use steward_journal::keys;
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_runtime::Grants as _;
use steward_server::identity::{AccessFile, AccessJournal, Administrator, FileGrants, Identity, Role, User};
use steward_store::audit::verify;
use steward_store::sqlite::SqliteStore;
use steward_store::{Scope, Store, StoreOptions};
use steward_tools::registry::Registry;

fn user(name: &str) -> UserId {
    name.parse().unwrap()
}

fn held(grants: &FileGrants, name: &str) -> String {
    match grants.of(&user(name), &Registry::new(Vec::new())) {
        Ok(caller) if caller.administrator => "owns it".to_owned(),
        Ok(caller) => format!("{:?}", caller.tools.unwrap_or_default()),
        Err(why) => why,
    }
}

#[test]
fn what_people_hold_is_what_the_file_says_now() {
    let home = tempfile::tempdir().unwrap();
    let grants = FileGrants::open(home.path(), user("olga")).unwrap();
    assert_eq!(held(&grants, "olga"), "owns it");
    assert_eq!(held(&grants, "ada"), "they are not set up here", "one person's machine is one person's");
    let (mut file, _alone) = AccessFile::to_change(home.path()).unwrap();
    file.roles.insert("clerk".into(), Role { tools: ["todo.*".to_owned()].into(), ..Role::default() });
    file.users.insert(user("ada"), User { roles: vec!["clerk".into()], ..User::default() });
    file.save(home.path()).unwrap();
    assert_eq!(held(&grants, "ada"), "{\"todo.*\"}");
    assert_eq!(held(&grants, "olga"), "owns it", "the person at the machine owns it");
    file.users.get_mut(&user("ada")).unwrap().disabled = true;
    file.save(home.path()).unwrap();
    assert_eq!(held(&grants, "ada"), "they are disabled");
    file.users.clear();
    file.save(home.path()).unwrap();
    assert_eq!(held(&grants, "ada"), "they are not set up here");
}

#[tokio::test]
async fn administration_and_sign_ins_are_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let signer = Arc::new(keys::load_or_create(&folder.path().join("journal.key"), &SystemRandom).unwrap());
    let options = StoreOptions {
        clock: Arc::new(SystemClock::default()),
        random: Arc::new(SystemRandom),
        redactor: Arc::new(Redactor::default()),
        signer: signer.clone(),
    };
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(&folder.path().join("state.db"), options).unwrap());
    let journal = AccessJournal::new(store.clone(), Arc::new(SystemClock::default()));
    let olga = Administrator { user: user("olga"), key: Some("Xk3mPq8aTz".into()) };
    journal.changed(&olga, "user_set", json!({ "user": "ada" })).await.unwrap();
    let ada = Identity { key: Some("Yk3mPq8aTz".into()), ..Identity::owner(user("ada")) };
    journal.signed_in(&ada).await.unwrap();
    for _ in 0..1000 {
        journal.refused("request").await.unwrap();
    }
    let entries = store.entries(&Scope::System, ChainId::SYSTEM, 0, 100).await.unwrap();
    let events: Vec<EventType> = entries.iter().map(|entry| entry.entry.event_type).collect();
    let expected = [EventType::AccessChanged, EventType::SignedIn, EventType::SignInRefused];
    assert_eq!(events, expected, "a thousand refusals within a minute are one entry");
    let data: Json = serde_json::from_str(&entries[0].entry.event_data).unwrap();
    assert_eq!((&data["by"], &data["change"]), (&json!("olga"), &json!("user_set")));
    verify(&*store, signer.verifier(), None).await.unwrap();
}
