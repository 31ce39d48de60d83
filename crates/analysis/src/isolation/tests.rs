//! Sessions in another process behave like those in this one, and a crash does not affect others.

use super::pool::Pool;
use super::{Launched, Launcher};
use crate::error::Error;
use crate::session::{Options, Session};
use crate::tools::Workbench;
use futures_util::FutureExt as _;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use steward_domain::Coded as _;
use steward_policy::{Access, Limits};
use tokio::task::JoinSet;

/// Children that are tasks: they communicate over pipes like processes, and dropping kills them.
#[derive(Default)]
struct Tasks {
    started: AtomicUsize,
    running: Mutex<Vec<tokio::task::AbortHandle>>,
}

impl Launcher for Tasks {
    fn launch(&self) -> std::io::Result<Launched> {
        self.started.fetch_add(1, Ordering::Relaxed);
        let (input, theirs) = tokio::io::duplex(1 << 16);
        let (ours, output) = tokio::io::duplex(1 << 16);
        let mut process = JoinSet::new();
        let handle = process.spawn(async move { drop(super::serve(theirs, ours).await) });
        self.running.lock().unwrap().push(handle);
        Ok(Launched {
            input: Box::new(input),
            output: Box::new(output),
            pid: None,
            process: Box::new(process),
        })
    }
}

async fn bench(pool: &Arc<Pool>, file: &std::path::Path) -> Workbench {
    let options = Options::default();
    let (remote, described) = pool.open(&[file.display().to_string()], options).await.unwrap();
    let session = Session::over(remote, described, options).unwrap();
    let access = Access { blocked_patterns: vec!["email".into()], ..Access::default() };
    Workbench::new(session, access, Limits::default())
}

fn data() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(
        &path,
        "id,name,email,born\n1,Ada,a@example.com,1815-12-10\n2,Bo,b@example.com,1990-01-02\n",
    )
    .unwrap();
    (folder, path)
}

#[tokio::test]
async fn a_session_in_another_process_answers_the_same() {
    let tasks = Arc::new(Tasks::default());
    let pool = Arc::new(Pool::new(tasks.clone(), 1 << 30));
    let (_folder, path) = data();
    let apart = bench(&pool, &path).await;
    let here = Session::open_here(&[path.display().to_string()], Options::default(), &|_| ()).await.unwrap();
    let here = Workbench::new(here, apart.access.clone(), apart.limits);
    assert_eq!(apart.session.catalogue(), here.session.catalogue());
    assert_eq!(apart.session.places(), here.session.places());
    for sql in [
        "SELECT name, born FROM people ORDER BY id",
        "SELECT count(*) AS n FROM people",
        "SELECT nothing FROM people",
    ] {
        let arguments = json!({ "sql": sql });
        let (one, other) =
            (apart.call("sql.run", &arguments, "r").await, here.call("sql.run", &arguments, "r").await);
        match (one, other) {
            (Ok(one), Ok(other)) => assert_eq!(one.frame, other.frame, "{sql}"),
            (Err(one), Err(other)) => assert_eq!(one.code(), other.code(), "{sql}"),
            (one, other) => panic!("{sql}: {one:?} {other:?}"),
        }
    }
    // Columns withheld here are withheld in the child too.
    let (head, _) = apart.session.head("people", 10).await.unwrap();
    assert!(head.fields.iter().all(|field| field.name != "email"), "{head:?}");
    drop(apart);
    bench(&pool, &path).await;
    assert_eq!(tasks.started.load(Ordering::Relaxed), 1, "a child is used again");
}

#[tokio::test]
async fn a_child_that_dies_takes_its_session_and_nothing_else() {
    let tasks = Arc::new(Tasks::default());
    let pool = Arc::new(Pool::new(tasks.clone(), 1 << 30));
    let (_folder, path) = data();
    let (one, other) = (bench(&pool, &path).await, bench(&pool, &path).await);
    tasks.running.lock().unwrap()[0].abort();
    let arguments = json!({ "sql": "SELECT count(*) AS n FROM people" });
    let ended = one.call("sql.run", &arguments, "r").await.unwrap_err();
    assert!(matches!(ended, Error::Apart { .. }), "{ended}");
    assert!(one.call("sql.run", &arguments, "r").await.is_err(), "its session is over");
    assert!(other.call("sql.run", &arguments, "r").await.is_ok(), "others go on");
    drop(one);
    assert!(bench(&pool, &path).await.call("sql.run", &arguments, "r").await.is_ok());
}

#[tokio::test]
async fn a_call_that_is_given_up_spoils_its_child_only() {
    let tasks = Arc::new(Tasks::default());
    let pool = Arc::new(Pool::new(tasks.clone(), 1 << 30));
    let (_folder, path) = data();
    let one = bench(&pool, &path).await;
    let arguments = json!({ "sql": "SELECT count(*) AS n FROM people" });
    let asked = Box::pin(one.call("sql.run", &arguments, "r")).now_or_never();
    assert!(asked.is_none(), "it is asked once and then given up");
    assert!(one.call("sql.run", &arguments, "r").await.is_ok(), "the session goes on");
    drop(one);
    assert!(bench(&pool, &path).await.call("sql.run", &arguments, "r").await.is_ok());
    assert_eq!(tasks.started.load(Ordering::Relaxed), 2, "the next one gets a new child");
}
