//! `steward serve`: the API, the page, MCP, other protocols and a worker in one process, over HTTP.

use super::Context;
use crate::config::ServeSettings;
use crate::error::Failure;
use crate::output::{Tone, paint};
use clap::Args;
use clap::builder::FalseyValueParser;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use steward_journal::clock::{Clock as _, SystemClock};
use steward_journal::random::SystemRandom;
use steward_runtime::run::{Service, ServiceOptions};
use steward_server::http::{self, AppState, Options, Parts};
use steward_server::identity::Directory;
use steward_server::mcp::Gateway;
use steward_server::mcp_gateway::{ToolExposure, ToolboxGateway};
use steward_server::slack;
use tokio_util::sync::CancellationToken;

#[derive(Args)]
#[command(after_help = "Examples:
  steward serve                              the page at http://127.0.0.1:8088/, for whoever sits here
  steward serve --port 0 --no-worker         a free port, and tasks are left to `steward worker`
  steward keys add local && steward serve --listen 0.0.0.0 --host-name steward.example
                                             for a team: everybody with a key (`steward users`, `steward grants`)")]
pub(crate) struct Serve {
    /// The port, 8088 by default; 0 chooses a free one.
    #[arg(long, env = "STEWARD_PORT")]
    port: Option<u16>,
    /// The address to listen on, 127.0.0.1 by default. Any other than loopback needs users or keys.
    #[arg(long, env = "STEWARD_LISTEN")]
    listen: Option<IpAddr>,
    /// An additional host name that it accepts, beside localhost; repeat it for several.
    #[arg(long, value_name = "NAME", env = "STEWARD_HOST_NAME", value_delimiter = ',')]
    host_name: Vec<String>,
    /// An origin whose pages may use it, such as https://tools.example; repeat it for several.
    #[arg(long, value_name = "ORIGIN", env = "STEWARD_ORIGIN", value_delimiter = ',')]
    origin: Vec<String>,
    /// Rate limit: requests per minute for each identity; 1200 by default.
    #[arg(long, value_name = "N", env = "STEWARD_PER_MINUTE")]
    per_minute: Option<u32>,
    /// Maximum concurrent questions, 64 by default; further clients are asked to wait.
    #[arg(long, value_name = "N", env = "STEWARD_AT_ONCE")]
    at_once: Option<usize>,
    /// Maximum concurrent tasks of workflows and agents; 32 by default.
    #[arg(long, value_name = "N", env = "STEWARD_TASKS")]
    tasks: Option<u32>,
    /// Do not run workflows and agents; leave them to other workers.
    #[arg(long)]
    no_worker: bool,
    /// Seconds to finish running work at shutdown; 30 by default.
    #[arg(long, value_name = "SECONDS", env = "STEWARD_DRAIN")]
    drain: Option<u64>,
    /// Tools to offer over MCP under their own names, as names or `prefix.*`. Others are found with
    /// tools_search and called with tools_call.
    #[arg(long, value_name = "PATTERN", env = "STEWARD_EXPOSE", value_delimiter = ',')]
    expose: Vec<String>,
    /// Set the Secure flag of cookies: it runs behind a TLS proxy.
    #[arg(long, env = "STEWARD_BEHIND_TLS", value_parser = FalseyValueParser::new())]
    behind_tls: bool,
    /// Log every request to standard error, as JSON.
    #[arg(long, env = "STEWARD_LOG_REQUESTS", value_parser = FalseyValueParser::new())]
    log: bool,
}

impl Serve {
    /// The command line and the environment take precedence over the file.
    fn over(self, file: &ServeSettings) -> ServeSettings {
        let listed =
            |said: Vec<String>, written: &[String]| if said.is_empty() { written.to_vec() } else { said };
        ServeSettings {
            port: self.port.unwrap_or(file.port),
            listen: self.listen.unwrap_or(file.listen),
            host_names: listed(self.host_name, &file.host_names),
            origins: listed(self.origin, &file.origins),
            public_url: file.public_url.clone(),
            per_minute: self.per_minute.unwrap_or(file.per_minute).max(1),
            at_once: self.at_once.unwrap_or(file.at_once).max(1),
            tasks: self.tasks.unwrap_or(file.tasks).max(1),
            worker: file.worker && !self.no_worker,
            drain_seconds: self.drain.unwrap_or(file.drain_seconds),
            expose: listed(self.expose, &file.expose),
            behind_tls: file.behind_tls || self.behind_tls,
            log: file.log || self.log,
        }
    }
}

pub(super) async fn run(context: &Context, command: Serve) -> Result<(), Failure> {
    let set = command.over(&context.settings.serve);
    let clock = SystemClock::default();
    let began = clock.monotonic();
    crate::isolation::install(&context.home, &context.settings, context.memory());
    let opened = context.open().await?;
    let chat = Arc::new(super::chat::chat_service(context).await?);
    let toolbox = chat.toolbox().clone();
    let runner = super::run::over(context, &toolbox)?;
    let directory = directory(context)?;
    if !set.listen.is_loopback() && !directory.has_users() && directory.keys().is_empty() {
        toolbox.close().await;
        return Err(Failure::user(
            "WEB019",
            format!(
                "{} can be reached by others, and nobody is set up. Make a key first: steward keys add {}",
                set.listen, context.settings.user
            ),
        ));
    }
    let site = AppState::new(Parts {
        chat,
        runner: runner.clone(),
        directory,
        signer: opened.signer.clone(),
        metrics: context.metrics.clone(),
        shown: shown(context),
        options: options(context, &set),
    });
    let gateway: Arc<dyn Gateway> = Arc::new(ToolboxGateway::new(
        toolbox.clone(),
        runner.clone(),
        context.settings.user.clone(),
        ToolExposure { tools: set.expose.clone(), ..ToolExposure::default() },
    ));
    let slack = slack::Options::from_variables(|name| std::env::var(name).ok())?;
    let slack = slack.map(|options| site.slack(options)).transpose()?;
    if !context.settings.witness.logs.is_empty() {
        let logs = &context.settings.witness.logs;
        site.watch_logs(http::LogWitness::open(&context.home.path, &opened.signer, logs)?);
    }
    let router = http::router(&site, gateway, slack.clone());
    let address = SocketAddr::new(set.listen, set.port);
    let listener = tokio::net::TcpListener::bind(address).await.map_err(|error| {
        Failure::user("WEB020", format!("{address}: {error}. Choose another with --port"))
    })?;
    let address = listener.local_addr().map_err(Failure::unexpected)?;
    let took = clock.monotonic().saturating_sub(began);
    eprintln!(
        "{} http://{address}/  {}",
        paint(Tone::Good, "ready"),
        paint(Tone::Quiet, &format!("in {} ms · Ctrl-C ends it", took.as_millis()))
    );
    site.warm();
    let (stop, closing) = (CancellationToken::new(), CancellationToken::new());
    let serving = http::serve(listener, router, closing.clone());
    let mut deliverer = super::schedule::deliverer(context);
    if let Some(slack) = &slack {
        deliverer = deliverer.with_slack(slack.clone());
    }
    let notices = http::NoticeOptions {
        webhooks: context.settings.approvals.webhooks.clone(),
        slack: context.settings.approvals.slack && slack.is_some(),
        public_url: set.public_url.clone(),
    };
    let clock = runner.clone();
    let ticking = async {
        if set.worker {
            tokio::join!(clock.run_schedules(&deliverer, &stop), site.write_notices(notices, &stop));
        }
        std::future::pending::<()>().await;
    };
    let working = worker(&set, runner, &stop);
    let socket = socket(slack.clone(), stop.clone());
    let following = toolbox.follow(|change| {
        if let steward_tools::config::Change::Refused { problems, .. } = change {
            eprintln!("the configuration is left as it was:\n{problems}");
        }
    });
    let (mut serving, mut working) = (std::pin::pin!(serving), std::pin::pin!(working));
    let ended = tokio::select! {
        ended = &mut serving => ended.map_err(Failure::unexpected),
        ended = &mut working => ended,
        ended = socket => ended,
        () = async { following.await; std::future::pending::<()>().await } => Ok(()),
        () = keep_heads(context, &opened) => Ok(()),
        () = ticking => Ok(()),
        () = super::stopped() => {
            eprintln!("{}", paint(Tone::Quiet, "ending: what runs comes to its end"));
            stop.cancel();
            let drained = async {
                // Pending requests still get their answers, while the readiness check already
                // fails.
                let slack = async {
                    if let Some(slack) = &slack {
                        slack.close(Duration::from_secs(set.drain_seconds)).await;
                    }
                };
                tokio::join!(site.drain(), slack);
                closing.cancel();
            };
            let ended = tokio::join!(drained, &mut serving, working);
            ended.1.map_err(Failure::unexpected).and(ended.2)
        }
    };
    toolbox.close().await;
    ended
}

/// The users, roles and keys of this home.
pub(super) fn directory(context: &Context) -> Result<Arc<Directory>, Failure> {
    let clock = Arc::new(SystemClock::default());
    let fetch = Arc::new(steward_server::identity::HttpsFetch);
    let owner = context.settings.user.clone();
    Ok(Arc::new(Directory::open(&context.home.path, owner, clock, &SystemRandom, Some(fetch))?))
}

fn options(context: &Context, set: &ServeSettings) -> Options {
    let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    Options {
        hosts: loopback.into_iter().chain(set.host_names.iter().cloned()).collect(),
        origins: set.origins.clone(),
        loopback_owner: set.listen.is_loopback(),
        per_minute: set.per_minute,
        at_once: set.at_once,
        drain: Duration::from_secs(set.drain_seconds),
        secure_cookies: set.behind_tls,
        log: set.log,
        home: context.home.path.clone(),
    }
}

/// The settings for administrators: addresses without passwords, variables without values.
fn shown(context: &Context) -> Value {
    let mut settings = context.settings.clone();
    settings.store = steward_journal::redact::Redactor::default().redact_text(&settings.store).into_owned();
    json!({
        "settings": settings, "version": env!("CARGO_PKG_VERSION"), "store": settings.store,
        "home": context.home.path,
    })
}

/// Connects to Slack in socket mode, if configured.
async fn socket(slack: Option<Arc<slack::Slack>>, stop: CancellationToken) -> Result<(), Failure> {
    let wants = std::env::var("STEWARD_SLACK_APP_TOKEN").is_ok_and(|token| !token.trim().is_empty());
    match slack {
        Some(slack) if wants => Ok(slack::socket(slack, stop).await?),
        _ => std::future::pending().await,
    }
}

/// Saves the head outside the store every few seconds, and sends it to the witness every minute.
async fn keep_heads(context: &Context, opened: &crate::home::Opened) {
    let set = &context.settings.witness;
    for round in 0_u64.. {
        tokio::time::sleep(Duration::from_secs(2)).await;
        if let Err(failure) = crate::witness::keep(&context.home, set, opened).await {
            eprintln!("the head is not kept: {} {}", failure.code(), failure.message());
        }
        if round % 30 == 0
            && let Err(failure) = crate::witness::publish(&context.home, set, opened).await
        {
            eprintln!("{} {}", failure.code(), failure.message());
        }
    }
}

/// The pause before a worker begins again.
const WORKER_PAUSE: Duration = Duration::from_secs(2);

/// Runs queued tasks beside the requests, until it is stopped.
async fn worker(
    set: &ServeSettings,
    runner: steward_runtime::run::Runner,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    if !set.worker {
        stop.cancelled().await;
        return Ok(());
    }
    let options = ServiceOptions {
        at_once: set.tasks,
        drain: Duration::from_secs(set.drain_seconds),
        ..ServiceOptions::default()
    };
    let service = Service::new(runner, options);
    // A store that is away must not end the server: the worker begins again when it is back.
    while let Err(error) = service.run(stop.clone(), Arc::new(|_, _| {})).await {
        eprintln!("the worker begins again: {error}");
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(WORKER_PAUSE) => {}
        }
    }
    Ok(())
}
