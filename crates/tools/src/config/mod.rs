//! The configuration of tools: `config/tools.yaml`, `config/domains.yaml` and
//! `config/mcp_servers.yaml` of a home, in YAML or JSON.
//!
//! Invariants
//! - A [`Configuration`] is whole and right: every rule of every file and between the files held
//!   when it was read.
//! - What is wrong is told all at once, each with file, line and what to do.
//! - The same files give the same configuration: nothing here reads the environment of the process
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

/// What an operator laid down.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Configuration {
    /// Whose overrides apply.
    pub environment: Environment,
    /// Categories and the tools in them.
    pub tools: Tools,
    /// Fields of knowledge.
    pub domains: BTreeMap<DomainName, Valid<Domain>>,
    /// MCP servers.
    pub servers: BTreeMap<ServerName, Valid<McpServer>>,
}

/// `config/tools.yaml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tools {
    /// Categories with the settings of their tools.
    pub categories: BTreeMap<CategoryName, ToolCategory>,
    /// Settings of tools that are in no category here.
    pub tools: BTreeMap<ToolName, ToolConfiguration>,
}

/// What is laid down for one tool, with the environment's overrides in it.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveToolConfig {
    /// The category it stands under.
    pub category: Option<CategoryName>,
    /// Its settings.
    pub settings: ToolConfiguration,
}

impl Configuration {
    /// Reads the configuration of a home; files that are not there count as empty.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, Problems> {
        Source::of(folder).load()
    }

    /// What is laid down for each tool in this environment.
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

/// Where a configuration is read from, and what is known beside it.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The home: the files are in its folder `config`.
    pub folder: PathBuf,
    /// Whose overrides apply unless `tools.yaml` says otherwise.
    pub environment: Environment,
    /// What there is without any configuration. When nothing is given, no name of a tool is held to
    /// be wrong.
    pub known: Option<BuiltinNames>,
}

/// What is built in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuiltinNames {
    /// Tools and sub-agents.
    pub tools: BTreeSet<ToolName>,
    /// Categories that they name.
    pub categories: BTreeSet<CategoryName>,
}

impl Source {
    /// The files of a home, for production, with nothing known beside them.
    pub fn of(folder: impl AsRef<Path>) -> Self {
        Self { folder: folder.as_ref().to_owned(), ..Self::default() }
    }

    /// The folder of the files.
    #[must_use]
    pub fn config_folder(&self) -> PathBuf {
        self.folder.join("config")
    }

    /// Reads and checks everything.
    pub fn load(&self) -> Result<Configuration, Problems> {
        let mut files = files::Files::read(&self.config_folder());
        cross::check(&mut files, self.known.as_ref());
        match Problems::of(std::mem::take(&mut files.problems)) {
            Some(problems) => Err(problems),
            None => Ok(files.configuration(self.environment)),
        }
    }
}
