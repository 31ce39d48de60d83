//! The work queue. There is one for the whole store, so these behaviours run one at a time, each
//! starting with an empty queue.

use super::samples::*;
use crate::{Change, Commit, Depth, Error, Lease, Page, Scope, Store, TaskFilter};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use steward_domain::*;
use tokio::sync::{Mutex, MutexGuard};

const LEASE: Duration = Duration::from_secs(30);
const NO_LIMIT: u32 = u32::MAX;

static TURN: Mutex<()> = Mutex::const_new(());

/// Takes the lock and empties the queue of tasks that a failed behaviour left.
async fn alone(store: &dyn Store) -> MutexGuard<'static, ()> {
    let turn = TURN.lock().await;
    loop {
        let left = claim(store, "broom", 1_000_000_000, 1000).await;
        if left.is_empty() {
            return turn;
        }
        for lease in left {
            leave(store, &lease.user, lease.task).await;
        }
    }
}

fn worker(name: &str) -> Label {
    Label::new(name).unwrap()
}

async fn claim(store: &dyn Store, name: &str, seconds: i64, limit: u32) -> Vec<Lease> {
    store.claim(&worker(name), at(seconds), LEASE, limit, NO_LIMIT).await.unwrap()
}

/// Creates and queues tasks of a user in one commit.
async fn queued(store: &dyn Store, user: &UserId, count: usize, ready: i64) -> Vec<TaskId> {
    let (mut all, mut ids) = (commit(user), Vec::new());
    for _ in 0..count {
        let task = task(user, 1);
        ids.push(task.id);
        let ready_at = at(ready);
        all = all.change(Change::PutTask(task.clone())).change(Change::Enqueue { task: task.id, ready_at });
    }
    store.commit(&scope(user), all).await.unwrap();
    ids
}

async fn requeue(store: &dyn Store, user: &UserId, task: TaskId, ready: i64) {
    let change = Change::Enqueue { task, ready_at: at(ready) };
    store.commit(&scope(user), commit(user).change(change)).await.unwrap();
}

async fn leave(store: &dyn Store, user: &UserId, task: TaskId) {
    store.commit(&scope(user), commit(user).change(Change::Dequeue { task })).await.unwrap();
}

fn tasks(leases: &[Lease]) -> Vec<TaskId> {
    leases.iter().map(|lease| lease.task).collect()
}

pub(super) async fn first_come_first_served(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let user = user();
    let ids = queued(&*store, &user, 5, 0).await;
    // A waiting task that is queued again keeps its place.
    requeue(&*store, &user, ids[1], 1).await;
    let first = claim(&*store, "a", 10, 2).await;
    assert_eq!(tasks(&first), ids[..2]);
    let lease = &first[0];
    assert_eq!((&lease.user, &lease.worker, lease.until), (&user, &worker("a"), at(40)));
    // A held task that is queued again goes behind the others; a released one gets its old place.
    requeue(&*store, &user, ids[0], 1).await;
    store.release(&first[1], at(2)).await.unwrap();
    let rest = claim(&*store, "b", 10, 9).await;
    assert_eq!(tasks(&rest), [ids[1], ids[2], ids[3], ids[4], ids[0]]);
    assert!(claim(&*store, "c", 10, 9).await.is_empty());
    let old = first.iter().map(|lease| lease.token).max().unwrap();
    let tokens: BTreeSet<i64> = rest.iter().map(|lease| lease.token).collect();
    assert!(tokens.len() == 5 && tokens.iter().all(|token| *token > old), "{old} {tokens:?}");
}

pub(super) async fn one_user_does_not_hold_up_another(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let (many, few, third) = (user(), user(), user());
    let a = queued(&*store, &many, 100, 0).await;
    let b = queued(&*store, &few, 1, 0).await;
    let first = claim(&*store, "w", 10, 2).await;
    assert_eq!(tasks(&first), [a[0], b[0]]);
    // A user with a task in progress waits behind users without one, whoever queued first.
    let c = queued(&*store, &third, 2, 0).await;
    let second = claim(&*store, "w", 10, 4).await;
    assert_eq!(tasks(&second), [c[0], a[1], c[1], a[2]]);
}

pub(super) async fn nobody_has_more_than_their_share(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let (one, two) = (user(), user());
    let a = queued(&*store, &one, 10, 0).await;
    let b = queued(&*store, &two, 2, 0).await;
    let share = |limit| {
        let store = store.clone();
        async move { store.claim(&worker("w"), at(10), LEASE, limit, 3).await.unwrap() }
    };
    let held = share(9).await;
    assert_eq!(tasks(&held), [a[0], b[0], a[1], b[1], a[2]]);
    assert!(share(9).await.is_empty());
    leave(&*store, &one, a[1]).await;
    assert_eq!(tasks(&share(9).await), [a[3]]);
    // Concurrent claims do not exceed the limit either.
    let greedy = user();
    queued(&*store, &greedy, 40, 0).await;
    let mut claimers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let share = share(2);
        claimers.spawn(share);
    }
    let got: usize = claimers.join_all().await.iter().map(Vec::len).sum();
    assert_eq!(got + share(9).await.len(), 3);
    // An expired lease no longer counts.
    let later = store.claim(&worker("w"), at(100), LEASE, 99, 3).await.unwrap();
    assert_eq!(later.iter().filter(|lease| lease.user == greedy).count(), 3);
}

pub(super) async fn delayed_tasks_wait_for_their_time(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let user = user();
    let late = queued(&*store, &user, 2, 20).await;
    let now = queued(&*store, &user, 1, 10).await;
    let depth = |seconds| {
        let store = store.clone();
        async move { store.queue_depth(at(seconds)).await.unwrap() }
    };
    assert_eq!(depth(9).await, Depth { ready: 0, delayed: 3, claimed: 0 });
    assert!(claim(&*store, "w", 9, 9).await.is_empty());
    assert_eq!(depth(10).await, Depth { ready: 1, delayed: 2, claimed: 0 });
    assert_eq!(tasks(&claim(&*store, "w", 10, 9).await), now);
    assert_eq!(depth(20).await, Depth { ready: 2, delayed: 0, claimed: 1 });
    let held = claim(&*store, "w", 20, 9).await;
    assert_eq!(tasks(&held), late);
    store.release(&held[0], at(35)).await.unwrap();
    assert_eq!(depth(30).await, Depth { ready: 0, delayed: 1, claimed: 2 });
    assert_eq!(depth(45).await, Depth { ready: 2, delayed: 0, claimed: 1 });
    assert!(!tasks(&claim(&*store, "w", 34, 9).await).contains(&held[0].task));
    assert_eq!(tasks(&claim(&*store, "w", 35, 9).await), [held[0].task]);
}

/// The rows of a user: tasks and the entries of a chain.
async fn written(store: &dyn Store, user: &UserId, chain: TaskId) -> (Vec<Valid<Task>>, usize) {
    let tasks = store.tasks(&scope(user), TaskFilter::default(), Page::first(99)).await.unwrap();
    (tasks, store.entries(&scope(user), chain.into(), 0, 99).await.unwrap().len())
}

pub(super) async fn a_lost_lease_writes_nothing(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let user = user();
    let id = queued(&*store, &user, 1, 0).await[0];
    let step = |lease: &Lease, n: i64| {
        let changed = task(&user, 1).with(|task| task.id = id).unwrap().start(at(n)).unwrap();
        Commit::new(user.clone(), id)
            .entry(draft(EventType::StepRecorded, json!({ "n": n })))
            .change(Change::PutTask(changed))
            .change(Change::PutTask(task(&user, n)))
            .fenced(lease.fence())
    };
    let paused = claim(&*store, "paused", 0, 1).await.remove(0);
    store.commit(&scope(&user), step(&paused, 1)).await.unwrap();
    let paused = store.renew(&paused, at(40)).await.unwrap();
    assert_eq!(paused.until, at(40));
    assert!(claim(&*store, "other", 39, 1).await.is_empty(), "the heartbeat holds it");

    let holder = claim(&*store, "other", 40, 1).await.remove(0);
    assert!(holder.task == id && holder.token > paused.token, "{paused:?} {holder:?}");
    let before = written(&*store, &user, id).await;
    for scope in [scope(&user), Scope::System] {
        let refused = store.commit(&scope, step(&paused, 2)).await;
        assert!(matches!(refused, Err(Error::LeaseLost)), "{refused:?}");
    }
    assert!(matches!(store.renew(&paused, at(999)).await, Err(Error::LeaseLost)));
    assert!(matches!(store.release(&paused, at(0)).await, Err(Error::LeaseLost)));
    let end = Commit::new(user.clone(), id).change(Change::Dequeue { task: id }).fenced(paused.fence());
    assert!(matches!(store.commit(&scope(&user), end).await, Err(Error::LeaseLost)));
    assert_eq!(written(&*store, &user, id).await, before);
    assert_eq!(store.queue_depth(at(50)).await.unwrap(), Depth { ready: 0, delayed: 0, claimed: 1 });

    // The holder may continue to write; the commit that ends the task is its last.
    let last = step(&holder, 3).change(Change::Dequeue { task: id });
    store.commit(&scope(&user), last).await.unwrap();
    assert_eq!(written(&*store, &user, id).await.1, before.1 + 1);
    assert!(matches!(store.commit(&scope(&user), step(&holder, 4)).await, Err(Error::LeaseLost)));
    assert!(matches!(store.renew(&holder, at(999)).await, Err(Error::LeaseLost)));

    // Queueing again or releasing also ends a claim, even if no other worker took the task since.
    requeue(&*store, &user, id, 0).await;
    let mut holder = claim(&*store, "w", 50, 1).await.remove(0);
    requeue(&*store, &user, id, 0).await;
    for _ in 0..2 {
        assert!(matches!(store.commit(&scope(&user), step(&holder, 5)).await, Err(Error::LeaseLost)));
        assert!(matches!(store.release(&holder, at(0)).await, Err(Error::LeaseLost)));
        holder = claim(&*store, "w", 50, 1).await.remove(0);
        store.release(&holder, at(0)).await.unwrap();
    }
}

/// A refused commit does not affect others that share its sync.
pub(super) async fn a_task_is_held_from_the_moment_it_exists(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let user = user();
    let task = task(&user, 1);
    let hold = |name: &str, until: i64, unless_held: Option<i64>| Change::Hold {
        task: task.id,
        worker: worker(name),
        until: at(until),
        unless_held: unless_held.map(at),
    };
    let taken = |change: Change| {
        let (store, user) = (store.clone(), user.clone());
        async move { store.commit(&scope(&user), commit(&user).change(change)).await }
    };
    assert!(matches!(taken(hold("one", 40, None)).await, Err(Error::NotFound { .. })), "no task yet");
    let made = commit(&user).change(Change::PutTask(task.clone())).change(hold("one", 40, None));
    let one = store.commit(&scope(&user), made).await.unwrap().lease.unwrap();
    assert_eq!((one.task, one.worker.as_str(), one.until), (task.id, "one", at(40)));
    assert_eq!(store.lease(task.id).await.unwrap().as_ref(), Some(&one));
    assert!(claim(&*store, "other", 20, 9).await.is_empty(), "it is held");
    // An unexpired lease of another worker is respected; a worker's own lease is renewed.
    assert!(matches!(taken(hold("two", 60, Some(20))).await, Err(Error::LeaseLost)));
    let again = taken(hold("one", 50, Some(20))).await.unwrap().lease.unwrap();
    assert!(again.token > one.token);
    let two = taken(hold("two", 90, Some(51))).await.unwrap().lease.unwrap();
    assert!(two.token > again.token, "a lease that ran out is free");
    // Or it is taken in any case, and the previous holder can write no more.
    let three = taken(hold("three", 95, None)).await.unwrap().lease.unwrap();
    let late = commit(&user).change(Change::Dequeue { task: task.id }).fenced(two.fence());
    assert!(matches!(store.commit(&scope(&user), late).await, Err(Error::LeaseLost)));
    // A restarted worker releases all of its leases at once.
    store.release_all(&worker("nobody"), at(60)).await.unwrap();
    assert_eq!(store.lease(task.id).await.unwrap(), Some(three));
    store.release_all(&worker("three"), at(60)).await.unwrap();
    assert_eq!(store.lease(task.id).await.unwrap(), None);
    assert_eq!(claim(&*store, "four", 60, 9).await.len(), 1);
    leave(&*store, &user, task.id).await;
}

pub(super) async fn a_refused_commit_is_taken_back_alone(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let user = user();
    let ids = queued(&*store, &user, 20, 0).await;
    let lost = claim(&*store, "lost", 0, 10).await;
    let held = claim(&*store, "held", 60, 20).await;
    assert_eq!(held.len(), 20);
    let mut writers = tokio::task::JoinSet::new();
    for lease in lost.into_iter().chain(held) {
        let (store, user) = (store.clone(), user.clone());
        writers.spawn(async move {
            let entry = draft(EventType::StepRecorded, json!({ "token": lease.token }));
            let step = Commit::new(user.clone(), lease.task).entry(entry).fenced(lease.fence());
            match store.commit(&scope(&user), step).await {
                Ok(_) => assert_eq!(lease.worker, worker("held")),
                Err(refused) => {
                    assert!(matches!(refused, Error::LeaseLost), "{refused:?}");
                    assert_eq!(lease.worker, worker("lost"));
                }
            }
        });
    }
    writers.join_all().await;
    for id in ids {
        assert_eq!(written(&*store, &user, id).await.1, 1);
    }
}

/// A user cancels while the worker writes: the first one wins, and neither fails because of the
/// other.
pub(super) async fn cancelling_and_writing_do_not_block_each_other(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let user = user();
    for id in queued(&*store, &user, 20, 0).await {
        let lease = claim(&*store, "w", 10, 1).await.remove(0);
        let entry =
            |n: u8| Commit::new(user.clone(), id).entry(draft(EventType::StepRecorded, json!({ "n": n })));
        let (mine, cancel) = (scope(&user), entry(2).change(Change::Dequeue { task: id }));
        let (wrote, cancelled) =
            tokio::join!(store.commit(&mine, entry(1).fenced(lease.fence())), store.commit(&mine, cancel));
        assert!(matches!(wrote, Ok(_) | Err(Error::LeaseLost)), "{wrote:?}");
        cancelled.unwrap();
        assert_eq!(written(&*store, &user, id).await.1, 1 + usize::from(wrote.is_ok()));
    }
}

pub(super) async fn queue_and_entries_are_one(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let (user, other) = (user(), user());
    let task = task(&user, 1);
    let id = task.id;
    let submit = Commit::new(user.clone(), id)
        .entry(draft(EventType::TaskChanged, json!({ "status": "pending" })))
        .change(Change::PutTask(task))
        .change(Change::Enqueue { task: id, ready_at: at(0) });
    let fails = Change::AppendMessage(message(uuid().into(), "to nowhere", 3));
    assert!(store.commit(&scope(&user), submit.clone().change(fails.clone())).await.is_err());
    assert_eq!(store.queue_depth(at(9)).await.unwrap(), Depth::default());
    store.commit(&scope(&user), submit).await.unwrap();
    assert_eq!(store.queue_depth(at(9)).await.unwrap(), Depth { ready: 1, ..Depth::default() });

    let end = Commit::new(user.clone(), id)
        .entry(draft(EventType::TaskChanged, json!({ "status": "cancelled" })))
        .change(Change::Dequeue { task: id });
    assert!(store.commit(&scope(&user), end.clone().change(fails)).await.is_err());
    assert_eq!(store.queue_depth(at(9)).await.unwrap().ready, 1);
    assert_eq!(written(&*store, &user, id).await.1, 1);

    // Users cannot queue or end tasks of other users, or tasks that do not exist.
    let queue = |task| Change::Enqueue { task, ready_at: at(0) };
    for (who, change) in [
        (&other, queue(id)),
        (&other, Change::Dequeue { task: id }),
        (&user, queue(TaskId(uuid()))),
        (&user, Change::Dequeue { task: TaskId(uuid()) }),
    ] {
        for scope in [scope(who), Scope::System] {
            let refused = store.commit(&scope, commit(who).change(change.clone())).await;
            assert!(matches!(refused, Err(Error::NotFound { .. })), "{change:?}: {refused:?}");
        }
    }
    assert_eq!(store.queue_depth(at(9)).await.unwrap().ready, 1);
    store.commit(&scope(&user), end.clone()).await.unwrap();
    assert_eq!(store.queue_depth(at(9)).await.unwrap(), Depth::default());
    // Removing a task that is not queued succeeds.
    store.commit(&scope(&user), end).await.unwrap();
    assert_eq!(written(&*store, &user, id).await.1, 3);
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

/// How long a wait took.
async fn wait(store: Arc<dyn Store>, at_most: Duration) -> Duration {
    let begun = tokio::time::Instant::now();
    store.wait_for_work(at_most).await.unwrap();
    begun.elapsed()
}

pub(super) async fn waiting_ends_with_work_or_with_time(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let user = user();
    let wait = |at_most| wait(store.clone(), at_most);
    // The first wait starts to listen, and earlier notifications arrive now.
    while wait(SHORT).await < SHORT {}
    // All waiting workers are woken.
    let (one, other, ids) = tokio::join!(wait(LONG), wait(LONG), queued(&*store, &user, 1, 0));
    assert!(one < LONG / 4 && other < LONG / 4, "{one:?} {other:?}");
    while wait(SHORT).await < SHORT {}
    // No worker is waiting at that moment; the next wait returns at once.
    requeue(&*store, &user, ids[0], 0).await;
    assert!(wait(LONG).await < LONG / 4);
    while wait(SHORT).await < SHORT {}
    let lease = claim(&*store, "w", 10, 9).await.remove(0);
    store.release(&lease, at(0)).await.unwrap();
    assert!(wait(LONG).await < LONG / 4);
}

/// Two tasks are queued at once while no worker waits, and each worker takes one: the second is
/// woken too.
pub(super) async fn a_filled_claim_wakes_one_more(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    while wait(store.clone(), SHORT).await < SHORT {}
    queued(&*store, &user(), 2, 0).await;
    for left in [1, 1, 0] {
        assert!(wait(store.clone(), LONG).await < LONG / 4);
        assert_eq!(claim(&*store, "w", 10, 1).await.len(), left);
    }
    assert!(wait(store.clone(), SHORT).await >= SHORT, "nothing was left, so nobody is woken");
}

pub(super) async fn no_task_goes_to_two(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let mut ids = BTreeSet::new();
    for _ in 0..8 {
        ids.extend(queued(&*store, &user(), 25, 0).await);
    }
    let mut claimers = tokio::task::JoinSet::new();
    for number in 0..16 {
        let store = store.clone();
        claimers.spawn(async move {
            let mut got = Vec::new();
            loop {
                let leases = claim(&*store, &format!("w{number}"), 10, 3).await;
                if leases.is_empty() {
                    return got;
                }
                got.extend(leases);
            }
        });
    }
    let got: Vec<Lease> = claimers.join_all().await.into_iter().flatten().collect();
    assert_eq!(got.len(), 200, "each once, and none left lying");
    assert_eq!(got.iter().map(|lease| lease.task).collect::<BTreeSet<_>>(), ids);
    assert_eq!(got.iter().map(|lease| lease.token).collect::<BTreeSet<_>>().len(), 200);
    assert_eq!(store.queue_depth(at(10)).await.unwrap(), Depth { claimed: 200, ..Depth::default() });
}

/// Ten thousand tasks of fifty users.
pub(super) async fn a_long_queue_is_claimed_quickly(store: Arc<dyn Store>) {
    let _turn = alone(&*store).await;
    let users: Vec<UserId> = (0..50).map(|_| user()).collect();
    for user in &users {
        queued(&*store, user, 200, 0).await;
    }
    let mut times = Vec::new();
    for _ in 0..20 {
        let begun = tokio::time::Instant::now();
        let got = claim(&*store, "w", 10, 10).await;
        times.push(begun.elapsed());
        assert_eq!(got.len(), 10);
        assert_eq!(got.iter().map(|lease| &lease.user).collect::<BTreeSet<_>>().len(), 10);
    }
    times.sort_unstable();
    println!("a claim of 10 among 10,000 tasks of 50 users: median {:?}, worst {:?}", times[10], times[19]);
    assert!(times[10] < Duration::from_millis(250), "{times:?}");
    for user in &users {
        let own = store.tasks(&scope(user), TaskFilter::default(), Page::first(999)).await.unwrap();
        let all = own.iter().fold(commit(user), |all, task| all.change(Change::Dequeue { task: task.id }));
        store.commit(&scope(user), all).await.unwrap();
    }
}
