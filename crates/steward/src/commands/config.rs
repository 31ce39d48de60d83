//! `steward config`.

use super::Context;
use crate::config::check_all;
use crate::error::Failure;
use crate::home::Home;
use crate::output::{Tone, document, paint, say};
use clap::Subcommand;
use serde_json::json;
use steward_journal::redact::Redactor;

#[derive(Subcommand)]
pub(crate) enum Config {
    /// Print the effective settings, without secrets.
    Show,
    /// Check all configuration files; errors have file, line and reason.
    Check,
}

pub(super) fn show(context: &Context) -> Result<(), Failure> {
    let policy = crate::config::retention(&context.home)?;
    let settings = serde_json::to_value(&context.settings).map_err(Failure::unexpected)?;
    let shown = Redactor::default()
        .redact(json!({ "home": context.home.path, "settings": settings, "retention": policy }));
    if context.json {
        document(&shown);
        return Ok(());
    }
    for (section, value) in shown.as_object().into_iter().flatten() {
        match value.as_object() {
            None => say(format!("{section}: {}", value.as_str().unwrap_or_default())),
            Some(members) => {
                say(format!("{section}:"));
                members.iter().for_each(|(name, value)| say(format!("  {name}: {value}")));
            }
        }
    }
    Ok(())
}

pub(super) fn check(home: &Home, as_json: bool) -> Result<(), Failure> {
    let (right, wrong) = check_all(home);
    if as_json {
        let problems: Vec<&str> = wrong.iter().map(Failure::message).collect();
        document(&json!({ "valid": right, "problems": problems }));
    } else {
        right.iter().for_each(|path| say(format!("{} {}", paint(Tone::Good, "ok  "), path.display())));
        wrong.iter().for_each(|failure| say(format!("{} {}", paint(Tone::Bad, "FAIL"), failure.message())));
    }
    match wrong.len() {
        0 => Ok(()),
        1 => Err(Failure::user(
            "CFG001",
            "one file is wrong; the last good configuration stays in force until it is right",
        )),
        several => Err(Failure::user(
            "CFG001",
            format!(
                "{several} files are wrong; the last good configuration stays in force until they are right"
            ),
        )),
    }
}
