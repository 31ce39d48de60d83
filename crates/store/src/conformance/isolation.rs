//! Two users in one store: neither can read or change the other's rows.

use super::samples::*;
use crate::audit::{export, prove};
use crate::{
    Change, Commit, ConversationFilter, EntitySearch, ExecutionFilter, InvocationFilter, Page, Scope, Store,
    TaskFilter,
};
use serde_json::json;
use std::sync::Arc;
use steward_domain::*;
use steward_journal::note::NoteSigner;

/// One row of each kind of a user, with their ids.
pub struct UserFixture {
    pub user: UserId,
    conversation: ConversationId,
    execution: ExecutionId,
    recipe: RecipeId,
    schema: Sha256Hex,
    pub task: TaskId,
}

/// Fills the store with one of each for a new user.
pub async fn settle(store: &dyn Store) -> UserFixture {
    let user = user();
    let (conversation, schema, task) = (conversation(&user), fingerprint(), task(&user, 1));
    let (run, recipe) = (
        execution(&user, Some(conversation.id), AgentKind::Orchestrator, 1, 9),
        recipe(&user, &schema, vec![1.0, 0.0]),
    );
    let tool = tool("shared", "todo", None).validate().unwrap();
    store.commit(&Scope::System, commit(&user).change(Change::PutTool(tool.clone()))).await.unwrap();
    let id = task.id;
    let request = json!({ "request_id": id, "user_id": user, "intent": "q", "data_sources": [{ "type": "csv", "file_path": "a.csv" }], "timestamp": at(1) });
    let plan = json!({ "plan_id": uuid(), "request_id": id, "subtasks": [{ "task_id": "a", "description": "", "tool_name": "sql.run" }], "total_estimated_seconds": 0.0, "created_at": at(1) });
    let checkpoint = json!({ "checkpoint_id": uuid(), "task_id": id, "state": { "messages": [], "current_agent": "a" }, "position": "a", "sequence": 0, "created_at": at(1) });
    let session = json!({ "session_id": uuid(), "parent_task_id": id, "agent_name": "a", "task_description": "x", "message_history": [], "status": "running", "created_at": at(1) });
    let artifact = json!({ "artifact_id": uuid(), "request_id": id, "artifact_type": "table", "content_ref": "a.csv", "content_hash": schema, "size_bytes": 1, "created_at": at(1) });
    let mut entry = draft(EventType::RequestSubmitted, json!({}));
    entry.personal.insert("intent".into(), json!("secret"));
    let all = Commit::new(user.clone(), id)
        .entry(entry)
        .change(Change::PutConversation(conversation.clone()))
        .change(Change::AppendMessage(message(conversation.id, "secret", 1)))
        .change(mention(conversation.id, "task", "1", Some("secret"), 1))
        .change(Change::PutExecution(run.clone()))
        .change(Change::PutInvocation(invocation(&user, Some(run.id), tool.id, 1, 5, Outcome::Success)))
        .change(Change::PutRecipe(recipe.clone()))
        .change(Change::PutTask(task))
        .change(Change::PutRequest(parse(&request.to_string()).unwrap()))
        .change(Change::PutPlan(parse(&plan.to_string()).unwrap()))
        .change(Change::PutCheckpoint(parse(&checkpoint.to_string()).unwrap()))
        .change(Change::PutSession(parse(&session.to_string()).unwrap()))
        .change(Change::PutArtifact(parse(&artifact.to_string()).unwrap()));
    store.commit(&scope(&user), all).await.unwrap();
    UserFixture {
        user,
        conversation: conversation.id,
        execution: run.id,
        recipe: recipe.recipe_id,
        schema,
        task: id,
    }
}

/// The number of rows of this fixture that each query of the interface returns in this scope.
pub async fn visible(store: &dyn Store, scope: &Scope, of: &UserFixture) -> Vec<(&'static str, usize)> {
    let page = Page::first(100);
    let belongs = |user: &UserId| *user == of.user;
    let mut sink = Vec::new();
    let signer = NoteSigner::new("steward.log/test", &[1; 32]).unwrap();
    vec![
        ("conversation", usize::from(store.conversation(scope, of.conversation).await.unwrap().is_some())),
        (
            "conversations",
            store
                .conversations(scope, ConversationFilter::default(), page)
                .await
                .unwrap()
                .iter()
                .filter(|c| belongs(&c.user_id))
                .count(),
        ),
        ("window", store.window(scope, of.conversation, 10).await.unwrap().len()),
        ("history", store.history(scope, of.conversation, page).await.unwrap().len()),
        ("entities", store.entities(scope, of.conversation, EntitySearch::Recent, 10).await.unwrap().len()),
        (
            "entities by name",
            store
                .entities(scope, of.conversation, EntitySearch::Named("secret".into()), 10)
                .await
                .unwrap()
                .len(),
        ),
        (
            "entities by type",
            store
                .entities(scope, of.conversation, EntitySearch::OfType(EntityType::new("task").unwrap()), 10)
                .await
                .unwrap()
                .len(),
        ),
        ("execution", usize::from(store.execution(scope, of.execution).await.unwrap().is_some())),
        (
            "executions",
            store
                .executions(
                    scope,
                    ExecutionFilter { conversation: Some(of.conversation), ..Default::default() },
                    page,
                )
                .await
                .unwrap()
                .len(),
        ),
        (
            "invocations",
            store
                .invocations(
                    scope,
                    InvocationFilter { execution: Some(of.execution), ..Default::default() },
                    page,
                )
                .await
                .unwrap()
                .len(),
        ),
        ("recipe", usize::from(store.recipe(scope, of.recipe).await.unwrap().is_some())),
        ("recipes", store.recipes(scope, page).await.unwrap().iter().filter(|r| belongs(&r.user_id)).count()),
        ("nearest_recipes", store.nearest_recipes(scope, &of.schema, &[1.0, 0.0], 3).await.unwrap().len()),
        ("task", usize::from(store.task(scope, of.task).await.unwrap().is_some())),
        (
            "tasks",
            store
                .tasks(scope, TaskFilter::default(), page)
                .await
                .unwrap()
                .iter()
                .filter(|t| belongs(&t.user_id))
                .count(),
        ),
        ("request", usize::from(store.request(scope, of.task).await.unwrap().is_some())),
        ("plans", store.plans(scope, of.task).await.unwrap().len()),
        ("checkpoints", store.checkpoints(scope, of.task).await.unwrap().len()),
        ("sessions", store.sessions(scope, of.task).await.unwrap().len()),
        ("artifacts", store.artifacts(scope, of.task).await.unwrap().len()),
        ("chain", usize::from(store.chain(scope, of.task.into()).await.unwrap().is_some())),
        (
            "chains",
            store
                .chains(scope, None, u32::MAX)
                .await
                .unwrap()
                .iter()
                .filter(|tip| tip.chain == of.task.into())
                .count(),
        ),
        ("entries", store.entries(scope, of.task.into(), 0, 9).await.unwrap().len()),
        ("payloads", store.payloads(scope, of.task.into()).await.unwrap().len()),
        ("export", usize::from(export(store, scope, of.task.into(), &signer, &mut sink).await.is_ok())),
        ("prove", usize::from(prove(store, scope, of.task.into(), 1, None).await.is_ok())),
    ]
}

pub(super) async fn no_query_shows_another_users_rows(store: Arc<dyn Store>) {
    store.head().await.unwrap();
    let (mine, theirs) = (settle(&*store).await, settle(&*store).await);
    store.head().await.unwrap();
    for (query, rows) in visible(&*store, &scope(&mine.user), &mine).await {
        assert_eq!(rows, 1, "{query} must show what is mine");
    }
    for (query, rows) in visible(&*store, &scope(&mine.user), &theirs).await {
        assert_eq!(rows, 0, "{query} must not show what is theirs");
    }
    for (query, rows) in visible(&*store, &Scope::System, &theirs).await {
        assert!(
            rows == 1 || ["conversations", "recipes", "tasks"].contains(&query),
            "{query} must show the system everything"
        );
    }
    let usage = store.analytics(&scope(&mine.user), at(0), at(9)).await.unwrap();
    assert_eq!(
        usage.tools.iter().map(|usage| usage.calls).sum::<u64>(),
        1,
        "analytics count only what is mine"
    );
}

pub(super) async fn writes_into_another_users_rows_are_refused(store: Arc<dyn Store>) {
    let (mine, theirs) = (settle(&*store).await, settle(&*store).await);
    let me = &mine.user;
    let forged = |mut value: serde_json::Value| {
        value["user_id"] = json!(me);
        value.to_string()
    };
    let their_scope = scope(&theirs.user);
    let conversation =
        serde_json::to_value(store.conversation(&their_scope, theirs.conversation).await.unwrap().unwrap())
            .unwrap();
    let task = serde_json::to_value(store.task(&their_scope, theirs.task).await.unwrap().unwrap()).unwrap();
    let recipe =
        serde_json::to_value(store.recipe(&their_scope, theirs.recipe).await.unwrap().unwrap()).unwrap();
    let payload = store.payloads(&their_scope, theirs.task.into()).await.unwrap()[0].id;
    let attempts = vec![
        Change::PutConversation(parse(&conversation.to_string()).unwrap()),
        Change::PutConversation(parse(&forged(conversation)).unwrap()),
        Change::SetConversationStatus {
            id: theirs.conversation,
            status: ConversationStatus::Deleted,
            at: at(9),
        },
        Change::AppendMessage(message(theirs.conversation, "intruder", 9)),
        mention(theirs.conversation, "task", "1", Some("intruder"), 9),
        Change::PutExecution(execution(me, Some(theirs.conversation), AgentKind::Validation, 9, 1)),
        Change::PutInvocation(invocation(me, Some(theirs.execution), uuid().into(), 9, 1, Outcome::Success)),
        Change::PutTask(parse(&task.to_string()).unwrap()),
        Change::PutTask(parse(&forged(task)).unwrap()),
        Change::PutRecipe(parse(&forged(recipe)).unwrap()),
        Change::UseRecipe { id: theirs.recipe, at: at(9) },
        Change::DeleteRecipe { id: theirs.recipe },
        Change::PutPlan(store.plans(&their_scope, theirs.task).await.unwrap().remove(0)),
        Change::PutCheckpoint(store.checkpoints(&their_scope, theirs.task).await.unwrap().remove(0)),
        Change::PutSession(store.sessions(&their_scope, theirs.task).await.unwrap().remove(0)),
        Change::PutArtifact(store.artifacts(&their_scope, theirs.task).await.unwrap().remove(0)),
        Change::ErasePayload { id: payload, at: at(9) },
        Change::Enqueue { task: theirs.task, ready_at: at(9) },
        Change::Dequeue { task: theirs.task },
    ];
    for attempt in attempts {
        let label = format!("{attempt:.60?}");
        let result = store.commit(&scope(me), commit(me).change(attempt)).await;
        assert!(result.is_err(), "{label} must be refused");
    }
    assert_eq!(store.window(&their_scope, theirs.conversation, 9).await.unwrap().len(), 1);
    assert_eq!(
        store.conversation(&their_scope, theirs.conversation).await.unwrap().unwrap().status,
        ConversationStatus::Active
    );
}
