//! Which model is used for which purpose: the setting `use`.

use serde::{Deserialize, Serialize};

/// The purposes of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelPurpose {
    /// Conversations.
    Chat,
    /// Questions about data.
    Ask,
    /// Agents that name no model.
    Agents,
    /// Extracting values from results, for plans of conversations. The chat model by default.
    Extract,
}

impl ModelPurpose {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Ask, Self::Agents, Self::Extract];

    /// The name in the settings.
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
    /// The default for all purposes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// For conversations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// For questions about data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// For agents that name no model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<String>,
    /// For extracting values from results.
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

    /// Every name with the setting it comes from.
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
