//! Model usage is summed by day, user and model.

use super::samples::*;
use crate::{Change, Commit, Store};
use serde_json::json;
use std::sync::Arc;
use steward_domain::*;

pub(super) async fn usage_is_added_up(store: Arc<dyn Store>) {
    let (one, other) = (user(), user());
    let usage = |user: &UserId, day: &str, model: &str, tokens: u64| ModelUsage {
        day: day.to_owned(),
        user_id: user.clone(),
        model: Label::new(model).unwrap(),
        calls: 1,
        input_tokens: tokens,
        output_tokens: 10,
        cached_tokens: 5,
        cost_micros: 100,
    };
    let add = async |user: &UserId, usage: ModelUsage| {
        let commit = Commit::new(user.clone(), TaskId(uuid()))
            .entry(draft(EventType::StepRecorded, json!({ "step": "model" })))
            .change(Change::AddModelUsage(usage));
        store.commit(&scope(user), commit).await
    };
    for (user, day, model, tokens) in [
        (&one, "1999-03-01", "big", 100),
        (&one, "1999-03-01", "big", 50),
        (&one, "1999-03-01", "small", 7),
        (&one, "1999-03-02", "big", 1),
        (&other, "1999-03-01", "big", 1000),
    ] {
        add(user, usage(user, day, model, tokens)).await.unwrap();
    }
    let found = store.model_usage(&scope(&one), "1999-03-01", "1999-03-01").await.unwrap();
    let mut big = usage(&one, "1999-03-01", "big", 100);
    big.add(&usage(&one, "1999-03-01", "big", 50));
    assert_eq!(found, [big, usage(&one, "1999-03-01", "small", 7)]);
    assert_eq!(store.model_usage(&scope(&one), "1999-03-01", "1999-03-09").await.unwrap().len(), 3);
    let all = store.model_usage(&crate::Scope::System, "1999-03-01", "1999-03-01").await.unwrap();
    assert!(all.iter().any(|row| row.user_id == other && row.input_tokens == 1000), "{all:?}");
    // Users cannot add to the usage of other users.
    assert!(add(&one, usage(&other, "1999-03-01", "big", 1)).await.is_err());
}
