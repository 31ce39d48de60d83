//! Authentication to remote servers: a token from the environment, a user login, or client
//! credentials.
//!
//! Invariants
//! - Tokens are stored in files that only their owner can read, one per server, and never appear in
//!   messages.
//! - A login returns to a loopback listener that exists for one login and accepts only the response
//!   to its own request.

use crate::error::{Error, Result};
use crate::mcp::connection::deepest;
use crate::mcp::files;
use crate::mcp::server::{Options, Shared};
use crate::mcp::start::failed;
use crate::mcp::transport::http::ring;
use async_trait::async_trait;
use rmcp::transport::auth::{OAuthClientConfig, OAuthState};
use rmcp::transport::{
    AuthError, AuthorizationManager, AuthorizationRequest, ClientCredentialsConfig, CredentialStore,
    InMemoryCredentialStore, StoredCredentials, WWWAuthenticateParams,
};
use std::path::PathBuf;
use std::time::Duration;
use steward_domain::{McpServer, ServerAuth, ServerName};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// The credentials of a request.
pub(crate) enum Credentials {
    /// None.
    None,
    /// A static token.
    Bearer(String),
    /// A login that is refreshed automatically.
    Login(Box<AuthorizationManager>),
}

/// The credentials for this server, from the configuration and earlier logins.
pub(crate) async fn credentials(shared: &Shared) -> Result<Credentials> {
    let (server, options) = (&*shared.server, &shared.options);
    let Some(auth) = &server.config.auth else { return Ok(Credentials::None) };
    let login = |error: AuthError| login_needed(server, &error);
    match auth {
        ServerAuth::Bearer { token_variable } => {
            variable(options, token_variable).map(Credentials::Bearer).map_err(|told| failed(shared, told))
        }
        ServerAuth::Oauth { secret_variable, .. } => {
            let mut manager = manager(server).await.map_err(login)?;
            let store = store(server, options);
            let known = store.load().await.map_err(login)?;
            manager.set_credential_store(store);
            if let Some(known) = known {
                manager.initialize_from_store().await.map_err(login)?;
                if let Some(name) = secret_variable {
                    let secret = variable(options, name).map_err(|told| failed(shared, told))?;
                    let config = OAuthClientConfig::new(known.client_id, "http://127.0.0.1/callback");
                    manager.configure_client(config.with_client_secret(secret)).map_err(login)?;
                }
            }
            Ok(Credentials::Login(Box::new(manager)))
        }
        ServerAuth::ClientCredentials { client_id, secret_variable, scopes } => {
            let secret = variable(options, secret_variable).map_err(|told| failed(shared, told))?;
            let mut state = OAuthState::Unauthorized(manager(server).await.map_err(login)?);
            let config = ClientCredentialsConfig::ClientSecret {
                client_id: client_id.clone(),
                client_secret: secret,
                scopes: scopes.clone(),
                resource: server.config.url.clone(),
            };
            state.authenticate_client_credentials(config).await.map_err(login)?;
            let manager = state.into_authorization_manager().ok_or_else(|| Error::Bug {
                detail: "client credentials were exchanged for nothing".into(),
            })?;
            Ok(Credentials::Login(Box::new(manager)))
        }
    }
}

/// The parameters of a login.
#[derive(Debug, Clone)]
pub struct Login {
    /// The time that the user has.
    pub within: Duration,
    /// The server's challenge when it rejected a request: the detail of [`Error::LoginNeeded`].
    pub challenge: Option<String>,
    /// The URL of a client metadata document, for servers that accept one instead of a
    /// registration.
    pub client_document: Option<String>,
}

impl Default for Login {
    fn default() -> Self {
        Self { within: Duration::from_secs(300), challenge: None, client_document: None }
    }
}

/// Logs a user in. `open` gets the URL to visit; the response returns to a loopback listener.
///
/// # Errors
/// [`Error::LoginNeeded`] with what went wrong.
pub async fn login(server: &McpServer, options: &Options, login: Login, open: impl Fn(&str)) -> Result<()> {
    let told = |error: &dyn std::fmt::Display| Error::LoginNeeded {
        server: server.name.to_string(),
        detail: error.to_string(),
    };
    let Some(ServerAuth::Oauth { client_id, secret_variable, scopes }) = &server.config.auth else {
        return Err(told(&"its configuration does not say `auth: { type: oauth }`"));
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| told(&error))?;
    let port = listener.local_addr().map_err(|error| told(&error))?.port();
    let back = format!("http://127.0.0.1:{port}/callback");
    let mut request = AuthorizationRequest::new(&back).with_client_name("Steward");
    request.client_id.clone_from(client_id);
    if let Some(name) = secret_variable {
        request = request.with_client_secret(variable(options, name).map_err(|error| told(&error))?);
    }
    request.client_metadata_url = login.client_document;
    // A server that requires more scopes names them. The granted ones are kept.
    let mut manager = manager(server).await.map_err(|error| login_needed(server, &error))?;
    let store = store(server, options);
    let granted = store.load().await.ok().flatten().map(|known| known.granted_scopes).unwrap_or_default();
    let asked = login.challenge.as_deref().and_then(|challenge| step_up(server, challenge));
    request = match asked {
        Some(more) => {
            let mut all: Vec<String> =
                granted.into_iter().chain(scopes.iter().cloned()).chain(more).collect();
            all.sort();
            all.dedup();
            request.with_scopes(all)
        }
        None if scopes.is_empty() => request.with_initial_scope_selection(),
        None => request.with_scopes(scopes.clone()),
    };
    if let Some(challenge) = login.challenge {
        request = request.with_challenge(challenge);
    }
    manager.set_credential_store(store);
    let mut state = OAuthState::Unauthorized(manager);
    let flow = async {
        state.start_authorization(request).await?;
        open(&state.get_authorization_url().await?);
        let answer = callback(&listener, &back).await.map_err(AuthError::AuthorizationFailed)?;
        state.handle_callback_url(&answer).await
    };
    match tokio::time::timeout(login.within, Box::pin(flow)).await {
        Ok(done) => done.map_err(|error| login_needed(server, &error)),
        Err(_) => Err(told(&format!("nobody logged in within {:.0} s", login.within.as_secs_f64()))),
    }
}

/// Deletes a login.
///
/// # Errors
/// When its file cannot be removed.
pub fn logout(server: &ServerName, options: &Options) -> Result<()> {
    file(server, options).map_or(Ok(()), |path| files::remove(&path))
}

/// The additional scopes that a server requires, if its challenge says so.
fn step_up(server: &McpServer, challenge: &str) -> Option<Vec<String>> {
    let base = Url::parse(server.config.url.as_deref()?).ok()?;
    let params = WWWAuthenticateParams::parse(challenge, &base);
    let scopes = params.is_insufficient_scope().then_some(params.scope).flatten()?;
    Some(scopes.split_whitespace().map(str::to_owned).collect())
}

async fn manager(server: &McpServer) -> Result<AuthorizationManager, AuthError> {
    ring();
    AuthorizationManager::new(server.config.url.as_deref().unwrap_or_default()).await
}

fn variable(options: &Options, name: &str) -> Result<String, String> {
    (options.variables)(name).ok_or_else(|| format!("the environment variable {name} is not set"))
}

fn login_needed(server: &McpServer, error: &AuthError) -> Error {
    Error::LoginNeeded { server: server.name.to_string(), detail: deepest(error) }
}

fn file(server: &ServerName, options: &Options) -> Option<PathBuf> {
    options.logins.as_ref().map(|folder| folder.join(format!("{server}.json")))
}

/// Stores a login in a file, or in memory if there is no folder.
enum Store {
    File(PathBuf),
    Memory(InMemoryCredentialStore),
}

fn store(server: &McpServer, options: &Options) -> Store {
    match file(&server.name, options) {
        Some(path) => Store::File(path),
        None => Store::Memory(InMemoryCredentialStore::new()),
    }
}

/// These files are small, so blocking reads are acceptable.
#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        match self {
            Self::File(path) => files::read(path).map_err(kept),
            Self::Memory(memory) => memory.load().await,
        }
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        match self {
            Self::File(path) => files::write(path, &credentials).map_err(kept),
            Self::Memory(memory) => memory.save(credentials).await,
        }
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match self {
            Self::File(path) => files::remove(path).map_err(kept),
            Self::Memory(memory) => memory.clear().await,
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn kept(error: Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

/// Waits for the browser's redirect. Other requests are ignored.
async fn callback(listener: &TcpListener, back: &str) -> Result<String, String> {
    loop {
        let (stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        let served = tokio::time::timeout(Duration::from_secs(5), serve(stream)).await;
        let Ok(Ok(target)) = served else { continue };
        let Ok(url) = Url::parse(back).and_then(|base| base.join(&target)) else { continue };
        if url.path() != "/callback" {
            continue;
        }
        let find =
            |key: &str| url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
        if find("code").is_some() {
            return Ok(url.into());
        }
        if let Some(error) = find("error") {
            let why = find("error_description").map(|words| format!(": {words}")).unwrap_or_default();
            return Err(format!("the server said {error}{why}"));
        }
    }
}

/// Answers one request and returns its path.
async fn serve(stream: TcpStream) -> std::io::Result<String> {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    (&mut stream).take(16 * 1024).read_line(&mut first).await?;
    let words = "You can close this window and go back to Steward.";
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{words}",
        words.len()
    );
    stream.get_mut().write_all(answer.as_bytes()).await?;
    stream.get_mut().shutdown().await?;
    Ok(first.split_whitespace().nth(1).unwrap_or_default().to_owned())
}
