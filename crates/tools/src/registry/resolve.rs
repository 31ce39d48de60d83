//! Resolves a written name to a tool, or to suggestions.
//!
//! Invariant: a name is corrected only if exactly one tool matches, and the correction is reported.
//! A caller never learns the names of tools that they may not use.

use super::near::nearest;
use super::snapshot::{Entry, Snapshot, Versions};
use crate::error::{Error, Result};
use crate::tool::Registered;
use steward_domain::{ServerName, ToolName};
use steward_policy::Caller;

/// A resolved tool.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The tool.
    pub registered: Registered,
    /// The correction as text. `None` if the name was exact.
    pub corrected: Option<String>,
}

impl Snapshot {
    /// Finds a tool by its full name, by its name on a server, or by its bare name if only one
    /// server has it. With a caller, only tools they may use are found or suggested.
    pub fn resolve(
        &self,
        caller: Option<&Caller>,
        server: Option<&ServerName>,
        name: &str,
    ) -> Result<Resolved> {
        let seen = |tool: &ToolName| {
            let entry = self.tools.get(tool).and_then(Versions::chosen)?;
            let Registered { definition, settings, .. } = &entry.registered;
            caller
                .is_none_or(|caller| caller.sees(&definition.tool_name, &settings.permissions))
                .then_some(entry)
        };
        let exact = |name: &str| ToolName::new(name).ok().and_then(|name| seen(&name));
        let found = |entry: &Entry, corrected| Resolved { registered: entry.registered.clone(), corrected };
        if let Some(server) = server {
            let bare =
                name.strip_prefix(server.as_str()).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
            if let Some(entry) = exact(&format!("{server}.{bare}")) {
                return Ok(found(entry, None));
            }
        }
        if let Some(entry) = exact(name) {
            let named = entry.registered.definition.server.as_ref();
            let wrong = server.filter(|server| Some(*server) != named);
            return Ok(found(entry, wrong.map(|server| corrected(server, name, entry))));
        }
        let (asked, bare) = match server {
            Some(server) => (Some(server.as_str()), name),
            None => (None, name),
        };
        let mut candidates = self.candidates(bare, seen);
        let mut asked = asked;
        if candidates.is_empty()
            && let Some((prefix, rest)) = name.split_once('.')
        {
            candidates = self.candidates(rest, seen);
            asked = asked.or(Some(prefix));
        }
        // A wrong server name is corrected. Built-in prefixes are not servers, so `weather.now`
        // never becomes `time.now`.
        if asked.is_some() {
            candidates.retain(|(_, entry)| entry.registered.definition.server.is_some());
        }
        match candidates.as_slice() {
            [(_, entry)] => Ok(found(entry, asked.map(|server| corrected(server, name, entry)))),
            [] => Err(self.unknown(server, name, seen)),
            several => {
                let servers = several.iter().map(|(server, _)| (*server).to_owned()).collect();
                Err(Error::AmbiguousTool { name: last(name, several).to_owned(), servers })
            }
        }
    }

    /// The tools with this bare name, by server. Disabled tools count only if there are no others.
    fn candidates<'a>(
        &'a self,
        bare: &str,
        seen: impl Fn(&ToolName) -> Option<&'a Entry>,
    ) -> Vec<(&'a str, &'a Entry)> {
        let named = self.bare.get(bare).into_iter().flatten();
        let all: Vec<(&str, &Entry)> =
            named.filter_map(|(server, name)| Some((server.as_str(), seen(name)?))).collect();
        // A tool that is in no list is found by its full name only.
        let all: Vec<(&str, &Entry)> =
            all.into_iter().filter(|(_, entry)| !entry.registered.settings.unlisted).collect();
        let on: Vec<_> =
            all.iter().copied().filter(|(_, entry)| entry.registered.settings.off.is_none()).collect();
        if on.is_empty() { all } else { on }
    }

    fn unknown<'a>(
        &'a self,
        server: Option<&ServerName>,
        name: &str,
        seen: impl Fn(&ToolName) -> Option<&'a Entry>,
    ) -> Error {
        let full = server.map_or_else(|| name.to_owned(), |server| format!("{server}.{name}"));
        let offered = self.tools.keys().filter(|tool| seen(tool).is_some_and(|entry| !entry.hidden));
        let names: Vec<&str> = offered.map(|tool| tool.as_str()).collect();
        let mut near = nearest(&full, names.iter().copied(), 3);
        if near.is_empty() {
            // The tool may be misspelled on a server that is not named at all.
            let bare =
                self.bare.iter().filter(|(_, tools)| tools.iter().any(|(_, tool)| seen(tool).is_some()));
            let bare: Vec<&str> = bare.map(|(bare, _)| bare.as_str()).collect();
            let last = name.split_once('.').map_or(name, |(_, rest)| rest);
            let close = nearest(last, bare, 3);
            let tools = close.iter().filter_map(|bare| self.bare.get(*bare)).flatten();
            near = tools.map(|(_, tool)| tool.as_str()).take(3).collect();
        }
        Error::UnknownTool { name: full, near: near.into_iter().map(str::to_owned).collect() }
    }
}

fn corrected(server: &str, name: &str, entry: &Entry) -> String {
    let right = &entry.registered.definition.tool_name;
    let bare = name.strip_prefix(server).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
    format!("{server} has no tool {bare}; {right} is meant")
}

/// The name as the servers have it.
fn last<'a>(name: &'a str, several: &[(&str, &Entry)]) -> &'a str {
    let ends =
        |rest: &str| several.iter().all(|(_, entry)| entry.registered.definition.tool_name.ends_with(rest));
    if ends(name) { name } else { name.split_once('.').map_or(name, |(_, rest)| rest) }
}
