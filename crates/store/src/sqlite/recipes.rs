//! Recipes.

use super::changes::touched;
use super::journal::user;
use super::vectors::Vectors;
use crate::error::{Error, Result};
use crate::query::{Nearest, Page, Scope};
use crate::words::{from_json, int, json, uint, vector_bytes, vector_from_bytes};
use rusqlite::{Connection, OptionalExtension, Row, params};
use steward_domain::{Check, Recipe, RecipeId, Sha256Hex, Template, Timestamp, UserId, Valid};

pub(super) fn put(db: &Connection, owner: &UserId, recipe: &Valid<Recipe>) -> Result<()> {
    if recipe.user_id != *owner {
        return Err(Error::OtherOwner);
    }
    let rows = db
        .prepare_cached(
            "INSERT INTO recipe (recipe_id, user_id, schema_fingerprint, intent_template, intent_embedding, \
                plan_structure,
                 tool_argument_templates, success_count, created_at, last_used_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (recipe_id) DO UPDATE SET schema_fingerprint = excluded.schema_fingerprint,
                 intent_template = excluded.intent_template, intent_embedding = excluded.intent_embedding,
                 plan_structure = excluded.plan_structure, tool_argument_templates = \
                 excluded.tool_argument_templates,
                 success_count = excluded.success_count, last_used_at = excluded.last_used_at
             WHERE recipe.user_id = excluded.user_id",
        )?
        .execute(params![
            recipe.recipe_id.0,
            owner.as_str(),
            recipe.schema_fingerprint.as_str(),
            recipe.intent_template.as_str(),
            vector_bytes(&recipe.intent_embedding),
            json(&recipe.plan_structure)?,
            json(&recipe.tool_argument_templates)?,
            int(recipe.success_count),
            recipe.created_at.micros(),
            recipe.last_used_at.micros(),
        ])?;
    touched(rows)
}

pub(super) fn used(db: &Connection, owner: &UserId, id: RecipeId, at: Timestamp) -> Result<()> {
    let rows = db
        .prepare_cached(
            "UPDATE recipe SET success_count = success_count + 1, last_used_at = max(last_used_at, ?2) WHERE \
                recipe_id = ?1 AND user_id = ?3",
        )?
        .execute(params![id.0, at.micros(), owner.as_str()])?;
    if rows == 1 { Ok(()) } else { Err(Error::NotFound { what: "recipe", id: id.to_string() }) }
}

pub(super) fn delete(db: &Connection, owner: &UserId, id: RecipeId) -> Result<()> {
    let rows = db
        .prepare_cached("DELETE FROM recipe WHERE recipe_id = ?1 AND user_id = ?2")?
        .execute(params![id.0, owner.as_str()])?;
    if rows == 1 { Ok(()) } else { Err(Error::NotFound { what: "recipe", id: id.to_string() }) }
}

const RECIPE: &str = "recipe_id, user_id, schema_fingerprint, intent_template, intent_embedding, \
    plan_structure, tool_argument_templates,
    success_count, created_at, last_used_at";

fn row_recipe(row: &Row<'_>) -> Result<Valid<Recipe>> {
    let recipe = Recipe {
        recipe_id: RecipeId(row.get(0)?),
        user_id: UserId::new(row.get::<_, String>(1)?)?,
        schema_fingerprint: Sha256Hex::new(row.get::<_, String>(2)?)?,
        intent_template: Template::new(row.get::<_, String>(3)?)?,
        intent_embedding: vector_from_bytes(&row.get::<_, Vec<u8>>(4)?),
        plan_structure: from_json(&row.get::<_, String>(5)?)?,
        tool_argument_templates: from_json(&row.get::<_, String>(6)?)?,
        success_count: uint(row.get(7)?)?,
        created_at: Timestamp::from_micros(row.get(8)?),
        last_used_at: Timestamp::from_micros(row.get(9)?),
    };
    Ok(recipe.validate()?)
}

pub(super) fn one(db: &Connection, scope: &Scope, id: RecipeId) -> Result<Option<Valid<Recipe>>> {
    db.prepare_cached(&format!(
        "SELECT {RECIPE} FROM recipe WHERE recipe_id = ?1 AND (?2 IS NULL OR user_id = ?2)"
    ))?
    .query_row(params![id.0, user(scope)], |row| Ok(row_recipe(row)))
    .optional()?
    .transpose()
}

pub(super) fn list(db: &Connection, scope: &Scope, page: Page) -> Result<Vec<Valid<Recipe>>> {
    db.prepare_cached(&format!(
        "SELECT {RECIPE} FROM recipe WHERE (?1 IS NULL OR user_id = ?1) ORDER BY last_used_at DESC, \
            recipe_id LIMIT ?2 OFFSET ?3"
    ))?
    .query_map(params![user(scope), page.limit, page.offset], |row| Ok(row_recipe(row)))?
    .map(|recipe| recipe?)
    .collect()
}

pub(super) fn nearest(
    db: &Connection,
    scope: &Scope,
    schema: &Sha256Hex,
    meaning: &[f32],
    limit: u32,
) -> Result<Vec<Nearest<Valid<Recipe>>>> {
    let mut statement = db.prepare_cached(
        "SELECT recipe_id, intent_embedding FROM recipe WHERE schema_fingerprint = ?1 AND (?2 IS NULL OR \
            user_id = ?2)
         ORDER BY success_count DESC, recipe_id",
    )?;
    let mut rows = statement.query(params![schema.as_str(), user(scope)])?;
    let mut vectors = Vectors::default();
    while let Some(row) = rows.next()? {
        vectors.push(row.get(0)?, String::new(), &vector_from_bytes(&row.get::<_, Vec<u8>>(1)?));
    }
    let found = vectors.nearest(meaning, None, limit as usize).into_iter();
    found
        .filter_map(|(id, distance)| {
            one(db, scope, RecipeId(id)).transpose().map(|item| Ok(Nearest { item: item?, distance }))
        })
        .collect()
}
