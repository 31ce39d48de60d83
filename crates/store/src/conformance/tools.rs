//! Tool definitions.

use super::samples::*;
use crate::{Change, Error, Page, Scope, Store};
use std::sync::Arc;
use steward_domain::*;

async fn put(store: &dyn Store, tool: ToolDefinition) -> Valid<ToolDefinition> {
    let tool = tool.validate().unwrap();
    store.commit(&Scope::System, commit(&user()).change(Change::PutTool(tool.clone()))).await.unwrap();
    tool
}

fn version(text: &str) -> SemanticVersion {
    SemanticVersion::new(text).unwrap()
}

/// A new, unique domain.
fn domain() -> String {
    format!("d{}", uuid().simple())
}

pub(super) async fn a_name_has_versions(store: Arc<dyn Store>) {
    let old =
        put(&*store, ToolDefinition { tool_version: version("1.9.0"), ..tool("versioned", "todo", None) })
            .await;
    let newer =
        ToolDefinition { id: uuid().into(), tool_version: version("1.10.0"), ..old.clone().into_inner() };
    let newer = put(&*store, newer).await;
    let get = |wanted: Option<&'static str>| {
        let (store, name) = (store.clone(), old.tool_name.clone());
        async move { store.tool(&name, wanted.map(version).as_ref()).await.unwrap() }
    };
    assert_eq!(get(None).await, Some(newer.clone()), "1.10 is newer than 1.9");
    assert_eq!(get(Some("1.9.0")).await, Some(old.clone()));
    assert_eq!(get(Some("2.0.0")).await, None);
    let same = ToolDefinition { id: uuid().into(), ..newer.into_inner() }.validate().unwrap();
    let refused = store.commit(&Scope::System, commit(&user()).change(Change::PutTool(same))).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "name and version are unique: {refused:?}");
}

pub(super) async fn retired_tools_are_gone_but_kept(store: Arc<dyn Store>) {
    let (domain, user) = (domain(), user());
    let tool = put(&*store, tool("retired", &domain, Some(vec![1.0, 0.0]))).await;
    let call = invocation(&user, None, tool.id, 1, 5, Outcome::Success);
    store.commit(&scope(&user), commit(&user).change(Change::PutInvocation(call))).await.unwrap();
    store
        .commit(&Scope::System, commit(&user).change(Change::RetireTool { id: tool.id, at: at(9) }))
        .await
        .unwrap();
    let name = DomainName::new(&domain).unwrap();
    assert!(store.tools(Some(&name), Page::first(9)).await.unwrap().is_empty());
    assert!(store.nearest_tools(&[1.0, 0.0], Some(&name), 5).await.unwrap().is_empty());
    assert_eq!(store.tool(&tool.tool_name, None).await.unwrap(), None);
    let kept = store.tool(&tool.tool_name, Some(&tool.tool_version)).await.unwrap().unwrap();
    assert!(!kept.is_active && kept.updated_at == at(9));
    let usage = store.analytics(&scope(&user), at(0), at(9)).await.unwrap().tools;
    assert_eq!(usage[0].name, tool.tool_name.as_str(), "history stays");
}

pub(super) async fn nearest_tools_are_the_nearest(store: Arc<dyn Store>) {
    let (mine, other) = (domain(), domain());
    let angle = |degrees: f32| vec![degrees.to_radians().cos(), degrees.to_radians().sin(), 0.0];
    for degrees in [80.0, 10.0, 40.0, 0.0, 170.0, 20.0] {
        put(
            &*store,
            ToolDefinition {
                metadata: object(serde_json::json!({ "degrees": degrees })),
                ..tool("near", &mine, Some(angle(degrees).iter().map(|x| x * 3.0).collect()))
            },
        )
        .await;
    }
    put(&*store, tool("near", &other, Some(angle(0.0)))).await;
    let name = DomainName::new(&mine).unwrap();
    let found = store.nearest_tools(&angle(0.0), Some(&name), 5).await.unwrap();
    let degrees: Vec<f64> =
        found.iter().map(|near| near.item.metadata["degrees"].as_f64().unwrap()).collect();
    assert_eq!(degrees, [0.0, 10.0, 20.0, 40.0, 80.0]);
    for near in &found {
        let expected = 1.0 - near.item.metadata["degrees"].as_f64().unwrap().to_radians().cos();
        assert!((f64::from(near.distance) - expected).abs() < 1e-5, "{} is not {expected}", near.distance);
    }
    // A new tool is found at once.
    put(
        &*store,
        ToolDefinition {
            metadata: object(serde_json::json!({ "degrees": 5.0 })),
            ..tool("near", &mine, Some(angle(5.0)))
        },
    )
    .await;
    let found = store.nearest_tools(&angle(6.0), Some(&name), 1).await.unwrap();
    assert_eq!(found[0].item.metadata["degrees"], 5.0);
}

pub(super) async fn widths_of_two_models_live_side_by_side(store: Arc<dyn Store>) {
    let name = domain();
    let narrow = put(&*store, tool("narrow", &name, Some(vec![1.0, 0.0]))).await;
    let wide = put(&*store, tool("wide", &name, Some(vec![1.0; 1536]))).await;
    // Wider than pgvector can index, and larger than a page of either database.
    let widest = put(&*store, tool("widest", &name, Some(vec![1.0; 3072]))).await;
    put(&*store, tool("none", &name, None)).await;
    let name = DomainName::new(&name).unwrap();
    for (meaning, expected) in
        [(vec![0.5, 0.1], &narrow), (vec![0.5; 1536], &wide), (vec![0.5; 3072], &widest)]
    {
        let found = store.nearest_tools(&meaning, Some(&name), 5).await.unwrap();
        assert_eq!(found.iter().map(|near| near.item.id).collect::<Vec<_>>(), [expected.id]);
    }
    assert!(
        store.nearest_tools(&[0.5; 7], Some(&name), 5).await.unwrap().is_empty(),
        "no tool has this width"
    );
    assert_eq!(store.tools(Some(&name), Page::first(9)).await.unwrap().len(), 4);
}

pub(super) async fn users_may_not_write_tools(store: Arc<dyn Store>) {
    let user = user();
    let tool = tool("forged", "todo", None).validate().unwrap();
    let refused = store.commit(&scope(&user), commit(&user).change(Change::PutTool(tool))).await;
    assert!(matches!(refused, Err(Error::OtherOwner)), "{refused:?}");
}
