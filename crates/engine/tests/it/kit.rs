//! A app with agents and tools, and a run that answers effects one by one.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use steward_domain::*;
use steward_engine::*;
use steward_engine::{EarlierMessage, Question, State};

pub(crate) const TASK: &str = "550e8400-e29b-41d4-a716-446655440000";

#[derive(Default, Clone)]
pub(crate) struct Definitions {
    pub(crate) workflows: BTreeMap<AgentName, Workflow>,
    pub(crate) agents: BTreeMap<AgentName, Agent>,
    pub(crate) tools: BTreeMap<ToolName, ToolSpec>,
}

impl Lookup for Definitions {
    fn agent(&self, name: &AgentName) -> Option<Agent> {
        self.agents.get(name).cloned()
    }
    fn tool(&self, name: &ToolName) -> Option<ToolSpec> {
        self.tools.get(name).cloned()
    }
    fn workflow(&self, name: &AgentName) -> Option<Workflow> {
        self.workflows.get(name).cloned()
    }
}

impl Definitions {
    /// `search` and `clock` read, `store` is keyed, `pay` counts every time, `slow` falls back to
    /// `search`.
    pub(crate) fn new() -> Self {
        let mut app = Self::default();
        for (name, safety, fallbacks) in [
            ("search", Idempotency::ReadOnly, &[][..]),
            ("clock", Idempotency::ReadOnly, &[]),
            ("store", Idempotency::Keyed, &[]),
            ("pay", Idempotency::None, &[]),
            ("slow", Idempotency::ReadOnly, &["search"]),
        ] {
            let name = ToolName::new(name).unwrap();
            let fallback_tools = fallbacks.iter().map(|name| ToolName::new(*name).unwrap()).collect();
            let spec = ToolSpec {
                name: name.clone(),
                server: None,
                safety,
                timeout_seconds: 300,
                fallback_tools,
                trusted_fields: Vec::new(),
            };
            app.tools.insert(name, spec);
        }
        app.with_agent(json!({ "name": "worker", "tools": ["search", "store", "pay", "slow"] }))
    }

    pub(crate) fn with_agent(mut self, mut agent: Value) -> Self {
        for (key, value) in [
            ("role", json!("Works")),
            ("system_prompt", json!("Work.")),
            ("tools", json!([])),
            ("llm_config", json!({ "model": "stub" })),
        ] {
            if agent.get(key).is_none() {
                agent[key] = value;
            }
        }
        let agent: Agent = serde_json::from_value(agent).unwrap();
        self.agents.insert(agent.name.clone(), agent);
        self
    }

    /// A workflow that others may start.
    pub(crate) fn with_workflow(mut self, workflow: Value) -> Self {
        let workflow: Workflow = serde_json::from_value(workflow).unwrap();
        self.workflows.insert(workflow.name.clone(), workflow);
        self
    }

    pub(crate) fn agent_program(&self, name: &str, settings: Settings) -> Program {
        let agent = self.agents[&AgentName::new(name).unwrap()].clone();
        Program::compile(Root::Agent(agent), settings, self).unwrap()
    }

    pub(crate) fn workflow(&self, mut workflow: Value) -> Result<Program, Problems> {
        for (key, value) in [("name", json!("flow")), ("patterns", json!(["react"]))] {
            if workflow.get(key).is_none() {
                workflow[key] = value;
            }
        }
        let workflow: Workflow = serde_json::from_value(workflow).unwrap();
        Program::compile(Root::Workflow(workflow), Settings::default(), self)
    }

    pub(crate) fn plan(&self, subtasks: Value) -> Result<Program, Problems> {
        let plan: Plan = serde_json::from_value(json!({
            "plan_id": TASK, "request_id": TASK, "subtasks": subtasks, "total_estimated_seconds": 0.0,
            "created_at": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        Program::compile(Root::Plan(plan), Settings::default(), self)
    }
}

pub(crate) struct Run {
    pub(crate) program: Program,
    pub(crate) state: State,
    pub(crate) events: Vec<Event>,
    /// Effects that wait for their answer, oldest first.
    pub(crate) open: Vec<Effect>,
    /// Everything that was ever to be done.
    pub(crate) all: Vec<Effect>,
    pub(crate) micros: i64,
}

impl Run {
    pub(crate) fn start(program: Program, input: Value) -> Self {
        Self::start_after(program, input, Vec::new())
    }

    /// The same after something was said.
    pub(crate) fn start_after(program: Program, input: Value, earlier: Vec<EarlierMessage>) -> Self {
        let state = State::new(&program);
        let mut run =
            Self { program, state, events: vec![], open: vec![], all: vec![], micros: 1_767_225_600_000_000 };
        let task = TASK.parse().unwrap();
        let at = run.now();
        run.send(Event::Started { task, input, depth: 0, untrusted: false, earlier, at }).unwrap();
        run
    }

    pub(crate) fn now(&mut self) -> Timestamp {
        self.micros += 1_000;
        Timestamp::from_micros(self.micros)
    }

    pub(crate) fn send(&mut self, event: Event) -> Result<Vec<Effect>, Rejected> {
        let before = self.state.clone();
        let result = self.state.apply(&self.program, &event);
        self.events.push(event.clone());
        match &result {
            Err(_) => assert_eq!(self.state, before, "a rejected event changes nothing"),
            Ok(effects) => {
                self.open.retain(|open| open.id() != event.effect());
                for effect in effects {
                    match effect {
                        Effect::Cancel { id } => self.open.retain(|open| open.id() != Some(*id)),
                        other if other.id().is_some() => {
                            self.open.retain(|open| open.id() != other.id());
                            self.open.push(other.clone());
                        }
                        _ => {}
                    }
                }
                self.all.extend(effects.iter().cloned());
            }
        }
        result
    }

    fn first(&self, what: &str, fits: impl Fn(&Effect) -> bool) -> EffectId {
        let found = self.open.iter().find(|effect| fits(effect)).and_then(Effect::id);
        found.unwrap_or_else(|| panic!("no {what} among {:#?}", self.open))
    }

    pub(crate) fn model(&self) -> EffectId {
        self.first("model", |effect| matches!(effect, Effect::CallModel { .. }))
    }

    pub(crate) fn tool(&self, name: &str) -> EffectId {
        self.first(name, |effect| matches!(effect, Effect::CallTool { tool, .. } if tool.as_str() == name))
    }

    pub(crate) fn timer(&self) -> (EffectId, Timestamp) {
        let mut timers = self.open.iter().filter_map(|effect| match effect {
            Effect::StartTimer { id, at } => Some((*id, *at)),
            _ => None,
        });
        timers.next().expect("a timer")
    }

    pub(crate) fn question(&self) -> (EffectId, Sha256Hex, Question) {
        let mut asked = self.open.iter().filter_map(|effect| match effect {
            Effect::AskHuman { id, digest, question, .. } => Some((*id, digest.clone(), question.clone())),
            _ => None,
        });
        asked.next().expect("a question")
    }

    pub(crate) fn reply(&mut self, reply: Reply) {
        let (effect, at) = (self.model(), self.now());
        self.send(Event::ModelReplied { effect, reply, at }).unwrap();
    }

    pub(crate) fn says(&mut self, text: &str) {
        self.reply(Reply { text: text.into(), ..Reply::default() });
    }

    pub(crate) fn calls(&mut self, calls: &[(&str, Value)]) {
        let asked = |(place, (tool, arguments)): (usize, &(&str, Value))| AskedCall {
            id: format!("c{place}"),
            tool: (*tool).into(),
            arguments: arguments.clone(),
        };
        let tool_calls = calls.iter().enumerate().map(asked).collect();
        self.reply(Reply { tool_calls, ..Reply::default() });
    }

    pub(crate) fn tool_ends(&mut self, name: &str, outcome: ToolOutcome) {
        let (effect, at) = (self.tool(name), self.now());
        self.send(Event::ToolEnded { effect, outcome, at }).unwrap();
    }

    pub(crate) fn tool_gives(&mut self, name: &str, output: Value) {
        self.tool_ends(name, ToolOutcome::Success { output, artifact: None });
    }

    /// The tasks of sub-workflows that were started and have not ended, with what they were given.
    pub(crate) fn children(&self) -> Vec<(EffectId, TaskId, Value)> {
        let child = |effect: &Effect| match effect {
            Effect::StartWorkflow { id, task_id, input, .. } => Some((*id, *task_id, input.clone())),
            _ => None,
        };
        self.open.iter().filter_map(child).collect()
    }

    pub(crate) fn child_ends(&mut self, effect: EffectId, output: Result<Value, &str>) {
        let at = self.now();
        let (summary, output) = match output {
            Ok(value) => (Ok(value.to_string()), Some(value)),
            Err(why) => (Err(why.to_owned()), None),
        };
        let usage = Usage::default();
        self.send(Event::SubEnded { effect, summary, output, usage, at }).unwrap();
    }

    pub(crate) fn signal(&mut self, name: &str, data: Value, key: &str) -> Result<Vec<Effect>, Rejected> {
        let at = self.now();
        let (name, key, by) = (NodeName::new(name).unwrap(), key.to_owned(), "shop".to_owned());
        self.send(Event::Signalled { name, data, key, by, at })
    }

    /// Lets the first timer run out.
    pub(crate) fn wait(&mut self) {
        let (timer, at) = self.timer();
        self.micros = self.micros.max(at.micros());
        self.send(Event::TimerFired { timer, at }).unwrap();
    }

    pub(crate) fn decide(
        &mut self,
        action: HumanAction,
        state_updates: Value,
    ) -> Result<Vec<Effect>, Rejected> {
        let (_, digest, _) = self.question();
        self.decide_on(digest, action, state_updates)
    }

    pub(crate) fn decide_on(
        &mut self,
        digest: Sha256Hex,
        action: HumanAction,
        updates: Value,
    ) -> Result<Vec<Effect>, Rejected> {
        let (request, _, _) = self.question();
        let Value::Object(state_updates) = updates else { panic!("updates are an object") };
        let at = self.now();
        let (by, from) = ("ada".into(), "cli".into());
        self.send(Event::HumanDecided {
            request,
            action,
            message: String::new(),
            state_updates,
            by,
            from,
            digest,
            at,
        })
    }

    pub(crate) fn tools_open(&self) -> Vec<&str> {
        let name = |effect: &Effect| matches!(effect, Effect::CallTool { .. });
        let open = self.open.iter().filter(|effect| name(effect));
        open.map(|effect| if let Effect::CallTool { tool, .. } = effect { tool.as_str() } else { "" })
            .collect()
    }

    #[track_caller]
    pub(crate) fn completed(&self) -> Value {
        self.check();
        match self.state.ended() {
            Some(Ended::Completed(value)) => value.clone(),
            other => panic!("{other:?}, open {:#?}", self.open),
        }
    }

    #[track_caller]
    pub(crate) fn failed(&self) -> Failure {
        self.check();
        match self.state.ended() {
            Some(Ended::Failed(failure) | Ended::Rejected(failure)) => failure.clone(),
            other => panic!("{other:?}, open {:#?}", self.open),
        }
    }

    /// What holds for every run: refolding gives the state, and an ended task awaits nothing.
    pub(crate) fn check(&self) {
        assert_eq!(fold(&self.program, &self.events), self.state);
        if self.state.status().is_final() {
            assert!(self.open.is_empty() && self.state.pending().next().is_none(), "{:#?}", self.open);
        }
    }
}

pub(crate) fn failed(class: Class) -> ToolOutcome {
    ToolOutcome::Failed { class, message: "broken".into(), sent: true }
}
