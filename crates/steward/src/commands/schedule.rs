//! `steward schedule` and `steward alert`: scheduled questions and workflows, and alerts on their
//! answers.

use super::Context;
use crate::error::Failure;
use crate::output::{document, say, short, table};
use clap::{Args, Subcommand, ValueEnum};
use steward_domain::{
    Alert, AlertCondition, AlertId, CatchUp, Delivery, DeliveryTarget, Label, Question, QuietHours, Schedule,
    ScheduleId, ScheduleStatus, ScheduleSubject,
};
use steward_runtime::run::Runner;
use steward_runtime::schedule::{Deliverer, NewAlert, NewSchedule};
use steward_runtime::{find_saved, list_saved};
use steward_store::Page;

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward schedule add \"every Monday 8:00 Europe/Berlin\" \"total sales last week\" --data sales.csv
  steward schedule add \"weekdays at 7:30\" --workflow report --catch-up all
  steward schedule list

A worker takes the ticks: `steward serve` has one, or start `steward worker`.")]
pub(crate) enum ScheduleCommand {
    /// Create a schedule for a question or a workflow.
    Add(Add),
    /// List schedules, newest first.
    List,
    /// Show a schedule with its ticks and deliveries.
    Show {
        /// The schedule.
        id: ScheduleId,
    },
    /// Pause a schedule.
    Pause {
        /// The schedule.
        id: ScheduleId,
    },
    /// Resume a schedule, from its next tick.
    Resume {
        /// The schedule.
        id: ScheduleId,
    },
    /// Remove a schedule and its alerts. Its tasks stay.
    Remove {
        /// The schedule.
        id: ScheduleId,
    },
}

#[derive(Args)]
pub(crate) struct Add {
    /// When: words such as "every Monday 8:00 Europe/Berlin", or a cron pattern.
    cadence: String,
    /// The question.
    #[arg(required_unless_present = "workflow")]
    question: Option<String>,
    /// A file, a folder, a pattern or a database address; repeat it for several.
    #[arg(long, short, value_name = "SOURCE")]
    data: Vec<String>,
    /// A workflow or an agent instead of a question.
    #[arg(long, conflicts_with = "question")]
    workflow: Option<String>,
    /// The input of the workflow, as JSON.
    #[arg(long, requires = "workflow", default_value = "{}")]
    input: String,
    /// The name; the question by default.
    #[arg(long)]
    name: Option<String>,
    /// The IANA time zone, unless the cadence names one.
    #[arg(long, default_value = "UTC")]
    zone: String,
    /// How to handle missed ticks.
    #[arg(long, value_enum, default_value = "last")]
    catch_up: CatchUpChoice,
    /// Send each answer to this address as a signed POST; repeat it for several.
    #[arg(long, value_name = "URL")]
    webhook: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum CatchUpChoice {
    /// Only the last one runs.
    Last,
    /// Each of them runs.
    All,
    /// None of them runs.
    Skip,
}

#[derive(Subcommand)]
#[command(after_help = "Examples:
  steward alert add SCHEDULE low --below 1000 --webhook https://hooks.example/steward
  steward alert add SCHEDULE gone --missing --quiet 22:00-07:00 --zone Europe/Berlin
  steward alert acknowledge ALERT")]
pub(crate) enum AlertCommand {
    /// Create an alert on the answers of a scheduled question. The value is the first number of the
    /// answer.
    Add(AddAlert),
    /// List alerts, newest first.
    List,
    /// Acknowledge an alert.
    Acknowledge {
        /// The alert.
        id: AlertId,
    },
    /// Remove an alert.
    Remove {
        /// The alert.
        id: AlertId,
    },
}

#[derive(Args)]
pub(crate) struct AddAlert {
    /// The schedule.
    schedule: ScheduleId,
    /// The name of the alert.
    name: String,
    #[command(flatten)]
    when: When,
    /// Quiet hours, in which nothing is sent, such as 22:00-07:00.
    #[arg(long, value_name = "FROM-TO")]
    quiet: Option<String>,
    /// The time zone of the quiet hours.
    #[arg(long, default_value = "UTC")]
    zone: String,
    /// Send it to this address as a signed POST; repeat it for several.
    #[arg(long, value_name = "URL")]
    webhook: Vec<String>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct When {
    /// Trigger if the value is above this threshold.
    #[arg(long, allow_negative_numbers = true)]
    above: Option<f64>,
    /// Trigger if the value is below this threshold.
    #[arg(long, allow_negative_numbers = true)]
    below: Option<f64>,
    /// Trigger if the value changed by more than this percentage since the previous answer.
    #[arg(long, value_name = "PERCENT")]
    changed: Option<f64>,
    /// Trigger if there is no answer, or no number in it.
    #[arg(long)]
    missing: bool,
}

/// Sends deliveries to the allowed hosts.
pub(crate) fn deliverer(context: &Context) -> Deliverer {
    let secret = std::env::var("STEWARD_WEBHOOK_SECRET").ok().filter(|secret| !secret.is_empty());
    Deliverer::new(context.settings.delivery.clone(), secret)
}

async fn runner(context: &Context) -> Result<Runner, Failure> {
    let toolbox = std::sync::Arc::new(crate::toolbox::open(context, false).await?);
    super::run::over(context, &toolbox)
}

fn webhooks(addresses: Vec<String>) -> Vec<DeliveryTarget> {
    addresses.into_iter().map(DeliveryTarget::Webhook).collect()
}

pub(super) async fn run(context: &Context, command: ScheduleCommand) -> Result<(), Failure> {
    let opened = context.open().await?;
    let store = &*opened.store;
    match command {
        ScheduleCommand::Add(add) => {
            let subject = match (add.workflow, add.question) {
                (Some(workflow), _) => {
                    let input = serde_json::from_str(&add.input)
                        .map_err(|error| Failure::user("CLI004", format!("--input: {error}")))?;
                    ScheduleSubject::Workflow { workflow: Label::new(workflow)?, input }
                }
                (None, question) => {
                    let data = add.data.iter().map(|named| steward_analysis::source::without_password(named));
                    let question = Question::new(question.unwrap_or_default().trim())?;
                    ScheduleSubject::Question { question, data: data.collect() }
                }
            };
            let title = match &subject {
                ScheduleSubject::Question { question, .. } => short(question.as_str(), 60),
                ScheduleSubject::Workflow { workflow, .. } => workflow.to_string(),
            };
            let new = NewSchedule {
                user: context.settings.user.clone(),
                name: Label::new(add.name.unwrap_or(title))?,
                cadence: add.cadence,
                zone: add.zone,
                subject,
                catch_up: match add.catch_up {
                    CatchUpChoice::Last => CatchUp::Last,
                    CatchUpChoice::All => CatchUp::All,
                    CatchUpChoice::Skip => CatchUp::Skip,
                },
                deliver_to: webhooks(add.webhook),
            };
            shown(context, &runner(context).await?.add_schedule(new, "cli").await?);
        }
        ScheduleCommand::List => {
            let found: Vec<Schedule> = list_saved(store, &context.scope, Page::first(1000)).await?;
            if context.json {
                document(&found);
                return Ok(());
            }
            let row = |one: &Schedule| {
                let next = one.next_at.map_or_else(|| "-".to_owned(), |next| next.to_string());
                let cadence = format!("{} {}", one.cron, one.zone);
                vec![one.id.to_string(), one.name.to_string(), cadence, status(one).to_owned(), next]
            };
            let rows = found.iter().map(row).collect();
            table(&["schedule", "name", "when", "status", "next"], rows, "no schedules yet");
        }
        ScheduleCommand::Show { id } => {
            let found: Schedule = find_saved(store, &context.scope, id.0).await?;
            let ticks = store.ticks(&context.scope, id, Page::first(20)).await?;
            let sent: Vec<Delivery> = list_saved(store, &context.scope, Page::first(1000)).await?;
            let sent: Vec<&Delivery> =
                sent.iter().filter(|one| one.schedule_id == Some(id)).take(20).collect();
            if context.json {
                document(&serde_json::json!({ "schedule": found, "ticks": ticks, "deliveries": sent }));
                return Ok(());
            }
            shown(context, &found);
            let rows =
                ticks.iter().map(|tick| vec![tick.due_at.to_string(), tick.task_id.to_string()]).collect();
            table(&["tick", "task"], rows, "no ticks yet");
            for one in sent {
                let receipt = one.receipt.clone().unwrap_or_default();
                say(format!("{:?}  {}  {} tries  {receipt}", one.status, one.id, one.attempts));
            }
        }
        ScheduleCommand::Pause { id } => {
            shown(context, &runner(context).await?.pause_schedule(&context.scope, id, true, "cli").await?);
        }
        ScheduleCommand::Resume { id } => {
            shown(context, &runner(context).await?.pause_schedule(&context.scope, id, false, "cli").await?);
        }
        ScheduleCommand::Remove { id } => {
            runner(context).await?.remove_schedule(&context.scope, id, "cli").await?;
            say(format!("removed {id}"));
        }
    }
    Ok(())
}

fn status(schedule: &Schedule) -> &'static str {
    match schedule.status {
        ScheduleStatus::Active => "active",
        ScheduleStatus::Paused => "paused",
    }
}

fn shown(context: &Context, schedule: &Schedule) {
    if context.json {
        return document(schedule);
    }
    say(format!("schedule  {}  {}", schedule.id, status(schedule)));
    say(format!("name      {}", schedule.name));
    say(format!("when      {}  ({} {})", schedule.cadence, schedule.cron, schedule.zone));
    if let Some(next) = schedule.next_at {
        say(format!("next      {next}"));
    }
}

pub(super) async fn alert(context: &Context, command: AlertCommand) -> Result<(), Failure> {
    match command {
        AlertCommand::Add(add) => {
            let condition = match add.when {
                When { above: Some(limit), .. } => AlertCondition::Above(limit),
                When { below: Some(limit), .. } => AlertCondition::Below(limit),
                When { changed: Some(percent), .. } => AlertCondition::Changed(percent),
                When { .. } => AlertCondition::Missing,
            };
            let quiet = add.quiet.map(|text| hours(&text, &add.zone)).transpose()?;
            let name = Label::new(add.name)?;
            let notify = webhooks(add.webhook);
            let new = NewAlert { schedule: add.schedule, name, condition, quiet, notify };
            let alert = runner(context).await?.add_alert(&context.scope, new, "cli").await?;
            if context.json {
                document(&alert);
            } else {
                say(format!("alert  {}  {}", alert.id, alert.name));
            }
        }
        AlertCommand::List => {
            let opened = context.open().await?;
            let found: Vec<Alert> = list_saved(&*opened.store, &context.scope, Page::first(1000)).await?;
            if context.json {
                document(&found);
                return Ok(());
            }
            let row = |one: &Alert| {
                let status = format!("{:?}", one.status).to_lowercase();
                let since = one.since.map_or_else(|| "-".to_owned(), |since| since.to_string());
                let value = one.last_value.map_or_else(|| "-".to_owned(), |value| value.to_string());
                vec![one.id.to_string(), one.name.to_string(), status, value, since]
            };
            let rows = found.iter().map(row).collect();
            table(&["alert", "name", "status", "last value", "since"], rows, "no alerts yet");
        }
        AlertCommand::Acknowledge { id } => {
            let by = &context.settings.user;
            runner(context).await?.acknowledge(&context.scope, id, by, "cli").await?;
            say(format!("acknowledged {id}"));
        }
        AlertCommand::Remove { id } => {
            runner(context).await?.remove_alert(&context.scope, id, "cli").await?;
            say(format!("removed {id}"));
        }
    }
    Ok(())
}

/// `22:00-07:00`.
fn hours(text: &str, zone: &str) -> Result<QuietHours, Failure> {
    let minute = |text: &str| -> Option<u16> {
        let (hour, minute) = text.trim().split_once(':')?;
        let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
        (hour < 24 && minute < 60).then_some(hour * 60 + minute)
    };
    let found = text.split_once('-').and_then(|(from, to)| Some((minute(from)?, minute(to)?)));
    let (from_minute, to_minute) = found.ok_or_else(|| {
        Failure::user("CLI004", format!("--quiet: write such as 22:00-07:00, found {text:?}"))
    })?;
    Ok(QuietHours { from_minute, to_minute, zone: zone.to_owned() })
}
