//! Edits `mcp_servers.yaml` on behalf of a user. The rest of the file, including comments, is
//! unchanged.
//!
//! Invariant: the new file is kept only if it parses to the intended configuration. Otherwise the
//! old one is restored.

use super::Configuration;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use steward_domain::{McpServer, ServerName, Valid};

const FILE: &str = "config/mcp_servers.yaml";
const HEAD: &str =
    "# MCP servers whose tools are used. Schema: docs/schemas/config/mcp_servers.schema.json\nservers:\n";

/// Appends a server to the list.
pub fn add_server(home: &Path, server: &Valid<McpServer>) -> Result<()> {
    let path = home.join(FILE);
    let known = load(home)?;
    if known.servers.contains_key(&server.name) {
        let problem =
            format!("there is a server {} already: remove it first, or choose another name", server.name);
        return Err(Error::Config { file: path, line: 1, problem });
    }
    let mut changed =
        if path.exists() { read(&path)?.replace("servers: []", "servers:") } else { HEAD.to_owned() };
    if !changed.is_empty() && !changed.ends_with('\n') {
        changed.push('\n');
    }
    if !changed.lines().any(|line| line.starts_with("servers:")) && known.servers.is_empty() {
        changed.push_str("servers:\n");
    }
    let indent = changed.lines().find_map(item_indent).unwrap_or(2);
    changed.push_str(&block(server, indent)?);
    let meant = |after: &Configuration| {
        after.servers.get(&server.name) == Some(server) && after.servers.len() == known.servers.len() + 1
    };
    replace(home, &path, &changed, meant)
}

/// Removes a server from the list.
pub fn remove_server(home: &Path, name: &ServerName) -> Result<()> {
    let path = home.join(FILE);
    let known = load(home)?;
    if !known.servers.contains_key(name) {
        let near = known.servers.keys().map(ToString::to_string).take(3).collect();
        return Err(Error::UnknownServer { name: name.to_string(), near });
    }
    let text = read(&path)?;
    let mut kept = String::new();
    let mut inside = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if let Some(start) = inside
            && !line.trim().is_empty()
            && indent <= start
        {
            inside = None;
        }
        if inside.is_none() && item_name(line) == Some(name.as_str()) {
            inside = Some(indent);
        }
        if inside.is_none() {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    if known.servers.len() == 1 {
        kept = kept.replace("servers:\n", "servers: []\n");
    }
    let meant = |after: &Configuration| {
        !after.servers.contains_key(name) && after.servers.len() + 1 == known.servers.len()
    };
    replace(home, &path, &kept, meant)
}

fn load(home: &Path) -> Result<Configuration> {
    Configuration::load(home).map_err(|problems| first(home, &problems))
}

fn first(home: &Path, problems: &super::Problems) -> Error {
    Error::Config { file: home.join("config"), line: 1, problem: problems.to_string() }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::File { path: path.display().to_string(), detail: error.to_string() })
}

/// Writes the new text if it parses to the intended configuration, otherwise restores the old one.
fn replace(home: &Path, path: &PathBuf, text: &str, meant: impl Fn(&Configuration) -> bool) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::File { path: path.display().to_string(), detail: error.to_string() };
    let before = std::fs::read(path).ok();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    write(path, text.as_bytes()).map_err(failed)?;
    let after = Configuration::load(home);
    if after.as_ref().is_ok_and(meant) {
        return Ok(());
    }
    match before {
        Some(before) => write(path, &before).map_err(failed)?,
        None => std::fs::remove_file(path).map_err(failed)?,
    }
    let problem = match after {
        Err(problems) => problems.to_string(),
        Ok(_) => "the file is written in a way that this command does not change; edit it by hand".to_owned(),
    };
    Err(Error::Config { file: path.clone(), line: 1, problem })
}

/// Writes atomically.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let beside = path.with_extension("yaml.new");
    std::fs::write(&beside, bytes)?;
    std::fs::rename(&beside, path)
}

/// The indentation of the list's items.
fn item_indent(line: &str) -> Option<usize> {
    line.trim_start().starts_with("- ").then(|| line.len() - line.trim_start().len())
}

/// The name at the start of a list item.
fn item_name(line: &str) -> Option<&str> {
    let name = line.trim_start().strip_prefix("- ")?.trim_start().strip_prefix("name:")?.trim();
    Some(name.split('#').next().unwrap_or(name).trim().trim_matches(['"', '\'']))
}

/// A server as a list item, without default values.
fn block(server: &McpServer, indent: usize) -> Result<String> {
    let bug = |error: String| Error::Bug { detail: error };
    let mut value = serde_json::to_value(server).map_err(|error| bug(error.to_string()))?;
    prune(&mut value);
    let mut map = value.as_object().cloned().unwrap_or_default();
    let defaults = [
        ("enabled", serde_json::Value::Bool(true)),
        ("approval", "when_untrusted".into()),
        ("timeout_seconds", steward_domain::ToolTimeout::default().get().into()),
    ];
    for (name, usual) in defaults {
        if map.get(name) == Some(&usual) {
            map.remove(name);
        }
    }
    let pad = " ".repeat(indent);
    let mut text = String::new();
    for name in ["name", "transport"] {
        let lead = if name == "name" { "- " } else { "  " };
        if let Some(value) = map.remove(name) {
            text.push_str(&format!("{pad}{lead}{name}: {value}\n"));
        }
    }
    for (name, value) in map {
        match value {
            serde_json::Value::Object(parts) => {
                text.push_str(&format!("{pad}  {name}:\n"));
                for (part, value) in parts {
                    text.push_str(&format!("{pad}    {part}: {value}\n"));
                }
            }
            value => text.push_str(&format!("{pad}  {name}: {value}\n")),
        }
    }
    Ok(text)
}

/// Removes empty values.
fn prune(value: &mut serde_json::Value) {
    if let serde_json::Value::Object(map) = value {
        map.values_mut().for_each(prune);
        map.retain(|_, value| match value {
            serde_json::Value::Null => false,
            serde_json::Value::Array(items) => !items.is_empty(),
            serde_json::Value::Object(parts) => !parts.is_empty(),
            _ => true,
        });
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
