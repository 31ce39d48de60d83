//! The state of a running task. It holds each message once and nothing that can be computed from
//! the rest.

use crate::program::ProgramIndex;
use crate::{Approval, AskedCall, EarlierMessage, EffectId, Failure, Program, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{
    CallId, JsonObject, Mandate, NodeName, Provenance, Role, Sha256Hex, Taint, TaskId, Timestamp, ToolName,
};

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing has happened yet.
    Pending,
    /// A model, a tool or a sub-agent is at work.
    Running,
    /// Only people and timers are awaited.
    Paused,
    /// Done.
    Completed,
    /// Could not be done.
    Failed,
    /// Was called off.
    Cancelled,
    /// A person said no, and that was its end.
    Rejected,
}

impl Status {
    /// Whether nothing follows.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Rejected)
    }
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// With this result.
    Completed(Value),
    /// For this reason.
    Failed(Failure),
    /// By the wish of somebody.
    Cancelled(String),
    /// With the no of a person.
    Rejected(Failure),
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// The decision of a person.
    Person,
    /// A signal of this name.
    Signal(NodeName),
    /// A sub-agent or a sub-workflow.
    SubTask,
    /// This moment.
    Until(Timestamp),
}

/// What was used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Nodes passed.
    pub nodes: u32,
    /// Replies of models.
    pub replies: u32,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Money, in millionths of a US dollar.
    pub cost_micros: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One message of an agent's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Msg {
    /// Who speaks.
    pub role: Role,
    /// What was said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The calls that the model asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<AskedCall>,
    /// The call that it answers, for the role `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// About how many tokens it is.
    pub tokens: u32,
    /// When.
    pub at: Timestamp,
}

/// Where a node is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// Not reached.
    #[default]
    Idle,
    /// At work.
    Running,
    /// Waits for a person.
    Asking,
    /// Waits for a time or a signal.
    Waiting,
    /// Done.
    Done,
    /// Failed.
    Failed,
    /// Called off.
    Cancelled,
    /// Not entered, because a subtask that it needs failed.
    Skipped,
}

impl NodeStatus {
    /// Whether it has begun and not ended.
    pub(crate) fn is_at_work(self) -> bool {
        matches!(self, Self::Running | Self::Asking | Self::Waiting)
    }
}

/// What is known of one node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeRun {
    /// Where it is.
    pub status: NodeStatus,
    /// How often it was entered.
    pub visits: u32,
    /// What came out last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// When it was entered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was left last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Whether the output stems from data.
    pub(crate) untrusted: bool,
    pub(crate) thread: u32,
    /// The hash of the output, for noticing that a cycle changes nothing.
    pub(crate) hash: u64,
    /// States in which it was entered before, with how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) seen: BTreeMap<u64, u32>,
    /// Needs that are still open, in a plan.
    pub(crate) waits: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) join: Option<JoinRun>,
    /// What the items of a repeated step gave so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) items: Vec<Option<Value>>,
    /// The items of a `map` that is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) map: Option<MapRun>,
}

/// The items of a `map` node that is at work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MapRun {
    pub(crate) items: Vec<Value>,
    /// Whether the list stems from data.
    pub(crate) untrusted: bool,
    /// The first item that has not begun.
    pub(crate) next: u32,
    pub(crate) open: BTreeSet<u32>,
    /// What came of each, in the order of the list.
    pub(crate) results: Vec<Option<ItemResult>>,
}

/// What came of one item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemResult {
    Done(Value),
    Failed(Failure),
}

/// A signal that arrived before a node waited for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptSignal {
    pub(crate) name: NodeName,
    pub(crate) data: Value,
}

/// The branches of a parallel node that is at work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JoinRun {
    pub(crate) open: BTreeSet<u32>,
    pub(crate) done: u32,
    pub(crate) failed: u32,
    pub(crate) results: BTreeMap<String, Value>,
    pub(crate) untrusted: bool,
    pub(crate) first_failure: Option<Failure>,
}

/// One way through the graph: the main one, or a branch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Thread {
    /// The parallel node it joins at, and the name of its branch.
    pub(crate) joins: Option<(ProgramIndex, String)>,
    pub(crate) at: ProgramIndex,
    /// The last node that gave something.
    pub(crate) last: Option<ProgramIndex>,
}

/// What an agent's session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// Reasons, without tools.
    Think,
    /// Reasons and calls tools.
    Act,
    /// Criticises its draft, without tools.
    Critique,
    /// Improves its draft.
    Improve,
}

/// An agent at work: its own messages and nobody else's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) agent: ProgramIndex,
    pub(crate) node: ProgramIndex,
    pub(crate) messages: Vec<Msg>,
    pub(crate) stage: Stage,
    pub(crate) phase: u32,
    pub(crate) rounds: u32,
    pub(crate) repairs: u32,
    pub(crate) strange: u32,
    pub(crate) slots: Vec<Slot>,
    pub(crate) open: u32,
    pub(crate) seen: BTreeMap<u64, u32>,
    /// The first message after the task that is still shown.
    pub(crate) window: u32,
    /// Tokens of what is shown.
    pub(crate) tokens: u32,
    pub(crate) draft: Option<String>,
    /// What the person typed, and what else has entered it.
    pub(crate) taint: Taint,
    /// How many messages after the task are of the conversation before it.
    #[serde(default)]
    pub(crate) earlier: u32,
    /// How many messages behind the task were there from the start.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) followed: u32,
    /// Tools that it found and may call, by name.
    #[serde(default)]
    pub(crate) found: BTreeMap<String, ProgramIndex>,
    /// What the person's words foresee, once it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mandate: Option<Mandate>,
    /// Calls that are judged when the mandate is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unjudged: Vec<u32>,
    /// Calls that wait for a person, in the order in which they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<u32>,
    /// What came of those that were decided on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) told: Vec<String>,
    pub(crate) over: bool,
}

/// One of the calls that a reply asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slot {
    pub(crate) id: String,
    pub(crate) answer: Option<String>,
}

/// A call under way, from its first attempt to its last fallback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) owner: Owner,
    pub(crate) target: Target,
    pub(crate) key: CallId,
    pub(crate) arguments: JsonObject,
    pub(crate) provenance: BTreeMap<String, Provenance>,
    /// Who decided that it is made at all.
    #[serde(default = "crate::effect::untrusted")]
    pub(crate) origin: Provenance,
    pub(crate) approval: Option<Approval>,
    /// The tool that policy resolved and asks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resolved: Option<ToolName>,
    pub(crate) attempt: u32,
    /// The tool that was asked for first.
    pub(crate) primary: ProgramIndex,
    /// How many of its fallbacks were tried.
    pub(crate) fallbacks: u32,
    /// What policy wants a person's word for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) needs: Option<NeededApproval>,
    /// Whether the person's request foresees it.
    #[serde(default)]
    pub(crate) mandated: bool,
}

/// The digest that policy asks about, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NeededApproval {
    pub(crate) digest: Sha256Hex,
    pub(crate) reason: String,
}

/// Who waits for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Owner {
    Node(ProgramIndex),
    /// One item of a repeated step of a static plan.
    Item(ProgramIndex, u32),
    Slot(u32, u32),
    /// A call of this session that waited for a person.
    Held(u32),
}

/// What is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    Tool(ProgramIndex),
    Agent(ProgramIndex, String, bool),
    /// A workflow, its input, and whether the input may stem from data.
    Workflow(ProgramIndex, Value, bool),
}

/// An effect that has not been answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Pending {
    Model {
        session: u32,
        attempt: u32,
    },
    Mandate {
        session: u32,
    },
    ModelBackoff {
        session: u32,
        attempt: u32,
        at: Timestamp,
    },
    Tool {
        call: u32,
    },
    Sub {
        call: u32,
    },
    Backoff {
        call: u32,
        at: Timestamp,
    },
    Human {
        about: DecisionSubject,
        digest: Sha256Hex,
        text: String,
        timer: EffectId,
        expires_at: Timestamp,
        /// How often it was passed on because nobody answered.
        #[serde(default)]
        level: u32,
    },
    /// A `timer` node waits.
    Wait {
        node: ProgramIndex,
        at: Timestamp,
    },
    /// A `signal` node waits.
    Signal {
        node: ProgramIndex,
    },
    Expiry {
        request: EffectId,
        at: Timestamp,
    },
    Deadline {
        at: Timestamp,
    },
}

/// What a person is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionSubject {
    Node(ProgramIndex),
    Gate(ProgramIndex),
    Call(u32),
    Unknown(u32),
    /// All calls of a session that wait.
    Calls(u32),
}

/// The state of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(crate) program: Sha256Hex,
    pub(crate) task: Option<TaskId>,
    pub(crate) status: Status,
    pub(crate) ended: Option<Ended>,
    pub(crate) events: u64,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) now: Timestamp,
    pub(crate) depth: u8,
    pub(crate) input: Value,
    pub(crate) input_untrusted: bool,
    pub(crate) metadata: JsonObject,
    /// Keys of `metadata` whose values stem from data.
    pub(crate) tainted: BTreeSet<String>,
    pub(crate) routing_key: Option<String>,
    pub(crate) next_action: Option<String>,
    pub(crate) current_agent: Option<String>,
    pub(crate) nodes: Vec<NodeRun>,
    pub(crate) threads: BTreeMap<u32, Thread>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) calls: BTreeMap<u32, Call>,
    pub(crate) pending: BTreeMap<EffectId, Pending>,
    pub(crate) next_effect: u64,
    pub(crate) next_call: u32,
    pub(crate) next_thread: u32,
    pub(crate) next_key: u64,
    pub(crate) checkpoints: u64,
    pub(crate) open_nodes: u32,
    pub(crate) used: Used,
    /// What was said before, until the first session takes it.
    #[serde(default)]
    pub(crate) earlier: Vec<EarlierMessage>,
    /// Tools that were found on the way; their places follow the program's.
    #[serde(default)]
    pub(crate) found: Vec<ToolSpec>,
    /// What the values of a static plan are judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plan_taint: Option<Taint>,
    /// Signals that no node has taken yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) signals: Vec<KeptSignal>,
    /// The keys of all signals that were taken.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) signal_keys: BTreeSet<String>,
}

impl State {
    /// The state before anything happened.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let node = |node: &crate::Node| NodeRun { waits: node.needs.len() as u32, ..NodeRun::default() };
        Self {
            program: program.version.clone(),
            task: None,
            status: Status::Pending,
            ended: None,
            events: 0,
            started_at: None,
            now: Timestamp::from_micros(0),
            depth: 0,
            input: Value::Null,
            input_untrusted: false,
            metadata: JsonObject::new(),
            tainted: BTreeSet::new(),
            routing_key: None,
            next_action: None,
            current_agent: None,
            nodes: program.nodes.iter().map(node).collect(),
            threads: BTreeMap::new(),
            sessions: Vec::new(),
            calls: BTreeMap::new(),
            pending: BTreeMap::new(),
            next_effect: 1,
            next_call: 0,
            next_thread: 0,
            next_key: 0,
            checkpoints: 0,
            open_nodes: program.nodes.len() as u32,
            used: Used::default(),
            earlier: Vec::new(),
            found: Vec::new(),
            plan_taint: None,
            signals: Vec::new(),
            signal_keys: BTreeSet::new(),
        }
    }

    /// A tool of the program, or one that was found on the way.
    pub(crate) fn tool<'a>(&'a self, program: &'a Program, place: ProgramIndex) -> Option<&'a ToolSpec> {
        let found = || self.found.get((place as usize).checked_sub(program.tools.len())?);
        program.tool(place).or_else(found)
    }

    /// The place of a tool that was found; one that the program has keeps its place there.
    pub(crate) fn place_of_found(&mut self, program: &Program, tool: &ToolSpec) -> Option<ProgramIndex> {
        let known = program.tools.iter().chain(&self.found).position(|known| known.name == tool.name);
        let place = known.unwrap_or(program.tools.len() + self.found.len());
        if known.is_none() {
            self.found.push(tool.clone());
        }
        ProgramIndex::try_from(place).ok()
    }

    /// Where it is in its life.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// How it ended.
    #[must_use]
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// Events applied so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// What was used so far.
    #[must_use]
    pub fn used(&self) -> Used {
        self.used
    }

    /// The task.
    #[must_use]
    pub fn task(&self) -> Option<TaskId> {
        self.task
    }

    /// Effects that have not been answered.
    pub fn pending(&self) -> impl Iterator<Item = EffectId> + '_ {
        self.pending.keys().copied()
    }

    /// Whether this effect has not been answered.
    #[must_use]
    pub fn is_pending(&self, effect: EffectId) -> bool {
        self.pending.contains_key(&effect)
    }

    /// The timers that run, and when each runs out.
    pub fn timers(&self) -> impl Iterator<Item = (EffectId, Timestamp)> + '_ {
        self.pending.iter().filter_map(|(id, pending)| match pending {
            Pending::ModelBackoff { at, .. }
            | Pending::Backoff { at, .. }
            | Pending::Expiry { at, .. }
            | Pending::Wait { at, .. }
            | Pending::Deadline { at } => Some((*id, *at)),
            Pending::Model { .. }
            | Pending::Mandate { .. }
            | Pending::Tool { .. }
            | Pending::Sub { .. }
            | Pending::Signal { .. }
            | Pending::Human { .. } => None,
        })
    }

    /// What a run that has not ended waits for: people first, then signals, tasks and times.
    #[must_use]
    pub fn awaited(&self, program: &Program) -> Option<Awaited> {
        let pending = || self.pending.values();
        if pending().any(|pending| matches!(pending, Pending::Human { .. })) {
            return Some(Awaited::Person);
        }
        let signal = pending().find_map(|pending| match pending {
            Pending::Signal { node } => program.node(*node)?.signal.clone(),
            _ => None,
        });
        if let Some(name) = signal {
            return Some(Awaited::Signal(name));
        }
        if pending().any(|pending| matches!(pending, Pending::Sub { .. })) {
            return Some(Awaited::SubTask);
        }
        self.timers().map(|(_, at)| at).min().map(Awaited::Until)
    }

    /// Whether a node waits for a time or a signal, and not only an attempt for its turn.
    #[must_use]
    pub fn waits_outside(&self) -> bool {
        self.pending.values().any(|pending| matches!(pending, Pending::Wait { .. } | Pending::Signal { .. }))
    }

    /// Whether it waits for a signal.
    #[must_use]
    pub fn awaits_signal(&self) -> bool {
        self.pending.values().any(|pending| matches!(pending, Pending::Signal { .. }))
    }

    /// What is known of a node.
    #[must_use]
    pub fn node(&self, program: &Program, name: &str) -> Option<&NodeRun> {
        self.run(*program.index.get(name)?)
    }

    /// The state's free part (S2 `metadata`).
    #[must_use]
    pub fn metadata(&self) -> &JsonObject {
        &self.metadata
    }

    /// The messages of every session so far, with the agent's node and its agent.
    pub fn messages<'a>(
        &'a self,
        program: &'a Program,
    ) -> impl Iterator<Item = (&'a str, &'a str, &'a Msg)> + 'a {
        self.sessions.iter().flat_map(move |session| {
            let node = program.node(session.node).map_or("", |node| node.name.as_str());
            let agent = program.agent(session.agent).map_or("", |spec| spec.agent.name.as_str());
            session.messages.iter().map(move |message| (node, agent, message))
        })
    }

    pub(crate) fn run(&self, node: ProgramIndex) -> Option<&NodeRun> {
        self.nodes.get(node as usize)
    }

    pub(crate) fn session(&self, session: u32) -> Option<&Session> {
        self.sessions.get(session as usize)
    }

    /// The node on whose behalf an effect is pending; nothing for the deadline of the whole task.
    pub(crate) fn node_of(&self, pending: &Pending) -> Option<ProgramIndex> {
        let session = |session: &u32| self.session(*session).map(|session| session.node);
        let call = |call: &u32| match self.calls.get(call)?.owner {
            Owner::Node(node) | Owner::Item(node, _) => Some(node),
            Owner::Slot(number, _) | Owner::Held(number) => session(&number),
        };
        match pending {
            Pending::Model { session: number, .. }
            | Pending::Mandate { session: number }
            | Pending::ModelBackoff { session: number, .. } => session(number),
            Pending::Tool { call: number }
            | Pending::Sub { call: number }
            | Pending::Backoff { call: number, .. } => call(number),
            Pending::Human { about, .. } => match about {
                DecisionSubject::Node(node) | DecisionSubject::Gate(node) => Some(*node),
                DecisionSubject::Call(number) | DecisionSubject::Unknown(number) => call(number),
                DecisionSubject::Calls(number) => session(number),
            },
            Pending::Expiry { request, .. } => {
                self.pending.get(request).and_then(|asked| self.node_of(asked))
            }
            Pending::Wait { node, .. } | Pending::Signal { node } => Some(*node),
            Pending::Deadline { .. } => None,
        }
    }
}
