//! Tests with real children of a real shell. A pipe that only the process holds shows when it has
//! ended.

use super::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

const PATIENCE: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Spec {
    Spec { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()], ..Spec::default() }
}

/// Reads all output until every holder of the pipe has ended.
async fn rest(mut from: impl tokio::io::AsyncRead + Unpin) -> String {
    let mut text = String::new();
    tokio::time::timeout(PATIENCE, from.read_to_string(&mut text)).await.expect("it ends").unwrap();
    text
}

async fn first_line(from: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut line = String::new();
    let mut reader = BufReader::with_capacity(1, from);
    tokio::time::timeout(PATIENCE, reader.read_line(&mut line)).await.expect("it speaks").unwrap();
    line.trim().to_owned()
}

#[tokio::test]
async fn child_inherits_only_listed_environment() {
    let env = [("GIVEN".to_owned(), "yes".to_owned())].into();
    let mut running = start(&Spec { env, ..shell("/usr/bin/env") }).unwrap();
    let out = rest(running.stdout.take().unwrap()).await;
    // The shell itself adds PWD and the like.
    let known = ["PATH", "HOME", "LANG", "TMPDIR", "GIVEN", "PWD", "OLDPWD", "SHLVL", "_"];
    for line in out.lines() {
        let name = line.split('=').next().unwrap();
        assert!(known.contains(&name), "{line}");
    }
    assert!(out.contains("GIVEN=yes"), "{out}");
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")), "there is something to be hidden");
}

#[tokio::test]
async fn pipes_work_and_exit_status_is_returned() {
    let mut running = start(&shell("read line; echo \"got $line\"; echo trouble >&2; exit 7")).unwrap();
    running.stdin.take().unwrap().write_all(b"word\n").await.unwrap();
    assert_eq!(rest(running.stdout.take().unwrap()).await, "got word\n");
    assert_eq!(rest(running.stderr.take().unwrap()).await, "trouble\n");
    let status = tokio::time::timeout(PATIENCE, running.wait()).await.unwrap();
    assert_eq!(status.unwrap().code(), Some(7));
}

#[tokio::test]
async fn child_starts_in_its_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().canonicalize().unwrap();
    let mut running = start(&Spec { folder: Some(place.clone()), ..shell("pwd") }).unwrap();
    assert_eq!(rest(running.stdout.take().unwrap()).await.trim(), place.to_str().unwrap());
}

#[tokio::test]
async fn drop_kills_grandchildren() {
    let mut running =
        start(&shell("(trap '' TERM HUP; sleep 600) & sh -c 'sleep 600 & wait' & echo up; wait")).unwrap();
    let mut out = running.stdout.take().unwrap();
    assert_eq!(first_line(&mut out).await, "up");
    drop(running);
    assert_eq!(rest(out).await, "", "every holder of the pipe is gone");
}

#[tokio::test]
async fn leftover_processes_are_killed_after_exit() {
    let mut running = start(&shell("sleep 600 & echo up")).unwrap();
    let out = running.stdout.take().unwrap();
    assert!(tokio::time::timeout(PATIENCE, running.wait()).await.unwrap().unwrap().success());
    assert_eq!(rest(out).await, "up\n");
}

#[tokio::test]
async fn child_that_ignores_sigterm_is_killed() {
    let mut running = start(&shell("trap '' TERM; echo up; while :; do sleep 600; done")).unwrap();
    let mut out = running.stdout.take().unwrap();
    assert_eq!(first_line(&mut out).await, "up");
    let grace = Duration::from_millis(50);
    tokio::time::timeout(PATIENCE, running.stop(grace)).await.expect("it is stopped");
    assert_eq!(rest(out).await, "");
}

#[tokio::test]
async fn child_exits_when_stdin_closes() {
    let mut running = start(&shell("cat; echo bye")).unwrap();
    let out = running.stdout.take().unwrap();
    tokio::time::timeout(PATIENCE, running.stop(PATIENCE)).await.expect("the end of its input is enough");
    assert_eq!(rest(out).await, "bye\n");
}

#[tokio::test]
async fn missing_program_is_reported() {
    for program in ["no-such-program-anywhere", "./no/such/path", "/etc/passwd", "/"] {
        let error = start(&Spec { program: program.into(), ..Spec::default() }).unwrap_err();
        assert!(matches!(error, Error::Process { .. }), "{program}: {error}");
    }
}

#[test]
fn missing_runtime_is_an_error_not_a_panic() {
    assert!(matches!(start(&shell("true")), Err(Error::Process { .. })));
}

/// The error names the missing folder, not the program.
#[tokio::test]
async fn missing_folder_is_named_in_error() {
    let folder = tempfile::tempdir().unwrap();
    let here = std::env::current_dir().unwrap();
    let nowhere = folder.path().join("nowhere");
    for (missing, told) in [
        (nowhere.clone(), format!("there is no folder {} to start it in", nowhere.display())),
        (
            "no/such".into(),
            format!(
                "there is no folder {} to start it in; a relative one counts from where",
                here.join("no/such").display()
            ),
        ),
    ] {
        for program in ["sh", "./sh"] {
            let spec = Spec { program: program.into(), folder: Some(missing.clone()), ..Spec::default() };
            let error = start(&spec).unwrap_err().to_string();
            assert!(error.contains(&told), "{error}");
        }
    }
}

/// Tests run in the folder of their crate. A relative folder is found, and so is a program relative
/// to it.
#[tokio::test]
async fn relative_folder_is_resolved_from_current_directory() {
    let mut running = start(&Spec { folder: Some("src/mcp".into()), ..shell("pwd") }).unwrap();
    assert!(rest(running.stdout.take().unwrap()).await.trim().ends_with("/src/mcp"));
    let missing = Spec { program: "./mod.rs".into(), folder: Some("src/mcp".into()), ..Spec::default() };
    let error = start(&missing).unwrap_err().to_string();
    assert!(error.ends_with("/src/mcp/./mod.rs is no program"), "{error}");
}
