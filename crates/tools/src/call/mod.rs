//! The one door through which every call goes: resolve, check the arguments, ask policy, take a
//! place under the limit, write down, call with a deadline, check the result, put aside what is too
//! large, write down again.
//!
//! Invariants
//! - Nothing that changes anything is called before it is written down; what cannot be written down
//!   is not called. A read is made at once. One that is quick is written down with its receipt, one
//!   that takes its time beside it; its answer is handed over when both are on disk.
//! - A call is made again only where that is safe: the tool changes nothing, knows the key, or
//!   certainly was not reached. Otherwise the outcome is unknown, and says so.
//! - Every wait here ends with the caller's time or the caller's patience.

mod attempt;
mod ledger;
mod limit;
mod poll;
mod repeat;
mod schema;
mod size;
mod traced;

pub use ledger::{ArtifactSink, Ending, Intent, Ledger, Refused};
pub use schema::misfits;

use crate::error::{ApprovalRequest, Error, Result};
use crate::registry::{Registry, Resolved};
use crate::tool::{Context, Output, Registered};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;
use steward_domain::Coded as _;
use steward_domain::InvocationId;
use steward_domain::{
    CallId, ChainId, ErrorClass, JsonObject, Outcome, SemanticVersion, ServerName, ToolName, ToolOrigin,
};
use steward_journal::clock::Clock;
use steward_journal::random::Random;
use steward_policy::{AdmittedCall, Approval, Caller, Decision, Proposal, Provenance, Rules};
use tracing::Instrument as _;

/// What calls are made with.
pub struct ToolGateway {
    registry: Registry,
    ledger: Arc<dyn Ledger>,
    artifacts: Arc<dyn ArtifactSink>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    limits: limit::Limits,
    schemas: schema::Schemas,
    repeats: repeat::Repeats,
}

/// What somebody wants called.
#[derive(Clone)]
pub struct Request {
    /// Who asks.
    pub caller: Caller,
    /// The chain it is written to: the task's, the session's, or one of its own.
    pub chain: Option<ChainId>,
    /// The server, when the caller names one.
    pub server: Option<ServerName>,
    /// The tool: `crm.find`, or `find` where only one server has it.
    pub tool: String,
    /// With what.
    pub arguments: JsonObject,
    /// Where each argument came from.
    pub provenance: BTreeMap<String, Provenance>,
    /// Where arguments came from that `provenance` does not name.
    pub default_provenance: Provenance,
    /// What a person agreed to.
    pub approval: Option<Approval>,
    /// The call's id and idempotency key, for whoever keeps it across attempts and restarts. Then
    /// this door makes one attempt and tries no other tool: both are the caller's.
    pub key: Option<CallId>,
    /// Time, cancellation, progress, and whom a tool may ask.
    pub context: Context,
}

impl Request {
    /// A call by a person, with everything else as usual.
    pub fn new(caller: Caller, tool: impl Into<String>, arguments: JsonObject) -> Self {
        Self {
            caller,
            chain: None,
            server: None,
            tool: tool.into(),
            arguments,
            provenance: BTreeMap::new(),
            default_provenance: Provenance::User,
            approval: None,
            key: None,
            context: Context::within(Duration::from_secs(300)),
        }
    }
}

/// What came of a call. The output is untrusted, whoever offers the tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The call that gave the answer.
    pub call: CallId,
    /// The chain it is written to.
    pub chain: ChainId,
    /// The tool that answered, which may be a fallback.
    pub tool: ToolName,
    /// Its version.
    pub version: SemanticVersion,
    /// What was put right on the way: another server, a fallback.
    pub notes: Vec<String>,
    /// What came back.
    pub output: Output,
    /// Calls that were made for it.
    pub attempts: u32,
    /// How long it took in all.
    pub took: Duration,
}

/// The same call with the same answer is made this often, then no more.
const REPEATS: usize = 3;

/// A read that takes longer than this is written down while it is being made. It is what a process
/// that dies may forget of a read whose answer nobody got.
const QUICK: Duration = Duration::from_millis(10);

impl ToolGateway {
    /// A gateway over a registry.
    pub fn new(
        registry: Registry,
        ledger: Arc<dyn Ledger>,
        artifacts: Arc<dyn ArtifactSink>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        let (limits, schemas, repeats) = Default::default();
        Self { registry, ledger, artifacts, clock, random, limits, schemas, repeats }
    }

    /// The registry it calls from.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Calls a tool, and what may stand in for it when it fails.
    pub async fn call(&self, request: &Request) -> Result<Receipt> {
        self.call_with(request, &*self.ledger).await
    }

    /// Calls a tool and writes it down in another ledger, for a caller that has more to write in
    /// the same transaction.
    pub async fn call_with(&self, request: &Request, ledger: &dyn Ledger) -> Result<Receipt> {
        let span = traced::span(request);
        let result = self.through(request, ledger, &span).instrument(span.clone()).await;
        traced::end(&span, &result);
        result
    }

    async fn through(&self, request: &Request, ledger: &dyn Ledger, span: &tracing::Span) -> Result<Receipt> {
        let began = self.clock.monotonic();
        let Resolved { registered, corrected } = self.resolve(request)?;
        let chain = match request.chain {
            Some(chain) => chain,
            None => ChainId::from(steward_domain::TaskId(self.id()?)),
        };
        let mut notes: Vec<String> = corrected.into_iter().collect();
        let mut job =
            Job { gateway: self, request, ledger, chain, began, attempts: 0, key: request.key, span };
        let mut failed = match job.run(&registered).await {
            Ok(done) => return Ok(job.receipt(&registered, done, notes)),
            Err(error) => error,
        };
        for name in &registered.definition.fallback_tools {
            if request.key.is_some() || !stands_aside(&failed) || job.left().is_zero() {
                break;
            }
            let Ok(Resolved { registered: other, .. }) = self.registry.resolve(None, name.as_str()) else {
                continue;
            };
            notes.push(format!("{} stood in for {}: {failed}", name, registered.definition.tool_name));
            // Another tool is another effect.
            job.key = None;
            match job.run(&other).await {
                Ok(done) => return Ok(job.receipt(&other, done, notes)),
                Err(Error::Arguments { .. }) => {
                    notes.pop();
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Corrections and hints name only what the caller may use. A tool that they name in full and
    /// may not use goes on to policy, so that the attempt is written down.
    fn resolve(&self, request: &Request) -> Result<Resolved> {
        let found = self.registry.resolve_for(&request.caller, request.server.as_ref(), &request.tool);
        found.or_else(|error| {
            let full = match &request.server {
                Some(server) => format!("{server}.{}", request.tool),
                None => request.tool.clone(),
            };
            let hidden = full.parse().ok().and_then(|name| self.registry.get(&name, None));
            hidden.map(|registered| Resolved { registered, corrected: None }).ok_or(error)
        })
    }

    fn id(&self) -> Result<uuid::Uuid> {
        self.random.uuid_v7(self.clock.now()).map_err(|error| Error::Bug { detail: error.to_string() })
    }
}

/// Whether another tool may try after this failure. An unknown outcome is not followed by another
/// effect.
fn stands_aside(error: &Error) -> bool {
    error.class() == ErrorClass::Transient
        && !matches!(error, Error::UnknownOutcome { .. } | Error::Ledger { .. })
}

/// One request on its way through the door.
struct Job<'a> {
    gateway: &'a ToolGateway,
    request: &'a Request,
    ledger: &'a dyn Ledger,
    chain: ChainId,
    began: Duration,
    attempts: u32,
    /// The idempotency key: the id of the first attempt, unless the caller has one.
    key: Option<CallId>,
    span: &'a tracing::Span,
}

/// An answer and the call that gave it.
struct Done {
    call: CallId,
    output: Output,
}

impl Job<'_> {
    /// What is left of the caller's time.
    fn left(&self) -> Duration {
        let spent = self.gateway.clock.monotonic().saturating_sub(self.began);
        self.request.context.timeout.saturating_sub(spent)
    }

    fn receipt(&self, by: &Registered, done: Done, notes: Vec<String>) -> Receipt {
        Receipt {
            call: done.call,
            chain: self.chain,
            tool: by.definition.tool_name.clone(),
            version: by.definition.tool_version.clone(),
            notes,
            output: done.output,
            attempts: self.attempts,
            took: self.gateway.clock.monotonic().saturating_sub(self.began),
        }
    }

    /// One tool, with its attempts.
    async fn run(&mut self, registered: &Registered) -> Result<Done> {
        let mut retry = attempt::Retry::new(registered);
        loop {
            match self.once(registered).await {
                Ok(done) => return Ok(done),
                Err(error) => {
                    let again = if self.request.key.is_some() {
                        None
                    } else {
                        retry.after(&error, &*self.gateway.random)
                    };
                    let Some(pause) = again else {
                        return Err(attempt::named(error, registered));
                    };
                    if pause >= self.left() {
                        return Err(attempt::named(error, registered));
                    }
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = self.request.context.cancel.cancelled() => return Err(cancelled(registered)),
                    }
                }
            }
        }
    }

    /// One call: everything between the caller's wish and the tool's answer.
    async fn once(&mut self, registered: &Registered) -> Result<Done> {
        let (gateway, request) = (self.gateway, self.request);
        let definition = &registered.definition;
        traced::tool(self.span, definition);
        gateway.schemas.arguments(definition, &request.arguments)?;
        self.attempts += 1;
        let call = match request.key {
            Some(key) => key,
            None => CallId(gateway.id()?),
        };
        let proposal = Proposal {
            provenance: request.provenance.clone(),
            default_provenance: request.default_provenance,
            approval: request.approval.clone(),
            ..Proposal::new(call, definition, request.arguments.clone())
        };
        self.key.get_or_insert(proposal.call);
        traced::call(self.span, proposal.call, self.chain, self.attempts);
        let record = InvocationId(if request.key.is_some() { gateway.id()? } else { proposal.call.0 });
        let intent = Arc::new(self.intent(registered, &proposal, record));
        let admitted = self.admit(registered, proposal, &intent).await?;
        if gateway.repeats.times(self.chain, admitted.digest()) >= REPEATS {
            return Err(Error::Repeated { tool: definition.tool_name.to_string(), times: REPEATS });
        }
        let limits = &registered.settings.rate_limits;
        gateway.limits.take(&definition.tool_name, limits, gateway.clock.monotonic()).map_err(
            |retry_after| Error::RateLimited { tool: definition.tool_name.to_string(), retry_after },
        )?;
        let began = gateway.clock.monotonic();
        let (result, intended) = if intent.is_read() {
            self.read(registered, &admitted, &intent).await?
        } else {
            self.ledger.intend(&intent).await?;
            (self.carry_out(registered, &admitted, &intent).await, true)
        };
        let took = gateway.clock.monotonic().saturating_sub(began);
        let ending = ending(&intent, intended, &result, gateway.clock.now(), took);
        if let Some(digest) = &ending.result {
            gateway.repeats.note(self.chain, admitted.digest(), fingerprint(digest));
        }
        self.ledger.end(ending).await.map_err(|error| unwritten(&intent, error))?;
        Ok(Done { call: intent.call, output: result? })
    }

    /// A call that changes nothing, and whether its intent was written. It need not wait for that:
    /// its answer waits for the receipt. Most reads are over before the intent would be written,
    /// and then one write has both.
    async fn read(
        &self,
        registered: &Registered,
        admitted: &AdmittedCall,
        intent: &Arc<Intent>,
    ) -> Result<(Result<Output>, bool)> {
        let mut work = std::pin::pin!(self.carry_out(registered, admitted, intent));
        if let Ok(result) = tokio::time::timeout(QUICK, &mut work).await {
            return Ok((result, false));
        }
        let work = async { Ok(work.await) };
        let ((), result) = tokio::try_join!(self.ledger.intend(intent), work)?;
        Ok((result, true))
    }

    fn intent(&self, registered: &Registered, proposal: &Proposal, record: InvocationId) -> Intent {
        let labels = proposal
            .arguments
            .keys()
            .map(|name| (name.clone(), Json::from(proposal.origin_of(name).name())))
            .collect();
        let digest = proposal.digest();
        // A fallback is another call: what was agreed to is not its approval.
        let approval = proposal.approval.clone().filter(|approval| approval.digest == digest);
        Intent {
            call: proposal.call,
            record,
            chain: self.chain,
            user: self.request.caller.user.clone(),
            on_behalf: self.request.caller.on_behalf(),
            definition: Arc::clone(&registered.definition),
            arguments: proposal.arguments.clone(),
            provenance: labels,
            digest,
            approval,
            key: self.key.unwrap_or(proposal.call),
            attempt: self.attempts,
            at: self.gateway.clock.now(),
            leaves_process: attempt::leaves_process(registered),
        }
    }

    async fn admit(
        &self,
        registered: &Registered,
        proposal: Proposal,
        intent: &Arc<Intent>,
    ) -> Result<AdmittedCall> {
        let tool = registered.definition.tool_name.to_string();
        let refused = |decision, rule: &str, detail: &str| Refused {
            intent: Arc::clone(intent),
            decision,
            rule: rule.to_owned(),
            detail: detail.to_owned(),
        };
        match proposal.decide(&self.request.caller, &rules(registered)) {
            Decision::Allow(admitted) => Ok(admitted),
            Decision::Ask { digest, reason } => {
                self.ledger.refuse(refused("ask", "approval", &reason)).await?;
                let tool = registered.definition.tool_name.clone();
                Err(Error::ApprovalNeeded(Box::new(ApprovalRequest { tool, digest, reason })))
            }
            Decision::Deny(refusal) => {
                self.ledger.refuse(refused("deny", refusal.rule, &refusal.detail)).await?;
                // "You may not" and "there is none" read the same to whoever may not know the
                // difference.
                if !self.request.caller.administrator && refusal.rule != "approval" {
                    return Err(Error::UnknownTool { name: self.request.tool.clone(), near: Vec::new() });
                }
                Err(Error::Denied { tool, rule: refusal.rule, told: refusal.told })
            }
        }
    }

    /// The call itself, polled to its end, checked and cut to size, all within its time.
    async fn carry_out(
        &self,
        registered: &Registered,
        admitted: &AdmittedCall,
        intent: &Arc<Intent>,
    ) -> Result<Output> {
        let definition = &registered.definition;
        let most = Duration::from_secs(u64::from(definition.timeout_seconds.get()));
        let timeout = most.min(self.left());
        let context = Context { timeout, key: self.key, ..self.request.context.clone() };
        let work = async {
            let called = registered.tool.call(admitted, &context).await;
            let output = called.map_err(|error| attempt::judged(error, registered))?;
            match &registered.settings.poll {
                Some(poll) => poll::to_the_end(self, poll, admitted, output, &context).await,
                None => Ok(output),
            }
        };
        let output = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(cancelled(registered)),
            done = tokio::time::timeout(timeout, work) => match done {
                Ok(result) => result?,
                Err(_) => return Err(Error::Timeout { tool: definition.tool_name.to_string(), after: timeout }),
            },
        };
        self.gateway.schemas.result(definition, output.structured.as_ref())?;
        size::cut(output, registered, &*self.gateway.artifacts, intent).await
    }
}

/// What the operator laid down, in policy's words.
fn rules(registered: &Registered) -> Rules {
    let definition = &registered.definition;
    let off = registered.settings.off.clone();
    Rules {
        off: off.or_else(|| (!definition.is_active).then(|| "switched off".to_owned())),
        permissions: registered.settings.permissions.clone(),
        approval: definition.approval,
        idempotency: definition.idempotency,
    }
}

fn cancelled(registered: &Registered) -> Error {
    Error::Cancelled { tool: registered.definition.tool_name.to_string() }
}

/// The call was made: that it cannot be written down is not the same as that it did not happen. A
/// read can be made again.
fn unwritten(intent: &Intent, error: Error) -> Error {
    let detail = match error {
        error if intent.is_read() => return error,
        Error::Ledger { detail } => format!("its outcome could not be written down: {detail}"),
        other => other.to_string(),
    };
    Error::UnknownOutcome { tool: intent.definition.tool_name.to_string(), detail }
}

fn fingerprint(result: &Json) -> u64 {
    let mut hasher = DefaultHasher::new();
    result.to_string().hash(&mut hasher);
    hasher.finish()
}

fn ending(
    intent: &Arc<Intent>,
    intended: bool,
    result: &Result<Output>,
    ended: steward_domain::Timestamp,
    took: Duration,
) -> Ending {
    let outcome = match result {
        Ok(_) => Outcome::Success,
        Err(error) => attempt::outcome(error, intent.definition.idempotency),
    };
    Ending {
        intent: Arc::clone(intent),
        intended,
        outcome,
        result: result.as_ref().ok().map(|output| match &output.structured {
            Some(value) => value.clone(),
            None => serde_json::to_value(&output.content).unwrap_or_default(),
        }),
        error: result.as_ref().err().map(|error| (error.code(), error.to_string())),
        ended,
        took,
    }
}

/// Whether what a tool does can be seen outside of this process.
pub(crate) fn is_foreign(origin: ToolOrigin) -> bool {
    matches!(origin, ToolOrigin::Mcp | ToolOrigin::SubAgent | ToolOrigin::Configured)
}
