//! Tests of what the standard sandbox grants and denies.

use super::*;

struct World {
    _folder: tempfile::TempDir,
    home: PathBuf,
    own: PathBuf,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("people/ann");
        let own = home.join("steward");
        for part in ["docs", ".ssh", "apps", ".pyenv/shims", "venv/bin", "steward/config", "steward/data"] {
            std::fs::create_dir_all(home.join(part)).unwrap();
        }
        for file in
            ["apps/todo.py", ".ssh/id", "docs/a.txt", "start.py", ".pyenv/shims/python3", "steward/state.db"]
        {
            std::fs::write(home.join(file), "#!/usr/bin/env sh\n").unwrap();
        }
        Self { _folder: folder, home, own }
    }

    fn granted(&self, program: &str, args: &[&str]) -> Folders {
        let args: Vec<String> =
            args.iter().map(|arg| arg.replace("HOME", &self.home.display().to_string())).collect();
        let (path, env) = (expanded(program, Some(&self.home)), BTreeMap::new());
        folders(&Program {
            path: &path,
            args: &args,
            env: &env,
            folder: Some(&self.home.join("apps")),
            home: Some(&self.home),
            own: Some(&self.own),
        })
    }

    fn has(list: &[PathBuf], path: &Path) -> bool {
        list.iter().any(|granted| path.starts_with(granted))
    }
}

#[test]
fn ordinary_servers_are_granted_their_folders() {
    let world = World::new();
    let home = |path: &str| world.home.join(path);
    let todo = world.granted("~/.pyenv/shims/python3", &["todo.py", "--db", "~/made/todo.db"]);
    assert!(World::has(&todo.read, &home(".pyenv/versions/3.11/lib")), "{todo:?}");
    assert!(World::has(&todo.read, &home("apps/todo.py")), "{todo:?}");
    assert!(World::has(&todo.write, &home("made/todo.db")) && home("made").is_dir(), "{todo:?}");
    let files = world.granted("/usr/bin/npx", &["-y", "@example/server-filesystem", "~/docs"]);
    assert!(World::has(&files.write, &home("docs/a.txt")), "{files:?}");
    assert!(World::has(&files.write, &home(".npm/_cacache")), "{files:?}");
    let inside = world.granted("/usr/bin/python3", &["--db=HOME/steward/data/x.db"]);
    assert!(World::has(&inside.write, &home("steward/data/x.db")), "{inside:?}");
    assert!(World::has(&world.granted("~/venv/bin/serve", &[]).read, &home("venv/lib")));
}

#[test]
fn personal_files_are_not_granted() {
    let world = World::new();
    let home = |path: &str| world.home.join(path);
    for args in [
        &["~/start.py"][..],
        &["~"],
        &["~/"],
        &["/"],
        &["HOME/.."],
        &["~/new.txt"],
        &["~/.ssh"],
        &["~/.ssh/known.db"],
        &["~/steward"],
        &["~/steward/config"],
        &["~/steward/x.db"],
        &["--db=~/steward/state.db"],
        &["/etc/passwd"],
        &["https://example.org/home"],
        &["apps"],
        &["../../.."],
    ] {
        let granted = world.granted("/usr/bin/python3", args);
        let all: Vec<PathBuf> = granted.read.iter().chain(&granted.write).cloned().collect();
        for secret in
            ["docs/a.txt", ".ssh/key", "steward/state.db", "steward/config/access.yaml", "steward/keys/k"]
        {
            assert!(!World::has(&all, &home(secret)), "{args:?} grants {secret}: {granted:?}");
        }
        assert!(!World::has(&granted.write, Path::new("/etc/shadow")), "{args:?}: {granted:?}");
    }
}

#[test]
fn node_program_is_granted_its_packages() {
    let world = World::new();
    let home = |path: &str| world.home.join(path);
    for folder in
        ["site/node_modules/@x/server/dist", "site/node_modules/dep", "made/dist", "made/node_modules"]
    {
        std::fs::create_dir_all(home(folder)).unwrap();
    }
    std::fs::write(home("site/node_modules/@x/server/dist/index.js"), "").unwrap();
    std::fs::write(home("made/dist/index.js"), "").unwrap();
    std::fs::write(home("made/package.json"), "{}").unwrap();
    let installed = world.granted("/usr/bin/node", &["HOME/site/node_modules/@x/server/dist/index.js"]);
    assert!(World::has(&installed.read, &home("site/node_modules/dep/index.js")));
    let own = world.granted("/usr/bin/node", &["HOME/made/dist/index.js"]);
    assert!(
        World::has(&own.read, &home("made/node_modules/dep"))
            && World::has(&own.read, &home("made/package.json"))
    );
    for granted in [&installed, &own] {
        assert!(
            !World::has(&granted.read, &home("docs/a.txt")) && !World::has(&granted.read, &home(".ssh/id"))
        );
    }
}
