//! `/v1/embeddings`: vectors of the built-in encoder. Input may also be tokens of `cl100k_base`,
//! which some clients send.

use super::{EMBEDDINGS, tokens};
use crate::http::Shared;
use crate::http::extract::{Authenticated, Input};
use crate::http::problem::Problem;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The maximum number of texts in one request.
const TEXTS: usize = 256;
/// The longest text that is embedded, in bytes; the encoder reads the first few hundred words.
const LONGEST: usize = 32_000;

/// A request for embeddings.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Embedding {
    #[serde(default)]
    model: Option<String>,
    /// One text or several, or the tokens of one text or of several.
    input: Value,
    /// `float` or `base64`.
    #[serde(default)]
    encoding_format: Option<String>,
    /// The number of dimensions. Only the encoder's own is accepted.
    #[serde(default)]
    dimensions: Option<u32>,
}

/// The number of dimensions of a vector.
const WIDTH: u32 = 384;

pub(super) async fn embed(
    State(site): State<Shared>,
    Authenticated(_): Authenticated,
    Input(wanted): Input<Embedding>,
) -> Result<Json<Value>, Problem> {
    if wanted.model.as_deref().is_some_and(|model| model != EMBEDDINGS) {
        let detail = format!("there is no such model for embeddings: it is called {EMBEDDINGS}");
        return Err(Problem::new(StatusCode::NOT_FOUND, "RUN006", detail));
    }
    if wanted.dimensions.is_some_and(|width| width != WIDTH) {
        let detail = format!("dimensions: the encoder gives {WIDTH} numbers and cannot give fewer or more");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "WEB010", detail));
    }
    let texts = texts(&wanted.input)?;
    if let Some(long) = texts.iter().find(|text| text.len() > LONGEST) {
        return Err(steward_runtime::Error::TooLong { bytes: long.len(), most: LONGEST }.into());
    }
    if texts.is_empty() || texts.len() > TEXTS || texts.iter().any(|text| text.trim().is_empty()) {
        return Err(Problem::input(format!("input: 1 to {TEXTS} texts, none of them empty")));
    }
    let as_text = match wanted.encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Problem::input(format!("encoding_format: float or base64, found {other:?}")));
        }
    };
    let encoder = site.app().encoder.clone();
    let made = tokio::task::spawn_blocking(move || {
        let size: u64 = texts.iter().map(|text| tokens::count(text)).sum();
        let vectors = texts.iter().map(|text| encoder.embed(text)).collect::<Option<Vec<_>>>()?;
        Some((vectors, size))
    });
    let (vectors, tokens) = made.await.ok().flatten().ok_or_else(|| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "WEB013", "the encoder cannot be used here")
    })?;
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| {
            let embedding = if as_text {
                Value::from(
                    STANDARD
                        .encode(vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()),
                )
            } else {
                json!(vector.to_vec())
            };
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        })
        .collect();
    Ok(Json(
        json!({ "object": "list", "data": data, "model": EMBEDDINGS, "usage": { "prompt_tokens": tokens, "total_tokens": tokens } }),
    ))
}

/// The input as texts. Tokens are decoded.
fn texts(input: &Value) -> Result<Vec<String>, Problem> {
    let wrong = || Problem::input("input: a text, a list of texts, or tokens of cl100k_base");
    let number = |one: &Value| one.as_u64().and_then(|number| u32::try_from(number).ok());
    let decoded = |list: &Value| -> Result<String, Problem> {
        let list = list.as_array().ok_or_else(wrong)?;
        let numbers: Vec<u32> = list.iter().map(number).collect::<Option<_>>().ok_or_else(wrong)?;
        let unknown = || Problem::input("input: a number in it is no token of cl100k_base. Send texts");
        tokens::text_of(&numbers).ok_or_else(unknown)
    };
    match input {
        Value::String(one) => Ok(vec![one.clone()]),
        Value::Array(many) if many.iter().all(Value::is_string) => {
            Ok(many.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Value::Array(many) if many.iter().all(Value::is_number) => decoded(input).map(|text| vec![text]),
        Value::Array(many) => many.iter().map(decoded).collect(),
        _ => Err(wrong()),
    }
}
