//! A client for any server that speaks OpenAI's chat completions.
//!
//! Servers differ in what they accept. The client begins with the strictest form and steps back when the server refuses it, and
//! remembers where it came out. Attempts, waiting, time and size all have a bound; redirects and proxies are not followed, so
//! that the key goes where it was meant to and nowhere else.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode, Url};
use serde_json::{Value, json};

use super::reply::{complaint, completion, is_strict, json as find_json};
use super::{Model, ModelError, Reply, Request, Role, Secret};

/// The most that is read of a response.
const BODY: usize = 4 * 1024 * 1024;
/// Attempts in all.
const ATTEMPTS: u32 = 3;
/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// How long a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Where the model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Such as `https://host/v1`.
    pub base_url: String,
    /// The key, when the server asks for one.
    pub api_key: Option<Secret>,
    /// The model's name.
    pub model: String,
    /// The first wait between attempts; each later one is twice as long.
    pub backoff: Duration,
}

impl Options {
    /// Without a key.
    #[must_use]
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            backoff: Duration::from_millis(500),
        }
    }
}

/// A model behind chat completions.
pub struct OpenAi {
    client: Client,
    address: Url,
    host: String,
    key: Option<Secret>,
    authorization: Option<HeaderValue>,
    model: String,
    backoff: Duration,
    accepts: Mutex<Form>,
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the whole address: what follows its question mark may be a key.
        f.debug_struct("OpenAi")
            .field("host", &self.host)
            .field("path", &self.address.path())
            .field("model", &self.model)
            .finish()
    }
}

/// The form of a question: what the server was found to accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Form {
    /// How JSON is asked for.
    format: Format,
    /// It wants `max_completion_tokens`.
    new_limit: bool,
    /// It does not want a temperature.
    no_temperature: bool,
}

/// How JSON is asked for, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Format {
    /// The server keeps to the schema.
    #[default]
    Schema,
    /// The server keeps to JSON, the schema stands in the question.
    Json,
    /// The schema stands in the question.
    Words,
}

impl Form {
    /// Asks for less after a refusal. False when there is nothing left to leave out.
    fn step_back(&mut self, schema: bool, said: &str) -> bool {
        let said = said.to_ascii_lowercase();
        if said.contains("max_completion_tokens") && !self.new_limit {
            self.new_limit = true;
            return true;
        }
        if said.contains("temperature") && !self.no_temperature {
            self.no_temperature = true;
            return true;
        }
        // A question that is too long stays too long in any form.
        let long = said.contains("context length")
            || said.contains("context_length")
            || said.contains("too many tokens");
        self.format = match self.format {
            Format::Schema if schema && !long => Format::Json,
            Format::Json if schema && !long => Format::Words,
            _ => return false,
        };
        true
    }
}

/// How an attempt failed.
enum Failed {
    /// Trying again may help, after this wait if the server named one.
    Again(ModelError, Option<Duration>),
    /// The server does not accept the form of the question.
    Form(ModelError, String),
    /// Nothing helps.
    Final(ModelError),
}

impl OpenAi {
    /// A client; nothing is sent yet.
    pub fn new(options: Options) -> Result<Self, ModelError> {
        let wrong = |detail: String| ModelError::Address { detail };
        let mut address = Url::parse(options.base_url.trim()).map_err(|error| wrong(error.to_string()))?;
        if !address.username().is_empty() || address.password().is_some() {
            return Err(wrong("it holds a user or a password; give the key apart".to_owned()));
        }
        let path = address.path().trim_end_matches('/');
        let path = format!("{}/chat/completions", path.strip_suffix("/chat/completions").unwrap_or(path));
        address.set_path(&path);
        let host = match (address.host_str(), address.port_or_known_default()) {
            (Some(host), Some(port)) if matches!(address.scheme(), "http" | "https") => {
                format!("{host}:{port}")
            }
            _ => return Err(wrong("it begins neither with http:// nor with https://".to_owned())),
        };
        let authorization =
            match &options.api_key {
                Some(key) if !key.expose().trim().is_empty() => {
                    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose().trim()))
                        .map_err(|_| ModelError::Unauthorised {
                            host: host.clone(),
                            detail: "it holds characters that no key has".to_owned(),
                        })?;
                    value.set_sensitive(true);
                    Some(value)
                }
                _ => None,
            };
        let client = client(address.scheme() == "https")
            .map_err(|detail| ModelError::Unreachable { host: host.clone(), detail })?;
        let Options { api_key: key, model, backoff, .. } = options;
        Ok(Self { client, address, host, key, authorization, model, backoff, accepts: Mutex::default() })
    }

    async fn attempts(&self, request: &Request) -> Result<Reply, ModelError> {
        let mut failures = 0;
        let mut form = *self.accepts.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (error, wait) = match self.attempt(request, form).await {
                Ok(reply) => {
                    // Kept only after it worked: a refusal may have had another cause.
                    *self.accepts.lock().unwrap_or_else(PoisonError::into_inner) = form;
                    return Ok(reply);
                }
                Err(Failed::Final(error)) => return Err(error),
                // Each step back is taken once, so this ends.
                Err(Failed::Form(_, said)) if form.step_back(request.schema.is_some(), &said) => continue,
                Err(Failed::Form(error, _)) => return Err(error),
                Err(Failed::Again(error, wait)) => (error, wait),
            };
            failures += 1;
            let wait = wait.unwrap_or_else(|| self.backoff.saturating_mul(1 << (failures - 1).min(10)));
            if failures >= ATTEMPTS || wait > LONGEST_WAIT {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(&self, request: &Request, form: Form) -> Result<Reply, Failed> {
        let body = self.body(request, form).to_string();
        let mut post =
            self.client.post(self.address.clone()).header(CONTENT_TYPE, "application/json").body(body);
        if let Some(authorization) = &self.authorization {
            post = post.header(AUTHORIZATION, authorization.clone());
        }
        let response = post.send().await.map_err(|error| Failed::Again(self.unreachable(error), None))?;
        let status = response.status();
        let wait = (response.headers().get(RETRY_AFTER))
            .and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let bytes = self.read(response).await?;
        if status != StatusCode::OK {
            return Err(self.refusal(status, &bytes, wait));
        }
        self.reply(request, &bytes).map_err(Failed::Final)
    }

    fn reply(&self, request: &Request, bytes: &[u8]) -> Result<Reply, ModelError> {
        let host = self.host.clone();
        let said =
            completion(bytes).map_err(|detail| ModelError::Garbled { host, detail: self.redact(&detail) })?;
        if let Some(detail) = said.refusal {
            return Err(ModelError::Declined { detail });
        }
        if said.finish == "length" {
            return Err(ModelError::CutOff { max_tokens: request.max_tokens });
        }
        if said.finish == "content_filter" {
            return Err(ModelError::Declined { detail: "a filter of the server stopped it".to_owned() });
        }
        let found = request.schema.as_ref().map(|(_, schema)| find_json(&said.text, schema)).transpose();
        let json = found.map_err(|detail| ModelError::NotJson { detail })?;
        let model = said.model.unwrap_or_else(|| self.model.clone());
        Ok(Reply { text: said.text, json, input_tokens: said.tokens.0, output_tokens: said.tokens.1, model })
    }

    /// Reads the body, up to the limit.
    async fn read(&self, mut response: reqwest::Response) -> Result<Vec<u8>, Failed> {
        let mut bytes = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if bytes.len() + chunk.len() > BODY => {
                    return Err(Failed::Final(ModelError::TooLarge { limit: BODY }));
                }
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => return Ok(bytes),
                Err(error) => return Err(Failed::Again(self.unreachable(error), None)),
            }
        }
    }

    fn refusal(&self, status: StatusCode, bytes: &[u8], wait: Option<Duration>) -> Failed {
        let said = self.redact(&complaint(bytes));
        let (host, detail, number) = (self.host.clone(), said.clone(), status.as_u16());
        let about_model = said.to_ascii_lowercase().contains("model");
        match number {
            401 | 403 => Failed::Final(ModelError::Unauthorised { host, detail }),
            404 if about_model => {
                Failed::Final(ModelError::NoModel { host, model: self.model.clone(), detail })
            }
            400 if said.contains("model_not_found") => {
                Failed::Final(ModelError::NoModel { host, model: self.model.clone(), detail })
            }
            400 | 415 | 422 => Failed::Form(ModelError::Refused { host, status: number, detail }, said),
            // An empty account does not fill up while we wait.
            429 if said.contains("insufficient_quota") => {
                Failed::Final(ModelError::RateLimited { host, detail })
            }
            429 => Failed::Again(ModelError::RateLimited { host, detail }, wait),
            // Some servers do not know the form and say so with the status for things that are not built.
            501 => Failed::Form(ModelError::Server { host, status: number, detail }, said),
            408 | 425 | 500..=599 => Failed::Again(ModelError::Server { host, status: number, detail }, wait),
            _ => Failed::Final(ModelError::Refused { host, status: number, detail }),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> ModelError {
        // The innermost cause says most ("connection refused"); the outer ones repeat the address.
        let error = error.without_url();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        ModelError::Unreachable { host: self.host.clone(), detail: self.redact(&cause.to_string()) }
    }

    /// Strikes the key out of what a server says.
    fn redact(&self, text: &str) -> String {
        match &self.key {
            Some(key) if !key.expose().trim().is_empty() => text.replace(key.expose().trim(), "***"),
            _ => text.to_owned(),
        }
    }

    /// The question as the server reads it.
    fn body(&self, request: &Request, form: Form) -> Value {
        let mut messages: Vec<Value> = request
            .messages
            .iter()
            .map(|message| json!({ "role": message.role.word(), "content": message.content }))
            .collect();
        let limit = if form.new_limit { "max_completion_tokens" } else { "max_tokens" };
        let mut body = json!({ "model": self.model, "stream": false });
        if let Some((name, schema)) = &request.schema {
            match form.format {
                Format::Schema => {
                    let name = schema_name(name);
                    let schema = json!({ "name": name, "schema": schema, "strict": is_strict(schema) });
                    set(
                        &mut body,
                        "response_format",
                        json!({ "type": "json_schema", "json_schema": schema }),
                    );
                }
                Format::Json => set(&mut body, "response_format", json!({ "type": "json_object" })),
                Format::Words => {}
            }
            if form.format != Format::Schema {
                let rule = format!(
                    "Reply with one JSON value that follows this JSON schema, and with nothing else:\n{schema}"
                );
                messages.push(json!({ "role": Role::User.word(), "content": rule }));
            }
        }
        set(&mut body, "messages", messages.into());
        set(&mut body, limit, request.max_tokens.into());
        if !form.no_temperature {
            // Through text, so that 0.1 stays 0.1.
            set(
                &mut body,
                "temperature",
                request.temperature.to_string().parse::<f64>().unwrap_or(0.0).into(),
            );
        }
        body
    }
}

fn set(body: &mut Value, name: &str, value: Value) {
    if let Some(map) = body.as_object_mut() {
        map.insert(name.to_owned(), value);
    }
}

/// Servers take only simple names.
fn schema_name(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(64).collect();
    if name.is_empty() { "reply".to_owned() } else { name }
}

/// The connection. Without TLS no certificates of the system are needed, which a bare container may lack.
fn client(tls: bool) -> Result<Client, String> {
    let builder = Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_WITHIN)
        .pool_idle_timeout(Duration::from_secs(30))
        .user_agent("steward");
    let builder = if tls {
        // If another part of the program has already chosen, that stays.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
        builder.tls_backend_rustls()
    } else {
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config =
            config.map_err(|error| error.to_string())?.with_root_certificates(rustls::RootCertStore::empty());
        builder.tls_backend_preconfigured(config.with_no_client_auth())
    };
    builder.build().map_err(|error| error.to_string())
}

#[async_trait]
impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.model
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ModelError> {
        let milliseconds = u64::try_from(request.timeout.as_millis()).unwrap_or(u64::MAX);
        let late = |_| Err(ModelError::Timeout { milliseconds });
        tokio::time::timeout(request.timeout, self.attempts(request)).await.unwrap_or_else(late)
    }
}
