//! `steward models`: the language models of the settings.

use super::Context;
use crate::config::Settings;
use crate::error::Failure;
use crate::output::{Tone, document, paint, say, table};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value as Json, json};
use std::time::Duration;
use steward_domain::{Coded as _, ErrorClass};
use steward_journal::clock::{Clock as _, SystemClock};
use steward_models::{Chat, Model, ModelPurpose, OfferedTool, Provider, Turn};

#[derive(Subcommand)]
#[command(after_help = "Examples:
  export ANTHROPIC_API_KEY=…; steward models add anthropic claude-sonnet-4-5
  steward models add ollama qwen3
  steward models add compatible qwen --base-url http://127.0.0.1:8080/v1 --as own
  steward models list
  steward models test own")]
pub(crate) enum Models {
    /// Lists the models, whether each has its key, and what each is used for.
    List,
    /// Sends a test prompt with a tool to a model; to all models if none is named.
    Test {
        /// Its name in the settings.
        name: Option<String>,
    },
    /// Shows model usage by day, user and model, and what is left of the budget.
    Usage {
        /// Number of days, including today.
        #[arg(long, default_value_t = 7)]
        days: u32,
    },
    /// Adds a model to config/steward.yaml and tests it.
    Add(Add),
}

#[derive(Args)]
pub(crate) struct Add {
    /// The provider.
    #[arg(value_enum)]
    provider: ProviderChoice,
    /// The provider's name of the model.
    model: String,
    /// The name in the settings; the provider's name by default.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// The environment variable that holds the key; the provider's usual one by default.
    #[arg(long, value_name = "VARIABLE")]
    key_variable: Option<String>,
    /// The address; the provider's default if absent.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The GGUF file, for llama-cpp.
    #[arg(long, value_name = "FILE")]
    file: Option<std::path::PathBuf>,
    /// Skip the test.
    #[arg(long)]
    no_test: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProviderChoice {
    Anthropic,
    Openai,
    Gemini,
    Ollama,
    LlamaCpp,
    /// Any server with OpenAI's chat completions.
    Compatible,
}

impl ProviderChoice {
    /// The provider setting, the default model name, and the usual variable of its key.
    fn usual(self) -> (Provider, &'static str, Option<&'static str>) {
        match self {
            Self::Anthropic => (Provider::Anthropic, "anthropic", Some("ANTHROPIC_API_KEY")),
            Self::Openai => (Provider::OpenaiResponses, "openai", Some("OPENAI_API_KEY")),
            Self::Gemini => (Provider::Gemini, "gemini", Some("GEMINI_API_KEY")),
            Self::Ollama => (Provider::Ollama, "ollama", None),
            Self::LlamaCpp => (Provider::LlamaCpp, "llama", None),
            Self::Compatible => (Provider::Openai, "compatible", None),
        }
    }
}

pub(super) async fn run(context: &Context, command: Models) -> Result<(), Failure> {
    match command {
        Models::List => list(context),
        Models::Usage { days } => usage(context, days).await,
        Models::Test { name } => test(context, name.as_deref()).await,
        Models::Add(add) => self::add(context, &add).await,
    }
}

/// Shows the usage. With `--all-users` also that of other users.
async fn usage(context: &Context, days: u32) -> Result<(), Failure> {
    let opened = context.open().await?;
    let now = SystemClock::default().now();
    let first = now.micros().saturating_sub(i64::from(days.saturating_sub(1)) * 86_400_000_000);
    let (from, to) = (steward_domain::Timestamp::from_micros(first).day(), now.day());
    let found = opened.store.model_usage(&context.scope, &from, &to).await?;
    let budget = &context.settings.models.budget;
    if context.json {
        document(&json!({ "from": from, "to": to, "usage": found, "budget": budget }));
        return Ok(());
    }
    let money = |micros: u64| if micros == 0 { String::new() } else { format!("{:.4}", micros as f64 / 1e6) };
    let rows = found.iter().map(|row| {
        let numbers =
            [row.calls, row.input_tokens, row.cached_tokens, row.output_tokens].map(|n| n.to_string());
        let names = [row.day.clone(), row.user_id.to_string(), row.model.to_string()];
        names.into_iter().chain(numbers).chain([money(row.cost_micros)]).collect()
    });
    table(
        &["day", "user", "model", "answers", "tokens read", "of them cached", "tokens written", "cost"],
        rows.collect(),
        "no model was used",
    );
    for (what, limit) in
        [("an answer", budget.answer), ("a person a day", budget.user_day), ("a day", budget.day)]
    {
        if let Some(tokens) = limit.tokens {
            say(format!("limit for {what}: {tokens} tokens"));
        }
        if let Some(most) = limit.money {
            say(format!("limit for {what}: {most}"));
        }
    }
    Ok(())
}

/// How to migrate the deprecated setting.
pub(super) fn older_setting(settings: &Settings) -> Option<String> {
    let older = settings.model.as_ref()?;
    let key = older.key_variable.as_ref().map(|name| format!(", key_variable: {name}")).unwrap_or_default();
    let samples = if older.send_samples { ", send_samples: true" } else { "" };
    Some(format!(
        "`model:` is the older setting and serves `ask` only. Replace it by\n  models:\n    {NAME}: {{ \
            provider: openai, name: {:?}, base_url: {:?}{key}{samples} }}\n  use: {{ default: {NAME} }}",
        older.name, older.base_url
    ))
}

/// The name that the deprecated setting is migrated to.
const NAME: &str = "main";

fn list(context: &Context) -> Result<(), Failure> {
    let settings = &context.settings;
    let models = context.models()?;
    let (mut rows, mut documents) = (Vec::new(), Vec::new());
    for (name, one) in settings.models.iter() {
        let uses: Vec<&str> = ModelPurpose::ALL
            .iter()
            .filter(|purpose| settings.uses.name_for(**purpose) == Some(name))
            .map(|purpose| purpose.name())
            .collect();
        let problem = models.problem(name).map(ToString::to_string);
        let provider = serde_json::to_value(one.provider).unwrap_or_default();
        documents.push(json!({
            "name": name, "provider": provider, "model": one.name, "base_url": one.base_url,
            "used_for": uses, "ready": problem.is_none(), "problem": problem,
        }));
        let state = match &problem {
            None => paint(Tone::Good, "ready"),
            Some(problem) => paint(Tone::Warn, problem),
        };
        rows.push(vec![
            name.clone(),
            provider.as_str().unwrap_or_default().to_owned(),
            one.name.clone(),
            if uses.is_empty() { paint(Tone::Quiet, "not used") } else { uses.join(", ") },
            state,
        ]);
    }
    if context.json {
        document(&json!({ "models": documents, "note": older_setting(settings) }));
        return Ok(());
    }
    table(
        &["name", "provider", "model", "used for", "state"],
        rows,
        "no models: steward models add PROVIDER MODEL",
    );
    if let Some(note) = older_setting(settings) {
        say(paint(Tone::Warn, &note));
    }
    Ok(())
}

async fn test(context: &Context, name: Option<&str>) -> Result<(), Failure> {
    let models = context.models()?;
    let names: Vec<String> = match name {
        Some(name) => vec![name.to_owned()],
        None => models.names().map(str::to_owned).collect(),
    };
    if names.is_empty() {
        return Err(Failure::user(
            "CLI004",
            "no models are set up. Add one: steward models add PROVIDER MODEL",
        ));
    }
    let (mut documents, mut failed) = (Vec::new(), None);
    for name in &names {
        let Some(model) = models.get(name) else {
            let known: Vec<&str> = models.names().collect();
            let message = format!("there is no model {name:?}. There are: {}", known.join(", "));
            return Err(Failure::user("CLI004", message));
        };
        let tried = attempt(&*model).await;
        documents.push(match &tried {
            Ok(tried) => json!({ "name": name, "ready": true, "milliseconds": tried.milliseconds,
                "tokens": tried.tokens, "calls_tools": tried.calls_tools, "model": tried.model }),
            Err(error) => {
                json!({ "name": name, "ready": false, "code": error.code(), "problem": error.to_string() })
            }
        });
        if !context.json {
            match &tried {
                Ok(tried) => say(format!(
                    "{} {name} ({}): {} ms, {} tokens, {}",
                    paint(Tone::Good, "✓"),
                    tried.model,
                    tried.milliseconds,
                    tried.tokens,
                    if tried.calls_tools {
                        "calls tools"
                    } else {
                        "did not call the tool it was asked to call"
                    },
                )),
                Err(error) => say(format!("{} {name}: {} {error}", paint(Tone::Bad, "✗"), error.code())),
            }
        }
        failed = failed.or(tried.err());
    }
    models.close().await;
    if context.json {
        document(&json!({ "models": documents }));
    }
    match failed {
        Some(error) => Err(Failure::of(error.code(), error.class(), error.to_string())),
        None => Ok(()),
    }
}

struct Attempt {
    milliseconds: u128,
    tokens: u64,
    calls_tools: bool,
    model: String,
}

/// One request with a tool: whether the model answers, and whether it calls the tool.
async fn attempt(model: &dyn Model) -> Result<Attempt, steward_models::ModelError> {
    let clock = SystemClock::default();
    let began = clock.monotonic();
    let parameters: Json =
        json!({ "type": "object", "properties": { "word": { "type": "string" } }, "required": ["word"] });
    let tool =
        OfferedTool { name: "report".to_owned(), description: "Reports one word.".to_owned(), parameters };
    let mut chat = Chat {
        turns: vec![Turn::user("Call the tool report with the word ready. Write nothing else.")],
        tools: vec![tool],
        max_tokens: Some(300),
        timeout: Some(Duration::from_secs(120)),
        ..Chat::default()
    };
    let answer = match model.chat(&chat).await {
        Err(steward_models::ModelError::NoTools { .. }) => {
            chat.tools.clear();
            chat.turns = vec![Turn::user("Reply with the word ready.")];
            model.chat(&chat).await?
        }
        other => other?,
    };
    Ok(Attempt {
        milliseconds: clock.monotonic().saturating_sub(began).as_millis(),
        tokens: answer.usage.input + answer.usage.output,
        calls_tools: answer.calls.iter().any(|call| call.name == "report"),
        model: answer.model,
    })
}

async fn add(context: &Context, add: &Add) -> Result<(), Failure> {
    let (provider, usual, variable) = add.provider.usual();
    let name = add.name.clone().unwrap_or_else(|| usual.to_owned());
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Err(Failure::user("CLI004", "--as: letters, digits, `_` and `-`"));
    }
    if context.settings.models.contains_key(&name) {
        let message = format!("there is a model {name:?} already. Choose another name with --as");
        return Err(Failure::user("CLI004", message));
    }
    let provider = serde_json::to_value(provider).unwrap_or_default();
    let mut line = format!("{{ provider: {}, name: {}", plain(&provider), Json::from(add.model.as_str()));
    let key = add.key_variable.clone().or_else(|| variable.map(str::to_owned));
    if let Some(key) = &key {
        line.push_str(&format!(", key_variable: {key}"));
    }
    if let Some(url) = &add.base_url {
        line.push_str(&format!(", base_url: {}", Json::from(url.as_str())));
    }
    if let Some(file) = &add.file {
        line.push_str(&format!(", file: {}", Json::from(file.display().to_string())));
    }
    line.push_str(" }");
    context.home.create()?;
    let path = context.home.path.join("config/steward.yaml");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let is_first = context.settings.uses == steward_models::ModelUse::default();
    let after = with_model(&before, &name, &line, is_first);
    let read = Settings::check_text(&path, &after)?;
    if !read.models.contains_key(&name) {
        let message =
            format!("{} cannot be edited. Add this under `models:`\n  {name}: {line}", path.display());
        return Err(Failure::of("CFG001", ErrorClass::User, message));
    }
    std::fs::write(&path, &after).map_err(|error| Failure::file(&path, &error))?;
    say(format!("{name} is in config/steward.yaml"));
    if let Some(key) = key.filter(|key| std::env::var(key).map_or(true, |value| value.trim().is_empty())) {
        say(paint(
            Tone::Warn,
            &format!("The variable {key} is not set: set it, then steward models test {name}"),
        ));
        return Ok(());
    }
    if add.no_test {
        return Ok(());
    }
    let context = context.with_settings(read);
    test(&context, Some(&name)).await
}

fn plain(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The text of the settings with one more model, which becomes the default if none is used yet.
fn with_model(text: &str, name: &str, line: &str, is_first: bool) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let entry = format!("  {name}: {line}");
    match lines.iter().position(|line| line.trim_end() == "models:" || line.starts_with("models: {}")) {
        Some(at) => {
            if let Some(head) = lines.get_mut(at) {
                "models:".clone_into(head);
            }
            lines.insert(at + 1, entry);
        }
        None => lines.extend(["models:".to_owned(), entry]),
    }
    if is_first && !lines.iter().any(|line| line.starts_with("use:")) {
        lines.push(format!("use: {{ default: {name} }}"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::with_model;

    #[test]
    fn a_model_is_added_and_the_rest_stays() {
        let first = with_model("user: ana # me\n", "big", "{ provider: ollama }", true);
        assert_eq!(first, "user: ana # me\nmodels:\n  big: { provider: ollama }\nuse: { default: big }\n");
        let second = with_model(&first, "own", "{ provider: local }", false);
        assert_eq!(
            second,
            "user: ana # me\nmodels:\n  own: { provider: local }\n  big: { provider: ollama }\nuse: { \
                default: big }\n"
        );
        assert_eq!(with_model("", "a", "{}", true), "models:\n  a: {}\nuse: { default: a }\n");
    }
}
