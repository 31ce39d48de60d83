//! A throw-away MariaDB from Debian's package, for the tests of MySQL sources.

use crate::process::{command, is_root, run_quietly};
use anyhow::{Context, Result, bail, ensure};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A running server. It stops and its data goes when this is dropped.
pub(crate) struct MariaDb {
    server: Child,
    data: PathBuf,
    pub(crate) address: String,
}

impl MariaDb {
    /// Starts one on a free loopback port. Nothing when it is not installed and we may not install
    /// it.
    pub(crate) fn start() -> Result<Option<Self>> {
        if !installed() {
            if !is_root() {
                eprintln!(
                    "skipped: MariaDB is not installed (apt-get install mariadb-server), its tests are left out"
                );
                return Ok(None);
            }
            eprintln!("installing MariaDB");
            run_quietly(&[
                "sh",
                "-c",
                "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install \
                -y -qq mariadb-server >/dev/null",
            ])
            .context("MariaDB comes from Debian's packages; are they reachable?")?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let data = std::env::temp_dir().join(format!("steward-mariadb-{port}"));
        std::fs::create_dir_all(&data)?;
        let user = if is_root() { vec!["--user=mysql".to_owned()] } else { Vec::new() };
        if is_root() {
            run_quietly(&["chown", "mysql", &data.to_string_lossy()])?;
        }
        let cluster = data.join("cluster");
        let made = command("mariadb-install-db")
            .args(&user)
            .args([
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--skip-name-resolve",
            ])
            .arg(format!("--datadir={}", cluster.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        ensure!(made.success(), "mariadb-install-db failed with {made}");
        let log = std::fs::File::create(data.join("log"))?;
        let socket = data.join("socket");
        let server = command("mariadbd")
            .arg("--no-defaults")
            .args(&user)
            .args([
                format!("--datadir={}", cluster.display()),
                format!("--socket={}", socket.display()),
                format!("--port={port}"),
            ])
            .args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"])
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut mariadb = Self { server, data, address: format!("mysql://steward:steward@127.0.0.1:{port}") };
        mariadb.wait(&socket)?;
        Ok(Some(mariadb))
    }

    /// Waits until it answers, and makes the account of the tests.
    fn wait(&mut self, socket: &Path) -> Result<()> {
        let sql = "DELETE FROM mysql.global_priv WHERE User = ''; FLUSH PRIVILEGES;
            CREATE USER 'steward'@'%' IDENTIFIED BY 'steward'; GRANT ALL ON *.* TO 'steward'@'%' WITH GRANT \
            OPTION;";
        for _ in 0..200 {
            if let Some(status) = self.server.try_wait()? {
                let log = std::fs::read_to_string(self.data.join("log")).unwrap_or_default();
                bail!("MariaDB ended with {status}:\n{log}");
            }
            let told = command("mariadb")
                .args(["--no-defaults", "--user=root", "--execute", sql])
                .arg(format!("--socket={}", socket.display()))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            if told.success() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("MariaDB did not answer within 20 s")
    }
}

fn installed() -> bool {
    ["mariadbd", "mariadb", "mariadb-install-db"].iter().all(|program| {
        let found = command("sh").args(["-c", &format!("command -v {program} >/dev/null")]).status();
        found.is_ok_and(|status| status.success())
    })
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _asked = run_quietly(&["kill", "-TERM", &self.server.id().to_string()]);
        let _ended = self.server.wait();
        let _gone = std::fs::remove_dir_all(&self.data);
    }
}
