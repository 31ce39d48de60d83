//! Recipes (plans of earlier questions) and artifacts.

use crate::valid::require;
use crate::{
    ArtifactId, Check, Deliverable, JsonObject, NodeName, Problem, RecipeId, Sha256Hex, TaskId, Template,
    Timestamp, ToolName, UserId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The plan of a successful analysis, with placeholders for its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The recipe's id.
    pub recipe_id: RecipeId,
    /// The owner. Recipes are not shared between users.
    pub user_id: UserId,
    /// Hash of the schemas it applies to.
    pub schema_fingerprint: Sha256Hex,
    /// The question with `{placeholders}`.
    pub intent_template: Template,
    /// The embedding of the question, from the embedding model in use.
    pub intent_embedding: Vec<f32>,
    /// The plan with placeholders.
    pub plan_structure: PlanTemplate,
    /// The arguments of each call with placeholders.
    pub tool_argument_templates: Vec<JsonObject>,
    /// Number of successful uses.
    pub success_count: u64,
    /// When it was first used successfully.
    pub created_at: Timestamp,
    /// When it was last used successfully.
    pub last_used_at: Timestamp,
}

/// A plan with placeholders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanTemplate {
    /// Its steps.
    pub subtasks: Vec<SubtaskTemplate>,
}

/// A step with placeholders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubtaskTemplate {
    /// Its name.
    pub task_id: NodeName,
    /// The tool that executes it.
    pub tool_name: ToolName,
    /// The argument pattern, such as `SELECT … WHERE state = {location}`.
    pub arg_template: String,
    /// Steps that must complete first.
    #[serde(default)]
    pub dependencies: Vec<NodeName>,
}

impl Check for Recipe {
    const ENTITY: &'static str = "Recipe";
    fn check(&self, problems: &mut Vec<Problem>) {
        require(problems, self.success_count >= 1, "success_count", "must be at least 1", self.success_count);
        let finite = !self.intent_embedding.is_empty() && self.intent_embedding.iter().all(|x| x.is_finite());
        require(problems, finite, "intent_embedding", "must hold finite numbers", "NaN, infinity or nothing");
        require(
            problems,
            self.created_at <= self.last_used_at,
            "last_used_at",
            "must not be before created_at",
            self.last_used_at,
        );
        require(
            problems,
            !self.plan_structure.subtasks.is_empty(),
            "plan_structure.subtasks",
            "must have at least 1 entry",
            "[]",
        );
    }
}

/// A file that an analysis produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// The artifact's id.
    pub artifact_id: ArtifactId,
    /// The request it came from.
    pub request_id: TaskId,
    /// The kind of artifact.
    pub artifact_type: ArtifactKind,
    /// Its location: a path or an address.
    pub content_ref: String,
    /// SHA-256 of the file.
    pub content_hash: Sha256Hex,
    /// Rows and columns, chart labels, sections.
    #[serde(default)]
    pub metadata: JsonObject,
    /// Its size.
    pub size_bytes: u64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Kinds of artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// CSV.
    Table,
    /// PNG, SVG or Vega-Lite.
    Chart,
    /// Markdown or HTML.
    Report,
    /// Key findings.
    Summary,
}

impl ArtifactKind {
    /// The deliverable that a request must ask for to get this kind.
    pub fn deliverable(self) -> Deliverable {
        match self {
            Self::Table => Deliverable::Tables,
            Self::Chart => Deliverable::Charts,
            Self::Report => Deliverable::Reports,
            Self::Summary => Deliverable::Summary,
        }
    }
}

impl Check for Artifact {
    const ENTITY: &'static str = "Artifact";
    fn check(&self, problems: &mut Vec<Problem>) {
        let path = &self.content_ref;
        let plain = !path.is_empty() && !path.contains('\0') && path.split('/').all(|part| part != "..");
        require(problems, plain, "content_ref", "must be a path or an address with no `..` in it", path);
    }
}
