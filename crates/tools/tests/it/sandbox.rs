//! Children that try to get out, each first free (to see that the attempt would work) and then shut
//! in.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly"
)]

use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steward_tools::process::{Spec, start};
use steward_tools::sandbox::Confinement;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

const PATIENCE: Duration = Duration::from_secs(60);

/// The launcher, an example that `cargo test` builds beside the tests. `cargo test --test it` alone
/// does not.
fn launcher() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().and_then(Path::parent).unwrap().join("examples/confine");
    assert!(path.is_file(), "no launcher: cargo build -p steward-tools --example confine");
    path
}

/// Whether these tests were asked to be skipped by name. Where they were not, a kernel without
/// Landlock fails them.
fn skipped(part: &str) -> bool {
    let skipped =
        std::env::var("STEWARD_SKIP").is_ok_and(|parts| parts.split(',').any(|name| name.trim() == part));
    if skipped {
        println!("skipped: {part} (STEWARD_SKIP)");
    }
    skipped
}

struct Cell {
    /// Given to the child to read.
    read: tempfile::TempDir,
    /// Given to the child to write.
    write: tempfile::TempDir,
    /// Not given to the child.
    outside: tempfile::TempDir,
    network: bool,
}

#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Cell {
    fn new() -> Self {
        let folder = || tempfile::tempdir().unwrap();
        let cell = Self { read: folder(), write: folder(), outside: folder(), network: false };
        std::fs::write(cell.read.path().join("given"), "given").unwrap();
        cell.furnish();
        cell
    }

    /// Puts back what an attempt may have broken.
    fn furnish(&self) {
        let _ = std::fs::remove_file(self.outside.path().join("new"));
        std::fs::write(self.outside.path().join("secret"), "secret").unwrap();
        std::fs::set_permissions(self.outside.path().join("secret"), PermissionsExt::from_mode(0o600))
            .unwrap();
        for entry in std::fs::read_dir(self.write.path()).unwrap() {
            let _ = std::fs::remove_file(entry.unwrap().path());
        }
        std::fs::write(self.write.path().join("mine"), "mine").unwrap();
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            read: vec![self.read.path().into()],
            write: vec![self.write.path().into()],
            network: self.network,
            required: true,
            launcher: launcher(),
        }
    }

    async fn run(&self, program: &str, args: &[&str], sandbox: Option<Confinement>) -> Ended {
        let place = |folder: &tempfile::TempDir| folder.path().to_str().unwrap().to_owned();
        let env =
            [("READ", place(&self.read)), ("WRITE", place(&self.write)), ("OUTSIDE", place(&self.outside))];
        let env = env.map(|(name, value)| (name.to_owned(), value)).into();
        let args = args.iter().map(ToString::to_string).collect();
        run(&Spec { program: program.into(), args, env, folder: Some("/".into()), sandbox }).await
    }

    async fn python(&self, script: &str, confined: bool) -> Ended {
        let script = format!("{PRELUDE}{script}\nprint('DONE')");
        self.furnish();
        self.run("/usr/bin/python3", &["-I", "-c", &script], confined.then(|| self.confinement())).await
    }
}

async fn run(spec: &Spec) -> Ended {
    let mut running = start(spec).unwrap();
    drop(running.stdin.take());
    let (mut stdout, mut stderr) = (running.stdout.take().unwrap(), running.stderr.take().unwrap());
    let (mut out, mut err) = (String::new(), String::new());
    let ended = async {
        let (a, b, status) =
            tokio::join!(stdout.read_to_string(&mut out), stderr.read_to_string(&mut err), running.wait());
        a.and(b).unwrap();
        status.unwrap().code()
    };
    let code = tokio::time::timeout(PATIENCE, ended).await.expect("the child ends");
    Ended { code, out, err }
}

/// What every attempt may use. `call` is a raw system call by its name; it raises what the kernel
/// answers.
const PRELUDE: &str = r#"
import ctypes, os, platform, socket, sys
read, write, outside = os.environ['READ'], os.environ['WRITE'], os.environ['OUTSIDE']
libc = ctypes.CDLL(None, use_errno=True)
numbers = {'ptrace': (101, 117), 'process_vm_readv': (310, 270), 'pidfd_getfd': (438, 438), 'unshare': (272, 97),
  'setns': (308, 268), 'mount': (165, 40), 'umount2': (166, 39), 'pivot_root': (155, 41), 'chroot': (161, 51), 'open_tree': (428, 428),
  'move_mount': (429, 429), 'fsopen': (430, 430), 'mount_setattr': (442, 442), 'bpf': (321, 280), 'perf_event_open': (298, 241),
  'userfaultfd': (323, 282), 'keyctl': (250, 219), 'add_key': (248, 217), 'request_key': (249, 218), 'swapon': (167, 224),
  'swapoff': (168, 225), 'reboot': (169, 142), 'acct': (163, 89), 'quotactl': (179, 60), 'io_uring_setup': (425, 425),
  'init_module': (175, 105), 'finit_module': (313, 273), 'delete_module': (176, 106), 'kexec_load': (246, 104),
  'open_by_handle_at': (304, 265), 'clone': (56, 220), 'clone3': (435, 435), 'personality': (135, 92), 'syslog': (103, 116),
  'landlock_create_ruleset': (444, 444), 'kcmp': (312, 272), 'connect': (42, 203)}
def number(name): return numbers[name][0 if platform.machine() == 'x86_64' else 1]
def call(name, *args, bit=0):
    wide = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in args]
    found = libc.syscall(ctypes.c_long(number(name) | bit), *wide)
    if found < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found
"#;

/// Attempts that work for a free child and must not work for one that is shut in.
const ATTEMPTS: &[&str] = &[
    "os.listdir(os.path.expanduser('~'))",
    "os.listdir('/')",
    "os.listdir('/tmp')",
    "os.listdir('/etc')",
    "os.listdir('/proc')",
    "open('/proc/%d/environ' % os.getppid(), 'rb').read()",
    "open('/proc/%d/cmdline' % os.getppid(), 'rb').read()",
    "open(outside + '/secret').read()",
    "open(read + '/../' + os.path.basename(outside) + '/secret').read()",
    "open(outside + '/new', 'w')",
    "open(outside + '/secret', 'a')",
    "os.truncate(outside + '/secret', 0)",
    "os.remove(outside + '/secret')",
    "os.mkdir(outside + '/new'); os.rmdir(outside + '/new')",
    "os.symlink('x', outside + '/new')",
    "os.mkfifo(outside + '/new')",
    "os.rename(write + '/mine', outside + '/new')",
    "os.link(outside + '/secret', write + '/link')",
    "os.rename(outside + '/secret', write + '/taken')",
    "os.symlink(outside + '/secret', write + '/link'); open(write + '/link').read()",
    "os.chdir(outside); open('secret').read()",
    "os.fchdir(os.open(outside, os.O_RDONLY))",
    "open(read + '/given', 'a')",
    "open(read + '/new', 'w'); os.remove(read + '/new')",
    "import subprocess; subprocess.run(['/bin/cat', outside + '/secret'], check=True)",
    "import subprocess; subprocess.run(['/bin/sh', '-c', 'echo x > $OUTSIDE/new'], check=True, env=os.environ)",
    "s = socket.create_connection(('127.0.0.1', int(open(read + '/port').read())), 5)",
    "s = socket.socket(); s.bind(('127.0.0.1', 0))",
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "s = socket.socket(socket.AF_INET6)",
    "s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "s = socket.socket(socket.AF_UNIX); s.connect(outside + '/socket')",
    "s = socket.socket(socket.AF_UNIX); s.connect(open(read + '/abstract').read().replace('@', '\\0'))",
    "call('ptrace', 0, 0, 0, 0)",
];

#[tokio::test]
async fn every_attempt_to_get_out_is_stopped() {
    if skipped("sandbox") {
        return;
    }
    let cell = Cell::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::fs::write(cell.read.path().join("port"), port.to_string()).unwrap();
    let _file = std::os::unix::net::UnixListener::bind(cell.outside.path().join("socket")).unwrap();
    let name = format!("@steward-test-{}", std::process::id());
    std::fs::write(cell.read.path().join("abstract"), &name).unwrap();
    let address = SocketAddr::from_abstract_name(name.trim_start_matches('@'));
    let _abstract = std::os::unix::net::UnixListener::bind_addr(&address.unwrap()).unwrap();
    for attempt in ATTEMPTS {
        let free = cell.python(attempt, false).await;
        assert!(free.out.ends_with("DONE\n"), "the attempt itself is wrong: {attempt}: {free:?}");
        if attempt.contains("create_connection") {
            listener.accept().unwrap();
            listener.set_nonblocking(true).unwrap();
        }
        let shut_in = cell.python(attempt, true).await;
        assert!(!shut_in.out.contains("DONE") && shut_in.code == Some(1), "{attempt}: {shut_in:?}");
        assert!(!shut_in.out.contains("secret"), "{attempt}: {shut_in:?}");
    }
    assert!(listener.accept().is_err(), "nobody has knocked");
    assert_eq!(std::fs::read_to_string(cell.outside.path().join("secret")).unwrap(), "secret");
    assert!(!cell.outside.path().join("new").exists());
}

#[tokio::test]
async fn forbidden_calls_are_refused_in_every_spelling() {
    if skipped("sandbox") {
        return;
    }
    let script = r"
def errno(name, *args, bit=0):
    try: call(name, *args, bit=bit)
    except OSError as error: return error.errno
    return 0
for name in numbers:
    if name in ('clone', 'clone3', 'personality', 'landlock_create_ruleset'): continue
    for bit in ([0, 0x40000000] if platform.machine() == 'x86_64' else [0]):
        found = errno(name, 0, 0, 0, 0, 0, bit=bit)
        assert found == 1, (name, bit, found)
for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    assert errno('clone', flag | 17, 0, 0, 0, 0) == 1, hex(flag)
    assert errno('unshare', flag) == 1, hex(flag)
assert errno('clone3', 0, 0) == 38
assert errno('personality', 0xffffffff) == 0 and errno('personality', 0x0040000) == 1
import fcntl
for request in (0x5412, 0x541c):
    try: fcntl.ioctl(0, request, b'x')
    except OSError as error: assert error.errno == 1, error
    else: assert False, request
if call('landlock_create_ruleset', 0, 0, 1) >= 6:
    try: os.kill(os.getppid(), 0)
    except PermissionError: pass
    else: assert False, 'signals reach the parent'
status = open('/proc/self/status').read()
assert 'NoNewPrivs:\t1' in status and 'Seccomp:\t2' in status, status
import resource
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
";
    let ended = Cell::new().python(script, true).await;
    assert!(ended.code == Some(0), "{ended:?}");
}

/// What must go on working for a child that is shut in.
const ALLOWED: &[&str] = &[
    "assert open(read + '/given').read() == 'given' and os.listdir(read) == ['given']",
    "open(write + '/new', 'w').write('x'); os.rename(write + '/new', write + '/other'); os.remove(write + \
        '/other')",
    "os.mkdir(write + '/folder'); os.symlink(read + '/given', write + '/folder/l'); assert open(write + \
        '/folder/l').read() == 'given'; os.remove(write + '/folder/l'); os.rmdir(write + '/folder')",
    "import threading; t = threading.Thread(target=lambda: print('ran')); t.start(); t.join()",
    "import subprocess; assert subprocess.run(['/bin/sh', '-c', 'echo $((6*7))'], capture_output=True).stdout == b'42\\n'",
    "import asyncio; asyncio.run(asyncio.sleep(0))",
    "import ssl, json, sqlite3, hashlib; ssl.create_default_context()",
    "open('/dev/null', 'w').write('x'); assert len(open('/dev/urandom', 'rb').read(8)) == 8",
    "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'",
    "import pwd; pwd.getpwuid(os.getuid())",
    "open(write + '/s', 'w').write('#!/bin/sh\\nexit 3\\n'); os.chmod(write + '/s', 0o700); import \
        subprocess; assert subprocess.run([write + '/s']).returncode == 3",
    "import multiprocessing; p = multiprocessing.get_context('fork').Process(target=print); p.start(); \
        p.join(); assert p.exitcode == 0",
];

#[tokio::test]
async fn what_was_granted_works() {
    if skipped("sandbox") {
        return;
    }
    let mut cell = Cell::new();
    for script in ALLOWED {
        let ended = cell.python(script, true).await;
        assert!(ended.out.ends_with("DONE\n") && ended.code == Some(0), "{script}: {ended:?}");
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    cell.network = true;
    let script =
        format!("s = socket.create_connection(('127.0.0.1', {}), 5)", listener.local_addr().unwrap().port());
    let ended = cell.python(&script, true).await;
    assert!(ended.code == Some(0) && listener.accept().is_ok(), "{ended:?}");
    for raw in [
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    ] {
        let ended = cell.python(raw, true).await;
        assert_eq!(ended.code, Some(1), "{raw}: {ended:?}");
    }
}

#[tokio::test]
async fn node_runs_shut_in() {
    if skipped("sandbox") || skipped("node") {
        return;
    }
    let cell = Cell::new();
    let script = "const fs = require('fs'); fs.writeFileSync(process.env.WRITE + '/n', 'x'); \
                  try { fs.readFileSync(process.env.OUTSIDE + '/secret'); console.log('OUT') } catch (e) { \
                  console.log(e.code) }";
    let ended = cell.run("node", &["-e", script], Some(cell.confinement())).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "EACCES\n"), "{ended:?}");
}

/// Arguments with which the launcher becomes itself `depth` times, each time shutting itself in
/// once more.
fn nested(depth: usize, required: bool) -> Vec<String> {
    let confinement = serde_json::json!({"read": ["/"], "write": [], "network": false, "required": required});
    let order =
        serde_json::json!({"confinement": confinement, "parent": std::process::id(), "part": "become"})
            .to_string();
    let launcher = launcher().to_str().unwrap().to_owned();
    let mut args = Vec::new();
    for _ in 0..depth {
        args.extend(["__confine".into(), "--spec".into(), order.clone(), "--".into(), launcher.clone()]);
    }
    args.pop();
    args.extend(["/bin/echo".into(), "ran".into()]);
    args
}

#[tokio::test]
async fn what_cannot_be_enforced_starts_nothing_when_it_is_required() {
    if skipped("sandbox") {
        return;
    }
    let program = launcher().to_str().unwrap().to_owned();
    let spec = |args| Spec { program: program.clone(), args, ..Spec::default() };
    let ended = run(&spec(nested(3, true))).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "ran\n"), "{ended:?}");
    // The kernel stacks at most sixteen layers: the seventeenth cannot be enforced.
    let ended = run(&spec(nested(17, true))).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(126), ""), "{ended:?}");
    assert!(ended.err.contains("cannot be shut in"), "{ended:?}");
    let ended = run(&spec(nested(17, false))).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "ran\n"), "{ended:?}");
    assert!(ended.err.contains("not shut in"), "{ended:?}");
}

#[tokio::test]
async fn an_order_that_is_no_order_starts_nothing() {
    let program = launcher().to_str().unwrap().to_owned();
    let stranger = r#"{"confinement":null,"parent":1}"#;
    let rows: [&[&str]; 6] = [
        &[],
        &["__confine"],
        &["__confine", "--spec", "{}", "--", "/bin/echo", "ran"],
        &["__confine", "--spec", "no json", "--", "/bin/echo", "ran"],
        &["__confine", "--other", stranger, "--", "/bin/echo", "ran"],
        &["__confine", "--spec", stranger, "--", "/bin/echo", "ran"],
    ];
    for args in rows {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let ended = run(&Spec { program: program.clone(), args: args.clone(), ..Spec::default() }).await;
        assert_eq!((ended.code, ended.out.as_str()), (Some(126), ""), "{args:?}: {ended:?}");
    }
}

#[tokio::test]
async fn a_child_on_the_leash_dies_with_a_parent_that_is_killed() {
    // Python stands in for a Steward that is killed: it starts a child on the leash, which holds
    // the pipe open.
    let script = r#"
import json, os, subprocess, sys
order = json.dumps({'confinement': None, 'parent': os.getpid()})
subprocess.Popen([sys.argv[1], '__confine', '--spec', order, '--', '/bin/sh', '-c', 'echo up; exec sleep 600'], start_new_session=True).wait()
"#;
    let launcher = launcher().to_str().unwrap().to_owned();
    let args = vec!["-I".into(), "-c".into(), script.into(), launcher];
    let mut parent = start(&Spec { program: "/usr/bin/python3".into(), args, ..Spec::default() }).unwrap();
    let mut out = BufReader::new(parent.stdout.take().unwrap());
    let mut line = String::new();
    tokio::time::timeout(PATIENCE, out.read_line(&mut line)).await.expect("it starts").unwrap();
    assert_eq!(line, "up\n");
    let id = rustix::process::Pid::from_raw(parent.id().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    let mut rest = String::new();
    tokio::time::timeout(PATIENCE, out.read_to_string(&mut rest)).await.expect("the child is gone").unwrap();
}

/// A program that starts a daemon (its own session, its own group, no parent left) and says its
/// number.
const DAEMON: &str = r#"
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.close(0); os.close(1); os.close(2)
        time.sleep(600)
    os._exit(0)
os.wait()
sys.stdin.read()
"#;

/// Whether a process is there and has not ended.
fn is_alive(id: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim().starts_with(['Z', 'X']))
}

async fn started_daemon(kept: bool) -> (steward_tools::process::Running, i32) {
    // Free of files and network, so that only the reaper is tried.
    let own = Confinement {
        launcher: launcher(),
        read: vec!["/".into()],
        write: vec!["/".into()],
        network: true,
        required: false,
    };
    let args = vec!["-I".into(), "-c".into(), DAEMON.into()];
    let sandbox = kept.then_some(own);
    let spec = Spec { program: "/usr/bin/python3".into(), args, sandbox, ..Spec::default() };
    let mut running = start(&spec).unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(running.stdout.take().unwrap());
    tokio::time::timeout(PATIENCE, out.read_line(&mut line)).await.expect("it starts").unwrap();
    let daemon = line.trim().parse().unwrap();
    assert!(is_alive(daemon));
    (running, daemon)
}

#[tokio::test]
async fn a_daemon_ends_with_the_program_that_started_it() {
    // Without a reaper it gets away: what is tried here can be done.
    let (running, free) = started_daemon(false).await;
    drop(running);
    assert!(is_alive(free), "this attempt does not work on this system");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(free).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    // Stopped, dropped, and when the program ends by itself.
    let (running, daemon) = started_daemon(true).await;
    running.stop(Duration::from_millis(200)).await;
    assert!(!is_alive(daemon), "it outlives a stop");
    let (running, daemon) = started_daemon(true).await;
    drop(running);
    assert!(!is_alive(daemon), "it outlives a drop");
    let (mut running, daemon) = started_daemon(true).await;
    drop(running.stdin.take());
    tokio::time::timeout(PATIENCE, running.wait()).await.expect("the program ends");
    assert!(!is_alive(daemon), "it outlives its program");
}

#[test]
fn a_child_outlives_the_thread_that_asked_for_it() {
    // The kernel ties the leash to a thread: one that ends with its runtime must not take the child
    // along.
    let spec = Spec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "read line; echo \"$line\"".into()],
        sandbox: Some(Confinement { launcher: launcher(), ..Confinement::default() }),
        ..Spec::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let _within = handle.enter();
            start(&spec).unwrap()
        });
        asking.join().unwrap()
    });
    let answer = runtime.block_on(async {
        let mut running = asked;
        let mut stdin = running.stdin.take().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stdin, b"alive\n").await.unwrap();
        let mut out = String::new();
        let reading = running.stdout.as_mut().unwrap().read_to_string(&mut out);
        tokio::time::timeout(PATIENCE, reading).await.expect("it answers").unwrap();
        out
    });
    assert_eq!(answer, "alive\n");
}
