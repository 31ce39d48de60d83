//! `http.fetch`: outbound HTTP as a tool.
//!
//! Invariant: a model can request less than the operator's rules allow, never more.

use super::{EgressClient, Request, Response, Rules};
use crate::error::{Error, Result};
use crate::tool::{Context, Output, Tool};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use steward_policy::AdmittedCall;

/// The tool, with its client and the operator's rules.
#[derive(Debug, Clone)]
pub struct HttpFetch {
    door: Arc<EgressClient>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    url: String,
    #[serde(default = "get")]
    method: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    max_bytes: Option<usize>,
}

fn get() -> String {
    "GET".into()
}

impl HttpFetch {
    /// Its name in the registry.
    pub const NAME: &'static str = "http.fetch";

    /// Creates it with the operator's parameters: see [`Rules`].
    pub fn new(parameters: &Json) -> Result<Self> {
        Ok(Self::through(Arc::new(EgressClient::new(Rules::from_json(parameters)?))))
    }

    /// Creates it with this client.
    #[must_use]
    pub fn through(door: Arc<EgressClient>) -> Self {
        Self { door }
    }

    /// The description, used for tool selection.
    #[must_use]
    pub fn description() -> &'static str {
        "Fetch a web page, file or API answer over HTTP or HTTPS from a host that the operator has allowed, \
            and give back the status, the content type and the body. Reads with GET or HEAD; POST, PUT and \
            DELETE only where \
         the operator allows writing. Private, loopback and metadata addresses cannot be reached, and every \
         redirect is checked."
    }

    /// JSON Schema of its arguments.
    #[must_use]
    pub fn input_schema() -> Json {
        json!({
            "type": "object",
            "properties": {
                "url": {
                    "type": "string", "minLength": 8, "maxLength": 8192,
                    "description": "The address, written out: https://example.com/path"
                },
                "method": {
                    "type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "DELETE"], "default": "GET",
                    "description": "How it is asked; methods that change something need the operator's word"
                },
                "headers": {
                    "type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 64,
                    "description": "Headers to send along, such as accept"
                },
                "body": {"type": "string", "description": "What is sent with POST and PUT"},
                "max_bytes": {
                    "type": "integer", "minimum": 1, "maximum": 104_857_600,
                    "description": "How much of the body is kept at most"
                }
            },
            "required": ["url"],
            "additionalProperties": false
        })
    }

    /// JSON Schema of its result.
    #[must_use]
    pub fn output_schema() -> Json {
        json!({
            "type": "object",
            "properties": {
                "status": {"type": "integer"},
                "final_url": {"type": "string"},
                "content_type": {"type": ["string", "null"]},
                "body": {"type": "string"},
                "encoding": {"type": "string", "enum": ["utf-8", "base64"]},
                "truncated": {"type": "boolean"}
            },
            "required": ["status", "final_url", "content_type", "body", "encoding", "truncated"]
        })
    }
}

#[async_trait]
impl Tool for HttpFetch {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output> {
        let tool = || call.tool().to_string();
        let wrong = |problem: String| Error::Arguments { tool: tool(), problems: vec![problem] };
        let given = Json::Object(call.arguments().clone());
        let Arguments { url, method, headers, body, max_bytes } =
            serde_json::from_value(given).map_err(|error| wrong(error.to_string()))?;
        let method = method.parse().map_err(|_| wrong(format!("{method:?} is not a method")))?;
        let (headers, body) = (headers.into_iter().collect(), body.into_bytes());
        let request = Request { method, url, headers, body, max_bytes, timeout: Some(context.timeout) };
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(Error::Cancelled { tool: tool() }),
            response = self.door.fetch(request) => Ok(Output::json(told(response?))),
        }
    }
}

/// The response as structured content.
fn told(response: Response) -> Json {
    let Response { status, headers, body, final_url, truncated } = response;
    let content_type = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let (body, encoding) = words(body, truncated);
    json!({
        "status": status.as_u16(),
        "final_url": final_url,
        "content_type": content_type,
        "body": body,
        "encoding": encoding,
        "truncated": truncated,
    })
}

/// The body as text, or as base64 if it is not text. An incomplete character at the end of a
/// truncated body is dropped.
fn words(mut body: Vec<u8>, truncated: bool) -> (String, &'static str) {
    if let Err(error) = std::str::from_utf8(&body)
        && truncated
        && error.error_len().is_none()
    {
        body.truncate(error.valid_up_to());
    }
    match String::from_utf8(body) {
        Ok(text) => (text, "utf-8"),
        Err(error) => (STANDARD.encode(error.as_bytes()), "base64"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_suits_both_seeds() {
        assert!((50..=500).contains(&HttpFetch::description().chars().count()));
    }

    #[test]
    fn config_schemas_are_valid() {
        for schema in [HttpFetch::input_schema(), HttpFetch::output_schema()] {
            jsonschema::validator_for(&schema).unwrap();
        }
    }

    #[test]
    fn binary_body_is_base64_and_cut_character_is_dropped() {
        assert_eq!(words(b"ok".to_vec(), false), ("ok".into(), "utf-8"));
        assert_eq!(words(vec![0xff, 0xfe], false), ("//4=".into(), "base64"));
        assert_eq!(words("é".as_bytes()[..1].to_vec(), true), (String::new(), "utf-8"));
        assert_eq!(words("é".as_bytes()[..1].to_vec(), false), ("ww==".into(), "base64"));
    }
}
