//! `steward connect`: adds a named data source. The connection is tested before it is saved.

use super::Context;
use crate::config::Settings;
use crate::connections::{self, Connection};
use crate::error::Failure;
use crate::output::{Tone, count, document, paint, say, table};
use clap::Args;
use serde_json::{Value as Json, json};
use std::io::{IsTerminal as _, Write as _};
use steward_analysis::session::{Options, Session};
use steward_analysis::source::{connections::PREFIX, without_password};

#[derive(Args)]
#[command(after_help = "Examples:
  steward connect                                     asks for everything
  steward connect postgres://ana@db.example.com/shop --password-variable SHOP_PASSWORD
  echo \"$PASSWORD\" | steward connect mysql://ana@db.example.com/shop --password-stdin --as shop --domain shop
  steward connect warehouse.duckdb
  steward connect s3://company-data/sales/
  steward connect --list
  steward ask 'orders by month' --data connection:shop")]
pub(crate) struct Connect {
    /// An address without a password, a file or a folder. Prompts for it if missing.
    #[arg(value_name = "ADDRESS")]
    address: Option<String>,
    /// The name of the connection; that of the database, file or folder by default.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// The environment variable that holds the password.
    #[arg(long, value_name = "VARIABLE", conflicts_with = "password_stdin")]
    password_variable: Option<String>,
    /// Read the password from standard input, and store it in a file that only you can read.
    #[arg(long)]
    password_stdin: bool,
    /// Add a domain of this name to config/domains.yaml, so that conversations and tools may use
    /// the data.
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// List the connections.
    #[arg(long, conflicts_with = "address")]
    list: bool,
}

pub(super) async fn run(context: &Context, command: Connect) -> Result<(), Failure> {
    if command.list {
        return list(context);
    }
    let asks = command.address.is_none();
    if asks && (!std::io::stdin().is_terminal() || context.json) {
        let message = "name the source: steward connect ADDRESS. `steward connect --help` has examples";
        return Err(Failure::user("CLI004", message));
    }
    let given = match &command.address {
        Some(address) => address.clone(),
        None => prompt_address()?,
    };
    let (address, written) = connections::without_password(given.trim());
    if written.is_some() && !asks {
        note(
            "The password was part of the command, so your shell may remember it. --password-stdin avoids that.",
        );
    }
    let name = match &command.name {
        Some(name) => name.clone(),
        None => free_name(context, &proposed_name(&address)),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Failure::user("CLI004", "--as: letters, digits, `_` and `-`"));
    }
    if context.settings.connections.contains_key(&name) {
        let message = format!("there is a connection {name:?} already. Choose another name with --as");
        return Err(Failure::user("CLI004", message));
    }
    let password = password(&command, &address, written, asks)?;
    let address = absolute(&address);
    let mut connection =
        Connection { address, password_variable: command.password_variable.clone(), ..Connection::default() };
    let home = &context.home.path;
    context.home.create()?;
    if let Some(password) = &password {
        let kept = connections::keep_password(home, &name, password);
        connection.password_file = Some(kept.map_err(|error| Failure::file(home, &error))?);
    }
    let tried = attempt(context, &connection).await;
    let tables = match tried {
        Ok(tables) => tables,
        Err(failure) => {
            // A failed attempt leaves nothing behind.
            if let Some(file) = &connection.password_file {
                let _is_gone = std::fs::remove_file(home.join(file));
            }
            return Err(failure);
        }
    };
    let settings = write(context, &name, &connection)?;
    let domain = match (&command.domain, asks) {
        (Some(domain), _) => Some(domain.clone()),
        (None, true) => prompt_domain(&name)?,
        (None, false) => None,
    };
    let proposal = domain_entry(domain.as_deref().unwrap_or(&name), &name, &tables);
    if domain.is_some() {
        write_domain(context, &proposal)?;
    }
    drop(settings);
    if context.json {
        document(&json!({
            "name": name, "source": format!("{PREFIX}{name}"), "address": connection.address, "tables": tables,
            "password_variable": connection.password_variable, "password_file": connection.password_file,
            "domain": domain, "proposed_domain": proposal,
        }));
        return Ok(());
    }
    shown(&name, &connection, &tables);
    if domain.is_none() {
        say("");
        say("For conversations and tools, add a domain to config/domains.yaml (or use --domain NAME):");
        say(&proposal);
    }
    Ok(())
}

/// Opens it, and reports its contents.
async fn attempt(context: &Context, connection: &Connection) -> Result<Vec<Json>, Failure> {
    let address = connection.full_address(&context.home.path);
    let address = address.map_err(|detail| Failure::user("CLI004", detail))?;
    let options = Options { memory: context.memory(), ..Options::default() };
    if std::io::stderr().is_terminal() && !context.json {
        eprintln!("{}", paint(Tone::Quiet, &format!("trying {} …", without_password(&address))));
    }
    let session = Session::open(&[address], options).await?;
    session.warnings().iter().for_each(|said| note(said));
    let tables = session.catalogue().tables.iter();
    Ok(tables
        .map(|one| json!({ "name": one.name, "rows": one.rows, "columns": one.columns.len() }))
        .collect())
}

fn shown(name: &str, connection: &Connection, tables: &[Json]) {
    let rows = tables.iter().map(|one| {
        let text = |field: &str| one.get(field).map(plain).unwrap_or_default();
        vec![text("name"), text("rows"), text("columns")]
    });
    table(&["table", "rows", "columns"], rows.collect(), "no tables");
    let password = match (&connection.password_variable, &connection.password_file) {
        (Some(variable), _) => format!("; its password is in ${variable}"),
        (_, Some(file)) => format!("; its password is in {} of the home, for you alone", file.display()),
        _ => String::new(),
    };
    say(format!(
        "{} {name} is in config/steward.yaml: {}{password}",
        paint(Tone::Good, "✓"),
        count(tables.len() as u64, "table")
    ));
    say(format!("steward ask '…' --data {PREFIX}{name}"));
}

fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn list(context: &Context) -> Result<(), Failure> {
    let known = &context.settings.connections;
    if context.json {
        document(&json!({ "connections": known }));
        return Ok(());
    }
    let rows = known.iter().map(|(name, connection)| {
        let password = match (&connection.password_variable, &connection.password_file) {
            (Some(variable), _) => format!("${variable}"),
            (_, Some(file)) => file.display().to_string(),
            _ => String::new(),
        };
        vec![format!("{PREFIX}{name}"), without_password(&connection.address), password]
    });
    table(&["source", "address", "password"], rows.collect(), "no connections: steward connect ADDRESS");
    Ok(())
}

/// The password; none is stored if it is in a variable.
fn password(
    command: &Connect,
    address: &str,
    written: Option<String>,
    asks: bool,
) -> Result<Option<String>, Failure> {
    if command.password_variable.is_some() {
        return Ok(None);
    }
    if command.password_stdin {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map_err(Failure::unexpected)?;
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            return Err(Failure::user("CLI004", "--password-stdin: there was no password on standard input"));
        }
        return Ok(Some(line.to_owned()));
    }
    if written.is_some() || !asks {
        return Ok(written);
    }
    let is_server = ["postgres", "mysql", "mariadb"].iter().any(|scheme| address.starts_with(scheme));
    if !is_server || !address.contains('@') {
        return Ok(None);
    }
    let hidden = HiddenInput::begin();
    let line = ask("Password (nothing is shown; empty for none)", "")?;
    drop(hidden);
    eprintln!();
    Ok(Some(line).filter(|line| !line.is_empty()))
}

/// Disables the echo of a terminal until dropped.
struct HiddenInput(Option<rustix::termios::Termios>);

impl HiddenInput {
    fn begin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = std::io::stdin();
        let Ok(before) = tcgetattr(&stdin) else { return Self(None) };
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        let _no_terminal = tcsetattr(&stdin, OptionalActions::Now, &hidden);
        Self(Some(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let now = rustix::termios::OptionalActions::Now;
            let _no_terminal = rustix::termios::tcsetattr(std::io::stdin(), now, before);
        }
    }
}

fn ask(question: &str, usual: &str) -> Result<String, Failure> {
    let end = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
    eprint!("{question}{end}: ");
    std::io::stderr().flush().map_err(Failure::unexpected)?;
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).map_err(Failure::unexpected)? == 0 {
        return Err(Failure::user("CLI004", "the input ended; nothing was written"));
    }
    let line = line.trim();
    Ok(if line.is_empty() { usual.to_owned() } else { line.to_owned() })
}

/// The kinds of sources.
const CHOICES: [&str; 7] = [
    "What do you want to ask?",
    "  1  PostgreSQL",
    "  2  MySQL or MariaDB",
    "  3  a file or a folder (CSV, Excel, Parquet, SQLite, DuckDB, …)",
    "  4  a bucket of S3",
    "  5  another database, by an ADBC driver",
    "  or an address",
];

fn prompt_address() -> Result<String, Failure> {
    for line in CHOICES {
        eprintln!("{line}");
    }
    let kind = ask("Number or address", "3")?;
    let server = |scheme: &str, port: &str, user: &str| -> Result<String, Failure> {
        let host = ask("Host", "localhost")?;
        let port = ask("Port", port)?;
        let database = ask("Database", "")?;
        let user = ask("User", user)?;
        Ok(format!("{scheme}://{user}@{host}:{port}/{database}"))
    };
    match kind.as_str() {
        "1" => server("postgres", "5432", "postgres"),
        "2" => server("mysql", "3306", "root"),
        "3" => ask("Path", ""),
        "4" => Ok(format!("s3://{}", ask("Bucket and folder, such as company-data/sales", "")?)),
        "5" => {
            let driver = ask("Driver (its name, or the path of its library)", "flightsql")?;
            let uri = ask("uri for the driver", "")?;
            let uri = percent_encoding::utf8_percent_encode(&uri, percent_encoding::NON_ALPHANUMERIC);
            Ok(format!("adbc://{driver}?uri={uri}"))
        }
        _ => Ok(kind),
    }
}

fn prompt_domain(name: &str) -> Result<Option<String>, Failure> {
    let said = ask("Add a domain, so that conversations and tools may use it? Its name, or `no`", name)?;
    Ok(Some(said).filter(|said| said != "no"))
}

/// A name derived from the database, file or folder.
fn proposed_name(address: &str) -> String {
    let base = address.split(['?', '#']).next().unwrap_or(address).trim_end_matches('/');
    let last = base.rsplit('/').next().unwrap_or(base);
    let stem = last.split('.').next().unwrap_or(last);
    let plain: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c.to_ascii_lowercase() } else { '_' })
        .collect();
    if plain.trim_matches('_').is_empty() { "data".to_owned() } else { plain }
}

fn free_name(context: &Context, wanted: &str) -> String {
    let known = &context.settings.connections;
    let numbered = (2..).map(|number| format!("{wanted}{number}"));
    let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
    names.find(|name| !known.contains_key(name)).unwrap_or_else(|| wanted.to_owned())
}

/// A path that is valid in any working directory.
fn absolute(address: &str) -> String {
    if address.contains("://") {
        return address.to_owned();
    }
    std::path::absolute(address).map_or_else(|_| address.to_owned(), |path| path.display().to_string())
}

fn write(context: &Context, name: &str, connection: &Connection) -> Result<Settings, Failure> {
    let path = context.home.path.join("config/steward.yaml");
    let mut line = format!("{{ address: {}", Json::from(connection.address.as_str()));
    if let Some(variable) = &connection.password_variable {
        line.push_str(&format!(", password_variable: {}", Json::from(variable.as_str())));
    }
    if let Some(file) = &connection.password_file {
        line.push_str(&format!(", password_file: {}", Json::from(file.display().to_string())));
    }
    line.push_str(" }");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let after = with_connection(&before, name, &line);
    let read = Settings::check_text(&path, &after)?;
    if read.connections.get(name) != Some(connection) {
        let message =
            format!("{} cannot be edited. Add this under `connections:`\n  {name}: {line}", path.display());
        return Err(Failure::user("CFG001", message));
    }
    std::fs::write(&path, &after).map_err(|error| Failure::file(&path, &error))?;
    Ok(read)
}

/// The text of the settings with one more connection.
fn with_connection(text: &str, name: &str, line: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let entry = format!("  {name}: {line}");
    let head = |line: &String| line.trim_end() == "connections:" || line.starts_with("connections: {}");
    match lines.iter().position(head) {
        Some(at) => {
            if let Some(head) = lines.get_mut(at) {
                "connections:".clone_into(head);
            }
            lines.insert(at + 1, entry);
        }
        None => lines.extend(["connections:".to_owned(), entry]),
    }
    lines.join("\n") + "\n"
}

/// An entry of `domains.yaml`.
fn domain_entry(domain: &str, connection: &str, tables: &[Json]) -> String {
    let names: Vec<String> = tables
        .iter()
        .filter_map(|one| one.get("name"))
        .map(plain)
        .take(12)
        .map(|name| name.replace('_', " "))
        .collect();
    let display: String = domain.replace(['_', '-'], " ");
    let mut letters = display.chars();
    let display: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    format!(
        "  - name: {domain}\n    display_name: {}\n    description: {}\n    data_sources: [{}]\n",
        Json::from(display),
        Json::from(format!("Data about {}", names.join(", "))),
        Json::from(format!("{PREFIX}{connection}"))
    )
}

fn write_domain(context: &Context, entry: &str) -> Result<(), Failure> {
    let path = context.home.path.join("config/domains.yaml");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
    let head = |line: &String| line.trim_end() == "domains:" || line.starts_with("domains: []");
    let at = match lines.iter().position(head) {
        Some(at) => at,
        None => {
            lines.push(String::new());
            lines.len() - 1
        }
    };
    if let Some(head) = lines.get_mut(at) {
        "domains:".clone_into(head);
    }
    lines.insert(at + 1, entry.trim_end().to_owned());
    let after = lines.join("\n") + "\n";
    std::fs::write(&path, &after).map_err(|error| Failure::file(&path, &error))?;
    let problems = steward_tools::config::Configuration::load(&context.home.path).err();
    let wrong = problems.iter().flat_map(|all| all.iter()).find(|one| one.file == path);
    if let Some(wrong) = wrong {
        std::fs::write(&path, before).map_err(|error| Failure::file(&path, &error))?;
        let message = format!(
            "{} was left as it is ({}). Add this under `domains:`\n{entry}",
            path.display(),
            wrong.problem
        );
        return Err(Failure::user("CFG001", message));
    }
    if !context.json {
        say("The domain is in config/domains.yaml.");
    }
    Ok(())
}

fn note(said: &str) {
    eprintln!("{}", paint(Tone::Warn, &format!("Careful: {said}")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_addresses() {
        for (address, expected) in [
            ("postgres://ana@db:5432/shop?sslmode=require", "shop"),
            ("data/Sales 2024.csv", "sales_2024"),
            ("s3://company-data/sales/", "sales"),
            ("adbc://flightsql?uri=grpc%3A%2F%2Fh", "flightsql"),
            ("/", "data"),
        ] {
            assert_eq!(proposed_name(address), expected, "{address}");
        }
    }

    #[test]
    fn a_connection_is_added_and_the_rest_stays() {
        let first = with_connection("user: ana # me\n", "shop", "{ address: \"a\" }");
        assert_eq!(first, "user: ana # me\nconnections:\n  shop: { address: \"a\" }\n");
        let second = with_connection(&first, "more", "{ address: \"b\" }");
        assert_eq!(
            second,
            "user: ana # me\nconnections:\n  more: { address: \"b\" }\n  shop: { address: \"a\" }\n"
        );
    }
}
