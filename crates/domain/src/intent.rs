//! The intent of a request, and the domains it is routed to.

use crate::valid::require;
use crate::{Check, Confidence, DomainName, JsonObject, Label, Problem, Question, ToolName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The intent of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserIntent {
    /// The kind of intent.
    pub intent_type: IntentKind,
    /// The confidence.
    pub confidence: Confidence,
    /// The entities found in the text.
    #[serde(default)]
    pub parameters: JsonObject,
    /// Information that is still missing.
    #[serde(default)]
    pub context_requirements: Vec<Label>,
    /// Tools that could do it.
    #[serde(default)]
    pub suggested_tools: Vec<ToolName>,
    /// Alternatives.
    #[serde(default)]
    pub fallback_options: Vec<Label>,
}

/// The kinds of intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    /// Create something.
    Create,
    /// Read one entity.
    Read,
    /// Change something.
    Update,
    /// Remove something.
    Delete,
    /// List several entities.
    List,
    /// Search by words.
    Search,
    /// Compute from data.
    Analyze,
    /// Summarize.
    Summarize,
    /// Fetch from another system.
    Fetch,
    /// Explain.
    Explain,
}

impl Check for UserIntent {
    const ENTITY: &'static str = "UserIntent";
    fn check(&self, _: &mut Vec<Problem>) {}
}

/// The domains a question is routed to, with the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DomainRoutingDecision {
    /// The question as asked.
    pub user_query: Question,
    /// The domains.
    pub identified_domains: Vec<DomainName>,
    /// The reason.
    pub reasoning: String,
    /// The confidence.
    pub confidence: Confidence,
    /// Whether the question is ambiguous.
    #[serde(default)]
    pub ambiguity_detected: bool,
    /// Whether to ask the user which reading is meant.
    #[serde(default)]
    pub clarification_needed: bool,
    /// The other readings.
    #[serde(default)]
    pub alternatives: Vec<DomainName>,
}

impl Check for DomainRoutingDecision {
    const ENTITY: &'static str = "DomainRoutingDecision";
    fn check(&self, problems: &mut Vec<Problem>) {
        let routed = self.clarification_needed || !self.identified_domains.is_empty();
        require(
            problems,
            routed,
            "identified_domains",
            "must name at least one unless a clarification is needed",
            "[]",
        );
        let explained = !self.ambiguity_detected || !self.reasoning.trim().is_empty();
        require(
            problems,
            explained,
            "reasoning",
            "must explain the alternatives when ambiguity was detected",
            "",
        );
    }
}
