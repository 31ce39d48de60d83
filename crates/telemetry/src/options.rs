//! The options. Everything is off by default. A value that cannot be parsed is an error and not
//! replaced by a default: otherwise missing telemetry would be noticed only when it is needed.

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tracing_subscriber::filter::{LevelFilter, Targets};

use crate::error::{Error, Result};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const SERVICE: &str = "OTEL_SERVICE_NAME";
const DISABLED: &str = "OTEL_SDK_DISABLED";
const FILTER: &str = "STEWARD_LOG";
const FORMAT: &str = "STEWARD_LOG_FORMAT";

/// The options.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The receiver of spans; none disables the export.
    pub endpoint: Option<Endpoint>,
    /// Headers of each request, such as a key.
    pub headers: Headers,
    /// The service name shown by the receiver.
    pub service_name: String,
    /// The filter of the log on standard error; none disables the log.
    pub log: Option<LogFilter>,
    /// The format of a log line.
    pub log_format: LogFormat,
    /// Whether metrics are counted.
    pub metrics: bool,
    /// Maximum number of label sets of one metric; further ones are counted as `other`.
    pub label_sets: usize,
    /// Time limit for sending the last spans at shutdown.
    pub flush_within: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            endpoint: None,
            headers: Headers::default(),
            service_name: "steward".to_owned(),
            log: None,
            log_format: LogFormat::Text,
            metrics: false,
            label_sets: 200,
            flush_within: Duration::from_secs(3),
        }
    }
}

impl Options {
    /// Reads the options from the environment.
    pub fn from_env() -> Result<Self> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the options from these variables. An empty variable counts as unset.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let read =
            |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut options = Self {
            log: read(FILTER).map(|text| LogFilter::parse(&text)).transpose()?,
            log_format: read(FORMAT).map_or(Ok(LogFormat::Text), |text| LogFormat::parse(&text))?,
            ..Self::default()
        };
        let disabled = match read(DISABLED) {
            None => false,
            Some(text) if text.eq_ignore_ascii_case("true") => true,
            Some(text) if text.eq_ignore_ascii_case("false") => false,
            Some(found) => return Err(Error::Choice { variable: DISABLED, found, allowed: "true, false" }),
        };
        if disabled {
            return Ok(options);
        }
        if let Some(found) = read(PROTOCOL).filter(|found| found != "http/protobuf") {
            return Err(Error::Protocol { variable: PROTOCOL, found });
        }
        options.endpoint = read(ENDPOINT).map(|text| Endpoint::parse(&text)).transpose()?;
        options.headers = read(HEADERS).map_or(Ok(Headers::default()), |text| Headers::parse(&text))?;
        options.service_name = read(SERVICE).unwrap_or(options.service_name);
        Ok(options)
    }
}

/// The address of an OTLP receiver, without the path of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

impl Endpoint {
    /// Parses an address such as `http://127.0.0.1:4318`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |detail: &str| Error::Endpoint { variable: ENDPOINT, detail: detail.to_owned() };
        let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("it begins neither with http:// nor with https://"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(wrong("it holds a user, a password or a query; a key goes into the headers"));
        }
        Ok(Self(url))
    }

    /// The URL for spans.
    pub(crate) fn traces(&self) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}/v1/traces", self.0.path().trim_end_matches('/')));
        url
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }
}

/// Headers of every batch. The values are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(HeaderMap);

impl Headers {
    /// Parses `name=value,other=value`, with percent-encoded values.
    pub fn parse(text: &str) -> Result<Self> {
        let mut headers = HeaderMap::new();
        for (place, entry) in text.split(',').enumerate().filter(|(_, entry)| !entry.trim().is_empty()) {
            let wrong = |problem| Error::Headers { variable: HEADERS, place: place + 1, problem };
            let (name, value) = entry.split_once('=').ok_or_else(|| wrong("has no ="))?;
            let name =
                HeaderName::from_str(name.trim()).map_err(|_| wrong("has a name that no header has"))?;
            let value: Vec<u8> = percent_decode_str(value.trim()).collect();
            let mut value =
                HeaderValue::from_bytes(&value).map_err(|_| wrong("has a value that no header has"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self(headers))
    }

    pub(crate) fn map(&self) -> HeaderMap {
        self.0.clone()
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys().map(HeaderName::as_str)).finish()
    }
}

/// The log filter. A bare level applies only to Steward's own crates: other crates may log request
/// contents, so they must be named explicitly.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFilter(pub(crate) Targets);

impl LogFilter {
    /// Parses `info`, or `info,steward_tools=debug,rmcp=warn`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |detail: String| Error::Filter { variable: FILTER, detail };
        // A word that is not a level would be taken as the name of a crate, and `inof` would log
        // nothing.
        if let Some(word) = text
            .split(',')
            .map(str::trim)
            .find(|part| !part.is_empty() && !part.contains('=') && part.parse::<LevelFilter>().is_err())
        {
            return Err(wrong(format!("{word:?} is none of off, error, warn, info, debug, trace")));
        }
        let targets = Targets::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let Some(own) = targets.default_level() else { return Ok(Self(targets)) };
        Ok(Self(targets.with_target(crate::span::OURS, own).with_default(LevelFilter::OFF)))
    }
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl LogFormat {
    /// Parses `text` or `json`.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(Error::Choice { variable: FORMAT, found: text.to_owned(), allowed: "text, json" }),
        }
    }
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
