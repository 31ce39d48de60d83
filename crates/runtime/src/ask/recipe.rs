//! Recipes: a plan that worked is stored with its values as parameters, found again by meaning, and
//! run with new values.
//!
//! Invariant: a recipe is used only when the new question has the same words except for its values,
//! and every value was found in the data. Similar meaning is not enough: "total" and "average" are
//! similar.

use super::carry::{needs, node_names};
use super::plan::Work;
use super::record::Record;
use super::{Answer, AppContext, Ask};
use crate::error::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use steward_analysis::catalogue::Catalogue;
use steward_analysis::model_planner::ModelPlan;
use steward_analysis::planner::{Parameter, Reading, particulars};
use steward_analysis::tools::Workbench;
use steward_domain::{
    Check as _, PlanTemplate, Recipe, RecipeId, Sha256Hex, SubtaskTemplate, Template, ToolName, Valid,
};
use steward_store::{Change, Page, Scope};

/// The number of recent recipes that are tried before the search by meaning.
const RECENT: u32 = 50;
/// The number of similar recipes that are tried.
const NEAREST: u32 = 3;

/// The content of a recipe: the built-in planner's reading, or the plan of a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Kept {
    Reading { reading: Box<Reading> },
    Model { plan: ModelPlan, parameters: Vec<Parameter> },
}

/// A recipe that answers this question, with the values of the question.
pub(super) async fn find(
    app: &AppContext,
    ask: &Ask,
    visible: &Catalogue,
    fingerprint: &str,
) -> Option<(RecipeId, Kept)> {
    let scope = Scope::User(ask.user.clone());
    let schema = Sha256Hex::new(fingerprint).ok()?;
    let today = app.clock.now().to_chrono().date_naive();
    let fits = |recipe: &Valid<Recipe>| -> Option<(RecipeId, Kept)> {
        let template = recipe.intent_template.as_str();
        let kept =
            serde_json::from_value(Json::Object(recipe.tool_argument_templates.first()?.clone())).ok()?;
        let adapted = match kept {
            Kept::Reading { reading } => Kept::Reading {
                reading: Box::new(particulars::adapt(&ask.question, template, &reading, visible, today)?),
            },
            Kept::Model { plan, parameters } => {
                let plan =
                    particulars::adapt_plan(&ask.question, template, &plan, &parameters, visible, today)?;
                Kept::Model { plan, parameters }
            }
        };
        Some((recipe.recipe_id, adapted))
    };
    // Recent recipes first: this needs no encoder, and users often repeat a question.
    let recent = app.store.recipes(&scope, Page::first(RECENT)).await.ok()?;
    if recent.is_empty() {
        return None;
    }
    if let Some(found) = recent.iter().filter(|recipe| recipe.schema_fingerprint == schema).find_map(fits) {
        return Some(found);
    }
    let meaning = app.encoder.embed(&ask.question)?;
    let nearest = app.store.nearest_recipes(&scope, &schema, &meaning, NEAREST).await.ok()?;
    nearest.iter().find_map(|near| fits(&near.item))
}

/// Stores a successful plan, or counts a success of the recipe that was used.
pub(super) fn learn(
    app: &AppContext,
    ask: &Ask,
    work: &Work,
    bench: &Workbench,
    answer: &Answer,
    record: &mut Record,
) -> Result<()> {
    if let Some(id) = work.recipe {
        record.change(Change::UseRecipe { id, at: record.now() });
        return Ok(());
    }
    // Only confident answers with rows, and no follow-up questions, are stored.
    let empty = answer.tables.first().is_none_or(|table| table.frame.rows.is_empty());
    // A query with fixed dates would answer later questions with those dates.
    let dated = work.reading.as_ref().is_some_and(|reading| {
        let timed = reading.parameters.iter().any(|parameter| parameter.name == "time_range");
        reading.form.as_ref().is_some_and(|form| form.has_periods()) && !timed
    });
    // A model's own confidence is enough to store a recipe, but not for high confidence.
    let claimed = work.model_plan.as_ref().map_or(work.confidence, |plan| plan.confidence);
    if work.verified.is_some() || work.planner == "metric" {
        return Ok(());
    }
    if ask.conversation.is_some() || empty || dated || claimed < super::plan::SURE {
        return Ok(());
    }
    let today = record.now().to_chrono().date_naive();
    let visible = bench.session.visible(&bench.access);
    let (kept, parameters) = match (&work.reading, &work.model_plan) {
        (Some(reading), _) => {
            (Kept::Reading { reading: Box::new(reading.clone()) }, reading.parameters.clone())
        }
        (None, Some(plan)) => {
            let parameters = particulars::literals(&ask.question, plan.texts(), &visible);
            (Kept::Model { plan: plan.clone(), parameters: parameters.clone() }, parameters)
        }
        (None, None) => return Ok(()),
    };
    let Some(template) = particulars::template(&ask.question, &parameters, &visible, today) else {
        return Ok(());
    };
    // A column whose name cannot be in braces is no parameter of a template.
    let Ok(template) = Template::new(template) else { return Ok(()) };
    let Some(embedding) = app.encoder.embed(&ask.question) else { return Ok(()) };
    let now = record.now();
    let Json::Object(arguments) = json!(kept) else { return Ok(()) };
    let names = node_names(&work.steps)?;
    let subtasks = work.steps.iter().zip(&names).map(|(step, name)| {
        Ok(SubtaskTemplate {
            task_id: name.clone(),
            tool_name: ToolName::new(step.tool)?,
            arg_template: step.arguments.to_string(),
            dependencies: needs(step, &work.steps, &names),
        })
    });
    let recipe = Recipe {
        recipe_id: RecipeId(record.id()?),
        user_id: ask.user.clone(),
        schema_fingerprint: Sha256Hex::new(bench.session.catalogue().fingerprint())?,
        intent_template: template,
        intent_embedding: embedding.to_vec(),
        plan_structure: PlanTemplate {
            subtasks: subtasks.collect::<std::result::Result<_, steward_domain::Problem>>()?,
        },
        tool_argument_templates: vec![arguments],
        success_count: 1,
        created_at: now,
        last_used_at: now,
    };
    record.change(Change::PutRecipe(recipe.validate()?));
    Ok(())
}
