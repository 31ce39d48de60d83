//! Access checks of data sources, in every spelling.

use super::{DataGrants, DomainSource};
use steward_domain::UserId;
use steward_policy::Caller;

struct Scene {
    folder: tempfile::TempDir,
    grounds: DataGrants,
}

impl Scene {
    /// `data/` is granted, with a subfolder; `outside/` and the home are not; two domains name
    /// files of `outside/`.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["data/sub", "outside", "home"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        for name in
            ["data/sales.csv", "outside/secret.csv", "outside/hr.csv", "outside/shop.csv", "home/state.db"]
        {
            std::fs::write(at(name), "a,b\n1,2\n").unwrap();
        }
        let grounds = DataGrants::new(&[at("data")], &at("home"));
        let source = |domain: &str, name: &str| DomainSource {
            domain: domain.to_owned(),
            source: at(name).display().to_string(),
        };
        grounds.list(vec![source("hr", "outside/hr.csv"), source("shop", "outside/shop.csv")]);
        Self { folder, grounds }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn admits(&self, caller: &Caller, source: &str) -> bool {
        self.grounds.admit(caller, source).is_ok()
    }
}

fn shop_only() -> Caller {
    let mut caller = Caller::owner(UserId::new("bob").unwrap());
    caller.domains = Some(["shop".to_owned()].into());
    caller
}

#[test]
fn access_check_uses_the_resolved_path() {
    let scene = Scene::new();
    let caller = shop_only();
    for (source, expected) in [
        (scene.path("data/sales.csv"), true),
        (format!("mine={}", scene.path("data/sales.csv")), true),
        (scene.path("data/*.csv"), true),
        (scene.path("data"), true),
        (scene.path("outside/secret.csv"), false),
        (scene.path("outside/none.csv"), false),
        (scene.path("outside/secret.cs[v=*]"), false),
        (format!("{}/*/../../outside/secret.csv", scene.path("data")), false),
        (scene.path("data/../outside/secret.csv"), false),
        (format!("sqlite:{}", scene.path("home/state.db")), false),
        (format!("sqlite://{}", scene.path("home/state.db")), false),
        (format!("file://{}", scene.path("outside/secret.csv")), false),
        (format!("{}/stat[e=*].db", scene.path("home")), false),
        ("postgres://u:p@127.0.0.1:5999/db?application_name=.".to_owned(), false),
        ("postgres://u:p@127.0.0.1:5999/db".to_owned(), false),
        (format!("x=postgres://u:p@127.0.0.1:5999/{}", scene.path("data")), false),
    ] {
        assert_eq!(scene.admits(&caller, &source), expected, "{source}");
    }
}

#[test]
fn outside_grants_existence_is_not_revealed() {
    let scene = Scene::new();
    let caller = shop_only();
    let said = |source: String| scene.grounds.admit(&caller, &source).unwrap_err().to_string();
    let plain = |name: &str| said(scene.path(name)).replace(name, "");
    assert_eq!(plain("outside/secret.csv"), plain("outside/nothing.csv"));
    assert_eq!(plain("outside/*.csv"), plain("outside/*.tsv"));
    assert!(said(scene.path("data/nothing.csv")).contains("No such file"), "inside it is said");
}

#[test]
fn a_domain_that_is_not_granted_is_not_read_through_tools() {
    let mut scene = Scene::new();
    let caller = shop_only();
    assert!(scene.admits(&caller, &scene.path("outside/shop.csv")));
    assert!(!scene.admits(&caller, &scene.path("outside/hr.csv")));
    // Not even through a granted folder.
    scene.grounds.folders.push(scene.folder.path().join("outside").canonicalize().unwrap());
    assert!(scene.admits(&caller, &scene.path("outside/secret.csv")));
    assert!(!scene.admits(&caller, &scene.path("outside/hr.csv")));
    assert!(!scene.admits(&caller, &scene.path("outside/../outside/hr.csv")));
    assert!(!scene.admits(&caller, &scene.path("outside/*.csv")));
}

#[test]
fn grants_of_tables_hold_for_tools() {
    let scene = Scene::new();
    let mut caller = shop_only();
    caller.tables.insert("shop".to_owned(), ["a".to_owned()].into());
    assert!(scene.admits(&caller, &scene.path("outside/shop.csv")));
    assert!(
        !scene.admits(&caller, &scene.path("data/sales.csv")),
        "a file of no domain has no tables in the grants"
    );
    assert!(!scene.admits(&caller, &format!("shop={}", scene.path("data/sales.csv"))));
}

#[test]
fn the_home_is_own_data_in_every_spelling() {
    let scene = Scene::new();
    for (source, expected) in [
        (scene.path("home/state.db"), true),
        (format!("{}/home{}", scene.path("data/.."), "/state.db"), true),
        (format!("mine={}", scene.path("home/state.db")), true),
        (format!("sqlite://{}", scene.path("home/state.db")), true),
        (scene.path("home/*.db"), true),
        (scene.path("data/sales.csv"), false),
        (scene.path("outside/none.csv"), false),
    ] {
        assert_eq!(scene.grounds.is_own(&source), expected, "{source}");
    }
}
