//! Registers each route together with its description, so that `/openapi.json` matches the router.
//!
//! Invariant: a route cannot be added without its required right, its input and its responses. The
//! same declaration enforces the right.

use super::Shared;
use super::problem::{Problem, ProblemBody};
use crate::identity::{Identity, Right};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value as Json, json};

/// The description of a route.
pub(super) struct Doc {
    summary: &'static str,
    needs: Option<Right>,
    query: Vec<Json>,
    body: Option<(Json, &'static str)>,
    answers: Vec<(u16, &'static str, Json)>,
    /// Whether errors use OpenAI's format.
    foreign: bool,
}

type Describe = fn(&mut SchemaGenerator) -> Json;

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Json {
    generator.subschema_for::<T>().to_value()
}

/// The registered routes and their description.
pub(super) struct Api {
    router: Router<Shared>,
    paths: Map<String, Json>,
    generator: SchemaGenerator,
}

/// A route under construction.
pub(super) struct Route<'a> {
    api: &'a mut Api,
    method: &'static str,
    path: &'static str,
    doc: Doc,
}

impl Api {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self { router: Router::new(), paths: Map::new(), generator: settings.into_generator() }
    }

    fn route(&mut self, method: &'static str, path: &'static str, summary: &'static str) -> Route<'_> {
        let doc = Doc {
            summary,
            needs: Some(Right::Ask),
            query: Vec::new(),
            body: None,
            answers: Vec::new(),
            foreign: false,
        };
        Route { api: self, method, path, doc }
    }

    pub(super) fn get(&mut self, path: &'static str, summary: &'static str) -> Route<'_> {
        self.route("get", path, summary)
    }

    pub(super) fn post(&mut self, path: &'static str, summary: &'static str) -> Route<'_> {
        self.route("post", path, summary)
    }

    pub(super) fn patch(&mut self, path: &'static str, summary: &'static str) -> Route<'_> {
        self.route("patch", path, summary)
    }

    pub(super) fn delete(&mut self, path: &'static str, summary: &'static str) -> Route<'_> {
        self.route("delete", path, summary)
    }

    /// Returns the router and the OpenAPI document.
    pub(super) fn finish(mut self, version: &str) -> (Router<Shared>, Json) {
        let problem = json!({ "application/problem+json": { "schema": self.generator.subschema_for::<ProblemBody>().to_value() } });
        let foreign = json!({ "type": "object", "required": ["error"], "properties": { "error": { "type": "object" } } });
        let mut either = problem.clone();
        if let Some(either) = either.as_object_mut() {
            either.insert("application/json".into(), json!({ "schema": foreign }));
        }
        let schemas = self.generator.take_definitions(true);
        let document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Steward", "version": version,
                "description": "Runs agents you can account for. Errors are problem+json with a code that \
                    docs/errors explains.",
                "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            },
            "servers": [{ "url": "/" }],
            "security": [{ "key": [] }, {}],
            "components": {
                "schemas": schemas,
                "securitySchemes": { "key": { "type": "http", "scheme": "bearer", "description": "An API key \
                    (`steward keys add`), or a token of the identity provider." } },
                "responses": {
                    "Problem": { "description": "What went wrong, and what to do.", "content": problem },
                    "Error": { "description": "The same, in the form of OpenAI where the request could be \
                        read.", "content": either },
                },
            },
            "paths": self.paths,
        });
        (self.router, document)
    }
}

impl Route<'_> {
    /// Sets the right that the caller needs.
    pub(super) fn needs(mut self, right: Right) -> Self {
        self.doc.needs = Some(right);
        self
    }

    /// Makes the route available without authentication.
    pub(super) fn open(mut self) -> Self {
        self.doc.needs = None;
        self
    }

    pub(super) fn query(mut self, name: &str, schema: impl Into<Json>, about: &str) -> Self {
        self.doc.query.push(
            json!({ "name": name, "in": "query", "required": false, "schema": schema.into(), "description": about }),
        );
        self
    }

    /// Adds the parameters `limit` and `cursor`.
    pub(super) fn paged(self) -> Self {
        self.query(
            "limit",
            json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 }),
            "At most so many.",
        )
        .query("cursor", json!({ "type": "string", "maxLength": 40 }), "`next` of the page before.")
    }

    pub(super) fn takes<T: JsonSchema>(mut self) -> Self {
        self.doc.body = Some((schema_of::<T>(&mut self.api.generator), "application/json"));
        self
    }

    pub(super) fn takes_bytes(mut self) -> Self {
        self.doc.body = Some((json!({}), "application/octet-stream"));
        self
    }

    pub(super) fn gives<T: JsonSchema>(self, status: u16, about: &'static str) -> Self {
        self.gives_schema(status, about, schema_of::<T>)
    }

    /// Declares a page of items as the response.
    pub(super) fn gives_page<T: JsonSchema>(mut self) -> Self {
        let item = schema_of::<T>(&mut self.api.generator);
        let page = json!({ "type": "object", "required": ["items", "next"], "properties": {
            "items": { "type": "array", "items": item }, "next": { "type": ["string", "null"] } } });
        self.doc.answers.push((200, "A page.", json!({ "application/json": { "schema": page } })));
        self
    }

    fn gives_schema(mut self, status: u16, about: &'static str, describe: Describe) -> Self {
        let schema = describe(&mut self.api.generator);
        self.doc.answers.push((status, about, json!({ "application/json": { "schema": schema } })));
        self
    }

    /// Declares a JSON object, described in text, as a response.
    pub(super) fn gives_object(mut self, status: u16, about: &'static str) -> Self {
        self.doc.answers.push((
            status,
            about,
            json!({ "application/json": { "schema": { "type": "object" } } }),
        ));
        self
    }

    /// Declares a response of another media type.
    pub(super) fn gives_kind(mut self, status: u16, about: &'static str, kind: &str) -> Self {
        let mut content = Map::new();
        let schema =
            if kind == "text/event-stream" { json!({}) } else { json!({ "schema": { "type": "string" } }) };
        content.insert(kind.to_owned(), schema);
        self.doc.answers.push((status, about, Json::Object(content)));
        self
    }

    /// Like `gives_kind`, for files whose media type the request chooses.
    pub(super) fn gives_kinds(mut self, status: u16, about: &'static str, kinds: &[&str]) -> Self {
        let schema = |kind: &&str| ((*kind).to_owned(), json!({ "schema": { "type": "string" } }));
        let content: Map<String, Json> = kinds.iter().map(schema).collect();
        self.doc.answers.push((status, about, Json::Object(content)));
        self
    }

    /// Declares that the last response is also available as an event stream.
    pub(super) fn or_events(mut self) -> Self {
        if let Some((_, _, Json::Object(content))) = self.doc.answers.last_mut() {
            content.insert("text/event-stream".into(), json!({}));
        }
        self
    }

    /// Declares that errors use OpenAI's format.
    pub(super) fn fails_as_openai(mut self) -> Self {
        self.doc.foreign = true;
        self
    }

    pub(super) fn gives_nothing(mut self, about: &'static str) -> Self {
        self.doc.answers.push((204, about, Json::Null));
        self
    }

    /// Sets the handler and registers the route.
    pub(super) fn to(self, handler: MethodRouter<Shared>) {
        let Self { api, method, path, doc } = self;
        let guarded = match doc.needs {
            None => handler,
            Some(right) => handler.layer(from_fn(move |request, next| holds(right, request, next))),
        };
        api.router = std::mem::take(&mut api.router).route(path, guarded);
        let item = api.paths.entry(path).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(method.to_owned(), describe(method, path, doc));
        }
    }
}

fn describe(method: &str, path: &str, doc: Doc) -> Json {
    let mut parameters: Vec<Json> = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            let name = name.trim_start_matches('*');
            let schema = match name {
                "name" | "key" | "chain" | "kind" => {
                    json!({ "type": "string", "minLength": 1, "maxLength": 200 })
                }
                "n" | "sequence" => json!({ "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 }),
                _ => json!({ "type": "string", "format": "uuid" }),
            };
            json!({ "name": name, "in": "path", "required": true, "schema": schema })
        })
        .collect();
    parameters.extend(doc.query);
    let mut responses = Map::new();
    for (status, about, content) in doc.answers {
        let mut answer = json!({ "description": about });
        if let (Some(answer), false) = (answer.as_object_mut(), content.is_null()) {
            answer.insert("content".into(), content);
        }
        responses.insert(status.to_string(), answer);
    }
    let failure = if doc.foreign { "Error" } else { "Problem" };
    responses.insert("default".into(), json!({ "$ref": format!("#/components/responses/{failure}") }));
    let words = path.split('/').filter(|part| !part.is_empty() && !part.starts_with('{'));
    let tag = words.clone().find(|part| !matches!(*part, "api" | "v1")).unwrap_or("steward");
    let id: Vec<&str> = std::iter::once(method)
        .chain(path.split(['/', '{', '}', '.', '-']).filter(|part| !part.is_empty()))
        .collect();
    let mut operation = json!({
        "summary": doc.summary, "operationId": id.join("_"), "tags": [tag], "parameters": parameters, "responses": responses,
        "x-needs": doc.needs.map(Right::name),
    });
    if let (Some(operation), Some((schema, kind))) = (operation.as_object_mut(), doc.body) {
        let mut content = Map::new();
        content.insert(kind.to_owned(), json!({ "schema": schema }));
        operation.insert("requestBody".into(), json!({ "required": true, "content": content }));
    }
    operation
}

async fn holds(right: Right, request: Request, next: Next) -> Response {
    let Some(identity) = request.extensions().get::<Identity>() else {
        return Problem::from(crate::identity::Error::Nobody).into_response();
    };
    if !identity.may(right) {
        let detail = format!(
            "{} does not hold `{}` here. An administrator can grant it: `steward grants` shows what there is",
            identity.user,
            right.name()
        );
        return Problem::denied(detail).into_response();
    }
    next.run(request).await
}
