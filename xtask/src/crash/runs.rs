//! Kills workers in the middle of tasks whose tools keep a ledger of their own, at random and at
//! every named point, and looks at what is left: no task is lost, no keyed effect happened twice,
//! no other effect was silently repeated, every chain verifies.

use crate::process::{built, command, root, run_quietly};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use steward_journal::random::{Random, SystemRandom};

/// The longest that anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// One store, its home, and the ledger of its tools.
pub(super) struct Field {
    program: PathBuf,
    pub(super) home: PathBuf,
    store: String,
    pub(super) ledger: PathBuf,
    submitted: usize,
    resumed: Vec<Duration>,
}

/// What came of it.
pub(super) struct Report {
    pub(super) kills: u32,
    pub(super) tasks: u64,
    pub(super) unknown: u64,
    pub(super) resume_p95: Option<Duration>,
}

/// A worker that runs.
pub(super) struct Worker {
    pub(super) child: Child,
    lines: mpsc::Receiver<String>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _panicked = reader.join();
        }
    }
}

pub(super) fn program(ready: Option<&Path>) -> Result<PathBuf> {
    let folder = match ready {
        Some(folder) => folder.to_owned(),
        None => {
            run_quietly(&["cargo", "build", "--quiet", "--workspace", "--example", "crash_runs"])?;
            built("debug")
        }
    };
    let program = folder.join("examples/crash_runs");
    ensure!(program.exists(), "{} is not there", program.display());
    Ok(program)
}

impl Field {
    pub(super) fn new(program: &Path, home: &Path, store: String) -> Result<Self> {
        std::fs::create_dir_all(home.join("config"))?;
        std::fs::create_dir_all(home.join("workflows"))?;
        let ledger = home.join("ledger.txt");
        let script = root().join("bench/crash_ledger.py");
        let servers = json!({ "servers": [{
            "name": "ledger", "transport": "stdio",
            "config": { "command": "python3", "args": [script, ledger] },
        }] });
        let tools = json!({ "categories": { "ledger": { "tools": {
            "ledger.put_keyed": { "idempotency": "keyed", "approval": "never" },
            "ledger.put": { "idempotency": "none", "approval": "never" },
        } } } });
        let put = |tool: &str, place: u32| json!({ "type": "tool", "tool": tool, "arguments": { "n": "${input.n}", "place": place } });
        let workflow = json!({
            "name": "chain", "patterns": ["react"], "entry_point": "look",
            "nodes": {
                "look": put("ledger.look", 0), "first": put("ledger.put_keyed", 1), "second": put("ledger.put", 2),
                "sum": { "type": "tool", "tool": "math.eval", "arguments": { "expression": "1+1" } },
                "third": put("ledger.put_keyed", 3),
            },
            "edges": [
                { "from": "look", "to": "first" }, { "from": "first", "to": "second" }, { "from": "second", "to": "sum" },
                { "from": "sum", "to": "third" }, { "from": "third", "to": "__end__" },
            ],
        });
        for (file, text) in [
            ("config/mcp_servers.yaml", servers),
            ("config/tools.yaml", tools),
            ("workflows/chain.json", workflow),
        ] {
            std::fs::write(home.join(file), text.to_string())?;
        }
        let (program, home) = (program.to_owned(), home.to_owned());
        Ok(Self { program, home, store, ledger, submitted: 0, resumed: Vec::new() })
    }

    fn submit(&mut self, count: usize) -> Result<()> {
        let (first, count_text) = (self.submitted.to_string(), count.to_string());
        self.run(&["submit"], &[&first, &count_text])?;
        self.submitted += count;
        Ok(())
    }

    /// Runs one of the program's chores to its end.
    pub(super) fn run(&self, chore: &[&str], rest: &[&str]) -> Result<String> {
        let done = command(&self.program)
            .args(chore)
            .arg(&self.home)
            .arg(&self.store)
            .args(rest)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()?;
        let told = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{chore:?} failed:\n{told}");
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    pub(super) fn worker(
        &self,
        name: &str,
        lease: &str,
        crash_at: Option<&str>,
        until_empty: bool,
    ) -> Result<Worker> {
        let mut line = command(&self.program);
        line.arg("work").arg(&self.home).arg(&self.store).args([name, lease]);
        if until_empty {
            line.arg("--until-empty");
        }
        if let Some(point) = crash_at {
            line.env("STEWARD_CRASH_AT", point);
        }
        let mut child = line.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let pipe = child.stdout.take().context("a pipe was asked for")?;
        let (tell, lines) = mpsc::channel();
        let reader = reader(pipe, tell);
        Ok(Worker { child, lines, reader: Some(reader) })
    }

    /// Until a worker has finished something, which is how long a restart keeps a task waiting at
    /// most.
    fn await_first(&mut self, worker: &Worker) -> Result<()> {
        let first = worker.lines.recv_timeout(PATIENCE).context("a worker did nothing for a minute")?;
        let millis: u64 = first.split(' ').next().unwrap_or_default().parse()?;
        self.resumed.push(Duration::from_millis(millis));
        Ok(())
    }

    /// Works everything off, lets a person settle what nobody knows, and looks at what is left.
    fn finish(&mut self, kills: u32) -> Result<Report> {
        let mut unknown = 0;
        loop {
            let mut last = self.worker("last", "1", None, true)?;
            let ended = last.child.wait()?;
            ensure!(ended.success(), "the last worker failed");
            let settled: u64 = self.run(&["settle"], &[])?.parse()?;
            unknown += settled;
            if settled == 0 {
                break;
            }
        }
        let ledger = self.ledger.display().to_string();
        let left: Value = serde_json::from_str(&self.run(&["check"], &[&ledger])?)?;
        let tasks = left.get("tasks").and_then(Value::as_u64).unwrap_or_default();
        ensure!(tasks == self.submitted as u64, "{} tasks were handed in, {left} are there", self.submitted);
        let by_status = left.get("by_status").and_then(Value::as_object).cloned().unwrap_or_default();
        let open = by_status.keys().find(|status| !["Completed", "Failed"].contains(&status.as_str()));
        ensure!(open.is_none(), "tasks were left behind: {left}");
        self.resumed.sort();
        let place = (self.resumed.len() * 95 / 100).min(self.resumed.len().saturating_sub(1));
        let resume_p95 = self.resumed.get(place).copied();
        Ok(Report { kills, tasks, unknown, resume_p95 })
    }
}

#[allow(clippy::disallowed_methods, reason = "the worker that it reads from waits for it")]
fn reader(pipe: std::process::ChildStdout, tell: mpsc::Sender<String>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let _nobody_listens = tell.send(line);
        }
    })
}

pub(super) fn chance(most: u64) -> Result<u64> {
    let random = SystemRandom.bytes()?;
    Ok(u64::from(u32::from_le_bytes([random[0], random[1], random[2], random[3]])) % most.max(1))
}

/// One worker that is killed again and again, first at each named point, then at random moments.
pub(super) fn one_worker(program: &Path, home: &Path, store: String, kills: u32) -> Result<Report> {
    let mut field = Field::new(program, home, store)?;
    let mut killed = 0;
    let told = command(program).arg("points").output()?;
    let points = String::from_utf8(told.stdout)?;
    ensure!(points.lines().count() > 0, "the program names no point where it can be let die");
    for point in points.lines() {
        for nth in [1, 3] {
            field.submit(4)?;
            let mut worker = field.worker("one", "30", Some(&format!("{point}:{nth}")), false)?;
            let status = wait(&mut worker.child).with_context(|| format!("{point} was never reached"))?;
            ensure!(!status.success(), "the worker was to die at {point}");
            killed += 1;
        }
    }
    while killed < kills {
        // There is always something to do, however quick the worker before was.
        field.submit(3)?;
        let mut worker = field.worker("one", "30", None, false)?;
        // Every other time it gets something done first; else it may die while it starts.
        if killed % 2 == 0 {
            field.await_first(&worker)?;
        }
        std::thread::sleep(Duration::from_millis(chance(150)?));
        worker.child.kill()?;
        worker.child.wait()?;
        killed += 1;
    }
    field.finish(killed)
}

pub(super) fn wait(child: &mut Child) -> Result<std::process::ExitStatus> {
    for _ in 0..6000 {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    bail!("it did not end within a minute")
}

/// Several workers on one store: some are killed, some stopped past their lease and woken.
pub(super) fn many_workers(
    program: &Path,
    home: &Path,
    store: String,
    workers: usize,
    rounds: u32,
) -> Result<Report> {
    let mut field = Field::new(program, home, store)?;
    let mut killed = 0;
    for round in 0..rounds {
        field.submit(12)?;
        let mut running = Vec::new();
        for n in 0..workers {
            running.push(field.worker(&format!("worker{n}-{round}"), "1", None, false)?);
        }
        let first = running.first().context("a worker")?;
        let _others_may_be_quicker = first.lines.recv_timeout(Duration::from_secs(2));
        std::thread::sleep(Duration::from_millis(chance(200)?));
        let victim = usize::try_from(chance(workers as u64)?)?;
        let victim = running.get_mut(victim).context("a worker")?;
        if round % 2 == 0 {
            victim.child.kill()?;
            killed += 1;
            std::thread::sleep(Duration::from_millis(chance(300)?));
        } else {
            // Past its lease the others take its tasks; woken, it must not write any more.
            signal(&victim.child, "STOP")?;
            std::thread::sleep(Duration::from_millis(1500));
            signal(&victim.child, "CONT")?;
            std::thread::sleep(Duration::from_millis(300));
        }
        drop(running);
        killed += u32::try_from(workers)?;
    }
    field.finish(killed)
}

fn signal(child: &Child, name: &str) -> Result<()> {
    let status = command("kill").arg(format!("-{name}")).arg(child.id().to_string()).status()?;
    ensure!(status.success(), "SIG{name} could not be sent");
    Ok(())
}
