//! The toolbox of a home, wired up for a command.

use crate::commands::Context;
use crate::error::Failure;
use std::sync::Arc;
use steward_domain::{Constraints, RequestPolicy};
use steward_policy::Caller;
use steward_runtime::ask::AppContext;
use steward_runtime::toolbox::{AnalysisRules, Options, Toolbox};
use steward_server::identity::FileGrants;
use steward_tools::builtin::file::Root;

/// Opens the toolbox. `watch` reloads changed files while it is open.
pub(crate) async fn open(context: &Context, watch: bool) -> Result<Toolbox, Failure> {
    let opened = context.open().await?;
    let app = crate::commands::app(context, &opened)?;
    over(context, &app, watch).await
}

async fn over(context: &Context, app: &AppContext, watch: bool) -> Result<Toolbox, Failure> {
    let settings = &context.settings;
    let rules = AnalysisRules {
        policy: RequestPolicy {
            allowed_columns: settings.analysis.allowed_columns.clone(),
            blocked_patterns: settings.analysis.blocked_patterns.clone(),
        },
        constraints: Constraints {
            row_limit: settings.analysis.row_limit,
            timeout_seconds: settings.analysis.timeout_seconds,
        },
    };
    let mut roots: Vec<Root> = settings
        .tools
        .roots
        .iter()
        .map(|root| Root { path: root.path.clone(), write: root.write, home: None })
        .collect();
    if roots.is_empty() {
        let here = std::env::current_dir().map_err(Failure::unexpected)?;
        roots.push(Root::read(here));
    }
    let options = Options {
        home: context.home.path.clone(),
        environment: settings.environment,
        roots,
        rules,
        launcher: std::env::current_exe().ok(),
        watch,
        grants: Arc::new(FileGrants::open(&context.home.path, settings.user.clone())?),
    };
    let patience = std::time::Duration::from_secs(settings.approvals.expires_seconds.max(1));
    Ok(Toolbox::open(app, options).await?.expiring_approvals(patience))
}

/// The user at this terminal, who owns the machine.
pub(crate) fn caller(context: &Context) -> Caller {
    Caller::owner(context.settings.user.clone())
}
