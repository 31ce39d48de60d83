//! Runs the examples of the guides unchanged: every block of `docs/*.md` that is marked with `<!--
//! runs as a test -->`.

use crate::Bench;
use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("STEWARD_CHECKOUT");

/// The marked blocks of a guide.
fn blocks(guide: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join("docs").join(guide)).unwrap();
    text.split("<!-- runs as a test -->\n")
        .skip(1)
        .map(|rest| {
            let block = rest.strip_prefix("```sh\n").expect("a block of sh follows");
            block.split("\n```").next().unwrap().to_owned()
        })
        .collect()
}

/// Runs the blocks of a guide one after the other in one home, from the root of the repository.
#[expect(clippy::disallowed_methods, reason = "the test is the shell of whoever follows the guide")]
fn run_guide(guide: &str, bench: &Bench) -> Vec<String> {
    let binary = assert_cmd::cargo::cargo_bin("steward");
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let found = blocks(guide);
    assert!(!found.is_empty(), "{guide} has an example that runs");
    let run = |block: &String| {
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", block])
            .current_dir(ROOT)
            .env("PATH", &path)
            .env("STEWARD_HOME", bench.home())
            .env("STEWARD_USER", "alice")
            .env_remove("STEWARD_STORE")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{guide}\n{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    };
    found.iter().map(run).collect()
}

#[test]
fn boards() {
    let bench = Bench::new();
    bench.ok("init");
    let said = run_guide("boards.md", &bench).concat();
    // The filter of the board applies to every tile: Arizona from 2021 on, computed from the file.
    let sales = std::fs::read_to_string(Path::new(ROOT).join("examples/retail/sales.csv")).unwrap();
    let orders = |state: &str, from: &str, until: &str| {
        let cells = sales.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        cells.filter(|row| row[2] == state && row[1] >= from && row[1] <= until).count()
    };
    let grouped = |count: usize| format!("{},{:03}", count / 1000, count % 1000);
    let arizona = orders("Arizona", "2021-01-01", "9");
    let shown = if arizona >= 1000 { grouped(arizona) } else { arizona.to_string() };
    assert!(said.lines().any(|line| line.trim() == shown), "{shown} orders of Arizona\n{said}");
    let texas = orders("Texas", "2022-01-01", "2022-06-30").to_string();
    assert!(said.lines().any(|line| line.trim() == texas), "{texas} orders of Texas\n{said}");
    assert!(!said.contains("not filtered by"), "{said}");
    let address = said.lines().find(|line| line.contains("/embed/")).expect("a link");
    assert!(address.starts_with("http://127.0.0.1:8088/embed/"), "{address}");
    let page = std::fs::read_to_string(bench.home().join("retail.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 2, "the charts are in the file");
    assert!(page.contains("As seen by alice") && page.contains("state: Arizona"));
    assert!(!page.contains("<script") && !page.contains("https://"));
    // The board is in the journal, and the journal verifies.
    bench.ok("audit verify");
}

#[test]
fn testing_answers() {
    let bench = Bench::new();
    bench.ok("init");
    let said = run_guide("testing-answers.md", &bench).concat();
    assert!(
        said.contains("auto: 5 of 5 cases passed") && said.contains("local: 5 of 5 cases passed"),
        "{said}"
    );
    let page = std::fs::read_to_string(bench.home().join("report.html")).unwrap();
    assert!(page.contains("5 of 5") && !page.contains("<script"));
    // An answer becomes a case, and a failing case gives an exit code and a reason.
    let sales = Path::new(ROOT).join("examples/retail/sales.csv").display().to_string();
    let question = "total amount by segment";
    let asked = bench.run_with(&["ask", question, "--data", &sales, "--json"]);
    let task = crate::json_of(&asked.out)["request_id"].as_str().unwrap().to_owned();
    let file = bench.path("cases.yaml").display().to_string();
    bench.ok(&format!("eval add {file} --from {task}"));
    bench.ok(&format!("eval run {file}"));
    let before = bench.run_with(&["eval", "run", &file, "--json"]).out;
    std::fs::write(bench.path("before.json"), before).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("Consumer", "Nobody", 1)).unwrap();
    bench.fails(&format!("eval run {file}"), 2, "RUN035");
    let shown = bench.run(&format!("eval run {file}"));
    assert!(shown.out.contains("no row has Nobody"), "{}", shown.out);
    let against = bench.path("before.json").display().to_string();
    let told = bench.fails(&format!("eval run {file} --against {against}"), 2, "RUN035");
    assert!(told.contains("got worse"), "{told}");
    // The home was not changed by it.
    let tasks = bench.json("task list");
    assert_eq!(tasks.as_array().map(Vec::len), Some(1), "{tasks}");
}
