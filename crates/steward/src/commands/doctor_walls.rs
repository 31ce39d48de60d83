//! Checks of `steward doctor` for defence in depth: protection that remains if admission is wrong
//! or a server is hostile.

use super::Context;
use super::doctor::Findings;
use std::collections::BTreeSet;
use steward_analysis::database::Wall;
use steward_analysis::session::{Options, Session};
use steward_analysis::source::without_password;
use steward_domain::Transport;
use steward_policy::Access;
use steward_runtime::toolbox::Toolbox;

/// Maximum number of columns named in one line.
const NAMED: usize = 5;

/// Checks every database of a domain and every program that provides tools.
pub(super) async fn check(context: &Context, toolbox: &Toolbox, findings: &mut Findings) {
    for source in databases(toolbox) {
        columns(context, &source, findings).await;
    }
    sandboxes(toolbox, findings);
}

/// The addresses of database servers that domains name.
fn databases(toolbox: &Toolbox) -> BTreeSet<String> {
    let snapshot = toolbox.registry().snapshot();
    let sources = snapshot.domains.values().flat_map(|field| &field.domain.data_sources);
    sources.map(ToString::to_string).filter(|source| source.contains("://")).collect()
}

/// What protects blocked columns if admission is wrong: the privileges of the database account, the
/// server's own check of the statement, or nothing.
async fn columns(context: &Context, source: &str, findings: &mut Findings) {
    let shown = without_password(source);
    let session = match Session::open(&[source.to_owned()], Options::default()).await {
        Ok(session) => session,
        Err(error) => {
            return findings.warn(
                "data source",
                format!("{shown}: {error}"),
                "look at its address and account",
            );
        }
    };
    let settings = &context.settings.analysis;
    let access = Access {
        allowed_columns: settings.allowed_columns.iter().cloned().collect(),
        blocked_patterns: settings.blocked_patterns.clone(),
        ..Access::default()
    };
    let schema = session.schema();
    let open: Vec<String> = schema
        .tables
        .iter()
        .flat_map(|table| table.columns.iter().map(move |column| (table, column)))
        .filter(|(table, column)| !access.allows(table, column))
        .map(|(table, column)| format!("{}.{}", table.name, column.name))
        .collect();
    if open.is_empty() {
        return findings
            .ok("column wall", format!("{shown}: its account may read no column that is blocked"));
    }
    let named = open.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = if open.len() > NAMED { format!(" and {} more", open.len() - NAMED) } else { String::new() };
    let rules = format!("{shown}: its account may read {named}{more}, which the rules block");
    let walls = session.walls().await.unwrap_or_else(|error| vec![Wall::None(error.to_string())]);
    for wall in walls {
        match wall {
            Wall::Role(role) => findings.ok(
                "column wall",
                format!(
                    "{rules}. Every statement is compared with what the server reads, and runs as {role}"
                ),
            ),
            Wall::Columns => findings.ok(
                "column wall",
                format!("{rules}. Every statement is compared with what the server reads before it runs"),
            ),
            Wall::Tables => findings.warn(
                "column wall",
                format!(
                    "{rules}. It may make no temporary views, so only tables are compared with what the \
                    server reads"
                ),
                "GRANT TEMPORARY ON DATABASE to the account, or SELECT on columns only; see docs/security.md",
            ),
            Wall::None(why) => findings.warn(
                "column wall",
                format!("{rules}. Admission alone keeps them: {why}"),
                "GRANT SELECT (columns) or views to an account for Steward; see docs/security.md",
            ),
        }
    }
}

/// Programs that run with all the rights of this process.
fn sandboxes(toolbox: &Toolbox, findings: &mut Findings) {
    let free: Vec<String> = toolbox
        .servers()
        .iter()
        .filter(|(handle, _)| {
            handle.config().transport == Transport::Stdio && handle.config().config.sandbox.rules().is_none()
        })
        .map(|(handle, _)| handle.name().to_string())
        .collect();
    if !free.is_empty() {
        findings.warn(
            "sandbox",
            format!("{}: runs with all your rights, files and network among them", free.join(", ")),
            "take `sandbox: off` out, or widen it: sandbox: { standard: true, write: [FOLDER] }; see docs/tools.md",
        );
    }
}
