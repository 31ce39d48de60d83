//! A throw-away S3 server for the tests of buckets: moto, in an environment of its own.

use crate::process::{Group, command};
use anyhow::Result;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

/// The server, as PyPI has it.
const MOTO: &[&str] = &["moto[server,s3]==5.2.1"];

/// A running server. It stops and what it holds goes when this is dropped.
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
