//! To come.

use crate::error::{Error, Result};
use crate::tool::Registered;
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};
use steward_domain::{ServerName, ToolName};

/// Stub.
#[derive(Default)]
pub struct Registry {
    /// Tools.
    pub tools: RwLock<BTreeMap<ToolName, Arc<Registered>>>,
}

/// Stub.
pub struct Resolved {
    /// r
    pub registered: Arc<Registered>,
    /// c
    pub corrected: Option<String>,
}

impl Registry {
    /// Stub.
    pub fn resolve(&self, _: Option<&ServerName>, name: &str) -> Result<Resolved> {
        let tools = self.tools.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let found = tools.iter().find(|(known, _)| known.as_str() == name).map(|(_, tool)| Arc::clone(tool));
        found.map(|registered| Resolved { registered, corrected: None }).ok_or_else(|| Error::UnknownTool { name: name.into(), near: vec![] })
    }
}
