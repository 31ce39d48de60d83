//! Executions, invocations, analytics.

use super::samples::*;
use crate::{Change, ExecutionFilter, InvocationFilter, Page, Scope, Store};
use std::sync::Arc;
use steward_domain::*;

async fn registered(store: &dyn Store, prefix: &str) -> Valid<ToolDefinition> {
    let tool = tool(prefix, "todo", None).validate().unwrap();
    store.commit(&Scope::System, commit(&user()).change(Change::PutTool(tool.clone()))).await.unwrap();
    tool
}

pub(super) async fn executions_come_back_whole(store: Arc<dyn Store>) {
    let user = user();
    let conversation = conversation(&user);
    let first = execution(&user, Some(conversation.id), AgentKind::Orchestrator, 1, 150);
    let second = execution(&user, None, AgentKind::Validation, 2, 30);
    let all = commit(&user)
        .change(Change::PutConversation(conversation.clone()))
        .change(Change::PutExecution(first.clone()))
        .change(Change::PutExecution(second.clone()));
    store.commit(&scope(&user), all).await.unwrap();
    assert_eq!(store.execution(&scope(&user), first.id).await.unwrap(), Some(first.clone()));
    let list = |filter| {
        let (store, user) = (store.clone(), user.clone());
        async move { store.executions(&scope(&user), filter, Page::first(9)).await.unwrap() }
    };
    assert_eq!(list(ExecutionFilter::default()).await, [second.clone(), first.clone()]);
    assert_eq!(
        list(ExecutionFilter { conversation: Some(conversation.id), ..Default::default() }).await,
        [first.clone()]
    );
    assert_eq!(
        list(ExecutionFilter { agent: Some(AgentKind::Validation), ..Default::default() }).await,
        [second.clone()]
    );
    assert_eq!(list(ExecutionFilter { since: Some(at(2)), ..Default::default() }).await, [second]);
}

pub(super) async fn invocations_are_filtered(store: Arc<dyn Store>) {
    let user = user();
    let (one, other) = (registered(&*store, "one").await, registered(&*store, "other").await);
    let run = execution(&user, None, AgentKind::Orchestrator, 1, 150);
    let calls = [
        invocation(&user, Some(run.id), one.id, 1, 10, Outcome::Success),
        invocation(&user, None, one.id, 2, 20, Outcome::Timeout),
        invocation(&user, None, other.id, 3, 30, Outcome::Unknown),
    ];
    let all = calls.iter().fold(commit(&user).change(Change::PutExecution(run.clone())), |all, call| {
        all.change(Change::PutInvocation(call.clone()))
    });
    store.commit(&scope(&user), all).await.unwrap();
    let list = |filter| {
        let (store, user) = (store.clone(), user.clone());
        async move { store.invocations(&scope(&user), filter, Page::first(9)).await.unwrap() }
    };
    assert_eq!(list(InvocationFilter::default()).await, calls);
    assert_eq!(list(InvocationFilter { execution: Some(run.id), ..Default::default() }).await, calls[..1]);
    assert_eq!(
        list(InvocationFilter { tool: Some(one.id), since: Some(at(2)), ..Default::default() }).await,
        calls[1..2]
    );
    assert_eq!(
        list(InvocationFilter { status: Some(Outcome::Unknown), ..Default::default() }).await,
        calls[2..]
    );
}

pub(super) async fn analytics_agree_with_hand_counts(store: Arc<dyn Store>) {
    let user = user();
    let tool = registered(&*store, "measured").await;
    let mut all = commit(&user);
    for i in 1..=100 {
        let outcome = if i % 10 == 0 { Outcome::Error } else { Outcome::Success };
        all = all.change(Change::PutInvocation(invocation(&user, None, tool.id, i, i, outcome)));
        all = all.change(Change::PutExecution(execution(&user, None, AgentKind::ErrorRecovery, i, 2 * i)));
    }
    // Outside the window: must not count.
    all = all.change(Change::PutInvocation(invocation(&user, None, tool.id, 1000, 9999, Outcome::Success)));
    store.commit(&scope(&user), all).await.unwrap();
    let analytics = store.analytics(&scope(&user), at(1), at(101)).await.unwrap();
    let usage = analytics.tools.iter().find(|usage| usage.name == tool.tool_name.as_str()).unwrap();
    assert_eq!((usage.calls, usage.successes), (100, 90));
    assert!((usage.success_rate - 0.9).abs() < 1e-9 && (usage.mean_ms - 50.5).abs() < 1e-9, "{usage:?}");
    assert!((usage.p95_ms - 95.05).abs() < 1e-9, "percentile_cont(0.95) of 1..100 is 95.05: {usage:?}");
    let agents = &analytics.agents;
    assert_eq!((agents.len(), agents[0].name.as_str(), agents[0].calls), (1, "error_recovery", 100));
    assert!((agents[0].p95_ms - 190.1).abs() < 1e-9, "{agents:?}");
}

pub(super) async fn records_are_immutable(store: Arc<dyn Store>) {
    let user = user();
    let run = execution(&user, None, AgentKind::Orchestrator, 1, 150);
    store.commit(&scope(&user), commit(&user).change(Change::PutExecution(run.clone()))).await.unwrap();
    let changed = run.clone().with(|run| run.output_data = serde_json::json!("something else")).unwrap();
    assert!(store.commit(&scope(&user), commit(&user).change(Change::PutExecution(changed))).await.is_err());
    assert_eq!(store.execution(&scope(&user), run.id).await.unwrap(), Some(run));
}
