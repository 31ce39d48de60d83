//! `steward recipes`: plans of earlier questions that are reused.

use super::Context;
use crate::error::Failure;
use crate::output::{document, say, short, table};
use clap::Subcommand;
use steward_domain::RecipeId;
use steward_store::{Error, Page};

#[derive(Subcommand)]
pub(crate) enum Recipes {
    /// Lists recipes, last used first.
    List {
        /// Maximum number.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Shows a recipe with its plan.
    Show {
        /// The recipe.
        id: RecipeId,
    },
    /// Deletes a recipe: the next such question is planned again.
    Delete {
        /// The recipe.
        id: RecipeId,
    },
}

pub(super) async fn run(context: &Context, command: Recipes) -> Result<(), Failure> {
    let opened = context.open().await?;
    match command {
        Recipes::List { limit } => {
            let found = opened.store.recipes(&context.scope, Page::first(limit)).await?;
            if context.json {
                document(&found);
                return Ok(());
            }
            let row = |recipe: &steward_domain::Recipe| {
                vec![
                    recipe.recipe_id.to_string(),
                    short(recipe.intent_template.as_str(), 70),
                    recipe.success_count.to_string(),
                    recipe.last_used_at.to_string(),
                ]
            };
            let rows = found.iter().map(|recipe| row(recipe)).collect();
            table(&["recipe", "question", "uses", "last used"], rows, "no recipes yet");
        }
        Recipes::Show { id } => {
            let missing = || Error::NotFound { what: "recipe", id: id.to_string() };
            let found = opened.store.recipe(&context.scope, id).await?.ok_or_else(missing)?;
            document(&found);
        }
        Recipes::Delete { id } => {
            steward_runtime::delete_recipe(&*opened.store, &context.scope, id, "cli").await?;
            say(format!("deleted {id}"));
        }
    }
    Ok(())
}
