//! Throw-away servers for the tests of buckets: moto (S3), Azurite (Azure), gcp-storage-emulator (Google),
//! each in an environment of its own.

use crate::process::{Group, command, root};
use anyhow::{Result, ensure};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The server, as PyPI has it.
const MOTO: &[&str] = &["moto[server,s3]==5.2.1"];

/// Microsoft's own emulator, as npm has it, with the account and key that it is made with.
const AZURITE: &[&str] = &["azurite@3.37.0"];
const AZURE_ACCOUNT: &str = "devstoreaccount1";
const AZURE_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// The emulator of Google Cloud Storage, and what fills both.
const OTHERS: &[&str] = &["gcp-storage-emulator==2026.7.19", "azure-storage-blob==12.31.1"];
const PATIENCE: Duration = Duration::from_secs(120);

/// Running servers of Azure and Google, filled with the Delta tables.
pub(crate) struct Clouds {
    _servers: [Group; 2],
    azure: String,
    google: String,
}

impl Clouds {
    /// Starts both on free loopback ports.
    pub(crate) fn start(tables: &Path) -> Result<Self> {
        let free =
            || Ok::<_, anyhow::Error>(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string());
        let (azure_port, google_port) = (free()?, free()?);
        let python = crate::kit::python(OTHERS)?;
        let script = crate::kit::node_packages("azurite", AZURITE)?;
        let mut azurite = crate::kit::node(&crate::kit::folder()?)?;
        azurite.arg(script.join("node_modules/azurite/dist/src/blob/main.js"));
        azurite.args(["--blobHost", "127.0.0.1", "--blobPort", &azure_port]);
        azurite.args(["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]);
        let mut azurite = Group::start(&mut azurite)?;
        let mut google = command(python.with_file_name("gcp-storage-emulator"));
        google.args(["start", "--host", "127.0.0.1", "--port", &google_port, "--in-memory"]);
        let mut google = Group::start(&mut google)?;
        azurite.wait_for(PATIENCE, |said| said.contains("successfully listen").then_some(()))?;
        google.wait_for(PATIENCE, |said| said.contains("services started").then_some(()))?;
        let clouds = Self {
            _servers: [azurite, google],
            azure: format!("http://127.0.0.1:{azure_port}/{AZURE_ACCOUNT}"),
            google: format!("http://127.0.0.1:{google_port}"),
        };
        let mut fill = command(python);
        fill.arg(root().join("xtask/lake/fill_buckets.py")).arg(tables);
        let filled = fill.args([&clouds.azure, AZURE_KEY, &clouds.google]).output()?;
        ensure!(filled.status.success(), "{}", String::from_utf8_lossy(&filled.stderr));
        Ok(clouds)
    }

    /// Tells a command where they are, as programs of Azure and Google are told.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env("STEWARD_TEST_AZURE", &self.azure).env("AZURE_STORAGE_ENDPOINT", &self.azure);
        command.env("AZURE_STORAGE_ACCOUNT", AZURE_ACCOUNT).env("AZURE_STORAGE_KEY", AZURE_KEY);
        command.env("STEWARD_TEST_GCS", &self.google).env("STORAGE_EMULATOR_HOST", &self.google);
    }
}

/// A running S3 server. It stops and what it holds goes when this is dropped.
pub(crate) struct Buckets {
    _server: Group,
    address: String,
}

impl Buckets {
    /// Starts one on a free loopback port.
    pub(crate) fn start() -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut moto = command(crate::kit::python(MOTO)?);
        moto.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        let mut server = Group::start(&mut moto)?;
        server.wait_for(Duration::from_secs(120), |said| said.contains("Running on").then_some(()))?;
        Ok(Self { _server: server, address: format!("http://127.0.0.1:{port}") })
    }

    /// Tells a command where it is, as programs of AWS are told.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env("STEWARD_TEST_S3", &self.address).env("AWS_ENDPOINT_URL", &self.address);
        command
            .env("AWS_ACCESS_KEY_ID", "steward")
            .env("AWS_SECRET_ACCESS_KEY", "tests")
            .env("AWS_REGION", "us-east-1");
    }
}
