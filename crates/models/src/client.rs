//! The client for all providers: retries, rate limits, time and size limits are shared; the
//! protocol is a [`Wire`].
//!
//! Attempts, waits and sizes are bounded. An incomplete reply is an error, and once a listener has
//! received a part, there is no retry.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use steward_journal::clock::{Clock, SystemClock};
use steward_journal::random::SystemRandom;
use tokio::time::timeout;

use super::chat::{Answer, Chat, MAX_TOKENS, Price, TIMEOUT};
use super::form::Form;
use super::http::{self, Failed, Peer};
use super::limits::Limits;
use super::sse::{Framer, Misframed};
use super::stream::{Event, Listener};
use super::traced::traced;
use super::wire::{Ask, Assembly, Fault, Wire, usable};
use super::{ModelError, Secret, retry};

/// The endpoint of a model and its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Such as `https://host/v1`.
    pub base_url: String,
    /// The API key, if the server needs one.
    pub api_key: Option<Secret>,
    /// The model's name.
    pub model: String,
    /// The first wait between attempts; it doubles each time.
    pub backoff: Duration,
    /// Maximum output tokens, if the request sets none.
    pub max_tokens: u32,
    /// The temperature, if the request sets none; the server's default if this is absent too.
    pub temperature: Option<f32>,
    /// Time limit, if the request sets none.
    pub timeout: Duration,
    /// Time limit until the server starts to respond; the whole time limit by default.
    pub first_byte: Option<Duration>,
    /// Time limit between two parts of a stream.
    pub idle: Duration,
    /// Maximum concurrent requests.
    pub max_concurrency: Option<usize>,
    /// Maximum requests started in any minute.
    pub requests_per_minute: Option<usize>,
    /// Limits shared with other clients, instead of its own.
    pub limits: Option<Limits>,
    /// Prices of tokens.
    pub price: Option<Price>,
    /// The context window of the model, for servers that need it.
    pub context_tokens: Option<u32>,
    /// The provider's name for telemetry, if it differs from that of the protocol.
    pub provider: Option<&'static str>,
}

impl Options {
    /// Options without a key.
    #[must_use]
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            backoff: Duration::from_millis(500),
            max_tokens: MAX_TOKENS,
            temperature: None,
            timeout: TIMEOUT,
            first_byte: None,
            idle: Duration::from_secs(60),
            max_concurrency: None,
            requests_per_minute: None,
            limits: None,
            price: None,
            context_tokens: None,
            provider: None,
        }
    }
}

/// A client for one model with one protocol. Created by the provider's type, such as `OpenAi`.
pub struct Client {
    http: reqwest::Client,
    wire: Box<dyn Wire>,
    address: Url,
    headers: HeaderMap,
    peer: Peer,
    options: Options,
    limits: Limits,
    clock: SystemClock,
    accepts: Mutex<Form>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the query string, which may contain a key.
        let address = self.address(false);
        f.debug_struct("Client")
            .field("host", &self.peer.host)
            .field("path", &address.path())
            .field("model", &self.peer.model)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client; sends nothing yet.
    pub(super) fn new(wire: Box<dyn Wire>, options: Options) -> Result<Self, ModelError> {
        let (address, host) = http::address(&options.base_url)?;
        let peer = Peer { host, model: options.model.clone(), key: options.api_key.clone() };
        let headers = headers(&*wire, &peer)?;
        let http = http::connection(address.scheme() == "https")
            .map_err(|detail| ModelError::Unreachable { host: peer.host.clone(), detail })?;
        let clock = SystemClock::default();
        let own = || Limits::new(options.max_concurrency, options.requests_per_minute, Arc::new(clock));
        let limits = options.limits.clone().unwrap_or_else(own);
        Ok(Self { http, wire, address, headers, peer, options, limits, clock, accepts: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.peer.model
    }

    pub(super) async fn talk(&self, chat: &Chat, listener: Option<&Listener>) -> Result<Answer, ModelError> {
        if chat.seed.is_some() && !self.wire.takes_seed() {
            let (host, detail) = (self.peer.host.clone(), "this protocol has no `seed`".to_owned());
            return Err(ModelError::Refused { host, status: 400, detail });
        }
        let limit = chat.timeout.unwrap_or(self.options.timeout);
        let provider = self.options.provider.unwrap_or(self.wire.provider());
        traced(provider, &self.peer.model, chat, async {
            timeout(limit, self.attempts(chat, listener)).await.unwrap_or_else(|_| Err(late(limit)))
        })
        .await
    }

    fn address(&self, streamed: bool) -> Url {
        let mut address = self.address.clone();
        self.wire.locate(&mut address, &self.peer.model, streamed);
        address
    }

    async fn attempts(&self, chat: &Chat, listener: Option<&Listener>) -> Result<Answer, ModelError> {
        let mut failures = 0;
        let mut form = *self.accepts.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (error, wait) = match Box::pin(self.attempt(chat, listener, form)).await {
                Ok(answer) => {
                    // Stored only after it worked: a refusal may have had another cause.
                    *self.accepts.lock().unwrap_or_else(PoisonError::into_inner) = form;
                    return Ok(answer);
                }
                Err(Failed::Final(error)) => return Err(error),
                Err(Failed::Form(error, _) | Failed::Again(error, _))
                    if listener.is_some_and(Listener::has_heard) =>
                {
                    return Err(error);
                }
                Err(Failed::Form(_, said)) if form.step_back(chat, &said) => continue,
                Err(Failed::Form(error, _)) => return Err(error),
                Err(Failed::Again(error, wait)) => (error, wait),
            };
            failures += 1;
            match retry::pause(failures, wait, self.options.backoff, &SystemRandom) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    async fn attempt(&self, chat: &Chat, listener: Option<&Listener>, form: Form) -> Result<Answer, Failed> {
        let _turn = self.limits.enter().await;
        let streamed = listener.is_some();
        let ask = Ask {
            chat,
            model: &self.peer.model,
            form,
            streamed,
            max_tokens: chat.max_tokens.unwrap_or(self.options.max_tokens),
            temperature: chat.temperature.or(self.options.temperature),
            context_tokens: self.options.context_tokens,
        };
        let response = self.send(&ask).await?;
        let mut parts = Assembly::default();
        if streamed && !http::is_single(&response) {
            self.read_stream(response, listener, &mut parts).await?;
        } else {
            self.read_whole(response, &mut parts).await?;
        }
        self.tell(&mut parts, listener).await;
        let max_tokens = ask.max_tokens;
        let mut answer = parts.conclude(chat, max_tokens, &self.peer.model).map_err(Failed::Final)?;
        answer.cost_micros = self.options.price.map(|price| price.micros(answer.usage));
        if let Some(listener) = listener {
            for call in &answer.calls {
                listener.tell(Event::ToolCallDone(call.clone())).await;
            }
            listener.tell(Event::Usage(answer.usage)).await;
        }
        Ok(answer)
    }

    /// Sends the request and waits until the server starts to respond with success.
    async fn send(&self, ask: &Ask<'_>) -> Result<Response, Failed> {
        let mut headers = self.headers.clone();
        if let Some(context) = http::traceparent() {
            headers.insert(HeaderName::from_static("traceparent"), context);
        }
        let post = (self.http.post(self.address(ask.streamed)))
            .headers(headers)
            .body(self.wire.body(ask).to_string());
        let sent = match self.options.first_byte {
            Some(limit) => timeout(limit, post.send()).await.map_err(|_| Failed::Again(late(limit), None))?,
            None => post.send().await,
        };
        let response = sent.map_err(|error| Failed::Again(self.peer.unreachable(error), None))?;
        let (status, headers) = (response.status(), response.headers().clone());
        if http::is_fine(status) {
            return Ok(response);
        }
        let body = self.peer.read(response).await?;
        let wait = retry::asked(&headers, &body, self.clock.now());
        Err(self.peer.refusal(status.as_u16(), &body, wait))
    }

    async fn read_whole(&self, response: Response, parts: &mut Assembly) -> Result<(), Failed> {
        let body = self.peer.read(response).await?;
        let body = serde_json::from_slice(&body)
            .map_err(|error| Failed::Final(self.peer.garbled(&format!("no JSON ({error})"))))?;
        self.wire.whole(&body, parts).map_err(|fault| self.fault(fault))
    }

    async fn read_stream(
        &self,
        mut response: Response,
        listener: Option<&Listener>,
        parts: &mut Assembly,
    ) -> Result<(), Failed> {
        let mut framer = Framer::new(self.wire.framing());
        let (mut total, idle) = (0, self.options.idle);
        while !parts.ended {
            let chunk = timeout(idle, response.chunk()).await.map_err(|_| Failed::Again(late(idle), None))?;
            let chunk = match chunk {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                // The model had finished; only the end of the stream was lost.
                Err(_) if parts.finish.is_some() => break,
                Err(error) => return Err(Failed::Again(self.peer.broke_off(&http::cause(error)), None)),
            };
            total += chunk.len();
            if total > http::STREAM {
                return Err(Failed::Final(ModelError::TooLarge { limit: http::STREAM }));
            }
            for frame in framer.push(&chunk).map_err(|wrong| self.misframed(wrong))? {
                self.wire.frame(&frame, parts).map_err(|fault| self.fault(fault))?;
                self.tell(parts, listener).await;
            }
        }
        if !parts.ended
            && let Ok(Some(frame)) = framer.rest()
        {
            // An incomplete frame at the end is ignored; a missing end is reported below.
            let _half = self.wire.frame(&frame, parts);
        }
        if parts.ended || parts.finish.is_some() || parts.refusal.is_some() {
            return Ok(());
        }
        Err(Failed::Again(self.peer.broke_off("it ended before the model had finished"), None))
    }

    async fn tell(&self, parts: &mut Assembly, listener: Option<&Listener>) {
        let events = parts.events();
        if let Some(listener) = listener {
            for event in events {
                listener.tell(event).await;
            }
        }
    }

    fn fault(&self, fault: Fault) -> Failed {
        match fault {
            Fault::Garbled(detail) => Failed::Final(self.peer.garbled(&detail)),
            // The error status was inside a 200 response, so no header named a wait.
            Fault::Said(status, detail) => self.peer.refusal(status, detail.as_bytes(), None),
        }
    }

    fn misframed(&self, wrong: Misframed) -> Failed {
        Failed::Final(match wrong {
            Misframed::TooLong(limit) => ModelError::TooLarge { limit },
            Misframed::NoText => self.peer.garbled("it is not UTF-8"),
        })
    }
}

fn headers(wire: &dyn Wire, peer: &Peer) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in wire.headers() {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = usable(peer.key.as_ref()) {
        let (name, before) = wire.key_header();
        let mut value = HeaderValue::from_str(&format!("{before}{}", key.expose())).map_err(|_| {
            ModelError::Unauthorised {
                host: peer.host.clone(),
                detail: "it holds characters that no key has".to_owned(),
            }
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

fn late(limit: Duration) -> ModelError {
    ModelError::Timeout { milliseconds: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) }
}

/// Defines the public type of a provider from its protocol.
macro_rules! provider {
    ($(#[$about:meta])* $name:ident, $wire:expr) => {
        $(#[$about])*
        #[derive(Debug)]
        pub struct $name($crate::Client);

        impl $name {
            /// Creates a client; sends nothing yet.
            pub fn new(options: $crate::Options) -> Result<Self, $crate::ModelError> {
                $crate::Client::new(Box::new($wire), options).map(Self)
            }
        }

        #[async_trait::async_trait]
        impl $crate::Model for $name {
            fn name(&self) -> &str {
                self.0.name()
            }

            async fn complete(
                &self,
                request: &$crate::Request,
            ) -> Result<$crate::Reply, $crate::ModelError> {
                $crate::simple::complete(self, request).await
            }

            async fn talk(
                &self,
                chat: &$crate::Chat,
                listener: Option<&$crate::Listener>,
            ) -> Result<$crate::Answer, $crate::ModelError> {
                self.0.talk(chat, listener).await
            }
        }
    };
}

pub(super) use provider;
