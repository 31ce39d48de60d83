//! The tools of Steward itself: built-in tools, analysis, HTTP requests, the analyst.

use super::Options;
use super::analysis::{self, AnalysisTool, Analyst, DataGrants};
use crate::ask::AppContext;
use crate::error::Result;
use serde_json::Value as Json;
use std::sync::Arc;
use steward_domain::{
    ApprovalMode, CategoryName, Check as _, Description, DomainName, Idempotency, JsonObject,
    SemanticVersion, ToolDefinition, ToolName, ToolOrigin, ToolTimeout, Valid,
};
use steward_policy::Effect;
use steward_tools::builtin::{self, memory, slack};
use steward_tools::config::Configuration;
use steward_tools::egress::HttpFetch;
use steward_tools::{Example, Registered, Settings, Tool};

/// The number of retries of read-only tools.
const RETRIES: u32 = 2;

/// Every built-in tool, configured by the settings.
pub(super) fn builtins(
    app: &AppContext,
    options: &Options,
    grounds: &Arc<DataGrants>,
    configuration: &Configuration,
) -> Result<Vec<Registered>> {
    let laid = configuration.laid();
    let parameters = |tool: &str| {
        let found = laid.iter().find(|(name, _)| name.as_str() == tool);
        found.map(|(_, laid)| laid.settings.parameters.clone()).unwrap_or_default()
    };
    let encoder = app.encoder.clone();
    let embed: memory::Embed = Arc::new(move |texts: &[&str]| {
        texts.iter().map(|text| encoder.embed(text).map(|vector| vector.to_vec())).collect()
    });
    let tools = builtin::all(&builtin::Options {
        clock: app.clock.clone(),
        roots: options.roots.clone(),
        memory: Some(Arc::new(memory::FileMemory::new(
            options.home.join("memory"),
            app.clock.clone(),
            Some(embed),
        ))),
        slack: slack_settings(configuration),
        ..builtin::Options::default()
    });
    let now = app.clock.now();
    let mut all = Vec::new();
    for tool in tools {
        let settings = Settings {
            off: tool.off.clone(),
            retries: if tool.idempotency == Idempotency::None { 0 } else { RETRIES },
            examples: tool.examples.clone(),
            ..Settings::default()
        };
        all.push(Registered {
            definition: Arc::new(tool.definition(now)?),
            settings: Arc::new(settings),
            tool: tool.tool.clone(),
        });
    }
    all.push(fetch(app, parameters("http.fetch"))?);
    for (name, description) in steward_analysis::tools::TOOLS {
        let tool =
            AnalysisTool { name, app: app.clone(), grounds: grounds.clone(), rules: options.rules.clone() };
        let about = about_analysis(name, description);
        let definition =
            definition(app, name, &about, analysis::parameters(name), "analysis_tools", ToolOrigin::Builtin)?;
        all.push(registered(definition, examples_of(name), tool));
    }
    Ok(all)
}

/// The built-in agents.
pub(super) fn agents(
    app: &AppContext,
    options: &Options,
    grounds: &Arc<DataGrants>,
) -> Result<Vec<Registered>> {
    let analyst = Analyst { app: app.clone(), grounds: grounds.clone(), rules: options.rules.clone() };
    let about = "Answers a question in plain language about files, folders and databases: plans, queries, \
        draws charts, writes a report, and says where each number comes from. Works in a session of its own \
        and hands back \
        a summary.";
    let parameters = analysis::analyst_parameters();
    let mut definition =
        definition(app, "agent.analyst", about, parameters, "agent_tools", ToolOrigin::SubAgent)?;
    // Each question is a separate task with its own files; repeating it is safe but not free.
    definition = definition.with(|definition| definition.idempotency = Idempotency::Keyed)?;
    let examples =
        ["analyse sales of the first quarter with charts", "how many orders are open in orders.csv?"];
    Ok(vec![registered(definition, examples.map(example).to_vec(), analyst)])
}

fn fetch(app: &AppContext, parameters: JsonObject) -> Result<Registered> {
    let object = |schema: Json| schema.as_object().cloned().unwrap_or_default();
    let schema = object(HttpFetch::input_schema());
    let made =
        definition(app, "http.fetch", HttpFetch::description(), schema, "web_tools", ToolOrigin::Builtin)?;
    let made = made.with(|definition| {
        definition.return_schema = object(HttpFetch::output_schema());
        definition.approval = ApprovalMode::WhenUntrusted;
        definition.timeout_seconds = ToolTimeout::new(60).unwrap_or_default();
        // Writing methods are refused unless the operator allows them; then no call is repeated.
        let writes = parameters.get("allow_writes").and_then(Json::as_bool).unwrap_or_default();
        definition.idempotency = if writes { Idempotency::None } else { Idempotency::ReadOnly };
        // It may be repeated, but the URL can carry data out of this machine, so it is no plain
        // read.
        definition.metadata.insert("effect".into(), Effect::Change.name().into());
    })?;
    let allowed = parameters.get("allow").and_then(Json::as_array).is_some_and(|hosts| !hosts.is_empty());
    let tool = HttpFetch::new(&Json::Object(parameters))?;
    let mut entry = registered(made, vec![example("get the page https://example.com/status")], tool);
    if !allowed {
        let off = "off until config/tools.yaml names hosts it may reach, under tools: http.fetch: \
            parameters: allow"
            .to_owned();
        entry.settings = Arc::new(Settings { off: Some(off), ..(*entry.settings).clone() });
    }
    Ok(entry)
}

/// Slack's address and token, from the category `slack_tools`.
fn slack_settings(configuration: &Configuration) -> Option<slack::Config> {
    let category = configuration.tools.categories.iter().find(|(name, _)| name.as_str() == "slack_tools")?.1;
    let text = |name: &str| category.global_config.get(name).and_then(Json::as_str).map(str::to_owned);
    Some(slack::Config {
        base_url: text("base_url").unwrap_or_else(|| "https://slack.com/api".to_owned()),
        token: slack::Token::Variable(text("token_variable").unwrap_or_else(|| "SLACK_BOT_TOKEN".to_owned())),
    })
}

fn registered(
    definition: Valid<ToolDefinition>,
    examples: Vec<Example>,
    tool: impl Tool + 'static,
) -> Registered {
    let settings = Settings { retries: RETRIES, examples, ..Settings::default() };
    Registered { definition: Arc::new(definition), settings: Arc::new(settings), tool: Arc::new(tool) }
}

fn example(request: &str) -> Example {
    Example { request: request.to_owned(), arguments: JsonObject::new() }
}

/// The description of an analysis tool, in the length that definitions need.
fn about_analysis(name: &str, description: &str) -> String {
    let data = "The data is named with the call: files, folders or databases that are granted.";
    match name {
        "sql.run" => format!(
            "{description} Joins, groups, filters and counts rows of CSV, JSON, Parquet and databases. {data}"
        ),
        _ => format!("{description} {data}"),
    }
}

fn examples_of(name: &str) -> Vec<Example> {
    let requests: &[&str] = match name {
        "profiler.analyze" => &[
            "what is in this file?",
            "check the data quality of customers.csv",
            "which columns have missing values?",
        ],
        "sql.run" => &["run this query over sales.csv", "select the ten largest orders with SQL"],
        "df.transform" => {
            &["group the rows by region and sum the amount", "join the two tables and keep the newest rows"]
        }
        "stats.run" => &["correlation between price and quantity", "find outliers in the amount column"],
        "plot.render" => &["draw a bar chart of sales by region", "plot the revenue over time"],
        _ => &[],
    };
    requests.iter().map(|request| example(request)).collect()
}

fn definition(
    app: &AppContext,
    name: &str,
    description: &str,
    parameters: JsonObject,
    category: &str,
    origin: ToolOrigin,
) -> Result<Valid<ToolDefinition>> {
    let now = app.clock.now();
    let definition = ToolDefinition {
        id: builtin::id(name, builtin::VERSION),
        tool_name: ToolName::new(name)?,
        tool_version: SemanticVersion::new(builtin::VERSION)?,
        application_domain: DomainName::new("generic")?,
        origin,
        server: None,
        category: Some(CategoryName::new(category)?),
        description: Description::new(description)?,
        description_embedding: None,
        parameter_schema: parameters,
        return_schema: JsonObject::new(),
        is_active: true,
        requires_validation: false,
        timeout_seconds: ToolTimeout::new(180)?,
        fallback_tools: Vec::new(),
        approval: ApprovalMode::Never,
        idempotency: Idempotency::ReadOnly,
        created_at: now,
        updated_at: now,
        metadata: JsonObject::new(),
    };
    Ok(definition.validate()?)
}
