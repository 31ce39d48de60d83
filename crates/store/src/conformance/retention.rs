//! Retention. It applies to the whole store, so these use times long past, at which no other
//! behaviour has data.

use super::samples::*;
use crate::{Change, Commit, ExecutionFilter, Page, Scope, Store};
use serde_json::json;
use std::sync::Arc;
use steward_domain::*;

const YEAR: i64 = 365 * 86_400;

/// Ten years before the other behaviours, so that a run purges nothing of theirs.
fn past() -> Timestamp {
    at(-10 * YEAR)
}

struct Old {
    user: UserId,
    task: TaskId,
    conversation: ConversationId,
}

async fn old_things(store: &dyn Store, ended_days_ago: i64) -> Old {
    let user = user();
    let seconds = -10 * YEAR - ended_days_ago * 86_400;
    let task = task(&user, seconds).start(at(seconds)).unwrap().fail("no luck".into(), at(seconds)).unwrap();
    let conversation =
        conversation(&user).with(|c| (c.created_at, c.updated_at) = (at(seconds), at(seconds))).unwrap();
    let tool = tool("old", "todo", None).validate().unwrap();
    store.commit(&Scope::System, commit(&user).change(Change::PutTool(tool.clone()))).await.unwrap();
    let mut entry = draft(EventType::TaskChanged, json!({ "status": "failed" }));
    entry.personal.insert("why".into(), json!("a personal reason"));
    let all = Commit::new(user.clone(), task.id)
        .entry(entry)
        .change(Change::PutTask(task.clone()))
        .change(Change::PutConversation(conversation.clone()))
        .change(Change::PutExecution(execution(&user, None, AgentKind::Validation, seconds, 100)))
        .change(Change::PutInvocation(invocation(&user, None, tool.id, seconds, 100, Outcome::Success)));
    store.commit(&scope(&user), all).await.unwrap();
    Old { user, task: task.id, conversation: conversation.id }
}

fn policy() -> Valid<RetentionPolicy> {
    RetentionPolicy::default().validate().unwrap()
}

fn count(report: &crate::RetentionReport, kind: &str, action: &str) -> u64 {
    report
        .purged
        .iter()
        .filter(|purge| purge.kind == kind && purge.action == action)
        .map(|purge| purge.count)
        .sum()
}

pub(super) async fn a_dry_run_changes_nothing(store: Arc<dyn Store>) {
    let old = old_things(&*store, 100).await;
    let report = store.retain(&policy(), past(), true).await.unwrap();
    assert!(
        report.dry_run && count(&report, "task", "deleted") >= 1 && count(&report, "payload", "erased") >= 1,
        "{report:?}"
    );
    let mine = scope(&old.user);
    // Another behaviour may purge at the same moment, but only what is older than a year before
    // `past`.
    let kept = old_things(&*store, 1).await;
    store.retain(&policy(), past(), true).await.unwrap();
    assert!(store.task(&scope(&kept.user), kept.task).await.unwrap().is_some());
    assert!(store.conversation(&mine, old.conversation).await.unwrap().is_some());
}

pub(super) async fn old_things_go_and_it_is_recorded(store: Arc<dyn Store>) {
    // 14 days for a failed task, 90 for a conversation, 30 for a run.
    let (gone, kept) = (old_things(&*store, 100).await, old_things(&*store, 13).await);
    let before = store.chain(&Scope::System, ChainId::SYSTEM).await.unwrap().map_or(0, |tip| tip.entries);
    store.retain(&policy(), past(), false).await.unwrap();
    let (mine, theirs) = (scope(&gone.user), scope(&kept.user));
    assert_eq!(store.task(&mine, gone.task).await.unwrap(), None);
    assert!(store.task(&theirs, kept.task).await.unwrap().is_some());
    assert_eq!(
        store.conversation(&mine, gone.conversation).await.unwrap().unwrap().status,
        ConversationStatus::Archived
    );
    assert_eq!(
        store.conversation(&theirs, kept.conversation).await.unwrap().unwrap().status,
        ConversationStatus::Active
    );
    assert!(store.executions(&mine, ExecutionFilter::default(), Page::first(9)).await.unwrap().is_empty());
    assert_eq!(store.executions(&theirs, ExecutionFilter::default(), Page::first(9)).await.unwrap().len(), 1);
    // The chain survives the purge, its payload does not, and the purge is recorded as an entry.
    assert_eq!(store.entries(&mine, gone.task.into(), 0, 9).await.unwrap().len(), 1);
    assert!(store.payloads(&mine, gone.task.into()).await.unwrap()[0].erased_at.is_some());
    assert!(store.payloads(&theirs, kept.task.into()).await.unwrap()[0].erased_at.is_none());
    let record = store.entries(&Scope::System, ChainId::SYSTEM, before, 99).await.unwrap();
    assert!(record.iter().any(|found| found.entry.event_type == EventType::RetentionApplied), "{record:?}");
}

pub(super) async fn aggregates_outlive_details(store: Arc<dyn Store>) {
    let old = old_things(&*store, 50).await;
    let window = (at(-11 * YEAR), past());
    let before = store.analytics(&scope(&old.user), window.0, window.1).await.unwrap();
    store.retain(&policy(), past(), false).await.unwrap();
    let after = store.analytics(&scope(&old.user), window.0, window.1).await.unwrap();
    assert!(
        store
            .executions(&scope(&old.user), ExecutionFilter::default(), Page::first(9))
            .await
            .unwrap()
            .is_empty()
    );
    for (was, is) in before.tools.iter().chain(&before.agents).zip(after.tools.iter().chain(&after.agents)) {
        assert_eq!((&was.name, was.calls, was.successes), (&is.name, is.calls, is.successes));
        assert!((was.p95_ms - is.p95_ms).abs() <= was.p95_ms * 0.125, "{was:?} became {is:?}");
    }
    assert_eq!((after.tools.len(), after.agents.len()), (1, 1));
}
