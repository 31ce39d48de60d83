//! Connections managed by owners: named data sources, and MCP servers over HTTP.
//!
//! Invariants
//! - A connection is tested before it is saved. A failed test leaves no change.
//! - A change is written to the journal before it takes effect. Passwords are rejected, because
//!   others can read the file that would hold them.
//! - Only an owner adds connections, because users then read with the server's rights.

use super::extract::{Authenticated, Input, PathParam};
use super::openapi::Api;
use super::problem::Problem;
use super::{AppState, Shared};
use crate::identity::{Identity, Right};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use steward_analysis::session::Session;
use steward_analysis::source::without_password;
use steward_domain::{Check as _, Coded as _, DomainName, McpServer, ServerName};
use steward_tools::config::{Configuration, add_server, remove_server};

/// The timeout of a connection test.
const TRIED: Duration = Duration::from_secs(60);
const DOMAINS: &str = "config/domains.yaml";

/// A data source to connect.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DataRequest {
    /// A file or folder on the server, or a database address without a password.
    #[schemars(length(min = 1, max = 2000))]
    address: String,
    /// The name of the domain: lower-case letters, digits and `_`. Not needed for a test.
    #[serde(default)]
    name: Option<DomainName>,
    /// The display name.
    #[serde(default)]
    #[schemars(length(max = 100))]
    title: String,
}

/// An MCP server to connect.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ServerRequest {
    name: ServerName,
    /// The address, over HTTPS or on this machine.
    #[schemars(length(min = 1, max = 2000))]
    url: String,
    /// The environment variable of this server that holds the bearer token.
    #[serde(default)]
    token_variable: Option<String>,
}

pub(super) fn routes(api: &mut Api) {
    api.get("/api/v1/admin/connections", "The data and the MCP servers that are connected")
        .needs(Right::Admin)
        .gives_object(200, "`data`, `servers`.")
        .to(get(list));
    api.post("/api/v1/admin/connections/test", "Try a source of data")
        .needs(Right::Admin)
        .takes::<DataRequest>()
        .gives_object(200, "`tables`.")
        .to(post(test_data));
    api.post("/api/v1/admin/connections", "Connect data as a domain")
        .needs(Right::Admin)
        .takes::<DataRequest>()
        .gives_object(201, "`domain`, `tables`.")
        .to(post(connect_data));
    api.post("/api/v1/admin/servers", "Connect an MCP server")
        .needs(Right::Admin)
        .takes::<ServerRequest>()
        .gives_object(201, "`name`, `tools`.")
        .to(post(connect_server));
    api.post("/api/v1/admin/servers/{name}/test", "Try an MCP server")
        .needs(Right::Admin)
        .gives_object(200, "`name`, `tools`.")
        .to(post(test_server));
    api.delete("/api/v1/admin/servers/{name}", "Disconnect an MCP server")
        .needs(Right::Admin)
        .gives_nothing("Its tools are gone.")
        .to(delete(disconnect));
}

fn only_owners(identity: &Identity) -> Result<(), Problem> {
    if identity.grants.is_none() {
        return Ok(());
    }
    Err(Problem::denied("only an owner connects data and servers"))
}

fn known_server(site: &Shared, name: &ServerName) -> Result<(), Problem> {
    let known = site.toolbox().servers().iter().any(|(handle, _)| handle.config().name == *name);
    if known { Ok(()) } else { Err(Problem::missing("MCP server", name)) }
}

async fn list(State(site): State<Shared>, Authenticated(_): Authenticated) -> Json<Value> {
    let snapshot = site.toolbox().registry().snapshot();
    let data = snapshot.domains.iter().filter(|(_, field)| !field.domain.data_sources.is_empty());
    let data: Vec<Value> = data
        .map(|(name, field)| {
            let sources = field.domain.data_sources.iter().map(|source| without_password(source.as_str()));
            let sources: Vec<String> = sources.collect();
            json!({ "name": name, "title": field.domain.display_name, "sources": sources })
        })
        .collect();
    let servers: Vec<Value> = site
        .toolbox()
        .servers()
        .into_iter()
        .map(|(handle, status)| {
            let config = handle.config();
            let state = format!("{:?}", status.state).to_lowercase();
            json!({
                "name": config.name, "transport": config.transport, "status": state,
                "detail": status.last_error,
            })
        })
        .collect();
    Json(json!({ "data": data, "servers": servers }))
}

/// Opens a source and lists its tables.
async fn tables_of(site: &Shared, address: &str) -> Result<Vec<Value>, Problem> {
    if without_password(address) != address {
        return Err(Problem::input(
            "address: leave the password out. The operator of this server sets it up as a variable",
        ));
    }
    if site.toolbox().is_own_data(address) {
        return Err(Problem::denied("this is Steward's own home: its store, keys and settings are no data"));
    }
    let named = [address.to_owned()];
    let opened = Session::open(&named, site.app().options);
    let late = |_| Problem::input(format!("{address} did not answer within {} s", TRIED.as_secs()));
    let session = tokio::time::timeout(TRIED, opened)
        .await
        .map_err(late)?
        .map_err(|error| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.code(), error.to_string()))?;
    let tables = session.catalogue().tables.iter();
    Ok(tables
        .map(|one| json!({ "name": one.name, "rows": one.rows, "columns": one.columns.len() }))
        .collect())
}

async fn test_data(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<DataRequest>,
) -> Result<Json<Value>, Problem> {
    only_owners(&identity)?;
    Ok(Json(json!({ "tables": tables_of(&site, wanted.address.trim()).await? })))
}

async fn connect_data(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<DataRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    only_owners(&identity)?;
    let name = wanted.name.ok_or_else(|| Problem::input("name: what is the domain called?"))?;
    let snapshot = site.toolbox().registry().snapshot();
    if snapshot.domains.contains_key(&name) {
        return Err(Problem::input(format!("there is a domain {name} already: choose another name")));
    }
    let address = wanted.address.trim();
    let tables = tables_of(&site, address).await?;
    let about = json!({ "domain": name, "address": address });
    site.access.changed(&(&identity).into(), "data_connected", about).await?;
    let title = if wanted.title.trim().is_empty() { name.as_str() } else { wanted.title.trim() };
    let entry = domain_entry(&name, title, address, &tables);
    site.write_domain(&entry).await?;
    site.toolbox().reload().await?;
    Ok((StatusCode::CREATED, Json(json!({ "domain": name, "tables": tables }))))
}

/// A domain in the syntax of the file.
fn domain_entry(name: &DomainName, title: &str, address: &str, tables: &[Value]) -> String {
    let names = tables.iter().filter_map(|one| one.get("name")?.as_str()).take(12);
    let names: Vec<String> = names.map(|name| name.replace('_', " ")).collect();
    format!(
        "  - name: {name}\n    display_name: {}\n    description: {}\n    data_sources: [{}]",
        Value::from(title),
        Value::from(format!("Data about {}", names.join(", "))),
        Value::from(address)
    )
}

impl AppState {
    /// Appends a domain to its file. The rest of the file is unchanged. An invalid result is not
    /// written.
    async fn write_domain(&self, entry: &str) -> Result<(), Problem> {
        let path = self.options.home.join(DOMAINS);
        let failed = |error: std::io::Error| {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "WEB005", format!("{DOMAINS}: {error}"))
        };
        let before = tokio::fs::read_to_string(&path).await.unwrap_or_default();
        let head = |line: &str| line.trim_end() == "domains:" || line.starts_with("domains: []");
        let mut lines: Vec<&str> = before.lines().collect();
        match lines.iter().position(|line| head(line)) {
            Some(at) => drop(lines.splice(at..=at, ["domains:", entry])),
            None => lines.extend(["domains:", entry]),
        }
        tokio::fs::write(&path, lines.join("\n") + "\n").await.map_err(failed)?;
        let problems = Configuration::load(&self.options.home).err();
        let wrong = problems.iter().flat_map(|all| all.iter()).find(|one| one.file == path);
        if let Some(wrong) = wrong {
            let detail = format!("{DOMAINS} was left as it is: {}", wrong.problem);
            tokio::fs::write(&path, before).await.map_err(failed)?;
            return Err(Problem::input(detail));
        }
        Ok(())
    }

    /// Starts a server and counts its tools.
    async fn tried(&self, name: &ServerName) -> Result<Value, Problem> {
        let late = |_| Problem::input(format!("{name} did not answer within {} s", TRIED.as_secs()));
        let looked = self.toolbox().look_at(name.as_str());
        tokio::time::timeout(TRIED, looked).await.map_err(late)??;
        let snapshot = self.toolbox().registry().snapshot();
        let filter = steward_tools::registry::Filter { server: Some(name), ..Default::default() };
        let tools: Vec<String> =
            snapshot.list(&filter).map(|one| one.registered.definition.tool_name.to_string()).collect();
        Ok(json!({ "name": name, "tools": tools }))
    }
}

async fn connect_server(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    Input(wanted): Input<ServerRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    only_owners(&identity)?;
    let server = json!({
        "name": wanted.name, "transport": "http",
        "config": { "url": wanted.url.trim(), "auth": wanted.token_variable.as_ref().map(|variable| {
            json!({ "type": "bearer", "token_variable": variable })
        }) },
    });
    let server: McpServer =
        serde_json::from_value(server).map_err(|error| Problem::input(error.to_string()))?;
    let server = server.validate().map_err(|error| Problem::input(error.to_string()))?;
    let about = json!({ "server": wanted.name, "url": wanted.url });
    site.access.changed(&(&identity).into(), "server_connected", about).await?;
    let home = &site.options.home;
    add_server(home, &server).map_err(steward_runtime::Error::from)?;
    let tried = async {
        site.toolbox().reload().await?;
        site.tried(&wanted.name).await
    };
    match tried.await {
        Ok(found) => Ok((StatusCode::CREATED, Json(found))),
        Err(problem) => {
            // A failed connection is removed again.
            remove_server(home, &wanted.name).map_err(steward_runtime::Error::from)?;
            site.toolbox().reload().await?;
            Err(problem)
        }
    }
}

async fn test_server(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(name): PathParam<ServerName>,
) -> Result<Json<Value>, Problem> {
    known_server(&site, &name)?;
    only_owners(&identity)?;
    site.tried(&name).await.map(Json)
}

async fn disconnect(
    State(site): State<Shared>,
    Authenticated(identity): Authenticated,
    PathParam(name): PathParam<ServerName>,
) -> Result<StatusCode, Problem> {
    known_server(&site, &name)?;
    only_owners(&identity)?;
    site.access.changed(&(&identity).into(), "server_disconnected", json!({ "server": name })).await?;
    remove_server(&site.options.home, &name).map_err(steward_runtime::Error::from)?;
    site.toolbox().reload().await?;
    Ok(StatusCode::NO_CONTENT)
}
