//! Requests over a few recent entities, and the resolution of their references.

use super::*;

fn entity(kind: &str, id: &str, name: &str, mentions: u32, last: u64) -> Recent {
    Recent {
        place: None,
        domain: None,
        entity_type: kind.into(),
        id: id.into(),
        name: (!name.is_empty()).then(|| name.into()),
        mentions,
        last,
    }
}

/// Three tasks of one list, then a customer.
fn tasks() -> Vec<Recent> {
    vec![
        entity("task", "t-1", "buy milk", 1, 5),
        entity("task", "t-2", "call the plumber", 1, 5),
        entity("task", "t-3", "file taxes", 1, 5),
    ]
}

fn mixed() -> Vec<Recent> {
    vec![entity("task", "t-1", "buy milk", 1, 3), entity("customer", "c-1", "Acme", 1, 6)]
}

enum Expect {
    One(usize),
    Several(&'static [usize]),
    Ask(usize),
    Nothing,
    NoReference,
}
use Expect::*;

#[track_caller]
fn check(text: &str, recent: &[Recent], expected: &Expect) {
    let found = resolve(text, recent);
    let first = found.first();
    let holds = match (expected, first.map(|reference| &reference.found)) {
        (One(at), Some(Resolution::One(found))) => at == found,
        (Several(list), Some(Resolution::Several(found))) => list == found,
        (Ask(count), Some(Resolution::Unclear { options, question })) => {
            options.len() == *count && question.ends_with('?')
        }
        (Nothing, Some(Resolution::Nothing { .. })) | (NoReference, None) => true,
        _ => false,
    };
    assert!(holds, "{text}: {found:?}");
    assert!(found.iter().all(|reference| !reference.reasons.is_empty()
        && text.get(reference.start..reference.end) == Some(&reference.said)));
}

#[test]
fn places_in_a_list() {
    for (text, expected) in [
        ("delete the first one", One(0)),
        ("delete the second", One(1)),
        ("mark the last one done", One(2)),
        ("open the third task", One(2)),
        ("open the fifth one", Ask(3)),
        ("remove the last two", Several(&[1, 2])),
        ("remove the first two tasks", Several(&[0, 1])),
        ("delete them", Several(&[0, 1, 2])),
        ("archive all of them", Several(&[0, 1, 2])),
        ("assign those to Ann", Several(&[0, 1, 2])),
        ("delete both", Ask(3)),
    ] {
        check(text, &tasks(), &expected);
    }
}

#[test]
fn one_that_cannot_be_told_apart_is_asked_about() {
    check("delete it", &tasks(), &Ask(3));
    check("mark that task done", &tasks(), &Ask(3));
    let found = resolve("delete it", &tasks());
    let Some(Resolution::Unclear { question, .. }) = found.first().map(|reference| &reference.found) else {
        panic!("{found:?}")
    };
    assert_eq!(
        question,
        "Which one do you mean: the task \"buy milk\", the task \"call the plumber\" or the task \"file taxes\"?"
    );
}

#[test]
fn recency_type_and_verb_decide() {
    check("show it", &mixed(), &One(1));
    check("mark that task as done", &mixed(), &One(0));
    check("call them", &mixed(), &Several(&[0, 1]));
    check("open this customer", &mixed(), &One(1));
    check("delete the note", &mixed(), &NoReference);
    check("email him", &mixed(), &One(1));
    check("email him", &tasks(), &Nothing);
    check("do that again", &[], &Nothing);
}

#[test]
fn names_and_descriptions() {
    check("mark buy milk as done", &tasks(), &One(0));
    check("the plumber one is urgent", &tasks(), &One(1));
    check("close t-3", &tasks(), &One(2));
}

#[test]
fn the_other_of_a_pair() {
    let mut pair = tasks();
    pair.truncate(2);
    check("delete both of them", &pair, &Several(&[0, 1]));
    check("and the other one?", &pair, &Ask(2));
    pair[0].last = 6;
    check("and the other one?", &pair, &One(1));
}

#[test]
fn something_said_long_ago_is_found_by_its_type() {
    let mut many: Vec<Recent> =
        (0..30).map(|at| entity("task", &format!("t-{at}"), "", 1, 50 + at)).collect();
    many.push(entity("invoice", "i-7", "March", 1, 2));
    check("pay that invoice", &many, &One(30));
}

#[test]
fn empty_words_refer_to_nothing() {
    for text in [
        "is it raining",
        "what time is it",
        "show the notes that I wrote",
        "list everything of the last week",
        "",
    ] {
        check(text, &tasks(), &NoReference);
    }
}

#[test]
fn a_list_keeps_its_places_however_often_its_things_are_spoken_of() {
    let mut shown: Vec<Recent> =
        (1..=4).map(|id| entity("task", &id.to_string(), &format!("t{id}"), 1, 1)).collect();
    for (recent, place) in shown.iter_mut().zip(1..) {
        recent.place = Some(place);
    }
    // The first two were acted on since then, one after the other.
    shown[0].last = 5;
    shown[1].last = 9;
    let found = resolve("delete the third one", &shown);
    assert_eq!(found[0].found, Resolution::One(2), "{found:?}");
}
