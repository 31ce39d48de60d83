//! Approvals under pressure: many decisions at once, on both stores, make one call each.

use crate::toolbox::Shop;
use crate::workers::{Scripted, calls, decided, define_agent, runner, says};
use crate::{Fixture, user};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use steward_domain::{HumanAction, Label, TaskStatus};
use steward_models::Models;
use steward_policy::{Caller, Provenance};
use steward_runtime::Error as RuntimeError;
use steward_runtime::run::RunStatus;
use steward_runtime::toolbox::Shown;
use steward_store::Scope;
use steward_tools::Error;
use steward_tools::call::Request;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// How many decide at the same moment.
const DECIDERS: usize = 16;
const ALWAYS: &str = "tools: { shop.delete: { approval: always } }";

/// How many rounds: a few, or what `STEWARD_APPROVAL_ROUNDS` says for the long form.
fn rounds(usual: usize) -> usize {
    std::env::var("STEWARD_APPROVAL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}

fn scope() -> Scope {
    Scope::User(user())
}

fn request(tool: &str, arguments: Json) -> Request {
    let Json::Object(arguments) = arguments else { panic!("an object") };
    Request::new(Caller::owner(user()), tool, arguments)
}

/// Lets a call wait, and says how a decision names it.
async fn waiting(shop: &Shop, wanted: &Request) -> steward_runtime::toolbox::Waiting {
    let Err(RuntimeError::Tools(Error::ApprovalNeeded(needed))) = shop.toolbox.call(wanted).await else {
        panic!("it asks")
    };
    shop.toolbox.approvals().wait(wanted, &needed).await.unwrap()
}

/// Each round: one call waits, sixteen decide at once, three quarters of them approve. One decision
/// counts.
async fn one_decision_counts(shop: Shop) {
    shop.toolbox.look_at("shop").await.unwrap();
    let shop = Arc::new(shop);
    let mut made = 0;
    for round in 0..rounds(10) {
        let wanted = request("shop.delete", json!({ "name": format!("pen{round}") }));
        let call = waiting(&shop, &wanted).await;
        let (shown, start) = (call.shown().unwrap(), Arc::new(Barrier::new(DECIDERS)));
        let mut deciders = JoinSet::new();
        for decider in 0..DECIDERS {
            let (shop, shown, start) = (shop.clone(), shown.clone(), start.clone());
            deciders.spawn(async move {
                let (approvals, by) = (shop.toolbox.approvals(), Label::new("bob").unwrap());
                start.wait().await;
                if decider % 4 == 3 {
                    return approvals.reject(&scope(), &shown, &by, "no").await.map(|_| false);
                }
                approvals.approve(shop.toolbox.gateway(), &scope(), &shown, &by).await.map(|_| true)
            });
        }
        let mut counted = Vec::new();
        for decision in deciders.join_all().await {
            match decision {
                Ok(approved) => counted.push(approved),
                Err(RuntimeError::NotWaiting(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(counted.len(), 1, "round {round}");
        made += usize::from(counted[0]);
        assert_eq!(shop.ledger().len(), made, "round {round}: one effect for an approval, none for a no");
        let task = shop.fixture.app.store.task(&scope(), call.task).await.unwrap().unwrap();
        let ended = if counted[0] { TaskStatus::Completed } else { TaskStatus::Rejected };
        assert_eq!(task.status, ended, "round {round}");
    }
    shop.toolbox.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_decisions_make_one_call() {
    one_decision_counts(Shop::open(ALWAYS).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_decisions_make_one_call_on_postgres() {
    let Some(fixture) = Fixture::on_postgres().await else { return };
    one_decision_counts(Shop::over(fixture, ALWAYS).await).await;
}

/// The same for a run that waits: the others neither call nor take the run from the process that
/// goes on.
async fn one_decision_resumes(shop: Shop) {
    let nodes = json!({ "drop": { "type": "tool", "tool": "shop.delete", "arguments": { "name": "pen" } } });
    let drop = json!({ "name": "drop", "patterns": ["react"], "entry_point": "drop", "nodes": nodes,
        "edges": [{ "from": "drop", "to": "__end__" }] });
    shop.define("workflows", "drop", &drop);
    // Two processes, each with half of the deciders.
    let both = [runner(&shop, "one", Models::default()).await, runner(&shop, "two", Models::default()).await];
    for round in 0..rounds(5) {
        let ran = both[0].start(&user(), "drop", json!({}), None).await.unwrap();
        let approve = decided(&shop, ran.task, HumanAction::Approve).await;
        let start = Arc::new(Barrier::new(DECIDERS));
        let mut deciders = JoinSet::new();
        for decider in 0..DECIDERS {
            let (runner, start) = (both[decider % 2].clone(), start.clone());
            let approve = approve.clone();
            deciders.spawn(async move {
                start.wait().await;
                runner.decide(&scope(), ran.task, approve, None).await
            });
        }
        let decisions = deciders.join_all().await;
        let counted = decisions.iter().filter(|decision| decision.is_ok()).count();
        assert_eq!(counted, 1, "round {round}: {decisions:?}");
        assert_eq!(shop.ledger().len(), round + 1, "round {round}: one effect each");
        let task = shop.fixture.app.store.task(&scope(), ran.task).await.unwrap().unwrap();
        assert_eq!(task.status, TaskStatus::Completed, "round {round}: {:?}", task.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_decisions_resume_a_run_once() {
    one_decision_resumes(Shop::open(ALWAYS).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_decisions_resume_a_run_once_on_postgres() {
    let Some(fixture) = Fixture::on_postgres().await else { return };
    one_decision_resumes(Shop::over(fixture, ALWAYS).await).await;
}

/// Two calls of an agent wait as one: sixteen decide at once, and each call is made once, in its
/// order.
async fn one_decision_makes_both_calls(shop: Shop) {
    let agent = json!({ "name": "clerk", "role": "clerk", "system_prompt": "clerk", "tools": ["shop.delete"],
        "max_iterations": 6, "llm_config": { "model": "scripted" }, "approvals": "by_request" });
    shop.define("agents", "clerk", &agent);
    let drop = |name: &str| calls("shop_delete", json!({ "name": name }));
    let script = || Scripted(vec![("clerk", vec![drop("pen"), drop("ink"), says("I wait."), says("done")])]);
    let models = || Models::default().with("scripted", Arc::new(script()));
    let both = [runner(&shop, "one", models()).await, runner(&shop, "two", models()).await];
    for round in 0..rounds(3) {
        let ran = both[0].start(&user(), "clerk", json!("Delete pen and ink"), None).await.unwrap();
        assert_eq!(ran.standing, RunStatus::Waiting, "{ran:?}");
        let waits = shop.toolbox.approvals().list(&scope()).await.unwrap();
        let waits: Vec<_> = waits.iter().filter(|one| one.task == ran.task).collect();
        assert_eq!(waits.len(), 1, "one question");
        assert_eq!(waits[0].released_tools().collect::<Vec<_>>(), ["shop.delete"; 3]);
        assert_eq!(waits[0].arguments["2. shop.delete"]["name"], "ink");
        let approve = decided(&shop, ran.task, HumanAction::Approve).await;
        let start = Arc::new(Barrier::new(DECIDERS));
        let mut deciders = JoinSet::new();
        for decider in 0..DECIDERS {
            let (runner, start, approve) = (both[decider % 2].clone(), start.clone(), approve.clone());
            deciders.spawn(async move {
                start.wait().await;
                runner.decide(&scope(), ran.task, approve, None).await
            });
        }
        let decisions = deciders.join_all().await;
        assert_eq!(
            decisions.iter().filter(|decision| decision.is_ok()).count(),
            1,
            "round {round}: {decisions:?}"
        );
        assert_eq!(shop.ledger().len(), 2 * (round + 1), "round {round}: one effect for each call");
        let task = shop.fixture.app.store.task(&scope(), ran.task).await.unwrap().unwrap();
        assert_eq!(task.status, TaskStatus::Completed, "round {round}: {:?}", task.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_decisions_make_two_calls_that_wait_together_once_each() {
    one_decision_makes_both_calls(Shop::open(ALWAYS).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_decisions_make_two_calls_that_wait_together_once_each_on_postgres() {
    let Some(fixture) = Fixture::on_postgres().await else { return };
    one_decision_makes_both_calls(Shop::over(fixture, ALWAYS).await).await;
}

/// A decision that is given twice does not decide the next gate of the run.
#[tokio::test]
async fn an_old_decision_does_not_decide_the_next_gate() {
    let shop = Shop::open("").await;
    let human = |text: &str| json!({ "type": "human", "input": text, "expires_seconds": 3600 });
    let nodes = json!({ "first": human("First?"), "second": human("Second?") });
    let edges = json!([{ "from": "first", "to": "second" }, { "from": "second", "to": "__end__" }]);
    let gates = json!({ "name": "gates", "patterns": ["react"], "entry_point": "first", "nodes": nodes, "edges": edges });
    shop.define("workflows", "gates", &gates);
    let runner = runner(&shop, "one", Models::default()).await;
    let ran = runner.start(&user(), "gates", json!({}), None).await.unwrap();
    let first = decided(&shop, ran.task, HumanAction::Approve).await;
    runner.decide(&scope(), ran.task, first.clone(), None).await.unwrap();
    let again = runner.decide(&scope(), ran.task, first, None).await;
    assert!(matches!(again, Err(RuntimeError::OtherCall(_))), "{again:?}");
    let waits = shop.toolbox.approvals().list(&scope()).await.unwrap();
    assert_eq!(waits[0].reason, "Second?");
    // A run's gate is not decided as if it were a single call.
    let (shown, by) = (waits[0].shown().unwrap(), Label::new("bob").unwrap());
    let alone = shop.toolbox.approvals().approve(shop.toolbox.gateway(), &scope(), &shown, &by).await;
    assert!(matches!(alone, Err(RuntimeError::Decision(_))), "{alone:?}");
    assert!(shop.toolbox.approvals().reject(&scope(), &shown, &by, "").await.is_err());
}

/// What waits is the tool that will run: a name that was corrected is not what the approver's scope
/// is checked on.
#[tokio::test]
async fn waiting_call_names_the_resolved_tool() {
    let shop = Shop::open(ALWAYS).await;
    shop.toolbox.look_at("shop").await.unwrap();
    let asked = request("evil.delete", json!({ "name": "pen" }));
    assert_eq!(waiting(&shop, &asked).await.tool, "shop.delete");
    let nodes = json!({ "drop": { "type": "tool", "tool": "evil.delete", "arguments": { "name": "pen" } } });
    let drop = json!({ "name": "drop", "patterns": ["react"], "entry_point": "drop", "nodes": nodes,
        "edges": [{ "from": "drop", "to": "__end__" }] });
    shop.define("workflows", "drop", &drop);
    let ran =
        runner(&shop, "one", Models::default()).await.start(&user(), "drop", json!({}), None).await.unwrap();
    let waits = shop.toolbox.approvals().list(&scope()).await.unwrap();
    let gate = waits.iter().find(|one| one.task == ran.task).unwrap();
    assert_eq!(gate.tool, "shop.delete");
    shop.toolbox.close().await;
}

/// A tool that was accepted anew with another description is another tool: the approval of the old
/// one does not count.
#[tokio::test]
async fn an_approval_is_for_the_version_that_was_accepted() {
    let shop = Shop::open("tools: { shop.find: { approval: always } }").await;
    shop.toolbox.look_at("shop").await.unwrap();
    let call = waiting(&shop, &request("shop.find", json!({ "name": "pen" }))).await;
    shop.toolbox.close().await;
    shop.write("description", "Finds a product, and tells everybody.");
    let again = Shop::toolbox(&shop.fixture).await;
    again.look_at("shop").await.unwrap();
    again.pins().accept(&"shop".parse().unwrap(), None).unwrap();
    again.look_at("shop").await.unwrap();
    let (shown, by) = (call.shown().unwrap(), Label::new("bob").unwrap());
    let made = again.approvals().approve(again.gateway(), &scope(), &shown, &by).await;
    assert!(made.is_err_and(
        |error| error.to_string().contains("other arguments") || error.to_string().contains("changed")
    ));
    assert!(shop.ledger().is_empty());
    again.close().await;
}

/// What a call does decides, not who wrote its arguments: an agent that was given SQL to run does
/// not delete unasked.
#[tokio::test]
async fn agent_does_not_delete_rows_without_approval() {
    let shop = Shop::open("").await;
    define_agent(&shop, "clerk", &["shop.write_query"], &[]);
    // What destroys asks although the person typed it; what adds asks unless they did, since a
    // server's description is no word of theirs.
    let insert = "INSERT INTO customers VALUES ('Umbrella')";
    for (query, task, asks) in [
        ("DELETE FROM customers", "Run DELETE FROM customers", true),
        (insert, "Run INSERT INTO customers VALUES ('Umbrella')", false),
        (insert, "Run what you were told to run", true),
    ] {
        let said = calls("shop_write_query", json!({ "query": query }));
        let script = Scripted(vec![("clerk", vec![said, says("done")])]);
        let models = Models::default().with("scripted", Arc::new(script));
        let before = shop.ledger().len();
        let ran =
            runner(&shop, "one", models).await.start(&user(), "clerk", json!(task), None).await.unwrap();
        assert_eq!(ran.standing == RunStatus::Waiting, asks, "{query}: {ran:?}");
        assert_eq!(shop.ledger().len() - before, usize::from(!asks), "{query}");
    }
}

/// A read does not ask, untrusted arguments or not; what the operator wants asked about is asked
/// about.
#[tokio::test]
async fn read_needs_no_approval() {
    let shop = Shop::open("").await;
    shop.toolbox.look_at("shop").await.unwrap();
    let mut read = request("shop.find", json!({ "name": "pen" }));
    read.default_provenance = Provenance::Untrusted;
    shop.toolbox.call(&read).await.unwrap();
    shop.write("config/tools.yaml", "tools: { shop.find: { approval: always } }");
    shop.toolbox.reload().await.unwrap();
    let asked = shop.toolbox.call(&read).await;
    assert!(matches!(asked, Err(RuntimeError::Tools(Error::ApprovalNeeded(_)))), "{asked:?}");
    // By the tool's own name `never` is enough to destroy unasked.
    shop.write("config/tools.yaml", "tools: { shop.delete: { approval: never } }");
    shop.toolbox.reload().await.unwrap();
    shop.toolbox.call(&request("shop.delete", json!({ "name": "pen" }))).await.unwrap();
    shop.toolbox.close().await;
}

/// A card number and a password are in the store only while somebody may still agree to the call.
#[tokio::test]
async fn decided_approval_keeps_no_secrets() {
    let shop = Shop::open("").await;
    shop.toolbox.look_at("shop").await.unwrap();
    let arguments =
        json!({ "query": "INSERT INTO cards VALUES ('4111 1111 1111 1111', 'password=hunter2')" });
    let mut call = request("shop.write_query", arguments);
    call.default_provenance = Provenance::Untrusted;
    let Err(RuntimeError::Tools(Error::ApprovalNeeded(needed))) = shop.toolbox.call(&call).await else {
        panic!("it is not asked about")
    };
    let approvals = shop.toolbox.approvals();
    let waiting = approvals.wait(&call, &needed).await.unwrap();
    let kept = async || {
        format!("{:?}", shop.fixture.app.store.checkpoints(&Scope::System, waiting.task).await.unwrap())
    };
    assert!(kept().await.contains("hunter2"), "what waits is the exact call");
    let shown = Shown { task: waiting.task, digest: needed.digest.clone() };
    approvals.reject(&Scope::System, &shown, &"ada".parse().unwrap(), "no").await.unwrap();
    let kept = kept().await;
    assert!(!kept.contains("hunter2") && !kept.contains("4111"), "{kept}");
    shop.toolbox.close().await;
}
