//! Schedules over a real store with a clock that is moved: replicas that are killed, catching up,
//! alerts, deliveries.

use crate::toolbox::Shop;
use crate::workers::{once, quiet};
use crate::{Fixture, user, write};
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steward_domain::{
    Alert, AlertCondition, AlertStatus, CatchUp, Delivery, DeliveryStatus, DeliveryTarget, Label, Question,
    Schedule, ScheduleSubject, TaskStatus, Timestamp,
};
use steward_journal::clock::ManualClock;
use steward_models::Models;
use steward_runtime::run::{Runner, Service};
use steward_runtime::schedule::{Cadence, Deliverer, NewAlert, NewSchedule, signature};
use steward_runtime::{find_saved, list_saved};
use steward_store::{Page, Scope};
use steward_tools::egress::Rules;
use tokio_util::sync::CancellationToken;

fn scope() -> Scope {
    Scope::User(user())
}

/// A app whose clock is moved by hand.
struct Bench {
    fixture: Fixture,
    clock: Arc<ManualClock>,
    data: String,
}

impl Bench {
    fn over(mut fixture: Fixture) -> Self {
        let start: Timestamp = "2026-03-28T00:00:00Z".parse().unwrap();
        let clock = Arc::new(ManualClock::at(start));
        fixture.app.clock = clock.clone();
        let data = write(fixture.folder.path(), "stock.csv", "item,amount\npen,5\nlamp,7\n");
        Self { fixture, clock, data }
    }

    async fn runner(&self) -> Runner {
        let toolbox = Arc::new(Shop::toolbox(&self.fixture).await);
        Runner::new(toolbox, Arc::new(Models::default()), self.fixture.folder.path().to_owned()).unwrap()
    }

    fn question(&self, cadence: &str, catch_up: CatchUp) -> NewSchedule {
        NewSchedule {
            user: user(),
            name: Label::new("stock").unwrap(),
            cadence: cadence.to_owned(),
            zone: "UTC".to_owned(),
            subject: ScheduleSubject::Question {
                question: Question::new("total amount").unwrap(),
                data: vec![self.data.clone()],
            },
            catch_up,
            deliver_to: Vec::new(),
        }
    }

    fn write_stock(&self, amount: i64) {
        write(self.fixture.folder.path(), "stock.csv", &format!("item,amount\npen,{amount}\n"));
    }

    /// One look at the clock, then the tasks, then what they gave.
    async fn work(&self, runner: &Runner, deliverer: &Deliverer) {
        runner.round(deliverer).await.unwrap();
        Service::new(runner.clone(), once()).run(CancellationToken::new(), quiet()).await.unwrap();
        runner.round(deliverer).await.unwrap();
    }

    async fn due(&self, schedule: &Schedule) -> Vec<Timestamp> {
        let ticks = self.fixture.app.store.ticks(&scope(), schedule.id, Page::first(10_000)).await.unwrap();
        ticks.iter().rev().map(|tick| tick.due_at).collect()
    }
}

fn nowhere() -> Deliverer {
    Deliverer::new(Rules::default(), None)
}

#[tokio::test]
async fn a_scheduled_question_is_answered_at_its_time_and_not_before() {
    let bench = Bench::over(Fixture::new());
    let runner = bench.runner().await;
    let new = bench.question("every day 2:30 Europe/Berlin", CatchUp::Last);
    let schedule = runner.add_schedule(new, "test").await.unwrap();
    bench.work(&runner, &nowhere()).await;
    assert_eq!(bench.due(&schedule).await, []);
    bench.clock.advance(Duration::from_secs(90 * 60));
    bench.work(&runner, &nowhere()).await;
    bench.work(&runner, &nowhere()).await;
    assert_eq!(bench.due(&schedule).await, ["2026-03-28T01:30:00Z".parse().unwrap()]);
    let now: Schedule = find_saved(&*bench.fixture.app.store, &scope(), schedule.id.0).await.unwrap();
    let task = bench.fixture.app.store.task(&scope(), now.last_task.unwrap()).await.unwrap().unwrap();
    assert_eq!(task.status, TaskStatus::Completed);
    assert!(task.result.as_deref().unwrap_or_default().contains("12"), "{:?}", task.result);
    // The night the clock goes forward: 2:30 does not exist, so it runs at 3:00.
    assert_eq!(now.next_at, Some("2026-03-29T01:00:00Z".parse().unwrap()));
    assert_eq!(bench.fixture.count(task.id, "schedule_ticked").await, 1);
}

#[tokio::test]
async fn missed_ticks_are_caught_up_as_the_schedule_says() {
    let bench = Bench::over(Fixture::new());
    let runner = bench.runner().await;
    let mut made = Vec::new();
    for catch_up in [CatchUp::All, CatchUp::Last, CatchUp::Skip] {
        made.push(runner.add_schedule(bench.question("every hour", catch_up), "test").await.unwrap());
    }
    // Nobody was there for five hours and a half.
    bench.clock.advance(Duration::from_secs(5 * 3600 + 1800));
    for _ in 0..6 {
        runner.round(&nowhere()).await.unwrap();
    }
    let hours = async |schedule: &Schedule| bench.due(schedule).await.len();
    assert_eq!((hours(&made[0]).await, hours(&made[1]).await, hours(&made[2]).await), (5, 1, 0));
    assert_eq!(bench.due(&made[1]).await, ["2026-03-28T05:00:00Z".parse().unwrap()]);
    // A paused schedule has no ticks, and goes on with the next one.
    runner.pause_schedule(&scope(), made[1].id, true, "test").await.unwrap();
    bench.clock.advance(Duration::from_secs(3600));
    runner.round(&nowhere()).await.unwrap();
    assert_eq!(hours(&made[1]).await, 1);
    let resumed = runner.pause_schedule(&scope(), made[1].id, false, "test").await.unwrap();
    assert_eq!(resumed.next_at, Some("2026-03-28T07:00:00Z".parse().unwrap()));
}

/// Four replicas look at the clock and are killed at any moment: every tick is taken, and none
/// twice.
async fn replicas_are_killed(fixture: Fixture, kills: usize) {
    let bench = Bench::over(fixture);
    let first = bench.runner().await;
    let new = bench.question("every minute", CatchUp::All);
    let cadence = Cadence::read(&new.cadence, "UTC").unwrap();
    let schedule = first.add_schedule(new, "test").await.unwrap();
    let mut replicas = vec![first];
    for _ in 0..3 {
        replicas.push(bench.runner().await);
    }
    let mut killed = 0;
    let mut seed = 3_u64;
    while killed < kills {
        bench.clock.advance(Duration::from_secs(31));
        let rounds: Vec<_> = replicas
            .iter()
            .map(|runner| {
                let runner = runner.clone();
                tokio::spawn(async move { runner.round(&nowhere()).await })
            })
            .collect();
        for round in rounds {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
            let patience = Duration::from_micros((seed >> 33) % 4000);
            let abort = round.abort_handle();
            tokio::time::sleep(patience).await;
            abort.abort();
            match round.await {
                Ok(done) => done.unwrap(),
                Err(stopped) => {
                    assert!(stopped.is_cancelled(), "{stopped}");
                    killed += 1;
                }
            }
        }
    }
    // Those that are left take what is left.
    for _ in 0..10_000 {
        let before = bench.due(&schedule).await.len();
        replicas[0].round(&nowhere()).await.unwrap();
        if bench.due(&schedule).await.len() == before {
            break;
        }
    }
    let now = bench.fixture.app.clock.now();
    let mut expected = Vec::new();
    let mut moment = schedule.created_at;
    while let Some(next) = cadence.next_after(moment).unwrap().filter(|next| *next <= now) {
        expected.push(next);
        moment = next;
    }
    assert_eq!(bench.due(&schedule).await, expected, "none is missed");
    let ticks = bench.fixture.app.store.ticks(&scope(), schedule.id, Page::first(10_000)).await.unwrap();
    let tasks: BTreeSet<_> = ticks.iter().map(|tick| tick.task_id).collect();
    assert_eq!(tasks.len(), ticks.len(), "each has a task of its own");
    let queued =
        bench.fixture.app.store.tasks(&scope(), Default::default(), Page::first(20_000)).await.unwrap();
    assert_eq!(queued.iter().map(|task| task.id).collect::<BTreeSet<_>>(), tasks, "and there is no other");
    println!("{killed} replicas killed, {} ticks, 0 missed, 0 doubled", ticks.len());
}

fn kills() -> usize {
    std::env::var("STEWARD_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(200)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_replicas_miss_and_double_no_tick() {
    replicas_are_killed(Fixture::new(), kills()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_replicas_miss_and_double_no_tick_on_postgres() {
    if let Some(fixture) = Fixture::on_postgres().await {
        replicas_are_killed(fixture, kills()).await;
    }
}

/// A receiver that fails first and then takes what it gets.
fn receiver(failures: usize) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = heard.clone();
    std::thread::spawn(move || {
        for (place, stream) in listener.incoming().take(50).enumerate() {
            let mut stream = stream.unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let (mut text, mut bytes) = (String::new(), [0_u8; 4096]);
            loop {
                let read = stream.read(&mut bytes).unwrap_or(0);
                text.push_str(&String::from_utf8_lossy(&bytes[..read]));
                let length = text.to_lowercase().split("content-length: ").nth(1).and_then(|rest| {
                    rest.split("\r\n").next().and_then(|length| length.parse::<usize>().ok())
                });
                let body = text.split_once("\r\n\r\n").map_or(0, |(_, body)| body.len());
                if read == 0 || length.is_some_and(|length| text.contains("\r\n\r\n") && body >= length) {
                    break;
                }
            }
            kept.lock().unwrap().push(text);
            let status = if place < failures { "500 Internal Server Error" } else { "200 OK" };
            let _gone = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    (format!("http://127.0.0.1:{port}/hook"), heard)
}

fn door(url: &str) -> Rules {
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    Rules { allow: vec![host.parse().unwrap()], allow_private: true, ..Rules::default() }
}

#[tokio::test]
async fn an_alert_is_sent_once_while_it_stands_over_restarts_and_retries() {
    let bench = Bench::over(Fixture::new());
    let (url, heard) = receiver(1);
    let deliverer = || Deliverer::new(door(&url), Some("secret".to_owned()));
    let runner = bench.runner().await;
    let schedule = runner.add_schedule(bench.question("every hour", CatchUp::Last), "test").await.unwrap();
    let new = NewAlert {
        schedule: schedule.id,
        name: Label::new("low").unwrap(),
        condition: AlertCondition::Below(10.0),
        quiet: None,
        notify: vec![DeliveryTarget::Webhook(url.clone())],
    };
    let alert = runner.add_alert(&scope(), new, "test").await.unwrap();
    let store = &bench.fixture.app.store;
    let status = async || find_saved::<Alert>(&**store, &scope(), alert.id.0).await.unwrap().status;
    let mut sent = Vec::new();
    for amount in [12, 4, 3, 2, 20, 1] {
        bench.write_stock(amount);
        bench.clock.advance(Duration::from_secs(3600));
        // Each hour in a process of its own.
        let runner = bench.runner().await;
        bench.work(&runner, &deliverer()).await;
        bench.clock.advance(Duration::from_secs(60));
        bench.work(&runner, &deliverer()).await;
        sent.push(heard.lock().unwrap().len());
    }
    assert_eq!(
        sent,
        [0, 2, 2, 2, 2, 3],
        "once, and once more because the first try failed; then after it was over"
    );
    assert_eq!(status().await, AlertStatus::Standing);
    runner.acknowledge(&scope(), alert.id, &user(), "test").await.unwrap();
    assert_eq!(status().await, AlertStatus::Acknowledged);
    let deliveries: Vec<Delivery> = list_saved(&**store, &scope(), Page::first(9)).await.unwrap();
    assert!(deliveries.iter().all(|one| one.status == DeliveryStatus::Delivered), "{deliveries:?}");
    assert_eq!(deliveries.iter().map(|one| one.attempts).collect::<Vec<_>>(), [1, 2], "newest first");
    // The receiver can tell that it comes from here, and that a second try is the same delivery.
    let heard = heard.lock().unwrap();
    let header = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.to_lowercase().starts_with(name)).unwrap().to_owned();
        line.split_once(": ").unwrap().1.trim().to_owned()
    };
    assert_eq!(header(&heard[0], "steward-delivery"), header(&heard[1], "steward-delivery"));
    let body = heard[1].split_once("\r\n\r\n").unwrap().1;
    let signed = header(&heard[1], "steward-signature");
    let (time, digest) = signed.split_once(",v1=").unwrap();
    let seconds = time.trim_start_matches("t=").parse().unwrap();
    assert_eq!(digest, signature("secret", seconds, body));
    let content: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!((&content["event"], &content["alert"]["value"]), (&"alert".into(), &4.0.into()));
}

#[tokio::test]
async fn nothing_is_sent_to_a_host_that_is_not_listed() {
    let bench = Bench::over(Fixture::new());
    let (url, heard) = receiver(0);
    let runner = bench.runner().await;
    let mut new = bench.question("every hour", CatchUp::Last);
    new.deliver_to = vec![DeliveryTarget::Webhook(url)];
    runner.add_schedule(new, "test").await.unwrap();
    bench.clock.advance(Duration::from_secs(3600));
    bench.work(&runner, &nowhere()).await;
    let deliveries: Vec<Delivery> =
        list_saved(&*bench.fixture.app.store, &scope(), Page::first(9)).await.unwrap();
    assert_eq!(deliveries.len(), 1);
    assert_eq!((deliveries[0].status, heard.lock().unwrap().len()), (DeliveryStatus::Waiting, 0));
}

#[tokio::test]
async fn a_tick_runs_with_the_grants_of_its_moment() {
    let bench = Bench::over(Fixture::new());
    let runner = bench.runner().await;
    let schedule = runner.add_schedule(bench.question("every hour", CatchUp::Last), "test").await.unwrap();
    bench.fixture.grants.set(user(), Err("they left"));
    bench.clock.advance(Duration::from_secs(3600));
    bench.work(&runner, &nowhere()).await;
    assert_eq!(bench.due(&schedule).await, [], "nothing is queued for somebody who may not use it");
    let chain = steward_domain::ChainId(schedule.id.0);
    let entries = bench.fixture.app.store.entries(&scope(), chain, 0, 10).await.unwrap();
    let last = entries.last().unwrap();
    assert!(last.entry.event_data.to_string().contains("they left"));
}

/// Replicas die while they settle ticks and send. Each time the alert is raised there is one
/// delivery, whatever else is cut off.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_replicas_raise_an_alert_once() {
    let bench = Bench::over(Fixture::new());
    let (url, heard) = receiver(0);
    let deliverer = || Deliverer::new(door(&url), None);
    let runner = bench.runner().await;
    let schedule = runner.add_schedule(bench.question("every hour", CatchUp::Last), "test").await.unwrap();
    let new = NewAlert {
        schedule: schedule.id,
        name: Label::new("low").unwrap(),
        condition: AlertCondition::Below(10.0),
        quiet: None,
        notify: vec![DeliveryTarget::Webhook(url.clone())],
    };
    runner.add_alert(&scope(), new, "test").await.unwrap();
    let replicas = [bench.runner().await, bench.runner().await, bench.runner().await];
    let (mut killed, mut seed, mut raised, mut stands) = (0, 5_u64, 0, false);
    for amount in [12, 4, 3, 20, 1, 2, 2, 30, 5] {
        raised += usize::from(amount < 10 && !stands);
        stands = amount < 10;
        bench.write_stock(amount);
        bench.clock.advance(Duration::from_secs(3600));
        for _ in 0..8 {
            let rounds: Vec<_> = replicas
                .iter()
                .map(|replica| {
                    let (replica, deliverer) = (replica.clone(), deliverer());
                    tokio::spawn(async move { replica.round(&deliverer).await })
                })
                .collect();
            for round in rounds {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
                tokio::time::sleep(Duration::from_micros((seed >> 33) % 6000)).await;
                round.abort();
                killed += usize::from(round.await.is_err_and(|stopped| stopped.is_cancelled()));
            }
            Service::new(runner.clone(), once()).run(CancellationToken::new(), quiet()).await.unwrap();
        }
        // What a killed replica had claimed is free again after a minute.
        for _ in 0..3 {
            bench.work(&runner, &deliverer()).await;
            bench.clock.advance(Duration::from_secs(70));
        }
    }
    let deliveries: Vec<Delivery> =
        list_saved(&*bench.fixture.app.store, &scope(), Page::first(50)).await.unwrap();
    assert_eq!(deliveries.len(), raised, "{killed} killed: {deliveries:?}");
    assert!(deliveries.iter().all(|one| one.status == DeliveryStatus::Delivered), "{deliveries:?}");
    let heard = heard.lock().unwrap();
    let ids: BTreeSet<&str> = heard
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.starts_with("steward-delivery"))
        .collect();
    assert_eq!(ids.len(), raised, "{ids:?}");
    assert!(killed > 20, "{killed}");
}
