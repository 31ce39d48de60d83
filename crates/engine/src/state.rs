//! The state of a running task. It holds each message once and nothing that can be derived from the
//! rest.

use crate::program::ProgramIndex;
use crate::{Approval, AskedCall, EarlierMessage, EffectId, Failure, Program, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{
    CallId, JsonObject, Mandate, NodeName, Provenance, Role, Sha256Hex, Taint, TaskId, Timestamp, ToolName,
};

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not started.
    Pending,
    /// A model, a tool or a sub-agent is running.
    Running,
    /// Waits for people, timers or signals only.
    Paused,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// Cancelled by a user.
    Cancelled,
    /// Ended by the rejection of a person.
    Rejected,
}

impl Status {
    /// Whether the task has ended.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Rejected)
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Completed with this result.
    Completed(Value),
    /// Failed for this reason.
    Failed(Failure),
    /// Cancelled by this user.
    Cancelled(String),
    /// Rejected by a person.
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
    /// This time.
    Until(Timestamp),
}

/// Resource usage so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Nodes passed.
    pub nodes: u32,
    /// Model replies.
    pub replies: u32,
    /// Input and output tokens.
    pub tokens: u64,
    /// The cost in millionths of a US dollar.
    pub cost_micros: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One message of an agent's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Msg {
    /// The author.
    pub role: Role,
    /// The text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The calls that the model requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<AskedCall>,
    /// The id of the call that it answers, for the role `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// The estimated number of tokens.
    pub tokens: u32,
    /// The time of the message.
    pub at: Timestamp,
}

/// The status of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// Not reached.
    #[default]
    Idle,
    /// Running.
    Running,
    /// Waits for a person.
    Asking,
    /// Waits for a time or a signal.
    Waiting,
    /// Done.
    Done,
    /// Failed.
    Failed,
    /// Cancelled.
    Cancelled,
    /// Not entered, because a subtask that it depends on failed.
    Skipped,
}

impl NodeStatus {
    /// Whether it has started and not ended.
    pub(crate) fn is_at_work(self) -> bool {
        matches!(self, Self::Running | Self::Asking | Self::Waiting)
    }
}

/// The state of one node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeRun {
    /// The status.
    pub status: NodeStatus,
    /// How often it was entered.
    pub visits: u32,
    /// The last output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// When it was entered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was left last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Whether the output comes from data.
    pub(crate) untrusted: bool,
    pub(crate) thread: u32,
    /// The hash of the output, to detect cycles without progress.
    pub(crate) hash: u64,
    /// Hashes of the states in which it was entered, with their counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) seen: BTreeMap<u64, u32>,
    /// The number of open dependencies, in a plan.
    pub(crate) waits: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) join: Option<JoinRun>,
    /// The results of a repeated step's items so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) items: Vec<Option<Value>>,
    /// The items of a running `map`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) map: Option<MapRun>,
}

/// The items of a running `map` node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MapRun {
    pub(crate) items: Vec<Value>,
    /// Whether the list comes from data.
    pub(crate) untrusted: bool,
    /// The first item that has not started.
    pub(crate) next: u32,
    pub(crate) open: BTreeSet<u32>,
    /// The result of each item, in the order of the list.
    pub(crate) results: Vec<Option<ItemResult>>,
}

/// The result of one item.
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

/// The branches of a running parallel node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JoinRun {
    pub(crate) open: BTreeSet<u32>,
    pub(crate) done: u32,
    pub(crate) failed: u32,
    pub(crate) results: BTreeMap<String, Value>,
    pub(crate) untrusted: bool,
    pub(crate) first_failure: Option<Failure>,
}

/// One path through the graph: the main one, or a branch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Thread {
    /// The parallel node it joins at, and the name of its branch.
    pub(crate) joins: Option<(ProgramIndex, String)>,
    pub(crate) at: ProgramIndex,
    /// The last node with an output.
    pub(crate) last: Option<ProgramIndex>,
}

/// The stage of an agent's session.
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

/// A running agent with its own messages only.
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
    /// Tokens of the shown messages.
    pub(crate) tokens: u32,
    pub(crate) draft: Option<String>,
    /// The user's text, and the taint of everything else in the session.
    pub(crate) taint: Taint,
    /// How many messages after the task belong to the earlier conversation.
    #[serde(default)]
    pub(crate) earlier: u32,
    /// How many messages behind the task were present from the start.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) followed: u32,
    /// Tools that it found and may call, by name.
    #[serde(default)]
    pub(crate) found: BTreeMap<String, ProgramIndex>,
    /// The mandate derived from the user's request, once it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mandate: Option<Mandate>,
    /// Calls that are judged once the mandate is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unjudged: Vec<u32>,
    /// Calls that wait for approval, in the order of the requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<u32>,
    /// The results of the decided calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) told: Vec<String>,
    pub(crate) over: bool,
}

/// One of the calls that a reply requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Slot {
    pub(crate) id: String,
    pub(crate) answer: Option<String>,
}

/// A running call, from its first attempt to its last fallback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) owner: Owner,
    pub(crate) target: Target,
    pub(crate) key: CallId,
    pub(crate) arguments: JsonObject,
    pub(crate) provenance: BTreeMap<String, Provenance>,
    /// The origin of the decision to make the call.
    #[serde(default = "crate::effect::untrusted")]
    pub(crate) origin: Provenance,
    pub(crate) approval: Option<Approval>,
    /// The tool that policy resolved and requires approval for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resolved: Option<ToolName>,
    pub(crate) attempt: u32,
    /// The tool that was requested first.
    pub(crate) primary: ProgramIndex,
    /// How many of its fallbacks were tried.
    pub(crate) fallbacks: u32,
    /// The approval that policy requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) needs: Option<NeededApproval>,
    /// Whether the mandate covers it.
    #[serde(default)]
    pub(crate) mandated: bool,
}

/// The digest that needs approval, and the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NeededApproval {
    pub(crate) digest: Sha256Hex,
    pub(crate) reason: String,
}

/// The owner of a call, which receives its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Owner {
    Node(ProgramIndex),
    /// One item of a repeated step of a static plan.
    Item(ProgramIndex, u32),
    Slot(u32, u32),
    /// A call of this session that waited for approval.
    Held(u32),
}

/// The target of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    Tool(ProgramIndex),
    Agent(ProgramIndex, String, bool),
    /// A workflow, its input, and whether the input may come from data.
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
        /// How often the request was escalated after a timeout.
        #[serde(default)]
        level: u32,
    },
    /// A waiting `timer` node.
    Wait {
        node: ProgramIndex,
        at: Timestamp,
    },
    /// A waiting `signal` node.
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

/// The subject of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionSubject {
    Node(ProgramIndex),
    Gate(ProgramIndex),
    Call(u32),
    Unknown(u32),
    /// All waiting calls of a session.
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
    /// Keys of `metadata` whose values come from data.
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
    /// Earlier messages of the conversation, until the first session takes them.
    #[serde(default)]
    pub(crate) earlier: Vec<EarlierMessage>,
    /// Tools that were found during the run; their indexes follow the program's.
    #[serde(default)]
    pub(crate) found: Vec<ToolSpec>,
    /// The taint that judges the values of a static plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plan_taint: Option<Taint>,
    /// Signals that no node has taken yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) signals: Vec<KeptSignal>,
    /// The keys of all accepted signals.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) signal_keys: BTreeSet<String>,
}

impl State {
    /// The request for a decision that an event ends because its time is over, with the digest of
    /// what was shown.
    #[must_use]
    pub fn expired_request(&self, event: &crate::Event) -> Option<(EffectId, &Sha256Hex)> {
        let crate::Event::TimerFired { timer, .. } = event else { return None };
        let Some(Pending::Expiry { request, .. }) = self.pending.get(timer) else { return None };
        match self.pending.get(request)? {
            Pending::Human { digest, .. } => Some((*request, digest)),
            _ => None,
        }
    }

    /// The state before the first event.
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

    /// A tool of the program, or one that was found during the run.
    pub(crate) fn tool<'a>(&'a self, program: &'a Program, place: ProgramIndex) -> Option<&'a ToolSpec> {
        let found = || self.found.get((place as usize).checked_sub(program.tools.len())?);
        program.tool(place).or_else(found)
    }

    /// The index of a found tool; a tool of the program keeps its index.
    pub(crate) fn index_of_found_tool(&mut self, program: &Program, tool: &ToolSpec) -> Option<ProgramIndex> {
        let known = program.tools.iter().chain(&self.found).position(|known| known.name == tool.name);
        let place = known.unwrap_or(program.tools.len() + self.found.len());
        if known.is_none() {
            self.found.push(tool.clone());
        }
        ProgramIndex::try_from(place).ok()
    }

    /// The status of the task.
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

    /// Resource usage so far.
    #[must_use]
    pub fn used(&self) -> Used {
        self.used
    }

    /// The id of the task.
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

    /// The running timers, and when each expires.
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

    /// What a running task waits for, in this order: people, signals, sub-tasks, times.
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

    /// Whether a node waits for a time or a signal; a retry backoff does not count.
    #[must_use]
    pub fn has_external_wait(&self) -> bool {
        self.pending.values().any(|pending| matches!(pending, Pending::Wait { .. } | Pending::Signal { .. }))
    }

    /// Whether it waits for a signal.
    #[must_use]
    pub fn awaits_signal(&self) -> bool {
        self.pending.values().any(|pending| matches!(pending, Pending::Signal { .. }))
    }

    /// The state of a node.
    #[must_use]
    pub fn node(&self, program: &Program, name: &str) -> Option<&NodeRun> {
        self.run(*program.index.get(name)?)
    }

    /// The free-form part of the state (`metadata`).
    #[must_use]
    pub fn metadata(&self) -> &JsonObject {
        &self.metadata
    }

    /// The messages of every session so far, with the node and the name of its agent.
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

    /// The node on whose behalf an effect is pending; `None` for the deadline of the whole task.
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
