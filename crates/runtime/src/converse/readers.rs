//! Language readers over the domains and tools that a caller may use.

use crate::error::Result;
use crate::toolbox::Toolbox;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use steward_analysis::catalogue::Catalogue;
use steward_analysis::session::Session;
use steward_domain::{DomainName, Idempotency, ToolDefinition, ToolName, ToolOrigin};
use steward_language::route::{Label, Topic};
use steward_language::understand::{Reader, Tool};
use steward_language::words::name_words;
use steward_policy::{Access, Caller, Effect, worst_effect_of};
use steward_tools::registry::{Entry, Filter, Snapshot};

/// The maximum number of cached readers; beyond it the cache is cleared.
const KEPT: usize = 64;

/// The domain of the user's own data.
pub(super) const USER_DATA_DOMAIN: &str = "your_data";

/// Readers, cached by the grants that they depend on.
#[derive(Default)]
pub(super) struct Readers {
    kept: Mutex<HashMap<String, Arc<Reader>>>,
    /// The catalogues of data, by the data and the access to it. They only decide what a message is
    /// about; an answer opens the data anew.
    catalogues: Mutex<HashMap<String, Arc<Catalogue>>>,
}

impl Readers {
    /// The reader for what this caller may use now.
    pub(super) async fn get(
        &self,
        toolbox: &Toolbox,
        caller: &Caller,
        data: &[String],
    ) -> Result<Arc<Reader>> {
        let snapshot = toolbox.registry().snapshot();
        // Callers with the same grants share a reader.
        let key = format!(
            "{}|{:?}|{:?}|{:?}|{data:?}",
            snapshot.generation, caller.permissions, caller.tools, caller.domains
        );
        if let Some(known) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known.clone());
        }
        let (mut topics, tools) = catalogue(&snapshot, caller);
        if !data.is_empty() {
            let catalogue = self.catalogue(toolbox, data, &Access::default()).await?;
            topics.push(brought(&catalogue)?);
        }
        let encoder = toolbox.app().encoder.clone();
        let made = tokio::task::spawn_blocking(move || Arc::new(Reader::new(encoder, topics, tools)));
        let made = made.await.map_err(|error| steward_tools::Error::Bug { detail: error.to_string() })?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, made.clone());
        Ok(made)
    }

    /// The tables and columns of data that may be read.
    pub(super) async fn catalogue(
        &self,
        toolbox: &Toolbox,
        data: &[String],
        access: &Access,
    ) -> Result<Arc<Catalogue>> {
        let key = format!("{data:?}|{access:?}");
        if let Some(known) = self.catalogues.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known.clone());
        }
        let session = Session::open(data, toolbox.app().options).await?;
        let catalogue = Arc::new(session.visible(access));
        let mut kept = self.catalogues.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, catalogue.clone());
        Ok(catalogue)
    }
}

/// The domains of the configuration with their tools. Tools that no domain names belong to the
/// application that their server declares, so a new application needs no configuration.
fn catalogue(snapshot: &Snapshot, caller: &Caller) -> (Vec<Topic>, Vec<Tool>) {
    let filter = Filter { caller: Some(caller), ..Filter::default() };
    let usable: Vec<&Entry> = snapshot
        .list(&filter)
        .filter(|entry| entry.registered.settings.off.is_none() && !entry.hidden)
        .collect();
    let mut topics: BTreeMap<DomainName, Topic> = BTreeMap::new();
    let mut home: BTreeMap<&ToolName, DomainName> = BTreeMap::new();
    for (name, field) in &snapshot.domains {
        let served = usable.iter().any(|entry| field.tools.contains(&entry.registered.definition.tool_name));
        let data = !field.domain.data_sources.is_empty() && caller.asks(name.as_str());
        if !field.domain.enabled || !(data || served) {
            continue;
        }
        for tool in &field.tools {
            home.entry(tool).or_insert_with(|| name.clone());
        }
        topics.insert(name.clone(), Topic::from(&**field.domain));
    }
    let mut tools = Vec::new();
    for entry in usable {
        let definition = &entry.registered.definition;
        let domain = match home.get(&definition.tool_name) {
            Some(domain) => domain.clone(),
            // Built-in tools serve agents and workflows, not conversations.
            None if definition.origin != ToolOrigin::Mcp => continue,
            None => application(definition),
        };
        let topic = topics.entry(domain.clone()).or_insert_with(|| Topic {
            name: domain.clone(),
            title: name_words(domain.as_str()).join(" "),
            description: String::new(),
            intents: Vec::new(),
        });
        let bare = definition.tool_name.as_str().rsplit('.').next().unwrap_or_default();
        let examples: Vec<String> =
            entry.registered.settings.examples.iter().map(|example| example.request.clone()).collect();
        topic.intents.push(Label {
            name: bare.to_owned(),
            description: definition.description.to_string(),
            examples: examples.clone(),
        });
        tools.push(Tool {
            name: definition.tool_name.to_string(),
            domain: Some(domain),
            description: definition.description.to_string(),
            input: definition.parameter_schema.clone().into(),
            output: (!definition.return_schema.is_empty()).then(|| definition.return_schema.clone().into()),
            read_only: definition.idempotency == Idempotency::ReadOnly,
            destructive: worst_effect_of(definition) == Effect::Destroy,
            idempotent: definition.idempotency == Idempotency::Keyed,
            examples,
        });
    }
    (topics.into_values().collect(), tools)
}

/// The application of a tool without a domain: the one that its server declares, else the server
/// itself. Servers that declare none are separate applications, not one called `generic`.
fn application(definition: &ToolDefinition) -> DomainName {
    let said = &definition.application_domain;
    let Some(server) = definition.server.as_ref().filter(|_| said.as_str() == "generic") else {
        return said.clone();
    };
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    let name: String = server.chars().map(plain).take(50).collect();
    DomainName::new(name.trim_start_matches(|letter: char| !letter.is_ascii_lowercase()))
        .unwrap_or_else(|_| said.clone())
}

/// The user's own data, described by the names of its tables and columns.
fn brought(catalogue: &Catalogue) -> Result<Topic> {
    let tables = &catalogue.tables;
    let titles: Vec<String> = tables.iter().map(|table| name_words(&table.name).join(" ")).collect();
    let described = tables.iter().map(|table| {
        let columns: Vec<String> =
            table.columns.iter().take(40).map(|column| name_words(&column.name).join(" ")).collect();
        format!("{}: {}", name_words(&table.name).join(" "), columns.join(", "))
    });
    Ok(Topic {
        name: DomainName::new(USER_DATA_DOMAIN)?,
        title: titles.join(" and "),
        description: described.collect::<Vec<_>>().join(". "),
        intents: titles
            .iter()
            .map(|title| Label { name: format!("analyze {title}"), ..Label::default() })
            .collect(),
    })
}
