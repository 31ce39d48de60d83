//! Recipes.

use super::samples::*;
use crate::{Change, Page, Store};
use std::sync::Arc;

pub(super) async fn recipes_are_found_by_schema_then_meaning(store: Arc<dyn Store>) {
    let (user, schema) = (user(), fingerprint());
    let near = recipe(&user, &schema, vec![1.0, 0.1]);
    let far = recipe(&user, &schema, vec![0.0, 1.0]);
    let elsewhere = recipe(&user, &fingerprint(), vec![1.0, 0.0]);
    let all = [&far, &near, &elsewhere]
        .into_iter()
        .fold(commit(&user), |all, recipe| all.change(Change::PutRecipe(recipe.clone())));
    store.commit(&scope(&user), all).await.unwrap();
    let found = store.nearest_recipes(&scope(&user), &schema, &[1.0, 0.0], 3).await.unwrap();
    assert_eq!(found.iter().map(|near| &near.item).collect::<Vec<_>>(), [&near, &far]);
    assert!(found[0].distance < 0.01 && (found[1].distance - 1.0).abs() < 1e-5);
    assert!(
        store.nearest_recipes(&scope(&user), &schema, &[1.0, 0.0, 0.0], 3).await.unwrap().is_empty(),
        "another model's space"
    );
}

pub(super) async fn using_a_recipe_counts(store: Arc<dyn Store>) {
    let user = user();
    let recipe = recipe(&user, &fingerprint(), vec![1.0]);
    store.commit(&scope(&user), commit(&user).change(Change::PutRecipe(recipe.clone()))).await.unwrap();
    for seconds in [5, 3] {
        let used = Change::UseRecipe { id: recipe.recipe_id, at: at(seconds) };
        store.commit(&scope(&user), commit(&user).change(used)).await.unwrap();
    }
    let known = store.recipe(&scope(&user), recipe.recipe_id).await.unwrap().unwrap();
    assert_eq!((known.success_count, known.last_used_at), (3, at(5)));
    assert_eq!(store.recipes(&scope(&user), Page::first(5)).await.unwrap(), [known]);
    let gone = || commit(&user).change(Change::DeleteRecipe { id: recipe.recipe_id });
    store.commit(&scope(&user), gone()).await.unwrap();
    assert_eq!(store.recipe(&scope(&user), recipe.recipe_id).await.unwrap(), None);
    assert!(store.commit(&scope(&user), gone()).await.is_err(), "it is deleted once");
}
