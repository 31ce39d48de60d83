//! Recipes: what worked is kept with its particulars taken out, found again by meaning, and run
//! with new ones.
//!
//! Invariant: a recipe is used only when the new question says the same thing in the same words but
//! for its particulars, and every particular was found in the data. Near in meaning is not enough:
//! "total" and "average" are near.

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

/// Recipes that are looked at before meaning is asked, last used first.
const RECENT: u32 = 50;
/// Recipes that are near in meaning and looked at.
const NEAREST: u32 = 3;

/// What a recipe keeps: how the built-in planner read its question, or the plan that a model wrote
/// for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Kept {
    Reading { reading: Box<Reading> },
    Model { plan: ModelPlan, parameters: Vec<Parameter> },
}

/// A recipe that answers this question, with the question's particulars put in.
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
    // The recent ones first: that needs no encoder, and is what a person who asks again means.
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

/// Keeps what worked, or counts one more success of the recipe that was used.
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
    // Only what was sure and gave rows, and not what leans on an earlier question.
    let empty = answer.tables.first().is_none_or(|table| table.frame.rows.is_empty());
    // A query over days that no parameter stands for would answer later questions with those days.
    let dated = work.reading.as_ref().is_some_and(|reading| {
        let timed = reading.parameters.iter().any(|parameter| parameter.name == "time_range");
        reading.form.as_ref().is_some_and(|form| form.has_periods()) && !timed
    });
    // A model's own word is enough to keep what worked, and not to call it sure.
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
    // A column whose name cannot stand in braces is no parameter of a template.
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
