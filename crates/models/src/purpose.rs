//! Which model does what: the setting `use`.

use serde::{Deserialize, Serialize};

/// What a model is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelPurpose {
    /// Conversations.
    Chat,
    /// Questions about data.
    Ask,
    /// Agents that name no model of their own.
    Agents,
    /// Reading values out of results, for plans of conversations. The model of conversations when
    /// nothing is said.
    Extract,
}

impl ModelPurpose {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Ask, Self::Agents, Self::Extract];

    /// As the settings call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Ask => "ask",
            Self::Agents => "agents",
            Self::Extract => "extract",
        }
    }
}

/// The names of models by purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelUse {
    /// For every purpose that is not named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// For conversations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// For questions about data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// For agents that name no model of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<String>,
    /// For reading values out of results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extract: Option<String>,
}

impl ModelUse {
    /// The name of the model for a purpose.
    #[must_use]
    pub fn name_for(&self, purpose: ModelPurpose) -> Option<&str> {
        let own = match purpose {
            ModelPurpose::Chat => &self.chat,
            ModelPurpose::Ask => &self.ask,
            ModelPurpose::Agents => &self.agents,
            ModelPurpose::Extract => return self.extract.as_deref().or(self.name_for(ModelPurpose::Chat)),
        };
        own.as_deref().or(self.default.as_deref())
    }

    /// Every name with the setting that holds it.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("default", &self.default),
            ("chat", &self.chat),
            ("ask", &self.ask),
            ("agents", &self.agents),
            ("extract", &self.extract),
        ];
        all.into_iter().filter_map(|(setting, name)| Some((setting, name.as_deref()?)))
    }
}
