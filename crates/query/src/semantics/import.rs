//! Definitions of other tools as ours: dbt's MetricFlow, Cube, Open Semantic Interchange.
//!
//! Invariant: what cannot be taken over is named with its reason. Nothing is taken over in part.

use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use steward_domain::{
    Cumulative, CumulativeSince, Metric, MetricFilter, Ratio, Segment, SemanticModel, TableMeaning,
};

/// What came of a file of another tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// What was taken over.
    pub model: SemanticModel,
    /// What was not, each with its reason.
    pub left_out: Vec<String>,
}

/// Reads a document of MetricFlow (`semantic_manifest.json` or YAML), Cube or Open Semantic
/// Interchange.
pub fn import(document: &Json) -> Result<Imported, String> {
    let has = |name: &str| document.get(name).is_some_and(Json::is_array);
    let mut found = Imported::default();
    if has("cubes") {
        list(document, "cubes").for_each(|cube| found.add_cube(cube));
    } else if has("semantic_model") {
        list(document, "semantic_model").for_each(|model| found.add_interchange(model));
    } else if has("semantic_models") || has("metrics") {
        found.add_metricflow(document);
    } else {
        let known = "`semantic_models` or `metrics` (MetricFlow), `cubes` (Cube), `semantic_model` (Open \
            Semantic Interchange)";
        return Err(format!("this is no file that is known here: it has none of {known}"));
    }
    Ok(found)
}

/// Our metrics as a document of Open Semantic Interchange, and what it cannot say.
#[must_use]
pub fn export(model: &SemanticModel, name: &str) -> (Json, Vec<String>) {
    let mut left_out = Vec::new();
    let ansi =
        |expression: &str| json!({ "dialects": [{ "dialect": "ANSI_SQL", "expression": expression }] });
    let mut metrics = Vec::new();
    let mut datasets: BTreeMap<&str, Json> = BTreeMap::new();
    for (table, meaning) in &model.tables {
        datasets.insert(
            table,
            json!({ "name": table, "source": table, "primary_key": meaning.key, "fields": [] }),
        );
    }
    for (metric_name, metric) in &model.metrics {
        let (Some(table), Some(expression), true) =
            (&metric.table, &metric.expression, metric.filters.is_empty())
        else {
            left_out.push(format!(
                "{metric_name}: only metrics with an expression and without filters can be written"
            ));
            continue;
        };
        datasets
            .entry(table)
            .or_insert_with(|| json!({ "name": table, "source": table, "primary_key": [], "fields": [] }));
        let mut one = json!({ "name": metric_name, "expression": ansi(&standard(expression)), "description": metric.description });
        if let (Some(one), false) = (one.as_object_mut(), metric.synonyms.is_empty()) {
            one.insert("ai_context".to_owned(), json!({ "synonyms": metric.synonyms }));
        }
        metrics.push(one);
    }
    left_out.extend(model.segments.keys().map(|name| format!("{name}: segments cannot be written")));
    let datasets: Vec<Json> = datasets.into_values().collect();
    (json!({ "semantic_model": [{ "name": name, "datasets": datasets, "metrics": metrics }] }), left_out)
}

/// One of our expressions in the words of SQL.
fn standard(expression: &str) -> String {
    match expression.trim().strip_prefix("count_distinct(") {
        Some(rest) => format!("COUNT(DISTINCT {rest}"),
        None => expression.trim().to_owned(),
    }
}

fn list<'a>(of: &'a Json, name: &str) -> impl Iterator<Item = &'a Json> {
    of.get(name).and_then(Json::as_array).into_iter().flatten()
}

fn text<'a>(of: &'a Json, name: &str) -> &'a str {
    of.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// Our name for a name: words instead of underscores.
fn spoken(name: &str) -> String {
    name.replace('_', " ").trim().to_owned()
}

/// Whether an expression is arithmetic over columns and numbers, which is all that ours can say.
fn is_plain(expression: &str) -> bool {
    !expression.trim().is_empty()
        && expression.chars().all(|letter| letter.is_alphanumeric() || "_ +-*/().\"".contains(letter))
        && !expression.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| {
            matches!(
                word.to_lowercase().as_str(),
                "case" | "when" | "select" | "cast" | "and" | "or" | "not" | "in"
            )
        })
        && !expression
            .split('(')
            .rev()
            .skip(1)
            .any(|before| before.trim_end().ends_with(|letter: char| letter.is_alphanumeric()))
}

/// A simple condition: a column, a comparison, a value.
fn filter(condition: &str) -> Option<MetricFilter> {
    let condition = condition.trim();
    let named = |left: &str| {
        let name = left
            .trim()
            .trim_matches('"')
            .rsplit(['.', '}'])
            .next()
            .unwrap_or_default()
            .trim()
            .trim_matches('"');
        (!name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_'))
            .then(|| name.to_owned())
    };
    let value = |right: &str| {
        let right = right.trim();
        let quoted = right.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let plain = quoted.filter(|inside| !inside.contains('\'')).or_else(|| {
            let simple =
                matches!(right.to_lowercase().as_str(), "true" | "false") || right.parse::<f64>().is_ok();
            simple.then_some(right)
        });
        plain.map(Truth::to_lowercase_if_truth)
    };
    for (sign, positive) in [("!=", false), ("<>", false), ("=", true)] {
        if let Some((left, right)) =
            condition.split_once(sign).filter(|(left, _)| !left.ends_with(['<', '>', '!']))
        {
            let (column, value) = (named(left)?, value(right)?);
            let (is, is_not) = if positive { (vec![value], Vec::new()) } else { (Vec::new(), vec![value]) };
            return Some(MetricFilter { column, is, is_not, ..MetricFilter::default() });
        }
    }
    for (sign, above) in [(">", true), ("<", false)] {
        if let Some((left, right)) = condition.split_once(sign).filter(|(_, right)| !right.starts_with('=')) {
            let (column, limit) = (named(left)?, right.trim().parse::<f64>().ok()?);
            let (above, below) = if above { (Some(limit), None) } else { (None, Some(limit)) };
            return Some(MetricFilter { column, above, below, ..MetricFilter::default() });
        }
    }
    None
}

/// `TRUE` and `true` are the same value.
trait Truth {
    fn to_lowercase_if_truth(&self) -> String;
}

impl Truth for str {
    fn to_lowercase_if_truth(&self) -> String {
        let lower = self.to_lowercase();
        if matches!(lower.as_str(), "true" | "false") { lower } else { self.to_owned() }
    }
}

impl Imported {
    fn leave(&mut self, name: &str, why: &str) {
        self.left_out.push(format!("{name}: {why}"));
    }

    fn put(&mut self, name: &str, metric: Metric) {
        self.model.metrics.insert(spoken(name), metric);
    }

    /// An aggregate of another tool as an expression of ours.
    fn aggregate(&mut self, name: &str, kind: &str, over: &str) -> Option<String> {
        let over = over.replace("{CUBE}.", "").replace("${CUBE}.", "");
        let kind = match kind.to_lowercase().as_str() {
            "sum" => "sum",
            "avg" | "average" => "avg",
            "min" => "min",
            "max" => "max",
            "median" => "median",
            "count" => "count",
            "count_distinct" | "countdistinct" => "count_distinct",
            other => {
                self.leave(name, &format!("the aggregate {other} is not known here"));
                return None;
            }
        };
        let over = match (kind, over.trim()) {
            ("count", "" | "1" | "*") => "*".to_owned(),
            (_, over) => over.to_owned(),
        };
        if over != "*" && !is_plain(&over) {
            self.leave(name, &format!("{over:?} is more than arithmetic over columns"));
            return None;
        }
        Some(format!("{kind}({over})"))
    }

    fn add_metricflow(&mut self, document: &Json) {
        let mut measures: BTreeMap<&str, (String, String, &str)> = BTreeMap::new();
        for model in list(document, "semantic_models") {
            let relation = model.get("node_relation").map_or("", |relation| text(relation, "alias"));
            let reference = text(model, "model").trim_start_matches("ref('").trim_end_matches("')");
            let table = [relation, reference, text(model, "name")]
                .into_iter()
                .find(|name| !name.is_empty())
                .unwrap_or_default();
            let expr = |one: &Json| {
                let own = text(one, "expr");
                if own.is_empty() { text(one, "name").to_owned() } else { own.to_owned() }
            };
            let key =
                list(model, "entities").filter(|entity| matches!(text(entity, "type"), "primary" | "unique"));
            let default_time = model.get("defaults").map(|defaults| text(defaults, "agg_time_dimension"));
            let time = default_time.filter(|name| !name.is_empty()).map(|name| {
                let dimension = list(model, "dimensions").find(|one| text(one, "name") == name);
                dimension.map_or_else(|| name.to_owned(), expr)
            });
            let meaning = TableMeaning {
                grain: text(model, "description").to_owned(),
                key: key.take(1).map(expr).collect(),
                default_time: time.filter(|name| is_name(name)),
                ..TableMeaning::default()
            };
            self.model.tables.insert(table.to_owned(), meaning);
            for measure in list(model, "measures") {
                let name = text(measure, "name");
                let over = if text(measure, "expr").is_empty() && text(measure, "agg") != "count" {
                    name
                } else {
                    text(measure, "expr")
                };
                if let Some(expression) = self.aggregate(name, text(measure, "agg"), over) {
                    if measure.get("create_metric").and_then(Json::as_bool) == Some(true) {
                        let metric = Metric {
                            table: Some(table.to_owned()),
                            expression: Some(expression.clone()),
                            ..Metric::default()
                        };
                        self.put(name, metric);
                    }
                    measures.insert(name, (table.to_owned(), expression, text(measure, "description")));
                }
            }
        }
        for metric in list(document, "metrics") {
            self.add_metricflow_metric(metric, &measures);
        }
        self.drop_dangling();
    }

    fn add_metricflow_metric(&mut self, metric: &Json, measures: &BTreeMap<&str, (String, String, &str)>) {
        let name = text(metric, "name");
        let empty = Json::Null;
        let parameters = metric.get("type_params").unwrap_or(&empty);
        let named = |value: Option<&Json>| match value {
            Some(Json::String(name)) => name.clone(),
            Some(other) => text(other, "name").to_owned(),
            None => String::new(),
        };
        let Some(filters) = metricflow_filters(metric) else {
            return self.leave(name, "its filter is more than columns compared with values");
        };
        let description = text(metric, "description").to_owned();
        let synonyms =
            Some(spoken(text(metric, "label"))).filter(|label| !label.is_empty() && *label != spoken(name));
        let base = Metric { description, synonyms: synonyms.into_iter().collect(), ..Metric::default() };
        match text(metric, "type") {
            "simple" => {
                let measure = named(parameters.get("measure"));
                let of_measure = parameters
                    .get("measure")
                    .filter(|measure| !measure.get("filter").unwrap_or(&Json::Null).is_null());
                if of_measure.is_some() {
                    return self.leave(name, "a filter on its measure is not known here");
                }
                let Some((table, expression, about)) = measures.get(measure.as_str()) else {
                    return self.leave(name, &format!("its measure {measure} was not taken over"));
                };
                let description =
                    if base.description.is_empty() { (*about).to_owned() } else { base.description.clone() };
                self.put(
                    name,
                    Metric {
                        table: Some(table.clone()),
                        expression: Some(expression.clone()),
                        filters,
                        description,
                        ..base
                    },
                );
            }
            _ if !filters.is_empty() => self.leave(name, "a filter on a metric of metrics is not known here"),
            "ratio" => {
                let (top, bottom) =
                    (named(parameters.get("numerator")), named(parameters.get("denominator")));
                let ratio = Ratio { numerator: spoken(&top), denominator: spoken(&bottom) };
                self.put(name, Metric { ratio: Some(ratio), ..base });
            }
            "derived" => {
                let mut expression = text(parameters, "expr").to_owned();
                for input in list(parameters, "metrics") {
                    let offset = ["offset_window", "offset_to_grain", "filter"];
                    if offset.iter().any(|part| !input.get(*part).unwrap_or(&Json::Null).is_null()) {
                        return self.leave(name, "offsets and filters of its parts are not known here");
                    }
                    let (of, alias) = (named(Some(input)), text(input, "alias"));
                    let word = if alias.is_empty() { of.as_str() } else { alias };
                    expression = in_braces(&expression, word, &spoken(&of));
                }
                self.put(name, Metric { derived: Some(expression), ..base });
            }
            "cumulative" => {
                let inner = parameters.get("cumulative_type_params").unwrap_or(&empty);
                let said = |part: &str| {
                    [parameters, inner].iter().any(|of| !of.get(part).unwrap_or(&Json::Null).is_null())
                };
                if said("window") {
                    return self.leave(name, "a sliding window is not known here");
                }
                let grain = [inner, parameters]
                    .iter()
                    .map(|of| text(of, "grain_to_date"))
                    .find(|grain| !grain.is_empty());
                let since = match grain.unwrap_or_default().to_lowercase().as_str() {
                    "" => CumulativeSince::Start,
                    "year" => CumulativeSince::Year,
                    "quarter" => CumulativeSince::Quarter,
                    "month" => CumulativeSince::Month,
                    other => {
                        return self
                            .leave(name, &format!("a sum that begins with each {other} is not known here"));
                    }
                };
                let measure = named(parameters.get("measure"));
                let Some((table, expression, _)) = measures.get(measure.as_str()) else {
                    return self.leave(name, &format!("its measure {measure} was not taken over"));
                };
                if !self.model.metrics.contains_key(&spoken(&measure)) {
                    let metric = Metric {
                        table: Some(table.clone()),
                        expression: Some(expression.clone()),
                        ..Metric::default()
                    };
                    self.put(&measure, metric);
                }
                self.put(
                    name,
                    Metric { cumulative: Some(Cumulative { of: spoken(&measure), since }), ..base },
                );
            }
            other => self.leave(name, &format!("metrics of the type {other} are not known here")),
        }
    }

    /// Takes out metrics whose parts were left out.
    fn drop_dangling(&mut self) {
        loop {
            let known = |name: &String| self.model.metrics.contains_key(name);
            let missing = |metric: &Metric| -> Option<String> {
                let ratio = metric
                    .ratio
                    .iter()
                    .flat_map(|ratio| [ratio.numerator.clone(), ratio.denominator.clone()]);
                let derived = metric.derived.iter().flat_map(|text| text.split('{').skip(1));
                let derived =
                    derived.map(|part| part.split('}').next().unwrap_or_default().trim().to_owned());
                ratio
                    .chain(derived)
                    .chain(metric.cumulative.iter().map(|one| one.of.clone()))
                    .find(|name| !known(name))
            };
            let Some((name, part)) =
                self.model.metrics.iter().find_map(|(name, metric)| Some((name.clone(), missing(metric)?)))
            else {
                return;
            };
            self.model.metrics.remove(&name);
            self.leave(&name, &format!("its part {part} was not taken over"));
        }
    }

    fn add_cube(&mut self, cube: &Json) {
        let name = text(cube, "name");
        let table = text(cube, "sql_table")
            .rsplit('.')
            .next()
            .unwrap_or_default()
            .trim_matches(['"', '`'])
            .to_owned();
        if table.is_empty() {
            return self.leave(name, "it is not over one table (sql_table)");
        }
        let key = list(cube, "dimensions")
            .filter(|one| one.get("primary_key").and_then(Json::as_bool) == Some(true));
        let key =
            key.map(|one| text(one, "sql").replace("{CUBE}.", "")).filter(|column| is_name(column)).collect();
        self.model.tables.insert(
            table.clone(),
            TableMeaning { grain: text(cube, "description").to_owned(), key, ..TableMeaning::default() },
        );
        for measure in list(cube, "measures") {
            let name = text(measure, "name");
            let filters: Option<Vec<MetricFilter>> =
                list(measure, "filters").map(|one| filter(text(one, "sql"))).collect();
            let Some(filters) = filters else {
                self.leave(name, "its filter is more than columns compared with values");
                continue;
            };
            if !measure.get("rolling_window").unwrap_or(&Json::Null).is_null() {
                self.leave(name, "a rolling window is not known here");
                continue;
            }
            if let Some(expression) = self.aggregate(name, text(measure, "type"), text(measure, "sql")) {
                let synonyms = Some(spoken(text(measure, "title")))
                    .filter(|title| !title.is_empty())
                    .into_iter()
                    .collect();
                let description = text(measure, "description").to_owned();
                self.put(
                    name,
                    Metric {
                        table: Some(table.clone()),
                        expression: Some(expression),
                        filters,
                        synonyms,
                        description,
                        ..Metric::default()
                    },
                );
            }
        }
        for segment in list(cube, "segments") {
            let name = text(segment, "name");
            let parts: Option<Vec<MetricFilter>> = text(segment, "sql").split(" AND ").map(filter).collect();
            match parts {
                Some(filters) => {
                    let one = Segment {
                        table: table.clone(),
                        filters,
                        description: text(segment, "description").to_owned(),
                        ..Segment::default()
                    };
                    self.model.segments.insert(spoken(name), one);
                }
                None => self.leave(name, "its condition is more than columns compared with values"),
            }
        }
        if list(cube, "joins").next().is_some() {
            self.leave(name, "joins are found in the data, not taken over");
        }
    }

    fn add_interchange(&mut self, model: &Json) {
        let tables: Vec<&str> = list(model, "datasets").map(|one| text(one, "name")).collect();
        for dataset in list(model, "datasets") {
            let key = list(dataset, "primary_key").filter_map(Json::as_str).map(str::to_owned).collect();
            let grain = text(dataset, "description").to_owned();
            let meaning = TableMeaning { grain, key, ..TableMeaning::default() };
            self.model.tables.insert(text(dataset, "name").to_owned(), meaning);
        }
        for metric in list(model, "metrics") {
            let name = text(metric, "name");
            let dialects = metric
                .get("expression")
                .map(|of| list(of, "dialects").collect::<Vec<_>>())
                .unwrap_or_default();
            let ansi =
                dialects.iter().find(|one| text(one, "dialect") == "ANSI_SQL").or_else(|| dialects.first());
            let expression = ansi.map(|one| text(one, "expression")).unwrap_or_default();
            let mut over: Vec<&str> =
                tables.iter().copied().filter(|table| expression.contains(&format!("{table}."))).collect();
            if over.is_empty() && tables.len() == 1 {
                over.clone_from(&tables);
            }
            let [table] = over.as_slice() else {
                self.leave(name, "it is not over exactly one dataset");
                continue;
            };
            let plain = expression.replace(&format!("{table}."), "");
            let Some((kind, argument)) = plain.trim().strip_suffix(')').and_then(|rest| rest.split_once('('))
            else {
                self.leave(name, "its expression is no single aggregate");
                continue;
            };
            let distinct = argument.trim().to_lowercase().starts_with("distinct ");
            let argument = if distinct { argument.trim().get(9..).unwrap_or_default() } else { argument };
            let kind = if distinct { "count_distinct" } else { kind.trim() };
            if let Some(expression) = self.aggregate(name, kind, argument) {
                let synonyms = metric
                    .get("ai_context")
                    .map(|of| list(of, "synonyms").filter_map(Json::as_str).map(str::to_owned).collect());
                let description = text(metric, "description").to_owned();
                let synonyms = synonyms.unwrap_or_default();
                self.put(
                    name,
                    Metric {
                        table: Some((*table).to_owned()),
                        expression: Some(expression),
                        description,
                        synonyms,
                        ..Metric::default()
                    },
                );
            }
        }
        if list(model, "relationships").next().is_some() {
            self.leave(text(model, "name"), "relationships are found in the data, not taken over");
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// The conditions of a metric of MetricFlow; nothing when one is more than a column and a value.
fn metricflow_filters(metric: &Json) -> Option<Vec<MetricFilter>> {
    let templates: Vec<&str> = match metric.get("filter") {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(many)) => many.iter().map(|one| one.as_str().unwrap_or("?")).collect(),
        Some(other) => list(other, "where_filters").map(|one| text(one, "where_sql_template")).collect(),
    };
    let mut filters = Vec::new();
    for template in templates {
        for part in template.split(" AND ").flat_map(|part| part.split(" and ")) {
            let (before, rest) = part.split_once("{{")?;
            let (reference, comparison) = rest.split_once("}}")?;
            let inside = reference
                .trim()
                .strip_prefix("Dimension(")?
                .strip_suffix(')')?
                .trim()
                .trim_matches(['\'', '"']);
            let column = inside.rsplit("__").next()?;
            if !before.trim().is_empty() {
                return None;
            }
            filters.push(filter(&format!("{column} {comparison}"))?);
        }
    }
    Some(filters)
}

/// An expression with a word of it as a metric in braces.
fn in_braces(expression: &str, word: &str, name: &str) -> String {
    let mut out = String::new();
    let mut rest = expression;
    while let Some(place) = rest.find(word) {
        let (before, after) =
            (rest.get(..place).unwrap_or_default(), rest.get(place + word.len()..).unwrap_or_default());
        let part = |letter: Option<char>| {
            letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '{')
        };
        out.push_str(before);
        if part(before.chars().next_back()) || part(after.chars().next()) {
            out.push_str(word);
        } else {
            out.push_str(&format!("{{{name}}}"));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
