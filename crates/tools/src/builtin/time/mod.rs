//! `time.now`: the date and time in a time zone.
//!
//! The clock is injected. Time zones come from the system's files.

mod rule;
mod zone;

use super::{Builtin, Options, VERSION, arguments, blocking, example, schema};
use crate::error::Result;
use crate::tool::{Content, Context, Output, Tool};
use async_trait::async_trait;
use chrono::{Datelike, FixedOffset, SecondsFormat};
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use steward_domain::{ApprovalMode, Idempotency, JsonObject};
use steward_journal::clock::Clock;
use steward_policy::AdmittedCall;

/// The tool's name.
pub const NAME: &str = "time.now";
const DESCRIPTION: &str = "Tell the current date and time: what time is it now, today's date, the day of the \
    week, the ISO calendar week and the Unix timestamp, in UTC or in another time zone or city given as an \
    IANA name such \
    as Europe/Berlin or as a fixed offset such as +02:00.";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    zone: Option<String>,
}

fn parameters() -> JsonObject {
    schema(
        json!({
            "zone": { "type": "string", "minLength": 1, "maxLength": 64, "default": "UTC",
                "description": "UTC, an offset such as +02:00, or an IANA name such as America/New_York" },
        }),
        &[],
    )
}

fn returns() -> JsonObject {
    schema(
        json!({
            "utc": { "type": "string", "description": "The moment in UTC, RFC 3339" },
            "local": { "type": "string", "description": "The same moment in the zone, RFC 3339" },
            "zone": { "type": "string", "description": "The zone that was asked for" },
            "abbreviation": { "type": "string", "description": "What the zone calls itself now, such as CEST" },
            "offset_seconds": { "type": "integer", "description": "East of UTC" },
            "date": { "type": "string", "description": "The calendar day in the zone" },
            "weekday": { "type": "string", "description": "In English" },
            "iso_week": { "type": "string", "description": "Such as 2026-W47" },
            "day_of_year": { "type": "integer", "description": "1 is the first of January" },
            "unix_seconds": { "type": "integer", "description": "Seconds since 1970 in UTC" },
        }),
        &["utc", "local", "zone", "offset_seconds", "date", "weekday", "iso_week", "unix_seconds"],
    )
}

/// The tool with this clock.
pub(super) fn builtin(options: &Options) -> Builtin {
    Builtin {
        name: NAME,
        version: VERSION,
        description: DESCRIPTION,
        parameters: parameters(),
        returns: returns(),
        idempotency: Idempotency::ReadOnly,
        approval: ApprovalMode::Never,
        category: "time_tools",
        examples: vec![
            example("what time is it?", json!({})),
            example("what day is it today in Tokyo?", json!({ "zone": "Asia/Tokyo" })),
            example("which calendar week is it?", json!({})),
            example("the time at UTC+2", json!({ "zone": "+02:00" })),
        ],
        off: None,
        tool: Arc::new(Now { clock: options.clock.clone(), zoneinfo: options.zoneinfo.clone() }),
    }
}

struct Now {
    clock: Arc<dyn Clock>,
    zoneinfo: PathBuf,
}

#[async_trait]
impl Tool for Now {
    async fn call(&self, call: &AdmittedCall, context: &Context) -> Result<Output> {
        let asked: Arguments = arguments(call)?;
        let name = asked.zone.unwrap_or_else(|| "UTC".to_owned());
        let now = self.clock.now().to_chrono();
        let (folder, wanted, tool) = (self.zoneinfo.clone(), name.clone(), call.tool().to_string());
        let place =
            blocking(call, context, move || zone::offset(&folder, &wanted, now.timestamp(), &tool)).await?;
        let offset =
            FixedOffset::east_opt(place.seconds).unwrap_or_else(|| chrono::Offset::fix(&chrono::Utc));
        let local = now.with_timezone(&offset);
        let week = local.iso_week();
        let (date, weekday) = (local.format("%Y-%m-%d").to_string(), local.format("%A").to_string());
        let iso_week = format!("{:04}-W{:02}", week.year(), week.week());
        let text = format!(
            "It is {weekday}, {date} {} in {name} (UTC{}), week {iso_week}.",
            local.format("%H:%M:%S"),
            local.format("%:z"),
        );
        let structured = json!({
            "utc": now.to_rfc3339_opts(SecondsFormat::Secs, true),
            "local": local.to_rfc3339_opts(SecondsFormat::Secs, false),
            "zone": name, "abbreviation": place.abbreviation, "offset_seconds": place.seconds,
            "date": date, "weekday": weekday, "iso_week": iso_week, "day_of_year": local.ordinal(),
            "unix_seconds": now.timestamp(),
        });
        Ok(Output { content: vec![Content::Text { text }], structured: Some(structured) })
    }
}

#[cfg(test)]
#[path = "time_tests.rs"]
mod tests;
