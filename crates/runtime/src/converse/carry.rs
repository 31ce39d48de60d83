//! The steps of a turn: each from its target to its result, and the combined outcome. The engine
//! decides their order: [`super::effects`] compiles them to a plan.

use super::call::{Call, GRACE, threads, value_of};
use super::confirm::{Exact, PendingConfirmation};
use super::effects::{TurnEffects, TurnStep};
use super::find::Checked;
use super::memory::Memory;
use super::model_turn::ModelMemory;
use super::request;
use super::{ChatService, ProgressEvent, Turn, Watch};
use crate::ask::{Answer, Ask, Reading, Record};
use crate::error::Result;
use crate::run::execute_plan;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Coded as _, DomainName, IntentKind, Label, ResponseStatus, TaskId};
use steward_journal::redact::Redactor;
use steward_language::answer::{ResultText, Table, reported_error, tell};
use steward_language::skill::{HumanError, Remedy, humanise};
use steward_language::understand::{
    Act, Kind, Noticed, Pending, Question, Reader, SeenRecord, Step, Target, Understood,
};
use steward_language::words::name_words;
use steward_policy::{Caller, RowRules};
use steward_tools::Error;

/// The maximum number of calls of one step.
pub(super) const MOST: usize = 50;

/// The domain of a server that declares none.
const GENERIC: &str = "generic";

/// A turn in progress.
pub(super) struct Work {
    pub(super) chat: ChatService,
    pub(super) reader: Arc<Reader>,
    pub(super) turn: Turn,
    pub(super) memory: Memory,
    /// Records that tools returned before the message was read.
    pub(super) world: Arc<Vec<SeenRecord>>,
    /// The calls that returned them.
    pub(super) looked: Vec<Arc<Call>>,
    /// Configured servers that did not start.
    pub(super) absent: Vec<String>,
    pub(super) data: Vec<String>,
    /// All steps of this turn.
    pub(super) steps: Vec<Step>,
    pub(super) task: TaskId,
    /// The start time, on the monotonic clock.
    pub(super) began: Duration,
}

/// The outcome of a step.
pub(super) enum StepOutcome {
    /// It succeeded.
    Done,
    /// The target does not exist; the text names it.
    NotFound(String),
    /// A question must be answered first.
    Ask(Question),
    /// Exactly these calls need a decision first.
    Confirm(Vec<Exact>),
    /// It failed.
    Failed { humane: HumanError, code: &'static str, raw: String },
    /// A step that it depends on did not succeed.
    Skipped(usize),
    /// It timed out.
    Late,
}

/// A finished step with its results.
pub(super) struct Ended {
    pub(super) step: Step,
    pub(super) came: StepOutcome,
    pub(super) calls: Vec<Call>,
    pub(super) checks: Vec<Checked>,
    /// The records that it acted on.
    pub(super) targets: Vec<Noticed>,
    /// The records in its results.
    pub(super) noticed: Vec<Noticed>,
    pub(super) told: Vec<ResultText>,
    /// The lists in its results, each row with its record.
    pub(super) lists: Vec<Vec<Option<Noticed>>>,
    pub(super) analysis: Option<Box<Answer>>,
    pub(super) took: Duration,
}

/// The results of a step for dependent steps.
pub(super) struct Found {
    pub(super) noticed: Vec<Noticed>,
    /// The names in its rows, for records without ids.
    named: Vec<String>,
}

impl Found {
    pub(super) fn of(ended: &Ended) -> Self {
        let tables = ended.told.iter().filter_map(|told| told.table.as_ref());
        // Ordinals refer to shown rows; records nested in a row are no rows.
        let rows: Vec<Noticed> = ended.lists.iter().flatten().flatten().cloned().collect();
        let noticed = if rows.is_empty() { ended.noticed.clone() } else { rows };
        Self { noticed, named: tables.flat_map(Table::names).collect() }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.noticed.iter().filter_map(|noticed| noticed.name.as_deref());
        own.chain(self.named.iter().map(String::as_str).filter(|_| self.noticed.is_empty()))
    }
}

/// The outcome of a turn.
#[derive(Default)]
pub(super) struct Done {
    pub(super) ended: Vec<Ended>,
    /// The clarifying question, with the steps that are still to be done.
    pub(super) question: Option<Pending>,
    /// The calls that wait for confirmation.
    pub(super) confirming: Option<PendingConfirmation>,
    /// Whether the user declined.
    pub(super) declined: bool,
    /// Calls that another user must approve.
    pub(super) waiting: Vec<TaskId>,
    pub(super) reading: Option<Reading>,
    /// The data that it is a reading of.
    pub(super) reading_data: Vec<String>,
    pub(super) threads: BTreeMap<String, String>,
    /// The state of the model's run for the next turn.
    pub(super) model: Box<ModelMemory>,
}

impl Done {
    pub(super) fn declined() -> Self {
        Self { declined: true, ..Self::default() }
    }
}

impl Work {
    /// The remaining time of the turn.
    pub(super) fn left(&self) -> Duration {
        let spent = self.chat.app().clock.monotonic().saturating_sub(self.began);
        self.chat.limits.answer.saturating_sub(spent)
    }

    /// Runs all steps as a plan of the engine: each starts when its dependencies are met.
    pub(super) async fn carry(
        self: &Arc<Self>,
        steps: Vec<TurnStep>,
        record: &mut Record,
        watch: Watch<'_>,
    ) -> Result<Done> {
        watch(ProgressEvent::Understood { steps: steps.iter().map(|one| what(one.step())).collect() });
        if steps.is_empty() {
            return Ok(Done::default());
        }
        let effects = TurnEffects::new(self, steps);
        let program = Arc::new(effects.program()?);
        let input = json!({ "said": Redactor::shared().redact_secrets(&self.turn.said) });
        execute_plan(&effects, &mut record.log, program, input, watch).await?;
        let mut came = effects.take_ended();
        let mut done = Done::default();
        for (place, one) in effects.steps().iter().enumerate() {
            match (came.remove(&place), one) {
                (Some(ended), _) => done.ended.push(ended),
                // After a failed confirmed call, the remaining calls and steps are dropped.
                (None, _) if matches!(effects.steps().first(), Some(TurnStep::Agreed(..))) => {}
                (None, one) => done.ended.push(self.skipped(one.step(), &done.ended)),
            }
        }
        done.threads = threads(&done.ended);
        let read =
            done.ended.iter().find_map(|ended| Some((ended.analysis.as_ref()?.reading.clone()?, ended)));
        if let Some((reading, ended)) = read {
            done.reading_data = self.sources(ended.step.domain.as_ref()).0;
            done.reading = Some(reading);
        }
        done.question = self.first_question(&done.ended);
        Ok(done)
    }

    /// A step that was not started: a dependency did not succeed, or not in time.
    fn skipped(&self, step: &Step, before: &[Ended]) -> Ended {
        let outcome = |place: &usize| before.get(*place).map(|ended| &ended.came);
        let broken =
            step.after.iter().find(|place| !matches!(outcome(place), Some(StepOutcome::Done))).copied();
        match broken.and_then(|place| outcome(&place)) {
            Some(StepOutcome::Late) | None => {
                Ended { took: self.chat.limits.answer, ..bare(step, StepOutcome::Late) }
            }
            Some(_) => bare(step, StepOutcome::Skipped(broken.unwrap_or_default())),
        }
    }

    /// The first clarifying question, with the steps for after its answer: its own step, and those
    /// that depend on that step alone.
    fn first_question(&self, ended: &[Ended]) -> Option<Pending> {
        let (place, question) = ended.iter().enumerate().find_map(|(place, ended)| match &ended.came {
            StepOutcome::Ask(question) => Some((place, question)),
            _ => None,
        })?;
        let first = Step { after: Vec::new(), ..ended.get(place)?.step.clone() };
        let builds =
            |ended: &&Ended| matches!(ended.came, StepOutcome::Skipped(_)) && ended.step.after == [place];
        let next = ended.iter().filter(builds).map(|ended| {
            let mut step = Step { after: vec![0], ..ended.step.clone() };
            if let Some(Target::OfStep { step: of, .. }) = &mut step.target {
                *of = 0;
            }
            step
        });
        let understood = Understood {
            intent: first.intent,
            confidence: first.confidence,
            domains: first.domain.iter().map(|domain| (domain.clone(), first.confidence)).collect(),
            steps: std::iter::once(first).chain(next).collect(),
            ..Understood::plain(Kind::Act, "the step that the question is about")
        };
        Some(Pending { understood, question: Question { step: 0, ..question.clone() } })
    }

    /// Runs one step from its target to its result.
    pub(super) async fn one(&self, step: &Step, given: &BTreeMap<usize, Found>) -> Ended {
        let began = self.chat.app().clock.monotonic();
        let mut ended = self.try_one(step, given).await;
        // If it fails, alternative read-only steps in other domains are tried.
        for other in step.otherwise.iter().filter(|other| other.read_only && step.read_only) {
            if !matches!(ended.came, StepOutcome::Failed { .. } | StepOutcome::NotFound(_)) {
                break;
            }
            let next = self.try_one(other, given).await;
            if matches!(next.came, StepOutcome::Done) {
                let calls = std::mem::take(&mut ended.calls);
                ended = next;
                ended.calls.splice(0..0, calls);
            }
        }
        ended.took = self.chat.app().clock.monotonic().saturating_sub(began);
        ended
    }

    async fn try_one(&self, step: &Step, given: &BTreeMap<usize, Found>) -> Ended {
        match &step.act {
            Act::Ask => self.analyse(step).await,
            Act::Call { tool } => self.act(step, tool, given).await,
        }
    }

    async fn act(&self, step: &Step, tool: &str, given: &BTreeMap<usize, Found>) -> Ended {
        let mut ended = bare(step, StepOutcome::Done);
        for need in &step.also {
            if let Some(came) = self.settle(&step.about(need), given, &mut ended).await.err() {
                // The answer to this question fills the field itself.
                ended.came = match came {
                    StepOutcome::Ask(question) => {
                        StepOutcome::Ask(Question { field: Some(need.field.clone()), ..question })
                    }
                    other => other,
                };
                return ended;
            }
        }
        match self.settle(step, given, &mut ended).await {
            Ok(found) => ended.targets = found,
            Err(came) => {
                ended.came = came;
                return ended;
            }
        }
        // "Delete Reed" may mean a contact or a deal: the found record decides the tool.
        let step = &self.reader.fit(step, &ended.targets);
        ended.step.clone_from(step);
        let tool = step.tool().unwrap_or(tool);
        // A record known from the conversation is in the step already; one that was just returned
        // keeps its id.
        let spoken_of = matches!(&step.target, Some(Target::Known { things }) if things.iter().any(|thing| self.shown(thing).is_none()));
        let found: &[Noticed] = if spoken_of { &[] } else { &ended.targets };
        let mut calls = self.reader.calls(step, found);
        if calls.len() > MOST {
            ended.came = too_many(calls.len(), step);
            return ended;
        }
        for arguments in &mut calls {
            self.complete_arguments(tool, step, given, arguments);
        }
        let requested = step.read_only || self.turn.choice.is_some() || request::is_plain(&self.turn.said);
        if step.destructive || !requested || self.is_guessed(step, tool) {
            ended.came = StepOutcome::Confirm(self.exact(step, tool, calls, &ended.targets));
            return ended;
        }
        let mut calls = calls.into_iter();
        while let Some(arguments) = calls.next() {
            let call = self.call(tool, arguments, Some((step, ended.targets.as_slice())), None).await;
            ended.came = match self.learn(step, call, &mut ended) {
                StepOutcome::Done => continue,
                // One decision covers this call and all that follow.
                StepOutcome::Confirm(mut exact) => {
                    exact.extend(self.exact(step, tool, calls.by_ref().collect(), &ended.targets));
                    StepOutcome::Confirm(exact)
                }
                other => other,
            };
            break;
        }
        ended
    }

    /// Whether the choice of a tool with side effects is only a guess: no domain claims it, the
    /// user did not name its server, no mentioned record comes from it, and other servers could be
    /// meant.
    fn is_guessed(&self, step: &Step, tool: &str) -> bool {
        let Some(registered) = self.registered(tool).filter(|_| !step.read_only) else { return false };
        let definition = &registered.definition;
        let Some(server) = &definition.server else { return false };
        let snapshot = self.chat.toolbox.registry().snapshot();
        let claimed = definition.application_domain.as_str() != GENERIC
            || snapshot.domains.values().any(|field| field.tools.contains(&definition.tool_name));
        let others = snapshot.tools.keys().any(|name| {
            let other = snapshot.get(name, None).and_then(|other| other.definition.server.as_ref());
            other.is_some_and(|other| other != server)
        });
        let said = name_words(&self.turn.said);
        let named = name_words(server.as_str()).iter().all(|word| said.contains(word));
        let known = match &step.target {
            Some(Target::Known { things }) => {
                things.iter().all(|thing| self.memory.is_from(server.as_str(), &thing.entity_type, &thing.id))
            }
            _ => false,
        };
        let servers = snapshot
            .tools
            .keys()
            .filter_map(|name| snapshot.get(name, None).and_then(|other| other.definition.server.as_ref()));
        // "mail: get the page": the user named another server.
        let elsewhere = !named
            && servers.into_iter().any(|other| {
                other != server
                    && self.turn.said.to_lowercase().starts_with(&format!("{other}:").to_lowercase())
            });
        elsewhere || !claimed && others && !named && !known
    }

    /// Adds the result of a call to the step.
    pub(super) fn learn(&self, step: &Step, mut call: Call, ended: &mut Ended) -> StepOutcome {
        // An error that was sent as content is an error all the same.
        let reported =
            call.result.as_ref().ok().and_then(|receipt| {
                reported_error(receipt.output.structured.as_ref(), &receipt.output.words())
            });
        if let Some(message) = reported {
            call.result = Err(Error::Failed { tool: call.tool.clone(), message, transient: false });
        }
        let came = match &call.result {
            Ok(receipt) => {
                let value = value_of(&receipt.output);
                let noticed = self.reader.notice(&call.tool, &call.arguments, &value);
                let told = tell(step.intent, receipt.output.structured.as_ref(), &receipt.output.words());
                ended.lists.extend(self.listed(step, &told, &noticed));
                ended.noticed.extend(noticed);
                ended.told.push(told);
                StepOutcome::Done
            }
            Err(Error::ApprovalNeeded(needed)) => {
                let exact = Exact::new(&call, needed, step, &ended.targets);
                StepOutcome::Confirm(vec![exact])
            }
            Err(error) => failed(error, step),
        };
        ended.calls.push(call);
        came
    }

    /// The list of a result. A step that asks for a list always gives one, even if it is empty, has
    /// one row, or is only text: then ordinals do not refer to an older list.
    fn listed(&self, step: &Step, told: &ResultText, noticed: &[Noticed]) -> Option<Vec<Option<Noticed>>> {
        let lists = matches!(step.intent, Some(IntentKind::List | IntentKind::Search));
        match &told.table {
            Some(table) if lists || table.rows.len() > 1 => Some(self.reader.rows(table, noticed)),
            None if lists && step.read_only => Some(Vec::new()),
            _ => None,
        }
    }

    /// Answers a step of a data domain by analysis.
    async fn analyse(&self, step: &Step) -> Ended {
        let mut ended = bare(step, StepOutcome::Done);
        let (data, (tables, rows)) = self.sources(step.domain.as_ref());
        let rules = self.chat.toolbox.rules();
        let ask = Ask {
            question: step.said.clone(),
            data,
            conversation: None,
            user: self.turn.caller.user.clone(),
            deliver: Vec::new(),
            out: None,
            planner: None,
            tables,
            rows,
            policy: rules.policy.clone(),
            constraints: rules.constraints,
        };
        // A reading refers to tables by their position: it says nothing about other data.
        let earlier = self.memory.reading.clone().filter(|_| self.memory.is_reading_of(&ask.data));
        let answered = self.chat.app().answer_within(&ask, earlier, self.memory.id, self.task);
        match tokio::time::timeout(self.left().saturating_sub(GRACE), answered).await {
            Ok(Ok(answer)) if answer.response.status == ResponseStatus::Failed => {
                ended.came = unanswered(&answer);
            }
            Ok(Ok(answer)) => {
                let rows = answer.tables.first().map_or(0, |table| table.frame.rows.len());
                ended.lists.extend((rows > 1).then(|| vec![None; rows]));
                ended.analysis = Some(Box::new(answer));
            }
            Ok(Err(error)) => {
                let humane = humanise(&error.to_string(), Some(&what(step)));
                ended.came = StepOutcome::Failed { humane, code: error.code(), raw: error.to_string() };
            }
            Err(_) => ended.came = StepOutcome::Late,
        }
        ended
    }

    /// The data of a domain with the granted tables.
    fn sources(&self, domain: Option<&DomainName>) -> (Vec<String>, TableGrants) {
        self.chat.sources(&self.turn.caller, domain, &self.data)
    }
}

impl ChatService {
    /// The data of a domain with the granted tables; the user's own data is not restricted.
    pub(super) fn sources(
        &self,
        caller: &Caller,
        domain: Option<&DomainName>,
        own: &[String],
    ) -> (Vec<String>, TableGrants) {
        let snapshot = self.toolbox.registry().snapshot();
        let named = domain
            .filter(|domain| caller.asks(domain.as_str()))
            .and_then(|domain| snapshot.domains.get(domain))
            .map(|field| field.domain.data_sources.iter().map(Label::to_string).collect::<Vec<_>>());
        match named.filter(|sources| !sources.is_empty()) {
            Some(sources) => (sources, (caller.tables.clone(), caller.rows.clone())),
            None => (own.to_vec(), TableGrants::default()),
        }
    }
}

/// The granted tables, each with its columns, and their row rules.
pub(super) type TableGrants = (BTreeMap<String, BTreeSet<String>>, RowRules);

pub(super) fn bare(step: &Step, came: StepOutcome) -> Ended {
    Ended {
        step: step.clone(),
        came,
        calls: Vec::new(),
        checks: Vec::new(),
        targets: Vec::new(),
        noticed: Vec::new(),
        told: Vec::new(),
        lists: Vec::new(),
        analysis: None,
        took: Duration::ZERO,
    }
}

pub(super) fn failed(error: &Error, step: &Step) -> StepOutcome {
    let raw = match error {
        // The server's own message is more specific.
        Error::Failed { message, .. } => message.clone(),
        other => other.to_string(),
    };
    StepOutcome::Failed {
        humane: humanise(&raw, Some(&what(step))),
        code: error.code(),
        raw: error.to_string(),
    }
}

/// The outcome of an analysis without an answer, with its own message. Data without an answer is
/// not a failure.
fn unanswered(answer: &Answer) -> StepOutcome {
    match answer.error_code {
        None | Some("ASK001") => StepOutcome::NotFound(answer.answer.clone()),
        Some(code) => {
            let raw = answer.response.error.clone().unwrap_or_else(|| answer.answer.clone());
            let humane =
                HumanError { message: answer.answer.clone(), next: String::new(), ..humanise(&raw, None) };
            StepOutcome::Failed { humane, code, raw }
        }
    }
}

/// The failure of a step with too many calls.
fn too_many(count: usize, step: &Step) -> StepOutcome {
    let error = crate::Error::TooMany { count, most: MOST };
    let humane = HumanError {
        message: format!(
            "To {} would take {count} calls, and at most {MOST} are made for one wish.",
            what(step)
        ),
        next: "Name fewer at once.".to_owned(),
        remedy: Remedy::UserFixable,
        ..humanise("too many", None)
    };
    StepOutcome::Failed { humane, code: error.code(), raw: error.to_string() }
}

/// A short description of a step: "delete task", "ask sales".
pub(super) fn what(step: &Step) -> String {
    match &step.act {
        Act::Call { tool } => {
            let bare = name_words(tool.rsplit('.').next().unwrap_or(tool)).join(" ");
            let named = match &step.target {
                Some(Target::Named { words, .. }) => format!(" “{words}”"),
                Some(Target::Id { id, .. }) => format!(" {}", steward_language::answer::plain(id)),
                Some(Target::Known { things }) => match things.as_slice() {
                    [one] => format!(" “{}”", one.name.as_deref().unwrap_or(&one.id)),
                    _ => String::new(),
                },
                _ => String::new(),
            };
            format!("{bare}{named}")
        }
        Act::Ask => format!(
            "ask {}",
            step.domain
                .as_ref()
                .map_or_else(|| "the data".to_owned(), |domain| name_words(domain.as_str()).join(" "))
        ),
    }
}
