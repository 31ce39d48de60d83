//! `steward worker`: runs queued tasks.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, paint};
use clap::Args;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::Label;
use steward_runtime::run::{LeaseHolder, RunStatus, Service, ServiceOptions};
use tokio_util::sync::CancellationToken;

#[derive(Args)]
#[command(after_help = "Examples:
  steward run report --detach && steward worker --until-empty
  steward --store postgres://steward@db/steward worker --name worker-1 --at-once 64")]
pub(crate) struct Worker {
    /// Its name, which must be unique. A worker that restarts under its old name continues its
    /// tasks at once.
    #[arg(long)]
    name: Option<String>,
    /// Maximum concurrent tasks.
    #[arg(long, default_value_t = 32)]
    at_once: u32,
    /// Maximum concurrent tasks of one user.
    #[arg(long, default_value_t = 16)]
    per_user: u32,
    /// Seconds without a heartbeat after which other workers may take its tasks.
    #[arg(long, default_value_t = 30.0, value_parser = seconds)]
    lease: f64,
    /// Seconds to finish running tasks at shutdown.
    #[arg(long, default_value_t = 30)]
    drain: u64,
    /// Stop when no task is queued or running.
    #[arg(long)]
    until_empty: bool,
    /// Serve Prometheus metrics on this loopback port, at /metrics; 0 chooses a free one.
    #[arg(long)]
    pub(super) metrics_port: Option<u16>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.5..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("give seconds from 0.5 to 3600".to_owned()),
    }
}

pub(super) async fn run(context: &Context, command: Worker) -> Result<(), Failure> {
    crate::isolation::install(&context.home, &context.settings, context.memory());
    let toolbox = Arc::new(crate::toolbox::open(context, true).await?);
    let runner = super::run::over(context, &toolbox)?;
    let lease = Duration::from_secs_f64(command.lease);
    let runner = match command.name {
        Some(name) => runner.held_by(LeaseHolder { name: Label::new(name)?, lease }),
        None => runner.leased_for(lease),
    };
    let options = ServiceOptions {
        at_once: command.at_once.max(1),
        per_user: command.per_user.max(1),
        drain: Duration::from_secs(command.drain),
        until_empty: command.until_empty,
    };
    let stop = CancellationToken::new();
    let json = context.json;
    let told = Arc::new(move |task, ran: &Result<steward_runtime::run::Ran, String>| {
        let (tone, word, detail) = match ran {
            Ok(ran) => match &ran.standing {
                RunStatus::Completed(_) => (Tone::Good, "completed", String::new()),
                RunStatus::Failed(why) => (Tone::Bad, "failed", why.clone()),
                RunStatus::Rejected(why) => (Tone::Warn, "rejected", why.clone()),
                RunStatus::Cancelled(by) => (Tone::Warn, "cancelled", format!("by {by}")),
                RunStatus::Waiting => (Tone::Warn, "paused", String::new()),
                RunStatus::HandedOver => (Tone::Quiet, "handed over", String::new()),
            },
            Err(why) => (Tone::Bad, "left", why.clone()),
        };
        if json {
            let line = serde_json::json!({ "task": task, "status": word, "detail": detail });
            crate::output::say(line);
        } else {
            eprintln!("{task}  {} {detail}", paint(tone, word));
        }
    });
    if !json {
        eprintln!("{} works · Ctrl-C hands over and ends", runner.holder().name);
    }
    let deliverer = super::schedule::deliverer(context);
    let clock = runner.clone();
    let ticking = clock.run_schedules(&deliverer, &stop);
    let service = Service::new(runner, options);
    let following = async {
        toolbox
            .follow(|change| {
                if let steward_tools::config::Change::Refused { problems, .. } = change {
                    eprintln!("the configuration is left as it was:\n{problems}");
                }
            })
            .await;
        std::future::pending::<()>().await;
    };
    let beside = beside(context, &toolbox, command.metrics_port, &stop);
    let mut working = std::pin::pin!(service.run(stop.clone(), told));
    let result = tokio::select! {
        result = &mut working => result,
        failure = beside => return Err(failure),
        () = following => Ok(()),
        () = ticking => Ok(()),
        () = super::stopped() => {
            stop.cancel();
            working.await
        }
    };
    toolbox.close().await;
    Ok(result?)
}

/// Background work of a worker: the retention policy once a day, and the metrics endpoint.
async fn beside(
    context: &Context,
    toolbox: &steward_runtime::toolbox::Toolbox,
    port: Option<u16>,
    stop: &CancellationToken,
) -> Failure {
    let metrics = async {
        let (Some(port), Some(metrics)) = (port, context.metrics.clone()) else {
            return std::future::pending().await;
        };
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
        eprintln!("metrics at http://{}/metrics", listener.local_addr()?);
        steward_server::metrics::serve(listener, metrics, stop.clone()).await?;
        std::future::pending().await
    };
    let retention = async {
        loop {
            if let Err(failure) = super::retention::apply(&context.home, &*toolbox.app().store, false).await {
                eprintln!("the retention policy was not applied: {}", failure.message());
            }
            tokio::time::sleep(DAY).await;
        }
    };
    let served: std::io::Result<std::convert::Infallible> = tokio::select! {
        served = metrics => served,
        () = retention => return Failure::unexpected("retention ended"),
    };
    match served {
        Err(error) => Failure::unexpected(error),
        Ok(never) => match never {},
    }
}

const DAY: Duration = Duration::from_secs(24 * 3600);
