//! `steward profile`.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, table};
use clap::Args;
use serde_json::{Value as Json, json};
use steward_analysis::frame::group;
use steward_analysis::session::{Options, Session};
use steward_analysis::tools::Workbench;
use steward_policy::{Access, Limits};

#[derive(Args)]
#[command(after_help = "Example: steward profile sales.csv")]
pub(crate) struct ProfileCommand {
    /// Files, folders, patterns or database addresses.
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,
}

pub(super) async fn run(context: &Context, command: &ProfileCommand) -> Result<(), Failure> {
    let settings = &context.settings.analysis;
    let options = Options { memory: settings.memory_mb.max(64) << 20, ..Options::default() };
    let session = Session::open(&command.sources, options).await?;
    let access = Access {
        allowed_columns: settings.allowed_columns.iter().cloned().collect(),
        blocked_patterns: settings.blocked_patterns.clone(),
        ..Access::default()
    };
    let bench = Workbench::new(
        session,
        access,
        Limits { rows: settings.row_limit, timeout: settings.timeout_seconds },
    );
    let mut profiles = Vec::new();
    for name in bench.session.visible(&bench.access).tables.iter().map(|table| table.name.clone()) {
        let output = bench.call("profiler.analyze", &json!({ "table": name }), "profile").await?;
        profiles.extend(output.profile);
    }
    if context.json {
        document(
            &json!({ "tables": profiles, "warnings": bench.session.warnings(), "assumptions": bench.session.assumptions(), "notes": bench.session.notes() }),
        );
        return Ok(());
    }
    profiles.iter().for_each(show);
    bench.session.assumptions().iter().for_each(|said| say(paint(Tone::Quiet, &format!("Assumed: {said}"))));
    bench.session.notes().iter().for_each(|said| say(paint(Tone::Quiet, &format!("Note: {said}"))));
    bench.session.warnings().iter().for_each(|said| say(paint(Tone::Warn, &format!("Careful: {said}"))));
    Ok(())
}

fn show(profile: &Json) {
    let text = |value: &Json| match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |number| group(number, 2, false))
        }
        other => other.to_string(),
    };
    let at = |value: &Json, name: &str| value.get(name).map(&text).unwrap_or_default();
    say(paint(Tone::Strong, &format!("{}: {} rows", at(profile, "table"), at(profile, "rows"))));
    let columns = profile.get("columns").and_then(Json::as_array).cloned().unwrap_or_default();
    let rows = columns.iter().map(|column| {
        let quantile = |name: &str| column.get("quantiles").map(|all| at(all, name)).unwrap_or_default();
        let values: Vec<String> = (column.get("top_values").and_then(Json::as_array).into_iter().flatten())
            .take(3)
            .map(|value| crate::output::short(&at(value, "value"), 24))
            .collect();
        let low = if column.get("min").is_some() { at(column, "min") } else { quantile("min") };
        let high = if column.get("max").is_some() { at(column, "max") } else { quantile("max") };
        vec![
            at(column, "name"),
            at(column, "type"),
            at(column, "empty"),
            at(column, "distinct"),
            low,
            quantile("median"),
            high,
            values.join(", "),
        ]
    });
    table(
        &["column", "type", "empty", "distinct", "min", "median", "max", "most frequent"],
        rows.collect(),
        "no columns",
    );
    let list = |name: &str| profile.get(name).and_then(Json::as_array).cloned().unwrap_or_default();
    for join in list("joins") {
        let side = |name: &str| {
            let side = join.get(name).cloned().unwrap_or_default();
            let columns: Vec<String> =
                side.get("columns").and_then(Json::as_array).into_iter().flatten().map(&text).collect();
            format!("{}.{}", at(&side, "table"), columns.join("+"))
        };
        say(format!("joins {} to {} ({})", side("from"), side("to"), at(&join, "evidence")));
    }
    for warning in list("quality") {
        say(paint(Tone::Warn, &text(&warning)));
    }
    if let Some(hidden) =
        profile.get("columns_hidden_by_policy").and_then(Json::as_u64).filter(|count| *count > 0)
    {
        say(paint(
            Tone::Quiet,
            &format!("{} not shown: the policy blocks personal data", crate::output::count(hidden, "column")),
        ));
    }
    say("");
}
