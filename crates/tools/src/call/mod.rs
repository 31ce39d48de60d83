//! The tool gateway, through which every call goes: resolve, validate the arguments, check policy
//! and rate limit, record the intent, call with a deadline, validate the result, store large
//! results as artifacts, record the receipt.
//!
//! Invariants
//! - A call with effects is made only after its intent is recorded. If that fails, it is not made.
//!   A read is made at once: a fast one is recorded with its receipt, a slow one concurrently. Its
//!   result is returned when both are on disk.
//! - A call is retried only when that is safe: the tool is read-only, supports the idempotency key,
//!   or was certainly not reached. Otherwise the outcome is unknown and reported as such.
//! - Every wait ends with the caller's timeout or cancellation.

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

/// The gateway through which tools are called.
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

/// A request to call a tool.
#[derive(Clone)]
pub struct Request {
    /// The caller.
    pub caller: Caller,
    /// The journal chain: the task's, the session's, or a new one.
    pub chain: Option<ChainId>,
    /// The server, if the caller names one.
    pub server: Option<ServerName>,
    /// The tool: `crm.find`, or `find` if only one server has it.
    pub tool: String,
    /// The arguments.
    pub arguments: JsonObject,
    /// The provenance of each argument.
    pub provenance: BTreeMap<String, Provenance>,
    /// The provenance of arguments that `provenance` does not name.
    pub default_provenance: Provenance,
    /// The approval of a person.
    pub approval: Option<Approval>,
    /// The call id and idempotency key, for a caller that keeps it across attempts and restarts.
    /// The gateway then makes one attempt, without fallbacks.
    pub key: Option<CallId>,
    /// Timeout, cancellation, progress, and the person that a tool may ask.
    pub context: Context,
}

impl Request {
    /// A call by a person, with defaults for the rest.
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

/// The result of a call. The output is untrusted, whichever tool returned it.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The call that returned the result.
    pub call: CallId,
    /// The journal chain.
    pub chain: ChainId,
    /// The tool that returned the result, which may be a fallback.
    pub tool: ToolName,
    /// Its version.
    pub version: SemanticVersion,
    /// Corrections: another server, a fallback.
    pub notes: Vec<String>,
    /// The output.
    pub output: Output,
    /// The number of calls made.
    pub attempts: u32,
    /// The total duration.
    pub took: Duration,
}

/// The number of times that the same call may return the same result. Then it is rejected.
const REPEATS: usize = 3;

/// A read that takes longer than this is recorded while it runs. If the process dies earlier, the
/// read is not recorded, but its result was not returned either.
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

    /// The registry.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Calls a tool, or its fallbacks if it fails.
    pub async fn call(&self, request: &Request) -> Result<Receipt> {
        self.call_with(request, &*self.ledger).await
    }

    /// Calls a tool and records it in another ledger, for a caller that writes more in the same
    /// transaction.
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
            if request.key.is_some() || !allows_fallback(&failed) || job.left().is_zero() {
                break;
            }
            let Ok(Resolved { registered: other, .. }) = self.registry.resolve(None, name.as_str()) else {
                continue;
            };
            notes.push(format!("{} stood in for {}: {failed}", name, registered.definition.tool_name));
            // Another tool is another effect, so it needs its own key.
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

    /// Resolves the tool. Corrections and hints name only tools that the caller may use. A denied
    /// tool that is named in full is passed on to policy, so that the attempt is recorded.
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

/// Whether a fallback may be tried after this error. After an unknown outcome, it may not.
fn allows_fallback(error: &Error) -> bool {
    error.class() == ErrorClass::Transient
        && !matches!(error, Error::UnknownOutcome { .. } | Error::Ledger { .. })
}

/// One request in the gateway.
struct Job<'a> {
    gateway: &'a ToolGateway,
    request: &'a Request,
    ledger: &'a dyn Ledger,
    chain: ChainId,
    began: Duration,
    attempts: u32,
    /// The idempotency key: the id of the first attempt, unless the caller provides one.
    key: Option<CallId>,
    span: &'a tracing::Span,
}

/// A result and the call that returned it.
struct Done {
    call: CallId,
    output: Output,
}

impl Job<'_> {
    /// The caller's remaining time.
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

    /// Calls one tool, with retries.
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

    /// Makes one attempt: validation, policy, limits, recording and the call itself.
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

    /// Makes a read-only call. Returns the result and whether the intent was written. The result
    /// waits for the receipt anyway, so the call does not wait for the intent. Most reads end
    /// first, and then one write records both.
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
        // A fallback is another call, so the approval does not apply to it.
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
                // A denied tool is reported as unknown to callers who may not know that it exists.
                if !self.request.caller.administrator && refusal.rule != "approval" {
                    return Err(Error::UnknownTool { name: self.request.tool.clone(), near: Vec::new() });
                }
                Err(Error::Denied { tool, rule: refusal.rule, told: refusal.told })
            }
        }
    }

    /// Makes the call, polls it to its end, validates and truncates the result, in its timeout.
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

/// The operator's settings as rules of policy.
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

/// The error when the receipt cannot be written. The call was made, so its outcome is unknown. A
/// read can be repeated.
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

/// Whether effects of the tool are visible outside of this process.
pub(crate) fn is_foreign(origin: ToolOrigin) -> bool {
    matches!(origin, ToolOrigin::Mcp | ToolOrigin::SubAgent | ToolOrigin::Configured)
}
