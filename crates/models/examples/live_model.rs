//! Runs the conversation of the tests with a real model in a GGUF file and records it: `live_model
//! FILE.gguf PYTHON CASSETTE`, where PYTHON has `xllamacpp` installed.
#![allow(clippy::disallowed_methods, missing_docs, reason = "a program of its own, not a part of Steward")]

#[path = "../tests/it/conversation.rs"]
mod conversation;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use steward_models::{Launched, Launcher, LlamaOptions, LlamaServer, Model, Recorder};
use tokio::process::{Child, Command};

struct Plain;

struct Process(Child);

#[async_trait]
impl Launcher for Plain {
    async fn launch(
        &self,
        program: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
    ) -> Result<Box<dyn Launched>, String> {
        let mut command = Command::new(program);
        command.args(args).envs(env).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Box::new(Process(command.spawn().map_err(|error| error.to_string())?)))
    }
}

#[async_trait]
impl Launched for Process {
    async fn ended(&mut self) -> String {
        self.0.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    async fn stop(mut self: Box<Self>) {
        let _gone = self.0.kill().await;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, python, cassette] = words.as_slice() else {
        return Err("write: live_model FILE.gguf PYTHON CASSETTE".into());
    };
    let name =
        Path::new(file).file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut options = LlamaOptions::new(name, file);
    options.command = LlamaOptions::xllamacpp(python);
    options.client.timeout = std::time::Duration::from_secs(300);
    options.client.idle = std::time::Duration::from_secs(120);
    let started = Instant::now();
    let model: Arc<dyn Model> = Arc::new(LlamaServer::new(options, Arc::new(Plain)));
    let recorder = Recorder::new(model, Path::new(cassette))?;
    let held = conversation::hold(&recorder).await;
    recorder.close().await;
    for turn in held? {
        println!("{}", serde_json::to_string(&turn)?);
    }
    println!("{:.1} s, loading included", started.elapsed().as_secs_f64());
    Ok(())
}
