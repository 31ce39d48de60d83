//! `/v1/embeddings`: texts as numbers, by the built-in encoder.

use super::{EMBEDDINGS, Wrong};
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

/// Texts that are embedded at once.
const TEXTS: usize = 256;
/// The longest text that is embedded, in bytes; the encoder reads the first few hundred words.
const LONGEST: usize = 32_000;

/// A request for embeddings.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Embedding {
    #[serde(default)]
    model: Option<String>,
    /// A text, or several.
    input: Value,
    /// `float` or `base64`.
    #[serde(default)]
    encoding_format: Option<String>,
}

pub(super) async fn embed(
    State(site): State<Shared>,
    Authenticated(_): Authenticated,
    Input(wanted): Input<Embedding>,
) -> Result<Json<Value>, Wrong> {
    if wanted.model.as_deref().is_some_and(|model| model != EMBEDDINGS) {
        let detail = format!("there is no such model for embeddings: it is called {EMBEDDINGS}");
        return Err(Problem::new(StatusCode::NOT_FOUND, "RUN006", detail).into());
    }
    let texts: Vec<String> = match &wanted.input {
        Value::String(one) => vec![one.clone()],
        Value::Array(many) => {
            let texts: Option<Vec<String>> = many.iter().map(|one| one.as_str().map(str::to_owned)).collect();
            texts.ok_or_else(|| Problem::input("input: send texts; tokens are not taken"))?
        }
        _ => return Err(Problem::input("input: a text, or a list of texts").into()),
    };
    if let Some(long) = texts.iter().find(|text| text.len() > LONGEST) {
        return Err(steward_runtime::Error::TooLong { bytes: long.len(), most: LONGEST }.into());
    }
    if texts.is_empty() || texts.len() > TEXTS || texts.iter().any(String::is_empty) {
        return Err(Problem::input(format!("input: 1 to {TEXTS} texts, none of them empty")).into());
    }
    let as_text = match wanted.encoding_format.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(Problem::input(format!("encoding_format: float or base64, found {other:?}")).into());
        }
    };
    let size: usize = texts.iter().map(String::len).sum();
    let encoder = site.app().encoder.clone();
    let made = tokio::task::spawn_blocking(move || {
        texts.iter().map(|text| encoder.embed(text)).collect::<Option<Vec<_>>>()
    });
    let vectors = made.await.ok().flatten().ok_or_else(|| {
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
    let tokens = size / 4 + 1;
    Ok(Json(
        json!({ "object": "list", "data": data, "model": EMBEDDINGS, "usage": { "prompt_tokens": tokens, "total_tokens": tokens } }),
    ))
}
