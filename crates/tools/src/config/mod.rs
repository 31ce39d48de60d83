//! The configuration of tools: `config/tools.yaml`, `config/domains.yaml` and
//! `config/mcp_servers.yaml` of a home, in YAML or JSON.
//!
//! Invariants
//! - A [`Configuration`] is complete and valid: all rules within and across files were checked.
//! - All problems are reported together, each with file, line and advice.
//! - The same files give the same configuration. Nothing here reads the environment of the process
//!   or a clock.

mod cross;
mod edit;
mod files;
mod node;
mod overrides;
mod problem;
mod schema;
mod typed;
mod watch;

pub use edit::{add_server, remove_server};
pub use overrides::in_environment;
pub use problem::{Problem, Problems};
pub use schema::schemas;
pub use watch::{Change, Watcher};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use steward_domain::{
    CategoryName, Domain, DomainName, Environment, McpServer, ServerName, ToolCategory, ToolConfiguration,
    ToolName, Valid,
};

/// The operator's configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Configuration {
    /// The environment whose overrides apply.
    pub environment: Environment,
    /// Categories and the tools in them.
    pub tools: Tools,
    /// The domains.
    pub domains: BTreeMap<DomainName, Valid<Domain>>,
    /// MCP servers.
    pub servers: BTreeMap<ServerName, Valid<McpServer>>,
}

/// `config/tools.yaml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tools {
    /// Categories with the settings of their tools.
    pub categories: BTreeMap<CategoryName, ToolCategory>,
    /// Settings of tools without a category.
    pub tools: BTreeMap<ToolName, ToolConfiguration>,
}

/// The effective settings of one tool, including the overrides of the environment.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveToolConfig {
    /// The category.
    pub category: Option<CategoryName>,
    /// Its settings.
    pub settings: ToolConfiguration,
}

impl Configuration {
    /// Loads the configuration of a home. Missing files count as empty.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, Problems> {
        Source::of(folder).load()
    }

    /// The effective settings of each tool in this environment.
    #[must_use]
    pub fn laid(&self) -> BTreeMap<ToolName, EffectiveToolConfig> {
        let laid = |category: Option<&CategoryName>, settings: &ToolConfiguration| EffectiveToolConfig {
            category: category.cloned(),
            settings: in_environment(settings, self.environment),
        };
        let grouped = self.tools.categories.iter().flat_map(|(name, category)| {
            category.tools.iter().map(move |(tool, settings)| (tool.clone(), laid(Some(name), settings)))
        });
        let single = self.tools.tools.iter().map(|(tool, settings)| (tool.clone(), laid(None, settings)));
        grouped.chain(single).collect()
    }
}

/// The location of a configuration, and the names that are known without it.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The home. The files are in its folder `config`.
    pub folder: PathBuf,
    /// The environment whose overrides apply, unless `tools.yaml` sets another.
    pub environment: Environment,
    /// The built-in names. Without them, no tool name is reported as unknown.
    pub known: Option<BuiltinNames>,
}

/// The built-in names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuiltinNames {
    /// Tools and sub-agents.
    pub tools: BTreeSet<ToolName>,
    /// Their categories.
    pub categories: BTreeSet<CategoryName>,
}

impl Source {
    /// The files of a home, for production, without built-in names.
    pub fn of(folder: impl AsRef<Path>) -> Self {
        Self { folder: folder.as_ref().to_owned(), ..Self::default() }
    }

    /// The folder of the files.
    #[must_use]
    pub fn config_folder(&self) -> PathBuf {
        self.folder.join("config")
    }

    /// Loads and validates everything.
    pub fn load(&self) -> Result<Configuration, Problems> {
        let mut files = files::Files::read(&self.config_folder());
        cross::check(&mut files, self.known.as_ref());
        match Problems::of(std::mem::take(&mut files.problems)) {
            Some(problems) => Err(problems),
            None => Ok(files.configuration(self.environment)),
        }
    }
}
