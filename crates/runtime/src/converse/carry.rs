//! The steps of a turn: what each of them does, from its target to its result, and what all of them
//! came to. Which is next is the engine's to say: [`super::effects`] makes a plan of them.

use super::call::{Call, GRACE, threads, value_of};
use super::confirm::{Confirming, Exact};
use super::effects::{TurnEffects, TurnStep};
use super::find::Checked;
use super::memory::Memory;
use super::model_turn::ModelMemory;
use super::{ChatService, ProgressEvent, Turn, Watch};
use crate::ask::{Answer, Ask, Reading, Record};
use crate::error::Result;
use crate::run::carry_out_plan;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::{Coded as _, DomainName, IntentKind, Label, ResponseStatus, TaskId};
use steward_journal::redact::Redactor;
use steward_language::answer::{ResultText, Table, tell};
use steward_language::skill::{HumanError, Remedy, humanise};
use steward_language::understand::{
    Act, Kind, Noticed, Pending, Question, Reader, SeenRecord, Step, Target, Understood,
};
use steward_language::words::name_words;
use steward_policy::RowRules;
use steward_tools::Error;

/// The most things that one step is carried out for.
pub(super) const MOST: usize = 50;

/// The domain of a server that names none.
const GENERIC: &str = "generic";

/// A turn that is being carried out.
pub(super) struct Work {
    pub(super) chat: ChatService,
    pub(super) reader: Arc<Reader>,
    pub(super) turn: Turn,
    pub(super) memory: Memory,
    /// What tools have shown to be there before it was read.
    pub(super) world: Arc<Vec<SeenRecord>>,
    /// The calls that have shown it.
    pub(super) looked: Vec<Arc<Call>>,
    /// Servers that are set up and did not come.
    pub(super) absent: Vec<String>,
    pub(super) data: Vec<String>,
    /// Everything that is to be done in this turn.
    pub(super) steps: Vec<Step>,
    pub(super) task: TaskId,
    /// When it began, on the monotonic clock.
    pub(super) began: Duration,
}

/// How a step ended.
pub(super) enum StepOutcome {
    /// As it should.
    Done,
    /// There is no such thing; the sentence says which.
    NotFound(String),
    /// A question must be answered first.
    Ask(Question),
    /// A decision is needed first, over exactly these calls.
    Confirm(Vec<Exact>),
    /// It went wrong.
    Failed { humane: HumanError, code: &'static str, raw: String },
    /// What it builds on did not work.
    Skipped(usize),
    /// The time was up.
    Late,
}

/// A step that ended, with what it gave.
pub(super) struct Ended {
    pub(super) step: Step,
    pub(super) came: StepOutcome,
    pub(super) calls: Vec<Call>,
    pub(super) checks: Vec<Checked>,
    /// What it acted on.
    pub(super) targets: Vec<Noticed>,
    /// What its results speak of.
    pub(super) noticed: Vec<Noticed>,
    pub(super) told: Vec<ResultText>,
    /// The lists that its results show, each row with the record in it.
    pub(super) lists: Vec<Vec<Option<Noticed>>>,
    pub(super) analysis: Option<Box<Answer>>,
    pub(super) took: Duration,
}

/// What a step gives to those that build on it.
pub(super) struct Found {
    pub(super) noticed: Vec<Noticed>,
    /// The names in its rows, when its things have no ids.
    named: Vec<String>,
}

impl Found {
    pub(super) fn of(ended: &Ended) -> Self {
        let tables = ended.told.iter().filter_map(|told| told.table.as_ref());
        // What is counted in is what is shown; records inside of a row are no rows.
        let rows: Vec<Noticed> = ended.lists.iter().flatten().flatten().cloned().collect();
        let noticed = if rows.is_empty() { ended.noticed.clone() } else { rows };
        Self { noticed, named: tables.flat_map(Table::names).collect() }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.noticed.iter().filter_map(|noticed| noticed.name.as_deref());
        own.chain(self.named.iter().map(String::as_str).filter(|_| self.noticed.is_empty()))
    }
}

/// Everything that a turn came to.
#[derive(Default)]
pub(super) struct Done {
    pub(super) ended: Vec<Ended>,
    /// What is asked back, with what of the steps is still to be done.
    pub(super) question: Option<Pending>,
    /// What waits for a yes.
    pub(super) confirming: Option<Confirming>,
    /// The person did not want it.
    pub(super) declined: bool,
    /// Calls that somebody else must approve.
    pub(super) waiting: Vec<TaskId>,
    pub(super) reading: Option<Reading>,
    pub(super) threads: BTreeMap<String, String>,
    /// What the next turn needs to know of the model's run.
    pub(super) model: Box<ModelMemory>,
}

impl Done {
    pub(super) fn declined() -> Self {
        Self { declined: true, ..Self::default() }
    }
}

impl Work {
    /// How long the turn may still take.
    pub(super) fn left(&self) -> Duration {
        let spent = self.chat.app().clock.monotonic().saturating_sub(self.began);
        self.chat.limits.answer.saturating_sub(spent)
    }

    /// All steps, as a plan of the engine: each as soon as what it builds on is there.
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
        carry_out_plan(&effects, &mut record.log, program, input, watch).await?;
        let mut came = effects.take_ended();
        let mut done = Done::default();
        for (place, one) in effects.steps().iter().enumerate() {
            match (came.remove(&place), one) {
                (Some(ended), _) => done.ended.push(ended),
                // What was agreed to behind one that failed, and what was to follow, is not begun.
                (None, _) if matches!(effects.steps().first(), Some(TurnStep::Agreed(..))) => {}
                (None, one) => done.ended.push(self.skipped(one.step(), &done.ended)),
            }
        }
        done.threads = threads(&done.ended);
        done.reading = done.ended.iter().find_map(|ended| ended.analysis.as_ref()?.reading.clone());
        done.question = self.first_question(&done.ended);
        Ok(done)
    }

    /// A step that was not begun: what it builds on did not work, or not in time.
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

    /// The first question that came up, with what is still to be done once it is answered: its
    /// step, and what builds on that alone.
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

    /// One step from its target to its result.
    pub(super) async fn one(&self, step: &Step, given: &BTreeMap<usize, Found>) -> Ended {
        let began = self.chat.app().clock.monotonic();
        let mut ended = self.try_one(step, given).await;
        // The same question to the other domains that answered before, until one of them knows.
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
                // The answer to a question about it is a value of its own field.
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
        // "Delete Reed" deletes a contact or a deal: what was found says which tool it is.
        let step = &self.reader.fit(step, &ended.targets);
        ended.step.clone_from(step);
        let tool = step.tool().unwrap_or(tool);
        // What is known from the conversation is in the step already; what was shown just now keeps
        // the id that it was shown with.
        let spoken_of = matches!(&step.target, Some(Target::Known { things }) if things.iter().any(|thing| self.shown(thing).is_none()));
        let found: &[Noticed] = if spoken_of { &[] } else { &ended.targets };
        let mut calls = self.reader.calls(step, found);
        if calls.len() > MOST {
            ended.came = too_many(calls.len(), step);
            return ended;
        }
        for arguments in &mut calls {
            self.carry_over(tool, step, given, arguments);
        }
        if step.destructive || self.is_guessed(step, tool) {
            ended.came = StepOutcome::Confirm(self.exact(step, tool, calls, &ended.targets));
            return ended;
        }
        let mut calls = calls.into_iter();
        while let Some(arguments) = calls.next() {
            let call = self.call(tool, arguments, Some((step, ended.targets.as_slice())), None).await;
            ended.came = match self.learn(step, call, &mut ended) {
                StepOutcome::Done => continue,
                // One decision for this call and all that were to follow it.
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

    /// Whether a tool that changes something was only guessed: no domain claims it, the person did
    /// not name its server, nothing they speak of came from there, and other servers could have
    /// been meant.
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
        !claimed && others && !named && !known
    }

    /// What a call gave, taken into the step.
    pub(super) fn learn(&self, step: &Step, call: Call, ended: &mut Ended) -> StepOutcome {
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

    /// The list that a result shows. What was asked for as a list is one, also when it is empty,
    /// holds one row, or is told in words only: nothing older is counted in then.
    fn listed(&self, step: &Step, told: &ResultText, noticed: &[Noticed]) -> Option<Vec<Option<Noticed>>> {
        let lists = matches!(step.intent, Some(IntentKind::List | IntentKind::Search));
        match &told.table {
            Some(table) if lists || table.rows.len() > 1 => Some(self.reader.rows(table, noticed)),
            None if lists && step.read_only => Some(Vec::new()),
            _ => None,
        }
    }

    /// A domain of data: the words go to analysis.
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
        let answered =
            self.chat.app().answer_within(&ask, self.memory.reading.clone(), self.memory.id, self.task);
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

    /// The data of a domain with the tables of it that are granted; what somebody brought along is
    /// all theirs.
    fn sources(&self, domain: Option<&DomainName>) -> (Vec<String>, TableGrants) {
        let snapshot = self.chat.toolbox.registry().snapshot();
        let caller = &self.turn.caller;
        let named = domain
            .filter(|domain| caller.asks(domain.as_str()))
            .and_then(|domain| snapshot.domains.get(domain))
            .map(|field| field.domain.data_sources.iter().map(Label::to_string).collect::<Vec<_>>());
        match named.filter(|sources| !sources.is_empty()) {
            Some(sources) => (sources, (caller.tables.clone(), caller.rows.clone())),
            None => (self.data.to_vec(), TableGrants::default()),
        }
    }
}

/// The tables that are granted, each with its columns, and what holds for their rows.
type TableGrants = (BTreeMap<String, BTreeSet<String>>, RowRules);

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
        // The server's own words say more than ours around them.
        Error::Failed { message, .. } => message.clone(),
        other => other.to_string(),
    };
    StepOutcome::Failed {
        humane: humanise(&raw, Some(&what(step))),
        code: error.code(),
        raw: error.to_string(),
    }
}

/// What analysis could not answer. Its own words say what and why; that the data does not say is no
/// failure of anything.
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

/// More calls than are made for one wish.
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

/// What a step does, in a few words: "delete task", "ask sales".
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
