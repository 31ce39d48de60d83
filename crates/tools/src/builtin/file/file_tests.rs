//! Tests of reading, writing and listing in granted folders, and of rejected paths.

use super::list::Pattern;
use super::{Root, beneath};
use crate::builtin::tests::{run, tool};
use crate::builtin::{Options, sha256};
use crate::error::Error;
use serde_json::{Value as Json, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use steward_domain::Coded;

/// A granted folder with files, beside a secret file that is not granted.
struct Place {
    _kept: tempfile::TempDir,
    options: Options,
    root: std::path::PathBuf,
}

fn place() -> Place {
    let kept = tempfile::tempdir().unwrap();
    let top = kept.path().canonicalize().unwrap();
    let root = top.join("granted");
    fs::create_dir_all(root.join("data/deep")).unwrap();
    fs::write(top.join("secret.txt"), "secret").unwrap();
    fs::create_dir(top.join("granted-not")).unwrap();
    fs::write(top.join("granted-not/x"), "secret").unwrap();
    fs::write(root.join("notes.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(root.join("data/a.csv"), "x,y\n").unwrap();
    fs::write(root.join("data/deep/b.csv"), "x,y\n").unwrap();
    fs::write(root.join("data/raw.bin"), [0, 159, 146, 150]).unwrap();
    fs::write(root.join(".hidden"), "h").unwrap();
    symlink("../secret.txt", root.join("out-relative")).unwrap();
    symlink(top.join("secret.txt"), root.join("out-absolute")).unwrap();
    symlink(&top, root.join("out-folder")).unwrap();
    symlink("data/a.csv", root.join("inside")).unwrap();
    symlink(root.join("data"), root.join("inside-absolute")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let options = Options { roots: vec![Root::write(&root)], ..Options::default() };
    Place { _kept: kept, options, root }
}

async fn call(options: &Options, name: &str, arguments: Json) -> Result<Json, Error> {
    run(&tool(options, name), "ana", 1, arguments).await.map(|output| output.structured.unwrap())
}

#[tokio::test]
async fn reads_whole_and_in_parts() {
    let place = place();
    let path = place.root.join("notes.txt");
    for (arguments, content, end, next) in [
        (json!({ "path": "notes.txt" }), "one\ntwo\nthree\n", true, Json::Null),
        (json!({ "path": path }), "one\ntwo\nthree\n", true, Json::Null),
        (json!({ "path": "./data/../notes.txt", "limit": 3 }), "one", false, json!(3)),
        (json!({ "path": "notes.txt", "offset": 4, "limit": 3 }), "two", false, json!(7)),
        (json!({ "path": "notes.txt", "offset": 400 }), "", true, Json::Null),
        (json!({ "path": "notes.txt", "unit": "lines", "limit": 1 }), "one\n", false, json!(1)),
        (json!({ "path": "notes.txt", "unit": "lines", "offset": 1 }), "two\nthree\n", true, Json::Null),
        (json!({ "path": "inside" }), "x,y\n", true, Json::Null),
        (json!({ "path": "inside-absolute/a.csv" }), "x,y\n", true, Json::Null),
        (json!({ "path": "data/raw.bin" }), "AJ+Slg==", true, Json::Null),
        (json!({ "path": "notes.txt", "encoding": "base64", "limit": 3 }), "b25l", false, json!(3)),
    ] {
        let read = call(&place.options, "file.read", arguments.clone()).await.unwrap();
        let found = (read["content"].as_str().unwrap(), read["end"].as_bool().unwrap(), &read["next_offset"]);
        assert_eq!(found, (content, end, &next), "{arguments}");
    }
    let whole = call(&place.options, "file.read", json!({ "path": "notes.txt" })).await.unwrap();
    assert_eq!(whole["sha256"], sha256(b"one\ntwo\nthree\n"));
}

#[tokio::test]
async fn read_limit_never_splits_a_character() {
    let place = place();
    fs::write(place.root.join("u.txt"), "aäb").unwrap();
    let read = call(&place.options, "file.read", json!({ "path": "u.txt", "limit": 2 })).await.unwrap();
    assert_eq!((&read["content"], &read["next_offset"]), (&json!("a"), &json!(1)));
}

#[tokio::test]
async fn path_outside_is_rejected_and_grants_are_named() {
    let place = place();
    let granted = place.root.display().to_string();
    let absolute = |name: &str| place.root.join(name).display().to_string();
    for path in [
        "../secret.txt".to_owned(),
        "data/../../secret.txt".to_owned(),
        "data/deep/../../../secret.txt".to_owned(),
        "out-relative".to_owned(),
        "out-absolute".to_owned(),
        "out-folder/secret.txt".to_owned(),
        "out-folder/granted/notes.txt".to_owned(),
        "loop".to_owned(),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
        absolute("../secret.txt"),
        absolute("../granted-not/x"),
        format!("{granted}-not/x"),
        "..".to_owned(),
        "a/".repeat(3).replace("a/", "../") + "etc/passwd",
    ] {
        for (name, arguments) in [
            ("file.read", json!({ "path": path })),
            ("file.write", json!({ "path": path, "content": "x", "mode": "overwrite" })),
            ("file.list", json!({ "path": path })),
        ] {
            let error = call(&place.options, name, arguments).await.unwrap_err();
            assert_eq!(error.code(), "TOL040", "{name} {path}: {error}");
            assert!(error.to_string().contains(&granted), "{error}");
        }
    }
    assert_eq!(fs::read_to_string(place.root.join("../secret.txt")).unwrap(), "secret");
}

#[tokio::test]
async fn devices_and_sockets_are_not_opened() {
    let place = place();
    let _socket = std::os::unix::net::UnixListener::bind(place.root.join("socket")).unwrap();
    let error = call(&place.options, "file.read", json!({ "path": "socket" })).await.unwrap_err();
    assert!(error.to_string().contains("a socket, which is not opened"), "{error}");
    let options = Options { roots: vec![Root::read("/dev")], ..Options::default() };
    for path in ["zero", "null", "/dev/full"] {
        let error = call(&options, "file.read", json!({ "path": path })).await.unwrap_err();
        assert!(error.to_string().contains("a device, which is not opened"), "{path}: {error}");
    }
}

#[tokio::test]
async fn file_write_modes() {
    let place = place();
    let write = async |path: &str, content: &str, mode: &str| {
        call(&place.options, "file.write", json!({ "path": path, "content": content, "mode": mode })).await
    };
    let made = write("new.txt", "one\n", "create").await.unwrap();
    assert_eq!(
        (&made["bytes"], &made["created"], &made["sha256"]),
        (&json!(4), &json!(true), &json!(sha256(b"one\n")))
    );
    let error = write("new.txt", "again", "create").await.unwrap_err();
    assert!(error.to_string().contains("it is there already"), "{error}");
    fs::set_permissions(place.root.join("new.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    let added = write("new.txt", "two\n", "append").await.unwrap();
    assert_eq!((&added["bytes"], &added["size"], &added["created"]), (&json!(4), &json!(8), &json!(false)));
    assert_eq!(fs::read_to_string(place.root.join("new.txt")).unwrap(), "one\ntwo\n");
    write("new.txt", "three", "overwrite").await.unwrap();
    let file = place.root.join("new.txt");
    assert_eq!(fs::read_to_string(&file).unwrap(), "three");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    // A symlink inside the root stays a symlink; its target is written.
    write("inside", "new", "overwrite").await.unwrap();
    assert_eq!(fs::read_to_string(place.root.join("data/a.csv")).unwrap(), "new");
    assert!(place.root.join("inside").is_symlink());
    for (path, part) in [("data", "is a folder"), ("no/such/x", "no such"), ("notes.txt/x", "not a folder")] {
        let error = write(path, "x", "overwrite").await.unwrap_err();
        assert!(error.to_string().contains(part), "{path}: {error}");
    }
    let left = fs::read_dir(&place.root)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains(".part"));
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn read_only_root_is_not_written() {
    let place = place();
    let other = tempfile::tempdir().unwrap();
    let roots = vec![Root::read(&place.root), Root::write(other.path())];
    let options = Options { roots, ..Options::default() };
    let path = place.root.join("notes.txt");
    let arguments = json!({ "path": path, "content": "x", "mode": "overwrite" });
    let error = call(&options, "file.write", arguments).await.unwrap_err();
    assert!(error.to_string().contains("may be read, not written"), "{error}");
    // A relative path is written to the writable root.
    call(&options, "file.write", json!({ "path": "new.txt", "content": "x" })).await.unwrap();
    assert!(other.path().join("new.txt").exists());
    assert_eq!(fs::read_to_string(path).unwrap(), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn lists_sorted_bounded_and_filtered() {
    let place = place();
    let list = async |arguments: Json| {
        let listed = call(&place.options, "file.list", arguments).await.unwrap();
        let paths: Vec<String> = (listed["entries"].as_array().unwrap().iter())
            .map(|entry| entry["path"].as_str().unwrap().to_owned())
            .collect();
        (paths, listed["more"].as_bool().unwrap())
    };
    assert_eq!(list(json!({})).await.0, [place.root.display().to_string()]);
    assert_eq!(list(json!({ "path": "data" })).await.0, ["a.csv", "deep", "raw.bin"]);
    assert_eq!(
        list(json!({ "path": ".", "pattern": "*.csv", "depth": 5 })).await.0,
        ["data/a.csv", "data/deep/b.csv"]
    );
    assert_eq!(list(json!({ "path": ".", "pattern": "data/*.csv", "depth": 5 })).await.0, ["data/a.csv"]);
    assert_eq!(list(json!({ "path": "data", "limit": 1 })).await, (vec!["a.csv".to_owned()], true));
    assert!(list(json!({ "path": ".", "hidden": true })).await.0.contains(&".hidden".to_owned()));
    let (deep, _) = list(json!({ "path": ".", "depth": 16 })).await;
    assert!(deep.iter().all(|path| !path.starts_with("out-folder/")), "symlinks are not followed: {deep:?}");
}

#[test]
fn patterns() {
    for (glob, path, fits) in [
        ("*.csv", "a/b.csv", true),
        ("*.csv", "b.csv.gz", false),
        ("b?.csv", "b1.csv", true),
        ("**/x", "a/b/x", true),
        ("**/x", "x", true),
        ("a/**", "a/b/c", true),
        ("a/*", "a/b/c", false),
        ("[x]", "[x]", true),
    ] {
        let name = Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(Pattern::new(glob).unwrap().fits(path, &name), fits, "{glob} {path}");
    }
}

#[test]
fn the_home_of_steward_is_no_part_of_what_is_granted() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    for name in ["keys", "uploads"] {
        std::fs::create_dir_all(home.join(name)).unwrap();
        std::fs::write(home.join(name).join("x.txt"), "x").unwrap();
    }
    std::fs::write(home.join("state.db"), "x").unwrap();
    std::fs::write(folder.path().join("plain.txt"), "x").unwrap();
    std::os::unix::fs::symlink(home.join("state.db"), folder.path().join("link.db")).unwrap();
    let check = |root: &std::path::Path, path: &str, granted: bool| {
        let root = Root { home: Some(home.clone()), ..Root::read(root) };
        let found = beneath::find(&[root], path, false);
        assert_eq!(found.is_ok(), granted, "{path}: {found:?}");
    };
    for (path, granted) in [
        ("plain.txt", true),
        ("home/state.db", false),
        ("link.db", false),
        ("home/uploads/x.txt", false),
        ("home", false),
    ] {
        check(folder.path(), path, granted);
    }
    for (path, granted) in
        [("uploads/x.txt", true), ("state.db", false), ("keys/x.txt", false), ("state.db-wal", false)]
    {
        check(&home, path, granted);
    }
}
