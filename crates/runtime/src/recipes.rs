//! Recipes that a person manages: plans that worked before and are used again.
//!
//! Invariant: a recipe that is deleted leaves an entry in the journal, in the transaction that
//! deletes it.

use crate::error::Result;
use crate::journal_writer::JournalWriter;
use serde_json::Map;
use steward_domain::{ChainId, EventType, Label, RecipeId};
use steward_journal::Draft;
use steward_store::{Change, Commit, Error, Scope, Store};

/// Deletes a recipe that `scope` sees. `surface` names where the request came from, for the
/// journal.
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
