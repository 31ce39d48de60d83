//! Tasks, requests, plans, checkpoints, sessions, artifacts.

use super::samples::*;
use crate::{Change, Error, Page, Store, TaskFilter};
use std::sync::Arc;
use steward_domain::*;

pub(super) async fn tasks_move_and_are_filtered(store: Arc<dyn Store>) {
    let user = user();
    let (first, second) = (task(&user, 1), task(&user, 2));
    let all = commit(&user).change(Change::PutTask(first.clone())).change(Change::PutTask(second.clone()));
    store.commit(&scope(&user), all).await.unwrap();
    let done = first.start(at(3)).unwrap().complete("42".into(), at(4)).unwrap();
    store.commit(&scope(&user), commit(&user).change(Change::PutTask(done.clone()))).await.unwrap();
    assert_eq!(store.task(&scope(&user), done.id).await.unwrap(), Some(done.clone()));
    let list = |status| {
        let (store, user) = (store.clone(), user.clone());
        async move { store.tasks(&scope(&user), TaskFilter { status }, Page::first(9)).await.unwrap() }
    };
    assert_eq!(list(None).await, [second.clone(), done.clone()]);
    assert_eq!(list(Some(TaskStatus::Completed)).await, [done]);
    assert_eq!(list(Some(TaskStatus::Pending)).await, [second]);
}

fn checkpoint(task: TaskId, sequence: u64) -> Valid<Checkpoint> {
    let state = State {
        messages: Vec::new(),
        next_action: None,
        current_agent: AgentName::new("analyst").unwrap(),
        routing_key: None,
        metadata: object(serde_json::json!({ "n": sequence })),
    };
    let draft = Checkpoint {
        checkpoint_id: uuid().into(),
        task_id: task,
        state,
        position: NodeName::new("review").unwrap(),
        sequence,
        created_at: at(1),
        awaiting_human: true,
        resumed_at: None,
    };
    draft.validate().unwrap()
}

pub(super) async fn checkpoints_are_in_order_and_unique(store: Arc<dyn Store>) {
    let user = user();
    let task = task(&user, 1);
    let saved: Vec<_> = (0..3).map(|sequence| checkpoint(task.id, sequence)).collect();
    let all = saved
        .iter()
        .rev()
        .fold(commit(&user), |all, checkpoint| all.change(Change::PutCheckpoint(checkpoint.clone())));
    store.commit(&scope(&user), all).await.unwrap();
    assert_eq!(store.checkpoints(&scope(&user), task.id).await.unwrap(), saved);
    let twice = store
        .commit(&scope(&user), commit(&user).change(Change::PutCheckpoint(checkpoint(task.id, 1))))
        .await;
    assert!(matches!(twice, Err(Error::Conflict { .. })), "{twice:?}");
}

pub(super) async fn the_papers_of_a_request_come_back(store: Arc<dyn Store>) {
    let user = user();
    let id = TaskId(uuid());
    let request = AnalysisRequest {
        request_id: id,
        user_id: user.clone(),
        intent: Question::new("Analyze Q1 2021 Arizona sales; trends + charts").unwrap(),
        data_sources: vec![DataSource {
            kind: SourceKind::Csv,
            connection_string: None,
            file_path: Some("sales.csv".into()),
            schema_fingerprint: Some(fingerprint()),
        }],
        constraints: Constraints::default(),
        deliverables: vec![Deliverable::Charts],
        policy: RequestPolicy::default(),
        timestamp: at(1),
        status: RequestStatus::Submitted,
    };
    let request = request.validate().unwrap();
    let plan = Plan {
        plan_id: uuid().into(),
        request_id: id,
        subtasks: vec![Subtask {
            task_id: NodeName::new("load").unwrap(),
            description: "Load".into(),
            tool_name: ToolName::new("sql.run").unwrap(),
            dependencies: Vec::new(),
            invariants: Vec::new(),
            estimated_cost_seconds: Seconds::new(2.5).unwrap(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            arguments: steward_domain::JsonObject::new(),
        }],
        total_estimated_seconds: Seconds::new(2.5).unwrap(),
        created_at: at(2),
        reasoning: "because".into(),
        status: PlanStatus::Draft,
    };
    let plan = plan.validate().unwrap();
    let session = SubAgentSession {
        session_id: uuid().into(),
        parent_task_id: id,
        agent_name: AgentName::new("writer").unwrap(),
        task_description: Description::new("Write it up").unwrap(),
        message_history: Vec::new(),
        summary: Some("done".into()),
        status: SubAgentStatus::Completed,
        created_at: at(3),
    };
    let session = session.validate().unwrap();
    let artifact = Artifact {
        artifact_id: uuid().into(),
        request_id: id,
        artifact_type: ArtifactKind::Chart,
        content_ref: format!("artifacts/charts/{id}/trend.png"),
        content_hash: fingerprint(),
        metadata: object(serde_json::json!({ "chart_type": "line" })),
        size_bytes: 12_345,
        created_at: at(4),
    };
    let artifact = artifact.validate().unwrap();
    let all = commit(&user)
        .change(Change::PutRequest(request.clone()))
        .change(Change::PutPlan(plan.clone()))
        .change(Change::PutSession(session.clone()))
        .change(Change::PutArtifact(artifact.clone()));
    store.commit(&scope(&user), all).await.unwrap();
    assert_eq!(store.request(&scope(&user), id).await.unwrap(), Some(request.clone()));
    assert_eq!(store.plans(&scope(&user), id).await.unwrap(), [plan]);
    assert_eq!(store.sessions(&scope(&user), id).await.unwrap(), [session]);
    assert_eq!(store.artifacts(&scope(&user), id).await.unwrap(), [artifact]);
    let moved = request.with(|request| request.status = RequestStatus::Planning).unwrap();
    store.commit(&scope(&user), commit(&user).change(Change::PutRequest(moved.clone()))).await.unwrap();
    assert_eq!(store.request(&scope(&user), id).await.unwrap(), Some(moved));
}
