//! `steward serve`: everything in one process, over HTTP: the API, the page, MCP, the protocols of others, and a worker beside them.

use super::Context;
use crate::error::Failure;
use crate::output::{Tone, paint};
use clap::Args;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use steward_journal::clock::{Clock as _, SystemClock};
use steward_journal::random::SystemRandom;
use steward_runtime::run::{Service, ServiceOptions};
use steward_server::http::{self, Options, Parts, Site};
use steward_server::identity::Directory;
use steward_server::mcp::Gateway;
use steward_server::mcp_house::{Exposure, HouseGateway};
use steward_server::slack;
use tokio_util::sync::CancellationToken;

#[derive(Args)]
#[command(after_help = "Examples:
  steward serve                              the page at http://127.0.0.1:8088/, for whoever sits here
  steward serve --port 0 --no-worker         a free port, and tasks are left to `steward worker`
  steward keys add local && steward serve --listen 0.0.0.0 --host-name steward.example
                                             for a team: everybody with a key (`steward users`, `steward grants`)")]
pub(crate) struct Serve {
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 8088, env = "STEWARD_PORT")]
    port: u16,
    /// The address to listen on. Anything but loopback needs users or keys.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), env = "STEWARD_LISTEN")]
    listen: IpAddr,
    /// A name that it answers to, beside localhost; repeat it for several.
    #[arg(long, value_name = "NAME", env = "STEWARD_HOST_NAME", value_delimiter = ',')]
    host_name: Vec<String>,
    /// An origin whose pages may use it, such as https://tools.example; repeat it for several.
    #[arg(long, value_name = "ORIGIN")]
    origin: Vec<String>,
    /// Requests that one identity may make in a minute.
    #[arg(long, default_value_t = 1200)]
    per_minute: u32,
    /// Questions that are worked on at once; beyond, clients are asked to wait.
    #[arg(long, default_value_t = 64)]
    at_once: usize,
    /// Tasks of workflows and agents that run at once.
    #[arg(long, default_value_t = 32)]
    tasks: u32,
    /// Leave workflows and agents to other workers.
    #[arg(long)]
    no_worker: bool,
    /// Seconds that what runs may take to come to its end when it is stopped.
    #[arg(long, default_value_t = 30)]
    drain: u64,
    /// Tools to offer over MCP under their own names, as names or `prefix.*`. Others are found with tools_search and called with
    /// tools_call.
    #[arg(long, value_name = "PATTERN")]
    expose: Vec<String>,
    /// Cookies for TLS only: it is reached through a proxy that speaks TLS.
    #[arg(long)]
    behind_tls: bool,
    /// Tell every request on the error output, as JSON.
    #[arg(long)]
    log: bool,
}

pub(super) async fn run(context: &Context, command: Serve) -> Result<(), Failure> {
    let clock = SystemClock::default();
    let began = clock.monotonic();
    let opened = context.open().await?;
    let talker = Arc::new(super::chat::talker(context).await?);
    let toolbox = talker.toolbox().clone();
    let runner = super::run::over(context, &toolbox)?;
    let directory = directory(context)?;
    if !command.listen.is_loopback() && !directory.has_users() && directory.keys().is_empty() {
        toolbox.close().await;
        return Err(Failure::user(
            "WEB019",
            format!(
                "{} can be reached by others, and nobody is set up. Make a key first: steward keys add {}",
                command.listen, context.settings.user
            ),
        ));
    }
    let site = Site::new(Parts {
        talker,
        runner: runner.clone(),
        directory,
        signer: opened.signer.clone(),
        metrics: context.metrics.clone(),
        shown: shown(context),
        options: options(context, &command),
    });
    let gateway: Arc<dyn Gateway> = Arc::new(HouseGateway::new(
        toolbox.clone(),
        runner.clone(),
        context.settings.user.clone(),
        Exposure { tools: command.expose.clone() },
    ));
    let slack = slack::Options::from_variables(|name| std::env::var(name).ok())?;
    let slack = slack.map(|options| site.slack(options)).transpose()?;
    let router = http::router(&site, gateway, slack.clone());
    let address = SocketAddr::new(command.listen, command.port);
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
    let working = worker(&command, runner, &stop);
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
        () = super::stopped() => {
            eprintln!("{}", paint(Tone::Quiet, "ending: what runs comes to its end"));
            stop.cancel();
            let drained = async {
                // Whoever waits for an answer still gets it, and whoever asks whether it is ready is told no.
                let slack = async {
                    if let Some(slack) = &slack {
                        slack.close(Duration::from_secs(command.drain)).await;
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

fn options(context: &Context, command: &Serve) -> Options {
    let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    Options {
        hosts: loopback.into_iter().chain(command.host_name.iter().cloned()).collect(),
        origins: command.origin.clone(),
        loopback_owner: command.listen.is_loopback(),
        per_minute: command.per_minute.max(1),
        at_once: command.at_once.max(1),
        drain: Duration::from_secs(command.drain),
        secure_cookies: command.behind_tls,
        log: command.log,
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

/// Listens to Slack over a socket of our own, where that is set up.
async fn socket(slack: Option<Arc<slack::Slack>>, stop: CancellationToken) -> Result<(), Failure> {
    let wants = std::env::var("STEWARD_SLACK_APP_TOKEN").is_ok_and(|token| !token.trim().is_empty());
    match slack {
        Some(slack) if wants => Ok(slack::socket(slack, stop).await?),
        _ => std::future::pending().await,
    }
}

/// Works off the queue beside the requests, until it is stopped.
async fn worker(
    command: &Serve,
    runner: steward_runtime::run::Runner,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    if command.no_worker {
        stop.cancelled().await;
        return Ok(());
    }
    let options = ServiceOptions {
        at_once: command.tasks.max(1),
        drain: Duration::from_secs(command.drain),
        ..ServiceOptions::default()
    };
    Ok(Service::new(runner, options).run(stop.clone(), Arc::new(|_, _| {})).await?)
}
