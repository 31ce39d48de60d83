//! Management of recipes: plans that worked before and are reused.
//!
//! Invariant: the deletion of a recipe is journalled, in the transaction that deletes it.

use crate::error::Result;
use crate::journal_writer::JournalWriter;
use serde_json::Map;
use steward_domain::{ChainId, EventType, Label, RecipeId};
use steward_journal::Draft;
use steward_store::{Change, Commit, Error, Scope, Store};

/// Deletes a recipe in `scope`. `surface` names the origin of the request, for the journal.
pub async fn delete_recipe(store: &dyn Store, scope: &Scope, id: RecipeId, surface: &str) -> Result<()> {
    let missing = || Error::NotFound { what: "recipe", id: id.to_string() };
    let found = store.recipe(scope, id).await?.ok_or_else(missing)?;
    let data = Map::from_iter([("recipe".to_owned(), id.to_string().into())]);
    let entry = Draft::new(EventType::RecipeDeleted, Label::new(surface)?, data);
    let commit = Commit::new(found.user_id.clone(), ChainId(id.0)).entry(entry);
    let scope = Scope::User(found.user_id.clone());
    JournalWriter::write_once(store, &scope, commit.change(Change::DeleteRecipe { id })).await?;
    Ok(())
}
