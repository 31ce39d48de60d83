//! Tests that summaries contain only sentences of the text.

use super::sentences::split;
use crate::builtin::Options;
use crate::builtin::tests::{run, tool};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

const ARTICLE: &str = "The harbour of Brisk was rebuilt after the storm of 2019. The new harbour cost 4.2 \
    million crowns and took Dr. Lind and her team three years. Critics said that the harbour was too large \
    for Brisk. Since it \
    opened, ships bring twice as much fish to the harbour as before. The weather was nice on opening day. \
    The town now \
    plans to pay back the cost of the harbour with fees on ships. Fees on ships have doubled since the \
    harbour was opened. A brass \
    band played.";

#[test]
fn sentence_boundaries_are_found() {
    for (text, count) in [
        ("One. Two! Three?", 3),
        ("Dr. Smith paid 3.50 to Mr. Jones. He left.", 2),
        ("See e.g. the U.S. report, p. 5. It is long.", 2),
        ("J. K. Rowling wrote it. It sold.", 2),
        ("Visit example.com today. Or not.", 2),
        ("He said \"Stop.\" Then he left.", 2),
        ("Really?! Yes.", 2),
        ("# Title\nFirst line\nof a paragraph.\n\n- point one\n- point two", 4),
        ("1. first thing", 1),
        ("no end at all", 1),
        ("...", 0),
        ("", 0),
        ("Ärger über Öl. Übel!", 2),
    ] {
        let found = split(text);
        assert_eq!(found.len(), count, "{text}: {found:?}");
    }
}

async fn summarize(arguments: Json) -> Json {
    run(&tool(&Options::default(), "text.summarize"), "ana", 1, arguments).await.unwrap().structured.unwrap()
}

#[tokio::test]
async fn summary_sentences_are_from_the_text() {
    let summary = summarize(json!({ "text": ARTICLE, "sentences": 3 })).await;
    let sentences = summary["sentences"].as_array().unwrap();
    assert_eq!((sentences.len(), &summary["of"]), (3, &json!(8)));
    let text = ARTICLE.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in sentences {
        assert!(text.contains(sentence["text"].as_str().unwrap()), "{sentence}");
    }
    let words = summary["summary"].as_str().unwrap();
    assert!(
        words.contains("harbour") && !words.contains("brass band") && !words.contains("weather"),
        "{words}"
    );
    assert_eq!(summary["keywords"][0], "harbour");
    assert_eq!(summary, summarize(json!({ "text": ARTICLE, "sentences": 3 })).await);
}

#[tokio::test]
async fn redundant_sentences_are_not_chosen() {
    let text = "The budget grew by ten per cent this year. The budget grew by ten per cent this year. Sales \
        of the northern region fell because of the budget. Travel was cut.";
    let summary = summarize(json!({ "text": text, "sentences": 2 })).await;
    let words = summary["summary"].as_str().unwrap();
    assert_eq!(words.matches("ten per cent").count(), 1, "{words}");
}

#[tokio::test]
async fn summary_length_share_and_bounds() {
    assert_eq!(
        summarize(json!({ "text": ARTICLE, "share": 0.5 })).await["sentences"].as_array().unwrap().len(),
        4
    );
    assert_eq!(
        summarize(json!({ "text": ARTICLE, "sentences": 20 })).await["sentences"].as_array().unwrap().len(),
        8
    );
    let tool = tool(&Options::default(), "text.summarize");
    for wrong in [
        json!({}),
        json!({ "text": "a", "messages": [{ "author": "a", "text": "b" }] }),
        json!({ "text": "a", "sentences": 1, "share": 0.5 }),
        json!({ "text": "a", "sentences": 21 }),
        json!({ "messages": [] }),
    ] {
        assert!(run(&tool, "ana", 1, wrong.clone()).await.is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn conversation_summary_lists_decisions_actions_and_open_questions() {
    let message = |author: &str, text: &str| json!({ "author": author, "text": text });
    let summary = summarize(json!({ "messages": [
        message("ana", "The release slipped again because the importer loses rows. Should we ship on Friday?"),
        message("ben", "Yes, if the importer is fixed. The importer loses rows only for large files."),
        message("ana", "We agreed to ship on Friday without the importer for large files."),
        message("cleo", "I'll write the release notes. Who updates the pricing page?"),
        message("ben", "Please send me the notes before noon."),
        message("ana", "ok"),
    ] }))
    .await;
    let texts = |list: &str| -> Vec<String> {
        summary[list]
            .as_array()
            .unwrap()
            .iter()
            .map(|point| point["text"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(texts("decisions"), ["We agreed to ship on Friday without the importer for large files."]);
    assert_eq!(
        texts("action_items"),
        ["I'll write the release notes.", "Please send me the notes before noon."]
    );
    assert_eq!(texts("open_questions"), ["Who updates the pricing page?"]);
    assert_eq!(summary["participants"][0], json!({ "author": "ana", "messages": 3 }));
    assert!(texts("key_points").iter().any(|point| point.contains("importer")), "{summary}");
    assert!(summary["summary"].as_str().unwrap().starts_with("6 messages by ana (3), ben (2), cleo (1)."));
}

proptest! {
    #[test]
    fn any_text_is_split_without_panic(text in any::<String>()) {
        let _ = split(&text);
    }
}
