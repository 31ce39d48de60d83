//! Verified answers from end to end: recognised, run with the asker's grants, compared when the
//! data changes.

use crate::{Fixture, ask, retail, user, write};
use steward_domain::{Feedback, FeedbackStatus, Rating, UserId};
use steward_runtime::ask::{Ask, Planner};
use steward_runtime::{CheckOutcome, NewVerified, Opinion, list_saved};
use steward_store::{Page, Scope};

const NET: &str = "SELECT sum(amount - cost) AS net FROM sales WHERE state = 'Arizona'";

fn by_sql(sql: &str) -> NewVerified {
    NewVerified { sql: Some(sql.to_owned()), ..NewVerified::default() }
}

#[tokio::test]
async fn verified_statement_answers_only_matching_questions() {
    let fixture = Fixture::new();
    let data = [retail("sales.csv")];
    let question = "net sales in Arizona";
    let verified = fixture.app.verify(&ask(question, &data), by_sql(NET), "test").await.unwrap();
    let answer = fixture.ask(ask("What are the net sales in Texas?", &data)).await;
    let mark = answer.verified.clone().expect("the verified answer fits");
    assert_eq!((mark.id, answer.planner), (verified.id, "verified"));
    assert!(answer.sql[0].sql.contains("'Texas'") && !answer.sql[0].sql.contains("'Arizona'"));
    assert_eq!(answer.json()["verified"]["by"], user().as_str());
    // Somebody else is answered by it, too.
    let other = UserId::new("ben").unwrap();
    let theirs = fixture.ask(Ask { user: other, ..ask("net sales in Ohio", &data) }).await;
    assert!(theirs.verified.is_some() || theirs.response.error.is_some());
    for question in
        ["average sales in Texas", "sales in Texas", "net sales by state", "net sales in Texas in 2021"]
    {
        assert!(fixture.ask(ask(question, &data)).await.verified.is_none(), "{question}");
    }
    // Taken back, it answers nothing any more, and the journal says all of it.
    fixture.app.unverify(&Scope::User(user()), verified.id, "test").await.unwrap();
    assert!(fixture.ask(ask(question, &data)).await.verified.is_none());
    let only = Ask { planner: Some(Planner::Verified), ..ask(question, &data) };
    assert_eq!(fixture.ask(only).await.error_code, Some("ASK001"));
    let chain = steward_domain::ChainId(verified.id.0);
    let entries = fixture.app.store.entries(&Scope::User(user()), chain, 0, 10).await.unwrap();
    let said: Vec<String> = entries
        .iter()
        .map(|entry| serde_json::from_str::<serde_json::Value>(&entry.entry.event_data).unwrap())
        .map(|data| data["action"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(said, ["verified", "taken_back"]);
}

#[tokio::test]
async fn an_earlier_answer_becomes_a_verified_one() {
    let fixture = Fixture::new();
    let data = [retail("sales.csv")];
    let answer = fixture.ask(ask("total amount by category", &data)).await;
    let task = answer.response.request_id;
    let opinion = Opinion { task, rating: Rating::Up, comment: "as booked".to_owned(), corrected_sql: None };
    fixture.app.rate(&user(), opinion, "test").await.unwrap();
    let scope = Scope::User(user());
    let verified =
        fixture.app.verify_earlier(ask("", &[]), &scope, task, NewVerified::default(), "test").await.unwrap();
    assert_eq!((verified.question.as_str(), verified.origin), ("total amount by category", Some(task)));
    let feedback: Vec<Feedback> = list_saved(&*fixture.app.store, &scope, Page::first(9)).await.unwrap();
    assert_eq!(feedback.iter().map(|one| one.status).collect::<Vec<_>>(), [FeedbackStatus::Verified]);
    let again = fixture.ask(ask("the total amount for each category", &data)).await;
    assert_eq!(again.verified.map(|mark| mark.id), Some(verified.id));
}

#[tokio::test]
async fn a_time_that_is_counted_from_today_is_not_frozen() {
    let fixture = Fixture::new();
    let fixed = by_sql("SELECT sum(amount) FROM sales WHERE order_date >= '2021-12-01'");
    let refused =
        fixture.app.verify(&ask("total sales last month", &[retail("sales.csv")]), fixed, "test").await;
    assert!(refused.is_err_and(|error| error.to_string().contains("counts its time")));
}

/// Rows of a small table, changed at random; what its verified answers give is worked out here by
/// hand.
#[derive(Clone)]
struct Book(Vec<(i64, &'static str, i64)>);

impl Book {
    fn csv(&self, header: &str) -> String {
        let rows = self.0.iter().map(|(id, state, amount)| format!("{id},{state},{amount}\n"));
        format!("{header}\n{}", rows.collect::<String>())
    }

    fn total(&self) -> Option<i64> {
        (!self.0.is_empty()).then(|| self.0.iter().map(|(.., amount)| amount).sum())
    }

    fn by_state(&self) -> Vec<(&'static str, i64)> {
        let mut totals = std::collections::BTreeMap::new();
        self.0.iter().for_each(|(_, state, amount)| *totals.entry(*state).or_insert(0) += amount);
        totals.into_iter().collect()
    }

    fn largest(&self) -> Vec<(i64, i64)> {
        let mut rows: Vec<(i64, i64)> = self.0.iter().map(|(id, _, amount)| (*id, *amount)).collect();
        rows.sort_by_key(|(id, amount)| (-amount, *id));
        rows.truncate(2);
        rows
    }
}

#[tokio::test]
async fn every_answer_that_changed_is_reported_and_no_other() {
    let fixture = Fixture::new();
    let start = Book(vec![(1, "AZ", 10), (2, "TX", 20), (3, "AZ", 30), (4, "OH", 5), (5, "TX", 7)]);
    let header = "id,state,amount";
    let path = write(fixture.folder.path(), "book.csv", &start.csv(header));
    let data = [path];
    let statements = [
        ("total amount", "SELECT sum(amount) AS total FROM book"),
        ("amount for each state", "SELECT state, sum(amount) AS total FROM book GROUP BY state"),
        ("two largest", "SELECT id, amount FROM book ORDER BY amount DESC, id LIMIT 2"),
    ];
    let mut ids = Vec::new();
    for (question, sql) in statements {
        ids.push(fixture.app.verify(&ask(question, &data), by_sql(sql), "test").await.unwrap().id);
    }
    let mut seed = 7_u64;
    let mut draw = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let (mut moved, mut stayed) = (0, 0);
    for round in 0..60 {
        let mut book = start.clone();
        let place = draw(book.0.len());
        let mut header = header;
        match draw(7) {
            0 => book.0[place].2 += 1,
            1 => book.0.push((9, "TX", 0)),
            2 => drop(book.0.remove(place)),
            3 => book.0.reverse(),
            4 => book.0[place].1 = "AZ",
            5 => header = "id,state,sum",
            _ => book.0.swap(0, place),
        }
        write(fixture.folder.path(), "book.csv", &book.csv(header));
        let renamed = header != "id,state,amount";
        let expected = [
            renamed || book.total() != start.total(),
            renamed || book.by_state() != start.by_state(),
            renamed || book.largest() != start.largest(),
        ];
        let checks = fixture.app.check_verified(&ask("", &[]), &[], "test").await.unwrap();
        for (id, changed) in ids.iter().zip(expected) {
            let outcome = &checks.iter().find(|check| check.id == *id).unwrap().outcome;
            assert_eq!(*outcome != CheckOutcome::Same, changed, "round {round}: {outcome:?}");
            *(if changed { &mut moved } else { &mut stayed }) += 1;
        }
    }
    assert!(moved > 30 && stayed > 30, "both happen: {moved} and {stayed}");
}

#[tokio::test]
async fn unanswered_questions_are_grouped_with_fixes() {
    use steward_runtime::{GapReason, ProposedFix};
    let fixture = Fixture::new();
    let (app, data) = (&fixture.app, [retail("sales.csv")]);
    let verified = app.verify(&ask("net sales in Arizona", &data), by_sql(NET), "test").await.unwrap();
    for question in ["what is the weather in Paris?", "how is the weather in Rome?"] {
        assert_eq!(fixture.ask(ask(question, &data)).await.error_code, Some("ASK001"), "{question}");
    }
    let answer = fixture.ask(ask("total amount by category", &data)).await;
    let sql = "SELECT category, sum(amount - cost) FROM sales GROUP BY category".to_owned();
    let opinion = Opinion {
        task: answer.response.request_id,
        rating: Rating::Down,
        comment: "net is meant".to_owned(),
        corrected_sql: Some(sql.clone()),
    };
    app.rate(&user(), opinion, "test").await.unwrap();
    let groups = app.gaps(&Scope::User(user())).await.unwrap();
    assert_eq!(groups.len(), 2, "{groups:?}");
    let weather =
        groups.iter().find(|group| group.questions.len() == 2).expect("both questions belong together");
    assert!(matches!(weather.questions[0].reason, GapReason::Unanswered { .. }));
    assert_eq!(weather.fix, ProposedFix::Answer);
    let wrong = groups.iter().find(|group| group.questions.len() == 1).unwrap();
    assert_eq!(wrong.fix, ProposedFix::Verify { task_id: answer.response.request_id, sql });
    // Other words for a verified answer are its verifier's to give.
    let words = "what is left of the sales in Arizona";
    let other = UserId::new("ben").unwrap();
    assert!(app.add_paraphrase(&other, verified.id, words, "test").await.is_err());
    app.add_paraphrase(&user(), verified.id, words, "test").await.unwrap();
    let again = fixture.ask(ask("what is left of the sales in Texas", &data)).await;
    assert_eq!(again.verified.map(|mark| mark.id), Some(verified.id));
}
