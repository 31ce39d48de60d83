//! The files of an answer: tables, charts, reports. Each is written to disk, hashed, and recorded
//! in the journal.

use super::record::Record;
use super::{Answer, AppContext, Ask};
use crate::error::Result;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};
use std::path::{Component, Path, PathBuf};
use steward_analysis::export;
use steward_analysis::frame::{Frame, Value};
use steward_analysis::report::{self, NumberOrigin, ReportInput};
use steward_analysis::tools::Workbench;
use steward_domain::{
    Artifact, ArtifactId, ArtifactKind, Certainty, Check as _, Deliverable, EventType, ResponseStatus,
    Sha256Hex,
};
use steward_store::Change;

/// Writes the requested files. If a file cannot be written, the answer becomes a partial one.
pub(super) fn write(
    app: &AppContext,
    ask: &Ask,
    answer: &mut Answer,
    bench: &Workbench,
    record: &mut Record,
) -> Result<()> {
    let named = |what: Deliverable| ask.deliver.contains(&what);
    let wants = |what: Deliverable| ask.deliver.is_empty() || named(what);
    let folder = |kind: &str| match &ask.out {
        Some(out) => absolute(out).join(kind),
        None => absolute(&app.artifacts).join(kind).join(record.task.to_string()),
    };
    let mut files: Vec<(ArtifactKind, PathBuf, Vec<u8>, Json)> = Vec::new();
    let mut unwritten: Vec<(PathBuf, String)> = Vec::new();
    if wants(Deliverable::Tables) {
        for table in &answer.tables {
            let data = json!({ "title": table.title, "rows": table.frame.rows.len(), "columns": table.frame.fields.iter().map(|field| &field.name).collect::<Vec<_>>() });
            files.push((
                ArtifactKind::Table,
                folder("tables").join(format!("{}.csv", table.frame.name)),
                csv(&table.frame),
                data,
            ));
        }
    }
    let mut pictures = Vec::new();
    if wants(Deliverable::Charts) {
        for (place, chart) in answer.charts.iter().enumerate() {
            let base = folder("charts").join(format!("{}_{}", place + 1, file_name(&chart.spec.title)));
            let data = json!({ "title": chart.spec.title, "kind": chart.spec.kind, "x": chart.spec.x, "y": chart.spec.y });
            files.push((
                ArtifactKind::Chart,
                base.with_extension("png"),
                chart.drawn.png.clone(),
                data.clone(),
            ));
            files.push((
                ArtifactKind::Chart,
                base.with_extension("svg"),
                chart.drawn.svg.clone().into_bytes(),
                data.clone(),
            ));
            let vega = serde_json::to_vec_pretty(&chart.drawn.vega_lite).unwrap_or_default();
            files.push((ArtifactKind::Chart, base.with_extension("vl.json"), vega, data));
            pictures.push(base.with_extension("png"));
        }
    }
    if wants(Deliverable::Reports) && answer.response.status != ResponseStatus::Failed {
        let reports = folder("reports");
        let input = report_input(ask, answer, bench, record, &pictures, &reports);
        let data = json!({ "sections": ["answer", "findings", "charts", "tables", "method", "proof"] });
        files.push((
            ArtifactKind::Report,
            reports.join("report.md"),
            report::markdown(&input).into_bytes(),
            data.clone(),
        ));
        files.push((
            ArtifactKind::Report,
            reports.join("report.html"),
            report::html(&input).into_bytes(),
            data,
        ));
    }
    if named(Deliverable::Parquet) {
        for table in &answer.tables {
            let path = folder("tables").join(format!("{}.parquet", table.frame.name));
            match export::parquet(&table.frame) {
                Ok(bytes) => files.push((ArtifactKind::Table, path, bytes, json!({ "title": table.title }))),
                Err(error) => unwritten.push((path, error.to_string())),
            }
        }
    }
    if named(Deliverable::Workbook) && answer.response.status != ResponseStatus::Failed {
        let path = folder("reports").join("answer.xlsx");
        let input = report_input(ask, answer, bench, record, &pictures, &folder("reports"));
        let charts: Vec<(String, &[u8])> = (answer.charts.iter())
            .map(|chart| (chart.spec.title.clone(), chart.drawn.png.as_slice()))
            .collect();
        match report::workbook(&input, &charts, &origins(answer)) {
            Ok(bytes) => {
                let sheets = json!({ "sheets": ["answer", "tables", "charts", "sources"] });
                files.push((ArtifactKind::Report, path, bytes, sheets));
            }
            Err(error) => unwritten.push((path, error.to_string())),
        }
    }
    for (path, error) in unwritten {
        answer.response.status = ResponseStatus::PartialSuccess;
        answer.response.summary.warnings.push(format!("{} was not written: {error}", path.display()));
    }
    for (kind, path, content, metadata) in files {
        if let Err(error) = save(&path, &content) {
            answer.response.status = ResponseStatus::PartialSuccess;
            answer.response.summary.warnings.push(format!("{} was not written: {error}", path.display()));
            continue;
        }
        let Json::Object(metadata) = metadata else { continue };
        let artifact = artifact(record, kind, &path, &content, metadata)?;
        answer.response.artifacts.push(artifact);
    }
    Ok(())
}

/// The origin of each number, with row numbers as in a sheet with a header.
fn origins(answer: &Answer) -> Vec<NumberOrigin> {
    let origin = |evidence: &super::answer::Evidence| NumberOrigin {
        text: evidence.text.clone(),
        table: (answer.tables.iter().find(|table| table.frame.name == evidence.table))
            .map_or_else(|| evidence.table.clone(), |table| table.title.clone()),
        column: evidence.column.clone(),
        rows: match evidence.rows.as_slice() {
            [] => "all".to_owned(),
            rows => rows.iter().take(20).map(|row| (row + 2).to_string()).collect::<Vec<_>>().join(", "),
        },
        operation: evidence.operation.clone(),
        call: evidence.call_id.to_string(),
    };
    answer.evidence.iter().map(origin).collect()
}

/// The path of a file that was written under `content_ref`. In a home that was moved or restored,
/// the file has the same path inside its artifacts folder.
#[must_use]
pub fn placed(artifacts: &Path, content_ref: &str) -> PathBuf {
    let path = Path::new(content_ref);
    let inside: Vec<Component<'_>> = path.components().collect();
    let folder = inside.iter().rposition(|part| part.as_os_str() == "artifacts");
    match folder.and_then(|at| inside.get(at + 1..)) {
        Some(inner)
            if !path.starts_with(artifacts)
                && inner.iter().all(|part| matches!(part, Component::Normal(_))) =>
        {
            artifacts.join(inner.iter().collect::<PathBuf>())
        }
        _ => path.to_owned(),
    }
}

/// Stores another file of a task, with its hash in the journal.
pub(crate) fn keep(
    app: &AppContext,
    record: &mut Record,
    kind: ArtifactKind,
    name: &str,
    content: &[u8],
) -> Result<()> {
    let path = absolute(&app.artifacts).join(name).join(record.task.to_string()).with_extension("json");
    // A write error does not fail the answer.
    if save(&path, content).is_ok() {
        artifact(record, kind, &path, content, Map::new())?;
    }
    Ok(())
}

fn artifact(
    record: &mut Record,
    kind: ArtifactKind,
    path: &Path,
    content: &[u8],
    metadata: Map<String, Json>,
) -> Result<Artifact> {
    let hash: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    let artifact = Artifact {
        artifact_id: ArtifactId(record.id()?),
        request_id: record.task,
        artifact_type: kind,
        content_ref: path.display().to_string(),
        content_hash: Sha256Hex::new(hash)?,
        metadata,
        size_bytes: content.len() as u64,
        created_at: record.now(),
    }
    .validate()?;
    record.note(
        EventType::ArtifactGenerated,
        "runtime",
        json!({ "artifact_id": artifact.artifact_id, "artifact_type": kind, "content_ref": artifact.content_ref, "sha256": artifact.content_hash, "size_bytes": artifact.size_bytes }),
    )?;
    record.change(Change::PutArtifact(artifact.clone()));
    Ok(artifact.into_inner())
}

fn save(path: &Path, content: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, content)
}

/// The canonical path: `..` and links are resolved once, here.
fn absolute(path: &Path) -> PathBuf {
    let _made = std::fs::create_dir_all(path);
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A frame as CSV. Text that a spreadsheet would run as a formula gets a leading quote.
fn csv(frame: &Frame) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let _head = writer.write_record(frame.fields.iter().map(|field| &field.name));
    for row in &frame.rows {
        let _row = writer.write_record(row.iter().map(|cell| match cell {
            Value::Text(text) if text.starts_with(['=', '+', '@', '\t', '\r']) => format!("'{text}"),
            other => other.plain(),
        }));
    }
    writer.into_inner().unwrap_or_default()
}

fn file_name(title: &str) -> String {
    let plain: String =
        title.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    let parts: Vec<&str> = plain.split('_').filter(|part| !part.is_empty()).take(8).collect();
    let name = parts.join("_");
    if name.is_empty() { "chart".to_owned() } else { name.chars().take(60).collect() }
}

fn report_input<'a>(
    ask: &Ask,
    answer: &'a Answer,
    bench: &Workbench,
    record: &Record,
    pictures: &[PathBuf],
    reports: &Path,
) -> ReportInput<'a> {
    let confidence = match answer.confidence {
        Certainty::High => report::Level::High,
        Certainty::Medium => report::Level::Medium,
        Certainty::Low => report::Level::Low,
    };
    let relative = |path: &Path| {
        let up = reports.ancestors().skip(1).position(|ancestor| path.starts_with(ancestor));
        match up {
            Some(levels) => {
                let base = reports.ancestors().nth(levels + 1).unwrap_or(reports);
                format!("{}{}", "../".repeat(levels + 1), path.strip_prefix(base).unwrap_or(path).display())
            }
            None => path.display().to_string(),
        }
    };
    let charts = answer.charts.iter().enumerate().map(|(place, chart)| {
        let picture = pictures.get(place).map(|path| relative(path)).unwrap_or_default();
        (chart.spec.title.clone(), chart.drawn.svg.clone(), picture)
    });
    let fingerprint = bench.session.catalogue().fingerprint();
    ReportInput {
        title: ask.question.trim().to_owned(),
        question: ask.question.trim().to_owned(),
        answer: answer.answer.clone(),
        findings: answer.response.summary.key_findings.clone(),
        warnings: answer.response.summary.warnings.clone(),
        assumptions: answer.assumptions.clone(),
        tables: answer.tables.iter().map(|table| (&table.frame, table.title.clone())).collect(),
        charts: charts.collect(),
        sources: answer
            .sources
            .iter()
            .map(|source| {
                (source.name.clone(), format!("{} ({})", source.tables.join(", "), source.location))
            })
            .collect(),
        queries: answer.sql.iter().map(|run| (run.title.clone(), run.sql.clone())).collect(),
        number_queries: (answer.evidence.iter())
            .filter_map(|evidence| {
                let query = answer.sql.iter().position(|run| run.call_id == evidence.call_id)?;
                Some((evidence.text.clone(), query))
            })
            .collect(),
        confidence: Some(report::Confidence { level: confidence, reasons: Vec::new() }),
        proof: vec![
            ("Request".to_owned(), record.task.to_string()),
            ("Plan".to_owned(), answer.response.plan_ref.map(|plan| plan.to_string()).unwrap_or_default()),
            ("Schema fingerprint".to_owned(), fingerprint),
            ("Verify".to_owned(), format!("steward audit export {} && steward audit verify", record.task)),
        ],
        duration_ms: answer.response.metrics.execution_time_ms,
        generated: record.now().to_chrono().format("%Y-%m-%d %H:%M UTC").to_string(),
    }
}
