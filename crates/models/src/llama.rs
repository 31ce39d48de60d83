//! A model in a GGUF file, served by a llama.cpp server that this module starts.
//!
//! The server listens on a free loopback port with a random key. The first request starts it. If it
//! dies, it is started again; it stops with [`Model::close`] or on drop. Child processes are
//! started by another crate, through [`Launcher`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use steward_journal::random::{Random, SystemRandom};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::chat::{Answer, Chat};
use super::http;
use super::stream::Listener;
use super::{Model, ModelError, OpenAi, Options, Reply, Request, Secret, simple};

/// Pause between two health checks of a loading server.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Time limit of a health check.
const LOOK_WITHIN: Duration = Duration::from_secs(5);
/// Maximum number of starts: a port may be taken between selection and start.
const STARTS: u32 = 3;
/// How long a server that closed a connection has to exit.
const DYING: Duration = Duration::from_millis(500);

/// The arguments of llama.cpp's own server.
const LLAMA_SERVER: &[&str] = &[
    "llama-server",
    "--model",
    "{model}",
    "--alias",
    "{name}",
    "--host",
    "127.0.0.1",
    "--port",
    "{port}",
    "--ctx-size",
    "{context}",
    "--threads",
    "{threads}",
    "--parallel",
    "1",
    "--jinja",
    "--no-webui",
];

/// The same server from the Python package `xllamacpp`, which has no command.
const XLLAMACPP: &str = "\
import os, sys, threading, xllamacpp as x
p = x.CommonParams()
p.model.path, p.model_alias = sys.argv[1], {sys.argv[5]}
port, p.n_ctx, threads = map(int, sys.argv[2:5])
p.hostnames = ['127.0.0.1']
p.port, p.n_parallel, p.use_jinja, p.warmup = port, 1, True, False
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = threads
p.api_keys = [os.environ['LLAMA_API_KEY']]
server = x.Server(p)
threading.Event().wait()
";

/// Starts child processes.
#[async_trait]
pub trait Launcher: Send + Sync {
    /// Starts a program with these arguments and these additional variables. The child's output
    /// must be drained. The error says why it could not be started.
    async fn launch(
        &self,
        program: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
    ) -> Result<Box<dyn Launched>, String>;
}

/// A child process. Dropping it kills it and all its children.
#[async_trait]
pub trait Launched: Send + Sync {
    /// Waits until it has exited by itself, and returns how, with its last output if any. Cancel
    /// safe.
    async fn ended(&mut self) -> String;
    /// Stops it, gracefully first.
    async fn stop(self: Box<Self>);
}

/// The options of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct LlamaOptions {
    /// The GGUF file.
    pub file: PathBuf,
    /// The program and its arguments, in which `{model}`, `{name}`, `{port}`, `{context}` and
    /// `{threads}` are replaced. The key is in the variable LLAMA_API_KEY. A server without the
    /// name uses the path as the model's name.
    pub command: Vec<String>,
    /// The context window.
    pub context_tokens: u32,
    /// Number of compute threads.
    pub threads: u32,
    /// Time limit of loading.
    pub start_within: Duration,
    /// The client options; the address is filled in.
    pub client: Options,
}

impl LlamaOptions {
    /// Options for the `llama-server` in the path.
    #[must_use]
    pub fn new(name: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            command: LLAMA_SERVER.iter().map(|&word| word.to_owned()).collect(),
            context_tokens: 4096,
            threads: 1,
            start_within: Duration::from_secs(120),
            client: Options::new("", name),
        }
    }

    /// The command that serves with this Python, in which `xllamacpp` is installed.
    #[must_use]
    pub fn xllamacpp(python: &str) -> Vec<String> {
        [python, "-c", XLLAMACPP, "{model}", "{port}", "{context}", "{threads}", "{name}"]
            .map(str::to_owned)
            .into()
    }
}

/// A running server.
struct Running {
    child: Box<dyn Launched>,
    client: Arc<OpenAi>,
}

/// A model behind a server that we start.
pub struct LlamaServer {
    options: LlamaOptions,
    launcher: Arc<dyn Launcher>,
    running: Mutex<Option<Running>>,
    /// One request starts the server, the others wait.
    starting: Semaphore,
}

impl std::fmt::Debug for LlamaServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LlamaServer").field("file", &self.options.file).finish_non_exhaustive()
    }
}

impl LlamaServer {
    /// Starts nothing yet.
    #[must_use]
    pub fn new(options: LlamaOptions, launcher: Arc<dyn Launcher>) -> Self {
        Self { options, launcher, running: Mutex::new(None), starting: Semaphore::new(1) }
    }

    fn take(&self) -> Option<Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, running: Running) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    }

    fn client(&self) -> Option<Arc<OpenAi>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().map(|running| Arc::clone(&running.client))
    }

    fn failed(&self, detail: impl Into<String>) -> ModelError {
        let program = self.options.command.first().cloned().unwrap_or_default();
        ModelError::NotStarted { program, detail: detail.into() }
    }

    /// The client of the running server. The server is started if there is none, or if `broken` is
    /// dead.
    async fn ready(&self, broken: Option<&Arc<OpenAi>>) -> Result<Arc<OpenAi>, ModelError> {
        let limit = self.options.start_within;
        let late = |_| Err(self.failed(format!("it was not ready after {} s", limit.as_secs())));
        timeout(limit, self.start_if_needed(broken)).await.unwrap_or_else(late)
    }

    async fn start_if_needed(&self, broken: Option<&Arc<OpenAi>>) -> Result<Arc<OpenAi>, ModelError> {
        let _starter = self.starting.acquire().await.map_err(|error| self.failed(error.to_string()))?;
        match self.client() {
            Some(client) if broken.is_none_or(|broken| !Arc::ptr_eq(broken, &client)) => return Ok(client),
            Some(client) => {
                if let Some(mut running) = self.take()
                    && timeout(DYING, running.child.ended()).await.is_err()
                {
                    self.put(running);
                    return Ok(client);
                }
            }
            None => {}
        }
        if !self.options.file.is_file() {
            return Err(self.failed(format!("there is no file {}", self.options.file.display())));
        }
        let mut last = self.failed("it was not tried");
        for _ in 0..STARTS {
            match self.start().await {
                Ok(running) => {
                    let client = Arc::clone(&running.client);
                    self.put(running);
                    return Ok(client);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn start(&self) -> Result<Running, ModelError> {
        let port = free_port().map_err(|error| self.failed(format!("no free port: {error}")))?;
        let key = SystemRandom.bytes().map_err(|error| self.failed(error.to_string()))?;
        let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let (program, args) = command(&self.options, port);
        let env = BTreeMap::from([("LLAMA_API_KEY".to_owned(), key.clone())]);
        let mut child =
            (self.launcher.launch(&program, &args, &env).await).map_err(|detail| self.failed(detail))?;
        let healthy = healthy(port);
        tokio::select! {
            how = child.ended() => return Err(self.failed(format!("it ended: {how}"))),
            ready = healthy => ready.map_err(|detail| self.failed(detail))?,
        }
        let mut client = self.options.client.clone();
        client.base_url = format!("http://127.0.0.1:{port}/v1");
        client.api_key = Some(Secret::new(key));
        client.provider = Some("llama_cpp");
        Ok(Running { child, client: Arc::new(OpenAi::new(client)?) })
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn command(options: &LlamaOptions, port: u16) -> (String, Vec<String>) {
    let filled = |word: &String| {
        word.replace("{port}", &port.to_string())
            .replace("{context}", &options.context_tokens.to_string())
            .replace("{threads}", &options.threads.to_string())
            .replace("{name}", &options.client.model)
            // Replaced last, since a path may contain the other placeholders.
            .replace("{model}", &options.file.to_string_lossy())
    };
    let mut words = options.command.iter().map(filled);
    (words.next().unwrap_or_default(), words.collect())
}

/// Polls until the server is ready. The caller bounds the time.
async fn healthy(port: u16) -> Result<(), String> {
    let http = http::connection(false)?;
    let address = format!("http://127.0.0.1:{port}/health");
    loop {
        if let Ok(Ok(response)) = timeout(LOOK_WITHIN, http.get(&address).send()).await
            && response.status().is_success()
        {
            return Ok(());
        }
        sleep(LOOK_EVERY).await;
    }
}

#[async_trait]
impl Model for LlamaServer {
    fn name(&self) -> &str {
        &self.options.client.model
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ModelError> {
        simple::complete(self, request).await
    }

    /// The time limit of the request starts when the server is ready.
    async fn talk(&self, chat: &Chat, listener: Option<&Listener>) -> Result<Answer, ModelError> {
        let client = self.ready(None).await?;
        let error = match client.talk(chat, listener).await {
            Err(error @ (ModelError::Unreachable { .. } | ModelError::BrokeOff { .. })) => error,
            other => return other,
        };
        let again = self.ready(Some(&client)).await?;
        if Arc::ptr_eq(&client, &again) || listener.is_some_and(Listener::has_heard) {
            return Err(error);
        }
        again.talk(chat, listener).await
    }

    async fn close(&self) {
        if let Some(running) = self.take() {
            running.child.stop().await;
        }
    }
}
