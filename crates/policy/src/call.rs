//! Admission of tool calls, by caller, tool, arguments and provenance.
//!
//! Invariants
//! - Only [`Proposal::decide`] creates an [`AdmittedCall`], and tools accept nothing else.
//! - An approval is valid for one digest: this version of the tool with exactly these arguments.
//!   Changed arguments or a newly accepted definition give another digest.
//! - A caller without the grant learns nothing: for a caller who is not an administrator, the
//!   refusals of a disabled tool and of a tool that is not granted are the same.

use crate::access::RowRules;
use crate::effect::{Effect, effect_of};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use steward_domain::{
    ApprovalMode, CallId, Gate, Idempotency, JsonObject, Label, OnBehalf, Provenance, SemanticVersion,
    ServerName, Sha256Hex, ToolDefinition, ToolName, UserId,
};

/// The caller and their grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The user on whose behalf the call is made.
    pub user: UserId,
    /// Their permissions. None means all (a single user on their own machine).
    pub permissions: Option<BTreeSet<Label>>,
    /// The only tools they may call, as names or `prefix.*`. None means every tool that the
    /// permissions allow.
    pub tools: Option<BTreeSet<String>>,
    /// The only domains whose data they may query. None means every domain.
    pub domains: Option<BTreeSet<String>>,
    /// The only tables of the domains' data that they may read, each with its columns; no columns
    /// means all columns. Empty means every table.
    pub tables: BTreeMap<String, BTreeSet<String>>,
    /// Row-level rules of those tables.
    pub rows: RowRules,
    /// Whether refusals may reveal what exists.
    pub administrator: bool,
    /// The id of the API key that they authenticated with.
    pub key: Option<Label>,
}

impl Caller {
    /// The owner of the machine, who may do everything.
    #[must_use]
    pub fn owner(user: UserId) -> Self {
        Self {
            user,
            permissions: None,
            tools: None,
            domains: None,
            tables: BTreeMap::new(),
            rows: RowRules::default(),
            administrator: true,
            key: None,
        }
    }

    /// The version of their grants: a digest over all of them. Equal grants have equal versions.
    #[must_use]
    pub fn grants_version(&self) -> Sha256Hex {
        let mut hasher = Sha256::new();
        let mut part = |text: &str| {
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        };
        let held: Option<BTreeSet<String>> =
            self.permissions.as_ref().map(|held| held.iter().map(ToString::to_string).collect());
        for (name, names) in [("permissions", &held), ("tools", &self.tools), ("domains", &self.domains)] {
            part(name);
            match names {
                None => part("everything"),
                Some(names) => names.iter().for_each(|name| part(&format!("={name}"))),
            }
        }
        for (table, columns) in &self.tables {
            part(&format!("table={table}"));
            columns.iter().for_each(|column| part(&format!("column={column}")));
        }
        for (table, rules) in &self.rows.tables {
            part(&format!("rules={table}"));
            part(&serde_json::to_string(rules).unwrap_or_default());
        }
        self.rows.attributes.iter().for_each(|(name, value)| part(&format!("caller.{name}={value}")));
        part(if self.administrator { "administrator" } else { "" });
        hex(hasher)
    }

    /// The caller as the journal records them.
    #[must_use]
    pub fn on_behalf(&self) -> OnBehalf {
        OnBehalf { user: self.user.clone(), key: self.key.clone(), grants: Some(self.grants_version()) }
    }

    /// Whether the caller may know that a tool with these permissions exists.
    #[must_use]
    pub fn sees(&self, tool: &ToolName, needs: &[Label]) -> bool {
        self.lists(tool) && self.missing(needs).is_empty()
    }

    /// Whether the caller may query the data of a domain.
    #[must_use]
    pub fn asks(&self, domain: &str) -> bool {
        self.domains.as_ref().is_none_or(|names| names.contains(domain))
    }

    fn lists(&self, tool: &ToolName) -> bool {
        self.tools.as_ref().is_none_or(|names| names.iter().any(|name| fits(name, tool.as_str())))
    }

    fn missing<'a>(&self, needs: &'a [Label]) -> Vec<&'a Label> {
        needs
            .iter()
            .filter(|need| self.permissions.as_ref().is_some_and(|held| !held.contains(*need)))
            .collect()
    }
}

/// `sales.*` matches `sales.top`; any other pattern matches only itself.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

/// The operator's settings for a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// Why it may not be called: disabled, or its category is disabled.
    pub off: Option<String>,
    /// Permissions that a caller needs.
    pub permissions: Vec<Label>,
    /// When a call needs approval.
    pub approval: ApprovalMode,
    /// The effect of a repeated call.
    pub idempotency: Idempotency,
}

/// A person's approval of exactly one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The digest of the call that was shown to them.
    pub digest: Sha256Hex,
    /// The person who approved.
    pub by: Label,
    /// The gate that was decided; the call that it releases consumes it. None if the person was
    /// asked while the call was being made.
    pub gate: Option<Gate>,
}

/// A proposed call.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The call's id and idempotency key.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// Its version.
    pub version: SemanticVersion,
    /// The server; none for built-in tools.
    pub server: Option<ServerName>,
    /// The fingerprint of the accepted definition: its description and schema.
    pub accepted: Sha256Hex,
    /// The effect of the call.
    pub effect: Effect,
    /// The arguments.
    pub arguments: JsonObject,
    /// The provenance of each argument; arguments that are absent have `default_provenance`.
    pub provenance: BTreeMap<String, Provenance>,
    /// The provenance of the call itself and of arguments that are absent from `provenance`. For a
    /// call without arguments, this is all that can be judged.
    pub default_provenance: Provenance,
    /// An earlier approval.
    pub approval: Option<Approval>,
}

/// The decision on a proposal.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The call may be made.
    Allow(AdmittedCall),
    /// A person must approve exactly this digest.
    Ask {
        /// The digest to approve.
        digest: Sha256Hex,
        /// Why approval is needed.
        reason: String,
    },
    /// The call is denied.
    Deny(Refusal),
}

/// Why a call is denied. The rule is for the journal; `told` is shown to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The rule: `grant`, `permission`, `off`, `approval`.
    pub rule: &'static str,
    /// The message for the caller.
    pub told: String,
    /// The message for an administrator.
    pub detail: String,
}

/// A call that policy admitted. It is immutable.
#[derive(Debug, Clone, PartialEq)]
pub struct AdmittedCall {
    call: CallId,
    tool: ToolName,
    server: Option<ServerName>,
    arguments: JsonObject,
    caller: Box<Caller>,
    digest: Sha256Hex,
}

impl AdmittedCall {
    /// The call's id, which is its idempotency key.
    #[must_use]
    pub fn call(&self) -> CallId {
        self.call
    }
    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &ToolName {
        &self.tool
    }
    /// The server.
    #[must_use]
    pub fn server(&self) -> Option<&ServerName> {
        self.server.as_ref()
    }
    /// The arguments.
    #[must_use]
    pub fn arguments(&self) -> &JsonObject {
        &self.arguments
    }
    /// The user on whose behalf it is made.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }
    /// The digest of tool, version, server and arguments.
    #[must_use]
    pub fn digest(&self) -> &Sha256Hex {
        &self.digest
    }
}

impl Proposal {
    /// A call of the accepted definition of this tool, with arguments that the user wrote, not
    /// approved.
    #[must_use]
    pub fn new(call: CallId, definition: &ToolDefinition, arguments: JsonObject) -> Self {
        Self {
            call,
            tool: definition.tool_name.clone(),
            version: definition.tool_version.clone(),
            server: definition.server.clone(),
            accepted: fingerprint(definition),
            effect: effect_of(definition, &arguments),
            arguments,
            provenance: BTreeMap::new(),
            default_provenance: Provenance::User,
            approval: None,
        }
    }

    /// The digest that an approval is bound to: tool, version, server, accepted definition,
    /// arguments.
    #[must_use]
    pub fn digest(&self) -> Sha256Hex {
        let mut hasher = Sha256::new();
        let server = self.server.as_ref().map_or("", |server| server.as_str());
        for part in [self.tool.as_str(), self.version.as_str(), server, self.accepted.as_str()] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        let mut text = String::new();
        write_sorted(&serde_json::Value::Object(self.arguments.clone()), &mut text);
        hasher.update(text.as_bytes());
        hex(hasher)
    }

    /// The provenance of this argument.
    #[must_use]
    pub fn origin_of(&self, argument: &str) -> Provenance {
        self.provenance.get(argument).copied().unwrap_or(self.default_provenance)
    }

    /// Decides. Pure: the same proposal, rules and caller give the same decision.
    #[must_use]
    pub fn decide(self, caller: &Caller, rules: &Rules) -> Decision {
        if let Some(refusal) = self.refusal(caller, rules) {
            return Decision::Deny(refusal);
        }
        let digest = self.digest();
        if let Some(reason) = self.question(rules) {
            match &self.approval {
                Some(approval) if approval.digest == digest => {}
                Some(_) => {
                    let told = "the approval is for other arguments than these: ask anew".to_owned();
                    return Decision::Deny(Refusal { rule: "approval", detail: told.clone(), told });
                }
                None => return Decision::Ask { digest, reason },
            }
        }
        let Self { call, tool, server, arguments, .. } = self;
        let caller = Box::new(caller.clone());
        Decision::Allow(AdmittedCall { call, tool, server, arguments, caller, digest })
    }

    fn refusal(&self, caller: &Caller, rules: &Rules) -> Option<Refusal> {
        let tool = &self.tool;
        let missing = caller.missing(&rules.permissions);
        let (rule, detail) = if !caller.lists(tool) {
            ("grant", format!("{tool} is not among the tools granted to {}", caller.user))
        } else if !missing.is_empty() {
            let missing = missing.iter().map(|need| need.as_str()).collect::<Vec<_>>().join(", ");
            ("permission", format!("{tool} needs {missing}, which {} does not hold", caller.user))
        } else if let Some(why) = &rules.off {
            ("off", format!("{tool} is {why}"))
        } else {
            return None;
        };
        let told = if caller.administrator {
            detail.clone()
        } else {
            format!("there is no tool {tool} that you may use")
        };
        Some(Refusal { rule, told, detail })
    }

    /// Why approval is needed, if it is: first by the effect of the call, then by the tool's
    /// approval mode. Provenance matters only for calls that change something: destructive calls
    /// always need approval, reads never do.
    fn question(&self, rules: &Rules) -> Option<String> {
        match (rules.approval, self.effect) {
            (ApprovalMode::Never, _) => None,
            (ApprovalMode::Always, _) => Some(format!("every call of {} is approved by a person", self.tool)),
            (ApprovalMode::WhenUntrusted, Effect::Read) => None,
            (ApprovalMode::WhenUntrusted, Effect::Destroy) => {
                Some(format!("{} takes something away or overwrites it", self.tool))
            }
            (ApprovalMode::WhenUntrusted, Effect::Change) => {
                let untrusted = |name: &&String| self.origin_of(name) == Provenance::Untrusted;
                let names: Vec<&str> = self.arguments.keys().filter(untrusted).map(String::as_str).collect();
                if !names.is_empty() {
                    return Some(format!(
                        "{} of {} came from data, not from a person",
                        names.join(", "),
                        self.tool
                    ));
                }
                let unfounded = self.arguments.is_empty() && self.default_provenance == Provenance::Untrusted;
                unfounded.then(|| format!("{} may be called because data says so, not a person", self.tool))
            }
        }
    }
}

/// The fingerprint of a tool's description and schema. If a server changes either, every digest
/// changes.
fn fingerprint(definition: &ToolDefinition) -> Sha256Hex {
    let mut text = String::new();
    for part in [&definition.parameter_schema, &definition.return_schema, &definition.metadata] {
        write_sorted(&serde_json::Value::Object(part.clone()), &mut text);
    }
    let mut hasher = Sha256::new();
    hasher.update((text.len() as u64).to_be_bytes());
    hasher.update(text.as_bytes());
    hasher.update(definition.description.as_bytes());
    hex(hasher)
}

fn hex(hasher: Sha256) -> Sha256Hex {
    let hex: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    hex.parse().unwrap_or_else(|_| zero_digest())
}

/// Writes a value with sorted object keys, so that equal arguments give the same text.
fn write_sorted(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().collect();
            out.push('{');
            for (place, (key, value)) in sorted.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&serde_json::Value::from(key.as_str()).to_string());
                out.push(':');
                write_sorted(value, out);
            }
            out.push('}');
        }
        serde_json::Value::Array(values) => {
            out.push('[');
            for (place, value) in values.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_sorted(value, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// The hexadecimal form of 32 bytes always parses; this value is for the unreachable branch.
#[allow(clippy::unwrap_used, reason = "64 zeros are a digest")]
fn zero_digest() -> Sha256Hex {
    "0".repeat(64).parse().unwrap()
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
