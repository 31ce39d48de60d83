//! `steward eval`: test cases for answers, with the expected results.

use super::{Context, ask};
use crate::error::Failure;
use crate::output::{Tone, document, paint, say};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use steward_domain::{EvalCase, EvalSuite, TaskId};
use steward_journal::clock::{Clock as _, SystemClock};
use steward_journal::keys;
use steward_journal::random::SystemRandom;
use steward_journal::redact::Redactor;
use steward_runtime::ask::{AppContext, Ask, Planner};
use steward_runtime::eval::{
    CaseReport, EvalReport, EvalRun, append_case, eval_page, failed_run, read_suite,
};
use steward_store::StoreOptions;
use steward_store::sqlite::SqliteStore;

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward eval run cases.yaml                         exit code 2 when a case fails
  steward eval run cases.yaml --with local --with model:gpt --html report.html
  steward eval run cases.yaml --json > before.json    with one version, and then with another:
  steward eval run cases.yaml --against before.json   exit code 2 when a case got worse
  steward eval add cases.yaml --from TASK             an answer that you have becomes a case")]
pub(crate) enum Eval {
    /// Run test cases and check the answers.
    Run(Run),
    /// Create a case from an earlier answer, with its current rows.
    Add {
        /// The file; created if missing.
        file: PathBuf,
        /// The task of the answer.
        #[arg(long, value_name = "TASK")]
        from: TaskId,
        /// The name of the case; the question by default.
        #[arg(long)]
        name: Option<String>,
    },
}

#[derive(Args)]
pub(crate) struct Run {
    /// Files of cases.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What answers: `auto`, `local` (no model), `model:NAME` or `model:NAME@URL`; repeat it to
    /// compare several. The first one decides the exit code.
    #[arg(long = "with", value_name = "VARIANT", default_value = "auto")]
    variants: Vec<String>,
    /// Only cases whose name contains this.
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// The report of an earlier run (`--json`) to compare with: only regressions count.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Write the report as one HTML file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub(super) async fn run(context: &Context, command: Eval) -> Result<(), Failure> {
    match command {
        Eval::Run(run) => Box::pin(run_cases(context, &run)).await,
        Eval::Add { file, from, name } => {
            let opened = context.open().await?;
            let app = super::app(context, &opened)?;
            let case = app.case_of(&ask::plain(context), from, name).await?;
            append_case(&file, &case)?;
            say(format!("added {:?} to {}", case.name, file.display()));
            Ok(())
        }
    }
}

async fn run_cases(context: &Context, run: &Run) -> Result<(), Failure> {
    let mut suites: Vec<(String, EvalSuite)> = Vec::new();
    for file in &run.files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        suites.push((name, read_suite(file)?));
    }
    let earlier = match &run.against {
        Some(file) => Some(read_report(file)?),
        None => None,
    };
    let mut report = EvalReport {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: SystemClock::default().now().to_string(),
        variants: run.variants.clone(),
        cases: Vec::new(),
    };
    let wanted = |name: &str| run.case.as_ref().is_none_or(|part| name.contains(part.as_str()));
    for (file, suite) in &suites {
        for case in suite.cases.iter().filter(|case| wanted(&case.name)) {
            let (name, question) = (format!("{file}: {}", case.name), case.question.to_string());
            report.cases.push(CaseReport { name, question, runs: Vec::new() });
        }
    }
    for variant in &run.variants {
        let variant = Variant::open(context, variant).await?;
        let cases = suites.iter().flat_map(|(_, suite)| suite.cases.iter().map(move |case| (suite, case)));
        let cases = cases.filter(|(_, case)| wanted(&case.name));
        for ((suite, case), told) in cases.zip(&mut report.cases) {
            told.runs.push(variant.run(context, suite, case).await);
        }
    }
    if let Some(earlier) = &earlier {
        report.add_earlier_report(earlier);
    }
    if let Some(file) = &run.html {
        let unwritten =
            |error: std::io::Error| Failure::user("CLI004", format!("{}: {error}", file.display()));
        std::fs::write(file, eval_page(&report)).map_err(unwritten)?;
    }
    if context.json {
        document(&report);
    } else {
        shown(&report);
    }
    ended(&report, earlier.is_some())
}

fn read_report(file: &Path) -> Result<EvalReport, Failure> {
    let wrong = |problem: String| Failure::user("CLI004", format!("{}: {problem}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text)
        .map_err(|error| wrong(format!("this is no report of `steward eval run --json`: {error}")))
}

/// A way to answer, with its own store.
struct Variant {
    name: String,
    app: AppContext,
    planner: Option<Planner>,
    _folder: tempfile::TempDir,
}

impl Variant {
    async fn open(context: &Context, name: &str) -> Result<Self, Failure> {
        let (planner, model) = match (name, name.strip_prefix("model:")) {
            ("auto", _) => (None, None),
            ("local", _) => (Some(Planner::Local), None),
            (_, Some(model)) => (None, Some(model)),
            _ => {
                let told = format!("--with {name}: write auto, local, model:NAME or model:NAME@URL");
                return Err(Failure::user("CLI004", told));
            }
        };
        let unmade =
            |error: std::io::Error| Failure::user("CLI004", format!("no folder for the cases: {error}"));
        let folder = tempfile::tempdir().map_err(unmade)?;
        let options = StoreOptions {
            clock: Arc::new(SystemClock::default()),
            random: Arc::new(SystemRandom),
            redactor: Arc::new(Redactor::default()),
            signer: Arc::new(keys::load_or_create(&folder.path().join("journal.key"), &SystemRandom)?),
        };
        let store = SqliteStore::open(&folder.path().join("state.db"), options)?;
        // The definitions of the home apply; its recipes do not.
        let semantics = context.home.path.join("semantics");
        if semantics.is_dir() {
            std::fs::create_dir_all(folder.path().join("semantics")).map_err(unmade)?;
            for entry in std::fs::read_dir(&semantics).map_err(unmade)?.flatten() {
                let copy = folder.path().join("semantics").join(entry.file_name());
                std::fs::copy(entry.path(), copy).map_err(unmade)?;
            }
        }
        let app = ask::app_over(context, model, Arc::new(store))?;
        let app = AppContext { artifacts: folder.path().join("artifacts"), ..app };
        Ok(Self { name: name.to_owned(), app, planner, _folder: folder })
    }

    async fn run(&self, context: &Context, suite: &EvalSuite, case: &EvalCase) -> EvalRun {
        let data = if case.data.is_empty() { suite.data.clone() } else { case.data.clone() };
        let deliver = vec![steward_domain::Deliverable::Summary];
        let ask = Ask { data, planner: self.planner, deliver, ..ask::plain(context) };
        let budget = case.budget.or(suite.budget);
        match Box::pin(self.app.run_case(&ask, case, budget, &self.name)).await {
            Ok(run) => run,
            Err(error) => failed_run(&self.name, &error),
        }
    }
}

fn shown(report: &EvalReport) {
    for case in &report.cases {
        say(format!("{}  {}", paint(Tone::Strong, &case.name), paint(Tone::Quiet, &case.question)));
        for run in &case.runs {
            let (tone, word) = if run.passed { (Tone::Good, "passed") } else { (Tone::Bad, "failed") };
            let took = format!("{} ms, {} calls, {} tokens", run.milliseconds, run.calls, run.tokens);
            say(format!("  {}  {:<12} {}", paint(tone, word), run.variant, paint(Tone::Quiet, &took)));
            run.failures.iter().for_each(|line| say(format!("          {line}")));
        }
    }
    for (place, variant) in report.variants.iter().enumerate() {
        let total = report.cases.iter().filter(|case| case.runs.get(place).is_some()).count();
        say(format!("{variant}: {} of {total} cases passed", report.passed(place)));
    }
}

/// With an earlier report only regressions count; otherwise all failures.
fn ended(report: &EvalReport, compared: bool) -> Result<(), Failure> {
    if compared {
        let worse = report.regressions_against(report.variants.len().saturating_sub(1));
        return match worse.as_slice() {
            [] => Ok(()),
            worse => {
                Err(Failure::user("RUN035", format!("{} cases got worse: {}", worse.len(), worse.join(", "))))
            }
        };
    }
    match report.cases.len() - report.passed(0) {
        0 => Ok(()),
        failed => Err(Failure::user("RUN035", format!("{failed} of {} cases failed", report.cases.len()))),
    }
}
