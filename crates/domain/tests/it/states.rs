//! Every transition of every state machine, allowed or not.

use crate::examples::example;
use std::fmt::Debug;
use steward_domain::*;

/// Compares all pairs with the list of allowed steps.
fn check<S: States + Debug>(all: &[S], allowed: &[(S, S)]) {
    for from in all {
        for to in all {
            let expected = allowed.contains(&(*from, *to));
            assert_eq!(step("x", *from, *to).is_ok(), expected, "{from:?} -> {to:?}");
        }
    }
}

#[test]
fn only_the_drawn_steps_exist() {
    use ConversationStatus as C;
    check(
        &[C::Active, C::Archived, C::Deleted],
        &[
            (C::Active, C::Archived),
            (C::Active, C::Deleted),
            (C::Archived, C::Active),
            (C::Archived, C::Deleted),
        ],
    );
    use TaskStatus as K;
    check(
        &[K::Pending, K::Running, K::Paused, K::Completed, K::Failed, K::Cancelled, K::Rejected],
        &[
            (K::Pending, K::Running),
            (K::Pending, K::Cancelled),
            (K::Running, K::Paused),
            (K::Running, K::Completed),
            (K::Running, K::Failed),
            (K::Running, K::Cancelled),
            (K::Running, K::Rejected),
            (K::Paused, K::Running),
            (K::Paused, K::Failed),
            (K::Paused, K::Cancelled),
            (K::Paused, K::Rejected),
        ],
    );
    use CallStatus as L;
    check(
        &[L::Pending, L::InProgress, L::Completed, L::Failed, L::Timeout, L::Cancelled, L::Unknown],
        &[
            (L::Pending, L::InProgress),
            (L::Pending, L::Cancelled),
            (L::InProgress, L::Completed),
            (L::InProgress, L::Failed),
            (L::InProgress, L::Timeout),
            (L::InProgress, L::Cancelled),
            (L::InProgress, L::Unknown),
            (L::Failed, L::Pending),
            (L::Timeout, L::Pending),
        ],
    );
    use PlanStatus as P;
    check(
        &[P::Draft, P::Validated, P::Executing, P::Completed, P::Abandoned],
        &[
            (P::Draft, P::Validated),
            (P::Draft, P::Abandoned),
            (P::Validated, P::Executing),
            (P::Validated, P::Abandoned),
            (P::Executing, P::Completed),
            (P::Executing, P::Abandoned),
        ],
    );
    use RequestStatus as R;
    check(
        &[R::Submitted, R::Planning, R::Executing, R::Completed, R::Failed, R::PartialSuccess],
        &[
            (R::Submitted, R::Planning),
            (R::Submitted, R::Failed),
            (R::Planning, R::Executing),
            (R::Planning, R::Failed),
            (R::Executing, R::Completed),
            (R::Executing, R::Failed),
            (R::Executing, R::PartialSuccess),
        ],
    );
    use SubAgentStatus as S;
    check(&[S::Running, S::Completed, S::Failed], &[(S::Running, S::Completed), (S::Running, S::Failed)]);
    use CheckpointStatus as H;
    check(
        &[H::Created, H::AwaitingHuman, H::Resumed],
        &[(H::Created, H::AwaitingHuman), (H::AwaitingHuman, H::Resumed)],
    );
}

#[test]
fn a_task_lives_and_ends_once() {
    let task = parse::<Task>(&example("Task").to_string()).unwrap();
    let now = task.created_at;
    let done = task
        .clone()
        .start(now)
        .unwrap()
        .pause()
        .unwrap()
        .start(now)
        .unwrap()
        .complete("42".into(), now)
        .unwrap();
    let refused = done.fail("too late".into(), now).unwrap_err().to_string();
    assert!(refused.contains("is Completed, which is final") && refused.contains("Failed"), "{refused}");
    assert!(task.complete("nothing began".into(), now).is_err());
}

#[test]
fn a_conversation_is_idle_after_an_hour() {
    let conversation = parse::<Conversation>(&example("Conversation").to_string()).unwrap();
    let after =
        |minutes: i64| Timestamp::from_micros(conversation.updated_at.micros() + minutes * 60_000_000);
    assert_eq!(conversation.activity(after(60)), Activity::Active);
    assert_eq!(conversation.activity(after(61)), Activity::Idle);
}

#[test]
fn retention_asks_the_task_then_its_label_then_its_status() {
    let policy = RetentionPolicy::default();
    let task = parse::<Task>(&example("Task").to_string()).unwrap();
    let now = task.created_at;
    let failed = task.start(now).unwrap().fail("x".into(), now).unwrap().into_inner();
    let days = |task: &Task| policy.days_for(task).get();
    assert_eq!(days(&failed), 14);
    let critical = Task { label: Some(Label::new("critical").unwrap()), ..failed };
    assert_eq!(days(&critical), 30);
    assert_eq!(days(&Task { retention_days: Some(Days::new(1).unwrap()), ..critical }), 1);
}

#[test]
fn state_appends_messages_and_replaces_the_rest() {
    let message = parse::<Message>(&example("Message").to_string()).unwrap().into_inner();
    let state = State {
        messages: vec![message.clone()],
        next_action: None,
        current_agent: AgentName::new("a").unwrap(),
        routing_key: Label::new("x").ok(),
        metadata: JsonObject::new(),
    };
    let update = StateUpdate { current_agent: AgentName::new("b").ok(), ..StateUpdate::default() };
    let state = state.reduce(vec![message], update);
    assert_eq!(
        (state.messages.len(), state.current_agent.as_str(), state.routing_key.as_deref()),
        (2, "b", Some("x"))
    );
}

#[test]
fn a_plan_is_admitted_against_time_and_registry() {
    let plan = parse::<Plan>(&example("Plan").to_string()).unwrap();
    let seconds = |n| AnalysisTimeout::new(n).unwrap();
    assert!(plan.admit(seconds(4), |_| true).is_ok());
    assert!(plan.admit(seconds(3), |_| true).unwrap_err().to_string().contains("at most the timeout of 3 s"));
    assert!(
        plan.admit(seconds(9), |tool| tool.as_str() == "sql.run")
            .unwrap_err()
            .to_string()
            .contains("plot.render")
    );
}
