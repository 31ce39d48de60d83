//! Conversations, messages, entities.

use super::samples::*;
use crate::{Change, ConversationFilter, EntitySearch, Error, Page, Store};
use std::sync::Arc;
use steward_domain::*;

async fn started(store: &dyn Store, user: &UserId) -> ConversationId {
    let conversation = conversation(user);
    let id = conversation.id;
    store.commit(&scope(user), commit(user).change(Change::PutConversation(conversation))).await.unwrap();
    id
}

async fn say(
    store: &dyn Store,
    user: &UserId,
    id: ConversationId,
    text: &str,
    seconds: i64,
) -> crate::Result<u64> {
    let message = message(id, text, seconds);
    let key = message.id;
    Ok(store
        .commit(&scope(user), commit(user).change(Change::AppendMessage(message)))
        .await?
        .sequence_numbers[&key])
}

pub(super) async fn window_is_the_last_messages_in_order(store: Arc<dyn Store>) {
    let user = user();
    let id = started(&*store, &user).await;
    for i in 1..=25 {
        assert_eq!(say(&*store, &user, id, &format!("m{i}"), i).await.unwrap(), i as u64);
    }
    let texts =
        |messages: Vec<Valid<Message>>| messages.iter().map(|m| m.content.to_string()).collect::<Vec<_>>();
    let expected = |range: std::ops::RangeInclusive<i32>| range.map(|i| format!("m{i}")).collect::<Vec<_>>();
    assert_eq!(texts(store.window(&scope(&user), id, 10).await.unwrap()), expected(16..=25));
    assert_eq!(
        texts(store.history(&scope(&user), id, Page { limit: 5, offset: 3 }).await.unwrap()),
        expected(4..=8)
    );
    assert_eq!(store.conversation(&scope(&user), id).await.unwrap().unwrap().updated_at, at(25));
}

pub(super) async fn concurrent_appends_are_ordered_not_lost(store: Arc<dyn Store>) {
    let user = user();
    let id = started(&*store, &user).await;
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..40 {
        let (store, user) = (store.clone(), user.clone());
        tasks.spawn(async move { say(&*store, &user, id, &format!("m{i}"), i).await.unwrap() });
    }
    let mut places = tasks.join_all().await;
    places.sort_unstable();
    assert_eq!(places, (1..=40).collect::<Vec<u64>>());
}

pub(super) async fn only_archived_conversations_come_back(store: Arc<dyn Store>) {
    use ConversationStatus::{Active, Archived, Deleted};
    let user = user();
    for (path, ends_well) in [
        (vec![Archived], true),
        (vec![Deleted], true),
        (vec![Archived, Deleted], true),
        (vec![Archived, Active], true),
        (vec![Archived, Active, Archived], true),
        (vec![Deleted, Active], false),
        (vec![Deleted, Archived], false),
        (vec![Archived, Archived], false),
    ] {
        let id = started(&*store, &user).await;
        let mut last = Ok(());
        for status in &path {
            let change = Change::SetConversationStatus { id, status: *status, at: at(9) };
            last = store.commit(&scope(&user), commit(&user).change(change)).await.map(drop);
        }
        assert_eq!(last.is_ok(), ends_well, "{path:?}: {last:?}");
    }
    // Writing the row directly does not bypass the rule.
    let id = started(&*store, &user).await;
    let archive = Change::SetConversationStatus { id, status: Archived, at: at(9) };
    store.commit(&scope(&user), commit(&user).change(archive)).await.unwrap();
    let again = conversation(&user).with(|c| c.id = id).unwrap();
    assert!(store.commit(&scope(&user), commit(&user).change(Change::PutConversation(again))).await.is_err());
}

pub(super) async fn deletion_takes_messages_and_entities(store: Arc<dyn Store>) {
    let user = user();
    let id = started(&*store, &user).await;
    say(&*store, &user, id, "hello", 1).await.unwrap();
    let change = mention(id, "task", "1", Some("Buy milk"), 2);
    store.commit(&scope(&user), commit(&user).change(change)).await.unwrap();
    let delete = Change::SetConversationStatus { id, status: ConversationStatus::Deleted, at: at(3) };
    store.commit(&scope(&user), commit(&user).change(delete)).await.unwrap();
    assert!(store.window(&scope(&user), id, 10).await.unwrap().is_empty());
    assert!(store.entities(&scope(&user), id, EntitySearch::Recent, 10).await.unwrap().is_empty());
    let left = store.conversation(&scope(&user), id).await.unwrap().unwrap();
    assert!(left.status == ConversationStatus::Deleted && left.metadata.is_empty());
}

pub(super) async fn only_active_conversations_take_messages(store: Arc<dyn Store>) {
    let user = user();
    let id = started(&*store, &user).await;
    let archive = Change::SetConversationStatus { id, status: ConversationStatus::Archived, at: at(3) };
    store.commit(&scope(&user), commit(&user).change(archive)).await.unwrap();
    assert!(matches!(say(&*store, &user, id, "late", 4).await, Err(Error::Conflict { .. })));
    assert!(matches!(say(&*store, &user, uuid().into(), "nowhere", 4).await, Err(Error::NotFound { .. })));
}

pub(super) async fn entities_are_found_by_recency_type_and_name(store: Arc<dyn Store>) {
    let user = user();
    let id = started(&*store, &user).await;
    let mut all = commit(&user);
    for (kind, entity, name, seconds) in [
        ("task", "1", Some("Buy milk"), 1),
        ("task", "2", Some("100% ÜBERPRÜFUNG"), 2),
        ("customer", "7", Some("Milka GmbH"), 3),
        ("customer", "8", None, 4),
        ("customer", "7", None, 5),
    ] {
        all = all.change(mention(id, kind, entity, name, seconds));
    }
    store.commit(&scope(&user), all).await.unwrap();
    let find = |search: EntitySearch, limit| {
        let (store, user) = (store.clone(), user.clone());
        async move {
            let found = store.entities(&scope(&user), id, search, limit).await.unwrap();
            found.iter().map(|e| format!("{} {}", e.entity_type, e.entity_id)).collect::<Vec<_>>()
        }
    };
    assert_eq!(find(EntitySearch::Recent, 3).await, ["customer 7", "customer 8", "task 2"]);
    assert_eq!(find(EntitySearch::OfType(EntityType::new("task").unwrap()), 9).await, ["task 2", "task 1"]);
    assert_eq!(find(EntitySearch::Named("MILK".into()), 9).await, ["customer 7", "task 1"]);
    assert_eq!(find(EntitySearch::Named("überprüf".into()), 9).await, ["task 2"]);
    // A percent sign or an underscore is an ordinary character.
    assert_eq!(find(EntitySearch::Named("0%".into()), 9).await, ["task 2"]);
    assert!(find(EntitySearch::Named("_".into()), 9).await.is_empty());
}

pub(super) async fn mentions_count_and_keep_the_name(store: Arc<dyn Store>) {
    let user = user();
    let id = started(&*store, &user).await;
    for (name, seconds) in [(Some("Buy milk"), 5), (None, 9), (None, 7)] {
        store
            .commit(&scope(&user), commit(&user).change(mention(id, "task", "1", name, seconds)))
            .await
            .unwrap();
    }
    let entity = store.entities(&scope(&user), id, EntitySearch::Recent, 1).await.unwrap().remove(0);
    assert_eq!(entity.entity_name.as_deref(), Some("Buy milk"));
    assert_eq!(
        (entity.mention_count, entity.first_mentioned_at, entity.last_mentioned_at),
        (3, at(5), at(9))
    );
}

pub(super) async fn rules_of_messages_hold(store: Arc<dyn Store>) {
    let user = user();
    let id = started(&*store, &user).await;
    let mut nameless = message(id, "I am an agent", 1);
    nameless.role = Role::Agent;
    let refused =
        store.commit(&scope(&user), commit(&user).change(Change::AppendMessage(nameless))).await.unwrap_err();
    assert!(refused.to_string().contains("`agent_type` is required when role is agent"), "{refused}");
    let twice = message(id, "same id", 2);
    store.commit(&scope(&user), commit(&user).change(Change::AppendMessage(twice.clone()))).await.unwrap();
    let refused =
        store.commit(&scope(&user), commit(&user).change(Change::AppendMessage(twice))).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { .. }), "{refused:?}");
}

pub(super) async fn every_text_comes_back(store: Arc<dyn Store>) {
    let user = user();
    let id = started(&*store, &user).await;
    let texts = [
        "'; DROP TABLE conversation; --",
        "日本語 🙂 \u{202e}rtl",
        "tab\tnew\nline \u{1} \u{7f}",
        &"long ".repeat(50_000),
    ];
    for text in texts {
        say(&*store, &user, id, text, 1).await.unwrap();
    }
    let back = store.history(&scope(&user), id, Page::first(9)).await.unwrap();
    assert_eq!(back.iter().map(|m| m.content.as_str()).collect::<Vec<_>>(), texts);
}

pub(super) async fn conversations_are_listed_newest_first(store: Arc<dyn Store>) {
    let user = user();
    let mut ids = Vec::new();
    for i in 0..5 {
        let conversation =
            conversation(&user).with(|c| (c.created_at, c.updated_at) = (at(i), at(i))).unwrap();
        ids.insert(0, conversation.id);
        store
            .commit(&scope(&user), commit(&user).change(Change::PutConversation(conversation)))
            .await
            .unwrap();
    }
    let archive =
        Change::SetConversationStatus { id: ids[1], status: ConversationStatus::Archived, at: at(9) };
    store.commit(&scope(&user), commit(&user).change(archive)).await.unwrap();
    let list = |status, page| {
        let (store, user) = (store.clone(), user.clone());
        let filter = ConversationFilter { status, application_domain: DomainName::new("todo").ok() };
        async move {
            store
                .conversations(&scope(&user), filter, page)
                .await
                .unwrap()
                .iter()
                .map(|c| c.id)
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(list(None, Page { limit: 3, offset: 1 }).await, ids[1..4]);
    assert_eq!(list(Some(ConversationStatus::Archived), Page::first(9)).await, ids[1..2]);
}
