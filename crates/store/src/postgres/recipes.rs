//! Recipes.

use super::changes::touched;
use super::connection::Tx;
use super::conversations::{structure, time};
use crate::error::{Error, Result};
use crate::query::{Nearest, Page};
use crate::words::{int, uint};
use pgvector::Vector;
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use steward_domain::{Check, Recipe, RecipeId, Sha256Hex, Template, Timestamp, UserId, Valid};

pub(super) async fn put(tx: &mut Tx, owner: &UserId, recipe: &Valid<Recipe>) -> Result<()> {
    if recipe.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    let done = sqlx::query(
        "INSERT INTO recipe (recipe_id, user_id, schema_fingerprint, intent_template, intent_embedding, \
            plan_structure,
             tool_argument_templates, success_count, created_at, last_used_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (recipe_id) DO UPDATE SET schema_fingerprint = excluded.schema_fingerprint,
             intent_template = excluded.intent_template, intent_embedding = excluded.intent_embedding,
             plan_structure = excluded.plan_structure, tool_argument_templates = excluded.tool_argument_templates,
             success_count = excluded.success_count, last_used_at = excluded.last_used_at
         WHERE recipe.user_id = excluded.user_id",
    )
    .bind(recipe.recipe_id.0)
    .bind(owner.as_str())
    .bind(recipe.schema_fingerprint.as_str())
    .bind(recipe.intent_template.as_str())
    .bind(Vector::from(recipe.intent_embedding.clone()))
    .bind(Json(&recipe.plan_structure))
    .bind(Json(&recipe.tool_argument_templates))
    .bind(int(recipe.success_count))
    .bind(recipe.created_at.to_chrono())
    .bind(recipe.last_used_at.to_chrono())
    .execute(&mut **tx)
    .await?;
    touched(done.rows_affected())
}

pub(super) async fn used(tx: &mut Tx, owner: &UserId, id: RecipeId, at: Timestamp) -> Result<()> {
    let done = sqlx::query(
        "UPDATE recipe SET success_count = success_count + 1, last_used_at = greatest(last_used_at, $2) \
            WHERE recipe_id = $1 AND user_id = $3",
    )
    .bind(id.0)
    .bind(at.to_chrono())
    .bind(owner.as_str())
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 1 {
        Ok(())
    } else {
        Err(Error::NotFound { what: "recipe", id: id.to_string() })
    }
}

pub(super) async fn delete(tx: &mut Tx, owner: &UserId, id: RecipeId) -> Result<()> {
    let done = sqlx::query("DELETE FROM recipe WHERE recipe_id = $1 AND user_id = $2")
        .bind(id.0)
        .bind(owner.as_str())
        .execute(&mut **tx)
        .await?;
    if done.rows_affected() == 1 {
        Ok(())
    } else {
        Err(Error::NotFound { what: "recipe", id: id.to_string() })
    }
}

macro_rules! select_recipe {
    ($more:literal, $rest:literal) => {
        concat!(
            "SELECT recipe_id, user_id, schema_fingerprint, intent_template, intent_embedding, \
                plan_structure, tool_argument_templates,
                 success_count, created_at, last_used_at",
            $more,
            " FROM recipe WHERE ",
            $rest
        )
    };
}

fn row_recipe(row: &PgRow) -> Result<Valid<Recipe>> {
    let recipe = Recipe {
        recipe_id: RecipeId(row.try_get(0)?),
        user_id: UserId::new(row.try_get::<String, _>(1)?)?,
        schema_fingerprint: Sha256Hex::new(row.try_get::<String, _>(2)?)?,
        intent_template: Template::new(row.try_get::<String, _>(3)?)?,
        intent_embedding: row.try_get::<Vector, _>(4)?.into(),
        plan_structure: structure(row, 5)?,
        tool_argument_templates: structure(row, 6)?,
        success_count: uint(row.try_get(7)?)?,
        created_at: time(row, 8)?,
        last_used_at: time(row, 9)?,
    };
    Ok(recipe.validate()?)
}

pub(super) async fn one(tx: &mut Tx, id: RecipeId) -> Result<Option<Valid<Recipe>>> {
    let row = sqlx::query(select_recipe!("", "recipe_id = $1")).bind(id.0).fetch_optional(&mut **tx).await?;
    row.map(|row| row_recipe(&row)).transpose()
}

pub(super) async fn list(tx: &mut Tx, page: Page) -> Result<Vec<Valid<Recipe>>> {
    sqlx::query(select_recipe!("", "TRUE ORDER BY last_used_at DESC, recipe_id LIMIT $1 OFFSET $2"))
        .bind(i64::from(page.limit))
        .bind(i64::from(page.offset))
        .fetch_all(&mut **tx)
        .await?
        .iter()
        .map(row_recipe)
        .collect()
}

pub(super) async fn nearest(
    tx: &mut Tx,
    schema: &Sha256Hex,
    meaning: &[f32],
    limit: u32,
) -> Result<Vec<Nearest<Valid<Recipe>>>> {
    // A schema has few recipes, so an exact scan needs no index.
    sqlx::query(select_recipe!(
        ", CASE WHEN vector_dims(intent_embedding) = $4 THEN intent_embedding <=> $2 END AS distance",
        "schema_fingerprint = $1 AND vector_dims(intent_embedding) = $4 ORDER BY distance, success_count \
            DESC, recipe_id LIMIT $3"
    ))
    .bind(schema.as_str())
    .bind(Vector::from(meaning.to_vec()))
    .bind(i64::from(limit))
    .bind(i32::try_from(meaning.len()).unwrap_or(0))
    .fetch_all(&mut **tx)
    .await?
    .iter()
    .map(|row| Ok(Nearest { item: row_recipe(row)?, distance: row.try_get::<f64, _>(10)? as f32 }))
    .collect()
}
