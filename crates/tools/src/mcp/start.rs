//! Starts a server: the process or the connection, then the handshake.
//!
//! The newest protocol version is tried first. A server that supports only earlier versions says so
//! and gets the version it expects. One that fails on the request is restarted with the earlier
//! handshake.

use crate::error::{Error, Result};
use crate::mcp::calls::{ConnectionMonitor, DisconnectReason, TappedTransport};
use crate::mcp::client::Client;
use crate::mcp::connection::{Connection, deepest, login_needed};
use crate::mcp::server::Shared;
use crate::mcp::transport::{fill_all, http, sse, stdio::Stdio};
use crate::process::{self, Running, Spec};
use crate::sandbox::Confinement;
use crate::sandbox::private::PrivateFolder;
use crate::sandbox::standard::{Folders, Program, expanded, folders as folders_of};
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::Transport;
use rustix::process::{Pid, test_kill_process_group};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{SandboxRules, Transport as Kind};
use tokio::task::JoinSet;

/// The timeout for closing a connection.
const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// A running server.
pub(crate) struct Live {
    pub(crate) connection: Arc<Connection>,
    service: RunningService<RoleClient, Client>,
    process: Option<Running>,
    /// Removed when the process ends.
    private: Option<PrivateFolder>,
    tasks: JoinSet<()>,
}

impl Live {
    /// Closes the connection, then ends the process group.
    pub(crate) async fn end(mut self, grace: Duration) {
        self.connection.lose(DisconnectReason::Stopped);
        let _ = self.service.close_with_timeout(CLOSE_GRACE).await;
        self.tasks.shutdown().await;
        if let Some(process) = self.process {
            let group = process.id().and_then(Pid::from_raw);
            process.stop(grace).await;
            buried(group).await;
        }
        drop(self.private);
    }
}

/// Waits until the killed processes have ended. Signals are handled asynchronously, and
/// grandchildren cannot be awaited.
async fn buried(group: Option<Pid>) {
    let Some(group) = group else { return };
    for _ in 0..100 {
        if test_kill_process_group(group).is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts the server, within its timeout.
pub(crate) async fn start(shared: Arc<Shared>) -> Result<Live> {
    let within = shared.options.start_within;
    let late = |_| {
        let detail = format!("it did not answer the greeting within {:.0} s", within.as_secs_f64());
        Err(failed(&shared, detail))
    };
    tokio::time::timeout(within, attempt(&shared)).await.unwrap_or_else(late)
}

async fn attempt(shared: &Arc<Shared>) -> Result<Live> {
    let newest = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    match greet(shared, newest).await {
        Err(Refusal::UnsupportedHandshake(_)) => greet(shared, ClientLifecycleMode::Initialize).await,
        other => other,
    }
    .map_err(|refusal| match refusal {
        Refusal::UnsupportedHandshake(error) | Refusal::Final(error) => error,
    })
}

/// Why the handshake failed.
enum Refusal {
    /// Possibly only because the server does not support the newest handshake.
    UnsupportedHandshake(Error),
    /// For another reason.
    Final(Error),
}

async fn greet(shared: &Arc<Shared>, mode: ClientLifecycleMode) -> Result<Live, Refusal> {
    let tap = Arc::new(ConnectionMonitor::default());
    let limit = shared.options.message_bytes;
    match shared.server.transport {
        Kind::Stdio => {
            let (spec, private) = spec(shared).map_err(Refusal::Final)?;
            let mut process =
                process::start(&spec).map_err(|error| Refusal::Final(failed(shared, error.to_string())))?;
            let (Some(stdin), Some(stdout), Some(stderr)) =
                (process.stdin.take(), process.stdout.take(), process.stderr.take())
            else {
                return Err(Refusal::Final(Error::Bug { detail: "a child without pipes".into() }));
            };
            let pipes = (stdin, stdout, stderr);
            let transport = Stdio::new(pipes, limit, Arc::clone(&tap), Arc::clone(&shared.log));
            match serve(shared, transport, Arc::clone(&tap), mode).await {
                Ok(mut live) => {
                    live.process = Some(process);
                    live.private = private;
                    Ok(live)
                }
                Err(refusal) => {
                    process.stop(Duration::ZERO).await;
                    Err(refusal)
                }
            }
        }
        Kind::Http => {
            let transport = http::connect(shared).await.map_err(Refusal::Final)?;
            match transport {
                http::Http::Open(transport) => serve(shared, transport, tap, mode).await,
                http::Http::Authorized(transport) => serve(shared, transport, tap, mode).await,
            }
        }
        Kind::Sse => {
            let transport = sse::connect(shared, Arc::clone(&tap)).await.map_err(Refusal::Final)?;
            serve(shared, transport, tap, mode).await
        }
    }
}

/// Performs the handshake over any transport.
async fn serve<T>(
    shared: &Arc<Shared>,
    transport: T,
    tap: Arc<ConnectionMonitor>,
    mode: ClientLifecycleMode,
) -> Result<Live, Refusal>
where
    T: Transport<RoleClient> + 'static,
{
    let client = Client {
        server: shared.server.name.clone(),
        tap: Arc::clone(&tap),
        log: Arc::clone(&shared.log),
        changed: shared.changed.clone(),
    };
    let transport = TappedTransport::new(transport, Arc::clone(&tap));
    let greeted = Box::pin(serve_client_with_lifecycle(client, transport, mode)).await;
    let service = greeted.map_err(|error| refusal(shared, &tap, &error))?;
    let Some(info) = service.peer().peer_info() else {
        return Err(Refusal::Final(failed(shared, "it did not say who it is".into())));
    };
    if !ProtocolVersion::KNOWN_VERSIONS.contains(&info.protocol_version) {
        let told =
            format!("it speaks the protocol revision {}, which is not known here", info.protocol_version);
        return Err(Refusal::Final(failed(shared, told)));
    }
    let name = shared.server.name.clone();
    let most = shared.options.concurrent;
    let (connection, reaper) = Connection::new(name, info, service.peer().clone(), tap, most);
    let mut tasks = JoinSet::new();
    tasks.spawn(reaper.run());
    Ok(Live { connection, service, process: None, private: None, tasks })
}

fn refusal(shared: &Shared, tap: &ConnectionMonitor, error: &ClientInitializeError) -> Refusal {
    if let Some(login) = login_needed(&shared.server.name, cause(error)) {
        return Refusal::Final(login);
    }
    let detail = match (tap.is_gone(), tap.why()) {
        (true, DisconnectReason::Closed(detail) | DisconnectReason::Protocol(detail)) => detail,
        (true, DisconnectReason::TooLarge(limit)) => format!("it sent a message of more than {limit} bytes"),
        _ => deepest(cause(error)),
    };
    let told = failed(shared, detail);
    match error {
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. }
        | ClientInitializeError::TransportError { .. } => Refusal::UnsupportedHandshake(told),
        _ => Refusal::Final(told),
    }
}

/// The cause of a failed handshake, which the error does not expose as its source.
fn cause(error: &ClientInitializeError) -> &(dyn std::error::Error + 'static) {
    match error {
        ClientInitializeError::TransportError { error, .. } => error,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => cause(fallback),
        other => other,
    }
}

/// The process specification of a server, and its temporary folder.
fn spec(shared: &Shared) -> Result<(Spec, Option<PrivateFolder>)> {
    let (config, options) = (&shared.server.config, &shared.options);
    let env = fill_all(&config.env, &*options.variables).map_err(|detail| failed(shared, detail))?;
    let mut spec = Spec {
        program: config.command.clone().unwrap_or_default(),
        args: config.args.clone(),
        env: env.into_iter().collect(),
        folder: config.folder.as_ref().map(Into::into),
        sandbox: None,
    };
    let Some(rules) = config.sandbox.rules() else { return Ok((spec, None)) };
    let Some(launcher) = &options.launcher else {
        // There is no launcher only if this process is not the Steward binary.
        let asked = *rules != SandboxRules { standard: true, ..SandboxRules::default() };
        return if asked {
            Err(failed(shared, "nothing is there to shut it in".into()))
        } else {
            Ok((spec, None))
        };
    };
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let full = |path: &String| {
        let path = expanded(path, home.as_deref());
        std::path::absolute(&path).unwrap_or(path)
    };
    let listed = |folders: &[String]| folders.iter().map(full).collect();
    let mut folders = Folders { read: listed(&rules.read), write: listed(&rules.write) };
    let mut private = None;
    if rules.standard {
        for folder in &folders.write {
            let _launcher_reports_missing_folder = std::fs::create_dir_all(folder);
        }
        let path = process::locate(&spec).map_err(|detail| failed(shared, detail))?;
        let folder = spec.folder.as_ref().and_then(|folder| std::path::absolute(folder).ok());
        let own = folders_of(&Program {
            path: &path,
            args: &spec.args,
            env: &spec.env,
            folder: folder.as_deref(),
            home: home.as_deref(),
            own: options.home.as_deref(),
        });
        folders.read.extend(own.read);
        folders.write.extend(own.write);
        let temporary = PrivateFolder::make(options.home.as_deref(), shared.server.name.as_ref())
            .map_err(|error| failed(shared, format!("no temporary folder for it: {error}")))?;
        folders.write.push(temporary.path().to_owned());
        spec.env.entry("TMPDIR".to_owned()).or_insert_with(|| temporary.path().display().to_string());
        private = Some(temporary);
    }
    // A standard folder that does not exist is not an error.
    let there = |folder: &PathBuf| folder.exists() || !rules.standard;
    folders.read.retain(there);
    folders.write.retain(there);
    spec.sandbox = Some(Confinement {
        read: folders.read,
        write: folders.write,
        network: rules.network.unwrap_or(rules.standard),
        required: rules.required,
        launcher: launcher.clone(),
    });
    Ok((spec, private))
}

/// The error for a failed start.
pub(crate) fn failed(shared: &Shared, detail: String) -> Error {
    Error::ServerStart { server: shared.server.name.to_string(), detail }
}
