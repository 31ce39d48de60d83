//! CEL expressions, and texts with `${…}`.
//!
//! Invariants
//! - Length, nesting and loops are limited before evaluation. So is the size of the values that an
//!   expression may iterate over.
//! - The result does not depend on the order of a hash map: a loop over an object iterates over its
//!   sorted keys, objects are sorted on output, and error messages are built here from ordered
//!   parts.
//! - The loop rounds of one evaluation are bounded in total, and so is what a function builds.

use crate::functions;
use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr};
use cel::objects::{Key, Map};
use cel::{Context, Env, ExecutionError, Value as Cel};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};
use steward_domain::JsonObject;
use steward_domain::Provenance;

/// The maximum number of characters of one expression.
const LENGTH: usize = 2000;
/// The maximum nesting of loops.
const LOOPS: usize = 2;
/// The maximum number of values that an expression may iterate over.
const VALUES: usize = 20_000;
/// The names an expression may use.
pub(crate) const NAMES: [&str; 9] =
    ["input", "state", "nodes", "data", "iteration", "routing_key", "now", "item", "index"];

/// CEL's own functions; those of [`functions`] are added when an expression calls them. It is built
/// once, because building it takes longer than an evaluation.
static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// Resolves the names of an expression to values. `None` is a name without a value here.
pub(crate) type Scope<'a> = dyn Fn(&str) -> Option<Value> + 'a;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    source: String,
    /// The expression with its loops in order.
    body: IdedExpr,
    names: Vec<&'static str>,
    nodes: BTreeSet<String>,
    calls: BTreeSet<String>,
}

impl Expression {
    /// Compiles a source; the error names the problem and its position.
    pub(crate) fn compile(source: &str) -> Result<Self, String> {
        if source.chars().count() > LENGTH {
            return Err(format!("must be an expression of at most {LENGTH} characters"));
        }
        // The parser's own limit needs more stack than a worker thread has.
        if nesting(source) > 50 {
            return Err("must not be nested deeper than 50 brackets".to_owned());
        }
        let program = cel::Program::compile(source).map_err(|errors| {
            let first = errors.errors.first();
            let (line, column) = first.map_or((1, 1), |error| error.pos);
            let what =
                first.map_or("cannot be read", |error| error.msg.lines().next().unwrap_or("cannot be read"));
            format!("must be a CEL expression: line {line}, column {column}: {what}")
        })?;
        let mut walk = Walk::default();
        let mut body = program.expression().clone();
        walk.expr(&mut body, 0).map_err(|(id, why)| {
            let place = program.source_info().offset_for(id).map_or(0, |(start, _)| start as usize);
            format!("{}{why}", position(source.chars().take(place)))
        })?;
        let mut names = Vec::new();
        for used in &walk.names {
            match NAMES.iter().find(|name| *name == used) {
                Some(name) => names.push(*name),
                None => return Err(format!("uses {used}, which is not one of {}", NAMES.join(", "))),
            }
        }
        Ok(Self { source: source.to_owned(), body, names, nodes: walk.nodes, calls: walk.calls })
    }

    /// The nodes whose outputs it reads by name.
    pub(crate) fn nodes(&self) -> &BTreeSet<String> {
        &self.nodes
    }

    /// Whether it reads this name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// The source text.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Evaluates the expression.
    pub(crate) fn evaluate(&self, scope: &Scope<'_>) -> Result<Value, String> {
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        let mut left = VALUES;
        for name in &self.names {
            let value = scope(name).unwrap_or(Value::Null);
            let too_many = || format!("`{}` reads more than {VALUES} values", self.source);
            context.add_variable_from_value(*name, into_cel(&value, &mut left).ok_or_else(too_many)?);
        }
        functions::add(&mut context, &self.calls);
        let value = context.resolve(&self.body).map_err(|error| self.explain(&error))?;
        from_cel(&value).ok_or_else(|| format!("`{}` gives a value that JSON cannot hold", self.source))
    }

    /// Evaluates the expression to a boolean.
    pub(crate) fn holds(&self, scope: &Scope<'_>) -> Result<bool, String> {
        match self.evaluate(scope)? {
            Value::Bool(holds) => Ok(holds),
            other => Err(format!("`{}` must give true or false, not {}", self.source, kind(&other))),
        }
    }

    fn explain(&self, error: &ExecutionError) -> String {
        let why = match error {
            ExecutionError::NoSuchKey(key) => {
                format!("{}there is no {key}", self.column_of(&format!(".{key}")))
            }
            ExecutionError::FunctionError { function, message } => {
                format!("{}{function}: {message}", self.column_of(&format!("{function}(")))
            }
            ExecutionError::UndeclaredReference(name) => format!("there is no {name}"),
            ExecutionError::NoSuchOverload(overload) => overload.to_string(),
            ExecutionError::UnexpectedType { got, want } => format!("found {got} where {want} is needed"),
            ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
                "division by zero".to_owned()
            }
            ExecutionError::Overflow(..) => "a number became too large".to_owned(),
            ExecutionError::IndexOutOfBounds(_) => "the list is shorter than that".to_owned(),
            _ => "its values do not fit together".to_owned(),
        };
        format!("`{}`: {why}", self.source)
    }

    /// The position of a part, for messages; empty when the part occurs nowhere or twice.
    fn column_of(&self, part: &str) -> String {
        let mut places = self.source.match_indices(part);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => position(self.source.get(..place).unwrap_or_default().chars()),
            _ => String::new(),
        }
    }
}

/// The line and column after these characters.
fn position(before: impl Iterator<Item = char>) -> String {
    let (line, column) = before.fold((1, 1), |(line, column), c| match c {
        '\n' => (line + 1, 1),
        _ => (line, column + 1),
    });
    format!("line {line}, column {column}: ")
}

fn nesting(source: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for c in source.chars() {
        match c {
            '(' | '[' | '{' | '?' | '!' | '-' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[derive(Default)]
struct Walk {
    names: BTreeSet<String>,
    nodes: BTreeSet<String>,
    /// Called functions that are not CEL's own.
    calls: BTreeSet<String>,
    bound: Vec<String>,
}

/// The id of the part of the expression, and the problem with it.
type Misuse = (u64, String);

impl Walk {
    fn expr(&mut self, expr: &mut IdedExpr, loops: usize) -> Result<(), Misuse> {
        let id = expr.id;
        match &mut expr.expr {
            Expr::Ident(name) => {
                if !name.starts_with('@') && !self.bound.contains(name) {
                    self.names.insert(name.clone());
                }
            }
            Expr::Select(select) => {
                if matches!(&select.operand.expr, Expr::Ident(name) if name == "nodes") {
                    self.nodes.insert(select.field.clone());
                }
                self.expr(&mut select.operand, loops)?;
            }
            Expr::Call(call) => self.call(id, call, loops)?,
            Expr::Comprehension(part) => {
                if loops >= LOOPS {
                    return Err((id, format!("must not loop more than {LOOPS} deep")));
                }
                if part.iter_var2.is_some() {
                    return Err((id, "must loop with one variable".to_owned()));
                }
                self.expr(&mut part.iter_range, loops)?;
                let before = self.bound.len();
                self.bound.push(part.iter_var.clone());
                self.bound.push(part.accu_var.clone());
                for inner in [&mut part.accu_init, &mut part.loop_cond, &mut part.loop_step, &mut part.result]
                {
                    self.expr(inner, loops + 1)?;
                }
                self.bound.truncate(before);
                self.calls.insert(functions::IN_ORDER.to_owned());
                let range = std::mem::take(&mut part.iter_range);
                let in_order =
                    CallExpr { func_name: functions::IN_ORDER.to_owned(), target: None, args: vec![range] };
                part.iter_range = IdedExpr { id, expr: Expr::Call(in_order) };
            }
            Expr::List(list) => list.elements.iter_mut().try_for_each(|part| self.expr(part, loops))?,
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    match &mut entry.expr {
                        EntryExpr::MapEntry(entry) => {
                            self.expr(&mut entry.key, loops)?;
                            self.expr(&mut entry.value, loops)?;
                        }
                        EntryExpr::StructField(field) => self.expr(&mut field.value, loops)?,
                    }
                }
            }
            Expr::Struct(_) => return Err((id, "must not build typed messages".to_owned())),
            Expr::Literal(_) | Expr::Unspecified => {}
        }
        Ok(())
    }

    fn call(&mut self, id: u64, call: &mut CallExpr, loops: usize) -> Result<(), Misuse> {
        if let ("_[_]", [list, index]) = (call.func_name.as_str(), &call.args[..])
            && matches!(&list.expr, Expr::Ident(name) if name == "nodes")
            && let Expr::Literal(cel::common::ast::LiteralValue::String(name)) = &index.expr
        {
            self.nodes.insert(name.inner().to_owned());
        }
        let name = call.func_name.as_str();
        if functions::is_own(name) {
            if call.target.is_some() {
                return Err((id, format!("calls {name} as a method: write {name}(value, …)")));
            }
            self.calls.insert(name.to_owned());
        } else if call.target.is_none()
            && name.chars().next().is_some_and(|c| c.is_ascii_alphabetic())
            && !functions::is_cel_function(&ENVIRONMENT, name)
        {
            return Err((id, format!("calls {name}, which there is not. There is: {}", functions::list())));
        }
        for part in call.target.iter_mut().map(|target| &mut **target).chain(&mut call.args) {
            self.expr(part, loops)?;
        }
        Ok(())
    }
}

/// Whole numbers become `int`, so that `count > 3` and `count + 1` work as people expect.
pub(crate) fn into_cel(value: &Value, left: &mut usize) -> Option<Cel> {
    *left = left.checked_sub(1)?;
    Some(match value {
        Value::Null => Cel::Null,
        Value::Bool(yes) => Cel::Bool(*yes),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Cel::Int(whole),
            (None, Some(whole)) => Cel::UInt(whole),
            _ => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(values) => {
            let values: Option<Vec<Cel>> = values.iter().map(|value| into_cel(value, left)).collect();
            Cel::List(Arc::new(values?))
        }
        Value::Object(object) => {
            let mut map = HashMap::with_capacity(object.len());
            for (key, value) in object {
                map.insert(Key::String(Arc::new(key.clone())), into_cel(value, left)?);
            }
            Cel::Map(Map { map: Arc::new(map) })
        }
    })
}

pub(crate) fn from_cel(value: &Cel) -> Option<Value> {
    Some(match value {
        Cel::Null => Value::Null,
        Cel::Bool(yes) => Value::Bool(*yes),
        Cel::Int(whole) => Value::from(*whole),
        Cel::UInt(whole) => Value::from(*whole),
        Cel::Float(number) => Value::Number(serde_json::Number::from_f64(*number)?),
        Cel::String(text) => Value::String(text.as_str().to_owned()),
        Cel::List(values) => Value::Array(values.iter().map(from_cel).collect::<Option<_>>()?),
        Cel::Map(map) => {
            let mut entries: Vec<(String, Value)> = Vec::with_capacity(map.map.len());
            for (key, value) in map.map.iter() {
                entries.push((key.to_string(), from_cel(value)?));
            }
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        _ => return None,
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A text for people and models: strings unquoted, everything else as JSON, numbers without the
/// rounding errors of binary fractions.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => readable(other).to_string(),
    }
}

/// The value with fractions rounded to 12 significant digits: 0.1 + 0.2 is 0.3.
fn readable(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let rounded = number.as_f64().and_then(|number| format!("{number:.11e}").parse::<f64>().ok());
            let rounded = rounded.and_then(serde_json::Number::from_f64);
            Value::Number(rounded.unwrap_or_else(|| number.clone()))
        }
        Value::Array(items) => Value::Array(items.iter().map(readable).collect()),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), readable(value))).collect())
        }
        other => other.clone(),
    }
}

/// A JSON value whose texts may hold `${…}`.
#[derive(Debug)]
pub(crate) enum Template {
    /// A value without expressions.
    Fixed(Value),
    /// Exactly one expression: the result keeps its type.
    One(Expression),
    /// Text with expressions in it.
    Text(Vec<Part>),
    /// A list of templates.
    List(Vec<Template>),
    /// An object of templates.
    Object(Vec<(String, Template)>),
}

/// A part of a text.
#[derive(Debug)]
pub(crate) enum Part {
    /// Literal text.
    Words(String),
    /// The result of an expression.
    Value(Expression),
}

impl Template {
    /// Compiles every `${…}` of a value. `$${` stands for `${`.
    pub(crate) fn compile(value: &Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::text(text)?,
            Value::Array(values) => Self::List(values.iter().map(Self::compile).collect::<Result<_, _>>()?),
            Value::Object(object) => Self::Object(Self::object(object)?),
            other => Self::Fixed(other.clone()),
        })
    }

    /// The templates of an object's values.
    pub(crate) fn object(object: &JsonObject) -> Result<Vec<(String, Self)>, String> {
        object.iter().map(|(key, value)| Ok((key.clone(), Self::compile(value)?))).collect()
    }

    pub(crate) fn text(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut words = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('$') {
                words.push_str(before);
                words.push_str("${");
                rest = after;
                continue;
            }
            words.push_str(before);
            let (source, after) = close(after).ok_or("has a `${` without its `}`")?;
            if !words.is_empty() {
                parts.push(Part::Words(std::mem::take(&mut words)));
            }
            parts.push(Part::Value(Expression::compile(source.trim())?));
            rest = after;
        }
        words.push_str(rest);
        if parts.is_empty() {
            return Ok(Self::Fixed(Value::String(words)));
        }
        if !words.is_empty() {
            parts.push(Part::Words(words));
        }
        match (parts.pop(), parts.is_empty()) {
            (Some(Part::Value(one)), true) => Ok(Self::One(one)),
            (Some(last), _) => {
                parts.push(last);
                Ok(Self::Text(parts))
            }
            (None, _) => Ok(Self::Text(parts)),
        }
    }

    /// Evaluates all expressions and returns the value.
    pub(crate) fn render(&self, scope: &Scope<'_>) -> Result<Value, String> {
        Ok(match self {
            Self::Fixed(value) => value.clone(),
            Self::One(expression) => expression.evaluate(scope)?,
            Self::Text(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        Part::Words(words) => text.push_str(words),
                        Part::Value(expression) => text.push_str(&as_text(&expression.evaluate(scope)?)),
                    }
                }
                Value::String(text)
            }
            Self::List(parts) => {
                Value::Array(parts.iter().map(|part| part.render(scope)).collect::<Result<_, _>>()?)
            }
            Self::Object(parts) => Value::Object(
                parts
                    .iter()
                    .map(|(key, part)| Ok((key.clone(), part.render(scope)?)))
                    .collect::<Result<_, String>>()?,
            ),
        })
    }

    /// All expressions of the template.
    pub(crate) fn expressions(&self) -> Vec<&Expression> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::One(expression) => vec![expression],
            Self::Text(parts) => parts
                .iter()
                .filter_map(|part| match part {
                    Part::Value(expression) => Some(expression),
                    Part::Words(_) => None,
                })
                .collect(),
            Self::List(parts) => parts.iter().flat_map(Self::expressions).collect(),
            Self::Object(parts) => parts.iter().flat_map(|(_, part)| part.expressions()).collect(),
        }
    }

    /// The provenance of the value: the least trusted of what it reads.
    pub(crate) fn provenance(&self, of: impl Fn(&Expression) -> Provenance) -> Provenance {
        self.expressions().into_iter().map(of).max().unwrap_or(Provenance::Operator)
    }
}

/// Splits a text at the brace that closes the expression. Braces inside strings and maps do not
/// count.
fn close(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut quote) = (0usize, None);
    for (place, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some((text.get(..place)?, text.get(place + 1..)?)),
            (None, '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
#[path = "expression_tests.rs"]
mod tests;
