//! The examples of `docs/asking.md` are asked, and answered.

use crate::{Fixture, local, retail, write};
use steward_domain::ResponseStatus;

const RACES: &str = "Race,Date,Boat,Club,Points,Wins
Spring Cup,\"May 3, 2024\",Osprey,Harbour SC,31,4
Dune Race,\"May 18, 2024\",Curlew,Bay YC,24,1
Island Run,\"June 2, 2024\",Heron,Harbour SC,28,3
Night Sail,\"June 15, 2024\",Dunlin,North SC,19,0
Autumn Cup,\"September 7, 2024\",Plover,Harbour SC,12,2
";

/// The questions in italics of a paragraph.
fn examples(paragraph: &str) -> Vec<String> {
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    line.split('*').skip(1).step_by(2).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_example_of_the_guide_is_answered() {
    let guide = concat!(env!("STEWARD_CHECKOUT"), "docs/asking.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let section = guide.split("## Questions").nth(1).unwrap().split("## The answer").next().unwrap();
    let fixture = Fixture::new();
    let races = write(fixture.folder.path(), "races.csv", RACES);
    let mut asked = 0;
    for paragraph in section.split("\n\n") {
        // What goes on from an earlier answer is asked elsewhere.
        if paragraph.contains("--conversation") || paragraph.starts_with("Neither") {
            continue;
        }
        let data = if paragraph.contains("at most 500 rows") { races.clone() } else { retail("sales.csv") };
        for question in examples(paragraph) {
            let answer = fixture.ask(local(&question, std::slice::from_ref(&data))).await;
            let told = &answer.answer;
            assert_ne!(answer.response.status, ResponseStatus::Failed, "{question}: {told}");
            assert!(answer.clarification.is_none(), "{question}: {told}");
            assert!(!told.contains("Nothing in the data was found"), "{question}: {told}");
            assert!(!answer.tables.is_empty(), "{question}: {told}");
            asked += 1;
        }
    }
    assert!(asked >= 20, "only {asked} examples were found");
}
