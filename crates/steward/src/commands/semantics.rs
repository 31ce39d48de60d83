//! `steward semantics`: definitions of metrics, checked against data and drafted from it.

use super::Context;
use crate::error::Failure;
use crate::output::{document, say, table};
use clap::Subcommand;
use steward_analysis::roles::{Role, role};
use steward_analysis::semantics::{definition, export, import, problems};
use steward_analysis::session::{Options, Session};
use steward_runtime::{CheckOutcome, StoredAnswer, load_semantics, read_semantics};

#[derive(Subcommand)]
#[command(after_help = "Definitions are files in the home: semantics/*.yaml. Examples:
  steward semantics draft --data sales.csv > ~/.steward/semantics/sales.yaml
  steward semantics check --data sales.csv
  steward semantics diff new.yaml       which verified answers and tiles a change would move
  steward ask \"margin by state\" --data sales.csv")]
pub(crate) enum Semantics {
    /// List the metrics of the home with their definitions.
    List,
    /// Check the files, and with data compile every metric.
    Check {
        /// The data that the definitions are for; repeat it for several.
        #[arg(long, short, value_name = "SOURCE")]
        data: Vec<String>,
    },
    /// Show which verified answers and board tiles other definitions would change.
    Diff {
        /// The other definitions: a file, or a folder of files.
        new: std::path::PathBuf,
    },
    /// Convert definitions of MetricFlow, Cube or Open Semantic Interchange. What cannot be
    /// converted is reported on standard error.
    Import {
        /// The file, as JSON or YAML: `semantic_manifest.json`, a model of Cube, …
        file: std::path::PathBuf,
    },
    /// Print the metrics of the home in the format of Open Semantic Interchange.
    Export,
    /// Print draft definitions for some data. Uncertain ones are marked.
    Draft {
        /// The data; repeat it for several.
        #[arg(long, short, value_name = "SOURCE", required = true)]
        data: Vec<String>,
    },
}

pub(super) async fn run(context: &Context, command: Semantics) -> Result<(), Failure> {
    let open = async |data: &[String]| {
        Session::open(data, Options { memory: context.memory(), ..Options::default() }).await
    };
    match command {
        Semantics::List => {
            let model = load_semantics(&context.home.path)?;
            if context.json {
                document(&model);
                return Ok(());
            }
            let row = |(name, metric): (&String, &steward_domain::Metric)| {
                vec![name.clone(), definition(name, metric), metric.synonyms.join(", ")]
            };
            table(
                &["metric", "definition", "also"],
                model.metrics.iter().map(row).collect(),
                "no metrics yet",
            );
        }
        Semantics::Check { data } => {
            let model = load_semantics(&context.home.path)?;
            if !data.is_empty() {
                let session = open(&data).await?;
                let wrong = problems(&model, session.catalogue());
                if !wrong.is_empty() {
                    return Err(Failure::user("RUN005", wrong.join("\n")));
                }
            }
            say(format!("{} metrics, {} tables: nothing is wrong", model.metrics.len(), model.tables.len()));
        }
        Semantics::Diff { new } => diff(context, &new).await?,
        Semantics::Import { file } => {
            let wrong = |problem: String| Failure::user("RUN005", format!("{}: {problem}", file.display()));
            let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
            let read: serde_json::Value =
                serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))?;
            let imported = import(&read).map_err(wrong)?;
            // JSON is valid YAML.
            document(&imported.model);
            imported.left_out.iter().for_each(|line| eprintln!("left out: {line}"));
        }
        Semantics::Export => {
            let (written, left_out) = export(&load_semantics(&context.home.path)?, "steward");
            document(&written);
            left_out.iter().for_each(|line| eprintln!("left out: {line}"));
        }
        Semantics::Draft { data } => {
            let session = open(&data).await?;
            say(draft(session.catalogue()));
        }
    }
    Ok(())
}

/// The effect of other definitions on verified answers and boards.
async fn diff(context: &Context, new: &std::path::Path) -> Result<(), Failure> {
    if !new.exists() {
        return Err(Failure::user("RUN005", format!("{}: there is no such file or folder", new.display())));
    }
    let model = read_semantics(new)?;
    let opened = context.open().await?;
    let app = super::app(context, &opened)?;
    let changes = app.semantics_diff(&super::ask::plain(context), &model).await?;
    let moved = changes.iter().filter(|change| change.outcome != CheckOutcome::Same).count();
    if context.json {
        document(&changes);
    } else {
        for change in &changes {
            let (word, lines) = match &change.outcome {
                CheckOutcome::Same => ("same", Vec::new()),
                CheckOutcome::Moved { changes } => ("moves", changes.clone()),
                CheckOutcome::Broken { code, reason } => ("breaks", vec![format!("{code} {reason}")]),
            };
            let place = match &change.kept {
                StoredAnswer::VerifiedAnswer { id } => format!("verified {id}"),
                StoredAnswer::Tile { board, title } => format!("board {board}, {title}"),
            };
            say(format!("{word:<6}  {place}  {}", change.question));
            lines.iter().for_each(|line| say(format!("        {line}")));
        }
        say(format!("{} answers name a metric, {moved} would move or break", changes.len()));
    }
    match moved {
        0 => Ok(()),
        _ => Err(Failure::user("RUN032", format!("{moved} answers would move or break"))),
    }
}

/// A draft: a metric for each additive column, one for the row count, and the keys and time columns
/// of the tables.
fn draft(catalogue: &steward_analysis::catalogue::Catalogue) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (mut tables, mut metrics) = (String::from("tables:\n"), String::from("metrics:\n"));
    for table in &catalogue.tables {
        let own = quoted(&table.name);
        let spoken = table.label.replace('_', " ");
        tables.push_str(&format!(
            "  {own}:\n    grain: {} # unsure: what is one row?\n",
            quoted(&format!("one of {spoken}"))
        ));
        if !table.primary_key.is_empty() {
            let key: Vec<String> = table.primary_key.iter().map(|column| quoted(column)).collect();
            tables.push_str(&format!("    key: [{}]\n", key.join(", ")));
        }
        let time = table.columns.iter().find(|column| role(catalogue, table, column) == Role::Time);
        if let Some(time) = time {
            tables.push_str(&format!("    default_time: {}\n", quoted(&time.name)));
        }
        let rows = quoted(&format!("{spoken} count"));
        metrics.push_str(&format!("  {rows}:\n    table: {own}\n    expression: count(*)\n"));
        for column in &table.columns {
            let (aggregate, doubt) = match role(catalogue, table, column) {
                Role::Measure => ("sum", ""),
                Role::Rate => ("avg", " # unsure: is the average of the rows meant?"),
                _ => continue,
            };
            let name = quoted(&format!("{spoken} {}", column.label.replace('_', " ").to_lowercase()));
            let expression = quoted(&format!("{aggregate}({})", column.name));
            metrics.push_str(&format!("  {name}:{doubt}\n    table: {own}\n    expression: {expression}\n"));
        }
    }
    format!("{tables}{}", metrics.trim_end())
}
