//! The interface of a provider's protocol: how a request is written, and how a reply is read,
//! complete or streamed.
//!
//! Both ways of reading fill the same [`Assembly`], and only a complete assembly becomes a reply.

use reqwest::Url;
use serde_json::Value;

use super::chat::{Answer, Arguments, Chat, Finish, ToolCall, ToolChoice, Usage};
use super::form::Form;
use super::intext;
use super::reply;
use super::sse::{Frame, Framing};
use super::stream::Event;
use super::{ModelError, Secret};

/// A request with the settings that apply to it.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    pub(super) chat: &'a Chat,
    pub(super) model: &'a str,
    pub(super) form: Form,
    pub(super) streamed: bool,
    pub(super) max_tokens: u32,
    pub(super) temperature: Option<f32>,
    pub(super) context_tokens: Option<u32>,
}

impl Ask<'_> {
    /// The temperature, unless the server rejects it. Converted through text, so that 0.1 stays
    /// 0.1.
    pub(super) fn temperature(&self) -> Option<f64> {
        self.temperature.filter(|_| !self.form.no_temperature)?.to_string().parse().ok()
    }

    /// The share of likely words. Through text, for the same reason.
    pub(super) fn top_p(&self) -> Option<f64> {
        self.chat.top_p?.to_string().parse().ok()
    }
}

/// Why a part could not be read.
#[derive(Debug)]
pub(super) enum Fault {
    /// It violates the protocol.
    Garbled(String),
    /// The server reports an error of this status.
    Said(u16, String),
}

/// A protocol.
pub(super) trait Wire: Send + Sync {
    /// The provider's name, from the GenAI semantic conventions where they have one.
    fn provider(&self) -> &'static str;
    /// Turns the address of the settings into that of the endpoint.
    fn locate(&self, base: &mut Url, model: &str, streamed: bool);
    /// The header for the key: its name and the prefix of the value.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }
    /// Additional headers.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Whether a question may carry a seed.
    fn takes_seed(&self) -> bool {
        true
    }
    /// The question.
    fn body(&self, ask: &Ask<'_>) -> Value;
    /// Reads a complete reply.
    fn whole(&self, body: &Value, into: &mut Assembly) -> Result<(), Fault>;
    /// Reads one message of a stream.
    fn frame(&self, frame: &Frame, into: &mut Assembly) -> Result<(), Fault>;
    /// How the messages of a stream are delimited.
    fn framing(&self) -> Framing {
        Framing::Events
    }
}

/// A partial tool call.
#[derive(Debug, Default)]
struct Partial {
    key: String,
    id: String,
    name: String,
    arguments: String,
    signature: Option<String>,
}

/// A partial reply.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    text: String,
    calls: Vec<Partial>,
    pub(super) usage: Usage,
    pub(super) finish: Option<Finish>,
    pub(super) refusal: Option<String>,
    pub(super) model: Option<String>,
    /// Whether the server has marked the end.
    pub(super) ended: bool,
    /// The call whose arguments are the reply, if the protocol has no other way to request a
    /// schema.
    pub(super) reply_key: Option<String>,
    events: Vec<Event>,
}

impl Assembly {
    /// Adds text.
    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.events.push(Event::TextDelta(text.to_owned()));
        }
    }

    /// Adds to the call that the server identifies by `key`.
    pub(super) fn call(&mut self, key: &str, id: Option<&str>, name: Option<&str>, arguments: &str) {
        let (id, name) = (id.filter(|id| !id.is_empty()), name.filter(|name| !name.is_empty()));
        // Some servers give every call index 0 and distinguish them only by their ids.
        let same = |call: &Partial| id.is_none_or(|id| call.id.is_empty() || call.id == id);
        let place = self
            .calls
            .iter()
            .rposition(|call| call.key == key)
            .filter(|place| self.calls.get(*place).is_some_and(same));
        let index = place.unwrap_or_else(|| {
            self.calls.push(Partial { key: key.to_owned(), ..Partial::default() });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(index) else { return };
        if let Some(id) = id {
            id.clone_into(&mut call.id);
        }
        if let Some(name) = name {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(arguments);
        self.events.push(Event::ToolCallDelta {
            index,
            id: id.map(str::to_owned),
            name: name.map(str::to_owned),
            arguments: arguments.to_owned(),
        });
    }

    /// Sets the complete arguments, for a server that repeats them at the end.
    pub(super) fn arguments(&mut self, key: &str, arguments: &str) {
        if let Some(call) = self.calls.iter_mut().rfind(|call| call.key == key) {
            arguments.clone_into(&mut call.arguments);
        }
    }

    /// Stores opaque data that the provider expects back with this call.
    pub(super) fn sign(&mut self, key: &str, signature: Option<&str>) {
        if let Some(call) = self.calls.iter_mut().rfind(|call| call.key == key) {
            call.signature = signature.map(str::to_owned);
        }
    }

    /// Number of calls so far: the key of the next one if the server sends none.
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// The events that were not sent yet.
    pub(super) fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The reply, if it is valid.
    pub(super) fn conclude(self, chat: &Chat, max_tokens: u32, model: &str) -> Result<Answer, ModelError> {
        if let Some(detail) = self.refusal {
            return Err(ModelError::Declined { detail });
        }
        let mut calls = finished(self.calls, chat.turns.len());
        let mut text = self.text;
        if calls.is_empty() && chat.tool_choice != ToolChoice::None {
            (text, calls) = intext::calls(text, &chat.tools, chat.turns.len());
        }
        let mut finish = self.finish.unwrap_or_default();
        if !calls.is_empty() && finish == Finish::Stop {
            finish = Finish::ToolCalls;
        }
        if calls.is_empty() && finish == Finish::ToolCalls {
            finish = Finish::Stop;
        }
        let mut json = None;
        if let (Some(schema), true) = (&chat.schema, calls.is_empty()) {
            if finish == Finish::Length {
                return Err(ModelError::CutOff { max_tokens });
            }
            let found = reply::json(&text, &schema.schema);
            json = Some(found.map_err(|detail| ModelError::NotJson { detail })?);
        }
        let model = self.model.filter(|name| !name.is_empty()).unwrap_or_else(|| model.to_owned());
        Ok(Answer { text, calls, json, finish, usage: self.usage, cost_micros: None, model })
    }
}

/// Calls with ids that are unique in the reply, so that results can be matched. Generated ids are
/// unique in the conversation.
fn finished(partial: Vec<Partial>, turns: usize) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = Vec::new();
    for (place, call) in partial.into_iter().enumerate() {
        let taken = call.id.is_empty() || calls.iter().any(|other| other.id == call.id);
        let id = if taken { own_id(turns, place) } else { call.id };
        let arguments = Arguments::read(&call.arguments);
        calls.push(ToolCall { id, name: call.name, arguments, signature: call.signature });
    }
    calls
}

/// The id of a call without one: from the number of messages and the position.
pub(super) fn own_id(turns: usize, place: usize) -> String {
    format!("call_{turns}_{}", place + 1)
}

/// Reads the JSON of a message.
pub(super) fn parse(frame: &Frame) -> Result<Value, Fault> {
    serde_json::from_str(&frame.data).map_err(|error| Fault::Garbled(format!("no JSON ({error})")))
}

/// A text inside JSON, if it is there.
pub(super) fn text<'a>(value: &'a Value, place: &str) -> Option<&'a str> {
    value.pointer(place).and_then(Value::as_str)
}

/// A number inside JSON, 0 if it is not there.
pub(super) fn count(value: &Value, place: &str) -> u64 {
    value.pointer(place).and_then(Value::as_u64).unwrap_or(0)
}

/// Sets a member of an object.
pub(super) fn set(body: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(map) = body.as_object_mut() {
        map.insert(name.to_owned(), value.into());
    }
}

/// Appends `tail` to the path of an address, unless it is already there.
pub(super) fn extend(base: &mut Url, tail: &str) {
    let path = base.path().trim_end_matches('/');
    let path = format!("{}/{tail}", path.strip_suffix(&format!("/{tail}")).unwrap_or(path));
    base.set_path(&path);
}

/// The key of a client, if it has one that is not empty.
pub(super) fn usable(key: Option<&Secret>) -> Option<&Secret> {
    key.filter(|key| !key.expose().is_empty())
}
