//! What a request means and where it belongs (S0 `DomainRoutingDecision`, S1 `UserIntent`).

use crate::valid::require;
use crate::{Check, Confidence, DomainName, JsonObject, Label, Problem, Question, ToolName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What someone wants to accomplish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserIntent {
    /// The kind of wish.
    pub intent_type: IntentKind,
    /// How sure.
    pub confidence: Confidence,
    /// What was found in the words.
    #[serde(default)]
    pub parameters: JsonObject,
    /// What else must be known first.
    #[serde(default)]
    pub context_requirements: Vec<Label>,
    /// What could do it.
    #[serde(default)]
    pub suggested_tools: Vec<ToolName>,
    /// What to try otherwise.
    #[serde(default)]
    pub fallback_options: Vec<Label>,
}

/// S4's seven kinds and S1's four; `analyze` is in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    /// Make something.
    Create,
    /// Look at one thing.
    Read,
    /// Change something.
    Update,
    /// Remove something.
    Delete,
    /// See several.
    List,
    /// Find by words.
    Search,
    /// Work out from data.
    Analyze,
    /// Make it short.
    Summarize,
    /// Bring from elsewhere.
    Fetch,
    /// Make it plain.
    Explain,
}

impl Check for UserIntent {
    const ENTITY: &'static str = "UserIntent";
    fn check(&self, _: &mut Vec<Problem>) {}
}

/// Which domains a question goes to, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DomainRoutingDecision {
    /// The question as asked.
    pub user_query: Question,
    /// Where it goes.
    pub identified_domains: Vec<DomainName>,
    /// Why there.
    pub reasoning: String,
    /// How sure.
    pub confidence: Confidence,
    /// Whether it could be meant otherwise.
    #[serde(default)]
    pub ambiguity_detected: bool,
    /// Whether to ask back.
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
