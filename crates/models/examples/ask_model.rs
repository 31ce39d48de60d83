//! Asks one model of a settings file, without and with streaming, and prints the result: `ask_model
//! SETTINGS.json NAME QUESTION`. A weather tool is offered, so that tool calls can be seen too.
#![allow(missing_docs, reason = "a program of its own, not a part of Steward")]

use steward_models::{Chat, ModelServices, OfferedTool, Turn, build};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [settings, name, question] = words.as_slice() else {
        return Err("write: ask_model SETTINGS.json NAME QUESTION".into());
    };
    let models = build(&serde_json::from_slice(&std::fs::read(settings)?)?, &ModelServices::default())?;
    let model = models.get(name).ok_or("no such model")?;
    let weather = OfferedTool {
        name: "get_weather".to_owned(),
        description: "The weather at a place.".to_owned(),
        parameters: serde_json::json!({ "type": "object", "properties": { "location": { "type": "string" } }, "required": ["location"] }),
    };
    let chat = Chat { turns: vec![Turn::user(question)], tools: vec![weather], ..Chat::default() };
    let whole = model.chat(&chat).await;
    println!("whole: {whole:?}");
    let mut events = model.stream(&chat);
    while let Some(event) = events.next().await {
        println!("event: {event:?}");
    }
    Ok(())
}
