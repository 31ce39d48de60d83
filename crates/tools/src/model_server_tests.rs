//! Tests with real child processes as model servers. A pipe that only the child holds shows when it
//! has ended.

use super::*;
use std::io::{BufRead, BufReader, Read};
use steward_models::{Chat, LlamaOptions, LlamaServer, Model, Turn};

const PATIENCE: Duration = Duration::from_secs(20);

async fn shell(servers: &ModelServers, script: &str, word: &str) -> Result<Box<dyn Launched>, String> {
    let args = ["-c", script, "sh", word].map(str::to_owned);
    servers.launch("/bin/sh", &args, &[("GIVEN".to_owned(), "yes".to_owned())].into()).await
}

async fn within<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let mut set = JoinSet::new();
    set.spawn_blocking(work);
    timeout(PATIENCE, set.join_next()).await.expect("in time").unwrap().unwrap()
}

/// A named pipe that a child and its own child hold open.
const HOLDS: &str = "exec 3>\"$1\"; sleep 600 >/dev/null 2>&1 & echo up >&3; wait";

#[tokio::test(flavor = "multi_thread")]
async fn server_and_its_children_end_with_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let servers = ModelServers::new(&folder.path().join("logs"));
    for gently in [false, true] {
        let pipe = folder.path().join(format!("pipe-{gently}"));
        let word = pipe.display().to_string();
        let made = shell(&servers, "mkfifo \"$1\"", &word).await.unwrap().ended().await;
        assert_eq!(made, "exit status: 0");
        let server = shell(&servers, HOLDS, &word).await.unwrap();
        let mut reader = within(move || {
            let mut reader = BufReader::new(File::open(pipe).unwrap());
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line, "up\n");
            reader
        })
        .await;
        if gently {
            timeout(PATIENCE, server.stop()).await.unwrap();
        } else {
            drop(server);
        }
        let rest = within(move || {
            let mut rest = String::new();
            reader.read_to_string(&mut rest).unwrap();
            rest
        });
        assert_eq!(rest.await, "", "nobody holds the pipe any more");
    }
}

#[tokio::test]
async fn output_is_in_private_file_and_tail_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let servers = ModelServers::new(&folder.path().join("logs"));
    let script = "echo \"given $GIVEN, hidden ${CARGO_MANIFEST_DIR:-so}\"; echo 'no such model' >&2; exit 3";
    let mut server = shell(&servers, script, "").await.unwrap();
    let how = timeout(PATIENCE, server.ended()).await.unwrap();
    assert!(how.starts_with("exit status: 3") && how.contains(FILE), "{how}");
    let file = folder.path().join("logs").join(FILE);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("given yes, hidden so") && text.contains("no such model"), "{text}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let missing = servers.launch("no-such-program-anywhere", &[], &BTreeMap::new()).await;
    assert!(missing.err().unwrap().contains("PATH"));
}

#[tokio::test]
async fn log_file_is_bounded_and_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    let servers = ModelServers { file: file.clone(), room: 100 };
    let script = "i=0; while [ $i -lt 500 ]; do echo \"line $i of many\"; i=$((i+1)); done";
    let how = timeout(PATIENCE, shell(&servers, script, "").await.unwrap().ended()).await.unwrap();
    assert!(how.contains("line 499 of many"), "{how}");
    assert_eq!(file.metadata().unwrap().len(), 100);
    timeout(PATIENCE, shell(&servers, "echo fresh", "").await.unwrap().ended()).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "fresh\n");
    assert_eq!(file.with_extension("log.old").metadata().unwrap().len(), 100);
}

/// Implements as much of the protocol as one question needs. Its answer tells whether it got the
/// key.
const SPEAKS: &str = r#"
import http.server, json, os, sys
class Speaks(http.server.BaseHTTPRequestHandler):
    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.answer({"status": "ok"})
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        right = self.headers["authorization"] == "Bearer " + os.environ["LLAMA_API_KEY"]
        message = {"role": "assistant", "content": f"the key is {right}"}
        self.answer({"model": sys.argv[2], "choices": [{"message": message, "finish_reason": "stop"}]})
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Speaks).serve_forever()
"#;

#[tokio::test]
async fn model_is_served_by_a_launched_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.gguf");
    std::fs::write(&file, "x").unwrap();
    let mut options = LlamaOptions::new("mine", &file);
    options.command = ["python3", "-c", SPEAKS, "{port}", "{name}"].map(str::to_owned).into();
    let model = LlamaServer::new(options.clone(), Arc::new(ModelServers::new(folder.path())));
    let chat = Chat { turns: vec![Turn::user("hello")], ..Chat::default() };
    let answer = timeout(PATIENCE, model.chat(&chat)).await.unwrap().unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_str()), ("the key is True", "mine"));
    timeout(PATIENCE, model.close()).await.unwrap();
    let log = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
    assert!(log.contains("POST /v1/chat/completions"), "{log}");

    options.command =
        ["python3", "-c", "import sys; sys.exit('the file is no model')"].map(str::to_owned).into();
    let model = LlamaServer::new(options, Arc::new(ModelServers::new(folder.path())));
    let error = timeout(PATIENCE, model.chat(&chat)).await.unwrap().unwrap_err().to_string();
    assert!(error.contains("the file is no model"), "{error}");
}
