//! One proposal, many callers and rules.

use super::*;
use serde_json::json;

fn proposal(arguments: serde_json::Value) -> Proposal {
    let serde_json::Value::Object(arguments) = arguments else { panic!("an object") };
    Proposal {
        call: serde_json::from_value(json!("018f0000-0000-7000-8000-000000000001")).unwrap(),
        tool: "crm.delete".parse().unwrap(),
        version: "1.0.0".parse().unwrap(),
        server: Some("crm".parse().unwrap()),
        accepted: "a".repeat(64).parse().unwrap(),
        effect: Effect::Change,
        arguments,
        provenance: BTreeMap::new(),
        default_provenance: Provenance::User,
        approval: None,
    }
}

fn owner() -> Caller {
    Caller::owner("ada".parse().unwrap())
}

fn guest(permissions: &[&str]) -> Caller {
    let permissions = permissions.iter().map(|name| name.parse().unwrap()).collect();
    Caller { permissions: Some(permissions), administrator: false, ..owner() }
}

fn rules(approval: ApprovalMode) -> Rules {
    Rules { permissions: vec!["crm:write".parse().unwrap()], approval, ..Rules::default() }
}

fn told(decision: &Decision) -> String {
    match decision {
        Decision::Allow(call) => format!("allow {}", call.tool()),
        Decision::Ask { reason, .. } => format!("ask: {reason}"),
        Decision::Deny(refusal) => format!("deny {}: {}", refusal.rule, refusal.told),
    }
}

#[test]
fn grants_and_switches() {
    let never = rules(ApprovalMode::Never);
    let off = Rules { off: Some("switched off in tools.yaml".into()), ..never.clone() };
    let check = |caller: &Caller, rules: &Rules, expected: &str| {
        assert_eq!(told(&proposal(json!({"id": 7})).decide(caller, rules)), expected);
    };
    let named = |name: &str| Caller { tools: Some([name.to_owned()].into()), ..owner() };
    check(&owner(), &never, "allow crm.delete");
    check(&guest(&["crm:write"]), &never, "allow crm.delete");
    check(&guest(&[]), &never, "deny permission: there is no tool crm.delete that you may use");
    check(&guest(&["crm:write"]), &off, "deny off: there is no tool crm.delete that you may use");
    check(&owner(), &off, "deny off: crm.delete is switched off in tools.yaml");
    check(&named("crm.*"), &never, "allow crm.delete");
    check(&named("crm.delete"), &never, "allow crm.delete");
    check(&named("crm.del"), &never, "deny grant: crm.delete is not among the tools granted to ada");
    check(&named("sales.*"), &never, "deny grant: crm.delete is not among the tools granted to ada");
}

#[test]
fn an_untrusted_argument_is_asked_about() {
    let rules = rules(ApprovalMode::WhenUntrusted);
    let mut tainted = proposal(json!({"id": 7, "why": "asked to"}));
    assert_eq!(told(&tainted.clone().decide(&owner(), &rules)), "allow crm.delete");
    tainted.provenance.insert("id".into(), Provenance::Untrusted);
    assert_eq!(
        told(&tainted.clone().decide(&owner(), &rules)),
        "ask: id of crm.delete came from data, not from a person"
    );
    // Unlabelled arguments take the default, so that forgetting a label does not make a value
    // trusted.
    let unlabelled = Proposal { default_provenance: Provenance::Untrusted, ..proposal(json!({"id": 7})) };
    assert!(matches!(unlabelled.decide(&owner(), &rules), Decision::Ask { .. }));
}

#[test]
fn a_read_does_not_ask_and_what_destroys_does_whoever_wrote_the_arguments() {
    let check = |mode, effect, provenance, expected: &str| {
        let asked = Proposal { effect, default_provenance: provenance, ..proposal(json!({"id": 7})) };
        let decision = asked.decide(&owner(), &rules(mode));
        let found = if matches!(decision, Decision::Ask { .. }) { "asks" } else { "allowed" };
        assert_eq!(found, expected, "{mode:?} {effect:?} {provenance:?}");
    };
    use ApprovalMode::{Always, Never, WhenUntrusted};
    for provenance in [Provenance::Operator, Provenance::User, Provenance::Untrusted] {
        check(WhenUntrusted, Effect::Read, provenance, "allowed");
        check(WhenUntrusted, Effect::Destroy, provenance, "asks");
        // The operator's setting for this tool takes precedence in both directions.
        for effect in [Effect::Read, Effect::Change, Effect::Destroy] {
            check(Always, effect, provenance, "asks");
            check(Never, effect, provenance, "allowed");
        }
    }
    // A call without arguments is judged by the provenance of the call.
    for (provenance, expected) in [(Provenance::User, "allowed"), (Provenance::Untrusted, "asks")] {
        let bare = Proposal { effect: Effect::Change, default_provenance: provenance, ..proposal(json!({})) };
        let rules = Rules { approval: WhenUntrusted, ..Rules::default() };
        let found = match bare.decide(&Caller::owner("ada".parse().unwrap()), &rules) {
            Decision::Allow(_) => "allowed",
            Decision::Ask { .. } => "asks",
            Decision::Deny(_) => "denied",
        };
        assert_eq!(found, expected, "{provenance:?}");
    }
    check(WhenUntrusted, Effect::Change, Provenance::User, "allowed");
    check(WhenUntrusted, Effect::Change, Provenance::Untrusted, "asks");
}

#[test]
fn an_approval_counts_for_what_was_shown() {
    let rules = rules(ApprovalMode::Always);
    let Decision::Ask { digest, .. } = proposal(json!({"id": 7})).decide(&owner(), &rules) else {
        panic!("asks")
    };
    let approval = Some(Approval { digest, by: "bob".parse().unwrap(), gate: None });
    let same = Proposal { approval: approval.clone(), ..proposal(json!({"id": 7})) };
    assert_eq!(told(&same.decide(&owner(), &rules)), "allow crm.delete");
    let other = Proposal { approval, ..proposal(json!({"id": 8})) };
    assert!(matches!(other.decide(&owner(), &rules), Decision::Deny(Refusal { rule: "approval", .. })));
}

#[test]
fn the_digest_knows_order_and_boundaries() {
    let digest = |arguments| proposal(arguments).digest();
    assert_eq!(
        digest(json!({"a": 1, "b": [{"d": 1, "c": 2}]})),
        digest(json!({"b": [{"c": 2, "d": 1}], "a": 1}))
    );
    assert_ne!(digest(json!({"a": "1"})), digest(json!({"a": 1})));
    assert_ne!(digest(json!({"a": [1, 2]})), digest(json!({"a": [2, 1]})));
    let server = Proposal { server: None, tool: "crmcrm.delete".parse().unwrap(), ..proposal(json!({})) };
    assert_ne!(server.digest(), digest(json!({})));
}
