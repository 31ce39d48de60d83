//! Skills from folders: loaded, offered, and shut in.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail loudly too"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use steward_domain::Coded;
use steward_tools::skill::Skills;

fn write(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder.join(name)).unwrap();
    fs::write(folder.join(name).join("SKILL.md"), text).unwrap();
}

fn skill(name: &str, description: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: {description}\nallowed-tools: file.read\n---\n\n# How\n\nDo it.\n"
    )
}

#[test]
fn one_bad_skill_does_not_hide_the_others() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "invoice", &skill("invoice", "Write an invoice for a customer."));
    write(folder.path(), "other", &skill("another", "Says another name."));
    write(folder.path(), "broken", "no front matter");
    write(folder.path(), "large", &format!("{}{}", skill("large", "Too large."), "x".repeat(300 * 1024)));
    fs::create_dir(folder.path().join("no-skill")).unwrap();
    let skills = Skills::load(folder.path());
    let names: Vec<&str> = skills.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["invoice"]);
    assert_eq!(skills.problems.len(), 3, "{:?}", skills.problems);
    assert!(skills.problems.iter().all(|problem| problem.code() == "TOL070"));
    let told: Vec<String> = skills.problems.iter().map(ToString::to_string).collect();
    assert!(told[0].contains("broken/SKILL.md: line 1:"), "{told:?}");
    assert!(
        told[2].contains("other/SKILL.md: line 2: the name is another, but the folder is other"),
        "{told:?}"
    );
    assert_eq!(Skills::load(&folder.path().join("nowhere")).problems.len(), 1);
}

#[test]
fn the_body_and_the_files_are_read_on_demand_and_only_beneath() {
    let folder = tempfile::tempdir().unwrap();
    let skills = folder.path().join("skills");
    write(&skills, "invoice", &skill("invoice", "Write an invoice."));
    fs::create_dir(skills.join("invoice/templates")).unwrap();
    fs::write(skills.join("invoice/templates/a.md"), "Dear").unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    symlink(folder.path().join("secret"), skills.join("invoice/link")).unwrap();
    let skills = Skills::load(&skills);
    let invoice = skills.get("invoice").unwrap();
    assert_eq!(invoice.files, ["templates/a.md"]);
    assert_eq!(invoice.allowed_tools, ["file.read"]);
    assert_eq!(invoice.body().unwrap(), "# How\n\nDo it.");
    assert_eq!(invoice.read("templates/a.md").unwrap(), "Dear");
    let secret = folder.path().join("secret").display().to_string();
    for file in ["../../secret", "link", &secret, "templates/../../../secret"] {
        assert_eq!(invoice.read(file).unwrap_err().code(), "TOL040", "{file}");
    }
}

#[test]
fn a_skill_whose_file_leads_out_is_not_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let skills = folder.path().join("skills");
    fs::create_dir_all(skills.join("thief")).unwrap();
    fs::write(folder.path().join("SKILL.md"), skill("thief", "Steals.")).unwrap();
    symlink("../../SKILL.md", skills.join("thief/SKILL.md")).unwrap();
    let skills = Skills::load(&skills);
    assert_eq!((skills.skills.len(), skills.problems.len()), (0, 1));
}

#[test]
fn skills_are_offered_when_they_fit() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "invoice", &skill("invoice", "Write an invoice for a customer."));
    write(
        folder.path(),
        "weekly-report",
        &skill("weekly-report", "Prepare the weekly sales report from CSV data."),
    );
    let skills = Skills::load(folder.path());
    let offered = |request: &str| -> Vec<String> {
        skills.offer(request, None).iter().map(|offer| offer.skill.name.clone()).collect()
    };
    assert_eq!(offered("prepare the weekly report"), ["weekly-report"]);
    assert_eq!(offered("write an invoice"), ["invoice"]);
    assert_eq!(offered("what is the weather?"), Vec::<String>::new());
    assert_eq!(offered(""), Vec::<String>::new());
    // Where an encoder is given, a meaning without a common word counts too.
    let bill = |text: &str| text.contains("bill") || text.contains("invoice");
    let embed = move |texts: &[&str]| {
        Some(texts.iter().map(|text| if bill(text) { vec![1.0, 0.0] } else { vec![0.0, 1.0] }).collect())
    };
    let offers = skills.offer("send a bill", Some(&embed));
    assert_eq!(offers[0].skill.name, "invoice");
}

#[test]
fn the_example_loads_and_is_offered() {
    let folder = Path::new(concat!(env!("STEWARD_CHECKOUT"), "crates/tools")).join("../../examples/skills");
    let skills = Skills::load(&folder);
    assert_eq!(skills.problems, []);
    let offers = skills.offer("make me the weekly sales report", None);
    assert_eq!(offers[0].skill.name, "weekly-report");
    assert!(offers[0].skill.body().unwrap().starts_with("# Weekly sales report"));
}
