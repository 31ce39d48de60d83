//! Models from the settings: each has a name, and may name fallbacks.
//!
//! Everything is checked before anything is sent or started, and an error names the model with the
//! wrong setting. The settings name the location of a key, and never contain one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use steward_journal::clock::SystemClock;

use super::chat::Price;
use super::purpose::{ModelPurpose, ModelUse};
use super::unavailable::Unavailable;
use super::{
    Anthropic, Chain, FallbackOn, Gemini, Launcher, Limits, LlamaOptions, LlamaServer, Local, Model,
    ModelError, Ollama, OpenAi, Options, Recorder, Replayer, Responses, Secret,
};

/// The provider of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Any server with OpenAI's chat completions.
    #[default]
    Openai,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's generateContent.
    Gemini,
    /// Ollama's chat API.
    Ollama,
    /// A GGUF file, served by a llama.cpp server that is started for it.
    LlamaCpp,
    /// The deterministic local model.
    Local,
}

impl Provider {
    /// The default address of the provider, if it has one.
    fn usual_address(self) -> Option<&'static str> {
        match self {
            Self::OpenaiResponses => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            Self::Ollama => Some("http://127.0.0.1:11434"),
            Self::Openai | Self::LlamaCpp | Self::Local => None,
        }
    }
}

/// The settings of one model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// The provider.
    pub provider: Provider,
    /// The address; the provider's default if absent.
    pub base_url: Option<String>,
    /// The provider's name of the model.
    pub name: String,
    /// The environment variable that holds the key.
    pub key_variable: Option<String>,
    /// The file that holds the key, which only its owner may read.
    pub key_file: Option<PathBuf>,
    /// Default of the maximum output tokens.
    pub max_tokens: Option<u32>,
    /// Default temperature.
    pub temperature: Option<f32>,
    /// Default time limit.
    pub timeout_seconds: Option<u32>,
    /// Time limit until the server starts to respond.
    pub first_byte_seconds: Option<u32>,
    /// Maximum concurrent requests. Models with the same provider, address, key and limits share
    /// them.
    pub max_concurrency: Option<usize>,
    /// Maximum requests started in any minute.
    pub requests_per_minute: Option<usize>,
    /// Prices of tokens.
    pub price: Option<Price>,
    /// The context window of the model; needed by `ollama` and `llama_cpp`.
    pub context_tokens: Option<u32>,
    /// Names of models that are asked if this one fails, in this order. Their own fallbacks are not
    /// followed.
    pub fallback: Vec<String>,
    /// Which errors trigger the fallback; by default transient errors and context overflow.
    pub fallback_on: Option<Vec<FallbackOn>>,
    /// `llama_cpp`: the GGUF file.
    pub file: Option<PathBuf>,
    /// `llama_cpp`: the command of the server, with `{model}`, `{name}`, `{port}`, `{context}` and
    /// `{threads}` in it; `llama-server` by default.
    pub command: Option<Vec<String>>,
    /// `llama_cpp`: a Python in which `xllamacpp` is installed, instead of a command.
    pub xllamacpp_python: Option<String>,
    /// `llama_cpp`: number of compute threads.
    pub threads: Option<u32>,
    /// Records requests and replies to this cassette.
    pub record: Option<PathBuf>,
    /// Replays this cassette instead of calling a model.
    pub replay: Option<PathBuf>,
    /// Whether questions about data may include sample values of columns. Names and types are
    /// always included.
    pub send_samples: bool,
    /// Whether results of tools and queries may be sent; true by default. A model that gets none is
    /// not used for conversations.
    pub send_results: Option<bool>,
}

/// External dependencies of models.
#[derive(Clone, Default)]
pub struct ModelServices {
    /// Starts the servers of GGUF files.
    pub launcher: Option<Arc<dyn Launcher>>,
}

impl std::fmt::Debug for ModelServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doors").field("launcher", &self.launcher.is_some()).finish()
    }
}

/// The models of the settings.
#[derive(Clone, Default)]
pub struct Models {
    single: BTreeMap<String, Arc<dyn Model>>,
    chained: BTreeMap<String, Arc<dyn Model>>,
    /// Why models cannot be used, by name.
    problems: BTreeMap<String, ModelError>,
    uses: ModelUse,
    /// What may be sent to each; unknown for models that were added in code.
    sending: BTreeMap<String, Sending>,
}

/// What may be sent to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sending {
    samples: bool,
    results: bool,
}

/// The model for a purpose.
#[derive(Clone)]
pub struct ChosenModel {
    /// Its name in the settings.
    pub name: String,
    /// The model with its fallbacks.
    pub model: Arc<dyn Model>,
    /// Whether it may receive sample values of data.
    pub send_samples: bool,
    /// Whether it may receive results.
    pub send_results: bool,
}

impl std::fmt::Debug for Models {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.chained.keys()).finish()
    }
}

impl Models {
    /// The model of this name, with its fallbacks.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Model>> {
        self.chained.get(name).cloned()
    }

    /// Adds a model under this name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, model: Arc<dyn Model>) -> Self {
        let name = name.into();
        self.single.insert(name.clone(), Arc::clone(&model));
        self.chained.insert(name, model);
        self
    }

    /// Sets the models by purpose.
    pub fn with_uses(mut self, uses: &ModelUse) -> Result<Self, ModelError> {
        for (setting, name) in uses.named() {
            if !self.chained.contains_key(name) {
                let known: Vec<&str> = self.names().collect();
                let detail =
                    format!("`use: {setting}` names it, but `models` has only: {}", known.join(", "));
                return Err(wrong(name, detail));
            }
        }
        self.uses = uses.clone();
        Ok(self)
    }

    /// The model for a purpose, if one is configured.
    #[must_use]
    pub fn for_purpose(&self, purpose: ModelPurpose) -> Option<ChosenModel> {
        let name = self.uses.name_for(purpose)?;
        let model = self.get(name)?;
        let sending = self.sending.get(name).copied().unwrap_or(Sending { samples: false, results: true });
        Some(ChosenModel {
            name: name.to_owned(),
            model,
            send_samples: sending.samples,
            send_results: sending.results,
        })
    }

    /// Why a model cannot be used.
    #[must_use]
    pub fn problem(&self, name: &str) -> Option<&ModelError> {
        self.problems.get(name)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.chained.keys().map(String::as_str)
    }

    /// Stops everything that was started for them.
    pub async fn close(&self) {
        for model in self.single.values() {
            model.close().await;
        }
    }
}

/// Builds the models. Nothing is sent or started yet. A model whose key is missing is built but
/// unavailable; the others can be used.
pub fn build(
    settings: &BTreeMap<String, ModelSettings>,
    doors: &ModelServices,
) -> Result<Models, ModelError> {
    let mut models = Models::default();
    let mut limits = BTreeMap::new();
    for (name, one) in settings {
        let sending = Sending { samples: one.send_samples, results: one.send_results.unwrap_or(true) };
        models.sending.insert(name.clone(), sending);
        let model = match one.build(name, doors, &mut limits) {
            Err(reason @ ModelError::NoKey { .. }) => {
                models.problems.insert(name.clone(), reason.clone());
                Arc::new(Unavailable { name: one.name.clone(), reason })
            }
            other => other?,
        };
        models.single.insert(name.clone(), model);
    }
    for (name, one) in settings {
        let Some(first) = models.single.get(name) else { continue };
        let mut others = Vec::new();
        for other in &one.fallback {
            match models.single.get(other).filter(|_| other != name) {
                Some(model) => others.push(Arc::clone(model)),
                None => {
                    return Err(wrong(name, format!("fallback {other:?} is no other model of the settings")));
                }
            }
        }
        let on = one.fallback_on.clone().unwrap_or(vec![FallbackOn::Transient, FallbackOn::ContextOverflow]);
        let model: Arc<dyn Model> = if others.is_empty() {
            Arc::clone(first)
        } else {
            Arc::new(Chain::new(Arc::clone(first), others, on))
        };
        models.chained.insert(name.clone(), model);
    }
    Ok(models)
}

fn wrong(name: &str, detail: impl Into<String>) -> ModelError {
    ModelError::Settings { name: name.to_owned(), detail: detail.into() }
}

impl ModelSettings {
    /// The model without its fallbacks.
    fn build(
        &self,
        name: &str,
        doors: &ModelServices,
        limits: &mut BTreeMap<String, Limits>,
    ) -> Result<Arc<dyn Model>, ModelError> {
        self.check(name)?;
        let called = if self.provider == Provider::Local { "local" } else { &self.name };
        if let Some(path) = &self.replay {
            return Ok(Arc::new(Replayer::new(called, path)?));
        }
        let model: Arc<dyn Model> = match self.provider {
            Provider::Openai => Arc::new(OpenAi::new(self.options(name, limits)?)?),
            Provider::OpenaiResponses => Arc::new(Responses::new(self.options(name, limits)?)?),
            Provider::Anthropic => Arc::new(Anthropic::new(self.options(name, limits)?)?),
            Provider::Gemini => Arc::new(Gemini::new(self.options(name, limits)?)?),
            Provider::Ollama => Arc::new(Ollama::new(self.options(name, limits)?)?),
            Provider::LlamaCpp => Arc::new(self.llama(name, doors)?),
            Provider::Local => Arc::new(Local),
        };
        match &self.record {
            Some(path) => Ok(Arc::new(Recorder::new(model, path)?)),
            None => Ok(model),
        }
    }

    fn check(&self, name: &str) -> Result<(), ModelError> {
        let llama = self.provider == Provider::LlamaCpp;
        let prices = |price: &Price| {
            let all =
                [price.input_per_million, price.output_per_million, price.cached_per_million.unwrap_or(0.0)];
            all.iter().all(|price| price.is_finite() && *price >= 0.0)
        };
        let only_llama = self.file.is_some() || self.command.is_some() || self.xllamacpp_python.is_some();
        let broken = [
            (self.name.is_empty() && self.provider != Provider::Local, "`name` is missing"),
            (self.record.is_some() && self.replay.is_some(), "give `record` or `replay`, not both"),
            (
                self.key_variable.is_some() && self.key_file.is_some(),
                "give `key_variable` or `key_file`, not both",
            ),
            (llama && self.file.is_none() && self.replay.is_none(), "`file` is missing: the GGUF file"),
            (
                !llama && only_llama,
                "`file`, `command` and `xllamacpp_python` belong to the provider llama_cpp",
            ),
            (
                self.command.is_some() && self.xllamacpp_python.is_some(),
                "give `command` or `xllamacpp_python`, not both",
            ),
            (self.command.as_ref().is_some_and(Vec::is_empty), "`command` is empty"),
            (self.price.as_ref().is_some_and(|price| !prices(price)), "a price is a number from 0"),
            (
                self.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)),
                "`temperature` is from 0 to 2",
            ),
            (self.max_tokens == Some(0), "`max_tokens` is at least 1"),
            (
                self.timeout_seconds == Some(0) || self.first_byte_seconds == Some(0),
                "a time is at least 1 second",
            ),
            (
                self.max_concurrency == Some(0) || self.requests_per_minute == Some(0),
                "a limit of requests is at least 1",
            ),
        ];
        match broken.iter().find(|(broken, _)| *broken) {
            Some((_, rule)) => Err(wrong(name, *rule)),
            None => Ok(()),
        }
    }

    fn options(&self, name: &str, limits: &mut BTreeMap<String, Limits>) -> Result<Options, ModelError> {
        let address = self.base_url.as_deref().or(self.provider.usual_address());
        let address = address.ok_or_else(|| wrong(name, "`base_url` is missing"))?;
        let mut options = self.client(address);
        // Providers limit an account and not a model: models of one account with the same numbers
        // share their limits.
        let numbers = (self.max_concurrency, self.requests_per_minute);
        let account = format!("{:?}", (self.provider, address, &self.key_variable, &self.key_file, numbers));
        let made = || Limits::new(numbers.0, numbers.1, Arc::new(SystemClock::default()));
        options.limits = Some(limits.entry(account).or_insert_with(made).clone());
        options.api_key = match (&self.key_variable, &self.key_file) {
            (Some(variable), _) => Some(Secret::from_variable(variable)?),
            (None, Some(file)) => Some(Secret::from_file(file)?),
            (None, None) => None,
        };
        Ok(options)
    }

    fn client(&self, address: &str) -> Options {
        let mut options = Options::new(address, &self.name);
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        options.max_tokens = self.max_tokens.unwrap_or(options.max_tokens);
        options.temperature = self.temperature;
        options.timeout = self.timeout_seconds.map_or(options.timeout, seconds);
        options.first_byte = self.first_byte_seconds.map(seconds);
        options.max_concurrency = self.max_concurrency;
        options.requests_per_minute = self.requests_per_minute;
        options.price = self.price;
        options.context_tokens = self.context_tokens;
        options
    }

    fn llama(&self, name: &str, doors: &ModelServices) -> Result<LlamaServer, ModelError> {
        let launcher =
            doors.launcher.clone().ok_or_else(|| wrong(name, "no child process can be started here"))?;
        let mut options = LlamaOptions::new(&self.name, self.file.clone().unwrap_or_default());
        options.client = self.client("");
        options.context_tokens = self.context_tokens.unwrap_or(options.context_tokens);
        options.threads = self.threads.unwrap_or(options.threads);
        if let Some(python) = &self.xllamacpp_python {
            options.command = LlamaOptions::xllamacpp(python);
        } else if let Some(command) = &self.command {
            options.command.clone_from(command);
        }
        Ok(LlamaServer::new(options, launcher))
    }
}
