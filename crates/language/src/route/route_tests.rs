//! A small configuration with three domains, and the routing of questions.

use super::*;

fn topic(name: &str, title: &str, description: &str, intents: &[(&str, &[&str])]) -> Topic {
    let intents = intents.iter().map(|(name, examples)| Label {
        name: (*name).into(),
        description: String::new(),
        examples: examples.iter().map(|example| (*example).to_owned()).collect(),
    });
    Topic {
        name: DomainName::new(name).unwrap(),
        title: title.into(),
        description: description.into(),
        intents: intents.collect(),
    }
}

fn app(description: bool) -> Vec<Topic> {
    let about = |text: &str| if description { text.to_owned() } else { String::new() };
    vec![
        topic(
            "orders",
            "Orders",
            &about("Orders of customers, their delivery and returns."),
            &[("track_order", &[]), ("cancel_order", &[]), ("return_item", &[])],
        ),
        topic(
            "payroll",
            "Payroll",
            &about("Salaries, taxes and paid leave of employees."),
            &[("pto_balance", &[]), ("payday", &[]), ("tax_form", &[])],
        ),
        topic(
            "kitchen",
            "Kitchen",
            &about("Recipes and ingredients."),
            &[("find_recipe", &[]), ("ingredients_list", &[])],
        ),
    ]
}

fn router(topics: &[Topic]) -> Router {
    Router::new(Arc::default(), topics)
}

#[test]
fn questions_go_where_they_belong() {
    let mut wrong = Vec::new();
    for with in [false, true] {
        let router = router(&app(with));
        for (text, domain, intent) in [
            ("can you track my order", "orders", "track_order"),
            ("please call off my order", "orders", "cancel_order"),
            ("how many vacation days do I have left", "payroll", "pto_balance"),
            ("when do we get paid", "payroll", "payday"),
            ("what do I need to make pancakes, list the ingredients", "kitchen", "ingredients_list"),
        ] {
            let found = router.understand(text);
            if found.out_of_scope
                || found.domains[0].0.as_str() != domain
                || found.intents[0].intent != intent
            {
                wrong.push(format!("{text}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn reasons_are_whole_words() {
    let found = router(&app(false)).understand("returning an item");
    assert_eq!(found.reasons.first().map(String::as_str), Some("it is nearest to return item of Orders"));
    assert_eq!(found.reasons.get(1).map(String::as_str), Some("its name says return, item"), "{found:?}");
}

#[test]
fn outside_of_every_domain_it_says_so_and_names_them() {
    let found = router(&app(false)).understand("who won the football game last night");
    assert!(found.out_of_scope, "{found:?}");
    assert_eq!(found.domain(), None);
    let question = found.question.clone().unwrap();
    assert_eq!(question.options.len(), 3);
    assert!(question.text.contains("Payroll"), "{question:?}");
    let decision = found.decision(Question::new("who won").unwrap());
    assert!(decision.identified_domains.is_empty() && decision.clarification_needed);
}

#[test]
fn two_things_at_once_go_to_two_domains() {
    let router = router(&app(false)).threshold(0.3);
    let found = router.understand("track my order and list the ingredients of pancakes");
    let names: Vec<&str> = found.joined.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["orders", "kitchen"], "{found:?}");
    assert!(!found.ambiguous);
}

#[test]
fn what_is_not_sure_is_asked() {
    let twins = [
        topic("north", "Northern sales", "", &[("sales_report", &[])]),
        topic("south", "Southern sales", "", &[("sales_report", &[])]),
    ];
    let found = router(&twins).understand("show the sales report");
    assert!(found.ambiguous, "{found:?}");
    let question = found.question.unwrap();
    assert_eq!(question.options.len(), 2);
    assert!(question.text.starts_with("Is this about "), "{question:?}");
}

#[test]
fn examples_teach() {
    let mut topics = app(false);
    topics[2].intents.push(Label {
        name: "x17".into(),
        description: String::new(),
        examples: ["is the oven free", "who is using the stove", "can I have the oven at noon"]
            .map(str::to_owned)
            .to_vec(),
    });
    let found = router(&topics).understand("is somebody using the oven now");
    assert_eq!(found.intents[0].intent, "x17", "{found:?}");
    assert!(!found.out_of_scope);
}

#[test]
fn nothing_known_or_nothing_said_does_no_harm() {
    assert!(router(&[]).understand("hello").out_of_scope);
    assert!(router(&app(false)).understand("").out_of_scope);
}
