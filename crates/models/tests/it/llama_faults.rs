//! The rows of `providers` for a llama.cpp server that was started by ourselves: it speaks OpenAI's
//! chat completions, behind a process that is launched with the first question.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use steward_models::{Event, Finish, LlamaOptions, LlamaServer, Model, ModelError};

use crate::fake::{Act, Then};
use crate::others::Pretend;
use crate::providers::{Kind, chat, formed, hear, kinds};

struct Llama {
    model: LlamaServer,
    launcher: Arc<Pretend>,
    _folder: tempfile::TempDir,
}

fn llama(acts: Vec<Act>) -> Llama {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.gguf");
    std::fs::write(&file, "x").unwrap();
    let launcher = Arc::new(Pretend { acts, ..Pretend::default() });
    let mut options = LlamaOptions::new("mine", &file);
    options.client.backoff = Duration::from_millis(1);
    options.client.idle = Duration::from_secs(5);
    Llama { model: LlamaServer::new(options, launcher.clone()), launcher, _folder: folder }
}

impl Llama {
    fn count(&self) -> usize {
        self.launcher.running.lock().unwrap()[0].0.lock().unwrap().as_ref().unwrap().count()
    }
}

fn wire() -> Kind {
    kinds().swap_remove(0)
}

#[tokio::test]
async fn answers_whole_streamed_formed_and_with_parallel_tools() {
    let kind = wire();
    let expected = steward_models::Answer { cost_micros: None, ..kind.answer() };
    let whole = llama(vec![Act::json(200, &kind.whole)]).model.chat(&chat()).await.unwrap();
    assert_eq!((whole.calls.len(), whole), (2, expected.clone()));
    let streaming = llama(vec![kind.streamed(kind.stream.clone())]);
    let (heard, error) = hear(&streaming.model, &chat()).await;
    assert_eq!((heard.last(), error), (Some(&Event::Done(Box::new(expected))), None));
    assert!(heard.len() > 2, "{heard:?}");
    let formed = llama(vec![Act::json(200, &kind.plain)]).model.chat(&formed()).await.unwrap();
    assert_eq!((formed.json, formed.finish), (Some(json!({"a": 1})), Finish::Stop));
}

#[tokio::test]
async fn refusals_and_what_does_not_fit_are_not_tried_again() {
    let kind = wire();
    let declining = llama(vec![Act::json(200, &kind.declined)]);
    let failed = declining.model.chat(&formed()).await.unwrap_err();
    assert!(matches!(failed, ModelError::Declined { .. }), "{failed}");
    let full = llama(vec![Act::json(kind.overflow.0, &kind.overflow.1)]);
    let failed = full.model.chat(&chat()).await.unwrap_err();
    assert!(matches!(failed, ModelError::ContextOverflow { .. }), "{failed}");
    assert_eq!((declining.count(), full.count()), (1, 1));
}

#[tokio::test]
async fn a_busy_server_is_asked_again_when_it_said() {
    let kind = wire();
    let busy = Act::json(429, &json!({"error": {"message": "slow down"}}));
    let busy = Act { head: busy.head.replacen("\r\n", "\r\nretry-after: 1\r\n", 1), ..busy };
    let llama = llama(vec![busy, Act::json(200, &kind.whole)]);
    let began = Instant::now();
    llama.model.chat(&chat()).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(950), "{:?}", began.elapsed());
    assert_eq!(llama.count(), 2);
}

#[tokio::test]
async fn a_broken_stream_is_an_error_and_a_dropped_one_ends_the_request() {
    let kind = wire();
    let end = kind.stream.find("😀").unwrap();
    let broken = llama(vec![kind.streamed(kind.stream.as_bytes()[..end].to_vec())]);
    let (heard, error) = hear(&broken.model, &chat()).await;
    assert!(error.is_some() && heard.iter().any(|event| matches!(event, Event::TextDelta(_))), "{heard:?}");
    assert_eq!(broken.count(), 1, "a part was heard, so nothing is tried again");

    let waiting = llama(vec![kind.streamed(kind.stream.as_bytes()[..end].to_vec()).then(Then::Wait)]);
    let chat = chat();
    let mut events = waiting.model.stream(&chat);
    assert!(matches!(events.next().await, Some(Ok(Event::TextDelta(_)))));
    drop(events);
    let process = Arc::clone(&waiting.launcher.running.lock().unwrap()[0]);
    let mut server = process.0.lock().unwrap().take().unwrap();
    tokio::time::timeout(Duration::from_secs(10), server.gone.recv()).await.expect("the server hears of it");
}
